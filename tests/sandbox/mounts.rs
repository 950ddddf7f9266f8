//! Mounts: a run sees exactly the files that its world describes.

#![allow(unsafe_code, reason = "plain system calls that prepare the mounts")]

use crate::{builder, supervisor};
use millibox::{
    Error, Hint, Mount, Outcome, Request, RequestError, RunError, Step, Supervisor, World,
    WorldError, WorldProblem,
};
use millibox_tests::{
    copy_probe, directory, executable, is_root, not_started, request, result, run, run_probe,
    set_mode, skip, start, world_with_proc,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Command, Stdio};

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

// --- the default world -----------------------------------------------------------------

#[test]
fn default_world_is_writable_only_in_tmp() {
    let supervisor = supervisor();
    for world in [
        World::minimal(),
        world_with_proc(),
        World::minimal().uid(0).gid(0),
    ] {
        let output = run(&supervisor, &request(["writable"]).world(&world));
        assert_eq!(output.text(), "writable=/tmp\n");
    }
}

#[test]
fn default_world_contains_only_system_directories() {
    let supervisor = supervisor();
    let output = run_probe(&supervisor, &["ls", "/"]);
    let allowed = [
        "bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "tmp", "usr",
    ];
    assert!(
        output.text().lines().all(|name| allowed.contains(&name)),
        "{}",
        output.text()
    );
    let dev = run_probe(&supervisor, &["ls", "/dev"]).text();
    assert_eq!(
        dev,
        "fd\nfull\nnull\nrandom\nstderr\nstdin\nstdout\nurandom\nzero\n"
    );
    for private in [
        "/etc/passwd",
        "/etc/shadow",
        "/root",
        "/home",
        "/proc/self",
        "/sys/kernel",
        "/var/log",
        "/run",
    ] {
        assert_eq!(
            run_probe(&supervisor, &["stat", private]).number("errno"),
            i64::from(libc::ENOENT),
            "{private}"
        );
    }
    for (path, mode) in [
        ("/dev/null", "w"),
        ("/dev/zero", "r"),
        ("/dev/full", "w"),
        ("/dev/urandom", "r"),
    ] {
        assert_eq!(
            run_probe(&supervisor, &["open", path, mode]).number("errno"),
            0,
            "{path}"
        );
    }
    let cat =
        Request::new("/bin/sh").args(["-c", "echo x > /dev/null && read y < /dev/urandom; exit 6"]);
    assert_eq!(result(&supervisor, &cat).outcome, Outcome::Exited(6));
}

#[test]
fn mounts_are_nosuid_and_nodev() {
    let supervisor = supervisor();
    let directory = directory();
    let world = world_with_proc()
        .read_write(directory.path(), "/data")
        .mount(tmpfs("/extra"));
    for path in ["/", "/usr", "/tmp", "/data", "/extra", "/proc"] {
        let output = run(&supervisor, &request(["statvfs", path]).world(&world));
        assert_eq!(
            (output.number("nosuid"), output.number("nodev")),
            (1, 1),
            "{path}"
        );
        assert_eq!(
            output.number("ro"),
            i64::from(!["/tmp", "/data", "/extra"].contains(&path)),
            "{path}"
        );
    }
    // A device node does not work unless the mount is marked as a device.
    let world = World::minimal().mount(bind(Path::new("/dev/null"), "/extra/null", PLAIN));
    assert_eq!(
        number(&supervisor, &world, &["open", "/extra/null", "r"], "errno"),
        EACCES
    );
}

// --- tmpfs -----------------------------------------------------------------------------

#[test]
fn tmpfs_size_limit_is_rounded_up_to_pages() {
    let supervisor = supervisor();
    for (size, room) in [
        (1, 4096),
        (4096, 4096),
        (4097, 8192),
        (1 << 20, 1 << 20),
        ((1 << 20) + 5, (1 << 20) + 4096),
    ] {
        let world = World::minimal().mount(sized("/small", Some(size), None));
        let output = run(
            &supervisor,
            &request(["file", "/small/file", "9000000"]).world(&world),
        );
        assert_eq!(
            (output.number("written"), output.number("errno")),
            (room, i64::from(libc::ENOSPC)),
            "{size}"
        );
    }
}

#[test]
fn tmpfs_inode_limit_is_exact() {
    let supervisor = supervisor();
    for inodes in [2, 3, 10, 100] {
        let world = World::minimal().mount(sized("/small", None, Some(inodes)));
        let output = run(
            &supervisor,
            &request(["mkdirs", "/small", "200"]).world(&world),
        );
        // The root directory uses one inode.
        assert_eq!(
            (output.number("made"), output.number("errno")),
            (inodes as i64 - 1, i64::from(libc::ENOSPC))
        );
    }
}

