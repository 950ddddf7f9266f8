//! A problem on which submissions can be judged.

use crate::checker::CheckerInstance;
use crate::grader::Grader;
use crate::scoring::Plan;
use crate::validator::OutputValidator;
use millibox_languages::program::Limits;
use millibox_languages::staging::StagedDirectory;
use millibox_package::Fault;
use millibox_package::model::Problem;
use std::sync::Arc;

/// A problem on which submissions can be judged: its programs are compiled, the sandbox can read
/// its data, and its limits are known.
///
/// Any number of submissions can be judged on it, by any number of threads.
#[derive(Debug)]
pub struct PreparedProblem {
    pub(super) problem: Problem,
    pub(super) plan: Plan,
    pub(super) referee: Referee,
    /// The package's own grader, or `None` if no group needs it.
    pub(super) grader: Option<Grader>,
    /// The limits of each test, in the order of judging.
    pub(super) limits: Vec<Limits>,
    /// The files that each test provides, in the order of judging.
    pub(super) files: Vec<Option<StagedDirectory>>,
    pub(super) time_limit: TimeLimit,
    pub(super) warnings: Vec<Fault>,
}

/// The program that judges a test's output.
#[derive(Debug)]
pub(super) enum Referee {
    Checker(CheckerInstance),
    Interactor(Arc<OutputValidator>),
}

/// The source of a problem's time limits.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeLimit {
    /// The caller's options.
    Option,
    /// The package.
    Package,
    /// A measurement. The text describes it.
    Measured(String),
}

impl PreparedProblem {
    /// The problem, with the tests that are judged.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The rules that determine verdict and points from the tests.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The limits of each test, in the order of [`Problem::tests`].
    pub fn limits(&self) -> &[Limits] {
        &self.limits
    }

    /// The source of the time limits.
    pub fn time_limit(&self) -> &TimeLimit {
        &self.time_limit
    }

    /// Warnings for the package's author, from reading the package and from preparing it.
    pub fn warnings(&self) -> impl Iterator<Item = &Fault> {
        self.problem.warnings.iter().chain(&self.warnings)
    }
}
