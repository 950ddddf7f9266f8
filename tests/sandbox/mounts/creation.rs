//! The new root, procfs, and files and directories that a world creates.

use super::{EROFS, assert_mount_fails, assert_supervisor_rejects, number, tmpfs};
use crate::supervisor;
use millibox::{Hint, Mount, Outcome, Step, World, WorldProblem};
use millibox_tests::{directory, not_started, request, result, run, world_with_proc};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn new_root_replaces_the_root_directory() {
    let supervisor = supervisor();
    let root = directory();
    std::fs::create_dir(root.path().join("mine")).unwrap();
    let world = World::empty()
        .read_only(root.path(), "/new")
        .mount(Mount::new_root("/new"));
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
    let world = world.mount(Mount::new_root("/new"));
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
    let directory = Mount::create_dir("/plain", 0o755);
    let world = World::empty()
        .mount(directory)
        .mount(Mount::new_root("/plain"));
    assert_mount_fails(&supervisor, &world, Step::NewRoot, libc::EINVAL, "/plain");
    let missing = World::empty().mount(Mount::new_root("/missing"));
    assert_mount_fails(
        &supervisor,
        &missing,
        Step::NewRoot,
        libc::ENOENT,
        "/missing",
    );
    let late = World::empty()
        .mount(tmpfs("/t"))
        .mount(Mount::new_root("/t"));
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
    let only = World::minimal().mount(Mount::proc("/proc").processes_only());
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
            .mount(Mount::create_dir("/a/b/dir", mode))
            .mount(Mount::create_file("/a/file", mode));
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
    let link = World::minimal().mount(Mount::symlink("/usr/bin", "/programs"));
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
            Mount::create_dir(path, 0o755),
            Mount::create_file(path, 0o644),
            Mount::symlink("x", path),
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
        .mount(Mount::create_dir("/tmp/a", 0o755))
        .mount(Mount::create_dir("/tmp/a", 0o755));
    assert_mount_fails(
        &supervisor,
        &inside,
        Step::MountPoint,
        libc::EEXIST,
        "/tmp/a",
    );
    // No file is created on a foreign file system.
    let foreign = World::minimal().mount(Mount::create_dir("/usr/millibox-was-here", 0o755));
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
fn mount_path_with_special_bytes_works() {
    let supervisor = supervisor();
    let odd: &[u8] = b"/sp ace/n\nl/\xff\xfe,colon=1";
    let mount = Mount::tmpfs(OsStr::from_bytes(odd))
        .size_limit(4096)
        .mode(0o777);
    let path = OsString::from_vec([odd, b"/d,ir"].concat());
    let world = World::minimal()
        .mount(mount)
        .mount(Mount::create_dir(&path, 0o700));
    let output = run(&supervisor, &request(["stat"]).arg(path).world(&world));
    assert_eq!(output.value("mode"), "700");
}

#[test]
fn mount_path_through_link_works_while_files_are_renamed() {
    let supervisor = supervisor();
    let data = directory();
    let at = |name: &str| data.path().join(name);
    std::fs::create_dir_all(at("a/b")).unwrap();
    std::os::unix::fs::symlink("../a/b", at("a/link")).unwrap();
    std::fs::write(at("old"), "").unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                std::fs::rename(at("old"), at("new")).unwrap();
                std::fs::rename(at("new"), at("old")).unwrap();
            }
        });
        // Each size results in a different world, which must be built.
        let results = (0..100).map(|size| {
            let mount = Mount::tmpfs("/data/a/link").size_limit((1 << 20) + (size << 12));
            let world = World::minimal()
                .read_only(data.path(), "/data")
                .mount(mount);
            result(&supervisor, &request(["exit", "0"]).world(&world)).outcome
        });
        let outcomes: Vec<Outcome> = results.collect();
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(outcomes, vec![Outcome::Exited(0); 100]);
    });
}
