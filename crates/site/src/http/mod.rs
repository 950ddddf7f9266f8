//! The pages. A handler reads a request, applies the rules, and renders the answer.
//!
//! | file | content |
//! | --- | --- |
//! | `session` | the user of a request |
//! | `sign_in` | the first page; sign-in, sign-up and sign-out |
//! | `language` | the language of a request |
//! | `problems`, `problem_list` | problems outside contests; their list and the search in it |
//! | `packages` | packages that users send |
//! | `scene` | a contest as its viewer may see it |
//! | `contests`, `rounds`, `members` | contests, their rounds and problems, their members |
//! | `participants`, `clocks`, `rules` | users and teams, their own times, the scoring of rounds |
//! | `clarifications`, `notices` | questions, answers and announcements; their news |
//! | `balloons`, `prints` | balloons for solved problems; the queue of the printer |
//! | `contest_files` | files of contests |
//! | `submit`, `submissions` | sending sources, and their results |
//! | `source` | sources with highlighting, and their changes |
//! | `faults` | stopping and pausing the judging, and faults |
//! | `trial` | trying a source on custom input |
//! | `sight` | what the viewer sees of submissions |
//! | `ranking` | the ranking and the statistics of a contest |
//! | `rejudgings` | sets of submissions that are judged again |
//! | `versions` | versions of problems, submissions in their packages, and tags |
//! | `removal` | copying, merging and deleting |
//! | `jobs` | jobs and their logs |
//! | `reset` | links with which users choose new passwords |
//! | `account`, `totp` | the account of the signed-in user; one-time passwords |
//! | `oidc` | sign-in with another service |
//! | `users`, `roster` | users as administrators see them; import of users and teams |
//! | `audit` | the log of changes, and requests whose clients leave |
//! | `tokens`, `api` | tokens of programs, and the interface for programs |
//! | `admin` | the queue |
//! | `storable` | texts that databases do not store |
//! | `server`, `connections`, `body` | connections, and how slow clients may be |
//! | `client`, `known` | address and name of a browser; browsers that a user has used before |
//! | `relax` | the time in which wrong passwords lock no login |
//! | `live` | notices for pages that follow changes |
//! | `statements` | rendered statements |
//! | `upload`, `quota` | uploads and downloads of large files; the disk space of a user |
//! | `frame`, `layout` | the frame of all pages; that of pages for a user |
//! | `parts`, `vocabulary` | common parts and words |
//! | `chart`, `assets` | charts; style sheet and script |
//! | `error`, `refusal`, `mistake` | why requests were not carried out, and pages about it |
//!
//! Every page works without JavaScript. The script only reloads a page when its content has
//! changed.

mod account;
mod admin;
mod api;
mod assets;
mod audit;
mod balloons;
mod body;
mod chart;
mod clarifications;
mod client;
mod clocks;
pub mod connections;
mod contest_files;
mod contests;
mod error;
mod faults;
mod frame;
mod jobs;
mod known;
mod language;
mod layout;
mod live;
mod members;
mod mistake;
mod notices;
mod oidc;
mod packages;
#[cfg(test)]
mod pairs;
mod participants;
mod parts;
mod prints;
mod problem_list;
mod problems;
mod quota;
mod ranking;
mod refusal;
mod rejudgings;
mod relax;
mod removal;
pub mod reset;
mod roster;
mod rounds;
mod rules;
mod scene;
pub mod server;
mod session;
mod sight;
mod sign_in;
mod source;
pub mod statements;
mod storable;
mod submissions;
mod submit;
mod tokens;
mod totp;
mod trial;
pub mod upload;
mod users;
mod versions;
mod vocabulary;

use crate::app::App;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use millibox_web::assets::secure;
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::csrf::CsrfLayer;

/// The maximum size of a package, in bytes.
const MAX_PACKAGE: usize = 128 << 20;
/// The maximum size of a statement, in bytes.
const MAX_STATEMENT: usize = 11 << 20;
/// The maximum size of other requests, in bytes.
const MAX_BODY: usize = 1 << 20;

