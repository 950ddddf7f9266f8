//! Limits: memory, processes, CPU bandwidth, real time, CPU time.

use crate::{builder, supervisor};
use millibox::{
    Backend, BackendChoice, Error, Outcome, Request, RequestError, StartError, Step,
    SupervisorStep, World,
};
use millibox_tests::{
    SPAWNER, eventually, name, needs_cgroups, probe_run, processes_that_say, request, result, run,
    sleeper, start, token, wait,
};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

// --- memory ----------------------------------------------------------------------------

#[test]
fn memory_limit_by_the_kernels_account() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
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
        // Not a threshold: close below it is fine.
        let under = result(
            &supervisor,
            &request(["eat", &(limit - 6).to_string()]).memory_limit(limit * MIB),
        );
        assert_eq!(under.outcome, Outcome::Exited(0), "{limit}: {under}");
    }
}

/// Cgroups of ours, of one name in each hierarchy; removed in the end.
pub struct Above(pub String, Vec<std::path::PathBuf>);

impl Above {
    /// Below where version 1 hierarchies, or the unified one, are mounted.
    pub fn make(backend: Backend) -> Above {
        let name = format!("/above-{}", token());
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
        Above(name, made)
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        for path in &self.1 {
            let _ = std::fs::remove_dir(path);
        }
    }
}

#[test]
fn the_memory_of_a_cgroup_above_is_no_limit_of_the_run() {
    if !millibox_tests::is_root() {
        return millibox_tests::skip("only root can limit the cgroup above");
    }
    let backend = supervisor().info().backend();
    if backend == Backend::Rlimit {
        return millibox_tests::skip("there are no cgroups");
    }
    let above = Above::make(backend);
    let limit = above.1[0].join(if backend == Backend::Hybrid {
        "memory.limit_in_bytes"
    } else {
        "memory.max"
    });
    std::fs::write(&limit, (96 * MIB).to_string()).expect("a limit");
    if backend == Backend::Hybrid {
        // Version 1 cgroups do not account for those below them unless told to, which is the
        // default since 5.11.
        let _ = std::fs::write(above.1[0].join("memory.use_hierarchy"), "1");
    }
    let supervisor = builder()
        .cgroup_parent(&above.0)
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
            // Without a limit of its own a run that the kernel kills has been killed by a signal.
            Outcome::Signaled(libc::SIGKILL) if limit.is_none() => {}
            other => panic!("{limit:?}: {other:?}: {result}"),
        }
    }
    // Its own limit is still that.
    let own = result(&supervisor, &request(["eat", "300"]).memory_limit(32 * MIB));
    assert_eq!(own.outcome, Outcome::MemoryLimit, "{own}");
    assert_eq!(
        result(&supervisor, &request(["exit", "0"]).memory_limit(32 * MIB)).outcome,
        Outcome::Exited(0)
    );
    drop(supervisor);
    drop(above);
}

#[test]
fn files_that_a_run_leaves_in_memory_are_not_the_next_ones() {
    let shared = std::path::Path::new("/dev/shm");
    // TMPFS_MAGIC, statfs(2)
    if rustix::fs::statfs(shared).map_or(true, |its| its.f_type != 0x0102_1994) {
        return millibox_tests::skip("/dev/shm is no tmpfs");
    }
    let supervisor = builder()
        .slots(1)
        .runners_per_slot(1)
        .start()
        .expect("a supervisor");
    if !needs_cgroups(&supervisor) {
        return;
    }
    let place = tempfile::tempdir_in(shared).expect("a directory");
    millibox_tests::share(place.path(), 0o777);
    let world = World::minimal().read_write(place.path(), "/out");
    let leave = Request::new("/bin/sh")
        .args(["-c", "head -c 100M /dev/zero > /out/file"])
        .world(&world);
    assert_eq!(result(&supervisor, &leave).outcome, Outcome::Exited(0));
    let look = |when: &str| {
        let small = result(&supervisor, &request(["eat", "24"]).memory_limit(32 * MIB));
        assert_eq!(small.outcome, Outcome::Exited(0), "{when}: {small}");
        let peak = small.figures.peak_memory_bytes;
        assert!((24 * MIB..28 * MIB).contains(&peak), "{when}: {peak}");
        let large = result(&supervisor, &request(["eat", "60"]).memory_limit(32 * MIB));
        assert_eq!(large.outcome, Outcome::MemoryLimit, "{when}: {large}");
    };
    for _ in 0..3 {
        look("while the file is there");
    }
    // Whether it goes before the run or while it is on makes no difference.
    let large = supervisor
        .run(&request(["sleep-eat", "200", "100"]).memory_limit(32 * MIB))
        .expect("a run");
    drop(place);
    let large = wait(&large);
    assert_eq!(
        large.outcome,
        Outcome::MemoryLimit,
        "while it goes: {large}"
    );
    look("once it is gone");
}

