//! Requests for runs with invalid contents.

use super::{RawClient, exit_7, frame, frame_error, located, request_error, world, world_error};
use millibox::{FrameProblem, Hint, Limit, LimitError, RunError, Step, WorldError, WorldProblem};
use millibox_tests::probe;
use millibox_wire::frame::{Header, Kind};
use millibox_wire::{
    Kill, KillReason, Limits, Located, Mount, Outcome, Run, Source, World, decode, encode,
};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

#[test]
fn run_with_malformed_world_is_rejected() {
    let mut client = RawClient::start();
    let probe = probe();
    for bytes in [&b""[..], &[0xff; 11], b"\x01"] {
        let id = client.id();
        let problem = WorldProblem::Malformed(decode::<Located>(bytes).unwrap_err().to_string());
        let frame = frame(Kind::Run, id, &encode(&exit_7(bytes)));
        client.assert_rejected(id, &frame, &[probe.as_fd()], &world_error(problem));
    }
    // The supervisor checks seccomp programs itself, since no client has checked these.
    for program in [vec![0; 7], vec![], vec![0xff; 8], vec![0; 8 * 5000]] {
        let bad = located(World {
            seccomp: Some(program),
            ..world()
        });
        let id = client.id();
        let error = client.rejection(
            id,
            &frame(Kind::Run, id, &encode(&exit_7(&bad))),
            &[probe.as_fd()],
        );
        let Some(Hint::World(WorldError {
            path: None,
            problem,
            ..
        })) = error.hint
        else {
            panic!("{error:?}")
        };
        assert!(matches!(problem, WorldProblem::Seccomp(_)), "{problem:?}");
    }
    // The supervisor also rejects mounts that the client library never sends.
    for (mount, problem) in [
        (
            Mount::CreateDir {
                path: b"/a".to_vec(),
                mode: 0o10000,
            },
            WorldProblem::Mode(0o10000),
        ),
        (Mount::tmpfs("relative"), WorldProblem::PathNotAbsolute),
        (
            Mount::read_only("/usr", "/x/../y"),
            WorldProblem::PathHasDotDot,
        ),
        (
            Mount::read_only("usr", "/x"),
            WorldProblem::SourceNotAbsolute("usr".to_owned()),
        ),
        (Mount::tmpfs("/"), WorldProblem::MountPointIsRoot),
    ] {
        let expected = world_error(WorldError::at(mount.path(), problem));
        let bad = located(World {
            mounts: vec![mount],
            ..world()
        });
        let id = client.id();
        client.assert_rejected(
            id,
            &frame(Kind::Run, id, &encode(&exit_7(&bad))),
            &[probe.as_fd()],
            &expected,
        );
    }
}

#[test]
fn source_changed_since_the_client_saw_it_is_rejected() {
    let mut client = RawClient::start();
    let probe = probe();
    let world = world();
    let seen = |inode: u64| {
        let file = std::fs::metadata("/usr").unwrap();
        let sources = world.mounts.iter().map(|mount| match mount {
            Mount::Bind { source, .. } if source == b"/usr" => Source::Is {
                device: file.dev(),
                inode: file.ino().wrapping_add(inode),
            },
            _ => Source::None,
        });
        let sources = sources.collect();
        encode(&Located {
            world: world.clone(),
            sources,
        })
    };
    let id = client.id();
    client.send(
        &frame(Kind::Run, id, &encode(&exit_7(&seen(0)))),
        &[probe.as_fd()],
    );
    let (answered, result) = client.result();
    assert_eq!((answered, result.outcome), (id, Outcome::Exited(7)));
    let id = client.id();
    let another = frame(Kind::Run, id, &encode(&exit_7(&seen(1))));
    let error = client.rejection(id, &another, &[probe.as_fd()]);
    assert_eq!(
        (error.step, error.errno),
        (Step::MountSource, Some(libc::ESTALE)),
        "{error}"
    );
    assert_eq!(error.subject.as_deref(), Some("/usr"));
}

