//! The language and the time zone of the current request.
//!
//! They belong to the task of the request, so every part of a page and every error is rendered in
//! them. Outside a request, texts are English, and times are in UTC.

use super::locale::{FALLBACK, Locale, Locales};
use crate::core::zone::{Zone, Zones};
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
    /// The time zones from which the zone of the page is chosen.
    pub zones: Zones,
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

/// The time zone of the current request; UTC outside a request.
pub fn zone() -> Zone {
    let found = REQUEST.try_with(|it| it.borrow().zones.shown().clone());
    found.unwrap_or(Zone::UTC)
}

fn change_zones(change: impl FnOnce(&mut Zones)) {
    // Outside a request, no zone is chosen.
    let _ = REQUEST.try_with(|it| change(&mut it.borrow_mut().zones));
}

/// Sets the zone that the user of the current request has chosen, if its name is known.
pub fn set_user_zone(name: Option<&str>) {
    change_zones(|zones| zones.user = name.and_then(|name| Zone::of_name(name).ok()));
}

/// Sets the zone of the contest to which the page belongs, if its name is known.
pub fn set_contest_zone(name: Option<&str>) {
    change_zones(|zones| zones.contest = name.and_then(|name| Zone::of_name(name).ok()));
}

/// The language and the time zone of a reader, for texts that are rendered outside the request.
#[derive(Debug, Clone)]
pub struct Reader {
    pub locale: Arc<Locale>,
    pub zone: Zone,
}

/// The reader of the current request.
pub fn reader() -> Reader {
    Reader {
        locale: current(),
        zone: zone(),
    }
}

/// Runs a function with the language and the time zone of a reader, on any thread.
pub fn at_once<R>(reader: &Reader, function: impl FnOnce() -> R) -> R {
    static NONE: std::sync::LazyLock<Arc<Locales>> =
        std::sync::LazyLock::new(|| Arc::new(Locales::built_in()));
    let request = Request {
        locales: NONE.clone(),
        locale: reader.locale.clone(),
        zones: Zones {
            site: reader.zone.clone(),
            contest: None,
            user: None,
        },
        back: String::new(),
        origin: String::new(),
    };
    REQUEST.sync_scope(RefCell::new(request), function)
}
