//! Creates version 1 cgroups as root for an unprivileged supervisor.
//!
//! The cgroups are created at the top of each hierarchy as the keeper sees it. In a container this
//! is the container's own cgroup, so its limits apply to the runs as well. `--cgroup-parent`
//! selects another place.

use super::hosts::{Hierarchy, Hosts};
use super::{
    Made, OwnCgroup, Supervisor, answer, cause, fresh_name, open_control, open_if_present, remove,
    seqpacket_pair,
};
use crate::backend::Handover;
use crate::backend::hybrid::{Figures, Files, Limits, RENEW, RENEW_MEMORY, RENEWED};
use crate::options::Options;
use crate::sys::calls;
use millibox_wire::{BackendCause, BackendStep};
use rustix::event::EventfdFlags;
use rustix::fs::OFlags;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The file through which a process enters a cgroup, by writing 0. A write to cgroup.procs moves a
/// whole process and can wait 5 to 20 ms for a grace period. The thread that writes 0 to this file
/// moves only itself and waits for nothing (`cgroup_procs_write_start()`, kernel/cgroup/cgroup.c).
/// Runners and targets have one thread.
const JOIN: &str = "tasks";

/// Renews the pids and memory cgroups of runners.
pub struct Renewals {
    pids: String,
    memory: String,
    runners: Vec<Renewal>,
}

struct Renewal {
    socket: OwnedFd,
    /// The number of times that the runner's pids cgroup was renewed.
    pids: u64,
    /// The number of times that the runner's memory cgroup was renewed.
    memory: u64,
    /// Whether supervisor and runners have closed their end because they are dying.
    closed: bool,
}

/// Creates a set of cgroups for each runner and opens their files.
pub fn make(hosts: &Hosts, options: &Options, runners: usize) -> Result<Made, BackendCause> {
    let find = |controller: &str| {
        hosts
            .version1_of(controller)
            .ok_or_else(|| BackendCause::new(BackendStep::FindController).with_subject(controller))
    };
    let hierarchies = [
        find("memory")?,
        find("pids")?,
        find("cpu")?,
        find("cpuacct")?,
    ];
    if !rustix::process::geteuid().is_root() {
        return Err(BackendCause::new(BackendStep::BecomeRoot));
    }
    let name = fresh_name();
    let mut tops: Vec<OwnCgroup> = Vec::new();
    // cpu and cpuacct are often mounted together.
    let mut top_of = |hierarchy: &Hierarchy| -> Result<String, BackendCause> {
        let parent = format!(
            "{}{}",
            hierarchy.mount,
            options
                .cgroup_parent
                .as_deref()
                .unwrap_or("")
                .trim_end_matches('/')
        );
        let path = format!("{parent}/{name}");
        if !tops.iter().any(|top| top.path == path) {
            remove::sweep_orphans(&parent);
            tops.push(OwnCgroup::make(&parent, &name)?);
        }
        Ok(path)
    };
    let made = (|| {
        let [memory, pids, cpu, cpuacct] = hierarchies;
        let (memory, pids, cpu, cpuacct) = (
            top_of(memory)?,
            top_of(pids)?,
            top_of(cpu)?,
            top_of(cpuacct)?,
        );
        let mut open = Vec::new();
        let mut all = Vec::new();
        let mut renewals = Vec::new();
        for index in 0..runners {
            let slot = index / options.runners_per_slot.max(1);
            let (files, socket) = runner(index, slot, [&memory, &pids, &cpu, &cpuacct], &mut open)?;
            all.push(files);
            renewals.push(Renewal {
                socket,
                pids: 0,
                memory: 0,
                closed: false,
            });
        }
        Ok::<_, BackendCause>((
            Handover::Hybrid { runners: all },
            open,
            Renewals {
                pids,
                memory,
                runners: renewals,
            },
        ))
    })();
    match made {
        Ok((handover, open, renewals)) => Ok(Made {
            handover,
            tops,
            open,
            supervisor: Supervisor::Beside,
            renewals: Some(renewals),
            evacuated: None,
        }),
        Err(why) => {
            remove::remove_waiting(tops.iter().map(|top| top.path.as_str()));
            Err(why)
        }
    }
}

