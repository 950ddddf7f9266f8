//! Unmodified clients from other projects.

use super::server;
use crate::server::{client, python_client};
use std::path::Path;
use std::process::Command;

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn aiopyston_runs_programs() {
    let Some(python) = python_client("aiopyston") else {
        return;
    };
    let server = server();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("service/clients/aiopyston.py");
    succeeds(Command::new(python).arg(script).arg(&server.url));
}

#[test]
fn piston_rs_runs_programs() {
    let Some(program) = client("piston_rs", "debug/piston_rs-client") else {
        return;
    };
    let server = server();
    succeeds(Command::new(program).arg(&server.url));
}
