//! Tests of `packaging/seccomp.json`, the profile for containers in which the service runs.

use millibox_seccomp::{Action, profile_with_loopback};
use std::collections::BTreeSet;

/// The calls that the profile allows. It rejects all others.
fn allowed() -> BTreeSet<String> {
    let text = include_str!("../../../packaging/seccomp.json");
    let profile: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(profile["defaultAction"], "SCMP_ACT_ERRNO");
    let groups = profile["syscalls"].as_array().expect("a list");
    let names = groups.iter().flat_map(|group| {
        assert_eq!(group["action"], "SCMP_ACT_ALLOW");
        group["names"].as_array().expect("a list")
    });
    names
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn container_profile_allows_calls_of_sandboxed_programs() {
    let allowed = allowed();
    let policy = profile_with_loopback("default").expect("a profile");
    let missing: Vec<&str> = policy
        .rules()
        .iter()
        .filter(|rule| matches!(rule.action(), Action::Allow | Action::Errno(0)))
        .flat_map(|rule| rule.syscalls())
        .filter(|name| !allowed.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn container_profile_rejects_powerful_calls() {
    let allowed = allowed();
    for name in [
        "add_key",
        "bpf",
        "finit_module",
        "init_module",
        "io_uring_setup",
        "kexec_load",
        "keyctl",
        "open_by_handle_at",
        "perf_event_open",
        "process_vm_writev",
        "ptrace",
        "reboot",
        "swapon",
        "userfaultfd",
    ] {
        assert!(!allowed.contains(name), "{name}");
    }
}
