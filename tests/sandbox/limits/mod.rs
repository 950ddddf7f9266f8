//! Limits on memory, processes, CPU bandwidth, real time and CPU time.

mod backends;
mod memory;
mod processes;
mod time;

use crate::{builder, supervisor};
use millibox::{Backend, Outcome};
use millibox_tests::{has_cgroups_or_skips, request, result, run, run_probe, start, token};
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// Cgroups with one name in each hierarchy, as parents of a supervisor's cgroups. `drop` removes
/// them.
pub struct ParentCgroup(pub String, Vec<std::path::PathBuf>);

impl ParentCgroup {
    /// Creates the cgroups at the top of each version 1 hierarchy, or of the unified hierarchy.
    pub fn create(backend: Backend) -> ParentCgroup {
        let name = format!("/parent-{}", token());
        let tops: &[&str] = match backend {
            Backend::Hybrid => &["memory/", "pids/", "cpu/", "cpuacct/"],
            _ => &[""],
        };
        let paths = tops
            .iter()
            .map(|top| format!("/sys/fs/cgroup/{top}{}", &name[1..]).into());
        let paths: Vec<std::path::PathBuf> = paths.collect();
        if backend == Backend::Cgroup2 {
            std::fs::write(
                "/sys/fs/cgroup/cgroup.subtree_control",
                "+memory +pids +cpu",
            )
            .expect("controllers");
        }
        paths
            .iter()
            .for_each(|path| std::fs::create_dir_all(path).expect("a cgroup"));
        ParentCgroup(name, paths)
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
        // 60 ms of work take 590 ms with the limit, and less without it. A busy machine may be
        // slower at times, but not in 50 attempts.
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
    // On a busy machine, a second of CPU time may take much longer.
    let spins = all(&["spin", "60000"]).real_time_limit(Duration::from_secs(50));
    assert_eq!(result(&supervisor, &spins).outcome, Outcome::CpuTimeLimit);
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
