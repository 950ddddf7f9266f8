//! Parts that several pages share.

use super::error::Page;
use super::mistake::Mistake;
use super::storable;
use crate::core::judgement::State;
use crate::core::package::{Form, Manifest, Offer};
use crate::core::password;
use crate::core::sample::Sample;
use crate::core::score::Score;
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::core::visibility::Visible;
use crate::db::submission::{Kind, Submission};
use crate::judging::languages::Language;
use crate::text::{self, Message, t};
use axum::extract::Multipart;
use maud::{Markup, PreEscaped, Render, html};
use std::collections::HashMap;
use std::sync::Arc;

/// Where a statement in Markdown shows the next sample, and all that are left (2025-09).
const NEXT_SAMPLE: &str = "<p>{{nextsample}}</p>";
const REMAINING_SAMPLES: &str = "<p>{{remainingsamples}}</p>";
/// Rows of a list before the link to further ones.
pub const PAGE_ROWS: i64 = 100;

/// A point in time, in the zone of the page, which follows it.
pub fn time(time: Time) -> Markup {
    match (time.rfc3339(), text::zone().local(time)) {
        (Some(machine), Some(local)) => html! {
            time datetime=(machine) title=(local.exact()) {
                (time_words(&local.text)) " " (local.label)
            }
        },
        _ if time == Time::ALWAYS => html! { (t::TimeAlways) },
        _ => html! { (t::TimeNever) },
    }
}

/// The words for a time such as `2026-05-01T10:00:00`, with seconds if they are not 0.
fn time_words(local: &str) -> impl Message {
    let part = |range| local.get(range).unwrap_or_default();
    let clock = part(11..19);
    t::TimeWords {
        day: part(8..10).trim_start_matches('0').to_owned(),
        month: part(5..7).parse::<u8>().unwrap_or_default(),
        year: part(0..4).to_owned(),
        clock: clock.strip_suffix(":00").unwrap_or(clock).to_owned(),
    }
}

/// A point in time at the beginning of a line in a log, in the zone of the page.
pub fn line_time(time: Time) -> String {
    let local = text::zone().local(time);
    local.map_or(time.to_string(), |local| local.to_string())
}

/// The whole address of a page of the site, for other programs and for paper.
pub fn address(path: &str) -> String {
    let origin = text::request().map(|request| request.origin);
    format!("{}{path}", origin.unwrap_or_default())
}

/// A new link, to copy.
pub fn new_link(id: &str, path: &str) -> Markup {
    html! { pre id=(id) tabindex="0" { a href=(path) { (address(path)) } } }
}

/// The time until a point in time. The script counts down.
pub fn countdown(until: Time, now: Time) -> Markup {
    let exact = text::zone().local(until).map(|local| local.exact());
    html! {
        time data-until datetime=(until.rfc3339().unwrap_or_default()) title=[exact] {
            (duration(now, until))
        }
    }
}

/// The state of a round, with the time until it begins or ends.
pub fn round_state(begins: Time, ends: Time, now: Time) -> Markup {
    let until = |time: Time| countdown(time, now);
    html! {
        p.state {
            @if now < begins {
                span.chip { (t::RoundNotBegun) }
                @if begins != Time::NEVER { span { (t::RoundBeginsIn { time: until(begins) }) } }
            } @else if now < ends {
                span.chip.good { (t::RoundRunning) }
                @if ends != Time::NEVER { span { (t::RoundEndsIn { time: until(ends) }) } }
            } @else {
                span.chip { (t::RoundOver) }
            }
        }
    }
}

/// The time between two points, in its two largest units.
fn duration(from: Time, to: Time) -> Markup {
    let seconds = to.0.saturating_sub(from.0).max(0) / 1_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => t::DurationSeconds { seconds }.render(),
        (0, 0, _) => {
            let seconds = seconds % 60;
            t::DurationMinutesSeconds { minutes, seconds }.render()
        }
        (0, _, _) => t::DurationHoursMinutes { hours, minutes }.render(),
        _ => t::DurationDays { days, hours }.render(),
    }
}

/// The text of an empty list: the reason, and the next step, if any.
pub fn empty(text: impl Render, next: Option<(&str, &dyn Render)>) -> Markup {
    html! {
        div.empty {
            p { (text) }
            @if let Some((href, words)) = next { p { (button_link(href, words)) } }
        }
    }
}

/// A link that looks like a button.
pub fn button_link(href: &str, words: impl Render) -> Markup {
    html! { a.button href=(href) { (words) } }
}

