//! What a worker says about itself and its machine.

use crate::class::Class;
use crate::result::cut;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The maximum number of languages of a worker.
pub const MAX_LANGUAGES: usize = 256;
/// The maximum length of language and slot names, in bytes.
pub const MAX_NAME_BYTES: usize = 64;
/// The maximum length of a version, in bytes.
pub const MAX_VERSION_BYTES: usize = 200;

/// Whether a text can be the name of a language or slot.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'|';
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.bytes().all(is_plain)
}

/// What a worker says about itself and its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    /// The version of the program.
    pub version: String,
    /// How many submissions it judges at the same time.
    pub slots: u16,
    /// The kinds of judgements that it accepts.
    pub classes: Vec<Class>,
    /// The installed languages.
    pub toolchains: Vec<Toolchain>,
    /// The CPU time of a fixed computation, in nanoseconds. It shows which machine is slow.
    pub calibration_ns: u64,
}

/// A language and the version of its compiler or interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// The name of the language, such as `cpp20`.
    pub language: String,
    /// The first line that the compiler prints as its version.
    pub version: String,
}

impl Toolchain {
    /// A language with a version, which is cut to its bound.
    pub fn new(language: &str, version: &str) -> Toolchain {
        Toolchain {
            language: language.to_owned(),
            version: cut(version, MAX_VERSION_BYTES).to_owned(),
        }
    }
}

impl Introduction {
    /// Whether all parts are within their bounds.
    pub fn is_bounded(&self) -> bool {
        let is_version = |text: &str| text.len() <= MAX_VERSION_BYTES;
        let is_toolchain = |one: &Toolchain| is_name(&one.language) && is_version(&one.version);
        is_version(&self.version)
            && self.classes.len() <= Class::ALL.len()
            && self.toolchains.len() <= MAX_LANGUAGES
            && self.toolchains.iter().all(is_toolchain)
    }
}

/// The versions of a language, each with the machines that have it.
pub type Versions<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// The languages that are installed in different versions, by name.
///
/// ```
/// use millibox_fleet::introduction::{Toolchain, differences};
///
/// let old = [Toolchain::new("c17", "gcc 12"), Toolchain::new("perl", "5.36")];
/// let new = [Toolchain::new("c17", "gcc 13"), Toolchain::new("perl", "5.36")];
/// let found = differences([("a", &old[..]), ("b", &new[..])]);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found["c17"]["gcc 13"], ["b"]);
/// ```
pub fn differences<'a>(
    machines: impl IntoIterator<Item = (&'a str, &'a [Toolchain])>,
) -> BTreeMap<&'a str, Versions<'a>> {
    let mut languages: BTreeMap<&str, Versions> = BTreeMap::new();
    for (machine, toolchains) in machines {
        for one in toolchains {
            let versions = languages.entry(&one.language).or_default();
            versions.entry(&one.version).or_default().push(machine);
        }
    }
    languages.retain(|_, versions| versions.len() > 1);
    languages
}

/// The version in which most machines have each language. Of several such versions, the last in the
/// order of texts.
///
/// ```
/// use millibox_fleet::introduction::{Toolchain, usual};
///
/// let [old, new] = ["gcc 12", "gcc 13"].map(|version| [Toolchain::new("c17", version)]);
/// assert_eq!(usual([&old[..], &new[..]])["c17"], "gcc 13");
/// assert_eq!(usual([&old[..], &new[..], &old[..]])["c17"], "gcc 12");
/// ```
pub fn usual<'a>(
    machines: impl IntoIterator<Item = &'a [Toolchain]>,
) -> BTreeMap<&'a str, &'a str> {
    let mut languages: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for one in machines.into_iter().flatten() {
        let versions = languages.entry(&one.language).or_default();
        *versions.entry(&one.version).or_default() += 1;
    }
    let usual = languages.into_iter().filter_map(|(language, versions)| {
        let most = versions
            .into_iter()
            .max_by_key(|(version, count)| (*count, *version));
        Some((language, most?.0))
    });
    usual.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn introduction_has_bounds() {
        let plain = Introduction {
            version: "0.3.0".to_owned(),
            slots: 2,
            classes: Class::ALL.to_vec(),
            toolchains: vec![Toolchain::new("c17", &"x".repeat(1000))],
            calibration_ns: 1,
        };
        assert!(plain.is_bounded());
        let wrong = [
            Introduction {
                version: "x".repeat(MAX_VERSION_BYTES + 1),
                ..plain.clone()
            },
            Introduction {
                classes: vec![Class::Contest; 5],
                ..plain.clone()
            },
            Introduction {
                toolchains: vec![Toolchain::new("c|cpp", "1")],
                ..plain.clone()
            },
            Introduction {
                toolchains: vec![Toolchain::new("c", "1"); MAX_LANGUAGES + 1],
                ..plain.clone()
            },
        ];
        for one in wrong {
            assert!(!one.is_bounded(), "{one:?}");
        }
    }

    #[test]
    fn machines_without_a_language_do_not_differ() {
        let (one, other) = ([Toolchain::new("c17", "12")], [Toolchain::new("perl", "5")]);
        assert!(differences([("a", &one[..]), ("b", &other[..])]).is_empty());
    }
}
