//! Runs the program of a scene, alone, as a pair, or beside a neighbour.

use crate::case::{CaseError, Held};
use crate::compile::Built;
use crate::header::{Control, Ending, Pair, With};
use crate::scene::Scene;
use millibox::{
    Budget, Handle, Hint, Outcome, Request, RunResult, Start, Supervisor, TemplateProblem, Unfit,
    move_output,
};
use millibox_tests::{is_root, pipe, read_line, wait};
use std::fs;
use std::io::{Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// The output limit of programs whose header has none.
const OUTPUT_BYTES: u64 = 8 << 20;
/// The output limit of control runs without limits.
const CONTROL_OUTPUT_BYTES: u64 = 1 << 30;
/// The part of the output that the test examines.
const EXAMINED_BYTES: u64 = 1 << 16;
/// The number of times that the second run of a pair is repeated. Some attacks need luck.
const LOOKS: usize = 3;

impl Scene<'_> {
    /// Runs the program, or both programs of a pair, and checks the result.
    pub fn run(&mut self, supervisor: &Supervisor) -> Result<Held, CaseError> {
        match (self.case.program.header.pair, self.case.without) {
            (None, _) => self.run_single(supervisor, "run"),
            (Some(_), Some(Control::Together)) => self.run_single(supervisor, "both"),
            (Some(Pair::After), _) => {
                let (planted, output) = self.run_once(supervisor, "plant")?;
                if Ending::of(&planted.outcome) != Some(Ending::Contained) {
                    return Err(format!("the first run failed: {planted}: {output}").into());
                }
                self.look(supervisor)
            }
            (Some(Pair::Beside), _) => {
                let (from, to) = pipe();
                let request = self.request("plant")?.stdout(to);
                let planted: Handle = supervisor
                    .run(&request)
                    .map_err(|error| error.to_string())?;
                drop(request);
                let line = read_line(&from);
                if line != "ready" {
                    return Err(format!("the first run failed: {line}").into());
                }
                let held = self.look(supervisor)?;
                if let Ok(Some(result)) = planted.try_wait() {
                    return Err(format!("the first run ended: {result}").into());
                }
                planted.kill();
                wait(&planted);
                Ok(held)
            }
        }
    }

    /// Runs the program beside a neighbour; see [`Case::neighbour`](crate::case::Case::neighbour).
    pub fn run_beside_neighbour(&mut self, supervisor: &Supervisor) -> Result<Duration, CaseError> {
        let role = if self.case.program.header.pair.is_some() {
            "plant"
        } else {
            "run"
        };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let neighbour = scope.spawn(|| {
                let request = harmless();
                let mut longest = Duration::ZERO;
                loop {
                    // The neighbour runs once more after the end of the program, during the
                    // program's cleanup.
                    let is_last = is_over.load(SeqCst);
                    let begin = Instant::now();
                    let handle = supervisor
                        .run(&request)
                        .map_err(|error| format!("the neighbour does not start: {error}"))?;
                    let result = wait(&handle);
                    longest = longest.max(begin.elapsed());
                    if Ending::of(&result.outcome) != Some(Ending::Contained) {
                        return Err(CaseError::Failed(format!("the neighbour failed: {result}")));
                    }
                    if is_last {
                        return Ok(longest);
                    }
                }
            });
            let hostile = self.run_once(supervisor, role);
            is_over.store(true, SeqCst);
            let longest = neighbour.join().expect("no panic")?;
            hostile.map(|_| longest)
        })
    }

    /// Repeats the second run of a pair. A control run succeeds if one of the repetitions finds
    /// what the first run planted.
    fn look(&mut self, supervisor: &Supervisor) -> Result<Held, CaseError> {
        let mut held = self.run_single(supervisor, "look");
        for _ in 1..LOOKS {
            if held.is_ok() != self.case.without.is_none() {
                break;
            }
            held = self.run_single(supervisor, "look");
        }
        held
    }

    /// Runs one role and checks the result.
    fn run_single(&mut self, supervisor: &Supervisor, role: &str) -> Result<Held, CaseError> {
        let (result, output) = self.run_once(supervisor, role)?;
        let Some(ending) = Ending::of(&result.outcome) else {
            return Err(format!("no result: {result}: {output}").into());
        };
        let held = self.compare(ending, &format!("{output}{result}"))?;
        if self.case.without.is_none() {
            self.check_figures(&result, &output)?;
        }
        Ok(held)
    }

    /// Runs one role to its end. Returns the result and the first part of the output.
    fn run_once(
        &mut self,
        supervisor: &Supervisor,
        role: &str,
    ) -> Result<(RunResult, String), CaseError> {
        let io = |error: std::io::Error| {
            CaseError::Failed(format!("cannot read the run's output: {error}"))
        };
        let request = self.request(role)?;
        let mut file = tempfile::tempfile().map_err(io)?;
        let result = if self.case.wants(With::FileStdout) {
            let copy: OwnedFd = file.try_clone().map_err(io)?.into();
            wait(
                &supervisor
                    .run(&request.stdout(copy))
                    .map_err(|error| error.to_string())?,
            )
        } else {
            let limit = match self.case.without {
                Some(Control::Limits | Control::AllLimits) => CONTROL_OUTPUT_BYTES,
                _ => self
                    .case
                    .program
                    .header
                    .limits
                    .output
                    .map_or(OUTPUT_BYTES, |output| output.0),
            };
            let ((from, to), (from_error, to_error)) = (pipe(), pipe());
            let request = match (self.case.wants(With::NullStreams), role) {
                (true, "plant") => request,
                (true, _) => request.stdout(to.clone()),
                (false, _) => request.stdout(to.clone()).stderr(to_error.clone()),
            };
            let handle = supervisor
                .run(&request)
                .map_err(|error| error.to_string())?;
            drop((request, to, to_error));
            let budget = Budget::new(limit);
            // Standard error is discarded, but counts towards the limit.
            let discard = fs::OpenOptions::new()
                .write(true)
                .open("/dev/null")
                .map_err(io)?;
            std::thread::scope(|scope| {
                scope.spawn(|| move_output(from, file.as_fd(), &budget, &handle));
                scope.spawn(|| move_output(from_error, discard.as_fd(), &budget, &handle));
                wait(&handle)
            })
        };
        if self.case.copy {
            check_start(&result)?;
        }
        let mut bytes = Vec::new();
        file.rewind().map_err(io)?;
        file.take(EXAMINED_BYTES)
            .read_to_end(&mut bytes)
            .map_err(io)?;
        Ok((result, String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Runs the program as a plain process of the same user.
    pub fn run_bare(&mut self) -> Result<Held, CaseError> {
        let Built::Executable(path) = &self.built else {
            return Err("only an executable can run outside the sandbox"
                .to_owned()
                .into());
        };
        let mut command = Command::new(path);
        command
            .args(self.arguments("run"))
            .current_dir("/")
            .stdin(Stdio::null());
        if is_root() {
            command.uid(self.machine.ids.0).gid(self.machine.ids.1);
        }
        let output = command.output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let ending = output
            .status
            .code()
            .map_or(Ending::Signaled(0), |code| match code {
                0 => Ending::Contained,
                1 => Ending::Escaped,
                code => Ending::Exited(code),
            });
        self.compare(ending, &text)
    }
}

/// Checks that a run was a copy of a template. Some worlds cannot have a template.
fn check_start(result: &RunResult) -> Result<(), CaseError> {
    let error = match (&result.outcome, result.start) {
        (Outcome::NotStarted(error), _) => error,
        (_, Start::Prepared { .. }) => return Ok(()),
        _ => return Err(format!("the run was no copy: {result}").into()),
    };
    match error.hint {
        Some(Hint::Template(TemplateProblem::Unfit(
            Unfit::Backend
            | Unfit::SeparatePid1
            | Unfit::MountBelowTmpfs
            | Unfit::Seccomp
            | Unfit::RootInside
            | Unfit::Namespaces,
        ))) => Err(CaseError::Skipped(error.to_string())),
        Some(Hint::Template(_)) => Err(error.to_string().into()),
        _ => Ok(()),
    }
}

/// A request to run `/bin/true`.
pub fn harmless() -> Request {
    Request::new("/bin/true")
        .memory_limit(64 << 20)
        .process_limit(1)
        .real_time_limit(Duration::from_secs(20))
}
