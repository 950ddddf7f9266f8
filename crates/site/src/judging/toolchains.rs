//! Which workers judge a language that is installed in different versions.

use crate::core::time::Time;
use crate::db::judgement::Waiting;
use crate::db::{Db, DbError, fleet_worker};
use crate::judging::languages::Language;
use millibox_fleet::class::Class;
use millibox_fleet::introduction::{Toolchain, usual};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long the versions of the workers are used without reading them again.
const KNOWN_TIME: Duration = Duration::from_secs(5);

/// Which versions of compilers and interpreters judge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Versions {
    /// Each; the page of the workers lists the differences
    #[default]
    Any,
    /// Only that of the site, or of most workers if the site does not judge itself
    Same,
}

/// The languages of a worker with their versions.
type Languages = HashMap<String, String>;

/// Decides which languages a worker judges.
#[derive(Debug, Default)]
pub struct Toolchains {
    versions: Versions,
    /// Those of the site, if it judges.
    own: Vec<Toolchain>,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    at: Instant,
    /// The version in which each language is judged.
    chosen: Languages,
    workers: HashMap<i64, Worker>,
}

#[derive(Debug)]
struct Worker {
    languages: Languages,
    takes_contests: bool,
}

impl Known {
    /// Whether a worker judges in a language, if the versions must be the same.
    fn accepts(&self, worker: &Worker, language: &str) -> bool {
        let version = worker.languages.get(language);
        version.is_some() && version == self.chosen.get(language)
    }
}

fn by_name(toolchains: &[Toolchain]) -> Languages {
    let pairs = toolchains.iter();
    let pairs = pairs.map(|one| (one.language.clone(), one.version.clone()));
    pairs.collect()
}

impl Toolchains {
    /// The rule of a site that judges in these languages itself, or does not judge.
    pub fn new(versions: Versions, own: &[Language]) -> Toolchains {
        let own = own.iter();
        let own = own.map(|language| Toolchain::new(&language.name, &language.version));
        Toolchains {
            versions,
            own: own.collect(),
            known: Mutex::default(),
        }
    }

    /// Whether all workers judge with the same versions.
    pub fn are_same(&self) -> bool {
        self.versions == Versions::Same
    }

    /// The languages of those that a worker offers in which it judges.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn accepted(
        &self,
        db: &Db,
        worker: i64,
        offered: &[String],
    ) -> Result<Vec<String>, DbError> {
        if !self.are_same() {
            return Ok(offered.to_vec());
        }
        let mut known = self.known.lock().await;
        let known = self.current(&mut known, db).await?;
        // A worker that has not introduced itself is unknown for some seconds.
        let Some(own) = known.workers.get(&worker) else {
            return Ok(Vec::new());
        };
        let offered = offered.iter();
        let accepted = offered.filter(|language| known.accepts(own, language));
        Ok(accepted.cloned().collect())
    }

    /// How many of these submissions to contests each worker on another machine judges. Workers
    /// that judge none are left out.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn judged_by(
        &self,
        db: &Db,
        waiting: &[Waiting],
    ) -> Result<HashMap<i64, i64>, DbError> {
        if waiting.is_empty() {
            return Ok(HashMap::new());
        }
        let mut known = self.known.lock().await;
        let known = self.current(&mut known, db).await?;
        let judges = |worker: &Worker, language: &str| match self.versions {
            Versions::Any => worker.languages.contains_key(language),
            Versions::Same => known.accepts(worker, language),
        };
        let workers = known.workers.iter();
        let workers = workers.filter(|(_, worker)| worker.takes_contests);
        let judged = workers.map(|(id, worker)| {
            let judged = waiting.iter();
            let judged = judged.filter(|waiting| judges(worker, &waiting.language));
            (*id, judged.map(|waiting| waiting.count).sum())
        });
        Ok(judged.filter(|(_, count)| *count > 0).collect())
    }

    async fn current<'a>(
        &self,
        known: &'a mut Option<Known>,
        db: &Db,
    ) -> Result<&'a Known, DbError> {
        let current = match known.take() {
            Some(current) if current.at.elapsed() < KNOWN_TIME => current,
            _ => self.read(db).await?,
        };
        Ok(known.insert(current))
    }

    async fn read(&self, db: &Db) -> Result<Known, DbError> {
        let (at, now) = (Instant::now(), Time::now());
        let workers = fleet_worker::all(db).await?;
        let all = fleet_worker::introductions(db).await?;
        let present = workers.iter().filter(|worker| worker.is_present(now));
        let present = present.filter_map(|worker| all.get(&worker.id));
        let mut chosen = Languages::new();
        for (language, version) in usual(present.map(|one| &one.toolchains[..])) {
            chosen.insert(language.to_owned(), version.to_owned());
        }
        chosen.extend(by_name(&self.own));
        let workers = all.iter();
        Ok(Known {
            at,
            chosen,
            workers: workers
                .map(|(id, one)| {
                    let worker = Worker {
                        languages: by_name(&one.toolchains),
                        takes_contests: one.classes.contains(&Class::Contest),
                    };
                    (*id, worker)
                })
                .collect(),
        })
    }
}
