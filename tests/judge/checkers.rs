//! Checkers: the built-in ones, and programs of a package, well-behaved and not.

use crate::setting::{Data, MIB, compiled, limits, script, subject, supervisor};
use millibox::Supervisor;
use millibox_judge::batch::Worker;
use millibox_judge::checker::CheckerInstance;
use millibox_judge::checker::custom::OutputValidator;
use millibox_judge::feedback::{Feedback, FeedbackPlace};
use millibox_judge::program::Executable;
use millibox_judge::staging::Staged;
use millibox_judge::verdict::{COMMENT_LIMIT, Points, TestResult, Verdict};
use millibox_package::model::{self, Convention};
use millibox_tests::{is_root, needs_cgroups, share, skip};
use std::sync::Arc;
use std::time::Duration;

// --- built in --------------------------------------------------------------------------

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
        (
            result.verdict,
            if result.verdict == Verdict::JudgeError {
                result.reason
            } else {
                result.comment
            },
        )
    };
    let accepted = (Verdict::Accepted, String::new());
    let wrong = |comment: &str| (Verdict::WrongAnswer, comment.to_owned());
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
        let (verdict, reason) = judge("1", "1", checker, &[flag]);
        assert_eq!(verdict, Verdict::JudgeError);
        assert!(
            reason.starts_with("checker: ") && reason.contains(flag),
            "{reason}"
        );
    }
}

#[test]
fn comments_are_fit_to_be_shown() {
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

// --- programs --------------------------------------------------------------------------

/// What comes of a submission that answers "42\n" for "6 7\n" (the judges say "42\n", too), with
/// this checker.
struct Scene<'a> {
    worker: Worker<'a>,
    data: Data,
    checker: CheckerInstance,
}

impl<'a> Scene<'a> {
    fn new(
        supervisor: &'a Supervisor,
        executable: Executable,
        convention: Convention,
    ) -> Scene<'a> {
        Scene::limited(
            supervisor,
            executable,
            convention,
            &model::Limits::default(),
        )
    }

    fn limited(
        supervisor: &'a Supervisor,
        executable: Executable,
        convention: Convention,
        limits: &model::Limits,
    ) -> Scene<'a> {
        let data = Data::new("6 7\n", "42\n");
        let custom = OutputValidator::new(supervisor, executable, convention, data.path(), limits)
            .expect("a checker");
        let checker = CheckerInstance::Custom(Arc::new(custom));
        Scene {
            worker: Worker::new(supervisor),
            data,
            checker,
        }
    }

    fn judge(&mut self, flags: &[&str]) -> TestResult {
        let arguments = ["open", "/absent", "/judge/data/1.ans", "/judge/test/output"];
        self.data.judge(
            &mut self.worker,
            &subject(),
            &arguments,
            &limits(),
            &self.checker,
            flags,
        )
    }
}

fn icpc(text: &str) -> TestResult {
    let supervisor = supervisor();
    let mut scene = Scene::new(&supervisor, script(text), Convention::Icpc);
    scene.judge(&[])
}

fn judge_error(result: &TestResult, reason: &str) {
    assert_eq!(result.verdict, Verdict::JudgeError, "{result:?}");
    assert!(
        result.reason.starts_with("checker: ") && result.reason.contains(reason),
        "{}",
        result.reason
    );
    // Nothing is said of the submission, but how it ran is known.
    assert!(result.run.is_some());
}

#[test]
fn an_icpc_checker_is_called_as_the_format_says() {
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
    // The feedback directory is fresh each time.
    for _ in 0..3 {
        let result = scene.judge(&["one", "two"]);
        assert_eq!(
            (result.verdict, result.reason.as_str()),
            (Verdict::Accepted, "")
        );
        assert_eq!(result.comment, "to the judges\nto the team");
        assert_eq!(result.score, Some(Points::Absolute(12.5)));
        assert!(
            result
                .checker
                .is_some_and(|figures| figures.real_time_ns > 0)
        );
    }
    judge_error(&scene.judge(&["one"]), "exited with 6");
}

