//! Lists with several pages, the tabs of contests, and logins in any case.

use super::accounts::sign_in;
use super::support::{Answer, Browser};
use super::{contestant, first_admin, make_contest, with_each};
use scraper::{Html, Selector};
use std::fmt::Write as _;

/// The rows of a page.
const ROWS: usize = 100;
/// The rows of a list, more than one page has.
const ALL: usize = 120;

/// The addresses of the links that a selector finds.
fn hrefs(page: &Answer, selector: &str) -> Vec<String> {
    let document = Html::parse_document(&page.body);
    let selector = Selector::parse(selector).expect("a selector");
    let links = document.select(&selector);
    links
        .filter_map(|link| link.attr("href").map(str::to_owned))
        .collect()
}

/// The numbers of the objects in a list, on all its pages. `start` is the address of an object
/// without its number. Each page but the last is full.
fn listed(browser: &mut Browser, path: &str, start: &str) -> Vec<i64> {
    let (mut ids, mut path) = (Vec::new(), path.to_owned());
    loop {
        let page = browser.get(&path);
        assert_eq!(page.status, 200, "{path}: {page:#?}");
        let links = hrefs(&page, "main a[href]");
        let numbers = links.iter().filter_map(|link| link.strip_prefix(start));
        let found: Vec<i64> = numbers.filter_map(|number| number.parse().ok()).collect();
        let is_next = |link: &&String| link.contains("before=") || link.contains("after=");
        let next = links.iter().find(is_next).cloned();
        assert!(found.len() <= ROWS, "{path}");
        assert!(
            next.is_none() || found.len() == ROWS,
            "{path}: {}",
            found.len()
        );
        ids.extend(found);
        match next {
            Some(next) => path = next,
            None => return ids,
        }
    }
}

/// The actions in the log of changes with a filter, on all its pages.
fn actions(admin: &mut Browser, path: &str) -> Vec<String> {
    let (mut actions, mut path) = (Vec::new(), path.to_owned());
    loop {
        let page = admin.get(&path);
        let document = Html::parse_document(&page.body);
        let cell = Selector::parse("tbody td:nth-child(4)").expect("a selector");
        let cells = document.select(&cell);
        actions.extend(cells.map(|cell| cell.text().collect::<String>()));
        let links = hrefs(&page, "main a[href]");
        match links.into_iter().find(|link| link.contains("before=")) {
            Some(next) => path = next,
            None => return actions,
        }
    }
}

#[test]
fn list_continues_on_the_next_page_until_its_end() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut bob = Browser::new(&site);
        bob.sign_up("/sign-up", "Bob");
        let (mut contests, mut public) = (Vec::new(), Vec::new());
        for number in 0..ALL {
            let is_public = number % 10 != 0;
            let visibility = if is_public { "public" } else { "private" };
            let fields = [("name", "Cup"), ("visibility", visibility)];
            let id = admin.post("/contests/new", &fields).id();
            contests.insert(0, id);
            if is_public {
                public.insert(0, id);
            }
        }
        assert!(public.len() > ROWS);
        assert_eq!(listed(&mut admin, "/contests", "/contests/"), contests);
        assert_eq!(listed(&mut bob, "/contests", "/contests/"), public);

        let mut list = "login\n".to_owned();
        for number in 0..ALL {
            writeln!(list, "user{number}").expect("memory");
        }
        let lists = [("list", list.as_str())];
        let preview = admin.upload("/users/import", &lists, ("", b""));
        let plan = preview.body.split("name=\"plan\" value=\"").nth(1);
        let plan = plan
            .and_then(|part| part.split('"').next())
            .expect("a plan");
        let fields = [lists[0], ("plan", plan), ("format", "page")];
        let applied = admin.upload("/users/import/apply", &fields, ("", b""));
        assert_eq!(applied.status, 200, "{applied:#?}");
        let users = listed(&mut admin, "/users", "/users/");
        assert_eq!(users.len(), ALL + 2, "{users:?}");
        assert!(users.is_sorted_by(|one, next| one < next), "{users:?}");

        // The filter stays on the next page.
        assert_eq!(bob.post("/account/sessions/end", &[]).status, 303);
        let created = "POST /contests/new";
        let found = actions(&mut admin, "/audit?actor=ada&action=POST+/contests/new");
        assert_eq!(found, vec![created; ALL]);
        assert!(actions(&mut admin, "/audit?actor=Bob&action=POST+/contests/new").is_empty());

        let ask = format!("/contests/{}/clarifications", contests[0]);
        assert_eq!(bob.post(&ask, &[("text", "Why?")]).status, 303);
        let path = format!("/contests/{}/announcements", contests[0]);
        for _ in 0..ALL {
            assert_eq!(admin.post(&path, &[("text", "Hello")]).status, 303);
        }
        assert_eq!(bob.post(&ask, &[("text", "Where?")]).status, 303);
        let start = "/clarifications/";
        let all = listed(&mut admin, &ask, start);
        assert_eq!(all.len(), ALL + 2);
        let announced = listed(&mut admin, &format!("{ask}?show=announcements"), start);
        assert_eq!(announced, all[1..=ALL], "without the two questions");
        let asked = listed(&mut admin, &format!("{ask}?show=unanswered"), start);
        assert_eq!(asked, [all[0], all[ALL + 1]]);
    });
}

