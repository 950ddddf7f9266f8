//! The program that the tests run inside the sandbox: one small executable, many commands.
//!
//! It says what it finds as lines `key=value` on standard output; a test reads them with
//! `millibox_tests::Output::value`. There is no `fn main` of Rust's: its runtime would
//! ignore SIGPIPE, install handlers and open /dev/null at free standard descriptors, and
//! the tests want to see what the sandbox left there. For the same reason everything that
//! can be is a plain system call.

#![allow(unsafe_code, reason = "it speaks in plain system calls")]
#![no_main]

use std::ffi::{CStr, CString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

/// A system call; the error is an errno.
fn sys<const N: usize>(number: i64, arguments: [usize; N]) -> Result<usize, i32> {
    let mut six = [0usize; 6];
    six[..N].copy_from_slice(&arguments);
    let [a, b, c, d, e, f] = six;
    // SAFETY: the callers pass pointers that are valid for the call, or want to see it fail.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer == -1 { Err(errno()) } else { Ok(answer as usize) }
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// "0" or the errno.
fn code<T>(answer: Result<T, i32>) -> i32 {
    answer.err().unwrap_or(0)
}

fn say(line: impl std::fmt::Display) {
    let mut text = line.to_string();
    text.push('\n');
    let _ = write_all(1, text.as_bytes());
}

fn write_all(fd: usize, mut bytes: &[u8]) -> Result<(), i32> {
    while !bytes.is_empty() {
        let written = sys(libc::SYS_write, [fd, bytes.as_ptr() as usize, bytes.len()])?;
        bytes = &bytes[written..];
    }
    Ok(())
}

fn exit(code: usize) -> ! {
    let _ = sys(libc::SYS_exit_group, [code]);
    unreachable!()
}

fn fork() -> Result<usize, i32> {
    // SAFETY: the child goes on with plain calls, or is the copy of a one-threaded process.
    match unsafe { libc::fork() } {
        -1 => Err(errno()),
        pid => Ok(pid as usize),
    }
}

fn wait_for(pid: usize) -> i32 {
    let mut status = 0i32;
    let _ = sys(libc::SYS_wait4, [pid, &raw mut status as usize, 0, 0]);
    status
}

fn sleep(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}

fn clock(which: i32) -> u64 {
    let mut time = [0i64; 2];
    let _ = sys(libc::SYS_clock_gettime, [which as usize, &raw mut time as usize]);
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

fn map(bytes: usize) -> Result<usize, i32> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    sys(libc::SYS_mmap, [0, bytes, protection as usize, (flags | libc::MAP_NORESERVE) as usize, usize::MAX, 0])
}

fn touch(address: usize, bytes: usize) {
    for offset in (0..bytes).step_by(4096) {
        // SAFETY: the caller has mapped it.
        unsafe { ((address + offset) as *mut u8).write_volatile(1) };
    }
}

fn eat(mib: usize) {
    if mib == 0 {
        return;
    }
    match map(mib << 20) {
        Ok(address) => touch(address, mib << 20),
        Err(errno) => {
            say(format!("errno={errno}"));
            exit(1);
        }
    }
}

/// Uses CPU time, from now on: what the sandbox did in this process before the exec, which
/// the process's clock goes on from, is not ours.
fn spin(millis: u64) -> u64 {
    let begin = clock(libc::CLOCK_PROCESS_CPUTIME_ID);
    loop {
        let used = clock(libc::CLOCK_PROCESS_CPUTIME_ID) - begin;
        if used >= millis * 1_000_000 {
            return used;
        }
    }
}

/// Arguments after the command.
struct Arguments(Vec<std::ffi::OsString>);

impl Arguments {
    fn text(&self, index: usize) -> String {
        self.0.get(index).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn number(&self, index: usize) -> usize {
        let text = self.text(index);
        match text.strip_prefix("0x") {
            Some(hexadecimal) => usize::from_str_radix(hexadecimal, 16).unwrap_or(0),
            None => text.parse::<i64>().unwrap_or(0) as usize,
        }
    }

    fn path(&self, index: usize) -> CString {
        CString::new(self.0.get(index).map(|path| path.as_bytes().to_vec()).unwrap_or_default()).unwrap_or_default()
    }
}

const AT_CWD: usize = libc::AT_FDCWD as isize as usize;

fn mkdir(path: &CStr) -> Result<usize, i32> {
    // mkdir(2) itself is not there on newer machines.
    sys(libc::SYS_mkdirat, [AT_CWD, path.as_ptr() as usize, 0o777])
}

fn open(path: &CString, flags: i32) -> Result<usize, i32> {
    sys(libc::SYS_openat, [AT_CWD, path.as_ptr() as usize, flags as usize, 0o666])
}

/// Where C begins.
#[unsafe(no_mangle)]
pub extern "C" fn main(_argc: i32, _argv: *const *const u8) -> i32 {
    let arguments = Arguments(std::env::args_os().skip(2).collect());
    let Some(command) = std::env::args().nth(1) else { return 42 };
    command_line(&command, &arguments);
    0
}

fn command_line(command: &str, arguments: &Arguments) {
    let number = |index| arguments.number(index);
    match command {
        "exit" => exit(number(0)),
        "signal" => signal_self(number(0)),
        "sleep" => sleep(number(0) as u64),
        // Makes itself known, then sleeps.
        "ready-sleep" => {
            say("ready");
            sleep(number(0) as u64);
        }
        "out" => say(format!("written={}", pour(1, number(0)))),
        "stdin" => say(format!("bytes={}", drain())),
        "close-sleep" => {
            let _ = sys(libc::SYS_close, [number(0)]);
            sleep(number(1) as u64);
        }

        // memory and time
        "eat" => {
            eat(number(0));
            sleep(number(1) as u64);
        }
        "sleep-eat" => {
            sleep(number(0) as u64);
            eat(number(1));
        }
        "map" => say(format!("errno={}", code(map(number(0) << 20)))),
        "map-fork-eat" => {
            // Two processes with half of it each, at the same time.
            let mut ends = [0i32; 2];
            let _ = sys(libc::SYS_pipe2, [ends.as_mut_ptr() as usize, 0]);
            let child = fork().unwrap_or_else(|_| exit(1));
            eat(number(0) / 2);
            if child == 0 {
                let _ = write_all(ends[1] as usize, b"x");
                sleep(100_000);
            }
            let _ = sys(libc::SYS_close, [ends[1] as usize]);
            let mut byte = 0u8;
            let _ = sys(libc::SYS_read, [ends[0] as usize, &raw mut byte as usize, 1]);
            sleep(number(1) as u64);
        }
        "spin" => say(format!("own={}", spin(number(0) as u64))),
        "spin-tree" => {
            let children: Vec<usize> = (0..number(0)).map(|_| spinning_child(number(1))).collect();
            for pid in children {
                wait_for(pid);
            }
        }
        // One call that computes for long: it fills the page tables of so many mappings of the same 16 MiB.
        "long-call" => {
            let bytes = 16usize << 20;
            let memory = sys(libc::SYS_memfd_create, [c"m".as_ptr() as usize, 0]).unwrap_or_else(|_| exit(1));
            let _ = sys(libc::SYS_ftruncate, [memory, bytes]);
            let all = number(0) * bytes;
            let area = map(all).unwrap_or_else(|_| exit(1));
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
            for offset in (0..all).step_by(bytes) {
                let _ = sys(libc::SYS_mmap, [area + offset, bytes, protection as usize, flags as usize, memory, 0]);
            }
            let answer = sys(libc::SYS_madvise, [area, all, 23 /* MADV_POPULATE_WRITE */]);
            say(format!("populated={}", answer.is_ok()));
        }
        // For ever, in many short processes one after another.
        "spin-relays" => {
            let relays: Vec<usize> = (0..number(0)).map(|_| fork().unwrap_or_else(|_| exit(1))).collect();
            if relays.contains(&0) {
                loop {
                    wait_for(spinning_child(number(1)));
                }
            }
            for pid in relays {
                wait_for(pid);
            }
        }
        "spin-unwaited" => {
            // The kernel reaps them: nobody is told what they used.
            let ignore = [libc::SIG_IGN, 0, 0, 0];
            let _ = sys(libc::SYS_rt_sigaction, [libc::SIGCHLD as usize, &raw const ignore as usize, 0, 8]);
            for _ in 0..number(0) {
                spinning_child(number(1));
            }
            let mut status = 0;
            while sys(libc::SYS_wait4, [usize::MAX, &raw mut status as usize, 0, 0]).is_ok() {}
        }
        "spin-threads" => {
            let begin = clock(libc::CLOCK_PROCESS_CPUTIME_ID);
            let millis = number(1) as u64;
            let spin_thread = move || {
                let end = millis * 1_000_000;
                while clock(libc::CLOCK_THREAD_CPUTIME_ID) < end {}
            };
            let threads: Vec<_> =
                (0..number(0)).filter_map(|_| std::thread::Builder::new().spawn(spin_thread).ok()).collect();
            threads.into_iter().for_each(|thread| drop(thread.join()));
            say(format!("own={}", clock(libc::CLOCK_PROCESS_CPUTIME_ID) - begin));
        }
        "clocks" => {
            say(format!("monotonic={}", clock(libc::CLOCK_MONOTONIC)));
            say(format!("boottime={}", clock(libc::CLOCK_BOOTTIME)));
        }
        "charge" => charge(&arguments.text(0), number(1)),

        // processes
        "forkbomb" => loop {
            let _ = fork();
        },
        "forks" => forks(number(0)),
        // Children that stay, and so does it.
        "forks-stay" => {
            for _ in 0..number(0) {
                if let Ok(0) = fork() {
                    sleep(100_000);
                    exit(0);
                }
            }
            say("ready");
            sleep(100_000);
        }
        "threads" => {
            let mut reached = 1;
            let mut first = 0;
            for _ in 0..number(0) {
                match std::thread::Builder::new().stack_size(64 << 10).spawn(|| sleep(100_000)) {
                    Ok(_) => reached += 1,
                    Err(error) => {
                        first = error.raw_os_error().unwrap_or(0);
                        break;
                    }
                }
            }
            say(format!("reached={reached}\nerrno={first}"));
            exit(0);
        }
        "orphans" => {
            orphans(number(0), number(1) as u64);
            say("done");
        }
        "reap" => reap(number(0)),
        "pids" => {
            for (name, call) in [("pid", libc::SYS_getpid), ("ppid", libc::SYS_getppid), ("tid", libc::SYS_gettid)] {
                say(format!("{name}={}", sys(call, []).unwrap_or(0)));
            }
            say(format!("pgid={}", sys(libc::SYS_getpgid, [0]).unwrap_or(0)));
            say(format!("sid={}", sys(libc::SYS_getsid, [0]).unwrap_or(0)));
        }
        "kill-all" => {
            // Of the children one must not survive, and pid1 must.
            let child = fork().unwrap_or_else(|_| exit(1));
            if child == 0 {
                sleep(100_000);
                exit(0);
            }
            say(format!("errno={}", code(sys(libc::SYS_kill, [usize::MAX, libc::SIGKILL as usize]))));
            say(format!("child={}", wait_for(child)));
        }
        "kill-1" => kill_1(),
        "ptrace-1" => {
            for (name, request) in [("attach", 16usize), ("seize", 0x4206)] {
                say(format!("{name}={}", code(sys(libc::SYS_ptrace, [request, 1, 0, 0]))));
            }
            let mut byte = 0u8;
            let local = [&raw mut byte as usize, 1];
            let remote = [0x10000usize, 1];
            let answer =
                sys(libc::SYS_process_vm_readv, [1, &raw const local as usize, 1, &raw const remote as usize, 1, 0]);
            say(format!("vm_readv={}", code(answer)));
            for file in ["mem", "environ", "fd/0", "root/", "cwd/"] {
                let path = CString::new(format!("/proc/1/{file}")).unwrap_or_default();
                say(format!("{file}={}", code(open(&path, libc::O_RDONLY))));
            }
        }

        // what was inherited
        "fds" => fds(),
        "env" => std::env::vars_os().for_each(|(name, value)| {
            let mut line = name.into_vec();
            line.push(b'=');
            line.extend(value.into_vec());
            line.push(b'\n');
            let _ = write_all(1, &line);
        }),
        "args" => arguments.0.iter().for_each(|argument| {
            let mut line = format!("{}:", argument.len()).into_bytes();
            line.extend(argument.as_bytes());
            line.push(b'\n');
            let _ = write_all(1, &line);
        }),
        "cwd" => say(format!("cwd={}", std::env::current_dir().unwrap_or_default().display())),
        "limits" => limits(),
        "umask" => say(format!("umask={:o}", sys(libc::SYS_umask, [0]).unwrap_or(0))),
        "ids" => ids(),
        "signals" => signals(),
        "caps" => caps(),
        "scheduling" => {
            // The system call gives 20 - nice.
            say(format!("nice={}", 20 - sys(libc::SYS_getpriority, [0, 0]).unwrap_or(0) as i64));
            say(format!("policy={}", sys(libc::SYS_sched_getscheduler, [0]).unwrap_or(99)));
            say(format!("personality={:x}", sys(libc::SYS_personality, [0xffff_ffff]).unwrap_or(99)));
            say(format!("ioprio={}", sys(libc::SYS_ioprio_get, [1, 0]).unwrap_or(99)));
            say(format!("no_huge_pages={}", sys(libc::SYS_prctl, [libc::PR_GET_THP_DISABLE as usize]).unwrap_or(99)));
            let mut mode = 0i32;
            let asked = sys(libc::SYS_get_mempolicy, [&raw mut mode as usize]);
            say(format!("mempolicy={}", asked.map_or(99, |_| mode)));
            let mut mask = [0u64; 128];
            let _ = sys(libc::SYS_sched_getaffinity, [0, 1024, &raw mut mask as usize]);
            let cpus: Vec<String> = (0..8192)
                .filter(|cpu| mask[cpu / 64] & 1 << (cpu % 64) != 0)
                .map(|cpu: usize| cpu.to_string())
                .collect();
            say(format!("cpus={}", cpus.join(",")));
        }
        "cat" => cat(&arguments.path(0)),
        // All that a run must find around it, whatever went before; in few calls, as each may be watched.
        "walls" => {
            for command in ["umask", "ids", "scheduling", "host", "cwd"] {
                command_line(command, arguments);
            }
            say(format!("securebits={:x}", sys(libc::SYS_prctl, [libc::PR_GET_SECUREBITS as usize]).unwrap_or(99)));
            say(format!("leads={}", sys(libc::SYS_getsid, [0]) == sys(libc::SYS_getpid, [])));
            ls("/proc/self/fd");
            for file in ["mountinfo", "status", "limits", "oom_score_adj", "net/dev", "cgroup"] {
                cat(&CString::new(format!("/proc/self/{file}")).unwrap_or_default());
            }
        }
        "host" => {
            let mut name = std::mem::MaybeUninit::<libc::utsname>::zeroed();
            let _ = sys(libc::SYS_uname, [name.as_mut_ptr() as usize]);
            // SAFETY: all-zero is a valid utsname, and the kernel fills it in.
            let name = unsafe { name.assume_init() };
            let text = |field: &[libc::c_char]| -> String {
                field.iter().take_while(|c| **c != 0).map(|c| *c as u8 as char).collect()
            };
            say(format!("host={}\ndomain={}", text(&name.nodename), text(&name.domainname)));
        }

        // files
        "open" => {
            let flags = match arguments.text(1).as_str() {
                "w" => libc::O_WRONLY,
                "rw" => libc::O_RDWR,
                "create" => libc::O_WRONLY | libc::O_CREAT,
                _ => libc::O_RDONLY,
            };
            say(format!("errno={}", code(open(&arguments.path(0), flags))));
        }
        "file" => {
            let (written, errno) = fill(&arguments.path(0), number(1));
            say(format!("written={written}\nerrno={errno}"));
        }
        "mkdirs" => {
            let mut made = 0;
            let mut errno = 0;
            for index in 0..number(1) {
                let path = CString::new(format!("{}/{index}", arguments.text(0))).unwrap_or_default();
                match mkdir(&path) {
                    Ok(_) => made += 1,
                    Err(refused) => {
                        errno = refused;
                        break;
                    }
                }
            }
            say(format!("made={made}\nerrno={errno}"));
        }
        "mkdir" => say(format!("errno={}", code(mkdir(&arguments.path(0))))),
        "ls" => ls(&arguments.text(0)),
        "stat" => stat(&arguments.path(0)),
        "statvfs" => statvfs(&arguments.path(0)),
        "writable" => writable(),
        "exec" => {
            let path = arguments.path(0);
            let argv = [path.as_ptr() as usize, 0];
            let envp = [0usize];
            let answer =
                sys(libc::SYS_execve, [path.as_ptr() as usize, argv.as_ptr() as usize, envp.as_ptr() as usize]);
            say(format!("errno={}", code(answer)));
        }
        "ptmx" => say(format!("errno={}", code(open(&c"/dev/ptmx".to_owned(), libc::O_RDWR)))),

        // namespaces
        "call" => {
            let six = [1, 2, 3, 4, 5, 6].map(number);
            match sys(number(0) as i64, six) {
                Ok(value) => say(format!("value={value}\nerrno=0")),
                Err(errno) => say(format!("value=-1\nerrno={errno}")),
            }
        }
        "clone" => match sys(libc::SYS_clone, [number(0) | libc::SIGCHLD as usize, 0, 0, 0, 0]) {
            Ok(0) => exit(0),
            answer => say(format!("errno={}", code(answer))),
        },
        "mounts" => mounts(),
        "escape" => escape(),
        "hostile-cgroup" => hostile_cgroup(),
        "keyring" => keyring(&arguments.path(0)),

        // network and IPC
        "connect" => say(format!("errno={}", code(connect(&arguments.text(0), number(1))))),
        "interfaces" => interfaces(),
        "serve" => serve(&arguments.text(0)),
        "listen" => {
            match listen(&arguments.text(0), number(1)) {
                Ok(_) => say("ready"),
                Err(errno) => say(format!("errno={errno}")),
            }
            sleep(number(2) as u64);
        }
        "abstract-bind" => {
            say(format!("errno={}", code(abstract_socket(&arguments.text(0), libc::SYS_bind))));
            sleep(number(1) as u64);
        }
        "abstract-connect" => say(format!("errno={}", code(abstract_socket(&arguments.text(0), libc::SYS_connect)))),
        "ipc" => ipc(&arguments.text(0), number(1)),

        // resource limits
        "leave-socket" => say(format!("errno={}", code(leave_socket()))),
        "sockstat" => {
            let text = std::fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
            let used = text.lines().find_map(|line| line.strip_prefix("sockets: used "));
            say(format!("used={}", used.unwrap_or("unknown")));
        }
        "circle" => say(format!("errno={}", code(circle(number(0))))),
        "stack" => say(format!("deep={}", deep(number(0) * 1024))),
        "descriptors" => {
            let mut errno = 0;
            let mut opened = 0;
            while opened < number(0) && errno == 0 {
                match sys(libc::SYS_dup, [2]) {
                    Ok(_) => opened += 1,
                    Err(refused) => errno = refused,
                }
            }
            say(format!("opened={opened}\nerrno={errno}"));
        }
        "park" => {
            say(format!("parked={}", park()));
            sleep(100_000);
        }
        "spin-forever" => loop {
            std::hint::spin_loop();
        },
        other => {
            say(format!("unknown command {other}"));
            exit(99);
        }
    }
}

fn spinning_child(millis: usize) -> usize {
    match fork() {
        Ok(0) => {
            spin(millis as u64);
            exit(0);
        }
        Ok(pid) => pid,
        Err(errno) => {
            say(format!("errno={errno}"));
            exit(1);
        }
    }
}

fn signal_self(signal: usize) {
    let default = [0usize; 4];
    let _ = sys(libc::SYS_rt_sigaction, [signal, default.as_ptr() as usize, 0, 8]);
    let none = 0u64;
    let _ = sys(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, &raw const none as usize, 0, 8]);
    let pid = sys(libc::SYS_getpid, []).unwrap_or(0);
    let _ = sys(libc::SYS_kill, [pid, signal]);
    exit(100);
}

/// Writes so many bytes; how many it could.
fn pour(fd: usize, bytes: usize) -> usize {
    let chunk = vec![b'x'; 1 << 16];
    let mut written = 0;
    while written < bytes {
        let length = chunk.len().min(bytes - written);
        match sys(libc::SYS_write, [fd, chunk.as_ptr() as usize, length]) {
            Ok(0) | Err(_) => break,
            Ok(more) => written += more,
        }
    }
    written
}

fn fill(path: &CString, bytes: usize) -> (usize, i32) {
    let fd = match open(path, libc::O_WRONLY | libc::O_CREAT) {
        Ok(fd) => fd,
        Err(errno) => return (0, errno),
    };
    let chunk = vec![0u8; 4096];
    let mut written = 0;
    while written < bytes {
        match sys(libc::SYS_write, [fd, chunk.as_ptr() as usize, chunk.len().min(bytes - written)]) {
            Ok(more) => written += more,
            Err(errno) => return (written, errno),
        }
    }
    (written, 0)
}

fn drain() -> usize {
    let mut chunk = vec![0u8; 1 << 16];
    let mut bytes = 0;
    while let Ok(more @ 1..) = sys(libc::SYS_read, [0, chunk.as_mut_ptr() as usize, chunk.len()]) {
        bytes += more;
    }
    bytes
}

fn cat(path: &CString) {
    match open(path, libc::O_RDONLY) {
        Ok(fd) => {
            let mut chunk = vec![0u8; 1 << 16];
            while let Ok(length @ 1..) = sys(libc::SYS_read, [fd, chunk.as_mut_ptr() as usize, chunk.len()]) {
                let _ = write_all(1, &chunk[..length]);
            }
        }
        Err(errno) => say(format!("errno={errno}")),
    }
}

fn ls(path: &str) {
    match std::fs::read_dir(path) {
        Ok(entries) => {
            let mut names: Vec<String> =
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            say(names.join("\n"));
        }
        Err(error) => say(format!("errno={}", error.raw_os_error().unwrap_or(0))),
    }
}

fn stat(path: &CString) {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: path and buffer are valid; all-zero is a valid stat.
    let (answer, stat) = unsafe { (libc::lstat(path.as_ptr(), stat.as_mut_ptr()), stat.assume_init()) };
    if answer != 0 {
        return say(format!("errno={}", errno()));
    }
    say(format!("errno=0\nmode={:o}\nkind={:o}", stat.st_mode & 0o7777, stat.st_mode & libc::S_IFMT));
    say(format!("uid={}\ngid={}\nsize={}\ndevice={}", stat.st_uid, stat.st_gid, stat.st_size, stat.st_dev));
}

fn statvfs(path: &CString) {
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: path and buffer are valid; all-zero is a valid statvfs.
    let (answer, stat) = unsafe { (libc::statvfs(path.as_ptr(), stat.as_mut_ptr()), stat.assume_init()) };
    if answer != 0 {
        return say(format!("errno={}", errno()));
    }
    for (name, flag) in
        [("ro", libc::ST_RDONLY), ("nosuid", libc::ST_NOSUID), ("nodev", libc::ST_NODEV), ("noexec", libc::ST_NOEXEC)]
    {
        say(format!("{name}={}", u32::from(stat.f_flag & flag != 0)));
    }
    say(format!("blocks={}", stat.f_blocks));
    say(format!("files={}", stat.f_files));
}

/// Every directory of the world in which a file can be made.
fn writable() {
    let mut left = vec![std::path::PathBuf::from("/")];
    while let Some(directory) = left.pop() {
        let probe = directory.join("millibox-was-here");
        let path = CString::new(probe.as_os_str().as_bytes()).unwrap_or_default();
        if open(&path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL).is_ok() {
            say(format!("writable={}", directory.display()));
        }
        if directory.components().count() > 4 {
            continue;
        }
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(entry.path());
            }
        }
    }
}

