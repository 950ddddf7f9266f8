//! The wire protocol. The supervisor rejects each frame that it cannot read, and accepts the next
//! frame.

mod frames;
mod runs;

use millibox::{Backend, FrameProblem, Hint, RunError, Step, WorldError};
use millibox_tests::{executable, probe, readable};
use millibox_wire::frame::{Header, Kind};
use millibox_wire::{
    DecodeError, Descriptors, Hello, Limits, Located, Outcome, Run, RunResult, World, decode,
    encode,
};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType,
};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
        let Outcome::NotStarted(error) = result.outcome else {
            panic!("{result:?}");
        };
        assert_eq!(answered, id, "{error}");
        self.assert_works();
        error
    }

    /// The errors with which the supervisor answers the two runs of a pair.
    fn errors_of_pair(&self, id: u64) -> [RunError; 2] {
        [id, id + 1].map(|id| {
            let (answered, result) = self.result();
            assert_eq!(answered, id, "{result:?}");
            let Outcome::NotStarted(error) = result.outcome else {
                panic!("{result:?}");
            };
            error
        })
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
            "{result:?}"
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

/// The world as sent by a client that has not looked up the sources.
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
        may_start_cold: false,
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
