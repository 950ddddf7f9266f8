//! What browsers receive if a request is not carried out: the page with its form again, with what
//! was typed and the mistake at its field, or otherwise the reason in the frame of the viewer's
//! pages.
//!
//! This holds for all forms; handlers only return an error. The page with the form is the one that
//! the hidden field of a form that was shown again names, or the header `Referer`, or otherwise the
//! page at the path of the request. It is requested once more with GET, as the browser would
//! request it. So the viewer sees only what the viewer may see, and nothing is changed twice. The
//! request does not pass this layer again.
//!
//! A guest whose session has ended receives what was typed, to send it again after a new sign-in.
//!
//! Programs, which do not ask for HTML, receive the response of the handler.

use super::error::{NotCarriedOut, PageError};
use super::frame;
use super::layout;
use super::refill::{PAGE_FIELD, Rejected, Typed};
use super::session::Session;
use crate::app::App;
use crate::core::back::Back;
use crate::http::body::{Copied, Kept};
use crate::http::connections::Connection;
use crate::text::{self, t};
use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Multipart, Request, State};
use axum::http::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderName, LOCATION, REFERER, USER_AGENT,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::{BodyExt, Limited};
use maud::{Render, html};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;

/// The maximum size of a page with a form, in bytes.
const MAX_PAGE: usize = 2 << 20;
/// The maximum number of fields of a form.
const MAX_FIELDS: usize = 1000;
/// How long an error page waits for the session. Without it, the page has no navigation.
const SESSION_TIMEOUT: Duration = Duration::from_secs(2);
/// The headers of a request that the request for the page with its form has, too.
const PASSED_ON: [HeaderName; 4] = [COOKIE, HOST, USER_AGENT, ACCEPT];
/// The maximum length of a word, in bytes.
const MAX_WORD: usize = 40;
const HTML: &str = "text/html";
const MULTIPART: &str = "multipart/form-data";

/// The site, and its pages without this layer.
#[derive(Debug)]
pub struct Again {
    pub app: Arc<App>,
    pub pages: Router,
}

/// Why a request was not carried out.
struct Reason {
    error: Arc<PageError>,
    /// The form may be shown again.
    has_form: bool,
}

/// Shows the form again or the reason in the frame if a request of a browser is not carried out.
pub async fn show(State(again): State<Arc<Again>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_page = !path.starts_with("/api/") && !path.starts_with("/assets/");
    if !is_page || !wants_html(request.headers()) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let original = original(&parts);
    let form = Arc::new(Kept::default());
    if parts.method == Method::POST {
        parts.extensions.insert(form.clone());
    }
    let response = next.run(Request::from_parts(parts, body)).await;
    let Some(reason) = reason(&response) else {
        let needs_session = response.extensions().get::<NotCarriedOut>().is_some();
        let unsent = match form.copy().filter(|_| needs_session) {
            Some(copy) => unsent(&original, copy).await,
            None => None,
        };
        let Some(page) = unsent else {
            return response;
        };
        let mut response = with_page(response, page);
        *response.status_mut() = StatusCode::FORBIDDEN;
        response.headers_mut().remove(LOCATION);
        return response;
    };
    // The user's setting also chooses the language of what follows.
    let session = again.session(&original).await;
    let is_guest = session.as_ref().is_none_or(|it| it.viewer().id().is_none());
    let shown = match original.method == Method::POST && reason.has_form {
        // A guest learns only after the sign-in whether the page exists.
        true if is_guest && matches!(*reason.error, PageError::NotFound) => match form.copy() {
            Some(copy) => unsent(&original, copy).await,
            None => None,
        },
        true => again.form(&original, form.copy(), &reason.error).await,
        false => None,
    };
    let page = match shown {
        Some(page) => page,
        None => framed(session, &reason.error).await,
    };
    with_page(response, page)
}

/// The response with another body. The layers around this one read its extensions.
fn with_page(response: Response, page: String) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    parts.headers.insert(CONTENT_TYPE, html);
    Response::from_parts(parts, Body::from(page))
}

/// Browsers ask for HTML when they open a page or send a form, and programs and scripts do not.
fn wants_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let mut texts = accepted.filter_map(|value| value.to_str().ok());
    texts.any(|text| text.contains(HTML))
}

