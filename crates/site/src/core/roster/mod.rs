//! Lists of users and teams in the formats that schools and contests use.
//!
//! | format | content |
//! | --- | --- |
//! | CSV, TSV | a line with the names of the columns, then one line for each user, team or group |
//! | `accounts.tsv` | the line `accounts 1`, then type, name, login, password |
//! | `teams.tsv` | `teams 1` or `File_Version 2`, then id, ICPC id, group, name, organization, ... |
//! | `groups.tsv` | the line `groups 1` or `File_Version 1`, then id and name |
//! | JSON | an array of objects with the names of the columns, as in the Contest API |
//!
//! A file is read line by line. A line that is not accepted is reported with a reason, and the
//! other lines are read. Columns that are not read are named.

mod columns;
mod encoding;
mod table;
mod teams;

pub use encoding::{EncodingError, decode};
pub use teams::{MAX_TEAM_NAME, Team};

use super::account::{self, AccountError};
use crate::db::user::Role;
use millibox_package::Cause;
use std::collections::HashSet;
use table::Record;

/// The maximum number of lines or objects of one file.
pub const MAX_LINES: usize = 10_000;
/// The maximum size of all files together, in bytes.
pub const MAX_BYTES: usize = 768 << 10;
/// The maximum number of passwords in one list. Each costs 30 ms of CPU time.
pub const MAX_PASSWORDS: usize = 2_000;

/// A file of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// Teams.
    Teams,
    /// Groups of teams.
    Groups,
    /// Organizations of teams.
    Organizations,
    /// Users.
    Accounts,
}

impl File {
    /// All files in the order in which forms have them.
    pub const ALL: [File; 4] = [
        File::Groups,
        File::Organizations,
        File::Teams,
        File::Accounts,
    ];

    /// The name of the field in forms.
    pub fn field(self) -> &'static str {
        match self {
            File::Teams => "teams",
            File::Groups => "groups",
            File::Organizations => "organizations",
            File::Accounts => "accounts",
        }
    }
}

/// Where an import adds users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The site. It has no teams.
    Site,
    /// A contest, with its teams.
    Contest,
}

/// A line of a file, by its number. In JSON this is the number of the object.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<T> {
    /// The number, from 1 on.
    pub number: usize,
    /// The content, or why the line is refused.
    pub found: Result<T, LineError>,
}

/// Why a line is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// The line has too few or too many fields, or is not an object.
    #[error("the line is malformed")]
    Malformed,
    /// A field of an account is not accepted.
    #[error(transparent)]
    Field(#[from] AccountError),
    /// A role is unknown.
    #[error("the role {0:?} is unknown; use user, teacher or admin")]
    Role(String),
    /// A login or a number occurs twice.
    #[error("{0} is already in the list")]
    Twice(String),
    /// A number is empty, too long, or contains a space.
    #[error("the ID must have 1 to 64 characters and no spaces")]
    Id,
    /// The name of a team, a group or an organization is empty or too long.
    #[error("a name must have 1 to 128 characters")]
    TeamName,
    /// The group of a team is in no list.
    #[error("the group {0} is not in the list of groups")]
    Group(String),
    /// The organization of a team is in no list.
    #[error("the organization {0} is not in the list of organizations")]
    Organization(String),
    /// A class consists of users without rights.
    #[error("a class cannot give the role {}", .0.text())]
    ClassRole(Role),
    /// The teacher may not change the user with this login.
    #[error("the user {0} is not a pupil of this teacher")]
    NoPupil(String),
    /// The team of an account does not exist.
    #[error("the team {0} is neither in the list of teams nor in the contest")]
    Team(String),
}

