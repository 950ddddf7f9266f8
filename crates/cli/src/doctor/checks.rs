//! The checks, in their order.

use super::features::{
    cpu_bandwidth, cpu_time_limit, huge_pages, loopback, memory_limit, output_limit,
    plausible_figures, process_limit, procfs, real_time_limit, seccomp, tmpfs_limit,
};
use super::remedies::{self, Facts};
use super::trial::{Trial, TrialError, run};
use crate::machine;
use millibox::{Backend, BackendChoice, Error, Request, StartError};
use serde::Serialize;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

/// The result of one check.
#[derive(Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
    pub remedy: Option<String>,
    /// Whether limits on whole process trees depend on this check.
    #[serde(skip)]
    needed: bool,
}

/// The results of all checks.
#[derive(Debug, Default)]
pub struct Findings {
    pub checks: Vec<Check>,
    /// The best of the requested backends that works.
    pub backend: Option<Backend>,
    /// All backends that work, the best one first.
    pub working: Vec<Backend>,
}

impl Findings {
    /// The best backend that works, if it limits whole process trees and was not requested.
    pub fn better(&self) -> Option<Backend> {
        let best = self.working.first().copied()?;
        (best != Backend::Rlimit && self.backend != Some(best)).then_some(best)
    }

    /// Whether all limits on whole process trees work.
    pub fn has_all_limits(&self) -> bool {
        matches!(self.backend, Some(Backend::Cgroup2 | Backend::Hybrid))
            && self.checks.iter().all(|check| check.ok || !check.needed)
    }
}

/// Runs all checks, and passes each result to `report` at once.
pub fn check_all(machine: &machine::Options, report: &mut dyn FnMut(&Check)) -> Findings {
    let mut checkup = Checkup {
        found: Findings::default(),
        facts: Facts::collect(),
        report,
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
    report: &'a mut dyn FnMut(&Check),
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
        (self.report)(&check);
        self.found.checks.push(check);
        ok
    }

    /// Starts a supervisor and a first program, with the backend that needs least.
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
            Err(Error::Start(StartError::NotExecuted {
                named_by: Some(by),
                error,
                ..
            })) if error.kind() == std::io::ErrorKind::NotFound => Some(renamed(by)),
            Err(Error::Start(StartError::NotExecuted { path, .. })) => {
                let remedy = format!(
                    "chmod 755 {} (on a file system that is not mounted noexec)",
                    path.display()
                );
                Some(format!("{remedy}, or {elsewhere}"))
            }
            Err(Error::Start(
                StartError::NotSupervisor { named_by, .. } | StartError::Version { named_by, .. },
            )) => Some(named_by.map_or(elsewhere.to_owned(), renamed)),
            Err(Error::Start(StartError::NotFound(_))) => Some(elsewhere.to_owned()),
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
            Ok("found and executed".to_owned()),
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
        let (uid, gid) = supervisor.info().ids();
        let made = format!("the supervisor runs in new namespaces as user {uid}, group {gid}");
        self.note("user namespaces", true, Ok(made), None);

        let ran = run(&supervisor, Request::new("/bin/true"))
            .and_then(Trial::succeeded)
            .map(|_| "a program ran in its own mount namespace".to_owned());
        self.note("mounts", true, ran, remedy)
    }

    /// Checks each backend, and that its figures are plausible.
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
                .and_then(|supervisor| plausible_figures(&supervisor));
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
        // One of the two backends that use cgroups is enough. If a resource limit of this process
        // is the cause, that remedy comes first. The remedy is shown once, at the first backend.
        let needs_no_remedy = |tried: &Result<String, TrialError>| match tried {
            Ok(_) => true,
            Err(error) => self.facts.rlimits(error).is_some(),
        };
        let trees = outcomes
            .iter()
            .take(2)
            .any(|(.., tried)| needs_no_remedy(tried));
        let mut remedy = if trees { None } else { self.facts.cgroups() };
        let better = self.found.better().filter(|_| self.found.backend.is_none());
        for (name, backend, choice, tried) in outcomes {
            let instead = better.filter(|_| wanted == choice);
            let instead =
                instead.map(|better| format!("omit --backend {backend}: {better} works here"));
            let named = tried.as_ref().err().and_then(remedies::cgroup_parent);
            self.note(
                name,
                false,
                tried,
                named.or_else(|| remedy.take()).or(instead),
            );
        }
    }

    /// Checks limits and features with the best backend.
    fn with_best(&mut self, machine: &machine::Options) {
        let (choice, trees) = match self.found.backend {
            Some(Backend::Cgroup2) => (BackendChoice::Cgroup2, true),
            Some(Backend::Hybrid) => (BackendChoice::Hybrid, true),
            Some(_) => (BackendChoice::Rlimit, false),
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
        let cgroups: Vec<PathBuf> = supervisor.info().cgroups().collect();
        self.note("memory limit", true, memory_limit(&supervisor, trees), None);
        if trees {
            let swap = run(
                &supervisor,
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
        self.note("process limit", true, process_limit(&supervisor), None);
        self.note(
            "CPU time limit",
            true,
            cpu_time_limit(&supervisor, trees),
            None,
        );
        self.note("real time limit", true, real_time_limit(&supervisor), None);
        self.note("output limit", true, output_limit(&supervisor), None);
        if trees {
            self.note("CPU bandwidth", true, cpu_bandwidth(&supervisor), None);
        }
        self.note("seccomp", true, seccomp(&supervisor), None);
        let landlock = supervisor
            .info()
            .landlock()
            .map(|version| {
                format!("version {version}: the supervisor can open only files below /proc")
            })
            .ok_or_else(|| {
                TrialError::unexpected(
                    "the kernel has no landlock; only seccomp confines the supervisor",
                )
            });
        let remedy = "boot Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK, and with \
            landlock in the kernel's lsm= list";
        self.note("landlock", false, landlock, Some(remedy.to_owned()));
        let counted = if supervisor.info().counts_file_locks() {
            Ok("counted: a memory limit also bounds the file locks of a run".to_owned())
        } else {
            Err(TrialError::unexpected(
                "not counted: the kernel charges them to no cgroup, so only time limits bound the \
                 file locks of a run",
            ))
        };
        let remedy = "mount /proc without subset=pid and hidepid, in the PID namespace of millibox";
        self.note("file locks", false, counted, Some(remedy.to_owned()));
        self.note("tmpfs limit", true, tmpfs_limit(&supervisor), None);
        let remedy = self.facts.procfs();
        self.note("procfs", false, procfs(&supervisor), remedy);
        self.note("loopback network", false, loopback(&supervisor), None);
        let remedy = "sysctl -w vm.nr_hugepages=0 vm.nr_overcommit_hugepages=0 (and other sizes in \
                      /sys/kernel/mm/hugepages), or use a seccomp policy that denies them: \
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
            Ok("the supervisor left no cgroups behind".to_owned())
        } else {
            Err(TrialError::unexpected(format!(
                "left behind: {}",
                left.join(", ")
            )))
        };
        self.note("clean end", true, clean, None);
    }
}
