//! What a run leaves may take long to be taken apart: that is nobody else's fault.

use crate::builder;
use millibox::{Figures, Handle, Outcome, Request, Supervisor};
use millibox_tests::{
    PATIENCE, eventually, kill, pipe, process, processes_that_say, request, result, skip, start,
    token, wait,
};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// A run that does this in a shell; its zygote is stopped before it ends, so that its runner comes
/// to no end of it. Nobody knows of a thing that the kernel takes apart for so long in all
/// machines.
fn stuck(supervisor: &Supervisor, script: &str) -> (i32, Figures) {
    let token = token();
    let (read, write) = pipe();
    let request = Request::new("/bin/sh")
        .args(["-c", &format!("{script}; read line"), &token])
        .stdin(read);
    let run = supervisor.run(&request).unwrap();
    drop(request);
    // The target says its runner's command line until it is the program.
    assert!(eventually(PATIENCE, || !processes_that_say(&token).is_empty()));
    let target = processes_that_say(&token).remove(0);
    let pid1 = process(target.parent).expect("pid1");
    kill(pid1.parent, Signal::STOP);
    drop(write);
    let result = wait(&run);
    assert!(matches!(result.outcome, Outcome::Exited(_)));
    (pid1.parent, result.figures)
}

/// All are asked for at once.
fn several(supervisor: &Supervisor, request: &Request) -> Vec<Handle> {
    (0..12).map(|_| supervisor.run(request).unwrap()).collect()
}

#[test]
fn a_runner_that_takes_long_is_not_waited_for_while_there_are_others() {
    let supervisor = start(builder().slots(1).runners_per_slot(3));
    let (zygote, _) = stuck(
        &supervisor,
        "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done",
    );
    let innocent = request(["exit", "0"]).real_time_limit(Duration::from_secs(10));
    let begin = Instant::now();
    for handle in several(&supervisor, &innocent) {
        let result = wait(&handle);
        assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
    }
    // Pairs find the other two runners, in another world as well.
    let other = innocent.clone().world(&millibox_tests::world_with_proc());
    for pair in [[&innocent, &other], [&other, &other], [&other, &innocent]] {
        for handle in supervisor.run_pair(pair).unwrap() {
            let result = wait(&handle);
            assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
        }
    }
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    kill(zygote, Signal::CONT);
    for handle in several(&supervisor, &innocent) {
        assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    }
}

#[test]
fn the_only_runner_is_waited_for() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    let (zygote, _) = stuck(
        &supervisor,
        "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done",
    );
    let handles = several(
        &supervisor,
        &request(["exit", "0"]).real_time_limit(Duration::from_secs(10)),
    );
    // Who waits is still nobody's.
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

/// The only runner is given up after 10 s, and the run has another. Its own clock begins there.
#[test]
fn run_that_has_not_begun_reaches_no_limit() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    // So little that the next launch is sent before its end.
    let (zygote, figures) = stuck(&supervisor, ":");
    if figures.cpu_user_ns + figures.cpu_system_ns > 20_000_000 {
        kill(zygote, Signal::CONT);
        return skip("this machine is so slow that a shell that does nothing could have left much");
    }
    let result = self::result(
        &supervisor,
        &request(["exit", "0"]).real_time_limit(Duration::from_secs(2)),
    );
    assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
    assert!(result.figures.real_time_ns < 2_000_000_000, "{result:?}");
}

/// The kernel lets go of a file of memory before it lets go of the sockets that it was on its way
/// through, and takes its time for both.
#[test]
fn memory_in_sockets_that_go_in_a_circle() {
    const MIB: usize = 2000;
    let information = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = information.lines().find_map(|line| {
        line.strip_prefix("MemAvailable:")?
            .split_whitespace()
            .next()
    });
    if available.and_then(|kib| kib.parse().ok()).unwrap_or(0) < (2 * MIB) << 10 {
        return skip("there is too little memory");
    }
    let supervisor = start(builder().slots(1).runners_per_slot(3));
    for _ in 0..2 {
        let hostile = supervisor
            .run(&request(["circle", &MIB.to_string()]))
            .unwrap();
        let innocent = several(&supervisor, &request(["exit", "0"]));
        assert_eq!(wait(&hostile).outcome, Outcome::Exited(0));
        for handle in innocent {
            let result = wait(&handle);
            assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
        }
    }
}
