//! Compares the messages of the service's errors with golden files.

use crate::config::{
    ConfigError, ListenError, Origin, OriginError, ServedDialectError, TmpfsError,
};
use crate::core::catalog::{CatalogError, RuntimeFault, ScriptError};
use crate::core::execution::{ExecutionError, FilesError, OutputFileError};
use crate::core::files::StoreError;
use crate::core::judging::{JudgingError, SubmissionError};
use crate::core::program::ProgramError;
use crate::core::queue::Refusal;
use crate::core::registry::KeyConflict;
use crate::dialects::go_judge::error::{BeginError, GroupError, PipeError, RequestError};
use crate::dialects::go_judge::file_system::FileSystemError;
use crate::dialects::go_judge::model::End;
use crate::dialects::go_judge::mount_file::{MountFault, MountFileError};
use crate::dialects::judge0::archive::ArchiveError;
use crate::dialects::piston::error::{JobError, RequestError as PistonError};
use crate::dialects::piston::packages::PackageError;
use crate::http::sockets::ServerError;
use crate::http::v1::attach::AttachError;
use crate::service::StartError;
use crate::tokens::Unauthorized;
use millibox_golden::assert_messages;
use millibox_package::fault::files::FileFault;
use millibox_package::{Fault, Severity};
use rustix::io::Errno;
use std::time::Duration;

