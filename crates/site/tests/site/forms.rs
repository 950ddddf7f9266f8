//! Forms that are shown again with what was typed, and error pages with the navigation.

use super::support::{Answer, Browser, Site, contest::contestant, with_each};
use super::{first_admin, make_contest};
use scraper::{ElementRef, Html, Selector};
use std::collections::{BTreeMap, BTreeSet};

/// A password that no page may contain.
const SECRET: &str = "secret-horse-battery";
/// Pages whose links are followed.
const STARTS: [&str; 9] = [
    "/",
    "/contests",
    "/problems",
    "/account",
    "/password",
    "/users",
    "/users/import",
    "/settings",
    "/rejudgings/new",
];

fn select<'p>(root: &ElementRef<'p>, selector: &str) -> Vec<ElementRef<'p>> {
    let selector = Selector::parse(selector).expect("a selector");
    root.select(&selector).collect()
}

fn text(element: &ElementRef<'_>) -> String {
    element.text().collect()
}

/// An address without numbers, so that only some pages of each kind are loaded.
fn shape(address: &str) -> String {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let parts = path
        .split('/')
        .map(|part| if digits(part) { "N" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// All pages that links lead to, at most four of each kind.
fn pages(browser: &mut Browser, starts: &[&str]) -> BTreeMap<String, String> {
    let mut waiting: Vec<String> = starts.iter().map(|it| (*it).to_owned()).collect();
    let mut pages = BTreeMap::new();
    let mut shapes: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(address) = waiting.pop() {
        if pages.contains_key(&address) || address.starts_with("/assets/") {
            continue;
        }
        let seen = shapes.entry(shape(&address)).or_default();
        *seen += 1;
        if *seen > 4 {
            continue;
        }
        let answer = browser.get(&address);
        let media = answer.headers.get("content-type");
        let is_html = media.is_some_and(|it| it.as_bytes().starts_with(b"text/html"));
        if answer.status != 200 || !is_html {
            continue;
        }
        let page = Html::parse_document(&answer.body);
        for link in select(
            &page.root_element(),
            "main a[href^=\"/\"], nav a[href^=\"/\"]",
        ) {
            let address = link.attr("href").unwrap_or_default();
            waiting.push(address.split('#').next().unwrap_or_default().to_owned());
        }
        pages.insert(address, answer.body);
    }
    pages
}

/// What a test types into a field.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Input {
    Text(String),
    Choice(String),
    /// The value of a check box or a radio button, and whether it is on.
    Check(String, bool),
    Password,
    File,
    Hidden(String),
}

/// A form of a page, with what a test types.
#[derive(Debug, Clone)]
struct Form {
    page: String,
    action: String,
    has_parts: bool,
    inputs: Vec<(String, Input)>,
}

fn input(field: &ElementRef<'_>) -> Option<Input> {
    let name = field.attr("name")?;
    if field.attr("hidden").is_some() {
        let value = field.attr("value").map(str::to_owned);
        return Some(Input::Hidden(value.unwrap_or_else(|| text(field))));
    }
    let typed = Input::Text(format!("typed \"{name}\" <b> & more"));
    Some(
        match (field.value().name(), field.attr("type").unwrap_or("text")) {
            ("textarea", _) => typed,
            ("select", _) => {
                let last = select(field, "option").pop()?;
                Input::Choice(last.attr("value")?.to_owned())
            }
            (_, "hidden") => Input::Hidden(field.attr("value").unwrap_or_default().to_owned()),
            (_, "password") => Input::Password,
            (_, "file") => Input::File,
            (_, "checkbox" | "radio") => {
                let value = field.attr("value").unwrap_or("on").to_owned();
                Input::Check(value, field.attr("checked").is_none())
            }
            _ if field.attr("autocomplete") == Some("one-time-code") => Input::Password,
            _ => typed,
        },
    )
}

fn forms(page: &str, body: &str) -> Vec<Form> {
    let html = Html::parse_document(body);
    let forms = select(&html.root_element(), "main form[method=post]");
    let forms = forms.into_iter().map(|form| Form {
        page: page.to_owned(),
        action: form.attr("action").unwrap_or(page).to_owned(),
        has_parts: form.attr("enctype").is_some(),
        inputs: select(&form, "input, select, textarea")
            .iter()
            .filter_map(|field| Some((field.attr("name")?.to_owned(), input(field)?)))
            .collect(),
    });
    forms.collect()
}

impl Form {
    /// Sends the form with a mistake in a field.
    fn send(&self, browser: &mut Browser, page: &str, wrong: usize) -> Answer {
        let mut fields: Vec<(&str, String)> = Vec::new();
        for (at, (name, input)) in self.inputs.iter().enumerate() {
            let value = match input {
                Input::Text(text) if at == wrong => format!("{text}\0"),
                Input::Text(text) | Input::Choice(text) | Input::Hidden(text) => text.clone(),
                Input::Check(value, true) => value.clone(),
                Input::Check(_, false) | Input::File => continue,
                Input::Password => SECRET.to_owned(),
            };
            fields.push((name, value));
        }
        let pairs = fields.iter();
        let pairs: Vec<(&str, &str)> = pairs.map(|(name, value)| (*name, &**value)).collect();
        match self.has_parts {
            true => browser.upload_on(page, &self.action, &pairs, ("a.txt", b"content")),
            false => browser.post_on(page, &self.action, &pairs),
        }
    }

    /// Asserts that the form is shown again. Returns the form of the page.
    fn check(&self, answer: &Answer, wrong: usize) -> Form {
        let context = format!("{self:#?}\n{wrong}\n{answer:#?}");
        assert_eq!(answer.status, 422, "{context}");
        assert_navigation(answer);
        let html = Html::parse_document(&answer.body);
        let root = html.root_element();
        let marks = select(&root, "input[name=form-page]");
        let [mark] = marks[..] else {
            panic!("{context}")
        };
        assert_eq!(mark.attr("value"), Some(self.page.as_str()), "{context}");
        let form = mark.ancestors().filter_map(ElementRef::wrap);
        let form = form.into_iter().find(|it| it.value().name() == "form");
        let form = form.unwrap_or_else(|| panic!("{context}"));
        let fields = select(&form, "input, select, textarea");
        let fields = fields.into_iter().filter(|field| {
            field.attr("name").is_some_and(|name| name != "form-page") && input(field).is_some()
        });
        for ((name, typed), field) in self.inputs.iter().zip(fields) {
            let context = format!("{name}\n{context}");
            assert_eq!(field.attr("name"), Some(name.as_str()), "{context}");
            match typed {
                Input::Text(typed) => {
                    let shown = match field.value().name() {
                        "textarea" => text(&field),
                        _ => field.attr("value").unwrap_or_default().to_owned(),
                    };
                    assert_eq!(shown, *typed, "{context}");
                }
                Input::Choice(value) => {
                    let chosen = select(&field, "option[selected]");
                    let [chosen] = chosen[..] else {
                        panic!("{context}")
                    };
                    assert_eq!(chosen.attr("value"), Some(value.as_str()), "{context}");
                }
                Input::Check(_, is_on) => {
                    assert_eq!(field.attr("checked").is_some(), *is_on, "{context}");
                }
                Input::Password => assert_eq!(field.attr("value"), None, "{context}"),
                Input::Hidden(_) | Input::File => {}
            }
        }
        assert!(!answer.body.contains(SECRET), "{context}");
        assert!(!answer.body.contains('\0'), "{context}");
        // The mistake is at its field, which has the focus.
        let invalid = select(&root, "[aria-invalid=true]");
        let [invalid] = invalid[..] else {
            panic!("{context}")
        };
        assert_eq!(
            invalid.attr("name"),
            Some(self.inputs[wrong].0.as_str()),
            "{context}"
        );
        assert!(invalid.attr("autofocus").is_some(), "{context}");
        let described = invalid.attr("aria-describedby").unwrap_or_default();
        let alerts = select(&form, "[role=alert]");
        let [alert] = alerts[..] else {
            panic!("{context}")
        };
        let id = alert.attr("id").expect("an identifier");
        assert!(described.split(' ').any(|it| it == id), "{context}");
        assert!(text(&alert).contains("U+0000"), "{context}");
        // Forms without an address of their own are sent to the page that has them.
        for form in select(&root, "form") {
            assert!(form.attr("action").is_some(), "{context}");
        }
        let again = forms(&self.page, &answer.body);
        let again = again
            .into_iter()
            .find(|form| form.inputs.iter().any(|(name, _)| name == "form-page"));
        again.expect("the form")
    }
}

/// Asserts that a page has the navigation.
fn assert_navigation(answer: &Answer) {
    let html = Html::parse_document(&answer.body);
    let links = select(&html.root_element(), "header nav a[href=\"/contests\"]");
    assert_eq!(links.len(), 1, "{answer:#?}");
    let account = select(
        &html.root_element(),
        "header div.account form, header div.account a",
    );
    assert!(!account.is_empty(), "{answer:#?}");
    let languages = select(&html.root_element(), "form.languages input[name=back]");
    assert_eq!(languages.len(), 1, "{answer:#?}");
}

/// Sends each form on the pages with a mistake in each of its texts. Returns the shapes of the
/// forms' paths.
fn check_forms(browser: &mut Browser, starts: &[&str]) -> BTreeSet<String> {
    let mut checked = BTreeSet::new();
    for (page, body) in pages(browser, starts) {
        for form in forms(&page, &body) {
            let is_text = |(_, input): &(String, Input)| matches!(input, Input::Text(_));
            let names: BTreeSet<_> = form.inputs.iter().map(|(name, _)| name).collect();
            let kind = format!("{} {names:?}", shape(&form.action));
            if !form.inputs.iter().any(is_text) || !checked.insert(kind) {
                continue;
            }
            for wrong in 0..form.inputs.len() {
                if !is_text(&form.inputs[wrong]) {
                    continue;
                }
                let answer = form.send(browser, &page, wrong);
                let again = form.check(&answer, wrong);
                // Sent from the page that shows it again, it is shown again once more.
                let inputs = [&again.inputs[..1], &form.inputs[..]].concat();
                let again = Form {
                    inputs,
                    ..form.clone()
                };
                let answer = again.send(browser, &form.action, wrong + 1);
                form.check(&answer, wrong);
            }
        }
    }
    checked
        .iter()
        .map(|kind| kind.split(' ').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn rejected_forms_of_all_pages_keep_what_was_typed() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let path = format!("/contests/{}", contest.id);
    let fields = [("problem", ""), ("text", "Why?")];
    assert_eq!(
        bob.post(&format!("{path}/clarifications"), &fields).status,
        303
    );
    assert_eq!(
        admin
            .post(&format!("{path}/printing"), &[("printing", "1")])
            .status,
        303
    );
    let team = admin.post(&format!("{path}/participants"), &[("name", "Team")]);
    assert_eq!(team.status, 303, "{team:#?}");
    let fields = [("audience", "all"), ("round", ""), ("name", "rules.txt")];
    let sent = admin.upload(&format!("{path}/files"), &fields, ("x", b"content"));
    assert_eq!(sent.status, 303, "{sent:#?}");
    let mut checked = check_forms(&mut Browser::new(&site), &["/sign-in", "/sign-up"]);
    checked.extend(check_forms(&mut bob, &["/account", &path]));
    checked.extend(check_forms(&mut admin, &STARTS));
    for form in [
        "/sign-in",
        "/sign-up",
        "/account",
        "/account/tokens",
        "/contests/new",
        "/contests/N/edit",
        "/contests/N/rounds",
        "/contests/N/members",
        "/contests/N/participants",
        "/participants/N",
        "/participants/N/members",
        "/participants/N/disqualify",
        "/contests/N/clarifications",
        "/contests/N/announcements",
        "/contests/N/canned-answers",
        "/clarifications/N",
        "/contests/N/files",
        "/contest-files/N/edit",
        "/contests/N/print",
        "/rounds/N",
        "/rounds/N/problems",
        "/round-problems/N/edit",
        "/round-problems/N/colour",
        "/round-problems/N/try",
        "/round-problems/N/submit",
        "/problems/N/edit",
        "/problems/N/merge",
        "/problems/N/tags",
        "/problems/N/versions",
        "/problems/N/try",
        "/problems/N/submit",
        "/rejudgings/new",
        "/users/import",
        "/users/N/profile",
        "/users/N/merge",
        "/users/N/delete",
        "/settings/relax",
    ] {
        assert!(checked.contains(form), "{form}: {checked:#?}");
    }
}

#[test]
fn form_of_a_session_that_has_ended_can_be_sent_after_a_new_sign_in() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let (page, path) = (
        format!("/contests/{}", contest.id),
        format!("/contests/{}/clarifications", contest.id),
    );
    let question = "Is 0 < n & n < 10?\nOr \"more\"?";
    let mut guest = Browser::new(&site);
    let fields = [("problem", ""), ("text", question)];
    // A guest does not learn whether the contest exists.
    let refused = guest.post_on(&page, &path, &fields);
    assert_eq!(refused.status, 404, "{refused:#?}");
    let missing = guest.post_on("/contests/99", "/contests/99/clarifications", &fields);
    let names = |answer: &Answer| answer.body.replace("/99", &format!("/{}", contest.id));
    assert_eq!(names(&missing), refused.body);
    let html = Html::parse_document(&refused.body);
    let root = html.root_element();
    let areas = select(&root, "main form textarea");
    assert_eq!(areas.iter().map(text).collect::<Vec<_>>(), [question]);
    let form = select(&root, "main form").remove(0);
    assert_eq!(form.attr("action"), Some(path.as_str()));
    let hidden = select(&form, "input[type=hidden]").into_iter().map(|it| {
        let value = it.attr("value").unwrap_or_default();
        (
            it.attr("name").expect("a name").to_owned(),
            value.to_owned(),
        )
    });
    let expected = [("problem", ""), ("form-page", &page)];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(hidden.collect::<Vec<_>>(), expected);
    let fields = [("problem", ""), ("text", question), ("form-page", &page)];
    assert_eq!(bob.post_on(&path, &path, &fields).status, 303);
    assert!(bob.get(&path).body.contains("Is 0 &lt; n &amp; n &lt; 10?"));

    // A form with a file, and with a password.
    let code = "int main() {\n}";
    let sent = guest.upload("/problems/1/submit", &[("code", code)], ("", b""));
    assert_eq!(sent.status, 404, "{sent:#?}");
    assert!(sent.body.contains("enctype=\"multipart/form-data\""));
    assert!(
        sent.body.contains(&format!("\n{code}</textarea>")),
        "{}",
        sent.body
    );
    let fields = [
        ("password", SECRET),
        ("new_password", SECRET),
        ("name", "A B"),
    ];
    let changed = guest.post("/account", &fields);
    assert_eq!(changed.status, 403, "{changed:#?}");
    assert!(changed.body.contains(">\nA B</textarea>"), "{changed:#?}");
    assert!(!changed.body.contains(SECRET), "{changed:#?}");
    // A form of another site, and a request without a text, lead to no such page.
    let foreign = guest.post_from("https://evil.example", &path, &fields);
    assert!(!foreign.body.contains("A B"), "{foreign:#?}");
    assert_eq!(guest.get("/account").status, 303);
}

/// The element with the mistake, and the text of the mistake.
fn mistake(answer: &Answer) -> (Option<String>, String) {
    let html = Html::parse_document(&answer.body);
    let root = html.root_element();
    let invalid = select(&root, "form [aria-invalid=true]").pop();
    let name = invalid.and_then(|it| it.attr("name").map(str::to_owned));
    let alert = select(&root, "form [role=alert]").pop();
    (name, alert.map(|it| text(&it)).unwrap_or_default())
}

/// A form with a mistake: its page, its path, its fields, the field with the mistake, a part of the
/// page that is shown, and the status.
type Case<'a> = (
    &'a str,
    &'a str,
    &'a [(&'a str, &'a str)],
    Option<&'a str>,
    &'a str,
    u16,
);

#[test]
fn mistakes_are_at_the_fields_that_they_concern() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let id = contest.id;
        let round = [
            ("name", "Day <1>"),
            ("begins", "2026-05-01T10:00"),
            ("ends", "yesterday"),
            ("full_results", ""),
            ("ranking_from", ""),
        ];
        let account = [("name", ""), ("email", "ada@example.org")];
        let members = format!("/contests/{id}/members");
        let (edit, rounds) = (
            format!("/contests/{id}/edit"),
            format!("/contests/{id}/rounds"),
        );
        let table: [Case; 9] = [
            (
                &members,
                &members,
                &[("login", "no one"), ("role", "moderator")],
                Some("login"),
                "value=\"moderator\" selected",
                422,
            ),
            (
                &edit,
                &rounds,
                &round,
                Some("ends"),
                "value=\"Day &lt;1&gt;\"",
                422,
            ),
            (
                "/contests/new",
                "/contests/new",
                &[("name", " "), ("visibility", "private")],
                Some("name"),
                "value=\"private\" selected",
                422,
            ),
            (
                "/account",
                "/account",
                &account,
                Some("name"),
                "value=\"ada@example.org\"",
                422,
            ),
            (
                "/password",
                "/password",
                &[("old", "wrong horse"), ("new", "new long horse")],
                Some("old"),
                "name=\"old\"",
                422,
            ),
            (
                "/rejudgings/new",
                "/rejudgings/new",
                &[("reason", "typed reason"), ("contest", "x1")],
                Some("contest"),
                "value=\"typed reason\"",
                422,
            ),
            // The form cannot be read at all, or names something that does not exist.
            (
                "/account/tokens",
                "/account/tokens",
                &[("name", "typed name"), ("scope", "read"), ("days", "x")],
                None,
                "value=\"typed name\"",
                422,
            ),
            (
                "/rounds/1",
                "/rounds/1/problems",
                &[
                    ("problem", "777"),
                    ("label", "typed"),
                    ("final_method", "last_compiling"),
                    ("reveal", "nothing"),
                ],
                None,
                "value=\"typed\"",
                404,
            ),
            // A form without fields.
            (
                "/users/1",
                "/users/1",
                &[("role", "user")],
                None,
                "value=\"user\" selected",
                403,
            ),
        ];
        for (page, path, fields, wrong, kept, status) in table {
            let answer = admin.post_on(page, path, fields);
            assert_eq!(answer.status, status, "{path}: {answer:#?}");
            assert_navigation(&answer);
            let (name, message) = mistake(&answer);
            assert_eq!(name.as_deref(), wrong, "{path}: {answer:#?}");
            assert!(!message.is_empty(), "{path}: {answer:#?}");
            assert!(answer.body.contains(kept), "{path}: {kept}: {answer:#?}");
            assert!(!answer.body.contains(" horse"), "{path}: {answer:#?}");
            assert_eq!(
                answer.body.matches("autofocus").count(),
                1,
                "{path}: {answer:#?}"
            );
        }
        assert!(
            !admin
                .get("/users/1")
                .body
                .contains("value=\"user\" selected")
        );
    });
}

