//! Points of tests and groups, and rules that cannot be scored.

use super::{fault, one_group, plan, points, scored, sim_problem};
use crate::tree::*;
use millibox_judge::failure::JudgeFailure;
use millibox_judge::result::Reason;
use millibox_judge::scoring::{Plan, PlanError, PointsError, Progress};
use millibox_judge::verdict::Points;
use millibox_judge::verdict::Verdict::*;
use millibox_package::model::{Format, Problem, Rules, ScoreMode};

#[test]
fn score_modes_combine_points() {
    let of = |score| Rules {
        score,
        stop_at_first_failure: false,
        ..legacy(12.0)
    };
    for (mode, all, some) in [
        (ScoreMode::Sum, 37.0, 25.0),
        (ScoreMode::Minimum, 1.0, 0.0),
        (ScoreMode::Maximum, 24.0, 24.0),
        (ScoreMode::Average, 37.0 / 3.0, 25.0 / 3.0),
    ] {
        points(&scored(of(mode), 3), "AC AC=24 AC=1", Accepted, Some(all));
        points(
            &scored(of(mode), 3),
            "WA AC=24 AC=1",
            WrongAnswer,
            Some(some),
        );
    }
    points(
        &scored(of(ScoreMode::Sum), 2),
        "AC%0.25 AC=-2.5",
        Accepted,
        Some(0.5),
    );
    let consolation = Rules {
        reject_score: Some(2.0),
        ..of(ScoreMode::Sum)
    };
    points(&scored(consolation, 3), "AC WA TL", TimeLimit, Some(16.0));
    // The checker's points override the rules, even for a wrong answer.
    points(
        &scored(of(ScoreMode::Sum), 2),
        "AC WA=3",
        WrongAnswer,
        Some(15.0),
    );
    // Only judged tests count, as in the default grader.
    points(
        &scored(
            Rules {
                score: ScoreMode::Average,
                ..legacy(12.0)
            },
            3,
        ),
        "AC WA -",
        WrongAnswer,
        Some(6.0),
    );
}

fn outside(points: f64, range: (f64, f64)) -> PointsError {
    PointsError::OutOfRange { points, range }
}

#[test]
fn points_outside_range_are_judge_error() {
    let ranged = Rules {
        range: Some((0.0, 20.0)),
        ..legacy(12.0)
    };
    points(&scored(ranged.clone(), 1), "AC", Accepted, Some(12.0));
    fault(
        &scored(ranged.clone(), 2),
        "AC AC",
        "secret",
        outside(24.0, (0.0, 20.0)),
    );
    fault(
        &scored(ranged, 1),
        "AC=-1",
        "secret",
        outside(-1.0, (0.0, 20.0)),
    );
    // Points of a rejected group may be below the range.
    let least = Rules {
        range: Some((10.0, 30.0)),
        ..legacy(12.0)
    };
    points(&scored(least.clone(), 2), "AC AC", Accepted, Some(24.0));
    points(&scored(least, 1), "WA", WrongAnswer, Some(0.0));
    // A tenth has no exact binary representation.
    let tenths = Rules {
        range: Some((0.0, 1.0)),
        ..legacy(0.1)
    };
    points(
        &scored(tenths, 10),
        "AC AC AC AC AC AC AC AC AC AC",
        Accepted,
        Some(1.0),
    );
}

#[test]
fn points_outside_range_end_parent() {
    let ranged = Rules {
        range: Some((0.0, 1.0)),
        ..legacy(2.0)
    };
    let groups = vec![
        group("a", ranged, 1, vec![]),
        group("b", legacy(1.0), 1, vec![]),
    ];
    let problem = problem(Format::Legacy, POINTS, Rules::default(), groups);
    fault(&problem, "AC -", "a", outside(2.0, (0.0, 1.0)));
}

#[test]
fn empty_groups_do_not_count() {
    let groups = vec![
        group(
            "a",
            Rules {
                range: Some((1.0, 2.0)),
                ..legacy(5.0)
            },
            0,
            vec![],
        ),
        group(
            "b",
            Rules {
                score: ScoreMode::Average,
                ..legacy(5.0)
            },
            2,
            vec![],
        ),
    ];
    let mut problem = problem(
        Format::Legacy,
        POINTS,
        Rules {
            score: ScoreMode::Minimum,
            ..continuing()
        },
        groups,
    );
    points(&problem, "AC AC", Accepted, Some(5.0));
    problem.root.groups[1].rules.require_pass = vec!["a".to_owned()];
    points(&problem, "AC AC", Accepted, Some(5.0));
}

