//! The configuration of the service: a TOML file and options of the command, with defaults for
//! everything.

mod origin;
mod peers;
mod requests;
mod served;
mod tmpfs;

pub use origin::Origin;
#[cfg(test)]
pub use origin::OriginError;
pub use peers::{GoJudgeConfig, Judge0Config, PistonConfig, PistonLimits};
pub use requests::RequestsConfig;
#[cfg(test)]
pub use served::ServedDialectError;
pub use served::{ServedDialect, dialect_of};
pub use tmpfs::{TmpfsError, TmpfsOptions};

use crate::core::program::RunLimits;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// The address on which the service listens if none is configured.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8080";

/// The configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The addresses to listen on. An address with a dialect serves only that dialect; an address
    /// without a dialect serves everything.
    pub listen: Vec<Listen>,
    /// The path of a Unix socket that serves everything.
    pub unix_socket: Option<PathBuf>,
    /// Clients that may use the service. Without tokens, every client that can connect may use the
    /// service.
    pub token: Vec<TokenConfig>,
    /// Origins of web pages that may use a service without tokens, in addition to its own pages.
    pub trusted_origins: Vec<Origin>,
    /// Dialects that are served in addition to the service's own interface.
    pub dialects: Vec<ServedDialect>,
    /// Limits of runs.
    pub limits: LimitsConfig,
    /// Bounds of the queue.
    pub queue: QueueConfig,
    /// Bounds of running requests.
    pub running: RunningConfig,
    /// The memory of the service that requests hold.
    pub requests: RequestsConfig,
    /// Stored files.
    pub files: FilesConfig,
    /// Stored results of runs and judgings.
    pub results: ResultsConfig,
    /// The directory of additional language suites.
    pub suites: Option<PathBuf>,
    /// The languages to offer, such as `cpp` and `python3`. By default, the service offers all
    /// languages.
    pub languages: Option<Vec<String>>,
    /// Directories of Piston packages that serve as runtimes of the Piston dialect.
    pub piston_packages: Vec<PathBuf>,
    /// Whether runs may be explained. An explanation tells clients which files of the host exist.
    pub explain: bool,
    /// The maximum number of simultaneous connections. Additional connections wait to be accepted.
    pub max_connections: usize,
    /// The largest body of a request, in bytes.
    pub max_body_bytes: usize,
    /// How long running requests may continue after SIGTERM, in milliseconds.
    pub drain_ms: u64,
    /// Limits of the go-judge dialect.
    pub go_judge: GoJudgeConfig,
    /// Limits of the Piston dialect.
    pub piston: PistonConfig,
    /// Host paths that requests of the go-judge dialect may read, in addition to /dev/null.
    pub go_judge_source_prefixes: Vec<PathBuf>,
    /// URL prefixes to which the Judge0 dialect may send results.
    pub judge0_callbacks: Vec<String>,
    /// Submissions of the Judge0 dialect.
    pub judge0: Judge0Config,
    /// The SandboxFusion dialect.
    pub sandbox_fusion: SandboxFusionConfig,
}

/// An address to listen on, as `HOST:PORT` or `DIALECT=HOST:PORT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Listen {
    /// The only dialect that this address serves, at its root.
    pub dialect: Option<Dialect>,
    /// The address.
    pub address: SocketAddr,
}

/// The interface of another service, which clients of that service can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// go-judge.
    GoJudge,
    /// go-judge over gRPC.
    GoJudgeGrpc,
    /// Piston.
    Piston,
    /// SandboxFusion.
    SandboxFusion,
    /// Judge0 CE.
    Judge0,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 5] = [
        Dialect::GoJudge,
        Dialect::GoJudgeGrpc,
        Dialect::Piston,
        Dialect::SandboxFusion,
        Dialect::Judge0,
    ];

    /// The name in options, configuration and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::GoJudge => "go-judge",
            Dialect::GoJudgeGrpc => "go-judge-grpc",
            Dialect::Piston => "piston",
            Dialect::SandboxFusion => "sandbox-fusion",
            Dialect::Judge0 => "judge0",
        }
    }
}