#[test]
fn rejected_source_is_shown_again_with_the_mistake_at_its_field() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let code = "print(1 < 2) # <typed>";
        let shown = "print(1 &lt; 2) # &lt;typed&gt;";
        let targets = [
            format!("/problems/{}/submit", contest.package),
            format!("/round-problems/{}/submit", contest.problem),
            format!("/problems/{}/try", contest.package),
        ];
        for path in &targets {
            let fields = [("language", ""), ("code", code), ("input", "7 8 9")];
            let answer = admin.upload(path, &fields, ("", b""));
            assert_eq!(answer.status, 422, "{path}: {answer:#?}");
            assert!(answer.body.contains(shown), "{path}: {answer:#?}");
            assert!(
                answer.body.contains("role=\"alert\">Choose a language"),
                "{path}: {answer:#?}"
            );
            let is_trial = path.ends_with("/try");
            assert_eq!(
                answer.body.contains("7 8 9"),
                is_trial,
                "{path}: {answer:#?}"
            );
            // A file whose name names no language becomes the text.
            let answer = admin.upload(path, &[("language", "")], ("x.unknown", code.as_bytes()));
            assert_eq!(answer.status, 422, "{path}: {answer:#?}");
            if !is_trial {
                assert!(answer.body.contains(shown), "{path}: {answer:#?}");
            }
        }
        let answer = admin.upload(&targets[0], &[("language", "python3")], ("", b""));
        assert_eq!(answer.status, 422, "{answer:#?}");
        assert!(answer.body.contains("id=\"code-mistake\""), "{answer:#?}");
        assert!(answer.body.contains("value=\"python3\""), "{answer:#?}");
    });
}

