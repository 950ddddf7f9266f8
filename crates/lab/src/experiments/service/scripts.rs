//! New scripts over HTTP: each script is sent once, through each interface of the service, and
//! compared with Python without a sandbox.
//!
//! Every script of an evaluation is new, so neither a compiled program nor the result of a syntax
//! check can be used again.

use super::server::Server;
use super::{WALL_TIME, connections_text, plan};
use crate::load::{Batch, Turn};
use crate::{Comparison, Error, Lab, Metric, Report, Unit, Variant, bare};
use serde_json::json;
use std::cell::RefCell;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PYTHON: &str = "/usr/bin/python3";
const BARE: &str = "python3 without a sandbox";
const OWN: &str = "/v1/runs";
/// The number of requests in flight.
const CONNECTIONS: usize = 8;
/// A third of the time without a sandbox means three times as many scripts.
const BARE_BOUND: f64 = 1.0 / 3.0;
/// The interfaces may differ by this factor.
const SPREAD_BOUND: f64 = 1.3;
/// What each script prints at its end. The sources of the scripts do not contain it.
const END: &str = "the end";

/// The name of an interface, the path of a request, and its body for a script.
type Interface = (&'static str, &'static str, fn(&str) -> serde_json::Value);

const INTERFACES: [Interface; 5] = [
    (
        OWN,
        "/v1/runs",
        |code| json!({"runtime": "python3", "files": {"main.py": {"text": code}}}),
    ),
    (
        "SandboxFusion, /run_code",
        "/run_code",
        |code| json!({"language": "python", "code": code}),
    ),
    (
        "Judge0, wait=true",
        "/submissions?wait=true",
        |code| json!({"language_id": 71, "source_code": code}),
    ),
    (
        "Piston, /execute",
        "/api/v2/execute",
        |code| json!({"language": "python", "version": "*", "files": [{"content": code}]}),
    ),
    ("go-judge, /run", "/run", |code| {
        json!({"cmd": [{
            "args": [PYTHON, "main.py"],
            "env": ["PATH=/usr/bin:/bin"],
            "files": [
                {"content": ""},
                {"name": "stdout", "max": 10240},
                {"name": "stderr", "max": 10240},
            ],
            "cpuLimit": 10_000_000_000_u64,
            "clockLimit": 30_000_000_000_u64,
            "memoryLimit": 256 << 20,
            "procLimit": 16,
            "copyIn": {"main.py": {"content": code}},
        }]})
    }),
];

/// Adds the table of all interfaces, if the system has Python.
pub(super) fn measure(lab: &Lab, server: &Server, report: &mut Report) -> Result<(), Error> {
    if !Path::new(PYTHON).exists() {
        report.add_note(format!(
            "{PYTHON} does not exist, so new scripts were not measured."
        ));
        return Ok(());
    }
    let version = super::super::version(Path::new(PYTHON), &["-V"]);
    report.versions.push(("python3".to_owned(), version));
    let count = lab.scale().pick(8, 100, 1000);
    let scripts = RefCell::new(Scripts::new(lab.seed()));
    let bare = || {
        let sources = scripts.borrow_mut().take(count);
        let begin = Instant::now();
        run_bare(lab, &sources)?;
        Ok(vec![nanoseconds_each(begin.elapsed(), count)])
    };
    let title = format!(
        "new Python scripts of ten lines, {}",
        connections_text(CONNECTIONS)
    );
    let mut comparison = Comparison::new("scripts", title)
        .metric(Metric::new(WALL_TIME, Unit::Nanoseconds))
        .plan(plan(lab))
        .variant(Variant::new(BARE, bare).about("one process for each CPU at a time"));
    for (name, path, body) in INTERFACES {
        let scripts = &scripts;
        let address = server.address;
        let send = move || {
            let sources = scripts.borrow_mut().take(count);
            let bodies = sources.iter().map(|code| body(code).to_string());
            let turn: Turn = Batch::new(address, path, bodies, END).send(CONNECTIONS)?;
            Ok(vec![turn.wall_ns()])
        };
        comparison = comparison.variant(Variant::new(name, send));
    }
    let table = comparison.measure(lab)?;
    for (name, ..) in INTERFACES {
        let what = format!("new scripts, {name}");
        report.add_claim(what, &table, name, WALL_TIME, BARE_BOUND);
    }
    let medians = INTERFACES.iter().filter_map(|(name, ..)| {
        let figures = table.figures(name, WALL_TIME)?;
        Some((figures.median, *name))
    });
    let medians: Vec<(f64, &str)> = medians.collect();
    let by_time = |a: &&(f64, &str), b: &&(f64, &str)| a.0.total_cmp(&b.0);
    let fastest = medians.iter().min_by(by_time);
    let slowest = medians.iter().max_by(by_time);
    if let (Some((least, fastest)), Some((most, slowest))) = (fastest, slowest) {
        report.add_note(format!(
            "New scripts take {:.2} times as long through {slowest} as through {fastest}; the \
             target is at most {SPREAD_BOUND}.",
            most / least
        ));
    }
    report.add_table(table);
    Ok(())
}

