//! The end of a supervisor or keeper.

use super::{CLEANUP_TIMEOUT, died};
use crate::{builder, supervisor};
use millibox::{EndReason, Error, Outcome, ProcessEnd, StartError, Supervisor};
use millibox_tests::{
    Footprint, HANG_TIMEOUT, Process, Random, directory, eventually, kill, pipe, process,
    processes_with_argument, read_all, request, skip, start, start_sleeper, token, wait,
    write_script,
};
use rustix::process::Signal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[test]
fn closed_supervisor_is_reported_to_handles() {
    for close in [
        |supervisor: Supervisor| supervisor.close(),
        |supervisor: Supervisor| drop(supervisor),
    ] {
        let supervisor = supervisor();
        let (running, _output) = start_sleeper(&supervisor, &[]);
        close(supervisor);
        assert_eq!(died(&running), EndReason::ClosedHere);
    }
}

#[test]
fn killed_supervisor_is_reported_and_leaves_nothing() {
    for (signal, number) in [(Signal::KILL, 9), (Signal::TERM, 15), (Signal::SEGV, 11)] {
        let supervisor = supervisor();
        let token = token();
        let done = supervisor.run(&request(["exit", "7"])).unwrap();
        let read_before = supervisor.run(&request(["exit", "8"])).unwrap();
        wait(&read_before);
        assert!(eventually(CLEANUP_TIMEOUT, || matches!(
            done.try_wait(),
            Ok(Some(_))
        )));
        let (running, read) = start_sleeper(&supervisor, &[&token]);
        let waiting: Vec<_> = (0..100)
            .map(|_| {
                supervisor
                    .run(&request(["sleep", "100000", &token]))
                    .unwrap()
            })
            .collect();
        let footprint = Footprint::of(&supervisor);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| died(&running));
            std::thread::sleep(Duration::from_millis(20));
            kill(supervisor.info().pid() as i32, signal);
            let why = waiter.join().unwrap();
            assert_eq!(why, EndReason::Process(ProcessEnd::Killed(number)));
        });
        for handle in &waiting {
            assert_eq!(died(handle), EndReason::Process(ProcessEnd::Killed(number)));
        }
        let begin = Instant::now();
        let later = supervisor.run(&request(["exit", "0"])).unwrap_err();
        assert!(matches!(later, Error::Died(_)), "{later}");
        assert!(begin.elapsed() < Duration::from_secs(1));
        // Results that arrived before the death can still be read.
        assert_eq!(wait(&done).outcome, Outcome::Exited(7));
        assert_eq!(wait(&read_before).outcome, Outcome::Exited(8));
        footprint.assert_gone();
        assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
            &token
        )
        .is_empty()));
        assert_eq!(millibox_tests::read_all(read), b"");
    }
}

#[test]
fn results_sent_before_the_death_are_delivered() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    let request = |code: i32| request(["exit", &code.to_string()]).stdout(write.clone());
    let handles: Vec<_> = (0..5)
        .map(|code| supervisor.run(&request(code)).unwrap())
        .collect();
    drop(write);
    read_all(read);
    // All programs have ended. The supervisor is about to send the results, which the client has
    // not read yet.
    std::thread::sleep(Duration::from_millis(500));
    kill(supervisor.info().pid() as i32, Signal::KILL);
    std::thread::sleep(Duration::from_millis(50));
    for (code, handle) in handles.iter().enumerate() {
        assert_eq!(wait(handle).outcome, Outcome::Exited(code as i32));
    }
}

#[test]
fn supervisor_killed_at_random_moments_leaves_nothing() {
    let mut random = Random::new();
    for _ in 0..15 {
        let supervisor = supervisor();
        let token = token();
        let handles: Vec<_> = (0..30)
            .map(|index| {
                let command = ["exit", "sleep", "spin"][index % 3];
                supervisor.run(&request([command, "20", &token])).unwrap()
            })
            .collect();
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        let footprint = Footprint::of(&supervisor);
        kill(supervisor.info().pid() as i32, Signal::KILL);
        for handle in &handles {
            match handle.wait_timeout(HANG_TIMEOUT) {
                Ok(Some(result)) => assert!(
                    matches!(result.outcome, Outcome::Exited(0 | 20)),
                    "{result}"
                ),
                Err(Error::Died(why)) => assert!(
                    matches!(why, EndReason::Process(ProcessEnd::Killed(_))),
                    "{why}"
                ),
                other => panic!("{other:?}"),
            }
        }
        footprint.assert_gone();
        assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
            &token
        )
        .is_empty()));
    }
}

