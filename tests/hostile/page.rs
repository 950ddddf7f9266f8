//! `docs/hostile.md`: a summary of [`Document`] by class.

use crate::document::{Document, Entry, Status};
use std::collections::BTreeSet;
use std::fmt::Write;

const COLUMNS: usize = 100;

const RESULTS: &str = "\
Each cell shows how many programs had that result:

* *contained*: the program itself found that every attempt was refused.
* *at a limit*: the sandbox ended the run at a limit, as expected.
* *ended*: the run ended differently, as expected: for example by a signal.
* *exception*: the program succeeds, or uses more than its limit, for a documented reason.
* *not held*: the program succeeds, but should not.
* *not tried*: the machine lacks something that the program needs, or the program is newer than the
  last run on this backend.

A program that runs under several seccomp profiles counts once, with its weakest result. The last
column is the longest real time that one run of `/bin/true` took in another slot of the same
supervisor while the programs of the class ran, in milliseconds as its caller measured it. All of
these runs exited with 0. Two tests run at the same time, so the time includes other load.
";

/// Renders the page.
pub fn page(document: &Document) -> String {
    let backends: BTreeSet<&String> = document
        .programs
        .iter()
        .flat_map(|entry| entry.results.keys())
        .collect();
    let mut text = String::from("# Hostile programs\n\n");
    paragraph(
        &mut text,
        &format!(
            "Each of {} small programs tries one thing that a sandboxed program must not be able \
             to do. The sources are in [tests/hostile/programs](../tests/hostile/programs), with \
             the expected result at the top of each. \
             [tests/hostile/README.md](../tests/hostile/README.md) describes how they run and what \
             is checked after each run. [hostile.json](hostile.json) lists every program: what it \
             attempts, what holds it, its result on each backend under each seccomp profile, its \
             exceptions, and the wall without which it succeeds.",
            document.programs.len()
        ),
    );
    text.push_str("\n## Results\n\n");
    for machine in &document.machines {
        let names: Vec<String> = machine.backends.iter().map(|name| code(name)).collect();
        let _ = writeln!(text, "* {}: {}", names.join(", "), machine.machine);
    }
    text.push('\n');
    table(&mut text, document, &backends);
    let _ = write!(text, "\n{RESULTS}");
    innocents(&mut text, document, &backends);
    exceptions(&mut text, document, &backends);
    repeats(&mut text, document);
    text.push_str("\n## Repeat the run\n\n```sh\n");
    for command in &document.commands {
        let _ = writeln!(text, "{command}");
    }
    text.push_str("```\n\n");
    paragraph(
        &mut text,
        "The first command runs the programs with version 2 cgroups in an emulated machine \
         ([tests/vm](../tests/vm/README.md)). The second runs them on this machine and writes this \
         page and the JSON file from both results.",
    );
    text
}

fn table(text: &mut String, document: &Document, backends: &BTreeSet<&String>) {
    let names: Vec<String> = backends.iter().map(|name| code(name)).collect();
    let _ = writeln!(
        text,
        "| class | programs | {} | neighbour, {} (ms) |",
        names.join(" | "),
        names.join(" / ")
    );
    let _ = writeln!(
        text,
        "| --- | ---: |{} ---: |",
        " --- |".repeat(backends.len())
    );
    for class in document.programs.chunk_by(|a, b| a.class == b.class) {
        let name = class.first().map_or("", |entry| &entry.class);
        row(text, name, class, backends);
    }
    row(text, "all", &document.programs, backends);
}

