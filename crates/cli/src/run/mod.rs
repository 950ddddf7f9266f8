//! `millibox run`: one program, one run.
//!
//! From the options to the exit status, in the order in which it happens:
//!
//! | file | what |
//! | --- | --- |
//! | `options` | the command line |
//! | `mounts` | options that add to the world's files, in their order |
//! | `seccomp` | `--seccomp`: a profile's name, a policy, a compiled program |
//! | `program` | whether PROGRAM is meant inside the world or outside |
//! | `report` | the report: one JSON object |
//! | `refused` | the report of a command line that makes no sense |
//! | `streams` | standard streams, and their limit |
//! | `terminal` | output of a shared terminal, which the program may have stopped |
//! | `ending` | exit status, message and report of what came of it |

mod ending;
mod mounts;
mod options;
mod program;
mod refused;
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
use millibox::{Moved, Outcome, Request, World};
use program::Chosen;
use std::ffi::OsStr;
use std::process::ExitCode;
use std::sync::Arc;
use streams::{Named, Streams};

/// The whole subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    // Whatever ends us before the run leaves no file behind, so files come late.
    let named = Named::of(args);
    let signals =
        Signals::catch(PROGRAM).inspect_err(|failure| refused::report(&named, failure))?;
    let mut report =
        signals.may_wait(|| named.report.as_deref().map(ReportFile::open).transpose())?;
    if let Some(report) = &report {
        // No report is written of this, for it would take the place of what it says.
        streams::is_apart(report, &named)?;
    }
    let ending = streams::are_apart(&named).and_then(|()| run(args, &signals));
    let ending = ending.unwrap_or_else(|failure| Ending::Failed {
        backend: None,
        failure,
    });
    signals.forget();
    // The report comes first: the terminal may be stopped, and then the line below has to wait.
    let written = match &mut report {
        Some(report) => signals.may_wait(|| report.write(ending.report().line())),
        None => Ok(()),
    };
    if let Some(line) = ending.line(args, signals.caught()) {
        complain(format_args!("millibox: {line}"));
    }
    written?;
    Ok(ExitCode::from(ending.status(signals.caught())))
}

fn run(args: &Args, signals: &Signals) -> Result<Ending, Failure> {
    let world = signals.may_wait(|| world(args))?;
    let (mut request, meant) = match program::choose(args, &world)? {
        Chosen::Request(request, meant) => (request.world(&world), meant),
        Chosen::CannotExecute(why) => return Ok(Ending::CannotExecute(why)),
    };
    request = limits(args, request)?;
    for (index, (name, value)) in args.env.iter().enumerate() {
        // As in a shell: the last one counts.
        if !args.env[index + 1..].iter().any(|(later, _)| later == name) {
            request = request.env(name, value);
        }
    }
    let mut streams = signals.may_wait(|| Streams::open(args))?;
    request = streams.give_to(request)?;

    let supervisor = args
        .machine
        .builder()
        .slots(1)
        .runners_per_slot(1)
        .start()?;
    let handle = Arc::new(supervisor.run(&request)?);
    // Our copies of the pipes' writing ends must go, or the pipes never end.
    drop(request);
    let movers = streams.move_all(&handle);
    let run = handle.clone();
    signals.end_with(move || run.kill());
    let result = handle.wait();
    terminal::resume_output();
    signals.forget();
    let moved = movers.wait(signals);
    let backend = supervisor.backend();
    let ending = match result {
        Ok(mut result) => {
            let remedy = match &mut result.outcome {
                Outcome::NotStarted(error) => {
                    program::explain(error, args, &world, &meant, supervisor.ids())
                }
                _ => None,
            };
            Ending::Result(result, remedy)
        }
        Err(error) => Ending::Failed {
            backend: Some(backend),
            failure: error.into(),
        },
    };
    Ok(match (ending, moved) {
        // The program may be over before it is told to end for its output.
        (Ending::Result(mut result, remedy), Ok(Moved::LimitReached)) => {
            if matches!(result.outcome, Outcome::Exited(_) | Outcome::Signaled(_)) {
                result.outcome = Outcome::OutputLimit;
            }
            Ending::Result(result, remedy)
        }
        // Who told us to end did not want to wait for its output either.
        (Ending::Result(result, remedy), Err(_))
            if result.outcome == Outcome::Killed && signals.caught().is_some() =>
        {
            Ending::Result(result, remedy)
        }
        // An output that could not be written is no success, whatever the program says.
        (Ending::Result(..), Err(failure)) => Ending::Failed {
            backend: Some(backend),
            failure,
        },
        (ending, _) => ending,
    })
}

fn world(args: &Args) -> Result<World, Failure> {
    let mut world = if args.bare {
        World::empty()
    } else {
        args.mounts.minimal_world()
    };
    world = args.mounts.add_to(world);
    if let Some(uid) = args.uid {
        world = world.uid(uid);
    }
    if let Some(gid) = args.gid {
        world = world.gid(gid);
    }
    world = world.network(args.net.into());
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
            return Err(Failure::option(
                "--swap-limit: needs --memory-limit beside it",
            ));
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

/// The kernel takes what there is of a set of CPUs and is silent about the rest; who asks
/// for a CPU wants it.
pub fn usable_cpus(cpus: &[usize]) -> Result<Vec<usize>, Failure> {
    let allowed = rustix::thread::sched_getaffinity(None)
        .map_err(|errno| Failure::sandbox(format!("cannot ask for the CPUs there are: {errno}")))?;
    match cpus.iter().find(|cpu| !allowed.is_set(**cpu)) {
        None => Ok(cpus.to_vec()),
        Some(cpu) => {
            let all: Vec<String> = (0..1024)
                .filter(|cpu| allowed.is_set(*cpu))
                .map(|cpu| cpu.to_string())
                .collect();
            Err(Failure::option(format!(
                "--cpus: CPU {cpu} may not be used here; those that may: {}",
                all.join(",")
            )))
        }
    }
}
