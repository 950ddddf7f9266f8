//! The end of a client, and clients in unusual states.

use super::CLEANUP_TIMEOUT;
use crate::limits::ParentCgroup;
use crate::supervisor;
use millibox::Backend;
use millibox_tests::{
    Footprint, Random, eventually, executable, kill, process, processes_with_argument, skip, token,
};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

struct Client {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    supervisor: u32,
    cgroups: Vec<PathBuf>,
}

impl Client {
    fn start(arguments: &[&str]) -> Client {
        let mut child = Command::new(executable("client"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut value = |key: &str| {
            let line = lines.next().unwrap().unwrap();
            line.strip_prefix(key)
                .unwrap_or_else(|| panic!("{line}"))
                .to_owned()
        };
        let supervisor = value("pid=").parse().unwrap();
        let cgroups = value("cgroups=")
            .split(',')
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .collect();
        value("backend=");
        Client {
            child,
            lines,
            supervisor,
            cgroups,
        }
    }

    fn ready(&mut self) {
        let line = self.lines.next().unwrap().unwrap();
        assert!(line.starts_with("ready="), "{line}");
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn killed_client_leaves_nothing() {
    let token = token();
    let mut client = Client::start(&["hold=20", "--", "ready-sleep", "100000", &token]);
    client.ready();
    assert_eq!(
        processes_with_argument(&token).len(),
        2 + 1,
        "two runs and the client itself"
    );
    let footprint = Footprint::new(client.supervisor, client.cgroups.clone());
    client.kill();
    footprint.assert_gone();
    assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
        &token
    )
    .is_empty()));
}

#[test]
fn client_killed_at_random_moments_leaves_nothing() {
    let mut random = Random::new();
    for _ in 0..10 {
        let mut client = Client::start(&["storm", "--", "forks", "3"]);
        client.ready();
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        let footprint = Footprint::new(client.supervisor, client.cgroups.clone());
        client.kill();
        footprint.assert_gone();
    }
}

#[test]
fn client_killed_with_its_supervisor_leaves_nothing() {
    let backend = supervisor().info().backend();
    if backend == Backend::Rlimit {
        return skip("without cgroups, no keeper exists");
    }
    // Root can give this client its own parent cgroup, where no other supervisor looks for remains
    // of a crash.
    let parent_cgroup = millibox_tests::is_root().then(|| ParentCgroup::create(backend));
    let parent = parent_cgroup
        .as_ref()
        .map(|parent_cgroup| format!("cgroup-parent={}", parent_cgroup.0));
    let mut arguments = vec!["hold=3", "--", "ready-sleep", "100000"];
    arguments.splice(0..0, parent.as_deref());
    let mut client = Client::start(&arguments);
    client.ready();
    let footprint = Footprint::new(client.supervisor, client.cgroups.clone());
    let keeper = process(client.supervisor as i32).unwrap().parent;
    // When the keeper continues, it finds a killed supervisor and no client.
    kill(keeper, Signal::STOP);
    kill(client.supervisor as i32, Signal::KILL);
    client.kill();
    kill(keeper, Signal::CONT);
    footprint.assert_gone();
}

#[test]
fn hanging_supervisor_is_killed_after_its_client() {
    let mut client = Client::start(&["hold=3", "--", "ready-sleep", "100000"]);
    client.ready();
    if client.cgroups.is_empty() {
        client.kill();
        return skip("without cgroups, no keeper exists");
    }
    let footprint = Footprint::new(client.supervisor, client.cgroups.clone());
    let supervisor = client.supervisor;
    kill(supervisor as i32, Signal::STOP);
    client.kill();
    // The supervisor has several seconds to end by itself. Meanwhile the keeper watches it.
    std::thread::sleep(Duration::from_secs(2));
    assert!(footprint.remaining().contains(&supervisor.to_string()));
    eventually(Duration::from_secs(15), || footprint.remaining().is_empty());
    footprint.assert_gone();
}

#[test]
fn next_start_removes_cgroups_of_a_crash() {
    let mut client = Client::start(&["hold=3", "--", "ready-sleep", "100000"]);
    client.ready();
    if client.cgroups.is_empty() {
        client.kill();
        return skip("no cgroups are available");
    }
    let cgroups = client.cgroups.clone();
    let footprint = Footprint::new(client.supervisor, cgroups.clone());
    let keeper = process(client.supervisor as i32).unwrap().parent;
    // Stop the process that would clean up before the process that would notice.
    for pid in [keeper, client.child.id() as i32] {
        kill(pid, Signal::STOP);
    }
    for pid in [keeper, client.child.id() as i32, client.supervisor as i32] {
        kill(pid, Signal::KILL);
    }
    client.kill();
    // The next start removes the cgroups of the crash once their processes have ended.
    let cleared = eventually(Duration::from_secs(10), || {
        drop(supervisor());
        cgroups.iter().all(|path| !path.exists())
    });
    assert!(cleared, "{}", footprint.remaining());
    footprint.assert_gone();
}

#[test]
fn client_that_ignores_sigchld_is_informed_of_a_death() {
    let output = millibox_tests::client(["careless", "--", "exit", "0"]);
    assert_eq!(output.value("exit_code"), "0", "{output:?}");
    let error = output.value("error");
    // Without a keeper, the supervisor is the client's own child, and its exit status is lost.
    let known = if output.value("backend") == "rlimit" {
        "it closed its socket"
    } else {
        "killed by signal 9"
    };
    assert!(error.contains(known), "{error}");
}

#[test]
fn child_forked_from_client_does_not_end_its_runs() {
    let output = millibox_tests::client(["forked", "--", "ready-sleep", "60000"]);
    let values = ["child", "continues", "outcome", "next"].map(|key| output.value(key));
    assert_eq!(
        values,
        ["true", "true", "Killed", "Exited(0)"],
        "{output:?}"
    );
}

#[test]
fn polling_handle_without_thread_returns_error() {
    let output = millibox_tests::client(["no-thread", "--", "exit", "0"]);
    assert!(
        output.value("polled").contains("cannot start a thread"),
        "{output:?}"
    );
    assert_eq!(
        (output.value("waited"), output.value("readable")),
        ("Exited(0)".to_owned(), "true".to_owned())
    );
}
