//! A program with its arguments, streams and limits.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use crate::border::{self, buffer, duplicate, string, strings};
use crate::error::Error;
use crate::prepared::Prepared;
use crate::world::ProgramWorld;
use millibox::Request;
use std::ffi::{OsStr, OsString, c_char, c_int, c_void};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

/// Removes a limit.
pub const MILLIBOX_UNLIMITED: u64 = u64::MAX;

/// Restores the default of millibox_program_set_process_limit.
pub const MILLIBOX_DEFAULT_PROCESS_LIMIT: u32 = u32::MAX;

/// The directories in which a name without a slash is looked up.
const SEARCHED: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
const DEFAULT_REAL_TIME: Duration = Duration::from_secs(10);
const DEFAULT_OUTPUT_BYTES: u64 = 16 << 20;

/// A program with its arguments, environment, streams and limits. It can be run any number of
/// times.
///
/// Threads may run a program at the same time while no thread changes it. The functions that change
/// a program do not check the values; the start of the program reports all mistakes together.
pub struct Program {
    request: Request,
    environment: Vec<(OsString, OsString)>,
    input: Option<Arc<[u8]>>,
    outputs: [Output; 2],
    real_time: Option<Duration>,
    cpu_time: Option<Duration>,
    memory: Option<u64>,
    file_size: Option<u64>,
    processes: Option<u32>,
    max_output_bytes: u64,
    mistakes: Vec<String>,
    world_mistakes: Vec<String>,
}

/// The destination of an output stream.
enum Output {
    Captured,
    Discarded,
    Descriptor(Arc<OwnedFd>),
}

impl Program {
    fn new(program: &OsStr) -> Program {
        let request = if program.as_bytes().contains(&b'/') {
            Request::new(program)
        } else {
            let directories = SEARCHED.map(OsString::from).to_vec();
            Request::of(millibox::Program::Search(program.into(), directories)).arg(program)
        };
        Program {
            request: request.world(&millibox::World::standard()),
            environment: millibox::STANDARD_ENVIRONMENT
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            input: None,
            outputs: [Output::Captured, Output::Captured],
            real_time: Some(DEFAULT_REAL_TIME),
            cpu_time: None,
            memory: None,
            file_size: None,
            processes: None,
            max_output_bytes: DEFAULT_OUTPUT_BYTES,
            mistakes: Vec::new(),
            world_mistakes: Vec::new(),
        }
    }

    fn change(&mut self, change: impl FnOnce(Request) -> Request) {
        let request = std::mem::replace(&mut self.request, Request::new(""));
        self.request = change(request);
    }

    fn set_output(&mut self, index: usize, function: &str, descriptor: c_int) {
        if descriptor == -1 {
            self.outputs[index] = Output::Discarded;
            return;
        }
        match duplicate(descriptor) {
            Ok(descriptor) => self.outputs[index] = Output::Descriptor(Arc::new(descriptor)),
            Err(error) => self.mistakes.push(format!("{function}: {error}")),
        }
    }

    /// The request of one run.
    ///
    /// # Errors
    /// The caller has made mistakes.
    pub fn request(&self) -> Result<Request, Error> {
        if !self.mistakes.is_empty() || !self.world_mistakes.is_empty() {
            let mistakes = [self.mistakes.as_slice(), &self.world_mistakes].concat();
            return Err(Error::invalid(mistakes.join("\n")));
        }
        let mut request = self.request.clone();
        for (name, value) in &self.environment {
            request = request.env(name, value);
        }
        if let Some(bytes) = &self.input {
            request = request.input(bytes);
        }
        if let Output::Descriptor(descriptor) = &self.outputs[0] {
            request = request.stdout(descriptor.clone());
        }
        if let Output::Descriptor(descriptor) = &self.outputs[1] {
            request = request.stderr(descriptor.clone());
        }
        if let Some(limit) = self.real_time {
            request = request.real_time_limit(limit);
        }
        if let Some(limit) = self.cpu_time {
            request = request.cpu_time_limit(limit);
        }
        if let Some(bytes) = self.memory {
            request = request.memory_limit(bytes);
        }
        if let Some(bytes) = self.file_size {
            request = request.output_limit(bytes);
        }
        if let Some(processes) = self.processes {
            request = request.process_limit(processes);
        }
        Ok(request)
    }

