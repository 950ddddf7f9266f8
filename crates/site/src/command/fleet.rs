//! `millibox site fleet`.

use super::Place;
use crate::core::time::Time;
use crate::db::fleet_worker::{self, FleetWorker};
use crate::db::{Db, DbError, setting};
use clap::Subcommand;
use millibox_cli_support::failure::{Failure, answer};
use millibox_fleet::introduction::Introduction;
use millibox_fleet::name::WorkerName;
use millibox_fleet::rules::{self, User};
use millibox_fleet::subject;
use millibox_worker::connection::Credentials;

/// The name of the site's key. No worker may have it.
const SITE: &str = "site";

/// Options of `millibox site fleet`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a worker, and print the file with its key
    ///
    /// The site keeps only the public part of the key. Afterwards, print the rules again and reload
    /// the NATS server.
    Add {
        /// The name: lower-case letters, digits and hyphens
        name: WorkerName,
    },
    /// Let a worker that was disabled judge again
    Enable {
        /// The name
        name: WorkerName,
    },
    /// Give no more judgements to a worker, and accept no more results
    Disable {
        /// The name
        name: WorkerName,
    },
    /// List all workers
    List,
    /// Create a new key for the site, and print the file for --nats-creds
    Site,
    /// Print rules for the configuration of nats-server
    ///
    /// With these rules, each worker can send requests only under its own name, and receive only
    /// its own replies.
    Rules,
}

/// Runs the subcommand.
///
/// # Errors
/// The site does not exist, the name is taken or unknown, or the database fails.
pub async fn run(args: &Args) -> Result<(), Failure> {
    let (db, _) = args.place.existing().await?;
    let result = act(&db, &args.action).await;
    db.close().await;
    result
}

async fn act(db: &Db, action: &Action) -> Result<(), Failure> {
    match action {
        Action::Add { name } => add(db, name).await,
        Action::Enable { name } => set_enabled(db, name, true).await,
        Action::Disable { name } => set_enabled(db, name, false).await,
        Action::List => list(db).await,
        Action::Site => site(db).await,
        Action::Rules => print_rules(db).await,
    }
}

async fn add(db: &Db, name: &WorkerName) -> Result<(), Failure> {
    if name.as_str() == SITE {
        return Err(Failure::option("the name site belongs to the site itself"));
    }
    let credentials = Credentials::new(name.clone()).map_err(Failure::sandbox)?;
    let key = credentials.public_key().map_err(Failure::sandbox)?;
    let mut tx = db.begin().await.map_err(Failure::sandbox)?;
    let added = fleet_worker::insert(&mut tx, name.as_str(), &key, Time::now()).await;
    added.map_err(|error: DbError| match error.is_duplicate() {
        true => Failure::option(format!("the name {name} is taken")),
        false => Failure::sandbox(error),
    })?;
    tx.commit().await.map_err(Failure::sandbox)?;
    answer(credentials.file().trim_end())
}

async fn set_enabled(db: &Db, name: &WorkerName, enabled: bool) -> Result<(), Failure> {
    let mut tx = db.begin().await.map_err(Failure::sandbox)?;
    let worker = fleet_worker::by_name(&mut tx, name.as_str()).await;
    let Some(worker) = worker.map_err(Failure::sandbox)? else {
        return Err(Failure::option(format!("there is no worker named {name}")));
    };
    if enabled {
        let enabled = fleet_worker::enable(&mut tx, worker.id, Time::now()).await;
        enabled.map_err(Failure::sandbox)?;
    } else {
        // The worker notices at its next request that it has lost its leases.
        let disabled = fleet_worker::disable(&mut tx, worker.id).await;
        disabled.map_err(Failure::sandbox)?;
    }
    tx.commit().await.map_err(Failure::sandbox)
}

async fn list(db: &Db) -> Result<(), Failure> {
    let workers = fleet_worker::all(db).await.map_err(Failure::sandbox)?;
    let introductions = fleet_worker::introductions(db).await;
    let introductions = introductions.map_err(Failure::sandbox)?;
    for worker in workers {
        answer(line(&worker, introductions.get(&worker.id)))?;
    }
    Ok(())
}

fn line(worker: &FleetWorker, introduction: Option<&Introduction>) -> String {
    let state = match (worker.enabled, worker.probation_at) {
        (false, _) => "disabled",
        (true, None) => "enabled",
        (true, Some(_)) => "on probation",
    };
    let seen = worker.seen_at.and_then(Time::rfc3339);
    let seen = seen.as_deref().unwrap_or("never seen");
    let machine = introduction.map_or(String::new(), |it| {
        format!("{}\t{} slots", it.version, it.slots)
    });
    format!(
        "{}\t{state}\t{seen}\t{}\t{machine}",
        worker.name, worker.public_key
    )
}

async fn site(db: &Db) -> Result<(), Failure> {
    let name: WorkerName = SITE.parse().map_err(Failure::sandbox)?;
    let credentials = Credentials::new(name).map_err(Failure::sandbox)?;
    let key = credentials.public_key().map_err(Failure::sandbox)?;
    let mut tx = db.begin().await.map_err(Failure::sandbox)?;
    let stored = setting::set(&mut tx, setting::FLEET_KEY, &key).await;
    stored.map_err(Failure::sandbox)?;
    tx.commit().await.map_err(Failure::sandbox)?;
    answer(credentials.file().trim_end())
}

async fn print_rules(db: &Db) -> Result<(), Failure> {
    let key = setting::get(db, setting::FLEET_KEY).await;
    let Some(key) = key.map_err(Failure::sandbox)? else {
        return Err(Failure::option(
            "the site has no key; create it with `millibox site fleet site`",
        ));
    };
    let workers = fleet_worker::all(db).await.map_err(Failure::sandbox)?;
    let enabled = workers.iter().filter(|worker| worker.enabled);
    let mut users = vec![User {
        name: SITE.to_owned(),
        key,
        permissions: subject::of_site(),
    }];
    for worker in enabled {
        // Names were checked before they were stored.
        let name: WorkerName = worker.name.parse().map_err(Failure::sandbox)?;
        users.push(User {
            permissions: subject::of_worker(&name),
            name: worker.name.clone(),
            key: worker.public_key.clone(),
        });
    }
    answer(rules::rules("millibox site fleet rules", &users))
}
