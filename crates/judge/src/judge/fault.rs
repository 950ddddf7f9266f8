//! Why a package cannot be judged.

use crate::report::line;
use crate::result::Reason;
use crate::scoring::PlanError;
use glob::Pattern;
use millibox_languages::compile::{CompileError, InternalError, Unavailable};
use millibox_languages::staging::StagingError;
use millibox_languages::suite::ChoiceError;
use millibox_package::tokens::FlagError;
use millibox_package::{Fault, Severity, ToolFault};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a package cannot be judged: all its faults, of which there is at least one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PackageError {
    /// The faults.
    pub faults: Vec<PackageFault>,
}

impl From<PackageFault> for PackageError {
    fn from(fault: PackageFault) -> PackageError {
        PackageError {
            faults: vec![fault],
        }
    }
}

impl fmt::Display for PackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            write!(f, "{}{fault}", if index > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for PackageError {}

/// One fault of a package.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PackageFault {
    /// The file or directory.
    pub path: PathBuf,
    /// The fault.
    pub problem: PackageProblem,
}

impl PackageFault {
    /// Creates a fault of a file or directory.
    pub fn new(path: &Path, problem: PackageProblem) -> PackageFault {
        PackageFault {
            path: path.to_owned(),
            problem,
        }
    }

    /// Whether the machine is at fault, for example because its disk is full, so that a later
    /// attempt or another machine may judge the package.
    pub fn is_of_machine(&self) -> bool {
        match &self.problem {
            PackageProblem::NotCompiled {
                error: CompileError::Internal(error),
                ..
            } => error.is_of_machine(),
            PackageProblem::Data(error) | PackageProblem::TestFiles { error, .. } => {
                error.is_of_machine()
            }
            // Judge errors on tests are failures of the machine, too.
            PackageProblem::JudgeFailed { .. } => true,
            _ => false,
        }
    }

    /// Replaces the path of each of the package's files, so that messages show a path other than
    /// the one that was read.
    #[must_use]
    pub fn map_paths(mut self, shown: impl Fn(&Path) -> PathBuf) -> PackageFault {
        self.path = shown(&self.path);
        self.problem.map_paths(shown);
        self
    }

    /// Converts the fault to the package reader's type, without compiler messages.
    pub(super) fn to_fault(&self, severity: Severity) -> Fault {
        Fault::new(&self.path, severity, ToolFault::new(self.problem.clone()))
    }
}

