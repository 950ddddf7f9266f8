//! Asking for runs: programs, arguments, many at once, and requests that cannot start.

use crate::{builder, supervisor};
use millibox::{
    Error, Hint, Limit, LimitError, Mount, Outcome, Program, Request, RequestError, RunError, Step,
    Supervisor, World, WorldError, WorldProblem,
};
use millibox_tests::{
    copy_probe, directory, eventually, needs_cgroups, pipe, probe, probe_run, processes_that_say,
    request, result, run, share, sleeper, start, token, wait,
};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The request is not started because of this error, and the next request works.
fn not_started(supervisor: &Supervisor, request: &Request, expected: &RunError) {
    let result = result(supervisor, request);
    let error = millibox_tests::not_started(&result);
    assert_eq!(error, expected, "{error}");
    assert_eq!((result.exit_code, result.signal), (None, None));
    assert_eq!(
        self::result(supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0),
        "after {error}"
    );
}

/// The program cannot be executed.
fn exec(errno: i32) -> RunError {
    RunError::new(Step::Exec).with_errno(errno)
}

/// The client rejects the request before it sends anything.
fn refused(supervisor: &Supervisor, request: &Request, expected: &RequestError) {
    match supervisor.run(request) {
        Err(Error::Request(error)) => assert_eq!(error, *expected),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        result(supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
}

#[test]
fn true_and_false() {
    let supervisor = supervisor();
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
    assert_eq!(
        result(&supervisor, &Request::new("/bin/false")).outcome,
        Outcome::Exited(1)
    );
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
}

#[test]
fn results_are_waited_for_in_any_order() {
    let supervisor = supervisor();
    let ask = |code: i32| {
        supervisor
            .run(&request(["exit", &code.to_string()]))
            .unwrap()
    };
    let handles: Vec<_> = (0..60).map(|code| (code, ask(code))).collect();
    for (code, handle) in handles.iter().rev().step_by(2).chain(handles.iter()) {
        assert_eq!(wait(handle).outcome, Outcome::Exited(*code));
    }
}

/// Long ones go in files, which are made when they go.
#[test]
fn long_requests_that_wait_take_no_descriptors() {
    let supervisor = start(builder().slots(1));
    let (first, _read) = sleeper(&supervisor, &[]);
    let long = request(["exit", "5"]).arg("x".repeat(100_000));
    let handles: Vec<_> = (0..300).map(|_| supervisor.run(&long).unwrap()).collect();
    let links = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .map(|entry| std::fs::read_link(entry.path()));
    let files = links
        .flatten()
        .filter(|to| to.to_string_lossy().contains("millibox-request"))
        .count();
    // Other tests may be sending some.
    assert!(
        files < 50,
        "{files} of the client's descriptors are requests that wait"
    );
    first.kill();
    for handle in &handles {
        assert_eq!(wait(handle).outcome, Outcome::Exited(5));
    }
}

#[test]
fn a_thousand_outstanding_requests_from_one_thread() {
    let supervisor = start(builder().slots(1));
    let (first, _read) = sleeper(&supervisor, &[]);
    let (read, write) = pipe();
    let ask = |code: i32| {
        let request = request(["exit", &code.to_string()]).stdout(write.clone());
        (code, supervisor.run(&request).unwrap())
    };
    let handles: Vec<_> = (0..1000).map(|index| ask(index % 100)).collect();
    // None of the sending has waited for the one that runs.
    assert!(first.try_wait().unwrap().is_none());
    assert!(
        handles
            .iter()
            .all(|(_, handle)| handle.try_wait().unwrap().is_none())
    );
    // Waiting runs take no descriptors of the supervisor's beyond its credits.
    if let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", supervisor.info().pid())) {
        assert!(
            open.count() < 200,
            "a waiting run uses a descriptor of the supervisor"
        );
    } else {
        millibox_tests::skip("the supervisor's descriptors may not be looked at");
    }
    first.kill();
    for (code, handle) in &handles {
        assert_eq!(wait(handle).outcome, Outcome::Exited(*code));
    }
    drop(write);
    assert_eq!(millibox_tests::read_all(read), b"");
}

#[test]
fn many_threads_share_a_supervisor() {
    let supervisor = supervisor();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let supervisor = &supervisor;
            scope.spawn(move || {
                for index in 0..25 {
                    let code = (thread * 25 + index) % 250;
                    assert_eq!(
                        result(supervisor, &request(["exit", &code.to_string()])).outcome,
                        Outcome::Exited(code)
                    );
                }
            });
        }
    });
}

