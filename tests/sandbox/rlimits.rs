//! Resource limits, each proved by a program that reaches it.

use crate::supervisor;
use millibox::{Outcome, Request};
use millibox_tests::{client, may_raise_limits, needs_cgroups, request, result, run};

fn limited(name: &str, value: u64, command: &[&str]) -> Request {
    request(command.iter().copied()).rlimit(name, value)
}

#[test]
fn soft_and_hard_are_the_same() {
    let supervisor = supervisor();
    for (number, name) in [
        (0, "CPU"),
        (1, "FSIZE"),
        (3, "STACK"),
        (4, "CORE"),
        (7, "NOFILE"),
        (9, "AS"),
    ] {
        // No core at all is the most that a run may have.
        let value = match name {
            "AS" => 1 << 33,
            "NOFILE" => 64,
            "CORE" => 0,
            _ => 1 << 24,
        };
        let output = run(&supervisor, &limited(name, value, &["limits"]));
        // With 0 the kernel would ask a handler, where there is one (core(5)).
        let value = if name == "CORE" { 1 } else { value };
        assert_eq!(
            output.value(&number.to_string()),
            format!("{value} {value}"),
            "{name}"
        );
    }
}

#[test]
fn address_space() {
    let supervisor = supervisor();
    assert_eq!(
        run(&supervisor, &limited("AS", 64 << 20, &["map", "128"])).number("errno"),
        i64::from(libc::ENOMEM)
    );
    assert_eq!(
        run(&supervisor, &limited("AS", 256 << 20, &["map", "128"])).number("errno"),
        0
    );
}

#[test]
fn core() {
    let supervisor = supervisor();
    let directory = millibox_tests::directory();
    let world = millibox::World::minimal().read_write(directory.path(), "/data");
    let crash = |request: Request| {
        let result = result(&supervisor, &request.world(&world).current_dir("/data"));
        assert_eq!(result.outcome, Outcome::Signaled(11));
        std::fs::read_dir(directory.path()).unwrap().count()
    };
    assert_eq!(crash(limited("CORE", 0, &["signal", "11"])), 0);
    // And without a word about it: a crash must not fill the host's disk.
    assert_eq!(crash(request(["signal", "11"])), 0);
}

#[test]
fn cpu_seconds() {
    let supervisor = supervisor();
    let result = result(&supervisor, &limited("CPU", 1, &["spin-forever"]));
    // Soft = hard: the kernel sends SIGKILL.
    assert_eq!(result.outcome, Outcome::Signaled(9), "{result}");
    // Its clock for this counts whole ticks, whoever had the most of each.
    assert!(
        result.figures.cpu_user_ns + result.figures.cpu_system_ns >= 500_000_000,
        "{:?}",
        result.figures
    );
}

#[test]
fn file_size() {
    let supervisor = supervisor();
    let output = run(
        &supervisor,
        &limited("FSIZE", 10_000, &["file", "/tmp/file", "10000"]),
    );
    assert_eq!(output.number("written"), 10_000);
    let over = result(
        &supervisor,
        &limited("FSIZE", 10_000, &["file", "/tmp/file", "20000"]),
    );
    assert_eq!(over.outcome, Outcome::Signaled(libc::SIGXFSZ));
}

#[test]
fn open_files() {
    let supervisor = supervisor();
    let output = run(&supervisor, &limited("NOFILE", 20, &["descriptors", "100"]));
    assert_eq!(
        (output.number("opened"), output.number("errno")),
        (17, i64::from(libc::EMFILE))
    );
    // Without a word few, which a program cannot raise; and more for those who say so, as far as
    // the client may have them.
    let said = run(&supervisor, &request(["limits"]));
    assert_eq!(said.value("7"), "1024 1024");
    if rustix::process::getrlimit(rustix::process::Resource::Nofile)
        .maximum
        .is_none_or(|most| most >= 8192)
    {
        assert_eq!(
            run(&supervisor, &limited("NOFILE", 3000, &["limits"])).value("7"),
            "3000 3000"
        );
    }
}

#[test]
fn open_files_follow_memory_and_processes() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    // What the kernel keeps for them is charged to nobody, so memory and processes limit them, too.
    for (memory, processes, most) in [
        (64 << 20, 16, "240 240"),
        (64 << 20, 100, "64 64"),
        (1 << 30, 20, "1024 1024"),
    ] {
        let limited = request(["limits"])
            .memory_limit(memory)
            .process_limit(processes);
        assert_eq!(
            run(&supervisor, &limited).value("7"),
            most,
            "{memory} bytes, {processes} processes"
        );
    }
    let asked = limited("NOFILE", 500, &["limits"])
        .memory_limit(64 << 20)
        .process_limit(100);
    assert_eq!(run(&supervisor, &asked).value("7"), "500 500");
}

#[test]
fn signals_and_timers() {
    // Who may raise the bound for all runs together does. Otherwise each has its share: on two
    // slots there can be two pairs.
    let share = if may_raise_limits() {
        "4096 4096"
    } else {
        "100 100"
    };
    assert_eq!(client(["signals=400", "--", "limits"]).value("11"), share);
}

#[test]
fn stack() {
    let supervisor = supervisor();
    assert_eq!(
        run(&supervisor, &limited("STACK", 4 << 20, &["stack", "2"])).number("deep"),
        2048
    );
    assert_eq!(
        result(&supervisor, &limited("STACK", 1 << 20, &["stack", "2"])).outcome,
        Outcome::Signaled(11)
    );
    assert_eq!(
        run(&supervisor, &limited("STACK", 64 << 20, &["stack", "40"])).number("deep"),
        40960
    );
}

#[test]
fn by_any_spelling() {
    let supervisor = supervisor();
    for name in ["nofile", "RLIMIT_NOFILE", "Nofile"] {
        assert_eq!(
            run(&supervisor, &limited(name, 9, &["limits"])).value("7"),
            "9 9"
        );
    }
    // The last word counts.
    let twice = limited("NOFILE", 9, &["limits"]).rlimit("NOFILE", 11);
    assert_eq!(run(&supervisor, &twice).value("7"), "11 11");
}
