//! Uses up descriptors and the stack.

use crate::sys::*;

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    let number = |index| arguments.number(index);
    match command {
        "circle" => print_line(format!(
            "errno={}",
            errno_or_0(create_descriptor_cycle(number(0)))
        )),
        "leave-socket" => print_line(format!("errno={}", errno_or_0(leave_socket()))),
        "sockstat" => {
            let text = std::fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
            let used = text
                .lines()
                .find_map(|line| line.strip_prefix("sockets: used "));
            print_line(format!("used={}", used.unwrap_or("unknown")));
        }
        "stack" => print_line(format!("deep={}", recurse(number(0) * 1024))),
        "descriptors" => {
            let mut errno = 0;
            let mut opened = 0;
            while opened < number(0) && errno == 0 {
                match syscall(libc::SYS_dup, [2]) {
                    Ok(_) => opened += 1,
                    Err(error) => errno = error,
                }
            }
            print_line(format!("opened={opened}\nerrno={errno}"));
        }
        "park" => {
            print_line(format!("parked={}", fill_sockets_with_descriptors()));
            sleep(100_000);
        }
        _ => return false,
    }
    true
}

/// Sends as many descriptors as possible in messages that no process receives. Returns their
/// number.
fn fill_sockets_with_descriptors() -> usize {
    let mut limit = [0u64; 2];
    let resource = libc::RLIMIT_NOFILE as usize;
    let _ = syscall(
        libc::SYS_prlimit64,
        [0, resource, 0, limit.as_mut_ptr() as usize],
    );
    let _ = syscall(
        libc::SYS_prlimit64,
        [0, resource, [limit[1]; 2].as_ptr() as usize, 0],
    );
    let mut parked = 0;
    for _ in 0..50 {
        let mut ends = [0i32; 2];
        let kind = (libc::SOCK_STREAM | libc::SOCK_NONBLOCK) as usize;
        if syscall(
            libc::SYS_socketpair,
            [libc::AF_UNIX as usize, kind, 0, ends.as_mut_ptr() as usize],
        )
        .is_err()
        {
            break;
        }
        loop {
            // One message has at most SCM_MAX_FD = 253 descriptors.
            let mut control = [0u64; 2 + 127];
            control[0] = 16 + 253 * 4;
            control[1] = (libc::SOL_SOCKET as u64) | (libc::SCM_RIGHTS as u64) << 32;
            control[2..].fill(2 | 2 << 32);
            let data = [c"x".as_ptr() as usize, 1];
            let message = [
                0,
                0,
                data.as_ptr() as usize,
                1,
                control.as_ptr() as usize,
                16 + 253 * 4,
                0,
            ];
            match syscall(
                libc::SYS_sendmsg,
                [ends[0] as usize, message.as_ptr() as usize, 0],
            ) {
                Ok(_) => parked += 253,
                Err(libc::EAGAIN) => break,
                Err(_) => return parked,
            }
        }
    }
    parked
}

/// Fills a memfd and sends it through a socket pair whose sockets are in messages of each other.
/// Only the kernel's garbage collection of sockets can free the memfd.
fn create_descriptor_cycle(mib: usize) -> Result<usize, i32> {
    let mut ends = [0i32; 2];
    let kind = libc::SOCK_STREAM as usize;
    syscall(
        libc::SYS_socketpair,
        [libc::AF_UNIX as usize, kind, 0, ends.as_mut_ptr() as usize],
    )?;
    let memory = syscall(libc::SYS_memfd_create, [c"m".as_ptr() as usize, 0])?;
    let chunk = vec![1u8; 1 << 20];
    for _ in 0..mib {
        write_all(memory, &chunk)?;
    }
    send_descriptor(ends[0], ends[1] as u64)?;
    send_descriptor(ends[1], ends[0] as u64)?;
    send_descriptor(ends[1], memory as u64)
}

/// Sends a descriptor in a message of one byte.
fn send_descriptor(through: i32, fd: u64) -> Result<usize, i32> {
    let control = [
        16 + 4,
        (libc::SOL_SOCKET as u64) | (libc::SCM_RIGHTS as u64) << 32,
        fd,
    ];
    let data = [c"x".as_ptr() as usize, 1];
    let message = [
        0,
        0,
        data.as_ptr() as usize,
        1,
        control.as_ptr() as usize,
        16 + 4,
        0,
    ];
    syscall(
        libc::SYS_sendmsg,
        [through as usize, message.as_ptr() as usize, 0],
    )
}

/// Sends a socket through standard input, which is a socket, and leaves it there.
fn leave_socket() -> Result<usize, i32> {
    let socket = syscall(
        libc::SYS_socket,
        [libc::AF_UNIX as usize, libc::SOCK_DGRAM as usize, 0],
    )?;
    send_descriptor(0, socket as u64)
}

/// Recurses with about one KiB of stack per step. Returns the depth.
#[inline(never)]
fn recurse(steps: usize) -> usize {
    let mut frame = [0u8; 1024];
    std::hint::black_box(&mut frame);
    if steps == 0 {
        return 0;
    }
    let below = recurse(steps - 1) + 1;
    std::hint::black_box(&frame);
    below
}
