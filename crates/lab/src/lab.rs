//! What every experiment is given.

use crate::{Error, Machine};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use millibox::{Backend, Builder, Request, Supervisor};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Just enough to see that everything works: figures mean nothing.
    Smoke,
    /// All experiments together take less than ten minutes.
    #[default]
    Short,
    /// As much as the papers had.
    Full,
}

impl Scale {
    /// One of three, by the scale.
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

/// What a lab is to be like.
#[derive(Debug, Clone)]
pub struct Options {
    /// How supervisors are started.
    pub builder: Builder,
    /// How much is measured.
    pub scale: Scale,
    /// How long each table is measured whose variants take turns; `None`: as the scale has it.
    pub budget: Option<Duration>,
    /// Of the order of variants and of bootstraps.
    pub seed: u64,
    /// Executables of other sandboxes by their names, instead of looking for them on PATH.
    pub peers: BTreeMap<String, PathBuf>,
    /// The executable of the command `millibox`, for what is measured from outside.
    pub millibox: Option<PathBuf>,
    /// The command line that reports name.
    pub command: String,
    /// Progress is shown on standard error.
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
    /// For tests: the smallest scale, nothing shown.
    pub fn quiet() -> Options {
        Options { scale: Scale::Smoke, progress: false, ..Options::default() }
    }
}

/// What every experiment is given: see the module.
#[derive(Debug)]
pub struct Lab {
    options: Options,
    directory: tempfile::TempDir,
    backend: Backend,
    declined: Vec<String>,
    machine: Machine,
}

impl Lab {
    /// Makes one, with a directory that is removed when it is dropped, and looks at the machine: a supervisor
    /// is started and ended.
    ///
    /// # Errors
    /// No supervisor can be started, or no directory made.
    pub fn new(options: Options) -> Result<Lab, Error> {
        let directory = tempfile::Builder::new()
            .prefix("millibox-lab.")
            .tempdir()
            .map_err(Error::system("make a directory for the lab"))?;
        // The sandbox's user reads what is bound from it.
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))
            .map_err(Error::system("open the lab's directory to the sandbox's user"))?;
        let machine = Machine::here();
        let trial = options.builder.clone().slots(1).start()?;
        let (backend, declined) = (trial.backend(), trial.declined().to_vec());
        Ok(Lab { options, directory, backend, declined, machine })
    }

    /// How much is measured.
    pub fn scale(&self) -> Scale {
        self.options.scale
    }

    /// Of everything that is drawn by lot.
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// What it was told.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Where we are.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// How runs are held and measured here.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Says how a supervisor is to be started; the common options are in it.
    pub fn builder(&self) -> Builder {
        self.options.builder.clone()
    }

    /// A supervisor with so many slots.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn supervisor(&self, slots: usize) -> Result<Supervisor, Error> {
        Ok(self.builder().slots(slots).start()?)
    }

    /// How many CPUs we may use.
    pub fn cpus(&self) -> usize {
        self.machine.cpus
    }

    /// A directory of the lab's own, readable (not writable) by the sandbox's user; it goes with the lab.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Whether limits on whole trees are held here. If not, [`Lab::limited`] sets limits on time only.
    pub fn holds_trees(&self) -> bool {
        self.backend != Backend::Rlimit || self.declined.is_empty()
    }

    /// The request with everything limited that a judge would limit: memory (256 MiB), processes (16), CPU and
    /// real time (10 s). What cannot be held here is left out; see [`Lab::holds_trees`].
    pub fn limited(&self, request: Request) -> Request {
        self.limited_by(request, 256 << 20, 16, Duration::from_secs(10))
    }

    /// The same with these limits.
    pub fn limited_by(&self, request: Request, memory: u64, processes: u32, time: Duration) -> Request {
        let request = request.real_time_limit(time);
        if self.holds_trees() {
            request.memory_limit(memory).process_limit(processes).cpu_time_limit(time)
        } else {
            request
        }
    }

    /// The executable of another sandbox: as it was given, or from PATH; `None`: it is not there.
    pub fn peer(&self, name: &str, executable: &str) -> Option<PathBuf> {
        match self.options.peers.get(name) {
            Some(path) => path.exists().then(|| path.clone()),
            None => find(executable),
        }
    }

    /// Writes a C or C++ source into the lab's directory and compiles it with `g++` and these options; the executable.
    ///
    /// # Errors
    /// There is no compiler, or it does not like the source.
    pub fn compile(&self, name: &str, source: &str, options: &[&str]) -> Result<PathBuf, Error> {
        let path = self.directory().join(format!("{name}.cpp"));
        std::fs::write(&path, source).map_err(Error::system(format!("write {}", path.display())))?;
        let executable = self.directory().join(name);
        let compiler = find("g++").ok_or_else(|| Error::says("there is no g++ on PATH; install it (Debian: g++)"))?;
        let output = std::process::Command::new(compiler)
            .args(options)
            .arg("-o")
            .args([&executable, &path])
            .output()
            .map_err(Error::system("run g++"))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::says(format!("g++ refuses {name}.cpp: {words}")));
        }
        Ok(executable)
    }

    /// Shows how far something is: [`Progress::show`], and [`Progress::done`] at the end.
    pub fn progress(&self, what: &str) -> Progress {
        Progress::new(what, self.options.progress)
    }
}

/// An executable on PATH, or where administrators have theirs.
pub fn find(executable: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let is_executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).chain(more).map(|directory| directory.join(executable)).find(is_executable)
}

/// A bar on a terminal, a line at beginning and end elsewhere, or nothing.
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
            // Drawn rarely: drawing is work that the variants would feel.
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(4));
            let style = ProgressStyle::with_template("{prefix} {bar:30} {percent:>3} %  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(what.to_owned());
            bar
        });
        if shown && !on_terminal {
            complain(format_args!("{what} ..."));
        }
        Progress { what: what.to_owned(), shown, bar }
    }

    /// What is being done, and how much of all (0 to 1) is done.
    pub fn show(&self, now: &str, part: f64) {
        if let Some(bar) = &self.bar {
            bar.set_position((part.clamp(0.0, 1.0) * 1000.0) as u64);
            if bar.message() != now {
                bar.set_message(now.to_owned());
            }
        }
    }

    /// It is over, and took so long.
    pub fn done(&self, took: Duration) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.shown {
            complain(format_args!("{}: {:.1} s", self.what, took.as_secs_f64()));
        }
    }
}

/// A line on standard error, or nothing if nobody reads it any more: `eprintln!` panics then.
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
