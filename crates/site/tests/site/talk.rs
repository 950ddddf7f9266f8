//! Questions, answers and announcements.

use crate::support::contest::{Contest, contestant, first_admin, make_contest, round};
use crate::support::{Browser, Site, with_each};
use std::time::Duration;

/// How long a stream of events is read after its last event.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn ask(browser: &mut Browser, contest: &Contest, problem: &str, text: &str) -> u16 {
    let path = format!("/contests/{}/clarifications", contest.id);
    let fields = [("problem", problem), ("text", text)];
    browser.post(&path, &fields).status
}

pub fn answer(
    staff: &mut Browser,
    id: i64,
    answered: &str,
    text: &str,
    audience: &str,
) -> (u16, Option<String>) {
    let fields = [
        ("answered", answered),
        ("answer", text),
        ("audience", audience),
    ];
    let answer = staff.post(&format!("/clarifications/{id}"), &fields);
    (answer.status, answer.location)
}

/// The hidden field of a page.
fn hidden(page: &str, name: &str) -> String {
    let document = scraper::Html::parse_document(page);
    let selector = scraper::Selector::parse(&format!("input[name={name}]")).expect("a selector");
    let found = document.select(&selector).next();
    let value = found.and_then(|field| field.value().attr("value"));
    value.unwrap_or_default().to_owned()
}

/// A private contest with the contestants bob, cat and eve. Bob and cat are a team.
struct Cup {
    contest: Contest,
    list: String,
    admin: Browser,
    bob: Browser,
    cat: Browser,
    eve: Browser,
}

impl Cup {
    fn new(site: &Site) -> Cup {
        let mut admin = first_admin(site);
        let contest = make_contest(&mut admin);
        let mut user = |login: &str| contestant(site, &mut admin, &contest, login);
        let (bob, cat, eve) = (user("bob"), user("cat"), user("eve"));
        let path = format!("/contests/{}/participants", contest.id);
        let team = admin.post(&path, &[("name", "Owls")]).id();
        for login in ["bob", "cat"] {
            let path = format!("/participants/{team}/members");
            assert_eq!(admin.post(&path, &[("login", login)]).status, 303);
        }
        Cup {
            list: format!("/contests/{}/clarifications", contest.id),
            contest,
            admin,
            bob,
            cat,
            eve,
        }
    }
}

#[test]
fn question_is_seen_by_its_team_and_an_answer_by_all() {
    with_each(|site| {
        let mut cup = Cup::new(&site);
        let problem = cup.contest.problem.to_string();
        assert_eq!(ask(&mut cup.bob, &cup.contest, &problem, "What-is-a?"), 303);
        assert_eq!(ask(&mut cup.bob, &cup.contest, "", " "), 422);
        assert_eq!(ask(&mut cup.bob, &cup.contest, "999", "x"), 404);
        let list = cup.list.clone();
        for browser in [&mut cup.bob, &mut cup.cat, &mut cup.admin] {
            assert!(browser.get(&list).body.contains("What-is-a?"));
        }
        let mut stranger = Browser::new(&site);
        stranger.sign_up("/sign-up", "zoe");
        for browser in [&mut cup.eve, &mut stranger, &mut Browser::new(&site)] {
            assert!(!browser.get(&list).body.contains("What-is-a?"));
            assert_eq!(browser.get("/clarifications/1").status, 404);
            assert_eq!(answer(browser, 1, "", "x", "all").0, 404);
        }
        assert_eq!(answer(&mut cup.bob, 1, "", "x", "all").0, 404);
        for path in ["announcements", "canned-answers"] {
            let path = format!("/contests/{}/{path}", cup.contest.id);
            let fields = [("text", "x"), ("list", "x")];
            assert_eq!(cup.bob.post(&path, &fields).status, 404, "{path}");
        }
        let waiting = cup.admin.get(&format!("{list}?show=unanswered"));
        assert!(waiting.body.contains("What-is-a?"), "{waiting:#?}");
        assert!(waiting.body.contains("1 question waits"), "{waiting:#?}");

        // A private answer, then the same answer to all, then with the question.
        assert_eq!(answer(&mut cup.admin, 1, "", "A-number", "author").0, 303);
        assert!(cup.cat.get(&list).body.contains("A-number"));
        assert!(!cup.eve.get(&list).body.contains("A-number"));
        assert_eq!(answer(&mut cup.admin, 1, "", "Old", "all").0, 403);
        let page = cup.admin.get("/clarifications/1").body;
        let before = hidden(&page, "answered");
        assert_eq!(answer(&mut cup.admin, 1, &before, "A-number", "all").0, 303);
        let page = cup.eve.get(&list).body;
        assert!(page.contains("A-number") && !page.contains("What-is-a?"));
        let page = cup.admin.get("/clarifications/1").body;
        let before = hidden(&page, "answered");
        assert_eq!(
            answer(&mut cup.admin, 1, &before, "A-number", "quoted").0,
            303
        );
        let page = cup.eve.get(&list).body;
        assert!(page.contains("A-number") && page.contains("What-is-a?"));
        assert!(!page.contains("bob"), "the author is secret: {page}");
        assert_eq!(stranger.get("/clarifications/1").status, 404);
        let waiting = cup.admin.get(&format!("{list}?show=unanswered"));
        assert!(!waiting.body.contains("What-is-a?"), "{waiting:#?}");

        // Clarifications about a round that has not begun are hidden.
        let mut later = round("");
        later[1].1 = "2998-01-01T00:00";
        let path = format!("/rounds/{}", cup.contest.round);
        assert_eq!(cup.admin.post(&path, &later).status, 303);
        for browser in [&mut cup.bob, &mut cup.eve] {
            let page = browser.get(&list).body;
            assert!(!page.contains("A-number") && !page.contains("What-is-a?"));
            assert_eq!(browser.get("/clarifications/1").status, 404);
        }
        assert_eq!(ask(&mut cup.bob, &cup.contest, &problem, "x"), 404);
        assert!(cup.admin.get(&list).body.contains("A-number"));
    });
}

