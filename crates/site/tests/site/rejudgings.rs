//! Sets of submissions that are judged again, and jobs: pages name contests, problems and versions.

use super::accounts::{new_user, user_id};
use super::support::contest::{contestant, first_admin, make_contest, submit};
use super::support::{archive, files_of_sum, with_each};
use super::{HALF, RIGHT};
use scraper::{Html, Selector};

/// The texts of the options in a choice of a form.
fn options(page: &str, name: &str) -> Vec<String> {
    let document = Html::parse_document(page);
    let selector = format!("form select[name={name}] option");
    let selector = Selector::parse(&selector).expect("a selector");
    let options = document.select(&selector);
    let texts = options.map(|option| option.text().collect::<String>());
    texts.map(|text| text.trim().to_owned()).collect()
}

/// The text of an element.
fn text(page: &str, selector: &str) -> String {
    let document = Html::parse_document(page);
    let selector = Selector::parse(selector).expect("a selector");
    let found = document.select(&selector).next().expect("an element");
    found.text().collect()
}

#[test]
fn rejudging_is_chosen_and_shown_by_names() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        for (source, result) in [(RIGHT, "Accepted"), (HALF, "Wrong answer")] {
            let page = submit(&mut bob, &contest, source).location;
            admin.wait_for_result(&page.expect("a page"), result);
        }
        let form = admin.get("/rejudgings/new").body;
        assert_eq!(options(&form, "contest"), ["All", "Cup"]);
        assert_eq!(options(&form, "problem"), ["All", "Sum"]);
        let form = format!("/rejudgings/new?contest={}&reason=typed", contest.id);
        let form = admin.get(&form).body;
        assert_eq!(options(&form, "round"), ["All", "Round"]);
        assert_eq!(options(&form, "round_problem"), ["All", "A Sum"]);
        assert!(form.contains("value=\"typed\""), "{form}");
        assert!(!form.contains("type=\"number\""), "{form}");
        let number = contest.problem.to_string();
        let form = admin.get(&format!("/rejudgings/new?round_problem={number}"));
        assert_eq!(options(&form.body, "version"), ["All", "1"]);

        let fields = [
            ("round_problem", number.as_str()),
            ("user", "bob"),
            ("verdict", "accepted"),
        ];
        let set = admin.post("/rejudgings/new", &fields);
        let page = set.location.expect("a page");
        let shown = text(&admin.get(&page).body, "#chosen");
        assert_eq!(
            shown,
            "Contest: Cup, Problem of a round: A Sum, User: bob, Result: Accepted"
        );
        let list = text(&admin.get("/rejudgings").body, "tbody tr");
        assert!(list.contains(&shown), "{list}");
        let preview = admin.wait_for(&page, "Apply the new results").body;
        assert!(preview.contains("0 submissions change"), "{preview}");
        // A repetition names the set that it repeats.
        assert_eq!(admin.post(&format!("{page}/drop"), &[]).status, 303);
        let again = admin.post(&format!("{page}/repeat"), &[]).location;
        let shown = text(&admin.get(&again.expect("a page")).body, "#chosen");
        assert_eq!(shown, "Contest: Cup, Repeats: #1");
    });
}

#[test]
fn form_names_nothing_that_its_viewer_does_not_see() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut files = files_of_sum();
        for (name, content) in &mut files {
            if *name == "problem.yaml" {
                *content = "name: Hidden-name-3c1\nlimits:\n  memory: 256\n";
            }
        }
        let fields = [("visibility", "private")];
        let hidden = admin.upload("/problems/new", &fields, ("a.zip", &archive(&files)));
        assert_eq!(hidden.status, 303, "{hidden:#?}");
        let hidden = hidden.id();
        let mut tom = new_user(&site, "tom");
        let path = format!("/users/{}", user_id(&mut admin, "tom"));
        assert_eq!(admin.post(&path, &[("role", "teacher")]).status, 303);
        let own = make_contest(&mut tom);
        let form = format!("/rejudgings/new?contest={}&problem={hidden}", own.id);
        assert!(admin.get(&form).body.contains("Hidden-name-3c1"));
        let page = tom.get(&form).body;
        assert_eq!(options(&page, "contest"), ["Cup"]);
        assert!(!page.contains("Hidden-name-3c1"), "{page}");
        assert!(options(&page, "version").is_empty(), "{page}");
        // The first version of the site is that of the hidden problem.
        let page = tom.get(&format!("/rejudgings/new?contest={}&version=1", own.id));
        assert_eq!(options(&page.body, "version"), ["All", "#1"]);
        assert!(!page.body.contains("Hidden-name-3c1"), "{page:#?}");
    });
}

#[test]
fn jobs_are_listed_with_the_names_of_what_they_change() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let job = admin.post(&format!("/problems/{}/limits", contest.package), &[]);
        let job = job.location.expect("a job");
        assert_eq!(text(&admin.get(&job).body, "#subject"), "Sum");
        let list = admin.get("/jobs").body;
        assert!(text(&list, "tbody tr").contains("Sum"), "{list}");
    });
}

#[test]
fn choices_follow_the_contest_and_keep_what_was_typed() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let (first, second) = (make_contest(&mut admin), make_contest(&mut admin));
        let form = |contest: &str, user: &str| {
            format!(
                "/rejudgings/new?narrow=1&contest={contest}&round={}&round_problem={}&user={user}\
                 &reason=because",
                first.round, first.problem
            )
        };
        let chosen = |page: &str, name: &str| {
            let select = page.split(&format!("<select name=\"{name}\">")).nth(1);
            let select = select.and_then(|rest| rest.split("</select>").next());
            let options = select.unwrap_or_default().split("<option");
            let mut options = options.filter(|it| it.contains("selected"));
            options.next().unwrap_or_default().to_owned()
        };
        let value = |id: i64| format!("value=\"{id}\"");
        let page = admin.get(&form(&first.id.to_string(), "")).body;
        assert!(
            chosen(&page, "round").contains(&value(first.round)),
            "{page}"
        );
        let page = admin.get(&form(&second.id.to_string(), "")).body;
        assert!(
            chosen(&page, "contest").contains(&value(second.id)),
            "{page}"
        );
        assert!(chosen(&page, "round").contains("value=\"\""), "{page}");
        let page = admin.get(&form("", "")).body;
        assert!(chosen(&page, "contest").contains("value=\"\""), "{page}");
        // An unknown login does not lose the rest of the form.
        let answer = admin.get(&form(&first.id.to_string(), "missing"));
        assert_eq!(answer.status, 200, "{answer:#?}");
        assert!(answer.body.contains("role=\"alert\""), "{answer:#?}");
        assert!(answer.body.contains("value=\"because\""), "{answer:#?}");
        assert!(answer.body.contains("value=\"missing\""), "{answer:#?}");
    });
}
