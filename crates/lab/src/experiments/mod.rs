//! The experiments, one file each.

mod compute;

use crate::{Error, Lab, Report};
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
pub const ALL: &[Experiment] = &[compute::EXPERIMENT];

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
