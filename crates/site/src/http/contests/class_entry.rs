//! Classes in a contest: all members of a class become contestants.

use super::view::Managed;
use crate::app::App;
use crate::core::access;
use crate::core::time::Time;
use crate::db::contest::{self, MemberRole};
use crate::db::{Tx, class, participant};
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::Page;
use crate::http::web::mistake::Mistake;
use crate::http::web::session::Session;
use crate::text::t;
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::HashSet;

/// The maximum number of users that one form adds to a contest.
const MAX_JOINING: usize = 2_000;

/// The form that adds a class to a contest; empty if the viewer has no class.
pub async fn form(app: &App, session: &Session, contest: i64) -> Page<Markup> {
    let viewer = session.viewer();
    let Some(own) = viewer.id().filter(|_| viewer.is_teacher()) else {
        return Ok(html! {});
    };
    let classes = class::list(&app.db, own, viewer.is_admin()).await?;
    Ok(html! {
        @if !classes.is_empty() {
            h2 { (t::MembersClass) }
            form.fields method="post" action={ "/contests/" (contest) "/classes" } {
                label { (t::Class)
                    select name="class" {
                        @for one in &classes { option value=(one.id) {
                            (one.name) " (" (one.members) ")"
                        } }
                    }
                }
                button { (t::MembersClassAdd) }
            }
            p.hint { (t::MembersClassHint) }
        }
    })
}

/// The fields of `POST /contests/{id}/classes`.
#[derive(Deserialize)]
pub struct Fields {
    class: i64,
}

/// `POST /contests/{id}/classes`: adds the members of a class. Members that the contest has already
/// stay as they are.
pub async fn add(
    Checked(Managed(Ctx { app, session }, view), Form(form)): Checked<Managed, Form<Fields>>,
) -> Page {
    let id = view.contest.id;
    let mut tx = app.db.begin().await?;
    join(&mut tx, &session, id, form.class, Time::now()).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/members")).into_response())
}

/// Makes all members of a class contestants.
///
/// # Errors
/// The viewer does not manage the class.
pub async fn join(tx: &mut Tx, session: &Session, contest: i64, class: i64, now: Time) -> Page<()> {
    join_all(tx, session, contest, &[class], now).await
}

/// Makes all members of classes contestants. The first class of a member is its group.
///
/// # Errors
/// The viewer does not manage a class, or the classes have too many members.
pub async fn join_all(
    tx: &mut Tx,
    session: &Session,
    contest: i64,
    classes: &[i64],
    now: Time,
) -> Page<()> {
    let mut seen = HashSet::new();
    let mut joining = Vec::new();
    for class in classes {
        let found = class::by_id(&mut *tx, *class).await?;
        let found = found.filter(|one| access::class(session.viewer(), one.owner_id));
        let found = found.ok_or(Mistake::UnknownClass)?;
        let members = class::members(&mut *tx, found.id).await?.into_iter();
        let members: Vec<i64> = members.map(|one| one.id).collect();
        joining.extend(members.into_iter().filter_map(|user| {
            let is_new = seen.insert(user);
            is_new.then(|| (user, found.name.clone()))
        }));
        // No other request can change anything until the transaction ends.
        if joining.len() > MAX_JOINING {
            return Err(Mistake::TooManyMembers { max: MAX_JOINING }.into());
        }
    }
    for (user, class) in joining {
        contest::join(tx, contest, user, MemberRole::Contestant, now).await?;
        if contest::role(&mut *tx, contest, user).await? == Some(MemberRole::Contestant) {
            let entry = participant::ensure(tx, contest, user, false).await?;
            if entry.user_id == Some(user) && entry.group_name.is_empty() {
                participant::set_group(tx, entry.id, &class).await?;
            }
        }
    }
    Ok(())
}
