//! Time limits: stated, measured, or computed for each test.

use super::{DOUBLE, SPIN};
use crate::package::{Package, has_cgroups};
use crate::setting::supervisor;
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Linkage, Toolbox};
use millibox_languages::suite::{Link, Suites};
use millibox_tests::{executable, skip};
use std::fs;
use std::process::Command;

#[test]
fn missing_time_limit_is_measured() {
    let package = Package::new("limits: {time_multiplier: 3}\n");
    fs::remove_file(package.path().join("domjudge-problem.ini")).unwrap();
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("accepted/wrong.sh", "echo 2\n")
        .submission("time_limit_exceeded/spins.sh", SPIN);
    let judged = package.judge(&[]);
    judged
        .exits_with(1)
        .prints("time limit 1 s (3 times the ")
        .prints("accepted/double.sh, rounded up)");
    judged.prints(
        "accepted/wrong.sh: warning: does not count for the time limit: test secret/1 is \
        not accepted",
    );
    assert_eq!(judged.verdict("spins.sh"), "time_limit");
    let judged = package.judge(&["--time-limit", "700ms", "spins.sh"]);
    judged
        .exits_with(0)
        .prints("time limit 0.7 s (--time-limit)");
    let endless = package.judge(&["--time-limit", "10000000000000000000s", "double.sh"]);
    endless
        .exits_with(125)
        .prints("--time-limit")
        .prints("must be at most a day");
    fs::remove_dir_all(package.path().join("submissions/accepted")).unwrap();
    package
        .judge(&[])
        .exits_with(2)
        .prints("there is no submission that must be accepted; give --time-limit");
}

#[test]
fn time_limit_is_measured_with_linking_of_submissions() {
    let supervisor = supervisor();
    // AT_BASE (7) is the address of the dynamic linker, which a static program does not have.
    const SOURCE: &str = r#"
#include <stdio.h>
#include <sys/auxv.h>
int main(void) {
    int n;
    return scanf("%d", &n) != 1 || printf("%d\n", getauxval(7) == 0 ? 2 * n : 0) < 0;
}
"#;
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), Cache::none());
    match toolbox
        .linking(toolbox.suites().named("c").unwrap())
        .unwrap()
        .unwrap()
    {
        Linkage {
            link: Link::Static, ..
        } => {}
        other => return skip(&format!("{other:?}")),
    }
    let package = Package::new("");
    fs::remove_file(package.path().join("domjudge-problem.ini")).unwrap();
    package
        .submission("accepted/model.c", SOURCE)
        .submission("accepted/other.c", SOURCE);
    let judged = package.judge(&["--linking", "static"]);
    judged.exits_with(0);
    assert_eq!(
        (judged.verdict("model.c"), judged.verdict("other.c")),
        ("accepted", "accepted")
    );
    // The model solution is the first to fail.
    package.judge(&["--linking", "dynamic"]).exits_with(2);
}

