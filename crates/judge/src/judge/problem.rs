//! Prepares and measures a problem.

use super::base::Judge;
use super::event::Observer;
use super::fault::{PackageError, PackageFault};
use super::prepared::PreparedProblem;
use millibox_package::model::Problem;

impl Judge<'_> {
    /// Prepares a problem: compiles its checker or interactor, makes its data readable for the
    /// sandbox, and measures the time limit if none is stated.
    ///
    /// # Errors
    /// The package cannot be judged. The error lists all faults that were found.
    pub fn problem(
        &self,
        problem: Problem,
        observer: Observer<'_>,
    ) -> Result<PreparedProblem, PackageError> {
        let unpacked = problem.unpacked.clone();
        let prepared = self.prepare(problem).and_then(|mut prepared| {
            self.measure(&mut prepared, observer)?;
            Ok(prepared)
        });
        let Some(unpacked) = unpacked else {
            return prepared;
        };
        // Name the archive instead of the directory into which it was unpacked.
        match prepared {
            Ok(mut prepared) => {
                let warnings = std::mem::take(&mut prepared.warnings);
                prepared.warnings = warnings
                    .into_iter()
                    .map(|fault| unpacked.fault(fault))
                    .collect();
                Ok(prepared)
            }
            Err(PackageError { faults }) => {
                let shown = |fault: PackageFault| fault.map_paths(|path| unpacked.shown(path));
                Err(PackageError {
                    faults: faults.into_iter().map(shown).collect(),
                })
            }
        }
    }
}
