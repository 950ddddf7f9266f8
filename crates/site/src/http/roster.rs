//! Lists of users: import with a preview, and export.

use super::error::{Page, PageError};
use super::layout::page;
use super::mistake::Mistake;
use super::parts::Upload;
use super::refusal::Refusal;
use super::session::Session;
use super::users::check_admin;
use super::vocabulary;
use crate::app::App;
use crate::core::roster::{self, Entry};
use crate::core::time::Time;
use crate::core::token::readable_password;
use crate::db::user::{self, NewUser, Role, User};
use crate::db::{Db, session};
use crate::text::{Message, t};
use axum::extract::{Form, Multipart, State};
use axum::http::Uri;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use futures_util::{StreamExt, TryStreamExt, stream};
use maud::{Markup, Render, html};
use serde::Deserialize;
use std::sync::Arc;

/// Users that are read at a time.
const EXPORT_ROWS: i64 = 500;
/// Passwords that are hashed at a time. The bound of [`crate::core::password`] is lower.
const HASHES: usize = 4;

/// What an import does with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Add,
    Change,
    Keep,
}

impl Effect {
    fn words(self) -> &'static dyn Message {
        match self {
            Effect::Add => &t::RosterAdd,
            Effect::Change => &t::RosterChange,
            Effect::Keep => &t::RosterKeep,
        }
    }

    fn of(entry: &Entry, found: Option<&User>) -> Effect {
        let Some(found) = found else {
            return Effect::Add;
        };
        let is_same = entry.name == found.name
            && (entry.email.is_none() || entry.email == found.email)
            && entry.role == found.role
            && entry.password.is_none();
        if is_same {
            Effect::Keep
        } else {
            Effect::Change
        }
    }
}

/// `GET /users/import`.
pub async fn form(session: Session) -> Page {
    check_admin(&session)?;
    let main = html! {
        h1 { (t::UsersAdd) }
        form.fields method="post" enctype="multipart/form-data" {
            label { (t::RosterFile) input type="file" name="file" accept=".csv,.tsv,.json,.txt"; }
            label { (t::RosterList) textarea name="list" spellcheck="false" {
                "login,name,email,role,password\n"
            } }
            button { (t::RosterPreview) }
        }
        p.hint { (t::RosterHint) }
    };
    Ok(page(&session, t::UsersAdd, main).into_response())
}

/// The entries with the users that exist, and what an import does.
async fn plan(app: &App, entries: Vec<Entry>) -> Page<Vec<(Entry, Option<User>, Effect)>> {
    let mut plan = Vec::new();
    for entry in entries {
        let found = user::by_login(&app.db, &entry.login).await?;
        let effect = Effect::of(&entry, found.as_ref());
        plan.push((entry, found, effect));
    }
    Ok(plan)
}

/// `POST /users/import`: the preview.
pub async fn preview(State(app): State<Arc<App>>, session: Session, form: Multipart) -> Page {
    check_admin(&session)?;
    let upload = Upload::read(form).await?;
    let list = if upload.content.is_empty() {
        upload.field("list").to_owned()
    } else {
        String::from_utf8(upload.content).map_err(|_| Mistake::NotUtf8)?
    };
    let plan = plan(&app, roster::read(&list)?).await?;
    let count = |effect| plan.iter().filter(|(_, _, one)| *one == effect).count();
    let main = html! {
        h1 { (t::RosterPreview) }
        p #counts {
            (t::RosterCounts {
                added: count(Effect::Add),
                changed: count(Effect::Change),
                kept: count(Effect::Keep),
            })
        }
        div.scroll { table {
            thead { tr {
                th { (t::Login) } th { (t::PersonName) } th { (t::RosterEmail) } th { (t::Role) }
                th { (t::Password) }
                th { (t::RosterEffect) }
            } }
            tbody { @for (entry, found, effect) in &plan { tr {
                td { (entry.login) }
                td { (changed(found.as_ref().map(|one| one.name.as_str()), &entry.name)) }
                td { (entry.email.as_deref().unwrap_or_default()) }
                td { (changed_role(found.as_ref(), entry.role)) }
                td { (password_words(entry, *effect)) }
                td { (effect.words()) }
            } } }
        } }
        form.fields method="post" action="/users/import/apply" {
            textarea name="list" hidden { "\n" (list) }
            button name="format" value="page" { (t::RosterApply) }
            button name="format" value="csv" { (t::RosterApplyCsv) }
        }
        p.hint { (t::RosterApplyHint) }
    };
    Ok(page(&session, t::RosterPreview, main).into_response())
}

fn changed(old: Option<&str>, new: &str) -> Markup {
    html! {
        @match old {
            Some(old) if old != new => { (old) " → " (new) },
            _ => (new),
        }
    }
}

fn changed_role(old: Option<&User>, new: Role) -> Markup {
    html! {
        @match old {
            Some(old) if old.role != new => {
                (vocabulary::role(old.role)) " → " (vocabulary::role(new))
            },
            _ => (vocabulary::role(new)),
        }
    }
}

fn password_words(entry: &Entry, effect: Effect) -> &'static dyn Render {
    match (&entry.password, effect) {
        (Some(_), _) => &t::RosterPasswordListed,
        (None, Effect::Add) => &t::RosterPasswordGenerated,
        (None, _) => &"",
    }
}

