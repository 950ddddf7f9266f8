//! PID, user, UTS, time and cgroup namespaces, and attacks on them.

#![allow(unsafe_code, reason = "plain system calls that create keyrings")]

use crate::supervisor;
use millibox::{Mount, Outcome, Request, World};
use millibox_tests::{
    Footprint, directory, processes_with_argument, request, result, run, run_probe, set_mode, skip,
    start_sleeper, token, world_with_proc,
};

// --- PID -------------------------------------------------------------------------------

#[test]
fn parent_of_program_is_pid1() {
    let supervisor = supervisor();
    let output = run_probe(&supervisor, &["pids"]);
    assert_eq!(output.number("ppid"), 1);
    let pid = output.number("pid");
    assert!(pid > 1 && pid < 10, "{pid}");
}

#[test]
fn program_has_its_own_session_and_process_group() {
    let supervisor = supervisor();
    let output = run_probe(&supervisor, &["pids"]);
    assert_eq!(output.number("sid"), output.number("pid"));
    assert_eq!(output.number("pgid"), output.number("pid"));
}

#[test]
fn kill_all_reaches_only_the_run() {
    let supervisor = supervisor();
    let (neighbour, _read) = start_sleeper(&supervisor, &[]);
    let output = run(&supervisor, &request(["kill-all"]));
    assert_eq!(
        output.result.outcome,
        Outcome::Exited(0),
        "{}",
        output.result
    );
    assert_eq!(output.number("errno"), 0);
    assert_eq!(output.number("child"), 9, "the child survives");
    assert!(neighbour.try_wait().unwrap().is_none());
    // If no children exist, the signal reaches no process.
    let alone = Request::new("/bin/sh").args(["-c", "kill -9 -1; exit 5"]);
    assert_eq!(result(&supervisor, &alone).outcome, Outcome::Exited(5));
}

#[test]
fn signals_do_not_affect_pid1() {
    let supervisor = supervisor();
    for world in [World::minimal(), World::minimal().without_seccomp()] {
        // This includes forged siginfo structures with any origin.
        let output = run(&supervisor, &request(["kill-1"]).world(&world));
        assert_eq!(
            output.result.outcome,
            Outcome::Exited(0),
            "{}: {}",
            output.result,
            output.text()
        );
        assert_eq!(output.number("alive"), 0);
        assert_eq!(output.text().lines().count(), 65);
        // The next run is not affected either.
        assert_eq!(
            result(&supervisor, &request(["exit", "3"])).outcome,
            Outcome::Exited(3)
        );
    }
}

#[test]
fn pid1_cannot_be_traced_or_read() {
    let supervisor = supervisor();
    let world = world_with_proc().without_seccomp();
    let output = run(&supervisor, &request(["ptrace-1"]).world(&world));
    assert_eq!(output.values().len(), 8);
    for (what, errno) in output.values() {
        assert!(
            errno == libc::EPERM.to_string() || errno == libc::EACCES.to_string(),
            "{what}: {errno}"
        );
    }
}

#[test]
fn orphans_are_reaped_by_pid1() {
    let supervisor = supervisor();
    let output = run_probe(&supervisor, &["reap", "20"]);
    assert_eq!(
        (output.number("children"), output.number("zombies")),
        (20, 0)
    );
}

#[test]
fn end_of_first_process_kills_all_others() {
    let supervisor = supervisor();
    let token = token();
    let output = run_probe(&supervisor, &["orphans", "10", "100000", &token]);
    assert_eq!(output.text(), "done\n");
    // No delay is needed, because the result states that the run has ended.
    assert_eq!(processes_with_argument(&token), []);
}

