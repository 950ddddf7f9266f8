//! Compares the messages of the crate with a golden file.

use crate::cache::{CacheError, DirectoryFault};
use crate::compile::{
    Availability, BuildError, ClosedPath, CompileError, Fallback, InstallationFault, InternalError,
    Limit, NoSuite, Obstacle, ProductFault, QueryFault, Refusal, Remedy, RunFailure, SourceAction,
    SourceFault, ToolFault, ToolsError, TrialError, Unavailable, WorldError,
};
use crate::files::{HostError, NameFault, StoreError};
use crate::staging::{StagingAction, StagingError};
use crate::suite::{ChoiceError, Fault, FaultKind, Faults, Library, Place, Suggestion};
use millibox::{Backend, EndReason, Outcome, ProcessEnd, RunResult};
use millibox_golden::assert_messages;
use rustix::io::Errno;
use std::fmt::Display;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Variants and their messages.
type Messages = Vec<(&'static str, Box<dyn Display>)>;

/// Lists names of variants with their messages.
macro_rules! messages {
    ($($name:literal => $message:expr),* $(,)?) => {
        vec![$(($name, Box::new($message) as Box<dyn Display>)),*]
    };
}

#[test]
fn messages_match_golden_file() {
    let mut all = suite_messages();
    all.extend(choice_messages());
    all.extend(refusal_messages());
    all.extend(compile_messages());
    all.extend(tool_messages());
    all.extend(file_messages());
    let all: Vec<(&str, &dyn Display)> = all
        .iter()
        .map(|(variant, message)| (*variant, &**message))
        .collect();
    assert_messages(env!("CARGO_MANIFEST_DIR"), "messages.txt", &all);
}

fn denied() -> io::Error {
    Errno::ACCESS.into()
}

fn killed() -> RunResult {
    RunResult::new(Outcome::Killed, Backend::Rlimit)
}

fn exited(status: i32) -> RunResult {
    RunResult::new(Outcome::Exited(status), Backend::Rlimit)
}

fn example_fails() -> BuildError {
    BuildError::new(Refusal::Exited(1), "\nno such option\n")
}

fn suite_messages() -> Messages {
    let key = || "memory_mib".to_owned();
    let table = || Place::Table("run".to_owned());
    let fault = |line, kind| Fault {
        file: "x.toml".to_owned(),
        line,
        kind,
    };
    messages![
        "Fault" => fault(3, FaultKind::ToolRoot),
        "Fault, whole file" => fault(0, FaultKind::Read(denied())),
        "Faults" => Faults(vec![
            fault(1, FaultKind::DefaultVariants(0)),
            fault(2, FaultKind::LinkingNotUsed),
        ]),
        "FaultKind::Syntax" => FaultKind::Syntax("invalid array\nexpected `]`".to_owned()),
        "FaultKind::UnknownKey" => FaultKind::UnknownKey {
            key: "titel".to_owned(),
            place: Place::Top,
            suggestion: Suggestion::Nearest("\"title\"".to_owned()),
        },
        "FaultKind::MissingKey" => FaultKind::MissingKey { key: key(), place: table() },
        "FaultKind::Empty" => FaultKind::Empty { key: key(), place: table() },
        "FaultKind::WrongType" => FaultKind::WrongType {
            key: key(),
            place: table(),
            expected: "a whole number",
            found: "string",
        },
        "FaultKind::OutOfRange" => FaultKind::OutOfRange {
            key: key(),
            place: table(),
            min: 0,
            max: 100,
        },
        "FaultKind::UnknownWord" => FaultKind::UnknownWord {
            key: "system".to_owned(),
            place: table(),
            known: vec!["all".to_owned(), "libraries".to_owned()],
            found: "none".to_owned(),
        },
        "FaultKind::NameCharacters" => FaultKind::NameCharacters("C 17".to_owned()),
        "FaultKind::NameSpaces" => FaultKind::NameSpaces(" c".to_owned()),
        "FaultKind::ExtensionDot" => FaultKind::ExtensionDot {
            key: "extensions",
            extension: "c".to_owned(),
        },
        "FaultKind::NameTaken" => FaultKind::NameTaken {
            name: "c".to_owned(),
            file: "c.toml".to_owned(),
        },
        "FaultKind::DefaultServices" => FaultKind::DefaultServices,
        "FaultKind::ServiceNameTwice" => FaultKind::ServiceNameTwice {
            service: "Piston",
            name: "c".to_owned(),
        },
        "FaultKind::ServiceNameTaken" => FaultKind::ServiceNameTaken {
            service: "Judge0",
            name: "50".to_owned(),
            file: "c.toml".to_owned(),
        },
        "FaultKind::LanguageTaken" => FaultKind::LanguageTaken {
            name: "c".to_owned(),
            file: "c.toml".to_owned(),
        },
        "FaultKind::AlwaysWithOtherKeys" => FaultKind::AlwaysWithOtherKeys,
        "FaultKind::VariantKey" => FaultKind::VariantKey {
            variant: "c17".to_owned(),
            key: "standard".to_owned(),
        },
        "FaultKind::UnknownPlaceholder" => FaultKind::UnknownPlaceholder {
            name: "{x}".to_owned(),
            suggestion: Suggestion::Known(vec!["{main}".to_owned(), "{gcc}".to_owned()]),
        },
        "FaultKind::ListPlaceholder" => FaultKind::ListPlaceholder("sources".to_owned()),
        "FaultKind::SeccompProfile" => FaultKind::SeccompProfile {
            name: "none".to_owned(),
            known: vec!["default".to_owned()],
        },
        "FaultKind::MountPattern" => FaultKind::MountPattern {
            pattern: "/a[".to_owned(),
            reason: "invalid range pattern",
            position: 2,
        },
        "FaultKind::MountPath" => FaultKind::MountPath("../a".to_owned()),
    ]
}

fn choice_messages() -> Messages {
    let unknown = |nearest: Option<&str>| ChoiceError::UnknownName {
        name: "pyhton".to_owned(),
        nearest: nearest.map(str::to_owned),
        known: vec!["c17".to_owned(), "python3".to_owned()],
    };
    messages![
        "ChoiceError::UnknownName" => unknown(None),
        "ChoiceError::UnknownName, similar" => unknown(Some("python3")),
        "ChoiceError::NoSources" => ChoiceError::NoSources,
        "ChoiceError::SeveralLanguages" => ChoiceError::SeveralLanguages {
            sources: vec!["p/a.c".into(), "p/b.py".into(), "p/c.py".into()],
            titles: vec!["C17".to_owned(), "Python 3".to_owned()],
        },
        "ChoiceError::ForeignInterpreter" => ChoiceError::ForeignInterpreter {
            source_file: "p/a.py".into(),
            interpreter: "python2".to_owned(),
        },
        "ChoiceError::UnknownSources" => ChoiceError::UnknownSources {
            sources: vec!["p/a.x".into()],
            extensions: vec!["c".to_owned(), "py".to_owned()],
        },
        "ChoiceError::NotRead" => ChoiceError::NotRead {
            source_file: "p/a.pl".into(),
            cause: denied().into(),
        },
    ]
}

fn refusal_messages() -> Messages {
    let source = |fault| Refusal::Source {
        path: "p/a\n.c".into(),
        fault,
    };
    messages![
        "Refusal::NoSources" => Refusal::NoSources,
        "Refusal::TooManySources" => Refusal::TooManySources(20_001),
        "SourceFault::Name" => source(SourceFault::Name),
        "SourceFault::Link" => source(SourceFault::Link),
        "SourceFault::LinkOutside" => source(SourceFault::LinkOutside),
        "SourceFault::NotRegular" => source(SourceFault::NotRegular),
        "SourceFault::Mode" => source(SourceFault::Mode),
        "SourceFault::TooLong" => source(SourceFault::TooLong),
        "SourceFault::Constants" => source(SourceFault::Constants(millibox_package::TooLong(9))),
        "Refusal::SourceName" => Refusal::SourceName {
            name: "../a.c".into(),
            fault: NameFault::NotBelow,
        },
        "Refusal::OnlyHeaders" => Refusal::OnlyHeaders { title: "C17".to_owned() },
        "Refusal::NamesTooLong" => Refusal::NamesTooLong(900),
        "Refusal::CommandTooLong" => Refusal::CommandTooLong,
        "Refusal::Exited" => CompileError::from(Refusal::Exited(1)),
        "Refusal::Signaled" => Refusal::Signaled(11),
        "Refusal::EndedItself" => Refusal::EndedItself(Box::new(exited(137))),
        "Refusal::NotPacked" => Refusal::NotPacked(Box::new(exited(2))),
        "Refusal::NoProgram" => Refusal::NoProgram,
        "Refusal::NoExecutable" => Refusal::NoExecutable("run".to_owned()),
        "Refusal::NoMainClass" => Refusal::NoMainClass,
        "Refusal::SeveralMainClasses" =>
            Refusal::SeveralMainClasses(vec!["A".to_owned(), "B".to_owned()]),
        "Refusal::Language" => Refusal::Language(NoSuite::new(ChoiceError::NoSources, false)),
        "Refusal::CodeTooLong" => Refusal::CodeTooLong {
            bytes: 2000,
            limit: 1000,
        },
        "ProductFault::Unreadable" => Refusal::from(ProductFault::Unreadable(denied().into())),
        "ProductFault::TooManyFiles" => ProductFault::TooManyFiles,
        "ProductFault::DanglingLink" => ProductFault::DanglingLink("a".into()),
        "ProductFault::NotRegular" => ProductFault::NotRegular("a".into()),
        "ProductFault::Name" => ProductFault::Name {
            name: "a/b".into(),
            fault: NameFault::BelowFile,
        },
        "Limit::CpuTime" => CompileError::Limit(Limit::CpuTime(Duration::from_millis(1500))),
        "Limit::RealTime" => CompileError::Limit(Limit::RealTime(Duration::from_secs(100))),
        "Limit::Memory" => CompileError::Limit(Limit::Memory(64 << 20)),
        "Limit::Output" => CompileError::Limit(Limit::Output(64 << 20)),
        "Limit::Room" => CompileError::Limit(Limit::Room(64 << 20)),
    ]
}

fn compile_messages() -> Messages {
    let source = |action| InternalError::Source {
        path: "p/a.c".into(),
        action,
        cause: denied().into(),
    };
    let title = || "C17".to_owned();
    let trial = |message: Option<&str>| TrialError::Output {
        result: Box::new(exited(0)),
        stdout: "no sum".to_owned(),
        expected: "40",
        message: message.map(str::to_owned),
    };
    messages![
        "Unavailable::Tools" => CompileError::Unavailable(Unavailable::Tools(ToolsError {
            title: title(),
            availability: Box::new(missing()),
        })),
        "Unavailable::Language" => Unavailable::Language(NoSuite::new(
            ChoiceError::UnknownSources {
                sources: vec!["a.x".into()],
                extensions: vec!["c".to_owned(), "py".to_owned()],
            },
            true,
        )),
        "InternalError::Suite" => CompileError::from(InternalError::Suite {
            title: title(),
            error: Box::new(example_fails()),
        }),
        "InternalError::Prepare" => InternalError::Prepare {
            title: title(),
            error: Box::new(BuildError::new(Refusal::Signaled(9), "")),
        },
        "InternalError::NotPrepared" => InternalError::NotPrepared {
            title: title(),
            library: Library::Common,
        },
        "SourceAction::Resolve" => source(SourceAction::Resolve),
        "SourceAction::Open" => source(SourceAction::Open),
        "SourceAction::OpenDirectory" => source(SourceAction::OpenDirectory),
        "SourceAction::List" => source(SourceAction::List),
        "SourceAction::Inspect" => source(SourceAction::Inspect),
        "SourceAction::Read" => source(SourceAction::Read),
        "InternalError::NoCommonDirectory" => InternalError::NoCommonDirectory,
        "InternalError::TooManyIncluded" => InternalError::TooManyIncluded("p/include".into()),
        "InternalError::Included" => InternalError::Included(Box::new(Refusal::Source {
            path: "p/include/a.h".into(),
            fault: SourceFault::Link,
        })),
        "InternalError::TemporaryDirectory" => InternalError::TemporaryDirectory(closed()),
        "WorldError::Profile" => InternalError::from(WorldError::Profile("none".to_owned())),
        "RunFailure::Pipe" => InternalError::from(RunFailure::Pipe(Errno::MFILE)),
        "RunFailure::Write" => RunFailure::Write(Errno::PIPE),
        "RunFailure::Thread" => RunFailure::Thread(io::Error::from(Errno::AGAIN).into()),
        "RunFailure::Reader" => RunFailure::Reader,
        "RunFailure::Sandbox" =>
            RunFailure::Sandbox(millibox::Error::Died(EndReason::Process(ProcessEnd::Killed(9))).into()),
        "InternalError::Ended" => InternalError::Ended(Box::new(killed())),
        "InternalError::ReadProduct" => InternalError::ReadProduct(denied().into()),
        "TrialError::Output" => trial(Some("Traceback")),
        "TrialError::Output, silent" => trial(None),
    ]
}

fn closed() -> ClosedPath {
    ClosedPath {
        path: "/root".into(),
        mode: 0o700,
        user: 60_578,
    }
}

fn install() -> Remedy {
    Remedy::Install {
        package: "gcc".to_owned(),
        hint: None,
    }
}

fn missing() -> Availability {
    Availability::Missing {
        program: "gcc".to_owned(),
        remedy: install(),
    }
}

fn tool_messages() -> Messages {
    let version = |message: Option<&str>| ToolFault::Version {
        result: exited(1),
        message: message.map(str::to_owned),
    };
    let query = |fault| InstallationFault::Query {
        command: "/opt/x/bin/x --root".to_owned(),
        fault,
    };
    messages![
        "Availability::Available" => Availability::Available { version: "gcc 14.2".to_owned() },
        "Availability::Missing" => missing(),
        "Availability::Unreachable" => Availability::Unreachable {
            program: "/root/bin/gcc".into(),
            reason: Obstacle::Closed(closed()),
            remedy: install(),
        },
        "Availability::Broken" => Availability::Broken {
            program: "/usr/bin/gcc".into(),
            reason: Box::new(version(Some("no licence"))),
            remedy: Remedy::Doctor,
        },
        "Remedy::Install" => install(),
        "Remedy::Install, hint" => Remedy::Install {
            package: "rustc".to_owned(),
            hint: Some("or open the toolchain to all users".to_owned()),
        },
        "Remedy::Reinstall" => Remedy::Reinstall { package: "gcc".to_owned() },
        "Remedy::Doctor" => Remedy::Doctor,
        "ToolFault::Io" => ToolFault::Io(denied().into()),
        "ToolFault::Version, silent" => version(None),
        "InstallationFault::NoDirectory" => ToolFault::from(InstallationFault::NoDirectory {
            executable: "/x".into(),
            levels: 2,
        }),
        "InstallationFault::Printed" => InstallationFault::Printed {
            printed: "/opt/y".to_owned(),
            cause: io::Error::from(Errno::NOENT).into(),
        },
        "InstallationFault::TooLarge" => InstallationFault::TooLarge("/home/user".into()),
        "InstallationFault::Outside" => InstallationFault::Outside {
            executable: "/opt/x/x".into(),
            root: "/opt/y".into(),
        },
        "QueryFault::Io" => query(QueryFault::Io(denied().into())),
        "QueryFault::Read" => query(QueryFault::Read(Errno::IO)),
        "QueryFault::Timeout" => query(QueryFault::Timeout),
        "QueryFault::NoPath" => query(QueryFault::NoPath("x".to_owned())),
        "QueryFault::Failed" => query(QueryFault::Failed(ExitStatus::from_raw(3 << 8))),
        "Fallback" => Fallback {
            error: example_fails(),
            remedy: install(),
        },
    ]
}

fn file_messages() -> Messages {
    let cache = |variable, fault| CacheError::Directory {
        directory: "/c/millibox".into(),
        variable,
        fault,
    };
    let staging = |action| StagingError::Io {
        action,
        path: "/p/a".into(),
        error: denied().into(),
    };
    messages![
        "DirectoryFault::Io" => cache(None, DirectoryFault::Io(denied().into())),
        "DirectoryFault::NotPrivate" =>
            cache(Some("HOME"), DirectoryFault::NotPrivate { user: 1000 }),
        "DirectoryFault::Replaceable" =>
            cache(None, DirectoryFault::Replaceable { above: "/c".into() }),
        "CacheError::Clear" => CacheError::Clear {
            directory: "/c/millibox".into(),
            cause: denied().into(),
        },
        "StoreError::Name" => StoreError::Name {
            name: "a/b".into(),
            fault: NameFault::Duplicate,
        },
        "StoreError::TooLarge" => StoreError::TooLarge(10),
        "HostError" => StoreError::from(HostError {
            directory: "/tmp".into(),
            cause: io::Error::from(Errno::NOSPC).into(),
        }),
        "NameFault::TooLong" => NameFault::TooLong,
        "NameFault::TooMany" => NameFault::TooMany,
        "NameFault::Rejected" => NameFault::Rejected(io::Error::from(Errno::ILSEQ).into()),
        "StagingAction::CreateIn" => staging(StagingAction::CreateIn),
        "StagingAction::ChangeGroup" => staging(StagingAction::ChangeGroup),
        "StagingAction::ChangeMode" => staging(StagingAction::ChangeMode),
        "StagingAction::Find" => staging(StagingAction::Find),
        "StagingAction::Inspect" => staging(StagingAction::Inspect),
        "StagingAction::Create" => staging(StagingAction::Create),
        "StagingAction::Follow" => staging(StagingAction::Follow),
        "StagingAction::Remove" => staging(StagingAction::Remove),
        "StagingAction::Copy" => staging(StagingAction::Copy),
        "StagingAction::List" => staging(StagingAction::List),
        "StagingError::TemporaryDirectory" => StagingError::TemporaryDirectory {
            directory: "/tmp".into(),
            user: 60_578,
        },
        "StagingError::TooDeep" => StagingError::TooDeep("/p/a".into()),
        "StagingError::TooManyFiles" => StagingError::TooManyFiles("/p/a".into()),
        "StagingError::Link" => StagingError::Link {
            link: "/p/a".into(),
            target: "/etc".into(),
            root: "/p".into(),
        },
    ]
}
