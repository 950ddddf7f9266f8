//! All interfaces of the service: `/v1`, the pages and the dialects.
//!
//! Each interface has a state of its own. The states are built once, here, and all addresses share
//! them, so a job that began at one address is found at the others. What happens to all interfaces
//! at once is listed here, too: housekeeping, and cancelling at the end of the service.

use crate::config::{Config, Dialect};
use crate::console::{self, Console};
use crate::core::Stage;
use crate::dialects::Dialects;
use crate::dialects::go_judge::file_system::{FileSystem, FileSystemError};
use crate::dialects::judge0;
use crate::dialects::piston::packages::{self, PackageError};
use crate::http::v1::{self, V1};
use crate::http::{health, with_layers};
use crate::service::{self, Service};
use axum::Router;
use millibox::{Backend, Builder};
use millibox_languages::cache::Cache;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;
use tokio_util::task::AbortOnDropHandle;

/// The interval at which expired results and files are removed.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(10);
/// The interval between two samples of the load.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// The service with its interfaces.
#[derive(Debug)]
pub struct Interfaces {
    service: Arc<Service>,
    v1: Arc<V1>,
    console: Arc<Console>,
    dialects: Dialects,
}

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The files of the go-judge dialect cannot be provided.
    #[error("go-judge's mount.yaml cannot be used: {0}")]
    GoJudgeFiles(#[from] FileSystemError),
    /// A package of the Piston dialect cannot be used.
    #[error("a Piston package cannot be used: {0}")]
    PistonPackages(#[from] PackageError),
    /// The limits of the Judge0 dialect are not valid.
    #[error(transparent)]
    Judge0Limits(#[from] judge0::LimitsError),
    /// The sandbox does not start, or a part of the configuration cannot be used.
    #[error(transparent)]
    Service(#[from] service::StartError),
}

impl Interfaces {
    /// Starts the sandbox, finds the installed languages, and creates the interfaces. Blocks.
    /// Without `stage`, runs with files fail.
    ///
    /// # Errors
    /// The sandbox does not start, or a part of the configuration cannot be used.
    pub fn start(
        config: Config,
        builder: &Builder,
        cache: Cache,
        stage: Option<Stage>,
    ) -> Result<Arc<Interfaces>, StartError> {
        let go_judge_files = FileSystem::new(&config.go_judge).map_err(FileSystemError::from)?;
        let piston_packages = packages::load(&config.piston_packages)?;
        let judge0_limits = judge0::Limits::new(&config.judge0.limits)?;
        let service = Service::start(config, builder, cache, stage)?;
        go_judge_files.try_on(&service)?;
        Ok(Arc::new(Interfaces {
            v1: Arc::new(V1::new(service.clone())),
            console: Arc::new(Console::new(service.clone())),
            dialects: Dialects::new(&service, go_judge_files, &piston_packages, judge0_limits),
            service,
        }))
    }

    /// The backend that limits the runs.
    pub fn backend(&self) -> Backend {
        self.service.backend
    }

    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    /// All routes of an address: everything, or only one dialect.
    pub(crate) fn router(&self, dialect: Option<Dialect>, is_unix: bool) -> Router {
        let routes = match dialect {
            Some(dialect) => self.dialects.alone(dialect),
            None => self.everything(),
        };
        with_layers(routes, &self.service, dialect, is_unix)
    }

    fn everything(&self) -> Router {
        let mut routes = Router::new()
            .merge(health::router(&self.service))
            .merge(console::router(&self.console))
            .nest("/v1", v1::router(&self.v1));
        let mut at_root = Vec::new();
        for served in &self.service.config.dialects {
            let dialect = served.dialect;
            match &served.prefix {
                Some(prefix) => routes = routes.nest(prefix, self.dialects.alone(dialect)),
                None => {
                    routes = routes.merge(self.dialects.router(dialect));
                    at_root.push(dialect);
                }
            }
        }
        let routes = routes.fallback(v1::not_found);
        self.dialects.with_version(routes, &at_root)
    }

    /// Cancels the jobs that still run at the end of the service. The programs of other requests
    /// are killed when their connections are closed.
    pub(crate) fn cancel_all(&self) {
        self.v1.cancel_all();
    }

    /// Removes everything that has been kept long enough, until the future is dropped.
    pub(crate) async fn keep_house(self: Arc<Interfaces>) {
        let mut interval = tokio::time::interval(HOUSEKEEPING_INTERVAL);
        loop {
            interval.tick().await;
            self.v1.remove_expired();
            self.service.files.remove_expired();
            // The dialects forget the ids of files that the store has just removed.
            self.dialects.remove_expired();
        }
    }

    /// Takes a sample of the load every second until the returned handle is dropped.
    pub(crate) fn take_every_second(&self) -> AbortOnDropHandle<()> {
        let console = self.console.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let mut ticks = tokio::time::interval(SAMPLE_INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                console.take_sample();
            }
        }))
    }
}
