//! The loop, and what becomes of what it finds.

use crate::coverage::Reached;
use crate::mutate::{Random, mutate};
use crate::{MOST_MEMORY, PATIENCE, Target, memory};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

/// Most inputs that are kept for being changed, beside the corpus.
const MOST_KEPT: usize = 4000;

/// What is being looked at: the target's name and the input, and how many seconds the watching thread has seen it. That
/// thread stands still with the others, so a fuzzer that is stopped and continued has not found anything.
static PRESENT: Mutex<Option<(&str, Vec<u8>, u64)>> = Mutex::new(None);

/// An input for which something did not hold.
#[derive(Debug)]
pub struct Broken {
    /// The shortest one found.
    pub input: Vec<u8>,
    /// What the target said.
    pub why: String,
}

/// What a time of fuzzing came to.
#[derive(Debug, Default)]
pub struct Done {
    /// Inputs that were looked at.
    pub inputs: u64,
    /// Branches that were taken; 0: they are not counted.
    pub edges: usize,
    /// Inputs that reached something new.
    pub kept: usize,
}

fn present() -> std::sync::MutexGuard<'static, Option<(&'static str, Vec<u8>, u64)>> {
    PRESENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A thread that ends the process when an input takes too long, and says which.
fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                let mut present = present();
                let Some((name, input, seconds)) = &mut *present else { continue };
                *seconds += 1;
                if *seconds > PATIENCE.as_secs() {
                    let path = save(Path::new(env!("CARGO_MANIFEST_DIR")), name, input);
                    eprintln!("{name}: an input takes longer than {PATIENCE:?}: {}", path.display());
                    std::process::exit(1);
                }
            }
        });
    });
}

/// Looks at one input; what did not hold, if anything.
pub fn look(target: &Target, input: &[u8]) -> Option<String> {
    watch();
    *present() = Some((target.name, input.to_vec(), 0));
    let mut outcome = Ok(());
    let peak = memory::peak(|| outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input))));
    *present() = None;
    match outcome {
        Ok(()) if peak > MOST_MEMORY => Some(format!("it takes {} MiB", peak >> 20)),
        Ok(()) => None,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(text.unwrap_or_else(|| "it panics".to_owned()))
        }
    }
}

/// Looks at the corpus, and then at new inputs until the time is over, or there were `most` of them.
///
/// # Errors
/// The first input for which something does not hold.
pub fn fuzz(target: &Target, seed: u64, time: Duration, most: u64) -> Result<Done, Broken> {
    let begin = Instant::now();
    let mut random = Random(seed);
    let mut reached = Reached::nothing();
    let mut done = Done::default();
    let mut inputs: Vec<Vec<u8>> = target.corpus().into_iter().map(|(_, bytes)| bytes).collect();
    let corpus = inputs.len();
    let mut next = 0;
    while next < corpus || (begin.elapsed() < time && done.inputs < most) {
        let input = if next < corpus { inputs[next].clone() } else { mutate(&mut random, &inputs, target.words) };
        reached.clear();
        if let Some(why) = look(target, &input) {
            return Err(shorten(target, Broken { input, why }));
        }
        if reached.add() && next >= corpus && inputs.len() < MOST_KEPT {
            done.kept += 1;
            inputs.push(input);
        }
        next += 1;
        done.inputs += 1;
    }
    done.edges = reached.edges();
    Ok(done)
}

/// Takes parts away as long as something still does not hold.
fn shorten(target: &Target, mut broken: Broken) -> Broken {
    let begin = Instant::now();
    let mut part = broken.input.len().div_ceil(2);
    while part > 0 {
        let mut at = 0;
        while at < broken.input.len() && begin.elapsed() < Duration::from_secs(20) {
            let mut shorter = broken.input.clone();
            shorter.drain(at..(at + part).min(shorter.len()));
            match look(target, &shorter) {
                Some(why) => broken = Broken { input: shorter, why },
                None => at += part,
            }
        }
        part /= 2;
    }
    broken
}

/// Leaves an input below `directory`; where.
///
/// # Panics
/// It cannot be written.
pub fn save(directory: &Path, target: &str, input: &[u8]) -> PathBuf {
    let found = directory.join("found");
    std::fs::create_dir_all(&found).unwrap_or_else(|error| panic!("{}: {error}", found.display()));
    // FNV-1a: the same input has the same name.
    let hash = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let path = found.join(format!("{target}-{hash:016x}"));
    std::fs::write(&path, input).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}
