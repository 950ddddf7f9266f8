//! Participants of a contest: users and teams, and what differs for them.

use super::error::{Page, PageError};
use super::layout::page;
use super::mistake::Mistake;
use super::parts::check_name;
use super::problems::MAX_NAME;
use super::refusal::Refusal;
use super::scene::Scene;
use super::session::Session;
use crate::app::App;
use crate::db::participant::{self, Entry, Participant, TeamMember};
use crate::db::{contest, user};
use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// Minutes of the greatest delay, extra time and adjustment.
const MAX_MINUTES: i64 = 60 * 24 * 366;

/// `GET /contests/{id}/participants`.
pub async fn list(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let scene = Scene::managed(&app, &session, id).await?;
    let participants = participant::all(&app.db, id).await?;
    let members = participant::members(&app.db, id).await?;
    let main = html! {
        (scene.top(&session, Some(&"Participants")))
        h2 { "Participants" }
        div.scroll { table {
            thead { tr {
                th { "Name" } th { "Login or members" } th { "Organization" } th { "Group" }
                th { "Differences" }
            } }
            tbody { @for one in &participants { (row(one, &members)) } }
        } }
        @if participants.is_empty() { p.muted { "There are no participants." } }
        h2 { "Add a team" }
        form.fields method="post" {
            label { "Name" input name="name" required maxlength=(MAX_NAME); }
            button { "Add the team" }
        }
    };
    Ok(page(&session, "Participants", main).into_response())
}

fn row(one: &Entry, members: &[TeamMember]) -> Markup {
    let members = members
        .iter()
        .filter(|member| member.participant_id == one.id);
    let members: Vec<&str> = members.map(|member| member.login.as_str()).collect();
    html! {
        tr.ignored[one.hidden || one.team_id.is_some()] {
            td { a href={ "/participants/" (one.id) } { (one.shown_name()) } }
            td {
                @match &one.login {
                    Some(login) => { (login) @if one.team_id.is_some() { " (in a team)" } }
                    None => { "Team: " (members.join(", ")) }
                }
            }
            td { (one.organization) }
            td { (one.group_name) }
            td { (differences(one).join(", ")) }
        }
    }
}

fn differences(one: &Entry) -> Vec<String> {
    let mut list = Vec::new();
    if one.hidden {
        list.push("hidden".to_owned());
    }
    if one.unofficial {
        list.push("unofficial".to_owned());
    }
    for (words, minutes) in [
        ("delay", one.delay_seconds / 60),
        ("extra time", one.extra_seconds / 60),
        ("penalty", one.penalty_minutes),
    ] {
        if minutes != 0 {
            list.push(format!("{words} {minutes} min"));
        }
    }
    list
}

/// The fields of `POST /contests/{id}/participants`.
#[derive(Deserialize)]
pub struct NewTeam {
    name: String,
}

/// `POST /contests/{id}/participants`: a team.
pub async fn create(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<i64>,
    Form(form): Form<NewTeam>,
) -> Page {
    Scene::managed(&app, &session, id).await?;
    check_name(&form.name, MAX_NAME)?;
    let fields = participant::Fields {
        name: form.name.trim().to_owned(),
        ..participant::Fields::default()
    };
    let mut tx = app.db.begin().await?;
    let team = participant::insert(&mut tx, id, None, &fields).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/participants/{team}")).into_response())
}

/// A participant that the viewer may change.
async fn managed(app: &App, session: &Session, id: i64) -> Page<(Scene, Participant)> {
    let one = participant::by_id(&app.db, id).await?;
    let one = one.ok_or(PageError::NotFound)?;
    Ok((Scene::managed(app, session, one.contest_id).await?, one))
}

/// `GET /participants/{id}`.
pub async fn show(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let (scene, one) = managed(&app, &session, id).await?;
    let title = match one.user_id {
        Some(user) if one.name.is_empty() => user::by_id(&app.db, user)
            .await?
            .map_or(String::new(), |user| user.name),
        _ => one.name.clone(),
    };
    let members = participant::members(&app.db, one.contest_id).await?;
    let main = html! {
        (scene.top(&session, Some(&title)))
        h2 { (title) }
        (form(&one))
        @if one.user_id.is_none() { (team(id, &members)) }
        h2 { "Remove" }
        form method="post" action={ "/participants/" (id) "/delete" } {
            button { "Remove the participant" }
        }
        p.hint { "Only a participant without submissions can be removed." }
    };
    Ok(page(&session, &title, main).into_response())
}

