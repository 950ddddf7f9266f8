//! Submissions, and what is expected of them: by the directory they are in, by what DOMjudge reads
//! in their sources, by submissions.yaml.

use super::header::Header;
use crate::bound::{LONGEST_PATTERN, MOST_PATTERNS, MOST_SUBMISSIONS};
use crate::fault::{Log, Place, did_you_mean};
use crate::keys::{Keys, number, shown};
use crate::model::{Expected, Format, Submission};
use crate::programs::{extension, is_script, is_source, program};
use crate::tree::{Kind, Tree};
use crate::yaml::{self, Node, Value};
use globset::{GlobBuilder, GlobMatcher};
use std::cell::{Cell, RefCell};

const DIRECTORY: &str = "submissions";
const FILE: &str = "submissions/submissions.yaml";
/// Bytes of a source that are searched for tags.
const SEARCHED: u64 = 1 << 20;

/// What may lie beside submissions without being one.
const BESIDE: [&str; 4] = ["README", "LICENSE", "COPYING", "Makefile"];

/// These formats know no verdict for too much memory: it counts as a crash.
const CRASH: [Expected; 2] = [Expected::RunTimeError, Expected::MemoryLimit];

/// What a directory's name says of the submissions in it; `None`: nothing is known of the name.
fn of_directory(name: &str, format: Format) -> Option<&'static [Expected]> {
    use Expected::*;
    Some(match name {
        "accepted" => &[Accepted],
        "partially_accepted" => &[PartiallyAccepted],
        "wrong_answer" | "no_output" => &[WrongAnswer],
        "time_limit_exceeded" => &[TimeLimit],
        "run_time_error" => &CRASH,
        "memory_limit" | "memory_limit_exceeded" => &[MemoryLimit],
        "output_limit" | "output_limit_exceeded" => &[OutputLimit],
        "compiler_error" | "compile_error" => &[CompileError],
        "rejected" if format != Format::Legacy => &[Rejected],
        "brute_force" if format != Format::Legacy => &[TimeLimit, RunTimeError, MemoryLimit],
        _ => return None,
    })
}