/// Puts as many descriptors as may be into messages that nobody receives; how many.
fn park() -> usize {
    let mut limit = [0u64; 2];
    let of = libc::RLIMIT_NOFILE as usize;
    let _ = sys(libc::SYS_prlimit64, [0, of, 0, limit.as_mut_ptr() as usize]);
    let _ = sys(libc::SYS_prlimit64, [0, of, [limit[1]; 2].as_ptr() as usize, 0]);
    let mut parked = 0;
    for _ in 0..50 {
        let mut ends = [0i32; 2];
        let kind = (libc::SOCK_STREAM | libc::SOCK_NONBLOCK) as usize;
        if sys(libc::SYS_socketpair, [libc::AF_UNIX as usize, kind, 0, ends.as_mut_ptr() as usize]).is_err() {
            break;
        }
        loop {
            // The most that one message takes (SCM_MAX_FD).
            let mut control = [0u64; 2 + 127];
            control[0] = 16 + 253 * 4;
            control[1] = (libc::SOL_SOCKET as u64) | (libc::SCM_RIGHTS as u64) << 32;
            control[2..].fill(2 | 2 << 32);
            let one = [c"x".as_ptr() as usize, 1];
            let message = [0, 0, one.as_ptr() as usize, 1, control.as_ptr() as usize, 16 + 253 * 4, 0];
            match sys(libc::SYS_sendmsg, [ends[0] as usize, message.as_ptr() as usize, 0]) {
                Ok(_) => parked += 253,
                Err(libc::EAGAIN) => break,
                Err(_) => return parked,
            }
        }
    }
    parked
}

