//! Files in and files out.

use super::{Fusion, base64};
use serde_json::{Value, json};

#[test]
fn files_are_placed_at_relative_and_absolute_paths() {
    let fusion = Fusion::start();
    let code = "print(open('a.txt').read(), open('/work/d/b.txt').read(), open('/tmp/c').read())";
    let body = fusion.run(&json!({
        "language": "python", "code": code,
        "files": {"a.txt": "QQ==", "d/b.txt": "Qg==", "/tmp/c": "Qw==", "skipped": null},
    }));
    assert_eq!(body["run_result"]["stdout"], "A B C\n", "{body}");
}

#[test]
fn file_marked_as_ignored_is_not_written() {
    let fusion = Fusion::start();
    let body = fusion.run(&json!({
        "language": "python", "code": "import os; print(sorted(os.listdir()))",
        "files": {"x": "", "IGNORE_THIS_FILE": "?", "d/IGNORE_THIS_FILE.txt": "QQ=="},
    }));
    assert_eq!(body["run_result"]["stdout"], "['main.py', 'x']\n");
}

#[test]
fn code_does_not_replace_a_file_of_the_same_name() {
    let fusion = Fusion::start();
    let body = fusion.run(&json!({
        "language": "python", "code": "import main; print(main.value)",
        "files": {"main.py": "dmFsdWUgPSA1"},
    }));
    assert_eq!(body["run_result"]["stdout"], "5\n", "{body}");
}

#[test]
fn only_existing_files_are_fetched() {
    let fusion = Fusion::start();
    let code = "import os\nos.mkdir('d')\nopen('d/out', 'wb').write(b'\\x00\\xff')\n\
                os.symlink('/etc/passwd', 'link')\nopen('empty', 'w')\n\
                open('/tmp/t', 'w').write('t')\nos.symlink('/etc/passwd', '/tmp/link')\n\
                raise SystemExit(1)";
    let body = fusion.run(&json!({
        "language": "python", "code": code,
        "fetch_files": ["d/out", "/work/d/out", "missing", "link", "d", "empty", "/etc/passwd",
                        "/tmp/t", "/tmp/link", "/tmp/missing"],
    }));
    assert_eq!(body["status"], "Failed");
    let expected = json!({"d/out": "AP8=", "/work/d/out": "AP8=", "empty": "", "/tmp/t": "dA=="});
    assert_eq!(body["files"], expected);
}

#[test]
fn file_outside_of_writable_directories_is_rejected() {
    let fusion = Fusion::start();
    for path in ["/etc/a", "../a", "/work", ""] {
        let answer = fusion.post(
            "/run_code",
            &json!({"language": "python", "code": "", "files": {path: "QQ=="}}),
        );
        assert_eq!(answer.status, 422, "{path}: {answer:?}");
        let location = &answer.body["detail"][0]["loc"];
        assert_eq!(*location, json!(["body", "files", path]));
    }
}

#[test]
fn request_of_tinker_cookbook_runs_its_driver_on_all_tests() {
    let driver = "import json, subprocess, sys\n\
                  cases = json.load(open('test_cases.txt'))\n\
                  from testing_util import check\n\
                  sys.exit(not all(check(case) for case in cases))\n";
    let testing = "import subprocess, sys\n\
                   def check(case):\n\
                   \x20   ran = subprocess.run([sys.executable, 'code.py'], input=case['in'],\n\
                   \x20                        capture_output=True, text=True)\n\
                   \x20   return ran.stdout.strip() == case['out']\n";
    let cases = json!([{"in": "1 2", "out": "3"}, {"in": "2 2", "out": "4"}]).to_string();
    let fusion = Fusion::start();
    let run = |solution: &str| {
        fusion.run(&json!({
            "language": "python", "code": driver, "run_timeout": (6 + 1) * 2 + 5,
            "files": {
                "test_cases.txt": base64(&cases), "code.py": base64(solution),
                "testing_util.py": base64(testing),
            },
        }))
    };
    let right = run("print(sum(map(int, input().split())))");
    assert_eq!(right["status"], "Success", "{right}");
    let wrong = run("print(3)");
    assert_eq!(wrong["status"], Value::from("Failed"), "{wrong}");
}