#[test]
fn tmpfs_without_limits_is_unlimited() {
    let supervisor = supervisor();
    let world = World::minimal().mount(sized("/large", None, None));
    assert_eq!(
        number(
            &supervisor,
            &world,
            &["file", "/large/file", "50000000"],
            "written"
        ),
        50_000_000
    );
    assert_eq!(
        number(&supervisor, &world, &["mkdirs", "/large", "3000"], "made"),
        3000
    );
    // The limit is not the kernel's default either, which is half of the host's memory.
    for (what, limited) in [
        ("blocks", sized("/large", Some(1 << 20), None)),
        ("files", sized("/large", None, Some(50))),
    ] {
        assert_eq!(
            number(&supervisor, &world, &["statvfs", "/large"], what),
            0,
            "{what}"
        );
        assert_ne!(
            number(
                &supervisor,
                &World::minimal().mount(limited),
                &["statvfs", "/large"],
                what
            ),
            0,
            "{what}"
        );
    }
    assert_client_rejects(
        &supervisor,
        &World::minimal().mount(sized("/x", Some(0), None)),
        "/x",
        WorldProblem::ZeroSize,
    );
    assert_client_rejects(
        &supervisor,
        &World::minimal().mount(sized("/x", None, Some(0))),
        "/x",
        WorldProblem::ZeroInodes,
    );
}

#[test]
fn tmpfs_has_requested_mode() {
    let supervisor = supervisor();
    for mode in [0o755, 0o700, 0o1777, 0o2775, 0o555, 0o0] {
        let mount = Mount::Tmpfs {
            at: "/it".into(),
            size: None,
            inodes: None,
            mode,
            read_only: false,
            no_exec: false,
        };
        let output = run(
            &supervisor,
            &request(["stat", "/it"]).world(&World::minimal().mount(mount)),
        );
        assert_eq!(output.value("mode"), format!("{mode:o}"));
    }
}

#[test]
fn tmpfs_with_read_only_or_noexec_enforces_it() {
    let supervisor = supervisor();
    let mount = |read_only, no_exec| {
        let mount = Mount::Tmpfs {
            at: "/it".into(),
            size: None,
            inodes: None,
            mode: 0o777,
            read_only,
            no_exec,
        };
        World::minimal().mount(mount)
    };
    assert_eq!(
        number(
            &supervisor,
            &mount(true, false),
            &["mkdir", "/it/a"],
            "errno"
        ),
        EROFS
    );
    assert_eq!(
        number(
            &supervisor,
            &mount(false, false),
            &["mkdir", "/it/a"],
            "errno"
        ),
        0
    );
    let script = "cp /bin/true /it/true && /it/true; echo $?";
    for (no_exec, expected) in [(false, "0\n"), (true, "126\n")] {
        let shell = Request::new("/bin/sh")
            .args(["-c", script])
            .env("PATH", "/bin")
            .world(&mount(false, no_exec));
        assert_eq!(run(&supervisor, &shell).text(), expected);
    }
}

#[test]
fn tmpfs_is_fresh_for_each_run() {
    let supervisor = start(builder().slots(1));
    for _ in 0..6 {
        assert_eq!(run_probe(&supervisor, &["ls", "/tmp"]).text(), "\n");
        assert_eq!(
            run_probe(&supervisor, &["file", "/tmp/mine", "10"]).number("errno"),
            0
        );
    }
}

// --- bind ------------------------------------------------------------------------------

#[test]
fn bind_of_directory_shows_its_files() {
    let supervisor = supervisor();
    let directory = directory();
    std::fs::write(directory.path().join("file"), "content").unwrap();
    set_mode(&directory.path().join("file"), 0o666);
    let read_only = World::minimal().read_only(directory.path(), "/deep/in/data");
    let cat = run(
        &supervisor,
        &request(["cat", "/deep/in/data/file"]).world(&read_only),
    );
    assert_eq!(cat.text(), "content");
    for (arguments, errno) in [
        (["open", "/deep/in/data/file", "w"], EROFS),
        (["open", "/deep/in/data/new", "create"], EROFS),
    ] {
        assert_eq!(number(&supervisor, &read_only, &arguments, "errno"), errno);
    }
    let read_write = World::minimal().read_write(directory.path(), "/data");
    assert_eq!(
        number(
            &supervisor,
            &read_write,
            &["file", "/data/new", "5"],
            "errno"
        ),
        0
    );
    assert_eq!(std::fs::read(directory.path().join("new")).unwrap(), [0; 5]);
    // A bind shows the directory itself and not a copy, so later files appear.
    std::fs::write(directory.path().join("later"), "x").unwrap();
    assert_eq!(
        number(&supervisor, &read_write, &["stat", "/data/later"], "errno"),
        0
    );
}

#[test]
fn bind_of_file_shows_its_content() {
    let supervisor = supervisor();
    let directory = directory();
    let file = directory.path().join("file");
    std::fs::write(&file, "content").unwrap();
    set_mode(&file, 0o666);
    let world = World::minimal().read_only(&file, "/a/b/c");
    assert_eq!(
        run(&supervisor, &request(["cat", "/a/b/c"]).world(&world)).text(),
        "content"
    );
    assert_eq!(
        number(&supervisor, &world, &["open", "/a/b/c", "w"], "errno"),
        EROFS
    );
    let world = World::minimal().read_write(&file, "/file");
    assert_eq!(
        number(&supervisor, &world, &["open", "/file", "w"], "errno"),
        0
    );
    // A bind may cover an existing file.
    let world = World::minimal()
        .mount(Mount::CreateFile {
            path: "/here".into(),
            mode: 0o600,
        })
        .read_only(&file, "/here");
    assert_eq!(
        run(&supervisor, &request(["cat", "/here"]).world(&world)).text(),
        "content"
    );
}

