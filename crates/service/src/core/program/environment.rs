//! What a program finds in its sandbox: files, variables, streams and limits.

use super::{Attachment, Keep, ProgramRun, ProgramSource, Test};
use crate::core::budget::Budget;
use crate::core::catalog::Program;
use crate::core::execution::{
    Capture, Content, Execution, ExecutionError, ExecutionLimits, Input, InputContent, InputFile,
    Live, Output, Streams,
};
use bytes::Bytes;
use millibox::{Mount, Network, Prepared, TmpfsMount, World};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use tokio::sync::mpsc;

/// The working directory of every run.
pub const WORK_DIRECTORY: &str = "/work";
/// The maximum number of files and directories in the working directory.
const MAX_WORK_INODES: u64 = 20_000;
/// The minimum number of tests for which the interpreter of a program with files is prepared.
const MIN_PREPARED_TESTS: usize = 8;
/// What a program finds in its environment, in addition to what its runtime needs.
pub const ENVIRONMENT: [(&str, &str); 5] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", WORK_DIRECTORY),
    ("LANG", "C.UTF-8"),
    // Without it, the order of sets differs from run to run.
    ("PYTHONHASHSEED", "0"),
    millibox::NO_LEAK_SANITIZER,
];

impl ProgramRun {
    pub(super) fn execution(
        &self,
        program: Option<&Program>,
        test: &Test,
        live: [Option<mpsc::Sender<Bytes>>; 2],
    ) -> Execution {
        let [live_stdout, live_stderr] = live;
        let limits = &self.limits;
        let mut env: Vec<(OsString, OsString)> = ENVIRONMENT
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let (mut argv, world, memory, processes) = match (program, &self.source) {
            (Some(program), _) => {
                let command = program.executable.command(limits.memory_bytes);
                for (name, value) in command.env {
                    set_variable(&mut env, name, value);
                }
                let executable = &program.executable;
                let memory = limits.memory_bytes.checked_add(executable.memory);
                let processes = limits.processes.saturating_add(executable.processes);
                let world = executable.world.clone();
                (command.argv, world, memory, processes)
            }
            (None, ProgramSource::Command(command)) => (
                command.clone(),
                command_world(),
                Some(limits.memory_bytes),
                limits.processes,
            ),
            (None, ProgramSource::Sources { .. } | ProgramSource::Program(_)) => {
                (Vec::new(), command_world(), Some(limits.memory_bytes), 1)
            }
        };
        let world = with_temporary_directory(world, limits.work_bytes)
            .mount(work_directory(limits.work_bytes));
        let world = usual_world(world, memory);
        // A template has only the variables that the operator chose.
        let prepared = program.and_then(|program| self.prepared(program, &world, &env));
        for (name, value) in &self.env {
            set_variable(&mut env, name.clone(), value.clone());
        }
        argv.extend(self.args.iter().chain(&test.args).cloned());
        let mut files = self.files.clone();
        files.extend(self.sources_beside());
        let capture = |keep: Keep, live: Option<mpsc::Sender<Bytes>>| {
            Output::Capture(Capture {
                max_bytes: keep.max_bytes,
                excess: keep.excess,
                live: live.map(Live::new),
            })
        };
        Execution {
            program: argv.first().cloned().unwrap_or_default(),
            prepared,
            argv,
            env,
            world,
            current_dir: WORK_DIRECTORY.into(),
            files,
            files_bytes: limits.work_bytes,
            streams: Streams {
                stdin: test.stdin.clone().map_or(Input::Empty, Input::Content),
                stdout: capture(self.stdout, live_stdout),
                stderr: if self.stderr.into_stdout {
                    Output::SameAs(1)
                } else {
                    capture(self.stderr, live_stderr)
                },
                extra: Vec::new(),
                terminal: false,
            },
            outputs: self.outputs.clone(),
            budget: Budget::new(self.test_bytes()),
            explained: self.explained,
            limits: ExecutionLimits {
                cpu_time: Some(limits.cpu_time),
                real_time: Some(limits.real_time),
                memory_bytes: memory.filter(|memory| *memory < u64::MAX / 2),
                processes,
                file_bytes: Some(limits.file_bytes),
                open_files: Some(limits.open_files),
                stack_bytes: limits.stack_bytes,
                address_space_bytes: None,
                data_bytes: None,
            },
        }
    }

