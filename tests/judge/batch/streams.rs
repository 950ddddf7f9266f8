//! Standard input and output of submissions.

use super::{assert_accepted, assert_run_time_error, text};
use crate::setting::{Data, judge_subject, limits, script, subject, supervisor};
use millibox::Outcome;
use millibox_judge::batch::{Run, Worker, run};
use millibox_judge::checker::CheckerInstance;
use millibox_judge::verdict::Verdict;
use millibox_languages::program::Limits;
use std::fs::File;
use std::io::Seek;
use std::time::{Duration, Instant};

#[test]
fn input_and_output_of_any_size_arrive_complete() {
    let supervisor = supervisor();
    for size in [
        0,
        1,
        4095,
        4096,
        4097,
        65535,
        65536,
        65537,
        (1 << 18) + 1,
        (1 << 20) - 1,
        1 << 20,
        (1 << 20) + 1,
    ] {
        assert_accepted(&judge_subject(
            &supervisor,
            &["echo"],
            text(size),
            text(size),
            &limits(),
        ));
    }
    let large = text(9 << 20);
    assert_accepted(&judge_subject(
        &supervisor,
        &["echo"],
        &large,
        &large,
        &limits(),
    ));
    let mut other = large.clone();
    *other.last_mut().unwrap() = b'!';
    let wrong = judge_subject(&supervisor, &["echo"], &large, &other, &limits());
    assert_eq!(wrong.verdict, Verdict::WrongAnswer);
    assert!(
        wrong.comment.starts_with("Byte 9437184 (line 1)"),
        "{}",
        wrong.comment
    );
}

#[test]
fn many_small_writes_arrive_in_order() {
    let expected: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    assert_accepted(&judge_subject(
        &supervisor(),
        &["drip", "20000"],
        "",
        expected,
        &limits(),
    ));
}

#[test]
fn streams_are_not_seekable_or_reopenable() {
    assert_accepted(&judge_subject(
        &supervisor(),
        &["streams"],
        text(5000),
        "5000 0\n",
        &limits(),
    ));
}

#[test]
fn output_is_cut_exactly_at_its_limit() {
    let supervisor = supervisor();
    let subject = subject();
    let directory = millibox_tests::directory();
    let input = File::create_new(directory.path().join("input")).unwrap();
    for limit in [0, 1, 4096, 65535, 65536, 65537, 1 << 18, (1 << 20) + 1] {
        for more in [0, 1, 100_000] {
            let output = tempfile::tempfile().unwrap();
            let arguments = ["pour".into(), (limit + more).to_string().into()];
            let limits = Limits {
                output: limit,
                ..limits()
            };
            let run_it = Run {
                executable: &subject,
                world: &subject.world,
                arguments: &arguments,
                limits: &limits,
                cpus: &[],
                input: &File::open(directory.path().join("input")).unwrap(),
                output,
            };
            let ran = run(&supervisor, run_it).unwrap();
            let expected = if more == 0 {
                Outcome::Exited(0)
            } else {
                Outcome::OutputLimit
            };
            assert_eq!(
                ran.result.outcome, expected,
                "{limit} + {more}: {}",
                ran.result
            );
            assert_eq!(ran.output.metadata().unwrap().len(), limit, "+ {more}");
        }
    }
    drop(input);
}

#[test]
fn unread_input_is_accepted() {
    let supervisor = supervisor();
    let input = text(9 << 20);
    assert_accepted(&judge_subject(
        &supervisor,
        &["exit", "0"],
        &input,
        "done\n",
        &limits(),
    ));
    assert_accepted(&judge_subject(
        &supervisor,
        &["no-input"],
        &input,
        "done\n",
        &limits(),
    ));
    // The submission closes its input early and then writes more than a pipe holds.
    for read in [10, 70_000, 1 << 20, 3 << 20] {
        let mut expected = input[..read].to_vec();
        expected.extend(vec![b'x'; 1 << 20]);
        assert_accepted(&judge_subject(
            &supervisor,
            &["half", &read.to_string()],
            &input,
            expected,
            &limits(),
        ));
    }
}

#[test]
fn output_closed_before_exit_is_accepted() {
    let supervisor = supervisor();
    assert_accepted(&judge_subject(
        &supervisor,
        &["close-and-exit", "0"],
        "",
        "done\n",
        &limits(),
    ));
    let late = judge_subject(
        &supervisor,
        &["close-and-exit", "3"],
        "",
        "done\n",
        &limits(),
    );
    assert_run_time_error(&late, Outcome::Exited(3));
    // Input still arrives after the output has been closed.
    let size = 5 << 20;
    assert_accepted(&judge_subject(
        &supervisor,
        &["close-and-read", &size.to_string()],
        text(size),
        "done\n",
        &limits(),
    ));
}

#[test]
fn descriptors_outliving_first_process_do_not_delay_end() {
    let supervisor = supervisor();
    assert_accepted(&judge_subject(
        &supervisor,
        &["child-holds-output"],
        "",
        "done\n",
        &limits(),
    ));
    for _ in 0..10 {
        assert_accepted(&judge_subject(
            &supervisor,
            &["in-flight"],
            text(2 << 20),
            "done\n",
            &limits(),
        ));
    }
}

#[test]
fn partially_failed_write_keeps_written_bytes() {
    let supervisor = supervisor();
    let program = subject();
    let limits = limits();
    let run_it = Run {
        executable: &program,
        world: &program.world,
        arguments: &["bad-vector".into()],
        limits: &limits,
        cpus: &[],
        input: &File::open("/dev/null").unwrap(),
        output: tempfile::tempfile().unwrap(),
    };
    let mut ran = run(&supervisor, run_it).unwrap();
    ran.output.rewind().unwrap();
    let output = std::io::read_to_string(ran.output).unwrap();
    let (written, reported) = output.split_once('\n').unwrap();
    assert_eq!(reported, format!("{}\n", written.len()));
}

#[test]
fn no_descriptors_are_left_open() {
    let supervisor = supervisor();
    let mut worker = Worker::new(&supervisor);
    let data = Data::new(text(100), text(100));
    // Other tests of this process open descriptors as well. Few memory files for output exist at
    // the same time.
    let open = || {
        let targets = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| entry.ok()?.path().read_link().ok());
        targets
            .filter(|target| target.to_string_lossy().contains("millibox-output"))
            .count()
    };
    for arguments in [
        ["echo", ""],
        ["exit", "1"],
        ["signal", "9"],
        ["pour", "1000"],
    ] {
        for _ in 0..40 {
            data.judge(
                &mut worker,
                &subject(),
                &arguments,
                &limits(),
                &CheckerInstance::Exact,
                &[],
            );
        }
    }
    let begin = Instant::now();
    while open() > 8 {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "{} files in memory are still open",
            open()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn output_file_is_written_from_current_position() {
    let supervisor = supervisor();
    let program = script("cat");
    let data = Data::new("hello\n", "");
    for (limit, expected) in [(6, "begin hello\n"), (3, "begin hel")] {
        let mut output = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut output, b"begin ").unwrap();
        let limits = Limits {
            output: limit,
            ..limits()
        };
        let run_it = Run {
            executable: &program,
            world: &program.world,
            arguments: &[],
            limits: &limits,
            cpus: &[0],
            input: &File::open(&data.input).unwrap(),
            output,
        };
        let mut ran = run(&supervisor, run_it).unwrap();
        assert_eq!(
            ran.result.outcome == Outcome::Exited(0),
            limit == 6,
            "{}",
            ran.result
        );
        ran.output.rewind().unwrap();
        assert_eq!(std::io::read_to_string(ran.output).unwrap(), expected);
    }
}
