//! New processes.

use super::memory::Stack;
use super::{Errno, Result, raw};
use core::convert::Infallible;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::SeqCst;
use millibox_wire::ProcessEnd;

/// clone(2), Linux 5.7 (libc's constant overflows).
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// What a clone shares and where it is born; the default is a plain copy.
#[derive(Default, Clone, Copy)]
pub struct Clone {
    /// `CLONE_*` flags (clone(2)).
    pub flags: u64,
    /// A descriptor of the cgroup to be born in (`CLONE_INTO_CGROUP`, Linux 5.7).
    pub into_cgroup: Option<i32>,
}

/// Starts a child that runs `main(argument)` on a stack of its own and waits for its end.
///
/// Its process id stands in `pid` from before it begins until it can no longer be another's: it is
/// taken back before the child is waited for. In between `dead` is called, while what the child was
/// can still be seen.
///
/// With `CLONE_VM` the child runs in our memory: `main` may then use only what
/// [`super`] allows. The stack is the child's until the return.
pub fn run_child<T: Sync>(
    how: Clone,
    stack: &Stack,
    main: fn(&T) -> !,
    argument: &T,
    pid: &AtomicI32,
    dead: impl FnOnce(i32),
) -> Result<Waited> {
    // SAFETY: stack and argument are borrowed until the child has been waited for.
    let child = unsafe { spawn(how, stack, main, argument, Some(pid)) }?;
    let options = libc::WEXITED | libc::WNOWAIT | libc::__WALL;
    let wait_args = [libc::P_PID as usize, child as usize, 0, options as usize, 0];
    // SAFETY: numbers, and nothing is to be written.
    while unsafe { raw::syscall(libc::SYS_waitid, wait_args) } == Err(Errno(libc::EINTR)) {}
    pid.store(0, SeqCst);
    dead(child);
    wait(child, libc::__WALL)
}

/// Starts a child that runs `main(argument)` in our memory on a stack of its own, and goes
/// on with its process id, for good: what is borrowed is never given back.
///
/// Not by vfork: whoever waits for a vfork counts as working (uninterruptible) in the
/// host's load average, and a prepared target may wait for its launch for hours.
pub fn spawn_and_go_on<T: Sync>(
    stack: &Stack,
    main: fn(&T) -> !,
    argument: &T,
    go_on: impl FnOnce(Result<i32>) -> Infallible,
) -> ! {
    let how = Clone {
        flags: libc::CLONE_VM as u64,
        ..Clone::default()
    };
    // SAFETY: we do not return, so stack and argument stay borrowed for as long as we live;
    // if we are killed, so is the child, before whoever lent them to us goes on (we are
    // the first process of its PID namespace, and are waited for).
    let child = unsafe { spawn(how, stack, main, argument, None) };
    match go_on(child) {}
}

/// # Safety
/// `stack` and `argument` must live, and `stack` must be used by nobody else, for as
/// long as the child lives in memory that it shares with us.
unsafe fn spawn<T: Sync>(
    how: Clone,
    stack: &Stack,
    main: fn(&T) -> !,
    argument: &T,
    pid: Option<&AtomicI32>,
) -> Result<i32> {
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
            },
        pidfd: 0,
        child_tid: 0,
        parent_tid: pid.map_or(0, |pid| pid.as_ptr() as u64),
        exit_signal: libc::SIGCHLD as u64,
        stack: stack.base() as u64,
        stack_size: stack.length() as u64,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: how.into_cgroup.unwrap_or(0) as u64,
    };

    unsafe extern "C" fn entry<T>(main: usize, argument: usize) -> ! {
        // SAFETY: these are the two values that `spawn` passed: a function pointer and a
        // reference of exactly these types, which its caller keeps alive.
        let (main, argument) = unsafe {
            (
                core::mem::transmute::<usize, fn(&T) -> !>(main),
                &*(argument as *const T),
            )
        };
        main(argument)
    }

    // SAFETY: `args` is whole and names a mapped stack that the caller keeps for this
    // child; `entry` does not return, and the argument is Sync.
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

/// fork(2), for a process of one thread. In the child, the answer is `None`.
pub fn fork() -> Result<Option<i32>> {
    // SAFETY: those of the supervisor's processes that fork have one thread, so the child may do
    // all that the parent could.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error().into()),
        0 => Ok(None),
        pid => Ok(Some(pid)),
    }
}

/// The same, but the child is born in this cgroup (`CLONE_INTO_CGROUP`, Linux 5.7). Of libc see
/// [`fork_sibling`].
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
    // SAFETY: like fork(2): the child goes on with a copy of our memory, this stack included. One
    // thread, so the child may do all that we could.
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

/// clone(2) of a process of one thread, with memory of its own, whose parent is not we but our
/// parent (`CLONE_PARENT`): that is who is told of its end, and whose death is the parent's
/// (`PR_SET_PDEATHSIG`). In the child, the answer is `None`.
///
/// libc does not know of it: what it keeps of a thread's id in the child is ours. It uses that only
/// for locks that a process of one thread does not take.
pub fn fork_sibling() -> Result<Option<i32>> {
    let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as usize;
    // SAFETY: like fork(2): the child goes on with a copy of our memory, this stack included. One
    // thread, so the child may do all that we could.
    match unsafe { raw::syscall(libc::SYS_clone, [flags, 0, 0, 0, 0]) }? {
        0 => Ok(None),
        pid => Ok(Some(pid as i32)),
    }
}

/// A pidfd of process `pid` (pidfd_open(2)), which must be our own child or ourselves.
pub fn own_pidfd() -> Result<i32> {
    let pid = super::calls::getpid();
    // SAFETY: takes and gives numbers only.
    unsafe { raw::syscall(libc::SYS_pidfd_open, [pid as usize, 0, 0, 0, 0]) }.map(|fd| fd as i32)
}

/// What became of a child.
#[derive(Clone, Copy, Default)]
pub struct Waited {
    /// Its process id.
    pub pid: i32,
    /// Its wait status (wait(2)).
    pub status: i32,
    /// User CPU time in µs, of it and of all descendants that were waited for.
    pub user_us: u64,
    /// System CPU time in µs, likewise.
    pub system_us: u64,
    /// Largest resident set of one of them, in KiB.
    pub max_rss_kib: u64,
}

/// wait4(2) for `pid` (-1: any child), without errno.
pub fn wait(pid: i32, options: i32) -> Result<Waited> {
    let mut status: i32 = 0;
    // SAFETY: rusage is plain numbers.
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

/// Usage of all descendants that were waited for (getrusage(2), `RUSAGE_CHILDREN`).
pub fn children_usage() -> Result<Waited> {
    // SAFETY: rusage is plain numbers, and the kernel writes one.
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

/// How the process with this wait status ended.
pub fn end_of(status: i32) -> ProcessEnd {
    match decode_status(status) {
        Ok(code) => ProcessEnd::Exited(code),
        Err(signal) => ProcessEnd::Killed(signal),
    }
}

/// What a wait status says: `Ok(exit code)` or `Err(signal)`.
pub fn decode_status(status: i32) -> core::result::Result<i32, i32> {
    if libc::WIFEXITED(status) {
        Ok(libc::WEXITSTATUS(status))
    } else {
        Err(libc::WTERMSIG(status))
    }
}

/// Gives up all groups and becomes this user and group, real, effective and saved
/// (setgroups(2), setresgid(2), setresuid(2)), for a process of one thread.
pub fn become_user(uid: u32, gid: u32) -> Result<()> {
    // SAFETY: numbers, and no groups are read for a count of 0.
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
