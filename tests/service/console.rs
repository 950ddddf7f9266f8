//! The pages of the service, without a browser: forms, escaping, tokens and headers.

use crate::server::Server;
use millibox_tests::skip;
use scraper::{Html, Selector};

const STATUS_IDS: [&str; 2] = ["live", "installed"];

/// A page of the service.
struct Page {
    status: u16,
    headers: ureq::http::HeaderMap,
    text: String,
    document: Html,
}

impl Page {
    /// The texts of all elements that a selector matches.
    fn texts(&self, selector: &str) -> Vec<String> {
        let selector = Selector::parse(selector).expect("a selector");
        self.document
            .select(&selector)
            .map(|element| element.text().collect())
            .collect()
    }

    /// The text of the one element that a selector matches.
    fn one(&self, selector: &str) -> String {
        let mut texts = self.texts(selector);
        assert_eq!(texts.len(), 1, "{selector} in {}", self.text);
        texts.remove(0)
    }

    fn attribute(&self, selector: &str, name: &str) -> String {
        let parsed = Selector::parse(selector).expect("a selector");
        let element = self.document.select(&parsed).next();
        let element = element.unwrap_or_else(|| panic!("no {selector} in {}", self.text));
        element.attr(name).unwrap_or_default().to_owned()
    }

    fn has(&self, selector: &str) -> bool {
        !self.texts(selector).is_empty()
    }

    /// The output of the program.
    fn stdout(&self) -> String {
        self.one("#result [data-stream=stdout] pre")
    }

    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        let value = value.unwrap_or_else(|| panic!("no header {name}"));
        value.to_str().expect("a header of text")
    }
}

