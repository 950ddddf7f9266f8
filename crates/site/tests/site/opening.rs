//! The start of a round, as contestants and guests see it.

use crate::rounds::{Cup, user};
use crate::support::contest::first_admin;
use crate::support::{Browser, with_each};
use std::time::{Duration, SystemTime};

const PAST: &str = "2001-01-01T00:00";
const FUTURE: &str = "2999-01-01T00:00";

/// The value of a field for a time after now.
pub fn after(seconds: u64) -> String {
    let time = SystemTime::now() + Duration::from_secs(seconds);
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.trim_end_matches('Z').to_owned()
}

fn times<'a>(name: &'a str, begins: &'a str, ends: &'a str) -> [(&'a str, &'a str); 5] {
    [
        ("name", name),
        ("begins", begins),
        ("ends", ends),
        ("full_results", ""),
        ("ranking_from", ""),
    ]
}

#[test]
fn next_round_is_announced_and_opens_by_itself() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let contest = format!("/contests/{}", cup.contest);
        let later = times("Second", "2998-01-01T00:00", FUTURE);
        let added = admin.post(&format!("{contest}/rounds"), &later);
        assert_eq!(added.status, 303, "{added:#?}");
        let round = format!("/rounds/{}", cup.round);
        let far = after(3600);
        assert_eq!(
            admin.post(&round, &times("First", &far, FUTURE)).status,
            303
        );
        let (mut bob, mut guest) = (user(&site, "bob"), Browser::new(&site));
        for browser in [&mut bob, &mut guest] {
            let page = browser.get(&contest).body;
            assert!(
                page.contains("First") && page.contains("Begins in"),
                "{page}"
            );
            for secret in ["Second", "Sum", "/round-problems/"] {
                assert!(!page.contains(secret), "{secret}: {page}");
            }
        }
        let live = format!("{contest}/overview/live");
        let (sender, receiver) = std::sync::mpsc::channel();
        let watcher = Browser::new(&site);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let events = watcher.raw(&live, Duration::from_secs(12));
                let _ = sender.send(events);
            });
            std::thread::sleep(Duration::from_secs(1));
            // The staff moves the start, and then the round begins.
            let soon = after(5);
            assert_eq!(
                admin.post(&round, &times("First", &soon, FUTURE)).status,
                303
            );
            let events = receiver.recv().expect("events");
            assert!(events.matches("event: change").count() >= 2, "{events}");
            assert!(!events.contains("First"), "{events}");
        });
        let page = guest.get(&contest).body;
        assert!(page.contains("/round-problems/"), "{page}");
        assert!(page.contains("Second"), "the next round: {page}");

        // The round has begun for all others, but not for a participant with a delay.
        let fields = [("login", "bob"), ("role", "contestant")];
        assert_eq!(
            admin.post(&format!("{contest}/members"), &fields).status,
            303
        );
        let list = admin.get(&format!("{contest}/participants")).body;
        let id = list
            .split("/participants/")
            .find_map(|rest| rest.split('"').next()?.parse::<i64>().ok());
        let fields = [
            ("name", ""),
            ("organization", ""),
            ("group_name", ""),
            ("delay", "60"),
            ("extra", "0"),
            ("penalty", "0"),
        ];
        let path = format!("/participants/{}", id.expect("a participant"));
        assert_eq!(admin.post(&path, &fields).status, 303);
        let page = bob.get(&contest).body;
        assert!(
            page.contains("First") && page.contains("Begins in"),
            "{page}"
        );
        assert!(!page.contains("/round-problems/"), "{page}");
    });
}

#[test]
fn personal_time_states_the_last_start_and_what_a_late_start_leaves() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        assert_eq!(cup.rules(&mut admin, "60", ""), 303);
        let contest = format!("/contests/{}", cup.contest);
        let (mut bob, mut guest) = (user(&site, "bob"), Browser::new(&site));
        let page = bob.get(&contest).body;
        assert!(page.contains("You can start until"), "{page}");
        assert!(page.contains("To have the full 1 h, start by"), "{page}");
        let page = guest.get(&contest).body;
        assert!(page.contains("Problems are shown in"), "{page}");
        let round = format!("/rounds/{}", cup.round);
        let soon = after(30 * 60);
        assert_eq!(admin.post(&round, &times("Round", PAST, &soon)).status, 303);
        let page = bob.get(&contest).body;
        assert!(page.contains("A start now leaves 29 min of 1 h"), "{page}");
        assert!(page.contains("Start the clock (29 min)"), "{page}");
        // The staff sees the state of the round itself, also on the page of a problem.
        let problem = format!("/round-problems/{}", cup.problem);
        for path in [&contest, &problem] {
            let page = admin.get(path).body;
            assert!(page.contains("Ends in"), "{page}");
        }
        for browser in [&mut bob, &mut guest, &mut admin] {
            assert!(!browser.get(&contest).body.contains("Begins in"));
        }
    });
}
