//! Runs of the executable `client`.

use crate::executable;

/// Runs the `client` executable and returns its output.
pub fn client<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> ClientOutput {
    let output = std::process::Command::new(executable("client"))
        .args(arguments)
        .output()
        .expect("the client");
    ClientOutput {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The output of a helper process.
#[derive(Debug)]
pub struct ClientOutput {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl ClientOutput {
    /// The value of the output line `key=value`. Panics if the line is missing.
    pub fn value(&self, key: &str) -> String {
        let line = self
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {key}= in {self:?}"))
            .to_owned()
    }
}
