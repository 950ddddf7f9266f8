//! Parts that several pages have.

use super::error::{Page, PageError};
use crate::core::package::Manifest;
use crate::core::score::Score;
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::core::visibility::Visible;
use crate::db::judgement::State;
use crate::db::submission::{Kind, Submission};
use axum::extract::Multipart;
use maud::{Markup, PreEscaped, html};
use std::collections::HashMap;

/// Rows of a list before the link to further ones.
pub const PAGE_ROWS: i64 = 100;

/// A point in time.
pub fn time(time: Time) -> Markup {
    match time.rfc3339() {
        Some(machine) => html! {
            time datetime=(machine) title=(time) { (time.words()) }
        },
        None => html! { (time) },
    }
}

/// The state of a round, with the time until it begins or ends. The script counts down.
pub fn round_state(begins: Time, ends: Time, now: Time) -> Markup {
    let until = |time: Time| {
        html! {
            time data-until datetime=(time.rfc3339().unwrap_or_default()) title=(time) {
                (duration(now, time))
            }
        }
    };
    html! {
        p.state {
            @if now < begins {
                span.chip { "Not begun" }
                @if begins != Time::NEVER { span { "Begins in " (until(begins)) } }
            } @else if now < ends {
                span.chip.good { "Running" }
                @if ends != Time::NEVER { span { "Ends in " (until(ends)) } }
            } @else {
                span.chip { "Over" }
            }
        }
    }
}

/// The time between two points, in its two largest units.
fn duration(from: Time, to: Time) -> String {
    let seconds = to.0.saturating_sub(from.0).max(0) / 1_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        (1, _, _) => format!("1 day {hours} h"),
        _ => format!("{days} days {hours} h"),
    }
}

/// What a list shows when it has no rows: the reason, and the next step if the viewer has one.
pub fn empty(text: &str, next: Option<(&str, &str)>) -> Markup {
    html! {
        div.empty {
            p { (text) }
            @if let Some((href, words)) = next { p { (button_link(href, words)) } }
        }
    }
}

/// A link that looks like a button.
pub fn button_link(href: &str, words: &str) -> Markup {
    html! { a.button href=(href) { (words) } }
}

/// A verdict.
pub fn verdict(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Accepted => "chip good",
        Verdict::WrongAnswer | Verdict::RunTimeError | Verdict::CompileError => "chip bad",
        Verdict::TimeLimit | Verdict::MemoryLimit | Verdict::OutputLimit => "chip limit",
    };
    html! { span class=(class) { (verdict.words()) } }
}

/// What the viewer may know of the result of a submission.
pub fn status(submission: &Submission, visible: Visible) -> Markup {
    if submission.state == State::Fault && visible.faults {
        return html! { span.chip.bad { "Judge error" } };
    }
    if submission.state == State::Done && visible.verdict {
        return html! { @if let Some(found) = submission.verdict { (verdict(found)) } };
    }
    if submission.state == State::Cancelled {
        return html! { span.muted { "Not judged" } };
    }
    match (submission.initial_verdict, submission.state) {
        (Some(found), _) => html! { "Initial tests: " (verdict(found)) },
        (None, State::Running) => html! { span.chip.busy { "Judging" } },
        (None, _) => html! { span.chip { "Waiting" } },
    }
}

/// The points that the viewer may know.
pub fn points(submission: &Submission, visible: Visible) -> Markup {
    match submission.score.filter(|_| visible.score) {
        Some(score) => html! {
            (Score(score)) @if let Some(max) = submission.max_score { " / " (Score(max)) }
        },
        None => html! {},
    }
}

