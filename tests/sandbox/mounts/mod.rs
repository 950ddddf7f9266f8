//! Mounts: a run sees exactly the files that its world describes.

mod bind;
mod creation;
mod default_world;
mod hanging;
mod host;
mod tmpfs;

use millibox::{
    BindMount, Error, Hint, Mount, Outcome, Request, RequestMistake, RunError, Step, Supervisor,
    TmpfsMount, World, WorldError, WorldProblem,
};
use millibox_tests::{not_started, request, result, run};
use std::path::Path;

const EROFS: i64 = libc::EROFS as i64;
const EACCES: i64 = libc::EACCES as i64;

fn tmpfs(at: &str) -> TmpfsMount {
    Mount::tmpfs(at)
}

fn sized(at: &str, bytes: Option<u64>, count: Option<u64>) -> TmpfsMount {
    let mut mount = Mount::tmpfs(at);
    if let Some(bytes) = bytes {
        mount = mount.size_limit(bytes);
    }
    if let Some(count) = count {
        mount = mount.inode_limit(count);
    }
    mount
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

fn bind(source: &Path, at: &str, how: Bind) -> BindMount {
    let mut mount = if how.read_only {
        Mount::read_only(source, at)
    } else {
        Mount::read_write(source, at)
    };
    if !how.recursive {
        mount = mount.not_recursive();
    }
    if how.no_exec {
        mount = mount.no_exec();
    }
    if how.no_follow {
        mount = mount.no_follow();
    }
    mount
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
        Err(error @ Error::Request(_)) => {
            let expected = WorldError::at(path.as_bytes(), problem);
            assert_eq!(error.request_mistakes(), [RequestMistake::World(expected)]);
        }
        other => panic!("{path}: {other:?}"),
    }
    assert_eq!(
        result(supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
}
