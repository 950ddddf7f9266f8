//! Routes, and requests that are not valid.

use super::{program, server, with};
use crate::server::Server;
use serde_json::json;
use std::process::Command;

#[test]
fn routes_exist_with_both_prefixes_and_a_slash() {
    let server = server();
    for prefix in ["/api/v2", "/api/v2/piston"] {
        for slash in ["", "/"] {
            let runtimes = server.get(&format!("{prefix}/runtimes{slash}"));
            assert_eq!(runtimes.status, 200, "{prefix} {slash}");
            let runtimes = runtimes.json();
            let runtimes = runtimes.as_array().unwrap();
            let python = runtimes.iter().find(|known| known["language"] == "python");
            let python = python.unwrap_or_else(|| panic!("no python in {runtimes:?}"));
            assert!(
                python["aliases"]
                    .as_array()
                    .unwrap()
                    .contains(&json!("py3"))
            );
            let version = python["version"].as_str().unwrap();
            assert_eq!(version.split('.').count(), 3, "{version}");

            let path = format!("{prefix}/execute{slash}");
            let answer = server.post(&path, &program("python", "print(1)"));
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        }
    }
}

#[test]
fn other_paths_and_methods_return_404() {
    let server = server();
    let json_type = Some("application/json");
    for (method, path, kind) in [
        ("GET", "/api/v2/execute", None),
        ("GET", "/api/v2", None),
        ("GET", "/api/v2/other", None),
        ("GET", "/other", None),
        ("GET", "/api/v2/connect", None),
        ("POST", "/api/v2/runtimes", json_type),
        ("PUT", "/api/v2/packages", json_type),
    ] {
        let answer = server.send(method, path, kind, "");
        assert_eq!(answer.status, 404, "{method} {path}");
        assert_eq!(
            answer.json(),
            json!({ "message": "Not Found" }),
            "{method} {path}"
        );
    }
    assert_eq!(
        server.get("/").json(),
        json!({ "message": "Piston v3.1.1" })
    );
}

#[test]
fn request_of_another_type_returns_415() {
    let server = server();
    let body = program("python", "print(1)").to_string();
    for (method, path, kind) in [
        ("POST", "/api/v2/execute", None),
        ("POST", "/api/v2/execute", Some("text/plain")),
        (
            "POST",
            "/api/v2/piston/execute/",
            Some("application/x-www-form-urlencoded"),
        ),
        ("DELETE", "/api/v2/packages", Some("text/plain")),
        ("POST", "/api/v2/other", Some("text/plain")),
    ] {
        let answer = server.send(method, path, kind, &body);
        assert_eq!(answer.status, 415, "{method} {path}");
        let expected = json!({ "message": "requests must be of type application/json" });
        assert_eq!(answer.json(), expected);
    }
    let kind = Some("application/json; charset=utf-8");
    assert_eq!(
        server.send("POST", "/api/v2/execute", kind, &body).status,
        200
    );
}

#[test]
fn malformed_body_returns_400_with_stack() {
    let server = server();
    for body in ["{", "null", "1", "\"text\"", "{\"language\": }"] {
        let answer = server.send("POST", "/api/v2/execute", Some("application/json"), body);
        assert_eq!(answer.status, 400, "{body:?}");
        assert!(answer.json()["stack"].is_string(), "{}", answer.body);
    }
    let small = Server::with_config("piston", "max_body_bytes = 1000\n");
    let answer = small.post("/api/v2/execute", &program("python", &"#".repeat(2000)));
    assert_eq!(answer.status, 400);
    assert!(answer.json()["stack"].is_string(), "{}", answer.body);
}

