//! Programs inherit no state of the client or of earlier runs.

use crate::{builder, supervisor};
use millibox::{Outcome, Prepare, Request, Start, Supervisor, World};
use millibox_tests::{
    ClientOutput, client, request, result, run, run_probe, skip, start, world_with_proc,
};

/// Returns the probe's output from a client in an unusual state.
fn run_from_unusual_client(arguments: &[&str]) -> Option<ClientOutput> {
    let output = client(["dirty", "--"].iter().chain(arguments));
    if output.stdout.contains("unable=") {
        skip(output.stdout.trim());
        return None;
    }
    assert_eq!(output.value("exit_code"), "0", "{output:?}");
    Some(output)
}

#[test]
fn umask_is_not_inherited() {
    assert_eq!(run_probe(&supervisor(), &["umask"]).value("umask"), "22");
    let Some(output) = run_from_unusual_client(&["umask"]) else {
        return;
    };
    assert_eq!(output.value("umask"), "22");
}

#[test]
fn scheduling_is_not_inherited() {
    let supervisor = supervisor();
    let clean = run_probe(&supervisor, &["scheduling"]);
    let Some(output) = run_from_unusual_client(&["scheduling"]) else {
        return;
    };
    assert_eq!(
        output.value("cpus"),
        clean.value("cpus"),
        "the client's affinity"
    );
    assert_eq!(
        output.value("policy"),
        "0",
        "the client's scheduling policy"
    );
    for what in ["personality", "ioprio", "no_huge_pages", "mempolicy"] {
        assert_eq!(output.value(what), clean.value(what), "the client's {what}");
    }
    assert_eq!(clean.value("personality"), "0");
    if millibox_tests::is_root() {
        assert_eq!(output.value("nice"), "0", "the client's nice value");
    } else {
        skip("an unprivileged user cannot lower a nice value");
    }
}

#[test]
fn signal_state_is_not_inherited() {
    let expected = [
        ("blocked", "0"),
        ("pending", "0"),
        ("changed", ""),
        ("stack", "0"),
    ];
    // Rust's runtime ignores SIGPIPE, so the test process itself has an unusual state.
    let output = run_probe(&supervisor(), &["signals"]);
    for (what, value) in expected {
        assert_eq!(output.value(what), value, "{what}");
    }
    let Some(output) = run_from_unusual_client(&["signals"]) else {
        return;
    };
    for (what, value) in expected {
        assert_eq!(output.value(what), value, "{what}");
    }
}

#[test]
fn environment_and_arguments_are_not_inherited() {
    assert_eq!(run_probe(&supervisor(), &["env"]).text(), "");
    let Some(output) = run_from_unusual_client(&["env"]) else {
        return;
    };
    assert!(
        !output.stdout.contains("SECRET") && !output.stdout.contains("LD_PRELOAD"),
        "{output:?}"
    );
    assert!(!output.stdout.contains("PATH="), "{output:?}");
}

#[test]
fn working_directory_is_not_inherited() {
    let Some(output) = run_from_unusual_client(&["cwd"]) else {
        return;
    };
    assert_eq!(output.value("cwd"), "/");
}

#[test]
fn descriptors_are_not_inherited() {
    let Some(output) = run_from_unusual_client(&["fds"]) else {
        return;
    };
    let numbers: Vec<&str> = output
        .stdout
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, _)| key)
        .filter(|key| key.parse::<u32>().is_ok())
        .collect();
    assert_eq!(numbers, ["0", "1", "2"]);
}

#[test]
fn oom_score_is_not_inherited() {
    let adjusted = |output: String| output.trim().lines().last().unwrap_or_default().to_owned();
    let clean = run(
        &supervisor(),
        &request(["cat", "/proc/self/oom_score_adj"]).world(&world_with_proc()),
    );
    let Some(output) = run_from_unusual_client(&["cat", "/proc/self/oom_score_adj"]) else {
        return;
    };
    let inherited = adjusted(output.stdout.clone());
    if millibox_tests::is_root() {
        assert_eq!(inherited, adjusted(clean.text()), "the client's OOM score");
    }
    // In both cases, the kernel kills a program before the supervisor.
    let inherited: i32 = inherited.parse().unwrap_or_else(|_| panic!("{output:?}"));
    assert!(inherited >= 0, "{inherited}");
}

