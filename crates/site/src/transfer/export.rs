//! Writes a contest as a stream.

use super::{Cell, FORMAT, Line, PART_BYTES, TransferError, VERSION};
use crate::blobs::Blobs;
use crate::db::transfer::{self, TABLES};
use crate::db::{Db, Tx, Value, contest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeSet;
use std::io::{Read, Write};

/// Writes a contest with its problems, users and submissions. The memory use does not depend on the
/// size of the contest.
///
/// # Errors
/// The contest does not exist, or the database, a package or the stream fails.
pub async fn export(
    db: &Db,
    blobs: &Blobs,
    contest: i64,
    with_passwords: bool,
    to: &mut impl Write,
) -> Result<u64, TransferError> {
    let mut tx = db.snapshot().await?;
    if contest::by_id(&mut tx, contest).await?.is_none() {
        return Err(TransferError::NoContest(contest));
    }
    let header = Line::Header {
        format: FORMAT.to_owned(),
        version: VERSION,
    };
    write(to, &header)?;
    people(&mut tx, contest, with_passwords, to).await?;
    let mut rows = 0;
    let mut written = BTreeSet::new();
    for table in TABLES {
        let mut after = i64::MIN;
        while let Some((page, last)) = transfer::rows(&mut tx, table, contest, after).await? {
            after = last;
            for row in page {
                for (name, value) in &row {
                    let Value::Text(Some(digest)) = value else {
                        continue;
                    };
                    if name == "digest" && written.insert(digest.clone()) {
                        package(blobs, digest, to)?;
                    }
                }
                let cells = row.into_iter();
                let cells = cells.filter_map(|(name, value)| Some((name, Cell::of(value)?)));
                let line = Line::Row {
                    table: table.name.to_owned(),
                    columns: cells.collect(),
                };
                write(to, &line)?;
                rows += 1;
            }
        }
    }
    write(to, &Line::End { rows })?;
    to.flush()?;
    Ok(rows)
}

fn write(to: &mut impl Write, line: &Line) -> Result<(), TransferError> {
    serde_json::to_writer(&mut *to, line).map_err(std::io::Error::from)?;
    to.write_all(b"\n")?;
    Ok(())
}

async fn people(
    tx: &mut Tx,
    contest: i64,
    with_passwords: bool,
    to: &mut impl Write,
) -> Result<(), TransferError> {
    let mut after = i64::MIN;
    loop {
        let page = transfer::people(tx, contest, after).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.id;
        for one in page {
            let line = Line::User {
                id: one.id,
                login: one.login,
                name: one.name,
                email: one.email,
                password: with_passwords.then_some(one.password),
            };
            write(to, &line)?;
        }
    }
}

/// Writes a package in parts.
fn package(blobs: &Blobs, digest: &str, to: &mut impl Write) -> Result<(), TransferError> {
    let mut file = std::fs::File::open(blobs.path(digest))?;
    loop {
        let mut part = Vec::with_capacity(PART_BYTES);
        let limit = u64::try_from(PART_BYTES).unwrap_or(u64::MAX);
        (&mut file).take(limit).read_to_end(&mut part)?;
        let line = Line::Package {
            sha256: digest.to_owned(),
            base64: STANDARD.encode(&part),
        };
        write(to, &line)?;
        if part.is_empty() {
            return Ok(());
        }
    }
}
