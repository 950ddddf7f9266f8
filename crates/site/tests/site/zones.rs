//! Time zones: times are shown, and read, in the zone of the user, the contest or the site.

use crate::api::{Program, token};
use crate::rounds::{Cup, user};
use crate::support::contest::{contestant, first_admin, make_contest, submit};
use crate::support::{Browser, Site, with_each};
use scraper::{Html, Selector};

/// The value of an input, by its name.
fn input(page: &str, name: &str) -> String {
    let selector = format!("form[method=post] input[name={name}]");
    let selector = Selector::parse(&selector).expect("a selector");
    let page_tree = Html::parse_document(page);
    let found = page_tree.select(&selector).next();
    let value = found.and_then(|it| it.value().attr("value"));
    value
        .unwrap_or_else(|| panic!("no {name}: {page}"))
        .to_owned()
}

/// The text of the label around an input for a time.
fn label(page: &str, name: &str) -> String {
    let page = Html::parse_document(page);
    let labels = Selector::parse("label").expect("a selector");
    let input = Selector::parse(&format!("input[name={name}]")).expect("a selector");
    let mut labels = page.select(&labels);
    let found = labels.find(|it| it.select(&input).next().is_some());
    found.expect("a label").text().collect()
}

/// The time zone of the clock, and of the footer.
fn named(page: &str) -> (String, String) {
    let page = Html::parse_document(page);
    let text = |selector: &str| {
        let selector = Selector::parse(selector).expect("a selector");
        let found = page.select(&selector).next().expect("an element");
        found.text().collect::<String>()
    };
    (text("#clock-zone"), text("footer p span"))
}

/// The fields of a round, as a browser sends those of its form.
fn fields<'f>(zone: &'f str, begins: &'f str, ends: &'f str) -> [(&'f str, &'f str); 6] {
    [
        ("name", "Round"),
        ("begins", begins),
        ("ends", ends),
        ("full_results", ""),
        ("ranking_from", ""),
        ("zone", zone),
    ]
}

/// When the only round of a contest begins, as programs see it.
fn begins(program: &Program<'_>, contest: i64) -> String {
    let (status, found) = program.get(&format!("/contests/{contest}"));
    assert_eq!(status, 200, "{found}");
    let begins = found["rounds"][0]["begins"].as_str();
    begins.unwrap_or_else(|| panic!("{found}")).to_owned()
}

/// Chooses the zone of a contest, as its settings do.
fn set_contest_zone(owner: &mut Browser, contest: i64, zone: &str) -> u16 {
    let fields = [
        ("name", "Cup"),
        ("visibility", "private"),
        ("time_zone", zone),
    ];
    owner
        .post(&format!("/contests/{contest}/edit"), &fields)
        .status
}

/// Chooses the zone of a user, as the account does.
fn set_user_zone(user: &mut Browser, zone: &str) -> u16 {
    let fields = [("name", "A name"), ("email", ""), ("time_zone", zone)];
    user.post("/account", &fields).status
}

