//! What a result says that a run used.

use crate::{builder, supervisor};
use millibox::{Figures, Outcome, Request};
use millibox_tests::{
    PATIENCE, eventually, kill, needs_cgroups, probe_run, process, processes_that_say, request,
    result, run, start, token, wait,
};
use rustix::process::Signal;
use std::time::Duration;

const MIB: u64 = 1 << 20;

fn cpu(figures: &Figures) -> u64 {
    figures.cpu_user_ns + figures.cpu_system_ns
}

#[test]
fn real_time_is_at_least_what_was_slept() {
    let supervisor = supervisor();
    for millis in [1, 20, 150] {
        let figures = probe_run(&supervisor, &["sleep", &millis.to_string()])
            .result
            .figures;
        assert!(figures.real_time_ns >= millis * 1_000_000, "{figures:?}");
        assert!(figures.real_time_ns < 20_000_000_000, "{figures:?}");
    }
}

#[test]
fn cpu_time_is_at_least_what_the_program_read() {
    let supervisor = supervisor();
    for millis in ["1", "10", "60"] {
        let output = probe_run(&supervisor, &["spin", millis]);
        // The clock of a figure from rusage is in microseconds.
        let figures = output.result.figures;
        assert!(
            cpu(&figures) + 1000 >= output.number("own") as u64,
            "{figures:?} {}",
            output.text()
        );
        // One thread cannot use more than one CPU; pid1's own work is a part of a millisecond, of
        // several on a slow machine.
        let most = figures.real_time_ns + figures.real_time_ns / 10 + 2_000_000;
        assert!(cpu(&figures) <= most, "{figures:?}");
    }
}

#[test]
fn cpu_time_of_a_tree_is_the_sum() {
    let supervisor = supervisor();
    let figures = probe_run(&supervisor, &["spin-tree", "6", "20"])
        .result
        .figures;
    assert!(cpu(&figures) >= 120_000_000, "{figures:?}");
    assert!(cpu(&figures) < 1_000_000_000, "{figures:?}");
    let output = probe_run(&supervisor, &["spin-threads", "3", "20"]);
    assert!(cpu(&output.result.figures) + 1000 >= output.number("own") as u64);
    assert!(cpu(&output.result.figures) >= 60_000_000);
}

#[test]
fn cpu_time_of_children_that_nobody_waited_for() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    let figures = probe_run(&supervisor, &["spin-unwaited", "4", "20"])
        .result
        .figures;
    assert!(cpu(&figures) >= 80_000_000, "{figures:?}");
}

#[test]
fn cpu_time_is_not_another_runs() {
    let supervisor = start(builder().slots(1));
    for _ in 0..3 {
        probe_run(&supervisor, &["spin", "1500"]);
        let figures = probe_run(&supervisor, &["exit", "0"]).result.figures;
        assert!(cpu(&figures) < 1_200_000_000, "{figures:?}");
    }
}

#[test]
fn user_and_system_time_are_told_apart() {
    let supervisor = supervisor();
    let shell = |script: &str| {
        let figures = run(&supervisor, &Request::new("/bin/sh").args(["-c", script]))
            .result
            .figures;
        (figures.cpu_user_ns, figures.cpu_system_ns)
    };
    let (user, system) = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
    assert!(user > system, "{user} {system}");
    // dd copies zeroes: the kernel's work.
    let (user, system) = shell("dd if=/dev/zero of=/dev/null bs=1M count=2000 2>/dev/null");
    assert!(system > user, "{user} {system}");
}

/// Nobody waits for the processes of a killed pid1.
#[test]
fn user_and_system_time_are_told_apart_of_a_run_that_was_ended() {
    let supervisor = supervisor();
    let ended = |script: &str| {
        let request = Request::new("/bin/sh")
            .args(["-c", script])
            .real_time_limit(Duration::from_millis(700));
        let result = run(&supervisor, &request).result;
        assert_eq!(result.outcome, Outcome::RealTimeLimit);
        (result.figures.cpu_user_ns, result.figures.cpu_system_ns)
    };
    let (user, system) = ended("while :; do :; done");
    assert!(user > system, "{user} {system}");
    // One byte for each call, in a child.
    let (user, system) = ended("dd if=/dev/zero of=/dev/null bs=1M; exit 1");
    assert!(system > user, "{user} {system}");
}

/// What the kernel had charged ahead for a CPU (64 pages each), or was still to free, was there
/// before a run and is not counted as its; the run may have been given it all the same.
const AHEAD: u64 = 2 * MIB;

#[test]
fn peak_memory_is_what_was_touched() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    let peak = |mib: u64| {
        let output = probe_run(&supervisor, &["eat", &mib.to_string()]);
        output.result.figures.peak_memory_bytes
    };
    for round in 0..3 {
        let base = peak(0);
        assert!(base < 3 * MIB, "{base}");
        for mib in [33, 100] {
            let peak = peak(mib);
            assert!(
                peak + AHEAD >= mib * MIB,
                "round {round}: {peak} for {mib} MiB"
            );
            assert!(
                peak <= (mib + 2) * MIB + base,
                "round {round}: {peak} for {mib} MiB over {base}"
            );
        }
    }
}

