//! Renders reports as Markdown.

use super::{claim_numbers, claim_words, rows};
use crate::Report;
use std::fmt::Write;

/// Renders one report with a heading of level two.
pub fn report(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |words: &str| {
        text.push_str(words);
        text.push('\n');
    };
    line(&format!("## {}\n", report.title));
    line(&format!("{}\n", report.about));
    line(&format!(
        "`{}`, experiment `{}`, scale {}, seed {}, {}, {:.0} s. Backend {}, millibox {}. {}.",
        report.command,
        report.experiment,
        report.scale,
        report.seed,
        report.started,
        report.seconds,
        report.backend,
        report.millibox,
        report.machine.summary_line()
    ));
    if !report.claims.is_empty() {
        line("\n| target | at most | measured [95 %] | met |\n| --- | --- | --- | --- |");
        for claim in &report.claims {
            let [at_most, found] = claim_numbers(claim);
            line(&format!(
                "| {} | {at_most} | {found} | {} |",
                cell(&claim.what),
                claim_words(claim)
            ));
        }
    }
    for table in &report.tables {
        line(&format!("\n### {}", table.title));
        for rows in rows::of(report, table) {
            line(&format!("\n{}:\n", rows.heading));
            line(&rows_of(&rows));
        }
        for variant in table
            .variants
            .iter()
            .filter(|variant| !variant.about.is_empty())
        {
            line(&format!("* {}: {}", variant.name, variant.about));
        }
        for missing in &table.missing {
            line(&format!(
                "* {}: not measured: {}",
                missing.name,
                cell(&missing.why)
            ));
        }
    }
    if !report.versions.is_empty() {
        line("\nVersions:\n");
        for (name, version) in &report.versions {
            line(&format!("* {name}: {}", cell(version)));
        }
    }
    if !report.notes.is_empty() {
        line("\nNotes:\n");
        for note in &report.notes {
            line(&format!("* {note}"));
        }
    }
    text
}

fn rows_of(rows: &rows::TextTable) -> String {
    let mut text = String::new();
    let row = |cells: &[String]| {
        cells
            .iter()
            .map(|words| cell(words))
            .collect::<Vec<_>>()
            .join(" | ")
    };
    let _ = writeln!(text, "| {} |", row(&rows.columns));
    let _ = writeln!(text, "| --- |{}", " ---: |".repeat(rows.columns.len() - 1));
    for cells in &rows.rows {
        let _ = writeln!(text, "| {} |", row(cells));
    }
    text
}

/// Prepares text for a cell, by removing line breaks and escaping pipes.
fn cell(words: &str) -> String {
    words
        .replace('|', "\\|")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
