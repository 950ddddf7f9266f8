//! Checkers decide whether an output is right.
//!
//! | file | content |
//! | --- | --- |
//! | `tokens` | the ICPC format's default output validator |
//! | `lines` | Sim's default checker |
//! | `exact` | comparison byte by byte |
//! | `custom` | a program of the package, run in the sandbox |
//! | `excerpt` | excerpts of strings that differ, for comments |
//! | `result` | the result of a check |

pub mod custom;
pub mod exact;
mod excerpt;
pub mod lines;
mod result;
pub mod tokens;

pub use result::CheckResult;

use crate::convention::{Answer, printable};
use crate::failure::{JudgeFailure, Step};
use crate::feedback::Feedback;
use crate::pump::memory_file;
use crate::trial::Case;
use crate::verdict::{COMMENT_LIMIT, Verdict};
use crate::worker::Worker;
use custom::OutputValidator;
use millibox_package::model::Format;
use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Size of a read buffer.
const CHUNK_BYTES: usize = 128 << 10;

/// A checker that any number of workers can share.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CheckerInstance {
    /// The ICPC format's default output validator, with the flags of the test.
    Tokens,
    /// The default output validator of the version `legacy`, which also accepts hexadecimal
    /// numbers.
    LegacyTokens,
    /// Sim's default checker. It ignores white space at the ends of lines and empty lines at the
    /// end of the file.
    Lines,
    /// A checker that accepts only identical bytes.
    Exact,
    /// A program from the package.
    Custom(Arc<OutputValidator>),
}

impl CheckerInstance {
    /// The default output validator of the given version of the format.
    pub fn tokens(format: Format) -> CheckerInstance {
        match format {
            Format::Legacy => CheckerInstance::LegacyTokens,
            Format::Icpc2023 | Format::Sim => CheckerInstance::Tokens,
        }
    }

    /// Checks a file as if a submission had written it.
    ///
    /// # Errors
    /// The file cannot be read, or the checker cannot run. The error does not mean that the file is
    /// wrong.
    pub fn check_file(
        &self,
        worker: &mut Worker<'_>,
        case: &Case<'_>,
        path: &Path,
    ) -> Result<CheckResult, JudgeFailure> {
        let failed = |error: io::Error| JudgeFailure::step(Step::CopyInput, error);
        let mut file = File::open(path)
            .map_err(|error| JudgeFailure::step(Step::OpenInput(path.to_owned()), error))?;
        let mut output = self.output_file(worker)?;
        io::copy(&mut file, &mut output).map_err(failed)?;
        self.check(worker, case, output, None)
    }

    /// Creates an empty file for a submission's output, of the kind that this checker reads.
    pub(crate) fn output_file(&self, worker: &mut Worker<'_>) -> Result<File, JudgeFailure> {
        match self {
            CheckerInstance::Custom(validator) if validator.wants_output_by_path() => {
                worker.files()?.output_file()
            }
            _ => memory_file(),
        }
    }

    /// Checks an output. A checker from the package uses the directory `feedback`, or a new one.
    ///
    /// # Errors
    /// The checker's flags are wrong, or a file cannot be read.
    pub(crate) fn check(
        &self,
        worker: &mut Worker<'_>,
        case: &Case<'_>,
        mut output: File,
        feedback: Option<&Feedback>,
    ) -> Result<CheckResult, JudgeFailure> {
        let path = case.answer.ok_or(JudgeFailure::NoAnswer)?;
        if let CheckerInstance::Custom(validator) = self {
            let fresh;
            let feedback = match feedback {
                Some(feedback) => feedback,
                None => {
                    fresh = worker.feedback()?;
                    &fresh
                }
            };
            return validator.check(worker, case, path, output, feedback);
        }
        let failed = |error: io::Error| JudgeFailure::step(Step::Compare(path.to_owned()), error);
        let options = match self {
            CheckerInstance::Tokens => tokens::Options::parse(case.flags)?,
            CheckerInstance::LegacyTokens => {
                let options = tokens::Options::parse(case.flags)?;
                tokens::Options {
                    hexadecimal: true,
                    ..options
                }
            }
            _ if case.flags.is_empty() => tokens::Options::default(),
            _ => {
                return Err(JudgeFailure::UnexpectedFlags {
                    flags: case.flags.join(" "),
                });
            }
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
                    let [output, answer] =
                        [output, answer].map(|file| BufReader::with_capacity(CHUNK_BYTES, file));
                    lines::compare(output, answer).map_err(failed)?
                }
                CheckerInstance::Exact | CheckerInstance::Custom(_) => {
                    let [output, answer] =
                        [output, answer].map(|file| BufReader::with_capacity(CHUNK_BYTES, file));
                    exact::compare(output, answer).map_err(failed)?
                }
            }
        };
        let verdict = if difference.is_none() {
            Verdict::Accepted
        } else {
            Verdict::WrongAnswer
        };
        let comment = printable(difference.unwrap_or_default().as_bytes(), COMMENT_LIMIT);
        Ok(CheckResult {
            answer: Answer {
                verdict,
                failure: None,
                comment,
                points: None,
            },
            figures: None,
        })
    }
}

/// Returns whether two files contain the same bytes. Every checker accepts identical files, and
/// most outputs are right.
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
        let [left, right] = &mut buffers;
        one.read_exact_at(&mut left[..part], at)?;
        other.read_exact_at(&mut right[..part], at)?;
        if left[..part] != right[..part] {
            return Ok(false);
        }
        at += part as u64;
    }
    Ok(true)
}
