//! Turns the request of a run into a run of the core.

use super::model::{Blob, OutputForm, RunRequest, StopOn, TestRequest};
use crate::config::Config;
use crate::core::catalog::{CompileLimits, Runtime};
use crate::core::compare::Comparison;
use crate::core::engine::Lane;
use crate::core::execution::{Content, Excess, InputContent, InputFile, OutputFile};
use crate::core::program::{self, Keep, ProgramRun, ProgramSource, Source, Test};
use crate::http::problem::{self, ProblemDetails};
use crate::service::Service;
use crate::tokens::Client;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MAX_LABEL_BYTES: usize = 256;
const MAX_TESTS: usize = 10_000;
/// The maximum number of returned files, over all tests.
const MAX_OUTPUTS: usize = 100_000;

/// Checks a request and turns it into a run of the core.
///
/// # Errors
/// The request cannot be carried out.
pub fn program_run(
    service: &Service,
    client: &Client,
    request: RunRequest,
    size_bytes: usize,
) -> Result<ProgramRun, ProblemDetails> {
    check_label(request.label.as_deref())?;
    let config = &service.config;
    check_explain(config, &request)?;
    let limits = request
        .limits
        .with_defaults(&config.limits.default, &config.limits.max)?;
    let outputs = request.outputs.len() * request.tests.len().max(1);
    if outputs > MAX_OUTPUTS {
        let (outputs, max) = (outputs as u64, MAX_OUTPUTS as u64);
        return Err(problem::above_limit("outputs", outputs, max));
    }
    let files = Files { service, client };
    let (source, input_files) = source(files, &request)?;
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
        files: input_files,
        tests: tests(files, &request)?,
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
        answer_bytes: config.requests.answer_bytes,
        keeps_last: false,
        stdout: keep,
        stderr: keep,
        explained: request.explain,
        observer: None,
    })
}

/// Checks that a run may be explained. An explanation is large, so a run with many tests would
/// exceed the memory of the service.
fn check_explain(config: &Config, request: &RunRequest) -> Result<(), ProblemDetails> {
    if request.explain && !config.explain {
        let why = "this service does not explain runs; the operator can set `explain = true`";
        return Err(problem::forbidden(why));
    }
    if request.explain && request.tests.len() > 1 {
        let why = "a run that is explained has at most one test";
        return Err(problem::impossible("explain", why));
    }
    Ok(())
}

/// Checks the length of a label.
///
/// # Errors
/// It is too long.
pub fn check_label(label: Option<&str>) -> Result<(), ProblemDetails> {
    if label.is_some_and(|label| label.len() > MAX_LABEL_BYTES) {
        return Err(problem::impossible(
            "label",
            format!("a label may have at most {MAX_LABEL_BYTES} bytes"),
        ));
    }
    Ok(())
}

