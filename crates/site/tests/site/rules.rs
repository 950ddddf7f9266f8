//! What contestants may submit, and what they see before the full results.

use crate::api::{Program, token};
use crate::rounds::{Cup, user};
use crate::support::contest::first_admin;
use crate::support::{Answer, Browser, result_of, tag_after, with_each};
use crate::{HALF, RIGHT};

/// Sends a source in a language.
fn send(browser: &mut Browser, cup: &Cup, language: &str, source: &[u8]) -> Answer {
    let path = format!("/round-problems/{}/submit", cup.problem);
    browser.upload(&path, &[("language", language)], ("a.py", source))
}

/// Changes the settings of the cup's problem.
fn edit(staff: &mut Browser, cup: &Cup, reveal: &str, rules: &[(&str, &str)]) -> Answer {
    let page = staff.get(&format!("/round-problems/{}", cup.problem)).body;
    let options = page.split("name=\"version\"").nth(1).expect("a choice");
    let version = options.split('"').nth(1).expect("a version");
    let fields = [
        ("label", "A"),
        ("name", "Sum"),
        ("version", version),
        ("final_method", "best"),
        ("reveal", reveal),
    ];
    let fields: Vec<(&str, &str)> = fields.iter().chain(rules).copied().collect();
    staff.post(&format!("/round-problems/{}/edit", cup.problem), &fields)
}

/// Changes the rules of the cup's round.
fn edit_round(staff: &mut Browser, cup: &Cup, rules: &[(&str, &str)]) -> Answer {
    let fields = [
        ("mode", "points"),
        ("penalty_minutes", "20"),
        ("window_minutes", ""),
        ("freeze_at", ""),
        ("thaw_at", ""),
    ];
    let fields: Vec<(&str, &str)> = fields.iter().chain(rules).copied().collect();
    staff.post(&format!("/rounds/{}/rules", cup.round), &fields)
}

fn rules<'a>(count: &'a str, interval: &'a str, kib: &'a str) -> [(&'a str, &'a str); 3] {
    [
        ("max_submissions", count),
        ("interval_seconds", interval),
        ("max_kib", kib),
    ]
}

#[test]
fn rules_of_round_and_problem_bound_what_contestants_submit() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let mut bob = user(&site, "bob");
        for wrong in ["0", "x", "99999999"] {
            let fields = rules(wrong, "", "");
            assert_eq!(edit_round(&mut admin, &cup, &fields).status, 422, "{wrong}");
        }
        // The round allows two submissions of at most one KiB.
        let fields = rules("2", "", "1");
        assert_eq!(edit_round(&mut admin, &cup, &fields).status, 303);
        let form = format!("/round-problems/{}/submit", cup.problem);
        assert!(bob.get(&form).body.contains("2 of 2 submissions left"));
        let large = [RIGHT, &[b'#'; 1100]].concat();
        let answer = send(&mut bob, &cup, "", &large);
        assert_eq!(answer.status, 422, "{answer:#?}");
        assert!(answer.body.contains("at most 1 KiB"), "{answer:#?}");
        assert_eq!(send(&mut admin, &cup, "", &large).status, 303, "the staff");
        for _ in 0..2 {
            assert_eq!(send(&mut bob, &cup, "", RIGHT).status, 303);
        }
        let answer = send(&mut bob, &cup, "", RIGHT);
        assert_eq!(answer.status, 403, "{answer:#?}");
        assert!(answer.body.contains("all 2 submissions"), "{answer:#?}");

        // The problem has more submissions than the round, but at a slow pace.
        let fields = rules("9", "3600", "");
        assert_eq!(edit(&mut admin, &cup, "nothing", &fields).status, 303);
        let answer = send(&mut bob, &cup, "", RIGHT);
        assert_eq!(answer.status, 429, "{answer:#?}");
        let page = bob.get(&form).body;
        assert!(
            page.contains("7 of 9") && page.contains("submit again from"),
            "{page}"
        );
        let mut eve = user(&site, "eve");
        let answer = send(&mut eve, &cup, "", &large);
        assert_eq!(answer.status, 422, "the size of the round: {answer:#?}");

        // The choice of languages has only those that are allowed.
        let mut fields = rules("", "", "").to_vec();
        fields.push(("languages", "cpp20"));
        assert_eq!(edit(&mut admin, &cup, "nothing", &fields).status, 303);
        let page = admin.get(&format!("/round-problems/{}", cup.problem)).body;
        if page.contains("name=\"languages\" value=\"cpp20\"") {
            let page = eve.get(&form).body;
            assert!(
                page.contains("\"cpp20\"") && !page.contains("\"python3\""),
                "{page}"
            );
            for language in ["", "python3"] {
                let answer = send(&mut eve, &cup, language, RIGHT);
                assert_eq!(answer.status, 422, "{answer:#?}");
                assert!(answer.body.contains("not allowed here"), "{answer:#?}");
                assert!(answer.body.contains("map(int"), "the source is kept");
            }
        }
        // Without the inputs, the rules stay.
        assert_eq!(edit_round(&mut admin, &cup, &[]).status, 303);
        let page = admin.get(&format!("/rounds/{}", cup.round)).body;
        assert!(
            tag_after(&page, "max_submissions").contains("value=\"2\""),
            "{page}"
        );
        let answer = admin.post(&format!("/rounds/{}/copy", cup.round), &[]);
        let page = admin.get(&answer.location.expect("a copy")).body;
        assert!(
            tag_after(&page, "max_submissions").contains("value=\"2\""),
            "{page}"
        );
    });
}

#[test]
fn contestants_see_as_much_as_the_level_of_the_problem_shows() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let mut bob = user(&site, "bob");
        let half = cup.submit(&mut bob, HALF);
        admin.wait_for(&half, "hidden-test");
        let program = Program {
            site: &site,
            token: token(&mut bob, "read"),
        };
        // Level: result, whether the page has the sample and the hidden test, points in the API.
        let table = [
            ("hidden", "Received", false, false, false),
            ("nothing", "Accepted", true, false, false),
            ("score", "Accepted", true, false, true),
            ("status", "Wrong answer", true, false, true),
            ("first", "Wrong answer", true, true, true),
            ("all", "Wrong answer", true, true, true),
        ];
        for (level, result, sample, secret, score) in table {
            let answer = edit(&mut admin, &cup, level, &[]);
            assert_eq!(answer.status, 303, "{answer:#?}");
            let page = bob.get(&half).body;
            assert!(result_of(&page).contains(result), "{level}: {page}");
            assert_eq!(page.contains("sample/1"), sample, "{level}: {page}");
            assert_eq!(page.contains("hidden-test"), secret, "{level}: {page}");
            let list = bob.get("/submissions").body;
            assert!(list.contains(result), "{level}: {list}");
            let id = half.rsplit('/').next().expect("a number");
            let (_, found) = program.get(&format!("/submissions/{id}"));
            assert_eq!(
                found["initial_verdict"].is_string(),
                sample,
                "{level}: {found}"
            );
            assert_eq!(found["score"].is_number(), score, "{level}: {found}");
            assert_eq!(
                found.to_string().contains("hidden-test"),
                secret,
                "{level}: {found}"
            );
            let ranking = format!("/contests/{}/ranking", cup.contest);
            let ranking = bob.get(&ranking).body;
            assert_eq!(
                ranking.contains("Accepted"),
                result == "Accepted",
                "{level}: {ranking}"
            );
        }
        let page = admin.get(&format!("/round-problems/{}", cup.problem)).body;
        assert!(
            page.contains("Preview: what contestants will see"),
            "{page}"
        );
    });
}
