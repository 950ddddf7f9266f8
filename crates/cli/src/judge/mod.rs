//! `millibox judge`: a package's submissions, or others, judged.
//!
//! | file | what |
//! | --- | --- |
//! | `options` | the command line |

mod options;

pub use options::Args;

use crate::failure::Failure;
use crate::languages::suites;
use crate::run::usable_cpus;
use crate::signals::Signals;
use millibox_judge::cache::Cache;
use millibox_judge::interactive::Mode;
use millibox_judge::judge::{Event, Judge, Machine, Options, choose};
use millibox_judge::scoring::{TestState, expected::is_expected};
use millibox_judge::verdict::Verdict;
use std::process::ExitCode;
use std::sync::Arc;

/// Some verdict was not the expected one.
const UNEXPECTED: u8 = 1;
/// Nothing can be said: the package is faulty, or there was a judge error.
const NOT_JUDGED: u8 = 2;

/// The whole subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    let signals = Signals::catch()?;
    let problem = match millibox_package::read(&args.package) {
        Ok(problem) => problem,
        Err(faults) => {
            eprintln!("{faults}");
            return Ok(ExitCode::from(NOT_JUDGED));
        }
    };
    let mut submissions = Vec::new();
    if args.submissions.is_empty() {
        submissions.clone_from(&problem.submissions);
    }
    for named in &args.submissions {
        submissions.extend(choose(&problem, named, args.language.as_deref()).map_err(Failure::option)?);
    }
    let cache = if args.no_cache { Cache::none() } else { Cache::of_user().map_err(Failure::option)? };
    let cpus = args.cpus.as_ref().map(|cpus| usable_cpus(&cpus.0)).transpose()?.unwrap_or_default();
    let machine = Machine::start(args.machine.builder(), args.jobs.map(usize::from), &cpus)?;
    let machine = Arc::new(machine);
    let stopped = machine.clone();
    signals.end_with(move || stopped.stop());
    let options = Options {
        time_limit: args.time_limit,
        memory_limit: args.memory_limit,
        tests: args.tests.clone(),
        fail_fast: args.fail_fast,
        mode: if args.relay { Mode::Relay } else { Mode::Direct },
    };
    let judge = Judge::new(&machine, suites(args.suites.as_deref())?, cache, options);
    let prepared = match judge.problem(problem, &|_| ()) {
        Ok(prepared) => prepared,
        Err(why) => {
            eprintln!("{why}");
            return Ok(ExitCode::from(NOT_JUDGED));
        }
    };
    for warning in prepared.warnings() {
        eprintln!("{warning}");
    }
    println!("time limit: {:?} {:?}", prepared.time_limit(), prepared.limits()[0]);
    let mut status = 0;
    for submission in &submissions {
        let submitted = judge.submission(&prepared, submission, &|event| {
            if let Event::Test { test, index, progress } = event {
                match (progress.state(index), progress.judged(index)) {
                    (TestState::Judged, Some(judged)) => {
                        let figures = judged.result.run.as_ref().map(|run| run.figures).unwrap_or_default();
                        println!(
                            "    {:20} {:?} {} {:?} {:?} {}",
                            test.name,
                            judged.result.verdict,
                            judged.result.reason,
                            std::time::Duration::from_nanos(figures.cpu_user_ns + figures.cpu_system_ns),
                            judged.cpus,
                            judged.result.comment
                        );
                    }
                    (state, _) => println!("    {:20} {state:?}", test.name),
                }
            }
        });
        let result = submitted.progress.submission();
        let (verdict, why) = match &submitted.compilation.result {
            Ok(_) => (result.verdict.unwrap_or(Verdict::JudgeError), result.reason.clone()),
            Err(millibox_judge::compile::CompileError::Judge(why)) => (Verdict::JudgeError, why.clone()),
            Err(error) => (Verdict::CompileError, error.to_string()),
        };
        let ok = is_expected(&submission.expected, submission.score, verdict, result.points, prepared.plan().most(0));
        println!(
            "{:40} {:?} {:?} {why} expected {:?} {ok:?} {:?}",
            submission.name, verdict, result.points, submission.expected, submitted.suite
        );
        if ok == Some(false) {
            status = status.max(UNEXPECTED);
        }
        if verdict == Verdict::JudgeError {
            status = NOT_JUDGED;
        }
        if signals.caught().is_some() {
            break;
        }
    }
    Ok(ExitCode::from(status))
}