#[test]
fn an_icpc_checkers_answers() {
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
    judge_error(&icpc("exit 0"), "exited with 0");
    judge_error(
        &icpc("echo of no use >&2; exit 1"),
        "exited with 1, not with 42 (accepted) or 43 (wrong answer); standard error: of no use",
    );
    judge_error(&icpc("kill -SEGV $$"), "killed by signal SEGV");
    judge_error(
        &icpc("echo many >$3/score.txt; exit 42"),
        "\"many\", which is not a number",
    );
    judge_error(&icpc("echo nan >$3/score.txt; exit 42"), "not a number");
    judge_error(
        &icpc("echo 2 >$3/score_multiplier.txt; exit 42"),
        "not between 0 and 1",
    );
    judge_error(
        &icpc("echo 1 >$3/score.txt; echo 1 >$3/score_multiplier.txt; exit 42"),
        "both",
    );
}

#[test]
fn a_checker_need_not_read() {
    assert_eq!(icpc("exit 42").verdict, Verdict::Accepted);
    assert_eq!(icpc("exec <&-; exit 43").verdict, Verdict::WrongAnswer);
}

#[test]
fn a_checker_can_write_in_its_feedback_directory_only() {
    let text = r#"
        for file in "$1" "$2" /judge/data/new /judge/test/new /judge/new /new /usr/new; do
            (echo x >>"$file") 2>/dev/null && echo "wrote $file" >>"$3/judgemessage.txt"
        done
        (echo x >&0) 2>/dev/null && echo "wrote the output" >>"$3/judgemessage.txt"
        exit 42
    "#;
    let result = icpc(text);
    assert_eq!(
        (result.verdict, result.comment.as_str()),
        (Verdict::Accepted, "")
    );
}

#[test]
fn an_output_cannot_be_changed_by_the_checker_even_if_it_opens_it_again() {
    let supervisor = supervisor();
    let program = compiled(
        r#"
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdio.h>
        #include <sys/mman.h>
        #include <unistd.h>
        int main(int count, char **arguments) {
            char first = 0;
            if (pread(0, &first, 1, 0) != 1 || first != 'c') return 1;
            int again = open("/proc/self/fd/0", O_RDWR);
            if (write(0, "x", 1) == 1 || ftruncate(0, 0) == 0) return 2;
            if (again >= 0) {
                if (write(again, "x", 1) == 1 || ftruncate(again, 0) == 0) return 3;
                if (mmap(0, 1, PROT_WRITE, MAP_SHARED, again, 0) != MAP_FAILED) return 4;
            }
            return count == 4 && arguments[3] ? 42 : 5;
        }"#,
    );
    let mut scene = Scene::new(&supervisor, program, Convention::Icpc);
    let result = scene.judge(&[]);
    assert_eq!(
        (result.verdict, result.reason.as_str()),
        (Verdict::Accepted, "")
    );
}

#[test]
fn sim_checkers() {
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
        (right.verdict, right.score, right.reason.as_str()),
        (Verdict::Accepted, None, "")
    );
    let part = judge(r"printf 'OK\n25\nwell\nwell\n'");
    assert_eq!(
        (part.verdict, part.score),
        (Verdict::Accepted, Some(Points::Part(0.25)))
    );
    assert_eq!(part.comment, "well\nwell");
    // As the checkers of Sim's own packages do.
    let wrong = judge(r"printf 'WRONG\n\nno\n' >&2");
    assert_eq!(
        (wrong.verdict, wrong.comment.as_str()),
        (Verdict::WrongAnswer, "no")
    );
    let long = judge("echo OK; echo; head -c 100000 /dev/zero | tr '\\0' z");
    assert_eq!((long.verdict, long.comment.len()), (Verdict::Accepted, 256));
    judge_error(&judge("echo MAYBE"), "\"MAYBE\", neither OK nor WRONG");
    judge_error(&judge("head -c 3000 /dev/urandom"), "first line");
    judge_error(&judge(r"printf 'OK\n110\n'"), "\"110\"");
    judge_error(&judge("echo OK; exit 1"), "exited with 1");
    judge_error(&judge("true"), "first line");
}