#[test]
fn bind_below_tmpfs_or_other_bind_is_visible() {
    let supervisor = supervisor();
    let (outer, inner) = (directory(), directory());
    std::fs::create_dir(outer.path().join("inner")).unwrap();
    std::fs::write(inner.path().join("file"), "inner").unwrap();
    set_mode(&inner.path().join("file"), 0o666);
    let world = World::minimal()
        .read_only(inner.path(), "/tmp/x/y")
        .read_only(inner.path().join("file"), "/tmp/f")
        .mount(Mount::CreateDir {
            path: "/tmp/made".into(),
            mode: 0o751,
        })
        .mount(Mount::CreateFile {
            path: "/tmp/x/empty".into(),
            mode: 0o640,
        })
        .mount(Mount::Symlink {
            target: "x/y/file".into(),
            path: "/tmp/link".into(),
        })
        .mount(sized("/tmp/more", Some(4096), None))
        .read_only(outer.path(), "/outer")
        .read_only(inner.path(), "/outer/inner");
    for _ in 0..2 {
        for path in ["/tmp/x/y/file", "/tmp/f", "/tmp/link", "/outer/inner/file"] {
            assert_eq!(
                run(&supervisor, &request(["cat", path]).world(&world)).text(),
                "inner",
                "{path}"
            );
        }
        assert_eq!(
            run(&supervisor, &request(["stat", "/tmp/made"]).world(&world)).value("mode"),
            "751"
        );
        assert_eq!(
            run(
                &supervisor,
                &request(["stat", "/tmp/x/empty"]).world(&world)
            )
            .value("mode"),
            "640"
        );
        assert_eq!(
            number(
                &supervisor,
                &world,
                &["open", "/tmp/x/y/file", "w"],
                "errno"
            ),
            EROFS
        );
        assert_eq!(
            number(
                &supervisor,
                &world,
                &["file", "/tmp/more/file", "9999"],
                "written"
            ),
            4096
        );
    }
}

#[test]
fn bind_with_very_long_source_names_it_in_error() {
    let supervisor = supervisor();
    let long = |step: &str, length: usize| format!("/{}/end", step.repeat(length / step.len()));
    // The error contains the path. Each byte that is not UTF-8 becomes a character of three bytes.
    let strange = std::ffi::OsString::from_vec(b"/\xff\xfe\xfd".repeat(900));
    assert_mount_fails(
        &supervisor,
        &World::minimal().read_only(strange, "/x"),
        Step::MountSource,
        libc::ENOENT,
        "\u{fffd}",
    );
    for length in [3000, 9000, 30_000] {
        let world = World::minimal().read_only(long("a/", length), "/x");
        let errno = if length < 4096 {
            libc::ENOENT
        } else {
            libc::ENAMETOOLONG
        };
        assert_mount_fails(&supervisor, &world, Step::MountSource, errno, "/end");
        let up = long("../", length);
        assert_client_rejects(
            &supervisor,
            &World::minimal().mount(Mount::tmpfs(up.as_str())),
            &up,
            WorldProblem::PathHasDotDot,
        );
    }
}

#[test]
fn bind_with_invalid_source_or_target_is_rejected() {
    let supervisor = supervisor();
    let missing = World::minimal().read_only("/no/such/source", "/x");
    assert_mount_fails(
        &supervisor,
        &missing,
        Step::MountSource,
        libc::ENOENT,
        "/no/such/source",
    );
    let relative = World::minimal().read_only("relative", "/x");
    assert_client_rejects(
        &supervisor,
        &relative,
        "/x",
        WorldProblem::SourceNotAbsolute("relative".to_owned()),
    );
    let up = World::minimal().read_only("/usr", "/x/../y");
    assert_client_rejects(&supervisor, &up, "/x/../y", WorldProblem::PathHasDotDot);
    // Only another user may reach this source.
    let directory = directory();
    let inner = directory.path().join("private/inner");
    std::fs::create_dir_all(&inner).unwrap();
    set_mode(&directory.path().join("private"), 0);
    assert_mount_fails(
        &supervisor,
        &World::minimal().read_only(&inner, "/x"),
        Step::MountSource,
        libc::EACCES,
        "inner",
    );
    set_mode(&directory.path().join("private"), 0o755);
    // The bind's target has the wrong type.
    let wrong = World::minimal().read_only("/usr", "/dev/null");
    let error = failure(&supervisor, &wrong);
    assert!(
        error
            .subject
            .as_ref()
            .is_some_and(|subject| subject.contains("/dev/null")),
        "{error}"
    );
}

#[test]
fn bind_with_no_follow_rejects_symlinks() {
    let supervisor = supervisor();
    let directory = directory();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("/usr", &link).unwrap();
    let followed = World::minimal().mount(bind(
        &link,
        "/x",
        Bind {
            recursive: true,
            ..PLAIN
        },
    ));
    assert_eq!(
        number(&supervisor, &followed, &["stat", "/x/bin"], "errno"),
        0
    );
    let rejected = World::minimal().mount(bind(
        &link,
        "/x",
        Bind {
            recursive: true,
            no_follow: true,
            ..PLAIN
        },
    ));
    assert_mount_fails(
        &supervisor,
        &rejected,
        Step::MountSource,
        libc::ELOOP,
        "link",
    );
    // A link in a parent directory is rejected as well, because an earlier run may have created it.
    let through = link.join("bin");
    let followed = World::minimal().mount(bind(
        &through,
        "/x",
        Bind {
            recursive: true,
            ..PLAIN
        },
    ));
    assert_eq!(
        number(&supervisor, &followed, &["stat", "/x/env"], "errno"),
        0
    );
    let rejected = World::minimal().mount(bind(
        &through,
        "/x",
        Bind {
            recursive: true,
            no_follow: true,
            ..PLAIN
        },
    ));
    assert_mount_fails(
        &supervisor,
        &rejected,
        Step::MountSource,
        libc::ELOOP,
        "link",
    );
    let straight = bind(
        directory.path(),
        "/x",
        Bind {
            recursive: true,
            no_follow: true,
            ..PLAIN
        },
    );
    assert_eq!(
        number(
            &supervisor,
            &World::minimal().mount(straight),
            &["stat", "/x/link"],
            "errno"
        ),
        0
    );
}

