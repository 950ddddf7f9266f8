//! The database: SQLite or PostgreSQL, with one text for each statement.
//!
//! Entities pass statements with `$1` placeholders and values to an [`Executor`]: the database for
//! reading, or a transaction for reading and writing. Numbers and times are BIGINT, enumerations
//! are TEXT, and statements compute no sums and return no literals, because their types differ.
//!
//! Transactions that may write run one after another, in both databases. So a transaction that
//! decides by what it has read writes before any of it can change, and neither deadlocks nor
//! failures of serialization exist. SQLite permits only one writer; in PostgreSQL, a lock does the
//! same for all processes of a site. One connection writes, and several read. A task holds at most
//! one of them.

pub mod api_token;
pub mod audit;
pub mod balloon;
pub mod blob;
pub mod clarification;
pub mod class;
pub mod contest;
pub mod contest_file;
pub mod contest_source;
pub mod credential;
pub mod ending;
pub mod fault;
pub mod fleet_worker;
mod held;
pub mod identity;
pub mod job;
pub mod judgement;
mod managed;
pub mod measurement;
pub mod merge;
pub mod migrate;
pub mod news;
pub mod participant;
pub mod password;
pub mod print;
pub mod probation;
pub mod problem;
pub mod problem_use;
pub mod process;
pub mod rejudging;
pub mod reset;
mod row;
pub mod schema;
pub mod session;
pub mod setting;
pub mod similar;
pub mod submission;
pub mod submission_part;
pub mod submission_rules;
pub mod totp;
pub mod transfer;
pub mod user;
mod value;
pub mod virtual_start;

pub(crate) use row::record;
pub use row::{Column, Record, Row};
pub use value::Value;
pub(crate) use value::{stored_as_text, text_enum, values};

use held::{Held, check_none};
use sqlx::error::ErrorKind;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection as _, Postgres, Sqlite};
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio::sync::watch;

#[cfg(test)]
pub(crate) mod tests;

/// The number of connections that read.
const READERS: u32 = 8;
/// How long a transaction waits for its turn to write, or a statement for a connection.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause before a server is tried again.
const WAIT_PAUSE: Duration = Duration::from_millis(500);
/// How long a statement of SQLite waits for another process, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Begins a transaction of PostgreSQL when no other one writes. The number of the lock is that of
/// the letters "millibox". Each later statement sees what earlier transactions have committed.
const BEGIN_POSTGRES: &str = "BEGIN; SELECT pg_advisory_xact_lock(7883951835569090424)";
/// The lock of a process whose machine has vanished is released after a minute. No transaction of
/// the site waits for anything but the database.
const WRITER_POSTGRES: &str = "SET lock_timeout = '30s'; \
    SET idle_in_transaction_session_timeout = '60s'";
