//! Links the program statically. The program is executed once for each run with files, and the
//! dynamic linker would take longer than the rest of the start.
//!
//! `-C target-feature=+crt-static` does the same, but Cargo cannot set that flag for a single
//! package. The compiler passes the names of shared libraries to the linker (`-Bdynamic -lgcc_s
//! -lc`). So this script adds a directory of linker scripts to the front of the search path. The
//! scripts have these names and refer to the static libraries.

use std::path::Path;
use std::process::Command;

/// The libraries that the compiler names, each with the static libraries that replace it.
const LIBRARIES: [(&str, &[&str]); 7] = [
    ("gcc_s", &["gcc_eh", "gcc"]),
    ("util", &["util"]),
    ("rt", &["rt"]),
    ("pthread", &["pthread"]),
    ("m", &["m"]),
    ("dl", &["dl"]),
    // On aarch64, libc.a needs functions of libgcc.a, and the linker reads each library once.
    ("c", &["c", "gcc", "gcc_eh"]),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_gnu = variable("CARGO_CFG_TARGET_ENV") == "gnu";
    // Cargo names the linker if its configuration does, as it must for another architecture.
    let compiler = match std::env::var("RUSTC_LINKER") {
        Ok(linker) => Some(linker),
        Err(_) => (variable("HOST") == variable("TARGET")).then(|| "cc".to_owned()),
    };
    // Sanitizers need shared libraries.
    let is_sanitized = variable("CARGO_ENCODED_RUSTFLAGS").contains("sanitizer=");
    if !is_gnu || is_sanitized || !compiler.is_some_and(|compiler| are_installed(&compiler)) {
        return;
    }
    let out = variable("OUT_DIR");
    for (shared, replacements) in LIBRARIES {
        let names: Vec<String> = replacements
            .iter()
            .map(|name| format!("-l:lib{name}.a"))
            .collect();
        let script = format!("GROUP({})\n", names.join(" "));
        std::fs::write(Path::new(&out).join(format!("lib{shared}.so")), script)
            .expect("write a linker script");
    }
    // This applies to the program only. Packages that use the library of this package are linked as
    // usual.
    println!("cargo::rustc-link-arg-bins=-L{out}");
    println!("cargo::rustc-link-arg-bins=-no-pie");
    println!("cargo::rustc-link-arg-bins=-static");
}

/// Whether the compiler finds all static libraries. Some distributions package them separately. If
/// they are missing, the program is linked dynamically.
fn are_installed(compiler: &str) -> bool {
    LIBRARIES
        .iter()
        .flat_map(|(_, replacements)| *replacements)
        .all(|name| {
            let file = format!("lib{name}.a");
            let output = Command::new(compiler)
                .arg(format!("-print-file-name={file}"))
                .output();
            // The compiler prints only the name if it finds no such file.
            output.is_ok_and(|output| output.stdout.trim_ascii() != file.as_bytes())
        })
}
