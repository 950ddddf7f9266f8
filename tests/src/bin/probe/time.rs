//! Uses CPU time and reads clocks.

use crate::sys::*;

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    let number = |index| arguments.number(index);
    match command {
        "spin" => print_line(format!("own={}", spin(number(0) as u64))),
        "spin-tree" => {
            let children: Vec<usize> = (0..number(0))
                .map(|_| start_spinning_child(number(1)))
                .collect();
            for pid in children {
                wait_for(pid);
            }
        }
        // Makes one long system call, which fills the page tables of many mappings of the same 16
        // MiB.
        "long-call" => {
            let bytes = 16usize << 20;
            let memory = syscall(libc::SYS_memfd_create, [c"m".as_ptr() as usize, 0])
                .unwrap_or_else(|_| exit(1));
            let _ = syscall(libc::SYS_ftruncate, [memory, bytes]);
            let all = number(0) * bytes;
            let area = map_memory(all).unwrap_or_else(|_| exit(1));
            let (protection, flags) = (
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
            );
            for offset in (0..all).step_by(bytes) {
                let _ = syscall(
                    libc::SYS_mmap,
                    [
                        area + offset,
                        bytes,
                        protection as usize,
                        flags as usize,
                        memory,
                        0,
                    ],
                );
            }
            let result = syscall(libc::SYS_madvise, [area, all, 23 /* MADV_POPULATE_WRITE */]);
            print_line(format!("populated={}", result.is_ok()));
        }
        // Endless sequences of short processes.
        "spin-relays" => {
            let relays: Vec<usize> = (0..number(0))
                .map(|_| fork().unwrap_or_else(|_| exit(1)))
                .collect();
            if relays.contains(&0) {
                loop {
                    wait_for(start_spinning_child(number(1)));
                }
            }
            for pid in relays {
                wait_for(pid);
            }
        }
        "spin-unwaited" => {
            // With SIGCHLD ignored, the kernel reaps the children, so no wait returns their CPU
            // time.
            let ignore = [libc::SIG_IGN, 0, 0, 0];
            let _ = syscall(
                libc::SYS_rt_sigaction,
                [libc::SIGCHLD as usize, &raw const ignore as usize, 0, 8],
            );
            for _ in 0..number(0) {
                start_spinning_child(number(1));
            }
            let mut status = 0;
            while syscall(
                libc::SYS_wait4,
                [usize::MAX, &raw mut status as usize, 0, 0],
            )
            .is_ok()
            {}
        }
        "spin-threads" => {
            let begin = read_clock(libc::CLOCK_PROCESS_CPUTIME_ID);
            let millis = number(1) as u64;
            let spin_thread = move || {
                let end = millis * 1_000_000;
                while read_clock(libc::CLOCK_THREAD_CPUTIME_ID) < end {}
            };
            let threads: Vec<_> = (0..number(0))
                .filter_map(|_| std::thread::Builder::new().spawn(spin_thread).ok())
                .collect();
            threads.into_iter().for_each(|thread| drop(thread.join()));
            print_line(format!(
                "own={}",
                read_clock(libc::CLOCK_PROCESS_CPUTIME_ID) - begin
            ));
        }
        "spin-forever" => loop {
            std::hint::spin_loop();
        },
        "clocks" => {
            print_line(format!("monotonic={}", read_clock(libc::CLOCK_MONOTONIC)));
            print_line(format!("boottime={}", read_clock(libc::CLOCK_BOOTTIME)));
        }
        _ => return false,
    }
    true
}

/// Uses CPU time and returns the used nanoseconds. The process's clock also counts the sandbox's
/// work before the exec, so this function measures from its own start.
fn spin(millis: u64) -> u64 {
    let begin = read_clock(libc::CLOCK_PROCESS_CPUTIME_ID);
    loop {
        let used = read_clock(libc::CLOCK_PROCESS_CPUTIME_ID) - begin;
        if used >= millis * 1_000_000 {
            return used;
        }
    }
}

/// Starts a child process that uses CPU time and exits.
fn start_spinning_child(millis: usize) -> usize {
    match fork() {
        Ok(0) => {
            spin(millis as u64);
            exit(0);
        }
        Ok(pid) => pid,
        Err(errno) => {
            print_line(format!("errno={errno}"));
            exit(1);
        }
    }
}