#[test]
fn tab_leads_to_its_page_and_is_marked_there() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let root = format!("/contests/{}", contest.id);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let mut moderator = contestant(&site, &mut admin, &contest, "moderator");
        let fields = [("login", "moderator"), ("role", "moderator")];
        let members = format!("{root}/members");
        assert_eq!(admin.post(&members, &fields).status, 303);
        let fields = [("name", "Cup"), ("visibility", "public")];
        assert_eq!(admin.post(&format!("{root}/edit"), &fields).status, 303);
        let tabs = |page: &Answer| hrefs(page, "nav.tabs a[href]");
        let of_staff = tabs(&admin.get(&root));
        assert_eq!(of_staff.len(), 12, "{of_staff:?}");
        for (who, browser, count) in [
            ("the administrator", &mut admin, 12),
            ("the moderator", &mut moderator, 14),
            ("bob", &mut bob, 6),
            ("the guest", &mut Browser::new(&site), 5),
        ] {
            let shown = tabs(&browser.get(&root));
            assert_eq!(shown.len(), count, "{who}: {shown:?}");
            for tab in &shown {
                let page = browser.get(tab);
                assert_eq!(page.status, 200, "{who}: {tab}: {page:#?}");
                if tab.starts_with(&root) {
                    assert_eq!(tabs(&page), shown, "{who}: {tab}");
                    let marked = hrefs(&page, "nav.tabs a[aria-current='page']");
                    assert_eq!(marked, [tab.as_str()], "{who}");
                }
            }
            for tab in of_staff.iter().filter(|tab| !shown.contains(tab)) {
                let page = browser.get(tab);
                let is_hidden = page.status == 404 || page.location.as_deref() == Some("/sign-in");
                assert!(is_hidden, "{who}: {tab}: {page:#?}");
            }
        }
        // The pages of a problem belong to the first tab.
        let page = bob.get(&format!("/round-problems/{}", contest.problem));
        assert_eq!(hrefs(&page, "nav.tabs a[aria-current='page']"), [root]);
    });
}

#[test]
fn logins_are_found_in_any_case() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        Browser::new(&site).sign_up("/sign-up", "Bob");
        let mut bob = Browser::new(&site);
        assert_eq!(sign_in(&mut bob, "bOB", "correct horse").0, 303);
        let fields = [
            ("login", "BOB"),
            ("name", "B"),
            ("password", "correct horse"),
        ];
        assert_eq!(Browser::new(&site).post("/sign-up", &fields).status, 422);
        let members = format!("/contests/{}/members", contest.id);
        let fields = [("login", "BOB"), ("role", "moderator")];
        assert_eq!(admin.post(&members, &fields).status, 303);
        assert_eq!(bob.get(&members).status, 200);
        assert_eq!(admin.get("/rejudgings/new?user=BOB").status, 200);
        let lists = [("list", "login,name\nBOB,Robert\n")];
        let preview = admin.upload("/users/import", &lists, ("", b"")).body;
        assert!(preview.contains("→ Robert"), "{preview}");
        assert_eq!(bob.post("/account/sessions/end", &[]).status, 303);
        for login in ["Bob", "bob", "BOB"] {
            let found = actions(&mut admin, &format!("/audit?actor={login}"));
            let ended = "POST /account/sessions/end".to_owned();
            assert!(found.contains(&ended), "{login}: {found:?}");
            assert!(
                !found.contains(&"POST /contests/new".to_owned()),
                "{login}: {found:?}"
            );
        }
        let link = site.run(&["user", "reset-link"], &["BOB"]).output();
        assert_eq!(Browser::new(&site).get(link.trim()).status, 200);
    });
}
