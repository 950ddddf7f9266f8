//! Clients that disconnect, and a full queue.

use super::{Judge, shell};
use millibox_tests::{HANG_TIMEOUT, eventually, processes_with_argument, token};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A request that runs until it is cancelled, and the argument of its process.
fn sleeper() -> (String, String) {
    let token = token();
    let mut command = shell("while :; do sleep 1; done", json!({}));
    command["args"].as_array_mut().unwrap().push(json!(token));
    (json!({"cmd": [command]}).to_string(), token)
}

/// Sends a request and does not wait for the answer.
fn send(judge: &Judge, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(judge.server.address()).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

fn is_running(token: &str) -> bool {
    !processes_with_argument(token).is_empty()
}

#[test]
fn run_ends_when_its_client_disconnects() {
    let judge = Judge::start();
    let (body, token) = sleeper();
    let stream = send(&judge, &body);
    assert!(eventually(HANG_TIMEOUT, || is_running(&token)), "it starts");
    drop(stream);
    assert!(eventually(HANG_TIMEOUT, || !is_running(&token)), "it ends");
    let after = judge.run(shell("echo still", Value::Null));
    assert_eq!(after["files"]["stdout"], "still\n");
}

/// Whether the answer has arrived. It must report that the queue is full.
fn is_refused(stream: &mut TcpStream) -> bool {
    stream
        .set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    let mut answer = [0; 1024];
    match stream.read(&mut answer) {
        Ok(length) => {
            let answer = String::from_utf8_lossy(&answer[..length]);
            assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
            assert!(answer.ends_with("\"worker queue is full\""), "{answer}");
            true
        }
        Err(_) => false,
    }
}

#[test]
fn full_queue_refuses_at_once_and_empties_when_clients_disconnect() {
    let config = "[queue]\nmax_requests = 2\n[running]\ncpu_slots = 1\nreal_slots = 1\n";
    let judge = Judge::with_config(config);
    // One request runs, two wait, and three are refused.
    let sleepers: Vec<_> = (0..6).map(|_| sleeper()).collect();
    let mut streams: Vec<_> = sleepers
        .iter()
        .map(|(body, _)| send(&judge, body))
        .collect();
    let mut refused = 0;
    let three_are_refused = || {
        streams.retain_mut(|stream| !is_refused(stream));
        refused = 6 - streams.len();
        refused == 3
    };
    assert!(
        eventually(HANG_TIMEOUT, three_are_refused),
        "{refused} refused"
    );
    streams.clear();
    // The queue stays full until the server has noticed that the clients have disconnected.
    let mut after = Value::Null;
    let is_accepted = || {
        let command = shell("echo still", Value::Null);
        let (status, results) = judge.group(&[command], &json!([]));
        after = results;
        status == 200
    };
    assert!(eventually(HANG_TIMEOUT, is_accepted), "the queue empties");
    assert_eq!(after[0]["files"]["stdout"], "still\n");
    let ended = || !sleepers.iter().any(|(_, token)| is_running(token));
    assert!(eventually(HANG_TIMEOUT, ended), "all of them end");
}
