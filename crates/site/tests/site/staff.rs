//! Balloons and printing.

use super::rounds::{Cup, user};
use super::{RIGHT, first_admin, with_each};
use crate::support::contest::{add_version, contestant, make_contest, submit};
use crate::support::{Answer, Browser, archive, files_of_sum};

/// The points of a complete result.
const DONE: &str = "100 / 100";

#[test]
fn balloon_is_earned_once_and_hidden_by_a_freeze() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        assert_eq!(cup.rules(&mut admin, "", ""), 303);
        let (mut bob, mut eve) = (user(&site, "bob"), user(&site, "eve"));
        for browser in [&mut bob, &mut eve] {
            let submission = cup.submit(browser, RIGHT);
            browser.wait_for(&submission, DONE);
        }
        let list = format!("/contests/{}/balloons", cup.contest);
        let rows = |page: &Answer| page.body.matches("name=\"participant\"").count();
        let page = admin.get(&list);
        assert_eq!(rows(&page), 2, "{page:#?}");
        assert_eq!(page.body.matches("First to solve").count(), 1, "{page:#?}");
        for browser in [&mut bob, &mut Browser::new(&site)] {
            assert_eq!(browser.get(&list).status, 404);
            assert_eq!(browser.post(&list, &[]).status, 422);
            let fields = [("problem", "1"), ("participant", "1")];
            assert_eq!(browser.post(&list, &fields).status, 404);
        }
        let problem = cup.problem.to_string();
        let fields = [("problem", problem.as_str()), ("participant", "1")];
        for _ in 0..2 {
            assert_eq!(admin.post(&list, &fields).status, 303);
        }
        let page = admin.get(&list);
        assert_eq!(page.body.matches("name=\"undo\"").count(), 1, "{page:#?}");
        let undo = [fields[0], fields[1], ("undo", "1")];
        assert_eq!(admin.post(&list, &undo).status, 303);
        assert!(!admin.get(&list).body.contains("name=\"undo\""));
        let unearned = [fields[0], ("participant", "99")];
        assert_eq!(admin.post(&list, &unearned).status, 404);

        // The freeze began before the submissions.
        assert_eq!(cup.rules(&mut admin, "", "2020-01-01T00:00"), 303);
        assert_eq!(rows(&admin.get(&list)), 0);
        assert_eq!(admin.post(&list, &fields).status, 404);
        let freeze = format!("{list}/freeze");
        assert_eq!(bob.post(&freeze, &[("in_freeze", "1")]).status, 404);
        assert_eq!(admin.post(&freeze, &[("in_freeze", "1")]).status, 303);
        assert_eq!(rows(&admin.get(&list)), 2);
        assert_eq!(admin.post(&freeze, &[]).status, 303);
        assert_eq!(rows(&admin.get(&list)), 0);
    });
}

#[test]
fn delivered_balloon_stays_when_its_solution_is_taken_away() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let round = format!("/rounds/{}", contest.round);
        let fields = [
            ("name", "Round"),
            ("begins", "2001-01-01T00:00"),
            ("ends", ""),
            ("full_results", ""),
            ("ranking_from", ""),
        ];
        assert_eq!(admin.post(&round, &fields).status, 303);
        let rules = |admin: &mut Browser, freeze: &str| {
            let fields = [
                ("mode", "icpc"),
                ("penalty_minutes", "20"),
                ("window_minutes", ""),
                ("freeze_at", freeze),
                ("thaw_at", ""),
            ];
            assert_eq!(admin.post(&round, &fields).status, 303);
        };
        rules(&mut admin, "");
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let mut eve = contestant(&site, &mut admin, &contest, "eve");
        let submissions = [&mut bob, &mut eve].map(|browser| {
            let id = submit(browser, &contest, RIGHT).id();
            browser.wait_for(&format!("/submissions/{id}"), DONE);
            id
        });
        let list = format!("/contests/{}/balloons", contest.id);
        let rows = |page: &Answer| page.body.matches("name=\"participant\"").count();
        let page = admin.get(&list);
        assert_eq!(rows(&page), 2, "{page:#?}");
        let first = page.body.split("name=\"participant\" value=\"").nth(1);
        let first = first.and_then(|rest| rest.split('"').next()).expect("one");
        let problem = contest.problem.to_string();
        let delivery = [("problem", problem.as_str()), ("participant", first)];
        assert_eq!(admin.post(&list, &delivery).status, 303);
        // A freeze hides the balloon that waits, and not the one that was seen.
        rules(&mut admin, "2020-01-01T00:00");
        let page = admin.get(&list);
        assert_eq!(rows(&page), 1, "{page:#?}");
        assert!(page.body.contains("name=\"undo\""), "{page:#?}");
        rules(&mut admin, "");

        let mut files = files_of_sum();
        for (name, content) in &mut files {
            if *name == "data/secret/hidden-test.ans" {
                *content = "43\n";
            }
        }
        let version = add_version(&mut admin, &contest, &archive(&files));
        contest.use_version(&mut admin, version);
        for id in submissions {
            let again = admin.post(&format!("/submissions/{id}/judge"), &[]);
            assert_eq!(again.status, 303, "{again:#?}");
        }
        let unsolved = "Delivered, but no longer solved";
        admin.wait_until(&list, |page| {
            page.matches("name=\"participant\"").count() == 1
        });
        let page = admin.wait_for(&list, unsolved);
        assert!(page.body.contains("name=\"undo\""), "{page:#?}");
        assert!(page.body.contains(">bob<"), "{page:#?}");
        let undo = [delivery[0], delivery[1], ("undo", "1")];
        assert_eq!(admin.post(&list, &undo).status, 303);
        assert_eq!(rows(&admin.get(&list)), 0);
        for fields in [&delivery[..], &undo] {
            assert_eq!(admin.post(&list, fields).status, 404);
        }
    });
}

