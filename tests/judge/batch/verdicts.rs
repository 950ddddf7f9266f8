//! Verdicts, failures of the judge, and concurrent judging.

use super::{assert_accepted, assert_run_time_error, assert_verdict, text};
use crate::setting::{Data, MIB, compiled, judge_subject, limits, subject, supervisor};
use millibox::{Backend, Error, Figures, Outcome, RunError, RunResult};
use millibox_judge::batch::{Case, Trial, Worker, judge, judge_run};
use millibox_judge::checker::CheckerInstance;
use millibox_judge::failure::{JudgeFailure, RunFault, Step};
use millibox_judge::result::{Reason, TestResult};
use millibox_judge::verdict::Verdict;
use millibox_languages::program::Limits;
use std::time::Duration;

#[test]
fn exit_status_and_signal_decide_verdict() {
    let supervisor = supervisor();
    assert_accepted(&judge_subject(
        &supervisor,
        &["exit", "0"],
        "",
        "done\n",
        &limits(),
    ));
    for code in [1, 42, 255] {
        // The output does not matter.
        let result = judge_subject(
            &supervisor,
            &["exit", &code.to_string()],
            "",
            "done\n",
            &limits(),
        );
        assert_run_time_error(&result, Outcome::Exited(code));
        assert_eq!(result.run.unwrap().exit_code, Some(code));
    }
    for number in [11, 6, 9] {
        let result = judge_subject(
            &supervisor,
            &["signal", &number.to_string()],
            "",
            "",
            &limits(),
        );
        assert_run_time_error(&result, Outcome::Signaled(number));
    }
    let wrong = judge_subject(&supervisor, &["exit", "0"], "", "other\n", &limits());
    assert_verdict(&wrong, Verdict::WrongAnswer, None);
    assert_eq!(
        wrong.comment,
        "Byte 1 (line 1): read 'done\\n', expected 'other\\n'"
    );
    assert!(wrong.run.is_some() && wrong.checker.is_none());
}

#[test]
fn time_limit_takes_precedence_over_other_verdicts() {
    let limits = Limits {
        cpu_time: Duration::from_millis(100),
        real_time: Duration::from_millis(200),
        memory: MIB,
        output: 1,
        processes: 1,
    };
    let verdict = |outcome: Outcome, cpu_ms: u64, real_ms: u64| {
        let figures = Figures::default()
            .with_cpu_ns(cpu_ms * 500_000, cpu_ms * 500_000)
            .with_real_time_ns(real_ms * 1_000_000)
            // The verdict does not depend on the peak memory.
            .with_peak_memory_bytes(u64::MAX);
        let result = RunResult::new(outcome, Backend::Rlimit).with_figures(figures);
        judge_run(&result, &limits)
    };
    let is = |verdict, fault: RunFault| Some((verdict, fault));
    use Outcome::{CpuTimeLimit, Exited, MemoryLimit, OutputLimit, RealTimeLimit, Signaled};
    // The time limit takes precedence.
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
            is(Verdict::TimeLimit, RunFault::CpuTime),
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
            is(Verdict::TimeLimit, RunFault::RealTime),
            "{outcome:?}"
        );
    }
    assert_eq!(
        verdict(CpuTimeLimit, 99, 0),
        is(Verdict::TimeLimit, RunFault::CpuTime)
    );
    assert_eq!(
        verdict(RealTimeLimit, 0, 199),
        is(Verdict::TimeLimit, RunFault::RealTime)
    );
    assert_eq!(
        verdict(MemoryLimit, 100, 200),
        is(Verdict::MemoryLimit, RunFault::Memory)
    );
    assert_eq!(
        verdict(OutputLimit, 100, 200),
        is(Verdict::OutputLimit, RunFault::Output)
    );
    for outcome in [Exited(2), Signaled(11)] {
        let (verdict, fault) = verdict(outcome.clone(), 100, 200).unwrap();
        assert_eq!(verdict, Verdict::RunTimeError, "{outcome:?}");
        assert!(matches!(fault, RunFault::Ended(run) if run.outcome == outcome));
    }
    assert_eq!(verdict(Exited(0), 100, 200), None);
    let error = RunError::new(millibox::Step::Exec).with_errno(2);
    for outcome in [
        Outcome::NotStarted(error.clone()),
        Outcome::SandboxError(error),
        Outcome::Cancelled,
        Outcome::Killed,
    ] {
        let (verdict, fault) = verdict(outcome.clone(), 101, 0).unwrap();
        assert_eq!(verdict, Verdict::JudgeError, "{outcome:?}");
        assert!(matches!(fault, RunFault::Ended(run) if run.outcome == outcome));
    }
}

