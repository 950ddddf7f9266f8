//! What came of a problem's submissions, and how it is told.
//!
//! [`JudgeReport`] is the model; its JSON is what programs read, with stable names. The renderers take
//! it, and nothing else.
//!
//! What a submission (or its compiler, or a checker that repeats its output) writes ends up in a report:
//! no renderer lets it command a terminal, leave its place in a document, or turn the direction of
//! writing.
//!
//! | file | what |
//! | --- | --- |
//! | `build` | a submission's report from its progress |
//! | `machine` | where it was judged |
//! | `names` | the words for verdicts and reasons |
//! | `shown` | figures and strange text, for people |
//! | `json` | for programs |
//! | `junit` | for continuous integration |
//! | `html` | a page that stands alone |
//! | `text` | for terminals, line by line as results come |

mod build;
pub mod html;
pub mod json;
pub mod junit;
mod machine;
mod names;
mod shown;
pub mod text;

pub use build::SubmissionInfo;
pub use names::{expected_name, verdict_words};
pub use shown::{counted, line, points_in_words};

use crate::program;
use crate::scoring::SkipCause;
use crate::verdict::Verdict;
use millibox::{Backend, Figures};
use millibox_package::Fault;
use millibox_package::model::{self, Expected, Objective, Problem, Scoring};
use serde::{Serialize, Serializer};
use std::time::{Duration, SystemTime};

/// The version of the JSON's form, [`JudgeReport::version`]. Goes up when a name goes away or changes its
/// meaning; names may be added without that.
pub const VERSION: u32 = 1;

/// What came of a problem's submissions.
///
/// Times are in nanoseconds, memory in bytes, points are numbers. What is not known, or is not there, is
/// `null`; no name is ever left out.
#[derive(Debug, Clone, Serialize)]
pub struct JudgeReport {
    /// [`VERSION`].
    pub version: u32,
    /// The problem.
    pub problem: ProblemReport,
    /// Where it was judged.
    pub machine: Machine,
    /// Limits that most tests have, or of several such the first; the suites' own needs are not counted. Each test has
    /// its own in [`TestReport::limits`].
    pub limits: LimitsReport,
    /// What the package's author may want to know: what was found in reading it, and since.
    pub warnings: Vec<WarningReport>,
    /// When judging began, by the clock as it stood at the end; in JSON as RFC 3339, in UTC.
    #[serde(serialize_with = "rfc3339")]
    pub started: SystemTime,
    /// How long it took, whoever has set the clock meanwhile.
    pub duration_ns: u64,
    /// In the order in which they were judged.
    pub submissions: Vec<SubmissionReport>,
}

/// The problem.
#[derive(Debug, Clone, Serialize)]
pub struct ProblemReport {
    /// Title.
    pub name: String,
    /// Short name.
    pub label: String,
    /// Its format: `legacy`, `sim`, or the version of the ICPC format that it states: `2023-07`, `2025-09`.
    pub format: String,
    /// Whether there are points.
    pub scoring: bool,
    /// Which points are better: `max`, `min`; none if there are none.
    pub objective: Option<&'static str>,
    /// Most points; none if there are none, or no bound on them.
    pub max_score: Option<f64>,
}

/// Where it was judged.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Release of the kernel (uname(2)).
    pub kernel: String,
    /// What the CPUs call themselves, if they do.
    pub cpu_model: Option<String>,
    /// CPUs that the judge may use.
    pub cpus: usize,
    /// How runs were held and measured. With `rlimit`, memory is that of single processes.
    pub backend: Backend,
}

/// A warning of the package.
#[derive(Debug, Clone, Serialize)]
pub struct WarningReport {
    /// The file or directory: the package's path as it was given, and the path below that.
    pub file: String,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    /// What is wrong and what mends it.
    pub message: String,
}

/// Limits of a run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LimitsReport {
    /// CPU time of the whole tree.
    pub cpu_time_ns: u64,
    /// Real time.
    pub real_time_ns: u64,
    /// Memory of the whole tree.
    pub memory_bytes: u64,
    /// What may be written to standard output.
    pub output_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
}

/// What came of one submission.
#[derive(Debug, Clone, Serialize)]
pub struct SubmissionReport {
    /// Its name.
    pub name: String,
    /// Name of the suite that compiled and ran it; none if there was none for it.
    pub suite: Option<String>,
    /// How compiling went; none if nothing was compiled.
    pub compilation: Option<CompilationReport>,
    /// What may come of it, by name (`accepted`, `partially_accepted`, ..., `rejected`); none: anything.
    #[serde(serialize_with = "expected")]
    pub expected: Vec<Expected>,
    /// Lists of such names, of each of which some test must have one; what follows from `expected` is not among them.
    #[serde(serialize_with = "required")]
    pub required: Vec<Vec<Expected>>,
    /// Least and most points that are expected.
    pub expected_score: Option<(f64, f64)>,
    /// The verdict; none if it was not judged.
    pub verdict: Option<Verdict>,
    /// If it was not judged: why. `no_language`: it was skipped; `unfinished`: judging was interrupted.
    pub not_judged: Option<SkipCause>,
    /// For a verdict other than accepted, and for none: why, in a few words.
    pub reason: String,
    /// Name of the test that decided the verdict, if one did.
    pub decided_by: Option<String>,
    /// Whether verdict and points are as expected; none if nothing is expected, or nothing is known of
    /// the submission (a judge error, an interruption).
    pub as_expected: Option<bool>,
    /// Points; none if the problem has none, after a judge error, and after an interruption; where fewer are better,
    /// of what is accepted alone.
    pub score: Option<f64>,
    /// Most points there are; none if there are none, or no bound on them.
    pub max_score: Option<f64>,
    /// The best points there are: the most, or, if the problem's `objective` is `min`, the least; none if there are
    /// none, or no bound on them.
    pub best_score: Option<f64>,
    /// All groups of tests, each before those in it; the first, with an empty name, is all tests.
    pub groups: Vec<GroupReport>,
    /// All tests, in the order in which they are judged.
    pub tests: Vec<TestReport>,
}

