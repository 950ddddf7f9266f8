//! Memory limits.

use super::{MIB, ParentCgroup};
use crate::{builder, supervisor};
use millibox::{Backend, Outcome, Request, Step, World};
use millibox_tests::{has_cgroups_or_skips, not_started, request, result, run, start, wait};

#[test]
fn memory_limit_ends_run_at_the_exact_limit() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    for limit in [16, 64] {
        let over = result(
            &supervisor,
            &request(["eat", "200"]).memory_limit(limit * MIB),
        );
        assert_eq!(over.outcome, Outcome::MemoryLimit, "{over}");
        assert!(
            over.figures.peak_memory_bytes <= limit * MIB,
            "{:?}",
            over.figures
        );
        assert!(
            over.figures.peak_memory_bytes > limit * MIB * 9 / 10,
            "{:?}",
            over.figures
        );
        // A run slightly below the limit succeeds.
        let under = result(
            &supervisor,
            &request(["eat", &(limit - 6).to_string()]).memory_limit(limit * MIB),
        );
        assert_eq!(under.outcome, Outcome::Exited(0), "{limit}: {under}");
    }
}

#[test]
fn memory_limit_of_parent_cgroup_is_not_reported_as_the_runs() {
    if !millibox_tests::is_root() {
        return millibox_tests::skip("only root can limit the parent cgroup");
    }
    let backend = supervisor().info().backend();
    if backend == Backend::Rlimit {
        return millibox_tests::skip("no cgroups are available");
    }
    let parent = ParentCgroup::create(backend);
    let limit = parent.1[0].join(if backend == Backend::Hybrid {
        "memory.limit_in_bytes"
    } else {
        "memory.max"
    });
    std::fs::write(&limit, (96 * MIB).to_string()).expect("a limit");
    if backend == Backend::Hybrid {
        // A version 1 cgroup accounts for its children only with use_hierarchy, the default since
        // 5.11.
        let _ = std::fs::write(parent.1[0].join("memory.use_hierarchy"), "1");
    }
    let supervisor = builder()
        .cgroup_parent(&parent.0)
        .start()
        .expect("a supervisor");
    assert_eq!(supervisor.info().backend(), backend);
    for limit in [Some(512 * MIB), None] {
        let mut greedy = request(["eat", "300"]);
        if let Some(limit) = limit {
            greedy = greedy.memory_limit(limit);
        }
        let result = result(&supervisor, &greedy);
        match &result.outcome {
            Outcome::SandboxError(_) => {}
            // If the kernel kills a run that has no limit of its own, the run is reported as killed
            // by a signal.
            Outcome::Signaled(libc::SIGKILL) if limit.is_none() => {}
            other => panic!("{limit:?}: {other:?}: {result}"),
        }
    }
    // The run's own limit still applies.
    let own = result(&supervisor, &request(["eat", "300"]).memory_limit(32 * MIB));
    assert_eq!(own.outcome, Outcome::MemoryLimit, "{own}");
    assert_eq!(
        result(&supervisor, &request(["exit", "0"]).memory_limit(32 * MIB)).outcome,
        Outcome::Exited(0)
    );
    drop(supervisor);
    drop(parent);
}

#[test]
fn files_left_in_memory_are_not_charged_to_next_run() {
    let shared = std::path::Path::new("/dev/shm");
    // TMPFS_MAGIC, statfs(2)
    if rustix::fs::statfs(shared).map_or(true, |file_system| file_system.f_type != 0x0102_1994) {
        return millibox_tests::skip("/dev/shm is not a tmpfs");
    }
    let supervisor = builder()
        .slots(1)
        .runners_per_slot(1)
        .start()
        .expect("a supervisor");
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let dir = tempfile::tempdir_in(shared).expect("a directory");
    millibox_tests::set_mode(dir.path(), 0o777);
    let world = World::minimal().read_write(dir.path(), "/out");
    let leave = Request::new("/bin/sh")
        .args(["-c", "head -c 100M /dev/zero > /out/file"])
        .world(&world);
    assert_eq!(result(&supervisor, &leave).outcome, Outcome::Exited(0));
    let check = |when: &str| {
        let small = result(&supervisor, &request(["eat", "24"]).memory_limit(32 * MIB));
        assert_eq!(small.outcome, Outcome::Exited(0), "{when}: {small}");
        let peak = small.figures.peak_memory_bytes;
        assert!((24 * MIB..28 * MIB).contains(&peak), "{when}: {peak}");
        let large = result(&supervisor, &request(["eat", "60"]).memory_limit(32 * MIB));
        assert_eq!(large.outcome, Outcome::MemoryLimit, "{when}: {large}");
    };
    for _ in 0..3 {
        check("while the file exists");
    }
    // The file may also be removed during the next run.
    let large = supervisor
        .run(&request(["sleep-eat", "200", "100"]).memory_limit(32 * MIB))
        .expect("a run");
    drop(dir);
    let large = wait(&large);
    assert_eq!(
        large.outcome,
        Outcome::MemoryLimit,
        "while the file is removed: {large}"
    );
    check("after the file is removed");
}

