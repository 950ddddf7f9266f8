//! `millibox site backup` and `millibox site restore`.
//!
//! A backup is a directory with a copy of the database, the blobs and a description. It receives
//! its name when it is complete. Blobs never change and are stored before a row refers to them. So
//! the blobs that exist before the database is copied and those that exist afterwards include all
//! blobs that the copy refers to.

use super::{BLOBS, DATABASE, Place, close_to_others, postgres};
use crate::blobs::is_digest;
use crate::core::time::Time;
use crate::core::token::hex;
use crate::db::{Db, schema};
use clap::Args;
use millibox_cli_support::failure::{Failure, say};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The description of a backup.
const DESCRIPTION: &str = "backup.json";
/// The database of a backup.
const COPY: &str = "database";
const FORMAT: &str = "millibox-site-backup";
const COPY_CHUNK_BYTES: usize = 64 << 10;

/// Options of `millibox site backup`.
#[derive(Debug, Args)]
pub struct Backup {
    #[command(flatten)]
    place: Place,
    /// The directory to create; it must not exist
    #[arg(value_name = "BACKUP")]
    to: PathBuf,
}

/// Options of `millibox site restore`.
#[derive(Debug, Args)]
pub struct Restore {
    #[command(flatten)]
    place: Place,
    /// A directory that `millibox site backup` has created
    #[arg(value_name = "BACKUP")]
    from: PathBuf,
}

/// What a backup contains.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    format: String,
    version: u32,
    created_at: String,
    /// The kind of the database.
    database: Kind,
    /// The SHA-256 of the copy of the database.
    sha256: String,
    blobs: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Sqlite,
    Postgres,
}

impl Place {
    fn kind(&self) -> Kind {
        match self.database {
            Some(_) => Kind::Postgres,
            None => Kind::Sqlite,
        }
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::sandbox(format!("{}: {error}", path.display()))
}

/// Copies a file, waits until it is on the disk, and returns its SHA-256.
fn copy(from: &Path, to: &Path) -> Result<String, Failure> {
    let mut source = File::open(from).map_err(failed(from))?;
    let mut target = File::create_new(to).map_err(failed(to))?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; COPY_CHUNK_BYTES];
    loop {
        let read = source.read(&mut chunk).map_err(failed(from))?;
        if read == 0 {
            break;
        }
        hash.update(&chunk[..read]);
        target.write_all(&chunk[..read]).map_err(failed(to))?;
    }
    target.sync_all().map_err(failed(to))?;
    Ok(hex(&hash.finalize()))
}

/// Copies the blobs that the other directory lacks. Returns their number.
fn copy_blobs(from: &Path, to: &Path) -> Result<u64, Failure> {
    let mut copied = 0;
    for entry in std::fs::read_dir(from).map_err(failed(from))? {
        let entry = entry.map_err(failed(from))?;
        let name = entry.file_name();
        // Files that are being written have other names.
        let digest = name.to_str().filter(|name| is_digest(name));
        let Some(digest) = digest else { continue };
        let target = to.join(digest);
        if target.exists() {
            continue;
        }
        let copied_digest = match copy(&entry.path(), &target) {
            // The site has removed it in the meantime, because no row refers to it.
            Err(_) if !entry.path().exists() => continue,
            copied => copied?,
        };
        if copied_digest != digest {
            return Err(Failure::sandbox(format!(
                "{}: the content does not have the SHA-256 that is its name; the file is damaged",
                entry.path().display()
            )));
        }
        copied += 1;
    }
    Ok(copied)
}

/// Copies a site.
///
/// # Errors
/// The target exists, or a file cannot be copied.
pub async fn backup(args: &Backup) -> Result<(), Failure> {
    let to = &args.to;
    if to.exists() {
        return Err(Failure::option(format!(
            "{} exists; name a new directory",
            to.display()
        )));
    }
    let (db, _) = args.place.existing().await?;
    let parent = match to.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // After a failure, the value is dropped, which removes the directory.
    let partial = tempfile::Builder::new()
        .prefix(".millibox-backup-")
        .tempdir_in(parent)
        .map_err(failed(parent))?;
    let (from, blobs) = (args.place.data.join(BLOBS), partial.path().join(BLOBS));
    std::fs::create_dir(&blobs).map_err(failed(&blobs))?;
    let mut count = copy_blobs(&from, &blobs)?;
    let sha256 = copy_database(&args.place, &db, &partial.path().join(COPY)).await?;
    db.close().await;
    count += copy_blobs(&from, &blobs)?;
    let description = Description {
        format: FORMAT.to_owned(),
        version: 1,
        created_at: Time::now().rfc3339().unwrap_or_default(),
        database: args.place.kind(),
        sha256,
        blobs: count,
    };
    let path = partial.path().join(DESCRIPTION);
    let text = serde_json::to_string_pretty(&description).unwrap_or_default() + "\n";
    let mut file = File::create_new(&path).map_err(failed(&path))?;
    file.write_all(text.as_bytes()).map_err(failed(&path))?;
    file.sync_all().map_err(failed(&path))?;
    for directory in [&blobs, partial.path()] {
        let opened = File::open(directory).map_err(failed(directory))?;
        opened.sync_all().map_err(failed(directory))?;
    }
    let partial = partial.keep();
    std::fs::rename(&partial, to).map_err(failed(to))?;
    let opened = File::open(parent).map_err(failed(parent))?;
    opened.sync_all().map_err(failed(parent))?;
    say(format!(
        "the backup {} has the database and {count} files",
        to.display()
    ))
}

