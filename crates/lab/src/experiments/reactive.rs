//! Reactive tasks, with what one could put around the solution.

use super::Experiment;
use super::conversation::{Files, Places, Table, Talked, places};
use crate::programs::under::Around;
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant};
use std::time::Duration;

pub const EXPERIMENT: Experiment = Experiment {
    name: "reactive",
    title: "Reactive tasks",
    about: "Merry 2010: a solution answers 200,000 queries over pipes (fewer at smaller scales), each answer flushed, \
            and once more as a batch, from a file and buffered. Bare; with ptrace(2) at every system call; in \
            millibox; with seccomp user notification, every call answered \"continue\". Without affinity, with \
            solution and questioner on separate CPUs, and with both on one; tracers are where the solution is. The \
            questioner is bare in all of them. Welch's t-test says whether millibox adds anything.",
    run,
};

const BARE: &str = "bare";
const APART: &str = "bare, own session";
const MILLIBOX: &str = "millibox";

/// What there is besides the bare program and millibox.
const OTHERS: [(&str, Around, &str); 3] = [
    ("ptrace", Around::Ptrace, "two stops for each call, its number and arguments read"),
    ("user notification", Around::Notify, "each call asked for and continued"),
    ("user notification, sync", Around::NotifySync, "the same, woken on the caller's CPU (Linux 6.6)"),
];

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let queries = lab.scale().pick(200, 5_000, 200_000);
    let supervisor = lab.supervisor(1)?;
    let table = Table::new(&supervisor, queries)?;
    let ways = places()?;
    if ways.len() < 3 {
        report.note("There is one CPU here, so nothing runs on separate ones.");
    }
    for way in &ways {
        reactive(lab, report, &table, way, queries)?;
    }
    // All of them even if it is to be short: a batch is quick, and its start is to be little of it.
    let queries = lab.scale().pick(200, 200_000, 200_000);
    let files = Files::new(lab.directory(), queries)?;
    batch(lab, report, &Table::new(&supervisor, queries)?, &files, &ways[0], queries)?;
    report.note(
        "CPU time is the solution's, from start to end; with its watcher, that of tracer or notification's \
         supervisor is added, which for bare and millibox there is none: millibox's supervisor sleeps. A bare program \
         starts with its fork, one in the sandbox with its exec: that makes some dozen microseconds.",
    );
    Ok(())
}

fn plan(lab: &Lab) -> Plan {
    Plan {
        rounds: lab.scale().pick(2, 20, 100),
        budget: lab.scale().pick(Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(1800)),
        ..Plan::default()
    }
}

fn limited<'a>(lab: &'a Lab) -> impl Fn(millibox::Request) -> millibox::Request + Copy + 'a {
    |request| lab.limited_by(request, 256 << 20, 1, Duration::from_secs(600))
}

fn reactive(lab: &Lab, report: &mut Report, table: &Table<'_>, way: &Places, queries: u64) -> Result<(), Error> {
    let numbers = |talked: Talked| vec![talked.query_ns, talked.cpu_ns, talked.all_cpu_ns];
    let id = format!("reactive-{}", way.id);
    let title = format!("{queries} queries, {}: one query", way.what);
    let mut comparison =
        Comparison::new(id, title)
            .metric(Metric::new("real time", Unit::Nanoseconds))
            .metric(Metric::new("CPU time", Unit::Nanoseconds))
            .metric(Metric::new("CPU time with its watcher", Unit::Nanoseconds))
            .plan(plan(lab))
            .variant(Variant::new(BARE, move || Ok(numbers(table.under(Around::Nothing, false, way)?))))
            .variant(Variant::new(APART, move || Ok(numbers(table.under(Around::Nothing, true, way)?))).about(
                "the solution in a session of its own: to the scheduler a group of its own, as the sandbox's is",
            ))
            .variant(
                Variant::new(MILLIBOX, move || Ok(numbers(table.solution_sandboxed(limited(lab), way)?)))
                    .about("namespaces, seccomp, limits; nothing between the programs"),
            );
    for (name, around, about) in OTHERS {
        let run = move || Ok(numbers(table.under(around, false, way)?));
        comparison = comparison.variant(Variant::new(name, run).about(about).optional());
    }
    let found = comparison.measure(lab)?;
    for metric in ["real time", "CPU time"] {
        for bare in [BARE, APART] {
            report.test(&found, metric, [bare, MILLIBOX])?;
        }
    }
    report.table(found);
    Ok(())
}

fn batch(
    lab: &Lab,
    report: &mut Report,
    table: &Table<'_>,
    files: &Files,
    way: &Places,
    queries: u64,
) -> Result<(), Error> {
    let cpus = &way.answer;
    let mut comparison = Comparison::new("batch", format!("{queries} queries as a batch, the whole program"))
        .metric(Metric::new("real time", Unit::Nanoseconds))
        .metric(Metric::new("CPU time", Unit::Nanoseconds))
        .metric(Metric::new("CPU time with its watcher", Unit::Nanoseconds))
        .plan(plan(lab))
        .variant(Variant::new(BARE, move || Ok(table.batch_under(Around::Nothing, files, cpus)?.to_vec())))
        .variant(Variant::new(MILLIBOX, move || Ok(table.batch_sandboxed(limited(lab), files, cpus)?.to_vec())));
    for (name, around, about) in OTHERS {
        let run = move || Ok(table.batch_under(around, files, cpus)?.to_vec());
        comparison = comparison.variant(Variant::new(name, run).about(about).optional());
    }
    let found = comparison.measure(lab)?;
    report.test(&found, "CPU time", [BARE, MILLIBOX])?;
    report.table(found);
    Ok(())
}
