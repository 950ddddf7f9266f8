//! Tokens.

use super::{Judge, shell};
use serde_json::{Value, json};

/// `printf %s secret | sha256sum`
const DIGEST: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

#[test]
fn requests_need_the_token_except_for_version_and_config() {
    let judge = Judge::with_config(&format!(
        "[[token]]\nname = 'oj'\nsha256 = '{DIGEST}'\n\
         [[token]]\nname = 'other'\nsha256 = '{}'\ninterfaces = ['piston']\n",
        "0".repeat(64)
    ));
    assert_eq!(judge.get("/version").0, 200);
    assert_eq!(judge.get("/config").0, 200);
    for path in ["/file", "/file/AAAAAAAA", "/ws", "/stream"] {
        assert_eq!(judge.get(path), (401, Vec::new()), "{path}");
    }
    let body = json!({"cmd": [shell("true", Value::Null)]}).to_string();
    let post = |token: Option<&str>| {
        let mut request = judge.agent.post(judge.url("/run"));
        if let Some(token) = token {
            request = request.header("Authorization", token);
        }
        request.send(&body).unwrap().status().as_u16()
    };
    assert_eq!(post(None), 401);
    assert_eq!(post(Some("Bearer wrong")), 401);
    assert_eq!(post(Some("Bearer secret")), 200);
}