/// Copies the database. Returns the digest of the copy.
async fn copy_database(place: &Place, db: &Db, to: &Path) -> Result<String, Failure> {
    match &place.database {
        Some(address) => postgres::dump(address, to)?,
        None => {
            db.copy_to(to).await.map_err(Failure::sandbox)?;
        }
    }
    digest(to)
}

fn digest(path: &Path) -> Result<String, Failure> {
    let mut hash = Sha256::new();
    let mut file = File::open(path).map_err(failed(path))?;
    let mut chunk = vec![0; COPY_CHUNK_BYTES];
    loop {
        let read = file.read(&mut chunk).map_err(failed(path))?;
        if read == 0 {
            break;
        }
        hash.update(&chunk[..read]);
    }
    file.sync_all().map_err(failed(path))?;
    Ok(hex(&hash.finalize()))
}

fn describe(from: &Path) -> Result<Description, Failure> {
    let path = from.join(DESCRIPTION);
    let text = std::fs::read_to_string(&path).map_err(failed(&path))?;
    let description: Description = serde_json::from_str(&text)
        .map_err(|error| Failure::option(format!("{}: {error}", path.display())))?;
    if description.format != FORMAT || description.version != 1 {
        return Err(Failure::option(format!(
            "{} is not a backup that this version can read",
            from.display()
        )));
    }
    Ok(description)
}

/// Creates a site from a backup.
///
/// # Errors
/// The backup is damaged, a site exists already, or a file cannot be copied.
pub async fn restore(args: &Restore) -> Result<(), Failure> {
    let (from, place) = (&args.from, &args.place);
    let description = describe(from)?;
    if description.database != place.kind() {
        return Err(Failure::option(match place.kind() {
            Kind::Sqlite => "this is a backup of PostgreSQL; name an empty one with --database",
            Kind::Postgres => "this is a backup of SQLite; leave --database out",
        }));
    }
    if digest(&from.join(COPY))? != description.sha256 {
        return Err(Failure::sandbox(format!(
            "{}: the copy of the database is damaged",
            from.display()
        )));
    }
    let (database, blobs) = (place.data.join(DATABASE), place.data.join(BLOBS));
    let has_blobs = std::fs::read_dir(&blobs).is_ok_and(|mut files| files.next().is_some());
    if database.exists() || has_blobs {
        return Err(Failure::option(format!(
            "{} has a site already; name a new directory",
            place.data.display()
        )));
    }
    if let Some(address) = &place.database {
        let db = Db::postgres(address).await.map_err(Failure::sandbox)?;
        let mut tx = db.begin().await.map_err(Failure::sandbox)?;
        if !schema::is_empty(&mut tx).await.map_err(Failure::sandbox)? {
            return Err(Failure::option(
                "the database has tables already; name an empty one",
            ));
        }
        drop(tx);
        db.close().await;
    }
    close_to_others(&place.data)?;
    std::fs::create_dir_all(&blobs).map_err(failed(&blobs))?;
    let count = copy_blobs(&from.join(BLOBS), &blobs)?;
    if count < description.blobs {
        return Err(Failure::sandbox(format!(
            "{}: {} files are missing",
            from.display(),
            description.blobs - count
        )));
    }
    match &place.database {
        Some(address) => postgres::restore(address, &from.join(COPY))?,
        None => {
            let partial = database.with_extension("restored");
            let _ = std::fs::remove_file(&partial);
            copy(&from.join(COPY), &partial)?;
            std::fs::rename(&partial, &database).map_err(failed(&database))?;
        }
    }
    say(format!(
        "restored the site of {} with {count} files",
        description.created_at
    ))
}