const READER_POSTGRES: &str = "SET default_transaction_read_only = on";

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbError {
    /// The database rejected the statement, or cannot be reached.
    #[error("database: {0}")]
    Sql(#[from] sqlx::Error),
    /// The statement changed or returned no row, although one must exist.
    #[error("the database lacks a row of {0}")]
    Missing(&'static str),
    /// This version does not know a stored value.
    #[error("the database has an unknown value in the column {column}")]
    Value {
        /// The column.
        column: String,
    },
    /// The address does not belong to PostgreSQL.
    #[error("the address of a database has the form postgres://USER@HOST/NAME")]
    Address,
    /// PostgreSQL stores no character U+0000 in texts.
    #[error("a text contains the character U+0000, which cannot be stored")]
    ZeroByte,
    /// A newer version has migrated the database.
    #[error("the database has version {found}, but this program knows versions up to {known}")]
    Newer {
        /// The version of the database.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
}

/// Waits until a server accepts connections. A pool would not report why it does not.
async fn wait_for(options: &PgConnectOptions) -> Result<()> {
    let begin = Instant::now();
    let mut is_reported = false;
    loop {
        match PgConnection::connect_with(options).await {
            Ok(connection) => {
                connection.close().await?;
                return Ok(());
            }
            Err(error) if begin.elapsed() >= WAIT_TIMEOUT => return Err(error.into()),
            Err(error) => {
                if !std::mem::replace(&mut is_reported, true) {
                    let host = options.get_host();
                    tracing::warn!(%error, host, "cannot reach the database; trying again");
                }
                tokio::time::sleep(WAIT_PAUSE).await;
            }
        }
    }
}

impl DbError {
    fn kind(&self) -> Option<ErrorKind> {
        match self {
            DbError::Sql(sqlx::Error::Database(error)) => Some(error.kind()),
            _ => None,
        }
    }

    /// Whether the row already exists.
    pub fn is_duplicate(&self) -> bool {
        matches!(self.kind(), Some(ErrorKind::UniqueViolation))
    }

    /// Whether another request has changed the rows between the checks and the transaction: a row
    /// exists already, or no longer.
    pub fn is_conflict(&self) -> bool {
        matches!(self, DbError::Missing(_))
            || matches!(
                self.kind(),
                Some(ErrorKind::UniqueViolation | ErrorKind::ForeignKeyViolation)
            )
    }

    /// Whether other transactions took so long that this one did not have its turn.
    pub fn is_busy(&self) -> bool {
        match self {
            DbError::Sql(sqlx::Error::PoolTimedOut) => true,
            DbError::Sql(sqlx::Error::Database(error)) => {
                // SQLite: SQLITE_BUSY and its variant for snapshots. PostgreSQL: lock_timeout.
                matches!(error.code().as_deref(), Some("5" | "517" | "55P03"))
            }
            _ => false,
        }
    }
}

/// A result of the database.
pub type Result<T> = std::result::Result<T, DbError>;

/// The database of a site.
#[derive(Debug, Clone)]
pub enum Db {
    /// A file.
    Sqlite {
        /// Connections that read.
        readers: SqlitePool,
        /// The connection that writes.
        writer: SqlitePool,
    },
    /// A server.
    Postgres {
        /// Connections that read.
        readers: PgPool,
        /// The connection that writes.
        writer: PgPool,
    },
}

/// A transaction. It is rolled back unless it is committed.
#[derive(Debug)]
pub enum Tx {
    /// A transaction of SQLite.
    Sqlite(Held<sqlx::Transaction<'static, Sqlite>>),
    /// A transaction of PostgreSQL.
    Postgres(Held<sqlx::Transaction<'static, Postgres>>),
}

impl Db {
    /// Opens or creates an SQLite file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub async fn sqlite(path: &Path) -> Result<Db> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A committed submission survives a power failure.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        let pool = |connections| {
            let options = SqlitePoolOptions::new().max_connections(connections);
            options.acquire_timeout(WAIT_TIMEOUT)
        };
        // The writer creates the file before a reader opens it.
        let writer = pool(1).connect_with(options.clone()).await?;
        let readers = pool(READERS).connect_with(options.read_only(true)).await?;
        Ok(Db::Sqlite { readers, writer })
    }

    /// Connects to a server.
    ///
    /// # Errors
    /// The address is malformed, or the server cannot be reached.
    pub async fn postgres(url: &str) -> Result<Db> {
        // The library reads every address as one of PostgreSQL.
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(DbError::Address);
        }
        let options: PgConnectOptions = url.parse()?;
        wait_for(&options).await?;
        let pool = |connections, settings: &'static str| {
            let pool = PgPoolOptions::new().max_connections(connections);
            let pool = pool.acquire_timeout(WAIT_TIMEOUT);
            pool.after_connect(move |connection, _| {
                Box::pin(async move {
                    sqlx::raw_sql(settings).execute(connection).await?;
                    Ok(())
                })
            })
        };
        let writer = pool(1, WRITER_POSTGRES).connect_with(options.clone());
        let writer = writer.await?;
        let readers = pool(READERS, READER_POSTGRES).connect_with(options).await?;
        Ok(Db::Postgres { readers, writer })
    }

    /// Begins a transaction that may write. It has the database for itself: no other transaction
    /// writes until it ends.
    ///
    /// # Errors
    /// The database cannot be reached, or other transactions take too long.
    pub async fn begin(&self) -> Result<Tx> {
        check_none();
        Ok(match self {
            Db::Sqlite { writer, .. } => {
                let tx = unless_closed(writer.begin_with("BEGIN IMMEDIATE").await).await?;
                Tx::Sqlite(Held::new(tx))
            }
            Db::Postgres { writer, .. } => {
                let tx = unless_closed(writer.begin_with(BEGIN_POSTGRES).await).await?;
                Tx::Postgres(Held::new(tx))
            }
        })
    }

    /// Begins a transaction that reads one state of the database and blocks no other transaction.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn snapshot(&self) -> Result<Tx> {
        check_none();
        Ok(match self {
            Db::Sqlite { readers, .. } => {
                let tx = unless_closed(readers.begin().await).await?;
                Tx::Sqlite(Held::new(tx))
            }
            Db::Postgres { readers, .. } => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                let tx = unless_closed(readers.begin_with(begin).await).await?;
                Tx::Postgres(Held::new(tx))
            }
        })
    }

    /// Runs one statement in a transaction of its own, without an entry in the log. Returns the
    /// number of rows that it changed.
    ///
    /// # Errors
    /// The database rejects the statement or cannot be reached.
    pub async fn execute_aside(&self, sql: &'static str, values: Vec<Value>) -> Result<u64> {
        let mut tx = self.begin().await?;
        let count = tx.execute(sql, values).await?;
        tx.commit_aside().await?;
        Ok(count)
    }

    /// Copies an SQLite database to a new file while it is in use. Returns false for PostgreSQL.
    ///
    /// # Errors
    /// The file already exists or cannot be written.
    pub async fn copy_to(&self, path: &Path) -> Result<bool> {
        let Db::Sqlite { readers, .. } = self else {
            return Ok(false);
        };
        let path = path.to_string_lossy().into_owned();
        let copy = sqlx::query("VACUUM INTO $1").bind(path);
        copy.execute(readers).await?;
        Ok(true)
    }

    /// Closes all connections, after the running statements and transactions have ended. Work that
    /// would need one later waits until the process ends.
    pub async fn close(&self) {
        match self {
            Db::Sqlite { readers, writer } => {
                readers.close().await;
                writer.close().await;
            }
            Db::Postgres { readers, writer } => {
                readers.close().await;
                writer.close().await;
            }
        }
    }
}

