//! The languages that are installed.

use millibox::Supervisor;
use millibox_languages::cache::Cache;
use millibox_languages::compile::Toolbox;
use millibox_languages::suite::{Suite, Suites};
use std::path::Path;

/// A language in which submissions are accepted.
#[derive(Debug, Clone)]
pub struct Language {
    /// The name in the database, such as `cpp20`.
    pub name: String,
    /// The display name, such as `C++20`.
    pub title: String,
    /// The name of a source that was not uploaded as a file.
    pub file_name: String,
    /// What its compiler or interpreter prints as its version.
    pub version: String,
    /// How its sources are recognised.
    pub suite: Suite,
}

impl Language {
    /// The language of a suite, in an unknown version.
    pub fn new(suite: &Suite) -> Language {
        Language {
            name: suite.name.clone(),
            title: suite.title.clone(),
            file_name: suite.example.file.clone(),
            version: String::new(),
            suite: suite.clone(),
        }
    }
}

/// Finds the installed languages. Blocks until their compilers have reported their versions.
pub fn installed(supervisor: &Supervisor, suites: &Suites, cache: &Cache) -> Vec<Language> {
    let toolbox = Toolbox::new(supervisor, suites.clone(), cache.clone());
    let installed = toolbox.installed();
    installed
        .map(|(suite, version)| Language {
            version,
            ..Language::new(suite)
        })
        .collect()
}

/// The language of a source by its name and content. A default variant is preferred.
pub fn of_source<'a>(
    languages: &'a [Language],
    name: &str,
    content: &[u8],
) -> Option<&'a Language> {
    let is_preferred = |language: &&Language| {
        let suite = &language.suite;
        let default = languages
            .iter()
            .find(|other| other.suite.language == suite.language && other.suite.default);
        default.is_none_or(|default| default.name == language.name)
    };
    let suites = languages.iter().filter(is_preferred);
    let suite = Suite::of_source(suites.map(|it| &it.suite), Path::new(name), content)?;
    languages
        .iter()
        .find(|language| language.name == suite.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_of_a_source_follows_extension_in_any_case_and_content() {
        let suites = Suites::builtin();
        let all: Vec<Language> = suites.iter().map(Language::new).collect();
        let without_cpp20: Vec<Language> = all
            .iter()
            .filter(|language| language.name != "cpp20")
            .cloned()
            .collect();
        for (languages, name, content, wanted) in [
            (&all, "A.CPP", "", Some("cpp20")),
            (&all, "a.c", "", Some("c17")),
            (&all, "a.C", "", Some("cpp20")),
            (&without_cpp20, "a.cpp", "", Some("cpp11")),
            (&all, "a.pl", "main :- halt.\n", Some("prolog")),
            (&all, "a.pl", "print 1;\n", Some("perl")),
            (
                &all,
                "solution",
                "#!/usr/bin/env python3\n",
                Some("python3"),
            ),
            (&all, "solution", "", None),
            (&all, "a.xyz", "", None),
        ] {
            let found = of_source(languages, name, content.as_bytes());
            assert_eq!(found.map(|it| &it.name[..]), wanted, "{name}");
        }
    }
}
