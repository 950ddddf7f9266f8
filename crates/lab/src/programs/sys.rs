//! The hand-written system calls of the lab's programs, with all their `unsafe` code.
//!
//! rustix does not provide fork(2), ptrace(2), seccomp(2) with a listener, the time stamp counter,
//! or calls on descriptors that are not open.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Turns a C library's return value into a result.
fn checked(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(answer)
    }
}

/// Reads the machine's finest clock. This is the time stamp counter, in cycles of its constant
/// rate, or otherwise the monotonic clock, in nanoseconds.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // This waits for the preceding instructions; see Intel's manual on RDTSC. SAFETY: neither
        // instruction touches memory; every x86-64 processor has them, and Linux disables them only
        // on request (PR_SET_TSC).
        unsafe {
            core::arch::x86_64::_mm_lfence();
            let now = core::arch::x86_64::_rdtsc();
            core::arch::x86_64::_mm_lfence();
            now
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

/// The unit of [`ticks`].
pub const TICKS: &str = if cfg!(target_arch = "x86_64") {
    "cycles"
} else {
    "ns"
};

/// open(2) for writing; returns the descriptor, or -1.
#[inline]
pub fn open(path: &CStr) -> i32 {
    // SAFETY: the path ends with NUL and outlives the call.
    unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) }
}

/// write(2) of one byte to any descriptor, valid or not.
#[inline]
pub fn write_byte(fd: i32) -> isize {
    // SAFETY: the byte outlives the call.
    unsafe { libc::write(fd, [b'.'].as_ptr().cast(), 1) }
}

/// close(2) of a descriptor from [`open`], or of an invalid one.
#[inline]
pub fn close(fd: i32) -> i32 {
    // SAFETY: no owned descriptor has this number, because the caller passes one from `open` or an
    // invalid one.
    unsafe { libc::close(fd) }
}

/// fork(2); returns `None` in the child.
///
/// # Errors
/// The kernel's error.
pub fn fork() -> io::Result<Option<i32>> {
    // SAFETY: the programs of the lab that call it have one thread, so the child's memory is
    // consistent.
    let pid = checked(unsafe { libc::fork() }.into())? as i32;
    Ok((pid != 0).then_some(pid))
}

/// Ends a forked child at once, without the C library's exit handlers.
pub fn exit_child(code: i32) -> ! {
    // SAFETY: the call does not return and touches no memory.
    unsafe { libc::_exit(code) }
}

/// The way in which a child ended or stopped.
#[derive(Debug, Clone, Copy)]
pub struct Waited {
    /// The process or thread id.
    pub pid: i32,
    /// The status from wait4(2).
    pub status: i32,
    /// The CPU time in user space of the child and its reaped children, in microseconds.
    pub user_us: u64,
    /// The CPU time in the kernel of the same processes, in microseconds.
    pub system_us: u64,
}

/// wait4(2) for a child, or for any child (-1), including threads and clones.
///
/// # Errors
/// The kernel's error; `ECHILD` if the process has no children.
pub fn wait(pid: i32) -> io::Result<Waited> {
    let mut status = 0;
    // SAFETY: zeros are a valid rusage, a plain structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to local variables that outlive the call.
        let answer = unsafe { libc::wait4(pid, &mut status, libc::__WALL, &mut usage) };
        match checked(answer.into()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(pid) => {
                let micros =
                    |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
                let (user_us, system_us) = (micros(usage.ru_utime), micros(usage.ru_stime));
                return Ok(Waited {
                    pid: pid as i32,
                    status,
                    user_us,
                    system_us,
                });
            }
        }
    }
}

/// Attaches a seccomp program to this thread, which cannot be undone.
///
/// # Errors
/// The kernel's error.
pub fn attach(program: &millibox_seccomp::Program) -> io::Result<()> {
    seccomp(program, 0).map(|_| ())
}

/// Like [`attach`], but also returns the descriptor that receives the program's notifications.
///
/// # Errors
/// The kernel's error; `EBUSY` if the thread already has a program with a listener.
pub fn attach_with_listener(program: &millibox_seccomp::Program) -> io::Result<OwnedFd> {
    let fd = seccomp(program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    // SAFETY: the kernel has just created this descriptor, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn seccomp(program: &millibox_seccomp::Program, flags: libc::c_ulong) -> io::Result<libc::c_long> {
    rustix::thread::set_no_new_privs(true)?;
    let mut bytes = program.as_bytes();
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: bytes.as_mut_ptr().cast(),
    };
    // SAFETY: length and bytes are those of a complete program, which the kernel copies. The kernel
    // requires no alignment.
    checked(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &program,
        )
    })
}

