//! Injects a fault at every system call that a request needs. Each fault is reported or makes no
//! difference. No run has weaker isolation, the next request works, and nothing remains.
//!
//! The kernel itself provides the faults. `faulty` starts the supervisor under a seccomp listener,
//! so that the test can answer each call of the supervisor's processes, or kill a process at that
//! moment. The test first records a request. It then repeats the request once for each call, with a
//! fault at that call.
//!
//! By default, one fault is tried with each call of a request, and only some calls of a start are
//! tried, chosen at random. With `MILLIBOX_FAULTS=N`, every fault is tried with each call of a
//! request from the N-th call on, and every call of a start is tried.

mod attempt;
mod injector;

use attempt::{Attempt, assert_same_walls, assert_works, size_at_rest, try_request};
use injector::{Fault, FaultInjector, Point, RUNNERS_PER_SLOT, Role, role};
use millibox_tests::{Footprint, Random, eventually, skip};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

const FAULTS: [Fault; 10] = [
    Fault::Errno(libc::ENOMEM),
    Fault::Kill(Role::Target),
    Fault::Errno(libc::EMFILE),
    Fault::Kill(Role::Pid1),
    Fault::Errno(libc::ENOSPC),
    Fault::Kill(Role::Zygote),
    Fault::Errno(libc::EAGAIN),
    Fault::Kill(Role::Runner),
    Fault::Kill(Role::Supervisor),
    Fault::Kill(Role::Spawner),
];

#[derive(Debug, Default)]
struct Tally {
    points: usize,
    fired: usize,
    no_difference: usize,
    refused: usize,
    died: usize,
}

#[test]
fn fault_at_any_call_of_a_request_is_reported_or_harmless() {
    let injector = FaultInjector::new();
    let mut supervisor = match injector.start() {
        Ok(supervisor) => supervisor,
        Err(error) => return skip(&format!("no seccomp listener is available: {error}")),
    };
    let Attempt::Ran(expected) = try_request(&supervisor) else {
        panic!("the request fails without a fault")
    };
    assert!(expected.len() > 60, "{expected:?}");
    for _ in 0..4 {
        assert_works(&supervisor, &expected);
        injector.settle(&supervisor);
    }
    // Record one request, and the preparation after it.
    injector.arm(None);
    assert_works(&supervisor, &expected);
    injector.settle(&supervisor);
    let points = injector.watch().seen.clone();
    for role in [Role::Supervisor, Role::Zygote, Role::Pid1, Role::Target] {
        assert!(
            points.iter().any(|point| point.role == role),
            "{role:?} makes no call: {points:?}"
        );
    }
    let all = std::env::var("MILLIBOX_FAULTS")
        .ok()
        .map(|from| from.parse::<usize>().expect("a number"));
    let mut tally = Tally {
        points: points.len(),
        ..Tally::default()
    };
    let mut before = size_at_rest(&injector, &supervisor, &expected);
    for (index, point) in points.iter().enumerate().skip(all.unwrap_or(0)) {
        let these = if all.is_some() {
            0..FAULTS.len()
        } else {
            index % FAULTS.len()..index % FAULTS.len() + 1
        };
        for fault in &FAULTS[these] {
            // The kernel closes the descriptor even if close(2) returns an error.
            if i64::from(point.number) == libc::SYS_close && matches!(fault, Fault::Errno(_)) {
                continue;
            }
            let footprint = Footprint::of(&supervisor);
            let what = format!("{fault:?} at call {index}, {point:?}");
            injector.arm(Some((*point, *fault)));
            let attempt =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| try_request(&supervisor)));
            let attempt = attempt.unwrap_or_else(|_| panic!("{what}"));
            let description = match &attempt {
                Attempt::Ran(_) => "no difference",
                Attempt::Failed(why) | Attempt::Died(why) => why,
            };
            eprintln!("{what}: {description}");
            injector.settle(&supervisor);
            let fired = injector.arm(None);
            tally.fired += usize::from(fired);
            match attempt {
                Attempt::Ran(ref walls) => {
                    tally.no_difference += 1;
                    assert_same_walls(&what, walls, &expected);
                }
                Attempt::Failed(ref why) | Attempt::Died(ref why) if !fired => {
                    panic!("{what}: the fault did not happen, but the request failed: {why}")
                }
                Attempt::Failed(_) => tally.refused += 1,
                Attempt::Died(ref why) => {
                    tally.died += 1;
                    assert!(
                        why.contains("signal") || why.contains("cannot "),
                        "{what}: {why:?}"
                    );
                }
            }
            // A fault after the result may have hit the preparation of a later run. Which runner
            // has that run depends on timing. The fault is reported once, and later requests work.
            let mut is_reported = matches!(attempt, Attempt::Failed(_));
            for _ in 0..RUNNERS_PER_SLOT {
                if !fired || supervisor.is_dead() {
                    break;
                }
                match try_request(&supervisor) {
                    Attempt::Ran(walls) => assert_same_walls(&what, &walls, &expected),
                    Attempt::Failed(why) => {
                        assert!(!is_reported, "{what}: reported twice: {why:?}");
                        is_reported = true;
                    }
                    Attempt::Died(_) => {}
                }
                injector.settle(&supervisor);
            }
            // The supervisor may also have died after the result.
            let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                (0..RUNNERS_PER_SLOT).for_each(|_| assert_works(&supervisor, &expected));
            }));
            if next.is_err() {
                assert!(supervisor.is_dead(), "{what}: the next request fails");
                drop(supervisor);
                footprint.assert_gone();
                supervisor = injector
                    .start()
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                before = size_at_rest(&injector, &supervisor, &expected);
            }
        }
    }
    let after = size_at_rest(&injector, &supervisor, &expected);
    // The number of prepared runners varies. Each has an additional zygote, pid1 and target, with
    // about 25 descriptors each.
    let more = after.1.saturating_sub(before.1);
    assert!(
        more <= 2 * 3 && after.0 <= before.0 + 26 * more + 20,
        "{before:?} became {after:?}"
    );
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
    eprintln!("{tally:?}");
    assert!(
        tally.fired * 2 > tally.points,
        "less than half of the faults happened: {tally:?}"
    );
}

