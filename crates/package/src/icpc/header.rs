//! Reads problem.yaml.

use super::grading::{self, Grading};
use crate::constants::Constants;
use crate::fault::icpc::HeaderFault;
use crate::fault::log::{Log, Place};
use crate::fault::text::{Excerpt, Number, Suggestion, WordList};
use crate::keys::Keys;
use crate::model::{Format, Limits, Objective};
use crate::tree::Tree;
use crate::yaml::{self, Node, Value};
use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The settings of problem.yaml.
pub struct Header {
    pub format: Format,
    /// The version as problem.yaml states it.
    pub version: Option<String>,
    /// Whether the file has no faults. If it has faults, a missing setting may be one that was
    /// misread.
    pub sound: bool,
    pub name: Option<String>,
    pub scoring: bool,
    pub objective: Objective,
    /// Settings that replace those of all groups (legacy).
    pub grading: Grading,
    pub interactive: bool,
    /// Number of passes of a multi-pass problem.
    pub passes: Option<u32>,
    /// Whether the package has an output validator of its own. `None` means that it has one if its
    /// directory exists.
    pub custom: Option<bool>,
    pub flags: Vec<String>,
    /// The place of the flags.
    pub flags_place: Option<Place>,
    /// Whether outputs are compared token by token. This is set after validators have been looked
    /// up.
    pub default_checker: bool,
    pub limits: Limits,
    pub constants: Constants,
}

impl Header {
    fn new(format: Format) -> Header {
        let (from_accepted, to_exceeded) = if format == Format::Legacy {
            (5.0, 2.0)
        } else {
            (2.0, 1.5)
        };
        Header {
            format,
            version: None,
            sound: false,
            name: None,
            scoring: false,
            objective: Objective::Max,
            grading: Grading::default(),
            interactive: false,
            passes: None,
            custom: (format == Format::Legacy).then_some(false),
            flags: Vec::new(),
            flags_place: None,
            default_checker: false,
            limits: Limits {
                from_accepted: Some(from_accepted),
                to_exceeded: Some(to_exceeded),
                resolution: Some(Duration::from_secs(1)),
                ..Limits::default()
            },
            constants: Constants::default(),
        }
    }
}

pub const FILE: &str = "problem.yaml";

pub fn read(tree: &Tree, log: &Log) -> Header {
    let errors = log.errors();
    let legacy = Header::new(Format::Legacy);
    if !tree.is_file(FILE) {
        // domjudge-problem.ini replaces problem.yaml. If an output validator exists, it is used.
        return Header {
            custom: None,
            sound: true,
            ..legacy
        };
    }
    let Some(text) = tree.text(FILE, log) else {
        return legacy;
    };
    let Some(node) = yaml::parse(&text, &Place::file(FILE), log) else {
        return legacy;
    };
    let Some(keys) = Keys::of(&node, "problem.yaml", log) else {
        return legacy;
    };

    let mut header = Header::new(version(&keys, log));
    let legacy = header.format == Format::Legacy;
    header.version = keys
        .get("problem_format_version")
        .and_then(Node::text)
        .map(str::to_owned);
    header.name = name(&keys, log);
    types(&keys, &mut header, log);
    keys.ignore(&["uuid", "source", "license", "rights_owner", "keywords"]);
    if legacy {
        validation(&keys, &mut header, log);
        header.flags = keys.words("validator_flags").unwrap_or_default();
        header.flags_place = keys.get("validator_flags").map(|node| node.place.clone());
        read_grading(&keys, &mut header, log);
        keys.ignore(&["author", "source_url", "languages"]);
    } else {
        if header.name.is_none() && keys.get("name").is_none() {
            log.error(&keys.place, HeaderFault::NoName);
        }
        if keys.get("uuid").is_none() {
            log.warning(&keys.place, HeaderFault::NoUuid);
        }
        for key in ["validation", "validator_flags"] {
            if let Some(node) = keys.get(key) {
                log.warning(&node.place, HeaderFault::LegacyKey { key });
            }
        }
        header.constants = constants(&keys, log);
        keys.ignore(&[
            "version",
            "credits",
            "embargo_until",
            "languages",
            "allow_file_writing",
        ]);
    }
    if let Some(limits) = keys.map("limits") {
        read_limits(limits, &mut header, log);
    }
    keys.finish();
    header.sound = log.errors() == errors;
    header
}

