//! Compiles `policies/*.toml` to seccomp programs for the machine that the supervisor is built
//! for. Done here, nothing of it is left to go wrong, or to take time, when it starts.

use millibox_seccomp::{Arch, Policy, compile};
use std::path::Path;

/// Policies to which every known call that they do not name is added, to be fatal; what remains
/// for their default are calls of later kernels.
const COMPLETED: [&str; 2] = ["supervisor", "keeper"];
/// Policies that are complete as they are.
const AS_WRITTEN: [&str; 1] = ["pid1"];

fn main() {
    let arch = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => Arch::X86_64,
        Ok("aarch64") => Arch::Aarch64,
        other => panic!("no system call table for {other:?}"),
    };
    let out = std::env::var_os("OUT_DIR").expect("cargo says where to");
    println!("cargo::rerun-if-changed=policies");
    for name in COMPLETED.into_iter().chain(AS_WRITTEN) {
        let path = format!("policies/{name}.toml");
        let mut text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut policy: Policy = text
            .parse()
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        if COMPLETED.contains(&name) {
            text.push_str(&rest(&policy, arch));
            policy = text
                .parse()
                .unwrap_or_else(|error| panic!("{path}, completed: {error}"));
        }
        let program = compile(&policy, arch).unwrap_or_else(|error| panic!("{path}: {error}"));
        std::fs::write(
            Path::new(&out).join(format!("{name}.bpf")),
            program.as_bytes(),
        )
        .expect("the program");
    }
}

/// The rule for every call that `policy` has no last word on.
fn rest(policy: &Policy, arch: Arch) -> String {
    let decided = |name: &str| {
        policy
            .rules()
            .iter()
            .any(|rule| rule.conditions().is_empty() && rule.syscalls().any(|its| its == name))
    };
    let calls: Vec<String> = arch
        .syscalls()
        .filter(|(name, _)| !decided(name))
        .map(|(name, _)| format!("{name:?}"))
        .collect();
    format!(
        "\n[[rule]]\naction = \"kill_process\"\nwhy = \"no use for it\"\nsyscalls = [{}]\n",
        calls.join(", ")
    )
}
