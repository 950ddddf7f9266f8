//! Runs submissions and turns reports into results.

use super::INTERFACE;
use super::encoding::safe_words;
use super::languages::Kind;
use super::model::{
    COMPILE_CPU_TIME, CPU_EXTRA_TIME, CPU_TIME, Draft, FILE_SIZE, LimitRule, MEMORY, PROCESSES,
    RUNS, STACK, WALL_TIME,
};
use super::project;
use super::status::Status;
use super::submission::Verdict;
use crate::core::catalog::{CompileLimits, Compiled, Runtime, SourceFile};
use crate::core::compare::Comparison;
use crate::core::engine::Lane;
use crate::core::execution::{Content, Excess, ExecutionReport, InputContent, InputFile};
use crate::core::program::{
    Keep, ProgramError, ProgramReport, ProgramRun, ProgramSource, RunLimits, StopOn, Test,
    plain_file,
};
use crate::core::queue::Refusal;
use crate::service::Service;
use crate::tokens::Client;
use bytes::Bytes;
use millibox::Outcome;
use millibox_languages::compile::{CompileError, Limit};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a submission may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(600);
/// The minimum CPU time before a program is killed. The sandbox itself needs some CPU time. A
/// program with a lower limit that reaches this minimum is too slow in any case.
const MIN_CPU_TIME: Duration = Duration::from_millis(1);
/// Extensions of files that C and C++ sources include.
const HEADER_EXTENSIONS: [&str; 6] = ["h", "hh", "hpp", "hxx", "inc", "tcc"];

/// Runs a submission. Calls `started` when it leaves the queue. If the future is dropped, the run
/// is cancelled.
///
/// # Errors
/// The queue did not admit the submission.
pub async fn run(
    service: &Service,
    client: &Client,
    draft: &Draft,
    started: impl FnOnce(),
) -> Result<Verdict, Refusal> {
    let begin = Instant::now();
    let run = program_run(service, client, draft);
    let run = match service.programs.with_script(run).await {
        Ok(run) => run,
        Err(error) => return Ok(Verdict::internal_error(error)),
    };
    let mut compile = project::compile_run(draft, &run);
    if let Some(compile) = &mut compile {
        // Its product is unpacked in memory, and archived for the run.
        let product = project::MAX_PRODUCT_BYTES.saturating_mul(2);
        compile.ticket.held_bytes = compile
            .plan()
            .plus(run.plan().bytes())
            .plus(product)
            .bytes();
    }
    let permit = service
        .programs
        .admit(compile.as_ref().unwrap_or(&run))
        .await?;
    let queued = begin.elapsed();
    started();
    let verdict = match compile {
        None => finish(draft, run_prepared(service, run, queued).await),
        Some(compile) => {
            let compiled = service.run_admitted(INTERFACE, compile, queued).await;
            match project::compiled(compiled) {
                Err(verdict) => *verdict,
                Ok(product) => {
                    let mut run = run;
                    run.files = product.files;
                    let report = service.run_admitted(INTERFACE, run, Duration::ZERO).await;
                    Verdict {
                        compile_output: product.messages,
                        ..finish(draft, report)
                    }
                }
            }
        }
    };
    drop(permit);
    Ok(verdict)
}

/// Runs a submission. Its client does not repeat it, so it waits until its language is prepared.
async fn run_prepared(
    service: &Service,
    run: ProgramRun,
    queued: Duration,
) -> Result<ProgramReport, ProgramError> {
    let begin = Instant::now();
    loop {
        match service.run_admitted(INTERFACE, run.clone(), queued).await {
            Err(ProgramError::Refused(Refusal::Preparing { .. })) if begin.elapsed() < PATIENCE => {
            }
            report => return report,
        }
    }
}

fn finish(draft: &Draft, report: Result<ProgramReport, ProgramError>) -> Verdict {
    match report {
        Ok(report) => verdict(draft, &report),
        Err(error) => Verdict::internal_error(error),
    }
}

