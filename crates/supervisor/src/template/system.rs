//! The files of a template that describe the machine and the run's user, as far as a run may know
//! them. The mounter writes them into the template's own tmpfs, so they cost a run no mount of
//! their own in /etc, and one bind each in /proc.

use crate::sys::calls;
use millibox_wire::SystemFiles;
use millibox_wire::path::shown;
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The host name of all runs.
pub const HOST_NAME: &str = "millibox";
/// The name of a run's user, unless its id is another user's in [`OTHER_ACCOUNTS`].
const USER_NAME: &str = "millibox";
/// Accounts that exist on every machine.
const OTHER_ACCOUNTS: [(&str, &str, u32, &str); 2] = [
    ("root", "root", 0, "/root"),
    ("nobody", "nogroup", 65534, "/nonexistent"),
];

/// Files of the host's /etc that contain no secrets and that libraries read. A template gets copies
/// of them, and links if they are links into /usr or /etc/alternatives. The files that shells
/// execute at their start are not among them, because administrators set proxies with passwords
/// there.
const HOSTS_FILES: [&str; 12] = [
    "debian_version",
    "gai.conf",
    "host.conf",
    "inputrc",
    "locale.alias",
    "localtime",
    "os-release",
    "protocols",
    "services",
    "shells",
    "ssl/openssl.cnf",
    "timezone",
];
/// Larger files are not copied. Every template has its own copies.
const MAX_COPIED_BYTES: u64 = 64 << 10;

/// A file of a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text(Vec<u8>),
    Link(Vec<u8>),
    /// An empty file that the run may not open.
    Unreadable,
}

/// The files of a world's /etc, with their paths below it.
pub(super) fn etc_files(uid: u32, gid: u32, home: &[u8]) -> Vec<(String, Content)> {
    let home = shown(home);
    let mut passwd = String::new();
    let mut group = String::new();
    if OTHER_ACCOUNTS.iter().all(|(_, _, id, _)| *id != uid) {
        let _ = writeln!(passwd, "{USER_NAME}:x:{uid}:{gid}::{home}:/bin/sh");
    }
    if OTHER_ACCOUNTS.iter().all(|(_, _, id, _)| *id != gid) {
        let _ = writeln!(group, "{USER_NAME}:x:{gid}:");
    }
    for (user, its_group, id, usual_home) in OTHER_ACCOUNTS {
        let (its_gid, its_home) = if id == uid {
            (gid, home.as_str())
        } else {
            (id, usual_home)
        };
        let _ = writeln!(passwd, "{user}:x:{id}:{its_gid}::{its_home}:/bin/sh");
        let _ = writeln!(group, "{its_group}:x:{id}:");
    }
    let text = |name: &str, text: String| (name.to_owned(), Content::Text(text.into_bytes()));
    let mut files = vec![
        text("passwd", passwd),
        text("group", group),
        text("hostname", format!("{HOST_NAME}\n")),
        text(
            "hosts",
            format!("127.0.0.1 localhost {HOST_NAME}\n::1 localhost ip6-localhost ip6-loopback\n"),
        ),
        text(
            "nsswitch.conf",
            // Resolvers of languages test servers of their own if DNS is named.
            "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\n\
             protocols: files\n"
                .to_owned(),
        ),
        // Programs expect an error for missing rights, not for a missing file.
        ("shadow".to_owned(), Content::Unreadable),
        (
            "mtab".to_owned(),
            Content::Link(b"../proc/self/mounts".to_vec()),
        ),
    ];
    files.extend(HOSTS_FILES.into_iter().filter_map(|name| {
        let content = hosts_file(&Path::new("/etc").join(name))?;
        Some((name.to_owned(), content))
    }));
    files
}

/// A copy of a file, if the mounter's unprivileged user can read it.
fn hosts_file(path: &Path) -> Option<Content> {
    if let Ok(target) = fs::read_link(path) {
        let whole = Path::new("/etc").join(&target);
        let is_shown = ["/usr", "/etc/../usr", "/etc/alternatives"]
            .iter()
            .any(|shown| whole.starts_with(shown));
        if is_shown {
            return Some(Content::Link(target.into_os_string().into_encoded_bytes()));
        }
    }
    let found = fs::metadata(path).ok()?;
    let is_small_file = found.is_file() && found.len() <= MAX_COPIED_BYTES;
    is_small_file
        .then(|| fs::read(path).ok())
        .flatten()
        .map(Content::Text)
}