fn request(server: &Server, path: &str, headers: &[(&str, &str)], form: Option<&str>) -> Page {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    let mut request = ureq::http::Request::builder().uri(format!("{}{path}", server.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = match form {
        None => agent.run(request.body(()).expect("a request")),
        Some(form) => agent.run(
            request
                .method("POST")
                .header("content-type", "application/x-www-form-urlencoded")
                .body(form.to_owned())
                .expect("a request"),
        ),
    };
    let mut answer = answer.expect("an answer");
    let text = answer.body_mut().read_to_string().expect("a body");
    Page {
        status: answer.status().as_u16(),
        headers: answer.headers().clone(),
        document: Html::parse_document(&text),
        text,
    }
}

fn get(server: &Server, path: &str) -> Page {
    request(server, path, &[], None)
}

/// Sends the fields of a form, encoded as a browser encodes them.
fn post(server: &Server, path: &str, fields: &[(&str, &str)]) -> Page {
    request(server, path, &[], Some(&encoded(fields)))
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| {
        let value: Vec<String> = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        format!("{name}={}", value.concat())
    };
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

/// Runs a program through the form.
fn run(server: &Server, runtime: &str, code: &str, stdin: &str) -> Page {
    let fields = [("runtime", runtime), ("code", code), ("stdin", stdin)];
    post(server, "/", &fields)
}

/// Whether the service has a runtime. If not, reports the test as skipped.
fn needs(server: &Server, runtime: &str) -> bool {
    let is_installed = get(server, "/").has(&format!("#runtime option[value={runtime}]"));
    if !is_installed {
        skip(&format!("the language {runtime} is not installed"));
    }
    is_installed
}

/// The count of an outcome on the status page.
fn counted(server: &Server, outcome: &str) -> String {
    get(server, "/status").one(&format!("tr[data-outcome={outcome}] td.number"))
}

#[test]
fn form_runs_program_with_input() {
    let server = Server::with_config("", "");
    let page = run(&server, "python3", "print(int(input()) * 2)", "21\r\n");
    assert_eq!(page.status, 200);
    assert_eq!(page.stdout(), "42\n");
    assert_eq!(page.one("#result .headline"), "The program ended normally.");
    assert_eq!(page.one("#result [data-fact=exit] dd"), "0");
    assert!(!page.has("#result [data-fact=blame]"));
    for fact in ["cpu", "wall", "memory", "queued"] {
        assert!(
            page.has(&format!("#result [data-fact={fact}] dd")),
            "{fact}"
        );
    }
    assert_eq!(page.attribute("option[selected]", "value"), "python3");
    assert_eq!(page.one("#code").trim(), "print(int(input()) * 2)");
    assert_eq!(counted(&server, "exited"), "1");
}

#[test]
fn form_sends_lines_without_carriage_returns() {
    let server = Server::with_config("", "");
    let code = "import sys\r\nprint(repr(sys.stdin.read()))";
    let page = run(&server, "python3", code, "a\r\nb\r\n");
    assert_eq!(page.stdout(), "'a\\nb\\n'\n");
}

#[test]
fn form_shows_exit_code_signal_and_blame() {
    let server = Server::with_config("", "");
    let page = run(&server, "python3", "import sys; sys.exit('oh <no>')", "");
    assert_eq!(page.status, 200);
    let headline = "The program ended with exit code 1.";
    assert_eq!(page.one("#result .headline"), headline);
    assert!(
        page.one("#result [data-stream=stderr] pre")
            .contains("oh <no>")
    );
    assert_eq!(page.one("#result [data-fact=blame] dd"), "The program");
    let page = run(
        &server,
        "python3",
        "import os; os.kill(os.getpid(), 11)",
        "",
    );
    assert!(page.one("#result .headline").starts_with("SIGSEGV (11"));
}

#[test]
fn form_shows_compiler_messages() {
    let server = Server::with_config("", "");
    if !needs(&server, "cpp17") {
        return;
    }
    let page = run(&server, "cpp17", "int main() { return <b>; }", "");
    assert_eq!(page.attribute("#result", "data-kind"), "bad");
    let headline = "The compiler rejected the program.";
    assert_eq!(page.one("#result .headline"), headline);
    assert!(
        page.one("#result [data-stream=messages] pre")
            .contains("error")
    );
    assert_eq!(page.one("#result [data-fact=blame] dd"), "The program");
    assert!(!page.has("#result pre b"), "the messages are not markup");
}

#[test]
fn form_applies_limits_and_rejects_invalid_ones() {
    let server = Server::with_config("", "[limits.max]\ncpu_ms = 5000\n");
    let with_limits = |cpu: &str, memory: &str, code: &str| {
        let fields = [
            ("runtime", "python3"),
            ("code", code),
            ("cpu", cpu),
            ("memory", memory),
        ];
        post(&server, "/", &fields)
    };
    let page = with_limits("0.2", "", "while True: pass");
    // On a busy machine, the real-time limit is reached first.
    let limits = [
        "The program used more CPU time than the limit allows.",
        "The program ran longer than the limit allows.",
    ];
    let headline = page.one("#result .headline");
    assert!(limits.contains(&&headline[..]), "{headline}");
    for (cpu, memory) in [("0", ""), ("6", ""), ("one", ""), ("", "-1")] {
        let page = with_limits(cpu, memory, "print(1)");
        assert_eq!(page.status, 422, "{cpu} {memory}");
        assert_eq!(page.attribute("#result", "data-kind"), "unknown");
        let blame = page.one("#result [data-fact=blame] dd");
        assert_eq!(blame, "The request, not the program");
        assert_eq!(page.one("#code").trim(), "print(1)");
    }
}

#[test]
fn hostile_output_is_shown_as_text() {
    let server = Server::with_config("", "");
    let hostile = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>";
    let code = format!(
        "import sys\nsys.stdout.write({hostile:?} + '\\x1b]0;title\\x07\\x1b[2J\\u202e')\n\
         sys.stderr.buffer.write(b'\\xff\\x00<b>')"
    );
    let page = run(&server, "python3", &code, hostile);
    assert_eq!(page.stdout(), format!("{hostile}␛]0;title␇␛[2J⟨U+202E⟩"));
    assert_eq!(
        page.one("#result [data-stream=stderr] pre").trim(),
        "\u{fffd}␀<b>"
    );
    assert!(!page.text.contains('\x1b'));
    assert!(!page.has("#result script") && !page.has("img[onerror]") && !page.has("#result b"));
    // The only script is that of the page, not that of the program.
    assert_eq!(page.texts("script").len(), 1);
}

#[test]
fn link_fills_form_and_runs_nothing() {
    let server = Server::with_config("", "");
    let page = run(&server, "python3", "print('<ü> & +')", "a b\n");
    let link = page.attribute("#share-box a", "href");
    let opened = get(&server, &link);
    assert_eq!(opened.status, 200);
    assert_eq!(opened.one("#code").trim(), "print('<ü> & +')");
    assert_eq!(opened.one("#stdin").trim(), "a b");
    assert_eq!(opened.attribute("#result", "data-kind"), "idle");
    assert_eq!(counted(&server, "exited"), "1");
    // A program that is too long has no such link.
    let long = format!("# {}\nprint(1)", "x".repeat(20_000));
    let page = run(&server, "python3", &long, "");
    assert_eq!(page.stdout(), "1\n");
    assert!(!page.has("#share-box a"));
}

#[test]
fn form_shows_example_of_language() {
    let server = Server::with_config("", "");
    let page = post(&server, "/", &[("runtime", "bash"), ("action", "example")]);
    assert_eq!(page.attribute("option[selected]", "value"), "bash");
    assert!(page.one("#code").contains("sum"));
    assert_eq!(page.attribute("#result", "data-kind"), "idle");
}

#[test]
fn malformed_and_foreign_forms_are_rejected() {
    let server = Server::with_config("", "");
    let page = run(&server, "klingon", "x", "");
    assert_eq!(page.status, 422);
    assert!(page.one("#result .explanation").contains("klingon"));
    let form = encoded(&[("runtime", "python3"), ("code", "print(1)")]);
    let headers = [("sec-fetch-site", "cross-site")];
    assert_eq!(request(&server, "/", &headers, Some(&form)).status, 403);
    let headers = [("sec-fetch-site", "same-origin")];
    assert_eq!(request(&server, "/", &headers, Some(&form)).status, 200);
    let page = request(&server, "/", &[], Some("code=%FF&code=2"));
    assert!((400..500).contains(&page.status), "{}", page.status);
    assert_eq!(counted(&server, "exited"), "1");
}

#[test]
fn pages_ask_for_token_if_tokens_are_configured() {
    // The digests of `user` and `admin`.
    let server = Server::with_config(
        "",
        "[[token]]\nname = 'user'\n\
         sha256 = '04f8996da763b7a969b1028ee3007569eaf3a635486ddab211d512c85b9df8fb'\n\
         [[token]]\nname = 'admin'\nadmin = true\n\
         sha256 = '8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918'\n",
    );
    assert!(get(&server, "/").has("#token[type=password]"));
    let with_token = |token: &str| {
        let fields = [
            ("runtime", "python3"),
            ("code", "print(1)"),
            ("token", token),
        ];
        post(&server, "/", &fields)
    };
    assert_eq!(with_token("").status, 401);
    assert_eq!(with_token("wrong").status, 401);
    let page = with_token("user");
    assert_eq!((page.status, &page.stdout()[..]), (200, "1\n"));
    assert!(!page.attribute("#share-box a", "href").contains("user"));
    assert_eq!(page.attribute("#token", "value"), "");

    let page = get(&server, "/status");
    assert!(page.has("#token"));
    for id in STATUS_IDS {
        assert!(!page.has(&format!("#{id}")), "{id} needs a token");
    }
    assert_eq!(get(&server, "/status/live").status, 401);
    for (token, status) in [("wrong", 401), ("user", 403), ("admin", 200)] {
        let page = post(&server, "/status", &[("token", token)]);
        assert_eq!(page.status, status, "{token}");
        assert_eq!(page.has("#live"), status == 200, "{token}");
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", &bearer[..])];
        let page = request(&server, "/status/live", &headers, None);
        assert_eq!(page.status, status, "{token}");
    }
}

#[test]
fn status_shows_load_outcomes_and_languages() {
    let server = Server::with_config("", "");
    run(&server, "python3", "import sys; sys.exit(3)", "");
    let page = get(&server, "/status");
    for id in STATUS_IDS {
        assert!(page.has(&format!("#{id}")), "{id}");
    }
    assert_eq!(page.texts("figure svg[role=img]").len(), 2);
    assert_eq!(page.one(".badge"), "Ready");
    assert_eq!(page.one("tr[data-outcome=exited] td.number"), "1");
    assert!(
        page.texts("table[aria-labelledby=installed] code")
            .contains(&"python3".to_owned())
    );
    assert!(!page.has("meta[http-equiv]"));
    assert!(get(&server, "/status?refresh=true").has("meta[http-equiv=refresh]"));
    let live = get(&server, "/status/live");
    assert!(live.has(".tiles") && live.has("figure svg") && !live.has("main"));
}

#[test]
fn headers_forbid_inline_code_and_assets_are_cached() {
    let server = Server::with_config("", "");
    for path in ["/", "/status", "/docs", "/docs/problems"] {
        let page = get(&server, path);
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("cache-control"), "no-store");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert!(!page.has("[style]") && !page.has("style") && !page.has("script:not([src])"));
        for (selector, attribute, kind) in [
            ("script", "src", "text/javascript"),
            ("link[rel=stylesheet]", "href", "text/css"),
            ("link[rel=icon]", "href", "image/svg+xml"),
        ] {
            let asset = get(&server, &page.attribute(selector, attribute));
            assert_eq!(asset.status, 200, "{selector}");
            assert!(asset.header("content-type").starts_with(kind));
            assert!(asset.header("cache-control").contains("immutable"));
        }
    }
    assert_eq!(
        get(&server, "/assets/console.0000000000000000.js").status,
        404
    );
}

#[test]
fn status_names_the_package_of_a_missing_language() {
    let suites = tempfile::tempdir().expect("a temporary directory");
    let suite = "name = 'klingon'\ntitle = 'Klingon <1>'\nextensions = ['klingon']\n\
        [tool.klingonc]\npackage = 'klingon-compiler'\n\
        [run]\ncommand = ['{klingonc}', '{main}']\n\
        [example]\nfile = 'main.klingon'\nsource = 'Qapla'\n";
    std::fs::write(suites.path().join("klingon.toml"), suite).expect("a suite");
    let server = Server::with_config(
        "",
        &format!("suites = {:?}\nlanguages = ['klingon']\n", suites.path()),
    );
    let page = get(&server, "/status");
    assert!(page.has("details:not([open]) > #missing"));
    let row: Vec<String> = page.texts("table[aria-labelledby=missing] tbody tr");
    let row = row.iter().find(|row| row.contains("Klingon <1>"));
    let row = row.unwrap_or_else(|| panic!("no row in {}", page.text));
    assert!(row.contains("klingonc is not installed"), "{row}");
    assert!(row.contains("klingon-compiler"), "{row}");
    assert!(!get(&server, "/").has("option[value=klingon]"));
}
