//! A slow cleanup after a run must not delay other runs or make them fail.

use crate::builder;
use millibox::{Figures, Handle, Outcome, Request, Supervisor};
use millibox_tests::{
    HANG_TIMEOUT, eventually, kill, pipe, process, processes_with_argument, request, result, skip,
    start, token, wait,
};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Makes a run with this script whose cleanup does not end, because its zygote is stopped before
/// the program ends. (No known resource takes the kernel a long time to free on every machine.)
/// Returns the zygote's PID.
fn run_and_stop_zygote(supervisor: &Supervisor, script: &str) -> (i32, Figures) {
    let token = token();
    let (read, write) = pipe();
    let request = Request::new("/bin/sh")
        .args(["-c", &format!("{script}; read line"), &token])
        .stdin(read);
    let run = supervisor.run(&request).unwrap();
    drop(request);
    // Until the exec, the target has the command line of its runner.
    assert!(eventually(HANG_TIMEOUT, || !processes_with_argument(
        &token
    )
    .is_empty()));
    let target = processes_with_argument(&token).remove(0);
    let pid1 = process(target.parent).expect("pid1");
    kill(pid1.parent, Signal::STOP);
    drop(write);
    let result = wait(&run);
    assert!(matches!(result.outcome, Outcome::Exited(_)));
    (pid1.parent, result.figures)
}

/// Submits the request several times at once.
fn submit_several(supervisor: &Supervisor, request: &Request) -> Vec<Handle> {
    (0..12).map(|_| supervisor.run(request).unwrap()).collect()
}

#[test]
fn slow_cleanup_of_one_runner_does_not_delay_others() {
    let supervisor = start(builder().slots(1).runners_per_slot(3));
    let (zygote, _) = run_and_stop_zygote(
        &supervisor,
        "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done",
    );
    let innocent = request(["exit", "0"]).real_time_limit(Duration::from_secs(10));
    let begin = Instant::now();
    for handle in submit_several(&supervisor, &innocent) {
        let result = wait(&handle);
        assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
    }
    // Pairs use the other two runners, even in a different world.
    let other = innocent.clone().world(&millibox_tests::world_with_proc());
    for pair in [[&innocent, &other], [&other, &other], [&other, &innocent]] {
        for handle in supervisor.run_pair(pair).unwrap() {
            let result = wait(&handle);
            assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
        }
    }
    assert!(begin.elapsed() < HANG_TIMEOUT, "{:?}", begin.elapsed());
    kill(zygote, Signal::CONT);
    for handle in submit_several(&supervisor, &innocent) {
        assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    }
}

#[test]
fn slow_cleanup_of_only_runner_delays_the_next_run() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    let (zygote, _) = run_and_stop_zygote(
        &supervisor,
        "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done",
    );
    let handles = submit_several(
        &supervisor,
        &request(["exit", "0"]).real_time_limit(Duration::from_secs(10)),
    );
    // A waiting request has no runner yet, so it can be cancelled.
    handles[0].cancel();
    assert_eq!(wait(&handles[0]).outcome, Outcome::Cancelled);
    std::thread::sleep(Duration::from_millis(200));
    assert!(
        handles
            .iter()
            .skip(1)
            .all(|handle| handle.try_wait().unwrap().is_none())
    );
    kill(zygote, Signal::CONT);
    for handle in &handles[1..] {
        assert_eq!(wait(handle).outcome, Outcome::Exited(0));
    }
}

/// The supervisor gives up the only runner after 10 s and starts another, in which the run's clock
/// starts.
#[test]
fn run_waiting_for_slow_cleanup_reaches_no_limit() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    // The run uses few resources, so the supervisor sends the next launch before the cleanup ends.
    let (zygote, figures) = run_and_stop_zygote(&supervisor, ":");
    if figures.cpu_user_ns + figures.cpu_system_ns > 20_000_000 {
        kill(zygote, Signal::CONT);
        return skip("this machine is so slow that even an idle shell may take long to clean up");
    }
    let result = self::result(
        &supervisor,
        &request(["exit", "0"]).real_time_limit(Duration::from_secs(2)),
    );
    assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
    assert!(result.figures.real_time_ns < 2_000_000_000, "{result:?}");
}

/// The kernel frees the memory of a file before the sockets that carry its descriptor, and takes a
/// long time for both.
#[test]
fn memory_in_circular_sockets_does_not_delay_others() {
    const MIB: usize = 2000;
    let information = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = information.lines().find_map(|line| {
        line.strip_prefix("MemAvailable:")?
            .split_whitespace()
            .next()
    });
    if available.and_then(|kib| kib.parse().ok()).unwrap_or(0) < (2 * MIB) << 10 {
        return skip("this machine has too little memory");
    }
    let supervisor = start(builder().slots(1).runners_per_slot(3));
    for _ in 0..2 {
        let hostile = supervisor
            .run(&request(["circle", &MIB.to_string()]))
            .unwrap();
        let innocent = submit_several(&supervisor, &request(["exit", "0"]));
        assert_eq!(wait(&hostile).outcome, Outcome::Exited(0));
        for handle in innocent {
            let result = wait(&handle);
            assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
        }
    }
}
