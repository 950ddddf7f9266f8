//! A package's own checker or interactor, ready to run.
//!
//! The ICPC format uses the term output validator for both.

use millibox::Supervisor;
use millibox_languages::program::{Executable, Limits};
use millibox_languages::staging::{StagedDirectory, StagingError};
use millibox_package::model::{self, Convention, Format, Problem};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A package's own checker or interactor, ready to run.
#[derive(Debug)]
pub struct OutputValidator {
    /// The program.
    pub executable: Executable,
    /// The arguments that the program expects, and the form of its answer.
    pub convention: Convention,
    /// The directory of the package's tests, which the sandbox's user can read.
    pub data: StagedDirectory,
    /// Limits of one run.
    pub limits: Limits,
}

impl OutputValidator {
    /// Creates a validator whose data is in the directory `data`. Copies the data if the sandbox's
    /// user cannot read it.
    ///
    /// # Errors
    /// A file in `data` cannot be read, or the copies cannot be written.
    pub fn new(
        supervisor: &Supervisor,
        executable: Executable,
        convention: Convention,
        data: &Path,
        limits: &model::Limits,
    ) -> Result<OutputValidator, StagingError> {
        let data = StagedDirectory::new(data, supervisor.info().ids())?;
        Ok(OutputValidator {
            executable,
            convention,
            data,
            limits: checker_limits(limits),
        })
    }

    /// Creates a validator from a package. Links in the package's data may lead anywhere in the
    /// package.
    ///
    /// # Errors
    /// The errors of [`OutputValidator::new`].
    pub fn of_package(
        supervisor: &Supervisor,
        executable: Executable,
        convention: Convention,
        problem: &Problem,
    ) -> Result<OutputValidator, StagingError> {
        let data = StagedDirectory::within(
            &problem.directory,
            &data_directory(problem),
            supervisor.info().ids(),
        )?;
        Ok(OutputValidator {
            executable,
            convention,
            data,
            limits: checker_limits(&problem.limits),
        })
    }

    /// Whether the checker opens the submission's output by its path. Otherwise the output is the
    /// checker's standard input.
    pub(crate) fn wants_output_by_path(&self) -> bool {
        self.convention != Convention::Icpc
    }
}

/// Returns the directory of a package that its checker can see.
pub(crate) fn data_directory(problem: &Problem) -> PathBuf {
    match problem.format {
        Format::Sim => problem.directory.clone(),
        Format::Legacy | Format::Icpc2023 => problem.directory.join("data"),
    }
}

/// Returns the limits of a checker's run: the package's limits for validation, or 20 s, 512 MiB and
/// 64 MiB of output.
///
/// The output limit applies to each stream, to each file, and to the sum of all files in the
/// feedback directory.
pub fn checker_limits(limits: &model::Limits) -> Limits {
    let cpu_time = limits.validation_time.unwrap_or(Duration::from_secs(20));
    Limits {
        cpu_time,
        real_time: Limits::real_time_for(cpu_time),
        memory: limits.validation_memory.unwrap_or(512 << 20),
        output: limits.validation_output.unwrap_or(64 << 20),
        // This is enough for a script that starts programs.
        processes: 32,
    }
}
