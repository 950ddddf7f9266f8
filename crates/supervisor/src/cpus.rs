//! Which CPUs there are, and which one each runner is held on, and with it its zygote, pid1, and
//! the target before its program.
//!
//! They wake each other a dozen times for a run; on one CPU that costs a switch, across CPUs an
//! interrupt, which is dear in a virtual machine. A pinned slot's programs are held there as well.
//! Any other program may use all CPUs: its target leaves the runner's CPU just before the exec.
//! There the kernel looks for a CPU that has less to do (`sched_exec()` in kernel/sched/core.c),
//! and a program that is moved then waits for a thread of the kernel and for an idle CPU to wake
//! up. So a run is to find its runner's CPU free, which it is not where the run before it is being
//! taken apart and another prepared: [`Cpus::of_runner`] spreads runners over CPUs as far as there
//! are enough, and of those that are ready the supervisor takes the one on whose CPU it has
//! launched nothing for the longest time (`supervisor/dispatch.rs`).
//!
//! While the run of a lone slot goes on another CPU has nothing to do. So such a slot's runners are
//! held on all CPUs but one, where the supervisor is, [`Cpus::of_runs`]: there it has target and
//! pid1 wake up, who come from their runner's CPU, where they were prepared, and back there pid1
//! goes with its word said, to be taken apart. From request to result nobody is woken across CPUs
//! then, and finds nothing else there.

use crate::messages::errno_text;
use crate::sys::calls;
use millibox_seccomp::{Arch, Data, Program};

/// CPUs that the kernel can be asked about (`CONFIG_NR_CPUS` is at most 8192).
const MOST_CPUS: usize = 8192;
/// CPUs that a [`crate::launch::Launch`] can name.
const NAMEABLE: usize = millibox_wire::MOST_CPUS;

/// What the supervisor knows of the CPUs that it may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus {
    /// Their numbers, ascending. Empty: they are not known, or have numbers that cannot be named,
    /// and nobody is held anywhere.
    allowed: Vec<usize>,
    /// Where in `allowed` the first runner is.
    first: usize,
    /// All that a process of ours could ask for.
    machine: usize,
    slots: usize,
    runners_per_slot: usize,
    pin: bool,
    mask: Vec<u64>,
    /// Where a lone slot's runs begin, as an affinity mask; empty: at their runners.
    of_runs: Vec<u64>,
}

impl Cpus {
    /// Chooses the CPUs that we, and all runs, use from now on: those that were `asked` for, or all
    /// but those that the host has set apart (`isolcpus=`: the scheduler places nobody there, so
    /// neither do we).
    ///
    /// What our caller was held on is not the runs'.
    ///
    /// # Errors
    /// In words: CPUs were asked for that cannot be used.
    pub fn take(
        asked: &[usize],
        slots: usize,
        runners_per_slot: usize,
        pin: bool,
    ) -> Result<Cpus, String> {
        let _ = calls::set_affinity(&[u64::MAX; MOST_CPUS / 64]);
        let machine = affinity();
        let mut allowed = machine.clone();
        if asked.is_empty() {
            let isolated =
                std::fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default();
            let isolated = numbers_of(&isolated);
            allowed.retain(|cpu| !isolated.contains(cpu));
            if allowed.is_empty() {
                allowed.clone_from(&machine);
            }
        } else {
            if let Some(cpu) = asked
                .iter()
                .find(|cpu| !machine.is_empty() && !machine.contains(cpu))
            {
                return Err(format!(
                    "--cpus: there is no CPU {cpu} that we may use, only {machine:?}: name some of \
                     those"
                ));
            }
            allowed = asked.to_vec();
        }
        if allowed != machine
            && let Err(errno) = calls::set_affinity(&mask_of(&allowed))
            && !asked.is_empty()
        {
            return Err(format!(
                "--cpus: cannot use CPUs {allowed:?}: {}",
                errno_text(errno)
            ));
        }
        let count = if machine.is_empty() {
            at_least_one()
        } else {
            machine.len()
        };
        Ok(Cpus::of(
            allowed,
            calls::current_cpu(),
            count,
            slots,
            runners_per_slot,
            pin,
        ))
    }

    /// Unless slots are pinned, runners begin with the CPU that we are on, which the scheduler has
    /// just chosen for us: of many supervisors with a slot each, all would else be on the first.
    fn of(
        mut allowed: Vec<usize>,
        here: Option<usize>,
        machine: usize,
        slots: usize,
        runners_per_slot: usize,
        pin: bool,
    ) -> Cpus {
        if allowed.last().is_some_and(|&cpu| cpu >= NAMEABLE) {
            allowed.clear();
        }
        let first = allowed
            .iter()
            .position(|&cpu| Some(cpu) == here && !pin)
            .unwrap_or(0);
        let mask = mask_of(&allowed);
        let is_lone = slots == 1 && !pin && allowed.len() > 1;
        let of_runs = mask_of(
            allowed
                .get(first..=first)
                .filter(|_| is_lone)
                .unwrap_or_default(),
        );
        Cpus {
            allowed,
            first,
            machine,
            slots,
            runners_per_slot: runners_per_slot.max(1),
            pin,
            mask,
            of_runs,
        }
    }

