//! Programs and their headers.
//!
//! A program begins with a comment that contains TOML ([`Header`]) between two lines of `---`.
//! README.md describes the keys.

use crate::compile::{Built, Failure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// One hostile program.
#[derive(Debug)]
pub struct Program {
    /// The file name without its extension.
    pub name: String,
    pub path: PathBuf,
    pub header: Header,
    /// The compiled program in each form, after its first use.
    pub executable: OnceLock<Result<Built, Failure>>,
    pub library: OnceLock<Result<Built, Failure>>,
}

impl Program {
    /// The prefix of the names of its tests.
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.header.class, self.name)
    }
}

/// The header of a program.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The name of its directory.
    pub class: String,
    /// What the program attempts.
    pub attempts: String,
    /// The outcome that the attempt must have.
    pub must: String,
    /// The walls that hold the program.
    pub held_by: String,
    /// Published vulnerabilities whose idea the program repeats.
    #[serde(default)]
    pub repeats: Vec<String>,
    /// The expected result.
    #[serde(default)]
    pub expect: Expect,
    /// Conditions with a different expected result. The last matching condition counts.
    #[serde(default)]
    pub except: Vec<Except>,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default = "both_profiles")]
    pub profiles: Vec<Profile>,
    /// Additions to [`millibox::World::minimal`] and to the request.
    #[serde(default)]
    pub with: Vec<With>,
    /// Limits of the tmpfs at /tmp.
    #[serde(default)]
    pub tmp_size: Option<Bytes>,
    #[serde(default)]
    pub tmp_inodes: Option<u64>,
    /// Whether no figure contains the memory that the program uses.
    #[serde(default)]
    pub uncharged: bool,
    /// The program consists of two runs, `plant` and `look`.
    #[serde(default)]
    pub pair: Option<Pair>,
    /// The wall without which the program must succeed.
    #[serde(default)]
    pub control: Option<Control>,
    /// The reason why the program cannot run as a copy of a template.
    #[serde(default)]
    pub no_copy: Option<String>,
}

fn both_profiles() -> Vec<Profile> {
    vec![Profile::Default, Profile::None]
}

/// An exception to [`Header::expect`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Except {
    /// All of these must hold.
    pub when: Vec<Condition>,
    pub expect: Expect,
    /// The reason why the program is not held. If it is missing, another wall holds the program.
    #[serde(default)]
    pub exception: Option<String>,
    /// The missing feature for which the program is known to escape, although it should be held.
    #[serde(default)]
    pub known_failure: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Without cgroups.
    Rlimit,
    Hybrid,
    Cgroup2,
    /// Without seccomp.
    None,
    /// Started by an unprivileged user, which is also the user of the run.
    User,
    /// As a copy of a template.
    Copy,
    /// Started without CAP_SYS_RESOURCE, which is needed to raise limits.
    Bounded,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Condition::Rlimit => "rlimit",
            Condition::Hybrid => "hybrid",
            Condition::Cgroup2 => "cgroup2",
            Condition::None => "without seccomp",
            Condition::User => "started by an unprivileged user",
            Condition::Copy => "as a copy of a template",
            Condition::Bounded => "started without CAP_SYS_RESOURCE",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// The default seccomp profile.
    Default,
    /// No seccomp program.
    None,
    /// The default profile, with pid1 in a separate address space.
    Separate,
}

