//! What a result says, for each kind of end.

use crate::{builder, supervisor};
use millibox::{Budget, Moved, Outcome, Request, RunError, Step, World, move_output};
use millibox_tests::{needs_cgroups, pipe, request, result, run, sleeper, start, wait};
use std::time::Duration;

#[test]
fn every_exit_code() {
    let supervisor = supervisor();
    for code in [0, 1, 2, 3, 42, 126, 127, 128, 137, 254, 255] {
        let result = result(&supervisor, &request(["exit", &code.to_string()]));
        assert_eq!(
            (&result.outcome, result.exit_code, result.signal),
            (&Outcome::Exited(code), Some(code), None)
        );
        assert_eq!(result.to_string(), format!("exited with {code}"));
        assert_eq!(result.backend, supervisor.info().backend());
    }
}

#[test]
fn every_signal_that_ends() {
    let supervisor = supervisor();
    let names = [
        (1, "HUP"),
        (2, "INT"),
        (3, "QUIT"),
        (4, "ILL"),
        (5, "TRAP"),
        (6, "ABRT"),
        (7, "BUS"),
        (8, "FPE"),
        (9, "KILL"),
        (10, "USR1"),
        (11, "SEGV"),
        (13, "PIPE"),
        (14, "ALRM"),
        (15, "TERM"),
        (24, "XCPU"),
        (25, "XFSZ"),
        (31, "SYS"),
        (34, "RTMIN+0"),
        (64, "RTMIN+30"),
    ];
    for (number, name) in names {
        let result = result(&supervisor, &request(["signal", &number.to_string()]));
        let parts = (&result.outcome, result.exit_code, result.signal);
        assert_eq!(
            parts,
            (&Outcome::Signaled(number), None, Some(number)),
            "{result}"
        );
        assert_eq!(result.to_string(), format!("killed by signal {name}"));
    }
    // One that is ignored by default.
    assert_eq!(
        result(&supervisor, &request(["signal", "17"])).outcome,
        Outcome::Exited(100)
    );
}

#[test]
fn run_end_by_caller_or_limit_is_reported() {
    let supervisor = supervisor();
    let real = result(
        &supervisor,
        &request(["sleep", "10000"]).real_time_limit(Duration::from_millis(10)),
    );
    assert_eq!(real.outcome, Outcome::RealTimeLimit);
    let (killed, _read) = sleeper(&supervisor, &[]);
    killed.kill();
    assert_eq!(wait(&killed).outcome, Outcome::Killed);
    assert_eq!(wait(&killed).signal, Some(libc::SIGKILL));
    let (cancelled, _read) = sleeper(&supervisor, &[]);
    cancelled.cancel();
    assert_eq!(wait(&cancelled).outcome, Outcome::Cancelled);
    let missing = RunError::new(Step::Exec)
        .with_errno(libc::ENOENT)
        .with_subject("/missing");
    assert_eq!(
        result(&supervisor, &Request::new("/missing")).outcome,
        Outcome::NotStarted(missing)
    );
    if !needs_cgroups(&supervisor) {
        return;
    }
    let cpu = result(
        &supervisor,
        &request(["spin-forever"]).cpu_time_limit(Duration::from_millis(20)),
    );
    assert_eq!(cpu.outcome, Outcome::CpuTimeLimit);
    let memory = result(&supervisor, &request(["eat", "64"]).memory_limit(16 << 20));
    assert_eq!(memory.outcome, Outcome::MemoryLimit);
}

#[test]
fn output_limit_of_a_file() {
    let supervisor = supervisor();
    let write =
        |bytes: u64| request(["file", "/tmp/file", &bytes.to_string()]).output_limit(100_000);
    assert_eq!(
        result(&supervisor, &write(100_000)).outcome,
        Outcome::Exited(0)
    );
    let over = result(&supervisor, &write(100_001));
    assert_eq!(over.outcome, Outcome::OutputLimit);
    // A file as standard output.
    let memfd = std::sync::Arc::new(
        rustix::fs::memfd_create("out", rustix::fs::MemfdFlags::CLOEXEC).unwrap(),
    );
    let over = result(
        &supervisor,
        &request(["out", "200000"])
            .stdout(memfd.clone())
            .output_limit(100_000),
    );
    assert_eq!(over.outcome, Outcome::OutputLimit);
    assert_eq!(rustix::fs::fstat(&memfd).unwrap().st_size, 100_000);
    // SIGXFSZ of the program's own making is no output limit.
    assert_eq!(
        result(&supervisor, &request(["signal", "25"])).outcome,
        Outcome::Signaled(25)
    );
}

