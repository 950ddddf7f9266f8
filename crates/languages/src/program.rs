//! A program that is ready to run, and the limits of a run.

use crate::staging::{Ids, StagingError, private_directory, real_path, stage};
use crate::suite::template::fill_memory;
use millibox::{Prepare, Prepared, Request, World};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A program that is ready to run: compiled, or a script with its interpreter.
///
/// The files are in a directory that the sandbox's user can read. [`Executable::world`] contains
/// the files, read-only. Dropping the last clone removes the directory.
///
/// ```no_run
/// use millibox::Supervisor;
/// use millibox_languages::cache::Cache;
/// use millibox_languages::compile::{Options, Toolbox};
/// use millibox_languages::files::SourceFile;
/// use millibox_languages::program::Limits;
/// use millibox_languages::suite::Suites;
/// use std::time::Duration;
///
/// let supervisor = Supervisor::start()?;
/// let toolbox = Toolbox::new(&supervisor, Suites::builtin(), Cache::none());
/// let python = toolbox.suites().named("python")?;
/// let source = SourceFile::new("main.py", "print(6 * 7)");
/// let program = toolbox.compile_files(python, vec![source], &Options::default());
/// let request = program.result?.request(&Limits::for_cpu_time(Duration::from_secs(1)), &[]);
/// assert_eq!(supervisor.output(&request, 1 << 10)?.stdout, b"42\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Executable {
    /// The files and other resources that the program sees. All runs have the same world, so they
    /// share a template.
    pub world: World,
    /// Program and arguments, with the paths that the world shows. `{memory_mib}` in an argument or
    /// in the value of a variable is replaced by the memory limit of the run in MiB. Run-time
    /// systems that limit their own memory need it.
    pub argv: Vec<OsString>,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory, as the world shows it.
    pub current_dir: OsString,
    /// Processes and threads that the language's run-time system needs in addition to the program's
    /// own.
    pub processes: u32,
    /// Memory in bytes that the language's run-time system needs in addition to the program's own.
    /// `u64::MAX` means that this supervisor cannot limit the program's memory without cgroups.
    pub memory: u64,
    /// The part of the command that starts the interpreter, which can be prepared once for many
    /// runs in the same world. Its environment lacks the variables of a run. `None` means that the
    /// suite does not allow preparation.
    pub prepare: Option<Prepare>,
    /// Whether runs are copies of [`Executable::prepare`], with one template for each world. If no
    /// copy can be made, the program is executed.
    pub is_prepared: bool,
    /// Name of the suite that made the program.
    pub suite: String,
    /// The directory of the files.
    pub files: Arc<tempfile::TempDir>,
}

/// Limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// User and system CPU time of all processes.
    pub cpu_time: Duration,
    /// Time from start to end.
    pub real_time: Duration,
    /// Memory in bytes. The language's run-time system may use more; see [`Executable::memory`].
    pub memory: u64,
    /// Maximum number of bytes that the program may write to its standard output.
    pub output: u64,
    /// Processes and threads. The language's run-time system may use more; see
    /// [`Executable::processes`].
    pub processes: u32,
}

impl Limits {
    /// Returns limits for a program that reads its input and writes its answer: this CPU time,
    /// 256 MiB of memory, 64 MiB of output and one process.
    pub fn for_cpu_time(cpu_time: Duration) -> Limits {
        Limits {
            cpu_time,
            real_time: Limits::real_time_for(cpu_time),
            memory: 256 << 20,
            output: 64 << 20,
            processes: 1,
        }
    }

    /// Returns the real-time limit for a CPU-time limit: three times as long, plus two seconds.
    /// This limit ends a sleeping program, but not a working program on a busy machine. In a
    /// measurement with 5 programs on 2 CPUs, half of this limit ended submissions that had used
    /// half of their CPU time.
    pub fn real_time_for(cpu_time: Duration) -> Duration {
        cpu_time
            .saturating_mul(3)
            .saturating_add(Duration::from_secs(2))
    }
}

impl Executable {
    /// Returns the enforced memory limit in bytes: the limit of the run plus the memory of the
    /// language's run-time system. `None` means that the memory is not limited.
    pub fn memory_limit(&self, limits: &Limits) -> Option<u64> {
        limits.memory.checked_add(self.memory)
    }

    /// Returns a request for a run with these limits. `arguments` follow the program's own. The
    /// caller adds the standard streams, and enforces [`Limits::output`].
    pub fn request(&self, limits: &Limits, arguments: &[OsString]) -> Request {
        self.request_in(&self.world, limits, arguments)
    }

    /// Returns a request for a run in another world, which must contain everything that
    /// [`Executable::world`] contains.
    pub fn request_in(&self, world: &World, limits: &Limits, arguments: &[OsString]) -> Request {
        let argv = self
            .argv
            .iter()
            .map(|argument| fill_memory(argument, limits.memory));
        let mut request = Request::new(self.argv.first().cloned().unwrap_or_default())
            .argv(argv.chain(arguments.iter().cloned()))
            .current_dir(self.current_dir.clone())
            .cpu_time_limit(limits.cpu_time)
            .real_time_limit(limits.real_time)
            .process_limit(limits.processes.saturating_add(self.processes));
        if let Some(memory) = self.memory_limit(limits) {
            request = request.memory_limit(memory);
        }
        // The memory limit covers the stack, so the stack needs no limit of its own. Without a
        // stack limit, glibc reserves 2 MiB of address space for the stack of each thread. With a
        // limit, it reserves as much as the limit.
        request = request.rlimit("STACK", max_stack());
        for (name, value) in &self.env {
            request = request.env(name, fill_memory(value, limits.memory));
        }
        let world = match self.memory_limit(limits) {
            Some(memory) => world.clone().memory(memory),
            None => world.clone(),
        };
        match self.prepared_in(&world, limits) {
            Some(prepared) => request.prepared(&prepared).may_start_cold(true),
            None => request.world(&world),
        }
    }

    /// Returns the prepared interpreter in this world if runs are copies of it.
    fn prepared_in(&self, world: &World, limits: &Limits) -> Option<Prepared> {
        let prepare = self.prepare.clone().filter(|_| self.is_prepared)?;
        let prepare = self.env.iter().fold(prepare, |prepare, (name, value)| {
            prepare.env(name, fill_memory(value, limits.memory))
        });
        world.prepare(&prepare).ok()
    }

    /// Returns the program with additional files in its working directory. They replace the
    /// program's files of the same names.
    ///
    /// # Errors
    /// A file cannot be staged.
    pub fn beside(&self, files: &Path, ids: Ids) -> Result<Executable, StagingError> {
        let directory = private_directory(ids)?;
        // If two files have the same name, the first one is kept.
        for source in [files, self.files.path()] {
            let source = real_path(source)?;
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

/// The largest stack limit of this process, which the sandbox inherits.
fn max_stack() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Stack)
        .maximum
        .unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_for_scales_cpu_time_without_overflow() {
        assert_eq!(
            Limits::real_time_for(Duration::from_secs(1)),
            Duration::from_secs(5)
        );
        assert_eq!(Limits::real_time_for(Duration::MAX), Duration::MAX);
    }
}
