//! The host's file systems. A world changes nothing there, and later changes there do not affect
//! it.

use super::{Bind, PLAIN, assert_mount_fails, assert_supervisor_rejects, bind, number, tmpfs};
use crate::{builder, supervisor};
use millibox::{Mount, Outcome, Request, Step, World, WorldProblem};
use millibox_tests::{directory, executable, is_root, request, result, run, set_mode, skip, start};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

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
    let nested = |at: String| -> Mount { Mount::tmpfs(at + "/more").into() };
    let makers: [fn(String) -> Mount; 4] = [
        |at| Mount::tmpfs(at).into(),
        |at| {
            bind(
                Path::new("/usr"),
                &at,
                Bind {
                    recursive: true,
                    ..PLAIN
                },
            )
            .into()
        },
        |at| bind(Path::new("/etc/passwd"), &at, PLAIN).into(),
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
        &add("/x", |at| Mount::proc(at).into()),
        Step::MountPoint,
        libc::EXDEV,
        "/x/missing",
    );
    let creators: [fn(String) -> Mount; 3] = [
        |path| Mount::create_dir(path, 0o755),
        |path| Mount::create_file(path, 0o644),
        |path| Mount::symlink("/", path),
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
        .mount(Mount::new_root("/x"))
        .mount(Mount::proc("/missing/proc"));
    assert_mount_fails(
        &supervisor,
        &root,
        Step::MountPoint,
        libc::EXDEV,
        "/missing/proc",
    );
    assert_eq!(listing(host.path()), before);
    // Existing files can be mount points. If the world mounts a tmpfs on them, it can create files
    // there again.
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

/// A run that can write to the parent directory of a mount point can move the mount point and the
/// mount with it, because in the run's own namespace nothing is mounted there
/// (mount_namespaces(7)).
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
    // A run either sees the mount of its world or does not start. After a few attempts, it starts.
    // A run that was already prepared or running may lose the mount, and see the files that the
    // other run has put in its place.
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
                            // A runner was prepared while the path did not exist.
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
            .mount(Mount::symlink("/tmp/a", "/tmp/l"))
            .mount(mount)
    };
    for mount in [
        Mount::create_dir("/tmp/l/made", 0o755),
        bind(Path::new("/etc/hostname"), "/tmp/l/deep/file", PLAIN).into(),
    ] {
        let path = mount.path().to_str().unwrap().to_owned();
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
        .mount(Mount::create_dir("/x/link/out", 0o755));
    let _ = result(&supervisor, &request(["exit", "0"]).world(&world));
    assert!(
        !Path::new("/tmp/out").exists(),
        "a directory was created on the host"
    );
}

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
