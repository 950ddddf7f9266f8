//! Requests under faults, and their results.

use super::injector::FaultInjector;
use millibox::{Error, Outcome, Supervisor};
use millibox_tests::{pipe, request, world_with_proc};
use std::time::Duration;

/// The lines in which a run describes its isolation, without the lines that vary between runs.
pub(super) fn walls(text: &str) -> Vec<String> {
    const VARYING_PREFIXES: [&str; 12] = [
        "pending=",
        "Vm",
        "Rss",
        "Pid:",
        "voluntary",
        "nonvoluntary",
        "Cpus_allowed",
        "Mems",
        "HugetlbPages",
        "SigQ",
        "cpus=",
        "Threads",
    ];
    text.lines()
        .filter(|line| {
            !VARYING_PREFIXES
                .iter()
                .any(|prefix| line.starts_with(prefix))
        })
        // Mount ids, parent ids and device numbers differ for each mount.
        .map(|line| match line.split_once(" - ") {
            Some((mount, kind)) => {
                let fields: Vec<&str> = mount.split(' ').skip(3).collect();
                format!("{} - {kind}", fields.join(" "))
            }
            None => line.to_owned(),
        })
        .collect()
}

/// Asserts that two runs have the same isolation, and names the differences.
pub(super) fn assert_same_walls(what: &str, walls: &[String], expected: &[String]) {
    let without = |these: &[String], those: &[String]| -> Vec<String> {
        these
            .iter()
            .filter(|line| !those.contains(line))
            .cloned()
            .collect()
    };
    let (more, less) = (without(walls, expected), without(expected, walls));
    assert!(
        more.is_empty() && less.is_empty(),
        "{what}: the run has different walls: {more:#?} instead of {less:#?}"
    );
}

/// The result of a request: the walls of the run, or an error message.
pub(super) enum Attempt {
    Ran(Vec<String>),
    Failed(String),
    /// The supervisor is dead, with this last message.
    Died(String),
}

pub(super) fn try_request(supervisor: &Supervisor) -> Attempt {
    let (read, write) = pipe();
    let request = request(["walls"])
        .world(&world_with_proc())
        .real_time_limit(Duration::from_secs(50))
        .stdout(write);
    let run = supervisor.run(&request);
    drop(request);
    let result = run.and_then(|handle| handle.wait_timeout(millibox_tests::HANG_TIMEOUT));
    match result {
        Ok(Some(result)) => match &result.outcome {
            Outcome::Exited(0) => {
                let figures = result.figures;
                let cpu = figures.cpu_user_ns + figures.cpu_system_ns;
                assert!(
                    figures.peak_memory_bytes > 100_000 && figures.peak_memory_bytes < 64 << 20,
                    "{result:?}"
                );
                // The run uses at least a little time, but the figure excludes the time of earlier
                // runs.
                assert!(
                    cpu > 100_000 && cpu <= 2 * figures.real_time_ns,
                    "{result:?}"
                );
                assert!(
                    figures.peak_processes.is_none_or(|peak| peak == 1),
                    "{result:?}"
                );
                Attempt::Ran(walls(&String::from_utf8_lossy(&millibox_tests::read_all(
                    read,
                ))))
            }
            Outcome::NotStarted(error) | Outcome::SandboxError(error) => {
                assert!(
                    error.errno.is_some() || error.hint.is_some(),
                    "no cause: {error:?}"
                );
                Attempt::Failed(error.to_string())
            }
            // Another process killed the program.
            Outcome::Signaled(9) => Attempt::Failed("killed by signal KILL".to_owned()),
            _ => panic!("neither an error nor a result of the program: {result}"),
        },
        Ok(None) => panic!("no result"),
        Err(Error::Died(reason)) => Attempt::Died(reason.to_string()),
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn assert_works(supervisor: &Supervisor, expected: &[String]) {
    match try_request(supervisor) {
        Attempt::Ran(walls) => assert_same_walls("the next", &walls, expected),
        Attempt::Failed(why) | Attempt::Died(why) => panic!("the next request fails: {why}"),
    }
}

/// Numbers of descriptors and processes of the supervisor and its descendants.
pub(super) fn size(supervisor: &Supervisor) -> (usize, usize) {
    let family = millibox_tests::descendants(supervisor.info().pid());
    let descriptors = |pid: i32| {
        std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |entries| entries.flatten().count())
    };
    (
        family.iter().map(|process| descriptors(process.pid)).sum(),
        family.len(),
    )
}

/// The same numbers after every runner has had a run.
pub(super) fn size_at_rest(
    injector: &FaultInjector,
    supervisor: &Supervisor,
    expected: &[String],
) -> (usize, usize) {
    for _ in 0..4 {
        assert_works(supervisor, expected);
        injector.settle(supervisor);
    }
    size(supervisor)
}
