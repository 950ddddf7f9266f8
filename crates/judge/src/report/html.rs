//! The report as one self-contained page.
//!
//! The page loads nothing, and its content security policy forbids loading. Even text that was not
//! escaped could neither run nor connect to a server.

use super::display::{block, line, mebibytes, points, score_of, seconds, seconds_of, warned};
use super::model::{JudgeReport, SubmissionReport, TestReport, cpu_time_ns};
use super::names::verdict_words;
use crate::verdict::Verdict;
use base64::Engine;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use std::io::{Result, Write};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Writes the page.
///
/// # Errors
/// The page cannot be written.
pub fn write(report: &JudgeReport, mut to: impl Write) -> Result<()> {
    to.write_all(page(report).into_string().as_bytes())?;
    to.write_all(b"\n")
}

fn page(report: &JudgeReport) -> Markup {
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}",
        hash(STYLE),
        hash(SCRIPT)
    );
    let title = format!(
        "{} ({})",
        line(&report.problem.name),
        line(&report.problem.label)
    );
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                (facts(report))
                (overview(report))
                @if !report.warnings.is_empty() {
                    h2 { "Warnings of the package" }
                    ul {
                        @for warning in &report.warnings { li { (warned(warning)) } }
                    }
                }
                @for (index, submission) in report.submissions.iter().enumerate() {
                    (details(report, index, submission))
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// Formats a hash for a content security policy.
fn hash(content: &str) -> String {
    let digest = Sha256::digest(content.as_bytes());
    format!(
        "'sha256-{}'",
        base64::engine::general_purpose::STANDARD.encode(digest)
    )
}

fn facts(report: &JudgeReport) -> Markup {
    let machine = &report.machine;
    let limits = &report.limits;
    html! {
        dl.facts {
            dt { "Judged" }
            dd {
                (humantime::format_rfc3339_seconds(report.started))
                ", in " (seconds(report.duration_ns)) " s"
            }
            dt { "Limits" }
            dd {
                (seconds_of(limits.cpu_time_ns, limits.cpu_time_ns)) " s CPU time, "
                (seconds_of(limits.real_time_ns, limits.real_time_ns)) " s real time, "
                (mebibytes(limits.memory_bytes)) " MiB memory"
            }
            dt { "Machine" }
            dd {
                "Linux " (line(&machine.kernel)) ", " (machine.cpus) " CPUs"
                @if let Some(model) = &machine.cpu_model { " (" (line(model)) ")" }
                ", backend " (machine.backend)
            }
            dt { "Format" }
            dd { (report.problem.format) }
        }
    }
}

fn overview(report: &JudgeReport) -> Markup {
    html! {
        table.sortable {
            thead {
                tr {
                    th { "submission" }
                    th { "language" }
                    th { "verdict" }
                    @if report.problem.scoring { th { "score" } }
                    th { "slowest, s" }
                    th { "memory, MiB" }
                    th { "expected" }
                }
            }
            tbody {
                @for (index, submission) in report.submissions.iter().enumerate() {
                    @let tests = &submission.tests;
                    @let slowest = tests.iter().filter_map(TestReport::cpu_time_ns).max();
                    @let figures = tests.iter().filter_map(|test| test.figures);
                    @let most = figures.map(|figures| figures.peak_memory_bytes).max();
                    tr.unexpected[submission.as_expected == Some(false)] {
                        td { a href={ "#s" (index) } { (line(&submission.name)) } }
                        td { (submission.suite.as_deref().map(line).unwrap_or_default()) }
                        td { (badge(submission.verdict, submission.words())) }
                        @if report.problem.scoring {
                            (number(submission.score.map(points), submission.score))
                        }
                        (number(slowest.map(seconds), slowest.map(|ns| ns as f64)))
                        (number(most.map(mebibytes), most.map(|bytes| bytes as f64)))
                        td { (as_expected(submission)) }
                    }
                }
            }
        }
    }
}

fn as_expected(submission: &SubmissionReport) -> Markup {
    let expected = submission.expected_words().unwrap_or_default();
    match submission.as_expected {
        Some(true) => html! { (expected) },
        Some(false) => html! { strong { "expected " (expected) } },
        None => html! { (expected) },
    }
}

fn details(report: &JudgeReport, index: usize, submission: &SubmissionReport) -> Markup {
    let scoring = report.problem.scoring;
    html! {
        section id={ "s" (index) } {
            h2 { (line(&submission.name)) " " (badge(submission.verdict, submission.words())) }
            @if !submission.reason.is_empty() { p { (line(&submission.reason)) } }
            @if let Some(score) = submission.score {
                p { (score_of(score, submission.max_score, submission.best_score)) }
            }
            @if let Some(compilation) = &submission.compilation { (compiled(compilation)) }
            @if scoring { (groups(submission)) }
            details open {
                summary { "Tests" }
                table.sortable {
                    thead {
                        tr {
                            th { "test" }
                            th { "verdict" }
                            th { "time / limit, s" }
                            th { "real, s" }
                            th { "memory / limit, MiB" }
                            @if scoring { th { "score" } }
                            th { "comment" }
                        }
                    }
                    tbody { @for test in &submission.tests { (row(test, scoring)) } }
                }
            }
        }
    }
}

fn compiled(compilation: &super::model::CompilationReport) -> Markup {
    html! {
        @if let Some(figures) = &compilation.figures {
            p {
                "Compiled in " (seconds(figures.real_time_ns)) " s ("
                (seconds(cpu_time_ns(figures))) " s CPU time, "
                (mebibytes(figures.peak_memory_bytes)) " MiB)"
            }
        } @else if compilation.from_cache {
            p { "Compiled before" }
        }
        @if !compilation.messages.is_empty() {
            details {
                summary { "Compiler messages" }
                pre { (block(&compilation.messages)) }
            }
        }
    }
}

fn groups(submission: &SubmissionReport) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { "group" }
                    th { "verdict" }
                    th { "score" }
                    th { "best" }
                    th { "why" }
                }
            }
            tbody {
                // The first group is the submission itself.
                @for group in submission.groups.iter().skip(1) {
                    @let words = group.verdict.map_or("not judged", verdict_words);
                    tr {
                        td { (line(&group.name)) }
                        td { (badge(group.verdict, words)) }
                        (number(group.score.map(points), group.score))
                        (number(group.best_score.map(points), group.best_score))
                        td.comment { (line(&group.reason)) }
                    }
                }
            }
        }
    }
}

