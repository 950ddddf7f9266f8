//! Judging under disturbances: stopping, rejudging, and a site that is killed at any moment.

#[allow(unreachable_pub, dead_code, reason = "tests share the module")]
mod support;

use sqlx::Row;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteRow};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use support::contest::{
    add_version, contestant, first_admin, make_contest, make_contest_of, submit,
};
use support::{Browser, Site, archive, files_of_sum, with_each};

const RIGHT: &[u8] = b"a, b = map(int, input().split())\nprint(a + b)\n";
const WRONG: &[u8] = b"print(3)\n";
const ENDLESS: &[u8] = b"while True: pass\n";

/// The package whose time limit is so long that no test waits for it.
fn patient_package() -> Vec<u8> {
    let mut files = files_of_sum();
    files.retain(|(name, _)| *name != ".timelimit");
    files.push((".timelimit", "3600\n"));
    archive(&files)
}

#[test]
fn stopping_ends_the_program_and_the_next_submission_is_judged() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest_of(&mut admin, &patient_package());
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let endless = submit(&mut bob, &contest, ENDLESS).id();
        let page = format!("/submissions/{endless}");
        admin.wait_for("/queue", "running");
        let waiting = submit(&mut bob, &contest, ENDLESS).id();
        let right = submit(&mut bob, &contest, RIGHT).id();
        assert_eq!(bob.post(&format!("{page}/cancel"), &[]).status, 404);
        for id in [waiting, endless] {
            let path = format!("/submissions/{id}/cancel");
            assert_eq!(admin.post(&path, &[]).status, 303);
        }
        // The site has one worker, which takes the next submission only when the program has ended.
        bob.wait_for_result(&format!("/submissions/{right}"), "Accepted");
        for id in [waiting, endless] {
            let page = bob.get(&format!("/submissions/{id}"));
            assert!(page.body.contains("Not judged"), "{page:#?}");
        }
    });
}

#[test]
fn contest_interrupts_other_judging_which_is_judged_afterwards() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest_of(&mut admin, &patient_package());
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        // It runs longer than the others take, and needs no CPU time.
        let slow = b"import time\ntime.sleep(8)\na, b = map(int, input().split())\nprint(a + b)\n";
        let page = format!("/problems/{}/submit", contest.package);
        let slow = admin.upload(&page, &[("language", "")], ("a.py", slow));
        let slow = format!("/submissions/{}", slow.id());
        admin.wait_for("/queue", "running");
        let right = submit(&mut bob, &contest, RIGHT).id();
        bob.wait_for_result(&format!("/submissions/{right}"), "Accepted");
        let waits = admin.get(&slow);
        assert!(!waits.body.contains("Accepted"), "{waits:#?}");
        let judged = admin.wait_for(&slow, "hidden-test");
        assert!(judged.body.contains("Accepted"), "{judged:#?}");
        let faults = admin.get("/faults").body;
        assert!(!faults.contains("/faults/"), "{faults}");
    });
}

#[test]
fn paused_problem_is_judged_when_it_continues() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let pause = format!("/round-problems/{}/pause", contest.problem);
    assert_eq!(bob.post(&pause, &[("pause", "1")]).status, 404);
    assert_eq!(admin.post(&pause, &[("pause", "1")]).status, 303);
    let paused = submit(&mut bob, &contest, RIGHT).id();
    let page = format!("/problems/{}", contest.package);
    let practice = admin.upload(
        &format!("{page}/submit"),
        &[("language", "")],
        ("a.py", RIGHT),
    );
    admin.wait_for_result(&format!("/submissions/{}", practice.id()), "Accepted");
    let waiting = bob.get(&format!("/submissions/{paused}"));
    assert!(waiting.body.contains("Waiting"), "{waiting:#?}");
    assert_eq!(admin.post(&pause, &[("pause", "")]).status, 303);
    bob.wait_for_result(&format!("/submissions/{paused}"), "Accepted");
}

/// A package with a checker that cannot be compiled.
fn broken_files() -> Vec<(&'static str, &'static str)> {
    let mut files = files_of_sum();
    files.push(("problem.yaml", "name: Sum\nvalidation: custom\n"));
    files.remove(0);
    files.push(("output_validators/check/check.c", "this is no program\n"));
    files
}

