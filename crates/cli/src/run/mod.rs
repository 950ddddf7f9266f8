//! `millibox run`: one program, one run.
//!
//! The files, in the order in which a run uses them:
//!
//! | file | content |
//! | --- | --- |
//! | `options` | the command line |
//! | `mounts` | options that add to the world's files, in their order |
//! | `seccomp` | `--seccomp`: the name of a profile, a policy or a compiled program |
//! | `program` | the file that PROGRAM names, in the world or on the host |
//! | `repeat` | `--prepared`: copies of a prepared interpreter |
//! | `report` | the report, a JSON object |
//! | `refused` | the report for a command line that is not valid |
//! | `streams` | standard streams, and their limit |
//! | `terminal` | resumes the output of a shared terminal |
//! | `explain` | `--explain`: what the program lacked |
//! | `ending` | exit status, message and report |

mod ending;
mod explain;
mod mounts;
mod options;
mod program;
mod refused;
mod repeat;
mod report;
mod seccomp;
mod streams;
mod terminal;

pub use options::Args;
pub use refused::report_refusal;

use crate::PROGRAM;
use crate::failure::{Failure, complain};
use crate::report_file::ReportFile;
use crate::signals::Signals;
use ending::Ending;
use explain::Explained;
use millibox::explain::Explanation;
use millibox::{Moved, Outcome, Request, World};
use program::ProgramChoice;
use report::Report;
use std::ffi::OsStr;
use std::process::ExitCode;
use std::sync::Arc;
use streams::{Named, Streams};

/// Runs the subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    // Files are opened late, so that an early error leaves no file behind.
    let named = Named::of(args);
    let signals =
        Signals::catch(PROGRAM).inspect_err(|failure| refused::report(&named, failure))?;
    let mut report =
        signals.may_wait(|| named.report.as_deref().map(ReportFile::open).transpose())?;
    if let Some(report) = &report {
        // This error is not reported: the report would replace the file that it names.
        streams::is_apart(report, &named)?;
    }
    let ending = streams::are_apart(&named).and_then(|()| run(args, &signals));
    let (ending, explanation) = ending.unwrap_or_else(|failure| {
        let backend = None;
        (Ending::Failed { backend, failure }, None)
    });
    signals.forget();
    // The report comes first: the line below waits if the terminal's output is stopped.
    let written = match &mut report {
        Some(report) => {
            let line = Report {
                explain: explanation.as_ref(),
                ..ending.report()
            }
            .line();
            signals.may_wait(|| report.write(line))
        }
        None => Ok(()),
    };
    if let Some(line) = ending.line(args, signals.caught()) {
        complain(format_args!("millibox: {line}"));
    }
    if let Some(explanation) = &explanation {
        complain(Explained(explanation));
    }
    written?;
    Ok(ExitCode::from(ending.status(signals.caught())))
}

