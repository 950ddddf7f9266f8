//! The interfaces of other services, whose clients work unchanged.
//!
//! Each dialect translates requests into those of the core, and reports into the answers that its
//! clients expect. The answers also suit the ways in which clients retry.

pub mod go_judge;
pub mod judge0;
pub mod piston;
pub mod sandbox_fusion;
mod version;

use crate::config::Dialect;
use crate::http::bodies;
use crate::service::Service;
use axum::Router;
use axum::middleware::from_fn_with_state;
use go_judge::GoJudge;
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
    pub fn new(service: &Arc<Service>, piston_packages: &[Arc<Package>]) -> Dialects {
        Dialects {
            go_judge: Arc::new(GoJudge::new(service.clone())),
            judge0: Arc::new(Judge0::new(service.clone())),
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
            Dialect::Judge0 => self.bound(judge0::router(&self.judge0), dialect),
        }
    }

    /// All routes of an address or prefix that serves only one dialect.
    pub fn alone(&self, dialect: Dialect) -> Router {
        let routes = match dialect {
            Dialect::Piston => self.bound(piston::alone(&self.piston), dialect),
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
