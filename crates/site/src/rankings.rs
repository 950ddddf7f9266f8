//! Rendered rankings and statistics, kept until the data changes.
//!
//! Viewers with equal scopes and languages share the same bytes. Only the time since which a
//! ranking is frozen depends on the viewer's time zone: all zones share a ranking that is not
//! frozen, and otherwise those whose clocks show the same. Each transaction that this process
//! commits makes the data stale. Stale data is read again for the next request, once for all
//! requests that wait; of the submissions, the parts that have changed. Equal data keeps its
//! renderings.
//! A ranking is therefore never older than the request, and still the site spends at most a third
//! of one CPU's time on the rankings of a contest: requests wait until the share allows a reading.
//! Only a browser that asks after an event gets a ranking that was rendered a moment ago, because
//! otherwise each change would let all that follow the ranking wait for the next one.
//!
//! Transactions of other processes, such as commands of an administrator, take effect after
//! [`MAX_AGE`].

use crate::core::kept::Kept;
use crate::core::lane::{Bounds, Lane, LaneError};
use crate::core::party::Party;
use crate::core::standings::{Data, Scope};
use crate::core::time::Time;
use crate::core::token::hex;
use crate::core::zone::{Local, Zone};
use crate::db::submission::Brief;
use crate::db::{self, Db, DbError, Tx};
use crate::text::{self, Reader};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long data is used even if no transaction of this process has changed it.
const MAX_AGE: Duration = Duration::from_secs(5);
/// The pause after the data was read, as a multiple of the time that reading took.
const PAUSE_FACTOR: u32 = 2;
const MAX_PAUSE: Duration = Duration::from_millis(200);
/// The maximum age of a ranking that a browser loads after an event.
const RECENT: Duration = Duration::from_secs(2);
/// The maximum number of contests whose rankings are kept.
const MAX_CONTESTS: usize = 64;
/// The maximum number of renderings of one contest that are kept, for all scopes, formats,
/// languages and time zones.
const MAX_PAGES: usize = 64;

/// Two contests render at the same time, and each renders one thing at a time, for all its viewers.
const RENDERING: Bounds = Bounds {
    turns: 2,
    turns_of_key: 1,
    waiting: MAX_CONTESTS,
    waiting_of_key: 2,
};

/// The form of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Tables for pages.
    Html,
    /// A table for spreadsheets.
    Csv,
    /// Data for programs.
    Json,
    /// The statistics, for pages.
    Statistics,
}

/// Why a ranking was not rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RankingError {
    /// The database.
    #[error(transparent)]
    Database(#[from] DbError),
    /// Too many contests render, or rendering panicked.
    #[error(transparent)]
    Lane(#[from] LaneError),
}

/// Renders a ranking for a point in time.
pub type Render = fn(&Data, &Scope, Time) -> String;

/// A ranking as it is sent.
#[derive(Debug)]
pub struct Rendered {
    /// The entity tag: equal content has an equal tag.
    pub etag: String,
    pub text: String,
    /// The compressed text.
    pub gzip: Vec<u8>,
}

impl Rendered {
    fn new(text: String) -> Rendered {
        let digest = hex(&Sha256::digest(&text));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Writing to memory succeeds.
        let written = encoder.write_all(text.as_bytes());
        let gzip = written.and_then(|()| encoder.finish()).unwrap_or_default();
        Rendered {
            etag: format!("\"{}\"", &digest[..32]),
            text,
            gzip,
        }
    }
}

/// The rankings of all contests.
#[derive(Debug)]
pub struct Rankings {
    contests: Mutex<Kept<i64, Arc<Shared>>>,
    rendering: Lane<Party>,
    /// How often data has been read.
    #[cfg(test)]
    readings: std::sync::atomic::AtomicU64,
}

impl Default for Rankings {
    fn default() -> Rankings {
        Rankings {
            contests: Mutex::new(Kept::new(MAX_CONTESTS)),
            rendering: Lane::new(RENDERING),
            #[cfg(test)]
            readings: std::sync::atomic::AtomicU64::default(),
        }
    }
}

/// The cached state of one contest, and its last renderings, which are read without waiting.
#[derive(Debug, Default)]
struct Shared {
    contest: tokio::sync::Mutex<Contest>,
    recent: Mutex<Recent>,
}

/// Data and renderings with the times at which the data was read.
#[derive(Debug)]
struct Recent {
    data: Option<(Instant, Arc<Data>)>,
    /// A rendering is valid until a point in time.
    pages: Kept<Key, (Instant, Time, Arc<Rendered>)>,
}

impl Default for Recent {
    fn default() -> Recent {
        Recent {
            data: None,
            pages: Kept::new(MAX_PAGES),
        }
    }
}

/// The key of a rendering: everything that determines it, except the data.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    scope: Scope,
    format: Format,
    language: String,
    /// How the reader's clocks show the times in the rendering.
    times: Vec<Local>,
}

