//! Writes a time limit into problem.yaml or domjudge-problem.ini.

use crate::fault::edit::EditError;
use crate::position::{offset, seconds};
use saphyr_parser::{Event, Parser, Span};
use std::time::Duration;

/// Returns the text of problem.yaml with this `time_limit` below `limits`. An existing value is
/// replaced.
///
/// # Errors
/// The text is not valid YAML, or is written in a way that cannot be changed safely.
pub fn yaml_time_limit(text: &str, limit: Duration) -> Result<String, EditError> {
    let mut text = text.to_owned();
    let limit = seconds(limit);
    let map = find(&text, 1, &["limits"])?;
    match map {
        None => {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("limits:\n  time_limit: {limit}\n"));
        }
        Some(Found {
            range,
            kind: Kind::Mapping,
        }) => match find(&text, 2, &["limits", "time_limit"])? {
            Some(Found {
                range,
                kind: Kind::Scalar,
            }) => text.replace_range(range, &limit),
            Some(_) => return Err(EditError::TimeLimit),
            // This is a map in braces. In the other form, each key is on its own line.
            None if text[range.start..].starts_with('{') => {
                let comma = if text[range.start + 1..].trim_start().starts_with('}') {
                    ""
                } else {
                    ", "
                };
                text.insert_str(range.start + 1, &format!("time_limit: {limit}{comma}"));
            }
            None => {
                let line = text[..range.start]
                    .rfind('\n')
                    .map_or(0, |newline| newline + 1);
                let indent = text[line..range.start].to_owned();
                if !indent.trim().is_empty() {
                    return Err(EditError::UnusualLimits);
                }
                text.insert_str(range.start, &format!("time_limit: {limit}\n{indent}"));
            }
        },
        Some(Found {
            range,
            kind: Kind::Scalar,
        }) if range.is_empty() => {
            // This is `limits:` without a value, possibly with a comment.
            let end = text[range.start..]
                .find('\n')
                .map_or(text.len(), |newline| range.start + newline);
            text.insert_str(end, &format!("\n  time_limit: {limit}"));
        }
        Some(_) => return Err(EditError::NotMap),
    }
    // The code above does not handle all of YAML, so the result is read to check it.
    match find(&text, 2, &["limits", "time_limit"]) {
        Ok(Some(Found {
            range,
            kind: Kind::Scalar,
        })) if text[range.clone()] == limit => Ok(text),
        _ => Err(EditError::UnusualLimits),
    }
}

/// Whether problem.yaml states a time limit.
pub fn yaml_has_time_limit(text: &str) -> bool {
    matches!(find(text, 2, &["limits", "time_limit"]), Ok(Some(_)))
}

/// Whether domjudge-problem.ini states a time limit.
pub fn ini_has_time_limit(text: &str) -> bool {
    text.lines().any(is_time_limit)
}

fn is_time_limit(line: &str) -> bool {
    line.split_once('=')
        .is_some_and(|(key, _)| key.trim() == "timelimit")
}

/// Returns the text of domjudge-problem.ini with this `timelimit`. An existing value is replaced.
pub fn ini_time_limit(text: &str, limit: Duration) -> String {
    let line = format!("timelimit='{}'", seconds(limit));
    let mut found = false;
    let mut lines: Vec<String> = Vec::new();
    for old in text.lines() {
        let matches = is_time_limit(old);
        found |= matches;
        lines.push(if matches {
            line.clone()
        } else {
            old.to_owned()
        });
    }
    if !found {
        lines.push(line);
    }
    lines.join("\n") + "\n"
}

struct Found {
    range: std::ops::Range<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scalar,
    Mapping,
    Sequence,
}

