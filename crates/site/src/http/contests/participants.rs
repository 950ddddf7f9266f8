//! Participants of a contest: users and teams, and their individual settings.

use super::late;
use super::view::{ContestView, Managed};
use crate::app::App;
use crate::db::participant::{self, Entry, Participant, TeamMember};
use crate::db::{contest, user};
use crate::http::problems::MAX_NAME;
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::check_name;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::text::{Message, t};
use axum::extract::{Form, Path};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};
use serde::Deserialize;

/// The largest delay, extra time and adjustment, in minutes.
const MAX_MINUTES: i64 = 60 * 24 * 366;
/// The maximum length of the reason for a disqualification, in characters.
const MAX_REASON: usize = 500;

/// `GET /contests/{id}/participants`.
pub async fn list(Managed(Ctx { app, session }, view): Managed) -> Page {
    let id = view.contest.id;
    let participants = participant::all(&app.db, id).await?;
    let members = participant::members(&app.db, id).await?;
    let main = html! {
        (view.top(&session, Some(&t::ContestTabParticipants)))
        h2 { (t::ContestTabParticipants) }
        div.scroll { table {
            thead { tr {
                th { (t::Name) } th { (t::ParticipantsLogin) } th { (t::ParticipantsOrganization) }
                th { (t::Group) }
                th { (t::ParticipantsDifferences) }
            } }
            tbody { @for one in &participants { (row(one, &members)) } }
        } }
        @if participants.is_empty() { p.muted { (t::ParticipantsEmpty) } }
        h2 { (t::ParticipantsAddTeam) }
        form.fields method="post" {
            label { (t::Name) input name="name" required maxlength=(MAX_NAME); }
            button { (t::ParticipantsAddTeamButton) }
        }
        @if session.viewer().is_admin() {
            p { a href={ "/contests/" (id) "/import" } { (t::RosterTeamsTitle) } }
        }
    };
    Ok(page(&session, t::ContestTabParticipants, main).into_response())
}

fn row(one: &Entry, members: &[TeamMember]) -> Markup {
    let members = members
        .iter()
        .filter(|member| member.participant_id == one.id);
    let members: Vec<&str> = members.map(|member| member.login.as_str()).collect();
    html! {
        tr.ignored[!one.state().rights().is_public || one.team_id.is_some()] {
            td { a href={ "/participants/" (one.id) } { (one.shown_name()) } }
            td {
                @match &one.login {
                    Some(login) => {
                        (login) @if one.team_id.is_some() { " " (t::ParticipantsInTeam) }
                    }
                    None => (t::ParticipantsTeam { members: members.join(", ") }),
                }
            }
            td { (one.organization) }
            td { (one.group_name) }
            td { (differences(one)) }
        }
    }
}

fn differences(one: &Entry) -> Markup {
    let mut list: Vec<Box<dyn Message>> = Vec::new();
    if one.disqualified.is_some() {
        list.push(Box::new(t::ParticipantDisqualified));
    }
    if one.hidden {
        list.push(Box::new(t::ParticipantHidden));
    }
    if one.unofficial {
        list.push(Box::new(t::ParticipantUnofficial));
    }
    if let minutes @ 1.. = one.delay_seconds / 60 {
        list.push(Box::new(t::ParticipantDelay { minutes }));
    }
    if let minutes @ 1.. = one.extra_seconds / 60 {
        list.push(Box::new(t::ParticipantExtra { minutes }));
    }
    if one.penalty_minutes != 0 {
        let minutes = one.penalty_minutes;
        list.push(Box::new(t::ParticipantPenalty { minutes }));
    }
    html! {
        @for (index, words) in list.iter().enumerate() {
            @if index > 0 { ", " }
            (words)
        }
    }
}

/// The fields of `POST /contests/{id}/participants`.
#[derive(Deserialize)]
pub struct NewTeam {
    name: String,
}

