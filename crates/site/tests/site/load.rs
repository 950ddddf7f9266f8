//! The load generator, which is an example.

use std::path::Path;
use std::process::Command;

#[test]
fn load_generator_works() {
    let site = Path::new(env!("CARGO_BIN_EXE_millibox-site"));
    let program = site.with_file_name("examples").join("site-load");
    let few = "--json --users 4 --sign-in-seconds 1 --watchers 2 --ranking-seconds 1 \
               --submissions 2 --submit-seconds 1";
    let output = Command::new(&program)
        .args(few.split_whitespace())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(output.status.success(), "{output:#?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["submissions"]["accepted"], 2, "{report:#}");
    assert_eq!(report["submissions"]["lost"], 0, "{report:#}");
}
