//! Counts the memory of sockets that the kernel charges to no cgroup.
//!
//! This memory belongs to connections that are not accepted, netlink answers that are not read,
//! datagrams that are never sent, and messages in error queues.
//!
//! The kernel charges a TCP connection to the cgroup of the process that accepts it
//! (`__inet_accept()` in net/ipv4/af_inet.c, Linux 6.13). Until then neither the connection, which
//! the kernel creates when a packet arrives, nor the data sent to it is charged. With a backlog of
//! 4096 (`net.core.somaxconn`) one listening socket can hold hundreds of MiB beyond every limit. A
//! netlink socket keeps answers up to the size of its buffer, which is several MiB. A UDP socket
//! keeps the beginning of a datagram, up to 64 KiB. Neither is charged. The default profile allows
//! these sockets only with a loopback interface.
//!
//! The number of sockets of a protocol counts only sockets that have an address. It does not count
//! a connection that was reset before it was accepted, or a socket that has given up its address
//! (connect(2) to AF_UNSPEC). Such a socket still holds its memory and is included in the total
//! number of sockets of the namespace.
//!
//! So the zygote makes the buffers of connections small. Connections that are accepted and read
//! outgrow this size as usual. The zygote also sends the supervisor files that count the run's
//! sockets and the memory of its netlink sockets. If the memory exceeds, or could exceed, the run's
//! memory limit, the run ends by that limit.
//!
//! All network namespaces of the host share the memory of TCP and of UDP (`net.ipv4.tcp_mem`,
//! `udp_mem`). When it is used up, the kernel shrinks the buffers of every connection and drops
//! data. A memory cgroup bounds only its own part, and the backend `rlimit` has none. The kernel
//! does not count this memory for each namespace. The supervisor therefore estimates a run's part:
//! at most the memory of the whole host, and at most the maximum buffers of the run's sockets. A
//! run also ends if its part could exceed a share of the machine's memory.

use crate::launch;
use crate::prepared::{Runner, SOCKET_FILE_COUNT};
use crate::sys::ascii::keyed_number;
use crate::sys::{Result, calls};
use std::os::fd::OwnedFd;

/// `net.ipv4.tcp_rmem` (tcp(7)): the minimum and initial sizes of a receive buffer, and the maximum
/// to which it grows when it is read.
const TCP_RECEIVE_BUFFER_SIZES: &[u8] = b"4096 16384 131072";
/// `net.ipv4.tcp_wmem` (tcp(7)): the same sizes of a send buffer. Without a maximum of its own, it
/// would grow to 4 MiB for data that no process reads.
const TCP_SEND_BUFFER_SIZES: &[u8] = b"4096 16384 262144";
/// `net.core.optmem_max`: the bound on the options of a socket and on the control messages of a
/// sender. Each namespace has its own since Linux 6.8; this is the default of earlier versions.
const MAX_OPTION_BYTES: &[u8] = b"20480";
/// `net.ipv4.tcp_max_tw_buckets`: the number of closed connections that the kernel keeps. Each
/// takes 256 bytes, which are not charged either.
const MAX_TIME_WAIT_SOCKETS: &[u8] = b"4096";

/// `net.core.somaxconn`: the number of connections that may wait at a run's listening socket if it
/// has a loopback interface. Servers ask for a few hundred, and the kernel's default is 4096. A
/// waiting connection over a Unix socket holds about 900 bytes that are not charged.
const MAX_BACKLOG: &[u8] = b"1024";

/// The maximum memory of a TCP socket: both buffers, and one packet of 64 KiB beyond each.
const SMALL_TCP_SOCKET_BYTES: u64 = (128 + 64 + 256 + 64) << 10;
/// The same with the kernel's maximum sizes of 6 and 4 MiB, if they could not be reduced.
const LARGE_TCP_SOCKET_BYTES: u64 = 10 << 20;
/// The maximum memory of a UDP socket that counts for `udp_mem`: the received data
/// (`net.core.rmem_default`) and one datagram beyond it.
const UDP_RECEIVED_BYTES: u64 = (208 + 64) << 10;
/// A run may hold this fraction of the machine's memory in buffers of TCP, and as much in buffers
/// of UDP. By default, the kernel begins to shrink buffers at a sixteenth for TCP.
const SHARED_MEMORY_DIVISOR: u64 = 64;

/// The maximum unread data of a connection with a small buffer, which is the buffer and one packet.
const SMALL_CONNECTION_BYTES: u64 = 24 << 10;
/// The maximum unread data of a connection if the kernel's initial size of 128 KiB could not be
/// reduced.
const LARGE_CONNECTION_BYTES: u64 = 160 << 10;

