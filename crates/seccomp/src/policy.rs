//! Policies: the action for each system call, written in TOML.

mod read;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::arch::Arch;
use crate::errno;
use crate::interpret::Data;

pub use read::{PolicyError, Problem};

/// The kernel's reaction to a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Execute the call: `SECCOMP_RET_ALLOW`.
    Allow,
    /// Execute the call and write it to the kernel's audit log: `SECCOMP_RET_LOG`.
    Log,
    /// Fail the call with this error number, at most 4095, without executing it:
    /// `SECCOMP_RET_ERRNO`. With errno 0 the call seems to succeed.
    Errno(u16),
    /// Send SIGSYS to the thread instead of executing the call: `SECCOMP_RET_TRAP`.
    Trap,
    /// End the thread as if by SIGSYS: `SECCOMP_RET_KILL_THREAD`.
    KillThread,
    /// End the process as if by SIGSYS: `SECCOMP_RET_KILL_PROCESS`.
    KillProcess,
}

impl Action {
    /// The value that a filter returns for this action, `SECCOMP_RET_*` with its data.
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

/// The reason why a string cannot be parsed as an [`Action`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ActionError {
    /// No action has this name.
    #[error(
        "unknown action {0:?}; write allow, log, errno:NAME, trap, kill_thread or kill_process"
    )]
    UnknownAction(String),
    /// The action passes the call to another process, `trace` or `user_notif`.
    #[error(
        "action {0:?} needs a process that answers the call, which millibox does not provide; use \
         errno:NAME"
    )]
    NeedsAnotherProcess(String),
    /// No error has this name or number.
    #[error(
        "unknown error {0:?} in an errno action; write a name from errno(3) or a number up to 4095"
    )]
    UnknownErrno(String),
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
            "trace" | "user_notif" => {
                return Err(ActionError::NeedsAnotherProcess(text.to_owned()));
            }
            _ => {
                let Some(error) = text.strip_prefix("errno:") else {
                    return Err(ActionError::UnknownAction(text.to_owned()));
                };
                // The check rejects a sign, which u16::from_str accepts.
                let number = if error.starts_with(|c: char| c.is_ascii_digit()) {
                    error
                        .parse()
                        .ok()
                        .filter(|&number| number <= errno::MAX_ERRNO)
                } else {
                    errno::number(error)
                };
                match number {
                    Some(number) => Action::Errno(number),
                    None => return Err(ActionError::UnknownErrno(error.to_owned())),
                }
            }
        })
    }
}

/// An unsigned comparison of a masked argument with a value.
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

/// A comparison of an argument's bits under `mask` with `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    arg: u8,
    mask: u64,
    comparison: Comparison,
    value: u64,
}

impl Condition {
    /// The index of the argument, 0 to 5.
    pub fn arg(&self) -> u8 {
        self.arg
    }

    /// The bits of the argument that take part in the comparison.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// The comparison.
    pub fn comparison(&self) -> Comparison {
        self.comparison
    }

    /// The value to compare with. It has no bit outside the mask.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Whether the condition holds for the arguments of a call.
    fn holds(&self, args: &[u64; 6]) -> bool {
        let argument = args[usize::from(self.arg)] & self.mask;
        match self.comparison {
            Comparison::Equal => argument == self.value,
            Comparison::NotEqual => argument != self.value,
            Comparison::Less => argument < self.value,
            Comparison::LessEqual => argument <= self.value,
            Comparison::Greater => argument > self.value,
            Comparison::GreaterEqual => argument >= self.value,
        }
    }
}

/// One `[[rule]]`: an action for some system calls, optionally under conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    action: Action,
    why: String,
    syscalls: Vec<String>,
    conditions: Vec<Condition>,
    /// The name of the policy in whose text the rule is.
    policy: String,
    line: usize,
}

impl Rule {
    /// The action for the calls.
    pub fn action(&self) -> Action {
        self.action
    }

    /// The reason for the rule.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// The names of the system calls. Each name exists on at least one architecture.
    pub fn syscalls(&self) -> impl Iterator<Item = &str> {
        self.syscalls.iter().map(String::as_str)
    }

    /// The conditions, which must all hold. A rule without conditions always applies.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The name of the policy that contains the rule. A built-in policy can consist of several.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The line of the rule's action in the text of that policy, starting at 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

/// The action of a policy for one call, and the rule that chose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'p> {
    /// The action.
    pub action: Action,
    /// The rule; `None` for the default action and for calls of another architecture.
    pub rule: Option<&'p Rule>,
}

