//! The privileges of each process as /proc and ptrace(2) show them, as tables.

#![allow(unsafe_code, reason = "inspects processes with ptrace(2)")]

use super::{Scene, USER};
use millibox_seccomp::{Action, Arch, Program, constant_action};
use millibox_tests::{is_root, skip};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The fields of /proc/PID/status (proc_pid_status(5)).
fn status(pid: i32) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process's status");
    let pair = |line: &str| {
        line.split_once(':')
            .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

pub(super) fn number(status: &BTreeMap<String, String>, key: &str) -> u64 {
    status
        .get(key)
        .and_then(|value| value.parse().ok())
        .unwrap_or_else(|| panic!("no {key} in {status:?}"))
}

/// The names of the capabilities in a mask (capabilities(7)).
fn capabilities(mask: &str, all: &str) -> String {
    let names = [
        (1, "DAC_OVERRIDE"),
        (5, "KILL"),
        (12, "NET_ADMIN"),
        (18, "SYS_CHROOT"),
        (21, "SYS_ADMIN"),
    ];
    let bits = u64::from_str_radix(mask, 16).expect("a mask");
    if bits == 0 {
        return "none".to_owned();
    }
    if mask == all {
        return "as the client".to_owned();
    }
    let known: u64 = names.iter().map(|(bit, _)| 1 << bit).sum();
    assert_eq!(bits & !known, 0, "capabilities {mask}");
    let contained = names
        .iter()
        .filter(|(bit, _)| bits & 1 << bit != 0)
        .map(|(_, name)| *name);
    contained.collect::<Vec<_>>().join(", ")
}

/// For each process, its namespaces other than the client's, grouped by the process that created
/// them.
fn namespaces(processes: &[(&'static str, i32)]) -> Option<Vec<String>> {
    let mut makers: BTreeMap<String, &str> = BTreeMap::new();
    let mut all = Vec::new();
    for (name, pid) in processes {
        let mut by_maker: Vec<(&str, Vec<&str>)> = Vec::new();
        for kind in ["user", "mnt", "net", "ipc", "uts", "time", "cgroup", "pid"] {
            let link = std::fs::read_link(format!("/proc/{pid}/ns/{kind}"))
                .ok()?
                .display()
                .to_string();
            let maker = *makers.entry(link).or_insert_with(|| match (*name, kind) {
                // The runner has entered this namespace. The mounter that created it has ended.
                ("runner", "mnt") => "template's",
                ("runner", _) => "runner's",
                ("client", _) => "",
                ("supervisor", _) => "supervisor's",
                ("zygote", _) => "zygote's",
                ("pid1", _) => "run's",
                (other, _) => panic!("{other} created a namespace: {kind}: {processes:?}"),
            });
            match by_maker.iter_mut().find(|(other, _)| *other == maker) {
                Some((_, kinds)) => kinds.push(kind),
                None => by_maker.push((maker, vec![kind])),
            }
        }
        by_maker.retain(|(maker, _)| !maker.is_empty());
        let shown = by_maker
            .iter()
            .map(|(maker, kinds)| format!("{maker} {}", kinds.join(", ")));
        all.push(shown.collect::<Vec<_>>().join("; "));
    }
    Some(all)
}

/// The kinds of open descriptors; `None` if this process may not read them.
fn descriptors(pid: i32) -> Option<String> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten() {
        let target = std::fs::read_link(entry.path()).ok()?.display().to_string();
        let info = std::fs::read_to_string(format!(
            "/proc/{pid}/fdinfo/{}",
            entry.file_name().display()
        ))
        .ok()?;
        let flags = info
            .lines()
            .find_map(|line| line.strip_prefix("flags:"))
            .unwrap_or("0");
        let writes = i64::from_str_radix(flags.trim(), 8).is_ok_and(|flags| flags & 0o3 != 0);
        let (before, _) = target.split_once(':').unwrap_or((&target, ""));
        let file = target.rsplit('/').next().unwrap_or_default();
        let kind = match before {
            "socket" | "pipe" | "pidfd" => before.to_owned(),
            "mnt" => "mount namespace".to_owned(),
            "net" => "network namespace".to_owned(),
            "anon_inode" => target
                .trim_start_matches("anon_inode:")
                .trim_matches(['[', ']'])
                .to_owned(),
            "/memfd" => "runner's memory".to_owned(),
            "/proc" => "/proc (O_PATH)".to_owned(),
            // The second path occurs in a mount namespace with a different /dev.
            "/dev/null" | "/null" => "/dev/null".to_owned(),
            path if path.ends_with("/net/sockstat") => "number of sockets".to_owned(),
            path if path.contains("/millibox-") && !file.starts_with("millibox-") => if writes {
                "cgroup files to write"
            } else {
                "cgroup files"
            }
            .to_owned(),
            path if path.contains("/millibox-") => "cgroup (locked)".to_owned(),
            path => path.to_owned(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    let shown = kinds.iter().map(|(kind, count)| {
        if *count == 1 {
            kind.clone()
        } else {
            format!("{kind} ×{count}")
        }
    });
    Some(shown.collect::<Vec<_>>().join(", "))
}

/// The number of system calls that the process's seccomp programs allow. `None` if this process may
/// not read them, or if the kernel cannot return them.
fn calls(pid: i32) -> Option<String> {
    let programs = programs(pid)?;
    if programs.is_empty() {
        return Some("all".to_owned());
    }
    let arch = Arch::native();
    let (mut always, mut sometimes) = (0, 0);
    for (_, number) in arch.syscalls() {
        let answers: Vec<Option<u32>> = programs
            .iter()
            .map(|program| constant_action(program, arch, number))
            .collect();
        let allow = Some(Action::Allow.value());
        if answers.iter().all(|answer| *answer == allow) {
            always += 1;
        } else if answers
            .iter()
            .all(|answer| *answer == allow || answer.is_none())
        {
            sometimes += 1;
        }
    }
    Some(format!("{always}, and {sometimes} by their arguments"))
}

/// A process's seccomp programs (ptrace(2), `PTRACE_SECCOMP_GET_FILTER`).
fn programs(pid: i32) -> Option<Vec<Program>> {
    const GET_FILTER: libc::c_uint = 0x420c;
    // SAFETY: all arguments are plain numbers.
    unsafe {
        if libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) != 0 {
            return None;
        }
        assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0), 0);
        assert_eq!(libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL), pid);
    }
    let mut all = Some(Vec::new());
    for index in 0usize.. {
        // SAFETY: with a null address, the kernel only returns the number of instructions.
        let length = unsafe { libc::ptrace(GET_FILTER, pid, index, 0usize) };
        if length < 0 {
            // ENOENT means that no other program exists, and EINVAL that the process has no
            // program. For other errors, the kernel cannot return programs, or not to this process.
            let errno = std::io::Error::last_os_error().raw_os_error();
            all = all.filter(|all| {
                errno == Some(libc::ENOENT) || all.is_empty() && errno == Some(libc::EINVAL)
            });
            break;
        }
        let mut bytes = vec![0u8; length as usize * 8];
        // SAFETY: the buffer has room for all instructions, 8 bytes each.
        let again = unsafe { libc::ptrace(GET_FILTER, pid, index, bytes.as_mut_ptr()) };
        assert_eq!(again, length);
        all.as_mut()?
            .push(Program::from_bytes(&bytes).expect("a program"));
    }
    // SAFETY: all arguments are plain numbers.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) }, 0);
    all
}

/// A process, as a row of the table.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Row {
    name: &'static str,
    user: String,
    capabilities: String,
    bounding: String,
    no_new_privs: bool,
    programs: u64,
    /// The number of system calls that its programs allow.
    calls: Option<String>,
    namespaces: Option<String>,
    descriptors: Option<String>,
}