#[test]
fn forms_that_are_too_large_are_shown_again() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let path = format!("/problems/{}", contest.package);
    let versions = format!("{path}/versions");
    let large = vec![b'x'; 12 << 20];
    let long = "x".repeat(2 << 20);
    let answer = admin.upload_on(
        &versions,
        &format!("{path}/statement"),
        &[],
        ("a.md", &large),
    );
    assert_eq!(answer.status, 413, "{}", answer.status);
    assert_navigation(&answer);
    let (name, message) = mistake(&answer);
    assert_eq!(name.as_deref(), Some("file"), "{answer:#?}");
    assert!(message.contains("larger"), "{answer:#?}");
    assert!(answer.body.contains("Choose the file again"), "{answer:#?}");
    // The fields of a form with a large file are kept.
    let files = format!("/contests/{}/files", contest.id);
    let fields = [
        ("audience", "staff"),
        ("round", ""),
        ("name", &long[..500]),
        ("description", "typed"),
    ];
    let answer = admin.upload(&files, &fields, ("a.bin", &large));
    assert_eq!(answer.status, 422, "{answer:#?}");
    assert_eq!(mistake(&answer).0.as_deref(), Some("name"), "{answer:#?}");
    let is_complete = answer.body.contains("value=\"typed\"");
    assert!(
        is_complete && answer.body.contains("value=\"staff\" selected"),
        "{answer:#?}"
    );
    // Of a text that is too large, nothing is kept.
    let answer = admin.post(
        "/contests/new",
        &[("visibility", "public"), ("name", &long)],
    );
    assert_eq!(answer.status, 413, "{}", answer.status);
    assert!(answer.body.len() < 100 << 10, "{}", answer.body.len());
    assert!(
        answer.body.contains("value=\"public\" selected"),
        "{answer:#?}"
    );
    assert_navigation(&answer);
    let mut guest = Browser::new(&site);
    let answer = guest.post(
        "/sign-in",
        &[("login", &long[..64 << 10]), ("password", "x")],
    );
    assert_eq!(answer.status, 413, "{}", answer.status);
    assert_navigation(&answer);
}

