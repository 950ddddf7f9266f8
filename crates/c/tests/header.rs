//! Compares the committed header and the exported symbols with the sources.
//!
//! `MILLIBOX_UPDATE=1` writes both files.

use std::collections::BTreeSet;
use std::path::Path;

fn generated() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(directory.join("cbindgen.toml")).expect("options");
    // The order of lib.rs: later files use the types of earlier ones.
    let files = [
        "error", "version", "sandbox", "world", "prepared", "program", "result", "run", "files",
    ];
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in files {
        builder = builder.with_src(directory.join("src").join(file).with_extension("rs"));
    }
    let mut header = Vec::new();
    builder.generate().expect("a header").write(&mut header);
    String::from_utf8(header).expect("UTF-8")
}

/// The version script with the functions of the header.
fn map(header: &str) -> String {
    let functions: BTreeSet<&str> = header
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '(')
        .filter_map(|word| word.split_once('('))
        .map(|(name, _)| name.trim_start_matches('*'))
        .filter(|name| name.starts_with("millibox_"))
        .collect();
    let lines: String = functions
        .iter()
        .map(|name| format!("        {name};\n"))
        .collect();
    format!("MILLIBOX_0 {{\n    global:\n{lines}    local:\n        *;\n}};\n")
}

fn compare(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("MILLIBOX_UPDATE").is_some() {
        std::fs::write(&path, expected).expect("write the file");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == expected,
        "{file} differs from the sources; run MILLIBOX_UPDATE=1 cargo test -p millibox-c --test \
         header\n{expected}"
    );
}

#[test]
fn header_and_symbols_match_the_sources() {
    let header = generated();
    compare("include/millibox.h", &header);
    compare("libmillibox.map", &map(&header));
}
