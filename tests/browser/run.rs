//! Programs run from the page, with and without JavaScript.

use crate::browser::{Options, control_enter, with_browser};
use serde_json::json;

const WITHOUT_SCRIPT: Options = Options {
    script: false,
    dark: false,
    size: (1440, 1000),
};
// The digest of `secret`.
const TOKEN: &str = "[[token]]\nname = 'a'\nadmin = true\n\
    sha256 = '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b'\n";

#[test]
fn python_runs_in_place() {
    with_browser(Options::default(), "", async |browser| {
        browser.open("/").await;
        browser.script("window.marker = 1", json!([])).await;
        browser.fill("#code", "print(int(input()) * 2)").await;
        browser.fill("#stdin", "21").await;
        browser.click("#start").await;
        browser.result("good").await;
        assert_eq!(browser.text("[data-stream=stdout] pre").await, "42");
        assert_eq!(browser.text("[data-fact=exit] dd").await, "0");
        let marker = browser.script("return window.marker", json!([])).await;
        assert_eq!(marker, json!(1), "the page was not loaded again");
    });
}

#[test]
fn cpp_example_runs_with_control_enter() {
    with_browser(Options::default(), "", async |browser| {
        if !browser.needs("cpp17").await {
            return;
        }
        browser.choose("cpp17").await;
        assert!(browser.value("#code").await.contains("std::cin"));
        let keywords = browser.count("#editor .token-keyword").await;
        assert!(keywords >= 4, "{keywords} keywords");
        let layers = "return document.querySelector('.highlight').textContent \
            === document.getElementById('code').value + '\\n'";
        browser.eventually(layers).await;
        let code = browser.element("#code").await;
        code.send_keys(&control_enter()).await.expect("keys");
        browser.result("good").await;
        assert_eq!(browser.text("[data-stream=stdout] pre").await, "6");
        assert_eq!(browser.focus().await, "code");
    });
}

#[test]
fn python_and_cpp_run_without_script() {
    with_browser(WITHOUT_SCRIPT, "", async |browser| {
        if !browser.needs("cpp17").await {
            return;
        }
        assert_eq!(browser.count(".highlight").await, 0);
        browser.fill("#code", "print('a & <b>')").await;
        browser.click("#start").await;
        browser.result("good").await;
        assert_eq!(browser.text("[data-stream=stdout] pre").await, "a & <b>");
        browser.choose("cpp17").await;
        browser.click("#example").await;
        browser.result("idle").await;
        assert!(browser.value("#code").await.contains("std::cin"));
        browser.click("#start").await;
        browser.result("good").await;
        assert_eq!(browser.text("[data-stream=stdout] pre").await, "6");
        // The link opens the form without running the program.
        browser.click("#share-box a").await;
        browser.result("idle").await;
        assert!(browser.value("#code").await.contains("std::cin"));
        browser.screenshot("without-script").await;
    });
}

#[test]
fn compile_error_shows_messages_and_blame() {
    with_browser(Options::default(), "", async |browser| {
        if !browser.needs("cpp17").await {
            return;
        }
        browser.choose("cpp17").await;
        browser
            .set_code("int main() {\n    return undefined_name;\n}\n")
            .await;
        browser.click("#start").await;
        browser.result("bad").await;
        let headline = browser.text(".headline").await;
        assert_eq!(headline, "The compiler rejected the program.");
        let messages = browser.text("[data-stream=messages] pre").await;
        assert!(messages.contains("undefined_name"), "{messages}");
        assert_eq!(browser.text("[data-fact=blame] dd").await, "The program");
        browser.screenshot("compile-error").await;
    });
}

#[test]
fn time_limit_ends_endless_loop() {
    with_browser(Options::default(), "", async |browser| {
        browser.open("/").await;
        browser.set_code("while True:\n    pass\n").await;
        browser.fill("#cpu", "0.2").await;
        browser.click("#start").await;
        browser.result("bad").await;
        let headline = browser.text(".headline").await;
        // On a busy machine, the real-time limit is reached first.
        let limits = [
            "The program used more CPU time than the limit allows.",
            "The program ran longer than the limit allows.",
        ];
        assert!(limits.contains(&&headline[..]), "{headline}");
    });
}

#[test]
fn stop_ends_the_run() {
    with_browser(Options::default(), "", async |browser| {
        browser.open("/").await;
        browser.set_code("import time\ntime.sleep(3600)\n").await;
        browser.click("#start").await;
        browser.element("#result[aria-busy=true]").await;
        browser.click("#stop").await;
        browser.result("unknown").await;
        assert_eq!(browser.text(".headline").await, "The run was stopped.");
        browser.open("/status").await;
        let idle = "return document.querySelector('.tiles strong').textContent === '0'";
        browser.eventually(idle).await;
    });
}

#[test]
fn hostile_output_changes_nothing_in_the_page() {
    with_browser(Options::default(), "", async |browser| {
        browser.open("/").await;
        let hostile = "</pre><script>window.hacked = 1</script><img src=x onerror='hacked = 1'>";
        let code = format!("print({hostile:?} + '\\x1b]0;title\\x07\\u202e')");
        browser.set_code(&code).await;
        browser.click("#start").await;
        browser.result("good").await;
        let shown = browser.text("[data-stream=stdout] pre").await;
        assert_eq!(shown, format!("{hostile}␛]0;title␇⟨U+202E⟩"));
        assert_eq!(browser.count("#result img, #result script").await, 0);
        let hacked = browser.script("return typeof hacked", json!([])).await;
        assert_eq!(hacked, json!("undefined"));
    });
}

#[test]
fn token_is_requested_and_kept_for_the_tab() {
    with_browser(Options::default(), TOKEN, async |browser| {
        browser.open("/").await;
        browser.fill("#token", "wrong").await;
        browser.click("#start").await;
        browser.result("unknown").await;
        assert_eq!(browser.focus().await, "token");
        browser.fill("#token", "secret").await;
        browser.click("#start").await;
        browser.result("good").await;
        browser.open("/").await;
        assert_eq!(browser.value("#token").await, "secret");
        browser.open("/status").await;
        browser.element("#live .tiles").await;
        browser.element("table[aria-labelledby=installed]").await;
    });
}
