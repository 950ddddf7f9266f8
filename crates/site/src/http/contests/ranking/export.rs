//! Rankings for spreadsheets and programs.

use crate::core::standings::{Cell, Row, Table, Total};
use crate::db::contest::Mode;
use serde_json::{Value, json};

/// Text that spreadsheets do not evaluate. They treat text that begins with certain characters as a
/// formula, so an apostrophe precedes these characters.
fn plain(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let is_number = text.parse::<f64>().is_ok();
    let guard = if is_formula && !is_number { "'" } else { "" };
    format!("{guard}{text}")
}

/// Comma-separated values (RFC 4180). An empty line separates tables.
pub fn csv(tables: &[Table]) -> String {
    let tables: Vec<String> = tables.iter().map(csv_table).collect();
    tables.join("\r\n")
}

fn csv_table(table: &Table) -> String {
    let fixed: &[&str] = match table.mode {
        Mode::Points => &["Place", "Name", "Organization", "Group", "Sum"],
        Mode::Icpc => &[
            "Place",
            "Name",
            "Organization",
            "Group",
            "Solved",
            "Penalty",
        ],
    };
    let labels = table.problems.iter().map(|problem| problem.label.clone());
    let head: Vec<String> = fixed
        .iter()
        .map(|&text| text.into())
        .chain(labels)
        .collect();
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    for line in std::iter::once(head).chain(table.rows.iter().map(csv_row)) {
        // Writing to memory succeeds.
        let _ = writer.write_record(line.iter().map(|text| plain(text)));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn csv_row(row: &Row) -> Vec<String> {
    let mut fields = vec![
        row.place.map(|place| place.to_string()).unwrap_or_default(),
        row.name.clone(),
        row.organization.clone(),
        row.group.clone(),
    ];
    match row.total {
        Total::Points(score) => fields.push(score.to_string()),
        Total::Icpc {
            solved, penalty, ..
        } => fields.extend([solved.to_string(), penalty.to_string()]),
    }
    fields.extend(row.cells.iter().map(|cell| {
        match cell {
            Cell::Points { found: None, .. } => String::new(),
            Cell::Points {
                found: Some(found), ..
            } => found
                .score
                .map_or("?".to_owned(), |score| score.to_string()),
            // The number of attempts and the minute, as in `2 83`.
            Cell::Icpc(cell) => match cell.solved {
                Some(solved) => format!("{} {}", cell.wrong + 1, solved.minutes()),
                None if cell.wrong > 0 => format!("-{}", cell.wrong),
                None => String::new(),
            },
        }
    }));
    fields
}

/// JSON.
pub fn json(tables: &[Table]) -> String {
    let tables: Vec<Value> = tables.iter().map(json_table).collect();
    json!({ "tables": tables }).to_string()
}

fn json_table(table: &Table) -> Value {
    let problems = table.problems.iter().map(|problem| {
        json!({
            "id": problem.id,
            "label": problem.label,
            "name": problem.name,
            "colour": problem.colour,
        })
    });
    json!({
        "rounds": table.rounds,
        "mode": table.mode.text(),
        "penalty_minutes": table.penalty_minutes,
        "frozen_since": table.frozen_since.and_then(|time| time.rfc3339()),
        "problems": problems.collect::<Vec<_>>(),
        "rows": table.rows.iter().map(json_row).collect::<Vec<_>>(),
    })
}

fn json_row(row: &Row) -> Value {
    let total = match row.total {
        Total::Points(score) => json!({ "points": score.to_string() }),
        Total::Icpc {
            solved,
            penalty,
            last,
        } => json!({ "solved": solved, "penalty": penalty, "last_minute": last }),
    };
    json!({
        "place": row.place,
        "participant": row.participant,
        "name": row.name,
        "organization": row.organization,
        "group": row.group,
        "unofficial": row.unofficial,
        "total": total,
        "cells": row.cells.iter().map(json_cell).collect::<Vec<_>>(),
    })
}

fn json_cell(cell: &Cell) -> Value {
    match cell {
        Cell::Points { found, pending } => json!({
            "points": found.and_then(|found| found.score).map(|score| score.to_string()),
            "verdict": found.and_then(|found| found.verdict).map(|verdict| verdict.text()),
            "pending": pending,
        }),
        Cell::Icpc(cell) => json!({
            "wrong": cell.wrong,
            "pending": cell.pending,
            "minute": cell.solved.map(|solved| solved.minutes()),
            "is_first": cell.solved.is_some_and(|solved| solved.is_first),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_compute_nothing() {
        let table = [
            ("Ada", "Ada"),
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("-3", "-3"),
            ("-3+cmd", "'-3+cmd"),
        ];
        for (text, expected) in table {
            assert_eq!(plain(text), expected);
        }
    }
}
