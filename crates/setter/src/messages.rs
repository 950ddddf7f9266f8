//! Compares the messages of the setter's errors with a golden file.

use super::error::{
    BuildFault, FileAction, FileFault, FileKind, LimitMismatch, MachineError, MakeFault,
    ProgramFault, Remedy, RequestError, SetterError, SkippedSubmission, file,
};
use super::validate::{CheckerFailure, Refusal, ValidationFault};
use millibox::{Backend, Outcome, RunResult};
use millibox_golden::assert_messages;
use millibox_judge::convention::{AnswerFault, ValidatorFailure};
use millibox_judge::failure::{JudgeFailure, RunFault};
use millibox_judge::judge::{PackageError, PackageFault, PackageProblem};
use millibox_judge::result::Reason;
use millibox_judge::scoring::{GroupFault, GroupReason};
use millibox_judge::tool::ToolFailure;
use millibox_judge::verdict::Verdict;
use millibox_languages::compile::{InternalError, NoSuite, Refusal as CompilerRefusal};
use millibox_languages::staging::StagingError;
use millibox_languages::suite::{ChoiceError, Suites};
use millibox_package::edit::EditError;
use rustix::io::Errno;
use std::path::Path;
use zip::result::ZipError;

#[test]
fn setter_messages_match_golden_file() {
    let make = |seed, fault| ProgramFault::Make {
        test: "1b".to_owned(),
        kind: FileKind::Input,
        by: "utils/gen.sh x".to_owned(),
        seed,
        fault,
    };
    let build = |fault| ProgramFault::Build {
        program: "gen.cpp".into(),
        fault,
    };
    let rejected = |messages: &str| BuildFault::Rejected {
        error: CompilerRefusal::Exited(1).into(),
        messages: messages.to_owned(),
    };
    let language = Suites::builtin()
        .for_sources(&["gen.xyz".into()], None)
        .map(|_| ())
        .unwrap_err();
    let failure = || ToolFailure::new(RunFault::CpuTime, "no luck".to_owned());
    let checker_failure = |comment: &str| CheckerFailure::Answer {
        failure: ValidatorFailure::new(AnswerFault::TestlibFail, String::new()),
        comment: comment.to_owned(),
    };
    let submission = || "accepted/a.py".to_owned();
    let of_test = |reason| GroupReason::Test {
        test: "secret/a".to_owned(),
        reason: Some(reason),
    };
    let of_group = |fault| GroupReason::Group {
        group: "secret".to_owned(),
        fault,
    };
    let no_grader = || GroupFault::Grader(JudgeFailure::NoGrader.into());
    let not_accepted = |reason: Option<GroupReason>| ProgramFault::NotAccepted {
        submission: submission(),
        verdict: Verdict::TimeLimit,
        reason,
    };
    let fault = PackageFault::new(Path::new("p/check.sh"), PackageProblem::NoInteractor);
    let package_error = PackageError::from(fault);
    let at = |action: FileAction, fault: FileFault| file(action, Path::new("p/a"), fault);
    let io = |action: FileAction| file(action, Path::new("p/a"), Errno::ACCESS);
    let measuring = |reason: GroupReason| MachineError::Measuring {
        submission: submission(),
        reason: Some(reason),
    };
    let exited = RunResult::new(Outcome::Exited(1), Backend::Rlimit);
    let exited = AnswerFault::Ended(Box::new(exited));
    let checker = || Reason::Checker(ValidatorFailure::new(exited.clone(), String::new()).into());
    let skipped = |name: &str| SkippedSubmission {
        submission: name.to_owned(),
        reason: NoSuite::new(ChoiceError::NoSources, false).into(),
    };
    // The golden file does not repeat the language's error, because that text belongs to another
    // layer.
    let unknown = format!("gen.cpp: its language is unknown: {language}");
    assert_eq!(build(BuildFault::Language(language)).to_string(), unknown);
    assert_messages(
        env!("CARGO_MANIFEST_DIR"),
        "setter.txt",
        &[
            (
                "SetterError::Programs",
                &SetterError::Programs(vec![
                    ProgramFault::NoModelSolution,
                    ProgramFault::TestWithFiles("1".to_owned()),
                ]),
            ),
            (
                "RequestError::Archive",
                &RequestError::Archive("p.zip".into()),
            ),
            (
                "RequestError::Pattern",
                &RequestError::Pattern {
                    pattern: "[1".to_owned(),
                    reason: "invalid range pattern",
                    position: 1,
                },
            ),
            (
                "RequestError::NoSuchTest",
                &RequestError::NoSuchTest {
                    name: "secret/9".to_owned(),
                    nearest: None,
                },
            ),
            (
                "RequestError::NoSuchTest, similar",
                &RequestError::NoSuchTest {
                    name: "secret/9".to_owned(),
                    nearest: Some("secret/1".to_owned()),
                },
            ),
            (
                "RequestError::NotEmpty",
                &RequestError::NotEmpty("p".into()),
            ),
            (
                "RequestError::Title",
                &RequestError::Title("two\nlines".to_owned()),
            ),
            ("RequestError::Busy", &RequestError::Busy("p".into())),
            (
                "BuildFault::Rejected",
                &build(rejected("gen.cpp:1: error: x")),
            ),
            ("BuildFault::Rejected, silent", &build(rejected(""))),
            (
                "ProgramFault::Make",
                &make(Some(7), MakeFault::Failed(failure())),
            ),
            ("MakeFault::Empty", &make(None, MakeFault::Empty)),
            (
                "MakeFault::Unstable",
                &make(Some(7), MakeFault::Unstable { byte: 3 }),
            ),
            (
                "ProgramFault::NoInput",
                &ProgramFault::NoInput {
                    test: "1b".to_owned(),
                    input: "in/1b.in".to_owned(),
                },
            ),
            (
                "ProgramFault::TestWithFiles",
                &ProgramFault::TestWithFiles("1b".to_owned()),
            ),
            (
                "ProgramFault::NoModelSolution",
                &ProgramFault::NoModelSolution,
            ),
            (
                "ProgramFault::NothingToMeasure",
                &ProgramFault::NothingToMeasure,
            ),
            (
                "ProgramFault::MeasuringExcluded",
                &ProgramFault::MeasuringExcluded,
            ),
            (
                "ProgramFault::Package",
                &ProgramFault::Package(package_error),
            ),
            (
                "ProgramFault::NotAccepted",
                &not_accepted(Some(of_test(Reason::Run(RunFault::CpuTime)))),
            ),
            ("ProgramFault::NotAccepted, no test", &not_accepted(None)),
            (
                "ProgramFault::NotAccepted, group",
                &not_accepted(Some(of_group(GroupFault::GraderDecision))),
            ),
            (
                "ProgramFault::NotCompiled",
                &ProgramFault::NotCompiled {
                    submission: submission(),
                    error: CompilerRefusal::Exited(1).into(),
                },
            ),
            ("MachineError::Stopped", &MachineError::Stopped),
            (
                "MachineError::Judge",
                &MachineError::Judge(JudgeFailure::NoAnswer),
            ),
            (
                "MachineError::Compiler",
                &MachineError::Compiler {
                    program: "gen.cpp".into(),
                    error: InternalError::NoCommonDirectory.into(),
                },
            ),
            (
                "MachineError::CheckerData",
                &MachineError::CheckerData(StagingError::TooDeep("p/data".into())),
            ),
            (
                "MachineError::Shell",
                &MachineError::Shell(Errno::NOSPC.into()),
            ),
            ("MachineError::Measuring", &measuring(of_test(checker()))),
            (
                "MachineError::Measuring, no test",
                &measuring(of_group(no_grader())),
            ),
            (
                "MachineError::NoneMeasurable",
                &MachineError::NoneMeasurable(vec![skipped("a.kt"), skipped("b.kt")]),
            ),
            (
                "MachineError::LimitsNotRead",
                &MachineError::LimitsNotRead(LimitMismatch::Test {
                    test: "1".to_owned(),
                    found: Some(2.0),
                    written: 1.0,
                }),
            ),
            ("MachineError::Random", &MachineError::Random(Errno::NOSYS)),
            ("FileAction::Read", &io(FileAction::Read)),
            ("FileAction::Write", &io(FileAction::Write)),
            ("FileAction::Open", &io(FileAction::Open)),
            ("FileAction::Remove", &io(FileAction::Remove)),
            ("FileAction::Replace", &io(FileAction::Replace)),
            ("FileAction::Change", &io(FileAction::Change)),
            ("FileAction::Pack", &io(FileAction::Pack)),
            ("FileAction::Find", &io(FileAction::Find)),
            ("FileAction::Inspect", &io(FileAction::Inspect)),
            ("FileAction::ReadDirectory", &io(FileAction::ReadDirectory)),
            (
                "FileAction::CreateDirectory",
                &io(FileAction::CreateDirectory),
            ),
            ("FileAction::Use", &io(FileAction::Use)),
            ("FileAction::CreatePackage", &io(FileAction::CreatePackage)),
            ("FileAction::Stage", &io(FileAction::Stage)),
            (
                "FileFault::Zip",
                &at(FileAction::Write, FileFault::Zip(ZipError::FileNotFound)),
            ),
            (
                "FileFault::NotRegular, remove",
                &at(FileAction::Read, FileFault::NotRegular(Remedy::Remove)),
            ),
            (
                "FileFault::NotRegular, name",
                &at(
                    FileAction::Write,
                    FileFault::NotRegular(Remedy::NameAnother),
                ),
            ),
            (
                "FileFault::NotDirectory",
                &at(FileAction::Use, FileFault::NotDirectory),
            ),
            (
                "FileFault::DanglingLink",
                &at(FileAction::Write, FileFault::DanglingLink),
            ),
            (
                "FileFault::TooDeep",
                &at(FileAction::Pack, FileFault::TooDeep(16)),
            ),
            (
                "FileFault::Outside",
                &at(FileAction::Pack, FileFault::Outside("/etc/passwd".into())),
            ),
            (
                "FileFault::NameNotUtf8",
                &at(
                    FileAction::ReadDirectory,
                    FileFault::NameNotUtf8("b".into()),
                ),
            ),
            (
                "FileFault::Incomplete",
                &at(FileAction::Write, FileFault::Incomplete),
            ),
            (
                "FileFault::TooLong",
                &at(FileAction::Read, FileFault::TooLong { mebibytes: 64 }),
            ),
            (
                "FileFault::PathOutside",
                &at(FileAction::Read, FileFault::PathOutside("../x".to_owned())),
            ),
            (
                "FileFault::LinkAbove",
                &at(FileAction::Remove, FileFault::LinkAbove),
            ),
            (
                "FileFault::Vanished",
                &at(FileAction::Write, FileFault::Vanished),
            ),
            (
                "FileFault::Edit",
                &at(FileAction::Change, FileFault::Edit(EditError::NotMap)),
            ),
            (
                "ValidationFault::MissingFile",
                &ValidationFault::MissingFile {
                    kind: FileKind::Input,
                    test: "TEST".to_owned(),
                    generated: true,
                },
            ),
            (
                "ValidationFault::SameInput",
                &ValidationFault::SameInput {
                    test: "TEST".to_owned(),
                },
            ),
            (
                "ValidationFault::Build",
                &ValidationFault::Build(rejected("a.cpp:1: x\nb")),
            ),
            (
                "ValidationFault::Program",
                &ValidationFault::Program(ProgramFault::NoModelSolution),
            ),
            (
                "ValidationFault::Checktestdata",
                &ValidationFault::Checktestdata {
                    reason: "REASON".to_owned(),
                },
            ),
            (
                "ValidationFault::InputRejected, too long",
                &ValidationFault::InputRejected {
                    program: "PROGRAM".to_owned(),
                    refusal: Refusal::TooLong { mebibytes: 3 },
                },
            ),
            (
                "ValidationFault::NoInputValidator",
                &ValidationFault::NoInputValidator,
            ),
            (
                "ValidationFault::InputRejected",
                &ValidationFault::InputRejected {
                    program: "PROGRAM".to_owned(),
                    refusal: Refusal::Failed(failure()),
                },
            ),
            (
                "ValidationFault::CheckerFailsOnAnswer",
                &ValidationFault::CheckerFailsOnAnswer(checker_failure("")),
            ),
            (
                "ValidationFault::AnswerRejected",
                &ValidationFault::AnswerRejected {
                    comment: "COMMENT".to_owned(),
                },
            ),
            (
                "ValidationFault::OutputUnchecked",
                &ValidationFault::OutputUnchecked,
            ),
            (
                "ValidationFault::InvalidInputAccepted",
                &ValidationFault::InvalidInputAccepted,
            ),
            (
                "ValidationFault::ValidatorCrashes",
                &ValidationFault::ValidatorCrashes {
                    program: "PROGRAM".to_owned(),
                    refusal: Refusal::Failed(failure()),
                },
            ),
            (
                "ValidationFault::IncompleteProbe",
                &ValidationFault::IncompleteProbe { extension: ".out" },
            ),
            (
                "ValidationFault::CheckerFailsOnOutput",
                &ValidationFault::CheckerFailsOnOutput(checker_failure("COMMENT")),
            ),
            (
                "ValidationFault::CheckerFailsOnOutput, judge",
                &ValidationFault::CheckerFailsOnOutput(CheckerFailure::Judge(
                    JudgeFailure::NoAnswer.into(),
                )),
            ),
            (
                "ValidationFault::ValidOutputRejected",
                &ValidationFault::ValidOutputRejected {
                    comment: "COMMENT".to_owned(),
                },
            ),
            (
                "ValidationFault::InvalidOutputAccepted",
                &ValidationFault::InvalidOutputAccepted,
            ),
            (
                "ValidationFault::ByteOrderMark",
                &ValidationFault::ByteOrderMark,
            ),
            (
                "ValidationFault::CarriageReturn",
                &ValidationFault::CarriageReturn,
            ),
            ("ValidationFault::ZeroByte", &ValidationFault::ZeroByte),
            ("ValidationFault::NotUtf8", &ValidationFault::NotUtf8),
            ("ValidationFault::Empty", &ValidationFault::Empty),
            ("ValidationFault::NoLineFeed", &ValidationFault::NoLineFeed),
            (
                "ValidationFault::InputRejected, rejects",
                &ValidationFault::InputRejected {
                    program: "PROGRAM".to_owned(),
                    refusal: Refusal::Rejected(ToolFailure::new(
                        RunFault::CpuTime,
                        "a\nb".to_owned(),
                    )),
                },
            ),
            (
                "ValidationFault::InputRejected, 0",
                &ValidationFault::InputRejected {
                    program: "PROGRAM".to_owned(),
                    refusal: Refusal::ExitedWithZero,
                },
            ),
        ],
    );
}
