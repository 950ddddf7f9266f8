//! Compares the result of a submission with its expectation.

use super::points::within;
use crate::verdict::Verdict;
use millibox_package::model::Expected;

/// Whether a verdict and points are as expected. `best` is the best possible number of points.
///
/// Returns `None` if nothing is expected, or if the judge failed and nothing is therefore known
/// about the submission.
pub fn is_expected(
    expected: &[Expected],
    range: Option<(f64, f64)>,
    verdict: Verdict,
    points: Option<f64>,
    best: Option<f64>,
) -> Option<bool> {
    if verdict == Verdict::JudgeError || (expected.is_empty() && range.is_none()) {
        return None;
    }
    let less = || {
        points
            .zip(best)
            .is_some_and(|(points, best)| within(points, (best, best)).is_none())
    };
    let one = |expected: &Expected| match expected {
        // If the points have no upper bound, any number of points counts as partial.
        Expected::PartiallyAccepted => verdict == Verdict::Accepted && (best.is_none() || less()),
        expected => is(*expected, verdict),
    };
    let in_range = match (range, points) {
        (None, _) => true,
        (Some(range), Some(points)) => within(points, range).is_some(),
        (Some(_), None) => false,
    };
    Some((expected.is_empty() || expected.iter().any(one)) && in_range)
}

/// Whether some test has a verdict from each of the required lists. Returns `None` if nothing is
/// required, or if tests without a verdict leave the question open.
pub fn has_required(required: &[Vec<Expected>], verdicts: &[Option<Verdict>]) -> Option<bool> {
    let known = || verdicts.iter().flatten();
    let met = |one: &Vec<Expected>| {
        one.iter()
            .any(|expected| known().any(|verdict| is(*expected, *verdict)))
    };
    if required.iter().all(met) {
        return (!required.is_empty()).then_some(true);
    }
    verdicts.iter().all(Option::is_some).then_some(false)
}

fn is(expected: Expected, verdict: Verdict) -> bool {
    match expected {
        Expected::Accepted | Expected::PartiallyAccepted => verdict == Verdict::Accepted,
        Expected::WrongAnswer => verdict == Verdict::WrongAnswer,
        Expected::TimeLimit => verdict == Verdict::TimeLimit,
        Expected::RunTimeError => verdict == Verdict::RunTimeError,
        Expected::MemoryLimit => verdict == Verdict::MemoryLimit,
        Expected::OutputLimit => verdict == Verdict::OutputLimit,
        Expected::CompileError => verdict == Verdict::CompileError,
        Expected::Rejected => verdict != Verdict::Accepted,
    }
}
