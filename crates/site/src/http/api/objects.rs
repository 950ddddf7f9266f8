//! Contests, problems, languages and users.

use super::caller::Caller;
use super::model::{
    Contest, ContestDetails, Language, List, NewUser as Sent, Problem, Round, User,
};
use super::problem::{Answer, ProblemDetails};
use crate::app::App;
use crate::core::account;
use crate::core::party::Party;
use crate::core::search::Search;
use crate::core::time::Time;
use crate::db::api_token::Scope;
use crate::db::user::{NewUser, Role};
use crate::db::{contest, user};
use crate::http::contests::view::ContestView;
use crate::http::problems::problem_list;
use crate::http::problems::{self, Place};
use crate::http::web::context::check_admin;
use crate::http::web::error::PageError;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::PAGE_ROWS;
use crate::http::web::storable;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use std::sync::Arc;

/// A part of a list, with the id of its last object if the part is full.
pub fn part<S, T>(rows: Vec<S>, id: impl Fn(&S) -> i64, item: impl Fn(S) -> T) -> List<T> {
    let is_full = i64::try_from(rows.len()).is_ok_and(|count| count == PAGE_ROWS);
    let next = rows.last().filter(|_| is_full).map(id);
    List {
        items: rows.into_iter().map(item).collect(),
        next,
    }
}

/// Return the user of the token
#[utoipa::path(get, path = "/me", operation_id = "getMe", responses(
    (status = 200, description = "The user", body = User),
    (status = 401, description = "The token is not valid", body = ProblemDetails),
))]
pub async fn me(caller: Caller) -> Answer<Json<User>> {
    Ok(Json(caller.user(Scope::Read)?.into()))
}

/// List the languages in which submissions are accepted
#[utoipa::path(get, path = "/languages", operation_id = "listLanguages", responses(
    (status = 200, description = "The languages", body = Vec<Language>),
))]
pub async fn languages(State(app): State<Arc<App>>) -> Json<Vec<Language>> {
    let language = |one: &crate::judging::languages::Language| Language {
        name: one.name.clone(),
        title: one.title.clone(),
        extensions: one.suite.sources.extensions.clone(),
    };
    Json(app.languages.iter().map(language).collect())
}

/// List the contests that the caller may see, the latest first
#[utoipa::path(get, path = "/contests", operation_id = "listContests",
    params(("before" = Option<i64>, Query, description = "Only contests with lower numbers")),
    responses((status = 200, description = "A part of the list", body = List<Contest>)))]
pub async fn contests(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(place): Query<Place>,
) -> Answer<Json<List<Contest>>> {
    let viewer = caller.session.viewer();
    let before = place.before.unwrap_or(i64::MAX);
    let user = viewer.id().unwrap_or(-1);
    let rows = contest::page(&app.db, before, user, viewer.is_admin(), PAGE_ROWS).await?;
    Ok(Json(part(rows, |one| one.id, Contest::from)))
}

/// Return a contest with the rounds and problems that the caller may see now
#[utoipa::path(get, path = "/contests/{id}", operation_id = "getContest",
    params(("id" = i64, Path, description = "The number of the contest")),
    responses(
        (status = 200, description = "The contest", body = ContestDetails),
        (status = 404, description = "The caller sees no such contest", body = ProblemDetails),
    ))]
pub async fn contest(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Answer<Json<ContestDetails>> {
    let view = ContestView::of(&app, &caller.session, id).await?;
    let now = Time::now();
    let mut problems = contest::problems(&app.db, id).await?;
    problems.retain(|one| {
        let times = view.times(one.round_id, one.schedule());
        view.access.sees_round(times.begins, now)
    });
    let rounds = contest::rounds(&app.db, id).await?;
    let rounds = rounds.into_iter().filter(|round| {
        let times = view.times(round.id, round.schedule());
        view.access.sees_round(times.opens, now)
    });
    let rounds = rounds.map(|round| Round::of(round, &problems)).collect();
    Ok(Json(ContestDetails {
        manage: view.access.manage,
        contest: view.contest.into(),
        rounds,
    }))
}

/// List the problems outside contests that the caller may see
#[utoipa::path(get, path = "/problems", operation_id = "listProblems",
    params(
        ("after" = Option<i64>, Query, description = "Only problems with greater numbers"),
        ("name" = Option<String>, Query,
            description = "Only problems with this in their names; case does not count"),
        ("tag" = Option<String>, Query,
            description = "Only problems with this tag; case does not count"),
    ),
    responses((status = 200, description = "A part of the list", body = List<Problem>)))]
