//! A grader of a package's own, run in the sandbox: it makes a group's result from those of its parts.
//!
//! It sees what its language needs and nothing else: results on standard input, flags as arguments. What it answers
//! on standard output is read by [`Graded::parse`].

use crate::batch::JudgeFailure;
use crate::checker::custom::sealed;
use crate::convention::with_complaint;
use crate::program::{Executable, Limits};
use crate::pump::{Input, Output, Sink, memory_file, pump};
use crate::scoring::{Graded, Grading};
use millibox::{Outcome, Supervisor};
use std::ffi::OsString;
use std::io::Write;

/// Bytes of its standard output and error that are looked at.
const HEAD: usize = 4096;

/// A grader, ready to run.
#[derive(Debug)]
pub struct Grader {
    /// The program.
    pub executable: Executable,
    /// Limits of one run.
    pub limits: Limits,
}

impl Grader {
    /// Asks it for a group's result, held on these CPUs (none: on no particular ones).
    ///
    /// # Errors
    /// It failed, exceeded its limits, or said nothing that is known; or the sandbox failed.
    pub fn grade(&self, supervisor: &Supervisor, cpus: &[usize], grading: &Grading) -> Result<Graded, JudgeFailure> {
        let mut input = memory_file()?;
        let written = input.write_all(grading.input.as_bytes());
        written.map_err(|error| JudgeFailure::new("write the grader's input", &error))?;
        let (mut said, mut complained) = (Vec::new(), Vec::new());
        let (stdout, its_stdout) = Output::new(Sink::Head(&mut said, HEAD), self.limits.output)?;
        let (stderr, its_stderr) = Output::new(Sink::Head(&mut complained, HEAD), self.limits.output)?;
        let arguments: Vec<OsString> = grading.flags.iter().map(OsString::from).collect();
        let request = self.executable.request(&self.limits, &arguments).output_limit(self.limits.output);
        let mut request = request.stdin(sealed(input)?).stdout(its_stdout).stderr(its_stderr);
        if !cpus.is_empty() {
            request = request.cpus(cpus.iter().copied());
        }
        let handle = supervisor.run(&request)?;
        // Its ends of the pipes: with ours open, they would never break.
        drop(request);
        let run = pump(&handle, &mut Input::none(), &mut [stdout, stderr], None)?;
        let graded = match run.outcome {
            Outcome::Exited(0) if said.len() == HEAD => Err(format!("says more than {HEAD} bytes")),
            Outcome::Exited(0) => Graded::parse(&said),
            Outcome::Exited(code) => Err(format!("exited with {code}, not with 0")),
            _ => Err(run.to_string()),
        };
        graded.map_err(|why| JudgeFailure(with_complaint(why, &complained)))
    }
}
