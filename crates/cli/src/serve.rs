//! `millibox serve`: the execution service.

use crate::failure::{Failure, say};
use crate::machine;
use millibox_languages::cache::Cache;
use millibox_service::Service;
use millibox_service::config::{Config, Listen};
use millibox_service::http::server::Server;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Options of `millibox serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  Serve on http://127.0.0.1:8080, without configuration:
    millibox serve

  Serve the interface of go-judge alone on its usual port, and everything on another:
    millibox serve --listen go-judge=127.0.0.1:5050 --listen 127.0.0.1:8080

  Run a program:
    curl http://127.0.0.1:8080/v1/runs -d '{
      \"runtime\": \"python\", \"files\": {\"main.py\": {\"text\": \"print(6 * 7)\"}}}'

SIGTERM and Ctrl-C end the service after its running requests.")]
pub struct Args {
    /// Listen on HOST:PORT, or serve one dialect alone on it as DIALECT=HOST:PORT
    ///
    /// The dialects are go-judge, go-judge-grpc, piston, sandbox-fusion and judge0. The option may be repeated.
    /// The default is 127.0.0.1:8080. Other addresses than those of this machine need tokens.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<Listen>,
    /// Read the configuration from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub machine: machine::Options,
}

/// The whole subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    let mut config = match &args.config {
        Some(path) => Config::read(path).map_err(Failure::option)?,
        None => Config::default(),
    };
    if !args.listen.is_empty() {
        config.listen.clone_from(&args.listen);
    }
    config.check().map_err(Failure::option)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::sandbox(format!("cannot start threads: {error}")))?;
    let cache = Cache::of_user().unwrap_or_else(|_| Cache::none());
    let service =
        Service::start(config, &args.machine.builder(), cache).map_err(Failure::sandbox)?;
    runtime.block_on(async {
        let server = Server::bind(service.clone())
            .await
            .map_err(Failure::sandbox)?;
        for listen in server.addresses() {
            let what = listen
                .dialect
                .map_or("everything", |dialect| dialect.name());
            say(format_args!(
                "serving {what} on http://{} ({} backend)",
                listen.address, service.backend
            ))?;
        }
        let stop = CancellationToken::new();
        let failed =
            |error: std::io::Error| Failure::sandbox(format!("cannot catch signals: {error}"));
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
        server.serve(stop).await.map_err(Failure::sandbox)?;
        Ok(ExitCode::SUCCESS)
    })
}
