//! Stored files, and files that go into the working directory and out of it.

use super::{Judge, command, shell};
use serde_json::{Value, json};

impl Judge {
    /// Uploads a file. Returns its id.
    fn upload(&self, name: &str, content: &[u8]) -> String {
        let head = format!(
            "--limit\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        let body = [head.as_bytes(), content, b"\r\n--limit--\r\n"].concat();
        let request = self.agent.post(self.url("/file"));
        let request = request.header("Content-Type", "multipart/form-data; boundary=limit");
        let mut response = request.send(&body[..]).unwrap();
        assert_eq!(response.status().as_u16(), 200);
        response.body_mut().read_json::<String>().unwrap()
    }

    pub(super) fn delete(&self, id: &str) -> u16 {
        let url = self.url(&format!("/file/{id}"));
        self.agent.delete(url).call().unwrap().status().as_u16()
    }

    fn list(&self) -> Value {
        serde_json::from_slice(&self.get("/file").1).unwrap()
    }
}

#[test]
fn stored_file_is_listed_used_returned_and_deleted() {
    let judge = Judge::start();
    assert_eq!(judge.list(), json!({}));
    let content = b"bytes \x00\xff\r\n--lim";
    let id = judge.upload("a b.txt", content);
    assert_eq!(id.len(), 8);
    assert!(
        id.bytes()
            .all(|byte| b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".contains(&byte))
    );
    assert!(judge.list().get(&id).is_some());
    let response = judge.agent.get(judge.url(&format!("/file/{id}"))).call();
    let mut response = response.unwrap();
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    let disposition = header("content-disposition");
    assert_eq!(disposition, "attachment; filename=\"a b.txt\"");
    assert_eq!(header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(response.body_mut().read_to_vec().unwrap(), content);

    let changes = json!({"copyIn": {"copy": {"fileId": id}}, "files": [{"fileId": id},
        {"name": "stdout", "max": 100}, {"name": "stderr", "max": 100}]});
    let result = judge.run(shell("cmp copy - && echo same", changes));
    assert_eq!(result["files"]["stdout"], "same\n", "{result}");

    assert_eq!((judge.delete(&id), judge.delete(&id)), (200, 404));
    assert_eq!(judge.get(&format!("/file/{id}")).0, 404);
    assert_eq!(judge.list(), json!({}));
}

#[test]
fn equal_files_are_deleted_one_by_one() {
    let judge = Judge::start();
    let ids = [judge.upload("a", b"same"), judge.upload("b", b"same")];
    assert_ne!(ids[0], ids[1]);
    assert_eq!(judge.delete(&ids[0]), 200);
    assert_eq!(
        judge.get(&format!("/file/{}", ids[1])),
        (200, b"same".to_vec())
    );
}

#[test]
fn form_without_file_is_rejected() {
    let judge = Judge::start();
    let request = judge.agent.post(judge.url("/file"));
    let request = request.header("Content-Type", "multipart/form-data; boundary=limit");
    let response = request.send("--limit--\r\n").unwrap();
    assert_eq!(response.status().as_u16(), 400);
}

#[test]
fn files_and_links_are_copied_in() {
    let judge = Judge::start();
    let files = json!({
        "a": {"content": "A"}, "deep/er/b": {"content": "B"}, "/tmp/c": {"content": "C"},
        "/w/d": {"content": "D"}, "empty": {"src": "/dev/null"}, "link": {"symlink": "a"},
    });
    let script = "cat a deep/er/b /tmp/c d empty link && readlink link && ./a; test -x a";
    let result = judge.run(shell(script, json!({"copyIn": files})));
    assert_eq!(result["files"]["stdout"], "ABCDAa\n", "{result}");
    assert_eq!(result["status"], "Accepted");
    for path in ["../escape", "/etc/passwd", "a/"] {
        let result = judge.run(command(
            &["/bin/true"],
            json!({"copyIn": {path: {"content": "x"}}}),
        ));
        let is_inside = path == "a/";
        assert_eq!(
            result["status"] == "File Error",
            !is_inside,
            "{path}: {result}"
        );
    }
}

#[test]
fn link_does_not_lead_out_of_the_working_directory() {
    let judge = Judge::start();
    let script = "ln -s /etc/ld.so.cache file; ln -s /etc dir";
    let changes = json!({"copyOut": ["file", "dir/ld.so.cache", "../etc/ld.so.cache",
        "/etc/ld.so.cache"]});
    let result = judge.run(shell(script, changes));
    assert_eq!(result["status"], "File Error");
    assert_eq!(result["fileError"].as_array().unwrap().len(), 4, "{result}");
    assert_eq!(result["files"], json!({"stdout": "", "stderr": ""}));
}

#[test]
fn files_are_copied_out_with_their_errors() {
    let judge = Judge::start();
    let script = "echo 1 > a; mkdir dir; head -c 100 /dev/zero | tr '\\0' x > big; \
                  echo t > /tmp/t";
    let names = json!([
        "stdout",
        "a",
        "absent?",
        "absent2",
        "dir",
        "big",
        "/w/a",
        "/tmp/t",
        "/tmp/absent?"
    ]);
    let result = judge.run(shell(script, json!({"copyOut": names, "copyOutMax": 50})));
    assert_eq!(result["status"], "File Error");
    assert_eq!(
        result["files"],
        json!({"stdout": "", "stderr": "", "a": "1\n", "/w/a": "1\n", "/tmp/t": "t\n"})
    );
    let errors: Vec<(&str, &str)> = result["fileError"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| {
            (
                error["name"].as_str().unwrap(),
                error["type"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        errors,
        [
            ("absent2", "CopyOutOpen"),
            ("dir", "CopyOutNotRegularFile"),
            ("big", "CopyOutSizeExceeded"),
        ]
    );
    let truncated = json!({"copyOut": ["big"], "copyOutMax": 50, "copyOutTruncate": true});
    let result = judge.run(shell(script, truncated));
    assert_eq!(result["status"], "File Error");
    assert_eq!(result["files"]["big"], "x".repeat(50));
    let optional = judge.run(shell("true", json!({"copyOut": ["absent?"]})));
    assert_eq!(optional["status"], "Accepted");
    let failed = judge.run(shell("exit 2", json!({"copyOut": ["absent"]})));
    assert_eq!(failed["status"], "Nonzero Exit Status");
    assert_eq!(failed["fileError"][0]["type"], "CopyOutOpen");
}

#[test]
fn cached_output_is_exact_and_not_in_files() {
    let judge = Judge::start();
    let script = r"printf '\377\000z'; printf 'a\376' > file";
    let changes = json!({"copyOut": ["stdout", "stderr"], "copyOutCached": ["stdout", "file"]});
    let result = judge.run(shell(script, changes));
    assert_eq!(result["files"], json!({"stderr": ""}));
    let content = |name: &str| {
        let id = result["fileIds"][name].as_str().unwrap();
        judge.get(&format!("/file/{id}")).1
    };
    assert_eq!(content("stdout"), b"\xff\x00z");
    assert_eq!(content("file"), b"a\xfe");
    assert_eq!(judge.list().as_object().unwrap().len(), 2);
}

#[test]
fn sources_of_the_host_need_a_configured_prefix() {
    let directory = millibox_tests::directory();
    let outside = millibox_tests::directory();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("in"), "allowed").unwrap();
    std::os::unix::fs::symlink(outside.path(), path("out")).unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let prefix = directory.path().to_str().unwrap();
    let judge = Judge::with_config(&format!("go_judge_source_prefixes = [{prefix:?}]"));
    let copy = |path: String| {
        let copied = command(&["cat", "a"], json!({"copyIn": {"a": {"src": path}}}));
        judge.group(&[copied], &json!([]))
    };
    let (status, results) = copy(path("in"));
    assert_eq!(
        (status, &results[0]["files"]["stdout"]),
        (200, &json!("allowed"))
    );
    let (status, results) = copy(path("missing"));
    assert_eq!((status, &results[0]["status"]), (200, &json!("File Error")));
    assert_eq!(results[0]["fileError"][0]["type"], "CopyInOpenFile");
    assert_eq!(copy(path("out/secret")).0, 400);
    assert_eq!(copy(path("../secret")).0, 400);
    let stdin = json!({"files": [{"src": path("in")}, {"name": "stdout", "max": 100}]});
    assert_eq!(
        judge.run(command(&["cat"], stdin))["files"]["stdout"],
        "allowed"
    );
}