impl Key {
    fn new(data: &Data, scope: &Scope, format: Format, reader: &Reader, now: Time) -> Key {
        let times = match format {
            Format::Html | Format::Statistics => times(data, &reader.zone, now),
            // Programs receive times in UTC.
            Format::Csv | Format::Json => Vec::new(),
        };
        Key {
            scope: scope.clone(),
            format,
            language: reader.locale.tag().to_owned(),
            times,
        }
    }
}

/// The times that a page with rankings may contain.
fn times(data: &Data, zone: &Zone, now: Time) -> Vec<Local> {
    let frozen = data.rounds.iter().filter(|one| one.freeze().is_on(now));
    frozen.filter_map(|one| zone.local(one.freeze_at)).collect()
}

impl Shared {
    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cached state of one contest. Its lock is held while data is read or rendered, so that other
/// requests wait for the result.
#[derive(Debug, Default)]
struct Contest {
    known: Option<Known>,
    submissions: Submissions,
}

/// The submissions of a contest by their parts, with the stamps of the parts.
#[derive(Debug, Default)]
struct Submissions {
    parts: BTreeMap<i64, (i64, Vec<Brief>)>,
    /// How many submissions were read.
    #[cfg(test)]
    read: usize,
}

impl Submissions {
    /// Reads the parts that have changed. Returns all submissions in their order.
    async fn update(&mut self, tx: &mut Tx, contest: i64) -> Result<Vec<Brief>, DbError> {
        for one in db::submission_part::all(&mut *tx, contest).await? {
            let known = self.parts.get(&one.part);
            if known.is_none_or(|(stamp, _)| *stamp != one.stamp) {
                let rows = db::submission::briefs(&mut *tx, contest, one.range()).await?;
                #[cfg(test)]
                {
                    self.read += rows.len();
                }
                self.parts.insert(one.part, (one.stamp, rows));
            }
        }
        let parts = self.parts.values();
        Ok(parts.flat_map(|(_, rows)| rows).cloned().collect())
    }
}

#[derive(Debug)]
struct Known {
    data: Arc<Data>,
    /// The number of commits before the data was read.
    commits: u64,
    read_at: Instant,
    /// The time that reading and rendering took.
    spent: Duration,
    /// The time until which the pages are valid.
    until: Time,
    pages: Kept<Key, Arc<Rendered>>,
}

impl Known {
    fn is_fresh(&self, commits: u64) -> bool {
        self.commits >= commits && self.read_at.elapsed() < MAX_AGE
    }

    /// When the data may be read again.
    fn next_reading(&self) -> Instant {
        self.read_at + self.spent + (self.spent * PAUSE_FACTOR).min(MAX_PAUSE)
    }
}

async fn read(db: &Db, contest: i64, submissions: &mut Submissions) -> Result<Data, DbError> {
    let mut tx = db.snapshot().await?;
    Ok(Data {
        rounds: db::contest::rounds(&mut tx, contest).await?,
        problems: db::contest::problems(&mut tx, contest).await?,
        participants: db::participant::all(&mut tx, contest).await?,
        starts: db::participant::starts(&mut tx, contest).await?,
        submissions: submissions.update(&mut tx, contest).await?,
    })
}

impl Rankings {
    fn contest(&self, id: i64) -> Arc<Shared> {
        let mut contests = self.contests.lock().unwrap_or_else(PoisonError::into_inner);
        contests.entry(id, Arc::default).clone()
    }

