//! Asks an executable for its version, to explain why it cannot serve this library.

use crate::process::{Process, read_text};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The word that a supervisor prints before its version.
const NAME: &str = "millibox-supervisor ";
/// The time within which an executable must have printed its version.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The number of bytes that are read. A supervisor prints fewer.
const MAX_BYTES: usize = 128;

/// The version of a supervisor's executable. `None` if it does not print a version as a supervisor
/// does, or not in time.
pub fn of_executable(path: &Path) -> Option<String> {
    let mut child = Command::new(path)
        .arg("--version")
        .current_dir("/")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take();
    let mut process = Process::watch(child, path.to_owned()).ok()?;
    let text = stdout.map(|stdout| read_text(stdout.into(), TIMEOUT, MAX_BYTES));
    process.kill();
    process.wait_for_end();
    of_text(&text?)
}

fn of_text(text: &str) -> Option<String> {
    let version = text.lines().next()?.strip_prefix(NAME)?;
    let has_digit = version.starts_with(|c: char| c.is_ascii_digit());
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    (has_digit && version.chars().all(is_part)).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_only_from_the_text_of_a_supervisor() {
        for (text, version) in [
            ("millibox-supervisor 0.2.0\n", Some("0.2.0")),
            ("millibox-supervisor 1.0.0-rc.1\nmore", Some("1.0.0-rc.1")),
            ("millibox 0.2.0\n", None),
            ("millibox-supervisor \n", None),
            ("millibox-supervisor is not found\n", None),
            ("millibox-supervisor 1\x1b[2J\n", None),
            ("", None),
        ] {
            assert_eq!(of_text(text).as_deref(), version, "{text:?}");
        }
    }

    #[test]
    fn other_executables_have_no_version() {
        for path in ["/bin/true", "/bin/ls", "/no/such/file"] {
            assert_eq!(of_executable(Path::new(path)), None, "{path}");
        }
    }
}