/// Passes on a result, or waits until the process ends if the database is closed. Workers and jobs
/// must not take the end of the site for a failure: the next start queues their work again.
async fn unless_closed<T>(result: sqlx::Result<T>) -> sqlx::Result<T> {
    if let Err(sqlx::Error::PoolClosed) = result {
        std::future::pending::<()>().await;
    }
    result
}

/// The number of transactions that are known to be committed, by this process or others.
static COMMITS: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::Sender::new(0));
/// The number of transactions that this process has committed.
static OWN_COMMITS: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::Sender::new(0));

/// The number of transactions that are known to be committed, for caches: data that was read before
/// the number rose may be stale.
pub fn commits() -> watch::Receiver<u64> {
    COMMITS.subscribe()
}

/// The number of transactions that this process has committed, for other processes.
pub fn own_commits() -> watch::Receiver<u64> {
    OWN_COMMITS.subscribe()
}

/// Another process has committed transactions.
pub fn committed_elsewhere() {
    COMMITS.send_modify(|count| *count += 1);
}

/// Counts a commit at its end, even if the request ends first.
struct Count;

impl Drop for Count {
    fn drop(&mut self) {
        COMMITS.send_modify(|count| *count += 1);
        OWN_COMMITS.send_modify(|count| *count += 1);
    }
}

impl Tx {
    /// Makes the changes permanent, with the entry of the request in the log of changes.
    ///
    /// # Errors
    /// The database rejects them or cannot be reached.
    pub async fn commit(mut self) -> Result<()> {
        let trail = audit::write(&mut self).await?;
        self.commit_aside().await?;
        audit::settle(trail);
        Ok(())
    }

    /// Makes changes permanent that the user has not asked for, without an entry in the log.
    ///
    /// # Errors
    /// The database rejects them or cannot be reached.
    pub async fn commit_aside(self) -> Result<()> {
        #[cfg(test)]
        tests::delay_commit().await;
        let _count = Count;
        match self {
            Tx::Sqlite(tx) => tx.into_inner().commit().await?,
            Tx::Postgres(tx) => tx.into_inner().commit().await?,
        }
        Ok(())
    }

    /// Runs a statement that returns no rows. Returns the number of rows that it changed.
    ///
    /// # Errors
    /// The database rejects the statement.
    pub async fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> Result<u64> {
        value::check(&values)?;
        Ok(match self {
            Tx::Sqlite(tx) => {
                let query = value::bind_sqlite(sqlx::query(sql), values);
                query.execute(&mut **tx).await?.rows_affected()
            }
            Tx::Postgres(tx) => {
                let query = value::bind_postgres(sqlx::query(sql), values);
                query.execute(&mut **tx).await?.rows_affected()
            }
        })
    }
}

/// Something that runs statements which return rows.
pub trait Executor: Send {
    /// Runs a statement and returns its rows.
    fn rows(
        self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<Vec<Row>>> + Send;

    /// All rows as records.
    fn all<T: Record>(
        self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<Vec<T>>> + Send
    where
        Self: Sized,
    {
        async move {
            let rows = self.rows(sql, values).await?;
            rows.iter().map(T::read).collect()
        }
    }

    /// The first row as a record.
    fn first<T: Record>(
        self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<Option<T>>> + Send
    where
        Self: Sized,
    {
        async move {
            let rows = self.rows(sql, values).await?;
            rows.first().map(T::read).transpose()
        }
    }

    /// The column `id` of the one row that the statement returns.
    fn id(self, sql: &'static str, values: Vec<Value>) -> impl Future<Output = Result<i64>> + Send
    where
        Self: Sized,
    {
        async move {
            let rows = self.rows(sql, values).await?;
            rows.first().ok_or(DbError::Missing("a new id"))?.get("id")
        }
    }
}

impl Executor for &Db {
    async fn rows(self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>> {
        check_none();
        value::check(&values)?;
        Ok(match self {
            Db::Sqlite { readers, .. } => {
                let query = value::bind_sqlite(sqlx::query(sql), values);
                let rows = unless_closed(query.fetch_all(readers).await).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Db::Postgres { readers, .. } => {
                let query = value::bind_postgres(sqlx::query(sql), values);
                let rows = unless_closed(query.fetch_all(readers).await).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }
}

impl Executor for &mut Tx {
    async fn rows(self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>> {
        value::check(&values)?;
        Ok(match self {
            Tx::Sqlite(tx) => {
                let query = value::bind_sqlite(sqlx::query(sql), values);
                let rows = query.fetch_all(&mut **tx).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Tx::Postgres(tx) => {
                let query = value::bind_postgres(sqlx::query(sql), values);
                let rows = query.fetch_all(&mut **tx).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }
}
