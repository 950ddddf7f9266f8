//! Observes the stages of a job.

use super::error::JobError;
use super::model::Stage;
use crate::core::execution::{Execution, ExecutionReport};
use crate::service::Service;

/// Observes the stages of a job. An observer collects their output or sends it as it arrives.
pub(super) trait Observer {
    /// Called when a stage begins.
    async fn begin(&mut self, stage: &'static str) -> Result<(), JobError>;
    /// Called when the compiler of the service has ended. Its messages are the output of the stage.
    async fn show(&mut self, stage: &Stage) -> Result<(), JobError>;
    /// Executes a stage.
    async fn execute(
        &mut self,
        service: &Service,
        execution: StageExecution,
    ) -> Result<(Stage, Option<ExecutionReport>), JobError>;
    /// Called when a stage has ended.
    async fn end(&mut self, name: &'static str, stage: &Stage) -> Result<(), JobError>;
}

/// An execution without output streams.
pub(super) struct StageExecution {
    /// What is executed.
    pub(super) execution: Execution,
    /// The maximum number of bytes of each output stream that are kept if output is collected.
    pub(super) output_bytes: u64,
    /// Whether the stage reads the input that the client sends.
    pub(super) is_interactive: bool,
}