pub fn read(tree: &Tree, header: &Header, log: &Log) -> Vec<Submission> {
    let claims = if header.format == Format::Legacy {
        Vec::new()
    } else {
        claims(tree, header, log)
    };
    let mut found: Vec<(bool, Submission)> = Vec::new();
    for (directory, path, kind) in tree.children(DIRECTORY) {
        if kind == Kind::File {
            if path != FILE && is_source(directory) {
                log.warning(
                    path,
                    "not read: a submission belongs in a directory such as submissions/accepted",
                );
            }
            continue;
        }
        let known = of_directory(directory, header.format);
        let mut silent = known.is_none();
        for (name, path, kind) in tree.children(path) {
            match kind {
                Kind::File if !is_source(name) && !is_script(tree, path) => {
                    if extension(name).is_none() && !BESIDE.contains(&name) {
                        log.warning(
                            path,
                            "not read: neither an extension nor a first line #! tells the language",
                        );
                    }
                    continue;
                }
                _ if found.len() == MOST_SUBMISSIONS => {
                    log.exceeds(DIRECTORY, crate::Bound::Submissions);
                    break;
                }
                Kind::Directory if tree.files(path).next().is_none() => {
                    log.warning(path, "a submission without files");
                    continue;
                }
                _ => {}
            }
            let tags = tags(tree, path, header, log);
            let mut submission = Submission {
                name: format!("{directory}/{name}"),
                program: program(tree, path),
                expected: agreed(known, tags.expected.as_deref(), path, log),
                required: Vec::new(),
                score: tags.score.map(|score| (score, score)),
                for_time_limit: true,
            };
            silent &= tags.expected.is_none() && tags.score.is_none();
            let mut model = false;
            let mut claim = Claim::default();
            let those: Vec<&(Glob, Claim)> = claims
                .iter()
                .filter(|(glob, _)| glob.matches(&submission.name))
                .collect();
            for (glob, other) in &those {
                silent = false;
                glob.used.set(true);
                model |= other.model;
                submission.score = other.score.or(submission.score);
                submission.program.language =
                    other.language.clone().or(submission.program.language);
                claim = claim.and(other);
            }
            if claim.verdicts && claim.is_contradictory() {
                log.error(place_of(&those), contradiction(&submission.name, &those));
            } else if let Some(expected) = claim.expected() {
                submission.expected = expected;
                submission.required = claim.required_besides().map(meant).collect();
                if !submission.required.is_empty() && !header.scoring {
                    let message = "required: where judging ends with a failure before all tests \
                                   were run, it is not known whether others have such a verdict, \
                                   and not checked";
                    log.warning(place_of(&those), message);
                }
            }
            submission.for_time_limit = is_used(&those, &submission, log);
            found.push((model, submission));
        }
        if silent && tree.files(path).next().is_some() {
            let names = [
                "accepted",
                "wrong_answer",
                "time_limit_exceeded",
                "run_time_error",
            ];
            let meant = did_you_mean(directory, names);
            log.warning(
                path,
                format!("nothing says what is expected of the submissions here{meant}"),
            );
        }
        if directory == "partially_accepted" && !header.scoring {
            log.warning(path, "only a scoring problem can be partially accepted");
        }
    }
    for (glob, _) in &claims {
        if !glob.used.get() && !glob.default {
            log.warning(
                &glob.place,
                format!("no submission matches {:?}", glob.text),
            );
        }
    }
    if !found
        .iter()
        .any(|(_, submission)| submission.expected == [Expected::Accepted])
    {
        log.warning(
            DIRECTORY,
            "there is no submission that must be accepted; the format asks for one",
        );
    }
    let rank = |submission: &Submission| submission.expected != [Expected::Accepted];
    found.sort_by(|(model, a), (other, b)| {
        (!model, rank(a), &a.name).cmp(&(!other, rank(b), &b.name))
    });
    found
        .into_iter()
        .map(|(_, submission)| submission)
        .collect()
}

/// What DOMjudge reads in a source.
#[derive(Default)]
struct Tags {
    expected: Option<Vec<Expected>>,
    score: Option<f64>,
}

/// Looks for `@EXPECTED_RESULTS@: ` and `@EXPECTED_SCORE@: `, of which each may stand once.
fn tags(tree: &Tree, path: &str, header: &Header, log: &Log) -> Tags {
    let files = if tree.is_file(path) {
        vec![path]
    } else {
        tree.files(path).collect()
    };
    let mut tags = Tags::default();
    let mut first: Option<&str> = None;
    for file in files {
        // What cannot be read is told where the file is listed.
        let Some(bytes) = tree.searched(file, SEARCHED, log) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).to_ascii_uppercase();
        for (kind, tag) in ["@EXPECTED_RESULTS@: ", "@EXPECTED_SCORE@: "]
            .iter()
            .enumerate()
        {
            let mut places = text.match_indices(tag);
            let Some((at, _)) = places.next() else {
                continue;
            };
            let line =
                |at: usize| u32::try_from(1 + text[..at].matches('\n').count()).unwrap_or(u32::MAX);
            let place = Place::file(file).at_line(line(at));
            let value = text[at + tag.len()..].lines().next().unwrap_or("").trim();
            let score = (kind == 1).then(|| number(value)).flatten();
            let again = if score.is_some() {
                tags.score.is_some()
            } else {
                tags.expected.is_some()
            };
            if again || places.next().is_some() || first.is_some_and(|first| first != file) {
                let message = format!(
                    "{} stands more than once; not used",
                    tag.trim_end_matches(": ")
                );
                log.warning(&place, message);
                return Tags::default();
            }
            first = Some(file);
            match score {
                Some(_) if !header.scoring => {
                    log.warning(
                        &place,
                        "@EXPECTED_SCORE@ means something only in scoring problems; not used",
                    );
                }
                Some(score) => tags.score = Some(score),
                None => tags.expected = results(value, &place, log),
            }
        }
    }
    tags
}

