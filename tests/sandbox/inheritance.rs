//! Nothing of the client's circumstances is the runs'.

use crate::supervisor;
use millibox_tests::{Said, client, probe_run, request, run, skip, world_with_proc};

/// The probe's answer when the client is in an odd state, and when it is not.
fn dirty(arguments: &[&str]) -> Option<Said> {
    let said = client(["dirty", "--"].iter().chain(arguments));
    if said.stdout.contains("unable=") {
        skip(said.stdout.trim());
        return None;
    }
    assert_eq!(said.value("outcome"), "exited with 0", "{said:?}");
    Some(said)
}

#[test]
fn umask() {
    assert_eq!(probe_run(&supervisor(), &["umask"]).value("umask"), "22");
    let Some(said) = dirty(&["umask"]) else {
        return;
    };
    assert_eq!(said.value("umask"), "22");
}

#[test]
fn scheduling() {
    let supervisor = supervisor();
    let clean = probe_run(&supervisor, &["scheduling"]);
    let Some(said) = dirty(&["scheduling"]) else {
        return;
    };
    assert_eq!(
        said.value("cpus"),
        clean.value("cpus"),
        "the client's affinity"
    );
    assert_eq!(said.value("policy"), "0", "the client's scheduling policy");
    for what in ["personality", "ioprio", "no_huge_pages", "mempolicy"] {
        assert_eq!(said.value(what), clean.value(what), "the client's {what}");
    }
    assert_eq!(clean.value("personality"), "0");
    if millibox_tests::is_root() {
        assert_eq!(said.value("nice"), "0", "the client's nice value");
    } else {
        skip("an unprivileged user's nice value cannot be lowered again");
    }
}

#[test]
fn signals() {
    let expected = [
        ("blocked", "0"),
        ("pending", "0"),
        ("changed", ""),
        ("stack", "0"),
    ];
    // Rust's own runtime ignores SIGPIPE, so a test is an odd client itself.
    let output = probe_run(&supervisor(), &["signals"]);
    for (what, value) in expected {
        assert_eq!(output.value(what), value, "{what}");
    }
    let Some(said) = dirty(&["signals"]) else {
        return;
    };
    for (what, value) in expected {
        assert_eq!(said.value(what), value, "{what}");
    }
}

#[test]
fn environment_and_arguments() {
    assert_eq!(probe_run(&supervisor(), &["env"]).text(), "");
    let Some(said) = dirty(&["env"]) else { return };
    assert!(
        !said.stdout.contains("SECRET") && !said.stdout.contains("LD_PRELOAD"),
        "{said:?}"
    );
    assert!(!said.stdout.contains("PATH="), "{said:?}");
}

#[test]
fn working_directory() {
    let Some(said) = dirty(&["cwd"]) else { return };
    assert_eq!(said.value("cwd"), "/");
}

#[test]
fn descriptors() {
    let Some(said) = dirty(&["fds"]) else { return };
    let numbers: Vec<&str> = said
        .stdout
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, _)| key)
        .filter(|key| key.parse::<u32>().is_ok())
        .collect();
    assert_eq!(numbers, ["0", "1", "2"]);
}

#[test]
fn oom_score() {
    let adjusted = |output: String| output.trim().lines().last().unwrap_or_default().to_owned();
    let clean = run(
        &supervisor(),
        &request(["cat", "/proc/self/oom_score_adj"]).world(&world_with_proc()),
    );
    let Some(said) = dirty(&["cat", "/proc/self/oom_score_adj"]) else {
        return;
    };
    let dirty = adjusted(said.stdout.clone());
    if millibox_tests::is_root() {
        assert_eq!(dirty, adjusted(clean.text()), "the client's OOM score");
    }
    // In any case a run goes before the supervisor does.
    let dirty: i32 = dirty.parse().unwrap_or_else(|_| panic!("{said:?}"));
    assert!(dirty >= 0, "{dirty}");
}

/// Soft limits that the client has lowered, though its hard limits are what they were.
#[test]
fn resource_limits() {
    let clean = probe_run(&supervisor(), &["limits"]);
    let Some(said) = dirty(&["limits"]) else {
        return;
    };
    for number in 0..16 {
        let key = number.to_string();
        // RLIMIT_NPROC is the host's business, and hardly any kernel heeds RLIMIT_RSS.
        assert_eq!(
            said.value(&key),
            clean.value(&key),
            "the client's soft limit {number} (getrlimit(2))"
        );
    }
    // What a run has that asks for nothing (docs of Request::rlimit); hard limits are the host's if
    // we may not raise them.
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
fn the_parent_death_signal() {
    // What the sandbox needs for itself the program does not see.
    assert_eq!(probe_run(&supervisor(), &["caps"]).value("pdeathsig"), "0");
}
