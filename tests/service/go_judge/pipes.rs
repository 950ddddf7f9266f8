//! Groups of commands with pipes.

use super::{Judge, shell};
use serde_json::{Value, json};

/// A command whose standard input and output are pipes.
fn between(script: &str) -> Value {
    shell(
        script,
        json!({"files": [null, null, {"name": "stderr", "max": 1000}]}),
    )
}

/// A command whose standard output is a pipe.
fn writer(script: &str) -> Value {
    let files = json!({"files": [{"content": ""}, null, {"name": "stderr", "max": 1000}]});
    shell(script, files)
}

/// A command whose standard input is a pipe.
fn reader(script: &str) -> Value {
    let files = json!({"files": [null, {"name": "stdout", "max": 1000}]});
    shell(script, files)
}

fn pipe(from: usize, to: usize) -> Value {
    json!({"in": {"index": from, "fd": 1}, "out": {"index": to, "fd": 0}})
}

#[test]
fn pipe_connects_two_commands() {
    let judge = Judge::start();
    let (status, results) =
        judge.group(&[writer("echo hello"), reader("cat")], &json!([pipe(0, 1)]));
    assert_eq!(status, 200);
    assert_eq!(results[0]["status"], "Accepted");
    assert_eq!(results[1]["files"]["stdout"], "hello\n");
}

#[test]
fn commands_of_a_group_run_at_the_same_time() {
    let judge = Judge::start();
    let first = between("echo 1; read answer; echo $answer >&2");
    let second = between("read question; echo answer$question; echo $question >&2");
    let pipes = json!([pipe(0, 1), pipe(1, 0)]);
    let (_, results) = judge.group(&[first, second], &pipes);
    assert_eq!(results[0]["files"]["stderr"], "answer1\n");
    assert_eq!(results[1]["files"]["stderr"], "1\n");
}

#[test]
fn many_groups_do_not_wait_for_each_other() {
    let judge = Judge::start();
    let talk = || {
        let first = between("echo 1; read answer; echo $answer >&2");
        let second = between("read question; echo $question");
        let pipes = json!([pipe(0, 1), pipe(1, 0)]);
        judge.group(&[first, second], &pipes).1[0]["files"]["stderr"].clone()
    };
    std::thread::scope(|scope| {
        let talks: Vec<_> = (0..40).map(|_| scope.spawn(talk)).collect();
        for talk in talks {
            assert_eq!(talk.join().unwrap(), "1\n");
        }
    });
}

#[test]
fn proxy_copies_the_traffic_into_the_result_of_the_writer() {
    let judge = Judge::start();
    let proxy = |max: u64| {
        let mut pipe = pipe(0, 1);
        pipe["proxy"] = json!(true);
        pipe["name"] = json!("traffic");
        pipe["max"] = json!(max);
        let commands = [writer("echo hello"), reader("cat")];
        judge.group(&commands, &json!([pipe])).1
    };
    let results = proxy(100);
    assert_eq!(results[0]["files"]["traffic"], "hello\n");
    assert_eq!(results[1]["files"], json!({"stdout": "hello\n"}));
    let cut = proxy(2);
    assert_eq!(cut[0]["files"]["traffic"], "he");
    assert_eq!(cut[1]["files"]["stdout"], "hello\n");
}

#[test]
fn writer_outlives_a_reader_only_behind_a_proxy() {
    let judge = Judge::start();
    // More than a pipe holds.
    let commands = [
        writer("head -c 1000000 /dev/zero"),
        reader("head -c 1 > /dev/null"),
    ];
    let (_, results) = judge.group(&commands, &json!([pipe(0, 1)]));
    assert_ne!(results[0]["status"], "Accepted");
    let mut proxy = pipe(0, 1);
    proxy["proxy"] = json!(true);
    let (_, results) = judge.group(&commands, &json!([proxy]));
    assert_eq!(results[0]["status"], "Accepted", "{results}");
}

#[test]
fn reader_of_a_command_that_does_not_start_sees_the_end() {
    let judge = Judge::start();
    let missing = |name: &str| {
        let mut command = writer("");
        command["args"] = json!([name]);
        command
    };
    for name in ["/nowhere", "without-path"] {
        let mut absent = missing(name);
        absent["env"] = json!([]);
        let (_, results) = judge.group(&[absent, reader("cat; echo end")], &json!([pipe(0, 1)]));
        assert_eq!(results[0]["status"], "Internal Error", "{name}");
        assert_eq!(results[1]["files"]["stdout"], "end\n", "{name}");
    }
}

#[test]
fn invalid_mapping_fails_the_request() {
    let judge = Judge::start();
    let commands = [writer("true"), reader("true")];
    let end = |index: i64, fd: i64| json!({"index": index, "fd": fd});
    for (from, to) in [
        (end(2, 1), end(1, 0)),
        (end(-1, 1), end(1, 0)),
        (end(0, 2), end(1, 0)),
        (end(0, 1), end(1, 1)),
        (end(0, 1), end(1, 100_000)),
        (end(0, 1), end(0, 1)),
    ] {
        let pipes = json!([{"in": from, "out": to}]);
        let (status, answer) = judge.group(&commands, &pipes);
        assert_eq!(status, 500, "{pipes}: {answer}");
        assert!(answer.as_str().unwrap().starts_with("pipe: "), "{answer}");
    }
    // Both ends have descriptors beyond those of the files.
    let plain = || shell("true", Value::Null);
    let pipes = json!([{"in": end(0, 3), "out": end(1, 3)}]);
    let (_, results) = judge.group(&[plain(), plain()], &pipes);
    assert_eq!(results[1]["status"], "Accepted", "{results}");
}

#[test]
fn commands_without_pipes_have_results_in_order() {
    let judge = Judge::start();
    let commands = [
        shell("echo 0", Value::Null),
        shell("echo 1; exit 1", Value::Null),
    ];
    let (_, results) = judge.group(&commands, &json!([]));
    assert_eq!(results[0]["files"]["stdout"], "0\n");
    assert_eq!(results[1]["status"], "Nonzero Exit Status");
}
