//! The figures, which are the resources that a result reports.

use crate::{builder, supervisor};
use millibox::{Figures, Outcome, Request};
use millibox_tests::{
    HANG_TIMEOUT, eventually, has_cgroups_or_skips, kill, process, programs, request, result, run,
    run_probe, start, wait,
};
use rustix::process::Signal;
use std::time::Duration;

const MIB: u64 = 1 << 20;

fn cpu_ns(figures: &Figures) -> u64 {
    figures.cpu_user_ns + figures.cpu_system_ns
}

#[test]
fn real_time_includes_sleep() {
    let supervisor = supervisor();
    for millis in [1, 20, 150] {
        let figures = run_probe(&supervisor, &["sleep", &millis.to_string()])
            .result
            .figures;
        assert!(figures.real_time_ns >= millis * 1_000_000, "{figures:?}");
        assert!(figures.real_time_ns < 20_000_000_000, "{figures:?}");
    }
}

#[test]
fn cpu_time_is_at_least_the_programs_own_measurement() {
    let supervisor = supervisor();
    for millis in ["1", "10", "60"] {
        let output = run_probe(&supervisor, &["spin", millis]);
        // A figure from rusage has a resolution of one microsecond.
        let figures = output.result.figures;
        assert!(
            cpu_ns(&figures) + 1000 >= output.number("own") as u64,
            "{figures:?} {}",
            output.text()
        );
        // One thread cannot use more than one CPU. pid1 itself needs part of a millisecond, or
        // several milliseconds on a slow machine.
        let max = figures.real_time_ns + figures.real_time_ns / 10 + 2_000_000;
        assert!(cpu_ns(&figures) <= max, "{figures:?}");
    }
}

#[test]
fn cpu_time_is_the_sum_of_the_tree() {
    let supervisor = supervisor();
    let figures = run_probe(&supervisor, &["spin-tree", "6", "20"])
        .result
        .figures;
    assert!(cpu_ns(&figures) >= 120_000_000, "{figures:?}");
    assert!(cpu_ns(&figures) < 1_000_000_000, "{figures:?}");
    let output = run_probe(&supervisor, &["spin-threads", "3", "20"]);
    assert!(cpu_ns(&output.result.figures) + 1000 >= output.number("own") as u64);
    assert!(cpu_ns(&output.result.figures) >= 60_000_000);
}

#[test]
fn cpu_time_includes_children_without_wait() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let figures = run_probe(&supervisor, &["spin-unwaited", "4", "20"])
        .result
        .figures;
    assert!(cpu_ns(&figures) >= 80_000_000, "{figures:?}");
}

#[test]
fn cpu_time_excludes_earlier_runs() {
    let supervisor = start(builder().slots(1));
    for _ in 0..3 {
        run_probe(&supervisor, &["spin", "1500"]);
        let figures = run_probe(&supervisor, &["exit", "0"]).result.figures;
        assert!(cpu_ns(&figures) < 1_200_000_000, "{figures:?}");
    }
}

#[test]
fn user_and_system_time_are_distinguished() {
    let supervisor = supervisor();
    let shell = |script: &str| {
        let figures = run(&supervisor, &Request::new("/bin/sh").args(["-c", script]))
            .result
            .figures;
        (figures.cpu_user_ns, figures.cpu_system_ns)
    };
    let (user, system) = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
    assert!(user > system, "{user} {system}");
    // dd copies zeros, so it spends its time in the kernel.
    let (user, system) = shell("dd if=/dev/zero of=/dev/null bs=1M count=2000 2>/dev/null");
    assert!(system > user, "{user} {system}");
}

/// No process waits for the processes of a killed pid1.
#[test]
fn user_and_system_time_of_ended_run_are_distinguished() {
    let supervisor = supervisor();
    let ended = |script: &str, milliseconds| {
        let request = Request::new("/bin/sh")
            .args(["-c", script])
            .real_time_limit(Duration::from_millis(milliseconds));
        let result = run(&supervisor, &request).result;
        assert_eq!(result.outcome, Outcome::RealTimeLimit);
        (result.figures.cpu_user_ns, result.figures.cpu_system_ns)
    };
    // On a busy emulated machine, the start of the program may need most of the time.
    let (mut user, mut kernel) = ((0, 0), (0, 0));
    for milliseconds in [700, 3000, 10_000] {
        user = ended("while :; do :; done", milliseconds);
        // The child spends its time in the kernel.
        kernel = ended("dd if=/dev/zero of=/dev/null bs=1M; exit 1", milliseconds);
        if user.0 > user.1 && kernel.1 > kernel.0 {
            return;
        }
    }
    panic!("user and system time: {user:?} of a loop, {kernel:?} of a copy");
}

/// Memory that the kernel charged in advance for a CPU (64 pages each), or has yet to free, is not
/// counted as the run's. The run may still have received such memory.
const PRECHARGED_BYTES: u64 = 2 * MIB;

#[test]
fn peak_memory_is_the_touched_memory() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let peak = |mib: u64| {
        let output = run_probe(&supervisor, &["eat", &mib.to_string()]);
        output.result.figures.peak_memory_bytes
    };
    for round in 0..3 {
        let base = peak(0);
        assert!(base < 3 * MIB, "{base}");
        for mib in [33, 100] {
            let peak = peak(mib);
            assert!(
                peak + PRECHARGED_BYTES >= mib * MIB,
                "round {round}: {peak} for {mib} MiB"
            );
            assert!(
                peak <= (mib + 2) * MIB + base,
                "round {round}: {peak} for {mib} MiB over {base}"
            );
        }
    }
}

