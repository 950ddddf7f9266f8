//! The contest site: `millibox site` executes the program `millibox-site`.
//!
//! | module | content |
//! | --- | --- |
//! | `core` | rules without HTTP: access, visibility, finals, rankings, packages, passwords |
//! | `db` | the database; each entity with its statements |
//! | `blobs` | packages and statements as files |
//! | `jobs` | long-running work other than judging |
//! | `command` | subcommands: backups, users, exports |
//! | `judging` | the queue, and the threads that judge |
//! | `transfer` | a contest as a stream for another site |
//! | `demo` | the example contest |
//! | `cpus` | which CPUs judge, and which serve pages |
//! | `housekeeping` | removal of unused files |
//! | `rankings` | rendered rankings, kept until the data changes |
//! | `oidc` | sign-in with a provider of OpenID Connect |
//! | `http` | pages |
//! | `text` | the texts of the pages in several languages |
//! | `processes` | news between several processes of one site |
//! | `notifier` | wakes threads that wait for work |
//! | `app` | what the pages share |
#![forbid(unsafe_code)]
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic if the reader has closed the pipe"
)]

mod app;
mod blobs;
mod command;
mod core;
mod cpus;
mod db;
mod demo;
mod housekeeping;
mod http;
mod jobs;
mod judging;
mod limits;
#[cfg(test)]
mod messages;
mod notifier;
mod oidc;
mod processes;
mod rankings;
mod text;
mod transfer;

use app::App;
use async_nats::Client;
use async_nats::connection::State;
use axum::middleware::from_fn;
use blobs::Blobs;
use clap::Parser;
use command::{Command, Place};
use core::password::Passwords;
use core::time::Time;
use core::zone::Zone;
use cpus::Cpus;
use db::{Db, job, judgement, process};
use http::connections::Connections;
use judging::queue::{DatabaseQueue, LEASE, SiteQueue};
use judging::toolchains::{Toolchains, Versions};
use judging::{fleet, languages};
use limits::Limits;
use millibox::Supervisor;
use millibox_cli_support::failure::{Failure, say};
use millibox_cli_support::{machine, notify, program};
use millibox_fleet::name::WorkerName;
use millibox_judge::judge::Machine;
use millibox_languages::cache::{Cache, DEFAULT_CACHE_BYTES};
use millibox_languages::suite::Suites;
use millibox_worker::connection::{Credentials, Server};
use millibox_worker::judging as threads;
use millibox_worker::turns::Turns;
use oidc::{Provider, Secret};
use rustix::fs::Mode;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use text::Locales;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How often the site looks for leases that have ended.
const EXPIRE_INTERVAL: Duration = Duration::from_secs(10);
/// The pause before a process looks again whether another one has migrated the database.
const MIGRATION_PAUSE: Duration = Duration::from_millis(500);
/// How long workers keep their judgements while the NATS server is away.
const MAX_OUTAGE: Duration = Duration::from_secs(120);
/// How often the connection to the NATS server is examined.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// How long a process waits for the end of another one that has its place. A killed process may
/// hold it for a moment.
const OTHER_PROCESS_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end of the site waits for statements and transactions.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves contests, problems, submissions and rankings on the web.
#[derive(Debug, Parser)]
#[command(
    name = "millibox-site",
    bin_name = "millibox site",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
#[command(after_help = "\
Example:
  Serve on http://127.0.0.1:8090 with all data in ~/site:
    millibox site --data ~/site
  Look at a site with an example contest, and remove it at the end:
    millibox site --demo

SIGTERM and Ctrl-C end the site. Submissions that were being judged are judged at the next start.")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Args,
}

