//! Checkers: who says whether an output is right.
//!
//! | file | what |
//! | --- | --- |
//! | `tokens` | the ICPC format's default output validator |
//! | `lines` | Sim's default checker |
//! | `exact` | byte by byte |
//! | `custom` | a program of the package, in the sandbox |

pub mod custom;
pub mod exact;
pub mod lines;
pub mod tokens;

use crate::batch::{Case, CheckResult, JudgeFailure, Worker};
use crate::convention::{Answer, printable};
use crate::feedback::Feedback;
use crate::verdict::{COMMENT_LIMIT, Verdict};
use custom::OutputValidator;
use millibox_package::model::Format;
use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 128 << 10;
/// Bytes of a token or line that a comment shows.
const MAX_SHOWN_BYTES: usize = 48;

/// A checker that is ready to be used, by any number of workers.
#[derive(Debug, Clone)]
pub enum CheckerInstance {
    /// The default output validator of the ICPC format, with a test's flags.
    Tokens,
    /// That of the format's version `legacy`, to which what is hexadecimal is a number, too.
    LegacyTokens,
    /// Sim's default: equal but for white space at the ends of lines and empty lines at the end.
    Lines,
    /// Equal.
    Exact,
    /// A program of the package.
    Custom(Arc<OutputValidator>),
}

impl CheckerInstance {
    /// The default output validator of this version of the format.
    pub fn tokens(format: Format) -> CheckerInstance {
        match format {
            Format::Legacy => CheckerInstance::LegacyTokens,
            Format::Icpc2023 | Format::Sim => CheckerInstance::Tokens,
        }
    }

    /// Says whether an output is right. A program of the package has `feedback`, or else a fresh directory.
    ///
    /// # Errors
    /// The checker's flags make no sense, or a file cannot be read.
    pub(crate) fn check(
        &self,
        worker: &mut Worker<'_>,
        case: &Case<'_>,
        mut output: File,
        feedback: Option<&Feedback>,
    ) -> Result<CheckResult, JudgeFailure> {
        let path = case.answer.ok_or_else(|| JudgeFailure("the test has no answer to compare with".to_owned()))?;
        if let CheckerInstance::Custom(custom) = self {
            let fresh;
            let feedback = match feedback {
                Some(feedback) => feedback,
                None => {
                    fresh = worker.feedback()?;
                    &fresh
                }
            };
            return custom.check(worker, case, path, output, feedback);
        }
        let failed = |error: io::Error| failed(path, &error);
        let options = match self {
            CheckerInstance::Tokens => tokens::Options::parse(case.flags).map_err(JudgeFailure)?,
            CheckerInstance::LegacyTokens => {
                tokens::Options { hexadecimal: true, ..tokens::Options::parse(case.flags).map_err(JudgeFailure)? }
            }
            _ if case.flags.is_empty() => tokens::Options::default(),
            _ => return Err(JudgeFailure(format!("it takes no flags, but is given {:?}", case.flags.join(" ")))),
        };
        let answer = File::open(path).map_err(failed)?;
        let difference = if identical(&output, &answer).map_err(failed)? {
            None
        } else {
            output.rewind().map_err(failed)?;
            match self {
                CheckerInstance::Tokens | CheckerInstance::LegacyTokens => {
                    tokens::compare(output, answer, &options).map_err(failed)?
                }
                CheckerInstance::Lines => {
                    let [output, answer] = [output, answer].map(|file| BufReader::with_capacity(CHUNK_BYTES, file));
                    lines::compare(output, answer).map_err(failed)?
                }
                CheckerInstance::Exact | CheckerInstance::Custom(_) => {
                    let [output, answer] = [output, answer].map(|file| BufReader::with_capacity(CHUNK_BYTES, file));
                    exact::compare(output, answer).map_err(failed)?
                }
            }
        };
        let verdict = if difference.is_none() { Verdict::Accepted } else { Verdict::WrongAnswer };
        let comment = printable(difference.unwrap_or_default().as_bytes(), COMMENT_LIMIT);
        Ok(CheckResult { answer: Answer { verdict, reason: String::new(), comment, points: None }, figures: None })
    }
}

fn failed(answer: &Path, error: &io::Error) -> JudgeFailure {
    JudgeFailure(format!("cannot compare with the answer {}: {error}", answer.display()))
}

/// Whether two files hold the same bytes, which every checker accepts: most outputs are right.
fn identical(one: &File, other: &File) -> io::Result<bool> {
    let length = one.metadata()?.len();
    if other.metadata()?.len() != length {
        return Ok(false);
    }
    let size = CHUNK_BYTES.min(length as usize);
    let mut buffers = [vec![0; size], vec![0; size]];
    let mut at = 0;
    while at < length {
        let part = size.min((length - at) as usize);
        let [mine, others] = &mut buffers;
        one.read_exact_at(&mut mine[..part], at)?;
        other.read_exact_at(&mut others[..part], at)?;
        if mine[..part] != others[..part] {
            return Ok(false);
        }
        at += part as u64;
    }
    Ok(true)
}

/// Two different texts, each in quotes, cut so that the first difference shows.
fn show(read: &[u8], expected: &[u8]) -> (String, String) {
    let same = read.iter().zip(expected).take_while(|(one, other)| one == other).count();
    let begin = if same > MAX_SHOWN_BYTES / 2 { same - MAX_SHOWN_BYTES / 4 } else { 0 };
    (quote(read, begin), quote(expected, begin))
}

fn quote(text: &[u8], begin: usize) -> String {
    let is_continuation = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    // Not from the middle of a character; there are at most three such bytes.
    let begin = (begin..begin + 4).find(|at| !is_continuation(*at)).unwrap_or(begin).min(text.len());
    let before = if begin > 0 { "..." } else { "" };
    let mut end = text.len().min(begin + MAX_SHOWN_BYTES);
    let mut after = "";
    if end < text.len() {
        end = (end - 3..=end).rev().find(|at| !is_continuation(*at)).unwrap_or(end);
        after = "...";
    }
    let mut shown = String::new();
    for character in String::from_utf8_lossy(&text[begin..end]).chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    format!("'{before}{shown}{after}'")
}
