//! Constants of a package: names that are replaced by their values in the package's other files
//! (2025-09).

use std::collections::BTreeMap;

/// The constants that replace `{{NAME}}` in programs, in settings of groups and in statements in
/// Markdown, and `\constant{NAME}` in statements in LaTeX.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Constants(BTreeMap<String, String>);

/// A string with its constants filled in has more bytes than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the text with the values of its constants is longer than {0} bytes; shorten the constants, or \
     use them less often"
)]
pub struct TooLong(pub usize);

impl Constants {
    /// Sets the value of a constant, or of a variant of it. `limit.tex` is an example of a
    /// variant's name.
    pub(crate) fn set(&mut self, name: String, value: &str) {
        self.0.insert(name, value.to_owned());
    }

    /// Names and values. The name of a variant is `limit.tex`, for example.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let values = self.0.iter();
        values.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the text with values in place of `{{NAME}}`, or `None` if it contains no names.
    /// Unknown names stay.
    ///
    /// # Errors
    /// The result would have more than `most` bytes.
    pub fn fill(&self, text: &[u8], most: usize) -> Result<Option<Vec<u8>>, TooLong> {
        self.fill_between([b"{{", b"}}"], text, most)
    }

    /// Returns the text with values in place of `\constant{NAME}`, the form in statements in LaTeX.
    /// Otherwise like [`Constants::fill`].
    ///
    /// # Errors
    /// The result would have more than `most` bytes.
    pub fn fill_latex(&self, text: &[u8], most: usize) -> Result<Option<Vec<u8>>, TooLong> {
        self.fill_between([b"\\constant{", b"}"], text, most)
    }

    fn fill_between(
        &self,
        [opening, closing]: [&[u8]; 2],
        text: &[u8],
        most: usize,
    ) -> Result<Option<Vec<u8>>, TooLong> {
        let at = |text: &[u8], what: &[u8]| text.windows(what.len()).position(|part| part == what);
        if self.0.is_empty() {
            return Ok(None);
        }
        // The search for the end of a name stops after the length of the longest name, so that the
        // text is scanned only once.
        let longest = self.0.keys().map(String::len).max().unwrap_or_default();
        let marks = opening.len() + closing.len();
        let (mut filled, mut rest, mut found) = (Vec::new(), text, false);
        while let Some(open) = at(rest, opening) {
            let (before, after) = rest.split_at(open);
            filled.extend_from_slice(before);
            let name = &after[opening.len()..after.len().min(longest + marks)];
            let name = at(name, closing).map(|close| &name[..close]);
            match name.and_then(|name| {
                let value = self.0.get(std::str::from_utf8(name).ok()?)?;
                Some((name.len() + marks, value))
            }) {
                Some((length, value)) => {
                    if filled.len() + value.len() > most {
                        return Err(TooLong(most));
                    }
                    filled.extend_from_slice(value.as_bytes());
                    rest = &after[length..];
                    found = true;
                }
                // The last two of three braces may begin a name.
                None => {
                    filled.push(after[0]);
                    rest = &after[1..];
                }
            }
        }
        filled.extend_from_slice(rest);
        if found && filled.len() > most {
            Err(TooLong(most))
        } else {
            Ok(found.then_some(filled))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_replaces_known_names_only() {
        let mut constants = Constants::default();
        assert_eq!(constants.fill(b"{{n}}", 99), Ok(None));
        constants.set("n".to_owned(), "5");
        constants.set("n.tex".to_owned(), "\\{{n}}");
        for (text, filled) in [
            ("{{n}}", "5"),
            ("a {{n}} b {{n.tex}}{{n}}", "a 5 b \\{{n}}5"),
            ("{{{n}}}", "{5}"),
            ("{{ n }} {{m}} {{n}} {{n", "{{ n }} {{m}} 5 {{n"),
            ("{{{{n}}", "{{5"),
        ] {
            let most = filled.len();
            assert_eq!(
                constants.fill(text.as_bytes(), most),
                Ok(Some(filled.as_bytes().to_vec())),
                "{text}"
            );
            assert_eq!(
                constants.fill(text.as_bytes(), most - 1),
                Err(TooLong(most - 1)),
                "{text}"
            );
        }
        for text in ["", "{", "n", "{{n.value}}", "{{}}", "}}{{"] {
            assert_eq!(constants.fill(text.as_bytes(), 0), Ok(None), "{text}");
        }
    }

    #[test]
    fn fill_latex_replaces_names_in_the_command_only() {
        let mut constants = Constants::default();
        constants.set("n".to_owned(), "5");
        constants.set("n.tex".to_owned(), "10^2");
        let text = b"\\constant{n} $\\constant{n.tex}$ \\constant{m} {{n}} \\constant{n";
        let filled = b"5 $10^2$ \\constant{m} {{n}} \\constant{n";
        assert_eq!(constants.fill_latex(text, 99), Ok(Some(filled.to_vec())));
    }
}
