//! Prints a Markdown table of the languages on this machine: versions, start-up time, memory and
//! names in other services. `docs/reference/languages.md` contains the table.
//!
//! ```sh
//! cargo build --bins
//! cargo run -p millibox-languages --example measure_languages
//! ```
//!
//! The arguments are names of languages. If any are given, only these languages are measured.
//!
//! The measured program is the example of the suite, with the input `1 2`. Times and memory are
//! medians of seven runs. The minimum limit is the smallest power of two with which the example
//! works, not counting the allowance for the run-time system.

use millibox::{Figures, Outcome, Supervisor};
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Availability, Options, Toolbox};
use millibox_languages::files::SourceFile;
use millibox_languages::program::{Executable, Limits};
use millibox_languages::suite::{Suite, Suites};
use std::fmt::Display;
use std::time::Duration;

const RUNS: usize = 7;
const INPUT: &[u8] = b"1 2\n";
const OUTPUT: &[u8] = b"3";
/// The largest memory limit that is tried, in MiB.
const MOST_MIB: u64 = 512;

/// Figures of the example.
struct Measured {
    cpu_ns: u64,
    real_ns: u64,
    memory: u64,
    processes: Option<u32>,
    least_mib: u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let supervisor = Supervisor::start()?;
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), Cache::none());
    println!(
        "| language | name | version | Debian packages | CPU, ms | real, ms | memory, MiB | \
         processes | allowance, MiB | least limit, MiB | linking | Judge0 | Piston | \
         SandboxFusion |"
    );
    println!("|{}", " --- |".repeat(14));
    let names: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted =
        |suite: &&Suite| suite.default && (names.is_empty() || names.contains(&suite.language));
    let mut suites: Vec<&Suite> = toolbox.suites().iter().filter(is_wanted).collect();
    suites.sort_by_key(|suite| suite.title.to_lowercase());
    for suite in suites {
        let Availability::Available { version } = toolbox.availability(suite) else {
            continue;
        };
        eprintln!("{}", suite.title);
        let measured = measure(&supervisor, &toolbox, suite)
            .map_err(|error| format!("{}: {error}", suite.name))?;
        let figures = format!(
            "{:.1} | {:.1} | {:.1} | {} | {} | {}",
            measured.cpu_ns as f64 / 1e6,
            measured.real_ns as f64 / 1e6,
            measured.memory as f64 / f64::from(1 << 20),
            measured
                .processes
                .map_or("–".to_owned(), |processes| processes.to_string()),
            suite.run.memory >> 20,
            measured.least_mib
        );
        let linking = toolbox.linking(suite)?;
        let all = || toolbox.suites().iter();
        let variants = || all().filter(|other| other.language == suite.language);
        let series = number(&version);
        let series = series.rsplit_once('.').map_or(series, |(series, _)| series);
        let piston = suite.services.piston.iter();
        let piston = piston.flat_map(|piston| std::iter::once(&piston.name).chain(&piston.aliases));
        println!(
            "| {} | `{}` | {} | {} | {figures} | {} | {} | {} | {} |",
            suite.title,
            suite.name,
            number(&version),
            packages(suite),
            linking.map_or("–".to_owned(), |linking| linking.link.to_string()),
            list(variants().flat_map(|suite| &suite.services.judge0)),
            list(piston.map(|name| name.replace("{version}", series))),
            list(variants().flat_map(|suite| &suite.services.sandbox_fusion)),
        );
    }
    Ok(())
}

fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    let all: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match all.is_empty() {
        true => "–".to_owned(),
        false => all.join(", "),
    }
}

/// The first number with dots in a version line.
fn number(version: &str) -> &str {
    let in_number = |c: char| c.is_ascii_digit() || c == '.';
    let from = version
        .find(|c: char| c.is_ascii_digit())
        .unwrap_or(version.len());
    let rest = &version[from..];
    let length = rest.find(|c: char| !in_number(c)).unwrap_or(rest.len());
    match rest[..length].trim_end_matches('.') {
        "" => "–",
        number => number,
    }
}

fn packages(suite: &Suite) -> String {
    let mut packages: Vec<&str> = Vec::new();
    for tool in &suite.tools {
        for package in tool.package.split(' ') {
            if !packages.contains(&package) {
                packages.push(package);
            }
        }
    }
    packages.join(" ")
}

fn measure(
    supervisor: &Supervisor,
    toolbox: &Toolbox<'_>,
    suite: &Suite,
) -> Result<Measured, Box<dyn std::error::Error>> {
    let example = SourceFile::new(&suite.example.file, suite.example.source.as_str());
    let compilation = toolbox.compile_files(suite, vec![example], &Options::default());
    let program = compilation.result?;
    let mut all = Vec::new();
    for _ in 0..RUNS {
        let Some(figures) = run(supervisor, &program, MOST_MIB)? else {
            return Err("the example does not work".into());
        };
        all.push(figures);
    }
    let median = |figure: fn(&Figures) -> u64| {
        let mut values: Vec<u64> = all.iter().map(figure).collect();
        values.sort_unstable();
        values[RUNS / 2]
    };
    let mut least_mib = 1;
    while least_mib < MOST_MIB && run(supervisor, &program, least_mib)?.is_none() {
        least_mib *= 2;
    }
    Ok(Measured {
        cpu_ns: median(|figures| figures.cpu_user_ns + figures.cpu_system_ns),
        real_ns: median(|figures| figures.real_time_ns),
        memory: median(|figures| figures.peak_memory_bytes),
        processes: all
            .iter()
            .filter_map(|figures| figures.peak_processes)
            .max(),
        least_mib,
    })
}

/// Runs the example with a memory limit. Returns `None` if it did not write the sum.
fn run(
    supervisor: &Supervisor,
    program: &Executable,
    mib: u64,
) -> Result<Option<Figures>, millibox::Error> {
    let mut limits = Limits::for_cpu_time(Duration::from_secs(10));
    limits.memory = mib << 20;
    let request = program.request(&limits, &[]).input(INPUT);
    let output = supervisor.output(&request, limits.output)?;
    let works = output.result.outcome == Outcome::Exited(0) && output.stdout.trim_ascii() == OUTPUT;
    Ok(works.then_some(output.result.figures))
}
