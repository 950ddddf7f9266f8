//! Prints and changes everything that a process can inherit.
//!
//! docs/security/inheritance.md lists the attributes.

use crate::environment;
use crate::sys::*;
use std::ffi::{CStr, CString};

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    match command {
        "attributes" => print_attributes(arguments),
        "change-attributes" => change_attributes(),
        _ => return false,
    }
    true
}

/// Announces that this process is ready, as the template of a prepared program. Returns the
/// arguments of a copy; `None` if this process is no template.
pub fn become_template() -> Option<Vec<String>> {
    type Ready = unsafe extern "C" fn(*mut u8, usize, *mut u32) -> isize;
    let path = c"/.millibox/libmillibox_ready.so".as_ptr();
    let mut strings = vec![0u8; 1 << 16];
    let mut counts = [0u32; 2];
    // SAFETY: the library has this function, and the buffers have the sizes that are passed.
    let length = unsafe {
        let library = libc::dlopen(path, libc::RTLD_NOW);
        if library.is_null() {
            return None;
        }
        let ready = libc::dlsym(library, c"millibox_ready".as_ptr());
        if ready.is_null() {
            return None;
        }
        let ready = std::mem::transmute::<*mut libc::c_void, Ready>(ready);
        ready(strings.as_mut_ptr(), strings.len(), counts.as_mut_ptr())
    };
    strings.truncate(usize::try_from(length).ok()?);
    Some(
        strings
            .split(|&byte| byte == 0)
            .take(counts[0] as usize)
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .collect(),
    )
}

/// Queries of prctl(2) without arguments: the name and the number.
const QUERIES: [(&str, usize); 13] = [
    ("no_new_privs", 39),
    ("dumpable", 3),
    ("timer_slack", 30),
    ("no_huge_pages", 42),
    ("memory_error_policy", 34),
    ("keep_capabilities", 7),
    ("securebits", 27),
    ("io_flusher", 58),
    ("write_or_execute", 66),
    ("merged_memory", 68),
    ("seccomp", 21),
    ("stores_bypassed", 52),
    ("system_timers", 77),
];

/// Files in /proc/self.
const FILES: [&CStr; 9] = [
    c"/proc/self/oom_score_adj",
    c"/proc/self/coredump_filter",
    c"/proc/self/timerslack_ns",
    c"/proc/self/comm",
    c"/proc/self/loginuid",
    c"/proc/self/sessionid",
    c"/proc/self/attr/current",
    c"/proc/self/timens_offsets",
    c"/proc/self/cgroup",
];

fn result(value: Result<usize, i32>) -> String {
    match value {
        Ok(value) => value.to_string(),
        Err(errno) => format!("errno {errno}"),
    }
}

fn print_attributes(arguments: &Arguments) {
    for command in [
        "umask",
        "ids",
        "caps",
        "signals",
        "limits",
        "scheduling",
        "cwd",
        "env",
    ] {
        environment::run(command, arguments);
    }
    for (name, number) in QUERIES {
        print_line(format!(
            "{name}={}",
            result(syscall(libc::SYS_prctl, [number]))
        ));
    }
    // PR_GET_PDEATHSIG, PR_GET_CHILD_SUBREAPER and PR_GET_TSC.
    for (name, number) in [("death_signal", 2), ("subreaper", 37), ("tsc", 25)] {
        let mut value = 0i32;
        let answer = syscall(libc::SYS_prctl, [number, &raw mut value as usize]);
        print_line(format!("{name}={} {value}", result(answer)));
    }
    let id = syscall(libc::SYS_getpid, []);
    for (name, call) in [("session", libc::SYS_getsid), ("group", libc::SYS_getpgid)] {
        print_line(format!("{name}={}", syscall(call, [0]) == id));
    }
    for timer in 0..3 {
        let mut value = [0u64; 4];
        let _ = syscall(libc::SYS_getitimer, [timer, &raw mut value as usize]);
        print_line(format!("timer_{timer}={value:?}"));
    }
    // The first timer of a process has the number 0.
    let mut timer = 99i32;
    let answer = syscall(libc::SYS_timer_create, [1, 0, &raw mut timer as usize]);
    print_line(format!("timers={} {timer}", result(answer)));
    let mut slice = [0u64; 7];
    let answer = syscall(
        libc::SYS_sched_getattr,
        [0, &raw mut slice as usize, size_of_val(&slice), 0],
    );
    print_line(format!(
        "scheduling_attributes={} {:x?}",
        result(answer),
        &slice[..6]
    ));
    // KEYCTL_GET_KEYRING_ID of thread, process and session, without creating them.
    for keyring in 1..=3isize {
        let answer = syscall(libc::SYS_keyctl, [0, keyring.wrapping_neg() as usize, 0]);
        let exists = answer.map(|_| 1);
        print_line(format!("keyring_{keyring}={}", result(exists)));
    }
    for fd in 0..256usize {
        let query = |operation: i32| result(syscall(libc::SYS_fcntl, [fd, operation as usize, 0]));
        let flags = query(libc::F_GETFD);
        if flags != format!("errno {}", libc::EBADF) {
            let state = [libc::F_GETFL, 9, 11, libc::F_GETLEASE]
                .map(query)
                .join(" ");
            print_line(format!("descriptor_{fd}={flags} {state}"));
        }
    }
    for file in FILES {
        print_line(file.to_string_lossy());
        crate::files::cat(&CString::from(file));
        print_line("");
    }
}

