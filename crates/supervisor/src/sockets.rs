//! What sockets hold that no cgroup is charged for: connections that nobody has accepted, answers
//! of netlink that nobody has read, datagrams that are never sent, what waits in queues of errors.
//!
//! The kernel charges a TCP connection to the cgroup of whoever accepts it (`__inet_accept()` in
//! net/ipv4/af_inet.c, Linux 6.13). Until then it is made when a packet arrives, in nobody's name,
//! and what is sent to it counts for nobody either. With a backlog of 4096 (`net.core.somaxconn`)
//! one listening socket so holds some hundred MiB beyond every limit. A netlink socket keeps
//! answers for as much as its buffer is large, some MiB, and a UDP socket the beginning of a
//! datagram, up to 64 KiB, for neither of which anybody is charged. The default profile allows
//! these where there is a loopback interface, and nowhere else.
//!
//! A protocol's number of sockets is that of those that can be found by an address. One that was
//! reset before it was accepted, or that has let go of its address (connect(2) to AF_UNSPEC), holds
//! what it held and is not in it; but it is in the number of all sockets of the namespace.
//!
//! So the zygote makes the buffers of connections small, which those that are accepted and read
//! outgrow as always, and hands the supervisor files that count a run's sockets and what those of
//! netlink hold. If that is, or could be, more than the run's memory limit, it ends by it.

use crate::sys::ascii::keyed_number;
use crate::sys::{Result, calls};
use crate::{launch, runner};
use std::os::fd::OwnedFd;

/// `net.ipv4.tcp_rmem` (tcp(7)): least and first size of a receive buffer, and the most that it
/// grows to when it is read.
const TCP_RECEIVE_BUFFER_SIZES: &[u8] = b"4096 16384 131072";
/// `net.core.optmem_max`: what options of a socket, and control messages of a sender, may take; of
/// each namespace since Linux 6.8. As it was before.
const MAX_OPTION_BYTES: &[u8] = b"20480";
/// `net.ipv4.tcp_max_tw_buckets`: remains of closed connections, 256 bytes each, which nobody is
/// charged for either.
const MAX_TIME_WAIT_SOCKETS: &[u8] = b"4096";

/// What the buffers of a connection may hold that nobody reads: that of a small one and a packet.
const SMALL_CONNECTION_BYTES: u64 = 24 << 10;
/// The same where the buffers could not be made smaller than the kernel's own 128 KiB.
const LARGE_CONNECTION_BYTES: u64 = 160 << 10;

/// How long after one look the next follows.
const SCAN_INTERVAL_NS: u64 = 10_000_000;
/// How many times as long as a look takes we do something else before the next one.
const SCAN_PAUSE_FACTOR: u64 = 20;

/// More sockets of netlink are not looked at one by one: each page of the list takes the kernel a
/// walk through all before it.
const MAX_LISTED_SOCKETS: u64 = 128;
/// What one of those may hold: its receive buffer (`net.core.rmem_default`) and an answer more.
const NETLINK_SOCKET_BYTES: u64 = (208 + 48) << 10;
/// Nor is more read of any of the files: there may be a hundred thousand sockets by the time that
/// the list of a few is read, which would take the better part of a minute. A line of
/// /proc/net/netlink has some 100 bytes.
const MAX_LIST_BYTES: usize = 2 * MAX_LISTED_SOCKETS as usize * 100;

/// What a UDP socket may hold: of a datagram that is begun and not sent (`MSG_MORE`, send(2)) 64
/// KiB; in its queue of errors as much as its receive buffer is at first (`net.core.rmem_default`);
/// and groups that it has joined, 56 bytes each of its options and some 280 of the interface's
/// (`struct ifmcaddr6`).
const UDP_SOCKET_BYTES: u64 = (64 + 208 + 104) << 10;

/// In a fresh network namespace: a sender that waits holds as much in control messages (cmsg(3)),
/// which nobody is charged for; Linux 6.8 made it 128 KiB, and so for each namespace.
pub fn limit_options(procfs: i32) {
    let _ = calls::write_file(procfs, c"sys/net/core/optmem_max", MAX_OPTION_BYTES);
}

