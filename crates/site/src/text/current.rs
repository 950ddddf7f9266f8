//! The language in which the current request is answered.
//!
//! The language belongs to the task of the request, so every part of a page and every error is
//! rendered in it. Outside a request, texts are English.

use super::locale::{FALLBACK, Locale, Locales};
use std::cell::RefCell;
use std::future::Future;
use std::sync::Arc;

tokio::task_local! {
    static REQUEST: RefCell<Request>;
}

/// The properties of the request that the frame of a page needs.
#[derive(Debug, Clone)]
pub struct Request {
    /// The languages to choose from.
    pub locales: Arc<Locales>,
    /// The language of the answer.
    pub locale: Arc<Locale>,
    /// The URL to which the browser returns after the user chooses a different language.
    pub back: String,
    /// The scheme, the host and the port of the site; empty if they are unknown.
    pub origin: String,
}

/// Runs a future that answers a request.
pub async fn scope<F: Future>(request: Request, future: F) -> F::Output {
    REQUEST.scope(RefCell::new(request), future).await
}

/// The current request.
pub fn request() -> Option<Request> {
    REQUEST.try_with(|it| it.borrow().clone()).ok()
}

/// The language of the current request; English outside a request.
pub fn current() -> Arc<Locale> {
    let found = REQUEST.try_with(|it| it.borrow().locale.clone());
    found.unwrap_or_else(|_| FALLBACK.clone())
}

/// Changes the language of the current request, if the site has the new one.
pub fn set_language(tag: &str) {
    // Outside a request, no language is chosen.
    let _ = REQUEST.try_with(|it| {
        let mut request = it.borrow_mut();
        let found = request.locales.find(tag).cloned();
        if let Some(locale) = found {
            request.locale = locale;
        }
    });
}

/// Runs a future of the current request whose page leads back to another address.
pub async fn back_to<F: Future>(back: &str, future: F) -> F::Output {
    match request() {
        Some(request) => {
            let back = back.to_owned();
            scope(Request { back, ..request }, future).await
        }
        None => future.await,
    }
}

/// Runs a function with a language, on any thread.
pub fn at_once<R>(locale: &Arc<Locale>, function: impl FnOnce() -> R) -> R {
    static NONE: std::sync::LazyLock<Arc<Locales>> =
        std::sync::LazyLock::new(|| Arc::new(Locales::built_in()));
    let request = Request {
        locales: NONE.clone(),
        locale: locale.clone(),
        back: String::new(),
        origin: String::new(),
    };
    REQUEST.sync_scope(RefCell::new(request), function)
}
