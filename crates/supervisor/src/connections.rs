//! Connections that nobody has accepted: memory that no cgroup is charged for.
//!
//! The kernel charges a TCP connection to the cgroup of whoever accepts it (`__inet_accept()` in net/ipv4/af_inet.c,
//! Linux 6.13). Until then it is made when a packet arrives, in nobody's name, and what is sent to it counts for
//! nobody either. With a backlog of 4096 (`net.core.somaxconn`) one listening socket so holds some hundred MiB beyond
//! every limit. Only a run with a loopback interface has somebody to connect to.
//!
//! So the zygote makes their buffers small, which connections that are accepted and read outgrow as always, and hands the
//! supervisor a file that counts a run's connections. If they could hold more than its memory limit, it ends by it.

use crate::sys::{Result, calls};
use crate::{home, launch};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// `net.ipv4.tcp_rmem` (tcp(7)): least and first size of a receive buffer; the most stays as it is.
const SMALL_BUFFERS: &[u8] = b"4096 16384";
/// `net.ipv4.tcp_max_tw_buckets`: remains of closed connections, 256 bytes each, which nobody is charged for either.
const REMAINS: &[u8] = b"4096";

/// What the buffers of a connection may hold that nobody reads: that of a small one and a packet.
const SMALL: u64 = 24 << 10;
/// The same where the buffers could not be made smaller than the kernel's own 128 KiB.
const LARGE: u64 = 160 << 10;

/// How long after one look the next follows.
const PERIOD_NS: u64 = 10_000_000;

/// Protocols whose connections wait for somebody to accept them, as in /proc/net/protocols.
const CONNECTED: [&str; 6] = ["TCP", "TCPv6", "MPTCP", "MPTCPv6", "SCTP", "SCTPv6"];

/// Zygote, in a fresh network namespace: makes buffers small, and hands over the file that counts.
pub fn hand_over(home: &home::Home) -> Result<()> {
    let set = |file, value| calls::write_file(home.procfs, file, value).is_ok();
    // In a container /proc/sys may be read-only: then each connection is taken for a large one.
    let small = set(c"sys/net/ipv4/tcp_rmem", SMALL_BUFFERS);
    let _ = set(c"sys/net/ipv4/tcp_max_tw_buckets", REMAINS);
    let file = calls::openat(home.procfs, c"self/net/protocols", libc::O_RDONLY, 0)?;
    let answer = calls::send_descriptors(home.socket, &[launch::message::CONNECTIONS, u8::from(small)], &[file]);
    let _ = calls::close(file);
    answer
}

/// A run's connections, for the supervisor.
pub struct Connections {
    protocols: OwnedFd,
    /// What one holds at most, besides itself.
    each: u64,
    /// When to look next (`CLOCK_MONOTONIC_RAW`).
    pub look_at_ns: u64,
}

impl Connections {
    /// Takes over what the zygote hands over.
    pub fn new(protocols: OwnedFd, small: bool) -> Connections {
        Connections { protocols, each: if small { SMALL } else { LARGE }, look_at_ns: 0 }
    }

    /// Bytes that they may hold beyond what the run is charged for.
    pub fn look(&mut self, now_ns: u64) -> u64 {
        self.look_at_ns = now_ns.saturating_add(PERIOD_NS);
        // A read that fails, for want of memory, is done again soon.
        self.read().map_or(0, |text| held(&String::from_utf8_lossy(&text), self.each))
    }

    fn read(&self) -> rustix::io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match rustix::io::pread(&self.protocols, &mut buffer, text.len() as u64) {
                Ok(0) => return Ok(text),
                Ok(length) => text.extend_from_slice(buffer.get(..length).unwrap_or(&[])),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// The sum over /proc/net/protocols: name, size of a socket, number of sockets in this namespace, and more.
fn held(protocols: &str, each: u64) -> u64 {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let (size, sockets) = (words.next()?.parse::<u64>().ok()?, words.next()?.parse::<u64>().ok()?);
        CONNECTED.contains(&name).then(|| sockets.saturating_mul(size.saturating_add(each)))
    };
    protocols.lines().filter_map(of_line).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::held;

    #[test]
    fn connections_of_every_protocol_count_with_their_buffers() {
        let text = "protocol  size sockets  memory press maxhdr  slab module     cl co\n\
                    UNIX      1152    100      -1   NI       0   yes  kernel      y  n\n\
                    TCPv6     2432      1     338   no     192   yes  kernel      y  y\n\
                    TCP       2304      3     338   no     192   yes  kernel      y  y\n\
                    UDP       1344      7       0   NI       0   yes  kernel      y  y\n";
        assert_eq!(held(text, 1000), 3432 + 3 * 3304);
        assert_eq!(held("", 1000), 0);
    }
}