#[test]
fn proc_shows_only_processes_of_the_run() {
    let supervisor = supervisor();
    let (_neighbour, _read) = start_sleeper(&supervisor, &[]);
    let output = run(
        &supervisor,
        &request(["ls", "/proc"]).world(&world_with_proc()),
    );
    let pids: Vec<u32> = output
        .text()
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    assert_eq!(pids.len(), 2, "{pids:?}");
    assert_eq!(pids.iter().min(), Some(&1));
    // The next run in the same world has a new procfs.
    assert_eq!(
        run(
            &supervisor,
            &request(["ls", "/proc"]).world(&world_with_proc())
        )
        .text(),
        output.text()
    );
}

// --- user ------------------------------------------------------------------------------

fn ids(supervisor: &millibox::Supervisor, world: &World) -> (String, String, i64) {
    let output = run(supervisor, &request(["ids"]).world(world));
    assert_eq!(
        output.result.outcome,
        Outcome::Exited(0),
        "{}",
        output.result
    );
    (
        output.value("uid"),
        output.value("gid"),
        output.number("groups"),
    )
}

#[test]
fn ids_inside_are_as_requested() {
    let supervisor = supervisor();
    let thrice = |id: u32| format!("{id} {id} {id}");
    let (uid, gid) = supervisor.info().ids();
    assert_ne!((uid, gid), (0, 0));
    assert_eq!(
        ids(&supervisor, &World::minimal()),
        (thrice(uid), thrice(gid), 0)
    );
    for id in [0, 1, 1000, 65533, 4_000_000_000] {
        let world = World::minimal().uid(id).gid(id / 2);
        assert_eq!(ids(&supervisor, &world), (thrice(id), thrice(id / 2), 0));
    }
    assert_eq!(
        ids(&supervisor, &World::minimal().uid(0)),
        (thrice(0), thrice(gid), 0)
    );
}

#[test]
fn programs_have_no_capabilities_with_any_id() {
    let supervisor = supervisor();
    for world in [
        World::minimal(),
        World::minimal().uid(0).gid(0),
        World::minimal().uid(0).without_seccomp(),
    ] {
        let output = run(&supervisor, &request(["caps"]).world(&world));
        for set in [
            "effective",
            "permitted",
            "inheritable",
            "bounding",
            "ambient",
        ] {
            assert_eq!(output.value(set), "0", "{set}");
        }
        assert_eq!(output.value("no_new_privs"), "1");
        // The bits are NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE and their locks.
        let bits = i64::from_str_radix(&output.value("securebits"), 16).unwrap();
        assert_eq!(bits & 0b1110_1111, 0b1110_1111, "{bits:b}");
    }
}

#[test]
fn ids_cannot_be_changed_by_program() {
    let supervisor = supervisor();
    let world = World::minimal().uid(0).gid(0).without_seccomp();
    for (call, id) in [
        (libc::SYS_setuid, 1),
        (libc::SYS_setgid, 1),
        (libc::SYS_setgroups, 0),
    ] {
        let output = run(
            &supervisor,
            &request(["call", &call.to_string(), &id.to_string()]).world(&world),
        );
        let errno = output.number("errno") as i32;
        assert!(
            matches!(errno, libc::EPERM | libc::EINVAL),
            "{call}: {errno}"
        );
    }
}

// --- UTS, time, cgroup -----------------------------------------------------------------

#[test]
fn host_name_is_the_sandboxs_and_domain_name_is_empty() {
    let supervisor = supervisor();
    let output = run_probe(&supervisor, &["host"]);
    assert_eq!(
        (
            output.value("host").as_str(),
            output.value("domain").as_str()
        ),
        ("millibox", "")
    );
}

#[test]
fn clocks_inside_start_with_the_supervisor() {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    let supervisor = supervisor();
    let output = run_probe(&supervisor, &["clocks"]);
    for clock in ["monotonic", "boottime"] {
        let seconds = output.number(clock) as f64 / 1e9;
        assert!((0.0..30.0).contains(&seconds), "{clock} {seconds}");
        assert!(
            uptime < 60.0 || seconds < uptime / 2.0,
            "{clock} {seconds} is the host's"
        );
    }
}

