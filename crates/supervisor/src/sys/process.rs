//! New processes.

use super::memory::Stack;
use super::{Errno, Result, raw};
use core::convert::Infallible;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::SeqCst;
use millibox_wire::ProcessEnd;

/// The flag of clone(2) since Linux 5.7. libc's constant of this name overflows.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// The resources that a cloned process shares, and its cgroup. The default is a plain copy, as with
/// fork(2).
#[derive(Default, Clone, Copy)]
pub struct Clone {
    /// `CLONE_*` flags (clone(2)).
    pub flags: u64,
    /// A descriptor of the cgroup in which the child starts (`CLONE_INTO_CGROUP`, Linux 5.7).
    pub into_cgroup: Option<i32>,
}

/// Starts a child that runs `main(argument)` on its own stack, and waits for its end.
///
/// `pid` is set to the child's process id before the child begins. The id is removed before the
/// child is reaped, so it never belongs to another process. Between the removal and the reaping,
/// `dead` is called. At that time /proc still shows the dead child.
///
/// With `CLONE_VM` the child runs in the caller's memory, and `main` may use only what [`super`]
/// allows. The stack belongs to the child until this function returns.
pub fn run_child<T: Sync>(
    how: Clone,
    stack: &Stack,
    main: fn(&T) -> !,
    argument: &T,
    pid: &AtomicI32,
    dead: impl FnOnce(i32),
) -> Result<Waited> {
    run_child_beside(how, stack, main, argument, pid, |_| {}, dead)
}

/// Like [`run_child`], and calls `beside` with the child's process id before it waits.
pub fn run_child_beside<T: Sync>(
    how: Clone,
    stack: &Stack,
    main: fn(&T) -> !,
    argument: &T,
    pid: &AtomicI32,
    beside: impl FnOnce(i32),
    dead: impl FnOnce(i32),
) -> Result<Waited> {
    // SAFETY: stack and argument are borrowed until the child has been reaped.
    let child = unsafe { spawn(how, stack, main, argument, Some(pid)) }?;
    beside(child);
    let options = libc::WEXITED | libc::WNOWAIT | libc::__WALL;
    let wait_args = [libc::P_PID as usize, child as usize, 0, options as usize, 0];
    // SAFETY: all arguments are numbers, and the kernel writes nothing.
    while unsafe { raw::syscall(libc::SYS_waitid, wait_args) } == Err(Errno(libc::EINTR)) {}
    pid.store(0, SeqCst);
    dead(child);
    wait(child, libc::__WALL)
}

/// Like [`run_child`], but the child's parent is the caller's parent (`CLONE_PARENT`), so the
/// caller cannot wait(2) for the child. Waits until the child no longer uses the memory, which
/// `how` must share.
#[allow(dead_code, reason = "for the library of prepared programs")]
pub fn run_sibling<T: Sync>(
    how: Clone,
    stack: &Stack,
    main: fn(&T) -> !,
    argument: &T,
    in_use: &AtomicI32,
) -> Result<()> {
    in_use.store(1, SeqCst);
    let how = Clone {
        flags: how.flags | libc::CLONE_PARENT as u64,
        ..how
    };
    // SAFETY: stack and argument are borrowed until the kernel has cleared the number, which it
    // does when the child leaves the memory (set_tid_address(2)).
    unsafe { spawn_clearing(how, stack, main, argument, None, Some(in_use)) }?;
    while in_use.load(SeqCst) != 0 {
        let wait = [in_use.as_ptr() as usize, libc::FUTEX_WAIT as usize, 1, 0, 0];
        // SAFETY: the kernel reads the number.
        match unsafe { raw::syscall(libc::SYS_futex, wait) } {
            Ok(_) | Err(Errno(libc::EINTR | libc::EAGAIN)) => {}
            // A seccomp program has refused the call. Returning would free the child's stack.
            Err(_) => super::calls::exit(1),
        }
    }
    Ok(())
}

/// Starts a child that runs `main(argument)` in the caller's memory on its own stack. The caller
/// continues with the child's process id and never returns, so the borrows never end.
///
/// This is not vfork(2). The parent of a vfork sleeps uninterruptibly and counts towards the host's
/// load average, and a prepared target may wait for its launch for hours.
pub fn spawn_and_replace_caller<T: Sync>(
    stack: &Stack,
    main: fn(&T) -> !,
    argument: &T,
    go_on: impl FnOnce(Result<i32>) -> Infallible,
) -> ! {
    let how = Clone {
        flags: libc::CLONE_VM as u64,
        ..Clone::default()
    };
    // SAFETY: the caller does not return, so stack and argument stay borrowed for as long as it
    // lives. If the caller is killed, the kernel kills the child before the owner of the borrowed
    // memory continues, because the caller is the first process of its PID namespace and the owner
    // waits for the caller.
    let child = unsafe { spawn(how, stack, main, argument, None) };
    match go_on(child) {}
}

