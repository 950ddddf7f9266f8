//! ICPC mode, freeze and thaw, teams, personal times, and rankings that follow changes.

use crate::RIGHT;
use crate::api::{Program, token};
use crate::support::contest::{first_admin, set_round};
use crate::support::{Browser, Site, archive, files_of_sum, with_each};
use serde_json::Value;
use std::time::Duration;

const PAST: &str = "2001-01-01T00:00";
const FUTURE: &str = "2999-01-01T00:00";
const WRONG: &[u8] = b"print(3)\n";
/// The points of a complete result.
const DONE: &str = "100 / 100";

/// A public contest with one round in ICPC mode and one problem.
pub struct Cup {
    pub contest: i64,
    pub round: i64,
    pub problem: i64,
}

impl Cup {
    pub fn new(admin: &mut Browser) -> Cup {
        let fields = [("visibility", "private")];
        let added = admin.upload(
            "/problems/new",
            &fields,
            ("sum.zip", &archive(&files_of_sum())),
        );
        let package = added.id().to_string();
        let fields = [("name", "Cup"), ("visibility", "public")];
        let contest = admin.post("/contests/new", &fields).id();
        let fields = [
            ("name", "Round"),
            ("begins", PAST),
            ("ends", FUTURE),
            ("full_results", FUTURE),
            ("ranking_from", ""),
        ];
        let path = format!("/contests/{contest}/rounds");
        let round = admin.post(&path, &fields).id();
        let fields = [
            ("problem", package.as_str()),
            ("label", "A"),
            ("final_method", "best"),
            ("reveal", "nothing"),
        ];
        let attached = admin.post(&format!("/rounds/{round}/problems"), &fields);
        assert_eq!(attached.status, 303, "{attached:#?}");
        let page = admin.get(&format!("/rounds/{round}"));
        let link = page.body.split("/round-problems/").nth(1);
        let problem = link.and_then(|rest| rest.split('"').next()?.parse().ok());
        Cup {
            contest,
            round,
            problem: problem.unwrap_or_else(|| panic!("{page:#?}")),
        }
    }

    pub fn rules(&self, staff: &mut Browser, window: &str, freeze: &str) -> u16 {
        let fields = [
            ("mode", "icpc"),
            ("penalty_minutes", "20"),
            ("window_minutes", window),
            ("freeze_at", freeze),
            ("thaw_at", ""),
        ];
        let path = format!("/rounds/{}", self.round);
        staff.post(&path, &fields).status
    }

    fn try_to_submit(&self, browser: &mut Browser, source: &[u8]) -> (u16, Option<String>) {
        let path = format!("/round-problems/{}/submit", self.problem);
        let answer = browser.upload(&path, &[("language", "")], ("a.py", source));
        (answer.status, answer.location)
    }

    /// Submits and returns the path of the submission.
    pub fn submit(&self, browser: &mut Browser, source: &[u8]) -> String {
        let (status, location) = self.try_to_submit(browser, source);
        assert_eq!(status, 303);
        location.expect("a path")
    }

