//! States, messages and figures of submissions.

use super::{BASH, C, Judge, PYTHON, source, text, with};
use serde_json::{Value, json};

fn expecting(submission: Value, output: &str) -> Value {
    with(submission, &json!({ "expected_output": output }))
}

#[test]
fn output_is_compared_without_trailing_white_space() {
    let judge = Judge::start();
    for (output, expected, status) in [
        ("a b\nc", "a b  \nc\n\n", 3),
        ("a b \r\nc\n", "a b\nc", 3),
        ("a  b", "a b", 4),
        (" a", "a", 4),
        ("a\n\nb", "a\nb", 4),
    ] {
        let result = judge.run(&expecting(text(output), expected));
        assert_eq!(
            result["status"]["id"],
            json!(status),
            "{output:?} {expected:?}"
        );
        assert_eq!(result["message"], json!(null));
    }
    let result = judge.run(&text("anything"));
    assert_eq!(
        result["status"],
        json!({ "id": 3, "description": "Accepted" })
    );
}

#[test]
fn result_has_figures_and_dates() {
    let judge = Judge::start();
    let path = "/submissions?wait=true&fields=*,started_at,queued_at,updated_at,execution_host";
    let (_, result) = judge.post(path, &source(PYTHON, "print(1)"));
    for name in ["time", "wall_time"] {
        let value = result[name].as_str().unwrap();
        let (_, decimals) = value.split_once('.').unwrap();
        assert!((1..=3).contains(&decimals.len()), "{name}: {value}");
        assert!(value.parse::<f64>().unwrap() > 0.0, "{name}: {value}");
    }
    assert!(result["memory"].as_u64() > Some(0), "{result}");
    assert_eq!(
        (&result["exit_code"], &result["exit_signal"]),
        (&json!(0), &json!(null))
    );
    for name in [
        "created_at",
        "queued_at",
        "started_at",
        "finished_at",
        "updated_at",
    ] {
        let date = result[name].as_str().unwrap();
        // 2024-12-09T17:22:55.662Z
        assert_eq!(
            (date.len(), &date[10..11], &date[19..20], &date[23..]),
            (24, "T", ".", "Z")
        );
    }
    assert!(result["execution_host"].is_string());
    let token = result["token"].as_str().unwrap();
    assert_eq!((token.len(), &token[14..15]), (36, "4"));
}

#[test]
fn exit_code_is_a_runtime_error() {
    let result = Judge::start().run(&expecting(
        source(BASH, "echo out; echo err >&2; exit 7"),
        "out",
    ));
    assert_eq!(
        result["status"],
        json!({ "id": 11, "description": "Runtime Error (NZEC)" })
    );
    assert_eq!(result["exit_code"], json!(7));
    assert_eq!(result["message"], json!("Exited with error status 7"));
    assert_eq!(
        (&result["stdout"], &result["stderr"]),
        (&json!("out\n"), &json!("err\n"))
    );
}

#[test]
fn signals_have_their_own_states() {
    let judge = Judge::start();
    for (signal, status) in [(11, 7), (25, 8), (8, 9), (6, 10), (9, 12), (15, 12)] {
        let result = judge.run(&source(BASH, &format!("kill -{signal} $$")));
        assert_eq!(result["status"]["id"], json!(status), "{result}");
        assert_eq!(result["exit_signal"], json!(signal));
        assert_eq!(
            result["message"],
            json!(format!("Caught fatal signal {signal}"))
        );
    }
}

#[test]
fn compile_error_has_only_the_messages_of_the_compiler() {
    let result = Judge::start().run(&source(C, "int main(void) { return undeclared; }"));
    assert_eq!(result["status"]["id"], json!(6), "{result}");
    let messages = result["compile_output"].as_str().unwrap();
    assert!(messages.contains("undeclared"), "{messages}");
    for name in [
        "stdout",
        "stderr",
        "time",
        "wall_time",
        "memory",
        "message",
        "exit_code",
    ] {
        assert_eq!(result[name], json!(null), "{name}");
    }
    assert!(result["finished_at"].is_string());
}