/// What the error page and the request for the page with the form need of a request.
fn original(parts: &Parts) -> Parts {
    let mut original = Request::new(()).into_parts().0;
    original.method = parts.method.clone();
    original.uri = parts.uri.clone();
    for name in PASSED_ON.iter().chain([&REFERER, &CONTENT_TYPE]) {
        for value in parts.headers.get_all(name) {
            original.headers.append(name.clone(), value.clone());
        }
    }
    if let Some(address) = parts.extensions.get::<IpAddr>() {
        original.extensions.insert(*address);
    }
    if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
        original.extensions.insert(connection.clone());
    }
    original
}

/// Why a request was not carried out; `None` if it was. Requests that do not reach a handler have a
/// short text or none as their response.
fn reason(response: &Response) -> Option<Reason> {
    if let Some(error) = response.extensions().get::<Arc<PageError>>() {
        let (error, has_form) = (error.clone(), true);
        return Some(Reason { error, has_form });
    }
    let media = response.headers().get(CONTENT_TYPE);
    if media.is_some_and(|it| !it.as_bytes().starts_with(b"text/plain")) {
        return None;
    }
    let (error, has_form) = match response.status() {
        StatusCode::BAD_REQUEST
        | StatusCode::UNSUPPORTED_MEDIA_TYPE
        | StatusCode::UNPROCESSABLE_ENTITY => (PageError::Malformed, true),
        StatusCode::PAYLOAD_TOO_LARGE => (PageError::TooLong, true),
        // A different site has chosen the fields, so they must not be in a form of this site.
        StatusCode::FORBIDDEN => (PageError::Foreign, false),
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => (PageError::NotFound, false),
        _ => return None,
    };
    let error = Arc::new(error);
    Some(Reason { error, has_form })
}

impl Again {
    /// The session of a request, unless the database does not return it in time.
    async fn session(&self, original: &Parts) -> Option<Session> {
        let mut parts = original.clone();
        let session = Session::from_request_parts(&mut parts, &self.app);
        tokio::time::timeout(SESSION_TIMEOUT, session)
            .await
            .ok()?
            .ok()
    }

    /// The page with the form that was sent.
    async fn form(
        &self,
        original: &Parts,
        copy: Option<Copied>,
        error: &PageError,
    ) -> Option<String> {
        let typed = match copy {
            Some(copy) => typed(original, copy).await,
            None => None,
        };
        let named = typed
            .as_ref()
            .and_then(|it| it.values.get(PAGE_FIELD)?.first());
        let before = named.cloned().or_else(|| referer(original));
        let own = original.uri.path_and_query().map(ToString::to_string);
        let mut tried = None;
        for address in before.into_iter().chain(own) {
            if tried.as_ref() == Some(&address) {
                continue;
            }
            if let Some(page) = self
                .form_on(&address, original, typed.as_ref(), error)
                .await
            {
                return Some(page);
            }
            tried = Some(address);
        }
        None
    }

    /// The form, if a page of this site has it.
    async fn form_on(
        &self,
        address: &str,
        original: &Parts,
        typed: Option<&Typed>,
        error: &PageError,
    ) -> Option<String> {
        let address = Back::from(address.to_owned());
        let address = address.address()?;
        // Requests to a provider begin a sign-in.
        if address.starts_with("/api/") || address.starts_with("/oidc/") {
            return None;
        }
        let page = text::back_to(address, self.load(original, address)).await?;
        let explained = error.explain();
        let message = match error {
            // The page exists, so the form names something else.
            PageError::NotFound => t::ErrorMissing.render(),
            _ => explained.message(),
        };
        let rejected = Rejected {
            action: original.uri.path(),
            page: address,
            typed,
            concerns: &|field, value| error.concerns(field, value),
            renewed: error.renewed(),
            title: &explained.title.render(),
            message: &message,
            file_again: &t::FormFileAgain.render(),
            files_again: &t::FormFilesAgain.render(),
        };
        rejected.fill(&page)
    }

    /// Requests a page like the browser.
    async fn load(&self, original: &Parts, address: &str) -> Option<String> {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = address.parse().ok()?;
        for name in PASSED_ON {
            for value in original.headers.get_all(&name) {
                request.headers_mut().append(name.clone(), value.clone());
            }
        }
        *request.extensions_mut() = original.extensions.clone();
        let Ok(response) = self.pages.clone().oneshot(request).await;
        let media = response.headers().get(CONTENT_TYPE)?;
        let is_page = response.status() == StatusCode::OK;
        if !is_page || !media.as_bytes().starts_with(HTML.as_bytes()) {
            return None;
        }
        let body = Limited::new(response.into_body(), MAX_PAGE);
        let bytes = body.collect().await.ok()?.to_bytes();
        String::from_utf8(bytes.to_vec()).ok()
    }
}

