//! Texts that contestants want to print, and the queue of the staff.

use super::view::{ContestView, Managed};
use crate::app::App;
use crate::core::time::Time;
use crate::db::participant;
use crate::db::print::{self, New, Request};
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{PAGE_ROWS, Upload, empty, time};
use crate::http::web::session::Session;
use crate::text::t;
use axum::extract::{Form, Multipart, Path};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;
use std::time::Instant;

/// The maximum size of a text, in bytes.
const MAX_PRINT: usize = 64 << 10;
/// The maximum length of a title, in characters.
const MAX_TITLE: usize = 100;

/// A contest in which the viewer may print, or whose queue the viewer may see.
async fn view(app: &App, session: &Session, id: i64) -> Page<ContestView> {
    let view = ContestView::of(app, session, id).await?;
    if view.access.manage || view.prints() {
        Ok(view)
    } else {
        Err(PageError::NotFound)
    }
}

/// `GET /contests/{id}/print`: the texts of the viewer and of the viewer's team, or the queue for
/// the staff.
pub async fn list(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let view = view(&app, &session, id).await?;
    let user = session.user_id()?;
    let staff = view.access.manage;
    let rows = print::page(&app.db, id, (!staff).then_some(user), PAGE_ROWS).await?;
    let main = html! {
        (view.top(&session, Some(&t::Printing)))
        h2 { (t::Printing) }
        @if rows.is_empty() { (empty(t::PrintsEmpty, None)) }
        @else { (table(&rows, staff)) }
        @if view.prints() {
            h2 { (t::PrintNew) }
            form.fields method="post" enctype="multipart/form-data" {
                label { (t::File) input type="file" name="file"; }
                label { (t::PrintText) textarea name="text" {} }
                button { (t::PrintButton) }
            }
        }
        @if staff {
            form.fields method="post" action={ "/contests/" (id) "/printing" } {
                label.check {
                    input type="checkbox" name="printing" value="1"
                        checked[view.contest.printing];
                    (t::PrintingAllowed)
                }
                button { (t::Save) }
            }
        }
    };
    Ok(page(&session, t::Printing, main).into_response())
}

fn table(rows: &[Request], staff: bool) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { (t::PrintTitle) }
                @if staff { th { (t::Participant) } th { (t::ParticipantGroup) } }
                th { (t::PrintSent) } th { (t::PrintDone) }
            } }
            tbody { @for one in rows { tr.ignored[one.done_at.is_some()] {
                td { a href={ "/prints/" (one.id) } { (one.title) } }
                @if staff {
                    td { (sender(one)) }
                    td { (one.group_name.as_deref().unwrap_or_default()) }
                }
                td { (time(one.created_at)) }
                td {
                    @match one.done_at {
                        Some(at) => (time(at)),
                        None if staff => {
                            form.inline method="post" action={ "/prints/" (one.id) "/done" } {
                                button {
                                    (t::PrintMark) span.visually-hidden { " " (one.id) }
                                }
                            }
                        }
                        None => span.chip.busy { (t::PrintWaits) },
                    }
                }
            } } }
        } }
    }
}

/// The login of the sender, and the team.
fn sender(one: &Request) -> Markup {
    html! {
        (one.login)
        @if let Some(team) = one.team_name.as_ref().filter(|name| !name.is_empty()) {
            " (" (team) ")"
        }
    }
}

/// `POST /contests/{id}/print`.
pub async fn send(Ctx { app, session }: Ctx, Path(id): Path<i64>, form: Multipart) -> Page {
    let view = view(&app, &session, id).await?;
    let user = session.user_id()?;
    let Some(sender) = view.participant.as_ref().filter(|_| view.prints()) else {
        return Err(PageError::NotFound);
    };
    let upload = Upload::read(form).await?;
    let (title, text) = if upload.content.is_empty() {
        (String::new(), upload.field("text").replace("\r\n", "\n"))
    } else {
        let text = String::from_utf8(upload.content).map_err(|_| Mistake::FieldNotUtf8)?;
        (upload.file_name, text)
    };
    if text.trim().is_empty() || text.len() > MAX_PRINT {
        return Err(Mistake::PrintLength { bytes: MAX_PRINT }.into());
    }
    let admitted = app.limits.prints.admit(user, Instant::now());
    admitted.map_err(PageError::TooOften)?;
    let title: String = match title.trim() {
        "" => "source".to_owned(),
        title => title.chars().take(MAX_TITLE).collect(),
    };
    // Databases store no zero bytes in texts, and printers need no other control characters.
    let is_printable = |symbol: &char| !symbol.is_control() || "\n\t".contains(*symbol);
    let text: String = text.chars().filter(is_printable).collect();
    let title: String = title.chars().filter(is_printable).collect();
    let new = New {
        contest_id: id,
        user_id: user,
        participant_id: sender.id,
        title: &title,
        content: &text,
    };
    let mut tx = app.db.begin().await?;
    print::insert(&mut tx, &new, Time::now()).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/print")).into_response())
}

/// A text that the viewer may see: one of the viewer or of the viewer's team, or any for the staff.
async fn find(app: &App, session: &Session, id: i64) -> Page<(ContestView, Request)> {
    let one = print::by_id(&app.db, id).await?;
    let one = one.ok_or(PageError::NotFound)?;
    let view = ContestView::of(app, session, one.contest_id).await?;
    let viewer = session.viewer().id();
    let is_own = viewer == Some(one.user_id)
        || match (one.participant_id, viewer) {
            (Some(team), Some(user)) => participant::is_member(&app.db, team, user).await?,
            _ => false,
        };
    if view.access.manage || is_own {
        Ok((view, one))
    } else {
        Err(PageError::NotFound)
    }
}

/// `GET /prints/{id}`: the page for the printer.
pub async fn show(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (view, one) = find(&app, &session, id).await?;
    let content = print::content(&app.db, id).await?.unwrap_or_default();
    let group = one.group_name.as_deref().unwrap_or_default();
    let main = html! {
        h1 { (one.title) }
        dl.facts {
            dt { (t::Contest) } dd { (view.contest.name) }
            dt { (t::Participant) } dd { (sender(&one)) }
            @if !group.is_empty() { dt { (t::ParticipantGroup) } dd { (group) } }
            dt { (t::PrintSent) } dd { (time(one.created_at)) }
        }
        pre.print tabindex="0" { "\n" (content) }
        @if view.access.manage && one.done_at.is_none() {
            form method="post" action={ "/prints/" (id) "/done" } { button { (t::PrintMark) } }
        }
    };
    Ok(page(&session, one.title.as_str(), main).into_response())
}

/// `POST /prints/{id}/done`.
pub async fn finish(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (view, _) = find(&app, &session, id).await?;
    if !view.access.manage {
        return Err(PageError::NotFound);
    }
    let user = session.user_id()?;
    let mut tx = app.db.begin().await?;
    print::finish(&mut tx, id, user, Time::now()).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{}/print", view.contest.id)).into_response())
}

/// The fields of `POST /contests/{id}/printing`.
#[derive(Deserialize)]
pub struct Allowed {
    printing: Option<String>,
}

/// `POST /contests/{id}/printing`: sets whether contestants may print.
pub async fn set_printing(
    Checked(Managed(Ctx { app, .. }, view), Form(form)): Checked<Managed, Form<Allowed>>,
) -> Page {
    let id = view.contest.id;
    let mut tx = app.db.begin().await?;
    print::set_printing(&mut tx, id, form.printing.is_some()).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/print")).into_response())
}
