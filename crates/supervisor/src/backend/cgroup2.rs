//! The backend for unified cgroups: each run has a new cgroup, and its pid1 starts in it.
//!
//! The counters of a new cgroup start at zero. Cgroups are created and removed off the critical
//! path.

use crate::launch::{End, Failure, Launch, Start, UNLIMITED};
use crate::sys::ascii::{Decimal, Line, keyed_number, leading_number};
use crate::sys::process::Clone;
use crate::sys::{Errno, Result, calls};
use core::ffi::CStr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicU64};
use millibox_wire::Step;

/// The processes in a run's cgroup that do not belong to the run: pid1.
pub const OWN_PROCESSES: u64 = 1;

/// The number of a run's cgroup files that the supervisor also has open.
pub const WATCHED_FILES: usize = 5;

/// The cgroup files of one runner. Descriptors of missing files are -1.
pub struct Runner {
    base: i32,
    index: usize,
    limits_hold_inside: bool,
    /// The number in the next cgroup's name. It increases when a cgroup cannot be removed.
    generation: AtomicU64,
    /// The first generation whose cgroup may still exist.
    oldest: AtomicU64,
    directory: AtomicI32,
    memory_max: AtomicI32,
    swap_max: AtomicI32,
    memory_peak: AtomicI32,
    /// 1 if the peak can be reset (Linux 6.12).
    resets_peak: AtomicI32,
    memory_current: AtomicI32,
    memory_events: AtomicI32,
    pids_max: AtomicI32,
    pids_peak: AtomicI32,
    cpu_max: AtomicI32,
    cpu_stat: AtomicI32,
    kill: AtomicI32,
}

/// The name of a run's cgroup below the base. The generation is 0 until a removal fails.
pub fn run_name(index: usize, generation: u64) -> Line<48> {
    Line::new()
        .text(b"run-")
        .number(index as u64)
        .text(b".")
        .number(generation)
        .text(b"\0")
}

impl Runner {
    pub fn new(base: i32, index: usize, limits_hold_inside: bool) -> Runner {
        let none = || AtomicI32::new(-1);
        Runner {
            base,
            index,
            limits_hold_inside,
            generation: AtomicU64::new(0),
            oldest: AtomicU64::new(0),
            directory: none(),
            memory_max: none(),
            swap_max: none(),
            memory_peak: none(),
            resets_peak: AtomicI32::new(0),
            memory_current: none(),
            memory_events: none(),
            pids_max: none(),
            pids_peak: none(),
            cpu_max: none(),
            cpu_stat: none(),
            kill: none(),
        }
    }

    pub fn base(&self) -> i32 {
        self.base
    }

    pub fn limits_hold_inside(&self) -> bool {
        self.limits_hold_inside
    }

    fn all(&self) -> [&AtomicI32; 11] {
        [
            &self.directory,
            &self.memory_max,
            &self.swap_max,
            &self.memory_peak,
            &self.memory_current,
            &self.memory_events,
            &self.pids_max,
            &self.pids_peak,
            &self.cpu_max,
            &self.cpu_stat,
            &self.kill,
        ]
    }

    pub fn prepare(&self, how: &mut Clone) -> core::result::Result<(), Failure> {
        self.make()
            .map_err(|errno| Failure::new(Step::Cgroup, errno))?;
        how.into_cgroup = Some(self.directory.load(Relaxed));
        Ok(())
    }

