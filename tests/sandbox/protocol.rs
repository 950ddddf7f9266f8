//! The wire protocol: the supervisor rejects each frame that it cannot read, and accepts the next
//! one.

use millibox::{
    Backend, FrameProblem, Hint, Limit, LimitError, Outcome, RunError, RunResult, Step, WorldError,
    WorldProblem,
};
use millibox_tests::{executable, probe, readable};
use millibox_wire::frame::{HEADER, Header, Kind, MAX_BODY, MAX_INLINE};
use millibox_wire::{
    DecodeError, Descriptors, Hello, Kill, KillReason, Limits, Located, Mount, Run, Source, World,
    decode, encode,
};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType,
};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A connection to a supervisor without the client library.
struct RawClient {
    socket: OwnedFd,
    child: Child,
    hello: Hello,
    next: u64,
}

impl RawClient {
    fn start() -> RawClient {
        RawClient::start_with(&[])
    }

    fn start_with(arguments: &[&str]) -> RawClient {
        let (socket, remote) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let child = Command::new(executable("millibox-supervisor"))
            .args(["--socket=0", "--slots=1"])
            .args(arguments)
            .stdin(Stdio::from(remote))
            .spawn()
            .unwrap();
        let frame = receive(&socket);
        let (header, body) = Header::decode(&frame).unwrap();
        assert_eq!((header.kind, header.id), (Kind::Hello, 0));
        let hello = decode::<Hello>(body).unwrap();
        assert!(hello.slots == 1 && hello.credits >= 1);
        RawClient {
            socket,
            child,
            hello,
            next: 1,
        }
    }

    fn send(&self, frame: &[u8], descriptors: &[BorrowedFd]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)));
        }
        rustix::net::sendmsg(
            &self.socket,
            &[IoSlice::new(frame)],
            &mut control,
            SendFlags::NOSIGNAL,
        )
        .unwrap();
    }

    fn result(&self) -> (u64, RunResult) {
        let frame = receive(&self.socket);
        let (header, body) = Header::decode(&frame).unwrap();
        assert_eq!(header.kind, Kind::Result);
        (header.id, decode(body).unwrap())
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Asserts that the supervisor rejects a frame with this error under this id, and accepts the
    /// next frame.
    fn assert_rejected(
        &mut self,
        id: u64,
        frame: &[u8],
        descriptors: &[BorrowedFd],
        expected: &RunError,
    ) {
        assert_eq!(self.rejection(id, frame, descriptors), *expected);
    }

    /// The error with which the supervisor rejects a frame under this id. Asserts that the next
    /// frame is accepted.
    fn rejection(&mut self, id: u64, frame: &[u8], descriptors: &[BorrowedFd]) -> RunError {
        self.send(frame, descriptors);
        let (answered, result) = self.result();
        let error = millibox_tests::not_started(&result).clone();
        assert_eq!(answered, id, "{error}");
        self.assert_works();
        error
    }

    fn assert_works(&mut self) {
        let id = self.id();
        let probe = probe();
        self.send(
            &frame(Kind::Run, id, &encode(&exit_7(&located(world())))),
            &[probe.as_fd()],
        );
        let (answered, result) = self.result();
        assert_eq!(
            (answered, &result.outcome),
            (id, &Outcome::Exited(7)),
            "{result}"
        );
    }
}

impl Drop for RawClient {
    fn drop(&mut self) {
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
        let ended = millibox_tests::ends_within(&mut self.child, Duration::from_secs(10)).is_some();
        let left = self
            .hello
            .cgroups
            .iter()
            .filter(|path| std::path::Path::new(&*String::from_utf8_lossy(path)).exists())
            .count();
        if !std::thread::panicking() {
            assert!(ended, "the supervisor outlives its connection");
            assert_eq!(left, 0, "cgroups remain");
        }
    }
}

