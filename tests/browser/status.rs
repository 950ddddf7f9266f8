//! The status page.

use crate::browser::{Options, with_browser};
use serde_json::json;

#[test]
fn figures_are_refreshed_in_place() {
    with_browser(Options::default(), "", async |browser| {
        browser.open("/status").await;
        browser.script("window.marker = 1", json!([])).await;
        assert_eq!(browser.text("tr[data-outcome=exited] td").await, "0");
        let run = json!({ "runtime": "python3", "files": { "main.py": { "text": "" } } });
        let answer = browser.server.post("/v1/runs", &run);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let counted = "return window.marker === 1 && \
            document.querySelector('tr[data-outcome=exited] td').textContent === '1'";
        browser.eventually(counted).await;
        // Two samples make a line.
        browser.element("figure path.line").await;
    });
}

#[test]
fn page_without_script_can_reload_itself() {
    let options = Options {
        script: false,
        ..Options::default()
    };
    with_browser(options, "", async |browser| {
        browser.open("/status").await;
        browser.click("noscript a").await;
        browser.element("meta[http-equiv=refresh]").await;
        let run = json!({ "runtime": "python3", "files": { "main.py": { "text": "" } } });
        browser.server.post("/v1/runs", &run);
        let end = std::time::Instant::now() + millibox_tests::HANG_TIMEOUT;
        while browser.text("tr[data-outcome=exited] td").await != "1" {
            assert!(std::time::Instant::now() < end);
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    });
}