    fn make(&self) -> Result<()> {
        loop {
            let name = run_name(self.index, self.generation.load(Relaxed));
            match calls::mkdirat(self.base, c_name(&name), 0o755) {
                Ok(()) => break,
                // A runner that died here has left the cgroup. Remove it if it is empty.
                Err(Errno(libc::EEXIST)) => {
                    if !self.remove(self.generation.load(Relaxed)) {
                        self.generation.fetch_add(1, Relaxed);
                    }
                }
                Err(errno) => return Err(errno),
            }
        }
        let name = run_name(self.index, self.generation.load(Relaxed));
        let directory = calls::openat(
            self.base,
            c_name(&name),
            libc::O_DIRECTORY | libc::O_RDONLY,
            0,
        )?;
        self.directory.store(directory, Relaxed);
        let open = |place: &AtomicI32, file: &CStr, flags: i32| match calls::openat(
            directory, file, flags, 0,
        ) {
            Ok(fd) => {
                place.store(fd, Relaxed);
                Ok(())
            }
            Err(errno) => Err(errno),
        };
        open(&self.memory_max, c"memory.max", libc::O_WRONLY)?;
        open(&self.memory_events, c"memory.events", libc::O_RDONLY)?;
        open(&self.pids_max, c"pids.max", libc::O_WRONLY)?;
        open(&self.cpu_stat, c"cpu.stat", libc::O_RDONLY)?;
        let open_if_present =
            |place: &AtomicI32, file: &CStr, flags: i32| match open(place, file, flags) {
                Err(Errno(libc::ENOENT)) => Ok(()),
                opened => opened,
            };
        // This file does not exist before Linux 5.14. Without it, killing pid1 must suffice.
        open_if_present(&self.kill, c"cgroup.kill", libc::O_WRONLY)?;
        // These files are missing if the cpu controller is not delegated (cpu.max), if swap
        // accounting is off (swap.max), before Linux 5.19 (memory.peak) or before Linux 6.1
        // (pids.peak).
        open_if_present(&self.cpu_max, c"cpu.max", libc::O_WRONLY)?;
        open_if_present(&self.swap_max, c"memory.swap.max", libc::O_WRONLY)?;
        open(&self.memory_current, c"memory.current", libc::O_RDONLY)?;
        // Before Linux 6.12 the file is read-only.
        let resets_peak = open(&self.memory_peak, c"memory.peak", libc::O_RDWR).is_ok();
        self.resets_peak.store(resets_peak.into(), Relaxed);
        if !resets_peak {
            open_if_present(&self.memory_peak, c"memory.peak", libc::O_RDONLY)?;
        }
        open_if_present(&self.pids_peak, c"pids.peak", libc::O_RDONLY)?;
        // A run that may create namespaces could mount its own cgroup, which belongs to its user.
        // Cgroups that the run creates below it would outlive the run, so their number is limited
        // to 0. The limits themselves cannot be written from inside (cgroups(7), nsdelegate;
        // otherwise see pid1.rs).
        calls::write_file(directory, c"cgroup.max.descendants", b"0")?;
        // Pressure stall accounting costs time on every switch, and millibox does not read it
        // (cgroup.pressure, Linux 6.1).
        let _ = calls::write_file(directory, c"cgroup.pressure", b"0");
        Ok(())
    }

    /// The descriptors of the files that the supervisor watches, oldest kernel feature first, so
    /// that missing files come last.
    pub fn watched(&self) -> [i32; WATCHED_FILES] {
        let all = [
            &self.cpu_stat,
            &self.memory_events,
            &self.kill,
            &self.memory_peak,
            &self.pids_peak,
        ];
        all.map(|place| place.load(Relaxed))
    }

    /// Closes all files except for those with the figures. Only a pid1 with its own memory and
    /// descriptors calls this.
    pub fn close_limits(&self) {
        let _ = calls::close(self.base);
        for place in [
            &self.directory,
            &self.memory_max,
            &self.swap_max,
            &self.pids_max,
            &self.cpu_max,
            &self.kill,
        ] {
            let _ = calls::close(place.load(Relaxed));
        }
    }