#[test]
fn bind_through_proc_links_is_rejected() {
    let supervisor = supervisor();
    let directory = directory();
    let link = directory.path().join("link");
    // These links lead to the mounter's own directories and open files.
    for target in [
        "/proc/self/root",
        "/proc/self/cwd",
        "/proc/self/fd/0",
        "/proc/self/exe",
    ] {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        for source in [Path::new(target), &link, &link.join("usr")] {
            let world = World::minimal().mount(bind(
                source,
                "/x",
                Bind {
                    recursive: true,
                    ..PLAIN
                },
            ));
            assert_mount_fails(
                &supervisor,
                &world,
                Step::MountSource,
                libc::ELOOP,
                source.to_str().unwrap(),
            );
        }
    }
    // /proc/mounts is a link in /proc, but not one of these.
    let plain = World::minimal().mount(bind(Path::new("/proc/mounts"), "/x", PLAIN));
    assert_eq!(number(&supervisor, &plain, &["stat", "/x"], "errno"), 0);
}

#[test]
fn bind_with_noexec_prevents_execution() {
    let supervisor = supervisor();
    let directory = directory();
    copy_probe(directory.path());
    let world = |no_exec| {
        World::minimal().mount(bind(
            directory.path(),
            "/x",
            Bind {
                no_exec,
                read_only: true,
                ..PLAIN
            },
        ))
    };
    let ran = run(
        &supervisor,
        &request(["exec", "/x/probe"]).world(&world(false)),
    );
    assert_eq!(ran.result.outcome, Outcome::Exited(42));
    assert_eq!(
        number(&supervisor, &world(true), &["exec", "/x/probe"], "errno"),
        EACCES
    );
    let by_path = result(&supervisor, &Request::new("/x/probe").world(&world(true)));
    assert!(
        matches!(&by_path.outcome, Outcome::NotStarted(error) if error.errno == Some(libc::EACCES)),
        "{by_path}"
    );
    // Starting the program through the loader does not help.
    let mapped = Request::new("/bin/sh").args([
        "-c",
        "for l in /lib64/ld-linux* /lib/ld-linux*; do $l /x/probe; done",
    ]);
    assert_ne!(
        result(&supervisor, &mapped.world(&world(true))).outcome,
        Outcome::Exited(42)
    );
}

/// Runs a client that has mounted its own tmpfs below a bound directory.
fn client_with_submount(flags: &str, arguments: &[&str]) -> Option<millibox_tests::ClientOutput> {
    let directory = directory();
    let top = directory.path().join("top");
    std::fs::create_dir_all(top.join("sub")).unwrap();
    set_mode(&top, 0o777);
    // SAFETY: geteuid(2) has no preconditions.
    let uid = unsafe { libc::geteuid() };
    let uid = if uid == 0 { 12345 } else { uid };
    let mut client_arguments = vec![format!("user={uid}:{uid}"), "mount-namespace".to_owned()];
    client_arguments.push(format!("tmpfs={}/sub", top.display()));
    client_arguments.push(format!("bind={}:/x:{flags}", top.display()));
    client_arguments.push("--".to_owned());
    client_arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let output = millibox_tests::client(&client_arguments);
    if output.stdout.contains("unable=") {
        skip(output.stdout.trim());
        return None;
    }
    Some(output)
}

#[test]
fn bind_flags_apply_to_submounts() {
    for (flags, says) in [
        ("R", [0, 0]),
        ("Rr", [1, 0]),
        ("Rn", [0, 1]),
        ("Rrn", [1, 1]),
    ] {
        for path in ["/x", "/x/sub"] {
            let Some(output) = client_with_submount(flags, &["statvfs", path]) else {
                return;
            };
            assert_eq!(
                [output.value("ro"), output.value("noexec")],
                says.map(|n| n.to_string()),
                "{flags} {path} {output:?}"
            );
            assert_eq!(
                [output.value("nosuid"), output.value("nodev")],
                ["1", "1"],
                "{flags} {path}"
            );
        }
    }
    let Some(output) = client_with_submount("Rr", &["mkdir", "/x/sub/new"]) else {
        return;
    };
    assert_eq!(output.value("errno"), EROFS.to_string());
    let Some(output) = client_with_submount("R", &["mkdir", "/x/sub/new"]) else {
        return;
    };
    assert_eq!(output.value("errno"), "0");
}

