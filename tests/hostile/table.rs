//! docs/hostile.md, from a run.

use crate::case::Held;
use crate::header::{Control, Ending, Profile, Program};
use crate::machine::BackendKey;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What came of each case that was run; `Err`: skipped, and why.
pub type Results = BTreeMap<Key, Result<Held, String>>;
/// A case: the program's full name, and how it was run.
pub type Key = (String, BackendKey, Profile);

/// The longest time of a neighbour beside each program, in microseconds.
pub type Neighbours = BTreeMap<(String, BackendKey), u64>;

/// A run of the tests, as a file can keep it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The machine, in words.
    machine: String,
    /// [`Results`]; keys of objects are strings in JSON.
    cases: Vec<(Key, Result<Held, String>)>,
    /// [`Neighbours`].
    #[serde(default)]
    neighbours: Vec<((String, BackendKey), u64)>,
}

impl Record {
    pub fn of_here(results: Results, neighbours: Neighbours) -> Record {
        let kernel = rustix::system::uname();
        let who = if millibox_tests::is_root() {
            "root"
        } else {
            "an unprivileged user"
        };
        Record {
            machine: format!(
                "Linux {}, started by {who}",
                kernel.release().to_string_lossy()
            ),
            cases: results.into_iter().collect(),
            neighbours: neighbours.into_iter().collect(),
        }
    }

    fn backends(&self) -> BTreeSet<BackendKey> {
        self.cases
            .iter()
            .map(|((_, backend, _), _)| *backend)
            .collect()
    }
}

const HEAD: &str = "\
# Hostile programs

Each of these programs tries one thing that it must not be able to do. They lie in
[tests/hostile/programs](../tests/hostile/programs), with what must happen written on top of each;
[tests/hostile/README.md](../tests/hostile/README.md) says how they are run. This page was written by a run of all, with
what came of another in an emulated machine ([tests/vm](../tests/vm/README.md)):

```sh
make test-vm ARGS=hostile
MILLIBOX_HOSTILE_WITH=target/vm/hostile.json MILLIBOX_HOSTILE_TABLE=docs/hostile.md cargo test -p millibox-tests --test hostile
```

";

const KEY: &str = "\
*contained*: the program itself found that it was refused. Limits are what the run ended with. After every run: its figures
keep their limits and are not below what the program has seen itself, no process of it is left, the host's files,
processes and names are as they were, the next runs on the same slot work; in the end no process and no cgroup of the
supervisors is left. *seen failing without*: what was taken out to see that the program then gets through; this is part of
each run, too.

*longest neighbour*: `/bin/true` ran over and over in the other slot of the same supervisor while the program ran in
one. All of these runs exited with 0. The time is the longest that one of them took, as its caller saw it, in milliseconds, for
each backend; it includes what else the machine did, as two tests run at the same time.
";

/// The table of all records, or what is missing for it.
pub fn table(programs: &[Program], records: &[Record]) -> Result<String, String> {
    let mut text = HEAD.to_owned();
    let (mut backends, mut results, mut neighbours) =
        (BTreeSet::new(), Results::new(), Neighbours::new());
    let names = |backends: &BTreeSet<BackendKey>| -> Vec<String> {
        backends
            .iter()
            .map(|backend| format!("`{}`", backend.name()))
            .collect()
    };
    let _ = writeln!(text, "{} programs.\n", programs.len());
    for record in records {
        let _ = writeln!(
            text,
            "* {}: {}.",
            names(&record.backends()).join(", "),
            record.machine
        );
        // What was tried here counts before what was tried elsewhere.
        let new = record
            .cases
            .iter()
            .filter(|((_, backend, _), _)| !backends.contains(backend));
        results.extend(new.cloned());
        neighbours.extend(
            record
                .neighbours
                .iter()
                .filter(|((_, backend), _)| !backends.contains(backend))
                .cloned(),
        );
        backends.extend(record.backends());
    }
    let _ = write!(text, "\n{KEY}");
    let names = names(&backends);
    for class in programs.chunk_by(|a, b| a.header.class == b.header.class) {
        let name = class.first().map_or("", |program| &program.header.class);
        let _ = writeln!(text, "\n## {name}\n");
        let _ = writeln!(
            text,
            "| program | tries | held by | {} | longest neighbour | seen failing without |",
            names.join(" | ")
        );
        let _ = writeln!(
            text,
            "| --- | --- | --- |{} --- | --- |",
            " --- |".repeat(backends.len())
        );
        for program in class {
            let header = &program.header;
            let cells = backends
                .iter()
                .map(|backend| cell(program, *backend, &results))
                .collect::<Result<Vec<String>, String>>()?;
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} | {} |",
                program.name,
                header.tries,
                header.held_by,
                cells.join(" | "),
                longest(program, &backends, &neighbours),
                header
                    .control
                    .as_ref()
                    .map_or(String::new(), Control::to_string),
            );
        }
        exceptions(class, &mut text);
    }
    repeats(programs, &mut text);
    Ok(text)
}

