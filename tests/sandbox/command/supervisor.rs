//! How the command finds the supervisor's executable.

use super::{line, status};
use millibox_tests::{copy_executable, directory, executable, set_mode, write_script};
use std::process::{Command, Stdio};

#[test]
fn wrong_supervisor_executable_is_reported_with_its_source() {
    let with = |supervisor: &str, arguments: &[&str]| {
        let mut command = Command::new(executable("millibox"));
        command
            .args(arguments)
            .env("MILLIBOX_SUPERVISOR", supervisor)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    for (path, why) in [
        ("/bin/true", "exited with status 0"),
        ("/bin/false", "exited with status 1"),
        ("/bin/ls", "this version: "),
        (executable("millibox").to_str().unwrap(), "this version: "),
        ("/no/such/file", "(os error 2); MILLIBOX_SUPERVISOR "),
    ] {
        let output = with(path, &["run", "--", "true"]);
        assert_eq!(status(&output), 125, "{output:?}");
        // The message is one line, regardless of the executable's output.
        let message = line(&output);
        assert!(
            message.contains(&format!("{path} (MILLIBOX_SUPERVISOR)")) && message.contains(why),
            "{message}"
        );
        assert!(!message.contains("set MILLIBOX_SUPERVISOR"), "{message}");

        let output = with(path, &["doctor", "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        assert_eq!(
            (status(&output), checks.len()),
            (1, 1),
            "no other check is possible: {report}"
        );
        assert_eq!(
            (&checks[0]["name"], &checks[0]["ok"]),
            (&"supervisor".into(), &false.into()),
            "{report}"
        );
        assert!(
            checks[0]["remedy"]
                .as_str()
                .is_some_and(|remedy| remedy.contains("or unset it")),
            "{report}"
        );
    }
    // An empty variable counts as unset.
    let mut command = Command::new(executable("millibox"));
    command
        .env("MILLIBOX_SUPERVISOR", "")
        .env("MILLIBOX_CGROUP_PARENT", "");
    let output = command
        .args(["run", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{output:?}");

    match millibox::Supervisor::builder()
        .executable("/bin/true")
        .start()
    {
        Err(millibox::Error::Start(millibox::StartError::NotSupervisor {
            path, named_by, ..
        })) => {
            assert_eq!(
                (path.to_str(), named_by),
                (Some("/bin/true"), Some("the option for the supervisor"))
            );
        }
        other => panic!("{other:?}"),
    }
}

/// A supervisor of a different version sends a greeting with its protocol, or rejects an unknown
/// option.
#[test]
fn supervisor_of_different_version_is_reported_with_both_versions() {
    let dir = directory();
    set_mode(dir.path(), 0o755);
    let path = dir.path().join("supervisor");
    let own = env!("CARGO_PKG_VERSION");
    let greeting = "printf 'mbx\\005abcdefghijkl' >&0; exec cat >/dev/null";
    let rejection = "echo unknown argument --backend >&2; exit 1";
    for (start, reason) in [
        (greeting, "version 5 of the protocol"),
        (rejection, "--backend"),
    ] {
        let version = "[ \"$1\" != --version ] || exec echo millibox-supervisor 0.1.7";
        write_script(&path, &format!("#!/bin/sh\n{version}\n{start}\n"));
        match millibox::Supervisor::builder().executable(&path).start() {
            Err(millibox::Error::Start(millibox::StartError::Version { found, .. })) => {
                assert_eq!(found, "0.1.7");
            }
            other => panic!("{other:?}"),
        }
        let with = |arguments: &[&str]| {
            let mut command = Command::new(executable("millibox"));
            command.args(arguments).env("MILLIBOX_SUPERVISOR", &path);
            command.stdin(Stdio::null()).output().unwrap()
        };
        let output = with(&["run", "--", "true"]);
        let message = line(&output);
        assert_eq!(status(&output), 125, "{message}");
        for part in ["0.1.7", own, reason, "same release", "MILLIBOX_SUPERVISOR"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        let output = with(&["doctor", "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let remedy = report["checks"][0]["remedy"].as_str();
        assert!(
            remedy.is_some_and(|remedy| remedy.contains("or unset it")),
            "{report}"
        );
    }
}

/// A program that hangs instead of printing a version delays the error, but does not prevent it.
#[test]
fn executable_that_ignores_version_option_is_ended() {
    let dir = directory();
    let path = dir.path().join("supervisor");
    write_script(
        &path,
        "#!/bin/sh\n[ \"$1\" != --version ] || exec sleep 1000\n",
    );
    let started = millibox::Supervisor::builder().executable(&path).start();
    assert!(
        matches!(
            started,
            Err(millibox::Error::Start(
                millibox::StartError::NotSupervisor { .. }
            ))
        ),
        "{started:?}"
    );
}

#[test]
fn missing_supervisor_is_reported_with_remedies() {
    let dir = directory();
    set_mode(dir.path(), 0o755);
    let alone = dir.path().join("millibox");
    copy_executable(executable("millibox"), &alone);
    let mut command = Command::new(&alone);
    // PATH names the executable's own directory once and a missing directory twice.
    let own_directory = dir.path().display().to_string();
    command
        .env_remove("MILLIBOX_SUPERVISOR")
        .env("PATH", format!("{own_directory}:/no/such:/no/such"));
    let output = command
        .args(["run", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let message = line(&output);
    assert_eq!(status(&output), 125, "{message}");
    for part in [
        "install millibox",
        "beside this program",
        "MILLIBOX_SUPERVISOR",
    ] {
        assert!(message.contains(part), "{message}");
    }
    for dir in [&*own_directory, "/no/such"] {
        assert_eq!(
            message
                .matches(&format!("{dir}/millibox-supervisor"))
                .count(),
            1,
            "{message}"
        );
    }
}

#[test]
fn problem_commands_without_runs_need_no_supervisor() {
    let dir = directory();
    let (package, packed) = (
        dir.path().join("sums").display().to_string(),
        dir.path().join("sums.zip"),
    );
    for arguments in [
        &["init", "--no-gen", &package][..],
        &["zip", "--force", &package],
        &["clean", &package],
    ] {
        let mut command = Command::new(executable("millibox"));
        let output = command
            .arg("problem")
            .args(arguments)
            .env("MILLIBOX_SUPERVISOR", "/no/such/file")
            .output()
            .unwrap();
        assert_eq!(status(&output), 0, "{arguments:?}: {output:?}");
    }
    assert!(packed.is_file());
}
