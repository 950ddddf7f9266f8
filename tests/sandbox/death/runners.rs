//! The end of runners, zygotes, pid1s, mounters and the spawner.

use super::{CLEANUP_TIMEOUT, died};
use crate::supervisor;
use millibox::{
    EndReason, Hint, Mount, Outcome, ProcessEnd, Request, RunError, Step, SupervisorHint,
    SupervisorStep, World,
};
use millibox_tests::{
    Footprint, HANG_TIMEOUT, Process, Random, SPAWNER, descendants, eventually, kill, process,
    process_name, processes_with_argument, request, result, sandbox_error, start_sleeper, token,
    wait,
};
use rustix::process::Signal;
use std::time::Duration;

/// The processes above the target with this argument: pid1, zygote and runner.
fn family(token: &str) -> [Process; 3] {
    let target = processes_with_argument(token)
        .into_iter()
        .next()
        .expect("the target");
    let pid1 = process(target.parent).expect("pid1");
    let zygote = process(pid1.parent).expect("the zygote");
    let runner = process(zygote.parent).expect("the runner");
    [pid1, zygote, runner]
}

#[test]
fn killed_pid1_is_reported_as_sandbox_error() {
    let supervisor = supervisor();
    for _ in 0..3 {
        let token = token();
        let (victim, read) = start_sleeper(&supervisor, &[&token]);
        let (neighbour, _neighbour_read) = start_sleeper(&supervisor, &[]);
        let [pid1, ..] = family(&token);
        kill(pid1.pid, Signal::KILL);
        let result = wait(&victim);
        let killed = Hint::Ended(ProcessEnd::Killed(libc::SIGKILL));
        assert_eq!(
            *sandbox_error(&result),
            RunError::new(Step::Pid1).with_hint(killed)
        );
        assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
            &token
        )
        .is_empty()));
        assert_eq!(millibox_tests::read_all(read), b"");
        assert!(neighbour.try_wait().unwrap().is_none());
        assert_eq!(
            self::result(&supervisor, &Request::new("/bin/true")).outcome,
            Outcome::Exited(0)
        );
    }
}

#[test]
fn killed_runner_or_zygote_is_reported_as_sandbox_error() {
    let supervisor = supervisor();
    for zygote in [false, true, false, true] {
        let token = token();
        let (victim, read) = start_sleeper(&supervisor, &[&token]);
        let (neighbour, _neighbour_read) = start_sleeper(&supervisor, &[]);
        let [_, its_zygote, runner] = family(&token);
        assert!(descendants(supervisor.info().pid()).contains(&runner));
        kill(
            if zygote { its_zygote.pid } else { runner.pid },
            Signal::KILL,
        );
        let result = wait(&victim);
        let hint = if zygote {
            Hint::ZygoteLost
        } else {
            Hint::Ended(ProcessEnd::Killed(libc::SIGKILL))
        };
        assert_eq!(
            *sandbox_error(&result),
            RunError::new(Step::Runner).with_hint(hint)
        );
        assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
            &token
        )
        .is_empty()));
        assert_eq!(millibox_tests::read_all(read), b"");
        assert!(neighbour.try_wait().unwrap().is_none());
        for _ in 0..10 {
            assert_eq!(
                self::result(&supervisor, &Request::new("/bin/true")).outcome,
                Outcome::Exited(0)
            );
        }
    }
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
}

