//! The sources of a contest: all of them as an archive, and pairs that are similar.

use super::view::Managed;
use crate::app::App;
use crate::core::similarity::LEAST_PERCENT;
use crate::core::work::Work;
use crate::db::contest_source::{self, ContestSource};
use crate::db::job::{self, Kind};
use crate::db::participant;
use crate::db::similar::{self, Similar};
use crate::http::problems::jobs;
use crate::http::web::context::Ctx;
use crate::http::web::error::{InternalError, Page};
use crate::http::web::layout::page;
use crate::http::web::parts::time;
use crate::http::web::refusal::Refusal;
use crate::http::web::upload::disposition;
use crate::text::{Message, t};
use axum::body::Body;
use axum::extract::Query;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, Write};
use tokio_util::io::ReaderStream;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The maximum size of all sources in an archive, in bytes.
const MAX_BYTES: usize = 256 << 20;
/// The similarity in percent from which pairs are shown, unless the viewer chooses a different one.
const LEAST: i64 = 60;

/// A part of a path in an archive.
fn plain(name: &str) -> String {
    let is_kept = |c: char| c.is_alphanumeric() || "_-+".contains(c);
    let name = name.chars().map(|c| if is_kept(c) { c } else { '_' });
    name.take(60).collect()
}

/// The names of participants: logins, and names of teams.
async fn names(app: &App, contest: i64) -> Page<HashMap<i64, String>> {
    let all = participant::all(&app.db, contest).await?;
    let name = |one: &participant::Entry| {
        let name = one.login.as_deref().unwrap_or(one.shown_name());
        (one.id, name.to_owned())
    };
    Ok(all.iter().map(name).collect())
}

