//! A time limit, written where it belongs: problem.yaml, or domjudge-problem.ini.

use crate::edit::{offset, seconds};
use saphyr_parser::{Event, Parser, Span};
use std::time::Duration;

/// The text of problem.yaml with `time_limit` below `limits`: replaced, or added.
///
/// # Errors
/// The text is no YAML, or it is written in a way that cannot be changed safely.
pub fn yaml_time_limit(text: &str, limit: Duration) -> Result<String, String> {
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
            Some(_) => return Err("`time_limit` is no number; write it yourself".to_owned()),
            // In braces, or each key on a line of its own.
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
                    return Err(
                        "`limits` is written in an unusual way; add time_limit yourself".to_owned(),
                    );
                }
                text.insert_str(range.start, &format!("time_limit: {limit}\n{indent}"));
            }
        },
        Some(Found {
            range,
            kind: Kind::Scalar,
        }) if range.is_empty() => {
            // `limits:` and nothing behind it but, perhaps, a comment.
            let end = text[range.start..]
                .find('\n')
                .map_or(text.len(), |newline| range.start + newline);
            text.insert_str(end, &format!("\n  time_limit: {limit}"));
        }
        Some(_) => return Err("`limits` is no map; write the time limit yourself".to_owned()),
    }
    // There is more of YAML than the above knows: whether it was understood is seen by reading it.
    match find(&text, 2, &["limits", "time_limit"]) {
        Ok(Some(Found {
            range,
            kind: Kind::Scalar,
        })) if text[range.clone()] == limit => Ok(text),
        _ => Err("`limits` is written in an unusual way; add time_limit yourself".to_owned()),
    }
}

/// Whether problem.yaml says a time limit.
pub fn yaml_has_time_limit(text: &str) -> bool {
    matches!(find(text, 2, &["limits", "time_limit"]), Ok(Some(_)))
}

/// Whether domjudge-problem.ini says a time limit.
pub fn ini_has_time_limit(text: &str) -> bool {
    text.lines().any(is_time_limit)
}

fn is_time_limit(line: &str) -> bool {
    line.split_once('=')
        .is_some_and(|(key, _)| key.trim() == "timelimit")
}

/// The text of domjudge-problem.ini with `timelimit`: replaced, or added.
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

/// The value that these keys lead to, one map in another; `depth`: how many there are.
fn find(text: &str, depth: usize, keys: &[&str]) -> Result<Option<Found>, String> {
    // For each open collection: whether it is a map, and the key whose value comes next.
    let mut open: Vec<(bool, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| format!("no valid YAML: {}", error.info()))?;
        let kind = match &event {
            Event::Scalar(..) => Kind::Scalar,
            Event::MappingStart(..) => Kind::Mapping,
            Event::SequenceStart(..) => Kind::Sequence,
            Event::Alias(_) => Kind::Scalar,
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                done(&mut open);
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
                return Err("a place could not be found again".to_owned());
            };
            let range = if kind == Kind::Scalar {
                range
            } else {
                range.start..range.start
            };
            return Ok(Some(Found { range, kind }));
        }
        match kind {
            Kind::Scalar => done(&mut open),
            _ => open.push((kind == Kind::Mapping, None)),
        }
    }
    Ok(None)
}

/// A node is over: it was the value of its map's key, or a key that is no text.
fn done(open: &mut [(bool, Option<String>)]) {
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
    fn a_limit_is_replaced_and_nothing_else() {
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
    fn a_limit_is_added() {
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
        // Only the key of the top is meant.
        assert_eq!(
            edited("a:\n  limits:\n    time_limit: 1\n"),
            "a:\n  limits:\n    time_limit: 1\nlimits:\n  time_limit: 2.5\n"
        );
    }

    #[test]
    fn what_is_strange_is_refused() {
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
    fn ini() {
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
