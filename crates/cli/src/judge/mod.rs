//! `millibox judge`: judges submissions of a package, or other files.
//!
//! | file | content |
//! | --- | --- |
//! | `options` | the command line |
//! | `reports` | files of `--report` |
//! | `show` | the output during judging |

mod options;
mod reports;
pub mod show;

pub use options::Args;

use crate::PROGRAM;
use crate::failure::{Failure, answer, complain};
use crate::judge_setup::{JudgeSetup, check_package_path};
use crate::run::usable_cpus;
use crate::signals::Signals;
use millibox_judge::interactive::Mode;
use millibox_judge::judge::{Judge, Machine, Options, PreparedProblem, TimeLimit, choose};
use millibox_judge::report::{JudgeReport, SubmissionReport, counted, line};
use millibox_judge::verdict::Verdict;
use millibox_package::Problem;
use millibox_package::model::{Expected, Submission};
use reports::Reports;
use show::{Detail, Show, Stream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Exit status if a verdict is not the expected one.
const UNEXPECTED_STATUS: u8 = 1;
/// Exit status if the package is faulty or a judge error occurred.
const NOT_JUDGED_STATUS: u8 = 2;

/// Why nothing was judged.
enum NotJudged {
    /// An option is wrong, or the command failed.
    Failed(Failure),
    /// The package cannot be judged. The message names its files.
    Package(String),
}

impl From<Failure> for NotJudged {
    fn from(failure: Failure) -> NotJudged {
        NotJudged::Failed(failure)
    }
}

impl NotJudged {
    /// Prints the reason for people.
    fn print(self) -> Result<ExitCode, Failure> {
        match self {
            NotJudged::Failed(failure) => Err(failure),
            NotJudged::Package(message) => {
                complain(message);
                Ok(ExitCode::from(NOT_JUDGED_STATUS))
            }
        }
    }

    /// Prints the reason for a binding.
    fn print_json(self) -> Result<ExitCode, Failure> {
        let (step, message, status) = match self {
            NotJudged::Failed(failure) => (failure.step, failure.message, failure.status),
            NotJudged::Package(message) => ("package", message, NOT_JUDGED_STATUS),
        };
        answer(serde_json::json!({"error": {"step": step, "message": message}}))?;
        Ok(ExitCode::from(status))
    }
}

/// Runs the subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    let signals = Signals::catch(PROGRAM)?;
    if args.for_binding {
        signals.terminate_at_end_of_input()?;
        judge(args, &signals).or_else(NotJudged::print_json)
    } else {
        judge(args, &signals).or_else(NotJudged::print)
    }
}

