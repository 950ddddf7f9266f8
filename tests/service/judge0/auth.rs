//! Tokens, and calls for administrators.

use super::{Judge, text};
use serde_json::{Value, json};

// The tokens are "user" and "admin".
const TOKENS: &str = r#"
[[token]]
name = "user"
sha256 = "04f8996da763b7a969b1028ee3007569eaf3a635486ddab211d512c85b9df8fb"

[[token]]
name = "admin"
sha256 = "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918"
admin = true

[[token]]
name = "other"
sha256 = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"
interfaces = ["v1"]
"#;

#[test]
fn token_is_accepted_in_header_and_parameter() {
    let mut judge = Judge::with_config(TOKENS);
    assert_eq!(judge.get("/languages"), (401, json!("")));
    assert_eq!(judge.get("/languages?X-Auth-Token=wrong"), (401, json!("")));
    assert_eq!(judge.get("/languages?X-Auth-Token=user").0, 200);
    assert_eq!(judge.get("/languages?X-Auth-Token=other"), (403, json!("")));
    judge.headers.push(("X-Auth-Token", "user".to_owned()));
    assert_eq!(judge.get("/languages").0, 200);
    assert_eq!(judge.post("/authenticate", &Value::Null), (200, json!("")));
    assert_eq!(judge.post("/authorize", &Value::Null), (403, json!("")));
    assert_eq!(
        judge.post("/authorize?X-Auth-User=user", &Value::Null).0,
        403
    );
    assert_eq!(
        judge.post("/authorize?X-Auth-User=admin", &Value::Null).0,
        200
    );
}

#[test]
fn calls_for_administrators_are_forbidden_without_tokens() {
    let judge = Judge::start();
    assert_eq!(judge.post("/authenticate", &Value::Null).0, 200);
    assert_eq!(judge.post("/authorize", &Value::Null), (403, json!("")));
    assert_eq!(judge.get("/submissions"), (403, json!("")));
    assert_eq!(judge.send("DELETE", "/submissions/x", "").0, 403);
}

#[test]
fn administrator_lists_submissions_in_pages() {
    let mut judge = Judge::with_config(TOKENS);
    judge.headers.push(("X-Auth-Token", "user".to_owned()));
    judge.headers.push(("X-Auth-User", "admin".to_owned()));
    for source in ["a", "b", "c"] {
        judge.run(&text(source));
    }
    let (status, page) = judge.get("/submissions?page=2&per_page=2&fields=stdout");
    assert_eq!(status, 200);
    assert_eq!(page["submissions"], json!([{ "stdout": "a" }]));
    let meta = json!({
        "current_page": 2, "next_page": null, "prev_page": 1, "total_pages": 2, "total_count": 3,
    });
    assert_eq!(page["meta"], meta);
    let error = json!({ "error": "invalid page: 0" });
    assert_eq!(judge.get("/submissions?page=0"), (400, error));
    let error = json!({ "error": "invalid per_page: -1" });
    assert_eq!(judge.get("/submissions?per_page=-1"), (400, error));
}

#[test]
fn administrator_deletes_a_submission_only_if_it_is_allowed() {
    for (option, is_allowed) in [("", false), ("[judge0]\ndelete = true\n", true)] {
        let mut judge = Judge::with_config(&format!("{option}{TOKENS}"));
        judge.headers.push(("X-Auth-Token", "user".to_owned()));
        let token = judge.run(&text("hello"))["token"]
            .as_str()
            .unwrap()
            .to_owned();
        let path = format!("/submissions/{token}?fields=stdout");
        assert_eq!(judge.send("DELETE", &path, "").0, 403);
        judge.headers.push(("X-Auth-User", "admin".to_owned()));
        let answer = judge.send("DELETE", &path, "");
        if is_allowed {
            assert_eq!(answer, (200, json!({ "stdout": "aGVsbG8=\n" })));
            assert_eq!(judge.get(&path).0, 404);
            assert_eq!(judge.send("DELETE", &path, "").0, 404);
        } else {
            assert_eq!(answer, (400, json!({ "error": "delete not allowed" })));
            assert_eq!(judge.get(&path).0, 200);
        }
    }
}
