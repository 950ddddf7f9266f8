//! Batches.

use super::await_running;
use crate::server::Server;
use millibox_tests::{HANG_TIMEOUT, eventually};
use serde_json::{Value, json};
use std::io::Read;

fn lines(body: &str) -> Vec<Value> {
    body.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_run_of_a_batch_has_a_line_and_the_last_line_counts() {
    let server = Server::start("");
    let runs: Vec<Value> = (0..20)
        .map(|number| match number {
            7 => json!({ "unknown": 1 }),
            number => json!({ "args": [number.to_string()] }),
        })
        .collect();
    let body = json!({ "command": ["echo"], "label": "batch", "runs": runs });
    let answer = server.post("/v1/batches", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let mut lines = lines(&answer.body);
    assert_eq!(
        lines.pop(),
        Some(json!({ "done": 20, "service_errors": 0 }))
    );
    lines.sort_by_key(|line| line["index"].as_u64());
    assert_eq!(lines.len(), 20);
    for (index, line) in lines.iter().enumerate() {
        assert_eq!(line["index"], index);
        if index == 7 {
            assert_eq!(line["error"]["code"], "malformed");
        } else {
            assert_eq!(
                line["run"]["tests"][0]["stdout"]["text"],
                format!("{index}\n")
            );
            assert_eq!(line["run"]["label"], "batch");
            let id = line["run"]["id"].as_str().unwrap();
            assert_eq!(server.get(&format!("/v1/runs/{id}")).json(), line["run"]);
        }
    }
    assert_eq!(
        server.post("/v1/batches", &json!({ "runs": 1 })).status,
        422
    );
}

#[test]
fn batch_larger_than_the_queue_is_run_in_full() {
    let server = Server::with_config("", "[queue]\nmax_requests = 2\n[running]\ncpu_slots = 1");
    let runs = vec![json!({}); 30];
    let answer = server.post("/v1/batches", &json!({ "command": ["true"], "runs": runs }));
    let last = lines(&answer.body).pop();
    assert_eq!(last, Some(json!({ "done": 30, "service_errors": 0 })));
}

#[test]
fn batch_of_a_disconnected_client_is_cancelled() {
    let server = Server::with_config("", "[running]\ncpu_slots = 1");
    let runs = json!({
        "limits": { "cpu_ms": 100_000 },
        "runs": [
            { "command": ["true"] },
            { "command": ["sleep", "90"] },
            { "command": ["sleep", "90"] },
        ],
    });
    let mut connection = server.begin_post("/v1/batches", "", &runs.to_string());
    // The first line has arrived, so the second run follows.
    let mut head = Vec::new();
    while !head.windows(9).any(|part| part == b"\"index\":0") {
        let mut byte = [0];
        connection.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    await_running(&server, 1);
    drop(connection);
    // Between two runs, none is running.
    let is_idle = || {
        let info = server.get("/v1/info").json();
        info["running"] == 0 && info["queued"] == 0
    };
    assert!(eventually(HANG_TIMEOUT, is_idle), "the batch ends");
}
