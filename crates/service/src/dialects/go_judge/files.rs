//! `/file`: files that clients store.

use super::GoJudge;
use super::auth::Authenticated;
use super::error_answer;
use crate::core::files::StoreError;
use axum::Json;
use axum::body::Body;
use axum::extract::{Multipart, Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use futures_util::stream::try_unfold;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::io::AsyncReadExt;

/// Number of bytes that are sent at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// The field of the form that contains the file.
const FIELD: &str = "file";
/// Media types by file name extension.
const TYPES: [(&str, &str); 10] = [
    ("css", "text/css; charset=utf-8"),
    ("gif", "image/gif"),
    ("html", "text/html; charset=utf-8"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("txt", "text/plain; charset=utf-8"),
    ("xml", "text/xml; charset=utf-8"),
];

/// `GET /file`: all names by their ids.
pub async fn list(
    State(go_judge): State<Arc<GoJudge>>,
    Authenticated(client): Authenticated,
) -> Json<BTreeMap<String, String>> {
    Json(go_judge.files.list(&go_judge.service.files, &client))
}

/// `POST /file`: stores the file of a form and returns its id.
pub async fn add(
    State(go_judge): State<Arc<GoJudge>>,
    Authenticated(client): Authenticated,
    mut form: Multipart,
) -> Response {
    loop {
        let field = match form.next_field().await {
            Ok(Some(field)) => field,
            Ok(None) => return error_answer(StatusCode::BAD_REQUEST, "http: no such file"),
            Err(error) => return error_answer(StatusCode::BAD_REQUEST, error.body_text()),
        };
        if field.name() != Some(FIELD) {
            continue;
        }
        let name = field.file_name().unwrap_or_default().to_owned();
        let ids = &go_judge.files;
        return match ids.add(&go_judge.service.files, &client, name, field).await {
            Ok(id) => Json(id).into_response(),
            Err(error @ (StoreError::Interrupted | StoreError::Name { .. })) => {
                error_answer(StatusCode::BAD_REQUEST, error)
            }
            Err(error) => error_answer(StatusCode::INTERNAL_SERVER_ERROR, error),
        };
    }
}

/// `GET /file/{id}`: the content. To a client, the files of other clients do not exist.
pub async fn get(
    State(go_judge): State<Arc<GoJudge>>,
    Authenticated(client): Authenticated,
    Path(id): Path<String>,
) -> Response {
    let Some((name, stored)) = go_judge.files.find(&go_judge.service.files, &client, &id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let length = stored.bytes();
    let file = match stored.open() {
        Ok(file) => file,
        Err(error) => return error_answer(StatusCode::INTERNAL_SERVER_ERROR, error),
    };
    let file = tokio::fs::File::from_std(file);
    let chunks = try_unfold(file, |mut file| async move {
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let read = file.read_buf(&mut chunk).await?;
        Ok::<_, std::io::Error>((read > 0).then(|| (chunk.freeze(), file)))
    });
    let mut response = Body::from_stream(chunks).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, length.into());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(&name)));
    if let Ok(value) = HeaderValue::from_str(&disposition(&name)) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}

/// `DELETE /file/{id}`. To a client, the files of other clients do not exist.
pub async fn delete(
    State(go_judge): State<Arc<GoJudge>>,
    Authenticated(client): Authenticated,
    Path(id): Path<String>,
) -> StatusCode {
    if go_judge.files.remove(&go_judge.service.files, &client, &id) {
        StatusCode::OK
    } else {
        StatusCode::NOT_FOUND
    }
}

fn content_type(name: &str) -> &'static str {
    let extension = std::path::Path::new(name).extension();
    let extension = extension.map(std::ffi::OsStr::to_ascii_lowercase);
    TYPES
        .iter()
        .find(|(known, _)| extension.as_deref().is_some_and(|found| found == *known))
        .map_or("application/octet-stream", |(_, content_type)| content_type)
}

/// The header that names the file. Characters that would end the name are escaped.
fn disposition(name: &str) -> String {
    let mut value = String::from("attachment; filename=\"");
    for character in name.chars().filter(|character| !character.is_control()) {
        if matches!(character, '"' | '\\') {
            value.push('\\');
        }
        value.push(character);
    }
    value.push('"');
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_follow_from_the_name() {
        assert_eq!(content_type("a.TXT"), "text/plain; charset=utf-8");
        assert_eq!(content_type("a"), "application/octet-stream");
        let escaped = disposition("a\"b\\c\n");
        assert_eq!(escaped, "attachment; filename=\"a\\\"b\\\\c\"");
    }
}
