//! A fixed computation, whose CPU time shows the speed of a machine.

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::Duration;

/// The size of the table in words of eight bytes: 2 MiB, more than the first caches of a CPU.
const WORDS: usize = 1 << 18;
const STEPS: u32 = 4_000_000;
/// The median of this number of repetitions counts.
const REPETITIONS: usize = 3;

/// The CPU time of the computation. It takes less than a second.
pub fn cpu_time() -> Duration {
    let mut table: Vec<u64> = (0..WORDS as u64).collect();
    let mut times = [(); REPETITIONS].map(|()| {
        let begin = own_time();
        black_box(walk(&mut table));
        own_time().saturating_sub(begin)
    });
    times.sort_unstable();
    times[REPETITIONS / 2]
}

/// The CPU time of this thread.
fn own_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).unwrap_or_default()
}

/// Changes the words of a table in an order that depends on them, so that no step can begin before
/// the last one has ended. The mixing is that of SplitMix64 (Steele, Lea and Flood, 2014).
fn walk(table: &mut [u64]) -> u64 {
    let mut state = 1_u64;
    for _ in 0..STEPS {
        let place = usize::try_from(state % WORDS as u64).unwrap_or_default();
        let mut mixed = state ^ table[place];
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[place] = mixed;
        state = mixed ^ (mixed >> 31);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computation_takes_cpu_time() {
        assert!(cpu_time() > Duration::ZERO);
    }
}
