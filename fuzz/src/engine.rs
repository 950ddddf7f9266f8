//! The fuzzing loop and the handling of violations.

use crate::coverage::Coverage;
use crate::mutate::{Random, mutate};
use crate::{INPUT_TIMEOUT, MAX_HEAP_BYTES, Target, memory};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once};
use std::time::{Duration, Instant};

/// The maximum number of inputs to mutate, including the corpus.
const MAX_KEPT_INPUTS: usize = 4000;

/// The time limit for shortening an input that violates a property.
const SHORTENING_TIMEOUT: Duration = Duration::from_secs(20);

/// An input that a target is processing.
struct Current {
    target: &'static str,
    input: Vec<u8>,
    /// The number of seconds that the watchdog has counted. The watchdog stops together with the
    /// other threads, so stopping and continuing the fuzzer causes no timeout.
    seconds: u64,
}

static CURRENT: Mutex<Option<Current>> = Mutex::new(None);

/// An input that violates a property of a target.
#[derive(Debug)]
pub struct Violation {
    /// The shortest input found that violates the property.
    pub input: Vec<u8>,
    /// The violated property.
    pub message: String,
}

/// The statistics of a fuzzing run.
#[derive(Debug, Default)]
pub struct Summary {
    /// The number of processed inputs.
    pub inputs: u64,
    /// The number of branches taken, or 0 if the code was compiled without counters.
    pub edges: usize,
    /// The number of new inputs that reached new code.
    pub kept: usize,
}

fn current() -> MutexGuard<'static, Option<Current>> {
    CURRENT
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Starts the watchdog thread once. It saves an input that takes longer than [`INPUT_TIMEOUT`] and
/// ends the process.
fn start_watchdog() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                let mut current = current();
                let Some(Current {
                    target,
                    input,
                    seconds,
                }) = &mut *current
                else {
                    continue;
                };
                *seconds += 1;
                if *seconds > INPUT_TIMEOUT.as_secs() {
                    let path = save(Path::new(env!("CARGO_MANIFEST_DIR")), target, input);
                    eprintln!(
                        "{target}: an input takes longer than {INPUT_TIMEOUT:?}: {}",
                        path.display()
                    );
                    std::process::exit(1);
                }
            }
        });
    });
}

/// Processes one input. Returns the violated property, if any.
pub fn check(target: &Target, input: &[u8]) -> Option<String> {
    start_watchdog();
    *current() = Some(Current {
        target: target.name,
        input: input.to_vec(),
        seconds: 0,
    });
    let mut outcome = Ok(());
    let peak = memory::peak(|| outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input))));
    *current() = None;
    match outcome {
        Ok(()) if peak > MAX_HEAP_BYTES => Some(format!("the heap grew by {} MiB", peak >> 20)),
        Ok(()) => None,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(text.unwrap_or_else(|| "panic without a message".to_owned()))
        }
    }
}

/// Processes the corpus, then new inputs until `time` has passed or `max_inputs` are processed.
///
/// # Errors
/// The first input that violates a property.
pub fn fuzz(
    target: &Target,
    seed: u64,
    time: Duration,
    max_inputs: u64,
) -> Result<Summary, Violation> {
    let begin = Instant::now();
    let mut random = Random(seed);
    let mut coverage = Coverage::empty();
    let mut summary = Summary::default();
    let mut inputs: Vec<Vec<u8>> = target
        .corpus()
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect();
    let corpus = inputs.len();
    let mut next = 0;
    while next < corpus || (begin.elapsed() < time && summary.inputs < max_inputs) {
        let input = if next < corpus {
            inputs[next].clone()
        } else {
            mutate(&mut random, &inputs, target.dictionary)
        };
        coverage.reset_counters();
        if let Some(message) = check(target, &input) {
            return Err(shorten(target, Violation { input, message }));
        }
        if coverage.add_counts() && next >= corpus && inputs.len() < MAX_KEPT_INPUTS {
            summary.kept += 1;
            inputs.push(input);
        }
        next += 1;
        summary.inputs += 1;
    }
    summary.edges = coverage.edges();
    Ok(summary)
}

/// Removes parts of the input as long as the rest still violates a property.
fn shorten(target: &Target, mut violation: Violation) -> Violation {
    let begin = Instant::now();
    let mut part = violation.input.len().div_ceil(2);
    while part > 0 {
        let mut at = 0;
        while at < violation.input.len() && begin.elapsed() < SHORTENING_TIMEOUT {
            let mut shorter = violation.input.clone();
            shorter.drain(at..(at + part).min(shorter.len()));
            match check(target, &shorter) {
                Some(message) => {
                    violation = Violation {
                        input: shorter,
                        message,
                    }
                }
                None => at += part,
            }
        }
        part /= 2;
    }
    violation
}

/// Writes an input to `directory/found` and returns its path.
///
/// # Panics
/// The file cannot be written.
pub fn save(directory: &Path, target: &str, input: &[u8]) -> PathBuf {
    let found = directory.join("found");
    std::fs::create_dir_all(&found).unwrap_or_else(|error| panic!("{}: {error}", found.display()));
    // The name is the FNV-1a hash, so that equal inputs have the same name.
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = found.join(format!("{target}-{hash:016x}"));
    std::fs::write(&path, input).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}
