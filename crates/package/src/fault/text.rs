//! Parts of messages.

use std::fmt;

/// Maximum length of an excerpt.
const MAX_EXCERPT_BYTES: usize = 2_000;
/// Maximum length of words that are compared for a suggestion. The memory and time of a comparison
/// are proportional to the product of both lengths.
const MAX_COMPARED_BYTES: usize = 100;
/// Maximum number of words that are compared for a suggestion.
const MAX_COMPARED_WORDS: usize = 200;

/// A string from a package that a message quotes. A string may be as long as a file, so only its
/// beginning is kept. `Debug` quotes the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Excerpt {
    text: Box<str>,
    omitted_bytes: usize,
}

impl Excerpt {
    /// Keeps the beginning of a string.
    pub fn new(text: &str) -> Excerpt {
        let end = (0..=text.len().min(MAX_EXCERPT_BYTES))
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or_default();
        Excerpt {
            text: text[..end].into(),
            omitted_bytes: text.len() - end,
        }
    }

    /// Returns the kept part of the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<&str> for Excerpt {
    fn from(text: &str) -> Excerpt {
        Excerpt::new(text)
    }
}

impl From<&String> for Excerpt {
    fn from(text: &String) -> Excerpt {
        Excerpt::new(text)
    }
}

impl From<String> for Excerpt {
    fn from(text: String) -> Excerpt {
        Excerpt::new(&text)
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.fmt_omitted(f)
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)?;
        self.fmt_omitted(f)
    }
}

impl Excerpt {
    fn fmt_omitted(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.omitted_bytes {
            0 => Ok(()),
            bytes => write!(f, " [{bytes} more bytes]"),
        }
    }
}

/// A known word that is similar to an unknown one. `Display` writes a question, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Suggestion(Option<Box<str>>);

impl Suggestion {
    /// No suggestion.
    pub const NONE: Suggestion = Suggestion(None);

    /// Finds the known word that is most similar to `word`, if there is a similar one. Long words
    /// match nothing, and only the first of many known words are compared.
    pub fn new<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Suggestion {
        if word.len() > MAX_COMPARED_BYTES {
            return Suggestion::NONE;
        }
        let nearest = known
            .into_iter()
            .take(MAX_COMPARED_WORDS)
            .filter(|known| known.len() <= MAX_COMPARED_BYTES)
            .map(|known| (strsim::damerau_levenshtein(word, known), known))
            .filter(|(distance, known)| *distance <= 1 + known.len() / 5)
            .min();
        Suggestion(nearest.map(|(_, known)| known.into()))
    }

    /// Suggests this word.
    pub fn of(word: &str) -> Suggestion {
        Suggestion(Some(word.into()))
    }

    /// Returns the similar word.
    pub fn word(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Replaces the similar word in the suggestion by another word.
    #[must_use]
    pub fn map(&self, complete: impl FnOnce(&str) -> String) -> Suggestion {
        Suggestion(self.word().map(|word| complete(word).into()))
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word() {
            Some(word) => write!(f, "; did you mean {word:?}?"),
            None => Ok(()),
        }
    }
}

/// Words of a format. `Display` separates them with commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordList(Vec<&'static str>);

impl WordList {
    /// Creates a list of these words.
    pub fn new(words: impl IntoIterator<Item = &'static str>) -> WordList {
        WordList(words.into_iter().collect())
    }

    /// Returns the words in order.
    pub fn words(&self) -> &[&'static str] {
        &self.0
    }
}

impl fmt::Display for WordList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// A number from a package. It is never NaN, so numbers are equal to themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number(pub f64);

impl Eq for Number {}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The kind of a value in a YAML file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueKind {
    /// `~`, `null` or an empty value.
    #[error("nothing")]
    Null,
    /// A scalar.
    #[error("a string")]
    Text,
    /// A sequence.
    #[error("a list")]
    List,
    /// A mapping.
    #[error("a map")]
    Map,
}

/// The value that was found instead of a valid one. `Display` writes the end of a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Found {
    /// A string.
    #[error(", but is {0:?}")]
    Text(Excerpt),
    /// A value of another kind.
    #[error(", not {0}")]
    Other(ValueKind),
}

/// A hint that names the command that generates missing tests. `Display` writes the end of a
/// message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MakeHint {
    /// The package does not describe how its tests are generated.
    #[error("")]
    None,
    /// One file can be generated.
    #[error("; `millibox problem gen` generates it")]
    One,
    /// Several files can be generated.
    #[error("; `millibox problem gen` makes them")]
    Several,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_of_long_text_counts_omitted_bytes() {
        let text = format!("{}é", "x".repeat(MAX_EXCERPT_BYTES - 1));
        let shown = Excerpt::new(&text).to_string();
        assert!(shown.ends_with("x [2 more bytes]"), "{shown}");
        assert_eq!(Excerpt::new("a\nb").to_string(), "a\nb");
        assert_eq!(format!("{:?}", Excerpt::new("a\nb")), "\"a\\nb\"");
    }

    #[test]
    fn suggestion_names_most_similar_word() {
        let meant = |word| Suggestion::new(word, ["sample", "secret"]).to_string();
        assert_eq!(meant("secrets"), "; did you mean \"secret\"?");
        assert_eq!(meant("other"), "");
        assert_eq!(meant(&"x".repeat(MAX_COMPARED_BYTES + 1)), "");
    }
}
