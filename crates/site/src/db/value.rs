//! Values of statements.

use super::DbError;
use crate::core::time::Time;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Postgres, Sqlite};

/// A value for a placeholder.
#[derive(Debug, Clone)]
pub enum Value {
    /// A number or nothing.
    Integer(Option<i64>),
    /// A text or nothing.
    Text(Option<String>),
    /// Bytes.
    Bytes(Vec<u8>),
}

macro_rules! value_from {
    ($($kind:ty => $value:ident: $with:expr;)*) => { $(
        impl From<$kind> for Value {
            fn from($value: $kind) -> Value { $with }
        }
    )* };
}

value_from! {
    i64 => value: Value::Integer(Some(value));
    Option<i64> => value: Value::Integer(value);
    bool => value: Value::Integer(Some(value.into()));
    Time => value: Value::Integer(Some(value.0));
    Option<Time> => value: Value::Integer(value.map(|time| time.0));
    &str => value: Value::Text(Some(value.to_owned()));
    String => value: Value::Text(Some(value));
    &String => value: Value::Text(Some(value.clone()));
    Option<String> => value: Value::Text(value);
    Vec<u8> => value: Value::Bytes(value);
    &[u8] => value: Value::Bytes(value.to_vec());
    [u8; 32] => value: Value::Bytes(value.to_vec());
}

/// The values of a statement, in the order of its placeholders.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::db::Value::from($value)),*] };
}

pub(crate) use values;

/// Refuses texts that PostgreSQL does not store, in both databases.
pub(super) fn check(values: &[Value]) -> Result<(), DbError> {
    let has_zero = |value: &Value| matches!(value, Value::Text(Some(text)) if text.contains('\0'));
    match values.iter().any(has_zero) {
        true => Err(DbError::ZeroByte),
        false => Ok(()),
    }
}

/// A message of a program, with a visible replacement of the character that cannot be stored.
pub(super) fn message(text: &str) -> String {
    text.replace('\0', "\u{2400}")
}

macro_rules! binder {
    ($name:ident, $database:ty, $arguments:ty) => {
        /// Binds the values to the statement.
        pub(super) fn $name<'q>(
            mut query: Query<'q, $database, $arguments>,
            values: Vec<Value>,
        ) -> Query<'q, $database, $arguments> {
            for value in values {
                query = match value {
                    Value::Integer(value) => query.bind(value),
                    Value::Text(value) => query.bind(value),
                    Value::Bytes(value) => query.bind(value),
                };
            }
            query
        }
    };
}

binder!(bind_sqlite, Sqlite, SqliteArguments);
binder!(bind_postgres, Postgres, PgArguments);

/// Defines an enumeration that is stored and sent as text.
macro_rules! text_enum {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
        )]
        pub enum $name { $($(#[$variant_meta])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            /// All values.
            #[allow(dead_code, reason = "not every enumeration is listed")]
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The stored text.
            pub fn text(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            /// The value of a stored text.
            pub fn of_text(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }

        $crate::db::stored_as_text!($name);
    };
}

pub(crate) use text_enum;

/// Stores an enumeration with the functions `text` and `of_text`.
macro_rules! stored_as_text {
    ($name:ident) => {
        impl $crate::db::Column for $name {
            fn of(row: &$crate::db::Row, column: &str) -> $crate::db::Result<Self> {
                let text: String = row.get(column)?;
                $name::of_text(&text).ok_or_else(|| $crate::db::DbError::Value {
                    column: column.to_owned(),
                })
            }
        }

        impl $crate::db::Column for Option<$name> {
            fn of(row: &$crate::db::Row, column: &str) -> $crate::db::Result<Self> {
                let Some(text) = row.get::<Option<String>>(column)? else {
                    return Ok(None);
                };
                $name::of_text(&text)
                    .map(Some)
                    .ok_or_else(|| $crate::db::DbError::Value {
                        column: column.to_owned(),
                    })
            }
        }

        impl From<$name> for $crate::db::Value {
            fn from(value: $name) -> $crate::db::Value {
                value.text().into()
            }
        }
    };
}

pub(crate) use stored_as_text;