    /// The interpreter of the program, prepared once for all runs in this world. Scripts share
    /// their world with other runs. A program with files has its own world, so preparing pays off
    /// only for several tests.
    fn prepared(
        &self,
        program: &Program,
        world: &World,
        env: &[(OsString, OsString)],
    ) -> Option<Prepared> {
        let is_shared = matches!(self.source, ProgramSource::Program(_));
        // The operator chooses everything that runs in a template, so variables that interpreters
        // read at their start must not come from the request.
        let is_usual = !self.env.iter().any(|(name, _)| is_read_at_start(name));
        if !is_usual || !(is_shared || self.tests.len() >= MIN_PREPARED_TESTS) {
            return None;
        }
        let prepare = program.executable.prepare.clone()?;
        let prepare = env
            .iter()
            .fold(prepare, |prepare, (name, value)| prepare.env(name, value));
        match world.prepare(&prepare) {
            Ok(prepared) => Some(prepared),
            Err(error) => {
                tracing::debug!(%error, "a run is not prepared");
                None
            }
        }
    }

    /// If there are several sources, they are also placed in the working directory, because
    /// programs look there for the files that came with them.
    pub(super) fn sources_beside(&self) -> Vec<InputFile> {
        match &self.source {
            ProgramSource::Sources { files, .. } if files.len() > 1 => files
                .iter()
                .map(|file| InputFile {
                    path: file.path.clone(),
                    content: InputContent::File {
                        content: file.content.clone(),
                        mode: 0o644,
                    },
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl Streams {
    pub(super) fn attach(&mut self, attachment: Attachment) -> Result<(), ExecutionError> {
        match attachment {
            Attachment::Pipe(reader) => self.stdin = Input::Descriptor(reader),
            Attachment::Terminal(end) => {
                let copy = || {
                    end.try_clone()
                        .map_err(ExecutionError::system("copy the descriptor of a terminal"))
                };
                self.stdout = Output::Descriptor(copy()?);
                self.stderr = Output::Descriptor(copy()?);
                self.stdin = Input::Descriptor(end);
                self.terminal = true;
            }
        }
        Ok(())
    }
}

/// Sets a variable. Its place stays, because the copy of a prepared interpreter is faster if its
/// variables are those of the template, in the same order.
fn set_variable(env: &mut Vec<(OsString, OsString)>, name: OsString, value: OsString) {
    match env.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = value,
        None => env.push((name, value)),
    }
}

/// Whether an interpreter reads a variable at its start, so that a run needs one that was started
/// with the same value.
fn is_read_at_start(name: &OsStr) -> bool {
    const PREFIXES: [&[u8]; 8] = [
        b"PYTHON",
        b"LC_",
        b"LD_",
        b"MALLOC_",
        b"GLIBC_",
        b"OMP_",
        b"OPENBLAS_",
        b"MKL_",
    ];
    let name = name.as_encoded_bytes();
    [&b"LANG"[..], b"LANGUAGE", b"HOME"].contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// What a program finds on a usual machine, without the files of its users.
pub fn command_world() -> World {
    World::standard()
}

/// The world of a run, with what every program of the service finds, in any language: a
/// procfs, which states the run's memory limit, and a loopback interface and pseudo-terminals of
/// the run's own.
pub fn usual_world(mut world: World, memory_bytes: Option<u64>) -> World {
    if !world.mounts().iter().any(|mount| mount.path() == "/proc") {
        world = world.mount(Mount::proc("/proc").system_files());
    }
    world = world.network(Network::Loopback).terminals();
    match memory_bytes {
        Some(bytes) => world.memory(bytes),
        None => world,
    }
}

/// The working directory: a tmpfs of this size.
pub fn work_directory(bytes: u64) -> TmpfsMount {
    work_directory_at(WORK_DIRECTORY, bytes)
}

/// A working directory at another path.
pub fn work_directory_at(path: &str, bytes: u64) -> TmpfsMount {
    Mount::tmpfs(path)
        .size_limit(bytes)
        .inode_limit(MAX_WORK_INODES)
        .mode(0o777)
}

/// The world with a tmpfs of this size at /tmp, unless it already has one.
pub fn with_temporary_directory(world: World, bytes: u64) -> World {
    if world.mounts().iter().any(|mount| mount.path() == "/tmp") {
        return world;
    }
    world.mount(
        Mount::tmpfs("/tmp")
            .size_limit(bytes)
            .inode_limit(MAX_WORK_INODES),
    )
}

/// A file of the working directory with the usual mode.
pub fn plain_file(path: impl Into<PathBuf>, bytes: impl Into<Bytes>) -> InputFile {
    InputFile {
        path: path.into(),
        content: InputContent::File {
            content: Content::Bytes(bytes.into()),
            mode: 0o644,
        },
    }
}
