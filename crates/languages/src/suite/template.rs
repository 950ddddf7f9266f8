//! `{placeholders}` in commands.
//!
//! A placeholder is a name in braces: letters, digits, `_` and `+`, beginning with a lower-case
//! letter. Other braces have no special meaning, so shell functions and the templates of other
//! tools need no escaping.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Placeholder for the sources. It is replaced by several arguments, so it must be an argument by
/// itself.
pub(crate) const SOURCES: &str = "sources";
/// Placeholder for the arguments that select the way of linking. It is replaced by any number of
/// arguments.
pub(crate) const LINKING: &str = "linking";

/// A part of a string.
enum Part<'t> {
    Plain(&'t str),
    Name(&'t str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(open) = rest[from..].find('{').map(|at| from + at) {
        let inside = &rest[open + 1..];
        let length = inside
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '+'))
            .unwrap_or(inside.len());
        if length > 0
            && inside[length..].starts_with('}')
            && inside.starts_with(|c: char| c.is_ascii_lowercase())
        {
            parts.push(Part::Plain(&rest[..open]));
            parts.push(Part::Name(&inside[..length]));
            rest = &inside[length + 1..];
            from = 0;
        } else {
            from = open + 1;
        }
    }
    parts.push(Part::Plain(rest));
    parts
}

/// Returns the names of the placeholders in a string.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Name(name) => Some(name),
        Part::Plain(_) => None,
    })
}

/// Values of placeholders.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    values: BTreeMap<String, OsString>,
    sources: Vec<OsString>,
    linking: Vec<OsString>,
    /// Arguments before the sources.
    arguments: Vec<OsString>,
}

impl Values {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.values.insert(name.to_owned(), value.into());
    }

    pub(crate) fn set_sources(&mut self, sources: Vec<OsString>) {
        self.sources = sources;
    }

    pub(crate) fn set_linking(&mut self, arguments: &[String]) {
        self.linking = arguments.iter().map(OsString::from).collect();
    }

    pub(crate) fn set_arguments(&mut self, arguments: &[String]) {
        self.arguments = arguments.iter().map(OsString::from).collect();
    }

    /// Returns the text with its placeholders replaced by values. Braces in a value have no special
    /// meaning.
    pub(crate) fn fill(&self, text: &str) -> OsString {
        let mut filled = Vec::new();
        for part in parts(text) {
            match part {
                Part::Plain(plain) => filled.extend_from_slice(plain.as_bytes()),
                Part::Name(name) => match self.values.get(name) {
                    Some(value) => filled.extend_from_slice(value.as_bytes()),
                    None => filled.extend_from_slice(format!("{{{name}}}").as_bytes()),
                },
            }
        }
        OsString::from_vec(filled)
    }

    /// Returns a command line with its placeholders replaced by values.
    pub(crate) fn fill_all(&self, command: &[String]) -> Vec<OsString> {
        let mut filled = Vec::new();
        let mut arguments = self.arguments.iter().cloned();
        for argument in command {
            if matches!(argument.as_str(), "{sources}" | "{main}") {
                filled.extend(arguments.by_ref());
            }
            match argument.as_str() {
                "{sources}" => filled.extend(self.sources.iter().cloned()),
                "{linking}" => filled.extend(self.linking.iter().cloned()),
                _ => filled.push(self.fill(argument)),
            }
        }
        filled
    }
}

/// Fills in `{memory_mib}`, whose value is known only when the program runs. `memory` is in bytes.
pub(crate) fn fill_memory(argument: &OsStr, memory: u64) -> OsString {
    const NAME: &str = "{memory_mib}";
    match argument.to_str() {
        Some(text) if text.contains(NAME) => text
            .replace(NAME, &(memory >> 20).max(1).to_string())
            .into(),
        _ => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_appear_once_before_sources() {
        let mut values = Values::default();
        values.set_sources(vec!["a.c".into(), "b.c".into()]);
        values.set("main", "a.c");
        values.set_arguments(&["-O3".to_owned(), "{main}".to_owned()]);
        let command = ["gcc", "{sources}", "{main}"].map(str::to_owned);
        assert_eq!(
            values.fill_all(&command),
            ["gcc", "-O3", "{main}", "a.c", "b.c", "a.c"]
        );
    }

    #[test]
    fn only_names_in_braces_are_placeholders() {
        let of = |text| names(text).collect::<Vec<_>>();
        assert_eq!(
            of("{g++} -o {executable}{main}"),
            ["g++", "executable", "main"]
        );
        assert_eq!(
            of("f() { echo; } ${} {} {a b} {{.Export}} {A} {1} {a"),
            [""; 0]
        );
        assert_eq!(of("{{main}}"), ["main"]);
        assert_eq!(of("ä{ä}{main}"), ["main"]);
    }

    #[test]
    fn values_are_not_filled_again() {
        let mut values = Values::default();
        values.set("main", "{executable}");
        values.set("executable", "/p");
        values.set_sources(vec!["a.c".into(), "b.c".into()]);
        values.set_linking(&["-static".to_owned(), "{main}".to_owned()]);
        assert_eq!(
            values.fill_all(&["{linking}".to_owned()]),
            ["-static", "{main}"]
        );
        let command = ["x{main}y", "{sources}", "{unknown}", "{executable}"].map(str::to_owned);
        assert_eq!(
            values.fill_all(&command),
            ["x{executable}y", "a.c", "b.c", "{unknown}", "/p"]
        );
    }

    #[test]
    fn fill_memory_rounds_down_to_mebibytes_but_not_to_0() {
        assert_eq!(
            fill_memory(OsStr::new("-Xmx{memory_mib}m"), 256 << 20),
            "-Xmx256m"
        );
        assert_eq!(fill_memory(OsStr::new("{memory_mib}"), 1), "1");
        assert_eq!(fill_memory(OsStr::new("{memory}"), 1 << 20), "{memory}");
    }
}
