//! Rights on a problem, an account or a connection, and what they are not.

use super::accounts::{new_user, sign_in, user_id};
use super::support::{Browser, Site};
use super::{HALF, contestant, first_admin, make_contest, round, submit, with_each};
use crate::support::contest::{Contest, contest_with};
use millibox_tests::eventually;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const PASSWORD: &str = "correct horse";

/// A contest of ada with a problem of the teacher tom. tom has no role in the contest.
fn foreign_contest(site: &Site) -> (Browser, Browser, Contest) {
    let mut admin = first_admin(site);
    let mut tom = new_user(site, "tom");
    let path = format!("/users/{}", user_id(&mut admin, "tom"));
    assert_eq!(admin.post(&path, &[("role", "teacher")]).status, 303);
    let own = make_contest(&mut tom);
    let fields = [("name", "Sum"), ("visibility", "contest_only")];
    let path = format!("/problems/{}/edit", own.package);
    assert_eq!(tom.post(&path, &fields).status, 303);
    let contest = contest_with(&mut admin, own.package);
    (admin, tom, contest)
}

#[test]
fn owner_of_a_problem_changes_nothing_in_contests_of_others() {
    with_each(|site| {
        let (mut admin, mut tom, contest) = foreign_contest(&site);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let page = format!("/submissions/{}", submit(&mut bob, &contest, HALF).id());
        admin.wait_for_result(&page, "Wrong answer");
        let contest_page = format!("/contests/{}", contest.id);
        assert_eq!(tom.get(&contest_page).status, 404);
        let number = page.rsplit('/').next().expect("a number");
        let refused = |tom: &mut Browser| {
            for action in ["kind", "delete", "judge", "cancel"] {
                let answer = tom.post(&format!("{page}/{action}"), &[("kind", "ignored")]);
                assert_eq!(answer.status, 404, "{action}: {answer:#?}");
            }
            let round_problem = contest.problem.to_string();
            for filter in [("submission", number), ("round_problem", &round_problem)] {
                let answer = tom.post("/rejudgings/new", &[filter]);
                assert_eq!(answer.status, 404, "{filter:?}: {answer:#?}");
            }
        };
        // While the round runs, the owner does not even see the submission.
        for path in ["", "/source", "/live"] {
            assert_eq!(tom.get(&format!("{page}{path}")).status, 404, "{path}");
        }
        refused(&mut tom);
        // A set for the problem has the owner's submissions only: those of the package and those
        // outside contests.
        let package = contest.package.to_string();
        let set = tom.post("/rejudgings/new", &[("problem", &package)]);
        assert_eq!(set.status, 422, "no submission fits: {set:#?}");
        assert!(
            tom.get(&format!("/problems/{package}"))
                .body
                .contains("id=\"kept\"")
        );

        // After the round, the owner reads.
        let path = format!("/rounds/{}", contest.round);
        let mut fields = round("2999-01-01T00:00");
        fields[1].1 = "2020-01-01T00:00";
        fields[2].1 = "2020-01-02T00:00";
        assert_eq!(admin.post(&path, &fields).status, 303);
        let read = tom.get(&page);
        assert!(read.body.contains("Wrong answer"), "{read:#?}");
        assert!(!read.body.contains(&format!("{page}/delete")), "{read:#?}");
        assert_eq!(tom.get(&format!("{page}/source")).status, 200);
        refused(&mut tom);
        assert!(admin.get(&page).body.contains("Wrong answer"));
    });
}

/// The number of events of a kind in a stream as it was sent.
pub fn events(stream: &str, name: &str) -> usize {
    stream.matches(&format!("event: {name}\n")).count()
}

#[test]
fn streams_of_an_author_do_not_count_hidden_tests() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut files = crate::support::files_of_sum();
    let names: Vec<[String; 2]> = (1..=8)
        .map(|number| ["in", "ans"].map(|end| format!("data/secret/{number}.{end}")))
        .collect();
    for [input, answer] in &names {
        files.push((input, "20 22\n"));
        files.push((answer, "42\n"));
    }
    let package = crate::support::archive(&files);
    let contest = crate::support::contest::make_contest_of(&mut admin, &package);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    // A worker on another machine may still start.
    let quick = b"a, b = map(int, input().split())\nprint(a + b)\n";
    let first = submit(&mut bob, &contest, quick).id();
    bob.wait_for_result(&format!("/submissions/{first}"), "Accepted");
    // Each test takes longer than the pause before a stream looks.
    let slow = b"import time\na, b = map(int, input().split())\ntime.sleep(0.5)\nprint(a + b)\n";
    let page = format!("/submissions/{}", submit(&mut bob, &contest, slow).id());
    let list = format!("/contests/{}/live", contest.id);
    let patience = Duration::from_secs(4);
    let (own, all, staff) = std::thread::scope(|scope| {
        let live = format!("{page}/live");
        let own = {
            let (bob, live) = (bob.clone(), live.clone());
            scope.spawn(move || bob.raw(&live, patience))
        };
        let all = {
            let (bob, list) = (bob.clone(), list.clone());
            scope.spawn(move || bob.raw(&list, patience))
        };
        let staff = {
            let admin = admin.clone();
            scope.spawn(move || admin.raw(&live, patience))
        };
        let join = |thread: std::thread::ScopedJoinHandle<'_, String>| thread.join().expect("text");
        (join(own), join(all), join(staff))
    });
    assert!(bob.get(&page).body.contains("Accepted"));
    // Waiting, running, the sample, and the initial verdict are visible; 9 hidden tests are not.
    assert!(events(&own, "change") <= 4, "{own}");
    assert!(events(&all, "change") <= 3, "{all}");
    assert!(events(&staff, "change") >= 8, "{staff}");
    // The page shows no end of the judging either.
    assert!(!bob.get(&page).body.contains(&format!("{page}/live")));
}

