//! Worlds in turn, many worlds, and worlds that cannot be had.

use crate::{builder, supervisor};
use millibox::{Mount, Outcome, Request, Step, Supervisor, World};
use millibox_tests::{
    Gone, directory, not_started, request, result, run, share, sleeper, start, wait,
};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

fn marked(mark: u32) -> World {
    World::minimal().mount(Mount::CreateDir {
        path: format!("/mark-{mark}").into(),
        mode: 0o755,
    })
}

fn is_marked(supervisor: &Supervisor, mark: u32) {
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
fn two_worlds_in_turn() {
    for runners in [1, 2, 3] {
        let supervisor = start(builder().slots(1).runners_per_slot(runners));
        for round in 0..20 {
            is_marked(&supervisor, round % 2);
        }
        for round in 0..20 {
            is_marked(&supervisor, round % 5);
        }
    }
}

#[test]
fn many_worlds_at_once() {
    let supervisor = supervisor();
    let ask = |mark: u32| {
        let path = format!("/mark-{}", mark % 10);
        (
            mark,
            supervisor
                .run(&request(["stat", &path]).world(&marked(mark % 10)))
                .unwrap(),
        )
    };
    let handles: Vec<_> = (0..100).map(ask).collect();
    for (mark, handle) in handles {
        assert_eq!(wait(&handle).outcome, Outcome::Exited(0), "{mark}");
    }
}

#[test]
fn more_worlds_than_are_kept() {
    let supervisor = supervisor();
    for mark in 0..150 {
        is_marked(&supervisor, mark);
    }
    // Those that were forgotten are made anew.
    for mark in [0, 1, 149, 75, 0] {
        is_marked(&supervisor, mark);
    }
    if let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", supervisor.info().pid())) {
        let open = open.count();
        assert!(open < 64 + 200, "{open} descriptors are open");
    }
    let gone = Gone::of(&supervisor);
    drop(supervisor);
    gone.assert();
}

#[test]
fn a_world_is_free_for_others_while_a_run_goes_on() {
    let supervisor = supervisor();
    let (one, _read) = sleeper(&supervisor, &[]);
    for mark in 0..5 {
        is_marked(&supervisor, mark);
    }
    assert!(one.try_wait().unwrap().is_none());
}

#[test]
fn a_world_that_could_not_be_had_is_tried_again() {
    let supervisor = supervisor();
    let directory = directory();
    let source = directory.path().join("later");
    let world = World::minimal().read_only(&source, "/later");
    let ask =
        |supervisor: &Supervisor| result(supervisor, &request(["stat", "/later"]).world(&world));
    for _ in 0..3 {
        assert!(matches!(ask(&supervisor).outcome, Outcome::NotStarted(_)));
    }
    // All that wait for it fail, each with a result of its own, and others do not.
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
    share(&source, 0o755);
    assert_eq!(ask(&supervisor).outcome, Outcome::Exited(0));
}

#[test]
fn a_world_whose_mounts_fail_in_each_run() {
    let supervisor = supervisor();
    // The tmpfs is full before the directory in it can be made.
    let full = World::minimal()
        .mount(Mount::Tmpfs {
            at: "/s".into(),
            size: None,
            inodes: Some(1),
            mode: 0o755,
            read_only: false,
            no_exec: false,
        })
        .mount(Mount::CreateDir {
            path: "/s/no-room".into(),
            mode: 0o755,
        });
    for _ in 0..5 {
        let result = result(&supervisor, &request(["exit", "0"]).world(&full));
        let error = not_started(&result);
        assert_eq!(
            (error.step, error.errno),
            (Step::MountPoint, Some(libc::ENOSPC))
        );
        assert_eq!(error.subject.as_deref(), Some("/s/no-room"));
        is_marked(&supervisor, 1);
    }
}

#[test]
fn a_long_world() {
    let supervisor = supervisor();
    let mut world = World::minimal();
    for number in 0..300 {
        world = world.mount(Mount::CreateDir {
            path: format!("/many/{number}").into(),
            mode: 0o755,
        });
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
    // One that is too long is refused, and is not the end.
    let mut endless = World::minimal();
    for number in 0..3000 {
        endless = endless.mount(Mount::CreateDir {
            path: format!("/many/{number:030}").into(),
            mode: 0o755,
        });
    }
    let refused = result(&supervisor, &request(["exit", "0"]).world(&endless));
    assert!(
        matches!(refused.outcome, Outcome::NotStarted(_) | Outcome::Exited(0)),
        "{refused}"
    );
    is_marked(&supervisor, 2);
}

#[test]
fn a_world_that_is_wanted_again_while_its_building_is_given_up() {
    let supervisor = supervisor();
    for mark in 1000..1060 {
        // The only run that wants it is taken back, at some moment of the building, and the
        // next one comes.
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

/// What a run reads of a file of its world.
fn read(supervisor: &Supervisor, world: &World, path: &str) -> String {
    let output = run(supervisor, &request(["cat", path]).world(world));
    if output.result.outcome == Outcome::Exited(0) {
        output.text()
    } else {
        output.result.to_string()
    }
}

/// The kernel cannot always tell without waiting what a source is: not while a mount comes or goes,
/// as with each run.
#[test]
fn a_world_stays_one_while_others_runs_come_and_go() {
    let (supervisor, others) = (supervisor(), supervisor());
    let over = AtomicBool::new(false);
    let devices = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let some: Vec<_> = (0..4)
                    .map(|_| others.run(&Request::new("/bin/true")).unwrap())
                    .collect();
                some.iter().for_each(|handle| drop(wait(handle)));
            }
        });
        let devices: HashSet<i64> = (0..200)
            .map(|_| run(&supervisor, &request(["stat", "/"])).number("device"))
            .collect();
        over.store(true, Ordering::Relaxed);
        devices
    });
    // The root is the template's, of which all runs have a copy.
    assert_eq!(devices.len(), 1);
}

#[test]
fn what_was_put_in_a_sources_place_is_seen() {
    let supervisor = supervisor();
    let directory = directory();
    share(directory.path(), 0o755);
    let path = |name: &str| directory.path().join(name);
    let write = |name: &str, text: &str| {
        std::fs::write(path(name), text).unwrap();
        share(&path(name), 0o644);
    };
    write("file", "one");
    let world = World::minimal().read_only(path("file"), "/seen");
    assert_eq!(read(&supervisor, &world, "/seen"), "one");
    write("file", "one more");
    assert_eq!(read(&supervisor, &world, "/seen"), "one more");
    // As editors, compilers and package managers do it.
    write("new", "two");
    std::fs::rename(path("new"), path("file")).unwrap();
    assert_eq!(read(&supervisor, &world, "/seen"), "two");
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
    assert_eq!(read(&supervisor, &world, "/seen"), "three");

    // A directory that was made anew, and one that a link leads to.
    for name in ["a", "b"] {
        std::fs::create_dir(path(name)).unwrap();
        share(&path(name), 0o755);
        write(&format!("{name}/text"), name);
    }
    let world = World::minimal()
        .read_only(path("a"), "/a")
        .read_only(path("now"), "/now");
    for target in ["a", "b", "a", "b"] {
        let _ = std::fs::remove_file(path("now"));
        std::os::unix::fs::symlink(target, path("now")).unwrap();
        assert_eq!(read(&supervisor, &world, "/now/text"), target);
    }
    std::fs::remove_dir_all(path("a")).unwrap();
    std::fs::create_dir(path("a")).unwrap();
    share(&path("a"), 0o755);
    write("a/text", "again");
    assert_eq!(read(&supervisor, &world, "/a/text"), "again");
}
