//! Reading the tables of a TOML file so that one fault does not hide the others.

use super::choose::nearest;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One thing that is wrong with a suite file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The line, from 1; 0: it concerns the whole file.
    pub line: usize,
    /// What is wrong and what mends it.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// All that is wrong with suite files, one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl Faults {
    pub(super) fn file(path: &Path, message: String) -> Faults {
        Faults(vec![Fault {
            file: path.display().to_string(),
            line: 0,
            message,
        }])
    }

    pub(super) fn add(&mut self, file: &str, line: usize, message: String) {
        self.0.push(Fault {
            file: file.to_owned(),
            line,
            message,
        });
    }

    pub(super) fn extend(&mut self, more: Faults) {
        self.0.extend(more.0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A file that is being read, and what was found wrong with it.
pub(super) struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    pub(super) faults: Faults,
}

/// A table of the file.
#[derive(Clone, Copy)]
pub(super) struct Section<'d> {
    table: &'d DeTable<'d>,
    /// As in its header, for messages; empty: the top of the file.
    name: &'d str,
    start: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(file: &'t str, text: &'t str) -> Reader<'t> {
        Reader {
            file,
            text,
            faults: Faults::default(),
        }
    }

    /// The line in which a span begins.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.line_at(span.start)
    }

    fn line_at(&self, start: usize) -> usize {
        1 + self.text.as_bytes()[..start.min(self.text.len())]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
    }

    pub(super) fn fault(&mut self, span: &Range<usize>, message: impl Into<String>) {
        let line = self.line(span);
        self.faults.add(self.file, line, message.into());
    }

    pub(super) fn syntax(&mut self, error: &toml::de::Error) {
        // The reader words some of its messages in several lines.
        let message = error.message().trim().replace('\n', "; ");
        self.fault(&error.span().unwrap_or(0..0), message);
    }

    /// Keys that nobody knows.
    pub(super) fn reject_unknown_keys(&mut self, section: Section<'_>, known: &[&str]) {
        for key in section
            .table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
        {
            let advice = match nearest(key.get_ref(), known.iter().copied()) {
                Some(meant) => format!("did you mean {meant:?}?"),
                None => format!("those there are: {}", known.join(", ")),
            };
            self.fault(
                &key.span(),
                format!(
                    "there is no key {:?} {}; {advice}",
                    key.get_ref(),
                    section.place()
                ),
            );
        }
    }

    fn wrong_type(
        &mut self,
        section: Section<'_>,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        wanted: &str,
    ) {
        let found = value.get_ref().type_str();
        self.fault(
            &value.span(),
            format!(
                "{key:?} {} must be {wanted}, and is of type {found}",
                section.place()
            ),
        );
    }

    pub(super) fn string(&mut self, section: Section<'_>, key: &str) -> Option<String> {
        let value = section.get(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(text.clone().into_owned()),
            _ => {
                self.wrong_type(section, key, value, "a string");
                None
            }
        }
    }

    /// A string that must be there and say something.
    pub(super) fn required(&mut self, section: Section<'_>, key: &str) -> String {
        match section.get(key) {
            None => {
                self.missing(section, key);
                String::new()
            }
            Some(value) => {
                let text = self.string(section, key);
                if text.as_deref().is_some_and(|text| text.trim().is_empty()) {
                    self.fault(
                        &value.span(),
                        format!("{key:?} {} is empty", section.place()),
                    );
                }
                text.unwrap_or_default()
            }
        }
    }

    pub(super) fn missing(&mut self, section: Section<'_>, key: &str) {
        let line = self.line_at(section.start);
        self.faults.add(
            self.file,
            line,
            format!("there must be a key {key:?} {}", section.place()),
        );
    }

    /// Strings, with where they stand.
    pub(super) fn strings(
        &mut self,
        section: Section<'_>,
        key: &str,
    ) -> Option<Vec<Spanned<String>>> {
        let value = section.get(key)?;
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type(section, key, value, "an array of strings");
            return None;
        };
        let mut strings = Vec::new();
        for element in array {
            match element.get_ref() {
                DeValue::String(text) => {
                    strings.push(Spanned::new(element.span(), text.clone().into_owned()))
                }
                _ => self.wrong_type(section, key, element, "an array of strings"),
            }
        }
        Some(strings)
    }

    /// The same without where they stand; none if the key is not there.
    pub(super) fn plain_strings(&mut self, section: Section<'_>, key: &str) -> Vec<String> {
        self.strings(section, key)
            .unwrap_or_default()
            .into_iter()
            .map(Spanned::into_inner)
            .collect()
    }

    pub(super) fn boolean(&mut self, section: Section<'_>, key: &str, otherwise: bool) -> bool {
        match section.get(key).map(|value| (value, value.get_ref())) {
            None => otherwise,
            Some((_, DeValue::Boolean(value))) => *value,
            Some((value, _)) => {
                self.wrong_type(section, key, value, "true or false");
                otherwise
            }
        }
    }

    pub(super) fn number(
        &mut self,
        section: Section<'_>,
        key: &str,
        otherwise: i64,
        range: Range<i64>,
    ) -> i64 {
        let Some(value) = section.get(key) else {
            return otherwise;
        };
        let DeValue::Integer(number) = value.get_ref() else {
            self.wrong_type(section, key, value, "a whole number");
            return otherwise;
        };
        match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) if range.contains(&number) => number,
            _ => {
                let (least, most) = (range.start, range.end - 1);
                self.fault(
                    &value.span(),
                    format!("{key:?} {} must be from {least} to {most}", section.place()),
                );
                otherwise
            }
        }
    }

    /// One of a few words; without the key, the first.
    pub(super) fn word<T: Copy>(
        &mut self,
        section: Section<'_>,
        key: &str,
        words: &[(&str, T)],
    ) -> T {
        let (_, otherwise) = words[0];
        let (Some(value), Some(text)) = (section.get(key), self.string(section, key)) else {
            return otherwise;
        };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => *meaning,
            None => {
                let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let known = names.join(", ");
                self.fault(
                    &value.span(),
                    format!(
                        "{key:?} {} must be one of {known}; not {text:?}",
                        section.place()
                    ),
                );
                otherwise
            }
        }
    }

    /// A table of strings.
    pub(super) fn map(
        &mut self,
        section: Section<'_>,
        key: &str,
    ) -> BTreeMap<String, Spanned<String>> {
        let mut map = BTreeMap::new();
        let Some(value) = section.get(key) else {
            return map;
        };
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong_type(section, key, value, "a table of strings");
            return map;
        };
        for (name, value) in table {
            match value.get_ref() {
                DeValue::String(text) => {
                    map.insert(
                        name.get_ref().to_string(),
                        Spanned::new(value.span(), text.clone().into_owned()),
                    );
                }
                _ => self.wrong_type(section, key, value, "a table of strings"),
            }
        }
        map
    }

    /// The table `key`, if it is there.
    pub(super) fn table<'d>(&mut self, section: Section<'d>, key: &'d str) -> Option<Section<'d>> {
        let value = section.get(key)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Section {
                table,
                name: key,
                start: value.span().start,
            }),
            _ => {
                self.wrong_type(section, key, value, "a table");
                None
            }
        }
    }

    /// The tables `key.NAME`, in the order of the file, with their names.
    pub(super) fn tables<'d>(
        &mut self,
        section: Section<'d>,
        key: &'d str,
    ) -> Vec<(&'d str, Section<'d>)> {
        let Some(all) = self.table(section, key) else {
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (name, value) in all.table {
            match value.get_ref() {
                DeValue::Table(table) => {
                    let start = name.span().start;
                    tables.push((
                        name.get_ref().as_ref(),
                        Section {
                            table,
                            name: key,
                            start,
                        },
                    ));
                }
                _ => self.wrong_type(all, name.get_ref(), value, "a table"),
            }
        }
        tables.sort_by_key(|(_, section)| section.start);
        tables
    }
}

impl<'d> Section<'d> {
    pub(super) fn top(table: &'d DeTable<'d>) -> Section<'d> {
        Section {
            table,
            name: "",
            start: 0,
        }
    }

    pub(super) fn get(self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.table.get(key)
    }

    /// Where it begins.
    pub(super) fn span(self) -> Range<usize> {
        self.start..self.start
    }

    pub(super) fn keys(self) -> impl Iterator<Item = &'d str> {
        self.table.keys().map(|key| key.get_ref().as_ref())
    }

    fn place(self) -> String {
        match self.name {
            "" => "at the top of the file".to_owned(),
            name => format!("in [{name}]"),
        }
    }
}
