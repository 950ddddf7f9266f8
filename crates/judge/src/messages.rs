//! Compares the messages of the judge's errors with a golden file.

use crate::convention::{AnswerFault, Limit, ValidatorFailure};
use crate::failure::{GraderFailure, GraderFault, JudgeFailure, RunFault, Step};
use crate::feedback::{Excess, FeedbackError};
use crate::judge::{
    MachineError, Measurement, MeasurementFault, PackageError, PackageFault, PackageProblem, Role,
    SelectionError,
};
use crate::result::Reason;
use crate::scoring::{GroupFault, GroupReason, PartName, PlanError, PointsError, Skip, SkipCause};
use crate::tool::ToolFailure;
use glob::Pattern;
use millibox::{Backend, BackendCause, BackendRefusal, BackendStep, Outcome, RunResult};
use millibox_golden::assert_messages;
use millibox_languages::compile::{InternalError, NoSuite, Refusal, Unavailable};
use millibox_languages::staging::StagingError;
use millibox_languages::suite::ChoiceError;
use millibox_package::tokens::FlagError;
use rustix::io::Errno;
use std::path::Path;
use std::time::Duration;

fn io(errno: Errno) -> std::io::Error {
    errno.into()
}

fn run(outcome: Outcome) -> Box<RunResult> {
    Box::new(RunResult::new(outcome, Backend::Rlimit))
}

