//! Classes: pupils and their passwords, problems, contests and grades, and what teachers may not
//! do with users of others.

use super::accounts::{element, new_user, sign_in, user_id};
use super::support::contest::{contest_with, set_round, submit};
use super::support::{Answer, Browser, Site, archive, files_of_sum, with_each};
use super::{RIGHT, first_admin};

/// A new user with the role of a teacher.
fn teacher(site: &Site, admin: &mut Browser, login: &str) -> Browser {
    let mut browser = new_user(site, login);
    let path = format!("/users/{}", user_id(admin, login));
    assert_eq!(admin.post(&path, &[("role", "teacher")]).status, 303);
    assert_eq!(browser.get("/classes").status, 200);
    browser
}

fn class(teacher: &mut Browser, name: &str) -> String {
    let made = teacher.post("/classes", &[("name", name)]);
    assert_eq!(made.status, 303, "{made:#?}");
    made.location.expect("a page")
}

/// Previews a list, and applies it with generated passwords if no line is refused.
fn import(teacher: &mut Browser, class: &str, list: &str) -> Answer {
    let path = format!("{class}/import");
    let seen = teacher.upload(&path, &[("accounts", list)], ("", b""));
    assert_eq!(seen.status, 200, "{seen:#?}");
    let plan = seen.body.split("name=\"plan\" value=\"").nth(1);
    let Some(plan) = plan.and_then(|it| it.split('"').next()) else {
        return seen;
    };
    let fields = [
        ("accounts", list),
        ("plan", plan),
        ("issue", "passwords"),
        ("format", "page"),
    ];
    let applied = teacher.upload(&format!("{path}/apply"), &fields, ("", b""));
    assert_eq!(applied.status, 200, "{applied:#?}");
    applied
}

/// The login and the password on each slip.
fn slips(page: &Answer) -> Vec<(String, String)> {
    let document = scraper::Html::parse_document(&page.body);
    let selector = |text| scraper::Selector::parse(text).expect("a selector");
    let (slip, code) = (selector("#slips .slip"), selector("code"));
    let slips = document.select(&slip).map(|one| {
        let mut codes = one.select(&code).map(|it| it.text().collect::<String>());
        let login = codes.next().expect("a login");
        (login, codes.next().expect("a password"))
    });
    slips.collect()
}

/// The numbers of a class's members by login.
fn members(teacher: &mut Browser, class: &str) -> Vec<String> {
    let document = scraper::Html::parse_document(&teacher.get(class).body);
    let selector = scraper::Selector::parse("#pupils input").expect("a selector");
    let inputs = document.select(&selector);
    let ids = inputs.map(|it| it.attr("value").expect("a number").to_owned());
    ids.collect()
}

#[test]
fn teacher_adds_pupils_and_prints_passwords() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut tea = teacher(&site, &mut admin, "tea");
        let class = class(&mut tea, "2a");
        let made = import(
            &mut tea,
            &class,
            "Login;Imię i nazwisko\nala;Ala A\nola;Ola B\n",
        );
        let made = slips(&made);
        assert_eq!(made.len(), 2, "{made:?}");
        for (login, password) in &made {
            let mut pupil = Browser::new(&site);
            assert_eq!(sign_in(&mut pupil, login, password).0, 303, "{login}");
            assert_eq!(pupil.get("/classes").status, 404);
            assert_eq!(pupil.get(&class).status, 404);
        }

        // A new password ends the sessions of the chosen pupil, and of no other one.
        let [mut ala, mut ola] = [0, 1].map(|at: usize| {
            let mut browser = Browser::new(&site);
            sign_in(&mut browser, &made[at].0, &made[at].1);
            browser
        });
        let ids = members(&mut tea, &class);
        let path = format!("{class}/members/change");
        let none = tea.post(&path, &[("act", "passwords")]);
        assert_eq!(none.status, 422, "{none:#?}");
        let fields = [("act", "passwords"), ("user", ids[0].as_str())];
        let renewed = slips(&tea.post(&path, &fields));
        assert_eq!(renewed.len(), 1, "{renewed:?}");
        assert_eq!(renewed[0].0, "ala");
        assert_eq!(ala.get("/account").status, 303);
        assert_eq!(ola.get("/account").status, 200);
        assert_eq!(sign_in(&mut ala, "ala", &made[0].1).0, 422);
        assert_eq!(sign_in(&mut ala, "ala", &renewed[0].1).0, 303);

        // The list can be imported again, and changes only the name.
        let again = import(&mut tea, &class, "login,name\nala,Ala C\nola,Ola B\n");
        assert!(slips(&again).is_empty(), "{again:#?}");
        assert!(tea.get(&class).body.contains("Ala C"));
        assert_eq!(ala.get("/account").status, 200);

        let fields = [("act", "remove"), ("user", ids[0].as_str())];
        assert_eq!(tea.post(&path, &fields).status, 303);
        assert_eq!(members(&mut tea, &class), ids[1..]);
        // The teacher has added ala, and may add ala to the class again.
        let add = format!("{class}/members");
        assert_eq!(tea.post(&add, &[("login", "ala")]).status, 303);
        assert_eq!(members(&mut tea, &class), ids);
    });
}

