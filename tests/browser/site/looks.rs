//! All pages with axe-core, by keyboard, and at several sizes.

use super::support::{Browser, archive, files_of_sum};
use super::{Stage, with_site};
use crate::browser::{Options, Window, axe, key};
use fantoccini::key::Key;
use serde_json::json;

const PHONE: Options = Options {
    script: true,
    dark: false,
    size: (360, 740),
};

/// Whether the focus can be seen.
const OUTLINE: &str = "const style = getComputedStyle(document.activeElement); \
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2";

/// A site with a contest in each state of a round, users and submissions.
struct Fixture {
    /// Pages and the names of their pictures, for an administrator.
    pages: Vec<(String, String)>,
}

fn fixture(stage: &Stage) -> Fixture {
    let mut admin = Browser::new(&stage.site);
    admin.sign_up(stage.setup(), "ada");
    let fields = [("visibility", "public")];
    let problem = admin.upload(
        "/problems/new",
        &fields,
        ("sum.zip", &archive(&files_of_sum())),
    );
    assert_eq!(problem.status, 303, "{problem:#?}");
    let fields = [("name", "Winter Cup"), ("visibility", "public")];
    let contest = admin.post("/contests/new", &fields).id();
    let rounds = [
        ("Practice", "2026-01-10T09:00", "2026-01-10T12:00"),
        ("Day 1", "2026-01-11T09:00", "2998-01-11T12:00"),
        ("Day 2", "2998-01-12T09:00", "2998-01-12T12:00"),
    ];
    for (name, begins, ends) in rounds {
        let fields = [
            ("name", name),
            ("begins", begins),
            ("ends", ends),
            ("full_results", ""),
            ("ranking_from", ""),
        ];
        let path = format!("/contests/{contest}/rounds");
        let round = admin.post(&path, &fields).id();
        for label in ["A", "B"] {
            let fields = [
                ("problem", "1"),
                ("label", label),
                ("final_method", "best"),
                ("reveal", "status"),
            ];
            let added = admin.post(&format!("/rounds/{round}/problems"), &fields);
            assert_eq!(added.status, 303, "{added:#?}");
        }
    }
    let sources: [&[u8]; 4] = [
        b"a, b = map(int, input().split())\nprint(a + b)\n",
        b"print(3)\n",
        b"raise ValueError\n",
        b"a, b = map(int, input().split())\n# The sum.\nprint(a + b)\n",
    ];
    for login in ["bob", "eve", "zoe"] {
        let mut browser = Browser::new(&stage.site);
        browser.sign_up("/sign-up", login);
        for (number, source) in (3..).zip(sources) {
            let path = format!("/round-problems/{}/submit", number % 2 + 3);
            let file = ("sum.py", source);
            let sent = browser.upload(&path, &[("language", "")], file);
            assert_eq!(sent.status, 303, "{sent:#?}");
        }
    }
    // All submissions are judged before pictures are taken.
    for id in 1..=12 {
        admin.wait_for(&format!("/submissions/{id}"), "Maximum CPU time");
    }
    talk(stage, &mut admin, contest);
    let page = |path: &str, name: &str| (path.to_owned(), name.to_owned());
    Fixture {
        pages: vec![
            page("/", "home"),
            page("/problems", "problems"),
            page("/problems/new", "problem-new"),
            page("/problems/1", "problem"),
            page("/problems/1/submit", "problem-submit"),
            page("/contests", "contests"),
            page("/contests/new", "contest-new"),
            page("/contests/1", "contest"),
            page("/contests/1/edit", "contest-settings"),
            page("/contests/1/ranking", "ranking"),
            page("/contests/1/statistics", "statistics"),
            page("/contests/1/submissions", "contest-submissions"),
            page("/contests/1/members", "members"),
            page("/contests/1/clarifications", "clarifications"),
            page("/clarifications/1", "clarification"),
            page("/contests/1/canned-answers", "canned-answers"),
            page("/contests/1/files", "files"),
            page("/contest-files/1/edit", "file"),
            page("/contests/1/balloons", "balloons"),
            page("/contests/1/print", "printing"),
            page("/prints/1", "print"),
            page("/rounds/2", "round"),
            page("/round-problems/3", "round-problem"),
            page("/round-problems/3/submit", "round-submit"),
            page("/round-problems/3/try", "round-try"),
            page("/submissions", "submissions"),
            page("/submissions/1", "submission"),
            page("/submissions/2", "submission-wrong"),
            page("/users", "users"),
            page("/queue", "queue"),
            page("/workers", "workers"),
            page("/password", "password"),
            page("/account", "account"),
            page("/account/totp", "totp"),
            page("/users/2", "user"),
            page("/users/import", "users-import"),
            page("/contests/1/import", "teams-import"),
            page("/settings", "site-settings"),
            page("/audit", "audit"),
            page("/jobs", "jobs"),
            page("/faults", "faults"),
            page("/rejudgings", "rejudgings"),
            page("/rejudgings/new?contest=1", "rejudging-new"),
        ],
    }
}

