//! Resource limits. For each of them, a program reaches the limit.

use crate::supervisor;
use millibox::{Outcome, Request};
use millibox_tests::{client, has_cgroups_or_skips, may_raise_limits, request, result, run};

fn limited(name: &str, value: u64, command: &[&str]) -> Request {
    request(command.iter().copied()).rlimit(name, value)
}

#[test]
fn soft_and_hard_limits_are_equal() {
    let supervisor = supervisor();
    for (number, name) in [
        (0, "CPU"),
        (1, "FSIZE"),
        (3, "STACK"),
        (4, "CORE"),
        (7, "NOFILE"),
        (9, "AS"),
    ] {
        // A run cannot have core files at all.
        let value = match name {
            "AS" => 1 << 33,
            "NOFILE" => 64,
            "CORE" => 0,
            _ => 1 << 24,
        };
        let output = run(&supervisor, &limited(name, value, &["limits"]));
        // With 0, the kernel would still start a core dump handler, if one is configured (core(5)).
        let value = if name == "CORE" { 1 } else { value };
        assert_eq!(
            output.value(&number.to_string()),
            format!("{value} {value}"),
            "{name}"
        );
    }
}

#[test]
fn address_space_limit_fails_mapping() {
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
fn core_files_are_never_written() {
    let supervisor = supervisor();
    let directory = millibox_tests::directory();
    let world = millibox::World::minimal().read_write(directory.path(), "/data");
    let crash = |request: Request| {
        let result = result(&supervisor, &request.world(&world).current_dir("/data"));
        assert_eq!(result.outcome, Outcome::Signaled(11));
        std::fs::read_dir(directory.path()).unwrap().count()
    };
    assert_eq!(crash(limited("CORE", 0, &["signal", "11"])), 0);
    // The same applies without the option, because a crash must not fill the host's disk.
    assert_eq!(crash(request(["signal", "11"])), 0);
}

#[test]
fn cpu_limit_sends_sigkill() {
    let supervisor = supervisor();
    let result = result(&supervisor, &limited("CPU", 1, &["spin-forever"]));
    // Soft and hard limit are equal, so the kernel sends SIGKILL.
    assert_eq!(result.outcome, Outcome::Signaled(9), "{result}");
    // The clock of this limit counts whole ticks, even if another process used most of a tick.
    assert!(
        result.figures.cpu_user_ns + result.figures.cpu_system_ns >= 500_000_000,
        "{:?}",
        result.figures
    );
}

#[test]
fn file_size_limit_sends_sigxfsz() {
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
fn open_files_limit_returns_emfile() {
    let supervisor = supervisor();
    let output = run(&supervisor, &limited("NOFILE", 20, &["descriptors", "100"]));
    assert_eq!(
        (output.number("opened"), output.number("errno")),
        (17, i64::from(libc::EMFILE))
    );
    // The default is low, and a program cannot raise it. A request can set a higher limit, up to
    // the client's.
    let output = run(&supervisor, &request(["limits"]));
    assert_eq!(output.value("7"), "1024 1024");
    if rustix::process::getrlimit(rustix::process::Resource::Nofile)
        .maximum
        .is_none_or(|maximum| maximum >= 8192)
    {
        assert_eq!(
            run(&supervisor, &limited("NOFILE", 3000, &["limits"])).value("7"),
            "3000 3000"
        );
    }
}

#[test]
fn open_files_limit_depends_on_memory_and_processes() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    // Some of the memory of open files is charged to no cgroup. The limit therefore depends on the
    // memory limit and the process limit.
    for (memory, processes, maximum) in [
        (64 << 20, 16, "240 240"),
        (64 << 20, 100, "64 64"),
        (1 << 30, 20, "1024 1024"),
    ] {
        let limited = request(["limits"])
            .memory_limit(memory)
            .process_limit(processes);
        assert_eq!(
            run(&supervisor, &limited).value("7"),
            maximum,
            "{memory} bytes, {processes} processes"
        );
    }
    let limited_files = limited("NOFILE", 500, &["limits"])
        .memory_limit(64 << 20)
        .process_limit(100);
    assert_eq!(run(&supervisor, &limited_files).value("7"), "500 500");
}

#[test]
fn pending_signals_limit_is_shared_among_runs() {
    // If the client may raise the limit, it raises it for all runs together. Otherwise, each run
    // has a share of the limit. Two slots may have two pairs.
    let expected = if may_raise_limits() {
        "4096 4096"
    } else {
        "100 100"
    };
    assert_eq!(
        client(["signals=400", "--", "limits"]).value("11"),
        expected
    );
}

#[test]
fn stack_limit_sends_sigsegv() {
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
fn limit_names_are_accepted_in_any_spelling() {
    let supervisor = supervisor();
    for name in ["nofile", "RLIMIT_NOFILE", "Nofile"] {
        assert_eq!(
            run(&supervisor, &limited(name, 9, &["limits"])).value("7"),
            "9 9"
        );
    }
    // The last value applies.
    let twice = limited("NOFILE", 9, &["limits"]).rlimit("NOFILE", 11);
    assert_eq!(run(&supervisor, &twice).value("7"), "11 11");
}
