//! The stages of a job, and the request `/execute`.

use super::Piston;
use super::collect::Collect;
use super::constraints::StageLimits;
use super::error::{Failure, JobError};
use super::model::{Answer, Job, JobFile, Stage};
use super::observer::{Observer, StageExecution};
use super::packages::{Package, SUBMISSION_DIRECTORY, Script};
use super::runtimes::Source;
use super::{Authorized, INTERFACE, JsonBody};
use crate::core::budget::Budget;
use crate::core::catalog::{self, CompileLimits, Program, SourceFile};
use crate::core::engine::Lane;
use crate::core::execution::{
    Blame, Content, Execution, ExecutionLimits, Input, InputContent, InputFile, OutputFile,
    Streams, WHOLE_DIRECTORY,
};
use crate::core::plan::Plan;
use crate::core::program::{
    ENVIRONMENT, plain_file, usual_world, with_temporary_directory, work_directory_at,
};
use crate::core::queue::{Permit, Ticket};
use crate::http::headers::RunHeaders;
use crate::http::held::hold;
use crate::service::Service;
use crate::tokens::Client;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time that a job may spend in the queue and in its stages. Clients wait 30 s for an answer
/// (open-r1).
const CLIENT_PATIENCE: Duration = Duration::from_secs(28);
/// The time that every job may spend in the queue, however long its stages are.
const MIN_PATIENCE: Duration = Duration::from_secs(10);
/// The memory of a job's output for each byte of its limit: two streams and both together, as
/// bytes, as text and in the answer, which may need several bytes for each.
const OUTPUT_COPIES: u64 = 24;
/// Extensions of files that sources include.
const HEADER_EXTENSIONS: [&str; 8] = ["h", "hh", "hpp", "hxx", "H", "inc", "ipp", "tcc"];

/// Executes a program: `POST /execute`. If the client disconnects, the job is cancelled.
pub(super) async fn execute(
    State(piston): State<Arc<Piston>>,
    Authorized(client): Authorized,
    JsonBody { body, size_bytes }: JsonBody,
) -> Result<Response, Failure> {
    let Piston { service, runtimes } = &*piston;
    let job = Job::read(&body, runtimes, &service.config.limits).map_err(JobError::from)?;
    drop(body);
    let begin = Instant::now();
    let answered = async {
        let permit = admit(service, &client, &job, size_bytes).await?;
        let queued = begin.elapsed();
        let answer = run_stages(service, &job, &mut Collect).await;
        let held = permit.into_held();
        let answer = answer?;
        observe(service, queued, &answer);
        Ok((answer, queued, held))
    };
    let (answer, queued, held) = answered
        .await
        .inspect_err(|error: &JobError| count_failure(service, error))?;
    let headers = RunHeaders {
        id: None,
        outcome: answer.run.outcome,
        queued: Some(queued),
    };
    let mut response = Json(answer).into_response();
    headers.add_to(response.headers_mut());
    Ok(hold(response, held))
}

/// The memory of the service that a job needs: its files, their archive, the output of its stages,
/// and the files that the compile stage of a package leaves, which are archived twice.
fn held_bytes(service: &Service, job: &Job, size_bytes: usize) -> u64 {
    let files = job.files.iter().map(|file| file.content.len() as u64);
    let files = files.fold(0, u64::saturating_add);
    let product = match &job.runtime.source {
        Source::Package(package) if package.has_compile => {
            service.config.limits.default.files_bytes.saturating_mul(2)
        }
        _ => 0,
    };
    Plan::default()
        .plus(size_bytes as u64)
        .plus(files.saturating_mul(2))
        .plus(output_bytes(service, job).saturating_mul(OUTPUT_COPIES))
        .plus(product)
        .bytes()
}