    /// The streams that the result contains.
    pub fn captured(&self) -> Option<millibox::Streams> {
        match self
            .outputs
            .each_ref()
            .map(|output| matches!(output, Output::Captured))
        {
            [true, true] => Some(millibox::Streams::Both),
            [true, false] => Some(millibox::Streams::Stdout),
            [false, true] => Some(millibox::Streams::Stderr),
            [false, false] => None,
        }
    }

    /// The number of bytes that the captured streams may have together.
    pub fn max_output_bytes(&self) -> u64 {
        self.max_output_bytes
    }
}

fn with(program: Option<&mut Program>, change: impl FnOnce(&mut Program)) {
    border::or((), || {
        if let Some(program) = program {
            change(program);
        }
    });
}

fn limit(value: u64) -> Option<u64> {
    (value != MILLIBOX_UNLIMITED).then_some(value)
}

/// Creates a program from its path inside the world. A name without a slash is looked up in
/// /usr/local/bin, /usr/bin and /bin of the world. Free it with millibox_program_free.
///
/// The program sees the standard world, and its environment contains PATH, LANG and HOME. Its
/// standard input is empty, and the result contains its standard output and standard error, at most
/// 16 MiB together. It may run for 10 seconds and may have 512 processes and threads.
///
/// Strings are bytes that end with NUL. Linux does not require UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_new(program: *const c_char) -> Option<Box<Program>> {
    border::or(None, || {
        // An empty name is reported when the program is started.
        Some(Box::new(Program::new(string(program).unwrap_or_default())))
    })
}

/// Frees a program. Runs that were started continue. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_free(program: Option<Box<Program>>) {
    border::or((), || drop(program));
}

/// Adds an argument. The first argument, argv[0], is the program itself.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_add_arg(program: Option<&mut Program>, argument: *const c_char) {
    with(program, |program| match string(argument) {
        Some(argument) => program.change(|request| request.arg(argument)),
        None => {
            let mistake = "millibox_program_add_arg: argument is NULL";
            program.mistakes.push(mistake.to_owned());
        }
    });
}

/// Adds the arguments of an array that ends with NULL.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_add_args(
    program: Option<&mut Program>,
    arguments: *const *const c_char,
) {
    with(program, |program| {
        program.change(|request| request.args(strings(arguments)));
    });
}

/// Sets an environment variable. If `value` is NULL, removes it.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_env(
    program: Option<&mut Program>,
    name: *const c_char,
    value: *const c_char,
) {
    with(program, |program| {
        let Some(name) = string(name) else {
            let mistake = "millibox_program_set_env: name is NULL";
            return program.mistakes.push(mistake.to_owned());
        };
        program.environment.retain(|(known, _)| known != name);
        if let Some(value) = string(value) {
            program.environment.push((name.into(), value.into()));
        }
    });
}

/// Sets the working directory inside the world. The default is /.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_cwd(
    program: Option<&mut Program>,
    directory: *const c_char,
) {
    with(program, |program| match string(directory) {
        Some(directory) => program.change(|request| request.current_dir(directory)),
        None => {
            let mistake = "millibox_program_set_cwd: directory is NULL";
            program.mistakes.push(mistake.to_owned());
        }
    });
}

/// Sets what the program sees. Later changes of the world do not affect the program.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_world(
    program: Option<&mut Program>,
    world: Option<&ProgramWorld>,
) {
    with(program, |program| match world {
        Some(world) => {
            program.world_mistakes.clone_from(&world.mistakes);
            program.change(|request| request.world(&world.world));
        }
        None => {
            let mistake = "millibox_program_set_world: world is NULL";
            program.mistakes.push(mistake.to_owned());
        }
    });
}

/// Makes each run a copy of a prepared interpreter, in the world of the interpreter. If no copy can
/// be made, the program is executed instead, in the same world; millibox_result_is_prepared reports
/// whether a copy ran, and millibox_result_cold_start_reason why not.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_prepared(
    program: Option<&mut Program>,
    prepared: Option<&Prepared>,
) {
    with(program, |program| match prepared {
        Some(prepared) => {
            program.world_mistakes.clear();
            program.change(|request| request.prepared(&prepared.prepared).may_start_cold(true));
        }
        None => {
            let mistake = "millibox_program_set_prepared: prepared is NULL";
            program.mistakes.push(mistake.to_owned());
        }
    });
}

