//! Where runners are held, and that programs are not.

use crate::builder;
use millibox::{Outcome, Supervisor};
use millibox_tests::{
    descendants, eventually, is_root, kill, name, needs_cgroups, result, run, skip, sleeper, start,
    wait, world_with_proc,
};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::Duration;

/// The numbers of a list of CPUs, as the kernel writes them.
fn numbers(list: &str) -> Vec<usize> {
    let number = |text: &str| text.trim().parse().expect("a number");
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => number(first)..=number(last),
        None => number(part)..=number(part),
    };
    list.trim()
        .split(',')
        .filter(|part| !part.is_empty())
        .flat_map(range)
        .collect()
}

/// What a process may use.
fn cpus_of(process: i32) -> Vec<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    numbers(
        status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .unwrap_or_default(),
    )
}

/// That of each runner, as soon as all have settled.
fn cpus_of_runners(supervisor: &Supervisor, count: usize) -> Vec<usize> {
    let mut cpus = Vec::new();
    let settled = eventually(Duration::from_secs(10), || {
        cpus = runners(supervisor).map(cpus_of).collect();
        cpus.len() == count && cpus.iter().all(|cpus| cpus.len() == 1)
    });
    assert!(settled, "runners on {cpus:?}");
    let mut cpus = cpus.concat();
    cpus.sort_unstable();
    cpus
}

fn runners(supervisor: &Supervisor) -> impl Iterator<Item = i32> {
    let all = descendants(supervisor.info().pid())
        .into_iter()
        .map(|process| process.pid);
    all.filter(|&pid| name(pid) == "millibox-runner")
}

/// All that a supervisor may use. Neither our own affinity nor a share of the CPUs' time changes
/// that.
fn at_least_two_cpus() -> Option<Vec<usize>> {
    let all = cpus_of(start(builder().slots(2)).info().pid() as i32);
    if all.len() < 2 {
        skip("there is one CPU");
        return None;
    }
    Some(all)
}

/// The one CPU where a lone slot's supervisor is.
fn cpu_of_supervisor(supervisor: &Supervisor) -> usize {
    let its = cpus_of(supervisor.info().pid() as i32);
    assert_eq!(its.len(), 1, "CPUs of a lone slot's supervisor");
    its[0]
}

/// The one CPU on which the runner of a sleeper's run is held.
fn cpu_of_run(supervisor: &Supervisor) -> usize {
    let (handle, _output) = sleeper(supervisor, &[]);
    let its = runners(supervisor)
        .filter(|&runner| {
            descendants(runner as u32)
                .iter()
                .any(|process| name(process.pid) == "probe")
        })
        .flat_map(cpus_of);
    let its: Vec<usize> = its.collect();
    handle.cancel();
    wait(&handle);
    assert_eq!(its.len(), 1, "CPUs of runners in which something runs");
    its[0]
}

#[test]
fn a_lone_slots_runners_are_on_several_cpus_and_its_programs_on_all() {
    let Some(all) = at_least_two_cpus() else {
        return;
    };
    let supervisor = start(builder().slots(1).runners_per_slot(4));
    let held: BTreeSet<usize> = cpus_of_runners(&supervisor, 4).into_iter().collect();
    assert_eq!(held.len(), (all.len() - 1).min(4));
    assert!(!held.contains(&cpu_of_supervisor(&supervisor)));
    for _ in 0..4 {
        let output = run(
            &supervisor,
            &millibox_tests::request(["scheduling"]).world(&world_with_proc()),
        );
        assert_eq!(numbers(&output.value("cpus")), all);
    }
}

/// What is woken on the way of a request is all on one CPU, and what is prepared and taken apart is
/// elsewhere.
#[test]
fn a_lone_slots_runs_begin_and_end_where_the_supervisor_is() {
    if at_least_two_cpus().is_none() {
        return;
    }
    for builder in [builder(), builder().separate_pid1(true)] {
        let supervisor = start(builder.slots(1));
        let its = cpu_of_supervisor(&supervisor);
        run(&supervisor, &millibox_tests::request(["exit", "0"]));
        for _ in 0..4 {
            // Who comes before all is prepared begins where the runner is.
            std::thread::sleep(Duration::from_millis(100));
            let (handle, _output) = sleeper(&supervisor, &[]);
            let all = descendants(supervisor.info().pid());
            let parent_of = |child: i32| {
                let is_parent = |&pid: &i32| {
                    pid != child
                        && descendants(pid as u32)
                            .iter()
                            .any(|process| process.pid == child)
                };
                all.iter()
                    .map(|process| process.pid)
                    .filter(is_parent)
                    .min_by_key(|pid| descendants(*pid as u32).len())
            };
            let program = all
                .iter()
                .map(|process| process.pid)
                .find(|&pid| name(pid) == "probe")
                .expect("the program");
            let pid1 = parent_of(program).expect("a pid1");
            let zygote = parent_of(pid1).expect("a zygote");
            assert_eq!(cpus_of(pid1), [its], "pid1");
            assert!(
                !cpus_of(zygote).contains(&its),
                "the zygote is on {:?}",
                cpus_of(zygote)
            );
            handle.cancel();
            wait(&handle);
        }
    }
}

