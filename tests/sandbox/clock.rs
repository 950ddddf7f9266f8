//! Jumps of the clock: limits and measurements use clocks that cannot be set.
//!
//! These tests set the machine's clock, which other programs would notice. They run only as root
//! and only if `MILLIBOX_SET_CLOCK` is set. tests/vm has a machine for them.

use crate::builder;
use millibox::{BackendChoice, Outcome, RunResult};
use millibox_tests::{
    executable, has_cgroups_or_skips, request, result, run, skip, start, start_sleeper, wait,
};
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sets the clock forward and back by hours, repeatedly, and restores it at the end.
struct ClockJumps {
    over: Arc<AtomicBool>,
    count: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
    /// Only one test at a time may set the clock.
    _alone: MutexGuard<'static, ()>,
}

impl ClockJumps {
    fn new() -> Option<ClockJumps> {
        static ALONE: Mutex<()> = Mutex::new(());
        if std::env::var_os("MILLIBOX_SET_CLOCK").is_none() {
            skip(
                "the test sets this machine's clock: MILLIBOX_SET_CLOCK=1 allows it, as in \
                 tests/vm",
            );
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (over, count) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU32::new(0)),
        );
        let (is_over, counted) = (over.clone(), count.clone());
        let offset = seconds(ClockId::Realtime) - seconds(ClockId::Monotonic);
        set_clock(offset).expect("setting the clock needs CAP_SYS_TIME");
        let thread = std::thread::spawn(move || {
            const HOUR: i64 = 3600;
            for hours in [5, -5, 48, -1, 0, -30]
                .iter()
                .cycle()
                .take_while(|_| !is_over.load(Ordering::Relaxed))
            {
                set_clock(offset + hours * HOUR).expect("setting the clock worked before");
                counted.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(7));
            }
            set_clock(offset).expect("setting the clock worked before");
        });
        Some(ClockJumps {
            over,
            count,
            thread: Some(thread),
            _alone: alone,
        })
    }

    /// Returns the result of `what` and its duration. Asserts that the clock was set at least
    /// `least` times in the meantime.
    fn measure<T>(&self, least: u32, what: impl FnOnce() -> T) -> (T, Duration) {
        let (before, begin) = (self.count.load(Ordering::Relaxed), Instant::now());
        let result = what();
        let took = begin.elapsed();
        let times = self.count.load(Ordering::Relaxed) - before;
        assert!(
            times >= least,
            "the clock was set {times} times in {took:?}"
        );
        (result, took)
    }
}