#[test]
fn bind_without_submounts_is_rejected_if_one_exists() {
    // The submount belongs to the client's user namespace, an ancestor of the supervisor's. It must
    // not be left out (mount_namespaces(7)), so the run reports an error.
    let Some(output) = client_with_submount("", &["statvfs", "/x/sub"]) else {
        return;
    };
    let error = ["outcome_name", "step", "errno"].map(|key| output.value(key));
    assert_eq!(
        error,
        ["not_started", "mount_source", &libc::EINVAL.to_string()],
        "{output:?}"
    );
    // Without a submount, the same bind works.
    let supervisor = supervisor();
    let directory = directory();
    std::fs::create_dir(directory.path().join("sub")).unwrap();
    let world = World::minimal().mount(bind(directory.path(), "/x", PLAIN));
    assert_eq!(number(&supervisor, &world, &["stat", "/x/sub"], "errno"), 0);
}

// --- new root, proc, nodes -------------------------------------------------------------

#[test]
fn new_root_replaces_the_root_directory() {
    let supervisor = supervisor();
    let root = directory();
    std::fs::create_dir(root.path().join("mine")).unwrap();
    let world = World::empty()
        .read_only(root.path(), "/new")
        .mount(Mount::NewRoot {
            path: "/new".into(),
        });
    let output = run(&supervisor, &request(["ls", "/"]).world(&world));
    // The probe is dynamic, and this world has no loader.
    assert_eq!(
        not_started(&output.result).hint,
        Some(Hint::InterpreterMissing)
    );
    for name in ["usr", "lib", "lib64"] {
        std::fs::create_dir_all(root.path().join(name)).unwrap();
    }
    let mut world = World::empty().read_only(root.path(), "/new");
    for name in ["usr", "lib", "lib64"] {
        if Path::new("/").join(name).exists() {
            world = world.read_only(Path::new("/").join(name), Path::new("/new").join(name));
        }
    }
    let world = world.mount(Mount::NewRoot {
        path: "/new".into(),
    });
    let output = run(&supervisor, &request(["ls", "/"]).world(&world));
    assert_eq!(
        output.text(),
        "lib\nlib64\nmine\nusr\n",
        "{}",
        output.result
    );
    assert_eq!(
        number(&supervisor, &world, &["mkdir", "/x"], "errno"),
        EROFS
    );
    assert_eq!(
        number(&supervisor, &world, &["stat", "/new"], "errno"),
        i64::from(libc::ENOENT)
    );
}

#[test]
fn new_root_without_mount_point_returns_error() {
    let supervisor = supervisor();
    let directory = Mount::CreateDir {
        path: "/plain".into(),
        mode: 0o755,
    };
    let world = World::empty().mount(directory).mount(Mount::NewRoot {
        path: "/plain".into(),
    });
    assert_mount_fails(&supervisor, &world, Step::NewRoot, libc::EINVAL, "/plain");
    let missing = World::empty().mount(Mount::NewRoot {
        path: "/missing".into(),
    });
    assert_mount_fails(
        &supervisor,
        &missing,
        Step::NewRoot,
        libc::ENOENT,
        "/missing",
    );
    let late = World::empty()
        .mount(tmpfs("/t"))
        .mount(Mount::NewRoot { path: "/t".into() });
    assert_supervisor_rejects(&supervisor, &late, "/t", WorldProblem::NewRootTooLate);
}

#[test]
fn procfs_is_read_only_and_noexec() {
    let supervisor = supervisor();
    let world = world_with_proc();
    let output = run(&supervisor, &request(["statvfs", "/proc"]).world(&world));
    assert_eq!((output.number("ro"), output.number("noexec")), (1, 1));
    assert_eq!(
        number(
            &supervisor,
            &world,
            &["open", "/proc/sys/kernel/hostname", "w"],
            "errno"
        ),
        EROFS
    );
    assert_eq!(
        number(
            &supervisor,
            &world,
            &["open", "/proc/self/oom_score_adj", "w"],
            "errno"
        ),
        EROFS
    );
    assert_eq!(
        number(&supervisor, &world, &["stat", "/proc/meminfo"], "errno"),
        0
    );
    let only = World::minimal().mount(Mount::Proc {
        at: "/proc".into(),
        processes_only: true,
    });
    assert_eq!(
        number(&supervisor, &only, &["stat", "/proc/self"], "errno"),
        0
    );
    assert_eq!(
        number(&supervisor, &only, &["stat", "/proc/meminfo"], "errno"),
        i64::from(libc::ENOENT)
    );
    assert_eq!(
        number(&supervisor, &only, &["stat", "/proc/sys"], "errno"),
        i64::from(libc::ENOENT)
    );
    let below = World::minimal().mount(Mount::proc("/tmp/proc"));
    assert_supervisor_rejects(
        &supervisor,
        &below,
        "/tmp/proc",
        WorldProblem::ProcfsBelowTmpfs,
    );
}

#[test]
fn created_files_and_directories_have_exact_modes() {
    let supervisor = supervisor();
    for mode in [0o777, 0o755, 0o4711, 0o1000, 0o0, 0o640] {
        let world = World::minimal()
            .mount(Mount::CreateDir {
                path: "/a/b/dir".into(),
                mode,
            })
            .mount(Mount::CreateFile {
                path: "/a/file".into(),
                mode,
            });
        for (path, kind) in [("/a/b/dir", "40000"), ("/a/file", "100000")] {
            let output = run(&supervisor, &request(["stat", path]).world(&world));
            assert_eq!(
                (output.value("mode"), output.value("kind")),
                (format!("{mode:o}"), kind.to_owned())
            );
        }
        let output = run(&supervisor, &request(["stat", "/a/b"]).world(&world));
        assert_eq!(output.value("mode"), "755");
    }
    let link = World::minimal().mount(Mount::Symlink {
        target: "/usr/bin".into(),
        path: "/programs".into(),
    });
    assert_eq!(
        number(&supervisor, &link, &["stat", "/programs/env"], "errno"),
        0
    );
}