#[test]
fn testlib_checkers() {
    let supervisor = supervisor();
    let judge = |rest: &str| {
        let check = r#"test "$(cat "$1") $(cat "$3")" = "6 7 42" && test "$(head -n 1 "$2")" = closed || exit 9"#;
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
    judge_error(
        &judge("echo FAIL no answer >&2; exit 3"),
        "failed (exit status 3); standard error: FAIL no answer",
    );
    assert_eq!(
        judge("echo 'partially correct (50) so so' >&2; exit 50").score,
        Some(Points::Part(0.25))
    );
    judge_error(&judge("exit 50"), "exited with 50");
    judge_error(&judge("absent"), "exited with 127");
}

// --- limits of checkers ----------------------------------------------------------------

#[test]
fn a_checker_beyond_its_limits_is_a_judge_error() {
    let supervisor = supervisor();
    let limited = |text: &str, limits: model::Limits| {
        Scene::limited(&supervisor, script(text), Convention::Icpc, &limits).judge(&[])
    };
    let short = model::Limits {
        validation_time: Some(Duration::from_millis(100)),
        ..Default::default()
    };
    // Each with what allows it more.
    let more = "0.1 s; raise limits.validation_time in problem.yaml";
    judge_error(
        &limited("while :; do :; done", short.clone()),
        &format!("CPU time limit exceeded: {more}"),
    );
    let more = "2.3 s; raise limits.validation_time in problem.yaml";
    judge_error(
        &limited("sleep 1000", short.clone()),
        &format!("real time limit exceeded: {more}"),
    );
    let sim = Scene::limited(
        &supervisor,
        script("while :; do :; done"),
        Convention::Sim,
        &short,
    )
    .judge(&[]);
    assert_eq!(sim.reason, "checker: CPU time limit exceeded: 0.1 s");
    let small = model::Limits {
        validation_output: Some(100_000),
        ..Default::default()
    };
    let more =
        "output limit exceeded: 100000 bytes; raise limits.validation_output in problem.yaml";
    judge_error(
        &limited("head -c 200000 /dev/zero; exit 42", small.clone()),
        more,
    );
    judge_error(
        &limited("head -c 200000 /dev/zero >&2; exit 42", small.clone()),
        "output limit",
    );
    // Whoever writes too much to a file is told by a signal, and need not mind it.
    judge_error(
        &limited(
            "exec head -c 200000 /dev/zero >$3/judgemessage.txt",
            small.clone(),
        ),
        "output limit",
    );
    let minds_not = limited(
        "trap '' XFSZ; head -c 200000 /dev/zero >$3/judgemessage.txt; exit 42",
        small,
    );
    assert_eq!(minds_not.verdict, Verdict::Accepted, "{minds_not:?}");
    assert!(minds_not.comment.len() <= COMMENT_LIMIT);
}

#[test]
fn a_checkers_memory_is_limited() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    let small = model::Limits {
        validation_memory: Some(32 * MIB),
        ..Default::default()
    };
    let text = "x=$(head -c 100000000 /dev/zero | tr '\\0' x); exit 42";
    judge_error(
        &Scene::limited(&supervisor, script(text), Convention::Icpc, &small).judge(&[]),
        "memory limit exceeded: 32 MiB;",
    );
}

// --- hostile checkers ------------------------------------------------------------------

#[test]
fn feedback_that_is_no_file_hangs_nobody_and_leads_nowhere() {
    for text in [
        "mkfifo $3/judgemessage.txt $3/teammessage.txt",
        "ln -s /etc/shadow $3/judgemessage.txt; ln -s /etc/passwd $3/teammessage.txt",
        "ln -s ../../../../../../../../../etc/passwd $3/judgemessage.txt",
        "ln -s /proc/self/fd/0 $3/judgemessage.txt",
        "mkdir $3/judgemessage.txt",
        "ln $1 $3/judgemessage.txt; ln $2 $3/teammessage.txt",
        "rmdir $3; ln -s /etc $3",
    ] {
        let result = icpc(&format!("{text} 2>/dev/null; exit 42"));
        assert_eq!(
            (result.verdict, result.comment.as_str()),
            (Verdict::Accepted, ""),
            "{text}"
        );
        // What holds a number must be a file.
        let score = text.replace("judgemessage", "score");
        let result = icpc(&format!("{score} 2>/dev/null; exit 42"));
        if score.contains("fifo") || score.contains("ln -s /etc/shadow") || score.contains("mkdir")
        {
            judge_error(&result, "score.txt");
        }
    }
    // We read what the checker has closed to itself.
    let closed = icpc("echo 1 >$3/score.txt; chmod 0 $3; exit 42");
    assert_eq!(
        (closed.verdict, closed.score),
        (Verdict::Accepted, Some(Points::Absolute(1.0)))
    );
}