/// The time between two scans.
const SCAN_INTERVAL_NS: u64 = 10_000_000;
/// The supervisor pauses for the duration of the scan multiplied by this number.
const SCAN_PAUSE_FACTOR: u64 = 20;

/// If a run has more netlink sockets than this, they are not read one by one. For each page of the
/// list the kernel walks through all entries before it.
const MAX_LISTED_SOCKETS: u64 = 128;
/// The maximum amount that a netlink socket holds: its receive buffer (`net.core.rmem_default`) and
/// one answer.
const NETLINK_SOCKET_BYTES: u64 = (208 + 48) << 10;
/// The bound on the bytes read from each file. A hundred thousand sockets may appear while a short
/// list is read, and reading all of them would take most of a minute. A line of /proc/net/netlink
/// has about 100 bytes.
const MAX_LIST_BYTES: usize = 2 * MAX_LISTED_SOCKETS as usize * 100;

/// The maximum amount that a UDP socket holds. It is the sum of 64 KiB of a datagram that was begun
/// but not sent (`MSG_MORE`, send(2)), an error queue as large as the initial receive buffer
/// (`net.core.rmem_default`), and the groups that the socket has joined. Each group takes 56 bytes
/// of the socket's options and about 280 bytes of the interface (`struct ifmcaddr6`).
const UDP_SOCKET_BYTES: u64 = (64 + 208 + 104) << 10;

/// Limits the control messages (cmsg(3)) of waiting senders in a fresh network namespace, because
/// these messages are not charged. Linux 6.8 raised the default of each namespace to 128 KiB.
pub fn limit_options(procfs: i32) {
    let _ = calls::write_file(procfs, c"sys/net/core/optmem_max", MAX_OPTION_BYTES);
}

/// Limits the connections over Unix sockets that wait to be accepted. Each holds about 900 bytes
/// that are not charged, and one listening socket may have 4,096 of them (`net.core.somaxconn`; 128
/// before Linux 5.4).
pub fn limit_backlogs(procfs: i32) {
    let _ = calls::write_file(procfs, c"sys/net/core/somaxconn", b"128");
}

/// Makes buffers small in a fresh network namespace. Returns whether that worked: in a container
/// /proc/sys may be read-only, and each connection then counts as a large one.
pub fn limit_buffers(runner: &Runner) -> bool {
    let set = |file, value| calls::write_file(runner.procfs, file, value).is_ok();
    let is_small = set(c"sys/net/ipv4/tcp_rmem", TCP_RECEIVE_BUFFER_SIZES)
        & set(c"sys/net/ipv4/tcp_wmem", TCP_SEND_BUFFER_SIZES);
    let _ = set(c"sys/net/core/somaxconn", MAX_BACKLOG);
    let _ = set(c"sys/net/ipv4/tcp_max_tw_buckets", MAX_TIME_WAIT_SOCKETS);
    limit_options(runner.procfs);
    is_small
}

/// Opens the files that count the sockets in the network namespace of the caller: protocols,
/// netlink and, as the last one, sockstat.
pub fn open_files(runner: &Runner) -> Result<[i32; SOCKET_FILE_COUNT]> {
    let mut files = [-1; SOCKET_FILE_COUNT];
    let paths = [
        c"self/net/protocols",
        c"self/net/netlink",
        c"self/net/sockstat",
    ];
    for (path, file) in paths.into_iter().zip(&mut files) {
        match calls::openat(runner.procfs, path, libc::O_RDONLY, 0) {
            Ok(fd) => *file = fd,
            Err(errno) => {
                calls::close_present(files);
                return Err(errno);
            }
        }
    }
    Ok(files)
}

/// Makes buffers small and sends the supervisor the files that count sockets, in the fresh network
/// namespace of a single run.
pub fn prepare(runner: &Runner) -> Result<()> {
    let are_small = limit_buffers(runner);
    let files = open_files(runner)?;
    let sent = send_files(runner, files, are_small);
    calls::close_present(files);
    sent
}

/// Sends the supervisor the files of [`open_files`] for the next run.
pub fn send_files(runner: &Runner, files: [i32; SOCKET_FILE_COUNT], are_small: bool) -> Result<()> {
    let message = [launch::message::SOCKETS, u8::from(are_small)];
    calls::send_descriptors(runner.socket, &message, &files)
}

/// The number of times that the zygote checks whether a run has left sockets, over 60 ms in total.
const MAX_EMPTY_CHECKS: u32 = 100;
/// The initial pause between two checks.
const EMPTY_CHECK_PAUSE_NS: u32 = 200_000;
/// After this many checks the pause grows by [`EMPTY_CHECK_PAUSE_NS`].
const CHECKS_PER_PAUSE_STEP: u32 = 20;

