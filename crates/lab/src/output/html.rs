//! Renders all reports as one page that loads no other file.

use super::plot::Plot;
use super::{claim_numbers, claim_words, rows};
use crate::{ClaimStatus, Report};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");

/// The heading of criterion's output.
pub const PIECES_HEADING: &str = "Pieces inside one process";

/// Renders the page. `plots` contains the plots of each table for each report, and `pieces` is
/// criterion's output.
pub fn page(reports: &[Report], plots: &[Vec<Vec<Plot>>], pieces: Option<&str>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "millibox: the lab" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "millibox: the lab" }
                @if let Some(first) = reports.first() { (machine(first)) }
                (claims_table(reports))
                nav {
                    ul {
                        @for report in reports {
                            li { a href={ "#" (report.experiment) } { (report.title) } }
                        }
                        @if pieces.is_some() { li { a href="#pieces" { (PIECES_HEADING) } } }
                    }
                }
                @for (report, plots) in reports.iter().zip(plots) { (experiment(report, plots)) }
                @if let Some(pieces) = pieces {
                    section id="pieces" { h2 { (PIECES_HEADING) } pre { (pieces) } }
                }
                (reading_guide())
            }
        }
    };
    page.into_string()
}

fn machine(report: &Report) -> Markup {
    let machine = &report.machine;
    let busy = machine.load_before.is_some_and(|load| load > 0.5);
    html! {
        p {
            (machine.summary_line()) ", backend " (report.backend)
            ", millibox " (report.millibox) "."
        }
        p {
            "Started " (report.started) " by " code { (report.command) }
            ", scale " (report.scale) ", seed " (report.seed) "."
        }
        @if busy {
            p.warning { "The machine was busy before the measurement. The times are unreliable, \
                and the ratios are only slightly better." }
        }
    }
}

fn claims_table(reports: &[Report]) -> Markup {
    html! {
        @if reports.iter().any(|report| !report.claims.is_empty()) {
            h2 { "Targets" }
            table {
                thead {
                    tr {
                        th { "target" } th.number { "at most" }
                        th.number { "measured [95 %]" } th { "met" }
                    }
                }
                tbody {
                    @for report in reports {
                        @for claim in &report.claims {
                            @let [at_most, found] = claim_numbers(claim);
                            tr.(class(claim.holds)) {
                                td { a href={ "#" (report.experiment) } { (claim.what) } }
                                td.number { (at_most) }
                                td.number { (found) }
                                td { (claim_words(claim)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn class(holds: ClaimStatus) -> &'static str {
    match holds {
        ClaimStatus::Yes => "yes",
        ClaimStatus::No => "no",
        ClaimStatus::Unclear => "unclear",
    }
}

fn experiment(report: &Report, plots: &[Vec<Plot>]) -> Markup {
    html! {
        section id=(report.experiment) {
            h2 { (report.title) }
            p { (report.about) }
            p.small {
                code { "millibox-lab " (report.experiment) }
                ": " (format!("{:.0}", report.seconds)) " s, " (report.started)
            }
            @for note in &report.notes { p.note { (note) } }
            @for (table, plots) in report.tables.iter().zip(plots) {
                h3 { (table.title) }
                @for plot in plots { figure { (PreEscaped(&plot.svg)) } }
                @for rows in rows::of(report, table) {
                    table {
                        caption { (rows.heading) }
                        thead {
                            tr {
                                @for (at, column) in rows.columns.iter().enumerate() {
                                    th.number[at > 0] { (column) }
                                }
                            }
                        }
                        tbody {
                            @for row in &rows.rows {
                                tr {
                                    @for (at, cell) in row.iter().enumerate() {
                                        td.number[at > 0] { (cell) }
                                    }
                                }
                            }
                        }
                    }
                }
                @if table.variants.iter().any(|variant| !variant.about.is_empty())
                    || !table.missing.is_empty() {
                    dl {
                        @for variant in table.variants.iter()
                            .filter(|variant| !variant.about.is_empty()) {
                            dt { (variant.name) } dd { (variant.about) }
                        }
                        @for missing in &table.missing {
                            dt { (missing.name) }
                            dd.missing { "not measured: " (missing.why) }
                        }
                    }
                }
            }
            @if !report.versions.is_empty() {
                h3 { "Versions" }
                dl { @for (name, version) in &report.versions { dt { (name) } dd { (version) } } }
            }
        }
    }
}

fn reading_guide() -> Markup {
    html! {
        section {
            h2 { "How to read this" }
            p {
                "The variants of a comparison alternate, in a random order in each round, so all \
                 variants are measured under the same conditions. A box extends from the first to \
                 the third quartile, and its bar is the median. Whiskers extend to the last sample \
                 within 1.5 times the height of the box, and points are samples beyond the \
                 whiskers. Ratios are relative to the first variant, with the 95 % percentile \
                 interval of a bootstrap that draws whole rounds. If the interval contains 1, the \
                 measurement shows no difference. A target is met if the whole interval is at or \
                 below the bound, and unclear if the interval contains the bound."
            }
        }
    }
}
