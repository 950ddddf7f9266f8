//! `--explain`: what the program lacked, as text for standard error.

use millibox::explain::{Change, Explanation, MissingPath, RefusedCall, shown};
use std::fmt;

/// The maximum number of lines of each list. The report has all entries.
const MAX_LINES: usize = 40;

/// Displays an explanation in several lines. Texts of the program are escaped.
pub struct Explained<'a>(pub &'a Explanation);

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explained(explanation) = self;
        f.write_str("millibox: explanation of a traced run; do not judge by its figures")?;
        if explanation.is_empty() {
            return f.write_str("\nThe program lacked nothing that this host has.");
        }
        if !explanation.refused_calls.is_empty() {
            f.write_str("\nRefused system calls:")?;
            list(f, &explanation.refused_calls, refused)?;
        }
        left_out(f, explanation.omitted_calls, "refused calls are not listed")?;
        if !explanation.missing_paths.is_empty() {
            f.write_str("\nPaths that the host has but the program could not use:")?;
            list(f, &explanation.missing_paths, missing)?;
        }
        left_out(
            f,
            explanation.omitted_paths,
            "failed look-ups are not listed",
        )?;
        left_out(f, explanation.unreadable_paths, "paths could not be read")?;
        if !explanation.options.is_empty() {
            f.write_str("\nOptions that would show these paths:")?;
            list(f, &explanation.options, |f, change| {
                f.write_str(&change.option())
            })?;
        }
        let mounts: Vec<String> = (explanation.options.iter())
            .filter_map(Change::suite_mount)
            .take(MAX_LINES)
            .map(|path| serde_json::Value::from(path).to_string())
            .collect();
        if !mounts.is_empty() {
            let mounts = shown_json(&mounts.join(", "));
            write!(f, "\nIn a language suite: mounts = [{mounts}]")?;
        }
        Ok(())
    }
}

/// JSON strings escape control characters up to 0x1f; this escapes the other ones.
fn shown_json(text: &str) -> String {
    let is_safe = |c: char| !c.is_control() && !('\u{2000}'..='\u{206f}').contains(&c);
    text.chars()
        .map(|c| match is_safe(c) {
            true => c.to_string(),
            false => format!("\\u{:04x}", u32::from(c)),
        })
        .collect()
}

fn refused(f: &mut fmt::Formatter<'_>, call: &RefusedCall) -> fmt::Result {
    write!(f, "{:>6}  {}: {}", call.count, call.name, call.action)?;
    match &call.rule {
        Some(rule) => {
            let why: Vec<&str> = rule.why.split_whitespace().collect();
            let (policy, why) = (shown(&rule.policy), shown(&why.join(" ")));
            write!(f, " (policy {policy}, line {}: {why})", rule.line)
        }
        None => f.write_str(" (by default)"),
    }
}

fn missing(f: &mut fmt::Formatter<'_>, path: &MissingPath) -> fmt::Result {
    write!(
        f,
        "{:>6}  {}: {}",
        path.count,
        shown(&path.path),
        path.error
    )?;
    match &path.option {
        Some(option) => write!(f, " ({})", option.option()),
        None => f.write_str(" (no option)"),
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    entries: &[T],
    show: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for entry in entries.iter().take(MAX_LINES) {
        f.write_str("\n  ")?;
        show(f, entry)?;
    }
    match entries.len().saturating_sub(MAX_LINES) {
        0 => Ok(()),
        more => write!(f, "\n  and {more} more, which --report lists"),
    }
}

fn left_out(f: &mut fmt::Formatter<'_>, count: u64, what: &str) -> fmt::Result {
    match count {
        0 => Ok(()),
        count => write!(f, "\n{count} further {what}."),
    }
}
