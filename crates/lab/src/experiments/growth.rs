//! The experiment `growth`: how the cost of a run depends on the size of its surroundings.

use super::Experiment;
use crate::table::{PlotKind, Samples, Table};
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant, bare, statistics};
use millibox::{Handle, Mount, Request, World};
use std::collections::VecDeque;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const EXPERIMENT: Experiment = Experiment {
    name: "growth",
    title: "Growth",
    about: "How the cost of a run of /bin/true depends on the number of mounts of its world, \
            the bytes of its environment, the number of slots, the number of runs \
            through one supervisor, and the caller's memory.",
    run,
};

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    report.add_table(mounts(lab)?);
    report.add_table(sizes(lab)?);
    report.add_table(slots(lab)?);
    many(lab, report)?;
    memory(lab, report)
}

const REAL_TIME: &str = "real time";

fn real() -> Metric {
    Metric::new(REAL_TIME, Unit::Nanoseconds)
}

fn over(x: &str) -> PlotKind {
    PlotKind::Lines {
        x: x.to_owned(),
        logarithmic: true,
    }
}

fn plan(lab: &Lab, short: u64, full: u64) -> Plan {
    Plan {
        rounds: lab.scale().pick(2, 120, 400),
        block: lab.scale().pick(2, 10, 20),
        settle_runs: 2,
        warm_up_runs: 3,
        budget: Duration::from_secs(lab.scale().pick(10, short, full)),
        min_rounds: 2,
    }
}

fn mounts(lab: &Lab) -> Result<Table, Error> {
    let supervisor = lab.supervisor(1)?;
    let source = lab.directory().join("mounts");
    std::fs::create_dir_all(&source).map_err(Error::system("make a directory to mount"))?;
    let mut comparison = Comparison::new("mounts", "Over the number of mounts")
        .metric(real())
        .plotted_as(over(
            "bind mounts in addition to those of the minimal world",
        ))
        .plan(plan(lab, 12, 120));
    for count in lab
        .scale()
        .pick(vec![1, 10], vec![1, 10, 100], vec![1, 3, 10, 30, 100, 300])
    {
        let world = (0..count).fold(World::minimal(), |world, at| {
            world.mount(Mount::read_only(&source, format!("/mnt/{at}")))
        });
        let request = lab.limit(Request::new("/bin/true").world(&world));
        let supervisor = &supervisor;
        comparison = comparison.variant(
            Variant::timed(format!("{count} mounts"), move || {
                bare::sandboxed(supervisor, &request).map(drop)
            })
            .at("millibox", f64::from(count)),
        );
    }
    comparison.measure(lab)
}

fn sizes(lab: &Lab) -> Result<Table, Error> {
    let supervisor = lab.supervisor(1)?;
    let mut comparison = Comparison::new("request-size", "Over the bytes of the environment")
        .metric(real())
        .plotted_as(over("bytes"))
        .plan(plan(lab, 10, 120));
    // Each variable has less than 4 KiB, as is usual. A request can have 128 KiB in total.
    let sizes: &[usize] = lab.scale().pick(
        &[100, 1000],
        &[100, 1000, 10_000, 100_000],
        &[100, 1000, 10_000, 30_000, 100_000],
    );
    for &size in sizes {
        let variables: Vec<(String, String)> = (0..size.div_ceil(1000))
            .map(|at| (format!("V{at:04}"), "x".repeat(size.min(1000) - 7)))
            .collect();
        let of_bare = variables.clone();
        comparison = comparison.variant(
            Variant::timed(format!("bare, {size} bytes"), move || {
                let mut command = Command::new("/bin/true");
                command.env_clear().stdin(Stdio::inherit());
                bare::success(command.envs(of_bare.iter().map(|(name, value)| (name, value))))
            })
            .at("bare", size as f64),
        );
        let request = variables
            .iter()
            .fold(Request::new("/bin/true"), |request, (name, value)| {
                request.env(name, value)
            });
        let request = lab.limit(request);
        let supervisor = &supervisor;
        comparison = comparison.variant(
            Variant::timed(format!("millibox, {size} bytes"), move || {
                bare::sandboxed(supervisor, &request).map(drop)
            })
            .at("millibox", size as f64)
            .against(format!("bare, {size} bytes")),
        );
    }
    comparison.measure(lab)
}

