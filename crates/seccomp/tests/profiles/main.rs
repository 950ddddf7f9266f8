//! Checks that the built-in policies return the expected actions.

mod calls;
mod decisions;
mod loopback;
mod tables;

use millibox_seccomp::{
    Action, Arch, Data, Program, compile, constant_action, profile, profile_names, run,
};

/// The calls of the sandbox between attaching the filter and executing the program.
const SANDBOX_CALLS: &[&str] = &[
    "recvmsg",
    "sendmsg",
    "sendto",
    "recvfrom",
    "read",
    "write",
    "pread64",
    "pwrite64",
    "dup3",
    "close",
    "close_range",
    "chdir",
    "fchdir",
    "getrlimit",
    "sched_yield",
    "clock_gettime",
    "getpid",
    "execve",
    "execveat",
    "exit_group",
    "exit",
    "faccessat",
    "faccessat2",
    "newfstatat",
    "setsid",
    "rt_sigprocmask",
    "rt_sigaction",
];

fn compiled(name: &str, arch: Arch) -> Program {
    compile(&profile(name).expect("a profile"), arch).expect("short enough")
}

/// Returns the action of profile `name` for a call, which must be the same on every architecture.
fn answer(name: &str, call: &str, args: &[u64]) -> u32 {
    let mut answers = Vec::new();
    for arch in Arch::ALL {
        let Some(nr) = arch.number(call) else {
            continue;
        };
        let mut data = Data {
            nr,
            arch: arch.audit_value(),
            ..Data::default()
        };
        data.args[..args.len()].copy_from_slice(args);
        answers.push(run(&compiled(name, arch), &data));
    }
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{call}: {answers:x?}"
    );
    answers[0]
}

fn action(text: &str) -> u32 {
    text.parse::<Action>().expect("an action").value()
}

#[test]
fn every_profile_compiles_and_has_its_name() {
    assert_eq!(profile_names().collect::<Vec<_>>(), ["default", "strict"]);
    for name in profile_names() {
        let policy = profile(name).expect("a profile");
        assert_eq!(policy.name(), name);
        for arch in Arch::ALL {
            let program = compiled(name, arch);
            println!("{name} on {arch}: {} instructions", program.len());
            assert!(
                program.len() <= 220,
                "{name} on {arch}: {} instructions",
                program.len()
            );
            assert_eq!(Program::from_bytes(&program.as_bytes()), Ok(program));
        }
    }
    assert!(profile("none").is_none());
}

#[test]
fn calls_of_sandbox_are_allowed() {
    for name in profile_names() {
        for arch in Arch::ALL {
            let program = compiled(name, arch);
            for call in SANDBOX_CALLS {
                let nr = arch.number(call).expect(call);
                assert_eq!(
                    constant_action(&program, arch, nr),
                    Some(Action::Allow.value()),
                    "{name} on {arch}: {call}"
                );
            }
        }
    }
}

#[test]
fn common_calls_are_constant() {
    let calls = [
        "read",
        "write",
        "mmap",
        "openat",
        "close",
        "futex",
        "epoll_pwait",
        "munmap",
    ];
    for arch in Arch::ALL {
        let program = compiled("default", arch);
        for call in calls {
            let nr = arch.number(call).expect(call);
            assert_eq!(
                constant_action(&program, arch, nr),
                Some(Action::Allow.value()),
                "{arch}: {call}"
            );
        }
    }
}

#[test]
fn only_calls_with_conditions_read_arguments() {
    for (name, expected) in [
        (
            "default",
            &[
                "clone",
                "fadvise64",
                "fallocate",
                "fcntl",
                "ioctl",
                "madvise",
                "mincore",
                "mremap",
                "msync",
                "personality",
                "prctl",
                "preadv2",
                "prlimit64",
                "pwritev2",
                "sched_setattr",
                "sched_setparam",
                "sched_setscheduler",
                "seccomp",
                "semop",
                "semtimedop",
                "setpriority",
                "setrlimit",
                "setsockopt",
                "socket",
                "socketpair",
            ][..],
        ),
        (
            "strict",
            &[
                "fadvise64",
                "fcntl",
                "madvise",
                "mincore",
                "mremap",
                "msync",
                "open",
                "openat",
                "prctl",
                "preadv2",
                "prlimit64",
                "pwritev2",
                "setrlimit",
            ][..],
        ),
    ] {
        for arch in Arch::ALL {
            let program = compiled(name, arch);
            let reading: Vec<&str> = arch
                .syscalls()
                .filter(|&(_, nr)| constant_action(&program, arch, nr).is_none())
                .map(|(name, _)| name)
                .collect();
            let expected: Vec<&str> = expected
                .iter()
                .copied()
                .filter(|call| arch.number(call).is_some())
                .collect();
            assert_eq!(reading, expected, "{name} on {arch}");
        }
    }
}

#[test]
fn unnamed_numbers_get_default_action() {
    for name in profile_names() {
        for arch in Arch::ALL {
            let program = compiled(name, arch);
            for nr in [
                470,
                600,
                1000,
                0x3fff_ffff,
                0x4000_0000,
                0x4000_0001,
                0x7fff_ffff,
                u32::MAX,
            ] {
                let answer = constant_action(&program, arch, nr);
                assert_eq!(
                    answer,
                    Some(action("errno:ENOSYS")),
                    "{name} on {arch}: {nr:#x}"
                );
            }
            for foreign in [0, 0x4000_0003, 0x4000_0028, u32::MAX] {
                let data = Data {
                    arch: foreign,
                    ..Data::default()
                };
                assert_eq!(run(&program, &data), action("kill_process"));
            }
        }
    }
}
