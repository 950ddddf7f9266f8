//! Worlds: alternating, many, and impossible ones.

use crate::{builder, supervisor};
use millibox::{Mount, Outcome, Request, Step, Supervisor, World};
use millibox_tests::{
    Footprint, directory, not_started, request, result, run, set_mode, start, start_sleeper, wait,
};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

fn marked(mark: u32) -> World {
    World::minimal().mount(Mount::create_dir(format!("/mark-{mark}"), 0o755))
}

fn assert_sees_only_mark(supervisor: &Supervisor, mark: u32) {
    let output = run(supervisor, &request(["ls", "/"]).world(&marked(mark)));
    let marks: Vec<String> = output
        .text()
        .lines()
        .filter(|name| name.starts_with("mark"))
        .map(str::to_owned)
        .collect();
    assert_eq!(marks, [format!("mark-{mark}")], "{}", output.result);
}

#[test]
fn alternating_worlds_are_not_mixed_up() {
    for runners in [1, 2, 3] {
        let supervisor = start(builder().slots(1).runners_per_slot(runners));
        for round in 0..20 {
            assert_sees_only_mark(&supervisor, round % 2);
        }
        for round in 0..20 {
            assert_sees_only_mark(&supervisor, round % 5);
        }
    }
}

#[test]
fn many_worlds_at_once_are_correct() {
    let supervisor = supervisor();
    let submit = |mark: u32| {
        let path = format!("/mark-{}", mark % 10);
        (
            mark,
            supervisor
                .run(&request(["stat", &path]).world(&marked(mark % 10)))
                .unwrap(),
        )
    };
    let handles: Vec<_> = (0..100).map(submit).collect();
    for (mark, handle) in handles {
        assert_eq!(wait(&handle).outcome, Outcome::Exited(0), "{mark}");
    }
}

#[test]
fn more_worlds_than_the_supervisor_keeps_are_correct() {
    let supervisor = supervisor();
    for mark in 0..150 {
        assert_sees_only_mark(&supervisor, mark);
    }
    // The supervisor mounts worlds again that it no longer keeps.
    for mark in [0, 1, 149, 75, 0] {
        assert_sees_only_mark(&supervisor, mark);
    }
    if let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", supervisor.info().pid())) {
        let open = open.count();
        assert!(open < 64 + 200, "{open} descriptors are open");
    }
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
}

#[test]
fn world_can_be_used_during_another_run() {
    let supervisor = supervisor();
    let (one, _read) = start_sleeper(&supervisor, &[]);
    for mark in 0..5 {
        assert_sees_only_mark(&supervisor, mark);
    }
    assert!(one.try_wait().unwrap().is_none());
}

#[test]
fn world_that_failed_is_tried_again() {
    let supervisor = supervisor();
    let directory = directory();
    let source = directory.path().join("later");
    let world = World::minimal().read_only(&source, "/later");
    let submit =
        |supervisor: &Supervisor| result(supervisor, &request(["stat", "/later"]).world(&world));
    for _ in 0..3 {
        assert!(matches!(
            submit(&supervisor).outcome,
            Outcome::NotStarted(_)
        ));
    }
    // Every waiting run of this world fails with its own result. Other runs do not fail.
    let mut handles = Vec::new();
    for _ in 0..10 {
        handles.push((
            supervisor
                .run(&request(["exit", "0"]).world(&world))
                .unwrap(),
            true,
        ));
        handles.push((supervisor.run(&request(["exit", "0"])).unwrap(), false));
    }
    for (handle, fails) in &handles {
        let result = wait(handle);
        assert_eq!(
            matches!(result.outcome, Outcome::NotStarted(_)),
            *fails,
            "{result}"
        );
    }
    std::fs::create_dir(&source).unwrap();
    set_mode(&source, 0o755);
    assert_eq!(submit(&supervisor).outcome, Outcome::Exited(0));
}

#[test]
fn world_whose_mounts_fail_in_each_run_returns_error() {
    let supervisor = supervisor();
    // The tmpfs is full before the directory in it can be created.
    let full = World::minimal()
        .mount(Mount::tmpfs("/s").inode_limit(1).mode(0o755))
        .mount(Mount::create_dir("/s/no-room", 0o755));
    for _ in 0..5 {
        let result = result(&supervisor, &request(["exit", "0"]).world(&full));
        let error = not_started(&result);
        assert_eq!(
            (error.step, error.errno),
            (Step::MountPoint, Some(libc::ENOSPC))
        );
        assert_eq!(error.subject.as_deref(), Some("/s/no-room"));
        assert_sees_only_mark(&supervisor, 1);
    }
}

