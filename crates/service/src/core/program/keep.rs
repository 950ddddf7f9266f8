//! Bounds the output that a report keeps of all its tests.
//!
//! The output of a running test has its own limit, and is compared as a whole. What the answer
//! keeps of it comes from one budget for all tests, whose unit is a byte of the rendered answer.

use super::TestReport;
use crate::core::budget::{Budget, rendered_within};
use crate::core::execution::OutputFileError;
use bytes::Bytes;

impl TestReport {
    /// Removes the output beyond a budget.
    pub(super) fn keep_within(&mut self, budget: &Budget) {
        let Some(report) = &mut self.report else {
            return;
        };
        for captured in &mut report.captured {
            captured.bytes = rendered_within(&captured.bytes, budget);
        }
        for output in &mut report.outputs {
            let length = output.bytes.len() as u64;
            output.bytes = rendered_within(&output.bytes, budget);
            let kept = output.bytes.len() as u64;
            if kept < length && output.error.is_none() {
                output.error = Some(OutputFileError::TooLarge {
                    bytes: length,
                    max_bytes: kept,
                });
            }
        }
    }

    /// Removes the whole output.
    pub(super) fn drop_output(&mut self) {
        if let Some(report) = &mut self.report {
            for captured in &mut report.captured {
                captured.bytes = Bytes::new();
            }
            for output in &mut report.outputs {
                output.bytes = Bytes::new();
            }
        }
    }
}
