//! One submission: compiled, judged, reported.

use super::tests::{Round, Told};
use super::{Event, Judge, Observer, Prepared};
use crate::compile::{Compilation, CompileError, Options as CompileOptions};
use crate::scoring::Progress;
use crate::suite::Suite;
use millibox_package::model::{Problem, Submission, Test};
use std::path::PathBuf;

/// What came of a submission.
#[derive(Debug)]
pub struct Submitted<'p> {
    pub suite: Option<String>,
    pub compilation: Compilation,
    pub progress: Progress<'p>,
}

struct Teller<'a> {
    observer: Observer<'a>,
    tests: &'a [&'a Test],
}

impl Told for Teller<'_> {
    fn judged(&mut self, tests: usize) {
        (self.observer)(Event::Progress { judged: tests, tests: self.tests.len() });
    }

    fn settled(&mut self, index: usize, progress: &Progress<'_>) {
        (self.observer)(Event::Test { test: self.tests[index], index, progress });
    }
}

impl Judge<'_> {
    /// Judges a submission. Whatever goes wrong is in what comes back.
    pub fn submission<'p>(
        &self,
        prepared: &'p Prepared,
        submission: &Submission,
        observer: Observer<'_>,
    ) -> Submitted<'p> {
        observer(Event::Compiling { submission });
        let compilation = self.compile_submission(&prepared.problem, submission);
        observer(Event::Compiled { compilation: &compilation });
        let mut progress = Progress::new(&prepared.plan);
        if self.options.fail_fast {
            progress = progress.fail_fast();
        }
        if let Ok(executable) = &compilation.result {
            let tests: Vec<&Test> = prepared.problem.tests().collect();
            let round = Round {
                machine: self.machine,
                prepared,
                executable,
                limits: &prepared.limits,
                mode: self.options.mode,
            };
            round.judge(&mut progress, &mut Teller { observer, tests: &tests });
        }
        let suite = self.suite_of(submission).ok().map(|suite| suite.title.clone());
        Submitted { suite, compilation, progress }
    }

    /// Compiles a submission with the files and limits of the problem.
    pub(super) fn compile_submission(&self, problem: &Problem, submission: &Submission) -> Compilation {
        let program = &submission.program;
        let failed =
            |error| Compilation { messages: String::new(), from_cache: false, figures: None, result: Err(error) };
        let suite = match self.suite_of(submission) {
            Ok(suite) => suite,
            Err(why) => return failed(CompileError::Judge(why)),
        };
        if let Some(limit) = problem.limits.code {
            let lengths = program.sources.iter().filter_map(|source| source.metadata().ok()).map(|file| file.len());
            let length: u64 = lengths.sum();
            if length > limit {
                let why = format!("its sources have {length} bytes, and the problem allows {limit}");
                return failed(CompileError::Refused(why));
            }
        }
        let options = CompileOptions {
            cpu_time: problem.limits.compilation_time,
            memory: problem.limits.compilation_memory,
            include: self.include(problem, suite),
            ..CompileOptions::default()
        };
        let mut compilation = self.compile(suite, &program.sources, &options);
        if let Ok(executable) = &mut compilation.result {
            executable.argv.extend(program.arguments.iter().map(Into::into));
        }
        compilation
    }

    /// The directory of files that the problem adds to submissions in this language.
    fn include(&self, problem: &Problem, suite: &Suite) -> Option<PathBuf> {
        let directory = problem.include.as_ref()?;
        let entries =
            std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        let means = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            self.suites.named(name).is_ok_and(|named| named.language == suite.language)
        };
        entries.filter(means).min().or_else(|| Some(directory.join("default")).filter(|path| path.is_dir()))
    }
}
