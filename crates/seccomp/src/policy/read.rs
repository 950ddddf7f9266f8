//! Reads a policy from TOML and finds what is wrong with it.

use std::collections::HashMap;
use std::ops::Range;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use super::{Action, ActionError, Comparison, Condition, Policy, Rule};
use crate::arch::{Arch, nearest_name};

/// Why a text is no [`Policy`]: one line that says where, what and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct PolicyError {
    /// The line of the text, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is no TOML, or a key is unknown, missing or of the wrong type.
    #[error("{0}")]
    Syntax(String),
    /// A key holds no action.
    #[error(transparent)]
    Action(ActionError),
    /// No architecture has a system call of this name.
    #[error("there is no system call {name:?}; {}", advice(*.nearest))]
    UnknownSyscall {
        /// The name.
        name: String,
        /// A name that may have been meant.
        nearest: Option<&'static str>,
    },
    /// Two rules without conditions answer the same call.
    #[error("{name:?} has an answer already, in line {first}; name it once, or give one of the rules a when")]
    Contradiction {
        /// The name of the call.
        name: String,
        /// The line it was named in first.
        first: usize,
    },
    /// A rule is about no call.
    #[error("the rule names no system call; name some or remove the rule")]
    NoSyscalls,
    /// A system call has no such argument.
    #[error("there is no argument {arg}; a system call has the arguments 0 to 5")]
    Argument {
        /// The number of the argument.
        arg: u64,
    },
    /// A condition does not have exactly one comparison.
    #[error(
        "the condition has {count} comparisons; give it one of equal, not_equal, less, less_equal, \
         greater and greater_equal"
    )]
    Comparisons {
        /// How many it has.
        count: usize,
    },
    /// A condition compares with a value that the masked argument cannot have.
    #[error("the value {value:#x} has bits outside of the mask {mask:#x}; drop them or widen the mask")]
    OutsideMask {
        /// The value.
        value: u64,
        /// The mask.
        mask: u64,
    },
}

fn advice(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("did you mean {nearest:?}?"),
        None => "use the kernel's name for it, as in syscalls(2), or remove it".to_owned(),
    }
}

/// The file as it is written.
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
            // The reader words some of its messages in several lines.
            problem: Problem::Syntax(error.message().trim().replace('\n', "; ")),
        })?;
        let foreign_architecture = match &file.foreign_architecture {
            Some(action) => read_action(text, action)?,
            None => Action::KillProcess,
        };
        let mut answered = HashMap::new();
        let mut rules = Vec::new();
        for rule in &file.rule {
            rules.push(read_rule(text, rule, &mut answered)?);
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

/// The line in which `span` begins.
fn line(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start.min(text.len()));
    1 + text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count()
}

fn read_action(text: &str, action: &Spanned<String>) -> Result<Action, PolicyError> {
    action
        .get_ref()
        .parse()
        .map_err(|error| PolicyError { line: line(text, Some(action.span())), problem: Problem::Action(error) })
}