fn judge(args: &Args, signals: &Signals) -> Result<ExitCode, NotJudged> {
    if args.language.is_some() && args.submissions.is_empty() {
        let why = "--language: applies to named submissions; name a SUBMISSION after the package";
        return Err(Failure::option(why).into());
    }
    check_package_path(&args.package).map_err(NotJudged::Package)?;
    // A signal ends the process at once here, because no temporary file exists yet.
    let mut reports = signals.may_wait(|| Reports::open(&args.report))?;
    let problem = millibox_package::read(&args.package)
        .map_err(|faults| NotJudged::Package(faults.to_string()))?;
    let (submissions, named) = submissions(args, &problem)?;
    let of_package = |one: &&Submission| {
        problem
            .submissions
            .iter()
            .any(|known| known.name == one.name)
    };
    let foreign: Vec<String> = submissions
        .iter()
        .filter(|one| !of_package(one))
        .map(|one| one.name.clone())
        .collect();
    let detail = args.detail(submissions.len());
    let stream = if reports.use_stdout() {
        Stream::Stderr
    } else {
        Stream::Stdout
    };
    let cpus = args
        .cpus
        .as_ref()
        .map(|cpus| usable_cpus(&cpus.0))
        .transpose()?
        .unwrap_or_default();
    let JudgeSetup {
        machine,
        suites,
        cache,
    } = JudgeSetup::open(&args.work, None, &cpus, signals)?;
    if let Some(language) = &args.language {
        suites
            .named(language)
            .map_err(|error| Failure::option(format!("--language: {error}")))?;
    }

    let options = Options {
        time_limit: args.time_limit,
        memory_limit: args.memory_limit,
        tests: args.tests.clone(),
        fail_fast: args.fail_fast,
        prepared: args.prepared,
        mode: if args.relay {
            Mode::Relay
        } else {
            Mode::Direct
        },
        named,
    };
    let judge = Judge::new(&machine, suites, cache, options);
    let began = Instant::now();
    let bar = show::bar();
    let prepared = judge.problem(problem, &mut |event| show::measuring(&bar, &event));
    let status = match prepared {
        Err(why) => {
            bar.finish_and_clear();
            if signals.caught().is_none() {
                signals.forget();
                return Err(NotJudged::Package(why.to_string()));
            }
            NOT_JUDGED_STATUS
        }
        Ok(prepared) => {
            let names = submissions
                .iter()
                .map(|submission| submission.name.as_str());
            let mut show = Show::new(prepared.plan(), detail, stream, bar, machine.clone(), names)
                .with_foreign(&foreign);
            for warning in prepared.warnings() {
                show.warning(&warning.to_string());
            }
            if detail != Detail::Quiet {
                show.line(&heading(&prepared, &machine));
            }
            let judged = judge.submissions(&prepared, &submissions, &mut |event| show.event(event));
            let report = judge.report(&prepared, judged, began);
            if detail != Detail::Quiet && report.submissions.len() > 1 {
                show.line(&summary(&report));
            }
            if detail == Detail::Quiet
                && report.submissions.iter().all(SubmissionReport::is_skipped)
            {
                show.warning(&all_skipped(&report));
            }
            let written = show.finish();
            if signals.caught().is_none() {
                written?;
            }
            // Remove the temporary directories first: during the write below, a signal ends the
            // process at once.
            drop((prepared, judge));
            signals.forget();
            signals.may_wait(|| reports.write(&report))?;
            status(&foreign, &report)
        }
    };
    signals.forget();
    Ok(signals
        .ended("the running programs were killed")
        .unwrap_or(ExitCode::from(status)))
}

/// The requested submissions, and the names of those that the user named directly instead of by
/// their folder.
fn submissions(args: &Args, problem: &Problem) -> Result<(Vec<Submission>, Vec<String>), Failure> {
    let (mut submissions, mut names) = (Vec::new(), Vec::new());
    if args.submissions.is_empty() {
        submissions.clone_from(&problem.submissions);
    }
    for named in &args.submissions {
        let chosen = choose(problem, named, args.language.as_deref()).map_err(Failure::option)?;
        // A submission that is named twice, directly or by its folder, is judged once.
        for submission in chosen {
            if is_named(&submission, named) {
                names.push(submission.name.clone());
            }
            if !submissions
                .iter()
                .any(|known: &Submission| known.program.path == submission.program.path)
            {
                submissions.push(submission);
            }
        }
    }
    if submissions.is_empty() {
        let why = format!(
            "{} has no submissions; name a SUBMISSION after it",
            args.package.display()
        );
        return Err(Failure {
            status: NOT_JUDGED_STATUS,
            ..Failure::option(why)
        });
    }
    if args.tests.is_some() {
        for submission in &mut submissions {
            // A submission that must fail on some test may pass the chosen ones.
            if submission.expected != [Expected::Accepted] {
                submission.expected.clear();
            }
            submission.required.clear();
            // The expected score applies to all tests.
            submission.score = None;
        }
    }
    Ok((submissions, names))
}

/// Whether the user named this submission itself, not its folder.
fn is_named(submission: &Submission, named: &Path) -> bool {
    let same = |path: &Path| {
        path.canonicalize()
            .is_ok_and(|path| named.canonicalize().is_ok_and(|named| named == path))
    };
    Path::new(&submission.name).ends_with(named) || same(&submission.program.path)
}

