//! Rows of either database.

use super::{DbError, Result};
use crate::core::time::Time;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

/// A row of a result.
#[derive(Debug)]
pub enum Row {
    /// A row of SQLite.
    Sqlite(SqliteRow),
    /// A row of PostgreSQL.
    Postgres(PgRow),
}

impl Row {
    /// The value of a column.
    ///
    /// # Errors
    /// The result has no such column, or its value has another type.
    pub fn get<T: Column>(&self, column: &str) -> Result<T> {
        T::of(self, column)
    }
}

/// A type of values in columns.
pub trait Column: Sized {
    /// The value of a column.
    ///
    /// # Errors
    /// The result has no such column, or its value has another type.
    fn of(row: &Row, column: &str) -> Result<Self>;
}

macro_rules! plain_column {
    ($($kind:ty),*) => { $(
        impl Column for $kind {
            fn of(row: &Row, column: &str) -> Result<Self> {
                Ok(match row {
                    Row::Sqlite(row) => row.try_get(column)?,
                    Row::Postgres(row) => row.try_get(column)?,
                })
            }
        }
    )* };
}

plain_column!(i64, Option<i64>, String, Option<String>, Vec<u8>);

impl Column for bool {
    fn of(row: &Row, column: &str) -> Result<Self> {
        match row.get::<i64>(column)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DbError::Value {
                column: column.to_owned(),
            }),
        }
    }
}

impl Column for Time {
    fn of(row: &Row, column: &str) -> Result<Self> {
        row.get(column).map(Time)
    }
}

impl Column for Option<Time> {
    fn of(row: &Row, column: &str) -> Result<Self> {
        Ok(row.get::<Option<i64>>(column)?.map(Time))
    }
}

/// A structure that can be read from a row.
pub trait Record: Sized + Send {
    /// Reads the columns.
    ///
    /// # Errors
    /// A column is missing or has another type.
    fn read(row: &Row) -> Result<Self>;
}

/// Defines a structure whose fields are the columns of the same names.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $kind,)* }

        impl $crate::db::Record for $name {
            fn read(row: &$crate::db::Row) -> $crate::db::Result<Self> {
                Ok($name { $($field: row.get(stringify!($field))?,)* })
            }
        }
    };
}

pub(crate) use record;
