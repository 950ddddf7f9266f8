//! A class that the viewer manages.

use crate::app::App;
use crate::core::access::{self, Viewer};
use crate::db::class::{self, Class};
use crate::db::user::User;
use crate::db::{Executor, Tx};
use crate::http::web::context::{Ctx, Granted, granted};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::crumbs;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::text::t;
use maud::{Markup, Render, html};
use std::sync::Arc;

/// The maximum number of members of a class.
pub const MAX_MEMBERS: i64 = 1_000;
/// The maximum number of users that one teacher may add.
pub const MAX_CREATED: i64 = 5_000;

/// Returns the viewer's id if the viewer is a teacher or an administrator.
///
/// # Errors
/// The viewer is neither, so the page does not exist.
pub fn check_teacher(session: &Session) -> Page<i64> {
    let id = session.viewer().id();
    id.filter(|_| session.viewer().is_teacher())
        .ok_or(PageError::NotFound)
}

/// A class that a user manages. A transaction that changes it calls this first.
///
/// # Errors
/// The class does not exist, or the user does not manage it.
pub async fn find(db: impl Executor, viewer: Viewer, id: i64) -> Page<Class> {
    let found = class::by_id(db, id).await?;
    let found = found.filter(|one| access::class(viewer, one.owner_id));
    found.ok_or(PageError::NotFound)
}

/// Checks that a user is a pupil of the viewer.
///
/// # Errors
/// The user is none.
pub async fn check_pupil(tx: &mut Tx, viewer: Viewer, one: &User) -> Page<()> {
    let tie = class::tie(tx, viewer.id().unwrap_or(-1), one).await?;
    if access::pupil(viewer, tie) {
        return Ok(());
    }
    let login = one.login.clone();
    Err(Refusal::NoPupil { login }.into())
}

/// Checks that a class has not too many members, and its teacher has not added too many users.
///
/// # Errors
/// One of the numbers is too large.
pub async fn check_sizes(tx: &mut Tx, id: i64, teacher: i64) -> Page<()> {
    if class::count_members(&mut *tx, id).await? > MAX_MEMBERS {
        return Err(Refusal::ClassFull { max: MAX_MEMBERS }.into());
    }
    if class::count_created(&mut *tx, teacher).await? > MAX_CREATED {
        return Err(Refusal::TooManyPupils { max: MAX_CREATED }.into());
    }
    Ok(())
}

/// What all pages of a class begin with: the path and a heading.
pub fn top(class: &Class, here: Option<&dyn Render>) -> Markup {
    let root = format!("/classes/{}", class.id);
    let name = class.name.as_str();
    html! {
        @match here {
            Some(here) => (crumbs(&[("/classes", &t::Classes), (&root, &name)], here)),
            None => (crumbs(&[("/classes", &t::Classes)], name)),
        }
        h1 { (name) }
    }
}

/// A class that the viewer manages.
pub struct ManagedClass(pub Ctx, pub Class);

impl Granted for ManagedClass {
    async fn find(ctx: Ctx, id: i64) -> Page<ManagedClass> {
        let found = find(&ctx.app.db, ctx.session.viewer(), id).await?;
        Ok(ManagedClass(ctx, found))
    }
}

granted!(ManagedClass);