#[test]
fn invalid_request_returns_400_with_the_message_of_piston() {
    let server = server();
    let request = program("python", "print(1)");
    for (fields, message) in [
        (
            json!({ "language": "" }),
            "language is required as a string",
        ),
        (
            json!({ "version": null }),
            "version is required as a string",
        ),
        (
            json!({ "files": "print(1)" }),
            "files is required as an array",
        ),
        (
            json!({ "files": [{ "content": "" }, { "name": "a" }] }),
            "files[1].content is required as a string",
        ),
        (
            json!({ "language": "cobol85" }),
            "cobol85-* runtime is unknown",
        ),
        (json!({ "version": "2.x" }), "python-2.x runtime is unknown"),
        (
            json!({ "version": "newest" }),
            "python-newest runtime is unknown",
        ),
        (
            json!({ "files": [{ "content": "00", "encoding": "hex" }] }),
            "files must include at least one utf8 encoded file",
        ),
        (
            json!({ "run_timeout": "3000" }),
            "If specified, run_timeout must be a number",
        ),
        (
            json!({ "compile_timeout": 600_001 }),
            "compile_timeout cannot exceed the configured limit of 600000",
        ),
        (
            json!({ "run_cpu_time": -5 }),
            "run_cpu_time must be non-negative",
        ),
        (
            json!({ "run_memory_limit": 1_u64 << 40 }),
            "run_memory_limit cannot exceed the configured limit of 4294967296",
        ),
    ] {
        let answer = server.post("/api/v2/execute", &with(request.clone(), &fields));
        assert_eq!(answer.status, 400, "{message}: {}", answer.body);
        assert_eq!(answer.json(), json!({ "message": message }));
    }
    for empty in ["", "[]"] {
        let kind = Some("application/json");
        let answer = server.send("POST", "/api/v2/execute", kind, empty);
        assert_eq!(
            answer.json(),
            json!({ "message": "language is required as a string" })
        );
    }
}

#[test]
fn path_outside_the_submission_returns_500_without_body() {
    let server = server();
    for name in ["../a", "a/../../b", "/..", "a/.."] {
        let files = json!({ "files": [{ "name": name, "content": "print(1)" }] });
        let answer = server.post("/api/v2/execute", &with(program("python", ""), &files));
        assert_eq!((answer.status, &answer.body[..]), (500, ""), "{name:?}");
    }
}

#[test]
fn failure_of_the_service_returns_500_with_message() {
    // Without millibox-stage beside it, the service cannot put files into a run.
    let directory = millibox_tests::directory();
    let alone = directory.path().join("bin");
    std::fs::create_dir(&alone).unwrap();
    for name in ["millibox", "millibox-serve"] {
        millibox_tests::copy_executable(millibox_tests::executable(name), alone.join(name));
    }
    millibox_tests::set_mode(&alone, 0o755);
    let server = Server::spawn(
        Command::new(alone.join("millibox"))
            .args(["serve", "--listen", "piston=127.0.0.1:0"])
            .args(crate::server::backend())
            .env("PATH", "/usr/bin:/bin")
            .env_remove("MILLIBOX_STAGE")
            .env(
                "MILLIBOX_SUPERVISOR",
                millibox_tests::executable("millibox-supervisor"),
            ),
    );
    let answer = server.post("/api/v2/execute", &program("bash", "true"));
    assert_eq!(answer.status, 500, "{}", answer.body);
    assert!(answer.json()["message"].is_string(), "{}", answer.body);
}

#[test]
fn token_is_accepted_alone_and_after_bearer() {
    // The digest of "secret".
    let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let config = format!("[[token]]\nname = 'one'\nsha256 = '{digest}'\ninterfaces = ['piston']\n");
    let server = Server::with_config("piston", &config);
    let url = format!("{}/api/v2/runtimes", server.url);
    let status = |header: Option<&str>| {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .new_agent();
        let request = match header {
            Some(header) => agent.get(&url).header("authorization", header),
            None => agent.get(&url),
        };
        request.call().unwrap().status().as_u16()
    };
    assert_eq!(status(None), 401);
    assert_eq!(status(Some("wrong")), 401);
    assert_eq!(status(Some("secret")), 200);
    assert_eq!(status(Some("Bearer secret")), 200);
}
