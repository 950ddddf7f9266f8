//! Compares the text of every error with `tests/golden/messages.txt`.
//!
//! The compiler checks that the samples are complete: a new variant without a sample does not
//! compile.

use crate::{
    Backend, BackendCause, BackendRefusal, BackendStep, EndReason, Error, FrameFault, Hint,
    LimitError, Mistakes, OptionMistake, Outcome, ProcessEnd, RequestMistake, RunError, RunResult,
    StartError, Step, SupervisorError, SupervisorHint, SupervisorStep, WorldError, WorldProblem,
};
use millibox_golden::assert_text;
use std::path::PathBuf;

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
    section("Options", option_mistakes().iter().map(line).collect());
    section("Requests", request_mistakes().iter().map(line).collect());
    section(
        "Results",
        outcomes()
            .into_iter()
            .map(|outcome| {
                let result = RunResult::new(outcome, Backend::Rlimit);
                format!("{:?} => {result}", result.outcome)
            })
            .collect(),
    );
    let text = format!("{}\n", text.trim_end());
    assert_text(env!("CARGO_MANIFEST_DIR"), "messages.txt", &text);
}

fn line(error: &impl std::error::Error) -> String {
    let sentence = error.to_string();
    assert!(
        !sentence.contains('\n'),
        "{error:?} has more than one line: {sentence}"
    );
    // Users of C, Python and the command read the messages too.
    assert!(
        !sentence.contains("::"),
        "{error:?} names an item of Rust: {sentence}"
    );
    format!("{error:?} => {sentence}")
}

