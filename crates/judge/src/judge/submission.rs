//! One submission: compiled, judged, reported.

use super::tests::{Judged, Plan, Round, Told};
use super::{Event, Judge, Observer, Prepared};
use crate::compile::{Compilation, CompileError, Options as CompileOptions};
use crate::suite::Suite;
use crate::verdict::{TestResult, Verdict};
use millibox_package::model::{Expected, Problem, Submission, Test};
use std::path::PathBuf;

pub struct SubmissionReport {
    pub verdict: Verdict,
    pub reason: String,
    pub tests: Vec<Option<Judged>>,
}

struct Interim {
    first: Option<usize>,
}

impl Plan for Interim {
    fn needs(&self, test: usize) -> bool {
        self.first.is_none_or(|first| test <= first)
    }

    fn take(&mut self, test: usize, result: &TestResult) {
        if result.verdict != Verdict::Accepted {
            self.first = Some(self.first.map_or(test, |first| first.min(test)));
        }
    }
}

struct Teller<'a> {
    observer: Observer<'a>,
    tests: &'a [&'a Test],
}

impl Told for Teller<'_> {
    fn judged(&mut self, tests: usize) {
        (self.observer)(Event::Progress { judged: tests, tests: self.tests.len() });
    }

    fn next(&mut self, test: usize, judged: Option<&Judged>) {
        (self.observer)(Event::Test { test: self.tests[test], judged });
    }
}

impl Judge<'_> {
    /// Judges a submission.
    pub fn submission(&self, prepared: &Prepared, submission: &Submission, observer: Observer<'_>) -> SubmissionReport {
        observer(Event::Compiling { submission });
        let compilation = self.compile_submission(&prepared.problem, submission);
        observer(Event::Compiled { compilation: &compilation });
        let failed = |verdict, reason: String| SubmissionReport { verdict, reason, tests: Vec::new() };
        let executable = match &compilation.result {
            Ok(executable) => executable,
            Err(CompileError::Judge(why)) => return failed(Verdict::JudgeError, why.clone()),
            Err(error) => return failed(Verdict::CompileError, error.to_string()),
        };
        let tests: Vec<&Test> = prepared.problem.tests().collect();
        let round =
            Round { machine: self.machine, prepared, executable, limits: &prepared.limits, mode: self.options.mode };
        let tests = round.judge(&mut Interim { first: None }, &mut Teller { observer, tests: &tests });
        let verdict = tests.iter().flatten().map(|judged| judged.result.verdict).max().unwrap_or(Verdict::Accepted);
        SubmissionReport { verdict, reason: String::new(), tests }
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

/// Whether a verdict is one of those that are expected; of nothing expected, anything is.
pub fn is_expected(verdict: Verdict, expected: &[Expected]) -> bool {
    expected.is_empty()
        || expected.iter().any(|expected| match expected {
            Expected::Accepted | Expected::PartiallyAccepted => verdict == Verdict::Accepted,
            Expected::WrongAnswer => verdict == Verdict::WrongAnswer,
            Expected::TimeLimit => verdict == Verdict::TimeLimit,
            Expected::RunTimeError => verdict == Verdict::RunTimeError,
            Expected::MemoryLimit => verdict == Verdict::MemoryLimit,
            Expected::OutputLimit => verdict == Verdict::OutputLimit,
            Expected::CompileError => verdict == Verdict::CompileError,
            Expected::Rejected => !matches!(verdict, Verdict::Accepted | Verdict::JudgeError),
        })
}