/// # Safety
/// `stack` and `argument` must live for as long as the child lives in memory that it shares with
/// the caller. Only the child may use `stack` during that time.
unsafe fn spawn<T: Sync>(
    how: Clone,
    stack: &Stack,
    main: fn(&T) -> !,
    argument: &T,
    pid: Option<&AtomicI32>,
) -> Result<i32> {
    // SAFETY: as for this function.
    unsafe { spawn_clearing(how, stack, main, argument, pid, None) }
}

/// Like [`spawn`]. When the child leaves the memory, the kernel sets `in_use` to 0.
///
/// # Safety
/// The conditions of [`spawn`] apply, and `in_use` must live for as long as `stack`.
unsafe fn spawn_clearing<T: Sync>(
    how: Clone,
    stack: &Stack,
    main: fn(&T) -> !,
    argument: &T,
    pid: Option<&AtomicI32>,
    in_use: Option<&AtomicI32>,
) -> Result<i32> {
    let is_sibling = how.flags & libc::CLONE_PARENT as u64 != 0;
    let args = libc::clone_args {
        flags: how.flags
            | if how.into_cgroup.is_some() {
                CLONE_INTO_CGROUP
            } else {
                0
            }
            | if pid.is_some() {
                libc::CLONE_PARENT_SETTID as u64
            } else {
                0
            }
            | if in_use.is_some() {
                libc::CLONE_CHILD_CLEARTID as u64
            } else {
                0
            },
        pidfd: 0,
        child_tid: in_use.map_or(0, |number| number.as_ptr() as u64),
        parent_tid: pid.map_or(0, |pid| pid.as_ptr() as u64),
        // A sibling has the same exit signal as the caller (clone(2)).
        exit_signal: if is_sibling { 0 } else { libc::SIGCHLD as u64 },
        stack: stack.base() as u64,
        stack_size: stack.length() as u64,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: how.into_cgroup.unwrap_or(0) as u64,
    };

    unsafe extern "C" fn entry<T>(main: usize, argument: usize) -> ! {
        // SAFETY: these are the two values that `spawn` passed: a function pointer and a reference
        // of exactly these types. The caller of `spawn` keeps the reference alive.
        let (main, argument) = unsafe {
            (
                core::mem::transmute::<usize, fn(&T) -> !>(main),
                &*(argument as *const T),
            )
        };
        main(argument)
    }

    // SAFETY: `args` is initialised and names a mapped stack that the caller reserves for this
    // child. `entry` does not return, and the argument is Sync.
    let pid = unsafe {
        raw::clone3_call(
            &args,
            size_of::<libc::clone_args>(),
            entry::<T>,
            main as usize,
            argument as *const T as usize,
        )
    }?;
    Ok(pid as i32)
}

/// fork(2) of a process with one thread. Returns `None` in the child.
pub fn fork() -> Result<Option<i32>> {
    // SAFETY: processes of the supervisor have one thread when they fork, so the child may do
    // everything that the parent could.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error().into()),
        0 => Ok(None),
        pid => Ok(Some(pid)),
    }
}

/// Like [`fork`], but the child starts in this cgroup (`CLONE_INTO_CGROUP`, Linux 5.7).
/// [`fork_sibling`] describes libc's state in the child.
pub fn fork_into(cgroup: i32) -> Result<Option<i32>> {
    let args = libc::clone_args {
        flags: CLONE_INTO_CGROUP,
        pidfd: 0,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: cgroup as u64,
    };
    // SAFETY: like fork(2). The child continues with a copy of the memory, including this stack.
    // The process has one thread, so the child may do everything that the parent could.
    match unsafe {
        raw::syscall(
            libc::SYS_clone3,
            [&raw const args as usize, size_of_val(&args), 0, 0, 0],
        )
    }? {
        0 => Ok(None),
        pid => Ok(Some(pid as i32)),
    }
}