    fn json(&self, browser: &mut Browser, query: &str) -> Value {
        let path = format!("/contests/{}/ranking.json{query}", self.contest);
        let answer = browser.get(&path);
        serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{answer:#?}"))
    }

    fn etag(&self, browser: &mut Browser) -> String {
        let path = format!("/contests/{}/ranking?part=tables", self.contest);
        browser.get(&path).headers["etag"]
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// The number of a participant, by the name in the ranking.
    fn participant(&self, admin: &mut Browser, name: &str) -> i64 {
        let json = self.json(admin, "");
        let rows = json["tables"][0]["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["name"] == name);
        let row = row.unwrap_or_else(|| panic!("{json}"));
        row["participant"].as_i64().expect("a number")
    }
}

pub fn user(site: &Site, login: &str) -> Browser {
    let mut browser = Browser::new(site);
    browser.sign_up("/sign-up", login);
    browser
}

/// The cell of a row in the first table.
fn cell<'a>(json: &'a Value, name: &str) -> &'a Value {
    let rows = json["tables"][0]["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == name);
    &row.unwrap_or_else(|| panic!("{json}"))["cells"][0]
}

#[test]
fn frozen_ranking_hides_results_until_an_owner_thaws_it() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        assert_eq!(cup.rules(&mut admin, "", ""), 303);
        let (mut bob, mut eve) = (user(&site, "bob"), user(&site, "eve"));
        let wrong = cup.submit(&mut bob, WRONG);
        // In ICPC mode, contestants see their verdicts before the full results.
        bob.wait_for_result(&wrong, "Wrong answer");
        let json = cup.json(&mut eve, "");
        assert_eq!(cell(&json, "bob")["wrong"], 1, "{json}");

        assert_eq!(cup.rules(&mut admin, "", "2020-01-01T00:00"), 303);
        let right = cup.submit(&mut bob, RIGHT);
        bob.wait_for(&right, DONE);
        let etag = cup.etag(&mut eve);
        admin.wait_for(&right, "hidden-test");
        let json = cup.json(&mut eve, "");
        // The freeze began before both submissions.
        let hidden = cell(&json, "bob");
        assert_eq!(
            (&hidden["wrong"], &hidden["pending"]),
            (&0.into(), &2.into())
        );
        assert!(hidden["minute"].is_null());
        assert_eq!(cup.etag(&mut eve), etag, "the result changes nothing");
        assert_eq!(eve.get(&right).status, 404);
        let jury = cup.json(&mut admin, "");
        let shown = cell(&jury, "bob");
        assert_eq!(
            (&shown["wrong"], &shown["is_first"]),
            (&1.into(), &true.into())
        );
        assert_eq!(cup.json(&mut admin, "?view=public"), json);

        // A moderator is staff, but only owners thaw.
        let mut mia = user(&site, "mia");
        let fields = [("login", "mia"), ("role", "moderator")];
        admin.post(&format!("/contests/{}/members", cup.contest), &fields);
        assert_eq!(cell(&cup.json(&mut mia, ""), "bob")["wrong"], 1);
        let thaw = format!("/rounds/{}/thaw", cup.round);
        assert_eq!(mia.post(&thaw, &[]).status, 403);
        assert_eq!(cup.rules(&mut mia, "", ""), 403);
        assert_eq!(eve.post(&thaw, &[]).status, 404);
        assert_eq!(admin.post(&thaw, &[]).status, 303);
        let json = cup.json(&mut eve, "");
        assert_eq!(cell(&json, "bob")["wrong"], 1);
        assert!(cell(&json, "bob")["minute"].is_i64());
        assert_ne!(cup.etag(&mut eve), etag);
    });
}

#[test]
fn hidden_tests_of_an_icpc_round_are_secret_until_its_end() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let round = format!("/rounds/{}", cup.round);
        let times = |ends, full_results| {
            [
                ("name", "Round"),
                ("begins", PAST),
                ("ends", ends),
                ("full_results", full_results),
                ("ranking_from", ""),
            ]
        };
        assert_eq!(admin.post(&round, &times(FUTURE, "")).status, 303);
        assert_eq!(cup.rules(&mut admin, "", ""), 303);
        let mut bob = user(&site, "bob");
        let wrong = cup.submit(&mut bob, WRONG);
        let broken = cup.submit(&mut bob, b"print(");
        let token = token(&mut bob, "read");
        let program = Program { site: &site, token };
        bob.wait_for_result(&wrong, "Wrong answer");
        bob.wait_for_result(&broken, "Compile error");
        admin.wait_for(&wrong, "hidden-test");
        let shows = |bob: &mut Browser| {
            let page = bob.get(&wrong).body.contains("hidden-test");
            let (_, found) = program.get(&wrong);
            assert_eq!(found["verdict"], "wrong_answer", "{found}");
            assert_eq!(found["full_protocol"], page, "{found}");
            assert_eq!(found.to_string().contains("hidden-test"), page, "{found}");
            page
        };
        let own = format!("/contests/{}/submissions", cup.contest);
        assert!(!shows(&mut bob) && !bob.get(&own).body.contains("hidden-test"));
        assert!(bob.get(&wrong).body.contains("Full results: "));
        // A frozen ranking keeps them secret beyond the end of the round.
        assert_eq!(cup.rules(&mut admin, "", "2020-01-01T00:00"), 303);
        assert_eq!(
            admin.post(&round, &times("2020-01-01T01:00", "")).status,
            303
        );
        assert!(!shows(&mut bob));
        assert_eq!(admin.post(&format!("{round}/thaw"), &[]).status, 303);
        assert!(shows(&mut bob));
        // A time of the teacher replaces the default.
        assert_eq!(admin.post(&round, &times(FUTURE, FUTURE)).status, 303);
        assert!(!shows(&mut bob));
        assert_eq!(admin.post(&round, &times(FUTURE, PAST)).status, 303);
        assert!(shows(&mut bob));
        // A program that does not compile has results of no test, even for the staff.
        for browser in [&mut bob, &mut admin] {
            let page = browser.get(&broken).body;
            assert!(page.contains("SyntaxError"), "{page}");
            assert!(
                !page.contains("hidden-test") && !page.contains("Not judged"),
                "{page}"
            );
        }
        let (_, found) = program.get(&broken);
        assert_eq!(found["tests"].as_array().map(Vec::len), Some(0), "{found}");
        assert_eq!(found["groups"].as_array().map(Vec::len), Some(0), "{found}");
    });
}

