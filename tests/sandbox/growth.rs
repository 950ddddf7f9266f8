//! After thousands of runs, the supervisor uses no more resources than after hundreds.

use crate::{builder, supervisor};
use millibox::{Outcome, Request, Supervisor, World};
use millibox_tests::{
    Footprint, Process, Random, SPAWNER, descendants, eventually, has_cgroups_or_skips, pipe,
    process_name, request, skip, wait,
};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Resources that might grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    descriptors: Option<usize>,
    resident_kib: u64,
    processes: usize,
    cgroups: usize,
    own_descriptors: usize,
}

impl Usage {
    /// Returns the kind of resource that has grown. Changes in the number of prepared runs do not
    /// count, nor do descriptors of this process, because other tests open some.
    pub fn has_grown_from(&self, before: &Usage) -> Option<&'static str> {
        let kinds = [
            ("processes", self.processes > before.processes + 6),
            (
                "descriptors",
                self.descriptors.unwrap_or(0) > before.descriptors.unwrap_or(0) + 40,
            ),
            ("cgroups", self.cgroups > before.cgroups + 4),
            (
                "memory",
                self.resident_kib > before.resident_kib + before.resident_kib / 4 + 30_000,
            ),
        ];
        kinds
            .into_iter()
            .find_map(|(name, grown)| grown.then_some(name))
    }
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

