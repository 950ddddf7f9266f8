//! The tests, groups and rules of a problem, in the order of judging.

use millibox_package::model::{self, Format, Group, Objective, Problem, Rules, ScoreMode, Scoring};
use std::ops::Range;

/// The tests, groups and rules of a problem.
///
/// Tests and groups have numbers: tests in the order of [`Problem::tests`], groups in the order of
/// [`Problem::groups`], so the root is group 0.
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
    /// How the group's tests earn points.
    pub worth: Worth,
    pub parts: Vec<Part>,
    /// Groups that must be accepted before this one is judged.
    pub requires: Vec<usize>,
    /// The tests of the group and of its subgroups.
    pub tests: Range<usize>,
}

/// How the tests of a group earn points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Worth {
    /// The tests have no points, or their points are ignored.
    Nothing,
    /// The group's points are all or nothing (2023-07 `pass-fail`).
    AllOrNothing,
    /// A test is worth at most this number of points (2023-07 with `max_score`).
    UpTo(f64),
    /// A test is worth this number of points unless the checker gives another number (legacy).
    Usually(f64),
    /// The checker gives the points (2023-07 `unbounded`).
    Unbounded,
    /// A test is worth a share of the group's points (Sim). The share is full up to this fraction
    /// of the time limit, and decreases to 0 at the limit.
    Share { full_until: Option<f64> },
}

/// A part of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Test(usize),
    Group(usize),
}

/// Why a problem's submissions cannot be scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A group requires the package's own grader, but the package has none.
    #[error(
        "group {0} requires the package's own grader (grading: custom), but graders/ has none; add \
         one"
    )]
    NoGrader(String),
    /// A required group does not exist or is judged later.
    #[error("group {group} requires group {required}, which is not judged before it")]
    RequiredGroup {
        /// The group.
        group: String,
        /// The required group.
        required: String,
    },
    /// The rules of a group contradict each other, or do not define its points.
    #[error("group {group} cannot be scored: {reason}")]
    Rules {
        /// The group.
        group: String,
        /// The reason.
        reason: &'static str,
    },
    /// The problem has no tests.
    #[error("the problem has no tests")]
    NoTests,
}

impl Plan {
    /// Creates the plan of a problem.
    ///
    /// # Errors
    /// The rules of a group are unsupported or contradictory. The error names the group.
    pub fn new(problem: &Problem) -> Result<Plan, PlanError> {
        let mut plan = Plan {
            tests: Vec::new(),
            groups: Vec::new(),
            scoring: problem.scoring,
        };
        if let Some(group) = problem
            .groups()
            .find(|group| group.rules.grader.is_some() && problem.grader.is_none())
        {
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
                    self.tests.push(PlannedTest {
                        name: test.name.clone(),
                        group: index,
                    });
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
        let refused = |reason| {
            Err(PlanError::Rules {
                group: shown(&group.name),
                reason,
            })
        };
        Ok(
            match (self.scoring, rules.score, rules.accept_score, rules.points) {
                (Scoring::PassFail, ..) if rules.grader.is_some() => {
                    return refused(
                        "the package's own grader assigns points, but the problem has none",
                    );
                }
                (Scoring::PassFail, ..) => Worth::Nothing,
                (_, ScoreMode::PassFail, _, None) => {
                    return refused("it is all or nothing, but it states no points");
                }
                (_, ScoreMode::PassFail, _, Some(_)) => Worth::AllOrNothing,
                // A sample gives no points, even if the checker writes some.
                (_, _, Some(0.0), None) if format == Format::Icpc2023 && group.sample => {
                    Worth::Nothing
                }
                (_, _, Some(most), Some(_)) => Worth::UpTo(most),
                (_, _, Some(usual), None) => Worth::Usually(usual),
                (_, ScoreMode::Minimum, None, Some(_)) if !group.groups.is_empty() => {
                    return refused(
                        "its points depend on the smallest share of its tests, but it has groups",
                    );
                }
                (_, ScoreMode::Minimum, None, Some(_)) => Worth::Share {
                    full_until: rules.time_graded_from,
                },
                (_, _, None, _) if rules.time_graded_from.is_some() => {
                    return refused("its points decrease with time, but it states no points");
                }
                (_, _, None, _) => Worth::Unbounded,
            },
        )
    }

    fn required(&self, index: usize) -> Result<Vec<usize>, PlanError> {
        let group = &self.groups[index];
        let find = |name: &String| {
            // The required group must end before this one begins. An ancestor of this group does
            // not.
            let before =
                |other: &PlannedGroup| other.name == *name && other.tests.end <= group.tests.start;
            self.groups[..index]
                .iter()
                .position(before)
                .ok_or_else(|| PlanError::RequiredGroup {
                    group: shown(&group.name),
                    required: shown(name),
                })
        };
        group.rules.require_pass.iter().map(find).collect()
    }

    /// Whether the problem has points.
    pub fn scores(&self) -> bool {
        self.scoring != Scoring::PassFail
    }

    /// Number of tests.
    pub fn len(&self) -> usize {
        self.tests.len()
    }

    /// Always false: a plan has tests.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Number of groups, including the root.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// A test's name.
    pub fn test_name(&self, test: usize) -> &str {
        &self.tests[test].name
    }

    /// The group of a test.
    pub fn group_of(&self, test: usize) -> usize {
        self.tests[test].group
    }

    /// The tests of a group and of its subgroups.
    pub fn tests_of(&self, group: usize) -> Range<usize> {
        self.groups[group].tests.clone()
    }

    /// A group's name. It is empty for the root.
    pub fn group_name(&self, group: usize) -> &str {
        &self.groups[group].name
    }

    /// Whether a group contains samples.
    pub fn is_sample(&self, group: usize) -> bool {
        self.groups[group].sample
    }

    /// The maximum number of points of a group, or of a submission if the group is the root. `None`
    /// if the problem has no points or no maximum.
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

    /// The best number of points of a group, or of a submission if the group is the root: the
    /// maximum, or the minimum if fewer points are better. `None` if the problem has no points or
    /// no such bound.
    pub fn best_score(&self, group: usize) -> Option<f64> {
        let least = match self.scoring {
            Scoring::Points {
                minimum,
                objective: Objective::Min,
                ..
            } if group == 0 => Some(minimum),
            Scoring::Points {
                objective: Objective::Min,
                ..
            } => self.groups[group].rules.range.map(|(least, _)| least),
            Scoring::Points {
                objective: Objective::Max,
                ..
            }
            | Scoring::PassFail => return self.max_score(group),
        };
        least.filter(|least| least.is_finite())
    }

    /// Whether fewer points are better.
    pub fn fewer_are_better(&self) -> bool {
        matches!(
            self.scoring,
            Scoring::Points {
                objective: Objective::Min,
                ..
            }
        )
    }
}

/// A group's name, as messages show it.
pub(super) fn shown(name: &str) -> String {
    if name.is_empty() {
        "of all tests".to_owned()
    } else {
        name.to_owned()
    }
}
