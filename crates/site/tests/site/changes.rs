//! The feed of changes that programs follow.

use super::api::{Program, token};
use super::rounds::{Cup, user};
use super::support::{Browser, Site, with_each};
use super::{RIGHT, contestant, first_admin, make_contest, submit};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a program knows about a contest.
#[derive(Default)]
struct Follower {
    user: String,
    token: Option<String>,
    submissions: BTreeMap<i64, Value>,
    clarifications: BTreeMap<i64, Value>,
    balloons: Vec<Value>,
    prints: BTreeMap<i64, Value>,
    ranking: Option<String>,
}

impl Follower {
    fn new(browser: &mut Browser) -> Follower {
        Follower {
            user: token(browser, "read"),
            ..Follower::default()
        }
    }

    /// Sends requests until nothing more follows. Returns the number of parts, and whether the
    /// ranking differs.
    fn ask(&mut self, site: &Site, contest: i64) -> (usize, bool) {
        let program = Program {
            site,
            token: self.user.clone(),
        };
        let (mut parts, mut has_ranking) = (0, false);
        loop {
            let query = self.token.iter().map(|token| format!("?since={token}"));
            let query: String = query.collect();
            let (status, found) = program.get(&format!("/contests/{contest}/changes{query}"));
            assert_eq!(status, 200, "{found}");
            parts += apply(&mut self.submissions, &found["submissions"]);
            parts += apply(&mut self.clarifications, &found["clarifications"]);
            parts += apply(&mut self.prints, &found["prints"]);
            for part in found["balloons"].as_array().expect("parts") {
                let is_here = |one: &Value| {
                    let participant = one["participant"].as_i64();
                    participant >= part["from"].as_i64() && participant <= part["to"].as_i64()
                };
                self.balloons.retain(|one| !is_here(one));
                let items = part["items"].as_array().expect("objects");
                assert!(items.iter().all(is_here), "{part}");
                self.balloons.extend(items.iter().cloned());
                parts += 1;
            }
            if let Some(tag) = found["ranking"].as_str() {
                self.ranking = Some(tag.to_owned());
                has_ranking = true;
            }
            self.token = found["token"].as_str().map(str::to_owned);
            if found["more"] == false {
                return (parts, has_ranking);
            }
        }
    }
}

/// Replaces parts as the description says. Returns their number.
fn apply(objects: &mut BTreeMap<i64, Value>, parts: &Value) -> usize {
    let parts = parts.as_array().expect("parts");
    for part in parts {
        let [from, to] = ["from", "to"].map(|end| part[end].as_i64().expect("a number"));
        objects.retain(|id, _| !(from..=to).contains(id));
        for item in part["items"].as_array().expect("objects") {
            let id = item["id"].as_i64().expect("a number");
            assert!((from..=to).contains(&id), "{part}");
            objects.insert(id, item.clone());
        }
    }
    parts.len()
}

#[test]
fn program_follows_a_contest_across_restarts() {
    with_each(|mut site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let mut eve = contestant(&site, &mut admin, &contest, "eve");
        let [mut staff, mut own, mut other] = [&mut admin, &mut bob, &mut eve].map(Follower::new);
        for follower in [&mut staff, &mut own, &mut other] {
            assert_eq!(follower.ask(&site, contest.id), (0, true));
            assert_eq!(follower.ask(&site, contest.id), (0, false));
        }
        let first = submit(&mut bob, &contest, RIGHT).id();
        admin.wait_for(&format!("/submissions/{first}"), "hidden-test");
        admin.wait_for("/queue", "done");
        let announce = format!("/contests/{}/announcements", contest.id);
        assert_eq!(admin.post(&announce, &[("text", "Hello")]).status, 303);
        assert_eq!(staff.ask(&site, contest.id), (2, true));
        assert_eq!(staff.submissions[&first]["verdict"], "accepted");
        assert_eq!(own.ask(&site, contest.id).0, 2);
        let seen = &own.submissions[&first];
        assert_eq!(seen["initial_verdict"], "accepted", "{seen}");
        assert!(
            seen["verdict"].is_null() && seen["score"].is_null(),
            "{seen}"
        );
        assert_eq!(other.ask(&site, contest.id).0, 1);
        assert!(other.submissions.is_empty(), "another user's submission");
        let announced = other.clarifications.values().next().expect("one");
        assert_eq!(announced["answer"], "Hello");

        // Nothing has changed for the programs when the site starts again.
        site.kill_and_restart();
        let (mut admin, mut bob) = (admin.moved(&site), bob.moved(&site));
        for follower in [&mut staff, &mut own, &mut other] {
            assert_eq!(follower.ask(&site, contest.id), (0, false));
        }
        // A change of the times reveals the full results.
        let path = format!("/rounds/{}", contest.round);
        let shown = super::support::contest::round("");
        assert_eq!(admin.post(&path, &shown).status, 303);
        assert_eq!(own.ask(&site, contest.id), (1, true));
        assert_eq!(own.submissions[&first]["score"], 100.0);

        // Deleted and withdrawn objects disappear.
        let second = submit(&mut bob, &contest, RIGHT).id();
        admin.wait_for(&format!("/submissions/{second}"), "hidden-test");
        own.ask(&site, contest.id);
        assert_eq!(own.submissions.len(), 2);
        let delete = format!("/submissions/{first}/delete");
        let password = [("password", "correct horse")];
        let deleted = admin.post(&delete, &password);
        assert_eq!(deleted.status, 303, "{deleted:#?}");
        let shown = admin.get("/clarifications/1").body;
        let version = shown.split("name=\"answered\" value=\"").nth(1);
        let version = version
            .and_then(|part| part.split('"').next())
            .expect("one");
        let withdrawn = [
            ("answered", version),
            ("answer", "Hello"),
            ("audience", "author"),
        ];
        assert_eq!(admin.post("/clarifications/1", &withdrawn).status, 303);
        own.ask(&site, contest.id);
        assert_eq!(own.submissions.keys().collect::<Vec<_>>(), [&second]);
        assert!(own.clarifications.is_empty());
        staff.ask(&site, contest.id);
        assert_eq!(staff.clarifications.len(), 1);

        let program = |token: &str| Program {
            site: &site,
            token: token.to_owned(),
        };
        let path = format!("/contests/{}/changes", contest.id);
        assert_eq!(program("").get(&path).0, 404, "the contest is private");
        let guest = format!("{path}?since=AQ");
        assert_eq!(program(&own.user).get(&guest).0, 400);
        // The token of another program reveals nothing.
        let foreign = format!("{path}?since={}", staff.token.expect("a token"));
        let (status, seen) = program(&other.user).get(&foreign);
        assert_eq!(status, 200);
        assert!(!seen.to_string().contains("accepted"), "{seen}");
    });
}

