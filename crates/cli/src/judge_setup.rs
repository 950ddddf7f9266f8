//! The machine, languages and cache for the programs of a package, and their options.

use crate::failure::{Failure, complain};
use crate::languages::suites;
use crate::machine;
use crate::signals::Signals;
use crate::values;
use millibox::Builder;
use millibox_judge::judge::{Machine, MachineError};
use millibox_languages::cache::Cache;
use millibox_languages::suite::{Link, Suites};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MACHINE: &str = "Machine";

/// Options for running the programs of a package.
#[derive(Debug, clap::Args)]
pub struct JudgeSetupOptions {
    /// Run this number of programs at the same time [default: one for each CPU]
    ///
    /// If there are more programs than CPUs, programs share CPUs and slow each other down.
    #[arg(
        long,
        value_name = "N",
        value_parser = values::number::<u16>(1, Builder::MAX_SLOTS as u64),
        help_heading = MACHINE,
    )]
    pub jobs: Option<u16>,
    /// Compile everything, and do not cache programs
    ///
    /// By default, compiled programs are cached in $XDG_CACHE_HOME/millibox or ~/.cache/millibox,
    /// if that directory can be used.
    #[arg(long, help_heading = MACHINE)]
    pub no_cache: bool,
    /// Link programs of compiled languages statically or dynamically
    ///
    /// By default, each suite decides. C, C++ and Rust programs are linked statically, because they
    /// start faster. If the static libraries are missing, programs are linked dynamically;
    /// `millibox languages` reports this.
    #[arg(long, value_name = "HOW", value_parser = values::link, help_heading = MACHINE)]
    pub linking: Option<Link>,
    /// Add the suites in a directory's *.toml files; they replace built-in suites of the same name
    #[arg(long, value_name = "DIR", help_heading = MACHINE)]
    pub suites: Option<PathBuf>,
    #[command(flatten)]
    pub machine: machine::Options,
}

/// Rejects a path that is neither a directory nor a regular file. Opening a FIFO could block
/// forever.
pub fn check_package_path(path: &Path) -> Result<(), String> {
    let is_other = path
        .metadata()
        .is_ok_and(|found| !found.is_dir() && !found.is_file());
    if is_other {
        return Err(format!(
            "{}: error: neither a directory nor a zip archive",
            path.display()
        ));
    }
    Ok(())
}

/// The user's cache. The environment, which names the cache's directory, may belong to another user
/// (sudo, cron). So the command only warns if it has no cache.
fn user_cache() -> Cache {
    Cache::of_user().unwrap_or_else(|why| {
        complain(format_args!("millibox: warning: {why}"));
        Cache::none()
    })
}

/// The parts that the options describe, ready for use.
pub struct JudgeSetup {
    pub machine: Arc<Machine>,
    pub suites: Suites,
    pub cache: Cache,
}

impl JudgeSetup {
    /// Starts the machine, and makes `signals` stop it. `jobs` is the default number of
    /// simultaneous programs. An empty `cpus` means all CPUs.
    pub fn open(
        work: &JudgeSetupOptions,
        jobs: Option<u16>,
        cpus: &[usize],
        signals: &Signals,
    ) -> Result<JudgeSetup, Failure> {
        let suites = suites(work.suites.as_deref(), work.linking)?;
        let cache = if work.no_cache {
            Cache::none()
        } else {
            user_cache()
        };
        let jobs = work.jobs.or(jobs).map(usize::from);
        let machine =
            Machine::start(work.machine.builder(), jobs, cpus).map_err(|error| match error {
                MachineError::Supervisor(error) => error.into(),
                error => Failure {
                    step: "request",
                    ..Failure::sandbox(error)
                },
            })?;
        let machine = Arc::new(machine);
        let stopped = machine.clone();
        // Threads that wait for a run then get an error and clean up.
        signals.end_with(move || stopped.stop());
        Ok(JudgeSetup {
            machine,
            suites,
            cache,
        })
    }
}
