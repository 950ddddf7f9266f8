//! Checkers that exceed their limits or misuse their files.

use super::{Scene, assert_checker_limited, assert_judge_error, failure, icpc};
use crate::setting::{MIB, compiled, script, supervisor};
use millibox::Outcome;
use millibox_judge::convention::{AnswerFault, Limit};
use millibox_judge::feedback::{Excess, Feedback, FeedbackError, FeedbackPlace};
use millibox_judge::verdict::{COMMENT_LIMIT, Points, Verdict};
use millibox_package::model::{self, Convention};
use millibox_tests::has_cgroups_or_skips;
use std::time::Duration;

#[test]
fn checker_can_write_only_to_feedback_directory() {
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
fn checker_that_reopens_output_cannot_change_it() {
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
    assert_eq!((result.verdict, &result.reason), (Verdict::Accepted, &None));
}

#[test]
fn checker_over_limits_is_judge_error() {
    let supervisor = supervisor();
    let limited = |text: &str, limits: model::Limits| {
        Scene::limited(&supervisor, script(text), Convention::Icpc, &limits).judge(&[])
    };
    let short = model::Limits {
        validation_time: Some(Duration::from_millis(100)),
        ..Default::default()
    };
    // Each message names the setting with which the limit can be raised.
    let key = Some("validation_time");
    assert_checker_limited(
        &limited("while :; do :; done", short.clone()),
        Outcome::CpuTimeLimit,
        Limit::Time(Duration::from_millis(100)),
        key,
    );
    assert_checker_limited(
        &limited("sleep 1000", short.clone()),
        Outcome::RealTimeLimit,
        Limit::Time(Duration::from_millis(2300)),
        key,
    );
    let sim = Scene::limited(
        &supervisor,
        script("while :; do :; done"),
        Convention::Sim,
        &short,
    )
    .judge(&[]);
    assert_checker_limited(
        &sim,
        Outcome::CpuTimeLimit,
        Limit::Time(Duration::from_millis(100)),
        None,
    );
    let small = model::Limits {
        validation_output: Some(100_000),
        ..Default::default()
    };
    let assert_output_limited = |text: &str| {
        assert_checker_limited(
            &limited(text, small.clone()),
            Outcome::OutputLimit,
            Limit::Bytes(100_000),
            Some("validation_output"),
        );
    };
    assert_output_limited("head -c 200000 /dev/zero; exit 42");
    assert_output_limited("head -c 200000 /dev/zero >&2; exit 42");
    // A process that exceeds the file size limit receives SIGXFSZ, which it may ignore.
    assert_output_limited("exec head -c 200000 /dev/zero >$3/judgemessage.txt");
    let ignores = limited(
        "trap '' XFSZ; head -c 200000 /dev/zero >$3/judgemessage.txt; exit 42",
        small.clone(),
    );
    assert_eq!(ignores.verdict, Verdict::Accepted, "{ignores:?}");
    assert!(ignores.comment.len() <= COMMENT_LIMIT);
}

#[test]
fn checker_over_memory_limit_is_judge_error() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let small = model::Limits {
        validation_memory: Some(32 * MIB),
        ..Default::default()
    };
    let text = "x=$(head -c 100000000 /dev/zero | tr '\\0' x); exit 42";
    assert_checker_limited(
        &Scene::limited(&supervisor, script(text), Convention::Icpc, &small).judge(&[]),
        Outcome::MemoryLimit,
        Limit::Bytes(32 * MIB),
        Some("validation_memory"),
    );
}

#[test]
fn feedback_that_is_not_file_is_ignored_or_rejected() {
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
        // A score must be in a regular file.
        let score = text.replace("judgemessage", "score");
        let result = icpc(&format!("{score} 2>/dev/null; exit 42"));
        if score.contains("fifo") || score.contains("ln -s /etc/shadow") || score.contains("mkdir")
        {
            let fault = failure(&result).fault;
            let names_score = match &fault {
                AnswerFault::Feedback(
                    FeedbackError::NotRegular { file } | FeedbackError::Read { file, .. },
                ) => file == "score.txt",
                _ => false,
            };
            assert!(names_score, "{score}: {fault:?}");
        }
    }
    // The judge can read a directory that the checker has made inaccessible.
    let closed = icpc("echo 1 >$3/score.txt; chmod 0 $3; exit 42");
    assert_eq!(
        (closed.verdict, closed.score),
        (Verdict::Accepted, Some(Points::Absolute(1.0)))
    );
}

