//! Process limits.

use super::MIB;
use crate::{builder, supervisor};
use millibox::{Backend, BackendChoice, Outcome, Request};
use millibox_tests::{
    eventually, has_cgroups_or_skips, processes_with_argument, programs, request, result, run,
    start, token, wait,
};
use std::time::Duration;

#[test]
fn process_limit_applies_to_processes_and_threads() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    for limit in [1, 2, 3, 10, 50] {
        for command in ["forks", "threads"] {
            let output = run(&supervisor, &request([command, "100"]).process_limit(limit));
            assert_eq!(
                output.result.outcome,
                Outcome::Exited(0),
                "{command}, {limit}: {}",
                output.result
            );
            assert_eq!(
                (output.number("reached"), output.number("errno")),
                (i64::from(limit), i64::from(libc::EAGAIN))
            );
            if let Some(peak) = output.result.figures.peak_processes {
                // The kernel also counts the attempt that it rejects.
                assert!(
                    (limit..=limit + 1).contains(&peak),
                    "{command}, {limit}: {peak}"
                );
            }
        }
    }
}

#[test]
fn run_without_process_limit_has_the_default_limit() {
    let default = i64::from(Request::DEFAULT_PROCESS_LIMIT);
    // The weaker backend accepts limits only if the caller chooses it by name.
    let (chosen, named) = (
        supervisor(),
        start(builder().backend(BackendChoice::Rlimit)),
    );
    let accepts_limits = chosen.info().backend() != Backend::Rlimit;
    for (supervisor, accepts_limits) in [(chosen, accepts_limits), (named, true)] {
        for command in ["forks", "threads"] {
            let output = run(&supervisor, &request([command, "2000"]));
            assert_eq!(
                output.result.outcome,
                Outcome::Exited(0),
                "{command}: {}",
                output.result
            );
            assert_eq!(
                (output.number("reached"), output.number("errno")),
                (default, i64::from(libc::EAGAIN))
            );
        }
        if accepts_limits {
            let more = request(["threads", "600"]).process_limit(1000);
            assert_eq!(run(&supervisor, &more).number("reached"), 601);
        }
    }
}

#[test]
fn fork_bomb_is_limited_and_killed() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let token = token();
    let bomb = request(["forkbomb", &token])
        .process_limit(30)
        .memory_limit(256 * MIB);
    let handle = supervisor.run(&bomb).unwrap();
    let bombs = || programs(&supervisor).len();
    assert!(eventually(Duration::from_secs(20), || bombs() == 30));
    let maximum = (0..20).map(|_| bombs()).max();
    assert_eq!(maximum, Some(30));
    // Other runs continue.
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
    handle.kill();
    assert_eq!(wait(&handle).outcome, Outcome::Killed);
    assert!(eventually(Duration::from_secs(5), || {
        processes_with_argument(&token).is_empty()
    }));
    let timed = result(
        &supervisor,
        &bomb.real_time_limit(Duration::from_millis(300)),
    );
    assert_eq!(timed.outcome, Outcome::RealTimeLimit);
    assert!(eventually(Duration::from_secs(5), || {
        processes_with_argument(&token).is_empty()
    }));
}
