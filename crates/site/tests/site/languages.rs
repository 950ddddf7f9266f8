//! The languages of the pages: the choice for each reader, and the translation of every text.

use crate::crawl::crawl;
use crate::support::contest::{contestant, first_admin, make_contest, submit};
use crate::support::{Browser, Site, with_each};
use fluent_syntax::ast::{Entry, PatternElement};
use scraper::node::Element;
use scraper::{ElementRef, Html, Node};
use std::collections::BTreeSet;
use std::path::Path;

/// The marks around each message of the language `qps`.
const MARKS: [char; 2] = ['⟦', '⟧'];
/// Attributes that browsers show or read aloud.
const ATTRIBUTES: [&str; 4] = ["alt", "aria-label", "placeholder", "title"];
/// Words that are not translated: names of this site, of its users and of formats.
const NAMES: [&str; 16] = [
    "millibox", "UTC", "CSV", "JSON", "OpenAPI", "Deutsch", "English", "Polski", "qps", "ada",
    "bob", "Sum", "Round", "Cup", "Contest", "python",
];

/// Chooses a language as the menu does.
fn choose(browser: &mut Browser, tag: &str, back: &str) -> Option<String> {
    let answer = browser.post("/language", &[("language", tag), ("back", back)]);
    assert_eq!(answer.status, 303, "{answer:#?}");
    answer.location
}

#[test]
fn browser_without_a_choice_receives_its_language() {
    let site = Site::start(None);
    let mut browser = Browser::new(&site);
    let mut page = |wanted: &str| {
        browser
            .get_with("/sign-in", ("accept-language", wanted))
            .body
    };
    for (wanted, tag, text) in [
        ("de-AT,de;q=0.9,en;q=0.8", "de", "Anmelden"),
        ("fr,pl;q=0.7,en;q=0.4", "pl", "Zaloguj się"),
        ("fr", "en", "Sign in"),
    ] {
        let page = page(wanted);
        assert!(page.contains(&format!("<html lang=\"{tag}\">")), "{page}");
        assert!(page.contains(&format!("<h1>{text}</h1>")), "{page}");
    }
    let error = browser.get_with("/nothing", ("accept-language", "de"));
    assert_eq!(error.status, 404);
    assert!(error.body.contains("Seite nicht gefunden"), "{error:#?}");
}

#[test]
fn choice_in_the_menu_is_kept_and_returns_to_the_page() {
    let site = Site::start(None);
    let mut browser = Browser::new(&site);
    let page = browser.get("/sign-in?x=1").body;
    assert!(page.contains("value=\"/sign-in?x=1\""), "{page}");
    assert!(page.contains("lang=\"pl\""), "{page}");
    let back = choose(&mut browser, "pl", "/sign-in?x=1");
    assert_eq!(back.as_deref(), Some("/sign-in?x=1"));
    let page = browser.get_with("/sign-in", ("accept-language", "de")).body;
    assert!(page.contains("<h1>Zaloguj się</h1>"), "{page}");
    // A refusal is also in this language.
    let refused = browser.post("/sign-in", &[("login", "x"), ("password", "wrong")]);
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("Login lub hasło"), "{refused:#?}");
    for outside in ["//evil.example", "https://evil.example", "/\\evil.example"] {
        let back = choose(&mut browser, "de", outside);
        assert_eq!(back.as_deref(), Some("/"), "{outside}");
    }
    let unknown = choose(&mut browser, "xx", "/contests");
    assert_eq!(unknown.as_deref(), Some("/contests"));
    let page = browser.get("/sign-in").body;
    assert!(page.contains("<h1>Anmelden</h1>"), "{page}");
    let other = browser.post_from("cross-site", "/language", &[("language", "en")]);
    assert_eq!(other.status, 403);
}

#[test]
fn contest_is_shown_in_the_language_of_each_viewer() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        choose(&mut bob, "de", "/");
        let path = format!("/contests/{}", contest.id);
        let (german, english) = (bob.get(&path).body, admin.get(&path).body);
        assert!(
            german.contains("Rangliste") && german.contains("Aufgaben"),
            "{german}"
        );
        // The choice belongs to the user, so it applies in each browser in which the user signs in.
        let mut other = Browser::new(&site);
        let fields = [("login", "bob"), ("password", "correct horse")];
        assert_eq!(other.post("/sign-in", &fields).status, 303);
        let page = other.get_with(&path, ("accept-language", "pl")).body;
        assert!(page.contains("Rangliste"), "{page}");
        assert_eq!(other.post("/sign-out", &[]).status, 303);
        let page = other.get_with("/sign-in", ("accept-language", "pl")).body;
        assert!(page.contains("<h1>Zaloguj się</h1>"), "{page}");
        assert!(
            english.contains("Ranking") && !english.contains("Rangliste"),
            "{english}"
        );
    });
}