/// `answered` holds the calls that have an unconditional answer, and where they got it.
fn read_rule<'t>(
    text: &str,
    rule: &'t FileRule,
    answered: &mut HashMap<&'t str, Range<usize>>,
) -> Result<Rule, PolicyError> {
    let wrong = |span, problem| PolicyError { line: line(text, Some(span)), problem };
    let mut syscalls = Vec::new();
    for entry in rule.syscalls.get_ref() {
        let name = entry.get_ref();
        if Arch::ALL.iter().all(|arch| arch.number(name).is_none()) {
            let problem = Problem::UnknownSyscall { name: name.clone(), nearest: nearest_name(name) };
            return Err(wrong(entry.span(), problem));
        }
        if rule.when.is_empty()
            && let Some(first) = answered.insert(name, entry.span())
        {
            let first = line(text, Some(first));
            return Err(wrong(entry.span(), Problem::Contradiction { name: name.clone(), first }));
        }
        syscalls.push(name.clone());
    }
    if syscalls.is_empty() {
        return Err(wrong(rule.syscalls.span(), Problem::NoSyscalls));
    }
    let conditions = rule
        .when
        .iter()
        .map(|condition| read_condition(condition.get_ref()).map_err(|problem| wrong(condition.span(), problem)));
    Ok(Rule {
        action: read_action(text, &rule.action)?,
        why: rule.why.clone(),
        syscalls,
        conditions: conditions.collect::<Result<_, _>>()?,
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
    let mut given = comparisons.into_iter().filter_map(|(how, value)| Some((how, value?)));
    let (Some((comparison, value)), None) = (given.next(), given.next()) else {
        let count = comparisons.iter().filter(|(_, value)| value.is_some()).count();
        return Err(Problem::Comparisons { count });
    };
    let arg = match u8::try_from(condition.arg) {
        Ok(arg @ 0..=5) => arg,
        _ => return Err(Problem::Argument { arg: condition.arg }),
    };
    let mask = condition.mask.unwrap_or(u64::MAX);
    if value & !mask != 0 {
        return Err(Problem::OutsideMask { value, mask });
    }
    Ok(Condition { arg, mask, comparison, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a policy that ends with `rules`, which begin in line 4.
    fn error(rules: &str) -> String {
        let head = "name = 'x'\ndescription = ''\ndefault = 'errno:ENOSYS'\n";
        let error = format!("{head}{rules}").parse::<Policy>().expect_err(rules).to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    }

    fn rule(rest: &str) -> String {
        format!("[[rule]]\naction = 'allow'\nwhy = ''\n{rest}\n")
    }

    #[test]
    fn errors_say_where_and_what_to_do() {
        assert_eq!(
            error(&rule("syscalls = [\n'read',\n'raed']")),
            "line 9: there is no system call \"raed\"; did you mean \"read\"?"
        );
        assert_eq!(
            error(&rule("syscalls = ['frobnicate']")),
            "line 7: there is no system call \"frobnicate\"; use the kernel's name for it, as in \
             syscalls(2), or remove it"
        );
        assert_eq!(
            error(&(rule("syscalls = ['fork']") + &rule("syscalls = ['fork']"))),
            "line 11: \"fork\" has an answer already, in line 7; name it once, or give one of the \
             rules a when"
        );
        assert_eq!(
            error(&rule("syscalls = []")),
            "line 7: the rule names no system call; name some or remove the rule"
        );
        assert_eq!(
            error("[[rule]]\naction = 'trace'\nwhy = ''\nsyscalls = ['read']"),
            "line 5: the action \"trace\" needs a process that answers it, and there is none; use \
             errno:NAME"
        );
    }

    #[test]
    fn errors_of_conditions() {
        let condition = |text: &str| error(&rule(&format!("syscalls = ['read']\nwhen = [{text}]")));
        assert_eq!(
            condition("{ arg = 6, equal = 0 }"),
            "line 8: there is no argument 6; a system call has the arguments 0 to 5"
        );
        assert!(condition("{ arg = 0 }").starts_with("line 8: the condition has 0 comparisons;"));
        assert!(condition("{ arg = 0, less = 1, equal = 0 }").contains("has 2 comparisons"));
        assert_eq!(
            condition("{ arg = 0, mask = 1, not_equal = 3 }"),
            "line 8: the value 0x3 has bits outside of the mask 0x1; drop them or widen the mask"
        );
        assert!(condition("{ arg = 0, equal = -1 }").starts_with("line 8: "));
        assert!(condition("{ arg = 0, equals = 1 }").starts_with("line 8: unknown field `equals`"));
    }

    #[test]
    fn errors_of_the_file() {
        assert!(error("defualt = 'allow'").starts_with("line 4: unknown field `defualt`"));
        assert!(error("[[rule]]\nwhen = [").starts_with("line 5: "));
        assert!(error("[[rule]]\naction = 'allow'").contains("missing field `why`"));
        assert!(error("foreign_architecture = 'no'").starts_with("line 4: there is no action"));
        let missing = "name = 'x'".parse::<Policy>().expect_err("incomplete").to_string();
        assert!(missing.contains("missing field `description`"), "{missing}");
    }

    #[test]
    fn wide_values_and_foreign_names() {
        let text = rule("syscalls = ['read', 'fork']\nwhen = [{ arg = 5, equal = 0xffff_ffff_ffff_ffff }]");
        let head = "name = 'x'\ndescription = ''\ndefault = 'errno:ENOSYS'\n";
        let policy: Policy = format!("{head}{text}").parse().expect("a policy");
        assert_eq!(policy.rules()[0].conditions()[0].value(), u64::MAX);
        assert_eq!(policy.calls(Arch::X86_64).len(), 2);
        assert_eq!(policy.calls(Arch::Aarch64).len(), 1);
    }
}
