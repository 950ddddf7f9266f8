//! The command line of `millibox run`.

use super::mounts::Mounts;
use crate::machine;
use crate::values;
use clap::ValueEnum;
use clap::builder::{OsStringValueParser, PathBufValueParser, TypedValueParser};
use millibox::{Network, Request};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const LIMITS: &str = "Limits (none unless given, apart from --process-limit)";
pub(super) const WORLD: &str = "World (what the program sees)";
const STREAMS: &str = "Streams";

/// Options of `millibox run`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "millibox run [OPTIONS] -- PROGRAM [ARG...]",
    after_help = "`millibox run --help` explains each option and gives examples.",
    after_long_help = "\
PROGRAM:
  A name without `/` is looked for in the directories of PATH as --env gives it, or else in
  /usr/local/bin, /usr/bin and /bin, all inside the sandbox.
  A path is taken as a path inside the sandbox (relative: from --cwd) if a file or directory of the
  host is mounted over it. Else, a file of the host (relative: from the current directory) that a
  mount shows elsewhere is run from there. Else, the file of the host itself is run, although the
  program cannot see it: it must be an executable, not a script.

Exit status:
  the program's own, if it exited
  128+N  signal N ended the program, or millibox (then the program was killed)
  123    memory limit or output limit
  124    real-time limit or CPU-time limit
  125    the sandbox failed, or an option is wrong
  126    the program cannot be executed
  127    the program was not found