/// The name of a verdict.
pub fn verdict_words(verdict: Verdict) -> &'static dyn Message {
    match verdict {
        Verdict::Accepted => &t::VerdictAccepted,
        Verdict::WrongAnswer => &t::VerdictWrongAnswer,
        Verdict::TimeLimit => &t::VerdictTimeLimit,
        Verdict::MemoryLimit => &t::VerdictMemoryLimit,
        Verdict::OutputLimit => &t::VerdictOutputLimit,
        Verdict::RunTimeError => &t::VerdictRunTimeError,
        Verdict::CompileError => &t::VerdictCompileError,
    }
}

/// A verdict.
pub fn verdict(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Accepted => "chip good",
        Verdict::WrongAnswer | Verdict::RunTimeError | Verdict::CompileError => "chip bad",
        Verdict::TimeLimit | Verdict::MemoryLimit | Verdict::OutputLimit => "chip limit",
    };
    html! { span class=(class) { (verdict_words(verdict)) } }
}

/// What the viewer may know about the result of a submission.
pub fn status(submission: &Submission, visible: Visible) -> Markup {
    if submission.state == State::Fault && visible.faults {
        return html! { span.chip.bad { (t::StatusJudgeError) } };
    }
    if submission.state == State::Done && visible.verdict {
        return html! { @if let Some(found) = submission.verdict { (verdict(found)) } };
    }
    if !visible.initial {
        return html! { span.chip { (t::StatusReceived) } };
    }
    if submission.state == State::Cancelled {
        return html! { span.muted { (t::StatusNotJudged) } };
    }
    match (submission.initial_verdict, submission.state) {
        (Some(found), _) => t::StatusInitial {
            verdict: verdict(found),
        }
        .render(),
        (None, State::Running) => html! { span.chip.busy { (t::StatusJudging) } },
        (None, _) => html! { span.chip { (t::StatusWaiting) } },
    }
}

/// The points that the viewer may know.
pub fn points(submission: &Submission, visible: Visible) -> Markup {
    match submission.points().filter(|_| visible.score) {
        Some(points) => html! {
            (text::score(points))
            @if let Some(most) = submission.most_points() { " / " (text::score(most)) }
        },
        None => html! {},
    }
}

/// The display name of a language. One that is no longer installed has only its stored name.
pub fn language<'a>(languages: &'a [Language], name: &'a str) -> &'a str {
    let known = languages.iter().find(|one| one.name == name);
    known.map_or(name, |one| &one.title)
}

/// A list of submissions, each with what the viewer may know about it.
pub fn submissions(
    languages: &[Language],
    list: &[(Submission, Visible)],
    more: Option<&str>,
) -> Markup {
    html! {
        div data-live {
            @if list.is_empty() {
                (empty(t::SubmissionsEmpty, None))
            } @else {
                div.scroll { table {
                    thead {
                        tr {
                            th { (t::Submission) } th { (t::User) } th { (t::Problem) }
                            th { (t::Language) } th { (t::Time) } th { (t::Result) }
                            th.number { (t::Points) }
                        }
                    }
                    tbody {
                        @for (one, visible) in list {
                            tr.ignored[one.kind == Kind::Ignored] {
                                td { a href={ "/submissions/" (one.id) } { "#" (one.id) } }
                                td { (one.login) }
                                td { (one.problem_name) }
                                td translate="no" { (language(languages, &one.language)) }
                                td { (time(one.submitted_at)) }
                                td {
                                    (status(one, *visible))
                                    @if one.kind == Kind::Ignored { " " (t::SubmissionIgnored) }
                                    @if one.kind == Kind::Practice { " " (t::SubmissionPractice) }
                                    @if one.kind == Kind::Model { " " (t::SubmissionOfPackage) }
                                }
                                td.number { (points(one, *visible)) }
                            }
                        }
                    }
                } }
            }
            @if let (Some(more), Some((last, _))) = (more, list.last())
                && i64::try_from(list.len()).is_ok_and(|rows| rows == PAGE_ROWS) {
                p { a href={ (more) "?before=" (last.id) } { (t::SubmissionsEarlier) } }
            }
        }
    }
}

/// A size of memory.
pub fn memory(bytes: u64) -> Markup {
    let mib = bytes.div_ceil(1 << 20);
    t::MemoryMib { mib }.render()
}

/// A duration in milliseconds.
pub fn milliseconds(nanoseconds: u64) -> Markup {
    let ms = nanoseconds / 1_000_000;
    t::Milliseconds { ms }.render()
}

/// The languages of statements that suit the reader, the best one first.
pub fn readers_languages() -> [String; 2] {
    [text::current().tag().to_owned(), "en".to_owned()]
}

