//! The command `millibox run` exits before its supervisor has cleaned up, and leaves nothing
//! behind.

use millibox_tests::{
    Footprint, HANG_TIMEOUT, descendants, directory, ends_within, eventually, executable, kill,
    process, process_name, processes_with_argument, read_line, skip, token,
};
use rustix::process::Signal;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starts a run that ends when its standard input ends.
fn start(token: &str) -> Child {
    Command::new(executable("millibox"))
        .args(["run", "--", "sh", "-c", "echo ready; read line", token])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The child of the command, which is the keeper, or without cgroups the supervisor.
fn child_of(command: &Child) -> i32 {
    let children = descendants(command.id());
    let child = children
        .iter()
        .find(|process| process.parent == command.id() as i32);
    child.expect("the command has a child").pid
}

/// The supervisor of the command, and the existing directories of its cgroups.
fn footprint(command: &Child, token: &str) -> (Footprint, bool) {
    let supervisor = descendants(command.id())
        .into_iter()
        .find(|process| process_name(process.pid) == "millibox-super")
        .expect("a supervisor");
    let cgroups = cgroups_of(child_of(command), token);
    let has_keeper = supervisor.pid != child_of(command);
    (Footprint::new(supervisor.pid as u32, cgroups), has_keeper)
}

/// The directories that this keeper created for the program with this argument.
fn cgroups_of(keeper: i32, token: &str) -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounts: Vec<&str> = mounts
        .lines()
        .filter(|line| line.contains(" - cgroup"))
        .filter_map(|line| line.split(' ').nth(4))
        .collect();
    let name = format!("millibox-{keeper}-");
    let mut found = Vec::new();
    for program in processes_with_argument(token) {
        let own = std::fs::read_to_string(format!("/proc/{}/cgroup", program.pid));
        for line in own.unwrap_or_default().lines() {
            let path = line.splitn(3, ':').nth(2).unwrap_or_default();
            let parts: Vec<&str> = path.split('/').collect();
            let Some(at) = parts.iter().position(|part| part.starts_with(&name)) else {
                continue;
            };
            let top = parts[..=at].join("/");
            found.extend(
                mounts
                    .iter()
                    .map(|mount| PathBuf::from(format!("{mount}{top}"))),
            );
        }
    }
    found.retain(|path| path.exists());
    found
}

#[test]
fn run_command_exits_before_its_keeper_has_cleaned_up() {
    let token = token();
    let mut command = start(&token);
    assert_eq!(read_line(command.stdout.as_ref().unwrap()), "ready");
    let (footprint, has_keeper) = footprint(&command, &token);
    let child = child_of(&command);
    if has_keeper {
        kill(child, Signal::STOP);
    }
    drop(command.stdin.take());
    // If the command waited for its keeper, it would kill the keeper after several seconds.
    let status = ends_within(&mut command, HANG_TIMEOUT).expect("the command exits");
    assert_eq!(
        status.code(),
        Some(1),
        "the status of read at the end of file"
    );
    assert!(processes_with_argument(&token).is_empty());
    if has_keeper {
        assert!(process(child).is_some_and(|keeper| keeper.is_alive()));
        assert_ne!(footprint.remaining(), "");
        kill(child, Signal::CONT);
    }
    footprint.assert_gone();
    if !has_keeper {
        skip("without cgroups, no keeper exists that could be stopped");
    }
}

#[test]
fn run_commands_leave_nothing_behind() {
    let footprints: Vec<Footprint> = (0..8)
        .map(|_| {
            let token = token();
            let mut command = start(&token);
            assert_eq!(read_line(command.stdout.as_ref().unwrap()), "ready");
            let (footprint, _) = footprint(&command, &token);
            drop(command.stdin.take());
            assert!(ends_within(&mut command, HANG_TIMEOUT).is_some());
            footprint
        })
        .collect();
    footprints.iter().for_each(Footprint::assert_gone);
}

/// Kills the command at several moments of its start, its run and its end.
#[test]
fn killed_run_commands_leave_nothing_behind() {
    let dir = directory();
    for step in 0..16u64 {
        let token = token();
        let mut command = Command::new(executable("millibox"))
            .args(["run", "--report"])
            .arg(dir.path().join(&token))
            .args(["--", "sh", "-c", "sleep 0.01", &token])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(3 * step));
        let family: Vec<_> = descendants(command.id());
        kill(command.id() as i32, Signal::KILL);
        command.wait().unwrap();
        let remaining = || family.iter().filter(|process| process.is_alive()).count();
        assert!(
            eventually(Duration::from_secs(10), || remaining() == 0
                && processes_with_argument(&token).is_empty()),
            "step {step}: {} processes of {family:?} remain",
            remaining()
        );
    }
}
