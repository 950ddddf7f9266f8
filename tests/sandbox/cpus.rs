//! The CPUs of runners and programs.

use crate::builder;
use millibox::{Outcome, Supervisor};
use millibox_tests::{
    descendants, eventually, has_cgroups_or_skips, is_root, kill, process_name, result, run, skip,
    start, start_sleeper, wait, world_with_proc,
};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::Duration;

/// The numbers in a list of CPUs, in the kernel's format.
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

/// The CPUs that a process may use.
fn cpus_of(process: i32) -> Vec<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    numbers(
        status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .unwrap_or_default(),
    )
}

/// The CPU of each runner, once every runner has a CPU.
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
    all.filter(|&pid| process_name(pid) == "millibox-runner")
}

/// All CPUs that a supervisor may use. Neither the client's affinity nor a CPU quota changes them.
fn at_least_two_cpus() -> Option<Vec<usize>> {
    let all = cpus_of(start(builder().slots(2)).info().pid() as i32);
    if all.len() < 2 {
        skip("this machine has one CPU");
        return None;
    }
    Some(all)
}

/// The CPU of a supervisor with one slot.
fn cpu_of_supervisor(supervisor: &Supervisor) -> usize {
    let cpus = cpus_of(supervisor.info().pid() as i32);
    assert_eq!(cpus.len(), 1, "CPUs of a supervisor with one slot");
    cpus[0]
}

/// The CPU of the runner in which a sleeper runs.
fn cpu_of_run(supervisor: &Supervisor) -> usize {
    let (handle, _output) = start_sleeper(supervisor, &[]);
    let cpus = runners(supervisor)
        .filter(|&runner| {
            descendants(runner as u32)
                .iter()
                .any(|process| process_name(process.pid) == "probe")
        })
        .flat_map(cpus_of);
    let cpus: Vec<usize> = cpus.collect();
    handle.cancel();
    wait(&handle);
    assert_eq!(cpus.len(), 1, "CPUs of runners with a program");
    cpus[0]
}

#[test]
fn runners_of_single_slot_use_several_cpus_and_programs_use_all() {
    let Some(all) = at_least_two_cpus() else {
        return;
    };
    let supervisor = start(builder().slots(1).runners_per_slot(4));
    let runner_cpus: BTreeSet<usize> = cpus_of_runners(&supervisor, 4).into_iter().collect();
    assert_eq!(runner_cpus.len(), (all.len() - 1).min(4));
    assert!(!runner_cpus.contains(&cpu_of_supervisor(&supervisor)));
    for _ in 0..4 {
        let output = run(
            &supervisor,
            &millibox_tests::request(["scheduling"]).world(&world_with_proc()),
        );
        assert_eq!(numbers(&output.value("cpus")), all);
    }
}

/// All processes that a request wakes are on one CPU. Processes that prepare runs or clean up are
/// on other CPUs.
#[test]
fn run_of_single_slot_starts_on_supervisors_cpu() {
    if at_least_two_cpus().is_none() {
        return;
    }
    for builder in [builder(), builder().separate_pid1(true)] {
        let supervisor = start(builder.slots(1));
        let cpu = cpu_of_supervisor(&supervisor);
        run(&supervisor, &millibox_tests::request(["exit", "0"]));
        for _ in 0..4 {
            // A run that arrives before its target is prepared would start on the runner's CPU.
            std::thread::sleep(Duration::from_millis(500));
            let (handle, _output) = start_sleeper(&supervisor, &[]);
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
                .find(|&pid| process_name(pid) == "probe")
                .expect("the program");
            let pid1 = parent_of(program).expect("a pid1");
            let zygote = parent_of(pid1).expect("a zygote");
            assert_eq!(cpus_of(pid1), [cpu], "pid1");
            assert!(
                !cpus_of(zygote).contains(&cpu),
                "the zygote is on {:?}",
                cpus_of(zygote)
            );
            handle.cancel();
            wait(&handle);
        }
    }
}

#[test]
fn one_slot_per_cpu_has_one_cpu_each() {
    let Some(all) = at_least_two_cpus() else {
        return;
    };
    if all.len() > 16 {
        return skip("this machine has more than 16 CPUs");
    }
    let supervisor = start(builder().slots(all.len()).runners_per_slot(2));
    let twice: Vec<usize> = all.iter().flat_map(|&cpu| [cpu, cpu]).collect();
    assert_eq!(cpus_of_runners(&supervisor, 2 * all.len()), twice);
}

/// Otherwise, the run would compete with the end of the previous run and the preparation of the
/// next run.
#[test]
fn next_run_uses_a_different_cpu() {
    if at_least_two_cpus().is_none() {
        return;
    }
    let supervisor = start(builder().slots(2));
    let mut last = cpu_of_run(&supervisor);
    let mut moves = 0;
    // On a busy machine, the second runner may not be prepared for this world when a run begins.
    let alternates = eventually(Duration::from_secs(20), || {
        std::thread::sleep(Duration::from_millis(400));
        let next = cpu_of_run(&supervisor);
        moves = if next == last { 0 } else { moves + 1 };
        last = next;
        moves == 4
    });
    assert!(alternates, "four runs on alternating CPUs");
}

/// A runner that dies is replaced.
#[test]
fn replacement_of_runner_uses_the_same_cpu() {
    let supervisor = start(builder().slots(1));
    let before = cpus_of_runners(&supervisor, 3);
    let victim = descendants(supervisor.info().pid())
        .into_iter()
        .find(|process| process_name(process.pid) == "millibox-runner");
    let victim = victim.expect("a runner");
    kill(victim.pid, Signal::KILL);
    assert!(eventually(Duration::from_secs(10), || !victim.is_alive()));
    assert_eq!(cpus_of_runners(&supervisor, 3), before);
}

/// Each member of a pool has one CPU, but a request may name other CPUs.
#[test]
fn cpu_time_limit_applies_beyond_supervisors_cpus() {
    let Some(all) = at_least_two_cpus() else {
        return;
    };
    let supervisor = start(builder().cpus([all[0]]).slots(1));
    if !has_cgroups_or_skips(&supervisor) {
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
    // A first measurement after one second of real time would find two seconds of CPU time.
    assert!(used < 1_600_000_000, "{:?}", over.figures);
}

/// The nice value of a process's session, if the kernel schedules by session.
fn session_nice(process: i32) -> Option<i32> {
    let autogroup = std::fs::read_to_string(format!("/proc/{process}/autogroup")).ok()?;
    autogroup.trim().rsplit(' ').next()?.parse().ok()
}

#[test]
fn session_of_supervisor_started_by_root_has_highest_priority() {
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
    let (run, _output) = start_sleeper(&supervisor, &[]);
    let programs = descendants(supervisor.info().pid())
        .into_iter()
        .filter(|process| process_name(process.pid) == "probe");
    let programs: Vec<Option<i32>> = programs.map(|process| session_nice(process.pid)).collect();
    assert_eq!(programs, [Some(0)], "the program's session");
    run.kill();
    wait(&run);
}
