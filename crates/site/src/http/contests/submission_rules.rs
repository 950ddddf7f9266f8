//! The inputs for what contestants may submit, of rounds and of their problems, and what the page
//! of a problem tells contestants about it.

use crate::core::source::MAX_SOURCE;
use crate::core::submission_rules::{Breach, Made, SubmissionRules};
use crate::core::time::Time;
use crate::http::web::error::PageError;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::time;
use crate::http::web::refusal::Refusal;
use crate::http::web::repeated::Repeated;
use crate::judging::languages::Language;
use crate::text::t;
use maud::{Markup, Render, html};
use std::time::Duration;

/// The largest number of submissions.
const MAX_SUBMISSIONS: i64 = 10_000;
/// The longest interval, in seconds.
const MAX_SECONDS: i64 = 24 * 60 * 60;
/// The largest size of a source, in KiB.
const MAX_KIB: i64 = (MAX_SOURCE >> 10) as i64;

/// The inputs. The fields of a problem may be empty, and then the rules of the round apply.
pub fn inputs(rules: &SubmissionRules, languages: &[Language], is_problem: bool) -> Markup {
    let number = |name: &str, label: &dyn Render, value: Option<i64>, max: i64| {
        html! {
            label { (label) input name=(name) type="number" min="1" max=(max) value=[value]; }
        }
    };
    let seconds = rules
        .interval
        .map(|it| i64::try_from(it.as_secs()).unwrap_or(MAX_SECONDS));
    let kib = rules
        .max_bytes
        .map(|it| i64::try_from(it >> 10).unwrap_or(MAX_KIB));
    let is_allowed = |name: &str| !rules.languages.is_empty() && rules.allows(name);
    html! {
        fieldset {
            legend { (t::SubmissionRulesTitle) }
            p.hint {
                @if is_problem { (t::SubmissionRulesOfProblem) } @else { (t::SubmissionRulesHint) }
            }
            div.pair {
                (number("max_submissions", &t::SubmissionRulesCount, rules.max_submissions,
                    MAX_SUBMISSIONS))
                (number("interval_seconds", &t::SubmissionRulesInterval, seconds, MAX_SECONDS))
                (number("max_kib", &t::SubmissionRulesSize, kib, MAX_KIB))
            }
            details open[!rules.languages.is_empty()] {
                summary { (t::SubmissionRulesLanguages) }
                div.choices {
                    @for language in languages {
                        label.check {
                            input type="checkbox" name="languages" value=(language.name)
                                checked[is_allowed(&language.name)];
                            span translate="no" { (language.title) }
                        }
                    }
                }
            }
        }
    }
}

/// Reads the inputs. A form without them changes nothing.
///
/// # Errors
/// A number is out of range.
pub fn read(form: &Repeated, languages: &[Language]) -> Result<Option<SubmissionRules>, Mistake> {
    if form.get("max_submissions").is_none() {
        return Ok(None);
    }
    let seconds = form.number("interval_seconds", MAX_SECONDS)?;
    let kib = form.number("max_kib", MAX_KIB)?;
    let chosen = |language: &&Language| form.all("languages").any(|name| name == language.name);
    let chosen = languages.iter().filter(chosen);
    Ok(Some(SubmissionRules {
        languages: chosen.map(|language| language.name.clone()).collect(),
        max_submissions: form.number("max_submissions", MAX_SUBMISSIONS)?,
        interval: seconds.map(|it| Duration::from_secs(it.unsigned_abs())),
        max_bytes: kib.and_then(|kib| usize::try_from(kib << 10).ok()),
    }))
}

/// What a contestant should know before submitting.
pub fn facts(rules: &SubmissionRules, made: Made, now: Time) -> Markup {
    let next = match rules.check_made(made, now) {
        Err(Breach::Pace { wait }) => Some(now.after(wait)),
        _ => None,
    };
    html! {
        @if let Some(max) = rules.max_submissions {
            p.hint { (t::SubmitLeft { left: (max - made.count).max(0), max }) }
        }
        @if let Some(bytes) = rules.max_bytes {
            p.hint { (t::SubmitSize { kib: bytes >> 10 }) }
        }
        @if let Some(next) = next {
            p.hint { (t::SubmitNext { time: time(next) }) }
        } @else if let Some(interval) = rules.interval {
            p.hint { (t::SubmitInterval { seconds: interval.as_secs() }) }
        }
    }
}

/// The answer to a submission that breaks a rule.
pub fn rejection(breach: Breach) -> PageError {
    match breach {
        Breach::Language => Mistake::LanguageNotAllowed.into(),
        Breach::Size { max_bytes } => Mistake::LargeSource { bytes: max_bytes }.into(),
        Breach::Count { max } => Refusal::NoSubmissionsLeft { max }.into(),
        Breach::Pace { wait } => PageError::TooOften(wait),
    }
}
