//! Compiles `policies/*.toml` to seccomp programs for the target machine. This happens at build
//! time because compiling at the start of the supervisor would take time and could fail.

use millibox_seccomp::{Arch, Policy, compile};
use std::path::Path;

/// Policies that the build completes: each known call that the policy does not name kills the
/// process. Their default action then applies only to calls of later kernels.
const COMPLETED: [&str; 2] = ["supervisor", "keeper"];
/// Policies that are compiled as they are.
const AS_WRITTEN: [&str; 1] = ["pid1"];

fn main() {
    let arch = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => Arch::X86_64,
        Ok("aarch64") => Arch::Aarch64,
        other => panic!("no system call table for {other:?}"),
    };
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    println!("cargo::rerun-if-changed=policies");
    for name in COMPLETED.into_iter().chain(AS_WRITTEN) {
        let path = format!("policies/{name}.toml");
        let mut text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut policy: Policy = text
            .parse()
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        if COMPLETED.contains(&name) {
            text.push_str(&remaining_calls_rule(&policy, arch));
            policy = text
                .parse()
                .unwrap_or_else(|error| panic!("{path}, completed: {error}"));
        }
        let program = compile(&policy, arch).unwrap_or_else(|error| panic!("{path}: {error}"));
        std::fs::write(
            Path::new(&out).join(format!("{name}.bpf")),
            program.as_bytes(),
        )
        .expect("write the program");
    }
}

/// Returns the rule for all calls for which `policy` has no unconditional rule.
fn remaining_calls_rule(policy: &Policy, arch: Arch) -> String {
    let decided = |name: &str| {
        policy.rules().iter().any(|rule| {
            rule.conditions().is_empty() && rule.syscalls().any(|listed| listed == name)
        })
    };
    let calls: Vec<String> = arch
        .syscalls()
        .filter(|(name, _)| !decided(name))
        .map(|(name, _)| format!("{name:?}"))
        .collect();
    format!(
        "\n[[rule]]\naction = \"kill_process\"\nwhy = \"Not used.\"\nsyscalls = [{}]\n",
        calls.join(", ")
    )
}