#[test]
fn managers_see_lists_of_faults_and_rejudgings_and_others_do_not() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let user = |login: &str| {
            let mut browser = Browser::new(&site);
            browser.sign_up("/sign-up", login);
            browser
        };
        let set_role = |login: &str, role: &str| {
            site.run(&["user", "set-role"], &[login, role]).output();
        };
        // The author was a teacher.
        let mut author = user("author");
        set_role("author", "teacher");
        let contest = make_contest_of(&mut author, &archive(&broken_files()));
        let members = format!("/contests/{}/members", contest.id);
        let fields = [("login", "ada"), ("role", "owner")];
        assert_eq!(author.post(&members, &fields).status, 303);
        set_role("author", "user");
        let fields = [("login", "author"), ("role", "")];
        assert_eq!(admin.post(&members, &fields).status, 303);
        let mut teacher = user("teacher");
        set_role("teacher", "teacher");
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let (mut owner, mut moderator, mut eve) = (user("owner"), user("moderator"), user("eve"));
        for role in ["owner", "moderator"] {
            let fields = [("login", role), ("role", role)];
            assert_eq!(admin.post(&members, &fields).status, 303);
        }
        let page = format!("/contests/{}", contest.id);
        for (path, is_empty) in [
            ("/faults", true),
            ("/rejudgings", true),
            ("/faults", false),
            ("/rejudgings", false),
        ] {
            if path == "/faults" && !is_empty {
                submit(&mut bob, &contest, RIGHT);
                admin.wait_for("/faults", "The package cannot be judged");
                let number = contest.id.to_string();
                let fields = [("contest", number.as_str())];
                assert_eq!(moderator.post("/rejudgings/new", &fields).status, 303);
            }
            let entry = format!("href=\"{path}/1\"");
            // Whether the viewer sees the list, and its entries.
            for (login, browser, list, entries) in [
                ("admin", &mut admin, true, true),
                ("teacher", &mut teacher, true, false),
                ("owner", &mut owner, true, true),
                ("moderator", &mut moderator, true, true),
                // The set belongs to the contest, and the fault to the problem.
                ("author", &mut author, true, path == "/faults"),
                ("bob", &mut bob, false, false),
                ("eve", &mut eve, false, false),
            ] {
                let what = format!("{login} {path} {is_empty}");
                let found = browser.get(path);
                let status = if list { 200 } else { 404 };
                assert_eq!(found.status, status, "{what}: {found:#?}");
                let has_entry = found.body.contains(&entry);
                assert_eq!(has_entry, entries && !is_empty, "{what}: {found:#?}");
                let status = browser.get(&format!("{path}/1")).status;
                let expected = if entries && !is_empty { 200 } else { 404 };
                assert_eq!(status, expected, "{what}");
                // The contest leads to the lists, in its tabs or in the navigation.
                let manages = ["admin", "owner", "moderator"].contains(&login);
                let contest = browser.get(&page);
                // The page of an error has a navigation of its own.
                let links = match contest.status {
                    200 => contest.body.matches(&format!("href=\"{path}\"")).count(),
                    _ => 0,
                };
                assert_eq!(links, usize::from(manages), "{what}: {contest:#?}");
            }
            let guest = Browser::new(&site).get(path);
            assert_eq!(guest.location.as_deref(), Some("/sign-in"), "{guest:#?}");
        }
    });
}

#[test]
fn broken_package_is_a_fault_until_it_is_repaired() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest_of(&mut admin, &archive(&broken_files()));
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let id = submit(&mut bob, &contest, RIGHT).id();
    admin.wait_for("/faults", "The package cannot be judged");
    let page = bob.get(&format!("/submissions/{id}"));
    assert!(
        page.body.contains("Waiting") && !page.body.contains("error"),
        "{page:#?}"
    );
    assert_eq!(bob.get("/faults").status, 404);
    assert_eq!(bob.get("/faults/1").status, 404);
    let fault = admin.get("/faults/1");
    assert!(fault.body.contains("check.c"), "{fault:#?}");
    assert!(
        !fault.body.contains("millibox-judge-"),
        "no path of the machine: {fault:#?}"
    );

    let version = add_version(&mut admin, &contest, &archive(&files_of_sum()));
    let offered = contest.use_version(&mut admin, version);
    assert!(offered.contains("/rejudgings/new"), "{offered}");
    assert_eq!(admin.post("/faults/1/close", &[]).status, 303);
    bob.wait_for_result(&format!("/submissions/{id}"), "Accepted");
}

