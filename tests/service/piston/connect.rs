//! The WebSocket.

use super::{program, server, with};
use crate::server::Server;
use serde_json::{Value, json};
use std::net::TcpStream;
use tungstenite::{Message, WebSocket};

/// A connection to `/connect`.
pub struct Connection(WebSocket<TcpStream>);

impl Connection {
    pub fn open(server: &Server) -> Connection {
        let address = server.url.trim_start_matches("http://");
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(millibox_tests::HANG_TIMEOUT))
            .unwrap();
        let url = format!("ws://{address}/api/v2/connect");
        let (socket, _) = tungstenite::client(url, stream).unwrap();
        Connection(socket)
    }

    pub fn send(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).unwrap();
    }

    /// The next message, or the code with which the service closes the connection.
    fn receive(&mut self) -> Result<Value, u16> {
        loop {
            match self.0.read().unwrap() {
                Message::Text(text) => return Ok(serde_json::from_str(&text).unwrap()),
                Message::Close(frame) => {
                    // Acknowledges the end of the connection.
                    let _ = self.0.flush();
                    return Err(frame.map_or(0, |frame| frame.code.into()));
                }
                _ => {}
            }
        }
    }

    /// Receives until the output of a stream is complete.
    pub fn expect_data(&mut self, stream: &str, expected: &str) {
        let mut found = String::new();
        while found != expected {
            let message = self
                .receive()
                .unwrap_or_else(|code| panic!("closed with {code} after {found:?}"));
            assert_ne!(message["type"], "exit", "after {found:?}");
            if message["type"] == "data" && message["stream"] == stream {
                found.push_str(message["data"].as_str().unwrap());
            }
            assert!(expected.starts_with(&found), "{found:?}");
        }
    }

    /// Receives everything until the service closes the connection.
    fn rest(&mut self) -> (Vec<Value>, u16) {
        let mut messages = Vec::new();
        loop {
            match self.receive() {
                Ok(message) => messages.push(message),
                Err(code) => return (messages, code),
            }
        }
    }

    pub fn close_code(&mut self) -> u16 {
        self.rest().1
    }
}

fn init(language: &str, source: &str) -> Value {
    with(
        program(language, source),
        &json!({ "type": "init", "run_timeout": 60_000 }),
    )
}

#[test]
fn script_sends_its_runtime_stage_output_and_exit() {
    let server = server();
    let mut connection = Connection::open(&server);
    connection.send(&init("sh", "echo out; echo err >&2; exit 3"));
    let (messages, code) = connection.rest();
    assert_eq!(code, 4999, "{messages:?}");
    let [runtime, stage, one, two, exit] = &messages[..] else {
        panic!("{messages:?}");
    };
    assert_eq!(runtime["type"], "runtime");
    assert_eq!(runtime["language"], "bash");
    assert!(runtime["version"].is_string());
    assert_eq!(*stage, json!({ "type": "stage", "stage": "run" }));
    for (stream, data) in [("stdout", "out\n"), ("stderr", "err\n")] {
        let expected = json!({ "type": "data", "stream": stream, "data": data });
        assert!([one, two].contains(&&expected), "{messages:?}");
    }
    let expected = json!({ "type": "exit", "stage": "run", "code": 3, "signal": null });
    assert_eq!(*exit, expected);
}

