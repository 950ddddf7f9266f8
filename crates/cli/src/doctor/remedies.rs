//! The likely cause of a failed check on this machine, and the command that fixes it. The doctor
//! asks for a remedy only after a check has failed.

use super::trial::TrialError;
use millibox::{
    EndReason, Error, FrameProblem, Hint, OptionMistake, RunError, StartError, Step,
    SupervisorError, SupervisorHint, SupervisorStep,
};
use std::path::{Path, PathBuf};

/// A supervisor with one slot opens no more files than this.
const MIN_OPEN_FILES: u64 = 64;

/// The remedy if the supervisor did not start because of MILLIBOX_CGROUP_PARENT.
pub fn cgroup_parent(error: &TrialError) -> Option<String> {
    let TrialError::Start(error) = error else {
        return None;
    };
    let is_cause = match &**error {
        Error::Start(StartError::Failed { cgroup_parent, .. }) => cgroup_parent.is_some(),
        Error::Start(StartError::Options(mistakes)) => mistakes
            .as_slice()
            .iter()
            .any(|mistake| matches!(mistake, OptionMistake::CgroupParent { .. })),
        _ => false,
    };
    is_cause.then(|| "set MILLIBOX_CGROUP_PARENT to an existing cgroup, or unset it".to_owned())
}

/// A resource limit of the process that starts millibox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnLimit {
    OpenFiles,
    Processes,
}

impl OwnLimit {
    /// The limit that an error number names.
    fn of_errno(errno: i32) -> Option<OwnLimit> {
        match errno {
            libc::EMFILE => Some(OwnLimit::OpenFiles),
            libc::EAGAIN => Some(OwnLimit::Processes),
            _ => None,
        }
    }

    /// The limit that made a run fail. `few_files` means that this process may open only a few
    /// files.
    fn of_run(error: &RunError, few_files: bool) -> Option<OwnLimit> {
        // If the descriptor table is full, a descriptor that was sent does not arrive or cannot get
        // its number.
        let lost_descriptor = matches!(error.step, Step::Receive | Step::Descriptors)
            || matches!(
                error.hint,
                Some(Hint::DescriptorCount { .. } | Hint::Frame(FrameProblem::MemfdMissing))
            );
        match (error.step, error.errno) {
            (_, Some(errno)) if OwnLimit::of_errno(errno).is_some() => OwnLimit::of_errno(errno),
            _ if few_files && lost_descriptor => Some(OwnLimit::OpenFiles),
            // No run can have a limit above that of the process that starts millibox.
            (Step::ProcessLimit, Some(libc::EPERM)) => Some(OwnLimit::Processes),
            _ => None,
        }
    }

    /// The limit that made the supervisor fail.
    fn of_supervisor(error: &SupervisorError, few_files: bool) -> Option<OwnLimit> {
        let lost_descriptor = matches!(error.hint, Some(SupervisorHint::NotOpen))
            || matches!(
                error.step,
                SupervisorStep::Socket
                    | SupervisorStep::Inheritance
                    | SupervisorStep::ReadInheritance
                    | SupervisorStep::CloseInherited
                    | SupervisorStep::CloseOnExec
                    | SupervisorStep::StandardStreams
                    | SupervisorStep::Watch
            );
        let of_run = match &error.hint {
            Some(SupervisorHint::Run(error)) => OwnLimit::of_run(error, few_files),
            _ => None,
        };
        error
            .errno
            .and_then(OwnLimit::of_errno)
            .or(of_run)
            .or((few_files && lost_descriptor).then_some(OwnLimit::OpenFiles))
    }

    fn of(error: &TrialError, few_files: bool) -> Option<OwnLimit> {
        let of_io = |error: &std::io::Error| OwnLimit::of_errno(error.raw_os_error()?);
        match error {
            TrialError::Run(error) => OwnLimit::of_run(error, few_files),
            TrialError::Io { error, .. } => of_io(error),
            TrialError::Start(error) => match &**error {
                Error::Start(StartError::Failed { error, .. })
                | Error::Died(EndReason::Failed(error)) => {
                    OwnLimit::of_supervisor(error, few_files)
                }
                Error::Start(StartError::NotExecuted { error, .. })
                | Error::System { error, .. } => of_io(error),
                _ => None,
            },
            TrialError::Unexpected { .. } | TrialError::HugePages { .. } => None,
        }
    }
}

