//! The built-in policies.

use crate::policy::Policy;

const PROFILES: &[(&str, &str)] = &[
    ("default", include_str!("../profiles/default.toml")),
    ("strict", include_str!("../profiles/strict.toml")),
];

/// The built-in policy `name`, or `None` if no built-in policy has this name.
///
/// Each call parses the policy. Keep the compiled program to avoid repeated work.
///
/// ```
/// use millibox_seccomp::{Arch, compile, profile};
///
/// let policy = profile("strict").expect("a built-in policy");
/// let program = compile(&policy, Arch::native())?;
/// # Ok::<(), millibox_seccomp::ValidateError>(())
/// ```
pub fn profile(name: &str) -> Option<Policy> {
    let (_, text) = PROFILES.iter().find(|(known, _)| *known == name)?;
    Some(text.parse().expect("the tests parse every profile"))
}

/// Like [`profile`], but for a program with a loopback interface.
///
/// The `default` profile then also allows AF_INET and AF_INET6 sockets. Other profiles are
/// unchanged.
pub fn profile_with_loopback(name: &str) -> Option<Policy> {
    let policy = profile(name)?;
    if name != "default" {
        return Some(policy);
    }
    let loopback: Policy = include_str!("../profiles/loopback.toml")
        .parse()
        .expect("the tests parse every profile");
    Some(policy.with_rules_before(loopback))
}

/// The `default` profile for a program that has a loopback interface and its own terminal, which
/// ends with the run.
///
/// The program may make the terminal its controlling terminal and set the terminal's modes and
/// foreground group, as shells and line editors do.
pub fn profile_with_terminal() -> Policy {
    let parse = |text: &str| -> Policy { text.parse().expect("the tests parse every profile") };
    parse(include_str!("../profiles/default.toml"))
        .with_rules_before(parse(include_str!("../profiles/loopback.toml")))
        .with_rules_before(parse(include_str!("../profiles/terminal.toml")))
}

/// The names of the built-in policies.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|&(name, _)| name)
}
