//! Built-in checkers, and the conventions of ICPC, Sim and testlib.

use super::{Scene, assert_checker_ended, assert_judge_error, failure, icpc};
use crate::setting::{Data, limits, script, subject, supervisor};
use millibox::Outcome;
use millibox_judge::batch::Worker;
use millibox_judge::checker::CheckerInstance;
use millibox_judge::checker::custom::OutputValidator;
use millibox_judge::convention::AnswerFault;
use millibox_judge::failure::JudgeFailure;
use millibox_judge::result::Reason;
use millibox_judge::verdict::{Points, Verdict};
use millibox_package::model::{self, Convention};
use millibox_package::tokens::FlagError;
use std::sync::Arc;

#[test]
fn built_in_checkers_judge_outputs() {
    let supervisor = supervisor();
    let mut worker = Worker::new(&supervisor);
    let mut judge = |input: &str, answer: &str, checker: CheckerInstance, flags: &[&str]| {
        let result = Data::new(input, answer).judge(
            &mut worker,
            &subject(),
            &["echo"],
            &limits(),
            &checker,
            flags,
        );
        (result.verdict, result.reason, result.comment)
    };
    let accepted = (Verdict::Accepted, None, String::new());
    let wrong = |comment: &str| (Verdict::WrongAnswer, None, comment.to_owned());
    assert_eq!(
        judge("1  2\n", "1 2", CheckerInstance::Tokens, &[]),
        accepted
    );
    assert_eq!(
        judge("1 2", "1 2", CheckerInstance::Tokens, &["case_sensitive"]),
        accepted
    );
    assert_eq!(
        judge(
            "3.1415",
            "3.14",
            CheckerInstance::Tokens,
            &["float_tolerance", "1e-2"]
        ),
        accepted
    );
    assert_eq!(
        judge("1\n3", "1\n2", CheckerInstance::Tokens, &[]),
        wrong("Line 2, token 2: read '3', expected '2'")
    );
    assert_eq!(
        judge("1 \n2\n\n", "1\n2", CheckerInstance::Lines, &[]),
        accepted
    );
    assert_eq!(
        judge("1  2\n", "1 2", CheckerInstance::Lines, &[]),
        wrong("Line 1: read '1  2', expected '1 2'")
    );
    assert_eq!(judge("1\n", "1\n", CheckerInstance::Exact, &[]), accepted);
    assert_eq!(
        judge("1", "1\n", CheckerInstance::Exact, &[]),
        wrong("Byte 2 (line 1): read the end of the file, expected '\\n'")
    );
    for (checker, flag) in [
        (CheckerInstance::Tokens, "lenient"),
        (CheckerInstance::Lines, "case_sensitive"),
    ] {
        let (verdict, reason, _) = judge("1", "1", checker, &[flag]);
        assert_eq!(verdict, Verdict::JudgeError);
        let Some(Reason::NotChecked(failure)) = reason else {
            panic!("{reason:?}");
        };
        match &*failure {
            JudgeFailure::Flags(FlagError::Unknown { flag: unknown }) => {
                assert_eq!(*unknown, flag.into())
            }
            JudgeFailure::UnexpectedFlags { flags } => assert_eq!(flags, flag),
            _ => panic!("{failure:?}"),
        }
    }
}

#[test]
fn comments_are_short_and_printable() {
    let supervisor = supervisor();
    let output = [b"\x1b[31m\xff\xfe".as_slice(), &[b'y'; 5000]].concat();
    for checker in [
        CheckerInstance::Tokens,
        CheckerInstance::Lines,
        CheckerInstance::Exact,
    ] {
        let mut worker = Worker::new(&supervisor);
        let data = Data::new(&output, "expected");
        let result = data.judge(&mut worker, &subject(), &["echo"], &limits(), &checker, &[]);
        assert_eq!(result.verdict, Verdict::WrongAnswer);
        assert!(
            !result.comment.contains(char::is_control) && result.comment.len() < 300,
            "{:?}",
            result.comment
        );
    }
}