/// The run of a submission.
fn program_run(service: &Service, client: &Client, draft: &Draft) -> ProgramRun {
    let config = &service.config.limits.default;
    let seconds = |rule: LimitRule| match draft.limit(rule) {
        // Isolate interprets 0 as no limit.
        0.0 => Duration::from_secs_f64(draft.max(rule)),
        seconds => Duration::from_secs_f64(seconds),
    };
    let kib = |rule: LimitRule| draft.whole_limit(rule) << 10;
    let keep = |into_stdout| Keep {
        max_bytes: kib(FILE_SIZE),
        excess: Excess::End,
        into_stdout,
    };
    let (source, files) = source(draft);
    let arguments = draft.command_line_arguments.as_deref().unwrap_or_default();
    let test = Test {
        id: String::new(),
        stdin: draft.stdin.clone().map(Content::Bytes),
        args: Vec::new(),
        expected: draft.expected_output.clone().map(Content::Bytes),
        comparison: Comparison::Trim,
    };
    let runs = usize::try_from(draft.whole_limit(RUNS)).unwrap_or(1);
    ProgramRun {
        ticket: client.ticket(draft.size(), PATIENCE),
        lane: Lane::CpuTime,
        source,
        args: safe_words(arguments)
            .into_iter()
            .map(OsString::from)
            .collect(),
        env: Vec::new(),
        files,
        tests: vec![test; runs],
        stop_on: StopOn::Failure,
        limits: RunLimits {
            cpu_time: (seconds(CPU_TIME) + Duration::from_secs_f64(draft.limit(CPU_EXTRA_TIME)))
                .max(MIN_CPU_TIME),
            real_time: seconds(WALL_TIME),
            memory_bytes: kib(MEMORY),
            processes: u32::try_from(draft.whole_limit(PROCESSES)).unwrap_or(u32::MAX),
            file_bytes: kib(FILE_SIZE),
            work_bytes: config.files_bytes,
            open_files: config.open_files,
            stack_bytes: match draft.limit(STACK) {
                0.0 => None,
                _ => Some(kib(STACK)),
            },
        },
        outputs: Vec::new(),
        answer_bytes: service.config.requests.answer_bytes,
        keeps_last: true,
        stdout: keep(false),
        stderr: keep(draft.redirect_stderr_to_stdout),
        explained: false,
        observer: None,
    }
}

/// The program to run, and the files beside it.
fn source(draft: &Draft) -> (ProgramSource, Vec<InputFile>) {
    let code = draft.source_code.clone().unwrap_or_default();
    let name = draft.language.source_file.clone().unwrap_or_default();
    // As with `unzip -n`, an additional file does not replace the source.
    let others = draft
        .files
        .iter()
        .filter(|file| file.path != Path::new(&name));
    let command = |words: &[&str]| ProgramSource::Command(words.iter().map(Into::into).collect());
    match &draft.language.kind {
        Kind::PlainText => {
            let mut files: Vec<InputFile> = others.map(project::input_file).collect();
            files.push(plain_file(&name, code));
            (command(&["/bin/cat", &name]), files)
        }
        Kind::Executable => {
            let mut files: Vec<InputFile> = others.map(project::input_file).collect();
            let content = InputContent::File {
                content: Content::Bytes(code),
                mode: 0o755,
            };
            files.push(InputFile {
                path: (&name).into(),
                content,
            });
            (command(&["./a.out"]), files)
        }
        Kind::Project => {
            let script = project::script(&draft.files, "run").unwrap_or("run.sh");
            let files = draft.files.iter().map(project::input_file).collect();
            (command(&["/bin/bash", script]), files)
        }
        Kind::Suite(runtime) => {
            let options = draft.compiler_options.as_deref().map(safe_words);
            let runtime = match options {
                Some(options) => Arc::new(runtime.with_compiler_arguments(options)),
                None => runtime.clone(),
            };
            let mut sources = vec![SourceFile {
                path: (&name).into(),
                bytes: code,
            }];
            let mut files = Vec::new();
            for file in others {
                if is_source(&runtime, &file.path) {
                    sources.push(SourceFile {
                        path: file.path.clone(),
                        bytes: file.bytes.clone(),
                    });
                } else {
                    files.push(project::input_file(file));
                }
            }
            let main = Path::new(&name)
                .file_stem()
                .map(|stem| stem.to_string_lossy());
            let source = ProgramSource::Sources {
                entry: main.filter(|_| sources.len() > 1).map(Into::into),
                runtime,
                files: sources.into_iter().map(Into::into).collect(),
                limits: CompileLimits {
                    cpu_time: Some(COMPILE_CPU_TIME),
                    memory_bytes: None,
                },
                is_checked: false,
            };
            (source, files)
        }
    }
}

/// Whether the compiler or interpreter needs the file.
fn is_source(runtime: &Runtime, path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        runtime.extensions.iter().any(|known| known == extension)
            || (["c", "cpp"].contains(&&*runtime.language)
                && HEADER_EXTENSIONS.contains(&extension))
    })
}

