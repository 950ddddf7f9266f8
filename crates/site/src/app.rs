//! Everything that the pages share.

use crate::blobs::Blobs;
use crate::core::changes::Memory;
use crate::core::password::Passwords;
use crate::core::pending::{Pending, pending};
use crate::core::places::Places;
use crate::core::throttle::Throttle;
use crate::core::token::Token;
use crate::db::{Db, DbError};
use crate::http::audit::Failures;
use crate::http::statements::Statements;
use crate::http::upload::MAX_UPLOADS;
use crate::jobs::Bell;
use crate::judging::languages::Language;
use crate::judging::live::Live;
use crate::judging::queue::DatabaseQueue;
use crate::judging::stops::Stops;
use crate::judging::trial::Trials;
use crate::oidc::Provider;
use crate::rankings::Rankings;
use crate::text::Locales;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The maximum number of failed sign-ins of one login from one address within [`SIGN_IN_WINDOW`].
const FAILURES_OF_LOGIN: u32 = 10;
/// The maximum number of failed sign-ins from one address within [`SIGN_IN_WINDOW`]. A school may
/// share one address.
const FAILURES_OF_ADDRESS: u32 = 200;
/// The maximum number of wrong one-time passwords of one user within [`SIGN_IN_WINDOW`].
const FAILURES_OF_CODE: u32 = 8;
const SIGN_IN_WINDOW: Duration = Duration::from_secs(15 * 60);
/// The maximum number of sign-up forms from one address within [`SIGN_IN_WINDOW`]. All contestants
/// may share one address.
const SIGN_UPS: u32 = 600;
/// The maximum number of API requests of one user, or from one address, within [`SUBMIT_WINDOW`].
const API_CALLS: u32 = 1200;
/// The maximum number of streams of events of one user. A page that is visible has one.
const STREAMS_OF_USER: usize = 64;
/// The maximum number of streams of events to one address, half of all connections. All contestants
/// may share one address: 1,000 of them can have two visible pages each.
const STREAMS_OF_NETWORK: usize = 2048;
/// The maximum number of submissions of one user within [`SUBMIT_WINDOW`].
const SUBMISSIONS: u32 = 20;
/// The maximum number of trials of one user within [`TRY_WINDOW`].
const TRIES: u32 = 10;
/// The maximum number of questions of one user within [`ASK_WINDOW`].
const QUESTIONS: u32 = 5;
/// The maximum number of texts that one user prints within [`ASK_WINDOW`].
const PRINTS: u32 = 10;
const ASK_WINDOW: Duration = Duration::from_secs(5 * 60);
const TRY_WINDOW: Duration = Duration::from_secs(60);
const SUBMIT_WINDOW: Duration = Duration::from_secs(60);

/// The site.
#[derive(Debug)]
pub struct App {
    pub db: Db,
    pub blobs: Blobs,
    pub queue: DatabaseQueue,
    pub live: Arc<Live>,
    /// Stops judgements.
    pub stops: Stops,
    /// Runs sources on inputs that their users provide.
    pub trials: Trials,
    /// Trials by user.
    pub tries: Throttle<i64>,
    /// Stops jobs.
    pub job_stops: Stops,
    /// Wakes the runner of jobs.
    pub bell: Bell,
    pub rankings: Rankings,
    /// Digests of contests, which show to programs that follow a contest what has changed.
    pub changes: Memory,
    pub passwords: Passwords,
    pub languages: Vec<Language>,
    /// The languages of the pages.
    pub locales: Arc<Locales>,
    /// Failed sign-ins by login and address.
    pub failures_of_login: Throttle<(String, IpAddr)>,
    /// Failed sign-ins by address.
    pub failures_of_address: Throttle<IpAddr>,
    /// Wrong one-time passwords by user, from any address.
    pub failures_of_code: Throttle<i64>,
    /// Bounds the failed sign-ins in the log of changes.
    pub failures_logged: Failures,
    /// Sign-up forms by address.
    pub sign_ups: Throttle<IpAddr>,
    /// API requests by user.
    pub calls_of_user: Throttle<i64>,
    /// API requests without a token, or with a wrong one, by address.
    pub calls_of_address: Throttle<IpAddr>,
    /// Streams of events by user.
    pub streams_of_user: Places<i64>,
    /// Streams of events by address.
    pub streams_of_network: Places<IpAddr>,
    /// Sign-ins that wait for a one-time password.
    pub pending: Pending,
    /// Submissions by user.
    pub submissions: Throttle<i64>,
    /// Rendered statements.
    pub statements: Statements,
    /// Permits for simultaneous uploads of large files.
    pub uploads: Semaphore,
    /// The OpenID Connect provider with which users can sign in.
    pub oidc: Option<Arc<Provider>>,
    /// Questions by user.
    pub questions: Throttle<i64>,
    /// Requests to print a text, by user.
    pub prints: Throttle<i64>,
    /// Whether browsers reach the site by HTTPS only.
    pub is_https: bool,
    /// The digest of the token with which the first administrator signs up.
    setup: Mutex<Option<[u8; 32]>>,
}

