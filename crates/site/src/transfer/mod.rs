//! A contest as a stream of JSON lines, for another site.
//!
//! The first line describes the stream. Then follow users, packages in parts, and rows of tables
//! with the columns that have values. Rows refer to each other by the ids of the exporting site,
//! and the importing site assigns new ones. Users are matched by their logins.
//!
//! | file | content |
//! | --- | --- |
//! | `export` | writes a stream, a part of a package or some rows at a time |
//! | `import` | reads it in one transaction; keeps only the ids of rows |

pub mod export;
pub mod import;

use crate::db::{DbError, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FORMAT: &str = "millibox-contest";
const VERSION: u32 = 1;
/// The number of bytes of a package in one line.
const PART_BYTES: usize = 192 << 10;

/// A line of the stream.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    /// The first line.
    Header { format: String, version: u32 },
    /// A user.
    User {
        id: i64,
        login: String,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        email: Option<String>,
        /// The hash of the password, if the stream has passwords.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<String>,
    },
    /// A part of a package. The last part is empty.
    Package { sha256: String, base64: String },
    /// A row of a table.
    Row {
        table: String,
        columns: BTreeMap<String, Cell>,
    },
    /// The last line. Without it, the stream is incomplete.
    End { rows: u64 },
}

/// The value of a column.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Cell {
    Integer(i64),
    Text(String),
    Bytes { base64: String },
}

impl Cell {
    fn of(value: Value) -> Option<Cell> {
        Some(match value {
            Value::Integer(number) => Cell::Integer(number?),
            Value::Text(text) => Cell::Text(text?),
            Value::Bytes(bytes) => Cell::Bytes {
                base64: STANDARD.encode(bytes),
            },
        })
    }

    fn value(self) -> Result<Value, base64::DecodeError> {
        Ok(match self {
            Cell::Integer(number) => number.into(),
            Cell::Text(text) => text.into(),
            Cell::Bytes { base64 } => STANDARD.decode(base64)?.into(),
        })
    }
}

/// Why a contest was not exported or imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The site has no such contest.
    #[error("there is no contest {0}")]
    NoContest(i64),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The stream or a file of a package failed.
    #[error("the stream: {0}")]
    Stream(#[from] std::io::Error),
    /// A line is malformed, too long or in a wrong place.
    #[error("line {line} of the stream: {why}")]
    Line {
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
    /// A password could not be hashed.
    #[error(transparent)]
    Password(#[from] crate::core::password::PasswordError),
    /// A package is damaged, or cannot be stored.
    #[error("the package {sha256}: {why}")]
    Package {
        /// The name of the package.
        sha256: String,
        /// What is wrong.
        why: String,
    },
}
