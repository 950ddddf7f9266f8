//! Tests, groups and rules of a problem, in the order in which they are judged.

use super::points::Worth;
use millibox_package::model::{self, Format, Group, Objective, Problem, Rules, ScoreMode, Scoring};
use std::ops::Range;

/// What is to be judged, and by which rules.
///
/// Tests and groups are meant by their numbers: of tests in the order of [`Problem::tests`], of groups
/// in that of [`Problem::groups`], so that the root is group 0.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) tests: Vec<PlannedTest>,
    pub(super) groups: Vec<PlannedGroup>,
    pub(super) scoring: Scoring,
}

#[derive(Debug, Clone)]
pub(super) struct PlannedTest {
    pub name: String,
    pub group: usize,
}

#[derive(Debug, Clone)]
pub(super) struct PlannedGroup {
    pub name: String,
    pub sample: bool,
    pub rules: Rules,
    /// How its tests bring points.
    pub worth: Worth,
    pub parts: Vec<Part>,
    /// Groups that must be accepted before.
    pub requires: Vec<usize>,
    /// Its tests and those of the groups in it.
    pub tests: Range<usize>,
}

/// What a group consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Test(usize),
    Group(usize),
}

/// Why a problem's submissions cannot be scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A grader of the package's own is asked for, and there is none.
    #[error("group {0} asks for a grader of the package's own (grading: custom), and there is none in graders/")]
    NoGrader(String),
    /// A required group is not there, or comes too late.
    #[error("group {group} requires group {required}, which is not judged before it")]
    RequiredGroup {
        /// Who requires it.
        group: String,
        /// What it requires.
        required: String,
    },
    /// The rules of a group contradict each other, or leave its points open.
    #[error("group {group} cannot be scored: {reason}")]
    Rules {
        /// Whose rules.
        group: String,
        /// What is wrong with them.
        reason: &'static str,
    },
    /// There is nothing to judge.
    #[error("the problem has no tests")]
    NoTests,
}

impl Plan {
    /// The plan of a problem.
    ///
    /// # Errors
    /// Its rules are not supported, or make no sense; the message names the group.
    pub fn new(problem: &Problem) -> Result<Plan, PlanError> {
        let mut plan = Plan { tests: Vec::new(), groups: Vec::new(), scoring: problem.scoring };
        if let Some(group) = problem.groups().find(|group| group.rules.grader.is_some() && problem.grader.is_none()) {
            return Err(PlanError::NoGrader(shown(&group.name)));
        }
        plan.add(&problem.root, problem.format)?;
        if plan.tests.is_empty() {
            return Err(PlanError::NoTests);
        }
        for index in 0..plan.groups.len() {
            plan.groups[index].requires = plan.required(index)?;
        }
        Ok(plan)
    }

    fn add(&mut self, group: &Group, format: Format) -> Result<usize, PlanError> {
        let index = self.groups.len();
        let first = self.tests.len();
        self.groups.push(PlannedGroup {
            name: group.name.clone(),
            sample: group.sample,
            rules: group.rules.clone(),
            worth: self.worth(group, format)?,
            parts: Vec::with_capacity(group.tests.len() + group.groups.len()),
            requires: Vec::new(),
            tests: first..first,
        });
        for part in group.parts() {
            let part = match part {
                model::Part::Test(test) => {
                    self.tests.push(PlannedTest { name: test.name.clone(), group: index });
                    Part::Test(self.tests.len() - 1)
                }
                model::Part::Group(inner) => Part::Group(self.add(inner, format)?),
            };
            self.groups[index].parts.push(part);
        }
        self.groups[index].tests.end = self.tests.len();
        Ok(index)
    }

