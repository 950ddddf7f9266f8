//! Runs, their states, keys and cancelling.

use super::{await_end, await_running, begin, endless, sha256, shell};
use crate::server::{Server, read_to_end};
use millibox_tests::{HANG_TIMEOUT, eventually};
use serde_json::json;

#[test]
fn run_compares_each_test_and_stops_after_a_failure() {
    let server = Server::start("");
    let answer = server.post(
        "/v1/runs",
        &json!({
            "command": ["cat"],
            "tests": [
                { "id": "a", "stdin": { "text": "1\n" }, "expected": { "text": "1" } },
                { "stdin": { "text": "2" }, "expected": { "text": "3" } },
                { "stdin": { "text": "4" } },
            ],
            "stop_on": "failure",
            "label": "mine",
        }),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    let document = answer.json();
    let outcomes: Vec<_> = document["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| {
            (
                test["id"].clone(),
                test["outcome"].clone(),
                test["passed"].clone(),
            )
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            (json!("a"), json!("exited"), json!(true)),
            (json!("2"), json!("exited"), json!(false)),
            (json!("3"), json!("skipped"), json!(null)),
        ]
    );
    assert_eq!(document["label"], "mine");
    assert_eq!(document["attempts"], 1);
    let id = document["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/v1/runs/{id}")).json(), document);
}

#[test]
fn run_that_takes_longer_than_the_wait_is_answered_with_its_address() {
    let server = Server::start("");
    let mut request = shell("echo begun; sleep 1; echo done");
    request["wait_ms"] = json!(1);
    let answer = server.post("/v1/runs", &request);
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.header("retry-after"), Some("1"));
    let location = answer.header("location").unwrap().to_owned();
    assert_eq!(
        location,
        format!("/v1/runs/{}", answer.json()["id"].as_str().unwrap())
    );
    let document = await_end(&server, &location);
    assert_eq!(document["tests"][0]["stdout"]["text"], "begun\ndone\n");

    let prefer = [("prefer", "wait=60")];
    let answer = server.request("POST", "/v1/runs", &prefer, shell("echo x").to_string());
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("preference-applied"), Some("wait=60"));
}

#[test]
fn deleted_run_ends_and_stays_known() {
    let server = Server::start("");
    let id = begin(&server, &endless());
    let path = format!("/v1/runs/{id}");
    let is_running = || server.get(&path).json()["state"] == "running";
    assert!(eventually(HANG_TIMEOUT, is_running), "the run begins");
    assert_eq!(server.request("DELETE", &path, &[], "").status, 204);
    assert_eq!(server.request("DELETE", &path, &[], "").status, 204);
    let document = server.get(&path).json();
    assert_eq!(document["state"], "ended");
    assert_eq!(document["error"]["code"], "cancelled");
    await_running(&server, 0);
    let unknown = server.get("/v1/runs/r_0");
    assert_eq!(
        (unknown.status, &unknown.json()["code"]),
        (404, &json!("not_found"))
    );
}

#[test]
fn run_of_a_disconnected_client_is_cancelled_unless_it_has_a_key() {
    let server = Server::start("");
    let body = endless().to_string();
    let plain = server.begin_post("/v1/runs", "", &body);
    await_running(&server, 1);
    drop(plain);
    await_running(&server, 0);

    let waiting = server.begin_post("/v1/runs", "Prefer: wait=100\r\n", &body);
    await_running(&server, 1);
    drop(waiting);
    await_running(&server, 0);

    let keyed = server.begin_post("/v1/runs", "Idempotency-Key: k\r\n", &body);
    await_running(&server, 1);
    drop(keyed);
    let headers = [("idempotency-key", "k"), ("prefer", "respond-async")];
    let joined = server.request("POST", "/v1/runs", &headers, body);
    assert_eq!(joined.status, 202, "{joined:?}");
    let id = joined.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(server.get("/v1/info").json()["running"], 1);
    server.request("DELETE", &format!("/v1/runs/{id}"), &[], "");
    await_running(&server, 0);
}

