//! Through the tree in order, as far as the results go.
//!
//! The walk does what judging one test after another does, and goes on where a result is open. From there
//! on nothing is settled; but it still knows of a test that it need not be run, if whatever the open
//! results are, something before it ends its group.

use super::grading::{self, Grade, Grading};
use super::plan::{Part, PlannedGroup, shown};
use super::points;
use super::progress::{Progress, RecordedTest, TestState};
use crate::verdict::Verdict;
use millibox_package::model::VerdictMode;
use serde::Serialize;

/// Why a test, or all of a group, was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipCause {
    /// Something before it was not accepted and ended its group.
    GroupEnded,
    /// A group that it requires was not accepted.
    RequiredGroup,
    /// Judging was to end with the first test that is not accepted.
    FailFast,
    /// There is no program: the submission could not be compiled.
    NoProgram,
    /// Its language is not known or cannot be used here: of whole submissions only.
    NoLanguage,
    /// Judging ended before its result was there.
    Unfinished,
}

/// Why something was not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// What kind of reason.
    pub why: SkipCause,
    /// The same in words.
    pub reason: String,
}

/// What is known of a group, or a submission.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupResult {
    /// Its verdict; none while it is open, or if nothing of it was judged.
    pub verdict: Option<Verdict>,
    /// For a verdict other than accepted: why, in a few words.
    pub reason: String,
    /// Number of the test that decided the verdict, if one did.
    pub decided_by: Option<usize>,
    /// Its points. None while it is open, if there are none, and after a judge error. A group that was not
    /// judged because of one that it requires has none of the points that it could have: 0.
    pub points: Option<f64>,
    /// If all of it was not judged: why.
    pub not_judged: Option<Skip>,
}

/// What follows from the results that there are.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    pub tests: Vec<TestState>,
    pub groups: Vec<GroupResult>,
    pub settled: usize,
    /// A group of which all is known but what its grader makes of it. There is one at most: what comes after it waits.
    pub grading: Option<Grading>,
}

/// Why the rest is not judged.
#[derive(Debug, Clone, Copy)]
enum Obstacle {
    After(Part),
    Requires(usize),
    FailFast(Part),
}

/// What a part says to the group that it is in.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartResult {
    pub verdict: Verdict,
    /// Points or share.
    pub points: Option<f64>,
    /// Who decided that it is not accepted: a test, or a group by its points.
    by: Option<Part>,
}

/// What is known of a part that is not skipped.
#[derive(Debug, Clone, Copy, Default)]
struct PartState {
    /// It is not accepted, whatever the open results are.
    rejected: bool,
    /// What it says; none while it is open, or if there is nothing of it that was judged.
    said: Option<PartResult>,
}

struct Walker<'a> {
    progress: &'a Progress<'a>,
    walk: Walk,
    known: Vec<PartState>,
    /// Why groups were skipped.
    skipped: Vec<Option<Obstacle>>,
    /// A result, or a grader's answer, is open, so nothing that comes later is settled.
    open: bool,
    /// What ended it all: a test, or a group by its points or its grader.
    ended: Option<Part>,
}

