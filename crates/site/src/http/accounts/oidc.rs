//! Sign-in with another service (OpenID Connect).

use super::sign_in::{Entering, check_password, enter};
use crate::app::App;
use crate::core::account::{self, MAX_NAME};
use crate::core::back::Back;
use crate::core::id_token::Claims;
use crate::core::party::Party;
use crate::core::password::Asker;
use crate::core::time::Time;
use crate::core::token::Token;
use crate::db::credential::{self, Proof};
use crate::db::user::{self, NewUser, Role, User};
use crate::db::{DbError, Tx, audit, identity};
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::{InternalError, Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::parts::{password_input, time};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::{self, Session};
use crate::oidc::{Callback, FLOW_LASTS, OidcError, Provider, Purpose};
use crate::text::t;
use axum::extract::{Form, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name of the cookie of a flow.
const COOKIE: &str = "oidc";
/// The number of logins to try for a new user before the site generates a random one.
const MAX_TRIES: u32 = 20;

impl From<OidcError> for PageError {
    fn from(error: OidcError) -> PageError {
        match &error {
            OidcError::Flow => Refusal::ServiceFlow.into(),
            OidcError::Refused(_) => Refusal::ServiceRefused.into(),
            _ => {
                tracing::warn!(%error, "a sign-in at another service has failed");
                Refusal::ServiceFailed.into()
            }
        }
    }
}

fn provider(app: &App) -> Page<&Arc<Provider>> {
    app.oidc.as_ref().ok_or(PageError::NotFound)
}

/// The query of `GET /oidc/sign-in`.
#[derive(Deserialize)]
pub struct Begin {
    #[serde(default)]
    back: Back,
}

/// `GET /oidc/sign-in`: redirects the browser to the provider.
pub async fn sign_in(
    State(app): State<Arc<App>>,
    client: Client,
    Query(query): Query<Begin>,
) -> Page {
    let purpose = Purpose::SignIn(query.back);
    let (token, address) = provider(&app)?.begin(purpose, client.customer()).await?;
    let cookie = session::cookie(&app, COOKIE, &token.hex(), FLOW_LASTS);
    Ok((cookie, Redirect::to(&address)).into_response())
}

/// `GET /oidc/callback`: the provider has redirected the browser back.
pub async fn callback(
    State(app): State<Arc<App>>,
    client: Client,
    session: Session,
    headers: HeaderMap,
    Query(callback): Query<Callback>,
) -> Page {
    let provider = provider(&app)?;
    let (network, now) = (client.network(), Instant::now());
    if let Some(delay) = app.limits.failures_of_address.delay(&network, now) {
        return Err(PageError::TooOften(delay));
    }
    let token = session::cookie_token(&app, &headers, COOKIE).ok_or(OidcError::Flow)?;
    let finished = provider.finish(&token, callback).await;
    let (purpose, claims) = finished.inspect_err(|_| {
        app.limits.failures_of_address.count(network, now);
    })?;
    let mut answer = match purpose {
        Purpose::SignIn(back) => {
            let user = person(&app, &client, provider, &claims).await?;
            let entering = Entering {
                user: &user,
                proof: Proof::Identity {
                    issuer: provider.config.issuer.clone(),
                    subject: claims.sub,
                },
                keep: false,
                back,
            };
            enter(&app, &client, entering).await?
        }
        Purpose::Link { user, proof } => {
            link_person(&app, &session, provider, &claims, (user, &proof)).await?;
            Redirect::to("/account").into_response()
        }
    };
    let (name, value) = session::cookie_header(&app, COOKIE, "", Duration::ZERO);
    answer.headers_mut().append(name, value);
    Ok(answer)
}

/// The user linked to an identity. Adds a missing user if the site is configured to add users.
async fn person(app: &App, client: &Client, provider: &Provider, claims: &Claims) -> Page<User> {
    let issuer = &provider.config.issuer;
    let found = identity::user(&app.db, issuer, &claims.sub).await?;
    let user = match found {
        Some(user) => user,
        None if provider.config.adds_users => add(app, client, issuer, claims).await?,
        None => return Err(Refusal::ServiceNotLinked.into()),
    };
    if user.disabled_at.is_some() {
        return Err(Refusal::AccountDisabled.into());
    }
    Ok(user)
}

/// Adds a user with a random password that no person knows.
async fn add(app: &App, client: &Client, issuer: &str, claims: &Claims) -> Page<User> {
    let asker = Asker {
        party: Party::Network(client.customer()),
        login: claims.sub.clone(),
    };
    let password = app.passwords.hash(asker, &Token::random().hex()).await?;
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    let login = free_login(&mut tx, claims.preferred_username.as_deref()).await?;
    let name = display_name(claims.name.as_deref()).unwrap_or_else(|| login.clone());
    let new = NewUser {
        login: &login,
        name: &name,
        password: &password,
        role: Role::User,
    };
    let id = user::insert(&mut tx, &new, now).await?;
    let email = claims.verified_email();
    let email = email.filter(|email| account::check_email(email).is_ok());
    user::set_profile(&mut tx, id, &name, email).await?;
    identity::insert(&mut tx, issuer, &claims.sub, id, now).await?;
    let user = user::by_id(&mut tx, id).await?;
    audit::act_as(id, &login);
    tx.commit().await?;
    user.ok_or_else(|| InternalError::from(DbError::Missing("users")).into())
}

/// The proposed login, followed by a number if another user has it.
async fn free_login(tx: &mut Tx, proposed: Option<&str>) -> Page<String> {
    let proposed = proposed.unwrap_or_default();
    let proposed = proposed.split('@').next().unwrap_or_default();
    let is_allowed = |c: &char| c.is_ascii_alphanumeric() || "_.-".contains(*c);
    let base: String = proposed
        .chars()
        .filter(is_allowed)
        .take(MAX_NAME - 4)
        .collect();
    if !base.is_empty() {
        for number in 1..=MAX_TRIES {
            let login = match number {
                1 => base.clone(),
                number => format!("{base}-{number}"),
            };
            if user::by_login(&mut *tx, &login).await?.is_none() {
                return Ok(login);
            }
        }
    }
    Ok(format!("user-{}", &Token::random().hex()[..16]))
}

fn display_name(name: Option<&str>) -> Option<String> {
    let is_shown = |c: &char| !c.is_control();
    let name: String = name?
        .trim()
        .chars()
        .filter(is_shown)
        .take(MAX_NAME)
        .collect();
    account::check_name(&name).is_ok().then_some(name)
}

async fn link_person(
    app: &App,
    session: &Session,
    provider: &Provider,
    claims: &Claims,
    (user, proof): (i64, &Proof),
) -> Page<()> {
    if session.user_id()? != user {
        return Err(OidcError::Flow.into());
    }
    let issuer = &provider.config.issuer;
    let mut tx = app.db.begin().await?;
    // The password may have been replaced, and the session may have ended, since the flow began.
    if !credential::holds(&mut tx, user, proof, true).await? {
        return Err(OidcError::Flow.into());
    }
    session.hold(&mut tx).await?;
    match identity::user(&mut tx, issuer, &claims.sub).await? {
        Some(linked) if linked.id == user => return Ok(()),
        Some(_) => {
            return Err(Refusal::ServiceTaken.into());
        }
        None => {}
    }
    identity::insert(&mut tx, issuer, &claims.sub, user, Time::now()).await?;
    tx.commit().await?;
    Ok(())
}

/// The fields of `POST /account/oidc/link`.
#[derive(Deserialize)]
pub struct Own {
    #[serde(default)]
    password: String,
}

/// `POST /account/oidc/link`. The answer is a page with a link, because a form must not redirect to
/// another site. An identity is a credential that outlives the session, so the user must know the
/// password.
pub async fn link(Ctx { app, session }: Ctx, client: Client, Form(form): Form<Own>) -> Page {
    let provider = provider(&app)?;
    let user = check_password(&app, &session, &form.password).await?;
    let purpose = Purpose::Link {
        user: user.id,
        proof: Proof::Password(user.password.clone()),
    };
    let (token, address) = provider.begin(purpose, client.customer()).await?;
    let name = &provider.config.name;
    let main = html! {
        h1 { (t::ServiceLink { name }) }
        p { (t::ServiceLinkHint { name }) }
        p.actions {
            a.button href=(address) { (t::ServiceContinue { name }) }
            a href="/account" { (t::ServiceBack) }
        }
    };
    let cookie = session::cookie(&app, COOKIE, &token.hex(), FLOW_LASTS);
    Ok((cookie, page(&session, t::ServiceLink { name }, main)).into_response())
}

/// `POST /account/oidc/unlink`.
pub async fn unlink(Ctx { app, session }: Ctx) -> Page {
    let user = session.user_id()?;
    let mut tx = app.db.begin().await?;
    identity::delete_of_user(&mut tx, user).await?;
    tx.commit().await?;
    Ok(Redirect::to("/account").into_response())
}

/// The provider as administrators see it, without its secret.
pub fn settings_part(app: &App) -> Markup {
    let Some(provider) = &app.oidc else {
        return html! { p { (t::ServiceNone) } };
    };
    let config = &provider.config;
    let new_persons: &dyn Render = match config.adds_users {
        true => &t::ServiceAddsUsers,
        false => &t::ServiceAddsNone,
    };
    html! {
        div.scroll { table #provider {
            tbody {
                tr { th scope="row" { (t::Name) } td { (config.name) } }
                tr { th scope="row" { (t::ServiceIssuer) } td { code { (config.issuer) } } }
                tr { th scope="row" { (t::ServiceClient) } td { code { (config.client_id) } } }
                tr { th scope="row" { (t::ServiceCallback) }
                    td { code { (provider.redirect_uri()) } } }
                tr { th scope="row" { (t::ServiceNewPersons) } td { (new_persons) } }
            }
        } }
    }
}

/// The part about other services on the account page.
pub async fn account_part(app: &App, user: i64) -> Page<Markup> {
    let linked = identity::of_user(&app.db, user).await?;
    Ok(html! {
        @if app.oidc.is_some() || !linked.is_empty() {
            h2 #services { (t::Services) }
            @for one in &linked {
                p { (t::ServiceLinked { name: &one.issuer }) " " (time(one.created_at)) }
            }
            div.actions {
                @if let Some(provider) = &app.oidc {
                    form.fields method="post" action="/account/oidc/link" {
                        (password_input(t::YourPassword, "password", "current-password"))
                        button { (t::ServiceLink { name: &provider.config.name }) }
                    }
                }
                @if !linked.is_empty() {
                    form method="post" action="/account/oidc/unlink" {
                        button { (t::ServiceUnlink) }
                    }
                }
            }
            @if !linked.is_empty() {
                p.hint { (t::ServiceUnlinkHint) }
            }
        }
    })
}
