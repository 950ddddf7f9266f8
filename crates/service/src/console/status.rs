//! `/status`: load, outcomes and languages, with charts.
//!
//! The page shows the same figures as `/metrics`, so a service with tokens shows it to clients with
//! the right `admin`.

use super::Console;
use super::charts::{self, Chart};
use super::layout::{self, Page};
use super::run::{client, is_cross_site};
use super::text::{count, size};
use super::words;
use crate::core::engine::Lane;
use crate::http::bearer::bearer;
use crate::http::problem::{self, ProblemDetails};
use crate::metrics::OUTCOME_NAMES;
use crate::samples::{MAX_SAMPLES, Sample};
use crate::service::Service;
use axum::Form;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

/// The maximum size of the form for entering a token.
pub const MAX_FORM_BYTES: usize = 4 << 10;
/// Seconds for each point of a chart.
const GROUP_SECONDS: usize = 5;
/// Seconds over which the current rate is measured.
const RATE_SECONDS: usize = 10;
/// Seconds between refreshes without JavaScript.
const REFRESH_SECONDS: u32 = 5;

/// The query of the page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StatusQuery {
    /// Whether the browser reloads the page every few seconds.
    refresh: bool,
    /// Whether `/status/live` also returns the languages.
    all: bool,
}

/// The form for entering a token.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TokenForm {
    token: String,
}

/// `GET /status`.
pub async fn show(
    State(console): State<Arc<Console>>,
    query: Result<Query<StatusQuery>, QueryRejection>,
) -> Html<String> {
    let refresh = query.is_ok_and(|Query(query)| query.refresh);
    if console.service.tokens.are_required() {
        page(token_form(None), false)
    } else {
        page(body(&console, refresh), refresh)
    }
}

/// `POST /status`: the page for a client with a token.
pub async fn submit(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    Form(form): Form<TokenForm>,
) -> Response {
    let allowed = if is_cross_site(&headers) {
        Err(problem::forbidden(
            "the form was sent by a page of another site",
        ))
    } else {
        check(&console.service, &form.token)
    };
    match allowed {
        Ok(()) => page(body(&console, false), false).into_response(),
        Err(problem) => (status(&problem), page(token_form(Some(&problem)), false)).into_response(),
    }
}

/// `GET /status/live`: the part of the page that changes, for the script.
pub async fn live(
    State(console): State<Arc<Console>>,
    query: Result<Query<StatusQuery>, QueryRejection>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    match check(&console.service, bearer(&parts).unwrap_or_default()) {
        Ok(()) if query.is_ok_and(|Query(query)| query.all) => {
            Html(body(&console, false).into_string()).into_response()
        }
        Ok(()) => Html(figures(&console).into_string()).into_response(),
        Err(problem) => problem.into_response(),
    }
}

fn check(service: &Service, token: &str) -> Result<(), ProblemDetails> {
    if client(service, token)?.admin {
        Ok(())
    } else {
        Err(problem::forbidden(
            "the status shows the load of all clients; it needs a token with the `admin` right",
        ))
    }
}

fn status(problem: &ProblemDetails) -> StatusCode {
    StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn page(body: Markup, refresh: bool) -> Html<String> {
    let head = html! {
        @if refresh { meta http-equiv="refresh" content=(REFRESH_SECONDS); }
    };
    let main = html! {
        h1 { "Status" }
        div #status-body { (body) }
    };
    layout::page(Page::Status, "Status", head, main)
}

fn token_form(problem: Option<&ProblemDetails>) -> Markup {
    html! {
        @if let Some(problem) = problem { (layout::alert(&problem.title, &problem.detail)) }
        form #status-token .card method="post" action="/status" {
            (layout::token_field())
            div.actions { button.primary type="submit" { "Show the status" } }
        }
    }
}

fn body(console: &Console, refresh: bool) -> Markup {
    html! {
        noscript {
            p.hint {
                @if refresh {
                    "This page reloads itself. " a href="/status" { "Stop" } "."
                } @else {
                    "The figures were current when the page was loaded. "
                    a href="/status?refresh=true" {
                        "Reload every " (REFRESH_SECONDS) " seconds"
                    }
                    "."
                }
            }
        }
        div #live { (figures(console)) }
        (languages(&console.service))
    }
}

