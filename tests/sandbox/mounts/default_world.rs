//! The default world.

use super::{EACCES, PLAIN, bind, number, tmpfs};
use crate::supervisor;
use millibox::{Mount, Outcome, Request, World};
use millibox_tests::{directory, request, result, run, run_probe, world_with_proc};
use std::path::Path;

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
