//! New answers and announcements of a user's contests, on pages outside these contests.

use super::notices::shows;
use super::view::ContestView;
use crate::app::App;
use crate::core::time::Time;
use crate::db::clarification;
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::live::{Seat, changes};
use crate::http::web::session::Session;
use crate::judging::live::Note;
use axum::response::{Html, IntoResponse};
use maud::{Markup, html};
use std::time::Duration;

/// Pages outside a contest announce its news for this time.
const ANNOUNCED: Duration = Duration::from_secs(24 * 60 * 60);
/// The maximum number of contests with news on one page.
const MAX_SHOWN: usize = 3;
/// The maximum number of contests that one page follows.
const MAX_FOLLOWED: i64 = 20;

/// The part of a page with the news, which its script keeps up to date; empty for guests.
pub async fn banner(app: &App, session: &Session) -> Page<Markup> {
    let notices = notices(app, session).await?;
    Ok(html! {
        @if session.user.is_some() {
            div role="status" data-notice="/news" data-stream="/news/live" { (notices) }
        }
    })
}

async fn notices(app: &App, session: &Session) -> Page<Markup> {
    let Some(user) = session.viewer().id() else {
        return Ok(html! {});
    };
    let since = Time::now().before(ANNOUNCED);
    let contests = clarification::contests_with_news(&app.db, user, since, MAX_FOLLOWED).await?;
    let views = views(app, session, contests).await?;
    let views = views.iter().filter(|view| view.news.unread > 0);
    Ok(html! {
        @for view in views.take(MAX_SHOWN) {
            p.hint { a href={ "/contests/" (view.contest.id) } { (view.contest.name) } }
            (view.notice())
        }
    })
}

async fn views(app: &App, session: &Session, contests: Vec<i64>) -> Page<Vec<ContestView>> {
    let mut views = Vec::new();
    for id in contests {
        match ContestView::find(app, session, id).await {
            Ok(view) => views.push(view),
            Err(PageError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(views)
}

/// `GET /news`: the content of the part.
pub async fn show(Ctx { app, session }: Ctx) -> Page {
    Ok(Html(notices(&app, &session).await?.into_string()).into_response())
}

/// `GET /news/live`: an event for each change that the viewer may know of.
pub async fn live(Ctx { app, session }: Ctx, client: Client) -> Page {
    let user = session.user_id()?;
    let seat = Seat::of(&app, &session, &client)?;
    // The receiver exists before the contests are read, so no note is missed.
    let notes = app.live.subscribe_notes();
    let since = Time::now().before(ANNOUNCED);
    let contests = clarification::followed_contests(&app.db, user, since, MAX_FOLLOWED).await?;
    let views = views(&app, &session, contests).await?;
    let concerns = move |note: &Note| {
        let view = views.iter().find(|view| view.contest.id == note.contest);
        view.is_some_and(|view| !view.access.manage && shows(view, &note.versions))
    };
    Ok(seat.respond(changes(notes, "notice", concerns)))
}
