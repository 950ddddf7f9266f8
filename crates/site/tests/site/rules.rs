//! What contestants may submit, and what they see before the full results.

use crate::api::{Program, token};
use crate::rounds::{Cup, user};
use crate::support::contest::{first_admin, make_contest};
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
    staff.post(&format!("/rounds/{}", cup.round), &fields)
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

#[test]
fn one_form_saves_all_settings_of_a_round_or_none() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let path = format!("/rounds/{}", contest.round);
        let value = |page: &str, name: &str| {
            let document = scraper::Html::parse_document(page);
            let input = format!("form input[name={name}]");
            let input = scraper::Selector::parse(&input).expect("a selector");
            let found = document.select(&input).next().expect("an input");
            found.attr("value").unwrap_or_default().to_owned()
        };
        let fields = |name, begins, mode, penalty| {
            [
                ("name", name),
                ("begins", begins),
                ("ends", ""),
                ("full_results", ""),
                ("ranking_from", ""),
                ("mode", mode),
                ("penalty_minutes", penalty),
                ("window_minutes", ""),
                ("freeze_at", ""),
                ("thaw_at", ""),
            ]
        };
        let begins = "2001-01-01T00:00";
        let shown = |admin: &mut Browser| {
            let page = admin.get(&path).body;
            (value(&page, "name"), value(&page, "penalty_minutes"))
        };
        let saved = |name: &str, penalty: &str| (name.to_owned(), penalty.to_owned());
        assert_eq!(
            admin
                .post(&path, &fields("One", begins, "icpc", "7"))
                .status,
            303
        );
        assert_eq!(shown(&mut admin), saved("One", "7"));
        // The mode needs a begin in the same form, so nothing is saved.
        assert_eq!(
            admin.post(&path, &fields("Two", "", "icpc", "8")).status,
            422
        );
        assert_eq!(shown(&mut admin), saved("One", "7"));
        assert_eq!(
            admin
                .post(&path, &fields("Two", begins, "icpc", "x"))
                .status,
            422
        );
        assert_eq!(shown(&mut admin), saved("One", "7"));
        // The penalty does not belong to the other mode, and its field is hidden.
        assert_eq!(
            admin.post(&path, &fields("Three", "", "points", "")).status,
            303
        );
        assert_eq!(shown(&mut admin), saved("Three", "7"));
        // Empty times open the round and its results, so none may be missing.
        let all = fields("Four", begins, "icpc", "9");
        for missing in (1..all.len()).filter(|index| all[*index].0 != "mode") {
            let mut fields = all.to_vec();
            let (name, _) = fields.remove(missing);
            let status = admin.post(&path, &fields).status;
            assert!([400, 422].contains(&status), "{name}: {status}");
            assert_eq!(shown(&mut admin), saved("Three", "7"), "{name}");
        }
    });
}

#[test]
fn form_of_a_round_opens_the_fields_in_use() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let path = format!("/rounds/{}", contest.round);
        let open = |page: &str| {
            ["freeze", "window"].map(|id| {
                let closed = format!("<details id=\"{id}\">");
                let open = format!("<details id=\"{id}\" open>");
                assert!(page.contains(&closed) != page.contains(&open), "{page}");
                page.contains(&open)
            })
        };
        assert_eq!(open(&admin.get(&path).body), [false, false]);
        let frozen = "2001-01-01T03:00";
        // Mode, minutes of personal time, freeze; whether freeze and personal time are open.
        let table = [
            ("points", "", "", [false, false]),
            ("icpc", "", "", [true, false]),
            ("points", "", frozen, [true, false]),
            ("points", "90", "", [false, true]),
            ("icpc", "90", frozen, [true, true]),
        ];
        for (mode, window, freeze, expected) in table {
            let fields = [
                ("name", "Round"),
                ("begins", "2001-01-01T00:00"),
                ("ends", "2001-01-01T05:00"),
                ("full_results", ""),
                ("ranking_from", ""),
                ("mode", mode),
                ("penalty_minutes", "20"),
                ("window_minutes", window),
                ("freeze_at", freeze),
                ("thaw_at", ""),
            ];
            assert_eq!(admin.post(&path, &fields).status, 303, "{mode} {window}");
            let page = admin.get(&path).body;
            assert_eq!(open(&page), expected, "{mode} {window} {freeze}");
            let penalty = page
                .split("<label class=\"icpc\">")
                .nth(1)
                .expect("a field");
            let penalty = penalty.split("</label>").next().unwrap_or_default();
            assert!(penalty.contains("penalty_minutes"), "{penalty}");
            // A form that is rejected hides nothing that was typed.
            let mut wrong = fields.to_vec();
            wrong[7].1 = "0";
            let answer = admin.post_on(&path, &path, &wrong);
            assert_eq!(answer.status, 422, "{answer:#?}");
            assert_eq!(open(&answer.body), [true, true], "{mode} {window}");
        }
    });
}

