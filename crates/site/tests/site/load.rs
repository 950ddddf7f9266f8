//! The load generator, which is an example.

use crate::support::built;
use std::process::Command;

/// The report of a run with these options.
fn report(options: &str) -> serde_json::Value {
    let program = built("examples/site-load");
    let output = Command::new(&program)
        .args(options.split_whitespace())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(output.status.success(), "{output:#?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn load_generator_holds_a_contest() {
    let report = report("--json --users 3 --day-minutes 0.4 --rejudged 2");
    let day = &report["day"];
    assert_eq!(day["people"], 3, "{report:#}");
    assert_eq!(day["start"]["not_opened"], 0, "{report:#}");
    assert_eq!(day["submissions"]["accepted"], 12, "{report:#}");
    assert_eq!(day["questions"]["accepted"], 1, "{report:#}");
    for (kind, name) in [
        ("submissions", "lost"),
        ("submissions", "unjudged"),
        ("submissions", "accepted_after_the_end"),
        ("questions", "lost"),
    ] {
        assert_eq!(day[kind][name], 0, "{name}: {report:#}");
    }
    for (name, page) in report["pages"].as_object().expect("pages") {
        assert_eq!(page["errors"], 0, "{name}: {report:#}");
    }
}

#[test]
fn load_generator_works() {
    let report = report(
        "--json --users 4 --sign-in-seconds 1 --watchers 2 --ranking-seconds 1 --submissions 2 \
         --submit-seconds 1",
    );
    assert_eq!(report["submissions"]["accepted"], 2, "{report:#}");
    assert_eq!(report["submissions"]["lost"], 0, "{report:#}");
}