/// What a run had in IPC objects the kernel frees when it comes to it, while the next run is on.
#[test]
fn shared_memory_that_a_run_leaves_is_no_room_for_the_next_ones() {
    // With one runner the next run is where the memory was.
    let supervisor = builder()
        .slots(1)
        .runners_per_slot(1)
        .start()
        .expect("a supervisor");
    if !needs_cgroups(&supervisor) {
        return;
    }
    // What is cached of its file goes when the cgroup is emptied, and would be other tests' to read
    // again.
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
    // The more the longer the kernel takes; but there must be room for two.
    let left = (kib / 1024 / 4).min(1000);
    let leave = probe(&["charge", "shm", &left.to_string()]).memory_limit((left + 30) * MIB);
    let leave = || {
        let left = result(&supervisor, &leave);
        assert_eq!(left.outcome, Outcome::Exited(0), "{left}");
    };
    for sleeps in ["0", "100", "400"] {
        leave();
        // Several, as the first one may come when nothing has been freed yet.
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
            // Beside it some of the program's file, which may have to be read anew.
            assert!(
                (23 * MIB..40 * MIB).contains(&peak),
                "{sleeps}, {time}: {peak}"
            );
        }
    }
}

#[test]
fn memory_of_a_tree_is_limited_as_one() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
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
fn a_killed_child_is_a_memory_limit() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    // The first process lives on, whoever the kernel chooses: the run is over.
    let directory = millibox_tests::directory();
    let world = World::minimal().read_only(millibox_tests::copy_probe(directory.path()), "/probe");
    let shell = Request::new("/bin/sh")
        .args(["-c", "/probe eat 200; exit 0"])
        .world(&world)
        .memory_limit(32 * MIB);
    assert_eq!(result(&supervisor, &shell).outcome, Outcome::MemoryLimit);
}

#[test]
fn memory_below_need_even_before_the_exec() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
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
fn an_untouched_mapping_is_not_counted() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
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
fn kernel_memory_is_limited_too() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    for what in ["tmp", "shm", "memfd"] {
        let over = result(
            &supervisor,
            &request(["charge", what, "48"]).memory_limit(24 * MIB),
        );
        assert_eq!(over.outcome, Outcome::MemoryLimit, "{what}: {over}");
        // Whoever the kernel has killed for it: of all that is there, the runner may have been the
        // largest.
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
fn a_limit_does_not_outlive_its_run() {
    let supervisor = start(builder().slots(1));
    if !needs_cgroups(&supervisor) {
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
        assert_eq!(probe_run(&supervisor, &["forks", "5"]).number("reached"), 6);
        let slow = request(["spin", "60"])
            .cpu_bandwidth(Duration::from_millis(1), Duration::from_millis(10));
        assert!(result(&supervisor, &slow).figures.real_time_ns > 500_000_000);
        // Without it, sixty milliseconds of work take less than the 590 that they would: on a busy
        // machine not always, but with a limit that stays, never.
        let real = || {
            result(&supervisor, &request(["spin", "60"]))
                .figures
                .real_time_ns
        };
        assert!((0..50).any(|_| real() < 500_000_000));
        let nofile = request(["descriptors", "100"]).rlimit("NOFILE", 10);
        assert_eq!(run(&supervisor, &nofile).number("opened"), 7);
        assert_eq!(
            probe_run(&supervisor, &["descriptors", "100"]).number("opened"),
            100
        );
    }
}

#[test]
fn who_is_killed_for_memory_says_nothing_of_the_next_run() {
    let supervisor = start(builder().slots(1));
    if !needs_cgroups(&supervisor) {
        return;
    }
    // Once in each of the slot's runners, and more: whose counters a run that does not come to its
    // exec finds.
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
fn swap_is_refused_or_held() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
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
fn process_limits() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
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
                // The kernel counts the attempt that it refuses, too.
                assert!(
                    (limit..=limit + 1).contains(&peak),
                    "{command}, {limit}: {peak}"
                );
            }
        }
    }
}

