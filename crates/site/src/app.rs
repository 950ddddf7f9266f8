//! Everything that the pages share.

use crate::blobs::Blobs;
use crate::core::changes::Memory;
use crate::core::failures::Failures;
use crate::core::password::Passwords;
use crate::core::pending::{Pending, pending};
use crate::core::token::Token;
use crate::core::uploads::Uploaded;
use crate::core::zone::Zone;
use crate::db::{Db, DbError};
use crate::http::{Sources, Statements};
use crate::judging::languages::Language;
use crate::judging::live::Live;
use crate::judging::queue::DatabaseQueue;
use crate::judging::trial::Trials;
use crate::limits::Limits;
use crate::notifier::Notifier;
use crate::oidc::Provider;
use crate::processes::news::News;
use crate::processes::outbox::Outbox;
use crate::rankings::Rankings;
use crate::text::Locales;
use millibox_worker::stops::Stops;
use std::sync::{Arc, OnceLock};
use tokio::sync::broadcast;

/// The contests whose digests are remembered, each once for each size of parts.
const STAFF_MEMORY: usize = 64;
/// The contestants whose digests are remembered.
const CONTESTANTS_MEMORY: usize = 1024;
/// The number of cancelled judgements that wait to be announced to workers on other machines. A
/// worker that misses one notices it when it renews its lease.
const CANCELLED_BACKLOG: usize = 1024;

/// The site.
#[derive(Debug)]
pub struct App {
    pub db: Db,
    pub blobs: Blobs,
    /// The shares of users and guests.
    pub limits: Limits,
    pub queue: DatabaseQueue,
    pub live: Arc<Live>,
    /// News for the other processes of the site.
    pub outbox: Outbox,
    /// Recent uploads, which count for the disk space of their users.
    pub uploaded: Uploaded,
    /// Stops judgements of this process; see [`App::stop_judging`].
    pub stops: Stops,
    /// Judgements that were cancelled, for workers on other machines.
    cancelled: broadcast::Sender<i64>,
    /// Runs sources on inputs that their users provide.
    pub trials: Trials,
    /// Stops jobs.
    pub job_stops: Stops,
    /// Wakes the runner of jobs.
    pub job_added: Notifier,
    pub rankings: Rankings,
    /// Digests of contests, which show to programs that follow a contest what has changed.
    pub changes: Memory,
    /// The same digests of what contestants see.
    pub own_changes: Memory,
    pub passwords: Passwords,
    pub languages: Vec<Language>,
    /// The languages of the pages.
    pub locales: Arc<Locales>,
    /// The time zone of pages whose contest and user have none.
    pub zone: Zone,
    /// Bounds the failed sign-ins in the log of changes.
    pub failures_logged: Failures,
    /// Sign-ins that wait for a one-time password.
    pub pending: Pending,
    /// Rendered sources.
    pub sources: Sources,
    /// Rendered statements.
    pub statements: Statements,
    /// The OpenID Connect provider with which users can sign in.
    pub oidc: Option<Arc<Provider>>,
    /// Whether browsers reach the site by HTTPS only.
    pub is_https: bool,
    /// The token with which the first administrator signs up.
    setup: OnceLock<Token>,
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
        let outbox = Outbox::default();
        App {
            queue: DatabaseQueue::new(db.clone(), outbox.clone()),
            db,
            blobs,
            limits: Limits::default(),
            live: Arc::new(Live::new(outbox.clone())),
            outbox,
            uploaded: Uploaded::default(),
            stops: Stops::default(),
            cancelled: broadcast::Sender::new(CANCELLED_BACKLOG),
            trials: Trials::new(),
            job_stops: Stops::default(),
            job_added: Notifier::default(),
            rankings: Rankings::default(),
            changes: Memory::new(STAFF_MEMORY),
            own_changes: Memory::new(CONTESTANTS_MEMORY),
            passwords,
            languages,
            locales: Arc::new(locales),
            zone: Zone::UTC,
            failures_logged: Failures::default(),
            pending: pending(),
            sources: Sources::default(),
            statements: Statements::default(),
            oidc,
            is_https,
            setup: OnceLock::new(),
        }
    }

    /// The same site with other bounds.
    pub fn with_limits(self, limits: Limits) -> App {
        App { limits, ..self }
    }

    /// The same site with a different time zone.
    pub fn with_zone(self, zone: Zone) -> App {
        App { zone, ..self }
    }

    /// The same site with other settings of its queue.
    pub fn with_queue(self, change: impl FnOnce(DatabaseQueue) -> DatabaseQueue) -> App {
        App {
            queue: change(self.queue.clone()),
            ..self
        }
    }

    /// Stops a cancelled judgement, which may run here or on another machine.
    pub fn stop_judging(&self, judgement: i64) {
        self.stops.stop(judgement);
        self.outbox.put(News::JudgementCancelled(judgement));
        // Without workers on other machines, there is nothing to do.
        let _ = self.cancelled.send(judgement);
    }

    /// Wakes a runner of jobs, because a job was added.
    pub fn wake_jobs(&self) {
        self.job_added.notify();
        self.outbox.put(News::JobAdded);
    }

    /// Stops a job, which may run here or in another process.
    pub fn stop_job(&self, id: i64) {
        self.job_stops.stop(id);
        self.outbox.put(News::JobStopped(id));
    }

    /// The judgements that are cancelled from now on.
    pub fn subscribe_cancelled(&self) -> broadcast::Receiver<i64> {
        self.cancelled.subscribe()
    }

    /// Lets all processes of the site accept the same link for the first administrator.
    pub fn share_setup(&self, token: Token) {
        self.setup.get_or_init(|| token);
    }

    /// The path of the link for the first administrator, unless an administrator exists.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn setup_path(&self) -> Result<Option<String>, DbError> {
        if crate::db::user::has_admin(&self.db).await? {
            return Ok(None);
        }
        let token = self.setup.get_or_init(Token::random);
        Ok(Some(format!("/setup/{}", token.hex())))
    }

    /// Whether a token is that of the link for the first administrator. The link may have ended,
    /// because an administrator exists.
    pub fn is_setup(&self, token: &str) -> bool {
        let digest = Token::of_hex(token).map(|token| token.digest());
        digest.is_some() && digest == self.setup.get().map(Token::digest)
    }

    /// The language with this name.
    pub fn language(&self, name: &str) -> Option<&Language> {
        self.languages.iter().find(|language| language.name == name)
    }
}