fn errors() -> Vec<Error> {
    let refused = std::io::Error::from_raw_os_error;
    samples!(Error {
        Error::Start(_) => [Error::Start(StartError::EmptyPool)],
        Error::Died(_) => [Error::Died(EndReason::Closed), Error::Died(EndReason::ClosedHere)],
        Error::Request(_) => [Error::Request(RequestMistake::EmptyPath.into())],
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
            .with_hint(SupervisorHint::Declined(declined()))
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
        StartError::Version { .. } => [
            StartError::Version {
                path: path(),
                named_by,
                found: "0.1.7".to_owned(),
                reason: Box::new(EndReason::Unreadable(FrameFault::Protocol(0x0578_626d))),
            },
            StartError::Version {
                path: path(),
                named_by: None,
                found: "0.1.7".to_owned(),
                reason: Box::new(EndReason::Message("unknown argument --scoped".to_owned())),
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
        StartError::Options(_) => [StartError::Options(OptionMistake::NoCpus.into())],
        StartError::Launcher(_) => [
            StartError::Launcher(std::io::Error::other("too many supervisors are running")),
        ],
        StartError::EmptyPool => [StartError::EmptyPool],
    })
}

fn end_reasons() -> Vec<EndReason> {
    samples!(EndReason {
        EndReason::ClosedHere => [EndReason::ClosedHere],
        EndReason::Forked => [EndReason::Forked],
        EndReason::Unreadable(_) => [
            EndReason::Unreadable(FrameFault::TrailingBytes(4)),
            EndReason::Unreadable(FrameFault::Protocol(7)),
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

fn request_mistakes() -> Vec<RequestMistake> {
    let no_program = || millibox_seccomp::Program::from_bytes(&[]).unwrap_err();
    samples!(RequestMistake {
        RequestMistake::Limit(_) => [RequestMistake::Limit(LimitError::SwapWithoutMemory)],
        RequestMistake::World(_) => [
            RequestMistake::World(WorldError::at(b"/x", WorldProblem::PathHasDotDot)),
        ],
        RequestMistake::Input(_) => [RequestMistake::Input(libc::EMFILE)],
        RequestMistake::EmptyPath => [RequestMistake::EmptyPath],
        RequestMistake::EmptyName => [RequestMistake::EmptyName],
        RequestMistake::NameHasSlash(_) => [RequestMistake::NameHasSlash("a/b".into())],
        RequestMistake::NoDirectories(_) => [RequestMistake::NoDirectories("true".into())],
        RequestMistake::NoArgv0 => [RequestMistake::NoArgv0],
        RequestMistake::ScriptByDescriptor => [RequestMistake::ScriptByDescriptor],
        RequestMistake::UnnamedVariable(_) => [RequestMistake::UnnamedVariable("=x".into())],
        RequestMistake::VariableHasEquals(_) => [RequestMistake::VariableHasEquals("A=B".into())],
        RequestMistake::VariableHasNul(_) => [RequestMistake::VariableHasNul("A\0B".into())],
        RequestMistake::HasNul(_) => [RequestMistake::HasNul("a\0b".into())],
        RequestMistake::TooLong { .. } => [
            RequestMistake::TooLong { bytes: 5_000_000, max_bytes: 4_194_304 },
        ],
        RequestMistake::UnknownRlimit(_) => [RequestMistake::UnknownRlimit("BOGUS".to_owned())],
        RequestMistake::CpuNumber(_) => [RequestMistake::CpuNumber(1024)],
        RequestMistake::NoReadyLibrary(_) => [
            RequestMistake::NoReadyLibrary(vec!["/usr/bin/libmillibox_ready.so".into()]),
        ],
        RequestMistake::NoCpus => [RequestMistake::NoCpus],
        RequestMistake::PairNeedsTwoRunners => [RequestMistake::PairNeedsTwoRunners],
        RequestMistake::NeedsCgroup { .. } => [
            RequestMistake::NeedsCgroup {
                limit: "memory limit",
                has_weaker_form: true,
                declined: declined(),
            },
            RequestMistake::NeedsCgroup {
                limit: "CPU bandwidth",
                has_weaker_form: false,
                declined: declined(),
            },
        ],
        RequestMistake::SeccompPolicy { .. } => [
            RequestMistake::SeccompPolicy { policy: "mine".to_owned(), error: no_program() },
        ],
        RequestMistake::SeccompProgram(_) => [RequestMistake::SeccompProgram(no_program())],
        RequestMistake::SeccompRefusesExec { .. } => [
            RequestMistake::SeccompRefusesExec { action: 0x8000_0000 },
        ],
        RequestMistake::SeccompNotSeekable => [RequestMistake::SeccompNotSeekable],
    })
}

fn option_mistakes() -> Vec<OptionMistake> {
    samples!(OptionMistake {
        OptionMistake::NoCpus => [OptionMistake::NoCpus],
        OptionMistake::CpuNumber(_) => [OptionMistake::CpuNumber(1024)],
        OptionMistake::OutOfRange { .. } => [
            OptionMistake::OutOfRange { counted: "slots", number: 513, max: 512 },
        ],
        OptionMistake::CgroupParent { .. } => [
            OptionMistake::CgroupParent {
                parent: "a/b".to_owned(),
                named_by: "MILLIBOX_CGROUP_PARENT",
            },
        ],
    })
}

fn declined() -> Vec<BackendRefusal> {
    vec![
        BackendRefusal::new(
            Backend::Cgroup2,
            vec![BackendCause::new(BackendStep::FindHierarchy)],
        ),
        BackendRefusal::new(
            Backend::Hybrid,
            vec![BackendCause::new(BackendStep::BecomeRoot)],
        ),
    ]
}

fn outcomes() -> Vec<Outcome> {
    let exec = RunError::new(Step::Exec)
        .with_errno(libc::ENOENT)
        .with_subject("/missing");
    let pid1 = RunError::new(Step::Pid1).with_hint(Hint::Ended(ProcessEnd::Killed(9)));
    samples!(Outcome {
        Outcome::Exited(_) => [Outcome::Exited(7)],
        Outcome::Signaled(_) => [
            Outcome::Signaled(11),
            Outcome::Signaled(34),
            Outcome::Signaled(64),
        ],
        Outcome::RealTimeLimit => [Outcome::RealTimeLimit],
        Outcome::CpuTimeLimit => [Outcome::CpuTimeLimit],
        Outcome::MemoryLimit => [Outcome::MemoryLimit],
        Outcome::OutputLimit => [Outcome::OutputLimit],
        Outcome::Cancelled => [Outcome::Cancelled],
        Outcome::Killed => [Outcome::Killed],
        Outcome::NotStarted(_) => [Outcome::NotStarted(exec.clone())],
        Outcome::SandboxError(_) => [Outcome::SandboxError(pid1.clone())],
    })
}

#[test]
fn mistakes_are_written_on_one_line_each() {
    let mistakes: Mistakes<RequestMistake> = crate::Request::new("")
        .rlimit("BOGUS", 1)
        .memory_limit(0)
        .check()
        .unwrap_err();
    let lines: Vec<String> = mistakes
        .as_slice()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(mistakes.to_string(), lines.join("\n"));
}
