//! The service: everything that the interfaces share.

use crate::config::Config;
use crate::core::Stage;
use crate::core::catalog::Catalog;
use crate::core::engine::Engine;
use crate::core::files::{FileStore, StoreBounds};
use crate::core::program::{
    Attachment, ProgramError, ProgramReport, ProgramRun, Programs, command_world,
};
use crate::core::queue::{Bounds, ClientId, Queue};
use crate::core::share::{Bound, Pool};
use crate::memory::available_bytes;
use crate::metrics::Metrics;
use crate::tokens::Tokens;
use millibox::{
    Backend, BackendRefusal, Builder, Outcome, Request, RunResult, Supervisor, Warning,
};
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use rustix::fs::StatVfsMountFlags;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of simultaneous runs for each CPU, for runs that are limited by real time.
const REAL_SLOTS_PER_CPU: usize = 8;

/// Maximum number of descriptors of interactive requests that wait or run.
const MAX_DESCRIPTORS: u64 = 4096;

/// The time limit of the trial run at the start, which usually takes milliseconds. A machine that
/// needs longer is overloaded, but it may still be able to run programs.
const TRIAL_TIME_LIMIT: Duration = Duration::from_secs(10);

/// The service. It is shared by all interfaces.
#[derive(Debug)]
pub struct Service {
    /// The configuration.
    pub config: Config,
    /// Admits, compiles and executes programs.
    pub programs: Programs,
    /// Stored files.
    pub files: FileStore,
    /// Connections that stay open, such as event streams and WebSockets. They are at most half of
    /// all connections, so that requests always find one.
    pub streams: Pool<ClientId>,
    /// Bytes of bodies that are being read, or whose requests wait or run.
    pub bodies: Pool<ClientId>,
    /// Descriptors of interactive requests, which need them before they are admitted.
    pub descriptors: Pool<ClientId>,
    /// Figures for Prometheus.
    pub metrics: Metrics,
    /// Clients that may use the service.
    pub tokens: Tokens,
    /// The backend that limits the runs.
    pub backend: Backend,
    /// The time at which the service started.
    pub started: Instant,
}

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The sandbox cannot be started.
    #[error(transparent)]
    Sandbox(#[from] millibox::Error),
    /// No cgroups can be used, and the caller did not choose the weaker backend.
    #[error(
        "no cgroups can be used, so memory, processes and CPU time of runs cannot be limited ({}); \
         see `millibox doctor`, or limit single processes instead with --backend rlimit",
        list(.declined)
    )]
    NoCgroups {
        /// The reasons why better backends were not chosen.
        declined: Vec<BackendRefusal>,
    },
    /// The sandbox has started, but no program can be run in the world that all runs use.
    #[error("no program can be run here: {0}; see `millibox doctor`")]
    NoRun(RunResult),
    /// Compiled programs could not be executed.
    #[error(
        "compiled programs are executed from the directory for temporary files, and {} is on a \
         file system that forbids it (noexec); mount it with exec, or set TMPDIR to another \
         directory", .0.display()
    )]
    NoExec(PathBuf),
    /// A suite file contains errors.
    #[error(transparent)]
    Suites(#[from] millibox_languages::suite::Faults),
    /// The file store cannot be created.
    #[error("cannot create the file store: {0}")]
    Files(std::io::Error),
    /// The machine's CPUs are not known.
    #[error("cannot determine {what}: {error}")]
    Machine {
        /// The fact that cannot be determined.
        what: &'static str,
        /// The kernel's error.
        error: std::io::Error,
    },
}

/// Joins values with semicolons.
fn list(values: &[BackendRefusal]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    values.join("; ")
}

