//! Walks through the tree of groups in order, as far as the known results allow.
//!
//! The walk follows the rules for judging one test after another, and continues where a result is
//! open. From there on, nothing is settled. The walk still finds tests that do not need to run:
//! tests of a group that an earlier part ends regardless of the open results.

use super::grading::{self, Grade, Grading};
use super::outcome::{
    GroupFault, GroupReason, GroupResult, PartName, PartResult, RecordedTest, Results, Skip,
    SkipCause, TestState,
};
use super::plan::{Part, PlannedGroup, shown};
use super::points;
use crate::verdict::Verdict;
use millibox_package::model::VerdictMode;

/// The state of the scoring after the results so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    pub tests: Vec<TestState>,
    pub groups: Vec<GroupResult>,
    pub settled: usize,
    /// The next group to grade. There is at most one, because later groups wait for it.
    pub grading: Option<Grading>,
}

/// The reason to skip a part.
#[derive(Debug, Clone, Copy)]
enum Obstacle {
    After(Part),
    Requires(usize),
    FailFast(Part),
}

/// The known state of a part that is not skipped.
#[derive(Debug, Clone, Copy, Default)]
struct PartState {
    /// Whether the part cannot be accepted, regardless of the open results.
    rejected: bool,
    /// The result. `None` while it is open, or if no test of the part was judged.
    result: Option<PartResult>,
}

struct Walker<'a> {
    results: &'a Results<'a>,
    walk: Walk,
    known: Vec<PartState>,
    /// Why each skipped group was skipped.
    skipped: Vec<Option<Obstacle>>,
    /// Whether the walk has passed an open result, which a test or a grader has not returned yet.
    /// In that case no later part is settled.
    open: bool,
    /// The part that ended judging: a test, or a group by its points or its grader.
    ended: Option<Part>,
}

impl Walk {
    pub fn of(results: &Results<'_>) -> Walk {
        let groups = results.plan.groups.len();
        let mut walker = Walker {
            results,
            walk: Walk {
                tests: vec![TestState::Open; results.plan.len()],
                groups: vec![GroupResult::default(); groups],
                settled: 0,
                grading: None,
            },
            known: vec![PartState::default(); groups],
            skipped: vec![None; groups],
            open: false,
            ended: None,
        };
        walker.group(0, None);
        walker.walk
    }
}

impl<'a> Walker<'a> {
    fn part(&mut self, part: Part, skip: Option<Obstacle>) -> PartState {
        match part {
            Part::Test(test) => self.test(test, skip),
            Part::Group(group) => self.group(group, skip),
        }
    }

    fn test(&mut self, test: usize, skip: Option<Obstacle>) -> PartState {
        let skip = skip.or(self.ended.map(Obstacle::FailFast));
        let recorded = self.results.tests[test].as_ref();
        let (state, known) = match (skip, recorded) {
            (Some(why), _) => (TestState::NotJudged(self.skip(why)), PartState::default()),
            (None, None) => {
                self.open = true;
                (TestState::Open, PartState::default())
            }
            (None, Some(recorded)) => {
                let verdict = recorded.verdict();
                let rejected = verdict != Verdict::Accepted;
                if rejected && self.results.fail_fast {
                    self.ended = Some(Part::Test(test));
                }
                let result = PartResult {
                    verdict,
                    points: recorded.points.ok().flatten(),
                    by: rejected.then_some(Part::Test(test)),
                };
                (
                    TestState::Judged,
                    PartState {
                        rejected,
                        result: Some(result),
                    },
                )
            }
        };
        self.walk.tests[test] = state;
        if !self.open {
            self.walk.settled = test + 1;
        }
        known
    }

