//! Runs a package's own checker in the sandbox.
//!
//! Besides the files of its language, the checker sees three directories. `/judge/data` holds the
//! package's data. `/judge/test` holds the files of one test. `/judge/feedback` is the only
//! directory it can write to. All checker runs of a worker see the same three directories, so they
//! share one world.

pub use crate::validator::{OutputValidator, checker_limits};

use super::result::CheckResult;
use crate::convention::{Answer, interpret};
use crate::failure::JudgeFailure;
use crate::feedback::{Feedback, Watch};
use crate::pump::{Input, Output, Sink, pump, sealed};
use crate::trial::Case;
use crate::verdict::COMMENT_LIMIT;
use crate::worker::{FEEDBACK, OUTPUT, TEST, Worker};
use millibox_package::model::Convention;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Number of bytes that are kept from the beginning of the checker's standard output and error.
const OUTPUT_HEAD_BYTES: usize = 2 * COMMENT_LIMIT;

impl OutputValidator {
    /// Runs the checker on an output.
    ///
    /// `output` must be the worker's output file if the checker expects a path.
    pub(super) fn check(
        self: &Arc<OutputValidator>,
        worker: &mut Worker<'_>,
        case: &Case<'_>,
        answer: &Path,
        output: File,
        feedback: &Feedback,
    ) -> Result<CheckResult, JudgeFailure> {
        let (supervisor, cpus) = (worker.supervisor, worker.cpus.clone());
        let token = worker.token.clone();
        let files = worker.files()?;
        let world = files.world(self);
        let input = files.show(self, case.input, "input")?;
        let answer = files.show(self, answer, "answer")?;
        let feedback_path = format!("{FEEDBACK}/{}/", Feedback::NAME).into();
        let output_path = || format!("{TEST}/{OUTPUT}").into();
        let mut arguments: Vec<OsString> = match self.convention {
            Convention::Icpc => vec![input, answer, feedback_path],
            Convention::Sim => vec![input, answer, output_path()],
            Convention::Testlib => vec![input, output_path(), answer],
        };
        arguments.extend(case.flags.iter().map(OsString::from));

        let (mut stdout_head, mut stderr_head) = (Vec::new(), Vec::new());
        let limit = self.limits.output;
        let (stdout, stdout_end) =
            Output::new(Sink::Head(&mut stdout_head, OUTPUT_HEAD_BYTES), limit)?;
        let (stderr, stderr_end) =
            Output::new(Sink::Head(&mut stderr_head, OUTPUT_HEAD_BYTES), limit)?;
        let mut request = self
            .executable
            .request_in(&world, &self.limits, &arguments)
            .output_limit(limit)
            .stdout(stdout_end)
            .stderr(stderr_end);
        if self.convention == Convention::Icpc {
            request = request.stdin(sealed(output)?);
        }
        if !cpus.is_empty() {
            request = request.cpus(cpus);
        }
        let handle = supervisor.run(&request)?;
        // Close the request's copies of the run's pipe ends. While they are open, the judge cannot
        // see that the checker closed its ends.
        drop(request);
        let mut watch = Watch::new(feedback, limit);
        let run = pump(
            &handle,
            &mut Input::none(),
            &mut [stdout, stderr],
            Some(&mut watch),
            &token,
        )?;
        let answer = match watch.finish() {
            Some(excess) => Answer::failed(excess),
            None => interpret(
                self.convention,
                &run,
                &self.limits,
                &stdout_head,
                &stderr_head,
                feedback,
            ),
        };
        Ok(CheckResult {
            answer,
            figures: Some(run.figures),
        })
    }
}
