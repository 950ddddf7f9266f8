//! One compiler run in the sandbox: its product and its messages come out through two pipes.
//!
//! A compiler writes to a tmpfs, which is gone with the run, so that nothing of what it writes is
//! in a file system of the host before it has been checked. A shell starts the compiler with both
//! streams as standard error and kills every process that the compiler has left, until there is
//! none. Then it writes the compiler's exit status to standard output, and becomes the tar(1) that
//! writes the product after it. So no process of the compilation can change a file while it is
//! packed, or stop the packing.
//!
//! A compilation has the user id of that shell, and could kill it or take it over beforehand. The
//! first is a compile error. The second could forge status and archive, which brings it an
//! executable of its own making: it could have sent that as a source. A forged archive that cannot
//! be used is a compile error like any other.

use super::captured::{self, Stdout};
use super::messages::printable;
use super::product::{self, ProductError};
use super::world::{OUTPUT, tmpfs};
use super::{CompileError, Limit};
use crate::files::{Store, StoredFiles};
use millibox::{Figures, Handle, Outcome, Request, Step, Supervisor, World};
use std::ffi::OsString;
use std::io::Read;
use std::time::Duration;

const SHELL: &str = "/bin/sh";
/// `kill -9 -1` reaches all processes of the run but its first two, pid1 and this shell, and fails
/// if there are no others. A process that is being killed starts no other one (fork(2) fails with a
/// pending SIGKILL).
const SCRIPT: &str = r#"
"$@" >&2
status=$?
while kill -9 -1 2>/dev/null; do :; done
echo $status
[ $status = 0 ] && exec tar -cf - -C "$OUTPUT" .
exit 0
"#;

/// Bytes that may come after a product that cannot be used before the run is killed.
const MAX_DISCARDED_BYTES: u64 = 1 << 20;
/// Exit status of a shell whose command was ended by SIGXFSZ (POSIX: above 128; here 128 + 25).
const SIGXFSZ_STATUS: i32 = 128 + 25;
/// What compilers say when a file system is full or a file too long, in whatever words around it:
/// the C library's texts for ENOSPC, EFBIG and SIGXFSZ. A source that makes them say so fools
/// nobody: it does not compile either way.
const DISK_FULL_MESSAGES: [&str; 3] = [
    "no space left on device",
    "file too large",
    "file size limit exceeded",
];

/// What is to be done.
pub(super) struct Job {
    /// Without the output directory, which is added.
    pub(super) world: World,
    pub(super) command: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) current_dir: &'static str,
    /// None: on no particular ones.
    pub(super) cpus: Vec<usize>,
    pub(super) limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) cpu_time: Duration,
    /// None where there is no way to hold it.
    pub(super) memory: Option<u64>,
    pub(super) output: u64,
    /// `output` is what the disk has room for, and less than the suite allows.
    pub(super) little_room: bool,
    pub(super) processes: u32,
}

/// What came of it.
pub(super) struct BuildResult {
    pub(super) messages: String,
    pub(super) figures: Option<Figures>,
    pub(super) files: Result<StoredFiles, CompileError>,
    /// An error that a broken machine could have caused as well.
    pub(super) is_doubtful: bool,
}

impl Limits {
    /// Waiting is allowed for, as compilers wait for each other on a busy machine; hanging is not.
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

/// What was read of standard output.
struct ShellOutput {
    /// The compiler's exit status; `None`: the first line is none.
    status: Option<i32>,
    /// What came after it, if that is 0.
    product: Option<Result<StoredFiles, ProductError>>,
    /// The run was killed since its product cannot be used.
    killed: bool,
}

/// Runs the compiler. Its product is put into `store`.
pub(super) fn build(supervisor: &Supervisor, job: &Job, store: Store) -> BuildResult {
    let mut request = Request::new(SHELL)
        .args(["-c", SCRIPT, "compile"])
        .args(job.command.iter().cloned())
        .env("OUTPUT", OUTPUT)
        .current_dir(job.current_dir)
        .world(&job.world.clone().mount(tmpfs(OUTPUT, job.limits.output)))
        .cpu_time_limit(job.limits.cpu_time)
        .real_time_limit(job.limits.real_time())
        // The shell is one of them.
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
        Err(why) => return BuildResult::failed(why),
    };
    let messages = printable(&captured.stderr, captured.stderr_total);
    let (outcome, figures) = (captured.result.outcome.clone(), captured.result.figures);
    let is_doubtful = match captured.stdout.status {
        None => true,
        Some(status) => status == 0 && outcome != Outcome::Exited(0),
    };
    let files = judge(captured, &messages, &job.limits);
    BuildResult {
        messages,
        figures: Some(figures),
        files,
        is_doubtful,
    }
}