#[test]
fn members_of_a_team_share_submissions_and_a_row() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        assert_eq!(cup.rules(&mut admin, "", ""), 303);
        let (mut bob, mut cat, mut eve) =
            (user(&site, "bob"), user(&site, "cat"), user(&site, "eve"));
        let list = format!("/contests/{}/participants", cup.contest);
        let team = admin.post(&list, &[("name", "=Team")]).id();
        let team = format!("/participants/{team}");
        let add = format!("{team}/members");
        assert_eq!(
            admin.post(&add, &[("login", "bob")]).status,
            422,
            "no member yet"
        );
        for login in ["bob", "cat", "eve"] {
            let fields = [("login", login), ("role", "contestant")];
            let members = format!("/contests/{}/members", cup.contest);
            assert_eq!(admin.post(&members, &fields).status, 303);
        }
        for login in ["bob", "cat"] {
            assert_eq!(admin.post(&add, &[("login", login)]).status, 303);
        }
        let submission = cup.submit(&mut bob, RIGHT);
        let page = cat.wait_for(&submission, DONE);
        assert_eq!(page.status, 200);
        assert!(cat.get("/submissions").body.contains(&submission));
        assert_eq!(eve.get(&submission).status, 404);
        assert!(!eve.get("/submissions").body.contains(&submission));
        let names = |browser: &mut Browser, query: &str| -> Vec<String> {
            let json = cup.json(browser, query);
            let rows = json["tables"][0]["rows"].as_array().expect("rows").clone();
            let text = |row: &Value| format!("{} {}", row["name"].as_str().unwrap(), row["place"]);
            rows.iter().map(text).collect()
        };
        // Members have no separate rows.
        assert_eq!(names(&mut eve, ""), ["=Team 1", "eve 2"]);
        let csv = format!("/contests/{}/ranking.csv", cup.contest);
        assert!(eve.get(&csv).body.contains("\r\n1,'=Team,"));

        let edit = |admin: &mut Browser, flag: &str| {
            let mut fields = vec![
                ("name", "Team"),
                ("organization", "School"),
                ("group_name", "Guests & more"),
                ("delay", "0"),
                ("extra", "0"),
                ("penalty", "5"),
            ];
            fields.push((flag, "1"));
            assert_eq!(admin.post(&team, &fields).status, 303);
        };
        edit(&mut admin, "unofficial");
        assert_eq!(names(&mut eve, ""), ["Team null", "eve 1"]);
        assert_eq!(names(&mut eve, "?group=Guests+%26+more"), ["Team null"]);
        edit(&mut admin, "hidden");
        assert_eq!(names(&mut eve, ""), ["eve 1"]);
        assert_eq!(names(&mut admin, ""), ["Team null", "eve 1"]);
        let ranking = format!("/contests/{}/ranking", cup.contest);
        assert!(!eve.get(&ranking).body.contains("Guests"), "a hidden group");
        assert_eq!(admin.post(&format!("{team}/delete"), &[]).status, 403);
        // A former member keeps access only to their own submissions.
        for login in ["bob", "cat"] {
            assert_eq!(
                admin
                    .post(&format!("{team}/remove"), &[("login", login)])
                    .status,
                303
            );
        }
        assert_eq!(bob.get(&submission).status, 200);
        assert_eq!(cat.get(&submission).status, 404);
    });
}

