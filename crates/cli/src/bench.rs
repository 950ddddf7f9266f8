//! `millibox bench`: what the sandbox costs, measured against the bare program in one run.
//!
//! Bare and sandboxed runs alternate in short blocks, so that both see the same machine;
//! the first run of each block is not counted, as it still feels the block before it.
//! Ratios and medians count, not microseconds.

use clap::{Parser, Subcommand};
use millibox::{Builder, Error, Handle, Request, Supervisor};
use serde::Serialize;
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Options of `millibox bench`.
#[derive(Debug, Parser)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// posix_spawn and wait of /bin/true, against the same through the sandbox.
    ///
    /// The sandbox does all of its work for every run: fresh user, PID, mount and IPC
    /// namespaces and a fresh tmpfs, the default seccomp profile, limits on memory,
    /// processes and time, all figures read.
    True(True),
}

#[derive(Debug, Parser)]
struct True {
    /// Runs of each kind, one after another.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(20..))]
    runs: u32,
    /// Seconds of each measurement on all CPUs; there are nine, three of each kind.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    seconds: f64,
    /// Write one JSON object here; `-` is standard output (and the table is left out).
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Also give pid1 an address space of its own (the stricter variant).
    #[arg(long)]
    separate_pid1: bool,
}

/// Runs the benchmark; `builder` holds what the common options say.
pub fn main(args: &Args, builder: &Builder) -> Result<ExitCode, Error> {
    let What::True(options) = &args.what;
    let figures = measure(options, builder)?;
    let json = serde_json::to_string_pretty(&figures).unwrap_or_default();
    match &options.json {
        Some(path) if path.as_os_str() == "-" => println!("{json}"),
        path => {
            figures.print();
            if let Some(path) = path {
                std::fs::write(path, json + "\n")
                    .map_err(|error| Error::Request(format!("--json {}: {error}", path.display())))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What was measured. Times are in nanoseconds.
#[derive(Debug, Serialize)]
struct Measured {
    /// Median round trip of one caller / median posix_spawn and wait.
    ratio_1_slot: f64,
    /// Runs per second of as many posix_spawn loops as CPUs / runs per second of the
    /// sandbox with as many slots, each held on its CPU.
    ratio_all_cpus: f64,
    /// The same without holding slots on CPUs.
    ratio_all_cpus_unpinned: f64,
    posix_spawn_median_ns: u64,
    posix_spawn_mean_ns: u64,
    sandbox_median_ns: u64,
    sandbox_mean_ns: u64,
    sandbox_p99_ns: u64,
    /// The sandbox's, on all CPUs.
    runs_per_second: f64,
    posix_spawn_per_second: f64,
    /// CPU time of client, supervisor, homes, pid1s and programs together, on all CPUs.
    cpu_ns_per_request: u64,
    posix_spawn_cpu_ns: u64,
    runs: u32,
    cpus: usize,
    backend: String,
    kernel: String,
}

impl Measured {
    fn print(&self) {
        let micros = |ns: u64| ns as f64 / 1000.0;
        println!("/bin/true, backend {}, Linux {}, {} CPUs", self.backend, self.kernel, self.cpus);
        println!();
        println!("one after another ({} runs each)     median       mean", self.runs);
        println!(
            "  posix_spawn and wait             {:8.1} us {:8.1} us",
            micros(self.posix_spawn_median_ns),
            micros(self.posix_spawn_mean_ns)
        );
        println!(
            "  millibox, 1 slot                 {:8.1} us {:8.1} us   p99 {:.1} us",
            micros(self.sandbox_median_ns),
            micros(self.sandbox_mean_ns),
            micros(self.sandbox_p99_ns)
        );
        println!("  ratio of medians                 {:8.2}", self.ratio_1_slot);
        println!();
        println!("on {} CPUs at once                    runs/s     CPU time/run", self.cpus);
        println!(
            "  posix_spawn loops                {:8.0}      {:8.1} us",
            self.posix_spawn_per_second,
            micros(self.posix_spawn_cpu_ns)
        );
        println!(
            "  millibox, {:2} pinned slots        {:8.0}      {:8.1} us",
            self.cpus,
            self.runs_per_second,
            micros(self.cpu_ns_per_request)
        );
        println!("  ratio                            {:8.2}", self.ratio_all_cpus);
        println!("  ratio if slots are not pinned    {:8.2}", self.ratio_all_cpus_unpinned);
    }
}

/// A run with everything that a judge would ask for.
fn request() -> Request {
    Request::new("/bin/true")
        .memory_limit(256 << 20)
        .process_limit(16)
        .real_time_limit(Duration::from_secs(10))
        .cpu_time_limit(Duration::from_secs(10))
}

fn spawn_bare() -> Result<(), Error> {
    // With nothing but these set, std uses posix_spawn(3).
    let failed = |error| Error::System { what: "run /bin/true", error };
    let status = Command::new("/bin/true").env_clear().stdin(Stdio::inherit()).status().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(Error::Request(format!("/bin/true: {status}"))) }
}

fn expect_success(handle: &Handle) -> Result<(), Error> {
    let result = handle.wait()?;
    if result.outcome == millibox::Outcome::Exited(0) {
        Ok(())
    } else {
        Err(Error::Request(format!("/bin/true in the sandbox: {result}")))
    }
}

fn measure(options: &True, builder: &Builder) -> Result<Measured, Error> {
    let builder = builder.clone().separate_pid1(options.separate_pid1);
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    let progress = Progress::new();

    let one = builder.clone().slots(1).start()?;
    let request = request();
    let backend = one.backend();
    let request = if backend == millibox::Backend::Rlimit && !one.declined().is_empty() {
        // Nothing to hold a tree's limits with: measure what there is, and say so.
        eprintln!("millibox: no cgroups here, so no limits on memory and processes are set; see `millibox doctor`");
        Request::new("/bin/true").real_time_limit(Duration::from_secs(10))
    } else {
        request
    };
    const BLOCK: u32 = 20;
    let (mut bare, mut boxed) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        spawn_bare()?;
        expect_success(&one.run(&request)?)?;
    }
    while (bare.len() as u32) < options.runs {
        progress.show("one after another", bare.len() as f64 / f64::from(options.runs));
        for turn in 0..=BLOCK {
            let begin = Instant::now();
            spawn_bare()?;
            if turn > 0 {
                bare.push(begin.elapsed().as_nanos() as u64);
            }
        }
        for turn in 0..=BLOCK {
            let begin = Instant::now();
            expect_success(&one.run(&request)?)?;
            if turn > 0 {
                boxed.push(begin.elapsed().as_nanos() as u64);
            }
        }
    }
    drop(one);

    let unpinned = builder.clone().slots(cpus).start()?;
    let all = builder.slots(cpus).pin_slots(true).start()?;
    let for_long = Duration::from_secs_f64(options.seconds.clamp(0.05, 600.0));
    sandbox_on_all_cpus(&all, &request, cpus, for_long / 5)?;
    let (mut bare_rates, mut boxed_rates, mut unpinned_rates) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..3 {
        progress.show("on all CPUs", f64::from(round) / 3.0);
        bare_rates.push(bare_on_all_cpus(cpus, for_long)?);
        boxed_rates.push(sandbox_on_all_cpus(&all, &request, cpus, for_long)?);
        unpinned_rates.push(sandbox_on_all_cpus(&unpinned, &request, cpus, for_long)?);
    }
    progress.done();
    bare.sort_unstable();
    boxed.sort_unstable();
    let rate = |all: &[Rate]| median(all.iter().map(|rate| rate.per_second).collect());
    let cpu = |all: &[Rate]| median(all.iter().map(|rate| rate.cpu_ns as f64).collect()) as u64;
    let mean = |all: &[u64]| all.iter().sum::<u64>() / all.len().max(1) as u64;
    let at = |all: &[u64], part: f64| all[((all.len() - 1) as f64 * part) as usize];
    Ok(Measured {
        ratio_1_slot: at(&boxed, 0.5) as f64 / at(&bare, 0.5) as f64,
        ratio_all_cpus: rate(&bare_rates) / rate(&boxed_rates),
        ratio_all_cpus_unpinned: rate(&bare_rates) / rate(&unpinned_rates),
        posix_spawn_median_ns: at(&bare, 0.5),
        posix_spawn_mean_ns: mean(&bare),
        sandbox_median_ns: at(&boxed, 0.5),
        sandbox_mean_ns: mean(&boxed),
        sandbox_p99_ns: at(&boxed, 0.99),
        runs_per_second: rate(&boxed_rates),
        posix_spawn_per_second: rate(&bare_rates),
        cpu_ns_per_request: cpu(&boxed_rates),
        posix_spawn_cpu_ns: cpu(&bare_rates),
        runs: options.runs,
        cpus,
        backend: backend.to_string(),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
    })
}

struct Rate {
    per_second: f64,
    cpu_ns: u64,
}

fn bare_on_all_cpus(cpus: usize, for_long: Duration) -> Result<Rate, Error> {
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let (begin, cpu) = (Instant::now(), busy_ns(None));
    std::thread::scope(|scope| {
        let loops: Vec<_> = (0..cpus)
            .map(|_| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        spawn_bare()?;
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(for_long);
        stop.store(true, Ordering::Relaxed);
        loops.into_iter().try_for_each(|done| done.join().unwrap_or(Ok(())))
    })?;
    let count = count.into_inner().max(1);
    Ok(Rate { per_second: count as f64 / begin.elapsed().as_secs_f64(), cpu_ns: (busy_ns(None) - cpu) / count })
}

fn sandbox_on_all_cpus(
    supervisor: &Supervisor,
    request: &Request,
    cpus: usize,
    for_long: Duration,
) -> Result<Rate, Error> {
    let (begin, cpu) = (Instant::now(), busy_ns(Some(supervisor.pid())));
    let mut outstanding: VecDeque<Handle> = VecDeque::new();
    let mut count = 0u64;
    while begin.elapsed() < for_long {
        // More than slots: a slot always finds a run waiting.
        while outstanding.len() < cpus * 4 {
            outstanding.push_back(supervisor.run(request)?);
        }
        if let Some(first) = outstanding.pop_front() {
            expect_success(&first)?;
            count += 1;
        }
    }
    while let Some(left) = outstanding.pop_front() {
        expect_success(&left)?;
        count += 1;
    }
    let cpu = busy_ns(Some(supervisor.pid())).saturating_sub(cpu);
    Ok(Rate { per_second: count as f64 / begin.elapsed().as_secs_f64(), cpu_ns: cpu / count.max(1) })
}

/// CPU time of this process and of the children it waited for; with a supervisor, of it and
/// its homes as well (proc_pid_stat(5): utime, stime, cutime, cstime, in ticks of 10 ms).
fn busy_ns(supervisor: Option<u32>) -> u64 {
    let ticks = |pid: &str| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        (14..=17).filter_map(|field: usize| fields.get(field - 3)?.parse::<u64>().ok()).sum()
    };
    let mut total = ticks("self");
    let mut left: Vec<String> = supervisor.map(|pid| pid.to_string()).into_iter().collect();
    while let Some(pid) = left.pop() {
        total += ticks(&pid);
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        left.extend(children.split_whitespace().map(str::to_owned));
    }
    total * 10_000_000
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// A line that is rewritten, on a terminal only.
struct Progress(bool);

impl Progress {
    fn new() -> Progress {
        Progress(std::io::stderr().is_terminal())
    }

    fn show(&self, what: &str, part: f64) {
        if self.0 {
            eprint!("\r{what}: {:3.0} % ", part * 100.0);
            let _ = std::io::stderr().flush();
        }
    }

    fn done(&self) {
        if self.0 {
            eprint!("\r\x1b[K");
        }
    }
}