/// The keeper of a supervisor, if one exists.
fn keeper_of(supervisor: &Supervisor) -> Option<Process> {
    let parent = process(supervisor.info().pid() as i32)
        .and_then(|supervisor| process(supervisor.parent))?;
    (parent.pid != std::process::id() as i32).then_some(parent)
}

#[test]
fn killed_keeper_leaves_no_run_waiting() {
    let supervisor = supervisor();
    let Some(keeper) = keeper_of(&supervisor) else {
        return skip("without cgroups, no keeper exists");
    };
    let (running, _read) = start_sleeper(&supervisor, &[]);
    let footprint = Footprint::of(&supervisor);
    kill(keeper.pid, Signal::KILL);
    // The supervisor may end or continue without its keeper. In both cases, no run waits forever
    // and nothing remains. (On version 1, runs with several processes need the keeper.)
    let handles: Vec<_> = (0..20)
        .map_while(|_| supervisor.run(&request(["forks", "3"])).ok())
        .collect();
    for handle in &handles {
        match handle.wait_timeout(Duration::from_secs(20)) {
            Ok(Some(result)) => {
                assert!(
                    matches!(
                        result.outcome,
                        Outcome::Exited(0) | Outcome::SandboxError(_)
                    ),
                    "{result}"
                )
            }
            Ok(None) => panic!("a run hangs without the keeper"),
            Err(error) => assert!(matches!(error, Error::Died(_)), "{error}"),
        }
    }
    running.kill();
    drop(supervisor);
    footprint.assert_gone();
}

#[test]
fn supervisor_dropped_after_orphans_leaves_nothing() {
    for slots in [1, 3] {
        let supervisor = start(builder().slots(slots));
        let handles: Vec<_> = (0..20)
            .map(|_| {
                supervisor
                    .run(&request(["orphans", "2", "100000"]))
                    .unwrap()
            })
            .collect();
        for handle in &handles {
            wait(handle);
        }
        let footprint = Footprint::of(&supervisor);
        drop(supervisor);
        footprint.assert_gone();
    }
}

/// Creates a shell script that replaces the supervisor, with the socket at descriptor 0.
fn script_as_supervisor(directory: &std::path::Path, script: &str) -> PathBuf {
    let path = directory.join("supervisor");
    write_script(&path, &format!("#!/bin/sh\n{script}\n"));
    path
}

#[test]
fn last_message_interrupted_by_signals_is_read() {
    let dir = directory();
    let path = script_as_supervisor(
        dir.path(),
        "exec </dev/null; sleep 0.3; echo millibox: these >&2",
    );
    let output =
        millibox_tests::client(["alarms", &format!("supervisor={}", path.display()), "--"]);
    assert!(output.value("error").ends_with(": these"), "{output:?}");
}

#[test]
fn supervisor_with_unreadable_hello_is_ended() {
    let dir = directory();
    // The script writes its PID, sends an invalid greeting, and ends with its socket.
    let pid_file = dir.path().join("pid");
    let script = format!(
        "echo $$ > {}; printf nonsense >&0; exec cat >/dev/null",
        pid_file.display()
    );
    match Supervisor::builder()
        .executable(script_as_supervisor(dir.path(), &script))
        .start()
    {
        Err(Error::Start(StartError::NotSupervisor { reason, .. })) => {
            assert!(matches!(reason, EndReason::Unreadable(_)), "{reason:?}");
        }
        other => panic!("{other:?}"),
    }
    let pid = std::fs::read_to_string(pid_file).unwrap();
    assert!(
        !std::path::Path::new("/proc").join(pid.trim()).exists(),
        "the script is still a process"
    );
}
