//! A program that is ready to run, and the limits of a run.

use crate::staging::{Ids, private_directory, stage};
use crate::suite::template::fill_memory;
use millibox::{Request, World};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A program that is ready to run: compiled, or a script with its interpreter.
///
/// Its files lie in a directory that the sandbox's user can read and that lives as long as this
/// does; [`Executable::world`] shows them, read-only.
#[derive(Debug, Clone)]
pub struct Executable {
    /// What the program sees. Equal for all its runs, so that they share what is prepared.
    pub world: World,
    /// Program and arguments, paths as in the world. `{memory_mib}` in them, and in the values of
    /// the environment, is the run's memory limit in MiB, for run-time systems that keep to one
    /// themselves.
    pub argv: Vec<OsString>,
    /// Environment; nothing else is in it.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory, as in the world.
    pub current_dir: OsString,
    /// Processes and threads that the language's run-time system needs beside the program's own.
    pub processes: u32,
    /// Memory that the language's run-time system needs beside what the problem allows, bytes;
    /// `u64::MAX`: its memory cannot be limited by this supervisor (only with cgroups).
    pub memory: u64,
    /// Name of the suite.
    pub suite: String,
    /// Keeps the files.
    pub files: Arc<tempfile::TempDir>,
}

/// Limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// User and system CPU time of all its processes.
    pub cpu_time: Duration,
    /// From the start to the end.
    pub real_time: Duration,
    /// Bytes, the suite's own not counted.
    pub memory: u64,
    /// Bytes that the program may write to its standard output.
    pub output: u64,
    /// Processes and threads, the suite's own not counted.
    pub processes: u32,
}

impl Limits {
    /// Three times the CPU time, and two seconds: a program that sleeps is ended, and one that
    /// works is not ended because the machine has other work as well. Measured with 5 programs to 2
    /// CPUs: with half of this, submissions were ended that had used half of their CPU time.
    pub fn real_time_for(cpu_time: Duration) -> Duration {
        cpu_time
            .saturating_mul(3)
            .saturating_add(Duration::from_secs(2))
    }
}

impl Executable {
    /// The limit on memory that is enforced: the problem's, and what the suite needs. `None`: there
    /// is none, since that is more than can be counted.
    pub fn memory_limit(&self, limits: &Limits) -> Option<u64> {
        limits.memory.checked_add(self.memory)
    }

    /// A run with these limits; arguments come after the program's own.
    pub fn request(&self, limits: &Limits, arguments: &[OsString]) -> Request {
        self.request_in(&self.world, limits, arguments)
    }

    /// A run in another world, which must show at least what [`Executable::world`] shows.
    pub fn request_in(&self, world: &World, limits: &Limits, arguments: &[OsString]) -> Request {
        let argv = self
            .argv
            .iter()
            .map(|argument| fill_memory(argument, limits.memory));
        let mut request = Request::new(self.argv.first().cloned().unwrap_or_default())
            .argv(argv.chain(arguments.iter().cloned()))
            .current_dir(self.current_dir.clone())
            .world(world)
            .cpu_time_limit(limits.cpu_time)
            .real_time_limit(limits.real_time)
            .process_limit(limits.processes.saturating_add(self.processes));
        if let Some(memory) = self.memory_limit(limits) {
            request = request.memory_limit(memory);
        }
        // The stack is memory like any other: deep recursion is no error of its own. And where
        // there is no limit on it, threads have stacks of 2 MiB; else each has one as large as the
        // limit, set aside in address space.
        request = request.rlimit("STACK", most_stack());
        for (name, value) in &self.env {
            request = request.env(name, fill_memory(value, limits.memory));
        }
        request
    }

    /// The program with a test's files in its working directory, beside its own and in place of
    /// those of the same names.
    ///
    /// # Errors
    /// A file cannot be copied.
    pub fn beside(&self, files: &Path, ids: Ids) -> std::io::Result<Executable> {
        let directory = private_directory(ids)?;
        // What is there stays.
        for source in [files, self.files.path()] {
            let source = source.canonicalize()?;
            stage(&source, &source, directory.path(), ids)?;
        }
        let world = self
            .world
            .clone()
            .read_only(directory.path(), &self.current_dir);
        Ok(Executable {
            world,
            files: Arc::new(directory),
            ..self.clone()
        })
    }
}

/// As large as the sandbox may make it, which is started with our limits.
fn most_stack() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Stack)
        .maximum
        .unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_follows_cpu_time() {
        assert_eq!(
            Limits::real_time_for(Duration::from_secs(1)),
            Duration::from_secs(5)
        );
        assert_eq!(Limits::real_time_for(Duration::MAX), Duration::MAX);
    }
}
