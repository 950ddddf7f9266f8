//! Reads submissions and their expected verdicts. The verdicts come from the directory, from tags
//! in the source, and from submissions.yaml.

use super::claims::{Claim, DIRECTORY, FILE, Glob, TLE, TimeLimitUse, claims, meant};
use super::header::Header;
use super::tags::tags;
use super::unread;
use super::verdicts::of_directory;
use crate::bound::{Bound, MAX_SUBMISSIONS};
use crate::fault::FaultKind;
use crate::fault::icpc::{DataFault, ProgramFault, SubmissionFault};
use crate::fault::log::{Log, Place};
use crate::fault::text::{Excerpt, Suggestion};
use crate::model::{Expected, Format, Submission};
use crate::programs::{extension, is_header, is_script, is_source, program};
use crate::tree::{Kind, Tree};

/// Names of files without extension that may accompany submissions.
const COMPANIONS: [&str; 4] = ["README", "LICENSE", "COPYING", "Makefile"];

/// Whether a file may accompany submissions.
fn is_companion(name: &str) -> bool {
    COMPANIONS.contains(&name) || matches!(extension(name), Some("md" | "pdf"))
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
            let legacy = header.format == Format::Legacy;
            match directory {
                _ if path == FILE && !legacy => {}
                _ if path == FILE => log.warning(path, DataFault::OfLaterFormat),
                name if is_companion(name) => {}
                name => {
                    let suggestion = unread::similar_file(name, &["submissions.yaml"]);
                    let fault = match suggestion.word().filter(|_| !legacy) {
                        Some(_) => ProgramFault::UnknownFile { suggestion }.into(),
                        None => FaultKind::from(SubmissionFault::Misplaced),
                    };
                    log.warning(path, fault);
                }
            }
            continue;
        }
        let known = of_directory(directory, header.format);
        let mut silent = known.is_none();
        for (name, path, kind) in tree.children(path) {
            match kind {
                Kind::File if !is_source(name) && !is_script(tree, path) => {
                    if !is_companion(name) && !is_header(name) {
                        log.warning(path, SubmissionFault::NoLanguage);
                    }
                    continue;
                }
                _ if found.len() == MAX_SUBMISSIONS => {
                    log.exceeds(DIRECTORY, Bound::Submissions);
                    break;
                }
                Kind::Directory if tree.files(path).next().is_none() => {
                    log.warning(path, SubmissionFault::Empty);
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
            let matching: Vec<&(Glob, Claim)> = claims
                .iter()
                .filter(|(glob, _)| glob.matches(&submission.name))
                .collect();
            for (glob, other) in &matching {
                silent = false;
                glob.used.set(true);
                model |= other.model;
                submission.score = other.score.or(submission.score);
                submission.program.language =
                    other.language.clone().or(submission.program.language);
                claim = claim.and(other);
            }
            if claim.verdicts && claim.is_contradictory() {
                let fault = SubmissionFault::Contradiction {
                    submission: Excerpt::new(&submission.name),
                    claims: matching
                        .iter()
                        .filter(|(_, claim)| claim.verdicts)
                        .map(|(glob, claim)| claim.shown(glob))
                        .collect(),
                };
                log.error(place_of(&matching), fault);
            } else if let Some(expected) = claim.expected() {
                submission.expected = expected;
                submission.required = claim.required_besides().map(meant).collect();
                if !submission.required.is_empty() && !header.scoring {
                    log.warning(place_of(&matching), SubmissionFault::RequiredMayBeUnknown);
                }
            }
            submission.for_time_limit = is_used(&matching, &submission, log);
            found.push((model, submission));
        }
        if silent && tree.files(path).next().is_some() {
            let names = [
                "accepted",
                "wrong_answer",
                "time_limit_exceeded",
                "run_time_error",
            ];
            let suggestion = Suggestion::new(directory, names);
            log.warning(path, SubmissionFault::NothingExpected { suggestion });
        }
        if directory == "partially_accepted" && !header.scoring {
            log.warning(path, SubmissionFault::PartialWithoutScoring);
        }
    }
    for (glob, _) in &claims {
        if !glob.used.get() && !glob.default {
            let pattern = Excerpt::new(&glob.text);
            log.warning(&glob.place, SubmissionFault::UnusedPattern { pattern });
        }
    }
    if !found
        .iter()
        .any(|(_, submission)| submission.expected == [Expected::Accepted])
    {
        log.warning(DIRECTORY, SubmissionFault::NoneAccepted);
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

/// Combines the verdicts from the directory and the source. If both state verdicts, only the
/// verdicts that both have in common apply, as in DOMjudge.
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
                log.warning(path, SubmissionFault::TagsContradictDirectory);
                return source.to_vec();
            }
            both
        }
    }
}

/// Returns the place of the last claim about verdicts that has a line number. Default claims of
/// directories have no line number.
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

/// Whether a submission's times determine the time limit. This requires one claim that requests it
/// or that does not permit the submission to be too slow.
fn is_used(claims: &[&(Glob, Claim)], submission: &Submission, log: &Log) -> bool {
    let name = || Excerpt::new(&submission.name);
    let lower = claims
        .iter()
        .any(|(_, claim)| claim.time_limit_use() == Some(TimeLimitUse::Lower));
    let other = claims
        .iter()
        .find(|(_, claim)| claim.time_limit_use().is_none() && claim.permitted & TLE == 0);
    let accepted = submission.expected == [Expected::Accepted];
    for (used, place) in claims
        .iter()
        .filter_map(|(_, claim)| claim.time_limit.as_ref())
    {
        match (used, other) {
            (TimeLimitUse::Lower, _) if !accepted => {
                let submission = name();
                log.warning(place, SubmissionFault::LowerNotAccepted { submission });
            }
            (TimeLimitUse::Upper, _) if !submission.expected.contains(&Expected::TimeLimit) => {
                let submission = name();
                log.warning(place, SubmissionFault::UpperNotSlow { submission });
            }
            (TimeLimitUse::Never, Some((glob, _))) if accepted && !lower => {
                let fault = SubmissionFault::StillMeasured {
                    submission: name(),
                    pattern: Excerpt::new(&glob.text),
                };
                log.warning(place, fault);
            }
            _ => {}
        }
    }
    lower || other.is_some() || claims.iter().all(|(_, claim)| claim.time_limit.is_none())
}