#[test]
fn rejudging_is_previewed_and_applied_as_one() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let mut eve = contestant(&site, &mut admin, &contest, "eve");
        let right = submit(&mut bob, &contest, RIGHT).id();
        let wrong = submit(&mut eve, &contest, WRONG).id();
        admin.wait_for(&format!("/submissions/{right}"), "100 / 100");
        admin.wait_for(&format!("/submissions/{wrong}"), "0 / 100");

        // The new version has wrong answers, so it rejects the right program.
        let mut files = files_of_sum();
        files.retain(|(name, _)| *name != "data/secret/hidden-test.ans");
        files.push(("data/secret/hidden-test.ans", "3\n"));
        let version = add_version(&mut admin, &contest, &archive(&files));
        contest.use_version(&mut admin, version);
        let number = contest.problem.to_string();
        let fields = [
            ("round_problem", number.as_str()),
            ("reason", "New answers"),
        ];
        assert_eq!(bob.post("/rejudgings/new", &fields).status, 404);
        let set = admin.post("/rejudgings/new", &fields);
        let page = set.location.clone().expect("a page");
        assert_eq!(bob.get(&page).status, 404);
        let preview = admin.wait_for(&page, "Apply the new results");
        assert!(
            preview.body.contains("2 submissions change"),
            "{preview:#?}"
        );
        let ranks = preview.body.split("Ranks: Cup").nth(1).expect("ranks");
        assert!(
            ranks.contains("bob") && ranks.contains("eve"),
            "{preview:#?}"
        );
        let ranking = format!("/contests/{}/ranking", contest.id);
        let place_of = |page: &str, name: &str| page.find(name).expect("a rank");
        let before = admin.get(&ranking).body;
        assert!(
            place_of(&before, "bob") < place_of(&before, "eve"),
            "{before}"
        );

        assert_eq!(bob.post(&format!("{page}/apply"), &[]).status, 404);
        assert_eq!(admin.post(&format!("{page}/apply"), &[]).status, 303);
        assert_eq!(admin.post(&format!("{page}/drop"), &[]).status, 403);
        let after = admin.get(&ranking).body;
        assert!(place_of(&after, "eve") < place_of(&after, "bob"), "{after}");

        let again = admin.post(&format!("{page}/repeat"), &[]);
        let page = again.location.clone().expect("a page");
        admin.wait_for(&page, "0 submissions change");
        assert_eq!(admin.post(&format!("{page}/drop"), &[]).status, 303);
        assert!(admin.get(&page).body.contains("dropped"));
    });
}

#[test]
fn owner_of_a_problem_cannot_rejudge_contests_of_others() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut author = Browser::new(&site);
    author.sign_up("/sign-up", "author");
    let set_role = |role: &str| site.run(&["user", "set-role"], &["author", role]).output();
    set_role("teacher");
    let contest = make_contest(&mut author);
    let members = format!("/contests/{}/members", contest.id);
    let fields = [("login", "ada"), ("role", "owner")];
    assert_eq!(author.post(&members, &fields).status, 303);
    let fields = [("login", "author"), ("role", "")];
    assert_eq!(admin.post(&members, &fields).status, 303);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let right = submit(&mut bob, &contest, RIGHT).id();
    admin.wait_for(&format!("/submissions/{right}"), "100 / 100");
    let number = contest.package.to_string();
    let fields = [("problem", number.as_str())];
    // The owner manages no submission of the problem, so none is judged again.
    assert_eq!(author.post("/rejudgings/new", &fields).location, None);
    let set = admin.post("/rejudgings/new", &fields);
    let page = set.location.expect("a page");
    let preview = admin.wait_for(&page, "Apply the new results");
    assert!(preview.body.contains("Ranks: Cup"), "{preview:#?}");
    assert_eq!(author.get(&page).status, 404);
}

