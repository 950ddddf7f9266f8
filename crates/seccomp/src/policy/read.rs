//! Parses a policy from TOML and reports the first error in it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use super::{Action, ActionError, Comparison, Condition, Policy, Rule};
use crate::arch::{Arch, nearest_name};

/// The reason why a string cannot be parsed as a [`Policy`], consisting of the line and the
/// [`Problem`].
///
/// Its `Display` is a single line of text that also contains a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
#[non_exhaustive]
pub struct PolicyError {
    /// The line number in the text, starting at 1.
    pub line: usize,
    /// The error in this line.
    pub problem: Problem,
}

/// An error in a policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not valid TOML, or a key is unknown, missing or of the wrong type.
    #[error("{}", OneLine(.message))]
    Syntax {
        /// The TOML parser's message. It quotes keys of the text verbatim.
        message: String,
    },
    /// The value of an action key is not an action.
    #[error(transparent)]
    Action(ActionError),
    /// No architecture has a system call of this name.
    #[error("unknown system call {name:?}; {}", Remedy { nearest: *.nearest })]
    UnknownSyscall {
        /// The name in the policy.
        name: String,
        /// The closest known name, if any is close.
        nearest: Option<&'static str>,
    },
    /// Two rules without conditions name the same call.
    #[error(
        "a rule without conditions in line {first} already names {name:?}; remove one of the two, \
         or give one rule a `when`"
    )]
    Contradiction {
        /// The name of the call.
        name: String,
        /// The line of the rule that already names the call.
        first: usize,
    },
    /// A rule lists no system call.
    #[error("the rule names no system call; add system calls or remove the rule")]
    NoSyscalls,
    /// The index of an argument is greater than 5.
    #[error("argument {arg} does not exist; a system call has the arguments 0 to 5")]
    UnknownArgument {
        /// The index in the policy.
        arg: u64,
    },
    /// A condition does not have exactly one comparison.
    #[error(
        "the condition has {count} comparisons; give it exactly one of equal, not_equal, less, \
         less_equal, greater and greater_equal"
    )]
    ComparisonCount {
        /// The number of comparisons.
        count: usize,
    },
    /// A condition compares with a value that the masked argument cannot have.
    #[error(
        "the value {value:#x} has bits outside the mask {mask:#x}; clear these bits or widen the \
         mask"
    )]
    OutsideMask {
        /// The value.
        value: u64,
        /// The mask.
        mask: u64,
    },
}

/// Displays the remedy for an unknown system call.
struct Remedy {
    nearest: Option<&'static str>,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nearest {
            Some(nearest) => write!(f, "did you mean {nearest:?}?"),
            None => f.write_str("use the kernel's name from syscalls(2), or remove the name"),
        }
    }
}

/// Displays a string on one line, with control characters escaped.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char.is_control() {
            true => write!(f, "{}", char.escape_default()),
            false => write!(f, "{char}"),
        })
    }
}

/// The structure of a policy file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    description: String,
    default: Spanned<String>,
    foreign_architecture: Option<Spanned<String>>,
    #[serde(default)]
    rule: Vec<FileRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRule {
    action: Spanned<String>,
    why: String,
    syscalls: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    when: Vec<Spanned<FileCondition>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCondition {
    arg: u64,
    mask: Option<u64>,
    equal: Option<u64>,
    not_equal: Option<u64>,
    less: Option<u64>,
    less_equal: Option<u64>,
    greater: Option<u64>,
    greater_equal: Option<u64>,
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Policy, PolicyError> {
        let file: File = toml::from_str(text).map_err(|error| PolicyError {
            line: line(text, error.span()),
            problem: Problem::Syntax {
                message: error.message().to_owned(),
            },
        })?;
        let foreign_architecture = match &file.foreign_architecture {
            Some(action) => read_action(text, action)?,
            None => Action::KillProcess,
        };
        let mut unconditional = HashMap::new();
        let mut rules = Vec::new();
        for rule in &file.rule {
            rules.push(read_rule(text, &file.name, rule, &mut unconditional)?);
        }
        Ok(Policy {
            default: read_action(text, &file.default)?,
            foreign_architecture,
            rules,
            name: file.name,
            description: file.description,
        })
    }
}

/// The line in which `span` begins, starting at 1.
fn line(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start.min(text.len()));
    1 + text.as_bytes()[..start]
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count()
}

