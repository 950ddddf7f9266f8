//! The target: the process that becomes the program.
//!
//! pid1 clones the target before its program is known. The target does everything that depends only
//! on the world, and then waits for the launch. Between a client's request and the exec only these
//! steps remain: one message, limits that differ from the last run's, standard streams, the working
//! directory and the exec.
//!
//! The target and pid1 are separate processes because the program needs a parent in its PID
//! namespace that it cannot reach.
//!
//! The target may use its own descriptor table, its own attributes, the shared memory and the
//! cgroup files of its runner. Until the exec it runs in its runner's memory (`CLONE_VM`), so it
//! must not allocate, lock or call libc; see [`crate::sys`].

use crate::backend::Backend;
use crate::launch::{Failure, Launch, Start, UNLIMITED, message};
use crate::prepared::{Prepared, Program, Runner};
use crate::ready_protocol::CONTROL;
use crate::rlimits::at_rlimit;
use crate::sys::{Errno, calls};
use core::ffi::CStr;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use millibox_wire::{Prepare, Step};

/// The exit status if the program was not executed. No process evaluates this status, because the
/// failure is in the shared memory.
const NOT_STARTED: i32 = 127;

/// The nice value of supervisor, runners and pid1s if root started them.
pub const SUPERVISOR_NICE: i32 = -10;
/// The time slice that the supervisor requests, which is the shortest possible.
pub const SUPERVISOR_SLICE_NS: u64 = 100_000;
/// The time slice of runners, zygotes and pid1s. It is longer than the supervisor's, so that the
/// supervisor need not wait for a pid1 that has just reported the end of its run.
pub const RUNNER_SLICE_NS: u64 = 200_000;

/// The main function of the target until the exec.
pub fn main(prepared: &Prepared) -> ! {
    let failure = match prepare_and_launch(prepared) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    prepared.runner.shared.failure.set(failure);
    calls::exit(NOT_STARTED)
}

enum Never {}

fn at(step: Step) -> impl Fn(Errno) -> Failure {
    move |errno| Failure::new(step, errno)
}

fn prepare_and_launch(prepared: &Prepared) -> Result<Never, Failure> {
    let runner = prepared.runner;
    let shared = runner.shared;

    // Part one: the steps that depend only on the world.
    calls::setsid().map_err(at(Step::Session))?;
    // These limits of the runner apply to all runs together, so the target sets its own.
    for (resource, soft, hard) in runner.target_rlimits {
        calls::set_rlimits(resource, soft, hard).map_err(at_rlimit(resource))?;
    }
    // The program gets a normal share of the CPU. If this call is forbidden here, it was forbidden
    // earlier too, and no short time slice is in force.
    if calls::set_slice(runner.runs_nice, 0).is_err() {
        calls::setpriority(libc::PRIO_PROCESS, 0, runner.runs_nice).map_err(at(Step::Session))?;
    }
    // The target shares its memory with pid1 and perhaps the runner. The id maps could be written
    // only while this memory was dumpable (otherwise the files belong to root, proc(5)). From now
    // on no process in the sandbox may trace pid1.
    calls::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0).map_err(at(Step::Session))?;
    if !runner.cpu_mask.is_empty() {
        shared.target.store(calls::pid_in(runner.procfs), Relaxed);
    }
    runner.backend.reset(shared)?;
    if let Some(program) = &prepared.program {
        return execute_template(runner, program);
    }
    shared.prepared.store(1, Release);

    // Part two: the steps that depend on the launch.
    let mut byte = [0; 1];
    let received = calls::receive(runner.launches, &mut byte, 0).map_err(at(Step::Receive))?;
    if received.length != 1 || byte[0] != message::LAUNCH {
        return Err(Failure::new(Step::Receive, Errno(libc::EPROTO)));
    }
    let launch = shared.launch.get();
    shared.prepared.store(0, Release);
    shared.launched.store(launch.number, SeqCst);
    if shared.revoked.load(SeqCst) == launch.number {
        // The supervisor ended the run before the run began, so no failure is stored.
        calls::exit(NOT_STARTED);
    }

    let (program, tracer) =
        standard_descriptors(&launch, &received.descriptors).map_err(at(Step::Descriptors))?;
    runner.backend.limit(shared, &launch, runner.socket)?;
    let bytes = runner
        .shared
        .strings
        .bytes(0, launch.strings_length as usize);
    let counts = [launch.paths, launch.arguments, launch.environment];
    let strings = Strings::lay_out(runner, bytes, counts)?;
    if launch.cpu_words != 0 {
        let words = launch
            .cpus
            .get(..launch.cpu_words as usize)
            .unwrap_or(&launch.cpus);
        let set = calls::set_affinity(words);
        // If no CPUs are named, the current affinity is correct, because it has included all CPUs
        // since the start.
        if launch.cpus_named != 0 {
            set.map_err(at(Step::Affinity))?;
        }
    }
    // The runner's descriptors already have O_CLOEXEC. This call is a second safeguard.
    calls::close_range(3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC).map_err(at(Step::Descriptors))?;
    enter_working_directory(strings.working_directory)?;
    set_requested_rlimits(runner, &launch, calls::set_rlimits)?;
    if tracer >= 0 {
        wait_for_tracer(tracer).map_err(at(Step::Trace))?;
    }
    let mut start = read_counters(runner, launch.number)?;
    if let Some(program) = prepared.seccomp {
        shared.start.set(start);
        calls::attach_seccomp(program).map_err(at(Step::Seccomp))?;
        // From here to the exec, a seccomp program that the target has attached itself sees
        // clock_gettime, pread64 and execveat, and after a failure faccessat and exit_group. Only
        // execveat must be allowed. If another call fails, the counters from before the attachment
        // are used, which adds a few microseconds to the run. If a call ends the process, the run
        // has ended. The counters only grow, so a faked empty answer does not lower them.
        if let Ok(later) = read_counters(runner, launch.number)
            && later.exec_ns >= start.exec_ns
            && later.cpu_ns >= start.cpu_ns
        {
            start = later;
        }
    }
    shared.start.set(start);
    let (errno, interpreter_missing) = execute(&strings, program);
    Err(Failure {
        interpreter_missing: interpreter_missing as u32,
        ..Failure::new(Step::Exec, errno)
    })
}

