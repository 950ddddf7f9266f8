//! CPU bandwidth, real time and CPU time.

use super::MIB;
use crate::{builder, supervisor};
use millibox::{Outcome, Request};
use millibox_tests::{
    SPAWNER, has_cgroups_or_skips, process_name, request, result, run_probe, start, start_sleeper,
    wait,
};
use std::time::{Duration, Instant};

#[test]
fn cpu_bandwidth_slows_the_run() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // With half a CPU, 10 ms of work take at least nine periods of 2 ms, minus up to one period at
    // each end.
    let half =
        request(["spin", "10"]).cpu_bandwidth(Duration::from_millis(1), Duration::from_millis(2));
    let figures = result(&supervisor, &half).figures;
    assert!(figures.real_time_ns >= 17_500_000, "{figures:?}");
    assert!(
        figures.cpu_user_ns + figures.cpu_system_ns >= 10_000_000,
        "{figures:?}"
    );
    // The bandwidth applies to all processes together.
    let tree = request(["spin-tree", "4", "10"])
        .cpu_bandwidth(Duration::from_millis(2), Duration::from_millis(10));
    let figures = result(&supervisor, &tree).figures;
    assert!(figures.real_time_ns >= 150_000_000, "{figures:?}");
}

/// The kernel stops a process that has used up its quota only when its system call ends. A long
/// call leaves a debt, and no process of the cgroup runs until the debt is paid.
#[test]
fn cpu_bandwidth_debt_ends_with_the_run() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // The quota must suffice for the part before the long call on every machine.
    let bandwidth =
        |request: Request| request.cpu_bandwidth(Duration::from_millis(20), Duration::from_secs(1));
    let begin = Instant::now();
    let owes = bandwidth(request(["long-call", "400"])).memory_limit(64 * MIB);
    let over = result(
        &supervisor,
        &owes.real_time_limit(Duration::from_millis(600)),
    );
    assert_eq!(over.outcome, Outcome::RealTimeLimit, "{:?}", over.figures);
    // The debt is about half a minute.
    assert!(
        begin.elapsed() < Duration::from_secs(15),
        "{:?} {:?}",
        begin.elapsed(),
        over.figures
    );
    // The next run has its full quota from the start, and no more.
    let quick = result(
        &supervisor,
        &bandwidth(request(["exit", "0"])).real_time_limit(Duration::from_secs(60)),
    );
    assert_eq!(quick.outcome, Outcome::Exited(0), "{:?}", quick.figures);
    assert!(
        result(&supervisor, &bandwidth(request(["spin", "70"])))
            .figures
            .real_time_ns
            > 1_500_000_000
    );
}