#[test]
fn icpc_checker_receives_files_and_flags() {
    let supervisor = supervisor();
    let text = r#"
        test "$(cat "$1")" = "6 7" || exit 1
        test "$(cat "$2")" = "42" || exit 2
        test "$(cat)" = "$(printf 'closed\nclosed\nclosed')" || exit 3
        case "$3" in */) ;; *) exit 4 ;; esac
        test "$(ls -A "$3")" = "" || exit 5
        test "$4 $5" = "one two" || exit 6
        test $# = 5 || exit 7
        echo "to the judges" >"$3judgemessage.txt"
        echo "to the team" >"$3teammessage.txt"
        echo 12.5 >"$3score.txt"
        exit 42
    "#;
    let mut scene = Scene::new(&supervisor, script(text), Convention::Icpc);
    // Each call creates a new feedback directory.
    for _ in 0..3 {
        let result = scene.judge(&["one", "two"]);
        assert_eq!((result.verdict, &result.reason), (Verdict::Accepted, &None));
        assert_eq!(result.comment, "to the judges\nto the team");
        assert_eq!(result.score, Some(Points::Absolute(12.5)));
        assert!(
            result
                .checker
                .is_some_and(|figures| figures.real_time_ns > 0)
        );
    }
    assert_judge_error(&scene.judge(&["one"]), AnswerFault::IcpcStatus(6));
}

#[test]
fn icpc_checker_exit_status_and_feedback_are_read() {
    let wrong = icpc("echo why >$3/judgemessage.txt; echo 1 >$3/score.txt; exit 43");
    assert_eq!(
        (wrong.verdict, wrong.comment.as_str()),
        (Verdict::WrongAnswer, "why")
    );
    assert_eq!(wrong.score, Some(Points::Absolute(1.0)));
    let silent = icpc("exit 43");
    assert_eq!(
        (silent.score, silent.comment.as_str()),
        (
            None,
            "the validator wrote no judgemessage.txt with a reason"
        )
    );
    assert_eq!(icpc("exit 42").comment, "");
    assert_eq!(icpc("echo no >$3/teammessage.txt; exit 43").comment, "no");
    let part = icpc("echo 0.5 >$3/score_multiplier.txt; exit 42");
    assert_eq!(
        (part.verdict, part.score),
        (Verdict::Accepted, Some(Points::Part(0.5)))
    );
    assert_judge_error(&icpc("exit 0"), AnswerFault::IcpcStatus(0));
    let useless = failure(&icpc("echo useless >&2; exit 1"));
    assert_eq!(
        (useless.fault, useless.stderr.as_str()),
        (AnswerFault::IcpcStatus(1), "useless")
    );
    assert_checker_ended(&icpc("kill -SEGV $$"), |outcome| {
        *outcome == Outcome::Signaled(11)
    });
    for text in ["many", "nan"] {
        assert_judge_error(
            &icpc(&format!("echo {text} >$3/score.txt; exit 42")),
            AnswerFault::NotANumber {
                file: "score.txt",
                text: text.to_owned(),
            },
        );
    }
    assert_judge_error(
        &icpc("echo 2 >$3/score_multiplier.txt; exit 42"),
        AnswerFault::Multiplier(2.0),
    );
    assert_judge_error(
        &icpc("echo 1 >$3/score.txt; echo 1 >$3/score_multiplier.txt; exit 42"),
        AnswerFault::BothScores,
    );
}

#[test]
fn checker_that_reads_nothing_is_accepted() {
    assert_eq!(icpc("exit 42").verdict, Verdict::Accepted);
    assert_eq!(icpc("exec <&-; exit 43").verdict, Verdict::WrongAnswer);
}

