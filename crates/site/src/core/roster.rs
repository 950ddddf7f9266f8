//! Lists of users in the formats that schools and contests have.
//!
//! | format | content |
//! | --- | --- |
//! | CSV, TSV | a line with the names of the columns, then one line for each user |
//! | `accounts.tsv` | DOMjudge's: the line `accounts 1`, then type, name, login, password |
//! | JSON | an array of objects with the same names as the columns |
//!
//! Columns are `login` (or `username`, `id`), `name`, `email`, `role` (or `type`) and `password`.

use super::account::{self, AccountError};
use crate::db::user::Role;
use serde::Deserialize;
use std::collections::HashSet;

/// Users in one list.
pub const MAX_USERS: usize = 10_000;

/// A user of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The login.
    pub login: String,
    /// The name of the person.
    pub name: String,
    /// The e-mail address.
    pub email: Option<String>,
    /// The role.
    pub role: Role,
    /// The password; generated if it is absent.
    pub password: Option<String>,
}

/// Why a list is not accepted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RosterError {
    /// The text has no format that is known.
    #[error("The list is neither CSV, TSV nor JSON with a column named login.")]
    Format,
    /// The list has no users, or too many.
    #[error("A list has 1 to 10000 users.")]
    Size,
    /// JSON is malformed.
    #[error("JSON: {0}")]
    Json(String),
    /// A line of a table is malformed.
    #[error("Entry {0}: the line is malformed.")]
    Line(usize),
    /// A field is not accepted.
    #[error("Entry {0}: {1}")]
    Field(usize, AccountError),
    /// A role is unknown.
    #[error("Entry {0}: the role {1:?} is unknown; use user, teacher or admin.")]
    Role(usize, String),
    /// A login is listed twice.
    #[error("Entry {0}: the login {1} is in the list already.")]
    Twice(usize, String),
}

/// The fields of an entry as a format has them.
#[derive(Debug, Default, Deserialize)]
struct Raw {
    #[serde(alias = "username", alias = "id")]
    login: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: Option<String>,
    #[serde(default, alias = "type")]
    role: String,
    #[serde(default)]
    password: Option<String>,
}

