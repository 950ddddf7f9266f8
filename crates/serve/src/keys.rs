//! `millibox serve fleet`: keys of a fleet's machines, and the rules of its message server.

use clap::Subcommand;
use millibox_cli_support::failure::{Failure, answer};
use millibox_fleet::connection::Credentials;
use millibox_fleet::name::WorkerName;
use millibox_fleet::rules::{self, User};
use millibox_fleet::service;
use millibox_fleet::subject::Permissions;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create keys of a fleet's machines, and rules for its NATS server
    #[command(subcommand)]
    Fleet(Action),
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Create a key, and print the file for --nats-creds
    Key {
        /// The name of the executor or front end: lower-case letters, digits and hyphens
        name: WorkerName,
    },
    /// Print rules for the configuration of nats-server
    ///
    /// With these rules, an executor receives only its own requests, and a front end only the
    /// responses to its own requests.
    Rules {
        /// The key of a front end; may be repeated
        #[arg(long, value_name = "FILE", required = true)]
        front: Vec<PathBuf>,
        /// The key of an executor; may be repeated
        #[arg(long, value_name = "FILE", required = true)]
        executor: Vec<PathBuf>,
    },
}

/// Runs the subcommand.
///
/// # Errors
/// A file cannot be used, or two files have the same name.
pub fn run(Command::Fleet(action): &Command) -> Result<(), Failure> {
    match action {
        Action::Key { name } => {
            let credentials = Credentials::new(name.clone()).map_err(Failure::sandbox)?;
            answer(credentials.file().trim_end())
        }
        Action::Rules { front, executor } => {
            let mut names = BTreeSet::new();
            let fronts = front.iter().map(|path| (path, service::of_front as Rights));
            let executors = executor
                .iter()
                .map(|path| (path, service::of_executor as Rights));
            let users = fronts.chain(executors);
            let users = users.map(|(path, rights)| user(path, rights, &mut names));
            let users: Vec<User> = users.collect::<Result<_, _>>()?;
            answer(rules::rules("millibox serve fleet rules", &users))
        }
    }
}

type Rights = fn(&WorkerName) -> Permissions;

fn user(path: &Path, rights: Rights, names: &mut BTreeSet<WorkerName>) -> Result<User, Failure> {
    let credentials = Credentials::read(path).map_err(Failure::option)?;
    let name = credentials.name();
    if !names.insert(name.clone()) {
        return Err(Failure::option(format!(
            "two keys have the name {name}; create one of them again with a different name"
        )));
    }
    Ok(User {
        name: name.to_string(),
        key: credentials.public_key().map_err(Failure::option)?,
        permissions: rights(name),
    })
}
