//! Certificates to print after a contest.

use crate::RIGHT;
use crate::support::contest::{contestant, first_admin, make_contest, set_round, submit};
use crate::support::{Browser, Site, result_of};

const PAST: &str = "2001-01-01T00:00";
const OVER: &str = "2001-01-01T01:00";
const FUTURE: &str = "2999-01-01T00:00";

/// The number of certificates on a page.
fn count(page: &str) -> usize {
    page.matches("class=\"certificate\"").count()
}

#[test]
fn certificates_are_printed_after_the_full_results() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let mut eve = contestant(&site, &mut admin, &contest, "eve");
    let mut max = contestant(&site, &mut admin, &contest, "max");
    let wrong: &[u8] = b"print(3)\n";
    for (browser, source, verdict) in [
        (&mut bob, RIGHT, "Accepted"),
        (&mut eve, wrong, "Wrong answer"),
    ] {
        let page = submit(browser, &contest, source).location;
        let is_final = |body: &str| {
            let shown = result_of(body);
            shown.contains(verdict) && !shown.contains("Initial")
        };
        admin.wait_until(&page.expect("a page"), is_final);
    }
    let (root, guest) = (format!("/contests/{}", contest.id), Browser::new(&site));
    let path = format!("{root}/certificates");
    let ranking = format!("{root}/ranking");
    for (ends, full) in [("", ""), (OVER, FUTURE), (FUTURE, FUTURE)] {
        set_round(&mut admin, contest.round, "Final-Round", [PAST, ends, full]);
        assert_eq!(bob.get(&path).status, 404, "{ends} {full}");
        let page = admin.get(&path);
        assert_eq!((page.status, count(&page.body)), (200, 0), "{page:#?}");
        let shown = admin.get(&ranking).body;
        assert!(!shown.contains("/certificates"), "{shown}");
    }
    set_round(&mut admin, contest.round, "Final-Round", [PAST, OVER, OVER]);
    let own = bob.get(&path).body;
    assert_eq!(count(&own), 1, "{own}");
    for part in ["bob", "Cup", "Final-Round", "Place 1 of 2"] {
        assert!(own.contains(part), "{part}: {own}");
    }
    assert!(!own.contains("eve"), "{own}");
    assert!(bob.get(&ranking).body.contains("Your certificate"));
    assert!(eve.get(&path).body.contains("Place 2 of 2"));
    // A member without submissions is in no table.
    assert_eq!(count(&max.get(&path).body), 0);
    assert_eq!({ guest }.get(&path).status, 404);

    let all = admin.get(&path).body;
    assert_eq!(count(&all), 2, "{all}");
    assert!(admin.get(&ranking).body.contains(&path));
    let best = admin.get(&format!("{path}?last_place=1")).body;
    assert!(count(&best) == 1 && best.contains("Place 1 of 2"), "{best}");
    // The choice of the staff does not widen that of a contestant.
    assert_eq!(count(&eve.get(&format!("{path}?last_place=9")).body), 1);
    assert_eq!(admin.get(&format!("{path}?round=999")).status, 404);
    assert_eq!(admin.get(&format!("{path}?group=nothing")).status, 404);

    for wrong in ["x", "0", "-1"] {
        assert_eq!(admin.get(&format!("{path}?last_place={wrong}")).status, 422);
    }
    // Contestants have no certificate of a ranking that they do not see.
    let hidden = [
        ("name", "Final-Round"),
        ("begins", PAST),
        ("ends", OVER),
        ("full_results", OVER),
        ("ranking_from", ""),
        ("ranking_hidden", "1"),
    ];
    let round = format!("/rounds/{}", contest.round);
    assert_eq!(admin.post(&round, &hidden).status, 303);
    assert_eq!(bob.get(&path).status, 404);
    assert_eq!(count(&admin.get(&path).body), 2);
    set_round(&mut admin, contest.round, "Final-Round", [PAST, OVER, OVER]);
    assert_eq!(count(&bob.get(&path).body), 1);

    // Out of competition: without a place. Disqualified: none.
    let list = admin.get(&format!("{root}/participants")).body;
    let of_eve = list.split("<tr").find(|row| row.contains(">eve<"));
    let eves = of_eve.and_then(|row| row.split('"').find(|it| it.starts_with("/participants/")));
    let eves = eves.unwrap_or_else(|| panic!("{list}"));
    let fields = [
        ("name", ""),
        ("organization", ""),
        ("group_name", "Juniors"),
        ("delay", "0"),
        ("extra", "0"),
        ("penalty", "0"),
    ];
    assert_eq!(admin.post(eves, &fields).status, 303);
    let of_group = admin.get(&format!("{path}?group=Juniors")).body;
    assert!(
        of_group.contains("Place 1 of 1 in the group Juniors"),
        "{of_group}"
    );
    let fields = [("reason", "shared")];
    let done = admin.post(&format!("{eves}/disqualify"), &fields);
    assert_eq!(done.status, 303, "{done:#?}");
    assert_eq!(count(&eve.get(&path).body), 0);
    assert!(!eve.get(&ranking).body.contains("Your certificate"));
    let all = admin.get(&path).body;
    assert!(count(&all) == 1 && all.contains("Place 1 of 1"), "{all}");
}
