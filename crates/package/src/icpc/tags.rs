//! Reads the tags of DOMjudge in the sources of submissions.

use super::header::Header;
use super::verdicts::CRASH;
use crate::fault::icpc::SubmissionFault;
use crate::fault::log::{Log, Place};
use crate::fault::text::Suggestion;
use crate::keys::number;
use crate::model::Expected;
use crate::tree::Tree;

const RESULTS_TAG: &str = "@EXPECTED_RESULTS@";
const SCORE_TAG: &str = "@EXPECTED_SCORE@";
/// Number of bytes at the beginning of a source that are searched for tags.
const MAX_SEARCHED_BYTES: u64 = 1 << 20;

/// The values of the tags.
#[derive(Default)]
#[non_exhaustive]
pub struct Tags {
    pub expected: Option<Vec<Expected>>,
    pub score: Option<f64>,
}

/// Searches a submission for `@EXPECTED_RESULTS@: ` and `@EXPECTED_SCORE@: `. Each may occur once.
pub fn tags(tree: &Tree, path: &str, header: &Header, log: &Log) -> Tags {
    let files = if tree.is_file(path) {
        vec![path]
    } else {
        tree.files(path).collect()
    };
    let mut tags = Tags::default();
    let mut first: Option<&str> = None;
    for file in files {
        // If a file cannot be read, this was reported when it was listed.
        let Some(bytes) = tree.searched(file, MAX_SEARCHED_BYTES, log) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).to_ascii_uppercase();
        for tag in [RESULTS_TAG, SCORE_TAG] {
            let begin = format!("{tag}: ");
            let mut places = text.match_indices(&begin);
            let Some((at, _)) = places.next() else {
                continue;
            };
            let line =
                |at: usize| u32::try_from(1 + text[..at].matches('\n').count()).unwrap_or(u32::MAX);
            let place = Place::file(file).at_line(line(at));
            let value = text[at + begin.len()..].lines().next().unwrap_or("").trim();
            let score = (tag == SCORE_TAG).then(|| number(value)).flatten();
            let again = if score.is_some() {
                tags.score.is_some()
            } else {
                tags.expected.is_some()
            };
            if again || places.next().is_some() || first.is_some_and(|first| first != file) {
                log.warning(&place, SubmissionFault::RepeatedTag { tag });
                return Tags::default();
            }
            first = Some(file);
            match score {
                Some(_) if !header.scoring => {
                    log.warning(&place, SubmissionFault::ScoreTagWithoutScoring);
                }
                Some(score) => tags.score = Some(score),
                None => tags.expected = results(value, &place, log),
            }
        }
    }
    tags
}

/// Reads DOMjudge's names of verdicts, separated by commas. An empty list permits any verdict.
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
                let fault = SubmissionFault::UnknownResult {
                    word: word.into(),
                    suggestion: Suggestion::new(word, NAMES.iter().map(|(name, _)| *name)),
                };
                log.warning(place, fault);
            }
        }
    }
    expected.sort_unstable();
    expected.dedup();
    (!expected.is_empty()).then_some(expected)
}