#[test]
fn compiled_program_sends_both_stages() {
    let server = server();
    let mut connection = Connection::open(&server);
    connection.send(&init("c", "int main(void) { return 0; }"));
    let (messages, code) = connection.rest();
    assert_eq!(code, 4999);
    let stages: Vec<_> = messages
        .iter()
        .filter(|message| message.get("stage").is_some())
        .map(|message| {
            (
                message["type"].as_str().unwrap(),
                message["stage"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("stage", "compile"),
        ("exit", "compile"),
        ("stage", "run"),
        ("exit", "run"),
    ];
    assert_eq!(stages, expected, "{messages:?}");

    let mut connection = Connection::open(&server);
    connection.send(&init("c", "int main(void) { return x; }"));
    let (messages, code) = connection.rest();
    assert_eq!(code, 4999);
    let last = messages.last().unwrap();
    assert_eq!(
        (&last["stage"], &last["code"]),
        (&json!("compile"), &json!(1))
    );
    assert!(messages.iter().any(|message| message["stream"] == "stderr"));
}

#[test]
fn program_talks_with_the_client_until_its_input_ends() {
    let server = server();
    let mut connection = Connection::open(&server);
    let source = "
import sys
for line in iter(sys.stdin.readline, ''):
    print('got', line.strip(), flush=True)
print('end')
";
    connection.send(&init("python", source));
    for word in ["one", "zw\u{f6}lf"] {
        let data = format!("{word}\n");
        connection.send(&json!({ "type": "data", "stream": "stdin", "data": data }));
        connection.expect_data("stdout", &format!("got {word}\n"));
    }
    connection.send(&json!({ "type": "data", "stream": "stdin", "data": "last", "eof": true }));
    connection.expect_data("stdout", "got last\nend\n");
    assert_eq!(connection.close_code(), 4999);
}

#[test]
fn kill_and_term_end_the_program() {
    let server = server();
    for signal in ["SIGKILL", "SIGTERM"] {
        let mut connection = Connection::open(&server);
        connection.send(&init("sh", "echo begun; read line"));
        connection.expect_data("stdout", "begun\n");
        connection.send(&json!({ "type": "signal", "signal": signal }));
        let (messages, code) = connection.rest();
        assert_eq!(code, 4999, "{messages:?}");
        let expected = json!({ "type": "exit", "stage": "run", "code": null, "signal": signal });
        assert_eq!(messages, [expected]);
    }
}

#[test]
fn invalid_messages_close_the_connection_with_the_codes_of_piston() {
    let server = server();
    let code = |messages: &[Value]| {
        let mut connection = Connection::open(&server);
        for message in messages {
            connection.send(message);
        }
        let (messages, code) = connection.rest();
        let error = messages.iter().find(|message| message["type"] == "error");
        (
            code,
            error.map(|error| error["message"].as_str().unwrap().to_owned()),
        )
    };
    let init = init("sh", "read line");
    let data = |stream: &str| json!({ "type": "data", "stream": stream, "data": "x" });
    let signal = |name: &str| json!({ "type": "signal", "signal": name });
    assert_eq!(code(&[init.clone(), init.clone()]), (4000, None));
    assert_eq!(code(&[]), (4001, None));
    assert_eq!(code(&[json!({ "type": "other" })]), (4001, None));
    assert_eq!(code(&[data("stdin")]), (4003, None));
    assert_eq!(code(&[signal("SIGKILL")]), (4003, None));
    assert_eq!(code(&[init.clone(), data("stdout")]), (4004, None));
    assert_eq!(code(&[init.clone(), signal("TERM")]), (4005, None));
    let (closed, error) = code(&[init.clone(), signal("SIGINT")]);
    assert_eq!(closed, 4005);
    assert!(error.unwrap().starts_with("SIGINT"));
    let (closed, error) = code(&[json!({ "type": "init", "language": "x" })]);
    assert_eq!(
        (closed, &error.unwrap()[..]),
        (4002, "version is required as a string")
    );
    let (closed, error) = code(&[json!([])]);
    assert_eq!((closed, error.is_some()), (4002, true));
    let no_data = json!({ "type": "data", "stream": "stdin" });
    let (closed, error) = code(&[init, no_data]);
    assert_eq!((closed, error.is_some()), (4002, true));
}

#[test]
fn disconnected_client_frees_its_place() {
    // The memory suffices for one run.
    let server = Server::with_config("piston", "[running]\nmemory_bytes = 268435456\n");
    let mut connection = Connection::open(&server);
    connection.send(&init("sh", "echo begun; read line"));
    connection.expect_data("stdout", "begun\n");
    drop(connection);
    let answer = server.post("/api/v2/execute", &program("bash", "echo next"));
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[test]
fn large_output_is_not_cut() {
    let server = server();
    let mut connection = Connection::open(&server);
    connection.send(&init("python", "print('\u{e9}' * 3_000_000, end='')"));
    let (messages, code) = connection.rest();
    assert_eq!(code, 4999);
    let characters: usize = messages
        .iter()
        .filter(|message| message["type"] == "data")
        .map(|message| {
            let data = message["data"].as_str().unwrap();
            assert!(data.chars().all(|character| character == '\u{e9}'));
            data.chars().count()
        })
        .sum();
    assert_eq!(characters, 3_000_000);
}
