//! The experiment `true`: the cost of a run of /bin/true, bare and in the sandbox.
//!
//! Bare and sandboxed runs alternate in short blocks, so that both see the same machine. The first
//! run of each block is not counted, because the previous block still affects it. Compare ratios
//! and medians, not microseconds.

use super::Experiment;
use crate::table::Samples;
use crate::{Error, Lab, Metric, Report, Table, Unit, bare};
use millibox::{Handle, Pool, Request, Supervisor};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "true",
    title: "What a run costs",
    about: "posix_spawn and wait for /bin/true, compared with the same in the sandbox. The sandbox \
            does all of its work for every run: fresh user, PID, mount and IPC namespaces and a \
            fresh tmpfs, the default seccomp profile, and limits on memory, processes and time. It \
            reads all figures. Runs follow one another in one slot, then run on all CPUs at the \
            same time. Target: at most 1.15 and at most 1.3 times the bare program.",
    run,
};

/// The amount of measurement that [`measure`] makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// The number of consecutive runs of each variant, at least 20.
    pub runs: u32,
    /// The seconds for each of the four variants on all CPUs, divided into nine turns.
    pub seconds: f64,
}

/// The number of turns of each variant on all CPUs.
const ALL_CPUS_ROUNDS: u32 = 9;
/// The number of runs that are requested in advance for each CPU.
const RUNS_AHEAD_PER_CPU: usize = 4;

/// The number of counted runs in one block.
const BLOCK_RUNS: u32 = 20;

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let amount = lab.scale().pick(
        Amount {
            runs: 40,
            seconds: 0.05,
        },
        Amount {
            runs: 2000,
            seconds: 4.5,
        },
        Amount {
            runs: 20_000,
            seconds: 30.0,
        },
    );
    fill_report(lab, report, &measure(lab, amount)?);
    Ok(())
}

/// Adds the figures to a report.
pub fn fill_report(lab: &Lab, report: &mut Report, measured: &TrueFigures) {
    let named = |name: &str, about: &str, values: Vec<Vec<f64>>| Samples {
        name: name.to_owned(),
        about: about.to_owned(),
        values,
        ..Samples::default()
    };
    let one = &measured.samples;
    let samples = [
        named("bare", "posix_spawn and wait", vec![one.bare.clone()]),
        named(
            "millibox",
            "1 slot, everything limited",
            vec![one.sandboxed.clone()],
        ),
    ];
    let real = || Metric::new("real time", Unit::Nanoseconds);
    let table = Table::new(
        "one",
        "/bin/true, one after another",
        vec![real()],
        &samples,
        BLOCK_RUNS as usize,
        lab.seed(),
    );
    report.add_claim(
        "/bin/true, one after another",
        &table,
        "millibox",
        "real time",
        1.15,
    );
    report.add_table(table);

    let of_rates = |rates: &[Rate]| {
        vec![
            rates.iter().map(|rate| 1e9 / rate.per_second).collect(),
            rates.iter().map(|rate| rate.cpu_ns as f64).collect(),
        ]
    };
    let samples = [
        named(
            "bare",
            "a loop of posix_spawn and wait for each CPU",
            of_rates(&one.bare_rates),
        ),
        named(
            "millibox, pool",
            "a supervisor for each CPU, pinned to it with its one slot",
            of_rates(&one.pool_rates),
        ),
        named(
            "millibox, pinned",
            "one supervisor, a slot for each CPU, pinned to it",
            of_rates(&one.pinned_rates),
        ),
        named(
            "millibox",
            "one supervisor, a slot for each CPU, not pinned",
            of_rates(&one.unpinned_rates),
        ),
    ];
    let metrics = vec![
        Metric::new("wall time for each run", Unit::Nanoseconds),
        Metric::new("CPU time of all processes for each run", Unit::Nanoseconds),
    ];
    let title = format!("/bin/true on {} CPUs at once", measured.cpus);
    let table = Table::new("all-cpus", title, metrics, &samples, 1, lab.seed());
    report.add_claim(
        "/bin/true on all CPUs",
        &table,
        "millibox, pool",
        "wall time for each run",
        1.3,
    );
    report.add_table(table);
}