/// Continues and counts every call of which a listener is notified. Returns when the listener's
/// last process has ended, if the kernel reports that (Linux 6.11).
///
/// # Errors
/// The kernel's error.
pub fn continue_all(listener: &OwnedFd, answered: &AtomicU64) -> io::Result<()> {
    let fd = listener.as_raw_fd();
    loop {
        // SAFETY: zeros are a valid notification, a plain structure of numbers, and the kernel
        // expects zeros there.
        let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is the kernel's own for this request, and outlives the call.
        let received = checked(
            unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_RECV as _, &mut asked) }.into(),
        );
        match received {
            // The caller has been killed, or (since Linux 6.11) no process is left.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                if hung_up(listener)? {
                    return Ok(());
                }
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            received => received?,
        };
        let answer = libc::seccomp_notif_resp {
            id: asked.id,
            val: 0,
            error: 0,
            flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        };
        // SAFETY: the kernel reads one answer, which lives until the call returns.
        let sent = unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_SEND as _, &answer) };
        match checked(sent.into()) {
            Ok(_) => drop(answered.fetch_add(1, Relaxed)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether the last process of a listener's program has ended.
fn hung_up(listener: &OwnedFd) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut ready = [PollFd::new(listener, PollFlags::empty())];
    poll(
        &mut ready,
        Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }),
    )?;
    Ok(ready[0].revents().contains(PollFlags::HUP))
}

/// Makes notifications wake the supervisor on the caller's CPU (Linux 6.6). Returns whether the
/// kernel supports that.
pub fn answer_on_the_same_cpu(listener: &OwnedFd) -> bool {
    /// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`
    const SYNC_WAKE_UP: libc::c_ulong = 1;
    // SAFETY: the request takes a number, not a pointer.
    unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS as _,
            SYNC_WAKE_UP,
        ) == 0
    }
}

/// Makes the command's process a tracee of its parent. The process then stops at its exec.
pub fn trace_me(command: &mut Command) {
    let ask = || {
        // SAFETY: the request has no arguments.
        checked(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) }).map(|_| ())
    };
    // SAFETY: between fork and exec the closure makes one system call and touches no memory except
    // errno.
    unsafe { command.pre_exec(ask) };
}

/// Sets the tracing options of a stopped child. The child and its descendants are killed with the
/// tracer, and stops at system calls are marked.
///
/// # Errors
/// The kernel's error.
pub fn trace_options(pid: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_EXITKILL
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC;
    // SAFETY: the request takes a number, not a pointer.
    checked(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options as libc::c_long) })
        .map(|_| ())
}

/// Continues a stopped child to its next system call, with a signal or without one (0).
///
/// # Errors
/// The kernel's error; `ESRCH` if the child was killed meanwhile.
pub fn trace_on(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: the request takes a number, not a pointer.
    checked(unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, libc::c_long::from(signal)) })
        .map(|_| ())
}

/// The number of the system call that a child is about to make, or `None` at a call's end.
///
/// # Errors
/// The kernel's error; `ESRCH` if the child was killed meanwhile.
pub fn traced_call(pid: i32) -> io::Result<Option<u64>> {
    /// `struct ptrace_syscall_info`, up to the call's number.
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        op: u8,
        pad: [u8; 3],
        arch: u32,
        instruction_pointer: u64,
        stack_pointer: u64,
        /// The number of the call, if this stop is the call's entry. The arguments follow. The
        /// tracer reads them, as a sandbox must.
        number: u64,
        arguments: [u64; 6],
    }
    const ENTRY: u8 = 1;
    const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
    let mut info = Info::default();
    // SAFETY: the kernel writes at most the given size, and any bytes are a valid Info.
    checked(unsafe { libc::ptrace(GET_SYSCALL_INFO as _, pid, size_of::<Info>(), &mut info) })?;
    Ok((info.op == ENTRY).then_some(info.number))
}

/// A mapping of untouched anonymous memory.
#[derive(Debug)]
pub struct Mapping {
    address: *mut u8,
    length: usize,
}

impl Mapping {
    /// Maps this number of bytes.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn new(length: usize) -> io::Result<Mapping> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: the kernel chooses the address, so no existing mapping changes.
        let address = unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, flags) }?;
        // With huge pages, one fault would serve many pages. Not every kernel has huge pages.
        // SAFETY: the range is exactly this mapping.
        let _ = unsafe { madvise(address, length, Advice::LinuxNoHugepage) };
        Ok(Mapping {
            address: address.cast(),
            length,
        })
    }

    /// Writes a byte at an offset.
    ///
    /// # Panics
    /// The offset is outside the mapping.
    #[inline]
    pub fn touch(&self, offset: usize) {
        assert!(offset < self.length);
        // SAFETY: the assertion keeps the offset inside the mapping, to which there are no
        // references.
        unsafe { self.address.add(offset).write_volatile(1) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and there are no references to it.
        let _ = unsafe { rustix::mm::munmap(self.address.cast(), self.length) };
    }
}