#[test]
fn round_sets_the_points_of_a_problem() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let mut bob = user(&site, "bob");
        let sent = cup.submit(&mut bob, RIGHT);
        admin.wait_for_result(&sent, "Accepted");
        let ranking = format!("/contests/{}/ranking", cup.contest);
        let page = format!("/round-problems/{}", cup.problem);
        let program = Program {
            site: &site,
            token: token(&mut bob, "read"),
        };
        for wrong in ["0", "-5", "1.5", "10001", "x"] {
            let answer = edit(&mut admin, &cup, "all", &[("max_points", wrong)]);
            assert_eq!(answer.status, 422, "{wrong}");
        }
        for (points, shown) in [("", "100"), ("30", "30"), ("250", "250"), ("", "100")] {
            let answer = edit(&mut admin, &cup, "all", &[("max_points", points)]);
            assert_eq!(answer.status, 303, "{answer:#?}");
            // A form without the field keeps the points.
            assert_eq!(edit(&mut admin, &cup, "all", &[]).status, 303);
            let form = admin.get(&page).body;
            let value = format!("value=\"{points}\"");
            let input = tag_after(&form, "max_points");
            assert_eq!(input.contains(&value), !points.is_empty(), "{input}");
            for browser in [&mut admin, &mut bob] {
                let seen = browser.get(&sent).body;
                assert!(seen.contains(&format!("{shown} / {shown}")), "{seen}");
                let fact = format!("<dt>Points</dt><dd>{shown}</dd>");
                assert!(browser.get(&page).body.contains(&fact));
            }
            let table: serde_json::Value =
                serde_json::from_str(&admin.get(&format!("{ranking}.json")).body).expect("JSON");
            let total = table["tables"][0]["rows"][0]["total"].to_string();
            assert!(total.contains(shown), "{table}");
            assert!(admin.get(&format!("{ranking}.csv")).body.contains(shown));
            let id = sent.rsplit('/').next().expect("a number");
            let (_, found) = program.get(&format!("/submissions/{id}"));
            let expected: f64 = shown.parse().expect("a number");
            assert_eq!(found["score"], expected, "{found}");
            assert_eq!(found["max_score"], expected, "{found}");
        }
        // A copy of the round has the same points.
        let answer = edit(&mut admin, &cup, "all", &[("max_points", "40")]);
        assert_eq!(answer.status, 303, "{answer:#?}");
        let copy = admin.post(&format!("/rounds/{}/copy", cup.round), &[]);
        let copy = admin.get(&copy.location.expect("a round")).body;
        let problem = copy.split("/round-problems/").nth(1).expect("a problem");
        let problem = problem.split('"').next().expect("a number");
        let form = admin.get(&format!("/round-problems/{problem}")).body;
        assert!(tag_after(&form, "max_points").contains("value=\"40\""));
        // In ICPC mode, points do not count.
        assert_eq!(cup.rules(&mut admin, "", ""), 303);
        assert!(!admin.get(&page).body.contains("max_points"));
        for browser in [&mut admin, &mut bob] {
            let seen = browser.get(&sent).body;
            assert!(seen.contains("100 / 100"), "{seen}");
        }
        assert!(
            admin
                .get(&page)
                .body
                .contains("<dt>Points</dt><dd>100</dd>")
        );
    });
}