/// Makes sure that the next run cannot reach anything that this run left in sockets. The zygote
/// calls this after a run.
///
/// Sockets in transit through each other outlive the process that created them. These sockets keep
/// memory, and names that the next run in the namespace could address. The kernel looks for such
/// sockets when a Unix socket is closed (`unix_gc()` in net/unix/garbage.c). A work queue releases
/// them a moment later, or half a second later for gigabytes.
///
/// A socket in transit in a socket of the caller, such as the run's standard input, stays until the
/// caller receives or closes it. So the zygote does not wait for long. Instead it creates a fresh
/// network namespace, in which the old names do not exist.
pub fn clear(runner: &Runner) -> Result<()> {
    match wait_until_none(runner.sockstat)? {
        true => Ok(()),
        false => renew_namespace(runner),
    }
}

/// Waits until a network namespace has no sockets, but not for long. Returns whether it has none.
/// `sockstat` is its file of that name in /proc/net.
pub fn wait_until_none(sockstat: i32) -> Result<bool> {
    let mut buffer = [0; 64];
    for look in 0..MAX_EMPTY_CHECKS {
        // A file without the number does not mean that the number is zero.
        if keyed_number(
            calls::read_at_start(sockstat, &mut buffer)?,
            b"sockets: used",
        ) == Some(0)
        {
            return Ok(true);
        }
        let _ = trigger_collection();
        calls::sleep_ns(EMPTY_CHECK_PAUSE_NS * (1 + look / CHECKS_PER_PAUSE_STEP));
    }
    Ok(false)
}

/// The number of sockets in the network namespace of runs without network access.
pub fn count(runner: &Runner) -> Result<u64> {
    let mut buffer = [0; 64];
    let text = calls::read_at_start(runner.sockstat, &mut buffer)?;
    Ok(keyed_number(text, b"sockets: used").unwrap_or(u64::MAX))
}

/// Replaces the network namespace of runs without network access with a fresh one. The zygote calls
/// this.
fn renew_namespace(runner: &Runner) -> Result<()> {
    calls::unshare(libc::CLONE_NEWNET)?;
    limit_options(runner.procfs);
    limit_backlogs(runner.procfs);
    // The zygote shares its descriptor table with the runner, and the numbers stay valid.
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

/// Enters the network namespace of runs without network access, which a zygote may have renewed.
/// The zygote calls this at its start.
pub fn enter_namespace(runner: &Runner) -> Result<()> {
    calls::setns(runner.network, libc::CLONE_NEWNET).map(drop)
}

/// Closes a Unix socket, so that the kernel looks for sockets in transit.
pub fn trigger_collection() -> Result<()> {
    calls::socket(libc::AF_UNIX, libc::SOCK_DGRAM).and_then(|fd| calls::close(fd).map(drop))
}

/// The sockets of a run, as the supervisor sees them.
pub struct Sockets {
    /// /proc/net/protocols
    protocols: OwnedFd,
    /// /proc/net/netlink
    netlink: OwnedFd,
    /// /proc/net/sockstat
    sockstat: OwnedFd,
    /// Whether the buffers of connections are small.
    small: bool,
    /// The bytes that a run may hold in buffers of TCP, and in buffers of UDP.
    share: u64,
    /// The time of the next scan (`CLOCK_MONOTONIC_RAW`).
    pub scan_at_ns: u64,
}

impl Sockets {
    /// Creates the state for the files that the zygote has sent.
    pub fn new(
        [protocols, netlink, sockstat]: [OwnedFd; SOCKET_FILE_COUNT],
        small: bool,
        share: u64,
    ) -> Sockets {
        Sockets {
            protocols,
            netlink,
            sockstat,
            small,
            share,
            scan_at_ns: 0,
        }
    }

    /// Scans the sockets, and returns whether the run must end. `limit` is its memory limit, and
    /// `charged` means that a cgroup enforces it for the memory that the kernel charges.
    pub fn exceed(&mut self, limit: Option<u64>, charged: bool) -> bool {
        self.scan().exceeds(limit, self.share, charged)
    }

    fn scan(&mut self) -> Held {
        let before = calls::thread_cpu_ns();
        // A read fails if memory is short or the list is too long. The next scan soon repeats it.
        let sockstat = || read(&self.sockstat).unwrap_or_default();
        let used = count_used(&sockstat());
        let protocols = read(&self.protocols).unwrap_or_default();
        // Sockets that open and close during the scan must not count as lost. Their number grows if
        // the supervisor is kept from its CPU.
        let sockstat = sockstat();
        let used = used.min(count_used(&sockstat));
        let answers = match count_sockets(&protocols, "NETLINK") {
            0 => 0,
            few @ 1..=MAX_LISTED_SOCKETS => read(&self.netlink)
                .map_or(few * NETLINK_SOCKET_BYTES, |netlink| unread_bytes(&netlink)),
            many => many.saturating_mul(NETLINK_SOCKET_BYTES),
        };
        // Only the supervisor's CPU time counts. If interruptions counted, the next scan would be
        // late, and the run would hold more memory by then.
        let took = calls::thread_cpu_ns().saturating_sub(before);
        self.scan_at_ns = calls::monotonic_raw_ns()
            .saturating_add(SCAN_INTERVAL_NS.max(took.saturating_mul(SCAN_PAUSE_FACTOR)));
        let mut held = held_bytes(&protocols, &sockstat, used, self.small);
        held.uncharged = held.uncharged.saturating_add(answers);
        held
    }
}

/// The memory of a run's sockets in bytes: upper bounds.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    /// The memory that the kernel charges to no cgroup.
    uncharged: u64,
    /// The part of the host's memory of TCP.
    tcp: u64,
    /// The part of the host's memory of UDP.
    udp: u64,
}