/// DOMjudge's names of verdicts, with commas; an empty list: anything.
fn results(text: &str, place: &Place, log: &Log) -> Option<Vec<Expected>> {
    const NAMES: [(&str, &[Expected]); 18] = [
        ("CORRECT", &[Expected::Accepted]),
        ("ACCEPTED", &[Expected::Accepted]),
        ("PARTIALLY_ACCEPTED", &[Expected::PartiallyAccepted]),
        ("WRONG-ANSWER", &[Expected::WrongAnswer]),
        ("WRONG_ANSWER", &[Expected::WrongAnswer]),
        ("NO-OUTPUT", &[Expected::WrongAnswer]),
        ("NO_OUTPUT", &[Expected::WrongAnswer]),
        ("TIMELIMIT", &[Expected::TimeLimit]),
        ("TIME_LIMIT_EXCEEDED", &[Expected::TimeLimit]),
        ("RUN-ERROR", &CRASH),
        ("RUN_TIME_ERROR", &CRASH),
        ("MEMORY-LIMIT", &[Expected::MemoryLimit]),
        ("MEMORY_LIMIT", &[Expected::MemoryLimit]),
        ("OUTPUT-LIMIT", &[Expected::OutputLimit]),
        ("OUTPUT_LIMIT", &[Expected::OutputLimit]),
        ("COMPILER-ERROR", &[Expected::CompileError]),
        ("COMPILER_ERROR", &[Expected::CompileError]),
        ("CHECK-MANUALLY", &[]),
    ];
    let mut expected: Vec<Expected> = Vec::new();
    for word in text.split(',').map(str::trim) {
        match NAMES.iter().find(|(name, _)| *name == word) {
            Some((_, [])) => return Some(Vec::new()),
            Some((_, verdicts)) => expected.extend_from_slice(verdicts),
            None => {
                let meant = did_you_mean(word, NAMES.iter().map(|(name, _)| *name));
                log.warning(
                    place,
                    format!("@EXPECTED_RESULTS@: unknown result {word:?}{meant}"),
                );
            }
        }
    }
    expected.sort_unstable();
    expected.dedup();
    (!expected.is_empty()).then_some(expected)
}

/// What directory and source say together. Where both speak, the directory chooses among what the
/// source allows, as in DOMjudge.
fn agreed(
    directory: Option<&[Expected]>,
    source: Option<&[Expected]>,
    path: &str,
    log: &Log,
) -> Vec<Expected> {
    match (directory, source) {
        (Some(directory), None | Some([])) => directory.to_vec(),
        (None, source) => source.unwrap_or_default().to_vec(),
        (Some(directory), Some(source)) => {
            let both: Vec<Expected> = directory
                .iter()
                .filter(|verdict| source.contains(verdict))
                .copied()
                .collect();
            if both.is_empty() {
                log.warning(
                    path,
                    "its @EXPECTED_RESULTS@ are not what its directory says; the \
                    source is believed",
                );
                return source.to_vec();
            }
            both
        }
    }
}

/// A key of submissions.yaml.
struct Glob {
    text: String,
    matcher: GlobMatcher,
    place: Place,
    /// It changes what a directory's name says, so it need not match anything.
    default: bool,
    used: Cell<bool>,
}

impl Glob {
    /// A pattern matches what is below, too.
    fn matches(&self, name: &str) -> bool {
        let parent = name.split('/').next().unwrap_or(name);
        self.matcher.is_match(name) || self.matcher.is_match(parent)
    }
}

