//! The model of a report, which all renderers read.

use super::names::expected_name;
use crate::scoring::SkipCause;
use crate::verdict::Verdict;
use millibox::{Backend, Figures};
use millibox_languages::program;
use millibox_package::Fault;
use millibox_package::model::{self, Expected, Objective, Problem, Scoring};
use serde::{Serialize, Serializer};
use std::time::{Duration, SystemTime};

/// The version of the JSON format, [`JudgeReport::version`]. It increases when a name is removed or
/// changes its meaning, but not when names are added.
pub const VERSION: u32 = 1;

/// The results of a problem's submissions.
///
/// Times are in nanoseconds, memory is in bytes, points are numbers. An unknown or absent value is
/// `null`. No name is ever omitted.
#[derive(Debug, Clone, Serialize)]
pub struct JudgeReport {
    /// [`VERSION`].
    pub version: u32,
    /// The problem.
    pub problem: ProblemReport,
    /// The machine that judged.
    pub machine: Machine,
    /// The limits of most tests, without the suites' own needs. If two limits are equally frequent,
    /// the first of them is given. [`TestReport::limits`] has the limits of each test.
    pub limits: LimitsReport,
    /// Warnings for the package's author, from reading the package and from preparing it.
    pub warnings: Vec<WarningReport>,
    /// When judging began: the clock time at the end of judging minus the duration. In JSON it is
    /// an RFC 3339 timestamp in UTC.
    #[serde(serialize_with = "rfc3339")]
    pub started: SystemTime,
    /// The duration, measured by the monotonic clock.
    pub duration_ns: u64,
    /// The submissions in the order of judging.
    pub submissions: Vec<SubmissionReport>,
}

/// The problem.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ProblemReport {
    /// The title.
    pub name: String,
    /// The short name.
    pub label: String,
    /// The format: `legacy`, `sim`, or the version of the ICPC format, such as `2023-07` or
    /// `2025-09`.
    pub format: String,
    /// Whether the problem has points.
    pub scoring: bool,
    /// Which points are better: `max` or `min`. `null` if the problem has no points.
    pub objective: Option<&'static str>,
    /// The maximum number of points. `null` if the problem has no points or no maximum.
    pub max_score: Option<f64>,
}

/// The machine that judged.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// The kernel's release (uname(2)).
    pub kernel: String,
    /// The CPUs' model name, if the kernel reports one.
    pub cpu_model: Option<String>,
    /// Number of CPUs that the judge may use.
    pub cpus: usize,
    /// The backend that limits and measures runs. With `rlimit`, memory figures are those of single
    /// processes.
    pub backend: Backend,
}

/// A warning of the package.
#[derive(Debug, Clone, Serialize)]
pub struct WarningReport {
    /// The file or directory: the package's path as the caller gave it, and the path below it.
    pub file: String,
    /// The line, counted from 1.
    pub line: Option<u32>,
    /// The column in characters, counted from 1.
    pub column: Option<u32>,
    /// The fault and its remedy.
    pub message: String,
}

/// Limits of a run.
#[derive(Debug, Clone, Copy, Serialize)]
#[non_exhaustive]
pub struct LimitsReport {
    /// CPU time of all processes together.
    pub cpu_time_ns: u64,
    /// Real time.
    pub real_time_ns: u64,
    /// Memory of all processes together.
    pub memory_bytes: u64,
    /// Maximum length of standard output.
    pub output_bytes: u64,
    /// Maximum number of processes and threads.
    pub processes: u32,
}

