//! Measures how much parallel judging changes CPU times, by judging the same tests one at a time
//! and in parallel on all CPUs.
//!
//! ```text
//! cargo build --release --bin millibox-supervisor
//! cargo run --release -p millibox-judge --example fair_times
//! ```
//!
//! Rounds of both kinds alternate, so that the state of the machine affects both equally. Compare
//! the ratio, not the milliseconds. One program computes in registers, one in 128 KiB and one in 16
//! MiB of memory. The last program shows how CPUs that share a cache and a bus slow each other
//! down, with or without a judge.

use millibox::{Backend, BackendChoice, Supervisor};
use millibox_judge::judge::{Judge, Machine, Options};
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use std::error::Error;
use std::path::Path;

const TESTS: usize = 20;
const ROUNDS: usize = 5;
/// The programs, sorted by name as in the package.
const PROGRAMS: [(&str, &str); 3] = [
    (
        "cache.c",
        "static unsigned all[1 << 15];\n#define STEP sum += all[x >> 17]++\n#define TIMES \
         50000000\n",
    ),
    (
        "memory.c",
        "static unsigned all[1 << 22];\n#define STEP sum += all[x >> 10]++\n#define TIMES \
         20000000\n",
    ),
    (
        "registers.c",
        "#define STEP sum ^= x\n#define TIMES 100000000\n",
    ),
];
const MAIN: &str = r#"#include <stdio.h>
int main(void) {
    unsigned x = 1, sum = 0;
    for (long i = 0; i < TIMES; i++) { x = x * 1664525 + 1013904223; STEP; }
    printf("%u\n", sum);
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let package = tempfile::tempdir()?;
    write(package.path())?;
    let cpus = std::thread::available_parallelism()?.get();
    let backend = match Supervisor::builder().start()?.info().backend() {
        Backend::Rlimit => BackendChoice::Rlimit,
        _ => BackendChoice::Auto,
    };
    let mut times: [[Vec<u64>; PROGRAMS.len()]; 2] = Default::default();
    // The first round warms the caches.
    for round in 0..=ROUNDS {
        for (kind, jobs) in [1, cpus].into_iter().enumerate() {
            let machine = Machine::start(Supervisor::builder().backend(backend), Some(jobs), &[])?;
            let judge = Judge::new(
                &machine,
                Suites::builtin(),
                Cache::of_user()?,
                Options::default(),
            );
            let prepared = judge.problem(millibox_package::read(package.path())?, &mut |_| ())?;
            // One program at a time, so that only identical programs run in parallel.
            for (program, submission) in prepared.problem().submissions.iter().enumerate() {
                let report = judge.submission(&prepared, submission, &mut |_| ());
                let used: Vec<u64> = report
                    .tests
                    .iter()
                    .filter_map(|test| test.cpu_time_ns())
                    .collect();
                if used.len() != TESTS {
                    return Err(
                        format!("{}: {} ({})", report.name, report.words(), report.reason).into(),
                    );
                }
                if round > 0 {
                    times[kind][program].extend(used);
                }
            }
        }
    }
    println!(
        "{TESTS} tests, {ROUNDS} rounds, {cpus} CPUs, CPU time of a test, medians and quartiles"
    );
    for (program, (name, _)) in PROGRAMS.iter().enumerate() {
        let [alone, busy] = [0, 1].map(|kind| quartiles(&mut times[kind][program]));
        println!(
            "  {name:12} one at a time {:6.1} ms ({:.1} to {:.1})   \
             {cpus} at a time {:6.1} ms ({:.1} to {:.1})   ratio {:.3}",
            alone[1],
            alone[0],
            alone[2],
            busy[1],
            busy[0],
            busy[2],
            busy[1] / alone[1]
        );
    }
    Ok(())
}

fn quartiles(times: &mut [u64]) -> [f64; 3] {
    times.sort_unstable();
    [1, 2, 3].map(|quarter| times[times.len() * quarter / 4] as f64 / 1e6)
}

/// A package whose submissions are all accepted.
fn write(package: &Path) -> std::io::Result<()> {
    let put = |name: String, text: &str| -> std::io::Result<()> {
        let path = package.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(package))?;
        std::fs::write(path, text)
    };
    put(
        "problem.yaml".to_owned(),
        "name: Fair times\nvalidation: custom\nlimits: {time_limit: 20}\n",
    )?;
    put("output_validators/any.sh".to_owned(), "exit 42\n")?;
    for test in 0..TESTS {
        put(format!("data/secret/{test:02}.in"), "")?;
        put(format!("data/secret/{test:02}.ans"), "")?;
    }
    let submission = |(name, begin): &(&str, &str)| {
        put(
            format!("submissions/accepted/{name}"),
            &format!("{begin}{MAIN}"),
        )
    };
    PROGRAMS.iter().try_for_each(submission)
}