#[test]
fn long_world_is_mounted_or_rejected() {
    let supervisor = supervisor();
    let mut world = World::minimal();
    for number in 0..300 {
        world = world.mount(Mount::create_dir(format!("/many/{number}"), 0o755));
    }
    let output = run(&supervisor, &request(["ls", "/many"]).world(&world));
    assert_eq!(output.text().lines().count(), 300, "{}", output.result);
    let tmpfs = (0..50).fold(World::minimal(), |world, number| {
        world.mount(Mount::tmpfs(format!("/t{number}")))
    });
    assert_eq!(
        run(&supervisor, &request(["file", "/t49/x", "5"]).world(&tmpfs)).number("written"),
        5
    );
    // A world that is too long is rejected. Later runs still work.
    let mut too_long = World::minimal();
    for number in 0..3000 {
        too_long = too_long.mount(Mount::create_dir(format!("/many/{number:030}"), 0o755));
    }
    let rejected = result(&supervisor, &request(["exit", "0"]).world(&too_long));
    assert!(
        matches!(
            rejected.outcome,
            Outcome::NotStarted(_) | Outcome::Exited(0)
        ),
        "{rejected}"
    );
    assert_sees_only_mark(&supervisor, 2);
}

#[test]
fn world_requested_again_during_an_abandoned_mount_works() {
    let supervisor = supervisor();
    for mark in 1000..1060 {
        // The only run of this world is cancelled at some moment while the world is being mounted.
        // Then the next run arrives.
        let first = supervisor
            .run(&request(["exit", "0"]).world(&marked(mark)))
            .unwrap();
        std::thread::sleep(std::time::Duration::from_micros(u64::from(mark % 20) * 100));
        first.cancel();
        let second = supervisor
            .run(&request(["exit", "0"]).world(&marked(mark)))
            .unwrap();
        let second = wait(&second);
        assert_eq!(second.outcome, Outcome::Exited(0), "{mark}: {second}");
    }
}

/// The content of a file as a run reads it.
fn read_in_run(supervisor: &Supervisor, world: &World, path: &str) -> String {
    let output = run(supervisor, &request(["cat", path]).world(world));
    if output.result.outcome == Outcome::Exited(0) {
        output.text()
    } else {
        output.result.to_string()
    }
}

/// The kernel cannot always identify a source without waiting, for example while a run's mounts are
/// created or removed.
#[test]
fn world_is_mounted_once_while_other_runs_come_and_go() {
    let (supervisor, others) = (supervisor(), supervisor());
    let is_over = AtomicBool::new(false);
    let devices = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let batch: Vec<_> = (0..4)
                    .map(|_| others.run(&Request::new("/bin/true")).unwrap())
                    .collect();
                batch.iter().for_each(|handle| drop(wait(handle)));
            }
        });
        let devices: HashSet<i64> = (0..200)
            .map(|_| run(&supervisor, &request(["stat", "/"])).number("device"))
            .collect();
        is_over.store(true, Ordering::Relaxed);
        devices
    });
    // The root belongs to the template, of which each run has a copy.
    assert_eq!(devices.len(), 1);
}

#[test]
fn replaced_source_is_seen_by_later_runs() {
    let supervisor = supervisor();
    let directory = directory();
    set_mode(directory.path(), 0o755);
    let path = |name: &str| directory.path().join(name);
    let write = |name: &str, text: &str| {
        std::fs::write(path(name), text).unwrap();
        set_mode(&path(name), 0o644);
    };
    write("file", "one");
    let world = World::minimal().read_only(path("file"), "/seen");
    assert_eq!(read_in_run(&supervisor, &world, "/seen"), "one");
    write("file", "one more");
    assert_eq!(read_in_run(&supervisor, &world, "/seen"), "one more");
    // Editors, compilers and package managers replace files in this way.
    write("new", "two");
    std::fs::rename(path("new"), path("file")).unwrap();
    assert_eq!(read_in_run(&supervisor, &world, "/seen"), "two");
    std::fs::remove_file(path("file")).unwrap();
    let removed = result(&supervisor, &request(["cat", "/seen"]).world(&world));
    let error = not_started(&removed);
    assert_eq!(
        (error.step, error.errno),
        (Step::MountSource, Some(libc::ENOENT)),
        "{error}"
    );
    assert_eq!(error.subject.as_deref(), path("file").to_str());
    write("file", "three");
    assert_eq!(read_in_run(&supervisor, &world, "/seen"), "three");

    // The sources are a directory that was created again, and a directory behind a symbolic link.
    for name in ["a", "b"] {
        std::fs::create_dir(path(name)).unwrap();
        set_mode(&path(name), 0o755);
        write(&format!("{name}/text"), name);
    }
    let world = World::minimal()
        .read_only(path("a"), "/a")
        .read_only(path("now"), "/now");
    for target in ["a", "b", "a", "b"] {
        let _ = std::fs::remove_file(path("now"));
        std::os::unix::fs::symlink(target, path("now")).unwrap();
        assert_eq!(read_in_run(&supervisor, &world, "/now/text"), target);
    }
    std::fs::remove_dir_all(path("a")).unwrap();
    std::fs::create_dir(path("a")).unwrap();
    set_mode(&path("a"), 0o755);
    write("a/text", "again");
    assert_eq!(read_in_run(&supervisor, &world, "/a/text"), "again");
}
