//! The first page; sign-in, sign-up and sign-out.

use super::known;
use super::relax::is_relaxed;
use crate::app::App;
use crate::core::account::{self, MAX_NAME};
use crate::core::back::Back;
use crate::core::party::Party;
use crate::core::password::Asker;
use crate::core::pending::{PENDING_LASTS, SignIn};
use crate::core::time::Time;
use crate::core::token::{Token, hex};
use crate::db::credential::{Kept, Proof};
use crate::db::password;
use crate::db::user::{self, NewUser, Role, User};
use crate::db::{Db, api_token, audit, identity, session, setting, totp};
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::password_input;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::{Entry, LASTS, NAME, PENDING, Session, begin, cookie, lasts};
use crate::limits::Guesser;
use crate::text::{Message, t};
use axum::extract::{Form, Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `GET /`.
pub async fn home(session: Session) -> Response {
    let main = html! {
        h1 { (t::HomeTitle) }
        p { (t::HomeLead) }
        p.actions {
            a.button href="/contests" { (t::Contests) }
            a.button href="/problems" { (t::NavProblems) }
        }
    };
    page(&session, t::Home, main).into_response()
}

/// The field with the page to which the form returns.
fn back_input(session: &Session) -> Markup {
    html! {
        @if let Some(back) = session.back.address() {
            input type="hidden" name="back" value=(back);
        }
    }
}

/// `GET /sign-in`.
pub async fn sign_in_form(Ctx { app, session }: Ctx) -> Response {
    let main = html! {
        h1 { (t::SignIn) }
        @if let Some(provider) = &app.oidc {
            @let name = &provider.config.name;
            @let address = format!("/oidc/sign-in{}", session.back.query());
            p { a.button href=(address) { (t::ServiceSignIn { name }) } }
        }
        form.fields method="post" {
            (back_input(&session))
            label { (t::Login) input name="login" autocomplete="username" required; }
            (password_input(t::Password, "password", "current-password"))
            label.check {
                input type="checkbox" name="keep" value="1";
                (t::SignInKeep)
            }
            button { (t::SignIn) }
        }
    };
    page(&session, t::SignIn, main).into_response()
}

/// The fields of `POST /sign-in`.
#[derive(Deserialize)]
pub struct Credentials {
    login: String,
    password: String,
    keep: Option<String>,
    #[serde(default)]
    back: Back,
}

/// `POST /sign-in`.
pub async fn sign_in(
    State(app): State<Arc<App>>,
    client: Client,
    headers: HeaderMap,
    Form(form): Form<Credentials>,
) -> Page {
    let user = user::by_login(&app.db, &form.login).await?;
    if let Some(user) = &user {
        audit::act_as(user.id, &user.login);
    }
    let known = known::cookie_of(&app, &headers);
    let fits = can_sign_in(&app, &client, known, &form, user.as_ref()).await?;
    let user = user.filter(|_| fits).ok_or(Mistake::WrongSignIn)?;
    let entering = Entering {
        proof: Proof::Password(user.password.clone()),
        user: &user,
        keep: form.keep.is_some(),
        back: form.back,
    };
    let mut answer = enter(&app, &client, entering).await?;
    let (name, value) = known::cookie(&app, &user.password);
    answer.headers_mut().append(name, value);
    Ok(answer)
}

/// Whether a user can sign in with a password. A sign-in counts as failed until its password was
/// verified, so that more of them at the same moment are refused, too.
async fn can_sign_in(
    app: &App,
    client: &Client,
    known: Option<String>,
    form: &Credentials,
    user: Option<&User>,
) -> Page<bool> {
    let (limits, network, now) = (&app.limits, client.network(), Instant::now());
    // Longer logins do not exist, and would only take memory.
    let login: String = form.login.chars().take(MAX_NAME).collect();
    let login = login.to_lowercase();
    let stored = user.map(|user| user.password.as_str());
    let known = known.zip(stored);
    let known = known.and_then(|(cookie, stored)| known::digest(&cookie, stored));
    let is_stranger = known.is_none() && !is_relaxed(app).await?;
    let guesser = match known {
        Some(digest) => Some(Guesser::Browser(digest)),
        None => is_stranger.then(|| Guesser::Stranger(login.clone(), network)),
    };
    // Only browsers with a cookie of the user wait in the user's group. Browsers that a user has
    // signed in with many times do not get more turns.
    let party = match (known, user) {
        (Some(_), Some(user)) => Party::User(user.id),
        _ => Party::Network(client.customer()),
    };
    // Only right passwords count for the user. Otherwise, requests that are cancelled while they
    // wait would lock the user out.
    if let Some(user) = user
        && let Some(delay) = limits.sign_ins.delay(&user.id, now)
    {
        return Err(PageError::TooOften(delay));
    }
    if is_stranger {
        let admitted = limits.failures_of_address.admit(network, now);
        admitted.map_err(PageError::TooOften)?;
    }
    let fits = is_password(app, guesser, Asker { party, login }, stored, &form.password).await;
    let is_enabled = user.is_some_and(|user| user.disabled_at.is_none());
    if let (Ok(true), Some(user)) = (&fits, user) {
        limits.sign_ins.count(user.id, now);
    }
    // Only a wrong password counts, not a site that is too busy to verify one.
    let has_failed = matches!(fits, Ok(fits) if !fits || !is_enabled);
    if is_stranger && !has_failed {
        limits.failures_of_address.take_back(&network);
    }
    Ok(fits? && is_enabled)
}

/// Whether a password has a hash, which is stored if the login exists. Wrong passwords of a guesser
/// are counted, and too many are refused. A password counts as wrong until it was verified.
async fn is_password(
    app: &App,
    guesser: Option<Guesser>,
    asker: Asker,
    stored: Option<&str>,
    password: &str,
) -> Page<bool> {
    let counts = &app.limits.wrong_passwords;
    if let Some(guesser) = &guesser {
        let admitted = counts.admit(guesser.clone(), Instant::now());
        admitted.map_err(PageError::TooOften)?;
    }
    let fits = app.passwords.verify(asker, password, stored).await;
    match (&fits, &guesser) {
        (Ok(true), Some(guesser)) => counts.forget(guesser),
        (Err(_), Some(guesser)) => counts.take_back(guesser),
        _ => {}
    }
    Ok(fits?)
}

/// The signed-in user, if the password is the user's.
///
/// # Errors
/// The password is wrong, too many were wrong, or the viewer is a guest.
pub async fn check_password<'s>(app: &App, session: &'s Session, password: &str) -> Page<&'s User> {
    let user = session.user.as_ref().ok_or(PageError::SignIn)?;
    let stored = Some(user.password.as_str());
    let guesser = Some(Guesser::User(user.id));
    let asker = Party::User(user.id).into();
    let fits = is_password(app, guesser, asker, stored, password).await?;
    fits.then_some(user).ok_or(Mistake::WrongPassword.into())
}

