//! A run sees neither earlier runs nor concurrent runs.

#![allow(unsafe_code, reason = "plain system calls that create IPC objects")]

use crate::{builder, supervisor};
use millibox::{Outcome, Request, Supervisor, World};
use millibox_tests::{
    pipe, read_line, request, run, run_probe, start, start_sleeper, wait, world_with_proc,
};

const IPC: [&str; 4] = ["shm", "sem", "msg", "mq"];

/// Creates IPC objects in one run and checks that later runs do not see them.
fn assert_ipc_is_separate(supervisor: &Supervisor, world: &World) {
    for round in 0..4 {
        let created = run(supervisor, &request(["ipc", "make", "4711"]).world(world));
        for kind in IPC {
            assert_eq!(created.number(kind), 0, "round {round}: {kind}");
        }
        for _ in 0..3 {
            let seen = run(supervisor, &request(["ipc", "look", "4711"]).world(world));
            for kind in IPC {
                assert_eq!(
                    seen.number(kind),
                    i64::from(libc::ENOENT),
                    "round {round}: {kind} of another run"
                );
            }
        }
    }
}

#[test]
fn ipc_objects_of_earlier_run_are_invisible() {
    assert_ipc_is_separate(&start(builder().slots(1)), &World::minimal());
    assert_ipc_is_separate(
        &start(builder().slots(1).runners_per_slot(1)),
        &World::minimal(),
    );
    assert_ipc_is_separate(&supervisor(), &World::minimal().uid(0));
}

#[test]
fn ipc_objects_of_host_are_invisible() {
    let supervisor = supervisor();
    // SAFETY: shmget(2) takes numbers only. The segment is removed below.
    let segment = unsafe { libc::shmget(0x4d42_0001, 4096, libc::IPC_CREAT | 0o666) };
    let seen = run_probe(&supervisor, &["ipc", "look", &0x4d42_0001.to_string()]);
    // SAFETY: IPC_RMID does not use the pointer.
    unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
    assert!(segment >= 0);
    assert_eq!(seen.number("shm"), i64::from(libc::ENOENT));
}

#[test]
fn abstract_sockets_of_other_runs_are_unreachable() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    let name = "millibox-test";
    let server = request(["abstract-bind", name, "100000"]).stdout(write);
    let server_handle = supervisor.run(&server).unwrap();
    drop(server);
    assert_eq!(read_line(&read), "errno=0");
    // Test a concurrent run in the other slot.
    assert_eq!(
        run_probe(&supervisor, &["abstract-connect", name]).number("errno"),
        i64::from(libc::ECONNREFUSED)
    );
    assert_eq!(
        run_probe(&supervisor, &["abstract-bind", name, "0"]).number("errno"),
        0
    );
    server_handle.kill();
    wait(&server_handle);
    // Test later runs.
    for _ in 0..4 {
        assert_eq!(
            run_probe(&supervisor, &["abstract-connect", name]).number("errno"),
            i64::from(libc::ECONNREFUSED)
        );
        assert_eq!(
            run_probe(&supervisor, &["abstract-bind", name, "0"]).number("errno"),
            0
        );
    }
}

#[test]
fn files_of_other_runs_are_invisible() {
    let supervisor = supervisor();
    let (neighbour, _read) = start_sleeper(&supervisor, &[]);
    for _ in 0..6 {
        assert_eq!(run_probe(&supervisor, &["ls", "/tmp"]).text(), "\n");
        assert_eq!(
            run_probe(&supervisor, &["file", "/tmp/file", "100"]).number("written"),
            100
        );
        assert_eq!(
            run_probe(&supervisor, &["mkdirs", "/tmp", "3"]).number("made"),
            3
        );
    }
    neighbour.kill();
}

#[test]
fn processes_of_other_runs_are_invisible() {
    let supervisor = supervisor();
    let (neighbour, _read) = start_sleeper(&supervisor, &[]);
    for _ in 0..4 {
        let orphans = run(
            &supervisor,
            &request(["orphans", "5", "100000"]).world(&world_with_proc()),
        );
        assert_eq!(orphans.result.outcome, Outcome::Exited(0));
        let seen = run(
            &supervisor,
            &request(["ls", "/proc"]).world(&world_with_proc()),
        );
        let pids = seen
            .text()
            .lines()
            .filter(|line| line.parse::<u32>().is_ok())
            .count();
        assert_eq!(pids, 2, "{}", seen.text());
    }
    assert!(neighbour.try_wait().unwrap().is_none());
}

#[test]
fn process_ids_restart_for_each_run() {
    let supervisor = start(builder().slots(1));
    let first = run_probe(&supervisor, &["pids"]).text();
    run_probe(&supervisor, &["forks", "20"]);
    for _ in 0..4 {
        assert_eq!(run_probe(&supervisor, &["pids"]).text(), first);
    }
}

/// A run cannot see that its runner has moved to new cgroups. It sees no name of the host's
/// cgroups, and no sign that an earlier run had many processes.
#[test]
fn cgroups_look_the_same_after_any_run() {
    let supervisor = millibox_tests::start(builder().slots(1));
    if !millibox_tests::has_cgroups_or_skips(&supervisor) {
        return;
    }
    // This test has its own copy of the probe. Emptying a cgroup drops the cached pages of the
    // file, and other tests would have to read them again.
    let directory = millibox_tests::directory();
    let copy = millibox_tests::copy_probe(directory.path());
    let with_copy = |world: World| world.read_only(&copy, "/probe");
    let world = with_copy(world_with_proc());
    for round in 0..8 {
        let seen = run(
            &supervisor,
            &request(["cat", "/proc/self/cgroup"]).world(&world),
        );
        // Hierarchies without controllers for runs belong to the host and do not change.
        let foreign: Vec<String> = seen
            .text()
            .lines()
            .filter(|line| line.contains("runner") || line.contains("/.."))
            .map(str::to_owned)
            .collect();
        assert!(
            foreign.is_empty() && !seen.stdout.is_empty(),
            "round {round}: {foreign:?}"
        );
        // Every second run has a new zygote. The kernel is still freeing shared memory when the
        // next run is prepared.
        let other = with_copy(World::minimal().uid(round));
        for before in [["forks", "5", ""], ["charge", "shm", "400"]] {
            let before = Request::new("/probe").args(before);
            run(
                &supervisor,
                &if round % 2 == 0 {
                    before.world(&world)
                } else {
                    before.world(&other)
                },
            );
        }
    }
}
