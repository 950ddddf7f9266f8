//! Fuzzes the parsers, the policy compiler and the checkers of millibox.
//!
//! * A [`Target`] processes bytes and panics if a property is violated. Properties are round
//!   trips, agreement with a slow and simple model, errors that name their line, and the absence of
//!   panics.
//! * The **corpus** of a target (`fuzz/corpus/TARGET/`) contains real input and every input that
//!   ever violated a property.
//! * The fuzzer creates new inputs by mutating others ([`mutate`]). `make fuzz` compiles the code
//!   with a counter in every branch. With these counters, inputs that reach new code are mutated
//!   too ([`coverage`]). Without counters, the fuzzer mutates only the corpus.
//! * Processing an input may take at most [`MAX_HEAP_BYTES`] and [`INPUT_TIMEOUT`].
//!
//! ```text
//! make fuzz ARGS='--seconds 600'               # all targets, ten minutes in total
//! make fuzz ARGS='--seconds 600 tokens zip'    # two targets
//! make fuzz ARGS='--input FILE tokens'         # one input
//! ```
//!
//! The fuzzer shortens an input that violates a property and writes it to `fuzz/found/`. After the
//! bug is fixed, move the input to the corpus. `make test` processes the corpus, and new inputs for
//! a few seconds per target.
//!
//! | module | contents |
//! | --- | --- |
//! | [`targets`] | the targets, one file for each part of the project |
//! | [`mutate`] | creates new inputs from old ones |
//! | [`engine`] | the fuzzing loop, and the handling of violations |
//! | [`coverage`] | records the branches that an input took |
//! | [`memory`] | measures the heap memory that an input took |

pub mod coverage;
pub mod engine;
pub mod memory;
pub mod mutate;
pub mod targets;

use std::path::PathBuf;
use std::time::Duration;

/// The maximum growth of the heap in bytes while a target processes one input.
pub const MAX_HEAP_BYTES: usize = 256 << 20;

/// The time limit for one input. It is generous, so that only a hang exceeds it on a slow machine.
pub const INPUT_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum length of a new input.
pub const MAX_INPUT_BYTES: usize = 8 << 10;

/// A function to fuzz, with its properties.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of the target and of its directory in the corpus.
    pub name: &'static str,
    /// Processes one input; panics if a property is violated.
    pub run: fn(&[u8]),
    /// Strings that are typical for the target's inputs.
    pub dictionary: &'static [&'static str],
}

impl Target {
    /// Reads the target's corpus: the path and content of every file, sorted by path.
    ///
    /// # Panics
    /// The corpus is empty or cannot be read.
    pub fn corpus(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(self.name);
        let entries = std::fs::read_dir(&directory)
            .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let mut files: Vec<_> = entries
            .map(|entry| {
                let path = entry.expect("a directory entry").path();
                let bytes = std::fs::read(&path)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                (path, bytes)
            })
            .collect();
        files.sort();
        assert!(
            !files.is_empty(),
            "the corpus {} is empty",
            directory.display()
        );
        files
    }
}