/// Whether a text is more than a word or a number, which are quickly typed again.
fn is_long(text: &str) -> bool {
    text.contains(char::is_whitespace) || text.len() > MAX_WORD
}

/// The texts of a form that needs a session, as a form that can be sent after a sign-in; `None` if
/// the form has no long texts. The site has checked that the form comes from one of its pages.
async fn unsent(original: &Parts, copy: Copied) -> Option<String> {
    let typed = typed(original, copy).await?;
    let mut texts: Vec<(&String, &String)> = typed
        .values
        .iter()
        .flat_map(|(name, values)| values.iter().map(move |value| (name, value)))
        // Passwords are never shown again.
        .filter(|(name, _)| !name.contains("password"))
        .collect();
    if !texts.iter().any(|(_, value)| is_long(value)) {
        return None;
    }
    texts.sort();
    let media = original.headers.get(CONTENT_TYPE);
    let has_parts = media.is_some_and(|it| it.as_bytes().starts_with(b"multipart/"));
    let page = referer(original).filter(|_| !typed.values.contains_key(PAGE_FIELD));
    let main = html! {
        h1 { (t::UnsentTitle) }
        p { (t::UnsentDetail) }
        p { a.button href="/sign-in" target="_blank" { (t::UnsentSignIn) } }
        form method="post" action=(original.uri) enctype=[has_parts.then_some(MULTIPART)] {
            @for (name, value) in texts {
                @if name != PAGE_FIELD && is_long(value) {
                    label { (t::UnsentTyped) textarea name=(name) rows="8" { "\n" (value) } }
                } @else {
                    input type="hidden" name=(name) value=(value);
                }
            }
            @if let Some(page) = page { input type="hidden" name=(PAGE_FIELD) value=(page); }
            @if has_parts { p.hint { (t::FormFileAgain) } }
            button { (t::UnsentSend) }
        }
    };
    let page = text::back_to("/", async { frame::bare(t::UnsentTitle, main) });
    Some(page.await.0)
}

/// The reason in the frame of the viewer's pages. All paths without a page share this page, so it
/// does not name its own address.
async fn framed(session: Option<Session>, error: &PageError) -> String {
    let page = async {
        let explained = error.explain();
        let main = explained.page();
        match session {
            Some(session) => {
                let session = Session {
                    path: String::new(),
                    back: Back::default(),
                    ..session
                };
                layout::page(&session, explained.title, main).0
            }
            None => frame::bare(explained.title, main).0,
        }
    };
    text::back_to("/", page).await
}

/// The address of this site in the header `Referer`.
fn referer(original: &Parts) -> Option<String> {
    let host = original.headers.get(HOST)?.to_str().ok()?;
    let address = original.headers.get(REFERER)?.to_str().ok()?;
    let (_, rest) = address.split_once("://")?;
    let path = rest.strip_prefix(host)?;
    path.starts_with('/').then(|| path.to_owned())
}

/// The text fields in the copy of a form; `None` if there are too many.
async fn typed(original: &Parts, copy: Copied) -> Option<Typed> {
    let media = original.headers.get(CONTENT_TYPE);
    let is_cut = !copy.end.is_empty();
    let mut fields = Vec::new();
    let is_whole = match media.filter(|it| it.as_bytes().starts_with(b"multipart/")) {
        Some(media) => {
            let has_ended = read_parts(media, copy.begin, &mut fields).await;
            if is_cut
                && let Some(end) = part_begin(media, &copy.end.into_iter().collect::<Vec<_>>())
            {
                read_parts(media, end, &mut fields).await;
            }
            has_ended
        }
        None => {
            let is_whole = copy.has_ended && !is_cut;
            let whole = match is_whole {
                true => &copy.begin[..],
                // The last field may lack its end.
                false => copy.begin.rsplitn(2, |byte| *byte == b'&').nth(1)?,
            };
            let pairs = form_urlencoded::parse(whole).take(MAX_FIELDS + 1);
            fields.extend(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())));
            is_whole
        }
    };
    if fields.len() > MAX_FIELDS {
        return None;
    }
    let mut typed = Typed {
        is_whole,
        ..Typed::default()
    };
    for (name, value) in fields {
        typed.values.entry(name).or_default().push(value);
    }
    Some(typed)
}