#[test]
fn problems_of_a_round_are_moved_by_its_staff() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let (mut mia, mut eve) = (user(&site, "mia"), user(&site, "eve"));
        let fields = [("login", "mia"), ("role", "moderator")];
        admin.post(&format!("/contests/{}/members", cup.contest), &fields);
        let round = format!("/rounds/{}", cup.round);
        for label in ["B", "C"] {
            let fields = [
                ("problem", "1"),
                ("label", label),
                ("final_method", "best"),
                ("reveal", "nothing"),
            ];
            let attached = admin.post(&format!("{round}/problems"), &fields);
            assert_eq!(attached.status, 303, "{attached:#?}");
        }
        // The labels on the page of the contest, and in the ranking.
        let order = |browser: &mut Browser| -> String {
            let page = browser.get(&format!("/contests/{}", cup.contest)).body;
            let labels = page.split("<b>").skip(1);
            let labels: String = labels.filter_map(|rest| rest.chars().next()).collect();
            let json = cup.json(browser, "");
            let problems = json["tables"][0]["problems"].as_array().expect("problems");
            let shown = problems.iter().filter_map(|one| one["label"].as_str());
            assert_eq!(shown.collect::<String>(), labels);
            labels
        };
        let (a, c) = (cup.problem, cup.problem + 2);
        let go = |browser: &mut Browser, problem: i64, direction: &str| {
            let path = format!("/round-problems/{problem}/move");
            browser.post(&path, &[("direction", direction)])
        };
        assert_eq!(order(&mut eve), "ABC");
        for (problem, direction, expected) in [
            (c, "up", "ACB"),
            (a, "down", "CAB"),
            (c, "up", "CAB"),
            (a, "up", "ACB"),
        ] {
            let moved = go(&mut mia, problem, direction);
            let place = moved.location.as_deref();
            assert_eq!(place, Some(&*format!("{round}#problems")), "{moved:#?}");
            assert_eq!(order(&mut eve), expected, "{problem} {direction}");
        }
        for browser in [&mut eve, &mut Browser::new(&site)] {
            assert_eq!(go(browser, a, "down").status, 404);
        }
        assert_eq!(go(&mut mia, a, "sideways").status, 422);
        let audit = "/audit?actor=mia&action=POST+/round-problems/%7Bid%7D/move";
        let log = admin.get(audit).body;
        assert_eq!(log.matches("/move</span>").count(), 4, "{log}");
    });
}

#[test]
fn labels_of_a_round_differ_by_more_than_case_and_spaces() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let round = format!("/rounds/{}", cup.round);
        let attach = |admin: &mut Browser, round: &str, label: &str| {
            let fields = [
                ("problem", "1"),
                ("label", label),
                ("final_method", "last_compiling"),
                ("reveal", "nothing"),
            ];
            admin.post_on(round, &format!("{round}/problems"), &fields)
        };
        for label in ["A", "a", " A "] {
            let answer = attach(&mut admin, &round, label);
            assert_eq!(answer.status, 422, "{label}: {answer:#?}");
            // The form keeps its fields, and shows the mistake at the label.
            for part in [
                &format!("name=\"label\" required maxlength=\"16\" value=\"{label}\" aria-invalid"),
                "role=\"alert\">Another problem of this round has the label A",
                "value=\"last_compiling\" selected",
            ] {
                assert!(answer.body.contains(part), "{part}: {answer:#?}");
            }
        }
        assert_eq!(attach(&mut admin, &round, "B").status, 303);
        let edit = |admin: &mut Browser, label: &str| {
            let fields = [
                ("label", label),
                ("name", "Changed"),
                ("version", "1"),
                ("final_method", "best"),
                ("reveal", "nothing"),
            ];
            let page = format!("/round-problems/{}", cup.problem);
            admin.post_on(&page, &format!("{page}/edit"), &fields)
        };
        let answer = edit(&mut admin, "b");
        assert_eq!(answer.status, 422, "{answer:#?}");
        assert!(
            answer.body.contains("value=\"b\" aria-invalid"),
            "{answer:#?}"
        );
        assert!(answer.body.contains("value=\"Changed\""), "{answer:#?}");
        let problem = format!("/round-problems/{}", cup.problem);
        assert!(!admin.get(&problem).body.contains("Changed"), "not saved");
        // A problem may keep its own label, and another round may have the same labels.
        assert_eq!(edit(&mut admin, "a").status, 303);
        let copy = admin.post(&format!("{round}/copy"), &[]);
        let copy = copy.location.expect("the copy");
        assert_eq!(attach(&mut admin, &copy, "A").status, 422);
        let copied = admin.post(&format!("/contests/{}/copy", cup.contest), &[]);
        assert_eq!(copied.status, 303, "{copied:#?}");
    });
}

