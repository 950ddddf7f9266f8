//! A supervisor that lacks descriptors or cannot remove its cgroups.

use crate::supervisor;
use millibox::{Backend, Handle, Outcome, Request};
use millibox_tests::{
    HANG_TIMEOUT, descendants, eventually, process_name, request, result, skip, start_sleeper, wait,
};
use rustix::process::Signal;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn supervisor_out_of_descriptors_recovers() {
    let supervisor = supervisor();
    let pid = rustix::process::Pid::from_raw(supervisor.info().pid() as i32);
    let limit = |current| rustix::process::Rlimit {
        current,
        maximum: Some(1 << 20),
    };
    // Only root may set the limits of another process.
    let before =
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit(Some(1 << 16)));
    let (Ok(before), Ok(open)) = (
        before,
        std::fs::read_dir(format!("/proc/{}/fd", supervisor.info().pid())),
    ) else {
        return skip("this process may not set the supervisor's limits");
    };
    for room in [0, 1, 2, 5] {
        let open = std::fs::read_dir(format!("/proc/{}/fd", supervisor.info().pid()))
            .map_or(0, Iterator::count)
            .max(1);
        rustix::process::prlimit(
            pid,
            rustix::process::Resource::Nofile,
            limit(Some((open + room) as u64)),
        )
        .unwrap();
        let directory = millibox::Mount::create_dir(format!("/new-{room}"), 0o755);
        let new_world = millibox::World::minimal().mount(directory);
        let mut handles = Vec::new();
        for _ in 0..10 {
            handles.push(supervisor.run(&request(["exit", "0"])).unwrap());
            handles.push(
                supervisor
                    .run(&request(["exit", "0"]).world(&new_world))
                    .unwrap(),
            );
        }
        std::thread::sleep(Duration::from_millis(100));
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, before).unwrap();
        for handle in &handles {
            // Each run has a result that does not blame the program.
            let result = wait(handle);
            let is_not_the_programs_fault = matches!(
                &result.outcome,
                Outcome::Exited(0) | Outcome::SandboxError(_) | Outcome::NotStarted(_)
            );
            assert!(is_not_the_programs_fault, "{room}: {result}");
        }
        for _ in 0..10 {
            assert_eq!(
                self::result(&supervisor, &request(["exit", "0"])).outcome,
                Outcome::Exited(0),
                "{room}"
            );
        }
        // A run can still be killed.
        let (sleeping, _read) = start_sleeper(&supervisor, &[]);
        sleeping.kill();
        assert_eq!(wait(&sleeping).outcome, Outcome::Killed);
    }
    drop(open);
}

#[test]
fn killed_runners_are_replaced_once_possible() {
    let supervisor = supervisor();
    let pid = rustix::process::Pid::from_raw(supervisor.info().pid() as i32);
    let limit = |current| rustix::process::Rlimit {
        current,
        maximum: Some(1 << 20),
    };
    let Ok(before) =
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit(Some(1 << 16)))
    else {
        return skip("this process may not set the supervisor's limits");
    };
    assert_eq!(
        result(&supervisor, &request(["exit", "0"])).outcome,
        Outcome::Exited(0)
    );
    // Without a free descriptor, the supervisor cannot create the socket of a new runner.
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit(Some(3))).unwrap();
    let runners = || {
        descendants(supervisor.info().pid())
            .into_iter()
            .filter(|process| process_name(process.pid) == "millibox-runner")
    };
    for runner in runners().collect::<Vec<_>>() {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(runner.pid).unwrap(),
            Signal::KILL,
        )
        .unwrap();
    }
    assert!(
        eventually(HANG_TIMEOUT, || runners().next().is_none()),
        "the runners are still alive"
    );
    // Meanwhile a request waits.
    let waiting = supervisor
        .run(&Request::new("/bin/sh").args(["-c", "exit 7"]))
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(waiting.try_wait().unwrap(), None);
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, before).unwrap();
    assert_eq!(wait(&waiting).outcome, Outcome::Exited(7));
    assert!(
        eventually(HANG_TIMEOUT, || runners().count() > 1),
        "the runners are not replaced"
    );
}

#[test]
fn cgroup_with_a_foreign_process_blocks_no_run() {
    let supervisor = supervisor();
    if supervisor.info().cgroups().next().is_none() {
        return skip("no cgroups are available");
    }
    // Each cgroup contains a foreign process. Some cgroups are permanent; others are created for
    // one or a few runs and removed while other runs wait.
    let (waiting, _read) = start_sleeper(&supervisor, &[]);
    let mut foreigners = Vec::new();
    for top in supervisor.info().cgroups() {
        for below in std::fs::read_dir(&top)
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().is_dir())
        {
            let mut foreigner = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
            if std::fs::write(
                below.path().join("cgroup.procs"),
                foreigner.id().to_string(),
            )
            .is_ok()
            {
                foreigners.push((foreigner, below.path()));
            } else {
                foreigner.kill().unwrap();
                foreigner.wait().unwrap();
            }
        }
    }
    if foreigners.is_empty() {
        return skip("this process may not move processes into the supervisor's cgroups");
    }
    let queued: Vec<Handle> = (0..30)
        .map(|index| {
            supervisor
                .run(&request(["forks", "3"]).process_limit(10 + index % 3))
                .unwrap()
        })
        .collect();
    waiting.kill();
    for handle in &queued {
        let result = wait(handle);
        assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
    }
    let cgroups: Vec<PathBuf> = supervisor.info().cgroups().collect();
    let backend = supervisor.info().backend();
    let begin = Instant::now();
    drop(supervisor);
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "the supervisor waits for the cgroups"
    );
    for (mut foreigner, cgroup) in foreigners {
        if foreigner.try_wait().unwrap().is_none() {
            assert!(cgroup.exists());
            foreigner.kill().unwrap();
            foreigner.wait().unwrap();
        } else {
            // In a run's own cgroup, a foreign process is killed with the run.
            assert_eq!(backend, Backend::Cgroup2, "a foreign process was killed");
        }
    }
    // The next start removes the cgroups.
    drop(self::supervisor());
    let left: Vec<&PathBuf> = cgroups.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}
