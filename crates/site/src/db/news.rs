//! Messages between the processes of a site, through PostgreSQL.
//!
//! PostgreSQL delivers a message to all processes that listen at that time, so a message that is
//! sent while a process does not listen is lost for it.

use super::{Db, DbError, Executor, Result, record, values};
use sqlx::postgres::{PgListener, PgPool, PgPoolOptions};

/// One that sends, one that listens, and those that have listened before and whose server has
/// vanished.
const CONNECTIONS: u32 = 4;

record! { Schema { name: String, } }

/// The messages of a site.
#[derive(Debug)]
pub struct Exchange {
    pool: PgPool,
    channel: String,
}

/// Receives messages.
#[derive(Debug)]
pub struct Listener(PgListener);

/// What a [`Listener`] receives.
#[derive(Debug)]
pub enum Received {
    /// A message.
    Message(String),
    /// The connection was lost, so messages may have been lost, too.
    Gap,
}

impl Exchange {
    /// Opens the messages of a site; `None` with SQLite, which only one process uses.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn open(db: &Db) -> Result<Option<Exchange>> {
        let Db::Postgres { readers, .. } = db else {
            return Ok(None);
        };
        // Sites in other schemas of the database have messages of their own.
        let sql = "SELECT current_schema()::TEXT AS name";
        let schema: Option<Schema> = db.first(sql, values![]).await?;
        let schema = schema.ok_or(DbError::Missing("a schema"))?;
        let options = readers.connect_options();
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS);
        Ok(Some(Exchange {
            pool: pool.connect_with(options.as_ref().clone()).await?,
            channel: format!("millibox_site_{}", schema.name),
        }))
    }

    /// Sends a message to all processes, including this one.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn send(&self, message: &str) -> Result<()> {
        let query = sqlx::query("SELECT pg_notify($1, $2)");
        let query = query.bind(&self.channel).bind(message);
        query.execute(&self.pool).await?;
        Ok(())
    }

    /// Begins to receive messages.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn listen(&self) -> Result<Listener> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.listen(&self.channel).await?;
        Ok(Listener(listener))
    }
}

impl Listener {
    /// The next message. Connects again if the connection is lost.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn next(&mut self) -> Result<Received> {
        let received = self.0.try_recv().await?;
        Ok(received.map_or(Received::Gap, |message| {
            Received::Message(message.payload().to_owned())
        }))
    }
}