/// It is the kernel's word to who has waited for it; nobody waits for what is killed with its pid1.
#[test]
fn peak_memory_without_cgroups_of_a_run_that_was_ended() {
    let supervisor = start(builder().backend(millibox::BackendChoice::Rlimit));
    // In the first process, and in a child of it.
    for program in [
        &["eat", "50", "60000"][..],
        &["map-fork-eat", "100", "60000"],
    ] {
        let ended = result(
            &supervisor,
            &request(program.iter().copied()).real_time_limit(Duration::from_secs(2)),
        );
        assert_eq!(ended.outcome, Outcome::RealTimeLimit);
        let peak = ended.figures.peak_memory_bytes;
        assert!((50 * MIB..54 * MIB).contains(&peak), "{program:?}: {peak}");
    }
    let by_itself = probe_run(&supervisor, &["eat", "50"])
        .result
        .figures
        .peak_memory_bytes;
    assert!((50 * MIB..54 * MIB).contains(&by_itself), "{by_itself}");
}

#[test]
fn peak_memory_of_a_tree_is_the_sum() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    let peak = probe_run(&supervisor, &["map-fork-eat", "80"])
        .result
        .figures
        .peak_memory_bytes;
    assert!((80 * MIB - AHEAD..86 * MIB).contains(&peak), "{peak}");
}

#[test]
fn an_empty_program_uses_little() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    // The first ones bring the program into the page cache.
    let mut peaks: Vec<u64> = (0..12)
        .map(|_| {
            result(&supervisor, &Request::new("/bin/true"))
                .figures
                .peak_memory_bytes
        })
        .collect();
    assert!(peaks.iter().all(|peak| *peak > 4096), "{peaks:?}");
    let peaks = &mut peaks[4..];
    peaks.sort_unstable();
    assert!(peaks[peaks.len() / 2] < MIB, "{peaks:?}");
    // Half a megabyte of its own, and on a busy machine what each CPU it was on has charged ahead.
    assert!(peaks.iter().all(|peak| *peak < AHEAD), "{peaks:?}");
}

#[test]
fn peak_memory_is_not_another_runs() {
    let supervisor = start(builder().slots(1));
    if !needs_cgroups(&supervisor) {
        return;
    }
    probe_run(&supervisor, &["exit", "0"]);
    // tmpfs, shared memory and page cache are the kinds that can stay behind.
    for before in [
        &["eat", "100"][..],
        &["charge", "tmp", "64"],
        &["charge", "shm", "64"],
        &["charge", "memfd", "64"],
        &["charge", "pipes", "8"],
    ] {
        for _ in 0..3 {
            probe_run(&supervisor, before);
            let peak = probe_run(&supervisor, &["exit", "0"])
                .result
                .figures
                .peak_memory_bytes;
            assert!(peak < 3 * MIB, "{peak} after {before:?}");
        }
    }
}

#[test]
fn kernel_memory_is_counted() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    for what in ["tmp", "shm", "memfd"] {
        let peak = probe_run(&supervisor, &["charge", what, "20"])
            .result
            .figures
            .peak_memory_bytes;
        assert!(
            (20 * MIB - AHEAD..25 * MIB).contains(&peak),
            "{what}: {peak}"
        );
    }
    for what in ["pipes", "sockets"] {
        let output = probe_run(&supervisor, &["charge", what, "8"]);
        let (filled, peak) = (
            output.number("filled") as u64,
            output.result.figures.peak_memory_bytes,
        );
        assert!(filled >= 4 * MIB, "{what}: {filled}");
        assert!(peak + AHEAD >= filled, "{what}: {peak} of {filled}");
    }
}

#[test]
fn page_cache_of_a_written_file_is_counted() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    // On the host's file system, whatever that is.
    let directory = millibox_tests::directory();
    let world = millibox::World::minimal().read_write(directory.path(), "/data");
    let output = run(
        &supervisor,
        &request(["file", "/data/file", "20971520"]).world(&world),
    );
    assert_eq!(
        (output.number("written"), output.number("errno")),
        (20 << 20, 0)
    );
    let peak = output.result.figures.peak_memory_bytes;
    assert!(peak + AHEAD >= 20 * MIB, "{peak}");
}

#[test]
fn peak_processes() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    for round in 0..3 {
        for (command, count, expected) in [
            ("exit", "0", 1),
            ("forks", "7", 8),
            ("threads", "12", 13),
            ("exit", "0", 1),
        ] {
            let figures = probe_run(&supervisor, &[command, count]).result.figures;
            // None: the kernel is older than 6.1.
            if let Some(peak) = figures.peak_processes {
                assert_eq!(peak, expected, "round {round}: {command} {count}");
            }
        }
    }
}

#[test]
fn a_run_that_did_not_start_used_no_time() {
    let supervisor = supervisor();
    let result = result(&supervisor, &Request::new("/missing"));
    assert!(matches!(result.outcome, Outcome::NotStarted(_)));
    assert!(
        result.figures.real_time_ns < 1_000_000_000,
        "{:?}",
        result.figures
    );
}

/// A process that is killed may live on for long in the kernel. Nobody knows of a call that does so
/// on every machine, so the zygote, which sees the end, sees it late here.
#[test]
fn real_time_of_a_run_that_was_ended_is_until_its_last_process_is_gone() {
    let supervisor = supervisor();
    let token = token();
    let limit = Duration::from_millis(300);
    let run = supervisor
        .run(&request(["sleep", "100000", &token]).real_time_limit(limit))
        .unwrap();
    assert!(eventually(PATIENCE, || !processes_that_say(&token).is_empty()));
    let target = processes_that_say(&token).remove(0);
    let zygote = process(target.parent).expect("pid1").parent;
    kill(zygote, Signal::STOP);
    std::thread::sleep(Duration::from_millis(1000));
    kill(zygote, Signal::CONT);
    let result = wait(&run);
    assert_eq!(result.outcome, Outcome::RealTimeLimit);
    assert!(result.figures.real_time_ns >= 900_000_000, "{result:?}");
}
