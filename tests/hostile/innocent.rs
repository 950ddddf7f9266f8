//! The innocent run after each hostile program: the same slot, runner and world must serve it as a
//! fresh supervisor does.
//!
//! The program (`innocent.c`, `innocent.py`) reports everything that an earlier run could have left
//! behind. For each world, the test runs it first on a supervisor that has never run a hostile
//! program. After each hostile program, outcome, report and figures must equal those of that run.

use crate::case::CaseError;
use crate::compile::{self, Form};
use crate::header::{Control, Profile};
use crate::machine::{BackendKey, Kind};
use crate::scene::Scene;
use millibox::{Outcome, Request, Start, Supervisor};
use millibox_tests::{Footprint, open, wait};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// The innocent program for templates of Python.
const PYTHON: &str = include_str!("innocent.py");
/// The standard streams that take turns to receive the report. The others are those that a run has
/// without streams of its own.
const REPORT_STREAMS: [usize; 2] = [1, 0];
/// The memory limit, which has room for a template of Python.
const MEMORY_LIMIT: u64 = 256 << 20;
/// The process limit.
const PROCESSES: u32 = 8;
/// The largest difference of two peaks of memory. The kernel charges memory in batches for each
/// CPU, and a template touches memory at different times.
const MEMORY_TOLERANCE: u64 = 4 << 20;
/// The largest CPU time of a run. It is long because the machine may be busy.
const MAX_CPU_TIME: Duration = Duration::from_secs(5);

/// The number of compared runs on one backend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The number of cases, each with one hostile program.
    pub cases: u64,
    /// The number of innocent runs after these cases.
    pub runs: u64,
    /// The number of innocent runs that differed from one on a fresh supervisor.
    pub differences: u64,
}

/// The references and the counts of all cases.
#[derive(Debug, Default)]
pub struct Innocents {
    fresh: Mutex<HashMap<Kind, Arc<Supervisor>>>,
    references: Mutex<HashMap<String, Arc<Reference>>>,
    tallies: Mutex<BTreeMap<BackendKey, Tally>>,
}

/// The runs on a fresh supervisor, one for each report stream.
type Reference = OnceLock<Result<Vec<Observed>, String>>;

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Observed {
    outcome: Outcome,
    is_copy: bool,
    report: String,
    peak_processes: Option<u32>,
    peak_memory_bytes: u64,
    cpu_time: Duration,
}

impl Innocents {
    /// Ends the fresh supervisors. Returns their footprints.
    pub fn finish(&self) -> Vec<Footprint> {
        let fresh = std::mem::take(&mut *self.fresh.lock().expect("no panic"));
        fresh.values().map(|one| Footprint::of(one)).collect()
    }

    /// The number of compared runs on each backend.
    pub fn tallies(&self) -> BTreeMap<BackendKey, Tally> {
        self.tallies.lock().expect("no panic").clone()
    }

    /// Returns the supervisor that has run only innocent programs.
    fn supervisor(&self, kind: Kind) -> Result<Arc<Supervisor>, String> {
        let mut fresh = self.fresh.lock().expect("no panic");
        if let Some(supervisor) = fresh.get(&kind) {
            return Ok(supervisor.clone());
        }
        let supervisor = kind.builder().start().map_err(|error| error.to_string())?;
        let supervisor = Arc::new(supervisor);
        fresh.insert(kind, supervisor.clone());
        Ok(supervisor)
    }

    fn count(&self, backend: BackendKey, differs: bool, is_first: bool) {
        let mut tallies = self.tallies.lock().expect("no panic");
        let tally = tallies.entry(backend).or_default();
        tally.cases += u64::from(is_first);
        tally.runs += 1;
        tally.differences += u64::from(differs);
    }
}