#[test]
fn checker_messages_are_truncated_and_printable() {
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
fn files_left_by_checker_are_removed() {
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
        assert_eq!((result.verdict, &result.reason), (Verdict::Accepted, &None));
        assert_judge_error(&scene.judge(&["deep"]), Excess::Depth(16));
    }
}

#[test]
fn checker_that_fills_feedback_directory_is_judge_error() {
    let supervisor = supervisor();
    let limits = model::Limits {
        validation_output: Some(1 << 20),
        ..Default::default()
    };
    let judge = |text: &str| {
        Scene::limited(&supervisor, script(text), Convention::Icpc, &limits).judge(&[])
    };
    // Each file is within the limit, but the sum of all files is not.
    let fill = r#"
        cd "$3"; i=0
        while [ $i != MOST ]; do head -c 100000 /dev/zero >$i; i=$((i+1)); done
        exit 42
    "#;
    assert_eq!(
        judge(&fill.replace("MOST", "10")).verdict,
        Verdict::Accepted
    );
    assert_judge_error(&judge(&fill.replace("MOST", "11")), Excess::Bytes(1 << 20));
    let spread = r#"
        cd "$3"
        for a in 1 2 3 4; do mkdir $a; head -c 300000 /dev/zero >$a/$a; chmod 0 $a; done
        exit 43
    "#;
    assert_judge_error(&judge(spread), Excess::Bytes(1 << 20));
    let names = r#"cd "$3"; i=0; while [ $i != MOST ]; do : >$i; i=$((i+1)); done; exit 42"#;
    assert_eq!(
        judge(&names.replace("MOST", "1000")).verdict,
        Verdict::Accepted
    );
    assert_judge_error(&judge(&names.replace("MOST", "1001")), Excess::Files(1000));
    // The judge kills a checker that writes endlessly long before its time limit of 20 s.
    let endless = "exec >&- 2>&-; ".to_owned() + &fill.replace("MOST", "never");
    let result = judge(&endless);
    assert_judge_error(&result, Excess::Bytes(1 << 20));
    let used = result.checker.expect("figures");
    assert!(
        used.cpu_user_ns + used.cpu_system_ns < 10_000_000_000,
        "{used:?}"
    );
}

#[test]
fn files_beside_feedback_directory_count_and_are_harmless() {
    let supervisor = supervisor();
    let limits = model::Limits {
        validation_output: Some(1 << 20),
        ..Default::default()
    };
    let beside = r#"
        for i in 0 1 2 3 4 5 6 7 8 9 10; do
            head -c 100000 /dev/zero >"$3/../$i" || exit 42
        done 2>/dev/null
        exit 42
    "#;
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
        // The parent directory belongs to root, so the checker could not leave files in it.
        assert_eq!(result.verdict, Verdict::Accepted, "{result:?}");
    } else {
        assert_judge_error(&result, Excess::Bytes(1 << 20));
    }
    for _ in 0..2 {
        assert_eq!(both.judge(&["close"]).verdict, Verdict::Accepted);
    }
    assert_eq!(both.judge(&[]).verdict, Verdict::Accepted);
}

#[test]
fn feedback_place_is_removed_with_its_contents() {
    // The test's user represents the sandbox's user, which can write beside the directory.
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
    // A FIFO that contains data and that another process keeps open.
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
    let not_regular = FeedbackError::NotRegular {
        file: "fifo".to_owned(),
    };
    assert_eq!(feedback.read("fifo", 10), Err(not_regular));
    // A directory that replaces the feedback directory is not read.
    std::fs::rename(path.join(Feedback::NAME), path.join("old")).unwrap();
    std::os::unix::fs::symlink("/etc", path.join(Feedback::NAME)).unwrap();
    assert_eq!(feedback.read("passwd", 10).unwrap(), None);
    assert_eq!(feedback.read("file", 4).unwrap(), Some(b"0123".to_vec()));
    // `fresh` replaces anything that has the feedback directory's name.
    let next = place.fresh().unwrap();
    assert_eq!(next.read("file", 4).unwrap(), None);
    drop(feedback);
    drop(next);
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
    std::fs::create_dir_all(path.join("a/b/c")).unwrap();
    drop(place);
    assert!(!path.exists());
}
