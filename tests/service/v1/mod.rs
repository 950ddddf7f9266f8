//! The service's own interface, `/v1`.

mod attach;
mod batches;
mod documents;
mod events;
mod explain;
mod files;
mod judgings;
mod operation;
mod origins;
mod runs;

use crate::server::Server;
use millibox_tests::{HANG_TIMEOUT, eventually};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The SHA-256 in hexadecimal.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A request to run a shell script.
pub fn shell(script: &str) -> Value {
    json!({ "command": ["sh", "-c", script] })
}

/// A request that runs until it is cancelled.
pub fn endless() -> Value {
    json!({
        "command": ["sleep", "100"],
        "limits": { "cpu_ms": 100_000, "wall_ms": 200_000 },
    })
}

/// Waits until this many requests run.
pub fn await_running(server: &Server, count: u64) {
    let is_reached = || server.get("/v1/info").json()["running"] == count;
    assert!(eventually(HANG_TIMEOUT, is_reached), "{count} requests run");
}

/// Begins a run and returns its id.
pub fn begin(server: &Server, body: &Value) -> String {
    let headers = [("prefer", "respond-async")];
    let answer = server.request("POST", "/v1/runs", &headers, body.to_string());
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.json()["id"].as_str().expect("an id").to_owned()
}

/// Waits until a run has ended, and returns its document.
pub fn await_end(server: &Server, path: &str) -> Value {
    let mut last = Value::Null;
    let is_ended = || {
        last = server.get(path).json();
        last["state"] == "ended"
    };
    assert!(eventually(HANG_TIMEOUT, is_ended), "{path} ends");
    last
}
