//! The official SDK.

use super::Judge;
use std::path::Path;
use std::process::Command;

#[test]
fn official_sdk_runs_programs_and_test_cases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let python = target.join("clients/judge0/bin/python");
    if !python.exists() {
        millibox_tests::skip("the judge0 SDK is not installed; run `make test-clients`");
        return;
    }
    let judge = Judge::start();
    let output = Command::new(python)
        .args(["-I", "-c", include_str!("../clients/judge0.py")])
        .arg(&judge.server.url)
        .output()
        .unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stdout.trim_end(), "ok");
}