/// `POST /contests/{id}/participants`: adds a team.
pub async fn create(
    Checked(Managed(Ctx { app, .. }, view), Form(form)): Checked<Managed, Form<NewTeam>>,
) -> Page {
    let id = view.contest.id;
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

/// `GET /participants/{id}`.
pub async fn show(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (view, one) = ContestView::managed_participant(&app, &session, id).await?;
    let title = match one.user_id {
        Some(user) if one.name.is_empty() => user::by_id(&app.db, user)
            .await?
            .map_or(String::new(), |user| user.name),
        _ => one.name.clone(),
    };
    let members = participant::members(&app.db, one.contest_id).await?;
    let main = html! {
        (view.top(&session, Some(&title)))
        h2 { (title) }
        (form(&one))
        @if one.user_id.is_none() { (team(id, &members)) }
        (late::form(&app, &view, &one).await?)
        (disqualification(&one))
        h2 { (t::Remove) }
        form method="post" action={ "/participants/" (id) "/delete" } {
            button { (t::ParticipantRemove) }
        }
        p.hint { (t::ParticipantRemoveHint) }
    };
    Ok(page(&session, &title, main).into_response())
}

fn form(one: &Participant) -> Markup {
    let number = |name: &str, label: &dyn Render, value: i64, min: i64| {
        html! { label { (label) input name=(name) type="number" min=(min) value=(value); } }
    };
    let check = |name: &str, label: &dyn Render, value: bool| {
        html! {
            label.check { input type="checkbox" name=(name) value="1" checked[value]; (label) }
        }
    };
    html! {
        form.fields method="post" {
            label { @if one.user_id.is_some() { (t::ParticipantNameOfUser) } @else { (t::Name) }
                input name="name" maxlength=(MAX_NAME) value=(one.name)
                    required[one.user_id.is_none()]; }
            label { (t::ParticipantsOrganization)
                input name="organization" maxlength=(MAX_NAME) value=(one.organization); }
            label { (t::Group)
                input name="group_name" maxlength=(MAX_NAME) value=(one.group_name); }
            (check("unofficial", &t::ParticipantUnofficialField, one.unofficial))
            (check("hidden", &t::ParticipantHiddenField, one.hidden))
            (number("delay", &t::ParticipantDelayField,
                one.delay_seconds / 60, 0))
            (number("extra", &t::ParticipantExtraField, one.extra_seconds / 60, 0))
            (number("penalty", &t::ParticipantPenaltyField,
                one.penalty_minutes, -MAX_MINUTES))
            button { (t::Save) }
        }
        p.hint { (t::ParticipantTimesHint) }
    }
}

/// The form that disqualifies a participant, or undoes it.
fn disqualification(one: &Participant) -> Markup {
    html! {
        h2 { (t::ParticipantDisqualification) }
        @if let Some(reason) = &one.disqualified {
            p { span.chip.bad { (t::ParticipantDisqualified) } " " (reason) }
            form method="post" action={ "/participants/" (one.id) "/reinstate" } {
                button { (t::ParticipantReinstate) }
            }
        } @else {
            form.fields method="post" action={ "/participants/" (one.id) "/disqualify" } {
                label { (t::ParticipantReason) input name="reason" maxlength=(MAX_REASON); }
                button { (t::ParticipantDisqualify) }
            }
        }
        p.hint { (t::ParticipantDisqualifyHint) }
    }
}

/// The fields of `POST /participants/{id}/disqualify`.
#[derive(Deserialize)]
pub struct Disqualification {
    reason: String,
}

/// `POST /participants/{id}/disqualify`.
pub async fn disqualify(
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Form(form): Form<Disqualification>,
) -> Page {
    let reason = form.reason.trim();
    if reason.chars().count() > MAX_REASON {
        return Err(Mistake::TextLength { max: MAX_REASON }.into());
    }
    set_disqualified(&app, &session, id, Some(reason)).await
}

/// `POST /participants/{id}/reinstate`.
pub async fn reinstate(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    set_disqualified(&app, &session, id, None).await
}

async fn set_disqualified(app: &App, session: &Session, id: i64, reason: Option<&str>) -> Page {
    let (_, one) = ContestView::managed_participant(app, session, id).await?;
    let mut tx = app.db.begin().await?;
    participant::disqualify(&mut tx, id, reason).await?;
    tx.commit().await?;
    app.live.contest_changed(one.contest_id);
    Ok(Redirect::to(&format!("/participants/{id}")).into_response())
}

fn team(id: i64, members: &[TeamMember]) -> Markup {
    html! {
        h2 { (t::ParticipantMembers) }
        ul { @for one in members.iter().filter(|one| one.participant_id == id) {
            li {
                form.inline method="post" action={ "/participants/" (id) "/remove" } {
                    (one.name) " (" (one.login) ")"
                    input type="hidden" name="login" value=(one.login);
                    button.quiet { (t::Remove) }
                }
            }
        } }
        form.fields method="post" action={ "/participants/" (id) "/members" } {
            label { (t::Login) input name="login" required; }
            button { (t::ParticipantAddMember) }
        }
        p.hint { (t::ParticipantTeamHint) }
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
pub async fn edit(Ctx { app, session }: Ctx, Path(id): Path<i64>, Form(form): Form<Edit>) -> Page {
    let (_, one) = ContestView::managed_participant(&app, &session, id).await?;
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
    app.live.contest_changed(one.contest_id);
    Ok(Redirect::to(&format!("/participants/{id}")).into_response())
}

/// The fields that name a member.
#[derive(Deserialize)]
pub struct Member {
    login: String,
}

/// `POST /participants/{id}/members`.
pub async fn add_member(
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Form(form): Form<Member>,
) -> Page {
    let (_, one) = ContestView::managed_participant(&app, &session, id).await?;
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
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Form(form): Form<Member>,
) -> Page {
    ContestView::managed_participant(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    if let Some(found) = user::by_login(&mut tx, &form.login).await? {
        participant::remove_member(&mut tx, id, found.id).await?;
    }
    tx.commit().await?;
    Ok(Redirect::to(&format!("/participants/{id}")).into_response())
}

/// `POST /participants/{id}/delete`.
pub async fn delete(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (view, _) = ContestView::managed_participant(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    if participant::has_submissions(&mut tx, id).await? {
        return Err(Refusal::ParticipantHasSubmissions.into());
    }
    participant::delete(&mut tx, id).await?;
    tx.commit().await?;
    let list = format!("/contests/{}/participants", view.contest.id);
    Ok(Redirect::to(&list).into_response())
}
