//! Languages and compilers.

use super::{Answer, Fusion, base64};
use serde_json::{Value, json};

/// A program that prints the sum of the two numbers in its input.
const SUMS: [(&str, &str); 8] = [
    ("python", "print(sum(map(int, input().split())))"),
    ("bash", "read a b; echo $((a + b))"),
    (
        "nodejs",
        "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\
         console.log(a + b)",
    ),
    (
        "c",
        "#include <stdio.h>\nint main(void) { int a, b; scanf(\"%d%d\", &a, &b);\
         printf(\"%d\\n\", a + b); }",
    ),
    (
        "cpp",
        "#include <iostream>\nint main() { int a, b; std::cin >> a >> b;\
         std::cout << a + b << std::endl; }",
    ),
    (
        "go",
        "package main\nimport \"fmt\"\nfunc main() { var a, b int; fmt.Scan(&a, &b);\
         fmt.Println(a + b) }",
    ),
    (
        "java",
        "import java.util.Scanner;\npublic class Main { public static void main(String[] args) {\
         Scanner in = new Scanner(System.in); System.out.println(in.nextInt() + in.nextInt()); } }",
    ),
    (
        "rust",
        "fn main() { let mut line = String::new(); std::io::stdin().read_line(&mut line).unwrap();\
         let numbers = line.split_whitespace().map(|word| word.parse::<i32>().unwrap());\
         println!(\"{}\", numbers.sum::<i32>()); }",
    ),
];

/// Languages in which a framework runs the tests of the source: a source whose tests pass, and one
/// with a failed test.
const TESTS: [(&str, &str, &str); 6] = [
    (
        "go_test",
        "package main\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Log(\"hidden\") }",
        "package main\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Fatal(\"wrong\") }",
    ),
    (
        "junit",
        "import org.junit.jupiter.api.*;\npublic class Sum { static int sum() { return 2; } }\
         class SumTest { @Test void sum() { Assertions.assertEquals(2, Sum.sum()); } }",
        "import org.junit.jupiter.api.*;\npublic class Sum { static int sum() { return 3; } }\
         class SumTest { @Test void sum() { Assertions.assertEquals(2, Sum.sum(), \"wrong\"); } }",
    ),
    (
        "jest",
        "import { expect, test } from '@jest/globals';\nconst one: number = 1;\n\
         test('one', () => { expect(one).toBe(1); });",
        "import { expect, test } from '@jest/globals';\nconst one: number = 1;\n\
         test('wrong', () => { expect(one).toBe(2); });",
    ),
    (
        "D_ut",
        "unittest { assert(0 == 0); }\nvoid main() { }",
        "unittest { assert(0 == 1, \"wrong\"); }\nvoid main() { }",
    ),
    (
        "kotlin_script",
        "fun main() { if (1 != 1) throw Exception(\"wrong\") }\nmain()",
        "fun main() { if (1 != 2) throw Exception(\"wrong\") }\nmain()",
    ),
    (
        "verilog",
        "module unused(input a); initial $fatal(1, \"unused\"); endmodule\n\
         module tb; initial begin $display(\"ok\"); $finish; end endmodule",
        "module tb; initial $fatal(1, \"wrong\"); endmodule",
    ),
];

/// The message of the error for an unknown language, which lists the installed ones.
fn installed(fusion: &Fusion) -> String {
    let answer = fusion.post("/run_code", &json!({"language": "fortran", "code": ""}));
    assert_eq!(answer.status, 422);
    let mistake = &answer.body["detail"][0];
    assert_eq!(mistake["type"], "literal_error");
    assert_eq!(mistake["loc"], json!(["body", "language"]));
    assert_eq!(mistake["input"], "fortran");
    mistake["msg"].as_str().unwrap().to_owned()
}

#[test]
fn installed_languages_run_and_others_are_rejected() {
    let fusion = Fusion::start();
    let installed = installed(&fusion);
    assert!(installed.contains("'python'"), "{installed}");
    for (language, code) in SUMS {
        let request = json!({
            "language": language, "code": code, "stdin": "40 2\n", "compile_timeout": 60,
            "run_timeout": 60,
        });
        if !installed.contains(&format!("'{language}'")) {
            assert_eq!(fusion.post("/run_code", &request).status, 422, "{language}");
            millibox_tests::skip(&format!("{language} is not installed"));
            continue;
        }
        let answer = post_when_prepared(&fusion, &request);
        let body = answer.body;
        assert_eq!(body["run_result"]["stdout"], "42\n", "{language}: {body}");
        assert_eq!(body["status"], "Success", "{language}: {body}");
        let is_compiled = !matches!(language, "python" | "bash" | "nodejs");
        assert_eq!(body["compile_result"].is_object(), is_compiled, "{body}");
    }
}

/// Sends a request. The first Go program waits until the standard library is compiled. The service
/// answers that it is busy and continues, and clients repeat the request.
fn post_when_prepared(fusion: &Fusion, request: &Value) -> Answer {
    (0..60)
        .map(|_| fusion.post("/run_code", request))
        .find(|answer| answer.status < 500)
        .unwrap_or_else(|| panic!("the language is never ready: {request}"))
}