#[test]
fn of_as_many_slots_as_cpus_each_has_one() {
    let Some(all) = at_least_two_cpus() else {
        return;
    };
    if all.len() > 16 {
        return skip("there are many CPUs");
    }
    let supervisor = start(builder().slots(all.len()).runners_per_slot(2));
    let twice: Vec<usize> = all.iter().flat_map(|&cpu| [cpu, cpu]).collect();
    assert_eq!(cpus_of_runners(&supervisor, 2 * all.len()), twice);
}

/// Else it would come upon the end of the run before it, and the preparation of the next.
#[test]
fn the_next_run_is_not_where_the_last_one_was() {
    if at_least_two_cpus().is_none() {
        return;
    }
    let supervisor = start(builder().slots(2));
    let mut last = cpu_of_run(&supervisor);
    for _ in 0..4 {
        // A second runner is ready for this world by then.
        std::thread::sleep(Duration::from_millis(100));
        let next = cpu_of_run(&supervisor);
        assert_ne!(next, last);
        last = next;
    }
}

/// A runner that dies is followed by another in its place.
#[test]
fn a_runners_successor_is_where_it_was() {
    let supervisor = start(builder().slots(1));
    let before = cpus_of_runners(&supervisor, 3);
    let victim = descendants(supervisor.info().pid())
        .into_iter()
        .find(|process| name(process.pid) == "millibox-runner");
    let victim = victim.expect("a runner");
    kill(victim.pid, Signal::KILL);
    assert!(eventually(Duration::from_secs(10), || !victim.is_there()));
    assert_eq!(cpus_of_runners(&supervisor, 3), before);
}

/// A pool's members have one CPU each, and a request may name others.
#[test]
fn a_cpu_time_limit_holds_on_more_cpus_than_the_supervisor_has() {
    let Some(all) = at_least_two_cpus() else {
        return;
    };
    let supervisor = start(builder().cpus([all[0]]).slots(1));
    if !needs_cgroups(&supervisor) {
        return;
    }
    let busy = millibox_tests::request(["spin-tree", "2", "60000"]).cpus(all);
    let over = result(
        &supervisor,
        &busy
            .cpu_time_limit(Duration::from_secs(1))
            .process_limit(10),
    );
    assert_eq!(over.outcome, Outcome::CpuTimeLimit);
    let used = over.figures.cpu_user_ns + over.figures.cpu_system_ns;
    // A first look after a second of real time would find two.
    assert!(used < 1_600_000_000, "{:?}", over.figures);
}

/// The nice value of a process's session, where the kernel schedules by sessions.
fn session_nice(process: i32) -> Option<i32> {
    let autogroup = std::fs::read_to_string(format!("/proc/{process}/autogroup")).ok()?;
    autogroup.trim().rsplit(' ').next()?.parse().ok()
}

#[test]
fn session_of_a_supervisor_started_by_root_has_the_highest_priority() {
    let own = std::process::id() as i32;
    let Some(before) = session_nice(own) else {
        return skip("the kernel does not schedule by sessions");
    };
    if !is_root() {
        return skip("only root may raise the priority of a session");
    }
    let supervisor = start(builder().slots(1));
    assert_eq!(
        session_nice(supervisor.info().pid() as i32),
        Some(-20),
        "the supervisor's session"
    );
    assert_eq!(session_nice(own), Some(before), "the client's session");
    let (run, _output) = sleeper(&supervisor, &[]);
    let programs = descendants(supervisor.info().pid())
        .into_iter()
        .filter(|process| name(process.pid) == "probe");
    let programs: Vec<Option<i32>> = programs.map(|process| session_nice(process.pid)).collect();
    assert_eq!(programs, [Some(0)], "the program's session");
    run.kill();
    wait(&run);
}
