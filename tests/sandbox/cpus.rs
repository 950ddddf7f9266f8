//! Where homes are held, and that programs are not.

use crate::builder;
use millibox::Supervisor;
use millibox_tests::{descendants, eventually, kill, name, run, skip, sleeper, start, wait, world_with_proc};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::Duration;

/// What a process may use, as the kernel writes it.
fn cpus_of(process: i32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default().trim().to_owned()
}

/// Those of each home, as soon as all have settled.
fn cpus_of_homes(supervisor: &Supervisor, count: usize) -> Vec<String> {
    let mut cpus = Vec::new();
    let settled = eventually(Duration::from_secs(10), || {
        let all = descendants(supervisor.pid());
        cpus = all
            .iter()
            .filter(|process| name(process.pid) == "millibox-home")
            .map(|process| cpus_of(process.pid))
            .collect();
        cpus.len() == count && cpus.iter().all(|cpus| cpus.parse::<usize>().is_ok())
    });
    assert!(settled, "homes on {cpus:?}");
    cpus.sort();
    cpus
}

fn at_least_two_cpus() -> Option<usize> {
    let count = std::thread::available_parallelism().expect("a number").get();
    if count < 2 {
        skip("there is one CPU");
        return None;
    }
    Some(count)
}

/// The one CPU on which the home of a sleeper's run is held.
fn cpu_of_run(supervisor: &Supervisor) -> String {
    let (handle, _output) = sleeper(supervisor, &[]);
    let homes = descendants(supervisor.pid()).into_iter().filter(|process| name(process.pid) == "millibox-home");
    let its = homes
        .filter(|home| descendants(home.pid as u32).iter().any(|process| name(process.pid) == "probe"))
        .map(|home| cpus_of(home.pid));
    let its: Vec<String> = its.collect();
    handle.cancel();
    wait(&handle);
    assert_eq!(its.len(), 1, "homes in which something runs");
    its.concat()
}

#[test]
fn a_lone_slots_homes_are_on_several_cpus_and_its_programs_on_all() {
    let Some(count) = at_least_two_cpus() else { return };
    let supervisor = start(builder().slots(1).homes_per_slot(4));
    let held: BTreeSet<String> = cpus_of_homes(&supervisor, 4).into_iter().collect();
    assert_eq!(held.len(), count.min(4));
    for _ in 0..4 {
        let output = run(&supervisor, &millibox_tests::request(["scheduling"]).world(&world_with_proc()));
        assert_eq!(output.value("cpus").split(',').count(), count, "{}", output.value("cpus"));
    }
}

#[test]
fn of_as_many_slots_as_cpus_each_has_one() {
    let Some(count) = at_least_two_cpus() else { return };
    let supervisor = start(builder().slots(count).homes_per_slot(2));
    let held = cpus_of_homes(&supervisor, 2 * count);
    let twice: BTreeSet<&String> = held.iter().collect();
    assert_eq!(twice.len(), count, "{held:?}");
    assert!(held.chunks(2).all(|slot| slot[0] == slot[1]), "{held:?}");
}

/// Else it would come upon the end of the run before it, and the preparation of the next.
#[test]
fn the_next_run_is_not_where_the_last_one_was() {
    if at_least_two_cpus().is_none() {
        return;
    }
    for builder in [builder().slots(1), builder().slots(2)] {
        let supervisor = start(builder);
        let mut last = cpu_of_run(&supervisor);
        for _ in 0..4 {
            // Whatever is prepared for this world is ready by then.
            std::thread::sleep(Duration::from_millis(100));
            let next = cpu_of_run(&supervisor);
            assert_ne!(next, last);
            last = next;
        }
    }
}

/// A home that dies is followed by another in its place.
#[test]
fn a_homes_successor_is_where_it_was() {
    let supervisor = start(builder().slots(1));
    let before = cpus_of_homes(&supervisor, 3);
    let victim = descendants(supervisor.pid()).into_iter().find(|process| name(process.pid) == "millibox-home");
    let victim = victim.expect("a home");
    kill(victim.pid, Signal::KILL);
    assert!(eventually(Duration::from_secs(10), || !victim.is_there()));
    assert_eq!(cpus_of_homes(&supervisor, 3), before);
}
