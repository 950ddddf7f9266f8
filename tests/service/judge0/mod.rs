//! The interface of Judge0.

mod auth;
mod batches;
mod callbacks;
mod client;
mod files;
mod info;
mod limits;
mod results;
mod submissions;

use crate::server::Server;
use serde_json::{Value, json};

/// Text, which needs no compiler.
const PLAIN_TEXT: u32 = 43;
const EXECUTABLE: u32 = 44;
const MULTI_FILE: u32 = 89;
const BASH: u32 = 46;
const C: u32 = 50;
const PYTHON: u32 = 71;

/// A service with the interface of Judge0, and a client.
struct Judge {
    server: Server,
    agent: ureq::Agent,
    /// Headers of every request.
    headers: Vec<(&'static str, String)>,
}

/// The status of an answer, and its body as JSON or as text.
type Answer = (u16, Value);

impl Judge {
    fn start() -> Judge {
        Judge::of(Server::start("judge0"))
    }

    fn with_config(config: &str) -> Judge {
        Judge::of(Server::with_config("judge0", config))
    }

    fn of(server: Server) -> Judge {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        Judge {
            server,
            agent: config.build().into(),
            headers: Vec::new(),
        }
    }

    /// The response to a request.
    fn response(&self, method: &str, path: &str, body: &str) -> ureq::http::Response<ureq::Body> {
        let url = format!("{}{path}", self.server.url);
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        if !self.headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let request = request.body(body.to_owned()).unwrap();
        self.agent.run(request).unwrap()
    }

    /// Sends a request. Returns the status and the answer.
    fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut response = self.response(method, path, body);
        let text = response.body_mut().with_config().limit(1 << 30);
        let text = text.read_to_string().unwrap();
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        (response.status().as_u16(), value)
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &body.to_string())
    }

    /// The whole result of a submission, after its end.
    fn run(&self, submission: &Value) -> Value {
        let path = "/submissions?wait=true&fields=*";
        let (status, result) = self.post(path, submission);
        assert_eq!(status, 201, "{result}");
        result
    }

    /// The errors of a field of a submission.
    fn rejected(&self, submission: &Value, field: &str) -> Value {
        let (status, mut errors) = self.post("/submissions", submission);
        assert_eq!(status, 422, "{errors}");
        errors[field].take()
    }

    /// Creates a submission. Returns its token.
    fn create(&self, submission: &Value) -> String {
        let (status, answer) = self.post("/submissions", submission);
        assert_eq!(status, 201, "{answer}");
        answer["token"].as_str().unwrap().to_owned()
    }

    /// Waits until a submission has ended. Returns it.
    fn wait(&self, token: &str) -> Value {
        let mut result = Value::Null;
        let has_ended = millibox_tests::eventually(millibox_tests::HANG_TIMEOUT, || {
            result = self.get(&format!("/submissions/{token}?fields=*")).1;
            result["status"]["id"].as_u64() > Some(2)
        });
        assert!(has_ended, "{result}");
        result
    }
}

/// A submission of plain text.
fn text(source: &str) -> Value {
    json!({ "source_code": source, "language_id": PLAIN_TEXT })
}

/// A submission in a language.
fn source(language: u32, source: &str) -> Value {
    json!({ "source_code": source, "language_id": language })
}

/// A submission with additional fields.
fn with(mut submission: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        submission[name] = value.clone();
    }
    submission
}

/// Base64 in one line.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        for at in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() {
                digit as char
            } else {
                '='
            });
        }
    }
    text
}

/// A zip archive.
fn archive(files: &[(&str, &[u8])]) -> String {
    use std::io::{Cursor, Write};
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    base64(&writer.finish().unwrap().into_inner())
}
