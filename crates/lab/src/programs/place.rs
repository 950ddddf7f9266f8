//! The program `place`, which runs a command in given cgroups or in its own session.

use super::ProgramError;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Executes the command after `--` in the places that precede `--`. Each place is `session` or the
/// path of a `cgroup.procs`.
pub fn run(arguments: &[String]) -> Result<u8, ProgramError> {
    let mut parts = arguments.splitn(2, |argument| argument == "--");
    let (Some(places), Some([program, arguments @ ..])) = (parts.next(), parts.next()) else {
        return Err("place PLACE... -- COMMAND...".into());
    };
    for place in places {
        match place.as_str() {
            "session" => drop(rustix::process::setsid()?),
            path => std::fs::write(path, "0").map_err(|error| format!("{path}: {error}"))?,
        }
    }
    Err(Command::new(program).args(arguments).exec().into())
}
