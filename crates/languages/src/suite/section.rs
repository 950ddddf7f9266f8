//! Readers for TOML tables that record a fault and continue, so that one fault hides no other.

use super::error::{FaultKind, Faults, Place, Suggestion};
use super::similar::nearest;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file and its faults so far.
pub(super) struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    pub(super) faults: Faults,
}

/// A table of the file.
#[derive(Clone, Copy)]
pub(super) struct Section<'d> {
    table: &'d DeTable<'d>,
    /// Name in the table's header, for messages. It is empty for the keys before the first table.
    name: &'d str,
    /// Byte offset in the file.
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

    /// Returns the line in which a span begins, counted from 1.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.line_at(span.start)
    }

    fn line_at(&self, start: usize) -> usize {
        1 + self.text.as_bytes()[..start.min(self.text.len())]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
    }

    pub(super) fn fault(&mut self, span: &Range<usize>, kind: FaultKind) {
        let line = self.line(span);
        self.faults.add(self.file, line, kind);
    }

    pub(super) fn syntax(&mut self, error: &toml::de::Error) {
        let kind = FaultKind::Syntax(error.message().to_owned());
        self.fault(&error.span().unwrap_or(0..0), kind);
    }

    pub(super) fn reject_unknown_keys(&mut self, section: Section<'_>, known: &[&str]) {
        for key in section
            .table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
        {
            let suggestion = match nearest(key.get_ref(), known.iter().copied()) {
                Some(name) => Suggestion::Nearest(format!("{name:?}")),
                None => Suggestion::Known(known.iter().map(ToString::to_string).collect()),
            };
            let kind = FaultKind::UnknownKey {
                key: key.get_ref().to_string(),
                place: section.place(),
                suggestion,
            };
            self.fault(&key.span(), kind);
        }
    }

    fn wrong_type(
        &mut self,
        section: Section<'_>,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        expected: &'static str,
    ) {
        let kind = FaultKind::WrongType {
            key: key.to_owned(),
            place: section.place(),
            expected,
            found: value.get_ref().type_str(),
        };
        self.fault(&value.span(), kind);
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

    /// Reads a string that must exist and must not be blank.
    pub(super) fn required(&mut self, section: Section<'_>, key: &str) -> String {
        match section.get(key) {
            None => {
                self.missing(section, key);
                String::new()
            }
            Some(value) => {
                let text = self.string(section, key);
                if text.as_deref().is_some_and(|text| text.trim().is_empty()) {
                    let kind = FaultKind::Empty {
                        key: key.to_owned(),
                        place: section.place(),
                    };
                    self.fault(&value.span(), kind);
                }
                text.unwrap_or_default()
            }
        }
    }

    pub(super) fn missing(&mut self, section: Section<'_>, key: &str) {
        let line = self.line_at(section.start);
        let kind = FaultKind::MissingKey {
            key: key.to_owned(),
            place: section.place(),
        };
        self.faults.add(self.file, line, kind);
    }

    /// Reads strings with their positions in the file.
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

    /// Reads strings without their positions. The result is empty if the key is missing.
    pub(super) fn plain_strings(&mut self, section: Section<'_>, key: &str) -> Vec<String> {
        self.strings(section, key)
            .unwrap_or_default()
            .into_iter()
            .map(Spanned::into_inner)
            .collect()
    }

    pub(super) fn boolean(&mut self, section: Section<'_>, key: &str, default: bool) -> bool {
        match section.get(key).map(|value| (value, value.get_ref())) {
            None => default,
            Some((_, DeValue::Boolean(value))) => *value,
            Some((value, _)) => {
                self.wrong_type(section, key, value, "true or false");
                default
            }
        }
    }

    pub(super) fn number(
        &mut self,
        section: Section<'_>,
        key: &str,
        default: i64,
        range: Range<i64>,
    ) -> i64 {
        let Some(value) = section.get(key) else {
            return default;
        };
        let DeValue::Integer(number) = value.get_ref() else {
            self.wrong_type(section, key, value, "a whole number");
            return default;
        };
        match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) if range.contains(&number) => number,
            _ => {
                self.out_of_range(section, key, value, &range);
                default
            }
        }
    }

    /// Reads numbers. The result is empty if the key is missing.
    pub(super) fn numbers(
        &mut self,
        section: Section<'_>,
        key: &str,
        range: Range<i64>,
    ) -> Vec<i64> {
        let Some(value) = section.get(key) else {
            return Vec::new();
        };
        let expected = "an array of whole numbers";
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type(section, key, value, expected);
            return Vec::new();
        };
        let mut numbers = Vec::new();
        for element in array {
            match element.get_ref() {
                DeValue::Integer(number) => {
                    let number = i64::from_str_radix(number.as_str(), number.radix()).ok();
                    match number.filter(|number| range.contains(number)) {
                        Some(number) => numbers.push(number),
                        None => self.out_of_range(section, key, element, &range),
                    }
                }
                _ => self.wrong_type(section, key, element, expected),
            }
        }
        numbers
    }

    fn out_of_range(
        &mut self,
        section: Section<'_>,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        range: &Range<i64>,
    ) {
        let kind = FaultKind::OutOfRange {
            key: key.to_owned(),
            place: section.place(),
            min: range.start,
            max: range.end - 1,
        };
        self.fault(&value.span(), kind);
    }

    /// Reads one of a few words. The first word is the default.
    pub(super) fn word<T: Copy>(
        &mut self,
        section: Section<'_>,
        key: &str,
        words: &[(&str, T)],
    ) -> T {
        let (_, default) = words[0];
        let (Some(value), Some(text)) = (section.get(key), self.string(section, key)) else {
            return default;
        };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => *meaning,
            None => {
                let kind = FaultKind::UnknownWord {
                    key: key.to_owned(),
                    place: section.place(),
                    known: words.iter().map(|(word, _)| word.to_string()).collect(),
                    found: text,
                };
                self.fault(&value.span(), kind);
                default
            }
        }
    }

    /// Reads a table of strings.
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

    /// Returns the table `key`, if it exists.
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

    /// Returns the names and contents of the tables `key.NAME`, in the order of the file.
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

    /// Returns the position of the table's beginning, for messages.
    pub(super) fn span(self) -> Range<usize> {
        self.start..self.start
    }

    pub(super) fn keys(self) -> impl Iterator<Item = &'d str> {
        self.table.keys().map(|key| key.get_ref().as_ref())
    }

    fn place(self) -> Place {
        match self.name {
            "" => Place::Top,
            name => Place::Table(name.to_owned()),
        }
    }
}
