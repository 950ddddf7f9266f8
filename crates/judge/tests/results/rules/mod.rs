//! Each rule of scoring, with tables of results and expected outcomes.

mod formats;
mod graders;
mod points;
mod skipping;
mod verdicts;

use crate::tree::*;
use millibox_judge::scoring::{GroupFault, GroupReason, Plan, PointsError};
use millibox_judge::verdict::Verdict::{self, *};
use millibox_package::model::{Format, Group, Problem, Rules, ScoreMode, Scoring};

pub fn plan(problem: &Problem) -> Plan {
    Plan::new(problem).unwrap()
}

/// A pass-fail problem with one group.
pub fn one_group(rules: Rules, tests: usize) -> Problem {
    problem(
        Format::Legacy,
        Scoring::PassFail,
        Rules::default(),
        vec![group("secret", rules, tests, vec![])],
    )
}

/// A legacy scoring problem with one group.
pub fn scored(rules: Rules, tests: usize) -> Problem {
    problem(
        Format::Legacy,
        POINTS,
        continuing(),
        vec![group("secret", rules, tests, vec![])],
    )
}

#[track_caller]
pub fn verdict(rules: Rules, words: &str, verdict: Verdict, decided_by: Option<usize>) {
    let problem = one_group(rules, words.split_whitespace().count());
    let plan = plan(&problem);
    let progress = judge(&plan, words);
    let submission = progress.submission();
    assert_eq!(
        (submission.verdict, submission.decided_by),
        (Some(verdict), decided_by),
        "{words}"
    );
    assert_eq!(submission.points, None);
}

#[track_caller]
pub fn points(problem: &Problem, words: &str, verdict: Verdict, points: Option<f64>) {
    let plan = plan(problem);
    let progress = judge(&plan, words);
    let submission = progress.submission();
    assert_eq!(
        (submission.verdict, submission.points),
        (Some(verdict), points),
        "{words}: {:?}",
        submission.reason
    );
}

/// Asserts that the points of this group are wrong.
#[track_caller]
pub fn fault(problem: &Problem, words: &str, group: &str, error: PointsError) {
    let plan = plan(problem);
    let progress = judge(&plan, words);
    let submission = progress.submission();
    assert_eq!(
        (submission.verdict, submission.points),
        (Some(JudgeError), None),
        "{words}"
    );
    assert_eq!(submission.reason, Some(of_group(group, error.into())));
}

/// Returns the reason of a group that decides its verdict.
pub fn of_group(group: &str, fault: GroupFault) -> GroupReason {
    GroupReason::Group {
        group: group.to_owned(),
        fault,
    }
}

/// Returns the reason of a group whose verdict a test decides. The test's checker decided.
pub fn of_test(test: &str) -> GroupReason {
    GroupReason::Test {
        test: test.to_owned(),
        reason: None,
    }
}

/// Asserts that the checker's points for the test with this index are wrong.
#[track_caller]
pub fn points_fault(problem: &Problem, words: &str, test: usize, error: PointsError) {
    let plan = plan(problem);
    let progress = judge(&plan, words);
    let submission = progress.submission();
    assert_eq!(
        (submission.verdict, submission.points, submission.decided_by),
        (Some(JudgeError), None, Some(test)),
        "{words}"
    );
    assert_eq!(progress.points_error(test), Some(error), "{words}");
}

/// Creates a Sim problem, whose samples are group 0.
pub fn sim_problem(points: &[(f64, usize)]) -> Problem {
    let groups = points.iter().enumerate().map(|(number, (points, tests))| {
        let mut group = group(&number.to_string(), sim(*points), *tests, vec![]);
        group.sample = number == 0;
        group.rules.stop_at_first_failure = number != 0;
        group
    });
    problem(Format::Sim, POINTS, continuing(), groups.collect())
}

/// Returns the successor format's rules for a group.
pub fn successor(mode: ScoreMode, most: Option<f64>, tests: usize) -> Rules {
    let of_test = |most| {
        if mode == ScoreMode::Sum {
            most / tests as f64
        } else {
            most
        }
    };
    Rules {
        stop_at_first_failure: mode != ScoreMode::Sum,
        score: mode,
        accept_score: most.filter(|_| mode != ScoreMode::PassFail).map(of_test),
        reject_score: Some(0.0),
        range: Some((0.0, most.unwrap_or(f64::INFINITY))),
        points: most,
        ..Rules::default()
    }
}

/// Creates a scoring problem of the successor format, with one sample.
pub fn successor_problem(most: Option<f64>, groups: Vec<Group>) -> Problem {
    let secret = Rules {
        stop_at_first_failure: false,
        ..successor(ScoreMode::Sum, most, 1)
    };
    let sample = Rules {
        accept_score: Some(0.0),
        reject_score: Some(0.0),
        ..continuing()
    };
    let root = Rules {
        ignore_sample: true,
        ..continuing()
    };
    let groups = vec![
        group("sample", sample, 1, vec![]),
        group("secret", secret, 0, groups),
    ];
    problem(Format::Icpc2023, POINTS, root, groups)
}
