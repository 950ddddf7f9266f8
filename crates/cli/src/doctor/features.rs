//! Checks of single limits and features, each with programs in the sandbox.

use super::trial::{TrialError, run, run_with, shell};
use crate::values::shown_size;
use millibox::{Backend, Mount, Network, Outcome, Request, Supervisor, World};
use std::path::Path;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// How far a measured time may exceed its limit, on a busy machine.
const TIME_TOLERANCE: Duration = Duration::from_millis(400);

/// Checks that the host has reserved no huge pages. The kernel has a directory for each size.
pub fn huge_pages(directory: &Path) -> Result<String, TrialError> {
    let mut all = 0u64;
    for size in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = size.file_name();
        let kib = name.to_str().and_then(|name| {
            name.strip_prefix("hugepages-")?
                .strip_suffix("kB")?
                .parse()
                .ok()
        });
        let number = |file: &str| {
            let text = std::fs::read_to_string(size.path().join(file)).unwrap_or_default();
            text.trim().parse::<u64>().unwrap_or(0)
        };
        let pages = number("nr_hugepages").saturating_add(number("nr_overcommit_hugepages"));
        all = all.saturating_add(
            pages
                .saturating_mul(kib.unwrap_or(0u64))
                .saturating_mul(1024),
        );
    }
    match all {
        0 => Ok("none are reserved".to_owned()),
        bytes => Err(TrialError::HugePages { bytes }),
    }
}

/// Runs a trivial program with limits, and checks that its figures are plausible.
pub fn plausible_figures(supervisor: &Supervisor) -> Result<String, TrialError> {
    let mut request = Request::new("/bin/true").real_time_limit(Duration::from_secs(5));
    // With the rlimit backend the memory limit applies to the address space, which is larger.
    request = request
        .memory_limit(64 * MIB)
        .process_limit(8)
        .cpu_time_limit(Duration::from_secs(5));
    let trial = run(supervisor, request)?.succeeded()?;
    let figures = trial.result.figures;
    let cpu = Duration::from_nanos(figures.cpu_user_ns.saturating_add(figures.cpu_system_ns));
    let real = Duration::from_nanos(figures.real_time_ns);
    let wrong = |what: &str, value: String| {
        Err(TrialError::unexpected(format!(
            "/bin/true is reported to have used {value} of {what}"
        )))
    };
    if real.is_zero() || real > Duration::from_secs(5) {
        return wrong("real time", format!("{real:?}"));
    }
    if cpu > Duration::from_secs(5) {
        return wrong("CPU time", format!("{cpu:?}"));
    }
    if figures.peak_memory_bytes == 0 || figures.peak_memory_bytes > 64 * MIB {
        return wrong("memory", shown_size(figures.peak_memory_bytes));
    }
    if supervisor.info().backend() != Backend::Rlimit && figures.peak_processes != Some(1) {
        return wrong("processes", format!("{:?}", figures.peak_processes));
    }
    let weaker = match supervisor.info().backend() {
        Backend::Rlimit => "; weaker: limits apply to single processes",
        _ => "",
    };
    Ok(format!(
        "/bin/true took {:.1?}, {:.1?} of CPU time, {}{weaker}",
        real,
        cpu,
        shown_size(figures.peak_memory_bytes)
    ))
}

pub fn memory_limit(supervisor: &Supervisor, trees: bool) -> Result<String, TrialError> {
    // tail(1) keeps a whole line in memory, however long the line is.
    let eater = shell("head -c 300000000 /dev/zero | tail | wc -c").memory_limit(32 * MIB);
    let trial = run(supervisor, eater)?;
    match trial.result.outcome {
        Outcome::MemoryLimit if trial.result.figures.peak_memory_bytes <= 34 * MIB => {
            Ok("a program that needed 300 MB was killed at 32 MiB".to_owned())
        }
        // Without cgroups, allocations fail.
        _ if !trees && !trial.output.contains("300000000") => {
            Ok("a program that needed 300 MB did not get it; the limit is per process".to_owned())
        }
        _ => Err(trial.unexpected()),
    }
}