fn receive(socket: &OwnedFd) -> Vec<u8> {
    assert!(readable(socket, millibox_tests::HANG_TIMEOUT), "no reply");
    let mut frame = vec![0; 1 << 16];
    let (length, _) = rustix::net::recv(socket, &mut frame[..], RecvFlags::empty()).unwrap();
    assert_ne!(length, 0, "the supervisor closed the connection");
    frame.truncate(length);
    frame
}

fn frame(kind: Kind, id: u64, body: &[u8]) -> Vec<u8> {
    [
        &Header {
            kind,
            in_memfd: false,
            id,
        }
        .encode()[..],
        body,
    ]
    .concat()
}

/// A world that contains only the loader and its libraries.
fn world() -> World {
    let mut world = World::default();
    for path in ["/lib", "/lib64", "/usr"] {
        match std::fs::read_link(path) {
            Ok(target) => world.mounts.push(millibox_wire::Mount::Symlink {
                target: target.to_str().unwrap().into(),
                path: path.into(),
            }),
            Err(_) if std::path::Path::new(path).exists() => world
                .mounts
                .push(millibox_wire::Mount::read_only(path, path)),
            Err(_) => {}
        }
    }
    world
}

/// The world as a client sends it that has not looked up the sources.
fn located(world: World) -> Vec<u8> {
    encode(&Located {
        world,
        sources: Vec::new(),
    })
}

fn exit_7(world: &[u8]) -> Run<'_> {
    Run {
        world,
        strings: b"/\0probe\0exit\x007\0",
        paths: 0,
        arguments: 3,
        environment: 0,
        descriptors: Descriptors {
            program: true,
            ..Descriptors::default()
        },
        limits: Limits::default(),
        rlimits: Vec::new(),
        cpus: Vec::new(),
        partner: None,
    }
}

/// The error of a request that the supervisor does not accept.
fn request_error(hint: Hint) -> RunError {
    RunError::new(Step::Request).with_hint(hint)
}

/// The error of a frame that the supervisor cannot read.
fn frame_error(problem: FrameProblem) -> RunError {
    request_error(Hint::Frame(problem))
}

fn malformed(error: &DecodeError) -> RunError {
    frame_error(FrameProblem::Malformed(error.to_string()))
}

/// The error of a frame whose body does not encode a run.
fn malformed_run(body: &[u8]) -> RunError {
    malformed(&decode::<Run>(body).unwrap_err())
}

fn world_error(error: impl Into<WorldError>) -> RunError {
    RunError::new(Step::World).with_hint(Hint::World(error.into()))
}