#[test]
fn answer_is_new_until_its_reader_marks_it() {
    with_each(|site| {
        let mut cup = Cup::new(&site);
        let page = format!("/contests/{}", cup.contest.id);
        let announce = format!("{page}/announcements");
        assert_eq!(
            cup.admin.post(&announce, &[("text", "Hello-all")]).status,
            303
        );
        for browser in [&mut cup.bob, &mut cup.eve] {
            let body = browser.get(&page).body;
            assert!(body.contains("1 new answer or announcement"), "{body}");
        }
        assert!(!cup.admin.get(&page).body.contains("1 new answer"));
        let body = cup.bob.get(&cup.list).body;
        assert!(
            body.contains("Hello-all") && body.contains(">New<"),
            "{body}"
        );
        let until = hidden(&body, "until");
        let read = format!("{}/read", cup.list);
        // An announcement after the page was loaded stays new.
        assert_eq!(cup.admin.post(&announce, &[("text", "Second")]).status, 303);
        assert_eq!(cup.bob.post(&read, &[("until", &until)]).status, 303);
        let body = cup.bob.get(&page).body;
        assert!(body.contains("1 new answer or announcement"), "{body}");
        let body = cup.eve.get(&page).body;
        assert!(body.contains("2 new answers or announcements"), "{body}");
        let body = cup.bob.get(&cup.list).body;
        let until = hidden(&body, "until");
        assert_eq!(cup.bob.post(&read, &[("until", &until)]).status, 303);
        assert!(!cup.bob.get(&page).body.contains("new answer"));

        // An announcement about a problem is new after the start of the round.
        let mut later = round("");
        later[1].1 = "2998-01-01T00:00";
        let path = format!("/rounds/{}", cup.contest.round);
        assert_eq!(cup.admin.post(&path, &later).status, 303);
        let problem = cup.contest.problem.to_string();
        let fields = [("problem", problem.as_str()), ("text", "About-a-problem")];
        assert_eq!(cup.admin.post(&announce, &fields).status, 303);
        assert!(!cup.bob.get(&page).body.contains("new answer"));
        assert_eq!(cup.admin.post(&path, &round("")).status, 303);
        assert!(cup.bob.get(&page).body.contains("1 new answer"));

        // Only the staff sees a withdrawn announcement.
        let body = cup.admin.get("/clarifications/1").body;
        let before = hidden(&body, "answered");
        assert_eq!(
            answer(&mut cup.admin, 1, &before, "Hello-all", "author").0,
            303
        );
        assert!(!cup.eve.get(&cup.list).body.contains("Hello-all"));
        assert!(cup.admin.get(&cup.list).body.contains("Hello-all"));
        let log = cup.admin.get("/audit").body;
        assert!(log.contains("/contests/{id}/announcements"), "{log}");
        assert!(!log.contains("/clarifications/read"), "{log}");
    });
}