#[test]
fn run_with_inconsistent_numbers_is_rejected() {
    let mut client = RawClient::start();
    let probe = probe();
    let world = located(world());
    let good = exit_7(&world);
    let limits = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        Run {
            limits,
            ..good.clone()
        }
    };
    let period = limits(|limits| {
        limits.cpu_bandwidth = Some(millibox_wire::Bandwidth {
            max_us: 5000,
            period_us: 999,
        })
    });
    let quota = limits(|limits| {
        limits.cpu_bandwidth = Some(millibox_wire::Bandwidth {
            max_us: 0,
            period_us: 5000,
        })
    });
    let strings = || frame_error(FrameProblem::StringCount);
    let bandwidth = |error| RunError::new(Step::CpuBandwidth).with_hint(Hint::Limit(error));
    let too_many = Hint::TooManyStrings {
        strings: 1 + u64::from(u32::MAX),
        max_strings: 131_072,
        bytes: good.strings.len() as u64,
        max_bytes: 3 << 20,
    };
    for (run, expected) in [
        (
            Run {
                arguments: 4,
                ..good.clone()
            },
            strings(),
        ),
        (
            Run {
                arguments: 2,
                ..good.clone()
            },
            strings(),
        ),
        (
            Run {
                arguments: u32::MAX,
                ..good.clone()
            },
            RunError::new(Step::Arguments)
                .with_errno(libc::E2BIG)
                .with_hint(too_many),
        ),
        (
            Run {
                strings: b"/\0probe\0exit\x007",
                ..good.clone()
            },
            strings(),
        ),
        (
            Run {
                strings: b"",
                arguments: 0,
                ..good.clone()
            },
            strings(),
        ),
        (
            Run {
                paths: 1,
                arguments: 2,
                ..good.clone()
            },
            frame_error(FrameProblem::ProgramCount),
        ),
        (
            Run {
                rlimits: vec![(16, 1)],
                ..good.clone()
            },
            frame_error(FrameProblem::RlimitNumber(16)),
        ),
        (
            Run {
                cpus: vec![1; 17],
                ..good.clone()
            },
            frame_error(FrameProblem::CpuNumber),
        ),
        (
            period,
            bandwidth(LimitError::BandwidthPeriod { period_us: 999 }),
        ),
        (quota, bandwidth(LimitError::BandwidthMax { max_us: 0 })),
    ] {
        let id = client.id();
        client.assert_rejected(
            id,
            &frame(Kind::Run, id, &encode(&run)),
            &[probe.as_fd()],
            &expected,
        );
    }
}

/// The client library does not send this request.
#[test]
fn pair_with_one_runner_is_rejected() {
    let mut client = RawClient::start_with(&["--runners=1"]);
    let probe = probe();
    let world = located(world());
    let id = client.id();
    let run = exit_7(&world);
    client.send(
        &frame(Kind::Pair, id, &encode(&[&run, &run])),
        &[probe.as_fd(); 2],
    );
    let expected = request_error(Hint::PairNeedsTwoRunners);
    assert_eq!(client.errors_of_pair(id), [expected.clone(), expected]);
    client.assert_works();
}

/// For each fault in the frame, both runs of the pair are answered.
#[test]
fn pair_with_one_wrong_run_is_rejected_as_a_whole() {
    let mut client = RawClient::start();
    let probe = probe();
    let world = located(world());
    let good = exit_7(&world);
    let wrong = Run {
        limits: Limits {
            real_time_ns: Some(0),
            ..Limits::default()
        },
        ..good.clone()
    };
    let zero = request_error(Hint::Limit(LimitError::Zero(Limit::RealTime)));
    let other = request_error(Hint::PartnerNotStarted);
    let missing = request_error(Hint::DescriptorCount {
        announced: 1,
        received: 0,
    });
    for (runs, descriptors, expected) in [
        ([&wrong, &good], 2, [zero.clone(), other.clone()]),
        ([&good, &wrong], 2, [other.clone(), zero.clone()]),
        ([&wrong, &wrong], 2, [zero.clone(), zero.clone()]),
        ([&good, &good], 1, [other.clone(), missing.clone()]),
        ([&good, &good], 0, [missing.clone(), missing]),
    ] {
        let id = client.id();
        client.next += 1;
        client.send(
            &frame(Kind::Pair, id, &encode(&runs)),
            &vec![probe.as_fd(); descriptors],
        );
        assert_eq!(client.errors_of_pair(id), expected);
        client.assert_works();
    }
    let id = client.id();
    client.next += 1;
    let body = encode(&good);
    client.send(&frame(Kind::Pair, id, &body), &[probe.as_fd()]);
    let error = decode::<[Run; 2]>(&body).unwrap_err();
    let expected = request_error(Hint::Frame(FrameProblem::Malformed(error.to_string())));
    assert_eq!(client.errors_of_pair(id), [expected.clone(), expected]);
    let id = client.id();
    client.next += 1;
    let header = Header {
        kind: Kind::Pair,
        in_memfd: true,
        id,
    };
    client.send(&header.encode(), &[]);
    let expected = request_error(Hint::Frame(FrameProblem::MemfdMissing));
    assert_eq!(client.errors_of_pair(id), [expected.clone(), expected]);
    client.assert_works();
}

