//! Each rule in a table of results and outcomes.

use crate::tree::*;
use Verdict::*;
use millibox_judge::scoring::{Grade, Plan, PlanError, Progress, SkipCause, TestState};
use millibox_judge::verdict::Verdict;
use millibox_package::model::{Format, Group, Problem, Rules, ScoreMode, Scoring, VerdictMode};

fn plan(problem: &Problem) -> Plan {
    Plan::new(problem).unwrap()
}

/// A pass-fail problem with one group.
fn one_group(rules: Rules, tests: usize) -> Problem {
    problem(
        Format::Legacy,
        Scoring::PassFail,
        Rules::default(),
        vec![group("secret", rules, tests, vec![])],
    )
}

/// A legacy scoring problem with one group.
fn scored(rules: Rules, tests: usize) -> Problem {
    problem(
        Format::Legacy,
        POINTS,
        continuing(),
        vec![group("secret", rules, tests, vec![])],
    )
}

#[track_caller]
fn verdict(rules: Rules, words: &str, verdict: Verdict, decided_by: Option<usize>) {
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
fn points(problem: &Problem, words: &str, verdict: Verdict, points: Option<f64>) {
    let plan = plan(problem);
    let progress = judge(&plan, words);
    let submission = progress.submission();
    assert_eq!(
        (submission.verdict, submission.points),
        (Some(verdict), points),
        "{words}: {}",
        submission.reason
    );
}

#[track_caller]
fn fault(problem: &Problem, words: &str, reason: &str) {
    let plan = plan(problem);
    let progress = judge(&plan, words);
    let submission = progress.submission();
    assert_eq!(
        (submission.verdict, submission.points),
        (Some(JudgeError), None),
        "{words}"
    );
    assert_eq!(submission.reason, reason);
}

#[test]
fn stop_at_first_failure_skips_the_rest() {
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
        TestState::NotJudged(skipped) => (skipped.cause, skipped.reason.clone()),
        state => panic!("{state:?}"),
    };
    assert_eq!(
        why(1),
        (
            SkipCause::GroupEnded,
            "test a/1 was not accepted".to_owned()
        )
    );
    assert_eq!(
        why(2),
        (SkipCause::GroupEnded, "group a was not accepted".to_owned())
    );
    let b = progress.group(2);
    assert_eq!(
        (b.verdict, b.not_judged.as_ref().unwrap().cause),
        (None, SkipCause::GroupEnded)
    );
}

#[test]
fn worst_takes_the_gravest_verdict() {
    // The format's order is RTE, MLE, TLE, OLE, WA. Among equals the first decides.
    verdict(continuing(), "WA OL WA", OutputLimit, Some(1));
    verdict(continuing(), "OL TL WA", TimeLimit, Some(1));
    verdict(continuing(), "TL ML TL", MemoryLimit, Some(1));
    verdict(continuing(), "ML RE AC RE", RunTimeError, Some(1));
    verdict(continuing(), "RE JE", JudgeError, Some(1));
}

#[test]
fn first_takes_the_first_rejection() {
    let first = Rules {
        verdict: VerdictMode::First,
        ..continuing()
    };
    verdict(first.clone(), "AC WA RE", WrongAnswer, Some(1));
    verdict(first.clone(), "AC AC", Accepted, None);
    verdict(first, "WA JE", JudgeError, Some(1));
}

#[test]
fn any_accepted_needs_one_accepted_test() {
    let any = Rules {
        verdict: VerdictMode::AnyAccepted,
        ..continuing()
    };
    verdict(any.clone(), "WA AC RE", Accepted, None);
    verdict(any.clone(), "WA RE TL", RunTimeError, Some(1));
    verdict(any.clone(), "AC JE", JudgeError, Some(1));
    verdict(
        Rules {
            stop_at_first_failure: true,
            ..any
        },
        "WA -",
        WrongAnswer,
        Some(0),
    );
}

#[test]
fn always_accept_ignores_rejections() {
    let always = Rules {
        verdict: VerdictMode::AlwaysAccept,
        ..continuing()
    };
    verdict(always.clone(), "WA RE", Accepted, None);
    verdict(always.clone(), "WA JE", JudgeError, Some(1));
    verdict(
        Rules {
            stop_at_first_failure: true,
            ..always.clone()
        },
        "AC WA - ",
        Accepted,
        None,
    );
    // Results after the end of judging do not count.
    let problem = one_group(
        Rules {
            stop_at_first_failure: true,
            ..always
        },
        2,
    );
    let plan = plan(&problem);
    let mut progress = Progress::new(&plan);
    progress.record(1, word("JE").unwrap());
    assert_eq!(progress.submission().verdict, None);
    progress.record(0, word("WA").unwrap());
    assert_eq!(progress.submission().verdict, Some(Accepted));
}

