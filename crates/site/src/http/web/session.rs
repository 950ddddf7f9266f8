//! The user of a request, and the cookies that name the user.

use super::client::Client;
use super::error::{Page, PageError};
use crate::app::App;
use crate::core::access::Viewer;
use crate::core::back::Back;
use crate::core::party::Party;
use crate::core::time::Time;
use crate::core::token::Token;
use crate::db::credential::{self, Proof};
use crate::db::user::{self, User};
use crate::db::{Tx, audit, contest, session};
use crate::http::connections::Connection;
use crate::text;
use axum::extract::FromRequestParts;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::{AppendHeaders, IntoResponse, Redirect};
use std::sync::Arc;
use std::time::Duration;

/// The name of the cookie.
pub const NAME: &str = "session";
/// The name of the cookie of a sign-in that waits for a one-time password.
pub const PENDING: &str = "sign-in";
/// How long a session lasts.
pub const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a session lasts if the user stays signed in.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The session of a request.
#[derive(Debug, Clone)]
pub struct Session {
    /// The user; `None` for guests.
    pub user: Option<User>,
    /// The path of the request.
    pub path: String,
    /// The page to which a sign-in returns.
    pub back: Back,
    /// The token of its cookie.
    pub token: Option<Token>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Session {
    /// The user, in the form that the rules need.
    pub fn viewer(&self) -> Viewer {
        Viewer {
            user: self.user.as_ref().map(|user| (user.id, user.role)),
        }
    }

    /// The party of the viewer. All guests are one.
    pub fn party(&self) -> Party {
        self.viewer().id().map_or(Party::Guests, Party::User)
    }

    /// A session without a user.
    pub fn guest() -> Session {
        Session {
            user: None,
            path: String::new(),
            back: Back::default(),
            token: None,
        }
    }

    /// A session of a program with its own token.
    pub fn of_program(user: User) -> Session {
        Session {
            user: Some(user),
            path: String::new(),
            back: Back::default(),
            token: None,
        }
    }

    /// The digest of the session's token.
    pub fn digest(&self) -> Option<[u8; 32]> {
        self.token.as_ref().map(Token::digest)
    }

    /// Checks that the session has not ended since the request began, and keeps it until the
    /// transaction ends. Needed for everything that outlives the session, such as tokens.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn hold(&self, tx: &mut Tx) -> Page<()> {
        let digest = self.digest().ok_or(PageError::SignIn)?;
        let is_held = session::hold(tx, digest, Time::now()).await?;
        is_held.then_some(()).ok_or(PageError::SignIn)
    }

    /// Whether the user decides on what is judged: a teacher, the owner of a problem or the staff
    /// of a contest.
    pub async fn is_staff(&self, app: &App) -> Page<bool> {
        let Some(id) = self.viewer().id() else {
            return Ok(false);
        };
        Ok(self.viewer().is_teacher() || user::is_manager(&app.db, id).await?)
    }

    /// The id of the user.
    ///
    /// # Errors
    /// The viewer is a guest and must sign in.
    pub fn user_id(&self) -> Page<i64> {
        self.viewer().id().ok_or(PageError::SignIn)
    }
}

/// The token of a sign-in that waits for a one-time password.
pub fn pending_token(app: &App, headers: &HeaderMap) -> Option<Token> {
    cookie_token(app, headers, PENDING)
}

/// How long a session lasts.
pub fn lasts(keep: bool) -> Duration {
    if keep { KEPT } else { LASTS }
}

/// The token in a cookie.
pub fn cookie_token(app: &App, headers: &HeaderMap, name: &str) -> Option<Token> {
    cookie_value(app, headers, name).and_then(Token::of_hex)
}

/// Returns the prefix of the names of cookies. With `__Host-`, browsers accept a cookie only from
/// this host and over HTTPS. Otherwise, other hosts of the domain could set the session.
fn prefix(app: &App) -> &'static str {
    if app.is_https { "__Host-" } else { "" }
}

