//! Sending results.

use super::{Judge, text, with};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

/// Reads one request. Returns its first line, its headers and its body.
fn receive(listener: &TcpListener, answer: bool) -> (String, String, Value) {
    let (stream, _) = listener.accept().unwrap();
    if !answer {
        return (String::new(), String::new(), Value::Null);
    }
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut headers).unwrap(), 0);
    }
    let headers = headers.to_lowercase();
    let length = headers
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";
    reader.get_mut().write_all(answer).unwrap();
    (line, headers, serde_json::from_slice(&body).unwrap())
}

#[test]
fn result_is_sent_to_an_allowed_address_and_sent_again_without_an_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/in/", listener.local_addr().unwrap());
    let judge = Judge::with_config(&format!("judge0_callbacks = [{url:?}]\n"));
    let callback = json!({ "callback_url": format!("{url}result?x=1") });
    let token = judge.create(&with(text("hello\n"), &callback));
    receive(&listener, false);
    let (line, headers, result) = receive(&listener, true);
    assert_eq!(line, "PUT /in/result?x=1 HTTP/1.1\r\n");
    assert!(
        headers.contains("content-type: application/json"),
        "{headers}"
    );
    let address = listener.local_addr().unwrap();
    assert!(
        headers.contains(&format!("host: {address}\r\n")),
        "{headers}"
    );
    assert_eq!(result["token"], json!(token));
    assert_eq!(result["stdout"], json!("aGVsbG8K\n"));
    assert_eq!(
        result["status"],
        json!({ "id": 3, "description": "Accepted" })
    );
    assert_eq!(result.as_object().unwrap().len(), 8, "{result}");
    // The status 500 counts as an answer, so the next request is that of the next submission.
    let token = judge.create(&with(text("second"), &callback));
    assert_eq!(receive(&listener, true).2["token"], json!(token));
    assert_eq!(judge.get("/config_info").1["enable_callbacks"], json!(true));
}

#[test]
fn callbacks_are_rejected_unless_allowed() {
    let message = json!(["setting callback is not allowed"]);
    let to = |url: &str| with(text("x"), &json!({ "callback_url": url }));
    let judge = Judge::start();
    assert_eq!(
        judge.rejected(&to("http://127.0.0.1:1/"), "callback_url"),
        message
    );
    assert_eq!(
        judge.get("/config_info").1["enable_callbacks"],
        json!(false)
    );
    let judge = Judge::with_config("judge0_callbacks = [\"http://127.0.0.1:1/in\"]\n");
    for url in [
        "http://127.0.0.1:1/inner",
        "http://127.0.0.1:1/in/../x",
        "http://127.0.0.1:1@localhost/in",
        "http://localhost:1/in",
    ] {
        assert_eq!(judge.rejected(&to(url), "callback_url"), message, "{url}");
    }
    judge.create(&to("http://127.0.0.1:1/in/x"));
}
