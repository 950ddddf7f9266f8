//! What is likely to be in the way here, and the command that mends it. Only asked once
//! something has been tried and does not work.

use super::trial::TrialError;
use millibox::{Error, FrameProblem, Hint, RunError, Step};
use std::path::{Path, PathBuf};

/// A supervisor with one slot opens no more files than this.
const ENOUGH_FILES: u64 = 64;

/// The remedy if the supervisor did not start because of MILLIBOX_CGROUP_PARENT.
pub fn cgroup_parent(error: &TrialError) -> Option<String> {
    let text = start_text(error)?;
    // The supervisor's start error is text so far.
    let is_cause = text.contains("MILLIBOX_CGROUP_PARENT");
    is_cause.then(|| "set MILLIBOX_CGROUP_PARENT to an existing cgroup, or unset it".to_owned())
}

/// The words of a supervisor that did not start or died.
fn start_text(error: &TrialError) -> Option<&str> {
    let TrialError::Start(error) = error else {
        return None;
    };
    match &**error {
        Error::Start(text) | Error::Died(text) => Some(text),
        _ => None,
    }
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

    /// The limit that made a run fail. `few_files`: few files may be open.
    fn of_run(error: &RunError, few_files: bool) -> Option<OwnLimit> {
        // Without room for one more descriptor, a descriptor that was sent does not arrive or
        // cannot have its number.
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

    /// The limit that made the supervisor fail. Its start error is text so far.
    fn of_start_text(text: &str, few_files: bool) -> Option<OwnLimit> {
        let has_errno = |errno: i32| text.contains(&format!("(os error {errno})"));
        let named = [libc::EMFILE, libc::EAGAIN]
            .into_iter()
            .find(|errno| has_errno(*errno));
        let lost_descriptor = few_files && text.contains("descriptor");
        named
            .and_then(OwnLimit::of_errno)
            .or(lost_descriptor.then_some(OwnLimit::OpenFiles))
    }

    fn of(error: &TrialError, few_files: bool) -> Option<OwnLimit> {
        let of_io = |error: &std::io::Error| OwnLimit::of_errno(error.raw_os_error()?);
        match error {
            TrialError::Run(error) => OwnLimit::of_run(error, few_files),
            TrialError::Io { error, .. } => of_io(error),
            TrialError::Start(error) => match &**error {
                Error::Start(text) | Error::Died(text) => OwnLimit::of_start_text(text, few_files),
                Error::NotExecuted { error, .. } | Error::System { error, .. } => of_io(error),
                _ => None,
            },
            TrialError::Unexpected { .. } => None,
        }
    }
}

/// What there is to know of a machine.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// `user.max_user_namespaces` is 0.
    no_user_namespaces: bool,
    /// `kernel.unprivileged_userns_clone` (Debian) is 0.
    no_unprivileged: bool,
    /// `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu 23.10 and later) is 1.
    apparmor: bool,
    /// Inside Docker, Podman or their like.
    container: bool,
    /// A seccomp program is attached to us: a container's, or a systemd unit's.
    seccomp: bool,
    /// Something is mounted over parts of /proc.
    masked_procfs: bool,
    /// We are root.
    root: bool,
    /// systemd is the init process here.
    systemd: bool,
    /// A systemd user manager serves us.
    user_manager: bool,
    /// We may have few files open.
    few_files: bool,
    /// Where the supervisor is, for a profile of it.
    supervisor: PathBuf,
}