/// The statement that a page shows.
#[derive(Default)]
pub struct ShownStatement {
    /// The language.
    pub language: String,
    /// The rendered Markdown; `None` if the best statement is a file.
    pub html: Option<Arc<str>>,
    /// The points of the problem in the round that shows it; `None` for those of the package.
    pub max_points: Option<i64>,
}

/// A link to a statement. `files` is the path of the package files.
fn statement_link(offer: &Offer<'_>, files: &str) -> Markup {
    let Offer { language, form, .. } = *offer;
    html! {
        @match form {
            Form::Markdown => a href={ "?statement=" (language) } hreflang=(language) {
                (t::StatementMarkdown { language })
            },
            Form::Pdf => a href={ (files) "/" (language) ".pdf" } hreflang=(language) {
                (t::StatementPdf { language })
            },
            Form::Latex => a href={ (files) "/" (language) ".tex" } hreflang=(language) {
                (t::StatementLatex { language })
            },
        }
    }
}

/// The statement of a problem with limits, examples, and links to its other languages and forms.
pub fn statement(manifest: &Manifest, shown: &ShownStatement, files: &str) -> Markup {
    let offers = manifest.offers(&readers_languages());
    let is_shown = |one: &&Offer<'_>| {
        shown.html.is_some() && one.form == Form::Markdown && one.language == shown.language
    };
    html! {
        dl.facts {
            @if let Some(limit) = manifest.cpu_time_ms {
                dt { (t::StatementTimeLimit) } dd { (t::Milliseconds { ms: limit }) }
            }
            @if let Some(limit) = manifest.memory_bytes {
                dt { (t::StatementMemoryLimit) } dd { (memory(limit)) }
            }
            @if let Some(max) = manifest.max_score {
                @let most = Score(max).scaled(Some(max), shown.max_points);
                dt { (t::Points) } dd { (text::score(most)) }
            }
            @if manifest.interactive { dt { (t::StatementKind) } dd { (t::StatementInteractive) } }
        }
        @let links = offers.iter().filter(|one| !is_shown(one));
        @if links.clone().next().is_some() {
            p.actions #statements { @for one in links { (statement_link(one, files)) } }
        }
        (with_samples(shown, &manifest.samples, files))
    }
}

/// A statement with its samples, where it shows them itself or at its end.
fn with_samples(shown: &ShownStatement, samples: &[Sample], files: &str) -> Markup {
    let mut text = shown.html.as_deref().unwrap_or_default();
    let mut samples = (1..).zip(samples);
    let mut parts = Vec::new();
    loop {
        let marks = [(NEXT_SAMPLE, 1), (REMAINING_SAMPLES, usize::MAX)];
        let marks = marks.map(|(mark, count)| Some((text.find(mark)?, mark.len(), count)));
        let first = marks.into_iter().flatten().min();
        let (end, length, count) = first.unwrap_or((text.len(), 0, usize::MAX));
        parts.push(html! {
            @if end > 0 { div.statement lang=(shown.language) { (PreEscaped(&text[..end])) } }
            @for (number, one) in samples.by_ref().take(count) { (sample(number, one, files)) }
        });
        if first.is_none() {
            return html! { @for part in &parts { (part) } };
        }
        text = &text[end + length..];
    }
}

fn sample(number: i32, sample: &Sample, files: &str) -> Markup {
    html! {
        h2 { (t::StatementExample { number }) }
        div.samples {
            (sample_part(&t::StatementInput, number, &format!("{files}/sample-{number}.in"),
                &sample.input))
            (sample_part(&t::StatementOutput, number, &format!("{files}/sample-{number}.ans"),
                &sample.output))
        }
    }
}

/// The input or output of a sample. The script shows the button, which copies the text.
fn sample_part(title: &dyn Render, number: i32, file: &str, text: &str) -> Markup {
    let name = html! { span.visually-hidden { ": " (title) " " (number) } };
    html! {
        div data-copied=(t::Copied) {
            div.head {
                h3 { (title) }
                button.quiet type="button" data-copy hidden { (t::Copy) (name) }
                a href=(file) { (t::Download) (name) }
                span.muted role="status" {}
            }
            pre tabindex="0" { "\n" (text) }
        }
    }
}

