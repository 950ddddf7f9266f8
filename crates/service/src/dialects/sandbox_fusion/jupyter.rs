//! `POST /run_jupyter`: cells that one Python process executes one after another.
//!
//! The program of the run is a driver that comes with this service. It reads the cells from a file
//! of the working directory, and writes a line of JSON for each executed cell to another file.

use super::SandboxFusion;
use super::errors::{Failure, SandboxFailure};
use super::files::{self, Fetched};
use super::model::{Cell, CommandStatus, RunJupyterAnswer, RunJupyterRequest, RunStatus};
use super::{auth, result, run};
use crate::core::execution::{ExecutionReport, OutputFile};
use crate::core::program::{ProgramSource, plain_file};
use crate::metrics::outcome_name;
use crate::service::Service;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DRIVER: &str = include_str!("driver.py");
const DRIVER_FILE: &str = ".millibox/driver.py";
const CELLS_FILE: &str = ".millibox/cells.json";
const RESULTS_FILE: &str = ".millibox/results.jsonl";
/// The maximum size of the results that are read. The driver bounds each output stream of a cell to
/// 1 MiB, and cells often show images. Results beyond this size are left out.
const MAX_RESULTS_BYTES: u64 = 8 << 20;

pub(super) async fn handle(
    State(fusion): State<Arc<SandboxFusion>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let service = &fusion.service;
    let is_reported = service.config.sandbox_fusion.report_sandbox_errors;
    run_jupyter(service, &headers, body)
        .await
        .unwrap_or_else(|failure| failure.response(is_reported))
}

async fn run_jupyter(
    service: &Service,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failure> {
    let client = auth::client(service, headers)?;
    let body = body?;
    let request = RunJupyterRequest::parse(&body)?;
    request.check(&service.config.limits.max)?;
    let catalog = &service.programs.catalog;
    let python = catalog.runtime("python3")?;
    let program = catalog.script(&python, Path::new(DRIVER_FILE)).await?;
    let program = program.ok_or(SandboxFailure::CompiledPython)?;
    let limits = run::request_limits(
        &service.config,
        request.total_timeout,
        &request.surroundings,
    );
    let mut run = run::program_run(service, &client, body.len(), limits);
    drop(body);
    let max_bytes = service.config.limits.max.output_bytes;
    let fetched = Fetched::new(request.surroundings.fetch_files, max_bytes);
    run.source = ProgramSource::Program(program);
    run.outputs = fetched.outputs();
    run.outputs.push(OutputFile {
        path: RESULTS_FILE.into(),
        max_bytes: max_bytes.min(MAX_RESULTS_BYTES),
        truncate: true,
    });
    run.files = files::inputs(request.surroundings.files)?;
    run.files.push(plain_file(DRIVER_FILE, DRIVER));
    let cells = serde_json::to_vec(&request.cells).unwrap_or_default();
    run.files.push(plain_file(CELLS_FILE, cells));
    let admitted = run::admit(service, &mut run, Duration::ZERO, false).await?;
    let report = admitted.execute(service, run).await?;
    let driver = result::program(&report);
    let cells = match driver.status {
        CommandStatus::Finished => cells_of(&report),
        CommandStatus::TimeLimitExceeded => Vec::new(),
    };
    let answer = RunJupyterAnswer {
        status: RunStatus::of(std::iter::once(&driver)),
        message: String::new(),
        driver: Some(driver),
        cells,
        executor_pod_name: None,
        files: fetched.encode(&report),
    };
    Ok(admitted.response(outcome_name(&report.outcome), &answer))
}

/// The cells that were executed. The program could have written anything to the file.
fn cells_of(report: &ExecutionReport) -> Vec<Cell> {
    let Some(results) = report.outputs.last() else {
        return Vec::new();
    };
    results
        .bytes
        .split(|byte| *byte == b'\n')
        .map_while(|line| serde_json::from_slice(line).ok())
        .collect()
}