#[test]
fn error_pages_have_the_navigation_in_the_language_of_the_user() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    assert_eq!(admin.post("/language", &[("language", "de")]).status, 303);
    // The user's setting counts in browsers without the cookie, too.
    let mut other = Browser::new(&site);
    let fields = [("login", "ada"), ("password", "correct horse")];
    assert_eq!(other.post("/sign-in", &fields).status, 303);
    let blobs = std::fs::read_dir(site.data().join("blobs")).expect("files");
    for file in blobs {
        std::fs::remove_file(file.expect("a file").path()).expect("a removed file");
    }
    let package = format!("/problems/{}/package", contest.package);
    let cases = [
        ("/nothing", 404),
        ("/contests/999", 404),
        ("/contests/abc", 400),
        ("/audit?before=x", 400),
        ("/users/1/reset", 405),
        ("/sign-in?x=%00", 422),
        (&package, 500),
    ];
    for (path, status) in cases {
        let answer = other.get(path);
        assert_eq!(answer.status, status, "{path}: {answer:#?}");
        assert_navigation(&answer);
        for part in ["<html lang=\"de\">", "/sign-out", "<h1>"] {
            assert!(answer.body.contains(part), "{path}: {part}: {answer:#?}");
        }
        // All paths without a page share one page.
        for absent in ["/contests/abc", "/contests/999", "/nothing"] {
            assert!(!answer.body.contains(absent), "{path}: {answer:#?}");
        }
        let guest = Browser::new(&site).get_with(path, ("accept-language", "pl"));
        assert!(guest.status >= 400, "{path}: {guest:#?}");
        assert_navigation(&guest);
        for part in ["<html lang=\"pl\">", "/sign-in"] {
            assert!(guest.body.contains(part), "{path}: {part}: {guest:#?}");
        }
    }
    // A form of a different site is not shown with the values that this site has chosen.
    let fields = [("name", "chosen"), ("visibility", "public")];
    let foreign = other.post_from("cross-site", "/contests/new", &fields);
    assert_eq!(foreign.status, 403, "{foreign:#?}");
    assert_navigation(&foreign);
    assert!(!foreign.body.contains("chosen"), "{foreign:#?}");
    assert!(!foreign.body.contains("form-page"), "{foreign:#?}");
    let method = other.post("/audit", &[]);
    assert_eq!(method.status, 405, "{method:#?}");
    assert_navigation(&method);
}

