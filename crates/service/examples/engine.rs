//! Runs `/bin/true` and a program with files through the engine, and prints what each costs.

use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use millibox_service::core::catalog::{Catalog, CompileLimits, SourceFile};
use millibox_service::core::engine::{Engine, Lane};
use millibox_service::core::execution::{Excess, OutputFile};
use millibox_service::core::program::{
    Keep, ProgramRun, ProgramSource, RunLimits, Runner, StopOn, Test, plain_file,
};
use millibox_service::core::queue::{Bounds, Queue, Ticket};
use std::time::{Duration, Instant};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::start(&millibox::Supervisor::builder(), 2, 16)?;
    let catalog = Catalog::load(&engine, Suites::builtin(), Cache::none());
    for runtime in catalog.runtimes() {
        println!(
            "{}: {:?} {}",
            runtime.name,
            runtime.version,
            runtime.version_number()
        );
    }
    let queue = Queue::new(Bounds {
        cpu_time: 2,
        real_time: 16,
        memory_bytes: 1 << 34,
        queued: 100,
        queued_bytes: 1 << 30,
    });
    let runner = Runner {
        engine,
        catalog: catalog.clone(),
        queue,
    };
    let keep = Keep {
        max_bytes: 1 << 20,
        excess: Excess::Discard,
        into_stdout: false,
    };
    let run = ProgramRun {
        ticket: Ticket {
            client: 0,
            lane: Lane::CpuTime,
            client_running: 0,
            client_queued: 0,
            flow: 0,
            memory_bytes: 0,
            size_bytes: 0,
            patience: Duration::from_secs(1),
        },
        lane: Lane::CpuTime,
        source: ProgramSource::Command(vec!["true".into()]),
        args: vec![],
        env: vec![],
        files: vec![],
        tests: vec![Test::default()],
        stop_on: StopOn::Never,
        limits: RunLimits {
            cpu_time: Duration::from_secs(1),
            real_time: Duration::from_secs(3),
            memory_bytes: 64 << 20,
            processes: 16,
            file_bytes: 1 << 20,
            work_bytes: 16 << 20,
            open_files: 256,
            stack_bytes: None,
        },
        outputs: vec![],
        stdout: keep,
        stderr: keep,
        observer: None,
    };
    println!("{:?}", runner.run(run.clone()).await?);
    let with_files = ProgramRun {
        source: ProgramSource::Command(vec![
            "sh".into(),
            "-c".into(),
            "cat a; ls -la; pwd; mkdir d; echo x > d/b".into(),
        ]),
        files: vec![plain_file("a", "hello\n"), plain_file("sub/b", "hello\n")],
        outputs: vec![
            OutputFile {
                path: "d/b".into(),
                max_bytes: 10,
                truncate: false,
            },
            OutputFile {
                path: "../etc/passwd".into(),
                max_bytes: 10,
                truncate: false,
            },
            OutputFile {
                path: "none".into(),
                max_bytes: 10,
                truncate: false,
            },
        ],
        ..run.clone()
    };
    println!("{:?}", runner.run(with_files).await?);
    let no_program = ProgramRun {
        source: ProgramSource::Command(vec!["nothing-here".into()]),
        files: vec![plain_file("a", "hello\n")],
        ..run.clone()
    };
    println!("{:?}", runner.run(no_program.clone()).await?);
    println!(
        "{:?}",
        runner
            .run(ProgramRun {
                files: vec![],
                ..no_program
            })
            .await?
    );
    let python = ProgramRun {
        source: ProgramSource::Sources {
            runtime: catalog.runtime("python3")?,
            files: vec![
                SourceFile { path: "main.py".into(), bytes: "import sys, helper\nprint(helper.f(int(input())))\nopen('out.txt','w').write('hi')".into() },
                SourceFile { path: "helper.py".into(), bytes: "def f(x): return x+1".into() },
            ],
            entry: Some("main.py".into()),
            limits: CompileLimits::default(),
        },
        tests: vec![
            Test { id: "1".into(), stdin: Some(millibox_service::core::execution::Content::Bytes("41".into())), expected: Some("42".into()), ..Test::default() },
            Test { id: "2".into(), stdin: None, ..Test::default() },
        ],
        stop_on: StopOn::Error,
        outputs: vec![OutputFile { path: "out.txt".into(), max_bytes: 10, truncate: false }],
        ..run.clone()
    };
    println!("{:#?}", runner.run(python).await?);
    for (name, run) in [
        ("true", run.clone()),
        (
            "true with a file",
            ProgramRun {
                files: vec![plain_file("a", "hello\n")],
                ..run.clone()
            },
        ),
    ] {
        let begin = Instant::now();
        for _ in 0..200 {
            runner.run(run.clone()).await?;
        }
        println!("{name}: {:?} a run", begin.elapsed() / 200);
    }
    Ok(())
}