/// Why an address cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The part before `=` is not a dialect.
    #[error(
        "{0:?} is not a dialect; the dialects are go-judge, go-judge-grpc, piston, sandbox-fusion \
         and judge0"
    )]
    Dialect(String),
    /// The address is not `HOST:PORT`.
    #[error("{0:?} is not an address; write it as 127.0.0.1:8080 or [::1]:8080")]
    Address(String),
}

impl FromStr for Listen {
    type Err = ListenError;

    fn from_str(text: &str) -> Result<Listen, ListenError> {
        let (dialect, address) = match text.split_once('=') {
            None => (None, text),
            Some((name, address)) => {
                let dialect = Dialect::ALL.into_iter().find(|known| known.name() == name);
                let dialect = dialect.ok_or_else(|| ListenError::Dialect(name.to_owned()))?;
                (Some(dialect), address)
            }
        };
        let address = address.replace("localhost:", "127.0.0.1:");
        let address = address
            .parse()
            .map_err(|_| ListenError::Address(address.clone()))?;
        Ok(Listen { dialect, address })
    }
}

impl TryFrom<String> for Listen {
    type Error = ListenError;

    fn try_from(text: String) -> Result<Listen, ListenError> {
        text.parse()
    }
}

/// A client that may use the service.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    /// The name in logs and metrics.
    pub name: String,
    /// The SHA-256 of the token in hexadecimal: `printf %s TOKEN | sha256sum`.
    pub sha256: String,
    /// The number of requests that may run at the same time; 0 means no separate bound.
    #[serde(default)]
    pub max_running: usize,
    /// The number of requests that may wait; 0 means no separate bound.
    #[serde(default)]
    pub max_queued: usize,
    /// The interfaces that the client may use; all by default.
    pub interfaces: Option<Vec<String>>,
    /// Whether the client may see other clients' runs and the metrics.
    #[serde(default)]
    pub admin: bool,
}

/// Default and largest limits of runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Limits of a request that does not specify any.
    pub default: LimitValues,
    /// The largest limits that a request may specify.
    pub max: LimitValues,
}

/// Limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitValues {
    /// CPU time in milliseconds.
    pub cpu_ms: u64,
    /// Real time in milliseconds.
    pub wall_ms: u64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Maximum number of bytes of standard output that are kept. The same number applies to
    /// standard error.
    pub output_bytes: u64,
    /// Maximum size of all files that the program writes, in bytes.
    pub files_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
}

impl LimitValues {
    const DEFAULT: LimitValues = LimitValues {
        cpu_ms: 10_000,
        wall_ms: 20_000,
        memory_bytes: 256 << 20,
        processes: 64,
        output_bytes: 1 << 20,
        files_bytes: 64 << 20,
        open_files: 256,
    };
    const MAX: LimitValues = LimitValues {
        cpu_ms: 120_000,
        wall_ms: 600_000,
        memory_bytes: 4 << 30,
        processes: 1024,
        output_bytes: 64 << 20,
        files_bytes: 1 << 30,
        open_files: 4096,
    };

    /// The limits of each test of a run.
    pub fn run_limits(&self) -> RunLimits {
        RunLimits {
            cpu_time: Duration::from_millis(self.cpu_ms),
            real_time: Duration::from_millis(self.wall_ms),
            memory_bytes: self.memory_bytes,
            processes: self.processes,
            file_bytes: self.files_bytes,
            work_bytes: self.files_bytes,
            open_files: self.open_files,
            stack_bytes: None,
        }
    }
}

impl Default for LimitValues {
    fn default() -> LimitValues {
        LimitValues::DEFAULT
    }
}

impl Default for LimitsConfig {
    fn default() -> LimitsConfig {
        LimitsConfig {
            default: LimitValues::DEFAULT,
            max: LimitValues::MAX,
        }
    }
}

/// Bounds of the queue.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueConfig {
    /// The maximum number of waiting requests.
    pub max_requests: usize,
    /// The maximum sum of the sizes of waiting requests, in bytes.
    pub max_bytes: u64,
    /// How long a request waits if it does not specify a time, in milliseconds.
    pub wait_ms: u64,
}

impl Default for QueueConfig {
    fn default() -> QueueConfig {
        QueueConfig {
            max_requests: 10_000,
            max_bytes: 512 << 20,
            wait_ms: 60_000,
        }
    }
}

