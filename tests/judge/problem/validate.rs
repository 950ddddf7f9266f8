//! `millibox problem validate`: inputs, answers, and examples for validators and checkers.

use super::{Workspace, icpc_scripts, scripts};
use serde_json::Value;

#[test]
fn validate_reports_faulty_inputs_and_answers() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {}\n");
    for (name, text) in [
        ("1", "one\n"),
        ("2", "one\n"),
        ("3", "bad\n"),
        ("4", "a\r\nb"),
        ("5", "\u{fffd}x\n"),
    ] {
        workspace.write(&format!("p/data/secret/{name}.in"), text);
        workspace.write(&format!("p/data/secret/{name}.ans"), "1\n");
    }
    workspace.write("p/data/secret/5.in", b"\xffx\n");
    workspace.write("p/data/sample/1.ans", "1\n");
    workspace.write("p/data/invalid_input/1.in", "bad\n");
    workspace.write("p/data/invalid_input/2.in", "fine\n");
    let output = workspace.problem(&["validate", "p"]);
    assert_eq!(output.status(), 1, "{output:?}");
    let text = output.stdout();
    for line in [
        "p/data/secret/2.in: warning: the same as the input of test secret/1; remove one",
        "p/data/secret/3.in: error: input_validators/any.sh rejects it: exited with 43: never",
        "p/data/secret/4.in:1: warning: has a carriage return; lines must end with a line feed \
         alone",
        "p/data/secret/4.in:2: warning: its last line has no line feed; add one",
        "p/data/secret/5.in:1: warning: is not UTF-8",
        "p/data/invalid_input/2.in: error: every input validator accepts it, but it must be \
         rejected",
        "6 tests, 8 runs of input validators, 6 answers checked: 2 errors, 4 warnings",
    ] {
        assert!(
            text.lines().any(|printed| printed == line),
            "{line}\n{text}"
        );
    }
    assert!(!text.contains("invalid_input/1.in"), "{text}");
    let report: Value =
        serde_json::from_str(&workspace.problem(&["validate", "p", "--json"]).stdout()).unwrap();
    assert_eq!(
        (
            report["tests"].as_u64(),
            report["faults"].as_array().unwrap().len()
        ),
        (Some(6), 6)
    );

    // `zip` rejects the package without `--force`.
    workspace.assert_fails("p", &["zip", "p", "-o", "p.zip"], 1, "not packed");
    assert!(!workspace.path("p.zip").exists());
    workspace.write("p/other/file", "");
    let packed = workspace.succeed(&["zip", "p", "-o", "p.zip", "--force"]);
    assert!(packed.contains("left out: other"), "{packed}");
    assert!(workspace.path("p.zip").is_file());

    workspace.write("p/problem.yaml", "name: [\n");
    workspace.assert_fails("p", &["validate", "p"], 1, "p/problem.yaml:");
    workspace.assert_fails("p", &["gen", "p"], 2, "p/problem.yaml:");
}

#[test]
fn validate_reports_unknown_generator() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.succeed(&["gen", "p"]);
    workspace.write(
        "p/generators/generators.yaml",
        "data: {secret: {data: {a: gne 1}}}\n",
    );
    workspace.assert_fails(
        "p",
        &["validate", "p"],
        1,
        "generators.yaml:1:27: error: the directory `generators` contains no generator",
    );
    // The judge needs no generators. If an answer is missing, the judge names the command that
    // creates it.
    assert_eq!(workspace.run(&["judge", "p"]).status(), 0);
    std::fs::remove_file(workspace.path("p/data/secret/a.ans")).unwrap();
    let judged = workspace.run(&["judge", "p"]);
    assert!(
        judged
            .stderr()
            .contains("there is no a.ans; `millibox problem gen` generates it"),
        "{judged:?}"
    );
}