#[test]
fn text_is_printed_for_its_sender_and_the_staff() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let mut eve = contestant(&site, &mut admin, &contest, "eve");
        let path = format!("/contests/{}/print", contest.id);
        let send = |browser: &mut Browser, text: &str| {
            browser.upload(&path, &[("text", text)], ("", b"")).status
        };
        assert_eq!(bob.get(&path).status, 404, "printing is off");
        assert_eq!(send(&mut bob, "x"), 404);
        let on = format!("/contests/{}/printing", contest.id);
        assert_eq!(bob.post(&on, &[("printing", "1")]).status, 404);
        assert_eq!(admin.post(&on, &[("printing", "1")]).status, 303);
        assert_eq!(send(&mut bob, "line-of-bob <b>\u{1b}"), 303);
        assert_eq!(send(&mut bob, " "), 422);
        assert_eq!(send(&mut bob, &"x".repeat((64 << 10) + 1)), 422);
        let file = bob.upload(&path, &[], ("a.py", b"\xff\xfe"));
        assert_eq!(file.status, 422, "{file:#?}");
        let page = admin.get(&path).body;
        assert!(page.contains("bob") && page.contains("/prints/1"), "{page}");
        for browser in [&mut bob, &mut admin] {
            let page = browser.get("/prints/1").body;
            assert!(page.contains("line-of-bob &lt;b&gt;"), "{page}");
        }
        assert!(!eve.get(&path).body.contains("/prints/1"));
        let mut stranger = user(&site, "zoe");
        for browser in [&mut eve, &mut stranger, &mut Browser::new(&site)] {
            assert_eq!(browser.get("/prints/1").status, 404);
            assert_eq!(browser.post("/prints/1/done", &[]).status, 404);
        }
        assert_eq!(stranger.get(&path).status, 404);
        assert_eq!(bob.post("/prints/1/done", &[]).status, 404);
        assert!(bob.get(&path).body.contains(">Waiting<"));
        assert_eq!(admin.post("/prints/1/done", &[]).status, 303);
        assert!(!bob.get(&path).body.contains(">Waiting<"));
        for _ in 0..9 {
            assert_eq!(send(&mut bob, "x"), 303);
        }
        assert_eq!(send(&mut bob, "x"), 429);
    });
}

#[test]
fn text_is_seen_by_the_team_of_its_sender_and_no_other() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let [mut bob, mut eve, mut zoe] =
            ["bob", "eve", "zoe"].map(|login| contestant(&site, &mut admin, &contest, login));
        let teams = format!("/contests/{}/participants", contest.id);
        let mut owls = String::new();
        for (team, logins) in [("Owls", &["bob", "eve"][..]), ("Bees", &["zoe"])] {
            let id = admin.post(&teams, &[("name", team)]).id();
            let team = format!("/participants/{id}");
            for login in logins {
                let added = admin.post(&format!("{team}/members"), &[("login", login)]);
                assert_eq!(added.status, 303, "{added:#?}");
            }
            if owls.is_empty() {
                owls = team;
            }
        }
        let on = format!("/contests/{}/printing", contest.id);
        assert_eq!(admin.post(&on, &[("printing", "1")]).status, 303);
        let path = format!("/contests/{}/print", contest.id);
        let sent = bob.upload(&path, &[("text", "line-of-bob")], ("", b""));
        assert_eq!(sent.status, 303, "{sent:#?}");
        let sees = |browser: &mut Browser| {
            let list = browser.get(&path).body.contains("/prints/1\"");
            let text = browser.get("/prints/1").body.contains("line-of-bob");
            assert_eq!(browser.post("/prints/1/done", &[]).status, 404);
            (list, text)
        };
        assert_eq!(sees(&mut bob), (true, true));
        assert_eq!(sees(&mut eve), (true, true));
        assert_eq!(sees(&mut zoe), (false, false));
        let remove = format!("{owls}/remove");
        assert_eq!(admin.post(&remove, &[("login", "eve")]).status, 303);
        assert_eq!(sees(&mut eve), (false, false));
        assert_eq!(sees(&mut bob), (true, true));
    });
}
