//! Submissions: compiled, judged, reported.

use super::pool::{Entry, Pool, Told};
use super::{Event, Judge, Observer, Prepared};
use crate::compile::{Compilation, CompileError, Options as CompileOptions};
use crate::program::Limits;
use crate::report::{
    JudgeReport, LimitsReport, Machine, ProblemReport, SubmissionInfo, SubmissionReport, VERSION,
    WarningReport, nanoseconds,
};
use crate::scoring::Progress;
use crate::suite::Suite;
use crate::verdict::Verdict;
use millibox_package::model::{Problem, Submission};
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

struct Teller<'o, 'a> {
    observer: Observer<'o>,
    prepared: &'a Prepared,
    named: &'a [String],
}

impl Told for Teller<'_, '_> {
    fn begun(&mut self, about: &SubmissionInfo) {
        (self.observer)(Event::Begun { about });
    }

    fn judged(&mut self, tests: usize) {
        (self.observer)(Event::Judged {
            tests,
            of: self.prepared.plan.len(),
        });
    }

    fn settled(&mut self, progress: &Progress<'_>) {
        (self.observer)(Event::Settled { progress });
    }

    fn ended(&mut self, entry: &Entry<'_>) {
        (self.observer)(Event::Ended {
            report: &report(entry, self.named),
        });
    }
}

/// The limits that most tests have.
fn usual(limits: &[Limits]) -> Limits {
    let times = |one: &Limits| limits.iter().filter(|other| *other == one).count();
    // Of several, the first.
    let most = limits.iter().rev().max_by_key(|one| times(one));
    *most.expect("a problem has tests")
}

/// What came of a submission.
fn report(entry: &Entry<'_>, named: &[String]) -> SubmissionReport {
    let about = entry.about.clone();
    match &entry.error {
        None => SubmissionReport::judged(about, &entry.progress),
        Some(CompileError::Unavailable(why)) if !named.contains(&about.name) => {
            SubmissionReport::skipped(about, entry.progress.plan(), why)
        }
        Some(CompileError::Judge(why) | CompileError::Unavailable(why)) => {
            SubmissionReport::not_run(about, entry.progress.plan(), Verdict::JudgeError, why)
        }
        Some(error) => SubmissionReport::not_run(
            about,
            entry.progress.plan(),
            Verdict::CompileError,
            error.to_string(),
        ),
    }
}

impl Judge<'_> {
    /// Judges a submission. Whatever goes wrong is in its report, and never a verdict on the
    /// submission.
    pub fn submission(
        &self,
        prepared: &Prepared,
        submission: &Submission,
        observer: Observer<'_>,
    ) -> SubmissionReport {
        let mut reports = self.submissions(prepared, std::slice::from_ref(submission), observer);
        reports.pop().expect("a report of each submission")
    }

    /// Judges submissions, several at a time if that keeps all CPUs busy. Told and reported is what
    /// judging one after the other would find, in their order.
    pub fn submissions(
        &self,
        prepared: &Prepared,
        submissions: &[Submission],
        observer: Observer<'_>,
    ) -> Vec<SubmissionReport> {
        let submissions: Vec<&Submission> = submissions.iter().collect();
        let pool = Pool {
            judge: self,
            prepared,
            limits: &prepared.limits,
            fail_fast: self.options.fail_fast,
            submissions: &submissions,
        };
        let named = &self.options.named;
        let entries = pool.judge(&mut Teller {
            observer,
            prepared,
            named,
        });
        entries.iter().map(|entry| report(entry, named)).collect()
    }

    /// The whole report: `submissions` are those that were judged on this problem since `began`.
    pub fn report(
        &self,
        prepared: &Prepared,
        submissions: Vec<SubmissionReport>,
        began: Instant,
    ) -> JudgeReport {
        // The wall's clock may have been set meanwhile, so it is not what time is measured by.
        let took = began.elapsed();
        JudgeReport {
            version: VERSION,
            problem: ProblemReport::from(&prepared.problem),
            machine: Machine::here(self.machine.supervisor().info().backend()),
            limits: LimitsReport::from(&usual(&prepared.limits)),
            warnings: prepared.warnings().map(WarningReport::from).collect(),
            started: SystemTime::now()
                .checked_sub(took)
                .unwrap_or(SystemTime::UNIX_EPOCH),
            duration_ns: nanoseconds(took),
            submissions,
        }
    }

    /// Compiles a submission with the files and limits of the problem.
    pub(super) fn compile_submission(
        &self,
        problem: &Problem,
        submission: &Submission,
        cpus: Vec<usize>,
    ) -> Compilation {
        let program = &submission.program;
        let suite = match self.suite_of(submission) {
            Ok(suite) => suite,
            Err(why) => {
                let mut text = problem.shown_in(why.to_string());
                if program.language.is_none() && !program.sources.is_empty() {
                    text += "; or name the submission, and its language with --language";
                }
                let error = if why.is_unknown_language() {
                    CompileError::Unavailable
                } else {
                    CompileError::Refused
                };
                return Compilation::none(error(text));
            }
        };
        if let Some(limit) = problem.limits.code {
            let lengths = program
                .sources
                .iter()
                .filter_map(|source| source.metadata().ok())
                .map(|file| file.len());
            let length: u64 = lengths.sum();
            if length > limit {
                let why =
                    format!("its sources have {length} bytes, and the problem allows {limit}");
                return Compilation::none(CompileError::Refused(why));
            }
        }
        let options = CompileOptions {
            cpu_time: problem.limits.compilation_time,
            memory: problem.limits.compilation_memory,
            include: self.include(problem, suite),
            constants: problem.constants.clone(),
            constants_in_include_only: !problem
                .submissions
                .iter()
                .any(|known| known.program.path == program.path),
            root: Some(problem.directory.clone()),
            cpus,
            ..CompileOptions::default()
        };
        let mut compilation = self.compile(suite, &program.sources, &options);
        match &mut compilation.result {
            Ok(executable) => executable
                .argv
                .extend(program.arguments.iter().map(Into::into)),
            Err(CompileError::Judge(why) | CompileError::Refused(why)) => {
                *why = problem.shown_in(std::mem::take(why))
            }
            Err(_) => {}
        }
        compilation
    }

    /// The directories of files that the problem adds to submissions in this language: those for
    /// all languages, and then the language's, which are put in place of these.
    fn include(&self, problem: &Problem, suite: &Suite) -> Vec<PathBuf> {
        let Some(directory) = &problem.include else {
            return Vec::new();
        };
        let entries = std::fs::read_dir(directory)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let means = |path: &PathBuf| {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            self.suites
                .named(name)
                .is_ok_and(|named| named.language == suite.language)
        };
        let own = entries.filter(|path| path.is_dir()).filter(means).min();
        let for_all = Some(directory.join("default")).filter(|path| path.is_dir());
        for_all.into_iter().chain(own).collect()
    }
}