#[test]
fn input_validator_receives_flags_and_files_of_test() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {}\n");
    std::fs::remove_dir_all(workspace.path("p/data")).unwrap();
    workspace.write(
        "p/problem.yaml",
        "problem_format_version: 2025-09\nname: p\nuuid: 1\nlimits: {time_limit: 1}\n",
    );
    let validator = "test \"$*\" = 'mode seven' || exit 1\ntest \"$(cat data.txt) $(cat)\" = 'a \
        file 1' && exit 42\n";
    workspace.write("p/input_validators/any.sh", validator);
    workspace.write(
        "p/data/secret/1.yaml",
        "args: [seven]\ninput_validator_args: [mode]\n",
    );
    workspace.write("p/data/secret/1.files/data.txt", "a file\n");
    workspace.write("p/data/secret/1.in", "1\n");
    workspace.write("p/data/secret/1.ans", "1!\n");
    assert_eq!(
        workspace.json(&["validate", "p"])["faults"],
        serde_json::json!([])
    );
}

#[test]
fn validate_checks_valid_and_invalid_examples() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.write(
        "p/problem.yaml",
        "problem_format_version: 2025-09\nname: p\nuuid: 1\nlimits: {time_limit: 1}\n",
    );
    workspace.succeed(&["gen", "p"]);
    // The validator rejects this input only with the flags of the test.
    workspace.write(
        "p/input_validators/any.sh",
        "[ \"${1-1}\" -lt 10 ] && exit 42\necho too many >&2\nexit 43\n",
    );
    workspace.write("p/data/invalid_input/1.in", "1\n");
    workspace.write(
        "p/data/invalid_input/1.yaml",
        "input_validator_args: ['10']\n",
    );
    for (name, output) in [
        ("valid_output/right", "A 1!\n"),
        ("invalid_output/wrong", "b\n"),
    ] {
        workspace.write(&format!("p/data/{name}.in"), "1\n");
        workspace.write(&format!("p/data/{name}.ans"), "a 1!\n");
        workspace.write(&format!("p/data/{name}.out"), output);
    }
    let report = workspace.json(&["validate", "p"]);
    assert_eq!(report["faults"], serde_json::json!([]));
    assert_eq!(
        (&report["validations"], &report["answers"]),
        (&5.into(), &4.into())
    );

    // A crash does not show that the validator detected the fault.
    workspace.write(
        "p/input_validators/any.sh",
        "[ \"${1-1}\" -lt 10 ] && exit 42\nkill -ABRT $$\n",
    );
    let output = workspace.problem(&["validate", "p"]);
    assert!(
        output
            .stdout()
            .contains("invalid_input/1.in: warning: input_validators/any.sh must reject it"),
        "{output:?}"
    );
    workspace.write(
        "p/input_validators/any.sh",
        "[ \"${1-1}\" -lt 10 ] && exit 42\necho too many >&2\nexit 43\n",
    );

    // The default checker still accepts one output. With the test's flags it rejects the other.
    workspace.write("p/data/invalid_output/wrong.out", "A 1!\n");
    workspace.write(
        "p/data/valid_output/right.yaml",
        "output_validator_args: [case_sensitive]\n",
    );
    workspace.write("p/data/valid_output/bad.in", "1\n");
    workspace.write("p/data/valid_output/bad.ans", "1\n");
    workspace.write(
        "p/data/valid_output/bad.yaml",
        "input_validator_args: ['11']\n",
    );
    let output = workspace.problem(&["validate", "p"]);
    let text = output.stdout();
    for line in [
        "p/data/valid_output/right.out: error: the checker rejects it, but it must be accepted: \
         Line 1",
        "p/data/valid_output/bad.in: error: input_validators/any.sh rejects it: exited with 43: \
         too many",
        "p/data/valid_output/bad.in: error: the test checks the checker and needs a .out file \
         next to its input; add that file",
        "p/data/invalid_output/wrong.out: error: the checker accepts it, but it must be rejected",
    ] {
        assert!(
            text.lines().any(|printed| printed.starts_with(line)),
            "{line}\n{text}"
        );
    }
    assert_eq!(
        (output.status(), text.matches(": error: ").count()),
        (1, 4),
        "{text}"
    );

    // The command runs a custom checker in the same way.
    workspace.write(
        "p/output_validator/check.sh",
        "read -r line; [ \"$line\" = ok ] && exit 42; exit 43\n",
    );
    let output = workspace.problem(&["validate", "p"]).stdout();
    assert!(
        output.contains("right.out: error: the checker rejects it")
            && !output.contains("wrong.out"),
        "{output}"
    );
}

