//! What a user could put observer a program instead: ptrace(2), or seccomp user notification, or a
//! seccomp program alone. Each is a process that runs a command and says what it used.

use super::{ProgramError, sys};
use millibox_seccomp::{Action, Arch, Instruction, Policy, Program};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::str::FromStr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

/// What is observer a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Observer {
    /// Nothing.
    None,
    /// ptrace(2), with a stop before and after every system call.
    Ptrace,
    /// Seccomp user notification: every system call is asked for, and let go on.
    Notify,
    /// The same, and who answers is woken on the CPU of who notify_program (Linux 6.6).
    NotifySync,
    /// A seccomp program that allows everything without a look at arguments, so that the kernel
    /// answers from its bitmap (Linux 5.11).
    SeccompAllow,
    /// A seccomp program that looks at an argument of every system call before it allows it, so
    /// that the kernel runs it every time.
    SeccompArgument,
}

impl Observer {
    /// As the command line has it.
    pub const NAMES: [(&'static str, Observer); 6] = [
        ("nothing", Observer::None),
        ("ptrace", Observer::Ptrace),
        ("notify", Observer::Notify),
        ("notify-sync", Observer::NotifySync),
        ("seccomp-allow", Observer::SeccompAllow),
        ("seccomp-argument", Observer::SeccompArgument),
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Observer::NAMES.iter().find(|(_, observer)| *observer == self).map_or("nothing", |(name, _)| name)
    }
}

impl FromStr for Observer {
    type Err = String;

    fn from_str(text: &str) -> Result<Observer, String> {
        let found = Observer::NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, observer)| *observer)
            .ok_or_else(|| format!("{text:?} is nothing that can be put observer a program"))
    }
}

/// What the program used, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The program's CPU time in user space, microseconds.
    pub user_us: u64,
    /// The same in the kernel.
    pub system_us: u64,
    /// How it exited; 128+N: killed by signal N.
    pub code: u8,
    /// System calls that were seen, where somebody looks.
    pub calls: u64,
}

/// Runs a command with `observer` observer it. What it used goes to standard error, as one line of
/// JSON, after all that it writes there itself.
pub fn run(observer: Observer, command: &[String]) -> Result<u8, ProgramError> {
    let [program, arguments @ ..] = command else { return Err("no command".into()) };
    let mut command = Command::new(program);
    command.args(arguments);
    let used = match observer {
        Observer::None => plain(command)?,
        Observer::SeccompAllow => {
            sys::attach(&millibox_seccomp::compile(&ALLOW_ALL_POLICY.parse::<Policy>()?, Arch::native())?)?;
            plain(command)?
        }
        Observer::SeccompArgument => {
            sys::attach(&argument_program()?)?;
            plain(command)?
        }
        Observer::Ptrace => ptraced(command)?,
        Observer::Notify => notified(command, false)?,
        Observer::NotifySync => notified(command, true)?,
    };
    writeln!(std::io::stderr(), "{}", serde_json::to_string(&used)?)?;
    Ok(used.code)
}

const ALLOW_ALL_POLICY: &str = r#"
    name = "everything"
    description = "Allows every call, whatever its arguments."
    default = "allow"
"#;

/// A rule by which no call is refused, but which the kernel cannot know without looking: whether
/// the first argument is a number that nobody uses.
fn argument_program() -> Result<Program, ProgramError> {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    /// Of the first argument, in `struct seccomp_data`.
    const ARGUMENT: u32 = 16;
    Ok(Program::new(vec![
        plain_instruction(LOAD, ARGUMENT),
        Instruction { code: JUMP_IF_EQUAL, jt: 0, jf: 1, k: 0x6d62_6f78 },
        plain_instruction(RETURN, Action::Errno(libc::EPERM as u16).value()),
        plain_instruction(RETURN, Action::Allow.value()),
    ])?)
}

/// One that does not jump.
fn plain_instruction(code: u16, k: u32) -> Instruction {
    Instruction { code, jt: 0, jf: 0, k }
}

/// Asks a listener about every call.
fn notify_program() -> Result<Program, ProgramError> {
    const RETURN: u16 = 0x06;
    Ok(Program::new(vec![plain_instruction(RETURN, libc::SECCOMP_RET_USER_NOTIF)])?)
}

fn plain(mut command: Command) -> Result<Usage, ProgramError> {
    let child = command.spawn()?;
    Ok(usage(sys::wait(child.id() as i32)?, 0))
}

fn usage(waited: sys::Waited, calls: u64) -> Usage {
    let code = match (libc::WIFEXITED(waited.status), libc::WIFSIGNALED(waited.status)) {
        (true, _) => libc::WEXITSTATUS(waited.status),
        (_, true) => 128 + libc::WTERMSIG(waited.status),
        _ => 255,
    };
    Usage { user_us: waited.user_us, system_us: waited.system_us, code: code as u8, calls }
}

/// The tracer: stops the command and all that it starts at the beginning and end of each system
/// call, and reads its number and arguments, as one must who decides by them.
fn ptraced(mut command: Command) -> Result<Usage, ProgramError> {
    sys::trace_me(&mut command);
    let first = command.spawn()?.id() as i32;
    let mut calls = 0;
    let mut options_set = false;
    loop {
        let waited = sys::wait(-1)?;
        if !libc::WIFSTOPPED(waited.status) {
            if waited.pid == first {
                return Ok(usage(waited, calls));
            }
            continue;
        }
        if !options_set {
            // It stands after its exec.
            sys::trace_options(waited.pid)?;
            options_set = true;
        }
        let signal = match libc::WSTOPSIG(waited.status) {
            stop if stop == libc::SIGTRAP | 0x80 => {
                match sys::traced_call(waited.pid) {
                    Ok(Some(_)) => calls += 1,
                    Ok(None) => {}
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => return Err(error.into()),
                }
                0
            }
            // Of ptrace(2): events, and the first stop of what was started.
            libc::SIGTRAP | libc::SIGSTOP => 0,
            signal => signal,
        };
        match sys::trace_on(waited.pid, signal) {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error.into()),
            _ => {}
        }
    }
}

/// The supervisor of a program whose every call is asked for: one thread attaches the program to
/// itself and starts the command, another answers. They share their descriptors, so the listener
/// need not be sent, which would have to be asked for as well.
fn notified(mut command: Command, sync: bool) -> Result<Usage, ProgramError> {
    let notify_program = notify_program()?;
    let place: Arc<OnceLock<OwnedFd>> = Arc::default();
    let calls: Arc<AtomicU64> = Arc::default();
    let asking = {
        let place = place.clone();
        std::thread::spawn(move || -> std::io::Result<u32> {
            // From here on each of its calls waits for an answer.
            let _ = place.set(sys::attach_with_listener(&notify_program)?);
            Ok(command.spawn()?.id())
        })
    };
    let answering = calls.clone();
    std::thread::spawn(move || {
        let listener = loop {
            match place.get() {
                Some(listener) => break listener,
                None => std::thread::yield_now(),
            }
        };
        if sync {
            sys::answer_on_the_same_cpu(listener);
        }
        if let Err(error) = sys::continue_all(listener, &answering) {
            // Nobody would answer any more.
            eprintln!("millibox: the listener: {error}");
            std::process::exit(1);
        }
    });
    let child = match asking.join() {
        Ok(spawned) => spawned?,
        Err(_) => return Err("the thread that starts the program panicked".into()),
    };
    let waited = sys::wait(child as i32)?;
    Ok(usage(waited, calls.load(Relaxed)))
}