#[test]
fn slots_run_in_parallel() {
    let supervisor = start(builder().slots(3));
    assert_eq!(supervisor.info().slots(), 3);
    // Each says that it is there while the others still sleep.
    let sleepers: Vec<_> = (0..3).map(|_| sleeper(&supervisor, &[])).collect();
    assert!(
        sleepers
            .iter()
            .all(|(handle, _)| handle.try_wait().unwrap().is_none())
    );
}

#[test]
fn a_result_can_be_polled_for() {
    let supervisor = supervisor();
    let (handle, _read) = sleeper(&supervisor, &[]);
    assert!(!millibox_tests::readable(
        handle.event().unwrap(),
        Duration::from_millis(50)
    ));
    assert!(
        handle
            .wait_timeout(Duration::from_millis(50))
            .unwrap()
            .is_none()
    );
    handle.kill();
    assert!(millibox_tests::readable(
        handle.event().unwrap(),
        millibox_tests::PATIENCE
    ));
    assert_eq!(handle.try_wait().unwrap().unwrap().outcome, Outcome::Killed);
    // Once more, and for one whose event is asked for when it is over.
    assert_eq!(wait(&handle).outcome, Outcome::Killed);
    let done = supervisor.run(&Request::new("/bin/true")).unwrap();
    wait(&done);
    assert!(millibox_tests::readable(
        done.event().unwrap(),
        Duration::ZERO
    ));
}

#[test]
fn a_program_that_is_not_there() {
    let supervisor = supervisor();
    let missing = Request::new("/bin/no-such-program");
    not_started(
        &supervisor,
        &missing,
        &exec(libc::ENOENT).with_subject("/bin/no-such-program"),
    );
    let deeper = exec(libc::ENOTDIR).with_subject("/bin/true/deeper");
    not_started(&supervisor, &Request::new("/bin/true/deeper"), &deeper);
}

#[test]
fn a_directory_is_no_program() {
    let supervisor = supervisor();
    not_started(
        &supervisor,
        &Request::new("/usr"),
        &exec(libc::EACCES).with_subject("/usr"),
    );
    let directory = millibox_tests::open(std::path::Path::new("/usr"));
    not_started(
        &supervisor,
        &Request::from_descriptor(directory).arg("x"),
        &exec(libc::EACCES),
    );
}

#[test]
fn a_program_without_permission() {
    let supervisor = supervisor();
    let directory = directory();
    let copy = copy_probe(directory.path());
    share(&copy, 0o644);
    let world = World::minimal().read_only(&copy, "/probe");
    let request = Request::new("/probe").world(&world);
    not_started(
        &supervisor,
        &request,
        &exec(libc::EACCES).with_subject("/probe"),
    );
}

#[test]
fn a_file_that_is_no_program() {
    let supervisor = supervisor();
    let directory = directory();
    let file = directory.path().join("garbage");
    std::fs::write(&file, b"\x01\x02\x03 this is no program").unwrap();
    share(&file, 0o755);
    let world = World::minimal().read_only(&file, "/garbage");
    let request = Request::new("/garbage").world(&world);
    not_started(
        &supervisor,
        &request,
        &exec(libc::ENOEXEC).with_subject("/garbage"),
    );
}

#[test]
fn a_missing_interpreter_is_told_apart() {
    let supervisor = supervisor();
    let directory = directory();
    let script = directory.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    share(&script, 0o755);
    let world = World::minimal().read_only(&script, "/script");
    let script = Request::new("/script").world(&world);
    let expected = exec(libc::ENOENT)
        .with_subject("/script")
        .with_hint(Hint::InterpreterMissing);
    not_started(&supervisor, &script, &expected);
}

#[test]
fn a_missing_loader_is_told_apart() {
    let supervisor = supervisor();
    let directory = directory();
    let world = World::empty().read_only(copy_probe(directory.path()), "/probe");
    let by_path = Request::new("/probe").world(&world);
    let expected = exec(libc::ENOENT).with_hint(Hint::InterpreterMissing);
    not_started(
        &supervisor,
        &by_path,
        &expected.clone().with_subject("/probe"),
    );
    let by_descriptor = request(["exit", "0"]).world(&world);
    not_started(&supervisor, &by_descriptor, &expected);
    let missing = Request::new("/missing").world(&world);
    let result = result(&supervisor, &missing);
    assert_eq!(
        *millibox_tests::not_started(&result),
        exec(libc::ENOENT).with_subject("/missing")
    );
}