#[test]
fn run_without_process_limit_gets_the_default_one() {
    let default = i64::from(Request::DEFAULT_PROCESS_LIMIT);
    // A limit that is named needs a backend that is named, if that is the weaker one.
    let (chosen, named) = (
        supervisor(),
        start(builder().backend(BackendChoice::Rlimit)),
    );
    let accepts_limits = chosen.info().backend() != Backend::Rlimit;
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
fn a_fork_bomb_is_held_and_killed() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    let token = token();
    let bomb = request(["forkbomb", &token])
        .process_limit(30)
        .memory_limit(256 * MIB);
    let handle = supervisor.run(&bomb).unwrap();
    assert!(eventually(Duration::from_secs(20), || processes_that_say(
        &token
    )
    .len()
        == 30));
    let most = (0..20).map(|_| processes_that_say(&token).len()).max();
    assert_eq!(most, Some(30));
    // Others go on.
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
    handle.kill();
    assert_eq!(wait(&handle).outcome, Outcome::Killed);
    assert!(eventually(Duration::from_secs(5), || processes_that_say(
        &token
    )
    .is_empty()));
    let timed = result(
        &supervisor,
        &bomb.real_time_limit(Duration::from_millis(300)),
    );
    assert_eq!(timed.outcome, Outcome::RealTimeLimit);
    assert!(eventually(Duration::from_secs(5), || processes_that_say(
        &token
    )
    .is_empty()));
}

// --- CPU bandwidth ---------------------------------------------------------------------

#[test]
fn cpu_bandwidth() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    // Half a CPU: ten milliseconds of work take at least nine periods of two, minus a slack
    // of a period at both ends.
    let half =
        request(["spin", "10"]).cpu_bandwidth(Duration::from_millis(1), Duration::from_millis(2));
    let figures = result(&supervisor, &half).figures;
    assert!(figures.real_time_ns >= 17_500_000, "{figures:?}");
    assert!(
        figures.cpu_user_ns + figures.cpu_system_ns >= 10_000_000,
        "{figures:?}"
    );
    // All processes together.
    let tree = request(["spin-tree", "4", "10"])
        .cpu_bandwidth(Duration::from_millis(2), Duration::from_millis(10));
    let figures = result(&supervisor, &tree).figures;
    assert!(figures.real_time_ns >= 150_000_000, "{figures:?}");
}

/// The kernel stops who has used up a quota when a call of its ends, and a call can be long: what
/// it took is owed by the cgroup, and nobody in it runs until that is paid.
#[test]
fn what_is_owed_of_cpu_bandwidth_ends_with_the_run() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    if !needs_cgroups(&supervisor) {
        return;
    }
    // What comes before the long call is to be had for it, wherever.
    let bandwidth =
        |request: Request| request.cpu_bandwidth(Duration::from_millis(20), Duration::from_secs(1));
    let begin = Instant::now();
    let owes = bandwidth(request(["long-call", "400"])).memory_limit(64 * MIB);
    let over = result(
        &supervisor,
        &owes.real_time_limit(Duration::from_millis(600)),
    );
    assert_eq!(over.outcome, Outcome::RealTimeLimit, "{:?}", over.figures);
    // It owes some half a minute.
    assert!(
        begin.elapsed() < Duration::from_secs(15),
        "{:?} {:?}",
        begin.elapsed(),
        over.figures
    );
    // Whoever comes next has as much as it asked for, from the beginning, and no more.
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
fn real_time_limits() {
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
    // Catching or ignoring signals does not help: a shell that ignores all that can be.
    let ignoring =
        Request::new("/bin/sh").args(["-c", "trap '' HUP INT TERM XCPU ALRM; while :; do :; done"]);
    let over = result(
        &supervisor,
        &ignoring.real_time_limit(Duration::from_millis(50)),
    );
    assert_eq!(over.outcome, Outcome::RealTimeLimit);
}

