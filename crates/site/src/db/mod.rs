//! The database: SQLite or PostgreSQL, with one text for each statement.
//!
//! Entities pass statements with `$1` placeholders and values to an [`Executor`]: the database for
//! reading, or a transaction for reading and writing. Numbers and times are BIGINT, enumerations
//! are TEXT, and statements compute no sums and return no literals, because their types differ.
//!
//! SQLite has one connection that writes, and several that read (write-ahead log).

pub mod api_token;
pub mod audit;
pub mod balloon;
pub mod blob;
pub mod clarification;
pub mod contest;
pub mod contest_file;
pub mod fault;
pub mod identity;
pub mod job;
pub mod judgement;
pub mod merge;
pub mod migrate;
pub mod participant;
pub mod password;
pub mod print;
pub mod problem;
pub mod rejudging;
pub mod reset;
mod row;
pub mod schema;
pub mod session;
pub mod setting;
pub mod submission;
pub mod submission_part;
pub mod totp;
pub mod transfer;
pub mod user;
mod value;

pub(crate) use row::record;
pub use row::{Column, Record, Row};
pub use value::Value;
pub(crate) use value::{text_enum, values};

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Postgres, Sqlite};
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::watch;

#[cfg(test)]
pub(crate) mod tests;

/// The number of connections that read, or of all connections to PostgreSQL.
const CONNECTIONS: u32 = 8;
/// How long a statement of SQLite waits for another process, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

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
    /// A newer version has migrated the database.
    #[error("the database has version {found}, but this program knows versions up to {known}")]
    Newer {
        /// The version of the database.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
}

impl DbError {
    /// Whether the row already exists.
    pub fn is_duplicate(&self) -> bool {
        match self {
            DbError::Sql(sqlx::Error::Database(error)) => error.is_unique_violation(),
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
    Postgres(PgPool),
}

/// A transaction. It is rolled back unless it is committed.
#[derive(Debug)]
pub enum Tx {
    /// A transaction of SQLite.
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    /// A transaction of PostgreSQL.
    Postgres(sqlx::Transaction<'static, Postgres>),
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
        let pool = |connections| SqlitePoolOptions::new().max_connections(connections);
        // The writer creates the file before a reader opens it.
        let writer = pool(1).connect_with(options.clone()).await?;
        let readers = pool(CONNECTIONS)
            .connect_with(options.read_only(true))
            .await?;
        Ok(Db::Sqlite { readers, writer })
    }

    /// Connects to a server.
    ///
    /// # Errors
    /// The address is malformed, or the server cannot be reached.
    pub async fn postgres(url: &str) -> Result<Db> {
        let options: PgConnectOptions = url.parse()?;
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS);
        Ok(Db::Postgres(pool.connect_with(options).await?))
    }

    /// Begins a transaction that may write.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn begin(&self) -> Result<Tx> {
        Ok(match self {
            Db::Sqlite { writer, .. } => Tx::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?),
            Db::Postgres(pool) => Tx::Postgres(pool.begin().await?),
        })
    }

    /// Begins a transaction that reads one state of the database and blocks no other transaction.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn snapshot(&self) -> Result<Tx> {
        Ok(match self {
            Db::Sqlite { readers, .. } => Tx::Sqlite(readers.begin().await?),
            Db::Postgres(pool) => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                Tx::Postgres(pool.begin_with(begin).await?)
            }
        })
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

    /// Closes all connections.
    pub async fn close(&self) {
        match self {
            Db::Sqlite { readers, writer } => {
                readers.close().await;
                writer.close().await;
            }
            Db::Postgres(pool) => pool.close().await,
        }
    }
}

/// The number of transactions that this process has committed.
static COMMITS: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::Sender::new(0));

/// The number of transactions that this process has committed, for caches: data that was read
/// before the number rose may be stale.
pub fn commits() -> watch::Receiver<u64> {
    COMMITS.subscribe()
}

/// Counts a commit at its end, even if the request ends first.
struct Count;

impl Drop for Count {
    fn drop(&mut self) {
        COMMITS.send_modify(|count| *count += 1);
    }
}

impl Tx {
    /// Makes the changes permanent.
    ///
    /// # Errors
    /// The database rejects them or cannot be reached.
    pub async fn commit(self) -> Result<()> {
        let _count = Count;
        match self {
            Tx::Sqlite(tx) => tx.commit().await?,
            Tx::Postgres(tx) => tx.commit().await?,
        }
        Ok(())
    }

    /// Runs a statement that returns no rows. Returns the number of rows that it changed.
    ///
    /// # Errors
    /// The database rejects the statement.
    pub async fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> Result<u64> {
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
        Ok(match self {
            Db::Sqlite { readers, .. } => {
                let query = value::bind_sqlite(sqlx::query(sql), values);
                let rows = query.fetch_all(readers).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Db::Postgres(pool) => {
                let query = value::bind_postgres(sqlx::query(sql), values);
                let rows = query.fetch_all(pool).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }
}

impl Executor for &mut Tx {
    async fn rows(self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>> {
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