/// Verdicts of single tests, as submissions.yaml names them.
const AC: u8 = 1;
const WA: u8 = 2;
const TLE: u8 = 4;
const RTE: u8 = 8;
const ALL: u8 = 15;
const REJECTED: u8 = ALL & !AC;
const VERDICTS: [(&str, u8); 4] = [("AC", AC), ("WA", WA), ("TLE", TLE), ("RTE", RTE)];

/// What they are here.
fn meant(verdicts: u8) -> Vec<Expected> {
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

/// As submissions.yaml names them.
fn named(verdicts: u8) -> String {
    let names: Vec<&str> = VERDICTS
        .iter()
        .filter(|(_, verdict)| verdicts & verdict != 0)
        .map(|(name, _)| *name)
        .collect();
    names.join(", ")
}

/// What submissions.yaml claims of a submission.
#[derive(Debug, Clone)]
struct Claim {
    /// Whether it claims anything of verdicts.
    verdicts: bool,
    /// Verdicts that its tests may have.
    permitted: u8,
    /// Of each of these, some test must have a verdict.
    required: Vec<u8>,
    score: Option<(f64, f64)>,
    language: Option<String>,
    model: bool,
    /// What it says of time limits, and where.
    bound: Option<(Bound, Place)>,
}

/// `use_for_time_limit`, where it does not leave this to the verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    No,
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
            bound: None,
        }
    }
}

impl Claim {
    /// Both claims hold.
    fn and(self, other: &Claim) -> Claim {
        Claim {
            verdicts: self.verdicts || other.verdicts,
            permitted: self.permitted & other.permitted,
            required: {
                // Sets of verdicts, of which there are few: none is needed twice.
                let new = other
                    .required
                    .iter()
                    .filter(|required| !self.required.contains(required));
                self.required.iter().chain(new).copied().collect()
            },
            ..self
        }
    }

    fn bound(&self) -> Option<Bound> {
        self.bound.as_ref().map(|(bound, _)| *bound)
    }

    /// Verdicts that the whole submission can have: one of its tests'.
    fn expected(&self) -> Option<Vec<Expected>> {
        if !self.verdicts {
            return None;
        }
        Some(match self.whole() {
            ALL => Vec::new(),
            REJECTED => vec![Expected::Rejected],
            verdicts => meant(verdicts),
        })
    }

    fn whole(&self) -> u8 {
        let rejected = self.required.iter().any(|required| required & AC == 0);
        if rejected {
            self.permitted & !AC
        } else {
            self.permitted
        }
    }

    /// No submission can be as it claims. Its verdicts would be none, which must not be taken for
    /// any.
    fn is_contradictory(&self) -> bool {
        self.permitted == 0
            || self
                .required
                .iter()
                .any(|required| required & self.permitted == 0)
    }

    /// What is required of tests and does not follow from the verdict on the whole.
    fn required_besides(&self) -> impl Iterator<Item = u8> {
        let required = self
            .required
            .iter()
            .map(|required| required & self.permitted);
        required.filter(|required| self.whole() & !required != 0)
    }
}

/// Where the last of them stands that has a line: what names of directories claim has none.
fn place_of(claims: &[&(Glob, Claim)]) -> Place {
    let mut places = claims
        .iter()
        .filter(|(_, claim)| claim.verdicts)
        .map(|(glob, _)| &glob.place);
    places
        .rfind(|place| place.line().is_some())
        .cloned()
        .unwrap_or_else(|| Place::file(FILE))
}

fn contradiction(name: &str, claims: &[&(Glob, Claim)]) -> String {
    let claims = claims
        .iter()
        .filter(|(_, claim)| claim.verdicts)
        .map(|(glob, claim)| {
            let required = claim
                .required
                .iter()
                .map(|required| format!(" and requires {}", named(*required)));
            format!(
                "{:?} permits {}{}",
                glob.text,
                named(claim.permitted),
                required.collect::<String>()
            )
        });
    let claims = claims.collect::<Vec<_>>().join(", ");
    format!(
        "nothing can come of {name} that is as claimed: {claims}; all patterns that fit it hold, \
         make them agree"
    )
}

