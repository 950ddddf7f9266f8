//! `--seccomp`: a profile's name, a policy in TOML, or a compiled BPF program.

use crate::failure::Failure;
use millibox::World;
use millibox_seccomp::{Policy, profile, profile_names};
use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt;

/// More than any policy or program has.
const LONGEST: u64 = 1 << 20;

/// The world with the system calls that `--seccomp` says.
pub fn choose(world: World, which: &OsStr) -> Result<World, Failure> {
    let named = |why: &dyn std::fmt::Display| {
        Failure::option(format!("--seccomp {}: {why}", which.display()))
    };
    if which == "none" {
        return Ok(world.without_seccomp());
    }
    if which == "default" {
        return Ok(world.default_seccomp());
    }
    if let Some(policy) = which.to_str().and_then(profile) {
        return world.seccomp(&policy).map_err(|error| named(&error));
    }
    let content = read(which).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let names: Vec<_> = profile_names().chain(["none"]).collect();
            named(&format!(
                "there is no such file, nor a profile of this name (those there are: {})",
                names.join(", ")
            ))
        }
        _ => named(&error),
    })?;
    match as_text(&content) {
        Some(text) => {
            let policy: Policy = text.parse().map_err(|error| named(&error))?;
            world.seccomp(&policy)
        }
        None => world.seccomp_program(&content),
    }
    .map_err(|error| named(&error))
}

/// A file, or what somebody writes to a pipe: `<(COMMAND)` of a shell. Whoever writes to a FIFO is
/// waited for.
fn read(path: &OsStr) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    // Before it is opened, for that does something to some devices, or waits for them.
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(std::io::Error::other(
            "it is neither a regular file nor a pipe",
        ));
    }
    let mut content = Vec::new();
    std::fs::File::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut content)?;
    if content.len() as u64 > LONGEST {
        // What comes behind is not to be left out.
        return Err(std::io::Error::other(format!(
            "it has more than {} MiB; no policy is so long",
            LONGEST >> 20
        )));
    }
    Ok(content)
}

/// A policy is text. A program is not: each of its instructions has bytes that are 0, such
/// as the upper half of its code.
fn as_text(content: &[u8]) -> Option<&str> {
    if content.contains(&0) {
        None
    } else {
        std::str::from_utf8(content).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn with_file(content: &[u8]) -> Result<World, Failure> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        choose(World::minimal(), file.path().as_os_str())
    }

    #[test]
    fn names_policies_and_programs_are_told_apart() {
        for name in ["default", "strict", "none"] {
            choose(World::minimal(), OsStr::new(name)).unwrap();
        }
        let policy = "name = 'p'\ndescription = 'p'\ndefault = 'allow'\n";
        with_file(policy.as_bytes()).unwrap();
        let policy: Policy = policy.parse().unwrap();
        let program = millibox_seccomp::compile(&policy, millibox_seccomp::Arch::native()).unwrap();
        with_file(&program.as_bytes()).unwrap();
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = choose(World::minimal(), OsStr::new("defualt")).unwrap_err();
        assert!(
            error.message.starts_with("--seccomp defualt: ") && error.message.contains("strict"),
            "{error}"
        );
        for content in [&b"name ="[..], b"\0\0\0", b"\xff\xfe", b""] {
            let error = with_file(content).unwrap_err();
            assert!(error.message.starts_with("--seccomp "), "{error}");
        }
    }
}
