//! Writes limits into a Simfile.

use super::config::Config;
use crate::fault::edit::EditError;
use crate::fault::log::{Log, Place};
use crate::fault::text::Excerpt;
use crate::position::{offset, seconds};
use std::time::Duration;

/// Returns the text with these time limits in the array `limits`. Existing limits are replaced, and
/// new ones are added at the end. Memory limits and comments are preserved.
///
/// # Errors
/// The text is not a valid Simfile, or the array is written in a way that cannot be changed safely.
pub fn simfile_limits(text: &str, limits: &[(String, Duration)]) -> Result<String, EditError> {
    const KEY: &str = "limits";
    let log = Log::new("Simfile".as_ref());
    // Warnings about other keys are ignored.
    let config = Config::read(text, "Simfile", &[KEY], &log);
    let items = config.array(KEY).map(<[_]>::to_vec);
    let end = config.end(KEY).cloned();
    log.finish().map_err(EditError::Unreadable)?;
    let at = |place: &Place| {
        place
            .line()
            .zip(place.column())
            .and_then(|(line, column)| offset(text, line, column))
    };
    let lost = || EditError::Position { key: KEY };
    let (Some(items), Some(end)) = (items, end) else {
        let lines: String = limits
            .iter()
            .map(|(test, time)| format!("    {test} {}\n", seconds(*time)))
            .collect();
        let newline = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        return Ok(format!("{text}{newline}{KEY}: [\n{lines}]\n"));
    };
    // The offset and length of each replaced part, and its new text.
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    let mut last = None;
    for item in &items {
        let start = at(&item.place).ok_or_else(lost)?;
        let words = item.words();
        let Some((_, time)) = limits
            .iter()
            .find(|(test, _)| words.first() == Some(&test.as_str()))
        else {
            last = Some(start + item.text.len());
            continue;
        };
        if !text[start..].starts_with(&item.text) {
            let text = Excerpt::new(&item.text);
            return Err(EditError::QuotedLimit { text });
        }
        last = Some(start + item.text.len());
        // Only the second word changes, so that aligned columns stay aligned.
        let name = words.first().map_or(0, |word| word.len());
        let gap = item.text[name..].len() - item.text[name..].trim_start().len();
        match words.get(1) {
            Some(old) => edits.push((start + name + gap, old.len(), seconds(*time))),
            None => edits.push((start + name, 0, format!(" {}", seconds(*time)))),
        }
    }
    let known = |test: &str| items.iter().any(|item| item.words().first() == Some(&test));
    let new: Vec<String> = limits
        .iter()
        .filter(|(test, _)| !known(test))
        .map(|(test, time)| format!("    {test} {}\n", seconds(*time)))
        .collect();
    if !new.is_empty() {
        let end = at(&end).ok_or_else(lost)?;
        let line = text[..end].rfind('\n').map_or(0, |newline| newline + 1);
        // If `]` is on a line of its own, it stays there.
        if text[line..end].trim().is_empty() {
            edits.push((line, 0, new.concat()));
        } else {
            // The text before `]` on its line is not a comment, because a comment would include
            // `]`.
            debug_assert!(last.is_none_or(|last| last <= end));
            edits.push((end, 0, format!("\n{}", new.concat())));
        }
    }
    edits.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    let mut text = text.to_owned();
    for (at, length, new) in edits {
        text.replace_range(at..at + length, &new);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, limits: &[(&str, u64)]) -> String {
        let limits: Vec<(String, Duration)> = limits
            .iter()
            .map(|(test, ms)| ((*test).to_owned(), Duration::from_millis(*ms)))
            .collect();
        simfile_limits(text, &limits).unwrap()
    }

    #[test]
    fn simfile_limits_replaces_times_only() {
        let text = "name: A # the title\nlimits: [  # all\n  a1a   1.5   64  # slow\n  a1b 2\n]\n\
         memory_limit: 64\n";
        assert_eq!(
            edited(text, &[("a1a", 2250), ("a1b", 100)]),
            "name: A # the title\nlimits: [  # all\n  a1a   2.25   64  # slow\n  a1b 0.1\n]\n\
             memory_limit: 64\n"
        );
    }

    #[test]
    fn simfile_limits_adds_missing_tests() {
        assert_eq!(
            edited("name: A", &[("a1", 100)]),
            "name: A\nlimits: [\n    a1 0.1\n]\n"
        );
        assert_eq!(
            edited("limits: [a1 1, a2 2]\n", &[("a3", 100)]),
            "limits: [a1 1, a2 2\n    a3 0.1\n]\n"
        );
        assert_eq!(
            edited("limits: [\n    a1 1\n]\n", &[("a3", 100)]),
            "limits: [\n    a1 1\n    a3 0.1\n]\n"
        );
        assert_eq!(
            edited("limits: []\n", &[("a3", 100)]),
            "limits: [\n    a3 0.1\n]\n"
        );
    }

    #[test]
    fn simfile_limits_with_unusual_text_returns_error() {
        let limits = [("a1".to_owned(), Duration::from_secs(1))];
        assert!(matches!(
            simfile_limits("limits: [a1 1", &limits),
            Err(EditError::Unreadable(_))
        ));
        let text = "a1 1".into();
        assert_eq!(
            simfile_limits("limits: ['a1 1']", &limits),
            Err(EditError::QuotedLimit { text })
        );
    }
}