Examples:
  Judge a submission on one test:
    millibox run --memory-limit 256M --cpu-time-limit 2s --real-time-limit 6s --process-limit 1 \\
        --output-limit 64M --stdin 1.in --stdout 1.out --report 1.json -- ./solution

  A shell to look around in the sandbox. It leads a session of its own, so it has no terminal (it
  says \"can't access tty; job control turned off\"), and Ctrl-C ends the whole run:
    millibox run --proc /proc --env PS1='sandbox$ ' -- sh -i

  A script that needs its directory and a small scratch space:
    millibox run --ro . --tmpfs /tmp:16M:1000 --cwd \"$PWD\" -- python3 main.py

  Nothing but one static program:
    millibox run --bare --ro ./hello:/hello -- /hello"
)]
pub struct Args {
    /// Time from the start of the program to its end
    ///
    /// Units: ns, us, ms, s, m, h, d; parts are added up, as in 1m 30s.
    ///
    /// Example: --real-time-limit 1.5s
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, help_heading = LIMITS)]
    pub real_time_limit: Option<Duration>,
    /// User and system CPU time of all processes together
    ///
    /// Units: ns, us, ms, s, m, h, d; parts are added up, as in 1m 30s.
    ///
    /// Example: --cpu-time-limit 500ms
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true, help_heading = LIMITS)]
    pub cpu_time_limit: Option<Duration>,
    /// Memory of all processes together
    ///
    /// Anonymous memory, page cache of what they write, tmpfs, kernel memory. Units: K, M, G, T, P,
    /// powers of 1024 (KiB and KB mean the same); bytes without one. At least 1M. No swap beside it
    /// unless --swap-limit gives some.
    ///
    /// Example: --memory-limit 64M
    #[arg(long, value_name = "SIZE", value_parser = values::memory, allow_hyphen_values = true, help_heading = LIMITS)]
    pub memory_limit: Option<u64>,
    /// Swap on top of the memory limit
    ///
    /// Needs --memory-limit, and has its units.
    ///
    /// Example: --swap-limit 16M
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_hyphen_values = true, help_heading = LIMITS)]
    pub swap_limit: Option<u64>,
    /// Processes and threads at one time, including the program itself [default: 512]
    ///
    /// At the limit, fork(2) and clone(2) fail with EAGAIN and the program goes on.
    ///
    /// Example: --process-limit 1
    #[arg(long, value_name = "N", value_parser = values::number::<u32>(1, Request::MAX_PROCESS_LIMIT.into()), allow_hyphen_values = true, help_heading = LIMITS)]
    pub process_limit: Option<u32>,
    /// Bytes of standard output and standard error together
    ///
    /// Exactly so many come out, and the program is ended when it writes more. No single file that
    /// the program writes may become larger either. Units as of --memory-limit.
    ///
    /// Example: --output-limit 16M
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_hyphen_values = true, help_heading = LIMITS)]
    pub output_limit: Option<u64>,
    /// At most MAX of CPU time in every PERIOD, all CPUs together
    ///
    /// The program is slowed down, not ended. MAX is at least 1ms, PERIOD from 1ms to 1s; units as
    /// of --cpu-time-limit.
    ///
    /// Example: --cpu-bandwidth 50ms/100ms (half a CPU)
    #[arg(long, value_name = "MAX/PERIOD", value_parser = values::bandwidth, help_heading = LIMITS)]
    pub cpu_bandwidth: Option<(Duration, Duration)>,
    /// Resource limit of each process, soft and hard (setrlimit(2))
    ///
    /// VALUE is a number, a size (units as of --memory-limit) or `unlimited`. Can be given once for
    /// each NAME. Without it a process may have 1024 files open, or fewer if memory and processes
    /// are limited: one for each 17 KiB that a process has of the memory limit, 64 at least, since
    /// the kernel charges nobody for what a half-read directory keeps. With it up to 4096. CORE is
    /// 1 without it, and for 0: no core, and no handler of the host's is asked for one (core(5)).
    ///
    /// Example: --rlimit STACK=unlimited --rlimit NOFILE=64
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::rlimit, help_heading = LIMITS)]
    pub rlimit: Vec<(String, u64)>,
    /// CPUs that may be used
    ///
    /// Numbers and ranges. The built-in seccomp profiles let no program choose others.
    ///
    /// Example: --cpus 0,2,4-7
    #[arg(long, value_name = "LIST", value_parser = values::cpus, help_heading = LIMITS)]
    pub cpus: Option<values::Cpus>,

    #[command(flatten)]
    pub mounts: Mounts,
    /// Begin with nothing at all
    ///
    /// Without this there are the system's programs and libraries (/usr, /bin, /lib, ...,
    /// read-only), /dev with null, zero, full, random and urandom, and an empty writable /tmp;
    /// options that mount something there replace it.
    #[arg(long, help_heading = WORLD)]
    pub bare: bool,
    /// User id inside; without it the same as outside
    ///
    /// It gives no rights outside.
    ///
    /// Example: --uid 1000
    #[arg(long, value_name = "ID", value_parser = values::id, allow_hyphen_values = true, help_heading = WORLD)]
    pub uid: Option<u32>,
    /// Group id inside; without it the same as outside
    ///
    /// Example: --gid 1000
    #[arg(long, value_name = "ID", value_parser = values::id, allow_hyphen_values = true, help_heading = WORLD)]
    pub gid: Option<u32>,
    /// Working directory inside; without it /
    ///
    /// Example: --cwd /work
    #[arg(long, value_name = "PATH", value_parser = OsStringValueParser::new().try_map(values::inside), help_heading = WORLD)]
    pub cwd: Option<PathBuf>,
    /// Environment variable; nothing is inherited
    ///
    /// Can be given repeatedly; of one NAME the last counts.
    ///
    /// Example: --env LANG=C.UTF-8 --env HOME=/tmp
    #[arg(long, value_name = "NAME=VALUE", value_parser = OsStringValueParser::new().try_map(values::variable), help_heading = WORLD)]
    pub env: Vec<(OsString, OsString)>,
    /// Network: none at all, or a loopback interface of the run's own
    ///
    /// Without one the default seccomp profile refuses sockets of AF_INET, AF_INET6 and AF_NETLINK.
    ///
    /// Example: --net loopback
    #[arg(long, value_name = "WHICH", value_enum, default_value_t, help_heading = WORLD)]
    pub net: Net,
    /// Which system calls are allowed [default: default]
    ///
    /// `default`: what programs of any common language need. `strict`: a program that reads,
    /// computes and writes. `none`: all, for measuring only. Or a file or pipe: a policy in TOML,
    /// as docs/reference/seccomp.md describes it, or a compiled BPF program (struct sock_filter[]);
    /// which of them, its content says.
    ///
    /// Example: --seccomp ./no-sockets.toml
    #[arg(long, value_name = "PROFILE", help_heading = WORLD)]
    pub seccomp: Option<OsString>,

    /// Read standard input from this file
    ///
    /// Without it the program has millibox's own. A FIFO is waited for until somebody writes to it,
    /// before any limit begins; so are one of --stdout and one of --stderr, until somebody reads.
    ///
    /// Example: --stdin /dev/null
    #[arg(long, value_name = "PATH", value_parser = PathBufValueParser::new().try_map(values::stream), help_heading = STREAMS)]
    pub stdin: Option<PathBuf>,
    /// Write standard output to this file, emptied first
    ///
    /// Without it the program has millibox's own.
    ///
    /// Example: --stdout 1.out
    #[arg(long, value_name = "PATH", value_parser = PathBufValueParser::new().try_map(values::stream), help_heading = STREAMS)]
    pub stdout: Option<PathBuf>,
    /// Write standard error to this file, emptied first
    ///
    /// It may be the file of --stdout.
    ///
    /// Example: --stderr errors.txt
    #[arg(long, value_name = "PATH", value_parser = PathBufValueParser::new().try_map(values::stream), help_heading = STREAMS)]
    pub stderr: Option<PathBuf>,
    /// Write what came of the run to this file, as one JSON object
    ///
    /// A regular file is replaced at once when all is over; - is standard output, /dev/stderr
    /// works. Keys: outcome (exited, signaled, real_time_limit, cpu_time_limit, memory_limit,
    /// output_limit, cancelled, killed, not_started, sandbox_error), exit_code, signal,
    /// real_time_ns, cpu_user_ns, cpu_system_ns, peak_memory_bytes, peak_processes, backend, error
    /// {step, errno, message}. An option with a wrong value is a sandbox_error, too; no report is
    /// written if there is an unknown option, or if it would take the place of another stream's
    /// file.
    ///
    /// Example: --report figures.json
    #[arg(long, value_name = "PATH", help_heading = STREAMS)]
    pub report: Option<PathBuf>,
    /// Do not say why the program ended
    ///
    /// Without it, one line on standard error tells of a limit or a signal that ended the program.
    /// What the sandbox could not do is told in any case.
    #[arg(long, short, help_heading = STREAMS)]
    pub quiet: bool,

    #[command(flatten)]
    pub machine: machine::Options,

    /// The program, and its arguments; see below where it is looked for
    #[arg(
        value_name = "PROGRAM",
        help_heading = "Program",
        required = true,
        trailing_var_arg = true
    )]
    pub program: Vec<OsString>,
}

/// Values of `--net`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Net {
    #[default]
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
