//! File systems that do not answer.

#![allow(unsafe_code, reason = "plain system calls that prepare the mounts")]

use millibox_tests::{directory, skip};

/// Runs a client that mounts its own file system on a directory; `change` names the kind.
fn client_with_own_file_system(change: &str) -> Option<millibox_tests::ClientOutput> {
    let directory = directory();
    // SAFETY: geteuid(2) has no preconditions.
    let uid = unsafe { libc::geteuid() };
    let arguments = if uid == 0 {
        vec!["mount-namespace".to_owned()]
    } else {
        vec![format!("user={uid}:{uid}"), "mount-namespace".to_owned()]
    };
    let hang = format!("{change}={}", directory.path().display());
    let output = millibox_tests::client(arguments.iter().map(String::as_str).chain([
        hang.as_str(),
        "--",
        "exit",
        "0",
    ]));
    if output.stdout.contains("unable=") {
        skip(&output.value("unable"));
        return None;
    }
    Some(output)
}

#[test]
fn run_that_hangs_on_file_system_is_ended() {
    let Some(output) = client_with_own_file_system("hang-run") else {
        return;
    };
    assert_eq!(
        (output.value("others"), output.value("stuck")),
        ("10".to_owned(), "true".to_owned()),
        "{output:?}"
    );
    assert_eq!(
        (output.value("ended"), output.value("after")),
        ("RealTimeLimit".to_owned(), "Exited(0)".to_owned()),
        "{output:?}"
    );
}

#[test]
fn file_system_that_hangs_blocks_only_its_world() {
    let Some(output) = client_with_own_file_system("hang") else {
        return;
    };
    assert_eq!(
        (output.value("others"), output.value("stuck")),
        ("10".to_owned(), "true".to_owned()),
        "{output:?}"
    );
    assert_eq!(
        (output.value("cancelled"), output.value("after")),
        ("true".to_owned(), "Exited(0)".to_owned()),
        "{output:?}"
    );
}
