//! The program that the tests run inside the sandbox: one small executable with many commands.
//!
//! `probe COMMAND ARGUMENT...` prints its findings to standard output as lines `key=value`. A test
//! reads them with `millibox_tests::Output::value`.
//!
//! The probe has no Rust `fn main`. Rust's runtime would ignore SIGPIPE, install signal handlers
//! and open /dev/null at free standard descriptors, but the tests check what the sandbox left
//! there. For the same reason, the probe uses plain system calls wherever possible.
//!
//! | module | commands |
//! | --- | --- |
//! | `control` | exit, wait, use the standard streams |
//! | `memory` | allocate memory of several kinds |
//! | `time` | use CPU time, read clocks |
//! | `processes` | create processes, attack pid1 |
//! | `environment` | print the state that the process inherited |
//! | `files` | read, write and list files |
//! | `namespaces` | make any system call, try to change mounts, cgroups and keyrings |
//! | `network` | use sockets and IPC objects |
//! | `attributes` | print and change everything that a process can inherit |
//! | `descriptors` | use up descriptors and the stack |
//!
//! `probe template` announces that it is ready, and runs the commands of its copies.
//!
//! The modules share the helpers in `sys`.

#![allow(unsafe_code, reason = "the probe makes plain system calls")]
#![no_main]

mod attributes;
mod control;
mod descriptors;
mod environment;
mod files;
mod memory;
mod namespaces;
mod network;
mod processes;
mod sys;
mod time;

use std::ffi::OsString;
use sys::{Arguments, exit, print_line};

/// The modules with commands. Each function returns whether its module has the command.
const MODULES: [fn(&str, &Arguments) -> bool; 10] = [
    control::run,
    memory::run,
    time::run,
    processes::run,
    environment::run,
    files::run,
    namespaces::run,
    network::run,
    descriptors::run,
    attributes::run,
];

/// The entry point for the C library.
#[unsafe(no_mangle)]
pub extern "C" fn main(_argc: i32, _argv: *const *const u8) -> i32 {
    let mut all: Vec<OsString> = std::env::args_os().collect();
    if all.get(1).is_some_and(|command| command == "template") {
        let Some(arguments) = attributes::become_template() else {
            return 43;
        };
        all = arguments.into_iter().map(OsString::from).collect();
    }
    let arguments = Arguments(all.iter().skip(2).cloned().collect());
    let Some(command) = all.get(1).map(|command| command.to_string_lossy()) else {
        return 42;
    };
    if !MODULES.iter().any(|run| run(&command, &arguments)) {
        print_line(format!("unknown command {command}"));
        exit(99);
    }
    0
}
