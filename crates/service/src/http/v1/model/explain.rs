//! The JSON documents of explanations.

use millibox::explain::{Change, Explanation, MissingPath, RefusedCall};
use serde::Serialize;
use utoipa::ToSchema;

/// The maximum number of entries of each list in an answer.
const MAX_ENTRIES: usize = 500;

/// What a program lacked.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExplainAnswer {
    /// The system calls that the seccomp policy refused, the most frequent first.
    pub refused_calls: Vec<RefusedCallAnswer>,
    /// The number of further refusals that the list does not contain.
    pub omitted_calls: u64,
    /// The paths that the program could not use although the host has them, the most frequent
    /// first.
    pub missing_paths: Vec<MissingPathAnswer>,
    /// The number of further failed look-ups that the list does not contain.
    pub omitted_paths: u64,
    /// The number of failed look-ups whose paths could not be read.
    pub unreadable_paths: u64,
    /// The shortest list of changes to the world that would show all these paths.
    pub options: Vec<ChangeAnswer>,
}

/// A system call that the seccomp policy refused.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RefusedCallAnswer {
    /// The kernel's name of the call.
    pub name: String,
    /// How often it was refused.
    pub count: u64,
    /// The action of the policy, such as `errno:EPERM` or `kill_process`.
    pub action: String,
    /// The rule; `null` for the policy's default action.
    pub rule: Option<RefusalRuleAnswer>,
}

/// The rule of a policy that refused a call.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RefusalRuleAnswer {
    /// The name of the policy.
    pub policy: String,
    /// The line of the rule's action, starting at 1.
    pub line: usize,
    /// The reason that the policy states.
    pub why: String,
}

/// A path that the program could not use.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MissingPathAnswer {
    /// The absolute path.
    pub path: String,
    /// How often a look-up failed.
    pub count: u64,
    /// `ENOENT`, `EACCES` or `EROFS`.
    pub error: String,
    /// The change that would show the path; `null` if no single option would.
    pub option: Option<ChangeAnswer>,
}

/// A change to the world of a program.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChangeAnswer {
    /// The option of `millibox run` with its value, quoted for a shell.
    pub argument: String,
    /// The path for `mounts` in a language suite; `null` if no such line would help.
    pub mount: Option<String>,
}

impl ExplainAnswer {
    /// The answer for an explanation.
    pub fn new(explanation: &Explanation) -> ExplainAnswer {
        let (calls, paths) = (&explanation.refused_calls, &explanation.missing_paths);
        let further_calls: u64 = calls.iter().skip(MAX_ENTRIES).map(|call| call.count).sum();
        let further_paths: u64 = paths.iter().skip(MAX_ENTRIES).map(|path| path.count).sum();
        ExplainAnswer {
            refused_calls: calls.iter().take(MAX_ENTRIES).map(refused_call).collect(),
            omitted_calls: explanation.omitted_calls.saturating_add(further_calls),
            missing_paths: paths.iter().take(MAX_ENTRIES).map(missing_path).collect(),
            omitted_paths: explanation.omitted_paths.saturating_add(further_paths),
            unreadable_paths: explanation.unreadable_paths,
            options: explanation
                .options
                .iter()
                .take(MAX_ENTRIES)
                .map(change)
                .collect(),
        }
    }
}

fn refused_call(call: &RefusedCall) -> RefusedCallAnswer {
    RefusedCallAnswer {
        name: call.name.clone(),
        count: call.count,
        action: call.action.clone(),
        rule: call.rule.as_ref().map(|rule| RefusalRuleAnswer {
            policy: rule.policy.clone(),
            line: rule.line,
            why: rule.why.clone(),
        }),
    }
}

fn missing_path(path: &MissingPath) -> MissingPathAnswer {
    MissingPathAnswer {
        path: path.path.clone(),
        count: path.count,
        error: path.error.to_owned(),
        option: path.option.as_ref().map(change),
    }
}

fn change(change: &Change) -> ChangeAnswer {
    ChangeAnswer {
        argument: change.option(),
        mount: change.suite_mount().map(str::to_owned),
    }
}