#[test]
fn typed_times_are_those_of_the_zone_beside_the_field_across_daylight_saving() {
    with_each(|site| {
        let mut ada = first_admin(&site);
        let contest = make_contest(&mut ada);
        assert_eq!(set_contest_zone(&mut ada, contest.id, "Europe/Berlin"), 303);
        let program = Program {
            site: &site,
            token: token(&mut ada, "read"),
        };
        let path = format!("/rounds/{}", contest.round);
        let page = ada.get(&path).body;
        let zone = input(&page, "zone");
        assert_eq!(zone, "Europe/Berlin");
        for name in [
            "begins",
            "ends",
            "full_results",
            "ranking_from",
            "freeze_at",
            "thaw_at",
        ] {
            let label = label(&page, name);
            assert!(label.contains("(Europe/Berlin)"), "{name}: {label}");
        }
        let last = "2026-12-01T09:00";
        // Typed, in UTC, shown.
        let table = [
            (
                "2026-03-28T09:00",
                "2026-03-28T08:00:00Z",
                "28 March 2026, 09:00 CET",
            ),
            (
                "2026-03-29T09:00",
                "2026-03-29T07:00:00Z",
                "29 March 2026, 09:00 CEST",
            ),
            (
                "2026-10-24T09:00",
                "2026-10-24T07:00:00Z",
                "24 October 2026, 09:00 CEST",
            ),
            (
                "2026-10-25T02:30",
                "2026-10-25T00:30:00Z",
                "25 October 2026, 02:30 CEST",
            ),
            (
                "2026-10-25T09:00",
                "2026-10-25T08:00:00Z",
                "25 October 2026, 09:00 CET",
            ),
        ];
        for (typed, utc, shown) in table {
            let sent = ada.post(&path, &fields(&zone, typed, last));
            assert_eq!(sent.status, 303, "{sent:#?}");
            assert_eq!(begins(&program, contest.id), utc, "{typed}");
            assert_eq!(input(&ada.get(&path).body, "begins"), format!("{typed}:00"));
            let page = ada.get(&format!("/contests/{}", contest.id)).body;
            assert!(page.contains(shown), "{shown}: {page}");
            assert!(page.contains("1 December 2026, 09:00 CET"), "{page}");
        }

        // The second 2:30 is typed in UTC, and is kept by a form in Berlin.
        let second = "2026-10-25T01:30:00Z";
        let sent = ada.post(&path, &fields("", "2026-10-25T01:30", ""));
        assert_eq!(sent.status, 303, "{sent:#?}");
        let page = ada.get(&path).body;
        assert_eq!(input(&page, "begins"), "2026-10-25T02:30:00");
        for typed in ["2026-10-25T02:30:00", "2026-10-25T02:30"] {
            assert_eq!(ada.post(&path, &fields(&zone, typed, last)).status, 303);
            assert_eq!(begins(&program, contest.id), second);
        }
        let page = ada.get(&format!("/contests/{}", contest.id)).body;
        assert!(page.contains("25 October 2026, 02:30 CET"), "{page}");

        // The clocks skip 2:30 in spring.
        let sent = ada.post(&path, &fields(&zone, "2026-03-29T02:30", ""));
        assert_eq!(sent.status, 422, "{sent:#?}");
        assert!(
            sent.body.contains("2026-03-29 02:30") && sent.body.contains("Europe/Berlin"),
            "{sent:#?}"
        );
        let rules = [
            ("mode", "points"),
            ("penalty_minutes", "20"),
            ("window_minutes", ""),
            ("freeze_at", "2026-03-29T02:30"),
            ("thaw_at", ""),
            ("zone", zone.as_str()),
        ];
        let sent = ada.post(&path, &rules);
        assert_eq!(sent.status, 422, "{sent:#?}");
        assert_eq!(begins(&program, contest.id), second);

        // A setting that changes while a form is open does not move its times.
        let zone = input(&ada.get(&path).body, "zone");
        assert_eq!(set_user_zone(&mut ada, "Asia/Tokyo"), 303);
        let sent = ada.post(&path, &fields(&zone, "2026-05-01T10:00", ""));
        assert_eq!(sent.status, 303, "{sent:#?}");
        let utc = "2026-05-01T08:00:00Z";
        assert_eq!(begins(&program, contest.id), utc);
        assert_eq!(input(&ada.get(&path).body, "begins"), "2026-05-01T17:00:00");
    });
}

#[test]
fn zone_of_the_user_comes_before_that_of_the_contest_and_the_site() {
    let site = Site::start_with(None, &["--time-zone", "america/new_york"]);
    let mut ada = first_admin(&site);
    let contest = make_contest(&mut ada);
    let mut bob = contestant(&site, &mut ada, &contest, "bob");
    let sent = ada.post(
        &format!("/rounds/{}", contest.round),
        &fields("UTC", "2021-01-15T12:00", ""),
    );
    assert_eq!(sent.status, 303, "{sent:#?}");
    let submission = format!(
        "/submissions/{}",
        submit(&mut bob, &contest, crate::RIGHT).id()
    );
    let round = format!("/contests/{}", contest.id);
    let (new_york, warsaw, tokyo) = ("America/New_York", "Europe/Warsaw", "Asia/Tokyo");
    // The zones of the contest and of the user. Then the zone of the contest's pages, with the time
    // at which the round begins, and the zone of the other pages.
    let table = [
        ("", "", (new_york, "15 January 2021, 07:00 EST"), new_york),
        (warsaw, "", (warsaw, "15 January 2021, 13:00 CET"), new_york),
        (warsaw, tokyo, (tokyo, "15 January 2021, 21:00 JST"), tokyo),
        ("", tokyo, (tokyo, "15 January 2021, 21:00 JST"), tokyo),
        (warsaw, "UTC", ("UTC", "15 January 2021, 12:00 UTC"), "UTC"),
        ("", "", (new_york, "15 January 2021, 07:00 EST"), new_york),
    ];
    for (of_contest, of_user, (in_contest, begins), outside) in table {
        assert_eq!(set_contest_zone(&mut ada, contest.id, of_contest), 303);
        assert_eq!(set_user_zone(&mut bob, of_user), 303);
        let page = bob.get(&round).body;
        assert!(page.contains(begins), "{begins}: {page}");
        assert_eq!(named(&page).1, in_contest);
        for path in [&submission, &format!("{round}/submissions")] {
            let page = bob.get(path).body;
            assert_eq!(named(&page).1, in_contest, "{path}: {page}");
            let (label, _) = named(&page);
            assert!(page.contains(&format!(" {label}</time>")), "{path}: {page}");
        }
        // The list of all submissions is no page of the contest.
        for path in ["/submissions", "/account", "/contests"] {
            let page = bob.get(path).body;
            assert_eq!(named(&page).1, outside, "{path}: {page}");
        }
        let page = bob.get("/account").body;
        let option = match of_user {
            "" => "<option value=\"\">".to_owned(),
            name => format!("<option selected>{name}</option>"),
        };
        assert!(page.contains(&option), "{option}: {page}");
    }
    // A form that does not name the zone does not change it.
    assert_eq!(set_user_zone(&mut bob, tokyo), 303);
    assert_eq!(bob.post("/account", &[("name", "Bob")]).status, 303);
    assert_eq!(named(&bob.get("/account").body).1, tokyo);
    assert_eq!(set_contest_zone(&mut ada, contest.id, warsaw), 303);
    let kept = [("name", "Cup"), ("visibility", "private")];
    assert_eq!(ada.post(&format!("{round}/edit"), &kept).status, 303);
    // A copy has the zone of the contest.
    let copy = ada.post(&format!("{round}/copy"), &[]);
    assert_eq!(copy.status, 303, "{copy:#?}");
    let page = ada.get(&format!("/contests/{}", copy.id())).body;
    assert_eq!(named(&page).1, warsaw);
    // Guests have no zone of their own.
    let page = Browser::new(&site).get("/sign-in").body;
    assert_eq!(named(&page).1, new_york);
}