#[test]
fn same_key_joins_the_run_and_another_body_conflicts() {
    let server = Server::start("");
    // The run lasts long enough for the second request to arrive, even on a busy machine.
    let body = shell("sleep 3; head -c 8 /dev/urandom | od -x").to_string();
    let first = server.begin_post(
        "/v1/runs",
        "Idempotency-Key: k\r\nConnection: close\r\n",
        &body,
    );
    await_running(&server, 1);
    let key = [("idempotency-key", "k")];
    let second = server.request("POST", "/v1/runs", &key, body.clone());
    assert_eq!(second.status, 200);
    let first = read_to_end(first);
    assert!(first.ends_with(&second.body), "{first} {second:?}");
    let third = server.request("POST", "/v1/runs", &key, body);
    assert_eq!(third.body, second.body);
    let other = server.request("POST", "/v1/runs", &key, shell("true").to_string());
    assert_eq!(
        (other.status, &other.json()["code"]),
        (409, &json!("key_reused"))
    );
    let long = "k".repeat(300);
    let long = server.request("POST", "/v1/runs", &[("idempotency-key", &long)], "{}");
    assert_eq!(long.status, 400);
}

#[test]
fn clients_see_only_their_own_runs() {
    let config = format!(
        "[[token]]\nname = 'a'\nsha256 = '{}'\n[[token]]\nname = 'b'\nsha256 = '{}'\n\
         [[token]]\nname = 'root'\nsha256 = '{}'\nadmin = true\n",
        sha256("a"),
        sha256("b"),
        sha256("root")
    );
    let server = Server::with_config("", &config);
    let token = |name: &'static str| match name {
        "a" => ("authorization", "Bearer a"),
        "b" => ("authorization", "Bearer b"),
        _ => ("authorization", "Bearer root"),
    };
    let run = server.request("POST", "/v1/runs", &[token("a")], shell("true").to_string());
    assert_eq!(run.status, 200, "{run:?}");
    let path = format!("/v1/runs/{}", run.json()["id"].as_str().unwrap());
    assert_eq!(server.request("GET", &path, &[token("a")], "").status, 200);
    assert_eq!(server.request("GET", &path, &[token("b")], "").status, 404);
    assert_eq!(
        server.request("DELETE", &path, &[token("b")], "").status,
        404
    );
    assert_eq!(
        server.request("GET", &path, &[token("root")], "").status,
        200
    );
    let none = server.get(&path);
    assert_eq!(
        (none.status, none.header("www-authenticate")),
        (401, Some("Bearer"))
    );
    assert_eq!(server.get("/metrics").status, 401);
    assert_eq!(
        server.request("GET", "/metrics", &[token("a")], "").status,
        403
    );
    assert_eq!(
        server
            .request("GET", "/metrics", &[token("root")], "")
            .status,
        200
    );
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn invalid_requests_are_problems_with_a_code_and_a_field() {
    let server = Server::start("");
    for (body, status, code, field) in [
        (json!({ "x": 1 }), 400, "malformed", None),
        (json!({}), 422, "impossible", Some("runtime")),
        (
            json!({ "runtime": "nope" }),
            422,
            "unknown_runtime",
            Some("runtime"),
        ),
        (
            json!({ "command": ["true"], "limits": { "cpu_ms": 1_000_000_000 } }),
            422,
            "above_limit",
            Some("limits.cpu_ms"),
        ),
        (
            json!({ "command": ["cat"], "stdin": { "sha256": "0".repeat(64) } }),
            422,
            "unknown_file",
            Some("stdin"),
        ),
        (
            json!({ "command": ["cat"], "terminal": true }),
            422,
            "impossible",
            Some("interactive"),
        ),
    ] {
        let answer = server.post("/v1/runs", &body);
        assert_eq!(answer.status, status, "{body} {answer:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
        let problem = answer.json();
        assert_eq!(problem["code"], code);
        assert_eq!(problem["field"].as_str(), field, "{problem}");
    }
    assert_eq!(server.get("/v1/nothing").json()["code"], "not_found");
    let method = server.request("PATCH", "/v1/runs", &[], "");
    assert_eq!(
        (method.status, &method.json()["code"]),
        (405, &json!("method_not_allowed"))
    );
}

#[test]
fn body_above_the_limit_is_a_problem() {
    let server = Server::with_config("", "max_body_bytes = 1000");
    let mut request = shell("true");
    request["label"] = json!("x".repeat(2000));
    let answer = server.post("/v1/runs", &request);
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (413, &json!("body_too_large"))
    );
    assert_eq!(answer.json()["limit"], 1000);
}

