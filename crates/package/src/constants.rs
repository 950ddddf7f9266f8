//! Constants of a package: names that stand for their values in its other files (2025-09).

use std::collections::BTreeMap;

/// What stands as `{{NAME}}` in programs and in settings of groups, and for what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Constants(BTreeMap<String, String>);

impl Constants {
    /// `name` is that of a constant, or of a variant: `limit`, `limit.tex`.
    pub(crate) fn set(&mut self, name: String, value: &str) {
        self.0.insert(name, value.to_owned());
    }

    /// The text with values in place of names; none: there are no names in it. What is not known stays as it is.
    pub fn fill(&self, text: &[u8]) -> Option<Vec<u8>> {
        let at = |text: &[u8], what: &[u8]| text.windows(what.len()).position(|part| part == what);
        if self.0.is_empty() {
            return None;
        }
        let (mut filled, mut rest, mut found) = (Vec::new(), text, false);
        while let Some(open) = at(rest, b"{{") {
            let (before, after) = rest.split_at(open);
            filled.extend_from_slice(before);
            let name = at(after, b"}}").map(|close| &after[2..close]);
            match name.and_then(|name| Some((name.len() + 4, self.0.get(std::str::from_utf8(name).ok()?)?))) {
                Some((length, value)) => {
                    filled.extend_from_slice(value.as_bytes());
                    rest = &after[length..];
                    found = true;
                }
                // Of three braces the last two may be meant.
                None => {
                    filled.push(after[0]);
                    rest = &after[1..];
                }
            }
        }
        filled.extend_from_slice(rest);
        found.then_some(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_and_all_else_stays() {
        let mut constants = Constants::default();
        assert_eq!(constants.fill(b"{{n}}"), None);
        constants.set("n".to_owned(), "5");
        constants.set("n.tex".to_owned(), "\\{{n}}");
        for (text, filled) in [
            ("{{n}}", "5"),
            ("a {{n}} b {{n.tex}}{{n}}", "a 5 b \\{{n}}5"),
            ("{{{n}}}", "{5}"),
            ("{{ n }} {{m}} {{n}} {{n", "{{ n }} {{m}} 5 {{n"),
            ("{{{{n}}", "{{5"),
        ] {
            assert_eq!(constants.fill(text.as_bytes()).as_deref(), Some(filled.as_bytes()), "{text}");
        }
        for text in ["", "{", "n", "{{n.value}}", "{{}}", "}}{{"] {
            assert_eq!(constants.fill(text.as_bytes()), None, "{text}");
        }
    }
}
