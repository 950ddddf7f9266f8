//! Results of groups from the package's own grader.

use super::{of_group, of_test, plan, scored};
use crate::tree::*;
use millibox_judge::scoring::{GroupFault, GroupReason, PointsError, Progress};
use millibox_judge::verdict::Verdict;
use millibox_judge::verdict::Verdict::*;
use millibox_package::model::{Format, Problem, Rules};

/// Sets the package's own grader in the rules of a group.
fn graded(rules: Rules) -> Rules {
    Rules {
        grader: Some(vec!["flag".to_owned()]),
        ..rules
    }
}

/// Returns the result of a submission. Each pair of `asked` is an expected input of the grader, and
/// the grader's answer.
#[track_caller]
fn grades(
    problem: &Problem,
    words: &str,
    asked: &[(&str, &str)],
) -> (Verdict, Option<f64>, Option<GroupReason>) {
    let problem = Problem {
        grader: Some(program()),
        ..problem.clone()
    };
    let plan = plan(&problem);
    let mut progress = Progress::new(&plan);
    let results: Vec<_> = words.split_whitespace().map(word).collect();
    let mut asked = asked.iter();
    loop {
        if let Some(grading) = progress.next_grading() {
            let (input, answer) = asked.next().unwrap_or_else(|| panic!("{grading:?}"));
            assert_eq!(
                (grading.input.as_str(), &grading.flags[..]),
                (*input, &["flag".to_owned()][..])
            );
            assert!(
                !progress.is_finished() && progress.next_grading().is_none(),
                "a grading is due once"
            );
            progress.grade(grading.group, parse_grade(answer));
        } else if let Some(test) = progress.next_test() {
            progress.record(test, results[test].clone().expect("the test is not due"));
        } else {
            break;
        }
    }
    assert_eq!(asked.next(), None);
    assert!(progress.is_finished());
    let submission = progress.submission();
    (
        submission.verdict.unwrap(),
        submission.points,
        submission.reason.clone(),
    )
}

#[test]
fn own_grader_decides_verdict_and_points() {
    let of = |rules| scored(graded(rules), 2);
    let says = |rules: Rules, words, input, answer| grades(&of(rules), words, &[(input, answer)]);
    let well = |verdict, points, reason| (verdict, Some(points), reason);
    let all = Rules {
        range: Some((0.0, 10.0)),
        ..Rules {
            stop_at_first_failure: false,
            ..legacy(4.0)
        }
    };
    assert_eq!(
        says(all.clone(), "AC AC=2.5", "AC 4\nAC 2.5\n", "AC 7"),
        well(Accepted, 7.0, None)
    );
    // The grader may accept a group with a rejected test.
    assert_eq!(
        says(all.clone(), "AC TL", "AC 4\nTLE 0\n", "AC 9"),
        well(Accepted, 9.0, None)
    );
    let of_group = |fault| Some(of_group("secret", fault));
    let second = || Some(of_test("secret/2"));
    assert_eq!(
        says(all.clone(), "AC AC", "AC 4\nAC 4\n", "WA 1"),
        well(WrongAnswer, 1.0, of_group(GroupFault::GraderDecision))
    );
    // Several verdicts share a code. The group's verdict is that of the part with this code.
    assert_eq!(
        says(all.clone(), "AC ML", "AC 4\nRTE 0\n", "RTE 0"),
        well(MemoryLimit, 0.0, second())
    );
    assert_eq!(
        says(all.clone(), "OL WA", "OLE 0\nWA 0\n", "WA 0"),
        well(WrongAnswer, 0.0, second())
    );
    // A range applies only to accepted groups.
    let (verdict, points, reason) = says(all.clone(), "AC AC", "AC 4\nAC 4\n", "AC 10.5");
    assert_eq!((verdict, points), (JudgeError, None));
    let outside = PointsError::OutOfRange {
        points: 10.5,
        range: (0.0, 10.0),
    };
    assert_eq!(reason, of_group(outside.into()));
    assert_eq!(
        says(all.clone(), "AC WA", "AC 4\nWA 0\n", "WA -1"),
        well(WrongAnswer, -1.0, second())
    );
    let (verdict, _, reason) = says(all.clone(), "AC WA", "AC 4\nWA 0\n", "fine");
    assert_eq!(verdict, JudgeError);
    let failure = parse_grade("fine").unwrap_err();
    assert_eq!(reason, of_group(GroupFault::Grader(failure.into())));
    // A group with a judge error is not graded.
    assert_eq!(grades(&of(all), "AC JE", &[]).0, JudgeError);
    // The grader receives only judged tests.
    assert_eq!(
        says(legacy(4.0), "WA -", "WA 0\n", "AC 3"),
        well(Accepted, 3.0, None)
    );
}

#[test]
fn own_grader_of_nested_groups_runs_innermost_first() {
    let inner = |name| group(name, graded(legacy(4.0)), 2, vec![]);
    let stops = Rules { ..legacy(1.0) };
    let secret = |rules| {
        group(
            "secret",
            rules,
            0,
            vec![inner("secret/a"), inner("secret/b")],
        )
    };
    let of = |rules| {
        problem(
            Format::Legacy,
            POINTS,
            graded(continuing()),
            vec![secret(rules)],
        )
    };
    // The innermost groups come first, in order. Each grader receives the results of its group's
    // parts.
    let a = ("AC 4\nAC 4\n", "AC 8");
    assert_eq!(
        grades(
            &of(stops.clone()),
            "AC AC AC WA",
            &[a, ("AC 4\nWA 0\n", "WA 4"), ("WA 12\n", "AC 13")]
        ),
        (Accepted, Some(13.0), None)
    );
    // If a grader rejects a group, its parent ends.
    assert_eq!(
        grades(
            &of(stops),
            "WA - - -",
            &[("WA 0\n", "WA 1"), ("WA 1\n", "WA 1")]
        ),
        (WrongAnswer, Some(1.0), Some(of_test("secret/a/1")))
    );
    // An outer group may have the package's own grader while inner groups have the default one.
    let plain = group(
        "secret",
        graded(continuing()),
        0,
        vec![group("secret/a", legacy(4.0), 2, vec![])],
    );
    let problem = problem(Format::Legacy, POINTS, continuing(), vec![plain]);
    assert_eq!(
        grades(&problem, "AC AC", &[("AC 8\n", "AC 1")]),
        (Accepted, Some(1.0), None)
    );
}
