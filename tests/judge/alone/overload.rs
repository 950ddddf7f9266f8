//! Real-time limits on an overloaded machine.

use crate::package::{Package, has_cgroups};
use millibox::{BackendChoice, Supervisor};
use millibox_judge::judge::{Judge, Machine, Options};
use millibox_judge::report::TestReport;
use millibox_judge::verdict::Verdict;
use millibox_languages::cache::Cache;
use millibox_languages::program::Limits;
use millibox_languages::suite::Suites;
use millibox_tests::{eventually, executable, processes_with_argument, skip, unique_sleep};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Processes that compute on one CPU until the value is dropped.
struct Load(Vec<Child>);

impl Load {
    fn on(cpu: usize, processes: usize) -> Load {
        let mut only = CpuSet::new();
        only.set(cpu);
        let start = |_| {
            // Each process has its own session. A kernel that schedules sessions as groups would
            // otherwise treat all processes of one session as a single one.
            let mut command = Command::new("setsid");
            let child = command
                .arg(executable("puppet"))
                .args(["spin:600000", "--"])
                .stdin(Stdio::null())
                .spawn();
            let child = child.unwrap_or_else(|error| panic!("setsid: {error}"));
            sched_setaffinity(Some(Pid::from_child(&child)), &only).unwrap();
            child
        };
        Load((0..processes).map(start).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

fn one_cpu() -> usize {
    let allowed = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU)
        .find(|cpu| allowed.is_set(*cpu))
        .unwrap()
}

/// Returns how long processes of this machine waited for a CPU, if the kernel reports it.
fn waited() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/pressure/cpu").ok()?;
    let total = text.lines().next()?.split("total=").nth(1)?.parse().ok()?;
    Some(Duration::from_micros(total))
}

/// Serializes these tests, and skips them if the kernel does not report CPU pressure.
fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    if waited().is_none() {
        skip("the kernel does not report CPU pressure (/proc/pressure/cpu)");
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Judges a script on this CPU while `beside` runs in another thread. Returns the report of the
/// first test and the time that judging took.
fn judge(
    script: &str,
    time_limit: Duration,
    cpu: usize,
    beside: impl FnOnce() + Send,
) -> (TestReport, Duration) {
    let package = Package::new("");
    package.submission("accepted/script.sh", script);
    let choice = if has_cgroups() {
        BackendChoice::Auto
    } else {
        BackendChoice::Rlimit
    };
    let machine = Machine::start(Supervisor::builder().backend(choice), Some(1), &[cpu]).unwrap();
    let options = Options {
        time_limit: Some(time_limit),
        fail_fast: true,
        ..Options::default()
    };
    let judge = Judge::new(&machine, Suites::builtin(), Cache::none(), options);
    let problem = millibox_package::read(&package.path()).unwrap();
    let prepared = judge.problem(problem, &mut |_| ()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(beside);
        let begin = Instant::now();
        let mut report =
            judge.submission(&prepared, &prepared.problem().submissions[0], &mut |_| ());
        (report.tests.remove(0), begin.elapsed())
    })
}

#[test]
fn run_delayed_by_overload_is_judged_again() {
    let Some(_turn) = turn() else { return };
    let (cpu, time_limit) = (one_cpu(), Duration::from_millis(700));
    let real_time = Limits::real_time_for(time_limit);
    // The script needs a few tenths of a second of CPU time before it answers the first test.
    let sleep = unique_sleep("0.0309");
    let script =
        format!("sleep {sleep}\ni=0\nwhile [ $i -lt 60000 ]; do i=$((i + 1)); done\necho 2\n");
    let load = Load::on(cpu, 60);
    let (test, took) = judge(&script, time_limit, cpu, move || {
        let runs = || !processes_with_argument(&sleep).is_empty();
        assert!(
            eventually(Duration::from_secs(60), runs),
            "the script does not run"
        );
        // The load stays until the first attempt has exceeded its real-time limit.
        std::thread::sleep(real_time + Duration::from_millis(300));
        drop(load);
    });
    if took < real_time {
        return skip("the load did not delay the run");
    }
    if test
        .comment
        .starts_with("twice, and the machine was overloaded")
    {
        return skip("other processes delayed the second attempt, too");
    }
    assert_eq!(
        (test.verdict, test.comment.as_str()),
        (Some(Verdict::Accepted), ""),
        "{test:?}"
    );
}

#[test]
fn sleeping_submission_on_overloaded_machine_mentions_overload() {
    let Some(_turn) = turn() else { return };
    let (cpu, time_limit) = (one_cpu(), Duration::from_millis(10));
    let load = Load::on(cpu, 3);
    let (test, took) = judge("sleep 1000\n", time_limit, cpu, || ());
    drop(load);
    assert_eq!(
        (test.verdict, test.reason.as_str()),
        (Some(Verdict::TimeLimit), "real time limit"),
        "{test:?}"
    );
    assert!(
        test.comment
            .starts_with("twice, and the machine was overloaded: "),
        "{test:?}"
    );
    let real_time = Limits::real_time_for(time_limit);
    assert!(took >= 2 * real_time && took < 3 * real_time, "{took:?}");
}

#[test]
fn sleeping_submission_on_idle_machine_is_judged_once() {
    let Some(_turn) = turn() else { return };
    // The submission's own processes wait for each other, which does not overload the machine.
    let own = "for i in 1 2 3; do (j=0; while [ $j -lt 10000 ]; do j=$((j + 1)); done) & \
        done\nsleep 1000\n";
    for (script, time_limit) in [("sleep 1000\n", 10), (own, 1000)] {
        let time_limit = Duration::from_millis(time_limit);
        // Other processes may overload the machine for a while. The judge makes a second attempt if
        // tasks waited for half of the first one, which is a quarter of the time of both attempts.
        let quiet = (0..5).find_map(|_| {
            let (before, begin) = (waited()?, Instant::now());
            let judged = judge(script, time_limit, one_cpu(), || ());
            let part = (waited()? - before).as_secs_f64() / begin.elapsed().as_secs_f64();
            (part < 0.24).then_some(judged)
        });
        let Some((test, took)) = quiet else {
            return skip("other processes overload the machine");
        };
        assert_eq!(
            (test.verdict, test.reason.as_str()),
            (Some(Verdict::TimeLimit), "real time limit"),
            "{test:?}"
        );
        assert_eq!(test.comment, "");
        assert!(took < 2 * Limits::real_time_for(time_limit), "{took:?}");
    }
}