fn figures(console: &Console) -> Markup {
    let service = &console.service;
    let queue = &service.programs.queue;
    let (bounds, load) = (queue.bounds(), queue.load());
    let samples = console.samples.all();
    let rates = rates(&samples);
    let rate = rates.iter().rev().take(RATE_SECONDS).copied();
    let rate = charts::means(
        &rate.collect::<Vec<_>>(),
        RATE_SECONDS.min(rates.len().max(1)),
    );
    let rate = charts::number(rate.first().copied().unwrap_or(0.0));
    let waiting = queue_lengths(&samples);
    let (state, class) = if queue.is_draining() {
        ("Shutting down", "bad")
    } else if load.queued >= bounds.queued {
        ("The queue is full", "bad")
    } else {
        ("Ready", "good")
    };
    let max_running = bounds.running(Lane::CpuTime) + bounds.running(Lane::RealTime);
    html! {
        p.summary {
            span.badge data-kind=(class) { (state) }
            " for " (uptime(service.started.elapsed()))
            ", with the " (service.backend.to_string()) " backend"
        }
        dl.tiles {
            (tile("Running", count, load.running as u64, max_running as u64))
            (tile("Waiting", count, load.queued as u64, bounds.queued as u64))
            (tile("Memory of running programs", size, load.memory_bytes, bounds.memory_bytes))
        }
        div.charts {
            (Chart {
                id: "chart-queue",
                title: "Requests in the queue",
                now: count(load.queued as u64),
                values: charts::maxima(&waiting, GROUP_SECONDS),
                points: MAX_SAMPLES / GROUP_SECONDS,
                begin: "10 minutes ago",
            }.render())
            (Chart {
                id: "chart-rate",
                title: "Runs per second",
                now: rate,
                values: charts::means(&rates, GROUP_SECONDS),
                points: MAX_SAMPLES / GROUP_SECONDS,
                begin: "10 minutes ago",
            }.render())
        }
        (outcomes(service))
    }
}

fn tile(label: &str, show: fn(u64) -> String, part: u64, whole: u64) -> Markup {
    html! {
        div {
            dt { (label) }
            dd {
                strong { (show(part)) } " " span { "of " (show(whole)) }
                (charts::bar(part, whole))
            }
        }
    }
}

fn outcomes(service: &Service) -> Markup {
    let totals = service.metrics.totals();
    let executed = totals.executed();
    html! {
        h2 #outcomes { "Outcomes since the start" }
        div.table {
            table aria-labelledby="outcomes" {
                thead {
                    tr {
                        th scope="col" { "Outcome" }
                        th.number scope="col" { "Runs" }
                        th scope="col" { "Share" }
                    }
                }
                tbody {
                    @for (name, number) in OUTCOME_NAMES.iter().zip(totals.executions) {
                        tr data-outcome=(name) {
                            th scope="row" { (words::of_key(name).short) }
                            td.number { (count(number)) }
                            td { @if number > 0 { (charts::bar(number, executed)) } }
                        }
                    }
                    tr data-outcome="refused" {
                        th scope="row" { "Not admitted" }
                        td.number { (count(totals.refused)) }
                        td {}
                    }
                }
            }
        }
    }
}

fn languages(service: &Service) -> Markup {
    let runtimes = service.programs.catalog.runtimes();
    let (installed, missing): (Vec<_>, Vec<_>) =
        runtimes.iter().partition(|runtime| runtime.is_available());
    html! {
        h2 #installed { "Languages" }
        div.table {
            table aria-labelledby="installed" {
                thead {
                    tr {
                        th scope="col" { "Language" }
                        th scope="col" { "Name" }
                        th scope="col" { "Version" }
                    }
                }
                tbody {
                    @for runtime in installed {
                        tr {
                            th scope="row" { (runtime.title) }
                            td { code { (runtime.name) } }
                            td { (runtime.version.as_deref().unwrap_or_default()) }
                        }
                    }
                }
            }
        }
        @if !missing.is_empty() {
            details.missing {
                summary #missing { "Languages that are not installed (" (missing.len()) ")" }
                div.table {
                    table aria-labelledby="missing" {
                        thead {
                            tr {
                                th scope="col" { "Language" }
                                th scope="col" { "Reason" }
                                th scope="col" { "Remedy" }
                            }
                        }
                        tbody {
                            @for runtime in missing {
                                tr {
                                    th scope="row" { (runtime.title) }
                                    @if let Err(fault) = &runtime.version { td { (fault) } }
                                    td { @if let Some(remedy) = &runtime.remedy { (remedy) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Executions in each second between two samples.
fn rates(samples: &[Sample]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a rate is small")]
    let rate = |pair: &[Sample]| pair[1].executed.saturating_sub(pair[0].executed) as f64;
    samples.windows(2).map(rate).collect()
}

fn queue_lengths(samples: &[Sample]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "queues are short")]
    let length = |sample: &Sample| sample.load.queued as f64;
    samples.iter().map(length).collect()
}

fn uptime(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::queue::Load;

    #[test]
    fn rates_are_differences_of_counts() {
        let load = Load {
            running: 0,
            running_in: [0; 2],
            memory_bytes: 0,
            queued: 4,
            queued_bytes: 0,
            held_bytes: 0,
        };
        let samples = [0, 3, 3, 10].map(|executed| Sample {
            load,
            executed,
            refused: 0,
        });
        assert_eq!(rates(&samples), [3.0, 0.0, 7.0]);
        assert_eq!(queue_lengths(&samples), [4.0; 4]);
        assert!(rates(&samples[..1]).is_empty());
    }

    #[test]
    fn uptime_has_two_units() {
        let texts = [5, 61, 3700, 90_000].map(|s| uptime(Duration::from_secs(s)));
        assert_eq!(texts, ["5 s", "1 min", "1 h 1 min", "1 d 1 h"]);
    }
}