#[test]
fn creating_existing_path_returns_error() {
    let supervisor = supervisor();
    for path in ["/usr", "/tmp", "/", "/dev/null", "/usr/bin"] {
        for mount in [
            Mount::CreateDir {
                path: path.into(),
                mode: 0o755,
            },
            Mount::CreateFile {
                path: path.into(),
                mode: 0o644,
            },
            Mount::Symlink {
                target: "x".into(),
                path: path.into(),
            },
        ] {
            let world = World::minimal().mount(mount.clone());
            let result = result(&supervisor, &request(["exit", "0"]).world(&world));
            let error = not_started(&result);
            assert!(
                error
                    .subject
                    .as_ref()
                    .is_some_and(|subject| subject.contains(path)),
                "{error}"
            );
            assert_eq!(error.errno, Some(libc::EEXIST), "{mount:?}: {error}");
        }
    }
    let inside = World::minimal()
        .mount(Mount::CreateDir {
            path: "/tmp/a".into(),
            mode: 0o755,
        })
        .mount(Mount::CreateDir {
            path: "/tmp/a".into(),
            mode: 0o755,
        });
    assert_mount_fails(
        &supervisor,
        &inside,
        Step::MountPoint,
        libc::EEXIST,
        "/tmp/a",
    );
    // No file is created on a foreign file system.
    let foreign = World::minimal().mount(Mount::CreateDir {
        path: "/usr/millibox-was-here".into(),
        mode: 0o755,
    });
    assert_mount_fails(
        &supervisor,
        &foreign,
        Step::MountPoint,
        libc::EROFS,
        "/usr/millibox-was-here",
    );
    assert!(!Path::new("/usr/millibox-was-here").exists());
}

#[test]
fn mounts_create_nothing_on_host_file_system() {
    let supervisor = supervisor();
    let host = directory();
    std::fs::create_dir_all(host.path().join("present/proc")).unwrap();
    std::fs::write(host.path().join("present/file"), "").unwrap();
    set_mode(host.path(), 0o777);
    let before = listing(host.path());
    let add = |at: &str, mount: fn(String) -> Mount| {
        World::minimal()
            .read_write(host.path(), at)
            .mount(mount(format!("{at}/missing")))
    };
    let nested = |at: String| Mount::tmpfs(at + "/more");
    let makers: [fn(String) -> Mount; 4] = [
        |at| Mount::tmpfs(at),
        |at| {
            bind(
                Path::new("/usr"),
                &at,
                Bind {
                    recursive: true,
                    ..PLAIN
                },
            )
        },
        |at| bind(Path::new("/etc/passwd"), &at, PLAIN),
        nested,
    ];
    for make in makers {
        assert_mount_fails(
            &supervisor,
            &add("/x", make),
            Step::MountPoint,
            libc::EXDEV,
            "/x/missing",
        );
        // Below the run's own tmpfs, pid1 creates the mounts.
        assert_mount_fails(
            &supervisor,
            &add("/tmp/x", make),
            Step::Mount,
            libc::ENOENT,
            "/tmp/x/missing",
        );
    }
    assert_mount_fails(
        &supervisor,
        &add("/x", Mount::proc),
        Step::MountPoint,
        libc::EXDEV,
        "/x/missing",
    );
    let creators: [fn(String) -> Mount; 3] = [
        |path| Mount::CreateDir {
            path: path.into(),
            mode: 0o755,
        },
        |path| Mount::CreateFile {
            path: path.into(),
            mode: 0o644,
        },
        |path| Mount::Symlink {
            target: "/".into(),
            path: path.into(),
        },
    ];
    for make in creators {
        assert_mount_fails(
            &supervisor,
            &add("/x", make),
            Step::MountPoint,
            libc::EXDEV,
            "/x/missing",
        );
        assert_supervisor_rejects(
            &supervisor,
            &add("/tmp/x", make),
            "/tmp/x/missing",
            WorldProblem::OnHostFileSystem,
        );
    }
    let root = World::empty()
        .read_write(host.path(), "/x")
        .mount(Mount::NewRoot { path: "/x".into() })
        .mount(Mount::proc("/missing/proc"));
    assert_mount_fails(
        &supervisor,
        &root,
        Step::MountPoint,
        libc::EXDEV,
        "/missing/proc",
    );
    assert_eq!(listing(host.path()), before);
    // Existing files can be mount points. A tmpfs of the world on them belongs to the world again.
    for at in ["/x", "/tmp/x"] {
        let world = World::minimal()
            .read_write(host.path(), at)
            .read_only("/usr", format!("{at}/present/proc"))
            .read_only("/etc/passwd", format!("{at}/present/file"));
        assert_eq!(
            number(
                &supervisor,
                &world,
                &["stat", &format!("{at}/present/proc/bin")],
                "errno"
            ),
            0
        );
        assert!(
            run(
                &supervisor,
                &request(["cat", &format!("{at}/present/file")]).world(&world)
            )
            .text()
            .contains("root")
        );
        let world = World::minimal()
            .read_write(host.path(), at)
            .mount(tmpfs(&format!("{at}/present")))
            .read_only("/usr", format!("{at}/present/a/b"));
        assert_eq!(
            number(
                &supervisor,
                &world,
                &["stat", &format!("{at}/present/a/b/bin")],
                "errno"
            ),
            0
        );
    }
    assert_eq!(listing(host.path()), before);
}

