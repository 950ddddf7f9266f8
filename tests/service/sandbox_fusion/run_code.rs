//! The answer of `/run_code` for each way in which a program ends.

use super::Fusion;
use serde_json::{Value, json};

#[test]
fn request_of_verl_is_answered_with_the_fields_that_it_reads() {
    let fusion = Fusion::start();
    let answer = fusion.post(
        "/run_code",
        &json!({
            "compile_timeout": 10, "run_timeout": 10, "code": "print(int(input()) * 2)",
            "stdin": "21\n", "memory_limit_MB": 1024, "language": "python", "files": {},
            "fetch_files": [],
        }),
    );
    assert_eq!(answer.status, 200);
    assert!(answer.header("Millibox-Run-Id").starts_with("r_"));
    assert_eq!(answer.header("Millibox-Outcome"), "exited");
    assert!(answer.header("Millibox-Queued-Ms").parse::<u64>().is_ok());
    let body = &answer.body;
    assert_eq!(body["status"], "Success");
    assert_eq!(body["message"], "");
    assert_eq!(body["compile_result"], Value::Null);
    assert_eq!(body["executor_pod_name"], Value::Null);
    assert_eq!(body["files"], json!({}));
    let run = &body["run_result"];
    assert_eq!(run["status"], "Finished");
    assert_eq!(run["return_code"], 0);
    assert_eq!(run["stdout"], "42\n");
    assert_eq!(run["stderr"], "");
    assert!(run["execution_time"].as_f64().unwrap() > 0.0);
}

#[test]
fn function_problem_of_verl_runs_with_its_driver() {
    // verl appends to functions a driver that reads one JSON value per line.
    let code = r#"
class Solution:
    def add(self, a, b):
        return a + b

import json, sys, traceback
_inputs = [json.loads(line) for line in sys.stdin.read().split("\n") if line]
try:
    print(json.dumps(Solution().add(*_inputs)))
except Exception:
    traceback.print_exc(file=sys.stderr)
    sys.exit(1)
"#;
    let fusion = Fusion::start();
    let body = fusion.run(&json!({"language": "python", "code": code, "stdin": "40\n2"}));
    assert_eq!(body["run_result"]["stdout"], "42\n");
}

#[test]
fn exit_codes_and_signals_are_return_codes_as_in_python() {
    let fusion = Fusion::start();
    for (code, expected) in [
        ("import sys; sys.exit(3)", 3),
        ("1/0", 1),
        ("print(", 1),
        ("import os; os.kill(os.getpid(), 11)", -11),
        ("import os; os.kill(os.getpid(), 9)", -9),
    ] {
        let body = fusion.run(&json!({"language": "python", "code": code}));
        assert_eq!(body["status"], "Failed", "{code}");
        assert_eq!(body["run_result"]["status"], "Finished", "{code}");
        assert_eq!(body["run_result"]["return_code"], expected, "{code}");
        assert_eq!(body["message"], "", "{code}");
    }
}

#[test]
fn timeout_has_no_return_code_and_keeps_the_output() {
    let fusion = Fusion::start();
    let code = "import sys, time\nprint('out', flush=True)\n\
                print('err', file=sys.stderr, flush=True)\ntime.sleep(600)";
    let answer = fusion.post(
        "/run_code",
        &json!({"language": "python", "code": code, "run_timeout": 5}),
    );
    assert_eq!(answer.header("Millibox-Outcome"), "real_time_limit");
    assert_eq!(answer.body["status"], "Failed");
    let run = &answer.body["run_result"];
    assert_eq!(run["status"], "TimeLimitExceeded");
    assert_eq!(run["return_code"], Value::Null);
    assert_eq!(run["stdout"], "out\n");
    assert_eq!(run["stderr"], "err\n");
}

#[test]
fn memory_limit_kills_with_a_note() {
    let fusion = Fusion::start();
    if fusion.server.backend == "rlimit" {
        return millibox_tests::skip("without cgroups, the allocation fails instead");
    }
    let body = fusion.run(&json!({
        "language": "python", "code": "x = b'x' * (1 << 30)", "memory_limit_MB": 64,
    }));
    assert_eq!(body["status"], "Failed");
    let run = &body["run_result"];
    assert_eq!(run["return_code"], -9);
    assert_eq!(
        run["stderr"],
        "Killed: the program exceeded its memory limit\n"
    );
}

