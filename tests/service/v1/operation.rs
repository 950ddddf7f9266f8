//! Starting and ending the service, and hostile clients.

use super::{await_running, begin, endless, shell};
use crate::server::{Server, read_to_end};
use millibox_tests::{HANG_TIMEOUT, descendants, eventually, kill};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

fn signal(server: &Server, signal: Signal) {
    kill(i32::try_from(server.pid()).unwrap(), signal);
}

/// Temporary directories of services.
fn scratch_directories() -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_scratch = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("millibox-serve-")
    };
    paths.filter(is_scratch).collect()
}

/// The directory for temporary files of a service.
fn scratch(server: &Server) -> PathBuf {
    let environment = std::fs::read(format!("/proc/{}/environ", server.pid())).unwrap();
    let mut variables = environment.split(|byte| *byte == 0);
    let path = variables
        .find_map(|variable| variable.strip_prefix(b"TMPDIR="))
        .expect("the service has a directory");
    PathBuf::from(String::from_utf8(path.to_vec()).unwrap())
}

#[test]
fn terminated_service_ends_its_running_requests_and_refuses_others() {
    let config = "[running]\ncpu_slots = 1";
    let mut server = Server::with_config("", config);
    let close = "Connection: close\r\n";
    // Even on a busy machine, the run outlasts the requests below.
    let running = shell("sleep 5; echo done").to_string();
    let running = server.begin_post("/v1/runs", close, &running);
    await_running(&server, 1);
    let waiting = server.begin_post("/v1/runs", close, &shell("true").to_string());
    assert!(eventually(
        HANG_TIMEOUT,
        || server.get("/v1/info").json()["queued"] == 1
    ));
    assert_eq!(server.get("/readyz").status, 200);
    signal(&server, Signal::TERM);
    let is_draining = || server.get("/readyz").status == 503;
    assert!(eventually(HANG_TIMEOUT, is_draining));
    assert_eq!(server.get("/readyz").json()["status"], "draining");
    let refused = server.post("/v1/runs", &shell("true"));
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (503, &json!("draining"))
    );
    assert!(refused.header("retry-after").is_some());
    let waiting = read_to_end(waiting);
    assert!(waiting.starts_with("HTTP/1.1 503"), "{waiting}");
    let running = read_to_end(running);
    assert!(
        running.starts_with("HTTP/1.1 200") && running.contains("done"),
        "{running}"
    );
    assert!(server.wait().success());
}

#[test]
fn requests_that_outlast_the_drain_are_cancelled() {
    let mut server = Server::with_config("", "drain_ms = 100");
    let id = begin(&server, &endless());
    await_running(&server, 1);
    let connection = server.begin_post("/v1/runs", "", &endless().to_string());
    await_running(&server, 2);
    signal(&server, Signal::TERM);
    assert!(server.wait().success());
    drop((id, connection));
}

#[test]
fn killed_service_leaves_no_process_and_no_file() {
    let mut server = Server::start("");
    let scratch = scratch(&server);
    assert!(scratch_directories().contains(&scratch));
    let stored = server.request(
        "PUT",
        &format!("/v1/files/{}", super::sha256("x")),
        &[],
        "x",
    );
    assert_eq!(stored.status, 201);
    let ids = [begin(&server, &endless()), begin(&server, &endless())];
    await_running(&server, 2);
    let processes = descendants(server.pid());
    assert!(processes.len() > 2, "{processes:?}");
    signal(&server, Signal::KILL);
    server.wait();
    let are_gone = || processes.iter().all(|process| !process.is_alive());
    assert!(eventually(HANG_TIMEOUT, are_gone), "{ids:?}");
    assert!(eventually(HANG_TIMEOUT, || !scratch.exists()));
}

#[test]
fn unix_socket_serves_everything_and_replaces_a_stale_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let path_text = path.to_str().unwrap();
    let ask = || {
        let mut stream = UnixStream::connect(&path).unwrap();
        let head = b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(head).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let mut killed = Server::with_arguments("", "", &["--unix-socket", path_text]);
    assert!(eventually(HANG_TIMEOUT, || path.exists()));
    assert!(ask().starts_with("HTTP/1.1 200"));
    signal(&killed, Signal::KILL);
    killed.wait();
    assert!(path.exists());
    let mut server = Server::with_arguments("", "", &["--unix-socket", path_text]);
    let is_served = || UnixStream::connect(&path).is_ok();
    assert!(eventually(HANG_TIMEOUT, is_served));
    assert!(ask().starts_with("HTTP/1.1 200"));
    signal(&server, Signal::TERM);
    assert!(server.wait().success());
    assert!(!path.exists());
}