impl fmt::Display for PackageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_fault(Severity::Error))?;
        if let PackageProblem::Rejected { messages, .. } = &self.problem {
            for line in messages.lines() {
                write!(f, "\n    {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for PackageFault {}

/// The purpose of a package's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Role {
    /// The program checks outputs.
    #[error("checker")]
    Checker,
    /// The program communicates with submissions.
    #[error("interactor")]
    Interactor,
    /// The program computes the results of groups.
    #[error("grader")]
    Grader,
}

/// Why a package, or a part of it, cannot be judged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageProblem {
    /// No test matches the pattern of [`Options::tests`](super::Options::tests).
    #[error("none of its {tests} tests matches {pattern}")]
    NoMatchingTest {
        /// Total number of tests.
        tests: usize,
        /// The pattern.
        pattern: Pattern,
    },
    /// Submissions cannot be scored.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The input of a test does not exist.
    #[error("the input of test {test} does not exist; {GENERATE}")]
    NoInput {
        /// The test.
        test: String,
    },
    /// The answer of a test does not exist.
    #[error("the answer of test {test} does not exist; {GENERATE}")]
    NoAnswerFile {
        /// The test.
        test: String,
    },
    /// A test has no answer, but the checker needs one.
    #[error("test {test} has no answer to compare with; {GENERATE}")]
    NoAnswer {
        /// The test.
        test: String,
    },
    /// The default checker's flags for a test are wrong.
    #[error("flags of the default checker for test {test}: {error}")]
    Flags {
        /// The test.
        test: String,
        /// The wrong flag.
        error: FlagError,
    },
    /// The problem is interactive but has no interactor.
    #[error("the problem is interactive, but the package has no interactor; add one")]
    NoInteractor,
    /// The language of a program is unknown.
    #[error("the language of this {role} is unknown: {error}")]
    Language {
        /// The program's purpose.
        role: Role,
        /// The reason.
        error: ChoiceError,
    },
    /// A program cannot be compiled on this machine at the moment.
    #[error("the {role} could not be compiled: {error}")]
    NotCompiled {
        /// The program's purpose.
        role: Role,
        /// The reason.
        error: CompileError,
    },
    /// The compiler rejects a program.
    #[error("the {role} cannot be compiled: {error}")]
    Rejected {
        /// The program's purpose.
        role: Role,
        /// The reason.
        error: CompileError,
        /// The compiler's messages.
        messages: String,
    },
    /// The checker's data cannot be made readable for the sandbox's user.
    #[error("the sandbox cannot read this directory: {0}")]
    Data(StagingError),
    /// The files that a test provides cannot be made readable for the sandbox's user.
    #[error("the sandbox cannot read the files of test {test}: {error}")]
    TestFiles {
        /// The test.
        test: String,
        /// The reason.
        error: StagingError,
    },
    /// A Sim package states no time limit and has no model solution to measure.
    #[error(
        "there is no time limit, and no model solution to measure: state a limit in the Simfile \
         (limits), or pass --time-limit"
    )]
    NoModelSolution,
    /// A Sim package states no time limit, and its model solution cannot be measured.
    #[error(
        "there is no time limit, and the model solution gives none: {0}; correct it, or give \
         --time-limit"
    )]
    ModelSolution(MeasurementFault),
    /// The package states no time limit, and no submission could be measured.
    #[error("there is no time limit, and no submission to measure one: {0}; give --time-limit")]
    NothingMeasured(Measurement),
    /// The time limit cannot be measured because the judge failed. A different limit would not
    /// help.
    #[error("the time limit cannot be measured, because the judge failed: {submission}: {fault}")]
    JudgeFailed {
        /// The submission that was measured.
        submission: String,
        /// The failure.
        fault: MeasurementFault,
    },
    /// Judging was stopped before the time limit was measured.
    #[error("interrupted before its time limit was measured")]
    Interrupted,
    /// A warning: a submission that should have been measured was not.
    #[error("does not count for the time limit{}: {fault}", BecauseOfJudge(.fault))]
    NotCounted {
        /// The reason.
        fault: MeasurementFault,
    },
}

impl PackageProblem {
    /// Replaces the path of each of the package's files.
    fn map_paths(&mut self, shown: impl Fn(&Path) -> PathBuf) {
        match self {
            PackageProblem::Language { error, .. } => error.map_paths(shown),
            PackageProblem::NotCompiled { error, .. } | PackageProblem::Rejected { error, .. } => {
                error.map_paths(shown);
            }
            PackageProblem::Data(error) | PackageProblem::TestFiles { error, .. } => {
                error.map_paths(shown);
            }
            _ => {}
        }
    }
}

const GENERATE: &str = "`millibox problem gen` generates it if the package has a generator for it";

/// Why no submission of a package could be measured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Measurement {
    /// The package has no submission that must be accepted.
    NoSubmission,
    /// submissions.yaml excludes all submissions that must be accepted.
    AllExcluded,
    /// Each submission, with its fault.
    Failed(Vec<(String, MeasurementFault)>),
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measurement::NoSubmission => {
                f.write_str("there is no submission that must be accepted")
            }
            Measurement::AllExcluded => f.write_str(
                "submissions.yaml excludes all submissions that must be accepted \
                 (use_for_time_limit)",
            ),
            Measurement::Failed(faults) => {
                for (index, (submission, fault)) in faults.iter().enumerate() {
                    let separator = if index > 0 { "; " } else { "" };
                    write!(f, "{separator}{submission}: {fault}")?;
                }
                Ok(())
            }
        }
    }
}

/// Why a submission cannot be measured.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasurementFault {
    /// The language of the submission cannot be used here. Other submissions may be measured.
    #[error(transparent)]
    Unavailable(Unavailable),
    /// The submission cannot be compiled.
    #[error("it cannot be compiled: {0}")]
    NotCompiled(CompileError),
    /// The submission is not accepted on a test.
    #[error("test {test} is not accepted ({})", in_line(.reason.as_ref(), .comment))]
    NotAccepted {
        /// The test.
        test: String,
        /// The reason for the verdict. `None` if the checker decided.
        reason: Option<Reason>,
        /// The checker's comment. It may be empty.
        comment: String,
    },
    /// The judge or the machine failed while compiling the submission.
    #[error("{}", in_line(Some(.0), ""))]
    CompilationFailed(InternalError),
    /// The judge, the machine or a program of the package failed on a test.
    #[error("test {test}: {}", in_line(.reason.as_ref(), ""))]
    TestFailed {
        /// The test.
        test: String,
        /// The reason for the judge error.
        reason: Option<Reason>,
    },
    /// Judging was stopped before all tests had results.
    #[error("judging was interrupted")]
    NotFinished,
}

