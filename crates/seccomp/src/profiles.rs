//! The policies that come with the crate.

use crate::policy::Policy;

const PROFILES: &[(&str, &str)] =
    &[("default", include_str!("../profiles/default.toml")), ("strict", include_str!("../profiles/strict.toml"))];

/// The policy called `name` of those that come with the crate.
///
/// It is read anew every time; keep it, or rather what it was compiled to.
pub fn profile(name: &str) -> Option<Policy> {
    let (_, text) = PROFILES.iter().find(|(known, _)| *known == name)?;
    Some(text.parse().expect("tests read every profile"))
}

/// The same for a program that has a loopback interface: what a profile allows of sockets, it
/// allows of AF_INET and AF_INET6, too.
pub fn profile_with_loopback(name: &str) -> Option<Policy> {
    let policy = profile(name)?;
    if name != "default" {
        return Some(policy);
    }
    let before: Policy = include_str!("../profiles/loopback.toml").parse().expect("tests read it");
    Some(policy.after(before))
}

/// The names that [`profile`] knows.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|&(name, _)| name)
}
