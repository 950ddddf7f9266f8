//! One compiler run in the sandbox: its product and its messages come out through two pipes.
//!
//! A compiler writes to a tmpfs, which is gone with the run, so nothing of what it writes touches a
//! file system of the host before it has been read and checked. A shell starts the compiler with both
//! streams as standard error, then says its exit status on standard output, and becomes the tar(1) that
//! writes the product after it.
//!
//! Who takes the compiler over could forge the status or the archive. What would be won is an
//! executable of their own, which they may send as a source anyway.

use super::captured;
use super::messages::printable;
use super::world::{OUTPUT, tmpfs};
use super::{CompileError, Limit, product};
use crate::files::File;
use millibox::{Figures, Outcome, Request, Supervisor, World};
use std::ffi::OsString;
use std::time::Duration;

const SHELL: &str = "/bin/sh";
const SCRIPT: &str = r#"
"$@" >&2
status=$?
echo $status
[ $status = 0 ] && exec tar -cf - -C "$OUTPUT" .
exit 0
"#;

/// Exit status of a shell whose command was ended by SIGXFSZ (POSIX: above 128; here 128 + 25).
const FILE_SIZE: i32 = 128 + 25;
/// What compilers say when a file system is full or a file too long, in whatever words around it: the
/// C library's texts for ENOSPC, EFBIG and SIGXFSZ. A source that makes them say so fools nobody: it
/// does not compile either way.
const FULL: [&str; 3] = ["no space left on device", "file too large", "file size limit exceeded"];

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
    pub(super) processes: u32,
}

/// What came of it.
pub(super) struct Built {
    pub(super) messages: String,
    pub(super) figures: Option<Figures>,
    pub(super) files: Result<Vec<File>, CompileError>,
}

impl Limits {
    /// Waiting is allowed for, as compilers wait for each other on a busy machine; hanging is not.
    fn real_time(&self) -> Duration {
        self.cpu_time * 3 + Duration::from_secs(10)
    }

    /// Archives have a header for each file, and whole blocks.
    fn archive(&self) -> u64 {
        self.output.saturating_add(2048 * product::MOST_FILES)
    }
}

/// Runs the compiler.
pub(super) fn build(supervisor: &Supervisor, job: &Job) -> Built {
    let failed = |why| Built { messages: String::new(), figures: None, files: Err(CompileError::Judge(why)) };
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
    let captured = match captured::run(supervisor, request, b"", job.limits.archive()) {
        Ok(captured) => captured,
        Err(why) => return failed(why),
    };
    let messages = printable(&captured.stderr, captured.stderr_total);
    let files = judge(&captured, &messages, &job.limits);
    Built { messages, figures: Some(captured.result.figures), files }
}

fn judge(captured: &captured::Captured, messages: &str, limits: &Limits) -> Result<Vec<File>, CompileError> {
    let exceeded = |limit| Err(CompileError::Limit(limit));
    match &captured.result.outcome {
        Outcome::NotStarted(error) | Outcome::SandboxError(error) => {
            return Err(CompileError::Judge(error.to_string()));
        }
        Outcome::Cancelled | Outcome::Killed => {
            return Err(CompileError::Judge(format!("the compilation was {}", captured.result)));
        }
        Outcome::CpuTimeLimit => return exceeded(Limit::CpuTime(limits.cpu_time)),
        Outcome::RealTimeLimit => return exceeded(Limit::RealTime(limits.real_time())),
        Outcome::MemoryLimit => return exceeded(Limit::Memory(limits.memory.unwrap_or_default())),
        Outcome::OutputLimit => return exceeded(Limit::Output(limits.output)),
        // The shell may be over before it is told to end.
        Outcome::Exited(_) | Outcome::Signaled(_) if captured.too_much => {
            return exceeded(Limit::Output(limits.output));
        }
        Outcome::Exited(_) | Outcome::Signaled(_) => {}
    }
    let full = || {
        let messages = messages.to_lowercase();
        FULL.iter().any(|text| messages.contains(text))
    };
    let Some((status, archive)) = status(&captured.stdout) else {
        // Whoever ended the shell was started by it.
        return Err(CompileError::Refused(format!("its own processes ended the compilation ({})", captured.result)));
    };
    match (status, &captured.result.outcome) {
        (0, Outcome::Exited(0)) => product::files(archive, limits.output).map_err(CompileError::Refused),
        (0, _) => {
            let said = messages.lines().last().unwrap_or_default();
            Err(CompileError::Judge(format!("tar in the sandbox: {}: {said}", captured.result)))
        }
        (FILE_SIZE, _) => exceeded(Limit::Output(limits.output)),
        _ if full() => exceeded(Limit::Output(limits.output)),
        (status @ 129..=192, _) => {
            Err(CompileError::Refused(format!("the compiler was killed by signal {}", status - 128)))
        }
        (status, _) => Err(CompileError::Refused(format!("the compiler exited with {status}"))),
    }
}

/// The first line, and what comes after it.
fn status(stdout: &[u8]) -> Option<(i32, &[u8])> {
    let end = stdout.iter().take(4).position(|byte| *byte == b'\n')?;
    let status = std::str::from_utf8(&stdout[..end]).ok()?.parse().ok()?;
    Some((status, &stdout[end + 1..]))
}
