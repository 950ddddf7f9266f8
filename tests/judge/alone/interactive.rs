//! Repeated conversations on a busy machine.

use crate::interactive::{BOTH, FLOOD, Table, WAIT, limits};
use millibox_judge::verdict::Verdict;
use millibox_judge::verdict::Verdict::{Accepted, RunTimeError, WrongAnswer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Keeps all CPUs busy until the value is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn new() -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let count = std::thread::available_parallelism().map_or(2, usize::from) * 2;
        let spin = |stop: Arc<AtomicBool>| move || while !stop.load(Ordering::Relaxed) {};
        let threads = (0..count)
            .map(|_| std::thread::spawn(spin(stop.clone())))
            .collect();
        Load { stop, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Repeats scenes under a load that exceeds the capacity of the CPUs. Every verdict must be the
/// expected one, but for the few interactors that receive no CPU in time.
fn repeat_scenes_under_load(times: usize) {
    let table = Table::new();
    let _load = Load::new();
    let mut limits = limits();
    limits.real_time = Duration::from_secs(60);
    let scenes: [(&[&str], &[&str], Verdict); 9] = [
        // The solution ends first.
        (
            &["write:x", "exit:1"],
            &["read:x", WAIT, "exit:43"],
            RunTimeError,
        ),
        (
            &["write:x", "signal:11"],
            &["read:x", "write:y", WAIT, "exit:43"],
            RunTimeError,
        ),
        // The interactor ends first.
        (
            &["write:x", "read", "exit:1"],
            &["read:x", "exit:43"],
            WrongAnswer,
        ),
        (
            &["write:x", FLOOD, "exit:1"],
            &["read:x", "exit:43"],
            WrongAnswer,
        ),
        // Both end at about the same time.
        (&["write:x", "exit:1"], &["read:x", "exit:43"], WrongAnswer),
        (
            &["write:x", "read:wrong", "signal:6"],
            &["read:x", "write:wrong", "exit:43"],
            WrongAnswer,
        ),
        (&["write:x", "exit:1"], &["read:x", "exit:42"], RunTimeError),
        // The solution has ended while the interactor still writes.
        (
            &["write:x", "exit:0"],
            &["read:x", FLOOD, WAIT, "exit:43"],
            WrongAnswer,
        ),
        (
            &["write:x", "exit:0"],
            &[FLOOD, "read:x", "exit:42"],
            Accepted,
        ),
    ];
    let mut late = 0;
    for time in 0..times {
        for (number, (solution, interactor, verdict)) in scenes.iter().enumerate() {
            let mode = BOTH[(time + number) % 2];
            let result = table.play_within(mode, &limits, solution, interactor);
            if *verdict == WrongAnswer && result.verdict == RunTimeError {
                late += 1;
                continue;
            }
            assert_eq!(
                result.verdict, *verdict,
                "time {time}, {mode:?}, {solution:?}, {interactor:?}: {result:?}"
            );
        }
    }
    // The interactor may start or continue so late that it sees the solution's end before its own.
    let games = times * scenes.len();
    assert!(
        late * 50 <= games,
        "{late} of {games} interactors came late"
    );
}

#[test]
fn thirty_repetitions_under_load_give_same_verdicts() {
    repeat_scenes_under_load(30);
}

#[test]
#[ignore = "takes minutes: cargo test --test judge -- --ignored thousand"]
fn thousand_repetitions_under_load_give_same_verdicts() {
    repeat_scenes_under_load(1000);
}
