//! Reads a contest from a stream.
//!
//! Packages are read again, so that pages show and serve only what this site has found in them.
//! Names of files are checked. Results are taken as they are.
//!
//! The stream is read and checked as a whole before the transaction begins, because a running site
//! cannot write during the transaction. Until then, the data for rows is kept in a file.

use super::{Cell, FORMAT, Line, LineFault, StoredFault, TransferError, VERSION};
use crate::blobs::{Blobs, NewBlob};
use crate::core::account;
use crate::core::contest_file;
use crate::core::package::{self, Manifest};
use crate::core::party::Party;
use crate::core::password::Passwords;
use crate::core::source::safe_name;
use crate::core::time::Time;
use crate::core::token::Token;
use crate::core::work::Work;
use crate::db::problem;
use crate::db::schema::{self, Fields};
use crate::db::transfer::{TABLES, Table, Target};
use crate::db::user::{self, NewUser, Role};
use crate::db::{Db, Tx, Value};
use crate::jobs;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, Write};

/// The maximum length of a line, in bytes. A submission's protocol may have several megabytes.
const MAX_LINE: u64 = 64 << 20;

/// The result of an import.
#[derive(Debug, Clone, Copy)]
pub struct Imported {
    /// The id of the contest.
    pub contest: i64,
    /// The number of added users.
    pub users: u64,
    /// The number of rows in all tables.
    pub rows: u64,
}

/// Adds a contest in one transaction. `owner` owns the problems and the contest in addition to the
/// users of the stream.
///
/// # Errors
/// The stream is malformed or incomplete, or the database fails. In that case, nothing has changed.
pub async fn import(
    db: &Db,
    blobs: &Blobs,
    passwords: &Passwords,
    from: &mut impl BufRead,
) -> Result<Imported, TransferError> {
    // Users of streams without passwords receive a random one that no person knows.
    let unknown = passwords.hash(Party::Site, &Token::random().hex()).await?;
    let mut reader = Reader {
        blobs,
        spool: BufWriter::new(blobs.scratch()?),
        manifests: HashMap::new(),
        packages: BTreeSet::new(),
        open: None,
        rows: 0,
    };
    reader.read(from)?;
    let rows = reader.rows;
    let manifests = reader.manifests;
    let mut spool = reader
        .spool
        .into_inner()
        .map_err(|error| error.into_error())?;
    spool.rewind()?;
    let mut importer = Importer {
        tx: db.begin().await?,
        unknown,
        ids: HashMap::new(),
        columns: schema::Columns::default(),
        manifests,
        uncompiled: BTreeSet::new(),
        users: 0,
    };
    for line in BufReader::new(spool).lines() {
        let line = line?;
        // The reader has written a number, a space and the line.
        let (number, line) = line.split_once(' ').unwrap_or_default();
        let number = number.parse().unwrap_or_default();
        let line = serde_json::from_str(line).map_err(|error| wrong(number, error))?;
        importer.take(number, line).await?;
    }
    let contests = importer.ids.get(&Target::Contest);
    let contest = contests.and_then(|ids| ids.values().next().copied());
    let contest = contest.ok_or_else(|| wrong(0, LineFault::NoContest))?;
    importer.compile_statements().await?;
    let users = importer.users;
    importer.tx.commit().await?;
    Ok(Imported {
        contest,
        users,
        rows,
    })
}

fn wrong(line: u64, why: impl Into<LineFault>) -> TransferError {
    let why = why.into();
    TransferError::Line { line, why }
}

struct Lines<'a, R> {
    from: &'a mut R,
    number: u64,
}

impl<R: BufRead> Lines<'_, R> {
    fn next(&mut self) -> Result<Vec<u8>, TransferError> {
        let mut bytes = Vec::new();
        (&mut *self.from)
            .take(MAX_LINE)
            .read_until(b'\n', &mut bytes)?;
        self.number += 1;
        if bytes.last() != Some(&b'\n') {
            return Err(wrong(self.number, LineFault::EndsEarly));
        }
        Ok(bytes)
    }
}

/// Reads the stream without the database.
struct Reader<'a> {
    blobs: &'a Blobs,
    /// The lines with users and rows.
    spool: BufWriter<File>,
    /// The manifests of the packages of versions, by digest.
    manifests: HashMap<String, String>,
    /// Packages that were read.
    packages: BTreeSet<String>,
    /// The package whose parts are being read.
    open: Option<(String, NewBlob)>,
    rows: u64,
}

