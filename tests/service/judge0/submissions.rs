//! Creating and showing submissions.

use super::{BASH, Judge, base64, source, text, with};
use serde_json::{Value, json};

#[test]
fn submission_is_created_and_its_result_is_shown_later() {
    let judge = Judge::start();
    let (status, answer) = judge.post("/submissions", &text("hello\n"));
    assert_eq!(status, 201);
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    let token = answer["token"].as_str().unwrap();
    judge.wait(token);
    let (status, result) = judge.get(&format!("/submissions/{token}"));
    assert_eq!(status, 200);
    let mut names: Vec<&str> = result
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    let default = [
        "compile_output",
        "memory",
        "message",
        "status",
        "stderr",
        "stdout",
        "time",
        "token",
    ];
    assert_eq!(names, default);
    assert_eq!(result["stdout"], json!("hello\n"));
}

#[test]
fn unfinished_submission_has_no_result() {
    let judge = Judge::start();
    let token = judge.create(&source(BASH, "sleep 2"));
    let (_, result) = judge.get(&format!("/submissions/{token}?fields=*"));
    let status = result["status_id"].as_u64().unwrap();
    // On a busy machine, the submission may already have ended.
    if status <= 2 {
        assert_eq!(result["finished_at"], Value::Null);
        assert_eq!(result["stdout"], Value::Null);
    }
    assert_eq!(judge.wait(&token)["status"]["id"], json!(3));
}

#[test]
fn fields_are_chosen_and_unknown_ones_are_rejected() {
    let judge = Judge::start();
    let (_, result) = judge.post("/submissions?wait=true&fields=stdout,status_id", &text("x"));
    assert_eq!(result, json!({ "stdout": "x", "status_id": 3 }));
    let error = json!({ "error": "invalid fields: [a, b]" });
    let path = "/submissions?fields=a,stdout,b";
    assert_eq!(judge.post(path, &text("x")), (400, error.clone()));
    assert_eq!(judge.get("/submissions/x?fields=a,b"), (400, error));
}

#[test]
fn base64_has_lines_of_60_characters() {
    let judge = Judge::start();
    let line = "x".repeat(46);
    // Base64 with line breaks and without padding is accepted.
    let encoded = base64(line.as_bytes());
    let code = format!(
        "{}\n{}",
        &encoded[..10],
        encoded[10..].trim_end_matches('=')
    );
    let submission = json!({ "source_code": code, "language_id": 43, "stdin": base64(b"in") });
    let path = "/submissions?base64_encoded=true&wait=true&fields=stdout,stdin,source_code,message";
    let (status, result) = judge.post(path, &submission);
    assert_eq!(status, 201, "{result}");
    let stdout = result["stdout"].as_str().unwrap();
    assert_eq!(stdout.find('\n'), Some(60), "{stdout:?}");
    assert!(stdout.ends_with("==\n"), "{stdout:?}");
    assert_eq!(stdout.replace('\n', ""), encoded);
    assert_eq!(result["stdin"], json!("aW4=\n"));
    assert_eq!(result["message"], Value::Null);
}

#[test]
fn binary_output_needs_base64() {
    let judge = Judge::start();
    let error = "some attributes for this submission cannot be converted to UTF-8, use \
                 base64_encoded=true query parameter";
    let code = source(BASH, r"printf '\376'");
    let (status, answer) = judge.post("/submissions?wait=true", &code);
    assert_eq!((status, &answer["error"]), (201, &json!(error)));
    let token = answer["token"].as_str().unwrap();
    let path = format!("/submissions/{token}");
    assert_eq!(judge.get(&path), (400, json!({ "error": error })));
    let (status, result) = judge.get(&format!("{path}?base64_encoded=true"));
    assert_eq!((status, &result["stdout"]), (200, &json!("/g==\n")));
    assert_eq!(judge.get(&format!("{path}?fields=time,status")).0, 200);
}