impl Held {
    fn exceeds(&self, limit: Option<u64>, share: u64, charged: bool) -> bool {
        let limit = limit.unwrap_or(u64::MAX);
        let is_above_limit = match charged {
            true => self.uncharged > limit,
            // The backend does not count the memory of the kernel, but the estimate for TCP is
            // close to what the run holds.
            false => self.tcp > limit,
        };
        is_above_limit || self.tcp > share || self.udp > share
    }
}

/// The bytes that a run may hold in buffers of TCP, and in buffers of UDP.
pub fn share_of_machine() -> u64 {
    let info = rustix::system::sysinfo();
    #[allow(
        clippy::useless_conversion,
        reason = "the type differs between targets"
    )]
    let bytes = u64::from(info.totalram).saturating_mul(info.mem_unit.into());
    bytes / SHARED_MEMORY_DIVISOR
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

/// Parses /proc/net/protocols: the name of a protocol, the size of a socket and the number of
/// sockets in this namespace. The other columns are ignored.
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

/// The number of all sockets of the namespace: the first line of /proc/net/sockstat.
fn count_used(sockstat: &str) -> u64 {
    let number = |line: &str| line.strip_prefix("sockets: used ")?.trim().parse().ok();
    sockstat.lines().find_map(number).unwrap_or(0)
}

/// The memory of the whole host in buffers of a protocol, in bytes: the pages at the end of its
/// line in /proc/net/sockstat.
fn host_bytes(sockstat: &str, protocol: &str) -> u64 {
    let pages = |line: &str| {
        let mut words = line.strip_prefix(protocol)?.split_whitespace();
        words.find(|word| *word == "mem")?;
        words.next()?.parse::<u64>().ok()
    };
    let pages = sockstat.lines().find_map(pages).unwrap_or(0);
    pages.saturating_mul(calls::page_bytes())
}

/// The memory that `used` sockets may hold, with small or large buffers of connections.
fn held_bytes(protocols: &str, sockstat: &str, used: u64, small: bool) -> Held {
    let (connection, tcp_socket) = match small {
        true => (SMALL_CONNECTION_BYTES, SMALL_TCP_SOCKET_BYTES),
        false => (LARGE_CONNECTION_BYTES, LARGE_TCP_SOCKET_BYTES),
    };
    let found =
        parse_protocols(protocols).fold(0, |sum: u64, (.., sockets)| sum.saturating_add(sockets));
    // Each lost socket may be of the kind that holds the most memory.
    let lost = used.saturating_sub(found);
    let (mut tcp, mut udp) = (lost, lost);
    let mut uncharged = lost.saturating_mul(UDP_SOCKET_BYTES.max(connection));
    for (name, size, sockets) in parse_protocols(protocols) {
        let each = match name {
            "TCP" | "TCPv6" | "MPTCP" | "MPTCPv6" | "SCTP" | "SCTPv6" => {
                tcp = tcp.saturating_add(sockets);
                size.saturating_add(connection)
            }
            "UDP" | "UDPv6" => {
                udp = udp.saturating_add(sockets);
                UDP_SOCKET_BYTES
            }
            _ => 0,
        };
        uncharged = sockets.saturating_mul(each).saturating_add(uncharged);
    }
    let part = |protocol, sockets: u64, each| {
        host_bytes(sockstat, protocol).min(sockets.saturating_mul(each))
    };
    Held {
        uncharged,
        tcp: part("TCP:", tcp, tcp_socket),
        udp: part("UDP:", udp, UDP_RECEIVED_BYTES),
    }
}