/// Adds the text fields of a form in several parts. Returns whether the form has its end. Without
/// the end, it has the fields up to there.
async fn read_parts(
    media: &HeaderValue,
    bytes: Vec<u8>,
    fields: &mut Vec<(String, String)>,
) -> bool {
    let mut request = Request::new(Body::from(bytes));
    request.headers_mut().insert(CONTENT_TYPE, media.clone());
    let Ok(mut form) = Multipart::from_request(request, &()).await else {
        return false;
    };
    while fields.len() <= MAX_FIELDS {
        let Ok(part) = form.next_field().await else {
            return false;
        };
        let Some(part) = part else {
            return true;
        };
        let name = part.name().unwrap_or_default().to_owned();
        let is_file = part.file_name().is_some();
        match part.bytes().await {
            Ok(_) if is_file => {}
            Ok(text) => fields.push((name, String::from_utf8_lossy(&text).into_owned())),
            Err(_) => return false,
        }
    }
    false
}

/// The end of a form in several parts, from the begin of its first whole part.
fn part_begin(media: &HeaderValue, end: &[u8]) -> Option<Vec<u8>> {
    let (_, boundary) = media.to_str().ok()?.split_once("boundary=")?;
    let boundary = boundary.split(';').next()?.trim().trim_matches('"');
    let line = format!("\r\n--{boundary}\r\n");
    let at = end
        .windows(line.len())
        .position(|window| window == line.as_bytes())?;
    Some(end[at + 2..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(headers: &[(HeaderName, &str)]) -> Parts {
        let mut parts = Request::new(()).into_parts().0;
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).unwrap();
            parts.headers.append(name.clone(), value);
        }
        parts
    }

    #[test]
    fn only_pages_of_this_site_are_referers() {
        let of = |host, referer| referer_of(&[(HOST, host), (REFERER, referer)]);
        let host = "example.org:8080";
        let found = of(host, "https://example.org:8080/a?b");
        assert_eq!(found.as_deref(), Some("/a?b"));
        for other in [
            "https://example.org:8080.evil.example/a",
            "https://evil.example/example.org:8080/a",
            "https://example.org:80801/a",
            "https://ada@example.org:8080/a",
            "/a",
            "",
        ] {
            assert_eq!(of(host, other), None, "{other}");
        }
    }

    fn referer_of(headers: &[(HeaderName, &str)]) -> Option<String> {
        referer(&parts(headers))
    }

    fn copy(text: &str, end: &str, has_ended: bool) -> Copied {
        Copied {
            begin: text.as_bytes().to_vec(),
            end: end.bytes().collect(),
            has_ended,
        }
    }

    fn read(media: &str, copy: Copied) -> Option<(Vec<(String, String)>, bool)> {
        let parts = parts(&[(CONTENT_TYPE, media)]);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let typed = runtime.block_on(typed(&parts, copy))?;
        let mut fields: Vec<_> = typed
            .values
            .into_iter()
            .flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)))
            .collect();
        fields.sort();
        Some((fields, typed.is_whole))
    }

    fn fields(list: &[(&str, &str)]) -> Vec<(String, String)> {
        let pairs = list.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        pairs.collect()
    }

    #[test]
    fn fields_of_a_cut_form_are_not_cut() {
        let media = "application/x-www-form-urlencoded";
        let whole = read(media, copy("a=1&a=2&b=%20x", "", true)).unwrap();
        assert_eq!(
            whole,
            (fields(&[("a", "1"), ("a", "2"), ("b", " x")]), true)
        );
        let cut = read(media, copy("a=1&a=2&b=%20x", "yz", true)).unwrap();
        assert_eq!(cut, (fields(&[("a", "1"), ("a", "2")]), false));
        let cut = read(media, copy("a=1&b=x", "", false)).unwrap();
        assert_eq!(cut, (fields(&[("a", "1")]), false));
        let many = "a=1&".repeat(MAX_FIELDS + 1);
        assert!(read(media, copy(&many, "", true)).is_none());
    }

    #[test]
    fn fields_before_and_after_a_cut_file_are_read() {
        let media = "multipart/form-data; boundary=xyz";
        let field = |name: &str, value: &str| {
            format!("--xyz\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let file = "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";
        let begin = field("a", "1\r\n2") + file + "conte";
        let end = format!("nt\r\n{}--xyz--\r\n", field("b", "é"));
        let expected = fields(&[("a", "1\r\n2"), ("b", "é")]);
        let cut = read(media, copy(&begin, &end, true)).unwrap();
        assert_eq!(cut, (expected.clone(), false));
        let whole = read(media, copy(&(begin + &end), "", true)).unwrap();
        assert_eq!(whole, (expected, true));
    }
}
