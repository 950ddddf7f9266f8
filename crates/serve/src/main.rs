//! Starts the execution service: `millibox serve` executes this program.
//!
//! The service itself is the crate `millibox-service`.
//!
//! | module | content |
//! | --- | --- |
//! | `keys` | keys and rules of a fleet |
//! | `parent` | the root process that exists if root starts the service |
//! | `link` | the socket between that process and the service |
//! | `privileges` | gives up root's privileges |
//! | `scratch` | the directory for temporary files |
#![forbid(unsafe_code)]
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic if the reader has closed the pipe"
)]

mod keys;
mod link;
mod parent;
mod privileges;
mod scratch;

use clap::Parser;
use link::Link;
use millibox::{Builder, Supervisor};
use millibox_cli_support::failure::{Failure, say};
use millibox_cli_support::{machine, notify, program};
use millibox_fleet::connection::{Credentials, Server as NatsServer};
use millibox_languages::cache::{Cache, DEFAULT_CACHE_BYTES};
use millibox_service::fleet::{Executor, Front, Membership};
use millibox_service::{Config, Interfaces, Listen, Server, Sockets, Stage};
use rustix::process::{Pid, geteuid};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// How long the threads of the service may take to end.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(5);

/// If root starts the service, its cache is a directory in this one.
const CACHES: &str = "/var/cache";

/// The name that begins every message on standard error.
const PROGRAM: &str = "millibox serve";

/// Runs programs for clients over HTTP.
#[derive(Debug, Parser)]
#[command(
    name = "millibox-serve",
    bin_name = "millibox serve",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true
)]
#[command(after_help = "\
Examples:
  Serve on http://127.0.0.1:8080, without a configuration:
    millibox serve

  Serve only the interface of go-judge on its usual port, and all interfaces on another port:
    millibox serve --listen go-judge=127.0.0.1:5050 --listen 127.0.0.1:8080

  Run a program:
    curl http://127.0.0.1:8080/v1/runs -d '{
      \"runtime\": \"python\", \"files\": {\"main.py\": {\"text\": \"print(6 * 7)\"}}}'

  Run programs for front ends on other machines, and serve as such a front end:
    millibox serve --nats tls://nats.example.org:4222 --nats-creds box-1.key
    millibox serve --nats tls://nats.example.org:4222 --nats-creds web.key --front

SIGTERM and Ctrl-C end the service when its running requests have ended.")]
struct Cli {
    /// Listen on HOST:PORT, or serve only one dialect there: DIALECT=HOST:PORT
    ///
    /// The dialects are go-judge, go-judge-grpc, piston, sandbox-fusion and judge0. The option may
    /// be repeated. The default is 127.0.0.1:8080. Addresses other than loopback require tokens.
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Listen>,
    /// Serve all interfaces on a Unix socket, which its user and group may use
    ///
    /// With this option, the service listens on no other address unless --listen names one.
    #[arg(long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,
    /// Set the format of messages on standard error
    ///
    /// The environment variable MILLIBOX_LOG selects the messages, for example `debug` or
    /// `tower_http=debug`.
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    log: LogForm,
    /// Read the configuration from a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Take part in a fleet, whose machines meet at this NATS server: tls://HOST:PORT
    ///
    /// Without --front, the service is an executor: it runs programs for front ends. It then
    /// listens only on the addresses that --listen or the configuration name.
    #[arg(long, value_name = "URL", requires = "nats_creds")]
    nats: Option<String>,
    /// The file with name and key that `millibox serve fleet key` has printed
    #[arg(long, value_name = "FILE", requires = "nats")]
    nats_creds: Option<PathBuf>,
    /// A file with certificates in PEM, which are trusted in addition to those of the system
    #[arg(long, value_name = "FILE", requires = "nats")]
    nats_ca: Option<PathBuf>,
    /// Run no programs here, and relay requests to executors
    #[arg(long, requires = "nats")]
    front: bool,
    #[command(flatten)]
    machine: machine::Options,
    #[command(subcommand)]
    command: Option<keys::Command>,
}

/// How the service takes part in a fleet.
enum Role {
    /// It has no fleet.
    Alone,
    Executor(Membership),
    Front(Membership),
}