    fn group(&mut self, index: usize, skip: Option<Obstacle>) -> PartState {
        let group: &'a PlannedGroup = &self.results.plan.groups[index];
        // The parent's reason takes precedence.
        let required = group
            .requires
            .iter()
            .copied()
            .find(|required| self.known[*required].rejected);
        let skip = skip
            .or(self.ended.map(Obstacle::FailFast))
            .or(required.map(Obstacle::Requires));
        let mut stop = skip;
        // `counted` holds the results that count, `ignored` those of samples that the rules ignore.
        let (mut counted, mut ignored) = (Vec::new(), Vec::new());
        let mut any_rejected = false;
        for part in &group.parts {
            let counts = !(group.rules.ignore_sample && self.is_sample(*part));
            let known = self.part(*part, stop);
            if counts { &mut counted } else { &mut ignored }.extend(known.result);
            any_rejected |= known.rejected && counts;
            if stop.is_none() && known.rejected && group.rules.stop_at_first_failure {
                stop = Some(Obstacle::After(*part));
            }
        }
        // If a sample ended the group, only ignored results exist. The default grader uses them as
        // well.
        let results = if counted.is_empty() { ignored } else { counted };
        let known = match skip {
            Some(why) => return self.not_judged(index, why),
            None if self.open => {
                let strict = group.rules.grader.is_none()
                    && matches!(group.rules.verdict, VerdictMode::Worst | VerdictMode::First);
                PartState {
                    rejected: any_rejected && strict,
                    result: None,
                }
            }
            // The group has no tests.
            None if results.is_empty() => PartState::default(),
            None if group.rules.grader.is_some() => self.graded(index, &results),
            None => self.aggregate(index, &results),
        };
        self.known[index] = known;
        known
    }

    fn is_sample(&self, part: Part) -> bool {
        match part {
            Part::Test(test) => {
                self.results.plan.groups[self.results.plan.tests[test].group].sample
            }
            Part::Group(group) => self.results.plan.groups[group].sample,
        }
    }

    /// Skips a group. A group without tests has nothing to skip.
    fn not_judged(&mut self, index: usize, why: Obstacle) -> PartState {
        let plan = self.results.plan;
        if plan.groups[index].tests.is_empty() {
            return PartState::default();
        }
        self.skipped[index] = Some(why);
        self.walk.groups[index].not_judged = Some(self.skip(why));
        // Groups that require this group must see that it was not accepted.
        self.known[index] = PartState {
            rejected: true,
            result: None,
        };
        let requires = &plan.groups[index].requires;
        if !matches!(why, Obstacle::Requires(required) if requires.contains(&required)) {
            // The parent has ended and uses no more results.
            return PartState::default();
        }
        if !self.open {
            // The parent sees a group that was not accepted, with the verdict of the required
            // group.
            let points = plan.scores().then_some(0.0);
            let (verdict, by) = self.blame(why);
            self.walk.groups[index].points = points;
            self.known[index].result = Some(PartResult {
                verdict,
                points,
                by,
            });
        }
        self.known[index]
    }

    /// Returns the verdict that caused a part to be skipped, and the part that decided it.
    fn blame(&self, why: Obstacle) -> (Verdict, Option<Part>) {
        let of_test = |test: usize| {
            let verdict = self.results.recorded(test).map(RecordedTest::verdict);
            (
                verdict.unwrap_or(Verdict::JudgeError),
                Some(Part::Test(test)),
            )
        };
        match why {
            Obstacle::After(Part::Test(test)) | Obstacle::FailFast(Part::Test(test)) => {
                of_test(test)
            }
            Obstacle::After(Part::Group(group))
            | Obstacle::FailFast(Part::Group(group))
            | Obstacle::Requires(group) => {
                match (self.known[group].result, self.skipped[group]) {
                    (Some(result), _) => (result.verdict, result.by),
                    (None, Some(why)) => self.blame(why),
                    // Unreachable, because an obstacle is always a part that was not accepted.
                    (None, None) => (Verdict::JudgeError, None),
                }
            }
        }
    }

    /// Handles a group whose result the package's own grader computes.
    fn graded(&mut self, index: usize, parts: &[PartResult]) -> PartState {
        let submission = self.results;
        let rules = &submission.plan.groups[index].rules;
        // As in `aggregate`: a judge error leaves the group without a verdict on the submission.
        if parts.iter().any(|part| part.verdict == Verdict::JudgeError) {
            return self.aggregate(index, parts);
        }
        let graded = match &submission.grades[index] {
            None => {
                let flags = rules.grader.clone().unwrap_or_default();
                self.walk.grading = Some(Grading {
                    group: index,
                    flags,
                    input: grading::lines(parts.iter().map(|part| (part.verdict, part.points))),
                });
                self.open = true;
                return PartState::default();
            }
            Some(Ok(grade)) => Ok(*grade),
            Some(Err(failure)) => Err(GroupFault::Grader(failure.clone())),
        };
        let graded = graded.and_then(|Grade { verdict, points }| {
            let points = points::in_range(rules, verdict == Verdict::Accepted, points)?;
            Ok((verdict, points))
        });
        let this = Some(Part::Group(index));
        match graded {
            Err(why) => self.conclude(index, Verdict::JudgeError, this, None, Some(why)),
            Ok((Verdict::Accepted, points)) => {
                self.conclude(index, Verdict::Accepted, None, Some(points), None)
            }
            Ok((verdict, points)) => {
                // One code may represent several verdicts.
                let alike =
                    |part: &&PartResult| grading::code(part.verdict) == grading::code(verdict);
                match parts.iter().find(alike) {
                    Some(part) => self.conclude(index, part.verdict, part.by, Some(points), None),
                    None => self.conclude(
                        index,
                        verdict,
                        this,
                        Some(points),
                        Some(GroupFault::GraderDecision),
                    ),
                }
            }
        }
    }