    async fn fresh<'c>(
        &self,
        db: &Db,
        id: i64,
        contest: &'c mut Contest,
        commits: u64,
    ) -> Result<&'c mut Known, DbError> {
        let is_fresh = |known: &Known| known.is_fresh(commits);
        if !contest.known.as_ref().is_some_and(is_fresh) {
            if let Some(known) = &contest.known {
                tokio::time::sleep_until(known.next_reading()).await;
            }
            let commits = *db::commits().borrow();
            let read_at = Instant::now();
            let data = read(db, id, &mut contest.submissions).await?;
            #[cfg(test)]
            self.readings
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // Most transactions change no ranking of this contest.
            let before = contest.known.take().filter(|known| *known.data == data);
            let (data, until, pages) = match before {
                Some(known) => (known.data, known.until, known.pages),
                None => (Arc::new(data), Time::NEVER, Kept::new(MAX_PAGES)),
            };
            contest.known = Some(Known {
                data,
                commits,
                read_at,
                spent: read_at.elapsed(),
                until,
                pages,
            });
        }
        contest.known.as_mut().ok_or(DbError::Missing("contest"))
    }

    /// The data of a contest after a number of commits.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn data(&self, db: &Db, id: i64, commits: u64) -> Result<Arc<Data>, DbError> {
        let shared = self.contest(id);
        let mut contest = shared.contest.lock().await;
        let known = self.fresh(db, id, &mut contest, commits).await?;
        let data = known.data.clone();
        shared.recent().data = Some((known.read_at, data.clone()));
        Ok(data)
    }

    /// The data of a contest a moment ago, if it is known.
    pub fn recent_data(&self, id: i64) -> Option<Arc<Data>> {
        let shared = self.contest(id);
        let recent = shared.recent();
        let (read_at, data) = recent.data.as_ref()?;
        (read_at.elapsed() < RECENT).then(|| data.clone())
    }

    /// The ranking of a moment ago, if it is known.
    pub fn recent(
        &self,
        id: i64,
        scope: &Scope,
        format: Format,
        reader: &Reader,
    ) -> Option<Arc<Rendered>> {
        let shared = self.contest(id);
        let mut recent = shared.recent();
        let (_, data) = recent.data.as_ref()?;
        let now = Time::now();
        let key = Key::new(data, scope, format, reader, now);
        let (read_at, until, page) = recent.pages.get(&key)?;
        let holds = read_at.elapsed() < RECENT && now < *until;
        holds.then(|| page.clone())
    }

    /// The ranking of a contest after a number of commits, for a scope and a reader. Only `render`
    /// determines the text of a format.
    ///
    /// # Errors
    /// The database cannot be read, or too many contests render.
    pub async fn get(
        &self,
        (db, commits): (&Db, u64),
        id: i64,
        scope: &Scope,
        format: Format,
        reader: &Reader,
        render: Render,
    ) -> Result<Arc<Rendered>, RankingError> {
        let shared = self.contest(id);
        let mut contest = shared.contest.lock().await;
        let known = self.fresh(db, id, &mut contest, commits).await?;
        let now = Time::now();
        if known.until <= now {
            known.pages.clear();
        }
        let key = Key::new(&known.data, scope, format, reader, now);
        if let Some(page) = known.pages.get(&key) {
            return Ok(page.clone());
        }
        known.until = known.data.next_change(now);
        let (data, scope) = (known.data.clone(), scope.clone());
        let begin = Instant::now();
        let reader = reader.clone();
        let rendering = self.rendering.run(Party::Contest(id), move || {
            Rendered::new(text::at_once(&reader, || render(&data, &scope, now)))
        });
        let page = rendering.await?;
        let page = Arc::new(page);
        known.spent += begin.elapsed();
        known.pages.insert(key.clone(), page.clone());
        let mut recent = shared.recent();
        recent.data = Some((known.read_at, known.data.clone()));
        let rendered = (known.read_at, known.until, page.clone());
        recent.pages.insert(key, rendered);
        Ok(page)
    }
}