/// Whether a submission's times make a time limit. One claim is enough that says so, or that does
/// not permit the submission to be too slow.
fn is_used(claims: &[&(Glob, Claim)], submission: &Submission, log: &Log) -> bool {
    let name = &submission.name;
    let lower = claims
        .iter()
        .any(|(_, claim)| claim.bound() == Some(Bound::Lower));
    let other = claims
        .iter()
        .find(|(_, claim)| claim.bound().is_none() && claim.permitted & TLE == 0);
    let accepted = submission.expected == [Expected::Accepted];
    for (bound, place) in claims.iter().filter_map(|(_, claim)| claim.bound.as_ref()) {
        match (bound, other) {
            (Bound::Lower, _) if !accepted => {
                let message = format!(
                    "use_for_time_limit: lower is not used for {name}: only what must be accepted \
                     is measured here"
                );
                log.warning(place, message);
            }
            (Bound::Upper, _) if !submission.expected.contains(&Expected::TimeLimit) => {
                log.warning(
                    place,
                    format!(
                        "use_for_time_limit: upper is not used for {name}, which need not \
                        exceed the time limit"
                    ),
                );
            }
            (Bound::No, Some((glob, _))) if accepted && !lower => {
                let message = format!(
                    "use_for_time_limit: {name} is measured all the same, for {:?}; say it there, \
                     too",
                    glob.text
                );
                log.warning(place, message);
            }
            _ => {}
        }
    }
    lower || other.is_some() || claims.iter().all(|(_, claim)| claim.bound.is_none())
}

/// Directories for which the format has claims. What others say (`partially_accepted`) is more than
/// verdicts of tests can, so a key without any leaves it as it is.
const DEFAULTS: [&str; 6] = [
    "accepted",
    "rejected",
    "wrong_answer",
    "time_limit_exceeded",
    "run_time_error",
    "brute_force",
];