fn form(one: &Participant) -> Markup {
    let number = |name: &str, label: &str, value: i64, min: i64| {
        html! { label { (label) input name=(name) type="number" min=(min) value=(value); } }
    };
    let check = |name: &str, label: &str, value: bool| {
        html! {
            label.check { input type="checkbox" name=(name) value="1" checked[value]; (label) }
        }
    };
    html! {
        form.fields method="post" {
            label { @if one.user_id.is_some() { "Name (empty: that of the user)" } @else { "Name" }
                input name="name" maxlength=(MAX_NAME) value=(one.name)
                    required[one.user_id.is_none()]; }
            label { "Organization"
                input name="organization" maxlength=(MAX_NAME) value=(one.organization); }
            label { "Group" input name="group_name" maxlength=(MAX_NAME) value=(one.group_name); }
            (check("unofficial", "Unofficial: takes no place in the ranking", one.unofficial))
            (check("hidden", "Hidden: only the staff sees it in the ranking", one.hidden))
            (number("delay", "Minutes by which rounds begin and end later",
                one.delay_seconds / 60, 0))
            (number("extra", "Minutes of extra time", one.extra_seconds / 60, 0))
            (number("penalty", "Minutes of penalty that are added (ICPC mode)",
                one.penalty_minutes, -MAX_MINUTES))
            button { "Save" }
        }
        p.hint { "Own times hold for this participant alone. In a public contest, guests see what
            the times of the round allow." }
    }
}

fn team(id: i64, members: &[TeamMember]) -> Markup {
    html! {
        h2 { "Members" }
        ul { @for one in members.iter().filter(|one| one.participant_id == id) {
            li {
                form.inline method="post" action={ "/participants/" (id) "/remove" } {
                    (one.name) " (" (one.login) ")"
                    input type="hidden" name="login" value=(one.login);
                    button.quiet { "Remove" }
                }
            }
        } }
        form.fields method="post" action={ "/participants/" (id) "/members" } {
            label { "Login" input name="login" required; }
            button { "Add a member" }
        }
        p.hint { "Members share the submissions of the team. Submissions that a member has made
            before stay the member's own." }
    }
}

/// The fields of `POST /participants/{id}`.
#[derive(Deserialize)]
pub struct Edit {
    name: String,
    organization: String,
    group_name: String,
    unofficial: Option<String>,
    hidden: Option<String>,
    delay: i64,
    extra: i64,
    penalty: i64,
}

/// `POST /participants/{id}`.
pub async fn edit(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<i64>,
    Form(form): Form<Edit>,
) -> Page {
    let (_, one) = managed(&app, &session, id).await?;
    if one.user_id.is_none() || !form.name.trim().is_empty() {
        check_name(&form.name, MAX_NAME)?;
    }
    for text in [&form.organization, &form.group_name] {
        if !text.trim().is_empty() {
            check_name(text, MAX_NAME)?;
        }
    }
    let is_duration = |minutes: i64| (0..=MAX_MINUTES).contains(&minutes);
    let is_adjustment = form.penalty.unsigned_abs() <= MAX_MINUTES.unsigned_abs();
    if !is_duration(form.delay) || !is_duration(form.extra) || !is_adjustment {
        return Err(Mistake::Minutes.into());
    }
    let fields = participant::Fields {
        name: form.name.trim().to_owned(),
        organization: form.organization.trim().to_owned(),
        group_name: form.group_name.trim().to_owned(),
        hidden: form.hidden.is_some(),
        unofficial: form.unofficial.is_some(),
        delay_seconds: form.delay * 60,
        extra_seconds: form.extra * 60,
        penalty_minutes: form.penalty,
    };
    let mut tx = app.db.begin().await?;
    participant::update(&mut tx, id, &fields).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/participants/{id}")).into_response())
}

/// The fields that name a member.
#[derive(Deserialize)]
pub struct Member {
    login: String,
}

/// `POST /participants/{id}/members`.
pub async fn add_member(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<i64>,
    Form(form): Form<Member>,
) -> Page {
    let (_, one) = managed(&app, &session, id).await?;
    if one.user_id.is_some() {
        return Err(PageError::NotFound);
    }
    let mut tx = app.db.begin().await?;
    let found = user::by_login(&mut tx, &form.login).await?;
    let found = found.ok_or(Mistake::UnknownUser)?;
    if contest::role(&mut tx, one.contest_id, found.id)
        .await?
        .is_none()
    {
        return Err(Mistake::NotAMember.into());
    }
    participant::add_member(&mut tx, one.contest_id, id, found.id).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/participants/{id}")).into_response())
}

/// `POST /participants/{id}/remove`.
pub async fn remove_member(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<i64>,
    Form(form): Form<Member>,
) -> Page {
    managed(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    if let Some(found) = user::by_login(&mut tx, &form.login).await? {
        participant::remove_member(&mut tx, id, found.id).await?;
    }
    tx.commit().await?;
    Ok(Redirect::to(&format!("/participants/{id}")).into_response())
}

/// `POST /participants/{id}/delete`.
pub async fn delete(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let (scene, _) = managed(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    if participant::has_submissions(&mut tx, id).await? {
        return Err(Refusal::ParticipantHasSubmissions.into());
    }
    participant::delete(&mut tx, id).await?;
    tx.commit().await?;
    let list = format!("/contests/{}/participants", scene.contest.id);
    Ok(Redirect::to(&list).into_response())
}