impl MeasurementFault {
    /// Whether the judge, the machine or a program of the package is at fault instead of the
    /// submission.
    pub fn is_judge_failure(&self) -> bool {
        matches!(
            self,
            MeasurementFault::CompilationFailed(_)
                | MeasurementFault::TestFailed { .. }
                | MeasurementFault::NotFinished
        )
    }

    /// Whether the machine is at fault, so that a later attempt or another machine may measure the
    /// submission.
    pub fn is_of_machine(&self) -> bool {
        match self {
            MeasurementFault::CompilationFailed(error) => error.is_of_machine(),
            MeasurementFault::TestFailed { reason, .. } => {
                reason.as_ref().is_some_and(Reason::is_of_machine)
            }
            MeasurementFault::NotFinished => true,
            MeasurementFault::Unavailable(_)
            | MeasurementFault::NotCompiled(_)
            | MeasurementFault::NotAccepted { .. } => false,
        }
    }
}

/// Renders a reason in one line, or the comment if there is no reason.
fn in_line(reason: Option<&impl fmt::Display>, comment: &str) -> String {
    reason.map_or_else(|| line(comment), |reason| line(&reason.to_string()))
}

struct BecauseOfJudge<'a>(&'a MeasurementFault);

impl fmt::Display for BecauseOfJudge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_judge_failure() {
            f.write_str(", because the judge failed")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{JudgeFailure, Step};
    use millibox_languages::staging::StagingAction;
    use rustix::io::Errno;

    #[test]
    fn map_paths_replaces_paths_of_fault_and_cause() {
        let at = |package: &str| {
            let data = format!("{package}/data");
            let error = StagingError::TooDeep(format!("{data}/a").into());
            PackageFault::new(data.as_ref(), PackageProblem::Data(error))
        };
        let shown = |path: &Path| Path::new("p.zip").join(path.strip_prefix("/tmp/x").unwrap());
        assert_eq!(at("/tmp/x").map_paths(shown), at("p.zip"));
    }

    #[test]
    fn package_is_not_blamed_for_failures_of_the_machine() {
        let role = Role::Checker;
        let internal = |error| PackageProblem::NotCompiled {
            role,
            error: CompileError::Internal(error),
        };
        let full = || std::io::Error::from(Errno::NOSPC);
        let copy = |error: std::io::Error| StagingError::Io {
            action: StagingAction::Copy,
            path: "a".into(),
            error: error.into(),
        };
        let measured = PackageProblem::JudgeFailed {
            submission: "a".to_owned(),
            fault: MeasurementFault::NotFinished,
        };
        let broken = InternalError::ReadProduct(full().into());
        let failed = |failure: JudgeFailure| {
            let fault = MeasurementFault::TestFailed {
                test: "1".to_owned(),
                reason: Some(Reason::NotChecked(failure.into())),
            };
            assert!(fault.is_judge_failure());
            fault.is_of_machine()
        };
        assert!(failed(JudgeFailure::TestFiles(copy(full()))));
        assert!(failed(JudgeFailure::step(
            Step::FindFile("a".into()),
            full()
        )));
        assert!(!failed(JudgeFailure::TestFiles(copy(Errno::NOENT.into()))));
        assert!(!failed(JudgeFailure::NoAnswer));
        for (problem, expected) in [
            (internal(broken), true),
            (internal(InternalError::NoCommonDirectory), false),
            (PackageProblem::Data(copy(full())), true),
            (PackageProblem::Data(copy(Errno::NOENT.into())), false),
            (
                PackageProblem::Data(StagingError::TooDeep("a".into())),
                false,
            ),
            (measured, true),
            (PackageProblem::NoInteractor, false),
        ] {
            let fault = PackageFault::new("a".as_ref(), problem);
            assert_eq!(fault.is_of_machine(), expected, "{fault}");
        }
    }
}
