//! `--seccomp`: a profile's name, a policy in TOML, or a compiled BPF program.

use crate::failure::Failure;
use millibox::World;
use millibox_seccomp::{Policy, profile, profile_names};
use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt;

/// The largest size of a policy or program.
const MAX_POLICY_BYTES: u64 = 1 << 20;

/// Adds the seccomp program that `--seccomp` names to the world.
pub fn choose(world: World, value: &OsStr) -> Result<World, Failure> {
    let named = |why: &dyn std::fmt::Display| {
        Failure::option(format!("--seccomp {}: {why}", value.display()))
    };
    if value == "none" {
        return Ok(world.without_seccomp());
    }
    if value == "default" {
        return Ok(world.default_seccomp());
    }
    if let Some(policy) = value.to_str().and_then(profile) {
        return world.seccomp(&policy).map_err(|error| named(&error));
    }
    let content = read(value).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let names: Vec<_> = profile_names().chain(["none"]).collect();
            named(&format!(
                "there is neither a file nor a profile of this name (the profiles are {})",
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

/// Reads a file or a pipe, such as `<(COMMAND)` of a shell. Waits for the writer of a FIFO.
fn read(path: &OsStr) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    // This is checked before the file is opened: opening some devices has a side effect or blocks.
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(std::io::Error::other(
            "it is neither a regular file nor a pipe",
        ));
    }
    let mut content = Vec::new();
    std::fs::File::open(path)?
        .take(MAX_POLICY_BYTES + 1)
        .read_to_end(&mut content)?;
    if content.len() as u64 > MAX_POLICY_BYTES {
        // A truncated policy must not be used.
        return Err(std::io::Error::other(format!(
            "it is longer than {} MiB, the limit for policies",
            MAX_POLICY_BYTES >> 20
        )));
    }
    Ok(content)
}

/// The content as the text of a policy. A compiled program is not text: each of its instructions
/// has zero bytes, such as the upper half of its code.
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
    fn seccomp_accepts_names_policies_and_programs() {
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
    fn seccomp_with_bad_value_names_the_option() {
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
