//! The context of every experiment.

use crate::{Error, Machine};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use millibox::{Backend, Builder, Request, Supervisor};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The ratio of real-time limits to CPU-time limits.
const REAL_TIME_FACTOR: u32 = 12;

/// The amount of measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// A short test that everything works. The figures are meaningless.
    Smoke,
    /// All experiments together take less than ten minutes.
    #[default]
    Short,
    /// As much as in the papers.
    Full,
}

impl Scale {
    /// Returns one of three values, by the scale.
    pub fn pick<T>(self, smoke: T, short: T, full: T) -> T {
        match self {
            Scale::Smoke => smoke,
            Scale::Short => short,
            Scale::Full => full,
        }
    }
}

impl std::fmt::Display for Scale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.pick("smoke", "short", "full"))
    }
}

/// Options of a lab.
#[derive(Debug, Clone)]
pub struct Options {
    /// The options with which supervisors are started.
    pub builder: Builder,
    /// The amount of measurement.
    pub scale: Scale,
    /// The time for each table of alternating variants; `None` means the scale's time.
    pub budget: Option<Duration>,
    /// The seed for the order of variants and for bootstraps.
    pub seed: u64,
    /// The executables of other sandboxes by name, used instead of those on PATH.
    pub peers: BTreeMap<String, PathBuf>,
    /// The executable of the command `millibox`, which `peers` measures in addition to the library.
    pub millibox: Option<PathBuf>,
    /// The command line, for reports.
    pub command: String,
    /// Whether to show progress on standard error.
    pub progress: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            builder: Builder::default(),
            scale: Scale::default(),
            budget: None,
            seed: 1,
            peers: BTreeMap::new(),
            millibox: None,
            command: "millibox-lab".to_owned(),
            progress: true,
        }
    }
}

impl Options {
    /// Options for tests, with the smallest scale and without progress.
    pub fn quiet() -> Options {
        Options {
            scale: Scale::Smoke,
            progress: false,
            ..Options::default()
        }
    }
}

/// The context of every experiment.
#[derive(Debug)]
pub struct Lab {
    options: Options,
    directory: tempfile::TempDir,
    backend: Backend,
    declined: Vec<millibox::BackendRefusal>,
    machine: Machine,
}

