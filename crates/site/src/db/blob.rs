//! The files to which rows refer by digest.

use super::{Db, Executor, Result, record, values};
use crate::blobs::is_digest;
use std::collections::HashSet;

record! { Text { text: String, } }

/// A column with digests, alone or within other text, and the statement that reads it.
type Column = (&'static str, &'static str, &'static str);

macro_rules! column {
    ($table:literal, $column:literal) => {
        (
            $table,
            $column,
            concat!(
                "SELECT ",
                $column,
                " AS text FROM ",
                $table,
                " WHERE ",
                $column,
                " IS NOT NULL"
            ),
        )
    };
}

/// Every column that refers to files. The site removes a file after a day if none of these columns
/// refers to it.
const COLUMNS: &[Column] = &[
    column!("package_version", "digest"),
    column!("contest_file", "digest"),
    // Statements and images.
    column!("package_version", "manifest"),
    // Archives and statements of jobs, including jobs that have failed and can be started again.
    column!("job", "args"),
];

/// The digests in a text.
fn digests(row: &Text) -> Vec<String> {
    let words = row
        .text
        .split(|symbol: char| !symbol.is_ascii_alphanumeric());
    words
        .filter(|word| is_digest(word))
        .map(str::to_owned)
        .collect()
}

/// The digests of all files to which rows refer.
pub async fn named(db: &Db) -> Result<HashSet<String>> {
    let mut named = HashSet::new();
    let mut tx = db.snapshot().await?;
    for (_, _, sql) in COLUMNS {
        let rows: Vec<Text> = tx.all(sql, values![]).await?;
        for row in rows {
            named.extend(digests(&row));
        }
    }
    Ok(named)
}

/// The digests of all files that a user has added.
pub async fn of_user(db: &Db, user: i64) -> Result<HashSet<String>> {
    let mut named = HashSet::new();
    for sql in [
        "SELECT digest AS text FROM package_version WHERE created_by = $1",
        "SELECT manifest AS text FROM package_version WHERE created_by = $1",
        "SELECT digest AS text FROM contest_file WHERE modified_by = $1",
        "SELECT args AS text FROM job WHERE created_by = $1",
    ] {
        named.extend(db.all(sql, values![user]).await?.iter().flat_map(digests));
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{migrate, schema};

    record! { Table { name: String, } }

    async fn tables(tx: &mut crate::db::Tx) -> Vec<String> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
        let tables: Vec<Table> = tx.all(sql, values![]).await.unwrap();
        tables.into_iter().map(|table| table.name).collect()
    }

    #[tokio::test]
    async fn every_table_is_described() {
        const PAGE: &str = include_str!("../../../../docs/internals/site.md");
        let directory = tempfile::tempdir().unwrap();
        let db = Db::sqlite(&directory.path().join("site.db")).await.unwrap();
        migrate::migrate(&db).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        for table in tables(&mut tx).await {
            assert!(PAGE.contains(&format!("`{table}`")), "{table}");
        }
    }

    #[tokio::test]
    async fn every_column_of_digests_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let db = Db::sqlite(&directory.path().join("site.db")).await.unwrap();
        migrate::migrate(&db).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        for table in tables(&mut tx).await {
            for column in schema::columns(&mut tx, &table).await.unwrap() {
                let parts = ["digest", "sha256", "blob"];
                let names_files = parts.iter().any(|part| column.contains(part));
                let mut known = COLUMNS.iter();
                let is_known = known.any(|(of, name, _)| *of == table && *name == column);
                assert!(is_known || !names_files, "{table}.{column} is not read");
            }
        }
    }
}
