//! The search for problems by name and tag.
//!
//! SQLite changes the case of ASCII letters only, and PostgreSQL follows the locale of a database.
//! So names are compared here, with the same result for both.

use serde::Deserialize;

/// What a problem must have to be found. Empty fields find all problems.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Search {
    /// A part of the name.
    pub name: String,
    /// A tag.
    pub tag: String,
}

/// A search that ignores case and surrounding white space.
#[derive(Debug)]
pub struct Pattern {
    name: String,
    tag: String,
}

impl Search {
    /// The search for comparisons.
    pub fn pattern(&self) -> Pattern {
        Pattern {
            name: fold(self.name.trim()),
            tag: fold(self.tag.trim()),
        }
    }

    /// The query of the address with the result, or with the part of it that follows a problem.
    pub fn query(&self, after: Option<i64>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("name", &self.name), ("tag", &self.tag)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if let Some(id) = after {
            query.append_pair("after", &id.to_string());
        }
        match query.finish() {
            query if query.is_empty() => query,
            query => format!("?{query}"),
        }
    }
}

impl Pattern {
    /// Whether all problems are found.
    pub fn is_empty(&self) -> bool {
        self.name.is_empty() && self.tag.is_empty()
    }

    /// Whether tags are compared.
    pub fn has_tag(&self) -> bool {
        !self.tag.is_empty()
    }

    /// Whether a problem with this name and these tags is found.
    pub fn finds<'t>(&self, name: &str, mut tags: impl Iterator<Item = &'t str>) -> bool {
        fold(name).contains(&self.name) && (!self.has_tag() || tags.any(|it| fold(it) == self.tag))
    }
}

/// The text without case. Upper case first: `ς` and `σ` have the same upper case.
fn fold(text: &str) -> String {
    let upper = text.chars().flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_ignores_case_in_all_alphabets() {
        let finds = |name: &str, tag: &str, of: &str, tags: &[&str]| {
            let search = Search {
                name: name.to_owned(),
                tag: tag.to_owned(),
            };
            search.pattern().finds(of, tags.iter().copied())
        };
        for (name, of) in [
            ("", "Sum"),
            (" sum ", "The Sum"),
            ("ŁÓDŹ", "Łódź i las"),
            ("łódź", "ŁÓDŹ"),
            ("STRASSE", "Straße"),
            ("ΟΔΟΣ", "οδος"),
            ("οδος", "ΟΔΟΣ"),
        ] {
            assert!(finds(name, "", of, &[]), "{name} {of}");
        }
        for (name, of) in [
            ("lodz", "Łódź"),
            ("%", "Sum"),
            ("s_m", "Sum"),
            ("Sums", "Sum"),
        ] {
            assert!(!finds(name, "", of, &[]), "{name} {of}");
        }
        assert!(finds("", " GRAFÓW ", "Sum", &["easy", "grafów"]));
        assert!(!finds("", "graf", "Sum", &["easy", "grafów"]));
        assert!(!finds("", "easy", "Sum", &[]));
        assert!(!finds("tree", "easy", "Sum", &["easy"]));
    }

    #[test]
    fn query_continues_a_search() {
        let search = Search {
            name: "a&b=ł".to_owned(),
            tag: String::new(),
        };
        assert_eq!(search.query(Some(7)), "?name=a%26b%3D%C5%82&after=7");
        assert_eq!(Search::default().query(Some(7)), "?after=7");
        assert_eq!(Search::default().query(None), "");
    }
}