impl Lab {
    /// Creates a lab with a directory that is removed on drop, and inspects the machine. To do so,
    /// it starts and ends a supervisor.
    ///
    /// # Errors
    /// No supervisor can be started, or no directory can be created.
    pub fn new(options: Options) -> Result<Lab, Error> {
        let directory = tempfile::Builder::new()
            .prefix("millibox-lab.")
            .tempdir()
            .map_err(Error::system("create a directory for the lab"))?;
        // The sandbox's user reads files that are bound from this directory.
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))
            .map_err(Error::system(
                "open the lab's directory to the sandbox's user",
            ))?;
        let machine = Machine::detect();
        let trial = options.builder.clone().slots(1).start()?;
        let (backend, declined) = (trial.info().backend(), trial.info().declined().to_vec());
        Ok(Lab {
            options,
            directory,
            backend,
            declined,
            machine,
        })
    }

    /// The amount of measurement.
    pub fn scale(&self) -> Scale {
        self.options.scale
    }

    /// The seed for the order of variants and for bootstraps.
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// The options of this lab.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The machine on which the lab runs.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The backend that limits and measures runs here.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// A builder of supervisors with the common options.
    pub fn builder(&self) -> Builder {
        self.options.builder.clone()
    }

    /// Starts a supervisor with this number of slots.
    ///
    /// # Errors
    /// The supervisor cannot be started.
    pub fn supervisor(&self, slots: usize) -> Result<Supervisor, Error> {
        Ok(self.builder().slots(slots).start()?)
    }

    /// The number of CPUs that the lab may use.
    pub fn cpus(&self) -> usize {
        self.machine.cpus
    }

    /// The lab's directory. The sandbox's user can read but not write it, and it is removed with
    /// the lab.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Whether limits on whole process trees work here. If not, [`Lab::limit`] limits time only.
    pub fn limits_process_trees(&self) -> bool {
        self.backend != Backend::Rlimit || self.declined.is_empty()
    }

    /// Sets the limits of a judge: memory (256 MiB), processes (16), CPU time (10 s) and real time.
    /// Limits that do not work here are left out; see [`Lab::limits_process_trees`].
    pub fn limit(&self, request: Request) -> Request {
        self.limit_to(request, 256 << 20, 16, Duration::from_secs(10))
    }

    /// Like [`Lab::limit`], but with these limits. The real-time limit is a multiple of the limit
    /// on CPU time, because other processes may use the CPUs.
    pub fn limit_to(
        &self,
        request: Request,
        memory: u64,
        processes: u32,
        cpu_time: Duration,
    ) -> Request {
        let request = request.real_time_limit(cpu_time * REAL_TIME_FACTOR);
        if self.limits_process_trees() {
            request
                .memory_limit(memory)
                .process_limit(processes)
                .cpu_time_limit(cpu_time)
        } else {
            request
        }
    }

    /// The executable of another sandbox, from the options or from PATH, if it exists.
    pub fn find_peer(&self, name: &str, executable: &str) -> Option<PathBuf> {
        match self.options.peers.get(name) {
            Some(path) => path.exists().then(|| path.clone()),
            None => find_executable(executable),
        }
    }

    /// Compiles a C++ source with `g++` and these options in the lab's directory. Returns the path
    /// of the executable.
    ///
    /// # Errors
    /// No compiler exists, or the compilation fails.
    pub fn compile(&self, name: &str, source: &str, options: &[&str]) -> Result<PathBuf, Error> {
        self.compile_with("g++", name, "cpp", source, options)
    }

    /// Like [`Lab::compile`], but compiles a C source with `gcc`.
    ///
    /// # Errors
    /// No compiler exists, or the compilation fails.
    pub fn compile_c(&self, name: &str, source: &str, options: &[&str]) -> Result<PathBuf, Error> {
        self.compile_with("gcc", name, "c", source, options)
    }

    /// `options` follow the source, because linkers take from a library only what the files before
    /// it need.
    fn compile_with(
        &self,
        compiler: &str,
        name: &str,
        suffix: &str,
        source: &str,
        options: &[&str],
    ) -> Result<PathBuf, Error> {
        let path = self.directory().join(format!("{name}.{suffix}"));
        std::fs::write(&path, source)
            .map_err(Error::system(format!("write {}", path.display())))?;
        let executable = self.directory().join(name);
        let found = find_executable(compiler).ok_or_else(|| {
            Error::other(format!(
                "there is no {compiler} on PATH; install it (Debian: {compiler})"
            ))
        })?;
        let output = std::process::Command::new(found)
            .arg("-o")
            .args([&executable, &path])
            .args(options)
            .output()
            .map_err(Error::system(format!("run {compiler}")))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::other(format!(
                "{compiler} cannot compile {name}.{suffix}: {words}"
            )));
        }
        Ok(executable)
    }

    /// A progress display; call [`Progress::show`], and [`Progress::done`] at the end.
    pub fn progress(&self, what: &str) -> Progress {
        Progress::new(what, self.options.progress)
    }
}

/// Finds an executable on PATH or in the directories of administrators' commands.
pub fn find_executable(executable: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let is_executable = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path)
        .chain(more)
        .map(|directory| directory.join(executable))
        .find(is_executable)
}

/// Shows a progress bar on a terminal, otherwise a line at the start and at the end, or nothing.
#[derive(Debug)]
pub struct Progress {
    what: String,
    shown: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn new(what: &str, shown: bool) -> Progress {
        let on_terminal = shown && std::io::stderr().is_terminal();
        let bar = on_terminal.then(|| {
            // Draw the bar rarely, because drawing slows down the variants.
            let bar =
                ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(4));
            let style =
                ProgressStyle::with_template("{prefix} {bar:30} {percent:>3} %  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(what.to_owned());
            bar
        });
        if shown && !on_terminal {
            complain(format_args!("{what} ..."));
        }
        Progress {
            what: what.to_owned(),
            shown,
            bar,
        }
    }

    /// Shows the current activity and the completed part (0 to 1).
    pub fn show(&self, now: &str, part: f64) {
        if let Some(bar) = &self.bar {
            bar.set_position((part.clamp(0.0, 1.0) * 1000.0) as u64);
            if bar.message() != now {
                bar.set_message(now.to_owned());
            }
        }
    }

    /// Shows the end and the duration.
    pub fn done(&self, took: Duration) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.shown {
            complain(format_args!("{}: {:.1} s", self.what, took.as_secs_f64()));
        }
    }
}

/// Prints a line on standard error, or nothing if standard error is closed. (`eprintln!` would
/// panic in that case.)
fn complain(line: std::fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
