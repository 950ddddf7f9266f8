//! Mounts: a run sees exactly the files that its world describes.

mod bind;
mod creation;
mod default_world;
mod hanging;
mod host;
mod tmpfs;

use millibox::{
    Error, Hint, Mount, Outcome, Request, RequestError, RunError, Step, Supervisor, World,
    WorldError, WorldProblem,
};
use millibox_tests::{not_started, request, result, run};
use std::path::Path;

const EROFS: i64 = libc::EROFS as i64;
const EACCES: i64 = libc::EACCES as i64;

fn tmpfs(at: &str) -> Mount {
    Mount::tmpfs(at)
}

fn sized(at: &str, bytes: Option<u64>, count: Option<u64>) -> Mount {
    Mount::Tmpfs {
        at: at.into(),
        size: bytes,
        inodes: count,
        mode: 0o1777,
        read_only: false,
        no_exec: false,
    }
}

struct Bind {
    read_only: bool,
    recursive: bool,
    no_exec: bool,
    no_follow: bool,
}

const PLAIN: Bind = Bind {
    read_only: false,
    recursive: false,
    no_exec: false,
    no_follow: false,
};

fn bind(source: &Path, at: &str, how: Bind) -> Mount {
    Mount::Bind {
        source: source.to_str().unwrap().into(),
        at: at.into(),
        read_only: how.read_only,
        recursive: how.recursive,
        no_exec: how.no_exec,
        no_follow: how.no_follow,
        device: false,
    }
}

/// The number that the probe prints for `key` in this world.
fn number(supervisor: &Supervisor, world: &World, arguments: &[&str], key: &str) -> i64 {
    let output = run(supervisor, &request(arguments).world(world));
    assert_eq!(
        output.result.outcome,
        Outcome::Exited(0),
        "{arguments:?}: {}",
        output.result
    );
    output.number(key)
}

/// Asserts that a run in this world does not start because a mount fails, and that the error names
/// `subject`.
fn assert_mount_fails(
    supervisor: &Supervisor,
    world: &World,
    step: Step,
    errno: i32,
    subject: &str,
) {
    let error = failure(supervisor, world);
    assert_eq!((error.step, error.errno), (step, Some(errno)), "{error}");
    let named = error.subject.as_deref().unwrap_or_default();
    assert!(
        named.contains(subject),
        "{named:?} does not name {subject:?}"
    );
}

/// Asserts that the supervisor rejects the world.
fn assert_supervisor_rejects(
    supervisor: &Supervisor,
    world: &World,
    path: &str,
    problem: WorldProblem,
) {
    let error = WorldError::at(path.as_bytes(), problem);
    assert_eq!(
        failure(supervisor, world),
        RunError::new(Step::World).with_hint(Hint::World(error))
    );
}

/// The error of a run in this world. Asserts that the next run works, and that a second run fails
/// in the same way.
fn failure(supervisor: &Supervisor, world: &World) -> RunError {
    let result = result(supervisor, &request(["exit", "0"]).world(world));
    assert_eq!(
        self::result(supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
    let again = self::result(supervisor, &request(["exit", "0"]).world(world));
    assert_eq!(again.outcome, result.outcome);
    not_started(&result).clone()
}

/// Asserts that the client rejects the world before it sends anything.
fn assert_client_rejects(
    supervisor: &Supervisor,
    world: &World,
    path: &str,
    problem: WorldProblem,
) {
    match supervisor.run(&request(["exit", "0"]).world(world)) {
        Err(Error::Request(RequestError::World(error))) => {
            assert_eq!(error, WorldError::at(path.as_bytes(), problem));
        }
        other => panic!("{path}: {other:?}"),
    }
    assert_eq!(
        result(supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
}
