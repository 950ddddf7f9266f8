//! Prints the state that the process inherited.

use crate::files::{cat, ls};
use crate::sys::*;
use std::ffi::CString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    match command {
        "fds" => print_descriptors(),
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
        "cwd" => print_line(format!(
            "cwd={}",
            std::env::current_dir().unwrap_or_default().display()
        )),
        "limits" => print_limits(),
        "umask" => print_line(format!(
            "umask={:o}",
            syscall(libc::SYS_umask, [0]).unwrap_or(0)
        )),
        "ids" => print_ids(),
        "signals" => print_signals(),
        "caps" => print_capabilities(),
        "scheduling" => {
            // The system call returns 20 - nice.
            print_line(format!(
                "nice={}",
                20 - syscall(libc::SYS_getpriority, [0, 0]).unwrap_or(0) as i64
            ));
            print_line(format!(
                "policy={}",
                syscall(libc::SYS_sched_getscheduler, [0]).unwrap_or(99)
            ));
            print_line(format!(
                "personality={:x}",
                syscall(libc::SYS_personality, [0xffff_ffff]).unwrap_or(99)
            ));
            print_line(format!(
                "ioprio={}",
                syscall(libc::SYS_ioprio_get, [1, 0]).unwrap_or(99)
            ));
            print_line(format!(
                "no_huge_pages={}",
                syscall(libc::SYS_prctl, [libc::PR_GET_THP_DISABLE as usize]).unwrap_or(99)
            ));
            let mut mode = 0i32;
            let result = syscall(libc::SYS_get_mempolicy, [&raw mut mode as usize]);
            print_line(format!("mempolicy={}", result.map_or(99, |_| mode)));
            let mut mask = [0u64; 128];
            let _ = syscall(
                libc::SYS_sched_getaffinity,
                [0, 1024, &raw mut mask as usize],
            );
            let cpus: Vec<String> = (0..8192)
                .filter(|cpu| mask[cpu / 64] & 1 << (cpu % 64) != 0)
                .map(|cpu: usize| cpu.to_string())
                .collect();
            print_line(format!("cpus={}", cpus.join(",")));
        }
        "host" => {
            let mut name = std::mem::MaybeUninit::<libc::utsname>::zeroed();
            let _ = syscall(libc::SYS_uname, [name.as_mut_ptr() as usize]);
            // SAFETY: an all-zero utsname is valid, and the kernel fills it in.
            let name = unsafe { name.assume_init() };
            let text = |field: &[libc::c_char]| -> String {
                field
                    .iter()
                    .take_while(|c| **c != 0)
                    .map(|c| *c as u8 as char)
                    .collect()
            };
            print_line(format!(
                "host={}\ndomain={}",
                text(&name.nodename),
                text(&name.domainname)
            ));
        }
        // The state that every run must find, regardless of earlier runs. Tests may trace each
        // system call, so the command makes few of them.
        "walls" => {
            for command in ["umask", "ids", "scheduling", "host", "cwd"] {
                run(command, arguments);
            }
            print_line(format!(
                "securebits={:x}",
                syscall(libc::SYS_prctl, [libc::PR_GET_SECUREBITS as usize]).unwrap_or(99)
            ));
            print_line(format!(
                "leads={}",
                syscall(libc::SYS_getsid, [0]) == syscall(libc::SYS_getpid, [])
            ));
            ls("/proc/self/fd");
            for file in [
                "mountinfo",
                "status",
                "limits",
                "oom_score_adj",
                "net/dev",
                "cgroup",
            ] {
                cat(&CString::new(format!("/proc/self/{file}")).unwrap_or_default());
            }
        }
        _ => return false,
    }
    true
}

/// Prints the file type, access mode and device of each open descriptor.
fn print_descriptors() {
    for fd in 0..4096usize {
        if let Ok(flags) = syscall(libc::SYS_fcntl, [fd, libc::F_GETFL as usize]) {
            let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
            // SAFETY: the buffer is valid, and an all-zero stat is valid.
            let stat = unsafe {
                libc::fstat(fd as i32, stat.as_mut_ptr());
                stat.assume_init()
            };
            let device = stat.st_rdev;
            print_line(format!(
                "{fd}={:o} {} {}:{}",
                stat.st_mode & libc::S_IFMT,
                flags as i32 & libc::O_ACCMODE,
                libc::major(device),
                libc::minor(device)
            ));
        }
    }
}