#[test]
fn messages_of_any_length_and_kind_are_cut_and_printable() {
    let result = icpc("head -c 20000000 /dev/urandom >$3/judgemessage.txt; exit 43");
    assert_eq!(result.verdict, Verdict::WrongAnswer);
    assert!(result.comment.len() <= COMMENT_LIMIT);
    assert!(
        !result
            .comment
            .contains(|c: char| c.is_control() && c != '\n' && c != '\t')
    );
    let sparse = icpc("dd of=$3/judgemessage.txt bs=1 count=0 seek=60000000 2>/dev/null; exit 42");
    assert_eq!(sparse.verdict, Verdict::Accepted);
}

#[test]
fn whatever_a_checker_leaves_is_removed() {
    let supervisor = supervisor();
    let text = r#"
        cd "$3"
        mkdir -p a/b/c/d moved-1/moved-2/moved-3 closed
        touch a/x a/b/x a/b/c/x moved-1/x closed/x .hidden "$(printf 'new\nline')"
        mkfifo a/b/fifo; ln -s / a/b/root
        chmod 0 closed a/b/c
        if [ "$4" = deep ]; then
            i=0; while [ $i -lt 1500 ]; do mkdir d && cd -P d || break; i=$((i+1)); done
        fi
        exit 42
    "#;
    let mut scene = Scene::new(&supervisor, script(text), Convention::Icpc);
    for _ in 0..2 {
        let result = scene.judge(&[]);
        assert_eq!(
            (result.verdict, result.reason.as_str()),
            (Verdict::Accepted, "")
        );
        judge_error(
            &scene.judge(&["deep"]),
            "nested directories more than 16 deep in its feedback directory",
        );
    }
}

#[test]
fn a_checker_that_fills_its_feedback_directory_has_failed() {
    let supervisor = supervisor();
    let limits = model::Limits {
        validation_output: Some(1 << 20),
        ..Default::default()
    };
    let judge = |text: &str| {
        Scene::limited(&supervisor, script(text), Convention::Icpc, &limits).judge(&[])
    };
    // Each file is within the limit, all of them are not.
    let fill = r#"cd "$3"; i=0; while [ $i != MOST ]; do head -c 100000 /dev/zero >$i; i=$((i+1)); done; exit 42"#;
    assert_eq!(
        judge(&fill.replace("MOST", "10")).verdict,
        Verdict::Accepted
    );
    judge_error(
        &judge(&fill.replace("MOST", "11")),
        "left more than 1048576 bytes in its feedback directory",
    );
    let spread = r#"cd "$3"; for a in 1 2 3 4; do mkdir $a; head -c 300000 /dev/zero >$a/$a; chmod 0 $a; done; exit 43"#;
    judge_error(&judge(spread), "left more than 1048576 bytes");
    let names = r#"cd "$3"; i=0; while [ $i != MOST ]; do : >$i; i=$((i+1)); done; exit 42"#;
    assert_eq!(
        judge(&names.replace("MOST", "1000")).verdict,
        Verdict::Accepted
    );
    judge_error(
        &judge(&names.replace("MOST", "1001")),
        "left more than 1000 files",
    );
    // One that goes on and on is not waited for: its limit is 20 s.
    let endless = "exec >&- 2>&-; ".to_owned() + &fill.replace("MOST", "never");
    let result = judge(&endless);
    judge_error(&result, "left more than 1048576 bytes");
    let used = result.checker.expect("figures");
    assert!(
        used.cpu_user_ns + used.cpu_system_ns < 10_000_000_000,
        "{used:?}"
    );
}