/// A run that can write above a mount point can move it, and the mount with it. In the run's own
/// namespace, nothing is mounted there (mount_namespaces(7)).
#[test]
fn mount_point_moved_by_another_run_is_never_replaced() {
    let supervisor = start(builder().slots(1));
    let host = directory();
    set_mode(host.path(), 0o777);
    let plain = World::minimal().read_write(host.path(), "/work");
    let shell = |world: &World, script: &str| {
        run(
            &supervisor,
            &Request::new("/bin/sh").args(["-c", script]).world(world),
        )
    };
    // `script` sees the mount of its world, or its run does not start; and after a few runs it
    // starts. A run that was already prepared or running may lose the mount, and see what the other
    // run has put in its place.
    let holds = |world: &World, move_it: &str, script: &str, expected: &str, lost: &str| {
        assert_eq!(shell(world, script).text(), expected);
        for _ in 0..3 {
            assert_eq!(shell(&plain, move_it).result.outcome, Outcome::Exited(0));
            let mut started = 0;
            for time in 0..12 {
                let output = shell(world, script);
                match &output.result.outcome {
                    Outcome::NotStarted(error) => {
                        assert_eq!(error.step, Step::Mount, "{error}");
                        match error.errno {
                            Some(libc::ESTALE) => {
                                assert!(
                                    error
                                        .subject
                                        .as_ref()
                                        .is_some_and(|path| path.starts_with("/work/")),
                                    "{error}"
                                )
                            }
                            // A runner was prepared at a moment when the path did not exist.
                            Some(libc::ENOENT) if time < 3 => {}
                            _ => panic!("{error}"),
                        }
                    }
                    _ => {
                        // There are three runners, each of which may have been prepared before the
                        // move.
                        let known = output.text() == expected || time < 3 && output.text() == lost;
                        assert!(known, "{time}: {}: {}", output.result, output.text());
                        started += u32::from(output.text() == expected);
                    }
                }
            }
            assert!(started > 6, "{started}");
        }
    };
    let create = |path: &str| {
        let path = host.path().join(path);
        std::fs::create_dir(&path).unwrap();
        set_mode(&path, 0o777);
    };
    // The template has the host's procfs there. The run's own procfs is mounted on it.
    create("p");
    let proc = plain.clone().mount(Mount::proc("/work/p"));
    holds(
        &proc,
        "mv /work/p /work/moved-$$-$(date +%N); mkdir -m 777 /work/p",
        "for d in /work/moved* /work/p; do [ -e $d/self ] && { [ $(ls -d $d/[0-9]* | wc -l) -lt 9 \
         ] && echo own || echo all; }; done; true",
        "own\n",
        "",
    );
    holds(
        &proc,
        "rmdir /work/p; mkdir -m 777 /work/p",
        "[ -e /work/p/self ] && echo there",
        "there\n",
        "",
    );
    // A mount below a tmpfs is prepared elsewhere.
    create("t");
    let tool = directory();
    std::fs::write(tool.path().join("file"), "genuine").unwrap();
    set_mode(&tool.path().join("file"), 0o644);
    let staged = plain
        .clone()
        .mount(tmpfs("/work/t"))
        .read_only(tool.path().join("file"), "/work/t/tool");
    holds(
        &staged,
        "mv /work/t /work/u-$$-$(date +%N); mkdir -m 777 /work/t; echo forged > /work/t/0; echo \
         forged > /work/t/tool",
        "[ -e /work/t/tool ] || exit; cat /work/t/tool; for d in /work/u*; do [ -e $d/0 ] && [ \
         $(cat $d/0) = genuine ] && touch $d/left && echo shared; done 2>/dev/null; true",
        "genuine",
        "forged\n",
    );
}

#[test]
fn mount_below_symlink_of_world_is_rejected() {
    let supervisor = supervisor();
    let host = directory();
    set_mode(host.path(), 0o777);
    let linked = |mount: Mount| {
        World::minimal()
            .read_write(host.path(), "/tmp/a")
            .mount(Mount::Symlink {
                target: "/tmp/a".into(),
                path: "/tmp/l".into(),
            })
            .mount(mount)
    };
    for mount in [
        Mount::CreateDir {
            path: "/tmp/l/made".into(),
            mode: 0o755,
        },
        bind(Path::new("/etc/hostname"), "/tmp/l/deep/file", PLAIN),
    ] {
        let path = String::from_utf8(mount.path().to_vec()).unwrap();
        assert_supervisor_rejects(
            &supervisor,
            &linked(mount),
            &path,
            WorldProblem::BelowLink("/tmp/l".to_owned()),
        );
    }
    assert_eq!(listing(host.path()), Vec::<std::path::PathBuf>::new());
}

/// All paths below a directory.
fn listing(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        all.push(entry.path());
        if entry.path().is_dir() {
            all.extend(listing(&entry.path()));
        }
    }
    all.sort();
    all
}

