//! Valid and invalid compiled seccomp programs that the caller passes by descriptor.

use super::call;
use crate::supervisor;
use millibox::{Error, Outcome, Request, RequestMistake, World};
use millibox_seccomp::{Arch, compile};
use millibox_tests::{pipe, request, result, run};
use std::os::fd::OwnedFd;

fn memfd(bytes: &[u8]) -> OwnedFd {
    let memfd = rustix::fs::memfd_create("program", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    assert_eq!(rustix::io::write(&memfd, bytes), Ok(bytes.len()));
    memfd
}

fn rejection(bytes: &[u8]) -> RequestMistake {
    match World::minimal().seccomp_descriptor(memfd(bytes)) {
        Err(Error::Request(mistakes)) => {
            let [mistake] = mistakes.as_slice() else {
                panic!("{mistakes:?}")
            };
            mistake.clone()
        }
        other => panic!("{other:?}"),
    }
}

/// An instruction of classic BPF.
fn instruction(code: u16, yes: u8, no: u8, k: u32) -> Vec<u8> {
    [&code.to_ne_bytes()[..], &[yes, no], &k.to_ne_bytes()].concat()
}

const ALLOW: u32 = 0x7fff_0000;

fn return_action(action: u32) -> Vec<u8> {
    instruction(0x06, 0, 0, action)
}

#[test]
fn valid_seccomp_program_by_descriptor_is_applied() {
    let supervisor = supervisor();
    let world = World::minimal()
        .seccomp_descriptor(memfd(&return_action(ALLOW)))
        .unwrap();
    assert_eq!(
        result(&supervisor, &request(["exit", "2"]).world(&world)).outcome,
        Outcome::Exited(2)
    );
    let compiled = compile(
        &millibox_seccomp::profile("default").unwrap(),
        Arch::native(),
    )
    .unwrap();
    let world = World::minimal()
        .seccomp_descriptor(memfd(&compiled.as_bytes()))
        .unwrap();
    let output = run(&supervisor, &request(call(libc::SYS_unshare)).world(&world));
    assert_eq!(output.number("errno"), i64::from(libc::EPERM));
}

#[test]
fn each_invalid_seccomp_program_has_its_own_error() {
    let (read, write) = pipe();
    rustix::io::write(&write, &return_action(ALLOW)).unwrap();
    let piped = World::minimal().seccomp_descriptor(read);
    assert_eq!(
        piped.unwrap_err().request_mistakes(),
        [RequestMistake::SeccompNotSeekable]
    );
    let directory =
        World::minimal().seccomp_descriptor(millibox_tests::open(std::path::Path::new("/usr")));
    let Err(Error::System { error, .. }) = &directory else {
        panic!("{directory:?}")
    };
    assert_eq!(error.raw_os_error(), Some(libc::EISDIR));
    let bad = [
        vec![],
        return_action(ALLOW)[..7].to_vec(),
        [return_action(ALLOW), vec![0; 3]].concat(),
        return_action(ALLOW).repeat(4097),
        // These are an unknown instruction, a jump past the end, and a load from outside the data.
        [instruction(0xffff, 0, 0, 0), return_action(ALLOW)].concat(),
        [instruction(0x15, 9, 0, 0), return_action(ALLOW)].concat(),
        [instruction(0x20, 0, 0, 4000), return_action(ALLOW)].concat(),
        // This program has no return at the end.
        instruction(0x20, 0, 0, 0),
    ];
    let mut errors: Vec<RequestMistake> = bad.iter().map(|bytes| rejection(bytes)).collect();
    assert!(
        errors
            .iter()
            .all(|error| matches!(error, RequestMistake::SeccompProgram(_))),
        "{errors:#?}"
    );
    // This seccomp program forbids every exec.
    assert_eq!(
        rejection(&return_action(0x8000_0000)),
        RequestMistake::SeccompRefusesExec {
            action: 0x8000_0000
        }
    );
    while let Some(error) = errors.pop() {
        assert!(
            !errors.contains(&error),
            "two invalid programs have the same error: {error:?}"
        );
    }
}

#[test]
fn seccomp_program_that_forbids_execveat_by_arguments_returns_error() {
    let supervisor = supervisor();
    // The seccomp program allows everything except execveat with AT_EMPTY_PATH. Only the kernel can
    // detect this.
    let number = Arch::native().number("execveat").unwrap();
    let program = [
        instruction(0x20, 0, 0, 0),      // the number of the call
        instruction(0x15, 0, 3, number), // execveat?
        instruction(0x20, 0, 0, 48),     // the low half of the fifth argument, the flags
        instruction(0x15, 0, 1, 0x1000), // AT_EMPTY_PATH?
        return_action(0x0005_0000 | 95), // errno
        return_action(ALLOW),
    ]
    .concat();
    let world = World::minimal()
        .seccomp_descriptor(memfd(&program))
        .unwrap();
    let by_descriptor = result(&supervisor, &request(["exit", "0"]).world(&world));
    let Outcome::NotStarted(error) = &by_descriptor.outcome else {
        panic!("{by_descriptor}")
    };
    assert_eq!((error.step, error.errno), (millibox::Step::Exec, Some(95)));
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true").world(&world)).outcome,
        Outcome::Exited(0)
    );
}