#[test]
fn sim_checker_output_is_read() {
    let supervisor = supervisor();
    let check = r#"
        test $# = 3 && test "$(cat "$1") $(cat "$2")" = "6 7 42" || exit 1
        test "$(cat "$3")" = "$(printf 'closed\nclosed\nclosed')" || exit 2
        (echo x >>"$3") 2>/dev/null && exit 3
    "#;
    let judge = |rest: &str| {
        Scene::new(
            &supervisor,
            script(&format!("{check}\n{rest}")),
            Convention::Sim,
        )
        .judge(&[])
    };
    let right = judge(r"printf 'OK\n'");
    assert_eq!(
        (right.verdict, right.score, right.reason),
        (Verdict::Accepted, None, None)
    );
    let part = judge(r"printf 'OK\n25\nwell\nwell\n'");
    assert_eq!(
        (part.verdict, part.score),
        (Verdict::Accepted, Some(Points::Part(0.25)))
    );
    assert_eq!(part.comment, "well\nwell");
    // The checkers in Sim's own packages write to standard error.
    let wrong = judge(r"printf 'WRONG\n\nno\n' >&2");
    assert_eq!(
        (wrong.verdict, wrong.comment.as_str()),
        (Verdict::WrongAnswer, "no")
    );
    let long = judge("echo OK; echo; head -c 100000 /dev/zero | tr '\\0' z");
    assert_eq!((long.verdict, long.comment.len()), (Verdict::Accepted, 256));
    let verdict = |line: &str| AnswerFault::SimVerdict(line.to_owned());
    assert_judge_error(&judge("echo MAYBE"), verdict("MAYBE"));
    let random = failure(&judge("head -c 3000 /dev/urandom"));
    assert!(
        matches!(random.fault, AnswerFault::SimVerdict(_)),
        "{random:?}"
    );
    assert_judge_error(
        &judge(r"printf 'OK\n110\n'"),
        AnswerFault::SimPercentage("110".to_owned()),
    );
    assert_judge_error(&judge("echo OK; exit 1"), AnswerFault::SimStatus(1));
    assert_judge_error(&judge("true"), verdict(""));
}

#[test]
fn testlib_checker_exit_status_is_read() {
    let supervisor = supervisor();
    let judge = |rest: &str| {
        let check = r#"
            test "$(cat "$1") $(cat "$3")" = "6 7 42" || exit 9
            test "$(head -n 1 "$2")" = closed || exit 9
        "#;
        Scene::new(
            &supervisor,
            script(&format!("{check}\n{rest}")),
            Convention::Testlib,
        )
        .judge(&[])
    };
    let right = judge("echo ok 1 number >&2; exit 0");
    assert_eq!(
        (right.verdict, right.comment.as_str()),
        (Verdict::Accepted, "ok 1 number"),
        "{right:?}"
    );
    assert_eq!(judge("exit 1").verdict, Verdict::WrongAnswer);
    assert_eq!(judge("exit 2").verdict, Verdict::WrongAnswer);
    assert_eq!(
        judge("echo points 0.5 >&2; exit 7").score,
        Some(Points::Part(0.5))
    );
    let failed = failure(&judge("echo FAIL no answer >&2; exit 3"));
    assert_eq!(
        (failed.fault, failed.stderr.as_str()),
        (AnswerFault::TestlibFail, "FAIL no answer")
    );
    assert_eq!(
        judge("echo 'partially correct (50) so so' >&2; exit 50").score,
        Some(Points::Part(0.25))
    );
    assert_judge_error(&judge("exit 50"), AnswerFault::TestlibStatus(50));
    assert_judge_error(&judge("absent"), AnswerFault::TestlibStatus(127));
}

#[test]
fn worker_alternates_between_checkers() {
    let supervisor = supervisor();
    let data = Data::new("6 7\n", "42\n");
    let custom = |text: &str, convention| {
        let custom = OutputValidator::new(
            &supervisor,
            script(text),
            convention,
            data.path(),
            &model::Limits::default(),
        );
        CheckerInstance::Custom(Arc::new(custom.unwrap()))
    };
    let (right, wrong) = (
        custom("exit 42", Convention::Icpc),
        custom("echo WRONG", Convention::Sim),
    );
    let mut worker = Worker::new(&supervisor);
    for _ in 0..3 {
        for (checker, verdict) in [(&right, Verdict::Accepted), (&wrong, Verdict::WrongAnswer)] {
            let result = data.judge(&mut worker, &subject(), &["echo"], &limits(), checker, &[]);
            assert_eq!(result.verdict, verdict, "{result:?}");
        }
    }
    // Several threads use one checker.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut worker = Worker::new(&supervisor);
                for _ in 0..5 {
                    let result =
                        data.judge(&mut worker, &subject(), &["echo"], &limits(), &wrong, &[]);
                    assert_eq!(result.verdict, Verdict::WrongAnswer, "{result:?}");
                }
            });
        }
    });
}

#[test]
fn missing_checker_program_is_judge_error() {
    let supervisor = supervisor();
    let mut absent = script("");
    absent.argv = vec!["/box/absent".into()];
    let mut scene = Scene::new(&supervisor, absent, Convention::Icpc);
    assert_checker_ended(&scene.judge(&[]), |outcome| {
        matches!(outcome, Outcome::NotStarted(_))
    });
}
