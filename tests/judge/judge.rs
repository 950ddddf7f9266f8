//! Whole packages, judged by the command: verdicts, expectations, limits, failures of the judge,
//! exit statuses.
//!
//! Most submissions here are scripts: nothing is waited for but them.

use crate::package::{Judged, Package, has_cgroups};
use crate::setting::supervisor;
use millibox::{BackendChoice, Supervisor};
use millibox_judge::cache::Cache;
use millibox_judge::compile::{Linked, Toolbox};
use millibox_judge::judge::{Judge, Machine, Options};
use millibox_judge::suite::{Link, Suites};
use millibox_judge::verdict::Verdict;
use millibox_tests::{
    descendants, ends_within, eventually, executable, is_root, needs_cgroups, processes_that_say,
    skip, token,
};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const DOUBLE: &str = "read n\necho $((n * 2))\n";
const SPIN: &str = "while :; do :; done\n";

fn machine(jobs: usize) -> Machine {
    let choice = if has_cgroups() {
        BackendChoice::Auto
    } else {
        BackendChoice::Rlimit
    };
    Machine::start(Supervisor::builder().backend(choice), Some(jobs), &[])
        .unwrap_or_else(|error| panic!("{error}"))
}

// --- verdicts --------------------------------------------------------------------------

#[test]
fn each_verdict_where_it_is_expected() {
    let package = Package::new("");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "echo 2\n")
        .submission("run_time_error/exits.sh", "exit 3\n")
        .submission("time_limit_exceeded/spins.sh", SPIN)
        .submission(
            "output_limit/floods.sh",
            "while echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; do :; done\n",
        )
        .submission("compiler_error/unfinished.sh", "if\n");
    package.file("problem.yaml", "name: Double\nlimits: {output: 1}\n");
    let judged = package.judge(&[]);
    judged.exits_with(0).says("6 submissions: 6 as expected");
    assert_eq!(judged.tests("two.sh"), ["accepted", "wrong_answer"]);
    assert_eq!(judged.tests("exits.sh"), ["run_time_error", "none"]);
    assert_eq!(
        judged.submission("exits.sh")["tests"][0]["reason"],
        "exited with 3"
    );
    assert_eq!(judged.verdict("spins.sh"), "time_limit");
    assert_eq!(
        judged.submission("spins.sh")["tests"][0]["limits"]["cpu_time_ns"],
        1_000_000_000
    );
    assert_eq!(judged.verdict("floods.sh"), "output_limit");
    assert_eq!(judged.verdict("unfinished.sh"), "compile_error");
    let messages = &judged.submission("unfinished.sh")["compilation"]["messages"];
    assert!(
        messages.as_str().unwrap().contains("unfinished.sh"),
        "{messages}"
    );
}

#[test]
fn too_much_memory() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    drop(supervisor);
    let package = Package::new("limits: {memory: 32}\n");
    package.submission(
        "memory_limit/eats.c",
        "#include <stdlib.h>\n#include <string.h>\n\
         int main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }\n",
    );
    let judged = package.judge(&[]);
    judged.exits_with(0);
    assert_eq!(judged.verdict("eats.c"), "memory_limit");
    // The option goes before the package.
    let test = &package.judge(&["--memory-limit", "16M"]).report["submissions"][0]["tests"][0];
    assert_eq!(test["limits"]["memory_bytes"], 16 << 20);
}

#[test]
fn what_is_unexpected_is_told_and_is_no_success() {
    let package = Package::new("");
    package
        .submission("accepted/two.sh", "echo 2\n")
        .submission("wrong_answer/right.sh", DOUBLE);
    let judged = package.judge(&[]);
    judged
        .exits_with(1)
        .says("UNEXPECTED: expected accepted")
        .says("UNEXPECTED: expected wrong answer");
    judged.says("2 submissions: 2 UNEXPECTED");
    assert_eq!(judged.submission("two.sh")["as_expected"], false);
    package.judge(&["--quiet"]).exits_with(1).says("UNEXPECTED");
    fs::remove_dir_all(package.path().join("submissions/wrong_answer")).unwrap();
    package.submission("accepted/two.sh", DOUBLE);
    let quiet = package.judge(&["--quiet"]);
    assert_eq!(
        (quiet.status, quiet.stdout.as_str(), quiet.stderr.as_str()),
        (0, "", "")
    );
}

#[test]
fn submissions_are_named_in_several_ways() {
    let package = Package::new("");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "echo 2\n")
        .submission("wrong_answer/three.sh", "echo 3\n")
        .submission("run_time_error/two.sh", "exit 2\n");
    let names = |arguments: &[&str]| -> Vec<String> {
        let judged = package.judge(arguments);
        judged.exits_with(0);
        let all = judged.report["submissions"].as_array().unwrap();
        all.iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&["accepted/double.sh"]), ["accepted/double.sh"]);
    assert_eq!(names(&["three.sh"]), ["wrong_answer/three.sh"]);
    assert_eq!(
        names(&["wrong_answer", "three.sh"]),
        ["wrong_answer/three.sh", "wrong_answer/two.sh"]
    );
    let path = package.path().join("submissions/run_time_error");
    assert_eq!(names(&[path.to_str().unwrap()]), ["run_time_error/two.sh"]);
    package
        .judge(&["two.sh"])
        .exits_with(125)
        .says("could be any of run_time_error/two.sh, wrong_answer/two.sh");
    package
        .judge(&["four.sh"])
        .exits_with(125)
        .says("there is no file or directory four.sh");
    package
        .judge(&["wrong_answre"])
        .exits_with(125)
        .says("did you mean wrong_answer?");
    package
        .judge(&["accepted/doubel.sh"])
        .exits_with(125)
        .says("did you mean accepted/double.sh?");

    let outside = |name: &str, text: &str| {
        let path = package.directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    package.judge(&[&outside("mine.sh", DOUBLE)]).exits_with(0);
    package
        .judge(&[&outside("mine.sh", "echo 2\n")])
        .exits_with(1)
        .says("wrong answer: test secret/1");
    // What it exits with is said, also where less is told.
    let quiet = package.judge(&["-q", &outside("mine.sh", "echo 2\n")]);
    quiet
        .exits_with(1)
        .says("secret/1  wrong answer")
        .says("wrong answer: test secret/1");
    assert_eq!(
        package
            .judge(&["-q", &outside("mine.sh", DOUBLE)])
            .exits_with(0)
            .stdout,
        ""
    );
    let two = [
        &outside("mine.sh", "echo 2\n")[..],
        &outside("yours.sh", "exit 1\n"),
    ];
    let judged = package.judge(&two);
    judged
        .exits_with(1)
        .says("secret/1  wrong answer")
        .says("sample/1  run-time error");
    judged.says("2 submissions: 2 without an expectation (1 wrong answer, 1 run-time error)\n");
    let unknown = package.judge(&[&outside("mine.txt", DOUBLE)]);
    unknown
        .exits_with(2)
        .says("neither extension nor first line")
        .says("--language");
    assert!(
        !unknown.stdout.contains("sample/1"),
        "nothing was run: {unknown:?}"
    );
    package
        .judge(&[&outside("mine.txt", DOUBLE), "--language", "bash"])
        .exits_with(0);
    // A directory that has the package in it means its submissions, and no others.
    let output = package
        .command(&["."])
        .current_dir(package.directory.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.contains("4 submissions: 4 as expected\n") && !told.contains("mine"),
        "{told}"
    );
    package
        .judge(&[&outside("mine.txt", DOUBLE), "--language", "bahs"])
        .exits_with(125)
        .says("did you mean \"bash\"?");
    outside("several/main.sh", ". ./double.sh\n");
    outside("several/double.sh", DOUBLE);
    package
        .judge(&[package.directory.path().join("several").to_str().unwrap()])
        .exits_with(0);
    let empty = package.directory.path().join("empty");
    fs::create_dir(&empty).unwrap();
    package
        .judge(&[empty.to_str().unwrap()])
        .exits_with(125)
        .says("a directory without files is no submission");
}

