//! CPUs of threads.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// The CPUs that this process may use.
///
/// # Errors
/// The kernel does not report them.
pub fn usable() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}

/// Moves this thread, and the threads and processes that it starts, to some CPUs.
pub fn pin(cpus: &[usize]) {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu);
    }
    if let Err(error) = sched_setaffinity(None, &set) {
        // The thread still works, but may run on any CPU.
        tracing::warn!(%error, ?cpus, "cannot choose the CPUs of a thread");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_thread_stays_on_its_cpus() {
        let all = usable().unwrap();
        let last = all[all.len() - 1];
        let thread = std::thread::spawn(move || {
            pin(&[last]);
            usable().unwrap()
        });
        assert_eq!(thread.join().unwrap(), [last]);
        assert_eq!(usable().unwrap(), all);
    }
}
