//! Two runs that start together: both or none, and never one that waits for the other's place.

use crate::{builder, supervisor};
use millibox::{Backend, Error, Handle, Outcome, Request, RequestError, Supervisor, World};
use millibox_tests::{
    pipe, processes_that_say, read_line, request, skip, start, token, wait, world_with_proc,
};
use std::time::Duration;

/// More than a pipe takes: whoever writes it needs a reader.
const MORE_THAN_A_PIPE: &str = "300000";

/// A writer and a reader of one pipe; neither ends without the other.
fn pair(supervisor: &Supervisor, worlds: [&World; 2]) -> [Handle; 2] {
    let (read, write) = pipe();
    let writer = request(["out", MORE_THAN_A_PIPE])
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
fn both_at_once_on_one_slot() {
    let supervisor = start(builder().slots(1));
    let (minimal, with_proc) = (World::minimal(), world_with_proc());
    for worlds in [
        [&minimal, &minimal],
        [&minimal, &with_proc],
        [&with_proc, &minimal],
    ] {
        assert_ended(&pair(&supervisor, worlds));
    }
}

#[test]
fn fifty_pairs_and_fifty_lone_runs_on_two_slots() {
    let supervisor = start(builder().slots(2));
    let worlds = [
        World::minimal(),
        world_with_proc(),
        World::minimal().uid(1000),
    ];
    let mut pairs = Vec::new();
    let mut lone = Vec::new();
    for number in 0..50 {
        pairs.push(pair(
            &supervisor,
            [&worlds[number % 2], &worlds[number % 3]],
        ));
        lone.push(
            supervisor
                .run(&request(["exit", "7"]).world(&worlds[number % 3]))
                .unwrap(),
        );
    }
    for pair in &pairs {
        assert_ended(pair);
    }
    for run in &lone {
        assert_eq!(wait(run).outcome, Outcome::Exited(7));
    }
}

#[test]
fn a_pair_waits_for_a_slot_and_not_for_its_half() {
    let supervisor = start(builder().slots(1));
    let (sleeper, _output) = millibox_tests::sleeper(&supervisor, &[]);
    let pair = pair(&supervisor, [&World::minimal(), &World::minimal()]);
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
fn a_run_that_came_later_does_not_take_a_pairs_slot() {
    let supervisor = start(builder().slots(1));
    // The pair's worlds are built (a run whose world is not yet lets others pass), and no runner is
    // ready for them.
    assert_ended(&pair(
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
    let (first, _output) = millibox_tests::sleeper(&supervisor, &[]);
    let pair = pair(
        &supervisor,
        [&world_with_proc(), &World::minimal().uid(1000)],
    );
    let later = supervisor.run(&request(["sleep", "100000"])).unwrap();
    first.kill();
    assert_ended(&pair);
    assert!(later.try_wait().unwrap().is_none());
}

#[test]
fn half_a_pair_that_cannot_start_takes_the_other_along() {
    let supervisor = start(builder().slots(1));
    let (sleeper, _output) = millibox_tests::sleeper(&supervisor, &[]);
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
    // Whichever of them goes while both wait; and they may wait here or with the supervisor.
    for outstanding in [1, 100] {
        let pairs: Vec<[Handle; 2]> = (0..outstanding)
            .map(|_| supervisor.run_pair([&good, &good]).unwrap())
            .collect();
        for (number, [first, second]) in pairs.iter().enumerate().rev() {
            let (gone, other) = if number % 2 == 0 {
                (first, second)
            } else {
                (second, first)
            };
            gone.kill();
            assert_eq!(wait(gone).outcome, Outcome::Killed);
            let result = wait(other);
            assert!(matches!(result.outcome, Outcome::NotStarted(_)), "{result}");
        }
    }
    sleeper.kill();
    assert_ended(&pair(&supervisor, [&World::minimal(), &World::minimal()]));
}

#[test]
fn a_pair_that_nobody_waits_for() {
    let supervisor = start(builder().slots(1));
    for _ in 0..20 {
        let [_, second] = pair(&supervisor, [&World::minimal(), &World::minimal()]);
        drop(second);
    }
    assert_ended(&pair(&supervisor, [&World::minimal(), &World::minimal()]));
}

#[test]
fn from_its_start_each_half_is_a_run_of_its_own() {
    let supervisor = start(builder().slots(1));
    let missing = Request::new("/missing");
    let sleeps = request(["sleep", "100"]);
    let [missing, sleeps] = supervisor.run_pair([&missing, &sleeps]).unwrap();
    assert!(matches!(wait(&missing).outcome, Outcome::NotStarted(_)));
    assert_eq!(wait(&sleeps).outcome, Outcome::Exited(0));
}

#[test]
fn a_slot_with_one_runner_has_no_room_for_a_pair() {
    let supervisor = start(builder().slots(2).runners_per_slot(1));
    let good = request(["exit", "0"]);
    match supervisor.run_pair([&good, &good]) {
        Err(Error::Request(RequestError::PairNeedsTwoRunners)) => {}
        other => panic!("{other:?}"),
    }
    assert_ended(&[
        supervisor.run(&good).unwrap(),
        supervisor.run(&good).unwrap(),
    ]);
}

#[test]
fn the_end_of_one_is_told_from_the_end_of_the_other() {
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
    // One that we end has its end when it is ended.
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

/// The cgroup of one version 1 controller that the program which says `token` is in.
fn cgroup_of(token: &str, controller: &str) -> String {
    let said = processes_that_say(token);
    let [process] = said[..] else {
        panic!("{said:?}")
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

/// A switch between two cgroups of the cpu controller costs more than one within: a pair has one,
/// unless the bandwidth of one is limited.
#[test]
fn a_pair_is_one_group_to_the_scheduler() {
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
