//! Submissions for practice after a round.

use super::api::{Program, token};
use super::editorial::package;
use super::opening::after;
use super::rounds::{Cup, user};
use super::support::contest::{contest_with, contestant, first_admin, make_contest_of, set_round};
use super::support::{Browser, Site, with_each};
use super::{HALF, RIGHT};
use serde_json::{Value, json};

const PAST: &str = "2001-01-01T00:00";
const LATER: &str = "2001-01-01T01:00";
const FUTURE: &str = "2999-01-01T00:00";

/// Sends a source for practice.
fn practise(browser: &mut Browser, cup: &Cup, source: &[u8]) -> (u16, Option<String>) {
    let path = format!("/round-problems/{}/submit", cup.problem);
    let fields = [("language", ""), ("practice", "1")];
    let answer = browser.upload(&path, &fields, ("a.py", source));
    (answer.status, answer.location)
}

/// Submits for practice through the API, when the round is over.
fn program_practises(site: &Site, browser: &mut Browser, cup: &Cup) {
    let program = Program {
        site,
        token: token(browser, "submit"),
    };
    let body = |target: &str, practice: bool| {
        json!({target: cup.problem, "practice": practice, "file_name": "a.py",
            "source": String::from_utf8_lossy(RIGHT)})
    };
    let send = |body: &Value| program.post("/submissions", "key", body);
    assert_eq!(send(&body("round_problem", false)).0, 403);
    let (status, mistake) = send(&body("problem", true));
    assert_eq!(status, 422, "{mistake}");
    let (status, sent) = send(&body("round_problem", true));
    assert_eq!((status, &sent["practice"]), (201, &json!(true)), "{sent}");
    let (_, again) = send(&body("round_problem", true));
    assert_eq!(again["id"], sent["id"], "a request that is repeated");
    let judged = program.wait(&format!("/submissions/{}", sent["id"]));
    assert_eq!(judged["verdict"], "accepted", "{judged}");
}

#[test]
fn practice_opens_when_everything_is_public_and_changes_no_ranking() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let (mut bob, mut eve) = (user(&site, "bob"), user(&site, "eve"));
        let sent = cup.submit(&mut bob, HALF);
        admin.wait_for_result(&sent, "Wrong answer");
        let page = format!("/round-problems/{}", cup.problem);
        let is_offered =
            |browser: &mut Browser| browser.get(&page).body.contains("Submit for practice");
        // End, full results; whether everything is public.
        let table = [
            (FUTURE, "", false),
            (FUTURE, FUTURE, false),
            (LATER, FUTURE, false),
            ("", "", false),
            (LATER, "", true),
        ];
        for (ends, full_results, expected) in table {
            set_round(&mut admin, cup.round, "Round", [PAST, ends, full_results]);
            for browser in [&mut bob, &mut eve] {
                assert_eq!(is_offered(browser), expected, "{ends} {full_results}");
            }
            if !expected {
                assert_eq!(
                    practise(&mut eve, &cup, RIGHT).0,
                    403,
                    "{ends} {full_results}"
                );
            }
        }
        let ranking = format!("/contests/{}/ranking.json", cup.contest);
        let participants = format!("/contests/{}/participants", cup.contest);
        let before = [admin.get(&ranking).body, eve.get(&ranking).body];
        let mut done = Vec::new();
        for browser in [&mut bob, &mut eve] {
            let (status, location) = practise(browser, &cup, RIGHT);
            assert_eq!(status, 303);
            let location = location.expect("a page");
            let shown = browser.wait_for_result(&location, "Accepted").body;
            assert!(shown.contains("(practice)"), "{shown}");
            let list = browser.get(&format!("/contests/{}/submissions", cup.contest));
            assert!(list.body.contains("(practice)"), "{list:#?}");
            done.push(location);
        }
        assert_eq!(
            bob.get(&done[1]).status,
            404,
            "a submission of another user"
        );
        assert_eq!([admin.get(&ranking).body, eve.get(&ranking).body], before);
        assert!(!admin.get(&participants).body.contains("eve"));
        // The staff cannot make it count, and nothing else becomes practice.
        for (location, kind) in [(&done[1], "normal"), (&sent, "practice")] {
            let answer = admin.post(&format!("{location}/kind"), &[("kind", kind)]);
            assert_eq!(answer.status, 403, "{answer:#?}");
        }
        assert_eq!([admin.get(&ranking).body, eve.get(&ranking).body], before);
        // A form of the round that arrives late is no practice. Guests and the staff have none.
        let path = format!("{page}/submit");
        let late = bob.upload(&path, &[("language", "")], ("a.py", RIGHT));
        assert_eq!(late.status, 403, "{late:#?}");
        assert!(
            late.body.contains("readonly") && late.body.contains("print("),
            "{late:#?}"
        );
        program_practises(&site, &mut eve, &cup);
        assert!(!is_offered(&mut Browser::new(&site)));
        assert!(!is_offered(&mut admin));
        assert_eq!(practise(&mut admin, &cup, RIGHT).0, 403);
        // While one participant has extra time, no user practises.
        let json: serde_json::Value = serde_json::from_str(&before[0]).expect("JSON");
        let number = &json["tables"][0]["rows"][0]["participant"];
        let fields = [
            ("name", ""),
            ("organization", ""),
            ("group_name", ""),
            ("delay", "0"),
            ("extra", "60"),
            ("penalty", "0"),
        ];
        let answer = admin.post(&format!("/participants/{number}"), &fields);
        assert_eq!(answer.status, 303, "{answer:#?}");
        set_round(&mut admin, cup.round, "Round", [PAST, &after(0), ""]);
        assert!(!is_offered(&mut eve));
        assert_eq!(practise(&mut eve, &cup, RIGHT).0, 403);
    });
}

