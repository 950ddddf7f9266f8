//! The pages of the contest site.

mod day;
mod journeys;
mod languages;
mod looks;
mod pictures;

#[path = "../../../crates/site/tests/support/mod.rs"]
#[allow(dead_code, reason = "the module belongs to the tests of the site")]
mod support;

use crate::browser::{Driver, Options, Window, within_limit};
use fantoccini::Locator;
use millibox_tests::skip;
use std::time::{Duration, Instant};
use support::Site;

/// A new site, and browsers for it.
struct Stage {
    site: Site,
    driver: Driver,
}

/// Starts a site and runs a test. Without a browser, the test is skipped.
fn with_site(test: impl AsyncFnOnce(&Stage)) {
    with_site_of(&[], test);
}

/// Like [`with_site`], with options of the site.
fn with_site_of(options: &'static [&'static str], test: impl AsyncFnOnce(&Stage)) {
    let driver = match Driver::start() {
        Ok(driver) => driver,
        Err(reason) => return skip(&reason),
    };
    let stage = Stage {
        site: Site::start_with(None, options),
        driver,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    within_limit(&runtime, test(&stage));
}

impl Stage {
    /// A window without cookies.
    async fn window(&self, options: Options) -> Window {
        self.driver.open(options, &self.site.url).await
    }

    /// The path with which the first administrator signs up.
    fn setup(&self) -> &str {
        self.site.setup.as_deref().expect("a link")
    }
}

impl Window {
    /// Sends the form with a button of this text.
    async fn press_button(&self, text: &str) {
        let path = format!("//main//button[normalize-space()='{text}']");
        self.click_at(Locator::XPath(&path), text).await;
    }

    /// Follows a link of the page by its text.
    async fn follow(&self, text: &str) {
        self.click_at(Locator::LinkText(text), text).await;
    }

    /// Waits for an element and clicks on it. A live part of the page, or the page itself, may be
    /// replaced between the two steps.
    async fn click_at(&self, place: Locator<'_>, text: &str) {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let clicked = match self.client.find(place).await {
                Ok(element) => element.click().await,
                Err(error) => Err(error),
            };
            match clicked {
                Ok(()) => return,
                Err(error) if error.is_stale_element_reference() || error.is_no_such_element() => {
                    let page = self.text("main").await;
                    assert!(Instant::now() < end, "{text}: {error} in {page}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => panic!("{text}: {error}"),
            }
        }
    }

    /// Signs up a new user.
    async fn sign_up(&self, path: &str, login: &str, button: &str) {
        self.open(path).await;
        self.fill("[name=login]", login).await;
        self.fill("[name=name]", &format!("{} Example", capital(login)))
            .await;
        self.fill("[name=password]", PASSWORD).await;
        self.press_button(button).await;
        self.is_signed_in().await;
    }

    /// Waits until the page is one of a signed-in user.
    async fn is_signed_in(&self) {
        self.element("form[action='/sign-out']").await;
    }

    /// Signs in a user.
    async fn sign_in(&self, login: &str) {
        self.open("/sign-in").await;
        self.fill("[name=login]", login).await;
        self.fill("[name=password]", PASSWORD).await;
        self.press_button("Sign in").await;
        self.is_signed_in().await;
    }

    /// Chooses a value of a field.
    async fn select(&self, selector: &str, value: &str) {
        let select = self.element(selector).await;
        select.select_by_value(value).await.expect("a choice");
    }

    /// Checks that no script or request has failed and that the policy was not violated, and closes
    /// the window.
    async fn end(self) {
        let messages = self.messages().await;
        assert!(messages.is_empty(), "{messages:#?}");
        self.client.close().await.expect("an end");
    }

    /// The same for pages that were rejected: the browser reports their statuses.
    async fn end_after_rejections(self) {
        let mut messages = self.messages().await;
        messages.retain(|message| !message.contains("the server responded with a status of 4"));
        assert!(messages.is_empty(), "{messages:#?}");
        self.client.close().await.expect("an end");
    }
}

/// The password of all users, which is that of the tests without a browser.
const PASSWORD: &str = "correct horse";

fn capital(login: &str) -> String {
    let mut characters = login.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}
