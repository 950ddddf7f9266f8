//! Compares the text of every message with `tests/golden/messages.txt`, and its encoding in the
//! protocol with `tests/golden/encodings.txt`.
//!
//! The compiler checks that the samples are complete: a new variant without a sample does not
//! compile.

use crate::*;
use millibox_golden::assert_text;
use std::fmt::Display;

/// Defines samples of an enum, at least one for each variant.
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
    section(
        "Each step without and with a subject",
        Step::ALL.iter().flat_map(|step| of_step(*step)).collect(),
    );
    section(
        "Remedies for a step and an error number",
        Step::ALL.iter().flat_map(|step| remedies(*step)).collect(),
    );
    section(
        "Hints",
        hints()
            .into_iter()
            .map(|hint| line(&hint.clone(), step_of(&hint).with_hint(hint)))
            .collect(),
    );
    let unbegun = RunError::new(Step::Receive)
        .with_hint(Hint::NotReceived)
        .after_attempts(13);
    section(
        "A run that began in no runner",
        vec![line(&Hint::NotReceived, unbegun)],
    );
    section(
        "Frame problems",
        frame_problems()
            .iter()
            .map(|problem| line(problem, problem))
            .collect(),
    );
    section(
        "Limits",
        limits().iter().map(|error| line(error, error)).collect(),
    );
    section(
        "Worlds",
        world_problems()
            .into_iter()
            .map(|problem| line(&problem.clone(), at(problem)))
            .collect(),
    );
    section(
        "Ends of helper processes",
        process_ends().iter().map(|end| line(end, end)).collect(),
    );
    section(
        "Backends that cannot be used",
        backend_steps()
            .into_iter()
            .map(|step| line(&step.clone(), refusal(step)))
            .collect(),
    );
    section(
        "Failures of the supervisor",
        SupervisorStep::ALL
            .iter()
            .map(|step| line(step, SupervisorError::new(*step).with_errno(libc::EPERM)))
            .chain(supervisor_errors().iter().map(|error| line(error, error)))
            .collect(),
    );
    let text = format!("{}\n", text.trim_end());
    assert_text(env!("CARGO_MANIFEST_DIR"), "messages.txt", &text);
}

/// If this test fails, the protocol between library and supervisor has changed. Increase the
/// version in `crates/wire/src/frame.rs`.
#[test]
fn encodings_match_the_golden_file() {
    let mut lines = Vec::new();
    lines.extend(Step::ALL.iter().map(encoding));
    lines.extend(SupervisorStep::ALL.iter().map(encoding));
    lines.extend(
        hints()
            .iter()
            .map(|hint| encoding(&step_of(hint).with_hint(hint.clone()))),
    );
    lines.extend(frame_problems().iter().map(encoding));
    lines.extend(limits().iter().map(encoding));
    lines.extend(world_problems().iter().map(encoding));
    lines.extend(process_ends().iter().map(encoding));
    lines.extend(
        backend_steps()
            .into_iter()
            .map(|step| encoding(&refusal(step))),
    );
    lines.extend(supervisor_errors().iter().map(encoding));
    lines.extend(
        [Backend::Cgroup2, Backend::Hybrid, Backend::Rlimit]
            .iter()
            .map(encoding),
    );
    assert_text(env!("CARGO_MANIFEST_DIR"), "encodings.txt", &lines.concat());
}

fn encoding<T: serde::Serialize + std::fmt::Debug>(value: &T) -> String {
    let bytes = postcard::to_stdvec(value).expect("all types are encodable");
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{value:?} = {digits}\n")
}

fn line(value: &dyn std::fmt::Debug, sentence: impl Display) -> String {
    let sentence = sentence.to_string();
    assert!(
        !sentence.contains('\n'),
        "{value:?} has more than one line: {sentence}"
    );
    // Users of C, Python and the command read the messages too.
    assert!(
        !sentence.contains("::"),
        "{value:?} names an item of Rust: {sentence}"
    );
    format!("{value:?} => {sentence}")
}

