//! The log of changes.

use super::{Db, Result, record, values};
use crate::core::time::Time;

record! {
    /// A change.
    Entry {
        id: i64,
        at: Time,
        actor: String,
        address: String,
        action: String,
        object: String,
    }
}

/// A change that has not been recorded yet.
#[derive(Debug)]
pub struct NewEntry {
    /// The id and the login of the user; none for guests.
    pub actor: Option<(i64, String)>,
    pub address: String,
    pub action: String,
    pub object: String,
    pub status: u16,
}

/// Records a change.
pub async fn insert(db: &Db, new: &NewEntry, now: Time) -> Result<()> {
    let mut tx = db.begin().await?;
    let (id, login) = match &new.actor {
        Some((id, login)) => (Some(*id), login.as_str()),
        None => (None, ""),
    };
    tx.execute(
        "INSERT INTO audit (at, actor_id, actor, address, action, object, status)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        values![
            now,
            id,
            login,
            &new.address,
            &new.action,
            &new.object,
            i64::from(new.status)
        ],
    )
    .await?;
    tx.commit().await
}

/// Changes with ids below `before`, the latest first. Empty filters match everything.
pub async fn page(
    db: &Db,
    before: i64,
    actor: &str,
    action: &str,
    limit: i64,
) -> Result<Vec<Entry>> {
    use super::Executor;
    db.all(
        "SELECT id, at, actor, address, action, object FROM audit
         WHERE id < $1 AND ($2 = '' OR actor = $2) AND ($3 = '' OR action = $3)
         ORDER BY id DESC LIMIT $4",
        values![before, actor, action, limit],
    )
    .await
}
