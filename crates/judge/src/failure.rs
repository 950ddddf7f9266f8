//! Errors of judging a test that are not the submission's fault.
//!
//! A [`JudgeFailure`] becomes the reason of a judge error, never of another verdict.

use crate::feedback::FeedbackError;
use crate::scoring::GraderFailure;
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
        /// The kernel's answer.
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
        "the submission could read {}, since its world shows {}; move the package to another \
         directory",
        .file.display(), .shown.display()
    )]
    FileVisible {
        /// The input or answer.
        file: PathBuf,
        /// The directory that the submission's world shows.
        shown: PathBuf,
    },
    /// The checker compares with an answer, and the test has none.
    #[error("the test has no answer to compare with")]
    NoAnswer,
    /// The interactor takes an answer, and the test has none.
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
    /// A group requires the package's own grader, and the package has none.
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

/// A step of the judge's work, as the object of "cannot".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Step {
    /// A test's input is opened.
    #[error("open the input {}", .0.display())]
    OpenInput(PathBuf),
    /// A file's real path is looked up.
    #[error("find the file {}", .0.display())]
    FindFile(PathBuf),
    /// A file for a checker is created.
    #[error("create the file {}", .0.display())]
    CreateFile(PathBuf),
    /// An earlier file for a checker is removed.
    #[error("remove {}", .0.display())]
    RemoveFile(PathBuf),
    /// The output is compared with the answer.
    #[error("compare the output with the answer {}", .0.display())]
    Compare(PathBuf),
    /// An unnamed file in memory is created.
    #[error("create a file in memory")]
    CreateMemoryFile,
    /// A descriptor of a file in memory is duplicated.
    #[error("duplicate the descriptor of a file in memory")]
    DuplicateMemoryFile,
    /// A file in memory is sealed before a program reads it.
    #[error("seal the output")]
    Seal,
    /// A file in memory is rewound before a program reads it.
    #[error("rewind the output")]
    Rewind,
    /// A pipe for a run is created.
    #[error("create a pipe")]
    CreatePipe,
    /// The mode of a pipe's end is set, so that its run can reopen it.
    #[error("give a run access to its pipe")]
    SharePipe,
    /// The input's length is read.
    #[error("read the length of the input")]
    MeasureInput,
    /// The input is moved to its pipe.
    #[error("read the input")]
    ReadInput,
    /// The input is copied to memory, because it cannot be spliced.
    #[error("copy the input")]
    CopyInput,
    /// The output is moved from its pipe.
    #[error("store the output")]
    StoreOutput,
    /// Output beyond the limit is cut off.
    #[error("truncate the output")]
    TruncateOutput,
    /// The judge waits for a run's pipes.
    #[error("wait for the run's pipes")]
    WaitForPipes,
    /// Messages are moved between solution and interactor.
    #[error("move messages between the solution and the interactor")]
    MoveMessages,
    /// The judge waits for solution and interactor.
    #[error("wait for the solution and the interactor")]
    WaitForConversation,
    /// The results of a group's parts are written for its grader.
    #[error("write the grader's input")]
    WriteGraderInput,
    /// The input that a validator made for the next pass is stored.
    #[error("store the next pass's input")]
    StoreNextInput,
}

impl Step {
    pub(crate) fn find(path: &Path) -> Step {
        Step::FindFile(path.to_owned())
    }
}
