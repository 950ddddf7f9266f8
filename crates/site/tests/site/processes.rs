//! Several processes that serve one site. Each test needs PostgreSQL.

use super::accounts::{code, sign_in, turn_totp_on};
use super::rights::events;
use super::support::contest::{
    contestant, first_admin, make_contest, make_contest_of, set_round, submit,
};
use super::support::{Beside, Browser, Site, archive, files_of_sum, postgres};
use super::talk::{answer, ask};
use super::{RIGHT, SUM};
use std::time::Duration;

/// A program that never ends, and needs no CPU time.
const ENDLESS: &[u8] = b"import time\nwhile 1: time.sleep(1)\n";
/// How long a stream of events pauses after its last event.
const PAUSE: Duration = Duration::from_secs(8);

/// A site with the processes `a` and `b`; `None` without PostgreSQL.
fn pair(options: &[&str]) -> Option<(Site, Beside)> {
    let database = postgres::database()
        .inspect_err(|reason| millibox_tests::skip(reason))
        .ok()?;
    let site = Site::start_with(Some(database), &["--process", "a", "--lease", "2"]);
    let mut own = vec!["--process", "b", "--lease", "2"];
    own.extend(options);
    let beside = site.beside(&own);
    Some((site, beside))
}

/// The events of a page, from before `act` until the stream pauses.
fn followed(browser: &Browser, page: &str, act: impl FnOnce()) -> String {
    std::thread::scope(|scope| {
        let follow = scope.spawn(|| browser.raw(page, PAUSE));
        std::thread::sleep(Duration::from_secs(1));
        act();
        follow.join().expect("a stream")
    })
}

#[test]
fn link_for_the_first_administrator_is_valid_once_at_all_processes() {
    let Some((site, beside)) = pair(&[]) else {
        return;
    };
    let path = site.setup.clone().expect("a link");
    let mut guest = Browser::new(&site);
    assert_eq!(guest.get(&path).status, 200);
    beside.browser(&Browser::new(&site)).sign_up(&path, "ada");
    assert_eq!(guest.get(&path).status, 404);
    let fields = [
        ("login", "eve"),
        ("name", "eve"),
        ("password", "correct horse"),
    ];
    let answer = guest.post(&path, &fields);
    assert_eq!(answer.status, 404, "{answer:#?}");
}

#[test]
fn pages_of_each_process_follow_changes_in_the_other() {
    let Some((site, beside)) = pair(&[]) else {
        return;
    };
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    set_round(&mut admin, contest.round, "Round", ["", "", ""]);
    let bob = contestant(&site, &mut admin, &contest, "bob");
    let eve = contestant(&site, &mut admin, &contest, "eve");
    let (mut bob, eve) = (beside.browser(&bob), beside.browser(&eve));
    let contest_page = format!("/contests/{}", contest.id);

    // A page of `a` shows the verdict and the points of a submission to `b`.
    let ranking = format!("{contest_page}/ranking");
    assert!(!admin.get(&ranking).body.contains(SUM));
    let all = followed(&admin, &format!("{ranking}/live"), || {
        let submission = submit(&mut bob, &contest, RIGHT).id();
        let page = format!("/submissions/{submission}");
        admin.clone().wait_for_result(&page, "Accepted");
        bob.wait_for_result(&page, "Accepted");
    });
    assert!(events(&all, "change") > 0, "{all}");
    // The initial verdict is shown earlier than the points.
    admin.wait_for(&ranking, SUM);
    let own = followed(&admin, &format!("{contest_page}/live"), || {
        submit(&mut bob, &contest, RIGHT);
    });
    assert!(events(&own, "change") > 0, "{own}");

    // A contestant at `b` learns of an answer at `a`, and others do not.
    let list = format!("{contest_page}/clarifications");
    assert_eq!(ask(&mut bob, &contest, "", "Is the sum exact?"), 303);
    let live = format!("{list}/live");
    let (mut bobs, mut eves) = (String::new(), String::new());
    std::thread::scope(|scope| {
        let others = scope.spawn(|| eve.raw(&live, PAUSE));
        bobs = followed(&bob, &live, || {
            assert_eq!(answer(&mut admin, 1, "", "Yes.", "author").0, 303);
        });
        eves = others.join().expect("a stream");
    });
    assert!(events(&bobs, "notice") > 0, "{bobs}");
    assert_eq!(events(&eves, "notice"), 0, "{eves}");
}

#[test]
fn sign_in_continues_at_the_other_process() {
    let Some((site, beside)) = pair(&[]) else {
        return;
    };
    let mut admin = first_admin(&site);
    let secret = turn_totp_on(&mut admin);
    let mut ada = Browser::new(&site);
    let entered = sign_in(&mut ada, "ada", "correct horse");
    assert_eq!(entered.1.as_deref(), Some("/sign-in/code"));
    let mut ada = beside.browser(&ada);
    // The codes of this period and the one before are used up.
    let entered = ada.post("/sign-in/code", &[("code", &code(&secret, 1))]);
    assert_eq!(entered.status, 303, "{entered:#?}");
    assert_eq!(ada.get("/account").status, 200);
}

#[test]
fn judgement_of_a_killed_process_is_judged_by_the_other() {
    let Some((mut site, beside)) = pair(&[]) else {
        return;
    };
    let mut admin = first_admin(&site);
    let mut files = files_of_sum();
    files.retain(|(name, _)| *name != ".timelimit");
    files.push((".timelimit", "1\n"));
    let contest = make_contest_of(&mut admin, &archive(&files));
    let bob = contestant(&site, &mut admin, &contest, "bob");
    // Each process judges one submission, which exceeds its time limit after some seconds.
    let mut at_b = beside.browser(&bob);
    let slow = [(); 2].map(|()| submit(&mut at_b, &contest, ENDLESS).id());
    let waiting = submit(&mut at_b, &contest, RIGHT).id();
    let page = |id: i64| format!("/submissions/{id}");
    let mut staff = beside.browser(&admin);
    for id in slow {
        staff.wait_until(&page(id), |body| body.contains("Judging"));
    }
    site.kill();
    at_b.wait_for_result(&page(waiting), "Accepted");
    for id in slow {
        at_b.wait_for_result(&page(id), "Time limit");
    }
    // The process returns with its name. It does not take the work of the other.
    let running = submit(&mut at_b, &contest, ENDLESS).id();
    staff.wait_until(&page(running), |body| body.contains("Judging"));
    site.restart();
    let mut at_a = bob.moved(&site);
    at_a.wait_for_result(&page(running), "Time limit");
    let queue = staff.get("/queue").body;
    assert!(queue.contains("b/judge-1"), "{queue}");
    // A process that ends by itself returns its work at once.
    let last = submit(&mut at_a, &contest, RIGHT).id();
    beside.end();
    at_a.wait_for_result(&page(last), "Accepted");
}

#[test]
fn only_processes_with_different_names_serve_one_site() {
    let Some((site, beside)) = pair(&[]) else {
        return;
    };
    for (options, words) in [
        (
            &["--process", "b"][..],
            "another process serves this site as b",
        ),
        (&[][..], "start each process with --process NAME"),
    ] {
        let refused = site.refused(options);
        assert_eq!(refused.code, Some(125), "{refused:#?}");
        assert!(refused.error.contains(words), "{refused:#?}");
    }
    let wrong = site.refused(&["--process", "B"]);
    assert!(wrong.error.contains("lower-case letters"), "{wrong:#?}");
    beside.kill();
    drop(site.beside(&["--process", "b"]));
}