#[test]
fn supervisor_started_at_any_fraction_of_a_second_works() {
    // Clocks inside start with the supervisor, and no clock may start below zero.
    for _ in 0..12 {
        let supervisor = supervisor();
        let limited = request(["sleep", "1"]).real_time_limit(std::time::Duration::from_secs(30));
        let result = result(&supervisor, &limited);
        assert_eq!(result.outcome, Outcome::Exited(0));
        assert!(
            (1_000_000..30_000_000_000).contains(&result.figures.real_time_ns),
            "{:?}",
            result.figures
        );
        drop(supervisor);
        std::thread::sleep(std::time::Duration::from_millis(83));
    }
}

#[test]
fn cgroup_namespace_hides_parent_cgroups() {
    let supervisor = supervisor();
    if !millibox_tests::has_cgroups_or_skips(&supervisor) {
        return;
    }
    let output = run(
        &supervisor,
        &request(["cat", "/proc/self/cgroup"]).world(&world_with_proc()),
    );
    let (hybrid, text) = (
        supervisor.info().backend() == millibox::Backend::Hybrid,
        output.text(),
    );
    assert!(text.lines().count() > 0);
    for line in text.lines() {
        let is_used = !hybrid
            || ["memory", "pids", "cpu"]
                .iter()
                .any(|name| line.contains(name));
        assert!(!is_used || line.ends_with(":/"), "{line}");
        assert!(!line.contains("millibox"), "{line}");
    }
}

#[test]
fn cgroup_file_system_is_not_mounted() {
    let supervisor = supervisor();
    assert_eq!(
        run_probe(&supervisor, &["ls", "/sys"]).number("errno"),
        i64::from(libc::ENOENT)
    );
    let output = run(
        &supervisor,
        &request(["cat", "/proc/self/mountinfo"]).world(&world_with_proc()),
    );
    assert!(!output.text().contains("cgroup"), "{}", output.text());
}

// --- hostile ---------------------------------------------------------------------------

#[test]
fn default_profile_forbids_new_namespaces() {
    let supervisor = supervisor();
    for flag in [
        0x2_0000,
        0x200_0000,
        0x400_0000,
        0x800_0000,
        0x1000_0000,
        0x2000_0000,
        0x4000_0000,
        0x80,
    ] {
        for word in ["unshare", "clone"] {
            // In clone(2), the bit of CLONE_NEWTIME belongs to the exit signal.
            if word == "clone" && flag == 0x80 {
                continue;
            }
            let number = flag.to_string();
            let call = libc::SYS_unshare.to_string();
            let arguments = if word == "unshare" {
                vec!["call", &call, &number]
            } else {
                vec!["clone", &number]
            };
            assert_eq!(
                run_probe(&supervisor, &arguments).number("errno"),
                i64::from(libc::EPERM),
                "{word} {flag:#x}"
            );
        }
    }
}

#[test]
fn mounts_cannot_be_changed_by_program() {
    let supervisor = supervisor();
    for world in [
        world_with_proc(),
        world_with_proc().uid(0).gid(0),
        world_with_proc().uid(0).without_seccomp(),
    ] {
        let output = run(&supervisor, &request(["mounts"]).world(&world));
        assert_eq!(output.result.outcome, Outcome::Exited(0));
        assert!(output.values().len() > 25);
        for (what, errno) in output.values() {
            assert_eq!(errno, libc::EPERM.to_string(), "{what}");
        }
    }
}