impl Reader<'_> {
    fn read(&mut self, from: &mut impl BufRead) -> Result<(), TransferError> {
        let mut lines = Lines { from, number: 0 };
        let mut is_first = true;
        loop {
            let bytes = lines.next()?;
            let number = lines.number;
            let line: Line =
                serde_json::from_slice(&bytes).map_err(|error| wrong(number, error))?;
            match (is_first, line) {
                (true, Line::Header { format, version })
                    if format == FORMAT && version == VERSION =>
                {
                    is_first = false;
                }
                (true, _) => {
                    return Err(wrong(number, LineFault::Format));
                }
                (false, Line::Header { .. }) => return Err(wrong(number, LineFault::SecondHeader)),
                (false, Line::End { rows }) => {
                    if rows != self.rows || self.open.is_some() {
                        return Err(wrong(number, LineFault::Incomplete));
                    }
                    return Ok(());
                }
                (false, Line::Package { sha256, base64 }) => {
                    self.package(number, &sha256, &base64)?;
                }
                (false, Line::User { .. }) => self.keep(number, &bytes)?,
                (false, Line::Row { table, columns }) => {
                    self.check(number, &table, &columns)?;
                    self.rows += 1;
                    self.keep(number, &bytes)?;
                }
            }
        }
    }

    fn keep(&mut self, number: u64, line: &[u8]) -> Result<(), TransferError> {
        write!(self.spool, "{number} ")?;
        self.spool.write_all(line)?;
        Ok(())
    }

    /// Rejects harmful rows.
    fn check(
        &mut self,
        number: u64,
        table: &str,
        columns: &BTreeMap<String, Cell>,
    ) -> Result<(), TransferError> {
        if !TABLES.iter().any(|known| known.name == table) {
            return Err(wrong(number, LineFault::UnknownTable(table.to_owned())));
        }
        let text = |column: &str| match columns.get(column) {
            Some(Cell::Text(text)) => Ok(text),
            _ => Err(wrong(number, LineFault::NoText(column.to_owned()))),
        };
        match table {
            "package_version" => {
                let digest = text("digest")?;
                if !self.packages.contains(digest) {
                    return Err(wrong(number, LineFault::NoPackage(digest.clone())));
                }
                if !self.manifests.contains_key(digest) {
                    let archive = self.blobs.path(digest);
                    let manifest = package::read(&archive, "package.zip", self.blobs);
                    let manifest = manifest.map_err(|error| TransferError::Package {
                        sha256: digest.clone(),
                        why: error.into(),
                    })?;
                    self.manifests.insert(digest.clone(), manifest.json());
                }
            }
            "contest_file" => {
                let digest = text("digest")?;
                if !self.packages.contains(digest) {
                    return Err(wrong(number, LineFault::NoFile(digest.clone())));
                }
                let name = text("name")?;
                let is_plain = contest_file::file_name(name).as_deref() == Some(name);
                if !is_plain {
                    return Err(wrong(number, LineFault::FileName));
                }
            }
            "source" => {
                let name = text("file_name")?;
                safe_name(name).ok_or_else(|| wrong(number, LineFault::FileName))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Accepts a part of a package. The empty part completes it.
    fn package(&mut self, number: u64, sha256: &str, part: &str) -> Result<(), TransferError> {
        let failed = |why: StoredFault| TransferError::Package {
            sha256: sha256.to_owned(),
            why,
        };
        let part = STANDARD
            .decode(part)
            .map_err(|error| wrong(number, error))?;
        let blob = match self.open.take() {
            Some((digest, blob)) if digest == sha256 => blob,
            Some(_) => return Err(wrong(number, LineFault::OpenPackage)),
            None => self.blobs.begin().map_err(|error| failed(error.into()))?,
        };
        let mut blob = blob;
        if part.is_empty() {
            let stored = blob.finish().map_err(|error| failed(error.into()))?;
            if stored != sha256 {
                return Err(failed(StoredFault::Damaged));
            }
            self.packages.insert(stored);
            return Ok(());
        }
        blob.write(&part).map_err(|error| failed(error.into()))?;
        self.open = Some((sha256.to_owned(), blob));
        Ok(())
    }
}

/// Adds the rows in one transaction.
struct Importer {
    tx: Tx,
    /// The hash of a random password that no person knows.
    unknown: String,
    /// The new ids of rows by their ids in the stream.
    ids: HashMap<Target, HashMap<i64, i64>>,
    columns: schema::Columns,
    /// The manifests of the packages of versions, by digest.
    manifests: HashMap<String, String>,
    /// New ids of problems with statements that have no PDF.
    uncompiled: BTreeSet<i64>,
    users: u64,
}

impl Importer {
    async fn take(&mut self, number: u64, line: Line) -> Result<(), TransferError> {
        match line {
            Line::User {
                id,
                login,
                name,
                email,
                password,
            } => {
                let password = password.as_deref();
                self.person(number, id, &login, &name, email.as_deref(), password)
                    .await
            }
            Line::Row { table, columns } => self.row(number, &table, columns).await,
            Line::Package { .. } | Line::Header { .. } | Line::End { .. } => Ok(()),
        }
    }

    /// Adds jobs that create PDFs of statements, because those of the other site are not trusted.
    async fn compile_statements(&mut self) -> Result<(), TransferError> {
        for id in std::mem::take(&mut self.uncompiled) {
            if let Some(problem) = problem::by_id(&mut self.tx, id).await? {
                let work = Work::CompileStatements { problem: id };
                jobs::insert(&mut self.tx, &work, problem.owner_id).await?;
            }
        }
        Ok(())
    }

    /// Finds a user by the login, or adds one without special rights.
    async fn person(
        &mut self,
        number: u64,
        id: i64,
        login: &str,
        name: &str,
        email: Option<&str>,
        password: Option<&str>,
    ) -> Result<(), TransferError> {
        let checks = [
            account::check_login(login),
            account::check_name(name),
            email.map_or(Ok(()), account::check_email),
        ];
        for check in checks {
            check.map_err(|error| wrong(number, error))?;
        }
        let found = user::by_login(&mut self.tx, login).await?;
        let new = match found {
            Some(user) => user.id,
            None => {
                let password = password.unwrap_or(&self.unknown);
                if !password.starts_with("$argon2id$") {
                    return Err(wrong(number, LineFault::Password));
                }
                let new = NewUser {
                    login,
                    name,
                    password,
                    role: Role::User,
                };
                let id = user::insert(&mut self.tx, &new, Time::now()).await?;
                user::set_profile(&mut self.tx, id, name, email).await?;
                self.users += 1;
                id
            }
        };
        self.ids.entry(Target::User).or_default().insert(id, new);
        Ok(())
    }

    async fn row(
        &mut self,
        number: u64,
        name: &str,
        columns: BTreeMap<String, Cell>,
    ) -> Result<(), TransferError> {
        let table = TABLES.iter().find(|table| table.name == name);
        let table = table.ok_or_else(|| wrong(number, LineFault::UnknownTable(name.to_owned())))?;
        let mut row = Fields::new();
        let mut old = None;
        for (column, cell) in columns {
            let value = cell.value().map_err(|error| wrong(number, error))?;
            if table.has_id && column == "id" {
                old = Some(value);
            } else {
                let value = self.refer(number, table, &column, value)?;
                row.push((column, value));
            }
        }
        self.replace(table, &mut row);
        let id = self
            .columns
            .insert(&mut self.tx, table.name, row, table.has_id)
            .await?;
        if let (Some(target), Some(Value::Integer(Some(old))), Some(id)) = (table.is, old, id) {
            self.ids.entry(target).or_default().insert(old, id);
        }
        Ok(())
    }

    /// The value of a column. If it refers to a row, this is the new id of the row.
    fn refer(
        &self,
        number: u64,
        table: &Table,
        column: &str,
        value: Value,
    ) -> Result<Value, TransferError> {
        let mut references = table.references.iter();
        let Some((_, target)) = references.find(|(name, _)| *name == column) else {
            return Ok(value);
        };
        let Value::Integer(Some(old)) = value else {
            return Err(wrong(number, LineFault::NotANumber(column.to_owned())));
        };
        let new = self.ids.get(target).and_then(|ids| ids.get(&old));
        let missing = || {
            let column = column.to_owned();
            wrong(number, LineFault::NoRow { column, id: old })
        };
        new.copied().map(Value::from).ok_or_else(missing)
    }

    /// Replaces values that belong to the other site.
    fn replace(&mut self, table: &Table, row: &mut Fields) {
        let text = |row: &Fields, column: &str| {
            row.iter().find_map(|(name, value)| match value {
                Value::Text(Some(text)) if name == column => Some(text.clone()),
                _ => None,
            })
        };
        match table.name {
            "package_version" => {
                let digest = text(row, "digest").unwrap_or_default();
                let manifest = self.manifests.get(&digest).cloned().unwrap_or_default();
                let problem = row.iter().find_map(|(name, value)| match value {
                    Value::Integer(Some(id)) if name == "problem_id" => Some(*id),
                    _ => None,
                });
                if !Manifest::of_json(&manifest).sources.is_empty() {
                    self.uncompiled.extend(problem);
                }
                row.retain(|(name, _)| name != "manifest");
                row.push(("manifest".to_owned(), manifest.into()));
            }
            // The lease of a worker of the other site has no meaning here.
            "judgement" if text(row, "state").as_deref() == Some("running") => {
                row.retain(|(name, _)| name != "state" && name != "lease_until");
                row.push(("state".to_owned(), "queued".into()));
            }
            _ => {}
        }
    }
}
