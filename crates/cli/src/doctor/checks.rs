//! What is tried.

use super::remedies::{self, Facts};
use super::trial::{Trial, TrialError, run, run_with, shell};
use crate::machine;
use crate::values::shown_size;
use millibox::{
    Backend, BackendChoice, Error, Mount, Network, Outcome, Request, Supervisor, World,
};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// How far above its limit a time may be measured, on a busy machine.
const SLACK: Duration = Duration::from_millis(400);

/// One thing that was tried.
#[derive(Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
    pub remedy: Option<String>,
    /// Without it there are no full limits.
    #[serde(skip)]
    needed: bool,
}

/// All that was tried.
#[derive(Debug, Default)]
pub struct Findings {
    pub checks: Vec<Check>,
    /// The best backend that works, of those that are asked for.
    pub backend: Option<Backend>,
    /// All that work, the best one first.
    pub working: Vec<Backend>,
}

impl Findings {
    /// The best backend that works, if it limits whole process trees and is not the one that was
    /// asked for.
    pub fn better(&self) -> Option<Backend> {
        let best = self.working.first().copied()?;
        (best != Backend::Rlimit && self.backend != Some(best)).then_some(best)
    }

    /// Limits on whole process trees hold, wholly.
    pub fn full(&self) -> bool {
        matches!(self.backend, Some(Backend::Cgroup2 | Backend::Hybrid))
            && self.checks.iter().all(|check| check.ok || !check.needed)
    }
}

/// Tries everything; `told` hears of each check as soon as it is done.
pub fn try_all(machine: &machine::Options, told: &mut dyn FnMut(&Check)) -> Findings {
    let mut checkup = Checkup {
        found: Findings::default(),
        facts: Facts::look(),
        told,
    };
    if checkup.start(machine) {
        checkup.backends(machine);
        checkup.with_best(machine);
    }
    checkup.found
}

struct Checkup<'a> {
    found: Findings,
    facts: Facts,
    told: &'a mut dyn FnMut(&Check),
}