#[test]
fn real_time_limit_ends_run() {
    let supervisor = supervisor();
    let least = result(
        &supervisor,
        &request(["sleep", "100"]).real_time_limit(Duration::from_nanos(1)),
    );
    assert_eq!(least.outcome, Outcome::RealTimeLimit);
    for millis in [10, 50, 200] {
        let begin = Instant::now();
        let over = result(
            &supervisor,
            &request(["sleep", "60000"]).real_time_limit(Duration::from_millis(millis)),
        );
        assert_eq!(over.outcome, Outcome::RealTimeLimit);
        assert!(
            over.figures.real_time_ns >= millis * 1_000_000,
            "{:?}",
            over.figures
        );
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
    let under = result(
        &supervisor,
        &request(["sleep", "20"]).real_time_limit(Duration::from_secs(60)),
    );
    assert_eq!(under.outcome, Outcome::Exited(0));
    // Signal handlers do not prevent this: the shell ignores all signals that can be ignored.
    let ignoring =
        Request::new("/bin/sh").args(["-c", "trap '' HUP INT TERM XCPU ALRM; while :; do :; done"]);
    let over = result(
        &supervisor,
        &ignoring.real_time_limit(Duration::from_millis(50)),
    );
    assert_eq!(over.outcome, Outcome::RealTimeLimit);
}

#[test]
fn real_time_limit_does_not_affect_other_runs() {
    let supervisor = supervisor();
    let (neighbour, _read) = start_sleeper(&supervisor, &[]);
    for _ in 0..5 {
        let over = result(
            &supervisor,
            &request(["sleep", "60000"]).real_time_limit(Duration::from_millis(5)),
        );
        assert_eq!(over.outcome, Outcome::RealTimeLimit);
    }
    assert!(neighbour.try_wait().unwrap().is_none());
}

#[test]
fn real_time_limit_does_not_include_queueing() {
    let supervisor = start(builder().slots(1));
    let first = supervisor.run(&request(["sleep", "2000"])).unwrap();
    let second = supervisor
        .run(&request(["sleep", "10"]).real_time_limit(Duration::from_millis(1500)))
        .unwrap();
    let second = wait(&second);
    assert_eq!(
        second.outcome,
        Outcome::Exited(0),
        "{second} {:?}",
        second.figures
    );
    assert!(second.figures.real_time_ns < 1_500_000_000);
    drop(first);
}

#[test]
fn cpu_time_limit_ends_run() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let limit = Duration::from_millis(60);
    let least = result(
        &supervisor,
        &request(["exit", "0"]).cpu_time_limit(Duration::from_nanos(1)),
    );
    assert_eq!(least.outcome, Outcome::CpuTimeLimit);
    for command in [
        &["spin", "60000"][..],
        &["spin-threads", "4", "60000"],
        &["spin-tree", "4", "60000"],
        &["spin-unwaited", "3", "60000"],
        &["forkbomb"],
    ] {
        let request = request(command.iter().copied())
            .cpu_time_limit(limit)
            .process_limit(20);
        let over = result(&supervisor, &request);
        assert_eq!(over.outcome, Outcome::CpuTimeLimit, "{command:?}: {over}");
        let used = over.figures.cpu_user_ns + over.figures.cpu_system_ns;
        assert!(used >= 60_000_000, "{command:?}: {:?}", over.figures);
        assert!(used < 2_000_000_000, "{command:?}: {:?}", over.figures);
    }
    // The limit also applies to many short processes, each of which stays below the limit.
    let many = result(
        &supervisor,
        &request(["spin-tree", "50", "5"])
            .cpu_time_limit(limit)
            .process_limit(60),
    );
    assert_eq!(many.outcome, Outcome::CpuTimeLimit);
    // Sleeping uses no CPU time.
    let sleeps = result(
        &supervisor,
        &request(["sleep", "1500"]).cpu_time_limit(Duration::from_secs(1)),
    );
    assert_eq!(sleeps.outcome, Outcome::Exited(0), "{:?}", sleeps.figures);
    let under = result(
        &supervisor,
        &request(["spin", "20"]).cpu_time_limit(Duration::from_secs(5)),
    );
    assert_eq!(under.outcome, Outcome::Exited(0));
}

/// The supervisor gives the run to another target, in which the run's clock starts.
#[test]
fn run_not_received_by_stopped_target_runs_in_another() {
    let supervisor = millibox_tests::start(builder().slots(1).runners_per_slot(1));
    run_probe(&supervisor, &["exit", "0"]);
    // The prepared target, which waits for its launch, is the process without children. The test
    // stops it.
    let prepared = || {
        let all = millibox_tests::descendants(supervisor.info().pid());
        let is_leaf =
            |one: &&millibox_tests::Process| all.iter().all(|other| other.parent != one.pid);
        let leaf = all
            .iter()
            .filter(is_leaf)
            .find(|one| process_name(one.pid) != SPAWNER)?
            .pid;
        // Supervisor, spawner, runner, zygote, pid1 and target: all must exist.
        (all.len() >= 6).then_some(leaf)
    };
    assert!(millibox_tests::eventually(Duration::from_secs(5), || {
        prepared().is_some()
    }));
    std::thread::sleep(Duration::from_millis(100));
    millibox_tests::stop(prepared().unwrap());
    let run = supervisor
        .run(&request(["exit", "0"]).real_time_limit(Duration::from_secs(2)))
        .unwrap();
    let result = wait(&run);
    assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
    run_probe(&supervisor, &["exit", "0"]);
}
