//! Verdicts of groups.

use super::{of_test, one_group, plan, points, verdict};
use crate::tree::*;
use millibox_judge::scoring::{Plan, Progress};
use millibox_judge::verdict::Verdict::*;
use millibox_package::model::{Format, Rules, Scoring, VerdictMode};

#[test]
fn worst_selects_worst_verdict() {
    // The format's order is RTE, MLE, TLE, OLE, WA. Of equal verdicts, the first decides.
    verdict(continuing(), "WA OL WA", OutputLimit, Some(1));
    verdict(continuing(), "OL TL WA", TimeLimit, Some(1));
    verdict(continuing(), "TL ML TL", MemoryLimit, Some(1));
    verdict(continuing(), "ML RE AC RE", RunTimeError, Some(1));
    verdict(continuing(), "RE JE", JudgeError, Some(1));
}

#[test]
fn first_selects_first_rejection() {
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
fn judge_error_counts_only_if_test_counts() {
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
    assert_eq!(progress.submission().reason, Some(of_test("sample/1")));
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