impl Checkup<'_> {
    fn note(
        &mut self,
        name: &'static str,
        needed: bool,
        outcome: Result<String, TrialError>,
        remedy: Option<String>,
    ) -> bool {
        let (ok, detail, remedy) = match outcome {
            Ok(detail) => (true, detail, None),
            Err(error) => (
                false,
                error.to_string(),
                self.facts.rlimits(&error).or(remedy),
            ),
        };
        let check = Check {
            name,
            ok,
            detail,
            remedy,
            needed,
        };
        (self.told)(&check);
        self.found.checks.push(check);
        ok
    }

    /// The supervisor, its namespaces, a first program: with the backend that needs least.
    fn start(&mut self, machine: &machine::Options) -> bool {
        let started = machine
            .builder()
            .slots(1)
            .runners_per_slot(1)
            .backend(BackendChoice::Rlimit)
            .start();
        let renamed = |by: &str| {
            format!("set {by} to the path of a millibox-supervisor of this version, or unset it")
        };
        let elsewhere =
            "install millibox-supervisor beside millibox, or set MILLIBOX_SUPERVISOR to its path";
        let remedy = match &started {
            Err(Error::NotExecuted {
                named_by: Some(by),
                error,
                ..
            }) if error.kind() == std::io::ErrorKind::NotFound => Some(renamed(by)),
            Err(Error::NotExecuted { path, .. }) => {
                let remedy = format!(
                    "chmod 755 {} (on a file system that is not mounted noexec)",
                    path.display()
                );
                Some(format!("{remedy}, or {elsewhere}"))
            }
            Err(Error::NotSupervisor { named_by, .. }) => {
                Some(named_by.map_or(elsewhere.to_owned(), renamed))
            }
            Err(Error::NoSupervisor(_)) => Some(elsewhere.to_owned()),
            _ => None,
        };
        let started = started.map_err(TrialError::from);
        let started = match (started, remedy) {
            (Err(error), Some(remedy)) => {
                return self.note("supervisor", true, Err(error), Some(remedy));
            }
            (started, _) => started,
        };
        self.note(
            "supervisor",
            true,
            Ok("found, and executed".to_owned()),
            None,
        );
        let remedy = self.facts.namespaces();
        let supervisor = match started {
            Ok(supervisor) => supervisor,
            Err(error) => {
                // A wrong cgroup is found before namespaces are created.
                let remedy = remedies::cgroup_parent(&error).or(remedy);
                return self.note("user namespaces", true, Err(error), remedy);
            }
        };
        let (uid, gid) = supervisor.ids();
        let made = format!("a supervisor runs in new namespaces, as user {uid}, group {gid}");
        self.note("user namespaces", true, Ok(made), None);

        let ran = run(&supervisor, Request::new("/bin/true"))
            .and_then(Trial::succeeded)
            .map(|_| "a program ran in a world of its own, made by the new mount calls".to_owned());
        self.note("mounts", true, ran, remedy)
    }

    /// Each way to hold a run, with figures that make sense.
    fn backends(&mut self, machine: &machine::Options) {
        let all = [
            ("backend cgroup2", Backend::Cgroup2, BackendChoice::Cgroup2),
            ("backend hybrid", Backend::Hybrid, BackendChoice::Hybrid),
            ("backend rlimit", Backend::Rlimit, BackendChoice::Rlimit),
        ];
        let wanted = BackendChoice::from(machine.backend);
        let mut outcomes = Vec::new();
        for (name, backend, choice) in all {
            let tried = machine
                .builder()
                .slots(1)
                .runners_per_slot(1)
                .backend(choice)
                .start()
                .map_err(TrialError::from)
                .and_then(|supervisor| sane(&supervisor));
            if tried.is_ok() {
                self.found.working.push(backend);
                if self.found.backend.is_none()
                    && (wanted == BackendChoice::Auto || wanted == choice)
                {
                    self.found.backend = Some(backend);
                }
            }
            outcomes.push((name, backend, choice, tried));
        }
        // One of the two that use cgroups is enough, or would be but for a limit around us; told
        // once, at the first.
        let enough = |tried: &Result<String, TrialError>| match tried {
            Ok(_) => true,
            Err(error) => self.facts.rlimits(error).is_some(),
        };
        let trees = outcomes.iter().take(2).any(|(.., tried)| enough(tried));
        let mut remedy = if trees { None } else { self.facts.cgroups() };
        let better = self.found.better().filter(|_| self.found.backend.is_none());
        for (name, backend, choice, tried) in outcomes {
            let instead = better.filter(|_| wanted == choice);
            let instead =
                instead.map(|better| format!("leave --backend {backend} out: {better} works here"));
            let named = tried.as_ref().err().and_then(remedies::cgroup_parent);
            self.note(
                name,
                false,
                tried,
                named.or_else(|| remedy.take()).or(instead),
            );
        }
    }

    /// Everything else, with the best backend.
    fn with_best(&mut self, machine: &machine::Options) {
        let (choice, trees) = match self.found.backend {
            Some(Backend::Cgroup2) => (BackendChoice::Cgroup2, true),
            Some(Backend::Hybrid) => (BackendChoice::Hybrid, true),
            Some(Backend::Rlimit) => (BackendChoice::Rlimit, false),
            None => return,
        };
        let started = machine
            .builder()
            .slots(1)
            .runners_per_slot(1)
            .backend(choice)
            .start();
        let supervisor = match started {
            Ok(supervisor) => supervisor,
            Err(error) => {
                self.note("start again", true, Err(error.into()), None);
                return;
            }
        };
        let cgroups: Vec<PathBuf> = supervisor.cgroups().collect();
        let its = &supervisor;
        self.note("memory limit", true, memory_limit(its, trees), None);
        if trees {
            let swap = run(
                its,
                Request::new("/bin/true")
                    .memory_limit(32 * MIB)
                    .swap_limit(MIB),
            );
            let swap = swap
                .and_then(Trial::succeeded)
                .map(|_| "swap can be limited".to_owned());
            let remedy = self.facts.swap();
            self.note("swap limit", false, swap, remedy);
        }
        self.note("process limit", true, process_limit(its), None);
        self.note("CPU time limit", true, cpu_time_limit(its, trees), None);
        self.note("real time limit", true, real_time_limit(its), None);
        self.note("output limit", true, output_limit(its), None);
        if trees {
            self.note("CPU bandwidth", true, cpu_bandwidth(its), None);
        }
        self.note("seccomp", true, seccomp(its), None);
        let landlock = its
            .landlock()
            .map(|version| {
                format!("version {version}: the supervisor opens no files but those below /proc")
            })
            .ok_or_else(|| {
                TrialError::unexpected(
                    "the kernel has none; the supervisor is held by its seccomp program alone",
                )
            });
        let remedy = "a second wall: Linux 5.13 with CONFIG_SECURITY_LANDLOCK, and landlock in the \
            kernel's lsm= list";
        self.note("landlock", false, landlock, Some(remedy.to_owned()));
        let counted = if its.counts_file_locks() {
            Ok("counted: what a run has of them is held by its memory limit".to_owned())
        } else {
            Err(TrialError::unexpected(
                "not counted: the kernel charges nobody for them, so only limits on time hold what \
                 a run has of them",
            ))
        };
        let remedy = "mount /proc without subset=pid and hidepid, and for the PID namespace that \
            millibox is in";
        self.note("file locks", false, counted, Some(remedy.to_owned()));
        self.note("tmpfs limit", true, tmpfs_limit(its), None);
        let remedy = self.facts.procfs();
        self.note("procfs", false, procfs(its), remedy);
        self.note("loopback network", false, loopback(its), None);
        let remedy = "sysctl -w vm.nr_hugepages=0 vm.nr_overcommit_hugepages=0 (and other sizes in \
                      /sys/kernel/mm/hugepages), or a seccomp policy that refuses them: \
                      docs/security/weaknesses.md, \"Huge pages\"";
        let reserved = huge_pages(Path::new("/sys/kernel/mm/hugepages"));
        self.note("huge pages", false, reserved, Some(remedy.to_owned()));
        drop(supervisor);
        let left: Vec<_> = cgroups
            .iter()
            .filter(|path| path.exists())
            .map(|path| path.display().to_string())
            .collect();
        let clean = if left.is_empty() {
            Ok("nothing is left of the supervisor".to_owned())
        } else {
            Err(TrialError::unexpected(format!(
                "left behind: {}",
                left.join(", ")
            )))
        };
        self.note("clean end", true, clean, None);
    }
}

