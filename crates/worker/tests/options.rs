//! The command line of `millibox worker`.

use std::process::Command;

#[test]
fn wrong_option_is_reported_on_one_line_with_status_125() {
    for arguments in [&["--no-such-option"][..], &["--slots", "x"], &[]] {
        let output = Command::new(env!("CARGO_BIN_EXE_millibox-worker"))
            .args(arguments)
            .output()
            .expect("the worker starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{message}");
        assert!(message.starts_with("millibox worker: "), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
