//! Conventions of interactors, unusable programs, and concurrent conversations.

use super::{BOTH, Table, WAIT, interactor_failure, judge_failure, limits};
use crate::setting::Data;
use millibox::{Outcome, RunResult};
use millibox_judge::batch::{Case, Trial, Worker};
use millibox_judge::convention::AnswerFault;
use millibox_judge::failure::{JudgeFailure, RunFault};
use millibox_judge::interactive::{Mode, judge};
use millibox_judge::result::Reason;
use millibox_judge::verdict::Points;
use millibox_judge::verdict::Verdict::{Accepted, JudgeError, WrongAnswer};
use millibox_languages::program::Executable;
use millibox_package::model::Convention;
use rustix::io::Errno;

#[test]
fn interactor_conventions_are_supported() {
    let table = Table::new();
    let play = |convention, part: &[&str]| {
        let interactor = table.interactor(convention, &[&["write:x"], part].concat());
        table.judge(
            Mode::Direct,
            &limits(),
            &table.executable(&["read:x", "write:y"]),
            &interactor,
        )
    };
    let sim = play(
        Convention::Sim,
        &["given:1", "read:y", "say:OK", "say:40", "say:well"],
    );
    assert_eq!(
        (sim.verdict, sim.score, sim.comment.as_str()),
        (Accepted, Some(Points::Part(0.4)), "well")
    );
    let sim = play(Convention::Sim, &["read:y", "say:WRONG", "say:", "say:bad"]);
    assert_eq!((sim.verdict, sim.comment.as_str()), (WrongAnswer, "bad"));
    assert_eq!(play(Convention::Sim, &["read:y"]).verdict, JudgeError);
    let testlib = play(Convention::Testlib, &["given:4", "read:y", "say:ok fine"]);
    assert_eq!(
        (testlib.verdict, testlib.comment.as_str()),
        (Accepted, "ok fine")
    );
    assert_eq!(
        play(Convention::Testlib, &["read:y", "exit:1"]).verdict,
        WrongAnswer
    );
    assert_eq!(
        play(Convention::Testlib, &["read:y", "exit:3"]).verdict,
        JudgeError
    );
    let icpc = play(
        Convention::Icpc,
        &["given:4", "read:y", "note:score.txt=12.5", "exit:42"],
    );
    assert_eq!(
        (icpc.verdict, icpc.score),
        (Accepted, Some(Points::Absolute(12.5)))
    );
}

#[test]
fn worker_judges_several_tests() {
    let table = Table::with_slots(1);
    let interactor = table.interactor(
        Convention::Icpc,
        &["read:x", "note:judgemessage.txt=once", "exit:42"],
    );
    let Data { input, answer, .. } = &table.data;
    let case = Case {
        input,
        answer: Some(answer),
        arguments: &[],
        flags: &[],
    };
    let mut worker = Worker::new(&table.supervisor).cpus([0]);
    for part in [&["write:x"][..], &["write:y"], &["write:x"], &["exit:0"]] {
        let solution = table.executable(part);
        let result = judge(
            &mut worker,
            &Trial {
                executable: &solution,
                case,
                limits: &limits(),
            },
            &interactor,
            Mode::Direct,
        );
        let (verdict, comment) = if part == ["write:x"] {
            (Accepted, "once")
        } else {
            (JudgeError, "")
        };
        assert_eq!(
            (result.verdict, result.comment.as_str()),
            (verdict, comment),
            "{result:?}"
        );
    }
}

#[test]
fn unusable_programs_and_data_are_judge_errors() {
    let table = Table::new();
    let missing = Executable {
        argv: vec!["/missing".into()],
        ..table.executable(&[])
    };
    let waits = table.executable(&["read-to-end"]);
    let rejects = table.interactor(Convention::Icpc, &["read-to-end", "exit:43"]);
    let result = table.judge(Mode::Direct, &limits(), &missing, &rejects);
    assert_eq!(result.verdict, JudgeError);
    let not_started = |run: &RunResult| {
        matches!(&run.outcome, Outcome::NotStarted(error)
            if error.errno == Some(Errno::NOENT.raw_os_error()))
    };
    assert!(
        matches!(&result.reason, Some(Reason::Run(RunFault::Ended(run))) if not_started(run)),
        "{result:?}"
    );
    let result = table.judge(
        Mode::Direct,
        &limits(),
        &waits,
        &table.interactor_of(Convention::Icpc, missing),
    );
    let fault = interactor_failure(&result).fault;
    assert!(
        matches!(&fault, AnswerFault::Ended(run) if not_started(run)),
        "{fault:?}"
    );
    let case = Case {
        input: &table.data.input,
        answer: None,
        arguments: &[],
        flags: &[],
    };
    let mut worker = Worker::new(&table.supervisor);
    let result = judge(
        &mut worker,
        &Trial {
            executable: &waits,
            case,
            limits: &limits(),
        },
        &rejects,
        Mode::Direct,
    );
    let failure = judge_failure(&result);
    assert!(
        matches!(*failure, JudgeFailure::NoAnswerForInteractor),
        "{failure:?}"
    );
    // This solution could read the answer.
    let sees = Executable {
        world: waits.world.clone().read_only(table.data.path(), "/tests"),
        ..waits
    };
    let result = table.judge(Mode::Direct, &limits(), &sees, &rejects);
    let failure = judge_failure(&result);
    assert!(
        matches!(*failure, JudgeFailure::FileVisible { .. }),
        "{failure:?}"
    );
}

#[test]
fn twenty_concurrent_conversations_are_accepted() {
    for slots in [1, 2] {
        let table = Table::with_slots(slots);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..20)
                .map(|number| {
                    let table = &table;
                    let mode = BOTH[number % 2];
                    scope.spawn(move || {
                        table.play(mode, &["ask:100"], &["answer:100", WAIT, "exit:42"])
                    })
                })
                .collect();
            for thread in threads {
                let result = thread.join().unwrap();
                assert_eq!(result.verdict, Accepted, "{result:?}");
            }
        });
    }
}
