//! Members of contests, and the links with which users enter.

use super::class_entry;
use super::view::{ContestView, Managed, check_user};
use crate::app::App;
use crate::core::time::Time;
use crate::core::token::Token;
use crate::db::Executor;
use crate::db::contest::{self, Contest, MemberRole};
use crate::db::participant;
use crate::db::user;
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{new_link, select};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::vocabulary;
use crate::text::t;
use axum::extract::{Form, Path};
use axum::response::{IntoResponse, Redirect};
use maud::{Render, html};
use serde::Deserialize;

const ROLES: [(&str, &dyn Render); 4] = [
    ("contestant", &t::MemberContestant),
    ("moderator", &t::MemberModerator),
    ("owner", &t::MemberOwner),
    ("", &t::MembersNone),
];

/// `GET /contests/{id}/members`.
pub async fn show(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    members_page(&app, &session, id, None).await
}

/// The page, with a newly created link.
async fn members_page(app: &App, session: &Session, id: i64, link: Option<&str>) -> Page {
    let view = ContestView::managed(app, session, id).await?;
    let members = contest::members(&app.db, id).await?;
    let main = html! {
        (view.top(session, Some(&t::ContestTabMembers)))
        h2 { (t::ContestTabMembers) }
        div.scroll { table {
            thead { tr { th { (t::Login) } th { (t::Name) } th { (t::Role) } } }
            tbody { @for member in &members { tr {
                td { (member.login) } td { (member.name) }
                td { (vocabulary::member_role(member.role)) }
            } } }
        } }
        h2 { (t::MembersChange) }
        form.fields method="post" {
            label { (t::Login) input name="login" required; }
            (select("role", t::Role, &ROLES, "contestant"))
            button { (t::Save) }
        }
        p.hint { (t::MembersLeaveHint) }
        (class_entry::form(app, session, id).await?)
        h2 { (t::MembersLink) }
        @if let Some(link) = link {
            p { (t::MembersLinkShown) }
            (new_link("entry-link", link))
        }
        div.actions {
            form.inline method="post" action={ "/contests/" (id) "/link" } {
                button { (t::MembersLinkMake) }
            }
            form.inline method="post" action={ "/contests/" (id) "/link/delete" } {
                button { (t::MembersLinkRemove) }
            }
        }
        p.hint { (t::MembersLinkHint) }
    };
    Ok(page(session, t::ContestTabMembers, main).into_response())
}

/// The fields of `POST /contests/{id}/members`.
#[derive(Deserialize)]
pub struct Change {
    login: String,
    role: String,
}

/// `POST /contests/{id}/members`.
pub async fn change(
    Checked(Managed(Ctx { app, .. }, view), Form(form)): Checked<Managed, Form<Change>>,
) -> Page {
    let id = view.contest.id;
    let found = user::by_login(&app.db, &form.login).await?;
    let user = found.ok_or(Mistake::UnknownUser)?;
    let role = match form.role.as_str() {
        "" => None,
        text => Some(MemberRole::of_text(text).ok_or(Mistake::UnknownRole)?),
    };
    let mut tx = app.db.begin().await?;
    let before = contest::role(&mut tx, id, user.id).await?;
    let concerns_owner = [before, role].contains(&Some(MemberRole::Owner));
    if concerns_owner && !view.access.own {
        return Err(Refusal::OwnersOnly.into());
    }
    match role {
        None => {
            contest::leave(&mut tx, id, user.id).await?;
        }
        Some(role) => {
            contest::join(&mut tx, id, user.id, role, Time::now()).await?;
            contest::set_role(&mut tx, id, user.id, role).await?;
            if role == MemberRole::Contestant {
                participant::ensure(&mut tx, id, user.id, false).await?;
            }
        }
    }
    let members = contest::members(&mut tx, id).await?;
    if before == Some(MemberRole::Owner)
        && !members
            .iter()
            .any(|member| member.role == MemberRole::Owner)
    {
        return Err(Refusal::LastOwner.into());
    }
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/members")).into_response())
}

/// `POST /contests/{id}/link`.
pub async fn make_link(Managed(Ctx { app, session }, view): Managed) -> Page {
    let id = view.contest.id;
    let token = Token::random();
    let mut tx = app.db.begin().await?;
    contest::set_entry_link(&mut tx, id, token.digest(), Time::now()).await?;
    session.hold(&mut tx).await?;
    tx.commit().await?;
    let link = format!("/enter/{}", token.hex());
    members_page(&app, &session, id, Some(&link)).await
}

/// `POST /contests/{id}/link/delete`.
pub async fn delete_link(Managed(Ctx { app, .. }, view): Managed) -> Page {
    let id = view.contest.id;
    let mut tx = app.db.begin().await?;
    contest::delete_entry_link(&mut tx, id).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/members")).into_response())
}

async fn contest_of_link(db: impl Executor, token: &str) -> Page<Contest> {
    let token = Token::of_hex(token).ok_or(PageError::NotFound)?;
    let contest = contest::by_entry_link(db, token.digest()).await?;
    contest.ok_or(PageError::NotFound)
}

/// `GET /enter/{token}`.
pub async fn enter_form(Ctx { app, session }: Ctx, Path(token): Path<String>) -> Page {
    let contest = contest_of_link(&app.db, &token).await?;
    let main = html! {
        h1 { (contest.name) }
        @if session.user.is_some() {
            form method="post" { button { (t::EnterButton) } }
        } @else {
            @let back = session.back.query();
            @let sign_in = html! { a href={ "/sign-in" (back) } { (t::SignIn) } };
            @let sign_up = html! { a href={ "/sign-up" (back) } { (t::EnterSignUp) } };
            p { (t::EnterHint { sign_in, sign_up }) }
        }
    };
    Ok(page(&session, &contest.name, main).into_response())
}

/// `POST /enter/{token}`.
pub async fn enter(Ctx { app, session }: Ctx, Path(token): Path<String>) -> Page {
    contest_of_link(&app.db, &token).await?;
    let Ok(user) = session.user_id() else {
        // The session has ended since the page was loaded.
        let address = format!("/sign-in{}", session.back.query());
        return Ok(Redirect::to(&address).into_response());
    };
    let mut tx = app.db.begin().await?;
    let contest = contest_of_link(&mut tx, &token).await?;
    check_user(&mut tx, contest.id, user).await?;
    contest::join(
        &mut tx,
        contest.id,
        user,
        MemberRole::Contestant,
        Time::now(),
    )
    .await?;
    if contest::role(&mut tx, contest.id, user).await? == Some(MemberRole::Contestant) {
        participant::ensure(&mut tx, contest.id, user, false).await?;
    }
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{}", contest.id)).into_response())
}