#[test]
fn who_complains_to_nobody_still_says_so_by_the_exit_status() {
    let package = Package::new("");
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    let status = package
        .command(&["no-such-submission"])
        .stderr(write)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(125));
}

// --- order and choice of tests ---------------------------------------------------------

#[test]
fn the_first_failure_in_order_decides_whatever_ends_first() {
    let mut package = Package::new("");
    for number in 2..9 {
        package = package.test(
            &format!("secret/{number}"),
            &format!("{number}\n"),
            &format!("{}\n", number * 2),
        );
    }
    // Test 2 takes long and is wrong; those after it crash at once.
    package.submission(
        "wrong_answer/slow.sh",
        "read n\n[ $n -gt 2 ] && [ $n -lt 20 ] && exit 9\n[ $n = 2 ] && sleep 1 && echo 5\necho \
         $((n * 2))\n",
    );
    for jobs in ["1", "4"] {
        let judged = package.judge(&["--jobs", jobs]);
        judged.exits_with(0);
        let mut expected = vec!["accepted", "accepted", "wrong_answer"];
        expected.resize(9, "none");
        assert_eq!(judged.tests("slow.sh"), expected, "{jobs} jobs");
        assert_eq!(judged.submission("slow.sh")["decided_by"], "secret/2");
    }
}

#[test]
fn groups_stop_or_go_on_and_bring_points() {
    let package = Package::new("type: scoring\n")
        .test("secret/a/1", "1\n", "2\n")
        .test("secret/a/2", "2\n", "4\n");
    let package = package
        .test("secret/b/1", "3\n", "6\n")
        .test("secret/b/2", "4\n", "8\n");
    for file in ["secret/1.in", "secret/1.ans"] {
        fs::remove_file(package.path().join("data").join(file)).unwrap();
    }
    package
        .file(
            "data/testdata.yaml",
            "on_reject: continue\nrange: 0 100\ngrader_flags: ignore_sample\n",
        )
        .file("data/sample/testdata.yaml", "accept_score: 0\nrange: 0 0\n")
        .file(
            "data/secret/testdata.yaml",
            "grader_flags: first_error accept_if_any_accepted\n",
        )
        .file(
            "data/secret/a/testdata.yaml",
            "on_reject: break\naccept_score: 40\nrange: 0 40\ngrader_flags: min\n",
        )
        .file(
            "data/secret/b/testdata.yaml",
            "on_reject: continue\naccept_score: 30\nrange: 0 60\n",
        );
    package.submission("accepted/double.sh", DOUBLE).submission(
        "partially_accepted/but_one.sh",
        "read n\n[ $n = 1 ] && echo 3 && exit\necho $((n * 2))\n",
    );
    let judged = package.judge(&[]);
    judged.exits_with(0);
    assert_eq!(judged.submission("double.sh")["score"], 100.0);
    assert_eq!(judged.submission("but_one.sh")["score"], 60.0);
    assert_eq!(
        judged.tests("but_one.sh"),
        [
            "wrong_answer",
            "wrong_answer",
            "none",
            "accepted",
            "accepted"
        ]
    );
    // Whatever the groups say.
    let judged = package.judge(&["but_one.sh", "--fail-fast"]);
    assert_eq!(
        judged.tests("but_one.sh"),
        ["wrong_answer", "none", "none", "none", "none"]
    );
}

/// A sum, or with the flag `half`, half of it for whatever.
const GRADER: &str = "sum=0 all=AC\nwhile read verdict score; do\n    [ $verdict = AC ] || all=$verdict\n    \
    sum=$((sum + score))\ndone\n[ \"$1\" = half ] && echo AC $((sum / 2)) && exit\necho $all $sum\n";

#[test]
fn a_grader_of_the_packages_own_makes_the_results_of_groups() {
    let package = Package::new("type: scoring\n")
        .test("secret/a/1", "2\n", "4\n")
        .test("secret/a/2", "3\n", "6\n");
    let package = package
        .test("secret/b/1", "4\n", "8\n")
        .test("secret/b/2", "5\n", "10\n");
    package
        .file("graders/grade.sh", GRADER)
        .file(
            "data/testdata.yaml",
            "on_reject: continue\ngrader_flags: ignore_sample\nrange: 0 100\n",
        )
        .file(
            "data/secret/testdata.yaml",
            "grading: custom\naccept_score: 10\ngrader_flags: ''\n",
        )
        .file(
            "data/secret/a/testdata.yaml",
            "on_reject: break\ngrader_flags: half\n",
        );
    // Of secret/a the sum is 20 or 0, of secret/b 20 or 10, and secret/1 has 10.
    package.submission("accepted/double.sh", DOUBLE);
    package.submission(
        "partially_accepted/not_2.sh",
        "read n\n[ $n = 2 ] && echo 3 && exit\necho $((n * 2))\n",
    );
    package.submission(
        "wrong_answer/not_5.sh",
        "read n\n[ $n = 5 ] && echo 3 && exit\necho $((n * 2))\n",
    );
    package.submission(
        "wrong_answer/double_again.sh",
        "read n\n[ $n = 4 ] && echo 3 && exit\necho $((n * 2))\n",
    );
    for jobs in ["1", "4"] {
        let judged = package.judge(&["--jobs", jobs]);
        judged.exits_with(0);
        let points = |name: &str| judged.submission(name)["score"].as_f64().unwrap();
        assert_eq!(
            ["double.sh", "not_2.sh", "not_5.sh"].map(points),
            [40.0, 30.0, 30.0]
        );
        assert_eq!(judged.submission("not_5.sh")["decided_by"], "secret/b/2");
        // Group a ends with its first test, and its grader takes that for an end like any other.
        let all = [
            "accepted",
            "accepted",
            "wrong_answer",
            "none",
            "accepted",
            "accepted",
        ];
        assert_eq!(judged.tests("not_2.sh"), all);
    }
    let judged = package.judge(&["not_5.sh", "not_2.sh", "--fail-fast"]);
    assert_eq!(
        judged.tests("not_2.sh"),
        [
            "accepted",
            "accepted",
            "wrong_answer",
            "none",
            "none",
            "none"
        ]
    );
    // What was judged is graded: 10 and half of nothing.
    assert_eq!(
        (
            judged.verdict("not_2.sh"),
            &judged.submission("not_2.sh")["score"]
        ),
        ("accepted", &10.0.into())
    );
    let judged = package.judge(&["double.sh", "--tests", "secret/b/*"]);
    assert_eq!(judged.submission("double.sh")["score"], 20.0);
}

