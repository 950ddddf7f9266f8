//! The report of a validation.

use super::fault::ValidationFault;
use crate::SetterError;
use millibox_package::{Fault, Severity, ToolFault};
use std::path::{Path, PathBuf};

/// The faults, and the numbers of files that were examined.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// The faults. Those found while reading the package come first.
    pub faults: Vec<Fault>,
    /// Number of tests that were examined.
    pub tests: usize,
    /// Number of runs of input validators.
    pub validations: usize,
    /// Number of answers that the checker examined, including outputs that test the checker.
    pub answers: usize,
}

impl Report {
    /// Whether one of the faults is an error.
    pub fn has_errors(&self) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.severity == Severity::Error)
    }

    pub(super) fn add(&mut self, severity: Severity, path: &Path, fault: ValidationFault) {
        self.faults
            .push(Fault::new(path, severity, ToolFault::new(fault)));
    }

    /// Adds the faults that parallel work found.
    pub(super) fn add_all(
        &mut self,
        all: Vec<Result<FoundFaults, SetterError>>,
    ) -> Result<(), SetterError> {
        for faults in all {
            for (severity, path, fault) in faults? {
                self.add(severity, &path, fault);
            }
        }
        Ok(())
    }
}

/// Faults, each with its severity and file.
pub(super) type FoundFaults = Vec<(Severity, PathBuf, ValidationFault)>;
