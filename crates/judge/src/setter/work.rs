//! Programs of the package, compiled and run, several at a time.

use super::{Setter, SetterError};
use crate::batch::{JudgeFailure, Worker, judge_run};
use crate::compile::{CompileError, Options};
use crate::convention::printable;
use crate::program::{Executable, Limits};
use crate::pump::{Input, Output, Sink, pump};
use crate::verdict::Verdict;
use millibox::World;
use millibox_package::model::Program;
use millibox_package::{Constants, Problem};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::Duration;

/// Bytes of a program's standard error that are kept.
const STDERR_BYTES: usize = 4096;

/// Limits of a program that the setter wrote and that nobody is judged by: it only must come to an end.
pub(super) const SETTER_LIMITS: Limits = Limits {
    cpu_time: Duration::from_secs(60),
    real_time: Duration::from_secs(180),
    memory: 1 << 30,
    output: 1 << 30,
    processes: 64,
};

/// One run.
pub(super) struct Job<'a> {
    pub executable: &'a Executable,
    pub world: &'a World,
    pub arguments: &'a [OsString],
    pub environment: &'a [(&'a str, String)],
    pub limits: &'a Limits,
    /// Without it, standard input is empty.
    pub input: Option<&'a File>,
    pub output: &'a File,
}

/// What came of it.
pub(super) struct Completed {
    /// Why it did not end well; in the run's words, with what it wrote to its standard error.
    pub failure: Option<String>,
    pub exit_code: Option<i32>,
}

impl Setter<'_> {
    /// Makes a program of the package ready to run.
    pub(super) fn compile(
        &self,
        problem: &Problem,
        program: &Program,
        include: Vec<PathBuf>,
        constants: &Constants,
    ) -> Result<Executable, SetterError> {
        let path = program.path.display();
        let suites = self.toolbox.suites();
        let suite = suites
            .for_sources(&program.sources, program.language.as_deref())
            .map_err(|error| SetterError::Programs(vec![format!("{path}: its language is not known: {error}")]))?;
        let constants = constants.clone();
        let root = Some(problem.directory.clone());
        let options = Options { headers_beside: true, include, constants, root, ..Options::default() };
        let compilation = self.toolbox.compile(suite, &program.sources, &options);
        let mut executable = compilation.result.map_err(|error| match error {
            CompileError::Judge(why) | CompileError::Unavailable(why) => SetterError::Machine(format!("{path}: {why}")),
            error => {
                let said = compilation.messages.trim_end();
                SetterError::Programs(vec![format!("{path}: {error}{}{said}", if said.is_empty() { "" } else { "\n" })])
            }
        })?;
        executable.argv.extend(program.arguments.iter().map(OsString::from));
        Ok(executable)
    }

    /// Runs a program to its end.
    pub(super) fn run(&self, job: &Job<'_>) -> Result<Completed, JudgeFailure> {
        let mut request = job.executable.request_in(job.world, job.limits, job.arguments);
        for (name, value) in job.environment {
            request = request.env(name, value);
        }
        let mut input = match job.input {
            None => Input::none(),
            Some(file) => {
                let (input, stdin) = Input::new(file.as_fd())?;
                request = request.stdin(stdin);
                input
            }
        };
        let mut said = Vec::new();
        let (stdout, its_stdout) = Output::new(Sink::File(job.output), job.limits.output)?;
        let (stderr, its_stderr) = Output::new(Sink::Head(&mut said, STDERR_BYTES), u64::MAX)?;
        let request = request.stdout(its_stdout).stderr(its_stderr);
        let handle = self.supervisor.run(&request)?;
        // Its ends of the pipes: with ours open, they would never break.
        drop(request);
        let result = pump(&handle, &mut input, &mut [stdout, stderr], None)?;
        let failure = match judge_run(&result, job.limits) {
            Some((Verdict::JudgeError, why)) => return Err(JudgeFailure(why)),
            Some((_, why)) => {
                let said = printable(&said, STDERR_BYTES);
                Some(if said.is_empty() { why } else { format!("{why}: {said}") })
            }
            None => None,
        };
        Ok(Completed { failure, exit_code: result.exit_code })
    }

    /// Does the work for every item, several at a time; what came of it, in the items' order. A step
    /// of the progress is told for each, in the words that come with its result.
    pub(super) fn parallel<I: Sync, T: Send>(
        &self,
        what: &str,
        items: &[I],
        work: impl Fn(&mut Worker<'_>, &I) -> (String, T) + Sync,
    ) -> Vec<T> {
        self.progress.begin(what, items.len());
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::with_capacity(items.len()));
        let one_after_the_other = || {
            let mut worker = Worker::new(self.supervisor);
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else { break };
                let (line, result) = work(&mut worker, item);
                self.progress.step(&line);
                results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            }
        };
        std::thread::scope(|scope| {
            // We are one of them. Where there are no more threads to be had (ulimit -u, pids.max), fewer do the same.
            let others = 1..self.supervisor.slots().min(items.len());
            others.take_while(|_| Builder::new().spawn_scoped(scope, one_after_the_other).is_ok()).for_each(drop);
            one_after_the_other();
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// Parts results from troubles. What the machine failed in goes before what programs failed in: it may
/// be the reason, and says nothing of the package.
pub(super) fn all<T>(results: impl IntoIterator<Item = Result<T, SetterError>>) -> Result<Vec<T>, SetterError> {
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(result) => good.push(result),
            Err(SetterError::Programs(messages)) => wrong.extend(messages),
            Err(other) => return Err(other),
        }
    }
    if wrong.is_empty() { Ok(good) } else { Err(SetterError::Programs(wrong)) }
}