#[test]
fn what_a_grader_does_wrong_is_a_judge_error() {
    let package =
        Package::new("type: scoring\nlimits: {validation_time: 1, validation_output: 1}\n");
    package.file(
        "data/testdata.yaml",
        "on_reject: continue\ngrader_flags: ignore_sample\n",
    );
    package.file(
        "data/secret/testdata.yaml",
        "grading: custom\ngrader_flags: a b\nrange: 0 10\n",
    );
    package.submission("accepted/double.sh", DOUBLE);
    for (grader, says) in [
        (
            "echo oh >&2; exit 3\n",
            "grader: exited with 3, not with 0; standard error: oh",
        ),
        ("kill -SEGV $$\n", "grader: killed by signal SEGV"),
        (SPIN, "grader: CPU time limit"),
        ("echo fine\n", "grader: printed \"fine\", not a verdict"),
        ("", "grader: printed \"\", not a verdict"),
        ("head -c 2000000 /dev/zero\n", "grader: output limit"),
        (
            "head -c 9999 /dev/zero\n",
            "grader: printed more than 4096 bytes",
        ),
        ("echo AC 11\n", "11 points are outside its range, 0 to 10"),
        // It sees neither tests nor package.
        (
            "cat /judge/*/* \"$0\"/../../../data/*/*.in && echo AC 1\n",
            "grader: exited with 1",
        ),
    ] {
        package.file("graders/grade.sh", grader);
        let judged = package.judge(&["--verbose"]);
        judged.exits_with(2).says(&format!("group secret: {says}"));
        assert_eq!(judged.verdict("double.sh"), "judge_error", "{grader}");
        assert_eq!(judged.tests("double.sh"), ["accepted", "accepted"]);
    }
    // What it says of its arguments, and that it need not read.
    package.file("graders/grade.sh", "[ \"$*\" = 'a b' ] && echo AC 5\n");
    assert_eq!(
        package.judge(&[]).exits_with(0).submission("double.sh")["score"],
        5.0
    );
}

#[test]
fn a_signal_ends_who_waits_for_a_grader() {
    let package = Package::new("type: scoring\n");
    let token = token();
    // Only of the first submission it takes long.
    let slow = format!("sh -c 'sleep 25; :' {token}");
    let grader =
        format!("while read verdict score; do [ $verdict = AC ] || {slow}; done\necho AC 5\n");
    package.file("graders/grade.sh", &grader);
    package.file(
        "data/testdata.yaml",
        "on_reject: continue\ngrader_flags: ignore_sample\n",
    );
    package.file(
        "data/secret/testdata.yaml",
        "grading: custom\non_reject: continue\nrange: 0 10\n",
    );
    package.submission("accepted/a.sh", "echo 7\n");
    for name in ["b", "c", "d", "e", "f"] {
        package.submission(&format!("accepted/{name}.sh"), DOUBLE);
    }
    let mut child = package
        .command(&["--jobs", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let grades = eventually(Duration::from_secs(60), || {
        !processes_that_say(&token).is_empty()
    });
    // The others are done, and the second thread waits.
    std::thread::sleep(Duration::from_secs(2));
    millibox_tests::kill(child.id() as i32, rustix::process::Signal::INT);
    let ended = ends_within(&mut child, Duration::from_secs(10));
    assert!(grades, "nothing is graded");
    assert_eq!(ended.and_then(|ended| ended.code()), Some(130));
}

#[test]
fn where_fewer_points_are_better() {
    let package =
        Package::new("type: scoring\ngrading: {objective: min}\nvalidation: custom score\n");
    let package = package.test("secret/2", "1\n", "2\n");
    package.file(
        "data/testdata.yaml",
        "on_reject: continue\ngrader_flags: ignore_sample\nrange: 2 50\n",
    );
    // As many points as what it says.
    package.file(
        "output_validators/v.sh",
        "read n\n[ $n = 9 ] && exit 43\necho $n > $3/score.txt\nexit 42\n",
    );
    package
        .submission("accepted/one.sh", "echo 1\n")
        .submission("partially_accepted/two.sh", "echo 2\n");
    package
        .submission("partially_accepted/one.sh", "echo 1\n")
        .submission("wrong_answer/nine.sh", "echo 9\n");
    let judged = package.judge(&["--verbose"]);
    judged
        .exits_with(1)
        .says("2 points, 2 would be best")
        .says("4 points, 2 would be best");
    let all = judged.report["submissions"].as_array().unwrap().iter();
    let all: Vec<_> = all
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                &one["score"],
                &one["as_expected"],
            )
        })
        .collect();
    let (yes, no) = (&true.into(), &false.into());
    let two = &2.0.into();
    for expected in [
        ("accepted/one.sh", two, yes),
        // It has the least, so all.
        ("partially_accepted/one.sh", two, no),
        ("partially_accepted/two.sh", &4.0.into(), yes),
        // No points would be the best.
        ("wrong_answer/nine.sh", &serde_json::Value::Null, yes),
    ] {
        assert!(all.contains(&expected), "{expected:?}: {all:?}");
    }
    assert_eq!(judged.report["problem"]["objective"], "min");
}

#[test]
fn some_of_the_tests() {
    let package = Package::new("").test("secret/2", "5\n", "10\n");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "echo 2\n");
    let judged = package.judge(&["--tests", "s*/1"]);
    // That the wrong one is right on these is nothing unexpected.
    assert_eq!(
        judged.exits_with(0).tests("two.sh"),
        ["accepted", "wrong_answer"]
    );
    assert_eq!(
        package
            .judge(&["--tests", "sample/*"])
            .exits_with(0)
            .tests("two.sh"),
        ["accepted"]
    );
    package
        .judge(&["--tests", "secret/3"])
        .exits_with(2)
        .says("none of its 3 tests is called like secret/3");
    package
        .judge(&["--tests", "[a"])
        .exits_with(125)
        .says("--tests");
}

#[test]
fn some_of_the_tests_bring_some_of_the_points() {
    let package = Package::newer("type: scoring\n")
        .test("secret/g1/1", "5\n", "10\n")
        .test("secret/g2/1", "6\n", "12\n");
    for end in ["in", "ans"] {
        fs::remove_file(package.path().join(format!("data/secret/1.{end}"))).unwrap();
    }
    package.file("data/secret/g1/test_group.yaml", "max_score: 40\n");
    package.file("data/secret/g2/test_group.yaml", "max_score: 60\n");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("submissions.yaml", "accepted: {score: 100}\n");
    package.judge(&[]).exits_with(0).says("100");
    let judged = package.judge(&["--tests", "secret/g1/*"]);
    assert_eq!(judged.exits_with(0).submission("double.sh")["score"], 40.0);
    // That it is accepted is expected all the same.
    package
        .submission("accepted/double.sh", "echo 2\n")
        .judge(&["--tests", "secret/g1/*"])
        .exits_with(1);
}

