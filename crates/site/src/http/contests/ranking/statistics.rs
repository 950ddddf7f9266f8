//! The charts of the statistics of a contest.

use crate::core::score::Score;
use crate::core::standings::statistics::{Basis, Histogram, Outcome, Statistics, statistics};
use crate::core::standings::{Data, Scope};
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::db::contest::Mode;
use crate::http::web::chart::{Bar, Chart};
use crate::http::web::parts::{empty, time, verdict_words};
use crate::text::{self, Message, t};
use maud::{Markup, Render, html};
use std::collections::BTreeSet;

const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// The statistics as HTML.
pub fn render(data: &Data, scope: &Scope, now: Time) -> String {
    let all = statistics(data, scope, now);
    let all = html! {
        @if all.is_empty() { (empty(t::StatisticsNotShown, None)) }
        @for (number, one) in (1..).zip(&all) { (round(number, one)) }
    };
    all.into_string()
}

fn round(number: usize, one: &Statistics) -> Markup {
    html! {
        h3 { (one.round) }
        @if let Some(since) = one.frozen_since {
            p.frozen { (t::RankingFrozen { time: time(since) }) }
        }
        @if one.times.bars.is_empty() {
            (empty(t::SubmissionsEmpty, None))
        } @else {
            div.charts {
                div { (times(number, one)) }
                div { (results(number, one)) (hint(one)) }
                @if !one.totals.bars.is_empty() { div { (totals(number, one)) } }
            }
        }
    }
}

/// The submissions whose results are counted, in words.
fn hint(one: &Statistics) -> Markup {
    let basis: &dyn Message = match one.basis {
        Basis::All => &t::StatisticsBasisAll,
        Basis::Finals => &t::StatisticsBasisFinals,
        Basis::Attempts => &t::StatisticsBasisAttempts,
    };
    html! {
        p.hint { (basis) @if one.is_initial { " " (t::StatisticsInitial) } }
    }
}

/// A chart whose bars have one part each.
fn plain(histogram: &Histogram, bar: impl Fn(i64) -> (String, Markup)) -> Vec<Bar> {
    let bars = histogram.bars.iter().map(|(from, count)| {
        let (label, name) = bar(*from);
        Bar {
            label,
            name,
            counts: vec![*count],
        }
    });
    bars.collect()
}

/// A time of the round, such as `1:30` or `3 d`.
fn elapsed(time: i64, width: i64) -> String {
    let days = t::StatisticsDays { days: time / DAY }.plain();
    let clock = |minutes: i64| format!("{}:{:02}", minutes / 60, minutes % 60);
    match width >= DAY {
        true => days,
        false if time < 4 * DAY => clock(time / MINUTE),
        false => format!("{days} {}", clock(time % DAY / MINUTE)),
    }
}

fn times(number: usize, one: &Statistics) -> Markup {
    let width = one.times.width;
    let axis: &dyn Render = match one.has_begin {
        true => &t::StatisticsSinceStart,
        false => &t::StatisticsSinceFirst,
    };
    let chart = Chart {
        id: format!("times-{number}"),
        title: &t::StatisticsTimes,
        axis,
        series: vec![("count", &t::Submissions)],
        bars: plain(&one.times, |from| {
            let (from, to) = (elapsed(from, width), elapsed(from + width, width));
            let name = t::StatisticsRange { from: &from, to };
            (from.clone(), name.render())
        }),
    };
    chart.render()
}

/// The class and the label of a part.
fn part(outcome: Outcome) -> (&'static str, &'static dyn Message) {
    match outcome {
        Outcome::Verdict(verdict) => (class(verdict), verdict_words(verdict)),
        Outcome::Rejected => ("wrong-answer", &t::StatisticsRejected),
        Outcome::Pending => ("pending", &t::StatisticsPending),
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::WrongAnswer => "wrong-answer",
        Verdict::TimeLimit => "time-limit",
        Verdict::MemoryLimit => "memory-limit",
        Verdict::OutputLimit => "output-limit",
        Verdict::RunTimeError => "run-time-error",
        Verdict::CompileError => "compile-error",
    }
}

fn results(number: usize, one: &Statistics) -> Markup {
    let outcomes = one.results.iter().flat_map(|(_, counts)| counts.keys());
    let outcomes: BTreeSet<Outcome> = outcomes.copied().collect();
    let parts: Vec<_> = outcomes.iter().map(|outcome| part(*outcome)).collect();
    let bars = one.results.iter().map(|(head, counts)| Bar {
        label: head.label.clone(),
        name: html! { (head.label) " " (head.name) },
        counts: outcomes
            .iter()
            .map(|outcome| counts.get(outcome).copied().unwrap_or(0))
            .collect(),
    });
    let chart = Chart {
        id: format!("results-{number}"),
        title: &t::StatisticsResults,
        axis: &t::Problem,
        series: parts
            .iter()
            .map(|(class, words)| (*class, words as &dyn Render))
            .collect(),
        bars: bars.collect(),
    };
    chart.render()
}

fn totals(number: usize, one: &Statistics) -> Markup {
    let is_icpc = one.mode == Mode::Icpc;
    let (title, axis): (&dyn Render, &dyn Render) = match one.mode {
        Mode::Points => (&t::StatisticsByPoints, &t::Points),
        Mode::Icpc => (&t::StatisticsBySolved, &t::RankingSolved),
    };
    let width = one.totals.width;
    let chart = Chart {
        id: format!("totals-{number}"),
        title,
        axis,
        series: vec![("count", &t::ContestTabParticipants)],
        bars: plain(&one.totals, |from| {
            if is_icpc {
                return (from.to_string(), html! { (from) });
            }
            let (from, to) = (Score(from), Score(from + width));
            (text::score(from), t::StatisticsRange { from, to }.render())
        }),
    };
    chart.render()
}