#[test]
fn judge_error_counts_only_if_its_test_counts() {
    let ignoring = Rules {
        ignore_sample: true,
        ..continuing()
    };
    let groups = || {
        vec![
            group("sample", continuing(), 1, vec![]),
            group("secret", continuing(), 2, vec![]),
        ]
    };
    let problem = problem(Format::Legacy, Scoring::PassFail, ignoring, groups());
    let plan = plan(&problem);
    assert_eq!(
        judge(&plan, "JE AC WA").submission().verdict,
        Some(WrongAnswer)
    );
    let counted = self::problem(Format::Legacy, Scoring::PassFail, continuing(), groups());
    let plan = Plan::new(&counted).unwrap();
    let progress = judge(&plan, "JE AC WA");
    assert_eq!(progress.submission().verdict, Some(JudgeError));
    assert_eq!(progress.submission().reason, "test sample/1");
}

#[test]
fn ignored_samples_do_not_count() {
    let groups = || {
        vec![
            group("sample", legacy(1.0), 1, vec![]),
            group("secret", legacy(10.0), 2, vec![]),
        ]
    };
    let of = |rules| problem(Format::Legacy, POINTS, rules, groups());
    let ignoring = of(Rules {
        ignore_sample: true,
        ..continuing()
    });
    points(&ignoring, "WA AC AC", Accepted, Some(20.0));
    points(&ignoring, "AC AC AC", Accepted, Some(20.0));
    points(&ignoring, "AC AC WA", WrongAnswer, Some(10.0));
    points(&of(continuing()), "AC AC AC", Accepted, Some(21.0));
    // With on_reject: break, only the sample has a result.
    points(
        &of(Rules {
            ignore_sample: true,
            ..Rules::default()
        }),
        "RE - -",
        RunTimeError,
        Some(0.0),
    );
}

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
    // The checker's points override the rules, also for a wrong answer.
    points(
        &scored(of(ScoreMode::Sum), 2),
        "AC WA=3",
        WrongAnswer,
        Some(15.0),
    );
    // Only judged tests count, as for the default grader.
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
fn points_outside_their_range_are_a_judge_error() {
    let ranged = Rules {
        range: Some((0.0, 20.0)),
        ..legacy(12.0)
    };
    points(&scored(ranged.clone(), 1), "AC", Accepted, Some(12.0));
    fault(
        &scored(ranged.clone(), 2),
        "AC AC",
        "group secret: 24 points are outside its range, 0 to 20",
    );
    fault(
        &scored(ranged, 1),
        "AC=-1",
        "group secret: -1 points are outside its range, 0 to 20",
    );
    // Points of what is not accepted may be below the range.
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
fn points_outside_their_range_end_the_parent() {
    let ranged = Rules {
        range: Some((0.0, 1.0)),
        ..legacy(2.0)
    };
    let groups = vec![
        group("a", ranged, 1, vec![]),
        group("b", legacy(1.0), 1, vec![]),
    ];
    let problem = problem(Format::Legacy, POINTS, Rules::default(), groups);
    fault(
        &problem,
        "AC -",
        "group a: 2 points are outside its range, 0 to 1",
    );
}

/// The successor format's rules for a group.
fn successor(mode: ScoreMode, most: Option<f64>, tests: usize) -> Rules {
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

/// A scoring problem of the successor format, with one sample.
fn successor_problem(most: Option<f64>, groups: Vec<Group>) -> Problem {
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

#[test]
fn successor_groups_have_points_by_their_rules() {
    let problem = successor_problem(
        Some(100.0),
        vec![
            group(
                "a",
                successor(ScoreMode::PassFail, Some(10.0), 2),
                2,
                vec![],
            ),
            group("b", successor(ScoreMode::Sum, Some(30.0), 3), 3, vec![]),
            group("c", successor(ScoreMode::Minimum, Some(60.0), 2), 2, vec![]),
        ],
    );
    points(
        &problem,
        "AC  AC AC  AC AC AC  AC AC",
        Accepted,
        Some(100.0),
    );
    points(
        &problem,
        "AC  WA -   AC AC TL  AC AC",
        TimeLimit,
        Some(80.0),
    );
    points(
        &problem,
        "AC  AC AC  AC%0.5 AC=3 AC  AC=7.5 AC",
        Accepted,
        Some(35.5),
    );
    points(
        &problem,
        "AC  AC AC  AC AC AC  AC RE",
        RunTimeError,
        Some(40.0),
    );
    // A checker's points for samples are ignored.
    points(
        &problem,
        "AC=99  AC AC  AC AC AC  AC AC",
        Accepted,
        Some(100.0),
    );
    points(
        &problem,
        "WA=99  AC AC  AC AC AC  AC AC",
        Accepted,
        Some(100.0),
    );
    fault(
        &problem,
        "AC  AC=1 -  AC AC AC  AC AC",
        "test a/1: the checker gave points, but those of its group are all or nothing",
    );
    fault(
        &problem,
        "AC  AC AC  AC=10.5 AC AC  AC AC",
        "test b/1: the checker gave 10.5 points; the test is worth 0 to 10",
    );
    fault(
        &problem,
        "AC  AC AC  AC WA=0 AC  AC AC",
        "test b/2: the checker gave points for an output that it rejected",
    );
    fault(
        &problem,
        "AC  AC AC  AC=-1 AC AC  AC AC",
        "test b/1: the checker gave -1 points; the test is worth 0 to 10",
    );
}

#[test]
fn unbounded_groups_take_the_checkers_points() {
    let problem = successor_problem(
        None,
        vec![group("a", successor(ScoreMode::Sum, None, 2), 2, vec![])],
    );
    points(&problem, "AC AC=1000 AC=0.5", Accepted, Some(1000.5));
    points(&problem, "AC AC=1000 WA", WrongAnswer, Some(1000.0));
    let reasons = [
        (
            "AC AC AC=1",
            "test a/1: the checker gave no points (score.txt), and its group has no maximum",
        ),
        (
            "AC AC%1 AC=1",
            "test a/1: the checker gave a part of the points, but its group has no maximum",
        ),
        (
            "AC AC=-1 AC=1",
            "test a/1: the checker gave -1 points; the minimum is 0",
        ),
    ];
    for (words, reason) in reasons {
        fault(&problem, words, reason);
    }
}

#[test]
fn groups_with_a_failed_requirement_are_skipped() {
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
    // The skipped group has the required group's verdict.
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
        (skipped.cause, &*skipped.reason),
        (
            SkipCause::RequiredGroup,
            "required group b was not accepted"
        )
    );
    assert_eq!(progress.submission().decided_by, Some(1));
}

/// A Sim problem, whose samples are group 0.
fn sim_problem(points: &[(f64, usize)]) -> Problem {
    let groups = points.iter().enumerate().map(|(number, (points, tests))| {
        let mut group = group(&number.to_string(), sim(*points), *tests, vec![]);
        group.sample = number == 0;
        group.rules.stop_at_first_failure = number != 0;
        group
    });
    problem(Format::Sim, POINTS, continuing(), groups.collect())
}

#[test]
fn sim_groups_have_the_least_share() {
    let problem = sim_problem(&[(0.0, 1), (40.0, 2), (60.0, 2)]);
    points(&problem, "AC AC AC AC AC", Accepted, Some(100.0));
    points(&problem, "WA AC AC AC AC", WrongAnswer, Some(100.0));
    points(&problem, "AC WA - AC AC", WrongAnswer, Some(60.0));
    points(&problem, "AC AC%0.5 AC%0.75 AC AC", Accepted, Some(80.0));
    // Full points up to two thirds of the limit, 0 at the limit.
    points(
        &problem,
        "AC AC@0.6 AC@0.66 AC@0.1 AC@0",
        Accepted,
        Some(100.0),
    );
    points(
        &problem,
        "AC AC@0.75 AC AC AC@0.9",
        Accepted,
        Some(30.0 + 18.0),
    );
    points(&problem, "AC AC@1 AC AC AC", Accepted, Some(60.0));
    points(&problem, "AC AC@1.01 AC AC AC", Accepted, Some(60.0));
    // The smaller of both shares counts, not their product.
    points(&problem, "AC AC%0.5@0.8 AC AC AC", Accepted, Some(80.0));
    points(&problem, "AC AC%0.9@0.9 AC AC AC", Accepted, Some(72.0));
    // Points of groups are whole numbers.
    points(
        &problem,
        "AC AC%0.33 AC AC AC%0.999",
        Accepted,
        Some(13.0 + 60.0),
    );
    points(&problem, "AC AC%0 AC AC AC", Accepted, Some(60.0));
    fault(
        &problem,
        "AC AC=7 - AC AC",
        "test 1/1: the checker gave 7 points; its group counts parts from 0 to 1",
    );
    // Sim groups may have negative points.
    points(
        &sim_problem(&[(0.0, 1), (-5.0, 1), (60.0, 1)]),
        "AC AC AC",
        Accepted,
        Some(55.0),
    );
}

#[test]
fn points_of_a_test_are_those_for_it_alone() {
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
fn fail_fast_ends_at_the_first_rejection() {
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
        (c.cause, &*c.reason),
        (SkipCause::FailFast, "test b/2 was not accepted")
    );
    let progress = judge_with(Progress::new(&plan).fail_fast(), "AC RE - - - -");
    assert_eq!(progress.submission().verdict, Some(Accepted));
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

/// Rules of a group with the package's own grader.
fn graded(rules: Rules) -> Rules {
    Rules {
        grader: Some(vec!["flag".to_owned()]),
        ..rules
    }
}

/// The result of a submission with a grader that gets the input and gives the answer of each pair.
#[track_caller]
fn grades(
    problem: &Problem,
    words: &str,
    asked: &[(&str, &str)],
) -> (Verdict, Option<f64>, String) {
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
                "it is asked once"
            );
            progress.grade(
                grading.group,
                Grade::parse(answer.as_bytes()).map_err(|fault| fault.to_string()),
            );
        } else if let Some(test) = progress.next_test() {
            progress.record(test, results[test].clone().expect("it is not asked for"));
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
    let well = |verdict, points, reason: &str| (verdict, Some(points), reason.to_owned());
    let all = Rules {
        range: Some((0.0, 10.0)),
        ..Rules {
            stop_at_first_failure: false,
            ..legacy(4.0)
        }
    };
    assert_eq!(
        says(all.clone(), "AC AC=2.5", "AC 4\nAC 2.5\n", "AC 7"),
        well(Accepted, 7.0, "")
    );
    // The grader may accept a group with a rejected test.
    assert_eq!(
        says(all.clone(), "AC TL", "AC 4\nTLE 0\n", "AC 9"),
        well(Accepted, 9.0, "")
    );
    let said = "group secret: its grader decided so";
    assert_eq!(
        says(all.clone(), "AC AC", "AC 4\nAC 4\n", "WA 1"),
        well(WrongAnswer, 1.0, said)
    );
    // Several verdicts share a code. The verdict is that of the part with this code.
    assert_eq!(
        says(all.clone(), "AC ML", "AC 4\nRTE 0\n", "RTE 0"),
        well(MemoryLimit, 0.0, "test secret/2")
    );
    assert_eq!(
        says(all.clone(), "OL WA", "OLE 0\nWA 0\n", "WA 0"),
        well(WrongAnswer, 0.0, "test secret/2")
    );
    // A range applies to accepted groups only.
    let (verdict, points, reason) = says(all.clone(), "AC AC", "AC 4\nAC 4\n", "AC 10.5");
    assert_eq!((verdict, points), (JudgeError, None));
    assert_eq!(
        reason,
        "group secret: 10.5 points are outside its range, 0 to 10"
    );
    assert_eq!(
        says(all.clone(), "AC WA", "AC 4\nWA 0\n", "WA -1"),
        well(WrongAnswer, -1.0, "test secret/2")
    );
    let (verdict, _, reason) = says(all.clone(), "AC WA", "AC 4\nWA 0\n", "fine");
    assert_eq!(verdict, JudgeError);
    assert!(
        reason.starts_with("group secret: grader: printed \"fine\", not a verdict"),
        "{reason}"
    );
    // A group with a judge error is not graded.
    assert_eq!(grades(&of(all), "AC JE", &[]).0, JudgeError);
    // The grader gets judged tests only.
    assert_eq!(
        says(legacy(4.0), "WA -", "WA 0\n", "AC 3"),
        well(Accepted, 3.0, "")
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
    // Innermost groups come first, in order. Each grader gets the results of its group's parts.
    let a = ("AC 4\nAC 4\n", "AC 8");
    assert_eq!(
        grades(
            &of(stops.clone()),
            "AC AC AC WA",
            &[a, ("AC 4\nWA 0\n", "WA 4"), ("WA 12\n", "AC 13")]
        ),
        (Accepted, Some(13.0), String::new())
    );
    // A group that its grader rejects ends its parent.
    assert_eq!(
        grades(
            &of(stops),
            "WA - - -",
            &[("WA 0\n", "WA 1"), ("WA 1\n", "WA 1")]
        ),
        (WrongAnswer, Some(1.0), "test secret/a/1".to_owned())
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
        (Accepted, Some(1.0), String::new())
    );
}

#[test]
fn plan_rejects_what_cannot_be_scored() {
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
        "group secret asks for the package's own grader (grading: custom), but graders/ has none; \
         add one"
    );
    custom.grader = Some(program());
    assert_eq!(
        refused(&custom),
        "group secret cannot be scored: the package's own grader makes points, but the problem has \
         none"
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
fn second_result_of_a_test_is_ignored() {
    let problem = one_group(continuing(), 1);
    let plan = plan(&problem);
    let mut progress = judge(&plan, "WA");
    progress.record(0, word("AC").unwrap());
    assert_eq!(progress.submission().verdict, Some(WrongAnswer));
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
    // Group a continues. Neither b nor y will be judged for any result of x/1 and a/2.
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