fn run(args: &Args, signals: &Signals) -> Result<(Ending, Option<Explanation>), Failure> {
    if args.explain && args.prepared.is_some() {
        let why = "--explain: a copy of a prepared program cannot be traced; omit --prepared";
        return Err(Failure::option(why));
    }
    // The supervisor starts while this process reads its options. Errors in the options are
    // reported first.
    let machine = args.machine.builder();
    // Further runs are prepared during the present one.
    let runners = if args.prepared.is_some() { 2 } else { 1 };
    let starting = machine.slots(1).runners_per_slot(runners).begin();
    let world = signals.may_wait(|| world(args))?;
    let (mut request, program_file) = match program::choose(args, &world)? {
        ProgramChoice::Request(request, program_file) => (request.world(&world), program_file),
        ProgramChoice::CannotExecute(why) => return Ok((Ending::CannotExecute(why), None)),
    };
    request = limits(args, request)?.explain(args.explain);
    for (name, value) in args.environment() {
        request = request.env(name, value);
    }
    if args.prepared.is_some() {
        request = request.prepared(&repeat::prepare(args, &world)?);
    }
    let without_streams = args.prepared.map(|runs| (runs, request.clone()));
    let mut streams = signals.may_wait(|| Streams::open(args))?;
    request = streams.give_to(request)?;

    let supervisor = starting?.finish()?;
    if let Some((runs, request)) = without_streams
        && let Some(times) = repeat::measure(&supervisor, &request, runs - 1, signals)?
    {
        complain(format_args!("millibox: {times}"));
    }
    let handle = Arc::new(supervisor.run(&request)?);
    // The request holds the pipes' write ends; while they are open, the pipes do not end.
    drop(request);
    let movers = streams.move_all(&handle);
    let run = handle.clone();
    signals.end_with(move || run.kill());
    let result = handle.wait();
    terminal::resume_output();
    signals.forget();
    let moved = movers.wait(signals);
    let explanation = handle.explanation();
    let backend = supervisor.info().backend();
    let ending = match result {
        Ok(mut result) => {
            let remedy = match &mut result.outcome {
                Outcome::NotStarted(error) => {
                    program::explain(error, args, &world, &program_file, supervisor.info().ids())
                }
                _ => None,
            };
            // All processes of the run are dead. The caller need not wait for the clean-up.
            supervisor.leave();
            Ending::Result(result, remedy)
        }
        Err(error) => Ending::Failed {
            backend: Some(backend),
            failure: error.into(),
        },
    };
    let ending = match (ending, moved) {
        // The program may have ended before it could be killed for its output.
        (Ending::Result(mut result, remedy), Ok(Moved::LimitReached)) => {
            if matches!(result.outcome, Outcome::Exited(_) | Outcome::Signaled(_)) {
                result.outcome = Outcome::OutputLimit;
            }
            Ending::Result(result, remedy)
        }
        // The signal that ended the run also ends the wait for its output.
        (Ending::Result(result, remedy), Err(_))
            if result.outcome == Outcome::Killed && signals.caught().is_some() =>
        {
            Ending::Result(result, remedy)
        }
        // If output could not be written, the command fails, even if the program succeeded.
        (Ending::Result(..), Err(failure)) => Ending::Failed {
            backend: Some(backend),
            failure,
        },
        (ending, _) => ending,
    };
    Ok((ending, explanation))
}

fn world(args: &Args) -> Result<World, Failure> {
    let mut world = if args.bare {
        World::empty()
    } else {
        args.mounts.standard_world(!terminal::is_shared())
    };
    world = args.mounts.add_to(world);
    if let Some(limit) = args.memory_limit {
        world = world.memory(limit);
    }
    if let Some(uid) = args.uid {
        world = world.uid(uid);
    }
    if let Some(gid) = args.gid {
        world = world.gid(gid);
    }
    world = world.network(args.network());
    seccomp::choose(
        world,
        args.seccomp.as_deref().unwrap_or(OsStr::new("default")),
    )
}

fn limits(args: &Args, mut request: Request) -> Result<Request, Failure> {
    if let Some(limit) = args.real_time_limit {
        request = request.real_time_limit(limit);
    }
    if let Some(limit) = args.cpu_time_limit {
        request = request.cpu_time_limit(limit);
    }
    if let Some(limit) = args.memory_limit {
        request = request.memory_limit(limit);
    }
    if let Some(limit) = args.swap_limit {
        if args.memory_limit.is_none() {
            return Err(Failure::option("--swap-limit: requires --memory-limit"));
        }
        request = request.swap_limit(limit);
    }
    if let Some(limit) = args.process_limit {
        request = request.process_limit(limit);
    }
    if let Some(limit) = args.output_limit {
        request = request.output_limit(limit);
    }
    if let Some((max, period)) = args.cpu_bandwidth {
        request = request.cpu_bandwidth(max, period);
    }
    Failure::unless_once("--rlimit", &args.rlimit)?;
    for (name, value) in &args.rlimit {
        request = request.rlimit(name, *value);
    }
    if let Some(cpus) = &args.cpus {
        request = request.cpus(usable_cpus(&cpus.0)?);
    }
    Ok(request)
}

/// Checks that this process may use the CPUs. The kernel would silently ignore the others.
pub fn usable_cpus(cpus: &[usize]) -> Result<Vec<usize>, Failure> {
    let allowed = rustix::thread::sched_getaffinity(None)
        .map_err(|errno| Failure::sandbox(format!("cannot read the CPU affinity: {errno}")))?;
    match cpus.iter().find(|cpu| !allowed.is_set(**cpu)) {
        None => Ok(cpus.to_vec()),
        Some(cpu) => {
            let all: Vec<String> = (0..1024)
                .filter(|cpu| allowed.is_set(*cpu))
                .map(|cpu| cpu.to_string())
                .collect();
            Err(Failure::option(format!(
                "--cpus: CPU {cpu} cannot be used; the usable CPUs are {}",
                all.join(",")
            )))
        }
    }
}
