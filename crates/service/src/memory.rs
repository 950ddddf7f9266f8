//! The memory that the service and its runs may use.

use std::path::Path;

/// Where version 2 cgroups are mounted.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The memory of the machine, or the lowest limit of the cgroups in which the service runs. A
/// container or a systemd unit may set such a limit.
pub fn available_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    let machine = info
        .totalram
        .saturating_mul(u64::from(info.mem_unit.max(1)));
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = lowest_limit(Path::new(CGROUPS), &own);
    limit.map_or(machine, |limit| limit.min(machine))
}

/// The lowest `memory.max` of a process's cgroup and those above it. `cgroups` is the text of
/// /proc/PID/cgroup. `None` if there is no limit.
fn lowest_limit(mount: &Path, cgroups: &str) -> Option<u64> {
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let limits = Path::new(own).ancestors().filter_map(|above| {
        let text = std::fs::read_to_string(mount.join(above).join("memory.max"));
        text.ok()?.trim().parse().ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_limit_of_nested_cgroups_wins() {
        let mount = tempfile::tempdir().unwrap();
        let own = mount.path().join("unit/callers");
        std::fs::create_dir_all(&own).unwrap();
        let of = |cgroups| lowest_limit(mount.path(), cgroups);
        assert_eq!(of("0::/unit/callers\n"), None);
        std::fs::write(own.join("memory.max"), "max\n").unwrap();
        assert_eq!(of("0::/unit/callers\n"), None);
        std::fs::write(mount.path().join("unit/memory.max"), "1048576\n").unwrap();
        assert_eq!(of("4:memory:/a\n0::/unit/callers\n"), Some(1 << 20));
        // The limit of a container is at the top of the hierarchy that it sees.
        std::fs::write(mount.path().join("memory.max"), "4096\n").unwrap();
        assert_eq!(of("0::/unit/callers\n"), Some(4096));
        assert_eq!(of("0::/\n"), Some(4096));
        assert_eq!(of("4:memory:/unit\n"), None);
    }
}
