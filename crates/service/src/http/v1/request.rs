//! Turns the request of a run into a run of the core.

use super::model::{Blob, OutputForm, RunRequest, StopOn, TestRequest};
use crate::core::catalog::{CompileLimits, Runtime, SourceFile};
use crate::core::compare::Comparison;
use crate::core::engine::Lane;
use crate::core::execution::{Content, Excess, InputContent, InputFile, OutputFile};
use crate::core::files::StoreError;
use crate::core::program::{self, Keep, ProgramRun, ProgramSource, Test};
use crate::http::problem::Problem;
use crate::service::Service;
use crate::tokens::Client;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const MAX_LABEL_BYTES: usize = 256;
const MAX_TESTS: usize = 10_000;

/// Checks a request and turns it into a run of the core.
///
/// # Errors
/// The request cannot be carried out.
pub fn program_run(
    service: &Service,
    client: &Client,
    request: RunRequest,
    size_bytes: usize,
) -> Result<ProgramRun, Problem> {
    check_label(request.label.as_deref())?;
    let config = &service.config;
    let limits = request
        .limits
        .with_defaults(&config.limits.default, &config.limits.max)?;
    let (source, files) = source(service, &request)?;
    let keep = Keep {
        max_bytes: if request.stdout == OutputForm::Discard {
            0
        } else {
            limits.output_bytes
        },
        excess: Excess::Discard,
        into_stdout: false,
    };
    let patience = request.queue_ms.unwrap_or(config.queue.wait_ms);
    Ok(ProgramRun {
        ticket: client.ticket(size_bytes, Duration::from_millis(patience)),
        lane: Lane::CpuTime,
        source,
        args: request.args.iter().map(Into::into).collect(),
        env: request
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        files,
        tests: tests(service, &request)?,
        stop_on: match request.stop_on {
            StopOn::Never => program::StopOn::Never,
            StopOn::Failure => program::StopOn::Failure,
            StopOn::Error => program::StopOn::Error,
        },
        limits: limits.run_limits(),
        outputs: request
            .outputs
            .iter()
            .map(|path| OutputFile {
                path: PathBuf::from(path),
                max_bytes: limits.output_bytes,
                truncate: true,
            })
            .collect(),
        stdout: keep,
        stderr: keep,
        observer: None,
    })
}

/// Checks the length of a label.
///
/// # Errors
/// It is too long.
pub fn check_label(label: Option<&str>) -> Result<(), Problem> {
    if label.is_some_and(|label| label.len() > MAX_LABEL_BYTES) {
        return Err(Problem::impossible(
            "label",
            format!("a label may have at most {MAX_LABEL_BYTES} bytes"),
        ));
    }
    Ok(())
}

fn source(
    service: &Service,
    request: &RunRequest,
) -> Result<(ProgramSource, Vec<InputFile>), Problem> {
    let (runtime, command) = (&request.runtime, &request.command);
    match (runtime, command.is_empty()) {
        (None, true) => Err(Problem::impossible(
            "runtime",
            "name a runtime (see /v1/runtimes) or a command",
        )),
        (Some(_), false) => Err(Problem::impossible(
            "command",
            "name either a runtime or a command, not both",
        )),
        (None, false) => {
            let command = command.iter().map(Into::into).collect();
            let files = request
                .files
                .iter()
                .map(|(path, blob)| input_file(service, path, blob))
                .collect::<Result<_, _>>()?;
            Ok((ProgramSource::Command(command), files))
        }
        (Some(name), true) => {
            let runtime = service
                .runner
                .catalog
                .runtime(name)
                .map_err(|error| Problem::from(program::ProgramError::from(error)))?;
            let mut sources = Vec::new();
            let mut files = Vec::new();
            for (path, blob) in &request.files {
                if is_source(&runtime, path) || request.files.len() == 1 {
                    sources.push(SourceFile {
                        path: path.into(),
                        bytes: bytes(service, &format!("files.{path}"), blob)?,
                    });
                } else {
                    files.push(input_file(service, path, blob)?);
                }
            }
            let source = ProgramSource::Sources {
                runtime,
                files: sources,
                entry: request.entry.clone(),
                limits: CompileLimits {
                    cpu_time: request.compile.cpu_ms.map(Duration::from_millis),
                    memory_bytes: request.compile.memory_bytes,
                },
            };
            Ok((source, files))
        }
    }
}

fn is_source(runtime: &Runtime, path: &str) -> bool {
    let extension = Path::new(path).extension();
    let extension = extension.and_then(|extension| extension.to_str());
    runtime
        .extensions
        .iter()
        .any(|known| Some(&known[..]) == extension)
}

