//! The versions of a problem, and the submissions in its package.

use super::jobs;
use super::packages::{archive, package_input, read_if_small};
use super::{find, remarks};
use crate::app::App;
use crate::core::package::Manifest;
use crate::core::score::Score;
use crate::core::work::Work;
use crate::db::job;
use crate::db::problem::{self, Problem, Version};
use crate::db::submission::{self, Model};
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{self, PAGE_ROWS, Upload, time};
use crate::http::web::session::Session;
use crate::http::web::upload::{StoredUpload, put};
use crate::http::web::vocabulary;
use crate::jobs::packages;
use crate::text::{self, t};
use axum::extract::{Form, Multipart, Path};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

/// The maximum length of a note and of a tag, in characters.
const MAX_NOTE: usize = 200;
/// The maximum number of tags of a problem.
const MAX_TAGS: usize = 50;

/// A problem that the viewer may change.
pub async fn edited(app: &App, session: &Session, id: i64) -> Page<Problem> {
    let (problem, access) = find(app, session, id).await?;
    access.edit.then_some(problem).ok_or(PageError::NotFound)
}

fn note(text: &str) -> String {
    text.trim().chars().take(MAX_NOTE).collect()
}

/// `POST /problems/{id}/versions`.
pub async fn add(Ctx { app, session }: Ctx, Path(id): Path<i64>, form: Multipart) -> Page {
    edited(&app, &session, id).await?;
    let user = session.user_id()?;
    let upload = StoredUpload::read(&app, user, form).await?;
    let note = note(upload.field("note"));
    let Some(package) = read_if_small(&app, session.party(), &upload).await? else {
        let work = Work::AddVersion {
            problem: id,
            digest: upload.digest,
            file_name: upload.file_name,
            note,
        };
        return jobs::begin(&app, &session, &work).await;
    };
    let mut tx = app.db.begin().await?;
    packages::insert(&mut tx, id, &package, &note, user).await?;
    tx.commit().await?;
    app.queue.wake();
    Ok(Redirect::to(&format!("/problems/{id}/versions")).into_response())
}

/// `GET /problems/{id}/versions`.
pub async fn show(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let problem = edited(&app, &session, id).await?;
    let versions = problem::versions(&app.db, id).await?;
    let models = submission::models(&app.db, id).await?;
    let jobs = job::of_problem(&app.db, id, PAGE_ROWS).await?;
    let title = t::VersionsTitle {
        name: &problem.name,
    };
    let main = html! {
        h1 { (title) }
        p { a href={ "/problems/" (id) } { (t::VersionsGoToProblem) } }
        (table(id, &versions))
        p.hint { (t::VersionsHint) }
        @if let Some(newest) = versions.first() {
            (remarks(&Manifest::of_json(&newest.manifest)))
        }
        h2 { (t::VersionsSolutions) }
        (solutions(&models))
        h2 { (t::VersionsAdd) }
        form.fields method="post" enctype="multipart/form-data" {
            (package_input(None))
            label { (t::VersionsWhat) input name="note" maxlength=(MAX_NOTE); }
            button { (t::VersionsAdd) }
        }
        h2 { (t::VersionsStatement) }
        form.fields method="post" enctype="multipart/form-data"
            action={ "/problems/" (id) "/statement" } {
            label { (t::VersionsStatementFile)
                input type="file" name="file" accept=".md,.pdf,.tex" required; }
            button { (t::VersionsStatementButton) }
        }
        (latex(id, &versions))
        h2 { (t::VersionsLimits) }
        form.actions method="post" action={ "/problems/" (id) "/limits" } {
            button { (t::VersionsLimitsButton) }
        }
        h2 { (t::VersionsJobs) }
        (jobs::table(&jobs))
    };
    Ok(page(&session, title, main).into_response())
}

/// Statements that have no PDF.
fn latex(id: i64, versions: &[Version]) -> Markup {
    let manifests = versions.iter().map(|one| Manifest::of_json(&one.manifest));
    let Some(latest) = manifests.into_iter().find(|one| !one.sources.is_empty()) else {
        return html! {};
    };
    let failures = latest.sources.iter().filter_map(|it| it.failure.as_deref());
    let failures: Vec<&str> = failures.collect();
    html! {
        h2 #latex { (t::VersionsLatex) }
        p.hint { (t::VersionsLatexHint) }
        pre tabindex="0" { "\n" (failures.join("\n")) }
        form.actions method="post" action={ "/problems/" (id) "/compile" } {
            button { (t::VersionsLatexButton) }
        }
    }
}