#[test]
fn pair_in_one_frame_runs() {
    let mut client = RawClient::start();
    let probe = probe();
    let world = located(world());
    let run = exit_7(&world);
    let id = client.id();
    client.next += 1;
    client.send(
        &frame(Kind::Pair, id, &encode(&[&run, &run])),
        &[probe.as_fd(); 2],
    );
    let mut answered = [0; 2].map(|_: u64| {
        let (id, result) = client.result();
        assert_eq!(result.outcome, Outcome::Exited(7), "{result:?}");
        id
    });
    answered.sort_unstable();
    assert_eq!(answered, [id, id + 1]);
}

/// The client library does not send these limits.
#[test]
fn limits_of_zero_are_rejected_by_supervisor() {
    let mut client = RawClient::start();
    let probe = probe();
    let world = located(world());
    let good = exit_7(&world);
    let limits = Limits::default();
    for (limits, limit, step) in [
        (
            Limits {
                real_time_ns: Some(0),
                ..limits
            },
            Limit::RealTime,
            Step::Request,
        ),
        (
            Limits {
                cpu_time_ns: Some(0),
                ..limits
            },
            Limit::CpuTime,
            Step::Request,
        ),
        (
            Limits {
                processes: Some(0),
                ..limits
            },
            Limit::Processes,
            Step::ProcessLimit,
        ),
        (
            Limits {
                memory: Some(0),
                ..limits
            },
            Limit::Memory,
            Step::MemoryLimit,
        ),
    ] {
        let id = client.id();
        let run = Run {
            limits,
            ..good.clone()
        };
        let expected = RunError::new(step).with_hint(Hint::Limit(LimitError::Zero(limit)));
        client.assert_rejected(
            id,
            &frame(Kind::Run, id, &encode(&run)),
            &[probe.as_fd()],
            &expected,
        );
    }
}

#[test]
fn unannounced_descriptors_are_rejected_and_closed() {
    let mut client = RawClient::start();
    let probe = probe();
    let world = located(world());
    let body = encode(&exit_7(&world));
    let id = client.id();
    let arrived = |received| {
        request_error(Hint::DescriptorCount {
            announced: 1,
            received,
        })
    };
    client.assert_rejected(id, &frame(Kind::Run, id, &body), &[], &arrived(0));
    let id = client.id();
    client.assert_rejected(
        id,
        &frame(Kind::Run, id, &body),
        &[probe.as_fd(); 2],
        &arrived(2),
    );
    let id = client.id();
    let error = client.rejection(id, &frame(Kind::Run, id, &body), &[probe.as_fd(); 16]);
    assert!(
        matches!(
            error.hint,
            Some(Hint::DescriptorCount {
                announced: 1,
                received: 2..
            })
        ),
        "{error:?}"
    );
    // The supervisor closes all of them, for any kind of frame.
    let count = || std::fs::read_dir(format!("/proc/{}/fd", client.hello.pid)).map(Iterator::count);
    let before = count();
    for _ in 0..20 {
        for bytes in [
            &b"x"[..],
            &frame(Kind::Run, 5, b""),
            &frame(Kind::Cancel, 5, b""),
            &frame(Kind::Run, 5, &body),
        ] {
            client.send(bytes, &[probe.as_fd(); 9]);
        }
        for _ in 0..3 {
            client.result();
        }
    }
    // The descriptors of the last frame are closed shortly after its reply.
    std::thread::sleep(std::time::Duration::from_millis(200));
    match (before, count()) {
        (Ok(before), Ok(after)) => {
            assert!(after <= before + 2, "{before} descriptors became {after}")
        }
        _ => millibox_tests::skip("this process may not read the supervisor's descriptors"),
    }
    client.assert_works();
}

#[test]
fn run_with_id_in_use_is_rejected() {
    let mut client = RawClient::start();
    let probe = probe();
    let world = located(world());
    let sleep = Run {
        strings: b"/\0probe\0sleep\x0060000\0",
        ..exit_7(&world)
    };
    client.send(&frame(Kind::Run, 500, &encode(&sleep)), &[probe.as_fd()]);
    client.send(
        &frame(Kind::Run, 500, &encode(&exit_7(&world))),
        &[probe.as_fd()],
    );
    let (id, result) = client.result();
    assert_eq!(
        (id, result.outcome),
        (500, Outcome::NotStarted(request_error(Hint::IdInUse)))
    );
    client.send(
        &frame(
            Kind::Kill,
            500,
            &encode(&Kill {
                reason: KillReason::Caller,
            }),
        ),
        &[],
    );
    assert_eq!(client.result().1.outcome, Outcome::Killed);
    client.assert_works();
}
