//! The results of a problem's submissions, and their presentation.
//!
//! [`JudgeReport`] is the model. Programs read it as JSON, in which the names are stable. The
//! renderers use only the model.
//!
//! A report contains text from submissions, compilers, and checkers that repeat a submission's
//! output. No renderer lets such text control a terminal, break out of its place in a document, or
//! change the writing direction.
//!
//! | file | content |
//! | --- | --- |
//! | `model` | the model of a report |
//! | `build` | a submission's report from its progress |
//! | `machine` | the machine that judged |
//! | `names` | the names of verdicts and reasons |
//! | `titles` | the strings that reports show for a submission or a test |
//! | `display` | figures and untrusted text, formatted for people |
//! | `json` | the report for programs |
//! | `junit` | the report for continuous integration |
//! | `html` | the report as one self-contained page |
//! | `text` | the report for terminals, line by line as results arrive |

mod build;
mod display;
pub mod html;
pub mod json;
pub mod junit;
mod machine;
mod model;
mod names;
pub mod text;
mod titles;

pub use build::SubmissionInfo;
pub use display::{counted, line, points_in_words};
pub use model::{
    CompilationReport, GroupReport, JudgeReport, LimitsReport, Machine, ProblemReport,
    SubmissionReport, TestReport, VERSION, WarningReport, nanoseconds,
};
pub use names::{expected_name, verdict_words};
