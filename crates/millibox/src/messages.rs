//! Compares the text of every error with `tests/golden/messages.txt`.
//!
//! The samples are checked for completeness: a new variant without a sample does not compile.

use crate::{Error, LimitError, RequestError, WorldError, WorldProblem};
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
    let path = || PathBuf::from("/opt/millibox-supervisor");
    let refused = std::io::Error::from_raw_os_error;
    let named_by = Some("MILLIBOX_SUPERVISOR");
    samples!(Error {
        Error::NoSupervisor(_) => [Error::NoSupervisor(vec![path(), "/usr/bin/millibox-supervisor".into()])],
        Error::NotExecuted { .. } => [
            Error::NotExecuted { path: path(), named_by: None, error: refused(libc::EACCES) },
            Error::NotExecuted { path: path(), named_by, error: refused(libc::ENOENT) },
            Error::NotExecuted { path: path(), named_by: None, error: refused(libc::EMFILE) },
        ],
        Error::NotSupervisor { .. } => [
            Error::NotSupervisor { path: path(), named_by, why: "it exited with status 0".to_owned() },
        ],
        Error::Start(_) => [Error::Start("cannot create a socket".to_owned())],
        Error::Died(_) => [Error::Died("killed by signal 9".to_owned())],
        Error::Request(_) => [Error::Request(RequestError::EmptyPath)],
        Error::System { .. } => [
            Error::System { what: "create a socket", error: refused(libc::ENOMEM) },
            Error::System { what: "create a socket", error: refused(libc::EMFILE) },
        ],
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
        RequestError::World(_) => [RequestError::World(WorldError::at(b"/x", WorldProblem::PathHasDotDot))],
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
        RequestError::TooLong { .. } => [RequestError::TooLong { bytes: 5_000_000, max_bytes: 4_194_304 }],
        RequestError::UnknownRlimit(_) => [RequestError::UnknownRlimit("BOGUS".to_owned())],
        RequestError::CpuNumber(_) => [RequestError::CpuNumber(1024)],
        RequestError::NoCpus => [RequestError::NoCpus],
        RequestError::PairNeedsTwoRunners => [RequestError::PairNeedsTwoRunners],
        RequestError::NeedsCgroup { .. } => [
            RequestError::NeedsCgroup { limit: "memory limit", has_weaker_form: true, declined: declined() },
            RequestError::NeedsCgroup { limit: "CPU bandwidth", has_weaker_form: false, declined: declined() },
        ],
        RequestError::SeccompPolicy { .. } => [
            RequestError::SeccompPolicy { policy: "mine".to_owned(), error: no_program() },
        ],
        RequestError::SeccompProgram(_) => [RequestError::SeccompProgram(no_program())],
        RequestError::SeccompRefusesExec { .. } => [RequestError::SeccompRefusesExec { action: 0x8000_0000 }],
        RequestError::SeccompNotSeekable => [RequestError::SeccompNotSeekable],
    })
}
