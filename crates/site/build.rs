//! Puts the example packages into the program, for `millibox site --demo`, and turns the messages
//! of the pages into Rust.

#![allow(missing_docs, reason = "a build script has no users")]

#[path = "build/messages.rs"]
mod messages;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The packages, in the directory `examples` of the repository.
const PACKAGES: [&str; 4] = ["causeway", "heaps", "leak", "stalls"];

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("the path of the package"));
    let examples = root.join("../../examples");
    let mut text = String::from("&[\n");
    for package in PACKAGES {
        let directory = examples.join(package);
        println!("cargo::rerun-if-changed={}", directory.display());
        let mut files = Vec::new();
        walk(&directory, &mut files);
        files.sort();
        for file in files {
            let name = file
                .strip_prefix(&examples)
                .expect("a file of the examples");
            writeln!(text, "    ({name:?}, include_bytes!({file:?})),").expect("memory");
        }
    }
    text.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("a directory for the output"));
    std::fs::write(out.join("examples.rs"), text).expect("a written file");
    messages::generate(&root.join("languages"), &out);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory of the examples") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            // Python writes compiled modules there.
            if path.file_name().is_some_and(|name| name != "__pycache__") {
                walk(&path, files);
            }
        } else {
            files.push(path);
        }
    }
}
