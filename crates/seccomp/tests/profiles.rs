//! The built-in policies return the expected actions.

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

/// The action of profile `name` for a call, which must be the same on every architecture.
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
fn mincore_of_1_gib_is_refused() {
    for name in profile_names() {
        for (length, expected) in [
            (1 << 20, "allow"),
            ((1 << 30) - 1, "allow"),
            (1 << 30, "errno:ENOMEM"),
            (1 << 44, "errno:ENOMEM"),
        ] {
            assert_eq!(
                answer(name, "mincore", &[0, length, 0]),
                action(expected),
                "{name}: {length}"
            );
        }
    }
}

#[test]
fn mremap_of_16_gigabytes_is_refused() {
    const BOUND: u64 = 16 << 30;
    for name in profile_names() {
        for (old_length, expected) in [
            (1 << 20, "allow"),
            (BOUND - 1, "allow"),
            (BOUND, "errno:ENOMEM"),
            (1 << 46, "errno:ENOMEM"),
        ] {
            let args = [0, old_length, BOUND, 1];
            assert_eq!(
                answer(name, "mremap", &args),
                action(expected),
                "{name}: {old_length}"
            );
        }
    }
}

#[test]
fn madvise_with_guard_or_unknown_advice_is_refused() {
    for name in profile_names() {
        // MADV_DONTNEED_LOCKED; MADV_COLLAPSE, HWPOISON, GUARD_INSTALL, GUARD_REMOVE, and one of a
        // later kernel.
        for (advice, expected) in [
            (24, "allow"),
            (24 | 1 << 32, "allow"),
            (25, "errno:EINVAL"),
            (100, "errno:EINVAL"),
            (102, "errno:EINVAL"),
            (103, "errno:EINVAL"),
            (102 | 1 << 32, "errno:EINVAL"),
            (103 | 1 << 63, "errno:EINVAL"),
            (104, "errno:EINVAL"),
            (u64::from(u32::MAX), "errno:EINVAL"),
        ] {
            assert_eq!(
                answer(name, "madvise", &[0, 1 << 40, advice]),
                action(expected),
                "{name}: {advice:#x}"
            );
        }
    }
    for (name, expected) in [("default", "errno:EPERM"), ("strict", "errno:ENOSYS")] {
        assert_eq!(
            answer(name, "process_madvise", &[3, 0, 1, 102]),
            action(expected),
            "{name}"
        );
    }
}

#[test]
fn semop_with_more_than_five_operations_is_refused() {
    for call in ["semop", "semtimedop"] {
        for (operations, expected) in [
            (0, "allow"),
            (5, "allow"),
            (5 | 1 << 32, "allow"),
            (6, "errno:E2BIG"),
            (500, "errno:E2BIG"),
            (6 | 1 << 32, "errno:E2BIG"),
            (1 << 31, "errno:E2BIG"),
        ] {
            assert_eq!(
                answer("default", call, &[0, 0, operations]),
                action(expected),
                "{call}: {operations:#x}"
            );
        }
        assert_eq!(
            answer("strict", call, &[0, 0, 1]),
            action("errno:ENOSYS"),
            "{call}"
        );
    }
}

#[test]
fn prctl_with_unknown_options_is_refused() {
    for name in profile_names() {
        // PR_SET_NAME, PR_TIMER_CREATE_RESTORE_IDS, PR_GET_AUXV, PR_SET_PTRACER; PR_FUTEX_HASH,
        // and options of later kernels.
        for (option, expected) in [
            (15, "allow"),
            (77, "allow"),
            (0x4155_5856, "allow"),
            (0x5961_6d61, "allow"),
            (78, "errno:EINVAL"),
            (78 | 1 << 32, "errno:EINVAL"),
            (79, "errno:EINVAL"),
            (0xffff, "errno:EINVAL"),
        ] {
            assert_eq!(
                answer(name, "prctl", &[option, 1, 1 << 24]),
                action(expected),
                "{name}: {option:#x}"
            );
        }
    }
}

#[test]
fn futex_waitv_is_absent() {
    for name in profile_names() {
        assert_eq!(
            answer(name, "futex_waitv", &[0, 128]),
            action("errno:ENOSYS"),
            "{name}"
        );
    }
}

