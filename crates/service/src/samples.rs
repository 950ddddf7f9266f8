//! The load of the last minutes: one sample per second, for the charts of the status page.

use crate::core::queue::Load;
use crate::metrics::Totals;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of samples that are kept: ten minutes.
pub const MAX_SAMPLES: usize = 600;

/// The load and the counters at a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The requests that ran and waited.
    pub load: Load,
    /// Executions since the start of the service.
    pub executed: u64,
    /// Refused requests since the start of the service.
    pub refused: u64,
}

impl Sample {
    /// The sample of this load and these counts.
    pub fn new(load: Load, totals: &Totals) -> Sample {
        Sample {
            load,
            executed: totals.executed(),
            refused: totals.refused,
        }
    }
}

/// The samples of the last ten minutes.
#[derive(Debug, Default)]
pub struct Samples {
    kept: Mutex<VecDeque<Sample>>,
}

impl Samples {
    /// Adds a sample and drops the oldest one if [`MAX_SAMPLES`] are kept.
    pub fn add(&self, sample: Sample) {
        let mut kept = self.kept();
        if kept.len() == MAX_SAMPLES {
            kept.pop_front();
        }
        kept.push_back(sample);
    }

    /// All samples, the oldest first.
    pub fn all(&self) -> Vec<Sample> {
        self.kept().iter().copied().collect()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Sample>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_the_latest_ten_minutes() {
        let samples = Samples::default();
        let load = Load {
            running: 0,
            running_in: [0; 2],
            memory_bytes: 0,
            queued: 0,
            queued_bytes: 0,
            held_bytes: 0,
        };
        for executed in 0..700 {
            samples.add(Sample {
                load,
                executed,
                refused: 0,
            });
        }
        let all = samples.all();
        assert_eq!(all.len(), MAX_SAMPLES);
        assert_eq!((all[0].executed, all[599].executed), (100, 699));
    }
}