#[test]
fn points_of_test_are_those_of_test_alone() {
    let sim = sim_problem(&[(0.0, 1), (40.0, 2)]);
    let plan = plan(&sim);
    let progress = judge(&plan, "AC AC%0.5 AC@0.9");
    let points: Vec<_> = (0..3).map(|test| progress.points(test).unwrap()).collect();
    assert_eq!(points[..2], [0.0, 20.0]);
    assert!((points[2] - 12.0).abs() < 1e-6, "{points:?}");
    let plain = one_group(continuing(), 1);
    let plan = Plan::new(&plain).unwrap();
    assert_eq!(judge(&plan, "AC=5").points(0), None);
}

#[test]
fn plan_rejects_unscorable_problems() {
    let refused = |problem: &Problem| Plan::new(problem).unwrap_err().to_string();
    let mut custom = one_group(
        Rules {
            grader: Some(Vec::new()),
            ..Rules::default()
        },
        1,
    );
    assert_eq!(
        refused(&custom),
        "group secret requires the package's own grader (grading: custom), but graders/ has none; \
         add one"
    );
    custom.grader = Some(program());
    assert_eq!(
        refused(&custom),
        "group secret cannot be scored: the package's own grader assigns points, but the problem \
         has none"
    );
    let later = one_group(
        Rules {
            require_pass: vec!["z".to_owned()],
            ..Rules::default()
        },
        1,
    );
    assert_eq!(
        refused(&later),
        "group secret requires group z, which is not judged before it"
    );
    let own = one_group(
        Rules {
            require_pass: vec!["secret".to_owned()],
            ..Rules::default()
        },
        1,
    );
    assert!(matches!(
        Plan::new(&own),
        Err(PlanError::RequiredGroup { .. })
    ));
    let parent = group("a", continuing(), 1, vec![]);
    let mut parent = problem(
        Format::Legacy,
        POINTS,
        continuing(),
        vec![group("x", continuing(), 0, vec![parent])],
    );
    parent.root.groups[0].groups[0].rules.require_pass = vec!["x".to_owned()];
    assert!(matches!(
        Plan::new(&parent),
        Err(PlanError::RequiredGroup { .. })
    ));
    let nothing = scored(
        Rules {
            score: ScoreMode::PassFail,
            ..Rules::default()
        },
        1,
    );
    assert_eq!(
        refused(&nothing),
        "group secret cannot be scored: it is all or nothing, but it states no points"
    );
    assert_eq!(
        Plan::new(&one_group(continuing(), 0)).unwrap_err(),
        PlanError::NoTests
    );
}

#[test]
fn wrong_points_keep_recorded_result() {
    let problem = scored(legacy(12.0), 2);
    let plan = plan(&problem);
    let mut progress = Progress::new(&plan);
    let wrong = |verdict: &str, reason: &Reason| {
        let mut judged = word(verdict).unwrap();
        judged.result.reason = Some(reason.clone());
        judged.result.score = Some(Points::Absolute(f64::INFINITY));
        judged
    };
    let pass = Reason::Pass {
        number: 2,
        reason: None,
    };
    progress.record(0, wrong("WA", &pass));
    let error = PointsError::NotFinite(f64::INFINITY);
    assert_eq!(progress.verdict(0), Some(JudgeError));
    assert_eq!(progress.points_error(0), Some(error));
    assert_eq!(progress.points(0), None);
    let reason = Some(Box::new(pass.clone()));
    assert_eq!(progress.reason(0), Some(Reason::Points { reason, error }));
    let recorded = &progress.judged(0).unwrap().result;
    assert_eq!(
        (recorded.verdict, &recorded.reason),
        (WrongAnswer, &Some(pass))
    );
    // If the judge failed first, the points mean nothing.
    let no_answer = Reason::Judge(JudgeFailure::NoAnswer.into());
    progress.record(1, wrong("JE", &no_answer));
    assert_eq!(progress.verdict(1), Some(JudgeError));
    assert_eq!(progress.points_error(1), None);
    assert_eq!(progress.reason(1), Some(no_answer));
}
