//! One run of a compiler in the sandbox. Its product and its messages leave through two pipes.
//!
//! The compiler writes to a tmpfs that exists only during the run, so its files reach the host only
//! after they have been checked. A shell starts the compiler with both output streams as standard
//! error. When the compiler has exited, the shell kills the compiler's remaining processes until
//! none is left. It then writes the compiler's exit status to standard output and executes tar(1),
//! which writes the product after the status. No process of the compilation can therefore change a
//! file while tar packs it, or stop tar.
//!
//! The processes of a compilation have the same user id as the shell, and can kill it or take it
//! over. If a process kills the shell, the result is a compile error. If a process takes over the
//! shell, it can forge the status and the archive. The source gains only an executable of its
//! choice, which the submission could also have contained. A forged archive that cannot be used is
//! a compile error.

use super::captured::{self, CapturedRun, Stdout};
use super::error::{CompileError, InternalError, Limit, Refusal};
use super::messages::printable;
use super::product::{self, ProductError};
use super::world::{OUTPUT, tmpfs};
use crate::files::{Store, StoredFiles};
use millibox::{Figures, Handle, Outcome, Request, Step, Supervisor, World};
use std::ffi::OsString;
use std::io::Read;
use std::time::Duration;

const SHELL: &str = "/bin/sh";
/// `kill -9 -1` reaches all processes of the run except pid1 and this shell, and fails if no
/// process is left. A killed process starts no other process: fork(2) fails with a pending SIGKILL.
const SCRIPT: &str = r#"
"$@" >&2
status=$?
while kill -9 -1 2>/dev/null; do :; done
echo $status
[ $status = 0 ] && exec tar -cf - -C "$OUTPUT" .
exit 0
"#;

/// Bytes that are discarded after an unusable product before the run is killed.
const MAX_DISCARDED_BYTES: u64 = 1 << 20;
/// Exit status of the shell if SIGXFSZ (25) killed the command (POSIX: above 128).
const SIGXFSZ_STATUS: i32 = 128 + 25;
/// Messages that compilers print when a file system is full or a file is too long: the C library's
/// messages for ENOSPC, EFBIG and SIGXFSZ. A source that makes a compiler print one of them gains
/// nothing: the result is a compile error in any case.
const DISK_FULL_MESSAGES: [&str; 3] = [
    "no space left on device",
    "file too large",
    "file size limit exceeded",
];

/// A command with its world and limits.
pub(super) struct Job {
    /// The world without the output directory, which [`build`] adds.
    pub(super) world: World,
    pub(super) command: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) current_dir: &'static str,
    /// The CPUs on which the command may run. If empty, these are the CPUs of the supervisor's
    /// slots.
    pub(super) cpus: Vec<usize>,
    pub(super) limits: Limits,
    /// The times that an earlier attempt at the same compilation used. They count against the
    /// limits.
    pub(super) spent: Spent,
}

/// Times that a compilation used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spent {
    cpu_time: Duration,
    real_time: Duration,
}

impl Spent {
    /// The times of a run. Without a run, no time was used.
    pub(super) fn of(figures: Option<&Figures>) -> Spent {
        figures.map_or_else(Spent::default, |figures| Spent {
            cpu_time: Duration::from_nanos(figures.cpu_user_ns + figures.cpu_system_ns),
            real_time: Duration::from_nanos(figures.real_time_ns),
        })
    }
}

/// Limits of a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) cpu_time: Duration,
    /// Memory in bytes. `None` means that this supervisor cannot limit the memory.
    pub(super) memory: Option<u64>,
    /// Maximum size of the product in bytes.
    pub(super) output: u64,
    /// Whether `output` is less than the suite allows, because the disk has little free space.
    pub(super) little_room: bool,
    pub(super) processes: u32,
}

/// The result of a build.
pub(super) struct BuildResult {
    pub(super) messages: String,
    pub(super) figures: Option<Figures>,
    pub(super) files: Result<StoredFiles, CompileError>,
    /// Whether a broken machine could also have caused the error.
    pub(super) is_doubtful: bool,
}

impl Limits {
    /// Compilers wait for each other on a busy machine, so the limit allows for waiting.
    fn real_time(&self) -> Duration {
        self.cpu_time * 3 + Duration::from_secs(10)
    }

    fn output_limit(&self) -> Limit {
        if self.little_room {
            Limit::Room(self.output)
        } else {
            Limit::Output(self.output)
        }
    }
}

/// The parsed output of the shell.
struct ShellOutput {
    /// The compiler's exit status. `None` means that the first line is not a status.
    status: Option<i32>,
    /// The product, if the status is 0.
    product: Option<Result<StoredFiles, ProductError>>,
    /// Whether the run was killed because of an unusable product.
    killed: bool,
}

