//! Points in millionths, so that sums and comparisons are exact.

use std::fmt::{self, Display};

/// Points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Score(pub i64);

/// Millionths of a point.
pub const UNIT: i64 = 1_000_000;
/// Scaled points are rounded to this part of a point.
const HUNDREDTHS: i128 = 100;
/// The points of an accepted submission to a problem without points.
pub const PASSED: Score = Score(100 * UNIT);

impl Score {
    /// The points in a round that sets the points of the problem. `max` are the most points in the
    /// package, and `worth` those of the problem in the round, in whole points. The result is
    /// rounded to hundredths, half away from zero. Without `worth`, or if the package has no
    /// positive maximum, the points are those of the package.
    #[must_use]
    pub fn scaled(self, max: Option<i64>, worth: Option<i64>) -> Score {
        let (Some(max), Some(worth)) = (max.filter(|max| *max > 0), worth) else {
            return self;
        };
        let (max, score) = (i128::from(max), i128::from(self.0));
        let doubled = 2 * score * i128::from(worth) * HUNDREDTHS;
        let rounded = (doubled.abs() + max) / (2 * max) * doubled.signum();
        let scaled = rounded * i128::from(UNIT) / HUNDREDTHS;
        Score(i64::try_from(scaled).unwrap_or(if scaled < 0 { i64::MIN } else { i64::MAX }))
    }

    /// Converts points of the judge. Infinite and huge values are clamped.
    pub fn of_points(points: f64) -> Score {
        #[expect(clippy::cast_precision_loss, reason = "the unit is small")]
        let scaled = (points * UNIT as f64).round();
        // The conversion saturates, and NaN becomes 0.
        #[expect(clippy::cast_possible_truncation, reason = "the bound is below 2^53")]
        Score(scaled.clamp(-9e15, 9e15) as i64)
    }
}

impl std::ops::Add for Score {
    type Output = Score;

    fn add(self, other: Score) -> Score {
        Score(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Score {
    fn sum<I: Iterator<Item = Score>>(scores: I) -> Score {
        scores.fold(Score(0), std::ops::Add::add)
    }
}

impl Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, part) = (self.0.abs() / UNIT, self.0.abs() % UNIT);
        write!(f, "{sign}{whole}")?;
        if part != 0 {
            write!(f, ".{}", format!("{part:06}").trim_end_matches('0'))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_scaled_and_rounded_by_this_table() {
        // Points, maximum and worth, in points; the result.
        let table = [
            (50.0, Some(100), None, "50"),
            (50.0, None, Some(30), "50"),
            (50.0, Some(0), Some(30), "50"),
            (50.0, Some(100), Some(30), "15"),
            (100.0, Some(100), Some(250), "250"),
            (1.0, Some(3), Some(1), "0.33"),
            (2.0, Some(3), Some(1), "0.67"),
            (0.5, Some(100), Some(1), "0.01"),
            (0.499_999, Some(100), Some(1), "0"),
            (-0.5, Some(100), Some(1), "-0.01"),
            (3.0, Some(3), Some(7), "7"),
            (9e9, Some(1), Some(10_000), "9223372036854.775807"),
        ];
        for (points, max, worth, expected) in table {
            let max = max.map(|max: i64| max * UNIT);
            let found = Score::of_points(points).scaled(max, worth);
            assert_eq!(found.to_string(), expected, "{points} {max:?} {worth:?}");
        }
    }

    #[test]
    fn points_are_exact_and_short() {
        let texts = [
            (100.0, "100"),
            (33.3, "33.3"),
            (-0.5, "-0.5"),
            (0.1 + 0.2, "0.3"),
            (f64::NAN, "0"),
        ];
        for (points, text) in texts {
            assert_eq!(Score::of_points(points).to_string(), text);
        }
        assert_eq!(Score::of_points(f64::INFINITY), Score::of_points(1e300));
        let sum: Score = [0.1, 0.2, 0.7].map(Score::of_points).into_iter().sum();
        assert_eq!(sum, Score::of_points(1.0));
    }
}
