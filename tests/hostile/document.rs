//! `docs/hostile.json`: every program with its results, combined from the records of one or more
//! machines. [`crate::page`] renders it as `docs/hostile.md`.

use crate::case::Held;
use crate::header::{Control, Ending, Program};
use crate::innocent::Tally;
use crate::machine::BackendKey;
use crate::record::{Neighbours, Record, Results};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The commands that write the document and the page.
pub const COMMANDS: [&str; 2] = [
    "make test-vm ARGS=hostile",
    "MILLIBOX_HOSTILE_WITH=target/vm/hostile.json MILLIBOX_HOSTILE_TABLE=docs/hostile.md \
     cargo test -p millibox-tests --test hostile",
];

/// The content of `docs/hostile.json`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub commands: Vec<String>,
    pub machines: Vec<MachineEntry>,
    /// The number of innocent runs on each backend; see [`crate::innocent`].
    #[serde(default)]
    pub innocents: BTreeMap<String, Tally>,
    pub programs: Vec<Entry>,
}

/// A machine and the backends whose results are from it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineEntry {
    pub machine: String,
    pub backends: Vec<String>,
}

/// One program. Backends and profiles are keys by name.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub class: String,
    pub name: String,
    pub attempts: String,
    pub held_by: String,
    /// The wall without which the program succeeds.
    pub control: Option<String>,
    /// Published vulnerabilities whose idea the program repeats.
    pub repeats: Vec<String>,
    pub exceptions: Vec<Exception>,
    pub results: BTreeMap<String, BTreeMap<String, CaseResult>>,
    /// The longest real time of a neighbour's run, in microseconds.
    pub neighbour_max_us: BTreeMap<String, u64>,
}

/// A documented condition under which the program is not held.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Exception {
    /// All conditions must hold; an empty list always holds.
    pub when: Vec<String>,
    pub reason: String,
    /// Whether the program should be held but is not.
    pub known_failure: bool,
}

/// The result of one case.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    pub status: Status,
    /// The ending of the run, or the reason why the case was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// How a program was held, from the strongest to the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The case was skipped.
    NotTried,
    /// The program found that every attempt was refused.
    Contained,
    /// A limit ended the run.
    Limit,
    /// The run ended in another expected way, for example by a signal.
    Ended,
    /// The program was not held, as documented.
    Exception,
    /// The program was not held, although it should be.
    NotHeld,
}

impl CaseResult {
    fn new(result: &Result<Held, String>) -> CaseResult {
        let held = match result {
            Ok(held) => held,
            Err(reason) => {
                return CaseResult {
                    status: Status::NotTried,
                    detail: Some(reason.clone()),
                };
            }
        };
        let status = match &held.ending {
            _ if held.known_failure.is_some() => Status::NotHeld,
            _ if held.exception => Status::Exception,
            Ending::Contained => Status::Contained,
            // The header expects this ending under all conditions and states the exception.
            Ending::Escaped => Status::Exception,
            Ending::RealTimeLimit
            | Ending::CpuTimeLimit
            | Ending::MemoryLimit
            | Ending::OutputLimit => Status::Limit,
            Ending::NotStarted | Ending::SandboxError | Ending::Exited(_) | Ending::Signaled(_) => {
                Status::Ended
            }
        };
        let detail = (status != Status::Contained).then(|| held.ending.to_string());
        CaseResult { status, detail }
    }
}

impl Entry {
    /// Describes the program, without results.
    fn new(program: &Program) -> Entry {
        let header = &program.header;
        let exceptions = header.except.iter().filter_map(|except| {
            let reason = except
                .known_failure
                .as_ref()
                .or(except.exception.as_ref())?;
            Some(Exception {
                when: except.when.iter().map(ToString::to_string).collect(),
                reason: reason.clone(),
                known_failure: except.known_failure.is_some(),
            })
        });
        Entry {
            class: header.class.clone(),
            name: program.name.clone(),
            attempts: header.attempts.clone(),
            held_by: header.held_by.clone(),
            control: header.control.as_ref().map(Control::to_string),
            repeats: header.repeats.clone(),
            exceptions: exceptions.collect(),
            results: BTreeMap::new(),
            neighbour_max_us: BTreeMap::new(),
        }
    }

    fn full_name(&self) -> String {
        format!("{}::{}", self.class, self.name)
    }

    /// The weakest status under all profiles on a backend.
    pub fn status(&self, backend: &str) -> Option<Status> {
        let results = self.results.get(backend)?;
        results.values().map(|result| result.status).max()
    }
}