#[test]
fn the_real_time_limit_of_one_run_leaves_others_alone() {
    let supervisor = supervisor();
    let (neighbour, _read) = sleeper(&supervisor, &[]);
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
fn time_in_the_queue_does_not_count() {
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
fn cpu_time_limits() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
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
    // Many short processes, none of which reaches it.
    let many = result(
        &supervisor,
        &request(["spin-tree", "50", "5"])
            .cpu_time_limit(limit)
            .process_limit(60),
    );
    assert_eq!(many.outcome, Outcome::CpuTimeLimit);
    // Sleeping costs nothing.
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
fn which_limit_it_was() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
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
    // The kernel looks for what it can take back before it gives up, which takes a slow machine a
    // second.
    let eats = all(&["eat", "40"])
        .cpu_time_limit(Duration::from_secs(15))
        .real_time_limit(Duration::from_secs(50));
    assert_eq!(result(&supervisor, &eats).outcome, Outcome::MemoryLimit);
    assert_eq!(
        result(&supervisor, &all(&["exit", "0"])).outcome,
        Outcome::Exited(0)
    );
    // Killing itself is no limit.
    assert_eq!(
        result(&supervisor, &all(&["signal", "9"])).outcome,
        Outcome::Signaled(9)
    );
    assert_eq!(
        result(&supervisor, &all(&["signal", "24"])).outcome,
        Outcome::Signaled(24),
        "SIGXCPU of its own making"
    );
}

// --- without cgroups -------------------------------------------------------------------

#[test]
fn nothing_weaker_without_an_explicit_word() {
    let automatic = supervisor();
    if automatic.info().backend() == Backend::Rlimit {
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
        assert!(!automatic.info().declined().is_empty());
        let asked = builder().backend(BackendChoice::Hybrid).start();
        assert!(lacks_backend(&asked.map(drop), "hybrid"));
    }
    let asked = builder().backend(BackendChoice::Cgroup2).start();
    if automatic.info().backend() != Backend::Cgroup2 {
        assert!(lacks_backend(&asked.map(drop), "cgroup2"));
    }
}

fn lacks_backend(started: &Result<(), Error>, backend: &str) -> bool {
    matches!(
        started,
        Err(Error::Start(StartError::Failed { error, .. }))
            if error.step == SupervisorStep::Backend && error.subject.as_deref() == Some(backend)
    )
}

#[test]
fn limits_of_the_rlimit_backend() {
    let supervisor = start(builder().backend(BackendChoice::Rlimit));
    assert_eq!(supervisor.info().backend(), Backend::Rlimit);
    assert_eq!(supervisor.info().cgroups().count(), 0);
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
    // Two runs beside each other have a limit each.
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
    // What was seen when the limit was reached is the figure, though processes end until it is
    // looked at once more.
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
    let refused = result(&supervisor, &bandwidth);
    assert!(
        matches!(&refused.outcome, Outcome::NotStarted(error) if error.step == Step::CpuBandwidth),
        "{refused}"
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

/// The run that the stopped process does not receive is given to another one, and its clock begins
/// there.
#[test]
fn run_that_a_stopped_target_does_not_receive_is_given_to_another() {
    let supervisor = millibox_tests::start(builder().slots(1).runners_per_slot(1));
    probe_run(&supervisor, &["exit", "0"]);
    // The prepared target waits for its launch: nobody's parent. It is stopped.
    let prepared = || {
        let all = millibox_tests::descendants(supervisor.info().pid());
        let is_leaf =
            |one: &&millibox_tests::Process| all.iter().all(|other| other.parent != one.pid);
        let leaf = all
            .iter()
            .filter(is_leaf)
            .find(|one| name(one.pid) != SPAWNER)?
            .pid;
        // Supervisor, spawner, runner, zygote, pid1, target: all must be there.
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
    probe_run(&supervisor, &["exit", "0"]);
}