/// The kernel frees the memory of a run's IPC objects later, during the next run.
#[test]
fn shared_memory_left_is_not_charged_to_next_run() {
    // With one runner, the next run uses the same cgroup.
    let supervisor = builder()
        .slots(1)
        .runners_per_slot(1)
        .start()
        .expect("a supervisor");
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // This test has its own copy of the probe. Emptying the cgroup drops the cached pages of the
    // file, and other tests would have to read them again.
    let directory = millibox_tests::directory();
    let world = World::minimal().read_only(millibox_tests::copy_probe(directory.path()), "/probe");
    let probe = |arguments: &[&str]| Request::new("/probe").args(arguments).world(&world);
    let small = |arguments: &[&str]| result(&supervisor, &probe(arguments).memory_limit(64 * MIB));
    let memory = std::fs::read_to_string("/proc/meminfo").expect("meminfo");
    let kib = memory
        .split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .expect("MemTotal first");
    // The kernel takes longer to free more memory. The machine must have room for twice the amount.
    let left = (kib / 1024 / 4).min(1000);
    let leave = probe(&["charge", "shm", &left.to_string()]).memory_limit((left + 30) * MIB);
    let leave = || {
        let left = result(&supervisor, &leave);
        assert_eq!(left.outcome, Outcome::Exited(0), "{left}");
    };
    for sleeps in ["0", "100", "400"] {
        leave();
        // The kernel may not have freed any memory when the first of these runs starts.
        for time in 0..3 {
            let large = small(&["sleep-eat", sleeps, "256"]);
            assert_eq!(
                large.outcome,
                Outcome::MemoryLimit,
                "{sleeps}, {time}: {large}"
            );
        }
        leave();
        for time in 0..3 {
            let fits = small(&["sleep-eat", sleeps, "24"]);
            assert_eq!(fits.outcome, Outcome::Exited(0), "{sleeps}, {time}: {fits}");
            let peak = fits.figures.peak_memory_bytes;
            // The peak also includes part of the program's file, which may have to be read again.
            assert!(
                (23 * MIB..40 * MIB).contains(&peak),
                "{sleeps}, {time}: {peak}"
            );
        }
    }
}

#[test]
fn memory_limit_applies_to_the_whole_tree() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let halves = request(["map-fork-eat", "80"]);
    assert_eq!(
        result(&supervisor, &halves.clone().memory_limit(64 * MIB)).outcome,
        Outcome::MemoryLimit
    );
    assert_eq!(
        result(&supervisor, &halves.memory_limit(120 * MIB)).outcome,
        Outcome::Exited(0)
    );
}

#[test]
fn child_killed_for_memory_ends_run_with_memory_limit() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // The run ends even if the kernel kills a child and the first process is still alive.
    let directory = millibox_tests::directory();
    let world = World::minimal().read_only(millibox_tests::copy_probe(directory.path()), "/probe");
    let shell = Request::new("/bin/sh")
        .args(["-c", "/probe eat 200; exit 0"])
        .world(&world)
        .memory_limit(32 * MIB);
    assert_eq!(result(&supervisor, &shell).outcome, Outcome::MemoryLimit);
}

#[test]
fn memory_limit_too_small_for_exec_ends_run() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    for limit in [1, 4096, 65536, 200_000] {
        let result = result(&supervisor, &request(["exit", "0"]).memory_limit(limit));
        assert_eq!(result.outcome, Outcome::MemoryLimit, "{limit}: {result}");
        let next = self::result(&supervisor, &request(["exit", "0"]).memory_limit(32 * MIB));
        assert_eq!(next.outcome, Outcome::Exited(0), "after {limit}: {next}");
        let free = self::result(&supervisor, &request(["eat", "60"]));
        assert_eq!(free.outcome, Outcome::Exited(0), "after {limit}: {free}");
    }
}

#[test]
fn untouched_mapping_is_not_charged() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let output = run(
        &supervisor,
        &request(["map", "4096"]).memory_limit(16 * MIB),
    );
    assert_eq!(
        (&output.result.outcome, output.number("errno")),
        (&Outcome::Exited(0), 0),
        "{}",
        output.result
    );
    assert!(output.result.figures.peak_memory_bytes < 4 * MIB);
}

#[test]
fn kernel_memory_is_charged() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    for what in ["tmp", "shm", "memfd"] {
        let over = result(
            &supervisor,
            &request(["charge", what, "48"]).memory_limit(24 * MIB),
        );
        assert_eq!(over.outcome, Outcome::MemoryLimit, "{what}: {over}");
        // The kernel may have killed the runner, if the runner was the largest process.
        assert!(
            over.figures.peak_memory_bytes > 20 * MIB,
            "{what}: {over} {:?}",
            over.figures
        );
        let under = result(
            &supervisor,
            &request(["charge", what, "8"]).memory_limit(24 * MIB),
        );
        assert_eq!(under.outcome, Outcome::Exited(0), "{what}: {under}");
    }
}

#[test]
fn memory_kill_does_not_affect_the_next_run() {
    let supervisor = start(builder().slots(1));
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // Every runner of the slot has a run that is killed. Later runs that do not reach their exec
    // would then find the old counters.
    for _ in 0..6 {
        let over = result(&supervisor, &request(["eat", "200"]).memory_limit(32 * MIB));
        assert_eq!(over.outcome, Outcome::MemoryLimit, "{over}");
    }
    for round in 0..6 {
        let nowhere = request(["exit", "0"]).current_dir("/nowhere");
        for request in [nowhere.clone(), nowhere.memory_limit(2 * MIB)] {
            let result = result(&supervisor, &request);
            let error = not_started(&result);
            assert_eq!(error.errno, Some(libc::ENOENT), "{round}: {result}");
        }
    }
}

#[test]
fn swap_limit_is_applied_or_rejected() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let result = result(
        &supervisor,
        &request(["exit", "0"])
            .memory_limit(32 * MIB)
            .swap_limit(16 * MIB),
    );
    match &result.outcome {
        Outcome::Exited(0) => {}
        Outcome::NotStarted(error) => {
            assert_eq!(
                (error.step, error.errno),
                (Step::SwapLimit, Some(libc::EOPNOTSUPP))
            )
        }
        _ => panic!("{result}"),
    }
}
