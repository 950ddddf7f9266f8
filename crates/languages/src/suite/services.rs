//! The names that other execution services use for a language.

use super::error::FaultKind;
use super::section::{Reader, Section};
use std::ops::Range;

const SERVICES_KEYS: &[&str] = &[
    "judge0",
    "judge0_title",
    "judge0_compiler",
    "judge0_file",
    "judge0_options",
    "piston",
    "sandbox_fusion",
];
const PISTON_KEYS: &[&str] = &["name", "aliases", "runtime"];
/// Judge0 numbers its languages from 1. A larger number is probably a mistake.
const JUDGE0_RANGE: Range<i64> = 1..10_000;

/// The names that other execution services use for a language. A service that imitates them uses
/// these names to find the suite.
///
/// Each name identifies one suite: the default variant of a language, or a variant that has its own
/// names.
///
/// ```
/// use millibox_languages::suite::Suites;
///
/// let suites = Suites::builtin();
/// let suite = suites.iter().find(|suite| suite.services.judge0.contains(&71));
/// assert_eq!(suite.map(|suite| suite.name.as_str()), Some("python3"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Services {
    /// Ids of the language in Judge0 CE. The first one is the id that Judge0's own clients use.
    pub judge0: Vec<u32>,
    /// The name in Judge0, if it is different from the title of the suite.
    pub judge0_title: Option<String>,
    /// The compiler that precedes the version in Judge0, such as `GCC`. It may be empty.
    pub judge0_compiler: String,
    /// The file name of a source in Judge0, if it is different from that of the example.
    pub judge0_file: Option<String>,
    /// Whether clients of Judge0 may add options to the compile command.
    pub judge0_options: bool,
    /// The language in Piston.
    pub piston: Option<PistonName>,
    /// Names of the language in SandboxFusion.
    pub sandbox_fusion: Vec<String>,
}

/// The name of a language in Piston.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PistonName {
    /// The name.
    pub name: String,
    /// Other names that Piston accepts. `{version}` is replaced by the first two numbers of the
    /// installed version.
    pub aliases: Vec<String>,
    /// The implementation that Piston shows, such as `gcc`.
    pub runtime: Option<String>,
}

impl Services {
    /// Returns the service and the name of each entry, for messages and comparisons.
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let judge0 = self.judge0.iter().map(|id| ("Judge0", id.to_string()));
        let piston = self.piston.iter().flat_map(|piston| {
            // Piston repeats the names of some languages in their aliases.
            let aliases = piston.aliases.iter();
            let aliases = aliases.filter(|alias| **alias != piston.name);
            let names = std::iter::once(&piston.name).chain(aliases);
            names.map(|name| ("Piston", name.clone()))
        });
        let fusion = self.sandbox_fusion.iter();
        let fusion = fusion.map(|name| ("SandboxFusion", name.clone()));
        judge0.chain(piston).chain(fusion).collect()
    }
}

/// Reads the table `services` of a language or of a variant.
pub(super) fn services(reader: &mut Reader<'_>, owner: Section<'_>) -> Option<Services> {
    let section = reader.table(owner, "services")?;
    reader.reject_unknown_keys(section, SERVICES_KEYS);
    let piston = reader.table(section, "piston").map(|piston| {
        reader.reject_unknown_keys(piston, PISTON_KEYS);
        PistonName {
            name: reader.required(piston, "name"),
            aliases: reader.plain_strings(piston, "aliases"),
            runtime: reader.string(piston, "runtime"),
        }
    });
    let judge0 = reader.numbers(section, "judge0", JUDGE0_RANGE);
    let services = Services {
        judge0: judge0.into_iter().map(|id| id as u32).collect(),
        judge0_title: reader.string(section, "judge0_title"),
        judge0_compiler: reader
            .string(section, "judge0_compiler")
            .unwrap_or_default(),
        judge0_file: reader.string(section, "judge0_file"),
        judge0_options: reader.boolean(section, "judge0_options", false),
        piston,
        sandbox_fusion: reader.plain_strings(section, "sandbox_fusion"),
    };
    let entries = services.entries();
    for (index, (service, name)) in entries.iter().enumerate() {
        if entries[..index].contains(&(service, name.clone())) {
            let kind = FaultKind::ServiceNameTwice {
                service,
                name: name.clone(),
            };
            reader.fault(&section.span(), kind);
        }
    }
    Some(services)
}