fn memfd(bytes: &[u8], seals: SealFlags) -> OwnedFd {
    let memfd =
        rustix::fs::memfd_create("body", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    let mut written = 0;
    while written < bytes.len() {
        written += rustix::io::pwrite(&memfd, &bytes[written..], written as u64).unwrap();
    }
    rustix::fs::fcntl_add_seals(&memfd, seals).unwrap();
    memfd
}

#[test]
fn hello_reports_user_and_cgroups() {
    let mut client = RawClient::start();
    let hello = client.hello.clone();
    assert_ne!((hello.uid, hello.gid), (0, 0));
    assert_eq!(hello.backend == Backend::Rlimit, hello.cgroups.is_empty());
    client.assert_works();
}

#[test]
fn frame_without_valid_header_is_rejected() {
    let mut client = RawClient::start();
    client.assert_rejected(0, b"x", &[], &malformed(&DecodeError::Short(1)));
    client.assert_rejected(
        0,
        &[0; HEADER - 1],
        &[],
        &malformed(&DecodeError::Short(HEADER - 1)),
    );
    client.assert_rejected(0, &[0; HEADER], &[], &malformed(&DecodeError::Protocol(0)));
    client.assert_rejected(
        0,
        &[0xff; 100],
        &[],
        &malformed(&DecodeError::Protocol(u32::MAX)),
    );
    let mut other_version = frame(Kind::Run, 5, b"");
    other_version[3] = 1;
    let word = u32::from_ne_bytes(other_version[..4].try_into().unwrap());
    client.assert_rejected(
        0,
        &other_version,
        &[],
        &malformed(&DecodeError::Protocol(word)),
    );
    let mut unknown = frame(Kind::Run, 77, b"");
    unknown[4] = 99;
    client.assert_rejected(77, &unknown, &[], &malformed(&DecodeError::Kind(99)));
}

#[test]
fn frame_that_is_too_long_is_rejected() {
    let mut client = RawClient::start();
    let max_bytes = MAX_INLINE as u64;
    for frame in [
        frame(Kind::Run, 5, &vec![0; MAX_INLINE]),
        vec![0; MAX_INLINE + 1],
    ] {
        let bytes = frame.len() as u64;
        client.assert_rejected(
            0,
            &frame,
            &[],
            &frame_error(FrameProblem::TooLong { bytes, max_bytes }),
        );
    }
}

#[test]
fn frame_with_malformed_body_is_rejected() {
    let mut client = RawClient::start();
    client.assert_rejected(5, &frame(Kind::Run, 5, b""), &[], &malformed_run(b""));
    client.assert_rejected(
        6,
        &frame(Kind::Run, 6, &[0xff; 50]),
        &[],
        &malformed_run(&[0xff; 50]),
    );
    let world = located(world());
    let good = encode(&exit_7(&world));
    let probe = probe();
    for cut in [1, 2, good.len() / 2, good.len() - 1] {
        client.assert_rejected(
            7,
            &frame(Kind::Run, 7, &good[..cut]),
            &[probe.as_fd()],
            &malformed_run(&good[..cut]),
        );
    }
    let longer = frame(Kind::Run, 8, &[&good[..], b"more"].concat());
    client.assert_rejected(
        8,
        &longer,
        &[probe.as_fd()],
        &malformed(&DecodeError::Trailing(4)),
    );
    for length in 0..20 {
        // Arbitrary bytes: the supervisor rejects them and survives.
        let noise: Vec<u8> = (0..length * 7)
            .map(|index| (index * 37 + length * 11) as u8)
            .collect();
        client.send(&frame(Kind::Run, 9, &noise), &[]);
        assert!(matches!(client.result().1.outcome, Outcome::NotStarted(_)));
    }
    client.assert_works();
}

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
    // The supervisor checks seccomp programs itself, since these have not passed a client.
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
    let half = Run {
        partner: Some(id + 1),
        ..exit_7(&world)
    };
    let expected = request_error(Hint::PairNeedsTwoRunners);
    client.assert_rejected(
        id,
        &frame(Kind::Run, id, &encode(&half)),
        &[probe.as_fd()],
        &expected,
    );
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
fn body_in_memfd_must_be_sealed() {
    let mut client = RawClient::start();
    let probe = probe();
    let sealed = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW;
    let world = located(world());
    let body = encode(&exit_7(&world));
    let header = |id| {
        Header {
            kind: Kind::Run,
            in_memfd: true,
            id,
        }
        .encode()
    };
    // A valid request.
    let id = client.id();
    client.send(&header(id), &[memfd(&body, sealed).as_fd(), probe.as_fd()]);
    assert_eq!(client.result().1.outcome, Outcome::Exited(7));
    let id = client.id();
    client.assert_rejected(
        id,
        &header(id),
        &[],
        &frame_error(FrameProblem::MemfdMissing),
    );
    let id = client.id();
    client.assert_rejected(
        id,
        &header(id),
        &[probe.as_fd()],
        &frame_error(FrameProblem::NotMemfd),
    );
    let (read, _write) = millibox_tests::pipe();
    let id = client.id();
    client.assert_rejected(
        id,
        &header(id),
        &[read.as_fd()],
        &frame_error(FrameProblem::NotMemfd),
    );
    for seals in [SealFlags::empty(), SealFlags::WRITE, SealFlags::SHRINK] {
        let id = client.id();
        let expected = frame_error(FrameProblem::MemfdNotSealed);
        client.assert_rejected(
            id,
            &header(id),
            &[memfd(&body, seals).as_fd(), probe.as_fd()],
            &expected,
        );
    }
    let long = vec![0; MAX_BODY + 1];
    let id = client.id();
    let (bytes, max_bytes) = (long.len() as u64, MAX_BODY as u64);
    let too_long = frame_error(FrameProblem::TooLong { bytes, max_bytes });
    client.assert_rejected(id, &header(id), &[memfd(&long, sealed).as_fd()], &too_long);
    let id = client.id();
    client.assert_rejected(
        id,
        &header(id),
        &[memfd(b"", sealed).as_fd()],
        &malformed_run(b""),
    );
}

#[test]
fn message_of_wrong_kind_is_rejected() {
    let mut client = RawClient::start();
    for kind in [Kind::Hello, Kind::Result] {
        client.assert_rejected(
            0,
            &frame(kind, 5, b""),
            &[],
            &frame_error(FrameProblem::WrongDirection),
        );
    }
    let expected = malformed(&decode::<Kill>(&[99]).unwrap_err());
    client.assert_rejected(0, &frame(Kind::Kill, 5, &[99]), &[], &expected);
    // Messages about unknown runs are ignored without a reply.
    for id in [0, 1, u64::MAX] {
        client.send(
            &frame(
                Kind::Kill,
                id,
                &encode(&Kill {
                    reason: KillReason::Caller,
                }),
            ),
            &[],
        );
        client.send(&frame(Kind::Cancel, id, b""), &[]);
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

#[test]
fn client_that_reads_late_receives_all_results() {
    let mut client = RawClient::start();
    // More replies than fit into the socket.
    for id in 0..3000u64 {
        client.send(&frame(Kind::Run, id + 10_000, b""), &[]);
    }
    for id in 0..3000u64 {
        assert_eq!(client.result().0, id + 10_000);
    }
    client.assert_works();
}

/// Changes some bytes of valid requests. Each request is answered once, under its id, and the next
/// one is accepted. `MILLIBOX_FRAMES` sets the number of requests.
#[test]
fn mutated_requests_are_answered_once() {
    let mut client = RawClient::start();
    let mut random = millibox_tests::Random::new();
    let probe = probe();
    let good_world = located(world());
    let good = encode(&Run {
        rlimits: vec![(7, 64)],
        cpus: vec![3],
        ..exit_7(&good_world)
    });
    let count = std::env::var("MILLIBOX_FRAMES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(400);
    let mut outcomes = std::collections::BTreeMap::new();
    for round in 0..count {
        let mut body = good.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(body.len() as u64) as usize;
            match random.below(6) {
                0 => body[at] ^= 1 << random.below(8),
                1 => body[at] = random.below(256) as u8,
                2 => body.insert(at, random.below(256) as u8),
                // At least one byte remains to change.
                3 => drop((body.len() > 1).then(|| body.remove(at))),
                4 => body.truncate(at.max(1)),
                // The numbers are at the end.
                _ => {
                    let end = body.len() - 1 - random.below(body.len().min(40) as u64) as usize;
                    body[end] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize];
                }
            }
        }
        // A run with a partner waits for it.
        if decode::<Run>(&body).is_ok_and(|run| run.partner.is_some()) {
            continue;
        }
        let id = client.id();
        let descriptors = [probe.as_fd(); 3];
        client.send(
            &frame(Kind::Run, id, &body),
            &descriptors[..1 + random.below(20) as usize / 18],
        );
        let (answered, result) = client.result();
        assert_eq!(answered, id, "round {round}: {result}");
        if let Some(error) = result.outcome.error() {
            assert!(
                error.errno.is_some() || error.hint.is_some(),
                "round {round}: {error:?}"
            );
        }
        *outcomes.entry(result.outcome.name()).or_insert(0) += 1;
        if round % 50 == 0 {
            client.assert_works();
        }
    }
    client.assert_works();
    eprintln!("{outcomes:?}");
    assert!(
        outcomes.contains_key("not_started") && outcomes.len() > 1,
        "{outcomes:?}"
    );
}
