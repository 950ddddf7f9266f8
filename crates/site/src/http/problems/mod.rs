//! Problems outside contests, their versions, and the jobs that change them.
//!
//! | file | content |
//! | --- | --- |
//! | `problem_list` | the list of problems and the search in it |
//! | `packages` | packages that users send |
//! | `statements` | rendered statements |
//! | `editorial` | hints and solutions |
//! | `versions` | versions of problems, submissions in their packages, and tags |
//! | `removal` | copying, merging and deleting, also of contests |
//! | `jobs` | jobs and their logs |

pub mod editorial;
pub mod jobs;
mod packages;
pub mod problem_list;
mod removal;
pub mod statements;
mod versions;

use crate::app::App;
use crate::core::access::{self, ProblemAccess, Tie};
use crate::core::package::{File, Form as StatementForm, Manifest, Offer};
use crate::core::party::Party;
use crate::core::search::Search;
use crate::core::time::Time;
use crate::core::visibility::visible;
use crate::core::work::Work;
use crate::db::class;
use crate::db::problem::{self, Problem, Tag, Version, Visibility};
use crate::db::problem_use;
use crate::db::submission::{self, Filter};
use crate::http::web::context::Ctx;
use crate::http::web::error::{InternalError, Page, PageError, unreadable};
use crate::http::web::layout::{crumbs, page};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{
    PAGE_ROWS, ShownStatement, check_name, readers_languages, select, statement, submissions,
};
use crate::http::web::quota;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::slips;
use crate::http::web::upload::{self, StoredUpload};
use crate::jobs::packages as archives;
use crate::text::t;
use axum::Router;
use axum::extract::{Form, Multipart, Path, Query};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, Render, html};
use packages::package_input;
use serde::Deserialize;
use std::sync::Arc;

/// Pages that receive large files.
pub fn uploads() -> Router<Arc<App>> {
    Router::new()
        .route("/problems/new", get(form).post(create))
        .route(
            "/problems/{id}/versions",
            get(versions::show).post(versions::add),
        )
}

/// Pages that receive statements.
pub fn statements() -> Router<Arc<App>> {
    Router::new().route("/problems/{id}/statement", post(versions::statement))
}

/// The other pages.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/problems", get(problem_list::list))
        .route("/problems/{id}", get(show))
        .route("/problems/{id}/edit", post(edit))
        .route("/problems/{id}/files/{name}", get(file))
        .route("/problems/{id}/editorial", get(editorial::of_problem))
        .route(
            "/problems/{id}/editorial/{name}",
            get(editorial::file_of_problem),
        )
        .route("/problems/{id}/package", get(download))
        .merge(maintenance())
}

/// Versions, copies and deletions, and the jobs for them.
fn maintenance() -> Router<Arc<App>> {
    let delete = || get(removal::form).post(removal::delete);
    Router::new()
        .route(
            "/problems/{id}/versions/{number}/package",
            get(versions::download),
        )
        .route("/problems/{id}/compile", post(versions::compile))
        .route("/problems/{id}/limits", post(versions::limits))
        .route("/problems/{id}/tags", post(versions::tags))
        .route("/problems/{id}/merge", post(removal::merge))
        .route("/problems/{id}/delete", delete())
        .route("/contests/{id}/delete", delete())
        .route("/rounds/{id}/delete", delete())
        .route("/round-problems/{id}/delete", delete())
        .route("/submissions/{id}/delete", post(removal::delete_submission))
        .route("/contests/{id}/copy", post(removal::copy_contest))
        .route("/rounds/{id}/copy", post(removal::copy))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show))
        .route("/jobs/{id}/live", get(jobs::live))
        .route("/jobs/{id}/log", get(jobs::log))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/jobs/{id}/restart", post(jobs::restart))
}

/// The maximum length of a problem name, in characters.
pub const MAX_NAME: usize = 128;
/// The maximum number of packages of one form.
const MAX_PACKAGES: usize = 20;
/// Images and statements must not execute anything, even if they are opened directly.
const FILE_POLICY: &str = "default-src 'none'; style-src 'none'; sandbox";
/// Browsers do not show PDFs in a sandbox; their viewers isolate them.
const PDF_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