#[test]
fn a_script_runs() {
    let supervisor = supervisor();
    let directory = directory();
    let script = directory.path().join("script");
    std::fs::write(&script, "#!/bin/sh\nexit 7\n").unwrap();
    share(&script, 0o755);
    let world = World::minimal().read_only(&script, "/script");
    assert_eq!(
        result(&supervisor, &Request::new("/script").world(&world)).outcome,
        Outcome::Exited(7)
    );
}

#[test]
fn a_program_by_descriptor() {
    let supervisor = supervisor();
    assert_eq!(
        result(&supervisor, &request(["exit", "5"])).outcome,
        Outcome::Exited(5)
    );
    // From a memfd as well.
    let memfd = rustix::fs::memfd_create("program", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let mut from = std::fs::File::open(millibox_tests::executable("probe")).unwrap();
    std::io::copy(
        &mut from,
        &mut std::fs::File::from(memfd.try_clone().unwrap()),
    )
    .unwrap();
    let memfd = Request::from_descriptor(Arc::new(memfd)).argv(["probe", "exit", "6"]);
    assert_eq!(result(&supervisor, &memfd).outcome, Outcome::Exited(6));
    // And a program of the world's, while the world that the run sees has none.
    let world = World::minimal();
    let by_path = Request::new("/bin/true").world(&world);
    assert_eq!(result(&supervisor, &by_path).outcome, Outcome::Exited(0));
}

#[test]
fn argv_may_be_empty_only_by_descriptor() {
    let supervisor = supervisor();
    // The probe exits with 42 without a command.
    assert_eq!(
        result(&supervisor, &Request::from_descriptor(probe())).outcome,
        Outcome::Exited(42)
    );
    refused(
        &supervisor,
        &Request::of(Program::Path("/bin/true".into())),
        &RequestError::NoArgv0,
    );
    refused(
        &supervisor,
        &Request::new("/bin/true").argv([""]),
        &RequestError::NoArgv0,
    );
    refused(&supervisor, &Request::new(""), &RequestError::EmptyPath);
    refused(
        &supervisor,
        &Request::new("/bin/true").arg("a\0b"),
        &RequestError::HasNul("a\0b".into()),
    );
    refused(
        &supervisor,
        &Request::new("/bin/\0true"),
        &RequestError::HasNul("/bin/\0true".into()),
    );
}

#[test]
fn arguments_and_environment_arrive_to_the_byte() {
    let supervisor = supervisor();
    let odd = std::ffi::OsString::from_vec(vec![0xff, 0xfe, b'=', b'\t', 0x80]);
    let output = run(
        &supervisor,
        &request(["args", "", "a b", "\"'\\"])
            .arg(odd.clone())
            .arg("ü"),
    );
    assert_eq!(
        output.stdout,
        [
            b"0:\n3:a b\n3:\"'\\\n5:".as_slice(),
            &odd.into_vec(),
            b"\n2:",
            "ü".as_bytes(),
            b"\n"
        ]
        .concat()
    );
    let output = run(
        &supervisor,
        &request(["env"])
            .env("A", "1")
            .env("EMPTY", "")
            .env("B", "x=y z"),
    );
    assert_eq!(output.text(), "A=1\nEMPTY=\nB=x=y z\n");
}

#[test]
fn long_arguments() {
    let supervisor = supervisor();
    // More than one frame of the socket holds, up to close to what the kernel takes.
    for (count, length) in [(1, 100_000), (10, 100_000), (20_000, 10)] {
        let arguments = vec!["x".repeat(length); count];
        let output = run(&supervisor, &request(["args"]).args(arguments));
        assert_eq!(
            output.result.outcome,
            Outcome::Exited(0),
            "{count} of {length}: {}",
            output.result
        );
        assert_eq!(output.text().lines().count(), count);
        assert!(
            output
                .text()
                .lines()
                .all(|line| line.starts_with(&format!("{length}:")))
        );
    }
    // One string is at most 128 KiB, all together a quarter of the stack limit (execve(2)).
    not_started(
        &supervisor,
        &request(["args", &"x".repeat(200_000)]),
        &exec(libc::E2BIG),
    );
    let many = request(["args"]).args(vec!["x".repeat(100_000); 25]);
    not_started(&supervisor, &many, &exec(libc::E2BIG));
    let more = request(["args"]).args(vec!["x".repeat(100_000); 35]);
    // Each string has its NUL. "/" is the working directory.
    let too_many = |strings: u64, bytes: u64| {
        let hint = Hint::TooManyStrings {
            strings,
            max_strings: 131_072,
            bytes,
            max_bytes: 3 << 20,
        };
        RunError::new(Step::Arguments)
            .with_errno(libc::E2BIG)
            .with_hint(hint)
    };
    let own = ("/\0probe\0args\0".len()) as u64;
    not_started(&supervisor, &more, &too_many(3 + 35, own + 35 * 100_001));
    let short = request(["args"]).args(vec!["x"; 140_000]);
    not_started(
        &supervisor,
        &short,
        &too_many(3 + 140_000, own + 140_000 * 2),
    );
    let longest = request(["args"]).args(vec!["x".repeat(100_000); 50]);
    match supervisor.run(&longest) {
        Err(Error::Request(RequestError::TooLong { bytes, max_bytes })) => {
            assert!(
                bytes > 5_000_000 && max_bytes < bytes,
                "{bytes} bytes of {max_bytes}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_is_looked_for() {
    let supervisor = supervisor();
    let search = |name: &str, directories: &[&str]| {
        let directories = directories
            .iter()
            .map(|directory| directory.into())
            .collect();
        Request::of(Program::Search(name.into(), directories)).arg(name)
    };
    let found = search("true", &["/nowhere", "/tmp", "/usr/bin", "/bin"]);
    assert_eq!(result(&supervisor, &found).outcome, Outcome::Exited(0));
    let missing = search("no-such-program", &["/usr/bin", "/bin"]);
    let subject = "no-such-program (looked up in /usr/bin:/bin)";
    not_started(
        &supervisor,
        &missing,
        &exec(libc::ENOENT).with_subject(subject),
    );
    // A directory of that name is passed over, and told when nothing else is found (execvp(3)).
    let directory = exec(libc::EACCES).with_subject("bin (looked up in /nowhere:/usr)");
    not_started(
        &supervisor,
        &search("bin", &["/nowhere", "/usr"]),
        &directory,
    );
    refused(
        &supervisor,
        &search("a/b", &["/bin"]),
        &RequestError::NameHasSlash("a/b".into()),
    );
    refused(
        &supervisor,
        &search("", &["/bin"]),
        &RequestError::EmptyName,
    );
    refused(
        &supervisor,
        &search("true", &[]),
        &RequestError::NoDirectories("true".into()),
    );
    // Nobody looks for the name of one that is to be at a path.
    let bare_name = exec(libc::ENOENT)
        .with_subject("true")
        .with_hint(Hint::NameTakenAsPath);
    not_started(&supervisor, &Request::new("true"), &bare_name);
    // One that somebody still writes to.
    let mut writing = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut writing, &std::fs::read("/bin/true").unwrap()).unwrap();
    rustix::fs::fchmod(&writing, rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    let program = Request::of(Program::Descriptor(std::sync::Arc::new(writing.into())));
    not_started(&supervisor, &program, &exec(libc::ETXTBSY));
    // Of two, each has its own.
    let pair = supervisor
        .run_pair([&Request::new("/missing"), &search("none", &["/bin"])])
        .unwrap();
    let outcomes = pair.map(|handle| handle.wait().unwrap().outcome);
    let expected = ["/missing", "none (looked up in /bin)"];
    assert_eq!(
        outcomes,
        expected.map(|subject| Outcome::NotStarted(exec(libc::ENOENT).with_subject(subject)))
    );
}

#[test]
fn the_working_directory() {
    let supervisor = supervisor();
    assert_eq!(probe_run(&supervisor, &["cwd"]).value("cwd"), "/");
    assert_eq!(
        run(&supervisor, &request(["cwd"]).current_dir("/usr/lib")).value("cwd"),
        "/usr/lib"
    );
    let nowhere = request(["cwd"]).current_dir("/nowhere");
    let expected = |errno, path: &str| {
        RunError::new(Step::WorkingDirectory)
            .with_errno(errno)
            .with_subject(path)
    };
    not_started(&supervisor, &nowhere, &expected(libc::ENOENT, "/nowhere"));
    let file = request(["cwd"]).current_dir("/bin/true");
    not_started(&supervisor, &file, &expected(libc::ENOTDIR, "/bin/true"));
}

#[test]
fn values_that_the_kernel_would_refuse() {
    let supervisor = supervisor();
    let micros = Duration::from_micros;
    let bandwidth = |max, period| request(["exit", "0"]).cpu_bandwidth(micros(max), micros(period));
    if supervisor.info().backend() != millibox::Backend::Rlimit {
        for period_us in [999, 1_000_001] {
            let expected = RequestError::Limit(LimitError::BandwidthPeriod { period_us });
            refused(&supervisor, &bandwidth(5000, period_us), &expected);
        }
        let expected = RequestError::Limit(LimitError::BandwidthMax { max_us: 999 });
        refused(&supervisor, &bandwidth(999, 5000), &expected);
    }
    let swap = request(["exit", "0"]).swap_limit(1 << 20);
    refused(
        &supervisor,
        &swap,
        &RequestError::Limit(LimitError::SwapWithoutMemory),
    );
    assert_eq!(
        request(["x"]).rlimit("BOGUS", 1).check(),
        Err(RequestError::UnknownRlimit("BOGUS".to_owned()))
    );
    assert_eq!(request(["x"]).cpus([]).check(), Err(RequestError::NoCpus));
    assert_eq!(
        request(["x"]).cpus([1024]).check(),
        Err(RequestError::CpuNumber(1024))
    );
    refused(
        &supervisor,
        &request(["x"]).cpus([1024]),
        &RequestError::CpuNumber(1024),
    );
    let no_such_cpu = request(["exit", "0"]).cpus([1023]);
    not_started(
        &supervisor,
        &no_such_cpu,
        &RunError::new(Step::Affinity).with_errno(libc::EINVAL),
    );
    for mode in [0o10000, u32::MAX] {
        for mount in [
            Mount::CreateDir {
                path: "/a".into(),
                mode,
            },
            Mount::CreateFile {
                path: "/a".into(),
                mode,
            },
            Mount::Tmpfs {
                at: "/a".into(),
                size: None,
                inodes: None,
                mode,
                read_only: false,
                no_exec: false,
            },
        ] {
            let world = World::minimal().mount(mount);
            let expected = RequestError::World(WorldError::at(b"/a", WorldProblem::Mode(mode)));
            refused(
                &supervisor,
                &request(["exit", "0"]).world(&world),
                &expected,
            );
        }
    }
    // What the kernel would take for another number, or refuse without saying why.
    for (size, inodes, problem) in [
        (Some(u64::MAX), None, WorldProblem::Size(u64::MAX)),
        (Some(1 << 63), None, WorldProblem::Size(1 << 63)),
        (None, Some(u64::MAX), WorldProblem::Inodes(u64::MAX)),
        (None, Some(1 << 54), WorldProblem::Inodes(1 << 54)),
        (Some(0), None, WorldProblem::ZeroSize),
    ] {
        for at in ["/a", "/tmp/a"] {
            let tmpfs = Mount::Tmpfs {
                at: at.into(),
                size,
                inodes,
                mode: 0o755,
                read_only: false,
                no_exec: false,
            };
            let expected = RequestError::World(WorldError::at(at.as_bytes(), problem.clone()));
            refused(
                &supervisor,
                &request(["exit", "0"]).world(&World::minimal().mount(tmpfs)),
                &expected,
            );
        }
    }
    for (size, inodes) in [((1 << 63) - 1, (1 << 54) - 1), (1, 1)] {
        let (size, inodes) = (Some(size), Some(inodes));
        let tmpfs = Mount::Tmpfs {
            at: "/a".into(),
            size,
            inodes,
            mode: 0o755,
            read_only: false,
            no_exec: false,
        };
        let world = World::minimal().mount(tmpfs);
        assert_eq!(
            result(&supervisor, &request(["exit", "0"]).world(&world)).outcome,
            Outcome::Exited(0)
        );
    }
    let hard = request(["exit", "0"]).rlimit("NICE", 40);
    let expected = RunError::new(Step::Rlimit)
        .with_errno(libc::EPERM)
        .with_subject("RLIMIT_NICE");
    not_started(&supervisor, &hard, &expected);
}

#[test]
fn a_run_is_held_on_its_cpus() {
    let supervisor = supervisor();
    let output = run(&supervisor, &request(["scheduling"]).cpus([0]));
    assert_eq!(output.value("cpus"), "0");
    // And the next one is not.
    if std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
        assert_ne!(probe_run(&supervisor, &["scheduling"]).value("cpus"), "0");
    }
}

#[test]
fn pinned_slots() {
    let supervisor = start(builder().slots(2).pin_slots(true));
    let (first, second) = (pipe(), pipe());
    let ask = |write: &Arc<OwnedFd>| {
        supervisor
            .run(&request(["scheduling"]).stdout(write.clone()))
            .unwrap()
    };
    let handles: Vec<_> = [&first.1, &second.1].into_iter().map(ask).collect();
    assert!(
        handles
            .iter()
            .all(|handle| wait(handle).outcome == Outcome::Exited(0))
    );
    for (read, write) in [first, second] {
        drop(write);
        let text = String::from_utf8(millibox_tests::read_all(read)).unwrap();
        let cpus = text
            .lines()
            .find_map(|line| line.strip_prefix("cpus="))
            .unwrap();
        assert!(
            cpus.parse::<u32>().is_ok(),
            "a pinned slot has the CPUs {cpus}"
        );
    }
}

#[test]
fn dropping_a_supervisor_kills_what_runs() {
    // A supervisor that waited for its runs would be killed after six seconds. A busy machine may
    // be slow once.
    let slow = (0..3)
        .map(|_| drop_while_something_runs())
        .take_while(|took| *took > Duration::from_secs(4))
        .count();
    assert!(slow < 3, "it waits for what runs");
}

fn drop_while_something_runs() -> Duration {
    let supervisor = supervisor();
    let token = token();
    let (running, read) = sleeper(&supervisor, &[&token]);
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            supervisor
                .run(&request(["sleep", "100000", &token]))
                .unwrap()
        })
        .collect();
    let done = supervisor
        .run(&request(["exit", "3"]).current_dir("/nowhere"))
        .unwrap();
    let gone = millibox_tests::Gone::of(&supervisor);
    let begin = Instant::now();
    drop(supervisor);
    let took = begin.elapsed();
    gone.assert();
    assert!(eventually(Duration::from_secs(5), || processes_that_say(
        &token
    )
    .is_empty()));
    assert_eq!(millibox_tests::read_all(read), b"");
    // Handles outlive it.
    assert!(matches!(running.wait(), Err(Error::Died(_))));
    assert!(
        waiting
            .iter()
            .all(|handle| matches!(handle.wait(), Err(Error::Died(_))))
    );
    drop(done);
    took
}

#[test]
fn one_descriptor_serves_many_runs() {
    let supervisor = supervisor();
    let program = probe();
    let before = Arc::strong_count(&program);
    let request = Request::from_descriptor(program.clone()).argv(["probe", "exit", "9"]);
    let handles: Vec<_> = (0..40).map(|_| supervisor.run(&request).unwrap()).collect();
    assert!(
        handles
            .iter()
            .all(|handle| wait(handle).outcome == Outcome::Exited(9))
    );
    drop(request);
    assert_eq!(
        Arc::strong_count(&program),
        before,
        "the library keeps a descriptor"
    );
    let _: OwnedFd = Arc::into_inner(program).unwrap();
}

#[test]
fn a_descriptor_that_cannot_be_executed() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    assert!(read.as_raw_fd() > 2);
    not_started(
        &supervisor,
        &Request::from_descriptor(write).arg("x"),
        &exec(libc::EACCES),
    );
}

