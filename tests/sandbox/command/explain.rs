//! `millibox run --explain`: text on standard error and the report.

use super::{line, run, shell, status, text};
use millibox_tests::directory;

#[test]
fn explain_prints_calls_paths_and_options() {
    let output = shell(
        &["--explain"],
        "cat /etc/login.defs; unshare -U true; cat '/etc/login.defs\u{1b}[2J'; exit 3",
    );
    assert_eq!(status(&output), 3);
    let message = text(&output.stderr);
    for part in [
        "do not judge by its figures",
        "unshare: errno:",
        "(policy default, line ",
        "1  /etc/login.defs: ENOENT (--ro /etc/login.defs)",
        "mounts = [\"/etc/login.defs\"]",
    ] {
        assert!(message.contains(part), "no {part:?}: {message}");
    }
}

#[test]
fn explain_escapes_control_characters_of_paths() {
    let host = directory();
    let path = host.path().join("a\u{1b}[2Jb");
    std::fs::write(&path, "").unwrap();
    let output = run(&["--explain", "--", "test", "-e", path.to_str().unwrap()]);
    assert_eq!(status(&output), 1);
    let message = text(&output.stderr);
    assert!(message.contains("a\\u{1b}[2Jb: ENOENT"), "{message}");
    assert!(
        message.chars().all(|c| c == '\n' || !c.is_control()),
        "{message:?}"
    );
}

#[test]
fn report_has_explanation_only_if_requested() {
    let host = directory();
    let report = host.path().join("r.json");
    let name = report.to_str().unwrap();
    for explain in [true, false] {
        let option: &[&str] = if explain { &["--explain"] } else { &[] };
        run(&[option, &["--report", name, "--", "cat", "/etc/login.defs"]].concat());
        let report = std::fs::read(&report).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        assert_eq!(report["outcome"], "exited");
        assert_eq!(report["exit_code"], 1);
        assert_eq!(report.get("explain").is_some(), explain, "{report}");
        if explain {
            let explain = &report["explain"];
            assert_eq!(explain["missing_paths"][0]["path"], "/etc/login.defs");
            assert_eq!(explain["missing_paths"][0]["count"], 1);
            let option = serde_json::json!([{ "option": "ro", "path": "/etc/login.defs" }]);
            assert_eq!(explain["options"], option);
        }
    }
}

#[test]
fn explain_rejects_prepared_runs() {
    let output = run(&[
        "--explain",
        "--prepared",
        "2",
        "--",
        "python3",
        "-c",
        "pass",
    ]);
    assert_eq!(status(&output), 125);
    assert!(line(&output).contains("--explain: "), "{output:?}");
}
