//! Compares the text of every error with `tests/golden/messages.txt`.
//!
//! The samples are checked for completeness: a new variant without a sample does not compile.

use crate::{
    EndReason, Error, LimitError, ProcessEnd, RequestError, StartError, SupervisorError,
    SupervisorHint, SupervisorStep, WorldError, WorldProblem,
};
use std::path::{Path, PathBuf};

/// Samples of an enum, at least one for each variant.
macro_rules! samples {
    ($type:ty { $($pattern:pat => [$($sample:expr),+ $(,)?]),+ $(,)? }) => {{
        let _complete = |value: &$type| match value {
            $($pattern => (),)+
        };
        let mut all: Vec<$type> = Vec::new();
        $($(
            let sample: $type = $sample;
            assert!(matches!(sample, $pattern), "{sample:?} is not a {}", stringify!($pattern));
            all.push(sample);
        )+)+
        all
    }};
}

#[test]
fn messages_match_the_golden_file() {
    let mut text = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        text += &format!("# {title}\n{}\n\n", lines.join("\n"));
    };
    section("Errors", errors().iter().map(line).collect());
    section("Starts", start_errors().iter().map(line).collect());
    section(
        "Ends of a supervisor",
        end_reasons()
            .iter()
            .map(|reason| format!("{reason:?} => {reason}"))
            .collect(),
    );
    section("Requests", request_errors().iter().map(line).collect());
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/messages.txt"),
        &text,
    );
}

