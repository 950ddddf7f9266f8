//! Network namespaces: without interfaces, or with a loopback interface.

use crate::{builder, supervisor};
use millibox::{Mount, Network, Outcome, Request, Supervisor, World};
use millibox_tests::{pipe, read_line, request, run, run_probe, skip, start, wait};
use std::collections::BTreeSet;

fn loopback() -> World {
    World::minimal().network(Network::Loopback)
}

#[test]
fn run_without_network_reaches_no_address() {
    let supervisor = supervisor();
    // The default profile rejects these sockets, but the namespace isolates the run even without
    // it.
    let bare = World::minimal().without_seccomp();
    for (host, port) in [
        ("127.0.0.1", "80"),
        ("10.0.0.1", "53"),
        ("8.8.8.8", "53"),
        ("::1", "80"),
        ("2001:db8::1", "80"),
    ] {
        let errno = run_probe(&supervisor, &["connect", host, port]).number("errno");
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
    let output = run_probe(&supervisor, &["interfaces"]);
    assert_eq!(
        (output.number("count"), output.value("up").as_str()),
        (0, "")
    );
    let output = run(&supervisor, &request(["interfaces"]).world(&bare));
    assert_eq!(
        (output.number("count"), output.value("up").as_str()),
        (1, "")
    );
}

#[test]
fn run_cannot_reach_services_of_the_client() {
    // The server listens on the host's loopback and on an abstract socket.
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
fn loopback_serves_connections() {
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
        // No other address is reachable.
        let outside = run(
            &supervisor,
            &request(["connect", "8.8.8.8", "53"]).world(&loopback()),
        );
        assert_eq!(outside.number("errno"), i64::from(libc::ENETUNREACH));
    }
}

#[test]
fn runs_with_loopback_cannot_reach_each_other() {
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
    // The other run can use the same port.
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
fn port_is_free_for_the_next_run() {
    let supervisor = start(builder().slots(1));
    for _ in 0..5 {
        // In the same namespace, the port would be in TIME_WAIT.
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
fn run_after_a_run_with_loopback_has_no_network() {
    let supervisor = start(builder().slots(1));
    let bare = World::minimal().without_seccomp();
    for _ in 0..4 {
        let output = run(&supervisor, &request(["interfaces"]).world(&loopback()));
        assert_eq!(output.value("up"), "lo");
        for _ in 0..2 {
            assert_eq!(run_probe(&supervisor, &["interfaces"]).value("up"), "");
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
fn socket_option_memory_limit_is_20_kib() {
    let supervisor = supervisor();
    for network in [Network::None, Network::Loopback] {
        let world = millibox_tests::world_with_proc().network(network);
        let output = run(
            &supervisor,
            &request(["cat", "/proc/sys/net/core/optmem_max"]).world(&world),
        );
        if output.result.outcome != Outcome::Exited(0) {
            // Before Linux 6.8, the host's value applies, which is 20 KiB.
            return millibox_tests::skip(
                "this kernel has no net.core.optmem_max for each network namespace",
            );
        }
        let sys = rustix::fs::statvfs("/proc/sys").unwrap();
        if sys.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
            return millibox_tests::skip("/proc/sys is read-only here, as in containers");
        }
        assert_eq!(output.text().trim(), "20480", "{network:?}");
    }
}

/// The network namespaces of successive runs with loopback.
fn namespaces(supervisor: &Supervisor, script: &str) -> BTreeSet<String> {
    let world = World::standard().network(Network::Loopback);
    let script = format!("readlink /proc/self/ns/net; {script}");
    (0..20)
        .map(|_| {
            let request = Request::new("/bin/sh").args(["-c", &script]).world(&world);
            let output = supervisor.output(&request, 1 << 20).unwrap();
            assert_eq!(output.result.outcome, Outcome::Exited(0), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        })
        .collect()
}

#[test]
fn no_setting_of_the_network_can_be_changed() {
    let supervisor = supervisor();
    for network in [Network::None, Network::Loopback] {
        let world = millibox_tests::world_with_proc().network(network);
        let world = ["/usr", "/bin", "/lib", "/lib64"]
            .into_iter()
            .filter(|path| std::path::Path::new(path).exists())
            .fold(world, |world, path| {
                world.mount(Mount::read_only(path, path))
            });
        let script = "cd /proc/sys/net && find . -type f | wc -l && find . -type f -writable";
        let request = Request::new("/bin/sh").args(["-c", script]).world(&world);
        let output = supervisor.output(&request, 1 << 20).unwrap();
        assert_eq!(output.result.outcome, Outcome::Exited(0), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let (count, writable) = text.split_once('\n').unwrap();
        assert!(
            count.trim().parse::<u32>().unwrap() > 10,
            "{network:?}: {text}"
        );
        assert_eq!(writable, "", "{network:?}");
    }
}

/// On a busy machine a runner may leave a namespace whose Unix sockets take long to close.
mod alone {
    use super::*;

    #[test]
    fn namespace_is_kept_until_a_run_asks_for_a_socket() {
        let supervisor = start(builder().slots(1));
        let kept = namespaces(&supervisor, "true").len();
        if kept == 20 {
            return skip("the kernel gives the zygote no seccomp listener");
        }
        // Each runner of the slot has one.
        assert!(kept <= 4, "{kept}");
        if !std::path::Path::new("/usr/bin/perl").exists() {
            return skip("perl is not installed");
        }
        // AF_INET and AF_INET6, streams and datagrams.
        for arguments in ["2, 1, 0", "2, 2, 0", "10, 1, 0", "10, 2, 0"] {
            let script = format!("perl -e 'socket(my $socket, {arguments}) or die'");
            let found = namespaces(&supervisor, &script).len();
            // The kernel soon uses the number of a namespace again.
            assert!(found > 8, "{arguments}: {found}");
        }
        // A Unix socket, and one of AF_PACKET, which the policy refuses.
        for script in [
            "socket(my $socket, 1, 1, 0) or die",
            "socket(my $socket, 17, 3, 0) and die",
        ] {
            let found = namespaces(&supervisor, &format!("perl -e '{script}'")).len();
            assert!(found <= 4, "{script}: {found}");
        }
    }
}