#[test]
fn messages_of_the_service_match_the_golden_files() {
    let directory = env!("CARGO_MANIFEST_DIR");
    let io = || std::io::Error::from(Errno::ACCESS);
    let path = || std::path::PathBuf::from("/srv/a");
    let second = Duration::from_secs(1);
    let json = || serde_json::from_str::<u8>("").unwrap_err();
    let toml = Box::new(toml::from_str::<toml::Table>("a =").unwrap_err());
    let origin: OriginError = "a".parse::<Origin>().unwrap_err();
    let faults = millibox_package::read("/dev/null/p".as_ref()).unwrap_err();
    let full = FileFault::Unreadable(std::io::Error::from(Errno::NOSPC).into());
    let full = Fault::new("a", Severity::Error, full);
    let name = || "a".to_owned();

    assert_messages(
        directory,
        "config.txt",
        &[
            ("ListenError::Dialect", &ListenError::Dialect(name())),
            ("ListenError::Address", &ListenError::Address(name())),
            (
                "ServedDialectError::Dialect",
                &ServedDialectError::Dialect(name()),
            ),
            (
                "ServedDialectError::Prefix",
                &ServedDialectError::Prefix(name()),
            ),
            (
                "ServedDialectError::Taken",
                &ServedDialectError::Taken("/v1".to_owned()),
            ),
            ("ServedDialectError::Grpc", &ServedDialectError::Grpc),
            ("OriginError", &origin),
            (
                "ConfigError::Read",
                &ConfigError::Read {
                    path: path(),
                    error: io(),
                },
            ),
            (
                "ConfigError::Parse",
                &ConfigError::Parse {
                    path: path(),
                    error: toml,
                },
            ),
            (
                "ConfigError::OpenAddress",
                &ConfigError::OpenAddress(([0, 0, 0, 0], 8080).into()),
            ),
            (
                "ConfigError::PrefixTwice",
                &ConfigError::PrefixTwice("/judge0".to_owned()),
            ),
            (
                "ConfigError::DialectTwice",
                &ConfigError::DialectTwice("judge0"),
            ),
            ("ConfigError::Digest", &ConfigError::Digest(name())),
            (
                "ServerError::Bind",
                &ServerError::Bind {
                    address: ([127, 0, 0, 1], 80).into(),
                    error: io(),
                },
            ),
            (
                "ServerError::BindUnix",
                &ServerError::BindUnix {
                    path: path(),
                    error: io(),
                },
            ),
            (
                "StartError::NoCgroups",
                &StartError::NoCgroups {
                    declined: Vec::new(),
                },
            ),
            ("StartError::NoExec", &StartError::NoExec(path())),
            ("StartError::Files", &StartError::Files(io())),
            (
                "StartError::Machine",
                &StartError::Machine {
                    what: "the number of CPUs",
                    error: io(),
                },
            ),
            ("Unauthorized", &Unauthorized),
        ],
    );

    assert_messages(
        directory,
        "core.txt",
        &[
            ("RuntimeFault::NoSupervisor", &RuntimeFault::NoSupervisor),
            (
                "CatalogError::UnknownRuntime",
                &CatalogError::UnknownRuntime {
                    name: name(),
                    installed: vec!["c".to_owned(), "python".to_owned()],
                },
            ),
            (
                "CatalogError::Unavailable",
                &CatalogError::Unavailable {
                    name: name(),
                    fault: RuntimeFault::NoSupervisor,
                },
            ),
            ("CatalogError::NoSource", &CatalogError::NoSource),
            ("CatalogError::Path", &CatalogError::Path("../a".into())),
            ("CatalogError::NoSupervisor", &CatalogError::NoSupervisor),
            (
                "CatalogError::Panicked",
                &CatalogError::Panicked("index out of bounds".to_owned()),
            ),
            ("ScriptError::NoSupervisor", &ScriptError::NoSupervisor),
            ("OutputFileError::Missing", &OutputFileError::Missing),
            ("OutputFileError::NotRegular", &OutputFileError::NotRegular),
            (
                "OutputFileError::TooLarge",
                &OutputFileError::TooLarge {
                    bytes: 9,
                    max_bytes: 8,
                },
            ),
            (
                "OutputFileError::Unreadable",
                &OutputFileError::Unreadable { errno: 13 },
            ),
            (
                "ExecutionError::System",
                &ExecutionError::System {
                    action: "create a pipe",
                    error: io(),
                },
            ),
            ("ExecutionError::NoStage", &ExecutionError::NoStage),
            (
                "FilesError::Step",
                &ExecutionError::Files(FilesError::Step {
                    step: "create a/b",
                    errno: Some(13),
                }),
            ),
            (
                "FilesError::Path",
                &ExecutionError::Files(FilesError::Path("../a".into())),
            ),
            (
                "FilesError::TooLarge",
                &ExecutionError::Files(FilesError::TooLarge {
                    bytes: 9,
                    max_bytes: 8,
                }),
            ),
            (
                "FilesError::TooMany",
                &ExecutionError::Files(FilesError::TooMany {
                    count: 9,
                    max_count: 8,
                }),
            ),
            (
                "StoreError::Digest",
                &StoreError::Digest {
                    found: "aa".to_owned(),
                    expected: "bb".to_owned(),
                },
            ),
            (
                "StoreError::Full",
                &StoreError::Full {
                    bytes: 8,
                    max_bytes: 9,
                },
            ),
            (
                "StoreError::Share",
                &StoreError::Share {
                    bytes: 8,
                    records: 2,
                },
            ),
            (
                "StoreError::Name",
                &StoreError::Name {
                    bytes: 9,
                    max_bytes: 8,
                },
            ),
            ("StoreError::Interrupted", &StoreError::Interrupted),
            ("StoreError::Disk", &StoreError::Disk(io())),
            (
                "JudgingError::Package",
                &JudgingError::Package(faults.into_iter().collect()),
            ),
            (
                "JudgingError::NotPrepared",
                &JudgingError::NotPrepared(vec![full]),
            ),
            (
                "JudgingError::System",
                &JudgingError::System {
                    action: "create a directory",
                    error: io(),
                },
            ),
            ("JudgingError::Cancelled", &JudgingError::Cancelled),
            ("SubmissionError::NoSource", &SubmissionError::NoSource),
            (
                "SubmissionError::Path",
                &SubmissionError::Path("../a".into()),
            ),
            ("ProgramError::NoCommand", &ProgramError::NoCommand),
            (
                "Refusal::QueueFull",
                &Refusal::QueueFull {
                    queued: 3,
                    retry_after: second,
                },
            ),
            (
                "Refusal::ShareUsed",
                &Refusal::ShareUsed {
                    queued: 3,
                    retry_after: second,
                },
            ),
            (
                "Refusal::TimedOut",
                &Refusal::TimedOut {
                    waited: second,
                    retry_after: second,
                },
            ),
            (
                "Refusal::Preparing",
                &Refusal::Preparing {
                    title: "Go".to_owned(),
                    retry_after: second,
                },
            ),
            ("Refusal::Draining", &Refusal::Draining),
            (
                "Refusal::TooMuchMemory",
                &Refusal::TooMuchMemory {
                    memory_bytes: 9,
                    max_bytes: 8,
                },
            ),
            (
                "Refusal::TooLarge",
                &Refusal::TooLarge {
                    bytes: 9,
                    max_bytes: 8,
                },
            ),
            (
                "KeyConflict",
                &KeyConflict {
                    id: "job-1".to_owned(),
                },
            ),
        ],
    );

    assert_messages(
        directory,
        "interfaces.txt",
        &[
            ("v1::AttachError::NoInput", &AttachError::NoInput),
            ("v1::AttachError::Binary", &AttachError::Binary),
            ("v1::AttachError::Command", &AttachError::Command(json())),
            (
                "v1::AttachError::NotInteractive",
                &AttachError::NotInteractive,
            ),
            (
                "v1::AttachError::TerminalSignal",
                &AttachError::TerminalSignal("SIGHUP".to_owned()),
            ),
            (
                "v1::AttachError::PipeSignal",
                &AttachError::PipeSignal("SIGHUP".to_owned()),
            ),
            ("v1::AttachError::NoTerminal", &AttachError::NoTerminal),
            ("v1::AttachError::Resize", &AttachError::Resize(io())),
            (
                "go_judge::RequestError::NoCommand",
                &RequestError::NoCommand,
            ),
            ("go_judge::RequestError::FileType", &RequestError::FileType),
            (
                "go_judge::RequestError::SourcePath",
                &RequestError::SourcePath {
                    path: path(),
                    prefixes: vec!["/data".into()],
                },
            ),
            (
                "go_judge::RequestError::Unsupported",
                &RequestError::Unsupported { field: "tty" },
            ),
            (
                "go_judge::RequestError::AboveLimit",
                &RequestError::AboveLimit {
                    field: "procLimit",
                    value: 9,
                    max: 8,
                },
            ),
            (
                "go_judge::PipeError::Index",
                &PipeError::Index(End { index: 9, fd: 1 }),
            ),
            (
                "go_judge::PipeError::Descriptor",
                &PipeError::Descriptor(End { index: 0, fd: 99 }),
            ),
            (
                "go_judge::PipeError::Occupied",
                &PipeError::Occupied(End { index: 0, fd: 1 }),
            ),
            ("go_judge::BeginError::EmptyId", &BeginError::EmptyId),
            (
                "go_judge::BeginError::DuplicateId",
                &BeginError::DuplicateId(name()),
            ),
            ("go_judge::BeginError::QueueFull", &BeginError::QueueFull),
            (
                "go_judge::GroupError::UnknownFile",
                &GroupError::UnknownFile(name()),
            ),
            (
                "go_judge::GroupError::Pipe",
                &GroupError::Pipe(PipeError::Index(End { index: 9, fd: 1 })),
            ),
            ("go_judge::GroupError::QueueFull", &GroupError::QueueFull),
            (
                "go_judge::GroupError::System",
                &GroupError::System {
                    action: "create a pipe",
                    error: io(),
                },
            ),
            (
                "judge0::ArchiveError::Unreadable",
                &ArchiveError::Unreadable,
            ),
            (
                "judge0::ArchiveError::Name",
                &ArchiveError::Name("../a".to_owned()),
            ),
            ("judge0::ArchiveError::Link", &ArchiveError::Link(name())),
            ("judge0::ArchiveError::Twice", &ArchiveError::Twice(name())),
            ("judge0::ArchiveError::TooLarge", &ArchiveError::TooLarge),
            ("judge0::ArchiveError::TooMany", &ArchiveError::TooMany),
            ("piston::RequestError::Language", &PistonError::Language),
            ("piston::RequestError::Version", &PistonError::Version),
            ("piston::RequestError::Files", &PistonError::Files),
            ("piston::RequestError::Content", &PistonError::Content(0)),
            (
                "piston::RequestError::UnknownRuntime",
                &PistonError::UnknownRuntime {
                    language: name(),
                    version: "1.x".to_owned(),
                },
            ),
            ("piston::RequestError::NoTextFile", &PistonError::NoTextFile),
            (
                "piston::RequestError::NotNumber",
                &PistonError::NotNumber("run_timeout"),
            ),
            (
                "piston::RequestError::AboveLimit",
                &PistonError::AboveLimit {
                    name: "run_timeout",
                    limit: 3000,
                },
            ),
            (
                "piston::RequestError::Negative",
                &PistonError::Negative("run_timeout"),
            ),
            ("piston::RequestError::Args", &PistonError::Args),
            ("piston::RequestError::Stdin", &PistonError::Stdin),
            ("piston::JobError::Path", &JobError::Path("../a".to_owned())),
            (
                "piston::JobError::Product",
                &JobError::Product(OutputFileError::Missing),
            ),
            (
                "piston::PackageError::Read",
                &PackageError::Read {
                    path: path(),
                    error: io(),
                },
            ),
            (
                "piston::PackageError::Metadata",
                &PackageError::Metadata {
                    path: path(),
                    error: json(),
                },
            ),
            (
                "piston::PackageError::Version",
                &PackageError::Version {
                    path: path(),
                    version: "1".to_owned(),
                },
            ),
            (
                "piston::PackageError::Name",
                &PackageError::Name {
                    path: path(),
                    name: "../a".to_owned(),
                },
            ),
            ("piston::PackageError::None", &PackageError::None(path())),
            ("piston::PackageError::NoRun", &PackageError::NoRun(path())),
        ],
    );
}

