//! The experiment `floor`: the kernel's own time for the resources that are new in every run.

use super::bin_true::{Rate, bare_on_all_cpus, pool_on_all_cpus};
use super::{Experiment, conversation};
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant};
use millibox::{Pool, Request};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

pub const EXPERIMENT: Experiment = Experiment {
    name: "floor",
    title: "The kernel's own time",
    about: "/bin/true on all CPUs at once. Each row adds one more fresh resource to every run of \
            a small loop that does nothing else: no client, no supervisor, no messages, no \
            seccomp program, no cgroups, no limits, no figures. The last row is the sandbox with \
            all of these. The row before it is the best that a sandbox without state between \
            runs can reach on this machine.",
    run,
};

/// The rows, in the order of the program's `Step`. Each row adds one step to the previous row.
const FLOOR_STEPS: [(&str, &str); 8] = [
    (
        "two processes",
        "an init process in its parent's memory, and the program by vfork",
    ),
    ("+ PID", "a PID namespace"),
    ("+ user", "a user namespace and its two id maps"),
    (
        "+ mount",
        "a copy of a mount namespace with about five mounts",
    ),
    ("+ IPC", "an IPC namespace"),
    ("+ tmpfs", "a tmpfs"),
    (
        "+ attributes",
        "a session, four rlimits, securebits, no capabilities",
    ),
    (
        "+ bounding set",
        "the capability bounding set emptied, one capability after another",
    ),
];

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let program = lab.compile(
        "floor",
        include_str!("../../programs/floor.cpp"),
        &["-O2", "-std=c++20"],
    )?;
    let cpus = conversation::cpus()?;
    let pool = Pool::with(&lab.builder())?;
    let ids = pool
        .members()
        .next()
        .map(|supervisor| supervisor.info().ids())
        .unwrap_or_default();
    let request = lab.limit(Request::new("/bin/true"));
    let duration = lab.scale().pick(
        Duration::from_millis(50),
        Duration::from_millis(300),
        Duration::from_secs(1),
    );
    let each = |rate: Result<Rate, Error>| rate.map(|rate| vec![1e9 / rate.per_second]);
    let metric = "time per run, all CPUs";
    let mut comparison = Comparison::new(
        "floor",
        "/bin/true on all CPUs, one more fresh resource in each row",
    )
    .metric(Metric::new(metric, Unit::Nanoseconds))
    .variant(
        Variant::new("bare", || each(bare_on_all_cpus(&cpus, duration)))
            .about("a loop of posix_spawn and wait for each CPU"),
    );
    for (step, (name, about)) in FLOOR_STEPS.into_iter().enumerate() {
        let once = {
            let (program, cpus) = (&program, &cpus);
            move || run_step(program, step, duration, ids, cpus).map(|ns| vec![ns])
        };
        comparison = comparison.variant(Variant::new(name, once).about(about).optional());
    }
    let table = comparison
        .variant(
            Variant::new("millibox", || {
                each(pool_on_all_cpus(&pool, &request, &cpus, duration))
            })
            .about("a pool, with everything: messages, limits, seccomp program, figures"),
        )
        .plan(Plan {
            rounds: lab.scale().pick(2, 15, 60),
            warm_up_runs: 0,
            budget: lab.scale().pick(
                Duration::from_secs(10),
                Duration::from_secs(80),
                Duration::from_secs(900),
            ),
            min_rounds: 2,
            ..Plan::default()
        })
        .measure(lab)?;
    let median = |name: &str| table.figures(name, metric).map(|figures| figures.median);
    if let (Some(floor), Some(millibox)) = (
        median(FLOOR_STEPS[FLOOR_STEPS.len() - 1].0),
        median("millibox"),
    ) {
        report.add_note(format!(
            "millibox takes {:.2} times as long as the kernel alone for the same resources.",
            millibox / floor
        ));
    }
    report.add_note(
        "The loop prepares nothing while a program runs. Three processes for each CPU, as many as \
         a slot has runners, use the time that the kernel's grace periods leave idle.",
    );
    report.add_table(table);
    Ok(())
}

/// Runs the program up to this step. Returns the nanoseconds per run, for all CPUs together.
fn run_step(
    program: &Path,
    step: usize,
    duration: Duration,
    (uid, gid): (u32, u32),
    cpus: &[usize],
) -> Result<f64, Error> {
    let mut command = Command::new(program);
    command.args([
        step.to_string(),
        duration.as_secs_f64().to_string(),
        uid.to_string(),
        gid.to_string(),
    ]);
    command
        .args(cpus.iter().map(usize::to_string))
        .stdin(Stdio::null());
    let output = command.output().map_err(Error::system("run the loop"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.trim().parse() {
        Ok(ns) if output.status.success() => Ok(ns),
        _ => Err(Error::other(format!(
            "the loop: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}