/// The heading: problem, limits and machine.
pub fn heading(prepared: &PreparedProblem, machine: &Machine) -> String {
    let problem = prepared.problem();
    let times = prepared.limits().iter().map(|limits| limits.cpu_time);
    let seconds = |time: Option<std::time::Duration>| time.unwrap_or_default().as_secs_f64();
    let (shortest, longest) = (seconds(times.clone().min()), seconds(times.max()));
    let time = if shortest == longest {
        format!("{longest} s")
    } else {
        format!("{shortest} to {longest} s")
    };
    let from = match prepared.time_limit() {
        TimeLimit::Option => "--time-limit".to_owned(),
        TimeLimit::Package => "from the package".to_owned(),
        TimeLimit::Measured(how) => how.clone(),
    };
    let memory = prepared
        .limits()
        .iter()
        .map(|limits| limits.memory)
        .max()
        .unwrap_or_default()
        >> 20;
    let cpus: Vec<String> = machine.cpus().iter().map(ToString::to_string).collect();
    format!(
        "{}: {}; time limit {time} ({from}), memory limit {memory} MiB; CPU {}, backend {}\n",
        line(&problem.name),
        counted(problem.tests().count(), "test"),
        cpus.join(","),
        machine.supervisor().info().backend()
    )
}

/// The number of submissions for each kind of verdict.
pub fn summary(report: &JudgeReport) -> String {
    let all = report.submissions.len();
    let count = |is: &dyn Fn(&SubmissionReport) -> bool| {
        report.submissions.iter().filter(|one| is(one)).count()
    };
    let parts = [
        (count(&|one| one.as_expected == Some(true)), "as expected"),
        (count(&|one| one.as_expected == Some(false)), "UNEXPECTED"),
        (
            count(&|one| one.verdict == Some(Verdict::JudgeError)),
            "not judged: judge errors",
        ),
        (
            count(&|one| one.is_skipped()),
            "skipped: their languages cannot be used here",
        ),
        (
            count(&|one| one.verdict.is_none() && !one.is_skipped()),
            "interrupted",
        ),
    ];
    let mut parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let mut others: Vec<(&str, usize)> = Vec::new();
    let has_verdict =
        |one: &&SubmissionReport| !matches!(one.verdict, None | Some(Verdict::JudgeError));
    for one in report
        .submissions
        .iter()
        .filter(has_verdict)
        .filter(|one| one.as_expected.is_none())
    {
        match others.iter_mut().find(|(words, _)| *words == one.words()) {
            Some((_, count)) => *count += 1,
            None => others.push((one.words(), 1)),
        }
    }
    if !others.is_empty() {
        let number: usize = others.iter().map(|(_, count)| count).sum();
        let verdicts: Vec<String> = others
            .iter()
            .map(|(words, count)| format!("{count} {words}"))
            .collect();
        parts.push(format!(
            "{number} without an expectation ({})",
            verdicts.join(", ")
        ));
    }
    format!("\n{all} submissions: {}", parts.join(", "))
}

/// The warning if all submissions were skipped because of their languages.
fn all_skipped(report: &JudgeReport) -> String {
    let reason = report
        .submissions
        .first()
        .map_or("", |one| one.reason.as_str());
    let all = match report.submissions.len() {
        1 => "the one submission was".to_owned(),
        all => format!("all {all} submissions were"),
    };
    format!(
        "millibox: nothing was judged: {all} skipped, because their languages cannot be used \
         here: {reason}"
    )
}

/// The exit status. `foreign` has the names of submissions from outside the package.
fn status(foreign: &[String], report: &JudgeReport) -> u8 {
    let rejected = |one: &SubmissionReport| {
        foreign.contains(&one.name) && one.verdict != Some(Verdict::Accepted)
    };
    if report.failed() {
        NOT_JUDGED_STATUS
    } else if report.unexpected().next().is_some() || report.submissions.iter().any(rejected) {
        UNEXPECTED_STATUS
    } else {
        0
    }
}

impl Args {
    fn detail(&self, submissions: usize) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ if submissions > 1 => Detail::Lines,
            _ => Detail::Tests,
        }
    }
}
