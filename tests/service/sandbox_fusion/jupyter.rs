//! `/run_jupyter`.

use super::Fusion;
use serde_json::{Value, json};

#[test]
fn cells_share_their_state_and_report_their_output() {
    let fusion = Fusion::start();
    let body = fusion.jupyter(&json!({"cells": [
        "a = 123", "a", "print(a)", "import sys; sys.stderr.write('stderr message')",
        "raise RuntimeError('error message')", "a + 1;", "def f():\n    return a\nf() * 2",
    ]}));
    assert_eq!(body["status"], "Success", "{body}");
    assert_eq!(body["driver"]["status"], "Finished");
    assert_eq!(body["driver"]["return_code"], 0);
    let cells = body["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 7);
    let empty = json!({"stdout": "", "stderr": "", "display": [], "error": []});
    assert_eq!(cells[0], empty);
    assert_eq!(cells[1]["display"], json!([{"text/plain": "123"}]));
    assert_eq!(cells[2]["stdout"], "123\n");
    assert_eq!(cells[3]["stderr"], "stderr message");
    let error = &cells[4]["error"][0];
    assert_eq!(error["ename"], "RuntimeError");
    assert_eq!(error["evalue"], "error message");
    let traceback = error["traceback"].as_array().unwrap();
    assert_eq!(*traceback.last().unwrap(), "RuntimeError: error message");
    assert!(
        traceback
            .iter()
            .all(|line| !line.as_str().unwrap().contains("driver.py"))
    );
    assert_eq!(cells[5], empty);
    assert_eq!(cells[6]["display"], json!([{"text/plain": "246"}]));
}

#[test]
fn failing_cell_of_any_kind_does_not_stop_the_next() {
    let fusion = Fusion::start();
    let body = fusion.jupyter(&json!({"cells": [
        "def f(:", "import sys; sys.exit(4)", "input()", "import os; os.system('echo child')",
        "!echo shell", "%matplotlib inline\nprint('on')",
        "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')", "print('last')",
    ]}));
    assert_eq!(body["status"], "Success", "{body}");
    let cells = body["cells"].as_array().unwrap();
    let names = |index: usize| cells[index]["error"][0]["ename"].clone();
    assert_eq!(
        [names(0), names(1), names(2)],
        ["SyntaxError", "SystemExit", "EOFError"]
    );
    let output = |index: usize| cells[index]["stdout"].clone();
    let outputs: Vec<Value> = (3..8).map(output).collect();
    assert_eq!(
        outputs,
        ["child\n", "shell\n", "on\n", "awaited\n", "last\n"]
    );
}

#[test]
fn state_does_not_outlive_the_request() {
    let fusion = Fusion::start();
    fusion.jupyter(&json!({"cells": ["a = 1; open('f', 'w').write('x')"]}));
    let body = fusion.jupyter(&json!({"cells": ["a", "open('f')"]}));
    assert_eq!(body["cells"][0]["error"][0]["ename"], "NameError");
    assert_eq!(body["cells"][1]["error"][0]["ename"], "FileNotFoundError");
}

#[test]
fn timeout_fails_without_cells() {
    let fusion = Fusion::start();
    let body = fusion.jupyter(&json!({
        "cells": ["print(1)", "import time; time.sleep(600)"], "total_timeout": 5,
    }));
    assert_eq!(body["status"], "Failed");
    assert_eq!(body["driver"]["status"], "TimeLimitExceeded");
    assert_eq!(body["driver"]["return_code"], Value::Null);
    assert_eq!(body["cells"], json!([]));
}

#[test]
fn crash_keeps_the_cells_before_it() {
    let fusion = Fusion::start();
    let body = fusion.jupyter(&json!({
        "cells": ["print(1)", "import os; os.kill(os.getpid(), 11)", "print(3)"],
    }));
    assert_eq!(body["status"], "Failed");
    assert_eq!(body["driver"]["return_code"], -11);
    assert_eq!(body["cells"].as_array().unwrap().len(), 1);
    assert_eq!(body["cells"][0]["stdout"], "1\n");
}

#[test]
fn files_are_shared_with_the_cells() {
    let fusion = Fusion::start();
    let body = fusion.jupyter(&json!({
        "cells": ["import helper", "open('out', 'w').write(str(helper.value));"],
        "files": {"helper.py": super::base64("value = 5\n")}, "fetch_files": ["out", "missing"],
    }));
    assert_eq!(body["files"], json!({"out": super::base64("5")}), "{body}");
}

#[test]
fn other_kernels_are_rejected() {
    let fusion = Fusion::start();
    let answer = fusion.post("/run_jupyter", &json!({"cells": [], "kernel": "bash"}));
    assert_eq!(answer.status, 422);
    assert_eq!(answer.body["detail"][0]["loc"], json!(["body", "kernel"]));
}
