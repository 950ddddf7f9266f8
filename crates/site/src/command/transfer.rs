//! `millibox site export` and `millibox site import`.

use super::Place;
use crate::core::password::Passwords;
use crate::transfer;
use millibox_cli_support::failure::{Failure, say, unwritten};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Options of `millibox site export`.
#[derive(Debug, clap::Args)]
pub struct Export {
    #[command(flatten)]
    place: Place,
    /// The number of the contest, as in its address
    #[arg(value_name = "CONTEST")]
    contest: i64,
    /// The file to create; `-` is standard output
    #[arg(value_name = "FILE")]
    to: PathBuf,
    /// Also export the hashes of passwords, so that users keep them
    #[arg(long)]
    with_passwords: bool,
}

/// Options of `millibox site import`.
#[derive(Debug, clap::Args)]
pub struct Import {
    #[command(flatten)]
    place: Place,
    /// The file that `millibox site export` has created; `-` is standard input
    ///
    /// Users whose logins exist here are matched to the existing users. All others are added as
    /// users without additional rights. Results are taken from the file as they are, so import only
    /// files from sites that you trust.
    #[arg(value_name = "FILE")]
    from: PathBuf,
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::sandbox(format!("{}: {error}", path.display()))
}

/// Writes a contest.
///
/// # Errors
/// The contest does not exist, or the stream cannot be written.
pub async fn export(args: &Export) -> Result<(), Failure> {
    let (db, blobs) = args.place.existing().await?;
    let (contest, passwords, to) = (args.contest, args.with_passwords, &args.to);
    if to == Path::new("-") {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let result = transfer::export::export(&db, &blobs, contest, passwords, &mut out).await;
        result.map_err(Failure::sandbox)?;
        out.flush().map_err(unwritten)?;
        db.close().await;
        return Ok(());
    }
    let file = File::create_new(to).map_err(failed(to))?;
    let mut out = BufWriter::new(file);
    let result = transfer::export::export(&db, &blobs, contest, passwords, &mut out).await;
    db.close().await;
    let synced = result.map_err(Failure::sandbox).and_then(|rows| {
        let file = out.into_inner().map_err(|error| error.into_error());
        file.and_then(|file| file.sync_all()).map_err(failed(to))?;
        Ok(rows)
    });
    match synced {
        Ok(rows) => say(format!("{} has {rows} rows", to.display())),
        Err(failure) => {
            let _ = std::fs::remove_file(to);
            Err(failure)
        }
    }
}

/// Reads a contest.
///
/// # Errors
/// The stream is malformed, or the database fails.
pub async fn import(args: &Import) -> Result<(), Failure> {
    let (db, blobs) = args.place.existing().await?;
    let passwords = Passwords::new(1).map_err(Failure::sandbox)?;
    let imported = if args.from == Path::new("-") {
        let mut from = BufReader::new(std::io::stdin());
        transfer::import::import(&db, &blobs, &passwords, &mut from).await
    } else {
        let file = File::open(&args.from).map_err(failed(&args.from))?;
        transfer::import::import(&db, &blobs, &passwords, &mut BufReader::new(file)).await
    };
    let imported = imported.map_err(Failure::sandbox)?;
    db.close().await;
    say(format!(
        "added the contest /contests/{} with {} rows and {} new users",
        imported.contest, imported.rows, imported.users
    ))
}
