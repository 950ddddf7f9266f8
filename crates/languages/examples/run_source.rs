//! Compiles and runs a C program from standard input, and prints its output: `cargo run -p
//! millibox-languages --example run_source < main.c` (after `make build`).

use millibox::Supervisor;
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Options, Toolbox};
use millibox_languages::files::SourceFile;
use millibox_languages::program::Limits;
use millibox_languages::suite::Suites;
use std::error::Error;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut source = Vec::new();
    std::io::stdin().read_to_end(&mut source)?;

    let supervisor = Supervisor::start()?;
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), Cache::none());
    let suite = toolbox.suites().named("c")?;
    let availability = toolbox.availability(suite);
    eprintln!("{}: {availability}", suite.title);
    if let Some(package) = availability.missing_package() {
        eprintln!("install {package}");
    }

    let files = vec![SourceFile::new("main.c", source)];
    let compilation = toolbox.compile_files(suite, files, &Options::default());
    eprint!("{}", compilation.messages);
    if let Some(figures) = compilation.figures {
        let milliseconds = figures.real_time_ns / 1_000_000;
        eprintln!("compiled in {milliseconds} ms");
    }
    let program = compilation.result?;

    let limits = Limits::for_cpu_time(Duration::from_secs(2));
    let output = supervisor.output(&program.request(&limits, &[]), limits.output)?;
    std::io::stdout().write_all(&output.stdout)?;
    std::io::stderr().write_all(&output.stderr)?;
    eprintln!("{}", output.result);
    Ok(())
}