#[test]
fn files_beside_the_feedback_directory_count_and_hinder_nobody() {
    let supervisor = supervisor();
    let limits = model::Limits {
        validation_output: Some(1 << 20),
        ..Default::default()
    };
    let beside = r#"for i in 0 1 2 3 4 5 6 7 8 9 10; do head -c 100000 /dev/zero >"$3/../$i" || exit 42; done 2>/dev/null; exit 42"#;
    let closed = r#"chmod 0 "$3/.." 2>/dev/null; exit 42"#;
    let mut both = Scene::limited(
        &supervisor,
        script(&format!(
            "case $4 in beside) {beside};; close) {closed};; esac; exit 42"
        )),
        Convention::Icpc,
        &limits,
    );
    let result = both.judge(&["beside"]);
    if millibox_tests::is_root() {
        // The place is root's, so nothing could be left there.
        assert_eq!(result.verdict, Verdict::Accepted, "{result:?}");
    } else {
        judge_error(&result, "left more than 1048576 bytes");
    }
    for _ in 0..2 {
        assert_eq!(both.judge(&["close"]).verdict, Verdict::Accepted);
    }
    assert_eq!(both.judge(&[]).verdict, Verdict::Accepted);
}

#[test]
fn a_feedback_place_is_removed_with_all_that_is_in_it() {
    // As whoever we are: the same user as the sandbox's, who can write beside the directory.
    let ids = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    let place = FeedbackPlace::new(ids).unwrap();
    let path = place.path().to_owned();
    let feedback = place.fresh().unwrap();
    assert_eq!(feedback.read("absent", 10).unwrap(), None);
    std::fs::write(path.join(Feedback::NAME).join("file"), "0123456789").unwrap();
    assert_eq!(feedback.read("file", 4).unwrap(), Some(b"0123".to_vec()));
    std::fs::write(path.join("outside"), "secret").unwrap();
    std::os::unix::fs::symlink("../outside", path.join(Feedback::NAME).join("link")).unwrap();
    for outside in ["../outside", "link", "/etc/passwd"] {
        assert!(feedback.read(outside, 10).is_err(), "{outside}");
    }
    // A fifo that somebody else holds open, with something in it.
    let fifo = path.join(Feedback::NAME).join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let mut held = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&fifo)
        .unwrap();
    std::io::Write::write_all(&mut held, b"42").unwrap();
    assert_eq!(
        feedback.read("fifo", 10).unwrap_err().to_string(),
        "fifo is not a regular file"
    );
    // Another in its place is not the one that we look into.
    std::fs::rename(path.join(Feedback::NAME), path.join("old")).unwrap();
    std::os::unix::fs::symlink("/etc", path.join(Feedback::NAME)).unwrap();
    assert_eq!(feedback.read("passwd", 10).unwrap(), None);
    assert_eq!(feedback.read("file", 4).unwrap(), Some(b"0123".to_vec()));
    // A fresh one is one, whatever stands in its way.
    let next = place.fresh().unwrap();
    assert_eq!(next.read("file", 4).unwrap(), None);
    drop(feedback);
    drop(next);
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
    std::fs::create_dir_all(path.join("a/b/c")).unwrap();
    drop(place);
    assert!(!path.exists());
}

// --- staging ---------------------------------------------------------------------------

#[test]
fn data_that_only_root_can_read_is_staged_for_the_checker() {
    if !is_root() {
        return skip("whoever is not root has the sandbox's user's rights");
    }
    let supervisor = supervisor();
    let text = r#"test "$(cat "$1")$(cat "$2")" = "6 742" && exit 42"#;
    let data = Data::new("6 7\n", "42\n");
    share(data.path(), 0o700);
    share(&data.answer, 0o600);
    let custom = OutputValidator::new(
        &supervisor,
        script(text),
        Convention::Icpc,
        data.path(),
        &model::Limits::default(),
    )
    .unwrap();
    assert_ne!(custom.data.path(), data.path().canonicalize().unwrap());
    let staged = custom.data.path().to_owned();
    let checker = CheckerInstance::Custom(Arc::new(custom));
    let mut worker = Worker::new(&supervisor);
    let result = data.judge(&mut worker, &subject(), &["echo"], &limits(), &checker, &[]);
    assert_eq!(
        (result.verdict, result.reason.as_str()),
        (Verdict::Accepted, "")
    );
    // The original's mode is not ours to change.
    let mode = std::os::unix::fs::MetadataExt::mode(&data.answer.metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);
    drop((checker, worker));
    assert!(!staged.exists());
}