/// Leaves a filled file of memory in a socket that is, as its peer is, on its way through the other.
fn circle(mib: usize) -> Result<usize, i32> {
    let mut ends = [0i32; 2];
    let kind = libc::SOCK_STREAM as usize;
    sys(libc::SYS_socketpair, [libc::AF_UNIX as usize, kind, 0, ends.as_mut_ptr() as usize])?;
    let memory = sys(libc::SYS_memfd_create, [c"m".as_ptr() as usize, 0])?;
    let chunk = vec![1u8; 1 << 20];
    for _ in 0..mib {
        write_all(memory, &chunk)?;
    }
    let send = send_descriptor;
    send(ends[0], ends[1] as u64)?;
    send(ends[1], ends[0] as u64)?;
    send(ends[1], memory as u64)
}

fn send_descriptor(through: i32, fd: u64) -> Result<usize, i32> {
    let control = [16 + 4, (libc::SOL_SOCKET as u64) | (libc::SCM_RIGHTS as u64) << 32, fd];
    let one = [c"x".as_ptr() as usize, 1];
    let message = [0, 0, one.as_ptr() as usize, 1, control.as_ptr() as usize, 16 + 4, 0];
    sys(libc::SYS_sendmsg, [through as usize, message.as_ptr() as usize, 0])
}

