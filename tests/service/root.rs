//! A service that root starts: it serves as an unprivileged user, and a process of root starts its
//! supervisors.

use crate::server::{Server, backend};
use crate::v1::{await_running, begin, endless, sha256, shell};
use millibox::Supervisor;
use millibox_tests::{
    HANG_TIMEOUT, descendants, eventually, executable, is_root, kill, process, set_mode, skip,
};
use rustix::process::Signal;
use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns whether the test can run here.
fn is_root_or_skips() -> bool {
    if !is_root() {
        skip("only root can start a service that changes its user");
    }
    is_root()
}

/// The value of a field of /proc/PID/status.
fn status(pid: i32, field: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{field}:")));
    let words: Vec<&str> = line.unwrap().split_whitespace().collect();
    words.join(" ")
}

fn parent_pid(server: &Server) -> i32 {
    i32::try_from(server.pid()).unwrap()
}

/// Checks that a run works.
fn assert_runs(server: &Server) {
    let answer = server.post("/v1/runs", &shell("echo works; exit 3"));
    let test = &answer.json()["tests"][0];
    assert_eq!(test["exit_code"], 3, "{answer:?}");
    assert_eq!(test["stdout"]["text"], "works\n", "{answer:?}");
}

/// Kills a process of a service with running requests, and checks that nothing is left.
fn assert_kill_leaves_nothing(victim: impl Fn(&Server) -> i32) {
    let mut server = Server::everything();
    begin(&server, &endless());
    await_running(&server, 1);
    let processes = descendants(server.pid());
    assert!(processes.len() > 3, "{processes:?}");
    let cgroups = cgroups_of(&processes);
    assert!(!cgroups.is_empty() || server.backend == "rlimit");
    kill(victim(&server), Signal::KILL);
    server.wait();
    let are_gone = || processes.iter().all(|process| !process.is_alive());
    assert!(eventually(HANG_TIMEOUT, are_gone), "{processes:?}");
    let are_removed = || cgroups.iter().all(|path| !Path::new(path).exists());
    assert!(eventually(HANG_TIMEOUT, are_removed), "{cgroups:?}");
}

/// The memory cgroups that were created for processes.
fn cgroups_of(processes: &[millibox_tests::Process]) -> Vec<String> {
    let of = |pid: &str| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let mut lines = text.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            match controllers {
                "memory" => Some(format!("/sys/fs/cgroup/memory{path}")),
                "" if path != "/" => Some(format!("/sys/fs/cgroup{path}")),
                _ => None,
            }
        });
        lines.next()
    };
    processes
        .iter()
        .filter_map(|process| of(&process.pid.to_string()))
        .filter(|path| path.contains("/millibox-"))
        .collect()
}

#[test]
fn service_of_root_has_another_user_and_no_privileges() {
    if !is_root_or_skips() {
        return;
    }
    let server = Server::everything();
    let (uid, gid) = Supervisor::UNPRIVILEGED_IDS;
    let service = server.service_pid();
    assert_ne!(service, parent_pid(&server));
    assert_eq!(
        status(service, "Uid"),
        [uid.to_string().as_str(); 4].join(" ")
    );
    assert_eq!(
        status(service, "Gid"),
        [gid.to_string().as_str(); 4].join(" ")
    );
    assert_eq!(status(service, "Groups"), "");
    assert_eq!(status(service, "NoNewPrivs"), "1");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status(service, set), "0000000000000000", "{set}");
    }
    assert_eq!(status(parent_pid(&server), "Threads"), "1");
    let info = server.get("/v1/info").json();
    assert_eq!(info["user"], uid);
    assert_eq!(info["backend"], server.backend);
    assert_runs(&server);
    // Files are put in place by a program that the service opens.
    let files = json!({
        "command": ["cat", "a"],
        "files": { "a": { "text": "content" } },
    });
    let answer = server.post("/v1/runs", &files);
    assert_eq!(
        answer.json()["tests"][0]["stdout"]["text"],
        "content",
        "{answer:?}"
    );
    let compiled = json!({
        "runtime": "c",
        "files": { "main.c": { "text": "int main(void) { return 7; }" } },
    });
    let answer = server.post("/v1/runs", &compiled);
    assert_eq!(answer.json()["tests"][0]["exit_code"], 7, "{answer:?}");
}

