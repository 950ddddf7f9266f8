//! Makes other processes execute system calls, as if an attacker had taken them over (ptrace(2)).

#![allow(unsafe_code, reason = "inspects processes with ptrace(2)")]

use super::find;
use crate::builder;
use millibox::{EndReason, Error, Hint, Outcome, ProcessEnd, RunError, Step, Supervisor};
use millibox_tests::{
    Footprint, HANG_TIMEOUT, directory, eventually, process, request, run_probe, sandbox_error,
    skip, start, start_sleeper, wait,
};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Duration;

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Returned(i64),
    /// The call killed the process with this signal.
    Ended(i32),
    /// This process may not trace the other process.
    Forbidden,
}

/// An argument: a number, or the address of a string.
enum Argument {
    Number(u64),
    Text(&'static str),
}
use Argument::{Number, Text};

/// Waits until `pid` has stopped or ended. Returns the signal that ended it. If this process is the
/// parent of `pid`, the library remains responsible for reaping it.
fn wait_for(pid: i32) -> Option<i32> {
    // SAFETY: the structure consists of plain numbers, which the kernel writes.
    let (signal, how) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
        let answer = libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, options);
        assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
        (info.si_status(), info.si_code)
    };
    let ended = matches!(how, libc::CLD_KILLED | libc::CLD_DUMPED | libc::CLD_EXITED);
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
    if !ended || parent != Some(std::process::id()) {
        // SAFETY: all arguments are plain numbers.
        let waited = unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) };
        assert_eq!(waited, pid, "{}", std::io::Error::last_os_error());
    }
    ended.then_some(signal)
}

fn registers(pid: i32) -> libc::user_regs_struct {
    // SAFETY: the structure consists of plain numbers, which the kernel writes.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        assert_eq!(
            libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers),
            0
        );
        registers
    }
}

fn set_registers(pid: i32, registers: &libc::user_regs_struct) {
    // SAFETY: the kernel reads the structure.
    let traced = unsafe { libc::ptrace(libc::PTRACE_SETREGS, pid, 0, &raw const *registers) };
    assert_eq!(traced, 0);
}

/// Makes `pid`, which waits in a system call, execute another call and then resume its own call.
fn call(pid: i32, number: i64, arguments: &[Argument]) -> Answer {
    // SAFETY: all arguments are plain numbers.
    if unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) } != 0 {
        return Answer::Forbidden;
    }
    // SAFETY: all arguments are plain numbers.
    let traced = unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0) };
    assert_eq!(traced, 0);
    assert_eq!(wait_for(pid), None, "the process has ended");
    let before = registers(pid);
    let memory = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(format!("/proc/{pid}/mem"))
        .unwrap();
    let mut instruction = [0; 2];
    memory
        .read_exact_at(&mut instruction, before.rip - 2)
        .unwrap();
    if instruction != [0x0f, 0x05] {
        // The process is not in a system call.
        // SAFETY: all arguments are plain numbers.
        assert_eq!(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) }, 0);
        std::thread::sleep(Duration::from_millis(5));
        return call(pid, number, arguments);
    }
    let mut changed = before;
    changed.rip -= 2;
    changed.rax = number as u64;
    changed.orig_rax = u64::MAX;
    let places = [
        &mut changed.rdi,
        &mut changed.rsi,
        &mut changed.rdx,
        &mut changed.r10,
        &mut changed.r8,
        &mut changed.r9,
    ];
    // The strings are placed below the part of the stack that the process uses.
    let mut room = before.rsp - 4096;
    for (at, place) in places.into_iter().enumerate() {
        *place = match arguments.get(at) {
            Some(Number(value)) => *value,
            Some(Text(text)) => {
                memory
                    .write_all_at(&[text.as_bytes(), b"\0"].concat(), room)
                    .unwrap();
                room += 256;
                room - 256
            }
            None => 0,
        };
    }
    set_registers(pid, &changed);
    // SAFETY: all arguments are plain numbers.
    let traced = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) };
    assert_eq!(traced, 0);
    if let Some(signal) = wait_for(pid) {
        return Answer::Ended(signal);
    }
    let answer = registers(pid).rax as i64;
    set_registers(pid, &before);
    // SAFETY: all arguments are plain numbers.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) }, 0);
    Answer::Returned(answer)
}

fn small() -> Supervisor {
    start(builder().slots(1).runners_per_slot(1))
}

const OPEN_NEW: u64 = (libc::O_CREAT | libc::O_WRONLY) as u64;