/// Sends a socket through standard input, which is one, where it stays.
fn leave_socket() -> Result<usize, i32> {
    let socket = sys(libc::SYS_socket, [libc::AF_UNIX as usize, libc::SOCK_DGRAM as usize, 0])?;
    send_descriptor(0, socket as u64)
}

/// Page cache, pipes, sockets, shared memory: kernel memory that is not in one's own mappings.
fn charge(what: &str, mib: usize) {
    match what {
        "tmp" => {
            let (written, errno) = fill(&c"/tmp/file".to_owned(), mib << 20);
            say(format!("written={written}\nerrno={errno}"));
        }
        "pipes" => {
            // Each takes one MiB, and the kernel does not let one user have more than 16
            // (pipe-user-pages-soft, pipe(7)); then they are of two pages.
            let mut filled = 0;
            while filled < mib << 20 {
                let mut ends = [0i32; 2];
                if sys(libc::SYS_pipe2, [ends.as_mut_ptr() as usize, libc::O_NONBLOCK as usize]).is_err() {
                    break;
                }
                let page = [1u8; 4096];
                while let Ok(more) = sys(libc::SYS_write, [ends[1] as usize, page.as_ptr() as usize, page.len()]) {
                    filled += more;
                }
            }
            say(format!("filled={filled}"));
        }
        "sockets" => {
            let mut filled = 0;
            while filled < mib << 20 {
                let mut ends = [0i32; 2];
                let kind = (libc::SOCK_STREAM | libc::SOCK_NONBLOCK) as usize;
                if sys(libc::SYS_socketpair, [libc::AF_UNIX as usize, kind, 0, ends.as_mut_ptr() as usize]).is_err() {
                    break;
                }
                let chunk = [1u8; 32768];
                while let Ok(more) = sys(libc::SYS_write, [ends[0] as usize, chunk.as_ptr() as usize, chunk.len()]) {
                    filled += more;
                }
            }
            say(format!("filled={filled}"));
        }
        "shm" => {
            let answer = sys(libc::SYS_shmget, [0, mib << 20, 0o1600]).and_then(|id| sys(libc::SYS_shmat, [id, 0, 0]));
            if let Ok(address) = answer {
                touch(address, mib << 20);
            }
            say(format!("errno={}", code(answer)));
        }
        "memfd" => {
            let answer = sys(libc::SYS_memfd_create, [c"m".as_ptr() as usize, 0]);
            let chunk = vec![1u8; 1 << 20];
            if let Ok(fd) = answer {
                for _ in 0..mib {
                    let _ = write_all(fd, &chunk);
                }
            }
            say(format!("errno={}", code(answer)));
        }
        _ => exit(99),
    }
}

