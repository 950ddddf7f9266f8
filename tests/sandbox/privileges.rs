//! What each process may still do, at rest and while a program runs, as /proc shows it; and that
//! supervisor, keeper and a pid1 of its own memory end when they do what they have no use for.
//!
//! The tables in docs/security/privileges.md are made here: `MILLIBOX_PRIVILEGES_TABLE=FILE` writes
//! them to a file, and a test compares.

#![allow(unsafe_code, reason = "it looks into processes by ptrace(2)")]

use millibox_seccomp::{Action, Arch, Program, constant_action};
use millibox_tests::{
    SPAWNER, descendants, directory, eventually, executable, is_root, name, process, share, skip,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// A user that nobody is.
const USER: u32 = 61_234;

/// A client in a process of its own, with one runner, and all below it.
struct Scene {
    client: Child,
    _copies: Option<tempfile::TempDir>,
    backend: String,
    /// By name, in the order of their making.
    processes: Vec<(&'static str, i32)>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

impl Scene {
    /// `running`: a program runs; else a target waits for one.
    fn set(user: Option<u32>, running: bool, changes: &[&str]) -> Scene {
        let copies = user.map(|_| directory());
        let place = match &copies {
            None => executable("client")
                .parent()
                .map(Path::to_owned)
                .expect("a directory"),
            Some(copies) => {
                share(copies.path(), 0o755);
                let all = ["client", "probe", "millibox-supervisor"].map(executable);
                // By another process: a child that another test forks meanwhile would keep a file
                // of ours open for writing, and it could not be executed (ETXTBSY).
                let copied = Command::new("cp")
                    .args(&all)
                    .arg(copies.path())
                    .status()
                    .expect("cp");
                assert!(copied.success());
                for file in &all {
                    share(
                        &copies.path().join(file.file_name().expect("a name")),
                        0o755,
                    );
                }
                copies.path().to_owned()
            }
        };
        let mut command = Command::new(place.join("client"));
        command.arg("small").args(changes).args(match running {
            true => &["hold=1", "--", "ready-sleep", "100000"][..],
            false => &["idle", "--", "exit", "0"],
        });
        if let Some(id) = user {
            command
                .env("MILLIBOX_SUPERVISOR", place.join("millibox-supervisor"))
                .current_dir("/")
                .gid(id)
                .uid(id);
        }
        let mut client = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the client");
        let mut said = BTreeMap::new();
        for line in BufReader::new(client.stdout.take().expect("its output")).lines() {
            let line = line.expect("a line");
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            said.insert(key.to_owned(), value.to_owned());
            if matches!(key, "ready" | "error" | "unable") {
                break;
            }
        }
        assert!(said.contains_key("ready"), "{said:?}");
        let pid = client.id() as i32;
        let mut scene = Scene {
            client,
            _copies: copies,
            backend: said["backend"].clone(),
            processes: Vec::new(),
        };
        let supervisor: i32 = said["pid"].parse().expect("a number");
        let found = eventually(Duration::from_secs(20), || {
            scene.processes = find(pid, supervisor, if running { "program" } else { "target" });
            scene
                .processes
                .last()
                .is_some_and(|(name, _)| *name == "program" || *name == "target")
        });
        assert!(found, "{:?}", scene.processes);
        if !running {
            // What waits for a launch has nothing left to do.
            std::thread::sleep(Duration::from_millis(200));
        }
        scene
    }

    fn pid(&self, name: &str) -> i32 {
        self.processes
            .iter()
            .find(|(its, _)| *its == name)
            .map_or(0, |(_, pid)| *pid)
    }
}

/// Who is who.
fn find(client: i32, supervisor: i32, last: &'static str) -> Vec<(&'static str, i32)> {
    let mut all = vec![("client", client)];
    let parent = process(supervisor).map_or(0, |its| its.parent);
    if parent != client {
        all.push(("keeper", parent));
    }
    all.push(("supervisor", supervisor));
    let below = descendants(supervisor as u32);
    let is_spawner = |pid: i32| name(pid) == SPAWNER;
    all.extend(
        below
            .iter()
            .find(|its| is_spawner(its.pid))
            .map(|its| ("spawner", its.pid)),
    );
    let mut above = supervisor;
    for name in ["runner", "zygote", "pid1", last] {
        let Some(next) = below
            .iter()
            .find(|its| its.parent == above && !is_spawner(its.pid))
        else {
            break;
        };
        all.push((name, next.pid));
        above = next.pid;
    }
    all
}

/// /proc/PID/status (proc_pid_status(5)).
fn status(pid: i32) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process's status");
    let pair = |line: &str| {
        line.split_once(':')
            .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

fn number(status: &BTreeMap<String, String>, key: &str) -> u64 {
    status
        .get(key)
        .and_then(|value| value.parse().ok())
        .unwrap_or_else(|| panic!("no {key} in {status:?}"))
}

/// Names of the capabilities that occur here (capabilities(7)).
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
    let there = names
        .iter()
        .filter(|(bit, _)| bits & 1 << bit != 0)
        .map(|(_, name)| *name);
    there.collect::<Vec<_>>().join(", ")
}

/// Namespaces that are not the client's: who has made them, and which.
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
                // The runner enters it; its builder has made it and is gone.
                ("runner", "mnt") => "template's",
                ("runner", _) => "runner's",
                ("client", _) => "",
                ("supervisor", _) => "supervisor's",
                ("zygote", _) => "zygote's",
                ("pid1", _) => "run's",
                (other, _) => panic!("{other} has made a namespace: {kind}: {processes:?}"),
            });
            match by_maker.iter_mut().find(|(its, _)| *its == maker) {
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

/// What a process has open; `None`: we may not look.
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
            // Seen from a mount namespace that has /dev elsewhere.
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

/// How many system calls a process's seccomp programs let pass, as the kernel has them; `None`: we
/// cannot ask, or there is nobody who could.
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
    // SAFETY: numbers only.
    unsafe {
        if libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) != 0 {
            return None;
        }
        assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0), 0);
        assert_eq!(libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL), pid);
    }
    let mut all = Some(Vec::new());
    for index in 0usize.. {
        // SAFETY: without a place the kernel only says how many instructions there are.
        let length = unsafe { libc::ptrace(GET_FILTER, pid, index, 0usize) };
        if length < 0 {
            // ENOENT: there are no more; EINVAL: there is none. Else the kernel cannot tell, or not
            // us.
            let errno = std::io::Error::last_os_error().raw_os_error();
            all = all.filter(|all| {
                errno == Some(libc::ENOENT) || all.is_empty() && errno == Some(libc::EINVAL)
            });
            break;
        }
        let mut bytes = vec![0u8; length as usize * 8];
        // SAFETY: there is room for all instructions, of 8 bytes each.
        let again = unsafe { libc::ptrace(GET_FILTER, pid, index, bytes.as_mut_ptr()) };
        assert_eq!(again, length);
        all.as_mut()?
            .push(Program::from_bytes(&bytes).expect("a program"));
    }
    // SAFETY: numbers only.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) }, 0);
    all
}

