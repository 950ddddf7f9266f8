//! The rules of a message server: which client may use which subjects.

use crate::subject::Permissions;
use std::fmt::Write;

/// A client of the message server with its rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name, which only comments contain.
    pub name: String,
    /// The public part of the key.
    pub key: String,
    /// The rights.
    pub permissions: Permissions,
}

/// The part of nats-server's configuration that lets only these clients connect. `command` is the
/// command that prints the rules.
///
/// ```
/// use millibox_fleet::rules::{User, rules};
/// use millibox_fleet::subject::of_site;
///
/// let user = User { name: "site".to_owned(), key: "UA".to_owned(), permissions: of_site() };
/// assert!(rules("millibox site fleet rules", &[user]).contains("nkey: \"UA\""));
/// ```
pub fn rules(command: &str, users: &[User]) -> String {
    let users: Vec<String> = users.iter().map(entry).collect();
    format!(
        "# Rules for nats-server, which `{command}` has printed.\n\
         authorization {{\n  users: [\n{}  ]\n}}",
        users.concat()
    )
}

/// Names, keys and subjects contain no character with a meaning in the configuration.
fn entry(user: &User) -> String {
    let User {
        name,
        key,
        permissions,
    } = user;
    let mut text = format!("    # {name}\n    {{\n      nkey: \"{key}\"\n      permissions: {{\n");
    for (what, subjects) in [
        ("publish", &permissions.publish),
        ("subscribe", &permissions.subscribe),
    ] {
        let quoted: Vec<String> = subjects.iter().map(|one| format!("\"{one}\"")).collect();
        // Writing to a string never fails.
        let _ = writeln!(text, "        {what}: [{}]", quoted.join(", "));
    }
    text.push_str("      }\n    }\n");
    text
}
