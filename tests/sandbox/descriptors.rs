//! What a run has open, and what it does not.

#![allow(
    unsafe_code,
    reason = "plain system calls that make what is to be seen"
)]

use crate::{builder, supervisor};
use millibox::{Outcome, World};
use millibox_tests::{
    PATIENCE, client, is_root, pipe, probe_run, read_all, readable, request, run, skip, start, wait,
};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

const NULL_READ: &str = "20000 0 1:3";
const NULL_WRITE: &str = "20000 1 1:3";

/// Descriptors without O_CLOEXEC, one of them far out.
fn leaky() -> Vec<OwnedFd> {
    // SAFETY: each call makes a descriptor that is nobody else's.
    let mut all: Vec<OwnedFd> = (0..5)
        .map(|_| unsafe {
            OwnedFd::from_raw_fd(libc::open(c"/etc/passwd".as_ptr(), libc::O_RDONLY))
        })
        .collect();
    // SAFETY: as above; F_DUPFD takes a free number.
    all.push(unsafe { OwnedFd::from_raw_fd(libc::fcntl(0, libc::F_DUPFD, 900)) });
    all
}

#[test]
fn a_run_has_three_descriptors() {
    let before = leaky();
    let supervisor = supervisor();
    let after = leaky();
    // With nothing given, and a program by path (no program descriptor), all is /dev/null.
    let directory = millibox_tests::directory();
    let file = directory.path().join("out");
    std::fs::write(&file, "").unwrap();
    let output = run(&supervisor, &request(["fds"]));
    let values = output.values();
    assert_eq!(
        values.keys().collect::<Vec<_>>(),
        ["0", "1", "2"],
        "{values:?}"
    );
    assert_eq!(values["0"], NULL_READ);
    assert_eq!(values["1"], format!("{:o} 1 0:0", libc::S_IFIFO));
    assert_eq!(values["2"], NULL_WRITE);
    // The next pid1 was made while that ran.
    for _ in 0..3 {
        assert_eq!(probe_run(&supervisor, &["fds"]).values().len(), 3);
    }
    drop((before, after));
}

#[test]
fn what_the_client_leaves_open_is_kept_by_nobody() {
    let (read, write) = pipe();
    // SAFETY: the call makes a descriptor that is nobody else's; F_DUPFD sets no FD_CLOEXEC.
    let leaked = unsafe { OwnedFd::from_raw_fd(libc::fcntl(write.as_raw_fd(), libc::F_DUPFD, 0)) };
    drop(write);
    let supervisor = supervisor();
    assert_eq!(
        run(&supervisor, &request(["exit", "0"])).result.outcome,
        Outcome::Exited(0)
    );
    drop(leaked);
    // A child that another test started meanwhile may have it for a while.
    assert!(
        readable(&read, PATIENCE),
        "somebody still has the other end"
    );
    assert_eq!(read_all(read), b"");
    drop(supervisor);
}

#[test]
fn a_missing_standard_output_is_dev_null() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    // Standard error shows what standard output is: fds writes to 1, so let a shell turn it round.
    let script = "exec 3>&1 1>&2; exec /probe fds";
    let directory = millibox_tests::directory();
    let world = World::minimal().read_only(millibox_tests::copy_probe(directory.path()), "/probe");
    let shell = millibox::Request::new("/bin/sh")
        .args(["-c", script])
        .world(&world)
        .stderr(write);
    let handle = supervisor.run(&shell).unwrap();
    drop(shell);
    assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    let text = String::from_utf8(read_all(read)).unwrap();
    assert!(
        text.lines().any(|line| line == format!("3={NULL_WRITE}")),
        "{text}"
    );
}

#[test]
fn given_descriptors_arrive_at_their_places() {
    let supervisor = supervisor();
    let (input_read, input_write) = pipe();
    rustix::io::write(&input_write, &[1; 1234]).unwrap();
    drop(input_write);
    let output = run(&supervisor, &request(["stdin"]).stdin(input_read));
    assert_eq!(output.number("bytes"), 1234);
    // One descriptor at two places.
    let (read, write) = pipe();
    let shell = millibox::Request::new("/bin/sh")
        .args(["-c", "echo out; echo err >&2"])
        .stdout(write.clone())
        .stderr(write);
    let handle = supervisor.run(&shell).unwrap();
    drop(shell);
    assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    assert_eq!(read_all(read), b"out\nerr\n");
    // And one that is itself a low number with us: the copies must not overwrite each other.
    let null = Arc::new(OwnedFd::from(std::fs::File::open("/dev/zero").unwrap()));
    let output = run(
        &supervisor,
        &request(["fds"]).stdin(null.clone()).stderr(null),
    );
    assert_eq!(output.value("0"), "20000 0 1:5");
    assert_eq!(output.value("2"), "20000 0 1:5");
}

#[test]
fn standard_input_of_dev_null_ends_at_once() {
    let supervisor = supervisor();
    assert_eq!(probe_run(&supervisor, &["stdin"]).number("bytes"), 0);
}

