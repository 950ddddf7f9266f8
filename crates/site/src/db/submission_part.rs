//! Parts of the submissions to a contest, with stamps that rise with each change.
//!
//! A reader that remembers the stamps reads only those parts again that have changed. It reads the
//! stamps and the parts in one snapshot.

use super::{Executor, Result, record, values};

/// A part has the submissions with equal numbers without this number of last bits.
pub const SHIFT: u8 = 7;

record! {
    /// A part with its stamp.
    Part { part: i64, stamp: i64, }
}

impl Part {
    /// The numbers of the first and the last submission that belong here.
    pub fn range(&self) -> (i64, i64) {
        let from = self.part << SHIFT;
        (from, from + (1 << SHIFT) - 1)
    }
}

/// The parts of a contest in their order. Those whose submissions were deleted are empty.
///
/// A part may have several rows, because transactions at the same time change different rows. Its
/// stamp is their sum, which rises with each of these transactions.
pub async fn all(db: impl Executor, contest_id: i64) -> Result<Vec<Part>> {
    let rows: Vec<Part> = db
        .all(
            "SELECT part, stamp FROM submission_part WHERE contest_id = $1 ORDER BY part",
            values![contest_id],
        )
        .await?;
    let mut parts: Vec<Part> = Vec::new();
    for row in rows {
        match parts.last_mut() {
            Some(last) if last.part == row.part => last.stamp += row.stamp,
            _ => parts.push(row),
        }
    }
    Ok(parts)
}