fn read_action(text: &str, action: &Spanned<String>) -> Result<Action, PolicyError> {
    action.get_ref().parse().map_err(|error| PolicyError {
        line: line(text, Some(action.span())),
        problem: Problem::Action(error),
    })
}

/// Parses a rule. `unconditional` maps each call that a rule without conditions names to the place
/// in the text.
fn read_rule<'t>(
    text: &str,
    policy: &str,
    rule: &'t FileRule,
    unconditional: &mut HashMap<&'t str, Range<usize>>,
) -> Result<Rule, PolicyError> {
    let error_at = |span, problem| PolicyError {
        line: line(text, Some(span)),
        problem,
    };
    let mut syscalls = Vec::new();
    for entry in rule.syscalls.get_ref() {
        let name = entry.get_ref();
        if Arch::ALL.iter().all(|arch| arch.number(name).is_none()) {
            let problem = Problem::UnknownSyscall {
                name: name.clone(),
                nearest: nearest_name(name),
            };
            return Err(error_at(entry.span(), problem));
        }
        if rule.when.is_empty()
            && let Some(first) = unconditional.insert(name, entry.span())
        {
            let first = line(text, Some(first));
            return Err(error_at(
                entry.span(),
                Problem::Contradiction {
                    name: name.clone(),
                    first,
                },
            ));
        }
        syscalls.push(name.clone());
    }
    if syscalls.is_empty() {
        return Err(error_at(rule.syscalls.span(), Problem::NoSyscalls));
    }
    let conditions = rule.when.iter().map(|condition| {
        read_condition(condition.get_ref()).map_err(|problem| error_at(condition.span(), problem))
    });
    Ok(Rule {
        action: read_action(text, &rule.action)?,
        why: rule.why.clone(),
        syscalls,
        conditions: conditions.collect::<Result<_, _>>()?,
        policy: policy.to_owned(),
        line: line(text, Some(rule.action.span())),
    })
}