#[test]
fn judge_error_while_measuring_suggests_no_time_limit() {
    let unlimited = |header: &str| {
        let package = Package::new(header);
        fs::remove_file(package.path().join("domjudge-problem.ini")).unwrap();
        package.submission("accepted/double.sh", DOUBLE);
        package
    };
    let package = unlimited("validation: custom\n");
    package.file(
        "output_validators/c.sh",
        "echo broken >&2\necho checker >&2\nexit 1\n",
    );
    let failed = "the time limit cannot be measured, because the judge failed: accepted/double.sh: \
                  test sample/1: checker: exited with 1, not with 42 (accepted) or 43 (wrong \
                  answer); standard error: broken checker\n";
    let judged = package.judge(&[]);
    judged
        .exits_with(2)
        .prints(&format!("double: error: {failed}"));
    assert!(!judged.stderr.contains("--time-limit"), "{judged:?}");
    let package = unlimited("");
    let output = package
        .command(&[])
        .env("TMPDIR", package.path().join("nowhere"))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(
        printed.contains("measured, because the judge failed: accepted/double.sh: cannot write to"),
        "{printed}"
    );
    assert!(
        printed.contains("set TMPDIR") && !printed.contains("--time-limit"),
        "{printed}"
    );

    // A submission on which the judge failed is left out with a warning, and the limit is computed
    // from another one.
    let package = unlimited("validation: custom\n");
    package.submission("accepted/other.sh", "read n\necho $((n * 2)) other\n");
    package.file(
        "output_validators/c.sh",
        "read n word\n[ -z \"$word\" ] || exit 1\nexit 42\n",
    );
    let judged = package.judge(&["double.sh"]);
    judged.exits_with(0).prints(
        "accepted/other.sh: warning: does not count for the time limit, because the judge failed: ",
    );

    let package = Package::empty();
    package
        .file(
            "Simfile",
            "name: Double\nlabel: dou\nmemory_limit: 64\nchecker: check/c.sh\n\
             solutions: [prog/dou.sh]\n",
        )
        .file("in/dou0.in", "1\n")
        .file("out/dou0.out", "2\n")
        .file("prog/dou.sh", DOUBLE)
        .file("check/c.sh", "exit 1\n");
    let judged = package.judge(&[]);
    judged.exits_with(2).prints(
        "the time limit cannot be measured, because the judge failed: prog/dou.sh: test dou0: \
         checker",
    );
    assert!(!judged.stderr.contains("--time-limit"), "{judged:?}");
}

#[test]
fn submission_not_used_for_time_limit_is_not_measured() {
    let package = Package::newer("");
    package.file(
        "problem.yaml",
        "problem_format_version: 2023-07\nname: Double\nuuid: 1\n",
    );
    let slow = "import time\nwhile time.process_time() < 1.1: pass\nprint(2 * int(input()))\n";
    package
        .submission("accepted/fast.sh", DOUBLE)
        .submission("accepted/slow.py", slow);
    package.submission(
        "submissions.yaml",
        "accepted: {permitted: [AC], use_for_time_limit: false}\naccepted/fast.sh: \
         {use_for_time_limit: lower}\n",
    );
    let judged = package.judge(&["fast.sh"]);
    judged
        .exits_with(0)
        .prints("time limit 1 s (2 times the ")
        .prints("accepted/fast.sh, rounded up)");
    package.submission(
        "submissions.yaml",
        "accepted: {permitted: [AC], use_for_time_limit: false}\n",
    );
    package
        .judge(&["fast.sh"])
        .exits_with(2)
        .prints("excludes all submissions that must be accepted (use_for_time_limit)");
}

#[test]
fn sim_package_has_time_limit_for_each_test() {
    let package = Package::empty();
    package
        .file(
            "Simfile",
            "name: Double\nlabel: dou\nmemory_limit: 64\nlimits: [\ndou1a 0.8\n]\n",
        )
        .file("in/dou0.in", "1\n")
        .file("out/dou0.out", "2\n")
        .file("in/dou1a.in", "3\n")
        .file("out/dou1a.out", "6\n")
        .file("prog/double.sh", DOUBLE);
    let judged = package.judge(&[]);
    judged
        .exits_with(0)
        .prints("3 t + 0.6 / (t^2 + 2), down to 10 ms; t is the time of prog/double.sh");
    let tests = &judged.submission("double.sh")["tests"];
    assert_eq!(tests[1]["limits"]["cpu_time_ns"], 800_000_000);
    let computed = tests[0]["limits"]["cpu_time_ns"].as_u64().unwrap();
    assert!(
        computed >= 300_000_000 && computed.is_multiple_of(10_000_000),
        "{computed}"
    );
    assert_eq!(judged.submission("double.sh")["score"], 100.0);
    // The model solution must be accepted.
    package.file("prog/double.sh", "read n; [ $n = 1 ] && echo 2\n");
    package
        .judge(&[])
        .exits_with(2)
        .prints("the model solution gives none: test dou1a is not accepted");
}

#[test]
fn judge_without_cgroups_requires_explicit_backend() {
    if has_cgroups() {
        return skip("this machine has cgroups");
    }
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let mut command = Command::new(executable("millibox"));
    let output = command.arg("judge").arg(package.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        printed.contains("choose --backend rlimit") && printed.contains("millibox doctor"),
        "{printed}"
    );
}