/// A complete policy.
///
/// [`str::parse`] reads a policy from TOML and rejects contradictions: see [`PolicyError`].
///
/// # The file
///
/// ```
/// # let text = r#"
/// name = "quiet"
/// description = "The program can only read, write and exit."
/// default = "errno:ENOSYS"                  # for every number that no rule names
/// foreign_architecture = "kill_process"     # the default
///
/// [[rule]]
/// action = "allow"
/// why = "input, output, exit"
/// syscalls = ["read", "write", "exit_group"]
///
/// [[rule]]
/// action = "errno:EPERM"
/// why = "output to standard output and standard error only"
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
/// A condition has the index of an argument (0 to 5), an optional `mask` (default: all 64 bits)
/// and one of `equal`, `not_equal`, `less`, `less_equal`, `greater` and `greater_equal`.
/// **Arguments have 64 bits here even if the call uses fewer.** The kernel ignores the upper half
/// of an `int`. A condition on an `int` must mask it with `0xffff_ffff`; otherwise a program
/// evades the condition by setting an upper bit.
///
/// If several rules name a call, the rules with conditions are tried in the order of the file. The
/// first rule whose conditions all hold decides. If no such rule exists, the rule without
/// conditions decides; a call has at most one. Without that rule, the default applies.
///
/// A call that exists only on another architecture is skipped, so one file serves all
/// architectures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    name: String,
    description: String,
    default: Action,
    foreign_architecture: Action,
    rules: Vec<Rule>,
}

impl Policy {
    /// The name of the policy.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The purpose of the policy.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The action for every number that no rule names.
    pub fn default_action(&self) -> Action {
        self.default
    }

    /// The action for every call of an architecture other than the compiled one.
    pub fn foreign_architecture(&self) -> Action {
        self.foreign_architecture
    }

    /// The rules in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Decides one call of a program on `arch`, as the compiled policy does, and names the rule.
    ///
    /// ```
    /// use millibox_seccomp::{Action, Arch, Data, profile};
    ///
    /// let policy = profile("strict").expect("a built-in policy");
    /// let arch = Arch::native();
    /// let fork = arch.number("clone3").unwrap();
    /// let call = Data { nr: fork, arch: arch.audit_value(), ..Data::default() };
    /// assert_ne!(policy.decide(arch, &call).action, Action::Allow);
    /// ```
    pub fn decide(&self, arch: Arch, data: &Data) -> Decision<'_> {
        let without_rule = |action| Decision { action, rule: None };
        if data.arch != arch.audit_value() {
            return without_rule(self.foreign_architecture);
        }
        let Some(name) = arch.name(data.nr) else {
            return without_rule(self.default);
        };
        let mut of_call = (self.rules.iter()).filter(|rule| rule.syscalls().any(|its| its == name));
        let conditional = of_call.clone().find(|rule| {
            !rule.conditions.is_empty() && rule.conditions.iter().all(|its| its.holds(&data.args))
        });
        let rule = conditional.or_else(|| of_call.find(|rule| rule.conditions.is_empty()));
        Decision {
            action: rule.map_or(self.default, |rule| rule.action),
            rule,
        }
    }

    /// Inserts the rules of `other` before this policy's own rules.
    pub(crate) fn with_rules_before(mut self, other: Policy) -> Policy {
        self.rules.splice(0..0, other.rules);
        self
    }

    /// The rules of each system call that any rule names, by number.
    pub(crate) fn calls(&self, arch: Arch) -> BTreeMap<u32, Call<'_>> {
        let mut calls = BTreeMap::new();
        for rule in &self.rules {
            for number in rule.syscalls().filter_map(|name| arch.number(name)) {
                let call = calls.entry(number).or_insert(Call {
                    conditional: Vec::new(),
                    fallback: self.default,
                });
                if rule.conditions.is_empty() {
                    call.fallback = rule.action;
                } else {
                    call.conditional.push(rule);
                }
            }
        }
        calls
    }
}

/// The part of a policy that decides one system call.
pub(crate) struct Call<'p> {
    /// The rules with conditions, in the order in which they are tried.
    pub conditional: Vec<&'p Rule>,
    /// The action if no rule in `conditional` applies.
    pub fallback: Action,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_parsed_and_printed_is_unchanged() {
        for text in [
            "allow",
            "log",
            "errno:EPERM",
            "errno:EAGAIN",
            "errno:4000",
            "trap",
            "kill_thread",
            "kill_process",
        ] {
            assert_eq!(text.parse::<Action>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn errno_action_accepts_numbers_and_aliases() {
        assert_eq!("errno:38".parse(), Ok(Action::Errno(38)));
        assert_eq!("errno:0".parse(), Ok(Action::Errno(0)));
        assert_eq!("errno:EWOULDBLOCK".parse(), Ok(Action::Errno(11)));
    }

    #[test]
    fn invalid_action_is_rejected() {
        for error in ["4096", "+1", "-1", "EFOO", "", "99999"] {
            let text = format!("errno:{error}");
            assert_eq!(
                text.parse::<Action>(),
                Err(ActionError::UnknownErrno(error.to_owned()))
            );
        }
        for text in ["trace", "user_notif"] {
            assert_eq!(
                text.parse::<Action>(),
                Err(ActionError::NeedsAnotherProcess(text.to_owned()))
            );
        }
        for text in ["Allow", "errno", ""] {
            assert_eq!(
                text.parse::<Action>(),
                Err(ActionError::UnknownAction(text.to_owned()))
            );
        }
    }
}
