//! The system calls that pid1 and target make: one safe function each.
//!
//! Descriptors are plain numbers here: pid1 and target never close one that somebody
//! owns (each has a descriptor table of its own, thrown away at its end).

use super::ascii::leading_number;
use super::raw::syscall;
use super::{Errno, Result};
use core::ffi::CStr;

/// Declares wrappers for calls whose arguments are numbers only.
macro_rules! numeric {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) = $number:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name($($arg: $type),*) -> Result<usize> {
            let mut args = [0usize; 5];
            let mut _next = args.iter_mut();
            $(if let Some(place) = _next.next() { *place = $arg as usize; })*
            // SAFETY: numbers only; the kernel touches no memory of ours for this call.
            unsafe { syscall(libc::$number, args) }
        }
    )*};
}

numeric! {
    /// close(2)
    close(fd: i32) = SYS_close;
    /// close_range(2), Linux 5.9; flag `CLOSE_RANGE_CLOEXEC` since 5.11
    close_range(first: u32, last: u32, flags: u32) = SYS_close_range;
    /// dup3(2)
    dup3(from: i32, to: i32, flags: i32) = SYS_dup3;
    /// fchdir(2)
    fchdir(fd: i32) = SYS_fchdir;
    /// keyctl(2), for operations whose arguments are numbers
    keyctl(operation: i32, second: usize, third: usize) = SYS_keyctl;
    /// kill(2)
    kill(pid: i32, signal: i32) = SYS_kill;
    /// setsid(2)
    setsid() = SYS_setsid;
    /// umask(2)
    umask(mask: u32) = SYS_umask;
    /// unshare(2)
    unshare(flags: i32) = SYS_unshare;
    /// setns(2)
    setns(fd: i32, kind: i32) = SYS_setns;
    /// prctl(2), for options whose arguments are numbers
    prctl(option: i32, second: usize, third: usize, fourth: usize, fifth: usize) = SYS_prctl;
    /// personality(2)
    personality(persona: u32) = SYS_personality;
    /// ioprio_set(2)
    ioprio_set(which: u32, who: u32, priority: u32) = SYS_ioprio_set;
    /// set_mempolicy(2) without nodes: `nodes` and `most` are 0
    set_mempolicy(mode: u32, nodes: usize, most: usize) = SYS_set_mempolicy;
    /// setpriority(2)
    setpriority(which: u32, who: u32, nice: i32) = SYS_setpriority;
}

/// getpid(2)
pub fn getpid() -> i32 {
    // SAFETY: no arguments.
    unsafe { syscall(libc::SYS_getpid, [0; 5]) }.unwrap_or(0) as i32
}

/// exit_group(2)
pub fn exit(code: i32) -> ! {
    loop {
        // SAFETY: a number only; does not return.
        let _ = unsafe { syscall(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0]) };
        // A seccomp program may refuse it.
        super::raw::trap();
    }
}

/// Our own nice value (getpriority(2), whose system call answers 20 - nice).
pub fn nice() -> i32 {
    // SAFETY: numbers only.
    unsafe {
        syscall(
            libc::SYS_getpriority,
            [libc::PRIO_PROCESS as usize, 0, 0, 0, 0],
        )
    }
    .map_or(0, |answer| 20 - answer as i32)
}

/// openat(2), always with `O_CLOEXEC`.
pub fn openat(dir: i32, path: &CStr, flags: i32, mode: u32) -> Result<i32> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_openat,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                (flags | libc::O_CLOEXEC) as usize,
                mode as usize,
                0,
            ],
        )
    }
    .map(|fd| fd as i32)
}

/// Moves a descriptor to the lowest free number above the standard ones, if that is lower
/// (fcntl(2), `F_DUPFD_CLOEXEC`); its number.
pub fn move_down(fd: i32) -> Result<i32> {
    // SAFETY: numbers only.
    let lowest = unsafe {
        syscall(
            libc::SYS_fcntl,
            [fd as usize, libc::F_DUPFD_CLOEXEC as usize, 3, 0, 0],
        )
    }? as i32;
    let _ = close(lowest.max(fd));
    Ok(lowest.min(fd))
}