#[test]
fn a_variable_that_is_set_twice_has_the_last_value() {
    let supervisor = supervisor();
    let request = Request::new("/usr/bin/env")
        .env("A", "1")
        .env("B", "2")
        .env("A", "3");
    assert_eq!(run(&supervisor, &request).text(), "B=2\nA=3\n");
    let unnamed = RequestError::UnnamedVariable("=x".into());
    refused(
        &supervisor,
        &Request::new("/bin/true").env("", "x"),
        &unnamed,
    );
    // It would be another variable, and there twice after the next.
    let equals = RequestError::VariableHasEquals("A=B".into());
    refused(
        &supervisor,
        &Request::new("/bin/true").env("A=B", "c").env("A", "1"),
        &equals,
    );
    let nul = RequestError::VariableHasNul("A\0B".into());
    refused(
        &supervisor,
        &Request::new("/bin/true").env("A\0B", "c"),
        &nul,
    );
    let request = Request::new("/usr/bin/env")
        .env("A", "=1")
        .env("A1", "2")
        .env("A", "B=3");
    assert_eq!(run(&supervisor, &request).text(), "A1=2\nA=B=3\n");
}

#[test]
fn a_script_by_descriptor() {
    let script = rustix::fs::memfd_create("script", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&script, b"#!/bin/sh\nexit 3\n").unwrap();
    let request = Request::from_descriptor(script).arg("script");
    refused(&supervisor(), &request, &RequestError::ScriptByDescriptor);
}

