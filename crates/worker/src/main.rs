//! Judges submissions of a contest site: `millibox worker` executes this program on another
//! machine.
//!
//! | module | content |
//! | --- | --- |
//! | `remote` | the site's queue, reached through a NATS server |
//! | `store` | packages on the disk |
#![forbid(unsafe_code)]
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic if the reader has closed the pipe"
)]

mod remote;
mod store;

use clap::Parser;
use futures_util::StreamExt;
use millibox::Builder;
use millibox_cli_support::failure::{Failure, say};
use millibox_cli_support::{machine, notify, program};
use millibox_fleet::class::Class;
use millibox_fleet::introduction::{Introduction, Toolchain};
use millibox_fleet::message::{self, Stop};
use millibox_fleet::subject;
use millibox_judge::judge::Machine;
use millibox_languages::cache::{Cache, DEFAULT_CACHE_BYTES};
use millibox_languages::compile::Toolbox;
use millibox_languages::suite::Suites;
use millibox_worker::connection::{Credentials, Server};
use millibox_worker::judging::{self, WorkerContext};
use millibox_worker::log;
use millibox_worker::stops::Stops;
use millibox_worker::turns::Turns;
use millibox_worker::{calibration, cpus};
use remote::{Accepted, RemoteQueue};
use rustix::fs::Mode;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::Store;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};

/// The name that begins every message on standard error.
const PROGRAM: &str = "millibox worker";

/// Judges submissions of a contest site on this machine.
#[derive(Debug, Parser)]
#[command(
    name = "millibox-worker",
    bin_name = "millibox worker",
    version,
    max_term_width = 100
)]
#[command(after_help = "\
Example:
  At the site, add a worker and write its key to a file:
    millibox site fleet --data ~/site add box-1 > box-1.key
  On the machine box-1, judge with all CPUs:
    chmod 600 box-1.key
    millibox worker --nats tls://nats.example.org:4222 --creds box-1.key --cache ~/packages

SIGTERM and Ctrl-C end the worker after the submissions that it judges at that time. A second signal
ends it at once; a different worker then judges them.")]
struct Cli {
    /// The address of the NATS server: tls://HOST:PORT or nats://HOST:PORT
    #[arg(long, value_name = "URL")]
    nats: String,
    /// The file with name and key that `millibox site fleet add` has printed
    #[arg(long, value_name = "FILE")]
    creds: PathBuf,
    /// A file with certificates in PEM, which are trusted in addition to those of the system
    #[arg(long, value_name = "FILE")]
    nats_ca: Option<PathBuf>,
    /// Submissions that are judged at the same time [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    slots: Option<u16>,
    /// Judge only these classes: contest, practice, rejudge, model [default: all]
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    classes: Vec<Class>,
    /// The directory for packages and compiled programs
    #[arg(long, value_name = "DIR")]
    cache: PathBuf,
    /// The disk space for packages that are not in use, in MiB
    #[arg(long, value_name = "N", default_value_t = 4096)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    cache_size: u32,
    #[command(flatten)]
    machine: machine::Options,
}

fn main() -> ExitCode {
    program::main(PROGRAM, |cli: &Cli| {
        log::start("info,async_nats=warn");
        run(cli)
    })
}

fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    if rustix::process::geteuid().is_root() {
        return Err(Failure::option(
            "the worker reads packages and messages of another machine, so it does not run as \
             root; start it as an unprivileged user",
        ));
    }
    // Packages contain secret tests.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let all = cpus::usable()
        .map_err(|error| Failure::sandbox(format!("cannot read the number of CPUs: {error}")))?;
    let slots = cli.slots.map_or(all.len(), usize::from);
    let cpus: Vec<usize> = all.iter().rev().copied().cycle().take(slots).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::sandbox(format!("cannot start threads: {error}")))?;
    let result = runtime.block_on(work(cli, &cpus));
    // Threads that judge end with the process. They use the runtime until then.
    std::mem::forget(runtime);
    millibox_package::temporary::end();
    result
}

/// The languages that are installed here.
fn toolchains(
    builder: &Builder,
    suites: &Suites,
    cache: &Cache,
) -> Result<Vec<Toolchain>, Failure> {
    let machine = Machine::start(builder.clone(), None, &[]).map_err(Failure::sandbox)?;
    let toolbox = Toolbox::new(machine.supervisor(), suites.clone(), cache.clone());
    let installed = toolbox.installed();
    Ok(installed
        .map(|(suite, version)| Toolchain::new(&suite.name, &version))
        .collect())
}