#[test]
fn teacher_cannot_change_users_of_others() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut tea = teacher(&site, &mut admin, "tea");
        let mut joe = teacher(&site, &mut admin, "joe");
        let mut bob = new_user(&site, "bob");
        let class = class(&mut tea, "2a");
        import(&mut tea, &class, "login\nala\n");
        let ala = members(&mut tea, &class);

        // Other classes do not exist for teachers and users.
        let change = format!("{class}/members/change");
        let renew = [("act", "passwords"), ("user", ala[0].as_str())];
        for stranger in [&mut joe, &mut bob] {
            assert_eq!(stranger.get(&class).status, 404);
            assert_eq!(stranger.get(&format!("{class}/import")).status, 404);
            assert_eq!(stranger.get(&format!("{class}/grades.csv")).status, 404);
            assert_eq!(stranger.post(&change, &renew).status, 404);
            assert_eq!(stranger.post(&format!("{class}/delete"), &[]).status, 404);
        }
        assert_eq!(bob.post("/classes", &[("name", "x")]).status, 404);

        // Neither a form nor a list makes other users pupils, whether they exist or have rights.
        let add = format!("{class}/members");
        for login in ["bob", "joe", "ada"] {
            let refused = tea.post(&add, &[("login", login)]);
            assert_eq!(refused.status, 403, "{login}: {refused:#?}");
            let list = format!("login,password\n{login},correct horse\n");
            let refused = import(&mut tea, &class, &list);
            assert!(
                refused.body.contains("not one of your pupils"),
                "{refused:#?}"
            );
        }
        let refused = import(&mut tea, &class, "login,role\neve,teacher\n");
        assert!(
            refused.body.contains("cannot give the role"),
            "{refused:#?}"
        );
        assert_eq!(members(&mut tea, &class), ala);

        // A pupil with more rights is no pupil any more.
        let path = format!("/users/{}", ala[0]);
        assert_eq!(admin.post(&path, &[("role", "admin")]).status, 303);
        assert_eq!(tea.post(&change, &renew).status, 403);
        assert_eq!(admin.post(&change, &renew).status, 403);
        assert_eq!(admin.post(&path, &[("role", "user")]).status, 303);
        assert_eq!(slips(&tea.post(&change, &renew)).len(), 1);

        // An administrator adds any user, and hands the class over to a teacher only.
        assert_eq!(admin.post(&add, &[("login", "bob")]).status, 303);
        assert_eq!(members(&mut tea, &class).len(), 2);
        let owner = |login| [("name", "2a"), ("owner", login)];
        assert_eq!(tea.post(&class, &owner("joe")).status, 303);
        assert_eq!(
            joe.get(&class).status,
            404,
            "only an administrator does this"
        );
        assert_eq!(admin.post(&class, &owner("bob")).status, 403);
        assert_eq!(admin.post(&class, &owner("joe")).status, 303);
        assert_eq!(tea.get(&class).status, 404);
        assert_eq!(joe.get(&class).status, 200);
    });
}