#[test]
fn set_of_a_contest_is_hidden_from_the_owner_of_its_problem() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut author = Browser::new(&site);
        author.sign_up("/sign-up", "author");
        let set_role = |role: &str| {
            site.run(&["user", "set-role"], &["author", role]).output();
        };
        set_role("teacher");
        let contest = make_contest(&mut author);
        let members = format!("/contests/{}/members", contest.id);
        for (browser, login, role) in [(&mut author, "ada", "owner"), (&mut admin, "author", "")] {
            let fields = [("login", login), ("role", role)];
            assert_eq!(browser.post(&members, &fields).status, 303);
        }
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let right = submit(&mut bob, &contest, RIGHT).id();
        let page = format!("/submissions/{right}");
        admin.wait_for(&page, "100 / 100");
        assert_eq!(admin.post(&format!("{page}/judge"), &[]).status, 303);
        admin.wait_for("/rejudgings/1", "applied");
        let list = author.get("/rejudgings").body;
        assert!(!list.contains("href=\"/rejudgings/1\""), "{list}");
        assert_eq!(author.post("/rejudgings/1/repeat", &[]).status, 404);
        for browser in [&mut author, &mut bob, &mut Browser::new(&site)] {
            assert_eq!(browser.get("/rejudgings/1").status, 404);
        }
    });
}

/// A random number below a bound.
fn below(bound: u64) -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock");
    u64::from(now.subsec_nanos()) / 64 % bound
}

/// What a site has stored, read from its file while it does not run.
struct Stored {
    /// Submissions with the number of their current judgements.
    current: BTreeMap<i64, i64>,
    /// The best points of each user by current results, in millionths.
    points: BTreeMap<String, i64>,
}

fn stored(site: &Site) -> Stored {
    let path = site.data().join("site.db");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let query = async |sql: &'static str| -> Vec<SqliteRow> {
        let options = SqliteConnectOptions::new().filename(&path).read_only(true);
        let pool = SqlitePoolOptions::new()
            .connect_with(options)
            .await
            .expect("a database");
        let rows = sqlx::query(sql).fetch_all(&pool).await.expect("rows");
        pool.close().await;
        rows
    };
    runtime.block_on(async {
        let current = query(
            "SELECT submission.id, (SELECT COUNT(*) FROM judgement
                WHERE submission_id = submission.id AND current = 1) AS n FROM submission",
        );
        let points = query(
            "SELECT login, MAX(score) AS points FROM submission
             JOIN users ON users.id = submission.user_id
             JOIN judgement ON judgement.submission_id = submission.id AND current = 1
             WHERE state = 'done' GROUP BY login",
        );
        let (current, points) = (current.await, points.await);
        Stored {
            current: current
                .iter()
                .map(|row| (row.get("id"), row.get("n")))
                .collect(),
            points: points
                .iter()
                .map(|row| (row.get("login"), row.get("points")))
                .collect(),
        }
    })
}

/// The sums of the ranking, by name.
fn sums(page: &str) -> BTreeMap<String, i64> {
    let document = scraper::Html::parse_document(page);
    let select = |text: &str| scraper::Selector::parse(text).expect("a selector");
    let (rows, cells) = (select("#ranking tbody tr"), select("td"));
    let sums = document.select(&rows).map(|row| {
        let texts: Vec<String> = row
            .select(&cells)
            .map(|cell| cell.text().collect())
            .collect();
        let sum: f64 = texts[2].trim().parse().expect("a sum");
        #[expect(clippy::cast_possible_truncation, reason = "the sums are small")]
        (texts[1].trim().to_owned(), (sum * 1e6).round() as i64)
    });
    sums.collect()
}