/// The samples of one caller and of all CPUs, in chronological order.
#[derive(Debug, Clone, Default)]
struct RawSamples {
    bare: Vec<f64>,
    sandboxed: Vec<f64>,
    bare_rates: Vec<Rate>,
    pool_rates: Vec<Rate>,
    pinned_rates: Vec<Rate>,
    unpinned_rates: Vec<Rate>,
}

/// The figures of the experiment. Times are in nanoseconds.
#[derive(Debug, Clone, Serialize)]
pub struct TrueFigures {
    /// The median round trip of one caller, divided by the median time of posix_spawn and wait.
    ratio_1_slot: f64,
    /// The runs per second of one posix_spawn loop for each CPU, divided by the runs per second of
    /// a pool (a supervisor for each CPU).
    ratio_all_cpus: f64,
    /// The same ratio for one supervisor with the same number of slots, each pinned to its CPU.
    ratio_all_cpus_one_supervisor: f64,
    /// The same ratio for one supervisor without pinned slots.
    ratio_all_cpus_unpinned: f64,
    posix_spawn_median_ns: u64,
    posix_spawn_mean_ns: u64,
    sandbox_median_ns: u64,
    sandbox_mean_ns: u64,
    sandbox_p99_ns: u64,
    /// The runs per second of the pool on all CPUs.
    runs_per_second: f64,
    posix_spawn_per_second: f64,
    /// The CPU time of client, supervisor, runners, pid1s and programs together, on all CPUs.
    cpu_ns_per_request: u64,
    posix_spawn_cpu_ns: u64,
    runs: u32,
    cpus: usize,
    backend: String,
    kernel: String,
    #[serde(skip)]
    samples: RawSamples,
}

/// Prints a table for readers.
impl fmt::Display for TrueFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |ns: u64| ns as f64 / 1000.0;
        writeln!(
            f,
            "/bin/true, backend {}, Linux {}, {} CPUs",
            self.backend, self.kernel, self.cpus
        )?;
        writeln!(f)?;
        writeln!(
            f,
            "one after another ({} runs each)     median       mean",
            self.runs
        )?;
        writeln!(
            f,
            "  posix_spawn and wait             {:8.1} us {:8.1} us",
            micros(self.posix_spawn_median_ns),
            micros(self.posix_spawn_mean_ns)
        )?;
        writeln!(
            f,
            "  millibox, 1 slot                 {:8.1} us {:8.1} us   p99 {:.1} us",
            micros(self.sandbox_median_ns),
            micros(self.sandbox_mean_ns),
            micros(self.sandbox_p99_ns)
        )?;
        writeln!(
            f,
            "  ratio of medians                 {:8.2}",
            self.ratio_1_slot
        )?;
        writeln!(f)?;
        writeln!(
            f,
            "on {} CPUs at once                    runs/s     CPU time/run",
            self.cpus
        )?;
        writeln!(
            f,
            "  posix_spawn loops                {:8.0}      {:8.1} us",
            self.posix_spawn_per_second,
            micros(self.posix_spawn_cpu_ns)
        )?;
        writeln!(
            f,
            "  millibox, a supervisor for each  {:8.0}      {:8.1} us",
            self.runs_per_second,
            micros(self.cpu_ns_per_request)
        )?;
        writeln!(
            f,
            "  ratio                            {:8.2}",
            self.ratio_all_cpus
        )?;
        writeln!(
            f,
            "  ratio of one, with pinned slots  {:8.2}",
            self.ratio_all_cpus_one_supervisor
        )?;
        write!(
            f,
            "  ratio of one, slots not pinned   {:8.2}",
            self.ratio_all_cpus_unpinned
        )
    }
}