fn rows(scene: &Scene) -> Vec<Row> {
    let client = status(scene.pid("client"));
    let namespaces = namespaces(&scene.processes);
    let row = |(at, (name, pid)): (usize, &(&'static str, i32))| {
        let status = status(*pid);
        let ids: Vec<&str> = ["Uid", "Gid"]
            .iter()
            .flat_map(|key| status[*key].split_whitespace())
            .collect();
        assert!(ids.iter().all(|id| id == &ids[0]), "{name}: {ids:?}");
        assert_eq!(status["CapEff"], status["CapPrm"], "{name}");
        if *name != "client" {
            for set in ["CapInh", "CapAmb"] {
                assert_eq!(status[set].trim_matches('0'), "", "{name}: {set}");
            }
            assert!(
                *name == "keeper" || status["Groups"].is_empty(),
                "{name}: groups {}",
                status["Groups"]
            );
        }
        Row {
            name,
            user: if ids[0] == "0" {
                "root"
            } else {
                "unprivileged"
            }
            .to_owned(),
            capabilities: capabilities(&status["CapEff"], &client["CapEff"]),
            bounding: capabilities(&status["CapBnd"], &client["CapBnd"]),
            no_new_privs: number(&status, "NoNewPrivs") == 1,
            programs: number(&status, "Seccomp_filters") - number(&client, "Seccomp_filters"),
            calls: calls(*pid),
            namespaces: namespaces.as_ref().map(|all| all[at].clone()),
            descriptors: if *name == "client" {
                Some("its own".to_owned())
            } else {
                descriptors(*pid)
            },
        }
    };
    scene.processes.iter().enumerate().map(row).collect()
}

/// The rows of an idle client, and the program of a client that runs a program.
fn all_rows(user: Option<u32>) -> (Vec<Row>, String) {
    let rest = Scene::start(user, false, &[]);
    let backend = rest.backend.clone();
    let mut all = rows(&rest);
    drop(rest);
    let running = rows(&Scene::start(user, true, &[]));
    // Only the last row differs.
    let (program, others) = running.split_last().expect("processes");
    assert_eq!(others, &all[..all.len() - 1], "while a program runs");
    all.push(program.clone());
    let separate = rows(&Scene::start(user, true, &["separate-pid1"]));
    let pid1 = separate
        .iter()
        .find(|row| row.name == "pid1")
        .expect("pid1")
        .clone();
    let place = all
        .iter()
        .position(|row| row.name == "target")
        .expect("the target");
    all.insert(
        place,
        Row {
            name: "pid1 with memory of its own",
            ..pid1
        },
    );
    (all, backend)
}

fn table(rows: &[Row]) -> String {
    let mut text =
        "| process | user | capabilities | bounding set | no_new_privs | seccomp programs | system \
                    calls | namespaces other than the client's | descriptors |\n| --- | --- | --- \
                    | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for row in rows {
        let Row {
            name,
            user,
            capabilities,
            bounding,
            ..
        } = row;
        let privileges = if row.no_new_privs { "yes" } else { "no" };
        let namespaces = row.namespaces.as_deref().unwrap_or("?");
        let descriptors = row.descriptors.as_deref().unwrap_or("?");
        let _ = writeln!(
            text,
            "| {name} | {user} | {capabilities} | {bounding} | {privileges} | {} | {} | \
             {namespaces} | {descriptors} |",
            row.programs,
            row.calls.as_deref().unwrap_or("?"),
        );
    }
    text
}