/// Waits until the job may run.
pub(super) async fn admit(
    service: &Service,
    client: &Client,
    job: &Job,
    size_bytes: usize,
) -> Result<Permit, JobError> {
    let (compile, run) = (&job.constraints.compile, &job.constraints.run);
    let mut memory_bytes = run.memory_or_default();
    let mut busy = run.real_time;
    if job.runtime.is_compiled() {
        busy += compile.real_time;
        if matches!(job.runtime.source, Source::Package(_)) {
            memory_bytes = memory_bytes.max(compile.memory_or_default());
        }
    }
    let patience = CLIENT_PATIENCE.saturating_sub(busy).max(MIN_PATIENCE);
    let patience = patience.min(Duration::from_millis(service.config.queue.wait_ms));
    let queue = &service.programs.queue;
    let ticket = Ticket {
        lane: Lane::RealTime,
        memory_bytes,
        held_bytes: held_bytes(service, job, size_bytes).min(queue.bounds().max_charge()),
        ..client.ticket(size_bytes, patience)
    };
    Ok(queue.admit(ticket).await?)
}

/// Records the time that a job has waited, and that of its compile stage.
pub(super) fn observe(service: &Service, queued: Duration, answer: &Answer) {
    let compile = answer.compile.as_ref().and_then(|stage| stage.wall_time);
    let setup = Duration::from_millis(compile.unwrap_or_default());
    service.metrics.observe_admission(queued, setup);
}

/// Counts a job without a result, and logs it if the service is at fault.
pub(super) fn count_failure(service: &Service, error: &JobError) {
    match error {
        JobError::Refused(_) => service.metrics.count_refusal(INTERFACE),
        JobError::Request(_) | JobError::Path(_) | JobError::Catalog(_) => {}
        JobError::Execution(error) if error.blame() == Blame::Request => {}
        error => {
            tracing::error!(%error, interface = INTERFACE, "the service failed");
            service.metrics.count_service_error();
        }
    }
}

/// Compiles and runs a program.
pub(super) async fn run_stages(
    service: &Service,
    job: &Job,
    observer: &mut impl Observer,
) -> Result<Answer, JobError> {
    let answer = |compile: Option<Stage>, run: Stage| Answer {
        compile,
        run,
        language: job.runtime.language.clone(),
        version: job.runtime.version.to_string(),
    };
    let files = input_files(job)?;
    // The files of a program exist only as long as the program. Another job may replace the program
    // in the catalog if both compile the same sources.
    let (compile, execution, _program) = match &job.runtime.source {
        Source::Suite(runtime) => match script(service, job, runtime).await? {
            Some((program, main)) => {
                let files = files.into_iter().chain([main]).collect();
                let execution = suite_execution(service, job, &program, files);
                (None, prepared(execution, &program), Some(program))
            }
            None => match compile_suite(service, job, runtime, observer).await? {
                (compile, Some(program)) => {
                    let execution = suite_execution(service, job, &program, files);
                    (Some(compile), execution, Some(program))
                }
                (compile, None) => return Ok(answer(Some(compile.clone()), compile)),
            },
        },
        Source::Package(package) => {
            match compile_package(service, job, package, files, observer).await? {
                PackageProgram::Ready { compile, files } => {
                    let args = run_args(job);
                    let limits = &job.constraints.run;
                    let execution =
                        package_execution(service, job, package, Script::Run, args, files, limits);
                    (compile, execution, None)
                }
                PackageProgram::Failed(stage) => return Ok(answer(Some(stage.clone()), stage)),
            }
        }
    };
    observer.begin("run").await?;
    let (run, _) = observer
        .execute(
            service,
            StageExecution {
                execution: Execution {
                    streams: Streams {
                        stdin: Input::Content(Content::Bytes(job.stdin.clone())),
                        ..Streams::default()
                    },
                    ..execution
                },
                output_bytes: output_bytes(service, job),
                is_interactive: true,
            },
        )
        .await?;
    observer.end("run", &run).await?;
    Ok(answer(compile, run))
}

/// The program of an interpreted language, and its main source. As in Piston, the sources are in
/// the working directory, and the interpreter reports a syntax error in the run stage. Returns
/// `None` if the language is compiled.
async fn script(
    service: &Service,
    job: &Job,
    runtime: &Arc<catalog::Runtime>,
) -> Result<Option<(Arc<Program>, InputFile)>, JobError> {
    if runtime.is_compiled {
        return Ok(None);
    }
    let Some(source) = main_source(job, runtime)? else {
        return Ok(None);
    };
    let script = service
        .programs
        .catalog
        .script(runtime, &source.path)
        .await?;
    Ok(script.map(|program| (program, plain_file(source.path, source.bytes))))
}