#[test]
fn some_test_must_have_a_verdict_that_is_required() {
    let package = Package::newer("type: scoring\n")
        .test("secret/2", "5\n", "10\n")
        .test("secret/3", "6\n", "12\n");
    package.file("data/secret/test_group.yaml", "score_aggregation: sum\n");
    package.submission("accepted/double.sh", DOUBLE);
    package.submission(
        "mixed/crashes.sh",
        "read n; [ $n != 6 ] || exit 3; [ $n != 5 ] || n=0; echo $((2 * n))\n",
    );
    package.submission(
        "mixed/wrong.sh",
        "read n; [ $n != 5 ] || n=0; echo $((2 * n))\n",
    );
    package.submission(
        "submissions.yaml",
        "mixed/*: {permitted: [AC, WA, RTE], required: RTE}\n",
    );
    let judged = package.judge(&[]);
    assert_eq!(
        judged.exits_with(1).submission("crashes.sh")["as_expected"],
        true
    );
    let wrong = judged.submission("wrong.sh");
    assert_eq!(
        (&wrong["verdict"], &wrong["as_expected"]),
        (&"wrong_answer".into(), &false.into())
    );
    assert_eq!(
        wrong["required"],
        serde_json::json!([["run_time_error", "memory_limit"]])
    );
    judged.says("run-time error or memory limit in some test");
    // Some of the tests need not have it.
    package.judge(&["--tests", "secret/2"]).exits_with(0);
    package.submission(
        "submissions.yaml",
        "mixed/*: {permitted: [TLE]}\nmixed/w*: {permitted: [WA]}\n",
    );
    package
        .judge(&[])
        .exits_with(2)
        .says("nothing can come of mixed/wrong.sh that is as claimed");
}

#[test]
fn a_report_has_the_warnings_of_its_package() {
    let package = Package::newer("");
    package.submission("accepted/double.sh", DOUBLE);
    assert_eq!(
        package.judge(&[]).exits_with(0).report["warnings"],
        serde_json::json!([])
    );
    package.submission("submissions.yaml", "accepted/*:\n  entrypoint: main\n");
    let judged = package.judge(&[]);
    let warning = &judged.exits_with(0).report["warnings"][0];
    assert!(
        warning["file"]
            .as_str()
            .unwrap()
            .ends_with("/double/submissions/submissions.yaml"),
        "{warning}"
    );
    assert_eq!(
        (&warning["line"], &warning["column"]),
        (&2.into(), &15.into())
    );
    assert!(
        warning["message"]
            .as_str()
            .unwrap()
            .starts_with("entrypoint is not supported"),
        "{warning}"
    );
}

#[test]
fn a_report_has_the_memory_limit_that_is_enforced() {
    if !has_cgroups() {
        return;
    }
    let package = Package::newer("");
    package.submission("accepted/double.sh", DOUBLE);
    let judged = package.judge(&["--memory-limit", "100M"]);
    let test = &judged.exits_with(0).submission("double.sh")["tests"][0];
    assert_eq!(test["limits"]["memory_bytes"], 100 << 20);
    // With what suites/bash.toml says.
    assert_eq!(test["enforced_memory_bytes"], 116 << 20);
    judged.says("memory limit 100 MiB; ").says(" / 116.0");
}

#[test]
fn numbers_are_decimal_but_in_the_legacy_format() {
    for (package, legacy) in [
        (
            Package::new("validator_flags: float_tolerance 1e-6\n"),
            true,
        ),
        (Package::newer(""), false),
    ] {
        let package = package.test("secret/2", "", "0xdeadbeef 1.5\n");
        for directory in ["sample", "secret"] {
            if !legacy {
                package.file(
                    &format!("data/{directory}/test_group.yaml"),
                    "output_validator_args: [float_tolerance, '1e-6']\n",
                );
            }
        }
        for (name, text) in [
            ("far", "0xdeadbef0 1.5"),
            ("other", "3735928559 1.5"),
            ("form", "0xdeadbeef 0x1.8"),
        ] {
            package.submission(&format!("any/{name}.sh"), &format!("echo {text}\n"));
        }
        package.submission("accepted/same.sh", "echo 0xDEADBEEF 1.5000001\n");
        let judged = package.judge(&["--tests", "secret/2"]);
        assert_eq!(judged.verdict("same.sh"), "accepted");
        for name in ["far.sh", "other.sh", "form.sh"] {
            assert_eq!(
                judged.verdict(name),
                if legacy { "accepted" } else { "wrong_answer" },
                "{name}"
            );
        }
    }
}

// --- limits ----------------------------------------------------------------------------

#[test]
fn a_time_limit_is_measured_where_nobody_states_one() {
    let package = Package::new("limits: {time_multiplier: 3}\n");
    fs::remove_file(package.path().join("domjudge-problem.ini")).unwrap();
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("accepted/wrong.sh", "echo 2\n")
        .submission("time_limit_exceeded/spins.sh", SPIN);
    let judged = package.judge(&[]);
    judged
        .exits_with(1)
        .says("time limit 1 s (3 times the ")
        .says("accepted/double.sh, rounded up)");
    judged.says(
        "accepted/wrong.sh: warning: does not count for the time limit: test secret/1 is \
        not accepted",
    );
    assert_eq!(judged.verdict("spins.sh"), "time_limit");
    let judged = package.judge(&["--time-limit", "700ms", "spins.sh"]);
    judged.exits_with(0).says("time limit 0.7 s (--time-limit)");
    let endless = package.judge(&["--time-limit", "10000000000000000000s", "double.sh"]);
    endless
        .exits_with(125)
        .says("--time-limit")
        .says("must be at most a day");
    fs::remove_dir_all(package.path().join("submissions/accepted")).unwrap();
    package
        .judge(&[])
        .exits_with(2)
        .says("there is no submission that must be accepted; give --time-limit");
}