/// Whether none are set apart, as the kernel tells it in a directory for each size.
fn huge_pages(directory: &Path) -> Result<String, TrialError> {
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
        0 => Ok("none are set apart".to_owned()),
        all => Err(TrialError::unexpected(format!(
            "{} are set apart, which runs can take beyond their memory limit",
            shown_size(all)
        ))),
    }
}

/// A trivial program with limits: it must run, and its figures must be possible ones.
fn sane(supervisor: &Supervisor) -> Result<String, TrialError> {
    let mut request = Request::new("/bin/true").real_time_limit(Duration::from_secs(5));
    // An address space, where that is what is limited, has more in it than memory.
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
    if supervisor.backend() != Backend::Rlimit && figures.peak_processes != Some(1) {
        return wrong("processes", format!("{:?}", figures.peak_processes));
    }
    let weaker = match supervisor.backend() {
        Backend::Rlimit => "; weaker: it limits single processes",
        _ => "",
    };
    Ok(format!(
        "/bin/true took {:.1?}, {:.1?} of CPU time, {}{weaker}",
        real,
        cpu,
        shown_size(figures.peak_memory_bytes)
    ))
}

fn memory_limit(supervisor: &Supervisor, trees: bool) -> Result<String, TrialError> {
    // tail(1) keeps a line whole, however long.
    let eater = shell("head -c 300000000 /dev/zero | tail | wc -c").memory_limit(32 * MIB);
    let trial = run(supervisor, eater)?;
    match trial.result.outcome {
        Outcome::MemoryLimit if trial.result.figures.peak_memory_bytes <= 34 * MIB => {
            Ok("a program that wanted 300 MB was ended at 32 MiB".to_owned())
        }
        // Without cgroups, allocations fail.
        _ if !trees && !trial.output.contains("300000000") => {
            Ok("a program that wanted 300 MB did not get them; per process only".to_owned())
        }
        _ => Err(trial.unexpected()),
    }
}

