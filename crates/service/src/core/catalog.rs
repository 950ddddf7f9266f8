//! The runtimes: languages that are installed, and programs compiled for them.

mod runtime;

pub use runtime::Runtime;

use super::engine::{Engine, Lane, allowed_cpus};
use super::queue::Refusal;
use millibox::{Figures, Supervisor};
use millibox_languages::cache::Cache;
use millibox_languages::compile::{
    Availability, Compilation, CompileError, InternalError, Options, Toolbox, main_source,
};
use millibox_languages::files::SourceFile as CompiledFile;
use millibox_languages::program::Executable;
use millibox_languages::suite::{Library, Suite, Suites};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The time for which a compilation waits until the libraries of its runtime are compiled. That may
/// take minutes on a busy machine, and happens once for each version of the compiler.
const PREPARING_PATIENCE: Duration = Duration::from_secs(10);
/// Compiled programs that are kept ready to run.
const MAX_PROGRAMS: usize = 256;
/// Scripts that are kept ready to run, by runtime and name of the source.
const MAX_SCRIPTS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Relative, without `..`.
    pub path: PathBuf,
    /// The content.
    pub bytes: bytes::Bytes,
}

/// A program that is ready to run.
#[derive(Debug)]
pub struct Program {
    /// How it is started.
    pub executable: Executable,
    /// Its runtime.
    pub runtime: Arc<Runtime>,
}

/// The result of compiling.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The messages of the compiler.
    pub messages: String,
    /// The figures of the compiler; `None` if none was run.
    pub figures: Option<Figures>,
    /// Whether the program had been compiled before.
    pub from_cache: bool,
    /// The program, or the reason why it is missing.
    pub result: Result<Arc<Program>, CompileError>,
}

/// Limits of a compiler; `None` selects the limit of the runtime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompileLimits {
    pub cpu_time: Option<Duration>,
    pub memory_bytes: Option<u64>,
}

/// Why a runtime cannot be used on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeFault {
    /// Its tools are missing or do not work.
    #[error("{0}")]
    Unavailable(Box<Availability>),
    /// No supervisor runs, so its tools were not tried.
    #[error("the supervisor cannot be started")]
    NoSupervisor,
}

/// Why a request cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// No runtime has this name.
    #[error("the runtime {name:?} is unknown; the installed ones are {}", installed.join(", "))]
    UnknownRuntime {
        /// The requested name.
        name: String,
        /// Names of the installed runtimes.
        installed: Vec<String>,
    },
    /// The runtime cannot be used on this machine.
    #[error("the runtime {name:?} cannot be used here: {fault}")]
    Unavailable {
        /// The runtime.
        name: String,
        /// The reason.
        fault: RuntimeFault,
    },
    /// There is no source.
    #[error("a program needs at least one source file")]
    NoSource,
    /// A path cannot be used.
    #[error("the path {0:?} cannot be used: it must be relative and must not contain `..`")]
    Path(PathBuf),
    /// The supervisor cannot be started.
    #[error("the supervisor cannot be started")]
    NoSupervisor,
    /// The libraries of the runtime are still being compiled.
    #[error(transparent)]
    Preparing(Refusal),
    /// A bug ended the thread that compiled. The field is its message.
    #[error("compiling failed: {0}")]
    Panicked(String),
}

/// Why an interpreted program cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The request is not valid.
    #[error(transparent)]
    Catalog(CatalogError),
    /// The language cannot be used.
    #[error(transparent)]
    Language(CompileError),
    /// No supervisor is running, or the runtime no longer exists.
    #[error("the supervisor cannot be started")]
    NoSupervisor,
}

/// The runtimes and the programs that were compiled. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Catalog {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    engine: Engine,
    suites: Suites,
    cache: Cache,
    runtimes: Vec<Arc<Runtime>>,
    toolbox: Mutex<Option<(Arc<Supervisor>, Arc<Toolbox<'static>>)>>,
    programs: Mutex<Programs>,
    scripts: Mutex<HashMap<(String, PathBuf), Arc<Program>>>,
    /// The libraries that are being compiled.
    preparing: Mutex<HashMap<(String, Library), watch::Receiver<bool>>>,
}

/// Compiled programs by a digest of their inputs, with their order by age, the latest last.
#[derive(Debug, Default)]
struct Programs {
    compiled: HashMap<[u8; 32], Compiled>,
    order: VecDeque<[u8; 32]>,
}

