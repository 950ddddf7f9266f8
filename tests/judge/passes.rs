//! Multi-pass problems: the validator turns the output of one pass into the input of the next one.

use crate::package::{Judged, Package};

/// Counts down to zero, with one pass for each number: the validator writes N and expects N - 1.
const COUNTDOWN_VALIDATOR: &str = r#"
read n <"$1"
read reply
echo "$n: $reply" >>"$3judgemessage.txt"
test "$reply" = $((n - 1)) || exit 43
if [ "$reply" -gt 0 ]; then echo "$reply" >"$3nextpass.in"; fi
exit 42
"#;

const COUNTDOWN: &str = "read n\necho $((n - 1))\n";

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

/// Returns the verdict, number of passes, reason and comment of the last test.
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
fn pass_reads_input_left_by_previous_pass() {
    let package = package(3, COUNTDOWN_VALIDATOR);
    package
        .submission("accepted/down.sh", COUNTDOWN)
        .submission(
            "wrong_answer/at_last.sh",
            "read n\n[ $n = 1 ] && echo 5 || echo $((n - 1))\n",
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
        .prints("4 submissions: 4 as expected");
    let judged = package.judge(&["--tests", "secret/*"]);
    // Files that the validator left in its directory remain for the next pass.
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
fn limits_apply_to_each_pass_separately() {
    // Each pass uses 0.4 s of CPU time, and all passes together exceed the limit of 1 s.
    let package = package(4, COUNTDOWN_VALIDATOR);
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
        "the report has the maximum of one pass, not the sum: {time}"
    );
}

#[test]
fn validator_with_invalid_next_pass_is_judge_error() {
    let judge = |passes, validator: &str| {
        let package = package(passes, validator);
        package.submission("accepted/down.sh", COUNTDOWN);
        let judged = package.judge(&["--tests", "secret/*"]);
        judged.exits_with(2);
        judged.submission("down.sh")["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let too_many = judge(2, COUNTDOWN_VALIDATOR);
    assert!(too_many.contains(
        "pass 2: validator: requests another pass (nextpass.in), but the problem has at most 2"
    ));
    let rejects = judge(2, "echo 1 >\"$3nextpass.in\"\nexit 43\n");
    assert!(
        rejects.contains("rejects the output and still requests another pass"),
        "{rejects}"
    );
    // The judge opens only regular files.
    for strange in ["ln -s /judge/data/secret/1.ans", "mkfifo", "mkdir"] {
        let reason = judge(2, &format!("{strange} \"$3nextpass.in\"\nexit 42\n"));
        assert!(reason.contains("nextpass.in"), "{strange}: {reason}");
    }
}

#[test]
fn interactive_passes_are_judged() {
    let package = package(2, "");
    let header = "problem_format_version: 2023-07\nname: Down\nuuid: 1\ntype: [multi-pass, \
                  interactive]\nlimits: {time_limit: 1}\n";
    // Sends the number. The file `state` tells the second pass that a first one took place.
    let interactor = r#"
read n <"$1"
echo "$n"
read reply
test "$reply" = $((n - 1)) || exit 43
echo pass >>"$3judgemessage.txt"
if [ ! -e "$3state" ]; then echo 20 >"$3nextpass.in"; fi
echo seen >"$3state"
exit 42
"#;
    package
        .file("problem.yaml", header)
        .file("output_validator/validate.sh", interactor);
    package
        .submission("accepted/down.sh", COUNTDOWN)
        .submission(
            "wrong_answer/second.sh",
            "read n\n[ $n = 20 ] && echo 0 || echo $((n - 1))\n",
        )
        .submission(
            "run_time_error/second.sh",
            "read n\nif [ $n = 20 ]; then exit 9; fi\necho $((n - 1))\n",
        );
    for more in [&[][..], &["--relay"]] {
        let judged = package.judge(more);
        judged.exits_with(0).prints("3 submissions: 3 as expected");
        assert_eq!(
            outcome(&judged, "down.sh"),
            expected("accepted", 2, "", "pass\npass")
        );
    }
}
