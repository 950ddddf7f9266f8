//! Files of contests. They are sent as attachments without a type, so that no browser opens them as
//! pages of the site.

use super::view::{ContestView, Managed, Viewed};
use crate::app::App;
use crate::core::contest_file::{self as rule, MAX_DESCRIPTION, MAX_FILE_NAME, MAX_FILES};
use crate::core::time::Time;
use crate::db::Executor;
use crate::db::contest::{self, Round};
use crate::db::contest_file::{self, ContestFile, Fields, FileAudience};
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{empty, select, time};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::upload::{self, StoredUpload};
use crate::text::t;
use axum::extract::{Multipart, Path};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};

/// The type of all files.
const MEDIA: &str = "application/octet-stream";
const AUDIENCES: [(&str, &dyn Render); 2] = [("all", &t::FileForAll), ("staff", &t::FileForStaff)];

fn is_seen(view: &ContestView, file: &ContestFile, now: Time) -> bool {
    let begins = file.round().map(|(id, times)| view.times(id, times).begins);
    rule::is_seen(view.access, file.audience, begins, now)
}

/// The files of a contest that the viewer may download now.
pub async fn listed(app: &App, view: &ContestView) -> Page<Vec<ContestFile>> {
    let now = Time::now();
    let mut files = contest_file::all(&app.db, view.contest.id).await?;
    files.retain(|file| is_seen(view, file, now));
    Ok(files)
}

/// A file that the viewer may download now.
pub async fn find(app: &App, session: &Session, id: i64) -> Page<(ContestView, ContestFile)> {
    let file = contest_file::by_id(&app.db, id).await?;
    let file = file.ok_or(PageError::NotFound)?;
    let view = ContestView::of(app, session, file.contest_id).await?;
    if is_seen(&view, &file, Time::now()) {
        Ok((view, file))
    } else {
        Err(PageError::NotFound)
    }
}

async fn managed(app: &App, session: &Session, id: i64) -> Page<(ContestView, ContestFile)> {
    let (view, file) = find(app, session, id).await?;
    if view.access.manage {
        Ok((view, file))
    } else {
        Err(PageError::NotFound)
    }
}

/// A size in human-readable form.
fn size(bytes: i64) -> Markup {
    let bytes = bytes.max(0);
    match bytes {
        0..1024 => t::SizeBytes { bytes }.render(),
        1024..1_048_576 => t::SizeKib { kib: bytes >> 10 }.render(),
        _ => t::MemoryMib { mib: bytes >> 20 }.render(),
    }
}

/// `GET /contests/{id}/files`.
pub async fn list(Viewed(Ctx { app, session }, view): Viewed) -> Page {
    let id = view.contest.id;
    let files = listed(&app, &view).await?;
    let rounds = contest::rounds(&app.db, id).await?;
    let main = html! {
        (view.top(&session, Some(&t::Files)))
        h2 { (t::Files) }
        @if files.is_empty() { (empty(t::FilesEmpty, None)) }
        @else { (table(&view, &files)) }
        @if view.access.manage {
            h2 { (t::FileAdd) }
            form.fields method="post" enctype="multipart/form-data" {
                (inputs(None, &rounds))
                button { (t::FileAddButton) }
            }
        }
    };
    Ok(page(&session, t::Files, main).into_response())
}

fn table(view: &ContestView, files: &[ContestFile]) -> Markup {
    let staff = view.access.manage;
    html! {
        div.scroll { table {
            thead { tr {
                th { (t::Name) } th { (t::FileDescription) } th.number { (t::FileSize) }
                th { (t::FileModified) }
                @if staff { th { (t::VisibleTo) } th { (t::FileChange) } }
            } }
            tbody { @for file in files { tr {
                td { a href={ "/contest-files/" (file.id) } { (file.name) } }
                td { (file.description) }
                td.number { (size(file.bytes)) }
                td { (time(file.modified_at)) @if staff { " (" (file.login) ")" } }
                @if staff {
                    td {
                        @match (file.audience, &file.round_name) {
                            (FileAudience::Staff, _) => (t::FileForStaff),
                            (FileAudience::All, None) => (t::FileForAll),
                            (FileAudience::All, Some(name)) => (t::FileFromRound { name }),
                        }
                    }
                    td { a href={ "/contest-files/" (file.id) "/edit" } {
                        (t::FileChange) span.visually-hidden { " " (file.name) }
                    } }
                }
            } } }
        } }
    }
}