impl Facts {
    /// Looks.
    pub fn look() -> Facts {
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
                .is_some_and(|most| most < ENOUGH_FILES),
            supervisor: supervisor
                .unwrap_or_else(|| "/usr/libexec/millibox/millibox-supervisor".into()),
        }
    }

    /// The remedy if a resource limit of the process that starts millibox made a check fail.
    pub fn rlimits(&self, error: &TrialError) -> Option<String> {
        Some(match OwnLimit::of(error, self.few_files)? {
            OwnLimit::OpenFiles => {
                format!(
                    "raise the limit on open files around millibox: ulimit -n 1024 ({ENOUGH_FILES} \
                     at least)"
                )
            }
            OwnLimit::Processes => {
                "raise the limit on processes around millibox: ulimit -u, or pids.max of its cgroup"
                    .to_owned()
            }
        })
    }

    /// No namespaces can be made, or nothing can be mounted in them.
    pub fn namespaces(&self) -> Option<String> {
        if self.no_user_namespaces {
            return Some("sudo sysctl -w user.max_user_namespaces=15000".to_owned());
        }
        if self.no_unprivileged {
            return Some("sudo sysctl -w kernel.unprivileged_userns_clone=1".to_owned());
        }
        if self.apparmor {
            return Some(format!(
                "AppArmor forbids user namespaces to programs without a profile (Ubuntu). Either give it one:\n\
                 printf 'abi <abi/4.0>,\\nprofile millibox {} flags=(unconfined) {{\\n  userns,\\n}}\\n' | sudo tee \
                 /etc/apparmor.d/millibox && sudo apparmor_parser -r /etc/apparmor.d/millibox\n\
                 or allow all programs: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
                self.supervisor.display()
            ));
        }
        if self.container {
            return Some(
                "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
                 --security-opt systempaths=unconfined ..."
                    .to_owned(),
            );
        }
        if self.seccomp {
            return Some(
                "a seccomp filter is attached to whatever is started here. In a container: docker \
                 run --security-opt seccomp=unconfined ...\nIn a systemd unit: without \
                 RestrictNamespaces=, and without a SystemCallFilter= that lacks @mount"
                    .to_owned(),
            );
        }
        None
    }

    /// No cgroups can be had.
    pub fn cgroups(&self) -> Option<String> {
        let remedy = match self {
            Facts {
                container: true, ..
            } => {
                "docker run --privileged --cgroupns=private ... (cgroup v2), or start millibox as \
                 root in a container that may write its cgroups (version 1)"
            }
            Facts {
                root: true,
                systemd: true,
                ..
            } => "systemd-run --scope -p Delegate=yes millibox ...",
            Facts { root: true, .. } => {
                "mount -t cgroup2 none /sys/fs/cgroup, or give a cgroup by --cgroup-parent"
            }
            Facts {
                user_manager: true, ..
            } => "systemd-run --user --scope -p Delegate=yes millibox ...",
            Facts { systemd: true, .. } => {
                "sudo loginctl enable-linger $USER, log in anew, then: systemd-run --user --scope \
                 -p Delegate=yes millibox ..."
            }
            _ => "start millibox as root: it hands cgroups over and drops its privileges",
        };
        Some(remedy.to_owned())
    }

    /// No procfs can be mounted.
    pub fn procfs(&self) -> Option<String> {
        (self.container || self.masked_procfs)
            .then(|| {
                "parts of /proc are covered here, which forbids new ones: docker run \
                 --security-opt systempaths=unconfined ... (podman: --security-opt unmask=ALL)"
                    .to_owned()
            })
            .or_else(|| self.namespaces())
    }

    /// Swap is not counted.
    pub fn swap(&self) -> Option<String> {
        Some(
            "boot with swapaccount=1 on the kernel's command line (version 1 cgroups before Linux \
            6.1)"
                .to_owned(),
        )
    }
}

fn has_line(path: &str, like: impl Fn(&str) -> bool) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.lines().any(like))
}

/// Whether a line of mountinfo is of a mount that covers part of /proc. Where the kernel has places
/// for others' file systems, which are empty by themselves, nothing is covered.
fn covers_procfs(line: &str) -> bool {
    let at = line.split_whitespace().nth(4).unwrap_or_default();
    at.starts_with("/proc/") && !matches!(at, "/proc/sys/fs/binfmt_misc" | "/proc/fs/nfsd")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_thing_in_the_way_is_named() {
        let all = Facts {
            no_user_namespaces: true,
            no_unprivileged: true,
            apparmor: true,
            container: true,
            seccomp: true,
            supervisor: "/opt/x".into(),
            ..Facts::default()
        };
        let says = |facts: &Facts| facts.namespaces().unwrap_or_default();
        assert!(says(&all).contains("max_user_namespaces"));
        let all = Facts {
            no_user_namespaces: false,
            ..all
        };
        assert!(says(&all).contains("userns_clone"));
        let all = Facts {
            no_unprivileged: false,
            ..all
        };
        assert!(says(&all).contains("profile millibox /opt/x "));
        let all = Facts {
            apparmor: false,
            ..all
        };
        assert!(says(&all).contains("systempaths=unconfined"));
        let all = Facts {
            container: false,
            ..all
        };
        assert!(says(&all).contains("RestrictNamespaces"));
        assert_eq!(Facts::default().namespaces(), None);
    }

    #[test]
    fn exhausted_limit_is_known_from_step_and_errno() {
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
    fn exhausted_limit_is_known_from_start_error() {
        let error = |text: &str| TrialError::from(Error::Start(text.to_owned()));
        let usual = Facts::default();
        let files = usual.rlimits(&error(
            "cannot make a socket: Too many open files (os error 24)",
        ));
        assert!(files.is_some_and(|remedy| remedy.contains("ulimit -n")));
        let processes = usual.rlimits(&error(
            "cannot clone: Resource temporarily unavailable (os error 11)",
        ));
        assert!(processes.is_some_and(|remedy| remedy.contains("ulimit -u")));
        assert_eq!(
            usual.rlimits(&error("cannot clone: Operation not permitted (os error 1)")),
            None
        );
        assert!(
            cgroup_parent(&error("MILLIBOX_CGROUP_PARENT=a: must be an absolute path")).is_some()
        );
    }

    #[test]
    fn a_procfs_that_is_covered() {
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
    fn who_has_a_user_manager_asks_it() {
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