fn slots(lab: &Lab) -> Result<Table, Error> {
    let runs = lab.scale().pick(8, 100, 400);
    let mut counts = vec![1];
    while counts[counts.len() - 1] < 4 * lab.cpus() {
        counts.push((counts[counts.len() - 1] * 2).min(4 * lab.cpus()));
    }
    let request = lab.limit(Request::new("/bin/true"));
    let supervisors = counts
        .iter()
        .map(|&slots| lab.supervisor(slots))
        .collect::<Result<Vec<_>, Error>>()?;
    let mut comparison = Comparison::new(
        "slots",
        format!("Over the number of slots, on {} CPUs", lab.cpus()),
    )
    .metric(Metric::new("wall time for each run", Unit::Nanoseconds))
    .plotted_as(over("slots, or loops of posix_spawn and wait"))
    .plan(Plan {
        rounds: lab.scale().pick(2, 12, 60),
        block: 1,
        settle_runs: 0,
        ..plan(lab, 15, 200)
    });
    for (&slots, supervisor) in counts.iter().zip(&supervisors) {
        comparison = comparison.variant(
            Variant::new(format!("bare, {slots} loops"), move || {
                let begin = Instant::now();
                std::thread::scope(|scope| {
                    let loops: Vec<_> = (0..slots)
                        .map(|_| {
                            scope.spawn(move || {
                                (0..runs / slots + 1).try_for_each(|_| bare::spawn("/bin/true"))
                            })
                        })
                        .collect();
                    loops
                        .into_iter()
                        .try_for_each(|done| done.join().unwrap_or(Ok(())))
                })?;
                Ok(vec![
                    begin.elapsed().as_nanos() as f64 / (slots * (runs / slots + 1)) as f64,
                ])
            })
            .at("bare", slots as f64),
        );
        let request = &request;
        comparison = comparison.variant(
            Variant::new(format!("millibox, {slots} slots"), move || {
                let begin = Instant::now();
                let mut outstanding: VecDeque<Handle> = VecDeque::new();
                for _ in 0..runs {
                    // Keep more runs than slots outstanding, so that a run is always waiting when a
                    // slot becomes free.
                    if outstanding.len() >= 4 * slots
                        && let Some(first) = outstanding.pop_front()
                    {
                        succeeded(&first)?;
                    }
                    outstanding.push_back(supervisor.run(request)?);
                }
                outstanding.iter().try_for_each(succeeded)?;
                Ok(vec![begin.elapsed().as_nanos() as f64 / runs as f64])
            })
            .at("millibox", slots as f64)
            .against(format!("bare, {slots} loops")),
        );
    }
    comparison.measure(lab)
}

fn succeeded(handle: &Handle) -> Result<(), Error> {
    let result = handle.wait()?;
    match result.outcome {
        millibox::Outcome::Exited(0) => Ok(()),
        _ => Err(Error::other(format!("in the sandbox: {result}"))),
    }
}

/// Many runs through one supervisor, with bare runs between them as a control for the machine.
fn many(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    const RUNS_PER_BARE_RUN: usize = 20;
    const WINDOW_COUNT: usize = 20;
    let wanted: usize = lab.scale().pick(400, 20_000, 1_000_000);
    let budget = Duration::from_secs(lab.scale().pick(60, 30, 3600));
    let supervisor = lab.supervisor(1)?;
    let request = lab.limit(Request::new("/bin/true"));
    let progress = lab.progress("Over many runs");
    for _ in 0..wanted.min(100) {
        bare::sandboxed(&supervisor, &request)?;
    }
    let before = ProcessResources::of(supervisor.info().pid());
    let (mut sandboxed, mut bare_runs) = (Vec::with_capacity(wanted), Vec::new());
    let begin = Instant::now();
    for at in 0..wanted {
        // Check the time only here, so that each window and each tenth contains bare runs.
        if at % (WINDOW_COUNT * RUNS_PER_BARE_RUN) == 0 && at > 0 && begin.elapsed() > budget {
            report.add_note(format!(
                "Stopped after {} s, at {at} of {wanted} runs.",
                budget.as_secs()
            ));
            break;
        }
        if at % RUNS_PER_BARE_RUN == 0 {
            progress.show("/bin/true", at as f64 / wanted as f64);
            let begin = Instant::now();
            bare::spawn("/bin/true")?;
            bare_runs.push(begin.elapsed().as_nanos() as f64);
            // This run is not counted, because the bare run still affects it.
            bare::sandboxed(&supervisor, &request)?;
        }
        let begin = Instant::now();
        bare::sandboxed(&supervisor, &request)?;
        sandboxed.push(begin.elapsed().as_nanos() as f64);
    }
    progress.done(begin.elapsed());
    let after = ProcessResources::of(supervisor.info().pid());
    let runs = sandboxed.len();
    let title = format!("Over {runs} runs");

    let mut lines = Vec::new();
    let window = runs / WINDOW_COUNT;
    for (series, part) in [("median", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
        for (at, values) in sandboxed.chunks_exact(window).enumerate() {
            lines.push(point(series, part, (at + 1) * window, values));
        }
    }
    for (at, values) in bare_runs
        .chunks_exact(window / RUNS_PER_BARE_RUN)
        .enumerate()
    {
        lines.push(point("bare, median", 0.5, (at + 1) * window, values));
    }
    // Each point is one number, so a bootstrap has nothing to compare.
    let mut steady = Table::new(
        "many-windows",
        format!("{title}, in windows of {window}"),
        vec![real()],
        &lines,
        1,
        lab.seed(),
    );
    for figures in steady
        .variants
        .iter_mut()
        .flat_map(|variant| &mut variant.figures)
    {
        figures.ratio = None;
    }
    let tenth = |name: &str, about: &str, values: &[f64]| Samples {
        name: name.to_owned(),
        about: about.to_owned(),
        values: vec![values.to_vec()],
        ..Samples::default()
    };
    let parts = [
        tenth(
            "first tenth",
            "of the runs through one supervisor",
            &sandboxed[..runs / 10],
        ),
        tenth("last tenth", "", &sandboxed[runs - runs / 10..]),
        tenth("all", "", &sandboxed),
        tenth(
            "bare, first tenth",
            "posix_spawn and wait, once for 20 runs",
            &bare_runs[..bare_runs.len() / 10],
        ),
        Samples {
            against: Some("bare, first tenth".to_owned()),
            ..tenth(
                "bare, last tenth",
                "the machine's own drift",
                &bare_runs[bare_runs.len() - bare_runs.len() / 10..],
            )
        },
    ];
    let whole = Table::new(
        "many",
        title,
        vec![real()],
        &parts,
        (window / 10).clamp(1, 10),
        lab.seed(),
    );
    report.add_claim(
        "the last tenth of many runs against the first, real time",
        &whole,
        "last tenth",
        REAL_TIME,
        1.05,
    );
    report.add_table(whole);
    report.add_table(steady.plotted_as(PlotKind::Lines {
        x: "runs".to_owned(),
        logarithmic: false,
    }));
    report.add_note(format!(
        "The supervisor before and after {runs} runs: {before}; {after}."
    ));
    Ok(())
}

fn point(series: &str, part: f64, x: usize, values: &[f64]) -> Samples {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Samples {
        name: format!("{series}, {x}"),
        series: Some(series.to_owned()),
        x: Some(x as f64),
        values: vec![vec![statistics::quantile(&sorted, part)]],
        ..Samples::default()
    }
}

/// The memory and descriptors of a process.
struct ProcessResources {
    descriptors: Option<usize>,
    resident_kib: u64,
}

impl ProcessResources {
    fn of(pid: u32) -> ProcessResources {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| {
            line.strip_prefix("VmRSS:")?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        });
        ProcessResources {
            // Only root may read this directory, because the supervisor is not dumpable.
            descriptors: std::fs::read_dir(format!("/proc/{pid}/fd"))
                .ok()
                .map(Iterator::count),
            resident_kib: resident.unwrap_or(0),
        }
    }
}