#[test]
fn symlink_in_bind_does_not_lead_outside() {
    let supervisor = supervisor();
    // The writable bind contains a link to the host. A mount point below that link must be resolved
    // inside the new root.
    let directory = directory();
    std::os::unix::fs::symlink("/../../../../tmp", directory.path().join("link")).unwrap();
    let world = World::empty()
        .read_write(directory.path(), "/x")
        .mount(Mount::CreateDir {
            path: "/x/link/out".into(),
            mode: 0o755,
        });
    let _ = result(&supervisor, &request(["exit", "0"]).world(&world));
    assert!(
        !Path::new("/tmp/out").exists(),
        "a directory was created on the host"
    );
}

#[test]
fn mount_path_with_special_bytes_works() {
    let supervisor = supervisor();
    let odd: &[u8] = b"/sp ace/n\nl/\xff\xfe,colon=1";
    let mount = Mount::Tmpfs {
        at: odd.into(),
        size: Some(4096),
        inodes: None,
        mode: 0o777,
        read_only: false,
        no_exec: false,
    };
    let world = World::minimal().mount(mount).mount(Mount::CreateDir {
        path: [odd, b"/d,ir"].concat(),
        mode: 0o700,
    });
    let path = std::os::unix::ffi::OsStringExt::from_vec([odd, b"/d,ir"].concat());
    let path: std::ffi::OsString = path;
    let output = run(&supervisor, &request(["stat"]).arg(path).world(&world));
    assert_eq!(output.value("mode"), "700");
}

/// Runs a client that mounts its own file system on a directory; `change` names the kind.
fn client_with_own_file_system(change: &str) -> Option<millibox_tests::ClientOutput> {
    let directory = directory();
    // SAFETY: geteuid(2) has no preconditions.
    let uid = unsafe { libc::geteuid() };
    let arguments = if uid == 0 {
        vec!["mount-namespace".to_owned()]
    } else {
        vec![format!("user={uid}:{uid}"), "mount-namespace".to_owned()]
    };
    let hang = format!("{change}={}", directory.path().display());
    let output = millibox_tests::client(arguments.iter().map(String::as_str).chain([
        hang.as_str(),
        "--",
        "exit",
        "0",
    ]));
    if output.stdout.contains("unable=") {
        skip(&output.value("unable"));
        return None;
    }
    Some(output)
}

#[test]
fn run_that_hangs_on_file_system_is_ended() {
    let Some(output) = client_with_own_file_system("hang-run") else {
        return;
    };
    assert_eq!(
        (output.value("others"), output.value("stuck")),
        ("10".to_owned(), "true".to_owned()),
        "{output:?}"
    );
    assert!(
        output.value("ended").starts_with("real time limit"),
        "{output:?}"
    );
    assert_eq!(output.value("after"), "exited with 0", "{output:?}");
}

#[test]
fn file_system_that_hangs_blocks_only_its_world() {
    let Some(output) = client_with_own_file_system("hang") else {
        return;
    };
    assert_eq!(
        (output.value("others"), output.value("stuck")),
        ("10".to_owned(), "true".to_owned()),
        "{output:?}"
    );
    assert_eq!(
        (output.value("cancelled"), output.value("after")),
        ("true".to_owned(), "exited with 0".to_owned()),
        "{output:?}"
    );
}

#[test]
fn mount_below_dev_keeps_devices() {
    let supervisor = supervisor();
    // The directory can be created in any spelling of its path.
    for path in ["/dev/shm", "//dev//shm", "/./dev/shm"] {
        let world = World::minimal().mount(Mount::tmpfs(path));
        let script = "echo x > /dev/null && echo y > /dev/shm/file && test -c /dev/zero && test -L \
            /dev/stdin";
        let request = millibox::Request::new("/bin/sh")
            .args(["-c", script])
            .world(&world);
        let result = millibox_tests::result(&supervisor, &request);
        assert_eq!(result.outcome, Outcome::Exited(0), "{path}: {result}");
    }
}

// --- the host ----------------------------------------------------------------------------

/// A mount that the host creates later below a bound directory would arrive with its own flags, for
/// example writable.
#[test]
fn later_host_mount_does_not_reach_the_run() {
    if !is_root() {
        return skip("only root can create mounts that a supervisor sees");
    }
    let host = directory();
    let below = host.path().join("below");
    std::fs::create_dir(&below).unwrap();
    set_mode(&below, 0o777);
    // systemd makes all mounts shared. This namespace must do the same, independent of the host.
    let mut sandbox = Command::new("unshare")
        .args(["--mount", "--propagation", "shared"])
        .arg(executable("millibox"))
        .args(["run", "--backend", "rlimit", "--ro"])
        .arg(format!("{}:/host", host.path().display()))
        .args([
            "--",
            "sh",
            "-c",
            "echo ready; read go; echo > /host/below/file && echo written; ls /host/below",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(sandbox.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let mounted = Command::new("nsenter")
        .args(["--mount", "--target", &sandbox.id().to_string()])
        .args(["mount", "-t", "tmpfs", "-o", "mode=777", "later"])
        .arg(&below)
        .status()
        .unwrap();
    assert!(mounted.success());
    sandbox.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    sandbox.wait().unwrap();
    assert_eq!(rest, "");
}
