//! The command line of `millibox run`.

use super::mounts::{Mounts, WORLD};
use crate::machine;
use crate::values;
use clap::ValueEnum;
use clap::builder::{OsStringValueParser, PathBufValueParser, TypedValueParser};
use millibox::{Network, Request, STANDARD_ENVIRONMENT};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// The directories in which a name is looked up if the environment has no PATH.
pub const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

const LIMITS: &str = "Limits (only --process-limit has a default)";
const STREAMS: &str = "Streams";

/// Options of `millibox run`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "millibox run [OPTIONS] -- PROGRAM [ARG...]",
    after_help = "`millibox run --help` explains each option and gives examples.",
    after_long_help = "\
PROGRAM:
  A name without `/` is looked up in the directories of PATH, which --env sets. The default is
  /usr/local/bin, /usr/bin and /bin. All of these are paths inside the sandbox.
  A path with `/` names, in this order:
    1. a file inside the sandbox (relative to --cwd), if a mount shows that path;
    2. a file of the host (relative to the current directory) that a mount shows at another path;
    3. a file of the host that the sandbox does not show; it must not be a script.

Exit status:
  the program's exit status, if it exited
  128+N  signal N ended the program, or ended millibox, which then killed the program
  123    memory limit or output limit
  124    real-time limit or CPU-time limit
  125    the sandbox failed, or an option is wrong
  126    the program cannot be executed
  127    the program was not found

