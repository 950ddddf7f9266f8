//! Limits: memory, processes, CPU bandwidth, real time, CPU time.

use crate::{builder, supervisor};
use millibox::{Backend, BackendChoice, Error, Outcome, Request, RequestError, Step, World};
use millibox_tests::{
    SPAWNER, eventually, has_cgroups_or_skips, process_name, processes_with_argument, request,
    result, run, run_probe, start, start_sleeper, token, wait,
};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

// --- memory ----------------------------------------------------------------------------

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

/// Cgroups with one name in each hierarchy, as parents of a supervisor's cgroups. `drop` removes
/// them.
pub struct ParentCgroup(pub String, Vec<std::path::PathBuf>);

impl ParentCgroup {
    /// Creates them at the top of each version 1 hierarchy, or of the unified one.
    pub fn create(backend: Backend) -> ParentCgroup {
        let name = format!("/parent-{}", token());
        let tops: &[&str] = match backend {
            Backend::Hybrid => &["memory/", "pids/", "cpu/", "cpuacct/"],
            _ => &[""],
        };
        let made = tops
            .iter()
            .map(|top| format!("/sys/fs/cgroup/{top}{}", &name[1..]).into());
        let made: Vec<std::path::PathBuf> = made.collect();
        if backend == Backend::Cgroup2 {
            std::fs::write(
                "/sys/fs/cgroup/cgroup.subtree_control",
                "+memory +pids +cpu",
            )
            .expect("controllers");
        }
        made.iter()
            .for_each(|path| std::fs::create_dir_all(path).expect("a cgroup"));
        ParentCgroup(name, made)
    }
}

impl Drop for ParentCgroup {
    fn drop(&mut self) {
        for path in &self.1 {
            let _ = std::fs::remove_dir(path);
        }
    }
}

