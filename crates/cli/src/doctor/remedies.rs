//! What is likely to be in the way here, and the command that mends it. Only asked once
//! something has been tried and does not work.

use std::path::{Path, PathBuf};

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
    /// We are root.
    root: bool,
    /// systemd is the init process here.
    systemd: bool,
    /// A systemd user manager serves us.
    user_manager: bool,
    /// Where the supervisor is, for a profile of it.
    supervisor: PathBuf,
}

impl Facts {
    /// Looks.
    pub fn look() -> Facts {
        let is = |path: &str, value: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
        let supervisor = std::env::var_os("MILLIBOX_SUPERVISOR").map(PathBuf::from).or_else(|| {
            let beside = std::env::current_exe().ok()?.with_file_name("millibox-supervisor");
            beside.exists().then_some(beside)
        });
        let marked = ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists());
        Facts {
            no_user_namespaces: is("/proc/sys/user/max_user_namespaces", "0"),
            no_unprivileged: is("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            apparmor: is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            container: marked || std::env::var_os("container").is_some(),
            root: rustix::process::geteuid().is_root(),
            systemd: Path::new("/run/systemd/system").exists(),
            user_manager: std::env::var_os("XDG_RUNTIME_DIR")
                .is_some_and(|directory| Path::new(&directory).join("systemd/private").exists()),
            supervisor: supervisor.unwrap_or_else(|| "/usr/libexec/millibox/millibox-supervisor".into()),
        }
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
        None
    }

    /// No cgroups can be had.
    pub fn cgroups(&self) -> Option<String> {
        let remedy = match self {
            Facts { container: true, .. } => {
                "docker run --privileged --cgroupns=private ... (cgroup v2), or start millibox as root in a \
                 container that may write its cgroups (version 1)"
            }
            Facts { root: true, systemd: true, .. } => "systemd-run --scope -p Delegate=yes millibox ...",
            Facts { root: true, .. } => "mount -t cgroup2 none /sys/fs/cgroup, or give a cgroup by --cgroup-parent",
            Facts { user_manager: true, .. } => "systemd-run --user --scope -p Delegate=yes millibox ...",
            Facts { systemd: true, .. } => {
                "sudo loginctl enable-linger $USER, log in anew, then: systemd-run --user --scope -p Delegate=yes \
                 millibox ..."
            }
            _ => "start millibox as root: it hands cgroups over and drops its privileges",
        };
        Some(remedy.to_owned())
    }

    /// No procfs can be mounted.
    pub fn procfs(&self) -> Option<String> {
        self.container
            .then(|| {
                "docker run --security-opt systempaths=unconfined ... (a masked /proc forbids new ones)".to_owned()
            })
            .or_else(|| self.namespaces())
    }

    /// Swap is not counted.
    pub fn swap(&self) -> Option<String> {
        Some("boot with swapaccount=1 on the kernel's command line (version 1 cgroups before Linux 6.1)".to_owned())
    }
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
            supervisor: "/opt/x".into(),
            ..Facts::default()
        };
        let says = |facts: &Facts| facts.namespaces().unwrap_or_default();
        assert!(says(&all).contains("max_user_namespaces"));
        let all = Facts { no_user_namespaces: false, ..all };
        assert!(says(&all).contains("userns_clone"));
        let all = Facts { no_unprivileged: false, ..all };
        assert!(says(&all).contains("profile millibox /opt/x "));
        let all = Facts { apparmor: false, ..all };
        assert!(says(&all).contains("seccomp=unconfined"));
        assert_eq!(Facts::default().namespaces(), None);
    }

    #[test]
    fn who_has_a_user_manager_asks_it() {
        let facts = Facts { user_manager: true, systemd: true, ..Facts::default() };
        assert!(facts.cgroups().unwrap_or_default().starts_with("systemd-run --user"));
        let facts = Facts { systemd: true, ..Facts::default() };
        assert!(facts.cgroups().unwrap_or_default().contains("enable-linger"));
    }
}