pub fn process_limit(supervisor: &Supervisor) -> Result<String, TrialError> {
    let request = |limit| {
        let five = "sleep 0.3 & sleep 0.3 & sleep 0.3 & sleep 0.3 & echo started; wait";
        shell(five)
            .process_limit(limit)
            .real_time_limit(Duration::from_millis(900))
    };
    // The trial must succeed with a sufficient limit.
    let free = run(supervisor, request(16))?;
    if !free.output.contains("started") {
        return Err(free.unexpected());
    }
    let limited = run(supervisor, request(3))?;
    let peak = limited.result.figures.peak_processes;
    if limited.output.contains("started") || peak.is_some_and(|peak| peak > 3) {
        let detail = format!(
            "a limit of 3 did not hold: {}, {peak:?} processes",
            limited.ending()
        );
        return Err(TrialError::unexpected(detail));
    }
    Ok("a program that needed 5 processes could have only 3".to_owned())
}

pub fn cpu_time_limit(supervisor: &Supervisor, trees: bool) -> Result<String, TrialError> {
    let limit = Duration::from_millis(100);
    let trial = run(
        supervisor,
        shell("while :; do :; done").cpu_time_limit(limit),
    )?;
    let figures = trial.result.figures;
    let used = Duration::from_nanos(figures.cpu_user_ns + figures.cpu_system_ns);
    match trial.result.outcome {
        Outcome::CpuTimeLimit if used >= limit && used < limit + TIME_TOLERANCE => Ok(format!(
            "a busy loop with a limit of 100ms was killed after {used:.1?}"
        )),
        // Without cgroups, only the CPU time of reaped processes is known.
        Outcome::CpuTimeLimit if !trees => {
            Ok("a busy loop with a limit of 100ms was killed".to_owned())
        }
        _ => Err(TrialError::unexpected(format!(
            "{}, after {used:.1?} of CPU time",
            trial.ending()
        ))),
    }
}

pub fn real_time_limit(supervisor: &Supervisor) -> Result<String, TrialError> {
    let limit = Duration::from_millis(100);
    let trial = run(supervisor, shell("sleep 5").real_time_limit(limit))?;
    let used = Duration::from_nanos(trial.result.figures.real_time_ns);
    match trial.result.outcome {
        Outcome::RealTimeLimit if used >= limit && used < limit + TIME_TOLERANCE => Ok(format!(
            "a sleeping program with a limit of 100ms was killed after {used:.1?}"
        )),
        _ => Err(TrialError::unexpected(format!(
            "{}, after {used:.1?}",
            trial.ending()
        ))),
    }
}

pub fn output_limit(supervisor: &Supervisor) -> Result<String, TrialError> {
    let trial = run_with(supervisor, shell("head -c 1000000 /dev/zero"), 1000)?;
    if trial.truncated && trial.output.len() == 1000 {
        Ok("of a million bytes, exactly 1000 were returned".to_owned())
    } else {
        Err(TrialError::unexpected(format!(
            "{}, and {} bytes were returned",
            trial.ending(),
            trial.output.len()
        )))
    }
}

pub fn cpu_bandwidth(supervisor: &Supervisor) -> Result<String, TrialError> {
    let (max, period) = (Duration::from_millis(10), Duration::from_millis(100));
    let busy = shell("while :; do :; done")
        .cpu_bandwidth(max, period)
        .real_time_limit(Duration::from_millis(500));
    let trial = run(supervisor, busy)?;
    let figures = trial.result.figures;
    let used = Duration::from_nanos(figures.cpu_user_ns + figures.cpu_system_ns);
    if trial.result.outcome == Outcome::RealTimeLimit && used < Duration::from_millis(150) {
        Ok(format!(
            "a busy loop limited to a tenth of a CPU used {used:.1?} in 500ms"
        ))
    } else {
        Err(TrialError::unexpected(format!(
            "{}, and used {used:.1?} of CPU time in 500ms",
            trial.ending()
        )))
    }
}

