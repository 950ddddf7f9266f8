//! The CPUs of the machine, and the CPU of each runner. The runner's zygote, pid1 and target run on
//! the same CPU; the target only until its exec.
//!
//! These processes wake each other a dozen times in a run. On one CPU a wake-up costs a context
//! switch. Across CPUs it costs an interrupt, which is expensive in a virtual machine.
//!
//! The programs of a pinned slot stay on the CPU of the slot. Other programs may use all CPUs:
//! the target gives up the runner's CPU just before the exec. At the exec the kernel looks for a
//! CPU with less work (`sched_exec()` in kernel/sched/core.c). A program that moves waits for a
//! kernel thread and for an idle CPU to wake up. So a run should find its runner's CPU free. That
//! CPU is busy while the kernel removes the previous run there and the next run is prepared.
//! [`Cpus::of_runner`] therefore spreads runners over the CPUs as far as possible. Among ready
//! runners the supervisor chooses the one whose CPU has had no launch for the longest time
//! (`supervisor/dispatch.rs`).
//!
//! While the run of a lone slot is in progress, another CPU is idle. So the runners of a lone slot
//! use all CPUs except for the one of the supervisor ([`Cpus::of_runs`]). The supervisor makes
//! target and pid1 wake up on its own CPU. They were prepared on their runner's CPU. After its
//! report pid1 returns to that CPU, where the kernel removes it. So no process is woken across CPUs
//! between request and result, and none finds its CPU busy.

use crate::messages::failed;
use crate::sys::calls;
use millibox_seccomp::{Arch, Data, Program};
use millibox_wire::{SupervisorError, SupervisorHint, SupervisorStep};

/// The maximum number of CPUs for which the kernel has affinity bits (`CONFIG_NR_CPUS` is at most
/// 8192).
const MAX_MASK_CPUS: usize = 8192;
/// The number of CPUs that a [`crate::launch::Launch`] can name.
const MAX_NAMED_CPUS: usize = millibox_wire::MAX_CPUS;

/// The CPUs that the supervisor may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus {
    /// The CPU numbers in ascending order. The list is empty if the CPUs are unknown or a launch
    /// cannot name all of them. In that case no process is pinned.
    allowed: Vec<usize>,
    /// The index of the first runner's CPU in `allowed`.
    first: usize,
    /// The number of CPUs that the processes of the sandbox could use.
    machine: usize,
    slots: usize,
    runners_per_slot: usize,
    pin: bool,
    mask: Vec<u64>,
    /// The affinity mask with which the runs of a lone slot begin; empty if they begin on their
    /// runners' CPUs.
    of_runs: Vec<u64>,
}