impl CatalogError {
    /// Whether the service is to blame, rather than the request.
    pub fn is_service_failure(&self) -> bool {
        matches!(self, CatalogError::NoSupervisor | CatalogError::Panicked(_))
    }
}

impl Catalog {
    /// Finds out which languages are installed. Blocks until their compilers have reported their
    /// versions.
    pub fn load(engine: &Engine, suites: Suites, cache: Cache) -> Catalog {
        let mut shared = Shared {
            engine: engine.clone(),
            suites,
            cache,
            runtimes: Vec::new(),
            toolbox: Mutex::default(),
            programs: Mutex::default(),
            scripts: Mutex::default(),
            preparing: Mutex::default(),
        };
        let toolbox = shared.toolbox();
        let suites: Vec<&Suite> = shared.suites.iter().collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // A compiler may need seconds to report its version.
        let parts = std::thread::scope(|scope| {
            let part = |suites| {
                let toolbox = toolbox.as_deref();
                scope.spawn(move || runtimes(suites, toolbox))
            };
            let chunk = suites.len().div_ceil(threads).max(1);
            let parts: Vec<_> = suites.chunks(chunk).map(part).collect();
            parts
                .into_iter()
                .flat_map(|part| part.join().expect("a runtime is described without a panic"))
                .collect()
        });
        shared.runtimes = parts;
        Catalog {
            shared: Arc::new(shared),
        }
    }

    /// The suites, and the cache of compiled programs.
    pub fn sources(&self) -> (Suites, Cache) {
        (self.shared.suites.clone(), self.shared.cache.clone())
    }

    /// All runtimes, installed or not.
    pub fn runtimes(&self) -> &[Arc<Runtime>] {
        &self.shared.runtimes
    }

    /// The installed runtime with this name or alias, in any case.
    ///
    /// # Errors
    /// No runtime has this name, or it is not installed.
    pub fn runtime(&self, name: &str) -> Result<Arc<Runtime>, CatalogError> {
        let lower = name.to_lowercase();
        let exact =
            |runtime: &&Arc<Runtime>| runtime.name == lower || runtime.aliases.contains(&lower);
        let found = self.runtimes().iter().find(exact).or_else(|| {
            self.runtimes()
                .iter()
                .find(|runtime| runtime.is_default && runtime.language == lower)
        });
        match found {
            None => Err(CatalogError::UnknownRuntime {
                name: name.to_owned(),
                installed: self
                    .runtimes()
                    .iter()
                    .filter(|runtime| runtime.is_available())
                    .map(|runtime| runtime.name.clone())
                    .collect(),
            }),
            Some(runtime) => match &runtime.version {
                Ok(_) => Ok(runtime.clone()),
                Err(fault) => Err(CatalogError::Unavailable {
                    name: runtime.name.clone(),
                    fault: fault.clone(),
                }),
            },
        }
    }

    /// Compiles sources, or finds the program that was compiled from them before.
    ///
    /// # Errors
    /// The request cannot be compiled. A compiler that rejects the sources is not an error.
    pub async fn compile(
        &self,
        runtime: &Arc<Runtime>,
        sources: Vec<SourceFile>,
        entry: Option<String>,
        limits: CompileLimits,
    ) -> Result<Compiled, CatalogError> {
        if sources.is_empty() {
            return Err(CatalogError::NoSource);
        }
        for source in &sources {
            check_path(&source.path)?;
        }
        let digest = digest(runtime, &sources, entry.as_deref(), limits);
        if let Some(compiled) = self.shared.programs().get(&digest) {
            return Ok(compiled);
        }
        let deadline = Instant::now() + PREPARING_PATIENCE;
        let sources: Arc<[SourceFile]> = sources.into();
        let compiled = loop {
            let (catalog, runtime) = (self.clone(), runtime.clone());
            let (sources, entry) = (sources.clone(), entry.clone());
            let name = runtime.name.clone();
            let compiled = tokio::task::spawn_blocking(move || {
                catalog.compile_blocking(&runtime, &sources, entry, limits)
            })
            .await
            .map_err(|error| CatalogError::Panicked(error.to_string()))??;
            match compiled.result {
                Err(CompileError::Internal(InternalError::NotPrepared { title, library })) => {
                    self.prepare(name, title, library, deadline).await?;
                }
                _ => break compiled,
            }
        };
        if is_lasting(&compiled) {
            self.shared.programs().put(digest, compiled.clone());
        }
        Ok(compiled)
    }

