//! Errors that occur while a test is judged and that are not the submission's fault.
//!
//! A [`JudgeFailure`] becomes the reason for a judge error, never for another verdict.

use crate::convention::Suffix;
use crate::feedback::FeedbackError;
use millibox::RunResult;
use millibox_languages::staging::StagingError;
use millibox_package::tokens::FlagError;
use std::io;
use std::path::{Path, PathBuf};

/// The judge, the machine or a program of the package failed. The submission is not to blame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeFailure {
    /// The sandbox cannot run a program.
    #[error(transparent)]
    Sandbox(#[from] millibox::Error),
    /// The sandbox started a run but did not finish it.
    #[error("{0}")]
    Unfinished(RunFault),
    /// A step of the judge's own work failed.
    #[error("cannot {step}: {source}")]
    Step {
        /// The step.
        step: Step,
        /// The error from the kernel.
        source: io::Error,
    },
    /// A file cannot be made readable for the sandbox's user. The error names the file.
    #[error(transparent)]
    Staging(StagingError),
    /// The files that a test provides cannot be placed beside the program.
    #[error("cannot put the test's files beside the program: {0}")]
    TestFiles(StagingError),
    /// A feedback directory cannot be made or read.
    #[error(transparent)]
    Feedback(#[from] FeedbackError),
    /// The submission's world shows a file that the submission must not see.
    #[error(
        "the submission could read {}, because its world contains {}; move the package to another \
         directory",
        .file.display(), .shown.display()
    )]
    FileVisible {
        /// The input or answer.
        file: PathBuf,
        /// The directory that the submission's world shows.
        shown: PathBuf,
    },
    /// The checker compares with an answer, but the test has none.
    #[error("the test has no answer to compare with")]
    NoAnswer,
    /// The interactor needs an answer, but the test has none.
    #[error("interactor: the test has no answer to pass to it")]
    NoAnswerForInteractor,
    /// The package's flags for a built-in checker are wrong.
    #[error(transparent)]
    Flags(#[from] FlagError),
    /// A built-in checker that takes no flags was given flags.
    #[error("takes no flags, but the package passes {flags:?}")]
    UnexpectedFlags {
        /// The flags, joined by spaces.
        flags: String,
    },
    /// The conversation loop stopped before both programs had ended.
    #[error("the conversation ended before its programs did")]
    ConversationCutShort,
    /// A validator of a multi-pass problem left a feedback file that cannot be used.
    #[error("validator: {0}")]
    PassFeedback(FeedbackError),
    /// A validator rejected a pass and requested another one.
    #[error("validator: rejects the output and still requests another pass ({file})")]
    RejectedPassContinues {
        /// The file that requests a pass.
        file: &'static str,
    },
    /// A validator requested more passes than the problem has.
    #[error(
        "validator: requests another pass ({file}), but the problem has at most {limit}; raise \
         `validation_passes` in problem.yaml"
    )]
    TooManyPasses {
        /// The file that requests a pass.
        file: &'static str,
        /// The problem's number of passes.
        limit: u32,
    },
    /// A group requires the package's own grader, but the package has none.
    #[error("the package has no grader")]
    NoGrader,
    /// A grader gave no usable answer.
    #[error(transparent)]
    Grader(GraderFailure),
}

impl JudgeFailure {
    pub(crate) fn step(step: Step, source: impl Into<io::Error>) -> JudgeFailure {
        JudgeFailure::Step {
            step,
            source: source.into(),
        }
    }

    /// Whether the machine is at fault, so that a later attempt or another machine may succeed.
    pub fn is_of_machine(&self) -> bool {
        match self {
            JudgeFailure::Sandbox(_) | JudgeFailure::Unfinished(_) | JudgeFailure::Step { .. } => {
                true
            }
            JudgeFailure::Staging(error) | JudgeFailure::TestFiles(error) => error.is_of_machine(),
            JudgeFailure::Feedback(error) | JudgeFailure::PassFeedback(error) => {
                error.is_of_machine()
            }
            _ => false,
        }
    }

    /// Replaces the path of each of the package's files, so that messages show a path other than
    /// the one that was read.
    pub fn map_paths(&mut self, shown: impl Fn(&Path) -> PathBuf) {
        match self {
            JudgeFailure::Step {
                step: Step::OpenInput(path) | Step::FindFile(path) | Step::Compare(path),
                ..
            } => *path = shown(path),
            JudgeFailure::FileVisible {
                file,
                shown: directory,
            } => {
                *file = shown(file);
                *directory = shown(directory);
            }
            JudgeFailure::Staging(error) | JudgeFailure::TestFiles(error) => {
                error.map_paths(shown);
            }
            _ => {}
        }
    }
}