impl App {
    /// A site without a link for the first administrator.
    pub fn new(
        db: Db,
        blobs: Blobs,
        languages: Vec<Language>,
        locales: Locales,
        passwords: Passwords,
        oidc: Option<Arc<Provider>>,
        is_https: bool,
    ) -> App {
        App {
            queue: DatabaseQueue::new(db.clone()),
            db,
            blobs,
            live: Arc::new(Live::new()),
            stops: Stops::default(),
            trials: Trials::new(),
            tries: Throttle::new(TRIES, TRY_WINDOW),
            job_stops: Stops::default(),
            bell: Bell::default(),
            rankings: Rankings::default(),
            changes: Memory::default(),
            passwords,
            languages,
            locales: Arc::new(locales),
            failures_of_login: Throttle::new(FAILURES_OF_LOGIN, SIGN_IN_WINDOW),
            failures_of_address: Throttle::new(FAILURES_OF_ADDRESS, SIGN_IN_WINDOW),
            failures_of_code: Throttle::new(FAILURES_OF_CODE, SIGN_IN_WINDOW),
            failures_logged: Failures::default(),
            sign_ups: Throttle::new(SIGN_UPS, SIGN_IN_WINDOW),
            calls_of_user: Throttle::new(API_CALLS, SUBMIT_WINDOW),
            calls_of_address: Throttle::new(API_CALLS, SUBMIT_WINDOW),
            streams_of_user: Places::new(STREAMS_OF_USER),
            streams_of_network: Places::new(STREAMS_OF_NETWORK),
            pending: pending(),
            submissions: Throttle::new(SUBMISSIONS, SUBMIT_WINDOW),
            statements: Statements::default(),
            uploads: Semaphore::new(MAX_UPLOADS),
            oidc,
            questions: Throttle::new(QUESTIONS, ASK_WINDOW),
            prints: Throttle::new(PRINTS, ASK_WINDOW),
            is_https,
            setup: Mutex::default(),
        }
    }

    /// The path of a new one-time link for the first administrator, unless an administrator exists.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn setup_path(&self) -> Result<Option<String>, DbError> {
        if crate::db::user::has_admin(&self.db).await? {
            return Ok(None);
        }
        let token = Token::random();
        *self.setup() = Some(token.digest());
        Ok(Some(format!("/setup/{}", token.hex())))
    }

    /// Whether a token is that of the link for the first administrator.
    pub fn is_setup(&self, token: &str) -> bool {
        let digest = Token::of_hex(token).map(|token| token.digest());
        digest.is_some() && digest == *self.setup()
    }

    /// Invalidates the link for the first administrator.
    pub fn end_setup(&self) {
        *self.setup() = None;
    }

    fn setup(&self) -> std::sync::MutexGuard<'_, Option<[u8; 32]>> {
        self.setup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The language with this name.
    pub fn language(&self, name: &str) -> Option<&Language> {
        self.languages.iter().find(|language| language.name == name)
    }
}
