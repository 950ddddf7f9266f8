//! What DOMjudge adds to a package: domjudge-problem.ini and .timelimit.

use super::header::{FILE, Header};
use crate::bound::{Bound, MOST_VALUES};
use crate::fault::{Log, Place, did_you_mean};
use crate::keys::{number, seconds};
use crate::tree::Tree;
use std::time::Duration;

const INI: &str = "domjudge-problem.ini";
const TIME_LIMIT: &str = ".timelimit";
const KEYS: [&str; 10] = [
    "name",
    "timelimit",
    "special_run",
    "special_compare",
    "externalid",
    "allow_submit",
    "allow_judge",
    "points",
    "color",
    "short-name",
];

/// Reads both; the title, if there is one. A time limit may stand in problem.yaml, in the .ini and
/// in .timelimit, if it is the same everywhere.
pub fn read(tree: &Tree, header: &mut Header, log: &Log) -> Option<String> {
    let mut title = None;
    let mut holds = header.limits.cpu_time.map(|limit| (limit, FILE.to_owned()));
    if tree.is_file(INI)
        && let Some(text) = tree.text(INI, log)
    {
        for (place, key, value) in entries(&text, log) {
            match key {
                "name" => title = Some(value.to_owned()),
                "timelimit" => {
                    let Some(limit) = time(value, &place, log) else {
                        continue;
                    };
                    match &holds {
                        Some((other, says)) if *other != limit => {
                            log.error(&place, not_that_of(says, *other))
                        }
                        Some(_) => {}
                        None => {
                            holds =
                                Some((limit, format!("line {}", place.line().unwrap_or_default())))
                        }
                    }
                }
                "special_run" | "special_compare" if !value.is_empty() => {
                    let message = format!(
                        "{key} names a program of some DOMjudge server, {value:?}; not used"
                    );
                    log.warning(&place, message);
                }
                key if KEYS.contains(&key) => {}
                key => {
                    let meant = did_you_mean(key, KEYS);
                    log.warning(&place, format!("unknown key {key:?}, not read{meant}"));
                }
            }
        }
    }
    if tree.is_file(TIME_LIMIT)
        && let Some(text) = tree.text(TIME_LIMIT, log)
        && let Some(limit) = time(text.trim(), &Place::file(TIME_LIMIT).at_line(1), log)
    {
        match &holds {
            Some((other, says)) if *other != limit => {
                let says = if says == FILE { FILE } else { INI };
                log.error(TIME_LIMIT, not_that_of(says, *other));
            }
            Some(_) => {}
            None => holds = Some((limit, TIME_LIMIT.to_owned())),
        }
    }
    header.limits.cpu_time = holds.map(|(limit, _)| limit);
    title
}

fn not_that_of(what: &str, limit: Duration) -> String {
    format!(
        "this time limit is not that of {what}, {} s; remove one",
        limit.as_secs_f64()
    )
}

/// Lines `key = value`, the value perhaps quoted; `;` and `#` begin comments, `[...]` sections.
fn entries<'a>(text: &'a str, log: &Log) -> Vec<(Place, &'a str, &'a str)> {
    let file = Place::file(INI);
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = file.at_line(u32::try_from(index + 1).unwrap_or(u32::MAX));
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#', '[']) {
            continue;
        }
        if entries.len() == MOST_VALUES {
            log.exceeds(&place, Bound::Values);
            break;
        }
        let Some((key, value)) = line.split_once('=') else {
            log.error(&place, "neither `key = value` nor a comment");
            continue;
        };
        let value = value.trim();
        let quoted = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.split_once(*quote));
        let value = match quoted {
            Some((value, _)) => value,
            None => value.split(';').next().unwrap_or(value).trim_end(),
        };
        entries.push((place, key.trim(), value));
    }
    entries
}

fn time(text: &str, place: &Place, log: &Log) -> Option<Duration> {
    let time = number(text).and_then(seconds);
    if time.is_none() {
        log.error(
            place,
            format!(
                "the time limit must be more than 0 seconds and at most a day, but is {text:?}"
            ),
        );
    }
    time
}
