//! Which CPU each home is held on, and with it its zygote, pid1, and the tracee before its program.
//!
//! They wake each other a dozen times for a run; on one CPU that costs a switch, across CPUs an
//! interrupt, which is dear in a virtual machine. A pinned slot's programs are held there as well.
//! Any other program may use all CPUs: its tracee leaves the home's CPU just before the exec. There
//! the kernel looks for a CPU that has less to do (`sched_exec()` in kernel/sched/core.c), and a program that is moved
//! then waits for a thread of the kernel and for an idle CPU to wake up. So a run is to find its home's CPU free, which it is
//! not where the run before it is being taken apart and another prepared: [`Cpus::of_home`] spreads homes over
//! CPUs as far as there are enough, and of those that are ready the supervisor takes the one on whose CPU it has launched
//! nothing for the longest time (`supervisor/dispatch.rs`).

use crate::launch::CPU_WORDS;
use crate::sys::calls;

/// What the supervisor knows of the CPUs that it may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus {
    /// Their numbers, ascending; never empty.
    allowed: Vec<usize>,
    /// Where in `allowed` the first home is.
    first: usize,
    slots: usize,
    homes_per_slot: usize,
    pin: bool,
    mask: Vec<u64>,
}

impl Cpus {
    /// Looks at our own affinity.
    ///
    /// Unless slots are pinned, homes begin with the CPU that we are on, which the scheduler has just chosen for us: of many
    /// supervisors with a slot each, all would else be on the first.
    pub fn look(slots: usize, homes_per_slot: usize, pin: bool) -> Cpus {
        let mut mask = [0u64; CPU_WORDS];
        let words = calls::get_affinity(&mut mask).unwrap_or(0);
        let is_set = |&cpu: &usize| mask.get(cpu / 64).is_some_and(|word| word & 1 << (cpu % 64) != 0);
        let allowed = (0..words * 64).filter(is_set).collect();
        Cpus::of(allowed, rustix::thread::sched_getcpu(), slots, homes_per_slot, pin)
    }

    fn of(mut allowed: Vec<usize>, here: usize, slots: usize, homes_per_slot: usize, pin: bool) -> Cpus {
        if allowed.is_empty() {
            allowed.push(here);
        }
        let first = if pin { 0 } else { allowed.iter().position(|&cpu| cpu == here).unwrap_or(0) };
        let mask = mask_of(&allowed);
        Cpus { allowed, first, slots, homes_per_slot: homes_per_slot.max(1), pin, mask }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.allowed.len()
    }

    /// Where a home is held.
    ///
    /// A pinned slot has a CPU. So have slots of which there is one or more for each CPU, as all of them are busy then. Fewer
    /// slots' homes are spread over all CPUs.
    pub fn of_home(&self, index: usize) -> usize {
        let slot = index / self.homes_per_slot;
        let number = if self.pin || self.slots >= self.count() { slot } else { index };
        self.allowed.get((self.first + number) % self.count()).copied().unwrap_or(0)
    }

    /// Above all their numbers.
    pub fn end(&self) -> usize {
        self.allowed.last().map_or(0, |cpu| cpu + 1)
    }

    /// What a tracee leaves its home's CPU for if its request names no CPUs, as an affinity mask; `None`: it stays.
    pub fn of_programs(&self) -> Option<&[u64]> {
        (!self.pin).then_some(&self.mask)
    }
}

/// These CPUs, as an affinity mask (sched_setaffinity(2)).
pub fn mask_of(cpus: &[usize]) -> Vec<u64> {
    let words = cpus.iter().map(|cpu| cpu / 64 + 1).max().unwrap_or(0);
    let mut mask = vec![0; words];
    for cpu in cpus {
        if let Some(word) = mask.get_mut(cpu / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes(allowed: &[usize], here: usize, slots: usize, homes: usize, pin: bool) -> Vec<usize> {
        let cpus = Cpus::of(allowed.to_vec(), here, slots, homes, pin);
        (0..slots * homes).map(|index| cpus.of_home(index)).collect()
    }

    #[test]
    fn a_lone_slots_homes_are_on_different_cpus_beginning_where_we_are() {
        assert_eq!(homes(&[0, 1, 2, 3], 2, 1, 3, false), [2, 3, 0]);
        assert_eq!(homes(&[0, 1], 1, 1, 3, false), [1, 0, 1]);
        assert_eq!(homes(&[5], 5, 1, 3, false), [5, 5, 5]);
    }

    #[test]
    fn with_a_slot_for_each_cpu_a_slot_has_one() {
        assert_eq!(homes(&[0, 1], 0, 2, 2, false), [0, 0, 1, 1]);
        assert_eq!(homes(&[3, 7], 7, 4, 1, false), [7, 3, 7, 3]);
        assert_eq!(homes(&[0, 1, 2, 3], 3, 2, 2, false), [3, 0, 1, 2]);
    }

    #[test]
    fn pinned_slots_are_counted_from_the_first_cpu() {
        assert_eq!(homes(&[1, 3], 3, 2, 2, true), [1, 1, 3, 3]);
        assert_eq!(homes(&[1, 3, 5], 5, 1, 3, true), [1, 1, 1]);
    }

    #[test]
    fn a_mask_has_a_bit_for_each() {
        assert_eq!(mask_of(&[0, 65]), [1, 2]);
        assert_eq!(Cpus::of(vec![2, 3], 2, 1, 3, false).of_programs(), Some([0b1100].as_slice()));
    }
}
