//! Measures the cost of a message. Two programs exchange queries and answers: without a sandbox
//! over two pipes, in the sandbox over the same pipes, and in the sandbox through the relay.
//!
//! There are two variants without a sandbox. If the scheduler groups tasks by session
//! (`kernel.sched_autogroup_enabled`), two programs of one session (setsid(2)) are one group. A
//! switch within a group is cheaper than one between groups. A sandbox that limits and measures two
//! programs separately needs two groups, so it is compared with programs in separate sessions.
//!
//! The workload is that of B. Merry, "Performance Analysis of Sandboxes for Reactive Tasks" (2010):
//! 200,000 queries. The variants alternate in each round, so that other work on the machine affects
//! all of them equally. The ratios compare medians. The experiment runs once on all CPUs and once
//! with both programs on one CPU, because their placement matters most.
//!
//! ```sh
//! cargo build --release --bin millibox-supervisor
//! cargo run --release -p millibox-judge --example reactive -- [QUERIES [ROUNDS]]
//! ```
//!
//! When started with `ask N` or `answer N`, the example acts as one of the two programs.

use millibox::{Supervisor, World};
use millibox_judge::batch::{Case, Trial, Worker};
use millibox_judge::checker::custom::OutputValidator;
use millibox_judge::interactive::{Mode, judge};
use millibox_judge::verdict::Verdict;
use millibox_languages::program::{Executable, Limits};
use millibox_languages::staging::{StagedDirectory, private_directory};
use millibox_package::model::Convention;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |index: usize, default: u64| {
        arguments
            .get(index)
            .map_or(Ok(default), |text| text.parse())
    };
    match arguments.get(1).map(String::as_str) {
        Some("ask") => talk(number(2, 0)?, true),
        Some("answer") => talk(number(2, 0)?, false),
        _ => measure(number(1, 200_000)?, number(2, 5)?),
    }
}

/// Acts as one of the two programs.
fn talk(queries: u64, asks: bool) -> Result<()> {
    let mut input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut byte = [b'?'];
    for _ in 0..queries {
        if asks {
            output.write_all(&byte)?;
            input.read_exact(&mut byte)?;
        } else {
            input.read_exact(&mut byte)?;
            output.write_all(&byte)?;
        }
    }
    // The exit status of an interactor that accepts.
    std::process::exit(if asks { 0 } else { 42 });
}

/// Two programs in the sandbox, ready to run.
struct Table<'a> {
    supervisor: &'a Supervisor,
    solution: Executable,
    interactor: Arc<OutputValidator>,
    input: &'a Path,
}

const HOUR: Limits = Limits {
    cpu_time: Duration::from_secs(3600),
    real_time: Duration::from_secs(3600),
    memory: 256 << 20,
    output: u64::MAX / 2,
    processes: 1,
};

impl Table<'_> {
    fn play(&self, mode: Mode, cpus: &[usize]) -> Result<Duration> {
        let mut worker = Worker::new(self.supervisor).cpus(cpus.iter().copied());
        let case = Case {
            input: self.input,
            answer: Some(self.input),
            arguments: &[],
            flags: &[],
        };
        let result = judge(
            &mut worker,
            &Trial {
                executable: &self.solution,
                case,
                limits: &HOUR,
            },
            &self.interactor,
            mode,
        );
        match (result.verdict, result.run) {
            (Verdict::Accepted, Some(run)) => Ok(Duration::from_nanos(run.figures.real_time_ns)),
            (verdict, _) => Err(format!("{verdict:?}: {:?}", result.reason).into()),
        }
    }
}

/// Runs the same two programs over two pipes without a sandbox: in one session, or each in its own.
fn bare(program: &Path, sessions: bool, queries: u64, cpus: &[usize]) -> Result<Duration> {
    let all = sched_getaffinity(None)?;
    if !cpus.is_empty() {
        // The programs inherit this affinity.
        let mut few = CpuSet::new();
        cpus.iter().for_each(|&cpu| few.set(cpu));
        sched_setaffinity(None, &few)?;
    }
    let queries = queries.to_string();
    let command = || match sessions {
        false => Command::new(program),
        true => {
            let mut command = Command::new("setsid");
            command.arg(program);
            command
        }
    };
    let begin = Instant::now();
    let mut answers = command()
        .args(["answer", &queries])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(to), Some(from)) = (answers.stdin.take(), answers.stdout.take()) else {
        return Err("no pipes".into());
    };
    let mut asks = command()
        .args(["ask", &queries])
        .stdin(from)
        .stdout(to)
        .spawn()?;
    sched_setaffinity(None, &all)?;
    let well = asks.wait()?.success();
    let taken = begin.elapsed();
    answers.wait()?;
    if well {
        Ok(taken)
    } else {
        Err("the bare programs have failed".into())
    }
}

fn measure(queries: u64, rounds: u64) -> Result<()> {
    let supervisor = Supervisor::start()?;
    // A path that the sandbox's user can read.
    let files = private_directory(supervisor.info().ids())?;
    let program = files.path().join("reactive");
    std::fs::copy(std::env::current_exe()?, &program)?;
    let input = tempfile::NamedTempFile::new()?;
    let executable = |role: &str| Executable {
        world: World::minimal().read_only(files.path(), "/judge/program"),
        argv: ["/judge/program/reactive", role, &queries.to_string()]
            .map(Into::into)
            .to_vec(),
        env: Vec::new(),
        current_dir: "/".into(),
        processes: 0,
        memory: 0,
        prepare: None,
        is_prepared: false,
        suite: String::new(),
        files: Arc::new(tempfile::tempdir().expect("a directory")),
    };
    let data = private_directory(supervisor.info().ids())?;
    let interactor = OutputValidator {
        executable: executable("answer"),
        convention: Convention::Icpc,
        data: StagedDirectory::new(data.path(), supervisor.info().ids())?,
        limits: Limits {
            output: 1 << 20,
            ..HOUR
        },
    };
    let table = Table {
        supervisor: &supervisor,
        solution: executable("ask"),
        interactor: Arc::new(interactor),
        input: input.path(),
    };

    println!(
        "{queries} queries, median of {rounds} rounds, backend {}",
        supervisor.info().backend()
    );
    println!(
        "{:<14} {:<14} {:>12} {:>8} {:>18}",
        "CPUs", "way", "µs a query", "ratio", "fastest to slowest"
    );
    for (name, cpus) in [("all", &[][..]), ("both on one", &[0])] {
        let mut times = [const { Vec::new() }; 4];
        for _ in 0..rounds {
            times[0].push(bare(&program, false, queries, cpus)?);
            times[1].push(bare(&program, true, queries, cpus)?);
            times[2].push(table.play(Mode::Direct, cpus)?);
            times[3].push(table.play(Mode::Relay, cpus)?);
        }
        times.iter_mut().for_each(|times| times.sort());
        let middle = |times: &[Duration]| times[times.len() / 2].as_secs_f64();
        let base = middle(&times[1]);
        for (way, times) in ["bare", "bare sessions", "direct", "relay"]
            .iter()
            .zip(&times)
        {
            let spread = |time: Option<&Duration>| time.map_or(0.0, Duration::as_secs_f64) / base;
            println!(
                "{name:<14} {way:<14} {:>12.2} {:>8.3} {:>9.3} to {:.3}",
                middle(times) * 1e6 / queries as f64,
                middle(times) / base,
                spread(times.first()),
                spread(times.last()),
            );
        }
    }
    Ok(())
}
