//! The sources of a contest: all of them as an archive, and pairs that are similar.

use super::view::Managed;
use crate::app::App;
use crate::core::similarity::{self, Entry, Pair};
use crate::db::contest_source::{self, ContestSource};
use crate::db::participant;
use crate::http::web::context::Ctx;
use crate::http::web::error::{InternalError, Page};
use crate::http::web::layout::page;
use crate::http::web::refusal::Refusal;
use crate::http::web::upload::disposition;
use crate::text::t;
use axum::body::Body;
use axum::extract::Query;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{Seek, Write};
use tokio_util::io::ReaderStream;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The maximum size of all sources in an archive, in bytes.
const MAX_BYTES: usize = 256 << 20;
/// The maximum number of sources that are compared. Of more, the latest are compared.
const MAX_COMPARED: usize = 10_000;
/// The similarity in percent from which pairs are shown, unless the viewer chooses a different one.
const LEAST: usize = 60;
/// The maximum number of pairs that are shown for one problem.
const MAX_PAIRS: usize = 100;

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
    least: Option<usize>,
}

/// A problem with its similar pairs.
struct Found {
    label: String,
    pairs: Vec<Pair>,
}

/// `GET /contests/{id}/similar`.
pub async fn similar(
    Managed(Ctx { app, session }, view): Managed,
    Query(choice): Query<Choice>,
) -> Page {
    let id = view.contest.id;
    let least = choice.least.unwrap_or(LEAST).clamp(30, 100);
    let mut problems: BTreeMap<(i64, i64), (String, Vec<Entry>)> = BTreeMap::new();
    let (mut after, mut compared) = (0, 0);
    loop {
        let sources = contest_source::page(&app.db, id, after).await?;
        let Some(last) = sources.last() else {
            break;
        };
        after = last.id;
        // Reading a source takes longer than other pages may keep a thread.
        let turn = app.limits.rendering.turn(session.party()).await?;
        let read = move || {
            let read = sources.into_iter().map(|one| {
                let ContestSource { id, content, .. } = &one;
                let entry = Entry::new(*id, one.participant_id, &one.file_name, content);
                ((one.round_id, one.round_problem_id), one.label, entry)
            });
            read.collect::<Vec<_>>()
        };
        for (key, label, entry) in turn.run(read).await? {
            compared += 1;
            let problem = problems.entry(key).or_insert((label, Vec::new()));
            problem.1.push(entry);
            if compared > MAX_COMPARED
                && let Some((_, entries)) = problems.values_mut().max_by_key(|it| it.1.len())
            {
                entries.remove(0);
                compared -= 1;
            }
        }
    }
    let turn = app.limits.rendering.turn(session.party()).await?;
    let found = turn
        .run(move || {
            let found = problems.into_values().map(|(label, entries)| {
                let mut pairs = similarity::pairs(&entries, least);
                pairs.truncate(MAX_PAIRS);
                Found { label, pairs }
            });
            found.collect::<Vec<_>>()
        })
        .await?;
    let names = names(&app, id).await?;
    let main = html! {
        (view.top(&session, Some(&t::Similar)))
        h2 { (t::Similar) }
        p.hint { (t::SimilarHint { least }) }
        form.inline method="get" {
            label { (t::SimilarLeast)
                input name="least" type="number" min="30" max="100" value=(least); }
            button { (t::Filter) }
        }
        p { a href={ "/contests/" (id) "/sources.zip" } { (t::SourcesArchive) } }
        (table(&found, &names))
    };
    Ok(page(&session, t::Similar, main).into_response())
}

fn table(found: &[Found], names: &HashMap<i64, String>) -> Markup {
    let shown: HashSet<&str> = found.iter().map(|one| one.label.as_str()).collect();
    let name = |id: i64| names.get(&id).map_or("", String::as_str);
    html! {
        @if found.iter().all(|one| one.pairs.is_empty()) {
            p.muted { (t::SimilarNone { problems: shown.len() }) }
        } @else {
            div.scroll { table #similar {
                thead { tr {
                    th { (t::Problem) } th.number { "%" }
                    th { (t::SimilarFirst) } th { (t::SimilarSecond) }
                } }
                tbody { @for one in found { @for pair in &one.pairs { tr {
                    td { (one.label) }
                    td.number { (pair.percent) }
                    @for at in [0, 1] { td {
                        a href={ "/submissions/" (pair.submissions[at]) } {
                            (name(pair.participants[at]))
                        }
                    } }
                } } } }
            } }
        }
    }
}
