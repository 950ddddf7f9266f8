//! The languages of the pages: which one a reader gets, and that every text is translated.

use crate::support::contest::{contestant, first_admin, make_contest};
use crate::support::{Browser, Site, with_each};

/// Chooses a language as the menu does.
fn choose(browser: &mut Browser, tag: &str, back: &str) -> Option<String> {
    let answer = browser.post("/language", &[("language", tag), ("back", back)]);
    assert_eq!(answer.status, 303, "{answer:#?}");
    answer.location
}

#[test]
fn browser_without_a_choice_gets_its_language() {
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
fn choice_of_the_menu_stays_and_leads_back() {
    let site = Site::start(None);
    let mut browser = Browser::new(&site);
    let page = browser.get("/sign-in?x=1").body;
    assert!(page.contains("value=\"/sign-in?x=1\""), "{page}");
    assert!(page.contains("lang=\"pl\""), "{page}");
    let back = choose(&mut browser, "pl", "/sign-in?x=1");
    assert_eq!(back.as_deref(), Some("/sign-in?x=1"));
    let page = browser.get_with("/sign-in", ("accept-language", "de")).body;
    assert!(page.contains("<h1>Zaloguj się</h1>"), "{page}");
    // A refusal is in the language, too.
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
        assert!(
            english.contains("Ranking") && !english.contains("Rangliste"),
            "{english}"
        );
    });
}