/// The death of a mounter does not fail the request; another mounter takes over.
#[test]
fn killed_mounter_is_replaced() {
    let supervisor = supervisor();
    let mut killed = 0;
    for round in 0..50 {
        // Each world is new and takes a long time to mount. The time increases in each round, for
        // machines on which reading /proc is slow.
        let many = (0..200 << round.min(3)).fold(World::minimal(), |world, index| {
            world.mount(Mount::create_dir(format!("/{round}-{index}"), 0o755))
        });
        let request = Request::new("/bin/true").world(&many);
        let run = supervisor.run(&request).unwrap();
        let mounter = || {
            descendants(supervisor.info().pid())
                .into_iter()
                .find(|process| process_name(process.pid) == "millibox-mount")
        };
        let mut found = None;
        eventually(HANG_TIMEOUT, || {
            found = mounter();
            found.is_some() || run.try_wait().is_ok_and(|result| result.is_some())
        });
        // The mounter may have ended in the meantime. Its PID is then free, unless the supervisor
        // has not yet waited for it.
        killed += found.map_or(0, |mounter| {
            let pid = rustix::process::Pid::from_raw(mounter.pid).expect("a process id");
            usize::from(rustix::process::kill_process(pid, Signal::KILL).is_ok())
        });
        let result = wait(&run);
        assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
        if killed == 3 {
            return;
        }
    }
    // On a loaded machine, most mounters end before they are found.
    assert_ne!(killed, 0, "no mounter was killed in time");
}

#[test]
fn killed_spawner_ends_supervisor() {
    let supervisor = supervisor();
    let token = token();
    let (running, read) = start_sleeper(&supervisor, &[&token]);
    let footprint = Footprint::of(&supervisor);
    let spawner = descendants(supervisor.info().pid())
        .into_iter()
        .find(|process| process_name(process.pid) == SPAWNER);
    kill(spawner.expect("the spawner").pid, Signal::KILL);
    // Only the spawner can replace runners.
    let why = died(&running);
    assert!(
        matches!(&why, EndReason::Failed(error)
            if error.step == SupervisorStep::SpawnerEnd
                && error.hint == Some(SupervisorHint::Ended(ProcessEnd::Killed(9)))),
        "{why}"
    );
    footprint.assert_gone();
    assert!(processes_with_argument(&token).is_empty());
    assert_eq!(millibox_tests::read_all(read), b"");
}

#[test]
fn processes_killed_at_random_moments_fail_one_run_each() {
    let supervisor = supervisor();
    let mut random = Random::new();
    let token = token();
    let mut failures = 0;
    for round in 0..30 {
        let handles: Vec<_> = (0..12)
            .map(|index| {
                supervisor
                    .run(&request([["exit", "sleep"][index % 2], "2", &token]))
                    .unwrap()
            })
            .collect();
        std::thread::sleep(Duration::from_micros(random.below(8000)));
        // The supervisor's children are runners, their children are zygotes, and their children are
        // pid1s.
        let all = descendants(supervisor.info().pid());
        let below = |parent_cgroup: &[i32]| -> Vec<i32> {
            all.iter()
                .filter(|p| parent_cgroup.contains(&p.parent))
                .map(|p| p.pid)
                .collect()
        };
        let mut victims = vec![supervisor.info().pid() as i32];
        for _ in 0..=round % 3 {
            victims = below(&victims);
        }
        victims.retain(|&pid| process_name(pid) != SPAWNER);
        if !victims.is_empty() {
            kill(
                victims[random.below(victims.len() as u64) as usize],
                Signal::KILL,
            );
        }
        for handle in &handles {
            let result = wait(handle);
            match &result.outcome {
                Outcome::Exited(0 | 2) => {}
                Outcome::SandboxError(error) => {
                    assert!(error.hint.is_some() || error.errno.is_some(), "{error}");
                    failures += 1;
                }
                _ => panic!("round {round}: {result}"),
            }
        }
        // The process killed last may belong to a prepared run.
        let works =
            || self::result(&supervisor, &Request::new("/bin/true")).outcome == Outcome::Exited(0);
        assert!(eventually(HANG_TIMEOUT, works), "round {round}");
    }
    eprintln!("{failures} runs failed with their runner, zygote or pid1");
    assert!(
        failures <= 60,
        "more than one run failed for each killed process: {failures}"
    );
    assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
        &token
    )
    .is_empty()));
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
}