fn forks(count: usize) {
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
    say(format!("reached={reached}\nerrno={first}"));
    for pid in children {
        let _ = sys(libc::SYS_kill, [pid, libc::SIGKILL as usize]);
        wait_for(pid);
    }
}

/// Processes that have left their parent and its session.
fn orphans(count: usize, millis: u64) {
    for _ in 0..count {
        let child = fork().unwrap_or_else(|_| exit(1));
        if child == 0 {
            if let Ok(0) = fork() {
                let _ = sys(libc::SYS_setsid, []);
                sleep(millis);
            }
            exit(0);
        }
        wait_for(child);
    }
}

/// Whether pid1 waits for orphans.
fn reap(count: usize) {
    let mut pids = Vec::new();
    for _ in 0..count {
        let mut ends = [0i32; 2];
        let _ = sys(libc::SYS_pipe2, [ends.as_mut_ptr() as usize, 0]);
        let child = fork().unwrap_or_else(|_| exit(1));
        if child == 0 {
            if let Ok(pid @ 1..) = fork() {
                let _ = write_all(ends[1] as usize, &pid.to_ne_bytes());
            }
            exit(0);
        }
        wait_for(child);
        let mut bytes = [0u8; 8];
        let _ = sys(libc::SYS_read, [ends[0] as usize, bytes.as_mut_ptr() as usize, 8]);
        pids.push(usize::from_ne_bytes(bytes));
    }
    // A zombie can still be sent signal 0.
    let zombies = || pids.iter().filter(|pid| sys(libc::SYS_kill, [**pid, 0]).is_ok()).count();
    for _ in 0..200 {
        if zombies() == 0 {
            break;
        }
        sleep(10);
    }
    say(format!("children={}\nzombies={}", pids.len(), zombies()));
}

