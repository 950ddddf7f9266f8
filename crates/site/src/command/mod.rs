//! Subcommands, which also work while the site runs.
//!
//! | file | content |
//! | --- | --- |
//! | `backup` | `backup` and `restore` |
//! | `fleet` | `fleet` |
//! | `postgres` | the programs `pg_dump` and `pg_restore` |
//! | `transfer` | `export` and `import` |
//! | `user` | `user` |

mod backup;
mod fleet;
mod postgres;
mod transfer;
mod user;

use crate::blobs::Blobs;
use crate::db::{Db, migrate};
use clap::Subcommand;
use millibox_cli_support::failure::Failure;
use std::fs::Permissions;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file of SQLite in the data directory.
pub const DATABASE: &str = "site.db";
/// The directory of blobs in the data directory.
pub const BLOBS: &str = "blobs";

/// Where a site keeps its data.
#[derive(Debug, Clone, clap::Args)]
pub struct Place {
    /// The directory for packages and, without --database, for the database
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Use this PostgreSQL database instead of a file in the data directory
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
}

/// The rights of users other than the owner and the group.
const OTHERS: u32 = 0o007;

/// Creates a data directory for its owner alone, or takes the rights of other users away. It
/// contains password hashes, secrets of one-time passwords, and tests.
///
/// # Errors
/// The directory cannot be created, or belongs to another user and is open to all.
pub fn close_to_others(directory: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::sandbox(format!("cannot create {}: {error}", directory.display()))
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(failed)?;
    let mode = directory.metadata().map_err(failed)?.mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let closed = Permissions::from_mode(mode & 0o7700);
    std::fs::set_permissions(directory, closed).map_err(|error| {
        Failure::option(format!(
            "all users of this machine can open {}, and its mode cannot be changed: {error}; run \
             chmod 700 {0} as its owner",
            directory.display()
        ))
    })?;
    let directory = directory.display();
    tracing::warn!(%directory, "other users had access to the data directory");
    Ok(())
}

impl Place {
    /// Opens the database and the blobs, and creates those that do not exist.
    ///
    /// # Errors
    /// They cannot be opened.
    pub async fn open(&self) -> Result<(Db, Blobs), Failure> {
        let directory = &self.data;
        close_to_others(directory)?;
        let blobs = Blobs::open(&directory.join(BLOBS)).map_err(Failure::sandbox)?;
        let db = match &self.database {
            Some(url) => Db::postgres(url).await,
            None => Db::sqlite(&directory.join(DATABASE)).await,
        };
        Ok((db.map_err(Failure::sandbox)?, blobs))
    }

    /// Whether the database has an older version than this program knows.
    ///
    /// # Errors
    /// The version cannot be read, or is newer.
    pub async fn needs_migration(&self, db: &Db) -> Result<bool, Failure> {
        let found = migrate::found(db).await.map_err(Failure::sandbox)?;
        Ok(found < migrate::known())
    }

    /// Migrates the database. A file of SQLite is copied before that.
    ///
    /// # Errors
    /// The database cannot be copied or migrated.
    pub async fn migrate(&self, db: &Db) -> Result<(), Failure> {
        let found = migrate::found(db).await.map_err(Failure::sandbox)?;
        if found != 0 && found < migrate::known() {
            self.copy_before_migration(db, found).await?;
        }
        migrate::migrate(db).await.map_err(Failure::sandbox)?;
        Ok(())
    }

    async fn copy_before_migration(&self, db: &Db, version: i64) -> Result<(), Failure> {
        let copy = self.data.join(format!("site.db.version-{version}"));
        let new = copy.with_extension("new");
        // An earlier start may have failed between these steps.
        let _ = std::fs::remove_file(&new);
        if db.copy_to(&new).await.map_err(Failure::sandbox)? {
            std::fs::rename(&new, &copy)
                .map_err(|error| Failure::sandbox(format!("{}: {error}", copy.display())))?;
            tracing::info!(copy = %copy.display(), "the database was copied before its migration");
        } else {
            tracing::info!(
                version,
                "the database will be migrated; a PostgreSQL database is not copied first"
            );
        }
        Ok(())
    }

    /// Opens a site that exists and has been started with this version.
    ///
    /// # Errors
    /// The site does not exist, needs a migration or cannot be opened.
    pub async fn existing(&self) -> Result<(Db, Blobs), Failure> {
        let has_database = self.database.is_some() || self.data.join(DATABASE).is_file();
        if !has_database || !self.data.join(BLOBS).is_dir() {
            return Err(Failure::option(format!(
                "{} has no site; name the directory of a site",
                self.data.display()
            )));
        }
        let (db, blobs) = self.open().await?;
        let found = migrate::found(&db).await.map_err(Failure::sandbox)?;
        if found < migrate::known() {
            return Err(Failure::option(format!(
                "the database has version {found} and this program needs {}; start the site once, \
                 which migrates it",
                migrate::known()
            )));
        }
        Ok((db, blobs))
    }
}

/// What to do instead of serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Copy a site, even a running one, to a new directory
    Backup(backup::Backup),
    /// Create a site from a backup; existing data is never overwritten
    Restore(backup::Restore),
    /// List users, add one, or change a password or a role
    User(user::Args),
    /// Add workers on other machines, and print the rules for the NATS server
    Fleet(fleet::Args),
    /// Write a contest with its problems, users and submissions to a file or to standard output
    Export(transfer::Export),
    /// Add a contest that another site has exported
    Import(transfer::Import),
}

/// Runs a subcommand.
///
/// # Errors
/// It fails.
pub async fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Backup(args) => backup::backup(args).await,
        Command::Restore(args) => backup::restore(args).await,
        Command::User(args) => user::run(args).await,
        Command::Fleet(args) => fleet::run(args).await,
        Command::Export(args) => transfer::export(args).await,
        Command::Import(args) => transfer::import(args).await,
    }?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::Time;
    use crate::db::session;
    use crate::db::user::{self, NewUser, Role};

    #[tokio::test]
    async fn file_is_copied_before_it_is_migrated() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place {
            data: directory.path().to_owned(),
            database: None,
        };
        let copy = directory.path().join("site.db.version-1");
        let (db, _) = place.open().await.unwrap();
        migrate::migrate_to(&db, 1).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        let new = NewUser {
            login: "ada",
            name: "Ada",
            password: "",
            role: Role::Admin,
        };
        let id = user::insert(&mut tx, &new, Time(1)).await.unwrap();
        session::insert(&mut tx, [1; 32], id, Time(1), Time(3))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        db.close().await;
        assert!(place.existing().await.is_err(), "it needs a migration");
        assert!(!copy.exists());

        let (db, _) = place.open().await.unwrap();
        place.migrate(&db).await.unwrap();
        let ada = user::by_login(&db, "ada").await.unwrap().unwrap();
        assert_eq!(ada.email, None);
        db.close().await;
        let old = Db::sqlite(&copy).await.unwrap();
        assert_eq!(migrate::found(&old).await.unwrap(), 1);
        old.close().await;
        std::fs::remove_file(&copy).unwrap();

        let (db, _) = place.open().await.unwrap();
        place.migrate(&db).await.unwrap();
        db.close().await;
        assert!(!copy.exists(), "it has the last version already");
        assert!(place.existing().await.is_ok());
    }

    #[test]
    fn command_line_definition_is_consistent() {
        use clap::CommandFactory;
        crate::Cli::command().debug_assert();
    }
}
