//! The runtimes under the names that Piston's clients use: installed languages and packages.

use super::constraints::Overrides;
use super::packages::Package;
use super::version::{Range, Version};
use crate::core::catalog;
use serde::Serialize;
use std::sync::Arc;

/// The placeholder, in aliases of suites, for the first two numbers of the version.
const VERSION: &str = "{version}";

/// A language in one version.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// The name.
    pub language: String,
    pub version: Version,
    /// Other names.
    pub aliases: Vec<String>,
    /// The package or implementation, if its name is not that of the language.
    pub runtime: Option<String>,
    /// Limits that the package sets.
    pub overrides: Overrides,
    /// How programs are compiled and run.
    pub source: Source,
}

/// How programs are compiled and run.
#[derive(Debug, Clone)]
pub enum Source {
    /// A language of the service.
    Suite(Arc<catalog::Runtime>),
    /// The scripts of a Piston package.
    Package(Arc<Package>),
}

/// An entry of `/runtimes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuntimeEntry {
    language: String,
    version: String,
    aliases: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<String>,
}

/// An entry of `/packages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackageEntry {
    language: String,
    language_version: String,
    installed: bool,
}

/// All runtimes. The runtimes of packages come first, because the operator chose them.
#[derive(Debug, Default)]
pub struct Runtimes {
    all: Vec<Runtime>,
}

impl Runtimes {
    /// The languages of packages and the installed languages of the service.
    pub fn new(installed: &[Arc<catalog::Runtime>], packages: &[Arc<Package>]) -> Runtimes {
        let of_packages = packages.iter().flat_map(of_package);
        let of_suites = installed
            .iter()
            .filter(|runtime| runtime.is_available())
            .map(of_suite);
        Runtimes {
            all: of_packages.chain(of_suites).collect(),
        }
    }

    /// The newest runtime with this name or alias and a version in this range. Runtimes of packages
    /// are preferred to those of the service.
    pub fn find(&self, language: &str, range: &str) -> Option<&Runtime> {
        let range = Range::parse(range)?;
        self.all
            .iter()
            .filter(|runtime| runtime.is_called(language) && range.contains(&runtime.version))
            .max_by_key(|runtime| {
                let is_package = matches!(runtime.source, Source::Package(_));
                // A name takes precedence over an alias of another runtime.
                (is_package, runtime.language == language, &runtime.version)
            })
    }

    /// The answer of `/runtimes`.
    pub fn entries(&self) -> Vec<RuntimeEntry> {
        self.all
            .iter()
            .map(|runtime| RuntimeEntry {
                language: runtime.language.clone(),
                version: runtime.version.to_string(),
                aliases: runtime.aliases.clone(),
                runtime: runtime.runtime.clone(),
            })
            .collect()
    }

    /// The answer to `/packages`: everything is installed.
    pub fn packages(&self) -> Vec<PackageEntry> {
        let mut entries: Vec<PackageEntry> = Vec::new();
        for runtime in &self.all {
            let name = runtime.runtime.as_ref().unwrap_or(&runtime.language);
            let entry = PackageEntry {
                language: name.clone(),
                language_version: runtime.version.to_string(),
                installed: true,
            };
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        entries
    }
}

impl Runtime {
    fn is_called(&self, name: &str) -> bool {
        self.language == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Whether programs are compiled in a separate stage.
    pub fn is_compiled(&self) -> bool {
        match &self.source {
            Source::Suite(runtime) => runtime.is_compiled,
            Source::Package(package) => package.has_compile,
        }
    }
}

/// A language of the service, under the name that its suite specifies for Piston.
fn of_suite(runtime: &Arc<catalog::Runtime>) -> Runtime {
    let version = Version::of_tool(runtime.version_number());
    let own = runtime.services.piston.clone().unwrap_or_default();
    let language = match (&own.name[..], runtime.is_default) {
        ("", true) => runtime.language.clone(),
        ("", false) => runtime.name.clone(),
        (name, _) => name.to_owned(),
    };
    let text = version.to_string();
    let series = text
        .rsplit_once('.')
        .map_or(&text[..], |(series, _)| series);
    let filled = |alias: &String| alias.replace(VERSION, series);
    let mut aliases: Vec<String> = own.aliases.iter().map(filled).collect();
    // The suite's own names are valid as well.
    for name in std::iter::once(&runtime.name).chain(&runtime.aliases) {
        if *name != language && !aliases.contains(name) {
            aliases.push(name.clone());
        }
    }
    Runtime {
        language,
        version,
        aliases,
        runtime: own.runtime,
        overrides: Overrides::default(),
        source: Source::Suite(runtime.clone()),
    }
}

/// A runtime for each language that the package provides.
pub(super) fn of_package(package: &Arc<Package>) -> impl Iterator<Item = Runtime> {
    package.languages.iter().map(|provided| Runtime {
        language: provided.language.clone(),
        version: package.version.clone(),
        aliases: provided.aliases.clone(),
        runtime: (provided.language != package.name).then(|| package.name.clone()),
        overrides: provided.limit_overrides.unwrap_or_default(),
        source: Source::Package(package.clone()),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use millibox_languages::suite::Suites;

    /// The runtime of a built-in suite.
    pub(in crate::dialects::piston) fn suite(name: &str, version: &str) -> Arc<catalog::Runtime> {
        let suites = Suites::builtin();
        let version = Ok(version.to_owned());
        Arc::new(catalog::Runtime::new(
            suites.named(name).unwrap(),
            version,
            None,
        ))
    }

    #[test]
    fn languages_have_the_names_of_piston() {
        let runtimes = Runtimes::new(
            &[
                suite("cpp17", "g++ (Debian 12.2.0-14) 12.2.0"),
                suite("cpp20", "g++ (Debian 12.2.0-14) 12.2.0"),
                suite("python3", "Python 3.11.2"),
            ],
            &[],
        );
        let found = |language, version| {
            let runtime = runtimes.find(language, version)?;
            Some(format!("{} {}", runtime.language, runtime.version))
        };
        assert_eq!(found("c++", "*").as_deref(), Some("c++ 12.2.0"));
        assert_eq!(found("g++", "^12").as_deref(), Some("c++ 12.2.0"));
        assert_eq!(found("c++20", "*").as_deref(), Some("c++ 12.2.0"));
        assert_eq!(found("cpp17", "12.x").as_deref(), Some("cpp17 12.2.0"));
        assert_eq!(found("c++17", "*").as_deref(), Some("cpp17 12.2.0"));
        assert_eq!(
            found("python3.11", "3.11.2").as_deref(),
            Some("python 3.11.2")
        );
        assert_eq!(found("py", "3.10.0"), None);
        assert_eq!(found("py", "latest"), None);
        assert_eq!(found("C++", "*"), None);
        let entries = serde_json::to_value(runtimes.entries()).unwrap();
        assert_eq!(entries[1]["runtime"], "gcc");
        assert_eq!(entries[2].get("runtime"), None);
        assert_eq!(runtimes.packages().len(), 3);
    }
}