fn version(keys: &Keys<'_>, log: &Log) -> Format {
    const VERSIONS: [(&str, Format); 7] = [
        ("legacy", Format::Legacy),
        ("legacy-icpc", Format::Legacy),
        ("2023-07-draft", Format::Icpc2023),
        ("2023-07", Format::Icpc2023),
        ("2025-09-draft", Format::Icpc2023),
        ("2025-09", Format::Icpc2023),
        ("draft", Format::Icpc2023),
    ];
    let Some(node) = keys.get("problem_format_version") else {
        return Format::Legacy;
    };
    let known = node
        .text()
        .and_then(|text| VERSIONS.iter().find(|(version, _)| *version == text));
    match known {
        Some((_, format)) => *format,
        None => {
            let found = node.found();
            log.error(&node.place, HeaderFault::Version { found });
            Format::Icpc2023
        }
    }
}

/// Reads the title: a string, or the best entry of a map of languages and strings.
fn name(keys: &Keys<'_>, log: &Log) -> Option<String> {
    let node = keys.get("name")?;
    match &node.value {
        Value::Text(text) => return Some(text.clone()),
        Value::Mapping(names) => {
            let titles: Vec<(&Node, &str)> = names
                .iter()
                .filter_map(|(language, name)| Some((language, name.text()?)))
                .collect();
            let english = titles
                .iter()
                .find(|(language, _)| language.text() == Some("en"));
            if let Some((_, title)) = english
                .or_else(|| titles.first())
                .filter(|_| titles.len() == names.len())
            {
                return Some((*title).to_owned());
            }
        }
        _ => {}
    }
    log.error(&node.place, HeaderFault::Name);
    None
}

fn types(keys: &Keys<'_>, header: &mut Header, log: &Log) {
    const TYPES: [&str; 5] = [
        "pass-fail",
        "scoring",
        "interactive",
        "multi-pass",
        "submit-answer",
    ];
    let Some(node) = keys.get("type") else { return };
    let mut found: Vec<String> = Vec::new();
    for word in keys.words("type").unwrap_or_default() {
        if !TYPES.contains(&&*word) {
            let fault = HeaderFault::UnknownType {
                word: Excerpt::new(&word),
                known: WordList::new(TYPES),
                suggestion: Suggestion::new(&word, TYPES),
            };
            log.error(&node.place, fault);
        } else if found.contains(&word) {
            let word = Excerpt::new(&word);
            log.error(&node.place, HeaderFault::RepeatedType { word });
        }
        found.push(word);
    }
    let has = |word: &str| found.iter().any(|found| found == word);
    if found.is_empty() && matches!(node.value, Value::Text(_) | Value::Sequence(_)) {
        log.error(&node.place, HeaderFault::NoType);
    }
    if has("pass-fail") && has("scoring") {
        log.error(&node.place, HeaderFault::ExclusiveTypes);
    }
    if has("submit-answer") {
        log.error(&node.place, HeaderFault::SubmitAnswer);
    }
    header.scoring = has("scoring");
    header.interactive = has("interactive");
    if has("multi-pass") {
        header.passes = Some(2);
    }
    if header.format == Format::Legacy && (header.interactive || header.passes.is_some()) {
        // DOMjudge accepts these words in either key.
        header.custom = Some(true);
    }
}

/// Reads `validation`: `default`, or `custom` followed by `interactive`, `score` and DOMjudge's
/// `multi-pass` in any order.
fn validation(keys: &Keys<'_>, header: &mut Header, log: &Log) {
    let Some(node) = keys.get("validation") else {
        return;
    };
    let words = keys.words("validation").unwrap_or_default();
    let mut words = words.iter().map(String::as_str);
    match words.next() {
        Some("default") => {}
        Some("custom") => header.custom = Some(true),
        Some(word) => {
            let fault = HeaderFault::Validation {
                word: word.into(),
                suggestion: Suggestion::new(word, ["default", "custom"]),
            };
            log.error(&node.place, fault);
            return;
        }
        None => return log.error(&node.place, HeaderFault::NoValidation),
    }
    for word in words {
        match word {
            _ if header.custom != Some(true) => {
                let word = word.into();
                return log.error(&node.place, HeaderFault::DefaultWord { word });
            }
            "interactive" => header.interactive = true,
            "multi-pass" => header.passes = Some(2),
            "score" if header.scoring => {}
            "score" => log.error(&node.place, HeaderFault::ScoreWithoutScoring),
            word => {
                let known = ["interactive", "score", "multi-pass"];
                let fault = HeaderFault::CustomWord {
                    word: word.into(),
                    suggestion: Suggestion::new(word, known),
                };
                log.error(&node.place, fault);
            }
        }
    }
}