#[test]
fn memory_limit_of_parent_cgroup_is_not_reported_as_the_runs() {
    if !millibox_tests::is_root() {
        return millibox_tests::skip("only root can limit the parent cgroup");
    }
    let backend = supervisor().backend();
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
    assert_eq!(supervisor.backend(), backend);
    for limit in [Some(512 * MIB), None] {
        let mut greedy = request(["eat", "300"]);
        if let Some(limit) = limit {
            greedy = greedy.memory_limit(limit);
        }
        let result = result(&supervisor, &greedy);
        match &result.outcome {
            Outcome::SandboxError(_) => {}
            // A run without its own limit that the kernel kills is reported as killed by a signal.
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
    if rustix::fs::statfs(shared).map_or(true, |its| its.f_type != 0x0102_1994) {
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
    // The file may also be removed while the next run runs.
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

/// The kernel frees the memory of a run's IPC objects some time later, while the next run runs.
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
    // More memory takes the kernel longer to free. The machine must have room for it twice.
    let left = (kib / 1024 / 4).min(1000);
    let leave = probe(&["charge", "shm", &left.to_string()]).memory_limit((left + 30) * MIB);
    let leave = || {
        let left = result(&supervisor, &leave);
        assert_eq!(left.outcome, Outcome::Exited(0), "{left}");
    };
    for sleeps in ["0", "100", "400"] {
        leave();
        // The kernel may not have freed anything when the first of these runs.
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
            // The peak also includes some of the program's file, which may have to be read again.
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
    // The run is over even if the kernel kills a child and the first process lives.
    let directory = millibox_tests::directory();
    let world = World::minimal().read_only(millibox_tests::copy_probe(directory.path()), "/probe");
    let shell = Request::new("/bin/sh")
        .args(["-c", "/probe eat 200; exit 0"])
        .world(&world)
        .memory_limit(32 * MIB);
    assert_eq!(result(&supervisor, &shell).outcome, Outcome::MemoryLimit);
}

#[test]
fn memory_limit_below_need_of_exec_ends_run() {
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
        // The kernel may have killed the runner, if that was the largest process.
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
fn limits_do_not_outlive_their_run() {
    let supervisor = start(builder().slots(1));
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    for _ in 0..3 {
        assert_eq!(
            result(&supervisor, &request(["eat", "50"]).memory_limit(16 * MIB)).outcome,
            Outcome::MemoryLimit
        );
        assert_eq!(
            result(&supervisor, &request(["eat", "50"])).outcome,
            Outcome::Exited(0)
        );
        assert_eq!(
            run(&supervisor, &request(["forks", "5"]).process_limit(2)).number("errno"),
            i64::from(libc::EAGAIN)
        );
        assert_eq!(run_probe(&supervisor, &["forks", "5"]).number("reached"), 6);
        let slow = request(["spin", "60"])
            .cpu_bandwidth(Duration::from_millis(1), Duration::from_millis(10));
        assert!(result(&supervisor, &slow).figures.real_time_ns > 500_000_000);
        // Without the limit, 60 ms of work take less than the 590 ms that they take with it. A busy
        // machine may be slower at times, but not in 50 attempts.
        let real = || {
            result(&supervisor, &request(["spin", "60"]))
                .figures
                .real_time_ns
        };
        assert!((0..50).any(|_| real() < 500_000_000));
        let nofile = request(["descriptors", "100"]).rlimit("NOFILE", 10);
        assert_eq!(run(&supervisor, &nofile).number("opened"), 7);
        assert_eq!(
            run_probe(&supervisor, &["descriptors", "100"]).number("opened"),
            100
        );
    }
}

#[test]
fn memory_kill_does_not_affect_the_next_run() {
    let supervisor = start(builder().slots(1));
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // Every runner of the slot has a run that is killed. Later runs that do not reach their exec
    // then find the old counters.
    for _ in 0..6 {
        let over = result(&supervisor, &request(["eat", "200"]).memory_limit(32 * MIB));
        assert_eq!(over.outcome, Outcome::MemoryLimit, "{over}");
    }
    for round in 0..6 {
        let nowhere = request(["exit", "0"]).current_dir("/nowhere");
        for request in [nowhere.clone(), nowhere.memory_limit(2 * MIB)] {
            let result = result(&supervisor, &request);
            assert!(
                matches!(&result.outcome, Outcome::NotStarted(error) if error.errno == Some(libc::ENOENT)),
                "{round}: {result}"
            );
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

// --- processes -------------------------------------------------------------------------

#[test]
fn process_limit_applies_to_processes_and_threads() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    for limit in [1, 2, 3, 10, 50] {
        for command in ["forks", "threads"] {
            let output = run(&supervisor, &request([command, "100"]).process_limit(limit));
            assert_eq!(
                output.result.outcome,
                Outcome::Exited(0),
                "{command}, {limit}: {}",
                output.result
            );
            assert_eq!(
                (output.number("reached"), output.number("errno")),
                (i64::from(limit), i64::from(libc::EAGAIN))
            );
            if let Some(peak) = output.result.figures.peak_processes {
                // The kernel also counts the attempt that it rejects.
                assert!(
                    (limit..=limit + 1).contains(&peak),
                    "{command}, {limit}: {peak}"
                );
            }
        }
    }
}

#[test]
fn run_without_process_limit_has_the_default_limit() {
    let default = i64::from(Request::DEFAULT_PROCESS_LIMIT);
    // The weaker backend accepts limits only if the caller chooses it by name.
    let (chosen, named) = (
        supervisor(),
        start(builder().backend(BackendChoice::Rlimit)),
    );
    let accepts_limits = chosen.backend() != Backend::Rlimit;
    for (supervisor, accepts_limits) in [(chosen, accepts_limits), (named, true)] {
        for command in ["forks", "threads"] {
            let output = run(&supervisor, &request([command, "2000"]));
            assert_eq!(
                output.result.outcome,
                Outcome::Exited(0),
                "{command}: {}",
                output.result
            );
            assert_eq!(
                (output.number("reached"), output.number("errno")),
                (default, i64::from(libc::EAGAIN))
            );
        }
        if accepts_limits {
            let more = request(["threads", "600"]).process_limit(1000);
            assert_eq!(run(&supervisor, &more).number("reached"), 601);
        }
    }
}

#[test]
fn fork_bomb_is_limited_and_killed() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let token = token();
    let bomb = request(["forkbomb", &token])
        .process_limit(30)
        .memory_limit(256 * MIB);
    let handle = supervisor.run(&bomb).unwrap();
    assert!(eventually(
        Duration::from_secs(20),
        || processes_with_argument(&token).len() == 30
    ));
    let most = (0..20).map(|_| processes_with_argument(&token).len()).max();
    assert_eq!(most, Some(30));
    // Other runs continue.
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
    handle.kill();
    assert_eq!(wait(&handle).outcome, Outcome::Killed);
    assert!(eventually(Duration::from_secs(5), || {
        processes_with_argument(&token).is_empty()
    }));
    let timed = result(
        &supervisor,
        &bomb.real_time_limit(Duration::from_millis(300)),
    );
    assert_eq!(timed.outcome, Outcome::RealTimeLimit);
    assert!(eventually(Duration::from_secs(5), || {
        processes_with_argument(&token).is_empty()
    }));
}

// --- CPU bandwidth ---------------------------------------------------------------------

#[test]
fn cpu_bandwidth_slows_the_run() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // Half a CPU: 10 ms of work take at least nine periods of 2 ms, minus up to one period at each
    // end.
    let half =
        request(["spin", "10"]).cpu_bandwidth(Duration::from_millis(1), Duration::from_millis(2));
    let figures = result(&supervisor, &half).figures;
    assert!(figures.real_time_ns >= 17_500_000, "{figures:?}");
    assert!(
        figures.cpu_user_ns + figures.cpu_system_ns >= 10_000_000,
        "{figures:?}"
    );
    // The bandwidth applies to all processes together.
    let tree = request(["spin-tree", "4", "10"])
        .cpu_bandwidth(Duration::from_millis(2), Duration::from_millis(10));
    let figures = result(&supervisor, &tree).figures;
    assert!(figures.real_time_ns >= 150_000_000, "{figures:?}");
}

/// The kernel stops a process that has used up its quota only when its system call ends. A long
/// call leaves a debt, and no process of the cgroup runs until the debt is paid.
#[test]
fn cpu_bandwidth_debt_ends_with_the_run() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // The quota must suffice for the part before the long call on every machine.
    let bandwidth =
        |request: Request| request.cpu_bandwidth(Duration::from_millis(20), Duration::from_secs(1));
    let begin = Instant::now();
    let owes = bandwidth(request(["long-call", "400"])).memory_limit(64 * MIB);
    let over = result(
        &supervisor,
        &owes.real_time_limit(Duration::from_millis(600)),
    );
    assert_eq!(over.outcome, Outcome::RealTimeLimit, "{:?}", over.figures);
    // The debt is about half a minute.
    assert!(
        begin.elapsed() < Duration::from_secs(15),
        "{:?} {:?}",
        begin.elapsed(),
        over.figures
    );
    // The next run has its full quota from the start, and no more.
    let quick = result(
        &supervisor,
        &bandwidth(request(["exit", "0"])).real_time_limit(Duration::from_secs(60)),
    );
    assert_eq!(quick.outcome, Outcome::Exited(0), "{:?}", quick.figures);
    assert!(
        result(&supervisor, &bandwidth(request(["spin", "70"])))
            .figures
            .real_time_ns
            > 1_500_000_000
    );
}

// --- real time -------------------------------------------------------------------------

#[test]
fn real_time_limit_ends_run() {
    let supervisor = supervisor();
    let least = result(
        &supervisor,
        &request(["sleep", "100"]).real_time_limit(Duration::from_nanos(1)),
    );
    assert_eq!(least.outcome, Outcome::RealTimeLimit);
    for millis in [10, 50, 200] {
        let begin = Instant::now();
        let over = result(
            &supervisor,
            &request(["sleep", "60000"]).real_time_limit(Duration::from_millis(millis)),
        );
        assert_eq!(over.outcome, Outcome::RealTimeLimit);
        assert!(
            over.figures.real_time_ns >= millis * 1_000_000,
            "{:?}",
            over.figures
        );
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
    let under = result(
        &supervisor,
        &request(["sleep", "20"]).real_time_limit(Duration::from_secs(60)),
    );
    assert_eq!(under.outcome, Outcome::Exited(0));
    // Signal handlers do not help: this shell ignores all signals that can be ignored.
    let ignoring =
        Request::new("/bin/sh").args(["-c", "trap '' HUP INT TERM XCPU ALRM; while :; do :; done"]);
    let over = result(
        &supervisor,
        &ignoring.real_time_limit(Duration::from_millis(50)),
    );
    assert_eq!(over.outcome, Outcome::RealTimeLimit);
}

#[test]
fn real_time_limit_does_not_affect_other_runs() {
    let supervisor = supervisor();
    let (neighbour, _read) = start_sleeper(&supervisor, &[]);
    for _ in 0..5 {
        let over = result(
            &supervisor,
            &request(["sleep", "60000"]).real_time_limit(Duration::from_millis(5)),
        );
        assert_eq!(over.outcome, Outcome::RealTimeLimit);
    }
    assert!(neighbour.try_wait().unwrap().is_none());
}

#[test]
fn real_time_limit_does_not_include_queueing() {
    let supervisor = start(builder().slots(1));
    let first = supervisor.run(&request(["sleep", "2000"])).unwrap();
    let second = supervisor
        .run(&request(["sleep", "10"]).real_time_limit(Duration::from_millis(1500)))
        .unwrap();
    let second = wait(&second);
    assert_eq!(
        second.outcome,
        Outcome::Exited(0),
        "{second} {:?}",
        second.figures
    );
    assert!(second.figures.real_time_ns < 1_500_000_000);
    drop(first);
}

// --- CPU time --------------------------------------------------------------------------

#[test]
fn cpu_time_limit_ends_run() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let limit = Duration::from_millis(60);
    let least = result(
        &supervisor,
        &request(["exit", "0"]).cpu_time_limit(Duration::from_nanos(1)),
    );
    assert_eq!(least.outcome, Outcome::CpuTimeLimit);
    for command in [
        &["spin", "60000"][..],
        &["spin-threads", "4", "60000"],
        &["spin-tree", "4", "60000"],
        &["spin-unwaited", "3", "60000"],
        &["forkbomb"],
    ] {
        let request = request(command.iter().copied())
            .cpu_time_limit(limit)
            .process_limit(20);
        let over = result(&supervisor, &request);
        assert_eq!(over.outcome, Outcome::CpuTimeLimit, "{command:?}: {over}");
        let used = over.figures.cpu_user_ns + over.figures.cpu_system_ns;
        assert!(used >= 60_000_000, "{command:?}: {:?}", over.figures);
        assert!(used < 2_000_000_000, "{command:?}: {:?}", over.figures);
    }
    // Many short processes, each of which stays below the limit.
    let many = result(
        &supervisor,
        &request(["spin-tree", "50", "5"])
            .cpu_time_limit(limit)
            .process_limit(60),
    );
    assert_eq!(many.outcome, Outcome::CpuTimeLimit);
    // Sleeping uses no CPU time.
    let sleeps = result(
        &supervisor,
        &request(["sleep", "1500"]).cpu_time_limit(Duration::from_secs(1)),
    );
    assert_eq!(sleeps.outcome, Outcome::Exited(0), "{:?}", sleeps.figures);
    let under = result(
        &supervisor,
        &request(["spin", "20"]).cpu_time_limit(Duration::from_secs(5)),
    );
    assert_eq!(under.outcome, Outcome::Exited(0));
}

#[test]
fn outcome_names_the_exceeded_limit() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let all = |command: &[&str]| {
        request(command.iter().copied())
            .memory_limit(32 * MIB)
            .process_limit(10)
            .cpu_time_limit(Duration::from_secs(1))
            .real_time_limit(Duration::from_secs(4))
    };
    assert_eq!(
        result(&supervisor, &all(&["sleep", "60000"])).outcome,
        Outcome::RealTimeLimit
    );
    assert_eq!(
        result(&supervisor, &all(&["spin", "60000"])).outcome,
        Outcome::CpuTimeLimit
    );
    // The kernel tries to reclaim memory before it kills, which takes about a second on a slow
    // machine.
    let eats = all(&["eat", "40"])
        .cpu_time_limit(Duration::from_secs(15))
        .real_time_limit(Duration::from_secs(50));
    assert_eq!(result(&supervisor, &eats).outcome, Outcome::MemoryLimit);
    assert_eq!(
        result(&supervisor, &all(&["exit", "0"])).outcome,
        Outcome::Exited(0)
    );
    // A program that kills itself has not exceeded a limit.
    assert_eq!(
        result(&supervisor, &all(&["signal", "9"])).outcome,
        Outcome::Signaled(9)
    );
    assert_eq!(
        result(&supervisor, &all(&["signal", "24"])).outcome,
        Outcome::Signaled(24),
        "SIGXCPU sent by the program itself"
    );
}

// --- without cgroups -------------------------------------------------------------------

#[test]
fn weaker_backend_is_used_only_if_requested() {
    let automatic = supervisor();
    if automatic.backend() == Backend::Rlimit {
        for request in [
            request(["exit", "0"]).memory_limit(32 * MIB),
            request(["exit", "0"]).process_limit(3),
            request(["exit", "0"]).cpu_time_limit(Duration::from_secs(1)),
            request(["exit", "0"])
                .cpu_bandwidth(Duration::from_millis(10), Duration::from_millis(20)),
        ] {
            assert!(matches!(
                automatic.run(&request),
                Err(Error::Request(RequestError::NeedsCgroup { .. }))
            ));
        }
        assert!(!automatic.declined().is_empty());
        let chosen = builder().backend(BackendChoice::Hybrid).start();
        assert!(matches!(chosen, Err(Error::Start(why)) if why.contains("hybrid")));
    }
    let chosen = builder().backend(BackendChoice::Cgroup2).start();
    if automatic.backend() != Backend::Cgroup2 {
        assert!(matches!(chosen, Err(Error::Start(why)) if why.contains("cgroup2")));
    }
}

#[test]
fn rlimit_backend_enforces_its_limits() {
    let supervisor = start(builder().backend(BackendChoice::Rlimit));
    assert_eq!(supervisor.backend(), Backend::Rlimit);
    assert_eq!(supervisor.cgroups().count(), 0);
    let memory = run(&supervisor, &request(["map", "200"]).memory_limit(64 * MIB));
    assert_eq!(
        memory.number("errno"),
        i64::from(libc::ENOMEM),
        "{}",
        memory.result
    );
    assert_eq!(
        run(&supervisor, &request(["map", "20"]).memory_limit(64 * MIB)).number("errno"),
        0
    );
    for limit in [1, 2, 10] {
        let output = run(&supervisor, &request(["forks", "50"]).process_limit(limit));
        assert_eq!(
            (output.number("reached"), output.number("errno")),
            (i64::from(limit), i64::from(libc::EAGAIN))
        );
    }
    // Two runs at the same time have a limit each.
    let both: Vec<_> = (0..2)
        .map(|_| {
            supervisor
                .run(&request(["forks", "30"]).process_limit(40))
                .unwrap()
        })
        .collect();
    assert!(
        both.iter()
            .all(|handle| wait(handle).outcome == Outcome::Exited(0))
    );
    for command in [&["spin", "60000"][..], &["spin-tree", "3", "60000"]] {
        let request = request(command.iter().copied()).cpu_time_limit(Duration::from_millis(60));
        let over = result(&supervisor, &request);
        assert_eq!(over.outcome, Outcome::CpuTimeLimit, "{command:?}: {over}");
    }
    // The result has the CPU time that was measured when the limit was reached, although processes
    // end before the next measurement.
    for _ in 0..100 {
        let request = request(["spin-relays", "4", "2"]).cpu_time_limit(Duration::from_millis(20));
        let over = result(&supervisor, &request);
        let used = over.figures.cpu_user_ns + over.figures.cpu_system_ns;
        assert!(
            over.outcome == Outcome::CpuTimeLimit && used >= 20_000_000,
            "{over}: {:?}",
            over.figures
        );
    }
    let bandwidth =
        request(["exit", "0"]).cpu_bandwidth(Duration::from_millis(1), Duration::from_millis(2));
    let rejected = result(&supervisor, &bandwidth);
    assert!(
        matches!(&rejected.outcome, Outcome::NotStarted(error) if error.step == Step::CpuBandwidth),
        "{rejected}"
    );
    let real = result(
        &supervisor,
        &request(["sleep", "60000"]).real_time_limit(Duration::from_millis(10)),
    );
    assert_eq!(real.outcome, Outcome::RealTimeLimit);
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
}

/// The supervisor gives the run to another target, and its clock starts there.
#[test]
fn run_not_received_by_stopped_target_runs_in_another() {
    let supervisor = millibox_tests::start(builder().slots(1).runners_per_slot(1));
    run_probe(&supervisor, &["exit", "0"]);
    // The prepared target, which waits for its launch, is the process without children. The test
    // stops it.
    let prepared = || {
        let all = millibox_tests::descendants(supervisor.pid());
        let is_leaf =
            |one: &&millibox_tests::Process| all.iter().all(|other| other.parent != one.pid);
        let leaf = all
            .iter()
            .filter(is_leaf)
            .find(|one| process_name(one.pid) != SPAWNER)?
            .pid;
        // Supervisor, spawner, runner, zygote, pid1 and target: all must exist.
        (all.len() >= 6).then_some(leaf)
    };
    assert!(millibox_tests::eventually(Duration::from_secs(5), || {
        prepared().is_some()
    }));
    std::thread::sleep(Duration::from_millis(100));
    let target = rustix::process::Pid::from_raw(prepared().unwrap()).unwrap();
    rustix::process::kill_process(target, rustix::process::Signal::STOP).unwrap();
    let run = supervisor
        .run(&request(["exit", "0"]).real_time_limit(Duration::from_secs(2)))
        .unwrap();
    let result = wait(&run);
    assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
    run_probe(&supervisor, &["exit", "0"]);
}
