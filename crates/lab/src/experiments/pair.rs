//! Two sandboxed programs that talk, and where the cost of a round trip comes from.

use super::Experiment;
use super::conversation::{Places, Table, places};
use crate::statistics::{Centre, ratio};
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant};
use millibox::World;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const EXPERIMENT: Experiment = Experiment {
    name: "pair",
    title: "A reactive task without a relay",
    about: "The round trip of one query between two programs on two pipes: both bare, in one session and in two (the \
            scheduler groups processes by session where kernel.sched_autogroup_enabled is 1); both in the sandbox as \
            an interactive problem's solution and interactor are. Then, as root, bare with one thing at a time of \
            what holds a run: cgroups of their own or a common one. Wanted: at most 1.05 of bare.",
    run,
};

const ONE_SESSION: &str = "bare";
const SESSIONS: &str = "bare, two sessions";
const PAIR: &str = "millibox";

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let queries = lab.scale().pick(200, 5_000, 200_000);
    let supervisor = lab.supervisor(1)?;
    let table = Table::new(&supervisor, queries)?;
    let cgroups = Cgroups::make();
    if let Err(why) = &cgroups {
        report.note(format!("Nothing bare was put into cgroups: {why}."));
    }
    for way in places()? {
        one(lab, report, &table, &way, cgroups.as_ref().ok(), queries)?;
    }
    Ok(())
}

fn one(
    lab: &Lab,
    report: &mut Report,
    table: &Table<'_>,
    way: &Places,
    cgroups: Option<&Cgroups>,
    queries: u64,
) -> Result<(), Error> {
    let limited = |request| lab.limited_by(request, 256 << 20, 1, Duration::from_secs(600));
    let (usual, open) = (World::minimal(), World::minimal().without_seccomp());
    let mut comparison =
        Comparison::new(format!("pair-{}", way.id), format!("{queries} queries, {}: one query", way.what))
            .metric(Metric::new("real time", Unit::Nanoseconds))
            .metric(Metric::new("CPU time of who asks", Unit::Nanoseconds))
            .plan(Plan {
                rounds: lab.scale().pick(2, 40, 200),
                budget: lab.scale().pick(Duration::from_secs(5), Duration::from_secs(20), Duration::from_secs(1800)),
                ..Plan::default()
            })
            .variant(Variant::new(ONE_SESSION, || Ok(table.bare_pair(&[], &[], way)?.to_vec())).about("in our session"))
            .variant(
                Variant::new(SESSIONS, || Ok(table.bare_pair(&["session"], &["session"], way)?.to_vec()))
                    .about("each in a session of its own, as programs that are held apart must be"),
            )
            .variant(Variant::new(PAIR, || Ok(table.sandboxed_pair(limited, way, &usual)?.to_vec())))
            .variant(Variant::new("millibox without seccomp", || {
                Ok(table.sandboxed_pair(limited, way, &open)?.to_vec())
            }))
            .variant(
                Variant::new("millibox without limits", || {
                    Ok(table.sandboxed_pair(|request| request, way, &usual)?.to_vec())
                })
                .about("the cgroups are there"),
            );
    for (name, controllers, common) in [
        ("bare, cpu cgroups", &["cpu"][..], false),
        ("bare, one cpu cgroup", &["cpu"], true),
        ("bare, cpuacct cgroups", &["cpuacct"], false),
        ("bare, memory and pids cgroups", &["memory", "pids"], false),
        ("bare, cgroups of all", &["cpu", "cpuacct", "memory", "pids"], false),
        ("bare, cgroups of all, one of cpu", &["cpu", "cpuacct", "memory", "pids"], true),
    ] {
        let Some(cgroups) = cgroups else {
            comparison = comparison.missing(name, "no cgroups could be made");
            continue;
        };
        match cgroups.of(controllers, common) {
            Ok([ask, answer]) => {
                let run = move || Ok(table.bare_pair(&words(&ask), &words(&answer), way)?.to_vec());
                comparison = comparison.variant(Variant::new(name, run).optional());
            }
            Err(why) => comparison = comparison.missing(name, why),
        }
    }
    let found = comparison.measure(lab)?;
    report.claim(format!("a query, {}", way.what), &found, PAIR, "real time", 1.05);
    let samples = |name| found.figures(name, "real time").map(|figures| figures.samples.as_slice());
    if let (Some(pair), Some(sessions)) = (samples(PAIR), samples(SESSIONS))
        && let Some(ratio) = ratio(pair, sessions, found.block, Centre::Median, lab.seed())
    {
        report.claim_of(format!("a query, {}, against bare in two sessions", way.what), ratio, 1.05);
    }
    report.test(&found, "real time", [SESSIONS, PAIR])?;
    report.table(found);
    Ok(())
}

/// Words of the program `place`: these cgroups, in a session of its own.
fn words(cgroups: &[String]) -> Vec<&str> {
    std::iter::once("session").chain(cgroups.iter().map(String::as_str)).collect()
}

/// Version 1 cgroups of ours: two of each controller, `a` and `b`. They go when they are dropped.
struct Cgroups {
    name: String,
    /// Controller and where its hierarchy is mounted.
    mounts: Vec<(String, PathBuf)>,
}

impl Cgroups {
    /// Not named as a supervisor names its own: others sweep those that nobody has locked.
    fn make() -> Result<Cgroups, String> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").map_err(|error| error.to_string())?;
        let wanted = ["cpu", "cpuacct", "memory", "pids"];
        let mut found = Vec::new();
        for line in mounts.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [_, at, "cgroup", options, ..] = words[..] {
                for controller in options.split(',').filter(|option| wanted.contains(option)) {
                    found.push((controller.to_owned(), PathBuf::from(at)));
                }
            }
        }
        if found.is_empty() {
            return Err("there are no version 1 hierarchies".to_owned());
        }
        let cgroups = Cgroups { name: format!("lab-of-millibox-{}", std::process::id()), mounts: found };
        for (_, at) in &cgroups.mounts {
            for path in cgroups.directories(at) {
                match std::fs::create_dir(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                        return Err(format!("{}: {error}", path.display()));
                    }
                    _ => {}
                }
            }
        }
        Ok(cgroups)
    }

    fn directories(&self, at: &Path) -> [PathBuf; 3] {
        let top = at.join(&self.name);
        [top.clone(), top.join("a"), top.join("b")]
    }

    /// Where the two programs join: each its own cgroup of each controller, or, if `common`, both
    /// the same of cpu.
    fn of(&self, controllers: &[&str], common: bool) -> Result<[Vec<String>; 2], String> {
        let mut all = [Vec::new(), Vec::new()];
        for &controller in controllers {
            let Some((_, at)) = self.mounts.iter().find(|(name, _)| name == controller) else {
                return Err(format!("{controller} is not on a version 1 hierarchy"));
            };
            let [_, a, b] = self.directories(at);
            let b = if common && controller == "cpu" { a.clone() } else { b };
            all[0].push(a.join("cgroup.procs").to_string_lossy().into_owned());
            all[1].push(b.join("cgroup.procs").to_string_lossy().into_owned());
        }
        Ok(all)
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for (_, at) in &self.mounts {
            for path in self.directories(at).iter().rev() {
                let _ = std::fs::remove_dir(path);
            }
        }
    }
}