/// System calls that neither supervisor, keeper nor pid1 needs.
fn forbidden_calls() -> Vec<(&'static str, i64, Vec<Argument>)> {
    vec![
        (
            "execve",
            libc::SYS_execve,
            vec![Text("/bin/true"), Number(0), Number(0)],
        ),
        (
            "execveat",
            libc::SYS_execveat,
            vec![
                Number(0),
                Text("/bin/true"),
                Number(0),
                Number(0),
                Number(0),
            ],
        ),
        ("fork", libc::SYS_fork, vec![]),
        ("clone", libc::SYS_clone, vec![Number(libc::SIGCHLD as u64)]),
        ("clone3", libc::SYS_clone3, vec![]),
        (
            "ptrace",
            libc::SYS_ptrace,
            vec![Number(libc::PTRACE_TRACEME as u64)],
        ),
        ("process_vm_writev", libc::SYS_process_vm_writev, vec![]),
        (
            "mount",
            libc::SYS_mount,
            vec![Text("none"), Text("/proc"), Text("tmpfs")],
        ),
        (
            "unshare",
            libc::SYS_unshare,
            vec![Number(libc::CLONE_NEWUSER as u64)],
        ),
        ("setns", libc::SYS_setns, vec![]),
        (
            "socket",
            libc::SYS_socket,
            vec![
                Number(libc::AF_INET as u64),
                Number(libc::SOCK_STREAM as u64),
            ],
        ),
        ("connect", libc::SYS_connect, vec![]),
        ("bpf", libc::SYS_bpf, vec![]),
        ("io_uring_setup", libc::SYS_io_uring_setup, vec![]),
        ("setuid", libc::SYS_setuid, vec![]),
        (
            "mmap of executable memory",
            libc::SYS_mmap,
            vec![
                Number(0),
                Number(4096),
                Number(7),
                Number(0x22),
                Number(u64::MAX),
            ],
        ),
        ("unlink", libc::SYS_unlink, vec![Text("/nothing")]),
    ]
}

fn assert_reports_sigsys(why: &EndReason) {
    let end = ProcessEnd::Killed(libc::SIGSYS);
    assert_eq!(*why, EndReason::Process(end));
}

#[test]
fn forbidden_call_kills_supervisor() {
    let more: [(_, _, Vec<Argument>); 3] = [
        (
            "openat to write",
            libc::SYS_openat,
            vec![
                Number(0),
                Text("/proc/self/comm"),
                Number(OPEN_NEW),
                Number(0o600),
            ],
        ),
        (
            "kill by another signal",
            libc::SYS_kill,
            vec![Number(1), Number(libc::SIGTERM as u64)],
        ),
        (
            "socketpair of another family",
            libc::SYS_socketpair,
            vec![Number(libc::AF_INET as u64), Number(1)],
        ),
    ];
    for (what, number, arguments) in forbidden_calls().into_iter().chain(more) {
        let supervisor = small();
        let (running, _read) = start_sleeper(&supervisor, &[]);
        let footprint = Footprint::of(&supervisor);
        match call(supervisor.info().pid() as i32, number, &arguments) {
            Answer::Forbidden => return skip("this process may not trace the supervisor"),
            answer => assert_eq!(answer, Answer::Ended(libc::SIGSYS), "{what}"),
        }
        match running.wait_timeout(HANG_TIMEOUT) {
            Err(Error::Died(why)) => assert_reports_sigsys(&why),
            other => panic!("{what}: {other:?}"),
        }
        footprint.assert_gone();
    }
}

#[test]
fn forbidden_call_kills_supervisor_without_keeper() {
    let supervisor = start(
        builder()
            .slots(1)
            .runners_per_slot(1)
            .backend(millibox::BackendChoice::Rlimit),
    );
    let (running, _read) = start_sleeper(&supervisor, &[]);
    match call(supervisor.info().pid() as i32, libc::SYS_setns, &[]) {
        Answer::Forbidden => return skip("this process may not trace the supervisor"),
        answer => assert_eq!(answer, Answer::Ended(libc::SIGSYS)),
    }
    match running.wait_timeout(HANG_TIMEOUT) {
        Err(Error::Died(why)) => assert_reports_sigsys(&why),
        other => panic!("{other:?}"),
    }
}

/// Calls that a libc tries, or that only later kernels have, return an error instead of killing the
/// process.
#[test]
fn calls_of_libraries_do_not_kill_supervisor() {
    let supervisor = small();
    let pid = supervisor.info().pid() as i32;
    let nosys = Answer::Returned(-i64::from(libc::ENOSYS));
    for number in [
        libc::SYS_rseq,
        libc::SYS_set_robust_list,
        libc::SYS_prctl,
        470 + 1000,
    ] {
        match call(pid, number, &[]) {
            Answer::Forbidden => return skip("this process may not trace the supervisor"),
            answer => assert_eq!(answer, nosys, "{number}"),
        }
    }
    for number in [
        libc::SYS_sched_yield,
        libc::SYS_getpid,
        libc::SYS_brk,
        libc::SYS_rt_sigprocmask,
    ] {
        let answer = call(pid, number, &[]);
        assert!(
            matches!(answer, Answer::Returned(answer) if answer >= -i64::from(libc::EINVAL)),
            "{answer:?}"
        );
    }
    let (running, _read) = start_sleeper(&supervisor, &[]);
    running.kill();
    assert_eq!(wait(&running).outcome, Outcome::Killed);
}

