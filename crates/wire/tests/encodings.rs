//! Compares the encoding of each message with `golden/encodings.txt`.
//!
//! If this test fails, the protocol between library and supervisor has changed. Increase its
//! version, the last byte of `frame::PROTOCOL`, and rewrite the file with `MILLIBOX_GOLDEN=write`.
//! The encodings of steps and errors are in `crates/vocabulary/tests/golden/encodings.txt`.

use millibox_golden::assert_text;
use millibox_wire::frame::{Header, Kind};
use millibox_wire::*;

/// One line with a value and its encoding.
fn line<T: serde::Serialize + std::fmt::Debug>(value: &T) -> String {
    format!("{value:?} = {}\n", digits(&encode(value)))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A mount of each kind. A new kind without a mount does not compile.
fn mounts() -> Vec<Mount> {
    let _complete = |mount: &Mount| match mount {
        Mount::Tmpfs { .. } | Mount::Proc { .. } | Mount::Etc { .. } | Mount::Sys { .. } => (),
        Mount::Bind { .. } | Mount::Devices { .. } | Mount::Terminals { .. } => (),
        Mount::CreateDir { .. } | Mount::CreateFile { .. } | Mount::Symlink { .. } => (),
        Mount::NewRoot { .. } => (),
    };
    let at = || b"/a".to_vec();
    vec![
        Mount::Tmpfs {
            at: at(),
            size: Some(1 << 20),
            inodes: Some(100),
            mode: 0o1777,
            read_only: false,
            no_exec: true,
        },
        Mount::Proc {
            at: at(),
            processes_only: true,
            system: Some(SystemFiles { memory: Some(1) }),
        },
        Mount::Etc {
            at: at(),
            home: b"/tmp".to_vec(),
        },
        Mount::Sys { at: at() },
        Mount::Bind {
            source: b"/b".to_vec(),
            at: at(),
            read_only: true,
            recursive: false,
            no_exec: true,
            no_follow: false,
            device: true,
        },
        Mount::Devices { at: at() },
        Mount::Terminals { at: at() },
        Mount::CreateDir {
            path: at(),
            mode: 0o755,
        },
        Mount::CreateFile {
            path: at(),
            mode: 0o644,
        },
        Mount::Symlink {
            target: b"b".to_vec(),
            path: at(),
        },
        Mount::NewRoot { path: at() },
    ]
}

fn worlds() -> Vec<Located> {
    let prepare = Prepare {
        strings: b"python3\0".to_vec(),
        arguments: 1,
        environment: 2,
        real_time_ns: 3,
        cpu_time_ns: 4,
        memory: 5,
        runs: 6,
        age_ns: 7,
    };
    let world = World {
        mounts: mounts(),
        uid: Some(1000),
        gid: Some(1001),
        network: Network::Loopback,
        seccomp: Some(vec![6, 0]),
        prepare: Some(prepare),
    };
    let sources = vec![
        Source::None,
        Source::Is {
            device: 1,
            inode: 2,
        },
        Source::Unknown(3),
    ];
    vec![Located::default(), Located { world, sources }]
}

fn run() -> Run<'static> {
    Run {
        world: b"world",
        strings: b"/\0/bin/true\0",
        paths: 1,
        arguments: 2,
        environment: 3,
        descriptors: Descriptors {
            stdin: true,
            stdout: false,
            stderr: true,
            program: false,
            tracer: true,
        },
        limits: Limits {
            processes: Some(1),
            memory: Some(2),
            swap: Some(3),
            cpu_bandwidth: Some(Bandwidth {
                max_us: 4,
                period_us: 5,
            }),
            real_time_ns: Some(6),
            cpu_time_ns: None,
        },
        rlimits: vec![(7, 8)],
        cpus: vec![9],
        may_start_cold: true,
    }
}

fn results() -> Vec<RunResult> {
    let _complete = |outcome: &Outcome| match outcome {
        Outcome::Exited(_) | Outcome::Signaled(_) | Outcome::RealTimeLimit => (),
        Outcome::CpuTimeLimit | Outcome::MemoryLimit | Outcome::OutputLimit => (),
        Outcome::Cancelled | Outcome::Killed => (),
        Outcome::NotStarted(_) | Outcome::SandboxError(_) => (),
    };
    let outcomes = [
        Outcome::Exited(3),
        Outcome::Signaled(9),
        Outcome::RealTimeLimit,
        Outcome::CpuTimeLimit,
        Outcome::MemoryLimit,
        Outcome::OutputLimit,
        Outcome::Cancelled,
        Outcome::Killed,
        Outcome::NotStarted(RunError::new(Step::Exec)),
        Outcome::SandboxError(RunError::new(Step::Zygote)),
    ];
    let starts = [
        Start::Cold(Some(TemplateProblem::NotReady)),
        Start::Prepared {
            cpu_ns: 6,
            memory_bytes: 7,
        },
    ];
    let result = |(outcome, start): (&Outcome, &Start)| RunResult {
        outcome: outcome.clone(),
        exit_code: Some(3),
        signal: None,
        figures: Figures {
            real_time_ns: 1,
            cpu_user_ns: 2,
            cpu_system_ns: 3,
            peak_memory_bytes: 4,
            peak_processes: Some(5),
        },
        ended_ns: Some(6),
        backend: Backend::Hybrid,
        start: *start,
    };
    let starts = starts.iter().cycle();
    outcomes.iter().zip(starts).map(result).collect()
}

fn hello() -> Hello {
    let cause = BackendCause::new(BackendStep::BecomeRoot);
    Hello {
        pid: 1,
        backend: Backend::Cgroup2,
        slots: 2,
        credits: 3,
        uid: 4,
        gid: 5,
        cgroups: vec![b"/cg".to_vec()],
        declined: vec![BackendRefusal::new(Backend::Hybrid, vec![cause])],
        landlock: 6,
        file_locks: true,
    }
}

#[test]
fn encodings_match_the_golden_file() {
    let kinds = [
        Kind::Run,
        Kind::Pair,
        Kind::Kill,
        Kind::Cancel,
        Kind::Hello,
        Kind::Result,
        Kind::Failure,
    ];
    let headers = kinds.map(|kind| Header {
        kind,
        in_memfd: kind == Kind::Run,
        id: 0x0102,
    });
    let headers = headers.map(|header| format!("{header:?} = {}\n", digits(&header.encode())));
    let mut lines = headers.to_vec();
    lines.extend(worlds().iter().map(line));
    lines.push(line(&run()));
    lines
        .extend([KillReason::Caller, KillReason::OutputLimit].map(|reason| line(&Kill { reason })));
    lines.push(line(&hello()));
    lines.extend(results().iter().map(line));
    lines.push(line(&SupervisorError::new(SupervisorStep::Namespaces)));
    assert_text(env!("CARGO_MANIFEST_DIR"), "encodings.txt", &lines.concat());
}
