//! Records which branches an input took, if the code was compiled with counters.
//!
//! LLVM's pass `sancov-module` adds a counter of one byte to every edge of a function's control
//! flow graph. At startup, each module passes its counters to
//! [`__sanitizer_cov_8bit_counters_init`]. The pass works with stable Rust (`-C
//! passes=sancov-module`); `make fuzz` sets the flags.

#![allow(
    unsafe_code,
    reason = "the compiler hands over its counters as pointers"
)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

static COUNTERS: Mutex<Vec<&'static [AtomicU8]>> = Mutex::new(Vec::new());

/// Registers the counters of a module. The compiler adds a call to each module, before `main`.
///
/// # Safety
/// `start` to `stop` must be the counters of a module that is never unloaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let length = (stop as usize).saturating_sub(start as usize);
    if length == 0 {
        return;
    }
    // SAFETY: the caller guarantees that the range is valid for the whole run. AtomicU8 and u8 have
    // the same layout. The instrumented code writes the counters without atomics, but on the thread
    // that reads them here, with opaque calls in between.
    let counters = unsafe { std::slice::from_raw_parts(start.cast::<AtomicU8>(), length) };
    let mut all = COUNTERS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if !all
        .iter()
        .any(|known| std::ptr::eq(known.as_ptr(), counters.as_ptr()))
    {
        all.push(counters);
    }
}

/// The branches that all inputs so far have taken.
#[derive(Debug)]
pub struct Coverage {
    counters: Vec<&'static [AtomicU8]>,
    /// For each counter, one bit for each class of counts that occurred.
    seen: Vec<u8>,
}

impl Coverage {
    /// An empty coverage.
    pub fn empty() -> Coverage {
        let counters = COUNTERS
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .clone();
        let seen = vec![0; counters.iter().map(|part| part.len()).sum()];
        Coverage { counters, seen }
    }

    /// Returns whether the code was compiled with counters.
    pub fn is_available(&self) -> bool {
        !self.counters.is_empty()
    }

    /// Resets all counters to 0.
    pub fn reset_counters(&self) {
        self.counters
            .iter()
            .flat_map(|part| part.iter())
            .for_each(|counter| counter.store(0, Relaxed));
    }

    /// Adds the counts since the last reset. Returns whether they include a new branch, or a new
    /// class of counts for a known branch.
    pub fn add_counts(&mut self) -> bool {
        let mut is_new = false;
        let counters = self.counters.iter().flat_map(|part| part.iter());
        for (counter, seen) in counters.zip(&mut self.seen) {
            let count = counter.load(Relaxed);
            if count == 0 {
                continue;
            }
            // The classes of AFL: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128-255.
            let class = match count {
                0..=3 => count - 1,
                4..=7 => 3,
                8..=15 => 4,
                16..=31 => 5,
                32..=127 => 6,
                _ => 7,
            };
            if *seen & 1 << class == 0 {
                *seen |= 1 << class;
                is_new = true;
            }
        }
        is_new
    }

    /// The number of edges taken at least once.
    pub fn edges(&self) -> usize {
        self.seen.iter().filter(|seen| **seen != 0).count()
    }
}