fn read_grading(keys: &Keys<'_>, header: &mut Header, log: &Log) {
    let Some(grading) = keys.map("grading") else {
        return;
    };
    if !header.scoring && grading.is_more_than(&["on_reject"]) {
        log.warning(&grading.place, HeaderFault::GradingWithoutScoring);
    }
    let objectives = [("max", Objective::Max), ("min", Objective::Min)];
    header.objective = grading.one_of("objective", &objectives).unwrap_or_default();
    grading.ignore(&["show_test_data_groups"]);
    header.grading = grading::read(&grading, log);
    grading.finish();
}

/// Reads `constants`. Each constant is a value, or a map of variants in which `value` is the
/// constant's own value.
fn constants(keys: &Keys<'_>, log: &Log) -> Constants {
    let mut constants = Constants::default();
    let Some(map) = keys.map("constants") else {
        return constants;
    };
    for (name, node, place) in map.rest() {
        let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        if !name.bytes().next().is_some_and(letter)
            || !name
                .bytes()
                .all(|byte| letter(byte) || byte.is_ascii_digit())
        {
            let name = name.into();
            log.error(place, HeaderFault::ConstantName { name });
        }
        let own = match &node.value {
            Value::Mapping(variants) => {
                for (variant, value) in variants {
                    match (variant.text(), value.text()) {
                        (Some(variant), Some(value)) => {
                            constants.set(format!("{name}.{variant}"), value)
                        }
                        _ => log.error(&variant.place, HeaderFault::ConstantVariant),
                    }
                }
                variants
                    .iter()
                    .find(|(variant, _)| variant.text() == Some("value"))
                    .and_then(|(_, value)| value.text())
            }
            _ => node.text(),
        };
        match own {
            Some(own) => {
                constants.set(name.to_owned(), own);
                constants.set(format!("{name}.value"), own);
            }
            None => {
                let name = name.into();
                log.error(&node.place, HeaderFault::ConstantValue { name });
            }
        }
    }
    constants
}

fn read_limits(keys: Keys<'_>, header: &mut Header, log: &Log) {
    let limits = &mut header.limits;
    // Legacy packages also have this key, because DOMjudge reads it.
    limits.cpu_time = keys.seconds("time_limit");
    if header.format == Format::Legacy {
        limits.from_accepted = keys.factor("time_multiplier", 1.0).or(limits.from_accepted);
        limits.to_exceeded = keys
            .factor("time_safety_margin", 1.0)
            .or(limits.to_exceeded);
    } else {
        if let Some(multipliers) = keys.map("time_multipliers") {
            limits.from_accepted = multipliers
                .factor("ac_to_time_limit", 1.0)
                .or(limits.from_accepted);
            limits.to_exceeded = multipliers
                .factor("time_limit_to_tle", 1.0)
                .or(limits.to_exceeded);
            multipliers.finish();
        }
        limits.resolution = keys.seconds("time_resolution").or(limits.resolution);
        if let (Some(limit), Some(resolution)) = (limits.cpu_time, limits.resolution) {
            let (limit, resolution) = (limit.as_secs_f64(), resolution.as_secs_f64());
            let is_multiple = |of: f64| (limit / of - (limit / of).round()).abs() <= 1e-6;
            if !is_multiple(resolution) {
                let place = keys
                    .get("time_limit")
                    .map_or(&keys.place, |node| &node.place);
                let finer = [0.5, 0.1, 0.01, 0.001]
                    .into_iter()
                    .find(|finer| *finer < resolution && is_multiple(*finer));
                let (resolution, finer) = (Number(resolution), finer.map(Number));
                log.error(place, HeaderFault::Resolution { resolution, finer });
            }
        }
    }
    limits.memory = keys.whole("memory", 1, MIB);
    limits.output = keys.whole("output", 1, MIB);
    limits.code = keys.whole("code", 1, KIB);
    limits.compilation_time = keys.seconds("compilation_time");
    limits.compilation_memory = keys.whole("compilation_memory", 1, MIB);
    limits.validation_time = keys.seconds("validation_time");
    limits.validation_memory = keys.whole("validation_memory", 1, MIB);
    limits.validation_output = keys.whole("validation_output", 1, MIB);
    if let Some(passes) = keys.whole("validation_passes", 2, 1) {
        let place = keys
            .get("validation_passes")
            .map_or(&keys.place, |node| &node.place);
        match (header.passes, u32::try_from(passes)) {
            (None, _) => log.warning(place, HeaderFault::PassesWithoutMultiPass),
            (Some(_), Ok(passes)) => header.passes = Some(passes),
            (Some(_), Err(_)) => {
                log.error(place, HeaderFault::TooManyPasses { number: passes });
            }
        }
    }
    keys.finish();
}