/// The pages of a site.
pub fn router(app: Arc<App>) -> Router {
    let uploads = Router::new()
        .route("/problems/new", get(problems::form).post(problems::create))
        .route(
            "/problems/{id}/versions",
            get(versions::show).post(versions::add),
        )
        .route(
            "/contests/{id}/files",
            get(contest_files::list).post(contest_files::add),
        )
        .route(
            "/contest-files/{id}/edit",
            get(contest_files::edit_form).post(contest_files::edit),
        )
        .layer(DefaultBodyLimit::max(MAX_PACKAGE))
        .layer(from_fn_with_state(body::UPLOAD_SPEED, body::pace));
    let statements = Router::new()
        .route("/problems/{id}/statement", post(versions::statement))
        .layer(DefaultBodyLimit::max(MAX_STATEMENT))
        .layer(from_fn_with_state(app.clone(), body::charge));
    let pages = Router::new()
        .route("/", get(sign_in::home))
        .route(
            "/sign-in",
            get(sign_in::sign_in_form).post(sign_in::sign_in),
        )
        .route(
            "/sign-up",
            get(sign_in::sign_up_form).post(sign_in::sign_up),
        )
        .route("/sign-out", post(sign_in::sign_out))
        .route("/language", post(language::change))
        .route(
            "/setup/{token}",
            get(sign_in::setup_form).post(sign_in::setup),
        )
        .route(
            "/password",
            get(sign_in::password_form).post(sign_in::change_password),
        )
        .route("/reset/{token}", get(reset::form).post(reset::choose))
        .route("/problems", get(problem_list::list))
        .route("/problems/{id}", get(problems::show))
        .route("/problems/{id}/edit", post(problems::edit))
        .route("/problems/{id}/files/{name}", get(problems::file))
        .route("/problems/{id}/package", get(problems::download))
        .route(
            "/problems/{id}/submit",
            get(submit::problem_form).post(submit::to_problem),
        )
        .route("/contests", get(contests::list))
        .route("/contests/new", get(contests::form).post(contests::create))
        .route("/contests/{id}", get(contests::show))
        .route(
            "/contests/{id}/edit",
            get(contests::edit_form).post(contests::edit),
        )
        .route("/contests/{id}/rounds", post(rounds::create))
        .route("/contests/{id}/ranking", get(ranking::show))
        .route("/contests/{id}/ranking.csv", get(ranking::csv))
        .route("/contests/{id}/ranking.json", get(ranking::json))
        .route("/contests/{id}/ranking/live", get(ranking::live))
        .route("/contests/{id}/projector", get(ranking::projector))
        .route("/contests/{id}/statistics", get(ranking::statistics))
        .route(
            "/contests/{id}/participants",
            get(participants::list).post(participants::create),
        )
        .route(
            "/participants/{id}",
            get(participants::show).post(participants::edit),
        )
        .route("/participants/{id}/members", post(participants::add_member))
        .route(
            "/participants/{id}/remove",
            post(participants::remove_member),
        )
        .route("/participants/{id}/delete", post(participants::delete))
        .route("/contests/{id}/submissions", get(submissions::of_contest))
        .route(
            "/contests/{id}/members",
            get(members::show).post(members::change),
        )
        .route("/contests/{id}/link", post(members::make_link))
        .route("/contests/{id}/link/delete", post(members::delete_link))
        .route("/contests/{id}/live", get(submissions::live_of_contest))
        .route(
            "/enter/{token}",
            get(members::enter_form).post(members::enter),
        )
        .route("/rounds/{id}", get(rounds::show).post(rounds::edit))
        .route("/rounds/{id}/problems", post(rounds::attach))
        .route("/rounds/{id}/rules", post(rules::edit))
        .route("/rounds/{id}/thaw", post(rules::thaw))
        .route("/rounds/{id}/start", post(clocks::start))
        .route("/round-problems/{id}", get(rounds::problem))
        .route("/round-problems/{id}/edit", post(rounds::edit_problem))
        .route("/round-problems/{id}/move", post(rounds::move_problem))
        .route("/round-problems/{id}/colour", post(rules::set_colour))
        .route("/round-problems/{id}/files/{name}", get(rounds::file))
        .route(
            "/round-problems/{id}/submit",
            get(submit::round_form).post(submit::to_round),
        )
        .route("/submissions", get(submissions::list))
        .route("/submissions/{id}", get(submissions::show))
        .route("/submissions/{id}/source", get(submissions::download))
        .route("/submissions/{id}/kind", post(submissions::set_kind))
        .route("/submissions/{id}/live", get(submissions::live))
        .merge(accounts())
        .merge(administration(&app))
        .merge(talk())
        .merge(judging())
        .merge(care())
        .merge(api::routes())
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(app.clone(), body::charge));
    Router::new()
        .merge(uploads)
        .merge(statements)
        .merge(pages)
        .layer(from_fn_with_state(app.clone(), audit::record))
        .route("/assets/{name}", get(assets::serve))
        .fallback(error::not_found)
        .with_state(app.clone())
        .layer(CsrfLayer::new())
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(from_fn(storable::refuse_zero_bytes))
        .layer(from_fn_with_state(body::SPEED, body::pace))
        .layer(from_fn_with_state(app, language::choose))
        .layer(from_fn(secure))
}

/// Pages about users.
fn accounts() -> Router<Arc<App>> {
    Router::new()
        .route(
            "/sign-up/{token}",
            get(sign_in::link_form).post(sign_in::sign_up_by_link),
        )
        .route("/sign-in/code", get(totp::code_form).post(totp::sign_in))
        .route("/oidc/sign-in", get(oidc::sign_in))
        .route(crate::oidc::CALLBACK, get(oidc::callback))
        .route("/account/oidc/link", post(oidc::link))
        .route("/account/oidc/unlink", post(oidc::unlink))
        .route("/account", get(account::show).post(account::change))
        .route("/account/sessions/end", post(account::end_sessions))
        .route("/account/totp", get(totp::show))
        .route("/account/totp/new", post(totp::propose))
        .route("/account/totp/confirm", post(totp::confirm))
        .route("/account/totp/off", post(totp::turn_off))
        .route("/account/tokens", get(tokens::show).post(tokens::make))
        .route("/account/tokens/{id}/delete", post(tokens::delete))
}