impl BuildResult {
    pub(super) fn failed(why: String) -> BuildResult {
        let files = Err(CompileError::Judge(why));
        BuildResult {
            messages: String::new(),
            figures: None,
            files,
            is_doubtful: false,
        }
    }
}

/// Reads the status and unpacks what comes after it.
fn take(stdout: &mut Stdout<'_>, handle: &Handle, store: Store, most: u64) -> ShellOutput {
    let status = status(stdout);
    let product = (status == Some(0)).then(|| product::unpack(&mut *stdout, store, most));
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

fn judge(
    captured: captured::CapturedRun<ShellOutput>,
    messages: &str,
    limits: &Limits,
) -> Result<StoredFiles, CompileError> {
    let captured::CapturedRun {
        result,
        stdout: ShellOutput {
            status,
            product,
            killed,
        },
        ..
    } = captured;
    let exceeded = |limit| Err(CompileError::Limit(limit));
    if let Some(Err(ProductError::Host(why))) = product {
        return Err(CompileError::Judge(why));
    }
    match &result.outcome {
        // The names of all sources are arguments.
        Outcome::NotStarted(error)
            if error.step == Step::Exec
                && error.errno == Some(rustix::io::Errno::TOOBIG.raw_os_error()) =>
        {
            return Err(CompileError::Refused(
                "its files have too many names for one command".to_owned(),
            ));
        }
        Outcome::NotStarted(error) | Outcome::SandboxError(error) => {
            return Err(CompileError::Judge(error.to_string()));
        }
        Outcome::Cancelled | Outcome::Killed => {
            return Err(CompileError::Judge(format!("the compilation was {result}")));
        }
        Outcome::CpuTimeLimit => return exceeded(Limit::CpuTime(limits.cpu_time)),
        Outcome::RealTimeLimit => return exceeded(Limit::RealTime(limits.real_time())),
        Outcome::MemoryLimit => return exceeded(Limit::Memory(limits.memory.unwrap_or_default())),
        // Only `take` says so.
        Outcome::OutputLimit => {}
        Outcome::Exited(_) | Outcome::Signaled(_) => {}
    }
    let full = || {
        let messages = messages.to_lowercase();
        DISK_FULL_MESSAGES
            .iter()
            .any(|text| messages.contains(text))
    };
    let ended = matches!(result.outcome, Outcome::Exited(0));
    match (status, product) {
        // What killed the shell was started by it.
        (None, _) => Err(CompileError::Refused(format!(
            "its own processes ended the compilation ({result})"
        ))),
        (Some(_), Some(Err(ProductError::TooLarge))) => exceeded(limits.output_limit()),
        (Some(_), Some(Err(ProductError::Refused(why)))) if ended || killed => {
            Err(CompileError::Refused(why))
        }
        (Some(_), Some(Ok(product))) if ended => Ok(product),
        (Some(_), Some(_)) => Err(CompileError::Refused(format!(
            "what the compilation left cannot be packed (tar {result})"
        ))),
        (Some(SIGXFSZ_STATUS), None) => exceeded(limits.output_limit()),
        _ if full() => exceeded(limits.output_limit()),
        (Some(status @ 129..=192), None) => Err(CompileError::Refused(format!(
            "the compiler was killed by signal {}",
            status - 128
        ))),
        (Some(status), None) => Err(CompileError::Refused(format!(
            "the compiler exited with {status}"
        ))),
    }
}

/// The first line.
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
