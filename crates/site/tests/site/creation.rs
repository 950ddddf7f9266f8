//! A contest with its first round and problems, from one form.

use crate::RIGHT;
use crate::rounds::user;
use crate::support::contest::first_admin;
use crate::support::{archive, files_of_sum, tag_after, with_each};

#[test]
fn one_form_creates_contest_round_and_problems() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let package = archive(&files_of_sum());
        let fields = [("visibility", "private")];
        let mut upload = || {
            let added = admin.upload("/problems/new", &fields, ("sum.zip", &package));
            added.id().to_string()
        };
        let (first, second) = (upload(), upload());
        let page = admin.get("/contests/new").body;
        let value = format!("name=\"problems\" value=\"{first}\"");
        assert!(
            page.contains(&value) && page.contains("value=\"Round 1\""),
            "{page}"
        );
        let form = |name, begins, ends, mode| {
            [
                ("name", name),
                ("visibility", "public"),
                ("time_zone", ""),
                ("round_name", "Final"),
                ("begins", begins),
                ("ends", ends),
                ("mode", mode),
                ("problems", second.as_str()),
                ("problems", first.as_str()),
            ]
        };
        let mistakes = [
            ("", "", "", "points"),
            ("Cup", "2002-01-01T00:00", "2001-01-01T00:00", "points"),
            ("Cup", "", "2999-01-01T00:00", "icpc"),
        ];
        for (name, begins, ends, mode) in mistakes {
            let answer = admin.post("/contests/new", &form(name, begins, ends, mode));
            assert_eq!(
                answer.status, 422,
                "{name} {begins} {ends} {mode}: {answer:#?}"
            );
        }
        assert!(!admin.get("/contests").body.contains("/contests/1"));
        let fields = form("Cup", "2001-01-01T00:00", "2999-01-01T00:00", "icpc");
        let answer = admin.post("/contests/new", &fields);
        assert_eq!(answer.status, 303, "{answer:#?}");
        let contest = answer.location.expect("a contest");

        let mut bob = user(&site, "bob");
        let page = bob.get(&contest).body;
        assert!(page.contains("Final") && page.contains("Ends in"), "{page}");
        let labels = ["<b>A</b> Sum", "<b>B</b> Sum"];
        let found = labels.map(|label| page.find(label).unwrap_or_else(|| panic!("{page}")));
        assert!(found[0] < found[1], "{page}");
        let problem = page
            .split('"')
            .find(|it| it.starts_with("/round-problems/"));
        let problem = problem.expect("a problem").to_owned();
        assert!(
            !page.contains("solved") && !page.contains("tried"),
            "{page}"
        );
        let path = format!("{problem}/submit");
        let sent = bob.upload(&path, &[("language", "")], ("a.py", RIGHT));
        let submission = sent.location.expect("a submission");
        // In ICPC mode, the verdict is shown, and then the problem is marked.
        bob.wait_for(&submission, "100 / 100");
        let page = bob.get(&contest).body;
        assert_eq!(page.matches("solved").count(), 1, "{page}");
        assert!(
            bob.get(&submission).body.contains("Python 3"),
            "the name of the language"
        );

        // Without a name, there is no round.
        let fields = [
            ("name", "Empty"),
            ("visibility", "private"),
            ("round_name", ""),
        ];
        let answer = admin.post("/contests/new", &fields);
        assert!(answer.location.expect("a page").ends_with("/edit"));
    });
}

#[test]
fn ranking_that_is_never_shown_is_only_for_the_staff() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = crate::rounds::Cup::new(&mut admin);
        let round = format!("/rounds/{}", cup.round);
        let fields = [
            ("name", "Round"),
            ("begins", "2001-01-01T00:00"),
            ("ends", "2002-01-01T00:00"),
            ("full_results", ""),
            ("ranking_from", ""),
            ("ranking_hidden", "1"),
        ];
        let mut bob = user(&site, "bob");
        let submission = cup.submit(&mut bob, RIGHT);
        bob.wait_for_result(&submission, "Accepted");
        let ranking = format!("/contests/{}/ranking", cup.contest);
        assert!(bob.get(&ranking).body.contains("data-participant"));
        assert_eq!(admin.post(&round, &fields).status, 303);
        for path in [
            ranking.clone(),
            format!("{ranking}.json"),
            format!("{ranking}.csv"),
        ] {
            let page = bob.get(&path).body;
            assert!(
                !page.contains("bob") || !page.contains("data-participant"),
                "{page}"
            );
            assert!(!page.contains("\"name\":\"bob\""), "{page}");
        }
        assert!(admin.get(&ranking).body.contains("data-participant"));
        // The form still has the choice.
        let page = admin.get(&round).body;
        assert!(
            tag_after(&page, "ranking_hidden").contains("checked"),
            "{page}"
        );
        assert_eq!(admin.post(&round, &fields[..5]).status, 303);
        assert!(bob.get(&ranking).body.contains("data-participant"));
    });
}
