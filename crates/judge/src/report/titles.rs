//! The strings that reports show for a submission or a test.

use super::display::{points, points_in_words};
use super::model::{SubmissionReport, TestReport};
use super::names::{expected_words, verdict_words};
use millibox_package::model::Expected;

impl TestReport {
    /// Returns the verdict's display name, or `not judged`.
    pub fn words(&self) -> &'static str {
        self.verdict.map_or("not judged", verdict_words)
    }
}

impl SubmissionReport {
    /// Returns the verdict's display name, or `skipped` or `interrupted`.
    pub fn words(&self) -> &'static str {
        let none = if self.is_skipped() {
            "skipped"
        } else {
            "interrupted"
        };
        self.verdict.map_or(none, verdict_words)
    }

    /// Describes the expected result. Returns `None` if nothing is expected.
    pub fn expected_words(&self) -> Option<String> {
        let words = |expected: &[Expected]| -> Vec<&str> {
            expected.iter().map(|one| expected_words(*one)).collect()
        };
        let verdicts = words(&self.expected);
        let required = self
            .required
            .iter()
            .map(|required| format!("{} in some test", words(required).join(" or ")));
        let range = self
            .expected_score
            .map(|(least, most)| match least == most {
                true => points_in_words(least),
                false => format!("{} to {} points", points(least), points(most)),
            });
        let verdicts = (!verdicts.is_empty()).then(|| verdicts.join(" or "));
        let parts: Vec<String> = verdicts.into_iter().chain(required).chain(range).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