/// Sets the resource limits that depend on the launch.
pub fn set_requested_rlimits(
    runner: &Runner,
    launch: &Launch,
    set: impl Fn(u32, u64, u64) -> crate::sys::Result<()>,
) -> Result<(), Failure> {
    if launch.rlimit_mask & 1 << libc::RLIMIT_NOFILE == 0 {
        let [(resource, soft, hard), ..] = runner.target_rlimits;
        let most = u64::from(launch.nofile);
        set(resource, soft.min(most), hard.min(most)).map_err(at_rlimit(resource))?;
    }
    for resource in 0..16u32 {
        if launch.rlimit_mask & 1 << resource != 0 {
            let value = launch
                .rlimits
                .get(resource as usize)
                .copied()
                .unwrap_or(UNLIMITED);
            // With a limit of 0 no core is written either, but the kernel starts the host's core
            // handler; see `DEFAULT_RLIMITS`. The current value is 1, or 0 if the caller's limit is
            // 0.
            if resource == libc::RLIMIT_CORE && value == 0 {
                continue;
            }
            set(resource, value, value).map_err(at_rlimit(resource))?;
        }
    }
    Ok(())
}

/// Executes the program of a template.
fn execute_template(runner: &Runner, program: &Program) -> Result<Never, Failure> {
    let Prepare {
        strings,
        arguments,
        environment,
        ..
    } = program.order;
    let strings = Strings::lay_out(runner, strings, [1, *arguments, *environment])?;
    runner
        .backend
        .limit_template(runner.shared, program.order)?;
    runner.shared.start.set(read_counters(runner, 0)?);
    calls::dup3(program.control, CONTROL, 0).map_err(at(Step::Descriptors))?;
    let first = CONTROL as u32 + 1;
    calls::close_range(first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
        .map_err(at(Step::Descriptors))?;
    let (errno, interpreter_missing) = execute(&strings, -1);
    Err(Failure {
        interpreter_missing: interpreter_missing as u32,
        ..Failure::new(Step::Exec, errno)
    })
}

/// Reads the counters at the start of launch `number`.
fn read_counters(runner: &Runner, number: u64) -> Result<Start, Failure> {
    let mut start = Start {
        number,
        ..Start::default()
    };
    if matches!(runner.backend, Backend::Rlimit) {
        // The figures of wait4(2) begin with the process, before its exec.
        start.cpu_ns = calls::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
    } else {
        // The kernel adds a running process's time to its cgroup when it is scheduled away or at a
        // tick. Reading its CPU clock adds it now (task_sched_runtime() in kernel/sched/core.c);
        // otherwise time before the exec would count as the program's.
        let _ = calls::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        runner.backend.start(&mut start)?;
    }
    start.exec_ns = calls::monotonic_raw_ns();
    Ok(start)
}

/// Returns the next descriptor. The kernel drops descriptors that exceed the limit of the process
/// (unix(7), MSG_CTRUNC).
fn next_descriptor(received: &mut impl Iterator<Item = i32>) -> crate::sys::Result<i32> {
    received
        .next()
        .filter(|&fd| fd >= 0)
        .ok_or(Errno(libc::EMFILE))
}

/// Puts the standard streams at 0, 1 and 2. If a stream is missing, its descriptor still refers to
/// the null device, which pid1 has opened for this run. Returns the descriptors of the program and
/// the tracer's socket; -1 stands for a missing one.
fn standard_descriptors(launch: &Launch, received: &[i32]) -> crate::sys::Result<(i32, i32)> {
    let mut next = received.iter().copied();
    for standard in 0..3 {
        if launch.descriptors & 1 << standard != 0 {
            calls::dup3(next_descriptor(&mut next)?, standard, 0)?;
        }
    }
    let mut next_if = |bit: u32| match launch.descriptors & 1 << bit {
        0 => Ok(-1),
        _ => next_descriptor(&mut next),
    };
    Ok((next_if(3)?, next_if(4)?))
}

/// Asks the client to trace this process, and waits until it does. The exec closes the socket.
///
/// The kernel then requires that the target is dumpable, or that the client has CAP_SYS_PTRACE in
/// the user namespace in which the supervisor was executed, which is the host's. As this memory
/// belongs to the runner too, it is dumpable only while the target waits. No process of any run can
/// use that: tracing also requires CAP_SYS_PTRACE in the target's user namespace, which only the
/// owner of the supervisor's user namespace has.
fn wait_for_tracer(socket: i32) -> crate::sys::Result<()> {
    calls::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0)?;
    let traced = ask_tracer(socket);
    calls::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0)?;
    traced
}