/// What a browser sends for the form with the settings of a round, as the page shows it.
fn form_of(page: &str) -> Vec<(String, String)> {
    let document = scraper::Html::parse_document(page);
    let forms = scraper::Selector::parse("form.fields").expect("a selector");
    let inputs = scraper::Selector::parse("input[name]").expect("a selector");
    let of_form = |form| scraper::ElementRef::select(&form, &inputs).collect::<Vec<_>>();
    let mut forms = document.select(&forms).map(of_form);
    let is_wanted = |inputs: &Vec<scraper::ElementRef>| {
        inputs.iter().any(|it| it.attr("name") == Some("freeze_at"))
    };
    let sent = forms.find(is_wanted).expect("a form").into_iter();
    let sent = sent.filter(|it| {
        let is_choice = matches!(it.attr("type"), Some("checkbox" | "radio"));
        !is_choice || it.attr("checked").is_some()
    });
    let text = |it: &scraper::ElementRef, name| it.attr(name).unwrap_or_default().to_owned();
    sent.map(|it| (text(&it, "name"), text(&it, "value")))
        .collect()
}

#[test]
fn stale_form_of_a_round_changes_only_what_was_edited() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let cup = Cup::new(&mut admin);
        let mut bob = user(&site, "bob");
        let fields = [("login", "bob"), ("role", "moderator")];
        let members = format!("/contests/{}/members", cup.contest);
        assert_eq!(admin.post(&members, &fields).status, 303);
        let path = format!("/rounds/{}", cup.round);
        let is_frozen = |browser: &mut Browser| browser.get(&path).body.contains("since");
        let send = |browser: &mut Browser, page: &str, edits: &[(&str, &str)]| {
            let form = form_of(page);
            let fields = form.iter().map(|(name, shown)| {
                let edit = edits.iter().find(|(edited, _)| edited == name);
                (
                    name.as_str(),
                    edit.map_or(shown.as_str(), |(_, text)| *text),
                )
            });
            browser.post_on(&path, &path, &fields.collect::<Vec<_>>())
        };
        // The owner thaws the ranking while the owner and a moderator have the form open.
        for browser in [&mut admin.clone(), &mut bob] {
            assert_eq!(cup.rules(&mut admin, "", "2001-01-01T03:00"), 303);
            let stale = browser.get(&path).body;
            assert!(is_frozen(browser), "{stale}");
            assert_eq!(admin.post(&format!("{path}/thaw"), &[]).status, 303);
            // Neither a name nor a form that is shown again brings the freeze back.
            let rejected = send(browser, &stale, &[("name", "")]);
            assert_eq!(rejected.status, 422, "{rejected:#?}");
            let saved = send(browser, &rejected.body, &[("name", "New")]);
            assert_eq!(saved.status, 303, "{saved:#?}");
            assert!(!is_frozen(browser));
            assert_eq!(send(browser, &stale, &[("name", "New")]).status, 303);
            assert!(!is_frozen(browser));
        }
        // Of two changes of a time, the second is made only after the first was seen.
        let stale = admin.get(&path).body;
        let (first, second) = ("2998-01-01T00:00:00", "2997-01-01T00:00:00");
        assert_eq!(send(&mut bob, &stale, &[("ends", first)]).status, 303);
        let rejected = send(&mut admin, &stale, &[("ends", second)]);
        assert_eq!(rejected.status, 422, "{rejected:#?}");
        // Another form on the page has a field of this name.
        fn end(page: &str) -> &str {
            let (_, form) = page.split_once("name=\"begins\"").expect("a form");
            tag_after(form, "ends")
        }
        let input = end(&rejected.body);
        assert!(
            input.contains("aria-invalid") && input.contains(second),
            "{input}"
        );
        assert!(end(&admin.get(&path).body).contains(first));
        assert_eq!(send(&mut admin, &rejected.body, &[]).status, 303);
        assert!(end(&admin.get(&path).body).contains(second));
    });
}
