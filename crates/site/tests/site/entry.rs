//! Entry links for guests: sign-in and sign-up return to the contest.

use super::accounts::{code, element, turn_totp_on};
use super::support::{Answer, Browser, Site, with_each};
use super::{first_admin, make_contest};

/// Addresses that browsers would read as pages of other sites, or that belong to no page.
const FOREIGN: [&str; 8] = [
    "//evil.example",
    "https://evil.example/",
    "https:evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "javascript:alert(1)",
    "evil.example",
];

/// The path of a new entry link.
pub fn entry_link(admin: &mut Browser, contest: i64) -> String {
    let page = admin.post(&format!("/contests/{contest}/link"), &[]);
    let address = element(&page.body, "entry-link");
    let path = address.find("/enter/").map(|at| &address[at..]);
    assert!(address.starts_with("http"), "{address}");
    path.expect("an entry link").to_owned()
}

/// The addresses of links in a page that begin with `start`.
fn links(page: &Answer, start: &str) -> Vec<String> {
    let document = scraper::Html::parse_document(&page.body);
    let selector = scraper::Selector::parse("a[href]").expect("a selector");
    let links = document
        .select(&selector)
        .filter_map(|link| link.attr("href"));
    let found = links.filter(|href| href.starts_with(start));
    found.map(str::to_owned).collect()
}

/// The hidden field with the address to which a form returns.
fn back(page: &Answer) -> Option<String> {
    let document = scraper::Html::parse_document(&page.body);
    let selector = scraper::Selector::parse("main input[name=back]").expect("a selector");
    let field = document.select(&selector).next()?;
    field.attr("value").map(str::to_owned)
}

fn post(browser: &mut Browser, path: &str, login: &str, back: &str) -> Answer {
    let fields = [
        ("login", login),
        ("name", login),
        ("password", "correct horse"),
        ("back", back),
    ];
    browser.post(path, &fields)
}

#[test]
fn entry_link_is_opened_again_after_sign_up_and_sign_in() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let link = entry_link(&mut admin, contest.id);
        for (path, login) in [
            ("/sign-up", "bob"),
            ("/sign-in", "bob"),
            ("/sign-up", "eve"),
        ] {
            let mut browser = Browser::new(&site);
            let page = browser.get(&link);
            // The links of the page and those above it.
            let found = links(&page, path);
            assert_eq!(found.len(), 2, "{page:#?}");
            for href in &found {
                let page = browser.get(href);
                assert_eq!(back(&page).as_deref(), Some(link.as_str()), "{page:#?}");
                // From one form to the other.
                let other = if path == "/sign-up" {
                    "/sign-in"
                } else {
                    "/sign-up"
                };
                let page = browser.get(&links(&page, other)[0]);
                assert_eq!(back(&page).as_deref(), Some(link.as_str()), "{page:#?}");
            }
            let answer = post(&mut browser, path, login, &link);
            assert_eq!(answer.status, 303, "{answer:#?}");
            assert_eq!(answer.location.as_deref(), Some(link.as_str()));
            assert!(browser.get(&link).body.contains("Enter the contest"));
            assert_eq!(browser.post(&link, &[]).status, 303);
            let page = browser.get(&format!("/contests/{}", contest.id));
            assert_eq!(page.status, 200, "{page:#?}");
        }
        // On other pages, the links have no address to return to.
        let page = Browser::new(&site).get("/contests");
        let found = links(&page, "/sign-in");
        assert!(found.iter().all(|href| href == "/sign-in"), "{found:?}");
    });
}

#[test]
fn entry_after_the_end_of_the_session_leads_back_to_the_link() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let link = entry_link(&mut admin, contest.id);
        let mut bob = Browser::new(&site);
        bob.sign_up("/sign-up", "bob");
        assert!(bob.get(&link).body.contains("Enter the contest"));
        assert_eq!(bob.post("/sign-out", &[]).status, 303);
        let answer = bob.post(&link, &[]);
        assert_eq!(answer.status, 303, "{answer:#?}");
        let form = answer.location.expect("a form");
        assert!(form.starts_with("/sign-in?"), "{form}");
        let address = back(&bob.get(&form)).expect("an address");
        assert_eq!(address, link);
        let answer = post(&mut bob, "/sign-in", "bob", &address);
        assert_eq!(answer.location.as_deref(), Some(link.as_str()));
        assert_eq!(bob.post(&link, &[]).status, 303);
        let page = bob.get(&format!("/contests/{}", contest.id));
        assert_eq!(page.status, 200, "{page:#?}");
        let unknown = format!("/enter/{}", "0".repeat(64));
        assert_eq!(Browser::new(&site).post(&unknown, &[]).status, 404);
    });
}

#[test]
fn foreign_addresses_are_not_followed() {
    let site = Site::start(None);
    first_admin(&site);
    let long = format!("/{}", "x".repeat(1000));
    for (number, foreign) in FOREIGN.into_iter().chain([long.as_str()]).enumerate() {
        let query = form_urlencoded::byte_serialize(foreign.as_bytes());
        let query: String = query.collect();
        for path in ["/sign-in", "/sign-up"] {
            let mut browser = Browser::new(&site);
            let page = browser.get(&format!("{path}?back={query}"));
            assert_eq!(back(&page), None, "{foreign}: {page:#?}");
            let login = match path {
                "/sign-in" => "ada".to_owned(),
                _ => format!("user-{number}"),
            };
            let answer = post(&mut browser, path, &login, foreign);
            assert_eq!(answer.status, 303, "{answer:#?}");
            assert_eq!(answer.location.as_deref(), Some("/contests"), "{foreign}");
        }
    }
}

#[test]
fn one_time_password_comes_before_the_entry_link() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let link = entry_link(&mut admin, contest.id);
    // A code works once, so each address needs its own user.
    for (login, address, leads_to) in [
        ("bob", link.as_str(), link.as_str()),
        ("eve", "//evil.example", "/contests"),
    ] {
        let mut user = Browser::new(&site);
        user.sign_up("/sign-up", login);
        let secret = turn_totp_on(&mut user);
        let mut browser = Browser::new(&site);
        let answer = post(&mut browser, "/sign-in", login, address);
        assert_eq!(answer.location.as_deref(), Some("/sign-in/code"));
        let answer = browser.post("/sign-in/code", &[("code", &code(&secret, 1))]);
        assert_eq!(answer.location.as_deref(), Some(leads_to), "{answer:#?}");
    }
}