fn table(id: i64, versions: &[Version]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th.number { (t::Version) } th { (t::Time) } th { (t::Note) }
                th { (t::VersionsPackage) }
            } }
            tbody { @for one in versions { tr {
                td.number { (one.number) }
                td { (time(one.created_at)) }
                td { (one.note) }
                td {
                    a href={ "/problems/" (id) "/versions/" (one.number) "/package" } {
                        (t::Download)
                    }
                }
            } } }
        } }
    }
}

fn solutions(models: &[Model]) -> Markup {
    html! {
        div.scroll { table #solutions {
            thead { tr {
                th.number { (t::Version) } th { (t::Submission) } th { (t::Language) }
                th { (t::Result) }
                th.number { (t::Points) } th { (t::VersionsExpectation) }
            } }
            tbody { @for one in models { tr {
                td.number { (one.version) }
                td { a href={ "/submissions/" (one.id) } { (one.name) } }
                td { (one.language) }
                td {
                    @match one.verdict {
                        Some(found) => (parts::verdict(found)),
                        None => span.muted { (vocabulary::judgement_state(one.state)) },
                    }
                }
                td.number { @if let Some(score) = one.score { (text::score(Score(score))) } }
                td {
                    @match one.as_expected {
                        Some(0) => span.bad { (t::VersionsUnexpected) },
                        Some(_) => span.good { (t::VersionsExpected) },
                        None => {},
                    }
                }
            } } }
        } }
        @if models.is_empty() { p.muted { (t::VersionsNoSolutions) } }
    }
}

/// `POST /problems/{id}/statement`.
pub async fn statement(Ctx { app, session }: Ctx, Path(id): Path<i64>, form: Multipart) -> Page {
    edited(&app, &session, id).await?;
    let user = session.user_id()?;
    let upload = Upload::read(form).await?;
    let name = upload.file_name.as_str();
    let is_safe = crate::core::source::safe_name(name).is_some();
    if !is_safe
        || ![".md", ".pdf", ".tex"]
            .iter()
            .any(|end| name.ends_with(end))
    {
        return Err(Mistake::StatementName.into());
    }
    let work = Work::ChangeStatement {
        problem: id,
        digest: put(&app, user, upload.content).await?,
        file_name: upload.file_name,
    };
    jobs::begin(&app, &session, &work).await
}

/// `POST /problems/{id}/compile`: compiles statements again, for example after TeX was installed.
pub async fn compile(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    edited(&app, &session, id).await?;
    jobs::begin(&app, &session, &Work::CompileStatements { problem: id }).await
}

/// `POST /problems/{id}/limits`.
pub async fn limits(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    edited(&app, &session, id).await?;
    jobs::begin(&app, &session, &Work::ResetLimits { problem: id }).await
}

/// `GET /problems/{id}/versions/{number}/package`.
pub async fn download(
    Ctx { app, session }: Ctx,
    Path((id, number)): Path<(i64, i64)>,
) -> Page<Response> {
    edited(&app, &session, id).await?;
    let versions = problem::versions(&app.db, id).await?;
    let version = versions.iter().find(|one| one.number == number);
    archive(&app, version.ok_or(PageError::NotFound)?).await
}

/// The fields of `POST /problems/{id}/tags`.
#[derive(Deserialize)]
pub struct Tags {
    label: String,
    tags: String,
    hidden_tags: String,
}

/// `POST /problems/{id}/tags`: the short name and the tags.
pub async fn tags(Ctx { app, session }: Ctx, Path(id): Path<i64>, Form(form): Form<Tags>) -> Page {
    edited(&app, &session, id).await?;
    let read = |text: &str, hidden: bool| -> Vec<(String, bool)> {
        let names = text.split(',').map(note).filter(|name| !name.is_empty());
        names.map(|name| (name, hidden)).collect()
    };
    let mut tags = read(&form.tags, false);
    tags.extend(read(&form.hidden_tags, true));
    if tags.len() > MAX_TAGS {
        return Err(Mistake::TooManyTags { max: MAX_TAGS }.into());
    }
    let mut tx = app.db.begin().await?;
    problem::set_label(&mut tx, id, &note(&form.label)).await?;
    problem::set_tags(&mut tx, id, &tags).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/problems/{id}")).into_response())
}
