//! Additional files and multi-file programs.

use super::{BASH, C, EXECUTABLE, Judge, MULTI_FILE, PYTHON, archive, base64, source, text, with};
use serde_json::json;

#[test]
fn additional_files_are_in_the_working_directory() {
    let judge = Judge::start();
    let files = json!({ "additional_files": archive(&[
        ("data/in.txt", b"from a file"),
        ("script.sh", b"echo replaced"),
    ]) });
    let result = judge.run(&with(source(BASH, "cat data/in.txt"), &files));
    assert_eq!(result["stdout"], json!("from a file"));
    assert!(result["additional_files"].as_str().unwrap().ends_with('\n'));
    let files =
        json!({ "additional_files": archive(&[("sums.py", b"def add(a, b): return a + b")]) });
    let result = judge.run(&with(
        source(PYTHON, "import sums; print(sums.add(2, 3))"),
        &files,
    ));
    assert_eq!(result["stdout"], json!("5\n"), "{result}");
    let files = json!({ "additional_files": archive(&[("answer.h", b"#define ANSWER 42")]) });
    let code =
        "#include <stdio.h>\n#include \"answer.h\"\nint main(void) { printf(\"%d\", ANSWER); }";
    let result = judge.run(&with(source(C, code), &files));
    assert_eq!(result["stdout"], json!("42"), "{result}");
}

#[test]
fn archives_that_cannot_be_used_are_rejected() {
    let judge = Judge::start();
    let rejected = |files: String| {
        let files = json!({ "additional_files": files });
        judge.rejected(&with(text("x"), &files), "additional_files")
    };
    let message = json!(["is not a readable zip archive"]);
    assert_eq!(rejected(base64(b"no archive")), message);
    let zeros = vec![0; 11 << 20];
    let message = json!(["is too large (maximum is 10240 KB of all files)"]);
    assert_eq!(rejected(archive(&[("zeros", &zeros)])), message);
    let outside = rejected(archive(&[("../outside", b"x")]));
    assert!(
        outside[0].as_str().unwrap().contains("points outside"),
        "{outside}"
    );
}

fn project(files: &[(&str, &[u8])]) -> serde_json::Value {
    json!({ "language_id": MULTI_FILE, "additional_files": archive(files) })
}

#[test]
fn multi_file_program_is_compiled_and_run_by_its_scripts() {
    let judge = Judge::start();
    let files: [(&str, &[u8]); 2] = [
        (
            "compile",
            b"echo compiling >&2; mkdir out; echo 'cat; echo done' > out/program",
        ),
        ("run", b"bash out/program"),
    ];
    let submission = with(project(&files), &json!({ "stdin": "input\n" }));
    let result = judge.run(&submission);
    assert_eq!(result["stdout"], json!("input\ndone\n"), "{result}");
    assert_eq!(result["compile_output"], json!("compiling\n"));
    assert_eq!(result["status"]["id"], json!(3));
    assert_eq!(result["source_code"], json!(null));
}

#[test]
fn multi_file_program_needs_a_run_script_but_no_compile_script() {
    let judge = Judge::start();
    let result = judge.run(&project(&[("run.sh", b"echo ran")]));
    assert_eq!(result["stdout"], json!("ran\n"), "{result}");
    let result = judge.run(&project(&[("other.sh", b"echo ran")]));
    assert_eq!(result["status"]["id"], json!(11), "{result}");
    assert_eq!(result["message"], json!("Exited with error status 127"));
}

#[test]
fn failing_compile_script_is_a_compilation_error() {
    let judge = Judge::start();
    let files: [(&str, &[u8]); 2] = [("compile", b"echo no; exit 3"), ("run", b"echo ran")];
    let result = judge.run(&project(&files));
    assert_eq!(result["status"]["id"], json!(6), "{result}");
    assert_eq!(result["compile_output"], json!("no\n"));
    assert_eq!(result["stdout"], json!(null));
    let with_source = with(project(&files), &json!({ "source_code": "x" }));
    assert_eq!(
        judge.rejected(&with_source, "source_code"),
        json!(["must be blank"])
    );
    let without = json!({ "language_id": MULTI_FILE });
    assert_eq!(
        judge.rejected(&without, "additional_files"),
        json!(["can't be blank"])
    );
}

#[test]
fn executable_runs_unless_its_interpreter_is_missing() {
    let judge = Judge::start();
    let script = source(EXECUTABLE, "#!/bin/sh\nread line; echo \"$1 $line\"");
    let fields = json!({ "stdin": "in", "command_line_arguments": "arg" });
    let result = judge.run(&with(script, &fields));
    assert_eq!(result["stdout"], json!("arg in\n"), "{result}");
    let result = judge.run(&source(EXECUTABLE, "#!/no/interpreter\n"));
    assert_eq!(result["status"]["id"], json!(14), "{result}");
    assert_eq!(result["status"]["description"], json!("Exec Format Error"));
}

#[test]
fn script_lies_beside_additional_files() {
    let judge = Judge::start();
    let files = json!({ "additional_files": archive(&[
        ("d.txt", b"text of the file"),
        ("sums.py", b"two = 2"),
    ]) });
    let code = "import os, sys, sums\n\
         here = os.path.dirname(os.path.abspath(__file__))\n\
         print(open(os.path.join(here, 'd.txt')).read(), sums.two)\n\
         print(here == os.getcwd() == sys.path[0])\n";
    let result = judge.run(&with(source(PYTHON, code), &files));
    assert_eq!(
        result["stdout"],
        json!("text of the file 2\nTrue\n"),
        "{result}"
    );
}

#[test]
fn java_project_is_compiled_and_run_by_its_scripts() {
    let judge = Judge::start();
    if !std::path::Path::new("/usr/bin/javac").exists() {
        return millibox_tests::skip("there is no /usr/bin/javac");
    }
    if judge.server.backend == "rlimit" {
        return millibox_tests::skip("the address space of Java is much larger than its memory");
    }
    let files: [(&str, &[u8]); 4] = [
        (
            "A.java",
            b"public class A { public static void main(String[] a) { \
              System.out.println(B.value()); } }",
        ),
        ("B.java", b"class B { static int value() { return 3; } }"),
        ("compile", b"javac -d out A.java B.java"),
        ("run", b"java -cp out A"),
    ];
    // The compiler takes seconds of real time on a machine that other tests keep busy.
    let limits = json!({ "memory_limit": 512_000, "cpu_time_limit": 15, "wall_time_limit": 20 });
    let result = judge.run(&with(project(&files), &limits));
    assert_eq!(result["stdout"], json!("3\n"), "{result}");
    assert_eq!(result["status"]["id"], json!(3));
}