    /// A program of an interpreted language, whose source each run provides as the file `main` of
    /// its working directory. The source is neither checked nor stored. Returns `None` if the
    /// language is compiled.
    ///
    /// # Errors
    /// The program cannot be prepared on this machine.
    pub async fn script(
        &self,
        runtime: &Arc<Runtime>,
        main: &Path,
    ) -> Result<Option<Arc<Program>>, ScriptError> {
        check_path(main).map_err(ScriptError::Catalog)?;
        let key = (runtime.name.clone(), main.to_owned());
        if let Some(program) = self.shared.scripts().get(&key) {
            return Ok(Some(program.clone()));
        }
        let (catalog, main, name) = (self.clone(), main.to_owned(), runtime.name.clone());
        let executable = tokio::task::spawn_blocking(move || {
            let toolbox = catalog.shared.toolbox()?;
            let suite = catalog.shared.suites.named(&name).ok()?;
            Some(toolbox.script(suite, &main))
        })
        .await
        .ok()
        .flatten()
        .ok_or(ScriptError::NoSupervisor)?;
        let Some(executable) = executable.transpose().map_err(ScriptError::Language)? else {
            return Ok(None);
        };
        let program = Arc::new(Program {
            executable,
            runtime: runtime.clone(),
        });
        let mut scripts = self.shared.scripts();
        if scripts.len() >= MAX_SCRIPTS {
            scripts.clear();
        }
        scripts.insert(key, program.clone());
        Ok(Some(program))
    }

    /// The main file among the sources of a program, as a compilation would choose it.
    pub fn main_source<'f>(
        &self,
        runtime: &Runtime,
        sources: &[&'f Path],
        entry: Option<&str>,
    ) -> Option<&'f Path> {
        let suite = self.shared.suites.named(&runtime.name).ok()?;
        let known = |path: &&&Path| suite.compiles(path);
        let mut named: Vec<&Path> = sources.iter().filter(known).copied().collect();
        if named.is_empty() {
            named = sources.to_vec();
        }
        main_source(&named, suite, entry)
    }

    /// Waits until the libraries of a runtime are compiled. The work continues after the deadline.
    async fn prepare(
        &self,
        name: String,
        title: String,
        library: Library,
        deadline: Instant,
    ) -> Result<(), CatalogError> {
        let key = (name, library);
        let mut done = {
            let mut preparing = self.shared.preparing();
            match preparing.get(&key) {
                Some(done) => done.clone(),
                None => {
                    let (sender, done) = watch::channel(false);
                    preparing.insert(key.clone(), done.clone());
                    let catalog = self.clone();
                    tokio::task::spawn_blocking(move || {
                        catalog.prepare_blocking(&key.0, library);
                        catalog.shared.preparing().remove(&key);
                        sender.send_replace(true);
                    });
                    done
                }
            }
        };
        match tokio::time::timeout_at(deadline.into(), done.wait_for(|done| *done)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(CatalogError::Panicked(error.to_string())),
            Err(_) => Err(CatalogError::Preparing(Refusal::Preparing {
                title,
                retry_after: PREPARING_PATIENCE,
            })),
        }
    }

    /// The compilation that waits reports a failure.
    fn prepare_blocking(&self, name: &str, library: Library) {
        let Some(toolbox) = self.shared.toolbox() else {
            return;
        };
        if let Ok(suite) = self.shared.suites.named(name)
            && let Err(error) = toolbox.prepare(suite, library)
        {
            tracing::error!(%error, "a language cannot be prepared");
        }
    }

    fn compile_blocking(
        &self,
        runtime: &Arc<Runtime>,
        sources: &[SourceFile],
        entry: Option<String>,
        limits: CompileLimits,
    ) -> Result<Compiled, CatalogError> {
        let toolbox = self.shared.toolbox().ok_or(CatalogError::NoSupervisor)?;
        let suite = self.shared.suites.named(&runtime.name);
        let suite = suite.map_err(|_| CatalogError::UnknownRuntime {
            name: runtime.name.clone(),
            installed: Vec::new(),
        })?;
        // Compilers see the sources by their paths relative to their common directory.
        let common = common_directory(sources);
        let name = |source: &SourceFile| {
            let name = source.path.strip_prefix(common).unwrap_or(&source.path);
            name.to_owned()
        };
        let files = sources
            .iter()
            .map(|source| CompiledFile::new(name(source), &source.bytes[..]))
            .collect();
        let options = Options {
            cpu_time: limits.cpu_time,
            memory: limits.memory_bytes,
            main: entry,
            arguments: runtime.compiler_arguments.clone(),
            // A compiler with several threads may use all CPUs, unlike a program.
            cpus: allowed_cpus(),
            without_preparing: true,
            ..Options::default()
        };
        let Compilation {
            messages,
            from_cache,
            figures,
            result,
            ..
        } = toolbox.compile_files(suite, files, &options);
        Ok(Compiled {
            messages,
            from_cache,
            figures,
            result: result.map(|executable| {
                Arc::new(Program {
                    executable,
                    runtime: runtime.clone(),
                })
            }),
        })
    }
}

