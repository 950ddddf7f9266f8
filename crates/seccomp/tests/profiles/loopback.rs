//! Tests of the default profile with a loopback interface.

use super::*;

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
                    // Allowed are the type's default protocol and TCP. Refused are UDP, which is
                    // not for streams, ICMP, SCTP and MPTCP.
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
                // The flags are none, SOCK_NONBLOCK with SOCK_CLOEXEC, and a bit in the upper half.
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
        // Refused is TCP_ULP. Allowed are TCP_NODELAY and TCP_CONGESTION.
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
        // SO_SNDBUF and SO_RCVBUF have no effect. TCP_TX_DELAY, IP_MINTTL and IPV6_MINHOPCOUNT
        // would change the kernel's code. Allowed are SO_REUSEADDR, IP_TTL and IPV6_V6ONLY.
        for (level, option, expected) in [
            (1, 7, "errno:0"),
            (1, 8, "errno:0"),
            (6, 37, "errno:ENOPROTOOPT"),
            (0, 21, "errno:ENOPROTOOPT"),
            (1 << 32, 21 | 1 << 32, "errno:ENOPROTOOPT"),
            (41, 73, "errno:ENOPROTOOPT"),
            (1, 2, "allow"),
            (0, 2, "allow"),
            (41, 26, "allow"),
        ] {
            let data = Data {
                nr,
                arch: arch.audit_value(),
                args: [3, level, option, 0, 0, 0],
                ..Data::default()
            };
            let expected = action(expected);
            assert_eq!(run(&program, &data), expected, "{arch}: {level} {option}");
        }
    }
}

#[test]
fn loopback_allows_reading_interfaces() {
    for arch in Arch::ALL {
        let policy = millibox_seccomp::profile_with_loopback("default").expect("a profile");
        let program = compile(&policy, arch).expect("short enough");
        let nr = arch.number("ioctl").expect("ioctl");
        // Allowed are SIOCGIFNAME, SIOCGIFCONF, SIOCGIFHWADDR, SIOCGIFINDEX and FIONREAD. Refused
        // are SIOCGSTAMP and a request for bridges.
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
