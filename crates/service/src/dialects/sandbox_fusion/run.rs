//! Admission and execution, common to both endpoints.
//!
//! A request leaves the queue within its compile timeout and a configured margin, or it is
//! rejected. A run that starts later might not end before verl gives up, 10 s after both timeouts.
//! A compiler that has started ends at its own limits.

use super::INTERFACE;
use super::errors::{Failure, SandboxFailure};
use super::model::Surroundings;
use crate::config::Config;
use crate::core::engine::Lane;
use crate::core::execution::{Excess, ExecutionReport};
use crate::core::program::{
    Keep, ProgramReport, ProgramRun, ProgramSource, RunLimits, StopOn, Test,
};
use crate::core::queue::Permit;
use crate::http::headers::RunHeaders;
use crate::http::held::hold;
use crate::service::Service;
use crate::tokens::Client;
use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Number of bytes of each stream that are kept, as in SandboxFusion.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// The process limit of a run; SandboxFusion has none.
const MAX_PROCESSES: u32 = 256;
/// Only real time is limited. A run that keeps fewer CPUs busy never reaches the limit of CPU time.
const MAX_BUSY_CPUS: u32 = 256;

/// A compiler ends after this multiple of its CPU time and less than the margin, even on a busy
/// machine.
const COMPILER_SLOWNESS: u32 = 3;
/// Includes the time until the libraries of a language are prepared, and that of a compilation
/// which checks whether the compiler works at all.
const COMPILER_MARGIN: Duration = Duration::from_secs(40);

/// The place of a request among the running ones.
#[derive(Debug)]
pub(super) struct Admitted {
    permit: Permit,
    pub(super) queued: Duration,
    begin: Instant,
    deadline: Instant,
}

/// The limits of a run with files of this size.
pub(super) fn limits(
    config: &Config,
    timeout: Duration,
    memory_bytes: u64,
    input_bytes: usize,
) -> RunLimits {
    let (default, max) = (&config.limits.default, &config.limits.max);
    // There are only two sizes, because runs with equal mounts share a template.
    let is_large = input_bytes as u64 > default.files_bytes / 2;
    let files_bytes = if is_large {
        max.files_bytes
    } else {
        default.files_bytes
    };
    RunLimits {
        cpu_time: timeout.saturating_mul(MAX_BUSY_CPUS),
        real_time: timeout,
        memory_bytes,
        processes: MAX_PROCESSES.min(max.processes),
        file_bytes: files_bytes,
        work_bytes: files_bytes,
        open_files: default.open_files,
        stack_bytes: None,
    }
}

pub(super) fn request_limits(
    config: &Config,
    timeout: Duration,
    surroundings: &Surroundings,
) -> RunLimits {
    let memory = surroundings.memory(&config.sandbox_fusion, &config.limits.max);
    let input: usize = surroundings
        .files
        .iter()
        .map(|(_, bytes)| bytes.len())
        .sum();
    limits(config, timeout, memory, input)
}

/// A run of this interface. Its program and files are still missing.
pub(super) fn program_run(
    service: &Service,
    client: &Client,
    size_bytes: usize,
    limits: RunLimits,
) -> ProgramRun {
    let keep = Keep {
        max_bytes: MAX_OUTPUT_BYTES,
        excess: Excess::Discard,
        into_stdout: false,
    };
    let patience = Duration::from_millis(service.config.sandbox_fusion.wait_ms);
    ProgramRun {
        ticket: client.ticket(size_bytes, patience),
        lane: Lane::RealTime,
        source: ProgramSource::Command(Vec::new()),
        args: Vec::new(),
        env: Vec::new(),
        files: Vec::new(),
        tests: vec![Test::default()],
        stop_on: StopOn::Never,
        limits,
        outputs: Vec::new(),
        answer_bytes: service.config.requests.answer_bytes,
        keeps_last: false,
        stdout: keep,
        stderr: keep,
        observer: None,
    }
}

/// Waits for a place. `compile_timeout` is added to the time in which the run must begin. A run
/// whose program is not compiled may spend all of this time in the queue.
pub(super) async fn admit(
    service: &Service,
    run: &mut ProgramRun,
    compile_timeout: Duration,
    is_compiled: bool,
) -> Result<Admitted, Failure> {
    let begin = Instant::now();
    let patience = run.ticket.patience.saturating_add(compile_timeout);
    if !is_compiled {
        run.ticket.patience = patience;
    }
    // The files are added later: they are in the request, and in an archive.
    run.ticket.held_bytes = run
        .plan()
        .plus(run.ticket.size_bytes.saturating_mul(2))
        .bytes();
    let permit = service.programs.admit(run).await.inspect_err(|_| {
        service.metrics.count_refusal(INTERFACE);
    })?;
    // Longer than any run; an Instant cannot be arbitrarily late.
    let patience = patience.min(Duration::from_secs(86_400));
    Ok(Admitted {
        permit,
        queued: begin.elapsed(),
        begin,
        deadline: begin + patience,
    })
}

impl Admitted {
    /// Waits for a compiler whose CPU time has this limit. The compiler ends at its limits, so a
    /// source that keeps it busy is reported as such, even if a busy machine needs longer than the
    /// time in which the run should begin.
    pub(super) async fn wait<T>(
        &self,
        service: &Service,
        cpu_time: Duration,
        compiling: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let longest = cpu_time
            .saturating_mul(COMPILER_SLOWNESS)
            .saturating_add(COMPILER_MARGIN)
            .min(Duration::from_secs(86_400));
        let deadline = self.deadline.max(Instant::now() + longest);
        let waited = tokio::time::timeout_at(deadline.into(), compiling).await;
        waited.map_err(|_| {
            service.metrics.count_refusal(INTERFACE);
            Failure::Late {
                waited: self.begin.elapsed(),
            }
        })
    }

    /// Executes the run.
    pub(super) async fn execute(
        &self,
        service: &Service,
        run: ProgramRun,
    ) -> Result<ExecutionReport, Failure> {
        single(service.run_admitted(INTERFACE, run, self.queued).await?)
    }

    /// A successful response.
    pub(super) fn response(self, outcome: &'static str, answer: &impl Serialize) -> Response {
        let mut response = Json(answer).into_response();
        let headers = RunHeaders {
            id: None,
            outcome: Some(outcome),
            queued: Some(self.queued),
        };
        headers.add_to(response.headers_mut());
        hold(response, self.permit.into_held())
    }
}

/// The report of the only test. A run that the service ended has none.
pub(super) fn single(report: ProgramReport) -> Result<ExecutionReport, Failure> {
    let report = report.tests.into_iter().next().and_then(|test| test.report);
    let report = report.ok_or(SandboxFailure::NoReport)?;
    match &report.outcome {
        millibox::Outcome::SandboxError(error) => Err(SandboxFailure::Run(error.clone()).into()),
        millibox::Outcome::Cancelled | millibox::Outcome::Killed => {
            Err(SandboxFailure::Ended.into())
        }
        _ => Ok(report),
    }
}
