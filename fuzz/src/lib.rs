//! Whatever bytes a stranger, a problem setter or a mistake gives: what must hold of them.
//!
//! The words of this world:
//!
//! * a [`Target`] takes bytes and panics if something does not hold: a round trip, agreement with
//!   a slow and obvious model, an error that names its line; not only that nothing panics by itself;
//! * its **corpus** (`fuzz/corpus/TARGET/`) is real input, and every input that ever broke it;
//! * an input is made by changing others ([`mutate`]). Built with counters in every branch, as
//!   `make fuzz` does, an input that reaches something new joins those that are changed
//!   ([`coverage`]); built without, only the corpus is;
//! * an input may take [`MOST_MEMORY`] and [`PATIENCE`].
//!
//! ```text
//! make fuzz ARGS='--seconds 600'               # all targets in turn, ten minutes together
//! make fuzz ARGS='--seconds 600 tokens zip'    # these two
//! make fuzz ARGS='--input FILE tokens'         # one input again
//! ```
//!
//! An input that breaks a target is made shorter, and left in `fuzz/found/`. Once mended, it moves
//! to the corpus, which `make test` runs, with some seconds of new inputs for each target.
//!
//! | file | what |
//! | --- | --- |
//! | `targets` | the targets, one file for each part of the project |
//! | `mutate` | new inputs from old ones |
//! | `engine` | the loop, and what becomes of what it finds |
//! | `coverage` | which branches an input took |
//! | `memory` | how much memory an input took |

pub mod coverage;
pub mod engine;
pub mod memory;
pub mod mutate;
pub mod targets;

use std::path::PathBuf;
use std::time::Duration;

/// Bytes that the heap may grow by while one input is looked at.
pub const MOST_MEMORY: usize = 256 << 20;

/// Longer than any input takes on a slow and busy machine: only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Longest input in bytes that is made.
pub const LONGEST: usize = 8 << 10;

/// Something that takes bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its directory in the corpus.
    pub name: &'static str,
    /// Takes one input; panics if what must hold does not.
    pub run: fn(&[u8]),
    /// Words that its inputs have.
    pub words: &'static [&'static str],
}

impl Target {
    /// Its corpus: every file, by name.
    ///
    /// # Panics
    /// There is none, or it cannot be read.
    pub fn corpus(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name);
        let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let mut files: Vec<_> = entries
            .map(|entry| {
                let path = entry.expect("an entry").path();
                let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                (path, bytes)
            })
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{} is empty", directory.display());
        files
    }
}