/// Connections over Unix sockets that nobody has accepted: each keeps some 900 bytes that nobody is
/// charged for, and one listening socket may have 4,096 of them (`net.core.somaxconn`; 128 before
/// Linux 5.4).
pub fn limit_backlogs(procfs: i32) {
    let _ = calls::write_file(procfs, c"sys/net/core/somaxconn", b"128");
}

/// Zygote, in a fresh network namespace: makes buffers small, and hands over the files that count.
pub fn send_files(runner: &runner::Runner) -> Result<()> {
    let set = |file, value| calls::write_file(runner.procfs, file, value).is_ok();
    // In a container /proc/sys may be read-only: then each connection is taken for a large one.
    let small = set(c"sys/net/ipv4/tcp_rmem", TCP_RECEIVE_BUFFER_SIZES);
    let _ = set(c"sys/net/ipv4/tcp_max_tw_buckets", MAX_TIME_WAIT_SOCKETS);
    limit_options(runner.procfs);
    let open = |path| calls::openat(runner.procfs, path, libc::O_RDONLY, 0);
    let mut files = [-1; FILE_COUNT];
    let opened = [
        c"self/net/protocols",
        c"self/net/netlink",
        c"self/net/sockstat",
    ]
    .into_iter()
    .zip(&mut files);
    let answer = opened
        .into_iter()
        .try_for_each(|(path, file)| open(path).map(|fd| *file = fd))
        .and_then(|()| {
            calls::send_descriptors(
                runner.socket,
                &[launch::message::SOCKETS, u8::from(small)],
                &files,
            )
        });
    for file in files.into_iter().filter(|&file| file >= 0) {
        let _ = calls::close(file);
    }
    answer
}

/// How often the zygote looks whether the sockets of a run are gone: for 60 ms.
const MAX_EMPTY_CHECKS: u32 = 100;
/// Time between two looks at first; later more.
const EMPTY_CHECK_PAUSE_NS: u32 = 200_000;
/// After so many looks the time between them is longer by [`EMPTY_CHECK_PAUSE_NS`].
const CHECKS_PER_PAUSE_STEP: u32 = 20;

/// Zygote, when a run is over: nothing that it left in sockets can be reached by the next one, or
/// the answer is an error.
///
/// Sockets that are on their way through each other outlive who made them, with all else that is on
/// its way there: memory, and names that the next run in the namespace could call. The kernel looks
/// for such when a socket of this family is closed (`unix_gc()` in net/unix/garbage.c), and a work
/// queue lets go of them, a moment later; of gigabytes, half a second.
///
/// A socket that lies in a socket of the caller's, such as the run's standard input, stays until
/// the caller receives or closes it. So the runner does not wait for long: it takes a fresh network
/// namespace, where the names of the old one do not exist.
pub fn clear(runner: &runner::Runner, loopback: bool) -> Result<()> {
    if loopback {
        // Nobody else will have this namespace; its connections take their time to end.
        return trigger_collection();
    }
    let mut buffer = [0; 64];
    for look in 0..MAX_EMPTY_CHECKS {
        // A file that says nothing says no number.
        if keyed_number(
            calls::read_at_start(runner.sockstat, &mut buffer)?,
            b"sockets: used",
        ) == Some(0)
        {
            return Ok(());
        }
        let _ = trigger_collection();
        calls::sleep_ns(EMPTY_CHECK_PAUSE_NS * (1 + look / CHECKS_PER_PAUSE_STEP));
    }
    renew_namespace(runner)
}

/// Zygote: a fresh network namespace in place of the one that runs without network have had so far.
fn renew_namespace(runner: &runner::Runner) -> Result<()> {
    calls::unshare(libc::CLONE_NEWNET)?;
    limit_options(runner.procfs);
    limit_backlogs(runner.procfs);
    // The table of descriptors is the runner's, too, and its numbers stay.
    for (path, place) in [
        (c"self/ns/net", runner.network),
        (c"self/net/sockstat", runner.sockstat),
    ] {
        let fresh = calls::openat(runner.procfs, path, libc::O_RDONLY, 0)?;
        let replaced = calls::dup3(fresh, place, libc::O_CLOEXEC);
        let _ = calls::close(fresh);
        replaced?;
    }
    Ok(())
}