impl Role {
    /// Reads the key, which an unprivileged service may be unable to read later.
    fn of(args: &Cli) -> Result<Role, Failure> {
        let (Some(url), Some(path)) = (&args.nats, &args.nats_creds) else {
            return Ok(Role::Alone);
        };
        let membership = Membership {
            credentials: Credentials::read(path).map_err(Failure::option)?,
            server: NatsServer {
                url: url.clone(),
                ca: args.nats_ca.clone(),
            },
        };
        Ok(match args.front {
            true => Role::Front(membership),
            false => Role::Executor(membership),
        })
    }

    fn bind(&self, config: &Config) -> Result<Sockets, Failure> {
        let is_hidden = config.listen.is_empty() && config.unix_socket.is_none();
        match self {
            Role::Executor(_) if is_hidden => Ok(Sockets::none()),
            _ => Sockets::bind(config).map_err(Failure::sandbox),
        }
    }
}

/// Values of `--log`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum LogForm {
    /// Lines of text
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

fn start_log(form: LogForm) {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_env("MILLIBOX_LOG")
        .unwrap_or_else(|_| EnvFilter::new("info,async_nats=warn"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A second start in one process keeps the first log.
    let _ = match form {
        LogForm::Text => log.with_ansi(false).try_init(),
        LogForm::Json => log.json().try_init(),
    };
}

fn main() -> ExitCode {
    program::main(PROGRAM, run)
}

/// Started by root, this process starts the service as a child; see [`parent`].
fn run(args: &Cli) -> Result<ExitCode, Failure> {
    if let Some(command) = &args.command {
        return keys::run(command).map(|()| ExitCode::SUCCESS);
    }
    let user = geteuid()
        .is_root()
        .then(|| args.machine.user.unwrap_or(Supervisor::UNPRIVILEGED_IDS));
    scratch::enter(user)?;
    let config = config(args)?;
    let builder = args.machine.builder();
    match (user, parent_process()) {
        (None, _) => {
            start_log(args.log);
            let role = Role::of(args)?;
            let sockets = role.bind(&config)?;
            let cache = Cache::of_user().unwrap_or_else(|_| Cache::none());
            serve(role, config, sockets, &builder, cache, Stage::open())
        }
        (Some(user), None) => {
            let builder = builder.user(user.0, user.1);
            parent::run(&builder, config.unix_socket.as_deref())
        }
        (Some(user), Some(parent)) => {
            start_log(args.log);
            let role = Role::of(args)?;
            let sockets = role.bind(&config)?;
            sockets.give_to(user.0, user.1).map_err(Failure::sandbox)?;
            if let Some(directory) = &config.files.directory {
                make_directory(directory, user)?;
            }
            let cache = PathBuf::from(format!("{CACHES}/millibox-{}", user.0));
            // Without a cache, programs are compiled again.
            let has_cache = make_directory(&cache, user).is_ok();
            let stage = Stage::open();
            let socket = std::io::stdin().as_fd().try_clone_to_owned();
            let socket = socket
                .map_err(|error| Failure::sandbox(format!("cannot keep a socket: {error}")))?;
            privileges::drop_all(user, parent).map_err(Failure::sandbox)?;
            let cache = match has_cache {
                _ if std::env::var_os("XDG_CACHE_HOME").is_some() => Cache::of_user(),
                true => Cache::in_directory(&cache, DEFAULT_CACHE_BYTES),
                false => Ok(Cache::none()),
            };
            let cache = cache.unwrap_or_else(|_| Cache::none());
            let builder = builder.launcher(Arc::new(Link::new(socket)));
            serve(role, config, sockets, &builder, cache, stage)
        }
    }
}

fn config(args: &Cli) -> Result<Config, Failure> {
    let mut config = match &args.config {
        Some(path) => Config::read(path).map_err(Failure::option)?,
        None => Config::default(),
    };
    if !args.listen.is_empty() {
        config.listen.clone_from(&args.listen);
    }
    if args.unix_socket.is_some() {
        config.unix_socket.clone_from(&args.unix_socket);
    }
    config.check().map_err(Failure::option)?;
    Ok(config)
}

/// The root process that started this process as the service.
fn parent_process() -> Option<Pid> {
    let number = std::env::var(parent::PARENT).ok()?;
    Pid::from_raw(number.parse().ok()?)
}

/// Creates a directory for the user of the service. An existing directory is left as it is.
fn make_directory(path: &Path, (uid, gid): (u32, u32)) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let failed = |error: std::io::Error| {
        let path = path.display();
        Failure::sandbox(format!("cannot create {path} for user {uid}: {error}"))
    };
    if let Some(above) = path.parent() {
        std::fs::create_dir_all(above).map_err(failed)?;
    }
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(failed)?;
    chown(path, Some(uid), Some(gid)).map_err(failed)
}

/// Serves until a signal arrives.
fn serve(
    role: Role,
    config: Config,
    sockets: Sockets,
    builder: &Builder,
    cache: Cache,
    stage: Option<Stage>,
) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::sandbox(format!("cannot start threads: {error}")))?;
    let result = match role {
        Role::Front(membership) => runtime.block_on(serve_front(config, sockets, &membership)),
        Role::Alone => serve_programs(&runtime, None, config, sockets, builder, cache, stage),
        Role::Executor(membership) => {
            let membership = Some(&membership);
            serve_programs(&runtime, membership, config, sockets, builder, cache, stage)
        }
    };
    // Do not wait for a judge on a thread for blocking work.
    runtime.shutdown_timeout(SHUTDOWN_PATIENCE);
    result.map(|()| ExitCode::SUCCESS)
}

