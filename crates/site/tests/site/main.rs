//! The site as people use it, with SQLite and with PostgreSQL.
//!
//! The tests start the site as an unprivileged user, and submit programs in Python.

#[allow(unreachable_pub, dead_code, reason = "tests share the module")]
#[path = "../support/mod.rs"]
mod support;

// The browser tests share the module `support`, but not the dependencies of the provider.
#[allow(unreachable_pub, reason = "the module was written for sharing")]
#[path = "../support/provider.rs"]
mod provider;

mod abuse;
mod accounts;
mod api;
mod certificates;
mod changes;
mod classes;
mod commands;
mod crawl;
mod creation;
mod day;
mod demo;
mod editorial;
mod entry;
mod files;
mod forms;
mod imports;
mod languages;
mod limits;
mod lists;
mod load;
mod oidc;
mod opening;
mod practice;
mod processes;
mod rejudgings;
mod rights;
mod rounds;
mod rules;
mod search;
mod shares;
mod sources;
mod staff;
mod statements;
mod states;
mod talk;
mod uploads;
mod zones;

use support::contest::{Contest, contestant, first_admin, make_contest, round, submit};
use support::{Browser, Site, with_each};

const RIGHT: &[u8] = b"a, b = map(int, input().split())\nprint(a + b)\n";
/// Right for the example only.
const HALF: &[u8] = b"print(3)\n";

/// Hidden points in a ranking.
const HIDDEN: &str = "<td class=\"number\">?";
/// A sum of 100 points in a ranking.
const SUM: &str = "<td class=\"number\">100</td>";

#[test]
fn contestant_sees_initial_results_until_the_full_ones() {
    with_each(|mut site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let page = bob.get(&format!("/round-problems/{}", contest.problem));
        assert!(
            page.body.contains("<math") && !page.body.contains("<script>alert"),
            "{page:#?}"
        );
        let half = submit(&mut bob, &contest, HALF).id();
        let right = submit(&mut bob, &contest, RIGHT).id();
        let (half_page, right_page) = (
            format!("/submissions/{half}"),
            format!("/submissions/{right}"),
        );
        for page in [&half_page, &right_page] {
            admin.wait_for(page, "hidden-test");
            let page = bob.wait_for_result(page, "Accepted");
            for hidden in ["hidden-test", "Wrong answer", "Points", "100 / 100"] {
                assert!(!page.body.contains(hidden), "{hidden}: {page:#?}");
            }
        }
        assert!(admin.get(&half_page).body.contains("Wrong answer"));
        let ranking = format!("/contests/{}/ranking", contest.id);
        let page = bob.get(&ranking);
        assert!(
            page.body.contains(HIDDEN) && !page.body.contains(SUM),
            "{page:#?}"
        );
        assert!(admin.get(&ranking).body.contains(SUM));

        // The style sheet of the contestant marks the own row, and the table has that row.
        let page = bob.get(&ranking).body;
        let style = page.split("href=\"/ranking-rows/").nth(1);
        let own = style
            .and_then(|it| it.split('"').next())
            .expect("a style sheet");
        assert!(
            page.contains(&format!("data-participant=\"{own}\"")),
            "{page}"
        );
        let style = bob.get(&format!("/ranking-rows/{own}"));
        let type_of = style.headers["content-type"].to_str().unwrap_or_default();
        assert!(type_of.starts_with("text/css"), "{style:#?}");
        let selector = format!("tr[data-participant=\"{own}\"]");
        assert!(style.body.contains(&selector), "{style:#?}");
        assert!(
            !Browser::new(&site)
                .get(&ranking)
                .body
                .contains("ranking-rows")
        );

        site.kill_and_restart();
        let (mut admin, mut bob) = (admin.moved(&site), bob.moved(&site));
        assert_eq!(site.setup, None, "an administrator exists");
        assert!(admin.get(&half_page).body.contains("Wrong answer"));
        let changed = admin.post(&format!("/rounds/{}", contest.round), &round(""));
        assert_eq!(changed.status, 303, "{changed:#?}");
        assert!(bob.get(&half_page).body.contains("hidden-test"));
        assert!(bob.get(&ranking).body.contains(SUM));

        let fields = [("kind", "ignored")];
        assert_eq!(bob.post(&format!("{right_page}/kind"), &fields).status, 404);
        assert_eq!(
            admin.post(&format!("{right_page}/kind"), &fields).status,
            303
        );
        assert!(!bob.get(&ranking).body.contains(SUM));
        assert_eq!(admin.post(&format!("{half_page}/judge"), &[]).status, 303);
        let queue = admin.wait_for("/queue", "done");
        assert!(!queue.body.contains("fault</td>"), "{queue:#?}");
    });
}

