//! The division of the CPUs between judging and everything else.
//!
//! The threads that serve pages never run on a CPU that judges, so a rush of visitors does not
//! change measured times, and judging does not slow pages down. With one CPU, or with as many
//! workers as CPUs, they share all CPUs.

pub use millibox_worker::cpus::{pin, usable};

/// The CPUs of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus {
    /// The CPU of each worker.
    pub workers: Vec<usize>,
    /// The CPUs that serve pages.
    pub pages: Vec<usize>,
}

impl Cpus {
    /// Divides CPUs. Without a number of workers, one CPU is left for pages if there are several.
    pub fn divide(all: &[usize], workers: Option<u16>) -> Cpus {
        let count = match workers {
            Some(workers) => usize::from(workers),
            None => all.len().saturating_sub(1).max(1),
        };
        let workers: Vec<usize> = all.iter().rev().copied().cycle().take(count).collect();
        let is_free = |cpu: &usize| !workers.contains(cpu);
        let mut pages: Vec<usize> = all.iter().copied().filter(is_free).collect();
        if pages.is_empty() {
            pages = all.to_vec();
        }
        Cpus { workers, pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_cpus_that_do_not_judge() {
        let divided = |all: &[usize], workers| {
            let cpus = Cpus::divide(all, workers);
            (cpus.workers, cpus.pages)
        };
        assert_eq!(divided(&[0, 1], None), (vec![1], vec![0]));
        assert_eq!(divided(&[2, 5, 7], None), (vec![7, 5], vec![2]));
        assert_eq!(divided(&[0, 1, 2, 3], Some(1)), (vec![3], vec![0, 1, 2]));
        assert_eq!(divided(&[3], None), (vec![3], vec![3]));
        assert_eq!(divided(&[0, 1], Some(3)), (vec![1, 0, 1], vec![0, 1]));
    }
}
