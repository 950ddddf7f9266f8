//! Closed streams, failed writes and the relay.

use super::{BOTH, FLOOD, LATER, PIPE_FLOOD, Table, WAIT, limits};
use millibox_judge::interactive::Mode;
use millibox_judge::verdict::Verdict::{Accepted, OutputLimit, RunTimeError, TimeLimit};
use millibox_languages::program::Limits;

#[test]
fn solution_that_closes_output_and_continues_is_judged() {
    let table = Table::new();
    let closes = ["write:x", "close:1", "read:y", "exit:0"];
    let waits = ["read-to-end", "write:y", "exit:42"];
    // Without a relay, the interactor sees no end of file, and each program waits for the other.
    table.expect(&[Mode::Direct], &closes, &waits, TimeLimit);
    table.expect(&[Mode::Relay], &closes, &waits, Accepted);
    // If the solution needs no answer, both modes agree.
    table.expect(
        &BOTH,
        &["write:x", "close:1", "sleep:100", "exit:0"],
        &["read:x", WAIT, "exit:42"],
        Accepted,
    );
    table.expect(
        &BOTH,
        &["write:x", "close:1", "exit:3"],
        &["read:x", WAIT, LATER, "exit:43"],
        RunTimeError,
    );
    // The solution closes its input as well. The judge waits for the solution to end.
    table.expect(
        &BOTH,
        &["close:0", "close:1", LATER, "exit:3"],
        &["read-to-end", "exit:43"],
        RunTimeError,
    );
}

#[test]
fn interactor_that_closes_output_and_continues_is_judged() {
    let table = Table::new();
    let solution = ["read:x", "read-to-end", "write:y", "exit:0"];
    let closes = ["write:x", "close:1", WAIT, "exit:42"];
    table.expect(&[Mode::Direct], &solution, &closes, TimeLimit);
    table.expect(&[Mode::Relay], &solution, &closes, Accepted);
    // The solution sees the end of its input, but the interactor has given no verdict. If the
    // solution then crashes, its crash comes first.
    table.expect(
        &[Mode::Relay],
        &["read", "exit:0"],
        &["close:1", WAIT, "exit:43"],
        RunTimeError,
    );
}

#[test]
fn data_for_closed_input_is_discarded() {
    let table = Table::new();
    for part in [
        &["read:a", "close:0", "write:b", "sleep:50", "exit:0"][..],
        &["close:0", "write:b", "exit:0"],
    ] {
        table.expect(
            &BOTH,
            part,
            &[
                "write:a",
                "write:a",
                "read:b",
                "pour:100000",
                WAIT,
                "exit:42",
            ],
            Accepted,
        );
    }
    table.expect(
        &BOTH,
        &["write:b", PIPE_FLOOD, "exit:0"],
        &["read:b", "close:0", LATER, "exit:42"],
        Accepted,
    );
    // With more data than a pipe holds, only a relay lets the solution continue.
    table.expect(
        &[Mode::Relay],
        &["write:b", FLOOD, "exit:0"],
        &["read:b", "close:0", LATER, "exit:42"],
        Accepted,
    );
}

#[test]
fn writev_with_bad_second_half_is_relayed_as_far_as_written() {
    let table = Table::new();
    // The kernel writes nothing for the first size, and whole pages for the others.
    for bytes in [1, 5000, 100_000] {
        let (writes, reads) = (
            format!("bad-writev:{bytes}"),
            format!("read:{}", "x".repeat(bytes)),
        );
        table.expect(
            &BOTH,
            &[&writes, "read:y", "exit:0"],
            &[&reads, "write:y", WAIT, "exit:42"],
            Accepted,
        );
        table.expect(
            &BOTH,
            &[&reads, "write:y", "exit:0"],
            &[&writes, "read:y", WAIT, "exit:42"],
            Accepted,
        );
    }
}

#[test]
fn output_limit_applies_only_in_relay() {
    let table = Table::new();
    let mut limits = limits();
    limits.output = 100_000;
    let verdict = |mode, part: &[&str], interactor: &[&str]| {
        table.play_within(mode, &limits, part, interactor).verdict
    };
    for reads in [&[WAIT, "exit:42"][..], &[LATER, "exit:42"], &["exit:42"]] {
        assert_eq!(verdict(Mode::Relay, &["pour:100000"], reads), Accepted);
        assert_eq!(verdict(Mode::Relay, &["pour:100001"], reads), OutputLimit);
        assert_eq!(
            verdict(Mode::Relay, &["pour:100001", "sleep:100000"], reads),
            OutputLimit
        );
        assert_eq!(verdict(Mode::Direct, &["pour:100001"], reads), Accepted);
    }
    // Data that was neither read nor moved before both programs had ended counts as well. Two pipes
    // hold 2 MiB.
    for (limit, expected) in [(1_500_000, OutputLimit), (1_900_000, Accepted)] {
        let limits = Limits {
            output: limit,
            ..limits
        };
        let result =
            table.play_within(Mode::Relay, &limits, &["pour:1900000"], &[LATER, "exit:42"]);
        assert_eq!(result.verdict, expected, "{result:?}");
    }
    // Without a relay, no process counts the bytes, so the time limit ends the solution.
    assert_eq!(
        verdict(
            Mode::Direct,
            &["pour:1000000000000"],
            &[LATER, WAIT, "exit:42"]
        ),
        TimeLimit
    );
}
