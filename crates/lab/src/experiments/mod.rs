//! The experiments, one file each.

pub mod bin_true;
mod compile;
mod compute;
mod conversation;
mod floor;
mod growth;
mod interception;
mod pair;
mod peers;
mod reactive;
mod scalability;
mod sharing;

use crate::{Error, Lab, Report};
use std::io::{Read, Seek};
use std::time::Instant;

/// A question, and how to answer it.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// For a person.
    pub title: &'static str,
    /// What it does and which paper it repeats, in a few sentences.
    pub about: &'static str,
    /// Fills the report; everything that is found before an error stays in it.
    pub run: fn(&Lab, &mut Report) -> Result<(), Error>,
}

/// All of them, in the order in which `all` runs them.
pub const ALL: &[Experiment] = &[
    bin_true::EXPERIMENT,
    compile::EXPERIMENT,
    compute::EXPERIMENT,
    peers::EXPERIMENT,
    sharing::EXPERIMENT,
    floor::EXPERIMENT,
    growth::EXPERIMENT,
    reactive::EXPERIMENT,
    pair::EXPERIMENT,
    interception::EXPERIMENT,
    scalability::EXPERIMENT,
];

/// Names of executables that [`crate::Options::peers`] can say the places of.
pub fn peers() -> impl Iterator<Item = &'static str> {
    peers::names().chain([scalability::HACKBENCH])
}

impl Experiment {
    /// The one of this name.
    pub fn find(name: &str) -> Option<&'static Experiment> {
        ALL.iter().find(|experiment| experiment.name == name)
    }

    /// Makes the experiment. If it fails, the report has what was found until then, and the error as a note.
    pub fn report(&self, lab: &Lab) -> (Report, Result<(), Error>) {
        let begin = Instant::now();
        let mut report = Report::new(self, lab);
        let done = (self.run)(lab, &mut report);
        if let Err(error) = &done {
            report.note(format!("It ended early: {error}."));
        }
        (report.finish(begin.elapsed()), done)
    }
}

/// The first line of what a program says of its version.
pub(crate) fn version(executable: &std::path::Path, arguments: &[&str]) -> String {
    let first_line = || {
        let mut said = tempfile::tempfile().ok()?;
        let mut command = std::process::Command::new(executable);
        command.args(arguments).stdin(std::process::Stdio::null());
        command.stdout(said.try_clone().ok()?).stderr(said.try_clone().ok()?);
        crate::bare::success_in_time(&mut command).ok()?;
        let mut bytes = Vec::new();
        said.rewind().and_then(|()| said.read_to_end(&mut bytes)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    };
    first_line().unwrap_or_else(|| "it does not say".to_owned())
}