/// Finds the value at the path `keys`, which has `depth` keys.
fn find(text: &str, depth: usize, keys: &[&str]) -> Result<Option<Found>, EditError> {
    // For each open collection: whether it is a map, and the key whose value comes next.
    let mut open: Vec<(bool, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| EditError::Yaml {
            reason: error.info().into(),
        })?;
        let kind = match &event {
            Event::Scalar(..) => Kind::Scalar,
            Event::MappingStart(..) => Kind::Mapping,
            Event::SequenceStart(..) => Kind::Sequence,
            Event::Alias(_) => Kind::Scalar,
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                finish_node(&mut open);
                continue;
            }
            _ => continue,
        };
        let is_key = open.last().is_some_and(|(map, key)| *map && key.is_none());
        if let (true, Event::Scalar(name, ..)) = (is_key, &event) {
            if let Some((_, key)) = open.last_mut() {
                *key = Some(name.to_string());
            }
            continue;
        }
        let here = open.len() == depth
            && open
                .iter()
                .zip(keys)
                .all(|((map, key), wanted)| *map && key.as_deref() == Some(*wanted));
        if here {
            let Some(range) = range(text, &span) else {
                return Err(EditError::Position { key: "limits" });
            };
            let range = if kind == Kind::Scalar {
                range
            } else {
                range.start..range.start
            };
            return Ok(Some(Found { range, kind }));
        }
        match kind {
            Kind::Scalar => finish_node(&mut open),
            _ => open.push((kind == Kind::Mapping, None)),
        }
    }
    Ok(None)
}

/// Records the end of a node, which is either the value of its map's key, or a key that is not a
/// string.
fn finish_node(open: &mut [(bool, Option<String>)]) {
    if let Some((_, key)) = open.last_mut() {
        *key = if key.is_some() {
            None
        } else {
            Some(String::new())
        };
    }
}

fn range(text: &str, span: &Span) -> Option<std::ops::Range<usize>> {
    let at = |line: usize, column: usize| {
        offset(
            text,
            u32::try_from(line).ok()?,
            u32::try_from(column + 1).ok()?,
        )
    };
    Some(at(span.start.line(), span.start.col())?..at(span.end.line(), span.end.col())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str) -> String {
        yaml_time_limit(text, Duration::from_millis(2500)).unwrap()
    }

    #[test]
    fn yaml_time_limit_replaces_existing_value_only() {
        assert_eq!(
            edited(
                "# top\nlimits:\n    memory: 64 # MiB\n    time_limit: 1.0   # s\nname: \u{e9}\n"
            ),
            "# top\nlimits:\n    memory: 64 # MiB\n    time_limit: 2.5   # s\nname: \u{e9}\n"
        );
        assert_eq!(
            edited("limits: {memory: 64, time_limit: 1}\n"),
            "limits: {memory: 64, time_limit: 2.5}\n"
        );
        assert_eq!(
            edited("limits:\n  time_limit: '1'\n"),
            "limits:\n  time_limit: 2.5\n"
        );
    }

    #[test]
    fn yaml_time_limit_without_value_adds_it() {
        assert_eq!(edited("name: A"), "name: A\nlimits:\n  time_limit: 2.5\n");
        assert_eq!(
            edited("limits:\n    memory: 64\n"),
            "limits:\n    time_limit: 2.5\n    memory: 64\n"
        );
        assert_eq!(
            edited("limits: {memory: 64}\n"),
            "limits: {time_limit: 2.5, memory: 64}\n"
        );
        assert_eq!(edited("limits: {}\n"), "limits: {time_limit: 2.5}\n");
        assert_eq!(
            edited("limits: # none\nname: A\n"),
            "limits: # none\n  time_limit: 2.5\nname: A\n"
        );
        // Only a key at the top level counts.
        assert_eq!(
            edited("a:\n  limits:\n    time_limit: 1\n"),
            "a:\n  limits:\n    time_limit: 1\nlimits:\n  time_limit: 2.5\n"
        );
    }

    #[test]
    fn yaml_time_limit_in_unusual_text_returns_error() {
        for text in [
            "limits: [1]\n",
            "limits: 3\n",
            "limits: {time_limit: [1]}\n",
            "{\n",
        ] {
            assert!(
                yaml_time_limit(text, Duration::from_secs(1)).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn ini_time_limit_replaces_or_adds_value() {
        let limit = Duration::from_secs(2);
        assert_eq!(
            ini_time_limit("name='A'\ntimelimit = 1\n", limit),
            "name='A'\ntimelimit='2'\n"
        );
        assert_eq!(
            ini_time_limit("name='A'", limit),
            "name='A'\ntimelimit='2'\n"
        );
    }
}
