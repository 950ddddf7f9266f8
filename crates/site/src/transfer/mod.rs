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

use crate::blobs::BlobError;
use crate::core::account::AccountError;
use crate::core::package::PackageError;
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
        why: LineFault,
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
        why: StoredFault,
    },
}

/// Why a line of a stream is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// The line is not JSON of the expected form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Bytes are not encoded as base64.
    #[error(transparent)]
    Base64(#[from] base64::DecodeError),
    /// A user has a field that this site does not accept.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// No line has the contest.
    #[error("the stream has no contest")]
    NoContest,
    /// The last line is missing.
    #[error("the stream ends too early")]
    EndsEarly,
    /// The first line has another format or version.
    #[error("this is not a contest that this version can read")]
    Format,
    /// A header is not the first line.
    #[error("a second header")]
    SecondHeader,
    /// The last line counts other rows, or comes within a package.
    #[error("rows or parts of a package are missing")]
    Incomplete,
    /// No table has this name.
    #[error("unknown table {0}")]
    UnknownTable(String),
    /// A column is missing, or is not a text.
    #[error("the row lacks the text {0}")]
    NoText(String),
    /// No line before has this package.
    #[error("the package {0} is missing")]
    NoPackage(String),
    /// No line before has this file.
    #[error("the file {0} is missing")]
    NoFile(String),
    /// The name of a file could be interpreted.
    #[error("the file name is unsafe")]
    FileName,
    /// A package begins within another one.
    #[error("the package before it is incomplete")]
    OpenPackage,
    /// A password has another form.
    #[error("the password is not an argon2id hash")]
    Password,
    /// A column that refers to a row is not a number.
    #[error("{0} is not a number")]
    NotANumber(String),
    /// A column refers to a row that no line before has.
    #[error("{column} refers to {id}, which is missing")]
    NoRow {
        /// The column.
        column: String,
        /// The id of the row.
        id: i64,
    },
}

/// Why the package in a stream cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoredFault {
    /// The package cannot be stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The bytes have another digest.
    #[error("the content is damaged")]
    Damaged,
    /// The package cannot be read.
    #[error(transparent)]
    Package(#[from] PackageError),
}
