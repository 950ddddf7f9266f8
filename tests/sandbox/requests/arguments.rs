//! Arguments, environment and working directory.

use super::{assert_client_rejects, assert_not_started, exec_error};
use crate::supervisor;
use millibox::{Error, Hint, Outcome, Program, Request, RequestMistake, RunError, Step};
use millibox_tests::{probe, request, result, run, run_probe};
use std::os::unix::ffi::OsStringExt;

#[test]
fn empty_argv_is_accepted_only_by_descriptor() {
    let supervisor = supervisor();
    // Without arguments, the probe exits with 42.
    assert_eq!(
        result(&supervisor, &Request::from_descriptor(probe())).outcome,
        Outcome::Exited(42)
    );
    assert_client_rejects(
        &supervisor,
        &Request::of(Program::Path("/bin/true".into())),
        &RequestMistake::NoArgv0,
    );
    assert_client_rejects(
        &supervisor,
        &Request::new("/bin/true").argv([""]),
        &RequestMistake::NoArgv0,
    );
    assert_client_rejects(&supervisor, &Request::new(""), &RequestMistake::EmptyPath);
    assert_client_rejects(
        &supervisor,
        &Request::new("/bin/true").arg("a\0b"),
        &RequestMistake::HasNul("a\0b".into()),
    );
    assert_client_rejects(
        &supervisor,
        &Request::new("/bin/\0true"),
        &RequestMistake::HasNul("/bin/\0true".into()),
    );
}

#[test]
fn arguments_and_environment_arrive_unchanged() {
    let supervisor = supervisor();
    let odd = std::ffi::OsString::from_vec(vec![0xff, 0xfe, b'=', b'\t', 0x80]);
    let output = run(
        &supervisor,
        &request(["args", "", "a b", "\"'\\"])
            .arg(odd.clone())
            .arg("ü"),
    );
    assert_eq!(
        output.stdout,
        [
            b"0:\n3:a b\n3:\"'\\\n5:".as_slice(),
            &odd.into_vec(),
            b"\n2:",
            "ü".as_bytes(),
            b"\n"
        ]
        .concat()
    );
    let output = run(
        &supervisor,
        &request(["env"])
            .env("A", "1")
            .env("EMPTY", "")
            .env("B", "x=y z"),
    );
    assert_eq!(output.text(), "A=1\nEMPTY=\nB=x=y z\n");
}

#[test]
fn long_arguments_arrive_up_to_the_limit() {
    let supervisor = supervisor();
    // These arguments do not fit into one frame of the socket, and nearly reach the kernel's limit.
    for (count, length) in [(1, 100_000), (10, 100_000), (20_000, 10)] {
        let arguments = vec!["x".repeat(length); count];
        let output = run(&supervisor, &request(["args"]).args(arguments));
        assert_eq!(
            output.result.outcome,
            Outcome::Exited(0),
            "{count} of {length}: {}",
            output.result
        );
        assert_eq!(output.text().lines().count(), count);
        assert!(
            output
                .text()
                .lines()
                .all(|line| line.starts_with(&format!("{length}:")))
        );
    }
    // One string has at most 128 KiB, and all strings together have at most a quarter of the stack
    // limit (execve(2)).
    assert_not_started(
        &supervisor,
        &request(["args", &"x".repeat(200_000)]),
        &exec_error(libc::E2BIG),
    );
    let many = request(["args"]).args(vec!["x".repeat(100_000); 25]);
    assert_not_started(&supervisor, &many, &exec_error(libc::E2BIG));
    let more = request(["args"]).args(vec!["x".repeat(100_000); 35]);
    // Each string includes its NUL. "/" is the working directory.
    let too_many = |strings: u64, bytes: u64| {
        let hint = Hint::TooManyStrings {
            strings,
            max_strings: 131_072,
            bytes,
            max_bytes: 3 << 20,
        };
        RunError::new(Step::Arguments)
            .with_errno(libc::E2BIG)
            .with_hint(hint)
    };
    let own = ("/\0probe\0args\0".len()) as u64;
    assert_not_started(&supervisor, &more, &too_many(3 + 35, own + 35 * 100_001));
    let short = request(["args"]).args(vec!["x"; 140_000]);
    assert_not_started(
        &supervisor,
        &short,
        &too_many(3 + 140_000, own + 140_000 * 2),
    );
    let longest = request(["args"]).args(vec!["x".repeat(100_000); 50]);
    match supervisor.run(&longest) {
        Err(error @ Error::Request(_)) => {
            let [RequestMistake::TooLong { bytes, max_bytes }] = *error.request_mistakes() else {
                panic!("{error:?}");
            };
            assert!(
                bytes > 5_000_000 && max_bytes < bytes,
                "{bytes} bytes of {max_bytes}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn working_directory_is_set_or_reported() {
    let supervisor = supervisor();
    assert_eq!(run_probe(&supervisor, &["cwd"]).value("cwd"), "/");
    assert_eq!(
        run(&supervisor, &request(["cwd"]).current_dir("/usr/lib")).value("cwd"),
        "/usr/lib"
    );
    let nowhere = request(["cwd"]).current_dir("/nowhere");
    let expected = |errno, path: &str| {
        RunError::new(Step::WorkingDirectory)
            .with_errno(errno)
            .with_subject(path)
    };
    assert_not_started(&supervisor, &nowhere, &expected(libc::ENOENT, "/nowhere"));
    let file = request(["cwd"]).current_dir("/bin/true");
    assert_not_started(&supervisor, &file, &expected(libc::ENOTDIR, "/bin/true"));
}

#[test]
fn variable_set_twice_has_the_last_value() {
    let supervisor = supervisor();
    let request = Request::new("/usr/bin/env")
        .env("A", "1")
        .env("B", "2")
        .env("A", "3");
    assert_eq!(run(&supervisor, &request).text(), "B=2\nA=3\n");
    let unnamed = RequestMistake::UnnamedVariable("=x".into());
    assert_client_rejects(
        &supervisor,
        &Request::new("/bin/true").env("", "x"),
        &unnamed,
    );
    // "A=B" would set the variable A, which would then occur twice.
    let equals = RequestMistake::VariableHasEquals("A=B".into());
    assert_client_rejects(
        &supervisor,
        &Request::new("/bin/true").env("A=B", "c").env("A", "1"),
        &equals,
    );
    let nul = RequestMistake::VariableHasNul("A\0B".into());
    assert_client_rejects(
        &supervisor,
        &Request::new("/bin/true").env("A\0B", "c"),
        &nul,
    );
    let request = Request::new("/usr/bin/env")
        .env("A", "=1")
        .env("A1", "2")
        .env("A", "B=3");
    assert_eq!(run(&supervisor, &request).text(), "A1=2\nA=B=3\n");
}