/// Kills the site while it judges, rejudges and receives submissions. After each start, no answered
/// submission is lost, each has one current judgement, and the ranking matches the results.
fn kill_while_judging(kills: usize) {
    let mut site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut users: Vec<Browser> = ["bob", "eve", "joe"]
        .map(|login| contestant(&site, &mut admin, &contest, login))
        .into();
    let mut answered = Vec::new();
    let number = contest.problem.to_string();
    for kill in 0..kills {
        for (index, user) in users.iter_mut().enumerate() {
            if kill % 3 == index || kill == 0 {
                let source = if (kill + index) % 2 == 0 {
                    RIGHT
                } else {
                    WRONG
                };
                answered.push(submit(user, &contest, source).id());
            }
        }
        let fields = [("round_problem", number.as_str())];
        match kill % 4 {
            1 => _ = admin.post("/rejudgings/new", &fields),
            3 => {
                let page = admin.get("/rejudgings").body;
                let id = page
                    .split("/rejudgings/")
                    .filter_map(|rest| rest.split('"').next()?.parse::<i64>().ok());
                if let Some(id) = id.max() {
                    // The request may be refused, because not everything is judged.
                    admin.post(&format!("/rejudgings/{id}/apply"), &[]);
                }
            }
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(below(400)));
        site.kill();
        let before = stored(&site);
        for id in &answered {
            assert_eq!(
                before.current.get(id),
                Some(&1),
                "submission {id} after kill {kill}"
            );
        }
        assert!(
            before.current.values().all(|count| *count == 1),
            "kill {kill}"
        );
        site.restart();
        admin = admin.moved(&site);
        users = users.into_iter().map(|user| user.moved(&site)).collect();
        let mut shown = sums(&admin.get(&format!("/contests/{}/ranking", contest.id)).body);
        // Judgements since the start may have changed a rank, so the test loads the ranking once
        // more.
        let mut after = stored(&site);
        while after.points != shown {
            let again = sums(&admin.get(&format!("/contests/{}/ranking", contest.id)).body);
            assert_ne!(
                again, shown,
                "ranks {shown:?} of {:?}, kill {kill}",
                after.points
            );
            (shown, after) = (again, stored(&site));
        }
    }
    for id in answered {
        admin.wait_for(&format!("/submissions/{id}"), " / 100");
    }
}

#[test]
fn killed_site_loses_nothing_and_judges_nothing_twice() {
    kill_while_judging(10);
}

#[test]
#[ignore = "it takes several minutes"]
fn site_that_is_killed_200_times_loses_nothing() {
    kill_while_judging(200);
}

/// The directories for temporary files of a process of the site.
fn directories_of(site: &Site, process: u32) -> Vec<String> {
    let entries = std::fs::read_dir(site.path("")).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let process = process.to_string();
    let is_of = |name: &String| {
        let parts = name.strip_prefix("millibox-judge-").unwrap_or("");
        parts.split('-').nth(1) == Some(&process)
    };
    names.filter(is_of).collect()
}

#[test]
fn no_directory_is_left_by_a_site_that_ends_while_it_judges() {
    let mut site = Site::start(None);
    let mut admin = first_admin(&site);
    // The worker keeps the package of the last problem, and judges a submission to another one.
    let contest = make_contest(&mut admin);
    let right = submit(&mut admin, &contest, RIGHT).id();
    admin.wait_for_result(&format!("/submissions/{right}"), "Accepted");
    let contest = make_contest_of(&mut admin, &patient_package());
    submit(&mut admin, &contest, ENDLESS);
    admin.wait_for("/queue", "running");
    let process = site.process().id();
    let directories = directories_of(&site, process);
    assert!(directories.len() >= 2, "{directories:?}");
    let pid = rustix::process::Pid::from_raw(process.cast_signed()).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    let status = site.process().wait().expect("an end");
    assert!(status.success(), "{status}");
    assert_eq!(directories_of(&site, process), [""; 0]);

    // A site that was killed leaves its directories, and the next one removes them at its start.
    site.restart();
    admin = admin.moved(&site);
    admin.wait_for("/queue", "running");
    let process = site.process().id();
    site.kill();
    assert_ne!(directories_of(&site, process), [""; 0]);
    site.restart();
    assert_eq!(directories_of(&site, process), [""; 0]);
}

/// Correct on the example, but never ends on the other test.
const PARTLY_ENDLESS: &[u8] = b"a, b = map(int, input().split())
while a != 1: pass
print(a + b)
";

#[test]
fn initial_result_and_protocol_are_shown_during_the_judging_and_after_a_restart() {
    let mut site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest_of(&mut admin, &patient_package());
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let page = format!(
        "/submissions/{}",
        submit(&mut bob, &contest, PARTLY_ENDLESS).id()
    );
    for _ in 0..2 {
        let shown = bob.wait_for(&page, "Initial tests: ");
        assert!(shown.body.contains("Accepted"), "{shown:#?}");
        assert!(!shown.body.contains("tests are judged"), "{shown:#?}");
        admin.wait_for(&page, "1 of 2 tests are judged");
        site.kill_and_restart();
        (admin, bob) = (admin.moved(&site), bob.moved(&site));
    }
    assert_eq!(admin.post(&format!("{page}/cancel"), &[]).status, 303);
    bob.wait_for(&page, "Not judged");
}
