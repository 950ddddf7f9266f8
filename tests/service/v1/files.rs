//! Stored files.

use super::sha256;
use crate::server::Server;
use serde_json::json;

#[test]
fn stored_file_is_the_input_of_a_run() {
    let server = Server::start("");
    let content = b"\x00\xffbytes".to_vec();
    let digest = sha256(&content);
    let path = format!("/v1/files/{digest}");
    assert_eq!(server.get(&path).status, 404);
    let stored = server.request("PUT", &path, &[], content.clone());
    assert_eq!(stored.status, 201, "{stored:?}");
    assert!(stored.header("millibox-expires").is_some());
    assert_eq!(
        server.request("PUT", &path, &[], content.clone()).status,
        200
    );
    let head = server.request("HEAD", &path, &[], "");
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("7"))
    );
    assert_eq!(server.get(&path).body, String::from_utf8_lossy(&content));
    let run = server.post(
        "/v1/runs",
        &json!({ "command": ["wc", "-c"], "stdin": { "sha256": digest } }),
    );
    assert_eq!(run.json()["tests"][0]["stdout"]["text"], "7\n", "{run:?}");
    assert_eq!(server.request("DELETE", &path, &[], "").status, 204);
    assert_eq!(server.request("DELETE", &path, &[], "").status, 404);
}

#[test]
fn wrong_names_and_large_files_are_rejected() {
    let config = "max_body_bytes = 10\n[files]\nmax_file_bytes = 1000\nmax_bytes = 1500";
    let server = Server::with_config("", config);
    let put = |name: &str, content: &[u8]| {
        let answer = server.request("PUT", &format!("/v1/files/{name}"), &[], content);
        (answer.status, answer.json()["code"].clone())
    };
    assert_eq!(put("abc", b""), (400, json!("malformed")));
    assert_eq!(put(&sha256("other"), b"x"), (422, json!("wrong_digest")));
    let large = vec![0; 1001];
    assert_eq!(put(&sha256(&large), &large), (413, json!("body_too_large")));
    // The limit on bodies does not apply.
    let stored = vec![1; 900];
    let path = format!("/v1/files/{}", sha256(&stored));
    assert_eq!(server.request("PUT", &path, &[], stored).status, 201);
    let next = vec![2; 900];
    assert_eq!(put(&sha256(&next), &next), (507, json!("store_full")));
}

#[test]
fn client_removes_only_what_it_has_stored() {
    let token = |name: &str| {
        let digest = sha256(name);
        format!("[[token]]\nname = '{name}'\nsha256 = '{digest}'\n")
    };
    let config = ["a", "b", "root"].map(token).concat() + "admin = true\n";
    let server = Server::with_config("", &config);
    let ask = |name: &str, method: &str, content: &str| {
        let path = format!("/v1/files/{}", sha256(content));
        let authorization = format!("Bearer {name}");
        let body = if method == "PUT" { content } else { "" };
        let headers = [("authorization", &authorization[..])];
        server.request(method, &path, &headers, body).status
    };
    assert_eq!(ask("a", "PUT", "x"), 201);
    assert_eq!(ask("b", "DELETE", "x"), 404);
    assert_eq!(ask("b", "PUT", "x"), 201);
    assert_eq!(ask("a", "DELETE", "x"), 204);
    // The other client still keeps it.
    assert_eq!(ask("a", "DELETE", "x"), 404);
    assert_eq!(ask("b", "GET", "x"), 200);
    assert_eq!(ask("b", "DELETE", "x"), 204);
    assert_eq!(ask("b", "GET", "x"), 404);
    assert_eq!(ask("a", "PUT", "y"), 201);
    assert_eq!(ask("root", "DELETE", "y"), 204);
}