#[test]
fn the_smaller_of_two_limits_on_files() {
    let supervisor = supervisor();
    let writes = |limit: &str| {
        Request::new("/bin/sh")
            .args(["-c", limit])
            .output_limit(1000)
    };
    for (first, expected) in [(10_000, 1000), (100, 100)] {
        let request =
            writes("ulimit -f; trap '' XFSZ; head -c 5000 /dev/zero > /tmp/x; stat -c %s /tmp/x");
        let request = request.rlimit("FSIZE", first);
        let said = run(&supervisor, &request).text();
        assert_eq!(
            said.lines().last(),
            Some(expected.to_string().as_str()),
            "{said}"
        );
    }
}

#[test]
fn more_processes_than_there_can_be() {
    let supervisor = supervisor();
    for limit in [Request::MAX_PROCESS_LIMIT + 1, 5_000_000] {
        let expected = RequestError::Limit(LimitError::TooManyProcesses { limit });
        refused(
            &supervisor,
            &Request::new("/bin/true").process_limit(limit),
            &expected,
        );
    }
    if needs_cgroups(&supervisor) {
        let most = Request::new("/bin/true").process_limit(Request::MAX_PROCESS_LIMIT);
        assert_eq!(result(&supervisor, &most).outcome, Outcome::Exited(0));
    }
}