const PDF: &str = "application/pdf";
const LATEX: &str = "application/x-tex";

const VISIBILITIES: [(&str, &dyn Render); 3] = [
    ("private", &t::ProblemPrivate),
    ("contest_only", &t::ProblemContestOnly),
    ("public", &t::ProblemPublic),
];

/// The position in a list that is shown in parts.
#[derive(Debug, Deserialize)]
pub struct Place {
    pub after: Option<i64>,
    pub before: Option<i64>,
}

/// A problem that the viewer may see.
pub async fn find(app: &App, session: &Session, id: i64) -> Page<(Problem, ProblemAccess)> {
    let problem = problem::by_id(&app.db, id)
        .await?
        .ok_or(PageError::NotFound)?;
    let is_shown = match session.viewer().id() {
        Some(user) => class::shows(&app.db, user, id).await?,
        None => false,
    };
    let access = access::problem(session.viewer(), &problem, is_shown);
    if access.view {
        Ok((problem, access))
    } else {
        Err(PageError::NotFound)
    }
}

async fn current(app: &App, problem: &Problem) -> Page<(Version, Manifest)> {
    let version = problem::current_version(&app.db, problem.id).await?;
    let version = version.ok_or(PageError::NotFound)?;
    let manifest = Manifest::of_json(&version.manifest);
    Ok((version, manifest))
}

/// `GET /problems/new`.
pub async fn form(session: Session) -> Page {
    if !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    let main = html! {
        (crumbs(&[("/problems", &t::Problems)], t::ProblemsAdd))
        h1 { (t::ProblemsAdd) }
        form.fields method="post" enctype="multipart/form-data" {
            (package_input(Some(MAX_PACKAGES)))
            (select("visibility", t::VisibleTo, &VISIBILITIES, "private"))
            button { (t::ProblemsAddButton) }
        }
    };
    Ok(page(&session, t::ProblemsAdd, main).into_response())
}

/// `POST /problems/new`.
pub async fn create(Ctx { app, session }: Ctx, form: Multipart) -> Page {
    let user = session.user_id()?;
    if !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    let uploads = StoredUpload::read_all(&app, user, MAX_PACKAGES, form).await?;
    let visibility = visibility(uploads[0].field("visibility"), &session)?;
    let (mut packages, mut jobs) = (Vec::new(), Vec::new());
    let (mut failed, mut fine) = (Vec::new(), Vec::new());
    for upload in &uploads {
        let file_name = upload.file_name.clone();
        match packages::read_if_small(&app, session.party(), upload).await {
            Err(PageError::Invalid(mistake)) if uploads.len() > 1 => {
                failed.push((file_name, mistake));
                continue;
            }
            Err(error) => return Err(error),
            Ok(Some(package)) => packages.push((package, upload)),
            Ok(None) => jobs.push(Work::AddProblem {
                digest: upload.digest.clone(),
                file_name: file_name.clone(),
                visibility,
            }),
        }
        fine.push(file_name);
    }
    // The form is added as a whole, so that a repetition adds nothing twice.
    if !failed.is_empty() {
        return Err(Mistake::Packages { failed, fine }.into());
    }
    if !jobs.is_empty() {
        quota::room(&app, user).await?;
    }
    let mut tx = app.db.begin().await?;
    let mut pages = Vec::new();
    let left = jobs::left(&mut tx, user).await?;
    for work in &jobs {
        let job = match jobs::add(&mut tx, work, user).await {
            Err(PageError::Refused(Refusal::TooManyJobs { .. })) if left > 0 => {
                return Err(Refusal::TooManyLargePackages { left }.into());
            }
            added => added?,
        };
        pages.push(format!("/jobs/{job}"));
    }
    for (package, upload) in &packages {
        let name = archives::problem_name(&package.manifest);
        let id = problem::insert(&mut tx, &name, visibility, user, Time::now()).await?;
        problem::set_label(&mut tx, id, &package.manifest.label).await?;
        archives::insert(&mut tx, id, package, "", user).await?;
        // This page lists what was not taken over from the package of another system.
        pages.push(match package.digest == upload.digest {
            true => format!("/problems/{id}"),
            false => format!("/problems/{id}/versions"),
        });
    }
    tx.commit().await?;
    app.queue.wake();
    if !jobs.is_empty() {
        app.wake_jobs();
    }
    let page = match pages.as_slice() {
        [page] => page,
        _ if jobs.is_empty() => "/problems",
        _ => "/jobs",
    };
    Ok(Redirect::to(page).into_response())
}

