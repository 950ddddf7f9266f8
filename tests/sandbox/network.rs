//! Network namespaces: none, or a loopback interface of the run's own.

use crate::{builder, supervisor};
use millibox::{Network, Outcome, World};
use millibox_tests::{pipe, probe_run, read_line, request, run, start, wait};

fn loopback() -> World {
    World::minimal().network(Network::Loopback)
}

#[test]
fn without_network_nothing_can_be_reached() {
    let supervisor = supervisor();
    // The default profile refuses the sockets; it is not the wall.
    let bare = World::minimal().without_seccomp();
    for (host, port) in [
        ("127.0.0.1", "80"),
        ("10.0.0.1", "53"),
        ("8.8.8.8", "53"),
        ("::1", "80"),
        ("2001:db8::1", "80"),
    ] {
        let errno = probe_run(&supervisor, &["connect", host, port]).number("errno");
        assert_eq!(errno, i64::from(libc::EAFNOSUPPORT), "{host}");
        let errno =
            run(&supervisor, &request(["connect", host, port]).world(&bare)).number("errno");
        assert!(
            [libc::ENETUNREACH, libc::EADDRNOTAVAIL].contains(&(errno as i32)),
            "{host}: {errno}"
        );
        assert!(
            host.contains(':') || errno == i64::from(libc::ENETUNREACH),
            "{host}: {errno}"
        );
    }
    let output = probe_run(&supervisor, &["interfaces"]);
    assert_eq!(
        (output.number("there"), output.value("up").as_str()),
        (0, "")
    );
    let output = run(&supervisor, &request(["interfaces"]).world(&bare));
    assert_eq!(
        (output.number("there"), output.value("up").as_str()),
        (1, "")
    );
}

#[test]
fn the_clients_services_cannot_be_reached() {
    // A server on the host's loopback and on an abstract socket.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    let name = millibox_tests::token();
    let address =
        <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
            &name,
        )
        .unwrap();
    let _local = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let supervisor = supervisor();
    for world in [World::minimal(), loopback()] {
        assert_ne!(
            run(
                &supervisor,
                &request(["connect", "127.0.0.1", &port]).world(&world)
            )
            .number("errno"),
            0
        );
        let errno = run(
            &supervisor,
            &request(["abstract-connect", &name]).world(&world),
        )
        .number("errno");
        assert_eq!(errno, i64::from(libc::ECONNREFUSED));
    }
}

#[test]
fn loopback_works() {
    let supervisor = supervisor();
    for _ in 0..3 {
        for host in ["127.0.0.1", "::1", "127.3.2.1"] {
            let output = run(&supervisor, &request(["serve", host]).world(&loopback()));
            assert_eq!(
                (output.number("bytes"), output.number("errno")),
                (5, 0),
                "{host}"
            );
        }
        let output = run(&supervisor, &request(["interfaces"]).world(&loopback()));
        assert_eq!(output.value("up"), "lo");
        // And nothing beyond it.
        let outside = run(
            &supervisor,
            &request(["connect", "8.8.8.8", "53"]).world(&loopback()),
        );
        assert_eq!(outside.number("errno"), i64::from(libc::ENETUNREACH));
    }
}

#[test]
fn two_runs_with_loopback_never_meet() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    let server = request(["listen", "127.0.0.1", "5555", "100000"])
        .world(&loopback())
        .stdout(write);
    let server_handle = supervisor.run(&server).unwrap();
    drop(server);
    assert_eq!(read_line(&read), "ready");
    let client = run(
        &supervisor,
        &request(["connect", "127.0.0.1", "5555"]).world(&loopback()),
    );
    assert_eq!(client.number("errno"), i64::from(libc::ECONNREFUSED));
    // The same port is free to the other.
    let second = run(
        &supervisor,
        &request(["listen", "127.0.0.1", "5555", "0"]).world(&loopback()),
    );
    assert_eq!(second.text(), "ready\n");
    assert!(server_handle.try_wait().unwrap().is_none());
    server_handle.kill();
    assert_eq!(wait(&server_handle).outcome, Outcome::Killed);
}

#[test]
fn a_port_is_free_in_the_next_run() {
    let supervisor = start(builder().slots(1));
    for _ in 0..5 {
        // In TIME_WAIT, if it were the same namespace.
        assert_eq!(
            run(
                &supervisor,
                &request(["serve", "127.0.0.1"]).world(&loopback())
            )
            .number("bytes"),
            5
        );
        assert_eq!(
            run(
                &supervisor,
                &request(["listen", "127.0.0.1", "4444", "0"]).world(&loopback())
            )
            .text(),
            "ready\n"
        );
    }
}

#[test]
fn after_loopback_there_is_none() {
    let supervisor = start(builder().slots(1));
    let bare = World::minimal().without_seccomp();
    for _ in 0..4 {
        let output = run(&supervisor, &request(["interfaces"]).world(&loopback()));
        assert_eq!(output.value("up"), "lo");
        for _ in 0..2 {
            assert_eq!(probe_run(&supervisor, &["interfaces"]).value("up"), "");
            let errno = run(
                &supervisor,
                &request(["connect", "127.0.0.1", "80"]).world(&bare),
            )
            .number("errno");
            assert_eq!(errno, i64::from(libc::ENETUNREACH));
        }
    }
}

#[test]
fn a_sender_that_waits_holds_little_that_nobody_is_charged_for() {
    let supervisor = supervisor();
    for network in [Network::None, Network::Loopback] {
        let world = millibox_tests::world_with_proc().network(network);
        let output = run(
            &supervisor,
            &request(["cat", "/proc/sys/net/core/optmem_max"]).world(&world),
        );
        if output.result.outcome != Outcome::Exited(0) {
            // Before Linux 6.8 it is the host's, and has been 20 KiB.
            return millibox_tests::skip(
                "net.core.optmem_max is not a network namespace's own here",
            );
        }
        let sys = rustix::fs::statvfs("/proc/sys").unwrap();
        if sys.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
            return millibox_tests::skip("/proc/sys cannot be written here, as in containers");
        }
        assert_eq!(output.text().trim(), "20480", "{network:?}");
    }
}