fn of_step(step: Step) -> Vec<String> {
    let mut lines = vec![format!("{step} => {}", RunError::new(step))];
    if let Some(error) = with_subject(step) {
        lines.push(format!(
            "{step}, subject => {}",
            error.with_errno(libc::EIO)
        ));
    }
    lines
}

/// An error of a step that names its subject.
fn with_subject(step: Step) -> Option<RunError> {
    let subject = match step {
        Step::MountSource
        | Step::MountPoint
        | Step::Mount
        | Step::MountAttributes
        | Step::NewRoot => "/data",
        Step::WorkingDirectory | Step::Exec => "/data",
        Step::Rlimit => "RLIMIT_NOFILE",
        _ => return None,
    };
    Some(RunError::new(step).with_subject(subject))
}

fn remedies(step: Step) -> Vec<String> {
    let errnos: Vec<i32> = match step {
        // This remedy is the same for every error number.
        Step::OtherCgroupNamespaces => vec![libc::EROFS],
        // The remedies for EAGAIN and EMFILE are the same for every step.
        Step::Clone => (1..134).collect(),
        _ => (1..134)
            .filter(|errno| !matches!(*errno, libc::EAGAIN | libc::EMFILE))
            .collect(),
    };
    let error = with_subject(step).unwrap_or_else(|| RunError::new(step));
    let with_remedy = |errno: &i32| {
        let error = error.clone().with_errno(*errno);
        (error.to_string() != error.cause().to_string())
            .then(|| format!("{step}, errno {errno} => {error}"))
    };
    errnos.iter().filter_map(with_remedy).collect()
}

/// The error to which a hint belongs.
fn step_of(hint: &Hint) -> RunError {
    match hint {
        Hint::Frame(_)
        | Hint::DescriptorCount { .. }
        | Hint::IdInUse
        | Hint::PairNeedsTwoRunners
        | Hint::PartnerNotStarted
        | Hint::ProcHidesProcesses => RunError::new(Step::Request),
        Hint::Limit(error) => RunError::new(error.step()),
        Hint::World(_) => RunError::new(Step::World),
        Hint::TooManyStrings { .. } => RunError::new(Step::Arguments).with_errno(libc::E2BIG),
        Hint::SwapNeedsCgroups => RunError::new(Step::SwapLimit),
        Hint::InterpreterMissing | Hint::NameTakenAsPath => RunError::new(Step::Exec)
            .with_errno(libc::ENOENT)
            .with_subject("program"),
        Hint::Template(_) => RunError::new(Step::Ready),
        Hint::NotExecuted => RunError::new(Step::Exec),
        Hint::NotReceived => RunError::new(Step::Receive),
        Hint::Ended(ProcessEnd::Exited(_)) | Hint::Unwatchable { .. } => {
            RunError::new(Step::Template)
        }
        Hint::Ended(_) | Hint::EndedUnready | Hint::NoStatus => RunError::new(Step::Pid1),
        Hint::ZygoteLost | Hint::HostOutOfMemory => RunError::new(Step::Runner),
    }
}

