//! Many runs of prepared programs leave nothing.

use super::{PYTHON, is_possible_or_skips, prepared, request};
use crate::builder;
use crate::growth::settled_usage;
use millibox::{Outcome, Prepare, Prepared, Start, Supervisor};
use millibox_tests::{Footprint, start, wait, world_with_proc};

/// The program leaves files, objects of System V IPC and processes behind. It exits with 1 if it
/// finds anything of an earlier run.
const LEAVES_THINGS: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None)
found = os.listdir("/tmp") or libc.shmget(4711, 4096, 0) >= 0 or hasattr(sys, "left")
found = found or len([name for name in os.listdir("/proc") if name.isdigit()]) != 2
sys.left = open("/tmp/left", "w")
libc.shmget(4711, 4096, 0o1600)
if os.fork() == 0:
    os.setsid()
    os.fork()
    import time
    time.sleep(1000)
os._exit(bool(found))
"#;

/// One run in this number of runs leaves things behind.
const LEAVING_INTERVAL: usize = 10;

/// Makes this number of runs in two threads.
fn make_runs(supervisor: &Supervisor, python: &Prepared, runs: usize) {
    let (plain, leaving) = (request("pass", python), request(LEAVES_THINGS, python));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for run in 0..runs / 2 {
                    let request = match run % LEAVING_INTERVAL {
                        0 => &leaving,
                        _ => &plain,
                    };
                    let handle = supervisor
                        .run(request)
                        .unwrap_or_else(|error| panic!("{error}"));
                    let result = wait(&handle);
                    assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
                    assert!(matches!(result.start, Start::Prepared { .. }), "{result}");
                }
            });
        }
    });
}

/// Asserts that nothing grows over this number of runs, and that nothing remains after the end.
fn assert_nothing_is_left(runs: usize) {
    let supervisor = start(builder().slots(2));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let prepare = Prepare::python(PYTHON, ["json"]).runs(200);
    let python = prepared(&world_with_proc(), &prepare);
    make_runs(&supervisor, &python, 100);
    let mut before = settled_usage(&supervisor);
    // On a busy machine, the last runner may start its template later.
    for _ in 0..5 {
        make_runs(&supervisor, &python, 100);
        let now = settled_usage(&supervisor);
        if now.has_grown_from(&before).is_none() {
            break;
        }
        before = now;
    }
    let parts = if runs < 10_000 { 1 } else { 10 };
    for part in 1..=parts {
        let begin = std::time::Instant::now();
        make_runs(&supervisor, &python, runs / parts);
        let per_run = begin.elapsed() / (runs / parts) as u32;
        let now = settled_usage(&supervisor);
        eprintln!(
            "after {} runs, {per_run:?} each: {now:?}",
            part * runs / parts
        );
        assert!(now.has_grown_from(&before).is_none(), "{before:?}, {now:?}");
    }
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
}

#[test]
fn runs_of_prepared_program_leave_nothing() {
    assert_nothing_is_left(400);
}

/// Run it with `MILLIBOX_SOAK=1000000 cargo test --test sandbox -- --ignored --nocapture
/// prepared::soak`.
#[test]
#[ignore = "takes as long as MILLIBOX_SOAK runs, by default 100000"]
fn many_runs_of_prepared_program_leave_nothing() {
    let runs = std::env::var("MILLIBOX_SOAK").map_or(100_000, |runs| runs.parse().expect("runs"));
    assert_nothing_is_left(runs);
}