/// Zygote, at its start: in the namespace that runs without network have, which may not be the
/// runner's own any more.
pub fn enter_namespace(runner: &runner::Runner) -> Result<()> {
    calls::setns(runner.network, libc::CLONE_NEWNET).map(drop)
}

/// Closes a socket.
fn trigger_collection() -> Result<()> {
    calls::socket(libc::AF_UNIX, libc::SOCK_DGRAM).and_then(|fd| calls::close(fd).map(drop))
}

/// How many files are handed over: /proc/net/protocols, netlink, sockstat.
pub const FILE_COUNT: usize = 3;

/// A run's sockets, for the supervisor.
pub struct Sockets {
    /// /proc/net/protocols
    protocols: OwnedFd,
    /// /proc/net/netlink
    netlink: OwnedFd,
    /// /proc/net/sockstat
    sockstat: OwnedFd,
    /// What one connection holds at most, besides itself.
    connection: u64,
    /// When to look next (`CLOCK_MONOTONIC_RAW`).
    pub scan_at_ns: u64,
}

impl Sockets {
    /// Takes over what the zygote hands over.
    pub fn new([protocols, netlink, sockstat]: [OwnedFd; FILE_COUNT], small: bool) -> Sockets {
        Sockets {
            protocols,
            netlink,
            sockstat,
            connection: if small {
                SMALL_CONNECTION_BYTES
            } else {
                LARGE_CONNECTION_BYTES
            },
            scan_at_ns: 0,
        }
    }

    /// Bytes that they hold, or may hold, beyond what the run is charged for.
    pub fn scan(&mut self) -> u64 {
        let before = calls::thread_cpu_ns();
        // A read that fails, for want of memory or because there is too much, is done again soon.
        let all = || read(&self.sockstat).map_or(0, |sockstat| count_used(&sockstat));
        let used = all();
        let protocols = read(&self.protocols).unwrap_or_default();
        // Others come and go meanwhile, for longer if we are kept from our CPU: they are not lost.
        let used = used.min(all());
        let answers = match count_sockets(&protocols, "NETLINK") {
            0 => 0,
            few @ 1..=MAX_LISTED_SOCKETS => read(&self.netlink)
                .map_or(few * NETLINK_SOCKET_BYTES, |netlink| unread_bytes(&netlink)),
            many => many.saturating_mul(NETLINK_SOCKET_BYTES),
        };
        // Of our own time: a look that was interrupted by who computes would make the next one
        // late, and the run holds more by then.
        let took = calls::thread_cpu_ns().saturating_sub(before);
        self.scan_at_ns = calls::monotonic_raw_ns()
            .saturating_add(SCAN_INTERVAL_NS.max(took.saturating_mul(SCAN_PAUSE_FACTOR)));
        held_bytes(&protocols, used, self.connection).saturating_add(answers)
    }
}

fn read(file: &OwnedFd) -> rustix::io::Result<String> {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while text.len() <= MAX_LIST_BYTES {
        match rustix::io::pread(file, &mut buffer, text.len() as u64) {
            Ok(0) => return Ok(String::from_utf8_lossy(&text).into_owned()),
            Ok(length) => text.extend_from_slice(buffer.get(..length).unwrap_or(&[])),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(rustix::io::Errno::FBIG)
}

/// Lines of /proc/net/protocols: name, size of a socket, number of sockets in this namespace; there
/// is more in them.
fn parse_protocols(protocols: &str) -> impl Iterator<Item = (&str, u64, u64)> {
    protocols.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((
            words.next()?,
            words.next()?.parse().ok()?,
            words.next()?.parse().ok()?,
        ))
    })
}