/// Options for serving a site.
#[derive(Debug, clap::Args)]
struct Args {
    /// The directory for packages and, without --database, for the database
    // Required without a subcommand.
    #[arg(long, value_name = "DIR", required_unless_present = "demo")]
    data: Option<PathBuf>,
    /// Create an example contest, with users and submissions, if the site has no users
    ///
    /// Without --data, all data is kept in a temporary directory, which is removed at the end.
    #[arg(long)]
    demo: bool,
    /// Use this PostgreSQL database instead of a file in the data directory
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// The name of this process, if several processes serve this site
    ///
    /// All of them need the same PostgreSQL database, the same data directory and different names.
    #[arg(long, value_name = "NAME", requires = "database")]
    process: Option<WorkerName>,
    /// Listen on this address
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Tell browsers to send the session only over HTTPS
    ///
    /// Use this option if browsers reach the site through a proxy with TLS.
    #[arg(long)]
    https: bool,
    /// Read the addresses of browsers from the header X-Forwarded-For
    ///
    /// Use this option if all browsers reach the site through one proxy, which adds the address of
    /// the browser at the end of that header. Limits for each address then apply to browsers.
    #[arg(long)]
    behind_proxy: bool,
    /// The language of pages for browsers that request no language of the site
    ///
    /// A file DIR/languages/fr.ftl adds French, or replaces it.
    #[arg(long, value_name = "TAG", default_value = "en")]
    language: String,
    /// The time zone in which pages show times, and in which times are entered
    ///
    /// Contests and users can choose different time zones.
    #[arg(long, value_name = "NAME", value_parser = Zone::of_name, default_value = "UTC")]
    time_zone: Zone,
    /// Submissions that are judged at the same time [default: one less than CPUs, at least 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: Option<u16>,
    /// The disk space for the packages and files of one user, in GiB
    #[arg(long, value_name = "N", default_value_t = 32)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    user_disk: u16,
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    oidc: OidcArgs,
    #[command(flatten)]
    machine: machine::Options,
}

/// Options for judging on other machines.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Judging on other machines")]
struct FleetArgs {
    /// Serve workers on other machines through the NATS server at this address
    ///
    /// The address is tls://HOST:PORT or nats://HOST:PORT.
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// The file with the key that `millibox site fleet site` has printed
    #[arg(long, value_name = "FILE", requires = "nats")]
    nats_creds: Option<PathBuf>,
    /// A file with certificates in PEM, which are trusted in addition to those of the system
    #[arg(long, value_name = "FILE", requires = "nats")]
    nats_ca: Option<PathBuf>,
    /// Whether the site itself judges, too
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    judge_here: JudgeHere,
    /// Which versions of compilers and interpreters judge, if machines have different ones
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    toolchains: Versions,
    /// How long a worker may be silent, in seconds, before another worker may take its judgement
    #[arg(long, value_name = "N", default_value_t = LEASE.as_secs())]
    #[arg(value_parser = clap::value_parser!(u64).range(2..=3600))]
    lease: u64,
}

/// Values of `--judge-here`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum JudgeHere {
    /// The site judges with its own CPUs
    #[default]
    Yes,
    /// Only workers on other machines judge
    No,
}

impl FleetArgs {
    /// Whether the site judges.
    fn judges_here(&self) -> Result<bool, Failure> {
        match (self.judge_here, &self.nats) {
            (JudgeHere::No, None) => Err(Failure::option(
                "--judge-here no needs --nats, because otherwise no worker could judge",
            )),
            (judge_here, _) => Ok(judge_here == JudgeHere::Yes),
        }
    }

    /// Begins to serve workers.
    async fn serve(&self, app: &Arc<App>) -> Result<(), Failure> {
        let Some(url) = &self.nats else {
            return Ok(());
        };
        let own = self.nats_creds.as_deref().map(Credentials::read);
        let own = own.transpose().map_err(Failure::option)?;
        let server = Server {
            url: url.clone(),
            ca: self.nats_ca.clone(),
        };
        let queue = app.queue.clone();
        let client = server.connect_site(own.as_ref(), move || queue.was_unreachable());
        let client = client.await;
        let client = client.map_err(Failure::option)?;
        tokio::spawn(watch(client.clone(), app.queue.clone()));
        let served = fleet::serve(app.clone(), client).await;
        served.map_err(Failure::sandbox)
    }
}

/// Options for sign-in with another service.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sign-in with another service")]
struct OidcArgs {
    /// Let users sign in with this provider of OpenID Connect
    ///
    /// Register SITE/oidc/callback as the redirect URI at the provider.
    #[arg(long, value_name = "URL", requires_all = ["oidc_client_id", "site_url"])]
    oidc_issuer: Option<String>,
    /// The name of this site at the provider
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    oidc_client_id: Option<String>,
    /// A file with the password of this site at the provider
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    oidc_client_secret_file: Option<PathBuf>,
    /// The display name of the provider [default: its host]
    #[arg(long, value_name = "NAME", requires = "oidc_issuer")]
    oidc_name: Option<String>,
    /// Add a user when a person signs in this way for the first time
    ///
    /// Otherwise, only users with linked accounts can sign in this way.
    #[arg(long, requires = "oidc_issuer")]
    oidc_sign_up: bool,
    /// A file with the certificates to trust, in PEM, instead of the public authorities
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    oidc_ca: Option<PathBuf>,
    /// The address of this site in browsers, such as `https://contest.example.org`
    #[arg(long, value_name = "URL")]
    site_url: Option<String>,
}

