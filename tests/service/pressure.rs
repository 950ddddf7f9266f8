//! Clients that send too much, too slowly or nothing.

use crate::server::Server;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A body that no address accepts.
const BODY_BYTES: usize = 1 << 30;
/// The bytes by which the memory of the service may grow during a test. The bound of a body is 8
/// MiB.
const GROWTH_BYTES: u64 = 96 << 20;
const CONFIG: &str = "max_body_bytes = 8388608\n[files]\nmax_file_bytes = 8388608";
const HEADERS: usize = 100_000;
/// Connections of each kind of slow client.
const SLOW_CLIENTS: usize = 50;

/// Sends a body until it is complete or the service closes the connection. Returns the number of
/// bytes sent and the first line of the answer, which is empty if the connection was closed without
/// an answer.
fn send_endlessly(mut connection: TcpStream, is_chunked: bool) -> (usize, String) {
    let piece = vec![b'a'; 1 << 16];
    let mut sent = 0;
    while sent < BODY_BYTES {
        let written = if is_chunked {
            connection
                .write_all(b"10000\r\n")
                .and_then(|()| connection.write_all(&piece))
                .and_then(|()| connection.write_all(b"\r\n"))
        } else {
            connection.write_all(&piece)
        };
        if written.is_err() {
            break;
        }
        sent += piece.len();
    }
    let _ = connection.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    // The kernel drops an answer that was not read when the connection is reset.
    let _ = connection.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    (sent, answer.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn body_of_a_gibibyte_is_cut_off_and_memory_stays_bounded() {
    let server = Server::with_config("", CONFIG);
    let before = server.peak_memory_bytes();
    let posts = [
        "/v1/runs",
        "/v1/batches",
        "/v1/judgings",
        "/run",
        "/api/v2/execute",
        "/run_code",
        "/run_jupyter",
        "/submissions?wait=true",
    ];
    let file = format!("/v1/files/{}", "0".repeat(64));
    let paths = posts.map(|path| ("POST", path)).into_iter();
    for (method, path) in paths.chain([("PUT", &file[..])]) {
        for is_chunked in [false, true] {
            let length = match is_chunked {
                true => "Transfer-Encoding: chunked".to_owned(),
                false => format!("Content-Length: {BODY_BYTES}"),
            };
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: localhost\r\n\
                 Content-Type: application/json\r\n{length}\r\n\r\n"
            );
            let (sent, status) = send_endlessly(server.connection(head.as_bytes()), is_chunked);
            assert!(sent < BODY_BYTES, "{path} accepted the whole body");
            let is_refusal = status.is_empty() || status.starts_with("HTTP/1.1 4");
            assert!(is_refusal, "{path}: {status}");
        }
    }
    let growth = server.peak_memory_bytes() - before;
    println!("the memory grew by {} KiB", growth >> 10);
    assert!(growth < GROWTH_BYTES, "the memory grew by {growth} bytes");
    assert_works(&server);
}

#[test]
fn hundred_thousand_headers_are_refused() {
    let server = Server::with_config("", CONFIG);
    let before = server.peak_memory_bytes();
    let mut head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n".to_vec();
    for number in 0..HEADERS {
        write!(head, "h{number}: 1\r\n").expect("memory");
    }
    head.extend(b"\r\n");
    let mut connection = TcpStream::connect(server.address()).expect("a connection");
    // The service may end the connection before it has read everything.
    let _ = connection.write_all(&head);
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    let is_refusal = answer.is_empty() || answer.starts_with("HTTP/1.1 431 ");
    assert!(is_refusal, "{answer}");
    assert!(server.peak_memory_bytes() - before < GROWTH_BYTES);
    assert_works(&server);
}

#[test]
fn slow_and_silent_clients_do_not_delay_others() {
    let server = Server::with_config("", CONFIG);
    let is_done = AtomicBool::new(false);
    let body = json!({ "command": ["echo", "slow"] }).to_string();
    let length = body.len();
    let request = format!(
        "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    // Half-open and silent connections, and requests whose rest never arrives.
    let starts = [0, 1, 40, request.len() - 1];
    let silent: Vec<TcpStream> = (0..SLOW_CLIENTS)
        .map(|number| server.connection(&request.as_bytes()[..starts[number % starts.len()]]))
        .collect();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let mut connections: Vec<TcpStream> =
                (0..SLOW_CLIENTS).map(|_| server.connection(b"")).collect();
            let (last, first) = request.as_bytes().split_last().expect("a request");
            for byte in first {
                if !is_done.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(2));
                }
                for connection in &mut connections {
                    connection.write_all(&[*byte]).expect("an open connection");
                }
            }
            for connection in &mut connections {
                connection.write_all(&[*last]).expect("an open connection");
            }
            connections.into_iter().map(crate::server::read_to_end)
        });
        for _ in 0..SLOW_CLIENTS {
            assert_works(&server);
        }
        is_done.store(true, Ordering::Relaxed);
        // They also receive their answers in the end.
        for answer in slow.join().expect("the slow clients") {
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            assert!(answer.contains("slow\\n"), "{answer}");
        }
    });
    drop(silent);
    assert_works(&server);
}

fn assert_works(server: &Server) {
    let answer = server.post("/v1/runs", &json!({ "command": ["echo", "works"] }));
    let document = answer.json();
    assert_eq!(
        document["tests"][0]["stdout"]["text"], "works\n",
        "{answer:?}"
    );
}
