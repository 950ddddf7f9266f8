//! The pictures of the guides, from the example contest.
//!
//! `MILLIBOX_IMAGES=docs/images make test-browser ARGS=pictures` writes them. Without the variable,
//! the test checks only that the pages show what the guides describe.

use super::support::{Browser, Site};
use super::{Stage, with_site_of};
use crate::browser::{Options, Window};
use serde_json::json;

/// Text in pictures of this width can be read beside the text of a guide.
const SMALL: Options = Options {
    script: true,
    dark: false,
    size: (900, 1000),
};
const SOURCE: &str = include_str!("../../../examples/stalls/prog/100_points/stalls.py");

#[test]
fn pictures_of_guides_show_the_example_contest() {
    with_site_of(&["--demo"], async |stage| {
        let password = stage.site.demo.clone().expect("a password");
        prepare(&stage.site, &password);
        teacher(stage, &password).await;
        contestant(stage, &password).await;
    });
}

fn sign_in(site: &Site, login: &str, password: &str) -> Browser {
    let mut browser = Browser::new(site);
    let answer = browser.post("/sign-in", &[("login", login), ("password", password)]);
    assert_eq!(answer.status, 303, "{answer:#?}");
    browser
}

/// Waits for the verdicts, and lets a contestant ask questions.
fn prepare(site: &Site, password: &str) {
    let mut teacher = sign_in(site, "teacher", password);
    let open = ["Waiting", "Judging", "Initial tests"];
    teacher.wait_until("/contests/1/submissions", |page| {
        !open.iter().any(|word| page.contains(word))
    });
    let mut ben = sign_in(site, "ben", password);
    for (problem, text) in [
        ("3", "May the input end without a line break?"),
        ("", "Until when is the ranking frozen?"),
    ] {
        let fields = [("problem", problem), ("text", text)];
        let asked = ben.post("/contests/1/clarifications", &fields);
        assert_eq!(asked.status, 303, "{asked:#?}");
    }
    let fields = [("problem", ""), ("text", "There are drinks in room 12.")];
    let announced = teacher.post("/contests/1/announcements", &fields);
    assert_eq!(announced.status, 303, "{announced:#?}");
}

async fn open_as(stage: &Stage, login: &str, password: &str) -> Window {
    let window = stage.window(SMALL).await;
    window.open("/sign-in").await;
    window.fill("[name=login]", login).await;
    window.fill("[name=password]", password).await;
    window.press_button("Sign in").await;
    window.is_signed_in().await;
    window
}

/// The pages that the guides for teachers and organizers show.
async fn teacher(stage: &Stage, password: &str) {
    let window = open_as(stage, "teacher", password).await;
    for (path, name, expected) in [
        ("/problems/new", "site-add-problem", "Add a problem"),
        ("/contests/1", "site-contest", "Final, in ICPC mode"),
        ("/contests/1/clarifications", "site-questions", "line break"),
        ("/contests/1/balloons", "site-balloons", "Ada Archer"),
        ("/contests/1/ranking", "site-ranking", "Ada Archer"),
    ] {
        window.open(path).await;
        let shown = window.text("main").await;
        assert!(shown.contains(expected), "{path}: {shown}");
        window.picture(name).await;
    }
    window.end().await;
}

/// The pages that a contestant visits.
async fn contestant(stage: &Stage, password: &str) {
    let window = open_as(stage, "dan", password).await;
    window.open("/contests/1").await;
    window.click("a[href='/round-problems/1']").await;
    window.element(".statement").await;
    window.picture("site-problem").await;
    window.follow("Submit").await;
    window.select("[name=language]", "python3").await;
    window.set_code(SOURCE).await;
    window.picture("site-submit").await;
    window.press_button("Submit").await;
    let is_judged = "return document.querySelector('#result')?.textContent.includes(arguments[0])";
    window.eventually_with(is_judged, json!(["Accepted"])).await;
    let smaller = window.client.set_window_size(900, 760).await;
    smaller.expect("a smaller window");
    window.picture("site-submission").await;
    window.end().await;
}