/// A policy that forbids one call that is easy to try. Every trial has already shown that the
/// default profile can be attached.
pub fn seccomp(supervisor: &Supervisor) -> Result<String, TrialError> {
    let policy = "name = 'doctor'\ndescription = 'no directories'\ndefault = \
                  'allow'\n[[rule]]\naction = 'errno:EXDEV'\nwhy = 'a test'\nsyscalls = \
                  ['mkdir', 'mkdirat']\n";
    let policy: millibox_seccomp::Policy = policy
        .parse()
        .map_err(|error| TrialError::unexpected(format!("{error}")))?;
    let world = World::minimal().seccomp(&policy)?;
    let mkdir = || shell("mkdir /tmp/a");
    run(supervisor, mkdir())?.succeeded()?;
    let denied = run(supervisor, mkdir().world(&world))?;
    match denied.result.outcome {
        Outcome::Exited(code) if code != 0 => {
            Ok("the default profile is attached, and a forbidden system call fails".to_owned())
        }
        _ => Err(TrialError::unexpected(format!(
            "a forbidden system call did not fail: {}",
            denied.ending()
        ))),
    }
}

pub fn tmpfs_limit(supervisor: &Supervisor) -> Result<String, TrialError> {
    let world = World::minimal().mount(Mount::tmpfs("/small").size_limit(MIB));
    let trial = run(
        supervisor,
        shell("head -c 3000000 /dev/zero > /small/f; wc -c < /small/f").world(&world),
    )?
    .succeeded()?;
    match trial
        .output
        .lines()
        .last()
        .and_then(|line| line.trim().parse::<u64>().ok())
    {
        Some(MIB) => Ok("a file system of 1 MiB accepted 1 MiB".to_owned()),
        _ => Err(TrialError::unexpected(format!(
            "a file system of 1 MiB: {}",
            trial.ending()
        ))),
    }
}

pub fn procfs(supervisor: &Supervisor) -> Result<String, TrialError> {
    let world = World::minimal().mount(Mount::proc("/proc"));
    let trial = run(supervisor, shell("echo /proc/[0-9]*").world(&world))?.succeeded()?;
    // pid1 and the shell.
    match trial.output.split_whitespace().count() {
        1 | 2 if trial.output.starts_with("/proc/") && !trial.output.contains('*') => {
            Ok("it shows only the processes of the run".to_owned())
        }
        _ => Err(TrialError::unexpected(format!(
            "it shows {}",
            trial.output.trim()
        ))),
    }
}

pub fn loopback(supervisor: &Supervisor) -> Result<String, TrialError> {
    let world = World::minimal().network(Network::Loopback);
    run(supervisor, shell("exit 0").world(&world))?.succeeded()?;
    // bash, if installed, connects to a closed port. Only an interface that is up refuses that.
    let connect = "[ -x /bin/bash ] || exit 0; exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/9' 2>&1";
    let trial = run(supervisor, shell(connect).env("LC_ALL", "C").world(&world))?;
    if trial.output.contains("unreachable") {
        return Err(trial.unexpected());
    }
    Ok("a run has its own interface".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_with_reserved_pages_fails() {
        let directory = tempfile::tempdir().unwrap();
        assert!(huge_pages(&directory.path().join("missing")).is_ok());
        let set = |size: &str, file: &str, number: &str| {
            let of_size = directory.path().join(size);
            std::fs::create_dir_all(&of_size).unwrap();
            std::fs::write(of_size.join(file), format!("{number}\n")).unwrap();
        };
        for size in ["hugepages-2048kB", "hugepages-1048576kB"] {
            set(size, "nr_hugepages", "0");
            set(size, "nr_overcommit_hugepages", "0");
        }
        assert_eq!(huge_pages(directory.path()).unwrap(), "none are reserved");
        set("hugepages-2048kB", "nr_overcommit_hugepages", "3");
        let reserved = |expected: u64| {
            let checked = huge_pages(directory.path());
            matches!(checked, Err(TrialError::HugePages { bytes }) if bytes == expected)
        };
        assert!(reserved(6 * MIB));
        set("hugepages-1048576kB", "nr_hugepages", "1");
        assert!(reserved(1030 * MIB));
    }
}
