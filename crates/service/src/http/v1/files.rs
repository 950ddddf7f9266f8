//! Stored files, named by the SHA-256 of their content.

use super::V1;
use super::auth::Authenticated;
use crate::core::files::{Owner, Removal, StoreError, is_digest};
use crate::http::problem::{self, ProblemDetails};
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Deserialize;
use std::sync::Arc;
use tokio::io::AsyncReadExt;

/// Number of bytes that are read from a stored file at once.
const CHUNK_BYTES: usize = 256 << 10;
/// The number of seconds for which a file is kept if it is not used.
const EXPIRES: HeaderName = HeaderName::from_static("millibox-expires");

/// The sharing of a stored file.
#[derive(Debug, Deserialize)]
pub struct Sharing {
    /// Whether all clients may.
    #[serde(default)]
    shared: bool,
}

/// Store a file
///
/// The body is the content, whose SHA-256 is the name. Runs refer to the file as `{"sha256":
/// "DIGEST"}`. Only the client that has stored a file can use it. With `?shared=true`, every client
/// that knows the digest can use it. A file is kept as long as it is used; the header
/// `Millibox-Expires` states for how many seconds it is kept without use.
#[utoipa::path(
    put,
    path = "/files/{sha256}",
    operation_id = "store_file",
    tag = "files",
    params(
        ("sha256" = String, Path, description = "The SHA-256 of the content, in lower case"),
        ("shared" = Option<bool>, Query, description = "Whether all clients may read the file"),
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "The file is stored"),
        (status = 200, description = "This client had already stored the file"),
        (
            status = 413,
            description = "The file is too large",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
        (
            status = 422,
            description = "The content has a different digest",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
        (
            status = 507,
            description = "The store, or this client's share of it, is full",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn put(
    State(v1): State<Arc<V1>>,
    Authenticated(client): Authenticated,
    Path(digest): Path<String>,
    Query(sharing): Query<Sharing>,
    request: Request,
) -> Result<Response, ProblemDetails> {
    check(&digest)?;
    let max_bytes = v1.service.config.files.max_file_bytes;
    let too_large = || {
        problem::body_too_large(
            format!("a stored file may have at most {max_bytes} bytes"),
            max_bytes,
        )
    };
    let length = request.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > max_bytes) {
        return Err(too_large());
    }
    let mut left = max_bytes;
    let mut is_too_large = false;
    let content = request.into_body().into_data_stream().map(|piece| {
        let piece = piece.map_err(drop)?;
        left = left.checked_sub(piece.len() as u64).ok_or_else(|| {
            is_too_large = true;
        })?;
        Ok::<_, ()>(piece)
    });
    let stored = v1
        .service
        .files
        .put(
            Owner::Client(client.id),
            sharing.shared,
            Some(&digest),
            content,
        )
        .await;
    if is_too_large {
        return Err(too_large());
    }
    let (_, is_new) = stored?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, expires(&v1.service)).into_response())
}

/// Read a file
#[utoipa::path(
    get,
    path = "/files/{sha256}",
    operation_id = "get_file",
    tag = "files",
    params(("sha256" = String, Path, description = "The SHA-256 of the content")),
    responses(
        (
            status = 200,
            description = "The content; HEAD returns only the headers",
            content_type = "application/octet-stream",
            body = Vec<u8>
        ),
        (
            status = 404,
            description = "This client has no such file",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn get(
    State(v1): State<Arc<V1>>,
    Authenticated(client): Authenticated,
    Path(digest): Path<String>,
    method: Method,
) -> Result<Response, ProblemDetails> {
    check(&digest)?;
    let stored = v1.service.files.find(&client, &digest);
    let stored = stored.ok_or_else(|| unknown(&digest))?;
    let length = stored.bytes();
    let body = if method == Method::HEAD {
        Body::empty()
    } else {
        let file = stored.open();
        let file = file.map_err(|error| ProblemDetails::from(StoreError::from(error)))?;
        let file = tokio::fs::File::from_std(file);
        Body::from_stream(futures_util::stream::try_unfold(file, |mut file| async {
            let mut chunk = bytes::BytesMut::with_capacity(CHUNK_BYTES);
            let read = file.read_buf(&mut chunk).await?;
            Ok::<_, std::io::Error>((read > 0).then(|| (chunk.freeze(), file)))
        }))
    };
    let mut response = (expires(&v1.service), body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, length.into());
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// Remove a file
///
/// A client can remove only files that it has stored itself; a file that other clients have stored
/// as well is kept for them. Clients with the right `admin` can remove every file. Runs that use
/// the file continue.
#[utoipa::path(
    delete,
    path = "/files/{sha256}",
    operation_id = "delete_file",
    tag = "files",
    params(("sha256" = String, Path, description = "The SHA-256 of the content")),
    responses(
        (status = 204, description = "The file is removed"),
        (
            status = 403,
            description = "The file is shared by another client",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
        (
            status = 404,
            description = "This client has no such file",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn remove(
    State(v1): State<Arc<V1>>,
    Authenticated(client): Authenticated,
    Path(digest): Path<String>,
) -> Result<StatusCode, ProblemDetails> {
    check(&digest)?;
    match v1.service.files.remove_for(&client, &digest) {
        Removal::Removed => Ok(StatusCode::NO_CONTENT),
        Removal::Unknown => Err(unknown(&digest)),
        Removal::NotOwned => Err(problem::forbidden(format!(
            "the file {digest} belongs to another client, or to an id of go-judge"
        ))),
    }
}

fn check(digest: &str) -> Result<(), ProblemDetails> {
    if is_digest(digest) {
        Ok(())
    } else {
        Err(problem::malformed(
            "the name of a file is its SHA-256: 64 lower-case hexadecimal digits",
        ))
    }
}

fn unknown(digest: &str) -> ProblemDetails {
    problem::not_found(format!("this client has stored no file {digest}"))
}

fn expires(service: &Service) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(EXPIRES, service.files.keep().as_secs().into());
    headers
}