#[test]
fn time_limit_is_measured_with_the_linking_of_submissions() {
    let supervisor = supervisor();
    // AT_BASE, 7, is where the dynamic linker is: a static program has none.
    const SOURCE: &str = "#include <stdio.h>\n#include <sys/auxv.h>\nint main(void) {\n    int n;\n    \
                          return scanf(\"%d\", &n) != 1 || printf(\"%d\\n\", getauxval(7) == 0 ? 2 * n : 0) < 0;\n}\n";
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), Cache::none());
    match toolbox
        .linking(toolbox.suites().named("c").unwrap())
        .unwrap()
        .unwrap()
    {
        Linked {
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
    // The model is the first to be dynamic.
    package.judge(&["--linking", "dynamic"]).exits_with(2);
}

#[test]
fn a_judge_that_fails_while_it_measures_asks_for_no_time_limit() {
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
    let failed = "the time limit cannot be measured, for the judge failed: accepted/double.sh: \
                  test sample/1: checker: exited with 1, not with 42 (accepted) or 43 (wrong \
                  answer); standard error: broken checker\n";
    let judged = package.judge(&[]);
    judged
        .exits_with(2)
        .says(&format!("double: error: {failed}"));
    assert!(!judged.stderr.contains("--time-limit"), "{judged:?}");
    let package = unlimited("");
    let output = package
        .command(&[])
        .env("TMPDIR", package.path().join("nowhere"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("measured, for the judge failed: accepted/double.sh: cannot write to"),
        "{told}"
    );
    assert!(
        told.contains("set TMPDIR") && !told.contains("--time-limit"),
        "{told}"
    );

    // One that is measured all the same: what the limit lacks is told.
    let package = unlimited("validation: custom\n");
    package.submission("accepted/other.sh", "read n\necho $((n * 2)) other\n");
    package.file(
        "output_validators/c.sh",
        "read n word\n[ -z \"$word\" ] || exit 1\nexit 42\n",
    );
    let judged = package.judge(&["double.sh"]);
    judged.exits_with(0).says(
        "accepted/other.sh: warning: does not count for the time limit, for the judge failed: ",
    );

    let package = Package::empty();
    package
        .file("Simfile", "name: Double\nlabel: dou\nmemory_limit: 64\nchecker: check/c.sh\nsolutions: [prog/dou.sh]\n")
        .file("in/dou0.in", "1\n")
        .file("out/dou0.out", "2\n")
        .file("prog/dou.sh", DOUBLE)
        .file("check/c.sh", "exit 1\n");
    let judged = package.judge(&[]);
    judged.exits_with(2).says(
        "the time limit cannot be measured, for the judge failed: prog/dou.sh: test dou0: checker",
    );
    assert!(!judged.stderr.contains("--time-limit"), "{judged:?}");
}

#[test]
fn what_is_told_of_an_archive_names_the_archive() {
    let package = Package::new("");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/x.ghost", "boo\n");
    let zip = package.directory.path().join("p.zip");
    let judged = |arguments: &[&str]| {
        let packed = Command::new(executable("millibox"))
            .args(["problem", "zip", "--force", "-o"])
            .args([zip.as_path(), &package.path()])
            .output()
            .unwrap();
        assert!(packed.status.success(), "{packed:?}");
        let output = package.command_on(&zip, arguments).output().unwrap();
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!told.contains("millibox-judge-"), "{told}");
        told
    };
    let says = |told: String, words: &str| {
        let words = words.replace("p.zip", zip.to_str().unwrap());
        assert!(told.contains(&words), "{words}\n{told}");
    };
    says(
        judged(&["nosuch.py"]),
        "and no submission of that name in p.zip\n",
    );
    says(
        judged(&["x.ghost"]),
        "judge error: p.zip/submissions/wrong_answer/x.ghost: neither extension nor first line",
    );
    says(
        judged(&["--tests", "x*"]),
        "p.zip: error: none of its 2 tests is called like x*",
    );
    package
        .file("domjudge-problem.ini", "")
        .submission("accepted/wrong.sh", "echo 2\n");
    says(
        judged(&["double.sh"]),
        "p.zip/submissions/accepted/wrong.sh: warning: does not count for the time limit",
    );
    package
        .file("problem.yaml", "name: x\nvalidation: custom\n")
        .file("output_validators/c.c", "int main(void) {\n");
    says(
        judged(&[]),
        "p.zip/output_validators/c.c: error: the checker cannot be compiled: ",
    );
    says(judged(&[]), "\n    ");
}

#[test]
fn what_is_not_used_for_the_time_limit_is_not_measured() {
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
        .says("time limit 1 s (2 times the ")
        .says("accepted/fast.sh, rounded up)");
    package.submission(
        "submissions.yaml",
        "accepted: {permitted: [AC], use_for_time_limit: false}\n",
    );
    package
        .judge(&["fast.sh"])
        .exits_with(2)
        .says("takes all that must be accepted out (use_for_time_limit)");
}

#[test]
fn a_sim_package_has_a_limit_for_each_test() {
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
        .says("3 t + 0.6 / (t^2 + 2), down to 10 ms, t the time of prog/double.sh");
    let tests = &judged.submission("double.sh")["tests"];
    assert_eq!(tests[1]["limits"]["cpu_time_ns"], 800_000_000);
    let computed = tests[0]["limits"]["cpu_time_ns"].as_u64().unwrap();
    assert!(
        computed >= 300_000_000 && computed.is_multiple_of(10_000_000),
        "{computed}"
    );
    assert_eq!(judged.submission("double.sh")["score"], 100.0);
    // The model solution must be right.
    package.file("prog/double.sh", "read n; [ $n = 1 ] && echo 2\n");
    package
        .judge(&[])
        .exits_with(2)
        .says("the model solution gives none: test dou1a is not accepted");
}

#[test]
fn a_submission_has_the_packages_files_arguments_and_no_more_sources_than_it_may() {
    let package = Package::newer("").test("secret/2", "5\n", "10\n");
    package
        .file("data/secret/2.files/factor.txt", "2\n")
        .file("data/secret/2.yaml", "args: [from, 'a file']\n")
        .file("include/default/readme.txt", "for all\n")
        .file(
            "include/default/lib.sh",
            "double() { echo of no language; }\n",
        )
        .file(
            "include/bash/lib.sh",
            "double() { echo $(($1 * ${2:-2})); }\n",
        )
        .submission(
            "accepted/main.sh",
            ". ./lib.sh\nread n\nread for < readme.txt && [ \"$for\" = 'for all' ] || exit 1\nif [ \
             $# = 2 ]; then [ \"$2\" = 'a file' ] && read f < factor.txt && double $n $f; else \
             double $n; fi\n",
        )
        .submission(
            "run_time_error/missing.sh",
            "read f < factor.txt || exit 1\n",
        );
    package.judge(&[]).exits_with(0);
    // The test's files come before the program's own.
    package
        .file("data/secret/2.files/lib.sh", "double() { echo 10; }\n")
        .file("data/secret/2.ans", "10\n");
    package.file("data/secret/2.in", "1000\n");
    package.judge(&["main.sh"]).exits_with(0);
    fs::remove_dir_all(package.path().join("data/secret/2.files")).unwrap();

    package.file(
        "problem.yaml",
        "problem_format_version: 2023-07\nname: Double\nuuid: 1\nlimits: {time_limit: 1, code: \
         1}\n",
    );
    package.submission(
        "compile_error/long.sh",
        &format!("{DOUBLE}# {}\n", "x".repeat(2000)),
    );
    let judged = package.judge(&["long.sh"]);
    judged.exits_with(0).says("and the problem allows 1024");
}

#[test]
fn links_to_directories_in_include_are_followed_within_the_package() {
    let package = Package::newer("");
    package
        .file(
            "attachments/lib/double.sh",
            "double() { echo $(($1 * ${2:-2})); }\n",
        )
        .file("attachments/lib/deep/.keep", "")
        .submission(
            "accepted/main.sh",
            ". ./lib/double.sh\n. ./more/double.sh\nread n\ndouble $n\n",
        );
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, package.path().join(path)).unwrap()
    };
    package.file("include/default/readme.txt", "");
    link("../../attachments/lib", "include/default/lib");
    // The directory of a language, and a link that leads on.
    package.file("attachments/bash/readme.txt", "");
    link("../attachments/bash", "include/bash");
    link("../../include/default/lib", "attachments/bash/more");
    package.judge(&[]).exits_with(0);

    link("/etc", "include/default/etc");
    package
        .judge(&[])
        .exits_with(2)
        .says("include/default/etc: error: symbolic link to /etc, outside the package");
    fs::remove_file(package.path().join("include/default/etc")).unwrap();
    link("../..", "attachments/lib/deep/up");
    package
        .judge(&[])
        .exits_with(2)
        .says("a directory that the link itself is in; not followed");
}

