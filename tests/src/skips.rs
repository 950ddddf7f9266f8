//! The rights of this process, and reports of tests that it cannot run.

use millibox::{Backend, Supervisor};
use std::io::Write;

/// Returns whether the backend uses cgroups. If not, reports the test as skipped; the caller must
/// return.
pub fn has_cgroups_or_skips(supervisor: &Supervisor) -> bool {
    let has_cgroups = supervisor.info().backend() != Backend::Rlimit;
    if !has_cgroups {
        let declined = supervisor.info().declined();
        let refusals: Vec<String> = declined.iter().map(ToString::to_string).collect();
        skip(&format!(
            "no cgroups are available: {}",
            refusals.join("; ")
        ));
    }
    has_cgroups
}

/// Reports that the current test cannot run here.
pub fn skip(reason: &str) {
    skip_named(std::thread::current().name().unwrap_or("a test"), reason);
}

/// Like [`skip`], for a test that does not run in a thread of its name.
pub fn skip_named(test: &str, reason: &str) {
    let reason = reason.trim().replace('\n', "; ");
    eprintln!("SKIPPED: {test}: {reason}");
    if let Some(path) = std::env::var_os("MILLIBOX_SKIPS")
        && let Ok(mut file) = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
    {
        let _ = writeln!(file, "{test}: {reason}");
    }
}

/// Returns whether the effective user is root, possibly of a user namespace.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns whether this process may raise hard limits, that is, has CAP_SYS_RESOURCE (number 24).
pub fn may_raise_limits() -> bool {
    status_mask("self", "CapEff").is_some_and(|set| set & 1 << 24 != 0)
}

/// Reads a hexadecimal mask from /proc/PID/status. `process` is a PID or `self`.
pub fn status_mask(process: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
