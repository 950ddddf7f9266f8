//! Pairs of runs that start together. Both start or neither does, and neither waits for the other's
//! runner.

use crate::{builder, supervisor};
use millibox::{Backend, Error, Handle, Outcome, Request, RequestMistake, Supervisor, World};
use millibox_tests::{
    pipe, processes_with_argument, read_line, request, skip, start, token, wait, world_with_proc,
};
use std::time::Duration;

/// More bytes than a pipe holds, so that the writer needs a reader.
const MORE_BYTES_THAN_A_PIPE: &str = "300000";

/// A writer and a reader of one pipe. Neither ends without the other.
fn run_writer_and_reader(supervisor: &Supervisor, worlds: [&World; 2]) -> [Handle; 2] {
    let (read, write) = pipe();
    let writer = request(["out", MORE_BYTES_THAN_A_PIPE])
        .stdout(write)
        .world(worlds[0]);
    let reader = request(["stdin"]).stdin(read).world(worlds[1]);
    supervisor
        .run_pair([&writer, &reader])
        .unwrap_or_else(|error| panic!("{error}"))
}

fn assert_ended(handles: &[Handle; 2]) {
    for handle in handles {
        let result = wait(handle);
        assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
    }
}

#[test]
fn pair_runs_together_on_one_slot() {
    let supervisor = start(builder().slots(1));
    let (minimal, with_proc) = (World::minimal(), world_with_proc());
    for worlds in [
        [&minimal, &minimal],
        [&minimal, &with_proc],
        [&with_proc, &minimal],
    ] {
        assert_ended(&run_writer_and_reader(&supervisor, worlds));
    }
}

#[test]
fn pairs_and_single_runs_share_two_slots() {
    let supervisor = start(builder().slots(2));
    let worlds = [
        World::minimal(),
        world_with_proc(),
        World::minimal().uid(1000),
    ];
    let mut pairs = Vec::new();
    let mut single = Vec::new();
    for number in 0..50 {
        pairs.push(run_writer_and_reader(
            &supervisor,
            [&worlds[number % 2], &worlds[number % 3]],
        ));
        single.push(
            supervisor
                .run(&request(["exit", "7"]).world(&worlds[number % 3]))
                .unwrap(),
        );
    }
    for pair in &pairs {
        assert_ended(pair);
    }
    for run in &single {
        assert_eq!(wait(run).outcome, Outcome::Exited(7));
    }
}

#[test]
fn pair_waits_for_a_free_slot() {
    let supervisor = start(builder().slots(1));
    let (sleeper, _output) = millibox_tests::start_sleeper(&supervisor, &[]);
    let pair = run_writer_and_reader(&supervisor, [&World::minimal(), &World::minimal()]);
    for half in &pair {
        assert!(
            half.wait_timeout(Duration::from_millis(50))
                .unwrap()
                .is_none()
        );
    }
    sleeper.kill();
    assert_ended(&pair);
}

#[test]
fn later_run_does_not_overtake_a_waiting_pair() {
    let supervisor = start(builder().slots(1));
    // The worlds of the pair are mounted, but no runner is prepared for them. (If a run's world is
    // not yet mounted, other runs may overtake the run.)
    assert_ended(&run_writer_and_reader(
        &supervisor,
        [&world_with_proc(), &World::minimal().uid(1000)],
    ));
    for uid in 2000..2004 {
        let request = request(["exit", "0"]).world(&World::minimal().uid(uid));
        assert_eq!(
            millibox_tests::result(&supervisor, &request).outcome,
            Outcome::Exited(0)
        );
    }
    let (first, _output) = millibox_tests::start_sleeper(&supervisor, &[]);
    let pair = run_writer_and_reader(
        &supervisor,
        [&world_with_proc(), &World::minimal().uid(1000)],
    );
    let later = supervisor.run(&request(["sleep", "100000"])).unwrap();
    first.kill();
    assert_ended(&pair);
    assert!(later.try_wait().unwrap().is_none());
}

#[test]
fn run_that_cannot_start_prevents_its_partner_from_starting() {
    let supervisor = start(builder().slots(1));
    let (sleeper, _output) = millibox_tests::start_sleeper(&supervisor, &[]);
    let good = request(["exit", "0"]);
    let bad = good
        .clone()
        .world(&World::minimal().read_only("/missing", "/missing"));
    for requests in [[&bad, &good], [&good, &bad]] {
        let results = supervisor
            .run_pair(requests)
            .unwrap()
            .map(|handle| wait(&handle));
        assert!(
            results
                .iter()
                .all(|result| matches!(result.outcome, Outcome::NotStarted(_))),
            "{results:?}"
        );
        assert_eq!(results.map(|result| result.ended_ns), [None, None]);
    }
    // Kill one run of each pair while both are waiting, either in the client or in the supervisor.
    for outstanding in [1, 100] {
        let pairs: Vec<[Handle; 2]> = (0..outstanding)
            .map(|_| supervisor.run_pair([&good, &good]).unwrap())
            .collect();
        for (number, [first, second]) in pairs.iter().enumerate().rev() {
            let (killed, other) = if number % 2 == 0 {
                (first, second)
            } else {
                (second, first)
            };
            killed.kill();
            assert_eq!(wait(killed).outcome, Outcome::Killed);
            let result = wait(other);
            assert!(matches!(result.outcome, Outcome::NotStarted(_)), "{result}");
        }
    }
    sleeper.kill();
    assert_ended(&run_writer_and_reader(
        &supervisor,
        [&World::minimal(), &World::minimal()],
    ));
}