/// Runs the compiler and puts its product into `store`.
pub(super) fn build(supervisor: &Supervisor, job: &Job, store: Store) -> BuildResult {
    let limits = &job.limits;
    let cpu_time = limits.cpu_time.saturating_sub(job.spent.cpu_time);
    let real_time = limits.real_time().saturating_sub(job.spent.real_time);
    if cpu_time.is_zero() {
        return BuildResult::failed(CompileError::Limit(Limit::CpuTime(limits.cpu_time)));
    }
    if real_time.is_zero() {
        return BuildResult::failed(CompileError::Limit(Limit::RealTime(limits.real_time())));
    }
    let mut request = Request::new(SHELL)
        .args(["-c", SCRIPT, "compile"])
        .args(job.command.iter().cloned())
        .env("OUTPUT", OUTPUT)
        .current_dir(job.current_dir)
        .world(&job.world.clone().mount(tmpfs(OUTPUT, job.limits.output)))
        .cpu_time_limit(cpu_time)
        .real_time_limit(real_time)
        // The shell counts as a process as well.
        .process_limit(job.limits.processes.saturating_add(1));
    if let Some(memory) = job.limits.memory {
        request = request.memory_limit(memory);
    }
    for (name, value) in &job.env {
        request = request.env(name, value);
    }
    if !job.cpus.is_empty() {
        request = request.cpus(job.cpus.iter().copied());
    }
    let take =
        |stdout: &mut Stdout<'_>, handle: &Handle| take(stdout, handle, store, job.limits.output);
    let captured = match captured::run_with(supervisor, request, b"", take) {
        Ok(captured) => captured,
        Err(failure) => return BuildResult::failed(InternalError::from(failure)),
    };
    let messages = printable(&captured.stderr, captured.stderr_total);
    let (outcome, figures) = (captured.result.outcome.clone(), captured.result.figures);
    let is_doubtful = match captured.stdout.status {
        None => true,
        Some(status) => status == 0 && outcome != Outcome::Exited(0),
    };
    let files = product_of(captured, &messages, &job.limits);
    BuildResult {
        messages,
        figures: Some(figures),
        files,
        is_doubtful,
    }
}

impl BuildResult {
    /// Returns the result of a build whose compiler did not run.
    pub(super) fn without_run(files: Result<StoredFiles, CompileError>) -> BuildResult {
        BuildResult {
            messages: String::new(),
            figures: None,
            files,
            is_doubtful: false,
        }
    }

    pub(super) fn failed(error: impl Into<CompileError>) -> BuildResult {
        BuildResult::without_run(Err(error.into()))
    }
}

/// Reads the status and unpacks the product of at most `max_bytes` bytes.
fn take(stdout: &mut Stdout<'_>, handle: &Handle, store: Store, max_bytes: u64) -> ShellOutput {
    let status = status(stdout);
    let product = (status == Some(0)).then(|| product::unpack(&mut *stdout, store, max_bytes));
    let mut killed = false;
    if !matches!(product, Some(Ok(_))) {
        let rest = std::io::copy(
            &mut Read::take(&mut *stdout, MAX_DISCARDED_BYTES),
            &mut std::io::sink(),
        );
        killed = rest.is_ok_and(|bytes| bytes == MAX_DISCARDED_BYTES);
    }
    if killed {
        handle.kill_for_output();
    }
    ShellOutput {
        status,
        product,
        killed,
    }
}

/// Returns the product, or the reason why it is missing.
fn product_of(
    captured: CapturedRun<ShellOutput>,
    messages: &str,
    limits: &Limits,
) -> Result<StoredFiles, CompileError> {
    let CapturedRun {
        result,
        stdout: ShellOutput {
            status,
            product,
            killed,
        },
        ..
    } = captured;
    let exceeded = |limit| Err(CompileError::Limit(limit));
    let refused = |refusal: Refusal| Err(CompileError::Refused(refusal));
    let product = match product {
        Some(Err(ProductError::Host(error))) => return Err(InternalError::from(error).into()),
        other => other,
    };
    match &result.outcome {
        // The names of all sources are arguments.
        Outcome::NotStarted(error)
            if error.step == Step::Exec
                && error.errno == Some(rustix::io::Errno::TOOBIG.raw_os_error()) =>
        {
            return refused(Refusal::CommandTooLong);
        }
        Outcome::NotStarted(error) | Outcome::SandboxError(error) => {
            return Err(InternalError::NotRun(Box::new(error.clone())).into());
        }
        Outcome::CpuTimeLimit => return exceeded(Limit::CpuTime(limits.cpu_time)),
        Outcome::RealTimeLimit => return exceeded(Limit::RealTime(limits.real_time())),
        Outcome::MemoryLimit => return exceeded(Limit::Memory(limits.memory.unwrap_or_default())),
        // Only `take` causes this outcome.
        Outcome::OutputLimit => {}
        Outcome::Exited(_) | Outcome::Signaled(_) => {}
        // Cancelled or killed.
        _ => return Err(InternalError::Ended(Box::new(result)).into()),
    }
    let disk_full = || {
        let messages = messages.to_lowercase();
        DISK_FULL_MESSAGES
            .iter()
            .any(|text| messages.contains(text))
    };
    let ended = matches!(result.outcome, Outcome::Exited(0));
    match (status, product) {
        // A process of the compilation killed the shell.
        (None, _) => refused(Refusal::EndedItself(Box::new(result))),
        (Some(_), Some(Err(ProductError::TooLarge))) => exceeded(limits.output_limit()),
        (Some(_), Some(Err(ProductError::Fault(fault)))) if ended || killed => {
            refused(fault.into())
        }
        (Some(_), Some(Ok(product))) if ended => Ok(product),
        (Some(_), Some(_)) => refused(Refusal::NotPacked(Box::new(result))),
        (Some(SIGXFSZ_STATUS), None) => exceeded(limits.output_limit()),
        _ if disk_full() => exceeded(limits.output_limit()),
        (Some(status @ 129..=192), None) => refused(Refusal::Signaled(status - 128)),
        (Some(status), None) => refused(Refusal::Exited(status)),
    }
}

/// Reads the first line: the exit status.
fn status(stdout: &mut Stdout<'_>) -> Option<i32> {
    let mut line = Vec::new();
    for byte in Read::bytes(&mut *stdout).take(4) {
        match byte.ok()? {
            b'\n' => return std::str::from_utf8(&line).ok()?.parse().ok(),
            byte => line.push(byte),
        }
    }
    None
}
