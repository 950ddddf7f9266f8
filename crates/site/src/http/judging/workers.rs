//! Workers on other machines, for administrators.

use crate::app::App;
use crate::core::time::Time;
use crate::db::fleet_worker::{self, FleetWorker};
use crate::db::probation;
use crate::http::web::context::Admin;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::parts::time;
use crate::judging::languages::Language;
use crate::text::{Message, t};
use axum::extract::{Form, Path};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use millibox_fleet::introduction::{Introduction, Toolchain, differences};
use serde::Deserialize;
use std::collections::HashMap;

/// The site itself, in lists of machines. No worker has this name.
const SITE: &str = "site";

/// A worker with what it says about itself.
struct Shown {
    worker: FleetWorker,
    introduction: Option<Introduction>,
    /// The number of judgements that it judges.
    running: i64,
}

impl Shown {
    fn state(&self, now: Time) -> Markup {
        let state = (self.worker.enabled, self.worker.is_away(now));
        let (class, text): (_, &dyn Message) = match state {
            (true, _) if self.worker.probation_at.is_some() => ("chip bad", &t::WorkerProbation),
            (false, _) => ("chip", &t::WorkerDisabled),
            (true, _) if self.worker.seen_at.is_none() => ("chip", &t::WorkerNew),
            (true, true) => ("chip bad", &t::WorkerAway),
            (true, false) => ("chip good", &t::WorkerReady),
        };
        html! { span class=(class) { (text) } }
    }

    fn toolchains(&self) -> &[Toolchain] {
        let introduction = self.introduction.as_ref();
        introduction.map_or(&[], |introduction| &introduction.toolchains)
    }
}

/// `GET /workers`.
pub async fn list(Admin { app, session, .. }: Admin) -> Page {
    let loads = fleet_worker::loads(&app.db).await?;
    let loads: HashMap<i64, i64> = loads
        .iter()
        .map(|load| (load.fleet_worker_id, load.running))
        .collect();
    let workers = fleet_worker::all(&app.db).await?;
    let mut introductions = fleet_worker::introductions(&app.db).await?;
    let workers: Vec<Shown> = workers
        .into_iter()
        .map(|worker| Shown {
            introduction: introductions.remove(&worker.id),
            running: loads.get(&worker.id).copied().unwrap_or_default(),
            worker,
        })
        .collect();
    let main = html! {
        h1 { (t::Workers) }
        p { (t::WorkersLead) }
        @if workers.is_empty() {
            p.muted { (t::WorkersEmpty { command: html! { code { "millibox site fleet add" } } }) }
        } @else {
            (table(&workers, &app.languages))
            (different(&workers, &app))
        }
    };
    Ok(page(&session, t::Workers, main).into_response())
}

fn table(workers: &[Shown], languages: &[Language]) -> Markup {
    let now = Time::now();
    html! {
        div.scroll { table {
            thead { tr {
                th { (t::Name) } th { (t::State) } th.number { (t::WorkerLoad) }
                th.number { (t::WorkerSpeed) } th { (t::WorkerClasses) }
                th { (t::WorkerLanguages) } th { (t::WorkerProgram) } th { (t::WorkerSeen) } td {}
            } }
            tbody { @for one in workers { tr {
                td translate="no" { (one.worker.name) }
                td {
                    (one.state(now))
                    @if let Some(at) = one.worker.probation_at {
                        p.hint { (t::WorkerProbationSince { time: time(at) }) }
                        @if let Some(reason) = &one.worker.probation_reason {
                            p.hint translate="no" { (reason) }
                        }
                    }
                }
                td.number {
                    (one.running)
                    @if let Some(introduction) = &one.introduction { " / " (introduction.slots) }
                }
                @if let Some(introduction) = &one.introduction {
                    td.number { (milliseconds(introduction.calibration_ns)) " ms" }
                    td translate="no" { @for class in &introduction.classes { (class) " " } }
                    td { (toolchains(&introduction.toolchains, languages)) }
                    td translate="no" { (introduction.version) }
                } @else {
                    td {} td {} td {} td {}
                }
                td { @if let Some(at) = one.worker.seen_at { (time(at)) } }
                td {
                    form method="post" action={ "/workers/" (one.worker.id) } {
                        @let name = &one.worker.name;
                        @if one.worker.probation_at.is_some() {
                            button.second name="trust" value="1" { (t::WorkerTrust { name }) }
                        }
                        @if one.worker.enabled {
                            button.second { (t::WorkerDisable { name }) }
                        } @else {
                            button.second name="enabled" value="1" { (t::WorkerEnable { name }) }
                        }
                    }
                }
            } } }
        } }
    }
}

/// Nanoseconds as milliseconds.
fn milliseconds(ns: u64) -> u64 {
    ns / 1_000_000
}

fn title<'a>(languages: &'a [Language], name: &'a str) -> &'a str {
    let known = languages.iter().find(|language| language.name == name);
    known.map_or(name, |language| &language.title)
}

fn toolchains(toolchains: &[Toolchain], languages: &[Language]) -> Markup {
    html! {
        details {
            summary { (toolchains.len()) }
            ul translate="no" { @for one in toolchains {
                li { (title(languages, &one.language)) ": " (one.version) }
            } }
        }
    }
}

/// The languages whose versions are different on the machines that judge.
fn different(workers: &[Shown], app: &App) -> Markup {
    let languages = &app.languages[..];
    let own: Vec<Toolchain> = languages
        .iter()
        .map(|language| Toolchain::new(&language.name, &language.version))
        .collect();
    let enabled = workers.iter().filter(|one| one.worker.enabled);
    let others = enabled.map(|one| (one.worker.name.as_str(), one.toolchains()));
    let found = differences(std::iter::once((SITE, &own[..])).chain(others));
    html! {
        @if !found.is_empty() {
            h2 { (t::WorkersDifferent) }
            @if app.queue.toolchains().are_same() {
                p { (t::WorkersSameHint) }
            } @else {
                p { (t::WorkersDifferentHint) }
            }
            ul translate="no" { @for (language, versions) in &found {
                li {
                    (title(languages, language))
                    ul { @for (version, machines) in versions {
                        li { (version) " (" (machines.join(", ")) ")" }
                    } }
                }
            } }
        }
    }
}

/// The fields of `POST /workers/{id}`.
#[derive(Deserialize)]
pub struct Change {
    #[serde(default)]
    enabled: String,
    #[serde(default)]
    trust: String,
}

/// `POST /workers/{id}`: enables or disables a worker, or ends its probation.
pub async fn change(
    Admin { app, .. }: Admin,
    Path(id): Path<i64>,
    Form(form): Form<Change>,
) -> Page {
    let worker = fleet_worker::by_id(&app.db, id).await?;
    let worker = worker.ok_or(PageError::NotFound)?;
    let mut tx = app.db.begin().await?;
    if !form.trust.is_empty() {
        probation::end(&mut tx, worker.id, Time::now()).await?;
    } else if !form.enabled.is_empty() {
        fleet_worker::enable(&mut tx, worker.id, Time::now()).await?;
    } else {
        fleet_worker::disable(&mut tx, worker.id).await?;
    }
    tx.commit().await?;
    app.queue.wake();
    Ok(Redirect::to("/workers").into_response())
}
