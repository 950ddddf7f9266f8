//! isolate, which runs programs in a numbered box. The lab creates the box once.

use super::{PreparedPeer, quiet, tried};
use crate::{Error, Lab};
use std::path::Path;
use std::process::Command;

/// The argument with the box number. A judge on this machine is unlikely to use this number.
const BOX_ID_ARGUMENT: &str = "--box-id=917";

/// The box, which is removed on drop.
struct IsolateBox {
    path: std::path::PathBuf,
}

impl Drop for IsolateBox {
    fn drop(&mut self) {
        let _ = quiet(Command::new(&self.path).args([BOX_ID_ARGUMENT, "--cleanup"]));
    }
}

/// Creates the box.
pub fn prepare(_lab: &Lab, path: &Path) -> Result<PreparedPeer, Error> {
    quiet(Command::new(path).args([BOX_ID_ARGUMENT, "--init"]))?;
    let sandbox_box = IsolateBox {
        path: path.to_owned(),
    };
    let make = move || {
        let mut command = Command::new(&sandbox_box.path);
        command.env_clear().args([
            BOX_ID_ARGUMENT,
            "--silent",
            "--mem=262144",
            "--processes=16",
            "--time=10",
            "--wall-time=10",
        ]);
        command.args(["--run", "--", "/bin/true"]);
        command
    };
    tried(
        make,
        "PID, mount, IPC and network namespaces fresh, binds read-only, its box writable, resource \
         limits of single processes, run as its own user, from version 2.4 a seccomp program \
         (no control groups); the box is created beforehand",
    )
}
