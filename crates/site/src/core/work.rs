//! What jobs do, and what they must not do at the same time.

use crate::db::job::Kind;
use crate::db::problem::Visibility;
use serde::{Deserialize, Serialize};

/// The work of a job with its arguments. Digests name stored files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Adds a problem from a package.
    AddProblem {
        /// The archive.
        digest: String,
        /// The name of the uploaded file.
        file_name: String,
        /// The visibility of the problem.
        visibility: Visibility,
    },
    /// Adds a version to a problem from a package.
    AddVersion {
        /// The problem.
        problem: i64,
        /// The archive.
        digest: String,
        /// The name of the uploaded file.
        file_name: String,
        /// A note about the changes.
        note: String,
    },
    /// Adds a version with a new statement.
    ChangeStatement {
        /// The problem.
        problem: i64,
        /// The statement.
        digest: String,
        /// The name of the uploaded file.
        file_name: String,
    },
    /// Compiles the statements that have no PDF.
    CompileStatements {
        /// The problem.
        problem: i64,
    },
    /// Adds a version with time limits derived from the run times of the model solution.
    ResetLimits {
        /// The problem.
        problem: i64,
    },
    /// Moves everything from one problem to another, and deletes the first one.
    MergeProblems {
        /// The problem that is deleted.
        from: i64,
        /// The problem that is kept.
        into: i64,
        /// Whether rounds use the version of the kept problem and submissions are judged again.
        rejudge: bool,
    },
    /// Deletes a problem.
    DeleteProblem {
        /// The problem.
        problem: i64,
    },
    /// Deletes a contest.
    DeleteContest {
        /// The contest.
        contest: i64,
    },
    /// Deletes a round.
    DeleteRound {
        /// Its contest.
        contest: i64,
        /// The round.
        round: i64,
    },
    /// Deletes a problem of a round.
    DeleteRoundProblem {
        /// Its contest.
        contest: i64,
        /// The problem in the round.
        round_problem: i64,
    },
    /// Compares the sources of a contest.
    CompareSources {
        /// The contest.
        contest: i64,
    },
}

impl Work {
    /// The kind of the job.
    pub fn kind(&self) -> Kind {
        match self {
            Work::AddProblem { .. } => Kind::AddProblem,
            Work::AddVersion { .. } => Kind::AddVersion,
            Work::ChangeStatement { .. } => Kind::ChangeStatement,
            Work::CompileStatements { .. } => Kind::CompileStatements,
            Work::ResetLimits { .. } => Kind::ResetLimits,
            Work::MergeProblems { .. } => Kind::MergeProblems,
            Work::DeleteProblem { .. } => Kind::DeleteProblem,
            Work::DeleteContest { .. } => Kind::DeleteContest,
            Work::DeleteRound { .. } => Kind::DeleteRound,
            Work::DeleteRoundProblem { .. } => Kind::DeleteRoundProblem,
            Work::CompareSources { .. } => Kind::CompareSources,
        }
    }

    /// The problem that the work changes.
    pub fn problem(&self) -> Option<i64> {
        match self {
            Work::AddVersion { problem, .. }
            | Work::ChangeStatement { problem, .. }
            | Work::CompileStatements { problem }
            | Work::ResetLimits { problem }
            | Work::DeleteProblem { problem }
            | Work::MergeProblems { into: problem, .. } => Some(*problem),
            Work::AddProblem { .. }
            | Work::DeleteContest { .. }
            | Work::DeleteRound { .. }
            | Work::DeleteRoundProblem { .. }
            | Work::CompareSources { .. } => None,
        }
    }

    /// The contest that the work changes or reads.
    pub fn contest(&self) -> Option<i64> {
        match self {
            Work::DeleteContest { contest }
            | Work::DeleteRound { contest, .. }
            | Work::DeleteRoundProblem { contest, .. }
            | Work::CompareSources { contest } => Some(*contest),
            Work::AddProblem { .. }
            | Work::AddVersion { .. }
            | Work::ChangeStatement { .. }
            | Work::CompileStatements { .. }
            | Work::ResetLimits { .. }
            | Work::MergeProblems { .. }
            | Work::DeleteProblem { .. } => None,
        }
    }

    /// Whether the work stores files, which count for the user's disk space.
    pub fn adds_files(&self) -> bool {
        match self {
            Work::AddProblem { .. }
            | Work::AddVersion { .. }
            | Work::ChangeStatement { .. }
            | Work::CompileStatements { .. }
            | Work::ResetLimits { .. } => true,
            Work::MergeProblems { .. }
            | Work::DeleteProblem { .. }
            | Work::DeleteContest { .. }
            | Work::DeleteRound { .. }
            | Work::DeleteRoundProblem { .. }
            | Work::CompareSources { .. } => false,
        }
    }

    /// Jobs with a common key do not run at the same time.
    pub fn keys(&self) -> Vec<String> {
        let mut problems: Vec<i64> = self.problem().into_iter().collect();
        if let Work::MergeProblems { from, .. } = self {
            problems.push(*from);
        }
        let problems = problems.into_iter().map(|id| format!("problem/{id}"));
        let contests = self.contest().into_iter();
        let contests = contests.map(|id| format!("contest/{id}"));
        problems.chain(contests).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merge_conflicts_with_work_on_either_problem() {
        let merge = Work::MergeProblems {
            from: 1,
            into: 2,
            rejudge: false,
        };
        for problem in [1, 2] {
            let other = Work::ResetLimits { problem }.keys();
            assert!(merge.keys().contains(&other[0]), "{other:?}");
        }
        assert_eq!(merge.problem(), Some(2));
    }

    #[test]
    fn work_survives_its_stored_form() {
        let work = Work::DeleteRound {
            contest: 3,
            round: 4,
        };
        let text = serde_json::to_string(&work).unwrap();
        assert_eq!(serde_json::from_str::<Work>(&text).unwrap(), work);
    }
}