/// Only administrators publish problems.
fn visibility(text: &str, session: &Session) -> Page<Visibility> {
    let visibility = Visibility::of_text(text).ok_or(Mistake::UnknownVisibility)?;
    if visibility == Visibility::Public && !session.viewer().is_admin() {
        return Err(Refusal::PublishProblem.into());
    }
    Ok(visibility)
}

/// The fields of `POST /problems/{id}/edit`.
#[derive(Deserialize)]
pub struct Edit {
    name: String,
    visibility: String,
}

/// `POST /problems/{id}/edit`.
pub async fn edit(Ctx { app, session }: Ctx, Path(id): Path<i64>, Form(form): Form<Edit>) -> Page {
    let (_, access) = find(&app, &session, id).await?;
    if !access.edit {
        return Err(PageError::NotFound);
    }
    check_name(&form.name, MAX_NAME)?;
    let mut tx = app.db.begin().await?;
    let problem = problem::by_id(&mut tx, id).await?;
    let problem = problem.ok_or(PageError::NotFound)?;
    let visibility = if form.visibility == problem.visibility.text() {
        problem.visibility
    } else {
        visibility(&form.visibility, &session)?
    };
    problem::update(&mut tx, id, form.name.trim(), visibility).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/problems/{id}")).into_response())
}

/// `GET /problems/{id}`.
pub async fn show(
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Query(choice): Query<StatementChoice>,
) -> Page {
    let (problem, access) = find(&app, &session, id).await?;
    let (_, manifest) = current(&app, &problem).await?;
    let files = format!("/problems/{id}/files");
    let text = shown_statement(&app, session.party(), &manifest, &files, &choice).await?;
    let reader = editorial::Reader::of_problem(&session, id, access);
    let has_editorial = editorial::is_offered(&app, reader, &manifest).await?;
    let list = match session.viewer().id() {
        Some(user) => {
            let user = (!access.edit).then_some(user);
            let filter = Filter {
                problem: Some(id),
                user,
                ..Filter::default()
            };
            submission::page(&app.db, filter, PAGE_ROWS).await?
        }
        None => Vec::new(),
    };
    let now = Time::now();
    let list: Vec<_> = list
        .into_iter()
        .map(|one| {
            let tie = Tie {
                author: one.user_id,
                problem_owner: one.owner_id,
                // The list contains no submissions in contests.
                manages_contest: None,
                is_over: true,
                is_teammate: false,
            };
            let relation = access::submission(session.viewer(), tie);
            (one, visible(relation, None, now))
        })
        .collect();
    let mut tags = problem::tags(&app.db, id).await?;
    tags.retain(|tag| access.sees_tag(tag));
    let main = html! {
        (crumbs(&[("/problems", &t::Problems)], &problem.name))
        h1 { (problem.name) }
        p.actions {
            @if access.submit { a.button href={ "/problems/" (id) "/submit" } { (t::Submit) } }
            @if access.submit { a href={ "/problems/" (id) "/try" } { (t::ProblemTry) } }
            @if access.edit { a href={ "/problems/" (id) "/package" } { (t::ProblemDownload) } }
            @if access.edit {
                a href={ "/rejudgings/new?problem=" (id) } { (t::ProblemJudgeAgain) }
            }
        }
        @if !tags.is_empty() { p { (t::ProblemTags { tags: tag_links(tags) }) } }
        @if has_editorial { (editorial::link(&format!("/problems/{id}"))) }
        (statement(&manifest, &text, &files))
        @if session.user.is_some() {
            h2 { @if access.edit { (t::Submissions) } @else { (t::YourSubmissions) } }
            (submissions(&app.languages, &list, None))
        }
        @if access.edit { (settings(&app, &session, &problem, &manifest).await?) }
    };
    Ok(page(&session, &problem.name, main).into_response())
}

