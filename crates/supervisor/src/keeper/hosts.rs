//! Finds the host's cgroup hierarchies in /proc/self/cgroup and /proc/self/mountinfo (cgroups(7),
//! proc_pid_mountinfo(5)).

use millibox_wire::{SupervisorError, SupervisorStep};

/// A mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// Version 1 controllers; empty for version 2.
    pub controllers: Vec<String>,
    /// The mount point.
    pub mount: String,
    /// The directory of the hierarchy that is mounted there.
    pub root: String,
    /// The cgroup of this process, relative to the hierarchy's root.
    pub own: String,
}

impl Hierarchy {
    /// The directory of this process's cgroup, if it is below the mount point.
    pub fn own_directory(&self) -> Option<String> {
        let below = if self.root == "/" {
            Some(self.own.as_str())
        } else {
            self.own.strip_prefix(self.root.as_str())
        }?;
        Some(format!("{}{}", self.mount, below.trim_end_matches('/')))
    }
}

/// All mounted hierarchies of which this process is a member.
#[derive(Debug, Default)]
pub struct Hosts {
    pub version1: Vec<Hierarchy>,
    pub version2: Option<Hierarchy>,
}

impl Hosts {
    /// Reads the two files.
    pub fn read() -> Result<Hosts, SupervisorError> {
        let read = |path: &str| {
            std::fs::read_to_string(path).map_err(|error| {
                SupervisorError::new(SupervisorStep::Read)
                    .with_subject(path)
                    .with_io(&error)
            })
        };
        Ok(Hosts::parse(
            &read("/proc/self/cgroup")?,
            &read("/proc/self/mountinfo")?,
        ))
    }

    fn parse(cgroup: &str, mountinfo: &str) -> Hosts {
        let mut hosts = Hosts::default();
        // hierarchy-id:controllers:path
        let own: Vec<(Vec<String>, String)> = cgroup
            .lines()
            .filter_map(|line| {
                let mut parts = line.splitn(3, ':');
                let controllers = parts
                    .nth(1)?
                    .split(',')
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect();
                Some((controllers, parts.next()?.to_owned()))
            })
            .collect();
        for line in mountinfo.lines() {
            // id parent dev root mount options [optional...] - type source super-options
            let Some((before, after)) = line.split_once(" - ") else {
                continue;
            };
            let before: Vec<&str> = before.split(' ').collect();
            let after: Vec<&str> = after.split(' ').collect();
            let (Some(root), Some(mount), Some(kind)) =
                (before.get(3), before.get(4), after.first())
            else {
                continue;
            };
            let (root, mount) = (unescape(root), unescape(mount));
            match *kind {
                "cgroup2" if hosts.version2.is_none() => {
                    if let Some((_, path)) =
                        own.iter().find(|(controllers, _)| controllers.is_empty())
                    {
                        hosts.version2 = Some(Hierarchy {
                            controllers: Vec::new(),
                            mount,
                            root,
                            own: path.clone(),
                        });
                    }
                }
                "cgroup" => {
                    let options: Vec<&str> = after.get(2).unwrap_or(&"").split(',').collect();
                    let found = own.iter().find(|(controllers, _)| {
                        !controllers.is_empty()
                            && controllers
                                .iter()
                                .all(|name| options.contains(&name.as_str()))
                    });
                    if let Some((controllers, path)) = found
                        && !hosts
                            .version1
                            .iter()
                            .any(|known| known.controllers == *controllers)
                    {
                        hosts.version1.push(Hierarchy {
                            controllers: controllers.clone(),
                            mount,
                            root,
                            own: path.clone(),
                        });
                    }
                }
                _ => {}
            }
        }
        hosts
    }

    /// The version 1 hierarchy of a controller.
    pub fn version1_of(&self, controller: &str) -> Option<&Hierarchy> {
        self.version1
            .iter()
            .find(|hierarchy| hierarchy.controllers.iter().any(|name| name == controller))
    }
}

/// Whether version 2 cgroups are mounted with nsdelegate (cgroups(7)), so that the owner of a
/// cgroup cannot write its limits from inside a cgroup namespace.
pub fn limits_hold_inside() -> bool {
    std::fs::read_to_string("/proc/self/mountinfo")
        .is_ok_and(|mountinfo| has_nsdelegate(&mountinfo))
}

fn has_nsdelegate(mountinfo: &str) -> bool {
    let options = |line: &str| {
        let after = line.split_once(" - ")?.1.strip_prefix("cgroup2 ")?;
        Some(after.split([' ', ',']).any(|option| option == "nsdelegate"))
    };
    mountinfo.lines().filter_map(options).any(|there| there)
}

/// The part of a cgroup's path that ends with its systemd unit. Inside a container, cgroups have no
/// unit: their paths do not show the unit that the container has on the host.
pub fn unit_of(path: &str) -> Option<&str> {
    let mut end = path.len();
    loop {
        let end_partner = &path[..end];
        if [".slice", ".scope", ".service"]
            .iter()
            .any(|suffix| end_partner.ends_with(suffix))
        {
            return Some(end_partner);
        }
        end = end_partner.rfind('/')?;
    }
}

/// Decodes the octal escapes of mountinfo (`\040` is a space).
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        match rest
            .get(at + 1..at + 4)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok())
        {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 4..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_finds_hybrid_hierarchies() {
        let hosts = Hosts::parse(
            "5:memory:/batch/17\n3:cpu,cpuacct:/\n0::/\n",
            "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw\n",
        );
        let memory = hosts.version1_of("memory").unwrap();
        assert_eq!(
            memory.own_directory().unwrap(),
            "/sys/fs/cgroup/memory/batch/17"
        );
        assert_eq!(
            hosts.version1_of("cpuacct").unwrap().mount,
            "/sys/fs/cgroup/cpu,cpuacct"
        );
        assert_eq!(
            hosts.version2.unwrap().own_directory().unwrap(),
            "/sys/fs/cgroup/unified"
        );
    }

    #[test]
    fn unit_of_path_ends_with_unit() {
        assert_eq!(
            unit_of("/system.slice/judge.service"),
            Some("/system.slice/judge.service")
        );
        assert_eq!(
            unit_of("/system.slice/judge.service/a/b"),
            Some("/system.slice/judge.service")
        );
        assert_eq!(unit_of("/sbx/main"), None);
        assert_eq!(unit_of(""), None);
    }

    #[test]
    fn nsdelegate_is_found_in_superblock_options() {
        let line = |options| {
            format!("41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 {options}\n")
        };
        assert!(has_nsdelegate(&line("rw,nsdelegate,memory_recursiveprot")));
        assert!(!has_nsdelegate(&line("rw,memory_recursiveprot")));
        assert!(!has_nsdelegate(
            "41 31 0:38 / /nsdelegate rw - tmpfs tmpfs rw,nsdelegate\n"
        ));
        assert!(!has_nsdelegate(""));
    }

    #[test]
    fn container_sees_only_its_own_subtree() {
        let hosts = Hosts::parse(
            "0::/pod/7\n",
            "41 31 0:38 /pod /sys/fs/cgroup rw - cgroup2 cgroup rw,nsdelegate\n",
        );
        assert_eq!(
            hosts.version2.unwrap().own_directory().unwrap(),
            "/sys/fs/cgroup/7"
        );
        assert_eq!(unescape("/a\\040b"), "/a b");
    }
}