#[test]
fn memory_limit_of_null_or_minus_one_selects_the_configured_limit() {
    let fusion = Fusion::start();
    for limit in [Value::Null, json!(-1)] {
        let code = "x = b'x' * (400 << 20); print(len(x))";
        let body = fusion.run(&json!({
            "language": "python", "code": code, "memory_limit_MB": limit,
        }));
        assert_eq!(body["run_result"]["stdout"], "419430400\n", "{body}");
    }
}

#[test]
fn missing_null_and_unread_input_are_harmless() {
    let fusion = Fusion::start();
    let read = "import sys; print(repr(sys.stdin.read()))";
    for stdin in [Value::Null, json!("")] {
        let body = fusion.run(&json!({"language": "python", "code": read, "stdin": stdin}));
        assert_eq!(body["run_result"]["stdout"], "''\n");
    }
    let body = fusion.run(&json!({
        "language": "python", "code": "print(1)", "stdin": "x".repeat(1 << 20),
    }));
    assert_eq!(body["status"], "Success");
}

#[test]
fn undecodable_output_is_reported_as_such() {
    let fusion = Fusion::start();
    let run = fusion.python("import os; os.write(1, b'ab\\xff'); os.write(2, 'ä€'.encode())");
    assert_eq!(
        run["stdout"],
        "[DecodeError] 'utf-8' codec can't decode byte 0xff in position 2: invalid start byte"
    );
    assert_eq!(run["stderr"], "ä€");
}

#[test]
fn output_beyond_one_mebibyte_is_dropped_and_the_program_continues() {
    let fusion = Fusion::start();
    let run = fusion.python("import sys; print('€' * 3_000_000); print('end', file=sys.stderr)");
    assert_eq!(run["return_code"], 0);
    assert_eq!(run["stderr"], "end\n");
    // The last character is cut off, so it is left out.
    assert_eq!(run["stdout"].as_str().unwrap().len(), (1 << 20) / 3 * 3);
}

#[test]
fn python_runs_in_a_writable_directory_with_its_source() {
    let fusion = Fusion::start();
    let run = fusion.python(
        "import os, sys, tempfile\n\
         open('new.py', 'w').write('value = 7\\n')\n\
         import new\n\
         assert os.path.samefile(os.path.dirname(__file__), '.')\n\
         assert tempfile.gettempdir() == '/tmp'\n\
         print(new.value, sorted(os.listdir()))",
    );
    assert_eq!(run["stdout"], "7 ['main.py', 'new.py']\n", "{run}");
    let again = fusion.python("import new");
    assert_eq!(again["return_code"], 1, "{again}");
}

#[test]
fn hashes_are_the_same_in_every_run() {
    let fusion = Fusion::start();
    let hashes = || fusion.python("print(hash('millibox'))")["stdout"].clone();
    assert_eq!(hashes(), hashes());
}

#[test]
fn program_has_no_network() {
    let fusion = Fusion::start();
    let run = fusion.python(
        "import socket\n\
         try:\n    socket.create_connection(('192.0.2.1', 80), 5)\n\
         except OSError as error:\n    print('refused')\n",
    );
    assert_eq!(run["stdout"], "refused\n", "{run}");
}

#[test]
fn program_with_module_that_raises_exits_as_in_python() {
    let fusion = Fusion::start();
    let code = r"
import sys, types


class Lazy(types.ModuleType):
    @property
    def __dict__(self):
        raise ImportError('loaded late')


sys.modules['late'] = Lazy('late')
print('ok')
";
    let body = fusion.run(&json!({"language": "python", "code": code}));
    let run = &body["run_result"];
    assert_eq!(body["status"], "Success", "{body}");
    assert_eq!(
        (&run["stdout"], &run["stderr"]),
        (&json!("ok\n"), &json!(""))
    );
    assert_eq!(run["return_code"], 0);
}

#[test]
fn source_that_hangs_the_compiler_exceeds_the_time_limit() {
    let fusion = Fusion::start();
    let body = fusion.run(&json!({
        "language": "cpp",
        "compile_timeout": 1,
        "code": "#include \"/dev/random\"\nint main() {}\n",
    }));
    assert_eq!(body["status"], "Failed", "{body}");
    assert_eq!(body["compile_result"]["status"], "TimeLimitExceeded");
    assert_eq!(body["run_result"], Value::Null);
}
