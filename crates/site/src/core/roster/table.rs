//! Files as records: the texts of each line or object by the names of its columns.

use super::columns::{self, Column, assign, extend, named};
use super::{File, FileError, Line, LineError, MAX_LINES, Scope};
use serde_json::Value;
use std::collections::HashMap;

/// The texts of a line or an object by the names of its columns.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Record(HashMap<String, String>);

impl Record {
    /// The text of the first of these columns that the record has; empty if it has none.
    pub fn text(&self, names: &[&str]) -> &str {
        let found = names.iter().find_map(|name| self.0.get(*name));
        found.map_or("", String::as_str)
    }

    fn of(fields: impl Iterator<Item = (Option<&'static str>, String)>) -> Record {
        let fields = fields.filter_map(|(key, text)| Some((key?.to_owned(), text)));
        Record(fields.collect())
    }
}

/// The content of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The lines or objects.
    pub lines: Vec<Line<Record>>,
    /// The names of columns that are not read.
    pub unused: Vec<String>,
}

/// A format with a version in its first line, and columns without names.
struct Layout {
    /// The first word, which `File_Version` may replace.
    word: &'static str,
    versions: &'static [&'static str],
    columns: &'static [&'static str],
    /// The columns that a line must have.
    required: usize,
}

const fn layout(file: File) -> Option<Layout> {
    match file {
        File::Accounts => Some(Layout {
            word: "accounts",
            versions: &["1"],
            columns: &["type", "name", "login", "password"],
            required: 4,
        }),
        File::Teams => Some(Layout {
            word: "teams",
            versions: &["1", "2"],
            columns: &[
                "id",
                "icpc_id",
                "group_id",
                "name",
                "organization",
                "short_name",
                "country",
                "organization_id of a list",
            ],
            required: 4,
        }),
        File::Groups => Some(Layout {
            word: "groups",
            versions: &["1"],
            columns: &["id", "name"],
            required: 2,
        }),
        File::Organizations => None,
    }
}

/// The columns that an import reads. A table needs the first one.
pub fn columns(file: File, scope: Scope) -> &'static [Column] {
    match (file, scope) {
        // Teams are parts of contests.
        (File::Accounts, Scope::Site) => &columns::ACCOUNTS[..columns::ACCOUNTS.len() - 1],
        (File::Accounts, Scope::Contest) => columns::ACCOUNTS,
        (File::Teams, _) => columns::TEAMS,
        (File::Groups, _) => columns::GROUPS,
        (File::Organizations, _) => columns::ORGANIZATIONS,
    }
}

/// Reads a file in any of its formats. An empty file has no records.
pub fn content(file: File, text: &str, scope: Scope) -> Result<Content, FileError> {
    // A tab at the end of a line precedes an empty field.
    let start = text.trim_start_matches(['\u{feff}', '\n', '\r', ' ']);
    if start.is_empty() {
        return Ok(Content::default());
    }
    let skipped = text[..text.len() - start.len()].matches('\n').count();
    let mut words = start.lines().next().unwrap_or_default().split_whitespace();
    let (word, version) = (words.next().unwrap_or_default(), words.next());
    let layout = layout(file).filter(|layout| [layout.word, "File_Version"].contains(&word));
    let columns = columns(file, scope);
    let content = match layout {
        Some(layout) if version.is_some_and(|it| layout.versions.contains(&it)) => {
            positional(&layout, columns, start, skipped)
        }
        Some(_) => return Err(FileError::Version(version.unwrap_or_default().to_owned())),
        None if start.starts_with('[') => objects(columns, start)?,
        None => table(columns, start, skipped)?,
    };
    if content.lines.is_empty() || content.lines.len() > MAX_LINES {
        return Err(FileError::Size);
    }
    Ok(content)
}

fn positional(layout: &Layout, columns: &'static [Column], text: &str, skipped: usize) -> Content {
    let keys = assign(columns, layout.columns);
    let key = |at: usize| keys.get(at).copied().flatten();
    let mut unused = Vec::new();
    let lines = (skipped + 2..).zip(text.lines().skip(1));
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let lines = lines.map(|(number, line)| {
        let fields: Vec<&str> = line.split('\t').collect();
        let filled = (0..)
            .zip(&fields)
            .filter(|(_, text)| !text.trim().is_empty());
        let left = filled.filter(|(at, _)| key(*at).is_none());
        let name = |at: usize| layout.columns.get(at).copied().unwrap_or_default();
        extend(&mut unused, left.map(|(at, _)| named(at, name(at))));
        let found = if fields.len() < layout.required {
            Err(LineError::Malformed)
        } else {
            let texts = fields.iter().map(|text| (*text).to_owned());
            Ok(Record::of((0..).map(key).zip(texts)))
        };
        Line { number, found }
    });
    let lines = lines.collect();
    Content { lines, unused }
}