/// How compiling went.
#[derive(Debug, Clone, Serialize)]
pub struct CompilationReport {
    /// What the compiler said, cut.
    pub messages: String,
    /// It had been compiled before.
    pub from_cache: bool,
    /// What the compiler used; none if it did not run now.
    pub figures: Option<Figures>,
}

/// What came of a group.
#[derive(Debug, Clone, Serialize)]
pub struct GroupReport {
    /// Its name; empty for the root.
    pub name: String,
    /// Whether it is one of samples.
    pub sample: bool,
    /// The verdict; none if all of it was not judged, or there is nothing in it.
    pub verdict: Option<Verdict>,
    /// If all of it was not judged: why.
    pub not_judged: Option<SkipCause>,
    /// Why it has this verdict, or none, in a few words.
    pub reason: String,
    /// Its points.
    pub score: Option<f64>,
    /// Most points it can have.
    pub max_score: Option<f64>,
    /// The best points it can have.
    pub best_score: Option<f64>,
}

/// What came of a test.
#[derive(Debug, Clone, Serialize)]
pub struct TestReport {
    /// Its name.
    pub name: String,
    /// The group that it is in.
    pub group: String,
    /// The verdict; none if it was not judged.
    pub verdict: Option<Verdict>,
    /// If it was not judged: why. Then all but the names and the reason is `null`, or empty.
    pub not_judged: Option<SkipCause>,
    /// Why it has this verdict, or none, in a few words; empty if the checker decided.
    pub reason: String,
    /// What the checker said.
    pub comment: String,
    /// Points of this test. Of Sim's groups, which are worth the least of their tests: what the group would get for
    /// this test alone.
    pub score: Option<f64>,
    /// What the submission used.
    pub figures: Option<Figures>,
    /// The limits of this test, the suite's own needs not counted.
    pub limits: Option<LimitsReport>,
    /// The limit on memory that was enforced: that of `limits`, and what the suite's run-time system needs beside it
    /// (`memory_mib` of the suite); none if memory could not be limited.
    pub enforced_memory_bytes: Option<u64>,
    /// CPUs that it was held on; empty: on no particular ones.
    pub cpus: Vec<usize>,
    /// What the checker, or interactor, used; none for those that are built in.
    pub checker: Option<Figures>,
    /// Passes that were begun; none if the problem has not several. Figures are the most that any of them used.
    pub passes: Option<u32>,
}

impl JudgeReport {
    /// Whether there was a judge error or an interruption, or all submissions were skipped: the report does not say
    /// what was asked.
    pub fn failed(&self) -> bool {
        let failed = |one: &SubmissionReport| matches!(one.verdict, None | Some(Verdict::JudgeError));
        self.submissions.iter().any(|one| failed(one) && !one.is_skipped())
            || self.submissions.iter().all(SubmissionReport::is_skipped)
    }

    /// Submissions that are not as expected.
    pub fn unexpected(&self) -> impl Iterator<Item = &SubmissionReport> {
        self.submissions.iter().filter(|submission| submission.as_expected == Some(false))
    }
}

impl SubmissionReport {
    /// Whether it was passed over: its language cannot be used here, and nobody asked for it in particular.
    pub fn is_skipped(&self) -> bool {
        self.not_judged == Some(SkipCause::NoLanguage)
    }

    /// Whether none of its tests was run for want of a program.
    pub fn has_no_program(&self) -> bool {
        self.tests.iter().all(|test| test.not_judged == Some(SkipCause::NoProgram))
    }
}

impl From<&Fault> for WarningReport {
    fn from(fault: &Fault) -> WarningReport {
        // A warning is told, whatever the file is called.
        let file = fault.path.to_string_lossy().into_owned();
        WarningReport { file, line: fault.line, column: fault.column, message: fault.message.clone() }
    }
}

impl From<&Problem> for ProblemReport {
    fn from(problem: &Problem) -> ProblemReport {
        let (maximum, objective) = match problem.scoring {
            Scoring::PassFail => (None, None),
            Scoring::Points { maximum, objective: Objective::Max, .. } => (Some(maximum), Some("max")),
            Scoring::Points { maximum, objective: Objective::Min, .. } => (Some(maximum), Some("min")),
        };
        ProblemReport {
            name: problem.name.clone(),
            label: problem.label.clone(),
            format: match problem.format {
                model::Format::Legacy => "legacy".to_owned(),
                model::Format::Icpc2023 => problem.version.clone().unwrap_or_else(|| "2023-07".to_owned()),
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
    /// CPU time that it used.
    pub fn cpu_time_ns(&self) -> Option<u64> {
        self.figures.map(|figures| cpu_time_ns(&figures))
    }

    /// The limit that its memory was held by: the enforced one, where there was one.
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        self.enforced_memory_bytes.or(self.limits.as_ref().map(|limits| limits.memory_bytes))
    }
}

fn cpu_time_ns(figures: &Figures) -> u64 {
    figures.cpu_user_ns.saturating_add(figures.cpu_system_ns)
}

/// More than five centuries do not fit.
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
    let names = |one: &Vec<Expected>| one.iter().map(|expected| expected_name(*expected)).collect::<Vec<_>>();
    serializer.collect_seq(required.iter().map(names))
}