/// Pages for administrators. To others they do not exist, even if a request is malformed.
fn administration(app: &Arc<App>) -> Router<Arc<App>> {
    Router::new()
        .route("/users", get(users::list))
        .route("/users/import", get(roster::form).post(roster::preview))
        .route("/users/import/apply", post(roster::apply))
        .route(
            "/contests/{id}/import",
            get(roster::contest_form).post(roster::contest_preview),
        )
        .route("/contests/{id}/import/apply", post(roster::contest_apply))
        .route("/users/export.csv", get(roster::export))
        .route("/users/export.json", get(roster::export))
        .route("/users/{id}", get(users::show).post(users::change))
        .route("/users/{id}/profile", post(users::change_profile))
        .route("/users/{id}/reset", post(users::make_reset_link))
        .route("/users/{id}/sessions/end", post(users::end_sessions))
        .route("/users/{id}/totp/off", post(users::turn_totp_off))
        .route("/users/{id}/delete", post(users::delete))
        .route("/users/{id}/merge", post(users::merge))
        .route(
            "/settings",
            get(users::settings).post(users::change_settings),
        )
        .route("/settings/relax", post(relax::change))
        .route("/audit", get(audit::show))
        .route("/queue", get(admin::queue))
        .route_layer(from_fn_with_state(app.clone(), users::only_admins))
}

/// Communication between contestants and the staff of a contest.
fn talk() -> Router<Arc<App>> {
    Router::new()
        .route(
            "/contests/{id}/clarifications",
            get(clarifications::list).post(clarifications::ask),
        )
        .route(
            "/contests/{id}/clarifications/read",
            post(clarifications::read),
        )
        .route("/contests/{id}/clarifications/notice", get(notices::show))
        .route("/contests/{id}/clarifications/live", get(notices::live))
        .route(
            "/contests/{id}/announcements",
            post(clarifications::announce),
        )
        .route(
            "/contests/{id}/canned-answers",
            get(clarifications::canned).post(clarifications::set_canned),
        )
        .route(
            "/contests/{id}/balloons",
            get(balloons::list).post(balloons::deliver),
        )
        .route(
            "/contests/{id}/balloons/freeze",
            post(balloons::set_in_freeze),
        )
        .route("/contests/{id}/print", get(prints::list).post(prints::send))
        .route("/contests/{id}/printing", post(prints::set_printing))
        .route("/prints/{id}", get(prints::show))
        .route("/prints/{id}/done", post(prints::finish))
        .route("/contest-files/{id}", get(contest_files::load))
        .route("/contest-files/{id}/delete", post(contest_files::delete))
        .route(
            "/clarifications/{id}",
            get(clarifications::show).post(clarifications::answer),
        )
}

/// Submissions, faults, and judging again.
fn judging() -> Router<Arc<App>> {
    Router::new()
        .route(
            "/problems/{id}/try",
            get(trial::problem_form).post(trial::on_problem),
        )
        .route(
            "/round-problems/{id}/try",
            get(trial::round_form).post(trial::on_round),
        )
        .route("/submissions/{id}/judge", post(rejudgings::judge_again))
        .route("/submissions/{id}/cancel", post(faults::cancel))
        .route("/round-problems/{id}/pause", post(faults::pause))
        .route("/faults", get(faults::list))
        .route("/faults/{id}", get(faults::show))
        .route("/faults/{id}/close", post(faults::close))
        .route("/rejudgings", get(rejudgings::list))
        .route(
            "/rejudgings/new",
            get(rejudgings::form).post(rejudgings::create),
        )
        .route("/rejudgings/{id}", get(rejudgings::show))
        .route("/rejudgings/{id}/live", get(rejudgings::live))
        .route("/rejudgings/{id}/apply", post(rejudgings::apply))
        .route("/rejudgings/{id}/drop", post(rejudgings::drop_set))
        .route("/rejudgings/{id}/repeat", post(rejudgings::repeat))
}

/// Versions of problems, copies and deletions, and the jobs for them.
fn care() -> Router<Arc<App>> {
    let delete = || get(removal::form).post(removal::delete);
    Router::new()
        .route(
            "/problems/{id}/versions/{number}/package",
            get(versions::download),
        )
        .route("/problems/{id}/compile", post(versions::compile))
        .route("/problems/{id}/limits", post(versions::limits))
        .route("/problems/{id}/tags", post(versions::tags))
        .route("/problems/{id}/merge", post(removal::merge))
        .route("/problems/{id}/delete", delete())
        .route("/contests/{id}/delete", delete())
        .route("/rounds/{id}/delete", delete())
        .route("/round-problems/{id}/delete", delete())
        .route("/submissions/{id}/delete", post(removal::delete_submission))
        .route("/contests/{id}/copy", post(removal::copy_contest))
        .route("/rounds/{id}/copy", post(removal::copy))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show))
        .route("/jobs/{id}/live", get(jobs::live))
        .route("/jobs/{id}/log", get(jobs::log))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/jobs/{id}/restart", post(jobs::restart))
}
