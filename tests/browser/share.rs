//! Links to programs.

use crate::browser::{Browser, Options, with_browser};

/// Creates a link to the filled form and returns its address.
async fn set_mode(browser: &Browser) -> String {
    browser.click("#share").await;
    let link = browser.element("#share-box a").await;
    let address = link.attr("href").await.expect("an attribute");
    address.expect("an address")
}

/// Opens a link in a new page.
async fn follow(browser: &Browser, link: &str) {
    browser.client.goto("about:blank").await.expect("a page");
    browser.client.goto(link).await.expect("a page");
    browser.element("#share-box p").await;
}

#[test]
fn link_fills_form_and_runs_nothing() {
    with_browser(Options::default(), "", async |browser| {
        browser.open("/").await;
        let code = "print('ü < & \\'')\n";
        browser.choose("bash").await;
        browser.set_code(code).await;
        browser.fill("#stdin", "a b").await;
        browser.fill("#cpu", "2.5").await;
        browser.fill("#memory", "99").await;
        let link = set_mode(browser).await;
        assert!(link.contains("/#p="), "{link}");
        follow(browser, &link).await;
        assert_eq!(browser.value("#runtime").await, "bash");
        assert_eq!(browser.value("#code").await, code);
        assert_eq!(browser.value("#stdin").await, "a b");
        assert_eq!(browser.value("#cpu").await, "2.5");
        assert_eq!(browser.value("#memory").await, "99");
        browser.result("idle").await;
        browser.open("/status").await;
        assert_eq!(browser.text("tr[data-outcome=exited] td").await, "0");
    });
}

#[test]
fn long_program_is_compressed() {
    with_browser(Options::default(), "", async |browser| {
        browser.open("/").await;
        let code = "print('the same line again')\n".repeat(500);
        browser.set_code(&code).await;
        let link = set_mode(browser).await;
        assert!(link.contains("/#z="), "{link}");
        assert!(link.len() < 1000, "{} bytes", link.len());
        follow(browser, &link).await;
        assert_eq!(browser.value("#code").await, code);
    });
}

#[test]
fn broken_link_is_reported() {
    with_browser(Options::default(), "", async |browser| {
        browser.open("/#z=AAAA").await;
        browser.result("unknown").await;
        let headline = browser.text(".headline").await;
        assert_eq!(headline, "The link cannot be opened.");
    });
}
