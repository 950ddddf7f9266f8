//! The interface of go-judge.

mod auth;
mod cancel;
mod client;
mod files;
mod hydro;
mod mounts;
mod pipes;
mod results;
mod sockets;

use crate::server::Server;
use serde_json::{Value, json};

/// A service with the interface of go-judge, and a client.
struct Judge {
    server: Server,
    agent: ureq::Agent,
}

impl Judge {
    fn start() -> Judge {
        Judge::of(Server::start("go-judge"))
    }

    fn with_config(config: &str) -> Judge {
        Judge::of(Server::with_config("go-judge", config))
    }

    fn of(server: Server) -> Judge {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        Judge {
            server,
            agent: config.build().into(),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }

    /// Posts a body to `/run`. Returns the status and the answer.
    fn post(&self, body: &str) -> (u16, Value) {
        let sent = self.agent.post(self.url("/run")).send(body);
        let mut response = sent.unwrap();
        let text = response.body_mut().with_config().limit(1 << 30);
        let text = text.read_to_string().unwrap();
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        (response.status().as_u16(), value)
    }

    /// Runs commands with pipes.
    fn group(&self, commands: &[Value], pipes: &Value) -> (u16, Value) {
        self.post(&json!({"cmd": commands, "pipeMapping": pipes}).to_string())
    }

    /// The result of one command.
    fn run(&self, command: Value) -> Value {
        let (status, mut results) = self.group(&[command], &json!([]));
        assert_eq!(status, 200, "{results}");
        results[0].take()
    }

    /// The status and text of `GET`.
    fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let mut response = self.agent.get(self.url(path)).call().unwrap();
        let bytes = response.body_mut().read_to_vec().unwrap();
        (response.status().as_u16(), bytes)
    }
}

/// A command with the usual limits and collectors.
fn command(args: &[&str], changes: Value) -> Value {
    let mut command = json!({
        "args": args,
        "env": ["PATH=/usr/bin:/bin"],
        "files": [{"content": ""}, {"name": "stdout", "max": 10240},
                  {"name": "stderr", "max": 10240}],
        // The machine may be busy.
        "cpuLimit": 20_000_000_000_u64,
        "clockLimit": 60_000_000_000_u64,
        "memoryLimit": 128 << 20,
        "procLimit": 20,
    });
    if let Value::Object(changes) = changes {
        for (name, value) in changes {
            command[name] = value;
        }
    }
    command
}

/// A command of the shell.
fn shell(script: &str, changes: Value) -> Value {
    command(&["sh", "-c", script], changes)
}
