//! The program `under`, which runs a command under an observer other than millibox. The observers
//! are ptrace(2), seccomp user notification and a plain seccomp program. Each reports the command's
//! usage.

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

/// An observer of a program's system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Observer {
    /// No observer.
    None,
    /// ptrace(2), with a stop before and after each system call.
    Ptrace,
    /// Seccomp user notification: a supervisor continues every system call.
    Notify,
    /// Seccomp user notification, with the supervisor woken on the caller's CPU (Linux 6.6).
    NotifySync,
    /// A seccomp program that allows everything without reading arguments, so that the kernel
    /// answers from its bitmap (Linux 5.11).
    SeccompAllow,
    /// A seccomp program that reads an argument of every system call before it allows the call, so
    /// that the kernel runs it every time.
    SeccompArgument,
}

impl Observer {
    /// The names on the command line.
    pub const NAMES: [(&'static str, Observer); 6] = [
        ("nothing", Observer::None),
        ("ptrace", Observer::Ptrace),
        ("notify", Observer::Notify),
        ("notify-sync", Observer::NotifySync),
        ("seccomp-allow", Observer::SeccompAllow),
        ("seccomp-argument", Observer::SeccompArgument),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Observer::NAMES
            .iter()
            .find(|(_, observer)| *observer == self)
            .map_or("nothing", |(name, _)| name)
    }
}

impl FromStr for Observer {
    type Err = String;

    fn from_str(text: &str) -> Result<Observer, String> {
        let found = Observer::NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, observer)| *observer)
            .ok_or_else(|| format!("{text:?} is not an observer"))
    }
}

/// The CPU time and the exit status of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The CPU time in user space, in microseconds.
    pub user_us: u64,
    /// The CPU time in the kernel, in microseconds.
    pub system_us: u64,
    /// The exit status, or 128+N after signal N.
    pub code: u8,
    /// The number of system calls that the observer saw.
    pub calls: u64,
}

/// Runs a command under an observer. Prints its [`Usage`] as one line of JSON on standard error,
/// after the command's own output.
pub fn run(observer: Observer, command: &[String]) -> Result<u8, ProgramError> {
    let [program, arguments @ ..] = command else {
        return Err("no command".into());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let used = match observer {
        Observer::None => plain(command)?,
        Observer::SeccompAllow => {
            sys::attach(&millibox_seccomp::compile(
                &ALLOW_ALL_POLICY.parse::<Policy>()?,
                Arch::native(),
            )?)?;
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
    description = "Allows every call."
    default = "allow"
"#;

/// A program that rejects no call in practice, but whose answer the kernel cannot know beforehand,
/// because it compares the first argument with an unused number.
fn argument_program() -> Result<Program, ProgramError> {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    /// The offset of the first argument in `struct seccomp_data`.
    const ARGUMENT: u32 = 16;
    Ok(Program::new(vec![
        plain_instruction(LOAD, ARGUMENT),
        Instruction {
            code: JUMP_IF_EQUAL,
            jt: 0,
            jf: 1,
            k: 0x6d62_6f78,
        },
        plain_instruction(RETURN, Action::Errno(libc::EPERM as u16).value()),
        plain_instruction(RETURN, Action::Allow.value()),
    ])?)
}

/// An instruction that does not jump.
fn plain_instruction(code: u16, k: u32) -> Instruction {
    Instruction {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// A program that notifies a listener of every call.
fn notify_program() -> Result<Program, ProgramError> {
    const RETURN: u16 = 0x06;
    Ok(Program::new(vec![plain_instruction(
        RETURN,
        libc::SECCOMP_RET_USER_NOTIF,
    )])?)
}

fn plain(mut command: Command) -> Result<Usage, ProgramError> {
    let child = command.spawn()?;
    Ok(usage(sys::wait(child.id() as i32)?, 0))
}

fn usage(waited: sys::Waited, calls: u64) -> Usage {
    let code = match (
        libc::WIFEXITED(waited.status),
        libc::WIFSIGNALED(waited.status),
    ) {
        (true, _) => libc::WEXITSTATUS(waited.status),
        (_, true) => 128 + libc::WTERMSIG(waited.status),
        _ => 255,
    };
    Usage {
        user_us: waited.user_us,
        system_us: waited.system_us,
        code: code as u8,
        calls,
    }
}

/// The tracer stops the command and its descendants at the start and end of each system call. It
/// reads number and arguments, as a sandbox that bases its decision on them must.
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
            // The first stop is after the exec.
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
            // These are ptrace(2)'s own stops: events, and the first stop of a new process.
            libc::SIGTRAP | libc::SIGSTOP => 0,
            signal => signal,
        };
        match sys::trace_on(waited.pid, signal) {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error.into()),
            _ => {}
        }
    }
}

/// The supervisor of user notifications. One thread attaches the program to itself and starts the
/// command, and another thread answers. The threads share descriptors, so the listener need not be
/// sent. The call that sends it would itself wait for an answer.
fn notified(mut command: Command, sync: bool) -> Result<Usage, ProgramError> {
    let notify_program = notify_program()?;
    let place: Arc<OnceLock<OwnedFd>> = Arc::default();
    let calls: Arc<AtomicU64> = Arc::default();
    let asking = {
        let place = place.clone();
        std::thread::spawn(move || -> std::io::Result<u32> {
            // From now on each call of this thread waits for an answer.
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
            // Without answers the program would wait forever.
            eprintln!("millibox-lab: the listener of notifications: {error}");
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
