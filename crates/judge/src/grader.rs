//! A package's own grader, run in the sandbox: it computes a group's result from the results of its
//! parts.
//!
//! The grader sees only the files of its language. It reads results from standard input and takes
//! flags as arguments. [`Grade::parse`] parses its answer from standard output.

use crate::cancel::CancelToken;
use crate::convention::stderr_excerpt;
use crate::failure::{GraderFailure, GraderFault, JudgeFailure, Step};
use crate::pump::{Input, Output, Sink, memory_file, pump, sealed};
use crate::scoring::{Grade, Grading};
use millibox::{Outcome, Supervisor};
use millibox_languages::program::{Executable, Limits};
use std::ffi::OsString;
use std::io::Write;

/// Number of bytes that are kept from the beginning of the grader's standard output and error.
const OUTPUT_HEAD_BYTES: usize = 4096;

/// A grader, ready to run.
#[derive(Debug)]
pub struct Grader {
    /// The program.
    pub executable: Executable,
    /// Limits of one run.
    pub limits: Limits,
}

impl Grader {
    /// Runs the grader for a group, pinned to `cpus`. An empty list leaves it unpinned.
    ///
    /// # Errors
    /// The grader failed, exceeded its limits or gave an unknown answer, or the sandbox failed.
    pub fn grade(
        &self,
        supervisor: &Supervisor,
        cpus: &[usize],
        grading: &Grading,
    ) -> Result<Grade, JudgeFailure> {
        self.grade_until(supervisor, cpus, grading, &CancelToken::new())
    }

    /// Like [`Grader::grade`], but the token can cancel it.
    pub(crate) fn grade_until(
        &self,
        supervisor: &Supervisor,
        cpus: &[usize],
        grading: &Grading,
        token: &CancelToken,
    ) -> Result<Grade, JudgeFailure> {
        let mut input = memory_file()?;
        let written = input.write_all(grading.input.as_bytes());
        written.map_err(|error| JudgeFailure::step(Step::WriteGraderInput, error))?;
        let (mut stdout_head, mut stderr_head) = (Vec::new(), Vec::new());
        let (stdout, stdout_end) = Output::new(
            Sink::Head(&mut stdout_head, OUTPUT_HEAD_BYTES),
            self.limits.output,
        )?;
        let (stderr, stderr_end) = Output::new(
            Sink::Head(&mut stderr_head, OUTPUT_HEAD_BYTES),
            self.limits.output,
        )?;
        let arguments: Vec<OsString> = grading.flags.iter().map(OsString::from).collect();
        let request = self
            .executable
            .request(&self.limits, &arguments)
            .output_limit(self.limits.output);
        let mut request = request
            .stdin(sealed(input)?)
            .stdout(stdout_end)
            .stderr(stderr_end);
        if !cpus.is_empty() {
            request = request.cpus(cpus.iter().copied());
        }
        let handle = supervisor.run(&request)?;
        // Close the request's copies of the run's pipe ends. While they are open, the judge cannot
        // see that the grader closed its ends.
        drop(request);
        let outputs = &mut [stdout, stderr];
        let run = pump(&handle, &mut Input::none(), outputs, None, token)?;
        let grade = match run.outcome {
            Outcome::Exited(0) if stdout_head.len() == OUTPUT_HEAD_BYTES => {
                Err(GraderFault::TooLong {
                    limit: OUTPUT_HEAD_BYTES,
                })
            }
            Outcome::Exited(0) => Grade::parse(&stdout_head),
            Outcome::Exited(code) => Err(GraderFault::Status(code)),
            _ => Err(GraderFault::Ended(Box::new(run))),
        };
        grade.map_err(|fault| {
            JudgeFailure::Grader(GraderFailure::new(fault, stderr_excerpt(&stderr_head)))
        })
    }
}
