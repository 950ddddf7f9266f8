//! What programs of a package are run with, and the options that say so.

use crate::failure::{Failure, complain};
use crate::languages::suites;
use crate::machine;
use crate::signals::Signals;
use crate::values;
use millibox::Builder;
use millibox_judge::cache::Cache;
use millibox_judge::judge::{Machine, MachineError};
use millibox_judge::suite::{Link, Suites};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MACHINE: &str = "Machine";

/// How programs of a package are run.
#[derive(Debug, clap::Args)]
pub struct Work {
    /// Programs at one time; without it, one for each CPU
    ///
    /// More of them than CPUs share CPUs and wait for each other.
    #[arg(long, value_name = "N", value_parser = values::number::<u16>(1, Builder::MAX_SLOTS as u64), help_heading = MACHINE)]
    pub jobs: Option<u16>,
    /// Compile everything, and keep nothing of it
    ///
    /// Without it, programs that were compiled before are found in $XDG_CACHE_HOME/millibox or
    /// ~/.cache/millibox, if that can be had.
    #[arg(long, help_heading = MACHINE)]
    pub no_cache: bool,
    /// How programs of compiled languages are linked
    ///
    /// Without it each suite says: static where C, C++ and Rust can, which starts faster. Where the
    /// static libraries are missing, programs are linked dynamically; `millibox languages` tells.
    #[arg(long, value_name = "HOW", value_parser = values::link, help_heading = MACHINE)]
    pub linking: Option<Link>,
    /// Add the suites of a directory's files *.toml, in place of ours for the same language
    #[arg(long, value_name = "DIR", help_heading = MACHINE)]
    pub suites: Option<PathBuf>,
    #[command(flatten)]
    pub machine: machine::Options,
}

/// Says of what is there and can be no package that it is none: whoever opens a FIFO may wait for
/// ever.
pub fn can_be_package(path: &Path) -> bool {
    let other = path
        .metadata()
        .is_ok_and(|found| !found.is_dir() && !found.is_file());
    if other {
        complain(format_args!(
            "{}: error: neither a directory nor a zip archive",
            path.display()
        ));
    }
    !other
}

/// The user's. Nobody has named it, but the environment, which may be another user's (sudo, cron):
/// so without it everything goes on.
fn cache() -> Cache {
    Cache::of_user().unwrap_or_else(|why| {
        complain(format_args!("millibox: warning: {why}"));
        Cache::none()
    })
}

/// What [`Work`] says, ready.
pub struct Shop {
    pub machine: Arc<Machine>,
    pub suites: Suites,
    pub cache: Cache,
}

impl Shop {
    /// Starts the machine, which `signals` will stop. `jobs` is for who says nothing, and so are no
    /// `cpus`.
    pub fn open(
        work: &Work,
        jobs: Option<u16>,
        cpus: &[usize],
        signals: &Signals,
    ) -> Result<Shop, Failure> {
        let suites = suites(work.suites.as_deref(), work.linking)?;
        let cache = if work.no_cache {
            Cache::none()
        } else {
            cache()
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
        // What waits for a run then gets an error, and leaves nothing behind.
        signals.end_with(move || stopped.stop());
        Ok(Shop {
            machine,
            suites,
            cache,
        })
    }
}
