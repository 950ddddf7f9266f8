//! Collects the output of the stages of a job, for one answer at the end of the job.

use super::INTERFACE;
use super::error::JobError;
use super::model::Stage;
use super::observer::{Observer, StageExecution};
use super::text::Decoder;
use crate::core::engine::Lane;
use crate::core::execution::{
    Capture, Excess, Execution, ExecutionError, ExecutionReport, Live, Output,
};
use crate::service::Service;
use bytes::Bytes;
use millibox::Outcome;
use tokio::sync::mpsc;

/// The maximum number of pieces of a stream that wait to be joined with those of the other stream.
const LIVE_PIECES: usize = 4;

/// Collects the output of the stages.
pub(super) struct Collect;

impl Observer for Collect {
    async fn begin(&mut self, _stage: &'static str) -> Result<(), JobError> {
        Ok(())
    }

    async fn show(&mut self, _stage: &Stage) -> Result<(), JobError> {
        Ok(())
    }

    async fn execute(
        &mut self,
        service: &Service,
        stage: StageExecution,
    ) -> Result<(Stage, Option<ExecutionReport>), JobError> {
        let StageExecution {
            execution,
            output_bytes,
            ..
        } = stage;
        // The engine does not repeat runs whose output was passed on, but here nothing has left the
        // service yet.
        let next = execution.repeat();
        let mut collected = collect(service, execution, output_bytes).await;
        if let (Some(next), true) = (next, has_sandbox_failed(&collected)) {
            tracing::warn!("the sandbox failed; the run is started again");
            collected = collect(service, next, output_bytes).await;
        }
        let (report, output) = collected?;
        service.metrics.count_execution(INTERFACE, &report);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let stage = Stage {
            stdout: text(&report.stdout().bytes),
            stderr: text(&report.stderr().bytes),
            output,
            ..Stage::of_report(&report)?
        };
        Ok((stage, Some(report)))
    }

    async fn end(&mut self, _name: &'static str, _stage: &Stage) -> Result<(), JobError> {
        Ok(())
    }
}

/// Executes a program, and joins its output.
async fn collect(
    service: &Service,
    mut execution: Execution,
    output_bytes: u64,
) -> Result<(ExecutionReport, String), ExecutionError> {
    let capture = || {
        let (sender, receiver) = mpsc::channel(LIVE_PIECES);
        let capture = Capture {
            max_bytes: output_bytes,
            excess: Excess::End,
            live: Some(Live::new(sender)),
        };
        (Output::Capture(capture), receiver)
    };
    let (stdout, stdout_pieces) = capture();
    let (stderr, stderr_pieces) = capture();
    execution.streams.stdout = stdout;
    execution.streams.stderr = stderr;
    let executed = service.programs.engine.execute(Lane::RealTime, execution);
    let (report, output) = tokio::join!(executed, joined(stdout_pieces, stderr_pieces));
    Ok((report?, output))
}

fn has_sandbox_failed(collected: &Result<(ExecutionReport, String), ExecutionError>) -> bool {
    match collected {
        Ok((report, _)) => matches!(report.outcome, Outcome::SandboxError(_)),
        Err(error) => matches!(error, ExecutionError::Sandbox(_)),
    }
}

/// Both streams as one text, in the order in which their pieces arrive.
async fn joined(mut stdout: mpsc::Receiver<Bytes>, mut stderr: mpsc::Receiver<Bytes>) -> String {
    let mut output = String::new();
    let (mut stdout_text, mut stderr_text) = (Decoder::default(), Decoder::default());
    loop {
        // If several pieces are ready at the same time, their order is not known.
        let text = tokio::select! {
            biased;
            Some(piece) = stdout.recv() => stdout_text.decode(&piece),
            Some(piece) = stderr.recv() => stderr_text.decode(&piece),
            else => break,
        };
        output.push_str(&text);
    }
    output.push_str(&stdout_text.finish());
    output.push_str(&stderr_text.finish());
    output
}
