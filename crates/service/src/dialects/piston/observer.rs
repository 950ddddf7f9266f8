//! What happens around the stages of a job.

use super::error::JobError;
use super::model::Stage;
use crate::core::execution::{Execution, ExecutionReport};
use crate::service::Service;

/// Observes the stages of a job: their output is collected or sent as it comes.
pub(super) trait Observer {
    /// A stage begins.
    async fn begin(&mut self, stage: &'static str) -> Result<(), JobError>;
    /// The compiler of the service has ended, with its messages as output.
    async fn show(&mut self, stage: &Stage) -> Result<(), JobError>;
    /// Executes a stage.
    async fn execute(
        &mut self,
        service: &Service,
        execution: StageExecution,
    ) -> Result<(Stage, Option<ExecutionReport>), JobError>;
    /// A stage has ended.
    async fn end(&mut self, name: &'static str, stage: &Stage) -> Result<(), JobError>;
}

/// An execution without output streams.
pub(super) struct StageExecution {
    /// What is executed.
    pub(super) execution: Execution,
    /// Bytes of each output stream that are kept if they are collected.
    pub(super) output_bytes: u64,
    /// The stage reads what the client sends.
    pub(super) is_interactive: bool,
}