/// What submissions.yaml says.
fn claims(tree: &Tree, header: &Header, log: &Log) -> Vec<(Glob, Claim)> {
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
    let told = Told::default();
    for (pattern, node, place) in keys.rest() {
        // Each is compiled, and compared with each submission.
        if claims.len() == MOST_PATTERNS || pattern.len() > LONGEST_PATTERN {
            log.exceeds(place, crate::Bound::Patterns);
            break;
        }
        // The format has * and {a,b} only.
        let plain = !pattern.contains(['[', ']', '?', '\\']) && !pattern.contains("**");
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .ok()
            .filter(|_| plain);
        let Some(glob) = glob else {
            log.error(
                place,
                format!("{pattern:?} is no pattern; there are * and {{a,b}}"),
            );
            continue;
        };
        let Some(keys) = Keys::of(node, "what is expected", log) else {
            continue;
        };
        let directory = tree.kind(&format!("{DIRECTORY}/{pattern}")) == Some(Kind::Directory);
        let known = of_directory(pattern, header.format).filter(|_| !pattern.contains('/'));
        let default = known
            .filter(|_| DEFAULTS.contains(&pattern))
            .map(default_claim)
            .unwrap_or_default();
        let claim = claim(keys, default, header, &told, log);
        let glob = Glob {
            text: pattern.to_owned(),
            matcher: glob.compile_matcher(),
            place: place.clone(),
            default: known.is_some() || directory,
            used: Cell::new(false),
        };
        claims.push((glob, claim));
    }
    // A directory's default holds beside what other patterns say.
    for name in DEFAULTS {
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

/// What the name of a directory claims, if it is one of [`DEFAULTS`].
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

/// Kinds of claims that nothing is made of, and that were warned of: once is enough for each.
type Told = RefCell<Vec<&'static str>>;

fn tell_once(keys: &Keys<'_>, key: &'static str, message: &'static str, told: &Told, log: &Log) {
    if let Some(node) = keys.get(key)
        && !told.borrow().contains(&message)
    {
        told.borrow_mut().push(message);
        log.warning(&node.place, message);
    }
}

fn claim(keys: Keys<'_>, default: Claim, header: &Header, told: &Told, log: &Log) -> Claim {
    let mut claim = default;
    if let Some(permitted) = verdicts(&keys, "permitted", log) {
        claim.permitted = permitted;
        claim.verdicts = true;
        // Where more is permitted than a directory's name says, more than that may be why it is
        // rejected.
        claim.required.fill(REJECTED);
    }
    if let Some(required) = verdicts(&keys, "required", log) {
        claim.required = vec![required];
        claim.verdicts = true;
    }
    claim.score = score(&keys, log);
    if claim.score.is_some() && !header.scoring {
        log.warning(
            &keys.place,
            "score means something only in scoring problems; not used",
        );
        claim.score = None;
    }
    claim.language = keys.text("language").map(str::to_owned);
    claim.model = keys
        .one_of("model_solution", &[("true", true), ("false", false)])
        .unwrap_or(false);
    if let Some(node) = keys.get("entrypoint") {
        log.warning(
            &node.place,
            "entrypoint is not supported; the language's usual one is taken",
        );
    }
    claim.bound = bound(&keys);
    const MESSAGE: &str =
        "message is not supported: what is said of a test is not compared with it";
    tell_once(&keys, "message", MESSAGE, told, log);
    keys.ignore(&["authors"]);
    // Every other key names tests. Of what is claimed of some tests only, this much holds for the
    // whole: if one of them must have a verdict, some test must.
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
            log.warning(
                place,
                format!(
                    "unknown key {name:?}, not read{}",
                    did_you_mean(name, known)
                ),
            );
        } else if let Some(tests) = Keys::of(node, name, log) {
            verdicts(&tests, "permitted", log);
            tell_once(
                &tests,
                "permitted",
                "permitted of some of the tests is not supported; not used",
                told,
                log,
            );
            let message = "required of some of the tests is asked of all together: whichever has \
                such a verdict will do";
            tell_once(&tests, "required", message, told, log);
            if let Some(required) = verdicts(&tests, "required", log) {
                if !claim.required.contains(&required) {
                    claim.required.push(required);
                }
                claim.verdicts = true;
            }
            score(&tests, log);
            tell_once(
                &tests,
                "score",
                "score of some of the tests is not supported; not used",
                told,
                log,
            );
            // What is not used of some tests is not missed: only whole submissions are.
            if let Some((Bound::Lower | Bound::Upper, place)) = bound(&tests) {
                log.warning(
                    &place,
                    "use_for_time_limit of some of the tests is not supported; not used",
                );
            }
            tell_once(&tests, "message", MESSAGE, told, log);
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
                log.error(
                    &node.place,
                    format!("{key}: there are AC, WA, TLE and RTE, but no {word:?}"),
                );
                return None;
            }
        }
    }
    if verdicts == 0 {
        log.error(
            &node.place,
            format!("{key} must name at least one of AC, WA, TLE and RTE"),
        );
        return None;
    }
    Some(verdicts)
}

fn bound(keys: &Keys<'_>) -> Option<(Bound, Place)> {
    let words = [
        ("false", Some(Bound::No)),
        ("true", None),
        ("lower", Some(Bound::Lower)),
        ("upper", Some(Bound::Upper)),
    ];
    let bound = keys.one_of("use_for_time_limit", &words)??;
    Some((bound, keys.get("use_for_time_limit")?.place.clone()))
}

/// One number, or the least and the most.
fn score(keys: &Keys<'_>, log: &Log) -> Option<(f64, f64)> {
    let node = keys.get("score")?;
    let value = |node: &Node| node.text().and_then(number);
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
        log.error(
            &node.place,
            format!(
                "score must be a number, or a list of the least and the most{}",
                shown(node)
            ),
        );
    }
    score
}