#[test]
fn user_files_and_addresses_of_a_service_of_root_are_usable() {
    if !is_root_or_skips() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (store, socket) = (
        directory.path().join("store"),
        directory.path().join("socket"),
    );
    // mkdtemp(3) has closed the directory to other users.
    set_mode(directory.path(), 0o755);
    let config = format!("[files]\ndirectory = {:?}\n", store.to_str().unwrap());
    let socket_text = socket.to_str().unwrap();
    let mut server = Server::with_arguments(
        "",
        &config,
        &["--user", "61235:61236", "--unix-socket", socket_text],
    );
    let service = server.service_pid();
    assert_eq!(status(service, "Uid"), "61235 61235 61235 61235");
    assert_eq!(status(service, "Gid"), "61236 61236 61236 61236");
    let path = format!("/v1/files/{}", sha256("stored"));
    assert_eq!(server.request("PUT", &path, &[], "stored").status, 201);
    assert_eq!(server.get(&path).body, "stored");
    let owner = store.metadata().unwrap();
    assert_eq!((owner.uid(), owner.mode() & 0o777), (61235, 0o700));
    let owner = socket.symlink_metadata().unwrap();
    assert_eq!(
        (owner.uid(), owner.gid(), owner.mode() & 0o777),
        (61235, 61236, 0o660)
    );
    let mut stream = UnixStream::connect(&socket).unwrap();
    let head = b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(head).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_runs(&server);
    kill(parent_pid(&server), Signal::TERM);
    assert!(server.wait().success());
    // Only root may remove a file in that directory.
    assert!(!socket.exists());
    std::fs::remove_dir_all("/var/cache/millibox-61235").unwrap();
}

#[test]
fn service_of_root_listens_on_a_low_port() {
    if !is_root_or_skips() {
        return;
    }
    let server = Server::spawn(
        Command::new(executable("millibox"))
            .args(["serve", "--listen", "127.0.0.1:999"])
            .args(backend()),
    );
    assert_eq!(server.url, "http://127.0.0.1:999");
    assert_runs(&server);
}

#[test]
fn killed_service_of_root_ends_its_parent() {
    if is_root_or_skips() {
        assert_kill_leaves_nothing(Server::service_pid);
    }
}

#[test]
fn killed_parent_ends_its_service() {
    if is_root_or_skips() {
        assert_kill_leaves_nothing(parent_pid);
    }
}

#[test]
fn killed_supervisor_of_a_service_of_root_is_replaced() {
    if !is_root_or_skips() {
        return;
    }
    let server = Server::everything();
    assert_runs(&server);
    let killed = server.supervisors();
    assert!(!killed.is_empty());
    let old = descendants(server.pid());
    for pid in &killed {
        kill(*pid, Signal::KILL);
    }
    // The parent waits for them, so no zombie is left.
    let are_gone = || {
        killed
            .iter()
            .all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    };
    assert!(eventually(HANG_TIMEOUT, are_gone));
    assert_runs(&server);
    let service = server.service_pid();
    assert!(old.iter().any(|process| process.pid == service));
    assert!(process(parent_pid(&server)).is_some());
    assert!(!server.supervisors().is_empty());
}

#[test]
fn terminated_parent_lets_running_requests_end() {
    if !is_root_or_skips() {
        return;
    }
    let mut server = Server::everything();
    let body = shell("sleep 1; echo done").to_string();
    let running = server.begin_post("/v1/runs", "Connection: close\r\n", &body);
    await_running(&server, 1);
    kill(parent_pid(&server), Signal::TERM);
    let answer = crate::server::read_to_end(running);
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("done"),
        "{answer}"
    );
    assert!(server.wait().success());
}

#[test]
fn service_that_cannot_leave_root_does_not_start() {
    if !is_root_or_skips() {
        return;
    }
    // Without the capability, the kernel refuses to change the user.
    let output = Command::new("setpriv")
        .args(["--bounding-set", "-setuid", "--inh-caps", "-setuid", "--"])
        .arg(executable("millibox"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(backend())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{error}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(error.contains("CAP_SETUID"), "{error}");
}

#[test]
fn service_without_cgroups_does_not_start() {
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let mut command = if is_root() {
        // Hides all hierarchies in a new mount namespace.
        let hide = "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", hide, "sh"]);
        command.arg(executable("millibox"));
        command
    } else if backend().is_empty() {
        skip("this user has cgroups, and only root can hide them");
        return;
    } else {
        Command::new(executable("millibox"))
    };
    let output = command.args(serve).stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{error}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(error.contains("--backend rlimit"), "{error}");
}