/// A user that has signed in without a one-time password.
#[derive(Debug)]
pub struct Entering<'u> {
    /// The user.
    pub user: &'u User,
    /// What the user has shown.
    pub proof: Proof,
    /// Whether the user wants to stay signed in.
    pub keep: bool,
    /// The page that follows.
    pub back: Back,
}

/// Begins the session of a user that has signed in, or asks for a one-time password first.
pub async fn enter(app: &App, client: &Client, entering: Entering<'_>) -> Page {
    let Entering {
        user,
        proof,
        keep,
        back,
    } = entering;
    audit::act_as(user.id, &user.login);
    let generator = totp::of_user(&app.db, user.id).await?;
    if generator.is_some_and(|found| found.confirmed().is_some()) {
        let sign_in = SignIn {
            user: user.id,
            proof,
            keep,
            back,
        };
        let token = app.pending.add(user.id, sign_in, Instant::now());
        let cookie = cookie(app, PENDING, &token.hex(), PENDING_LASTS);
        return Ok((cookie, Redirect::to("/sign-in/code")).into_response());
    }
    let entry = Entry {
        user: user.id,
        proof: &proof,
        has_code: false,
        lasts: lasts(keep),
        back: &back,
    };
    begin(app, client, entry).await
}

/// Begins the session of a user that has chosen a password.
pub async fn enter_with_new(
    app: &App,
    client: &Client,
    user: i64,
    hash: String,
    has_code: bool,
    back: &Back,
) -> Page {
    let entry = Entry {
        user,
        proof: &Proof::Password(hash),
        has_code,
        lasts: LASTS,
        back,
    };
    begin(app, client, entry).await
}