#[test]
fn constants_stand_for_their_values_in_the_packages_programs() {
    let package = Package::newer("constants: {factor: 2, word: {value: right, other: quite}}\n");
    package
        .file(
            "output_validator/check.sh",
            "read n < $1\nread a\n[ $((n * {{factor}})) = $a ] && [ {{word}} = right ] && exit \
             42\nexit 43\n",
        )
        .file(
            "include/bash/lib.sh",
            "double() { echo $(($1 * {{factor.value}})); }\n",
        )
        .submission("accepted/uses.sh", ". ./lib.sh\nread n\ndouble $n\n")
        .submission("accepted/has.sh", "read n\necho $((n * {{factor}}))\n")
        .submission(
            "wrong_answer/other.sh",
            "read n\n[ {{word.other}} = quite ] && echo {{none}}\n",
        );
    package
        .judge(&[])
        .exits_with(0)
        .says("3 submissions: 3 as expected");
    // Whoever writes for themselves gets nothing of it but what is included.
    let outside = package.directory.path().join("outside.sh");
    fs::write(
        &outside,
        ". ./lib.sh\nread n\n[ {{factor}} = '{{''factor''}}' ] && double $n\n",
    )
    .unwrap();
    package.judge(&[outside.to_str().unwrap()]).exits_with(0);
}

// --- programs of the package -----------------------------------------------------------

const VALIDATOR: &str = "read n < $1; read a; shift 3\n\
    [ \"$a\" = crash ] && exit 1\n\
    echo \"$* for $a\" > $0.x 2>/dev/null; [ $((a - n)) = $n ] && exit 42; exit 43\n";

#[test]
fn a_validator_of_the_packages_own() {
    let package = Package::new("validation: custom\nvalidator_flags: quite so\n");
    package
        .file(
            "output_validators/check.sh",
            &VALIDATOR
                .replace("$0.x 2>/dev/null", "$FEEDBACK/judgemessage.txt")
                .replace("read a; shift 3", "read a; FEEDBACK=$3; shift 3"),
        )
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "echo 2\n");
    let judged = package.judge(&[]);
    judged.exits_with(0);
    assert_eq!(
        judged.submission("double.sh")["tests"][1]["comment"],
        "quite so for 42"
    );
    assert!(
        judged.submission("double.sh")["tests"][1]["checker"]["real_time_ns"]
            .as_u64()
            .unwrap()
            > 0
    );

    // One that crashes says nothing of the submission.
    package.submission("wrong_answer/crasher.sh", "echo crash\n");
    let judged = package.judge(&[]);
    judged
        .exits_with(2)
        .says("judge error: test sample/1: checker: exited with 1, not with 42");
    assert_eq!(
        (judged.verdict("crasher.sh"), judged.verdict("double.sh")),
        ("judge_error", "accepted")
    );

    package.file("output_validators/check.sh", "if\n");
    let judged = package.judge(&[]);
    judged
        .exits_with(2)
        .says("output_validators/check.sh: error: the checker cannot be compiled")
        .says("syntax error");
    assert_eq!(judged.stdout, "");
}

#[test]
fn an_interactor() {
    let package = Package::new("validation: custom interactive\n");
    package
        .file(
            "output_validators/talk.sh",
            "read n < $1\necho $n\nread a || exit 43\n[ \"$a\" = $((n * 2)) ] && exit 42\nexit \
             43\n",
        )
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "read n\necho 2\n")
        .submission("run_time_error/exits.sh", "read n\nexit 1\n")
        .submission("time_limit_exceeded/waits.sh", "read n\nread more\n");
    for more in [&[][..], &["--relay"]] {
        package.judge(more).exits_with(0);
    }
}

#[test]
fn an_interactor_that_fills_the_disk_is_ended() {
    let package = Package::newer("type: interactive\n");
    package.file(
        "problem.yaml",
        "problem_format_version: 2023-07\nname: Double\nuuid: 1\ntype: interactive\n\
         limits: {time_limit: 10, validation_output: 1}\n",
    );
    let fills = "cd \"$3\"; i=0; while :; do head -c 100000 /dev/zero >$i; i=$((i+1)); done\n";
    package
        .file("output_validator/talk.sh", fills)
        .submission("accepted/waits.sh", "read n\n");
    for more in [&[][..], &["--relay"]] {
        let judged = package.judge(more);
        judged
            .exits_with(2)
            .says("interactor: left more than 1048576 bytes in its feedback directory");
    }
}

#[test]
fn a_submission_that_talks_has_the_tests_files_too() {
    let package = Package::newer("type: interactive\n");
    package
        .file(
            "output_validator/talk.sh",
            "read n < $1\necho $n\nread a\n[ \"$a\" = said ] && exit 42\nexit 43\n",
        )
        .file("data/sample/1.files/word.txt", "said\n")
        .file("data/secret/1.files/word.txt", "said\n")
        .submission("accepted/says.sh", "read n\ncat word.txt\n");
    for more in [&[][..], &["--relay"]] {
        package.judge(more).exits_with(0);
    }
}

#[test]
fn what_is_not_supported_is_said_before_anything_is_judged() {
    let package = Package::new("type: scoring\n");
    package
        .file("data/testdata.yaml", "grading: custom\n")
        .file("graders/grade.c", "int main(void) {\n");
    let judged = package.submission("accepted/double.sh", DOUBLE).judge(&[]);
    judged
        .exits_with(2)
        .says("graders/grade.c: error: the grader cannot be compiled")
        .says("expected");
    assert_eq!(judged.stdout, "");

    let package = Package::new("validator_flags: no_such_flag\n").test("secret/2", "", "");
    package.submission("accepted/double.sh", DOUBLE);
    let judged = package.judge(&[]);
    judged
        .exits_with(2)
        .says(":18: error: there is no flag \"no_such_flag\" of the default checker");
    assert_eq!(
        judged.stderr.matches("no_such_flag").count(),
        1,
        "{}",
        judged.stderr
    );

    let package = Package::new("naem: x\nlimits: {memory: much}\n");
    package
        .judge(&[])
        .exits_with(2)
        .says("problem.yaml:")
        .says("memory");
    fs::remove_dir_all(package.path()).unwrap();
    package
        .judge(&[])
        .exits_with(2)
        .says("cannot be read: No such file or directory");
}

#[test]
fn a_package_without_submissions_cannot_be_judged() {
    let judged = Package::new("").judge(&[]);
    judged.exits_with(2).says("has no submissions");
    assert_eq!(judged.stderr.lines().count(), 1, "{judged:?}");
}

#[test]
fn a_report_on_standard_output_is_alone_there() {
    let package = Package::new("");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("accepted/again.sh", DOUBLE);
    let judge = |report: &[&str]| {
        package
            .command(report)
            .current_dir(package.directory.path())
            .output()
            .unwrap()
    };
    for path in ["-", "/dev/stdout"] {
        let output = judge(&["--report", "json", path]);
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert_eq!(
            report["submissions"].as_array().map(Vec::len),
            Some(2),
            "{report}"
        );
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && told.contains("2 submissions: 2 as expected"),
            "{output:?}"
        );
    }
    for [one, other] in [
        ["-", "/dev/stdout"],
        ["-", "-"],
        ["out", "./out"],
        ["out", "tmp/../out"],
    ] {
        let output = judge(&["--report", "json", one, "--report", "html", other]);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(125), 0),
            "{one} {other}: {output:?}"
        );
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let refused = told.contains(&format!(
            "--report html {other}: another report goes there already"
        ));
        assert!(refused && told.lines().count() == 1, "{told}");
    }
    assert!(!package.directory.path().join("out").exists());
}

