//! Verdicts, expectations, and the choice of submissions and tests.

use super::{DOUBLE, SPIN, machine};
use crate::package::{Package, has_cgroups};
use crate::setting::supervisor;
use millibox_judge::judge::{Judge, Options};
use millibox_judge::verdict::Verdict;
use millibox_languages::suite::Suites;
use millibox_tests::{has_cgroups_or_skips, shared_cache, skip};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn each_verdict_matches_its_directory() {
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
    judged.exits_with(0).prints("6 submissions: 6 as expected");
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
fn submission_over_memory_limit_has_memory_limit_verdict() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
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
    // The option overrides the package's limit.
    let test = &package.judge(&["--memory-limit", "16M"]).report["submissions"][0]["tests"][0];
    assert_eq!(test["limits"]["memory_bytes"], 16 << 20);
}

#[test]
fn unexpected_verdict_is_reported_and_exits_with_1() {
    let package = Package::new("");
    package
        .submission("accepted/two.sh", "echo 2\n")
        .submission("wrong_answer/right.sh", DOUBLE);
    let judged = package.judge(&[]);
    judged
        .exits_with(1)
        .prints("UNEXPECTED: expected accepted")
        .prints("UNEXPECTED: expected wrong answer");
    judged.prints("2 submissions: 2 UNEXPECTED");
    assert_eq!(judged.submission("two.sh")["as_expected"], false);
    package
        .judge(&["--quiet"])
        .exits_with(1)
        .prints("UNEXPECTED");
    fs::remove_dir_all(package.path().join("submissions/wrong_answer")).unwrap();
    package.submission("accepted/two.sh", DOUBLE);
    let quiet = package.judge(&["--quiet"]);
    assert_eq!(
        (quiet.status, quiet.stdout.as_str(), quiet.stderr.as_str()),
        (0, "", "")
    );
}

#[test]
fn submissions_are_selected_by_name_path_or_directory() {
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
        .prints("could be any of run_time_error/two.sh, wrong_answer/two.sh");
    package
        .judge(&["four.sh"])
        .exits_with(125)
        .prints("there is no file or directory four.sh");
    package
        .judge(&["wrong_answre"])
        .exits_with(125)
        .prints("did you mean wrong_answer?");
    package
        .judge(&["accepted/doubel.sh"])
        .exits_with(125)
        .prints("did you mean accepted/double.sh?");

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
        .prints("wrong answer: test secret/1");
    // `--quiet` still explains an exit status other than 0.
    let quiet = package.judge(&["-q", &outside("mine.sh", "echo 2\n")]);
    quiet
        .exits_with(1)
        .prints("secret/1  wrong answer")
        .prints("wrong answer: test secret/1");
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
        .prints("secret/1  wrong answer")
        .prints("sample/1  run-time error");
    judged.prints("2 submissions: 2 without an expectation (1 wrong answer, 1 run-time error)\n");
    let unknown = package.judge(&[&outside("mine.txt", DOUBLE)]);
    unknown
        .exits_with(2)
        .prints("neither the extension nor the first line")
        .prints("--language");
    assert!(
        !unknown.stdout.contains("sample/1"),
        "no test may run: {unknown:?}"
    );
    package
        .judge(&[&outside("mine.txt", DOUBLE), "--language", "bash"])
        .exits_with(0);
    // A directory that contains the package selects the package's submissions and no others.
    let output = package
        .command(&["."])
        .current_dir(package.directory.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        printed.contains("4 submissions: 4 as expected\n") && !printed.contains("mine"),
        "{printed}"
    );
    package
        .judge(&[&outside("mine.txt", DOUBLE), "--language", "bahs"])
        .exits_with(125)
        .prints("did you mean \"bash\"?");
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
        .prints("a directory without files is not a submission");
}

#[test]
fn failure_with_closed_stderr_exits_with_125() {
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

#[test]
fn first_failure_in_test_order_decides_verdict() {
    let mut package = Package::new("");
    for number in 2..9 {
        package = package.test(
            &format!("secret/{number}"),
            &format!("{number}\n"),
            &format!("{}\n", number * 2),
        );
    }
    // Test 2 is slow and wrong; the tests after it crash at once.
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
fn tests_option_selects_tests() {
    let package = Package::new("").test("secret/2", "5\n", "10\n");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "echo 2\n");
    let judged = package.judge(&["--tests", "s*/1"]);
    // The wrong submission may pass all selected tests.
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
        .prints("none of its 3 tests matches secret/3");
    package
        .judge(&["--tests", "[a"])
        .exits_with(125)
        .prints("--tests");
}

#[test]
fn tests_option_scores_only_selected_tests() {
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
    package.judge(&[]).exits_with(0).prints("100");
    let judged = package.judge(&["--tests", "secret/g1/*"]);
    assert_eq!(judged.exits_with(0).submission("double.sh")["score"], 40.0);
    // The expected verdict remains "accepted".
    package
        .submission("accepted/double.sh", "echo 2\n")
        .judge(&["--tests", "secret/g1/*"])
        .exits_with(1);
}

#[test]
fn required_verdict_must_occur_in_some_test() {
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
    judged.prints("run-time error or memory limit in some test");
    // With selected tests, the required verdict may be missing.
    package.judge(&["--tests", "secret/2"]).exits_with(0);
    package.submission(
        "submissions.yaml",
        "mixed/*: {permitted: [TLE]}\nmixed/w*: {permitted: [WA]}\n",
    );
    package
        .judge(&[])
        .exits_with(2)
        .prints("no verdict of mixed/wrong.sh satisfies all matching patterns");
}

#[test]
fn default_checker_reads_hexadecimal_only_in_legacy_format() {
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

/// Judges the submissions of an example. They wait for limits most of the time, so the examples are
/// tests of their own that run at once.
fn submissions_have_expected_verdicts(example: &str) {
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
        shared_cache(),
        Options::default(),
    );
    let mut wrong = Vec::new();
    let problem =
        millibox_package::read(&examples.join(example)).unwrap_or_else(|faults| panic!("{faults}"));
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
            // Without cgroups, a program that exceeds its memory limit crashes.
            if !has_cgroups() && report.name.contains("memory") {
                continue;
            }
            wrong.push(format!(
                "{example}/{}: {} {:?}: {}",
                report.name,
                report.words(),
                report.score,
                report.reason
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn submissions_of_causeway_have_expected_verdicts() {
    submissions_have_expected_verdicts("causeway");
}

#[test]
fn submissions_of_heaps_have_expected_verdicts() {
    submissions_have_expected_verdicts("heaps");
}

#[test]
fn submissions_of_leak_have_expected_verdicts() {
    submissions_have_expected_verdicts("leak");
}

#[test]
fn submissions_of_stalls_have_expected_verdicts() {
    submissions_have_expected_verdicts("stalls");
}
