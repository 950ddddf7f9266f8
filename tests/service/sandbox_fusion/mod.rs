//! The dialect of SandboxFusion: requests as its clients send them, and answers as they read them.

mod client;
mod files;
mod jupyter;
mod languages;
mod overload;
mod requests;
mod run_code;

use crate::server::Server;
use serde_json::{Value, json};

const DIALECT: &str = "sandbox-fusion";

/// A service that serves only this dialect.
struct Fusion {
    server: Server,
}

/// The answer to a request.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: ureq::http::HeaderMap,
    body: Value,
}

impl Fusion {
    fn start() -> Fusion {
        Fusion {
            server: Server::start(DIALECT),
        }
    }

    fn with_config(config: &str) -> Fusion {
        Fusion {
            server: Server::with_config(DIALECT, config),
        }
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        post(&self.server.url, path, &body.to_string(), None)
    }

    /// The body of a successful answer of `/run_code`.
    fn run(&self, body: &Value) -> Value {
        self.success("/run_code", body)
    }

    /// Runs Python and returns the result of the program.
    fn python(&self, code: &str) -> Value {
        self.run(&json!({"language": "python", "code": code}))["run_result"].take()
    }

    /// The body of a successful answer of `/run_jupyter`.
    fn jupyter(&self, body: &Value) -> Value {
        self.success("/run_jupyter", body)
    }

    fn success(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

fn read(response: ureq::http::Response<ureq::Body>) -> Answer {
    let (parts, mut body) = response.into_parts();
    let text = body.read_to_string().unwrap();
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .build()
        .into()
}

fn post(url: &str, path: &str, body: &str, authorization: Option<&str>) -> Answer {
    let mut request = agent()
        .post(format!("{url}{path}"))
        .header("Content-Type", "application/json");
    if let Some(authorization) = authorization {
        request = request.header("Authorization", authorization);
    }
    read(request.send(body).unwrap())
}

fn get(url: &str, path: &str) -> Answer {
    read(agent().get(format!("{url}{path}")).call().unwrap())
}

/// Encodes a string in Base64.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |index: usize| u32::from(*chunk.get(index).unwrap_or(&0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let digit = (group >> (18 - 6 * index)) & 63;
            encoded.push(if index <= chunk.len() {
                char::from(DIGITS[digit as usize])
            } else {
                '='
            });
        }
    }
    encoded
}
