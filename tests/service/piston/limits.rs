//! Ends of runs, and overload.

use super::connect::Connection;
use super::{execute, program, server, with};
use crate::server::Server;
use serde_json::{Value, json};

/// The status, code, signal and message of a run.
fn end(server: &Server, request: &Value) -> [Value; 4] {
    let answer = execute(server, request);
    ["status", "code", "signal", "message"].map(|field| answer["run"][field].clone())
}

#[test]
fn exit_and_signal_have_different_statuses() {
    let server = server();
    assert_eq!(
        end(&server, &program("python", "raise SystemExit(3)")),
        [
            json!("RE"),
            json!(3),
            json!(null),
            json!("Exited with error status 3")
        ]
    );
    assert_eq!(
        end(
            &server,
            &program("python", "import os; os.kill(os.getpid(), 11)")
        ),
        [
            json!("SG"),
            json!(null),
            json!("SIGSEGV"),
            json!("Caught fatal signal 11")
        ]
    );
}

#[test]
fn time_limits_end_the_run_and_keep_its_output() {
    let server = server();
    let sleeping = with(
        program(
            "python",
            "print(1, flush=True)\nimport time; time.sleep(60)",
        ),
        &json!({ "run_timeout": 1000 }),
    );
    let answer = execute(&server, &sleeping);
    assert_eq!(answer["run"]["status"], "TO", "{answer}");
    assert_eq!(answer["run"]["signal"], "SIGKILL");
    assert_eq!(answer["run"]["code"], json!(null));
    assert_eq!(answer["run"]["message"], "Time limit exceeded (wall clock)");
    assert_eq!(answer["run"]["stdout"], "1\n");
    let busy = with(
        program("python", "while True: pass"),
        &json!({ "run_timeout": 60_000, "run_cpu_time": 300 }),
    );
    assert_eq!(
        end(&server, &busy),
        [
            json!("TO"),
            json!(null),
            json!("SIGKILL"),
            json!("Time limit exceeded")
        ]
    );
}

#[test]
fn memory_limit_ends_the_run() {
    let server = server();
    if server.backend == "rlimit" {
        millibox_tests::skip("no cgroups are available");
        return;
    }
    let greedy = with(
        program("python", "x = b'x' * (1 << 30)"),
        &json!({ "run_memory_limit": 32 << 20 }),
    );
    assert_eq!(
        end(&server, &greedy),
        [
            json!("SG"),
            json!(null),
            json!("SIGKILL"),
            json!("Memory limit exceeded")
        ]
    );
}

#[test]
fn too_much_output_ends_the_run() {
    let server = Server::with_config("piston", "[limits.default]\noutput_bytes = 100000\n");
    for (stream, status) in [("stdout", "OL"), ("stderr", "EL")] {
        let endless = format!("import sys\nwhile True: sys.{stream}.write('x' * 1000)");
        let answer = execute(&server, &program("python", &endless));
        assert_eq!(answer["run"]["status"], status, "{stream}");
        assert_eq!(answer["run"]["signal"], "SIGKILL");
        assert_eq!(
            answer["run"]["message"],
            format!("{stream} length exceeded")
        );
        assert_eq!(answer["run"][stream].as_str().unwrap().len(), 100_000);
    }
    let enough = "print('x' * 99_999)";
    let answer = execute(&server, &program("python", enough));
    assert_eq!(answer["run"]["code"], 0);
}

#[test]
fn overload_returns_503_until_a_place_is_free() {
    // The memory suffices for one run, and no request waits for long.
    let server = Server::with_config(
        "piston",
        "[running]\nmemory_bytes = 268435456\n[queue]\nwait_ms = 50\n",
    );
    let mut first = Connection::open(&server);
    first.send(&with(
        program("bash", "echo begun; read line"),
        &json!({ "type": "init", "run_timeout": 600_000 }),
    ));
    first.expect_data("stdout", "begun\n");
    let answer = server.post("/api/v2/execute", &program("bash", "true"));
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(answer.json()["message"].is_string());
    let after: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!(after >= 1);
    first.send(&json!({ "type": "data", "stream": "stdin", "data": "\n" }));
    assert_eq!(first.close_code(), 4999);
    // The place is free when the connection has ended, or soon after.
    let is_free = millibox_tests::eventually(millibox_tests::HANG_TIMEOUT, || {
        server
            .post("/api/v2/execute", &program("bash", "true"))
            .status
            == 200
    });
    assert!(is_free);
    let large = with(
        program("bash", "true"),
        &json!({ "run_memory_limit": 1 << 29 }),
    );
    assert_eq!(server.post("/api/v2/execute", &large).status, 400);
}

#[test]
fn source_that_keeps_the_compiler_busy_is_a_timeout_of_the_compile_stage() {
    let server = server();
    let slow = with(
        program("c++", &crate::server::slow_source()),
        &json!({ "compile_timeout": 1000 }),
    );
    let answer = execute(&server, &slow);
    assert_eq!(answer["compile"]["status"], "TO", "{answer}");
    assert_eq!(answer["compile"]["signal"], "SIGKILL");
}
