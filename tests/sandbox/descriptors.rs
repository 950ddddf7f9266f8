//! The descriptors that a program has, and those that it must not have.

#![allow(unsafe_code, reason = "plain system calls that prepare descriptors")]

use crate::{builder, supervisor};
use millibox::{Outcome, World};
use millibox_tests::{
    HANG_TIMEOUT, client, is_root, pipe, read_all, readable, request, run, run_probe, skip, start,
    wait,
};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

const NULL_READ: &str = "20000 0 1:3";
const NULL_WRITE: &str = "20000 1 1:3";

/// Opens descriptors without O_CLOEXEC, one of them with a high number.
fn open_without_cloexec() -> Vec<OwnedFd> {
    // SAFETY: each call returns a new descriptor, which has no other owner.
    let mut all: Vec<OwnedFd> = (0..5)
        .map(|_| unsafe {
            OwnedFd::from_raw_fd(libc::open(c"/etc/passwd".as_ptr(), libc::O_RDONLY))
        })
        .collect();
    // SAFETY: the call returns a new descriptor, as above. F_DUPFD chooses a free number.
    all.push(unsafe { OwnedFd::from_raw_fd(libc::fcntl(0, libc::F_DUPFD, 900)) });
    all
}

#[test]
fn program_has_exactly_three_descriptors() {
    let before = open_without_cloexec();
    let supervisor = supervisor();
    let after = open_without_cloexec();
    // Without redirections and with a program by path, all three descriptors are /dev/null.
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
    // The next pid1 was prepared while this program ran.
    for _ in 0..3 {
        assert_eq!(run_probe(&supervisor, &["fds"]).values().len(), 3);
    }
    drop((before, after));
}

#[test]
fn descriptor_leaked_by_client_is_not_kept_open() {
    let (read, write) = pipe();
    // SAFETY: the call returns a new descriptor, which has no other owner. F_DUPFD does not set
    // FD_CLOEXEC.
    let leaked = unsafe { OwnedFd::from_raw_fd(libc::fcntl(write.as_raw_fd(), libc::F_DUPFD, 0)) };
    drop(write);
    let supervisor = supervisor();
    assert_eq!(
        run(&supervisor, &request(["exit", "0"])).result.outcome,
        Outcome::Exited(0)
    );
    drop(leaked);
    // A child that another test has forked meanwhile may keep the pipe open for a while.
    assert!(
        readable(&read, HANG_TIMEOUT),
        "another process still holds the write end"
    );
    assert_eq!(read_all(read), b"");
    drop(supervisor);
}

#[test]
fn missing_standard_output_is_dev_null() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    // `fds` writes to standard output, so a shell redirects that to standard error.
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
fn given_descriptors_arrive_in_their_places() {
    let supervisor = supervisor();
    let (input_read, input_write) = pipe();
    rustix::io::write(&input_write, &[1; 1234]).unwrap();
    drop(input_write);
    let output = run(&supervisor, &request(["stdin"]).stdin(input_read));
    assert_eq!(output.number("bytes"), 1234);
    // The same descriptor is passed in two places.
    let (read, write) = pipe();
    let shell = millibox::Request::new("/bin/sh")
        .args(["-c", "echo out; echo err >&2"])
        .stdout(write.clone())
        .stderr(write);
    let handle = supervisor.run(&shell).unwrap();
    drop(shell);
    assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    assert_eq!(read_all(read), b"out\nerr\n");
    // The descriptor has a low number in the client. The copies must not overwrite each other.
    let null = Arc::new(OwnedFd::from(std::fs::File::open("/dev/zero").unwrap()));
    let output = run(
        &supervisor,
        &request(["fds"]).stdin(null.clone()).stderr(null),
    );
    assert_eq!(output.value("0"), "20000 0 1:5");
    assert_eq!(output.value("2"), "20000 0 1:5");
}

#[test]
fn standard_input_from_dev_null_is_empty() {
    let supervisor = supervisor();
    assert_eq!(run_probe(&supervisor, &["stdin"]).number("bytes"), 0);
}

