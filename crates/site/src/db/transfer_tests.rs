//! The tables of an export, compared with those of the database.

use super::*;
use crate::db::{Db, migrate};

/// Tables that an export leaves out.
const LEFT_OUT: &[&str] = &[
    "schema_version",
    // Only a few columns are exported, and an import finds the users by their logins.
    "users",
    // Secrets.
    "session",
    "entry_link",
    "recovery_code",
    "reset_link",
    "api_token",
    "identity",
    // Specific to one site.
    "fleet_worker",
    "fault",
    "attempt_failure",
    "rejudging",
    "job",
    "job_key",
    "job_line",
    "measurement",
    // It is made again by a click.
    "similar_report",
    "similar_pair",
    "problem_tag",
    "setting",
    "idempotency_key",
    "audit",
    "clarification_seen",
    // Triggers fill it.
    "submission_part",
    // What happened in the rooms of one site.
    "balloon",
    "print_request",
    // Practice on one site.
    "virtual_start",
    // Teachers have their classes on one site.
    "class",
    "class_member",
    "class_problem",
];

record! { Reference { source: String, field: String, target: String, } }

record! { TableName { name: String, } }

fn table_of(target: Target) -> &'static str {
    match target {
        Target::User => "users",
        other => {
            let mut tables = TABLES.iter();
            let table = tables.find(|table| table.is == Some(other));
            table.expect("a table of each target").name
        }
    }
}

/// All tables of a database of the latest version, and the references between them.
async fn schema() -> (Vec<TableName>, Vec<Reference>) {
    let directory = tempfile::tempdir().unwrap();
    let db = Db::sqlite(&directory.path().join("site.db")).await.unwrap();
    migrate::migrate(&db).await.unwrap();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let references =
        "SELECT tables.name AS source, keys.\"from\" AS field, keys.\"table\" AS target
         FROM sqlite_schema AS tables JOIN pragma_foreign_key_list(tables.name) AS keys
         WHERE tables.type = 'table'";
    let tables = (&db).all(tables, values![]).await.unwrap();
    let references = (&db).all(references, values![]).await.unwrap();
    db.close().await;
    (tables, references)
}

#[tokio::test]
async fn each_table_is_exported_or_left_out_with_a_reason() {
    for TableName { name } in schema().await.0 {
        let is_exported = TABLES.iter().any(|table| table.name == name);
        assert_ne!(
            is_exported,
            LEFT_OUT.contains(&name.as_str()),
            "add the table {name} to TABLES of db/transfer.rs, or to LEFT_OUT with the reason"
        );
    }
}

#[tokio::test]
async fn references_of_exported_tables_get_new_ids() {
    let references = schema().await.1;
    assert!(references.len() > 10, "{references:?}");
    for Reference {
        source,
        field,
        target,
    } in references
    {
        let Some(table) = TABLES.iter().find(|table| table.name == source) else {
            continue;
        };
        let known = table
            .references
            .iter()
            .any(|(column, to)| *column == field && table_of(*to) == target);
        let is_omitted = OMITTED.contains(&(source.as_str(), field.as_str()));
        assert!(
            known || is_omitted,
            "{source}.{field} refers to {target}: add it to the references in db/transfer.rs"
        );
    }
}

#[test]
fn rows_refer_to_earlier_tables() {
    for (index, table) in TABLES.iter().enumerate() {
        for (column, target) in table.references {
            let mut earlier = TABLES[..index].iter();
            assert!(
                *target == Target::User || earlier.any(|table| table.is == Some(*target)),
                "{}.{column}",
                table.name
            );
        }
    }
}
