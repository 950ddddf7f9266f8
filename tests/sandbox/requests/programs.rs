//! Programs by path, by descriptor and by name, and programs that cannot be executed.

use super::{assert_client_rejects, assert_not_started, exec_error};
use crate::supervisor;
use millibox::{Hint, Outcome, Program, Request, RequestMistake, World};
use millibox_tests::{
    copy_probe, directory, pipe, probe, request, result, set_mode, wait, write_script,
};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

#[test]
fn true_and_false_return_their_exit_statuses() {
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
fn missing_program_returns_enoent() {
    let supervisor = supervisor();
    let missing = Request::new("/bin/no-such-program");
    assert_not_started(
        &supervisor,
        &missing,
        &exec_error(libc::ENOENT).with_subject("/bin/no-such-program"),
    );
    let deeper = exec_error(libc::ENOTDIR).with_subject("/bin/true/deeper");
    assert_not_started(&supervisor, &Request::new("/bin/true/deeper"), &deeper);
}

#[test]
fn directory_as_program_returns_eacces() {
    let supervisor = supervisor();
    assert_not_started(
        &supervisor,
        &Request::new("/usr"),
        &exec_error(libc::EACCES).with_subject("/usr"),
    );
    let directory = millibox_tests::open(std::path::Path::new("/usr"));
    assert_not_started(
        &supervisor,
        &Request::from_descriptor(directory).arg("x"),
        &exec_error(libc::EACCES),
    );
}

#[test]
fn program_without_execute_permission_returns_eacces() {
    let supervisor = supervisor();
    let directory = directory();
    let copy = copy_probe(directory.path());
    set_mode(&copy, 0o644);
    let world = World::minimal().read_only(&copy, "/probe");
    let request = Request::new("/probe").world(&world);
    assert_not_started(
        &supervisor,
        &request,
        &exec_error(libc::EACCES).with_subject("/probe"),
    );
}

#[test]
fn file_that_is_not_executable_returns_enoexec() {
    let supervisor = supervisor();
    let directory = directory();
    let file = directory.path().join("garbage");
    std::fs::write(&file, b"\x01\x02\x03 not a program").unwrap();
    set_mode(&file, 0o755);
    let world = World::minimal().read_only(&file, "/garbage");
    let request = Request::new("/garbage").world(&world);
    assert_not_started(
        &supervisor,
        &request,
        &exec_error(libc::ENOEXEC).with_subject("/garbage"),
    );
}

#[test]
fn missing_script_interpreter_is_reported_with_hint() {
    let supervisor = supervisor();
    let directory = directory();
    let script = directory.path().join("script");
    write_script(&script, "#!/no/such/interpreter\n");
    let world = World::minimal().read_only(&script, "/script");
    let script = Request::new("/script").world(&world);
    let expected = exec_error(libc::ENOENT)
        .with_subject("/script")
        .with_hint(Hint::InterpreterMissing);
    assert_not_started(&supervisor, &script, &expected);
}

#[test]
fn missing_loader_is_reported_with_hint() {
    let supervisor = supervisor();
    let directory = directory();
    let world = World::empty().read_only(copy_probe(directory.path()), "/probe");
    let by_path = Request::new("/probe").world(&world);
    let expected = exec_error(libc::ENOENT).with_hint(Hint::InterpreterMissing);
    assert_not_started(
        &supervisor,
        &by_path,
        &expected.clone().with_subject("/probe"),
    );
    let by_descriptor = request(["exit", "0"]).world(&world);
    assert_not_started(&supervisor, &by_descriptor, &expected);
    let missing = Request::new("/missing").world(&world);
    let result = result(&supervisor, &missing);
    assert_eq!(
        *millibox_tests::not_started(&result),
        exec_error(libc::ENOENT).with_subject("/missing")
    );
}

#[test]
fn script_by_path_runs() {
    let supervisor = supervisor();
    let directory = directory();
    let script = directory.path().join("script");
    write_script(&script, "#!/bin/sh\nexit 7\n");
    let world = World::minimal().read_only(&script, "/script");
    assert_eq!(
        result(&supervisor, &Request::new("/script").world(&world)).outcome,
        Outcome::Exited(7)
    );
}

#[test]
fn program_by_descriptor_runs() {
    let supervisor = supervisor();
    assert_eq!(
        result(&supervisor, &request(["exit", "5"])).outcome,
        Outcome::Exited(5)
    );
    // A memfd also works.
    let memfd = rustix::fs::memfd_create("program", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let mut from = std::fs::File::open(millibox_tests::executable("probe")).unwrap();
    std::io::copy(
        &mut from,
        &mut std::fs::File::from(memfd.try_clone().unwrap()),
    )
    .unwrap();
    let memfd = Request::from_descriptor(Arc::new(memfd)).argv(["probe", "exit", "6"]);
    assert_eq!(result(&supervisor, &memfd).outcome, Outcome::Exited(6));
    // A program by path still works in the same supervisor.
    let world = World::minimal();
    let by_path = Request::new("/bin/true").world(&world);
    assert_eq!(result(&supervisor, &by_path).outcome, Outcome::Exited(0));
}

#[test]
fn program_by_name_is_looked_up_in_directories() {
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
    assert_not_started(
        &supervisor,
        &missing,
        &exec_error(libc::ENOENT).with_subject(subject),
    );
    // A directory with this name is skipped. Its error is reported if no program is found
    // (execvp(3)).
    let directory = exec_error(libc::EACCES).with_subject("bin (looked up in /nowhere:/usr)");
    assert_not_started(
        &supervisor,
        &search("bin", &["/nowhere", "/usr"]),
        &directory,
    );
    assert_client_rejects(
        &supervisor,
        &search("a/b", &["/bin"]),
        &RequestMistake::NameHasSlash("a/b".into()),
    );
    assert_client_rejects(
        &supervisor,
        &search("", &["/bin"]),
        &RequestMistake::EmptyName,
    );
    assert_client_rejects(
        &supervisor,
        &search("true", &[]),
        &RequestMistake::NoDirectories("true".into()),
    );
    // A path without a slash is not looked up.
    let bare_name = exec_error(libc::ENOENT)
        .with_subject("true")
        .with_hint(Hint::NameTakenAsPath);
    assert_not_started(&supervisor, &Request::new("true"), &bare_name);
    // Another descriptor of this program is open for writing.
    let mut writing = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut writing, &std::fs::read("/bin/true").unwrap()).unwrap();
    rustix::fs::fchmod(&writing, rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    let program = Request::of(Program::Descriptor(std::sync::Arc::new(writing.into())));
    assert_not_started(&supervisor, &program, &exec_error(libc::ETXTBSY));
    // Each request of a pair has its own error.
    let pair = supervisor
        .run_pair([&Request::new("/missing"), &search("none", &["/bin"])])
        .unwrap();
    let outcomes = pair.map(|handle| handle.wait().unwrap().outcome);
    let expected = ["/missing", "none (looked up in /bin)"];
    assert_eq!(
        outcomes,
        expected.map(|subject| Outcome::NotStarted(exec_error(libc::ENOENT).with_subject(subject)))
    );
}

#[test]
fn one_descriptor_can_serve_many_runs() {
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
fn descriptor_that_cannot_be_executed_returns_eacces() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    assert!(read.as_raw_fd() > 2);
    assert_not_started(
        &supervisor,
        &Request::from_descriptor(write).arg("x"),
        &exec_error(libc::EACCES),
    );
}

#[test]
fn script_by_descriptor_is_rejected() {
    let script = rustix::fs::memfd_create("script", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&script, b"#!/bin/sh\nexit 3\n").unwrap();
    let request = Request::from_descriptor(script).arg("script");
    assert_client_rejects(&supervisor(), &request, &RequestMistake::ScriptByDescriptor);
}
