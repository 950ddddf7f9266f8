//! The description of the machine on which an experiment ran.

use serde::Serialize;

/// The properties of a machine that a comparison with another machine needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// The kernel's release (uname -r).
    pub kernel: String,
    /// The distribution's name.
    pub distribution: Option<String>,
    /// The first CPU's model, if the kernel reports it.
    pub cpu_model: Option<String>,
    /// The number of CPUs that the process may use.
    pub cpus: usize,
    /// The memory in bytes.
    pub memory_bytes: u64,
    /// Whether this is a virtual machine, where forks, page faults and wake-ups cost more.
    pub virtual_machine: bool,
    /// The load average of the minute before the measurement; about 0 on an idle machine.
    pub load_before: Option<f64>,
    /// Whether the process runs as root.
    pub root: bool,
}

impl Machine {
    /// Describes this machine.
    pub fn detect() -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        Machine {
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            distribution: distribution(&read("/etc/os-release")),
            cpu_model: field(&cpuinfo, "model name"),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: memory(&read("/proc/meminfo")),
            virtual_machine: field(&cpuinfo, "flags")
                .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
            load_before: read("/proc/loadavg")
                .split_whitespace()
                .next()
                .and_then(|load| load.parse().ok()),
            root: rustix::process::geteuid().is_root(),
        }
    }

    /// The description in one line.
    pub fn summary_line(&self) -> String {
        let mut words = vec![
            format!(
                "{} {}",
                self.cpus,
                if self.virtual_machine {
                    "virtual CPUs"
                } else {
                    "CPUs"
                }
            ),
            format!("{} GiB", self.memory_bytes.div_ceil(1 << 30)),
        ];
        words[0].push_str(
            &self
                .cpu_model
                .as_ref()
                .map(|model| format!(" ({model})"))
                .unwrap_or_default(),
        );
        words.extend(self.distribution.clone());
        words.push(format!("Linux {}", self.kernel));
        words.push(
            if self.root {
                "started by root"
            } else {
                "without root"
            }
            .to_owned(),
        );
        words.extend(self.load_before.map(|load| format!("load {load} before")));
        words.join(", ")
    }
}

/// The first value of a field of /proc/cpuinfo.
fn field(cpuinfo: &str, wanted: &str) -> Option<String> {
    let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.trim_end() == wanted)?;
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn distribution(os_release: &str) -> Option<String> {
    let name = os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// The value of MemTotal in /proc/meminfo, converted from KiB to bytes.
fn memory(meminfo: &str) -> u64 {
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let number = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_is_read_from_the_kernels_files() {
        let cpuinfo = "processor\t: 0\nmodel name\t: A CPU @ 2.0GHz\nflags\t\t: fpu \
            hypervisor\nmodel name : B\n";
        assert_eq!(
            field(cpuinfo, "model name").as_deref(),
            Some("A CPU @ 2.0GHz")
        );
        assert_eq!(field("processor\t: 0\n", "model name"), None);
        assert_eq!(memory("MemTotal:       2048 kB\nMemFree: 1 kB\n"), 2 << 20);
        assert_eq!(
            distribution("ID=debian\nPRETTY_NAME=\"Debian 12\"\n").as_deref(),
            Some("Debian 12")
        );
        let here = Machine::detect();
        assert!(
            here.cpus > 0
                && here.memory_bytes > 0
                && !here.kernel.is_empty()
                && !here.summary_line().is_empty()
        );
    }
}
