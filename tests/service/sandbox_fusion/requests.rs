//! Invalid requests, tokens, and the other endpoints.

use super::{Fusion, get, post};
use crate::server::Server;
use serde_json::json;

#[test]
fn errors_are_reported_as_in_fastapi() {
    let fusion = Fusion::start();
    // The tutorial of verl sends only the code.
    let answer = fusion.post("/run_code", &json!({"code": "print(1)"}));
    assert_eq!(answer.status, 422);
    assert_eq!(answer.header("Millibox-Outcome"), "invalid_request");
    let mistake = &answer.body["detail"][0];
    assert_eq!(mistake["type"], "missing");
    assert_eq!(mistake["loc"], json!(["body", "language"]));
    assert_eq!(mistake["msg"], "Field required");
    let url = &fusion.server.url;
    let answer = post(url, "/run_code", "{\"code\": ", None);
    assert_eq!(answer.status, 422);
    assert_eq!(answer.body["detail"][0]["type"], "json_invalid");
}

#[test]
fn limit_above_the_maximum_is_rejected() {
    let fusion = Fusion::with_config("limits.max.wall_ms = 5000");
    let answer = fusion.post(
        "/run_code",
        &json!({"language": "python", "code": "", "compile_timeout": 1, "run_timeout": 6}),
    );
    assert_eq!(answer.status, 422, "{answer:?}");
    let mistake = &answer.body["detail"][0];
    assert_eq!(mistake["loc"], json!(["body", "run_timeout"]));
    assert!(
        mistake["msg"]
            .as_str()
            .unwrap()
            .contains("limits.max.wall_ms")
    );
}

#[test]
fn unknown_keys_are_ignored() {
    let fusion = Fusion::start();
    let body = fusion.run(&json!({"language": "python", "code": "print(1)", "uid": 5}));
    assert_eq!(body["status"], "Success");
}

#[test]
fn ping_is_served_beside_the_interface_of_the_service() {
    for server in [Server::start("sandbox-fusion"), Server::everything()] {
        let answer = get(&server.url, "/v1/ping");
        assert_eq!((answer.status, answer.body), (200, json!("pong")));
    }
    let everything = Server::everything();
    assert_eq!(get(&everything.url, "/v1/info").status, 200);
}

#[test]
fn data_sets_are_left_to_sandbox_fusion() {
    let fusion = Fusion::start();
    let answer = get(&fusion.server.url, "/list_datasets");
    assert_eq!((answer.status, answer.body), (200, json!([])));
    for path in [
        "/list_ids",
        "/get_prompts",
        "/get_prompt_by_id",
        "/submit",
        "/get_metrics",
    ] {
        let answer = fusion.post(path, &json!({}));
        assert_eq!(answer.status, 501, "{path}");
        let detail = answer.body["detail"].as_str().unwrap();
        assert!(detail.contains("cpu_runner_url"), "{detail}");
    }
}

#[test]
fn token_is_accepted_as_bearer_and_as_password() {
    // printf %s secret | sha256sum
    let config = "[[token]]\nname = 'a'\n\
                  sha256 = '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b'\n\
                  interfaces = ['sandbox-fusion']\n\
                  [[token]]\nname = 'b'\ninterfaces = ['v1']\n\
                  sha256 = 'd9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa'\n";
    let fusion = Fusion::with_config(config);
    let body = json!({"language": "python", "code": "print(1)"}).to_string();
    let status = |authorization| {
        let answer = post(&fusion.server.url, "/run_code", &body, authorization);
        answer.status
    };
    assert_eq!(status(None), 401);
    assert_eq!(status(Some("Bearer wrong")), 401);
    assert_eq!(status(Some("Bearer secret")), 200);
    // :secret
    assert_eq!(status(Some("Basic OnNlY3JldA==")), 200);
    // printf %s other | sha256sum
    assert_eq!(status(Some("Bearer other")), 403);
}