#[test]
fn pipe_breaks_when_program_closes_its_end() {
    let supervisor = supervisor();
    // For standard output, the client sees the end of file while the program is alive.
    let (read, write) = pipe();
    let closes_stdout = request(["close-sleep", "1", "100000"]).stdout(write);
    let handle = supervisor.run(&closes_stdout).unwrap();
    drop(closes_stdout);
    assert_eq!(read_all(read), b"");
    assert!(
        handle.try_wait().unwrap().is_none(),
        "the run has ended too early"
    );
    handle.kill();
    assert_eq!(wait(&handle).outcome, Outcome::Killed);
    // For standard input, the client's write returns EPIPE.
    let (read, write) = pipe();
    let closes_stdin = request(["close-sleep", "0", "100000"]).stdin(read);
    let handle = supervisor.run(&closes_stdin).unwrap();
    drop(closes_stdin);
    let broken = millibox_tests::eventually(Duration::from_secs(10), || {
        rustix::io::write(&write, b"x") == Err(rustix::io::Errno::PIPE)
    });
    assert!(broken, "another process holds the read end");
    assert!(handle.try_wait().unwrap().is_none());
}

#[test]
fn pipe_breaks_when_the_run_ends() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    let handle = supervisor
        .run(&request(["exit", "0"]).stdout(write))
        .unwrap();
    assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    // The end of file follows at once, so a caller that has the result need not wait for it.
    assert!(readable(&read, Duration::from_secs(5)));
    assert_eq!(read_all(read), b"");
}

#[test]
fn run_that_cannot_start_closes_its_descriptors() {
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
fn client_without_standard_descriptors_does_not_hang() {
    let close_all = "exec 0<&- 1>&- 2>&-; exec \"$0\" -- fds";
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", close_all])
        .arg(millibox_tests::executable("client"))
        .output()
        .unwrap();
    // The client cannot print anything. It must neither hang nor write to a socket.
    drop(output);
    let supervisor = start(builder());
    assert_eq!(run_probe(&supervisor, &["fds"]).values().len(), 3);
}

#[test]
fn large_output_arrives_through_a_pipe() {
    let supervisor = supervisor();
    let output = run(&supervisor, &request(["out", "5000000"]));
    assert_eq!(output.stdout.len(), 5_000_000 + "written=5000000\n".len());
}

#[test]
fn run_cannot_exhaust_descriptors_in_flight() {
    // The kernel counts a user's descriptors in messages that have not been received. It compares
    // them with the soft limit of the sender (unix(7), ETOOMANYREFS).
    let uid = if is_root() {
        12345
    } else {
        rustix::process::geteuid().as_raw()
    };
    let user = format!("user={uid}:{uid}");
    // The limit is far lower than the number of descriptors that other tests of the same user use.
    let output = client([user.as_str(), "files=256:768", "crowd", "--", "park"]);
    if output.stdout.contains("unable=") {
        return skip(output.stdout.trim());
    }
    let number = |key: &str| {
        output
            .value(key)
            .parse::<i64>()
            .unwrap_or_else(|_| panic!("{output:?}"))
    };
    // More than the soft limit; otherwise, the test would prove nothing.
    assert!(number("parked") > 256, "{output:?}");
    assert_eq!(number("others"), 20, "{output:?}");
    // If another process of this user has as many descriptors in flight as the limit allows, runs
    // wait without busy polling.
    assert_eq!(output.value("waits"), "true", "{output:?}");
    assert!(number("cpu_ms") < 400, "{output:?}");
    assert_eq!(number("after"), 2, "{output:?}");
}

#[test]
fn low_open_files_limit_does_not_select_a_weaker_backend() {
    let automatic = supervisor().info().backend().to_string();
    let mut started = 0;
    for limit in (32..=512).step_by(48) {
        let output = client([
            format!("files={limit}:{limit}"),
            "--".to_owned(),
            "exit".to_owned(),
            "0".to_owned(),
        ]);
        if output.stdout.contains("backend=") {
            assert_eq!(output.value("backend"), automatic, "{limit}: {output:?}");
            started += 1;
        } else {
            // The start may also fail because of the descriptors in flight of other tests of this
            // user.
            let why = output.value("error");
            assert!(
                why.contains("ulimit -n") || why.contains("ulimit -Hn"),
                "{limit}: {output:?}"
            );
        }
        assert!(
            !output.stdout.contains("still in use") && !output.stderr.contains("still in use"),
            "{limit}: {output:?}"
        );
    }
    // For an unprivileged user, the test above may use up all descriptors in flight at this moment.
    assert!(started > 0 || !millibox_tests::is_root());
}