#[test]
fn signals_of_descriptors_are_refused() {
    const F_SETFL: u64 = 4;
    const F_SETOWN: u64 = 8;
    const F_SETOWN_EX: u64 = 15;
    let minus_7 = -7i64 as u64;
    for name in profile_names() {
        // O_NONBLOCK and O_APPEND; O_ASYNC, alone and with O_NONBLOCK.
        for (flags, expected) in [
            (0xc00, "allow"),
            (0xc00 | 1 << 45, "allow"),
            (0x2000, "errno:EPERM"),
            (0x2800, "errno:EPERM"),
            (0x2000 | 1 << 32, "errno:EPERM"),
        ] {
            assert_eq!(
                answer(name, "fcntl", &[3, F_SETFL, flags]),
                action(expected),
                "{name}: {flags:#x}"
            );
            let upper = F_SETFL | 1 << 32;
            assert_eq!(
                answer(name, "fcntl", &[3, upper, flags]),
                action(expected),
                "{name}: {flags:#x}"
            );
        }
    }
    for (command, owner, expected) in [
        (F_SETOWN, 7, "allow"),
        (F_SETOWN, minus_7, "errno:EPERM"),
        (F_SETOWN, minus_7 & 0xffff_ffff, "errno:EPERM"),
        (F_SETOWN | 1 << 32, 1 << 31, "errno:EPERM"),
        (F_SETOWN_EX, 0x1000, "errno:EPERM"),
        (F_SETOWN_EX | 1 << 32, 0x1000, "errno:EPERM"),
    ] {
        assert_eq!(
            answer("default", "fcntl", &[3, command, owner]),
            action(expected),
            "{command:#x} {owner:#x}"
        );
        assert_eq!(
            answer("strict", "fcntl", &[3, command, owner]),
            action("errno:EINVAL")
        );
    }
}

#[test]
fn ioctl_queries_but_cannot_change_terminals() {
    // TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2; SIOCATMARK.
    let allowed = [
        0x5401,
        0x540f,
        0x5413,
        0x541b,
        0x5421,
        0x5450,
        0x5451,
        0x802c_542a,
        0x8905,
    ];
    for request in 0x5400..0x5480u64 {
        let expected = if allowed.contains(&request) {
            "allow"
        } else {
            "errno:EPERM"
        };
        for upper in [0, 1 << 32, 0xffff_ffff << 32] {
            assert_eq!(
                answer("default", "ioctl", &[0, request | upper]),
                action(expected),
                "{request:#x}"
            );
        }
        assert_eq!(
            answer("strict", "ioctl", &[0, request]),
            action("errno:ENOTTY"),
            "{request:#x}"
        );
    }
    for request in allowed {
        assert_eq!(
            answer("default", "ioctl", &[0, request]),
            action("allow"),
            "{request:#x}"
        );
    }
    // TCSETS2, TCSETSW2, TCSETSF2; TIOCSPTLCK, TIOCSIG; the last with a size unknown to the kernel.
    for request in [
        0x402c_542b,
        0x402c_542c,
        0x402c_542d,
        0x4004_5431,
        0x4004_5436,
        0x4004_5412,
    ] {
        assert_eq!(
            answer("default", "ioctl", &[0, request]),
            action("errno:EPERM"),
            "{request:#x}"
        );
    }
}

