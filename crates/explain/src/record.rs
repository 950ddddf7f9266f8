//! What a trace has seen, in tables with a bound.

use std::collections::HashMap;
use std::hash::Hash;

/// The maximum number of distinct refusals.
const MAX_REFUSALS: usize = 256;
/// The maximum number of distinct pairs of a path and an error.
const MAX_PATHS: usize = 4096;
/// The maximum number of bytes of all paths together.
const MAX_PATH_BYTES: usize = 1 << 20;

/// A refused call: all fields that decide the answer, apart from the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Refusal {
    pub arch: u32,
    pub nr: u32,
    /// The seccomp program's result, `SECCOMP_RET_*` with its data.
    pub result: u32,
    /// The index of the rule in the policy, if the policy is known and a rule decided.
    pub rule: Option<usize>,
}

/// A failed look-up. The path begins with `/`, or its directory is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Failed {
    pub path: Vec<u8>,
    pub errno: i32,
}

/// Counts of keys. Keys that exceed the bound are counted together.
#[derive(Debug)]
pub struct Counts<K> {
    counts: HashMap<K, u64>,
    max_keys: usize,
    /// The number of events whose keys did not fit.
    pub left_out: u64,
}

impl<K: Eq + Hash + Ord + Clone> Counts<K> {
    fn new(max_keys: usize) -> Counts<K> {
        Counts {
            counts: HashMap::new(),
            max_keys,
            left_out: 0,
        }
    }

    /// Counts an event. `fits` is called for a new key. Returns whether the key is new.
    fn add(&mut self, key: K, fits: bool) -> bool {
        if let Some(count) = self.counts.get_mut(&key) {
            *count = count.saturating_add(1);
            return false;
        }
        if !fits || self.counts.len() >= self.max_keys {
            self.left_out = self.left_out.saturating_add(1);
            return false;
        }
        self.counts.insert(key, 1);
        true
    }

    /// The keys with their counts, in the order of the keys.
    pub fn sorted(&self) -> Vec<(K, u64)> {
        let mut all: Vec<_> = (self.counts.iter())
            .map(|(key, count)| (key.clone(), *count))
            .collect();
        all.sort();
        all
    }
}

/// Everything that a trace has seen.
#[derive(Debug)]
pub struct Record {
    pub refusals: Counts<Refusal>,
    pub failed: Counts<Failed>,
    path_bytes: usize,
    /// The number of paths that could not be read.
    pub unreadable: u64,
}

impl Record {
    pub fn new() -> Record {
        Record {
            refusals: Counts::new(MAX_REFUSALS),
            failed: Counts::new(MAX_PATHS),
            path_bytes: 0,
            unreadable: 0,
        }
    }

    pub fn add_refusal(&mut self, refusal: Refusal) {
        self.refusals.add(refusal, true);
    }

    /// Leaves out all paths, but counts them.
    pub fn omit_paths(&mut self) {
        let counts = std::mem::take(&mut self.failed.counts);
        let omitted = counts.into_values().fold(0, u64::saturating_add);
        self.failed.left_out = self.failed.left_out.saturating_add(omitted);
    }

    pub fn add_failed(&mut self, failed: Failed) {
        let bytes = failed.path.len();
        let fits = self.path_bytes + bytes <= MAX_PATH_BYTES;
        if self.failed.add(failed, fits) {
            self.path_bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_bounded_and_count_what_they_leave_out() {
        let mut record = Record::new();
        for index in 0..10_000u32 {
            record.add_refusal(Refusal {
                arch: 0,
                nr: index,
                result: 0,
                rule: None,
            });
            for _ in 0..2 {
                record.add_failed(Failed {
                    path: format!("/{index}").into(),
                    errno: libc::ENOENT,
                });
            }
        }
        assert_eq!(record.refusals.sorted().len(), MAX_REFUSALS);
        assert_eq!(record.refusals.left_out, 10_000 - MAX_REFUSALS as u64);
        let failed = record.failed.sorted();
        assert!(failed.iter().all(|(_, count)| *count == 2));
        assert_eq!(
            failed.len() as u64 * 2 + record.failed.left_out,
            20_000,
            "every event is counted"
        );
    }

    #[test]
    fn long_paths_are_bounded_in_total() {
        let mut record = Record::new();
        for index in 0..MAX_PATHS {
            let mut path = vec![b'x'; 4000];
            path.extend(index.to_string().bytes());
            let errno = libc::ENOENT;
            record.add_failed(Failed { path, errno });
        }
        let bytes: usize = (record.failed.sorted().iter())
            .map(|(failed, _)| failed.path.len())
            .sum();
        assert!(bytes <= MAX_PATH_BYTES, "{bytes}");
        assert!(record.failed.left_out > 0);
    }
}
