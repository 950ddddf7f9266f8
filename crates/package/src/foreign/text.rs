//! YAML values of other systems.

use super::loss::ForeignError;
use super::source::Source;
use crate::fault::log::Log;
use crate::yaml::{self, Node, Value};
use std::path::Path;

/// A settings file, or an inner map of it. Keys that are not taken become losses.
#[derive(Debug, Default)]
pub struct Settings {
    pairs: Vec<(String, Node)>,
}

impl Settings {
    /// Reads a file; empty if it does not exist.
    pub fn read(source: &Source, name: &str) -> Result<Settings, ForeignError> {
        let Some(text) = source.text(name)? else {
            return Ok(Settings::default());
        };
        let log = Log::new(Path::new(name));
        let node = yaml::parse(&text, &"".into(), &log);
        if let Err(faults) = log.finish() {
            return Err(ForeignError::Malformed {
                file: name.to_owned(),
                why: faults.to_string(),
            });
        }
        Ok(node.map_or_else(Settings::default, |node| Settings::of(&node)))
    }

    /// The pairs of a map; none for other values.
    pub fn of(node: &Node) -> Settings {
        let pairs = match &node.value {
            Value::Mapping(pairs) => pairs
                .iter()
                .filter_map(|(key, value)| Some((key.text()?.to_owned(), value.clone())))
                .collect(),
            _ => Vec::new(),
        };
        Settings { pairs }
    }

    /// Takes the value of the first of these keys.
    pub fn take(&mut self, keys: &[&str]) -> Option<Node> {
        let found = keys
            .iter()
            .find_map(|key| self.pairs.iter().position(|(name, _)| name == key))?;
        Some(self.pairs.remove(found).1)
    }

    /// Takes a text.
    pub fn text(&mut self, keys: &[&str]) -> Option<String> {
        self.take(keys)?.text().map(str::to_owned)
    }

    /// Takes a number.
    pub fn number(&mut self, keys: &[&str]) -> Option<f64> {
        let number: f64 = self.text(keys)?.trim().parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Takes an inner map.
    pub fn map(&mut self, keys: &[&str]) -> Settings {
        self.take(keys)
            .map_or_else(Settings::default, |node| Settings::of(&node))
    }

    /// Takes a list.
    pub fn list(&mut self, keys: &[&str]) -> Vec<Node> {
        match self.take(keys).map(|node| node.value) {
            Some(Value::Sequence(nodes)) => nodes,
            _ => Vec::new(),
        }
    }

    /// The numbers of a map, by key.
    pub fn numbers(&mut self, keys: &[&str]) -> Vec<(String, f64)> {
        let pairs = self.map(keys).pairs.into_iter();
        let pair = |(key, node): (String, Node)| Some((key, node.text()?.trim().parse().ok()?));
        pairs.filter_map(pair).collect()
    }

    /// The names of the keys that were not taken.
    pub fn rest(self) -> impl Iterator<Item = String> {
        self.pairs.into_iter().map(|(key, _)| key)
    }
}

/// The number before a unit, and the unit: `1.5s`, `256 MB`.
pub fn measure(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().ok()?;
    Some((number, unit.trim().to_lowercase()))
}
