//! Clients that end their half of the connection after the request, as `nc -N` does.

use crate::server::{Server, read_to_end};
use serde_json::{Value, json};
use std::net::Shutdown;

/// A program that takes longer than the first intervals at which the service checks whether the
/// client has left.
const PROGRAM: &str = "sleep 1; echo late";

fn respond(server: &Server, path: &str, body: &Value) -> String {
    let headers = "Content-Type: application/json\r\nConnection: close\r\n";
    let connection = server.begin_post(path, headers, &body.to_string());
    connection.shutdown(Shutdown::Write).unwrap();
    read_to_end(connection)
}

#[test]
fn client_that_has_finished_sending_receives_its_result() {
    let server = Server::everything();
    let command = json!(["sh", "-c", PROGRAM]);
    let go_judge = json!({"cmd": [{
        "args": ["/bin/sh", "-c", PROGRAM],
        "env": ["PATH=/usr/bin:/bin"],
        "files": [{"content": ""}, {"name": "stdout", "max": 100}, {"name": "stderr", "max": 100}],
        "cpuLimit": 1_000_000_000_u64,
        "clockLimit": 20_000_000_000_u64,
        "memoryLimit": 64 << 20,
        "procLimit": 10,
    }]});
    let piston = json!({"language": "bash", "version": "*", "files": [{"content": PROGRAM}]});
    let fusion = json!({"language": "bash", "code": PROGRAM, "run_timeout": 30});
    let judge0 = json!({"language_id": 46, "source_code": PROGRAM});
    for (path, body) in [
        ("/v1/runs", json!({"command": command})),
        ("/v1/batches", json!({"command": command, "runs": [{}, {}]})),
        ("/run", go_judge),
        ("/api/v2/execute", piston),
        ("/run_code", fusion),
        ("/submissions?wait=true", judge0),
    ] {
        let response = respond(&server, path, &body);
        let begin = response.lines().next().unwrap_or_default();
        assert!(begin.starts_with("HTTP/1.1 20"), "{path}: {response}");
        assert!(response.contains("late\\n"), "{path}: {response}");
    }
}

#[test]
fn request_that_ends_early_is_not_carried_out() {
    let server = Server::everything();
    let connection = server.connection(
        b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"command\":",
    );
    connection.shutdown(Shutdown::Write).unwrap();
    let response = read_to_end(connection);
    assert!(!response.contains("HTTP/1.1 200"), "{response}");
    assert_eq!(server.get("/v1/info").json()["running"], 0);
}