fn source(
    files: Files<'_>,
    request: &RunRequest,
) -> Result<(ProgramSource, Vec<InputFile>), ProblemDetails> {
    let (runtime, command) = (&request.runtime, &request.command);
    match (runtime, command.is_empty()) {
        (None, true) => Err(problem::impossible(
            "runtime",
            "name a runtime (see /v1/runtimes) or a command",
        )),
        (Some(_), false) => Err(problem::impossible(
            "command",
            "name either a runtime or a command, not both",
        )),
        (None, false) => {
            let command = command.iter().map(Into::into).collect();
            let inputs = request
                .files
                .iter()
                .map(|(path, blob)| input_file(files, path, blob))
                .collect::<Result<_, _>>()?;
            Ok((ProgramSource::Command(command), inputs))
        }
        (Some(name), true) => {
            let runtime = files
                .service
                .programs
                .catalog
                .runtime(name)
                .map_err(|error| ProblemDetails::from(program::ProgramError::from(error)))?;
            let mut sources = Vec::new();
            let mut inputs = Vec::new();
            for (path, blob) in &request.files {
                if is_source(&runtime, path) || request.files.len() == 1 {
                    sources.push(Source {
                        path: path.into(),
                        content: files.content(&format!("files.{path}"), blob)?,
                    });
                } else {
                    inputs.push(input_file(files, path, blob)?);
                }
            }
            let contents = sources.iter().map(|source| &source.content);
            files.check_read("files", contents)?;
            let source = ProgramSource::Sources {
                runtime,
                files: sources,
                entry: request.entry.clone(),
                limits: CompileLimits {
                    cpu_time: request.compile.cpu_ms.map(Duration::from_millis),
                    memory_bytes: request.compile.memory_bytes,
                },
                is_checked: request.compile.check,
            };
            Ok((source, inputs))
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

fn input_file(files: Files<'_>, path: &str, blob: &Blob) -> Result<InputFile, ProblemDetails> {
    let content = files.content(&format!("files.{path}"), blob)?;
    Ok(InputFile {
        path: path.into(),
        content: InputContent::File {
            content,
            mode: 0o755,
        },
    })
}

fn tests(files: Files<'_>, request: &RunRequest) -> Result<Vec<Test>, ProblemDetails> {
    if request.tests.len() > MAX_TESTS {
        let count = request.tests.len() as u64;
        return Err(problem::above_limit("tests", count, MAX_TESTS as u64));
    }
    if request.tests.is_empty() {
        let stdin = request.stdin.as_ref();
        let stdin = stdin.map(|blob| files.content("stdin", blob)).transpose()?;
        return Ok(vec![Test {
            id: "1".to_owned(),
            stdin,
            ..Test::default()
        }]);
    }
    if request.stdin.is_some() {
        return Err(problem::impossible(
            "stdin",
            "name either stdin or tests, not both",
        ));
    }
    let tests = request.tests.iter().enumerate();
    tests
        .map(|(index, test)| one_test(files, index, test))
        .collect()
}

fn one_test(files: Files<'_>, index: usize, test: &TestRequest) -> Result<Test, ProblemDetails> {
    let field = |name: &str| format!("tests[{index}].{name}");
    let stdin = test.stdin.as_ref();
    let expected = test
        .expected
        .as_ref()
        .map(|blob| files.content(&field("expected"), blob))
        .transpose()?;
    files.check_read(&field("expected"), expected.iter())?;
    Ok(Test {
        id: test.id.clone().unwrap_or_else(|| (index + 1).to_string()),
        stdin: stdin
            .map(|blob| files.content(&field("stdin"), blob))
            .transpose()?,
        args: test.args.iter().map(Into::into).collect(),
        expected,
        comparison: comparison(&field("compare"), test.compare.as_deref())?,
    })
}

/// The comparison with this name.
///
/// # Errors
/// There is no such comparison.
pub fn comparison(field: &str, name: Option<&str>) -> Result<Comparison, ProblemDetails> {
    let Some(name) = name else {
        return Ok(Comparison::default());
    };
    let tolerance = name.strip_prefix("float:").map(str::parse::<f64>);
    match (name, tolerance) {
        ("exact", _) => Ok(Comparison::Exact),
        ("trim", _) => Ok(Comparison::Trim),
        ("tokens", _) => Ok(Comparison::Tokens),
        (_, Some(Ok(tolerance))) if tolerance >= 0.0 => Ok(Comparison::Float(tolerance)),
        _ => Err(problem::impossible(
            field,
            format!("{name:?} is not exact, trim, tokens or float:TOLERANCE"),
        )),
    }
}

/// The files that the requests of a client can refer to.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    pub service: &'a Service,
    pub client: &'a Client,
}

impl Files<'_> {
    /// The bytes of a blob, in memory or in a stored file. A stored file is neither opened nor read
    /// before the request is admitted.
    ///
    /// # Errors
    /// The Base64 is not valid, or the client has no such file.
    pub fn content(self, field: &str, blob: &Blob) -> Result<Content, ProblemDetails> {
        match blob {
            Blob::Text(text) => Ok(Content::Bytes(text.clone().into())),
            Blob::Base64(text) => BASE64
                .decode(text)
                .map(|bytes| Content::Bytes(bytes.into()))
                .map_err(|error| problem::impossible(field, format!("invalid Base64: {error}"))),
            Blob::Sha256(digest) => {
                let file = self.service.files.find(self.client, digest);
                file.map(Content::Stored).ok_or_else(|| ProblemDetails {
                    code: "unknown_file".to_owned(),
                    kind: "/docs/problems#unknown_file".to_owned(),
                    ..problem::impossible(
                        field,
                        format!("this client has stored no file {digest}; PUT it first"),
                    )
                })
            }
        }
    }

    /// Checks that contents which are read into memory are small enough together.
    ///
    /// # Errors
    /// They are too large.
    pub fn check_read<'c>(
        self,
        field: &str,
        contents: impl Iterator<Item = &'c Content>,
    ) -> Result<(), ProblemDetails> {
        let bytes = contents.map(Content::bytes).fold(0, u64::saturating_add);
        let max_bytes = self.service.config.max_body_bytes as u64;
        if bytes > max_bytes {
            return Err(problem::above_limit(field, bytes, max_bytes));
        }
        Ok(())
    }
}