/// The bytes that wait to be read from netlink sockets: the fifth column of /proc/net/netlink.
fn unread_bytes(netlink: &str) -> u64 {
    let of_line = |line: &str| line.split_whitespace().nth(4)?.parse::<u64>().ok();
    netlink
        .lines()
        .filter_map(of_line)
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::{
        Held, LARGE_TCP_SOCKET_BYTES, MAX_LIST_BYTES, SMALL_TCP_SOCKET_BYTES, UDP_RECEIVED_BYTES,
        count_sockets, count_used, held_bytes, read, unread_bytes,
    };
    use crate::sys::calls;
    use std::io::Write;

    #[test]
    fn held_bytes_include_buffers_of_every_protocol() {
        let text = "protocol  size sockets  memory press maxhdr  slab module     cl co\n\
                    UNIX      1152    100      -1   NI       0   yes  kernel      y  n\n\
                    TCPv6     2432      1     338   no     192   yes  kernel      y  y\n\
                    TCP       2304      3     338   no     192   yes  kernel      y  y\n\
                    UDP       1344      7       0   NI       0   yes  kernel      y  y\n";
        let uncharged = |text, used| held_bytes(text, "", used, true).uncharged;
        assert_eq!(
            uncharged(text, 111),
            (2432 + 3 * 2304) + 4 * (24 << 10) + 7 * 376 * 1024
        );
        assert_eq!(uncharged("", 0), 0);
        // Sockets without an address, of any kind.
        assert_eq!(uncharged(text, 113), uncharged(text, 111) + 2 * 376 * 1024);
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
    fn part_of_host_memory_is_bounded_by_host_and_by_sockets() {
        let protocols = "TCPv6 2432 1\nTCP 2304 3\nUDP 1344 2\nUNIX 1152 5\n";
        let page = calls::page_bytes();
        let held = |tcp: u64, udp: u64, used, small| {
            let sockstat = format!(
                "sockets: used {used}\nTCP: inuse 2 orphan 0 tw 0 alloc 6 mem {tcp}\n\
                 UDP: inuse 1 mem {udp}\nUDPLITE: inuse 0\n"
            );
            let held = held_bytes(protocols, &sockstat, used, small);
            (held.tcp, held.udp)
        };
        assert_eq!(held(3, 2, 11, true), (3 * page, 2 * page));
        assert_eq!(
            held(u64::MAX / page, u64::MAX / page, 11, true),
            (4 * SMALL_TCP_SOCKET_BYTES, 2 * UDP_RECEIVED_BYTES)
        );
        // A lost socket may be of either protocol.
        assert_eq!(
            held(u64::MAX / page, u64::MAX / page, 12, false),
            (5 * LARGE_TCP_SOCKET_BYTES, 3 * UDP_RECEIVED_BYTES)
        );
    }

    #[test]
    fn memory_of_sockets_has_limit_and_share() {
        let held = |uncharged, tcp, udp| Held {
            uncharged,
            tcp,
            udp,
        };
        let charged = |held: Held| held.exceeds(Some(10), 100, true);
        assert!(!charged(held(10, 100, 100)));
        assert!(charged(held(11, 0, 0)));
        assert!(charged(held(0, 101, 0)));
        assert!(charged(held(0, 0, 101)));
        let uncharged = |held: Held| held.exceeds(Some(10), 100, false);
        assert!(!uncharged(held(1000, 10, 100)));
        assert!(uncharged(held(0, 11, 0)));
        assert!(uncharged(held(0, 0, 101)));
        // A run without a memory limit.
        assert!(!held(1000, 100, 100).exceeds(None, 100, true));
        assert!(held(0, 101, 0).exceeds(None, 100, true));
    }

    #[test]
    fn unread_bytes_of_netlink_sockets_are_summed() {
        let text = "sk               Eth Pid        Groups   Rmem Wmem Dump Locks Drops Inode\n\
                    00000000209581e9 0 0          00000000 0 0 0 2 0 4\n\
                    00000000697b4311 0   4711       00000000 4608000 0 0 2 0 1594\n\
                    000000002742b55c 0   4712       00000000 1000 7 0 2 0 1596\n";
        assert_eq!(unread_bytes(text), 4_609_000);
    }

    #[test]
    fn read_of_too_long_list_returns_error() {
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