fn process_limit(supervisor: &Supervisor) -> Result<String, TrialError> {
    let request = |limit| {
        let five = "sleep 0.3 & sleep 0.3 & sleep 0.3 & sleep 0.3 & echo started; wait";
        shell(five)
            .process_limit(limit)
            .real_time_limit(Duration::from_millis(900))
    };
    // The trial itself must work where there is room.
    let free = run(supervisor, request(16))?;
    if !free.output.contains("started") {
        return Err(free.unexpected());
    }
    let held = run(supervisor, request(3))?;
    let peak = held.result.figures.peak_processes;
    if held.output.contains("started") || peak.is_some_and(|peak| peak > 3) {
        let detail = format!(
            "a limit of 3 did not hold: {}, {peak:?} processes",
            held.ending()
        );
        return Err(TrialError::unexpected(detail));
    }
    Ok("a program that wanted 5 processes got 3".to_owned())
}

fn cpu_time_limit(supervisor: &Supervisor, trees: bool) -> Result<String, TrialError> {
    let limit = Duration::from_millis(100);
    let trial = run(
        supervisor,
        shell("while :; do :; done").cpu_time_limit(limit),
    )?;
    let figures = trial.result.figures;
    let used = Duration::from_nanos(figures.cpu_user_ns + figures.cpu_system_ns);
    match trial.result.outcome {
        Outcome::CpuTimeLimit if used >= limit && used < limit + SLACK => {
            Ok(format!("a busy loop with 100ms was ended after {used:.1?}"))
        }
        // Without cgroups, only what processes have used that were waited for is known.
        Outcome::CpuTimeLimit if !trees => Ok("a busy loop with 100ms was ended".to_owned()),
        _ => Err(TrialError::unexpected(format!(
            "{}, after {used:.1?} of CPU time",
            trial.ending()
        ))),
    }
}

fn real_time_limit(supervisor: &Supervisor) -> Result<String, TrialError> {
    let limit = Duration::from_millis(100);
    let trial = run(supervisor, shell("sleep 5").real_time_limit(limit))?;
    let used = Duration::from_nanos(trial.result.figures.real_time_ns);
    match trial.result.outcome {
        Outcome::RealTimeLimit if used >= limit && used < limit + SLACK => {
            Ok(format!("a sleeper with 100ms was ended after {used:.1?}"))
        }
        _ => Err(TrialError::unexpected(format!(
            "{}, after {used:.1?}",
            trial.ending()
        ))),
    }
}

fn output_limit(supervisor: &Supervisor) -> Result<String, TrialError> {
    let trial = run_with(supervisor, shell("head -c 1000000 /dev/zero"), 1000)?;
    if trial.cut && trial.output.len() == 1000 {
        Ok("of a million bytes exactly 1000 came out".to_owned())
    } else {
        Err(TrialError::unexpected(format!(
            "{}, {} bytes came out",
            trial.ending(),
            trial.output.len()
        )))
    }
}

