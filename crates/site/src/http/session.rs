//! The user of a request; sign-in, sign-up and sign-out.

use super::audit::Actor;
use super::client::Client;
use super::error::{Page, PageError};
use super::layout::page;
use crate::app::App;
use crate::core::access::Viewer;
use crate::core::account::{self, MAX_NAME};
use crate::core::password;
use crate::core::pending::{PENDING_LASTS, SignIn};
use crate::core::time::Time;
use crate::core::token::{Token, hex};
use crate::db::user::{self, NewUser, Role, User};
use crate::db::{Db, session, setting, totp};
use axum::extract::{Extension, Form, FromRequestParts, Path, State};
use axum::http::HeaderMap;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name of the cookie.
const NAME: &str = "session";
/// The name of the cookie of a sign-in that waits for a one-time password.
const PENDING: &str = "sign-in";
/// How long a session lasts.
pub const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a session lasts that the user wants to keep.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The session of a request.
#[derive(Debug, Clone)]
pub struct Session {
    /// The user; `None` for guests.
    pub user: Option<User>,
    /// The path of the request.
    pub path: String,
    token: Option<Token>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Session {
    /// The user as the rules see it.
    pub fn viewer(&self) -> Viewer {
        Viewer {
            user: self.user.as_ref().map(|user| (user.id, user.role)),
        }
    }

    /// A session without a user.
    pub fn guest() -> Session {
        Session {
            user: None,
            path: String::new(),
            token: None,
        }
    }

    /// A session of a program with a token of its own.
    pub fn of_program(user: User) -> Session {
        Session {
            user: Some(user),
            path: String::new(),
            token: None,
        }
    }

    /// The digest of the session's token.
    pub fn digest(&self) -> Option<[u8; 32]> {
        self.token.as_ref().map(Token::digest)
    }

    /// The id of the user.
    ///
    /// # Errors
    /// The viewer is a guest and must sign in.
    pub fn user_id(&self) -> Page<i64> {
        self.viewer().id().ok_or(PageError::SignIn)
    }
}

fn token(headers: &HeaderMap) -> Option<Token> {
    cookie_token(headers, NAME)
}

/// The token of a sign-in that waits for a one-time password.
pub fn pending_token(headers: &HeaderMap) -> Option<Token> {
    cookie_token(headers, PENDING)
}

/// How long a session lasts.
pub fn lasts(keep: bool) -> Duration {
    if keep { KEPT } else { LASTS }
}

fn cookie_token(headers: &HeaderMap, name: &str) -> Option<Token> {
    let cookies = headers.get_all(COOKIE).iter();
    let text = cookies.filter_map(|value| value.to_str().ok());
    text.flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .and_then(|(_, value)| Token::of_hex(value))
}

impl FromRequestParts<Arc<App>> for Session {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Page<Session> {
        let token = token(&parts.headers);
        let user = match &token {
            Some(token) => session::user(&app.db, token.digest(), Time::now()).await?,
            None => None,
        };
        if let (Some(user), Some(actor)) = (&user, parts.extensions.get::<Actor>()) {
            actor.set(user.id, &user.login);
        }
        let path = parts.uri.path().to_owned();
        Ok(Session { user, path, token })
    }
}

/// The header that sets or removes the cookie.
fn cookie(
    app: &App,
    name: &str,
    value: &str,
    lasts: Duration,
) -> AppendHeaders<[(axum::http::HeaderName, String); 1]> {
    let secure = if app.is_https { "; Secure" } else { "" };
    let seconds = lasts.as_secs();
    let cookie =
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    AppendHeaders([(SET_COOKIE, cookie)])
}

/// Begins a session.
pub async fn begin(app: &App, client: &Client, user: i64, lasts: Duration) -> Page {
    let token = Token::random();
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    session::delete_expired(&mut tx, now).await?;
    session::insert(&mut tx, token.digest(), user, now, now.after(lasts)).await?;
    let address = client.address.to_string();
    session::describe(&mut tx, token.digest(), &address, &client.agent).await?;
    tx.commit().await?;
    let cookie = cookie(app, NAME, &token.hex(), lasts);
    Ok((cookie, Redirect::to("/contests")).into_response())
}

/// `GET /`.
pub async fn home(session: Session) -> Response {
    let main = html! {
        h1 { "Contests and problems" }
        p { "Solve problems, and see at once which tests your program passes." }
        p.actions {
            a.button href="/contests" { "Contests" }
            a.button href="/problems" { "Problems" }
        }
    };
    page(&session, "Home", main).into_response()
}

/// An input for a password.
pub fn password_input(label: &str, name: &str, kind: &str) -> Markup {
    html! {
        label { (label)
            input name=(name) type="password" autocomplete=(kind) required
                minlength=(password::LENGTHS.start()) maxlength=(password::LENGTHS.end());
        }
    }
}

/// `GET /sign-in`.
pub async fn sign_in_form(session: Session) -> Response {
    let main = html! {
        h1 { "Sign in" }
        form.fields method="post" {
            label { "Login" input name="login" autocomplete="username" required; }
            (password_input("Password", "password", "current-password"))
            label.check {
                input type="checkbox" name="keep" value="1";
                "Stay signed in for 30 days"
            }
            button { "Sign in" }
        }
    };
    page(&session, "Sign in", main).into_response()
}

/// The fields of `POST /sign-in`.
#[derive(Deserialize)]
pub struct Credentials {
    login: String,
    password: String,
    keep: Option<String>,
}

/// `POST /sign-in`.
pub async fn sign_in(
    State(app): State<Arc<App>>,
    actor: Option<Extension<Actor>>,
    client: Client,
    Form(form): Form<Credentials>,
) -> Page {
    let address = client.address;
    let key = (form.login.to_lowercase(), address);
    let now = Instant::now();
    let delays = [
        app.failures_of_login.delay(&key, now),
        app.failures_of_address.delay(&address, now),
    ];
    if let Some(delay) = delays.into_iter().flatten().max() {
        return Err(PageError::TooOften(delay));
    }
    let user = user::by_login(&app.db, &form.login).await?;
    let stored = user.as_ref().map(|user| user.password.as_str());
    let fits = app.passwords.verify(&form.password, stored).await?;
    let Some(user) = user.filter(|user| fits && user.disabled_at.is_none()) else {
        app.failures_of_login.count(key, now);
        app.failures_of_address.count(address, now);
        let why = "Login or password is wrong.".to_owned();
        return Err(PageError::Invalid(why));
    };
    app.failures_of_login.forget(&key);
    let keep = form.keep.is_some();
    let generator = totp::of_user(&app.db, user.id).await?;
    if generator.is_some_and(|found| found.confirmed().is_some()) {
        let sign_in = SignIn {
            user: user.id,
            keep,
        };
        let token = app.pending.add(sign_in, now).ok_or(PageError::Busy)?;
        let cookie = cookie(&app, PENDING, &token.hex(), PENDING_LASTS);
        return Ok((cookie, Redirect::to("/sign-in/code")).into_response());
    }
    if let Some(Extension(actor)) = actor {
        actor.set(user.id, &user.login);
    }
    begin(&app, &client, user.id, lasts(keep)).await
}

fn sign_up_page(session: &Session, title: &str) -> Response {
    let main = html! {
        h1 { (title) }
        form.fields method="post" {
            label { "Login" input name="login" autocomplete="username" required
                maxlength=(MAX_NAME) pattern="[A-Za-z0-9_.\\-]+"; }
            label { "Name" input name="name" autocomplete="name" required maxlength=(MAX_NAME); }
            (password_input("Password (at least 8 characters)", "password", "new-password"))
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
        (_, None) => Err(PageError::Refused(
            "This site adds users by invitation only. Ask its administrator.",
        )),
    }
}

/// `GET /sign-up`.
pub async fn sign_up_form(State(app): State<Arc<App>>, session: Session) -> Page {
    check_sign_up(&app.db, None).await?;
    Ok(sign_up_page(&session, "Sign up"))
}

/// `GET /sign-up/{token}`.
pub async fn link_form(
    State(app): State<Arc<App>>,
    session: Session,
    Path(token): Path<String>,
) -> Page {
    check_sign_up(&app.db, Some(&token)).await?;
    Ok(sign_up_page(&session, "Sign up"))
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
    form.check()?;
    let password = app.passwords.hash(&form.password).await?;
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
            return Err(PageError::Invalid("This login is taken.".to_owned()));
        }
        id => id?,
    };
    tx.commit().await?;
    begin(app, client, id, LASTS).await
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

/// `GET /setup/{token}`: the first administrator.
pub async fn setup_form(
    State(app): State<Arc<App>>,
    session: Session,
    Path(token): Path<String>,
) -> Page {
    if !app.is_setup(&token) {
        return Err(PageError::NotFound);
    }
    Ok(sign_up_page(&session, "Create the first administrator"))
}

/// `POST /setup/{token}`.
pub async fn setup(
    State(app): State<Arc<App>>,
    client: Client,
    Path(token): Path<String>,
    Form(form): Form<SignUp>,
) -> Page {
    if !app.is_setup(&token) {
        return Err(PageError::NotFound);
    }
    let answer = add(&app, &client, &form, Role::Admin).await?;
    app.end_setup();
    Ok(answer)
}

/// `POST /sign-out`.
pub async fn sign_out(State(app): State<Arc<App>>, session: Session) -> Page {
    if let Some(token) = &session.token {
        let mut tx = app.db.begin().await?;
        session::delete(&mut tx, token.digest()).await?;
        tx.commit().await?;
    }
    let cookie = cookie(&app, NAME, "", Duration::ZERO);
    Ok((cookie, Redirect::to("/")).into_response())
}

/// `GET /password`.
pub async fn password_form(session: Session) -> Page {
    let user = session.user.as_ref().ok_or(PageError::SignIn)?;
    let main = html! {
        h1 { "Change the password" }
        form.fields method="post" {
            // Password managers need the login.
            input type="text" name="login" autocomplete="username" value=(user.login) hidden;
            (password_input("Present password", "old", "current-password"))
            (password_input("New password (at least 8 characters)", "new", "new-password"))
            button { "Change the password" }
        }
        p.hint { "All other sessions end." }
    };
    Ok(page(&session, "Password", main).into_response())
}

/// The fields of `POST /password`.
#[derive(Deserialize)]
pub struct NewPassword {
    old: String,
    new: String,
}

/// `POST /password`.
pub async fn change_password(
    State(app): State<Arc<App>>,
    session: Session,
    client: Client,
    Form(form): Form<NewPassword>,
) -> Page {
    let user = session.user.as_ref().ok_or(PageError::SignIn)?;
    account::check_password(&form.new)?;
    let key = (user.login.to_lowercase(), client.address);
    if let Some(delay) = app.failures_of_login.delay(&key, Instant::now()) {
        return Err(PageError::TooOften(delay));
    }
    if !app
        .passwords
        .verify(&form.old, Some(&user.password))
        .await?
    {
        app.failures_of_login.count(key, Instant::now());
        return Err(PageError::Invalid(
            "The present password is wrong.".to_owned(),
        ));
    }
    let password = app.passwords.hash(&form.new).await?;
    let mut tx = app.db.begin().await?;
    user::set_password(&mut tx, user.id, &password).await?;
    session::delete_of_user(&mut tx, user.id).await?;
    tx.commit().await?;
    begin(&app, &client, user.id, LASTS).await
}