#[cfg(test)]
mod histories;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::standings::Audience;
    use crate::db::tests::with_each;
    use std::sync::atomic::Ordering;

    fn scope(group: Option<&str>) -> Scope {
        Scope {
            audience: Audience::Public,
            rounds: Vec::new(),
            group: group.map(str::to_owned),
        }
    }

    fn render(data: &Data, scope: &Scope, _: Time) -> String {
        format!("{scope:?} {}", data.submissions.len())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn many_requests_share_one_reading() {
        let directory = tempfile::tempdir().unwrap();
        let db = Db::sqlite(&directory.path().join("site.db")).await.unwrap();
        db::migrate::migrate(&db).await.unwrap();
        let rankings = Arc::new(Rankings::default());
        // Other tests of this process commit at the same time, which makes the data stale.
        let before = *db::commits().borrow();
        let tasks: Vec<_> = (0..500)
            .map(|_| {
                let (db, rankings) = (db.clone(), rankings.clone());
                tokio::spawn(async move {
                    let (scope, reader) = (scope(None), text::reader());
                    let commits = *db::commits().borrow();
                    let page =
                        rankings.get((&db, commits), 1, &scope, Format::Html, &reader, render);
                    page.await.unwrap().etag.clone()
                })
            })
            .collect();
        let mut tags = Vec::new();
        for task in tasks {
            tags.push(task.await.unwrap());
        }
        tags.dedup();
        assert_eq!(tags.len(), 1);
        let commits = *db::commits().borrow() - before;
        let readings = rankings.readings.load(Ordering::Relaxed);
        assert!(
            readings <= 1 + commits,
            "{readings} readings, {commits} commits"
        );

        db.begin().await.unwrap().commit().await.unwrap();
        let (scope, reader) = (scope(Some("g")), text::reader());
        let commits = *db::commits().borrow();
        let page = rankings.get((&db, commits), 1, &scope, Format::Html, &reader, render);
        assert_ne!(page.await.unwrap().etag, tags[0]);
        assert!(rankings.readings.load(Ordering::Relaxed) > readings);
    }

    #[test]
    fn only_parts_with_changes_are_read_and_equal_data_is_not_rendered_again() {
        use crate::core::verdict::Verdict;
        use crate::db::tests::parts::{contest_with, judge_next};
        with_each(async |db| {
            let (contest, _) = contest_with(db, 300).await;
            let rankings = Rankings::default();
            let ask = async || {
                let (scope, reader) = (scope(None), text::reader());
                let commits = *db::commits().borrow();
                let page = rankings.get(
                    (db, commits),
                    contest,
                    &scope,
                    Format::Html,
                    &reader,
                    render,
                );
                let page = page.await.unwrap();
                let shared = rankings.contest(contest);
                let mut contest = shared.contest.lock().await;
                (page, std::mem::take(&mut contest.submissions.read))
            };
            let (first, read) = ask().await;
            assert_eq!(read, 300);
            db.begin().await.unwrap().commit().await.unwrap();
            let (second, read) = ask().await;
            assert!(read == 0 && Arc::ptr_eq(&first, &second));
            judge_next(db, Verdict::Accepted).await;
            let (third, read) = ask().await;
            assert!((1..=128).contains(&read), "{read}");
            assert!(!Arc::ptr_eq(&second, &third));
        });
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn announced_ranking_waits_for_no_change() {
        let directory = tempfile::tempdir().unwrap();
        let db = Db::sqlite(&directory.path().join("site.db")).await.unwrap();
        db::migrate::migrate(&db).await.unwrap();
        let rankings = Rankings::default();
        let reader = text::reader();
        let scope = scope(None);
        assert!(rankings.recent(1, &scope, Format::Html, &reader).is_none());
        let page = rankings.get((&db, 0), 1, &scope, Format::Html, &reader, render);
        let page = page.await.unwrap();
        db.begin().await.unwrap().commit().await.unwrap();
        let readings = rankings.readings.load(Ordering::Relaxed);
        let recent = rankings.recent(1, &scope, Format::Html, &reader).unwrap();
        assert!(Arc::ptr_eq(&recent, &page));
        assert!(rankings.recent(2, &scope, Format::Html, &reader).is_none());
        assert!(rankings.recent(1, &scope, Format::Json, &reader).is_none());
        assert_eq!(rankings.readings.load(Ordering::Relaxed), readings);
        tokio::time::sleep(RECENT).await;
        assert!(rankings.recent(1, &scope, Format::Html, &reader).is_none());
    }

    #[test]
    fn zones_share_a_ranking_until_it_is_frozen() {
        use crate::core::zone::Zone;
        use crate::db::contest::{RoundRules, rounds, update_rules};
        use crate::db::tests::parts::contest_with;
        with_each(async |db| {
            let (contest, _) = contest_with(db, 1).await;
            let rankings = Rankings::default();
            let render: Render = |data, _, _| {
                let zone = text::zone();
                let times = data.rounds.iter().map(|one| zone.local(one.freeze_at));
                format!("{:?}", times.collect::<Vec<_>>())
            };
            let ask = async |format, zone: &str| {
                let reader = Reader {
                    locale: text::current(),
                    zone: Zone::of_name(zone).unwrap(),
                };
                let (scope, commits) = (scope(None), *db::commits().borrow());
                let page = rankings.get((db, commits), contest, &scope, format, &reader, render);
                let page = page.await.unwrap();
                if let Some(recent) = rankings.recent(contest, &scope, format, &reader) {
                    assert_eq!(recent.text, page.text);
                }
                page
            };
            let berlin = ask(Format::Html, "Europe/Berlin").await;
            let tokyo = ask(Format::Html, "Asia/Tokyo").await;
            assert!(Arc::ptr_eq(&berlin, &tokyo));

            let mut tx = db.begin().await.unwrap();
            for round in rounds(&mut tx, contest).await.unwrap() {
                let rules = RoundRules {
                    freeze_at: Time::now().before(Duration::from_secs(60)),
                    ..round.rules()
                };
                update_rules(&mut tx, round.id, &rules).await.unwrap();
            }
            tx.commit().await.unwrap();
            let berlin = ask(Format::Html, "Europe/Berlin").await;
            let warsaw = ask(Format::Html, "Europe/Warsaw").await;
            let tokyo = ask(Format::Html, "Asia/Tokyo").await;
            assert!(Arc::ptr_eq(&berlin, &warsaw), "their clocks show the same");
            assert!(tokyo.text.contains("JST") && !berlin.text.contains("JST"));
            let first = ask(Format::Json, "Europe/Berlin").await;
            let second = ask(Format::Json, "Asia/Tokyo").await;
            assert!(Arc::ptr_eq(&first, &second));
        });
    }
}
