//! Uploads and downloads of packages.

use crate::app::App;
use crate::core::party::Party;
use crate::db::problem::Version;
use crate::http::MAX_PACKAGE;
use crate::http::web::error::Page;
use crate::http::web::upload::{self, StoredUpload};
use crate::jobs::packages::{self, Package};
use crate::text::t;
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

/// The maximum size of a package that is read while its sender waits, in bytes. Jobs read larger
/// packages.
const QUICK_BYTES: u64 = 1 << 20;

/// The package of an upload; `None` if a job must read it because it is large or its statements
/// must be compiled.
pub async fn read_if_small(
    app: &Arc<App>,
    party: Party,
    upload: &StoredUpload,
) -> Page<Option<Package>> {
    if upload.bytes > QUICK_BYTES {
        return Ok(None);
    }
    let turn = app.limits.rendering.turn(party).await?;
    let (app, digest) = (app.clone(), upload.digest.clone());
    let file_name = upload.file_name.clone();
    let package = turn
        .run(move || packages::read(&app, &digest, &file_name))
        .await??;
    Ok(package.manifest.sources.is_empty().then_some(package))
}

/// The field for a package, or for up to `most` packages.
pub fn package_input(most: Option<usize>) -> Markup {
    html! {
        label { (t::PackageFile)
            input type="file" name="file" accept=".zip" required multiple[most.is_some()]; }
        p.hint { (t::PackageHint) }
        @if let Some(max) = most { p.hint { (t::PackagesHint { max, mib: MAX_PACKAGE >> 20 }) } }
    }
}

/// The archive of a version.
pub async fn archive(app: &App, version: &Version) -> Page<Response> {
    let name = format!("problem-{}-{}.zip", version.problem_id, version.number);
    upload::download(app, &version.digest, &name, "application/zip").await
}
