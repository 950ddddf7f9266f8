//! Files as records: the texts of each line or object by the names of its columns.

use super::{File, FileError, Line, LineError, MAX_LINES};
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

    fn of<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> Record {
        let mut record = HashMap::new();
        for (name, text) in fields {
            record.entry(name.to_lowercase()).or_insert(text);
        }
        Record(record)
    }
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
            columns: &["id", "icpc_id", "group_id", "name", "organization"],
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

/// The columns of which a table needs at least one.
fn keys(file: File) -> &'static [&'static str] {
    match file {
        File::Accounts => &["login", "username", "id"],
        File::Teams | File::Groups | File::Organizations => &["id"],
    }
}

/// Reads a file in any of its formats. An empty file has no records.
pub fn records(file: File, text: &str) -> Result<Vec<Line<Record>>, FileError> {
    // A tab at the end of a line precedes an empty field.
    let start = text.trim_start_matches(['\u{feff}', '\n', '\r', ' ']);
    if start.is_empty() {
        return Ok(Vec::new());
    }
    let skipped = text[..text.len() - start.len()].matches('\n').count();
    let mut words = start.lines().next().unwrap_or_default().split_whitespace();
    let (word, version) = (words.next().unwrap_or_default(), words.next());
    let layout = layout(file).filter(|layout| [layout.word, "File_Version"].contains(&word));
    let records = match layout {
        Some(layout) if version.is_some_and(|it| layout.versions.contains(&it)) => {
            positional(&layout, start, skipped)
        }
        Some(_) => return Err(FileError::Version(version.unwrap_or_default().to_owned())),
        None if start.starts_with('[') => objects(start)?,
        None => table(file, start, skipped)?,
    };
    if records.is_empty() || records.len() > MAX_LINES {
        return Err(FileError::Size);
    }
    Ok(records)
}

fn positional(layout: &Layout, text: &str, skipped: usize) -> Vec<Line<Record>> {
    let lines = (skipped + 2..).zip(text.lines().skip(1));
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let records = lines.map(|(number, line)| {
        let fields: Vec<&str> = line.split('\t').collect();
        let columns = layout.columns.iter().copied();
        let found = if fields.len() < layout.required {
            Err(LineError::Malformed)
        } else {
            let texts = fields.iter().map(|text| (*text).to_owned());
            Ok(Record::of(columns.zip(texts)))
        };
        Line { number, found }
    });
    records.collect()
}

fn objects(text: &str) -> Result<Vec<Line<Record>>, FileError> {
    let malformed = |error: serde_json::Error| FileError::Json(error.into());
    let values: Vec<Value> = serde_json::from_str(text).map_err(malformed)?;
    let records = (1..).zip(&values).map(|(number, value)| {
        let object = value.as_object().ok_or(LineError::Malformed);
        let found = object.map(|fields| {
            let texts = fields.iter();
            Record::of(texts.filter_map(|(name, value)| Some((name.as_str(), scalar(value)?))))
        });
        Line { number, found }
    });
    Ok(records.collect())
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

fn table(file: File, text: &str, skipped: usize) -> Result<Vec<Line<Record>>, FileError> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.first().copied().unwrap_or_default();
    let separator = [b'\t', b';', b','];
    let separator = separator
        .into_iter()
        .find(|byte| first.as_bytes().contains(byte))
        .unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .trim(csv::Trim::Headers)
        .from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|_| FileError::Format)?;
    let headers: Vec<String> = headers.iter().map(str::to_lowercase).collect();
    if !keys(file)
        .iter()
        .any(|key| headers.iter().any(|it| it == key))
    {
        return Err(FileError::Format);
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
    let records = reader.records().map(|record| match record {
        Ok(record) => {
            let names = headers.iter().map(String::as_str);
            Line {
                number: number(record.position()),
                found: Ok(Record::of(names.zip(record.iter().map(str::to_owned)))),
            }
        }
        Err(error) => Line {
            number: number(error.position()),
            found: Err(LineError::Malformed),
        },
    });
    Ok(records.collect())
}