/// Every signal to pid1 in every way that a process may send one; it must do nothing.
fn kill_1() {
    for signal in 1..=64usize {
        let killed = sys(libc::SYS_kill, [1, signal]);
        let thread = sys(libc::SYS_tgkill, [1, 1, signal]);
        say(format!("{signal}={} {}", code(killed), code(thread)));
        // SI_TIMER, SI_QUEUE, SI_MESGQ, SI_ASYNCIO, SI_SIGIO, SI_TKILL, SI_USER, SI_KERNEL.
        for origin in [-2i32, -1, -3, -4, -5, -6, 0, 0x80] {
            let mut info = [0i32; 32];
            info[0] = signal as i32;
            info[2] = origin;
            let _ = sys(libc::SYS_rt_sigqueueinfo, [1, signal, info.as_ptr() as usize]);
            let _ = sys(libc::SYS_rt_tgsigqueueinfo, [1, 1, signal, info.as_ptr() as usize]);
        }
    }
    sleep(50);
    say(format!("alive={}", code(sys(libc::SYS_kill, [1, 0]))));
}

fn fds() {
    for fd in 0..4096usize {
        if let Ok(flags) = sys(libc::SYS_fcntl, [fd, libc::F_GETFL as usize]) {
            let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
            // SAFETY: the buffer is valid and all-zero is a valid stat.
            let stat = unsafe {
                libc::fstat(fd as i32, stat.as_mut_ptr());
                stat.assume_init()
            };
            let device = stat.st_rdev;
            say(format!(
                "{fd}={:o} {} {}:{}",
                stat.st_mode & libc::S_IFMT,
                flags as i32 & libc::O_ACCMODE,
                libc::major(device),
                libc::minor(device)
            ));
        }
    }
}

fn limits() {
    for resource in 0..16usize {
        let mut limit = [0u64; 2];
        let _ = sys(libc::SYS_prlimit64, [0, resource, 0, limit.as_mut_ptr() as usize]);
        say(format!("{resource}={} {}", limit[0], limit[1]));
    }
}

fn ids() {
    for (name, call) in [("uid", libc::SYS_getresuid), ("gid", libc::SYS_getresgid)] {
        let mut three = [0u32; 3];
        let address = |index: usize| &raw const three[index] as usize;
        let _ = sys(call, [address(0), address(1), address(2)]);
        let three = std::hint::black_box(&mut three);
        say(format!("{name}={} {} {}", three[0], three[1], three[2]));
    }
    let mut groups = [0u32; 64];
    let count = sys(libc::SYS_getgroups, [64, groups.as_mut_ptr() as usize]).unwrap_or(99);
    // A group that is not mapped shows as the overflow group.
    let mapped = groups[..count.min(64)].iter().filter(|group| **group != 65534).count();
    say(format!("groups={mapped}"));
}

fn signals() {
    let mut blocked = 0u64;
    let _ = sys(libc::SYS_rt_sigprocmask, [0, 0, &raw mut blocked as usize, 8]);
    say(format!("blocked={blocked:x}"));
    let mut pending = 0u64;
    let _ = sys(libc::SYS_rt_sigpending, [&raw mut pending as usize, 8]);
    say(format!("pending={pending:x}"));
    let mut others = Vec::new();
    for signal in 1..=64usize {
        let mut action = [0usize; 4];
        // The C library keeps 32 and 33 for itself, but only once there are threads.
        let _ = sys(libc::SYS_rt_sigaction, [signal, 0, action.as_mut_ptr() as usize, 8]);
        if action[0] != 0 {
            others.push(signal.to_string());
        }
    }
    say(format!("changed={}", others.join(",")));
    let mut stack = [0usize; 3];
    let _ = sys(libc::SYS_sigaltstack, [0, stack.as_mut_ptr() as usize]);
    say(format!("stack={}", stack[0]));
}

