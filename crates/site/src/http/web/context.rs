//! What a handler knows of its request, and the rights that its signature states.
//!
//! A handler that takes a [`Ctx`] has checked nothing yet. The other types exist only for viewers
//! with a right, so a signature shows what the handler may rely on.

use super::error::{Page, PageError};
use super::session::Session;
use crate::app::App;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::future::Future;
use std::sync::Arc;

/// The site and the viewer of a request. No right was checked.
pub struct Ctx {
    pub app: Arc<App>,
    pub session: Session,
}

impl FromRequestParts<Arc<App>> for Ctx {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Page<Ctx> {
        Ok(Ctx {
            session: Session::from_request_parts(parts, app).await?,
            app: app.clone(),
        })
    }
}

/// A request of an administrator.
pub struct Admin {
    pub app: Arc<App>,
    pub session: Session,
    /// The administrator.
    pub own: i64,
}

impl FromRequestParts<Arc<App>> for Admin {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Page<Admin> {
        let Ctx { app, session } = Ctx::from_request_parts(parts, app).await?;
        let own = check_admin(&session)?;
        Ok(Admin { app, session, own })
    }
}

/// Returns the viewer's id if the viewer is an administrator.
///
/// # Errors
/// The viewer is not an administrator, so the page does not exist.
pub fn check_admin(session: &Session) -> Page<i64> {
    let id = session
        .viewer()
        .id()
        .filter(|_| session.viewer().is_admin());
    id.ok_or(PageError::NotFound)
}

/// Checks the rights before a handler reads the address and the form of a request.
pub async fn only_admins(session: Session, request: Request, next: Next) -> Page {
    check_admin(&session)?;
    Ok(next.run(request).await)
}

/// The object in the path of a request, on which the viewer has a right.
pub trait Granted: Sized {
    /// Finds the object.
    ///
    /// # Errors
    /// The object does not exist, or the viewer does not have the right.
    fn find(ctx: Ctx, id: i64) -> impl Future<Output = Page<Self>> + Send;
}

/// Why a request has no [`Granted`] object.
pub enum Rejection {
    /// The viewer does not have the right.
    Page(PageError),
    /// The path contains no number.
    Path(PathRejection),
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        match self {
            Rejection::Page(error) => error.into_response(),
            Rejection::Path(error) => error.into_response(),
        }
    }
}

/// Returns the viewer, and the number in the path.
pub async fn arrive(parts: &mut Parts, app: &Arc<App>) -> Result<(Ctx, i64), Rejection> {
    let ctx = Ctx::from_request_parts(parts, app).await;
    let ctx = ctx.map_err(Rejection::Page)?;
    let id = Path::from_request_parts(parts, app).await;
    let Path(id) = id.map_err(Rejection::Path)?;
    Ok((ctx, id))
}

/// Lets handlers take the types, each of which is [`Granted`].
macro_rules! granted {
    ($($type:ident),+) => { $(
        impl axum::extract::FromRequestParts<Arc<App>> for $type {
            type Rejection = $crate::http::web::context::Rejection;

            async fn from_request_parts(
                parts: &mut axum::http::request::Parts,
                app: &Arc<App>,
            ) -> Result<$type, Self::Rejection> {
                let (ctx, id) = $crate::http::web::context::arrive(parts, app).await?;
                let found = <$type as $crate::http::web::context::Granted>::find(ctx, id).await;
                found.map_err($crate::http::web::context::Rejection::Page)
            }
        }
    )+ };
}
pub(crate) use granted;

/// A right, and a body that was read before the right was checked.
///
/// A client may send a body slowly. If the right was checked first, a viewer could keep it by
/// sending the rest of a form after losing it.
pub struct Checked<R, B>(pub R, pub B);

impl<R: Granted, B: FromRequest<Arc<App>> + Send> FromRequest<Arc<App>> for Checked<R, B> {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Checked<R, B>, Response> {
        let (mut parts, body) = request.into_parts();
        let arrived = arrive(&mut parts, app).await;
        let (ctx, id) = arrived.map_err(IntoResponse::into_response)?;
        let body = B::from_request(Request::from_parts(parts, body), app).await;
        let body = body.map_err(IntoResponse::into_response)?;
        let found = R::find(ctx, id).await;
        Ok(Checked(found.map_err(IntoResponse::into_response)?, body))
    }
}