#[test]
fn files_outside_the_data_are_staged_for_one_test() {
    let supervisor = supervisor();
    let text = r#"test "$(cat "$1") $(cat "$2") $(cat)" = "input answer input" && exit 42"#;
    let (package, elsewhere) = (Data::new("", ""), Data::new("input", "answer"));
    let custom = OutputValidator::new(
        &supervisor,
        script(text),
        Convention::Icpc,
        package.path(),
        &model::Limits::default(),
    )
    .unwrap();
    let checker = CheckerInstance::Custom(Arc::new(custom));
    let mut worker = Worker::new(&supervisor);
    if is_root() {
        share(elsewhere.path(), 0o700);
    }
    for _ in 0..2 {
        let result = elsewhere.judge(&mut worker, &subject(), &["echo"], &limits(), &checker, &[]);
        assert_eq!(
            (result.verdict, result.reason.as_str()),
            (Verdict::Accepted, "")
        );
    }
}

#[test]
fn links_in_data_lead_to_data_or_are_refused() {
    let ids = supervisor().info().ids();
    let data = Data::new("6 7\n", "42\n");
    let link = data.path().join("2.ans");
    std::os::unix::fs::symlink("1.ans", &link).unwrap();
    let staged = Staged::new(data.path(), ids).unwrap();
    assert_eq!(std::fs::read(staged.path().join("2.ans")).unwrap(), b"42\n");
    assert_eq!(staged.relative(&data.input), Some("1.in".into()));
    assert_eq!(staged.relative(&data.path().join("../../etc/passwd")), None);
    assert_eq!(staged.relative("/etc/passwd".as_ref()), None);
    for target in ["/etc/passwd", ".", "absent"] {
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(target, &link).unwrap();
        let error = Staged::new(data.path(), ids).expect_err(target).to_string();
        assert!(error.contains("2.ans"), "{error}");
    }
}

#[test]
fn links_in_data_may_lead_to_directories_and_to_the_rest_of_a_package() {
    let ids = supervisor().info().ids();
    let package = millibox_tests::directory();
    let at = |name: &str| package.path().join(name);
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, at(name)).unwrap();
    for directory in ["data/one", "data/two", "more/deep", "outside"] {
        std::fs::create_dir_all(at("package").join(directory)).unwrap();
    }
    std::fs::rename(at("package/outside"), at("outside")).unwrap();
    std::fs::write(at("package/more/deep/file"), "more").unwrap();
    let staged = || Staged::within(&at("package"), &at("package/data"), ids);
    link("../../more", "package/data/one/more");
    link("more/deep/file", "package/data/one/file");
    let fine = staged().unwrap();
    for name in ["one/more/deep/file", "one/file"] {
        let path = fine.path().join(name);
        assert_eq!(
            (std::fs::read(&path).unwrap(), path.is_symlink()),
            (b"more".to_vec(), false)
        );
    }
    // To the package alone, also by way of a link in it, and to nothing without an end.
    link("../outside", "package/elsewhere");
    link("../one", "package/data/two/one");
    for (target, why) in [
        ("../../../outside", "one/link leads to "),
        ("../../elsewhere", "one/link leads to "),
        ("../../elsewhere/..", "one/link leads to "),
        ("../..", "one/link leads to "),
        ("../two", "directories nested deeper than 32"),
    ] {
        link(target, "package/data/one/link");
        let error = staged().expect_err(target).to_string();
        assert!(error.contains(why), "{error}");
        std::fs::remove_file(at("package/data/one/link")).unwrap();
    }
}

// --- one checker, many -----------------------------------------------------------------

#[test]
fn checkers_take_turns_in_one_worker() {
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
    // In several threads at once.
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
fn a_checker_that_cannot_be_started_is_a_judge_error() {
    let supervisor = supervisor();
    let mut absent = script("");
    absent.argv = vec!["/box/absent".into()];
    let mut scene = Scene::new(&supervisor, absent, Convention::Icpc);
    judge_error(&scene.judge(&[]), "could not be started");
}