/// Whether the same request would have the same result later.
fn is_lasting(compiled: &Compiled) -> bool {
    matches!(
        compiled.result,
        Ok(_) | Err(CompileError::Refused(_) | CompileError::Limit(_))
    )
}

impl Shared {
    /// The toolbox of the current supervisor.
    fn toolbox(&self) -> Option<Arc<Toolbox<'static>>> {
        let supervisor = self.engine.supervisor(Lane::CpuTime).ok()?;
        let mut current = self.toolbox.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((owner, toolbox)) = current.as_ref()
            && Arc::ptr_eq(owner, &supervisor)
        {
            return Some(toolbox.clone());
        }
        let toolbox = Toolbox::shared(supervisor.clone(), self.suites.clone(), self.cache.clone());
        let toolbox = Arc::new(toolbox);
        *current = Some((supervisor, toolbox.clone()));
        Some(toolbox)
    }

    fn preparing(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<(String, Library), watch::Receiver<bool>>> {
        self.preparing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn scripts(&self) -> std::sync::MutexGuard<'_, HashMap<(String, PathBuf), Arc<Program>>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn programs(&self) -> std::sync::MutexGuard<'_, Programs> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Programs {
    fn get(&self, digest: &[u8; 32]) -> Option<Compiled> {
        let compiled = self.compiled.get(digest)?;
        Some(Compiled {
            from_cache: true,
            ..compiled.clone()
        })
    }

    fn put(&mut self, digest: [u8; 32], compiled: Compiled) {
        if self.compiled.insert(digest, compiled).is_none() {
            self.order.push_back(digest);
        }
        while self.order.len() > MAX_PROGRAMS {
            if let Some(oldest) = self.order.pop_front() {
                self.compiled.remove(&oldest);
            }
        }
    }
}

fn runtimes(suites: &[&Suite], toolbox: Option<&Toolbox<'_>>) -> Vec<Arc<Runtime>> {
    suites
        .iter()
        .map(|suite| Arc::new(runtime(suite, toolbox)))
        .collect()
}

fn runtime(suite: &Suite, toolbox: Option<&Toolbox<'_>>) -> Runtime {
    let availability = toolbox.map(|toolbox| toolbox.availability(suite));
    let remedy = availability.as_ref().and_then(Availability::remedy);
    let remedy = remedy.cloned();
    let version = match availability {
        Some(Availability::Available { version }) => Ok(version),
        Some(other) => Err(RuntimeFault::Unavailable(Box::new(other))),
        None => Err(RuntimeFault::NoSupervisor),
    };
    Runtime::new(suite, version, remedy)
}

/// The deepest directory that contains all sources.
fn common_directory(sources: &[SourceFile]) -> &Path {
    let mut directories = sources.iter().filter_map(|source| source.path.parent());
    let first = directories.next().unwrap_or(Path::new(""));
    directories.fold(first, |common, directory| {
        let contains = |common: &&Path| directory.starts_with(common);
        common.ancestors().find(contains).unwrap_or(Path::new(""))
    })
}

fn check_path(path: &Path) -> Result<(), CatalogError> {
    let is_usable = path
        .components()
        .all(|component| matches!(component, Component::Normal(_)))
        && path.file_name().is_some();
    if is_usable {
        Ok(())
    } else {
        Err(CatalogError::Path(path.to_owned()))
    }
}

fn digest(
    runtime: &Runtime,
    sources: &[SourceFile],
    entry: Option<&str>,
    limits: CompileLimits,
) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(runtime.name.as_bytes());
    part(entry.unwrap_or_default().as_bytes());
    part(format!("{limits:?}").as_bytes());
    part(format!("{:?}", runtime.compiler_arguments).as_bytes());
    for source in sources {
        part(source.path.as_os_str().as_encoded_bytes());
        part(&source.bytes);
    }
    hash.finalize().into()
}
