//! The names that other execution services use for a language.

use super::error::FaultKind;
use super::section::{Reader, Section};
use std::ops::Range;

const SERVICES_KEYS: &[&str] = &["judge0", "piston", "sandbox_fusion"];
const PISTON_KEYS: &[&str] = &["name", "aliases"];
/// Judge0 counts its languages from 1. A larger number is probably a mistake.
const JUDGE0_RANGE: Range<i64> = 1..10_000;

/// The names that other execution services use for a language. A service that imitates them finds
/// the suite by these names.
///
/// Only the default variant of a language has names, so each name means one suite.
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
    /// Ids of the language in Judge0 CE. The first one is that of Judge0's own clients.
    pub judge0: Vec<u32>,
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
    /// Other names that Piston accepts.
    pub aliases: Vec<String>,
}

impl Services {
    /// The service and the name of each entry, for messages and comparisons.
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let judge0 = self.judge0.iter().map(|id| ("Judge0", id.to_string()));
        let piston = self.piston.iter().flat_map(|piston| {
            let names = std::iter::once(&piston.name).chain(&piston.aliases);
            names.map(|name| ("Piston", name.clone()))
        });
        let fusion = self.sandbox_fusion.iter();
        let fusion = fusion.map(|name| ("SandboxFusion", name.clone()));
        judge0.chain(piston).chain(fusion).collect()
    }
}

/// Reads `[services]`.
pub(super) fn services(reader: &mut Reader<'_>, top: Section<'_>) -> Services {
    let Some(section) = reader.table(top, "services") else {
        return Services::default();
    };
    reader.reject_unknown_keys(section, SERVICES_KEYS);
    let piston = reader.table(section, "piston").map(|piston| {
        reader.reject_unknown_keys(piston, PISTON_KEYS);
        PistonName {
            name: reader.required(piston, "name"),
            aliases: reader.plain_strings(piston, "aliases"),
        }
    });
    let judge0 = reader.numbers(section, "judge0", JUDGE0_RANGE);
    let services = Services {
        judge0: judge0.into_iter().map(|id| id as u32).collect(),
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
    services
}
