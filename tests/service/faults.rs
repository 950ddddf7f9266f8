//! Supervisors that are killed during requests.

use crate::server::{Server, read_to_end};
use millibox_tests::{HANG_TIMEOUT, eventually, kill};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpStream;

const REQUESTS: usize = 1_000;

/// Kills the supervisors of a service. Returns their number.
fn kill_supervisors(server: &Server) -> usize {
    let supervisors = server.supervisors();
    for pid in &supervisors {
        kill(*pid, Signal::KILL);
    }
    supervisors.len()
}

#[test]
fn killed_supervisors_are_never_blamed_on_the_program() {
    // On a busy machine, the last of these requests waits for minutes.
    let server = Server::with_config("", "[queue]\nwait_ms = 600000\n");
    let name = |number: usize| format!("program-{number}");
    let connections: Vec<TcpStream> = (0..REQUESTS)
        .map(|number| {
            let script = format!("sleep 0.02; echo {}; exit 3", name(number));
            let request = json!({ "command": ["sh", "-c", script] });
            server.begin_post("/v1/runs", "Connection: close\r\n", &request.to_string())
        })
        .collect();
    let in_flight = || {
        let info = server.get("/v1/info").json();
        info["running"].as_u64().unwrap_or(0) + info["queued"].as_u64().unwrap_or(0)
    };
    let mut kills = 0;
    // The first kill happens while nearly all requests are running, the last one while only a few
    // are.
    for left in [990, 800, 500, 200, 20] {
        assert!(eventually(HANG_TIMEOUT, || in_flight() <= left));
        kills += kill_supervisors(&server);
    }
    assert!(kills > 0, "a supervisor was killed");
    let (mut done, mut blamed) = (0, 0);
    for (number, connection) in connections.into_iter().enumerate() {
        let answer = read_to_end(connection);
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        let document: Value = serde_json::from_str(body).expect("a document");
        let test = &document["tests"][0];
        let is_right = head.starts_with("HTTP/1.1 200")
            && test["outcome"] == "exited"
            && test["exit_code"] == 3
            && test["stdout"]["text"] == format!("{}\n", name(number));
        let is_failure = test["blame"] == "service"
            || (head.starts_with("HTTP/1.1 500") && document["code"] == "sandbox_error");
        assert!(is_right || is_failure, "{answer}");
        done += usize::from(is_right);
        blamed += usize::from(is_failure);
    }
    println!("{kills} supervisors killed; {done} requests succeeded, {blamed} failed");
    assert!(done > 0);
    let after = server.post("/v1/runs", &json!({ "command": ["true"] }));
    assert_eq!(after.json()["tests"][0]["exit_code"], 0, "{after:?}");
}

/// Begins a run, follows its output, and kills the supervisors when the run has written `output`.
fn killed_after(script: &str, output: &str) -> Value {
    let server = Server::start("");
    let request = json!({ "command": ["sh", "-c", script] });
    let headers = [("prefer", "respond-async")];
    let answer = server.request("POST", "/v1/runs", &headers, request.to_string());
    let id = answer.json()["id"].as_str().expect("an id").to_owned();
    let head = format!("GET /v1/runs/{id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut events = server.connection(head.as_bytes());
    let mut text = Vec::new();
    let is_written = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        text.contains("event: test_started") && text.contains(output)
    };
    while !is_written(&text) {
        let mut byte = [0];
        events.read_exact(&mut byte).expect("an event");
        text.push(byte[0]);
    }
    assert!(kill_supervisors(&server) > 0);
    let mut document = Value::Null;
    assert!(eventually(HANG_TIMEOUT, || {
        document = server.get(&format!("/v1/runs/{id}")).json();
        document["state"] == "ended"
    }));
    document
}

#[test]
fn followed_run_is_repeated_only_if_it_has_written_nothing() {
    let document = killed_after("sleep 1; echo done", "");
    let test = &document["tests"][0];
    assert_eq!(test["stdout"]["text"], "done\n", "{document}");

    let document = killed_after("echo begun; sleep 1; echo done", "begun");
    let is_failure =
        document["error"]["code"] == "sandbox_error" || document["tests"][0]["blame"] == "service";
    assert!(is_failure, "{document}");
}
