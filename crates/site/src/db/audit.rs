//! The log of changes.
//!
//! The first transaction that a request commits also writes the entry of the request, so the log
//! has an entry for a change exactly if the change was made. The [`Trail`] of a request belongs to
//! its task, and [`Tx::commit`] finds it there.

use super::{Db, Result, Tx, record, values};
use crate::core::time::Time;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The status of an entry that is written together with the change, before the answer exists.
pub const CARRIED_OUT: u16 = 200;

record! {
    /// A change.
    Entry {
        id: i64,
        at: Time,
        actor: String,
        address: String,
        action: String,
        object: String,
        /// From 400 on, the request was rejected.
        status: i64,
        /// What the user has stated about the change, such as its reason; may be empty.
        detail: String,
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
    pub detail: String,
}

tokio::task_local! {
    static TRAIL: Arc<Trail>;
}

/// What is known of a request that changes something, for its entry.
#[derive(Debug)]
pub struct Trail {
    /// The address, the action and the object; `None` if the request has no entry.
    facts: Option<(String, String, String)>,
    actor: Mutex<Option<(i64, String)>>,
    detail: Mutex<String>,
    is_committing: AtomicBool,
    is_written: AtomicBool,
}

impl Trail {
    /// The trail of a request with these facts.
    pub fn new(facts: Option<(String, String, String)>) -> Arc<Trail> {
        Arc::new(Trail {
            facts,
            actor: Mutex::default(),
            detail: Mutex::default(),
            is_committing: AtomicBool::new(false),
            is_written: AtomicBool::new(false),
        })
    }

    /// Runs the future that carries out the request.
    pub async fn follow<F: Future>(self: Arc<Trail>, future: F) -> F::Output {
        TRAIL.scope(self, future).await
    }

    /// Whether a transaction of the request was committed, or may have been.
    pub fn is_committing(&self) -> bool {
        self.is_committing.load(Ordering::SeqCst)
    }

    fn detail(&self) -> MutexGuard<'_, String> {
        self.detail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry, unless it is already written or the request has none.
    pub fn missing(&self, status: u16) -> Option<NewEntry> {
        let (address, action, object) = self.facts.clone()?;
        let actor = self.actor.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.is_written.load(Ordering::SeqCst)).then(|| NewEntry {
            actor: actor.clone(),
            address,
            action,
            object,
            status,
            detail: self.detail().clone(),
        })
    }
}

/// Sets the user of the current request.
pub fn act_as(id: i64, login: &str) {
    // Requests that only read have no trail.
    let _ = TRAIL.try_with(|trail| {
        let mut actor = trail.actor.lock().unwrap_or_else(PoisonError::into_inner);
        *actor = Some((id, login.to_owned()));
    });
}

/// Sets the detail of the current request's entry. The caller then commits the change.
pub fn explain(detail: &str) {
    let _ = TRAIL.try_with(|trail| detail.clone_into(&mut trail.detail()));
}

/// Writes the entry of the current request in the transaction that it commits. The entry counts as
/// written when the returned trail has been [`settle`]d.
pub(super) async fn write(tx: &mut Tx) -> Result<Option<Arc<Trail>>> {
    let Ok(trail) = TRAIL.try_with(Arc::clone) else {
        return Ok(None);
    };
    trail.is_committing.store(true, Ordering::SeqCst);
    let Some(entry) = trail.missing(CARRIED_OUT) else {
        return Ok(None);
    };
    add(tx, &entry, Time::now()).await?;
    Ok(Some(trail))
}

/// Records that the transaction with the entry was committed.
pub(super) fn settle(trail: Option<Arc<Trail>>) {
    if let Some(trail) = trail {
        trail.is_written.store(true, Ordering::SeqCst);
    }
}

/// Records a request without a transaction.
pub async fn insert(db: &Db, new: &NewEntry, now: Time) -> Result<()> {
    let mut tx = db.begin().await?;
    add(&mut tx, new, now).await?;
    tx.commit_aside().await
}

async fn add(tx: &mut Tx, new: &NewEntry, now: Time) -> Result<()> {
    let (id, login) = match &new.actor {
        Some((id, login)) => (Some(*id), login.as_str()),
        None => (None, ""),
    };
    tx.execute(
        "INSERT INTO audit (at, actor_id, actor, address, action, object, status, detail)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        values![
            now,
            id,
            login,
            &new.address,
            &new.action,
            &new.object,
            i64::from(new.status),
            &new.detail
        ],
    )
    .await?;
    Ok(())
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
        "SELECT id, at, actor, address, action, object, status, detail FROM audit
         WHERE id < $1 AND ($2 = '' OR actor = $2) AND ($3 = '' OR action = $3)
         ORDER BY id DESC LIMIT $4",
        values![before, actor, action, limit],
    )
    .await
}
