//! Compiles the default seccomp profile for the target machine. This happens at build time because
//! otherwise each process that starts a run would have to parse and compile the profile.

use millibox_seccomp::{Arch, compile, default_profile};
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let arch = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => Arch::X86_64,
        Ok("aarch64") => Arch::Aarch64,
        other => panic!("no system call table for {other:?}"),
    };
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, has_loopback, has_terminals| {
        let policy = default_profile(has_loopback, has_terminals);
        let program = compile(&policy, arch).expect("the default profile compiles");
        std::fs::write(Path::new(&out).join(name), program.as_bytes()).expect("write the program");
    };
    write("default.bpf", false, false);
    write("loopback.bpf", true, false);
    write("terminal.bpf", false, true);
    write("loopback_terminal.bpf", true, true);
}