/// Links to the problems with a tag.
fn tag_links(tags: Vec<Tag>) -> Markup {
    let search = |tag: Tag| Search {
        tag: tag.name,
        ..Search::default()
    };
    html! {
        @for (index, search) in tags.into_iter().map(search).enumerate() {
            @if index > 0 { ", " }
            a href={ "/problems" (search.query(None)) } { (search.tag) }
        }
    }
}

/// What the owner of a problem may change.
async fn settings(
    app: &App,
    session: &Session,
    problem: &Problem,
    manifest: &Manifest,
) -> Page<Markup> {
    let (viewer, now) = (session.viewer(), Time::now());
    let uses = problem_use::uses(&app.db, problem.id, session.user_id()?).await?;
    let kept = uses
        .iter()
        .filter(|one| !one.takes_version(viewer.is_admin(), now));
    let kept = kept.count();
    Ok(html! {
        h2 { (t::Settings) }
        form.fields method="post" action={ "/problems/" (problem.id) "/edit" } {
            label { (t::Name)
                input name="name" value=(problem.name) required maxlength=(MAX_NAME); }
            (select("visibility", t::VisibleTo, &VISIBILITIES, problem.visibility.text()))
            button { (t::Save) }
        }
        (tags_form(app, problem).await?)
        p.actions {
            a href={ "/problems/" (problem.id) "/versions" } {
                (t::ProblemVersions)
            }
            a href={ "/problems/" (problem.id) "/delete" } { (t::ProblemDelete) }
        }
        h2 { (t::ProblemMerge) }
        p.hint { (t::ProblemMergeHint) }
        form.fields method="post" action={ "/problems/" (problem.id) "/merge" } {
            label { (t::ProblemMergeNumber) input name="into" type="number" min="1"
                required; }
            label.check {
                input type="checkbox" name="rejudge" value="1";
                (t::ProblemMergeRejudge)
            }
            @if kept > 0 { p.hint #kept { (t::ProblemMergeKept { count: kept }) } }
            label { (t::YourPassword)
                input name="password" type="password" autocomplete="current-password" required; }
            button { (t::ProblemMergeButton) }
        }
        (remarks(manifest))
    })
}

/// What the owner of a package should know, with what was not taken over from another system.
fn remarks(manifest: &Manifest) -> Markup {
    let remarks = manifest.remarks();
    html! {
        @if !remarks.is_empty() {
            h2 { (t::ProblemWarnings) }
            pre tabindex="0" { "\n" (remarks.join("\n")) }
        }
    }
}

/// The form of the short name and the tags.
pub async fn tags_form(app: &App, problem: &Problem) -> Page<Markup> {
    let tags = problem::tags(&app.db, problem.id).await?;
    let names = |hidden: bool| {
        let names = tags.iter().filter(|tag| tag.hidden == hidden);
        let names: Vec<&str> = names.map(|tag| tag.name.as_str()).collect();
        names.join(", ")
    };
    Ok(html! {
        form.fields method="post" action={ "/problems/" (problem.id) "/tags" } {
            label { (t::ProblemShortName) input name="label" value=(problem.label); }
            label { (t::ProblemTagsField) input name="tags" value=(names(false)); }
            label { (t::ProblemTagsHidden) input name="hidden_tags" value=(names(true)); }
            button { (t::Save) }
        }
    })
}

/// The query of a problem page.
#[derive(Default, Deserialize)]
pub struct StatementChoice {
    /// The language of the statement; empty for the best one.
    #[serde(default)]
    statement: String,
}

/// The statement that the page of a problem shows: the one in the chosen language, or the best one
/// for the reader. `files` is the address of its images.
pub async fn shown_statement(
    app: &App,
    party: Party,
    manifest: &Manifest,
    files: &str,
    choice: &StatementChoice,
) -> Page<ShownStatement> {
    let offers = manifest.offers(&readers_languages());
    shown_text(app, party, &offers, &manifest.images, files, choice).await
}

/// The text that a page shows, of those that a package offers. `files` is the address of its
/// images.
async fn shown_text(
    app: &App,
    party: Party,
    offers: &[Offer<'_>],
    images: &[File],
    files: &str,
    choice: &StatementChoice,
) -> Page<ShownStatement> {
    let is_chosen = |one: &&Offer<'_>| match choice.statement.as_str() {
        "" => true,
        chosen => one.language == chosen && one.form == StatementForm::Markdown,
    };
    let found = offers.iter().find(is_chosen).or(offers.first());
    let Some(statement) = found.filter(|one| one.form == StatementForm::Markdown) else {
        return Ok(ShownStatement::default());
    };
    Ok(ShownStatement {
        language: statement.language.to_owned(),
        html: Some(markdown(app, party, images, statement, files).await?),
        max_points: None,
    })
}

/// A text in Markdown as HTML.
async fn markdown(
    app: &App,
    party: Party,
    images: &[File],
    statement: &Offer<'_>,
    files: &str,
) -> Page<Arc<str>> {
    let key = statements::key(images, statement.digest, files);
    if let Some(kept) = app.statements.page(&key) {
        return Ok(kept);
    }
    let turn = app.limits.rendering.turn(party).await?;
    // Another request may have rendered it in the meantime.
    if let Some(kept) = app.statements.page(&key) {
        return Ok(kept);
    }
    let path = app.blobs.path(statement.digest);
    let text = tokio::fs::read(path).await;
    let text = text.map_err(|error| unreadable(statement.digest, error))?;
    let images: Vec<String> = images.iter().map(|it| it.name.clone()).collect();
    let files = files.to_owned();
    let render = move || {
        let image = |name: &str| {
            let is_known = images.iter().any(|image| image == name);
            is_known.then(|| format!("{files}/{name}"))
        };
        crate::core::markdown::render(&String::from_utf8_lossy(&text), image)
    };
    let html = turn.run(render).await?;
    let html = html.map_err(InternalError::Renderer)?;
    Ok(app.statements.keep_page(key, html))
}

/// A statement, an image or a sample of a package.
pub async fn package_file(app: &App, manifest: &Manifest, name: &str) -> Page {
    if let Some(text) = manifest.sample(name) {
        return Ok(slips::file(
            name,
            "text/plain; charset=utf-8",
            text.to_owned(),
        ));
    }
    let pdf = name.strip_suffix(".pdf").and_then(|language| {
        let mut all = manifest.statements.iter();
        all.find(|one| one.is_pdf && one.language == language)
    });
    let source = name.strip_suffix(".tex").and_then(|language| {
        let mut all = manifest.sources.iter();
        all.find(|one| one.language == language)
    });
    if let Some(source) = source {
        return upload::download(app, &source.digest, name, LATEX).await;
    }
    let image = manifest.images.iter().find(|image| image.name == name);
    match (pdf, image) {
        (Some(pdf), _) => shown_file(app, &pdf.digest, PDF, PDF_POLICY).await,
        (None, Some(image)) => shown_file(app, &image.digest, &image.media, FILE_POLICY).await,
        (None, None) => Err(PageError::NotFound),
    }
}

/// A file that browsers show.
async fn shown_file(app: &App, digest: &str, media: &str, policy: &'static str) -> Page {
    let headers = [(CONTENT_TYPE, media), (CONTENT_SECURITY_POLICY, policy)];
    Ok((headers, upload::stored(app, digest).await?).into_response())
}

/// `GET /problems/{id}/files/{name}`.
pub async fn file(Ctx { app, session }: Ctx, Path((id, name)): Path<(i64, String)>) -> Page {
    let (problem, _) = find(&app, &session, id).await?;
    let (_, manifest) = current(&app, &problem).await?;
    package_file(&app, &manifest, &name).await
}

/// `GET /problems/{id}/package`.
pub async fn download(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page<Response> {
    let (problem, access) = find(&app, &session, id).await?;
    if !access.edit {
        return Err(PageError::NotFound);
    }
    let (version, _) = current(&app, &problem).await?;
    packages::archive(&app, &version).await
}
