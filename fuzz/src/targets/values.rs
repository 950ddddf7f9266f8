//! Values of the command's options.

use crate::Target;
use millibox_cli_support::values as support;
use std::time::Duration;

// The command is no library; its readers of values are of themselves.
#[path = "../../../crates/cli/src/values.rs"]
#[allow(dead_code, reason = "not all are asked")]
mod cli;

pub const VALUE: Target = Target {
    name: "value",
    run: value,
    words: &[
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

fn taken<T>(result: Result<T, String>) -> Option<T> {
    result.map_err(|why| super::one_line(&why)).ok()
}

/// What is taken means what it says, and can be said again.
fn value(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(size) = taken(cli::size(text)) {
        let shown = cli::shown_size(size).replace(' ', "").replace("bytes", "").replace("byte", "");
        assert_eq!(cli::size(&shown), Ok(size), "{text} is {shown}");
        if let Ok(number) = text.parse::<u64>() {
            assert_eq!(size, number, "{text}");
        }
    }
    if let Some(memory) = taken(cli::memory(text)) {
        assert!(memory >= 1 << 20 && cli::size(text) == Ok(memory), "{text}");
    }
    if let Some(time) = taken(cli::time(text)) {
        assert_ne!(time, Duration::ZERO);
        assert_eq!(cli::time(&humantime::format_duration(time).to_string()), Ok(time), "{text}");
    }
    if let Some((max, period)) = taken(cli::bandwidth(text)) {
        assert!(max >= Duration::from_millis(1), "{text}");
        assert!((Duration::from_millis(1)..=Duration::from_secs(1)).contains(&period), "{text}");
    }
    if let Some((name, value)) = taken(cli::rlimit(text)) {
        // In one spelling, whatever it was given in.
        let said = text.to_ascii_uppercase();
        assert!(
            said.strip_prefix("RLIMIT_").unwrap_or(&said).starts_with(&name) && !name.is_empty(),
            "{text} is {name}"
        );
        assert_eq!(cli::rlimit(&format!("{name}={value}")), Ok((name, value)));
    }
    if let Some(cli::Cpus(cpus)) = taken(cli::cpus(text)) {
        assert!(cpus.is_sorted() && cpus.last().is_some_and(|last| *last < 1024), "{text}: {cpus:?}");
        let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
        assert_eq!(cli::cpus(&list.join(",")), Ok(cli::Cpus(cpus)));
    }
    if let Some((uid, gid)) = taken(support::ids(text)) {
        assert!(uid != 0 && gid != 0, "{text} is root's");
        assert!(uid != u32::MAX && gid != u32::MAX, "{text} is no id");
    }
    if let Some(id) = taken(cli::id(text)) {
        assert_ne!(id, u32::MAX);
    }
    if let Some(path) = taken(cli::mount_point(text.into())) {
        assert!(path.is_absolute() && path.parent().is_some());
        assert!(path.components().all(|part| part != std::path::Component::ParentDir), "{text}");
    }
    if let Some(tmpfs) = taken(cli::tmpfs(text.into())) {
        assert!(tmpfs.at.is_absolute() && tmpfs.size != Some(0) && tmpfs.inodes != Some(0), "{tmpfs:?}");
    }
    if let Some((name, value)) = taken(cli::variable(text.into())) {
        assert_eq!([name.as_os_str(), value.as_os_str()].join("=".as_ref()), text);
    }
    taken(support::cgroup_parent(text));
}
