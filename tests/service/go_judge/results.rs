//! Statuses, figures and errors of `/run`.

use super::{Judge, command, shell};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

const NONE: Value = Value::Null;

#[test]
fn results_have_the_status_of_go_judge() {
    let judge = Judge::start();
    let accepted = judge.run(command(&["/bin/true"], NONE));
    assert_eq!(accepted["status"], "Accepted");
    assert_eq!(accepted["exitStatus"], 0);
    for figure in ["time", "runTime", "memory"] {
        assert!(
            accepted[figure].as_u64().unwrap() > 0,
            "{figure}: {accepted}"
        );
    }
    assert_eq!(accepted["files"], json!({"stdout": "", "stderr": ""}));
    assert!(accepted.get("error").is_none() && accepted.get("fileIds").is_none());

    let exited = judge.run(shell("echo out; echo err >&2; exit 3", NONE));
    assert_eq!(exited["status"], "Nonzero Exit Status");
    assert_eq!(exited["exitStatus"], 3);
    assert_eq!(
        exited["files"],
        json!({"stdout": "out\n", "stderr": "err\n"})
    );

    let signalled = judge.run(shell("kill -SEGV $$", NONE));
    assert_eq!(signalled["status"], "Signalled");
    assert_eq!(signalled["exitStatus"], 11);
}

#[test]
fn answers_have_the_headers_of_the_service() {
    let judge = Judge::start();
    let headers = |commands: &[Value]| {
        let body = json!({ "cmd": commands }).to_string();
        let answer = judge.server.request("POST", "/run", &[], body);
        let queued = answer.header("Millibox-Queued-Ms").unwrap();
        assert!(queued.parse::<u64>().is_ok(), "{queued}");
        assert!(answer.header("Millibox-Run-Id").unwrap().starts_with("r_"));
        answer.header("Millibox-Outcome").map(str::to_owned)
    };
    let one = command(&["/bin/false"], NONE);
    assert_eq!(
        headers(std::slice::from_ref(&one)).as_deref(),
        Some("exited")
    );
    assert_eq!(headers(&[one.clone(), one]), None);
}

#[test]
fn command_that_cannot_be_executed_is_an_internal_error() {
    let judge = Judge::start();
    let missing = judge.run(command(&["/nowhere"], NONE));
    assert_eq!(missing["status"], "Internal Error");
    let error = missing["error"].as_str().unwrap();
    assert_eq!(error, "start: /nowhere: execve: no such file or directory");
    // With a file, the command is executed in another way.
    let with_file = json!({"copyIn": {"a": {"content": ""}}});
    let missing = judge.run(command(&["/nowhere"], with_file));
    assert_eq!(missing["error"], error);
    for (args, changes) in [
        // Without PATH, nothing is looked up.
        (&["true"][..], json!({"env": []})),
        (
            &["true"],
            json!({"env": ["A=1"], "copyIn": {"a": {"content": ""}}}),
        ),
        (&[], NONE),
        (&["/bin/true"], json!({"files": [null]})),
    ] {
        let result = judge.run(command(args, changes.clone()));
        assert_eq!(result["status"], "Internal Error", "{args:?} {changes}");
        assert!(!result["error"].as_str().unwrap().is_empty());
    }
}

#[test]
fn limits_of_zero_are_always_exceeded() {
    let judge = Judge::start();
    let status = |changes| judge.run(command(&["/bin/true"], changes))["status"].clone();
    assert_eq!(status(json!({"cpuLimit": 0})), "Time Limit Exceeded");
    assert_eq!(status(json!({"memoryLimit": 0})), "Memory Limit Exceeded");
    assert_eq!(status(json!({"clockLimit": 0})), "Accepted");
    assert_eq!(status(json!({"procLimit": 0, "stackLimit": 0})), "Accepted");
}

#[test]
fn exceeded_limits_have_their_own_status() {
    let judge = Judge::start();
    let cpu = judge.run(shell(
        "while :; do :; done",
        json!({"cpuLimit": 200_000_000}),
    ));
    assert_eq!(cpu["status"], "Time Limit Exceeded");
    assert_eq!(cpu["exitStatus"], 9);
    let clock = judge.run(shell("sleep 600", json!({"clockLimit": 200_000_000})));
    assert_eq!(clock["status"], "Time Limit Exceeded");
    let replaced = json!({"clockLimit": 60_000_000_000_u64, "realCpuLimit": 200_000_000});
    let clock = judge.run(shell("sleep 600", replaced));
    assert_eq!(clock["status"], "Time Limit Exceeded");
    if judge.server.backend == "rlimit" {
        return millibox_tests::skip("no cgroups are available, so memory is not judged on");
    }
    let fill = "dd if=/dev/zero of=file bs=1M count=100";
    let memory = judge.run(shell(fill, json!({"memoryLimit": 32 << 20})));
    assert_eq!(memory["status"], "Memory Limit Exceeded");
    let processes = judge.run(shell("(echo child)", json!({"procLimit": 1})));
    assert_ne!(processes["status"], "Accepted");
}

