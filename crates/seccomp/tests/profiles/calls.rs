//! Tests of single calls whose action depends on the arguments.

use super::*;

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
        // Allowed: MADV_DONTNEED_LOCKED. Denied: MADV_COLLAPSE, HWPOISON, GUARD_INSTALL,
        // GUARD_REMOVE and advice of later kernels.
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
        // Allowed are PR_SET_NAME, PR_TIMER_CREATE_RESTORE_IDS, PR_GET_AUXV and PR_SET_PTRACER.
        // Refused are PR_FUTEX_HASH and options of later kernels.
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
        // Allowed are O_NONBLOCK and O_APPEND. Refused is O_ASYNC, alone and with O_NONBLOCK.
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
    // These are TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2 and
    // SIOCATMARK.
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
    // These are TCSETS2, TCSETSW2, TCSETSF2, TIOCSPTLCK, TIOCSIG, and a request with a size that
    // the kernel does not know.
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
            // These calls only query the limit.
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