fn read_condition(condition: &FileCondition) -> Result<Condition, Problem> {
    let comparisons = [
        (Comparison::Equal, condition.equal),
        (Comparison::NotEqual, condition.not_equal),
        (Comparison::Less, condition.less),
        (Comparison::LessEqual, condition.less_equal),
        (Comparison::Greater, condition.greater),
        (Comparison::GreaterEqual, condition.greater_equal),
    ];
    let mut given = comparisons
        .into_iter()
        .filter_map(|(how, value)| Some((how, value?)));
    let (Some((comparison, value)), None) = (given.next(), given.next()) else {
        let count = comparisons
            .iter()
            .filter(|(_, value)| value.is_some())
            .count();
        return Err(Problem::ComparisonCount { count });
    };
    let arg = match u8::try_from(condition.arg) {
        Ok(arg @ 0..=5) => arg,
        _ => return Err(Problem::UnknownArgument { arg: condition.arg }),
    };
    let mask = condition.mask.unwrap_or(u64::MAX);
    if value & !mask != 0 {
        return Err(Problem::OutsideMask { value, mask });
    }
    Ok(Condition {
        arg,
        mask,
        comparison,
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three lines that `rules` can follow.
    const HEAD: &str = "name = 'x'\ndescription = ''\ndefault = 'errno:ENOSYS'\n";

    /// The error of a policy that ends with `rules`, which begin in line 4.
    fn error(rules: &str) -> PolicyError {
        format!("{HEAD}{rules}").parse::<Policy>().expect_err(rules)
    }

    fn at(line: usize, problem: Problem) -> PolicyError {
        PolicyError { line, problem }
    }

    /// A rule whose `lines` begin in the fourth line.
    fn rule(lines: &str) -> String {
        format!("[[rule]]\naction = 'allow'\nwhy = ''\n{lines}\n")
    }

    #[test]
    fn unknown_syscall_is_rejected_with_nearest_name() {
        let unknown = |name: &str, nearest| Problem::UnknownSyscall {
            name: name.to_owned(),
            nearest,
        };
        assert_eq!(
            error(&rule("syscalls = [\n'read',\n'raed']")),
            at(9, unknown("raed", Some("read")))
        );
        assert_eq!(
            error(&rule("syscalls = ['frobnicate']")),
            at(7, unknown("frobnicate", None))
        );
    }

    #[test]
    fn second_unconditional_rule_is_rejected_with_both_lines() {
        let twice = rule("syscalls = ['fork']") + &rule("syscalls = ['fork']");
        assert_eq!(
            error(&twice),
            at(
                11,
                Problem::Contradiction {
                    name: "fork".to_owned(),
                    first: 7
                }
            )
        );
    }

    #[test]
    fn rule_without_syscalls_is_rejected() {
        assert_eq!(error(&rule("syscalls = []")), at(7, Problem::NoSyscalls));
    }

    #[test]
    fn invalid_action_is_rejected_with_its_line() {
        let needs = ActionError::NeedsAnotherProcess("trace".to_owned());
        assert_eq!(
            error("[[rule]]\naction = 'trace'\nwhy = ''\nsyscalls = ['read']"),
            at(5, Problem::Action(needs))
        );
        let unknown = Problem::Action(ActionError::UnknownAction("no".to_owned()));
        assert_eq!(error("foreign_architecture = 'no'"), at(4, unknown));
    }

    #[test]
    fn invalid_condition_is_rejected_with_its_line() {
        let condition = |text: &str| error(&rule(&format!("syscalls = ['read']\nwhen = [{text}]")));
        assert_eq!(
            condition("{ arg = 6, equal = 0 }"),
            at(8, Problem::UnknownArgument { arg: 6 })
        );
        assert_eq!(
            condition("{ arg = 0 }"),
            at(8, Problem::ComparisonCount { count: 0 })
        );
        assert_eq!(
            condition("{ arg = 0, less = 1, equal = 0 }"),
            at(8, Problem::ComparisonCount { count: 2 })
        );
        assert_eq!(
            condition("{ arg = 0, mask = 1, not_equal = 3 }"),
            at(8, Problem::OutsideMask { value: 3, mask: 1 })
        );
        for text in ["{ arg = 0, equal = -1 }", "{ arg = 0, equals = 1 }"] {
            let error = condition(text);
            assert!(
                matches!(
                    error,
                    PolicyError {
                        line: 8,
                        problem: Problem::Syntax { .. }
                    }
                ),
                "{error}"
            );
        }
    }

    #[test]
    fn invalid_toml_or_key_is_rejected_with_its_line() {
        let cases = [
            ("defualt = 'allow'", 4),
            ("[[rule]]\nwhen = [", 5),
            ("[[rule]]\naction = 'allow'", 4),
        ];
        for (rules, line) in cases {
            let error = error(rules);
            assert!(matches!(error.problem, Problem::Syntax { .. }), "{error}");
            assert_eq!(error.line, line, "{error}");
        }
        let error = "name = 'x'".parse::<Policy>().expect_err("incomplete");
        assert!(
            matches!(
                error,
                PolicyError {
                    line: 1,
                    problem: Problem::Syntax { .. }
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn condition_value_uses_all_64_bits() {
        let text = rule("syscalls = ['read']\nwhen = [{ arg = 5, equal = 0xffff_ffff_ffff_ffff }]");
        let policy: Policy = format!("{HEAD}{text}").parse().expect("a policy");
        assert_eq!(policy.rules()[0].conditions()[0].value(), u64::MAX);
    }

    #[test]
    fn syscall_of_other_architecture_is_skipped() {
        let text = rule("syscalls = ['read', 'fork']\nwhen = [{ arg = 5, equal = 0 }]");
        let policy: Policy = format!("{HEAD}{text}").parse().expect("a policy");
        assert_eq!(policy.calls(Arch::X86_64).len(), 2);
        assert_eq!(policy.calls(Arch::Aarch64).len(), 1);
    }
}
