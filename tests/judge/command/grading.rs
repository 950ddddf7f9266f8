//! Test groups, scores and graders.

use super::{DOUBLE, SPIN};
use crate::package::Package;
use millibox_tests::{ends_within, eventually, processes_with_argument, token};
use std::fs;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn groups_break_or_continue_and_score() {
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
    // `--fail-fast` overrides the settings of the groups.
    let judged = package.judge(&["but_one.sh", "--fail-fast"]);
    assert_eq!(
        judged.tests("but_one.sh"),
        ["wrong_answer", "none", "none", "none", "none"]
    );
}

/// Prints the sum of the scores. With the flag `half` it accepts, and prints half of the sum.
const GRADER: &str = r#"
sum=0 all=AC
while read verdict score; do
    [ $verdict = AC ] || all=$verdict
    sum=$((sum + score))
done
[ "$1" = half ] && echo AC $((sum / 2)) && exit
echo $all $sum
"#;

#[test]
fn custom_grader_decides_results_of_groups() {
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
    // For secret/a the sum is 20 or 0, and for secret/b it is 20 or 10; secret/1 adds 10.
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
        // Group a ends at its first test, and its grader still grades it.
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
    // The grader sees only the judged tests: 10 points, and half of 0 points.
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
fn faulty_grader_is_judge_error() {
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
    for (grader, message) in [
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
        // The grader sees neither the tests nor the package.
        (
            "cat /judge/*/* \"$0\"/../../../data/*/*.in && echo AC 1\n",
            "grader: exited with 1",
        ),
    ] {
        package.file("graders/grade.sh", grader);
        let judged = package.judge(&["--verbose"]);
        judged
            .exits_with(2)
            .prints(&format!("group secret: {message}"));
        assert_eq!(judged.verdict("double.sh"), "judge_error", "{grader}");
        assert_eq!(judged.tests("double.sh"), ["accepted", "accepted"]);
    }
    // The grader receives its flags, and it does not have to read its input.
    package.file("graders/grade.sh", "[ \"$*\" = 'a b' ] && echo AC 5\n");
    assert_eq!(
        package.judge(&[]).exits_with(0).submission("double.sh")["score"],
        5.0
    );
}

#[test]
fn signal_during_grading_ends_command() {
    let package = Package::new("type: scoring\n");
    let token = token();
    // The grader is slow only on the first submission.
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
        !processes_with_argument(&token).is_empty()
    });
    // After this time the other submissions are finished, and the second thread waits.
    std::thread::sleep(Duration::from_secs(2));
    millibox_tests::kill(child.id() as i32, rustix::process::Signal::INT);
    let ended = ends_within(&mut child, Duration::from_secs(10));
    assert!(grades, "the grader does not run");
    assert_eq!(ended.and_then(|ended| ended.code()), Some(130));
}

#[test]
fn minimizing_objective_prefers_fewer_points() {
    let package =
        Package::new("type: scoring\ngrading: {objective: min}\nvalidation: custom score\n");
    let package = package.test("secret/2", "1\n", "2\n");
    package.file(
        "data/testdata.yaml",
        "on_reject: continue\ngrader_flags: ignore_sample\nrange: 2 50\n",
    );
    // The score is the number that the submission prints.
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
        .prints("2 points, 2 would be best")
        .prints("4 points, 2 would be best");
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
        // This submission has the best score, so it is not partially accepted.
        ("partially_accepted/one.sh", two, no),
        ("partially_accepted/two.sh", &4.0.into(), yes),
        // A rejected submission has no score, because 0 would be the best score.
        ("wrong_answer/nine.sh", &serde_json::Value::Null, yes),
    ] {
        assert!(all.contains(&expected), "{expected:?}: {all:?}");
    }
    assert_eq!(judged.report["problem"]["objective"], "min");
}
