//! Tables of calls and their actions, for each profile.

use super::*;

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
        "openat2",
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
    // F_SET_RW_HINT, GET_FILE_RW_HINT, SET_FILE_RW_HINT.
    for command in [1036, 1037, 1038, 1036 | 1 << 40] {
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

/// The requests of ioctl(2) that only a program with terminals of its own may make.
const TERMINAL_REQUESTS: [u64; 19] = [
    0x5402,
    0x5403,
    0x5404,
    0x5409,
    0x540a,
    0x540b,
    0x540e,
    0x5410,
    0x5411,
    0x5414,
    0x5422,
    0x5429,
    0x5441,
    0x4004_5431,
    0x8004_5430,
    0x402c_542b,
    0x402c_542c,
    0x402c_542d,
    // FIONBIO, which is allowed in any case.
    0x5421,
];

/// All requests of type T with numbers up to 0x60, without and with sizes.
fn terminal_requests() -> impl Iterator<Item = u64> {
    let sizes = [0, 0x4004_0000, 0x8004_0000, 0x402c_0000, 0x802c_0000];
    sizes
        .into_iter()
        .flat_map(|size| (0x53f0..0x5460).map(move |request| size | request))
}

#[test]
fn terminal_profile_adds_few_ioctl_requests_and_nothing_else() {
    let policy = millibox_seccomp::default_profile(false, true);
    for arch in Arch::ALL {
        let with = compile(&policy, arch).expect("short enough");
        let without = compiled("default", arch);
        for (call, nr) in arch.syscalls() {
            for request in terminal_requests() {
                for argument in [0, 1] {
                    let data = Data {
                        nr,
                        arch: arch.audit_value(),
                        args: [0, request, argument, 0, 0, 0],
                        ..Data::default()
                    };
                    // With the argument 1, TIOCSCTTY takes over the terminal of another session.
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
