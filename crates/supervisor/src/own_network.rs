//! The network namespace with a loopback interface that a zygote's runs have.
//!
//! A new namespace for each run takes the kernel longer than the rest of a short run: it creates
//! the namespace, and later frees it. Most runs never use the network, and a namespace in which no
//! socket but Unix sockets has ever been created contains nothing of a run: no port, address,
//! connection, counter or flow label. So the zygote gives the next run the same namespace if the
//! last run did not ask for such a socket.
//!
//! The kernel says so: a seccomp program with a listener (seccomp_unotify(2)) holds each call that
//! could create another kind of socket. The zygote notes the call and lets it continue. The
//! arguments are numbers in registers, so the program sees what the kernel sees. Without a listener
//! each run has a fresh namespace: the kernel allows one listener for a process and its ancestors,
//! and a container may have it.
//!
//! The zygote answers, rather than the supervisor, so that no run keeps the supervisor busy.

use crate::prepared::{NetworkDescriptors, Runner, SOCKET_FILE_COUNT};
use crate::sockets;
use crate::sys::process;
use crate::sys::{Result, calls};
use core::sync::atomic::Ordering::Relaxed;

/// After this number of calls in a run, each further call is answered only after
/// [`ANSWER_PAUSE_NS`]. With version 2 cgroups the zygote's CPU time is not the run's, and an
/// answer takes a few microseconds.
const MAX_PROMPT_ANSWERS: u32 = 4096;
const ANSWER_PAUSE_NS: u32 = 50_000;

/// The seccomp program: each call is allowed, except that the listener is asked about
///
/// * socket(2) and socketpair(2) with another domain than `AF_UNIX`, also by the numbers of x32.
///   Only such a socket can create others (accept(2));
/// * io_uring_setup(2), because a ring can create sockets without a further call. Its number is the
///   same for all architectures;
/// * socket(2), socketpair(2) and socketcall(2) of the 32-bit architectures with any arguments.
static SOCKETS: [[u8; 8]; 21] = [
    load(4), // seccomp_data.arch
    if_equal(AUDIT_ARCH, 0, 10),
    load(0),          // seccomp_data.nr
    without(1 << 30), // __X32_SYSCALL_BIT (asm/unistd.h)
    if_equal(libc::SYS_socket as u32, 3, 0),
    if_equal(libc::SYS_socketpair as u32, 2, 0),
    if_equal(libc::SYS_io_uring_setup as u32, 3, 0),
    give(libc::SECCOMP_RET_ALLOW),
    load(16), // the low half of seccomp_data.args[0]
    if_equal(libc::AF_UNIX as u32, 10, 0),
    give(libc::SECCOMP_RET_USER_NOTIF),
    give(libc::SECCOMP_RET_ALLOW),
    load(0),
    if_equal(102, 5, 0), // socketcall of i386 and ARM
    if_equal(359, 4, 0), // socket of i386
    if_equal(360, 3, 0), // socketpair of i386
    if_equal(281, 2, 0), // socket of ARM
    if_equal(288, 1, 0), // socketpair of ARM
    if_equal(libc::SYS_io_uring_setup as u32, 0, 1),
    give(libc::SECCOMP_RET_USER_NOTIF),
    give(libc::SECCOMP_RET_ALLOW),
];

// AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 (linux/audit.h).
#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xc000_00b7;

/// `BPF_LD | BPF_W | BPF_ABS`
const fn load(offset: u32) -> [u8; 8] {
    instruction(0x20, 0, 0, offset)
}

/// `BPF_JMP | BPF_JEQ | BPF_K`: jumps over `then` or `otherwise` instructions.
const fn if_equal(value: u32, then: u8, otherwise: u8) -> [u8; 8] {
    instruction(0x15, then, otherwise, value)
}

/// `BPF_ALU | BPF_AND | BPF_K`: clears these bits.
const fn without(bits: u32) -> [u8; 8] {
    instruction(0x54, 0, 0, !bits)
}

/// `BPF_RET | BPF_K`
const fn give(answer: u32) -> [u8; 8] {
    instruction(0x06, 0, 0, answer)
}

/// A `struct sock_filter` (linux/filter.h).
const fn instruction(code: u16, then: u8, otherwise: u8, value: u32) -> [u8; 8] {
    let (code, value) = (code.to_ne_bytes(), value.to_ne_bytes());
    [
        code[0], code[1], then, otherwise, value[0], value[1], value[2], value[3],
    ]
}

/// The namespace of a zygote's runs, between its runs and during one.
pub struct OwnNetwork<'a> {
    runner: &'a Runner,
    descriptors: &'a NetworkDescriptors,
    /// Whether the zygote is in a namespace of its runs, and not in that of runs without network.
    exists: bool,
    has_left_one: bool,
    /// Whether the buffers of connections are small; see [`sockets`].
    is_small: bool,
    /// The number of calls in the current run that asked for a socket of another kind.
    asked: u32,
}

