//! Which processes serve a site.
//!
//! Either one process without a name serves a database of PostgreSQL, or several processes with
//! different names. Locks of PostgreSQL, which end with the connection of their process, ensure
//! this.

use super::{Db, Result};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection, Row as _};
use std::time::Duration;

/// The first numbers of the locks: of the site, and of each name.
const SITE: i32 = 0x6d62_0001;
const NAME: i32 = 0x6d62_0002;
/// The server ends the connection of a process whose machine has vanished within this time.
const SETTINGS: &str = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; \
    SET tcp_keepalives_count = 3; SET idle_in_transaction_session_timeout = 0";
/// How long the connection is not used before it is examined.
const EXAMINE_INTERVAL: Duration = Duration::from_secs(5);
/// The pause before a lock is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The lock of a process.
#[derive(Debug)]
pub struct ProcessLock {
    db: Db,
    name: Option<String>,
    connection: Option<PgConnection>,
}

/// Locks the site for a process: with a name, beside others; without a name, alone. Waits for
/// `patience` until others have ended. Returns `None` if they have not.
///
/// # Errors
/// The server cannot be reached.
pub async fn take(db: &Db, name: Option<&str>, patience: Duration) -> Result<Option<ProcessLock>> {
    let mut lock = ProcessLock {
        db: db.clone(),
        name: name.map(ToOwned::to_owned),
        connection: None,
    };
    let begin = tokio::time::Instant::now();
    while !lock.try_take().await? {
        if begin.elapsed() >= patience {
            return Ok(None);
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
    Ok(Some(lock))
}

impl ProcessLock {
    async fn try_take(&mut self) -> Result<bool> {
        let Db::Postgres { readers, .. } = &self.db else {
            return Ok(true);
        };
        let mut connection = PgConnection::connect_with(&readers.connect_options()).await?;
        sqlx::raw_sql(SETTINGS).execute(&mut connection).await?;
        let sql = match self.name {
            None => {
                "SELECT pg_try_advisory_lock($1, hashtext(current_schema()))
                    AND ($2 = 0 OR $3 = '') AS held"
            }
            Some(_) => {
                "SELECT pg_try_advisory_lock_shared($1, hashtext(current_schema()))
                    AND pg_try_advisory_lock($2, hashtext(current_schema() || '/' || $3)) AS held"
            }
        };
        let name = self.name.as_deref().unwrap_or("");
        let query = sqlx::query(sql).bind(SITE).bind(NAME).bind(name);
        let held: PgRow = query.fetch_one(&mut connection).await?;
        if !held.try_get::<bool, _>("held")? {
            connection.close().await?;
            return Ok(false);
        }
        self.connection = Some(connection);
        Ok(true)
    }

    /// Releases the lock.
    pub async fn release(self) {
        if let Some(connection) = self.connection {
            // The server notices the end of a connection in any case.
            let _ = connection.close().await;
        }
    }

    /// Keeps the lock. Returns when another process has it, after a failure of the connection.
    pub async fn keep(mut self) {
        loop {
            match &mut self.connection {
                Some(connection) => {
                    tokio::time::sleep(EXAMINE_INTERVAL).await;
                    if let Err(error) = connection.ping().await {
                        tracing::warn!(%error, "the connection with this process's lock is lost");
                        self.connection = None;
                    }
                }
                None => match self.try_take().await {
                    Ok(true) if self.connection.is_none() => std::future::pending().await,
                    Ok(true) => tracing::info!("this process has its lock again"),
                    Ok(false) => return,
                    Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
                },
            }
        }
    }
}