/// write(2) of all of `bytes` in one call, as control files want it.
pub fn write(fd: i32, bytes: &[u8]) -> Result<()> {
    // SAFETY: pointer and length are those of a slice.
    let written = unsafe {
        syscall(
            libc::SYS_write,
            [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0],
        )
    }?;
    if written == bytes.len() {
        Ok(())
    } else {
        Err(Errno(libc::EIO))
    }
}

/// Opens, writes, closes.
pub fn write_file(dir: i32, path: &CStr, bytes: &[u8]) -> Result<()> {
    let fd = openat(dir, path, libc::O_WRONLY, 0)?;
    let answer = write(fd, bytes);
    let _ = close(fd);
    answer
}

/// pread(2) from the file's beginning; the part of `buffer` that was filled.
pub fn read_at_start(fd: i32, buffer: &mut [u8]) -> Result<&[u8]> {
    // SAFETY: pointer and length are those of a mutable slice.
    let read = unsafe {
        syscall(
            libc::SYS_pread64,
            [
                fd as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                0,
                0,
            ],
        )
    }?;
    Ok(buffer.get(..read).unwrap_or(&[]))
}

/// mkdirat(2)
pub fn mkdirat(dir: i32, path: &CStr, mode: u32) -> Result<()> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_mkdirat,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                mode as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// unlinkat(2)
pub fn unlinkat(dir: i32, path: &CStr, flags: i32) -> Result<()> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_unlinkat,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                flags as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// symlinkat(2)
pub fn symlinkat(target: &CStr, dir: i32, path: &CStr) -> Result<()> {
    // SAFETY: both strings are NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_symlinkat,
            [
                target.as_ptr() as usize,
                dir as isize as usize,
                path.as_ptr() as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// fchmodat(2)
pub fn chmodat(dir: i32, path: &CStr, mode: u32) -> Result<()> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_fchmodat,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                mode as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// chdir(2)
pub fn chdir(path: &CStr) -> Result<()> {
    // SAFETY: `path` is NUL-terminated.
    unsafe { syscall(libc::SYS_chdir, [path.as_ptr() as usize, 0, 0, 0, 0]) }.map(drop)
}

/// Whether a path can be found from the working directory (faccessat(2), `F_OK`).
pub fn exists(path: *const u8) -> bool {
    // SAFETY: the kernel answers EFAULT to an address that cannot be read.
    unsafe {
        syscall(
            libc::SYS_faccessat,
            [
                libc::AT_FDCWD as isize as usize,
                path as usize,
                libc::F_OK as usize,
                0,
                0,
            ],
        )
    }
    .is_ok()
}

/// Device and inode number of what is open (fstat(2); with `O_PATH`, too, since Linux 3.6).
pub fn identity(fd: i32) -> Result<(u64, u64)> {
    // SAFETY: all zeroes is a stat.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel writes one stat.
    unsafe {
        syscall(
            libc::SYS_fstat,
            [fd as usize, &raw mut stat as usize, 0, 0, 0],
        )
    }?;
    Ok((stat.st_dev, stat.st_ino))
}

/// mount(2)
pub fn mount(
    source: &CStr,
    target: &CStr,
    kind: &CStr,
    flags: libc::c_ulong,
    data: &CStr,
) -> Result<()> {
    // SAFETY: all strings are NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_mount,
            [
                source.as_ptr() as usize,
                target.as_ptr() as usize,
                kind.as_ptr() as usize,
                flags as usize,
                data.as_ptr() as usize,
            ],
        )
    }
    .map(drop)
}

/// open_tree(2), Linux 5.2
pub fn open_tree(dir: i32, path: &CStr, flags: u32) -> Result<i32> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_open_tree,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                flags as usize,
                0,
                0,
            ],
        )
    }
    .map(|fd| fd as i32)
}

/// move_mount(2) of the mount that descriptor `from` is, to path `to` seen from `dir`, Linux 5.2
pub fn move_mount(from: i32, dir: i32, to: &CStr, flags: u32) -> Result<()> {
    // SAFETY: both paths are NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_move_mount,
            [
                from as usize,
                c"".as_ptr() as usize,
                dir as isize as usize,
                to.as_ptr() as usize,
                (libc::MOVE_MOUNT_F_EMPTY_PATH | flags) as usize,
            ],
        )
    }
    .map(drop)
}

