//! The privileges that each process keeps while idle and while a program runs, as /proc shows them.
//! The supervisor, the keeper and a pid1 with its own memory are killed if they make a system call
//! that they never need.
//!
//! These tests produce the tables in docs/security/privileges.md and compare them:
//! `MILLIBOX_PRIVILEGES_TABLE=FILE` writes them to a file.

mod tables;
#[cfg(target_arch = "x86_64")]
mod taken_over;

use millibox_tests::{
    SPAWNER, copy_executable, descendants, directory, eventually, executable, process,
    process_name, set_mode,
};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A user id that no other process has.
const USER: u32 = 61_234;

/// A client in its own process with one runner, and all its descendants.
struct Scene {
    client: Child,
    _copies: Option<tempfile::TempDir>,
    backend: String,
    /// The names and PIDs, from the client downwards.
    processes: Vec<(&'static str, i32)>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

impl Scene {
    /// Starts the client. If `running`, a program runs; otherwise, a target waits for a launch.
    fn start(user: Option<u32>, running: bool, changes: &[&str]) -> Scene {
        let copies = user.map(|_| directory());
        let executables = match &copies {
            None => executable("client")
                .parent()
                .map(Path::to_owned)
                .expect("a directory"),
            Some(copies) => {
                set_mode(copies.path(), 0o755);
                for name in ["client", "probe", "millibox-supervisor"] {
                    copy_executable(executable(name), copies.path().join(name));
                }
                copies.path().to_owned()
            }
        };
        let mut command = Command::new(executables.join("client"));
        command.arg("small").args(changes).args(match running {
            true => &["hold=1", "--", "ready-sleep", "100000"][..],
            false => &["idle", "--", "exit", "0"],
        });
        if let Some(id) = user {
            command
                .env(
                    "MILLIBOX_SUPERVISOR",
                    executables.join("millibox-supervisor"),
                )
                .current_dir("/")
                .gid(id)
                .uid(id);
        }
        let mut client = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the client");
        let mut printed = BTreeMap::new();
        for line in BufReader::new(client.stdout.take().expect("its output")).lines() {
            let line = line.expect("a line");
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            printed.insert(key.to_owned(), value.to_owned());
            if matches!(key, "ready" | "error" | "unable") {
                break;
            }
        }
        assert!(printed.contains_key("ready"), "{printed:?}");
        let pid = client.id() as i32;
        let mut scene = Scene {
            client,
            _copies: copies,
            backend: printed["backend"].clone(),
            processes: Vec::new(),
        };
        let supervisor: i32 = printed["pid"].parse().expect("a number");
        let found = eventually(Duration::from_secs(20), || {
            scene.processes = find(pid, supervisor, if running { "program" } else { "target" });
            scene
                .processes
                .last()
                .is_some_and(|(name, _)| *name == "program" || *name == "target")
        });
        assert!(found, "{:?}", scene.processes);
        if !running {
            // Waits until the prepared processes are idle.
            std::thread::sleep(Duration::from_millis(200));
        }
        scene
    }

    fn pid(&self, name: &str) -> i32 {
        self.processes
            .iter()
            .find(|(other, _)| *other == name)
            .map_or(0, |(_, pid)| *pid)
    }
}

/// The existing processes with their names, from the client downwards.
fn find(client: i32, supervisor: i32, last: &'static str) -> Vec<(&'static str, i32)> {
    let mut all = vec![("client", client)];
    let parent = process(supervisor).map_or(0, |process| process.parent);
    if parent != client {
        all.push(("keeper", parent));
    }
    all.push(("supervisor", supervisor));
    let below = descendants(supervisor as u32);
    let is_spawner = |pid: i32| process_name(pid) == SPAWNER;
    all.extend(
        below
            .iter()
            .find(|process| is_spawner(process.pid))
            .map(|process| ("spawner", process.pid)),
    );
    let mut above = supervisor;
    for name in ["runner", "zygote", "pid1", last] {
        let Some(next) = below
            .iter()
            .find(|process| process.parent == above && !is_spawner(process.pid))
        else {
            break;
        };
        all.push((name, next.pid));
        above = next.pid;
    }
    all
}