#[test]
fn collector_above_its_maximum_keeps_one_extra_byte() {
    let judge = Judge::start();
    let files = |max: u64| json!({"files": [{"content": ""}, {"name": "stdout", "max": max}]});
    let result = judge.run(shell("echo 123456", files(3)));
    assert_eq!(result["status"], "Output Limit Exceeded");
    assert_eq!(result["exitStatus"], 0);
    assert_eq!(result["files"]["stdout"], "1234");
    let errors = json!([{"name": "stdout", "type": "CollectSizeExceeded"}]);
    assert_eq!(result["fileError"], errors);
    // A command that fails keeps its status.
    let result = judge.run(shell("echo 123456; exit 7", files(3)));
    assert_eq!(result["status"], "Nonzero Exit Status");
    assert_eq!(result["fileError"], errors);
    let exact = judge.run(shell("echo 12", files(3)));
    assert_eq!(exact["status"], "Accepted");
    // A program that writes endlessly is killed.
    let result = judge.run(shell("exec yes", files(3)));
    assert_eq!(result["status"], "Output Limit Exceeded");
    assert_eq!(result["files"]["stdout"], "y\ny\n");
}

#[test]
fn two_descriptors_with_one_collector_share_it() {
    let judge = Judge::start();
    let shared = json!({"name": "both", "max": 100, "pipe": true});
    let files = json!({"files": [{"content": "in"}, shared, shared]});
    let result = judge.run(shell("echo a; echo b >&2; cat", files));
    assert_eq!(result["files"], json!({"both": "a\nb\nin"}));
}

#[test]
fn additional_descriptors_are_files_and_collectors() {
    let judge = Judge::start();
    let files = json!({"files": [{"src": "/dev/null"}, {"name": "stdout", "max": 100},
        {"src": "/dev/null"}, {"content": "three"}, {"name": "four", "max": 100}]});
    let result = judge.run(shell("cat; cat <&3; echo x >&4; echo lost >&2", files));
    assert_eq!(result["files"], json!({"stdout": "three", "four": "x\n"}));
    let empty = judge.run(command(&["/bin/true"], json!({"files": []})));
    assert_eq!(empty["status"], "Accepted");
}

#[test]
fn binary_output_is_lossy_in_json() {
    let judge = Judge::start();
    let script = r"printf '\377\376a\000'";
    let result = judge.run(shell(script, NONE));
    assert_eq!(result["files"]["stdout"], "\u{fffd}\u{fffd}a\0");
}

#[test]
fn environment_has_only_the_variables_of_the_request() {
    let judge = Judge::start();
    let result = judge.run(command(&["/usr/bin/env"], json!({"env": ["A=1", "B=x=y"]})));
    assert_eq!(result["files"]["stdout"], "A=1\nB=x=y\n");
}

#[test]
fn working_directory_is_w() {
    let judge = Judge::start();
    let script = "pwd; echo x > file && cat file; echo y > /tmp/file && cat /tmp/file";
    let result = judge.run(shell(script, NONE));
    assert_eq!(result["files"]["stdout"], "/w\nx\ny\n");
    let left = judge.run(shell("ls /w /tmp", NONE));
    assert_eq!(left["files"]["stdout"], "/tmp:\n\n/w:\n");
}

#[test]
fn terminal_merges_collectors() {
    let judge = Judge::start();
    let changes = json!({"tty": true, "files": [{"content": "typed"},
        {"name": "stdout", "max": 1000}, {"name": "stderr", "max": 1000}]});
    let script = "test -t 0 && test -t 1 && test -t 2 && cat && echo end >&2";
    let result = judge.run(shell(script, changes));
    assert_eq!(result["status"], "Accepted", "{result}");
    let output = result["files"]["stdout"].as_str().unwrap();
    assert!(
        output.contains("typed") && output.ends_with("end\r\n"),
        "{output:?}"
    );
    assert!(result["files"].get("stderr").is_none());
}