/// The facts about the machine on which the remedies depend.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// `user.max_user_namespaces` is 0.
    no_user_namespaces: bool,
    /// `kernel.unprivileged_userns_clone` (Debian) is 0.
    no_unprivileged: bool,
    /// `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu 23.10 and later) is 1.
    apparmor: bool,
    /// This process runs in a container of Docker, Podman or a similar program.
    container: bool,
    /// A container or a systemd unit has attached a seccomp program to this process.
    seccomp: bool,
    /// Mounts cover parts of /proc.
    masked_procfs: bool,
    /// This process is root.
    root: bool,
    /// systemd is the init process.
    systemd: bool,
    /// The user has a systemd user manager.
    user_manager: bool,
    /// This process may open only a few files.
    few_files: bool,
    /// The path of the supervisor's executable, for an AppArmor profile.
    supervisor: PathBuf,
}

impl Facts {
    /// Inspects the machine.
    pub fn collect() -> Facts {
        let is = |path: &str, value: &str| {
            std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value)
        };
        let named = std::env::var_os("MILLIBOX_SUPERVISOR").filter(|path| !path.is_empty());
        let supervisor = named.map(PathBuf::from).or_else(|| {
            let beside = std::env::current_exe()
                .ok()?
                .with_file_name("millibox-supervisor");
            beside.exists().then_some(beside)
        });
        let marked = ["/.dockerenv", "/run/.containerenv"]
            .iter()
            .any(|path| Path::new(path).exists());
        Facts {
            no_user_namespaces: is("/proc/sys/user/max_user_namespaces", "0"),
            no_unprivileged: is("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            apparmor: is(
                "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                "1",
            ),
            container: marked || std::env::var_os("container").is_some(),
            seccomp: has_line("/proc/self/status", |line| {
                line.split_whitespace().eq(["Seccomp:", "2"])
            }),
            masked_procfs: has_line("/proc/self/mountinfo", covers_procfs),
            root: rustix::process::geteuid().is_root(),
            systemd: Path::new("/run/systemd/system").exists(),
            user_manager: std::env::var_os("XDG_RUNTIME_DIR")
                .is_some_and(|directory| Path::new(&directory).join("systemd/private").exists()),
            few_files: rustix::process::getrlimit(rustix::process::Resource::Nofile)
                .current
                .is_some_and(|limit| limit < MIN_OPEN_FILES),
            supervisor: supervisor
                .unwrap_or_else(|| "/usr/libexec/millibox/millibox-supervisor".into()),
        }
    }

    /// The remedy if a resource limit of the process that starts millibox made a check fail.
    pub fn rlimits(&self, error: &TrialError) -> Option<String> {
        Some(match OwnLimit::of(error, self.few_files)? {
            OwnLimit::OpenFiles => {
                format!(
                    "raise the limit on open files for millibox: ulimit -n 1024 (at least \
                     {MIN_OPEN_FILES})"
                )
            }
            OwnLimit::Processes => {
                "raise the limit on processes for millibox: ulimit -u, or pids.max of its cgroup"
                    .to_owned()
            }
        })
    }

    /// The remedy if namespaces cannot be created, or nothing can be mounted in them.
    pub fn namespaces(&self) -> Option<String> {
        if self.no_user_namespaces {
            return Some("sudo sysctl -w user.max_user_namespaces=15000".to_owned());
        }
        if self.no_unprivileged {
            return Some("sudo sysctl -w kernel.unprivileged_userns_clone=1".to_owned());
        }
        if self.apparmor {
            return Some(format!(
                "AppArmor forbids user namespaces to programs without a profile (Ubuntu). Create \
                 one:\nprintf 'abi <abi/4.0>,\\nprofile millibox {} flags=(unconfined) \
                 {{\\n  userns,\\n}}\\n' | sudo tee /etc/apparmor.d/millibox \
                 && sudo apparmor_parser -r /etc/apparmor.d/millibox\n\
                 or allow all programs: sudo sysctl -w \
                 kernel.apparmor_restrict_unprivileged_userns=0",
                self.supervisor.display()
            ));
        }
        if self.container {
            return Some(
                "a container needs a seccomp profile that allows namespaces and mounts, and no \
                 AppArmor profile that forbids them: docker run --security-opt \
                 seccomp=packaging/seccomp.json --security-opt apparmor=unconfined ...\n\
                 docs/guide/deploy.md has the complete commands for Docker and Podman"
                    .to_owned(),
            );
        }
        if self.seccomp {
            return Some(
                "a seccomp filter is attached to every program in this environment. In a \
                 container: docker run --security-opt seccomp=packaging/seccomp.json ...\nIn a \
                 systemd unit: remove RestrictNamespaces=, and allow @mount in SystemCallFilter="
                    .to_owned(),
            );
        }
        None
    }

    /// The remedy if no cgroups can be used.
    pub fn cgroups(&self) -> Option<String> {
        let remedy = match self {
            Facts {
                container: true, ..
            } => {
                "podman run --security-opt unmask=/sys/fs/cgroup ..., or docker run --security-opt \
                 writable-cgroups=true ... with millibox started as root (Docker 28, cgroup v2)\n\
                 docs/guide/deploy.md has the complete commands"
            }
            Facts {
                root: true,
                systemd: true,
                ..
            } => "systemd-run --scope -p Delegate=yes millibox ...",
            Facts { root: true, .. } => {
                "mount -t cgroup2 none /sys/fs/cgroup, or name a cgroup with --cgroup-parent"
            }
            Facts {
                user_manager: true, ..
            } => "systemd-run --user --scope -p Delegate=yes millibox ...",
            Facts { systemd: true, .. } => {
                "sudo loginctl enable-linger $USER, log in again, then: systemd-run --user --scope \
                 -p Delegate=yes millibox ..."
            }
            _ => "start millibox as root: it creates the cgroups and then drops its privileges",
        };
        Some(remedy.to_owned())
    }

    /// The remedy if no procfs can be mounted.
    pub fn procfs(&self) -> Option<String> {
        (self.container || self.masked_procfs)
            .then(|| {
                "mounts cover parts of /proc, so the kernel refuses a new procfs: docker run \
                 --security-opt systempaths=unconfined ..., or podman run --security-opt \
                 'unmask=/proc/*' ..."
                    .to_owned()
            })
            .or_else(|| self.namespaces())
    }

    /// The remedy if the kernel does not account swap.
    pub fn swap(&self) -> Option<String> {
        Some(
            "boot with swapaccount=1 on the kernel's command line (version 1 cgroups before Linux \
            6.1)"
                .to_owned(),
        )
    }
}

