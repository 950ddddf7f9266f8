//! Tests that do not need to run.

use super::{one_group, plan, points, successor, successor_problem, verdict};
use crate::tree::*;
use millibox_judge::scoring::{PartName, Progress, SkipCause, TestState};
use millibox_judge::verdict::Verdict::*;
use millibox_package::model::{Format, Rules, ScoreMode, Scoring, VerdictMode};

#[test]
fn stop_at_first_failure_skips_rest() {
    verdict(Rules::default(), "AC AC AC", Accepted, None);
    verdict(Rules::default(), "AC WA - -", WrongAnswer, Some(1));
    verdict(continuing(), "AC WA AC TL", TimeLimit, Some(3));
}

#[test]
fn failed_group_ends_its_parent() {
    let groups = vec![
        group("a", Rules::default(), 2, vec![]),
        group("b", Rules::default(), 1, vec![]),
    ];
    let problem = problem(Format::Legacy, Scoring::PassFail, Rules::default(), groups);
    let plan = plan(&problem);
    let progress = judge(&plan, "WA - -");
    let why = |test| match progress.state(test) {
        TestState::NotJudged(skipped) => (skipped.cause, skipped.part.clone()),
        state => panic!("{state:?}"),
    };
    assert_eq!(
        why(1),
        (SkipCause::GroupEnded, PartName::Test("a/1".to_owned()))
    );
    assert_eq!(
        why(2),
        (SkipCause::GroupEnded, PartName::Group("a".to_owned()))
    );
    let b = progress.group(2);
    assert_eq!(
        (b.verdict, b.not_judged.as_ref().unwrap().cause),
        (None, SkipCause::GroupEnded)
    );
}

#[test]
fn groups_are_judged_in_order_among_tests() {
    let of = |name| {
        let secret = group(
            "secret",
            Rules::default(),
            2,
            vec![group(name, Rules::default(), 1, vec![])],
        );
        problem(
            Format::Legacy,
            Scoring::PassFail,
            Rules::default(),
            vec![secret],
        )
    };
    points(&of("secret/0"), "RE - -", RunTimeError, None);
    points(&of("secret/10"), "AC RE -", RunTimeError, None);
    points(&of("secret/3"), "AC AC RE", RunTimeError, None);
    let early = of("secret/0");
    assert_eq!(plan(&early).test_name(0), "secret/0/1");
}

#[test]
fn groups_with_failed_requirement_are_skipped() {
    let requiring = |mode, names: &[&str]| Rules {
        require_pass: names.iter().map(|name| (*name).to_owned()).collect(),
        ..successor(mode, Some(20.0), 1)
    };
    let problem = successor_problem(
        Some(100.0),
        vec![
            group("a", requiring(ScoreMode::PassFail, &["sample"]), 1, vec![]),
            group("b", requiring(ScoreMode::PassFail, &["a"]), 1, vec![]),
            group("c", requiring(ScoreMode::Sum, &["sample", "b"]), 1, vec![]),
            group("d", successor(ScoreMode::Sum, Some(40.0), 1), 1, vec![]),
        ],
    );
    points(&problem, "AC AC AC AC AC", Accepted, Some(100.0));
    // The skipped group has the verdict of the required group.
    points(&problem, "WA - - - AC", WrongAnswer, Some(40.0));
    points(&problem, "AC TL - - AC", TimeLimit, Some(40.0));
    points(&problem, "AC AC RE - AC", RunTimeError, Some(60.0));
    points(&problem, "JE - - - AC", JudgeError, None);
    let plan = plan(&problem);
    let progress = judge(&plan, "AC TL - - AC");
    let c = progress.group(5);
    assert_eq!(
        (progress.plan().group_name(5), c.verdict, c.points),
        ("c", None, Some(0.0))
    );
    let skipped = c.not_judged.as_ref().unwrap();
    assert_eq!(
        (skipped.cause, &skipped.part),
        (SkipCause::RequiredGroup, &PartName::Group("b".to_owned()))
    );
    assert_eq!(progress.submission().decided_by, Some(1));
}

#[test]
fn fail_fast_ends_at_first_rejection() {
    let groups = || {
        vec![
            group(
                "a",
                Rules {
                    verdict: VerdictMode::AlwaysAccept,
                    ..legacy(5.0)
                },
                2,
                vec![],
            ),
            group(
                "b",
                Rules {
                    stop_at_first_failure: false,
                    ..legacy(5.0)
                },
                3,
                vec![],
            ),
            group("c", legacy(5.0), 1, vec![]),
        ]
    };
    let problem = problem(
        Format::Legacy,
        POINTS,
        Rules {
            score: ScoreMode::Minimum,
            ..continuing()
        },
        groups(),
    );
    let plan = plan(&problem);
    let progress = judge_with(Progress::new(&plan).fail_fast(), "AC AC AC WA - -");
    let submission = progress.submission();
    assert_eq!(
        (submission.verdict, submission.points),
        (Some(WrongAnswer), Some(5.0))
    );
    let c = progress.group(3).not_judged.clone().unwrap();
    assert_eq!(
        (c.cause, c.part),
        (SkipCause::FailFast, PartName::Test("b/2".to_owned()))
    );
    let progress = judge_with(Progress::new(&plan).fail_fast(), "AC RE - - - -");
    assert_eq!(progress.submission().verdict, Some(Accepted));
}

#[test]
fn failure_ends_later_tests_while_earlier_results_are_open() {
    let inner = vec![
        group("x/a", continuing(), 2, vec![]),
        group("x/b", Rules::default(), 1, vec![]),
    ];
    let mut problem = problem(
        Format::Legacy,
        Scoring::PassFail,
        continuing(),
        vec![group("x", Rules::default(), 1, inner)],
    );
    let requiring = Rules {
        require_pass: vec!["x/a".to_owned()],
        ..Rules::default()
    };
    problem.root.groups.push(group("y", requiring, 1, vec![]));
    let plan = plan(&problem);
    let mut progress = Progress::new(&plan);
    assert_eq!(
        (0..4)
            .filter_map(|_| progress.next_test())
            .collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    progress.record(1, word("WA").unwrap());
    // Group a continues. Neither b nor y is judged, regardless of the results of x/1 and a/2.
    let needed: Vec<_> = (0..5).filter(|test| progress.is_needed(*test)).collect();
    assert_eq!(
        (needed, progress.settled(), progress.next_test()),
        (vec![0, 2], 0, None)
    );
    progress.record(0, word("TL").unwrap());
    assert!(progress.is_finished());
    assert_eq!(
        (
            progress.submission().verdict,
            progress.submission().decided_by
        ),
        (Some(TimeLimit), Some(0))
    );
}

#[test]
fn second_result_of_test_is_ignored() {
    let problem = one_group(continuing(), 1);
    let plan = plan(&problem);
    let mut progress = judge(&plan, "WA");
    progress.record(0, word("AC").unwrap());
    assert_eq!(progress.submission().verdict, Some(WrongAnswer));
}