#[test]
fn required_fields_and_languages_are_checked() {
    let judge = Judge::start();
    let blank = json!(["can't be blank"]);
    let (status, errors) = judge.post("/submissions", &json!({}));
    let both = json!({ "language_id": blank, "source_code": blank });
    assert_eq!((status, errors), (422, both));
    let message = json!(["language with id 150000 doesn't exist"]);
    assert_eq!(
        judge.rejected(&source(150_000, "x"), "language_id"),
        message
    );
    let message = json!(["language with id 34 is archived and cannot be used anymore"]);
    assert_eq!(judge.rejected(&source(34, "x"), "language_id"), message);
}

#[test]
fn malformed_and_unknown_requests_are_errors() {
    let judge = Judge::start();
    let malformed = json!({ "status": 400, "error": "Bad Request" });
    assert_eq!(judge.send("POST", "/submissions", "{"), (400, malformed));
    let not_found = json!({ "status": 404, "error": "Not Found" });
    assert_eq!(judge.get("/submissions/unknown"), (404, not_found));
    assert_eq!(judge.get("/unknown").0, 404);
}

#[test]
fn full_queue_is_answered_at_once() {
    let judge = Judge::with_config(
        "[running]\ncpu_slots = 1\nreal_slots = 1\nmemory_bytes = 268435456\n\
         [judge0]\nmax_queued = 2\n",
    );
    let slow = with(source(BASH, "sleep 4"), &json!({ "memory_limit": 200_000 }));
    let mut full = None;
    let mut tokens = Vec::new();
    for _ in 0..8 {
        match judge.post("/submissions", &slow) {
            (201, answer) => tokens.push(answer["token"].as_str().unwrap().to_owned()),
            answer => full = Some(answer),
        }
    }
    assert_eq!(full, Some((503, json!({ "error": "queue is full" }))));
    let batch = json!({ "submissions": [slow, slow, slow] });
    assert_eq!(judge.post("/submissions/batch", &batch).0, 503);
    // An accepted submission is executed.
    for token in tokens {
        assert_eq!(judge.wait(&token)["status"]["id"], json!(3));
    }
}

#[test]
fn run_of_a_disconnected_client_is_cancelled() {
    let judge = Judge::start();
    let slow = with(source(BASH, "sleep 18"), &json!({ "wall_time_limit": 20 }));
    let body = slow.to_string();
    let request = format!(
        "POST /submissions?wait=true HTTP/1.1\r\nhost: localhost\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(judge.server.address()).unwrap();
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let working = |count: u64| {
        millibox_tests::eventually(millibox_tests::HANG_TIMEOUT, || {
            judge.get("/workers").1[0]["working"].as_u64() == Some(count)
        })
    };
    assert!(working(1));
    let begin = std::time::Instant::now();
    drop(stream);
    assert!(working(0));
    // The program would have run for many more seconds, and the statistics do not count it as
    // ended.
    let (_, statistics) = judge.get("/statistics");
    assert_eq!(
        statistics["statuses"],
        json!([]),
        "after {:?}",
        begin.elapsed()
    );
}

#[test]
fn results_are_kept_for_a_limited_time() {
    let judge = Judge::with_config("[judge0]\nkeep_s = 1\n");
    let (_, result) = judge.post("/submissions?wait=true", &text("x"));
    let path = format!("/submissions/{}", result["token"].as_str().unwrap());
    let is_gone =
        millibox_tests::eventually(millibox_tests::HANG_TIMEOUT, || judge.get(&path).0 == 404);
    assert!(is_gone);
}

#[test]
fn form_and_json_without_content_type_are_understood() {
    let mut judge = Judge::start();
    // The content type of `curl --data`.
    judge.headers.push((
        "content-type",
        "application/x-www-form-urlencoded".to_owned(),
    ));
    let path = "/submissions?wait=true";
    let form = "source_code=a+b&language_id=43&number_of_runs=2";
    let (status, result) = judge.send("POST", path, form);
    assert_eq!((status, &result["stdout"]), (201, &json!("a b")));
}
