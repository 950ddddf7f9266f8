//! Which branches an input took, if the code was compiled to count them.
//!
//! LLVM's pass `sancov-module` gives every edge of a function's graph a counter of one byte and
//! calls [`__sanitizer_cov_8bit_counters_init`] with each module's counters at the start. The pass
//! can be had on stable (`-C passes=sancov-module`); `make fuzz` sets the flags.

#![allow(unsafe_code, reason = "the compiler hands over its counters as pointers")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

static COUNTERS: Mutex<Vec<&'static [AtomicU8]>> = Mutex::new(Vec::new());

/// Called by what the compiler added to each module, before main.
///
/// # Safety
/// `start` to `stop` are the counters of a module that is never unloaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let length = (stop as usize).saturating_sub(start as usize);
    if length == 0 {
        return;
    }
    // SAFETY: the caller's promise. An AtomicU8 is as a u8; the instrumented code writes plainly,
    // which on one thread, with `black_box`-like calls in between, is seen here.
    let counters = unsafe { std::slice::from_raw_parts(start.cast::<AtomicU8>(), length) };
    let mut all = COUNTERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !all.iter().any(|known| std::ptr::eq(known.as_ptr(), counters.as_ptr())) {
        all.push(counters);
    }
}

/// What has been reached so far.
#[derive(Debug)]
pub struct Reached {
    counters: Vec<&'static [AtomicU8]>,
    /// For each counter the orders of magnitude that were seen, one bit for each.
    seen: Vec<u8>,
}

impl Reached {
    /// Nothing yet.
    pub fn nothing() -> Reached {
        let counters = COUNTERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let seen = vec![0; counters.iter().map(|part| part.len()).sum()];
        Reached { counters, seen }
    }

    /// Whether the code counts at all.
    pub fn counts(&self) -> bool {
        !self.counters.is_empty()
    }

    /// Begins anew to count.
    pub fn clear(&self) {
        self.counters.iter().flat_map(|part| part.iter()).for_each(|counter| counter.store(0, Relaxed));
    }

    /// Adds what was counted since; whether there was anything new.
    pub fn add(&mut self) -> bool {
        let mut new = false;
        let counters = self.counters.iter().flat_map(|part| part.iter());
        for (counter, seen) in counters.zip(&mut self.seen) {
            let count = counter.load(Relaxed);
            if count == 0 {
                continue;
            }
            // 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128-: as AFL has them.
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
                new = true;
            }
        }
        new
    }

    /// How many edges were taken at all.
    pub fn edges(&self) -> usize {
        self.seen.iter().filter(|seen| **seen != 0).count()
    }
}
