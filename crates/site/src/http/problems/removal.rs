//! Copying, merging and deleting.

use super::jobs;
use super::versions;
use crate::app::App;
use crate::core::label;
use crate::core::time::Time;
use crate::core::work::Work;
use crate::db::contest::{self, MemberRole, Round, RoundFields, RoundProblemFields, Visibility};
use crate::db::submission::{self, Kind};
use crate::db::{Tx, clarification, problem, submission_rules};
use crate::http::accounts::sign_in::check_password;
use crate::http::contests::view::ContestView;
use crate::http::contests::view::{Managed, ManagedRound};
use crate::http::judging::submissions;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::vocabulary;
use crate::text::{Message, t};
use axum::extract::{Form, Path};
use axum::http::Uri;
use axum::response::{IntoResponse, Redirect};
use maud::html;
use serde::Deserialize;

/// The user's own password, which confirms a deletion.
#[derive(Deserialize)]
pub struct Confirmation {
    password: String,
}

/// What is deleted, for one whose address begins with this word.
async fn work(app: &App, session: &Session, what: &str, id: i64) -> Page<(Work, String)> {
    match what {
        "problems" => {
            let problem = versions::edited(app, session, id).await?;
            if problem::is_attached(&app.db, id).await? {
                return Err(Refusal::ProblemInUse.into());
            }
            Ok((Work::DeleteProblem { problem: id }, problem.name))
        }
        "contests" => {
            let view = ContestView::managed(app, session, id).await?;
            if !view.access.own {
                return Err(PageError::NotFound);
            }
            Ok((Work::DeleteContest { contest: id }, view.contest.name))
        }
        "rounds" => {
            let (view, round) = ContestView::managed_round(app, session, id).await?;
            let contest = view.contest.id;
            Ok((Work::DeleteRound { contest, round: id }, round.name))
        }
        "round-problems" => {
            let (view, problem) = ContestView::of_problem(app, session, id).await?;
            if !view.access.manage {
                return Err(PageError::NotFound);
            }
            let work = Work::DeleteRoundProblem {
                contest: view.contest.id,
                round_problem: id,
            };
            Ok((work, problem.name))
        }
        _ => Err(PageError::NotFound),
    }
}

/// The first word of an address.
fn first_word(address: &Uri) -> &str {
    address.path().split('/').nth(1).unwrap_or_default()
}

/// `GET /{what}/{id}/delete`.
pub async fn form(Ctx { app, session }: Ctx, address: Uri, Path(id): Path<i64>) -> Page {
    let (work, name) = work(&app, &session, first_word(&address), id).await?;
    let title = vocabulary::job_kind(work.kind());
    let main = html! {
        h1 { (t::Colon { what: title, detail: &name }) }
        p { (t::RemovalWarning) }
        form.fields method="post" {
            label { (t::YourPassword)
                input name="password" type="password" autocomplete="current-password" required; }
            button { (t::Delete) }
        }
    };
    Ok(page(&session, title, main).into_response())
}

/// `POST /{what}/{id}/delete`.
pub async fn delete(
    Ctx { app, session }: Ctx,
    address: Uri,
    Path(id): Path<i64>,
    Form(confirmation): Form<Confirmation>,
) -> Page {
    let (work, _) = work(&app, &session, first_word(&address), id).await?;
    check_password(&app, &session, &confirmation.password).await?;
    jobs::begin(&app, &session, &work).await
}

/// `POST /submissions/{id}/delete`.
pub async fn delete_submission(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (one, round_problem) = submissions::managed(&app, &session, id).await?;
    if one.kind == Kind::Model {
        return Err(Refusal::PackageSubmission.into());
    }
    let mut tx = app.db.begin().await?;
    submission::delete(&mut tx, id).await?;
    tx.commit().await?;
    app.stop_judging(one.judgement_id);
    let place = match round_problem {
        Some(problem) => format!("/contests/{}/submissions", problem.contest_id),
        None => format!("/problems/{}", one.problem_id),
    };
    Ok(Redirect::to(&place).into_response())
}

/// The fields of `POST /problems/{id}/merge`.
#[derive(Deserialize)]
pub struct Merge {
    into: i64,
    rejudge: Option<String>,
    password: String,
}

/// `POST /problems/{id}/merge`: merges a problem into another problem of the viewer.
pub async fn merge(
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Form(form): Form<Merge>,
) -> Page {
    versions::edited(&app, &session, id).await?;
    versions::edited(&app, &session, form.into).await?;
    if id == form.into {
        return Err(Mistake::SameProblem.into());
    }
    check_password(&app, &session, &form.password).await?;
    let work = Work::MergeProblems {
        from: id,
        into: form.into,
        rejudge: form.rejudge.is_some(),
    };
    jobs::begin(&app, &session, &work).await
}

fn fields(round: &Round) -> RoundFields {
    RoundFields {
        name: round.name.clone(),
        begins: round.begins,
        ends: round.ends,
        full_results: round.full_results,
        ranking_from: round.ranking_from,
    }
}

/// Copies a round with its problems into a contest.
async fn copy_round(tx: &mut Tx, round: &Round, contest: i64) -> Page<i64> {
    let copy = contest::insert_round(tx, contest, &fields(round)).await?;
    contest::update_rules(tx, copy, &round.rules()).await?;
    let rules = submission_rules::of_round(&mut *tx, round.id).await?;
    submission_rules::set_of_round(tx, copy, &rules).await?;
    let mut labels: Vec<String> = Vec::new();
    for one in contest::problems_of_round(&mut *tx, round.id).await? {
        // Rounds of earlier versions of the site may have equal labels.
        let label = label::free(&one.label, labels.iter().map(String::as_str));
        labels.push(label.clone());
        let fields = RoundProblemFields {
            version_id: one.version_id,
            label,
            name: one.name,
            final_method: one.final_method,
            reveal: one.reveal,
        };
        let id = contest::insert_round_problem(tx, copy, one.problem_id, &fields).await?;
        contest::set_colour(tx, id, &one.colour).await?;
        contest::set_max_points(tx, id, one.max_points).await?;
        let rules = submission_rules::of_problem(&mut *tx, one.id).await?;
        submission_rules::set_of_problem(tx, id, &rules).await?;
    }
    Ok(copy)
}

/// `POST /contests/{id}/copy`: copies rounds, problems and canned answers, but no members or
/// submissions.
pub async fn copy_contest(Managed(Ctx { app, session }, view): Managed) -> Page {
    let id = view.contest.id;
    if !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    let user = session.user_id()?;
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    let name = t::ContestCopyName {
        name: &view.contest.name,
    };
    let name = name.plain();
    let copy = contest::insert(&mut tx, &name, Visibility::Private, now).await?;
    contest::set_time_zone(&mut tx, copy, view.contest.time_zone.as_deref()).await?;
    contest::join(&mut tx, copy, user, MemberRole::Owner, now).await?;
    for round in contest::rounds(&mut tx, id).await? {
        copy_round(&mut tx, &round, copy).await?;
    }
    let canned = clarification::canned(&mut tx, id).await?;
    let canned: Vec<String> = canned.into_iter().map(|one| one.text).collect();
    clarification::set_canned(&mut tx, copy, &canned).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{copy}/edit")).into_response())
}

/// `POST /rounds/{id}/copy`: copies a round within its contest.
pub async fn copy(ManagedRound(Ctx { app, .. }, view, round): ManagedRound) -> Page {
    let mut tx = app.db.begin().await?;
    let copy = copy_round(&mut tx, &round, view.contest.id).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/rounds/{copy}")).into_response())
}
