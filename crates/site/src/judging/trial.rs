//! Runs of sources on custom input, in a separate sandbox.
//!
//! One thread runs them one after another, apart from the queue of judgements, so that many trials
//! cannot delay judging. Users take turns, and each has at most one trial that waits.

use crate::core::lane::{Bounds, Lane, LaneError, Turn};
use crate::core::party::Party;
use crate::core::protocol::cut;
use millibox::Builder;
use millibox_judge::failure::JudgeFailure;
use millibox_judge::judge::Machine;
use millibox_judge::tool::{self, ToolRun};
use millibox_languages::cache::Cache;
use millibox_languages::compile::{CompileError, Options, Toolbox};
use millibox_languages::files::SourceFile;
use millibox_languages::program::Limits;
use millibox_languages::suite::{ChoiceError, Suites};
use std::io::{Read, Seek, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// One trial runs, and each user has at most one that waits.
const BOUNDS: Bounds = Bounds {
    turns: 1,
    turns_of_key: 1,
    waiting: 256,
    waiting_of_key: 1,
};
/// The pause after a failure to start a supervisor.
const RESTART_PAUSE: Duration = Duration::from_secs(5);
/// The maximum number of bytes of compilers' messages that are shown.
const MAX_MESSAGES: usize = 16 << 10;
/// The maximum number of bytes of output that are shown.
pub const MAX_OUTPUT: usize = 64 << 10;

/// A source with an input.
#[derive(Debug)]
pub struct Trial {
    /// The name of the language.
    pub language: String,
    /// The name of the source.
    pub file_name: String,
    /// The source.
    pub source: Vec<u8>,
    /// The input.
    pub input: Vec<u8>,
    /// The limits of the run.
    pub limits: Limits,
}

/// The result of a trial.
#[derive(Debug)]
pub enum Tried {
    /// The compiler rejects the source.
    Rejected {
        /// The compiler's messages.
        messages: String,
    },
    /// The program has run.
    Ran {
        /// The beginning of its output.
        output: String,
        /// Why the program failed, with the beginning of its standard error.
        failure: Option<String>,
    },
}

/// Why a trial has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// Too many trials wait, or one of the same user does.
    #[error("too many trials wait")]
    Busy(#[from] LaneError),
    /// The thread ended before the trial had a result.
    #[error("the thread of the trials has ended")]
    Ended,
    /// The language is unknown here.
    #[error(transparent)]
    Language(#[from] ChoiceError),
    /// The compiler cannot be used.
    #[error(transparent)]
    Compiler(CompileError),
    /// The sandbox failed.
    #[error(transparent)]
    Judge(#[from] JudgeFailure),
    /// The input or the output cannot be copied.
    #[error(transparent)]
    File(#[from] std::io::Error),
}

/// A trial in its turn. The turn lasts until the end of the run, even if the browser no longer
/// waits.
struct Begun {
    trial: Trial,
    sender: oneshot::Sender<Result<Tried, TrialError>>,
    turn: Turn<Party>,
}

/// The trials of a site.
#[derive(Debug)]
pub struct Trials {
    lane: Lane<Party>,
    begun: mpsc::Sender<Begun>,
    receiver: Mutex<Option<mpsc::Receiver<Begun>>>,
}

impl Trials {
    /// Trials that wait until [`Trials::start`].
    pub fn new() -> Trials {
        let (begun, receiver) = mpsc::channel(BOUNDS.turns);
        Trials {
            lane: Lane::new(BOUNDS),
            begun,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    /// Runs a trial of a user.
    ///
    /// # Errors
    /// Too many trials wait, or the machine fails.
    pub async fn run(&self, user: i64, trial: Trial) -> Result<Tried, TrialError> {
        let turn = self.lane.turn(Party::User(user)).await?;
        let (sender, result) = oneshot::channel();
        let begun = Begun {
            trial,
            sender,
            turn,
        };
        let sent = self.begun.send(begun).await;
        sent.map_err(|_| TrialError::Ended)?;
        result.await.map_err(|_| TrialError::Ended)?
    }

    /// Starts the thread, on a CPU. The thread ends with the process.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        &self,
        builder: Builder,
        suites: Suites,
        cache: Cache,
        cpu: usize,
    ) -> std::io::Result<()> {
        let mut receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut receiver) = receiver.take() else {
            return Ok(());
        };
        let work = move || {
            loop {
                match Machine::start(builder.clone(), Some(1), &[cpu]) {
                    Ok(machine) => {
                        if !work_with(&machine, &suites, &cache, &mut receiver) {
                            return;
                        }
                    }
                    Err(error) => {
                        tracing::error!(%error, "cannot start a supervisor");
                        std::thread::sleep(RESTART_PAUSE);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("trials".to_owned());
        thread.spawn(work)?;
        Ok(())
    }
}

/// Runs trials until the machine must be replaced. Returns false if the site ends.
fn work_with(
    machine: &Machine,
    suites: &Suites,
    cache: &Cache,
    receiver: &mut mpsc::Receiver<Begun>,
) -> bool {
    let toolbox = Toolbox::new(machine.supervisor(), suites.clone(), cache.clone());
    while let Some(begun) = receiver.blocking_recv() {
        let Begun {
            trial,
            sender,
            turn: _turn,
        } = begun;
        if sender.is_closed() {
            // The browser no longer waits.
            continue;
        }
        let result = try_out(machine, &toolbox, trial);
        let has_failed = result.is_err();
        let _ = sender.send(result);
        if has_failed {
            return true;
        }
    }
    false
}

fn try_out(machine: &Machine, toolbox: &Toolbox<'_>, trial: Trial) -> Result<Tried, TrialError> {
    let suite = toolbox.suites().named(&trial.language)?;
    let source = SourceFile::new(&trial.file_name, trial.source);
    let compilation = toolbox.compile_files(suite, vec![source], &Options::default());
    let executable = match compilation.result {
        Ok(executable) => executable,
        Err(error) if error.is_compile_error() => {
            let messages = cut(&compilation.messages, MAX_MESSAGES).to_owned();
            return Ok(Tried::Rejected { messages });
        }
        Err(error) => return Err(TrialError::Compiler(error)),
    };
    let mut input = tool::memory_file()?;
    let mut output = tool::memory_file()?;
    input.write_all(&trial.input)?;
    input.rewind()?;
    let run = ToolRun {
        executable: &executable,
        world: &executable.world,
        arguments: &[],
        environment: &[],
        limits: &trial.limits,
        input: Some(&input),
        output: &output,
    };
    let result = tool::run(machine.supervisor(), &run)?;
    let mut shown = Vec::new();
    let limit = u64::try_from(MAX_OUTPUT).unwrap_or(u64::MAX);
    output.rewind()?;
    output.take(limit).read_to_end(&mut shown)?;
    Ok(Tried::Ran {
        output: String::from_utf8_lossy(&shown).into_owned(),
        failure: result.failure.map(|failure| failure.to_string()),
    })
}