#[test]
fn virtual_participation_has_its_own_clock_and_row() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest_of(&mut admin, &package());
        let cup = Cup {
            contest: contest.id,
            round: contest.round,
            problem: contest.problem,
        };
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let mut eve = contestant(&site, &mut admin, &contest, "eve");
        let sent = cup.submit(&mut bob, RIGHT);
        admin.wait_for_result(&sent, "Accepted");
        let path = format!("/rounds/{}/virtual", cup.round);
        let editorial = format!("/round-problems/{}/editorial", cup.problem);
        for (ends, full_results) in [("", ""), (FUTURE, ""), (LATER, FUTURE)] {
            set_round(&mut admin, cup.round, "Round", [PAST, ends, full_results]);
            assert_eq!(eve.get(&path).status, 403, "{ends} {full_results}");
            assert_eq!(eve.post(&path, &[]).status, 403, "{ends} {full_results}");
        }
        set_round(&mut admin, cup.round, "Round", [PAST, LATER, ""]);
        let overview = eve.get(&format!("/contests/{}", cup.contest)).body;
        assert!(overview.contains(&format!("href=\"{path}\"")), "{overview}");
        assert_eq!(
            Browser::new(&site).get(&path).status,
            404,
            "a private contest"
        );
        assert_eq!(admin.get(&path).status, 403, "the staff");
        let page = eve.get(&path).body;
        assert!(page.contains("Start now for 1 h"), "{page}");
        assert_eq!(eve.get(&editorial).status, 200);
        let ranking = format!("/contests/{}/ranking.json", cup.contest);
        let before = admin.get(&ranking).body;

        // A submission before the start does not count.
        let early = practise(&mut eve, &cup, RIGHT).1.expect("a page");
        eve.wait_for_result(&early, "Accepted");
        assert_eq!(eve.post(&path, &[]).status, 303);
        let row = "data-participant=\"-1\"";
        let page = eve.get(&path).body;
        assert!(page.contains("data-until") && !page.contains(row), "{page}");
        assert_eq!(eve.get(&editorial).status, 404, "while the clock runs");
        assert_eq!(bob.get(&editorial).status, 200, "only for the user");
        let sent = practise(&mut eve, &cup, RIGHT).1.expect("a page");
        eve.wait_for_result(&sent, "Accepted");
        // The initial verdict is shown earlier than the row, which needs the final one.
        let page = eve.wait_for(&path, row).body;
        for part in [row, "virtual</span>", "you would be in place 1"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        // The participant has submitted years after the beginning of the round.
        assert!(!page.contains("title=\"bob\""), "{page}");
        // A second start changes nothing while the clock runs.
        assert_eq!(eve.post(&path, &[]).status, 303);
        assert!(eve.get(&path).body.contains(row));
        // Others see nothing of it.
        assert!(!bob.get(&path).body.contains(row));
        assert_eq!(admin.get(&ranking).body, before);
        // Practice would reveal tests to the contestants of a round that still runs.
        let other = contest_with(&mut admin, contest.package);
        assert_eq!(practise(&mut eve, &cup, RIGHT).0, 403);
        assert!(eve.get(&path).body.contains("closed: another round"));
        let over = Cup {
            contest: other.id,
            round: other.round,
            problem: other.problem,
        };
        set_round(&mut admin, over.round, "Round", [PAST, LATER, ""]);
        assert_eq!(practise(&mut eve, &cup, RIGHT).0, 303);
        // After an early end, the page shows the final ranking, and a new start is possible.
        assert_eq!(eve.post(&format!("{path}/end"), &[]).status, 303);
        let page = eve.get(&path).body;
        assert!(
            page.contains("Start now for 1 h") && page.contains(row),
            "{page}"
        );
        assert_eq!(eve.get(&editorial).status, 200, "after the end");
        // A ranking that is not shown is not shown virtually.
        let fields = [
            ("name", "Round"),
            ("begins", PAST),
            ("ends", LATER),
            ("full_results", ""),
            ("ranking_from", ""),
            ("ranking_hidden", "1"),
        ];
        let answer = admin.post(&format!("/rounds/{}", cup.round), &fields);
        assert_eq!(answer.status, 303, "{answer:#?}");
        assert!(!eve.get(&path).body.contains("<table"), "no ranking");
        // When the round runs again, the page is closed.
        set_round(&mut admin, cup.round, "Round", [PAST, FUTURE, ""]);
        assert_eq!(eve.get(&path).status, 403);
    });
}

#[test]
fn practice_waits_for_all_results_of_other_rounds() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let mut bob = user(&site, "bob");
        set_round(&mut admin, cup.round, "Round", [PAST, LATER, ""]);
        // The first problem of the site.
        let other = contest_with(&mut admin, 1);
        let other = Cup {
            contest: other.id,
            round: other.round,
            problem: other.problem,
        };
        for (full_results, expected) in [(FUTURE, 403), ("", 303)] {
            set_round(
                &mut admin,
                other.round,
                "Round",
                [PAST, LATER, full_results],
            );
            assert_eq!(
                practise(&mut bob, &cup, RIGHT).0,
                expected,
                "{full_results}"
            );
        }
    });
}
