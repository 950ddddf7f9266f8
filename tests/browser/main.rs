//! Tests of the pages of the service and of the site in a real Chromium, through WebDriver.
//!
//! They need the Debian packages `chromium` and `chromium-driver`. The module `access` also needs
//! axe-core, which `make test-browser` downloads into `target/axe`. Without these, tests are
//! skipped with the reason.
//! Screenshots are written to `target/screenshots`.

mod access;
mod browser;
mod results;
mod run;
mod share;
mod site;
mod status;

#[path = "../service/server.rs"]
#[allow(dead_code, reason = "the module belongs to the tests of the service")]
mod server;