impl OidcArgs {
    /// The provider, if one is configured.
    fn provider(&self) -> Result<Option<Arc<Provider>>, Failure> {
        let (Some(issuer), Some(client_id), Some(site)) =
            (&self.oidc_issuer, &self.oidc_client_id, &self.site_url)
        else {
            return Ok(None);
        };
        let secret = match &self.oidc_client_secret_file {
            Some(file) => std::fs::read_to_string(file)
                .map_err(|error| Failure::option(format!("{}: {error}", file.display())))?,
            None => String::new(),
        };
        let host = url::Url::parse(issuer).ok();
        let host = host.and_then(|url| url.host_str().map(str::to_owned));
        let config = oidc::Config {
            name: self.oidc_name.clone().or(host).unwrap_or_default(),
            issuer: issuer.clone(),
            client_id: client_id.clone(),
            secret: Secret::new(&secret),
            site: site.trim_end_matches('/').to_owned(),
            adds_users: self.oidc_sign_up,
        };
        let provider = Provider::new(config, self.oidc_ca.as_deref());
        Ok(Some(Arc::new(provider.map_err(Failure::option)?)))
    }
}

/// Parses the command line, serves the site or runs a subcommand, and reports a failure.
///
/// Returns the exit status of the process, which must end now: threads that judge may still run.
///
/// # Examples
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     millibox_site::main()
/// }
/// ```
pub fn main() -> ExitCode {
    program::main("millibox site", |cli: &Cli| {
        millibox_worker::log::start("info,sqlx::postgres::notice=warn,async_nats=warn");
        run(cli)
    })
}

fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    if rustix::process::geteuid().is_root() {
        return Err(Failure::option(
            "the site reads requests and archives of untrusted users, so it does not run as root; \
             start it as an unprivileged user",
        ));
    }
    // Data, backups and exports contain secrets of users and tests.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    if cli.command.is_none() {
        allow_open_files();
    }
    let cpus = cpus::usable()
        .map_err(|error| Failure::sandbox(format!("cannot read the number of CPUs: {error}")))?;
    let cpus = Cpus::divide(&cpus, cli.serve.workers);
    let pages = match &cli.command {
        Some(_) => None,
        None => Some(cpus.pages.clone()),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cpus.pages.len().max(2))
        .on_thread_start(move || pages.iter().for_each(|pages| cpus::pin(pages)))
        .enable_all()
        .build()
        .map_err(|error| Failure::sandbox(format!("cannot start threads: {error}")))?;
    let result = match &cli.command {
        Some(command) => runtime.block_on(command::run(command)),
        None => runtime.block_on(serve(&cli.serve, &cpus)),
    };
    // Threads that judge or hash end with the process. They use the runtime until then.
    std::mem::forget(runtime);
    millibox_package::temporary::end();
    result
}

/// Allows as many open files as connections, packages and the database may need.
fn allow_open_files() {
    const WANTED: u64 = 20480;
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
    }
}

/// The number of files that this process may open.
fn open_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

impl Args {
    /// The location of the data, and its directory if the directory is temporary.
    fn place(&self) -> Result<(Place, Option<tempfile::TempDir>), Failure> {
        let temporary = match &self.data {
            Some(_) => None,
            None => Some(millibox_package::temporary::directory().map_err(|error| {
                Failure::sandbox(format!("cannot create a temporary directory: {error}"))
            })?),
        };
        let directory = temporary.as_ref().map(|directory| directory.path());
        let data = self.data.as_deref().or(directory);
        let place = Place {
            data: data.unwrap_or(Path::new("")).to_owned(),
            database: self.database.clone(),
        };
        Ok((place, temporary))
    }
}