fn ask_tracer(socket: i32) -> crate::sys::Result<()> {
    calls::send(socket, &[message::LAUNCH])?;
    let mut errno = [0];
    match calls::receive(socket, &mut errno, 0)?.length {
        1 if errno[0] == 0 => Ok(()),
        1 => Err(Errno(errno[0].into())),
        // The tracer has ended.
        _ => Err(Errno(libc::ECONNRESET)),
    }
}

/// The addresses of a launch's strings.
struct Strings {
    working_directory: *const u8,
    /// The number of the program's paths in the pointer array.
    paths: u32,
    arguments: usize,
    environment: usize,
    /// The index of the first path in the pointer array.
    first_path: usize,
}

impl Strings {
    /// Builds the pointer arrays for execve(2): argv NULL envp NULL paths. `counts` contains the
    /// numbers of paths, arguments and environment strings.
    fn lay_out(runner: &Runner, bytes: &[u8], counts: [u32; 3]) -> Result<Strings, Failure> {
        let too_long = || Failure::new(Step::Arguments, Errno(libc::E2BIG));
        let [paths, arguments, environment] = counts;
        let base = bytes.as_ptr() as usize;
        let mut at = 0usize;
        let mut next = || -> Result<usize, Failure> {
            let begin = at;
            let rest = bytes.get(begin..).ok_or_else(too_long)?;
            let length = rest
                .iter()
                .position(|&byte| byte == 0)
                .ok_or_else(too_long)?;
            at = begin + length + 1;
            Ok(base + begin)
        };
        let place = |index: usize, address: usize| {
            if runner.pointers.set(index, address) {
                Ok(())
            } else {
                Err(too_long())
            }
        };
        let working_directory = next()? as *const u8;
        let (arguments, environment) = (arguments as usize, environment as usize);
        let first_path = arguments + environment + 2;
        for path in 0..paths as usize {
            place(first_path + path, next()?)?;
        }
        for argument in 0..arguments {
            place(argument, next()?)?;
        }
        place(arguments, 0)?;
        for variable in 0..environment {
            place(arguments + 1 + variable, next()?)?;
        }
        place(arguments + 1 + environment, 0)?;
        Ok(Strings {
            working_directory,
            paths,
            arguments: runner.pointers.address(0),
            environment: runner.pointers.address(arguments + 1),
            first_path: runner.pointers.address(first_path),
        })
    }
}

fn enter_working_directory(path: *const u8) -> Result<(), Failure> {
    let path = calls::string_at(path);
    if path == c"/" {
        // pid1 has already received the launch.
        return Ok(());
    }
    calls::chdir(path).map_err(at(Step::WorkingDirectory))
}

/// Tries to execute the program. Returns the error, and whether the program's file exists.
fn execute(strings: &Strings, program: i32) -> (Errno, bool) {
    if program >= 0 {
        let empty: &CStr = c"";
        let errno = calls::execveat(
            program,
            empty.as_ptr().cast(),
            strings.arguments,
            strings.environment,
            libc::AT_EMPTY_PATH,
        );
        return (errno, errno == Errno(libc::ENOENT));
    }
    // Like execvp(3), continue after "not found" and remember "permission denied".
    let mut best = (Errno(libc::ENOENT), false);
    for index in 0..strings.paths as usize {
        let path = calls::pointer_at(strings.first_path + index * size_of::<usize>());
        let errno = calls::execveat(
            libc::AT_FDCWD,
            path,
            strings.arguments,
            strings.environment,
            0,
        );
        match errno.0 {
            libc::ENOENT if calls::exists(path) => best = (errno, true),
            libc::ENOENT | libc::ENOTDIR if strings.paths > 1 => {}
            libc::EACCES if strings.paths > 1 => best = (errno, false),
            _ => return (errno, false),
        }
    }
    best
}
