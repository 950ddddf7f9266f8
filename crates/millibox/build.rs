//! Compiles the default seccomp profile for the target machine. This happens at build time because
//! otherwise each process that starts a run would have to parse and compile the profile.

use millibox_seccomp::{Arch, Policy, compile, profile, profile_with_loopback};
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let arch = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => Arch::X86_64,
        Ok("aarch64") => Arch::Aarch64,
        other => panic!("no system call table for {other:?}"),
    };
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, policy: Option<Policy>| {
        let policy = policy.expect("the default profile is built in");
        let program = compile(&policy, arch).expect("the default profile compiles");
        std::fs::write(Path::new(&out).join(name), program.as_bytes()).expect("write the program");
    };
    write("default.bpf", profile("default"));
    write("loopback.bpf", profile_with_loopback("default"));
}