/// Migrates the database, unless other processes of the site run, which do not know the new
/// version.
async fn migrate_alone(place: &Place, db: &Db) -> Result<(), Failure> {
    let begin = Instant::now();
    while place.needs_migration(db).await? {
        let taken = process::take(db, None, Duration::ZERO).await;
        if let Some(alone) = taken.map_err(Failure::sandbox)? {
            place.migrate(db).await?;
            alone.release().await;
        } else if begin.elapsed() >= OTHER_PROCESS_TIMEOUT {
            return Err(Failure::option(
                "this version changes the database, but another process serves this site; end all \
                 others first",
            ));
        } else {
            // A process that starts at the same time may migrate it.
            tokio::time::sleep(MIGRATION_PAUSE).await;
        }
    }
    Ok(())
}

/// Opens a site, as its only process or as one with a name.
async fn open(
    place: &Place,
    name: Option<&str>,
) -> Result<(Db, Blobs, process::ProcessLock), Failure> {
    let (db, blobs) = place.open().await?;
    migrate_alone(place, &db).await?;
    let taken = process::take(&db, name, OTHER_PROCESS_TIMEOUT).await;
    let Some(taken) = taken.map_err(Failure::sandbox)? else {
        return Err(Failure::option(match name {
            None => "another process serves this site; end it, or start each process with \
                     --process NAME"
                .to_owned(),
            Some(name) => format!(
                "another process serves this site as {name}, or without --process; end it, or use \
                 a different name"
            ),
        }));
    };
    let released = judgement::release(&db, name).await;
    let released = released.map_err(Failure::sandbox)?;
    if released > 0 {
        tracing::info!(released, "judgements of the last process are queued again");
    }
    // Another process may still run the jobs. Those of a process that has ended expire.
    if name.is_none() {
        let released = job::release(&db, Time::now()).await;
        released.map_err(Failure::sandbox)?;
    }
    Ok((db, blobs, taken))
}

async fn serve(args: &Args, cpus: &Cpus) -> Result<ExitCode, Failure> {
    millibox_package::temporary::remove_stale();
    let judges_here = args.fleet.judges_here()?;
    let provider = args.oidc.provider()?;
    let (place, temporary) = args.place()?;
    let name = args.process.as_ref().map(WorkerName::as_str);
    let (db, blobs, taken) = open(&place, name).await?;
    let added = place.data.join("languages");
    let locales = Locales::with_directory(&added, &args.language).map_err(Failure::option)?;
    let builder = args.machine.builder();
    let machine = Machine::start(builder.clone(), None, &[]).map_err(Failure::sandbox)?;
    let suites = Suites::builtin();
    let cache = Cache::in_directory(&place.data.join("cache"), DEFAULT_CACHE_BYTES)
        .unwrap_or_else(|_| Cache::none());
    let supervisor: &Supervisor = machine.supervisor();
    let languages = languages::installed(supervisor, &suites, &cache);
    drop(machine);
    // Hashing leaves half of the CPUs to other pages.
    let passwords = Passwords::new(cpus.pages.len().div_ceil(2)).map_err(Failure::sandbox)?;
    let limits = Limits::new(u64::from(args.user_disk) << 30);
    let own = if judges_here { &languages[..] } else { &[] };
    let toolchains = Toolchains::new(args.fleet.toolchains, own);
    let app = App::new(
        db, blobs, languages, locales, passwords, provider, args.https,
    );
    let app = app.with_limits(limits).with_zone(args.time_zone.clone());
    let lease = Duration::from_secs(args.fleet.lease);
    let app = app.with_queue(|queue| queue.with_lease(lease).with_toolchains(toolchains));
    let app = Arc::new(app);
    if name.is_some() && !processes::start(&app).await.map_err(Failure::sandbox)? {
        return Err(Failure::option(
            "--process needs a PostgreSQL database; name it with --database",
        ));
    }
    let example = match args.demo {
        true => demo::create(&app).await.map_err(Failure::sandbox)?,
        false => None,
    };
    let trial_cpu = cpus.pages.first().copied().unwrap_or_default();
    app.trials
        .start(builder.clone(), suites.clone(), cache.clone(), trial_cpu)
        .map_err(|error| Failure::sandbox(format!("cannot start a thread: {error}")))?;
    let turns = Arc::new(Turns::of(&cpus.workers));
    let runner = jobs::JobRunner {
        measures_elsewhere: !judges_here,
        app: app.clone(),
        builder: builder.clone(),
        suites: suites.clone(),
        cache: cache.clone(),
        handle: tokio::runtime::Handle::current(),
        cpus: cpus.pages.clone(),
        turns: turns.clone(),
    };
    jobs::start(runner)
        .map_err(|error| Failure::sandbox(format!("cannot start a thread: {error}")))?;
    let context = Arc::new(threads::WorkerContext {
        queue: SiteQueue::new(app.queue.clone(), app.live.clone(), app.blobs.clone(), name),
        stops: app.stops.clone(),
        turns,
        builder,
        suites,
        cache,
        handle: tokio::runtime::Handle::current(),
        // The workers end with the process; the next start queues their unfinished work again.
        is_ending: AtomicBool::new(false),
    });
    args.fleet.serve(&app).await?;
    let own = if judges_here { &cpus.workers[..] } else { &[] };
    for (index, cpu) in own.iter().enumerate() {
        threads::start(&context, index, *cpu)
            .map_err(|error| Failure::sandbox(format!("cannot start a thread: {error}")))?;
    }
    // All threads that need other CPUs are started.
    cpus::pin(&cpus.pages);
    let tasks = [
        tokio::spawn(expire(app.queue.clone())),
        tokio::spawn(housekeeping::work(app.db.clone(), app.blobs.clone())),
    ];
    let served = listen(args, app, example, tasks, taken, &context).await;
    drop(temporary);
    served
}