impl Profile {
    pub fn name(self) -> &'static str {
        match self {
            Profile::Default => "default",
            Profile::None => "none",
            Profile::Separate => "separate pid1",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum With {
    /// A procfs at /proc.
    Proc,
    /// A directory of the host at /box, writable.
    Box,
    /// A directory of the host at /shared, read-only. The mode of its file `note` allows every user
    /// to write.
    Shared,
    /// The program itself at /shared/program, from where it is started. Its mode allows every user
    /// to write.
    Program,
    /// The same file, started from a descriptor that is open for reading. The world does not
    /// contain it.
    ProgramDescriptor,
    /// The additions of the standard world: /dev/shm, /etc, and files in /proc and /sys.
    Standard,
    /// Pseudo-terminals: /dev/pts and /dev/ptmx.
    PseudoTerminals,
    /// A loopback interface.
    Loopback,
    /// User and group 0 inside the world.
    Root,
    /// /sys/fs/cgroup of the host, writable with the permissions of its files.
    Cgroups,
    /// /shared/setuid: a copy of the program that belongs to root and is set-user-id. Needs root.
    Setuid,
    /// /shared/capable: a copy of the program with file capabilities. Needs root.
    FileCapabilities,
    /// /shared/device: a device node (1:5, zero) that every user may read. Needs root.
    Device,
    /// A terminal as standard input. Standard output is a pipe.
    Terminal,
    /// The host's mount namespace as standard input.
    NamespaceStdin,
    /// The file /shared/note as standard input, opened for reading.
    FileStdin,
    /// Standard output is a file.
    FileStdout,
    /// Standard output and error are pipes with a common output limit.
    PipeLimit,
    /// The run has no streams of its own, except that standard output of the runs `look` and `both`
    /// is a pipe.
    NullStreams,
    /// The world of the run `look` also has a tmpfs at /box/planted.
    MountOnPlanted,
    /// /box is the directory for a checker's feedback. After the run, it is read and removed as by
    /// the judge.
    Feedback,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pair {
    /// One run after the other.
    After,
    /// Both runs at the same time.
    Beside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// Without the seccomp program.
    Seccomp,
    /// Without limits, except the real-time limit.
    Limits,
    /// Without limits. The program ends by itself.
    AllLimits,
    /// As a plain process of the same user.
    Bare,
    /// Both runs of a pair as one.
    Together,
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Control::Seccomp => "seccomp",
            Control::Limits | Control::AllLimits => "limits",
            Control::Bare => "any sandbox",
            Control::Together => "two runs",
        })
    }
}

/// The possible endings of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Expect(pub Vec<Ending>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// Exit code 0: the program found that every attempt was refused.
    Contained,
    /// The world could not be created, so no program ran.
    NotStarted,
    /// The sandbox reports its own failure.
    SandboxError,
    /// Exit code 1: the program succeeded.
    Escaped,
    /// Another exit code.
    Exited(i32),
    Signaled(i32),
    RealTimeLimit,
    CpuTimeLimit,
    MemoryLimit,
    OutputLimit,
}

impl Ending {
    pub fn of(outcome: &millibox::Outcome) -> Option<Ending> {
        use millibox::Outcome;
        Some(match outcome {
            Outcome::Exited(0) => Ending::Contained,
            Outcome::Exited(1) => Ending::Escaped,
            Outcome::Exited(code) => Ending::Exited(*code),
            Outcome::Signaled(signal) => Ending::Signaled(*signal),
            Outcome::RealTimeLimit => Ending::RealTimeLimit,
            Outcome::CpuTimeLimit => Ending::CpuTimeLimit,
            Outcome::MemoryLimit => Ending::MemoryLimit,
            Outcome::OutputLimit => Ending::OutputLimit,
            Outcome::NotStarted(_) => Ending::NotStarted,
            Outcome::SandboxError(_) => Ending::SandboxError,
            _ => return None,
        })
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Contained => f.write_str("contained"),
            Ending::Escaped => f.write_str("succeeded"),
            Ending::SandboxError => f.write_str("sandbox failure"),
            Ending::NotStarted => f.write_str("not started"),
            Ending::Exited(code) => write!(f, "exited {code}"),
            Ending::Signaled(signal) => write!(f, "signal {signal}"),
            Ending::RealTimeLimit => f.write_str("real-time limit"),
            Ending::CpuTimeLimit => f.write_str("CPU-time limit"),
            Ending::MemoryLimit => f.write_str("memory limit"),
            Ending::OutputLimit => f.write_str("output limit"),
        }
    }
}

impl Default for Expect {
    fn default() -> Expect {
        Expect(vec![Ending::Contained])
    }
}

impl TryFrom<String> for Expect {
    type Error = String;

