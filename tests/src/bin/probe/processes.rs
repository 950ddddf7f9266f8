//! Creates processes and attacks pid1.

use crate::sys::*;
use std::ffi::CString;

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    let number = |index| arguments.number(index);
    match command {
        "forkbomb" => loop {
            let _ = fork();
        },
        "forks" => fork_children(number(0)),
        // Neither the children nor the parent exit.
        "forks-stay" => {
            for _ in 0..number(0) {
                if let Ok(0) = fork() {
                    sleep(100_000);
                    exit(0);
                }
            }
            print_line("ready");
            sleep(100_000);
        }
        "threads" => {
            let mut reached = 1;
            let mut first = 0;
            for _ in 0..number(0) {
                match std::thread::Builder::new()
                    .stack_size(64 << 10)
                    .spawn(|| sleep(100_000))
                {
                    Ok(_) => reached += 1,
                    Err(error) => {
                        first = error.raw_os_error().unwrap_or(0);
                        break;
                    }
                }
            }
            print_line(format!("reached={reached}\nerrno={first}"));
            exit(0);
        }
        "orphans" => {
            create_orphans(number(0), number(1) as u64);
            print_line("done");
        }
        "reap" => check_reaping(number(0)),
        "pids" => {
            for (name, call) in [
                ("pid", libc::SYS_getpid),
                ("ppid", libc::SYS_getppid),
                ("tid", libc::SYS_gettid),
            ] {
                print_line(format!("{name}={}", syscall(call, []).unwrap_or(0)));
            }
            print_line(format!(
                "pgid={}",
                syscall(libc::SYS_getpgid, [0]).unwrap_or(0)
            ));
            print_line(format!(
                "sid={}",
                syscall(libc::SYS_getsid, [0]).unwrap_or(0)
            ));
        }
        "kill-all" => {
            // The signal must kill the child, but not pid1.
            let child = fork().unwrap_or_else(|_| exit(1));
            if child == 0 {
                sleep(100_000);
                exit(0);
            }
            print_line(format!(
                "errno={}",
                errno_or_0(syscall(
                    libc::SYS_kill,
                    [usize::MAX, libc::SIGKILL as usize]
                ))
            ));
            print_line(format!("child={}", wait_for(child)));
        }
        "kill-1" => signal_pid1(),
        "ptrace-1" => {
            for (name, request) in [("attach", 16usize), ("seize", 0x4206)] {
                print_line(format!(
                    "{name}={}",
                    errno_or_0(syscall(libc::SYS_ptrace, [request, 1, 0, 0]))
                ));
            }
            let mut byte = 0u8;
            let local = [&raw mut byte as usize, 1];
            let remote = [0x10000usize, 1];
            let result = syscall(
                libc::SYS_process_vm_readv,
                [
                    1,
                    &raw const local as usize,
                    1,
                    &raw const remote as usize,
                    1,
                    0,
                ],
            );
            print_line(format!("vm_readv={}", errno_or_0(result)));
            for file in ["mem", "environ", "fd/0", "root/", "cwd/"] {
                let path = CString::new(format!("/proc/1/{file}")).unwrap_or_default();
                print_line(format!(
                    "{file}={}",
                    errno_or_0(open(&path, libc::O_RDONLY))
                ));
            }
        }
        _ => return false,
    }
    true
}

/// Forks children that sleep, prints the number of processes and the first errno, and kills the
/// children.
fn fork_children(count: usize) {
    let mut reached = 1;
    let mut first = 0;
    let mut children = Vec::new();
    for _ in 0..count {
        match fork() {
            Ok(0) => {
                sleep(100_000);
                exit(0);
            }
            Ok(pid) => {
                children.push(pid);
                reached += 1;
            }
            Err(errno) => {
                first = errno;
                break;
            }
        }
    }
    print_line(format!("reached={reached}\nerrno={first}"));
    for pid in children {
        let _ = syscall(libc::SYS_kill, [pid, libc::SIGKILL as usize]);
        wait_for(pid);
    }
}

/// Creates processes whose parent has exited, each in a new session.
fn create_orphans(count: usize, millis: u64) {
    for _ in 0..count {
        let child = fork().unwrap_or_else(|_| exit(1));
        if child == 0 {
            if let Ok(0) = fork() {
                let _ = syscall(libc::SYS_setsid, []);
                sleep(millis);
            }
            exit(0);
        }
        wait_for(child);
    }
}

/// Checks that pid1 reaps orphans: prints how many remain zombies.
fn check_reaping(count: usize) {
    let mut pids = Vec::new();
    for _ in 0..count {
        let mut ends = [0i32; 2];
        let _ = syscall(libc::SYS_pipe2, [ends.as_mut_ptr() as usize, 0]);
        let child = fork().unwrap_or_else(|_| exit(1));
        if child == 0 {
            if let Ok(pid @ 1..) = fork() {
                let _ = write_all(ends[1] as usize, &pid.to_ne_bytes());
            }
            exit(0);
        }
        wait_for(child);
        let mut bytes = [0u8; 8];
        let _ = syscall(
            libc::SYS_read,
            [ends[0] as usize, bytes.as_mut_ptr() as usize, 8],
        );
        pids.push(usize::from_ne_bytes(bytes));
    }
    // kill(2) with signal 0 succeeds for a zombie.
    let zombies = || {
        pids.iter()
            .filter(|pid| syscall(libc::SYS_kill, [**pid, 0]).is_ok())
            .count()
    };
    for _ in 0..200 {
        if zombies() == 0 {
            break;
        }
        sleep(10);
    }
    print_line(format!("children={}\nzombies={}", pids.len(), zombies()));
}

/// Sends every signal to pid1, with every system call and origin. pid1 must ignore them all.
fn signal_pid1() {
    for signal in 1..=64usize {
        let killed = syscall(libc::SYS_kill, [1, signal]);
        let thread = syscall(libc::SYS_tgkill, [1, 1, signal]);
        print_line(format!(
            "{signal}={} {}",
            errno_or_0(killed),
            errno_or_0(thread)
        ));
        // SI_TIMER, SI_QUEUE, SI_MESGQ, SI_ASYNCIO, SI_SIGIO, SI_TKILL, SI_USER, SI_KERNEL.
        for origin in [-2i32, -1, -3, -4, -5, -6, 0, 0x80] {
            let mut info = [0i32; 32];
            info[0] = signal as i32;
            info[2] = origin;
            let _ = syscall(
                libc::SYS_rt_sigqueueinfo,
                [1, signal, info.as_ptr() as usize],
            );
            let _ = syscall(
                libc::SYS_rt_tgsigqueueinfo,
                [1, 1, signal, info.as_ptr() as usize],
            );
        }
    }
    sleep(50);
    print_line(format!(
        "alive={}",
        errno_or_0(syscall(libc::SYS_kill, [1, 0]))
    ));
}
