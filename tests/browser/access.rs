//! Keyboard, screen sizes, colour schemes and the rules of axe-core.

use crate::browser::{Browser, Options, axe, control_enter, key, with_browser};
use fantoccini::key::Key;
use serde_json::json;

/// Whether the focus can be seen.
const OUTLINE: &str = "const style = getComputedStyle(document.activeElement); \
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2";

const PHONE: Options = Options {
    script: true,
    dark: false,
    size: (320, 700),
};

#[test]
fn everything_works_with_the_keyboard_alone() {
    with_browser(Options::default(), "", async |browser| {
        browser.open("/").await;
        let mut reached = Vec::new();
        while browser.focus().await != "code" {
            assert!(reached.len() < 20, "{reached:?}");
            browser.press(&key(Key::Tab)).await;
            assert_eq!(browser.script(OUTLINE, json!([])).await, json!(true));
            reached.push(browser.focus().await);
        }
        assert!(reached.ends_with(&["runtime".into(), "example".into(), "code".into()]));
        // Tab indents; Escape lets Tab leave the editor.
        browser.set_code("").await;
        browser.press(&key(Key::Tab)).await;
        assert_eq!(browser.focus().await, "code");
        assert_eq!(browser.value("#code").await, "    ");
        browser
            .press(&format!("if 1:{}print(7)", key(Key::Enter)))
            .await;
        assert_eq!(browser.value("#code").await, "    if 1:\n    print(7)");
        browser.set_code("print(input())").await;
        browser.press(&key(Key::Escape)).await;
        for id in ["stdin", "cpu", "memory", "start", "share"] {
            browser.press(&key(Key::Tab)).await;
            assert_eq!(browser.focus().await, id);
            assert_eq!(browser.script(OUTLINE, json!([])).await, json!(true));
        }
        let backwards: String = [Key::Shift, Key::Tab, Key::Null]
            .map(char::from)
            .iter()
            .collect();
        browser.press(&backwards).await;
        browser.press(&key(Key::Enter)).await;
        browser.result("good").await;
        assert_eq!(browser.text("[data-stream=stdout] pre").await, "1 2 3");
        assert_eq!(
            browser.text("#announcement").await,
            "The program ended normally."
        );
        // The output can be scrolled with the keyboard.
        browser.press(&key(Key::Tab)).await;
        browser.press(&key(Key::Tab)).await;
        let tag = browser
            .script("return document.activeElement.tagName", json!([]))
            .await;
        assert_eq!(tag, json!("PRE"));
        browser.press(&control_enter()).await;
        browser.result("good").await;
    });
}

#[test]
fn pages_need_no_horizontal_scrolling_on_a_phone() {
    with_browser(PHONE, "", async |browser| {
        each_page(browser, async |page| {
            let width = "return [document.documentElement.scrollWidth, innerWidth]";
            let width = browser.script(width, json!([])).await;
            assert_eq!(width, json!([320, 320]), "{page}");
        })
        .await;
    });
}

/// Shows a result on both pages and calls `test` for each.
async fn each_page(browser: &Browser, test: impl AsyncFn(&str)) {
    browser.open("/").await;
    let code = "# The greeting\nfor name in ['a', 'b']:\n    print('hello', name, 42)\n";
    browser.set_code(code).await;
    browser.click("#start").await;
    browser.result("good").await;
    test("run").await;
    browser.set_code("raise ValueError('no')\n").await;
    browser.click("#start").await;
    browser.result("bad").await;
    test("failure").await;
    browser.open("/status").await;
    browser.element("figure path.line, figure svg").await;
    test("status").await;
    for (path, name) in [("/docs", "docs"), ("/docs/problems", "problems")] {
        browser.open(path).await;
        browser.element("footer").await;
        test(name).await;
    }
}

/// Checks all pages with axe-core and takes pictures.
fn check_with_axe(options: Options, name: &str) {
    let Some(axe) = axe() else { return };
    with_browser(options, "", async |browser| {
        browser.open("/").await;
        let is_dark = "return matchMedia('(prefers-color-scheme: dark)').matches";
        let is_dark = browser.script(is_dark, json!([])).await;
        assert_eq!(is_dark, json!(options.dark));
        each_page(browser, async |page| {
            browser.screenshot(&format!("{page}-{name}")).await;
            browser.check_with_axe(&axe, page).await;
        })
        .await;
    });
}

#[test]
fn axe_finds_nothing_in_light_pages() {
    check_with_axe(Options::default(), "light");
}

#[test]
fn axe_finds_nothing_in_dark_pages() {
    let options = Options {
        dark: true,
        ..Options::default()
    };
    check_with_axe(options, "dark");
}

#[test]
fn axe_finds_nothing_on_a_phone() {
    check_with_axe(PHONE, "phone");
}

#[test]
fn axe_finds_nothing_on_a_projector() {
    let options = Options {
        dark: true,
        size: (2560, 1440),
        ..Options::default()
    };
    check_with_axe(options, "projector");
}