/// `GET /contests/{id}/sources.zip`: all sources, in the directory of their round and problem, and
/// of their participant.
pub async fn archive(Managed(Ctx { app, .. }, view): Managed) -> Page {
    let id = view.contest.id;
    let names = names(&app, id).await?;
    let failed = |error: std::io::Error| InternalError::File {
        digest: "sources.zip".to_owned(),
        error,
    };
    let mut zip = ZipWriter::new(tempfile::tempfile().map_err(failed)?);
    let (mut after, mut bytes) = (0, 0);
    loop {
        let sources = contest_source::page(&app.db, id, after).await?;
        let Some(last) = sources.last() else {
            break;
        };
        after = last.id;
        bytes += sources.iter().map(|one| one.content.len()).sum::<usize>();
        if bytes > MAX_BYTES {
            return Err(Refusal::TooManySources {
                mib: MAX_BYTES >> 20,
            }
            .into());
        }
        let paths: Vec<String> = sources.iter().map(|one| path(one, &names)).collect();
        let added = tokio::task::spawn_blocking(move || add(zip, &paths, &sources)).await?;
        zip = added.map_err(failed)?;
    }
    let finished = tokio::task::spawn_blocking(move || -> std::io::Result<File> {
        let mut file = zip.finish()?;
        file.rewind()?;
        Ok(file)
    });
    let file = finished.await?.map_err(failed)?;
    let stream = ReaderStream::new(tokio::fs::File::from_std(file));
    let mut response: Response = Body::from_stream(stream).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/zip"));
    let name = disposition(&format!("sources-{id}.zip"));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// The path of a source. The numbers keep equal names apart.
fn path(one: &ContestSource, names: &HashMap<i64, String>) -> String {
    let name = names.get(&one.participant_id).map_or("", String::as_str);
    let (stem, extension) = one
        .file_name
        .rsplit_once('.')
        .unwrap_or((&one.file_name, "txt"));
    format!(
        "{}-{}/{}-{}/{}-{}/{}-{}.{}",
        one.round_id,
        plain(&one.round_name),
        one.round_problem_id,
        plain(&one.label),
        one.participant_id,
        plain(name),
        one.id,
        plain(stem),
        plain(extension)
    )
}

fn add(
    mut zip: ZipWriter<File>,
    paths: &[String],
    sources: &[ContestSource],
) -> std::io::Result<ZipWriter<File>> {
    for (path, source) in paths.iter().zip(sources) {
        zip.start_file(path.as_str(), SimpleFileOptions::default())?;
        zip.write_all(&source.content)?;
    }
    Ok(zip)
}

/// The query of the page.
#[derive(Deserialize)]
pub struct Choice {
    least: Option<i64>,
}

/// `GET /contests/{id}/similar`: the latest comparison.
pub async fn similar(
    Managed(Ctx { app, session }, view): Managed,
    Query(choice): Query<Choice>,
) -> Page {
    let id = view.contest.id;
    let bounds = i64::try_from(LEAST_PERCENT).unwrap_or(0)..=100;
    let least = choice.least.unwrap_or(LEAST);
    let least = least.clamp(*bounds.start(), *bounds.end());
    let report = similar::report(&app.db, id).await?;
    let pairs = similar::pairs(&app.db, id, least).await?;
    let names = names(&app, id).await?;
    let is_old = match &report {
        Some(report) => contest_source::last(&app.db, id).await? > report.last_submission,
        None => false,
    };
    let job = job::open_of_contest(&app.db, id, Kind::CompareSources).await?;
    let words: &dyn Message = match report {
        Some(_) => &t::SimilarAgain,
        None => &t::SimilarCompare,
    };
    let main = html! {
        (view.top(&session, Some(&t::Similar)))
        h2 { (t::Similar) }
        p.hint { (t::SimilarHint { least: usize::try_from(least).unwrap_or(0) }) }
        @if let Some(report) = &report {
            p #compared {
                (t::SimilarMade { sources: report.sources, time: time(report.made_at) })
                @if is_old { " " (t::SimilarNewer) }
            }
        } @else {
            p.muted #compared { (t::SimilarMissing) }
        }
        @if let Some(job) = job {
            p { a href={ "/jobs/" (job) } { (t::SimilarRuns) } }
        } @else {
            form.actions method="post" action={ "/contests/" (id) "/similar" } {
                button { (words) }
            }
        }
        @if let Some(report) = &report {
            form.inline method="get" {
                label { (t::SimilarLeast)
                    input name="least" type="number" min=(bounds.start()) max=(bounds.end())
                        value=(least); }
                button { (t::Filter) }
            }
            (table(&pairs, report.problems, &names))
        }
        p { a href={ "/contests/" (id) "/sources.zip" } { (t::SourcesArchive) } }
    };
    Ok(page(&session, t::Similar, main).into_response())
}

/// `POST /contests/{id}/similar`: compares the sources in a job. A job that waits or runs is not
/// added twice.
pub async fn compare(Managed(Ctx { app, session }, view): Managed) -> Page {
    let contest = view.contest.id;
    if let Some(job) = job::open_of_contest(&app.db, contest, Kind::CompareSources).await? {
        return Ok(Redirect::to(&format!("/jobs/{job}")).into_response());
    }
    jobs::begin(&app, &session, &Work::CompareSources { contest }).await
}

fn table(pairs: &[Similar], problems: i64, names: &HashMap<i64, String>) -> Markup {
    let name = |id: i64| names.get(&id).map_or("", String::as_str);
    let link = |submission: i64, participant: i64| {
        html! { a href={ "/submissions/" (submission) } { (name(participant)) } }
    };
    html! {
        @if pairs.is_empty() {
            p.muted { (t::SimilarNone { problems: usize::try_from(problems).unwrap_or(0) }) }
        } @else {
            div.scroll { table #similar {
                thead { tr {
                    th { (t::Problem) } th.number { "%" }
                    th { (t::SimilarFirst) } th { (t::SimilarSecond) }
                } }
                tbody { @for pair in pairs { tr {
                    td { (pair.label) }
                    td.number { (pair.percent) }
                    td { (link(pair.first_id, pair.first_participant)) }
                    td { (link(pair.second_id, pair.second_participant)) }
                } } }
            } }
        }
    }
}