    pub fn limit(&self, launch: &Launch, socket: i32) -> core::result::Result<(), Failure> {
        let write = |place: &AtomicI32, bytes: &[u8], step| {
            calls::write(place.load(Relaxed), bytes).map_err(|errno| Failure::new(step, errno))
        };
        if launch.memory != UNLIMITED {
            if launch.swap != UNLIMITED {
                match self.swap_max.load(Relaxed) {
                    -1 if launch.swap != 0 => {
                        return Err(Failure::new(Step::SwapLimit, Errno(libc::EOPNOTSUPP)));
                    }
                    -1 => {}
                    _ => write(
                        &self.swap_max,
                        Decimal::new(launch.swap).as_bytes(),
                        Step::SwapLimit,
                    )?,
                }
            }
            write(
                &self.memory_max,
                Decimal::new(launch.memory).as_bytes(),
                Step::MemoryLimit,
            )?;
        }
        let tasks = launch.processes.saturating_add(OWN_PROCESSES);
        write(
            &self.pids_max,
            Decimal::new(tasks).as_bytes(),
            Step::ProcessLimit,
        )?;
        if launch.quota != UNLIMITED {
            if self.cpu_max.load(Relaxed) < 0 {
                return Err(Failure::new(Step::CpuBandwidth, Errno(libc::EOPNOTSUPP)));
            }
            super::send_bandwidth_file(socket, self.cpu_max.load(Relaxed))?;
            let line = Line::<48>::new()
                .number(launch.quota)
                .text(b" ")
                .number(launch.period);
            write(&self.cpu_max, line.as_bytes(), Step::CpuBandwidth)?;
        }
        Ok(())
    }

    /// Whether peak memory can be measured for each copy of a prepared program.
    pub fn resets_peak(&self) -> bool {
        self.resets_peak.load(Relaxed) != 0
    }

    /// Limits the template of a prepared program until it is ready.
    pub fn limit_template(&self, memory: u64) -> core::result::Result<(), Failure> {
        let set = |place: &AtomicI32, value: u64, step| match place.load(Relaxed) {
            -1 => Ok(()),
            fd => calls::write(fd, Decimal::new(value).as_bytes())
                .map_err(|errno| Failure::new(step, errno)),
        };
        set(&self.memory_max, memory, Step::MemoryLimit)?;
        set(&self.swap_max, 0, Step::SwapLimit)?;
        set(&self.pids_max, super::TEMPLATE_TASKS, Step::ProcessLimit)
    }

    /// Lifts all limits except the CPU bandwidth limit, which the template of a prepared program
    /// cannot have.
    pub fn lift_limits(&self) -> core::result::Result<(), Failure> {
        let lift = |place: &AtomicI32, step| match place.load(Relaxed) {
            -1 => Ok(()),
            fd => calls::write(fd, b"max").map_err(|errno| Failure::new(step, errno)),
        };
        lift(&self.memory_max, Step::MemoryLimit)?;
        lift(&self.swap_max, Step::SwapLimit)?;
        lift(&self.pids_max, Step::ProcessLimit)
    }

    pub fn memory(&self) -> Result<u64> {
        Ok(read_number(self.memory_current.load(Relaxed))?.unwrap_or(0))
    }

    /// Resets the peak to the current memory usage. This affects readers of this open file only
    /// (memory.peak in the kernel's cgroup-v2.rst), which the supervisor shares.
    pub fn reset_peak(&self) -> Result<()> {
        calls::write(self.memory_peak.load(Relaxed), b"0")
    }

    /// The highest number of tasks that the cgroup has had so far; `UNLIMITED` if unknown.
    pub fn peak_tasks(&self) -> Result<u64> {
        Ok(read_number(self.pids_peak.load(Relaxed))?.unwrap_or(UNLIMITED))
    }

    pub fn lift_bandwidth(&self) {
        let _ = calls::write(self.cpu_max.load(Relaxed), super::NO_BANDWIDTH);
    }

    pub fn start(&self, start: &mut Start) -> Result<()> {
        start.cpu_ns = self.cpu_ns()?;
        Ok(())
    }

    pub fn measure(&self, start: &Start, end: &mut End) -> Result<()> {
        measure(self.watched(), start, end)
    }

    fn cpu_ns(&self) -> Result<u64> {
        cpu_ns(self.cpu_stat.load(Relaxed))
    }

