//! What an experiment found.

use crate::statistics::{Interval, Welch, welch};
use crate::{Error, Experiment, Lab, Machine, Scale, Table};
use serde::Serialize;
use std::time::{Duration, SystemTime};

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// The whole interval is on the right side.
    Yes,
    /// The whole interval is on the wrong side.
    No,
    /// The bound lies within the interval: more runs, or a quieter machine, would tell.
    Unclear,
}

/// Something that was wanted, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// In words: "compilation in the sandbox, real time".
    pub what: String,
    /// The ratio is to be at most this.
    pub at_most: f64,
    /// The ratio that was found.
    pub found: Interval,
    /// Whether it is.
    pub holds: Holds,
}

/// A test of whether two variants differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Test {
    /// The table's id.
    pub table: String,
    /// The metric.
    pub metric: String,
    /// The two variants; the difference is that of the second to the first.
    pub variants: [String; 2],
    /// What the test says.
    pub welch: Welch,
}

/// What an experiment found, where, when and how.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Its name on the command line.
    pub experiment: String,
    /// For a person.
    pub title: String,
    /// What it does and which paper it repeats.
    pub about: String,
    /// Figures.
    pub tables: Vec<Table>,
    /// What was wanted.
    pub claims: Vec<Claim>,
    /// Tests of whether variants differ.
    pub tests: Vec<Test>,
    /// Versions of the programs that took part, by name.
    pub versions: Vec<(String, String)>,
    /// What a reader must know besides.
    pub notes: Vec<String>,
    /// Where.
    pub machine: Machine,
    /// How runs were held and measured.
    pub backend: String,
    /// The version of millibox.
    pub millibox: String,
    /// How it was started.
    pub command: String,
    /// How much was measured.
    pub scale: Scale,
    /// Of the order of variants and of bootstraps.
    pub seed: u64,
    /// When it was begun, RFC 3339.
    pub started: String,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl Report {
    /// An empty one, to be filled by the experiment.
    pub fn new(experiment: &Experiment, lab: &Lab) -> Report {
        let mut report = Report {
            experiment: experiment.name.to_owned(),
            title: experiment.title.to_owned(),
            about: experiment.about.to_owned(),
            tables: Vec::new(),
            claims: Vec::new(),
            tests: Vec::new(),
            versions: Vec::new(),
            notes: Vec::new(),
            machine: lab.machine().clone(),
            backend: lab.backend().to_string(),
            millibox: env!("CARGO_PKG_VERSION").to_owned(),
            command: lab.options().command.clone(),
            scale: lab.scale(),
            seed: lab.seed(),
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            seconds: 0.0,
        };
        if !lab.holds_trees() {
            let why = "There are no cgroups here: no limits on memory, processes and CPU time were set in the sandbox.";
            report.notes.push(why.to_owned());
        }
        report
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Adds a note.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Claims that the ratio of a variant to the first one is at most `at_most`. Nothing is claimed of a variant that
    /// is missing.
    pub fn claim(&mut self, what: impl Into<String>, table: &Table, variant: &str, metric: &str, at_most: f64) {
        if let Some(found) = table.ratio(variant, metric) {
            self.claim_of(what, found, at_most);
        }
    }

    /// The same of a ratio that comes from elsewhere.
    pub fn claim_of(&mut self, what: impl Into<String>, found: Interval, at_most: f64) {
        let holds = match () {
            () if found.high <= at_most => Holds::Yes,
            () if found.low > at_most => Holds::No,
            () => Holds::Unclear,
        };
        self.claims.push(Claim { what: what.into(), at_most, found, holds });
    }

    /// Adds Welch's t-test of two variants in one metric, if both are there: is the second any different from the first?
    ///
    /// # Errors
    /// The table keeps no samples, or too few to test.
    pub fn test(&mut self, table: &Table, metric: &str, variants: [&str; 2]) -> Result<(), Error> {
        let [Some(a), Some(b)] = variants.map(|variant| table.figures(variant, metric)) else { return Ok(()) };
        let welch = welch(&b.samples, &a.samples)
            .ok_or_else(|| Error::says(format!("{}: {metric} of {variants:?} cannot be tested", table.id)))?;
        let [a, b] = variants.map(str::to_owned);
        self.tests.push(Test { table: table.id.clone(), metric: metric.to_owned(), variants: [a, b], welch });
        Ok(())
    }

    /// It is over.
    pub(crate) fn finish(mut self, took: Duration) -> Report {
        self.seconds = took.as_secs_f64();
        self
    }
}
