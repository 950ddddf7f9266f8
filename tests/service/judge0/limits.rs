//! Limits: their defaults, their bounds, and what they do.

use super::{BASH, Judge, PYTHON, source, text, with};
use serde_json::{Value, json};

#[test]
fn limits_have_the_defaults_of_judge0() {
    let result = Judge::start().run(&text("x"));
    for (name, value) in [
        ("cpu_time_limit", json!("5.0")),
        ("cpu_extra_time", json!("1.0")),
        ("wall_time_limit", json!("10.0")),
        ("memory_limit", json!(128_000)),
        ("stack_limit", json!(64_000)),
        ("max_processes_and_or_threads", json!(60)),
        ("max_file_size", json!(1024)),
        ("number_of_runs", json!(1)),
        ("enable_network", json!(false)),
        ("enable_per_process_and_thread_time_limit", json!(false)),
        ("redirect_stderr_to_stdout", json!(false)),
    ] {
        assert_eq!(result[name], value, "{name}");
    }
}

#[test]
fn values_out_of_bounds_are_rejected_by_field() {
    let judge = Judge::start();
    for (name, value, message) in [
        (
            "cpu_time_limit",
            json!(15.1),
            "must be less than or equal to 15.0",
        ),
        (
            "wall_time_limit",
            json!("21"),
            "must be less than or equal to 20.0",
        ),
        (
            "wall_time_limit",
            json!(0),
            "must be greater than or equal to 1",
        ),
        (
            "memory_limit",
            json!(1),
            "must be greater than or equal to 2048",
        ),
        ("number_of_runs", json!(0), "must be greater than 0"),
        ("stack_limit", json!("large"), "is not a number"),
        (
            "enable_network",
            json!(true),
            "enabling network is not allowed",
        ),
    ] {
        let submission = with(text("x"), &json!({ name: value }));
        assert_eq!(
            judge.rejected(&submission, name),
            json!([message]),
            "{name}"
        );
    }
}

#[test]
fn numbers_may_be_strings() {
    let judge = Judge::start();
    let fields = json!({ "language_id": "43", "cpu_time_limit": "1.5", "memory_limit": "4096" });
    let result = judge.run(&with(text("x"), &fields));
    assert_eq!(result["language_id"], json!(43));
    assert_eq!(result["cpu_time_limit"], json!("1.5"));
    assert_eq!(result["memory_limit"], json!(4096));
}

fn status(result: &Value) -> u64 {
    result["status"]["id"].as_u64().unwrap()
}

#[test]
fn cpu_time_limit_ends_the_program() {
    let limits = json!({ "cpu_time_limit": 0.3, "cpu_extra_time": 0 });
    let result = Judge::start().run(&with(source(PYTHON, "while True: pass"), &limits));
    assert_eq!(status(&result), 5, "{result}");
    assert_eq!(result["message"], json!("Time limit exceeded"));
}

#[test]
fn program_in_its_extra_time_ends_by_itself_but_is_too_slow() {
    let code = "import time\nwhile time.process_time() < 0.5: pass\nprint('done')";
    let limits = json!({ "cpu_time_limit": 0.2, "cpu_extra_time": 5 });
    let result = Judge::start().run(&with(source(PYTHON, code), &limits));
    assert_eq!(status(&result), 5, "{result}");
    assert_eq!(result["stdout"], json!("done\n"));
}

#[test]
fn wall_time_limit_ends_the_program() {
    let limits = json!({ "wall_time_limit": 1 });
    let result = Judge::start().run(&with(source(BASH, "sleep 50"), &limits));
    assert_eq!(status(&result), 5, "{result}");
    assert_eq!(result["message"], json!("Time limit exceeded (wall clock)"));
}

#[test]
fn memory_limit_has_a_message() {
    let judge = Judge::start();
    if judge.server.backend == "rlimit" {
        millibox_tests::skip("without cgroups, Python reports the lack of memory itself");
        return;
    }
    let limits = json!({ "memory_limit": 20_000 });
    let result = judge.run(&with(
        source(PYTHON, "print(len(bytearray(1 << 30)))"),
        &limits,
    ));
    assert_eq!(status(&result), 12, "{result}");
    assert_eq!(result["message"], json!("Memory limit exceeded"));
    assert_eq!(result["exit_signal"], json!(9));
}

#[test]
fn file_size_limit_holds_for_output_and_files() {
    let judge = Judge::start();
    let limits = json!({ "max_file_size": 1 });
    for code in ["yes", "exec yes > file"] {
        let result = judge.run(&with(source(BASH, code), &limits));
        assert_eq!(status(&result), 8, "{code}: {result}");
        let stdout = result["stdout"].as_str().unwrap_or_default();
        assert!(stdout.len() <= 1024, "{code}: {} bytes", stdout.len());
    }
}
