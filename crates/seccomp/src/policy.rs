//! Policies: what to answer to which system call, as a person writes it down in TOML.

mod read;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::arch::Arch;
use crate::errno;

pub use read::{PolicyError, Problem};

/// What becomes of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// It is made: `SECCOMP_RET_ALLOW`.
    Allow,
    /// It is made, and the kernel's audit log tells of it: `SECCOMP_RET_LOG`.
    Log,
    /// It is not made and fails with this error number, at most 4095: `SECCOMP_RET_ERRNO`. 0 makes
    /// it seem to succeed.
    Errno(u16),
    /// It is not made and the thread gets SIGSYS: `SECCOMP_RET_TRAP`.
    Trap,
    /// The thread ends as if by SIGSYS: `SECCOMP_RET_KILL_THREAD`.
    KillThread,
    /// The process ends as if by SIGSYS: `SECCOMP_RET_KILL_PROCESS`.
    KillProcess,
}

impl Action {
    /// The value a filter returns for this action.
    pub const fn value(self) -> u32 {
        match self {
            Action::Allow => 0x7fff_0000,
            Action::Log => 0x7ffc_0000,
            Action::Errno(number) => 0x0005_0000 | number as u32,
            Action::Trap => 0x0003_0000,
            Action::KillThread => 0,
            Action::KillProcess => 0x8000_0000,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Allow => f.write_str("allow"),
            Action::Log => f.write_str("log"),
            Action::Errno(number) => match errno::name(*number) {
                Some(name) => write!(f, "errno:{name}"),
                None => write!(f, "errno:{number}"),
            },
            Action::Trap => f.write_str("trap"),
            Action::KillThread => f.write_str("kill_thread"),
            Action::KillProcess => f.write_str("kill_process"),
        }
    }
}

/// Why a text is no [`Action`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ActionError {
    /// There is no such action.
    #[error("there is no action {0:?}; write allow, log, errno:NAME, trap, kill_thread or kill_process")]
    Unknown(String),
    /// The action hands the call to another process.
    #[error("the action {0:?} needs a process that answers it, and there is none; use errno:NAME")]
    Unanswered(String),
    /// There is no such error.
    #[error("there is no error {0:?}; write a name of errno(3) or a number up to 4095")]
    Errno(String),
}

impl FromStr for Action {
    type Err = ActionError;

    fn from_str(text: &str) -> Result<Action, ActionError> {
        Ok(match text {
            "allow" => Action::Allow,
            "log" => Action::Log,
            "trap" => Action::Trap,
            "kill_thread" => Action::KillThread,
            "kill_process" => Action::KillProcess,
            "trace" | "user_notif" => return Err(ActionError::Unanswered(text.to_owned())),
            _ => {
                let Some(error) = text.strip_prefix("errno:") else {
                    return Err(ActionError::Unknown(text.to_owned()));
                };
                // A number is digits only: u16's own reader would take a sign.
                let number = if error.starts_with(|c: char| c.is_ascii_digit()) {
                    error.parse().ok().filter(|&number| number <= errno::MAX_ERRNO)
                } else {
                    errno::number(error)
                };
                match number {
                    Some(number) => Action::Errno(number),
                    None => return Err(ActionError::Errno(error.to_owned())),
                }
            }
        })
    }
}

/// How a condition compares, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal to the value.
    Equal,
    /// Not equal to the value.
    NotEqual,
    /// Less than the value.
    Less,
    /// Less than the value, or equal.
    LessEqual,
    /// Greater than the value.
    Greater,
    /// Greater than the value, or equal.
    GreaterEqual,
}

/// Something that must hold of an argument: its bits under `mask`, compared with `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    arg: u8,
    mask: u64,
    comparison: Comparison,
    value: u64,
}

impl Condition {
    /// Which argument, 0 to 5.
    pub fn arg(&self) -> u8 {
        self.arg
    }

    /// The bits of the argument that are looked at.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// How they are compared.
    pub fn comparison(&self) -> Comparison {
        self.comparison
    }

    /// What they are compared with. It has no bit outside of the mask.
    pub fn value(&self) -> u64 {
        self.value
    }
}

/// One `[[rule]]`: what to answer to some system calls, perhaps under conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    action: Action,
    why: String,
    syscalls: Vec<String>,
    conditions: Vec<Condition>,
}

impl Rule {
    /// The answer.
    pub fn action(&self) -> Action {
        self.action
    }