#[test]
fn invalid_requests_are_answered_with_a_json_string() {
    let judge = Judge::start();
    let one = |fields: &str| format!("{{\"cmd\":[{{\"args\":[\"/bin/true\"],{fields}}}]}}");
    for (body, status, words) in [
        (r#"{"cmd":[]}"#.to_owned(), 400, "no cmd provided"),
        ("{}".to_owned(), 400, "no cmd provided"),
        ("{".to_owned(), 400, ""),
        (one(r#""cpuLimit":-1"#), 400, ""),
        (one(r#""memoryLimit":1.5"#), 400, ""),
        (one(r#""args":"true""#), 400, ""),
        (
            one(r#""files":[{}]"#),
            400,
            "file type is not valid for cmd",
        ),
        (one(r#""cpuSetLimit":"0-1""#), 400, "cpuSetLimit"),
        (one(r#""memoryLimit":1125899906842624"#), 400, "memoryLimit"),
        (
            one(r#""files":[{"src":"/etc/passwd"}]"#),
            400,
            "file (/etc/passwd) does not under",
        ),
        (
            one(r#""copyIn":{"a":{"src":"/etc/passwd"}}"#),
            400,
            "file (/etc/passwd) does not under",
        ),
        (
            one(r#""copyIn":{"a":{"fileId":"NOFILE77"}}"#),
            500,
            "file does not exists with id: \"NOFILE77\"",
        ),
    ] {
        let (found, answer) = judge.post(&body);
        assert_eq!(found, status, "{body}: {answer}");
        let text = answer
            .as_str()
            .unwrap_or_else(|| panic!("{body}: {answer}"));
        assert!(text.contains(words), "{body}: {text}");
    }
    assert_eq!(judge.get("/run"), (404, b"404 page not found".to_vec()));
}

#[test]
fn version_and_config_satisfy_hydro() {
    let judge = Judge::start();
    let value = |path| -> Value { serde_json::from_slice(&judge.get(path).1).unwrap() };
    let version = value("/version");
    let numbers = version["buildVersion"].as_str().unwrap();
    let numbers: Vec<u32> = numbers
        .strip_prefix('v')
        .unwrap()
        .split('.')
        .map(|number| number.parse().unwrap())
        .collect();
    assert!(numbers.len() == 3 && numbers >= vec![1, 6, 0], "{version}");
    let config = value("/config");
    for answer in [&version, &config] {
        for feature in [
            "copyOutOptional",
            "fixSymlinkEscape",
            "pipeProxy",
            "symlink",
        ] {
            assert_eq!(answer[feature], true, "{feature}");
        }
    }
    let runner = &config["runnerConfig"];
    assert_eq!(runner["workDir"], "/w");
    let controllers = runner["cgroupControllers"].as_array().unwrap();
    let has_memory = controllers.contains(&json!("memory"));
    assert_eq!(has_memory, judge.server.backend != "rlimit");
}

#[test]
fn java_compiler_of_the_system_runs() {
    let judge = Judge::start();
    if !std::path::Path::new("/usr/bin/javac").exists() {
        return millibox_tests::skip("there is no /usr/bin/javac");
    }
    if !millibox_tests::has_cgroups_or_skips(&millibox_tests::supervisor()) {
        // The address space of Java is much larger than its memory.
        return;
    }
    let script = "echo 'class A { public static void main(String[] a) { \
                  System.out.println(7); } }' >A.java && javac A.java && java A";
    let limits = json!({
        "procLimit": 64, "memoryLimit": 1_u64 << 30, "cpuLimit": 30_000_000_000_u64,
        "clockLimit": 90_000_000_000_u64,
    });
    let result = judge.run(shell(script, limits));
    assert_eq!(result["files"]["stdout"], "7\n", "{result}");
}

#[test]
fn keys_are_read_in_any_case() {
    let judge = Judge::start();
    let request = json!({"CMD": [{
        "ARGS": ["cat"], "env": ["PATH=/usr/bin:/bin"],
        "files": [{"Content": "hi"}, {"name": "stdout", "MAX": 100}],
        "cpulimit": 20_000_000_000_u64, "clocklimit": 60_000_000_000_u64,
        "memorylimit": 64 << 20, "proclimit": 5,
    }]});
    // Go reads one value, and nothing after it.
    let (status, results) = judge.post(&format!("{request} trailing"));
    assert_eq!(status, 200, "{results}");
    assert_eq!(results[0]["status"], "Accepted", "{results}");
    assert_eq!(results[0]["files"]["stdout"], "hi");
}

#[test]
fn compressed_bodies_are_expanded_within_the_bound() {
    let judge = Judge::with_config("max_body_bytes = 100000");
    let post = |encoding: &str, body: &str| {
        let mut gzip = Command::new("gzip")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("gzip");
        let mut stdin = gzip.stdin.take().expect("a pipe");
        stdin.write_all(body.as_bytes()).expect("a body");
        drop(stdin);
        let compressed = gzip.wait_with_output().expect("gzip").stdout;
        let request = judge.agent.post(judge.url("/run"));
        let request = request.header("Content-Encoding", encoding);
        let mut response = request.send(&compressed[..]).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        let supported = response.headers().get("accept-encoding").cloned();
        (response.status().as_u16(), text, supported)
    };
    let hello = command(&["echo", "hi"], json!({}));
    let (status, text, _) = post("gzip", &json!({"cmd": [hello]}).to_string());
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("hi\\n"), "{text}");
    // About 1 KiB expands to more than the largest body.
    let large = format!("{{\"x\":\"{}\"}}", "a".repeat(1_000_000));
    let (status, text, _) = post("gzip", &large);
    assert!(matches!(status, 400 | 413), "{status} {text}");
    let (status, text, supported) = post("br", "{}");
    assert_eq!(status, 415, "{text}");
    assert_eq!(supported.unwrap(), "gzip, deflate");
    assert!(text.starts_with('"'), "{text}");
}

#[test]
fn slash_at_the_end_is_redirected_as_in_gin() {
    let judge = Judge::start();
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent = config.max_redirects(0).build().into();
    let version = agent.get(judge.url("/version/")).call().unwrap();
    assert_eq!(version.status().as_u16(), 301);
    assert_eq!(version.headers()["location"], "/version");
    let run = agent.post(judge.url("/run/")).send("{}").unwrap();
    assert_eq!(run.status().as_u16(), 307);
}