    /// For who cannot say which process a target is: a lone slot's runs begin where their runners
    /// are.
    pub fn begin_at_runners(&mut self) {
        self.of_runs.clear();
    }

    /// Where a lone slot's runs begin, and its supervisor is, as an affinity mask; `None`: at their
    /// runners.
    pub fn of_runs(&self) -> Option<&[u64]> {
        (!self.of_runs.is_empty()).then_some(&self.of_runs)
    }

    /// Where a runner is held; `None`: nowhere.
    ///
    /// A pinned slot has a CPU. So have slots of which there is one or more for each CPU, as all of
    /// them are busy then. Fewer slots' runners are spread over all CPUs, a lone one's over all but
    /// that of its runs.
    pub fn of_runner(&self, index: usize) -> Option<usize> {
        let count = self.allowed.len();
        let slot = index / self.runners_per_slot;
        let number = match self.of_runs() {
            Some(_) => 1 + index % (count - 1),
            None if self.pin || self.slots >= count => slot,
            None => index,
        };
        self.allowed
            .get((self.first + number).checked_rem(count)?)
            .copied()
    }

    /// Above all their numbers.
    pub fn end(&self) -> usize {
        self.allowed.last().map_or(0, |cpu| cpu + 1)
    }

    /// What a target leaves its runner's CPU for if its request names no CPUs, as an affinity mask;
    /// `None`: it stays.
    pub fn of_programs(&self) -> Option<&[u64]> {
        (!self.pin && !self.allowed.is_empty()).then_some(&self.mask)
    }

    /// Whether a runner that cannot be held on its CPU must not run anything.
    pub fn pinned(&self) -> bool {
        self.pin
    }

    /// How many CPUs a run can compute on at once: of those its request names, or ours, unless its
    /// program may choose others.
    pub fn at_once(&self, named: Option<&[u64]>, may_choose: bool) -> u64 {
        let at_once = match named {
            _ if may_choose => self.machine,
            Some(mask) => mask
                .iter()
                .map(|word| word.count_ones() as usize)
                .sum::<usize>()
                .min(self.machine),
            None if self.allowed.is_empty() => self.machine,
            None if self.pin => 1,
            None => self.allowed.len(),
        };
        at_once.max(1) as u64
    }
}

/// Whether a program may call sched_setaffinity(2), in whatever way.
pub fn may_choose(seccomp: Option<&Program>) -> bool {
    may_call(seccomp, libc::SYS_sched_setaffinity as u32, [241, 241])
}

/// Whether a program may make namespaces: by unshare(2), or by clone3(2), whose arguments no
/// seccomp program sees. (One that looks at the flags of clone(2) for this refuses those two.)
pub fn may_make_namespaces(seccomp: Option<&Program>) -> bool {
    may_call(seccomp, libc::SYS_unshare as u32, [310, 337])
        || may_call(seccomp, libc::SYS_clone3 as u32, [435, 435])
}

/// Whether a program may make a call, which has these numbers for i386 and 32-bit Arm.
fn may_call(seccomp: Option<&Program>, number: u32, [i386, arm]: [u32; 2]) -> bool {
    let Some(program) = seccomp else { return true };
    let native = Arch::native().audit_value();
    // The ways of x32, i386 and 32-bit Arm (arch/x86/entry/syscalls,
    // arch/arm64/tools/syscall_32.tbl).
    let ways = [
        (native, number),
        (native, number | 0x4000_0000),
        (0x4000_0003, i386),
        (0x4000_0028, arm),
    ];
    let refused = |action: u32| matches!(action & 0xffff_0000, 0 | 0x0005_0000 | 0x8000_0000);
    // Of the caller itself, of another process. A program that looks at arguments may let others
    // pass than these.
    let calls = [
        [0; 6],
        [1, u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX],
    ];
    !ways.iter().all(|&(arch, nr)| {
        calls.iter().all(|&args| {
            refused(millibox_seccomp::run(
                program,
                &Data {
                    nr,
                    arch,
                    args,
                    ..Data::default()
                },
            ))
        })
    }) || millibox_seccomp::constant_action(program, Arch::native(), number).is_none()
}

/// Our own affinity, as numbers; empty: the kernel does not say.
fn affinity() -> Vec<usize> {
    let mut mask = [0u64; MOST_CPUS / 64];
    let words = calls::get_affinity(&mut mask).unwrap_or(0);
    let is_set = |&cpu: &usize| {
        mask.get(cpu / 64)
            .is_some_and(|word| word & 1 << (cpu % 64) != 0)
    };
    (0..words * 64).filter(is_set).collect()
}