/// A page without the clock of the server.
fn without_clock(page: &str) -> String {
    let (before, rest) = page.split_once("<time id=\"clock\"").expect("a navigation");
    let (_, after) = rest.split_once("</time>").expect("the end of the clock");
    format!("{before}{after}")
}

#[test]
fn strangers_do_not_learn_that_private_things_exist() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let submission = submit(&mut bob, &contest, RIGHT).id();
        let mut eve = Browser::new(&site);
        eve.sign_up("/sign-up", "eve");
        let Contest {
            id, round, problem, ..
        } = contest;
        let private = [
            format!("/contests/{id}"),
            format!("/contests/{id}/ranking"),
            format!("/contests/{id}/submissions"),
            format!("/contests/{id}/members"),
            format!("/contests/{id}/edit"),
            format!("/contests/{id}/live"),
            format!("/rounds/{round}"),
            format!("/round-problems/{problem}"),
            format!("/round-problems/{problem}/submit"),
            format!("/round-problems/{problem}/files/en.pdf"),
            format!("/submissions/{submission}"),
            format!("/submissions/{submission}/source"),
            format!("/submissions/{submission}/live"),
            "/problems/1".to_owned(),
            "/problems/1/package".to_owned(),
            "/problems/new".to_owned(),
            "/contests/new".to_owned(),
            "/users".to_owned(),
            "/queue".to_owned(),
            "/workers".to_owned(),
            "/submissions/999999".to_owned(),
        ];
        let mut guest = Browser::new(&site);
        for path in &private {
            for browser in [&mut eve, &mut guest] {
                let missing = without_clock(&browser.get("/nothing").body);
                let answer = browser.get(path);
                let page = without_clock(&answer.body);
                assert_eq!((answer.status, page), (404, missing), "{path}");
            }
        }
        // A contestant sees neither the staff's pages nor the problem outside the contest.
        for path in ["/problems/1".to_owned(), format!("/contests/{id}/members")] {
            assert_eq!(bob.get(&path).status, 404, "{path}");
        }
        for list in ["/contests", "/problems", "/submissions"] {
            let page = eve.get(list).body;
            assert!(!page.contains("Cup") && !page.contains("Sum"), "{page}");
        }
        // The problems of a round that has not begun do not exist for contestants.
        let mut later = support::contest::round("");
        later[1].1 = "2998-01-01T00:00";
        assert_eq!(admin.post(&format!("/rounds/{round}"), &later).status, 303);
        assert_eq!(bob.get(&format!("/round-problems/{problem}")).status, 404);
        let page = bob.get(&format!("/contests/{id}")).body;
        assert!(
            page.contains("Begins in") && !page.contains("Sum"),
            "{page}"
        );
    });
}

#[test]
fn forms_of_other_sites_are_refused() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let fields = [("name", "Cup"), ("visibility", "private")];
    assert_eq!(
        admin
            .post_from("cross-site", "/contests/new", &fields)
            .status,
        403
    );
    assert_eq!(admin.post("/contests/new", &fields).status, 303);
    let page = admin.get("/contests");
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(page.body.contains("Cup"));
    assert_eq!(admin.post("/sign-out", &[]).status, 303);
    assert_eq!(admin.get("/users").status, 404);
    let setup = site.setup.as_deref().unwrap();
    assert_eq!(admin.get(setup).status, 404, "the link is used up");
}

#[test]
fn wrong_passwords_are_throttled() {
    let site = Site::start(None);
    first_admin(&site);
    let mut eve = Browser::new(&site);
    let wrong = [("login", "ADA"), ("password", "wrong horse")];
    for _ in 0..10 {
        assert_eq!(eve.post("/sign-in", &wrong).status, 422);
    }
    let right = [("login", "ada"), ("password", "correct horse")];
    let refused = eve.post("/sign-in", &right);
    assert_eq!(refused.status, 429);
    assert!(refused.headers.contains_key("retry-after"));
}

#[test]
fn package_with_mistakes_is_explained() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let fields = [("visibility", "public")];
    let answer = admin.upload("/problems/new", &fields, ("a.zip", b"no archive"));
    assert_eq!(answer.status, 422);
    assert!(
        answer.body.contains("The package has errors"),
        "{answer:#?}"
    );
}
