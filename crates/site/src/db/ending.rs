//! The times of a round that move with its end.

use super::contest::Round;
use super::{Result, Tx, values};
use crate::core::extension::Ending;

impl Round {
    /// The times that move with the end.
    pub fn ending(&self) -> Ending {
        Ending {
            ends: self.ends,
            full_results: self.full_results,
            ranking_from: self.ranking_from,
            freeze_at: self.freeze_at,
            thaw_at: self.thaw_at,
        }
    }
}

/// Moves the end of a round with the times that depend on it.
pub async fn set(tx: &mut Tx, round: i64, to: Ending) -> Result<u64> {
    tx.execute(
        "UPDATE round SET ends = $2, full_results = $3, ranking_from = $4, freeze_at = $5,
            thaw_at = $6
         WHERE id = $1",
        values![
            round,
            to.ends,
            to.full_results,
            to.ranking_from,
            to.freeze_at,
            to.thaw_at
        ],
    )
    .await
}