/// From the calls themselves: /proc need not be there.
fn caps() {
    let header = [0x2008_0522u32, 0];
    let mut data = [0u32; 6];
    let _ = sys(libc::SYS_capget, [header.as_ptr() as usize, data.as_mut_ptr() as usize]);
    say(format!(
        "effective={:x}\npermitted={:x}\ninheritable={:x}",
        data[0] | data[3],
        data[1] | data[4],
        data[2] | data[5]
    ));
    let bounding = (0..41)
        .filter(|capability| sys(libc::SYS_prctl, [libc::PR_CAPBSET_READ as usize, *capability]) == Ok(1))
        .count();
    let ambient = (0..41)
        .filter(|capability| sys(libc::SYS_prctl, [libc::PR_CAP_AMBIENT as usize, 1, *capability, 0, 0]) == Ok(1))
        .count();
    say(format!("bounding={bounding}\nambient={ambient}"));
    say(format!("securebits={:x}", sys(libc::SYS_prctl, [libc::PR_GET_SECUREBITS as usize]).unwrap_or(0)));
    say(format!(
        "no_new_privs={}",
        sys(libc::SYS_prctl, [libc::PR_GET_NO_NEW_PRIVS as usize, 0, 0, 0, 0]).unwrap_or(9)
    ));
    say(format!("pdeathsig={}", {
        let mut signal = 0i32;
        let _ = sys(libc::SYS_prctl, [libc::PR_GET_PDEATHSIG as usize, &raw mut signal as usize]);
        signal
    }));
}

fn mount(source: &CString, target: &CString, kind: &CString, flags: u64) -> Result<usize, i32> {
    let data = c"";
    sys(
        libc::SYS_mount,
        [
            source.as_ptr() as usize,
            target.as_ptr() as usize,
            kind.as_ptr() as usize,
            flags as usize,
            data.as_ptr() as usize,
        ],
    )
}

/// Everything that one may do to mounts, without any right to.
fn mounts() {
    let c = |text: &str| CString::new(text).unwrap_or_default();
    for path in ["/tmp", "/usr", "/dev/null", "/proc", "/"] {
        let path_c = c(path);
        say(format!(
            "umount {path}={}",
            code(sys(libc::SYS_umount2, [path_c.as_ptr() as usize, libc::MNT_DETACH as usize]))
        ));
        say(format!("remount {path}={}", code(mount(&c(""), &path_c, &c(""), libc::MS_REMOUNT | libc::MS_BIND))));
        say(format!("move {path}={}", code(mount(&path_c, &c("/tmp"), &c(""), libc::MS_MOVE))));
        say(format!("bind {path}={}", code(mount(&path_c, &c("/tmp"), &c(""), libc::MS_BIND))));
        say(format!("cover {path}={}", code(mount(&c("t"), &path_c, &c("tmpfs"), 0))));
    }
    say(format!("pivot_root={}", code(sys(libc::SYS_pivot_root, [c".".as_ptr() as usize, c".".as_ptr() as usize]))));
    say(format!("chroot={}", code(sys(libc::SYS_chroot, [c"/tmp".as_ptr() as usize]))));
    let tree = sys(libc::SYS_open_tree, [AT_CWD, c"/usr".as_ptr() as usize, libc::OPEN_TREE_CLONE as usize]);
    say(format!("open_tree={}", code(tree)));
    say(format!("fsopen={}", code(sys(libc::SYS_fsopen, [c"tmpfs".as_ptr() as usize, 0]))));
}

/// Becomes all-powerful in a user and mount namespace of its own, and then tries to change
/// what the sandbox has mounted.
fn escape() {
    let flags = (libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as usize;
    let entered = sys(libc::SYS_unshare, [flags]);
    say(format!("unshare={}", code(entered)));
    if entered.is_err() {
        return;
    }
    let c = |text: &str| CString::new(text).unwrap_or_default();
    for path in ["/tmp", "/usr", "/dev/null", "/proc", "/hidden", "/"] {
        let path_c = c(path);
        say(format!(
            "umount {path}={}",
            code(sys(libc::SYS_umount2, [path_c.as_ptr() as usize, libc::MNT_DETACH as usize]))
        ));
        let remount = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_NOSUID | libc::MS_NODEV;
        say(format!("remount {path}={}", code(mount(&c(""), &path_c, &c(""), remount))));
        say(format!("move {path}={}", code(mount(&path_c, &c("/tmp"), &c(""), libc::MS_MOVE))));
    }
    // A bind without what is mounted below it would uncover what that hides.
    say(format!("bind /={}", code(mount(&c("/"), &c("/tmp"), &c(""), libc::MS_BIND))));
    let tree = sys(libc::SYS_open_tree, [AT_CWD, c"/".as_ptr() as usize, libc::OPEN_TREE_CLONE as usize]);
    say(format!("open_tree /={}", code(tree)));
    say(format!("write={}", code(open(&c("/usr/millibox-was-here"), libc::O_WRONLY | libc::O_CREAT))));
    say(format!("secret={}", code(open(&c("/hidden/secret"), libc::O_RDONLY))));
}

/// With namespaces of its own: a cgroup file system, a cgroup in it, and processes in that.
fn hostile_cgroup() {
    let flags = (libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWCGROUP) as usize;
    say(format!("unshare={}", code(sys(libc::SYS_unshare, [flags]))));
    let c = |text: &str| CString::new(text).unwrap_or_default();
    for (kind, options) in [("cgroup2", ""), ("cgroup", "memory"), ("cgroup", "pids")] {
        let mounted = sys(
            libc::SYS_mount,
            [
                c"none".as_ptr() as usize,
                c"/tmp".as_ptr() as usize,
                c(kind).as_ptr() as usize,
                0,
                c(options).as_ptr() as usize,
            ],
        );
        say(format!("mount {kind} {options}={}", code(mounted)));
        if mounted.is_err() {
            continue;
        }
        let made = mkdir(c"/tmp/evil");
        say(format!("mkdir {kind} {options}={}", code(made)));
        for file in ["/tmp/memory.max", "/tmp/pids.max", "/tmp/memory.limit_in_bytes", "/tmp/cgroup.procs"] {
            if let Ok(fd) = open(&c(file), libc::O_WRONLY) {
                let value: &[u8] = if file.ends_with("procs") { b"0" } else { b"max" };
                say(format!("write {file}={}", code(write_all(fd, value))));
            }
        }
        if let Ok(fd) = open(&c("/tmp/evil/cgroup.procs"), libc::O_WRONLY) {
            say(format!("join {kind}={}", code(write_all(fd, b"0"))));
        }
    }
}

fn keyring(description: &CString) {
    // keyctl(KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING or USER or USER_SESSION, "user", ...)
    for (name, ring) in [("session", -3isize), ("user", -4), ("user_session", -5)] {
        let kind = c"user";
        let answer =
            sys(libc::SYS_keyctl, [10, ring as usize, kind.as_ptr() as usize, description.as_ptr() as usize, 0]);
        say(format!("{name}={}", code(answer)));
    }
}

// --- network ---------------------------------------------------------------------------

/// The loopback address and a port: 127.0.0.1, ::1, or any other v4 address.
fn address(host: &str, port: usize) -> (usize, Vec<u8>) {
    let port = (port as u16).to_be_bytes();
    match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V6(ip)) => {
            let mut bytes = (libc::AF_INET6 as u16).to_ne_bytes().to_vec();
            bytes.extend(port);
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.extend([0; 4]);
            (libc::AF_INET6 as usize, bytes)
        }
        Ok(std::net::IpAddr::V4(ip)) => {
            let mut bytes = (libc::AF_INET as u16).to_ne_bytes().to_vec();
            bytes.extend(port);
            bytes.extend(ip.octets());
            bytes.extend([0; 8]);
            (libc::AF_INET as usize, bytes)
        }
        Err(_) => exit(98),
    }
}

