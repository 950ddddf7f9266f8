//! Reads the settings of groups and tests: testdata.yaml of the legacy format, test_group.yaml of
//! its successor, and the YAML file of a single test.

use super::grading::{Grading, range};
use super::header::Header;
use crate::bound::{Bound, MAX_TEXT_BYTES, words_cost};
use crate::constants::Constants;
use crate::fault::icpc::GroupFault;
use crate::fault::log::{Log, Place};
use crate::fault::text::Suggestion;
use crate::keys::Keys;
use crate::model::{InputFlags, Rules, ScoreMode, VerdictMode};
use crate::programs::programs;
use crate::tokens;
use crate::tree::Tree;
use crate::yaml::{self, Node, Value};
use std::collections::BTreeMap;

/// The file with the settings of a group in the legacy format.
pub const LEGACY_FILE: &str = "testdata.yaml";
/// The file with the settings of a group in the successor of the legacy format.
pub const SUCCESSOR_FILE: &str = "test_group.yaml";

/// The directory of the package's own grader.
pub const GRADERS: &str = "graders";

/// Settings that tests and groups inherit from the group above. `None` means that the file does not
/// state the setting.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    stop: Option<bool>,
    custom_grader: Option<bool>,
    grader_flags: Option<Vec<String>>,
    /// The meaning of `grader_flags` for the default grader.
    grader: Option<Grader>,
    accept_score: Option<f64>,
    reject_score: Option<f64>,
    range: Option<(f64, f64)>,
    pub input_flags: Option<InputFlags>,
    pub checker_flags: Option<Vec<String>>,
    pub arguments: Option<Vec<String>>,
}

/// The settings that the flags of the default grader represent.
#[derive(Debug, Clone, Copy, Default)]
struct Grader {
    verdict: VerdictMode,
    score: ScoreMode,
    ignore_sample: bool,
}

/// How a group of the successor format receives its points. The groups in it do not inherit this.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Aggregation {
    pub place: Place,
    pub max_score: Option<MaxScore>,
    pub mode: Option<ScoreMode>,
    pub require_pass: Vec<String>,
    /// The place of `require_pass`.
    pub require_place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum MaxScore {
    Unbounded,
    Points(f64),
}

impl Settings {
    /// Takes missing settings from the group above.
    fn or(self, above: &Settings) -> Settings {
        Settings {
            stop: self.stop.or(above.stop),
            custom_grader: self.custom_grader.or(above.custom_grader),
            grader_flags: self.grader_flags.or_else(|| above.grader_flags.clone()),
            grader: self.grader.or(above.grader),
            accept_score: self.accept_score.or(above.accept_score),
            reject_score: self.reject_score.or(above.reject_score),
            range: self.range.or(above.range),
            input_flags: self.input_flags.or_else(|| above.input_flags.clone()),
            checker_flags: self.checker_flags.or_else(|| above.checker_flags.clone()),
            arguments: self.arguments.or_else(|| above.arguments.clone()),
        }
    }

    /// Replaces settings by those that problem.yaml states.
    #[must_use]
    pub fn replaced_by(self, grading: &Grading) -> Settings {
        Settings {
            stop: grading.stop.or(self.stop),
            accept_score: grading.accept_score.or(self.accept_score),
            reject_score: grading.reject_score.or(self.reject_score),
            range: grading.range.or(self.range),
            ..self
        }
    }

    /// Returns the number of bytes that a copy occupies.
    pub fn cost(&self) -> usize {
        let input_flags = match &self.input_flags {
            None => 0,
            Some(InputFlags::All(flags)) => words_cost(flags),
            Some(InputFlags::Named(flags)) => flags
                .iter()
                .map(|(name, flags)| name.len() + words_cost(flags))
                .sum(),
        };
        let lists = [&self.grader_flags, &self.checker_flags, &self.arguments];
        input_flags
            + lists
                .into_iter()
                .flatten()
                .map(|words| words_cost(words))
                .sum::<usize>()
    }