fn row(test: &TestReport, scoring: bool) -> Markup {
    let limits = test.limits.as_ref();
    let time = test
        .cpu_time_ns()
        .zip(limits.map(|limits| limits.cpu_time_ns));
    let memory = test
        .figures
        .map(|figures| figures.peak_memory_bytes)
        .zip(test.memory_limit_bytes());
    let real = test.figures.map(|figures| figures.real_time_ns);
    let cpus = test
        .cpus
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    html! {
        tr {
            td title=[(!cpus.is_empty()).then(|| format!("on CPU {cpus}"))] { (line(&test.name)) }
            td { (badge(test.verdict, test.words())) }
            (bar(time, seconds_of))
            (number(real.map(seconds), real.map(|ns| ns as f64)))
            (bar(memory, |bytes, _| mebibytes(bytes)))
            @if scoring { (number(test.score.map(points), test.score)) }
            td.comment {
                @if !test.reason.is_empty() { span.reason { (line(&test.reason)) } " " }
                (block(&test.comment))
            }
        }
    }
}

/// Renders a cell with a figure, its limit and a bar. `shown` formats a figure beside its limit.
/// The bar is an SVG, because the page's policy forbids style attributes.
fn bar(pair: Option<(u64, u64)>, shown: fn(u64, u64) -> String) -> Markup {
    let Some((used, limit)) = pair else {
        return html! { td {} };
    };
    let part = if limit == 0 {
        100.0
    } else {
        (used as f64 / limit as f64 * 100.0).min(100.0)
    };
    html! {
        td.number data-sort=(used) {
            (shown(used, limit)) " / " (shown(limit, limit))
            svg.bar viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
                rect.whole width="100" height="4" {}
                rect.used.full[part >= 100.0] width=(format!("{part:.1}")) height="4" {}
            }
        }
    }
}

fn number(shown: Option<String>, sort: Option<f64>) -> Markup {
    html! { td.number data-sort=[sort] { (shown.unwrap_or_default()) } }
}

fn badge(verdict: Option<Verdict>, words: &str) -> Markup {
    let class = match verdict {
        Some(Verdict::Accepted) => "good",
        Some(Verdict::JudgeError) => "error",
        Some(_) => "bad",
        None => "none",
    };
    html! { span class={ "badge " (class) } { (words) } }
}
