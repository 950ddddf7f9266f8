//! Package directories as runtimes.

use super::{execute, program, with};
use crate::server::Server;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A directory with two packages below LANGUAGE/VERSION.
fn packages() -> tempfile::TempDir {
    let root = millibox_tests::directory();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let metadata = json!({
        "language": "maker",
        "version": "1.2.3",
        "provides": [
            { "language": "make-one", "aliases": ["m1", "Maker (One)"] },
            { "language": "make-two", "limit_overrides": { "run_timeout": 50_000 } },
        ],
    });
    write("maker/1.2.3/metadata.json", &metadata.to_string());
    write(
        "maker/1.2.3/compile",
        "[ -f fail ] && { echo no >&2; exit 4; }\n\
         mkdir -p out/empty\n\
         echo compiled \"$PISTON_LANGUAGE\" \"$@\" | tee out/text\n\
         printf '#!/bin/sh\\necho program \"$@\"\\n' > out/program\n\
         chmod +x out/program\n\
         ln -s text out/link\n",
    );
    write(
        "maker/1.2.3/run",
        "main=$1; shift\n\
         cat out/link \"$main\"\n\
         out/program \"$@\"\n\
         [ -d out/empty ] && echo directory\n\
         echo $MAKER_HOME $HOME $PWD\n\
         : > $MAKER_HOME/new || exit 5\n",
    );
    write("maker/1.2.3/environment", "export MAKER_HOME=$PWD\n");
    for (version, text) in [("1.0.0", "old"), ("1.10.0", "new"), ("1.9.0", "middle")] {
        let metadata = json!({ "language": "plain", "version": version, "aliases": ["pl"] });
        write(
            &format!("plain/{version}/pkg-info.json"),
            &metadata.to_string(),
        );
        write(
            &format!("plain/{version}/run"),
            &format!("echo {text} $KIND; kill -11 $$\n"),
        );
        write(&format!("plain/{version}/.env"), "KIND=stored\nSHLVL=9\n");
    }
    open_to_all(root.path());
    root
}

/// Lets the sandbox's user read everything.
fn open_to_all(directory: &Path) {
    millibox_tests::set_mode(directory, 0o755);
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            open_to_all(&path);
        } else {
            millibox_tests::set_mode(&path, 0o755);
        }
    }
}

fn server(root: &Path) -> Server {
    Server::with_config("piston", &format!("piston_packages = [{root:?}]\n"))
}

#[test]
fn files_of_the_compile_stage_are_those_of_the_run_stage() {
    let root = packages();
    let server = server(root.path());
    let request = json!({
        "language": "Maker (One)", "version": "1.x", "args": ["a", "b c"],
        "files": [
            { "name": "x/main", "content": "main text\n" },
            { "name": "second", "content": "" },
            { "name": "data", "content": "00", "encoding": "hex" },
        ],
    });
    let answer = execute(&server, &request);
    assert_eq!(answer["language"], "make-one");
    assert_eq!(answer["version"], "1.2.3");
    assert_eq!(answer["compile"]["code"], 0, "{answer}");
    assert_eq!(
        answer["compile"]["stdout"],
        "compiled make-one x/main second\n"
    );
    let package = "/piston/packages/maker/1.2.3";
    assert_eq!(
        answer["run"]["stdout"].as_str().unwrap(),
        format!(
            "compiled make-one x/main second\nmain text\nprogram a b c\ndirectory\n\
             {package} /tmp /box/submission\n"
        ),
        "{answer}"
    );
    // The package is read-only.
    assert_eq!(answer["run"]["code"], 5, "{answer}");
}

#[test]
fn failed_compile_stage_is_copied_to_the_run_stage() {
    let root = packages();
    let server = server(root.path());
    let request = with(
        program("m1", ""),
        &json!({ "files": [{ "name": "fail", "content": "" }] }),
    );
    let answer = execute(&server, &request);
    assert_eq!(answer["compile"]["code"], 4, "{answer}");
    assert_eq!(answer["compile"]["stderr"], "no\n");
    assert_eq!(answer["compile"], answer["run"]);
}

#[test]
fn newest_version_in_range_runs_without_a_compile_stage() {
    let root = packages();
    let server = server(root.path());
    let run = |version: &str| {
        let request = with(program("pl", ""), &json!({ "version": version }));
        execute(&server, &request)
    };
    for (version, expected) in [("*", "new"), ("<1.10", "middle"), ("1.0.0", "old")] {
        let answer = run(version);
        assert_eq!(
            answer["run"]["stdout"],
            format!("{expected} stored\n"),
            "{version}"
        );
        assert_eq!(answer.get("compile"), None);
    }
    // The signal ends the script itself.
    assert_eq!(run("*")["run"]["signal"], "SIGSEGV");
}

#[test]
fn packages_are_listed_and_cannot_be_changed() {
    let root = packages();
    let server = server(root.path());
    let runtimes = server.get("/api/v2/runtimes").json();
    let entry = json!({
        "language": "make-one", "version": "1.2.3", "aliases": ["m1", "Maker (One)"],
        "runtime": "maker",
    });
    assert!(runtimes.as_array().unwrap().contains(&entry), "{runtimes}");
    let packages = server.get("/api/v2/packages/").json();
    let entry = json!({ "language": "maker", "language_version": "1.2.3", "installed": true });
    let count = packages
        .as_array()
        .unwrap()
        .iter()
        .filter(|known| **known == entry)
        .count();
    assert_eq!(count, 1, "{packages}");
    let body = json!({ "language": "maker", "version": "1.2.3" }).to_string();
    for method in ["POST", "DELETE"] {
        let answer = server.send(method, "/api/v2/packages", Some("application/json"), &body);
        assert_eq!(answer.status, 403, "{method}");
        assert!(answer.json()["message"].is_string());
    }
}

#[test]
fn override_is_default_and_maximum() {
    let root = packages();
    let server = server(root.path());
    let request = |timeout: Value| {
        let fields = json!({ "run_timeout": timeout });
        server.post("/api/v2/execute", &with(program("make-two", ""), &fields))
    };
    assert_eq!(request(json!(50_000)).status, 200);
    let message = "run_timeout cannot exceed the configured limit of 50000";
    assert_eq!(request(json!(50_001)).json(), json!({ "message": message }));
}

#[test]
fn unusable_package_keeps_the_service_from_starting() {
    let root = millibox_tests::directory();
    let config = root.path().join("config.toml");
    let missing = root.path().join("missing");
    std::fs::write(&config, format!("piston_packages = [{missing:?}]\n")).unwrap();
    let output = Command::new(millibox_tests::executable("millibox"))
        .args(["serve", "--listen", "piston=127.0.0.1:0", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
}
