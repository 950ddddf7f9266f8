//! isolate, which runs programs in a numbered box that is made once.

use super::{Ready, quiet, tried};
use crate::{Error, Lab};
use std::path::Path;
use std::process::Command;

/// A number that a judge on this machine will hardly use.
const BOX: &str = "--box-id=917";

/// The box goes with this.
struct Made {
    path: std::path::PathBuf,
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = quiet(Command::new(&self.path).args([BOX, "--cleanup"]));
    }
}

/// Makes the box.
pub fn prepare(_lab: &Lab, path: &Path) -> Result<Ready, Error> {
    quiet(Command::new(path).args([BOX, "--init"]))?;
    let made = Made { path: path.to_owned() };
    let make = move || {
        let mut command = Command::new(&made.path);
        command.env_clear().args([BOX, "--silent", "--mem=262144", "--processes=16", "--time=10", "--wall-time=10"]);
        command.args(["--run", "--", "/bin/true"]);
        command
    };
    tried(
        make,
        "PID, mount, IPC and network namespace anew, binds read-only, its box writable, resource limits of single \
         processes, run as a user of its own, from version 2.4 a seccomp program (no control groups); the box is made \
         before",
    )
}
