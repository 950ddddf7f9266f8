//! Computes the points of tests and groups.

use super::outcome::JudgedTest;
use super::plan::Worth;
use crate::points_error::PointsError;
use crate::verdict::{Points, Verdict};
use millibox_package::model::{Rules, ScoreMode};

/// Returns the points or share of a test, or `None` if the group's tests have no points.
pub(super) fn of_test(
    worth: Worth,
    rules: &Rules,
    judged: &JudgedTest,
) -> Result<Option<f64>, PointsError> {
    let result = &judged.result;
    let accepted = result.verdict == Verdict::Accepted;
    let given = match result.score {
        Some(Points::Absolute(points) | Points::Part(points)) if !points.is_finite() => {
            return Err(PointsError::NotFinite(points));
        }
        given => given,
    };
    let otherwise = |points: f64| {
        if accepted {
            points
        } else {
            rules.reject_score.unwrap_or(0.0)
        }
    };
    let points = match (worth, given) {
        (Worth::Nothing, _) | (Worth::AllOrNothing, None) => return Ok(None),
        (Worth::AllOrNothing, Some(_)) => {
            return Err(PointsError::AllOrNothing);
        }
        (Worth::UpTo(_) | Worth::Unbounded, Some(_)) if !accepted => {
            return Err(PointsError::Rejected);
        }
        (Worth::Share { full_until }, given) => share(full_until, given, accepted, judged)?,
        (Worth::UpTo(most) | Worth::Usually(most), None) => otherwise(most),
        (Worth::UpTo(most) | Worth::Usually(most), Some(Points::Part(part))) => most * part,
        (Worth::UpTo(most), Some(Points::Absolute(points))) => match within(points, (0.0, most)) {
            Some(points) => points,
            None => return Err(PointsError::OutOfWorth { points, max: most }),
        },
        (Worth::Usually(_), Some(Points::Absolute(points))) => points,
        (Worth::Unbounded, Some(Points::Absolute(points))) if points >= 0.0 => points,
        (Worth::Unbounded, Some(Points::Absolute(points))) => {
            return Err(PointsError::Negative(points));
        }
        (Worth::Unbounded, Some(Points::Part(_))) => {
            return Err(PointsError::PartWithoutMaximum);
        }
        (Worth::Unbounded, None) if accepted => {
            return Err(PointsError::Missing);
        }
        (Worth::Unbounded, None) => otherwise(0.0),
    };
    Ok(Some(points))
}

fn share(
    full_until: Option<f64>,
    given: Option<Points>,
    accepted: bool,
    judged: &JudgedTest,
) -> Result<f64, PointsError> {
    let part = match given {
        _ if !accepted => return Ok(0.0),
        None => 1.0,
        Some(Points::Part(part)) if (0.0..=1.0).contains(&part) => part,
        Some(Points::Part(points) | Points::Absolute(points)) => {
            return Err(PointsError::NotAPart(points));
        }
    };
    let Some(from) = full_until.filter(|from| *from < 1.0) else {
        return Ok(part);
    };
    let limit = judged.limits.cpu_time.as_nanos() as f64;
    let used = judged
        .result
        .run
        .as_ref()
        .map_or(0, |run| run.figures.cpu_user_ns + run.figures.cpu_system_ns) as f64;
    if limit <= 0.0 {
        return Ok(part);
    }
    Ok(part.min((1.0 - used / limit) / (1.0 - from)).max(0.0))
}

/// Computes a group's points from those of its parts, of which there is at least one.
///
/// A group that is not accepted still has the points of its parts, and its parent counts them. The
/// legacy specification lets judges ignore them, but the default grader of problemtools counts
/// them. Sim and the successor of the legacy format always count them.
pub(super) fn of_group(
    worth: Worth,
    rules: &Rules,
    accepted: bool,
    parts: &[f64],
) -> Result<f64, PointsError> {
    let least = || parts.iter().copied().fold(f64::INFINITY, f64::min);
    let sum = || parts.iter().sum::<f64>();
    let points = match (worth, rules.score) {
        // Sim's points are whole numbers.
        (Worth::Share { .. }, _) => (rules.points.unwrap_or(0.0) * least()).round(),
        (_, ScoreMode::PassFail) if accepted => rules.points.unwrap_or(0.0),
        (_, ScoreMode::PassFail) => 0.0,
        (_, ScoreMode::Sum) => sum(),
        (_, ScoreMode::Average) => sum() / parts.len().max(1) as f64,
        (_, ScoreMode::Minimum) => least(),
        (_, ScoreMode::Maximum) => parts.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    };
    in_range(rules, accepted, points)
}

/// Checks that the points of an accepted group are within its range.
///
/// The specification ignores the score of a group that is not accepted, so its points may be
/// outside the range.
pub(super) fn in_range(rules: &Rules, accepted: bool, points: f64) -> Result<f64, PointsError> {
    let Some(range) = rules.range.filter(|_| accepted) else {
        return Ok(points);
    };
    within(points, range).ok_or(PointsError::OutOfRange { points, range })
}

/// Returns the points if they are within a range. Points that miss a bound by a rounding error
/// become the bound.
pub(super) fn within(points: f64, (least, most): (f64, f64)) -> Option<f64> {
    let near =
        |bound: f64| bound.is_finite() && (points - bound).abs() <= 1e-9 * bound.abs().max(1.0);
    match points {
        _ if near(most) => Some(most),
        _ if near(least) => Some(least),
        _ => (least..=most).contains(&points).then_some(points),
    }
}