fn cpu_bandwidth(supervisor: &Supervisor) -> Result<String, TrialError> {
    let (max, period) = (Duration::from_millis(10), Duration::from_millis(100));
    let busy = shell("while :; do :; done")
        .cpu_bandwidth(max, period)
        .real_time_limit(Duration::from_millis(500));
    let trial = run(supervisor, busy)?;
    let figures = trial.result.figures;
    let used = Duration::from_nanos(figures.cpu_user_ns + figures.cpu_system_ns);
    if trial.result.outcome == Outcome::RealTimeLimit && used < Duration::from_millis(150) {
        Ok(format!(
            "a busy loop with a tenth of a CPU got {used:.1?} in 500ms"
        ))
    } else {
        Err(TrialError::unexpected(format!(
            "{}, and got {used:.1?} of CPU time in 500ms",
            trial.ending()
        )))
    }
}

/// A policy that forbids one call that is easy to try, on top of what every trial has
/// shown: that the default profile can be attached.
fn seccomp(supervisor: &Supervisor) -> Result<String, TrialError> {
    let policy = "name = 'doctor'\ndescription = 'no directories'\ndefault = \
                  'allow'\n[[rule]]\naction = 'errno:EXDEV'\nwhy = 'to see it refused'\nsyscalls = \
                  ['mkdir', 'mkdirat']\n";
    let policy: millibox_seccomp::Policy = policy
        .parse()
        .map_err(|error| TrialError::unexpected(format!("{error}")))?;
    let world = World::minimal().seccomp(&policy)?;
    let mkdir = || shell("mkdir /tmp/a");
    run(supervisor, mkdir())?.succeeded()?;
    let refused = run(supervisor, mkdir().world(&world))?;
    match refused.result.outcome {
        Outcome::Exited(code) if code != 0 => Ok(
            "the default profile is attached, and a call that a policy forbids is refused"
                .to_owned(),
        ),
        _ => Err(TrialError::unexpected(format!(
            "a forbidden call was not refused: {}",
            refused.ending()
        ))),
    }
}

fn tmpfs_limit(supervisor: &Supervisor) -> Result<String, TrialError> {
    let mut mount = Mount::tmpfs("/small");
    if let Mount::Tmpfs { size, .. } = &mut mount {
        *size = Some(MIB);
    }
    let world = World::minimal().mount(mount);
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
        Some(MIB) => Ok("a file system of 1 MiB took 1 MiB".to_owned()),
        _ => Err(TrialError::unexpected(format!(
            "a file system of 1 MiB: {}",
            trial.ending()
        ))),
    }
}

fn procfs(supervisor: &Supervisor) -> Result<String, TrialError> {
    let world = World::minimal().mount(Mount::proc("/proc"));
    let trial = run(supervisor, shell("echo /proc/[0-9]*").world(&world))?.succeeded()?;
    // pid1 and the shell.
    match trial.output.split_whitespace().count() {
        1 | 2 if trial.output.starts_with("/proc/") && !trial.output.contains('*') => {
            Ok("it shows the run's own processes only".to_owned())
        }
        _ => Err(TrialError::unexpected(format!(
            "it shows {}",
            trial.output.trim()
        ))),
    }
}

fn loopback(supervisor: &Supervisor) -> Result<String, TrialError> {
    let world = World::minimal().network(Network::Loopback);
    run(supervisor, shell("exit 0").world(&world))?.succeeded()?;
    // Where there is bash: nobody listens, which only a network that is up can tell.
    let connect = "[ -x /bin/bash ] || exit 0; exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/9' 2>&1";
    let trial = run(supervisor, shell(connect).env("LC_ALL", "C").world(&world))?;
    if trial.output.contains("unreachable") {
        return Err(trial.unexpected());
    }
    Ok("a run has an interface of its own".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_that_are_set_apart() {
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
        assert_eq!(huge_pages(directory.path()).unwrap(), "none are set apart");
        set("hugepages-2048kB", "nr_overcommit_hugepages", "3");
        assert!(
            huge_pages(directory.path())
                .is_err_and(|error| error.to_string().starts_with("6 MiB are"))
        );
        set("hugepages-1048576kB", "nr_hugepages", "1");
        assert!(
            huge_pages(directory.path())
                .is_err_and(|error| error.to_string().starts_with("1030 MiB are"))
        );
    }
}