/// Why a grader gave no usable answer, with its standard error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}{}", Suffix(.stderr))]
#[non_exhaustive]
pub struct GraderFailure {
    /// The reason.
    pub fault: GraderFault,
    /// Beginning and end of the grader's standard error, made printable. It may be empty.
    pub stderr: String,
}

impl GraderFailure {
    /// Creates a failure with an excerpt of the grader's standard error, which may be empty.
    pub fn new(fault: GraderFault, stderr: String) -> GraderFailure {
        GraderFailure { fault, stderr }
    }
}

/// Why a grader's answer is unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraderFault {
    /// The run did not exit.
    #[error("{0}")]
    Ended(Box<RunResult>),
    /// The grader exited with a status other than 0.
    #[error("exited with {0}, not with 0")]
    Status(i32),
    /// The answer is too long.
    #[error("printed more than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer is not a verdict and a score.
    #[error("printed {0:?}, not a verdict (AC, WA, TLE, RTE, OLE, MLE) and a score")]
    Unknown(String),
    /// The grader reported its own failure.
    #[error("reports that the judge failed (JE)")]
    JudgeError,
}

/// How a run ended, if that decides the verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// It exceeded its CPU time limit.
    #[error("CPU time limit")]
    CpuTime,
    /// It exceeded its real time limit.
    #[error("real time limit")]
    RealTime,
    /// It exceeded its memory limit.
    #[error("memory limit")]
    Memory,
    /// It exceeded its output limit.
    #[error("output limit")]
    Output,
    /// It failed, or the sandbox did.
    #[error("{0}")]
    Ended(Box<RunResult>),
}

/// A step of the judge's work. Its message follows "cannot".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Step {
    /// Opening a test's input.
    #[error("open the input {}", .0.display())]
    OpenInput(PathBuf),
    /// Looking up a file's real path.
    #[error("find the file {}", .0.display())]
    FindFile(PathBuf),
    /// Creating a file for a checker.
    #[error("create the file {}", .0.display())]
    CreateFile(PathBuf),
    /// Removing an earlier file for a checker.
    #[error("remove {}", .0.display())]
    RemoveFile(PathBuf),
    /// Comparing the output with the answer.
    #[error("compare the output with the answer {}", .0.display())]
    Compare(PathBuf),
    /// Creating an unnamed file in memory.
    #[error("create a file in memory")]
    CreateMemoryFile,
    /// Duplicating a descriptor of a file in memory.
    #[error("duplicate the descriptor of a file in memory")]
    DuplicateMemoryFile,
    /// Sealing a file in memory before a program reads it.
    #[error("seal the output")]
    Seal,
    /// Rewinding a file in memory before a program reads it.
    #[error("rewind the output")]
    Rewind,
    /// Creating a pipe for a run.
    #[error("create a pipe")]
    CreatePipe,
    /// Setting the mode of a pipe's end, so that its run can reopen it.
    #[error("give a run access to its pipe")]
    SharePipe,
    /// Reading the length of the input.
    #[error("read the length of the input")]
    MeasureInput,
    /// Moving the input to its pipe.
    #[error("read the input")]
    ReadInput,
    /// Copying the input to memory, because it cannot be spliced.
    #[error("copy the input")]
    CopyInput,
    /// Moving the output from its pipe.
    #[error("store the output")]
    StoreOutput,
    /// Cutting off output beyond the limit.
    #[error("truncate the output")]
    TruncateOutput,
    /// Waiting for a run's pipes.
    #[error("wait for the run's pipes")]
    WaitForPipes,
    /// Moving messages between the solution and the interactor.
    #[error("move messages between the solution and the interactor")]
    MoveMessages,
    /// Waiting for the solution and the interactor.
    #[error("wait for the solution and the interactor")]
    WaitForConversation,
    /// Writing the results of a group's parts for its grader.
    #[error("write the grader's input")]
    WriteGraderInput,
    /// Storing the input that a validator made for the next pass.
    #[error("store the next pass's input")]
    StoreNextInput,
}

impl Step {
    pub(crate) fn find(path: &Path) -> Step {
        Step::FindFile(path.to_owned())
    }
}
