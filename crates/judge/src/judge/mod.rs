//! The judge as a whole: a package, its submissions, what is said of each.
//!
//! ```no_run
//! use millibox_judge::cache::Cache;
//! use millibox_judge::judge::{Judge, Machine, Options};
//! use millibox_judge::suite::Suites;
//!
//! let problem = millibox_package::read("problems/hello".as_ref())?;
//! let machine = Machine::start(millibox::Supervisor::builder(), None, &[])?;
//! let judge = Judge::new(&machine, Suites::builtin(), Cache::of_user()?, Options::default());
//! let prepared = judge.problem(problem, &mut |_| ())?;
//! for report in judge.submissions(&prepared, &prepared.problem().submissions, &mut |_| ()) {
//!     println!("{}: {:?}", report.name, report.verdict);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `machine` | the supervisor, and the one that takes its place if that is killed |
//! | `prepare` | all that a package needs before a submission is judged |
//! | `limits` | what a submission may use, and where that comes from |
//! | `measure` | time limits from the times of submissions that must be accepted |
//! | `choose` | which submissions are meant |
//! | `submission` | submissions: compiled, judged, reported |
//! | `pool` | the threads that do it |
//! | `pressure` | whether the machine had too few CPUs for its work |

mod choose;
mod limits;
mod machine;
mod measure;
mod pool;
mod prepare;
mod pressure;
mod submission;

pub use choose::choose;
pub use machine::{Machine, MachineError};
pub use prepare::{PackageError, PreparedProblem, TimeLimit};

use crate::interactive::Mode;
use crate::report::{SubmissionInfo, SubmissionReport};
use crate::scoring::Progress;
use machine::MAX_SUPERVISORS;
use millibox::Supervisor;
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Compilation, CompileError, Options as CompileOptions, Toolbox};
use millibox_languages::suite::{ChoiceError, Suite, Suites};
use millibox_package::Fault;
use millibox_package::model::{Problem, Submission};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// What a caller wants otherwise than the package.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// CPU time of every test, whatever the package says.
    pub time_limit: Option<Duration>,
    /// Memory of every test in bytes, whatever the package says.
    pub memory_limit: Option<u64>,
    /// Only tests whose names match are judged.
    pub tests: Option<glob::Pattern>,
    /// A submission's first test that is not accepted is its last.
    pub fail_fast: bool,
    /// How submission and interactor are joined.
    pub mode: Mode,
    /// Names of submissions that somebody wants to know of in particular. If their language cannot
    /// be used here, that is a judge error; all others are then skipped.
    pub named: Vec<String>,
}

/// What is told while the judge works, by any of its threads, one at a time.
#[derive(Debug)]
pub enum Event<'a> {
    /// To find a time limit, a submission is judged. What is [judged](Event::Judged) next is its
    /// tests.
    Measuring {
        /// Its name.
        name: &'a str,
    },
    /// A submission was compiled, or could not be. What is told next is of this one, until it has
    /// ended.
    Begun {
        /// Which, and how compiling went.
        about: &'a SubmissionInfo,
    },
    /// So many of its tests have been judged, in whatever order.
    Judged {
        /// Tests that have been judged.
        tests: usize,
        /// All tests.
        of: usize,
    },
    /// Of more of its tests, in their order, all is known.
    Settled {
        /// How far it has come.
        progress: &'a Progress<'a>,
    },
    /// All is known of the submission.
    Ended {
        /// What came of it.
        report: &'a SubmissionReport,
    },
}

/// Who is told.
pub type Observer<'a> = &'a mut (dyn FnMut(Event<'_>) + Send);

/// Judges submissions to problems, with the supervisors of one machine.
#[derive(Debug)]
pub struct Judge<'m> {
    machine: &'m Machine,
    suites: Suites,
    cache: Cache,
    options: Options,
    /// One for each supervisor: what is known of tools was found out with it.
    toolboxes: [OnceLock<Toolbox<'m>>; MAX_SUPERVISORS],
}

impl<'m> Judge<'m> {
    /// A judge that keeps what it compiles in `cache`.
    pub fn new(machine: &'m Machine, suites: Suites, cache: Cache, options: Options) -> Judge<'m> {
        Judge {
            machine,
            suites,
            cache,
            options,
            toolboxes: Default::default(),
        }
    }

    /// Where its programs run.
    pub fn machine(&self) -> &'m Machine {
        self.machine
    }

    /// Its suites.
    pub fn suites(&self) -> &Suites {
        &self.suites
    }

    /// Makes a problem ready: compiles its checker or interactor, lets the sandbox see its data,
    /// and measures the time limit if nobody states one.
    ///
    /// # Errors
    /// All that makes judging impossible.
    pub fn problem(
        &self,
        problem: Problem,
        observer: Observer<'_>,
    ) -> Result<PreparedProblem, PackageError> {
        let unpacked = problem.unpacked.clone();
        let prepared = self.prepare(problem).and_then(|mut prepared| {
            self.measure(&mut prepared, observer)?;
            Ok(prepared)
        });
        let Some(unpacked) = unpacked else {
            return prepared;
        };
        let shown = |faults: Vec<Fault>| {
            faults
                .into_iter()
                .map(|fault| unpacked.fault(fault))
                .collect()
        };
        match prepared {
            Ok(prepared) => Ok(PreparedProblem {
                warnings: shown(prepared.warnings),
                ..prepared
            }),
            Err(PackageError { faults, messages }) => {
                let messages = messages
                    .into_iter()
                    .map(|(path, said)| (unpacked.shown(&path), said))
                    .collect();
                Err(PackageError {
                    faults: shown(faults),
                    messages,
                })
            }
        }
    }

    /// The suite that a submission is meant for.
    ///
    /// # Errors
    /// There is none; the error says why.
    pub fn suite_of(&self, submission: &Submission) -> Result<&Suite, ChoiceError> {
        let program = &submission.program;
        self.suites
            .for_sources(&program.sources, program.language.as_deref())
    }

    fn compile(&self, suite: &Suite, sources: &[PathBuf], options: &CompileOptions) -> Compilation {
        let failed = |compilation: &Compilation| {
            matches!(compilation.result, Err(CompileError::Internal(_)))
        };
        self.machine.attempt(failed, |generation, supervisor| {
            self.toolbox(generation, supervisor)
                .compile(suite, sources, options)
        })
    }

    fn toolbox(&self, generation: usize, supervisor: &'m Supervisor) -> &Toolbox<'m> {
        self.toolboxes[generation]
            .get_or_init(|| Toolbox::new(supervisor, self.suites.clone(), self.cache.clone()))
    }
}