    fn aggregate(&mut self, index: usize, parts: &[PartResult]) -> PartState {
        let group = &self.results.plan.groups[index];
        let mode = group.rules.verdict;
        let rejected = || {
            parts
                .iter()
                .filter(|part| part.verdict != Verdict::Accepted)
        };
        let first_of = |verdict: Verdict| parts.iter().find(move |part| part.verdict == verdict);
        let worst = parts
            .iter()
            .map(|part| part.verdict)
            .max()
            .unwrap_or(Verdict::Accepted);
        // Under all rules, a judge error in a part is a judge error of the group.
        let decisive = match mode {
            _ if worst == Verdict::JudgeError => first_of(worst),
            VerdictMode::Worst => first_of(worst),
            VerdictMode::First => rejected().next(),
            VerdictMode::AnyAccepted => first_of(Verdict::Accepted).or_else(|| first_of(worst)),
            VerdictMode::AlwaysAccept => None,
        };
        let mut verdict = decisive.map_or(Verdict::Accepted, |part| part.verdict);
        let mut by = decisive.and_then(|part| part.by);
        let mut points = None;
        let mut fault = None;
        if self.results.plan.scores() && verdict != Verdict::JudgeError {
            let parts: Vec<f64> = parts
                .iter()
                .map(|part| part.points.unwrap_or(0.0))
                .collect();
            match points::of_group(
                group.worth,
                &group.rules,
                verdict == Verdict::Accepted,
                &parts,
            ) {
                Ok(sum) => points = Some(sum),
                Err(error) => {
                    (verdict, by) = (Verdict::JudgeError, Some(Part::Group(index)));
                    fault = Some(error.into());
                }
            }
        }
        self.conclude(index, verdict, by, points, fault)
    }

    /// Stores the result of a group. `why` is the reason if the group itself decided the result.
    fn conclude(
        &mut self,
        index: usize,
        verdict: Verdict,
        by: Option<Part>,
        points: Option<f64>,
        why: Option<GroupFault>,
    ) -> PartState {
        if self.results.fail_fast && by == Some(Part::Group(index)) {
            self.ended = self.ended.or(by);
        }
        let reason = match why {
            Some(fault) => Some(GroupReason::Group {
                group: shown(&self.results.plan.groups[index].name),
                fault,
            }),
            None => by.and_then(|part| self.reason(part)),
        };
        let decided_by = match by {
            Some(Part::Test(test)) => Some(test),
            _ => None,
        };
        self.walk.groups[index] = GroupResult {
            verdict: Some(verdict),
            reason,
            decided_by,
            points,
            not_judged: None,
        };
        PartState {
            rejected: verdict != Verdict::Accepted,
            result: Some(PartResult {
                verdict,
                points,
                by,
            }),
        }
    }

    fn reason(&self, by: Part) -> Option<GroupReason> {
        match by {
            Part::Group(group) => self.walk.groups[group].reason.clone(),
            Part::Test(test) => Some(GroupReason::Test {
                test: self.results.plan.tests[test].name.clone(),
                reason: self.results.recorded(test).and_then(RecordedTest::reason),
            }),
        }
    }

    fn skip(&self, why: Obstacle) -> Skip {
        let plan = self.results.plan;
        let (cause, part) = match why {
            Obstacle::After(part) => (SkipCause::GroupEnded, part),
            Obstacle::Requires(group) => (SkipCause::RequiredGroup, Part::Group(group)),
            Obstacle::FailFast(part) => (SkipCause::FailFast, part),
        };
        let part = match part {
            Part::Test(test) => PartName::Test(plan.tests[test].name.clone()),
            Part::Group(group) => PartName::Group(shown(&plan.groups[group].name)),
        };
        Skip { cause, part }
    }
}