#[test]
fn output_limit_of_a_pipe() {
    let supervisor = supervisor();
    // "written=N\n" comes after the N bytes.
    for (bytes, limit, over) in [
        (1000, 2000, false),
        (1000, 1013, false),
        (1000, 1012, true),
        (10_000_000, 300_000, true),
    ] {
        let (read, write) = pipe();
        let handle = supervisor
            .run(&request(["out", &bytes.to_string()]).stdout(write))
            .unwrap();
        let sink = rustix::fs::memfd_create("sink", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let moved = move_output(&read, &sink, &Budget::new(limit), &handle).unwrap();
        let result = wait(&handle);
        let size = rustix::fs::fstat(&sink).unwrap().st_size as u64;
        if over {
            assert_eq!(
                (moved, size),
                (Moved::LimitReached, limit),
                "{bytes} of {limit}"
            );
            // A short one may be over before it can be ended.
            assert!(
                result.outcome == Outcome::OutputLimit
                    || bytes < 65536 && result.outcome == Outcome::Exited(0),
                "{result}"
            );
        } else {
            assert_eq!(
                (moved, &result.outcome),
                (Moved::All, &Outcome::Exited(0)),
                "{bytes} of {limit}"
            );
            assert_eq!(size, bytes + 13);
        }
    }
}

#[test]
fn output_is_moved_from_a_socket_and_from_a_file_too() {
    use std::io::{Read, Seek, SeekFrom, Write};
    let supervisor = supervisor();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let handle = supervisor
        .run(&request(["out", "300000"]).stdout(std::os::fd::OwnedFd::from(theirs)))
        .unwrap();
    let mut sink = tempfile::tempfile().unwrap();
    // Its end is another kind of readiness than a pipe's (poll(2)).
    assert_eq!(
        move_output(&ours, &sink, &Budget::new(1 << 20), &handle).unwrap(),
        Moved::All
    );
    assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    assert_eq!(
        sink.metadata().unwrap().len(),
        300_000 + "written=300000\n".len() as u64
    );
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"in a file").unwrap();
    file.rewind().unwrap();
    sink.seek(SeekFrom::Start(0)).unwrap();
    assert_eq!(
        move_output(&file, &sink, &Budget::new(1 << 20), &handle).unwrap(),
        Moved::All
    );
    sink.rewind().unwrap();
    let mut start = [0; 9];
    sink.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"in a file");
}

#[test]
fn a_result_can_be_asked_for_again() {
    let supervisor = supervisor();
    let handle = supervisor.run(&request(["exit", "4"])).unwrap();
    let first = wait(&handle);
    assert_eq!(wait(&handle), first);
    assert_eq!(handle.try_wait().unwrap(), Some(first));
}

#[test]
fn the_first_process_decides() {
    let supervisor = supervisor();
    // Its orphans live on for a while, and are killed; the result is its own.
    let output = run(&supervisor, &request(["orphans", "3", "100000"]));
    assert_eq!(output.result.outcome, Outcome::Exited(0));
    assert_eq!(output.text(), "done\n");
}

#[test]
fn without_seccomp_results_are_the_same() {
    let supervisor = start(builder().slots(1));
    let world = World::minimal().without_seccomp();
    assert_eq!(
        result(&supervisor, &request(["exit", "3"]).world(&world)).outcome,
        Outcome::Exited(3)
    );
    assert_eq!(
        result(&supervisor, &request(["signal", "11"]).world(&world)).outcome,
        Outcome::Signaled(11)
    );
}