/// One process as a row.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Row {
    name: &'static str,
    user: String,
    capabilities: String,
    bounding: String,
    no_new_privs: bool,
    programs: u64,
    /// Of all calls, those that its programs let pass.
    calls: Option<String>,
    namespaces: Option<String>,
    descriptors: Option<String>,
}

fn rows(scene: &Scene) -> Vec<Row> {
    let client = status(scene.pid("client"));
    let namespaces = namespaces(&scene.processes);
    let row = |(at, (name, pid)): (usize, &(&'static str, i32))| {
        let its = status(*pid);
        let ids: Vec<&str> = ["Uid", "Gid"]
            .iter()
            .flat_map(|key| its[*key].split_whitespace())
            .collect();
        assert!(ids.iter().all(|id| id == &ids[0]), "{name}: {ids:?}");
        assert_eq!(its["CapEff"], its["CapPrm"], "{name}");
        if *name != "client" {
            for set in ["CapInh", "CapAmb"] {
                assert_eq!(its[set].trim_matches('0'), "", "{name}: {set}");
            }
            assert!(
                *name == "keeper" || its["Groups"].is_empty(),
                "{name}: groups {}",
                its["Groups"]
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
            capabilities: capabilities(&its["CapEff"], &client["CapEff"]),
            bounding: capabilities(&its["CapBnd"], &client["CapBnd"]),
            no_new_privs: number(&its, "NoNewPrivs") == 1,
            programs: number(&its, "Seccomp_filters") - number(&client, "Seccomp_filters"),
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

/// The rows of a scene at rest, and the program of one that runs.
fn all_rows(user: Option<u32>) -> (Vec<Row>, String) {
    let rest = Scene::set(user, false, &[]);
    let backend = rest.backend.clone();
    let mut all = rows(&rest);
    drop(rest);
    let running = rows(&Scene::set(user, true, &[]));
    // Only the last one has changed.
    let (program, others) = running.split_last().expect("processes");
    assert_eq!(others, &all[..all.len() - 1], "while a program runs");
    all.push(program.clone());
    let separate = rows(&Scene::set(user, true, &["separate-pid1"]));
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

/// What holds of every machine and whoever looks.
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
fn what_each_process_keeps() {
    let (rows, backend) = all_rows(None);
    let keeper = rows
        .iter()
        .find(|row| row.name == "keeper")
        .map(|row| row.user.clone());
    assert_eq!(keeper.is_some(), backend != "rlimit");
    check(&rows, keeper.as_deref());
    if is_root() {
        // Whom root may look at, it looks at in full.
        let (rows, backend) = all_rows(Some(USER));
        let keeper = (backend != "rlimit").then_some("unprivileged");
        check(&rows, keeper);
    }
}

#[test]
fn the_tables_in_the_security_document() {
    if !is_root() {
        return skip("who is not root cannot see what the supervisor has open");
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
        return skip("the tables are of version 1 cgroups, and of a user who has none");
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
        "docs/security/privileges.md has other tables; MILLIBOX_PRIVILEGES_TABLE=FILE writes these:\n{fresh}"
    );
}

/// Makes another process call what we want, as if it had been taken over (ptrace(2)).
#[cfg(target_arch = "x86_64")]
mod taken_over {
    use super::*;
    use crate::builder;
    use millibox::{EndReason, Error, Hint, Outcome, ProcessEnd, RunError, Step, Supervisor};
    use millibox_tests::{Gone, PATIENCE, request, sandbox_error, sleeper, start, wait};
    use std::os::unix::fs::FileExt;

    #[derive(Debug, PartialEq, Eq)]
    enum Answer {
        Returned(i64),
        /// Ended by this signal.
        Ended(i32),
        /// We may not trace it.
        Forbidden,
    }

    /// An argument: a number, or a text's address.
    enum Argument {
        Number(u64),
        Text(&'static str),
    }
    use Argument::{Number, Text};

    /// Waits until `pid` is stopped, or ended by a signal. If we are its parent as well, its end is
    /// not ours to take: the library waits for it.
    fn wait_for(pid: i32) -> Option<i32> {
        // SAFETY: the structure is plain numbers, which the kernel writes.
        let (signal, how) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
            let answer = libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, options);
            assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
            (info.si_status(), info.si_code)
        };
        let ended = matches!(how, libc::CLD_KILLED | libc::CLD_DUMPED | libc::CLD_EXITED);
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        if !ended || parent != Some(std::process::id()) {
            // SAFETY: numbers only.
            let waited = unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) };
            assert_eq!(waited, pid, "{}", std::io::Error::last_os_error());
        }
        ended.then_some(signal)
    }

    fn registers(pid: i32) -> libc::user_regs_struct {
        // SAFETY: plain numbers, which the kernel writes.
        unsafe {
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            assert_eq!(
                libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers),
                0
            );
            registers
        }
    }

    fn set_registers(pid: i32, registers: &libc::user_regs_struct) {
        // SAFETY: the kernel reads the structure.
        let traced = unsafe { libc::ptrace(libc::PTRACE_SETREGS, pid, 0, &raw const *registers) };
        assert_eq!(traced, 0);
    }

    /// `pid` waits in a system call; it makes this one, and goes on.
    fn call(pid: i32, number: i64, arguments: &[Argument]) -> Answer {
        // SAFETY: numbers only.
        if unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) } != 0 {
            return Answer::Forbidden;
        }
        // SAFETY: numbers only.
        let traced = unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0) };
        assert_eq!(traced, 0);
        assert_eq!(wait_for(pid), None, "it has ended");
        let before = registers(pid);
        let memory = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))
            .unwrap();
        let mut instruction = [0; 2];
        memory
            .read_exact_at(&mut instruction, before.rip - 2)
            .unwrap();
        if instruction != [0x0f, 0x05] {
            // It is still at work.
            // SAFETY: numbers only.
            assert_eq!(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) }, 0);
            std::thread::sleep(Duration::from_millis(5));
            return call(pid, number, arguments);
        }
        let mut changed = before;
        changed.rip -= 2;
        changed.rax = number as u64;
        changed.orig_rax = u64::MAX;
        let places = [
            &mut changed.rdi,
            &mut changed.rsi,
            &mut changed.rdx,
            &mut changed.r10,
            &mut changed.r8,
            &mut changed.r9,
        ];
        // Below what the stack's owner uses.
        let mut room = before.rsp - 4096;
        for (at, place) in places.into_iter().enumerate() {
            *place = match arguments.get(at) {
                Some(Number(value)) => *value,
                Some(Text(text)) => {
                    memory
                        .write_all_at(&[text.as_bytes(), b"\0"].concat(), room)
                        .unwrap();
                    room += 256;
                    room - 256
                }
                None => 0,
            };
        }
        set_registers(pid, &changed);
        // SAFETY: numbers only.
        let traced = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) };
        assert_eq!(traced, 0);
        if let Some(signal) = wait_for(pid) {
            return Answer::Ended(signal);
        }
        let answer = registers(pid).rax as i64;
        set_registers(pid, &before);
        // SAFETY: numbers only.
        assert_eq!(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) }, 0);
        Answer::Returned(answer)
    }

    fn small() -> Supervisor {
        start(builder().slots(1).runners_per_slot(1))
    }

    const OPEN_NEW: u64 = (libc::O_CREAT | libc::O_WRONLY) as u64;

    /// What nobody who watches has any use for.
    fn refused() -> Vec<(&'static str, i64, Vec<Argument>)> {
        vec![
            (
                "execve",
                libc::SYS_execve,
                vec![Text("/bin/true"), Number(0), Number(0)],
            ),
            (
                "execveat",
                libc::SYS_execveat,
                vec![
                    Number(0),
                    Text("/bin/true"),
                    Number(0),
                    Number(0),
                    Number(0),
                ],
            ),
            ("fork", libc::SYS_fork, vec![]),
            ("clone", libc::SYS_clone, vec![Number(libc::SIGCHLD as u64)]),
            ("clone3", libc::SYS_clone3, vec![]),
            (
                "ptrace",
                libc::SYS_ptrace,
                vec![Number(libc::PTRACE_TRACEME as u64)],
            ),
            ("process_vm_writev", libc::SYS_process_vm_writev, vec![]),
            (
                "mount",
                libc::SYS_mount,
                vec![Text("none"), Text("/proc"), Text("tmpfs")],
            ),
            (
                "unshare",
                libc::SYS_unshare,
                vec![Number(libc::CLONE_NEWUSER as u64)],
            ),
            ("setns", libc::SYS_setns, vec![]),
            (
                "socket",
                libc::SYS_socket,
                vec![
                    Number(libc::AF_INET as u64),
                    Number(libc::SOCK_STREAM as u64),
                ],
            ),
            ("connect", libc::SYS_connect, vec![]),
            ("bpf", libc::SYS_bpf, vec![]),
            ("io_uring_setup", libc::SYS_io_uring_setup, vec![]),
            ("setuid", libc::SYS_setuid, vec![]),
            (
                "mmap of what can be executed",
                libc::SYS_mmap,
                vec![
                    Number(0),
                    Number(4096),
                    Number(7),
                    Number(0x22),
                    Number(u64::MAX),
                ],
            ),
            ("unlink", libc::SYS_unlink, vec![Text("/nothing")]),
        ]
    }

    fn says_why(why: &EndReason) {
        let end = ProcessEnd::Killed(libc::SIGSYS);
        assert_eq!(*why, EndReason::Process(end));
    }

    #[test]
    fn a_supervisor() {
        let more: [(_, _, Vec<Argument>); 3] = [
            (
                "openat to write",
                libc::SYS_openat,
                vec![
                    Number(0),
                    Text("/proc/self/comm"),
                    Number(OPEN_NEW),
                    Number(0o600),
                ],
            ),
            (
                "kill by another signal",
                libc::SYS_kill,
                vec![Number(1), Number(libc::SIGTERM as u64)],
            ),
            (
                "socketpair of another family",
                libc::SYS_socketpair,
                vec![Number(libc::AF_INET as u64), Number(1)],
            ),
        ];
        for (what, number, arguments) in refused().into_iter().chain(more) {
            let supervisor = small();
            let (running, _read) = sleeper(&supervisor, &[]);
            let gone = Gone::of(&supervisor);
            match call(supervisor.info().pid() as i32, number, &arguments) {
                Answer::Forbidden => return skip("we may not trace the supervisor"),
                answer => assert_eq!(answer, Answer::Ended(libc::SIGSYS), "{what}"),
            }
            match running.wait_timeout(PATIENCE) {
                Err(Error::Died(why)) => says_why(&why),
                other => panic!("{what}: {other:?}"),
            }
            gone.assert();
        }
    }

    #[test]
    fn a_supervisor_that_has_no_keeper_says_so_too() {
        let supervisor = start(
            builder()
                .slots(1)
                .runners_per_slot(1)
                .backend(millibox::BackendChoice::Rlimit),
        );
        let (running, _read) = sleeper(&supervisor, &[]);
        match call(supervisor.info().pid() as i32, libc::SYS_setns, &[]) {
            Answer::Forbidden => return skip("we may not trace the supervisor"),
            answer => assert_eq!(answer, Answer::Ended(libc::SIGSYS)),
        }
        match running.wait_timeout(PATIENCE) {
            Err(Error::Died(why)) => says_why(&why),
            other => panic!("{other:?}"),
        }
    }

    /// What a libc may try does not end it, nor does what later kernels have.
    #[test]
    fn a_supervisor_lives_with_what_libraries_do() {
        let supervisor = small();
        let pid = supervisor.info().pid() as i32;
        let nosys = Answer::Returned(-i64::from(libc::ENOSYS));
        for number in [
            libc::SYS_rseq,
            libc::SYS_set_robust_list,
            libc::SYS_prctl,
            470 + 1000,
        ] {
            match call(pid, number, &[]) {
                Answer::Forbidden => return skip("we may not trace the supervisor"),
                answer => assert_eq!(answer, nosys, "{number}"),
            }
        }
        for number in [
            libc::SYS_sched_yield,
            libc::SYS_getpid,
            libc::SYS_brk,
            libc::SYS_rt_sigprocmask,
        ] {
            let answer = call(pid, number, &[]);
            assert!(
                matches!(answer, Answer::Returned(answer) if answer >= -i64::from(libc::EINVAL)),
                "{answer:?}"
            );
        }
        let (running, _read) = sleeper(&supervisor, &[]);
        running.kill();
        assert_eq!(wait(&running).outcome, Outcome::Killed);
    }

    #[test]
    fn each_thread_of_a_supervisor() {
        let supervisor = small();
        let pid = supervisor.info().pid();
        let held = |thread: &std::path::Path| {
            let status = std::fs::read_to_string(thread.join("status")).expect("a thread's status");
            let keys = ["Cap", "NoNewPrivs", "Seccomp"];
            let of_interest = |line: &&str| keys.iter().any(|key| line.starts_with(key));
            status
                .lines()
                .filter(of_interest)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
            .expect("its threads")
            .flatten();
        let threads: Vec<_> = threads.map(|thread| held(&thread.path())).collect();
        assert_eq!(
            threads.len(),
            1 + usize::from(supervisor.info().counts_file_locks())
        );
        assert!(
            threads[0].contains(&"Seccomp:\t2".to_owned()),
            "{:?}",
            threads[0]
        );
        assert!(
            threads[0].contains(&"CapEff:\t0000000000000000".to_owned()),
            "{:?}",
            threads[0]
        );
        assert!(
            threads.iter().all(|thread| *thread == threads[0]),
            "{threads:?}"
        );
    }

    #[test]
    fn a_supervisor_opens_nothing_but_proc() {
        let supervisor = small();
        let pid = supervisor.info().pid() as i32;
        let open = |path| {
            let arguments = [
                Number(libc::AT_FDCWD as u64),
                Text(path),
                Number(libc::O_RDONLY as u64),
            ];
            call(pid, libc::SYS_openat, &arguments)
        };
        if open("/proc/self/stat") == Answer::Forbidden {
            return skip("we may not trace the supervisor");
        }
        assert!(matches!(open("/proc/self/stat"), Answer::Returned(0..)));
        if supervisor.info().landlock().is_none() {
            return skip("the kernel has no landlock");
        }
        for path in ["/etc/passwd", "/", "/dev/null", "/sys", "/usr/bin/env"] {
            assert_eq!(
                open(path),
                Answer::Returned(-i64::from(libc::EACCES)),
                "{path}"
            );
        }
    }

    /// The keeper of a supervisor, if there is one.
    fn keeper(supervisor: &Supervisor) -> Option<i32> {
        let parent = process(supervisor.info().pid() as i32)?.parent;
        (parent != std::process::id() as i32).then_some(parent)
    }

    #[test]
    fn a_keeper() {
        // One signal for one process is all that it can send.
        let signals = [
            (
                "another signal",
                libc::SYS_pidfd_send_signal,
                vec![Number(0), Number(libc::SIGTERM as u64)],
            ),
            (
                "a signal for another",
                libc::SYS_pidfd_send_signal,
                vec![Number(3), Number(libc::SIGKILL as u64)],
            ),
            ("kill", libc::SYS_kill, vec![Number(1), Number(0)]),
            (
                "another in the supervisor's place",
                libc::SYS_close,
                vec![Number(0)],
            ),
            (
                "pidfd_open",
                libc::SYS_pidfd_open,
                vec![Number(1), Number(0)],
            ),
        ];
        for (what, number, arguments) in refused().into_iter().chain(signals) {
            let supervisor = small();
            let Some(keeper) = keeper(&supervisor) else {
                return skip("there is no keeper without cgroups");
            };
            let (running, _read) = sleeper(&supervisor, &[]);
            let gone = Gone::of(&supervisor);
            match call(keeper, number, &arguments) {
                Answer::Forbidden => return skip("we may not trace the keeper"),
                answer => assert_eq!(answer, Answer::Ended(libc::SIGSYS), "{what}"),
            }
            assert!(
                matches!(running.wait_timeout(PATIENCE), Err(Error::Died(_))),
                "{what}"
            );
            drop(supervisor);
            gone.assert();
        }
    }

    #[test]
    fn a_keeper_reaches_cgroups_alone() {
        let supervisor = small();
        let Some(keeper) = keeper(&supervisor) else {
            return skip("there is no keeper without cgroups");
        };
        if supervisor.info().landlock().is_none() {
            return skip("the kernel has no landlock");
        }
        let place = directory();
        static NEW: OnceLock<String> = OnceLock::new();
        let new = NEW.get_or_init(|| format!("{}/new", place.path().display()));
        let denied = Answer::Returned(-i64::from(libc::EACCES));
        let answer = call(keeper, libc::SYS_mkdir, &[Text(new), Number(0o755)]);
        if answer == Answer::Forbidden {
            return skip("we may not trace the keeper");
        }
        assert_eq!(answer, denied);
        let open = [
            Number(libc::AT_FDCWD as u64),
            Text("/etc/passwd"),
            Number(0),
        ];
        assert_eq!(call(keeper, libc::SYS_openat, &open), denied);
        let open = [
            Number(libc::AT_FDCWD as u64),
            Text(new),
            Number(OPEN_NEW),
            Number(0o600),
        ];
        assert_eq!(call(keeper, libc::SYS_openat, &open), denied);
    }

    #[test]
    fn a_pid1() {
        let separate = |separate| {
            start(
                builder()
                    .slots(1)
                    .runners_per_slot(1)
                    .separate_pid1(separate),
            )
        };
        let calls = || {
            let open = vec![Number(libc::AT_FDCWD as u64), Text("/"), Number(0)];
            refused()
                .into_iter()
                .chain([("openat", libc::SYS_openat, open)])
        };
        for (what, number, arguments) in calls() {
            let supervisor = separate(true);
            let (running, _read) = sleeper(&supervisor, &[]);
            let pid1 = pid1_of(&supervisor);
            match call(pid1, number, &arguments) {
                Answer::Forbidden => return skip("we may not trace pid1"),
                answer => assert_eq!(answer, Answer::Ended(libc::SIGSYS), "{what}"),
            }
            let result = wait(&running);
            let forbidden = Hint::Ended(ProcessEnd::Killed(libc::SIGSYS));
            assert_eq!(
                *sandbox_error(&result),
                RunError::new(Step::Pid1).with_hint(forbidden),
                "{what}"
            );
            // The next run has another.
            assert_eq!(
                millibox_tests::result(&supervisor, &request(["exit", "3"])).outcome,
                Outcome::Exited(3)
            );
        }
        // As docs/security/privileges.md states: in its runner's memory, pid1 is confined only by
        // its world's seccomp program.
        let supervisor = separate(false);
        let (_running, _read) = sleeper(&supervisor, &[]);
        let open = [Number(libc::AT_FDCWD as u64), Text("/"), Number(0)];
        let answer = call(pid1_of(&supervisor), libc::SYS_openat, &open);
        assert!(matches!(answer, Answer::Returned(0..)), "{answer:?}");
    }

    fn pid1_of(supervisor: &Supervisor) -> i32 {
        let all = find(
            std::process::id() as i32,
            supervisor.info().pid() as i32,
            "program",
        );
        all.iter()
            .find(|(name, _)| *name == "pid1")
            .map(|(_, pid)| *pid)
            .expect("pid1")
    }
}