/// The files that [`RunMount::Proc`](crate::run_mounts::RunMount) mounts in a run's procfs, with
/// their paths below it. `sys` is one directory.
pub(super) fn proc_files(files: &SystemFiles) -> Vec<(String, Content)> {
    let cpus = cpus();
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let boot_ns = calls::clock_ns(libc::CLOCK_BOOTTIME);
    let mut all = vec![
        ("cpuinfo", cpu_information(&text("/proc/cpuinfo"), &cpus)),
        ("filesystems", "nodev\tproc\nnodev\ttmpfs\n".to_owned()),
        ("loadavg", "0.00 0.00 0.00 1/1 2\n".to_owned()),
        (
            "meminfo",
            memory_information(files.memory.unwrap_or_else(memory_of_machine)),
        ),
        ("stat", statistics(&cpus, boot_ns)),
        ("uptime", uptime(boot_ns)),
        ("version", version()),
        ("sys/kernel/hostname", format!("{HOST_NAME}\n")),
        ("sys/kernel/domainname", "(none)\n".to_owned()),
        // The kernel gives a new UUID to each reader. This one belongs to the template.
        (
            "sys/kernel/random/boot_id",
            text("/proc/sys/kernel/random/uuid"),
        ),
        ("sys/kernel/random/entropy_avail", "256\n".to_owned()),
        ("sys/kernel/random/poolsize", "256\n".to_owned()),
        // The mount point of the kernel's file.
        ("sys/kernel/random/uuid", String::new()),
        ("sys/kernel/threads-max", "32768\n".to_owned()),
    ];
    let names = rustix::system::uname();
    for (name, value) in [
        ("sys/kernel/osrelease", names.release()),
        ("sys/kernel/ostype", names.sysname()),
        ("sys/kernel/version", names.version()),
    ] {
        all.push((name, format!("{}\n", value.to_string_lossy())));
    }
    all.extend(SETTINGS.into_iter().filter_map(|name| {
        let text = fs::read_to_string(format!("/proc/{name}")).ok()?;
        Some((name, text))
    }));
    all.into_iter()
        .map(|(name, text)| (name.to_owned(), Content::Text(text.into_bytes())))
        .collect()
}

/// The directory of a template with the files for its procfs.
pub(super) const PROC_FILES: &str = "/.millibox/proc";

/// The names in [`PROC_FILES`] and in the procfs. Each costs a run one mount.
const PROC_NAMES: [&CStr; 8] = [
    c"cpuinfo",
    c"filesystems",
    c"loadavg",
    c"meminfo",
    c"stat",
    c"sys",
    c"uptime",
    c"version",
];

/// The mounts of a run's procfs: files of the template, and their mount points.
pub(super) fn proc_mounts() -> Vec<(CString, CString)> {
    let mount = |name: &CStr| {
        let source = [PROC_FILES.as_bytes(), b"/", name.to_bytes()].concat();
        Some((CString::new(source).ok()?, name.to_owned()))
    };
    PROC_NAMES.into_iter().filter_map(mount).collect()
}

/// The procfs's own files and links that remain, see [`RunMount::Proc`]. The links lead to
/// directories and files of the process that follows them, and uuid is new for each reader.
///
/// [`RunMount::Proc`]: crate::run_mounts::RunMount::Proc
pub(super) fn kept_in_proc() -> Vec<CString> {
    let kept: [&CStr; 3] = [c"mounts", c"net", c"sys/kernel/random/uuid"];
    kept.map(CStr::to_owned).to_vec()
}

/// The files of a world's /sys, with their paths below it.
pub(super) fn sys_files() -> Vec<(String, Content)> {
    let cpus = ranges(&cpus());
    ["online", "possible", "present"]
        .map(|name| {
            let path = format!("devices/system/cpu/{name}");
            (path, Content::Text(format!("{cpus}\n").into_bytes()))
        })
        .into()
}

/// Settings of the kernel that bound what a run can do and are the same on most machines.
const SETTINGS: [&str; 23] = [
    "sys/crypto/fips_enabled",
    "sys/fs/nr_open",
    "sys/fs/pipe-max-size",
    "sys/kernel/cap_last_cap",
    "sys/kernel/msgmax",
    "sys/kernel/msgmnb",
    "sys/kernel/msgmni",
    "sys/kernel/ngroups_max",
    "sys/kernel/overflowgid",
    "sys/kernel/overflowuid",
    "sys/kernel/pid_max",
    "sys/kernel/sem",
    "sys/kernel/shmall",
    "sys/kernel/shmmax",
    "sys/kernel/shmmni",
    "sys/net/core/somaxconn",
    "sys/net/ipv4/ip_local_port_range",
    "sys/net/ipv6/bindv6only",
    "sys/vm/max_map_count",
    "sys/vm/mmap_min_addr",
    "sys/vm/overcommit_memory",
    "sys/vm/overcommit_ratio",
    "sys/vm/swappiness",
];

/// The CPUs that runs may use.
fn cpus() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return vec![0];
    };
    (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect()
}

/// Sorted numbers as ranges, such as `0-2,5` (cpuset(7), List format).
fn ranges(numbers: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let length = (first..)
            .zip(rest)
            .take_while(|(expected, number)| expected == *number)
            .count();
        let separator = if text.is_empty() { "" } else { "," };
        let _ = match length {
            1 => write!(text, "{separator}{first}"),
            _ => write!(text, "{separator}{first}-{}", first + length - 1),
        };
        rest = &rest[length..];
    }
    text
}

