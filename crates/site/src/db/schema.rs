//! Rows of tables that are read and written by the names of their columns, for exports.

use super::{DbError, Executor, Result, Row, Tx, Value, record, value, values};
use sqlx::{AssertSqlSafe, Column as _, Row as _, TypeInfo as _, ValueRef as _};
use std::collections::HashMap;

/// A row as the names and values of its columns. Columns without a value are left out.
pub type Fields = Vec<(String, Value)>;

impl Row {
    /// All columns that have a value.
    ///
    /// # Errors
    /// A column has a type that the tables of the site do not use.
    pub fn fields(&self) -> Result<Fields> {
        match self {
            Row::Sqlite(row) => {
                let columns = row.columns().iter();
                let names = columns.map(|column| column.name().to_owned());
                let fields = names.map(|name| {
                    let kind = row.try_get_raw(name.as_str())?;
                    let kind = (!kind.is_null()).then(|| kind.type_info().name().to_owned());
                    Ok((self.field(&name, kind.as_deref())?, name))
                });
                present(fields)
            }
            Row::Postgres(row) => {
                let columns = row.columns().iter();
                let names = columns.map(|column| column.name().to_owned());
                let fields = names.map(|name| {
                    let kind = row.try_get_raw(name.as_str())?;
                    let kind = (!kind.is_null()).then(|| kind.type_info().name().to_owned());
                    Ok((self.field(&name, kind.as_deref())?, name))
                });
                present(fields)
            }
        }
    }

    fn field(&self, name: &str, kind: Option<&str>) -> Result<Option<Value>> {
        Ok(Some(match kind {
            None => return Ok(None),
            Some("INTEGER" | "INT8") => self.get::<i64>(name)?.into(),
            Some("TEXT") => self.get::<String>(name)?.into(),
            Some("BLOB" | "BYTEA") => self.get::<Vec<u8>>(name)?.into(),
            Some(_) => {
                return Err(DbError::Value {
                    column: name.to_owned(),
                });
            }
        }))
    }
}

fn present(fields: impl Iterator<Item = Result<(Option<Value>, String)>>) -> Result<Fields> {
    let mut present = Fields::new();
    for field in fields {
        if let (Some(value), name) = field? {
            present.push((name, value));
        }
    }
    Ok(present)
}

record! { Name { name: String, } }

/// The columns of a table; empty if the database has no such table.
pub async fn columns(tx: &mut Tx, table: &str) -> Result<Vec<String>> {
    let names: Vec<Name> = match tx {
        Tx::Sqlite(_) => {
            let sql = "SELECT name FROM pragma_table_info($1)";
            tx.all(sql, values![table]).await?
        }
        Tx::Postgres(_) => {
            let sql = "SELECT column_name::TEXT AS name FROM information_schema.columns
                 WHERE table_schema = current_schema() AND table_name = $1";
            tx.all(sql, values![table]).await?
        }
    };
    Ok(names.into_iter().map(|row| row.name).collect())
}

/// Whether the database has tables.
pub async fn is_empty(tx: &mut Tx) -> Result<bool> {
    let sql = match tx {
        Tx::Sqlite(_) => "SELECT name FROM sqlite_schema LIMIT 1",
        Tx::Postgres(_) => {
            "SELECT tablename::TEXT AS name FROM pg_tables
             WHERE schemaname = current_schema() LIMIT 1"
        }
    };
    Ok(tx.rows(sql, values![]).await?.is_empty())
}

/// The columns of tables to which rows are added.
#[derive(Debug, Default)]
pub struct Columns(HashMap<String, Vec<String>>);

impl Columns {
    /// Adds a row. Returns its column `id` if `has_id`.
    ///
    /// # Errors
    /// The table has no such columns, or the database rejects the row.
    pub async fn insert(
        &mut self,
        tx: &mut Tx,
        table: &str,
        row: Fields,
        has_id: bool,
    ) -> Result<Option<i64>> {
        if !self.0.contains_key(table) {
            let known = columns(tx, table).await?;
            self.0.insert(table.to_owned(), known);
        }
        insert(tx, table, &self.0[table], row, has_id).await
    }
}

async fn insert(
    tx: &mut Tx,
    table: &str,
    known: &[String],
    row: Fields,
    has_id: bool,
) -> Result<Option<i64>> {
    if let Some((column, _)) = row.iter().find(|(name, _)| !known.contains(name)) {
        let column = format!("{table}.{column}");
        return Err(DbError::Value { column });
    }
    if known.is_empty() {
        return Err(DbError::Value {
            column: table.to_owned(),
        });
    }
    let (names, values): (Vec<String>, Vec<Value>) = row.into_iter().unzip();
    let places: Vec<String> = (1..=names.len())
        .map(|number| format!("${number}"))
        .collect();
    let returning = if has_id { " RETURNING id" } else { "" };
    let sql = format!(
        "INSERT INTO {table} ({}) VALUES ({}){returning}",
        names.join(", "),
        places.join(", ")
    );
    // The table exists, and so do the columns: `columns` has returned their names.
    let sql = AssertSqlSafe(sql);
    let row = match tx {
        Tx::Sqlite(tx) => {
            let query = value::bind_sqlite(sqlx::query(sql), values);
            query.fetch_optional(&mut **tx).await?.map(Row::Sqlite)
        }
        Tx::Postgres(tx) => {
            let query = value::bind_postgres(sqlx::query(sql), values);
            query.fetch_optional(&mut **tx).await?.map(Row::Postgres)
        }
    };
    row.filter(|_| has_id).map(|row| row.get("id")).transpose()
}
