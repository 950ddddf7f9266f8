//! The judge itself, with its suites and compilers.

use super::machine::{MAX_SUPERVISORS, Machine};
use super::options::Options;
use millibox::Supervisor;
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Compilation, CompileError, Options as CompileOptions, Toolbox};
use millibox_languages::suite::{ChoiceError, Suite, Suites};
use millibox_package::model::Submission;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Judges submissions to problems, with the supervisors of one machine.
///
/// Threads may share a judge. A call that judges submissions returns when all their results are
/// final, when its [`CancelToken`](crate::cancel::CancelToken) is cancelled, or when the machine is
/// stopped.
#[derive(Debug)]
pub struct Judge<'m> {
    pub(super) machine: &'m Machine,
    pub(super) suites: Suites,
    cache: Cache,
    pub(super) options: Options,
    /// One toolbox for each supervisor, because a toolbox tests its tools with that supervisor.
    toolboxes: [OnceLock<Toolbox<'m>>; MAX_SUPERVISORS],
}

impl<'m> Judge<'m> {
    /// Creates a judge that stores compiled programs in `cache`.
    pub fn new(machine: &'m Machine, suites: Suites, cache: Cache, options: Options) -> Judge<'m> {
        Judge {
            machine,
            suites,
            cache,
            options,
            toolboxes: Default::default(),
        }
    }

    /// The machine on which programs run.
    pub fn machine(&self) -> &'m Machine {
        self.machine
    }

    /// The language suites.
    pub fn suites(&self) -> &Suites {
        &self.suites
    }

    /// Returns the suite that compiles and runs a submission.
    ///
    /// # Errors
    /// No suite fits. The error gives the reason.
    pub fn suite_of(&self, submission: &Submission) -> Result<&Suite, ChoiceError> {
        let program = &submission.program;
        self.suites
            .for_sources(&program.sources, program.language.as_deref())
    }

    /// Compiles sources. If the supervisor dies during the compilation, compiles them with the next
    /// one.
    pub(super) fn compile(
        &self,
        suite: &Suite,
        sources: &[PathBuf],
        options: &CompileOptions,
    ) -> Compilation {
        let failed = |compilation: &Compilation| {
            matches!(compilation.result, Err(CompileError::Internal(_)))
        };
        self.machine.attempt(failed, |generation, supervisor| {
            self.toolbox(generation, supervisor)
                .compile(suite, sources, options)
        })
    }

    pub(super) fn toolbox(&self, generation: usize, supervisor: &'m Supervisor) -> &Toolbox<'m> {
        self.toolboxes[generation]
            .get_or_init(|| Toolbox::new(supervisor, self.suites.clone(), self.cache.clone()))
    }
}
