//! Sentences for outcomes. The script finds the same sentences in a template of the page.

use crate::http::v1::model::{BlameName, RunAnswer};
use crate::signals::signal_name;

/// The kind of a result. Its name is a class in the style sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The program exited with 0.
    Good,
    /// The program failed.
    Bad,
    /// The request or the service failed, so the result says nothing about the program.
    Unknown,
}

impl Kind {
    pub fn class(self) -> &'static str {
        match self {
            Kind::Good => "good",
            Kind::Bad => "bad",
            Kind::Unknown => "unknown",
        }
    }
}

/// The sentences for an outcome. `{}` stands for the exit code or the signal.
#[derive(Debug)]
pub struct Words {
    /// The outcome, as [`key`] returns it.
    pub key: &'static str,
    /// How good the outcome is.
    pub kind: Kind,
    /// The outcome in a few words, for tables.
    pub short: &'static str,
    /// The outcome in one sentence.
    pub headline: &'static str,
    /// What the outcome means, and what to do.
    pub explanation: &'static str,
}

const fn words(
    key: &'static str,
    kind: Kind,
    short: &'static str,
    headline: &'static str,
    explanation: &'static str,
) -> Words {
    Words {
        key,
        kind,
        short,
        headline,
        explanation,
    }
}

/// The sentences for all outcomes.
pub const WORDS: [Words; 16] = [
    words(
        "exited_0",
        Kind::Good,
        "Exited with 0",
        "The program ended normally.",
        "",
    ),
    words(
        "exited",
        Kind::Bad,
        "Exited",
        "The program ended with exit code {}.",
        "An exit code other than 0 usually means an error. Standard error may describe it.",
    ),
    words(
        "signaled",
        Kind::Bad,
        "Ended by a signal",
        "{} ended the program.",
        "A signal usually means a bug, such as an invalid memory access or a failed assertion.",
    ),
    words(
        "cpu_time_limit",
        Kind::Bad,
        "CPU time limit",
        "The program used more CPU time than the limit allows.",
        "Look for an endless loop, or raise the limit.",
    ),
    words(
        "real_time_limit",
        Kind::Bad,
        "Real time limit",
        "The program ran longer than the limit allows.",
        "It probably waited for a lock, for the end of a sleep, or for input that never came.",
    ),
    words(
        "memory_limit",
        Kind::Bad,
        "Memory limit",
        "The program needed more memory than the limit allows.",
        "Use less memory, or raise the limit.",
    ),
    words(
        "output_limit",
        Kind::Bad,
        "Output limit",
        "The program wrote more than the limit allows.",
        "",
    ),
    words(
        "cancelled",
        Kind::Unknown,
        "Cancelled",
        "The run was cancelled.",
        "",
    ),
    words(
        "killed",
        Kind::Unknown,
        "Ended from outside",
        "The run was ended from outside.",
        "",
    ),
    words(
        "not_started",
        Kind::Unknown,
        "Not started",
        "The program could not be started.",
        "",
    ),
    words(
        "sandbox_error",
        Kind::Unknown,
        "Service failure",
        "The service failed.",
        "The result says nothing about the program. Run it again.",
    ),
    words(
        "skipped",
        Kind::Unknown,
        "Skipped",
        "The program was not run.",
        "",
    ),
    words(
        "compile_rejected",
        Kind::Bad,
        "Rejected by the compiler",
        "The compiler rejected the program.",
        "The messages of the compiler name the lines to correct.",
    ),
    words(
        "compile_limit",
        Kind::Bad,
        "Compiler exceeded its limits",
        "The compiler exceeded its limits.",
        "The program makes the compiler work too long or use too much memory.",
    ),
    words(
        "compile_unavailable",
        Kind::Unknown,
        "Language not installed",
        "This language is not installed.",
        "",
    ),
    words(
        "compile_failed",
        Kind::Unknown,
        "Compiler not run",
        "The service could not run the compiler.",
        "The result says nothing about the program. Run it again.",
    ),
];

/// The sentences for a key of [`WORDS`].
pub fn of_key(key: &str) -> &'static Words {
    let found = WORDS.iter().find(|words| words.key == key);
    // The set of outcomes is fixed, so an unknown outcome is a bug in the service.
    found.unwrap_or(&WORDS[10])
}

/// The key of the sentences for an answer.
pub fn key(answer: &RunAnswer) -> String {
    match (&answer.compile, answer.tests.first()) {
        (_, Some(test)) if test.exit_code == Some(0) && test.outcome == "exited" => {
            "exited_0".to_owned()
        }
        (_, Some(test)) => test.outcome.clone(),
        (Some(compile), None) => format!("compile_{}", compile.outcome),
        (None, None) => "sandbox_error".to_owned(),
    }
}

/// Signals that programs often receive, with their usual cause.
const CAUSES: [(i32, Option<&str>); 12] = [
    (1, None),
    (2, None),
    (4, Some("an invalid instruction")),
    (5, None),
    (6, Some("usually a failed assertion")),
    (7, Some("an invalid memory access")),
    (8, Some("usually a division by zero")),
    (9, None),
    (11, Some("an invalid memory access")),
    (13, None),
    (15, None),
    (31, Some("a forbidden system call")),
];

/// The numbers and texts of the signals that programs often receive.
pub fn signals() -> impl Iterator<Item = (i32, String)> {
    CAUSES.iter().map(|(number, _)| (*number, signal(*number)))
}

/// The name of a signal and its usual cause.
pub fn signal(number: i32) -> String {
    let Some((_, cause)) = CAUSES.iter().find(|(known, _)| *known == number) else {
        return format!("Signal {number}");
    };
    let name = signal_name(number).unwrap_or_default();
    match cause {
        Some(cause) => format!("{name} ({number}, {cause})"),
        None => format!("{name} ({number})"),
    }
}

/// The parties at fault: their names, their keys and their texts.
pub const BLAMES: [(BlameName, &str, &str); 3] = [
    (BlameName::Program, "program", "The program"),
    (
        BlameName::Request,
        "request",
        "The request, not the program",
    ),
    (
        BlameName::Service,
        "service",
        "The service, not the program",
    ),
];

/// The text that names the party at fault.
pub fn blame(blame: BlameName) -> &'static str {
    let found = BLAMES.iter().find(|(known, ..)| *known == blame);
    found.map_or("", |(.., words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::OUTCOME_NAMES;

    #[test]
    fn every_outcome_has_words() {
        for name in OUTCOME_NAMES {
            assert_eq!(of_key(name).key, name);
        }
        assert_eq!(of_key("unheard of").key, "sandbox_error");
        for (.., words) in BLAMES {
            assert!(!words.is_empty());
        }
    }

    #[test]
    fn signals_have_names() {
        assert_eq!(signal(9), "SIGKILL (9)");
        assert_eq!(signal(11), "SIGSEGV (11, an invalid memory access)");
        for (_, text) in signals() {
            assert!(text.starts_with("SIG"), "{text}");
        }
        assert_eq!(signal(40), "Signal 40");
    }
}