#[test]
fn core_limit_stays_and_call_reports_success() {
    for name in profile_names() {
        for (call, args, expected) in [
            ("setrlimit", &[4, 0x1000][..], "errno:0"),
            ("setrlimit", &[4 | 1 << 32, 0x1000], "errno:0"),
            ("setrlimit", &[7, 0x1000], "allow"),
            ("prlimit64", &[0, 4, 0x1000, 0], "errno:0"),
            ("prlimit64", &[7, 4, 1 << 32, 0x2000], "errno:0"),
            // These only query.
            ("prlimit64", &[0, 4, 0, 0x2000], "allow"),
            ("prlimit64", &[0, 7, 0x1000, 0], "allow"),
            (
                "prctl",
                &[0x5356_4d41, 0, 0x1000, 4096, 0x2000],
                "errno:EINVAL",
            ),
        ] {
            assert_eq!(
                answer(name, call, args),
                action(expected),
                "{name}: {call} {args:x?}"
            );
        }
    }
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
fn loopback_adds_three_socket_families() {
    for (name, inside) in [("default", "allow"), ("strict", "errno:EPERM")] {
        for arch in Arch::ALL {
            let policy = millibox_seccomp::profile_with_loopback(name).expect("a profile");
            assert_eq!(policy.name(), name);
            let (with, without) = (
                compile(&policy, arch).expect("short enough"),
                compiled(name, arch),
            );
            for (call, nr) in arch.syscalls() {
                for family in [0, 1, 2, 3, 10, 16, 17, 40, 2 | 1 << 32, u64::MAX] {
                    // The type's default, TCP; UDP, which is not for streams, ICMP, SCTP, MPTCP.
                    for protocol in [0, 6, 17, 6 | 1 << 32, 1, 132, 262] {
                        let args = [family, 1, protocol, 0, 0, 0];
                        let data = Data {
                            nr,
                            arch: arch.audit_value(),
                            args,
                            ..Data::default()
                        };
                        let internet = [2, 10].contains(&(family as u32));
                        let routes = family == 16 && protocol == 0;
                        let new = ["socket", "socketpair"].contains(&call) && (internet || routes);
                        let expected = match protocol as u32 {
                            _ if !new => run(&without, &data),
                            0 | 6 => action(inside),
                            _ if inside == "allow" => action("errno:EPROTONOSUPPORT"),
                            _ => action(inside),
                        };
                        assert_eq!(
                            run(&with, &data),
                            expected,
                            "{name} on {arch}: {call} {family:#x} {protocol:#x}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn loopback_allows_only_streams_and_datagrams() {
    for arch in Arch::ALL {
        let policy = millibox_seccomp::profile_with_loopback("default").expect("a profile");
        let program = compile(&policy, arch).expect("short enough");
        let nr = arch.number("socket").expect("socket");
        for family in [2, 10] {
            for of_type in 0..16 {
                // SOCK_NONBLOCK and SOCK_CLOEXEC; a set upper half.
                for flags in [0, 0x8_0800, 1 << 32] {
                    for protocol in [0, 1, 6, 17, 33, 132, 136, 262] {
                        let expected = match (of_type, protocol) {
                            (1, 0 | 6) | (2, 0 | 17) => "allow",
                            _ => "errno:EPROTONOSUPPORT",
                        };
                        let args = [family, of_type | flags, protocol, 0, 0, 0];
                        let data = Data {
                            nr,
                            arch: arch.audit_value(),
                            args,
                            ..Data::default()
                        };
                        assert_eq!(run(&program, &data), action(expected), "{arch}: {args:x?}");
                    }
                }
            }
        }
        // TCP_ULP; TCP_NODELAY, TCP_CONGESTION.
        let nr = arch.number("setsockopt").expect("setsockopt");
        for (option, expected) in [
            (31, "errno:ENOENT"),
            (31 | 1 << 32, "errno:ENOENT"),
            (1, "allow"),
            (13, "allow"),
        ] {
            let data = Data {
                nr,
                arch: arch.audit_value(),
                args: [3, 6, option, 0, 0, 0],
                ..Data::default()
            };
            assert_eq!(run(&program, &data), action(expected), "{arch}: {option}");
        }
    }
}

#[test]
fn loopback_allows_reading_interfaces() {
    for arch in Arch::ALL {
        let policy = millibox_seccomp::profile_with_loopback("default").expect("a profile");
        let program = compile(&policy, arch).expect("short enough");
        let nr = arch.number("ioctl").expect("ioctl");
        // SIOCGIFNAME, SIOCGIFCONF, SIOCGIFHWADDR, SIOCGIFINDEX; FIONREAD. SIOCGSTAMP; a bridge.
        for (requests, expected) in [
            (
                &[0x8910, 0x8912, 0x8927, 0x8933, 0x8933 | 1 << 32, 0x541b][..],
                "allow",
            ),
            (
                &[
                    0x8906,
                    0x8907,
                    0x8010_8906,
                    0x8010_8907,
                    0x890b,
                    0x8934,
                    0x8940,
                    0x8912 << 32,
                ],
                "errno:ENOTTY",
            ),
        ] {
            for &request in requests {
                let data = Data {
                    nr,
                    arch: arch.audit_value(),
                    args: [3, request, 0, 0, 0, 0],
                    ..Data::default()
                };
                assert_eq!(
                    run(&program, &data),
                    action(expected),
                    "{arch}: {request:#x}"
                );
            }
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

#[test]
fn default_profile_returns_expected_actions() {
    let answers = |call: &str, args: &[u64], expected: &str| {
        assert_eq!(
            answer("default", call, args),
            action(expected),
            "{call} {args:x?}"
        );
    };
    // fork by glibc, a thread by glibc, vfork by posix_spawn.
    for flags in [0x0120_0011, 0x003d_0f00, 0x4111, 17] {
        answers("clone", &[flags], "allow");
    }
    for bit in [17, 25, 26, 27, 28, 29, 30] {
        answers("clone", &[1 << bit | 17], "errno:EPERM");
    }
    // CLONE_FILES, alone, with CLONE_VM, with all flags of a thread.
    for (flags, expected) in [
        (0x411, "errno:EINVAL"),
        (0x511, "errno:EINVAL"),
        (0x400 | 1 << 40, "errno:EINVAL"),
        (0x3d_0f00, "allow"),
    ] {
        answers("clone", &[flags], expected);
    }
    // The bit of CLONE_NEWTIME belongs to the exit signal.
    answers("clone", &[0x80], "allow");
    for call in [
        "unshare", "setns", "mount", "fsopen", "ptrace", "bpf", "keyctl", "reboot", "sync",
    ] {
        answers(call, &[], "errno:EPERM");
    }
    for call in [
        "clone3",
        "io_uring_setup",
        "io_uring_enter",
        "inotify_init1",
        "memfd_secret",
    ] {
        answers(call, &[], "errno:ENOSYS");
    }
    for family in [1, 1 | 0xffff_ffff << 32] {
        answers("socket", &[family, 1, 0], "allow");
    }
    for family in [2, 10, 16, 2 | 1 << 32] {
        answers("socket", &[family, 1, 0], "errno:EAFNOSUPPORT");
        answers("socketpair", &[family, 1, 0], "errno:EAFNOSUPPORT");
    }
    answers("socket", &[16, 3, 15], "errno:EAFNOSUPPORT");
    for family in [0, 3, 17, 30, 38, 40, 40 | 1 << 32, 44] {
        answers("socket", &[family, 1, 0], "errno:EAFNOSUPPORT");
        answers("socketpair", &[family, 1, 0], "errno:EAFNOSUPPORT");
    }
    let refused = [
        // FIBMAP, FIGETBSZ, FS_IOC_GETFSMAP, FIEMAP, GETFSUUID, GETFSSYSFSPATH, GETVERSION,
        // GETFLAGS, FICLONE.
        &[
            1,
            2,
            0xc0c0_583b,
            0xc020_660b,
            0x8011_1500,
            0x8081_1501,
            0x8008_7601,
            0x8008_6601,
            0x4004_9409,
        ][..],
        // SIOCGSTAMP and SIOCGSTAMPNS, old and new; bridges, VLANs; interfaces; ethtool.
        &[
            0x8906,
            0x8907,
            0x8010_8906,
            0x8010_8907,
            0x8940,
            0x8941,
            0x8982,
            0x8983,
            0x89a0,
            0x89a1,
            0x8912,
            0x8946,
        ],
        // TUNSETIFF; requests of pidfds, namespaces and epoll.
        &[
            0x4004_54ca,
            0xc040_ff0b,
            0xb703,
            0x4008_8a01,
            0,
            0x5412 << 32,
        ],
    ];
    for &request in refused.into_iter().flatten() {
        answers("ioctl", &[0, request], "errno:ENOTTY");
    }
    // F_SETLEASE, NOTIFY, SETDELEG.
    for command in [1024, 1026, 1026 | 1 << 40, 1040] {
        answers("fcntl", &[3, command], "errno:EPERM");
    }
    for command in [0, 1, 4, 6, 7, 32, 40, 1025, 1030, 1033] {
        answers("fcntl", &[3, command], "allow");
    }
    // F_OFD_GETLK, SETLK, SETLKW.
    for command in [36, 37, 38, 38 | 1 << 40] {
        answers("fcntl", &[3, command], "errno:EINVAL");
    }
    // F_SEAL_SEAL, SHRINK, GROW, WRITE, FUTURE_WRITE, EXEC.
    for (seals, expected) in [
        (0x17, "allow"),
        (8, "errno:EINVAL"),
        (0x2f, "errno:EINVAL"),
        (0x20 | 1 << 32, "errno:EINVAL"),
    ] {
        answers("fcntl", &[3, 1033, seals], expected);
        answers("fcntl", &[3, 1030, seals], "allow");
    }
    // MADV_DONTNEED, FREE, HUGEPAGE, POPULATE_WRITE; MERGEABLE, COLLAPSE.
    for (advice, expected) in [
        (4, "allow"),
        (8, "allow"),
        (14, "allow"),
        (23, "allow"),
        (12, "errno:EINVAL"),
        (25, "errno:EINVAL"),
        (25 | 1 << 32, "errno:EINVAL"),
    ] {
        answers("madvise", &[0, 4096, advice], expected);
        assert_eq!(
            answer("strict", "madvise", &[0, 4096, advice]),
            action(expected)
        );
    }
    for (option, expected) in [
        (15, "allow"),
        (68, "allow"),
        (62, "errno:EPERM"),
        (67, "errno:EINVAL"),
        (67 | 1 << 32, "errno:EINVAL"),
    ] {
        answers("prctl", &[option], expected);
        assert_eq!(answer("strict", "prctl", &[option]), action(expected));
    }
    for (flags, expected) in [
        (0, "allow"),
        (7, "allow"),
        (8, "errno:EOPNOTSUPP"),
        (9 | 1 << 40, "errno:EOPNOTSUPP"),
    ] {
        answers("preadv2", &[3, 0, 1, 0, 0, flags], expected);
    }
    for call in ["fsync", "fdatasync", "sync_file_range"] {
        answers(call, &[3, 0, 1, 7], "errno:0");
    }
    // MS_ASYNC, MS_INVALIDATE, MS_SYNC.
    for (flags, expected) in [
        (1, "allow"),
        (2, "allow"),
        (4, "errno:0"),
        (6, "errno:0"),
        (4 | 1 << 32, "errno:0"),
    ] {
        answers("msync", &[0, 4096, flags], expected);
        assert_eq!(
            answer("strict", "msync", &[0, 4096, flags]),
            action(expected)
        );
    }
    for (flags, expected) in [
        (0, "allow"),
        (0x10, "allow"),
        (2, "errno:EOPNOTSUPP"),
        (0x14 | 1 << 40, "errno:EOPNOTSUPP"),
    ] {
        answers("pwritev2", &[3, 0, 1, 0, 0, flags], expected);
        assert_eq!(
            answer("strict", "pwritev2", &[3, 0, 1, 0, 0, flags]),
            action(expected)
        );
    }
    // SECCOMP_SET_MODE_STRICT, SET_MODE_FILTER, GET_ACTION_AVAIL.
    for (operation, expected) in [
        (0, "allow"),
        (1, "errno:EINVAL"),
        (1 | 1 << 32, "errno:EINVAL"),
        (2, "allow"),
        (3, "allow"),
    ] {
        answers("seccomp", &[operation, 0], expected);
    }
    // PR_SET_SECCOMP, PR_GET_SECCOMP.
    for (option, mode, expected) in [
        (22, 1, "allow"),
        (22, 2, "errno:EINVAL"),
        (22 | 1 << 32, 2 | 1 << 32, "errno:EINVAL"),
        (21, 2, "allow"),
    ] {
        answers("prctl", &[option, mode], expected);
    }
    // FALLOC_FL_KEEP_SIZE, PUNCH_HOLE, COLLAPSE_RANGE, ZERO_RANGE, INSERT_RANGE.
    for (mode, expected) in [
        (0, "allow"),
        (1, "errno:EOPNOTSUPP"),
        (3, "allow"),
        (8, "allow"),
        (0x10, "allow"),
        (0x11, "errno:EOPNOTSUPP"),
        (0x20, "errno:EOPNOTSUPP"),
        (0x20 | 1 << 32, "errno:EOPNOTSUPP"),
    ] {
        answers("fallocate", &[3, mode], expected);
    }
    for (advice, expected) in [
        (0, "allow"),
        (3, "allow"),
        (4, "errno:0"),
        (4 | 1 << 32, "errno:0"),
        (5, "allow"),
    ] {
        answers("fadvise64", &[3, 0, 0, advice], expected);
    }
    answers("sched_setaffinity", &[0, 8], "errno:EPERM");
    for call in ["sched_setattr", "sched_setscheduler", "sched_setparam"] {
        for (pid, expected) in [
            (0, "allow"),
            (2, "allow"),
            (1 << 32, "allow"),
            (1, "errno:EPERM"),
            (1 | 1 << 32, "errno:EPERM"),
        ] {
            answers(call, &[pid], expected);
        }
    }
    // PRIO_PROCESS, PRIO_PGRP, PRIO_USER.
    for (which, who, expected) in [
        (0, 0, "allow"),
        (0, 7, "allow"),
        (1, 0, "allow"),
        (0, 1, "errno:EPERM"),
        (0, 1 | 1 << 32, "errno:EPERM"),
        (1, 1, "errno:EPERM"),
        (2, 0, "errno:EPERM"),
        (2 | 1 << 32, 1000, "errno:EPERM"),
    ] {
        answers("setpriority", &[which, who], expected);
    }
    answers("ioprio_set", &[1, 0], "errno:EPERM");
    for persona in [0, 0x4_0000, 0xffff_ffff, u64::MAX] {
        answers("personality", &[persona], "allow");
    }
    for persona in [8, 0x40_0000, 0x44_0000, 0xfffb_ffff] {
        answers("personality", &[persona], "errno:EPERM");
    }
}

#[test]
fn strict_profile_returns_expected_actions() {
    let answers = |call: &str, args: &[u64], expected: &str| {
        assert_eq!(
            answer("strict", call, args),
            action(expected),
            "{call} {args:x?}"
        );
    };
    for call in ["clone", "fork", "vfork", "socket", "socketpair"] {
        answers(call, &[17], "errno:EPERM");
    }
    for call in [
        "clone3",
        "openat2",
        "connect",
        "ptrace",
        "mount",
        "memfd_create",
    ] {
        answers(call, &[], "errno:ENOSYS");
    }
    answers("openat", &[0, 0, 0x8_0000], "allow");
    answers("open", &[0, 0x8_0000], "allow");
    for flags in [1, 2, 0x40, 0x200, 0x241, 1 | 1 << 40] {
        answers("openat", &[0, 0, flags], "errno:EACCES");
        answers("open", &[0, flags], "errno:EACCES");
    }
    for (name, call, args) in [
        ("EPERM", "prctl", [62, 0, 0, 0, 0, 0]),
        ("EOPNOTSUPP", "preadv2", [3, 0, 1, 0, 0, 8]),
    ] {
        answers(call, &args, &format!("errno:{name}"));
        answers(call, &[15], "allow");
    }
    answers("sched_setaffinity", &[0, 8], "errno:EPERM");
    answers("fadvise64", &[3, 0, 0, 4], "errno:0");
    answers("ioctl", &[1, 0x5401], "errno:ENOTTY");
    answers("fcntl", &[1, 4], "allow");
    answers("fcntl", &[1, 1030], "allow");
    answers("fcntl", &[1, 6], "errno:EINVAL");
    answers("fcntl", &[1, 1024], "errno:EINVAL");
}

/// Requests of ioctl(2) that only a program with its own terminal may make.
const TERMINAL_REQUESTS: [u64; 5] = [0x5402, 0x5403, 0x5404, 0x540e, 0x5410];

#[test]
fn terminal_profile_adds_five_ioctl_requests_and_nothing_else() {
    let policy = millibox_seccomp::profile_with_terminal();
    for arch in Arch::ALL {
        let with = compile(&policy, arch).expect("short enough");
        let without = compiled("default", arch);
        for (call, nr) in arch.syscalls() {
            for request in 0x53f0..0x5460 {
                for argument in [0, 1] {
                    let data = Data {
                        nr,
                        arch: arch.audit_value(),
                        args: [0, request, argument, 0, 0, 0],
                        ..Data::default()
                    };
                    // With the argument 1, TIOCSCTTY takes the terminal of another session.
                    let steals = request == 0x540e && argument == 1;
                    let is_new = call == "ioctl" && TERMINAL_REQUESTS.contains(&request) && !steals;
                    let expected = if is_new {
                        action("allow")
                    } else {
                        run(&without, &data)
                    };
                    assert_eq!(run(&with, &data), expected, "{call} {request:#x} on {arch}");
                }
            }
        }
    }
}
