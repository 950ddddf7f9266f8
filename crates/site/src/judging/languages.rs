//! The languages that are installed.

use millibox::Supervisor;
use millibox_languages::cache::Cache;
use millibox_languages::compile::Toolbox;
use millibox_languages::suite::Suites;

/// A language in which submissions are accepted.
#[derive(Debug, Clone)]
pub struct Language {
    /// The name in the database, such as `cpp20`.
    pub name: String,
    /// The display name, such as `C++20`.
    pub title: String,
    /// The name of a source that was not uploaded as a file.
    pub file_name: String,
    /// Extensions of sources, without the dot.
    pub extensions: Vec<String>,
    /// Whether the name of the language selects this variant.
    pub is_default: bool,
}

/// Finds the installed languages. Blocks until their compilers have reported their versions.
pub fn installed(supervisor: &Supervisor, suites: &Suites, cache: &Cache) -> Vec<Language> {
    let toolbox = Toolbox::new(supervisor, suites.clone(), cache.clone());
    suites
        .iter()
        .filter(|suite| toolbox.availability(suite).is_available())
        .map(|suite| Language {
            name: suite.name.clone(),
            title: suite.title.clone(),
            file_name: suite.example.file.clone(),
            extensions: suite.sources.extensions.clone(),
            is_default: suite.default,
        })
        .collect()
}

/// The language of a file by its extension: the default variant of the first language with this
/// extension.
pub fn of_file<'a>(languages: &'a [Language], name: &str) -> Option<&'a Language> {
    let (_, extension) = name.rsplit_once('.')?;
    let mut fitting = languages
        .iter()
        .filter(|language| language.extensions.iter().any(|known| known == extension));
    let first = fitting.clone().next();
    fitting.find(|language| language.is_default).or(first)
}
