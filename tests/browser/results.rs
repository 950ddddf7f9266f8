//! The script shows the same result as the server.

use crate::browser::{Options, with_browser};
use serde_json::json;

/// The text of the result, with figures replaced by `#`.
const RESULT: &str = r"
    const result = document.getElementById('result');
    const lines = [result.dataset.kind];
    for (const fact of result.querySelectorAll('[data-fact]')) {
        const [label, value] = fact.children;
        const isMeasured = ['cpu', 'wall', 'memory', 'compile', 'queued']
            .includes(fact.dataset.fact);
        lines.push(`${label.textContent}: ${isMeasured ? '#' : value.textContent}`);
    }
    for (const element of result.querySelectorAll('p, h3, pre')) lines.push(element.textContent);
    return lines;";

const HAS_RUN: &str = "return document.getElementById('result').dataset.kind !== 'idle'";
const IS_LOADED_AGAIN: &str =
    "return window.marker === undefined && document.readyState === 'complete'";

const PROGRAMS: [(&str, &str); 9] = [
    ("python3", "print('hello')"),
    ("python3", "pass"),
    (
        "python3",
        "import sys; print('x', file=sys.stderr); sys.exit(3)",
    ),
    ("python3", "import os; os.kill(os.getpid(), 11)"),
    ("python3", "import os; os.kill(os.getpid(), 40)"),
    (
        "python3",
        r"import sys; sys.stdout.buffer.write(b'\n\xff\x00\x1b[1m\r\n\r<b>')",
    ),
    ("python3", r"print('\u202e\u2028\x9b\ufeff' * 3)"),
    ("python3", "print('x' * 300_000)"),
    ("cpp17", "int main() { return undefined_name; }"),
];

#[test]
fn script_and_server_show_the_same_result() {
    with_browser(Options::default(), "", async |browser| {
        if !browser.needs("cpp17").await {
            return;
        }
        for (runtime, code) in PROGRAMS {
            browser.open("/").await;
            browser.choose(runtime).await;
            browser.set_code(code).await;
            browser.click("#start").await;
            browser.eventually(HAS_RUN).await;
            let by_script = browser.script(RESULT, json!([])).await;
            // The same form, sent without the script.
            let submit = "const form = document.getElementById('run'); window.marker = 1; \
                HTMLFormElement.prototype.submit.call(form);";
            browser.script(submit, json!([])).await;
            browser.eventually(IS_LOADED_AGAIN).await;
            let by_server = browser.script(RESULT, json!([])).await;
            assert_eq!(by_script, by_server, "{code}");
            assert!(by_script.as_array().is_some_and(|lines| lines.len() > 5));
        }
    });
}