/// The result of one submission.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SubmissionReport {
    /// The name.
    pub name: String,
    /// Name of the suite that compiled and ran the submission. `null` if no suite fits.
    pub suite: Option<String>,
    /// The compilation. `null` if nothing was compiled.
    pub compilation: Option<CompilationReport>,
    /// Names of the expected results (`accepted`, `partially_accepted`, ..., `rejected`). An empty
    /// list allows any result.
    #[serde(serialize_with = "expected")]
    pub expected: Vec<Expected>,
    /// Lists of such names. For each list, some test must have a verdict from it. Requirements that
    /// follow from `expected` are not listed here.
    #[serde(serialize_with = "required")]
    pub required: Vec<Vec<Expected>>,
    /// The expected minimum and maximum number of points.
    pub expected_score: Option<(f64, f64)>,
    /// The verdict. `null` if the submission was not judged.
    pub verdict: Option<Verdict>,
    /// Why the submission was not judged. `no_language` means that it was skipped, `unfinished`
    /// that judging was interrupted.
    pub not_judged: Option<SkipCause>,
    /// The reason for a verdict other than accepted, or for a missing verdict, in a few words.
    pub reason: String,
    /// Name of the test that decided the verdict, if one did.
    pub decided_by: Option<String>,
    /// Whether verdict and points are as expected. `null` if nothing is expected, or after a judge
    /// error or an interruption.
    pub as_expected: Option<bool>,
    /// The points. `null` if the problem has no points, after a judge error and after an
    /// interruption. If fewer points are better, only an accepted submission has points.
    pub score: Option<f64>,
    /// The problem's maximum number of points. `null` if it has no points or no maximum.
    pub max_score: Option<f64>,
    /// The best number of points: the maximum, or the minimum if `objective` is `min`. `null` if
    /// the problem has no points or no such bound.
    pub best_score: Option<f64>,
    /// All groups of tests, each before the groups in it. The first has an empty name and contains
    /// all tests.
    pub groups: Vec<GroupReport>,
    /// All tests in the order of judging.
    pub tests: Vec<TestReport>,
}

/// The compilation of a submission.
#[derive(Debug, Clone, Serialize)]
pub struct CompilationReport {
    /// The compiler's messages, truncated if they are long.
    pub messages: String,
    /// Whether the program came from the cache.
    pub from_cache: bool,
    /// The compiler's figures. `null` if the compiler did not run.
    pub figures: Option<Figures>,
}

/// The result of a group.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct GroupReport {
    /// The name. It is empty for the root.
    pub name: String,
    /// Whether the group contains samples.
    pub sample: bool,
    /// The verdict. `null` if none of its tests was judged, or if the group has no verdict.
    pub verdict: Option<Verdict>,
    /// Why the whole group was not judged.
    pub not_judged: Option<SkipCause>,
    /// The reason for the verdict, or for a missing verdict, in a few words.
    pub reason: String,
    /// The points.
    pub score: Option<f64>,
    /// The group's maximum number of points.
    pub max_score: Option<f64>,
    /// The group's best number of points.
    pub best_score: Option<f64>,
}

/// The result of a test.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TestReport {
    /// The name.
    pub name: String,
    /// The test's group.
    pub group: String,
    /// The verdict. `null` if the test was not judged.
    pub verdict: Option<Verdict>,
    /// Why the test was not judged. If it was not, every field except the names and the reason is
    /// `null` or empty.
    pub not_judged: Option<SkipCause>,
    /// The reason for the verdict, or for a missing verdict, in a few words. Empty if the checker
    /// decided.
    pub reason: String,
    /// The checker's comment.
    pub comment: String,
    /// The points. A Sim group is worth the points of its worst test, so these are the points that
    /// the group would receive for this test alone.
    pub score: Option<f64>,
    /// The submission's figures.
    pub figures: Option<Figures>,
    /// The limits of this test, without the suite's own needs.
    pub limits: Option<LimitsReport>,
    /// The enforced memory limit: the one in `limits` plus the needs of the suite's runtime
    /// (`memory_mib` of the suite). `null` if memory could not be limited.
    pub enforced_memory_bytes: Option<u64>,
    /// The CPUs to which the run was pinned. Empty if it was not pinned.
    pub cpus: Vec<usize>,
    /// The figures of the checker or interactor. `null` for a built-in checker.
    pub checker: Option<Figures>,
    /// Number of passes that began. `null` unless the problem has several passes. The figures are
    /// the maximum over all passes.
    pub passes: Option<u32>,
}

