//! Reads submissions.yaml: patterns of submissions, and what the file claims about them.

use super::header::Header;
use super::verdicts::{CRASH, of_directory};
use crate::bound::{Bound, MAX_PATTERN_BYTES, MAX_PATTERNS};
use crate::fault::icpc::{SubmissionFault, VerdictClaim};
use crate::fault::log::{Log, Place};
use crate::fault::text::{Excerpt, Suggestion, WordList};
use crate::fault::values::KeyFault;
use crate::keys::Keys;
use crate::model::Expected;
use crate::tree::{Kind, Tree};
use crate::yaml::{self, Node, Value};
use globset::{GlobBuilder, GlobMatcher};
use std::cell::{Cell, RefCell};

/// The directory of the submissions.
pub const DIRECTORY: &str = "submissions";
/// The file of claims.
pub const FILE: &str = "submissions/submissions.yaml";

/// A pattern of submissions: a key of submissions.yaml, or the name of a directory.
#[non_exhaustive]
pub struct Glob {
    pub text: String,
    matcher: GlobMatcher,
    pub place: Place,
    /// Whether the pattern is the name of a directory. Such a pattern does not need to match a
    /// submission.
    pub default: bool,
    /// Whether the pattern has matched a submission.
    pub used: Cell<bool>,
}

impl Glob {
    /// Whether the pattern matches a submission or its directory.
    pub fn matches(&self, name: &str) -> bool {
        let parent = name.split('/').next().unwrap_or(name);
        self.matcher.is_match(name) || self.matcher.is_match(parent)
    }
}

/// Sets of verdicts of single tests, represented as bits. The names are those of submissions.yaml.
const AC: u8 = 1;
const WA: u8 = 2;
/// The verdict of a test that is too slow.
pub const TLE: u8 = 4;
const RTE: u8 = 8;
const ALL: u8 = 15;
const REJECTED: u8 = ALL & !AC;
const VERDICTS: [(&str, u8); 4] = [("AC", AC), ("WA", WA), ("TLE", TLE), ("RTE", RTE)];

/// Translates a set of the format's verdicts into verdicts of this crate.
pub fn meant(verdicts: u8) -> Vec<Expected> {
    let meaning: [(u8, &[Expected]); 4] = [
        (AC, &[Expected::Accepted]),
        (WA, &[Expected::WrongAnswer]),
        (TLE, &[Expected::TimeLimit]),
        (RTE, &CRASH),
    ];
    meaning
        .iter()
        .filter(|(verdict, _)| verdicts & verdict != 0)
        .flat_map(|(_, meant)| meant.iter().copied())
        .collect()
}

/// Returns the names of a set of verdicts in submissions.yaml.
fn named(verdicts: u8) -> WordList {
    let named = VERDICTS
        .iter()
        .filter(|(_, verdict)| verdicts & verdict != 0);
    WordList::new(named.map(|(name, _)| *name))
}

/// What submissions.yaml claims about a submission.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Whether the claim is about verdicts.
    pub verdicts: bool,
    /// The permitted verdicts of tests.
    pub permitted: u8,
    /// Sets of verdicts. For each set, some test must have a verdict from it.
    required: Vec<u8>,
    pub score: Option<(f64, f64)>,
    pub language: Option<String>,
    pub model: bool,
    /// `use_for_time_limit` and its place.
    pub time_limit: Option<(TimeLimitUse, Place)>,
}

/// The value of `use_for_time_limit`, unless it leaves the decision to the verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeLimitUse {
    Never,
    Lower,
    Upper,
}

impl Default for Claim {
    fn default() -> Claim {
        Claim {
            verdicts: false,
            permitted: ALL,
            required: Vec::new(),
            score: None,
            language: None,
            model: false,
            time_limit: None,
        }
    }
}

impl Claim {
    /// Formats the claim about verdicts, for messages.
    pub fn shown(&self, glob: &Glob) -> VerdictClaim {
        VerdictClaim {
            pattern: Excerpt::new(&glob.text),
            permitted: named(self.permitted),
            required: self.required.iter().map(|set| named(*set)).collect(),
        }
    }

    /// Returns the conjunction of two claims.
    pub fn and(self, other: &Claim) -> Claim {
        Claim {
            verdicts: self.verdicts || other.verdicts,
            permitted: self.permitted & other.permitted,
            required: {
                // There are few different sets, so each one is kept only once.
                let new = other
                    .required
                    .iter()
                    .filter(|required| !self.required.contains(required));
                self.required.iter().chain(new).copied().collect()
            },
            ..self
        }
    }

    /// `use_for_time_limit`.
    pub fn time_limit_use(&self) -> Option<TimeLimitUse> {
        self.time_limit.as_ref().map(|(used, _)| *used)
    }

    /// Returns the possible verdicts of the whole submission, which are those of its tests.
    pub fn expected(&self) -> Option<Vec<Expected>> {
        if !self.verdicts {
            return None;
        }
        Some(match self.whole() {
            ALL => Vec::new(),
            REJECTED => vec![Expected::Rejected],
            verdicts => meant(verdicts),
        })
    }