/// The client has lowered soft limits; its hard limits are unchanged.
#[test]
fn resource_limits_are_not_inherited() {
    let clean = run_probe(&supervisor(), &["limits"]);
    let Some(output) = run_from_unusual_client(&["limits"]) else {
        return;
    };
    for number in 0..16 {
        let key = number.to_string();
        // RLIMIT_NPROC depends on the host, and hardly any kernel applies RLIMIT_RSS.
        assert_eq!(
            output.value(&key),
            clean.value(&key),
            "the client's soft limit {number} (getrlimit(2))"
        );
    }
    // These are the defaults of a run without options (documentation of Request::rlimit). Hard
    // limits are the host's if the supervisor may not raise them.
    let infinite = u64::MAX.to_string();
    let soft = |number: i32| {
        clean
            .value(&number.to_string())
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    for number in [
        libc::RLIMIT_CPU,
        libc::RLIMIT_FSIZE,
        libc::RLIMIT_DATA,
        libc::RLIMIT_AS,
    ] {
        assert_eq!(soft(number as i32), infinite, "limit {number}");
    }
    assert_eq!(soft(libc::RLIMIT_STACK as i32), (8 << 20).to_string());
    assert_eq!(clean.value(&(libc::RLIMIT_CORE as i32).to_string()), "1 1");
    for number in [libc::RLIMIT_NICE, libc::RLIMIT_RTPRIO] {
        assert_eq!(
            clean.value(&(number as i32).to_string()),
            "0 0",
            "limit {number}"
        );
    }
}

#[test]
fn other_attributes_are_not_inherited() {
    let clean = run_probe(&supervisor(), &["attributes"]);
    let Some(output) = run_from_unusual_client(&["attributes"]) else {
        return;
    };
    for what in ["timer_slack", "memory_error_policy"] {
        assert_eq!(output.value(what), clean.value(what), "the client's {what}");
    }
    let filter = output.stdout.split("/proc/self/coredump_filter\n").nth(1);
    let filter = filter.and_then(|rest| rest.lines().next());
    assert_eq!(
        filter,
        Some("00000033"),
        "the client's filter of core dumps"
    );
}

#[test]
fn parent_death_signal_is_not_inherited() {
    // The sandbox sets the signal for itself.
    assert_eq!(run_probe(&supervisor(), &["caps"]).value("pdeathsig"), "0");
}

/// Makes requests to run the probe, either executed or as a copy of a template.
struct Probe {
    world: World,
    is_prepared: bool,
}

impl Probe {
    fn request(&self, command: &str) -> Request {
        if !self.is_prepared {
            return request([command]).world(&self.world);
        }
        let template = Prepare::new("/probe").arg("template");
        let prepared = self
            .world
            .prepare(&template)
            .unwrap_or_else(|error| panic!("{error}"));
        Request::new("/probe")
            .argv(["probe", command])
            .prepared(&prepared)
    }

    fn run(&self, supervisor: &Supervisor, command: &str) -> String {
        let output = run(supervisor, &self.request(command));
        assert_eq!(
            output.result.outcome,
            Outcome::Exited(0),
            "{}: {}",
            output.result,
            output.text()
        );
        let is_prepared = matches!(output.result.start, Start::Prepared { .. });
        assert_eq!(is_prepared, self.is_prepared);
        output.text()
    }
}

/// Returns the lines that differ.
fn difference<'a>(one: &'a str, other: &'a str) -> Vec<&'a str> {
    let differs = |line: &&str| !other.lines().any(|its| its == *line);
    one.lines().filter(differs).collect()
}

/// One run changes everything that it can. The next one finds the state that the first one found.
#[test]
fn changes_of_run_do_not_reach_later_runs() {
    let executable = millibox_tests::executable("probe");
    let world = world_with_proc().read_only(&executable, "/probe");
    for (name, world) in [
        ("default", world.clone()),
        ("none", world.without_seccomp()),
    ] {
        for is_prepared in [false, true] {
            // A template is not possible with a separate pid1, or if copies may create namespaces.
            if is_prepared && (name == "none" || !crate::HAS_COPIES) {
                continue;
            }
            let supervisor = start(builder().slots(1).runners_per_slot(1));
            let probe = Probe {
                world: world.clone(),
                is_prepared,
            };
            let clean = probe.run(&supervisor, "attributes");
            for round in 0..3 {
                // Without a seccomp program, a run can change its pid1, which ends it.
                let changed = result(&supervisor, &probe.request("change-attributes"));
                assert!(
                    matches!(changed.outcome, Outcome::Exited(0) | Outcome::Signaled(_)),
                    "{changed}"
                );
                let after = probe.run(&supervisor, "attributes");
                let changes = [difference(&clean, &after), difference(&after, &clean)];
                assert_eq!(
                    changes.concat(),
                    [""; 0],
                    "{name}, prepared: {is_prepared}, round {round}"
                );
            }
            assert_is_default(&clean);
        }
    }
}

/// Checks the values that docs/security/inheritance.md states.
fn assert_is_default(attributes: &str) {
    for line in [
        "umask=22",
        "cwd=/",
        "effective=0",
        "bounding=0",
        "blocked=0",
        "pending=0",
        "changed=",
        "stack=0",
        "policy=0",
        "personality=0",
        "ioprio=0",
        "no_new_privs=1",
        "dumpable=1",
        "timer_slack=50000",
        "no_huge_pages=0",
        "memory_error_policy=2",
        "keep_capabilities=0",
        "death_signal=0 0",
        "subreaper=0 0",
        "session=true",
        "group=true",
        "timer_0=[0, 0, 0, 0]",
        "timer_1=[0, 0, 0, 0]",
        "timer_2=[0, 0, 0, 0]",
        "timers=0 0",
        "descriptor_0=0 32768 0 0 2",
    ] {
        assert!(
            attributes.lines().any(|found| found == line),
            "{line}: {attributes}"
        );
    }
}