/// Ends no leases while workers cannot reach the site, but gives their judgements to others if that
/// takes long.
async fn watch(client: Client, queue: DatabaseQueue) {
    let mut interval = tokio::time::interval(WATCH_INTERVAL);
    let mut lost = None;
    loop {
        interval.tick().await;
        if client.connection_state() == State::Connected {
            lost = None;
            continue;
        }
        queue.was_unreachable();
        if lost.get_or_insert_with(Instant::now).elapsed() < MAX_OUTAGE {
            continue;
        }
        match queue.give_back_silent().await {
            Ok(0) => {}
            Ok(count) => tracing::warn!(count, "judgements of workers are queued again"),
            Err(error) => tracing::error!(%error, "cannot queue judgements again"),
        }
    }
}

/// Returns judgements whose leases have ended to the queue.
async fn expire(queue: DatabaseQueue) {
    let mut interval = tokio::time::interval(EXPIRE_INTERVAL.min(queue.lease() / 3));
    loop {
        interval.tick().await;
        match queue.expire().await {
            Ok(0) => {}
            Ok(expired) => tracing::warn!(expired, "leases of judgements have ended"),
            Err(error) => tracing::error!(%error, "cannot look for ended leases"),
        }
    }
}

async fn listen(
    args: &Args,
    app: Arc<App>,
    example: Option<String>,
    tasks: [JoinHandle<()>; 2],
    taken: process::ProcessLock,
    context: &threads::WorkerContext<SiteQueue>,
) -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| {
        Failure::sandbox(format!("cannot listen on {}: {error}", args.listen))
    };
    let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut lines = vec![format!("serving the site on http://{address}")];
    if let Some(path) = app.setup_path().await.map_err(Failure::sandbox)? {
        lines.push(format!(
            "create the first administrator at http://{address}{path}"
        ));
    }
    lines.extend(example);
    say(lines.join("\n"))?;
    notify::ready();
    let (db, queue) = (app.db.clone(), app.queue.clone());
    let connections = Connections::with_files(open_files());
    let mut routes = http::router(app);
    if args.behind_proxy {
        routes = routes.layer(from_fn(http::server::forwarded));
    }
    let ending = CancellationToken::new();
    let served = tokio::spawn(http::server::serve(
        listener,
        connections,
        routes,
        ending.clone(),
    ));
    let mut ended = Ok(ExitCode::SUCCESS);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = taken.keep() => {
            ended = Err(Failure::sandbox(
                "another process has begun to serve this site while the database could not be \
                 reached",
            ));
        }
    }
    tracing::info!("the site ends");
    ending.cancel();
    // A second signal ends the site without the running requests.
    tokio::select! {
        _ = served => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    for task in tasks {
        task.abort();
    }
    context.is_ending.store(true, Ordering::SeqCst);
    if let Some(name) = &args.process {
        match judgement::release(&db, Some(name.as_str())).await {
            Ok(0) => {}
            Ok(_) => queue.wake(),
            // The leases end by themselves.
            Err(error) => tracing::warn!(%error, "cannot queue the running judgements again"),
        }
    }
    // The database rolls back what has not ended by then.
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, db.close()).await;
    ended
}
