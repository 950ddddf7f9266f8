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

use crate::launch;
use crate::prepared::Runner;
use crate::sys::ascii::keyed_number;
use crate::sys::{Result, calls};
use std::os::fd::OwnedFd;

/// `net.ipv4.tcp_rmem` (tcp(7)): the minimum and initial sizes of a receive buffer, and the maximum
/// to which it grows when it is read.
const TCP_RECEIVE_BUFFER_SIZES: &[u8] = b"4096 16384 131072";
/// `net.core.optmem_max`: the bound on the options of a socket and on the control messages of a
/// sender. Each namespace has its own since Linux 6.8; this is the default of earlier versions.
const MAX_OPTION_BYTES: &[u8] = b"20480";
/// `net.ipv4.tcp_max_tw_buckets`: the number of closed connections that the kernel keeps. Each
/// takes 256 bytes, which are not charged either.
const MAX_TIME_WAIT_SOCKETS: &[u8] = b"4096";

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

/// Makes buffers small and sends the supervisor the files that count sockets. The zygote calls this
/// in a fresh network namespace.
pub fn send_files(runner: &Runner) -> Result<()> {
    let set = |file, value| calls::write_file(runner.procfs, file, value).is_ok();
    // In a container /proc/sys may be read-only. In that case each connection counts as a large
    // one.
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
pub fn clear(runner: &Runner, loopback: bool) -> Result<()> {
    if loopback {
        // No later run uses this namespace, and its connections take time to end. The kernel begins
        // to free it when the zygote has left it.
        trigger_collection()?;
        return enter_namespace(runner);
    }
    let mut buffer = [0; 64];
    for look in 0..MAX_EMPTY_CHECKS {
        // A file without the number does not mean that the number is zero.
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
fn trigger_collection() -> Result<()> {
    calls::socket(libc::AF_UNIX, libc::SOCK_DGRAM).and_then(|fd| calls::close(fd).map(drop))
}

/// The number of files in /proc/net that the zygote sends: protocols, netlink and sockstat.
pub const FILE_COUNT: usize = 3;

/// The sockets of a run, as the supervisor sees them.
pub struct Sockets {
    /// /proc/net/protocols
    protocols: OwnedFd,
    /// /proc/net/netlink
    netlink: OwnedFd,
    /// /proc/net/sockstat
    sockstat: OwnedFd,
    /// The maximum number of bytes that one connection holds in addition to its socket.
    connection: u64,
    /// The time of the next scan (`CLOCK_MONOTONIC_RAW`).
    pub scan_at_ns: u64,
}

impl Sockets {
    /// Creates the state for the files that the zygote has sent.
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

    /// Returns the bytes that the sockets hold, or may hold, without being charged to the run.
    pub fn scan(&mut self) -> u64 {
        let before = calls::thread_cpu_ns();
        // A read fails if memory is short or the list is too long. The next scan soon repeats it.
        let all = || read(&self.sockstat).map_or(0, |sockstat| count_used(&sockstat));
        let used = all();
        let protocols = read(&self.protocols).unwrap_or_default();
        // Sockets that open and close during the scan must not count as lost. Their number grows if
        // the supervisor is kept from its CPU.
        let used = used.min(all());
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

/// The bytes that `used` sockets may hold. Each connection holds `connection` bytes in addition to
/// its socket.
fn held_bytes(protocols: &str, used: u64, connection: u64) -> u64 {
    let found =
        parse_protocols(protocols).fold(0, |sum: u64, (.., sockets)| sum.saturating_add(sockets));
    // Each lost socket may be of the kind that holds the most memory.
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
    use super::{MAX_LIST_BYTES, count_sockets, count_used, held_bytes, read, unread_bytes};
    use std::io::Write;

    #[test]
    fn held_bytes_include_buffers_of_every_protocol() {
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
        // Sockets without an address, of any kind.
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