#[test]
fn dropped_handle_does_not_block_later_pairs() {
    let supervisor = start(builder().slots(1));
    for _ in 0..20 {
        let [_, second] =
            run_writer_and_reader(&supervisor, [&World::minimal(), &World::minimal()]);
        drop(second);
    }
    assert_ended(&run_writer_and_reader(
        &supervisor,
        [&World::minimal(), &World::minimal()],
    ));
}

#[test]
fn started_runs_of_a_pair_are_independent() {
    let supervisor = start(builder().slots(1));
    let missing = Request::new("/missing");
    let sleeps = request(["sleep", "100"]);
    let [missing, sleeps] = supervisor.run_pair([&missing, &sleeps]).unwrap();
    assert!(matches!(wait(&missing).outcome, Outcome::NotStarted(_)));
    assert_eq!(wait(&sleeps).outcome, Outcome::Exited(0));
}

#[test]
fn pair_needs_two_runners_per_slot() {
    let supervisor = start(builder().slots(2).runners_per_slot(1));
    let good = request(["exit", "0"]);
    match supervisor.run_pair([&good, &good]) {
        Err(error @ Error::Request(_)) => {
            assert_eq!(
                error.request_mistakes(),
                [RequestMistake::PairNeedsTwoRunners]
            );
        }
        other => panic!("{other:?}"),
    }
    assert_ended(&[
        supervisor.run(&good).unwrap(),
        supervisor.run(&good).unwrap(),
    ]);
}

#[test]
fn results_of_a_pair_show_which_run_ended_first() {
    let supervisor = supervisor();
    for late in [0, 1] {
        let requests =
            [0, 1].map(|number| request(["sleep", if number == late { "700" } else { "0" }]));
        let ends = supervisor
            .run_pair([&requests[0], &requests[1]])
            .unwrap()
            .map(|handle| wait(&handle).ended_ns);
        let [Some(first), Some(second)] = ends else {
            panic!("{ends:?}")
        };
        assert_eq!(first > second, late == 0, "{ends:?}");
    }
    // A killed run ends at the moment of the kill.
    let [killed, other] = supervisor
        .run_pair([
            &request(["sleep", "100000"]).real_time_limit(Duration::from_millis(50)),
            &request(["sleep", "150"]),
        ])
        .unwrap()
        .map(|handle| wait(&handle));
    assert_eq!(killed.outcome, Outcome::RealTimeLimit);
    assert!(killed.ended_ns < other.ended_ns, "{killed:?} {other:?}");
}

/// The cgroup of the program with this argument, for one version 1 controller.
fn cgroup_of(token: &str, controller: &str) -> String {
    let found = processes_with_argument(token);
    let [process] = found[..] else {
        panic!("{found:?}")
    };
    let text =
        std::fs::read_to_string(format!("/proc/{}/cgroup", process.pid)).expect("its cgroups");
    let line = text.lines().find_map(|line| {
        line.split_once(':')?
            .1
            .strip_prefix(controller)?
            .strip_prefix(':')
    });
    line.unwrap_or_else(|| panic!("no {controller} in {text}"))
        .to_owned()
}

/// Switching between two cgroups of the cpu controller is more expensive than switching within one.
/// A pair therefore shares a cgroup, unless the bandwidth of a run is limited.
#[test]
fn pair_shares_one_cpu_cgroup() {
    let supervisor = start(builder().slots(1));
    if supervisor.info().backend() != Backend::Hybrid {
        skip(&format!(
            "the backend is {}, not hybrid",
            supervisor.info().backend()
        ));
        return;
    }
    let mounted = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if !mounted
        .lines()
        .any(|line| line.split(':').nth(1) == Some("cpu"))
    {
        skip("the cpu controller is mounted together with another");
        return;
    }
    for limited in [false, true, false] {
        let tokens = [token(), token()];
        let (outputs, writers): (Vec<_>, Vec<_>) = (0..2).map(|_| pipe()).unzip();
        let sleepers: Vec<Request> = tokens
            .iter()
            .zip(writers)
            .map(|(token, write)| {
                request(["ready-sleep", "100000", token])
                    .stdout(write)
                    .process_limit(4)
            })
            .collect();
        let [first, second] = &sleepers[..] else {
            panic!("two")
        };
        let (half, period) = (Duration::from_millis(10), Duration::from_millis(20));
        let first = if limited {
            first.clone().cpu_bandwidth(half, period)
        } else {
            first.clone()
        };
        let handles = supervisor.run_pair([&first, second]).unwrap();
        for output in &outputs {
            assert_eq!(read_line(output), "ready");
        }
        let [a, b] = tokens.each_ref().map(|token| cgroup_of(token, "cpu"));
        assert_eq!(a == b, !limited, "{a}, {b}");
        for controller in ["cpuacct", "memory", "pids"] {
            let [a, b] = tokens.each_ref().map(|token| cgroup_of(token, controller));
            assert_ne!(a, b, "{controller}");
        }
        for handle in &handles {
            handle.kill();
            assert_eq!(wait(handle).outcome, Outcome::Killed);
        }
    }
}
