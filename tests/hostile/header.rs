//! Programs and what stands on top of them.
//!
//! A program begins with a comment whose lines between two of `---` are TOML: [`Header`]. Keys and
//! values are explained in README.md beside this file.

use crate::compile::{Built, Failure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// One hostile program.
#[derive(Debug)]
pub struct Program {
    /// File name without its ending.
    pub name: String,
    pub path: PathBuf,
    pub header: Header,
    /// What came of compiling it, once somebody has asked.
    pub built: OnceLock<Result<Built, Failure>>,
}

impl Program {
    /// What the tests of it are called.
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.header.class, self.name)
    }
}

/// What stands on top of a program.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The directory it lies in.
    pub class: String,
    /// What the program attempts.
    pub attempts: String,
    /// What must happen.
    pub must: String,
    /// What holds it.
    pub held_by: String,
    /// Holes of other sandboxes, or of the kernel, whose idea it repeats.
    #[serde(default)]
    pub repeats: Vec<String>,
    /// What must come of the run.
    #[serde(default)]
    pub expect: Expect,
    /// Where something else must come of it; the last one that fits counts.
    #[serde(default)]
    pub except: Vec<Except>,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default = "both_profiles")]
    pub profiles: Vec<Profile>,
    /// What the world has besides [`millibox::World::minimal`], and other things to be arranged.
    #[serde(default)]
    pub with: Vec<With>,
    /// Size and inodes of the tmpfs at /tmp.
    #[serde(default)]
    pub tmp_size: Option<Bytes>,
    #[serde(default)]
    pub tmp_inodes: Option<u64>,
    /// What it uses up is in no figure of memory.
    #[serde(default)]
    pub uncharged: bool,
    /// Two runs: one plants, another looks.
    #[serde(default)]
    pub pair: Option<Pair>,
    /// Without which protection the program must get through.
    #[serde(default)]
    pub control: Option<Control>,
}

fn both_profiles() -> Vec<Profile> {
    vec![Profile::Default, Profile::None]
}

/// An exception from [`Header::expect`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Except {
    /// All of these must hold.
    pub when: Vec<Condition>,
    pub expect: Expect,
    /// Not held here: the reason. Without it, it is held by other means.
    #[serde(default)]
    pub exception: Option<String>,
    /// Not held here, and it should be: what is missing.
    #[serde(default)]
    pub known_failure: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// No cgroups.
    Rlimit,
    Hybrid,
    Cgroup2,
    /// Without seccomp.
    None,
    /// Started by somebody who is not root, who owns what the run's user owns.
    User,
    /// Started by somebody who cannot raise limits: CAP_SYS_RESOURCE is not there.
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
    /// The default profile, and pid1 in an address space of its own.
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
    /// A directory of the host at /shared, read-only; `note` in it may be written by anybody as far
    /// as modes go.
    Shared,
    /// The program itself, writable by anybody as far as modes go, as /shared/program; it is
    /// started from there.
    Program,
    /// The same file, started by a descriptor that is open for reading; the world does not have it.
    ProgramDescriptor,
    /// A loopback interface.
    Loopback,
    /// User and group 0 inside.
    Root,
    /// /sys/fs/cgroup of the host, writable as far as its owner allows.
    Cgroups,
    /// /shared/setuid: a copy of the program that belongs to root and is set-user-id. Needs root.
    Setuid,
    /// /shared/capable: a copy of the program with file capabilities. Needs root.
    FileCapabilities,
    /// /shared/device: a device node (1:5, zero) that anybody may read. Needs root.
    Device,
    /// A terminal as standard input, output going to a pipe.
    Terminal,
    /// The host's mount namespace as standard input.
    NamespaceStdin,
    /// The file /shared/note as standard input, opened for reading.
    FileStdin,
    /// Standard output is a file.
    FileStdout,
    /// Standard output and error are pipes with an output limit together.
    PipeLimit,
    /// The world of the run that looks has a tmpfs at /box/planted besides.
    MountOnPlanted,
    /// /box is the place of a checker's feedback, which is read and removed afterwards as the judge
    /// does.
    Feedback,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pair {
    /// One run after the other.
    After,
    /// Both at one time.
    Beside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// Without the seccomp program.
    Seccomp,
    /// Without limits but the one on real time.
    Limits,
    /// Without any limit; the program ends by itself.
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

/// What may come of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Expect(pub Vec<Ending>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// Exit code 0: the program found that it was refused.
    Contained,
    /// The world could not be made, in words: nothing ran.
    NotStarted,
    /// The sandbox says that it has failed itself.
    SandboxError,
    /// Exit code 1: the program found that it got through.
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
            Outcome::Cancelled | Outcome::Killed => return None,
        })
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Contained => f.write_str("contained"),
            Ending::Escaped => f.write_str("got through"),
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
                    _ => return Err(format!("there is no ending {word:?}")),
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

/// Limits of a run; all are there unless a program says otherwise.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    pub memory: Bytes,
    pub processes: u32,
    pub cpu: Time,
    pub real: Time,
    /// Bytes of output, and of any file; without it, only of output: 8 MiB.
    pub output: Option<Bytes>,
    /// Open files of each process; 0: as many as the sandbox allows those who say nothing. As many
    /// as it ever does by itself, so that an attack has what it may need.
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
            .map_err(|_| format!("{text:?} is no size"))
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
        time.map(Time).ok_or_else(|| format!("{text:?} is no time"))
    }
}

/// All programs below a directory: `CLASS/NAME.{c,py,sh}`, in order.
///
/// # Panics
/// One has no header, or one that makes no sense: that is the program's fault, not the machine's.
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
                    "{}: its class",
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
                    built: OnceLock::new(),
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
    lines.next().ok_or("it has no line that ends with ---")?;
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
