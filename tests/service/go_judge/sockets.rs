//! `/ws` and `/stream`.

use super::{Judge, command, shell};
use millibox_tests::{HANG_TIMEOUT, eventually, processes_with_argument, token};
use serde_json::{Value, json};
use std::net::TcpStream;
use tungstenite::{Message, WebSocket};

/// A connection.
struct Socket(WebSocket<TcpStream>);

impl Judge {
    fn connect(&self, path: &str) -> Socket {
        let address = self.server.address();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
        let url = format!("ws://{address}{path}");
        let (socket, _) = tungstenite::client(url, stream).unwrap();
        Socket(socket)
    }
}

impl Socket {
    fn send(&mut self, value: &Value) {
        self.0.send(Message::text(value.to_string())).unwrap();
    }

    /// The next answer in JSON; `None` if the service closes the connection.
    fn answer(&mut self) -> Option<Value> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                _ => return None,
            }
        }
    }

    fn send_bytes(&mut self, kind: u8, body: &[u8]) {
        let message = [&[kind], body].concat();
        self.0.send(Message::binary(message)).unwrap();
    }

    /// The next binary message: its kind and the rest.
    fn bytes(&mut self) -> (u8, Vec<u8>) {
        loop {
            match self.0.read().unwrap() {
                Message::Binary(bytes) => return (bytes[0], bytes[1..].to_vec()),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Reads up to the results. Returns the place of each piece of output, all bytes of the output,
    /// and the results.
    fn rest(&mut self) -> (Vec<u8>, Vec<u8>, Value) {
        let (mut places, mut output) = (Vec::new(), Vec::new());
        loop {
            let (kind, bytes) = self.bytes();
            if kind == 1 {
                return (places, output, serde_json::from_slice(&bytes).unwrap());
            }
            assert_eq!(kind, 2);
            places.push(bytes[0]);
            output.extend_from_slice(&bytes[1..]);
        }
    }
}

fn request(id: &str, command: &Value) -> Value {
    json!({"requestId": id, "cmd": [command]})
}

#[test]
fn websocket_answers_requests_when_they_end() {
    let judge = Judge::start();
    let mut socket = judge.connect("/ws");
    let argument = token();
    let slow = command(
        &["sh", "-c", "while :; do sleep 1; done", &argument],
        Value::Null,
    );
    socket.send(&request("slow", &slow));
    socket.send(&request("quick", &shell("echo quick", Value::Null)));
    let quick = socket.answer().unwrap();
    assert_eq!(quick["requestId"], "quick");
    assert_eq!(quick["results"][0]["files"]["stdout"], "quick\n");
    assert!(quick.get("error").is_none());

    socket.send(&request("slow", &slow));
    let answer = socket.answer().unwrap();
    assert_eq!(answer["error"], "duplicated request id: slow");
    socket.send(&request("", &slow));
    assert_eq!(socket.answer().unwrap()["error"], "empty request id");
    socket.send(&json!({"requestId": "none", "cmd": []}));
    let answer = socket.answer().unwrap();
    assert_eq!(
        (&answer["requestId"], &answer["error"]),
        (&json!("none"), &json!("no cmd provided"))
    );

    let is_running = || !processes_with_argument(&argument).is_empty();
    assert!(eventually(HANG_TIMEOUT, is_running));
    socket.send(&json!({"cancelRequestId": "slow"}));
    let cancelled = socket.answer().unwrap();
    assert_eq!(cancelled["requestId"], "slow");
    assert_eq!(cancelled["results"][0]["status"], "Signalled");
    assert!(eventually(HANG_TIMEOUT, || !is_running()));
    // The id is free again.
    socket.send(&request("slow", &shell("echo again", Value::Null)));
    assert_eq!(
        socket.answer().unwrap()["results"][0]["files"]["stdout"],
        "again\n"
    );
}

#[test]
fn websocket_closes_after_an_unreadable_message() {
    let judge = Judge::start();
    let mut socket = judge.connect("/ws");
    socket.0.send(Message::text("{")).unwrap();
    assert_eq!(socket.answer(), None);
}

#[test]
fn runs_end_with_their_websocket() {
    let judge = Judge::start();
    for path in ["/ws", "/stream"] {
        let argument = token();
        let slow = command(
            &["sh", "-c", "while :; do sleep 1; done", &argument],
            Value::Null,
        );
        let mut socket = judge.connect(path);
        let body = request("a", &slow);
        if path == "/ws" {
            socket.send(&body);
        } else {
            socket.send_bytes(1, body.to_string().as_bytes());
        }
        let is_running = || !processes_with_argument(&argument).is_empty();
        assert!(eventually(HANG_TIMEOUT, is_running), "{path}");
        drop(socket);
        assert!(eventually(HANG_TIMEOUT, || !is_running()), "{path}");
    }
}

#[test]
fn stream_exchanges_data_with_a_running_command() {
    let judge = Judge::start();
    let mut socket = judge.connect("/stream");
    let files = json!({"files": [{"streamIn": true}, {"streamOut": true},
        {"name": "stderr", "max": 100}]});
    let script = "read a; echo got $a; read b; echo got $b; echo end >&2";
    let body = request("", &shell(script, files)).to_string();
    socket.send_bytes(1, body.as_bytes());
    // The place is index 0 and fd 0.
    socket.send_bytes(3, b"\x00one\n");
    assert_eq!(socket.bytes(), (2, b"\x01got one\n".to_vec()));
    socket.send_bytes(3, b"\x00two\n");
    let (places, output, answer) = socket.rest();
    assert_eq!((&places[..], &output[..]), (&[1][..], &b"got two\n"[..]));
    assert_eq!(answer["requestId"], "");
    assert_eq!(answer["results"][0]["status"], "Accepted");
    assert_eq!(answer["results"][0]["files"], json!({"stderr": "end\n"}));
    assert!(socket.0.read().is_ok_and(|message| message.is_close()));
}

#[test]
fn stream_shows_a_terminal_and_its_size() {
    let judge = Judge::start();
    let mut socket = judge.connect("/stream");
    let changes = json!({"tty": true, "files": [{"streamIn": true}, {"streamOut": true},
        {"streamOut": true}]});
    let script = "read a; stty size; test -t 2 && echo error >&2";
    let body = request("", &shell(script, changes)).to_string();
    socket.send_bytes(1, body.as_bytes());
    socket.send_bytes(2, br#"{"index":0,"fd":0,"rows":33,"cols":77}"#);
    socket.send_bytes(3, b"\x00x\n");
    let (places, output, answer) = socket.rest();
    assert!(places.iter().all(|place| *place == 1), "{places:?}");
    let output = String::from_utf8_lossy(&output);
    assert!(
        output.contains("33 77\r\n") && output.contains("error\r\n"),
        "{output:?}"
    );
    assert_eq!(answer["results"][0]["status"], "Accepted");
}

#[test]
fn stream_cancels_and_reports_errors() {
    let judge = Judge::start();
    let mut socket = judge.connect("/stream");
    let argument = token();
    let files = json!({"files": [{"streamIn": true}, {"streamOut": true}]});
    let slow = command(
        &[
            "sh",
            "-c",
            "echo begun; while :; do sleep 1; done",
            &argument,
        ],
        files,
    );
    socket.send_bytes(1, request("", &slow).to_string().as_bytes());
    assert_eq!(socket.bytes(), (2, b"\x01begun\n".to_vec()));
    socket.send_bytes(4, b"");
    let (_, _, answer) = socket.rest();
    assert_eq!(answer["results"][0]["status"], "Signalled");
    assert!(eventually(HANG_TIMEOUT, || processes_with_argument(
        &argument
    )
    .is_empty()));

    let mut socket = judge.connect("/stream");
    socket.send_bytes(1, b"{\"cmd\":[]}");
    assert_eq!(socket.rest().2["error"], "no cmd provided");
}