/// mount_setattr(2), Linux 5.12
pub fn mount_setattr(dir: i32, path: &CStr, flags: u32, set: u64) -> Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: `path` is NUL-terminated, `attributes` has the size that is passed.
    unsafe {
        syscall(
            libc::SYS_mount_setattr,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                flags as usize,
                &raw const attributes as usize,
                size_of::<libc::mount_attr>(),
            ],
        )
    }
    .map(drop)
}

/// Nanoseconds on `CLOCK_MONOTONIC_RAW` (clock_gettime(2)).
pub fn monotonic_raw_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// CPU time of the calling thread: what a piece of work takes, without the time for which another
/// was given the CPU.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds on a clock; 0 if there is no such clock.
pub fn clock_ns(clock: i32) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    let _ = unsafe {
        syscall(
            libc::SYS_clock_gettime,
            [clock as isize as usize, &raw mut time as usize, 0, 0, 0],
        )
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sets soft and hard limit of our own resource to the same (setrlimit(2)). Not by prlimit(2):
/// seccomp programs have to look at its arguments.
pub fn set_rlimit(resource: u32, value: u64) -> Result<()> {
    set_rlimits(resource, value, value)
}

/// Sets soft and hard limit of our own resource (setrlimit(2)).
pub fn set_rlimits(resource: u32, soft: u64, hard: u64) -> Result<()> {
    let limit = libc::rlimit64 {
        rlim_cur: soft,
        rlim_max: hard,
    };
    // SAFETY: the kernel reads one rlimit64.
    unsafe {
        syscall(
            libc::SYS_setrlimit,
            [resource as usize, &raw const limit as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

/// Our own soft and hard limit (getrlimit(2)).
pub fn get_rlimit(resource: u32) -> Result<(u64, u64)> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes one rlimit64.
    unsafe {
        syscall(
            libc::SYS_getrlimit,
            [resource as usize, &raw mut limit as usize, 0, 0, 0],
        )
    }?;
    Ok((limit.rlim_cur, limit.rlim_max))
}

/// Soft and hard limit of a process of ours, also of a dead one that has not been waited for
/// (prlimit(2)).
pub fn get_rlimit_of(pid: i32, resource: u32) -> Result<(u64, u64)> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let args = [
        pid as isize as usize,
        resource as usize,
        0,
        &raw mut limit as usize,
        0,
    ];
    // SAFETY: no new limit is read, and the kernel writes one rlimit64.
    unsafe { syscall(libc::SYS_prlimit64, args) }?;
    Ok((limit.rlim_cur, limit.rlim_max))
}

/// Asks for turns of `slice_ns` on the CPU, so that we are let on early (sched_setattr(2),
/// `sched_runtime` of a normal task, heeded since Linux 6.12: EEVDF lets who wants a shorter
/// turn interrupt who has a longer one); 0: the kernel's own choice. With nice value `nice`.
pub fn set_slice(nice: i32, slice_ns: u64) -> Result<()> {
    // struct sched_attr as of its first version: size, policy, flags, nice, priority,
    // runtime, deadline, period.
    let words: [u64; 6] = [
        48 | (libc::SCHED_OTHER as u64) << 32,
        0,
        u64::from(nice as u32),
        slice_ns,
        0,
        0,
    ];
    // SAFETY: the kernel reads the 48 bytes that the structure says it has.
    unsafe {
        syscall(
            libc::SYS_sched_setattr,
            [0, words.as_ptr() as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

/// Makes our scheduling policy the default one (sched_setscheduler(2)).
pub fn set_default_scheduling() -> Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads one sched_param.
    unsafe {
        syscall(
            libc::SYS_sched_setscheduler,
            [
                0,
                libc::SCHED_OTHER as usize,
                &raw const parameters as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// sched_setaffinity(2) for ourselves.
pub fn set_affinity(mask: &[u64]) -> Result<()> {
    set_affinity_of(0, mask)
}

/// sched_setaffinity(2) for a process of our user; 0: ourselves.
pub fn set_affinity_of(pid: i32, mask: &[u64]) -> Result<()> {
    // SAFETY: the kernel reads the slice's bytes.
    unsafe {
        syscall(
            libc::SYS_sched_setaffinity,
            [
                pid as usize,
                size_of_val(mask),
                mask.as_ptr() as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// Our process id where this procfs is from, which may be a PID namespace around ours; 0: it does
/// not say.
pub fn pid_in(procfs: i32) -> i32 {
    let mut target = [0; 16];
    let name = c"self".as_ptr() as usize;
    // SAFETY: the name is NUL-terminated, and the kernel writes no more than the array's bytes.
    let length = unsafe {
        syscall(
            libc::SYS_readlinkat,
            [
                procfs as isize as usize,
                name,
                target.as_mut_ptr() as usize,
                target.len(),
                0,
            ],
        )
    };
    length
        .ok()
        .and_then(|length| target.get(..length))
        .map_or(0, leading_number) as i32
}

/// The CPU that we are on (getcpu(2)), if the kernel says.
pub fn current_cpu() -> Option<usize> {
    let mut cpu = 0u32;
    // SAFETY: the kernel writes one u32.
    unsafe { syscall(libc::SYS_getcpu, [&raw mut cpu as usize, 0, 0, 0, 0]) }
        .ok()
        .map(|_| cpu as usize)
}

/// sched_getaffinity(2) of ourselves; the number of words that were filled.
pub fn get_affinity(mask: &mut [u64]) -> Result<usize> {
    // SAFETY: the kernel writes no more than the slice's bytes.
    unsafe {
        syscall(
            libc::SYS_sched_getaffinity,
            [0, size_of_val(mask), mask.as_mut_ptr() as usize, 0, 0],
        )
    }
    .map(|bytes| bytes / 8)
}

/// Gives up all capabilities of the three sets (capset(2), version 3).
pub fn drop_capabilities() -> Result<()> {
    set_capabilities(0)
}

/// Sets permitted and effective capabilities to `mask`, inheritable to none (capset(2)).
pub fn set_capabilities(mask: u64) -> Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION_3, 0];
    let (low, high) = (mask as u32, (mask >> 32) as u32);
    let data: [u32; 6] = [low, low, 0, high, high, 0];
    // SAFETY: header and the two data elements are laid out as capset(2) says.
    unsafe {
        syscall(
            libc::SYS_capset,
            [header.as_ptr() as usize, data.as_ptr() as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

/// Attaches a filter to the calling thread (seccomp(2), `SECCOMP_SET_MODE_FILTER`).
///
/// `SPEC_ALLOW`: no speculation mitigation is forced on the program; the run is
/// alone in its process and user namespace, so it has nobody's secrets to keep.
pub fn attach_seccomp(program: &[u8]) -> Result<()> {
    attach_seccomp_with(program, 0)
}

/// The same, to all threads of the process (`TSYNC`; `TSYNC_ESRCH`, Linux 5.7: where one cannot
/// take it, none does).
pub fn attach_seccomp_to_all(program: &[u8]) -> Result<()> {
    attach_seccomp_with(
        program,
        libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_TSYNC_ESRCH,
    )
}

fn attach_seccomp_with(program: &[u8], flags: libc::c_ulong) -> Result<()> {
    let filter = libc::sock_fprog {
        len: (program.len() / 8) as u16,
        filter: program.as_ptr().cast_mut().cast::<libc::sock_filter>(),
    };
    // SAFETY: the kernel copies `len` instructions of 8 bytes, all inside the slice, and
    // does not need them aligned.
    unsafe {
        syscall(
            libc::SYS_seccomp,
            [
                libc::SECCOMP_SET_MODE_FILTER as usize,
                (libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW | flags) as usize,
                &raw const filter as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// execveat(2). Only returns on failure.
///
/// `arguments` and `environment` are addresses of NULL-terminated pointer arrays.
pub fn execveat(
    dir: i32,
    path: *const u8,
    arguments: usize,
    environment: usize,
    flags: i32,
) -> Errno {
    // SAFETY: the kernel answers EFAULT to what it cannot read; on success this program
    // is gone.
    match unsafe {
        syscall(
            libc::SYS_execveat,
            [
                dir as isize as usize,
                path as usize,
                arguments,
                environment,
                flags as usize,
            ],
        )
    } {
        Err(errno) => errno,
        Ok(_) => Errno(libc::EIO),
    }
}

/// Whether a descriptor can be read or has hung up, without waiting (poll(2)).
pub fn is_readable(fd: i32) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let zero = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: one pollfd and one timespec.
    let ready = unsafe {
        syscall(
            libc::SYS_ppoll,
            [&raw mut poll as usize, 1, &raw const zero as usize, 0, 0],
        )
    };
    !matches!(ready, Ok(0))
}

/// Most descriptors that [`receive`] takes.
pub const MAX_RECEIVED: usize = 10;

/// A message that was received.
pub struct Received {
    /// Length of its bytes; 0: the other side has gone.
    pub length: usize,
    /// Its descriptors, `O_CLOEXEC`; -1 where there is none.
    pub descriptors: [i32; MAX_RECEIVED],
}

/// Room for a control message with [`MAX_RECEIVED`] descriptors and no more: those beyond
/// it the kernel does not install.
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

const CONTROL: usize = size_of::<libc::cmsghdr>() + MAX_RECEIVED * size_of::<i32>();

/// recvmsg(2) of one message with its descriptors (unix(7), `SCM_RIGHTS`), without allocation.
pub fn receive(socket: i32, buffer: &mut [u8], flags: i32) -> Result<Received> {
    let mut control = Control([0; CONTROL]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr is plain numbers and pointers.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    let length = loop {
        // SAFETY: the message names a writable buffer and a writable control buffer.
        match unsafe {
            syscall(
                libc::SYS_recvmsg,
                [
                    socket as usize,
                    &raw mut message as usize,
                    (flags | libc::MSG_CMSG_CLOEXEC) as usize,
                    0,
                    0,
                ],
            )
        } {
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
            Ok(length) => break length,
        }
    };
    let mut received = Received {
        length,
        descriptors: [-1; MAX_RECEIVED],
    };
    // One control message at most: cmsghdr (length, level, type), then the descriptors.
    let header = size_of::<libc::cmsghdr>();
    if (message.msg_controllen as usize) >= header {
        let word = |at: usize| {
            let mut bytes = [0u8; 4];
            for (to, from) in bytes.iter_mut().zip(control.0.iter().skip(at)) {
                *to = *from;
            }
            i32::from_ne_bytes(bytes)
        };
        let end = (word(0) as usize).min(message.msg_controllen as usize);
        if word(8) == libc::SOL_SOCKET && word(12) == libc::SCM_RIGHTS {
            for (index, place) in received.descriptors.iter_mut().enumerate() {
                let at = header + index * 4;
                if at + 4 <= end {
                    *place = word(at);
                }
            }
        }
    }
    Ok(received)
}

/// sendmsg(2) of one message, without `SIGPIPE`.
pub fn send(socket: i32, bytes: &[u8]) -> Result<()> {
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: msghdr is plain numbers and pointers.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    // SAFETY: the message names a readable buffer and nothing else.
    unsafe {
        syscall(
            libc::SYS_sendmsg,
            [
                socket as usize,
                &raw const message as usize,
                libc::MSG_NOSIGNAL as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// sendmsg(2) of one message with up to [`MAX_RECEIVED`] descriptors (unix(7), `SCM_RIGHTS`),
/// without `SIGPIPE` and without waiting: a full buffer is EAGAIN.
pub fn send_descriptors(socket: i32, bytes: &[u8], descriptors: &[i32]) -> Result<()> {
    if descriptors.len() > MAX_RECEIVED {
        return Err(Errno(libc::EINVAL));
    }
    let mut control = Control([0; CONTROL]);
    let header = size_of::<libc::cmsghdr>();
    let length = header + size_of_val(descriptors);
    let words = [
        (0, length as i32),
        (8, libc::SOL_SOCKET),
        (12, libc::SCM_RIGHTS),
    ];
    let rights = descriptors
        .iter()
        .enumerate()
        .map(|(index, &fd)| (header + 4 * index, fd));
    for (at, word) in words.into_iter().chain(rights) {
        for (to, from) in control.0.iter_mut().skip(at).zip(word.to_ne_bytes()) {
            *to = from;
        }
    }
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: msghdr is plain numbers and pointers.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !descriptors.is_empty() {
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = length as _;
    }
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the message names a readable buffer and a control message of the length it says.
    unsafe {
        syscall(
            libc::SYS_sendmsg,
            [
                socket as usize,
                &raw const message as usize,
                flags as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// Sleeps (nanosleep(2)), perhaps less.
pub fn sleep_ns(nanoseconds: u32) {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: nanoseconds.into(),
    };
    // SAFETY: the kernel reads one timespec.
    let _ = unsafe { syscall(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0]) };
}

/// Sets every signal's disposition to the default (sigaction(2)).
pub fn reset_signal_dispositions() -> Result<()> {
    // Nobody can change these two.
    (1..=64)
        .filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
        .try_for_each(reset_signal_disposition)
}

/// Sets a signal's disposition to the default (sigaction(2)).
pub fn reset_signal_disposition(signal: i32) -> Result<()> {
    // An all-zero kernel sigaction is SIG_DFL without flags; its mask is 8 bytes.
    let action = [0u64; 4];
    // SAFETY: the kernel reads one sigaction of its own layout (at most 32 bytes).
    unsafe {
        syscall(
            libc::SYS_rt_sigaction,
            [signal as usize, action.as_ptr() as usize, 0, 8, 0],
        )
    }
    .map(drop)
}

/// Empties the signal mask (sigprocmask(2)).
pub fn unblock_signals() {
    let mask = 0u64;
    // SAFETY: the kernel reads 8 bytes.
    let _ = unsafe {
        syscall(
            libc::SYS_rt_sigprocmask,
            [
                libc::SIG_SETMASK as usize,
                &raw const mask as usize,
                0,
                8,
                0,
            ],
        )
    };
}

/// sethostname(2) and setdomainname(2) to nothing.
pub fn clear_host_name() -> Result<()> {
    // SAFETY: no bytes are read for length 0.
    unsafe {
        syscall(libc::SYS_sethostname, [c"".as_ptr() as usize, 0, 0, 0, 0])?;
        syscall(libc::SYS_setdomainname, [c"".as_ptr() as usize, 0, 0, 0, 0])?;
    }
    Ok(())
}

/// A socket that no program executed inherits (socket(2)).
pub fn socket(family: i32, kind: i32) -> Result<i32> {
    // SAFETY: numbers only.
    unsafe {
        syscall(
            libc::SYS_socket,
            [
                family as usize,
                (kind | libc::SOCK_CLOEXEC) as usize,
                0,
                0,
                0,
            ],
        )
    }
    .map(|fd| fd as i32)
}

/// Brings the loopback interface of our network namespace up (netdevice(7), `SIOCSIFFLAGS`).
pub fn loopback_up() -> Result<()> {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM)? as usize;
    // SAFETY: numbers, then an ifreq that is whole and lives during the call.
    unsafe {
        let mut request: libc::ifreq = core::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        let answer = syscall(
            libc::SYS_ioctl,
            [
                socket,
                libc::SIOCSIFFLAGS as usize,
                &raw const request as usize,
                0,
                0,
            ],
        );
        let _ = close(socket as i32);
        answer.map(drop)
    }
}

/// The NUL-terminated string at an address inside a launch's strings.
pub fn string_at(address: *const u8) -> &'static CStr {
    // SAFETY: only called with addresses that `target::Strings` found inside the shared
    // strings, each followed by a NUL that it has seen; that memory is never unmapped.
    unsafe { CStr::from_ptr(address.cast()) }
}

/// The pointer that stands at `address`, a place in [`super::memory::Pointers`].
pub fn pointer_at(address: usize) -> *const u8 {
    // SAFETY: only called with addresses that `Pointers::address` gave.
    unsafe { (address as *const *const u8).read() }
}
