//! Several submissions in one request.

use super::{Judge, text};
use serde_json::{Value, json};

#[test]
fn batch_returns_tokens_and_errors_in_order() {
    let judge = Judge::start();
    let batch = json!({ "submissions": [text("one"), { "language_id": 43 }, text("two")] });
    let (status, answers) = judge.post("/submissions/batch?wait=true", &batch);
    assert_eq!(status, 201, "{answers}");
    assert_eq!(answers[1], json!({ "source_code": ["can't be blank"] }));
    let token = |at: usize| answers[at]["token"].as_str().unwrap();
    for at in [0, 2] {
        judge.wait(token(at));
    }
    let path = format!(
        "/submissions/batch?tokens={},unknown,{}&fields=stdout,status_id",
        token(2),
        token(0)
    );
    let (status, found) = judge.get(&path);
    assert_eq!(status, 200);
    let submission = |stdout| json!({ "stdout": stdout, "status_id": 3 });
    assert_eq!(
        found,
        json!({ "submissions": [submission("two"), Value::Null, submission("one")] })
    );
}

#[test]
fn batch_of_invalid_submissions_is_rejected() {
    let judge = Judge::start();
    let batch = json!({ "submissions": [{ "source_code": "x" }, 7] });
    let (status, answers) = judge.post("/submissions/batch", &batch);
    assert_eq!(status, 422);
    assert_eq!(answers[0], json!({ "language_id": ["can't be blank"] }));
    assert_eq!(answers[1]["source_code"], json!(["can't be blank"]));
}

#[test]
fn batches_have_1_to_20_submissions() {
    let judge = Judge::start();
    let most =
        json!({ "error": "number of submissions in a batch should be less than or equal to 20" });
    let least = json!({ "error": "there should be at least one submission in a batch" });
    let batch = json!({ "submissions": vec![text("x"); 21] });
    assert_eq!(
        judge.post("/submissions/batch", &batch),
        (400, most.clone())
    );
    let batch = json!({ "submissions": [] });
    assert_eq!(
        judge.post("/submissions/batch", &batch),
        (400, least.clone())
    );
    assert_eq!(
        judge.post("/submissions/batch", &json!({})),
        (400, least.clone())
    );
    let tokens = vec!["x"; 21].join(",");
    let path = format!("/submissions/batch?tokens={tokens}");
    assert_eq!(judge.get(&path), (400, most));
    assert_eq!(judge.get("/submissions/batch"), (400, least));
}

#[test]
fn batch_with_binary_output_needs_base64() {
    let judge = Judge::start();
    let path = "/submissions?base64_encoded=true&wait=true";
    let submission = json!({ "source_code": "/g==", "language_id": 43 });
    let (_, result) = judge.post(path, &submission);
    let token = result["token"].as_str().unwrap();
    let (status, answer) = judge.get(&format!("/submissions/batch?tokens={token}"));
    assert_eq!(status, 400);
    let error = "some attributes for one or more submissions cannot be converted to UTF-8, use \
                 base64_encoded=true query parameter";
    assert_eq!(answer, json!({ "error": error }));
    let path = format!("/submissions/batch?tokens={token}&base64_encoded=true");
    let (status, answer) = judge.get(&path);
    assert_eq!(
        (status, &answer["submissions"][0]["stdout"]),
        (200, &json!("/g==\n"))
    );
}