/// A token that is cancelled when SIGTERM or SIGINT arrives. Must be called in the runtime.
fn stopped() -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    let failed = |error: std::io::Error| Failure::sandbox(format!("cannot catch signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let stopped = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stopped.cancel();
    });
    Ok(stop)
}

/// A line for each address. `what` describes the service.
fn lines(addresses: &[Listen], unix_socket: Option<&Path>, what: &str) -> Vec<String> {
    let mut lines: Vec<String> = addresses
        .iter()
        .map(|listen| {
            let dialect = listen.dialect.map(|dialect| dialect.name());
            let served = dialect.unwrap_or("everything");
            format!("serving {served} on http://{} ({what})", listen.address)
        })
        .collect();
    if let Some(path) = unix_socket {
        let path = path.display();
        lines.push(format!("serving everything on unix:{path} ({what})"));
    }
    lines
}

/// Relays requests to executors.
async fn serve_front(
    config: Config,
    sockets: Sockets,
    membership: &Membership,
) -> Result<(), Failure> {
    let stop = stopped()?;
    let front = Front::start(config, sockets, membership).await;
    let front = front.map_err(Failure::sandbox)?;
    let lines = lines(&front.addresses(), front.unix_socket(), "front end");
    say(lines.join("\n"))?;
    notify::ready();
    front.serve(stop).await;
    Ok(())
}

/// Runs programs for clients and, as a member of a fleet, for front ends.
fn serve_programs(
    runtime: &tokio::runtime::Runtime,
    membership: Option<&Membership>,
    config: Config,
    sockets: Sockets,
    builder: &Builder,
    cache: Cache,
    stage: Option<Stage>,
) -> Result<(), Failure> {
    let interfaces = Interfaces::start(config, builder, cache, stage).map_err(Failure::sandbox)?;
    runtime.block_on(async {
        // A signal may come as soon as the addresses are known.
        let stop = stopped()?;
        let executor = match membership {
            None => None,
            Some(membership) => {
                let joined = Executor::join(&interfaces, membership).await;
                Some(joined.map_err(Failure::sandbox)?)
            }
        };
        let server = Server::new(interfaces.clone(), sockets).map_err(Failure::sandbox)?;
        let what = format!("{} backend", interfaces.backend());
        let mut lines = lines(&server.addresses(), server.unix_socket(), &what);
        if let Some(membership) = membership {
            let name = membership.credentials.name();
            lines.push(format!("serving front ends as {name} ({what})"));
        }
        // One write, because a reader may close the pipe after the first line.
        say(lines.join("\n"))?;
        notify::ready();
        let Some(executor) = executor else {
            server.serve(stop).await;
            return Ok(());
        };
        let drained = CancellationToken::new();
        let draining = async {
            stop.cancelled().await;
            executor.drain().await;
            drained.cancel();
        };
        tokio::join!(server.serve(drained.clone()), draining);
        executor.leave().await;
        Ok(())
    })
}
