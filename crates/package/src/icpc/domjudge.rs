//! Reads the files that DOMjudge adds to a package: domjudge-problem.ini and .timelimit.

use super::header::{FILE, Header};
use crate::bound::{Bound, MAX_VALUES};
use crate::fault::icpc::DomjudgeFault;
use crate::fault::log::{Log, Place};
use crate::fault::text::{Excerpt, Number, Suggestion};
use crate::fault::values::KeyFault;
use crate::keys::{number, seconds};
use crate::tree::Tree;
use std::time::Duration;

pub const INI: &str = "domjudge-problem.ini";
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

/// Reads both files and returns the title, if one is stated. problem.yaml, domjudge-problem.ini and
/// .timelimit may each state a time limit, as long as the limits are equal.
pub fn read(tree: &Tree, header: &mut Header, log: &Log) -> Option<String> {
    let mut title = None;
    let mut stated = header.limits.cpu_time.map(|limit| (limit, FILE.to_owned()));
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
                    match &stated {
                        Some((other, place_name)) if *other != limit => {
                            log.error(&place, differs(place_name, *other))
                        }
                        Some(_) => {}
                        None => {
                            stated =
                                Some((limit, format!("line {}", place.line().unwrap_or_default())))
                        }
                    }
                }
                "special_run" | "special_compare" if !value.is_empty() => {
                    let fault = DomjudgeFault::ServerProgram {
                        key: key.into(),
                        program: value.into(),
                    };
                    log.warning(&place, fault);
                }
                key if KEYS.contains(&key) => {}
                key => {
                    let fault = KeyFault::Unknown {
                        key: key.into(),
                        suggestion: Suggestion::new(key, KEYS),
                    };
                    log.warning(&place, fault);
                }
            }
        }
    }
    if tree.is_file(TIME_LIMIT)
        && let Some(text) = tree.text(TIME_LIMIT, log)
        && let Some(limit) = time(text.trim(), &Place::file(TIME_LIMIT).at_line(1), log)
    {
        match &stated {
            Some((other, place_name)) if *other != limit => {
                let place_name = if place_name == FILE { FILE } else { INI };
                log.error(TIME_LIMIT, differs(place_name, *other));
            }
            Some(_) => {}
            None => stated = Some((limit, TIME_LIMIT.to_owned())),
        }
    }
    header.limits.cpu_time = stated.map(|(limit, _)| limit);
    title
}

fn differs(place: &str, limit: Duration) -> DomjudgeFault {
    DomjudgeFault::TimeLimitsDiffer {
        place: place.into(),
        seconds: Number(limit.as_secs_f64()),
    }
}

/// Reads lines of the form `key = value`. Values may be quoted, `;` and `#` begin comments, and
/// `[...]` begins a section.
fn entries<'a>(text: &'a str, log: &Log) -> Vec<(Place, &'a str, &'a str)> {
    let file = Place::file(INI);
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = file.at_line(u32::try_from(index + 1).unwrap_or(u32::MAX));
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#', '[']) {
            continue;
        }
        if entries.len() == MAX_VALUES {
            log.exceeds(&place, Bound::Values);
            break;
        }
        let Some((key, value)) = line.split_once('=') else {
            log.error(&place, DomjudgeFault::Line);
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
        let text = Excerpt::new(text);
        log.error(place, DomjudgeFault::TimeLimit { text });
    }
    time
}