/// Runs the experiment.
///
/// # Errors
/// A run fails, or no supervisor can be started.
pub fn measure(lab: &Lab, amount: Amount) -> Result<TrueFigures, Error> {
    let progress = lab.progress("/bin/true");
    let begin = Instant::now();
    let cpus = lab.cpus();
    let one = lab.supervisor(1)?;
    let request = lab.limit(Request::new("/bin/true"));
    let backend = one.info().backend();
    let mut raw = RawSamples::default();
    for _ in 0..amount.runs.min(50) {
        bare::spawn("/bin/true")?;
        bare::sandboxed(&one, &request)?;
    }
    while (raw.bare.len() as u32) < amount.runs {
        progress.show(
            "one after another",
            raw.bare.len() as f64 / f64::from(amount.runs),
        );
        for turn in 0..=BLOCK_RUNS {
            let begin = Instant::now();
            bare::spawn("/bin/true")?;
            if turn > 0 {
                raw.bare.push(begin.elapsed().as_nanos() as f64);
            }
        }
        for turn in 0..=BLOCK_RUNS {
            let begin = Instant::now();
            bare::sandboxed(&one, &request)?;
            if turn > 0 {
                raw.sandboxed.push(begin.elapsed().as_nanos() as f64);
            }
        }
    }
    drop(one);

    let unpinned = lab.supervisor(cpus)?;
    let pinned = lab.builder().slots(cpus).pin_slots(true).start()?;
    let pool = Pool::with(&lab.builder())?;
    let which = super::conversation::cpus()?;
    let duration = Duration::from_secs_f64(amount.seconds.clamp(0.05, 600.0)) / ALL_CPUS_ROUNDS;
    for round in 0..ALL_CPUS_ROUNDS {
        progress.show("on all CPUs", f64::from(round) / f64::from(ALL_CPUS_ROUNDS));
        raw.bare_rates.push(bare_on_all_cpus(&which, duration)?);
        raw.pool_rates
            .push(pool_on_all_cpus(&pool, &request, &which, duration)?);
        raw.pinned_rates
            .push(sandbox_on_all_cpus(&pinned, &request, cpus, duration)?);
        raw.unpinned_rates
            .push(sandbox_on_all_cpus(&unpinned, &request, cpus, duration)?);
    }
    progress.done(begin.elapsed());
    let sorted = |all: &[f64]| {
        let mut sorted: Vec<u64> = all.iter().map(|ns| *ns as u64).collect();
        sorted.sort_unstable();
        sorted
    };
    let (bare, sandboxed) = (sorted(&raw.bare), sorted(&raw.sandboxed));
    let middle = |all: &[Rate]| median(all.iter().map(|rate| rate.per_second).collect());
    let cpu = |all: &[Rate]| median(all.iter().map(|rate| rate.cpu_ns as f64).collect()) as u64;
    let mean = |all: &[u64]| all.iter().sum::<u64>() / all.len().max(1) as u64;
    let at = |all: &[u64], part: f64| all[((all.len() - 1) as f64 * part) as usize];
    Ok(TrueFigures {
        ratio_1_slot: at(&sandboxed, 0.5) as f64 / at(&bare, 0.5) as f64,
        ratio_all_cpus: middle(&raw.bare_rates) / middle(&raw.pool_rates),
        ratio_all_cpus_one_supervisor: middle(&raw.bare_rates) / middle(&raw.pinned_rates),
        ratio_all_cpus_unpinned: middle(&raw.bare_rates) / middle(&raw.unpinned_rates),
        posix_spawn_median_ns: at(&bare, 0.5),
        posix_spawn_mean_ns: mean(&bare),
        sandbox_median_ns: at(&sandboxed, 0.5),
        sandbox_mean_ns: mean(&sandboxed),
        sandbox_p99_ns: at(&sandboxed, 0.99),
        runs_per_second: middle(&raw.pool_rates),
        posix_spawn_per_second: middle(&raw.bare_rates),
        cpu_ns_per_request: cpu(&raw.pool_rates),
        posix_spawn_cpu_ns: cpu(&raw.bare_rates),
        runs: amount.runs,
        cpus,
        backend: backend.to_string(),
        kernel: lab.machine().kernel.clone(),
        samples: raw,
    })
}

fn expect_success(handle: &Handle) -> Result<(), Error> {
    let result = handle.wait()?;
    if result.outcome == millibox::Outcome::Exited(0) {
        Ok(())
    } else {
        Err(Error::other(format!("/bin/true in the sandbox: {result}")))
    }
}

/// The result of a measurement on all CPUs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub per_second: f64,
    cpu_ns: u64,
}