/// Bounds of running requests. 0 selects a default that suits the machine.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunningConfig {
    /// The maximum number of simultaneous runs whose CPU time is limited; by default one for each
    /// CPU.
    pub cpu_slots: usize,
    /// The maximum number of simultaneous runs whose real time is limited; by default eight for
    /// each CPU.
    pub real_slots: usize,
    /// The maximum sum of the memory limits of all running requests, in bytes; by default three
    /// quarters of the machine's memory.
    pub memory_bytes: u64,
}

/// Stored files.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilesConfig {
    /// The directory of the files; by default a temporary directory that is removed when the
    /// service ends.
    pub directory: Option<PathBuf>,
    /// The maximum sum of the sizes of stored files, in bytes.
    pub max_bytes: u64,
    /// The largest file, in bytes.
    pub max_file_bytes: u64,
    /// How long a file is kept after its last use, in seconds.
    pub keep_s: u64,
}

/// Stored results of runs and judgings that have ended.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResultsConfig {
    /// How long an answer is kept, in seconds.
    pub keep_s: u64,
    /// The maximum total size of the stored answers, in bytes. The oldest answers are removed
    /// first.
    pub max_bytes: usize,
    /// The maximum total size of the events of one run, in bytes.
    pub max_event_bytes: usize,
}

impl Default for ResultsConfig {
    fn default() -> ResultsConfig {
        ResultsConfig {
            keep_s: 600,
            max_bytes: 256 << 20,
            max_event_bytes: 4 << 20,
        }
    }
}

impl Default for FilesConfig {
    fn default() -> FilesConfig {
        FilesConfig {
            directory: None,
            max_bytes: 4 << 30,
            max_file_bytes: 1 << 30,
            keep_s: 3600,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: Vec::new(),
            unix_socket: None,
            token: Vec::new(),
            trusted_origins: Vec::new(),
            dialects: Dialect::ALL.map(ServedDialect::from).to_vec(),
            limits: LimitsConfig::default(),
            queue: QueueConfig::default(),
            running: RunningConfig::default(),
            requests: RequestsConfig::default(),
            files: FilesConfig::default(),
            results: ResultsConfig::default(),
            suites: None,
            languages: None,
            piston_packages: Vec::new(),
            explain: false,
            max_connections: 10_000,
            max_body_bytes: 64 << 20,
            drain_ms: 30_000,
            go_judge: GoJudgeConfig::default(),
            piston: PistonConfig::default(),
            go_judge_source_prefixes: Vec::new(),
            judge0_callbacks: Vec::new(),
            judge0: Judge0Config::default(),
            sandbox_fusion: SandboxFusionConfig::default(),
        }
    }
}

/// The SandboxFusion dialect.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxFusionConfig {
    /// How long the start of a run may be delayed beyond the compile timeout of its request, in
    /// milliseconds. verl waits 10 s beyond both timeouts of a request.
    pub wait_ms: u64,
    /// The memory limit, in bytes, of requests that do not specify one.
    pub memory_bytes: u64,
    /// Whether failures of the sandbox are answered with 200 and the status `SandboxError`, as
    /// SandboxFusion does. By default, the service answers them with 504, which all clients retry.
    pub report_sandbox_errors: bool,
}