    /// Returns the rules of a group of the legacy format.
    pub fn rules(&self, scoring: bool, root: bool) -> Rules {
        let grader = self.grader.unwrap_or_default();
        Rules {
            stop_at_first_failure: self.stop.unwrap_or(true),
            verdict: grader.verdict,
            score: grader.score,
            accept_score: scoring.then(|| self.accept_score.unwrap_or(1.0)),
            reject_score: scoring.then(|| self.reject_score.unwrap_or(0.0)),
            range: self.range.filter(|_| scoring),
            ignore_sample: grader.ignore_sample && root,
            grader: self
                .custom_grader
                .unwrap_or(false)
                .then(|| self.grader_flags.clone().unwrap_or_default()),
            ..Rules::default()
        }
    }
}

/// Reads testdata.yaml. Missing settings are taken from the group above.
pub fn legacy(tree: &Tree, file: &str, above: &Settings, header: &Header, log: &Log) -> Settings {
    let scoring = header.scoring;
    let Some(node) = document(tree, file, &Constants::default(), log) else {
        return above.clone();
    };
    let Some(keys) = Keys::of(&node, "a group's settings", log) else {
        return above.clone();
    };
    let custom_grader = keys.one_of("grading", &[("default", false), ("custom", true)]);
    if custom_grader == Some(true) {
        let place = keys.get("grading").map_or(&keys.place, |node| &node.place);
        if programs(tree, GRADERS).is_empty() {
            log.error(place, GroupFault::NoGrader);
        }
        if !scoring {
            log.error(place, GroupFault::GraderWithoutScoring);
        }
    }
    let custom = custom_grader.or(above.custom_grader).unwrap_or(false);
    let grader_flags = keys.words("grader_flags");
    let settings = Settings {
        stop: keys.one_of("on_reject", &[("break", true), ("continue", false)]),
        custom_grader,
        grader: if custom {
            None
        } else {
            grader(
                &keys,
                file,
                grader_flags.as_ref().or(above.grader_flags.as_ref()),
                log,
            )
        },
        grader_flags,
        accept_score: keys.number("accept_score"),
        reject_score: keys.number("reject_score"),
        range: range(&keys, log),
        input_flags: named_flags(&keys, "input_validator_flags", log),
        checker_flags: checker_flags(&keys, header, log),
        arguments: None,
    };
    if let Some(node) = keys.get("grader_flags")
        && settings.grader.is_some_and(|grader| grader.ignore_sample)
        && settings.stop.or(above.stop).unwrap_or(true)
    {
        log.warning(&node.place, GroupFault::IgnoreSampleWithBreak);
    }
    for key in ["accept_score", "reject_score", "range"] {
        scoring_only(&keys, key, scoring, log);
    }
    // Packages for drafts between the two formats have these keys here.
    let settings = arguments(&keys, settings, header, log);
    keys.finish();
    settings.or(above)
}

