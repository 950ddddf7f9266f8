//! Several processes that serve one site.
//!
//! All of them use the same database of PostgreSQL and the same directory of files, so each can
//! serve each request. What a process keeps in memory for pages of the others, such as news of a
//! judgement, it tells them by messages of PostgreSQL. A message only saves time: if it is lost,
//! readers look again, queues are read after some seconds, and leases end.
//!
//! | file | content |
//! | --- | --- |
//! | `news` | what processes tell each other, and its form in messages |
//! | `outbox` | the news that wait to be sent |
//! | `seal` | sealed messages, which only the processes of a site can write and read |

pub mod news;
pub mod outbox;
mod seal;

use crate::app::App;
use crate::core::token::Token;
use crate::db::news::{Exchange, Listener, Received};
use crate::db::{self, Db, DbError, setting};
use news::News;
use outbox::Waiting;
use seal::{Key, Opener, SealError, Sealer};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::MissedTickBehavior;

/// The maximum number of news that are sent together.
const MAX_TOGETHER: usize = 256;
/// How often each process sends a message without news, which it also receives itself.
const BEAT_INTERVAL: Duration = Duration::from_secs(10);
/// How long a process may receive no message before it connects again. A connection whose server
/// has vanished does not end by itself.
const MAX_SILENCE: Duration = Duration::from_secs(30);
/// The pause after a failure of the database.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Why no news can be exchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NewsError {
    /// The database cannot be reached.
    #[error(transparent)]
    Database(#[from] DbError),
    /// Messages cannot be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// The key of the site, which is created at the first start of a process with a name.
async fn key(db: &Db) -> Result<Key, DbError> {
    let mut tx = db.begin().await?;
    let digits = match setting::get(&mut tx, setting::NEWS_KEY).await? {
        Some(digits) => digits,
        None => {
            let digits = Token::random().hex();
            setting::set(&mut tx, setting::NEWS_KEY, &digits).await?;
            tx.commit_aside().await?;
            digits
        }
    };
    Ok(Key::new(&digits))
}

/// Begins to exchange news with the other processes. Returns false if the database of the site can
/// only be used by one process.
///
/// # Errors
/// The database cannot be reached.
pub async fn start(app: &Arc<App>) -> Result<bool, NewsError> {
    let Some(exchange) = Exchange::open(&app.db).await? else {
        return Ok(false);
    };
    let key = key(&app.db).await?;
    app.share_setup(key.setup());
    let (sealer, opener) = seal::pair(&key)?;
    // A process that receives no news must not send any, because others might wait for its replies.
    let listener = exchange.listen().await?;
    let Some(waiting) = app.outbox.open() else {
        return Ok(true);
    };
    let outbox = app.outbox.clone();
    app.pending.tell(move |told| outbox.put(News::SignIn(told)));
    if let Some(provider) = &app.oidc {
        let outbox = app.outbox.clone();
        provider
            .flows
            .tell(move |told| outbox.put(News::Flow(told)));
    }
    let exchange = Arc::new(exchange);
    tokio::spawn(send(exchange.clone(), waiting, sealer));
    tokio::spawn(receive(app.clone(), exchange, listener, opener));
    Ok(true)
}

async fn send(exchange: Arc<Exchange>, mut waiting: Waiting, mut sealer: Sealer) {
    let mut commits = db::own_commits();
    let mut beats = tokio::time::interval(BEAT_INTERVAL);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let first = tokio::select! {
            first = waiting.next() => match first {
                Some(first) => Some(first),
                None => return,
            },
            _ = commits.changed() => Some(News::Committed),
            _ = beats.tick() => None,
        };
        let mut news = Vec::from_iter(first);
        news.extend(waiting.rest(MAX_TOGETHER));
        // News follow the commits that they announce, so pages that look again see the new data.
        if commits.has_changed().unwrap_or(false) {
            commits.borrow_and_update();
            news.insert(0, News::Committed);
        }
        for message in news::messages(news) {
            let message = match sealer.seal(&message) {
                Ok(message) => message,
                Err(error) => {
                    tracing::error!(%error, "cannot seal news for the other processes");
                    continue;
                }
            };
            while let Err(error) = exchange.send(&message).await {
                tracing::warn!(%error, "cannot send news to the other processes of the site");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

async fn receive(
    app: Arc<App>,
    exchange: Arc<Exchange>,
    mut listener: Listener,
    mut opener: Opener,
) {
    loop {
        match tokio::time::timeout(MAX_SILENCE, listener.next()).await {
            Ok(Ok(Received::Message(message))) => {
                // Others may send messages to the channel, but cannot seal them.
                let opened = opener.open(&message).unwrap_or_else(|_| "[]".to_owned());
                for news in news::of_message(&opened) {
                    learn(&app, news);
                }
                continue;
            }
            Ok(Ok(Received::Gap)) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot receive news of the other processes of the site");
                listener = reopened(&app, &exchange).await;
            }
            Err(_) => {
                tracing::warn!("no news have arrived, not even those of this process");
                listener = reopened(&app, &exchange).await;
            }
        }
        learn(&app, News::Missed);
    }
}

async fn reopened(app: &App, exchange: &Exchange) -> Listener {
    loop {
        app.queue.was_unreachable();
        match exchange.listen().await {
            Ok(listener) => return listener,
            Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
        }
    }
}

/// Applies news of another process.
fn learn(app: &App, news: News) {
    match news {
        News::Committed => db::committed_elsewhere(),
        News::Missed => {
            db::committed_elsewhere();
            app.queue.wake_here();
            app.job_added.notify();
            app.live.learn(News::Missed);
        }
        News::JudgementsAdded => app.queue.wake_here(),
        News::JudgementCancelled(judgement) => {
            app.stops.stop(judgement);
            app.live.learn(News::JudgementEnded(judgement));
        }
        News::JobAdded => app.job_added.notify(),
        News::JobStopped(id) => app.job_stops.stop(id),
        News::SignIn(told) => app.pending.learn(told, Instant::now()),
        News::Flow(told) => {
            if let Some(provider) = &app.oidc {
                provider.flows.learn(told, Instant::now());
            }
        }
        news @ (News::Change(_)
        | News::Job(_)
        | News::Note(_)
        | News::Contest(_)
        | News::Progress(_)
        | News::JudgementEnded(_)) => app.live.learn(news),
    }
}