impl Walk {
    pub fn of(progress: &Progress<'_>) -> Walk {
        let groups = progress.plan.groups.len();
        let mut walker = Walker {
            progress,
            walk: Walk {
                tests: vec![TestState::Open; progress.plan.len()],
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
        let recorded = self.progress.results[test].as_ref();
        let (state, known) = match (skip, recorded) {
            (Some(why), _) => (TestState::NotJudged(self.words(why)), PartState::default()),
            (None, None) => {
                self.open = true;
                (TestState::Open, PartState::default())
            }
            (None, Some(RecordedTest { judged, points })) => {
                let verdict = judged.result.verdict;
                let rejected = verdict != Verdict::Accepted;
                if rejected && self.progress.fail_fast {
                    self.ended = Some(Part::Test(test));
                }
                let said = PartResult { verdict, points: *points, by: rejected.then_some(Part::Test(test)) };
                (TestState::Judged, PartState { rejected, said: Some(said) })
            }
        };
        self.walk.tests[test] = state;
        if !self.open {
            self.walk.settled = test + 1;
        }
        known
    }

    fn group(&mut self, index: usize, skip: Option<Obstacle>) -> PartState {
        let group: &'a PlannedGroup = &self.progress.plan.groups[index];
        // What a parent says comes first.
        let required = group.requires.iter().copied().find(|required| self.known[*required].rejected);
        let skip = skip.or(self.ended.map(Obstacle::FailFast)).or(required.map(Obstacle::Requires));
        let mut stop = skip;
        // Of parts that count, and of those that do not.
        let (mut said, mut ignored) = (Vec::new(), Vec::new());
        let mut any_rejected = false;
        for part in &group.parts {
            let counts = !(group.rules.ignore_sample && self.is_sample(*part));
            let known = self.part(*part, stop);
            if counts { &mut said } else { &mut ignored }.extend(known.said);
            any_rejected |= known.rejected && counts;
            if stop.is_none() && known.rejected && group.rules.stop_at_first_failure {
                stop = Some(Obstacle::After(*part));
            }
        }
        // If a sample ended it, there is nothing else: the default grader, too, goes by it then.
        let said = if said.is_empty() { ignored } else { said };
        let known = match skip {
            Some(why) => return self.not_judged(index, why),
            None if self.open => {
                let strict = group.rules.grader.is_none()
                    && matches!(group.rules.verdict, VerdictMode::Worst | VerdictMode::First);
                PartState { rejected: any_rejected && strict, said: None }
            }
            // It has no tests.
            None if said.is_empty() => PartState::default(),
            None if group.rules.grader.is_some() => self.graded(index, &said),
            None => self.aggregate(index, &said),
        };
        self.known[index] = known;
        known
    }

    fn is_sample(&self, part: Part) -> bool {
        match part {
            Part::Test(test) => self.progress.plan.groups[self.progress.plan.tests[test].group].sample,
            Part::Group(group) => self.progress.plan.groups[group].sample,
        }
    }

    /// A group that is skipped. One without tests has nothing to skip.
    fn not_judged(&mut self, index: usize, why: Obstacle) -> PartState {
        let plan = self.progress.plan;
        if plan.groups[index].tests.is_empty() {
            return PartState::default();
        }
        self.skipped[index] = Some(why);
        self.walk.groups[index].not_judged = Some(self.words(why));
        // Who requires it must know that it was not accepted.
        self.known[index] = PartState { rejected: true, said: None };
        if !matches!(why, Obstacle::Requires(required) if plan.groups[index].requires.contains(&required)) {
            // It is its parent that ended, which asks no further.
            return PartState::default();
        }
        if !self.open {
            // To its parent it is not accepted; with which verdict, the required group says.
            let points = plan.scores().then_some(0.0);
            let (verdict, by) = self.blame(why);
            self.walk.groups[index].points = points;
            self.known[index].said = Some(PartResult { verdict, points, by });
        }
        self.known[index]
    }

    /// The verdict for which something was not judged, and who decided it.
    fn blame(&self, why: Obstacle) -> (Verdict, Option<Part>) {
        let of_test = |test: usize| {
            let verdict = self.progress.judged(test).map(|judged| judged.result.verdict);
            (verdict.unwrap_or(Verdict::JudgeError), Some(Part::Test(test)))
        };
        match why {
            Obstacle::After(Part::Test(test)) | Obstacle::FailFast(Part::Test(test)) => of_test(test),
            Obstacle::After(Part::Group(group))
            | Obstacle::FailFast(Part::Group(group))
            | Obstacle::Requires(group) => {
                match (self.known[group].said, self.skipped[group]) {
                    (Some(said), _) => (said.verdict, said.by),
                    (None, Some(why)) => self.blame(why),
                    // Only what was not accepted is blamed.
                    (None, None) => (Verdict::JudgeError, None),
                }
            }
        }
    }

    /// A group that a grader of the package's own speaks for, once that has spoken.
    fn graded(&mut self, index: usize, parts: &[PartResult]) -> PartState {
        let progress = self.progress;
        let rules = &progress.plan.groups[index].rules;
        // As below: nothing can be said if some of it could not be judged.
        if parts.iter().any(|part| part.verdict == Verdict::JudgeError) {
            return self.aggregate(index, parts);
        }
        let graded = match &progress.graded[index] {
            None => {
                let flags = rules.grader.clone().unwrap_or_default();
                self.walk.grading = Some(Grading { group: index, flags, input: grading::lines(parts) });
                self.open = true;
                return PartState::default();
            }
            Some(graded) => graded.clone().map_err(|why| format!("grader: {why}")),
        };
        let graded = graded.and_then(|Grade { verdict, points }| {
            Ok((verdict, points::in_range(rules, verdict == Verdict::Accepted, points)?))
        });
        let this = Some(Part::Group(index));
        match graded {
            Err(why) => self.conclude(index, Verdict::JudgeError, this, None, Some(why)),
            Ok((Verdict::Accepted, points)) => self.conclude(index, Verdict::Accepted, None, Some(points), None),
            Ok((verdict, points)) => {
                // One word may stand for several verdicts.
                let alike = |part: &&PartResult| grading::code(part.verdict) == grading::code(verdict);
                match parts.iter().find(alike) {
                    Some(part) => self.conclude(index, part.verdict, part.by, Some(points), None),
                    None => self.conclude(index, verdict, this, Some(points), Some("the grader says so".to_owned())),
                }
            }
        }
    }

    fn aggregate(&mut self, index: usize, parts: &[PartResult]) -> PartState {
        let group = &self.progress.plan.groups[index];
        let mode = group.rules.verdict;
        let rejected = || parts.iter().filter(|part| part.verdict != Verdict::Accepted);
        let first_of = |verdict: Verdict| parts.iter().find(move |part| part.verdict == verdict);
        let worst = parts.iter().map(|part| part.verdict).max().unwrap_or(Verdict::Accepted);
        // Nothing can be said of a submission if some of it could not be judged.
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
        if self.progress.plan.scores() && verdict != Verdict::JudgeError {
            let parts: Vec<f64> = parts.iter().map(|part| part.points.unwrap_or(0.0)).collect();
            match points::of_group(group.worth, &group.rules, verdict == Verdict::Accepted, &parts) {
                Ok(sum) => points = Some(sum),
                Err(why) => {
                    (verdict, by) = (Verdict::JudgeError, Some(Part::Group(index)));
                    fault = Some(why);
                }
            }
        }
        self.conclude(index, verdict, by, points, fault)
    }

    /// The result of a group. `why`: the group itself decided it, for this reason.
    fn conclude(
        &mut self,
        index: usize,
        verdict: Verdict,
        by: Option<Part>,
        points: Option<f64>,
        why: Option<String>,
    ) -> PartState {
        if self.progress.fail_fast && by == Some(Part::Group(index)) {
            self.ended = self.ended.or(by);
        }
        let name = &self.progress.plan.groups[index].name;
        let reason = why.map_or_else(|| self.reason(by), |why| format!("group {}: {why}", shown(name)));
        let decided_by = match by {
            Some(Part::Test(test)) => Some(test),
            _ => None,
        };
        self.walk.groups[index] = GroupResult { verdict: Some(verdict), reason, decided_by, points, not_judged: None };
        PartState { rejected: verdict != Verdict::Accepted, said: Some(PartResult { verdict, points, by }) }
    }

    fn reason(&self, by: Option<Part>) -> String {
        match by {
            None => String::new(),
            Some(Part::Group(group)) => self.walk.groups[group].reason.clone(),
            Some(Part::Test(test)) => {
                let name = &self.progress.plan.tests[test].name;
                match self.progress.judged(test).map(|judged| judged.result.reason.as_str()) {
                    None | Some("") => format!("test {name}"),
                    Some(reason) => format!("test {name}: {reason}"),
                }
            }
        }
    }

    fn words(&self, why: Obstacle) -> Skip {
        let plan = self.progress.plan;
        let name = |part: Part| match part {
            Part::Test(test) => format!("test {}", plan.tests[test].name),
            Part::Group(group) => format!("group {}", shown(&plan.groups[group].name)),
        };
        let (why, part) = match why {
            Obstacle::After(part) => (SkipCause::GroupEnded, name(part)),
            Obstacle::Requires(group) => (SkipCause::RequiredGroup, format!("required {}", name(Part::Group(group)))),
            Obstacle::FailFast(part) => (SkipCause::FailFast, name(part)),
        };
        Skip { why, reason: format!("{part} was not accepted") }
    }
}