#[test]
fn judge_messages_match_golden_file() {
    let step = |step: Step| JudgeFailure::step(step, io(Errno::ACCESS));
    let file = || "score.txt".to_owned();
    let stderr = || "Traceback: x".to_owned();
    let errno = Errno::ACCESS;
    let test = || "secret/1".to_owned();
    let checker =
        || Reason::Checker(ValidatorFailure::new(AnswerFault::BothScores, stderr()).into());
    let interactor = || {
        let fault = AnswerFault::Ended(run(Outcome::Signaled(11)));
        Reason::Interactor(ValidatorFailure::new(fault, String::new()).into())
    };
    let staging = || StagingError::TooDeep("p/data".into());
    let flag = || FlagError::NoNumber {
        flag: "float_tolerance".into(),
    };
    let fault = |problem| PackageFault::new(Path::new("p/check.c"), problem);
    let rejected = || MeasurementFault::NotAccepted {
        test: test(),
        reason: None,
        comment: "[reason]".to_owned(),
    };
    let skip = |cause, part| Skip { cause, part };
    let group = || "secret/a".to_owned();
    let of_test = |reason| GroupReason::Test {
        test: test(),
        reason,
    };
    let pass = |reason: Option<Reason>| Reason::Pass {
        number: 2,
        reason: reason.map(Box::new),
    };
    let points = |reason: Option<Reason>| Reason::Points {
        reason: reason.map(Box::new),
        error: PointsError::Rejected,
    };
    let limit = |limit, key| AnswerFault::LimitReached {
        run: run(Outcome::CpuTimeLimit),
        limit,
        key,
    };
    assert_messages(
        env!("CARGO_MANIFEST_DIR"),
        "judge.txt",
        &[
            (
                "JudgeFailure::Unfinished",
                &JudgeFailure::Unfinished(RunFault::Ended(run(Outcome::Killed))),
            ),
            ("JudgeFailure::Staging", &JudgeFailure::Staging(staging())),
            (
                "JudgeFailure::TestFiles",
                &JudgeFailure::TestFiles(staging()),
            ),
            (
                "JudgeFailure::Feedback",
                &JudgeFailure::Feedback(FeedbackError::NotRegular { file: file() }),
            ),
            (
                "JudgeFailure::FileVisible",
                &JudgeFailure::FileVisible {
                    file: "/usr/p/1.in".into(),
                    shown: "/usr".into(),
                },
            ),
            ("JudgeFailure::NoAnswer", &JudgeFailure::NoAnswer),
            (
                "JudgeFailure::NoAnswerForInteractor",
                &JudgeFailure::NoAnswerForInteractor,
            ),
            ("JudgeFailure::Flags", &JudgeFailure::Flags(flag())),
            (
                "JudgeFailure::UnexpectedFlags",
                &JudgeFailure::UnexpectedFlags {
                    flags: "a b".to_owned(),
                },
            ),
            (
                "JudgeFailure::ConversationCutShort",
                &JudgeFailure::ConversationCutShort,
            ),
            (
                "JudgeFailure::PassFeedback",
                &JudgeFailure::PassFeedback(FeedbackError::NotRegular { file: file() }),
            ),
            (
                "JudgeFailure::RejectedPassContinues",
                &JudgeFailure::RejectedPassContinues {
                    file: "nextpass.in",
                },
            ),
            (
                "JudgeFailure::TooManyPasses",
                &JudgeFailure::TooManyPasses {
                    file: "nextpass.in",
                    limit: 2,
                },
            ),
            ("JudgeFailure::NoGrader", &JudgeFailure::NoGrader),
            (
                "JudgeFailure::Grader",
                &JudgeFailure::Grader(GraderFailure {
                    fault: GraderFault::Status(1),
                    stderr: stderr(),
                }),
            ),
            ("Step::OpenInput", &step(Step::OpenInput("/p/1.in".into()))),
            ("Step::FindFile", &step(Step::FindFile("/p/1.in".into()))),
            (
                "Step::CreateFile",
                &step(Step::CreateFile("/t/output".into())),
            ),
            (
                "Step::RemoveFile",
                &step(Step::RemoveFile("/t/output".into())),
            ),
            ("Step::Compare", &step(Step::Compare("/p/1.ans".into()))),
            ("Step::CreateMemoryFile", &step(Step::CreateMemoryFile)),
            (
                "Step::DuplicateMemoryFile",
                &step(Step::DuplicateMemoryFile),
            ),
            ("Step::Seal", &step(Step::Seal)),
            ("Step::Rewind", &step(Step::Rewind)),
            ("Step::CreatePipe", &step(Step::CreatePipe)),
            ("Step::SharePipe", &step(Step::SharePipe)),
            ("Step::MeasureInput", &step(Step::MeasureInput)),
            ("Step::ReadInput", &step(Step::ReadInput)),
            ("Step::CopyInput", &step(Step::CopyInput)),
            ("Step::StoreOutput", &step(Step::StoreOutput)),
            ("Step::TruncateOutput", &step(Step::TruncateOutput)),
            ("Step::WaitForPipes", &step(Step::WaitForPipes)),
            ("Step::MoveMessages", &step(Step::MoveMessages)),
            (
                "Step::WaitForConversation",
                &step(Step::WaitForConversation),
            ),
            ("Step::WriteGraderInput", &step(Step::WriteGraderInput)),
            ("Step::StoreNextInput", &step(Step::StoreNextInput)),
            ("FeedbackError::Staging", &FeedbackError::Staging(staging())),
            (
                "FeedbackError::Open",
                &FeedbackError::Open {
                    path: "/t".into(),
                    errno,
                },
            ),
            (
                "FeedbackError::Create",
                &FeedbackError::Create {
                    place: "/t".into(),
                    errno,
                },
            ),
            (
                "FeedbackError::Read",
                &FeedbackError::Read {
                    file: file(),
                    errno,
                },
            ),
            (
                "FeedbackError::NotRegular",
                &FeedbackError::NotRegular { file: file() },
            ),
            (
                "FeedbackError::Remove",
                &FeedbackError::Remove {
                    file: file(),
                    errno,
                },
            ),
            (
                "Excess::DiskFull",
                &Excess::DiskFull {
                    bytes: 5 << 20,
                    files: 7,
                },
            ),
            ("Excess::Bytes", &Excess::Bytes(1000)),
            ("Excess::Files", &Excess::Files(1000)),
            ("Excess::Depth", &Excess::Depth(16)),
            ("Excess::Unreadable", &Excess::Unreadable(errno)),
            (
                "ValidatorFailure",
                &ValidatorFailure {
                    fault: AnswerFault::TestlibFail,
                    stderr: stderr(),
                },
            ),
            (
                "AnswerFault::Ended",
                &AnswerFault::Ended(run(Outcome::Signaled(11))),
            ),
            (
                "AnswerFault::LimitReached, time",
                &limit(
                    Limit::Time(Duration::from_millis(1500)),
                    Some("validation_time"),
                ),
            ),
            (
                "AnswerFault::LimitReached, MiB",
                &limit(Limit::Bytes(64 << 20), None),
            ),
            (
                "AnswerFault::LimitReached, bytes",
                &limit(Limit::Bytes(1000), None),
            ),
            (
                "AnswerFault::Excess",
                &AnswerFault::Excess(Excess::Bytes(1000)),
            ),
            (
                "AnswerFault::Feedback",
                &AnswerFault::Feedback(FeedbackError::NotRegular { file: file() }),
            ),
            ("AnswerFault::IcpcStatus", &AnswerFault::IcpcStatus(1)),
            ("AnswerFault::BothScores", &AnswerFault::BothScores),
            ("AnswerFault::Multiplier", &AnswerFault::Multiplier(1.5)),
            (
                "AnswerFault::NotANumber",
                &AnswerFault::NotANumber {
                    file: "score.txt",
                    text: "x".to_owned(),
                },
            ),
            ("AnswerFault::SimStatus", &AnswerFault::SimStatus(1)),
            (
                "AnswerFault::SimVerdict",
                &AnswerFault::SimVerdict("ok".to_owned()),
            ),
            (
                "AnswerFault::SimPercentage",
                &AnswerFault::SimPercentage("101".to_owned()),
            ),
            ("AnswerFault::TestlibStatus", &AnswerFault::TestlibStatus(6)),
            ("AnswerFault::TestlibFail", &AnswerFault::TestlibFail),
            ("AnswerFault::TestlibParts", &AnswerFault::TestlibParts),
            ("AnswerFault::TestlibPoints", &AnswerFault::TestlibPoints(7)),
            (
                "GraderFault::Ended",
                &GraderFault::Ended(run(Outcome::CpuTimeLimit)),
            ),
            ("GraderFault::Status", &GraderFault::Status(1)),
            (
                "GraderFault::TooLong",
                &GraderFault::TooLong { limit: 4096 },
            ),
            (
                "GraderFault::Unknown",
                &GraderFault::Unknown("fine".to_owned()),
            ),
            ("GraderFault::JudgeError", &GraderFault::JudgeError),
            (
                "PlanError::NoGrader",
                &PlanError::NoGrader("secret".to_owned()),
            ),
            (
                "PlanError::RequiredGroup",
                &PlanError::RequiredGroup {
                    group: "b".to_owned(),
                    required: "a".to_owned(),
                },
            ),
            (
                "PlanError::Rules",
                &PlanError::Rules {
                    group: "a".to_owned(),
                    reason: "it is all or nothing, but it states no points",
                },
            ),
            ("PlanError::NoTests", &PlanError::NoTests),
            ("PointsError::NotFinite", &PointsError::NotFinite(f64::NAN)),
            ("PointsError::AllOrNothing", &PointsError::AllOrNothing),
            ("PointsError::Rejected", &PointsError::Rejected),
            (
                "PointsError::OutOfWorth",
                &PointsError::OutOfWorth {
                    points: 7.0,
                    max: 4.0,
                },
            ),
            ("PointsError::Negative", &PointsError::Negative(-1.0)),
            (
                "PointsError::PartWithoutMaximum",
                &PointsError::PartWithoutMaximum,
            ),
            ("PointsError::Missing", &PointsError::Missing),
            ("PointsError::NotAPart", &PointsError::NotAPart(7.0)),
            (
                "PointsError::OutOfRange",
                &PointsError::OutOfRange {
                    points: 24.0,
                    range: (0.0, 20.0),
                },
            ),
            (
                "ToolFailure",
                &ToolFailure {
                    fault: RunFault::Ended(run(Outcome::Exited(3))),
                    stderr: "no luck".to_owned(),
                },
            ),
            (
                "ToolFailure, silent",
                &ToolFailure {
                    fault: RunFault::Ended(run(Outcome::Exited(3))),
                    stderr: String::new(),
                },
            ),
            ("RunFault::CpuTime", &RunFault::CpuTime),
            ("RunFault::RealTime", &RunFault::RealTime),
            ("RunFault::Memory", &RunFault::Memory),
            ("RunFault::Output", &RunFault::Output),
            (
                "MachineError::CpuNotAllowed",
                &MachineError::CpuNotAllowed {
                    cpu: 9,
                    allowed: vec![0, 1],
                },
            ),
            (
                "MachineError::NeedsCgroups",
                &MachineError::NeedsCgroups {
                    declined: vec![
                        BackendRefusal::new(
                            Backend::Cgroup2,
                            vec![BackendCause::new(BackendStep::FindHierarchy)],
                        ),
                        BackendRefusal::new(
                            Backend::Hybrid,
                            vec![BackendCause::new(BackendStep::BecomeRoot)],
                        ),
                    ],
                },
            ),
            ("SelectionError::Empty", &SelectionError::Empty),
            (
                "SelectionError::Unknown",
                &SelectionError::Unknown {
                    name: "ann.cpp".into(),
                    package: "p".into(),
                    nearest: Some("anna.cpp".to_owned()),
                },
            ),
            (
                "SelectionError::Unknown, nothing similar",
                &SelectionError::Unknown {
                    name: "x.cpp".into(),
                    package: "p.zip".into(),
                    nearest: None,
                },
            ),
            (
                "SelectionError::Ambiguous",
                &SelectionError::Ambiguous {
                    name: "a.c".into(),
                    submissions: vec!["accepted/a.c".to_owned(), "mixed/a.c".to_owned()],
                },
            ),
            (
                "SelectionError::EmptyDirectory",
                &SelectionError::EmptyDirectory("d".into()),
            ),
            (
                "SelectionError::NotRegular",
                &SelectionError::NotRegular("fifo".into()),
            ),
            (
                "SelectionError::Directory",
                &SelectionError::Directory {
                    submission: "d".into(),
                    directory: "d/e".into(),
                    source: io(Errno::ACCESS),
                },
            ),
            (
                "PackageError",
                &PackageError {
                    faults: vec![
                        fault(PackageProblem::Rejected {
                            role: Role::Checker,
                            error: Refusal::Exited(1).into(),
                            messages: "c.c:1: error\nc.c:2: error".to_owned(),
                        }),
                        fault(PackageProblem::Plan(PlanError::NoTests)),
                    ],
                },
            ),
            (
                "PackageProblem::NoMatchingTest",
                &PackageProblem::NoMatchingTest {
                    tests: 3,
                    pattern: Pattern::new("x*").expect("a valid pattern"),
                },
            ),
            (
                "PackageProblem::Plan",
                &PackageProblem::Plan(PlanError::NoTests),
            ),
            (
                "PackageProblem::NoInput",
                &PackageProblem::NoInput { test: test() },
            ),
            (
                "PackageProblem::NoAnswerFile",
                &PackageProblem::NoAnswerFile { test: test() },
            ),
            (
                "PackageProblem::NoAnswer",
                &PackageProblem::NoAnswer { test: test() },
            ),
            (
                "PackageProblem::Flags",
                &PackageProblem::Flags {
                    test: test(),
                    error: flag(),
                },
            ),
            (
                "PackageProblem::NoInteractor",
                &PackageProblem::NoInteractor,
            ),
            (
                "PackageProblem::Language",
                &PackageProblem::Language {
                    role: Role::Interactor,
                    error: ChoiceError::NoSources,
                },
            ),
            (
                "PackageProblem::NotCompiled",
                &PackageProblem::NotCompiled {
                    role: Role::Grader,
                    error: InternalError::NoCommonDirectory.into(),
                },
            ),
            ("PackageProblem::Data", &PackageProblem::Data(staging())),
            (
                "PackageProblem::TestFiles",
                &PackageProblem::TestFiles {
                    test: test(),
                    error: staging(),
                },
            ),
            (
                "PackageProblem::NoModelSolution",
                &PackageProblem::NoModelSolution,
            ),
            (
                "PackageProblem::ModelSolution",
                &PackageProblem::ModelSolution(rejected()),
            ),
            (
                "PackageProblem::NothingMeasured, no submission",
                &PackageProblem::NothingMeasured(Measurement::NoSubmission),
            ),
            (
                "PackageProblem::NothingMeasured, excluded",
                &PackageProblem::NothingMeasured(Measurement::AllExcluded),
            ),
            (
                "PackageProblem::NothingMeasured, failed",
                &PackageProblem::NothingMeasured(Measurement::Failed(vec![
                    ("accepted/a.c".to_owned(), rejected()),
                    (
                        "accepted/b.c".to_owned(),
                        MeasurementFault::NotCompiled(Refusal::Exited(1).into()),
                    ),
                    (
                        "accepted/c.kt".to_owned(),
                        MeasurementFault::Unavailable(Unavailable::Language(NoSuite::new(
                            ChoiceError::NoSources,
                            false,
                        ))),
                    ),
                ])),
            ),
            (
                "PackageProblem::JudgeFailed",
                &PackageProblem::JudgeFailed {
                    submission: "accepted/a.c".to_owned(),
                    fault: MeasurementFault::TestFailed {
                        test: test(),
                        reason: Some(checker()),
                    },
                },
            ),
            ("PackageProblem::Interrupted", &PackageProblem::Interrupted),
            (
                "PackageProblem::NotCounted",
                &PackageProblem::NotCounted { fault: rejected() },
            ),
            (
                "MeasurementFault::NotAccepted, reason",
                &MeasurementFault::NotAccepted {
                    test: test(),
                    reason: Some(Reason::Run(RunFault::CpuTime)),
                    comment: "[comment]".to_owned(),
                },
            ),
            (
                "PackageProblem::NotCounted, judge",
                &PackageProblem::NotCounted {
                    fault: MeasurementFault::CompilationFailed(InternalError::NoCommonDirectory),
                },
            ),
            (
                "PackageProblem::NotCounted, interrupted",
                &PackageProblem::NotCounted {
                    fault: MeasurementFault::NotFinished,
                },
            ),
            ("Reason::Run, time", &Reason::Run(RunFault::CpuTime)),
            ("Reason::Run, real time", &Reason::Run(RunFault::RealTime)),
            ("Reason::Run, memory", &Reason::Run(RunFault::Memory)),
            ("Reason::Run, output", &Reason::Run(RunFault::Output)),
            (
                "Reason::RunUnfinished",
                &Reason::RunUnfinished {
                    program: "/box/program".into(),
                    fault: RunFault::Ended(run(Outcome::Killed)),
                },
            ),
            ("Reason::Checker", &checker()),
            (
                "Reason::NotChecked",
                &Reason::NotChecked(JudgeFailure::NoAnswer.into()),
            ),
            ("Reason::Interactor", &interactor()),
            (
                "Reason::Judge",
                &Reason::Judge(JudgeFailure::NoAnswerForInteractor.into()),
            ),
            ("Reason::Pass", &pass(Some(checker()))),
            ("Reason::Pass, validator", &pass(None)),
            ("Reason::Points", &points(None)),
            ("Reason::Points, pass", &points(Some(pass(None)))),
            ("GroupReason::Test", &of_test(Some(checker()))),
            ("GroupReason::Test, checker", &of_test(None)),
            (
                "GroupReason::Group",
                &GroupReason::Group {
                    group: group(),
                    fault: GroupFault::Points(PointsError::Negative(-1.0)),
                },
            ),
            (
                "GroupFault::Grader",
                &GroupFault::Grader(JudgeFailure::NoGrader.into()),
            ),
            ("GroupFault::GraderDecision", &GroupFault::GraderDecision),
            (
                "Skip, group ended",
                &skip(SkipCause::GroupEnded, PartName::Test(test())),
            ),
            (
                "Skip, required group",
                &skip(SkipCause::RequiredGroup, PartName::Group(group())),
            ),
        ],
    );
}