/// The execution as a copy of the interpreter that was started for all scripts of the language.
fn prepared(execution: Execution, program: &Program) -> Execution {
    let prepare = program.executable.prepare.clone();
    let prepared = prepare.and_then(|prepare| {
        let env = execution.env.iter();
        let prepare = env.fold(prepare, |prepare, (name, value)| prepare.env(name, value));
        execution.world.prepare(&prepare).ok()
    });
    Execution {
        prepared,
        ..execution
    }
}

/// Compiles for a language of the service. There is no program if the compiler rejects the sources.
async fn compile_suite(
    service: &Service,
    job: &Job,
    runtime: &Arc<catalog::Runtime>,
    observer: &mut impl Observer,
) -> Result<(Stage, Option<Arc<Program>>), JobError> {
    observer.begin("compile").await?;
    let limits = &job.constraints.compile;
    let limits = CompileLimits {
        cpu_time: Some(limits.cpu_time.min(limits.real_time)),
        memory_bytes: limits.memory_bytes,
    };
    let (sources, entry) = suite_sources(job, runtime)?;
    let compiled = service
        .programs
        .catalog
        .compile(runtime, sources, Some(entry), limits)
        .await?;
    let stage = Stage::of_compiled(&compiled)?;
    observer.show(&stage).await?;
    observer.end("compile", &stage).await?;
    Ok((stage, compiled.result.ok()))
}

/// The first text file. It is renamed if its name does not show the language, such as the name
/// `file0.code` of a file without a name.
fn main_source(job: &Job, runtime: &catalog::Runtime) -> Result<Option<SourceFile>, JobError> {
    let Some(file) = job.files.iter().find(|file| file.is_text) else {
        return Ok(None);
    };
    let path = file.path()?;
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is_known = extension.is_some_and(|known| runtime.extensions.iter().any(|it| it == known));
    Ok(Some(SourceFile {
        path: if is_known {
            path
        } else {
            runtime.file_name.clone().into()
        },
        bytes: file.content.clone(),
    }))
}

/// The sources for the compiler, and the name of the main one.
fn suite_sources(
    job: &Job,
    runtime: &catalog::Runtime,
) -> Result<(Vec<SourceFile>, String), JobError> {
    let is_source = |path: &Path| {
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy());
        extension.is_some_and(|extension| {
            runtime.extensions.iter().any(|known| *known == extension)
                || HEADER_EXTENSIONS.contains(&&extension[..])
        })
    };
    let mut sources: Vec<SourceFile> = main_source(job, runtime)?.into_iter().collect();
    let main = sources.first().map(|main| main.path.clone());
    let first = job.files.iter().position(|file| file.is_text);
    for (index, file) in job.files.iter().enumerate() {
        let path = file.path()?;
        let is_main = Some(index) == first || Some(&path) == main.as_ref();
        if is_main || !(file.is_text && is_source(&path)) {
            continue;
        }
        // If several files have the same name, the last one wins, as on a disk. The main source is
        // an exception.
        sources.retain(|known| known.path != path);
        sources.push(SourceFile {
            path,
            bytes: file.content.clone(),
        });
    }
    // The compiler sees the paths of the sources relative to their common directory.
    let common = common_directory(&sources);
    let main = main.unwrap_or_default();
    let entry = main.strip_prefix(common).unwrap_or(&main);
    let entry = entry.to_string_lossy().into_owned();
    Ok((sources, entry))
}

/// The directory that contains all sources.
fn common_directory(sources: &[SourceFile]) -> PathBuf {
    let mut parents = sources.iter().filter_map(|source| source.path.parent());
    let first = parents.next().map(Path::to_owned).unwrap_or_default();
    parents.fold(first, |common, parent| {
        let same = common.components().zip(parent.components());
        same.take_while(|(one, two)| one == two)
            .map(|(one, _)| one)
            .collect()
    })
}