/// Why a file is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A table has no column with the login or the number.
    #[error("line {line} has no column named {}", accepted.join(", "))]
    Format {
        /// The line with the names of the columns.
        line: usize,
        /// The names that it has.
        found: Vec<String>,
        /// The names that the column may have.
        accepted: Vec<&'static str>,
    },
    /// The file is no text.
    #[error("the file is not text: {0:?}")]
    Encoding(EncodingError),
    /// The version in the first line is unknown.
    #[error("the version {0:?} is unknown")]
    Version(String),
    /// The list has no lines, or too many.
    #[error("a list must have 1 to 10000 lines")]
    Size,
    /// The files are too large.
    #[error("the files can have at most 768 KiB")]
    Bytes,
    /// The list has too many passwords.
    #[error("a list can have at most 2000 passwords")]
    Passwords,
    /// JSON is malformed.
    #[error("JSON: {0}")]
    Json(Cause<serde_json::Error>),
}

/// A file that is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", file.field())]
pub struct RosterError {
    /// The file.
    pub file: File,
    /// The reason.
    pub why: FileError,
}

/// The content of the files of an import.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Roster {
    /// The teams.
    pub teams: Vec<Line<Team>>,
    /// The users.
    pub accounts: Vec<Line<Entry>>,
    /// Lines of groups and organizations that are refused.
    pub refused: Vec<(File, usize, LineError)>,
    /// The columns of files that are not read.
    pub unused: Vec<Unused>,
}

/// The columns of a file that are not read.
#[derive(Debug, PartialEq, Eq)]
pub struct Unused {
    /// The file.
    pub file: File,
    /// The names of these columns in the file.
    pub names: Vec<String>,
    /// The names of the columns that are read.
    pub read: Vec<&'static str>,
}

/// A user of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The login.
    pub login: String,
    /// The name of the person.
    pub name: Option<String>,
    /// The e-mail address.
    pub email: Option<String>,
    /// The role.
    pub role: Option<Role>,
    /// The password; the user chooses one if it is absent.
    pub password: Option<String>,
    /// The number of the user's team.
    pub team: Option<String>,
}

impl Entry {
    /// The name that the user gets. Without one, an earlier name stays, and a new user is called by
    /// the login.
    pub fn name_after<'a>(&'a self, earlier: Option<&'a str>) -> &'a str {
        self.name.as_deref().or(earlier).unwrap_or(&self.login)
    }

    /// The role that the user gets: the higher of the listed and the earlier one. A list of teams
    /// or of a class does not take rights away from the teachers and administrators in it.
    pub fn role_after(&self, earlier: Option<Role>) -> Role {
        let listed = self.role.unwrap_or(Role::User);
        earlier.map_or(listed, |earlier| listed.higher(earlier))
    }
}

/// Reads the files of an import. `text` returns that of a file; empty if it is absent.
///
/// # Errors
/// A file is not accepted as a whole. Refused lines are not errors.
pub fn read<'a>(scope: Scope, text: impl Fn(File) -> &'a str) -> Result<Roster, RosterError> {
    let refuse = |file| move |why| RosterError { file, why };
    let of_all = refuse(File::Accounts);
    if File::ALL.map(|file| text(file).len()).iter().sum::<usize>() > MAX_BYTES {
        return Err(of_all(FileError::Bytes));
    }
    let mut roster = Roster::default();
    let mut unused = Vec::new();
    let mut lines = |file| {
        let content = table::content(file, text(file), scope).map_err(refuse(file))?;
        if !content.unused.is_empty() {
            let columns = table::columns(file, scope).iter();
            unused.push(Unused {
                file,
                names: content.unused,
                read: columns.map(|column| column.keys[0]).collect(),
            });
        }
        Ok(content.lines)
    };
    let (groups, refused) = teams::index(lines(File::Groups)?, &["name"]);
    let of = |file| move |(number, error)| (file, number, error);
    roster
        .refused
        .extend(refused.into_iter().map(of(File::Groups)));
    let names = ["formal_name", "name"];
    let (organizations, refused) = teams::index(lines(File::Organizations)?, &names);
    roster
        .refused
        .extend(refused.into_iter().map(of(File::Organizations)));
    roster.teams = teams::teams(lines(File::Teams)?, &groups, &organizations);
    roster.accounts = accounts(lines(File::Accounts)?);
    roster.unused = unused;
    let is_secret = |line: &&Line<Entry>| {
        line.found
            .as_ref()
            .is_ok_and(|entry| entry.password.is_some())
    };
    if roster.accounts.iter().filter(is_secret).count() > MAX_PASSWORDS {
        return Err(of_all(FileError::Passwords));
    }
    if roster.teams.is_empty() && roster.accounts.is_empty() {
        return Err(of_all(FileError::Size));
    }
    Ok(roster)
}