/// The fields of `POST /users/import/apply`.
#[derive(Deserialize)]
pub struct Apply {
    list: String,
    format: String,
}

/// A generated password.
struct Made {
    login: String,
    name: String,
    password: String,
}

/// `POST /users/import/apply`: all or nothing.
pub async fn apply(State(app): State<Arc<App>>, session: Session, Form(form): Form<Apply>) -> Page {
    let own = check_admin(&session)?;
    let plan = plan(&app, roster::read(&form.list)?).await?;
    let made: Vec<Option<String>> = plan
        .iter()
        .map(|(entry, _, effect)| {
            let is_generated = *effect == Effect::Add && entry.password.is_none();
            is_generated.then(readable_password)
        })
        .collect();
    let passwords = plan.iter().zip(&made).map(|((entry, _, _), made)| {
        let password = made.clone().or_else(|| entry.password.clone());
        let hasher = app.passwords.clone();
        async move {
            match password {
                Some(password) => hasher.hash(&password).await.map(Some),
                None => Ok(None),
            }
        }
    });
    let passwords: Vec<_> = passwords.collect();
    let hashes: Vec<Option<String>> = stream::iter(passwords)
        .buffered(HASHES)
        .try_collect()
        .await?;
    let mut tx = app.db.begin().await?;
    let now = Time::now();
    for ((entry, _, _), hash) in plan.iter().zip(&hashes) {
        // The user may have appeared or changed since the preview.
        match (user::by_login(&mut tx, &entry.login).await?, hash) {
            (None, Some(password)) => {
                let new = NewUser {
                    login: &entry.login,
                    name: &entry.name,
                    password,
                    role: entry.role,
                };
                let id = user::insert(&mut tx, &new, now).await?;
                user::set_profile(&mut tx, id, &entry.name, entry.email.as_deref()).await?;
            }
            (None, None) => return Err(Refusal::UserRemoved.into()),
            (Some(found), hash) => {
                let email = entry.email.as_deref().or(found.email.as_deref());
                user::set_profile(&mut tx, found.id, &entry.name, email).await?;
                user::update(&mut tx, found.id, entry.role, found.disabled_at).await?;
                if let Some(hash) = hash {
                    user::set_password(&mut tx, found.id, hash).await?;
                    if found.id != own {
                        session::delete_of_user(&mut tx, found.id).await?;
                    }
                }
            }
        }
    }
    if !user::has_admin(&mut tx).await? {
        return Err(Refusal::LastAdmin.into());
    }
    tx.commit().await?;
    let made: Vec<Made> = plan
        .into_iter()
        .zip(made)
        .filter_map(|((entry, _, _), password)| {
            Some(Made {
                login: entry.login,
                name: entry.name,
                password: password?,
            })
        })
        .collect();
    if form.format == "csv" {
        let head = vec!["login", "name", "password"];
        let rows = made
            .iter()
            .map(|one| vec![one.login.as_str(), &one.name, &one.password]);
        return Ok(file(
            "passwords.csv",
            "text/csv; charset=utf-8",
            roster::csv(std::iter::once(head).chain(rows)),
        ));
    }
    let main = html! {
        h1 { (t::RosterDone) }
        @if made.is_empty() { p { (t::RosterMadeNone) } }
        @else { p { (t::RosterMade) } }
        div.scroll { table #passwords {
            thead { tr { th { (t::Login) } th { (t::PersonName) } th { (t::Password) } } }
            tbody { @for one in &made { tr {
                td { (one.login) } td { (one.name) } td { code { (one.password) } }
            } } }
        } }
        p { a href="/users" { (t::RosterGoToUsers) } }
    };
    Ok(page(&session, t::RosterDone, main).into_response())
}

/// A file to be stored by the browser.
pub fn file(name: &str, media: &'static str, content: String) -> axum::response::Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, media.to_owned()),
        (CONTENT_DISPOSITION, disposition),
    ];
    (headers, content).into_response()
}

async fn everyone(db: &Db) -> Page<Vec<User>> {
    let mut users = Vec::new();
    let mut after = 0;
    loop {
        let page = user::page(db, after, EXPORT_ROWS).await?;
        let Some(last) = page.last() else {
            return Ok(users);
        };
        after = last.id;
        users.extend(page);
    }
}

/// `GET /users/export.csv` and `GET /users/export.json`.
pub async fn export(State(app): State<Arc<App>>, session: Session, uri: Uri) -> Page {
    check_admin(&session)?;
    let format = uri.path().rsplit('.').next().unwrap_or_default();
    let users = everyone(&app.db).await?;
    match format {
        "csv" => {
            let head = vec!["login", "name", "email", "role"];
            let rows = users.iter().map(|one| {
                let email = one.email.as_deref().unwrap_or_default();
                vec![one.login.as_str(), &one.name, email, one.role.text()]
            });
            let text = roster::csv(std::iter::once(head).chain(rows));
            Ok(file("users.csv", "text/csv; charset=utf-8", text))
        }
        "json" => {
            let users: Vec<_> = users.iter().map(object).collect();
            let text = serde_json::to_string_pretty(&users).unwrap_or_default() + "\n";
            Ok(file("users.json", "application/json", text))
        }
        _ => Err(PageError::NotFound),
    }
}

fn object(user: &User) -> serde_json::Value {
    serde_json::json!({
        "login": user.login, "name": user.name, "email": user.email, "role": user.role,
    })
}