/// The value of the cookie with a name.
pub fn cookie_value<'h>(app: &App, headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let prefix = prefix(app);
    let cookies = headers.get_all(COOKIE).iter();
    let text = cookies.filter_map(|value| value.to_str().ok());
    text.flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| found.strip_prefix(prefix) == Some(name))
        .map(|(_, value)| value)
}

/// The page to which a sign-in on this address returns: the contest of an entry link, or the page
/// to which this page itself returns.
fn back(address: &Uri) -> Back {
    match address.path() {
        "/sign-in" | "/sign-up" => Back::of_query(address.query().unwrap_or_default()),
        path if path.starts_with("/enter/") => path.to_owned().into(),
        _ => Back::default(),
    }
}

impl FromRequestParts<Arc<App>> for Session {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Page<Session> {
        let token = cookie_token(app, &parts.headers, NAME);
        let user = match &token {
            Some(token) => session::user(&app.db, token.digest(), Time::now()).await?,
            None => None,
        };
        if let Some(user) = &user {
            audit::act_as(user.id, &user.login);
        }
        if let (Some(user), Some(connection)) = (&user, parts.extensions.get::<Arc<Connection>>()) {
            connection.identify(user.id);
        }
        if let Some(tag) = user.as_ref().and_then(|user| user.locale.as_ref()) {
            text::set_language(tag);
        }
        text::set_user_zone(user.as_ref().and_then(|user| user.time_zone.as_deref()));
        Ok(Session {
            user,
            path: parts.uri.path().to_owned(),
            back: back(&parts.uri),
            token,
        })
    }
}

/// The header that sets or removes a cookie. `value` is plain ASCII, such as a hexadecimal number.
pub fn cookie_header(
    app: &App,
    name: &str,
    value: &str,
    lasts: Duration,
) -> (HeaderName, HeaderValue) {
    let secure = if app.is_https { "; Secure" } else { "" };
    let seconds = lasts.as_secs();
    let name = format!("{}{name}", prefix(app));
    let cookie =
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    // All these characters are allowed in headers.
    let value = HeaderValue::try_from(cookie).unwrap_or(HeaderValue::from_static(""));
    (SET_COOKIE, value)
}

/// The same header for an answer.
pub fn cookie(
    app: &App,
    name: &str,
    value: &str,
    lasts: Duration,
) -> AppendHeaders<[(HeaderName, HeaderValue); 1]> {
    AppendHeaders([cookie_header(app, name, value, lasts)])
}

/// A sign-in whose user has shown enough.
#[derive(Debug)]
pub struct Entry<'e> {
    /// The user.
    pub user: i64,
    /// What the user has shown.
    pub proof: &'e Proof,
    /// Whether the user has also shown a one-time password.
    pub has_code: bool,
    /// How long the session lasts.
    pub lasts: Duration,
    /// The page that follows.
    pub back: &'e Back,
}

/// Begins a session if the user's proof still holds, and redirects to the page that follows.
pub async fn begin(app: &App, client: &Client, entry: Entry<'_>) -> Page {
    let Entry { user, lasts, .. } = entry;
    let token = Token::random();
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    if !credential::holds(&mut tx, user, entry.proof, entry.has_code).await? {
        return Err(PageError::SignIn);
    }
    session::delete_expired(&mut tx, now).await?;
    session::insert(&mut tx, token.digest(), user, now, now.after(lasts)).await?;
    let address = client.address.to_string();
    session::describe(&mut tx, token.digest(), &address, &client.agent).await?;
    // Most contestants sign in for one contest.
    let page = match contest::running(&mut tx, user, now).await?.as_slice() {
        [only] => format!("/contests/{}", only.id),
        _ => "/contests".to_owned(),
    };
    tx.commit().await?;
    let cookie = cookie(app, NAME, &token.hex(), lasts);
    Ok((cookie, Redirect::to(entry.back.or(&page))).into_response())
}