#[test]
fn mounts_cannot_be_uncovered_from_a_new_namespace() {
    let supervisor = supervisor();
    let directory = directory();
    std::fs::write(directory.path().join("secret"), "x").unwrap();
    set_mode(&directory.path().join("secret"), 0o644);
    // The world has a directory of the host and a mount that hides it, in addition to procfs, tmpfs
    // and binds.
    let hide = Mount::tmpfs("/hidden").mode(0o755).read_only().no_exec();
    let world = world_with_proc()
        .read_only(directory.path(), "/hidden")
        .mount(hide)
        .without_seccomp();
    let output = run(&supervisor, &request(["escape"]).world(&world));
    assert_eq!(
        output.result.outcome,
        Outcome::Exited(0),
        "{}",
        output.result
    );
    let values = output.values();
    if values["unshare"] != "0" {
        // This is even stricter: the program cannot create a user namespace.
        assert!(
            ["1", "28"].contains(&values["unshare"].as_str()),
            "{values:?}"
        );
        return skip("a program cannot create a user namespace here");
    }
    for (what, errno) in &values {
        // Setting the existing flags of a tmpfs or a read-only mount again uncovers nothing.
        let harmless = what == "unshare" || what == "remount /tmp";
        assert!(harmless || errno != "0", "{what} succeeds");
    }
    assert_eq!(values["write"], libc::EROFS.to_string());
    assert_eq!(values["secret"], libc::ENOENT.to_string());
}

#[test]
fn new_cgroup_of_program_does_not_raise_limits() {
    let supervisor = supervisor();
    let (limit, world) = (48 << 20, world_with_proc().without_seccomp());
    let cgroups = supervisor.info().backend() != millibox::Backend::Rlimit;
    for _ in 0..3 {
        let request = request(["hostile-cgroup"]).world(&world);
        let request = if cgroups {
            request.memory_limit(limit).process_limit(20)
        } else {
            request
        };
        let output = run(&supervisor, &request);
        assert_eq!(
            output.result.outcome,
            Outcome::Exited(0),
            "{}",
            output.result
        );
        for (what, errno) in output.values() {
            let raises = what.starts_with("mkdir")
                || what.starts_with("write") && !what.ends_with("procs")
                || what.starts_with("join");
            assert!(
                !raises || errno != "0",
                "{what} succeeds: {}",
                output.text()
            );
        }
    }
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
    // No cgroup of the program prevents the cleanup.
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
}

#[test]
fn keyrings_of_client_are_unreachable() {
    let name = token();
    // SAFETY: the call takes numbers only. It returns the serial number of the session keyring.
    if unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 0) } < 0 {
        return skip("keyrings are not available");
    }
    let output = millibox_tests::client([&format!("keyring={name}"), "--", "keyring", &name]);
    if output.stdout.contains("unable=") {
        return skip(output.stdout.trim());
    }
    assert_eq!(output.value("exit_code"), "0");
    for ring in ["session", "user", "user_session"] {
        assert_ne!(
            output.value(ring),
            "0",
            "the program has the {ring} keyring of the client"
        );
    }
}

/// The kernel counts namespaces per user, across all runs and the sandbox.
#[test]
fn program_without_seccomp_can_create_few_namespaces() {
    let supervisor = supervisor();
    let world = World::minimal().mount(Mount::proc("/proc"));
    let free = world.clone().without_seccomp();
    // The kernel has a limit for each kind of namespace that it supports.
    let kinds = "cd /proc/sys/user && cat max_*_namespaces | sort -n | uniq";
    let shell = |world: &World, script: &str| {
        run(
            &supervisor,
            &Request::new("/bin/sh").args(["-c", script]).world(world),
        )
    };
    let limits = shell(&free, kinds).text();
    // A limit of a disabled kind may be 0.
    assert!(["32\n", "0\n32\n"].contains(&limits.as_str()), "{limits}");
    assert_ne!(shell(&world, kinds).text(), limits);
    let created = shell(
        &free,
        "for i in $(seq 50); do unshare --user sh -c 'echo made; exec sleep 2' 2>/dev/null & done; \
         wait",
    );
    let created = created
        .text()
        .lines()
        .filter(|line| *line == "made")
        .count();
    assert!((1..=32).contains(&created), "{created}");
}
