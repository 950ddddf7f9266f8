//! Points in millionths, so that sums and comparisons are exact.

use std::fmt::{self, Display};

/// Points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Score(pub i64);

/// Millionths of a point.
pub const UNIT: i64 = 1_000_000;
/// The points of an accepted submission to a problem without points.
pub const PASSED: Score = Score(100 * UNIT);

impl Score {
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
