//! The supervisor's command line, and the users under which it refuses to run.

use millibox::{Error, StartError, SupervisorHint, SupervisorStep};
use millibox_tests::{ClientOutput, client, directory, executable, is_root, set_mode, skip};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// Starts the supervisor with `stdin` at descriptor 0. Returns its standard error.
fn fail_to_start(arguments: &[&str], stdin: Stdio) -> String {
    let output = Command::new(executable("millibox-supervisor"))
        .args(arguments)
        .stdin(stdin)
        .output()
        .unwrap();
    assert!(
        !output.status.success(),
        "{arguments:?}: the supervisor has started"
    );
    assert!(
        output.status.code().is_some(),
        "{arguments:?}: {}",
        output.status
    );
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

fn assert_start_fails(arguments: &[&str], stdin: Stdio, expected: &str) {
    let text = fail_to_start(arguments, stdin);
    assert!(
        text.contains(expected),
        "{arguments:?}: {text:?} does not contain {expected:?}"
    );
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text:?}");
    assert!(
        text.starts_with("millibox: ") && text.ends_with('\n'),
        "{text:?}"
    );
}

#[test]
fn invalid_argument_is_named_in_message() {
    for (arguments, expected) in [
        (&[][..], "--socket"),
        (&["--help"], "--help"),
        (&["verbose"], "verbose"),
        (&["--socket"], "--socket"),
        (&["--socket=zero"], "--socket=zero"),
        (&["--socket=-1"], "--socket=-1"),
        (&["--socket=99999999999"], "--socket=99999999999"),
        (&["--socket=0", "--slots=0"], "--slots=0"),
        (&["--socket=0", "--slots=100000"], "--slots=100000"),
        (&["--socket=0", "--runners=0"], "--runners=0"),
        (&["--socket=0", "--backend=v3"], "--backend=v3"),
        (&["--socket=0", "--pid1=both"], "--pid1=both"),
        (&["--socket=0", "--cgroup-parent=relative"], "relative"),
        (&["--socket=0", "--cgroup-parent=/a/../b"], ".."),
        (&["--socket=0", "--user=root"], "--user=root"),
        (&["--socket=0", "--user=1"], "--user=1"),
        (&["--socket=0", "--slots=2=3"], "2=3"),
        (&["--socket=0", "--cpus="], "--cpus="),
        (&["--socket=0", "--cpus=0,x"], "--cpus=0,x"),
        (&["--socket=0", "--cpus=99999"], "--cpus=99999"),
        (&["--inherited=x"], "--inherited=x"),
        (&["--inherited=77"], "77"),
    ] {
        assert_start_fails(arguments, Stdio::null(), expected);
    }
}

#[test]
fn argument_that_is_not_utf8_returns_2() {
    let bytes = std::os::unix::ffi::OsStringExt::from_vec(b"--socket=\xff".to_vec());
    let bytes: std::ffi::OsString = bytes;
    let output = Command::new(executable("millibox-supervisor"))
        .arg(bytes)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
}

#[test]
fn socket_argument_must_be_an_open_descriptor() {
    assert_start_fails(&["--socket=77"], Stdio::null(), "not open");
}

#[test]
fn socket_argument_must_be_a_socket() {
    assert_start_fails(&["--socket=0"], Stdio::null(), "not a socket");
    let (read, _write) = millibox_tests::pipe();
    assert_start_fails(&["--socket=0"], Stdio::from(read), "not a socket");
}

#[test]
fn socket_must_have_family_unix() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_start_fails(
        &["--socket=0"],
        Stdio::from(OwnedFd::from(socket)),
        "AF_UNIX",
    );
}

#[test]
fn socket_must_have_type_seqpacket() {
    let (stream, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
    assert_start_fails(
        &["--socket=0"],
        Stdio::from(OwnedFd::from(stream)),
        "SOCK_SEQPACKET",
    );
    let datagram = std::os::unix::net::UnixDatagram::unbound().unwrap();
    assert!(datagram.as_raw_fd() > 2);
    assert_start_fails(
        &["--socket=0"],
        Stdio::from(OwnedFd::from(datagram)),
        "SOCK_SEQPACKET",
    );
}

#[test]
fn socket_without_client_ends_supervisor() {
    // Without a client, the supervisor must end by itself and not wait forever.
    let (client_end, supervisor_end) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let mut child = Command::new(executable("millibox-supervisor"))
        .args(["--socket=0", "--slots=1"])
        .stdin(Stdio::from(supervisor_end))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(client_end);
    assert!(millibox_tests::ends_within(&mut child, std::time::Duration::from_secs(10)).is_some());
}

#[test]
fn version_is_printed() {
    let output = Command::new(executable("millibox-supervisor"))
        .arg("--version")
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .starts_with("millibox-supervisor ")
    );
}

// --- users that are rejected -----------------------------------------------------------

/// The user id that the client has outside its user namespace.
fn outside() -> u32 {
    if is_root() {
        12345
    } else {
        rustix::process::geteuid().as_raw()
    }
}

/// Returns whether the client could change its environment. If not, reports the test as skipped.
fn is_prepared(output: &ClientOutput) -> bool {
    if output.stdout.contains("unable=") {
        skip(output.stdout.trim());
    }
    !output.stdout.contains("unable=")
}