    fn worth(&self, group: &Group, format: Format) -> Result<Worth, PlanError> {
        let rules = &group.rules;
        let refused = |reason| Err(PlanError::Rules { group: shown(&group.name), reason });
        Ok(match (self.scoring, rules.score, rules.accept_score, rules.points) {
            (Scoring::PassFail, ..) if rules.grader.is_some() => {
                return refused("a grader of the package's own makes points, and the problem has none");
            }
            (Scoring::PassFail, ..) => Worth::Nothing,
            (_, ScoreMode::PassFail, _, None) => return refused("it is all or nothing, and no points are named"),
            (_, ScoreMode::PassFail, _, Some(_)) => Worth::AllOrNothing,
            // Whatever a checker writes for a sample.
            (_, _, Some(0.0), None) if format == Format::Icpc2023 && group.sample => Worth::Nothing,
            (_, _, Some(most), Some(_)) => Worth::UpTo(most),
            (_, _, Some(usual), None) => Worth::Usually(usual),
            (_, ScoreMode::Minimum, None, Some(_)) if !group.groups.is_empty() => {
                return refused("its points go by the least share of its tests, and it has groups");
            }
            (_, ScoreMode::Minimum, None, Some(_)) => Worth::Share { full_until: rules.time_graded_from },
            (_, _, None, _) if rules.time_graded_from.is_some() => {
                return refused("its points go down with time, and no points are named");
            }
            (_, _, None, _) => Worth::Unbounded,
        })
    }

    fn required(&self, index: usize) -> Result<Vec<usize>, PlanError> {
        let group = &self.groups[index];
        let find = |name: &String| {
            // One that ends before this begins; its parents do not.
            let before = |other: &PlannedGroup| other.name == *name && other.tests.end <= group.tests.start;
            self.groups[..index]
                .iter()
                .position(before)
                .ok_or_else(|| PlanError::RequiredGroup { group: shown(&group.name), required: shown(name) })
        };
        group.rules.require_pass.iter().map(find).collect()
    }

    /// Whether there are points.
    pub fn scores(&self) -> bool {
        self.scoring != Scoring::PassFail
    }

    /// How many tests there are.
    pub fn len(&self) -> usize {
        self.tests.len()
    }

    /// Never: a plan has tests.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// How many groups there are, the root included.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// Name of a test.
    pub fn test_name(&self, test: usize) -> &str {
        &self.tests[test].name
    }

    /// The group that a test is in.
    pub fn group_of(&self, test: usize) -> usize {
        self.tests[test].group
    }

    /// Tests of a group and of those in it.
    pub fn tests_of(&self, group: usize) -> Range<usize> {
        self.groups[group].tests.clone()
    }

    /// Name of a group; empty for the root.
    pub fn group_name(&self, group: usize) -> &str {
        &self.groups[group].name
    }

    /// Whether a group is one of samples.
    pub fn is_sample(&self, group: usize) -> bool {
        self.groups[group].sample
    }

    /// Most points of a group, or, if it is the root, of a submission; none if there are no points or
    /// no bound on them.
    pub fn max_score(&self, group: usize) -> Option<f64> {
        let most = match (self.scoring, group) {
            (Scoring::PassFail, _) => return None,
            (Scoring::Points { maximum, .. }, 0) => maximum,
            (Scoring::Points { .. }, _) => {
                let rules = &self.groups[group].rules;
                rules.points.or(rules.range.map(|(_, most)| most))?
            }
        };
        most.is_finite().then_some(most)
    }

    /// The best points of a group, or, if it is the root, of a submission: the most, or, where fewer are better, the
    /// least; none if there are no points or no bound on them.
    pub fn best_score(&self, group: usize) -> Option<f64> {
        let least = match self.scoring {
            Scoring::Points { minimum, objective: Objective::Min, .. } if group == 0 => Some(minimum),
            Scoring::Points { objective: Objective::Min, .. } => self.groups[group].rules.range.map(|(least, _)| least),
            Scoring::Points { objective: Objective::Max, .. } | Scoring::PassFail => return self.max_score(group),
        };
        least.filter(|least| least.is_finite())
    }

    /// Whether fewer points are better.
    pub fn fewer_are_better(&self) -> bool {
        matches!(self.scoring, Scoring::Points { objective: Objective::Min, .. })
    }
}

/// A group's name for a message.
pub(super) fn shown(name: &str) -> String {
    if name.is_empty() { "of all tests".to_owned() } else { name.to_owned() }
}