fn sign_up_page(session: &Session, title: impl Message + Copy) -> Response {
    let main = html! {
        h1 { (title) }
        form.fields method="post" {
            (back_input(session))
            label { (t::Login) input name="login" autocomplete="username" required
                maxlength=(MAX_NAME) pattern="[A-Za-z0-9_.\\-]+"; }
            label { (t::PersonName)
                input name="name" autocomplete="name" required maxlength=(MAX_NAME); }
            (password_input(t::PasswordNew, "password", "new-password"))
            button { (title) }
        }
    };
    page(session, title, main).into_response()
}

/// Whether a person can sign up, with the token of a link if there is one.
async fn check_sign_up(db: &Db, token: Option<&str>) -> Page<()> {
    match (setting::sign_up(db).await?, token) {
        (setting::SignUp::Open, None) => Ok(()),
        (setting::SignUp::Link, Some(token)) => {
            let token = Token::of_hex(token).ok_or(PageError::NotFound)?;
            let stored = setting::get(db, setting::SIGN_UP_LINK).await?;
            let is_link = stored.is_some_and(|stored| stored == hex(&token.digest()));
            is_link.then_some(()).ok_or(PageError::NotFound)
        }
        (_, Some(_)) => Err(PageError::NotFound),
        (_, None) => Err(Refusal::InvitationOnly.into()),
    }
}

/// `GET /sign-up`.
pub async fn sign_up_form(Ctx { app, session }: Ctx) -> Page {
    check_sign_up(&app.db, None).await?;
    Ok(sign_up_page(&session, t::SignUp))
}

/// `GET /sign-up/{token}`.
pub async fn link_form(Ctx { app, session }: Ctx, Path(token): Path<String>) -> Page {
    check_sign_up(&app.db, Some(&token)).await?;
    Ok(sign_up_page(&session, t::SignUp))
}

/// `POST /sign-up/{token}`.
pub async fn sign_up_by_link(
    State(app): State<Arc<App>>,
    client: Client,
    Path(token): Path<String>,
    Form(form): Form<SignUp>,
) -> Page {
    check_sign_up(&app.db, Some(&token)).await?;
    add(&app, &client, &form, Role::User).await
}

/// The fields of `POST /sign-up`.
#[derive(Deserialize)]
pub struct SignUp {
    login: String,
    name: String,
    password: String,
    #[serde(default)]
    back: Back,
}

impl SignUp {
    fn check(&self) -> Page<()> {
        account::check_login(&self.login)?;
        account::check_name(&self.name)?;
        Ok(account::check_password(&self.password)?)
    }
}

/// Adds a user. An administrator is added only if no other exists.
async fn add(app: &App, client: &Client, form: &SignUp, role: Role) -> Page {
    let admitted = app.limits.sign_ups.admit(client.network(), Instant::now());
    admitted.map_err(PageError::TooOften)?;
    form.check()?;
    let asker = Asker {
        party: Party::Network(client.customer()),
        login: form.login.to_lowercase(),
    };
    let password = app.passwords.hash(asker, &form.password).await?;
    let new = NewUser {
        login: &form.login,
        name: form.name.trim(),
        password: &password,
        role,
    };
    let mut tx = app.db.begin().await?;
    if role == Role::Admin && user::has_admin(&mut tx).await? {
        return Err(PageError::NotFound);
    }
    let id = match user::insert(&mut tx, &new, Time::now()).await {
        Err(error) if error.is_duplicate() => {
            return Err(Mistake::LoginTaken.into());
        }
        id => id?,
    };
    audit::act_as(id, &form.login);
    tx.commit().await?;
    let (name, value) = known::cookie(app, &password);
    let mut answer = enter_with_new(app, client, id, password, false, &form.back).await?;
    answer.headers_mut().append(name, value);
    Ok(answer)
}

/// `POST /sign-up`.
pub async fn sign_up(
    State(app): State<Arc<App>>,
    client: Client,
    Form(form): Form<SignUp>,
) -> Page {
    check_sign_up(&app.db, None).await?;
    add(&app, &client, &form, Role::User).await
}

/// Checks that a token is that of the link for the first administrator, and that none exists.
async fn check_setup(app: &App, token: &str) -> Page<()> {
    if !app.is_setup(token) || user::has_admin(&app.db).await? {
        return Err(PageError::NotFound);
    }
    Ok(())
}