// --- failures that are ours ------------------------------------------------------------

#[test]
fn what_a_missing_compiler_is_for_is_skipped_and_a_judge_error_for_who_asks() {
    let package = Package::new("");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/x.ghost", "boo\n");
    let suites = package.directory.path().join("suites");
    fs::create_dir(&suites).unwrap();
    fs::write(
        suites.join("ghost.toml"),
        "name = \"ghost\"\ntitle = \"Ghost\"\nextensions = \
         [\"ghost\"]\n\n[tool.no-such-compiler]\npackage = \"ghost-tools\"\n\n[run]\ncommand = \
         [\"{no-such-compiler}\", \"{main}\"]\n\n[example]\nfile = \"x.ghost\"\nsource = \"boo\"\n",
    )
    .unwrap();
    package.submission("wrong_answer/y.nobody-knows.rb", "boo\n");
    let suites = ["--suites", suites.to_str().unwrap()];
    let judged = package.judge(&suites);
    judged
        .exits_with(0)
        .says("3 submissions: 1 as expected, 2 skipped: their languages cannot be used here")
        .says("skipped: Ghost cannot be used here: no-such-compiler is not installed")
        .says("y.nobody-knows.rb: neither extension nor first line tells the language");
    assert_eq!(
        (judged.verdict("x.ghost"), judged.verdict("double.sh")),
        ("none", "accepted")
    );
    for name in ["x.ghost", "y.nobody-knows.rb"] {
        let submission = judged.submission(name);
        assert_eq!(
            (&submission["not_judged"], &submission["as_expected"]),
            (&"no_language".into(), &Value::Null)
        );
    }
    // That nothing was judged is no success.
    package
        .judge(&[&suites[..], &["wrong_answer"]].concat())
        .exits_with(2)
        .says("2 skipped");
    let quiet = package.judge(&[&suites[..], &["wrong_answer", "--quiet"]].concat());
    quiet
        .exits_with(2)
        .says("nothing was judged: all 2 submissions were skipped")
        .says("no-such-compiler");
    assert_eq!(
        (quiet.stdout.as_str(), quiet.stderr.lines().count()),
        ("", 1),
        "{quiet:?}"
    );
    for named in [
        "wrong_answer/x.ghost",
        "x.ghost",
        package
            .path()
            .join("submissions/wrong_answer/x.ghost")
            .to_str()
            .unwrap(),
    ] {
        let judged = package.judge(&[&suites[..], &[named, "accepted"]].concat());
        judged.exits_with(2).says("apt install ghost-tools");
        assert_eq!(
            (judged.verdict("x.ghost"), judged.verdict("double.sh")),
            ("judge_error", "accepted")
        );
    }
}

#[test]
fn no_room_for_files_is_a_judge_error_with_a_remedy() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let nowhere = package.directory.path().join("nowhere");
    let output = package
        .command(&[])
        .env("TMPDIR", &nowhere)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.contains("judge error") && told.contains("set TMPDIR to a directory with room"),
        "{told}"
    );
}

/// Judges the one submission with two jobs, and kills the supervisor whenever a run sleeps.
fn judge_and_kill(package: &Package, times: usize) -> (Option<Verdict>, String) {
    let machine = machine(2);
    let judge = Judge::new(
        &machine,
        Suites::builtin(),
        Cache::none(),
        Options::default(),
    );
    let problem = millibox_package::read(&package.path()).unwrap();
    let prepared = judge.problem(problem, &mut |_| ()).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..times {
                let pid = machine.supervisor().info().pid();
                let sleeps = || {
                    millibox_tests::processes_that_say("3.07")
                        .iter()
                        .any(|_| descendants(pid).len() > 7)
                };
                if !eventually(Duration::from_secs(30), || {
                    sleeps() || over.load(Ordering::SeqCst)
                }) {
                    return;
                }
                let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                // Until another one is there.
                eventually(Duration::from_secs(30), || {
                    machine.supervisor().info().pid() != pid.as_raw_nonzero().get() as u32
                        || over.load(Ordering::SeqCst)
                });
            }
        });
        let report = judge.submission(&prepared, &prepared.problem().submissions[0], &mut |_| ());
        over.store(true, Ordering::SeqCst);
        (report.verdict, report.reason)
    })
}

#[test]
fn a_killed_supervisor_is_started_again_once() {
    let package = Package::new("");
    package.submission("accepted/double.sh", &format!("sleep 3.07\n{DOUBLE}"));
    assert_eq!(
        judge_and_kill(&package, 1),
        (Some(Verdict::Accepted), String::new())
    );
    let (verdict, reason) = judge_and_kill(&package, 2);
    assert_eq!(verdict, Some(Verdict::JudgeError), "{reason}");
    assert!(
        reason.contains("supervisor died") && reason.contains("signal KILL"),
        "{reason}"
    );
}

#[test]
fn a_signal_ends_it_and_leaves_nothing() {
    let package = Package::new("");
    package
        .file("domjudge-problem.ini", "timelimit=100\n")
        .submission("accepted/sleeps.sh", "sleep 61.13\n");
    let report = package.directory.path().join("report.json");
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let child = package
            .command(&["--report", "json", report.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        assert!(eventually(Duration::from_secs(60), || {
            let sleeping = millibox_tests::processes_that_say("61.13");
            descendants(pid)
                .iter()
                .any(|process| sleeping.iter().any(|other| other.pid == process.pid))
        }));
        let family = descendants(pid);
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid as i32).unwrap(), signal)
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(128 + signal.as_raw()), "{told}");
        assert!(told.contains("interrupted"), "{told}");
        let read: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        assert_eq!(read["submissions"][0]["verdict"], Value::Null);
        let gone = || {
            family
                .iter()
                .all(|one| millibox_tests::process(one.pid).is_none_or(|now| now != *one))
        };
        assert!(eventually(Duration::from_secs(10), gone), "{family:?}");
        let left: Vec<_> = fs::read_dir(package.directory.path().join("tmp"))
            .unwrap()
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_package_that_only_root_can_read() {
    if !is_root() {
        return skip("only root can read what the sandbox's user cannot");
    }
    let package = Package::new("validation: custom\n");
    package
        .file("output_validators/check.sh", VALIDATOR)
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "echo 2\n");
    for (path, mode) in [
        ("", 0o700),
        ("data", 0o700),
        ("data/secret/1.in", 0o600),
        ("data/secret/1.ans", 0o600),
    ] {
        fs::set_permissions(package.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    package.judge(&[]).exits_with(0);
}

#[test]
fn a_packages_own_checker_sees_what_links_within_it_lead_to() {
    let package = Package::newer("");
    let validator = "read n <$1; read a; [ \"$a\" = $((n * 2)) ] || exit 43\n[ -e \
                     /judge/data/secret/b/1.in ] && [ ! -e /judge/data/problem.yaml ] && exit 42\n";
    package
        .file("output_validator/check.sh", validator)
        .file("attachments/big.in", "500\n")
        .file("attachments/more/factor.txt", "2\n")
        .file("data/secret/2.ans", "1000\n")
        .file("data/secret/2.files/one.txt", "1\n")
        .submission(
            "accepted/double.sh",
            "read n; [ ! -e one.txt ] || read f <more/factor.txt; echo $((n * ${f-2}))\n",
        )
        .submission("wrong_answer/two.sh", "echo 2\n");
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, package.path().join(path)).unwrap()
    };
    link("../../attachments/big.in", "data/secret/2.in");
    link("../sample", "data/secret/b");
    link("../../../attachments/more", "data/secret/2.files/more");
    let judged = package.judge(&[]);
    judged.exits_with(0);
    assert_eq!(judged.tests("double.sh"), ["accepted"; 4]);
    let name = |test: usize| {
        judged.submission("double.sh")["tests"][test]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!([name(2), name(3)], ["secret/2", "secret/b/1"]);

    // What does not belong to a test leads nowhere else either.
    link("../../../tmp", "data/secret/.elsewhere");
    package
        .judge(&[])
        .exits_with(2)
        .says("data/secret/.elsewhere leads to ");
}