    /// Returns the verdicts of tests that can be the verdict of the whole submission.
    fn whole(&self) -> u8 {
        let rejected = self.required.iter().any(|required| required & AC == 0);
        if rejected {
            self.permitted & !AC
        } else {
            self.permitted
        }
    }

    /// Whether no submission can satisfy the claim. The set of verdicts would then be empty, but
    /// everywhere else an empty set permits any verdict.
    pub fn is_contradictory(&self) -> bool {
        self.permitted == 0
            || self
                .required
                .iter()
                .any(|required| required & self.permitted == 0)
    }

    /// Returns the required sets that do not already follow from the verdict of the whole
    /// submission.
    pub fn required_besides(&self) -> impl Iterator<Item = u8> {
        let required = self
            .required
            .iter()
            .map(|required| required & self.permitted);
        required.filter(|required| self.whole() & !required != 0)
    }
}

/// Directories for which the format has default claims. The meaning of other directories, such as
/// `partially_accepted`, cannot be expressed as verdicts of tests. A key without verdicts keeps the
/// default claim of its directory.
const DEFAULT_DIRECTORIES: [&str; 6] = [
    "accepted",
    "rejected",
    "wrong_answer",
    "time_limit_exceeded",
    "run_time_error",
    "brute_force",
];

/// Reads the claims of submissions.yaml, and the default claims of directories.
pub fn claims(tree: &Tree, header: &Header, log: &Log) -> Vec<(Glob, Claim)> {
    if !tree.is_file(FILE) {
        return Vec::new();
    }
    let Some(text) = tree.text(FILE, log) else {
        return Vec::new();
    };
    let Some(node) = yaml::parse(&text, &Place::file(FILE), log) else {
        return Vec::new();
    };
    let Some(keys) = Keys::of(&node, "submissions.yaml", log) else {
        return Vec::new();
    };
    let mut claims = Vec::new();
    let reported = Reported::default();
    for (pattern, node, place) in keys.rest() {
        // Each pattern is compiled and compared with every submission.
        if claims.len() == MAX_PATTERNS || pattern.len() > MAX_PATTERN_BYTES {
            log.exceeds(place, Bound::Patterns);
            break;
        }
        // The format has no wildcards other than * and {a,b}.
        let plain = !pattern.contains(['[', ']', '?', '\\']) && !pattern.contains("**");
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .ok()
            .filter(|_| plain);
        let Some(glob) = glob else {
            let pattern = pattern.into();
            log.error(place, SubmissionFault::Pattern { pattern });
            continue;
        };
        let Some(keys) = Keys::of(node, "the claim of a pattern", log) else {
            continue;
        };
        let directory = tree.kind(&format!("{DIRECTORY}/{pattern}")) == Some(Kind::Directory);
        let known = of_directory(pattern, header.format).filter(|_| !pattern.contains('/'));
        let default = known
            .filter(|_| DEFAULT_DIRECTORIES.contains(&pattern))
            .map(default_claim)
            .unwrap_or_default();
        let claim = claim(keys, default, header, &reported, log);
        let glob = Glob {
            text: pattern.to_owned(),
            matcher: glob.compile_matcher(),
            place: place.clone(),
            default: known.is_some() || directory,
            used: Cell::new(false),
        };
        claims.push((glob, claim));
    }
    // The default claim of a directory applies in addition to the claims of other patterns.
    for name in DEFAULT_DIRECTORIES {
        if claims.iter().all(|(glob, _)| glob.text != name)
            && let Some(known) = of_directory(name, header.format)
            && let Ok(glob) = globset::Glob::new(name)
        {
            let (text, matcher) = (name.to_owned(), glob.compile_matcher());
            let glob = Glob {
                text,
                matcher,
                place: Place::file(FILE),
                default: true,
                used: Cell::new(false),
            };
            claims.push((glob, default_claim(known)));
        }
    }
    claims
}

/// Returns the default claim of a directory, if it is one of [`DEFAULT_DIRECTORIES`].
fn default_claim(expected: &[Expected]) -> Claim {
    let bit = |verdict: &Expected| match verdict {
        Expected::Accepted => AC,
        Expected::WrongAnswer => WA,
        Expected::TimeLimit => TLE,
        Expected::RunTimeError | Expected::MemoryLimit => RTE,
        _ => ALL,
    };
    let verdicts = expected.iter().map(bit).fold(0, |all, bit| all | bit);
    let required = if expected.contains(&Expected::Accepted) {
        Vec::new()
    } else {
        vec![verdicts & !AC]
    };
    Claim {
        verdicts: true,
        permitted: verdicts | AC,
        required,
        ..Claim::default()
    }
}

/// The kinds of unsupported claims that have been reported. Each is reported once.
type Reported = RefCell<Vec<SubmissionFault>>;

