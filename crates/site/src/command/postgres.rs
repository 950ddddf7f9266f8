//! The programs of PostgreSQL that copy a database.

use millibox_cli_support::failure::Failure;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use url::Url;

/// A command for the database at an address. The password is in its environment, because all users
/// of the machine can read the arguments of a process.
fn command(program: &str, address: &str) -> Result<Command, Failure> {
    let malformed = |error| Failure::option(format!("the address of the database: {error}"));
    let mut url = Url::parse(address).map_err(malformed)?;
    let mut password = url.password().map(str::to_owned);
    // The address has a user if it has a password.
    let _ = url.set_password(None);
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    url.set_query(None);
    for (name, value) in &pairs {
        if name == "password" {
            password = Some(value.clone());
        } else {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    let mut command = Command::new(program);
    command.arg("--dbname").arg(url.as_str());
    if let Some(password) = password {
        let decoded = percent_encoding::percent_decode_str(&password);
        command.env("PGPASSWORD", decoded.decode_utf8_lossy().into_owned());
    }
    command
        .args(["--no-owner", "--no-privileges"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    Ok(command)
}

fn run(program: &str, mut command: Command) -> Result<(), Failure> {
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::sandbox(format!(
            "{program} does not exist; install the client programs of PostgreSQL"
        )),
        _ => Failure::sandbox(format!("cannot execute {program}: {error}")),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Failure::sandbox(format!(
        "{program} has failed: {}",
        message.trim()
    )))
}

/// Writes the database to a new file.
///
/// # Errors
/// `pg_dump` does not exist or fails.
pub fn dump(address: &str, file: &Path) -> Result<(), Failure> {
    let mut command = command("pg_dump", address)?;
    command.args(["--format", "custom", "--file"]).arg(file);
    run("pg_dump", command)
}

/// Fills an empty database from a file.
///
/// # Errors
/// `pg_restore` does not exist or fails. The database is then still empty.
pub fn restore(address: &str, file: &Path) -> Result<(), Failure> {
    let mut command = command("pg_restore", address)?;
    command
        .args(["--single-transaction", "--exit-on-error"])
        .arg(file);
    run("pg_restore", command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn password_is_no_argument() {
        for address in [
            "postgres://ada:a%20secret@db/site?sslmode=require",
            "postgres://ada@db/site?sslmode=require&password=a%20secret",
        ] {
            let command = command("pg_dump", address).unwrap();
            let arguments: Vec<&OsStr> = command.get_args().collect();
            assert_eq!(
                arguments[1], "postgres://ada@db/site?sslmode=require",
                "{arguments:?}"
            );
            let password = command
                .get_envs()
                .find(|(name, _)| *name == "PGPASSWORD")
                .and_then(|(_, value)| value);
            assert_eq!(password, Some(OsStr::new("a secret")), "{address}");
        }
    }
}