fn hints() -> Vec<Hint> {
    samples!(Hint {
        Hint::Frame(_) => [Hint::Frame(FrameProblem::MemfdMissing)],
        Hint::DescriptorCount { .. } => [
            Hint::DescriptorCount { announced: 2, received: 1 },
            Hint::DescriptorCount { announced: 1, received: 2 },
        ],
        Hint::IdInUse => [Hint::IdInUse],
        Hint::Limit(_) => [
            Hint::Limit(LimitError::Zero(Limit::Processes)),
            Hint::Limit(LimitError::Zero(Limit::RealTime)),
        ],
        Hint::World(_) => [
            Hint::World(WorldError::at(b"/x", WorldProblem::PathHasDotDot)),
            Hint::World(WorldProblem::Seccomp("empty".to_owned()).into()),
        ],
        Hint::TooManyStrings { .. } => [
            Hint::TooManyStrings {
                strings: 140_000,
                max_strings: 131_072,
                bytes: 280_000,
                max_bytes: 3_145_728,
            },
        ],
        Hint::PairNeedsTwoRunners => [Hint::PairNeedsTwoRunners],
        Hint::PartnerNotStarted => [Hint::PartnerNotStarted],
        Hint::ProcHidesProcesses => [Hint::ProcHidesProcesses],
        Hint::SwapNeedsCgroups => [Hint::SwapNeedsCgroups],
        Hint::InterpreterMissing => [Hint::InterpreterMissing],
        Hint::NameTakenAsPath => [Hint::NameTakenAsPath],
        Hint::Ended(_) => [
            Hint::Ended(ProcessEnd::Exited(101)), Hint::Ended(ProcessEnd::Killed(9)),
        ],
        Hint::ZygoteLost => [Hint::ZygoteLost],
        Hint::EndedUnready => [Hint::EndedUnready],
        Hint::NotReceived => [Hint::NotReceived],
        Hint::NotExecuted => [Hint::NotExecuted],
        Hint::HostOutOfMemory => [Hint::HostOutOfMemory],
        Hint::NoStatus => [Hint::NoStatus],
        Hint::Template(_) => [
            Hint::Template(TemplateProblem::Ended(ProcessEnd::Exited(1))),
            Hint::Template(TemplateProblem::NotReady),
            Hint::Template(TemplateProblem::CpuTime),
            Hint::Template(TemplateProblem::OutOfMemory),
            Hint::Template(TemplateProblem::Unfit(Unfit::Backend)),
            Hint::Template(TemplateProblem::Unfit(Unfit::SeparatePid1)),
            Hint::Template(TemplateProblem::Unfit(Unfit::MountBelowTmpfs)),
            Hint::Template(TemplateProblem::Unfit(Unfit::Seccomp)),
            Hint::Template(TemplateProblem::Unfit(Unfit::RootInside)),
            Hint::Template(TemplateProblem::Unfit(Unfit::Namespaces)),
            Hint::Template(TemplateProblem::Unfit(Unfit::TooLong)),
            Hint::Template(TemplateProblem::Unfit(Unfit::CpuBandwidth)),
            Hint::Template(TemplateProblem::Unfit(Unfit::Protocol)),
            Hint::Template(TemplateProblem::Unfit(Unfit::Threads)),
            Hint::Template(TemplateProblem::Unfit(Unfit::SharedMemory)),
            Hint::Template(TemplateProblem::NotExecuted { errno: 2 }),
        ],
        Hint::Unwatchable { .. } => [Hint::Unwatchable { errno: libc::ENOMEM }],
    })
}

fn frame_problems() -> Vec<FrameProblem> {
    samples!(FrameProblem {
        FrameProblem::TooLong { .. } => [
            FrameProblem::TooLong { bytes: 70_000, max_bytes: 65_536 },
        ],
        FrameProblem::MemfdMissing => [FrameProblem::MemfdMissing],
        FrameProblem::NotMemfd => [FrameProblem::NotMemfd],
        FrameProblem::MemfdNotSealed => [FrameProblem::MemfdNotSealed],
        FrameProblem::MemfdTruncated => [FrameProblem::MemfdTruncated],
        FrameProblem::MemfdUnreadable { .. } => [
            FrameProblem::MemfdUnreadable { errno: libc::EIO },
        ],
        FrameProblem::Malformed(_) => [
            FrameProblem::Malformed("malformed message: 4 bytes too many".to_owned()),
        ],
        FrameProblem::WrongDirection => [FrameProblem::WrongDirection],
        FrameProblem::StringCount => [FrameProblem::StringCount],
        FrameProblem::ProgramCount => [FrameProblem::ProgramCount],
        FrameProblem::CpuNumber => [FrameProblem::CpuNumber],
        FrameProblem::RlimitNumber(_) => [FrameProblem::RlimitNumber(16)],
    })
}