/// A choice between the values of an enumeration.
pub fn select(
    name: &str,
    label: impl Render,
    values: &[(&str, &dyn Render)],
    chosen: &str,
) -> Markup {
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

/// An input for a password.
pub fn password_input(label: impl Render, name: &str, kind: &str) -> Markup {
    html! {
        label { (label)
            input name=(name) type="password" autocomplete=(kind) required
                minlength=(password::LENGTHS.start()) maxlength=(password::LENGTHS.end());
        }
    }
}

/// Checks the length of a name.
pub fn check_name(name: &str, max: usize) -> Page<()> {
    let length = name.trim().chars().count();
    if (1..=max).contains(&length) {
        return Ok(());
    }
    Err(Mistake::Name { max }.into())
}

/// An uploaded file of a form with several parts, and the text of its other fields.
#[derive(Default)]
pub struct Upload {
    pub file_name: String,
    pub content: Vec<u8>,
    pub fields: HashMap<String, String>,
    /// The contents of files with other names than `file`.
    pub others: HashMap<String, Vec<u8>>,
}

impl Upload {
    /// Reads a form whose file has the name `file`.
    ///
    /// # Errors
    /// The form is malformed or too large.
    pub async fn read(mut form: Multipart) -> Page<Upload> {
        let mut upload = Upload::default();
        while let Some(part) = form.next_field().await? {
            let name = part.name().unwrap_or_default().to_owned();
            if name == "file" {
                upload.file_name = part.file_name().unwrap_or_default().to_owned();
                upload.content = part.bytes().await?.to_vec();
            } else if part.file_name().is_some() {
                upload.others.insert(name, part.bytes().await?.to_vec());
            } else {
                let text = String::from_utf8(part.bytes().await?.to_vec());
                let text = text.map_err(|_| Mistake::FieldNotUtf8)?;
                storable::check(&name, &text)?;
                upload.fields.insert(name, text);
            }
        }
        Ok(upload)
    }

    /// The text of a field; empty if it is absent.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::zone::Zone;
    use crate::text::{Locales, Reader, at_once};

    fn in_zone<R>(tag: &str, zone: &str, function: impl FnOnce() -> R) -> R {
        let locales = Locales::built_in();
        let reader = Reader {
            locale: locales.find(tag).expect("a language").clone(),
            zone: Zone::of_name(zone).expect("a zone"),
        };
        at_once(&reader, function)
    }

    fn words(tag: &str, text: &str) -> String {
        in_zone(tag, "UTC", || time_words(text).render().into_string())
    }

    #[test]
    fn times_are_shown_in_the_zone_that_follows_them() {
        let at = |text: &str| Zone::UTC.read(text, None).expect("a time");
        let shown = |zone: &str, text: &str| in_zone("en", zone, || time(at(text)).into_string());
        assert_eq!(
            shown("Europe/Berlin", "2026-05-01T08:00"),
            "<time datetime=\"2026-05-01T08:00:00Z\" title=\"2026-05-01 10:00:00 +02:00\">\
             1 May 2026, 10:00 CEST</time>"
        );
        let winter = shown("Europe/Berlin", "2026-10-25T01:30");
        assert!(winter.contains(">25 October 2026, 02:30 CET<"), "{winter}");
        let utc = shown("UTC", "2026-10-25T01:30");
        assert!(utc.contains(">25 October 2026, 01:30 UTC<"), "{utc}");
        let until = at("2026-05-01T08:00");
        let left = in_zone("en", "Asia/Tokyo", || countdown(until, until).into_string());
        assert!(
            left.contains("title=\"2026-05-01 17:00:00 +09:00\""),
            "{left}"
        );
    }

    #[test]
    fn times_name_the_month_and_leave_out_seconds_of_zero() {
        assert_eq!(words("en", "2026-05-01T10:00:00"), "1 May 2026, 10:00");
        assert_eq!(
            words("en", "2026-12-31T00:00:07"),
            "31 December 2026, 00:00:07"
        );
        assert_eq!(words("en", "2026-10-10T10:10:00"), "10 October 2026, 10:10");
        assert_eq!(words("de", "2026-03-01T10:00:00"), "1. März 2026, 10:00");
        assert_eq!(words("pl", "2026-03-01T10:00:00"), "1 marca 2026, 10:00");
        assert_eq!(time(Time::NEVER).into_string(), "never");
        assert_eq!(time(Time::ALWAYS).into_string(), "from the start");
    }

    #[test]
    fn durations_have_their_two_largest_units() {
        let words = |seconds: i64| duration(Time(0), Time(seconds * 1_000_000)).into_string();
        assert_eq!(words(59), "59 s");
        assert_eq!(words(61), "1 min 1 s");
        assert_eq!(words(3600), "1 h 0 min");
        assert_eq!(words(90_000), "1 day 1 h");
        assert_eq!(words(180_000), "2 days 2 h");
    }
}