#[test]
fn messages_of_mount_files_match_the_golden_file() {
    let io = || std::io::Error::from(Errno::ACCESS);
    let path = || std::path::PathBuf::from("/srv/a");
    let name = || "a".to_owned();
    let file = FileSystemError::File(MountFileError::Value {
        path: path(),
        line: 3,
        fault: MountFault::WritableProc,
    });
    assert_messages(
        env!("CARGO_MANIFEST_DIR"),
        "mount_file.txt",
        &[
            ("TmpfsError::Option", &TmpfsError::Option(name())),
            ("TmpfsError::Number", &TmpfsError::Number(name())),
            ("TmpfsError::Mode", &TmpfsError::Mode(name())),
            ("FileSystemError::File", &file),
            (
                "MountFileError::Read",
                &MountFileError::Read {
                    path: path(),
                    error: io(),
                },
            ),
            (
                "MountFileError::TooLarge",
                &MountFileError::TooLarge {
                    path: path(),
                    max_bytes: 1 << 20,
                },
            ),
            (
                "MountFault::Type",
                &MountFault::Type {
                    name: "uid",
                    expected: "a number",
                },
            ),
            (
                "MountFault::Key",
                &MountFault::Key {
                    key: name(),
                    of: "the file",
                    known: &["mount", "proc"],
                },
            ),
            ("MountFault::Repeated", &MountFault::Repeated(name())),
            (
                "MountFault::Missing",
                &MountFault::Missing {
                    key: "target",
                    of: "an entry of mount",
                },
            ),
            ("MountFault::Kind", &MountFault::Kind(name())),
            ("MountFault::Path", &MountFault::Path("../a".into())),
            ("MountFault::Host", &MountFault::Host("/proc".into())),
            ("MountFault::Devices", &MountFault::Devices("/dev".into())),
            ("MountFault::Special", &MountFault::Special(path())),
            (
                "MountFault::Source",
                &MountFault::Source {
                    path: path(),
                    error: io(),
                },
            ),
            (
                "MountFault::Variable",
                &MountFault::Variable {
                    path: path(),
                    line: 2,
                },
            ),
            (
                "MountFault::WorkDirectory",
                &MountFault::WorkDirectory(path()),
            ),
            ("MountFault::Mask", &MountFault::Mask("/proc/stat".into())),
            (
                "MountFault::MaskBelowLink",
                &MountFault::MaskBelowLink("/lib/x".into()),
            ),
            (
                "MountFault::Name",
                &MountFault::Name {
                    key: "hostName",
                    name: "millibox",
                },
            ),
            ("MountFault::WritableProc", &MountFault::WritableProc),
            ("MountFault::InitCommand", &MountFault::InitCommand),
        ],
    );
}