fn limits() -> Vec<LimitError> {
    let zero = samples!(Limit {
        Limit::Processes => [Limit::Processes],
        Limit::Memory => [Limit::Memory],
        Limit::RealTime => [Limit::RealTime],
        Limit::CpuTime => [Limit::CpuTime],
    });
    let others = samples!(LimitError {
        LimitError::Zero(_) => [LimitError::Zero(Limit::Processes)],
        LimitError::TooManyProcesses { .. } => [LimitError::TooManyProcesses { limit: 5_000_000 }],
        LimitError::BandwidthMax { .. } => [LimitError::BandwidthMax { max_us: 999 }],
        LimitError::BandwidthPeriod { .. } => [
            LimitError::BandwidthPeriod { period_us: 1_000_001 },
        ],
        LimitError::SwapWithoutMemory => [LimitError::SwapWithoutMemory],
    });
    zero.into_iter()
        .map(LimitError::Zero)
        .chain(others.into_iter().skip(1))
        .collect()
}

/// Problems of the whole world have no path.
fn at(problem: WorldProblem) -> WorldError {
    match problem {
        WorldProblem::BindsBelowTwoTmpfs
        | WorldProblem::NoId { .. }
        | WorldProblem::Seccomp(_)
        | WorldProblem::TooLong { .. }
        | WorldProblem::RunMountsTooLong { .. }
        | WorldProblem::Malformed(_)
        | WorldProblem::Internal(_) => problem.into(),
        _ => WorldError::at(b"/x", problem),
    }
}

fn world_problems() -> Vec<WorldProblem> {
    samples!(WorldProblem {
        WorldProblem::PathNotAbsolute => [WorldProblem::PathNotAbsolute],
        WorldProblem::PathHasDotDot => [WorldProblem::PathHasDotDot],
        WorldProblem::PathHasNul => [WorldProblem::PathHasNul],
        WorldProblem::Mode(_) => [WorldProblem::Mode(0o10000)],
        WorldProblem::ZeroSize => [WorldProblem::ZeroSize],
        WorldProblem::ZeroInodes => [WorldProblem::ZeroInodes],
        WorldProblem::Size(_) => [WorldProblem::Size(u64::MAX)],
        WorldProblem::Inodes(_) => [WorldProblem::Inodes(u64::MAX)],
        WorldProblem::MountPointIsRoot => [WorldProblem::MountPointIsRoot],
        WorldProblem::SourceNotAbsolute(_) => [WorldProblem::SourceNotAbsolute("usr".to_owned())],
        WorldProblem::SourceHasNul(_) => [WorldProblem::SourceHasNul("/us\\0r".to_owned())],
        WorldProblem::TargetHasNul => [WorldProblem::TargetHasNul],
        WorldProblem::BelowLink(_) => [WorldProblem::BelowLink("/l".to_owned())],
        WorldProblem::ProcfsBelowTmpfs => [WorldProblem::ProcfsBelowTmpfs],
        WorldProblem::BindsBelowTwoTmpfs => [WorldProblem::BindsBelowTwoTmpfs],
        WorldProblem::OnHostFileSystem => [WorldProblem::OnHostFileSystem],
        WorldProblem::NewRootTooLate => [WorldProblem::NewRootTooLate],
        WorldProblem::NoId { .. } => [WorldProblem::NoId { name: "user id".to_owned() }],
        WorldProblem::Seccomp(_) => [WorldProblem::Seccomp("it has no instructions".to_owned())],
        WorldProblem::TooLong { .. } => [
            WorldProblem::TooLong { bytes: 300_000, max_bytes: 131_072 },
        ],
        WorldProblem::RunMountsTooLong { .. } => [
            WorldProblem::RunMountsTooLong { bytes: 70_000, max_bytes: 65_536 },
        ],
        WorldProblem::Malformed(_) => [
            WorldProblem::Malformed("malformed message: 4 bytes too many".to_owned()),
        ],
        WorldProblem::Internal(_) => [WorldProblem::Internal("a mount has no place".to_owned())],
    })
}

fn process_ends() -> Vec<ProcessEnd> {
    samples!(ProcessEnd {
        ProcessEnd::Exited(_) => [ProcessEnd::Exited(1)],
        ProcessEnd::Killed(_) => [
            ProcessEnd::Killed(libc::SIGKILL), ProcessEnd::Killed(libc::SIGSYS),
        ],
    })
}