/// The blocks of these CPUs in the host's /proc/cpuinfo. Text that belongs to no CPU is kept.
fn cpu_information(hosts: &str, cpus: &[usize]) -> String {
    let of_other_cpu = |block: &&str| {
        let line = block.lines().find(|line| line.starts_with("processor"));
        let number = line.and_then(|line| line.split_once(':')?.1.trim().parse().ok());
        number.is_some_and(|number: usize| !cpus.contains(&number))
    };
    hosts
        .split_inclusive("\n\n")
        .filter(|block| !of_other_cpu(block))
        .collect()
}

fn memory_of_machine() -> u64 {
    let info = rustix::system::sysinfo();
    #[allow(
        clippy::useless_conversion,
        reason = "the type differs between targets"
    )]
    u64::from(info.totalram).saturating_mul(info.mem_unit.into())
}

fn memory_information(bytes: u64) -> String {
    let total = bytes >> 10;
    let rows = [
        ("MemTotal", total),
        ("MemFree", total),
        ("MemAvailable", total),
        ("Buffers", 0),
        ("Cached", 0),
        ("SwapCached", 0),
        ("Active", 0),
        ("Inactive", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Dirty", 0),
        ("Writeback", 0),
        ("AnonPages", 0),
        ("Mapped", 0),
        ("Shmem", 0),
        ("Slab", 0),
        ("SReclaimable", 0),
        ("SUnreclaim", 0),
        ("CommitLimit", total),
        ("Committed_AS", 0),
    ];
    rows.into_iter()
        .fold(String::new(), |mut text, (name, value)| {
            let _ = writeln!(text, "{:<16}{value:>8} kB", format!("{name}:"));
            text
        })
}

fn statistics(cpus: &[usize], boot_ns: u64) -> String {
    let mut text = "cpu  0 0 0 0 0 0 0 0 0 0\n".to_owned();
    for cpu in cpus {
        let _ = writeln!(text, "cpu{cpu} 0 0 0 0 0 0 0 0 0 0");
    }
    // Programs add the time from the boot to the start of a process, which is given in the run's
    // time namespace.
    let booted = calls::clock_ns(libc::CLOCK_REALTIME).saturating_sub(boot_ns) / 1_000_000_000;
    let _ = write!(
        text,
        "intr 0\nctxt 0\nbtime {booted}\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n"
    );
    text
}

fn uptime(boot_ns: u64) -> String {
    let hundredths = boot_ns / 10_000_000;
    let (seconds, rest) = (hundredths / 100, hundredths % 100);
    format!("{seconds}.{rest:02} {seconds}.{rest:02}\n")
}

fn version() -> String {
    let names = rustix::system::uname();
    format!(
        "{} version {} ({HOST_NAME}) {}\n",
        names.sysname().to_string_lossy(),
        names.release().to_string_lossy(),
        names.version().to_string_lossy(),
    )
}

#[cfg(test)]
mod tests {
    use super::{
        Content, OTHER_ACCOUNTS, cpu_information, etc_files, kept_in_proc, memory_information,
        ranges, statistics, uptime,
    };
    use crate::run_mounts::MAX_KEPT;

    fn text(uid: u32, gid: u32, name: &str) -> String {
        let files = etc_files(uid, gid, b"/work");
        match files.into_iter().find(|(path, _)| path == name) {
            Some((_, Content::Text(text))) => String::from_utf8(text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn accounts_name_each_id_once() {
        let named = |expected: &str| expected.replace("ANY", OTHER_ACCOUNTS[1].0);
        assert_eq!(
            text(60578, 60579, "passwd"),
            named(
                "millibox:x:60578:60579::/work:/bin/sh\n\
             root:x:0:0::/root:/bin/sh\n\
             ANY:x:65534:65534::/nonexistent:/bin/sh\n"
            )
        );
        assert_eq!(
            text(0, 65534, "passwd"),
            named(
                "root:x:0:65534::/work:/bin/sh\n\
             ANY:x:65534:65534::/nonexistent:/bin/sh\n"
            )
        );
        assert_eq!(text(60578, 65534, "group"), "root:x:0:\nnogroup:x:65534:\n");
    }

    #[test]
    fn cpu_information_omits_other_cpus() {
        let hosts =
            "processor\t: 0\nflags\t: a\n\nprocessor\t: 1\n\nprocessor\t: 10\n\nHardware: x\n";
        assert_eq!(
            cpu_information(hosts, &[1, 3]),
            "processor\t: 1\n\nHardware: x\n"
        );
    }

    #[test]
    fn ranges_contain_all_numbers() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[3]), "3");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }

    #[test]
    fn kept_files_fit() {
        assert!(kept_in_proc().len() <= MAX_KEPT);
    }

    #[test]
    fn figures_are_those_of_the_run() {
        assert!(memory_information(64 << 20).starts_with("MemTotal:          65536 kB\n"));
        assert!(statistics(&[2, 5], 0).starts_with("cpu  0 0"));
        assert!(statistics(&[2, 5], 0).contains("\ncpu2 0 "));
        assert_eq!(uptime(12_345_678_901), "12.34 12.34\n");
    }
}