/// A copy has the modules that its interpreter has imported.
#[test]
fn python_program_is_a_copy_of_its_interpreter() {
    let server = Server::start("");
    let run = |tests: u32, env: serde_json::Value, check: bool| {
        let tests: Vec<_> = (0..tests)
            .map(|number| {
                let expected = format!("{} True", number * 2);
                json!({"stdin": {"text": number.to_string()}, "expected": {"text": expected}})
            })
            .collect();
        let program = "import sys\nprint(int(input()) * 2, 'json' in sys.modules)";
        let request = json!({
            "runtime": "python", "files": {"main.py": {"text": program}}, "tests": tests,
            "env": env, "compile": {"check": check},
        });
        let answer = server.post("/v1/runs", &request);
        assert_eq!(answer.status, 200, "{answer:?}");
        let document = answer.json();
        let tests = document["tests"].as_array().unwrap().iter();
        tests
            .map(|test| (test["prepared"].clone(), test["passed"].clone()))
            .collect::<Vec<_>>()
    };
    let copy = (json!(true), json!(true));
    assert_eq!(run(1, json!({}), false), std::slice::from_ref(&copy));
    assert_eq!(run(8, json!({}), true), vec![copy; 8]);
    // A program that was checked has a world of its own, so it needs several tests.
    let cold = (json!(false), json!(false));
    assert_eq!(run(1, json!({}), true), std::slice::from_ref(&cold));
    assert_eq!(run(8, json!({"PYTHONOPTIMIZE": "1"}), false), vec![cold; 8]);
}

#[test]
fn script_reports_its_syntax_error_itself_unless_it_is_checked() {
    let server = Server::start("");
    let mut request = json!({
        "runtime": "python3",
        "files": { "main.py": { "text": "print(" } },
    });
    let document = server.post("/v1/runs", &request).json();
    assert_eq!(document["compile"], json!(null), "{document}");
    let test = &document["tests"][0];
    assert_eq!(
        (&test["outcome"], &test["exit_code"]),
        (&json!("exited"), &json!(1))
    );
    let stderr = test["stderr"]["text"].as_str().unwrap();
    assert!(stderr.contains("SyntaxError"), "{document}");

    request["compile"] = json!({ "check": true });
    let document = server.post("/v1/runs", &request).json();
    assert_eq!(document["compile"]["outcome"], "rejected", "{document}");
    assert_eq!(document["tests"], json!([]));
}

#[test]
fn script_finds_files_and_modules_beside_it() {
    let server = Server::start("");
    let main = "import os, part\nhere = os.path.dirname(os.path.abspath(__file__))\n\
                print(part.NAME, open(os.path.join(here, 'd.txt')).read())";
    let document = server.post(
        "/v1/runs",
        &json!({
            "runtime": "python3",
            "files": {
                "d.txt": { "text": "data" },
                "main.py": { "text": main },
                "part.py": { "text": "NAME = 'part'" },
            },
        }),
    );
    let document = document.json();
    assert_eq!(
        document["tests"][0]["stdout"]["text"], "part data\n",
        "{document}"
    );
}