/// English with marks around each message.
fn marked_english() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("languages/en");
    let mut all = String::new();
    for entry in std::fs::read_dir(directory).expect("messages") {
        let text = std::fs::read_to_string(entry.expect("a file").path()).expect("messages");
        let mut resource = fluent_syntax::parser::parse(text).expect("messages");
        for entry in &mut resource.body {
            if let Entry::Message(message) = entry
                && !["number-decimal", "number-group"].contains(&message.id.name.as_str())
                && let Some(pattern) = &mut message.value
            {
                let [open, close] = MARKS.map(|mark| PatternElement::TextElement {
                    value: mark.to_string(),
                });
                pattern.elements.insert(0, open);
                pattern.elements.push(close);
            }
        }
        all.push_str(&fluent_syntax::serializer::serialize(&resource));
        all.push('\n');
    }
    all
}

/// Whether the content of an element is not translated.
fn is_foreign(element: &Element) -> bool {
    ["script", "style", "pre", "code", "textarea"].contains(&element.name())
        || element.attr("translate") == Some("no")
        // The names of programming languages.
        || element.name() == "select" && element.attr("name") == Some("language")
        || element
            .attr("class")
            .is_some_and(|class| class.contains("statement"))
}

/// Collects the text of a page in order, except what is not translated.
fn collect(element: ElementRef<'_>, text: &mut String) {
    for child in element.children() {
        match child.value() {
            Node::Text(found) => text.push_str(found),
            Node::Element(found) if !is_foreign(found) => {
                if let Some(child) = ElementRef::wrap(child) {
                    text.push(' ');
                    collect(child, text);
                    text.push(' ');
                }
            }
            _ => {}
        }
    }
}

/// The words outside of marks.
fn unmarked(text: &str) -> BTreeSet<String> {
    let mut depth = 0_usize;
    let mut outside = String::new();
    for found in text.chars() {
        match found {
            _ if found == MARKS[0] => depth += 1,
            _ if found == MARKS[1] => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push(found),
            _ => {}
        }
    }
    let words = outside.split(|found: char| !found.is_alphabetic());
    let words = words.filter(|word| word.chars().count() > 1 && !NAMES.contains(word));
    words.map(str::to_owned).collect()
}

/// The words of a page that are in no message.
fn literals(page: &Html) -> BTreeSet<String> {
    let mut text = String::new();
    collect(page.root_element(), &mut text);
    let mut words = unmarked(&text);
    for node in page.tree.nodes() {
        let Some(element) = node.value().as_element() else {
            continue;
        };
        // The exact form of a time is the same in all languages.
        for name in ATTRIBUTES.iter().filter(|_| element.name() != "time") {
            words.extend(unmarked(element.attr(name).unwrap_or_default()));
        }
    }
    words
}

#[test]
fn pages_have_no_text_outside_of_messages() {
    let mut site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let sent = submit(&mut bob, &contest, b"print(3)\n").id();
    admin.wait_for_result(&format!("/submissions/{sent}"), "Wrong answer");
    let path = format!("/contests/{}", contest.id);
    admin.post(&format!("{path}/participants"), &[("name", "Cup")]);
    admin.post(&format!("/problems/{}/limits", contest.package), &[]);
    let fields = [("contest", contest.id.to_string())];
    let fields = fields
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    assert_eq!(admin.post("/rejudgings/new", &fields).status, 303);
    let fields = [("name", "Cup"), ("scope", "read"), ("days", "3")];
    admin.post("/account/tokens", &fields);

    site.kill();
    let languages = site.data().join("languages");
    std::fs::create_dir(&languages).expect("a directory");
    std::fs::write(languages.join("qps.ftl"), marked_english()).expect("a language");
    site.restart();
    let (mut admin, mut bob) = (admin.moved(&site), bob.moved(&site));
    let mut guest = Browser::new(&site);
    let mut found = Vec::new();
    let mut pages = 0;
    for (viewer, browser) in [
        ("the guest", &mut guest),
        ("bob", &mut bob),
        ("the administrator", &mut admin),
    ] {
        choose(browser, "qps", "/");
        for (path, answer) in crawl(browser) {
            let Some((head, body)) = answer.split_once("\r\n\r\n") else {
                continue;
            };
            if !head.contains("text/html") {
                continue;
            }
            pages += 1;
            let words = literals(&Html::parse_document(body));
            if !words.is_empty() {
                found.push(format!("{viewer}: {path}: {words:?}"));
            }
        }
    }
    assert!(pages > 150, "{pages} pages");
    assert!(found.is_empty(), "{found:#?}");
}