impl Document {
    /// Combines records. If two records have results for a backend, the results of the first record
    /// count.
    ///
    /// Programs without a result are omitted. A program with results for only some of its backends
    /// and profiles is an error: one of its cases failed or was filtered out.
    pub fn new(programs: &[Program], records: Vec<Record>) -> Result<Document, String> {
        let mut backends: BTreeSet<BackendKey> = BTreeSet::new();
        let (mut results, mut neighbours) = (Results::new(), Neighbours::new());
        let mut machines = Vec::new();
        let mut innocents = BTreeMap::new();
        for record in records {
            let new: BTreeSet<BackendKey> = &record.backends() - &backends;
            machines.push(MachineEntry {
                machine: record.machine,
                backends: new.iter().map(|backend| backend.name()).collect(),
            });
            let cases = record.cases.into_iter();
            results.extend(cases.filter(|((_, backend, _), _)| new.contains(backend)));
            let tallies = record.innocents.into_iter();
            innocents.extend(
                tallies
                    .filter(|(backend, _)| new.contains(backend))
                    .map(|(backend, tally)| (backend.name(), tally)),
            );
            let times = record.neighbours.into_iter();
            neighbours.extend(times.filter(|((_, backend), _)| new.contains(backend)));
            backends.extend(new);
        }
        let mut entries = Vec::new();
        for program in programs {
            let name = program.full_name();
            if !results.keys().any(|(other, ..)| *other == name) {
                continue;
            }
            let mut entry = Entry::new(program);
            for backend in &backends {
                for profile in &program.header.profiles {
                    let key = (name.clone(), *backend, *profile);
                    let result = results.get(&key).ok_or_else(|| {
                        format!(
                            "{name}::{}::{} has no result",
                            backend.name(),
                            profile.name()
                        )
                    })?;
                    let of_backend = entry.results.entry(backend.name()).or_default();
                    of_backend.insert(profile.name().to_owned(), CaseResult::new(result));
                }
                if let Some(longest) = neighbours.get(&(name.clone(), *backend)) {
                    entry.neighbour_max_us.insert(backend.name(), *longest);
                }
            }
            entries.push(entry);
        }
        Ok(Document {
            commands: COMMANDS.map(str::to_owned).to_vec(),
            machines,
            innocents,
            programs: entries,
        })
    }

    pub fn read(path: &Path) -> Result<Document, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        serde_json::from_str(&text).map_err(|error| failed(&error))
    }

    /// Renders the document as JSON, with one program on each line.
    pub fn to_json(&self) -> Result<String, String> {
        let failed = |error: serde_json::Error| error.to_string();
        let commands = serde_json::to_string(&self.commands).map_err(failed)?;
        let machines = serde_json::to_string(&self.machines).map_err(failed)?;
        let innocents = serde_json::to_string(&self.innocents).map_err(failed)?;
        let programs = self
            .programs
            .iter()
            .map(|entry| serde_json::to_string(entry).map_err(failed))
            .collect::<Result<Vec<String>, String>>()?;
        Ok(format!(
            "{{\n\"commands\": {commands},\n\"machines\": {machines},\n\
             \"innocents\": {innocents},\n\"programs\": [\n{}\n]\n}}\n",
            programs.join(",\n")
        ))
    }

    /// Replaces the results of the programs in a record, which may be from a run of some programs.
    pub fn add(&mut self, programs: &[Program], record: Record) {
        for ((name, backend, profile), result) in &record.cases {
            let Some(program) = programs.iter().find(|one| one.full_name() == *name) else {
                continue;
            };
            let index = self
                .programs
                .iter()
                .position(|one| one.full_name() == *name);
            let index = index.unwrap_or_else(|| {
                self.programs.push(Entry::new(program));
                self.programs.len() - 1
            });
            let of_backend = self.programs[index]
                .results
                .entry(backend.name())
                .or_default();
            of_backend.insert(profile.name().to_owned(), CaseResult::new(result));
        }
        for ((name, backend), longest) in record.neighbours {
            if let Some(entry) = self.programs.iter_mut().find(|one| one.full_name() == name) {
                entry.neighbour_max_us.insert(backend.name(), longest);
            }
        }
        for (backend, tally) in record.innocents {
            self.innocents.insert(backend.name(), tally);
        }
        self.programs.sort_by_key(Entry::full_name);
    }

    /// Replaces the descriptions with those of the programs' headers and keeps the results. Drops
    /// entries whose program no longer exists. A program without a result on a backend counts as
    /// not tried there.
    pub fn refresh(&mut self, programs: &[Program]) {
        let old = std::mem::take(&mut self.programs);
        self.commands = COMMANDS.map(str::to_owned).to_vec();
        for entry in old {
            let name = entry.full_name();
            if let Some(program) = programs.iter().find(|program| program.full_name() == name) {
                let mut results = entry.results;
                for backend in self.machines.iter().flat_map(|machine| &machine.backends) {
                    let of_backend = results.entry(backend.clone()).or_default();
                    for profile in &program.header.profiles {
                        let why = "the program is newer than the last run on this backend";
                        of_backend
                            .entry(profile.name().to_owned())
                            .or_insert_with(|| CaseResult::new(&Err(why.to_owned())));
                    }
                }
                self.programs.push(Entry {
                    results,
                    neighbour_max_us: entry.neighbour_max_us,
                    ..Entry::new(program)
                });
            }
        }
    }

    /// Reports programs that are only in the document or only in `programs`, and descriptions that
    /// differ.
    pub fn differences(&self, programs: &[Program]) -> Vec<String> {
        let mut described: BTreeMap<String, &Entry> = self
            .programs
            .iter()
            .map(|entry| (entry.full_name(), entry))
            .collect();
        let mut differences = Vec::new();
        for program in programs {
            let name = program.full_name();
            match described.remove(&name) {
                None => differences.push(format!("{name} is missing")),
                Some(entry) => {
                    let header = &program.header;
                    if (&entry.attempts, &entry.held_by) != (&header.attempts, &header.held_by) {
                        differences.push(format!("{name} has another description"));
                    }
                }
            }
        }
        differences.extend(
            described
                .keys()
                .map(|name| format!("{name} does not exist")),
        );
        differences
    }
}