/// The kernel reports the peak to the process that waits. No process waits for those that are
/// killed with their pid1.
#[test]
fn peak_memory_of_ended_run_without_cgroups_is_reported() {
    let supervisor = start(builder().backend(millibox::BackendChoice::Rlimit));
    // Test the first process and one of its children.
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
    let by_itself = run_probe(&supervisor, &["eat", "50"])
        .result
        .figures
        .peak_memory_bytes;
    assert!((50 * MIB..54 * MIB).contains(&by_itself), "{by_itself}");
}

#[test]
fn peak_memory_is_the_sum_of_the_tree() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let peak = run_probe(&supervisor, &["map-fork-eat", "80"])
        .result
        .figures
        .peak_memory_bytes;
    assert!(
        (80 * MIB - PRECHARGED_BYTES..86 * MIB).contains(&peak),
        "{peak}"
    );
}

#[test]
fn peak_memory_of_empty_program_is_small() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // The first runs load the program into the page cache.
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
    // The program needs half a megabyte of its own. On a busy machine, the memory that the kernel
    // has charged in advance for each CPU is added.
    assert!(
        peaks.iter().all(|peak| *peak < PRECHARGED_BYTES),
        "{peaks:?}"
    );
}

#[test]
fn peak_memory_excludes_earlier_runs() {
    let supervisor = start(builder().slots(1));
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    run_probe(&supervisor, &["exit", "0"]);
    // Memory of tmpfs, shared memory and page cache may outlive a run.
    for before in [
        &["eat", "100"][..],
        &["charge", "tmp", "64"],
        &["charge", "shm", "64"],
        &["charge", "memfd", "64"],
        &["charge", "pipes", "8"],
    ] {
        for _ in 0..3 {
            run_probe(&supervisor, before);
            let peak = run_probe(&supervisor, &["exit", "0"])
                .result
                .figures
                .peak_memory_bytes;
            assert!(peak < 3 * MIB, "{peak} after {before:?}");
        }
    }
}

#[test]
fn peak_memory_includes_kernel_memory() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    for what in ["tmp", "shm", "memfd"] {
        let peak = run_probe(&supervisor, &["charge", what, "20"])
            .result
            .figures
            .peak_memory_bytes;
        assert!(
            (20 * MIB - PRECHARGED_BYTES..25 * MIB).contains(&peak),
            "{what}: {peak}"
        );
    }
    for what in ["pipes", "sockets"] {
        let output = run_probe(&supervisor, &["charge", what, "8"]);
        let (filled, peak) = (
            output.number("filled") as u64,
            output.result.figures.peak_memory_bytes,
        );
        assert!(filled >= 4 * MIB, "{what}: {filled}");
        assert!(
            peak + PRECHARGED_BYTES >= filled,
            "{what}: {peak} of {filled}"
        );
    }
}

#[test]
fn peak_memory_includes_page_cache_of_written_files() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // The file is on the host's file system, whose type does not matter.
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
    assert!(peak + PRECHARGED_BYTES >= 20 * MIB, "{peak}");
}

#[test]
fn peak_processes_is_the_largest_number() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    for round in 0..3 {
        for (command, count, expected) in [
            ("exit", "0", 1),
            ("forks", "7", 8),
            ("threads", "12", 13),
            ("exit", "0", 1),
        ] {
            let figures = run_probe(&supervisor, &[command, count]).result.figures;
            // `None` on kernels before 6.1.
            if let Some(peak) = figures.peak_processes {
                assert_eq!(peak, expected, "round {round}: {command} {count}");
            }
        }
    }
}

#[test]
fn run_that_did_not_start_has_no_real_time() {
    let supervisor = supervisor();
    let result = result(&supervisor, &Request::new("/missing"));
    assert!(matches!(result.outcome, Outcome::NotStarted(_)));
    assert!(
        result.figures.real_time_ns < 1_000_000_000,
        "{:?}",
        result.figures
    );
}

/// A killed process may remain in the kernel for a while. No known call causes this on every
/// machine, so the test delays the zygote, which detects the end.
#[test]
fn real_time_of_ended_run_lasts_until_its_last_process_is_gone() {
    let supervisor = supervisor();
    // The test has this time to find the process, also on a busy machine.
    let limit = Duration::from_secs(1);
    let run = supervisor
        .run(&request(["sleep", "100000"]).real_time_limit(limit))
        .unwrap();
    let mut target = None;
    assert!(eventually(HANG_TIMEOUT, || {
        target = programs(&supervisor).pop();
        target.is_some()
    }));
    let target = target.expect("the program");
    let zygote = process(target.parent).expect("pid1").parent;
    kill(zygote, Signal::STOP);
    std::thread::sleep(Duration::from_millis(1700));
    kill(zygote, Signal::CONT);
    let result = wait(&run);
    assert_eq!(result.outcome, Outcome::RealTimeLimit);
    assert!(result.figures.real_time_ns >= 1_600_000_000, "{result:?}");
}
