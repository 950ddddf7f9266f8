//! The result of an experiment.

use crate::statistics::{Interval, Welch, welch};
use crate::{Error, Lab, Machine, Scale, Table, Unit};
use serde::Serialize;
use std::time::{Duration, SystemTime};

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    /// The whole interval is at or below the bound.
    Yes,
    /// The whole interval is above the bound.
    No,
    /// The bound lies within the interval. More runs or a quieter machine could give a clear
    /// result.
    Unclear,
}

/// A target and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// The name of the target, for example "compilation in the sandbox, real time".
    pub what: String,
    /// The unit of a difference; `None` for a ratio.
    pub unit: Option<Unit>,
    /// The upper bound of the ratio or of the difference.
    pub at_most: f64,
    /// The measured ratio or difference.
    pub found: Interval,
    /// Whether the ratio or the difference is within the bound.
    pub holds: ClaimStatus,
}

/// A t-test of the difference of two variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WelchTest {
    /// The id of the table.
    pub table: String,
    /// The metric.
    pub metric: String,
    /// The two variants; the difference is the second minus the first.
    pub variants: [String; 2],
    /// The result of the test.
    pub welch: Welch,
}

/// The result of an experiment, with the machine, the time and the options.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The experiment's name on the command line.
    pub experiment: String,
    /// The title for readers.
    pub title: String,
    /// A description of what the experiment does and which paper it repeats.
    pub about: String,
    /// The tables.
    pub tables: Vec<Table>,
    /// The targets.
    pub claims: Vec<Claim>,
    /// T-tests of differences between variants.
    pub tests: Vec<WelchTest>,
    /// The versions of the measured programs, by name.
    pub versions: Vec<(String, String)>,
    /// Remarks that a reader needs.
    pub notes: Vec<String>,
    /// The machine.
    pub machine: Machine,
    /// The backend that limited and measured runs.
    pub backend: String,
    /// The version of millibox.
    pub millibox: String,
    /// The command line.
    pub command: String,
    /// The amount of measurement.
    pub scale: Scale,
    /// The seed for the order of variants and for bootstraps.
    pub seed: u64,
    /// The start time in the format of RFC 3339.
    pub started: String,
    /// The duration in seconds.
    pub seconds: f64,
}

impl Report {
    /// Creates a report without results; see [`crate::Experiment::empty_report`].
    pub(crate) fn new(experiment: &str, title: &str, about: &str, lab: &Lab) -> Report {
        let mut report = Report {
            experiment: experiment.to_owned(),
            title: title.to_owned(),
            about: about.to_owned(),
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
        if !lab.limits_process_trees() {
            let why = "Cgroups could not be used, so the sandbox set no limits on memory, \
                processes and CPU time.";
            report.notes.push(why.to_owned());
        }
        report
    }

    /// Adds a table.
    pub fn add_table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Adds a note.
    pub fn add_note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Claims that the ratio of a variant to the first variant is at most `at_most`. Does nothing
    /// if the variant is missing.
    pub fn add_claim(
        &mut self,
        what: impl Into<String>,
        table: &Table,
        variant: &str,
        metric: &str,
        at_most: f64,
    ) {
        if let Some(found) = table.ratio(variant, metric) {
            self.add_ratio_claim(what, found, at_most);
        }
    }

    /// Like [`Report::add_claim`], but for a ratio that is not in a table.
    pub fn add_ratio_claim(&mut self, what: impl Into<String>, found: Interval, at_most: f64) {
        self.claim(what.into(), None, found, at_most);
    }

    /// Claims that a difference is at most `at_most`. Both are in this unit.
    pub fn add_difference_claim(
        &mut self,
        what: impl Into<String>,
        found: Interval,
        at_most: f64,
        unit: Unit,
    ) {
        self.claim(what.into(), Some(unit), found, at_most);
    }

    fn claim(&mut self, what: String, unit: Option<Unit>, found: Interval, at_most: f64) {
        let holds = match () {
            () if found.high <= at_most => ClaimStatus::Yes,
            () if found.low > at_most => ClaimStatus::No,
            () => ClaimStatus::Unclear,
        };
        self.claims.push(Claim {
            what,
            unit,
            at_most,
            found,
            holds,
        });
    }

    /// Adds Welch's t-test of two variants for one metric, if both were measured.
    ///
    /// # Errors
    /// The table contains no samples, or too few for a test.
    pub fn add_test(
        &mut self,
        table: &Table,
        metric: &str,
        variants: [&str; 2],
    ) -> Result<(), Error> {
        let [Some(a), Some(b)] = variants.map(|variant| table.figures(variant, metric)) else {
            return Ok(());
        };
        let welch = welch(&b.samples, &a.samples).ok_or_else(|| {
            Error::other(format!(
                "{}: {metric} of {variants:?} cannot be tested",
                table.id
            ))
        })?;
        let [a, b] = variants.map(str::to_owned);
        self.tests.push(WelchTest {
            table: table.id.clone(),
            metric: metric.to_owned(),
            variants: [a, b],
            welch,
        });
        Ok(())
    }

    /// Finishes the report by adding its duration.
    pub(crate) fn finish(mut self, took: Duration) -> Report {
        self.seconds = took.as_secs_f64();
        self
    }
}
