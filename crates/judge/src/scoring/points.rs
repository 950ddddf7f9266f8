//! Points of a test and of a group.

use super::JudgedTest;
use crate::verdict::{Points, Verdict};
use millibox_package::model::{Rules, ScoreMode};

/// How the tests of a group bring points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Worth {
    /// Not at all: there are none, or nobody looks at them.
    Nothing,
    /// The group's points are all or nothing (2023-07 `pass-fail`).
    AllOrNothing,
    /// At most so many (2023-07, with `max_score`).
    UpTo(f64),
    /// So many, if the checker does not say (legacy).
    Usually(f64),
    /// As many as the checker says (2023-07, `unbounded`).
    Unbounded,
    /// A share of what the group is worth (Sim); full to this part of the time limit, none at the limit.
    Share { full_until: Option<f64> },
}

/// Points, or shares, of a test; `None`: tests of this group have none. Why it is a judge error.
///
/// What the formats call a judge error here is the checker's doing, not the submission's.
pub(super) fn of_test(worth: Worth, rules: &Rules, judged: &JudgedTest) -> Result<Option<f64>, String> {
    let result = &judged.result;
    let accepted = result.verdict == Verdict::Accepted;
    let said = match result.score {
        Some(Points::Absolute(points) | Points::Part(points)) if !points.is_finite() => {
            return Err(format!("the checker gave {points} points, which is no number of points"));
        }
        said => said,
    };
    let otherwise = |points: f64| if accepted { points } else { rules.reject_score.unwrap_or(0.0) };
    let points = match (worth, said) {
        (Worth::Nothing, _) | (Worth::AllOrNothing, None) => return Ok(None),
        (Worth::AllOrNothing, Some(_)) => {
            return Err("the checker gave points, but those of its group are all or nothing".to_owned());
        }
        (Worth::UpTo(_) | Worth::Unbounded, Some(_)) if !accepted => {
            return Err("the checker gave points for an output that it rejected".to_owned());
        }
        (Worth::Share { full_until }, said) => share(full_until, said, accepted, judged)?,
        (Worth::UpTo(most) | Worth::Usually(most), None) => otherwise(most),
        (Worth::UpTo(most) | Worth::Usually(most), Some(Points::Part(part))) => most * part,
        (Worth::UpTo(most), Some(Points::Absolute(points))) => match within(points, (0.0, most)) {
            Some(points) => points,
            None => return Err(format!("the checker gave {points} points; the test is worth 0 to {most}")),
        },
        (Worth::Usually(_), Some(Points::Absolute(points))) => points,
        (Worth::Unbounded, Some(Points::Absolute(points))) if points >= 0.0 => points,
        (Worth::Unbounded, Some(Points::Absolute(points))) => {
            return Err(format!("the checker gave {points} points; there must be at least 0"));
        }
        (Worth::Unbounded, Some(Points::Part(_))) => {
            return Err("the checker gave a part of the points, but its group has no maximum".to_owned());
        }
        (Worth::Unbounded, None) if accepted => {
            return Err("the checker gave no points (score.txt), and its group has no maximum".to_owned());
        }
        (Worth::Unbounded, None) => otherwise(0.0),
    };
    Ok(Some(points))
}

fn share(full_until: Option<f64>, said: Option<Points>, accepted: bool, judged: &JudgedTest) -> Result<f64, String> {
    let part = match said {
        _ if !accepted => return Ok(0.0),
        None => 1.0,
        Some(Points::Part(part)) if (0.0..=1.0).contains(&part) => part,
        Some(Points::Part(points) | Points::Absolute(points)) => {
            return Err(format!("the checker gave {points} points; what counts in its group is a part of 1"));
        }
    };
    let Some(from) = full_until.filter(|from| *from < 1.0) else { return Ok(part) };
    let limit = judged.limits.cpu_time.as_nanos() as f64;
    let used = judged.result.run.as_ref().map_or(0, |run| run.figures.cpu_user_ns + run.figures.cpu_system_ns) as f64;
    if limit <= 0.0 {
        return Ok(part);
    }
    Ok(part.min((1.0 - used / limit) / (1.0 - from)).max(0.0))
}

/// Points of a group from those of its parts, of which there is at least one. Why it is a judge error.
///
/// A group that is not accepted has the points of its parts all the same, and its parent counts them: so does
/// the default grader of problemtools, though the legacy specification lets judges ignore them; Sim and
/// the successor's points are made of nothing else.
pub(super) fn of_group(worth: Worth, rules: &Rules, accepted: bool, parts: &[f64]) -> Result<f64, String> {
    let least = || parts.iter().copied().fold(f64::INFINITY, f64::min);
    let sum = || parts.iter().sum::<f64>();
    let points = match (worth, rules.score) {
        // Sim's points are whole.
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

/// Points of a group, which must lie in its range if it is accepted. Why it is a judge error.
///
/// Of what is not accepted the specification ignores the score, so that a range need not have room for it.
pub(super) fn in_range(rules: &Rules, accepted: bool, points: f64) -> Result<f64, String> {
    let Some(range) = rules.range.filter(|_| accepted) else { return Ok(points) };
    within(points, range).ok_or_else(|| format!("{points} points are outside its range, {} to {}", range.0, range.1))
}

/// The points, if they lie in a range. A sum of thirds may miss its bound by a rounding error: then it is
/// the bound.
pub(super) fn within(points: f64, (least, most): (f64, f64)) -> Option<f64> {
    let near = |bound: f64| bound.is_finite() && (points - bound).abs() <= 1e-9 * bound.abs().max(1.0);
    match points {
        _ if near(most) => Some(most),
        _ if near(least) => Some(least),
        _ => (least..=most).contains(&points).then_some(points),
    }
}
