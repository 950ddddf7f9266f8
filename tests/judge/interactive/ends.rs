//! The order in which solution and interactor end or fail.

use super::{BOTH, FLOOD, LATER, Table, WAIT, failures, interactor_failure, limits};
use millibox::Outcome;
use millibox_judge::convention::AnswerFault;
use millibox_judge::interactive::Mode;
use millibox_judge::verdict::Verdict::{
    Accepted, JudgeError, RunTimeError, TimeLimit, WrongAnswer,
};
use millibox_languages::program::Limits;
use std::time::Duration;

#[test]
fn unlimited_time_is_accepted() {
    let table = Table::new();
    let limits = Limits {
        cpu_time: Duration::MAX,
        real_time: Duration::MAX,
        ..limits()
    };
    for mode in BOTH {
        let result = table.play_within(mode, &limits, &["exit:0"], &["exit:42"]);
        assert_eq!(result.verdict, Accepted, "{mode:?}: {result:?}");
    }
}

#[test]
fn conversation_decides_verdict_and_comment() {
    let table = Table::new();
    let asks = [
        "write:guess",
        "read:higher",
        "write:again",
        "read:right",
        "exit:0",
    ];
    let answers = [
        "given:4",
        "read:guess",
        "write:higher",
        "read:again",
        "write:right",
        "read-to-end",
    ];
    for (code, verdict) in [("exit:42", Accepted), ("exit:43", WrongAnswer)] {
        for result in table.expect(
            &BOTH,
            &asks,
            &[&answers[..], &["note:judgemessage.txt=so", code]].concat(),
            verdict,
        ) {
            assert_eq!((result.comment.as_str(), &result.reason), ("so", &None));
            assert_eq!(result.run.unwrap().outcome, Outcome::Exited(0));
            assert!(result.checker.unwrap().real_time_ns > 0);
        }
    }
}

#[test]
fn solution_that_fails_first_has_own_verdict() {
    let table = Table::new();
    for (fails, verdict) in failures(&table) {
        for decides in ["exit:42", "exit:43"] {
            // The interactor sees the end of the input and then gives its verdict.
            table.expect(
                &BOTH,
                &["write:x", fails],
                &["read:x", WAIT, decides],
                verdict,
            );
        }
        // The interactor reads nothing, and gives its verdict later.
        if matches!(fails, "exit:3" | "signal:11" | "signal:9") {
            table.expect(&BOTH, &[fails], &[LATER, "exit:43"], verdict);
            // Writing to a solution that has ended is not the interactor's fault.
            table.expect(
                &BOTH,
                &[fails],
                &[LATER, "write:x", FLOOD, "read-to-end", "exit:43"],
                verdict,
            );
            table.expect(&BOTH, &[fails], &[FLOOD, "read-to-end", "exit:43"], verdict);
        }
    }
}

#[test]
fn wrong_answer_before_failure_of_solution_is_kept() {
    let table = Table::new();
    for (fails, _) in failures(&table) {
        // The solution fails only later.
        table.expect(
            &BOTH,
            &["write:x", LATER, fails],
            &["read:x", "exit:43"],
            WrongAnswer,
        );
    }
    // The interactor's end makes the solution fail, or would make it fail.
    for falls in ["read", "read-to-end", FLOOD, "ask:1000000"] {
        table.expect(
            &BOTH,
            &["write:x", falls, "exit:1"],
            &["read:x", "exit:43"],
            WrongAnswer,
        );
    }
    // The judge does not wait for a solution that cannot change the verdict.
    for result in table.expect(
        &BOTH,
        &["write:x", "sleep:100000"],
        &["read:x", "exit:43"],
        WrongAnswer,
    ) {
        assert_eq!(result.run.unwrap().outcome, Outcome::Killed);
    }
    // The interactor sends "wrong" and exits.
    for falls in ["exit:1", "signal:6", "read", "sleep:100000"] {
        table.expect(
            &BOTH,
            &["write:x", "read:wrong", falls],
            &["read:x", "write:wrong", "exit:43"],
            WrongAnswer,
        );
    }
    table.expect(&BOTH, &["exit:0"], &["sleep:50", "exit:43"], WrongAnswer);
}

#[test]
fn accepted_solution_that_fails_afterwards_has_own_verdict() {
    let table = Table::new();
    for (fails, verdict) in failures(&table) {
        table.expect(
            &BOTH,
            &["write:x", "sleep:50", fails],
            &["read:x", "exit:42"],
            verdict,
        );
    }
    // The end of the interactor closes its output. Output that the interactor did not read is
    // discarded.
    table.expect(
        &BOTH,
        &["write:x", "read-to-end", "exit:0"],
        &["read:x", "exit:42"],
        Accepted,
    );
    table.expect(
        &BOTH,
        &["write:x", "read", "exit:0"],
        &["read:x", "exit:42"],
        RunTimeError,
    );
    table.expect(
        &BOTH,
        &["write:x", "sleep:50", FLOOD, "exit:0"],
        &["read:x", "exit:42"],
        Accepted,
    );
    table.expect(
        &BOTH,
        &["write:x", LATER, "exit:0"],
        &["read:x", "exit:42"],
        Accepted,
    );
    table.expect(&BOTH, &["exit:0"], &[WAIT, "exit:42"], Accepted);
}