/// The cache of compiled programs.
fn programs(directory: &Path) -> Cache {
    Cache::in_directory(&directory.join("programs"), DEFAULT_CACHE_BYTES)
        .unwrap_or_else(|_| Cache::none())
}

async fn work(cli: &Cli, cpus: &[usize]) -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| Failure::sandbox(format!("cannot catch signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    millibox_package::temporary::remove_stale();
    let own = Credentials::read(&cli.creds).map_err(Failure::option)?;
    let bytes = u64::from(cli.cache_size) << 20;
    let store = Store::open(&cli.cache.join("packages"), bytes).map_err(Failure::sandbox)?;
    let builder = cli.machine.builder();
    let (suites, cache) = (Suites::builtin(), programs(&cli.cache));
    let installed = toolchains(&builder, &suites, &cache)?;
    if installed.is_empty() {
        return Err(Failure::sandbox(
            "no language is installed here; `millibox languages` names the remedies",
        ));
    }
    let classes = match cli.classes.is_empty() {
        true => Class::ALL.to_vec(),
        false => cli.classes.clone(),
    };
    let server = Server {
        url: cli.nats.clone(),
        ca: cli.nats_ca.clone(),
    };
    let client = server.connect_worker(&own).await.map_err(Failure::option)?;
    let stops = Stops::default();
    let stopped = client.subscribe(subject::stop(own.name())).await;
    let stopped = stopped
        .map_err(|error| Failure::sandbox(format!("cannot subscribe to messages: {error}")))?;
    tokio::spawn(stop(stopped, stops.clone()));
    let calibration = calibration::cpu_time().as_nanos();
    let accepted = Accepted {
        classes: classes.clone(),
        languages: installed.iter().map(|one| one.language.clone()).collect(),
    };
    let introduction = Introduction {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        slots: u16::try_from(cpus.len()).unwrap_or(u16::MAX),
        classes,
        toolchains: installed,
        calibration_ns: u64::try_from(calibration).unwrap_or(u64::MAX),
    };
    let introducing = remote::introduce(client.clone(), own.name().clone(), introduction);
    tokio::spawn(introducing);
    let queue = RemoteQueue::new(client, own.name(), accepted, store);
    let context = Arc::new(WorkerContext {
        queue,
        stops,
        turns: Arc::new(Turns::of(cpus)),
        builder,
        suites,
        cache,
        handle: Handle::current(),
        is_ending: AtomicBool::new(false),
    });
    let mut threads = Vec::new();
    for (index, cpu) in cpus.iter().enumerate() {
        let thread = judging::start(&context, index, *cpu)
            .map_err(|error| Failure::sandbox(format!("cannot start a thread: {error}")))?;
        threads.push(thread);
    }
    let (name, slots) = (own.name(), cpus.len());
    say(format_args!("judging as {name} with {slots} slots"))?;
    notify::ready();
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("the worker ends after its judgements");
    context.is_ending.store(true, Ordering::SeqCst);
    let joined = tokio::task::spawn_blocking(move || {
        threads.into_iter().for_each(|thread| {
            // A thread that has panicked has ended, too.
            let _ = thread.join();
        });
    });
    tokio::select! {
        _ = joined => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Stops the judgements that the site names.
async fn stop(mut messages: async_nats::Subscriber, stops: Stops) {
    while let Some(one) = messages.next().await {
        match message::decode::<Stop>(&one.payload) {
            Ok(Stop { judgement }) => stops.stop(judgement),
            Err(error) => tracing::warn!(%error, "a message is ignored"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn classes_are_separated_by_commas() {
        let arguments = [
            "millibox-worker",
            "--nats",
            "nats://a",
            "--creds",
            "a",
            "--cache",
            "b",
        ];
        let parsed = |more: &[&str]| {
            let all = arguments.iter().chain(more);
            Cli::try_parse_from(all).map(|cli| cli.classes)
        };
        assert_eq!(parsed(&[]).unwrap(), []);
        let two = parsed(&["--classes", "contest,model"]).unwrap();
        assert_eq!(two, [Class::Contest, Class::Model]);
        assert!(parsed(&["--classes", "all"]).is_err());
    }
}