    fn try_from(text: String) -> Result<Expect, String> {
        let ending = |word: &str| {
            let number = |rest: &str| {
                rest.trim()
                    .parse()
                    .map_err(|_| format!("{word:?} has no number"))
            };
            Ok(match word {
                "contained" => Ending::Contained,
                "escaped" => Ending::Escaped,
                "sandbox_error" => Ending::SandboxError,
                "not_started" => Ending::NotStarted,
                "real_time_limit" => Ending::RealTimeLimit,
                "cpu_time_limit" => Ending::CpuTimeLimit,
                "memory_limit" => Ending::MemoryLimit,
                "output_limit" => Ending::OutputLimit,
                _ => match (word.strip_prefix("exited"), word.strip_prefix("signaled")) {
                    (Some(rest), _) => Ending::Exited(number(rest)?),
                    (_, Some(rest)) => Ending::Signaled(number(rest)?),
                    _ => return Err(format!("unknown ending {word:?}")),
                },
            })
        };
        Ok(Expect(
            text.split(" or ")
                .map(|word| ending(word.trim()))
                .collect::<Result<_, String>>()?,
        ))
    }
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    pub memory: Bytes,
    pub processes: u32,
    pub cpu: Time,
    pub real: Time,
    /// Bytes of output and of each file. By default, 8 MiB of output and no limit on files.
    pub output: Option<Bytes>,
    /// Open files of each process; 0 selects the sandbox's default. The default here is the highest
    /// default of the sandbox, so that an attack has enough of them.
    pub descriptors: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory: Bytes(64 << 20),
            processes: 16,
            cpu: Time(Duration::from_secs(20)),
            real: Time(Duration::from_secs(45)),
            output: None,
            descriptors: 1024,
        }
    }
}

/// A size: "64M".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Bytes(pub u64);

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Bytes, String> {
        let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
            Some(digits) => (
                digits,
                1 << if text.ends_with('K') {
                    10
                } else if text.ends_with('M') {
                    20
                } else {
                    30
                },
            ),
            None => (text.as_str(), 1),
        };
        digits
            .parse::<u64>()
            .map(|number| Bytes(number * unit))
            .map_err(|_| format!("{text:?} is not a size"))
    }
}

/// A time: "300ms", "2s".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(pub Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Time, String> {
        let time = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(digits), _) => digits.parse().ok().map(Duration::from_millis),
            (_, Some(digits)) => digits.parse().ok().map(Duration::from_secs),
            _ => None,
        };
        time.map(Time)
            .ok_or_else(|| format!("{text:?} is not a time"))
    }
}

/// Reads all programs in a directory, `CLASS/NAME.{c,py,sh}`, and sorts them by name.
///
/// # Panics
/// Panics if a program has no header or an invalid header.
pub fn all(directory: &Path) -> std::io::Result<Vec<Program>> {
    let mut programs = Vec::new();
    for class in std::fs::read_dir(directory)? {
        let class = class?.path();
        if !class.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&class)? {
            let path = file?.path();
            if path
                .extension()
                .is_some_and(|ending| ending == "c" || ending == "py" || ending == "sh")
            {
                let text = std::fs::read_to_string(&path)?;
                let header =
                    header(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
                assert_eq!(
                    class.file_name(),
                    Some(header.class.as_ref()),
                    "{}: the class must be the name of the directory",
                    path.display()
                );
                let name = path
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                programs.push(Program {
                    name,
                    path,
                    header,
                    executable: OnceLock::new(),
                    library: OnceLock::new(),
                });
            }
        }
    }
    programs.sort_by_key(Program::full_name);
    Ok(programs)
}

fn header(text: &str) -> Result<Header, String> {
    let plain = |line: &str| line.trim_start_matches("# ").to_owned();
    let mut lines = text.lines().skip_while(|line| !line.ends_with("---"));
    lines
        .next()
        .ok_or("the file has no line that ends with ---")?;
    let lines: Vec<String> = lines
        .take_while(|line| !line.contains("---"))
        .map(plain)
        .collect();
    let header: Header = toml::from_str(&lines.join("\n")).map_err(|error| error.to_string())?;
    let texts = [&header.attempts, &header.must, &header.held_by];
    if texts.iter().any(|text| text.is_empty()) {
        return Err("attempts, must and held_by must not be empty".to_owned());
    }
    Ok(header)
}