fn cell(program: &Program, backend: BackendKey, results: &Results) -> Result<String, String> {
    let mut parts: Vec<(Vec<&str>, String)> = Vec::new();
    for profile in &program.header.profiles {
        let shown = match results.get(&(program.full_name(), backend, *profile)) {
            None => return Err(format!("{} was not run, or failed", program.full_name())),
            Some(Err(_)) => "not tried".to_owned(),
            Some(Ok(Held {
                ending,
                exception,
                known_failure,
            })) => match (exception, known_failure) {
                (_, Some(_)) => format!("**not held**: {ending}"),
                (true, None) => format!("**exception**: {}", effect(ending)),
                (false, None) => ending.to_string(),
            },
        };
        match parts.iter_mut().find(|(_, other)| *other == shown) {
            Some((profiles, _)) => profiles.push(profile.name()),
            None => parts.push((vec![profile.name()], shown)),
        }
    }
    // What holds under all profiles needs no names; else those that differ from the first are
    // named.
    let mut texts = Vec::new();
    for (index, (profiles, shown)) in parts.iter().enumerate() {
        let alone = program.header.profiles == [Profile::None];
        texts.push(match (index, alone) {
            (0, false) => shown.clone(),
            (0, true) => format!("{shown} (no seccomp)"),
            _ if profiles.as_slice() == ["none"] => format!("no seccomp: {shown}"),
            _ => format!("{}: {shown}", profiles.join(", ")),
        });
    }
    Ok(texts.join("; "))
}

/// Milliseconds for each backend.
fn longest(program: &Program, backends: &BTreeSet<BackendKey>, neighbours: &Neighbours) -> String {
    let shown = |backend: &BackendKey| match neighbours.get(&(program.full_name(), *backend)) {
        Some(micros) => format!("{:.1}", *micros as f64 / 1000.0),
        None => "not tried".to_owned(),
    };
    backends.iter().map(shown).collect::<Vec<_>>().join(" / ")
}

fn effect(ending: &Ending) -> String {
    match ending {
        Ending::Escaped => "gets through".to_owned(),
        other => other.to_string(),
    }
}

fn exceptions(class: &[Program], text: &mut String) {
    let mut first = true;
    for program in class {
        for but in &program.header.but {
            let (word, why) = match (&but.exception, &but.known_failure) {
                (_, Some(why)) => ("**not held**", why),
                (Some(why), None) => ("exception", why),
                (None, None) => continue,
            };
            if first {
                text.push('\n');
                first = false;
            }
            let when: Vec<String> = but.when.iter().map(ToString::to_string).collect();
            let when = if when.is_empty() {
                "always".to_owned()
            } else {
                when.join(", ")
            };
            let _ = writeln!(text, "* `{}`, {word} ({when}): {why}", program.name);
        }
    }
}

fn repeats(programs: &[Program], text: &mut String) {
    let mut all: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for program in programs {
        for hole in &program.header.repeats {
            all.entry(hole)
                .or_default()
                .push(format!("`{}/{}`", program.header.class, program.name));
        }
    }
    text.push_str(
        "\n## Holes of others whose idea is repeated\n\n| hole | program |\n| --- | --- |\n",
    );
    for (hole, programs) in all {
        let _ = writeln!(text, "| {hole} | {} |", programs.join(", "));
    }
}
