//! The client `go-judge` from PyPI, unchanged.

use super::Judge;
use std::path::Path;
use std::process::Command;

#[test]
fn python_client_compiles_and_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let python = root.join("target/clients/go-judge/bin/python");
    if !python.exists() {
        return millibox_tests::skip("the client go-judge is not installed: make test-clients");
    }
    let judge = Judge::start();
    let script = root.join("tests/service/clients/go-judge.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&judge.server.url)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "passed\n",
        "{errors}"
    );
}
