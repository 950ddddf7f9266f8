//! A submission and the test on which it is judged.

use crate::failure::{JudgeFailure, Step};
use millibox::World;
use millibox_languages::program::{Executable, Limits};
use millibox_package::model::Test;
use std::ffi::OsString;
use std::path::Path;

/// A test as the judge uses it.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The submission's standard input.
    pub input: &'a Path,
    /// The judges' answer.
    pub answer: Option<&'a Path>,
    /// The submission's arguments.
    pub arguments: &'a [String],
    /// The checker's flags.
    pub flags: &'a [String],
}

impl<'a> Case<'a> {
    /// Creates a case from a package's test. `flags` are the problem's flags; a test may state its
    /// own.
    pub fn new(test: &'a Test, flags: &'a [String]) -> Case<'a> {
        Case {
            input: &test.input,
            answer: test.answer.as_deref(),
            arguments: &test.arguments,
            flags: test.checker_flags.as_deref().unwrap_or(flags),
        }
    }
}

/// A submission and the test on which it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    /// The submission.
    pub executable: &'a Executable,
    /// The test.
    pub case: Case<'a>,
    /// The submission's limits on this test.
    pub limits: &'a Limits,
}

impl Trial<'_> {
    /// Checks that the submission's world shows neither the input nor the answer.
    pub(crate) fn check_hidden_files(&self) -> Result<(), JudgeFailure> {
        let files = [Some(self.case.input), self.case.answer];
        files
            .into_iter()
            .flatten()
            .try_for_each(|path| check_hidden(&self.executable.world, path))
    }

    /// Returns the arguments of the submission's run, after the executable's own.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        self.case.arguments.iter().map(OsString::from).collect()
    }
}

fn check_hidden(world: &World, path: &Path) -> Result<(), JudgeFailure> {
    let file = path
        .canonicalize()
        .map_err(|error| JudgeFailure::step(Step::find(path), error))?;
    match world.sources().find(|source| file.starts_with(source)) {
        None => Ok(()),
        Some(source) => Err(JudgeFailure::FileVisible {
            shown: source.to_owned(),
            file,
        }),
    }
}