/// The first message that the supervisor sends for a request is the launch. No part of the run has
/// started at that time.
#[test]
fn runners_killed_before_the_launch_are_replaced() {
    let injector = FaultInjector::new();
    let supervisor = match injector.start() {
        Ok(supervisor) => supervisor,
        Err(error) => return skip(&format!("no seccomp listener is available: {error}")),
    };
    let Attempt::Ran(expected) = try_request(&supervisor) else {
        panic!("the request fails without a fault")
    };
    for _ in 0..3 {
        injector.settle(&supervisor);
        let launch = Point {
            role: Role::Supervisor,
            number: libc::SYS_sendmsg as i32,
            count: 1,
        };
        injector.arm(Some((launch, Fault::NoRunners)));
        assert_works(&supervisor, &expected);
        assert!(injector.arm(None), "the supervisor did not send the launch");
    }
    assert_works(&supervisor, &expected);
}

/// The cgroups in these directories that one of these processes created.
fn cgroups_of(parents: &BTreeSet<PathBuf>, pids: &BTreeSet<i32>) -> Vec<PathBuf> {
    let entries = parents
        .iter()
        .filter_map(|parent| std::fs::read_dir(parent).ok())
        .flatten()
        .flatten();
    let is_created_by_pids = |path: &PathBuf| {
        // The keeper names cgroups millibox-PID-RANDOM.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let maker = name
            .strip_prefix("millibox-")
            .and_then(|rest| rest.split_once('-')?.0.parse().ok());
        maker.is_some_and(|maker: i32| pids.contains(&maker))
    };
    entries
        .map(|entry| entry.path())
        .filter(is_created_by_pids)
        .collect()
}

#[test]
fn fault_at_any_call_of_a_start_is_reported_or_harmless() {
    let injector = FaultInjector::new();
    let first = match injector.start() {
        Ok(supervisor) => supervisor,
        Err(error) => return skip(&format!("no seccomp listener is available: {error}")),
    };
    let Attempt::Ran(expected) = try_request(&first) else {
        panic!("the request fails without a fault")
    };
    let parents: BTreeSet<PathBuf> = first
        .info()
        .cgroups()
        .filter_map(|path| path.parent().map(PathBuf::from))
        .collect();
    drop(first);
    // Record a start and a first request, for which the template must be mounted.
    injector.arm(None);
    let second = injector.start().unwrap_or_else(|error| panic!("{error}"));
    assert_works(&second, &expected);
    let points = injector.watch().seen.clone();
    drop(second);
    assert!(
        points.iter().any(|point| point.role == Role::Mounter),
        "no mounter runs"
    );

    let mut random = Random::new();
    let all = std::env::var_os("MILLIBOX_FAULTS").is_some();
    let chosen: Vec<usize> = match all {
        true => (0..points.len()).collect(),
        false => (0..40)
            .map(|_| random.below(points.len() as u64) as usize)
            .collect(),
    };
    let (mut fired, mut reported) = (0, 0);
    for index in chosen {
        let (point, fault) = (
            points[index],
            FAULTS[random.below(FAULTS.len() as u64) as usize],
        );
        let what = format!("{fault:?} at call {index}, {point:?}");
        injector.arm(Some((point, fault)));
        let description = match injector.start() {
            Err(error) => error.to_string(),
            Ok(supervisor) => {
                let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    try_request(&supervisor)
                }));
                match attempt.unwrap_or_else(|_| panic!("{what}")) {
                    Attempt::Ran(walls) => {
                        assert_same_walls(&what, &walls, &expected);
                        "no difference".to_owned()
                    }
                    Attempt::Failed(why) | Attempt::Died(why) => why,
                }
            }
        };
        eprintln!("{what}: {description}");
        let (hit, pids) = {
            let watch = injector.watch();
            (watch.fired, watch.pids.clone())
        };
        fired += usize::from(hit);
        if description != "no difference" {
            reported += 1;
            assert!(
                hit,
                "{what}: the fault did not happen, but the start failed: {description}"
            );
            let is_explained = [
                "cannot ",
                "killed",
                "signal",
                "error",
                "a runner exited",
                "the spawner",
            ]
            .iter()
            .any(|word| description.contains(word));
            assert!(
                is_explained && !description.contains("panicked"),
                "{what}: {description:?}"
            );
        }
        let left = || -> Vec<i32> {
            // A PID may belong to an unrelated process by now.
            pids.iter()
                .copied()
                .filter(|pid| millibox_tests::process(*pid).is_some() && role(*pid).is_some())
                .collect()
        };
        assert!(
            eventually(Duration::from_secs(10), || left().is_empty()),
            "{what}: {description}: remaining processes: {:?}",
            left()
        );
        let cgroups = || cgroups_of(&parents, &pids);
        assert!(
            eventually(Duration::from_secs(10), || cgroups().is_empty()),
            "{what}: remaining cgroups: {:?}",
            cgroups()
        );
    }
    injector.arm(None);
    let last = injector.start().unwrap_or_else(|error| panic!("{error}"));
    assert_works(&last, &expected);
    eprintln!(
        "{fired} faults at {} calls, {reported} reported",
        points.len()
    );
    assert!(
        fired > 10 && reported > 5,
        "{fired} faults, {reported} reported"
    );
}
