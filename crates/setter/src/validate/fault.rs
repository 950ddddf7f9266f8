//! The faults that validation finds.

use crate::error::{BuildFault, FileKind, ProgramFault};
use millibox_judge::convention::ValidatorFailure;
use millibox_judge::failure::JudgeFailure;
use millibox_judge::tool::ToolFailure;
use millibox_package::Cause;
use std::fmt;

/// Exit status of an input validator that accepts, in the ICPC formats.
pub(super) const ACCEPTED_STATUS: i32 = 42;

/// A fault that validation finds. It is reported for a file of the package.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidationFault {
    /// A file of a test does not exist.
    #[error("the {kind} of test {test} does not exist{}", GenerateHint(.generated))]
    MissingFile {
        /// The file.
        kind: FileKind,
        /// The test.
        test: String,
        /// Whether the file can be generated.
        generated: bool,
    },
    /// Two tests of a group have the same input.
    #[error("the same as the input of test {test}; remove one")]
    SameInput {
        /// The other test.
        test: String,
    },
    /// A program cannot be compiled.
    #[error("{}", OneLine(.0))]
    Build(BuildFault),
    /// Another fault of a program.
    #[error("{}", OneLine(.0))]
    Program(ProgramFault),
    /// An input validator in checktestdata is not a program.
    #[error("not a program in checktestdata: {reason}")]
    Checktestdata {
        /// What is wrong.
        reason: String,
    },
    /// An ICPC package has no input validator.
    #[error("there is no input validator, so the inputs are unchecked; add one")]
    NoInputValidator,
    /// An input validator rejects the input.
    #[error("{program} {}: {}", .refusal.verb(), OneLine(.refusal))]
    InputRejected {
        /// The path of the validator.
        program: String,
        /// The result of the validator.
        refusal: Refusal,
    },
    /// The checker fails on the judges' answer.
    #[error("the checker fails on this answer: {}", OneLine(.0))]
    CheckerFailsOnAnswer(CheckerFailure),
    /// The checker rejects the judges' answer.
    #[error("the checker does not accept this answer as an output: {}", OneLine(.comment))]
    AnswerRejected {
        /// The checker's comment.
        comment: String,
    },
    /// The problem's kind has no single output to check.
    #[error("its output is not checked, because the problem is interactive or has several passes")]
    OutputUnchecked,
    /// An invalid input is accepted.
    #[error("every input validator accepts it, but it must be rejected")]
    InvalidInputAccepted,
    /// A validator crashes on an invalid input instead of rejecting it.
    #[error("{program} must reject it with its exit status, but does not: {}", OneLine(.refusal))]
    ValidatorCrashes {
        /// The path of the validator.
        program: String,
        /// The result of the validator.
        refusal: Refusal,
    },
    /// A test of the checker is incomplete.
    #[error(
        "the test checks the checker and needs a {extension} file next to its input; add that file"
    )]
    IncompleteProbe {
        /// The extension of the missing file.
        extension: &'static str,
    },
    /// The checker fails on an output.
    #[error("the checker fails on this output: {}", OneLine(.0))]
    CheckerFailsOnOutput(CheckerFailure),
    /// A valid output is rejected.
    #[error("the checker rejects it, but it must be accepted: {}", OneLine(.comment))]
    ValidOutputRejected {
        /// The checker's comment.
        comment: String,
    },
    /// An invalid output is accepted.
    #[error("the checker accepts it, but it must be rejected")]
    InvalidOutputAccepted,
    /// A file begins with a byte-order mark.
    #[error("begins with a byte-order mark; remove it")]
    ByteOrderMark,
    /// A file contains a carriage return.
    #[error("has a carriage return; lines must end with a line feed alone")]
    CarriageReturn,
    /// A file contains a zero byte.
    #[error("has a zero byte; is this a text file?")]
    ZeroByte,
    /// A file is not UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// A file is empty.
    #[error("is empty")]
    Empty,
    /// The last line of a file has no line feed.
    #[error("its last line has no line feed; add one")]
    NoLineFeed,
}

struct GenerateHint<'a>(&'a bool);

impl fmt::Display for GenerateHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self.0 {
            "; `millibox problem gen` generates it"
        } else {
            ""
        })
    }
}

/// The result of an input validator that did not accept an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The validator exited with a status that rejects the input.
    #[error("{0}")]
    Rejected(ToolFailure),
    /// The validator exited with 0, which neither accepts nor rejects an input.
    #[error("exited with 0, not with {ACCEPTED_STATUS} (accepted)")]
    ExitedWithZero,
    /// The validator did not exit: a signal or a limit ended it.
    #[error("{0}")]
    Failed(ToolFailure),
    /// A validator in checktestdata does not match the input, or failed.
    #[error("{0}")]
    Checktestdata(millibox_checktestdata::Rejection),
    /// The input is too long for a validator in checktestdata.
    #[error("the input is longer than {mebibytes} MiB")]
    TooLong {
        /// The maximum length.
        mebibytes: u64,
    },
}

impl Refusal {
    /// Whether the validator failed instead of rejecting the input.
    pub(super) fn is_failure(&self) -> bool {
        match self {
            Refusal::Failed(_) | Refusal::TooLong { .. } => true,
            Refusal::Rejected(_) | Refusal::ExitedWithZero => false,
            Refusal::Checktestdata(rejection) => !rejection.why.is_mismatch(),
        }
    }

    fn verb(&self) -> &'static str {
        match self.is_failure() {
            false => "rejects it",
            true => "fails on it",
        }
    }
}

/// Why a checker gave no usable answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckerFailure {
    /// The checker failed.
    #[error("{failure}{}{comment}", if .comment.is_empty() { "" } else { " " })]
    Answer {
        /// The reason.
        failure: ValidatorFailure,
        /// The checker's comment. It may be empty.
        comment: String,
    },
    /// The judge could not run the checker.
    #[error("{0}")]
    Judge(Cause<JudgeFailure>),
}

/// Shows on one line the lines that a program or compiler wrote.
struct OneLine<'a, T>(&'a T);

impl<T: fmt::Display> fmt::Display for OneLine<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        for (index, line) in text.lines().enumerate() {
            write!(f, "{}{line}", if index > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}
