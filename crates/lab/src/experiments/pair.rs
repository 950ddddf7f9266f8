//! The experiment `pair`: a query between two sandboxed programs, and the causes of its cost.

use super::Experiment;
use super::conversation::{Conversation, Placement, placements};
use crate::statistics::{Centre, ratio};
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant};
use millibox::World;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const EXPERIMENT: Experiment = Experiment {
    name: "pair",
    title: "A reactive task without a relay",
    about: "The round trip of one query between two programs that communicate by two pipes. The \
            programs run bare, in one session and in two (the scheduler groups processes by \
            session if kernel.sched_autogroup_enabled is 1), and in the sandbox, like the \
            solution and the interactor of an interactive problem. As root, they also run bare \
            in separate and in common cgroups of one controller after another. Target: at most \
            1.05 times bare.",
    run,
};

const ONE_SESSION: &str = "bare";
const TWO_SESSIONS: &str = "bare, two sessions";
const PAIR: &str = "millibox";

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let queries = lab.scale().pick(200, 5_000, 200_000);
    let supervisor = lab.supervisor(1)?;
    let conversation = Conversation::new(&supervisor, queries)?;
    let cgroups = Cgroups::make();
    if let Err(why) = &cgroups {
        report.add_note(format!("No bare program ran in cgroups: {why}."));
    }
    for way in placements()? {
        one(
            lab,
            report,
            &conversation,
            &way,
            cgroups.as_ref().ok(),
            queries,
        )?;
    }
    Ok(())
}

fn one(
    lab: &Lab,
    report: &mut Report,
    conversation: &Conversation<'_>,
    way: &Placement,
    cgroups: Option<&Cgroups>,
    queries: u64,
) -> Result<(), Error> {
    let limited = |request| lab.limit_to(request, 256 << 20, 1, Duration::from_secs(600));
    let (usual, open) = (World::minimal(), World::minimal().without_seccomp());
    let mut comparison = Comparison::new(
        format!("pair-{}", way.id),
        format!("{queries} queries, {}: one query", way.what),
    )
    .metric(Metric::new("real time", Unit::Nanoseconds))
    .metric(Metric::new("CPU time of the interactor", Unit::Nanoseconds))
    .plan(Plan {
        rounds: lab.scale().pick(2, 40, 200),
        budget: lab.scale().pick(
            Duration::from_secs(5),
            Duration::from_secs(20),
            Duration::from_secs(1800),
        ),
        ..Plan::default()
    })
    .variant(
        Variant::new(ONE_SESSION, || {
            Ok(conversation.bare_pair(&[], &[], way)?.to_vec())
        })
        .about("both in the lab's session"),
    )
    .variant(
        Variant::new(TWO_SESSIONS, || {
            Ok(conversation
                .bare_pair(&["session"], &["session"], way)?
                .to_vec())
        })
        .about("each in a session of its own, as isolated programs must be"),
    )
    .variant(Variant::new(PAIR, || {
        Ok(conversation.sandboxed_pair(limited, way, &usual)?.to_vec())
    }))
    .variant(Variant::new("millibox without seccomp", || {
        Ok(conversation.sandboxed_pair(limited, way, &open)?.to_vec())
    }))
    .variant(
        Variant::new("millibox without limits", || {
            Ok(conversation
                .sandboxed_pair(|request| request, way, &usual)?
                .to_vec())
        })
        .about("in the same cgroups"),
    );
    for (name, controllers, common) in [
        ("bare, cpu cgroups", &["cpu"][..], false),
        ("bare, one cpu cgroup", &["cpu"], true),
        ("bare, cpuacct cgroups", &["cpuacct"], false),
        ("bare, memory and pids cgroups", &["memory", "pids"], false),
        (
            "bare, cgroups of all controllers",
            &["cpu", "cpuacct", "memory", "pids"],
            false,
        ),
        (
            "bare, cgroups of all controllers, one cpu cgroup",
            &["cpu", "cpuacct", "memory", "pids"],
            true,
        ),
    ] {
        let Some(cgroups) = cgroups else {
            comparison = comparison.missing(name, "no cgroups could be created");
            continue;
        };
        match cgroups.of(controllers, common) {
            Ok([ask, answer]) => {
                let run = move || {
                    Ok(conversation
                        .bare_pair(&words(&ask), &words(&answer), way)?
                        .to_vec())
                };
                comparison = comparison.variant(Variant::new(name, run).optional());
            }
            Err(why) => comparison = comparison.missing(name, why),
        }
    }
    let found = comparison.measure(lab)?;
    report.add_claim(
        format!("a query, {}", way.what),
        &found,
        PAIR,
        "real time",
        1.05,
    );
    let samples = |name| {
        found
            .figures(name, "real time")
            .map(|figures| figures.samples.as_slice())
    };
    if let (Some(pair), Some(sessions)) = (samples(PAIR), samples(TWO_SESSIONS))
        && let Some(ratio) = ratio(pair, sessions, found.block, Centre::Median, lab.seed())
    {
        report.add_ratio_claim(
            format!("a query, {}, against bare in two sessions", way.what),
            ratio,
            1.05,
        );
    }
    report.add_test(&found, "real time", [TWO_SESSIONS, PAIR])?;
    report.add_table(found);
    Ok(())
}

/// The arguments that make the program `place` use its own session and these cgroups.
fn words(cgroups: &[String]) -> Vec<&str> {
    std::iter::once("session")
        .chain(cgroups.iter().map(String::as_str))
        .collect()
}

/// The lab's version 1 cgroups: two of each controller, `a` and `b`. They are removed on drop.
struct Cgroups {
    name: String,
    /// Each controller, with the mount point of its hierarchy.
    mounts: Vec<(String, PathBuf)>,
}

impl Cgroups {
    /// Creates the cgroups. Their names do not look like a supervisor's, because other supervisors
    /// remove unlocked cgroups with such names.
    fn make() -> Result<Cgroups, String> {
        let mounts =
            std::fs::read_to_string("/proc/self/mounts").map_err(|error| error.to_string())?;
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
        let cgroups = Cgroups {
            name: format!("lab-of-millibox-{}", std::process::id()),
            mounts: found,
        };
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

    /// The `cgroup.procs` files that the two programs join. Each program has its own cgroup of each
    /// controller, but if `common` is true, both share one cpu cgroup.
    fn of(&self, controllers: &[&str], common: bool) -> Result<[Vec<String>; 2], String> {
        let mut all = [Vec::new(), Vec::new()];
        for &controller in controllers {
            let Some((_, at)) = self.mounts.iter().find(|(name, _)| name == controller) else {
                return Err(format!("{controller} is not on a version 1 hierarchy"));
            };
            let [_, a, b] = self.directories(at);
            let b = if common && controller == "cpu" {
                a.clone()
            } else {
                b
            };
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
