//! After some thousand runs everything is as it was after some hundred.

use crate::{builder, supervisor};
use millibox::{Outcome, Request, Supervisor, World};
use millibox_tests::{
    Gone, Process, Random, SPAWNER, descendants, eventually, name, needs_cgroups, pipe, request,
    skip, wait,
};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What might grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    descriptors: Option<usize>,
    resident_kib: u64,
    processes: usize,
    cgroups: usize,
    own_descriptors: usize,
}

fn open_descriptors(pid: u32) -> Option<usize> {
    Some(std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

fn directories(path: &Path) -> usize {
    let below = std::fs::read_dir(path).into_iter().flatten().flatten();
    1 + below
        .filter(|entry| entry.path().is_dir())
        .map(|entry| directories(&entry.path()))
        .sum::<usize>()
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or_default();
    line.split_whitespace()
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

fn size(supervisor: &Supervisor) -> Size {
    let family = descendants(supervisor.info().pid());
    Size {
        descriptors: family
            .iter()
            .map(|process| open_descriptors(process.pid as u32))
            .sum(),
        resident_kib: family
            .iter()
            .map(|process| resident_kib(process.pid as u32))
            .sum(),
        processes: family.len(),
        cgroups: supervisor
            .info()
            .cgroups()
            .map(|path| directories(&path))
            .sum(),
        own_descriptors: open_descriptors(std::process::id()).unwrap_or(0),
    }
}

/// What [`some_runs`] asks for in one round, at the least.
const REQUESTS_IN_A_ROUND: usize = 7;

/// Every kind of run, some at once.
fn some_runs(supervisor: &Supervisor, rounds: usize) {
    let worlds = [
        World::minimal(),
        World::minimal().uid(0),
        World::minimal().network(millibox::Network::Loopback),
    ];
    let cgroups = supervisor.info().backend() != millibox::Backend::Rlimit;
    for round in 0..rounds {
        let world = &worlds[if round % 20 == 0 { round / 20 % 3 } else { 0 }];
        let (read, write) = pipe();
        let mut requests = vec![
            request(["exit", "0"]).stdout(write),
            request(["exit", "0"]).world(world),
            Request::new("/bin/true"),
            Request::new("/missing"),
            request(["forks", "2"]),
            request(["ipc", "make", "5"]),
        ];
        if cgroups {
            requests.push(
                request(["exit", "0"])
                    .memory_limit(32 << 20)
                    .process_limit(4),
            );
            requests.push(request(["eat", "20"]).memory_limit(8 << 20));
        }
        let handles: Vec<_> = requests
            .iter()
            .map(|request| supervisor.run(request).unwrap())
            .collect();
        let cancelled = supervisor.run(&request(["sleep", "100000"])).unwrap();
        if round % 2 == 0 {
            cancelled.kill();
            assert_eq!(wait(&cancelled).outcome, Outcome::Killed);
        }
        drop(cancelled);
        for handle in &handles {
            let result = wait(handle);
            assert!(
                !matches!(result.outcome, Outcome::SandboxError(_)),
                "{result}"
            );
        }
        drop((requests, read));
    }
}

fn does_not_grow(supervisor: &Supervisor, warm_up: usize, rounds: usize) {
    some_runs(supervisor, warm_up);
    std::thread::sleep(Duration::from_millis(300));
    let before = size(supervisor);
    some_runs(supervisor, rounds);
    let mut after = size(supervisor);
    // What is prepared at the moment varies by a runner.
    let fits = |after: &Size| {
        after.processes <= before.processes + 2
            && after.descriptors.unwrap_or(0) <= before.descriptors.unwrap_or(0) + 20
            && after.cgroups <= before.cgroups + 4
            && after.resident_kib <= before.resident_kib + 3000
            && after.own_descriptors <= before.own_descriptors
    };
    eventually(Duration::from_secs(5), || {
        after = size(supervisor);
        fits(&after)
    });
    assert!(fits(&after), "before {before:?}, after {after:?}");
    eprintln!("before {before:?}, after {after:?}");
    if before.descriptors.is_none() {
        skip("the supervisor's descriptors may not be looked at");
    }
}

/// In a process of its own: other tests beside it open descriptors, too.
#[test]
fn some_thousand_runs() {
    let test = std::env::current_exe().unwrap();
    let arguments = [
        "--exact",
        "growth::some_thousand_runs_alone",
        "--ignored",
        "--nocapture",
    ];
    let output = std::process::Command::new(test)
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
#[ignore = "some_thousand_runs starts it"]
fn some_thousand_runs_alone() {
    does_not_grow(&supervisor(), 40, 400);
}

#[test]
fn cgroups_after_runs_with_many_processes() {
    let supervisor = millibox_tests::start(builder().slots(1));
    if !needs_cgroups(&supervisor) {
        return;
    }
    let count = || {
        supervisor
            .info()
            .cgroups()
            .map(|path| directories(&path))
            .sum::<usize>()
    };
    let runs = |times: usize| {
        for _ in 0..times {
            millibox_tests::probe_run(&supervisor, &["forks", "10"]);
        }
    };
    runs(20);
    let before = count();
    runs(100);
    assert!(
        eventually(Duration::from_secs(5), || count() <= before + 2),
        "{before} directories became {}",
        count()
    );
}

/// Whoever waits uninterruptibly counts in the host's load average: none of ours may, when
/// all is prepared and nothing runs.
#[test]
fn an_idle_supervisor_is_no_load() {
    let supervisor = millibox_tests::start(builder().slots(1));
    millibox_tests::probe_run(&supervisor, &["exit", "0"]);
    let waiting = || -> Vec<char> {
        let state = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit(')').next()?.trim().chars().next()
        };
        descendants(supervisor.info().pid())
            .iter()
            .filter_map(|process| state(process.pid))
            .collect()
    };
    // Supervisor, spawner, runner, zygote, and at least one prepared pid1 with its target.
    let calm = |states: &[char]| states.len() >= 6 && states.iter().all(|state| *state == 'S');
    assert!(
        eventually(Duration::from_secs(5), || calm(&waiting())),
        "{:?}",
        waiting()
    );
}

#[test]
#[ignore = "takes minutes"]
fn soak_100k() {
    does_not_grow(&supervisor(), 500, 12_500);
}

/// A million requests of every kind, among them cancelled and killed ones; now and then somebody of
/// the supervisor's family is killed from outside. `MILLIBOX_SOAK` says how many requests. It ends
/// with an account: processes, cgroups, descriptors, mounts.
#[test]
#[ignore = "takes hours"]
fn soak_million() {
    let requests: usize = std::env::var("MILLIBOX_SOAK")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    let mut random = Random::new();
    let (mut done, mut kills, mut failed, mut deaths) = (0, 0, 0, 0);
    let mounts =
        || std::fs::read_to_string("/proc/self/mountinfo").map_or(0, |text| text.lines().count());
    let (mounts_before, own_before) = (mounts(), open_descriptors(std::process::id()));
    let mut supervisor = supervisor();
    // Killed since all was well, with their families.
    let mut victims: Vec<Process> = Vec::new();
    some_runs(&supervisor, 40);
    std::thread::sleep(Duration::from_millis(300));
    let mut before = size(&supervisor);
    let mut cgroups: BTreeSet<PathBuf> = supervisor.info().cgroups().collect();
    while done < requests {
        // Who was killed has to go, and who cannot live without him: how long that takes on a busy
        // machine nobody knows. A run that is on its way there fails with them, so these may.
        let settled = eventually(Duration::from_secs(60), || {
            let twelve =
                (0..12).map(|_| wait(&supervisor.run(&request(["exit", "0"])).unwrap()).outcome);
            done += 12;
            let all_well = twelve
                .filter(|outcome| *outcome != Outcome::Exited(0))
                .count()
                == 0;
            all_well && !victims.iter().any(Process::is_there)
        });
        victims.clear();
        assert!(
            settled,
            "after {kills} kills no twelve runs in a row succeed"
        );
        // Undisturbed: every result is what it should be.
        some_runs(&supervisor, 50);
        done += 50 * REQUESTS_IN_A_ROUND;
        // Disturbed: an end or an error in words, but an end.
        for _ in 0..5 {
            let handles: Vec<_> = (0..8)
                .map(|_| {
                    supervisor
                        .run(&request(["spin", "1"]).process_limit(2))
                        .unwrap()
                })
                .collect();
            done += handles.len();
            // Without the spawner a supervisor ends; that is for later.
            let mut below = descendants(supervisor.info().pid());
            below.retain(|process| {
                process.pid != supervisor.info().pid() as i32 && name(process.pid) != SPAWNER
            });
            if !below.is_empty() && random.below(3) == 0 {
                kills += 1;
                let victim = below[random.below(below.len() as u64) as usize];
                // A dead runner whose pid1 has still to die is taken for a living one: they have
                // one socket.
                victims.extend(descendants(victim.pid as u32));
                millibox_tests::kill(victim.pid, Signal::KILL);
            }
            for (index, handle) in handles.into_iter().enumerate() {
                match random.below(6) {
                    0 => drop(handle),
                    1 => {
                        handle.kill();
                        wait(&handle);
                    }
                    _ => {
                        let result = wait(&handle);
                        match &result.outcome {
                            Outcome::Exited(0) => {}
                            // At most those that were on their way when somebody was killed.
                            Outcome::SandboxError(error) => {
                                failed += 1;
                                assert!(error.errno.is_some() || error.hint.is_some(), "{error:?}");
                            }
                            Outcome::Signaled(9) => failed += 1,
                            _ => panic!("request {index}: {result}"),
                        }
                    }
                }
            }
        }
        if random.below(20) == 0 {
            // All of it: by its own death, or by that of the spawner, which it ends with.
            let gone = Gone::of(&supervisor);
            deaths += 1;
            let spawner = descendants(supervisor.info().pid())
                .into_iter()
                .find(|process| name(process.pid) == SPAWNER);
            let victim = spawner
                .filter(|_| random.below(2) == 0)
                .map_or(supervisor.info().pid() as i32, |spawner| spawner.pid);
            millibox_tests::kill(victim, Signal::KILL);
            drop(supervisor);
            gone.assert();
            supervisor = self::supervisor();
            some_runs(&supervisor, 40);
            std::thread::sleep(Duration::from_millis(300));
            before = size(&supervisor);
            cgroups.extend(supervisor.info().cgroups());
        }
    }
    let mut after = size(&supervisor);
    let fits = |after: &Size| {
        after.processes <= before.processes + 2
            && after.descriptors.unwrap_or(0) <= before.descriptors.unwrap_or(0) + 20
            && after.cgroups <= before.cgroups + 4
            && after.resident_kib <= before.resident_kib + 3000
    };
    eventually(Duration::from_secs(5), || {
        after = size(&supervisor);
        fits(&after)
    });
    eprintln!(
        "{done} requests, {kills} kills, {deaths} deaths, {failed} failed by them; {before:?}, \
         {after:?}"
    );
    assert!(fits(&after), "before {before:?}, after {after:?}");
    assert!(failed <= kills * 8, "{failed} runs failed by {kills} kills");
    let gone = Gone::of(&supervisor);
    drop(supervisor);
    gone.assert();
    let left: Vec<&PathBuf> = cgroups.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(mounts(), mounts_before, "mounts");
    assert!(
        open_descriptors(std::process::id()) <= own_before.map(|before| before + 2),
        "our descriptors"
    );
}