fn connect(host: &str, port: usize) -> Result<usize, i32> {
    let (family, bytes) = address(host, port);
    let socket = sys(libc::SYS_socket, [family, libc::SOCK_STREAM as usize, 0])?;
    sys(libc::SYS_connect, [socket, bytes.as_ptr() as usize, bytes.len()])
}

fn listen(host: &str, port: usize) -> Result<usize, i32> {
    let (family, bytes) = address(host, port);
    let socket = sys(libc::SYS_socket, [family, libc::SOCK_STREAM as usize, 0])?;
    sys(libc::SYS_bind, [socket, bytes.as_ptr() as usize, bytes.len()])?;
    sys(libc::SYS_listen, [socket, 8])?;
    Ok(socket)
}

/// A server and its client in one run.
fn serve(host: &str) {
    let talk = || -> Result<usize, i32> {
        let server = listen(host, 4444)?;
        let child = fork()?;
        if child == 0 {
            let (family, bytes) = address(host, 4444);
            let socket = sys(libc::SYS_socket, [family, libc::SOCK_STREAM as usize, 0])?;
            sys(libc::SYS_connect, [socket, bytes.as_ptr() as usize, bytes.len()])?;
            write_all(socket, b"hello")?;
            exit(0);
        }
        let connection = sys(libc::SYS_accept4, [server, 0, 0, 0])?;
        let mut bytes = [0u8; 5];
        let length = sys(libc::SYS_read, [connection, bytes.as_mut_ptr() as usize, 5])?;
        wait_for(child);
        Ok(length)
    };
    match talk() {
        Ok(length) => say(format!("bytes={length}\nerrno=0")),
        Err(errno) => say(format!("bytes=0\nerrno={errno}")),
    }
}

/// Interfaces that are up, by SIOCGIFNAME and SIOCGIFFLAGS.
fn interfaces() {
    // Any socket will do for that.
    let Ok(socket) = sys(libc::SYS_socket, [libc::AF_UNIX as usize, libc::SOCK_DGRAM as usize, 0]) else {
        return say("errno=1");
    };
    let (mut there, mut up) = (0, Vec::new());
    for index in 1..64i32 {
        let mut request = [0u8; 40];
        request[16..20].copy_from_slice(&index.to_ne_bytes());
        if sys(libc::SYS_ioctl, [socket, 0x8910, request.as_mut_ptr() as usize]).is_err() {
            continue;
        }
        there += 1;
        let name = String::from_utf8_lossy(&request[..16]).trim_end_matches('\0').to_owned();
        request[16..].fill(0);
        if sys(libc::SYS_ioctl, [socket, 0x8913, request.as_mut_ptr() as usize]).is_ok()
            && i16::from_ne_bytes([request[16], request[17]]) & 1 != 0
        {
            up.push(name);
        }
    }
    say(format!("there={there}\nup={}", up.join(",")));
}

fn abstract_socket(name: &str, call: i64) -> Result<usize, i32> {
    let mut bytes = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    bytes.push(0);
    bytes.extend(name.as_bytes());
    let socket = sys(libc::SYS_socket, [libc::AF_UNIX as usize, libc::SOCK_STREAM as usize, 0])?;
    sys(call, [socket, bytes.as_ptr() as usize, bytes.len()])?;
    if call == libc::SYS_bind { sys(libc::SYS_listen, [socket, 8]) } else { Ok(0) }
}

// --- IPC -------------------------------------------------------------------------------

/// Makes (`make`) or looks for (`look`) one object of each kind, under a key.
fn ipc(what: &str, key: usize) {
    let flags = if what == "make" { libc::IPC_CREAT as usize | 0o666 } else { 0 };
    say(format!("shm={}", code(sys(libc::SYS_shmget, [key, 4096, flags]))));
    say(format!("sem={}", code(sys(libc::SYS_semget, [key, 1, flags]))));
    let queue = sys(libc::SYS_msgget, [key, flags]);
    say(format!("msg={}", code(queue)));
    if let (Ok(queue), "make") = (queue, what) {
        let message = [1u64, 2];
        say(format!("msgsnd={}", code(sys(libc::SYS_msgsnd, [queue, message.as_ptr() as usize, 8, 0]))));
    }
    let name = CString::new(format!("millibox{key}")).unwrap_or_default();
    let open = if what == "make" { libc::O_CREAT | libc::O_RDWR } else { libc::O_RDWR } as usize;
    say(format!("mq={}", code(sys(libc::SYS_mq_open, [name.as_ptr() as usize, open, 0o666, 0]))));
}

/// Uses the stack: about one KiB for each step.
#[inline(never)]
fn deep(steps: usize) -> usize {
    let mut frame = [0u8; 1024];
    std::hint::black_box(&mut frame);
    if steps == 0 {
        return 0;
    }
    let below = deep(steps - 1) + 1;
    std::hint::black_box(&frame);
    below
}
