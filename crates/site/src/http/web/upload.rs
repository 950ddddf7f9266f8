//! Large files of forms, which are stored while they arrive, and large answers, which are sent
//! while they are read. Neither is ever in memory as a whole.

use super::error::{InternalError, Overload, Page, PageError, unreadable};
use super::mistake::Mistake;
use super::quota;
use super::storable;
use crate::app::App;
use axum::body::Body;
use axum::extract::Multipart;
use axum::extract::multipart::Field;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::HashMap;
use tokio_util::io::ReaderStream;
use tokio_util::sync::CancellationToken;

/// The maximum size of all other fields of a form together, in bytes.
const MAX_FIELDS: usize = 64 << 10;

/// The file of a form, which is stored, and the text of its other fields.
#[derive(Debug)]
pub struct StoredUpload {
    pub file_name: String,
    /// The SHA-256 of the file; that of an empty file if the form has none.
    pub digest: String,
    pub bytes: u64,
    fields: HashMap<String, String>,
}

impl StoredUpload {
    /// Reads a form of a user whose file has the name `file`. The limit of the request and the room
    /// of the user bound its size.
    ///
    /// # Errors
    /// The form is malformed or too large, it has two files, too many files arrive at this moment,
    /// or the file cannot be stored.
    pub async fn read(app: &App, user: i64, form: Multipart) -> Page<StoredUpload> {
        let mut uploads = StoredUpload::read_all(app, user, 1, form).await?;
        Ok(uploads.swap_remove(0))
    }

    /// Reads a form with up to `most` files, of which each has the name `file`. Returns an upload
    /// for each file, with the same fields, and at least one.
    ///
    /// # Errors
    /// Those of [`StoredUpload::read`].
    pub async fn read_all(
        app: &App,
        user: i64,
        most: usize,
        form: Multipart,
    ) -> Page<Vec<StoredUpload>> {
        let lost = CancellationToken::new();
        let busy = PageError::Busy(Overload::Uploads);
        let Some(_place) = app.limits.uploads.take(user, &lost) else {
            return Err(busy);
        };
        let room = quota::room(app, user).await?;
        let uploads = tokio::select! {
            uploads = StoredUpload::read_within(app, (user, room), most, form) => uploads?,
            () = lost.cancelled() => return Err(busy),
        };
        Ok(uploads)
    }

    async fn read_within(
        app: &App,
        (user, mut room): (i64, u64),
        most: usize,
        mut form: Multipart,
    ) -> Page<Vec<StoredUpload>> {
        let mut fields = HashMap::new();
        let mut field_bytes = 0;
        let mut stored = Vec::new();
        while let Some(part) = form.next_field().await? {
            let name = part.name().unwrap_or_default().to_owned();
            if name != "file" {
                let text = short_text(part, &mut field_bytes).await?;
                storable::check(&name, &text)?;
                fields.insert(name, text);
            } else if stored.len() < most {
                let file_name = part.file_name().unwrap_or_default().to_owned();
                let (digest, bytes) = store(app, room, Some(part)).await?;
                // It counts also if the rest of the form is rejected.
                app.uploaded.add(user, &digest);
                room -= bytes;
                stored.push((file_name, digest, bytes));
            } else {
                return Err(match most {
                    1 => Mistake::TwoFiles,
                    max => Mistake::TooManyPackages { max },
                }
                .into());
            }
        }
        if stored.is_empty() {
            let (digest, bytes) = store(app, room, None).await?;
            app.uploaded.add(user, &digest);
            stored.push((String::new(), digest, bytes));
        }
        let upload = |(file_name, digest, bytes)| StoredUpload {
            file_name,
            digest,
            bytes,
            fields: fields.clone(),
        };
        Ok(stored.into_iter().map(upload).collect())
    }

    /// The text of a field; empty if it is absent.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

async fn short_text(mut part: Field<'_>, total: &mut usize) -> Page<String> {
    let mut text = Vec::new();
    while let Some(chunk) = part.chunk().await? {
        *total += chunk.len();
        if *total > MAX_FIELDS {
            return Err(Mistake::LongField.into());
        }
        text.extend_from_slice(&chunk);
    }
    String::from_utf8(text).map_err(|_| Mistake::FieldNotUtf8.into())
}

/// Stores a file of at most `room` bytes. Returns its digest and its length.
async fn store(app: &App, room: u64, part: Option<Field<'_>>) -> Page<(String, u64)> {
    let blobs = app.blobs.clone();
    let mut blob = blocking(move || blobs.begin()).await??;
    let mut bytes = 0;
    if let Some(mut part) = part {
        while let Some(chunk) = part.chunk().await? {
            bytes += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            if bytes > room {
                return Err(quota::full(app));
            }
            blob = blocking(move || blob.write(&chunk).map(|()| blob)).await??;
        }
    }
    let digest = blocking(move || blob.finish()).await??;
    Ok((digest, bytes))
}

/// Stores a file that is in memory. Returns its digest.
///
/// # Errors
/// The user has no room, or the file cannot be stored.
pub async fn put(app: &App, user: i64, content: Vec<u8>) -> Page<String> {
    let room = quota::room(app, user).await?;
    if u64::try_from(content.len()).unwrap_or(u64::MAX) > room {
        return Err(quota::full(app));
    }
    let blobs = app.blobs.clone();
    let digest = blocking(move || blobs.put(&content)).await??;
    app.uploaded.add(user, &digest);
    Ok(digest)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Page<T> {
    Ok(tokio::task::spawn_blocking(work).await?)
}

/// A stored file for the browser to save under a name.
///
/// # Errors
/// The file cannot be read.
pub async fn download(app: &App, digest: &str, name: &str, media: &'static str) -> Page {
    let disposition = disposition(name);
    let mut response = stored(app, digest).await?;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    let disposition = HeaderValue::from_str(&disposition).map_err(|_| InternalError::FileName)?;
    headers.insert(CONTENT_DISPOSITION, disposition);
    Ok(response)
}

/// The content of a stored file, which is read while it is sent.
///
/// # Errors
/// The file cannot be read.
pub async fn stored(app: &App, digest: &str) -> Page {
    let failed = |error: std::io::Error| unreadable(digest, error);
    let path = app.blobs.path(digest);
    let file = tokio::fs::File::open(path).await.map_err(failed)?;
    let length = file.metadata().await.map_err(failed)?.len();
    let mut response: Response = Body::from_stream(ReaderStream::new(file)).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    Ok(response)
}

/// The header that makes browsers save a file under a name: once in ASCII, for old programs, and
/// once as it is (RFC 6266).
pub fn disposition(name: &str) -> String {
    let plain = |symbol: char| symbol.is_ascii_alphanumeric() || " ._-+".contains(symbol);
    let ascii: String = name
        .chars()
        .map(|symbol| if plain(symbol) { symbol } else { '_' })
        .collect();
    let exact = utf8_percent_encode(name, NON_ALPHANUMERIC);
    if ascii == name {
        format!("attachment; filename=\"{ascii}\"")
    } else {
        format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{exact}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_do_not_leave_the_header() {
        assert_eq!(disposition("a b.zip"), "attachment; filename=\"a b.zip\"");
        assert_eq!(
            disposition("ü\";x\r\n.html"),
            "attachment; filename=\"___x__.html\"; \
             filename*=UTF-8''%C3%BC%22%3Bx%0D%0A%2Ehtml"
        );
    }
}