impl Scene<'_> {
    /// Runs the innocent program in the runner of the hostile program, and compares it with runs on
    /// a fresh supervisor.
    pub fn check_innocent_runs(
        &self,
        supervisor: &Supervisor,
        kind: Kind,
    ) -> Result<(), CaseError> {
        let innocents = &self.machine.innocents;
        let reference = {
            let mut references = innocents.references.lock().expect("no panic");
            references
                .entry(self.kind_of_world(kind))
                .or_default()
                .clone()
        };
        let reference = reference.get_or_init(|| self.observe_fresh(kind));
        let fresh = reference
            .as_ref()
            .map_err(|why| format!("the innocent run on a fresh supervisor: {why}"))?;
        // A slot has one runner, and runs one after the other use several slots in turn.
        let runs = fresh.iter().zip(REPORT_STREAMS).cycle();
        let count = if kind.slots == 1 { 2 } else { 4 * kind.slots };
        for (number, (expected, stream)) in runs.take(count).enumerate() {
            let observed = self.observe(supervisor, stream)?;
            let difference = expected.difference(&observed);
            innocents.count(kind.backend, difference.is_some(), number == 0);
            if let Some(difference) = difference {
                let why = format!("the innocent run afterwards differs: {difference}");
                return Err(why.into());
            }
        }

        Ok(())
    }

    /// Two worlds of the same kind differ only in the names of the host's directories.
    fn kind_of_world(&self, kind: Kind) -> String {
        let case = self.case;
        let header = &case.program.header;
        let has_filter = case.profile != Profile::None && case.without != Some(Control::Seccomp);
        format!(
            "{kind:?} {has_filter} {:?} {:?} {:?} {} {:?}",
            header.with,
            header.tmp_size,
            header.tmp_inodes,
            self.has_script(),
            self.template(),
        )
    }

    /// Runs the program on a fresh supervisor. Runs with the same streams must be equal.
    fn observe_fresh(&self, kind: Kind) -> Result<Vec<Observed>, String> {
        let supervisor = self.machine.innocents.supervisor(kind)?;
        let mut all = Vec::new();
        for stream in REPORT_STREAMS {
            let observe = || match self.observe(&supervisor, stream) {
                Ok(observed) => Ok(observed),
                Err(CaseError::Failed(why) | CaseError::Skipped(why)) => Err(why),
            };
            let (first, second) = (observe()?, observe()?);
            if first.outcome != Outcome::Exited(0) {
                return Err(format!("{:?}: {}", first.outcome, first.report));
            }
            if let Some(difference) = first.difference(&second) {
                return Err(format!("two runs differ: {difference}"));
            }
            all.push(first);
        }
        Ok(all)
    }

    /// Runs the program once. It writes its report to the stream.
    fn observe(&self, supervisor: &Supervisor, stream: usize) -> Result<Observed, CaseError> {
        let io = |error: std::io::Error| {
            CaseError::Failed(format!("cannot read the innocent run's report: {error}"))
        };
        let number = stream.to_string();
        let request = match self.template() {
            None => {
                let program = compile::innocent(Form::Executable, &self.machine.executables)?;
                Request::from_descriptor(open(&program)).args(["innocent", &number])
            }
            Some(Template::Launcher) => Request::new("/innocent").arg(&number),
            Some(Template::Python(interpreter)) => {
                Request::new(interpreter).args(["-c", PYTHON, &number])
            }
        };
        let mut file = tempfile::tempfile().map_err(io)?;
        let copy: OwnedFd = file.try_clone().map_err(io)?.into();
        let request = match stream {
            0 => request.stdin(copy),
            _ => request.stdout(copy),
        };
        let request = self
            .in_world(request, "run")?
            .memory_limit(MEMORY_LIMIT)
            .process_limit(PROCESSES)
            .real_time_limit(Duration::from_secs(60));
        let handle = supervisor
            .run(&request)
            .map_err(|error| format!("the innocent run does not start: {error}"))?;
        let result = wait(&handle);
        let mut report = String::new();
        file.rewind().map_err(io)?;
        file.read_to_string(&mut report).map_err(io)?;
        let figures = &result.figures;
        Ok(Observed {
            is_copy: matches!(result.start, Start::Prepared { .. }),
            report,
            peak_processes: figures.peak_processes,
            peak_memory_bytes: figures.peak_memory_bytes,
            cpu_time: Duration::from_nanos(figures.cpu_user_ns + figures.cpu_system_ns),
            outcome: result.outcome,
        })
    }
}

impl Observed {
    /// Describes the first difference.
    fn difference(&self, other: &Observed) -> Option<String> {
        if (&self.outcome, self.is_copy) != (&other.outcome, other.is_copy) {
            return Some(format!(
                "{:?}, copy: {}, not {:?}, copy: {}: {}",
                other.outcome, other.is_copy, self.outcome, self.is_copy, other.report
            ));
        }
        let (mut wanted, mut lines) = (self.report.lines(), other.report.lines());
        loop {
            match (wanted.next(), lines.next()) {
                (None, None) => break,
                (wanted, line) if wanted == line => {}
                (wanted, line) => return Some(format!("{line:?}, not {wanted:?}")),
            }
        }
        // The number is unknown if an earlier copy of the same template had more processes.
        if let (Some(wanted), Some(processes)) = (self.peak_processes, other.peak_processes)
            && wanted != processes
        {
            return Some(format!("{processes} processes, not {wanted}"));
        }
        if self.peak_memory_bytes.abs_diff(other.peak_memory_bytes) > MEMORY_TOLERANCE {
            return Some(format!(
                "{} bytes of memory, not {}",
                other.peak_memory_bytes, self.peak_memory_bytes
            ));
        }
        if other.cpu_time > MAX_CPU_TIME {
            return Some(format!("{:?} of CPU time", other.cpu_time));
        }
        None
    }
}

/// The program of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// `launcher.c`, for programs in C and shell scripts.
    Launcher,
    /// The interpreter at this path, prepared as by the judge and the service.
    Python(&'static str),
}