fn verdict(draft: &Draft, report: &ProgramReport) -> Verdict {
    let compile_output = report
        .compiled
        .as_ref()
        .map_or_else(Bytes::new, |compiled| compiled.messages.clone().into());
    if let Some(Compiled {
        result: Err(error), ..
    }) = &report.compiled
    {
        return compile_verdict(error, compile_output);
    }
    let ended: Vec<&ExecutionReport> = report
        .tests
        .iter()
        .filter_map(|test| test.report.as_ref())
        .collect();
    let Some(last) = ended.last() else {
        return Verdict::internal_error("the program was not run");
    };
    let passed = report
        .tests
        .iter()
        .rev()
        .find(|test| test.report.is_some())
        .and_then(|test| test.passed);
    let average = |part: fn(&ExecutionReport) -> f64| {
        ended.iter().map(|report| part(report)).sum::<f64>() / ended.len() as f64
    };
    let cpu_limit = match draft.limit(CPU_TIME) {
        0.0 => draft.max(CPU_TIME),
        limit => limit,
    };
    let end = End::of(last, passed, cpu_limit);
    Verdict {
        status: end.status,
        stdout: last.stdout().bytes.clone(),
        stderr: if draft.redirect_stderr_to_stdout {
            Bytes::new()
        } else {
            last.stderr().bytes.clone()
        },
        // Only languages with a compiler have a field for its messages.
        compile_output: match &draft.language.compile_command {
            Some(_) => compile_output,
            None => Bytes::new(),
        },
        message: end.message,
        time: Some(average(cpu_seconds)),
        wall_time: Some(seconds(last.figures.real_time_ns)),
        memory: Some(average(|report| report.figures.peak_memory_bytes as f64 / 1024.0) as u64),
        exit_code: Some(last.exit_code.unwrap_or(0)),
        exit_signal: end.signal,
    }
}

/// The result of a submission without a program.
pub fn compile_verdict(error: &CompileError, messages: Bytes) -> Verdict {
    match error {
        CompileError::Refused(reason) => Verdict {
            compile_output: if messages.is_empty() {
                reason.to_string().into()
            } else {
                messages
            },
            ..Verdict::new(Status::CompilationError)
        },
        CompileError::Limit(Limit::CpuTime(_) | Limit::RealTime(_)) => Verdict {
            compile_output: Bytes::from_static(b"Compilation time limit exceeded."),
            ..Verdict::new(Status::CompilationError)
        },
        CompileError::Limit(_) => Verdict {
            compile_output: format!("{error}\n").into(),
            ..Verdict::new(Status::CompilationError)
        },
        error => Verdict::internal_error(error),
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64()
}

fn cpu_seconds(report: &ExecutionReport) -> f64 {
    seconds(report.figures.cpu_user_ns + report.figures.cpu_system_ns)
}

/// How a program ended.
struct End {
    status: Status,
    message: Option<String>,
    signal: Option<i32>,
}

impl End {
    /// Maps an outcome as isolate reports it.
    fn of(report: &ExecutionReport, passed: Option<bool>, cpu_limit: f64) -> End {
        const KILL: i32 = 9;
        const FILE_SIZE_EXCEEDED: i32 = 25;
        let end = |status, message: &str, signal| End {
            status,
            message: Some(message.to_owned()),
            signal,
        };
        match &report.outcome {
            Outcome::Exited(0) if cpu_seconds(report) > cpu_limit => {
                end(Status::TimeLimitExceeded, "Time limit exceeded", None)
            }
            Outcome::Exited(0) => End {
                status: match passed {
                    Some(false) => Status::WrongAnswer,
                    _ => Status::Accepted,
                },
                message: None,
                signal: None,
            },
            Outcome::Exited(code) => end(
                Status::NonzeroExitCode,
                &format!("Exited with error status {code}"),
                None,
            ),
            Outcome::Signaled(signal) => end(
                Status::of_signal(*signal),
                &format!("Caught fatal signal {signal}"),
                Some(*signal),
            ),
            Outcome::CpuTimeLimit => end(Status::TimeLimitExceeded, "Time limit exceeded", None),
            Outcome::RealTimeLimit => end(
                Status::TimeLimitExceeded,
                "Time limit exceeded (wall clock)",
                None,
            ),
            Outcome::MemoryLimit => end(Status::OtherError, "Memory limit exceeded", Some(KILL)),
            Outcome::OutputLimit => end(
                Status::FileSizeExceeded,
                "Caught fatal signal 25",
                Some(FILE_SIZE_EXCEEDED),
            ),
            Outcome::NotStarted(error) => end(Status::ExecFormatError, &error.to_string(), None),
            Outcome::SandboxError(error) => end(Status::InternalError, &error.to_string(), None),
            _ => end(Status::InternalError, "the run was ended", None),
        }
    }
}