fn nanoseconds_each(time: Duration, count: usize) -> f64 {
    time.as_nanos() as f64 / count as f64
}

/// Runs each script once in a new interpreter, on all CPUs.
fn run_bare(lab: &Lab, sources: &[String]) -> Result<(), Error> {
    let directory = lab.directory().join("scripts");
    std::fs::create_dir_all(&directory).map_err(Error::system("make a directory of scripts"))?;
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(index) else {
                return Ok(());
            };
            let path = directory.join(format!("{index}.py"));
            std::fs::write(&path, source).map_err(Error::system("write a script"))?;
            bare::success(
                Command::new(PYTHON)
                    .arg(&path)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null()),
            )?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..lab.cpus()).map(|_| scope.spawn(work)).collect();
        let mut ended = threads.into_iter().map(|thread| thread.join());
        ended.try_for_each(|result| {
            result.unwrap_or_else(|_| Err(Error::other("a thread panicked")))
        })
    })
}

/// Generates scripts of ten lines. No two scripts are equal.
struct Scripts {
    random: fastrand::Rng,
    number: usize,
}

/// Two lines of a script: an import of an ordinary module, and a line that uses it and `numbers`.
const PARTS: [(&str, &str); 16] = [
    ("import math", "print(math.gcd(*numbers))"),
    ("import json", "print(json.dumps({'numbers': numbers}))"),
    ("import re", "print(re.sub('[0-4]', 'x', str(numbers)))"),
    ("import heapq", "print(heapq.nsmallest(3, numbers))"),
    (
        "import bisect",
        "print(bisect.bisect(sorted(numbers), 500))",
    ),
    ("import random", "print(random.Random(numbers[0]).random())"),
    (
        "import string",
        "print(string.ascii_letters[numbers[1] % 52])",
    ),
    ("import statistics", "print(statistics.median(numbers))"),
    (
        "import textwrap",
        "print(textwrap.shorten(str(numbers), 20))",
    ),
    (
        "import datetime",
        "print(datetime.timedelta(days=numbers[2]))",
    ),
    (
        "import fractions",
        "print(fractions.Fraction(numbers[0], 1 + numbers[1]))",
    ),
    (
        "import decimal",
        "print(decimal.Decimal(numbers[3]).sqrt())",
    ),
    (
        "import collections",
        "print(collections.Counter(n % 7 for n in numbers))",
    ),
    (
        "import itertools",
        "print(list(itertools.accumulate(numbers)))",
    ),
    (
        "import functools",
        "print(functools.reduce(lambda a, b: a ^ b, numbers))",
    ),
    (
        "import hashlib",
        "print(hashlib.sha256(bytes(n % 256 for n in numbers)).hexdigest())",
    ),
];

impl Scripts {
    fn new(seed: u64) -> Scripts {
        Scripts {
            random: fastrand::Rng::with_seed(seed),
            number: 0,
        }
    }

    fn take(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.next_script()).collect()
    }

    fn next_script(&mut self) -> String {
        self.number += 1;
        let numbers: Vec<u32> = (0..8).map(|_| self.random.u32(0..1000)).collect();
        let first = self.random.usize(..PARTS.len());
        let second = (first + self.random.usize(1..PARTS.len())) % PARTS.len();
        let [(one, use_one), (two, use_two)] = [PARTS[first], PARTS[second]];
        format!(
            "# Script {}.\n{one}\n{two}\n\nnumbers = {numbers:?}\n{use_one}\n{use_two}\n\
             for number in sorted(numbers):\n    print(number, number % 3, end=' ')\n\
             print('the', 'end')\n",
            self.number
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn scripts_have_ten_lines_and_depend_on_the_seed_alone() {
        let scripts = |seed| Scripts::new(seed).take(100);
        let found = scripts(1);
        assert!(found.iter().all(|script| script.lines().count() == 10));
        assert!(found.iter().all(|script| !script.contains(END)));
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 100);
        assert_eq!(found, scripts(1));
        assert_ne!(found, scripts(2));
    }
}