/// Creates the cgroups of one runner and opens their files. Also returns the keeper's end of the
/// runner's socket.
///
/// A switch between tasks of different cpu cgroups costs the scheduler more than a switch within
/// one. The two programs of a pair switch between each other most of the time, so they share the
/// cpu cgroup of their slot. A runner's own cpu cgroup is for a run with limited bandwidth. If
/// cpuacct is mounted together with cpu, this separation is not possible.
fn runner(
    index: usize,
    slot: usize,
    tops: [&str; 4],
    open: &mut Vec<OwnedFd>,
) -> Result<(Files, OwnedFd), BackendCause> {
    let directories = tops.map(|top| format!("{top}/home-{index}"));
    for directory in &directories {
        make_directory(directory)?;
    }
    let [memory, pids, cpu, cpuacct] = &directories;
    let mut number = |fd: OwnedFd| {
        let number = fd.as_raw_fd();
        open.push(fd);
        number
    };
    let control =
        |directory: &str, file: &str, flags| open_control(&format!("{directory}/{file}"), flags);
    let (lives_in, cpu_join) = if cpu == cpuacct {
        (cpu.clone(), None)
    } else {
        let slot = format!("{}/slot-{slot}", tops[2]);
        make_directory(&slot)?;
        (slot, Some(number(control(cpu, JOIN, OFlags::WRONLY)?)))
    };
    super::check_swap_limit(&format!("{memory}/memory.memsw.limit_in_bytes"))?;
    let memory_files = MemoryFiles::open(memory)?;
    let mut join = |directory: &str| {
        Ok::<_, BackendCause>(Some(number(control(directory, JOIN, OFlags::WRONLY)?)))
    };
    let join_others = [
        join(&lives_in)?,
        if cpu == cpuacct { None } else { join(cpuacct)? },
    ];
    let pids_files = PidsFiles::open(pids)?;
    let (ours, its) = seqpacket_pair()?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC).map_err(|errno| {
        BackendCause::new(BackendStep::CreateSocket).with_errno(errno.raw_os_error())
    })?;
    let limits = Limits {
        memory_join: Some(number(memory_files.join)),
        join_others,
        memory: number(memory_files.limit),
        sockets: memory_files.sockets.map(&mut number),
        memory_swap: memory_files.swap.map(&mut number),
        memory_usage: number(memory_files.usage),
        memory_empty: number(memory_files.empty),
        pids_join: number(pids_files.join),
        pids_max: number(pids_files.max),
        cpu_join,
        cpu_quota: number(control(cpu, "cpu.cfs_quota_us", OFlags::WRONLY)?),
        cpu_period: number(control(cpu, "cpu.cfs_period_us", OFlags::WRONLY)?),
        keeper: number(its),
    };
    let figures = Figures {
        memory_peak: number(memory_files.peak),
        oom_control: number(memory_files.oom_control),
        pids_peak: pids_files.peak.map(&mut number),
        cpu_usage: number(control(cpuacct, "cpuacct.usage", OFlags::RDONLY)?),
    };
    let files = Files {
        limits,
        figures,
        oom_event: number(memory_files.oom_event),
    };
    Ok((files, ours))
}

fn make_directory(path: &str) -> Result<(), BackendCause> {
    match rustix::fs::mkdir(path, rustix::fs::Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(errno) => Err(cause(BackendStep::CreateCgroup, path)(errno)),
    }
}

struct MemoryFiles {
    join: OwnedFd,
    limit: OwnedFd,
    swap: Option<OwnedFd>,
    sockets: Option<OwnedFd>,
    usage: OwnedFd,
    empty: OwnedFd,
    peak: OwnedFd,
    oom_control: OwnedFd,
    oom_event: OwnedFd,
}

impl MemoryFiles {
    fn open(directory: &str) -> Result<MemoryFiles, BackendCause> {
        let control = |file: &str, flags| open_control(&format!("{directory}/{file}"), flags);
        let if_there = |file: &str| open_if_present(&format!("{directory}/{file}"), OFlags::WRONLY);
        let oom_control = control("memory.oom_control", OFlags::RDONLY)?;
        // cgroup.event_control: "<eventfd> <control file>"
        // (Documentation/admin-guide/cgroup-v1/memory.rst, 10). The removal of a cgroup also
        // signals its eventfd, so each cgroup has its own.
        let oom_event = rustix::event::eventfd(0, EventfdFlags::NONBLOCK)
            .map_err(cause(BackendStep::CreateEventfd, directory))?;
        let event_control = control("cgroup.event_control", OFlags::WRONLY)?;
        calls::write(
            event_control.as_raw_fd(),
            format!("{} {}", oom_event.as_raw_fd(), oom_control.as_raw_fd()).as_bytes(),
        )
        .map_err(|errno| {
            BackendCause::new(BackendStep::WatchMemory)
                .with_subject(directory)
                .with_errno(errno.0)
        })?;
        Ok(MemoryFiles {
            join: control(JOIN, OFlags::WRONLY)?,
            limit: control("memory.limit_in_bytes", OFlags::WRONLY)?,
            swap: if_there("memory.memsw.limit_in_bytes")?,
            sockets: if_there("memory.kmem.tcp.limit_in_bytes")?,
            usage: control("memory.usage_in_bytes", OFlags::RDONLY)?,
            empty: control("memory.force_empty", OFlags::WRONLY)?,
            peak: control("memory.max_usage_in_bytes", OFlags::RDWR)?,
            oom_control,
            oom_event,
        })
    }

