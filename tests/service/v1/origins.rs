//! Requests that a web page of another site makes the browser send.

use super::shell;
use crate::server::{Answer, Server};
use std::io::{BufRead, BufReader};

const FOREIGN: (&str, &str) = ("origin", "https://evil.example");

/// Sends a program as a page can without a preflight request: as plain text.
fn run(server: &Server, headers: &[(&str, &str)]) -> Answer {
    let plain = ("content-type", "text/plain");
    let headers = [&[plain], headers].concat();
    server.request("POST", "/v1/runs", &headers, shell("echo run").to_string())
}

/// The status of the answer to a WebSocket of a page.
fn status_of_socket(server: &Server, path: &str, origin: &str) -> String {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n\
         Connection: upgrade, close\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.address()
    );
    // The service abandons a request whose client closes its side before the answer.
    let stream = server.connection(request.as_bytes());
    let mut line = String::new();
    let read = BufReader::new(stream).read_line(&mut line);
    read.expect("an answer");
    line.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn foreign_page_runs_nothing_without_tokens() {
    let server = Server::start("");
    let refused = run(&server, &[FOREIGN]);
    assert_eq!(refused.status, 403);
    assert_eq!(refused.json()["code"], "cross_site");
    assert_eq!(
        run(&server, &[("sec-fetch-site", "cross-site")]).status,
        403
    );
    for path in ["/ws", "/stream", "/api/v2/connect"] {
        assert_eq!(status_of_socket(&server, path, FOREIGN.1), "403", "{path}");
        assert_eq!(
            status_of_socket(&server, path, &server.url),
            "101",
            "{path}"
        );
    }
    assert_eq!(run(&server, &[]).status, 200);
    assert_eq!(run(&server, &[("origin", &server.url)]).status, 200);
}

#[test]
fn page_of_a_trusted_origin_may_use_a_service_without_tokens() {
    let server = Server::with_config("", "trusted_origins = [\"https://evil.example\"]");
    assert_eq!(run(&server, &[FOREIGN]).status, 200);
}

#[test]
fn foreign_page_with_a_token_may_use_the_service() {
    let digest = super::sha256("secret");
    let token = format!("[[token]]\nname = \"page\"\nsha256 = \"{digest}\"");
    let server = Server::with_config("", &token);
    let bearer = ("authorization", "Bearer secret");
    assert_eq!(run(&server, &[FOREIGN]).status, 401);
    assert_eq!(run(&server, &[FOREIGN, bearer]).status, 200);
}