Examples:
  Judge a submission on one test:
    millibox run --memory-limit 256M --cpu-time-limit 2s --real-time-limit 6s --process-limit 1 \\
        --output-limit 64M --stdin 1.in --stdout 1.out --report 1.json -- ./solution

  A shell for exploring the sandbox. It has its own session and thus no controlling terminal (it
  prints \"can't access tty; job control turned off\"). Ctrl-C ends the whole run:
    millibox run --proc /proc --env PS1='sandbox$ ' -- sh -i

  A script with its directory and a small temporary directory:
    millibox run --ro . --tmpfs /tmp:16M:1000 --cwd \"$PWD\" -- python3 main.py

  Find out what a program lacks in the sandbox (here: /etc/localtime, hence the wrong time zone):
    millibox run --explain -- date

  A single static program in an empty world:
    millibox run --bare --ro ./hello:/hello -- /hello"
)]
pub struct Args {
    /// Limit the time from the start of the program to its end
    ///
    /// Units: ns, us, ms, s, m, h, d; parts are added, as in 1m 30s.
    ///
    /// Example: --real-time-limit 1.5s
    #[arg(
        long,
        value_name = "TIME",
        value_parser = values::time,
        allow_hyphen_values = true,
        help_heading = LIMITS,
    )]
    pub real_time_limit: Option<Duration>,
    /// Limit user and system CPU time of all processes together
    ///
    /// Units: ns, us, ms, s, m, h, d; parts are added, as in 1m 30s.
    ///
    /// Example: --cpu-time-limit 500ms
    #[arg(
        long,
        value_name = "TIME",
        value_parser = values::time,
        allow_hyphen_values = true,
        help_heading = LIMITS,
    )]
    pub cpu_time_limit: Option<Duration>,
    /// Limit the memory of all processes together
    ///
    /// This includes anonymous memory, page cache, tmpfs and kernel memory. Units: K, M, G, T, P,
    /// powers of 1024 (KiB and KB mean the same); a plain number means bytes. The minimum is 1M.
    /// Without --swap-limit, the run may not use swap.
    ///
    /// Example: --memory-limit 64M
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = values::memory,
        allow_hyphen_values = true,
        help_heading = LIMITS,
    )]
    pub memory_limit: Option<u64>,
    /// Allow this amount of swap in addition to the memory limit
    ///
    /// Requires --memory-limit, and has the same units.
    ///
    /// Example: --swap-limit 16M
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = values::size,
        allow_hyphen_values = true,
        help_heading = LIMITS,
    )]
    pub swap_limit: Option<u64>,
    /// Limit the number of processes and threads, including the program itself [default: 512]
    ///
    /// At the limit, fork(2) and clone(2) fail with EAGAIN and the program continues.
    ///
    /// Example: --process-limit 1
    #[arg(
        long,
        value_name = "N",
        value_parser = values::number::<u32>(1, Request::MAX_PROCESS_LIMIT.into()),
        allow_hyphen_values = true,
        help_heading = LIMITS,
    )]
    pub process_limit: Option<u32>,
    /// Limit the combined size of standard output and standard error
    ///
    /// If the program writes more, it is killed, and exactly this many bytes are passed on. No file
    /// that the program writes may grow beyond the limit. Units as for --memory-limit.
    ///
    /// Example: --output-limit 16M
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = values::size,
        allow_hyphen_values = true,
        help_heading = LIMITS,
    )]
    pub output_limit: Option<u64>,
    /// Limit CPU time to MAX in every PERIOD, on all CPUs together
    ///
    /// The program is slowed down, not ended. MAX is at least 1ms; PERIOD is from 1ms to 1s. Units
    /// as for --cpu-time-limit.
    ///
    /// Example: --cpu-bandwidth 50ms/100ms (half a CPU)
    #[arg(long, value_name = "MAX/PERIOD", value_parser = values::bandwidth, help_heading = LIMITS)]
    pub cpu_bandwidth: Option<(Duration, Duration)>,
    /// Set a resource limit of each process, soft and hard (setrlimit(2))
    ///
    /// VALUE is a number, a size (units as for --memory-limit) or `unlimited`. Each NAME can be
    /// given once. NOFILE defaults to 1024, and its maximum is 4096. If memory and processes are
    /// limited, the default is one file for each 17 KiB of a process's share of the memory limit,
    /// but at least 64, because the kernel does not charge the buffer of a half-read directory to
    /// any cgroup. CORE defaults to 1, and 0 means 1: no core dump is written, and the host's core
    /// handler is not started (core(5)).
    ///
    /// Example: --rlimit STACK=unlimited --rlimit NOFILE=64
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::rlimit, help_heading = LIMITS)]
    pub rlimit: Vec<(String, u64)>,
    /// Run the program on these CPUs
    ///
    /// LIST contains numbers and ranges. The built-in seccomp profiles keep programs from choosing
    /// other CPUs.
    ///
    /// Example: --cpus 0,2,4-7
    #[arg(long, value_name = "LIST", value_parser = values::cpus, help_heading = LIMITS)]
    pub cpus: Option<values::Cpus>,

    #[command(flatten)]
    pub mounts: Mounts,
    /// Start with an empty world
    ///
    /// The default world has the system's programs and libraries (/usr, /bin, /lib, ...,
    /// read-only), /dev with null, zero, full, random and urandom, and an empty writable /tmp.
    /// Options that mount at these paths replace them.
    #[arg(long, help_heading = WORLD)]
    pub bare: bool,
    /// Set the user id inside the sandbox [default: the id outside]
    ///
    /// It gives no rights outside the sandbox.
    ///
    /// Example: --uid 1000
    #[arg(
        long,
        value_name = "ID",
        value_parser = values::id,
        allow_hyphen_values = true,
        help_heading = WORLD,
    )]
    pub uid: Option<u32>,
    /// Set the group id inside the sandbox [default: the id outside]
    ///
    /// Example: --gid 1000
    #[arg(
        long,
        value_name = "ID",
        value_parser = values::id,
        allow_hyphen_values = true,
        help_heading = WORLD,
    )]
    pub gid: Option<u32>,
    /// Set the working directory inside the sandbox [default: /]
    ///
    /// Example: --cwd /work
    #[arg(
        long,
        value_name = "PATH",
        value_parser = OsStringValueParser::new().try_map(values::inside),
        help_heading = WORLD,
    )]
    pub cwd: Option<PathBuf>,
    /// Set an environment variable; the program inherits none
    ///
    /// Can be repeated. The last value of a NAME applies. Without `--bare`, PATH is
    /// /usr/local/bin:/usr/bin:/bin, HOME is /tmp and LANG is C.UTF-8 unless the option sets them.
    ///
    /// Example: --env LANG=C.UTF-8 --env HOME=/tmp
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_parser = OsStringValueParser::new().try_map(values::variable),
        help_heading = WORLD,
    )]
    pub env: Vec<(OsString, OsString)>,
    /// Set the network: none, or the run's own loopback interface [default: loopback]
    ///
    /// With `none`, the default seccomp profile denies sockets of AF_INET, AF_INET6 and AF_NETLINK.
    /// With `--bare`, `none` is the default.
    ///
    /// Example: --net none
    #[arg(long, value_name = "WHICH", value_enum, help_heading = WORLD)]
    pub net: Option<Net>,
    /// Choose the allowed system calls [default: default]
    ///
    /// `default` suits programs in all common languages. `strict` suits programs that read, compute
    /// and write. `none` allows all system calls; use it only for measurements. PROFILE can also be
    /// a file or pipe with a TOML policy (docs/reference/seccomp.md) or a compiled BPF program
    /// (struct sock_filter[]).
    ///
    /// Example: --seccomp ./no-sockets.toml
    #[arg(long, value_name = "PROFILE", help_heading = WORLD)]
    pub seccomp: Option<OsString>,

    /// Read standard input from this file
    ///
    /// By default, the program reads millibox's own standard input. If the file is a FIFO, millibox
    /// waits for a writer before the run. If --stdout or --stderr names a FIFO, it waits for a
    /// reader.
    ///
    /// Example: --stdin /dev/null
    #[arg(
        long,
        value_name = "PATH",
        value_parser = PathBufValueParser::new().try_map(values::stream),
        help_heading = STREAMS,
    )]
    pub stdin: Option<PathBuf>,
    /// Write standard output to this file, which is truncated first
    ///
    /// By default, the program writes to millibox's own standard output.
    ///
    /// Example: --stdout 1.out
    #[arg(
        long,
        value_name = "PATH",
        value_parser = PathBufValueParser::new().try_map(values::stream),
        help_heading = STREAMS,
    )]
    pub stdout: Option<PathBuf>,
    /// Write standard error to this file, which is truncated first
    ///
    /// It may be the same file as for --stdout.
    ///
    /// Example: --stderr errors.txt
    #[arg(
        long,
        value_name = "PATH",
        value_parser = PathBufValueParser::new().try_map(values::stream),
        help_heading = STREAMS,
    )]
    pub stderr: Option<PathBuf>,
    /// Write the result of the run to this file, as one JSON object
    ///
    /// A regular file is replaced atomically at the end. Use - for standard output, and /dev/stderr
    /// for standard error. Keys: outcome (exited, signaled, real_time_limit, cpu_time_limit,
    /// memory_limit, output_limit, cancelled, killed, not_started, sandbox_error), exit_code,
    /// signal, real_time_ns, cpu_user_ns, cpu_system_ns, peak_memory_bytes, peak_processes,
    /// backend, error {step, errno, message}. An option with a wrong value is reported as
    /// sandbox_error. No report is written if an option is unknown, or if the report would replace
    /// the file of another stream.
    ///
    /// Example: --report figures.json
    #[arg(long, value_name = "PATH", help_heading = STREAMS)]
    pub report: Option<PathBuf>,
    /// Do not print why the program ended
    ///
    /// By default, a line on standard error names the limit or signal that ended the program.
    /// Errors of the sandbox are always printed.
    #[arg(long, short, help_heading = STREAMS)]
    pub quiet: bool,

    /// Explain what the program lacked: refused system calls, and missing files that the host has
    ///
    /// After the report, standard error lists each system call that the seccomp policy refused,
    /// with the rule. It also lists each path that the program could not use although the host has
    /// it, with the option that would show it. The report has the same lists under the key
    /// `explain`. The run is traced and much slower: its figures must not decide a verdict. This
    /// option gives the program no further rights, but the program can hide from the trace.
    ///
    /// Example: --explain -- date
    #[arg(long, help_heading = STREAMS)]
    pub explain: bool,

    /// Measure this many runs as copies of one prepared Python interpreter
    ///
    /// The interpreter is started once, and each run is a copy of it. All runs except the last have
    /// no input and no output. A line on standard error shows the median of their times. With
    /// options of the interpreter, such as -u, each copy starts the interpreter again.
    ///
    /// Example: --prepared 1000 -- python3 -c pass
    #[arg(
        long,
        value_name = "RUNS",
        value_parser = clap::value_parser!(u32).range(1..).map(|runs| runs as usize),
        help_heading = STREAMS,
    )]
    pub prepared: Option<usize>,

    #[command(flatten)]
    pub machine: machine::Options,

    /// The program and its arguments; see PROGRAM below
    #[arg(
        value_name = "PROGRAM",
        help_heading = "Program",
        required = true,
        trailing_var_arg = true
    )]
    pub program: Vec<OsString>,
}

impl Args {
    /// The environment of the program.
    pub fn environment(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let defaults: &[_] = if self.bare {
            &[]
        } else {
            &STANDARD_ENVIRONMENT
        };
        let is_set = |env: &[(OsString, OsString)], name: &OsStr| env.iter().any(|it| it.0 == name);
        let defaults = defaults
            .iter()
            .map(|(name, value)| (OsStr::new(name), OsStr::new(value)))
            .filter(move |(name, _)| !is_set(&self.env, name));
        let given = self.env.iter().enumerate();
        // The last value of a variable applies, as in a shell.
        let given = given.filter(move |(index, (name, _))| !is_set(&self.env[index + 1..], name));
        defaults.chain(given.map(|(_, (name, value))| (name.as_os_str(), value.as_os_str())))
    }

    /// The network of the run.
    pub fn network(&self) -> Network {
        match self.net {
            Some(net) => net.into(),
            None if self.bare => Network::None,
            None => Network::Loopback,
        }
    }
}

/// Values of `--net`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Net {
    None,
    Loopback,
}

impl From<Net> for Network {
    fn from(net: Net) -> Network {
        match net {
            Net::None => Network::None,
            Net::Loopback => Network::Loopback,
        }
    }
}