fn at_least_one() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The numbers of a list such as `0,2-5` (cpuset(7), "List format").
fn numbers_of(list: &str) -> Vec<usize> {
    let number = |text: &str| {
        text.trim()
            .parse::<usize>()
            .ok()
            .filter(|&cpu| cpu < MOST_CPUS)
    };
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => Some(number(first)?..=number(last)?),
        None => number(part).map(|one| one..=one),
    };
    list.split(',').filter_map(range).flatten().collect()
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
    use millibox_seccomp::{compile, profile};

    fn runners(
        allowed: &[usize],
        here: usize,
        slots: usize,
        runners: usize,
        pin: bool,
    ) -> Vec<usize> {
        let cpus = Cpus::of(allowed.to_vec(), Some(here), 64, slots, runners, pin);
        (0..slots * runners)
            .filter_map(|index| cpus.of_runner(index))
            .collect()
    }

    #[test]
    fn a_lone_slots_runs_begin_where_we_are_and_its_runners_are_elsewhere() {
        assert_eq!(runners(&[0, 1, 2, 3], 2, 1, 4, false), [3, 0, 1, 3]);
        assert_eq!(runners(&[0, 1], 1, 1, 3, false), [0, 0, 0]);
        assert_eq!(runners(&[5], 5, 1, 3, false), [5, 5, 5]);
        let mut cpus = Cpus::of(vec![1, 2, 3], Some(2), 4, 1, 3, false);
        assert_eq!(cpus.of_runs(), Some([0b100].as_slice()));
        cpus.begin_at_runners();
        assert_eq!(
            (cpus.of_runs(), cpus.of_runner(0), cpus.of_runner(1)),
            (None, Some(2), Some(3))
        );
        for (slots, pin) in [(1, true), (2, false)] {
            assert_eq!(
                Cpus::of(vec![1, 2, 3], Some(2), 4, slots, 3, pin).of_runs(),
                None
            );
        }
    }

    #[test]
    fn with_a_slot_for_each_cpu_a_slot_has_one() {
        assert_eq!(runners(&[0, 1], 0, 2, 2, false), [0, 0, 1, 1]);
        assert_eq!(runners(&[3, 7], 7, 4, 1, false), [7, 3, 7, 3]);
        assert_eq!(runners(&[0, 1, 2, 3], 3, 2, 2, false), [3, 0, 1, 2]);
    }

    #[test]
    fn pinned_slots_are_counted_from_the_first_cpu() {
        assert_eq!(runners(&[1, 3], 3, 2, 2, true), [1, 1, 3, 3]);
        assert_eq!(runners(&[1, 3, 5], 5, 1, 3, true), [1, 1, 1]);
    }

    #[test]
    fn where_cpus_are_not_known_nobody_is_held() {
        for allowed in [vec![], vec![0, 1024]] {
            let cpus = Cpus::of(allowed, Some(0), 2000, 2, 2, true);
            assert_eq!(
                (cpus.of_runner(0), cpus.of_programs(), cpus.end()),
                (None, None, 0)
            );
            assert_eq!(cpus.at_once(None, false), 2000);
        }
    }

    #[test]
    fn a_run_computes_on_what_it_asked_for_or_may_choose() {
        let one = Cpus::of(vec![2], Some(2), 8, 1, 3, true);
        assert_eq!(one.at_once(None, false), 1);
        assert_eq!(one.at_once(Some(&[0b1110]), false), 3);
        assert_eq!(one.at_once(Some(&[u64::MAX]), false), 8);
        assert_eq!(one.at_once(None, true), 8);
        assert_eq!(
            Cpus::of(vec![2, 3], Some(2), 8, 1, 3, false).at_once(None, false),
            2
        );
    }

    #[test]
    fn the_profiles_let_nobody_choose() {
        for name in ["default", "strict"] {
            let program =
                compile(&profile(name).expect("a profile"), Arch::native()).expect("a program");
            assert!(!may_choose(Some(&program)), "{name}");
        }
        assert!(may_choose(None));
        let policy = "name = \"x\"\ndescription = \"x\"\ndefault = \"allow\"\n"
            .parse()
            .expect("a policy");
        assert!(may_choose(Some(
            &compile(&policy, Arch::native()).expect("a program")
        )));
    }

    #[test]
    fn lists_and_masks() {
        assert_eq!(numbers_of("\n"), [0; 0]);
        assert_eq!(numbers_of("1,3-5\n"), [1, 3, 4, 5]);
        assert_eq!(mask_of(&[0, 65]), [1, 2]);
        assert_eq!(
            Cpus::of(vec![2, 3], None, 4, 1, 3, false).of_programs(),
            Some([0b1100].as_slice())
        );
    }
}
