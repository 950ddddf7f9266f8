//! The experiments, one file each.

pub mod bin_true;
mod bindings;
mod compile;
mod compute;
mod conversation;
mod floor;
mod growth;
mod interception;
mod pair;
mod peers;
mod prepared;
mod reactive;
mod scalability;
mod service;
mod sharing;

use crate::{Error, Lab, Report};
use rustix::time::{ClockId, clock_gettime};
use std::io::{Read, Seek};
use std::time::Instant;

/// A question and the way to answer it.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// The name on the command line.
    pub name: &'static str,
    /// The title for readers.
    pub title: &'static str,
    /// A few sentences that state what the experiment does and which paper it repeats.
    pub about: &'static str,
    /// The function that fills the report. After an error, the report keeps the earlier results.
    pub run: fn(&Lab, &mut Report) -> Result<(), Error>,
}

/// All experiments, in the order in which `all` runs them.
pub const ALL: &[Experiment] = &[
    bin_true::EXPERIMENT,
    compile::EXPERIMENT,
    compute::EXPERIMENT,
    peers::EXPERIMENT,
    sharing::EXPERIMENT,
    prepared::EXPERIMENT,
    bindings::EXPERIMENT,
    floor::EXPERIMENT,
    growth::EXPERIMENT,
    reactive::EXPERIMENT,
    pair::EXPERIMENT,
    interception::EXPERIMENT,
    scalability::EXPERIMENT,
    service::EXPERIMENT,
];

/// The names that [`crate::Options::peers`] knows.
pub fn peers() -> impl Iterator<Item = &'static str> {
    peers::names().chain([scalability::HACKBENCH])
}

impl Experiment {
    /// The experiment of this name.
    pub fn find_executable(name: &str) -> Option<&'static Experiment> {
        ALL.iter().find(|experiment| experiment.name == name)
    }

    /// A report without results, which the experiment fills.
    pub fn empty_report(&self, lab: &Lab) -> Report {
        Report::new(self.name, self.title, self.about, lab)
    }

    /// Runs the experiment. If it fails, the report contains the results from before the error, and
    /// the error as a note.
    pub fn report(&self, lab: &Lab) -> (Report, Result<(), Error>) {
        let begin = Instant::now();
        let mut report = self.empty_report(lab);
        let done = (self.run)(lab, &mut report);
        if let Err(error) = &done {
            report.add_note(format!("The experiment ended early: {error}."));
        }
        (report.finish(begin.elapsed()), done)
    }
}

/// The CPU time of this process.
fn process_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanoseconds) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
    seconds * 1_000_000_000 + nanoseconds
}

/// The first line of a program's version message.
pub(crate) fn version(executable: &std::path::Path, arguments: &[&str]) -> String {
    let first_line = || {
        let mut said = tempfile::tempfile().ok()?;
        let mut command = std::process::Command::new(executable);
        command.args(arguments).stdin(std::process::Stdio::null());
        command
            .stdout(said.try_clone().ok()?)
            .stderr(said.try_clone().ok()?);
        crate::bare::success_with_timeout(&mut command).ok()?;
        let mut bytes = Vec::new();
        said.rewind()
            .and_then(|()| said.read_to_end(&mut bytes))
            .ok()?;
        let text = String::from_utf8_lossy(&bytes);
        text.lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(str::to_owned)
    };
    first_line().unwrap_or_else(|| "unknown".to_owned())
}