#[test]
fn solution_that_exits_early_has_verdict_of_interactor() {
    let table = Table::new();
    for leaves in [
        &["exit:0"][..],
        // The interactor blocks on a full pipe, even after the solution has ended.
        &["sleep:200", "exit:0"],
        &["read", "close:0", "exit:0"],
        &["close:1", "sleep:50", "exit:0"],
    ] {
        for (ends, verdict) in [("exit:43", WrongAnswer), ("exit:42", Accepted)] {
            for pours in ["write:x", FLOOD, "pour:30000000"] {
                table.expect(
                    &BOTH,
                    leaves,
                    &["write:x", pours, "read-to-end", pours, ends],
                    verdict,
                );
            }
            // The interactor ignores the end of the solution.
            table.expect(&BOTH, leaves, &["write:x", "pour:30000000", ends], verdict);
        }
    }
    // An interactor that writes endlessly has failed, because the solution has ended.
    for result in table.expect(
        &BOTH,
        &["exit:0"],
        &["pour:1000000000000", "exit:43"],
        JudgeError,
    ) {
        let fault = interactor_failure(&result).fault;
        assert!(
            matches!(fault, AnswerFault::LimitReached { .. }),
            "{fault:?}"
        );
    }
    // Data left in the pipe does not delay a solution that has read everything it needs.
    table.expect(
        &BOTH,
        &["write:x", "exit:0"],
        &["pour:900000", "read:x", "exit:42"],
        Accepted,
    );
}

#[test]
fn failing_interactor_is_judge_error() {
    let table = Table::new();
    let mut fails = vec![
        "exit:0",
        "exit:1",
        "exit:44",
        "signal:11",
        "spin:100000",
        "sleep:100000",
    ];
    if table.has_cgroups() {
        fails.push("eat:100");
    }
    for fails in fails {
        for solution in [
            &["write:x", "exit:0"][..],
            &["write:x", "exit:3"],
            &["write:x", "read"],
        ] {
            // The solution has ended successfully, has failed, or is still waiting.
            for result in table.expect(&[Mode::Direct], solution, &["read:x", fails], JudgeError) {
                interactor_failure(&result);
            }
        }
        table.expect(
            &[Mode::Relay],
            &["write:x", "exit:3"],
            &["read:x", WAIT, fails],
            JudgeError,
        );
    }
    // The reason includes the interactor's standard error.
    let result = &table.expect(
        &[Mode::Direct],
        &["read-to-end"],
        &["say:oops", "exit:7"],
        JudgeError,
    )[0];
    assert_eq!(interactor_failure(result).stderr, "oops");
}

#[test]
fn deadlock_is_time_limit_of_solution() {
    let table = Table::new();
    let result = &table.expect(&BOTH, &["read"], &[WAIT, "exit:43"], TimeLimit)[0];
    let used = result.run.as_ref().unwrap().figures;
    assert!(
        used.cpu_user_ns + used.cpu_system_ns < 300_000_000,
        "waiting must not use CPU time: {used:?}"
    );
    // Both programs have filled their pipes, and neither reads.
    table.expect(
        &BOTH,
        &[FLOOD, "read-to-end"],
        &[FLOOD, "read-to-end", "exit:42"],
        TimeLimit,
    );
}

#[test]
fn output_of_failed_solution_does_not_delay_interactor() {
    let table = Table::new();
    // This interactor is too slow to read a full pipe within its limit.
    let slow = ["sip:40", "exit:43"];
    table.expect(&BOTH, &[FLOOD], &slow, TimeLimit);
    table.expect(&BOTH, &["pour:900000", "exit:3"], &slow, RunTimeError);
    // An interactor that reads late still receives the line.
    table.expect(
        &BOTH,
        &["write:x", "exit:3"],
        &[LATER, "read:x", "exit:42"],
        RunTimeError,
    );
    // The interactor receives all output of a solution that ends successfully.
    let quicker = ["sip:1", "exit:42"];
    table.expect(&BOTH, &["pour:900000", "exit:0"], &quicker, Accepted);
}

#[test]
fn cpu_time_of_interactor_is_not_charged_to_solution() {
    let table = Table::new();
    for result in table.expect(
        &BOTH,
        &["write:x", "read:y"],
        &["read:x", "spin:600", "write:y", WAIT, "exit:42"],
        Accepted,
    ) {
        let used = result.run.unwrap().figures;
        assert!(
            used.cpu_user_ns + used.cpu_system_ns < 300_000_000,
            "{used:?}"
        );
        assert!(used.real_time_ns > 600_000_000, "{used:?}");
    }
}