#[test]
fn limits_that_leave_room_for_no_program() {
    let supervisor = supervisor();
    let request = || Request::new("/bin/true");
    for (request, limit) in [
        (request().process_limit(0), Limit::Processes),
        (request().memory_limit(0), Limit::Memory),
        (request().real_time_limit(Duration::ZERO), Limit::RealTime),
        (request().cpu_time_limit(Duration::ZERO), Limit::CpuTime),
    ] {
        refused(
            &supervisor,
            &request,
            &RequestError::Limit(LimitError::Zero(limit)),
        );
    }
}

#[test]
fn more_places_than_there_can_be() {
    for (builder, says) in [
        (
            builder().slots(0),
            "Builder::slots(0): pass a number from 1 to 512",
        ),
        (builder().slots(513), "Builder::slots(513)"),
        (
            builder().runners_per_slot(0),
            "Builder::runners_per_slot(0): pass a number from 1 to 4",
        ),
        (
            builder().runners_per_slot(5),
            "Builder::runners_per_slot(5)",
        ),
        (
            builder().cpus([0, 1024]),
            "Builder::cpus: CPU 1024 does not exist; the largest number is 1023",
        ),
    ] {
        match builder.start() {
            Err(Error::Start(why)) => assert!(why.to_string().contains(says), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn ids_that_are_none() {
    let supervisor = supervisor();
    for (world, method) in [
        (World::minimal().uid(u32::MAX), "World::uid"),
        (World::minimal().gid(u32::MAX), "World::gid"),
    ] {
        let expected = RequestError::from(WorldProblem::NoId {
            method: method.to_owned(),
        });
        refused(
            &supervisor,
            &Request::new("/bin/true").world(&world),
            &expected,
        );
    }
}

#[test]
fn more_mounts_than_can_be_said() {
    let supervisor = supervisor();
    let many = (0..2500).fold(World::minimal(), |world, n| {
        world.mount(Mount::tmpfs(format!("/m{n}")))
    });
    let result = result(&supervisor, &Request::new("/bin/true").world(&many));
    let error = millibox_tests::not_started(&result);
    let Some(Hint::World(WorldError { problem, .. })) = &error.hint else {
        panic!("{error:?}")
    };
    let (WorldProblem::TooLong { bytes, max_bytes }
    | WorldProblem::RunMountsTooLong { bytes, max_bytes }) = problem
    else {
        panic!("{error:?}")
    };
    assert!(bytes > max_bytes, "{error}");
}