impl Drop for ClockJumps {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn seconds(clock: ClockId) -> i64 {
    clock_gettime(clock).tv_sec
}

/// Sets the clock to `CLOCK_MONOTONIC` plus this many seconds.
fn set_clock(offset: i64) -> rustix::io::Result<()> {
    let now = clock_gettime(ClockId::Monotonic);
    clock_settime(
        ClockId::Realtime,
        Timespec {
            tv_sec: now.tv_sec + offset,
            tv_nsec: now.tv_nsec,
        },
    )
}

/// Asserts that a run's figures are consistent with the duration `took` that the caller measured,
/// and that they are at least `real` and `cpu`.
fn assert_plausible(result: &RunResult, took: Duration, real: Duration, cpu: Duration) {
    let used = Duration::from_nanos(result.figures.cpu_user_ns + result.figures.cpu_system_ns);
    let measured = Duration::from_nanos(result.figures.real_time_ns);
    assert!(
        measured >= real && measured <= took,
        "{measured:?} of {took:?}: {result} {:?}",
        result.figures
    );
    // A process uses at most one CPU at a time. In an emulated machine, the clock of CPU time may
    // differ from other clocks, but not by hours.
    assert!(
        used >= cpu && used <= took + Duration::from_secs(1),
        "{used:?} of {took:?}: {result} {:?}",
        result.figures
    );
}

#[test]
fn limits_and_figures_ignore_clock_jumps() {
    let Some(jumps) = ClockJumps::new() else {
        return;
    };
    for backend in [BackendChoice::Auto, BackendChoice::Rlimit] {
        let supervisor = start(builder().backend(backend));
        if backend == BackendChoice::Auto && !has_cgroups_or_skips(&supervisor) {
            continue;
        }
        let (none, millis) = (Duration::ZERO, Duration::from_millis);
        for _ in 0..3 {
            let (over, took) = jumps.measure(5, || {
                result(
                    &supervisor,
                    &request(["sleep", "100000"]).real_time_limit(millis(300)),
                )
            });
            assert_eq!(over.outcome, Outcome::RealTimeLimit, "{over}");
            assert_plausible(&over, took, millis(300), none);

            let (under, took) = jumps.measure(5, || {
                result(
                    &supervisor,
                    &request(["sleep", "300"]).real_time_limit(Duration::from_secs(60)),
                )
            });
            assert_eq!(under.outcome, Outcome::Exited(0), "{under}");
            assert_plausible(&under, took, millis(300), none);

            let (over, took) = jumps.measure(5, || {
                result(
                    &supervisor,
                    &request(["spin", "100000"]).cpu_time_limit(millis(200)),
                )
            });
            assert_eq!(over.outcome, Outcome::CpuTimeLimit, "{over}");
            assert_plausible(&over, took, none, millis(200));

            let (under, took) = jumps.measure(10, || {
                run(
                    &supervisor,
                    &request(["spin", "200"]).cpu_time_limit(Duration::from_secs(30)),
                )
            });
            assert_eq!(under.result.outcome, Outcome::Exited(0), "{}", under.result);
            assert_plausible(&under.result, took, none, millis(200));

            // The caller's own timeout, for a run that continues.
            let (handle, _read) = start_sleeper(&supervisor, &[]);
            let (none, took) = jumps.measure(5, || handle.wait_timeout(millis(300)));
            assert!(
                none.expect("the run continues").is_none()
                    && took >= millis(300)
                    && took < Duration::from_secs(60),
                "{took:?}"
            );
            handle.cancel();
            assert_eq!(wait(&handle).outcome, Outcome::Cancelled);
        }
    }
}

#[test]
fn judge_report_ignores_clock_jumps() {
    let Some(jumps) = ClockJumps::new() else {
        return;
    };
    let dir = millibox_tests::directory();
    for (name, text) in [
        ("problem.yaml", "name: Double\n"),
        // In an emulated machine, programs start slowly.
        ("domjudge-problem.ini", "timelimit=5\n"),
        ("data/secret/1.in", "21\n"),
        ("data/secret/1.ans", "42\n"),
        ("data/secret/2.in", "4\n"),
        ("data/secret/2.ans", "8\n"),
        (
            "submissions/accepted/double.sh",
            "sleep 0.4; read -r n; echo $((2 * n))\n",
        ),
        (
            "submissions/time_limit_exceeded/spins.sh",
            "while :; do :; done\n",
        ),
        ("submissions/time_limit_exceeded/sleeps.sh", "sleep 1000\n"),
    ] {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    let report = dir.path().join("report.json");
    let mut command = Command::new(executable("millibox"));
    command
        .arg("judge")
        .arg(dir.path())
        .arg("--no-cache")
        .args(["--report", "json"])
        .arg(&report);
    let (output, took) = jumps.measure(50, || command.output().expect("the command"));
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    // Every submission has the verdict that its directory states.
    assert_eq!(output.status.code(), Some(0), "{output_text}");
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    let time = |value: &serde_json::Value| {
        Duration::from_nanos(
            value
                .as_u64()
                .unwrap_or_else(|| panic!("{value}: {output_text}")),
        )
    };
    let duration = time(&report["duration_ns"]);
    assert!(duration <= took, "{duration:?} of {took:?}");
    let mut longest = Duration::ZERO;
    for submission in report["submissions"].as_array().expect("submissions") {
        let name = submission["name"].as_str().expect("a name");
        for test in submission["tests"]
            .as_array()
            .expect("tests")
            .iter()
            .filter(|test| !test["figures"].is_null())
        {
            let [figures, limits] = [&test["figures"], &test["limits"]];
            let real = time(&figures["real_time_ns"]);
            let cpu = time(&figures["cpu_user_ns"]) + time(&figures["cpu_system_ns"]);
            let is_plausible = match name.rsplit('/').next() {
                Some("double.sh") => real >= Duration::from_millis(400),
                Some("sleeps.sh") => real >= time(&limits["real_time_ns"]),
                Some("spins.sh") => cpu >= time(&limits["cpu_time_ns"]),
                _ => panic!("{name}"),
            };
            assert!(is_plausible && real <= took, "{name}: {test}");
            longest = longest.max(real);
        }
    }
    // The whole judging takes at least as long as each run.
    assert!(
        longest >= Duration::from_secs(5) && duration >= longest,
        "{duration:?}, {longest:?}"
    );
}
