//! `POST /run_code`: one program on one input.

use super::SandboxFusion;
use super::errors::{Failure, SandboxFailure};
use super::files::{self, Fetched};
use super::languages::{Language, Pytest};
use super::model::{CommandResult, RunCodeAnswer, RunCodeRequest, RunStatus};
use super::run::{self, Admitted};
use super::{auth, result};
use crate::core::catalog::{CompileLimits, Program, SourceFile};
use crate::core::execution::{Content, InputContent, InputFile};
use crate::core::program::{ProgramSource, Test, plain_file};
use crate::metrics::outcome_name;
use crate::service::Service;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The header `Millibox-Outcome` of a program that does not compile.
const COMPILE_ERROR: &str = "compile_error";

pub(super) async fn handle(
    State(fusion): State<Arc<SandboxFusion>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let SandboxFusion { service, pytest } = &*fusion;
    let is_reported = service.config.sandbox_fusion.report_sandbox_errors;
    run_code(service, pytest, &headers, body)
        .await
        .unwrap_or_else(|failure| failure.response(is_reported))
}

async fn run_code(
    service: &Service,
    pytest: &Pytest,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failure> {
    let client = auth::client(service, headers)?;
    let body = body?;
    let request = RunCodeRequest::parse(&body)?;
    request.check(&service.config.limits.max)?;
    let language = Language::find(service, &client, pytest, &request.language).await?;
    let limits = run::request_limits(&service.config, request.run_timeout, &request.surroundings);
    let mut run = run::program_run(service, &client, body.len(), limits);
    drop(body);
    let mut inputs = files::inputs(request.surroundings.files)?;
    let max_bytes = service.config.limits.max.output_bytes;
    let fetched = Fetched::new(request.surroundings.fetch_files, max_bytes);
    run.outputs = fetched.outputs();
    if !request.stdin.is_empty() {
        run.tests = vec![Test {
            stdin: Some(Content::Bytes(request.stdin)),
            ..Test::default()
        }];
    }
    let is_taken = |name: &str| inputs.iter().any(|file| file.path == Path::new(name));
    let main = language.main_file(is_taken);
    let runtime = &language.runtime;
    let script = service
        .programs
        .catalog
        .script(runtime, Path::new(&main))
        .await?;
    let is_compiled = script.is_none();
    let admitted = run::admit(service, &mut run, request.compile_timeout, is_compiled).await?;
    let (program, compile_result) = match script {
        Some(program) => {
            inputs.push(plain_file(&main, request.code));
            (Some(program), None)
        }
        None => {
            let sources = sources(&language, main, request.code, &inputs);
            let timeout = request.compile_timeout;
            compile(service, &admitted, &language, sources, timeout).await?
        }
    };
    let Some(program) = program else {
        let answer = answer(compile_result, None, BTreeMap::new());
        return Ok(admitted.response(COMPILE_ERROR, &answer));
    };
    run.source = ProgramSource::Program(language.adapt(program));
    run.files = inputs;
    let report = admitted.execute(service, run).await?;
    let run_result = result::program(&report);
    let answer = answer(compile_result, Some(run_result), fetched.encode(&report));
    Ok(admitted.response(outcome_name(&report.outcome), &answer))
}

/// The main source, and the files of the request that a compiler looks for beside it.
fn sources(
    language: &Language,
    main: String,
    code: String,
    inputs: &[InputFile],
) -> Vec<SourceFile> {
    let is_beside = |file: &&InputFile| {
        file.path.is_relative() && language.is_beside(&file.path) && file.path != Path::new(&main)
    };
    let mut sources = vec![SourceFile {
        path: main.clone().into(),
        bytes: code.into(),
    }];
    for file in inputs.iter().filter(is_beside) {
        if let InputContent::File {
            content: Content::Bytes(bytes),
            ..
        } = &file.content
        {
            sources.push(SourceFile {
                path: file.path.clone(),
                bytes: bytes.clone(),
            });
        }
    }
    sources
}

/// Compiles. There is no program if the compiler rejects the sources.
async fn compile(
    service: &Service,
    admitted: &Admitted,
    language: &Language,
    sources: Vec<SourceFile>,
    timeout: Duration,
) -> Result<(Option<Arc<Program>>, Option<CommandResult>), Failure> {
    let main = sources
        .first()
        .map(|main| main.path.to_string_lossy().into_owned());
    let limits = CompileLimits {
        cpu_time: Some(timeout),
        memory_bytes: None,
    };
    let compiling = service
        .programs
        .catalog
        .compile(&language.runtime, sources, main, limits);
    let compiled = admitted.wait(service, timeout, compiling).await??;
    let compile_result = result::compiler(&compiled).map_err(SandboxFailure::Compiler)?;
    Ok((compiled.result.ok(), Some(compile_result)))
}

fn answer(
    compile_result: Option<CommandResult>,
    run_result: Option<CommandResult>,
    files: BTreeMap<String, String>,
) -> RunCodeAnswer {
    let stages = compile_result.iter().chain(run_result.iter());
    RunCodeAnswer {
        status: RunStatus::of(stages),
        message: String::new(),
        compile_result,
        run_result,
        executor_pod_name: None,
        files,
    }
}
