//! What the staff does while a round runs: more time, files that it hands in, and announcements on
//! all pages.

use crate::RIGHT;
use crate::entry::entry_link;
use crate::rounds::{Cup, user};
use crate::support::contest::first_admin;
use crate::support::{Answer, Browser, with_each};
use serde_json::Value;
use std::time::Duration;

const END: &str = "2999-01-01T00:00";
const WRONG: &[u8] = b"print(3)\n";

/// The value of a field on a page.
fn value(page: &str, name: &str) -> String {
    let document = scraper::Html::parse_document(page);
    let selector = scraper::Selector::parse(&format!("[name={name}]")).expect("a selector");
    let field = document.select(&selector).next();
    let value = field.and_then(|field| field.value().attr("value"));
    value.unwrap_or_else(|| panic!("{name}: {page}")).to_owned()
}

/// The path of a participant with a name.
fn participant(admin: &mut Browser, contest: i64, name: &str) -> String {
    let list = admin.get(&format!("/contests/{contest}/participants")).body;
    let row = list
        .split("<tr")
        .find(|row| row.contains(&format!(">{name}<")));
    let path = row.and_then(|row| row.split('"').find(|it| it.starts_with("/participants/")));
    path.unwrap_or_else(|| panic!("{list}")).to_owned()
}

#[test]
fn added_minutes_move_end_and_freeze_once_and_are_announced() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        assert_eq!(cup.rules(&mut admin, "", "2998-12-31T23:00"), 303);
        let link = entry_link(&mut admin, cup.contest);
        let mut bob = user(&site, "bob");
        assert_eq!(bob.post(&link, &[]).status, 303);
        let round = format!("/rounds/{}", cup.round);
        let extend = format!("{round}/extend");
        let shown = value(&admin.get(&round).body, "ends");
        let fields = |minutes| {
            [
                ("more_minutes", minutes),
                ("reason", "The power failed."),
                ("ends", shown.as_str()),
            ]
        };
        assert_eq!(bob.post(&extend, &fields("30")).status, 404);
        for wrong in ["0", "-5", "100000"] {
            assert_eq!(admin.post(&extend, &fields(wrong)).status, 422, "{wrong}");
        }
        assert_eq!(admin.post(&extend, &fields("30")).status, 303);
        // A second click.
        assert_eq!(admin.post(&extend, &fields("30")).status, 403);

        let page = admin.get(&round).body;
        for moved in ["2999-01-01T00:30:00", "2998-12-31T23:30:00"] {
            assert!(page.contains(moved), "{moved}: {page}");
        }
        let notice = bob.get(&format!("/contests/{}/ranking", cup.contest)).body;
        for part in ["Round lasts 30 minutes longer", "The power failed."] {
            assert!(notice.contains(part), "{part}: {notice}");
        }
        let log = admin.get("/audit").body;
        assert_eq!(log.matches("+30 min The power failed.").count(), 1, "{log}");

        // A round that has not begun is changed in its own form.
        let later = [
            ("name", "Round"),
            ("begins", "2998-01-01T00:00"),
            ("ends", END),
            ("full_results", ""),
            ("ranking_from", ""),
        ];
        assert_eq!(admin.post(&round, &later).status, 303);
        assert!(!admin.get(&round).body.contains("more_minutes"));
        assert_eq!(admin.post(&extend, &fields("30")).status, 403);
    });
}

/// Hands in a source for a participant.
fn hand_in(
    browser: &mut Browser,
    participant: &str,
    (problem, at, reason): (i64, &str, &str),
    source: &[u8],
) -> Answer {
    let problem = problem.to_string();
    let fields = [
        ("problem", problem.as_str()),
        ("language", ""),
        ("submitted_at", at),
        ("reason", reason),
    ];
    let path = format!("{participant}/hand-in");
    browser.upload(&path, &fields, ("a.py", source))
}

