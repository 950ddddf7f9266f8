//! Files that the staff hands in for a participant, with a time that the staff gives.

use super::view::ContestView;
use crate::app::App;
use crate::core::participant::OwnTimes;
use crate::core::submission_rules::SubmissionRules;
use crate::core::time::Time;
use crate::db::contest::{self, RoundProblem};
use crate::db::judgement::{self, NewJudgement};
use crate::db::participant::{self, Participant};
use crate::db::submission::{self, HandedIn, Kind, NewSubmission};
use crate::db::{Tx, audit};
use crate::http::judging::submit::Sent;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::Upload;
use crate::http::web::refusal::Refusal;
use crate::http::web::zones::{form_zone, read_time, time_input, zone_field};
use crate::text::{self, t};
use axum::extract::{Multipart, Path};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};

/// The maximum length of the reason, in characters.
const MAX_REASON: usize = 500;

/// The form on the page of a participant, if the contest has problems.
pub async fn form(app: &App, view: &ContestView, one: &Participant) -> Page<Markup> {
    let problems = contest::problems(&app.db, view.contest.id).await?;
    let zone = text::zone();
    let hint = html! { span.hint { (t::HandInTimeHint) } };
    Ok(html! {
        @if !problems.is_empty() {
            h2 #hand-in { (t::HandInTitle) }
            form.fields method="post" enctype="multipart/form-data"
                action={ "/participants/" (one.id) "/hand-in" } {
                label { (t::Problem)
                    select name="problem" { @for problem in &problems {
                        option value=(problem.id) { (problem.label) " " (problem.name) }
                    } }
                }
                label { (t::Language)
                    select name="language" {
                        option value="" { (t::SubmitByName) }
                        @for language in &app.languages {
                            option value=(language.name) { (language.title) }
                        }
                    }
                }
                label { (t::SubmitFile) input type="file" name="file" required; }
                (zone_field(&zone))
                (time_input(&zone, ("submitted_at", &t::HandInTime), None, false, hint))
                label { (t::HandInReason)
                    input name="reason" required maxlength=(MAX_REASON); }
                button { (t::HandInButton) }
            }
            p.hint { (t::HandInHint) }
        }
    })
}

/// The author of a participant's submission: the user, or the first member of a team.
async fn author(tx: &mut Tx, one: &Participant) -> Page<i64> {
    if let Some(user) = one.user_id {
        return Ok(user);
    }
    let members = participant::members(&mut *tx, one.contest_id).await?;
    let first = members
        .iter()
        .find(|member| member.participant_id == one.id);
    let first = first.ok_or(Refusal::TeamWithoutMembers)?;
    Ok(first.user_id)
}

/// The times of a problem's round for a participant.
async fn times(tx: &mut Tx, one: &Participant, problem: &RoundProblem) -> Page<OwnTimes> {
    let starts = participant::starts_of(&mut *tx, one.id).await?;
    let start = starts
        .iter()
        .find(|start| start.round_id == problem.round_id);
    let started_at = start.map(|start| start.started_at);
    let personal = participant::personal(one.delay_seconds, one.extra_seconds, started_at);
    Ok(problem.schedule().times(personal))
}

/// `POST /participants/{id}/hand-in`.
pub async fn hand_in(Ctx { app, session }: Ctx, Path(id): Path<i64>, form: Multipart) -> Page {
    ContestView::managed_participant(&app, &session, id).await?;
    let upload = Upload::read(form).await?;
    // The form may have arrived slowly.
    let (view, one) = ContestView::managed_participant(&app, &session, id).await?;
    let reason = upload.field("reason").trim().to_owned();
    if !(1..=MAX_REASON).contains(&reason.chars().count()) {
        return Err(Mistake::TextLength { max: MAX_REASON }.into());
    }
    let zone = form_zone(upload.field("zone"))?;
    let now = Time::now();
    let at = read_time(&zone, upload.field("submitted_at"), None, now)?;
    let problem = upload.field("problem").parse();
    let problem = problem.map_err(|_| PageError::NotFound)?;
    let sent = Sent::of(&app, upload, &SubmissionRules::default())?;
    let mut tx = app.db.begin().await?;
    let problem = contest::round_problem(&mut tx, problem).await?;
    let problem = problem.filter(|problem| problem.contest_id == view.contest.id);
    let problem = problem.ok_or(PageError::NotFound)?;
    let times = times(&mut tx, &one, &problem).await?;
    if at < times.begins || at >= times.ends || at > now {
        let (from, until) = (times.begins, times.ends.min(now));
        return Err(Mistake::HandInTime { from, until }.into());
    }
    let user_id = author(&mut tx, &one).await?;
    let new = NewSubmission {
        user_id,
        problem_id: problem.problem_id,
        round_problem_id: Some(problem.id),
        participant_id: Some(id),
        language: &sent.language.name,
        kind: Kind::Normal,
        file_name: &sent.file_name,
        source: &sent.content,
    };
    let submission = submission::insert(&mut tx, &new, at).await?;
    let how = HandedIn {
        handed_in_by: session
            .user
            .as_ref()
            .map_or(String::new(), |user| user.login.clone()),
        handed_in_for: reason,
    };
    submission::set_handed_in(&mut tx, submission, &how).await?;
    let new = NewJudgement {
        submission_id: submission,
        version_id: problem.version_id,
        user_id,
        priority: judgement::CONTEST,
        is_first: true,
    };
    judgement::insert(&mut tx, &new, now).await?;
    audit::explain(&format!("#{submission}: {}", how.handed_in_for));
    tx.commit().await?;
    app.queue.wake();
    Ok(Redirect::to(&format!("/submissions/{submission}")).into_response())
}