fn supervisor_errors() -> Vec<SupervisorError> {
    use SupervisorError as E;
    let hints = samples!(SupervisorHint {
        SupervisorHint::Argument(_) => [
            SupervisorHint::Argument("--slots=0: must be a number from 1 to 512".to_owned()),
        ],
        SupervisorHint::NotOpen => [SupervisorHint::NotOpen],
        SupervisorHint::NotSocket => [SupervisorHint::NotSocket],
        SupervisorHint::SocketFamily(_) => [SupervisorHint::SocketFamily(2)],
        SupervisorHint::SocketType => [SupervisorHint::SocketType],
        SupervisorHint::UserIsSuperuser => [SupervisorHint::UserIsSuperuser],
        SupervisorHint::UserNeedsRoot { .. } => [
            SupervisorHint::UserNeedsRoot { uid: 1000, gid: 100 },
        ],
        SupervisorHint::FileSizeLimit { .. } => [
            SupervisorHint::FileSizeLimit { limit: 1024, needed: 65_536 },
        ],
        SupervisorHint::Declined(_) => [
            SupervisorHint::Declined(vec![
                BackendRefusal::new(Backend::Cgroup2, vec![
                    BackendCause::new(BackendStep::FindManager),
                    BackendCause::new(BackendStep::FindDelegated),
                ]),
                BackendRefusal::new(
                    Backend::Hybrid,
                    vec![BackendCause::new(BackendStep::BecomeRoot)],
                ),
            ]),
        ],
        SupervisorHint::Refused(_) => [
            SupervisorHint::Refused(vec![
                BackendCause::new(BackendStep::FindController).with_subject("memory"),
            ]),
        ],
        SupervisorHint::Superuser => [SupervisorHint::Superuser],
        SupervisorHint::PrivilegesRegained => [SupervisorHint::PrivilegesRegained],
        SupervisorHint::NotNullDevice => [SupervisorHint::NotNullDevice],
        SupervisorHint::KeeperDied => [SupervisorHint::KeeperDied],
        SupervisorHint::Malformed(_) => [
            SupervisorHint::Malformed("malformed message: 4 bytes too many".to_owned()),
        ],
        SupervisorHint::CpuMissing { .. } => [
            SupervisorHint::CpuMissing { cpu: 7, available: vec![0, 1] },
        ],
        SupervisorHint::Ended(_) => [SupervisorHint::Ended(ProcessEnd::Exited(1))],
        SupervisorHint::ThreadEnded => [SupervisorHint::ThreadEnded],
        SupervisorHint::Run(_) => [
            SupervisorHint::Run(Box::new(RunError::new(Step::Zygote).with_errno(libc::EMFILE))),
        ],
    });
    let of_hint = |hint: SupervisorHint| {
        let error = match hint {
            SupervisorHint::Argument(_) => E::new(SupervisorStep::Arguments),
            SupervisorHint::NotOpen
            | SupervisorHint::NotSocket
            | SupervisorHint::SocketFamily(_)
            | SupervisorHint::SocketType => {
                E::new(SupervisorStep::Socket).with_subject("--socket=5")
            }
            SupervisorHint::UserIsSuperuser => E::new(SupervisorStep::User).with_subject("0:0"),
            SupervisorHint::UserNeedsRoot { .. } => {
                E::new(SupervisorStep::User).with_subject("4242:4343")
            }
            SupervisorHint::FileSizeLimit { .. } => E::new(SupervisorStep::Limits),
            SupervisorHint::Declined(_) => {
                E::new(SupervisorStep::CgroupParent).with_subject("/missing")
            }
            SupervisorHint::Refused(_) => E::new(SupervisorStep::Backend).with_subject("hybrid"),
            SupervisorHint::Superuser | SupervisorHint::PrivilegesRegained => {
                E::new(SupervisorStep::Unprivileged)
            }
            SupervisorHint::NotNullDevice => E::new(SupervisorStep::NullDevice),
            SupervisorHint::KeeperDied => E::new(SupervisorStep::ParentDeath),
            SupervisorHint::Malformed(_) => {
                E::new(SupervisorStep::ReadInheritance).with_subject("7")
            }
            SupervisorHint::CpuMissing { .. } => E::new(SupervisorStep::Cpus),
            SupervisorHint::ThreadEnded => E::new(SupervisorStep::LocksThread),
            SupervisorHint::Ended(_) => E::new(SupervisorStep::SpawnerEnd),
            SupervisorHint::Run(_) => E::new(SupervisorStep::RunnerSetup),
        };
        error.with_hint(hint)
    };
    let mut all: Vec<_> = hints.into_iter().map(of_hint).collect();
    all.extend([
        E::new(SupervisorStep::Fork).with_errno(libc::EAGAIN),
        E::new(SupervisorStep::StartRunner).with_errno(libc::EMFILE),
        E::new(SupervisorStep::StartRunner).with_errno(libc::ETOOMANYREFS),
        E::new(SupervisorStep::Open)
            .with_subject("/proc")
            .with_errno(libc::ENOENT),
    ]);
    all
}