/// Sets the bytes that the program reads from standard input. The library copies them.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_stdin(
    program: Option<&mut Program>,
    data: *const c_void,
    length: usize,
) {
    with(program, |program| match buffer(data, length) {
        Some(bytes) => program.input = Some(bytes.into()),
        None => {
            let mistake = "millibox_program_set_stdin: data is NULL or too long";
            program.mistakes.push(mistake.to_owned());
        }
    });
}

/// Uses a descriptor of the caller as standard input. The library duplicates it; all runs of the
/// program share the position in a file.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_stdin_fd(program: Option<&mut Program>, descriptor: c_int) {
    with(program, |program| match duplicate(descriptor) {
        Ok(descriptor) => {
            program.input = None;
            program.change(|request| request.stdin(descriptor));
        }
        Err(error) => {
            let mistake = format!("millibox_program_set_stdin_fd: {error}");
            program.mistakes.push(mistake);
        }
    });
}

/// Uses a descriptor of the caller as standard output, so that the result does not contain it. -1
/// discards the output. The library duplicates the descriptor, and closes the duplicate when the
/// program is freed or the function is called again; until then, readers of a pipe see no end.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_stdout_fd(program: Option<&mut Program>, descriptor: c_int) {
    with(program, |program| {
        program.set_output(0, "millibox_program_set_stdout_fd", descriptor);
    });
}

/// Uses a descriptor of the caller as standard error, as millibox_program_set_stdout_fd does.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_stderr_fd(program: Option<&mut Program>, descriptor: c_int) {
    with(program, |program| {
        program.set_output(1, "millibox_program_set_stderr_fd", descriptor);
    });
}

/// Limits the bytes of standard output and standard error in the result, both together.
/// The default is 16 MiB. A program that writes more is ended.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_output_limit(program: Option<&mut Program>, bytes: u64) {
    with(program, |program| program.max_output_bytes = bytes);
}

/// Limits the time from the start of the program to its end, in nanoseconds. The default is 10
/// seconds; MILLIBOX_UNLIMITED removes the limit.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_real_time_limit_ns(
    program: Option<&mut Program>,
    nanoseconds: u64,
) {
    with(program, |program| {
        program.real_time = limit(nanoseconds).map(Duration::from_nanos);
    });
}

/// Limits the CPU time of all the program's processes together, in nanoseconds. There is no limit
/// by default.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_cpu_time_limit_ns(
    program: Option<&mut Program>,
    nanoseconds: u64,
) {
    with(program, |program| {
        program.cpu_time = limit(nanoseconds).map(Duration::from_nanos);
    });
}

/// Limits the memory of all the program's processes together, in bytes. There is no limit by
/// default. With MILLIBOX_BACKEND_RLIMIT, the limit applies to the address space of each process.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_memory_limit(program: Option<&mut Program>, bytes: u64) {
    with(program, |program| program.memory = limit(bytes));
}

/// Limits the number of processes and threads at the same time. The default is 512, and
/// MILLIBOX_DEFAULT_PROCESS_LIMIT restores it.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_process_limit(
    program: Option<&mut Program>,
    processes: u32,
) {
    with(program, |program| {
        program.processes = (processes != MILLIBOX_DEFAULT_PROCESS_LIMIT).then_some(processes);
    });
}

/// Limits the bytes of each file that the program writes. There is no limit by default.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_file_size_limit(program: Option<&mut Program>, bytes: u64) {
    with(program, |program| program.file_size = limit(bytes));
}

/// Sets the soft and hard limit of a resource (setrlimit(2)) by its name, such as "NOFILE".
#[unsafe(no_mangle)]
pub extern "C" fn millibox_program_set_rlimit(
    program: Option<&mut Program>,
    name: *const c_char,
    value: u64,
) {
    with(program, |program| {
        match string(name).and_then(|name| name.to_str()) {
            Some(name) => program.change(|request| request.rlimit(name, value)),
            None => {
                let mistake = "millibox_program_set_rlimit: name is NULL or not UTF-8";
                program.mistakes.push(mistake.to_owned());
            }
        }
    });
}