fn report_once(
    keys: &Keys<'_>,
    key: &'static str,
    fault: SubmissionFault,
    reported: &Reported,
    log: &Log,
) {
    if let Some(node) = keys.get(key)
        && !reported.borrow().contains(&fault)
    {
        reported.borrow_mut().push(fault.clone());
        log.warning(&node.place, fault);
    }
}

fn claim(keys: Keys<'_>, default: Claim, header: &Header, reported: &Reported, log: &Log) -> Claim {
    let mut claim = default;
    if let Some(permitted) = verdicts(&keys, "permitted", log) {
        claim.permitted = permitted;
        claim.verdicts = true;
        // A pattern that permits more verdicts than a directory's default also permits more reasons
        // for rejection.
        claim.required.fill(REJECTED);
    }
    if let Some(required) = verdicts(&keys, "required", log) {
        claim.required = vec![required];
        claim.verdicts = true;
    }
    claim.score = score(&keys, log);
    if claim.score.is_some() && !header.scoring {
        log.warning(&keys.place, SubmissionFault::ScoreWithoutScoring);
        claim.score = None;
    }
    claim.language = keys.text("language").map(str::to_owned);
    claim.model = keys
        .one_of("model_solution", &[("true", true), ("false", false)])
        .unwrap_or(false);
    if let Some(node) = keys.get("entrypoint") {
        log.warning(&node.place, SubmissionFault::EntryPoint);
    }
    claim.time_limit = time_limit_use(&keys);
    report_once(&keys, "message", SubmissionFault::Message, reported, log);
    keys.ignore(&["authors"]);
    // Every other key names tests. A claim about some tests implies a claim about all of them: if
    // one of these tests must have a verdict, then some test must have it.
    for (name, node, place) in keys.rest() {
        if !matches!(node.value, Value::Mapping(_)) {
            let known = [
                "permitted",
                "required",
                "score",
                "language",
                "model_solution",
                "use_for_time_limit",
            ];
            let fault = KeyFault::Unknown {
                key: name.into(),
                suggestion: Suggestion::new(name, known),
            };
            log.warning(place, fault);
        } else if let Some(tests) = Keys::of(node, name, log) {
            verdicts(&tests, "permitted", log);
            let some_tests = |key| SubmissionFault::OfSomeTests { key };
            report_once(&tests, "permitted", some_tests("permitted"), reported, log);
            report_once(
                &tests,
                "required",
                SubmissionFault::RequiredOfSomeTests,
                reported,
                log,
            );
            if let Some(required) = verdicts(&tests, "required", log) {
                if !claim.required.contains(&required) {
                    claim.required.push(required);
                }
                claim.verdicts = true;
            }
            score(&tests, log);
            report_once(&tests, "score", some_tests("score"), reported, log);
            // `false` for some tests can be ignored, because only whole submissions are measured.
            if let Some((TimeLimitUse::Lower | TimeLimitUse::Upper, place)) = time_limit_use(&tests)
            {
                log.warning(&place, some_tests("use_for_time_limit"));
            }
            report_once(&tests, "message", SubmissionFault::Message, reported, log);
            tests.finish();
        }
    }
    claim
}

fn verdicts(keys: &Keys<'_>, key: &'static str, log: &Log) -> Option<u8> {
    let node = keys.get(key)?;
    let mut verdicts = 0;
    for word in keys.texts(key)? {
        match VERDICTS.iter().find(|(name, _)| *name == word) {
            Some((_, verdict)) => verdicts |= verdict,
            None => {
                let word = word.into();
                log.error(&node.place, SubmissionFault::UnknownVerdict { key, word });
                return None;
            }
        }
    }
    if verdicts == 0 {
        log.error(&node.place, SubmissionFault::NoVerdict { key });
        return None;
    }
    Some(verdicts)
}

fn time_limit_use(keys: &Keys<'_>) -> Option<(TimeLimitUse, Place)> {
    let words = [
        ("false", Some(TimeLimitUse::Never)),
        ("true", None),
        ("lower", Some(TimeLimitUse::Lower)),
        ("upper", Some(TimeLimitUse::Upper)),
    ];
    let used = keys.one_of("use_for_time_limit", &words)??;
    Some((used, keys.get("use_for_time_limit")?.place.clone()))
}

/// Reads a score: one number, or the minimum and maximum.
fn score(keys: &Keys<'_>, log: &Log) -> Option<(f64, f64)> {
    let node = keys.get("score")?;
    let value = |node: &Node| node.text().and_then(yaml::number);
    let score = match &node.value {
        Value::Sequence(nodes) => match &nodes[..] {
            [least, most] => value(least)
                .zip(value(most))
                .filter(|(least, most)| least <= most),
            _ => None,
        },
        _ => value(node).map(|score| (score, score)),
    };
    if score.is_none() {
        let found = node.found();
        log.error(&node.place, SubmissionFault::Score { found });
    }
    score
}