fn usage(supervisor: &Supervisor) -> Usage {
    let family = descendants(supervisor.info().pid());
    Usage {
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

/// The minimum number of requests in a round of [`make_runs`].
const REQUESTS_PER_ROUND: usize = 7;

/// Makes runs of every kind, some at the same time.
fn make_runs(supervisor: &Supervisor, rounds: usize) {
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

/// Returns the usage once the runners have prepared their next runs, which takes longer on a busy
/// machine.
pub fn settled_usage(supervisor: &Supervisor) -> Usage {
    let mut last = usage(supervisor);
    let mut equal = 0;
    eventually(Duration::from_secs(10), || {
        std::thread::sleep(Duration::from_millis(100));
        let next = usage(supervisor);
        equal = if next.processes == last.processes {
            equal + 1
        } else {
            0
        };
        last = next;
        equal == 5
    });
    last
}

/// Asserts that the resources do not grow. A leak is visible after each attempt, while a runner
/// that started late on a busy machine is visible after only one.
fn assert_no_growth(supervisor: &Supervisor, warm_up: usize, rounds: usize) {
    const ATTEMPTS: usize = 3;
    make_runs(supervisor, warm_up);
    let mut usages = vec![settled_usage(supervisor)];
    let mut is_stable = false;
    let grows = |before: &Usage, after: &Usage| {
        // The number of prepared runs varies.
        after.processes > before.processes + 2
            || after.descriptors.unwrap_or(0) > before.descriptors.unwrap_or(0) + 20
            || after.cgroups > before.cgroups + 4
            || after.resident_kib > before.resident_kib + 3000
            || after.own_descriptors > before.own_descriptors
    };
    for _ in 0..ATTEMPTS {
        let before = usages[usages.len() - 1];
        make_runs(supervisor, rounds);
        let mut after = usage(supervisor);
        is_stable = eventually(Duration::from_secs(5), || {
            after = usage(supervisor);
            !grows(&before, &after)
        });
        usages.push(after);
        if is_stable {
            break;
        }
    }
    eprintln!("{usages:?}");
    assert!(is_stable, "each attempt leaves something: {usages:?}");
    if usages[0].descriptors.is_none() {
        skip("this process may not read the supervisor's descriptors");
    }
}

/// This test runs in its own process, because other tests open descriptors at the same time.
#[test]
fn resources_do_not_grow_over_thousands_of_runs() {
    let test = std::env::current_exe().unwrap();
    let arguments = [
        "--exact",
        "growth::resources_do_not_grow_over_thousands_of_runs_alone",
        "--ignored",
        "--nocapture",
    ];
    let output = std::process::Command::new(test)
        .args(arguments)
        .output()
        .unwrap();
    let output_text =
        String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && output_text.contains("1 passed"),
        "{output_text}"
    );
}

#[test]
#[ignore = "resources_do_not_grow_over_thousands_of_runs starts it"]
fn resources_do_not_grow_over_thousands_of_runs_alone() {
    assert_no_growth(&supervisor(), 40, 400);
}

#[test]
fn cgroups_do_not_grow_after_runs_with_many_processes() {
    let supervisor = millibox_tests::start(builder().slots(1));
    if !has_cgroups_or_skips(&supervisor) {
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
            millibox_tests::run_probe(&supervisor, &["forks", "10"]);
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

/// A process in uninterruptible sleep counts towards the host's load average. An idle supervisor
/// must have no such process.
#[test]
fn idle_supervisor_adds_no_load() {
    let supervisor = millibox_tests::start(builder().slots(1));
    millibox_tests::run_probe(&supervisor, &["exit", "0"]);
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
    assert_no_growth(&supervisor(), 500, 12_500);
}

/// A million requests of every kind, some of them cancelled or killed. Sometimes a process of the
/// sandbox is killed. `MILLIBOX_SOAK` sets the number of requests. At the end, the test counts
/// processes, cgroups, descriptors and mounts.
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
    // Processes killed since the last check, with their descendants.
    let mut victims: Vec<Process> = Vec::new();
    make_runs(&supervisor, 40);
    std::thread::sleep(Duration::from_millis(300));
    let mut before = usage(&supervisor);
    let mut cgroups: BTreeSet<PathBuf> = supervisor.info().cgroups().collect();
    while done < requests {
        // Wait for the end of each killed process and of the processes that depend on it. On a busy
        // machine, this may take a long time. Runs that use these processes fail, which is allowed
        // here.
        let settled = eventually(Duration::from_secs(60), || {
            let outcomes =
                (0..12).map(|_| wait(&supervisor.run(&request(["exit", "0"])).unwrap()).outcome);
            done += 12;
            let all_well = outcomes
                .filter(|outcome| *outcome != Outcome::Exited(0))
                .count()
                == 0;
            all_well && !victims.iter().any(Process::is_alive)
        });
        victims.clear();
        assert!(
            settled,
            "after {kills} kills, no twelve runs in a row succeed"
        );
        // Without kills, every result is as expected.
        make_runs(&supervisor, 50);
        done += 50 * REQUESTS_PER_ROUND;
        // With kills, every run ends, possibly with an error.
        for _ in 0..5 {
            let handles: Vec<_> = (0..8)
                .map(|_| {
                    supervisor
                        .run(&request(["spin", "1"]).process_limit(2))
                        .unwrap()
                })
                .collect();
            done += handles.len();
            // The supervisor would end without its spawner, so the spawner is killed later.
            let mut below = descendants(supervisor.info().pid());
            below.retain(|process| {
                process.pid != supervisor.info().pid() as i32
                    && process_name(process.pid) != SPAWNER
            });
            if !below.is_empty() && random.below(3) == 0 {
                kills += 1;
                let victim = below[random.below(below.len() as u64) as usize];
                // A dead runner whose pid1 is still alive counts as alive, because they share a
                // socket.
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
                            // Only runs that were in progress at a kill may fail.
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
            // End the supervisor by killing either it or the spawner that it needs.
            let footprint = Footprint::of(&supervisor);
            deaths += 1;
            let spawner = descendants(supervisor.info().pid())
                .into_iter()
                .find(|process| process_name(process.pid) == SPAWNER);
            let victim = spawner
                .filter(|_| random.below(2) == 0)
                .map_or(supervisor.info().pid() as i32, |spawner| spawner.pid);
            millibox_tests::kill(victim, Signal::KILL);
            drop(supervisor);
            footprint.assert_gone();
            supervisor = self::supervisor();
            make_runs(&supervisor, 40);
            std::thread::sleep(Duration::from_millis(300));
            before = usage(&supervisor);
            cgroups.extend(supervisor.info().cgroups());
        }
    }
    let mut after = usage(&supervisor);
    let fits = |after: &Usage| {
        after.processes <= before.processes + 2
            && after.descriptors.unwrap_or(0) <= before.descriptors.unwrap_or(0) + 20
            && after.cgroups <= before.cgroups + 4
            && after.resident_kib <= before.resident_kib + 3000
    };
    eventually(Duration::from_secs(5), || {
        after = usage(&supervisor);
        fits(&after)
    });
    eprintln!(
        "{done} requests, {kills} kills, {deaths} deaths, {failed} failures; {before:?}, \
         {after:?}"
    );
    assert!(fits(&after), "before {before:?}, after {after:?}");
    assert!(
        failed <= kills * 8,
        "{failed} runs failed after {kills} kills"
    );
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
    let left: Vec<&PathBuf> = cgroups.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(mounts(), mounts_before, "mounts");
    assert!(
        open_descriptors(std::process::id()) <= own_before.map(|before| before + 2),
        "descriptors of this process"
    );
}