#[test]
fn warnings_of_the_compiler_are_shown() {
    let code = "int main(void) { int x = \"text\"; return x == 0; }";
    let result = Judge::start().run(&source(C, code));
    assert_eq!(result["status"]["id"], json!(3), "{result}");
    assert!(
        result["compile_output"]
            .as_str()
            .unwrap()
            .contains("warning")
    );
}

#[test]
fn syntax_error_of_a_script_is_a_runtime_error() {
    let result = Judge::start().run(&source(PYTHON, "print("));
    assert_eq!(result["status"]["id"], json!(11), "{result}");
    assert!(result["stderr"].as_str().unwrap().contains("SyntaxError"));
    assert_eq!(result["compile_output"], json!(null));
    assert_eq!(result["message"], json!("Exited with error status 1"));
    // The shell executes a line before it reads the next one.
    let result = Judge::start().run(&source(BASH, "echo before\nif"));
    assert_eq!(result["status"]["id"], json!(11), "{result}");
    assert_eq!(result["stdout"], json!("before\n"));
}

#[test]
fn compiler_options_and_arguments_are_passed_without_shell_characters() {
    let judge = Judge::start();
    let code =
        "#include <stdio.h>\nint main(int c, char **v) { printf(\"%d %d %s\", ANSWER, c, v[1]); }";
    let fields = json!({
        "compiler_options": "-DANSWER=42; `-Wall`",
        "command_line_arguments": "'a b' $(rm) | \"c d\"",
    });
    let result = judge.run(&with(source(C, code), &fields));
    assert_eq!(result["stdout"], json!("42 4 a b"), "{result}");
    assert_eq!(result["compiler_options"], fields["compiler_options"]);
    let options = json!({ "compiler_options": "-O" });
    let rejected = judge.rejected(&with(source(PYTHON, ""), &options), "compiler_options");
    let message = "setting compiler options is only allowed for compiled languages";
    assert_eq!(rejected, json!([message]));
    let long = json!({ "command_line_arguments": "a".repeat(513) });
    let rejected = judge.rejected(&with(text("x"), &long), "command_line_arguments");
    assert_eq!(rejected, json!(["is too long (maximum is 512 characters)"]));
}

#[test]
fn standard_error_may_go_to_standard_output() {
    let fields = json!({ "redirect_stderr_to_stdout": true });
    let code = "echo one; echo two >&2; echo three";
    let result = Judge::start().run(&with(source(BASH, code), &fields));
    assert_eq!(result["stdout"], json!("one\ntwo\nthree\n"));
    assert_eq!(result["stderr"], json!(null));
}

#[test]
fn standard_input_is_read() {
    let judge = Judge::start();
    let result = judge.run(&with(
        source(BASH, "cat; cat"),
        &json!({ "stdin": "in\u{e4}" }),
    ));
    assert_eq!(result["stdout"], json!("in\u{e4}"));
    assert_eq!(judge.run(&source(BASH, "cat"))["stdout"], json!(null));
}

#[test]
fn program_is_run_several_times_until_it_fails() {
    let judge = Judge::start();
    let runs = json!({ "number_of_runs": 5 });
    let result = judge.run(&with(source(BASH, "echo x"), &runs));
    assert_eq!(result["status"]["id"], json!(3), "{result}");
    // Every run has a new directory, without the file of an earlier run.
    let code = "test ! -e file && touch file";
    let result = judge.run(&with(source(BASH, code), &runs));
    assert_eq!(result["status"]["id"], json!(3), "{result}");
    let result = judge.run(&with(expecting(source(BASH, "echo x"), "y"), &runs));
    assert_eq!(result["status"]["id"], json!(4), "{result}");
}

#[test]
fn program_has_no_network() {
    let code = "import socket\n\
                try: socket.create_connection(('1.1.1.1', 80), 3)\n\
                except OSError as error: print(type(error).__name__)";
    let result = Judge::start().run(&source(PYTHON, code));
    let stdout = result["stdout"].as_str().unwrap();
    assert!(
        ["OSError\n", "ConnectionRefusedError\n"].contains(&stdout),
        "{result}"
    );
}