#[test]
fn hostile_requests_do_not_stop_the_others() {
    let server = Server::start("");
    // Headers that never end, and a body that never arrives.
    let half_open: Vec<_> = (0..200)
        .map(|number| match number % 2 {
            0 => server.connection(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "),
            _ => server.connection(
                b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
            ),
        })
        .collect();
    let mut many = b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n".to_vec();
    for number in 0..100_000 {
        write!(many, "X-{number}: x\r\n").unwrap();
    }
    many.extend_from_slice(b"\r\n");
    let mut stream = server.connection(b"");
    // The service may close the connection before everything is sent.
    let _ = stream.write_all(&many);
    let mut answer = [0; 12];
    let read = stream.read(&mut answer).unwrap_or(0);
    assert!(
        read == 0 || answer.starts_with(b"HTTP/1.1 431"),
        "{answer:?}"
    );
    let body = "x".repeat(1 << 20);
    let large = format!(
        "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
        1_u64 << 30
    );
    let mut large = server.connection(large.as_bytes());
    for _ in 0..80 {
        if large.write_all(body.as_bytes()).is_err() {
            break;
        }
    }
    let answer = server.post("/v1/runs", &shell("echo works"));
    assert_eq!(
        answer.json()["tests"][0]["stdout"]["text"],
        "works\n",
        "{answer:?}"
    );
    drop(half_open);
}

#[test]
fn json_log_has_an_object_in_each_line() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(millibox_tests::executable("millibox"))
        .args(["serve", "--listen", "127.0.0.1:0", "--log", "json"])
        .args(crate::server::backend())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    kill(i32::try_from(child.id()).unwrap(), Signal::TERM);
    let log = child.wait_with_output().unwrap().stderr;
    let log = String::from_utf8(log).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!lines.is_empty());
    assert!(lines.iter().all(|line| line["level"].is_string()), "{log}");
}

#[test]
fn dialects_are_served_below_their_prefixes() {
    let server = Server::with_config("", "dialects = ['judge0=/judge0', 'go-judge']");
    assert_eq!(server.get("/judge0/about").json()["version"], "1.13.1");
    assert_eq!(server.get("/judge0/version").body, "1.13.1");
    assert!(server.get("/version").json()["buildVersion"].is_string());
    for path in ["/about", "/submissions", "/runtimes"] {
        let unknown = server.get(path);
        assert_eq!(unknown.status, 404, "{path}: {unknown:?}");
        assert_eq!(unknown.json()["code"], "not_found", "{path}");
    }
    let source = json!({ "source_code": "text", "language_id": 43 });
    let run = server.post("/judge0/submissions?wait=true", &source).json();
    assert_eq!(
        (&run["status"]["id"], &run["stdout"]),
        (&json!(3), &json!("text"))
    );
}

/// Sends the headers of a request without a body, then waits until a handler may have answered it.
fn send_headers(stream: &mut TcpStream, headers: &str) {
    let head = format!("POST /nowhere HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
}

#[test]
fn connection_continues_after_a_body_that_no_handler_reads() {
    let server = Server::everything();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    send_headers(&mut stream, "Content-Length: 4\r\n");
    stream.write_all(b"null").unwrap();
    let next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(next.as_bytes()).unwrap();
    let answers = read_to_end(stream);
    assert!(answers.starts_with("HTTP/1.1 404 "), "{answers}");
    assert!(answers.contains("HTTP/1.1 200 "), "{answers}");
}

#[test]
fn connection_closes_if_the_rest_of_a_body_does_not_arrive() {
    let server = Server::everything();
    for headers in [
        "Content-Length: 100000000\r\n",
        "Content-Length: 4\r\nExpect: 100-continue\r\n",
    ] {
        // A front end reads a small body before an executor decides on the request.
        if headers.contains("Expect") && server.is_behind_front() {
            continue;
        }
        let mut stream = TcpStream::connect(server.address()).unwrap();
        send_headers(&mut stream, headers);
        let answer = read_to_end(stream);
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    }
}