fn has_line(path: &str, matches: impl Fn(&str) -> bool) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.lines().any(matches))
}

/// Whether a line of mountinfo describes a mount that covers part of /proc. Mounts on directories
/// that are empty in every procfs cover nothing.
fn covers_procfs(line: &str) -> bool {
    let at = line.split_whitespace().nth(4).unwrap_or_default();
    at.starts_with("/proc/") && !matches!(at, "/proc/sys/fs/binfmt_misc" | "/proc/fs/nfsd")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_with_several_causes_names_the_first() {
        let all = Facts {
            no_user_namespaces: true,
            no_unprivileged: true,
            apparmor: true,
            container: true,
            seccomp: true,
            supervisor: "/opt/x".into(),
            ..Facts::default()
        };
        let remedy = |facts: &Facts| facts.namespaces().unwrap_or_default();
        assert!(remedy(&all).contains("max_user_namespaces"));
        let all = Facts {
            no_user_namespaces: false,
            ..all
        };
        assert!(remedy(&all).contains("userns_clone"));
        let all = Facts {
            no_unprivileged: false,
            ..all
        };
        assert!(remedy(&all).contains("profile millibox /opt/x "));
        let all = Facts {
            apparmor: false,
            ..all
        };
        assert!(remedy(&all).contains("apparmor=unconfined"));
        let all = Facts {
            container: false,
            ..all
        };
        assert!(remedy(&all).contains("RestrictNamespaces"));
        assert_eq!(Facts::default().namespaces(), None);
    }

    #[test]
    fn limit_of_run_error_follows_from_step_and_errno() {
        use OwnLimit::{OpenFiles, Processes};
        let run = |step, errno| TrialError::Run(RunError::new(step).with_errno(errno));
        for (error, limit) in [
            (run(Step::Clone, libc::EAGAIN), Some(Processes)),
            (run(Step::ProcessLimit, libc::EPERM), Some(Processes)),
            (run(Step::Clone, libc::EPERM), None),
            (run(Step::Template, libc::EMFILE), Some(OpenFiles)),
            (
                TrialError::Io {
                    action: "create a pipe",
                    error: std::io::Error::from_raw_os_error(24),
                },
                Some(OpenFiles),
            ),
            (TrialError::unexpected("(os error 24)"), None),
        ] {
            assert_eq!(OwnLimit::of(&error, false), limit, "{error}");
        }
        let count = Hint::DescriptorCount {
            announced: 2,
            received: 1,
        };
        for lost in [
            run(Step::Descriptors, libc::EBADF),
            run(Step::Receive, libc::EPROTO),
            TrialError::Run(RunError::new(Step::Request).with_hint(count)),
        ] {
            assert_eq!(OwnLimit::of(&lost, false), None, "{lost}");
            assert_eq!(OwnLimit::of(&lost, true), Some(OpenFiles), "{lost}");
        }
    }

    #[test]
    fn limit_of_start_error_follows_from_errno() {
        let error = |step, errno| {
            let error = SupervisorError::new(step).with_errno(errno);
            TrialError::from(Error::Start(StartError::Failed {
                error,
                cgroup_parent: None,
            }))
        };
        let files = error(SupervisorStep::Epoll, libc::EMFILE);
        assert_eq!(OwnLimit::of(&files, false), Some(OwnLimit::OpenFiles));
        let processes = error(SupervisorStep::Fork, libc::EAGAIN);
        assert_eq!(OwnLimit::of(&processes, false), Some(OwnLimit::Processes));
        let forbidden = error(SupervisorStep::Fork, libc::EPERM);
        assert_eq!(OwnLimit::of(&forbidden, false), None);
        let closed = error(SupervisorStep::StandardStreams, libc::EBADF);
        assert_eq!(OwnLimit::of(&closed, true), Some(OwnLimit::OpenFiles));
        let runner = RunError::new(Step::Zygote).with_errno(libc::EMFILE);
        let runner = SupervisorError::new(SupervisorStep::RunnerSetup)
            .with_hint(SupervisorHint::Run(Box::new(runner)));
        let runner = TrialError::from(Error::Died(EndReason::Failed(runner)));
        assert_eq!(OwnLimit::of(&runner, false), Some(OwnLimit::OpenFiles));
    }

    #[test]
    fn cgroup_parent_of_variable_has_remedy() {
        let error = |cgroup_parent: Option<&str>| {
            TrialError::from(Error::Start(StartError::Failed {
                error: SupervisorError::new(SupervisorStep::CgroupParent),
                cgroup_parent: cgroup_parent.map(str::to_owned),
            }))
        };
        assert!(cgroup_parent(&error(Some("/missing"))).is_some());
        assert_eq!(cgroup_parent(&error(None)), None);
    }

    #[test]
    fn procfs_with_covered_parts_names_the_option() {
        let covers =
            |at: &str| covers_procfs(&format!("36 25 0:20 / {at} ro,relatime - tmpfs tmpfs ro"));
        assert!(covers("/proc/acpi") && covers("/proc/sys"));
        assert!(!covers("/proc") && !covers("/proc/sys/fs/binfmt_misc") && !covers("/process"));
        let facts = Facts {
            masked_procfs: true,
            ..Facts::default()
        };
        assert!(
            facts
                .procfs()
                .unwrap_or_default()
                .contains("systempaths=unconfined")
        );
    }

    #[test]
    fn cgroups_with_user_manager_names_systemd_run() {
        let facts = Facts {
            user_manager: true,
            systemd: true,
            ..Facts::default()
        };
        assert!(
            facts
                .cgroups()
                .unwrap_or_default()
                .starts_with("systemd-run --user")
        );
        let facts = Facts {
            systemd: true,
            ..Facts::default()
        };
        assert!(
            facts
                .cgroups()
                .unwrap_or_default()
                .contains("enable-linger")
        );
    }
}
