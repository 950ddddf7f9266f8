//! What a client may see of another one, for each verb of each interface.

use crate::clients::tokens;
use crate::server::Server;
use serde_json::{Value, json};

const CLIENTS: [&str; 3] = ["owner", "stranger", "admin"];

fn status(server: &Server, client: &str, method: &str, path: &str) -> u16 {
    server.request_of(client, method, path, "").status
}

#[test]
fn stored_file_exists_only_for_its_owner_and_administrators() {
    let server = Server::with_config("", &tokens(&CLIENTS));
    let digest = server.store_of("owner", b"secret");
    let path = format!("/v1/files/{digest}");
    for method in ["GET", "HEAD", "DELETE"] {
        assert_eq!(status(&server, "stranger", method, &path), 404, "{method}");
    }
    for method in ["GET", "HEAD"] {
        assert_eq!(status(&server, "owner", method, &path), 200, "{method}");
        assert_eq!(status(&server, "admin", method, &path), 200, "{method}");
    }
    let blob = json!({ "sha256": digest });
    for request in [
        json!({ "command": ["cat"], "stdin": blob }),
        json!({ "command": ["cat", "f"], "files": { "f": blob } }),
        json!({ "command": ["true"], "tests": [{ "expected": blob }] }),
        json!({ "runtime": "bash", "files": { "f.sh": blob } }),
    ] {
        let refused = server.post_of("stranger", "/v1/runs", &request);
        assert_eq!(refused.json()["code"], "unknown_file", "{request}");
        assert_eq!(server.post_of("owner", "/v1/runs", &request).status, 200);
    }
    let judging = json!({ "package": blob, "submission": { "a.py": { "text": "" } } });
    let refused = server.post_of("stranger", "/v1/judgings", &judging).json();
    assert_eq!(refused["code"], "unknown_file", "{refused}");
    // The answer to a client that has the content does not tell that another one stored it.
    let put = server.request_of("stranger", "PUT", &path, "secret");
    assert_eq!(put.status, 201);
    assert_eq!(status(&server, "stranger", "GET", &path), 200);
    let shared = crate::v1::sha256("open");
    let path = format!("/v1/files/{shared}?shared=true");
    assert_eq!(server.request_of("owner", "PUT", &path, "open").status, 201);
    assert_eq!(status(&server, "stranger", "GET", &path), 200);
    assert_eq!(status(&server, "stranger", "DELETE", &path), 403);
}

#[test]
fn id_of_go_judge_exists_only_for_its_owner_and_administrators() {
    let server = Server::with_config("", &tokens(&CLIENTS));
    let id = server.upload_of("owner", b"secret");
    let path = format!("/file/{id}");
    let list = |client| server.request_of(client, "GET", "/file", "").json();
    assert_eq!(list("stranger"), json!({}));
    assert!(list("owner").get(&id).is_some() && list("admin").get(&id).is_some());
    assert_eq!(status(&server, "stranger", "GET", &path), 404);
    let command = |files: Value| {
        json!({ "cmd": [{
            "args": ["/bin/true"], "files": [{ "fileId": id }], "copyIn": files,
            "cpuLimit": 10_000_000_000_u64, "clockLimit": 20_000_000_000_u64,
            "memoryLimit": 67_108_864, "procLimit": 10,
        }] })
    };
    for files in [json!({}), json!({ "f": { "fileId": id } })] {
        let refused = server.post_of("stranger", "/run", &command(files.clone()));
        let text = format!("file does not exists with id: {id:?}");
        assert_eq!((refused.status, refused.json()), (500, json!(text)));
        assert_eq!(server.post_of("owner", "/run", &command(files)).status, 200);
    }
    assert_eq!(status(&server, "stranger", "DELETE", &path), 404);
    assert_eq!(status(&server, "admin", "GET", &path), 200);
    assert_eq!(status(&server, "owner", "DELETE", &path), 200);
}

#[test]
fn run_and_submission_exist_only_for_their_owner_and_administrators() {
    let server = Server::with_config("", &tokens(&CLIENTS));
    let run = json!({ "command": ["true"] });
    let run = server.post_of("owner", "/v1/runs", &run).json();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    for (method, path) in [
        ("GET", path.clone()),
        ("DELETE", path.clone()),
        ("GET", format!("{path}/events")),
    ] {
        assert_eq!(status(&server, "stranger", method, &path), 404, "{path}");
    }
    assert_eq!(status(&server, "owner", "GET", &path), 200);
    assert_eq!(status(&server, "admin", "GET", &path), 200);
    let submission = json!({ "language_id": 43, "source_code": "text" });
    let created = server.post_of("owner", "/submissions?wait=true", &submission);
    let token = created.json()["token"].as_str().unwrap().to_owned();
    let path = format!("/submissions/{token}");
    assert_eq!(status(&server, "stranger", "GET", &path), 404);
    assert_eq!(status(&server, "owner", "GET", &path), 200);
    let path = format!("/submissions/batch?tokens={token}");
    let batch = |client| server.request_of(client, "GET", &path, "").json();
    assert_eq!(batch("stranger")["submissions"], json!([null]));
    assert_eq!(batch("owner")["submissions"][0]["token"], token);
}