#[test]
fn root_cannot_choose_root_as_user() {
    let (_client_end, supervisor_end) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    if !is_root() {
        return skip("not root");
    }
    for user in ["0:0", "0:5", "5:0"] {
        assert_start_fails(
            &["--socket=0", &format!("--user={user}")],
            Stdio::from(supervisor_end.try_clone().unwrap()),
            "superuser",
        );
    }
}

#[test]
fn user_other_than_root_cannot_choose_a_user() {
    if is_root() {
        return skip("root may switch to any user");
    }
    let error = millibox_tests::builder()
        .user(4242, 4343)
        .start()
        .map(drop)
        .unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Start(StartError::Failed { error, .. })
                if matches!(error.hint, Some(SupervisorHint::UserNeedsRoot { .. }))
        ),
        "{error:?}"
    );
    let (uid, gid) = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    assert_eq!(
        millibox_tests::start(millibox_tests::builder().user(uid, gid))
            .info()
            .ids(),
        (uid, gid)
    );
}

#[test]
fn supervisor_started_by_root_has_an_unprivileged_user() {
    if !is_root() {
        return skip("not root");
    }
    let supervisor = millibox_tests::supervisor();
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", supervisor.info().pid())).unwrap();
    for field in ["Uid:", "Gid:"] {
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        assert!(
            line.split_whitespace().skip(1).all(|id| id == "60578"),
            "{line}"
        );
    }
    let groups = status
        .lines()
        .find(|line| line.starts_with("Groups:"))
        .unwrap();
    assert_eq!(groups.split_whitespace().count(), 1, "{groups}");
    let chosen = millibox_tests::start(millibox_tests::builder().user(4242, 4343));
    assert_eq!(chosen.info().ids(), (4242, 4343));
    assert_eq!(
        millibox_tests::run_probe(&chosen, &["ids"]).value("uid"),
        "4242 4242 4242"
    );
}

#[test]
fn ordinary_ids_in_user_namespace_are_accepted() {
    for inside in [outside(), 1000, 54321] {
        let output = client([&format!("user={}:{inside}", outside()), "--", "ids"]);
        if !is_prepared(&output) {
            return;
        }
        assert_eq!(output.value("exit_code"), "0", "{output:?}");
        assert_eq!(output.value("uid"), format!("{inside} {inside} {inside}"));
    }
}

#[test]
fn owner_of_null_device_is_rejected_as_superuser() {
    if !is_root() {
        return skip("only root can have another id in a user namespace");
    }
    // Root under another id is an ordinary user, except that it owns /dev/null.
    let output = client(["user=0:1000", "--", "ids"]);
    if is_prepared(&output) {
        assert!(output.value("error").contains("superuser"), "{output:?}");
    }
}

#[test]
fn unmapped_ids_are_rejected() {
    let output = client(["unmapped", "--", "ids"]);
    if is_prepared(&output) {
        // All unmapped ids, including that of the owner of /dev/null, appear as one id
        // (user_namespaces(7)).
        assert!(output.value("error").contains("superuser"), "{output:?}");
    }
}

/// It suffices that one of the two ids is that of the superuser.
#[test]
fn group_of_null_device_is_rejected_as_superuser() {
    if !is_root() {
        return skip("only root can switch to another user in root's group");
    }
    for (ids, rejected) in [("12345:0", true), ("12345:12345", false)] {
        let output = client([&format!("ids={ids}"), "--", "ids"]);
        if is_prepared(&output) {
            assert_eq!(
                output.stdout.contains("superuser"),
                rejected,
                "{ids}: {output:?}"
            );
        }
    }
}

#[test]
fn false_null_device_is_rejected() {
    let directory = directory();
    let file = directory.path().join("null");
    std::fs::write(&file, "").unwrap();
    set_mode(&file, 0o666);
    // Try a regular file and another device.
    for fake in [file.to_str().unwrap(), "/dev/zero"] {
        let user = format!("user={0}:{0}", outside());
        let output = client([
            user.as_str(),
            "mount-namespace",
            &format!("null={fake}"),
            "--",
            "ids",
        ]);
        if is_prepared(&output) {
            assert!(
                output
                    .value("error")
                    .contains("/dev/null is not the null device"),
                "{output:?}"
            );
        }
    }
}

#[test]
fn missing_or_wrong_executable_returns_error() {
    let missing = millibox::Supervisor::builder()
        .executable("/no/such/supervisor")
        .start();
    match missing {
        Err(Error::Start(StartError::NotExecuted { path, error, .. })) => assert_eq!(
            (path.to_str(), error.raw_os_error()),
            (Some("/no/such/supervisor"), Some(libc::ENOENT))
        ),
        other => panic!("{other:?}"),
    }
    let other = millibox::Supervisor::builder()
        .executable("/bin/true")
        .start();
    assert!(
        other.is_err_and(|error| matches!(error, Error::Start(StartError::NotSupervisor { .. })))
    );
}

#[test]
fn missing_cgroup_parent_returns_error() {
    let error = crate::builder()
        .cgroup_parent("/not/there")
        .start()
        .map(drop)
        .unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Start(StartError::Failed { error, .. })
                if error.step == SupervisorStep::CgroupParent
                    && error.subject.as_deref() == Some("/not/there")
        ),
        "{error:?}"
    );
}
