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
    match name {
        "default" => Some(default_profile(true, false)),
        _ => profile(name),
    }
}

/// The `default` profile for a program with or without a loopback interface, and with or without
/// terminals of its own.
///
/// A program with terminals may create pseudo-terminals, and set their modes, their sizes, their
/// foreground groups and the controlling terminal, as shells, line editors and `script` do.
pub fn default_profile(has_loopback: bool, has_terminals: bool) -> Policy {
    let parse = |text: &str| -> Policy { text.parse().expect("the tests parse every profile") };
    let mut policy = parse(include_str!("../profiles/default.toml"));
    if has_loopback {
        policy = policy.with_rules_before(parse(include_str!("../profiles/loopback.toml")));
    }
    if has_terminals {
        policy = policy.with_rules_before(parse(include_str!("../profiles/terminal.toml")));
    }
    policy
}

/// The names of the built-in policies.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|&(name, _)| name)
}