    /// The descriptors, in the order of `backend::hybrid::Runner::enter_memory`: files that always
    /// exist come first.
    fn numbers(&self) -> Vec<i32> {
        let always = [
            &self.join,
            &self.limit,
            &self.usage,
            &self.empty,
            &self.peak,
            &self.oom_control,
            &self.oom_event,
        ];
        always
            .into_iter()
            .chain(&self.swap)
            .chain(&self.sockets)
            .map(AsRawFd::as_raw_fd)
            .collect()
    }
}

struct PidsFiles {
    join: OwnedFd,
    max: OwnedFd,
    peak: Option<OwnedFd>,
}

impl PidsFiles {
    fn open(directory: &str) -> Result<PidsFiles, BackendCause> {
        Ok(PidsFiles {
            join: open_control(&format!("{directory}/{JOIN}"), OFlags::WRONLY)?,
            max: open_control(&format!("{directory}/pids.max"), OFlags::WRONLY)?,
            peak: open_if_present(&format!("{directory}/pids.peak"), OFlags::RDONLY)?,
        })
    }
}

impl Renewals {
    /// The open sockets, each with the index of its runner.
    pub fn sockets(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        self.runners
            .iter()
            .enumerate()
            .filter(|(_, runner)| !runner.closed)
            .map(|(index, runner)| (index, runner.socket.as_fd()))
    }

    /// Closes the socket of runner `index` after the other end has been closed.
    pub fn close(&mut self, index: usize) {
        if let Some(runner) = self.runners.get_mut(index) {
            runner.closed = true;
        }
    }

    /// Serves one message of runner `index`.
    pub fn serve(&mut self, index: usize) {
        let Some(runner) = self.runners.get_mut(index) else {
            return;
        };
        let socket = runner.socket.as_raw_fd();
        let mut byte = [0; 1];
        let directory = |top: &str, generation: u64| match generation {
            0 => format!("{top}/home-{index}"),
            n => format!("{top}/home-{index}.{n}"),
        };
        let remove_before = |top: &str, generation: u64| {
            for generation in (generation.saturating_sub(8)..generation).rev() {
                let _ = rustix::fs::rmdir(directory(top, generation));
            }
        };
        let make = |path: &str| {
            rustix::fs::mkdir(path, rustix::fs::Mode::from_raw_mode(0o755))
                .map_err(cause(BackendStep::CreateCgroup, path))
        };
        match calls::receive(socket, &mut byte, libc::MSG_DONTWAIT) {
            Ok(received) if received.length == 1 && byte[0] == RENEW => {
                runner.pids += 1;
                let path = directory(&self.pids, runner.pids);
                match make(&path).and_then(|()| PidsFiles::open(&path)) {
                    Ok(files) => {
                        let mut descriptors = vec![files.join.as_raw_fd(), files.max.as_raw_fd()];
                        descriptors.extend(files.peak.as_ref().map(AsRawFd::as_raw_fd));
                        answer(socket, RENEW, &descriptors);
                    }
                    // The answer has no descriptors, so the runner knows that it has no new cgroup.
                    Err(_) => answer(socket, RENEW, &[]),
                }
            }
            Ok(received) if received.length == 1 && byte[0] == RENEWED => {
                // Remove the cgroup that the runner has left, and earlier ones that could not be
                // removed.
                remove_before(&self.pids, runner.pids);
            }
            Ok(received) if received.length == 1 && byte[0] == RENEW_MEMORY => {
                // Keep the cgroup that the runner is leaving, because the supervisor may still read
                // its files. The next renewal removes that cgroup.
                remove_before(&self.memory, runner.memory);
                runner.memory += 1;
                let path = directory(&self.memory, runner.memory);
                match make(&path).and_then(|()| MemoryFiles::open(&path)) {
                    Ok(files) => answer(socket, RENEW_MEMORY, &files.numbers()),
                    // As above: the runner stays in its cgroup.
                    Err(_) => answer(socket, RENEW_MEMORY, &[]),
                }
            }
            _ => {}
        }
    }
}