fn innocents(text: &mut String, document: &Document, backends: &BTreeSet<&String>) {
    text.push('\n');
    paragraph(
        text,
        "After each hostile program, an innocent program runs in the same runner and the same \
         world, or as a copy of the same template. Its outcome, its report and its figures must \
         equal those on a supervisor that has run no hostile program. The report contains what a \
         run could leave behind: open files and locks, signals, timers, \
         limits, scheduling, process attributes, keys, IPC objects, sockets, files and the state \
         of the interpreter.",
    );
    text.push_str("\n| backend | hostile runs | innocent runs | differences |\n");
    text.push_str("| --- | ---: | ---: | ---: |\n");
    for backend in backends {
        let cells = document.innocents.get(*backend).map_or_else(
            || "not counted | not counted | not counted".to_owned(),
            |tally| format!("{} | {} | {}", tally.cases, tally.runs, tally.differences),
        );
        let _ = writeln!(text, "| {} | {cells} |", code(backend));
    }
}

fn row(text: &mut String, name: &str, entries: &[Entry], backends: &BTreeSet<&String>) {
    let count = entries.len();
    let cells: Vec<String> = backends
        .iter()
        .map(|backend| counts(entries, backend))
        .collect();
    let times: Vec<Option<String>> = backends
        .iter()
        .map(|backend| longest(entries, backend))
        .collect();
    let times = if times.iter().all(Option::is_none) {
        "not measured".to_owned()
    } else {
        let shown = times
            .into_iter()
            .map(|time| time.unwrap_or_else(|| "not measured".to_owned()));
        shown.collect::<Vec<_>>().join(" / ")
    };
    let _ = writeln!(
        text,
        "| {name} | {count} | {} | {} |",
        cells.join(" | "),
        times
    );
}

/// The number of programs with each status: `40 contained, 2 at a limit`.
fn counts(entries: &[Entry], backend: &str) -> String {
    let all = [
        (Status::Contained, "contained"),
        (Status::Limit, "at a limit"),
        (Status::Ended, "ended"),
        (Status::Exception, "exception"),
        (Status::NotHeld, "**not held**"),
        (Status::NotTried, "not tried"),
    ];
    let counts: Vec<String> = all
        .iter()
        .filter_map(|(status, name)| {
            let has_status = |entry: &&Entry| entry.status(backend) == Some(*status);
            match entries.iter().filter(has_status).count() {
                0 => None,
                count @ 2.. if *status == Status::Exception => Some(format!("{count} {name}s")),
                count => Some(format!("{count} {name}")),
            }
        })
        .collect();
    counts.join(", ")
}

/// The longest time of a neighbour, in milliseconds.
fn longest(entries: &[Entry], backend: &str) -> Option<String> {
    let times = entries
        .iter()
        .filter_map(|entry| entry.neighbour_max_us.get(backend));
    let micros = times.max()?;
    Some(format!("{:.1}", *micros as f64 / 1000.0))
}

fn exceptions(text: &mut String, document: &Document, backends: &BTreeSet<&String>) {
    let everywhere: Vec<String> = document
        .programs
        .iter()
        .filter(|entry| {
            let mut statuses = backends.iter().map(|backend| entry.status(backend));
            statuses.all(|status| status == Some(Status::Exception))
        })
        .map(|entry| code(&format!("{}/{}", entry.class, entry.name)))
        .collect();
    text.push('\n');
    let mut words =
        "The JSON file states the condition and the reason of each exception.".to_owned();
    if !everywhere.is_empty() {
        let list = everywhere.join(", ");
        let _ = write!(words, " On every backend, there are exceptions for {list}.");
    }
    paragraph(text, &words);
}

fn repeats(text: &mut String, document: &Document) {
    let holes: BTreeSet<&str> = document
        .programs
        .iter()
        .flat_map(|entry| &entry.repeats)
        .map(String::as_str)
        .collect();
    if !holes.is_empty() {
        let list: Vec<&str> = holes.into_iter().collect();
        text.push('\n');
        paragraph(
            text,
            &format!(
                "Some programs repeat the idea of a published vulnerability: {}.",
                list.join(", ")
            ),
        );
    }
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

/// Wraps words to lines of at most [`COLUMNS`] columns.
fn paragraph(text: &mut String, words: &str) {
    let mut line = String::new();
    for word in words.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > COLUMNS {
            let _ = writeln!(text, "{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}