/// A list of submissions, each with what the viewer may know of it.
pub fn submissions(list: &[(Submission, Visible)], more: Option<&str>) -> Markup {
    html! {
        div data-live {
            @if list.is_empty() {
                (empty("There are no submissions.", None))
            } @else {
                div.scroll { table {
                    thead {
                        tr {
                            th { "Submission" } th { "User" } th { "Problem" } th { "Language" }
                            th { "Time" } th { "Result" } th.number { "Points" }
                        }
                    }
                    tbody {
                        @for (one, visible) in list {
                            tr.ignored[one.kind == Kind::Ignored] {
                                td { a href={ "/submissions/" (one.id) } { "#" (one.id) } }
                                td { (one.login) }
                                td { (one.problem_name) }
                                td { (one.language) }
                                td { (time(one.submitted_at)) }
                                td {
                                    (status(one, *visible))
                                    @if one.kind == Kind::Ignored { " (ignored)" }
                                    @if one.kind == Kind::Model { " (of the package)" }
                                }
                                td.number { (points(one, *visible)) }
                            }
                        }
                    }
                } }
            }
            @if let (Some(more), Some((last, _))) = (more, list.last())
                && i64::try_from(list.len()).is_ok_and(|rows| rows == PAGE_ROWS) {
                p { a href={ (more) "?before=" (last.id) } { "Earlier submissions" } }
            }
        }
    }
}

/// A size of memory.
pub fn memory(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

/// A duration in milliseconds.
pub fn milliseconds(nanoseconds: u64) -> String {
    format!("{} ms", nanoseconds / 1_000_000)
}

/// The statement of a problem with limits and examples. `files` is the address of its files.
pub fn statement(manifest: &Manifest, markdown: Option<&str>, files: &str) -> Markup {
    let image = |name: &str| {
        let known = manifest.images.iter().any(|image| image.name == name);
        known.then(|| format!("{files}/{name}"))
    };
    html! {
        dl.facts {
            @if let Some(limit) = manifest.cpu_time_ms {
                dt { "Time limit" } dd { (limit) " ms" }
            }
            @if let Some(limit) = manifest.memory_bytes {
                dt { "Memory limit" } dd { (memory(limit)) }
            }
            @if let Some(max) = manifest.max_score {
                dt { "Points" } dd { (Score(max)) }
            }
            @if manifest.interactive { dt { "Kind" } dd { "interactive" } }
        }
        @for statement in manifest.statements.iter().filter(|one| one.is_pdf) {
            p {
                a href={ (files) "/" (statement.language) ".pdf" } {
                    "Statement as PDF (" (statement.language) ")"
                }
            }
        }
        @if let Some(text) = markdown {
            div.statement { (PreEscaped(crate::core::markdown::render(text, image))) }
        }
        @for (number, sample) in (1..).zip(&manifest.samples) {
            h2 { "Example " (number) }
            div.samples {
                div { h3 { "Input" } pre tabindex="0" { "\n" (sample.input) } }
                div { h3 { "Output" } pre tabindex="0" { "\n" (sample.output) } }
            }
        }
    }
}

/// A choice between the values of an enumeration.
pub fn select(name: &str, label: &str, values: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        label {
            (label)
            select name=(name) {
                @for (value, words) in values {
                    option value=(value) selected[*value == chosen] { (words) }
                }
            }
        }
    }
}

/// Checks the length of a name.
pub fn check_name(name: &str, max: usize) -> Page<()> {
    let length = name.trim().chars().count();
    if (1..=max).contains(&length) {
        return Ok(());
    }
    let why = format!("A name has 1 to {max} characters.");
    Err(PageError::Invalid(why))
}

/// An uploaded file of a form with several parts, and the text of its other fields.
pub struct Upload {
    pub file_name: String,
    pub content: Vec<u8>,
    pub fields: HashMap<String, String>,
}

impl Upload {
    /// Reads a form whose file has the name `file`.
    ///
    /// # Errors
    /// The form is malformed or too large.
    pub async fn read(mut form: Multipart) -> Page<Upload> {
        let mut upload = Upload {
            file_name: String::new(),
            content: Vec::new(),
            fields: HashMap::new(),
        };
        while let Some(part) = form.next_field().await? {
            let name = part.name().unwrap_or_default().to_owned();
            if name == "file" {
                upload.file_name = part.file_name().unwrap_or_default().to_owned();
                upload.content = part.bytes().await?.to_vec();
            } else {
                upload.fields.insert(name, part.text().await?);
            }
        }
        Ok(upload)
    }

    /// The text of a field; empty if it is absent.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}
