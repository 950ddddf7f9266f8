//! Limits on how often actions may be repeated. `wrong_passwords_are_throttled` tests the sign-in.

use super::support::{Answer, Browser, Site};
use super::{contestant, first_admin, make_contest};

/// The first answer with the status 429, and the number of answers before it.
fn refused_after(limit: usize, mut request: impl FnMut() -> Answer) -> (usize, Answer) {
    for number in 0..=limit {
        let answer = request();
        if answer.status == 429 {
            assert!(answer.headers.contains_key("retry-after"), "{answer:#?}");
            return (number, answer);
        }
    }
    panic!("no request was refused")
}

#[test]
fn sign_ups_of_one_address_are_limited() {
    let site = Site::start(None);
    first_admin(&site);
    let mut eve = Browser::new(&site);
    let fields = [
        ("login", "a b"),
        ("name", "Eve"),
        ("password", "correct horse"),
    ];
    let (before, _) = refused_after(700, || eve.post("/sign-up", &fields));
    assert!((100..=600).contains(&before), "{before}");
    let right = [
        ("login", "eve"),
        ("name", "Eve"),
        ("password", "correct horse"),
    ];
    assert_eq!(eve.post("/sign-up", &right).status, 429);
    // Users can still sign in.
    let fields = [("login", "ada"), ("password", "correct horse")];
    assert_eq!(eve.post("/sign-in", &fields).status, 303);
}

#[test]
fn submissions_of_one_user_are_limited_on_pages_and_for_programs() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let path = format!("/round-problems/{}/submit", contest.problem);
    let source: &[u8] = b"print(3)\n";
    let send = |browser: &mut Browser| browser.upload(&path, &[("language", "")], ("a.py", source));
    let (before, _) = refused_after(30, || send(&mut bob));
    assert_eq!(before, 20);
    let token = super::api::token(&mut bob, "submit");
    let body = serde_json::json!({
        "round_problem": contest.problem, "file_name": "a.py", "source": "print(3)",
    });
    let refused = bob.post_json(&token, "/api/v1/submissions", "", &body.to_string());
    assert_eq!(refused.status, 429, "{refused:#?}");
    let mut eve = contestant(&site, &mut admin, &contest, "eve");
    assert_eq!(send(&mut eve).status, 303, "another user");
}

#[test]
fn requests_of_programs_are_limited() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let token = super::api::token(&mut admin, "read");
    let path = "/api/v1/contests";
    let mut program = Browser::new(&site);
    let (before, answer) = refused_after(1300, || program.get_as(&token, path));
    assert_eq!(before, 1200);
    assert_eq!(answer.headers["content-type"], "application/problem+json");
    // Another user and programs without a token are counted separately.
    assert_eq!(program.get_as("", path).status, 200);
    let wrong = "0".repeat(64);
    let (before, _) = refused_after(1300, || program.get_as(&wrong, path));
    assert_eq!(before, 1199);
    assert_eq!(program.get_as("", path).status, 429);
    assert_eq!(admin.get("/contests").status, 200, "pages are not counted");
}