#[test]
fn test_frameworks_report_failed_tests() {
    let fusion = Fusion::with_config(
        "languages = ['d', 'go_test', 'jest', 'junit', 'kotlin_script', 'verilog']\n",
    );
    let installed = installed(&fusion);
    for (language, passing, failing) in TESTS {
        let request = |code| {
            json!({
                "language": language, "code": code, "compile_timeout": 90, "run_timeout": 90,
            })
        };
        if !installed.contains(&format!("'{language}'")) {
            assert_eq!(
                fusion.post("/run_code", &request("")).status,
                422,
                "{language}"
            );
            millibox_tests::skip(&format!("{language} is not installed"));
            continue;
        }
        let passed = post_when_prepared(&fusion, &request(passing)).body;
        assert_eq!(passed["status"], "Success", "{language}: {passed}");
        let failed = post_when_prepared(&fusion, &request(failing)).body;
        assert_eq!(failed["status"], "Failed", "{language}: {failed}");
        assert_eq!(
            failed["run_result"]["status"], "Finished",
            "{language}: {failed}"
        );
        let output = |stream| failed["run_result"][stream].as_str().unwrap();
        let output = [output("stdout"), output("stderr")].concat();
        assert!(output.contains("wrong"), "{language}: {failed}");
        if language == "go_test" {
            // Like `go test`, without the output of a test that passed.
            let stdout = &passed["run_result"]["stdout"];
            assert_eq!(stdout, "ok  \tcommand-line-arguments\n", "{passed}");
        }
    }
}

#[test]
fn rejected_source_has_a_compile_result_and_no_run_result() {
    let fusion = Fusion::start();
    let answer = fusion.post(
        "/run_code",
        &json!({"language": "cpp", "code": "int main( {"}),
    );
    assert_eq!(answer.header("Millibox-Outcome"), "compile_error");
    assert_eq!(answer.body["status"], "Failed");
    assert_eq!(answer.body["run_result"], Value::Null);
    let compile = &answer.body["compile_result"];
    assert_eq!(compile["status"], "Finished");
    assert_eq!(compile["return_code"], 1);
    assert!(
        compile["stderr"].as_str().unwrap().contains("error"),
        "{compile}"
    );
}

#[test]
fn compiler_finds_files_beside_the_source() {
    let fusion = Fusion::start();
    let body = fusion.run(&json!({
        "language": "cpp", "compile_timeout": 60,
        "code": "#include \"d/a.h\"\n#include <cstdio>\nint main() { std::printf(\"%d\", A); }",
        "files": {"d/a.h": base64("#define A 5\n"), "other.cpp": base64("int main() {}")},
    }));
    assert_eq!(body["run_result"]["stdout"], "5", "{body}");
}

#[test]
fn compiled_program_crash_is_a_negative_return_code() {
    let fusion = Fusion::start();
    let body = fusion.run(&json!({
        "language": "c", "compile_timeout": 60,
        "code": "#include <stdlib.h>\nint main(void) { abort(); }",
    }));
    assert_eq!(body["run_result"]["return_code"], -6, "{body}");
    assert_eq!(body["compile_result"]["return_code"], 0);
}

#[test]
fn java_assertions_are_enabled() {
    let fusion = Fusion::start();
    if !installed(&fusion).contains("'java'") {
        return millibox_tests::skip("Java is not installed");
    }
    let body = fusion.run(&json!({
        "language": "java", "compile_timeout": 60, "run_timeout": 60,
        "code": "class Main { public static void main(String[] args) { assert false; } }",
    }));
    assert_eq!(body["run_result"]["return_code"], 1, "{body}");
}

#[test]
fn pytest_runs_tests_if_it_is_installed() {
    let fusion = Fusion::start();
    let installed = fusion.python("import pytest")["return_code"] == 0;
    let request = |code| json!({"language": "pytest", "code": code, "run_timeout": 60});
    if !installed {
        let answer = fusion.post("/run_code", &request(""));
        assert_eq!(answer.status, 422, "{answer:?}");
        return millibox_tests::skip("pytest is not installed for the system's Python");
    }
    let passed = fusion.run(&request("def test_one(): assert 1 == 1"));
    assert_eq!(passed["status"], "Success", "{passed}");
    let failed = fusion.run(&request("def test_one(): assert 1 == 2"));
    assert_eq!(failed["run_result"]["return_code"], 1, "{failed}");
}

/// The compiler evaluates functions at compile time, for longer than any limit of this test.
#[test]
fn source_that_keeps_the_compiler_busy_is_a_compile_timeout() {
    let fusion = Fusion::start();
    let answer = fusion.post(
        "/run_code",
        &json!({"language": "cpp", "compile_timeout": 1, "code": crate::server::slow_source()}),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["status"], "Failed");
    let compile = &answer.body["compile_result"];
    assert_eq!(compile["status"], "TimeLimitExceeded", "{compile}");
    assert_eq!(answer.body["run_result"], Value::Null);
}
