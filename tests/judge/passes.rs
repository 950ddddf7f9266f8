//! Multi-pass problems: a submission is run again on what the validator makes of its output.

use crate::package::{Judged, Package};

/// Counts down to zero, a pass for each number: reads N, wants N - 1.
const COUNTS: &str = r#"
read n <"$1"
read said
echo "$n: $said" >>"$3judgemessage.txt"
test "$said" = $((n - 1)) || exit 43
if [ "$said" -gt 0 ]; then echo "$said" >"$3nextpass.in"; fi
exit 42
"#;

const COUNTS_DOWN: &str = "read n\necho $((n - 1))\n";

fn package(passes: u32, validator: &str) -> Package {
    let package = Package::newer("");
    let header = format!(
        "problem_format_version: 2023-07\nname: Down\nuuid: 1\ntype: multi-pass\n\
         limits: {{time_limit: 1, validation_passes: {passes}}}\n"
    );
    package
        .file("problem.yaml", &header)
        .file("output_validator/validate.sh", validator);
    package
        .test("sample/1", "1\n", "")
        .test("secret/1", "3\n", "")
}

/// Of the last test: verdict, passes, reason, comment.
fn outcome(judged: &Judged, name: &str) -> (String, u64, String, String) {
    let test = &judged.submission(name)["tests"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    let text = |key: &str| test[key].as_str().unwrap_or("none").to_owned();
    (
        text("verdict"),
        test["passes"].as_u64().unwrap_or(0),
        text("reason"),
        text("comment"),
    )
}

fn expected(
    verdict: &str,
    passes: u64,
    reason: &str,
    comment: &str,
) -> (String, u64, String, String) {
    (
        verdict.to_owned(),
        passes,
        reason.to_owned(),
        comment.to_owned(),
    )
}

#[test]
fn each_pass_reads_what_the_last_one_left() {
    let package = package(3, COUNTS);
    package
        .submission("accepted/down.sh", COUNTS_DOWN)
        .submission(
            "wrong_answer/at_last.sh",
            "read n\nif [ $n = 1 ]; then echo 5; else echo $((n - 1)); fi\n",
        )
        .submission(
            "run_time_error/at_last.sh",
            "read n\nif [ $n = 2 ]; then exit 7; fi\necho $((n - 1))\n",
        )
        .submission(
            "time_limit_exceeded/at_last.sh",
            "read n\nwhile [ $n = 1 ]; do :; done\necho $((n - 1))\n",
        );
    package
        .judge(&[])
        .exits_with(0)
        .says("4 submissions: 4 as expected");
    let judged = package.judge(&["--tests", "secret/*"]);
    // What the validator left in its directory is there in the next pass.
    assert_eq!(
        outcome(&judged, "down.sh"),
        expected("accepted", 3, "", "3: 2\n2: 1\n1: 0")
    );
    let wrong = outcome(&judged, "wrong_answer/at_last.sh");
    assert_eq!(
        wrong,
        expected("wrong_answer", 3, "pass 3", "3: 2\n2: 1\n1: 5")
    );
    assert_eq!(
        outcome(&judged, "run_time_error/at_last.sh"),
        expected("run_time_error", 2, "pass 2: exited with 7", "")
    );
}

#[test]
fn limits_are_those_of_one_pass() {
    // Each pass takes 0.4 s of CPU time, all of them more than the limit of 1 s.
    let package = package(4, COUNTS);
    let spins =
        "import time\nn = int(input())\nwhile time.process_time() < 0.4: pass\nprint(n - 1)\n";
    package.submission("accepted/spins.py", spins);
    let judged = package.judge(&["--tests", "secret/*"]);
    judged.exits_with(0);
    let test = &judged.submission("spins.py")["tests"][0];
    assert_eq!(test["passes"], 3);
    let time = |key: &str| test["figures"][key].as_u64().unwrap();
    let time = time("cpu_user_ns") + time("cpu_system_ns");
    assert!(
        (390_000_000..1_000_000_000).contains(&time),
        "the most of one pass, not all together: {time}"
    );
}

#[test]
fn a_validator_that_wants_what_it_cannot_have_has_failed() {
    let judge = |passes, validator: &str| {
        let package = package(passes, validator);
        package.submission("accepted/down.sh", COUNTS_DOWN);
        let judged = package.judge(&["--tests", "secret/*"]);
        judged.exits_with(2);
        judged.submission("down.sh")["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let too_many = judge(2, COUNTS);
    assert!(too_many.contains(
        "pass 2: validator: requests another pass (nextpass.in), but the problem has at most 2"
    ));
    let rejects = judge(2, "echo 1 >\"$3nextpass.in\"\nexit 43\n");
    assert!(
        rejects.contains("rejects the output and still requests another pass"),
        "{rejects}"
    );
    // Nothing is opened that could lead elsewhere.
    for strange in ["ln -s /judge/data/secret/1.ans", "mkfifo", "mkdir"] {
        let says = judge(2, &format!("{strange} \"$3nextpass.in\"\nexit 42\n"));
        assert!(says.contains("nextpass.in"), "{strange}: {says}");
    }
}

#[test]
fn passes_may_be_conversations() {
    let package = package(2, "");
    let header = "problem_format_version: 2023-07\nname: Down\nuuid: 1\ntype: [multi-pass, \
                  interactive]\nlimits: {time_limit: 1}\n";
    // Tells the number and a secret word that only it knows of the pass before.
    let interactor = r#"
read n <"$1"
echo "$n"
read said
test "$said" = $((n - 1)) || exit 43
echo pass >>"$3judgemessage.txt"
if [ ! -e "$3state" ]; then echo 20 >"$3nextpass.in"; fi
echo seen >"$3state"
exit 42
"#;
    package
        .file("problem.yaml", header)
        .file("output_validator/validate.sh", interactor);
    package
        .submission("accepted/down.sh", COUNTS_DOWN)
        .submission(
            "wrong_answer/second.sh",
            "read n\nif [ $n = 20 ]; then echo 0; else echo $((n - 1)); fi\n",
        )
        .submission(
            "run_time_error/second.sh",
            "read n\nif [ $n = 20 ]; then exit 9; fi\necho $((n - 1))\n",
        );
    for more in [&[][..], &["--relay"]] {
        let judged = package.judge(more);
        judged.exits_with(0).says("3 submissions: 3 as expected");
        assert_eq!(
            outcome(&judged, "down.sh"),
            expected("accepted", 2, "", "pass\npass")
        );
    }
}
