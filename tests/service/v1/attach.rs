//! Programs that a client is attached to.

use super::{await_end, begin};
use crate::server::Server;
use millibox_tests::HANG_TIMEOUT;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A minimal WebSocket for these tests.
struct Socket(TcpStream);

#[derive(Debug, PartialEq)]
enum Frame {
    Text(Value),
    Binary(Vec<u8>),
    Close,
}

impl Socket {
    fn open(server: &Server, id: &str) -> Socket {
        let head = format!(
            "GET /v1/runs/{id}/attach HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: millibox.v1\r\n\r\n"
        );
        let mut stream = server.connection(head.as_bytes());
        stream.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).unwrap().to_lowercase();
        assert!(answer.starts_with("http/1.1 101"), "{answer}");
        assert!(
            answer.contains("sec-websocket-protocol: millibox.v1"),
            "{answer}"
        );
        Socket(stream)
    }

    fn send(&mut self, opcode: u8, payload: &[u8]) {
        let length = u8::try_from(payload.len()).unwrap();
        assert!(length < 126);
        // A mask of zeros leaves the payload unchanged.
        let mut frame = vec![0x80 | opcode, 0x80 | length, 0, 0, 0, 0];
        frame.extend_from_slice(payload);
        self.0.write_all(&frame).unwrap();
    }

    fn command(&mut self, command: &Value) {
        self.send(1, command.to_string().as_bytes());
    }

    fn input(&mut self, bytes: &[u8]) {
        self.send(2, &[&[0], bytes].concat());
    }

    fn receive(&mut self) -> Frame {
        let mut bytes = |count: usize| {
            let mut bytes = vec![0; count];
            self.0.read_exact(&mut bytes).unwrap();
            bytes
        };
        let head = bytes(2);
        let length = match head[1] {
            126 => u16::from_be_bytes(bytes(2).try_into().unwrap()).into(),
            127 => panic!("a frame is too long for this test"),
            length => usize::from(length),
        };
        let payload = bytes(length);
        match head[0] & 0xf {
            1 => Frame::Text(serde_json::from_slice(&payload).unwrap()),
            2 => Frame::Binary(payload),
            8 => Frame::Close,
            opcode => panic!("opcode {opcode}"),
        }
    }

    /// Receives until the output of a stream contains this text.
    fn await_output(&mut self, stream: u8, text: &str) -> String {
        let mut output = String::new();
        while !output.contains(text) {
            match self.receive() {
                Frame::Binary(bytes) => {
                    assert_eq!(bytes[0], stream);
                    output += &String::from_utf8_lossy(&bytes[1..]);
                }
                Frame::Close => panic!("closed after {output:?}"),
                Frame::Text(_) => {}
            }
        }
        output
    }

    /// Receives until the end, and returns the names of the events.
    fn events_to_end(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        loop {
            match self.receive() {
                Frame::Text(event) => names.push(event["event"].as_str().unwrap().to_owned()),
                Frame::Binary(_) => {}
                Frame::Close => return names,
            }
        }
    }
}

#[test]
fn attached_client_writes_standard_input_and_closes_it() {
    let server = Server::start("");
    let id = begin(&server, &json!({ "command": ["cat"], "interactive": true }));
    let mut socket = Socket::open(&server, &id);
    socket.input(b"hello\n");
    socket.await_output(1, "hello\n");
    socket.command(&json!({ "signal": "SIGUSR1" }));
    let error = loop {
        if let Frame::Text(event) = socket.receive()
            && event["event"] == "error"
        {
            break event;
        }
    };
    assert!(
        error["data"].as_str().unwrap().contains("SIGUSR1"),
        "{error}"
    );
    socket.input(b"more");
    socket.command(&json!({ "close": "stdin" }));
    let events = socket.events_to_end();
    assert_eq!(events[events.len() - 2..], ["test", "ended"]);
    let document = await_end(&server, &format!("/v1/runs/{id}"));
    assert_eq!(document["tests"][0]["stdout"]["text"], "hello\nmore");
    assert_eq!(document["tests"][0]["exit_code"], 0);
}

#[test]
fn client_that_attaches_again_receives_the_run_from_its_beginning() {
    let server = Server::start("");
    let id = begin(&server, &json!({ "command": ["cat"], "interactive": true }));
    let mut socket = Socket::open(&server, &id);
    socket.input(b"first\n");
    socket.await_output(1, "first\n");
    drop(socket);
    let mut socket = Socket::open(&server, &id);
    socket.await_output(1, "first\n");
    socket.command(&json!({ "signal": "SIGKILL" }));
    assert_eq!(socket.events_to_end(), ["ended"]);
    let document = await_end(&server, &format!("/v1/runs/{id}"));
    assert_eq!(document["error"]["code"], "cancelled");
}

#[test]
fn terminal_has_a_size_and_passes_interrupts() {
    let server = Server::start("");
    let script = "stty size; trap 'echo interrupted; exit 7' INT; echo ready; \
                  while :; do sleep 0.1; done";
    let request = json!({ "command": ["sh", "-c", script], "terminal": true });
    let id = begin(&server, &request);
    let mut socket = Socket::open(&server, &id);
    socket.await_output(1, "ready");
    socket.command(&json!({ "signal": "SIGINT" }));
    socket.await_output(1, "interrupted");
    socket.events_to_end();
    let document = await_end(&server, &format!("/v1/runs/{id}"));
    let test = &document["tests"][0];
    assert_eq!(test["exit_code"], 7, "{test}");
    let output = test["stdout"]["text"].as_str().unwrap();
    assert!(output.starts_with("24 80\r\nready\r\n"), "{output:?}");

    let script = "echo ready; read line; stty size";
    let request = json!({ "command": ["sh", "-c", script], "terminal": true });
    let id = begin(&server, &request);
    let mut socket = Socket::open(&server, &id);
    socket.await_output(1, "ready");
    socket.command(&json!({ "resize": { "rows": 33, "cols": 101 } }));
    socket.input(b"\n");
    socket.await_output(1, "33 101");
}
