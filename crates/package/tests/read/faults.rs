//! All faults of a package, with their places and messages.

use crate::Package;

#[test]
fn legacy_package_reports_all_faults() {
    let package = Package::empty();
    package.file(
        "problem.yaml",
        "name: Faulty\ntype: scorring\nvalidation: custom interactive scores\nlimits:\n  memory: \
         lots\n  time_multipler: 3\n  output: 0\n\
         license: cc0\nvalidater_flags: x\n",
    );
    package.file(
        "data/secret/testdata.yaml",
        "on_reject: stop\nrange: 9 1\ngrader_flags: wurst_error\n",
    );
    package
        .file("data/secret/1.in", "")
        .file("data/secret/2.ans", "")
        .test("secret/3");
    package
        .link("data/secret/4.in", "/etc/hostname")
        .link("data/secret/4.ans", "gone.ans");
    package.file(".timelimit", "-1\n");
    package.file("submissions/acepted/a.py", "");
    assert_eq!(
        format!("\n{}", package.faults()),
        r#"
.timelimit:1: error: the time limit must be more than 0 seconds and at most a day, but is "-1"
data/secret/1.in: error: an input without an answer; there is no 1.ans
data/secret/2.ans: error: an answer without an input; there is no 2.in
data/secret/4.ans: error: symbolic link to gone.ans, which cannot be reached: No such file or directory (os error 2)
data/secret/4.in: error: symbolic link to /etc/hostname, outside the package; not followed
data/secret/testdata.yaml:1:12: error: on_reject must be one of break, continue, but is "stop"
data/secret/testdata.yaml:2:8: error: range: the minimum, 9, is greater than the maximum, 1
data/secret/testdata.yaml:2:8: warning: range applies to scoring problems only; ignored
data/secret/testdata.yaml:3:15: error: the default grader has no flag "wurst_error"; did you mean "worst_error"?
output_validators: error: there is no output validator, but problem.yaml requires one
problem.yaml:2:7: error: unknown type "scorring"; the types are pass-fail, scoring, interactive, multi-pass, submit-answer; did you mean "scoring"?
problem.yaml:3:13: error: after custom, validation takes interactive, score and multi-pass, but not "scores"; did you mean "score"?
problem.yaml:5:11: error: memory must be a whole number, at least 1, but is "lots"
problem.yaml:6:3: warning: unknown key "time_multipler" is ignored; did you mean "time_multiplier"?
problem.yaml:7:11: error: output must be a whole number, at least 1, but is "0"
problem.yaml:9:1: warning: unknown key "validater_flags" is ignored; did you mean "validator_flags"?
submissions: warning: there is no submission that must be accepted; the format requires one
submissions/acepted: warning: the package does not state the expected verdict of these submissions; did you mean "accepted"?"#
    );
}

#[test]
fn sim_package_reports_all_faults() {
    let package = Package::sim(
        "solution: [prog/a.cpp]\ninteractive: perhaps\nchecker: check/none.cpp\nlimits: [\n  \
         sum1 0\n  sum2 1 x\n  sum 1\n]\nscoring: [\n  1 50\n  \
         9 50\n]\nstatement: \"doc\n",
    );
    package
        .file("in/sum3.in", "")
        .file("out/sum4.out", "")
        .file("Sipfil", "")
        .file("in/odd.in", "");
    assert_eq!(
        package.faults(),
        r#"Simfile:4:1: warning: unknown key "solution" is ignored; did you mean "solutions"?
Simfile:5:14: error: interactive must be true or false, but is "perhaps"
Simfile:6:10: error: there is no checker "check/none.cpp"
Simfile:8:3: error: limits: the time limit of test "sum1" is "0"; it must be more than 0 seconds and at most a day
Simfile:9:3: error: a memory limit must be a whole number of MiB, more than 0, but is "x"
Simfile:9:3: error: test "sum2" has no input; there is no sum2.in
Simfile:10:3: error: limits: "sum" is not a valid test name; it must end in the number of its group and optional letters
Simfile:12:1: error: scoring: group 3 has no points
Simfile:14:3: error: scoring: group 9 has no tests
Simfile:16:12: error: the quoted value does not end on its line
in/odd.in: warning: not read: a test name must end in the number of its group and optional letters
in/sum3.in: error: test "sum3" has no answer; there is no sum3.out
out/sum4.out: error: an answer without an input; there is no sum4.in"#
    );
}

#[test]
fn fault_has_path_line_and_column() {
    let package = Package::icpc("name: x\ntype: x\n");
    let faults = package.read().unwrap_err();
    let fault = faults.iter().next().unwrap();
    assert_eq!(fault.path, package.path().join("problem.yaml"));
    assert_eq!((fault.line, fault.column), (Some(2), Some(7)));
    assert_eq!(fault.severity, millibox_package::Severity::Error);
}

#[test]
fn faults_are_iterated_in_order() {
    let package = Package::empty();
    package
        .file("problem.yaml", "name: Faulty\n")
        .file("data/secret/1.in", "")
        .file("data/secret/2.ans", "");
    let faults = millibox_package::read(&package.path()).unwrap_err();
    let lines: Vec<_> = faults.to_string().lines().map(str::to_owned).collect();
    assert!(lines.len() > 1, "{lines:?}");
    let shown = |faults: Vec<String>| assert_eq!(faults, lines);
    shown(faults.iter().map(ToString::to_string).collect());
    shown((&faults).into_iter().map(ToString::to_string).collect());
    shown(faults.into_iter().map(|fault| fault.to_string()).collect());
}
