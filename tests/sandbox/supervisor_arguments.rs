//! The supervisor's command line, and where it refuses to run.

use millibox::{Error, StartError, SupervisorHint, SupervisorStep};
use millibox_tests::{Said, client, directory, executable, is_root, share, skip};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// Starts the supervisor by hand, with this at descriptor 0; what it says.
fn start(arguments: &[&str], stdin: Stdio) -> String {
    let output = Command::new(executable("millibox-supervisor"))
        .args(arguments)
        .stdin(stdin)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{arguments:?}: it has started");
    assert!(
        output.status.code().is_some(),
        "{arguments:?}: {}",
        output.status
    );
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

fn refuses(arguments: &[&str], stdin: Stdio, says: &str) {
    let text = start(arguments, stdin);
    assert!(
        text.contains(says),
        "{arguments:?}: {text:?} does not say {says:?}"
    );
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text:?}");
    assert!(
        text.starts_with("millibox: ") && text.ends_with('\n'),
        "{text:?}"
    );
}

#[test]
fn wrong_arguments() {
    for (arguments, says) in [
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
        refuses(arguments, Stdio::null(), says);
    }
}

#[test]
fn an_argument_that_is_not_text() {
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
fn a_descriptor_that_is_not_open() {
    refuses(&["--socket=77"], Stdio::null(), "not open");
}

#[test]
fn a_descriptor_that_is_no_socket() {
    refuses(&["--socket=0"], Stdio::null(), "not a socket");
    let (read, _write) = millibox_tests::pipe();
    refuses(&["--socket=0"], Stdio::from(read), "not a socket");
}

#[test]
fn a_socket_of_the_wrong_family() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    refuses(
        &["--socket=0"],
        Stdio::from(OwnedFd::from(socket)),
        "AF_UNIX",
    );
}

#[test]
fn a_socket_of_the_wrong_type() {
    let (stream, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
    refuses(
        &["--socket=0"],
        Stdio::from(OwnedFd::from(stream)),
        "SOCK_SEQPACKET",
    );
    let datagram = std::os::unix::net::UnixDatagram::unbound().unwrap();
    assert!(datagram.as_raw_fd() > 2);
    refuses(
        &["--socket=0"],
        Stdio::from(OwnedFd::from(datagram)),
        "SOCK_SEQPACKET",
    );
}

#[test]
fn a_socket_whose_client_is_gone() {
    // No client, no supervisor: it must end by itself and not wait for ever.
    let (ours, its) = std::os::unix::net::UnixStream::pair().unwrap();
    drop((ours, its));
    let (ours, its) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let mut child = Command::new(executable("millibox-supervisor"))
        .args(["--socket=0", "--slots=1"])
        .stdin(Stdio::from(its))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(ours);
    assert!(millibox_tests::ends_within(&mut child, std::time::Duration::from_secs(10)).is_some());
}

#[test]
fn its_version() {
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

// --- whom it refuses to be -------------------------------------------------------------

fn outside() -> u32 {
    if is_root() {
        12345
    } else {
        rustix::process::geteuid().as_raw()
    }
}

fn able(said: &Said) -> bool {
    if said.stdout.contains("unable=") {
        skip(said.stdout.trim());
    }
    !said.stdout.contains("unable=")
}

#[test]
fn root_cannot_choose_to_be_root() {
    let (_ours, its) = rustix::net::socketpair(
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
        refuses(
            &["--socket=0", &format!("--user={user}")],
            Stdio::from(its.try_clone().unwrap()),
            "superuser",
        );
    }
}

#[test]
fn who_is_not_root_stays_who_it_is() {
    if is_root() {
        return skip("root may become anybody");
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
fn a_client_that_is_root_gets_an_ordinary_user() {
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
        millibox_tests::probe_run(&chosen, &["ids"]).value("uid"),
        "4242 4242 4242"
    );
}

#[test]
fn ordinary_ids_in_a_user_namespace_do() {
    for inside in [outside(), 1000, 54321] {
        let said = client([&format!("user={}:{inside}", outside()), "--", "ids"]);
        if !able(&said) {
            return;
        }
        assert_eq!(said.value("outcome"), "exited with 0", "{said:?}");
        assert_eq!(said.value("uid"), format!("{inside} {inside} {inside}"));
    }
}

#[test]
fn who_owns_the_null_device_is_the_superuser() {
    if !is_root() {
        return skip("only root can be called otherwise in a user namespace");
    }
    // Root, under another number: as ordinary as any, but that /dev/null is its own.
    let said = client(["user=0:1000", "--", "ids"]);
    if able(&said) {
        assert!(said.value("error").contains("superuser"), "{said:?}");
    }
}

#[test]
fn unmapped_ids_are_refused() {
    let said = client(["unmapped", "--", "ids"]);
    if able(&said) {
        // All that is not mapped, /dev/null's owner as well, is one number (user_namespaces(7)).
        assert!(said.value("error").contains("superuser"), "{said:?}");
    }
}

/// One of the two ids is enough.
#[test]
fn whose_group_owns_the_null_device_is_the_superuser() {
    if !is_root() {
        return skip("only root can become somebody else in root's group");
    }
    for (ids, refused) in [("12345:0", true), ("12345:12345", false)] {
        let said = client([&format!("ids={ids}"), "--", "ids"]);
        if able(&said) {
            assert_eq!(
                said.stdout.contains("superuser"),
                refused,
                "{ids}: {said:?}"
            );
        }
    }
}

#[test]
fn a_null_device_that_is_none() {
    let directory = directory();
    let file = directory.path().join("null");
    std::fs::write(&file, "").unwrap();
    share(&file, 0o666);
    // A file, and another device.
    for fake in [file.to_str().unwrap(), "/dev/zero"] {
        let user = format!("user={0}:{0}", outside());
        let said = client([
            user.as_str(),
            "mount-namespace",
            &format!("null={fake}"),
            "--",
            "ids",
        ]);
        if able(&said) {
            assert!(
                said.value("error")
                    .contains("/dev/null is not the null device"),
                "{said:?}"
            );
        }
    }
}

#[test]
fn no_executable_to_start() {
    let missing = millibox::Supervisor::builder()
        .executable("/no/such/supervisor")
        .start();
    assert!(missing.is_err_and(|error| error.to_string().contains("/no/such/supervisor")));
    let other = millibox::Supervisor::builder()
        .executable("/bin/true")
        .start();
    assert!(
        other.is_err_and(|error| matches!(error, Error::Start(StartError::NotSupervisor { .. })))
    );
}

#[test]
fn a_place_for_cgroups_that_is_not_there() {
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
