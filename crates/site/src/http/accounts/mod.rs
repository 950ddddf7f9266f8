//! Users, sign-in and their credentials.
//!
//! | file | content |
//! | --- | --- |
//! | `sign_in` | the first page; sign-in, sign-up and sign-out |
//! | `known` | browsers that a user has used before |
//! | `relax` | the time in which wrong passwords lock no login |
//! | `totp` | one-time passwords |
//! | `oidc` | sign-in with another service |
//! | `reset` | links with which users choose new passwords |
//! | `account`, `tokens` | the account of the signed-in user; tokens of programs |
//! | `users`, `roster` | users as administrators see them; import of users and teams |

mod account;
mod known;
mod oidc;
mod relax;
pub mod reset;
mod roster;
pub mod sign_in;
mod tokens;
mod totp;
pub mod users;

use crate::app::App;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;

/// The pages.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
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
        .route(
            "/setup/{token}",
            get(sign_in::setup_form).post(sign_in::setup),
        )
        .route(
            "/password",
            get(sign_in::password_form).post(sign_in::change_password),
        )
        .route("/reset/{token}", get(reset::form).post(reset::choose))
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
        .route(
            "/classes/{id}/import",
            get(roster::class_form).post(roster::class_preview),
        )
        .route("/classes/{id}/import/apply", post(roster::class_apply))
}

/// The pages for administrators.
pub fn administration() -> Router<Arc<App>> {
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
}