fn count_sockets(protocols: &str, wanted: &str) -> u64 {
    parse_protocols(protocols)
        .filter(|(name, ..)| *name == wanted)
        .map(|(.., sockets)| sockets)
        .sum()
}

/// All sockets of the namespace: the first line of /proc/net/sockstat.
fn count_used(sockstat: &str) -> u64 {
    let number = |line: &str| line.strip_prefix("sockets: used ")?.trim().parse().ok();
    sockstat.lines().find_map(number).unwrap_or(0)
}

/// What sockets may hold, if there are `used` of them and each connection holds so much besides
/// itself.
fn held_bytes(protocols: &str, used: u64, connection: u64) -> u64 {
    let found =
        parse_protocols(protocols).fold(0, |sum: u64, (.., sockets)| sum.saturating_add(sockets));
    // Each may be of the kind that holds most.
    let lost = used
        .saturating_sub(found)
        .saturating_mul(UDP_SOCKET_BYTES.max(connection));
    parse_protocols(protocols).fold(lost, |sum, (name, size, sockets)| {
        let each = match name {
            "TCP" | "TCPv6" | "MPTCP" | "MPTCPv6" | "SCTP" | "SCTPv6" => {
                size.saturating_add(connection)
            }
            "UDP" | "UDPv6" => UDP_SOCKET_BYTES,
            _ => 0,
        };
        sockets.saturating_mul(each).saturating_add(sum)
    })
}

/// The sum of what waits to be read from netlink sockets: the fifth column of /proc/net/netlink.
fn unread_bytes(netlink: &str) -> u64 {
    let of_line = |line: &str| line.split_whitespace().nth(4)?.parse::<u64>().ok();
    netlink
        .lines()
        .filter_map(of_line)
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::{MAX_LIST_BYTES, count_sockets, count_used, held_bytes, read, unread_bytes};
    use std::io::Write;

    #[test]
    fn connections_of_every_protocol_count_with_their_buffers() {
        let text = "protocol  size sockets  memory press maxhdr  slab module     cl co\n\
                    UNIX      1152    100      -1   NI       0   yes  kernel      y  n\n\
                    TCPv6     2432      1     338   no     192   yes  kernel      y  y\n\
                    TCP       2304      3     338   no     192   yes  kernel      y  y\n\
                    UDP       1344      7       0   NI       0   yes  kernel      y  y\n";
        assert_eq!(
            held_bytes(text, 111, 1000),
            3432 + 3 * 3304 + 7 * 376 * 1024
        );
        assert_eq!(held_bytes("", 0, 1000), 0);
        // Those without an address, whatever they are.
        assert_eq!(
            held_bytes(text, 113, 1000),
            held_bytes(text, 111, 1000) + 2 * 376 * 1024
        );
        assert_eq!(
            count_used("sockets: used 113\nTCP: inuse 2 orphan 0 tw 0 alloc 6 mem 1\n"),
            113
        );
        assert_eq!(
            (count_sockets(text, "UNIX"), count_sockets(text, "NETLINK")),
            (100, 0)
        );
    }

    #[test]
    fn what_waits_in_netlink_sockets_is_added_up() {
        let text = "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n\
                    00000000209581e9 0   0          00000000 0        0        0     2        0        4\n\
                    00000000697b4311 0   4711       00000000 4608000  0        0     2        0        1594\n\
                    000000002742b55c 0   4712       00000000 1000     7        0     2        0        1596\n";
        assert_eq!(unread_bytes(text), 4_609_000);
    }

    #[test]
    fn a_list_that_has_become_long_is_not_read_to_its_end() {
        let memory = rustix::fs::memfd_create(c"list", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut list = std::fs::File::from(memory);
        list.write_all(&vec![b'x'; MAX_LIST_BYTES]).unwrap();
        let list = std::os::fd::OwnedFd::from(list);
        assert_eq!(read(&list).unwrap().len(), MAX_LIST_BYTES);
        let mut list = std::fs::File::from(list);
        list.write_all(b"x").unwrap();
        assert_eq!(read(&list.into()), Err(rustix::io::Errno::FBIG));
    }
}