#[test]
fn rejected_forms_show_only_pages_that_the_viewer_may_see() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut eve = Browser::new(&site);
    eve.sign_up("/sign-up", "eve");
    let mut guest = Browser::new(&site);
    let members = format!("/contests/{}/members", contest.id);
    for page in [
        "/users",
        &members,
        "https://example.org/",
        "//example.org",
        "/api/v1/contests",
    ] {
        for browser in [&mut eve, &mut guest] {
            let fields = [
                ("login", "typed"),
                ("password", "wrong"),
                ("form-page", page),
            ];
            let answer = browser.post_on(page, "/sign-in", &fields);
            assert_eq!(answer.status, 422, "{answer:#?}");
            for secret in [">ada<", "Cup", "example.org", "/audit"] {
                assert!(
                    !answer.body.contains(secret),
                    "{page}: {secret}: {answer:#?}"
                );
            }
            // The page of the form itself is the last attempt.
            assert!(answer.body.contains("value=\"typed\""), "{answer:#?}");
            let fields = [("login", "eve"), ("role", "owner"), ("form-page", page)];
            let answer = browser.post_on(page, &members, &fields);
            assert!(answer.status >= 300, "{answer:#?}");
            for secret in ["Cup", "form-page", "owner"] {
                assert!(
                    !answer.body.contains(secret),
                    "{page}: {secret}: {answer:#?}"
                );
            }
        }
    }
}

#[test]
fn programs_receive_short_errors() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let any = ("accept", "*/*");
    let answer = admin.get_with("/contests/abc", any);
    assert_eq!(answer.status, 400);
    let media = answer.headers["content-type"].to_str().unwrap_or_default();
    assert!(media.starts_with("text/plain"), "{answer:#?}");
    let answer = admin.get_with("/users/1/reset", any);
    assert_eq!((answer.status, answer.body.as_str()), (405, ""));
    let answer = admin.post_with(
        any,
        "/contests/new",
        &[("name", ""), ("visibility", "private")],
    );
    assert_eq!(answer.status, 422, "{answer:#?}");
    for part in ["form-page", "<nav", "/sign-out"] {
        assert!(!answer.body.contains(part), "{answer:#?}");
    }
    for path in ["/api/v1/contests/999", "/api/v1/nothing"] {
        let answer = admin.get_with(path, ("accept", "text/html"));
        assert_eq!(
            answer.headers["content-type"], "application/problem+json",
            "{answer:#?}"
        );
    }
}