impl Default for SandboxFusionConfig {
    fn default() -> SandboxFusionConfig {
        SandboxFusionConfig {
            wait_ms: 8_000,
            memory_bytes: 1 << 30,
            report_sandbox_errors: false,
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The file is not a valid configuration.
    #[error("{}: {error}", .path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The error and its position.
        error: Box<toml::de::Error>,
    },
    /// An address that other hosts can reach has no token.
    #[error(
        "{0} can be reached from other machines, so the service needs a token; add a [[token]] to \
         the configuration file, or listen on 127.0.0.1"
    )]
    OpenAddress(SocketAddr),
    /// Two dialects have the same prefix.
    #[error("two dialects have the prefix {0}; change one of them")]
    PrefixTwice(String),
    /// A dialect is configured twice at the root.
    #[error("the dialect {0} is listed twice; remove one entry")]
    DialectTwice(&'static str),
    /// The digest of a token is malformed.
    #[error(
        "the sha256 of the token {0:?} is not 64 hexadecimal digits; compute it with \
         `printf %s TOKEN | sha256sum`"
    )]
    Digest(String),
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read or contains errors.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Read {
            path: path.to_owned(),
            error,
        })?;
        toml::from_str(&text).map_err(|error| ConfigError::Parse {
            path: path.to_owned(),
            error: Box::new(error),
        })
    }

    /// The addresses, or the default address if none is configured.
    pub fn addresses(&self) -> Vec<Listen> {
        if self.listen.is_empty() && self.unix_socket.is_none() {
            return DEFAULT_ADDRESS.parse().into_iter().collect();
        }
        self.listen.clone()
    }

    /// Checks the conditions under which the service can start.
    ///
    /// # Errors
    /// An address that other hosts can reach has no token, a token is malformed, or two dialects
    /// collide.
    pub fn check(&self) -> Result<(), ConfigError> {
        for token in &self.token {
            let is_digest = token.sha256.len() == 64
                && token.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_digest {
                return Err(ConfigError::Digest(token.name.clone()));
            }
        }
        self.check_dialects()?;
        let open = self
            .addresses()
            .into_iter()
            .find(|listen| !listen.address.ip().is_loopback());
        match open {
            Some(listen) if self.token.is_empty() => Err(ConfigError::OpenAddress(listen.address)),
            _ => Ok(()),
        }
    }

    fn check_dialects(&self) -> Result<(), ConfigError> {
        for (index, served) in self.dialects.iter().enumerate() {
            let before = &self.dialects[..index];
            match &served.prefix {
                None if before.contains(served) => {
                    return Err(ConfigError::DialectTwice(served.dialect.name()));
                }
                Some(prefix) if before.iter().any(|other| other.prefix == served.prefix) => {
                    return Err(ConfigError::PrefixTwice(prefix.clone()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_parses_dialects_and_names_mistakes() {
        let listen: Listen = "go-judge=localhost:5050".parse().unwrap();
        assert_eq!(listen.dialect, Some(Dialect::GoJudge));
        assert_eq!(listen.address.port(), 5050);
        assert_eq!(
            "gojudge=127.0.0.1:1".parse::<Listen>(),
            Err(ListenError::Dialect("gojudge".to_owned()))
        );
        assert_eq!(
            "8080".parse::<Listen>(),
            Err(ListenError::Address("8080".to_owned()))
        );
    }

    #[test]
    fn open_address_without_token_is_rejected() {
        let mut config = Config {
            listen: vec!["0.0.0.0:80".parse().unwrap()],
            ..Config::default()
        };
        assert!(matches!(config.check(), Err(ConfigError::OpenAddress(_))));
        config.token.push(TokenConfig {
            name: "a".to_owned(),
            sha256: "0".repeat(64),
            max_running: 0,
            max_queued: 0,
            interfaces: None,
            admin: false,
        });
        config.check().unwrap();
        config.token[0].sha256.pop();
        assert!(matches!(config.check(), Err(ConfigError::Digest(_))));
    }

    #[test]
    fn defaults_and_a_full_file_parse() {
        let config: Config = toml::from_str("").unwrap();
        assert_eq!(config.addresses()[0].address.to_string(), DEFAULT_ADDRESS);
        let text = "listen = ['judge0=127.0.0.1:2358']\n[limits.max]\ncpu_ms = 1\n\
                    [queue]\nmax_requests = 3\n";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.limits.max.cpu_ms, 1);
        let check = |dialects: &str| {
            let config: Config = toml::from_str(&format!("dialects = {dialects}")).unwrap();
            config.check()
        };
        check("['judge0=/a', 'piston', 'piston=/b']").unwrap();
        let same = check("['judge0=/a', 'piston=/a']");
        assert!(matches!(same, Err(ConfigError::PrefixTwice(_))));
        let twice = check("['piston', 'piston']");
        assert!(matches!(twice, Err(ConfigError::DialectTwice("piston"))));
        assert!(toml::from_str::<Config>("lissten = []").is_err());
    }
}