/// Reads test_group.yaml. Missing settings are taken from the group above.
pub fn successor(
    tree: &Tree,
    file: &str,
    above: &Settings,
    header: &Header,
    log: &Log,
) -> (Settings, Aggregation) {
    let scoring = header.scoring;
    let mut aggregation = Aggregation {
        place: Place::file(file),
        max_score: None,
        mode: None,
        require_pass: Vec::new(),
        require_place: Place::file(file),
    };
    let Some(node) = document(tree, file, &header.constants, log) else {
        return (above.clone(), aggregation);
    };
    let Some(keys) = Keys::of(&node, "a group's settings", log) else {
        return (above.clone(), aggregation);
    };
    aggregation.place = keys.place.clone();
    let points = ["max_score", "score_aggregation", "require_pass"];
    if file == "data/test_group.yaml" {
        for key in points {
            if let Some(node) = keys.get(key) {
                log.warning(&node.place, GroupFault::NotInherited { key });
            }
        }
    }
    if file == "data/sample/test_group.yaml" {
        for node in points.iter().filter_map(|key| keys.get(key)) {
            log.error(&node.place, GroupFault::SamplePoints);
        }
    }
    if let Some(node) = keys.get("max_score") {
        aggregation.max_score = match node.text() {
            Some("unbounded") => Some(MaxScore::Unbounded),
            _ => {
                let points = node
                    .text()
                    .and_then(yaml::number)
                    .filter(|points| *points >= 0.0 && points.fract() == 0.0);
                if points.is_none() {
                    let found = node.found();
                    log.error(&node.place, GroupFault::MaxScore { found });
                }
                points.map(MaxScore::Points)
            }
        };
    }
    let modes = [
        ("pass-fail", ScoreMode::PassFail),
        ("sum", ScoreMode::Sum),
        ("min", ScoreMode::Minimum),
    ];
    aggregation.mode = keys.one_of("score_aggregation", &modes);
    if let Some(node) = keys.get("require_pass") {
        aggregation.require_place = node.place.clone();
    }
    aggregation.require_pass = keys.texts("require_pass").unwrap_or_default();
    for key in points {
        scoring_only(&keys, key, scoring, log);
    }
    for key in ["static_validation_score", "static_validator_args"] {
        if let Some(node) = keys.get(key) {
            let key = Some(key);
            log.error(&node.place, GroupFault::StaticValidators { key });
        }
    }
    keys.ignore(&[
        "full_feedback",
        "input_visualizer_args",
        "output_visualizer_args",
    ]);
    let settings = arguments(&keys, Settings::default(), header, log).or(above);
    keys.finish();
    (settings, aggregation)
}

/// Reads the YAML file of one test: its settings and its description.
pub fn test(
    tree: &Tree,
    file: &str,
    above: &Settings,
    header: &Header,
    log: &Log,
) -> (Settings, Option<String>) {
    let Some(node) = document(tree, file, &Constants::default(), log) else {
        return (above.clone(), None);
    };
    let Some(keys) = Keys::of(&node, "a test's settings", log) else {
        return (above.clone(), None);
    };
    let description = keys.text("description").map(str::to_owned);
    let mut settings = arguments(&keys, Settings::default(), header, log);
    settings.input_flags = settings
        .input_flags
        .or_else(|| named_flags(&keys, "input_validator_flags", log));
    settings.checker_flags = settings
        .checker_flags
        .or_else(|| checker_flags(&keys, header, log));
    keys.ignore(&[
        "hint",
        "full_feedback",
        "input_visualizer_args",
        "output_visualizer_args",
    ]);
    keys.finish();
    (settings.or(above), description)
}

fn document(tree: &Tree, file: &str, constants: &Constants, log: &Log) -> Option<Node> {
    if !tree.is_file(file) {
        return None;
    }
    let text = tree.text(file, log)?;
    let filled = match constants.fill(text.as_bytes(), MAX_TEXT_BYTES as usize) {
        Ok(filled) => filled.and_then(|filled| String::from_utf8(filled).ok()),
        Err(_) => {
            log.exceeds(file, Bound::Text);
            return None;
        }
    };
    if let Some(filled) = &filled
        && !log.takes(file, filled.len())
    {
        return None;
    }
    yaml::parse(filled.as_deref().unwrap_or(&text), &Place::file(file), log)
}

fn scoring_only(keys: &Keys<'_>, key: &'static str, scoring: bool, log: &Log) {
    if !scoring && let Some(node) = keys.get(key) {
        log.warning(&node.place, GroupFault::ScoringOnly { key });
    }
}