impl Service {
    /// Starts the sandbox and finds the installed languages. Blocks. Without `stage`, runs with
    /// files fail.
    ///
    /// # Errors
    /// The sandbox does not start, or a part of the configuration cannot be used.
    pub fn start(
        config: Config,
        builder: &Builder,
        cache: Cache,
        stage: Option<Stage>,
    ) -> Result<Arc<Service>, StartError> {
        let suites = match &config.suites {
            Some(directory) => Suites::with_directory(directory)?,
            None => Suites::builtin(),
        };
        let suites = match &config.languages {
            Some(languages) => suites.with_languages(languages),
            None => suites,
        };
        let cpus = std::thread::available_parallelism()
            .map_err(|error| StartError::Machine {
                what: "the number of CPUs",
                error,
            })?
            .get();
        let or_default = |value: usize, default: usize| if value == 0 { default } else { value };
        let cpu_slots = or_default(config.running.cpu_slots, cpus);
        let real_slots = or_default(
            config.running.real_slots,
            (cpus * REAL_SLOTS_PER_CPU).min(Builder::MAX_SLOTS),
        );
        let memory_bytes = match config.running.memory_bytes {
            0 => available_bytes() / 4 * 3,
            bytes => bytes,
        };
        let tokens = Tokens::new(&config.token);
        let is_divided = tokens.are_several();
        let share_of = |total| Bound { total, is_divided };
        let store = StoreBounds {
            bytes: share_of(config.files.max_bytes),
            keep: Duration::from_secs(config.files.keep_s),
            heir: tokens.only_client(),
        };
        let files = FileStore::new(config.files.directory.clone(), store);
        let files = files.map_err(StartError::Files)?;
        let engine = Engine::start(builder, cpu_slots, real_slots, stage)?;
        let supervisor = engine.supervisor(crate::core::engine::Lane::CpuTime)?;
        for warning in supervisor.info().warnings() {
            if let Warning::NoCgroups { declined } = warning {
                let declined = declined.clone();
                return Err(StartError::NoCgroups { declined });
            }
        }
        let backend = supervisor.info().backend();
        try_run(&supervisor)?;
        check_temporary_directory(&std::env::temp_dir())?;
        let catalog = Catalog::load(&engine, suites, cache);
        let queue = Queue::new(Bounds {
            cpu_time: cpu_slots,
            real_time: real_slots,
            memory_bytes,
            queued: config.queue.max_requests,
            queued_bytes: config.queue.max_bytes,
            held_bytes: config.requests.held_bytes(),
            is_divided,
        });
        Ok(Arc::new(Service {
            streams: Pool::new(share_of(config.max_connections as u64 / 2)),
            descriptors: Pool::new(share_of(MAX_DESCRIPTORS)),
            bodies: Pool::new(share_of(config.queue.max_bytes)),
            tokens,
            programs: Programs {
                engine,
                catalog,
                queue,
            },
            files,
            metrics: Metrics::new(),
            backend,
            started: Instant::now(),
            config,
        }))
    }

    /// Runs a program for an interface, and counts its executions.
    ///
    /// # Errors
    /// The errors of [`Programs::run`].
    pub async fn run(
        &self,
        interface: &str,
        run: ProgramRun,
    ) -> Result<ProgramReport, ProgramError> {
        self.run_attached(interface, run, None).await
    }

    /// Runs a program that is connected to a client.
    ///
    /// # Errors
    /// The errors of [`Programs::run`].
    pub async fn run_attached(
        &self,
        interface: &str,
        run: ProgramRun,
        attachment: Option<Attachment>,
    ) -> Result<ProgramReport, ProgramError> {
        let result = self.programs.run_attached(run, attachment).await;
        self.count(interface, &result);
        result
    }

    /// Runs a program for which the interface holds a permit, and counts its outcomes.
    ///
    /// # Errors
    /// The errors of [`Programs::run_admitted`].
    pub async fn run_admitted(
        &self,
        interface: &str,
        run: ProgramRun,
        queued: Duration,
    ) -> Result<ProgramReport, ProgramError> {
        let result = self.programs.run_admitted(run, queued).await;
        self.count(interface, &result);
        result
    }

    fn count(&self, interface: &str, result: &Result<ProgramReport, ProgramError>) {
        match result {
            Ok(report) => {
                self.metrics.observe_admission(report.queued, report.setup);
                for test in report.tests.iter().filter_map(|test| test.report.as_ref()) {
                    self.metrics.count_execution(interface, test);
                }
            }
            Err(ProgramError::Refused(_)) => self.metrics.count_refusal(interface),
            Err(error) => {
                if error.blame() == crate::core::execution::Blame::Service {
                    tracing::error!(%error, interface, "the service failed");
                    self.metrics.count_service_error();
                }
            }
        }
    }
}

/// Runs a program in the world that all runs use. A container may allow namespaces and cgroups but
/// forbid a part of that world. The operator then sees the error at the start, before any client
/// does.
fn try_run(supervisor: &Supervisor) -> Result<(), StartError> {
    let request = Request::new("/bin/sh")
        .args(["-c", ":"])
        .world(&command_world())
        .real_time_limit(TRIAL_TIME_LIMIT);
    let result = supervisor.run(&request)?.wait()?;
    match result.outcome {
        Outcome::NotStarted(_) | Outcome::SandboxError(_) => Err(StartError::NoRun(result)),
        _ => Ok(()),
    }
}

/// Checks that programs in the directory can be executed. Containers often mount a tmpfs at /tmp
/// that forbids execution.
fn check_temporary_directory(directory: &Path) -> Result<(), StartError> {
    match rustix::fs::statvfs(directory) {
        Ok(file_system) if file_system.f_flag.contains(StatVfsMountFlags::NOEXEC) => {
            Err(StartError::NoExec(directory.to_owned()))
        }
        // The step that needs the directory reports other errors.
        _ => Ok(()),
    }
}
