//! Judgings of submissions to problem packages.

use super::{await_end, await_running, sha256};
use crate::server::Server;
use millibox_tests::kill;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Cursor, Write};
use zip::write::SimpleFileOptions;

/// A package whose tests ask for the sum of two numbers.
fn package() -> Vec<u8> {
    archive(&[
        (
            "problem.yaml",
            "problem_format_version: 2023-07-draft\nname: Sum\n\
             uuid: 7dd1bb2a-33d3-4d54-9b5b-4d4a2b0a6d01\n\
             limits:\n  time_limit: 5\n  memory: 256\n",
        ),
        ("data/sample/1.in", "1 2\n"),
        ("data/sample/1.ans", "3\n"),
        ("data/secret/1.in", "4 5\n"),
        ("data/secret/1.ans", "9\n"),
        ("submissions/accepted/sum.sh", "read a b\necho $((a + b))\n"),
    ])
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Stores a package and returns its digest.
fn store(server: &Server, package: &[u8]) -> String {
    let digest = sha256(package);
    let stored = server.request("PUT", &format!("/v1/files/{digest}"), &[], package);
    assert_eq!(stored.status, 201, "{stored:?}");
    digest
}

fn request(digest: &str, name: &str, source: &str) -> Value {
    json!({
        "package": { "sha256": digest },
        "submission": { name: { "text": source } },
    })
}

/// A submission in the language of the shell.
const SCRIPT: &str = "sum.sh";

#[test]
fn submissions_have_a_verdict_for_each_test() {
    let server = Server::start("");
    let digest = store(&server, &package());
    let right = server.post(
        "/v1/judgings",
        &request(&digest, SCRIPT, "read a b\necho $((a + b))\n"),
    );
    assert_eq!(right.status, 200, "{right:?}");
    let document = right.json();
    assert_eq!(document["verdict"], "accepted", "{document}");
    assert_eq!(document["blame"], "program");
    assert_eq!(document["problem"], "Sum");
    assert_eq!(document["tests"].as_array().unwrap().len(), 2);
    assert_eq!(document["tests"][0]["verdict"], "accepted");

    let wrong = server
        .post("/v1/judgings", &request(&digest, SCRIPT, "echo 3\n"))
        .json();
    assert_eq!(wrong["verdict"], "wrong_answer", "{wrong}");
    assert_eq!(wrong["tests"][0]["verdict"], "accepted");
    assert_eq!(wrong["tests"][1]["verdict"], "wrong_answer");
    let id = wrong["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/v1/judgings/{id}")).json(), wrong);
    assert_eq!(server.get(&format!("/v1/runs/{id}")).status, 404);
    let metrics = server.get("/metrics").body;
    for verdict in ["accepted", "wrong_answer"] {
        let line = format!("millibox_judgings_total{{verdict=\"{verdict}\"}} 1\n");
        assert!(metrics.contains(&line), "{metrics}");
    }
}

#[test]
fn form_with_package_and_submission_is_judged_and_followed() {
    let server = Server::start("");
    let mut body = Vec::new();
    for (head, content) in [
        ("name=\"package\"; filename=\"p.zip\"", &package()[..]),
        ("name=\"submission\"; filename=\"sum.sh\"", b"exit 4\n"),
        ("name=\"wait_ms\"", b"0"),
        ("name=\"label\"", b"by form"),
    ] {
        write!(
            body,
            "--B\r\nContent-Disposition: form-data; {head}\r\n\r\n"
        )
        .unwrap();
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--B--\r\n");
    let kind = [("content-type", "multipart/form-data; boundary=B")];
    let answer = server.request("POST", "/v1/judgings", &kind, body);
    assert_eq!(answer.status, 202, "{answer:?}");
    let path = answer.header("location").unwrap().to_owned();
    let events = server.get(&format!("{path}/events")).body;
    for name in ["started", "compiled", "test", "ended"] {
        assert!(
            events.contains(&format!("event: {name}\n")),
            "{name} in {events}"
        );
    }
    let document = await_end(&server, &path);
    assert_eq!(document["verdict"], "run_time_error", "{document}");
    assert_eq!(document["label"], "by form");
}

#[test]
fn faulty_package_and_unknown_language_are_not_blamed_on_the_submission() {
    let server = Server::start("");
    let digest = store(&server, &archive(&[("readme.txt", "no package")]));
    let answer = server.post("/v1/judgings", &request(&digest, SCRIPT, "true"));
    assert_eq!(answer.status, 422, "{answer:?}");
    assert_eq!(answer.json()["code"], "faulty_package");
    let digest = store(&server, &package());
    let unknown = server.post("/v1/judgings", &request(&digest, "sum.nope", "x"));
    assert_ne!(unknown.json()["blame"], "program", "{unknown:?}");
    let none = json!({ "package": { "sha256": digest }, "submission": {} });
    assert_eq!(server.post("/v1/judgings", &none).status, 422);
}

#[test]
fn judging_of_a_disconnected_client_is_cancelled() {
    let server = Server::start("");
    let digest = store(&server, &package());
    let body = request(&digest, SCRIPT, "while :; do :; done\n").to_string();
    let connection = server.begin_post("/v1/judgings", "", &body);
    await_running(&server, 1);
    drop(connection);
    await_running(&server, 0);
}

/// Begins a judging, and waits until its submission is compiled. Returns its address.
fn begin(server: &Server, source: &str) -> String {
    let digest = store(server, &package());
    let headers = [("prefer", "respond-async")];
    let body = request(&digest, SCRIPT, source).to_string();
    let answer = server.request("POST", "/v1/judgings", &headers, body);
    assert_eq!(answer.status, 202, "{answer:?}");
    let path = answer.header("location").unwrap().to_owned();
    let events = format!("GET {path}/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let events = BufReader::new(server.connection(events.as_bytes()));
    let compiled = events.lines().find(|line| {
        let line = line.as_ref().expect("the judging has events");
        line == "event: compiled"
    });
    assert!(compiled.is_some(), "the submission is compiled");
    path
}

#[test]
fn judgings_use_the_supervisor_of_the_service() {
    let server = Server::start("");
    let supervisors = server.supervisors();
    let path = begin(&server, "while :; do :; done\n");
    assert_eq!(server.supervisors(), supervisors);
    assert_eq!(server.request("DELETE", &path, &[], "").status, 204);
    await_running(&server, 0);
    assert_eq!(server.get(&path).json()["error"]["code"], "cancelled");
    let run = server.post("/v1/runs", &super::shell("true")).json();
    assert_eq!(run["tests"][0]["outcome"], "exited", "{run}");
    assert_eq!(server.supervisors(), supervisors);
}

#[test]
fn judging_is_continued_when_its_supervisor_is_killed() {
    let server = Server::start("");
    let path = begin(&server, "read a b\nsleep 1\necho $((a + b))\n");
    for supervisor in server.supervisors() {
        kill(supervisor, Signal::KILL);
    }
    let document = await_end(&server, &path);
    assert_eq!(document["verdict"], "accepted", "{document}");
}
