//! Workers and jobs take turns on the CPUs that judge.
//!
//! A worker has its turn while it judges one submission. A job that measures times takes the turns
//! of all workers on a CPU, so that nothing else runs there in the meantime. Waiting workers and
//! jobs receive their turns in the order of arrival.

use tokio::sync::{Mutex, MutexGuard};

/// The turns of all workers.
#[derive(Debug)]
pub struct Turns {
    workers: Vec<(usize, Mutex<()>)>,
}

/// The turns of all workers on a CPU, until this value is dropped.
#[derive(Debug)]
pub struct Reserved<'t> {
    /// The CPU.
    pub cpu: usize,
    _turns: Vec<MutexGuard<'t, ()>>,
}

impl Turns {
    /// Creates the turns of workers with these CPUs.
    pub fn of(cpus: &[usize]) -> Turns {
        let workers = cpus.iter().map(|cpu| (*cpu, Mutex::new(())));
        Turns {
            workers: workers.collect(),
        }
    }

    /// Waits for the turn of a worker. Blocks the thread.
    pub fn take(&self, worker: usize) -> MutexGuard<'_, ()> {
        self.workers[worker].1.blocking_lock()
    }

    /// Takes a CPU on which no worker judges, or waits for the first one. Blocks the thread.
    pub fn reserve(&self) -> Reserved<'_> {
        let all = self.workers.iter().map(|(cpu, _)| *cpu);
        let idle = all.clone().find_map(|cpu| self.try_reserve(cpu));
        idle.unwrap_or_else(|| {
            let cpu = all.clone().next().unwrap_or_default();
            let turns = self.of_cpu(cpu).map(Mutex::blocking_lock).collect();
            Reserved { cpu, _turns: turns }
        })
    }

    fn of_cpu(&self, cpu: usize) -> impl Iterator<Item = &Mutex<()>> {
        let workers = self.workers.iter();
        workers.filter_map(move |(own, turn)| (*own == cpu).then_some(turn))
    }

    fn try_reserve(&self, cpu: usize) -> Option<Reserved<'_>> {
        let turns = self.of_cpu(cpu).map(Mutex::try_lock);
        let turns = turns.collect::<Result<Vec<_>, _>>().ok()?;
        Some(Reserved { cpu, _turns: turns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn reserved_cpu_is_idle() {
        let turns = Turns::of(&[3, 2, 3]);
        let first = turns.take(0);
        let reserved = turns.reserve();
        assert_eq!(reserved.cpu, 2, "a worker judges on the CPU 3");
        drop(first);
        let second = turns.reserve();
        assert_eq!(second.cpu, 3);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(turns.take(2)));
            std::thread::sleep(Duration::from_millis(50));
            assert!(!waiting.is_finished(), "the worker waits for the CPU");
            drop(second);
            waiting.join().unwrap();
        });
    }
}