#[test]
fn failures_of_judge_name_failing_object() {
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
    let failure = |result: TestResult| match (result.verdict, result.reason) {
        (Verdict::JudgeError, Some(Reason::Judge(failure) | Reason::NotChecked(failure))) => {
            failure
        }
        other => panic!("{other:?}"),
    };
    for (input, answer, step) in [
        (
            missing.as_path(),
            data.answer.as_path(),
            Step::FindFile(missing.clone()),
        ),
        (&data.input, &missing, Step::FindFile(missing.clone())),
        (&data.input, data.path(), Step::Compare(data.path().into())),
        (data.path(), &data.answer, Step::ReadInput),
    ] {
        let failure = failure(judged(&mut worker, input, Some(answer)));
        assert!(
            matches!(&*failure, JudgeFailure::Step { step: failed, .. } if *failed == step),
            "{failure:?}"
        );
    }
    let failure = failure(judged(&mut worker, &data.input, None));
    assert!(matches!(*failure, JudgeFailure::NoAnswer), "{failure:?}");
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
    let run = result.run.clone().unwrap();
    let unfinished = Reason::RunUnfinished {
        program: "/box/absent".into(),
        fault: RunFault::Ended(Box::new(run)),
    };
    assert_eq!(result.reason, Some(unfinished));
    // The worker can judge the next test.
    assert_accepted(&judged(&mut worker, &data.input, Some(&data.answer)));
}

#[test]
fn killed_supervisor_is_judge_error() {
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
        let Some(Reason::Judge(failure)) = &result.reason else {
            panic!("{result:?}");
        };
        assert!(
            matches!(&**failure, JudgeFailure::Sandbox(Error::Died(_))),
            "{failure:?}"
        );
    }
}

#[test]
fn submission_sees_no_files_of_test() {
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
    assert_accepted(&data.judge(
        &mut worker,
        &subject(),
        &arguments,
        &limits(),
        &CheckerInstance::Exact,
        &[],
    ));
    // The judge rejects a world that contains the test data.
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
    let Some(Reason::Judge(failure)) = refused.reason else {
        panic!("{refused:?}");
    };
    assert!(
        matches!(&*failure, JudgeFailure::FileVisible { .. }),
        "{failure:?}"
    );
}

#[test]
fn judge_error_about_archive_names_file_in_archive() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("double.zip");
    let mut writer = zip::ZipWriter::new(std::fs::File::create(&archive).unwrap());
    for (name, content) in [
        ("problem.yaml", "name: Double\n"),
        ("domjudge-problem.ini", "timelimit=1\n"),
        ("data/secret/1.in", "21\n"),
        ("data/secret/1.ans", "42\n"),
        ("submissions/accepted/double.sh", "echo 42\n"),
    ] {
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(name, options).unwrap();
        std::io::Write::write_all(&mut writer, content.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let problem = millibox_package::read(&archive).unwrap();

    // The submission's world contains the directory into which the archive was unpacked.
    let mut open = subject();
    open.world = open.world.read_only(&problem.directory, "/tests");
    let supervisor = supervisor();
    let visible = |worker: Worker<'_>| {
        let mut worker = worker;
        let trial = Trial {
            executable: &open,
            case: Case::new(problem.tests().next().unwrap(), &[]),
            limits: &limits(),
        };
        let result = judge(&mut worker, &trial, &CheckerInstance::Exact);
        assert_eq!(result.verdict, Verdict::JudgeError, "{result:?}");
        let Some(Reason::Judge(failure)) = result.reason else {
            panic!("{result:?}");
        };
        match &*failure {
            JudgeFailure::FileVisible { file, shown } => (file.clone(), shown.clone()),
            _ => panic!("{failure:?}"),
        }
    };
    let input = "data/secret/1.in";
    assert_eq!(
        visible(Worker::new(&supervisor).unpacked(problem.unpacked.clone())),
        (archive.join(input), archive.clone())
    );
    assert_eq!(
        visible(Worker::new(&supervisor)),
        (problem.directory.join(input), problem.directory.clone())
    );
}

#[test]
fn several_threads_judge_concurrently() {
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
                    assert_accepted(&result);
                }
            });
        }
    });
}

#[test]
fn empty_program_is_judge_error() {
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
