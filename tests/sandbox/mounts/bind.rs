//! Binds of files and directories.

#![allow(unsafe_code, reason = "plain system calls that prepare the mounts")]

use super::{
    Bind, EACCES, EROFS, PLAIN, assert_client_rejects, assert_mount_fails, bind, failure, number,
    sized,
};
use crate::supervisor;
use millibox::{Mount, Outcome, Request, Step, World, WorldProblem};
use millibox_tests::{copy_probe, directory, request, result, run, set_mode, skip};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

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
        .mount(Mount::create_file("/here", 0o600))
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
        .mount(Mount::create_dir("/tmp/made", 0o751))
        .mount(Mount::create_file("/tmp/x/empty", 0o640))
        .mount(Mount::symlink("x/y/file", "/tmp/link"))
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
    // Only another user can reach this source.
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
    for (flags, expected) in [
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
                expected.map(|n| n.to_string()),
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