/// Reads a list in any of the formats.
///
/// # Errors
/// The list or one of its entries is not accepted.
pub fn read(text: &str) -> Result<Vec<Entry>, RosterError> {
    // A tab at the end of a line separates an empty field.
    let text = text.trim_start_matches(['\u{feff}', '\n', '\r', ' ']);
    let raw = if text.starts_with('[') {
        serde_json::from_str(text).map_err(|error| RosterError::Json(error.to_string()))?
    } else if let Some(rest) = text.strip_prefix("accounts") {
        accounts(rest)?
    } else {
        table(text)?
    };
    if raw.is_empty() || raw.len() > MAX_USERS {
        return Err(RosterError::Size);
    }
    let mut logins = HashSet::new();
    let mut entries = Vec::new();
    for (number, one) in (1..).zip(raw) {
        let entry = check(number, one)?;
        if !logins.insert(entry.login.to_lowercase()) {
            return Err(RosterError::Twice(number, entry.login));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn check(number: usize, raw: Raw) -> Result<Entry, RosterError> {
    let field = |error| RosterError::Field(number, error);
    let login = raw.login.trim().to_owned();
    account::check_login(&login).map_err(field)?;
    let name = match unprotected(&raw.name).trim() {
        "" => login.clone(),
        name => name.to_owned(),
    };
    account::check_name(&name).map_err(field)?;
    let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let email = filled(raw.email).map(|email| email.trim().to_owned());
    if let Some(email) = &email {
        account::check_email(email).map_err(field)?;
    }
    let password = filled(raw.password);
    if let Some(password) = &password {
        account::check_password(password).map_err(field)?;
    }
    let role = match raw.role.trim().to_lowercase().as_str() {
        // The names of DOMjudge follow those of this site.
        "" | "user" | "team" | "contestant" => Role::User,
        "teacher" | "judge" | "jury" => Role::Teacher,
        "admin" => Role::Admin,
        _ => return Err(RosterError::Role(number, raw.role)),
    };
    Ok(Entry {
        login,
        name,
        email,
        role,
        password,
    })
}

/// The lines after the first one of `accounts.tsv`.
fn accounts(text: &str) -> Result<Vec<Raw>, RosterError> {
    let lines = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let entry = |(number, line): (usize, &str)| {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            [role, name, login, password, ..] => Ok(Raw {
                login: login.to_owned(),
                name: name.to_owned(),
                email: None,
                role: role.to_owned(),
                password: Some(password.to_owned()),
            }),
            _ => Err(RosterError::Line(number)),
        }
    };
    (1..).zip(lines).map(entry).collect()
}

fn table(text: &str) -> Result<Vec<Raw>, RosterError> {
    let first = text.lines().next().unwrap_or_default();
    let separator = [b'\t', b';', b','];
    let separator = separator
        .into_iter()
        .find(|byte| first.as_bytes().contains(byte))
        .unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .trim(csv::Trim::Headers)
        .from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|_| RosterError::Format)?;
    let headers: csv::StringRecord = headers.iter().map(str::to_lowercase).collect();
    if !["login", "username", "id"]
        .iter()
        .any(|name| headers.iter().any(|header| header == *name))
    {
        return Err(RosterError::Format);
    }
    let entry = |(number, record): (usize, csv::Result<csv::StringRecord>)| {
        let record = record.map_err(|_| RosterError::Line(number))?;
        let entry = record.deserialize(Some(&headers));
        entry.map_err(|_| RosterError::Line(number))
    };
    (1..).zip(reader.records()).map(entry).collect()
}

/// Text for a cell of a table. Spreadsheets execute cells that begin as formulas, so those begin
/// with an apostrophe, which [`read`] removes.
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
mod tests {
    use super::*;

    fn entry(login: &str, name: &str, role: Role, password: Option<&str>) -> Entry {
        Entry {
            login: login.to_owned(),
            name: name.to_owned(),
            email: None,
            role,
            password: password.map(str::to_owned),
        }
    }

    #[test]
    fn lists_are_read_in_each_format() {
        let expected = vec![
            entry("bob", "Bob, B.", Role::User, Some("battery staple")),
            entry("eve", "eve", Role::Teacher, None),
        ];
        for text in [
            "login,name,role,password\nbob,\"Bob, B.\",user,battery staple\neve,,teacher,\n",
            "\u{feff}Login;Name;Role;Password\r\nbob;Bob, B.;;battery staple\r\neve;;teacher;\r\n",
            "password\tusername\tname\trole\nbattery staple\tbob\tBob, B.\tuser\n\teve\t\tjury",
            "accounts\t1\nteam\tBob, B.\tbob\tbattery staple\njudge\t\teve\t\n",
            r#"[{"login": "bob", "name": "Bob, B.", "password": "battery staple"},
                {"username": "eve", "type": "teacher"}]"#,
        ] {
            assert_eq!(read(text).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn mistakes_name_their_entries() {
        use RosterError::{Field, Format, Line, Size, Twice};
        let table = [
            ("", Format),
            ("name\nbob", Format),
            ("login\n", Size),
            ("login\nbob\na b", Field(2, AccountError::Login)),
            ("login,email\nbob,nowhere", Field(1, AccountError::Email)),
            (
                "login,password\nbob,short",
                Field(1, AccountError::Password),
            ),
            ("login\nbob\nBOB", Twice(2, "BOB".to_owned())),
            ("login,name\nbob", Line(1)),
            (
                "login,role\nbob,root",
                RosterError::Role(1, "root".to_owned()),
            ),
            ("accounts\t1\nteam\tbob", Line(1)),
        ];
        for (text, error) in table {
            assert_eq!(read(text), Err(error), "{text:?}");
        }
        assert!(matches!(read("[{]"), Err(RosterError::Json(_))));
    }

    #[test]
    fn cells_are_no_formulas_and_survive_a_round_trip() {
        let text = csv([vec!["login", "name"], vec!["bob", "=1+1,\"x\""]]);
        assert_eq!(text, "login,name\nbob,\"'=1+1,\"\"x\"\"\"\n");
        assert_eq!(read(&text).unwrap()[0].name, "=1+1,\"x\"");
    }
}