#[test]
fn staff_follows_balloons_and_texts_to_print() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        assert_eq!(cup.rules(&mut admin, "", ""), 303);
        let (mut bob, mut eve) = (user(&site, "bob"), user(&site, "eve"));
        let solved = cup.submit(&mut bob, RIGHT);
        bob.wait_for(&solved, "100 / 100");
        let [mut staff, mut own, mut other] = [&mut admin, &mut bob, &mut eve].map(Follower::new);
        let mut guest = Follower::default();
        for follower in [&mut staff, &mut own, &mut other, &mut guest] {
            follower.ask(&site, cup.contest);
        }
        assert_eq!(staff.balloons.len(), 1);
        for follower in [&own, &other, &guest] {
            assert!(follower.balloons.is_empty(), "for the staff only");
        }
        let balloon = staff.balloons[0].clone();
        assert_eq!(balloon["name"], "bob");
        assert_eq!(balloon["round_problem"], cup.problem);
        assert_eq!(solved, format!("/submissions/{}", balloon["submission"]));
        assert_eq!(balloon["first"], true);
        assert!(balloon["submitted_at"].is_string(), "{balloon}");
        assert!(balloon["delivered_at"].is_null(), "{balloon}");

        let list = format!("/contests/{}/balloons", cup.contest);
        let (problem, participant) = (cup.problem.to_string(), balloon["participant"].to_string());
        let deliver = [("problem", problem.as_str()), ("participant", &participant)];
        assert_eq!(admin.post(&list, &deliver).status, 303);
        assert_eq!(staff.ask(&site, cup.contest), (1, false));
        let delivered = &staff.balloons[0];
        assert!(delivered["delivered_at"].is_string(), "{delivered}");
        assert_eq!(delivered["delivered_by"], "ada");
        let undo = [deliver[0], deliver[1], ("undo", "1")];
        assert_eq!(admin.post(&list, &undo).status, 303);
        assert_eq!(staff.ask(&site, cup.contest), (1, false));
        assert_eq!(staff.balloons, [balloon]);
        // A freeze that began before the submission hides the balloon.
        assert_eq!(cup.rules(&mut admin, "", "2020-01-01T00:00"), 303);
        staff.ask(&site, cup.contest);
        assert!(staff.balloons.is_empty());

        let on = format!("/contests/{}/printing", cup.contest);
        assert_eq!(admin.post(&on, &[("printing", "1")]).status, 303);
        let print = format!("/contests/{}/print", cup.contest);
        let sent = bob.upload(&print, &[("text", "secret line")], ("", b""));
        assert_eq!(sent.status, 303, "{sent:#?}");
        assert_eq!(staff.ask(&site, cup.contest), (1, false));
        let waiting = &staff.prints[&1];
        assert_eq!(waiting["user"], "bob");
        assert!(waiting["done_at"].is_null(), "{waiting}");
        assert!(!waiting.to_string().contains("secret"), "{waiting}");
        assert_eq!(admin.post("/prints/1/done", &[]).status, 303);
        assert_eq!(staff.ask(&site, cup.contest), (1, false));
        assert!(staff.prints[&1]["done_at"].is_string());
        for follower in [&mut own, &mut other, &mut guest] {
            follower.ask(&site, cup.contest);
            assert!(follower.balloons.is_empty());
        }
        assert_eq!(own.prints[&1], staff.prints[&1], "the sender");
        assert!(other.prints.is_empty() && guest.prints.is_empty());
        assert_eq!(staff.ask(&site, cup.contest), (0, false));
    });
}
