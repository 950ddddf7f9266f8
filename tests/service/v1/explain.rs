//! `"explain": true`: what the program of a run lacked.

use crate::server::Server;
use serde_json::json;

#[test]
fn explained_run_names_calls_and_paths() {
    let server = Server::with_config("", "explain = true\n");
    let script = "try: open('/etc/login.defs')\nexcept OSError: pass\n\
        import os\ntry: os.sched_setaffinity(0, [0])\nexcept OSError: pass\n";
    let files = json!({ "main.py": { "text": script } });
    for request in [
        json!({ "command": ["python3", "-ISc", script], "explain": true }),
        json!({ "runtime": "python3", "files": files, "explain": true }),
    ] {
        let answer = server.post("/v1/runs", &request);
        assert_eq!(answer.status, 200, "{answer:?}");
        let test = &answer.json()["tests"][0];
        assert_eq!(test["exit_code"], 0, "{test}");
        assert_eq!(test["prepared"], false, "{test}");
        let explain = &test["explain"];
        let calls = explain["refused_calls"].as_array().expect("a list");
        let call = calls
            .iter()
            .find(|call| call["name"] == "sched_setaffinity");
        let call = call.unwrap_or_else(|| panic!("{explain}"));
        assert_eq!(
            (&call["count"], &call["action"]),
            (&json!(1), &json!("errno:EPERM"))
        );
        assert_eq!(call["rule"]["policy"], "default");
        let paths = explain["missing_paths"].as_array().expect("a list");
        let path = paths.iter().find(|path| path["path"] == "/etc/login.defs");
        let path = path.unwrap_or_else(|| panic!("{explain}"));
        let option = json!({ "argument": "--ro /etc/login.defs", "mount": "/etc/login.defs" });
        assert_eq!(
            (&path["error"], &path["option"]),
            (&json!("ENOENT"), &option)
        );
        assert!(
            explain["options"]
                .as_array()
                .expect("a list")
                .contains(&option),
            "{explain}"
        );
    }
    let plain = server.post("/v1/runs", &json!({ "command": ["true"] }));
    assert_eq!(plain.json()["tests"][0].get("explain"), None);
    let two = json!({ "command": ["true"], "tests": [{}, {}], "explain": true });
    let answer = server.post("/v1/runs", &two);
    assert_eq!(
        (answer.status, &answer.json()["field"]),
        (422, &json!("explain")),
        "{answer:?}"
    );
}

#[test]
fn service_explains_no_run_by_default() {
    let server = Server::start("");
    let request = json!({ "command": ["true"], "explain": true });
    let answer = server.post("/v1/runs", &request);
    assert_eq!(answer.status, 403, "{answer:?}");
}
