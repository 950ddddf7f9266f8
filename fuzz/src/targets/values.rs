//! Values of the command's options.

use crate::Target;
use millibox_cli_support::values as support;
use std::fmt::Display;
use std::time::Duration;

// The command has no library. Its value parsers are a module without dependencies on the rest.
#[path = "../../../crates/cli/src/values.rs"]
#[allow(dead_code, reason = "this target does not call every parser")]
mod cli;

pub const VALUE: Target = Target {
    name: "value",
    run: value,
    dictionary: &[
        "64M",
        "1.5GiB",
        "K",
        "ms",
        "us",
        "s",
        "h",
        " ",
        "50ms/100ms",
        "NOFILE=",
        "unlimited",
        "0-1023",
        ",",
        "-",
        "1000:1000",
        "/tmp:16M:100",
        "\\:",
        "/../",
        "//",
        ":",
        "=",
    ],
};

/// The parsed value. An error message must be one line.
fn parsed<T>(result: Result<T, impl Display>) -> Option<T> {
    let rejected = |error: &_| super::assert_one_line(&format!("{error}"));
    result.inspect_err(rejected).ok()
}

/// Parses the text as each kind of value. Displaying and parsing a value again must not change it.
fn value(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Some(size) = parsed(cli::size(text)) {
        let shown = cli::shown_size(size)
            .replace(' ', "")
            .replace("bytes", "")
            .replace("byte", "");
        assert_eq!(
            cli::size(&shown),
            Ok(size),
            "{text} is displayed as {shown}"
        );
        if let Ok(number) = text.parse::<u64>() {
            assert_eq!(size, number, "{text}");
        }
    }
    if let Some(memory) = parsed(cli::memory(text)) {
        assert!(memory >= 1 << 20 && cli::size(text) == Ok(memory), "{text}");
    }
    if let Some(time) = parsed(cli::time(text)) {
        assert_ne!(time, Duration::ZERO);
        // For longer times, humantime writes units that the options do not accept.
        if time < Duration::from_secs(24 * 60 * 60) {
            assert_eq!(
                cli::time(&humantime::format_duration(time).to_string()),
                Ok(time),
                "{text}"
            );
        }
    }
    if let Some((max, period)) = parsed(cli::bandwidth(text)) {
        assert!(max >= Duration::from_millis(1), "{text}");
        assert!(
            (Duration::from_millis(1)..=Duration::from_secs(1)).contains(&period),
            "{text}"
        );
    }
    if let Some((name, value)) = parsed(cli::rlimit(text)) {
        // The parsed name has one spelling, without the optional prefix.
        let upper = text.to_ascii_uppercase();
        assert!(
            upper
                .strip_prefix("RLIMIT_")
                .unwrap_or(&upper)
                .starts_with(&name)
                && !name.is_empty(),
            "{text} is parsed as {name}"
        );
        assert_eq!(cli::rlimit(&format!("{name}={value}")), Ok((name, value)));
    }
    if let Some(cli::Cpus(cpus)) = parsed(cli::cpus(text)) {
        assert!(
            cpus.is_sorted() && cpus.last().is_some_and(|last| *last < 1024),
            "{text}: {cpus:?}"
        );
        let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
        assert_eq!(cli::cpus(&list.join(",")), Ok(cli::Cpus(cpus)));
    }
    if let Some((uid, gid)) = parsed(support::ids(text)) {
        assert!(uid != 0 && gid != 0, "{text} contains an id of root");
        assert!(
            uid != u32::MAX && gid != u32::MAX,
            "{text} contains the invalid id -1"
        );
    }
    if let Some(id) = parsed(cli::id(text)) {
        assert_ne!(id, u32::MAX);
    }
    if let Some(path) = parsed(cli::mount_point(text.into())) {
        assert!(path.is_absolute() && path.parent().is_some());
        assert!(
            path.components()
                .all(|part| part != std::path::Component::ParentDir),
            "{text}"
        );
    }
    if let Some(tmpfs) = parsed(cli::tmpfs(text.into())) {
        assert!(
            tmpfs.at.is_absolute() && tmpfs.size != Some(0) && tmpfs.inodes != Some(0),
            "{tmpfs:?}"
        );
    }
    if let Some((name, value)) = parsed(cli::variable(text.into())) {
        assert_eq!(
            [name.as_os_str(), value.as_os_str()].join("=".as_ref()),
            text
        );
    }
    parsed(support::cgroup_parent(text));
}