/// Compares, or rewrites the golden file if `MILLIBOX_UPDATE_GOLDEN` is 1.
fn compare(path: &Path, text: &str) {
    let text = format!("{}\n", text.trim_end());
    if std::env::var_os("MILLIBOX_UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(path, text).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    let changed: Vec<&str> = text
        .lines()
        .filter(|line| !golden.lines().any(|old| old == *line))
        .collect();
    assert!(
        golden == text,
        "messages differ from {}; if that is intended, rewrite it with MILLIBOX_UPDATE_GOLDEN=1. \
         New lines:\n{}",
        path.display(),
        changed.join("\n")
    );
}

fn line(error: &impl std::error::Error) -> String {
    let sentence = error.to_string();
    assert!(
        !sentence.contains('\n'),
        "{error:?} has more than one line: {sentence}"
    );
    format!("{error:?} => {sentence}")
}

fn errors() -> Vec<Error> {
    let refused = std::io::Error::from_raw_os_error;
    samples!(Error {
        Error::Start(_) => [Error::Start(StartError::NoCpus)],
        Error::Died(_) => [Error::Died(EndReason::Closed)],
        Error::Request(_) => [Error::Request(RequestError::EmptyPath)],
        Error::System { .. } => [
            Error::System { what: "create a socket", error: refused(libc::ENOMEM) },
            Error::System { what: "create a socket", error: refused(libc::EMFILE) },
        ],
    })
}

fn start_errors() -> Vec<StartError> {
    let path = || PathBuf::from("/opt/millibox-supervisor");
    let refused = std::io::Error::from_raw_os_error;
    let named_by = Some("MILLIBOX_SUPERVISOR");
    let parent = || {
        SupervisorError::new(SupervisorStep::CgroupParent)
            .with_subject("/missing")
            .with_hint(SupervisorHint::Declined(vec![
                "cgroup2: not delegated".to_owned(),
            ]))
    };
    samples!(StartError {
        StartError::NotFound(_) => [
            StartError::NotFound(vec![path(), "/usr/bin/millibox-supervisor".into()]),
        ],
        StartError::NotExecuted { .. } => [
            StartError::NotExecuted { path: path(), named_by: None, error: refused(libc::EACCES) },
            StartError::NotExecuted { path: path(), named_by, error: refused(libc::ENOENT) },
            StartError::NotExecuted { path: path(), named_by: None, error: refused(libc::EMFILE) },
        ],
        StartError::NotSupervisor { .. } => [
            StartError::NotSupervisor {
                path: path(),
                named_by,
                reason: EndReason::Process(ProcessEnd::Exited(0)),
            },
        ],
        StartError::Failed { .. } => [
            StartError::Failed {
                error: SupervisorError::new(SupervisorStep::Namespaces).with_errno(libc::EPERM),
                cgroup_parent: None,
            },
            StartError::Failed { error: parent(), cgroup_parent: Some("/missing".to_owned()) },
        ],
        StartError::Killed(_) => [StartError::Killed(EndReason::Process(ProcessEnd::Killed(9)))],
        StartError::Launcher(_) => [
            StartError::Launcher(std::io::Error::other("too many supervisors live")),
        ],
        StartError::NoCpus => [StartError::NoCpus],
        StartError::CpuNumber(_) => [StartError::CpuNumber(1024)],
        StartError::OutOfRange { .. } => [
            StartError::OutOfRange { method: "slots", number: 513, max: 512 },
        ],
        StartError::CgroupParent { .. } => [
            StartError::CgroupParent {
                parent: "a/b".to_owned(),
                named_by: "MILLIBOX_CGROUP_PARENT",
            },
        ],
        StartError::EmptyPool => [StartError::EmptyPool],
    })
}

fn end_reasons() -> Vec<EndReason> {
    samples!(EndReason {
        EndReason::ClosedHere => [EndReason::ClosedHere],
        EndReason::Forked => [EndReason::Forked],
        EndReason::Unreadable(_) => [
            EndReason::Unreadable("malformed message: 4 bytes too many".to_owned()),
        ],
        EndReason::Failed(_) => [
            EndReason::Failed(SupervisorError::new(SupervisorStep::WaitForEvents).with_errno(libc::ENOMEM)),
        ],
        EndReason::Message(_) => [EndReason::Message("usage: true [ignored arguments]".to_owned())],
        EndReason::Process(_) => [
            EndReason::Process(ProcessEnd::Killed(9)),
            EndReason::Process(ProcessEnd::Exited(3)),
        ],
        EndReason::Closed => [EndReason::Closed],
    })
}

fn request_errors() -> Vec<RequestError> {
    let no_program = || millibox_seccomp::Program::from_bytes(&[]).unwrap_err();
    let declined = || {
        vec![
            "cgroup2: no delegated cgroup".to_owned(),
            "hybrid: not root".to_owned(),
        ]
    };
    samples!(RequestError {
        RequestError::Limit(_) => [RequestError::Limit(LimitError::SwapWithoutMemory)],
        RequestError::World(_) => [
            RequestError::World(WorldError::at(b"/x", WorldProblem::PathHasDotDot)),
        ],
        RequestError::Input(_) => [RequestError::Input(libc::EMFILE)],
        RequestError::EmptyPath => [RequestError::EmptyPath],
        RequestError::EmptyName => [RequestError::EmptyName],
        RequestError::NameHasSlash(_) => [RequestError::NameHasSlash("a/b".into())],
        RequestError::NoDirectories(_) => [RequestError::NoDirectories("true".into())],
        RequestError::NoArgv0 => [RequestError::NoArgv0],
        RequestError::ScriptByDescriptor => [RequestError::ScriptByDescriptor],
        RequestError::UnnamedVariable(_) => [RequestError::UnnamedVariable("=x".into())],
        RequestError::VariableHasEquals(_) => [RequestError::VariableHasEquals("A=B".into())],
        RequestError::VariableHasNul(_) => [RequestError::VariableHasNul("A\0B".into())],
        RequestError::HasNul(_) => [RequestError::HasNul("a\0b".into())],
        RequestError::TooLong { .. } => [
            RequestError::TooLong { bytes: 5_000_000, max_bytes: 4_194_304 },
        ],
        RequestError::UnknownRlimit(_) => [RequestError::UnknownRlimit("BOGUS".to_owned())],
        RequestError::CpuNumber(_) => [RequestError::CpuNumber(1024)],
        RequestError::NoCpus => [RequestError::NoCpus],
        RequestError::PairNeedsTwoRunners => [RequestError::PairNeedsTwoRunners],
        RequestError::NeedsCgroup { .. } => [
            RequestError::NeedsCgroup {
                limit: "memory limit",
                has_weaker_form: true,
                declined: declined(),
            },
            RequestError::NeedsCgroup {
                limit: "CPU bandwidth",
                has_weaker_form: false,
                declined: declined(),
            },
        ],
        RequestError::SeccompPolicy { .. } => [
            RequestError::SeccompPolicy { policy: "mine".to_owned(), error: no_program() },
        ],
        RequestError::SeccompProgram(_) => [RequestError::SeccompProgram(no_program())],
        RequestError::SeccompRefusesExec { .. } => [
            RequestError::SeccompRefusesExec { action: 0x8000_0000 },
        ],
        RequestError::SeccompNotSeekable => [RequestError::SeccompNotSeekable],
    })
}