#[test]
fn problems_are_seen_and_solved_by_the_clock_of_the_participant() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        assert_eq!(cup.rules(&mut admin, "60", ""), 303);
        let (mut guest, mut bob) = (Browser::new(&site), user(&site, "bob"));
        let contest = format!("/contests/{}", cup.contest);
        let problem = format!("/round-problems/{}", cup.problem);
        for browser in [&mut guest, &mut bob] {
            assert_eq!(browser.get(&problem).status, 404);
            assert!(!browser.get(&contest).body.contains(&problem));
            let ranking = browser.get(&format!("{contest}/ranking"));
            assert!(!ranking.body.contains("Sum"), "{ranking:#?}");
        }
        assert_eq!(cup.try_to_submit(&mut bob, RIGHT).0, 404);
        let start = format!("/rounds/{}/start", cup.round);
        assert_eq!(
            guest.post(&start, &[]).location.as_deref(),
            Some("/sign-in")
        );
        assert!(bob.get(&contest).body.contains("Start the clock (1 h)"));
        assert_eq!(bob.post(&start, &[]).status, 303);
        assert_eq!(bob.get(&problem).status, 200);
        assert_eq!(guest.get(&problem).status, 404);
        let submission = cup.submit(&mut bob, RIGHT);
        bob.wait_for(&submission, DONE);
        // The minute counts from the participant's own start, and not from the round's start years
        // ago.
        let json = cup.json(&mut bob, "");
        assert!(cell(&json, "bob")["minute"].as_i64() < Some(60), "{json}");

        // A delayed participant does not see the round, which has begun for others.
        assert_eq!(cup.rules(&mut admin, "", ""), 303);
        let id = cup.participant(&mut admin, "bob");
        let delay = (500 * 366 * 24 * 60).to_string();
        let mut fields = [
            ("name", ""),
            ("organization", ""),
            ("group_name", ""),
            ("delay", delay.as_str()),
            ("extra", "0"),
            ("penalty", "0"),
        ];
        let path = format!("/participants/{id}");
        assert_eq!(admin.post(&path, &fields).status, 422, "more than a year");
        fields[3].1 = "525600";
        assert_eq!(admin.post(&path, &fields).status, 303);
        assert_eq!(bob.get(&problem).status, 200, "a year after the start");
        let times = ["2001-01-01T00:00", "2001-01-01T01:00", ""];
        set_round(&mut admin, cup.round, "Round", times);
        assert_eq!(
            cup.try_to_submit(&mut bob, RIGHT).0,
            403,
            "the participant's own end has passed"
        );
    });
}

#[test]
fn ranking_is_sent_again_only_if_it_has_changed() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let cup = Cup::new(&mut admin);
    assert_eq!(cup.rules(&mut admin, "", ""), 303);
    let mut bob = user(&site, "bob");
    cup.submit(&mut bob, WRONG);
    let etag = cup.etag(&mut bob);
    let path = format!("/contests/{}/ranking?part=tables", cup.contest);
    let same = bob.get_with(&path, ("if-none-match", &etag));
    // The judge may have changed the ranking in the meantime.
    assert!(
        same.status == 304 || same.headers["etag"] != etag.as_str(),
        "{same:#?}"
    );
    let tables = bob.get(&path).body;
    assert!(!tables.contains("<html"), "{tables}");
    let packed = bob.get_with(&path, ("accept-encoding", "gzip"));
    assert_eq!(packed.headers["content-encoding"], "gzip");

    // A stream has an event for each new ranking, and the browser that follows it sees the change.
    let live = format!("/contests/{}/ranking/live", cup.contest);
    let (sender, receiver) = std::sync::mpsc::channel();
    let watcher = Browser::new(&site);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let answer = watcher.raw(&live, Duration::from_secs(14));
            let _ = sender.send(answer);
        });
        let mut zoe = user(&site, "zoe");
        std::thread::sleep(Duration::from_secs(1));
        let submission = cup.submit(&mut zoe, RIGHT);
        zoe.wait_for(&submission, DONE);
        let events = receiver.recv().expect("an answer");
        assert!(events.contains("event: change"), "{events}");
        assert!(!events.contains("zoe"), "{events}");
    });
    assert!(watcher.raw(&path, Duration::ZERO).contains("zoe"));
    let announced = format!("{path}&event=tag");
    assert!(watcher.raw(&announced, Duration::ZERO).contains("zoe"));
    let projector = watcher.raw(
        &format!("/contests/{}/projector", cup.contest),
        Duration::ZERO,
    );
    assert!(
        projector.contains("zoe") && !projector.contains("<nav"),
        "{projector}"
    );
}