    /// What the rule is for.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// The names of the calls it is about. Each is the name of a call on at least one
    /// architecture.
    pub fn syscalls(&self) -> impl Iterator<Item = &str> {
        self.syscalls.iter().map(String::as_str)
    }

    /// What must hold of the arguments: all of it. A rule without conditions always applies.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
}

/// A whole policy.
///
/// It is made from TOML ([`str::parse`]), and is free of contradictions once it is made: see
/// [`PolicyError`].
///
/// # The file
///
/// ```
/// # let text = r#"
/// name = "quiet"
/// description = "May only read, write and end."
/// default = "errno:ENOSYS"                  # for every number no rule names
/// foreign_architecture = "kill_process"     # the default
///
/// [[rule]]
/// action = "allow"
/// why = "input, output, the end"
/// syscalls = ["read", "write", "exit_group"]
///
/// [[rule]]
/// action = "errno:EPERM"
/// why = "no output but to standard output and standard error"
/// syscalls = ["write"]
/// when = [{ arg = 0, mask = 0xffff_ffff, greater = 2 }]
/// # "#;
/// # let policy: millibox_seccomp::Policy = text.parse().unwrap();
/// # assert_eq!(policy.name(), "quiet");
/// ```
///
/// An action is `allow`, `log`, `errno:NAME` (or a number), `trap`, `kill_thread` or
/// `kill_process`.
///
/// A condition has the number of an argument (0 to 5), a `mask` (all 64 bits, if it is left out)
/// and one of `equal`, `not_equal`, `less`, `less_equal`, `greater` and `greater_equal`.
/// **Arguments are 64 bits wide here even where the call takes fewer:** the kernel ignores the
/// upper half of an `int`, so a condition on one must mask it with `0xffff_ffff`, or a program
/// gets around it by setting a bit there.
///
/// If several rules name a call, those with conditions are tried in the order of the file, and
/// the first whose conditions all hold gives the answer. Then comes the rule without conditions,
/// of which there may be one per call, and then the default.
///
/// A name may be that of a call which only another architecture has; it is skipped then, so that
/// one file serves all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    name: String,
    description: String,
    default: Action,
    foreign_architecture: Action,
    rules: Vec<Rule>,
}

impl Policy {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The answer to every number that no rule names.
    pub fn default_action(&self) -> Action {
        self.default
    }

    /// The answer to every call of another architecture than the one compiled for.
    pub fn foreign_architecture(&self) -> Action {
        self.foreign_architecture
    }

    /// The rules in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// This policy with another's rules before its own.
    pub(crate) fn after(mut self, before: Policy) -> Policy {
        self.rules.splice(0..0, before.rules);
        self
    }

    /// The rules sorted by the system calls they are about.
    pub(crate) fn calls(&self, arch: Arch) -> BTreeMap<u32, Call<'_>> {
        let mut calls = BTreeMap::new();
        for rule in &self.rules {
            for number in rule.syscalls().filter_map(|name| arch.number(name)) {
                let call = calls.entry(number).or_insert(Call { conditional: Vec::new(), otherwise: self.default });
                if rule.conditions.is_empty() {
                    call.otherwise = rule.action;
                } else {
                    call.conditional.push(rule);
                }
            }
        }
        calls
    }
}

/// What a policy says of one system call.
pub(crate) struct Call<'p> {
    /// The rules to try in order.
    pub conditional: Vec<&'p Rule>,
    /// The answer where none of them applies.
    pub otherwise: Action,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_read_and_write() {
        for text in ["allow", "log", "errno:EPERM", "errno:EAGAIN", "errno:4000", "trap", "kill_thread", "kill_process"]
        {
            assert_eq!(text.parse::<Action>().expect(text).to_string(), text);
        }
        assert_eq!("errno:38".parse(), Ok(Action::Errno(38)));
        assert_eq!("errno:0".parse(), Ok(Action::Errno(0)));
        assert_eq!("errno:EWOULDBLOCK".parse(), Ok(Action::Errno(11)));
        for text in ["errno:4096", "errno:+1", "errno:-1", "errno:EFOO", "errno:", "errno:99999"] {
            let error = text.parse::<Action>().expect_err(text);
            assert!(matches!(error, ActionError::Errno(_)), "{text}");
        }
        for text in ["trace", "user_notif", "Allow", "errno", ""] {
            text.parse::<Action>().expect_err(text);
        }
    }
}