impl Cpus {
    /// Chooses the CPUs of the supervisor and of all runs: the requested ones, or all CPUs that the
    /// host has not isolated (`isolcpus=`: the scheduler places no process on those).
    ///
    /// The affinity of the caller does not apply to runs.
    ///
    /// # Errors
    /// A requested CPU cannot be used.
    pub fn take(
        asked: &[usize],
        slots: usize,
        runners_per_slot: usize,
        pin: bool,
    ) -> Result<Cpus, SupervisorError> {
        let _ = calls::set_affinity(&[u64::MAX; MAX_MASK_CPUS / 64]);
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
                let hint = SupervisorHint::CpuMissing {
                    cpu: *cpu,
                    available: machine,
                };
                return Err(SupervisorError::new(SupervisorStep::Cpus).with_hint(hint));
            }
            allowed = asked.to_vec();
        }
        if allowed != machine
            && let Err(errno) = calls::set_affinity(&mask_of(&allowed))
            && !asked.is_empty()
        {
            return Err(failed(SupervisorStep::Cpus)(errno).with_subject(format!("{allowed:?}")));
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

    /// Unless slots are pinned, the first runner uses the current CPU, which the scheduler has just
    /// chosen. Otherwise many supervisors with one slot each would all use the first CPU.
    fn of(
        mut allowed: Vec<usize>,
        here: Option<usize>,
        machine: usize,
        slots: usize,
        runners_per_slot: usize,
        pin: bool,
    ) -> Cpus {
        if allowed.last().is_some_and(|&cpu| cpu >= MAX_NAMED_CPUS) {
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

    /// Makes the runs of a lone slot begin on their runners' CPUs. A supervisor that cannot
    /// identify targets calls this.
    pub fn begin_at_runners(&mut self) {
        self.of_runs.clear();
    }

    /// The affinity mask of a lone slot's supervisor, with which its runs begin. `None` if they
    /// begin on their runners' CPUs.
    pub fn of_runs(&self) -> Option<&[u64]> {
        (!self.of_runs.is_empty()).then_some(&self.of_runs)
    }

    /// The CPU of a runner; `None` if it may use all CPUs.
    ///
    /// A pinned slot has one CPU. Other slots also have one if there is at least one slot for each
    /// CPU, because all CPUs are busy then. The runners of fewer slots are spread over all CPUs.
    /// Those of a lone slot use all CPUs except for that of its runs.
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

    /// The largest number of these CPUs, plus one.
    pub fn end(&self) -> usize {
        self.allowed.last().map_or(0, |cpu| cpu + 1)
    }

    /// The affinity mask of a program whose request specifies no CPUs; `None` if the program stays
    /// on its runner's CPU.
    pub fn of_programs(&self) -> Option<&[u64]> {
        (!self.pin && !self.allowed.is_empty()).then_some(&self.mask)
    }

    /// Whether a runner may serve runs only if it can be kept on its CPU.
    pub fn pinned(&self) -> bool {
        self.pin
    }

    /// The number of CPUs that a run can use at the same time: the number that its request names,
    /// or otherwise the number of the supervisor's CPUs. A program that may choose its CPUs can use
    /// all CPUs of the machine.
    pub fn usable_at_once(&self, named: Option<&[u64]>, may_choose: bool) -> u64 {
        let usable_at_once = match named {
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
        usable_at_once.max(1) as u64
    }
}

/// Whether a program may call sched_setaffinity(2) in any way.
pub fn may_choose(seccomp: Option<&Program>) -> bool {
    may_call(seccomp, libc::SYS_sched_setaffinity as u32, [241, 241])
}

/// Whether a program may create namespaces with unshare(2) or clone3(2). A seccomp program cannot
/// see the arguments of clone3(2), so a program that checks the flags of clone(2) rejects both
/// unshare(2) and clone3(2).
pub fn may_make_namespaces(seccomp: Option<&Program>) -> bool {
    may_call(seccomp, libc::SYS_unshare as u32, [310, 337])
        || may_call(seccomp, libc::SYS_clone3 as u32, [435, 435])
}

/// Whether a program may make a call that has these numbers on i386 and 32-bit Arm.
fn may_call(seccomp: Option<&Program>, number: u32, [i386, arm]: [u32; 2]) -> bool {
    let Some(program) = seccomp else { return true };
    let native = Arch::native().audit_value();
    // The numbers of the same call on x32, i386 and 32-bit Arm (arch/x86/entry/syscalls,
    // arch/arm64/tools/syscall_32.tbl).
    let ways = [
        (native, number),
        (native, number | 0x4000_0000),
        (0x4000_0003, i386),
        (0x4000_0028, arm),
    ];
    let refused = |action: u32| matches!(action & 0xffff_0000, 0 | 0x0005_0000 | 0x8000_0000);
    // There are two sample calls: one for the caller itself and one for another process. A program
    // that checks arguments may still allow other calls.

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

/// The numbers of the CPUs in this process's affinity mask; empty if the kernel does not report the
/// mask.
fn affinity() -> Vec<usize> {
    let mut mask = [0u64; MAX_MASK_CPUS / 64];
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
            .filter(|&cpu| cpu < MAX_MASK_CPUS)
    };
    let range = |end_partner: &str| match end_partner.split_once('-') {
        Some((first, last)) => Some(number(first)?..=number(last)?),
        None => number(end_partner).map(|one| one..=one),
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Returns these CPUs as an affinity mask (sched_setaffinity(2)).
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
    fn runs_of_lone_slot_begin_on_supervisor_cpu() {
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
    fn slot_for_each_cpu_has_one_cpu() {
        assert_eq!(runners(&[0, 1], 0, 2, 2, false), [0, 0, 1, 1]);
        assert_eq!(runners(&[3, 7], 7, 4, 1, false), [7, 3, 7, 3]);
        assert_eq!(runners(&[0, 1, 2, 3], 3, 2, 2, false), [3, 0, 1, 2]);
    }

    #[test]
    fn pinned_slots_start_at_first_cpu() {
        assert_eq!(runners(&[1, 3], 3, 2, 2, true), [1, 1, 3, 3]);
        assert_eq!(runners(&[1, 3, 5], 5, 1, 3, true), [1, 1, 1]);
    }

    #[test]
    fn unknown_cpus_leave_runners_unpinned() {
        for allowed in [vec![], vec![0, 1024]] {
            let cpus = Cpus::of(allowed, Some(0), 2000, 2, 2, true);
            assert_eq!(
                (cpus.of_runner(0), cpus.of_programs(), cpus.end()),
                (None, None, 0)
            );
            assert_eq!(cpus.usable_at_once(None, false), 2000);
        }
    }

    #[test]
    fn usable_at_once_counts_named_or_selectable_cpus() {
        let one = Cpus::of(vec![2], Some(2), 8, 1, 3, true);
        assert_eq!(one.usable_at_once(None, false), 1);
        assert_eq!(one.usable_at_once(Some(&[0b1110]), false), 3);
        assert_eq!(one.usable_at_once(Some(&[u64::MAX]), false), 8);
        assert_eq!(one.usable_at_once(None, true), 8);
        assert_eq!(
            Cpus::of(vec![2, 3], Some(2), 8, 1, 3, false).usable_at_once(None, false),
            2
        );
    }

    #[test]
    fn profiles_forbid_choosing_cpus() {
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
    fn cpu_list_and_mask_are_parsed() {
        assert_eq!(numbers_of("\n"), [0; 0]);
        assert_eq!(numbers_of("1,3-5\n"), [1, 3, 4, 5]);
        assert_eq!(mask_of(&[0, 65]), [1, 2]);
        assert_eq!(
            Cpus::of(vec![2, 3], None, 4, 1, 3, false).of_programs(),
            Some([0b1100].as_slice())
        );
    }
}