    pub fn clean(&self) {
        let places = self.all().into_iter();
        calls::close_present(places.map(|place| place.swap(-1, Relaxed)));
        // A dead process can keep a cgroup busy for a moment, and another process may have been
        // moved into it. Cgroups that cannot be removed now are tried again after the next runs.
        let newest = self.generation.load(Relaxed);
        let oldest = self.oldest.load(Relaxed);
        let mut kept = None;
        for generation in oldest..newest {
            if !self.remove(generation) && kept.is_none() {
                kept = Some(generation);
            }
        }
        let newest_kept = !self.remove(newest);
        let (oldest, next) = match (kept, newest_kept) {
            (None, false) => (0, 0),
            (Some(kept), false) => (kept, newest),
            (kept, true) => (kept.unwrap_or(newest), newest + 1),
        };
        self.oldest.store(oldest, Relaxed);
        self.generation.store(next, Relaxed);
    }

    /// Removes the run's cgroup of this generation. Returns whether it no longer exists.
    fn remove(&self, generation: u64) -> bool {
        let name = run_name(self.index, generation);
        matches!(
            calls::unlinkat(self.base, c_name(&name), libc::AT_REMOVEDIR),
            Ok(()) | Err(Errno(libc::ENOENT))
        )
    }
}

/// The amount by which a run's peak may exceed its memory limit.
const LIMIT_TOLERANCE_BYTES: u64 = 2 << 20;

/// Whether the peak of a run shows that the run exceeded its limit.
///
/// The kernel charges data that arrives at a socket even above the limit, because an interrupt
/// cannot wait for memory (`gfp_memcg_charge()` in include/net/sock.h, Linux 6.12). The kernel
/// takes no action until a process requests memory itself. memory.events counts such charges.
pub fn is_above(peak: u64, limit: u64) -> bool {
    peak > limit.saturating_add(LIMIT_TOLERANCE_BYTES)
}

/// Reads a run's usage from the files of [`Runner::watched`]. The descriptors are the runner's, or
/// the supervisor's if the runner is dead.
pub fn measure(watched: [i32; WATCHED_FILES], start: &Start, end: &mut End) -> Result<()> {
    let [cpu_stat, memory_events, _, memory_peak, pids_peak] = watched;
    end.cpu_ns = cpu_ns(cpu_stat)?.saturating_sub(start.cpu_ns);
    if end.pid1_died == 1 {
        // A killed pid1 has reaped no process, so its rusage does not cover the run.
        let mut buffer = [0; 512];
        let text = calls::read_at_start(cpu_stat, &mut buffer)?;
        end.user_us = keyed_number(text, b"user_usec").unwrap_or(0);
        end.system_us = keyed_number(text, b"system_usec").unwrap_or(0);
    }
    let mut buffer = [0; 256];
    let text = calls::read_at_start(memory_events, &mut buffer)?;
    end.oom_kills = keyed_number(text, b"oom_kill").unwrap_or(0);
    // The kernel counts these events in the cgroup with the limit and in its ancestors, not in its
    // descendants (memory.events in the kernel's cgroup-v2.rst).
    end.own_limit_reached = keyed_number(text, b"oom").unwrap_or(UNLIMITED);
    end.peak_memory = read_number(memory_peak)?.unwrap_or(0);
    end.peak_processes = match read_number(pids_peak)? {
        Some(peak) => peak.saturating_sub(OWN_PROCESSES),
        None => UNLIMITED,
    };
    Ok(())
}

fn cpu_ns(cpu_stat: i32) -> Result<u64> {
    let mut buffer = [0; 512];
    let text = calls::read_at_start(cpu_stat, &mut buffer)?;
    Ok(keyed_number(text, b"usage_usec")
        .unwrap_or(0)
        .saturating_mul(1000))
}

fn c_name(line: &Line<48>) -> &CStr {
    CStr::from_bytes_with_nul(line.as_bytes()).unwrap_or(c"run")
}

/// The number in a file; `None` if this kernel has no such file.
fn read_number(fd: i32) -> Result<Option<u64>> {
    if fd < 0 {
        return Ok(None);
    }
    let mut buffer = [0; 32];
    calls::read_at_start(fd, &mut buffer).map(|text| Some(leading_number(text)))
}
