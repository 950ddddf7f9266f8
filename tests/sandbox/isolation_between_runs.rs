//! Nothing of another run can be seen: neither of one before, nor of one beside.

#![allow(
    unsafe_code,
    reason = "plain system calls that make what is to be seen"
)]

use crate::{builder, supervisor};
use millibox::{Outcome, Request, Supervisor, World};
use millibox_tests::{
    pipe, probe_run, read_line, request, run, sleeper, start, wait, world_with_proc,
};

const IPC: [&str; 4] = ["shm", "sem", "msg", "mq"];

/// All of IPC is made in one run and is not there in the others.
fn ipc(supervisor: &Supervisor, world: &World) {
    for round in 0..4 {
        let made = run(supervisor, &request(["ipc", "make", "4711"]).world(world));
        for kind in IPC {
            assert_eq!(made.number(kind), 0, "round {round}: {kind}");
        }
        for _ in 0..3 {
            let looked = run(supervisor, &request(["ipc", "look", "4711"]).world(world));
            for kind in IPC {
                assert_eq!(
                    looked.number(kind),
                    i64::from(libc::ENOENT),
                    "round {round}: {kind} of another run"
                );
            }
        }
    }
}

#[test]
fn ipc_objects_of_a_run_before() {
    ipc(&start(builder().slots(1)), &World::minimal());
    ipc(
        &start(builder().slots(1).runners_per_slot(1)),
        &World::minimal(),
    );
    ipc(&supervisor(), &World::minimal().uid(0));
}

#[test]
fn ipc_objects_of_the_host() {
    let supervisor = supervisor();
    // SAFETY: plain calls; the segment is removed below.
    let segment = unsafe { libc::shmget(0x4d42_0001, 4096, libc::IPC_CREAT | 0o666) };
    let looked = probe_run(&supervisor, &["ipc", "look", &0x4d42_0001.to_string()]);
    // SAFETY: as above.
    unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
    assert!(segment >= 0);
    assert_eq!(looked.number("shm"), i64::from(libc::ENOENT));
}

#[test]
fn abstract_sockets() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    let name = "millibox-test";
    let server = request(["abstract-bind", name, "100000"]).stdout(write);
    let server_handle = supervisor.run(&server).unwrap();
    drop(server);
    assert_eq!(read_line(&read), "errno=0");
    // Beside it, in the other slot.
    assert_eq!(
        probe_run(&supervisor, &["abstract-connect", name]).number("errno"),
        i64::from(libc::ECONNREFUSED)
    );
    assert_eq!(
        probe_run(&supervisor, &["abstract-bind", name, "0"]).number("errno"),
        0
    );
    server_handle.kill();
    wait(&server_handle);
    // After it.
    for _ in 0..4 {
        assert_eq!(
            probe_run(&supervisor, &["abstract-connect", name]).number("errno"),
            i64::from(libc::ECONNREFUSED)
        );
        assert_eq!(
            probe_run(&supervisor, &["abstract-bind", name, "0"]).number("errno"),
            0
        );
    }
}

#[test]
fn files() {
    let supervisor = supervisor();
    let (beside, _read) = sleeper(&supervisor, &[]);
    for _ in 0..6 {
        assert_eq!(probe_run(&supervisor, &["ls", "/tmp"]).text(), "\n");
        assert_eq!(
            probe_run(&supervisor, &["file", "/tmp/file", "100"]).number("written"),
            100
        );
        assert_eq!(
            probe_run(&supervisor, &["mkdirs", "/tmp", "3"]).number("made"),
            3
        );
    }
    beside.kill();
}

#[test]
fn processes() {
    let supervisor = supervisor();
    let (neighbour, _read) = sleeper(&supervisor, &[]);
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
fn ids_of_processes_start_anew() {
    let supervisor = start(builder().slots(1));
    let first = probe_run(&supervisor, &["pids"]).text();
    probe_run(&supervisor, &["forks", "20"]);
    for _ in 0..4 {
        assert_eq!(probe_run(&supervisor, &["pids"]).text(), first);
    }
}

/// A runner that has moved to fresh cgroups shows none of it: neither a name of the host's, nor
/// that an earlier run had many processes.
#[test]
fn cgroups_look_the_same_whatever_ran_before() {
    let supervisor = millibox_tests::start(builder().slots(1));
    if !millibox_tests::needs_cgroups(&supervisor) {
        return;
    }
    // What is cached of its file goes when a cgroup is emptied, and would be other tests' to read
    // again.
    let directory = millibox_tests::directory();
    let copy = millibox_tests::copy_probe(directory.path());
    let with_copy = |world: World| world.read_only(&copy, "/probe");
    let world = with_copy(world_with_proc());
    for round in 0..8 {
        let seen = run(
            &supervisor,
            &request(["cat", "/proc/self/cgroup"]).world(&world),
        );
        // Hierarchies that have nothing to do with runs are the host's business, and stay as they
        // are.
        let elsewhere: Vec<String> = seen
            .text()
            .lines()
            .filter(|line| line.contains("runner") || line.contains("/.."))
            .map(str::to_owned)
            .collect();
        assert!(
            elsewhere.is_empty() && !seen.stdout.is_empty(),
            "round {round}: {elsewhere:?}"
        );
        // Every second time in a new zygote. Shared memory is still being freed when the next run
        // is prepared.
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