fn accounts(records: Vec<Line<Record>>) -> Vec<Line<Entry>> {
    let mut logins = HashSet::new();
    let entries = records.into_iter().map(|line| {
        let entry = |record| {
            let entry = account(&record)?;
            if logins.insert(entry.login.to_lowercase()) {
                Ok(entry)
            } else {
                Err(LineError::Twice(entry.login))
            }
        };
        Line {
            number: line.number,
            found: line.found.and_then(entry),
        }
    });
    entries.collect()
}

fn account(record: &Record) -> Result<Entry, LineError> {
    let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.trim().is_empty());
    let login = record.text(&["login", "username", "id"]).trim().to_owned();
    account::check_login(&login)?;
    let name = filled(&person_name(record));
    if let Some(name) = &name {
        account::check_name(name)?;
    }
    let email = filled(record.text(&["email"]).trim());
    if let Some(email) = &email {
        account::check_email(email)?;
    }
    let password = filled(record.text(&["password"]));
    if let Some(password) = &password {
        account::check_password(password)?;
        // A quotation mark without its partner joins lines, and no person can type such a password.
        if password.contains(char::is_control) {
            return Err(LineError::Malformed);
        }
    }
    let listed = record.text(&["role", "type"]).trim().to_lowercase();
    let role = match listed.as_str() {
        // The names of the Contest API and of DOMjudge follow those of this site.
        "" => None,
        "user" | "team" | "contestant" | "analyst" | "staff" => Some(Role::User),
        "teacher" | "judge" | "jury" => Some(Role::Teacher),
        "admin" => Some(Role::Admin),
        _ => return Err(LineError::Role(listed)),
    };
    let team = filled(record.text(&["team_id", "team"]).trim());
    // The login of a team's account contains the team's number, such as team007.
    let team = team.or_else(|| number(&login).filter(|_| listed == "team"));
    // PostgreSQL stores no NUL.
    if let Some(team) = team.as_ref().filter(|team| team.contains(char::is_control)) {
        return Err(LineError::Team(team.clone()));
    }
    Ok(Entry {
        login,
        name,
        email,
        role,
        password,
        team,
    })
}

/// The name of a person, which may be in two columns.
fn person_name(record: &Record) -> String {
    let part = |key: &str| unprotected(record.text(&[key])).trim();
    match part("name") {
        "" => {
            let name = format!("{} {}", part("given_name"), part("family_name"));
            name.trim().to_owned()
        }
        name => name.to_owned(),
    }
}

/// The first number in a login.
fn number(login: &str) -> Option<String> {
    let start = login.find(|c: char| c.is_ascii_digit())?;
    let digits = login[start..].split(|c: char| !c.is_ascii_digit()).next()?;
    match digits.trim_start_matches('0') {
        "" => None,
        digits => Some(digits.to_owned()),
    }
}

/// Text for a cell of a table. Spreadsheets execute cells that look like formulas, so such cells
/// begin with an apostrophe, which an import removes.
pub fn protected(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return format!("'{text}");
    }
    text.to_owned()
}

fn unprotected(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if rest.starts_with(['=', '+', '-', '@']) => rest,
        _ => text,
    }
}

/// Rows as CSV.
pub fn csv<'a>(rows: impl IntoIterator<Item = Vec<&'a str>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        // Writing to memory does not fail.
        let _ = writer.write_record(row.into_iter().map(protected));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