fn input_file(service: &Service, path: &str, blob: &Blob) -> Result<InputFile, Problem> {
    let content = content(service, &format!("files.{path}"), blob)?;
    Ok(InputFile {
        path: path.into(),
        content: InputContent::File {
            content,
            mode: 0o755,
        },
    })
}

fn tests(service: &Service, request: &RunRequest) -> Result<Vec<Test>, Problem> {
    if request.tests.len() > MAX_TESTS {
        let count = request.tests.len() as u64;
        return Err(Problem::above_limit("tests", count, MAX_TESTS as u64));
    }
    if request.tests.is_empty() {
        let stdin = request.stdin.as_ref();
        let stdin = stdin
            .map(|blob| content(service, "stdin", blob))
            .transpose()?;
        return Ok(vec![Test {
            id: "1".to_owned(),
            stdin,
            ..Test::default()
        }]);
    }
    if request.stdin.is_some() {
        return Err(Problem::impossible(
            "stdin",
            "name either stdin or tests, not both",
        ));
    }
    let tests = request.tests.iter().enumerate();
    tests
        .map(|(index, test)| one_test(service, index, test))
        .collect()
}

fn one_test(service: &Service, index: usize, test: &TestRequest) -> Result<Test, Problem> {
    let field = |name: &str| format!("tests[{index}].{name}");
    let stdin = test.stdin.as_ref();
    let expected = test.expected.as_ref();
    Ok(Test {
        id: test.id.clone().unwrap_or_else(|| (index + 1).to_string()),
        stdin: stdin
            .map(|blob| content(service, &field("stdin"), blob))
            .transpose()?,
        args: test.args.iter().map(Into::into).collect(),
        expected: expected
            .map(|blob| bytes(service, &field("expected"), blob))
            .transpose()?,
        comparison: comparison(&field("compare"), test.compare.as_deref())?,
    })
}

/// The comparison with this name.
///
/// # Errors
/// There is no such comparison.
pub fn comparison(field: &str, name: Option<&str>) -> Result<Comparison, Problem> {
    let Some(name) = name else {
        return Ok(Comparison::default());
    };
    let tolerance = name.strip_prefix("float:").map(str::parse::<f64>);
    match (name, tolerance) {
        ("exact", _) => Ok(Comparison::Exact),
        ("trim", _) => Ok(Comparison::Trim),
        ("tokens", _) => Ok(Comparison::Tokens),
        (_, Some(Ok(tolerance))) if tolerance >= 0.0 => Ok(Comparison::Float(tolerance)),
        _ => Err(Problem::impossible(
            field,
            format!("{name:?} is not exact, trim, tokens or float:TOLERANCE"),
        )),
    }
}

/// The bytes of a blob, in memory or in a stored file.
///
/// # Errors
/// The Base64 is not valid, or no such file is stored.
pub fn content(service: &Service, field: &str, blob: &Blob) -> Result<Content, Problem> {
    match blob {
        Blob::Text(text) => Ok(Content::Bytes(text.clone().into())),
        Blob::Base64(text) => BASE64
            .decode(text)
            .map(|bytes| Content::Bytes(bytes.into()))
            .map_err(|error| Problem::impossible(field, format!("invalid Base64: {error}"))),
        Blob::Sha256(digest) => match service.files.open(digest) {
            Ok(Some(file)) => Ok(Content::File(Arc::new(file))),
            Ok(None) => Err(Problem {
                code: "unknown_file".to_owned(),
                kind: "/docs/problems#unknown_file".to_owned(),
                ..Problem::impossible(field, format!("no file {digest} is stored; PUT it first"))
            }),
            Err(error) => Err(StoreError::from(error).into()),
        },
    }
}

/// The bytes of a blob, in memory.
///
/// # Errors
/// The errors of [`content`], or the stored file is too large.
pub fn bytes(service: &Service, field: &str, blob: &Blob) -> Result<Bytes, Problem> {
    match content(service, field, blob)? {
        Content::Bytes(bytes) => Ok(bytes),
        Content::File(file) => {
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if length > service.config.max_body_bytes {
                return Err(Problem::above_limit(
                    field,
                    length as u64,
                    service.config.max_body_bytes as u64,
                ));
            }
            let mut bytes = vec![0; length];
            std::os::unix::fs::FileExt::read_exact_at(&*file, &mut bytes, 0).map_err(|error| {
                Problem::impossible(field, format!("the stored file cannot be read: {error}"))
            })?;
            Ok(bytes.into())
        }
    }
}
