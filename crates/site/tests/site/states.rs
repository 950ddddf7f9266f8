//! Disqualified participants: what they can no longer do, and that it can be undone.

use crate::RIGHT;
use crate::api::{Program, token};
use crate::entry::entry_link;
use crate::rounds::{Cup, user};
use crate::support::contest::first_admin;
use crate::support::{Browser, result_of, with_each};
use serde_json::{Value, json};

const REASON: &str = "shared the password";

/// The rows of the ranking as a viewer sees them: name, place and state.
fn rows(cup: &Cup, browser: &mut Browser) -> Vec<String> {
    let page = browser.get(&format!("/contests/{}/ranking.json", cup.contest));
    let json: Value = serde_json::from_str(&page.body).expect("JSON");
    let rows = json["tables"][0]["rows"].as_array().expect("rows").clone();
    let words = |row: &Value| {
        let text = |name: &str| row[name].as_str().expect("a text").to_owned();
        format!("{} {} {}", text("name"), row["place"], text("state"))
    };
    rows.iter().map(words).collect()
}

/// Whether the page of a submission shows the result of all tests.
fn is_final(body: &str) -> bool {
    let shown = result_of(body);
    shown.contains("Accepted") && !shown.contains("Initial")
}

#[test]
fn disqualified_participant_takes_no_part_until_reinstated() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        assert_eq!(cup.rules(&mut admin, "", ""), 303);
        let contest = format!("/contests/{}", cup.contest);
        let printing = [("printing", "1")];
        admin.post(&format!("{contest}/printing"), &printing);
        let link = entry_link(&mut admin, cup.contest);
        let (mut bob, mut eve) = (user(&site, "bob"), user(&site, "eve"));
        for browser in [&mut bob, &mut eve] {
            assert_eq!(browser.post(&link, &[]).status, 303);
        }
        let submission = cup.submit(&mut bob, RIGHT);
        // The result of the initial tests comes before that of all tests.
        admin.wait_until(&submission, is_final);
        let listed = ["bob 1 takes_part", "eve 2 takes_part"];
        assert_eq!(rows(&cup, &mut eve), listed);
        let list = admin.get(&format!("{contest}/participants")).body;
        let of_bob = list.split("<tr").find(|row| row.contains(">bob<"));
        let path =
            of_bob.and_then(|row| row.split('"').find(|it| it.starts_with("/participants/")));
        let path = path.unwrap_or_else(|| panic!("{list}")).to_owned();
        let (disqualify, reinstate) = (format!("{path}/disqualify"), format!("{path}/reinstate"));
        for browser in [&mut bob, &mut eve, &mut Browser::new(&site)] {
            assert_eq!(browser.post(&disqualify, &[("reason", "")]).status, 404);
            assert_eq!(browser.post(&reinstate, &[]).status, 404);
        }
        let fields = [("reason", REASON)];
        assert_eq!(admin.post(&disqualify, &fields).status, 303);

        // The public ranking has no row, and that of the staff a mark.
        assert_eq!(rows(&cup, &mut eve), ["eve 1 takes_part"]);
        assert_eq!(
            rows(&cup, &mut admin),
            ["bob null disqualified", "eve 1 takes_part"]
        );
        let ranking = admin.get(&format!("{contest}/ranking")).body;
        assert!(ranking.contains("disqualified"), "{ranking}");
        let balloons = admin.get(&format!("{contest}/balloons")).body;
        assert!(!balloons.contains("bob"), "{balloons}");

        let token = token(&mut bob, "submit");
        let program = Program { site: &site, token };
        let problem = cup.problem;
        let is_out = |bob: &mut Browser| {
            let submit = format!("/round-problems/{problem}/submit");
            let file = ("a.py", RIGHT);
            let try_out = format!("/round-problems/{problem}/try");
            let question = [("problem", ""), ("text", "Why?")];
            let answers = [
                bob.upload(&submit, &[("language", "")], file),
                bob.get(&try_out),
                bob.upload(&format!("{contest}/print"), &[("text", "x")], ("", b"")),
                bob.post(&format!("{contest}/clarifications"), &question),
                bob.post(&link, &[]),
            ];
            for answer in answers {
                assert_eq!(answer.status, 403, "{answer:#?}");
                assert!(answer.body.contains(REASON), "{answer:#?}");
            }
            let body = json!({
                "round_problem": problem, "language": "python3", "file_name": "a.py",
                "source": "print(3)",
            });
            let (status, found) = program.post("/submissions", "key", &body);
            assert_eq!(status, 403, "{found}");
            assert!(found.to_string().contains(REASON), "{found}");
            let page = bob.get(&submit).body;
            assert!(
                page.contains(REASON) && !page.contains("<textarea"),
                "{page}"
            );
        };
        is_out(&mut bob);
        assert!(bob.get(&contest).body.contains(REASON));
        assert!(!eve.get(&contest).body.contains(REASON));
        // The participant keeps access to earlier submissions, also after leaving.
        assert_eq!(bob.get(&submission).status, 200);
        let fields = [("login", "bob"), ("role", "")];
        assert_eq!(
            admin.post(&format!("{contest}/members"), &fields).status,
            303
        );
        is_out(&mut bob);
        let start = format!("/rounds/{}/start", cup.round);
        assert_eq!(cup.rules(&mut admin, "60", ""), 303);
        assert_eq!(bob.post(&start, &[]).status, 403);
        assert_eq!(cup.rules(&mut admin, "", ""), 303);

        // Nothing is lost.
        assert_eq!(admin.post(&reinstate, &[]).status, 303);
        assert_eq!(bob.post(&link, &[]).status, 303);
        assert_eq!(rows(&cup, &mut eve), listed);
        cup.submit(&mut bob, RIGHT);
        assert!(!bob.get(&contest).body.contains(REASON));
    });
}