fn inputs(file: Option<&ContestFile>, rounds: &[Round]) -> Markup {
    let audience = file.map_or(FileAudience::All, |file| file.audience);
    html! {
        label { @if file.is_some() { (t::FileReplacement) } @else { (t::File) }
            input type="file" name="file" required[file.is_none()]; }
        label { (t::FileName)
            input name="name" maxlength=(MAX_FILE_NAME) value=[file.map(|file| &file.name)]; }
        label { (t::FileDescription)
            input name="description" maxlength=(MAX_DESCRIPTION)
                value=[file.map(|file| &file.description)]; }
        (select("audience", t::VisibleTo, &AUDIENCES, audience.text()))
        label { (t::FileRound)
            select name="round" {
                option value="" { (t::FileAlways) }
                @for round in rounds {
                    option value=(round.id)
                        selected[file.is_some_and(|file| file.round_id == Some(round.id))] {
                        (round.name)
                    }
                }
            }
        }
    }
}

/// The fields of a form. An empty file keeps the existing one.
async fn fields(
    app: &App,
    view: &ContestView,
    before: Option<&ContestFile>,
    upload: &StoredUpload,
) -> Page<Fields> {
    let name = match (upload.field("name").trim(), before) {
        ("", Some(before)) => before.name.clone(),
        ("", None) => upload.file_name.clone(),
        (name, _) => name.to_owned(),
    };
    let name = rule::file_name(&name).ok_or(Mistake::FileName { max: MAX_FILE_NAME })?;
    let description = upload.field("description").trim().to_owned();
    if description.chars().count() > MAX_DESCRIPTION {
        return Err(Mistake::TextLength {
            max: MAX_DESCRIPTION,
        }
        .into());
    }
    let round_id = match upload.field("round") {
        "" => None,
        text => {
            let id = text.parse().map_err(|_| PageError::NotFound)?;
            let round = contest::round(&app.db, id).await?;
            let round = round.filter(|round| round.contest_id == view.contest.id);
            Some(round.ok_or(PageError::NotFound)?.id)
        }
    };
    let audience = FileAudience::of_text(upload.field("audience"));
    let (digest, bytes) = match before {
        Some(before) if upload.bytes == 0 => (before.digest.clone(), before.bytes),
        None if upload.bytes == 0 => return Err(Mistake::NoFile.into()),
        _ => (
            upload.digest.clone(),
            i64::try_from(upload.bytes).unwrap_or(i64::MAX),
        ),
    };
    Ok(Fields {
        round_id,
        name,
        description,
        digest,
        bytes,
        audience: audience.ok_or(Mistake::UnknownVisibility)?,
    })
}

fn to_list(view: &ContestView) -> Page {
    Ok(Redirect::to(&format!("/contests/{}/files", view.contest.id)).into_response())
}

async fn check_count(db: impl Executor, contest: i64) -> Page<()> {
    if contest_file::all(db, contest).await?.len() >= MAX_FILES {
        return Err(Refusal::TooManyFiles { max: MAX_FILES }.into());
    }
    Ok(())
}

/// `POST /contests/{id}/files`.
pub async fn add(Managed(Ctx { app, session }, view): Managed, form: Multipart) -> Page {
    let id = view.contest.id;
    // A form is read only for a contest that the viewer manages.
    let user = session.user_id()?;
    check_count(&app.db, id).await?;
    let upload = StoredUpload::read(&app, user, form).await?;
    let fields = fields(&app, &view, None, &upload).await?;
    let mut tx = app.db.begin().await?;
    // Other files may have arrived at the same time.
    check_count(&mut tx, id).await?;
    contest_file::insert(&mut tx, id, &fields, user, Time::now()).await?;
    tx.commit().await?;
    to_list(&view)
}

/// `GET /contest-files/{id}`: the file itself.
pub async fn load(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (_, file) = find(&app, &session, id).await?;
    upload::download(&app, &file.digest, &file.name, MEDIA).await
}

/// `GET /contest-files/{id}/edit`.
pub async fn edit_form(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (view, file) = managed(&app, &session, id).await?;
    let rounds = contest::rounds(&app.db, view.contest.id).await?;
    let main = html! {
        (view.top(&session, Some(&file.name.as_str())))
        h2 { (file.name) }
        form.fields method="post" enctype="multipart/form-data" {
            (inputs(Some(&file), &rounds))
            button { (t::Save) }
        }
        form.inline method="post" action={ "/contest-files/" (id) "/delete" } {
            button { (t::FileDelete) }
        }
    };
    Ok(page(&session, file.name.as_str(), main).into_response())
}

/// `POST /contest-files/{id}/edit`.
pub async fn edit(Ctx { app, session }: Ctx, Path(id): Path<i64>, form: Multipart) -> Page {
    let (view, file) = managed(&app, &session, id).await?;
    let user = session.user_id()?;
    let upload = StoredUpload::read(&app, user, form).await?;
    let fields = fields(&app, &view, Some(&file), &upload).await?;
    let mut tx = app.db.begin().await?;
    contest_file::update(&mut tx, id, &fields, user, Time::now()).await?;
    tx.commit().await?;
    to_list(&view)
}

/// `POST /contest-files/{id}/delete`.
pub async fn delete(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (view, _) = managed(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    contest_file::delete(&mut tx, id).await?;
    tx.commit().await?;
    to_list(&view)
}