#[test]
fn validate_reports_answers_that_checker_rejects() {
    let workspace = Workspace::new();
    scripts(&workspace, "1a gen.sh x");
    workspace.assert_fails(
        "p",
        &["validate", "p"],
        1,
        "p/in/1a.in: error: the input of test 1a does not exist; `millibox problem gen`",
    );
    workspace.succeed(&["gen", "p"]);
    workspace.succeed(&["validate", "p"]);
    workspace.write(
        "p/check/check.sh",
        "read -r line <\"$3\"; [ \"$line\" = 'hand!' ] || exit 5\necho WRONG\n",
    );
    let output = workspace.problem(&["validate", "p"]);
    let text = output.stdout();
    assert_eq!(output.status(), 1, "{output:?}");
    assert!(
        text.contains("out/0a.out: error: the checker does not accept this answer as an output"),
        "{text}"
    );
    assert!(
        text.contains("out/1a.out: error: the checker fails on this answer: exited with 5"),
        "{text}"
    );
    workspace.write("p/check/check.sh", "if\n");
    workspace.assert_fails("p", &["validate", "p"], 1, "p/check/check.sh: error: ");
}

#[test]
fn validate_of_archive_reports_paths_in_archive() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.succeed(&["gen", "p"]);
    workspace.write("p/data/secret/a.in", "bad\n");
    workspace.write("p/input_validators/any.py", "if\n");
    workspace.succeed(&["zip", "p", "-o", "bad.zip", "--force"]);
    let output = workspace.problem(&["validate", "bad.zip"]);
    let text = output.stdout();
    for line in [
        "bad.zip/data/secret/a.in: error: input_validators/any.sh rejects it: exited with 43: \
         never",
        "bad.zip/input_validators/any.py: error: ",
    ] {
        assert!(
            text.lines().any(|printed| printed.starts_with(line)),
            "{line}\n{output:?}"
        );
    }
    assert!(
        output.status() == 1 && !text.contains("millibox-package."),
        "{output:?}"
    );
}

#[test]
fn validate_reads_checktestdata() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.write("p/data/sample/1.in", "7\n");
    workspace.write("p/input_validators/range.ctd", "INT(1, 9) NEWLINE\n");
    workspace.succeed(&["gen", "p"]);
    let report = workspace.json(&["validate", "p"]);
    assert_eq!(report["validations"], 4, "{report}");
    assert_eq!(report["faults"], serde_json::json!([]), "{report}");
    workspace.write("p/input_validators/range.ctd", "INT(1, 6) NEWLINE\n");
    let output = workspace.problem(&["validate", "p"]);
    let text = format!("{}{}", output.stdout(), output.stderr());
    assert!(
        text.contains("range.ctd rejects it: line 1, column 1: the number is out of its range"),
        "{text}"
    );
    workspace.write(
        "p/input_validators/range.ctd",
        "INT(1, 6)\nWHILE(1 == 1) END\n",
    );
    let output = workspace.problem(&["validate", "p"]);
    let text = format!("{}{}", output.stdout(), output.stderr());
    assert!(text.contains("range.ctd fails on it"), "{text}");
    workspace.write("p/input_validators/range.ctd", "INT(1, 6)\nFOO\n");
    let output = workspace.problem(&["validate", "p"]);
    let text = format!("{}{}", output.stdout(), output.stderr());
    assert!(
        text.contains("range.ctd:2: error: not a program in checktestdata"),
        "{text}"
    );
}