/// A refusal with all facts that its step can have.
fn refusal(step: BackendStep) -> BackendRefusal {
    use BackendStep as S;
    let cause = match &step {
        S::FindHierarchy
        | S::FindOwnCgroup
        | S::BecomeRoot
        | S::FindDelegated
        | S::FindManager
        | S::CreateScope { .. } => BackendCause::new(step),
        S::FindController => BackendCause::new(step).with_subject("memory"),
        S::Controllers(_) | S::LeaveSystemd | S::CheckDelegation | S::KeepCgroup | S::LimitSwap => {
            BackendCause::new(step).with_subject("/cg/x")
        }
        S::FindExecutable
        | S::ExecuteSystemdRun
        | S::PassSocket
        | S::CreateSocket
        | S::CreateEventfd => BackendCause::new(step).with_errno(libc::EMFILE),
        S::EnableControllers(_) => BackendCause::new(step)
            .with_subject("/cg/x")
            .with_errno(libc::EBUSY),
        S::CheckWritable
        | S::CreateCgroup
        | S::HandOver
        | S::Open
        | S::ReadSwaps
        | S::WatchMemory => BackendCause::new(step)
            .with_subject("/cg/x")
            .with_errno(libc::EACCES),
    };
    BackendRefusal::new(Backend::Cgroup2, vec![cause])
}

fn backend_steps() -> Vec<BackendStep> {
    use BackendStep as S;
    samples!(BackendStep {
        S::FindHierarchy => [S::FindHierarchy],
        S::FindController => [S::FindController],
        S::FindOwnCgroup => [S::FindOwnCgroup],
        S::Controllers(_) => [S::Controllers(vec!["memory".to_owned(), "pids".to_owned()])],
        S::BecomeRoot => [S::BecomeRoot],
        S::LeaveSystemd => [S::LeaveSystemd],
        S::CheckDelegation => [S::CheckDelegation],
        S::FindDelegated => [S::FindDelegated],
        S::FindManager => [S::FindManager],
        S::FindExecutable => [S::FindExecutable],
        S::ExecuteSystemdRun => [S::ExecuteSystemdRun],
        S::CreateScope { .. } => [
            S::CreateScope { end: ProcessEnd::Exited(1), message: "Access denied".to_owned() },
        ],
        S::PassSocket => [S::PassSocket],
        S::CheckWritable => [S::CheckWritable],
        S::CreateCgroup => [S::CreateCgroup],
        S::KeepCgroup => [S::KeepCgroup],
        S::EnableControllers(_) => [S::EnableControllers(vec!["memory".to_owned()])],
        S::HandOver => [S::HandOver],
        S::Open => [S::Open],
        S::ReadSwaps => [S::ReadSwaps],
        S::LimitSwap => [S::LimitSwap],
        S::CreateSocket => [S::CreateSocket],
        S::CreateEventfd => [S::CreateEventfd],
        S::WatchMemory => [S::WatchMemory],
    })
}
