//! The events that the judge reports while it works.

use crate::report::{SubmissionInfo, SubmissionReport};
use crate::scoring::Progress;

/// A step of the judge's work. Any of its threads may report a step, but only one thread at a time.
///
/// The events of one submission are consecutive, even if the judge works on several submissions:
/// [`Begun`](Event::Begun), any number of [`Judged`](Event::Judged) and
/// [`Settled`](Event::Settled), then [`Ended`](Event::Ended).
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The judge runs a submission to measure the time limit. The next [`Event::Judged`] counts its
    /// tests.
    Measuring {
        /// The submission's name.
        name: &'a str,
    },
    /// The compilation of a submission has ended, with or without a program.
    Begun {
        /// The submission and its compilation.
        about: &'a SubmissionInfo,
    },
    /// More tests of the submission have results. Tests may end in any order.
    Judged {
        /// Number of tests with a result.
        tests: usize,
        /// Total number of tests.
        of: usize,
    },
    /// More tests of the submission are [settled](Progress::settled).
    Settled {
        /// The results so far.
        progress: &'a Progress<'a>,
    },
    /// The result of the submission is final.
    Ended {
        /// The result.
        report: &'a SubmissionReport,
    },
}

/// The function that receives the events.
pub type Observer<'a> = &'a mut (dyn FnMut(Event<'_>) + Send);
