//! The members of a class, and new passwords for them.

use super::view::{self, ManagedClass, check_pupil, check_sizes, top};
use crate::app::App;
use crate::core::token::pupil_password;
use crate::db::class::{self, Class};
use crate::db::credential::Kept;
use crate::db::password;
use crate::db::user::{self, User};
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::slips::{Issue, Made, slips};
use crate::text::t;
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use futures_util::{StreamExt, TryStreamExt, stream};
use maud::html;
use serde::Deserialize;

/// The number of passwords of one request that are hashed at the same time.
const HASHES: usize = 2;

/// The fields of `POST /classes/{id}/members`.
#[derive(Deserialize)]
pub struct Add {
    login: String,
}

/// `POST /classes/{id}/members`: adds a pupil of the class's teacher. Membership gives the teacher
/// rights, so a teacher cannot add other users.
pub async fn add(
    Checked(ManagedClass(Ctx { app, session }, class), Form(form)): Checked<
        ManagedClass,
        Form<Add>,
    >,
) -> Page {
    let mut tx = app.db.begin().await?;
    let class = view::find(&mut tx, session.viewer(), class.id).await?;
    let found = user::by_login(&mut tx, form.login.trim()).await?;
    let found = found.ok_or(Mistake::UnknownUser)?;
    check_pupil(&mut tx, session.viewer(), &found).await?;
    class::add_member(&mut tx, class.id, found.id).await?;
    check_sizes(&mut tx, class.id, class.owner_id).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/classes/{}", class.id)).into_response())
}

/// `POST /classes/{id}/members/change`: removes the chosen members, or gives the chosen members or
/// all of them new passwords.
pub async fn change(
    Checked(ManagedClass(Ctx { app, session }, class), Form(fields)): Checked<
        ManagedClass,
        Form<Vec<(String, String)>>,
    >,
) -> Page {
    let of = |wanted: &'static str| {
        let fields = fields.iter();
        fields.filter_map(move |(name, value)| (name == wanted).then_some(value.as_str()))
    };
    let chosen: Vec<i64> = of("user").filter_map(|value| value.parse().ok()).collect();
    match of("act").next() {
        Some("remove") => remove(&app, &session, &class, &chosen).await,
        Some("passwords") if chosen.is_empty() => Err(Mistake::NoPupilChosen.into()),
        Some("passwords") => renew(&app, &session, &class, Some(&chosen)).await,
        Some("all") => renew(&app, &session, &class, None).await,
        _ => Err(PageError::NotFound),
    }
}

async fn remove(app: &App, session: &Session, class: &Class, chosen: &[i64]) -> Page {
    let mut tx = app.db.begin().await?;
    view::find(&mut tx, session.viewer(), class.id).await?;
    for user in chosen {
        class::remove_member(&mut tx, class.id, *user).await?;
    }
    tx.commit().await?;
    Ok(Redirect::to(&format!("/classes/{}", class.id)).into_response())
}

/// Gives members new passwords and shows the slips.
async fn renew(app: &App, session: &Session, class: &Class, chosen: Option<&[i64]>) -> Page {
    let mut users = Vec::new();
    for one in class::members(&app.db, class.id).await? {
        if chosen.is_none_or(|chosen| chosen.contains(&one.id)) {
            users.push(one);
        }
    }
    let party = session.party();
    let passwords: Vec<String> = users.iter().map(|_| pupil_password()).collect();
    let hashes = passwords.iter().map(|password| {
        let (hasher, party, password) = (app.passwords.clone(), party.clone(), password.clone());
        async move { hasher.hash(party, &password).await }
    });
    let hashes: Vec<_> = hashes.collect();
    let hashes: Vec<String> = stream::iter(hashes).buffered(HASHES).try_collect().await?;
    let mut tx = app.db.begin().await?;
    let class = view::find(&mut tx, session.viewer(), class.id).await?;
    let mut made = Vec::new();
    for ((one, hash), secret) in users.iter().zip(&hashes).zip(passwords) {
        // The user may have left the class, or become a teacher, while passwords were hashed.
        let found: Option<User> = match class::is_member(&mut tx, class.id, one.id).await? {
            true => user::by_id(&mut tx, one.id).await?,
            false => None,
        };
        let Some(found) = found else {
            let login = one.login.clone();
            return Err(Refusal::NoPupil { login }.into());
        };
        check_pupil(&mut tx, session.viewer(), &found).await?;
        password::set(&mut tx, found.id, hash, None, Kept::default()).await?;
        made.push(Made {
            login: found.login,
            name: found.name,
            secret,
        });
    }
    session.hold(&mut tx).await?;
    tx.commit().await?;
    for one in &users {
        app.pending.remove_of(one.id);
    }
    let main = html! {
        div.unprinted {
            (top(&class, Some(&t::ClassSlips)))
            p { (t::RosterMadePasswords) }
        }
        (slips(&made, Issue::Passwords))
        p.unprinted { a href={ "/classes/" (class.id) } { (t::ClassGoTo) } }
    };
    Ok(page(session, t::ClassSlips, main).into_response())
}