// --- reports and options ---------------------------------------------------------------

#[test]
fn reports_in_all_formats() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let path = |name: &str| {
        package
            .directory
            .path()
            .join(name)
            .to_str()
            .unwrap()
            .to_owned()
    };
    let (html, junit) = (path("r.html"), path("r.xml"));
    package
        .judge(&["--report", "html", &html, "--report", "junit", &junit])
        .exits_with(0);
    assert!(fs::read_to_string(&html).unwrap().contains("double.sh"));
    assert!(fs::read_to_string(&junit).unwrap().contains("<testsuite"));
    let report = package.judge(&[]).report;
    assert_eq!(
        (
            report["problem"]["name"].as_str(),
            report["problem"]["format"].as_str()
        ),
        (Some("Double"), Some("legacy"))
    );
    let cpus = report["submissions"][0]["tests"][0]["cpus"]
        .as_array()
        .unwrap();
    assert_eq!(cpus.len(), 1);
    // In words, too, where somebody wants all of it.
    let titles = |judged: &Judged| {
        judged
            .stdout
            .lines()
            .find(|line| line.contains("verdict"))
            .unwrap()
            .to_owned()
    };
    let all = package.judge(&["--verbose"]);
    let (title, line) = (
        titles(&all),
        all.stdout
            .lines()
            .find(|line| line.contains("secret/1"))
            .unwrap(),
    );
    let column = title.find("CPU").unwrap_or_else(|| panic!("{title}"));
    let cpu = all.report["submissions"][0]["tests"][1]["cpus"][0]
        .as_u64()
        .unwrap();
    assert_eq!(line[column..].trim(), cpu.to_string(), "{line}");
    assert!(!titles(&package.judge(&["double.sh"])).contains("CPU"));
    package
        .judge(&["--report", "pdf", "x"])
        .exits_with(125)
        .says("there is no format \"pdf\"");
    package
        .judge(&["--report", "html", "/no/such/place"])
        .exits_with(125)
        .says("--report /no/such/place");
}

#[test]
fn tests_run_where_they_are_told_to() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let allowed = fs::read_to_string("/proc/self/status").unwrap();
    let list = allowed
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap()
        .trim();
    let last = list.rsplit([',', '-']).next().unwrap();
    let judged = package.judge(&["--cpus", last, "--jobs", "2"]);
    let tests = judged.exits_with(0).submission("double.sh")["tests"]
        .as_array()
        .unwrap();
    assert!(
        tests
            .iter()
            .all(|test| test["cpus"][0] == last.parse::<u64>().unwrap()),
        "{tests:?}"
    );
    package
        .judge(&["--cpus", "1023"])
        .exits_with(125)
        .says("--cpus: CPU 1023 cannot be used");
    package
        .judge(&["--jobs", "0"])
        .exits_with(125)
        .says("--jobs");
}

#[test]
fn what_was_compiled_is_kept_unless_that_is_not_wanted() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let from_cache = |more: &[&str]| {
        let compilation = package.judge(more).submission("double.sh")["compilation"].clone();
        // What the compiler used is known of the one that ran.
        assert_eq!(
            compilation["figures"].is_null(),
            compilation["from_cache"] == true,
            "{compilation}"
        );
        compilation["from_cache"].clone()
    };
    assert_eq!(from_cache(&["--no-cache"]), false);
    assert_eq!(
        (
            from_cache(&[]),
            from_cache(&[]),
            from_cache(&["--no-cache"])
        ),
        (false.into(), true.into(), false.into())
    );
    let page = |more: &[&str]| {
        package
            .judge(&[&["--report", "html", "-"], more].concat())
            .stdout
    };
    assert!(page(&[]).contains("<p>Compiled before</p>"));
    assert!(page(&["--no-cache"]).contains("<p>Compiled in "));
}

/// As with another user's HOME (sudo, cron).
#[test]
fn who_can_keep_nothing_is_warned_and_judged() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(".cache"), "").unwrap();
    for (variable, value) in [
        ("HOME", home.path().to_owned()),
        ("XDG_CACHE_HOME", home.path().join(".cache")),
    ] {
        let mut command = package.command(&[]);
        let output = command
            .env_remove("XDG_CACHE_HOME")
            .env(variable, value)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{variable}: {output:?}");
        assert_eq!(
            said.matches("millibox: warning: cannot keep compiled programs in ")
                .count(),
            1,
            "{said}"
        );
        assert!(
            said.contains("--no-cache") && said.contains(&format!("{variable} leads there")),
            "{said}"
        );
    }
}

#[test]
fn limits_are_not_weaker_than_they_say_unless_asked() {
    if has_cgroups() {
        return skip("there are cgroups");
    }
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let mut command = Command::new(executable("millibox"));
    let output = command.arg("judge").arg(package.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("choose --backend rlimit") && told.contains("millibox doctor"),
        "{told}"
    );
}

// --- the examples ----------------------------------------------------------------------

#[test]
fn submissions_of_the_examples_come_to_what_their_folders_say() {
    let examples = std::env::var_os("MILLIBOX_EXAMPLES").map(PathBuf::from);
    let examples =
        examples.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples"));
    if fs::read_dir(&examples).is_err() {
        return skip(&format!("{} cannot be read here", examples.display()));
    }
    let machine = machine(2);
    let judge = Judge::new(
        &machine,
        Suites::builtin(),
        Cache::none(),
        Options::default(),
    );
    let mut wrong = Vec::new();
    for name in ["causeway", "heaps", "leak", "stalls"] {
        let problem = millibox_package::read(&examples.join(name))
            .unwrap_or_else(|faults| panic!("{faults}"));
        let prepared = judge
            .problem(problem, &mut |_| ())
            .unwrap_or_else(|why| panic!("{why}"));
        for report in judge.submissions(&prepared, &prepared.problem().submissions, &mut |_| ()) {
            let points = report
                .name
                .split('/')
                .find_map(|part| part.strip_suffix("_points")?.parse::<f64>().ok());
            let fine = report.as_expected != Some(false)
                && points.is_none_or(|points| report.score == Some(points));
            if report.is_skipped() {
                skip(&format!("{}: {}", report.name, report.reason));
            } else if report.verdict == Some(Verdict::JudgeError) || !fine {
                // Without cgroups, memory that is not there is a crash.
                if !has_cgroups() && report.name.contains("memory") {
                    continue;
                }
                wrong.push(format!(
                    "{name}/{}: {} {:?}: {}",
                    report.name,
                    report.words(),
                    report.score,
                    report.reason
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
