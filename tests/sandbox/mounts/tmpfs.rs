//! Mounts of type tmpfs.

use super::{EROFS, assert_client_rejects, number, sized};
use crate::{builder, supervisor};
use millibox::{Mount, Request, World, WorldProblem};
use millibox_tests::{request, run, run_probe, start};

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
fn tmpfs_without_limits_has_room_for_the_memory_of_the_machine() {
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
    // Nor do the kernel's default limits apply, half of the host's memory and of its pages.
    let info = rustix::system::sysinfo();
    let memory_bytes = info.totalram * u64::from(info.mem_unit);
    for (what, limited, unlimited) in [
        (
            "blocks",
            sized("/large", Some(1 << 20), None),
            i64::try_from(memory_bytes / 4096).unwrap(),
        ),
        ("files", sized("/large", None, Some(50)), 0),
    ] {
        assert_eq!(
            number(&supervisor, &world, &["statvfs", "/large"], what),
            unlimited,
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
        let mount = Mount::tmpfs("/it").mode(mode);
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
        let mut mount = Mount::tmpfs("/it").mode(0o777);
        if read_only {
            mount = mount.read_only();
        }
        if no_exec {
            mount = mount.no_exec();
        }
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