#[test]
fn class_sees_its_problems_and_takes_part_in_contests() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut tea = teacher(&site, &mut admin, "tea");
        let mut joe = teacher(&site, &mut admin, "joe");
        let class = class(&mut tea, "2a");
        let made = slips(&import(&mut tea, &class, "login\nala\nola\n"));
        let mut ala = Browser::new(&site);
        sign_in(&mut ala, "ala", &made[0].1);
        let mut bob = new_user(&site, "bob");

        let fields = [("visibility", "private")];
        let sum = archive(&files_of_sum());
        let own = tea.upload("/problems/new", &fields, ("sum.zip", &sum)).id();
        let foreign = joe.upload("/problems/new", &fields, ("sum.zip", &sum)).id();
        let page = format!("/problems/{own}");
        assert_eq!(ala.get(&page).status, 404);
        let (own, foreign) = (own.to_string(), foreign.to_string());
        let problems = format!("{class}/problems");
        assert_eq!(tea.post(&problems, &[("problem", &foreign)]).status, 422);
        assert_eq!(admin.post(&problems, &[("problem", &foreign)]).status, 403);
        assert_eq!(tea.post(&problems, &[("problem", &own)]).status, 303);
        assert_eq!(ala.get(&page).status, 200);
        assert!(ala.get("/problems").body.contains(&page));
        assert_eq!(ala.get(&format!("{page}/versions")).status, 404);
        assert_eq!(bob.get(&page).status, 404);
        assert!(!bob.get("/problems").body.contains(&page));
        let sent = ala.upload(
            &format!("{page}/submit"),
            &[("language", "")],
            ("a.py", RIGHT),
        );
        assert_eq!(sent.status, 303, "{sent:#?}");
        let hide = format!("{problems}/remove");
        assert_eq!(tea.post(&hide, &[("problem", &own)]).status, 303);
        assert_eq!(ala.get(&page).status, 404);

        // The whole class enters a contest, and again without effect.
        let contest = contest_with(&mut tea, own.parse().expect("a number"));
        let classes = format!("/contests/{}/classes", contest.id);
        let id = class.trim_start_matches("/classes/").to_owned();
        assert_eq!(ala.get(&format!("/contests/{}", contest.id)).status, 404);
        for _ in 0..2 {
            assert_eq!(tea.post(&classes, &[("class", &id)]).status, 303);
        }
        let other = contest_with(&mut joe, foreign.parse().expect("a number"));
        let stolen = joe.post(
            &format!("/contests/{}/classes", other.id),
            &[("class", &id)],
        );
        assert_eq!(stolen.status, 422, "{stolen:#?}");
        let list = tea.get(&format!("/contests/{}/participants", contest.id));
        assert_eq!(list.body.matches("<td>2a</td>").count(), 2, "{list:#?}");

        let submission = submit(&mut ala, &contest, RIGHT).id();
        tea.wait_for(&format!("/submissions/{submission}"), "hidden-test");
        tea.wait_for(&format!("/contests/{}/ranking", contest.id), "100");
        let grades = format!("{class}/grades");
        let shown = tea.get(&format!("{grades}?contest={}", contest.id));
        assert!(element(&shown.body, "grades").contains("100"), "{shown:#?}");
        let csv = tea
            .get(&format!("{grades}.csv?contest={}", contest.id))
            .body;
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "login,name,Cup: Round (points),points,solved");
        assert_eq!(lines[1], "ala,ala,100,100,0");
        assert!(lines[2].starts_with("ola,ola,"), "{csv}");
        // The sheet has no contest that the teacher does not manage.
        let csv = tea.get(&format!("{grades}.csv?contest={}", other.id)).body;
        assert!(csv.starts_with("login,name,points,solved"), "{csv}");
    });
}

#[test]
fn solution_of_homework_is_closed_until_a_round_with_the_problem_is_over() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut tea = teacher(&site, &mut admin, "tea");
        let class = class(&mut tea, "2a");
        let made = slips(&import(&mut tea, &class, "login\nala\n"));
        let mut ala = Browser::new(&site);
        sign_in(&mut ala, "ala", &made[0].1);
        let fields = [("visibility", "private")];
        let package = super::editorial::package();
        let problem = tea.upload("/problems/new", &fields, ("sum.zip", &package));
        let (id, page) = (problem.id(), problem.location.expect("a page"));
        let (problems, number) = (format!("{class}/problems"), id.to_string());
        assert_eq!(tea.post(&problems, &[("problem", &number)]).status, 303);
        let editorial = format!("{page}/editorial");
        assert_eq!(ala.get(&page).status, 200);
        assert!(!ala.get(&page).body.contains("/editorial"));
        for file in ["", "/solution.pl.pdf", "/plot.png"] {
            assert_eq!(ala.get(&format!("{editorial}{file}")).status, 404, "{file}");
        }
        assert_eq!(tea.get(&editorial).status, 200);
        let contest = contest_with(&mut tea, id);
        assert_eq!(ala.get(&editorial).status, 404, "while the round runs");
        let times = ["2001-01-01T00:00", "2001-01-01T01:00", ""];
        set_round(&mut tea, contest.round, "Round", times);
        assert_eq!(ala.get(&editorial).status, 200);
    });
}