/// A question, an announcement, a file, a text to print, and balloons.
fn talk(stage: &Stage, admin: &mut Browser, contest: i64) {
    let root = format!("/contests/{contest}");
    let rules = [
        ("mode", "icpc"),
        ("penalty_minutes", "20"),
        ("window_minutes", ""),
        ("freeze_at", ""),
        ("thaw_at", ""),
    ];
    assert_eq!(admin.post("/rounds/2", &rules).status, 303);
    let mut bob = Browser::new(&stage.site);
    let sign_in = [("login", "bob"), ("password", "correct horse")];
    assert_eq!(bob.post("/sign-in", &sign_in).status, 303);
    let text = [("problem", ""), ("text", "May I use paper?")];
    let asked = bob.post(&format!("{root}/clarifications"), &text);
    assert_eq!(asked.status, 303, "{asked:#?}");
    let text = [("problem", "3"), ("text", "The limit is 2 s.")];
    let announced = admin.post(&format!("{root}/announcements"), &text);
    assert_eq!(announced.status, 303, "{announced:#?}");
    let list = [("list", "No comment\nRead the statement")];
    assert_eq!(
        admin.post(&format!("{root}/canned-answers"), &list).status,
        303
    );
    let fields = [("audience", "all"), ("round", "1"), ("name", "rules.txt")];
    let file = admin.upload(&format!("{root}/files"), &fields, ("x", b"rules"));
    assert_eq!(file.status, 303, "{file:#?}");
    let printing = format!("{root}/printing");
    assert_eq!(admin.post(&printing, &[("printing", "1")]).status, 303);
    let sent = bob.upload(&format!("{root}/print"), &[], ("a.py", b"print(3)\n"));
    assert_eq!(sent.status, 303, "{sent:#?}");
}

/// Checks all pages with axe-core and takes pictures of them.
async fn check_pages(stage: &Stage, fixture: &Fixture, options: Options, size: &str) {
    let Some(axe) = axe() else { return };
    let window = stage.window(options).await;
    let mut mistakes = Vec::new();
    for (path, name) in [("/sign-in", "sign-in"), ("/sign-up", "sign-up")] {
        window.open(path).await;
        mistakes.extend(check_page(&window, &axe, name, size).await);
    }
    window.sign_in("ada").await;
    for (path, name) in &fixture.pages {
        window.open(path).await;
        mistakes.extend(check_page(&window, &axe, name, size).await);
        // Collapsed parts must also be correct.
        let unfold = "const all = document.querySelectorAll('.chart details'); \
            all.forEach(one => one.open = true); return all.length > 0";
        if window.script(unfold, json!([])).await == json!(true) {
            let name = format!("{name}-unfolded");
            mistakes.extend(check_page(&window, &axe, &name, size).await);
        }
    }
    assert!(mistakes.is_empty(), "{size}: {mistakes:#?}");
    window.end().await;
}

/// Checks a page that is no error page. Returns the defects of the page.
async fn check_page(window: &Window, axe: &str, name: &str, size: &str) -> Vec<String> {
    let title = window.client.title().await.expect("a title");
    assert!(
        title.ends_with("millibox") && !title.starts_with("Not"),
        "{name}: {title}"
    );
    defects(window, axe, name, size).await
}