impl JudgeReport {
    /// Whether the report lacks an answer: a judge error or an interruption occurred, or all
    /// submissions were skipped.
    pub fn failed(&self) -> bool {
        let failed =
            |one: &SubmissionReport| matches!(one.verdict, None | Some(Verdict::JudgeError));
        self.submissions
            .iter()
            .any(|one| failed(one) && !one.is_skipped())
            || self.submissions.iter().all(SubmissionReport::is_skipped)
    }

    /// Returns the submissions whose results are not as expected.
    pub fn unexpected(&self) -> impl Iterator<Item = &SubmissionReport> {
        self.submissions
            .iter()
            .filter(|submission| submission.as_expected == Some(false))
    }
}

impl SubmissionReport {
    /// Whether the submission was skipped: its language cannot be used here, and the caller did not
    /// name it.
    pub fn is_skipped(&self) -> bool {
        self.not_judged == Some(SkipCause::NoLanguage)
    }

    /// Whether no test ran because there is no program.
    pub fn has_no_program(&self) -> bool {
        self.tests
            .iter()
            .all(|test| test.not_judged == Some(SkipCause::NoProgram))
    }
}

impl From<&Fault> for WarningReport {
    fn from(fault: &Fault) -> WarningReport {
        // A file name that is not UTF-8 must not suppress the warning.
        let file = fault.path.to_string_lossy().into_owned();
        WarningReport {
            file,
            line: fault.line,
            column: fault.column,
            message: fault.kind.to_string(),
        }
    }
}

impl From<&Problem> for ProblemReport {
    fn from(problem: &Problem) -> ProblemReport {
        let (maximum, objective) = match problem.scoring {
            Scoring::PassFail => (None, None),
            Scoring::Points {
                maximum,
                objective: Objective::Max,
                ..
            } => (Some(maximum), Some("max")),
            Scoring::Points {
                maximum,
                objective: Objective::Min,
                ..
            } => (Some(maximum), Some("min")),
        };
        ProblemReport {
            name: problem.name.clone(),
            label: problem.label.clone(),
            format: match problem.format {
                model::Format::Legacy => "legacy".to_owned(),
                model::Format::Icpc2023 => problem
                    .version
                    .clone()
                    .unwrap_or_else(|| "2023-07".to_owned()),
                model::Format::Sim => "sim".to_owned(),
            },
            scoring: maximum.is_some(),
            objective,
            max_score: maximum.filter(|points| points.is_finite()),
        }
    }
}

impl From<&program::Limits> for LimitsReport {
    fn from(limits: &program::Limits) -> LimitsReport {
        LimitsReport {
            cpu_time_ns: nanoseconds(limits.cpu_time),
            real_time_ns: nanoseconds(limits.real_time),
            memory_bytes: limits.memory,
            output_bytes: limits.output,
            processes: limits.processes,
        }
    }
}

impl TestReport {
    /// Returns the submission's CPU time.
    pub fn cpu_time_ns(&self) -> Option<u64> {
        self.figures.map(|figures| cpu_time_ns(&figures))
    }

    /// Returns the memory limit: the enforced one if there was one.
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        self.enforced_memory_bytes
            .or(self.limits.as_ref().map(|limits| limits.memory_bytes))
    }
}

pub(super) fn cpu_time_ns(figures: &Figures) -> u64 {
    figures.cpu_user_ns.saturating_add(figures.cpu_system_ns)
}

/// Converts a duration to nanoseconds. A duration of more than five centuries becomes the maximum.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_seconds(*time))
}

fn expected<S: Serializer>(expected: &[Expected], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(expected.iter().map(|expected| expected_name(*expected)))
}

fn required<S: Serializer>(required: &[Vec<Expected>], serializer: S) -> Result<S::Ok, S::Error> {
    let names = |one: &Vec<Expected>| {
        one.iter()
            .map(|expected| expected_name(*expected))
            .collect::<Vec<_>>()
    };
    serializer.collect_seq(required.iter().map(names))
}
