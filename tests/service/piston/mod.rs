//! The dialect of Piston.

mod clients;
mod connect;
mod errors;
mod execute;
mod faults;
mod limits;
mod packages;

use crate::server::Server;
use serde_json::{Value, json};
use std::sync::Arc;

fn server() -> Arc<Server> {
    Server::shared("piston")
}

/// A request to execute a program of one file. On a busy machine, interpreters may need more than
/// the 3 s that Piston sets by default.
fn program(language: &str, content: &str) -> Value {
    json!({
        "language": language, "version": "*", "files": [{ "content": content }],
        "run_timeout": 30_000, "run_cpu_time": 30_000,
        "compile_timeout": 30_000, "compile_cpu_time": 30_000,
    })
}

/// Adds fields to a request.
fn with(mut request: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().expect("fields") {
        request[name] = value.clone();
    }
    request
}

/// Executes a program, which must be answered with 200.
fn execute(server: &Server, request: &Value) -> Value {
    let answer = server.post("/api/v2/execute", request);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}