/// Takes a picture of a page, which may be an error page. Returns the defects of the page.
pub async fn defects(window: &Window, axe: &str, name: &str, size: &str) -> Vec<String> {
    window.screenshot(&format!("site-{name}-{size}")).await;
    let found = window.violations(axe).await;
    let mut mistakes: Vec<String> = found
        .iter()
        .map(|rule| format!("{name}: {} in {}", rule["id"], rule["nodes"][0]["html"]))
        .collect();
    // Phones enlarge `innerWidth` for pages that are too wide.
    let widths = "const page = document.documentElement; \
        return [page.scrollWidth, page.clientWidth]";
    let widths = window.script(widths, json!([])).await;
    if widths[0] != widths[1] {
        mistakes.push(format!("{name} is wider than the window: {widths}"));
    }
    mistakes
}

#[test]
fn axe_finds_nothing_in_pages_of_the_site() {
    with_site(async |stage| {
        let fixture = fixture(stage);
        let light = Options::default();
        let dark = Options {
            dark: true,
            ..light
        };
        let size = (2560, 1440);
        let projector = Options { size, ..dark };
        check_pages(stage, &fixture, light, "light").await;
        check_pages(stage, &fixture, dark, "dark").await;
        check_pages(stage, &fixture, PHONE, "phone").await;
        check_pages(stage, &fixture, projector, "projector").await;
    });
}

#[test]
fn rejected_form_has_the_focus_at_its_mistake() {
    with_site(async |stage| {
        let axe = axe();
        let window = stage.window(PHONE).await;
        let button = "Create the first administrator";
        window.sign_up(stage.setup(), "ada", button).await;
        let described = "return [document.activeElement.name, \
            document.activeElement.getAttribute('aria-describedby')]";
        // A name of spaces passes the checks of the browser. The form is sent twice, the second
        // time from the page that shows it again.
        window.open("/contests/new").await;
        for name in ["form-rejected", "form-rejected-again"] {
            window.fill("[name=name]", "  ").await;
            window.press_button("Add the contest").await;
            window.element("#form-mistake[role=alert]").await;
            let focused = window.script(described, json!([])).await;
            assert_eq!(focused, json!(["name", "form-mistake"]));
            if let Some(axe) = &axe {
                let found = defects(&window, axe, name, "phone").await;
                assert!(found.is_empty(), "{found:#?}");
            }
        }
        window.fill("[name=name]", "Cup").await;
        window.press_button("Add the contest").await;
        window.shows("h1", "Cup").await;
        // A mistake that belongs to no field has the focus itself.
        window.open("/users/1").await;
        window.select("[name=role]", "user").await;
        window.click("form:has([name=role]) button").await;
        window.element("#form-mistake[role=alert]").await;
        assert_eq!(window.focus().await, "form-mistake");
        assert_eq!(window.value("[name=role]").await, "user");
        // Errors without a form.
        for path in ["/nothing", "/contests/abc"] {
            window.open(path).await;
            window.element("header nav a[href='/contests']").await;
            if let Some(axe) = &axe {
                let found = defects(&window, axe, "error", "phone").await;
                assert!(found.is_empty(), "{found:#?}");
            }
        }
        window.end_after_rejections().await;
    });
}

#[test]
fn site_works_with_the_keyboard_alone() {
    with_site(async |stage| {
        let window = stage.window(Options::default()).await;
        window.open(stage.setup()).await;
        let tab = key(Key::Tab);
        // The first tab stop is the link that skips the navigation.
        window.press(&tab).await;
        assert_eq!(
            window
                .script("return document.activeElement.className", json!([]))
                .await,
            json!("skip")
        );
        assert_eq!(window.script(OUTLINE, json!([])).await, json!(true));
        window.press(&key(Key::Enter)).await;
        for text in ["ada", "Ada Example", super::PASSWORD] {
            window.press(&tab).await;
            assert_eq!(window.script(OUTLINE, json!([])).await, json!(true));
            window.press(text).await;
        }
        window.press(&key(Key::Enter)).await;
        window.element("a[href='/contests/new']").await;
        assert_eq!(window.path().await, "/contests");
        // Each link and button of the page can be reached, and the focus is visible.
        let stops = window.count("a, button").await;
        window.open("/contests").await;
        for number in 0..stops {
            window.press(&tab).await;
            let element = window
                .script("return document.activeElement.outerHTML", json!([]))
                .await;
            let is_visible = window.script(OUTLINE, json!([])).await;
            assert_eq!(
                is_visible,
                json!(true),
                "stop {number} of {stops}: {element}"
            );
        }
        window.end().await;
    });
}