/// `GET /setup/{token}`: the first administrator.
pub async fn setup_form(Ctx { app, session }: Ctx, Path(token): Path<String>) -> Page {
    check_setup(&app, &token).await?;
    Ok(sign_up_page(&session, t::SetupTitle))
}

/// `POST /setup/{token}`.
pub async fn setup(
    State(app): State<Arc<App>>,
    client: Client,
    Path(token): Path<String>,
    Form(form): Form<SignUp>,
) -> Page {
    check_setup(&app, &token).await?;
    add(&app, &client, &form, Role::Admin).await
}

/// `POST /sign-out`.
pub async fn sign_out(Ctx { app, session }: Ctx) -> Page {
    if let Some(token) = &session.token {
        let mut tx = app.db.begin().await?;
        session::delete(&mut tx, token.digest()).await?;
        tx.commit().await?;
    }
    let cookie = cookie(&app, NAME, "", Duration::ZERO);
    Ok((cookie, Redirect::to("/")).into_response())
}

/// What a user keeps although the password is new, as the form sends it.
#[derive(Debug, Default, Deserialize)]
pub struct KeptFields {
    keep_tokens: Option<String>,
    keep_identities: Option<String>,
}

impl KeptFields {
    /// What the user keeps. No session is kept.
    pub fn read(&self) -> Kept {
        Kept {
            session: None,
            tokens: self.keep_tokens.is_some(),
            identities: self.keep_identities.is_some(),
        }
    }
}

/// The credentials that end with the old password unless the user keeps them.
pub async fn kept_inputs(db: &Db, user: i64) -> Page<Markup> {
    let tokens = api_token::of_user(db, user).await?;
    let identities = identity::of_user(db, user).await?;
    let join = |names: Vec<&str>| names.join(", ");
    Ok(html! {
        @if !tokens.is_empty() {
            @let names = join(tokens.iter().map(|one| one.name.as_str()).collect());
            label.check {
                input type="checkbox" name="keep_tokens" value="1";
                (t::PasswordKeepTokens { names })
            }
        }
        @if !identities.is_empty() {
            @let names = join(identities.iter().map(|one| one.issuer.as_str()).collect());
            label.check {
                input type="checkbox" name="keep_identities" value="1";
                (t::PasswordKeepIdentities { names })
            }
        }
    })
}

/// `GET /password`.
pub async fn password_form(Ctx { app, session }: Ctx) -> Page {
    let user = session.user.as_ref().ok_or(PageError::SignIn)?;
    let main = html! {
        h1 { (t::PasswordChange) }
        form.fields method="post" {
            // Password managers need the login.
            input type="text" name="login" autocomplete="username" value=(user.login) hidden;
            (password_input(t::PasswordPresent, "old", "current-password"))
            (password_input(t::PasswordNext, "new", "new-password"))
            (kept_inputs(&app.db, user.id).await?)
            button { (t::PasswordChange) }
        }
        p.hint { (t::PasswordSessionsEnd) }
    };
    Ok(page(&session, t::PasswordTitle, main).into_response())
}

/// The fields of `POST /password`.
#[derive(Deserialize)]
pub struct NewPassword {
    old: String,
    new: String,
    #[serde(flatten)]
    kept: KeptFields,
}

/// `POST /password`.
pub async fn change_password(
    Ctx { app, session }: Ctx,
    client: Client,
    Form(form): Form<NewPassword>,
) -> Page {
    let user = session.user.as_ref().ok_or(PageError::SignIn)?;
    account::check_password(&form.new)?;
    match check_password(&app, &session, &form.old).await {
        Err(PageError::Invalid(_)) => Err(Mistake::WrongPresentPassword.into()),
        checked => checked,
    }?;
    let hash = app.passwords.hash(Party::User(user.id), &form.new).await?;
    let mut tx = app.db.begin().await?;
    // A link for a new password may have been used since the old password was verified.
    let old = Some(user.password.as_str());
    if !password::set(&mut tx, user.id, &hash, old, form.kept.read()).await? {
        return Err(Mistake::WrongPresentPassword.into());
    }
    tx.commit().await?;
    app.pending.remove_of(user.id);
    let (name, value) = known::cookie(&app, &hash);
    // The session that ends had the one-time password.
    let mut answer = enter_with_new(&app, &client, user.id, hash, true, &Back::default()).await?;
    answer.headers_mut().append(name, value);
    Ok(answer)
}