#[test]
fn wrong_names_of_zones_are_refused() {
    with_each(|site| {
        let mut ada = first_admin(&site);
        let contest = make_contest(&mut ada);
        let long = "Europe/".repeat(100);
        for name in [
            "Europe/Berln",
            "Berlin",
            "+02:00",
            "localtime",
            "../UTC",
            long.as_str(),
        ] {
            assert_eq!(set_user_zone(&mut ada, name), 422, "{name}");
            assert_eq!(set_contest_zone(&mut ada, contest.id, name), 422, "{name}");
            let sent = [
                ("name", "Cup"),
                ("visibility", "private"),
                ("time_zone", name),
            ];
            assert_eq!(ada.post("/contests/new", &sent).status, 422, "{name}");
            let sent = fields(name, "2026-05-01T10:00", "");
            let round = format!("/rounds/{}", contest.round);
            assert_eq!(ada.post(&round, &sent).status, 422, "{name}");
        }
        assert_eq!(
            named(&ada.get("/account").body),
            ("UTC".into(), "UTC".into())
        );
    });
}

#[test]
fn site_with_a_wrong_time_zone_does_not_start() {
    let site = Site::start(None);
    let ran = site.run(&["--time-zone=Europe/Berln"], &[]);
    assert_eq!(ran.code, Some(125), "{ran:#?}");
    assert!(
        ran.error
            .contains("'Europe/Berln' for '--time-zone <NAME>'")
            && ran.error.contains("no time zone has this name"),
        "{ran:#?}"
    );
}

#[test]
fn frozen_ranking_names_the_freeze_in_the_zone_of_each_viewer() {
    let site = Site::start_with(None, &["--time-zone", "Europe/Berlin"]);
    let mut ada = first_admin(&site);
    let cup = Cup::new(&mut ada);
    assert_eq!(cup.rules(&mut ada, "", "2002-07-01T10:00"), 303);
    let mut bob = user(&site, "bob");
    assert_eq!(set_user_zone(&mut bob, "Asia/Tokyo"), 303);
    let ranking = format!("/contests/{}/ranking", cup.contest);
    for path in [ranking.clone(), format!("{ranking}?part=tables")] {
        for _ in 0..2 {
            let german = Browser::new(&site).get(&path).body;
            assert!(german.contains("1 July 2002, 12:00 CEST"), "{german}");
            let japanese = bob.get(&path).body;
            assert!(japanese.contains("1 July 2002, 19:00 JST"), "{japanese}");
        }
    }
    let json = bob.get(&format!("{ranking}.json")).body;
    assert!(json.contains("2002-07-01T10:00:00Z"), "{json}");
    let charts = bob
        .get(&format!("/contests/{}/statistics", cup.contest))
        .body;
    assert!(charts.contains("1 July 2002, 19:00 JST"), "{charts}");
}