impl OwnNetwork<'_> {
    pub fn new<'a>(runner: &'a Runner, descriptors: &'a NetworkDescriptors) -> OwnNetwork<'a> {
        OwnNetwork {
            runner,
            descriptors,
            exists: false,
            has_left_one: false,
            is_small: false,
            asked: 0,
        }
    }

    /// Asks the kernel to hold the calls that create sockets of other kinds than Unix sockets. The
    /// caller must not make such a call afterwards, except while [`OwnNetwork::wait`] answers.
    pub fn watch(&self) {
        if let Ok(listener) = calls::attach_listener(&SOCKETS) {
            self.descriptors.set_listener(listener);
        }
    }

    /// Whether the zygote has left a namespace. The kernel frees it some time later.
    pub fn has_left_one(&self) -> bool {
        self.has_left_one
    }

    /// Enters a namespace that no earlier run has used, and sends the supervisor its files.
    pub fn enter(&mut self) -> Result<()> {
        self.asked = 0;
        if !self.exists {
            calls::unshare(libc::CLONE_NEWNET)?;
            self.exists = true;
            calls::loopback_up()?;
            self.is_small = sockets::limit_buffers(self.runner);
            let files = sockets::open_files(self.runner)?;
            for (place, file) in self.descriptors.files().iter().zip(files) {
                place.store(file, Relaxed);
            }
        }
        let mut files = [-1; SOCKET_FILE_COUNT];
        for (file, place) in files.iter_mut().zip(self.descriptors.files()) {
            *file = place.load(Relaxed);
        }
        sockets::send_files(self.runner, files, self.is_small)
    }

    /// Waits for the end of a run, and answers the calls that the kernel holds.
    pub fn wait(&mut self, pid1: i32) {
        let Some(listener) = self.descriptors.listener().filter(|_| self.exists) else {
            return;
        };
        // Without an answer the run would wait. The supervisor starts another runner.
        let Ok(pidfd) = process::pidfd(pid1) else {
            calls::exit(1)
        };
        loop {
            let [ended, held] = calls::wait_readable([pidfd, listener], None);
            if held
                && calls::continue_held_call(listener, || self.asked = self.asked.saturating_add(1))
                    .is_ok()
            {
                if self.asked > MAX_PROMPT_ANSWERS {
                    calls::sleep_ns(ANSWER_PAUSE_NS);
                }
            } else if ended {
                break;
            }
        }
        let _ = calls::close(pidfd);
    }

    /// Makes sure that the next run finds nothing of the last one: stays in the namespace if the
    /// run has not used it, and leaves it otherwise.
    pub fn clear(&mut self) -> Result<()> {
        if !self.exists {
            return sockets::clear(self.runner);
        }
        let is_unused = self.descriptors.listener().is_some() && self.asked == 0;
        let sockstat = self.descriptors.files().last();
        let sockstat = sockstat.map_or(-1, |file| file.load(Relaxed));
        if is_unused && sockstat >= 0 && sockets::wait_until_none(sockstat)? {
            return Ok(());
        }
        self.has_left_one = true;
        self.leave()
    }

    /// Returns to the namespace of runs without network.
    fn leave(&mut self) -> Result<()> {
        if !self.exists {
            return Ok(());
        }
        self.exists = false;
        let files = self.descriptors.files().iter();
        calls::close_present(files.map(|file| file.swap(-1, Relaxed)));
        // The connections of the run take time to end. The kernel begins to free the namespace when
        // the zygote has left it.
        sockets::trigger_collection()?;
        sockets::enter_namespace(self.runner)
    }

    /// Leaves the namespace and closes the listener, which would stay open in the descriptor table
    /// of the runner.
    pub fn end(&mut self) -> Result<()> {
        calls::close_present([self.descriptors.set_listener(-1)]);
        self.leave()
    }
}

#[cfg(test)]
mod tests {
    use super::{AUDIT_ARCH, SOCKETS};

    /// What the program answers to a call: an interpreter of the instructions that it consists of.
    fn answer(arch: u32, number: u32, domain: u32) -> u32 {
        let mut place = 0;
        let mut value = 0u32;
        loop {
            let [code, _, then, otherwise, bytes @ ..] = SOCKETS[place];
            let operand = u32::from_ne_bytes(bytes);
            place += 1;
            match code {
                0x20 => {
                    value = match operand {
                        0 => number,
                        4 => arch,
                        16 => domain,
                        other => panic!("offset {other}"),
                    }
                }
                0x54 => value &= operand,
                0x15 => place += usize::from(if value == operand { then } else { otherwise }),
                0x06 => return operand,
                other => panic!("code {other}"),
            }
        }
    }

    #[test]
    fn calls_that_create_other_sockets_are_held() {
        const X32: u32 = 1 << 30;
        const I386: u32 = 0x4000_0003;
        let (held, allowed) = (libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW);
        let unix = libc::AF_UNIX as u32;
        for call in [libc::SYS_socket as u32, libc::SYS_socketpair as u32] {
            for domain in 0..50 {
                let expected = if domain == unix { allowed } else { held };
                assert_eq!(
                    answer(AUDIT_ARCH, call, domain),
                    expected,
                    "{call} {domain}"
                );
                assert_eq!(answer(AUDIT_ARCH, call | X32, domain), expected, "{domain}");
            }
        }
        let ring = libc::SYS_io_uring_setup as u32;
        for (arch, call) in [
            (AUDIT_ARCH, ring),
            (AUDIT_ARCH, ring | X32),
            (I386, 102),
            (I386, 281),
            (I386, 288),
            (I386, 359),
            (I386, 360),
            (I386, ring),
        ] {
            assert_eq!(answer(arch, call, unix), held, "{call}");
        }
        let mut others = 0..600;
        let found = others.find(|call| {
            let special = [
                libc::SYS_socket,
                libc::SYS_socketpair,
                libc::SYS_io_uring_setup,
            ];
            !special.contains(&(*call).into()) && answer(AUDIT_ARCH, *call, 2) != allowed
        });
        assert_eq!(found, None);
        assert_eq!(answer(I386, 1, 2), allowed);
    }
}
