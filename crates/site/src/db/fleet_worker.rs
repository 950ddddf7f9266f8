//! Workers on other machines.

use super::{Db, Executor, Result, Tx, judgement, measurement, probation, record, values};
use crate::core::time::Time;
use millibox_fleet::class::Class;
use millibox_fleet::introduction::Introduction;
use std::collections::HashMap;
use std::time::Duration;

/// A worker that has not introduced itself for this time is away.
const AWAY_TIME: Duration = Duration::from_secs(180);

record! {
    /// A worker.
    FleetWorker {
        id: i64,
        name: String,
        public_key: String,
        enabled: bool,
        created_at: Time,
        /// When it last introduced itself.
        seen_at: Option<Time>,
        /// Since when it is on probation.
        probation_at: Option<Time>,
        /// The reason for its last failure.
        probation_reason: Option<String>,
    }
}

record! {
    /// What a worker says about itself, as JSON.
    Introduced {
        id: i64,
        introduction: String,
    }
}

record! {
    /// The number of judgements that a worker judges.
    Load {
        fleet_worker_id: i64,
        running: i64,
    }
}

macro_rules! workers {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, public_key, enabled, created_at, seen_at, probation_at,
                probation_reason
             FROM fleet_worker ",
            $rest
        )
    };
}

/// Adds a worker.
pub async fn insert(tx: &mut Tx, name: &str, public_key: &str, now: Time) -> Result<i64> {
    tx.id(
        "INSERT INTO fleet_worker (name, public_key, enabled, created_at)
         VALUES ($1, $2, 1, $3) RETURNING id",
        values![name, public_key, now],
    )
    .await
}

/// All workers.
pub async fn all(db: impl Executor) -> Result<Vec<FleetWorker>> {
    db.all(workers!("ORDER BY name"), values![]).await
}

/// What the workers say about themselves, by their ids. It is read apart because it can be long,
/// and after the workers, so that it contains each that has introduced itself.
pub async fn introductions(db: impl Executor) -> Result<HashMap<i64, Introduction>> {
    let all: Vec<Introduced> = db
        .all(
            "SELECT id, introduction FROM fleet_worker WHERE introduction IS NOT NULL",
            values![],
        )
        .await?;
    // An older version of the site may have stored a different form, until the worker connects.
    let known = all.into_iter().filter_map(|stored| {
        let introduction = serde_json::from_str(&stored.introduction).ok()?;
        Some((stored.id, introduction))
    });
    Ok(known.collect())
}

/// How many judgements the workers judge. Idle workers are left out.
pub async fn loads(db: impl Executor) -> Result<Vec<Load>> {
    db.all(
        "SELECT fleet_worker_id, COUNT(*) AS running FROM judgement
         WHERE state = 'running' AND fleet_worker_id IS NOT NULL GROUP BY fleet_worker_id",
        values![],
    )
    .await
}

/// The worker with this name.
pub async fn by_name(db: impl Executor, name: &str) -> Result<Option<FleetWorker>> {
    db.first(workers!("WHERE name = $1"), values![name]).await
}

/// The worker of a judgement's latest attempt, unless the site itself judges.
pub async fn of_judgement(db: impl Executor, judgement: i64) -> Result<Option<FleetWorker>> {
    db.first(
        workers!("WHERE id = (SELECT fleet_worker_id FROM judgement WHERE judgement.id = $1)"),
        values![judgement],
    )
    .await
}

/// The worker with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<FleetWorker>> {
    db.first(workers!("WHERE id = $1"), values![id]).await
}

/// Enables a worker, and trusts it.
pub async fn enable(tx: &mut Tx, id: i64, now: Time) -> Result<()> {
    set_enabled(tx, id, true).await?;
    probation::end(tx, id, now).await?;
    Ok(())
}

/// Disables a worker. What it judges is queued again.
pub async fn disable(tx: &mut Tx, id: i64) -> Result<()> {
    set_enabled(tx, id, false).await?;
    measurement::take_from(tx, id).await?;
    judgement::take_from(tx, id).await?;
    Ok(())
}

async fn set_enabled(tx: &mut Tx, id: i64, enabled: bool) -> Result<u64> {
    tx.execute(
        "UPDATE fleet_worker SET enabled = $2 WHERE id = $1",
        values![id, enabled],
    )
    .await
}

impl FleetWorker {
    /// Whether the worker receives tasks.
    pub fn is_present(&self, now: Time) -> bool {
        self.enabled && self.probation_at.is_none() && !self.is_away(now)
    }

    /// Whether the worker has not introduced itself for some time.
    pub fn is_away(&self, now: Time) -> bool {
        self.seen_at.is_none_or(|seen| seen.after(AWAY_TIME) < now)
    }
}

/// Whether a worker judges submissions to contests in a language at present.
pub async fn judges(db: &Db, language: &str, now: Time) -> Result<bool> {
    let workers = all(db).await?;
    let introductions = introductions(db).await?;
    let present = workers.iter().filter(|worker| worker.is_present(now));
    let mut present = present.filter_map(|worker| introductions.get(&worker.id));
    Ok(present.any(|one| {
        let mut languages = one.toolchains.iter().map(|one| &one.language[..]);
        one.classes.contains(&Class::Contest) && languages.any(|name| name == language)
    }))
}

/// Records what a worker says about itself. `text` is its introduction as JSON.
pub async fn introduce(tx: &mut Tx, id: i64, text: &str, now: Time) -> Result<u64> {
    tx.execute(
        "UPDATE fleet_worker SET introduction = $2, seen_at = $3 WHERE id = $1",
        values![id, text, now],
    )
    .await
}