fn objects(columns: &'static [Column], text: &str) -> Result<Content, FileError> {
    let malformed = |error: serde_json::Error| FileError::Json(error.into());
    let values: Vec<Value> = serde_json::from_str(text).map_err(malformed)?;
    let (mut used, mut unused) = (Vec::new(), Vec::new());
    let lines = (1..).zip(&values).map(|(number, value)| {
        let object = value.as_object().ok_or(LineError::Malformed);
        let found = object.map(|fields| {
            let fields = || fields.iter().filter(|(_, value)| !value.is_null());
            let names: Vec<&str> = fields().map(|(name, _)| name.as_str()).collect();
            let keys = assign(columns, &names);
            for (name, key) in names.iter().zip(&keys) {
                let list = if key.is_some() {
                    &mut used
                } else {
                    &mut unused
                };
                extend(list, [named(0, name)]);
            }
            let texts = fields().map(|(_, value)| scalar(value).unwrap_or_default());
            Record::of(keys.into_iter().zip(texts))
        });
        Line { number, found }
    });
    let lines = lines.collect();
    unused.retain(|name| !used.contains(name));
    Ok(Content { lines, unused })
}

/// The text of a value. For a list, it is the text of the first value, because a team has only one
/// group here.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Array(values) => scalar(values.first()?),
        Value::Null | Value::Object(_) => None,
    }
}

/// The separator that occurs most often in a line, outside of quotation marks.
fn separator(line: &str) -> u8 {
    let plain = || line.split('"').step_by(2).flat_map(str::bytes);
    let count = |separator: &u8| plain().filter(|byte| byte == separator).count();
    // Of equal counts, the last one wins.
    let found = [b',', b';', b'\t'].into_iter();
    let found = found.filter(|one| count(one) > 0).max_by_key(count);
    found.unwrap_or(b',')
}

/// The separator that the first line states, as Excel writes and reads it.
fn stated(line: &str) -> Option<u8> {
    match line.trim_matches('"').strip_prefix("sep=")?.as_bytes() {
        [separator] => Some(*separator),
        _ => None,
    }
}

fn table(columns: &'static [Column], text: &str, skipped: usize) -> Result<Content, FileError> {
    let first = text.lines().next().unwrap_or_default();
    let (text, skipped, separator) = match stated(first) {
        Some(separator) => {
            let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
            (rest, skipped + 1, separator)
        }
        None => (text, skipped, separator(first)),
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .trim(csv::Trim::Headers)
        .from_reader(text.as_bytes());
    let no_column = |found: Vec<String>| FileError::Format {
        line: skipped + 1,
        found,
        accepted: columns[0].names(),
    };
    let headers = reader.headers().map_err(|_| no_column(Vec::new()))?.clone();
    let headers: Vec<&str> = headers.iter().collect();
    let keys = assign(columns, &headers);
    let required = columns[0].keys;
    if !keys.iter().flatten().any(|key| required.contains(key)) {
        let mut found = Vec::new();
        let filled = (0..).zip(&headers).filter(|(_, header)| !header.is_empty());
        extend(&mut found, filled.map(|(at, header)| named(at, header)));
        return Err(no_column(found));
    }
    // The reader skips empty lines after it has noted its position.
    let number = |position: Option<&csv::Position>| {
        let line = position.map_or(1, csv::Position::line);
        let line = usize::try_from(line).unwrap_or(usize::MAX).max(1);
        let empty = lines
            .iter()
            .skip(line - 1)
            .take_while(|line| line.is_empty());
        skipped + line + empty.count()
    };
    // A spreadsheet may save columns without a header and without content.
    let mut filled: Vec<bool> = headers.iter().map(|header| !header.is_empty()).collect();
    let mut found = Vec::new();
    for record in reader.records() {
        match record {
            Ok(record) => {
                if record.len() > 1 && record.iter().all(|text| text.trim().is_empty()) {
                    continue;
                }
                for (filled, text) in filled.iter_mut().zip(&record) {
                    *filled |= !text.trim().is_empty();
                }
                let texts = record.iter().map(str::to_owned);
                found.push(Line {
                    number: number(record.position()),
                    found: Ok(Record::of(keys.iter().copied().zip(texts))),
                });
            }
            Err(error) => found.push(Line {
                number: number(error.position()),
                found: Err(LineError::Malformed),
            }),
        }
    }
    let mut unused = Vec::new();
    let left = (0..keys.len()).filter(|at| keys[*at].is_none() && filled[*at]);
    extend(&mut unused, left.map(|at| named(at, headers[at])));
    Ok(Content {
        lines: found,
        unused,
    })
}
