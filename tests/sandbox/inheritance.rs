//! Programs inherit no state of the client.

use crate::supervisor;
use millibox_tests::{ClientOutput, client, request, run, run_probe, skip, world_with_proc};

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
fn parent_death_signal_is_not_inherited() {
    // The sandbox sets the signal for itself.
    assert_eq!(run_probe(&supervisor(), &["caps"]).value("pdeathsig"), "0");
}
