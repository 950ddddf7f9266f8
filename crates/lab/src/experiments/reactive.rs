//! The experiment `reactive`: a reactive task's solution under different observers.

use super::Experiment;
use super::conversation::{BatchFiles, Conversation, Placement, QueryTimes, placements};
use crate::programs::under::Observer;
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant};
use std::time::Duration;

pub const EXPERIMENT: Experiment = Experiment {
    name: "reactive",
    title: "Reactive tasks",
    about: "Merry 2010: a solution answers 200,000 queries over pipes (fewer at smaller scales) \
            and flushes each answer. It also answers them as a batch from a file, with buffering. \
            Variants: bare; with ptrace(2) at every system call; in millibox; with seccomp user \
            notification that continues every call. Solution and interactor run without affinity, \
            on separate CPUs, and on one CPU; observers run on the solution's CPU. The interactor \
            is always bare. Welch's t-test compares millibox with bare.",
    run,
};

const BARE: &str = "bare";
const OWN_SESSION: &str = "bare, own session";
const MILLIBOX: &str = "millibox";

/// The variants other than the bare program and millibox.
const OBSERVED_VARIANTS: [(&str, Observer, &str); 3] = [
    (
        "ptrace",
        Observer::Ptrace,
        "two stops for each call, its number and arguments read",
    ),
    (
        "user notification",
        Observer::Notify,
        "a notification for each call, which then continues",
    ),
    (
        "user notification, sync",
        Observer::NotifySync,
        "the same, woken on the caller's CPU (Linux 6.6)",
    ),
];

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let queries = lab.scale().pick(200, 5_000, 200_000);
    let supervisor = lab.supervisor(1)?;
    let conversation = Conversation::new(&supervisor, queries)?;
    let ways = placements()?;
    if ways.len() < 3 {
        report.add_note("This machine has one CPU, so there is no table for separate CPUs.");
    }
    for way in &ways {
        reactive(lab, report, &conversation, way, queries)?;
    }
    // The number is the same at scale short, because a batch is quick and its start must be only a
    // small part of its time.
    let queries = lab.scale().pick(200, 200_000, 200_000);
    let files = BatchFiles::new(lab.directory(), queries)?;
    batch(
        lab,
        report,
        &Conversation::new(&supervisor, queries)?,
        &files,
        &ways[0],
        queries,
    )?;
    report.add_note(
        "CPU time is the solution's, from start to end. CPU time with its watcher adds that of the \
         tracer or of the notification's supervisor. Bare programs and millibox have no watcher: \
         millibox's supervisor sleeps. The CPU time of a bare program starts at its fork, in the \
         sandbox at its exec: a few dozen microseconds.",
    );
    Ok(())
}

fn plan(lab: &Lab) -> Plan {
    Plan {
        rounds: lab.scale().pick(2, 20, 100),
        budget: lab.scale().pick(
            Duration::from_secs(5),
            Duration::from_secs(15),
            Duration::from_secs(1800),
        ),
        ..Plan::default()
    }
}

fn limited<'a>(lab: &'a Lab) -> impl Fn(millibox::Request) -> millibox::Request + Copy + 'a {
    |request| lab.limit_to(request, 256 << 20, 1, Duration::from_secs(600))
}

fn reactive(
    lab: &Lab,
    report: &mut Report,
    conversation: &Conversation<'_>,
    way: &Placement,
    queries: u64,
) -> Result<(), Error> {
    let numbers = |talked: QueryTimes| vec![talked.query_ns, talked.cpu_ns, talked.all_cpu_ns];
    let id = format!("reactive-{}", way.id);
    let title = format!("{queries} queries, {}: one query", way.what);
    let mut comparison = Comparison::new(id, title)
        .metric(Metric::new("real time", Unit::Nanoseconds))
        .metric(Metric::new("CPU time", Unit::Nanoseconds))
        .metric(Metric::new("CPU time with its watcher", Unit::Nanoseconds))
        .plan(plan(lab))
        .variant(Variant::new(BARE, move || {
            Ok(numbers(conversation.under(Observer::None, false, way)?))
        }))
        .variant(
            Variant::new(OWN_SESSION, move || {
                Ok(numbers(conversation.under(Observer::None, true, way)?))
            })
            .about(
                "the solution in its own session, and so in its own scheduling group, as in \
                    the sandbox",
            ),
        )
        .variant(
            Variant::new(MILLIBOX, move || {
                Ok(numbers(conversation.solution_sandboxed(limited(lab), way)?))
            })
            .about("namespaces, seccomp, limits; nothing between the programs"),
        );
    for (name, observer, about) in OBSERVED_VARIANTS {
        let run = move || Ok(numbers(conversation.under(observer, false, way)?));
        comparison = comparison.variant(Variant::new(name, run).about(about).optional());
    }
    let found = comparison.measure(lab)?;
    for metric in ["real time", "CPU time"] {
        for bare in [BARE, OWN_SESSION] {
            report.add_test(&found, metric, [bare, MILLIBOX])?;
        }
    }
    report.add_table(found);
    Ok(())
}

fn batch(
    lab: &Lab,
    report: &mut Report,
    conversation: &Conversation<'_>,
    files: &BatchFiles,
    way: &Placement,
    queries: u64,
) -> Result<(), Error> {
    let cpus = &way.answer;
    let mut comparison = Comparison::new(
        "batch",
        format!("{queries} queries as a batch, the whole program"),
    )
    .metric(Metric::new("real time", Unit::Nanoseconds))
    .metric(Metric::new("CPU time", Unit::Nanoseconds))
    .metric(Metric::new("CPU time with its watcher", Unit::Nanoseconds))
    .plan(plan(lab))
    .variant(Variant::new(BARE, move || {
        Ok(conversation
            .batch_under(Observer::None, files, cpus)?
            .to_vec())
    }))
    .variant(Variant::new(MILLIBOX, move || {
        Ok(conversation
            .batch_sandboxed(limited(lab), files, cpus)?
            .to_vec())
    }));
    for (name, observer, about) in OBSERVED_VARIANTS {
        let run = move || Ok(conversation.batch_under(observer, files, cpus)?.to_vec());
        comparison = comparison.variant(Variant::new(name, run).about(about).optional());
    }
    let found = comparison.measure(lab)?;
    report.add_test(&found, "CPU time", [BARE, MILLIBOX])?;
    report.add_table(found);
    Ok(())
}