#[test]
fn canned_answers_belong_to_a_contest_and_questions_are_throttled() {
    with_each(|site| {
        let mut cup = Cup::new(&site);
        let path = format!("/contests/{}/canned-answers", cup.contest.id);
        let list = "No-comment\r\n\r\nRead the statement\r\n";
        assert_eq!(cup.admin.post(&path, &[("list", list)]).status, 303);
        assert!(cup.admin.get(&path).body.contains("\nNo-comment\n"));
        let long = "x".repeat(501);
        assert_eq!(cup.admin.post(&path, &[("list", &long)]).status, 422);
        assert_eq!(cup.eve.get(&path).status, 404);
        assert_eq!(ask(&mut cup.bob, &cup.contest, "", "Why?"), 303);
        let fields = [("canned", "1"), ("answer", ""), ("audience", "author")];
        let answered = cup.admin.post("/clarifications/1", &fields);
        assert_eq!(answered.status, 303, "{answered:#?}");
        assert!(cup.bob.get(&cup.list).body.contains("No-comment"));
        let copy = cup
            .admin
            .post(&format!("/contests/{}/copy", cup.contest.id), &[]);
        let copied = format!("/contests/{}/canned-answers", copy.id());
        assert!(cup.admin.get(&copied).body.contains("No-comment"));
        let fields = [("canned", "1"), ("answer", ""), ("audience", "author")];
        assert_eq!(ask(&mut cup.eve, &cup.contest, "", "And I?"), 303);
        cup.admin.post(&path, &[("list", "")]);
        assert_eq!(cup.admin.post("/clarifications/2", &fields).status, 404);
        for _ in 0..4 {
            assert_eq!(ask(&mut cup.bob, &cup.contest, "", "Why?"), 303);
        }
        assert_eq!(ask(&mut cup.bob, &cup.contest, "", "Why?"), 429);
        assert_eq!(ask(&mut cup.cat, &cup.contest, "", "Why?"), 303);
    });
}

#[test]
fn streams_report_what_their_viewers_may_know() {
    let site = Site::start(None);
    let mut cup = Cup::new(&site);
    let live = format!("{}/live", cup.list);
    let notice = format!("{}/notice", cup.list);
    let submissions = format!("/contests/{}/live", cup.contest.id);
    let ranking = format!("/contests/{}/ranking/live", cup.contest.id);
    let watch = |browser: &Browser, path: &str| browser.raw(path, PATIENCE);
    let (bob, cat, eve) = (&cup.bob, &cup.cat, &cup.eve);
    let mut zoe = contestant(&site, &mut cup.admin, &cup.contest, "zoe");
    std::thread::scope(|scope| {
        let follow = |browser, path| scope.spawn(move || watch(browser, path));
        let own = [follow(bob, &live), follow(cat, &submissions)];
        let other = [follow(eve, &live), follow(eve, &ranking)];
        std::thread::sleep(Duration::from_millis(700));
        // Only Zoe and the staff see Zoe's question.
        assert_eq!(ask(&mut zoe, &cup.contest, "", "Why?"), 303);
        for stream in own.into_iter().chain(other) {
            let events = stream.join().expect("a stream");
            assert!(events.contains("text/event-stream"), "{events}");
            assert!(!events.contains("event:"), "{events}");
        }
        let all = [
            follow(bob, &live),
            follow(cat, &submissions),
            follow(eve, &ranking),
        ];
        std::thread::sleep(Duration::from_millis(700));
        let announce = format!("/contests/{}/announcements", cup.contest.id);
        assert_eq!(cup.admin.post(&announce, &[("text", "Hello")]).status, 303);
        for stream in all {
            let events = stream.join().expect("a stream");
            assert!(events.contains("event: notice"), "{events}");
            assert!(!events.contains("Hello"), "{events}");
        }
    });
    assert!(cup.bob.get(&notice).body.contains("1 new answer"));
    assert!(cup.admin.get(&notice).body.contains("1 question waits"));
    assert_eq!(Browser::new(&site).get(&notice).status, 404);
}
