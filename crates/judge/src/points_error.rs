//! Why points are invalid.

/// Why points are invalid, which is a judge error: the checker, the grader or the rules are wrong.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PointsError {
    /// The checker gave an infinite number of points, or a value that is not a number.
    #[error("the checker gave {0} points, which is not a valid number of points")]
    NotFinite(f64),
    /// The points of the group are all or nothing.
    #[error("the checker gave points, but those of its group are all or nothing")]
    AllOrNothing,
    /// The checker gave points for an output that it rejected.
    #[error("the checker gave points for an output that it rejected")]
    Rejected,
    /// The test is worth fewer points.
    #[error("the checker gave {points} points; the test is worth 0 to {max}")]
    OutOfWorth {
        /// The points.
        points: f64,
        /// The maximum that the test is worth.
        max: f64,
    },
    /// The checker gave less than 0 points.
    #[error("the checker gave {0} points; the minimum is 0")]
    Negative(f64),
    /// The checker gave a fraction of the points, but the group has no maximum.
    #[error("the checker gave a fraction of the points, but its group has no maximum")]
    PartWithoutMaximum,
    /// The checker gave no points, but the group has no maximum.
    #[error("the checker gave no points (score.txt), and its group has no maximum")]
    Missing,
    /// The group expects a fraction from 0 to 1.
    #[error("the checker gave {0} points; its group expects a fraction from 0 to 1")]
    NotAPart(f64),
    /// The points of a group are outside its range.
    #[error("{points} points are outside its range, {} to {}", .range.0, .range.1)]
    OutOfRange {
        /// The points.
        points: f64,
        /// The minimum and maximum number of points.
        range: (f64, f64),
    },
}