/// Prints the soft and hard limit of each resource.
fn print_limits() {
    for resource in 0..16usize {
        let mut limit = [0u64; 2];
        let _ = syscall(
            libc::SYS_prlimit64,
            [0, resource, 0, limit.as_mut_ptr() as usize],
        );
        print_line(format!("{resource}={} {}", limit[0], limit[1]));
    }
}

/// Prints the real, effective and saved ids, and the number of mapped groups.
fn print_ids() {
    for (name, call) in [("uid", libc::SYS_getresuid), ("gid", libc::SYS_getresgid)] {
        let mut values = [0u32; 3];
        let address = |index: usize| &raw const values[index] as usize;
        let _ = syscall(call, [address(0), address(1), address(2)]);
        let values = std::hint::black_box(&mut values);
        print_line(format!("{name}={} {} {}", values[0], values[1], values[2]));
    }
    let mut groups = [0u32; 64];
    let count = syscall(libc::SYS_getgroups, [64, groups.as_mut_ptr() as usize]).unwrap_or(99);
    // An unmapped group appears as the overflow group.
    let mapped = groups[..count.min(64)]
        .iter()
        .filter(|group| **group != 65534)
        .count();
    print_line(format!("groups={mapped}"));
}

/// Prints blocked and pending signals, signals with a changed action, and the alternate stack.
fn print_signals() {
    let mut blocked = 0u64;
    let _ = syscall(
        libc::SYS_rt_sigprocmask,
        [0, 0, &raw mut blocked as usize, 8],
    );
    print_line(format!("blocked={blocked:x}"));
    let mut pending = 0u64;
    let _ = syscall(libc::SYS_rt_sigpending, [&raw mut pending as usize, 8]);
    print_line(format!("pending={pending:x}"));
    let mut changed = Vec::new();
    for signal in 1..=64usize {
        let mut action = [0usize; 4];
        // The C library reserves 32 and 33, but installs their handlers only with threads.
        let _ = syscall(
            libc::SYS_rt_sigaction,
            [signal, 0, action.as_mut_ptr() as usize, 8],
        );
        if action[0] != 0 {
            changed.push(signal.to_string());
        }
    }
    print_line(format!("changed={}", changed.join(",")));
    let mut stack = [0usize; 3];
    let _ = syscall(libc::SYS_sigaltstack, [0, stack.as_mut_ptr() as usize]);
    print_line(format!("stack={}", stack[0]));
}

/// Prints the capability sets from system calls, because /proc may be missing.
fn print_capabilities() {
    let header = [0x2008_0522u32, 0];
    let mut data = [0u32; 6];
    let _ = syscall(
        libc::SYS_capget,
        [header.as_ptr() as usize, data.as_mut_ptr() as usize],
    );
    print_line(format!(
        "effective={:x}\npermitted={:x}\ninheritable={:x}",
        data[0] | data[3],
        data[1] | data[4],
        data[2] | data[5]
    ));
    let bounding = (0..41)
        .filter(|capability| {
            syscall(
                libc::SYS_prctl,
                [libc::PR_CAPBSET_READ as usize, *capability],
            ) == Ok(1)
        })
        .count();
    let ambient = (0..41)
        .filter(|capability| {
            syscall(
                libc::SYS_prctl,
                [libc::PR_CAP_AMBIENT as usize, 1, *capability, 0, 0],
            ) == Ok(1)
        })
        .count();
    print_line(format!("bounding={bounding}\nambient={ambient}"));
    print_line(format!(
        "securebits={:x}",
        syscall(libc::SYS_prctl, [libc::PR_GET_SECUREBITS as usize]).unwrap_or(0)
    ));
    print_line(format!(
        "no_new_privs={}",
        syscall(
            libc::SYS_prctl,
            [libc::PR_GET_NO_NEW_PRIVS as usize, 0, 0, 0, 0]
        )
        .unwrap_or(9)
    ));
    print_line(format!("pdeathsig={}", {
        let mut signal = 0i32;
        let _ = syscall(
            libc::SYS_prctl,
            [libc::PR_GET_PDEATHSIG as usize, &raw mut signal as usize],
        );
        signal
    }));
}
