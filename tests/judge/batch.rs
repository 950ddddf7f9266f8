//! Submissions, well-behaved and not: their streams, their limits, what is said of them.

use crate::setting::{Data, MIB, compiled, judge_subject, limits, script, subject, supervisor};
use millibox::{Backend, Figures, Outcome, RunError, RunResult};
use millibox_judge::batch::{Case, Run, Trial, Worker, judge, judge_run, run};
use millibox_judge::checker::CheckerInstance;
use millibox_judge::program::Limits;
use millibox_judge::verdict::{TestResult, Verdict};
use millibox_tests::{eventually, needs_cgroups, processes_that_say, token};
use std::fs::File;
use std::io::Seek;
use std::time::{Duration, Instant};

fn text(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| b'a' + (at % 25) as u8 + u8::from(at % 1009 == 0))
        .collect()
}

fn assert_verdict(result: &TestResult, verdict: Verdict, reason: &str) {
    assert_eq!(
        (result.verdict, result.reason.as_str()),
        (verdict, reason),
        "{result:?}"
    );
}

fn accepted(result: &TestResult) {
    assert_verdict(result, Verdict::Accepted, "");
}

// --- streams ---------------------------------------------------------------------------

#[test]
fn input_and_output_of_all_sizes_come_whole() {
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
        accepted(&judge_subject(
            &supervisor,
            &["echo"],
            text(size),
            text(size),
            &limits(),
        ));
    }
    let large = text(9 << 20);
    accepted(&judge_subject(
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
fn many_small_writes_come_in_order() {
    let expected: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    accepted(&judge_subject(
        &supervisor(),
        &["drip", "20000"],
        "",
        expected,
        &limits(),
    ));
}

#[test]
fn streams_can_be_used_once() {
    accepted(&judge_subject(
        &supervisor(),
        &["streams"],
        text(5000),
        "5000 0\n",
        &limits(),
    ));
}

#[test]
fn output_up_to_its_limit_and_not_a_byte_more() {
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
fn input_may_be_left_unread() {
    let supervisor = supervisor();
    let input = text(9 << 20);
    accepted(&judge_subject(
        &supervisor,
        &["exit", "0"],
        &input,
        "done\n",
        &limits(),
    ));
    accepted(&judge_subject(
        &supervisor,
        &["no-input"],
        &input,
        "done\n",
        &limits(),
    ));
    // Closed when half of it was read, and then more is written than a pipe holds.
    for read in [10, 70_000, 1 << 20, 3 << 20] {
        let mut expected = input[..read].to_vec();
        expected.extend(vec![b'x'; 1 << 20]);
        accepted(&judge_subject(
            &supervisor,
            &["half", &read.to_string()],
            &input,
            expected,
            &limits(),
        ));
    }
}

#[test]
fn output_may_be_closed_before_the_end() {
    let supervisor = supervisor();
    accepted(&judge_subject(
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
    assert_verdict(&late, Verdict::RunTimeError, "exited with 3");
    // What it reads after that still comes.
    let size = 5 << 20;
    accepted(&judge_subject(
        &supervisor,
        &["close-and-read", &size.to_string()],
        text(size),
        "done\n",
        &limits(),
    ));
}

#[test]
fn descriptors_that_outlive_the_first_process_hold_nobody_up() {
    let supervisor = supervisor();
    accepted(&judge_subject(
        &supervisor,
        &["child-holds-output"],
        "",
        "done\n",
        &limits(),
    ));
    for _ in 0..10 {
        accepted(&judge_subject(
            &supervisor,
            &["in-flight"],
            text(2 << 20),
            "done\n",
            &limits(),
        ));
    }
}

#[test]
fn a_write_that_fails_half_way_counts_as_far_as_it_went() {
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
    let (written, said) = output.split_once('\n').unwrap();
    assert_eq!(said, format!("{}\n", written.len()));
}

// --- limits ----------------------------------------------------------------------------

#[test]
fn time() {
    let supervisor = supervisor();
    let short = Limits {
        cpu_time: Duration::from_millis(60),
        real_time: Duration::from_millis(400),
        ..limits()
    };
    let spun = judge_subject(&supervisor, &["spin", "100000"], "", "", &short);
    assert_verdict(&spun, Verdict::TimeLimit, "CPU time limit");
    let slept = judge_subject(&supervisor, &["sleep", "100000"], "", "", &short);
    assert_verdict(&slept, Verdict::TimeLimit, "real time limit");
    // Whoever waits for input that does not come has it end.
    accepted(&judge_subject(&supervisor, &["echo"], "", "", &short));
    accepted(&judge_subject(
        &supervisor,
        &["spin", "10"],
        "",
        "",
        &limits(),
    ));
}

#[test]
fn memory() {
    let supervisor = supervisor();
    if !needs_cgroups(&supervisor) {
        return;
    }
    let small = Limits {
        memory: 32 * MIB,
        ..limits()
    };
    assert_verdict(
        &judge_subject(&supervisor, &["eat", "200"], "", "", &small),
        Verdict::MemoryLimit,
        "memory limit",
    );
    accepted(&judge_subject(
        &supervisor,
        &["eat", "20"],
        "",
        "done\n",
        &small,
    ));
    let tiny = Limits {
        memory: 4096,
        ..limits()
    };
    assert_verdict(
        &judge_subject(&supervisor, &["exit", "0"], "", "", &tiny),
        Verdict::MemoryLimit,
        "memory limit",
    );
    // What the suite needs comes on top.
    let mut needy = subject();
    needy.memory = 64 * MIB;
    let result = Data::new("", "done\n").judge(
        &mut Worker::new(&supervisor),
        &needy,
        &["eat", "60"],
        &small,
        &CheckerInstance::Exact,
        &[],
    );
    accepted(&result);
}

#[test]
fn memory_without_cgroups_is_a_run_time_error() {
    let supervisor =
        millibox_tests::start(millibox_tests::builder().backend(millibox::BackendChoice::Rlimit));
    let small = Limits {
        memory: 32 * MIB,
        ..limits()
    };
    let eaten = judge_subject(&supervisor, &["eat", "200"], "", "", &small);
    assert_verdict(&eaten, Verdict::RunTimeError, "exited with 12");
    accepted(&judge_subject(
        &supervisor,
        &["eat", "10"],
        "",
        "done\n",
        &small,
    ));
}

#[test]
fn the_stack_is_limited_as_memory_is() {
    let supervisor = supervisor();
    // 100 MiB, where a process has 8 MiB by default.
    accepted(&judge_subject(
        &supervisor,
        &["recurse", "25000"],
        "",
        "done\n",
        &limits(),
    ));
    let endless = judge_subject(&supervisor, &["recurse", "1000000000"], "", "", &limits());
    assert!(
        matches!(
            endless.verdict,
            Verdict::MemoryLimit | Verdict::RunTimeError
        ),
        "{endless:?}"
    );
}

#[test]
fn a_flood_of_output() {
    let supervisor = supervisor();
    let small = Limits {
        output: 3 * MIB,
        ..limits()
    };
    let flood = judge_subject(&supervisor, &["flood"], "", "", &small);
    assert_verdict(&flood, Verdict::OutputLimit, "output limit");
}

#[test]
fn a_fork_bomb() {
    let supervisor = supervisor();
    let short = Limits {
        cpu_time: Duration::from_millis(200),
        real_time: Duration::from_millis(600),
        ..limits()
    };
    let token = token();
    let bomb = judge_subject(&supervisor, &["fork-bomb", &token], "", "", &short);
    assert_eq!(bomb.verdict, Verdict::TimeLimit, "{bomb:?}");
    accepted(&judge_subject(
        &supervisor,
        &["echo"],
        "still",
        "still",
        &limits(),
    ));
    assert!(eventually(Duration::from_secs(5), || processes_that_say(
        &token
    )
    .is_empty()));
}

// --- verdicts --------------------------------------------------------------------------

#[test]
fn how_a_program_ends() {
    let supervisor = supervisor();
    accepted(&judge_subject(
        &supervisor,
        &["exit", "0"],
        "",
        "done\n",
        &limits(),
    ));
    for code in [1, 42, 255] {
        // Whatever it wrote.
        let result = judge_subject(
            &supervisor,
            &["exit", &code.to_string()],
            "",
            "done\n",
            &limits(),
        );
        assert_verdict(
            &result,
            Verdict::RunTimeError,
            &format!("exited with {code}"),
        );
        assert_eq!(result.run.unwrap().exit_code, Some(code));
    }
    for (number, name) in [(11, "SEGV"), (6, "ABRT"), (9, "KILL")] {
        let result = judge_subject(
            &supervisor,
            &["signal", &number.to_string()],
            "",
            "",
            &limits(),
        );
        assert_verdict(
            &result,
            Verdict::RunTimeError,
            &format!("killed by signal {name}"),
        );
    }
    let wrong = judge_subject(&supervisor, &["exit", "0"], "", "other\n", &limits());
    assert_verdict(&wrong, Verdict::WrongAnswer, "");
    assert_eq!(
        wrong.comment,
        "Byte 1 (line 1): read 'done\\n', expected 'other\\n'"
    );
    assert!(wrong.run.is_some() && wrong.checker.is_none());
}

#[test]
fn the_order_of_verdicts() {
    let limits = Limits {
        cpu_time: Duration::from_millis(100),
        real_time: Duration::from_millis(200),
        memory: MIB,
        output: 1,
        processes: 1,
    };
    let verdict = |outcome: Outcome, cpu_ms: u64, real_ms: u64| {
        let figures = Figures {
            cpu_user_ns: cpu_ms * 500_000,
            cpu_system_ns: cpu_ms * 500_000,
            real_time_ns: real_ms * 1_000_000,
            // Never judged on.
            peak_memory_bytes: u64::MAX,
            ..Default::default()
        };
        let result = RunResult {
            outcome,
            exit_code: None,
            signal: None,
            figures,
            ended_ns: None,
            backend: Backend::Rlimit,
        };
        judge_run(&result, &limits)
    };
    let is = |verdict, reason: &str| Some((verdict, reason.to_owned()));
    use Outcome::{CpuTimeLimit, Exited, MemoryLimit, OutputLimit, RealTimeLimit, Signaled};
    // Time before all else.
    for outcome in [
        Exited(0),
        Exited(1),
        Signaled(9),
        MemoryLimit,
        OutputLimit,
        CpuTimeLimit,
        RealTimeLimit,
    ] {
        assert_eq!(
            verdict(outcome.clone(), 101, 0),
            is(Verdict::TimeLimit, "CPU time limit"),
            "{outcome:?}"
        );
    }
    for outcome in [
        Exited(0),
        Exited(1),
        Signaled(9),
        MemoryLimit,
        OutputLimit,
        RealTimeLimit,
    ] {
        assert_eq!(
            verdict(outcome.clone(), 100, 201),
            is(Verdict::TimeLimit, "real time limit"),
            "{outcome:?}"
        );
    }
    assert_eq!(
        verdict(CpuTimeLimit, 99, 0),
        is(Verdict::TimeLimit, "CPU time limit")
    );
    assert_eq!(
        verdict(RealTimeLimit, 0, 199),
        is(Verdict::TimeLimit, "real time limit")
    );
    assert_eq!(
        verdict(MemoryLimit, 100, 200),
        is(Verdict::MemoryLimit, "memory limit")
    );
    assert_eq!(
        verdict(OutputLimit, 100, 200),
        is(Verdict::OutputLimit, "output limit")
    );
    assert_eq!(
        verdict(Exited(2), 100, 200),
        is(Verdict::RunTimeError, "exited with 2")
    );
    assert_eq!(
        verdict(Signaled(11), 100, 200),
        is(Verdict::RunTimeError, "killed by signal SEGV")
    );
    assert_eq!(verdict(Exited(0), 100, 200), None);
    let error = RunError::new(millibox::Step::Exec).with_errno(2);
    for outcome in [
        Outcome::NotStarted(error.clone()),
        Outcome::SandboxError(error),
        Outcome::Cancelled,
        Outcome::Killed,
    ] {
        let (verdict, reason) = verdict(outcome.clone(), 101, 0).unwrap();
        assert_eq!(verdict, Verdict::JudgeError, "{outcome:?}");
        assert!(!reason.is_empty());
    }
}

// --- failures of ours ------------------------------------------------------------------

#[test]
fn what_fails_on_our_side_is_a_judge_error_that_says_what() {
    let supervisor = supervisor();
    let mut worker = Worker::new(&supervisor);
    let data = Data::new("", "");
    let missing = data.path().join("missing");
    let judged = |worker: &mut Worker<'_>, input, answer| {
        let case = Case {
            input,
            answer,
            arguments: &[],
            flags: &[],
        };
        judge(
            worker,
            &Trial {
                executable: &subject(),
                case,
                limits: &limits(),
            },
            &CheckerInstance::Exact,
        )
    };
    for (input, answer, names) in [
        (missing.as_path(), Some(data.answer.as_path()), "missing"),
        (&data.input, Some(missing.as_path()), "missing"),
        (&data.input, Some(data.path()), "Is a directory"),
        (data.path(), Some(&data.answer), "input"),
        (&data.input, None, "no answer"),
    ] {
        let result = judged(&mut worker, input, answer);
        assert_eq!(result.verdict, Verdict::JudgeError, "{result:?}");
        assert!(
            result.reason.contains(names),
            "{} does not say {names}",
            result.reason
        );
    }
    let mut absent = subject();
    absent.argv = vec!["/box/absent".into()];
    let result = data.judge(
        &mut worker,
        &absent,
        &[],
        &limits(),
        &CheckerInstance::Exact,
        &[],
    );
    assert_eq!(result.verdict, Verdict::JudgeError);
    assert!(result.reason.contains("/box/absent"), "{}", result.reason);
    // The next one works.
    accepted(&judged(&mut worker, &data.input, Some(&data.answer)));
}

#[test]
fn a_dead_supervisor_is_a_judge_error() {
    let supervisor = supervisor();
    let mut worker = Worker::new(&supervisor);
    let data = Data::new("", "");
    let slow = std::thread::scope(|scope| {
        let slow =
            scope.spawn(|| judge_subject(&supervisor, &["sleep", "100000"], "", "", &limits()));
        std::thread::sleep(Duration::from_millis(300));
        millibox_tests::kill(
            supervisor.info().pid() as i32,
            rustix::process::Signal::KILL,
        );
        slow.join().unwrap()
    });
    let after = data.judge(
        &mut worker,
        &subject(),
        &["echo"],
        &limits(),
        &CheckerInstance::Exact,
        &[],
    );
    for result in [slow, after] {
        assert_eq!(result.verdict, Verdict::JudgeError, "{result:?}");
        assert!(result.reason.contains("supervisor"), "{}", result.reason);
    }
}

// --- what a submission sees ------------------------------------------------------------

#[test]
fn a_submission_sees_nothing_of_the_test() {
    let supervisor = supervisor();
    let mut worker = Worker::new(&supervisor);
    let data = Data::new("in", "closed\nclosed\nclosed\nclosed\nopen\n");
    let paths = [
        data.input.to_str().unwrap(),
        data.answer.to_str().unwrap(),
        "/judge",
        "/judge/test/output",
    ];
    let arguments: Vec<&str> = ["open"]
        .into_iter()
        .chain(paths)
        .chain(["/box/program"])
        .collect();
    accepted(&data.judge(
        &mut worker,
        &subject(),
        &arguments,
        &limits(),
        &CheckerInstance::Exact,
        &[],
    ));
    // A world that would show it is refused.
    let mut open = subject();
    open.world = open.world.read_only(data.path(), "/tests");
    let refused = data.judge(
        &mut worker,
        &open,
        &["echo"],
        &limits(),
        &CheckerInstance::Exact,
        &[],
    );
    assert_eq!(refused.verdict, Verdict::JudgeError);
    assert!(refused.reason.contains("could read"), "{}", refused.reason);
}

// --- many ------------------------------------------------------------------------------

#[test]
fn several_threads_at_once() {
    let supervisor = supervisor();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let supervisor = &supervisor;
            scope.spawn(move || {
                let mut worker = Worker::new(supervisor).cpus([0]);
                let subject = subject();
                for round in 0..25usize {
                    let bytes: Vec<u8> = text(round * 9000)
                        .iter()
                        .map(|byte| byte ^ thread)
                        .collect();
                    let data = Data::new(&bytes, &bytes);
                    let result = data.judge(
                        &mut worker,
                        &subject,
                        &["echo"],
                        &limits(),
                        &CheckerInstance::Exact,
                        &[],
                    );
                    accepted(&result);
                }
            });
        }
    });
}

#[test]
fn nothing_is_left_behind() {
    let supervisor = supervisor();
    let mut worker = Worker::new(&supervisor);
    let data = Data::new(text(100), text(100));
    // Other tests of this process open descriptors, too: those of this thread's kind are pipes
    // and files in memory, and few of them at any one time.
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
fn a_given_file_takes_the_output_from_its_position_on() {
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

#[test]
fn a_program_that_is_no_program() {
    let supervisor = supervisor();
    let mut empty = compiled("int main(void) { return 0; }");
    std::fs::write(empty.files.path().join("program"), "").unwrap();
    empty.suite = "broken".to_owned();
    let result = Data::new("", "").judge(
        &mut Worker::new(&supervisor),
        &empty,
        &[],
        &limits(),
        &CheckerInstance::Exact,
        &[],
    );
    assert_eq!(result.verdict, Verdict::JudgeError, "{result:?}");
}
