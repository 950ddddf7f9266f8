//! Placeholders and variables that all commands of a suite have.

use super::tools::{SEARCH_PATH, Tools};
use super::world::{OUTPUT, PREPARED, SOURCE};
use crate::suite::template::Values;
use crate::suite::{Suite, Surroundings};
use std::ffi::OsString;

/// Returns the values of placeholders that all commands have.
pub(super) fn values(suite: &Suite, tools: &Tools) -> Values {
    let mut values = Values::default();
    for (name, value) in &suite.values {
        values.set(name, value);
    }
    for (name, path) in &tools.paths {
        values.set(name, path);
    }
    values.set("output", OUTPUT);
    values.set("source", SOURCE);
    values.set("prepared", PREPARED);
    values
}

/// Returns the environment of a command: PATH, no LeakSanitizer, and `more`. The suite's variables
/// override them.
pub(super) fn environment(
    more: &[(&str, &str)],
    surroundings: &Surroundings,
    values: &Values,
) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = [("PATH", SEARCH_PATH), millibox::NO_LEAK_SANITIZER]
        .iter()
        .chain(more)
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    for (name, value) in &surroundings.env {
        env.retain(|(known, _)| known != name.as_str());
        env.push((name.into(), values.fill(value)));
    }
    env
}