fn change_attributes() {
    let call = |number, arguments: &[usize]| {
        let mut all = [0; 5];
        all[..arguments.len()].copy_from_slice(arguments);
        let _ = syscall(number, all);
    };
    for process in [0, 1] {
        for signal in 1..=64 {
            if process == 1 {
                call(libc::SYS_kill, &[1, signal]);
            }
        }
        call(libc::SYS_setpriority, &[0, process, 19]);
        call(libc::SYS_ioprio_set, &[1, process, 3 << 13]);
        let normal = 0u32;
        for policy in [libc::SCHED_BATCH, libc::SCHED_IDLE] {
            let parameters = &raw const normal as usize;
            call(
                libc::SYS_sched_setscheduler,
                &[process, policy as usize, parameters],
            );
        }
        let first_cpu = 1u64;
        call(
            libc::SYS_sched_setaffinity,
            &[process, 8, &raw const first_cpu as usize],
        );
        for resource in 0..16 {
            let limit = [20u64, 20];
            let address = limit.as_ptr() as usize;
            // RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK and RLIMIT_CPU would end the program.
            if ![9, 2, 3, 0].contains(&resource) {
                call(libc::SYS_prlimit64, &[process, resource, address, 0]);
            }
        }
    }
    call(libc::SYS_umask, &[0]);
    let name = c"changed".as_ptr() as usize;
    for (option, value) in [
        (15, name),
        (1, libc::SIGKILL as usize),
        (29, 1_000_000_000),
        (41, 1),
        (36, 1),
        (33, 1),
        (8, 1),
        (57, 1),
        (67, 1),
    ] {
        let second = if option == 33 { 1 } else { 0 };
        call(libc::SYS_prctl, &[option, value, second]);
    }
    // PR_SET_SPECULATION_CTRL for stores and indirect branches: PR_SPEC_DISABLE.
    for feature in [0, 1] {
        call(libc::SYS_prctl, &[53, feature, 4]);
    }
    // PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE and PR_SET_MDWE.
    call(libc::SYS_prctl, &[38, 1]);
    call(libc::SYS_personality, &[libc::ADDR_NO_RANDOMIZE as usize]);
    let node = 1u64;
    call(libc::SYS_set_mempolicy, &[1, &raw const node as usize, 2]);
    let blocked = u64::MAX;
    let address = &raw const blocked as usize;
    call(
        libc::SYS_rt_sigprocmask,
        &[libc::SIG_SETMASK as usize, address, 0, 8],
    );
    for signal in 1..=64 {
        let ignored = [1u64, 0, 0, 0];
        call(
            libc::SYS_rt_sigaction,
            &[signal, ignored.as_ptr() as usize, 0, 8],
        );
    }
    let stack = [map_memory(1 << 16).unwrap_or(0), 0, 1 << 16];
    call(libc::SYS_sigaltstack, &[stack.as_ptr() as usize, 0]);
    for timer in 0..3 {
        let hour = [3600u64; 4];
        call(libc::SYS_setitimer, &[timer, hour.as_ptr() as usize, 0]);
    }
    let mut timer = 0i32;
    call(libc::SYS_timer_create, &[1, 0, &raw mut timer as usize]);
    call(libc::SYS_chdir, &[c"/tmp".as_ptr() as usize]);
    let _ = fork().map(|pid| {
        if pid == 0 {
            exit(0)
        }
    });
    for fd in 0..3 {
        for (operation, value) in [
            (libc::F_SETFL, libc::O_NONBLOCK | libc::O_APPEND),
            (10, 40),
            (8, 2),
            (libc::F_SETFD, 1),
        ] {
            call(libc::SYS_fcntl, &[fd, operation as usize, value as usize]);
        }
        call(
            libc::SYS_flock,
            &[fd, libc::LOCK_EX as usize | libc::LOCK_NB as usize],
        );
    }
    for (name, text) in [
        (c"oom_score_adj", "1000"),
        (c"coredump_filter", "0x1"),
        (c"timerslack_ns", "1000000000"),
        (c"comm", "changed"),
        (c"autogroup", "19"),
    ] {
        for process in ["self", "1"] {
            let path = format!("/proc/{process}/{}", name.to_string_lossy());
            let path = CString::new(path).unwrap_or_default();
            if let Ok(fd) = open(&path, libc::O_WRONLY) {
                let _ = write_all(fd, text.as_bytes());
            }
        }
    }
    // KEYCTL_JOIN_SESSION_KEYRING, and a key in the keyring of the session.
    let key = [c"user".as_ptr() as usize, name, name, 7];
    let session = (-3isize) as usize;
    call(
        libc::SYS_add_key,
        &[key[0], key[1], key[2], key[3], session],
    );
    call(libc::SYS_keyctl, &[1, 0]);
    print_line("changed=1");
}
