//! The tests that a caller names.

use super::RequestError;

/// The tests that a caller names. They are selected by name, by the last part of a name, by a
/// directory (all tests below it), or by a pattern as in `millibox judge --tests`.
pub(super) struct TestSelection<'a>(Vec<(&'a str, glob::Pattern)>);

impl<'a> TestSelection<'a> {
    pub fn new(names: &'a [String]) -> Result<TestSelection<'a>, RequestError> {
        let patterns = names.iter().map(|name| {
            let pattern = glob::Pattern::new(name).map_err(|error| RequestError::Pattern {
                pattern: name.clone(),
                reason: error.msg,
                position: error.pos + 1,
            })?;
            Ok((name.trim_end_matches('/'), pattern))
        });
        patterns.collect::<Result<_, _>>().map(TestSelection)
    }

    /// Whether a test is selected. An empty selection selects all tests.
    pub fn contains(&self, test: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|entry| matches(entry, test))
    }

    /// Returns the first name that selects none of these tests.
    pub fn first_unmatched(&self, tests: &[&str]) -> Option<&'a str> {
        let unmatched =
            |entry: &&(&str, glob::Pattern)| !tests.iter().any(|test| matches(entry, test));
        self.0.iter().find(unmatched).map(|(name, _)| *name)
    }
}

fn matches((name, pattern): &(&str, glob::Pattern), test: &str) -> bool {
    let below = test
        .strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below || test.rsplit('/').next() == Some(name) || pattern.matches(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection_by_name_directory_and_pattern_selects_tests() {
        let selected = |names: &[&str]| -> Vec<&str> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let selection = TestSelection::new(&names).unwrap();
            let tests = ["sample/1", "secret/b", "secret/g/1", "secretive"];
            assert_eq!(
                selection.first_unmatched(&tests).is_some(),
                names.iter().any(|name| name == "none")
            );
            tests
                .into_iter()
                .filter(|test| selection.contains(test))
                .collect()
        };
        assert_eq!(selected(&[]).len(), 4);
        assert_eq!(selected(&["secret"]), ["secret/b", "secret/g/1"]);
        assert_eq!(selected(&["secret/g/"]), ["secret/g/1"]);
        assert_eq!(selected(&["secret/*"]), ["secret/b", "secret/g/1"]);
        assert_eq!(selected(&["b", "none"]), ["secret/b"]);
        assert_eq!(selected(&["1"]), ["sample/1", "secret/g/1"]);
        assert!(matches!(
            TestSelection::new(&["[".to_owned()]),
            Err(RequestError::Pattern { .. })
        ));
    }
}
