//! Allocates memory of several kinds.

use crate::files::write_zeros;
use crate::sys::*;

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    let number = |index| arguments.number(index);
    match command {
        "eat" => {
            use_memory(number(0));
            sleep(number(1) as u64);
        }
        "sleep-eat" => {
            sleep(number(0) as u64);
            use_memory(number(1));
        }
        "map" => print_line(format!("errno={}", errno_or_0(map_memory(number(0) << 20)))),
        "map-fork-eat" => {
            // Two processes use half of the memory each, at the same time.
            let mut ends = [0i32; 2];
            let _ = syscall(libc::SYS_pipe2, [ends.as_mut_ptr() as usize, 0]);
            let child = fork().unwrap_or_else(|_| exit(1));
            use_memory(number(0) / 2);
            if child == 0 {
                let _ = write_all(ends[1] as usize, b"x");
                sleep(100_000);
            }
            let _ = syscall(libc::SYS_close, [ends[1] as usize]);
            let mut byte = 0u8;
            let _ = syscall(
                libc::SYS_read,
                [ends[0] as usize, &raw mut byte as usize, 1],
            );
            sleep(number(1) as u64);
        }
        "charge" => use_kernel_memory(&arguments.text(0), number(1)),
        _ => return false,
    }
    true
}

/// Maps memory and writes to every page.
fn use_memory(mib: usize) {
    if mib == 0 {
        return;
    }
    match map_memory(mib << 20) {
        Ok(address) => touch(address, mib << 20),
        Err(errno) => {
            print_line(format!("errno={errno}"));
            exit(1);
        }
    }
}

/// Uses memory outside private mappings: page cache, pipes, sockets or shared memory.
fn use_kernel_memory(what: &str, mib: usize) {
    match what {
        "tmp" => {
            let (written, errno) = write_zeros(&c"/tmp/file".to_owned(), mib << 20);
            print_line(format!("written={written}\nerrno={errno}"));
        }
        "pipes" => {
            // The kernel limits the pipe buffers of a user (pipe-user-pages-soft, pipe(7)). Beyond
            // the limit, a new pipe has two pages.
            let mut filled = 0;
            while filled < mib << 20 {
                let mut ends = [0i32; 2];
                if syscall(
                    libc::SYS_pipe2,
                    [ends.as_mut_ptr() as usize, libc::O_NONBLOCK as usize],
                )
                .is_err()
                {
                    break;
                }
                let page = [1u8; 4096];
                while let Ok(more) = syscall(
                    libc::SYS_write,
                    [ends[1] as usize, page.as_ptr() as usize, page.len()],
                ) {
                    filled += more;
                }
            }
            print_line(format!("filled={filled}"));
        }
        "sockets" => {
            let mut filled = 0;
            while filled < mib << 20 {
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
                let chunk = [1u8; 32768];
                while let Ok(more) = syscall(
                    libc::SYS_write,
                    [ends[0] as usize, chunk.as_ptr() as usize, chunk.len()],
                ) {
                    filled += more;
                }
            }
            print_line(format!("filled={filled}"));
        }
        "shm" => {
            let result = syscall(libc::SYS_shmget, [0, mib << 20, 0o1600])
                .and_then(|id| syscall(libc::SYS_shmat, [id, 0, 0]));
            if let Ok(address) = result {
                touch(address, mib << 20);
            }
            print_line(format!("errno={}", errno_or_0(result)));
        }
        "memfd" => {
            let result = syscall(libc::SYS_memfd_create, [c"m".as_ptr() as usize, 0]);
            let chunk = vec![1u8; 1 << 20];
            if let Ok(fd) = result {
                for _ in 0..mib {
                    let _ = write_all(fd, &chunk);
                }
            }
            print_line(format!("errno={}", errno_or_0(result)));
        }
        _ => exit(99),
    }
}