#[test]
fn supervisor_threads_have_equal_privileges() {
    let supervisor = small();
    let pid = supervisor.info().pid();
    let confinement = |thread: &std::path::Path| {
        let status = std::fs::read_to_string(thread.join("status")).expect("a thread's status");
        let keys = ["Cap", "NoNewPrivs", "Seccomp"];
        let is_relevant = |line: &&str| keys.iter().any(|key| line.starts_with(key));
        status
            .lines()
            .filter(is_relevant)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .expect("its threads")
        .flatten();
    let threads: Vec<_> = threads.map(|thread| confinement(&thread.path())).collect();
    assert_eq!(
        threads.len(),
        1 + usize::from(supervisor.info().counts_file_locks())
    );
    assert!(
        threads[0].contains(&"Seccomp:\t2".to_owned()),
        "{:?}",
        threads[0]
    );
    assert!(
        threads[0].contains(&"CapEff:\t0000000000000000".to_owned()),
        "{:?}",
        threads[0]
    );
    assert!(
        threads.iter().all(|thread| *thread == threads[0]),
        "{threads:?}"
    );
}

#[test]
fn supervisor_can_open_only_proc() {
    let supervisor = small();
    let pid = supervisor.info().pid() as i32;
    let open = |path| {
        let arguments = [
            Number(libc::AT_FDCWD as u64),
            Text(path),
            Number(libc::O_RDONLY as u64),
        ];
        call(pid, libc::SYS_openat, &arguments)
    };
    if open("/proc/self/stat") == Answer::Forbidden {
        return skip("this process may not trace the supervisor");
    }
    assert!(matches!(open("/proc/self/stat"), Answer::Returned(0..)));
    if supervisor.info().landlock().is_none() {
        return skip("the kernel does not support Landlock");
    }
    for path in ["/etc/passwd", "/", "/dev/null", "/sys", "/usr/bin/env"] {
        assert_eq!(
            open(path),
            Answer::Returned(-i64::from(libc::EACCES)),
            "{path}"
        );
    }
}

/// The keeper of a supervisor, if one exists.
fn keeper(supervisor: &Supervisor) -> Option<i32> {
    let parent = process(supervisor.info().pid() as i32)?.parent;
    (parent != std::process::id() as i32).then_some(parent)
}

#[test]
fn forbidden_call_kills_keeper() {
    // The keeper can send only one signal to one process.
    let signals = [
        (
            "another signal",
            libc::SYS_pidfd_send_signal,
            vec![Number(0), Number(libc::SIGTERM as u64)],
        ),
        (
            "a signal to another process",
            libc::SYS_pidfd_send_signal,
            vec![Number(3), Number(libc::SIGKILL as u64)],
        ),
        ("kill", libc::SYS_kill, vec![Number(1), Number(0)]),
        (
            "closing the supervisor's pidfd",
            libc::SYS_close,
            vec![Number(0)],
        ),
        (
            "pidfd_open",
            libc::SYS_pidfd_open,
            vec![Number(1), Number(0)],
        ),
    ];
    for (what, number, arguments) in forbidden_calls().into_iter().chain(signals) {
        let supervisor = small();
        let Some(keeper) = keeper(&supervisor) else {
            return skip("without cgroups, no keeper exists");
        };
        let (running, _read) = start_sleeper(&supervisor, &[]);
        let footprint = Footprint::of(&supervisor);
        match call(keeper, number, &arguments) {
            Answer::Forbidden => return skip("this process may not trace the keeper"),
            answer => assert_eq!(answer, Answer::Ended(libc::SIGSYS), "{what}"),
        }
        assert!(
            matches!(running.wait_timeout(HANG_TIMEOUT), Err(Error::Died(_))),
            "{what}"
        );
        drop(supervisor);
        footprint.assert_gone();
    }
}

#[test]
fn keeper_can_open_only_cgroups() {
    let supervisor = small();
    let Some(keeper) = keeper(&supervisor) else {
        return skip("without cgroups, no keeper exists");
    };
    if supervisor.info().landlock().is_none() {
        return skip("the kernel does not support Landlock");
    }
    let place = directory();
    static NEW: OnceLock<String> = OnceLock::new();
    let new = NEW.get_or_init(|| format!("{}/new", place.path().display()));
    let denied = Answer::Returned(-i64::from(libc::EACCES));
    let answer = call(keeper, libc::SYS_mkdir, &[Text(new), Number(0o755)]);
    if answer == Answer::Forbidden {
        return skip("this process may not trace the keeper");
    }
    assert_eq!(answer, denied);
    let open = [
        Number(libc::AT_FDCWD as u64),
        Text("/etc/passwd"),
        Number(0),
    ];
    assert_eq!(call(keeper, libc::SYS_openat, &open), denied);
    let open = [
        Number(libc::AT_FDCWD as u64),
        Text(new),
        Number(OPEN_NEW),
        Number(0o600),
    ];
    assert_eq!(call(keeper, libc::SYS_openat, &open), denied);
}

#[test]
fn forbidden_call_kills_separate_pid1() {
    let separate = |separate| {
        start(
            builder()
                .slots(1)
                .runners_per_slot(1)
                .separate_pid1(separate),
        )
    };
    let calls = || {
        let open = vec![Number(libc::AT_FDCWD as u64), Text("/"), Number(0)];
        forbidden_calls()
            .into_iter()
            .chain([("openat", libc::SYS_openat, open)])
    };
    for (what, number, arguments) in calls() {
        let supervisor = separate(true);
        let (running, _read) = start_sleeper(&supervisor, &[]);
        let pid1 = pid1_of(&supervisor);
        match call(pid1, number, &arguments) {
            Answer::Forbidden => return skip("this process may not trace pid1"),
            answer => assert_eq!(answer, Answer::Ended(libc::SIGSYS), "{what}"),
        }
        let result = wait(&running);
        let forbidden = Hint::Ended(ProcessEnd::Killed(libc::SIGSYS));
        assert_eq!(
            *sandbox_error(&result),
            RunError::new(Step::Pid1).with_hint(forbidden),
            "{what}"
        );
        // The next run has a new pid1.
        assert_eq!(
            millibox_tests::result(&supervisor, &request(["exit", "3"])).outcome,
            Outcome::Exited(3)
        );
    }
    // As docs/security/privileges.md states, a pid1 in its runner's memory is confined only by
    // its world's seccomp program.
    let supervisor = separate(false);
    let (_running, _read) = start_sleeper(&supervisor, &[]);
    let open = [Number(libc::AT_FDCWD as u64), Text("/"), Number(0)];
    let answer = call(pid1_of(&supervisor), libc::SYS_openat, &open);
    assert!(matches!(answer, Answer::Returned(0..)), "{answer:?}");
}

fn pid1_of(supervisor: &Supervisor) -> i32 {
    let all = find(
        std::process::id() as i32,
        supervisor.info().pid() as i32,
        "program",
    );
    all.iter()
        .find(|(name, _)| *name == "pid1")
        .map(|(_, pid)| *pid)
        .expect("pid1")
}

/// Makes `pid`, which waits in recvmsg(2), stop as soon as that call has returned. Returns false if
/// this process may not trace it.
fn begin_to_stop_after_receipt(pid: i32) -> bool {
    // SAFETY: all arguments are plain numbers.
    let trace = |request, how: i32| unsafe { libc::ptrace(request, pid, 0, how) };
    if trace(libc::PTRACE_SEIZE, 0) != 0 {
        return false;
    }
    assert_eq!(trace(libc::PTRACE_INTERRUPT, 0), 0);
    let is_receiving = |registers: libc::user_regs_struct| {
        let is_entry = registers.rax as i64 == -i64::from(libc::ENOSYS);
        is_entry && registers.orig_rax == libc::SYS_recvmsg as u64
    };
    loop {
        assert_eq!(wait_for(pid), None, "the process has ended");
        let receives = is_receiving(registers(pid));
        assert_eq!(trace(libc::PTRACE_SYSCALL, 0), 0);
        if receives {
            return true;
        }
    }
}

/// The kernel may have delivered the launch to a target that does not continue.
#[test]
fn run_received_by_target_that_stays_stopped_returns_error() {
    let supervisor = small();
    run_probe(&supervisor, &["exit", "0"]);
    let client = std::process::id() as i32;
    let mut target = 0;
    assert!(eventually(HANG_TIMEOUT, || {
        let all = find(client, supervisor.info().pid() as i32, "target");
        let last = all.last().filter(|(name, _)| *name == "target");
        target = last.map_or(0, |(_, pid)| *pid);
        target != 0
    }));
    if !begin_to_stop_after_receipt(target) {
        return skip("this process may not trace the target");
    }
    let run = supervisor
        .run(&request(["exit", "0"]).real_time_limit(Duration::from_secs(2)))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(wait_for(target), None, "the target has ended");
    // SAFETY: all arguments are plain numbers.
    let detached = unsafe { libc::ptrace(libc::PTRACE_DETACH, target, 0, libc::SIGSTOP) };
    assert_eq!(detached, 0);
    let result = wait(&run);
    assert_eq!(sandbox_error(&result).hint, Some(Hint::NotExecuted));
    run_probe(&supervisor, &["exit", "0"]);
}