/// Returns the settings in the flags of the default grader, if a group names the grader or its
/// flags. If flags contradict each other, the last one applies.
fn grader(keys: &Keys<'_>, file: &str, flags: Option<&Vec<String>>, log: &Log) -> Option<Grader> {
    const FLAGS: [&str; 9] = [
        "worst_error",
        "first_error",
        "always_accept",
        "sum",
        "avg",
        "min",
        "max",
        "ignore_sample",
        "accept_if_any_accepted",
    ];
    let own = keys.get("grader_flags");
    // Inherited flags may be intended for an inherited custom grader.
    let place = &own.or_else(|| keys.get("grading"))?.place;
    let mut grader = Grader::default();
    let mut any = false;
    for word in flags? {
        match &**word {
            "worst_error" => grader.verdict = VerdictMode::Worst,
            "no_errors" => {
                grader.verdict = VerdictMode::Worst;
                if own.is_some() {
                    log.warning(place, GroupFault::OldGraderFlag);
                }
            }
            "first_error" => grader.verdict = VerdictMode::First,
            "always_accept" => grader.verdict = VerdictMode::AlwaysAccept,
            "sum" => grader.score = ScoreMode::Sum,
            "avg" => grader.score = ScoreMode::Average,
            "min" => grader.score = ScoreMode::Minimum,
            "max" => grader.score = ScoreMode::Maximum,
            "accept_if_any_accepted" => any = true,
            "ignore_sample" if file.matches('/').count() == 1 => grader.ignore_sample = true,
            "ignore_sample" if own.is_none() => {}
            "ignore_sample" => log.error(place, GroupFault::MisplacedIgnoreSample),
            word => {
                let fault = GroupFault::GraderFlag {
                    flag: word.into(),
                    suggestion: Suggestion::new(word, FLAGS),
                };
                log.error(place, fault);
            }
        }
    }
    if any {
        grader.verdict = VerdictMode::AnyAccepted;
    }
    Some(grader)
}

/// Reads flags of validators: one text for all of them, or a map with the `name` and `flags` of
/// one.
fn named_flags(keys: &Keys<'_>, key: &'static str, log: &Log) -> Option<InputFlags> {
    let node = keys.get(key)?;
    if !matches!(node.value, Value::Mapping(_)) {
        return keys.words(key).map(InputFlags::All);
    }
    let map = Keys::of(node, key, log)?;
    let (name, flags) = (map.text("name"), map.words("flags").unwrap_or_default());
    map.finish();
    match name {
        Some(name) => Some(InputFlags::Named(BTreeMap::from([(
            name.to_owned(),
            flags,
        )]))),
        None => {
            log.error(&node.place, GroupFault::FlagsWithoutName { key });
            None
        }
    }
}

/// Reads flags of the output validator. There is only one output validator, so its name is not
/// used.
fn checker_flags(keys: &Keys<'_>, header: &Header, log: &Log) -> Option<Vec<String>> {
    const KEY: &str = "output_validator_flags";
    let flags = match named_flags(keys, KEY, log)? {
        InputFlags::All(flags) => flags,
        InputFlags::Named(flags) => flags.into_values().next()?,
    };
    check_flags(&flags, &keys.get(KEY)?.place, header, log);
    Some(flags)
}

/// Reports wrong flags of the default output validator once, at the place where they are stated.
pub fn check_flags(flags: &[String], place: &Place, header: &Header, log: &Log) {
    if header.default_checker
        && let Err(fault) = tokens::Options::parse(flags)
    {
        log.error(place, fault);
    }
}

/// Reads the keys for arguments and flags, which groups and tests share.
fn arguments(keys: &Keys<'_>, mut settings: Settings, header: &Header, log: &Log) -> Settings {
    settings.arguments = keys.texts("args");
    settings.checker_flags = settings.checker_flags.or_else(|| {
        let flags = keys.words("output_validator_args")?;
        check_flags(
            &flags,
            &keys.get("output_validator_args")?.place,
            header,
            log,
        );
        Some(flags)
    });
    if let Some(node) = keys.get("input_validator_args") {
        settings.input_flags = match &node.value {
            Value::Mapping(_) => Keys::of(node, "input_validator_args", log).map(|map| {
                let flags = map.rest().filter_map(|(name, node, _)| {
                    Some((name.to_owned(), map.texts_of("input_validator_args", node)?))
                });
                InputFlags::Named(flags.collect())
            }),
            _ => keys.words("input_validator_args").map(InputFlags::All),
        };
    }
    settings
}