#[test]
fn a_pipe_breaks_when_the_run_closes_its_end() {
    let supervisor = supervisor();
    // Its standard output: we see the end while it lives.
    let (read, write) = pipe();
    let closes_stdout = request(["close-sleep", "1", "100000"]).stdout(write);
    let handle = supervisor.run(&closes_stdout).unwrap();
    drop(closes_stdout);
    assert_eq!(read_all(read), b"");
    assert!(handle.try_wait().unwrap().is_none(), "it was over before");
    handle.kill();
    assert_eq!(wait(&handle).outcome, Outcome::Killed);
    // Its standard input: we get EPIPE.
    let (read, write) = pipe();
    let closes_stdin = request(["close-sleep", "0", "100000"]).stdin(read);
    let handle = supervisor.run(&closes_stdin).unwrap();
    drop(closes_stdin);
    let broken = millibox_tests::eventually(Duration::from_secs(10), || {
        rustix::io::write(&write, b"x") == Err(rustix::io::Errno::PIPE)
    });
    assert!(broken, "somebody else holds the reading end");
    assert!(handle.try_wait().unwrap().is_none());
}

#[test]
fn a_pipe_breaks_when_the_run_ends() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    let handle = supervisor
        .run(&request(["exit", "0"]).stdout(write))
        .unwrap();
    assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    // At once: who holds the result must not wait for the end.
    assert!(readable(&read, Duration::from_secs(5)));
    assert_eq!(read_all(read), b"");
}

#[test]
fn a_run_that_cannot_start_lets_go_of_its_descriptors() {
    let supervisor = supervisor();
    for path in ["/missing", "/usr"] {
        let (read, write) = pipe();
        let handle = supervisor
            .run(&millibox::Request::new(path).stdout(write))
            .unwrap();
        assert!(matches!(wait(&handle).outcome, Outcome::NotStarted(_)));
        assert!(readable(&read, Duration::from_secs(5)), "{path}");
    }
}

#[test]
fn a_client_without_standard_descriptors() {
    let close_all = "exec 0<&- 1>&- 2>&-; exec \"$0\" -- fds";
    let said = std::process::Command::new("/bin/sh")
        .args(["-c", close_all])
        .arg(millibox_tests::executable("client"))
        .output()
        .unwrap();
    // It has nowhere to say anything; but it must not hang, nor write into a socket.
    drop(said);
    let supervisor = start(builder());
    assert_eq!(probe_run(&supervisor, &["fds"]).values().len(), 3);
}

#[test]
fn a_large_output_through_a_pipe() {
    let supervisor = supervisor();
    let output = run(&supervisor, &request(["out", "5000000"]));
    assert_eq!(output.stdout.len(), 5_000_000 + "written=5000000\n".len());
}

#[test]
fn a_run_cannot_use_up_what_may_be_on_its_way_to_others() {
    // The kernel counts descriptors in messages that nobody has received for the user, and compares
    // them with the soft limit of whoever sends (unix(7), ETOOMANYREFS).
    let uid = if is_root() {
        12345
    } else {
        rustix::process::geteuid().as_raw()
    };
    let user = format!("user={uid}:{uid}");
    // Far fewer than others of our user may have, the tests beside this one.
    let said = client([user.as_str(), "files=256:768", "crowd", "--", "park"]);
    if said.stdout.contains("unable=") {
        return skip(said.stdout.trim());
    }
    let number = |key: &str| {
        said.value(key)
            .parse::<i64>()
            .unwrap_or_else(|_| panic!("{said:?}"))
    };
    // More than our soft limit, or the test tries nothing.
    assert!(number("parked") > 256, "{said:?}");
    assert_eq!(number("others"), 20, "{said:?}");
    // If somebody else of our user has as many on their way as we may have, runs wait, and quietly.
    assert_eq!(said.value("waits"), "true", "{said:?}");
    assert!(number("cpu_ms") < 400, "{said:?}");
    assert_eq!(number("after"), 2, "{said:?}");
}

#[test]
fn too_few_open_files_are_no_reason_for_a_weaker_backend() {
    let automatic = supervisor().info().backend().to_string();
    let mut started = 0;
    for most in (32..=512).step_by(48) {
        let said = client([
            format!("files={most}:{most}"),
            "--".to_owned(),
            "exit".to_owned(),
            "0".to_owned(),
        ]);
        if said.stdout.contains("backend=") {
            assert_eq!(said.value("backend"), automatic, "{most}: {said:?}");
            started += 1;
        } else {
            // Or because of what others of our user, the tests beside this one, have on its way.
            let why = said.value("error");
            assert!(
                why.contains("ulimit -n") || why.contains("ulimit -Hn"),
                "{most}: {said:?}"
            );
        }
        assert!(
            !said.stdout.contains("still in use") && !said.stderr.contains("still in use"),
            "{most}: {said:?}"
        );
    }
    // As a user there may be nothing left beside the test above, which uses up what all may have on
    // its way.
    assert!(started > 0 || !millibox_tests::is_root());
}
