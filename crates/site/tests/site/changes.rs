//! The feed of changes that programs follow.

use super::api::{Program, token};
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
