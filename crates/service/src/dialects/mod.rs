//! The interfaces of other services, whose clients work unchanged.
//!
//! Each dialect translates requests into those of the core, and reports into the answers that its
//! clients expect. The answers also suit the ways in which clients retry.

pub mod go_judge;
mod json;
pub mod judge0;
pub mod piston;
pub mod sandbox_fusion;
mod slash;
mod version;

use crate::config::Dialect;
use crate::http::bodies;
use crate::service::Service;
use axum::Router;
use axum::middleware::from_fn_with_state;
use go_judge::GoJudge;
use go_judge::file_system::FileSystem;
use judge0::Judge0;
use piston::Piston;
use piston::packages::Package;
use sandbox_fusion::SandboxFusion;
use std::sync::Arc;

/// The states of all dialects. All addresses share them.
#[derive(Debug)]
pub struct Dialects {
    service: Arc<Service>,
    go_judge: Arc<GoJudge>,
    judge0: Arc<Judge0>,
    piston: Arc<Piston>,
    sandbox_fusion: Arc<SandboxFusion>,
}

impl Dialects {
    /// The states at the start of the service.
    pub fn new(
        service: &Arc<Service>,
        go_judge_files: FileSystem,
        piston_packages: &[Arc<Package>],
        judge0_limits: judge0::Limits,
    ) -> Dialects {
        Dialects {
            go_judge: Arc::new(GoJudge::new(service.clone(), go_judge_files)),
            judge0: Arc::new(Judge0::new(service.clone(), judge0_limits)),
            piston: Arc::new(Piston::new(service.clone(), piston_packages)),
            sandbox_fusion: Arc::new(SandboxFusion::new(service.clone())),
            service: service.clone(),
        }
    }

    /// The routes of one dialect, at their original paths.
    pub fn router(&self, dialect: Dialect) -> Router {
        match dialect {
            // Uploads go to the disk, so only the other routes have a bound.
            Dialect::GoJudge => go_judge::router(&self.go_judge),
            Dialect::GoJudgeGrpc => self.bound(go_judge::grpc_router(&self.go_judge), dialect),
            Dialect::Piston => self.bound(piston::router(&self.piston), dialect),
            Dialect::SandboxFusion => {
                self.bound(sandbox_fusion::router(&self.sandbox_fusion), dialect)
            }
            // Pages can read only those errors that have the headers as well.
            Dialect::Judge0 => self
                .bound(judge0::router(&self.judge0), dialect)
                .route_layer(judge0::cors(&self.judge0)),
        }
    }

    /// All routes of an address or prefix that serves only one dialect.
    pub fn alone(&self, dialect: Dialect) -> Router {
        let routes = match dialect {
            Dialect::Piston => self.bound(piston::alone(&self.piston), dialect),
            Dialect::Judge0 => {
                let routes = self.bound(judge0::router(&self.judge0), dialect);
                return self
                    .with_version(routes, &[dialect])
                    .fallback(judge0::not_found)
                    .method_not_allowed_fallback(judge0::not_found)
                    .layer(judge0::cors(&self.judge0));
            }
            dialect => self.router(dialect),
        };
        self.with_version(routes, &[dialect])
    }

    /// Adds `/version` to the routes of an address with these dialects.
    pub fn with_version(&self, routes: Router, dialects: &[Dialect]) -> Router {
        version::add(routes, dialects, &self.judge0)
    }

    /// Removes what the dialects have kept long enough.
    pub fn remove_expired(&self) {
        self.go_judge.forget_expired();
    }

    /// Charges the bodies of requests to their clients.
    fn bound(&self, routes: Router, dialect: Dialect) -> Router {
        let state = (self.service.clone(), Some(dialect));
        routes.route_layer(from_fn_with_state(state, bodies::bound))
    }
}
