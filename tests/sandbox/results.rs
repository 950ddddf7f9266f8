//! The content of results for each kind of end.

use crate::{builder, supervisor};
use millibox::{Budget, Moved, Outcome, Request, RunError, Step, World, move_output};
use millibox_tests::{
    has_cgroups_or_skips, pipe, request, result, run, start, start_sleeper, wait,
};
use std::time::Duration;

#[test]
fn exit_codes_are_reported() {
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
fn fatal_signals_are_reported() {
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
    // A signal that is ignored by default.
    assert_eq!(
        result(&supervisor, &request(["signal", "17"])).outcome,
        Outcome::Exited(100)
    );
}

#[test]
fn end_by_caller_or_limit_is_reported() {
    let supervisor = supervisor();
    let real = result(
        &supervisor,
        &request(["sleep", "10000"]).real_time_limit(Duration::from_millis(10)),
    );
    assert_eq!(real.outcome, Outcome::RealTimeLimit);
    let (killed, _read) = start_sleeper(&supervisor, &[]);
    killed.kill();
    assert_eq!(wait(&killed).outcome, Outcome::Killed);
    assert_eq!(wait(&killed).signal, Some(libc::SIGKILL));
    let (cancelled, _read) = start_sleeper(&supervisor, &[]);
    cancelled.cancel();
    assert_eq!(wait(&cancelled).outcome, Outcome::Cancelled);
    let missing = RunError::new(Step::Exec)
        .with_errno(libc::ENOENT)
        .with_subject("/missing");
    assert_eq!(
        result(&supervisor, &Request::new("/missing")).outcome,
        Outcome::NotStarted(missing)
    );
    if !has_cgroups_or_skips(&supervisor) {
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
fn output_limit_applies_to_files() {
    let supervisor = supervisor();
    let write =
        |bytes: u64| request(["file", "/tmp/file", &bytes.to_string()]).output_limit(100_000);
    assert_eq!(
        result(&supervisor, &write(100_000)).outcome,
        Outcome::Exited(0)
    );
    let over = result(&supervisor, &write(100_001));
    assert_eq!(over.outcome, Outcome::OutputLimit);
    // The standard output is a file.
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
    // A program that sends SIGXFSZ to itself has not exceeded the limit.
    assert_eq!(
        result(&supervisor, &request(["signal", "25"])).outcome,
        Outcome::Signaled(25)
    );
}

#[test]
fn output_limit_applies_to_pipes() {
    let supervisor = supervisor();
    // "written=N\n" follows the N bytes.
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
            // A short program may end before it can be killed.
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
fn move_output_reads_sockets_and_files() {
    use std::io::{Read, Seek, SeekFrom, Write};
    let supervisor = supervisor();
    let (client_end, program_end) = std::os::unix::net::UnixStream::pair().unwrap();
    let handle = supervisor
        .run(&request(["out", "300000"]).stdout(std::os::fd::OwnedFd::from(program_end)))
        .unwrap();
    let mut sink = tempfile::tempfile().unwrap();
    // poll(2) reports the end of a socket differently from the end of a pipe.
    assert_eq!(
        move_output(&client_end, &sink, &Budget::new(1 << 20), &handle).unwrap(),
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
fn result_can_be_requested_again() {
    let supervisor = supervisor();
    let handle = supervisor.run(&request(["exit", "4"])).unwrap();
    let first = wait(&handle);
    assert_eq!(wait(&handle), first);
    assert_eq!(handle.try_wait().unwrap(), Some(first));
}

#[test]
fn result_is_that_of_the_first_process() {
    let supervisor = supervisor();
    // Orphans of the first process survive for a moment and are killed. They do not affect the
    // result.
    let output = run(&supervisor, &request(["orphans", "3", "100000"]));
    assert_eq!(output.result.outcome, Outcome::Exited(0));
    assert_eq!(output.text(), "done\n");
}

#[test]
fn results_without_seccomp_are_the_same() {
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