#[test]
fn file_of_the_staff_counts_at_its_given_time() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        assert_eq!(cup.rules(&mut admin, "", ""), 303);
        let (mut bob, mut eve) = (user(&site, "bob"), user(&site, "eve"));
        let right = cup.submit(&mut bob, RIGHT);
        bob.wait_for(&right, "100 / 100");
        let wrong = |json: &Value| {
            let rows = json["tables"][0]["rows"].as_array().expect("rows").clone();
            let row = rows.into_iter().find(|row| row["name"] == "bob");
            row.expect("a row")["cells"][0]["wrong"].clone()
        };
        let ranking = format!("/contests/{}/ranking.json", cup.contest);
        let json = |browser: &mut Browser| -> Value {
            serde_json::from_str(&browser.get(&ranking).body).expect("JSON")
        };
        assert_eq!(wrong(&json(&mut eve)), 0);

        let of_bob = participant(&mut admin, cup.contest, "bob");
        let (at, reason) = ("2002-01-01T00:00", "His browser had crashed.");
        for other in [&mut bob, &mut eve, &mut Browser::new(&site)] {
            let answer = hand_in(other, &of_bob, (cup.problem, at, reason), WRONG);
            assert_eq!(answer.status, 404, "{answer:#?}");
        }
        let mistakes = [
            ("2000-01-01T00:00", reason),
            ("2998-01-01T00:00", reason),
            (at, " "),
        ];
        for (at, reason) in mistakes {
            let answer = hand_in(&mut admin, &of_bob, (cup.problem, at, reason), WRONG);
            assert_eq!(answer.status, 422, "{at} {reason}: {answer:#?}");
        }
        let answer = hand_in(&mut admin, &of_bob, (cup.problem, at, reason), WRONG);
        assert_eq!(answer.status, 303, "{answer:#?}");
        let late = answer.location.expect("a submission");

        // The page has the reason, but only the staff sees the login.
        let page = bob.wait_for_result(&late, "Wrong answer").body;
        assert!(
            page.contains("by the staff") && page.contains(reason),
            "{page}"
        );
        assert!(page.contains("2002") && !page.contains("ada"), "{page}");
        let page = admin.get(&late).body;
        assert!(page.contains("ada") && page.contains(reason), "{page}");
        assert!(!bob.get(&right).body.contains("Handed in"));
        assert_eq!(eve.get(&late).status, 404);
        assert!(admin.get("/audit").body.contains(reason));

        // The wrong attempt precedes the accepted one, although it has a later number.
        assert_eq!(wrong(&json(&mut eve)), 1);
    });
}

#[test]
fn answers_and_announcements_appear_on_all_pages() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let link = entry_link(&mut admin, cup.contest);
        let (mut bob, mut eve) = (user(&site, "bob"), user(&site, "eve"));
        assert_eq!(bob.post(&link, &[]).status, 303);
        let submission = cup.submit(&mut bob, RIGHT);
        bob.wait_for_result(&submission, "Accepted");
        let pages = [
            submission.as_str(),
            "/submissions",
            "/contests",
            "/problems",
            "/account",
            "/news",
        ];
        let text = "Problem A has a <new> example.";
        let announce = format!("/contests/{}/announcements", cup.contest);
        std::thread::scope(|scope| {
            let follow = |path: String| {
                let bob = &bob;
                scope.spawn(move || bob.raw(&path, Duration::from_secs(2)))
            };
            let streams = [
                follow("/news/live".to_owned()),
                follow(format!("{submission}/live")),
            ];
            std::thread::sleep(Duration::from_millis(700));
            assert_eq!(admin.post(&announce, &[("text", text)]).status, 303);
            for stream in streams {
                let events = stream.join().expect("a stream");
                assert!(events.contains("event: notice"), "{events}");
                assert!(!events.contains("example"), "{events}");
            }
        });
        let shown = "Problem A has a &lt;new&gt; example.";
        for path in pages {
            let page = bob.get(path).body;
            assert!(page.contains(shown), "{path}: {page}");
            assert!(
                !Browser::new(&site).get(path).body.contains(shown),
                "{path}"
            );
        }
        // Only contestants have news, and only until they have read them.
        assert!(!eve.get("/contests").body.contains(shown));
        let until = value(&bob.get("/submissions").body, "until");
        let read = format!("/contests/{}/clarifications/read", cup.contest);
        let answer = bob.post_on("/submissions", &read, &[("until", &until)]);
        let place = (answer.status, answer.location.as_deref());
        assert_eq!(place, (303, Some("/submissions")), "{answer:#?}");
        for path in pages {
            let page = bob.get(path).body;
            assert!(!page.contains(shown), "{path}: {page}");
        }
    });
}