impl std::fmt::Display for ProcessResources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} KiB resident", self.resident_kib)?;
        self.descriptors
            .map_or(Ok(()), |count| write!(f, ", {count} descriptors"))
    }
}

/// Measures three alternating ways to run a program while the caller's memory grows.
fn memory(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    const MIB: usize = 1 << 20;
    let wanted = lab.scale().pick(
        vec![10, 20],
        vec![10, 100, 1024],
        vec![10, 100, 1024, 4096, 8192],
    );
    let supervisor = lab.supervisor(1)?;
    let request = lab.limit(Request::new("/bin/true"));
    let uid = rustix::process::geteuid().as_raw();
    let mut samples = Vec::new();
    let mut ballast: Vec<Vec<u8>> = Vec::new();
    let mut missing = Vec::new();
    for size in wanted {
        let limit = available() / 2;
        if (size * MIB) as u64 > limit {
            missing.push(format!(
                "{size} MiB (half of the free memory is {} MiB)",
                limit >> 20
            ));
            continue;
        }
        let have: usize = ballast.iter().map(Vec::len).sum();
        ballast.push(vec![1; (size * MIB).saturating_sub(have)]);
        std::hint::black_box(&ballast);
        let x = (size * MIB) as f64;
        let comparison = Comparison::new("memory", format!("Over the caller's memory: {size} MiB"))
            .metric(real())
            .plan(plan(lab, 4, 60))
            .variant(
                Variant::timed(format!("posix_spawn, {size} MiB"), || {
                    bare::spawn("/bin/true")
                })
                .at("posix_spawn", x),
            )
            .variant(
                // std forks if a user id is set.
                Variant::timed(format!("fork and exec, {size} MiB"), || {
                    let mut command = Command::new("/bin/true");
                    bare::success(command.env_clear().stdin(Stdio::inherit()).uid(uid))
                })
                .at("fork and exec", x)
                .against(format!("posix_spawn, {size} MiB")),
            )
            .variant(
                Variant::timed(format!("millibox, {size} MiB"), || {
                    bare::sandboxed(&supervisor, &request).map(drop)
                })
                .at("millibox", x)
                .against(format!("posix_spawn, {size} MiB")),
            );
        samples.extend(comparison.samples(lab)?.0);
    }
    drop(ballast);
    let block = plan(lab, 1, 1).block;
    let table = Table::new(
        "memory",
        "Over the caller's memory",
        vec![real()],
        &samples,
        block,
        lab.seed(),
    );
    report.add_table(table.plotted_as(over("bytes of the caller's memory, all of it touched")));
    if !missing.is_empty() {
        report.add_note(format!(
            "Not measured for lack of memory: a caller of {}.",
            missing.join(", ")
        ));
    }
    Ok(())
}

/// Available memory in bytes.
pub(super) fn available() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}