/// clone(2) of a process with one thread, with its own memory and the same parent as the caller
/// (`CLONE_PARENT`). The parent is notified of the child's end, and the child can die with the
/// parent (`PR_SET_PDEATHSIG`). Returns `None` in the child.
///
/// libc is not aware of the clone, so the thread id that it stores in the child is the caller's.
/// libc uses that id only for locks, which a process with one thread does not take.
pub fn fork_sibling() -> Result<Option<i32>> {
    let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as usize;
    // SAFETY: like fork(2). The child continues with a copy of the memory, including this stack.
    // The process has one thread, so the child may do everything that the parent could.
    match unsafe { raw::syscall(libc::SYS_clone, [flags, 0, 0, 0, 0]) }? {
        0 => Ok(None),
        pid => Ok(Some(pid as i32)),
    }
}

/// A pidfd of this process (pidfd_open(2)).
pub fn own_pidfd() -> Result<i32> {
    let pid = super::calls::getpid();
    // SAFETY: all arguments are numbers.
    unsafe { raw::syscall(libc::SYS_pidfd_open, [pid as usize, 0, 0, 0, 0]) }.map(|fd| fd as i32)
}

/// A pidfd of a process (pidfd_open(2)), closed by an exec.
pub fn pidfd(pid: i32) -> Result<i32> {
    // SAFETY: all arguments are numbers.
    unsafe { raw::syscall(libc::SYS_pidfd_open, [pid as usize, 0, 0, 0, 0]) }.map(|fd| fd as i32)
}

/// The result of waiting for a child.
#[derive(Clone, Copy, Default)]
pub struct Waited {
    /// The child's process id.
    pub pid: i32,
    /// The child's wait status (wait(2)).
    pub status: i32,
    /// User CPU time in µs of the child and all its reaped descendants.
    pub user_us: u64,
    /// System CPU time in µs of the same processes.
    pub system_us: u64,
    /// The largest resident set of any of these processes, in KiB.
    pub max_rss_kib: u64,
}

/// wait4(2) for `pid`, or for any child if it is -1, without errno.
pub fn wait(pid: i32, options: i32) -> Result<Waited> {
    let mut status: i32 = 0;
    // SAFETY: rusage consists of numbers.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    loop {
        // SAFETY: both pointers are valid for writing.
        let answer = unsafe {
            raw::syscall(
                libc::SYS_wait4,
                [
                    pid as isize as usize,
                    &raw mut status as usize,
                    options as usize,
                    &raw mut usage as usize,
                    0,
                ],
            )
        };
        match answer {
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
            Ok(pid) => {
                return Ok(Waited {
                    pid: pid as i32,
                    status,
                    ..from_usage(&usage)
                });
            }
        }
    }
}

/// The usage of all reaped descendants (getrusage(2), `RUSAGE_CHILDREN`).
pub fn children_usage() -> Result<Waited> {
    // SAFETY: rusage consists of numbers, and the kernel writes one.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        raw::syscall(
            libc::SYS_getrusage,
            [
                libc::RUSAGE_CHILDREN as isize as usize,
                &raw mut usage as usize,
                0,
                0,
                0,
            ],
        )?;
        Ok(from_usage(&usage))
    }
}

fn from_usage(usage: &libc::rusage) -> Waited {
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    Waited {
        pid: 0,
        status: 0,
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
        max_rss_kib: usage.ru_maxrss as u64,
    }
}

/// Describes how the process with this wait status ended.
pub fn end_of(status: i32) -> ProcessEnd {
    match decode_status(status) {
        Ok(code) => ProcessEnd::Exited(code),
        Err(signal) => ProcessEnd::Killed(signal),
    }
}

/// Decodes a wait status: `Ok(exit code)` or `Err(signal)`.
pub fn decode_status(status: i32) -> core::result::Result<i32, i32> {
    if libc::WIFEXITED(status) {
        Ok(libc::WEXITSTATUS(status))
    } else {
        Err(libc::WTERMSIG(status))
    }
}

/// Drops all groups and sets the real, effective and saved ids to this user and group
/// (setgroups(2), setresgid(2), setresuid(2)). The process must have one thread.
pub fn become_user(uid: u32, gid: u32) -> Result<()> {
    // SAFETY: all arguments are numbers, and for a count of 0 the kernel reads no groups.
    unsafe {
        raw::syscall(libc::SYS_setgroups, [0; 5])?;
        raw::syscall(
            libc::SYS_setresgid,
            [gid as usize, gid as usize, gid as usize, 0, 0],
        )?;
        raw::syscall(
            libc::SYS_setresuid,
            [uid as usize, uid as usize, uid as usize, 0, 0],
        )?;
    }
    Ok(())
}