/// Asserts the facts that hold on every machine and for every user.
fn check(rows: &[Row], keeper_user: Option<&str>) {
    let runners = "NET_ADMIN, SYS_CHROOT, SYS_ADMIN";
    let mut expected = vec![
        ("supervisor", "unprivileged", "none", "none", 1),
        ("spawner", "unprivileged", runners, runners, 0),
        ("runner", "unprivileged", runners, runners, 0),
        ("zygote", "unprivileged", runners, runners, 1),
        ("pid1", "unprivileged", "none", "none", 1),
        (
            "pid1 with memory of its own",
            "unprivileged",
            "none",
            "none",
            1,
        ),
        ("target", "unprivileged", "none", "none", 1),
        ("program", "unprivileged", "none", "none", 1),
    ];
    match keeper_user {
        Some("root") => expected.insert(
            0,
            (
                "keeper",
                "root",
                "DAC_OVERRIDE, KILL",
                "DAC_OVERRIDE, KILL",
                1,
            ),
        ),
        Some(_) => expected.insert(0, ("keeper", "unprivileged", "none", "as the client", 1)),
        None => {}
    }
    let seen: Vec<_> = rows
        .iter()
        .filter(|row| row.name != "client")
        .inspect(|row| assert!(row.no_new_privs, "{row:?}"))
        .map(|row| {
            (
                row.name,
                row.user.as_str(),
                row.capabilities.as_str(),
                row.bounding.as_str(),
                row.programs,
            )
        })
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn each_process_keeps_only_the_expected_privileges() {
    let (rows, backend) = all_rows(None);
    let keeper = rows
        .iter()
        .find(|row| row.name == "keeper")
        .map(|row| row.user.clone());
    assert_eq!(keeper.is_some(), backend != "rlimit");
    check(&rows, keeper.as_deref());
    if is_root() {
        // Root can read everything about another user's processes.
        let (rows, backend) = all_rows(Some(USER));
        let keeper = (backend != "rlimit").then_some("unprivileged");
        check(&rows, keeper);
    }
}

#[test]
fn privileges_page_contains_current_tables() {
    if !is_root() {
        return skip("only root can read the supervisor's descriptors");
    }
    let (as_root, backend) = all_rows(None);
    let (as_user, users_backend) = all_rows(Some(USER));
    let fresh = format!(
        "Started by root, version 1 cgroups (`hybrid`):\n\n{}\nStarted by a user, no cgroups \
         (`rlimit`):\n\n{}",
        table(&as_root),
        table(&as_user)
    );
    if let Some(path) = std::env::var_os("MILLIBOX_PRIVILEGES_TABLE") {
        std::fs::write(&path, &fresh).expect("the tables");
    }
    if (backend.as_str(), users_backend.as_str()) != ("hybrid", "rlimit") {
        return skip("the tables describe version 1 cgroups, and a user without cgroups");
    }
    let document = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/security/privileges.md"
    );
    let Ok(document) = std::fs::read_to_string(document) else {
        return skip("docs/security/privileges.md is missing");
    };
    let normal = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        normal(&document).contains(&normal(&fresh)),
        "docs/security/privileges.md differs; MILLIBOX_PRIVILEGES_TABLE=FILE writes the \
         current tables:\n{fresh}"
    );
}
