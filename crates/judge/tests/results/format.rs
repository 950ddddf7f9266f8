//! Tests points and verdicts by the rules of the ICPC format, from a package's files to the
//! submission. docs/reference/judging.md lists the differences from other judges.

use crate::tree::judge;
use millibox_judge::scoring::Plan;
use millibox_judge::verdict::Verdict::{self, *};
use std::fs;

/// A package with tests and files.
struct Package<'a> {
    tests: &'a [&'a str],
    files: &'a [(&'a str, &'a str)],
}

impl Package<'_> {
    #[track_caller]
    fn assert_result(&self, words: &str, verdict: Verdict, points: f64) {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("submissions/accepted/a.py", "");
        for test in self.tests {
            write(&format!("data/{test}.in"), "");
            write(&format!("data/{test}.ans"), "");
        }
        for (name, text) in self.files {
            write(name, text);
        }
        let problem =
            millibox_package::read(directory.path()).unwrap_or_else(|faults| panic!("{faults}"));
        let plan = Plan::new(&problem).unwrap();
        let progress = judge(&plan, words);
        let submission = progress.submission();
        assert_eq!(
            (submission.verdict, submission.points),
            (Some(verdict), Some(points)),
            "{words}"
        );
    }
}

const LEGACY: (&str, &str) = ("problem.yaml", "name: P\ntype: scoring\n");
const TESTS: &[&str] = &["sample/1", "secret/a/1", "secret/a/2", "secret/b/1"];
const A: (&str, &str) = ("data/secret/a/testdata.yaml", "accept_score: 10\n");
const B: (&str, &str) = ("data/secret/b/testdata.yaml", "accept_score: 20\n");

#[test]
fn accept_score_applies_to_each_test_and_samples_count() {
    let files = &[
        LEGACY,
        A,
        B,
        ("data/testdata.yaml", "on_reject: continue\n"),
    ];
    let package = Package {
        tests: TESTS,
        files,
    };
    package.assert_result("AC AC AC AC", Accepted, 1.0 + 2.0 * 10.0 + 20.0);
    // A group that is not accepted has points as well.
    package.assert_result("AC AC WA AC", WrongAnswer, 1.0 + 10.0 + 20.0);
    // The worst verdict counts, not the first.
    package.assert_result("WA AC WA TL", TimeLimit, 10.0);
    package.assert_result("AC WA=4 AC WA", WrongAnswer, 1.0 + 4.0 + 10.0);
}

#[test]
fn ignore_sample_drops_results_of_samples() {
    let all = (
        "data/testdata.yaml",
        "on_reject: continue\ngrader_flags: ignore_sample\n",
    );
    let package = Package {
        tests: TESTS,
        files: &[LEGACY, A, B, all],
    };
    package.assert_result("WA AC AC AC", Accepted, 40.0);
    package.assert_result("AC WA RE AC", RunTimeError, 20.0);
}

#[test]
fn min_flag_counts_group_points_once() {
    // This is the way to give points to whole groups in this format.
    let all = (
        "data/testdata.yaml",
        "on_reject: continue\ngrader_flags: ignore_sample\n",
    );
    let secret = (
        "data/secret/testdata.yaml",
        "on_reject: continue\ngrader_flags: sum\n",
    );
    let a = (
        "data/secret/a/testdata.yaml",
        "on_reject: break\naccept_score: 10\ngrader_flags: min\n",
    );
    let b = (
        "data/secret/b/testdata.yaml",
        "on_reject: break\naccept_score: 20\ngrader_flags: min\n",
    );
    let package = Package {
        tests: TESTS,
        files: &[LEGACY, all, secret, a, b],
    };
    package.assert_result("AC AC AC AC", Accepted, 30.0);
    package.assert_result("AC AC WA AC", WrongAnswer, 20.0);
    package.assert_result("AC WA - AC", WrongAnswer, 20.0);
}

#[test]
fn successor_format_sums_groups_and_honours_require_pass() {
    let header = (
        "problem.yaml",
        "problem_format_version: 2025-09\nname: P\nuuid: 1\ntype: scoring\n",
    );
    let a = ("data/secret/a/test_group.yaml", "max_score: 40\n");
    let b = (
        "data/secret/b/test_group.yaml",
        "max_score: 60\nscore_aggregation: sum\nrequire_pass: secret/a\n",
    );
    let tests = &[
        "sample/1",
        "secret/a/1",
        "secret/a/2",
        "secret/b/1",
        "secret/b/2",
    ];
    let package = Package {
        tests,
        files: &[header, a, b],
    };
    package.assert_result("AC AC AC AC AC", Accepted, 100.0);
    package.assert_result("WA AC AC AC=12.5 WA", WrongAnswer, 52.5);
    package.assert_result("AC AC WA - -", WrongAnswer, 0.0);
}