pub(super) fn bare_on_all_cpus(cpus: &[usize], duration: Duration) -> Result<Rate, Error> {
    rate(&[], duration, |duration| {
        count_on_each(cpus, || {
            let (begin, mut count) = (Instant::now(), 0);
            while begin.elapsed() < duration {
                bare::spawn("/bin/true")?;
                count += 1;
            }
            Ok(count)
        })
    })
}

/// Drives the pool from a client thread on each CPU, as the bare loops and a busy server do.
pub(super) fn pool_on_all_cpus(
    pool: &Pool,
    request: &Request,
    cpus: &[usize],
    duration: Duration,
) -> Result<Rate, Error> {
    let pids: Vec<u32> = pool.members().map(|member| member.info().pid()).collect();
    rate(&pids, duration, |duration| {
        count_on_each(cpus, || {
            keep_busy(|| pool.run(request), RUNS_AHEAD_PER_CPU, duration)
        })
    })
}

fn sandbox_on_all_cpus(
    supervisor: &Supervisor,
    request: &Request,
    cpus: usize,
    duration: Duration,
) -> Result<Rate, Error> {
    rate(&[supervisor.info().pid()], duration, |duration| {
        keep_busy(
            || supervisor.run(request),
            cpus * RUNS_AHEAD_PER_CPU,
            duration,
        )
    })
}

/// Returns the runs per second of `runs`, which counts runs, and the CPU time of each run.
///
/// An uncounted warm-up comes first. Otherwise the tear-down of the previous variant's last runs
/// would slow down this variant, and the bare loop most of all.
fn rate(
    supervisors: &[u32],
    duration: Duration,
    runs: impl Fn(Duration) -> Result<u64, Error>,
) -> Result<Rate, Error> {
    runs(duration / 5)?;
    let (begin, cpu) = (Instant::now(), busy_ns(supervisors));
    let count = runs(duration)?.max(1);
    let per_second = count as f64 / begin.elapsed().as_secs_f64();
    Ok(Rate {
        per_second,
        cpu_ns: busy_ns(supervisors).saturating_sub(cpu) / count,
    })
}

/// Runs `counts` in a thread pinned to each of these CPUs. Returns the sum.
fn count_on_each(
    cpus: &[usize],
    counts: impl Fn() -> Result<u64, Error> + Sync,
) -> Result<u64, Error> {
    let counts_on = |cpu: usize| {
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one).map_err(Error::system("choose a CPU"))?;
        counts()
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = cpus
            .iter()
            .map(|&cpu| scope.spawn(move || counts_on(cpu)))
            .collect();
        all.into_iter().try_fold(0, |sum, thread| {
            Ok(sum
                + thread.join().unwrap_or_else(|_| {
                    Err(Error::other("a thread of the measurement panicked"))
                })?)
        })
    })
}

/// Requests runs, `ahead` at a time, so that a run is always waiting when a slot becomes free.
/// Returns the number of runs.
fn keep_busy(
    run: impl Fn() -> Result<Handle, millibox::Error>,
    ahead: usize,
    duration: Duration,
) -> Result<u64, Error> {
    let begin = Instant::now();
    let mut outstanding: VecDeque<Handle> = VecDeque::new();
    let mut count = 0;
    while begin.elapsed() < duration {
        while outstanding.len() < ahead {
            outstanding.push_back(run()?);
        }
        if let Some(first) = outstanding.pop_front() {
            expect_success(&first)?;
            count += 1;
        }
    }
    for left in outstanding {
        expect_success(&left)?;
        count += 1;
    }
    Ok(count)
}

/// The CPU time of this process, its reaped children, the supervisors and their runners
/// (proc_pid_stat(5): utime, stime, cutime, cstime, in ticks of 10 ms).
fn busy_ns(supervisors: &[u32]) -> u64 {
    let ticks = |pid: &str| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .split_whitespace()
            .collect();
        (14..=17)
            .filter_map(|field: usize| fields.get(field - 3)?.parse::<u64>().ok())
            .sum()
    };
    let mut total = ticks("self");
    let mut left: Vec<String> = supervisors.iter().map(u32::to_string).collect();
    while let Some(pid) = left.pop() {
        total += ticks(&pid);
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        left.extend(children.split_whitespace().map(str::to_owned));
    }
    total * 10_000_000
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}