fn suite_execution(
    service: &Service,
    job: &Job,
    program: &Program,
    files: Vec<InputFile>,
) -> Execution {
    let limits = &job.constraints.run;
    let memory_bytes = limits.memory_or_default();
    let executable = &program.executable;
    let command = executable.command(memory_bytes);
    let mut argv = command.argv;
    argv.extend(job.args.iter().map(OsString::from));
    let work_bytes = service.config.limits.default.files_bytes;
    let mut execution_limits = execution_limits(service, job, limits);
    execution_limits.memory_bytes = memory_bytes.checked_add(executable.memory);
    execution_limits.processes = execution_limits
        .processes
        .saturating_add(executable.processes);
    Execution {
        program: argv.first().cloned().unwrap_or_default(),
        argv,
        env: environment(job, &command.env),
        world: usual_world(
            with_temporary_directory(executable.world.clone(), work_bytes)
                .mount(work_directory_at(SUBMISSION_DIRECTORY, work_bytes)),
            execution_limits.memory_bytes,
        ),
        prepared: None,
        explained: false,
        current_dir: SUBMISSION_DIRECTORY.into(),
        files,
        files_bytes: service.config.limits.default.files_bytes,
        streams: Streams::default(),
        outputs: Vec::new(),
        budget: Budget::new(u64::MAX),
        limits: execution_limits,
    }
}

enum PackageProgram {
    Ready {
        compile: Option<Stage>,
        files: Vec<InputFile>,
    },
    Failed(Stage),
}

/// Runs the script `compile` of a package, if there is one. The run stage uses the files that it
/// leaves.
async fn compile_package(
    service: &Service,
    job: &Job,
    package: &Package,
    files: Vec<InputFile>,
    observer: &mut impl Observer,
) -> Result<PackageProgram, JobError> {
    if !package.has_compile {
        return Ok(PackageProgram::Ready {
            compile: None,
            files,
        });
    }
    observer.begin("compile").await?;
    let args = job
        .sources()
        .map(|file| OsString::from(&file.name))
        .collect();
    let limits = &job.constraints.compile;
    let mut execution =
        package_execution(service, job, package, Script::Compile, args, files, limits);
    execution.outputs.push(OutputFile {
        path: WHOLE_DIRECTORY.into(),
        // The size of the directory does not include the headers of the archive.
        max_bytes: service.config.limits.default.files_bytes.saturating_mul(2),
        truncate: false,
    });
    let (stage, report) = observer
        .execute(
            service,
            StageExecution {
                execution,
                output_bytes: output_bytes(service, job),
                is_interactive: false,
            },
        )
        .await?;
    observer.end("compile", &stage).await?;
    if !stage.has_succeeded() {
        return Ok(PackageProgram::Failed(stage));
    }
    let mut files = Vec::new();
    for returned in report.into_iter().flat_map(|report| report.outputs) {
        if let Some(error) = returned.error {
            return Err(JobError::Product(error));
        }
        files.push(InputFile {
            path: WHOLE_DIRECTORY.into(),
            content: InputContent::Archive(returned.bytes),
        });
    }
    Ok(PackageProgram::Ready {
        compile: Some(stage),
        files,
    })
}

fn package_execution(
    service: &Service,
    job: &Job,
    package: &Package,
    script: Script,
    args: Vec<OsString>,
    files: Vec<InputFile>,
    limits: &StageLimits,
) -> Execution {
    let argv = package.argv(script, args);
    let limits = execution_limits(service, job, limits);
    let world = package.world(service.config.limits.default.files_bytes);
    Execution {
        program: argv.first().cloned().unwrap_or_default(),
        argv,
        env: environment(job, package.variables()),
        world: usual_world(world, limits.memory_bytes),
        prepared: None,
        explained: false,
        current_dir: SUBMISSION_DIRECTORY.into(),
        files,
        files_bytes: service.config.limits.default.files_bytes,
        streams: Streams::default(),
        outputs: Vec::new(),
        budget: Budget::new(u64::MAX),
        limits,
    }
}