pub async fn problems(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(place): Query<Place>,
    Query(search): Query<Search>,
) -> Answer<Json<List<Problem>>> {
    let viewer = caller.session.viewer();
    let after = place.after.unwrap_or(0);
    let rows = problem_list::find(&app.db, viewer, after, &search, PAGE_ROWS).await?;
    Ok(Json(part(rows, |one| one.id, Problem::from)))
}

/// Return a problem outside contests
#[utoipa::path(get, path = "/problems/{id}", operation_id = "getProblem",
    params(("id" = i64, Path, description = "The number of the problem")),
    responses(
        (status = 200, description = "The problem", body = Problem),
        (status = 404, description = "The caller sees no such problem", body = ProblemDetails),
    ))]
pub async fn problem(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Answer<Json<Problem>> {
    let (problem, _) = problems::find(&app, &caller.session, id).await?;
    Ok(Json(problem.into()))
}

/// List all users; for administrators
#[utoipa::path(get, path = "/users", operation_id = "listUsers",
    params(("after" = Option<i64>, Query, description = "Only users with higher numbers")),
    responses(
        (status = 200, description = "A part of the list", body = List<User>),
        (status = 404, description = "The caller is not an administrator", body = ProblemDetails),
    ))]
pub async fn users(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(place): Query<Place>,
) -> Answer<Json<List<User>>> {
    caller.user(Scope::Manage)?;
    check_admin(&caller.session)?;
    let rows = user::page(&app.db, place.after.unwrap_or(0), PAGE_ROWS).await?;
    Ok(Json(part(rows, |one| one.id, |one| User::from(&one))))
}

/// Add a user; for administrators
#[utoipa::path(post, path = "/users", operation_id = "addUser", request_body = Sent, responses(
    (status = 201, description = "The new user", body = User),
    (status = 404, description = "The caller is not an administrator", body = ProblemDetails),
    (status = 422, description = "A field is not accepted", body = ProblemDetails),
))]
pub async fn add_user(
    State(app): State<Arc<App>>,
    caller: Caller,
    sent: Answer<storable::Sent<Sent>>,
) -> Answer<(StatusCode, Json<User>)> {
    let user = caller.user(Scope::Manage)?.id;
    check_admin(&caller.session)?;
    let storable::Sent(sent) = sent?;
    account::check_login(&sent.login)?;
    let name = match sent.name.trim() {
        "" => sent.login.as_str(),
        name => name,
    };
    account::check_name(name)?;
    if let Some(email) = &sent.email {
        account::check_email(email)?;
    }
    account::check_password(&sent.password)?;
    let role = match sent.role.as_str() {
        "" => Role::User,
        text => Role::of_text(text).ok_or(PageError::Invalid(Mistake::UnknownRole))?,
    };
    let password = app
        .passwords
        .hash(Party::User(user), &sent.password)
        .await?;
    let new = NewUser {
        login: &sent.login,
        name,
        password: &password,
        role,
    };
    let mut tx = app.db.begin().await?;
    let id = match user::insert(&mut tx, &new, Time::now()).await {
        Err(error) if error.is_duplicate() => {
            return Err(PageError::Invalid(Mistake::LoginTaken).into());
        }
        id => id?,
    };
    user::set_profile(&mut tx, id, name, sent.email.as_deref()).await?;
    let added = user::by_id(&mut tx, id).await?.ok_or(PageError::NotFound)?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json((&added).into())))
}
