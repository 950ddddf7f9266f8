//! A clock that jumps: limits and figures are of clocks that nobody can set.
//!
//! To see it the machine's clock is set, which others would notice: only where `MILLIBOX_SET_CLOCK`
//! is there, by root. tests/vm has a machine for it.

use crate::builder;
use millibox::{BackendChoice, Outcome, RunResult};
use millibox_tests::{executable, needs_cgroups, request, result, run, skip, sleeper, start, wait};
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The clock, set by hours, forward and back, again and again; in the end as it was.
struct Jumps {
    over: Arc<AtomicBool>,
    count: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
    /// There is one clock.
    _alone: MutexGuard<'static, ()>,
}

impl Jumps {
    fn new() -> Option<Jumps> {
        static ALONE: Mutex<()> = Mutex::new(());
        if std::env::var_os("MILLIBOX_SET_CLOCK").is_none() {
            skip(
                "it would set this machine's clock: MILLIBOX_SET_CLOCK=1 allows it, and so does \
                 tests/vm",
            );
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (over, count) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU32::new(0)),
        );
        let (theirs, counted) = (over.clone(), count.clone());
        let away = seconds(ClockId::Realtime) - seconds(ClockId::Monotonic);
        set(away).expect("to set the clock takes CAP_SYS_TIME");
        let thread = std::thread::spawn(move || {
            const HOUR: i64 = 3600;
            for hours in [5, -5, 48, -1, 0, -30]
                .iter()
                .cycle()
                .take_while(|_| !theirs.load(Ordering::Relaxed))
            {
                set(away + hours * HOUR).expect("it could be set before");
                counted.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(7));
            }
            set(away).expect("it could be set before");
        });
        Some(Jumps {
            over,
            count,
            thread: Some(thread),
            _alone: alone,
        })
    }

    /// What something took, during which the clock was set at least this often.
    fn during<T>(&self, least: u32, what: impl FnOnce() -> T) -> (T, Duration) {
        let (before, begin) = (self.count.load(Ordering::Relaxed), Instant::now());
        let came = what();
        let took = begin.elapsed();
        let times = self.count.load(Ordering::Relaxed) - before;
        assert!(
            times >= least,
            "the clock was set {times} times in {took:?}"
        );
        (came, took)
    }
}

impl Drop for Jumps {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn seconds(clock: ClockId) -> i64 {
    clock_gettime(clock).tv_sec
}

/// Sets the clock, so that it is that many seconds before `CLOCK_MONOTONIC`.
fn set(away: i64) -> rustix::io::Result<()> {
    let now = clock_gettime(ClockId::Monotonic);
    clock_settime(
        ClockId::Realtime,
        Timespec {
            tv_sec: now.tv_sec + away,
            tv_nsec: now.tv_nsec,
        },
    )
}

/// Figures of a run that the caller saw take `took`, and which took `real` and used `cpu` at least.
fn plausible(result: &RunResult, took: Duration, real: Duration, cpu: Duration) {
    let used = Duration::from_nanos(result.figures.cpu_user_ns + result.figures.cpu_system_ns);
    let its = Duration::from_nanos(result.figures.real_time_ns);
    assert!(
        its >= real && its <= took,
        "{its:?} of {took:?}: {result} {:?}",
        result.figures
    );
    // One process, which is on one CPU at a time; but the clock that CPU time is counted by differs
    // from others in an emulated machine, not by hours.
    assert!(
        used >= cpu && used <= took + Duration::from_secs(1),
        "{used:?} of {took:?}: {result} {:?}",
        result.figures
    );
}

#[test]
fn limits_hold_and_figures_are_right() {
    let Some(jumps) = Jumps::new() else { return };
    for backend in [BackendChoice::Auto, BackendChoice::Rlimit] {
        let supervisor = start(builder().backend(backend));
        if backend == BackendChoice::Auto && !needs_cgroups(&supervisor) {
            continue;
        }
        let (none, millis) = (Duration::ZERO, Duration::from_millis);
        for _ in 0..3 {
            let (over, took) = jumps.during(5, || {
                result(
                    &supervisor,
                    &request(["sleep", "100000"]).real_time_limit(millis(300)),
                )
            });
            assert_eq!(over.outcome, Outcome::RealTimeLimit, "{over}");
            plausible(&over, took, millis(300), none);

            let (under, took) = jumps.during(5, || {
                result(
                    &supervisor,
                    &request(["sleep", "300"]).real_time_limit(Duration::from_secs(60)),
                )
            });
            assert_eq!(under.outcome, Outcome::Exited(0), "{under}");
            plausible(&under, took, millis(300), none);

            let (over, took) = jumps.during(5, || {
                result(
                    &supervisor,
                    &request(["spin", "100000"]).cpu_time_limit(millis(200)),
                )
            });
            assert_eq!(over.outcome, Outcome::CpuTimeLimit, "{over}");
            plausible(&over, took, none, millis(200));

            let (under, took) = jumps.during(10, || {
                run(
                    &supervisor,
                    &request(["spin", "200"]).cpu_time_limit(Duration::from_secs(30)),
                )
            });
            assert_eq!(under.result.outcome, Outcome::Exited(0), "{}", under.result);
            plausible(&under.result, took, none, millis(200));

            // The caller's own waiting, for a run that goes on.
            let (handle, _read) = sleeper(&supervisor, &[]);
            let (none, took) = jumps.during(5, || handle.wait_timeout(millis(300)));
            assert!(
                none.expect("it runs").is_none()
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
fn the_judges_report_is_right() {
    let Some(jumps) = Jumps::new() else { return };
    let place = millibox_tests::directory();
    for (name, text) in [
        ("problem.yaml", "name: Double\n"),
        // In an emulated machine the start of a program takes its time.
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
        let path = place.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    let report = place.path().join("report.json");
    let mut command = Command::new(executable("millibox"));
    command
        .arg("judge")
        .arg(place.path())
        .arg("--no-cache")
        .args(["--report", "json"])
        .arg(&report);
    let (output, took) = jumps.during(50, || command.output().expect("the command"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    // All came to what their folders say.
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    let time = |value: &serde_json::Value| {
        Duration::from_nanos(value.as_u64().unwrap_or_else(|| panic!("{value}: {said}")))
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
            let enough = match name.rsplit('/').next() {
                Some("double.sh") => real >= Duration::from_millis(400),
                Some("sleeps.sh") => real >= time(&limits["real_time_ns"]),
                Some("spins.sh") => cpu >= time(&limits["cpu_time_ns"]),
                _ => panic!("{name}"),
            };
            assert!(enough && real <= took, "{name}: {test}");
            longest = longest.max(real);
        }
    }
    // That of the whole holds that of each.
    assert!(
        longest >= Duration::from_secs(5) && duration >= longest,
        "{duration:?}, {longest:?}"
    );
}
