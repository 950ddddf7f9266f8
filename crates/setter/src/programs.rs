//! Compiles and runs programs of the package, several at the same time.

use super::error::{BuildFault, MachineError, ProgramFault};
use super::{Setter, SetterError};
use millibox_judge::batch::Worker;
use millibox_judge::failure::JudgeFailure;
use millibox_judge::tool::{self, ToolResult, ToolRun};
use millibox_languages::compile::{CompileError, Options};
use millibox_languages::program::{Executable, Limits};
use millibox_package::model::Program;
use millibox_package::{Constants, Problem};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::Duration;

/// Limits of a setter's own program. The program judges no submission, so these limits only ensure
/// that it ends.
pub(super) const SETTER_LIMITS: Limits = Limits {
    cpu_time: Duration::from_secs(60),
    real_time: Duration::from_secs(180),
    memory: 1 << 30,
    output: 1 << 30,
    processes: 64,
};

impl Setter<'_> {
    /// Compiles a program of the package.
    pub(super) fn compile(
        &self,
        problem: &Problem,
        program: &Program,
        include: Vec<PathBuf>,
        constants: &Constants,
    ) -> Result<Executable, SetterError> {
        let shown = |path: &Path| problem.shown(path);
        let fault = |fault: BuildFault| ProgramFault::Build {
            program: shown(&program.path),
            fault,
        };
        let suites = self.toolbox.suites();
        let suite = suites
            .for_sources(&program.sources, program.language.as_deref())
            .map_err(|mut error| {
                error.map_paths(shown);
                fault(BuildFault::Language(error))
            })?;
        let constants = constants.clone();
        let root = Some(problem.directory.clone());
        let options = Options {
            headers_beside: true,
            include,
            constants,
            root,
            ..Options::default()
        };
        let compilation = self.toolbox.compile(suite, &program.sources, &options);
        let mut executable = compilation.result.map_err(|mut error| {
            error.map_paths(shown);
            match error {
                CompileError::Internal(_) | CompileError::Unavailable(_) => {
                    SetterError::from(MachineError::Compiler {
                        program: shown(&program.path),
                        error,
                    })
                }
                error => {
                    let messages = compilation.messages.trim_end().to_owned();
                    fault(BuildFault::Rejected { error, messages }).into()
                }
            }
        })?;
        executable
            .argv
            .extend(program.arguments.iter().map(OsString::from));
        Ok(executable)
    }

    /// Runs a program until it ends.
    pub(super) fn run(&self, run: &ToolRun<'_>) -> Result<ToolResult, JudgeFailure> {
        tool::run(self.supervisor, run)
    }

    /// Does the work for every item, several items at a time, and returns the results in the order
    /// of the items.
    ///
    /// Each item is one step of the progress. `work` returns the step's line together with its
    /// result.
    pub(super) fn parallel<I: Sync, T: Send>(
        &self,
        what: &str,
        items: &[I],
        work: impl Fn(&mut Worker<'_>, &I) -> (String, T) + Sync,
    ) -> Vec<T> {
        self.progress.begin(what, items.len());
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::with_capacity(items.len()));
        let take_items = || {
            let mut worker = Worker::new(self.supervisor);
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else { break };
                let (line, result) = work(&mut worker, item);
                self.progress.step(&line);
                results
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((index, result));
            }
        };
        std::thread::scope(|scope| {
            // The calling thread is one of the threads. If no more threads can be started (ulimit
            // -u, pids.max), fewer threads do the same work.
            let others = 1..self.supervisor.info().slots().min(items.len());
            others
                .take_while(|_| Builder::new().spawn_scoped(scope, take_items).is_ok())
                .for_each(drop);
            take_items();
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// Separates results from errors. A failure of the machine takes precedence over faults of
/// programs, because it may be their cause.
pub(super) fn all<T>(
    results: impl IntoIterator<Item = Result<T, SetterError>>,
) -> Result<Vec<T>, SetterError> {
    let (mut good, mut faults) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(result) => good.push(result),
            Err(SetterError::Programs(more)) => faults.extend(more),
            Err(other) => return Err(other),
        }
    }
    if faults.is_empty() {
        Ok(good)
    } else {
        Err(SetterError::Programs(faults))
    }
}