/// Sends a form, and closes the connection after a while without reading the answer.
fn send_and_leave(browser: &Browser, url: &str, path: &str, body: &str, after: Duration) {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("a connection");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncookie: {}\r\nsec-fetch-site: same-origin\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        browser.cookie(),
        body.len(),
    );
    stream.write_all(request.as_bytes()).expect("a request");
    std::thread::sleep(after);
}

#[test]
fn each_change_is_logged_although_its_client_leaves() {
    const REQUESTS: u32 = 160;
    with_each(|site| {
        let mut admin = first_admin(&site);
        let begin = Instant::now();
        let fields = [("name", "First"), ("visibility", "private")];
        assert_eq!(admin.post("/contests/new", &fields).status, 303);
        let whole = begin.elapsed();
        for number in 0..REQUESTS {
            // Up to twice the time of a whole request, in an order that mixes short and long
            // pauses. Of a slow request, only a part of the clients wait for its end.
            let after =
                whole.min(Duration::from_millis(100)) * 2 * (number * 49 % REQUESTS) / REQUESTS;
            let body = format!("name=C{number}&visibility=private");
            send_and_leave(&admin, &site.url, "/contests/new", &body, after);
        }
        let count = |admin: &mut Browser, start: &str, part: &str| {
            let (mut count, mut path) = (0, start.to_owned());
            loop {
                let page = admin.get(&path).body.replace("&amp;", "&");
                count += page.matches(part).count();
                let next = page.split("href=\"").find(|rest| {
                    rest.starts_with(start) && rest.split('"').next().unwrap().contains("before=")
                });
                match next {
                    Some(next) => path = next.split('"').next().unwrap().to_owned(),
                    None => return count,
                }
            }
        };
        let log = "/audit?actor=&action=POST+%2Fcontests%2Fnew";
        let mut logged = 0;
        // Requests without clients end when the number of entries no longer changes.
        let ended = || {
            let before = logged;
            std::thread::sleep(Duration::from_secs(1));
            logged = count(&mut admin, log, ">POST /contests/new<");
            logged == before
        };
        let end = Duration::from_secs(60);
        assert!(
            eventually(end, ended),
            "requests without clients do not end"
        );
        let made = count(&mut admin, "/contests", "<a href=\"/contests/");
        assert_eq!(made, logged);
        assert!(
            logged > 1,
            "none of the requests without clients was carried out"
        );
    });
}

#[test]
fn sign_in_during_a_reset_leaves_no_session_of_the_old_password() {
    with_each(|site| {
        first_admin(&site);
        let mut old = PASSWORD.to_owned();
        new_user(&site, "bob");
        for round in 0..3 {
            let link = site.run(&["user", "reset-link"], &["bob"]).output();
            let new = format!("battery staple {round}");
            let sessions: Vec<Browser> = std::thread::scope(|scope| {
                let enter = || {
                    let mut browser = Browser::new(&site);
                    sign_in(&mut browser, "bob", &old);
                    browser
                };
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(enter)).collect();
                let reset = Browser::new(&site).post(link.trim(), &[("new", &new)]);
                assert_eq!(reset.status, 303, "{reset:#?}");
                let threads = threads.into_iter();
                threads
                    .map(|thread| thread.join().expect("a browser"))
                    .collect()
            });
            for mut browser in sessions {
                assert_eq!(browser.get("/account").status, 303, "the old password");
            }
            let mut browser = Browser::new(&site);
            assert_eq!(sign_in(&mut browser, "bob", &new).0, 303);
            old = new;
        }
    });
}

#[test]
fn token_of_merged_user_ends() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut bob = new_user(&site, "bob");
    new_user(&site, "rob");
    let token = super::api::token(&mut bob, "manage");
    let program = || Browser::new(&site).get_as(&token, "/api/v1/me").status;
    assert_eq!(program(), 200);
    let rob = user_id(&mut admin, "rob");
    let fields = [("confirm", "rob"), ("into", "bob")];
    let merged = admin.post(&format!("/users/{rob}/merge"), &fields);
    assert_eq!(merged.status, 303, "{merged:#?}");
    assert_eq!(program(), 401, "the rights may have grown");
}

#[test]
fn failed_sign_ins_are_in_the_log_up_to_a_bound() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut guest = Browser::new(&site);
    assert_eq!(sign_in(&mut guest, "ada", "wrong horse").0, 422);
    for number in 0..30 {
        sign_in(&mut guest, &format!("nobody{number}"), "wrong horse");
    }
    let log = admin.get("/audit?actor=&action=POST+%2Fsign-in").body;
    assert_eq!(log.matches(">POST /sign-in<").count(), 20, "{log}");
    assert_eq!(log.matches("refused").count(), 20, "{log}");
    assert!(
        !log.contains("nobody"),
        "a login may be a mistyped password"
    );
    let log = admin.get("/audit?actor=ada&action=POST+%2Fsign-in").body;
    assert_eq!(log.matches("refused").count(), 1, "{log}");
}

#[test]
fn pages_of_administrators_are_missing_before_a_form_is_read() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = new_user(&site, "bob");
    let contest = format!("/contests/{}/import/apply", contest.id);
    for path in [
        "/users/import",
        "/users/import/apply",
        &contest,
        "/users/1",
        "/users/x/reset",
        "/users/1/merge",
        "/settings",
        "/workers/1",
    ] {
        for browser in [&mut bob, &mut Browser::new(&site)] {
            // Neither a list nor the fields of a form.
            assert_eq!(browser.post(path, &[]).status, 404, "{path}");
        }
    }
}
