//! The unmodified client `sandbox-fusion` from PyPI.

use super::Fusion;
use std::path::Path;
use std::process::Command;

#[test]
fn python_client_runs_code_and_cells() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let python = root.join("target/clients/sandbox-fusion/bin/python");
    if !python.exists() {
        return millibox_tests::skip(
            "the client sandbox-fusion is not installed: make test-clients",
        );
    }
    let fusion = Fusion::start();
    let output = Command::new(python)
        .arg(root.join("tests/service/clients/sandbox-fusion.py"))
        .arg(&fusion.server.url)
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
