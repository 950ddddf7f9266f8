//! What the kernel alone takes for what is fresh in every run.

use super::bin_true::{Rate, bare_on_all_cpus, pool_on_all_cpus};
use super::{Experiment, conversation};
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant};
use millibox::{Pool, Request, Supervisor};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

pub const EXPERIMENT: Experiment = Experiment {
    name: "floor",
    title: "What the kernel alone takes",
    about: "/bin/true on all CPUs at once, with one thing more that is fresh in every run from row to row, made by a \
            small loop that does nothing else: no client, no supervisor, no messages, no seccomp program, no cgroups, \
            no limits, no figures. Then the sandbox with all of it. What a sandbox that keeps nothing from run to run \
            can reach at best on a machine is the last row but one.",
    run,
};

/// What is added up from row to row, in the order of the program's `Rung`.
const RUNGS: [(&str, &str); 8] = [
    ("two processes", "an init process in its parent's memory, and the program by vfork"),
    ("+ PID", "a PID namespace"),
    ("+ user", "a user namespace and its two id maps"),
    ("+ mount", "a copy of a mount namespace with five or so mounts"),
    ("+ IPC", "an IPC namespace"),
    ("+ tmpfs", "a tmpfs"),
    ("+ attributes", "a session, four rlimits, securebits, no capabilities"),
    ("+ bounding set", "the capability bounding set emptied, one after another"),
];

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let program = lab.compile("floor", include_str!("../../programs/floor.cpp"), &["-O2", "-std=c++20"])?;
    let cpus = conversation::cpus()?;
    let pool = Pool::with(&lab.builder())?;
    let ids = pool.members().next().map(Supervisor::ids).unwrap_or_default();
    let request = lab.limited(Request::new("/bin/true"));
    let for_long = lab.scale().pick(Duration::from_millis(50), Duration::from_millis(300), Duration::from_secs(1));
    let each = |rate: Result<Rate, Error>| rate.map(|rate| vec![1e9 / rate.per_second]);
    let metric = "time a run, all CPUs";
    let mut comparison = Comparison::new("floor", "/bin/true on all CPUs, one thing more from row to row")
        .metric(Metric::new(metric, Unit::Nanoseconds))
        .variant(
            Variant::new("bare", || each(bare_on_all_cpus(&cpus, for_long)))
                .about("a loop of posix_spawn and wait for each CPU"),
        );
    for (rung, (name, about)) in RUNGS.into_iter().enumerate() {
        let once = {
            let (program, cpus) = (&program, &cpus);
            move || climb(program, rung, for_long, ids, cpus).map(|ns| vec![ns])
        };
        comparison = comparison.variant(Variant::new(name, once).about(about).optional());
    }
    let table = comparison
        .variant(
            Variant::new("millibox", || each(pool_on_all_cpus(&pool, &request, &cpus, for_long)))
                .about("a pool, with everything: asked, limited, filtered, measured, answered"),
        )
        .plan(Plan {
            rounds: lab.scale().pick(2, 15, 60),
            warm_up: 0,
            budget: lab.scale().pick(Duration::from_secs(10), Duration::from_secs(80), Duration::from_secs(900)),
            at_least: 2,
            ..Plan::default()
        })
        .measure(lab)?;
    let median = |name: &str| table.figures(name, metric).map(|figures| figures.median);
    if let (Some(floor), Some(millibox)) = (median(RUNGS[RUNGS.len() - 1].0), median("millibox")) {
        report.note(format!("millibox takes {:.2} of what the kernel alone takes for the same.", millibox / floor));
    }
    report.note(
        "The loop prepares nothing while a program runs; three processes for each CPU, as many as a slot has homes, fill \
         what the kernel's grace periods leave idle.",
    );
    report.table(table);
    Ok(())
}

/// Nanoseconds a run, of all CPUs together.
fn climb(
    program: &Path,
    rung: usize,
    for_long: Duration,
    (uid, gid): (u32, u32),
    cpus: &[usize],
) -> Result<f64, Error> {
    let mut command = Command::new(program);
    command.args([rung.to_string(), for_long.as_secs_f64().to_string(), uid.to_string(), gid.to_string()]);
    command.args(cpus.iter().map(usize::to_string)).stdin(Stdio::null());
    let output = command.output().map_err(Error::system("run the loop"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.trim().parse() {
        Ok(ns) if output.status.success() => Ok(ns),
        _ => Err(Error::says(format!("the loop: {}", String::from_utf8_lossy(&output.stderr).trim()))),
    }
}