/// The arguments of the script `run`: the main file and those of the program.
fn run_args(job: &Job) -> Vec<OsString> {
    let main = job.sources().next().map(|file| OsString::from(&file.name));
    main.into_iter()
        .chain(job.args.iter().map(OsString::from))
        .collect()
}

/// The environment of a stage. Variables of `more` replace others of the same name.
fn environment(job: &Job, more: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let piston = [("HOME", "/tmp"), ("PISTON_LANGUAGE", &job.runtime.language)];
    let mut env: Vec<(OsString, OsString)> = Vec::new();
    let given = ENVIRONMENT.into_iter().chain(piston);
    let given = given.map(|(name, value)| (name.into(), value.into()));
    for (name, value) in given.chain(more.iter().cloned()) {
        env.retain(|(known, _)| *known != name);
        env.push((name, value));
    }
    env
}

fn input_files(job: &Job) -> Result<Vec<InputFile>, JobError> {
    let input = |file: &JobFile| Ok(plain_file(file.path()?, file.content.clone()));
    job.files.iter().map(input).collect()
}

fn output_bytes(service: &Service, job: &Job) -> u64 {
    let overrides = &job.runtime.overrides;
    let default = service.config.limits.default.output_bytes;
    overrides.output_max_size.unwrap_or(default)
}

fn execution_limits(service: &Service, job: &Job, limits: &StageLimits) -> ExecutionLimits {
    let default = &service.config.limits.default;
    let overrides = &job.runtime.overrides;
    ExecutionLimits {
        cpu_time: Some(limits.cpu_time),
        real_time: Some(limits.real_time),
        memory_bytes: Some(limits.memory_or_default()),
        processes: overrides.max_process_count.unwrap_or(default.processes),
        file_bytes: Some(overrides.max_file_size.unwrap_or(default.files_bytes)),
        open_files: Some(overrides.max_open_files.unwrap_or(default.open_files)),
        stack_bytes: None,
        address_space_bytes: None,
        data_bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LimitsConfig;
    use crate::dialects::piston::runtimes::Runtimes;
    use crate::dialects::piston::runtimes::tests::suite;
    use serde_json::json;

    fn sources(files: serde_json::Value) -> (Vec<String>, String) {
        let runtime = suite("cpp20", "12.2.0");
        let runtimes = Runtimes::new(std::slice::from_ref(&runtime), &[]);
        let body = json!({ "language": "c++", "version": "*", "files": files });
        let body = body.as_object().unwrap();
        let job = Job::read(body, &runtimes, &LimitsConfig::default()).unwrap();
        let (sources, main) = suite_sources(&job, &runtime).unwrap();
        let paths = sources
            .iter()
            .map(|source| source.path.display().to_string());
        (paths.collect(), main)
    }

    #[test]
    fn main_source_has_a_name_of_its_language() {
        let (paths, main) = sources(json!([{ "content": "" }]));
        assert_eq!(
            (paths, &main[..]),
            (vec!["main.cpp".to_owned()], "main.cpp")
        );
        let (paths, main) = sources(json!([
            { "content": "00", "encoding": "hex", "name": "first.bin" },
            { "content": "", "name": "src/a.cpp" },
            { "content": "", "name": "b.cpp" },
            { "content": "", "name": "b.cpp" },
            { "content": "", "name": "b.h" },
            { "content": "", "name": "data.txt" },
        ]));
        assert_eq!(paths, ["src/a.cpp", "b.cpp", "b.h"]);
        assert_eq!(main, "src/a.cpp");
        let (_, main) = sources(json!([
            { "content": "", "name": "a/b/x.cpp" },
            { "content": "", "name": "a/c.cpp" },
        ]));
        assert_eq!(main, "b/x.cpp");
        let (paths, main) = sources(json!([
            { "content": "" },
            { "content": "", "name": "main.cpp" },
        ]));
        assert_eq!((paths.len(), &main[..]), (1, "main.cpp"));
    }
}
