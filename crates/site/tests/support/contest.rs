//! A contest with one problem.

use super::{Answer, Browser, Site, archive, files_of_sum};

/// A private contest with one round and one problem.
pub struct Contest {
    pub id: i64,
    pub round: i64,
    /// The problem in the round.
    pub problem: i64,
    /// The problem itself.
    pub package: i64,
}

impl Contest {
    /// Changes the version of the problem in the round. Returns the page that follows.
    pub fn use_version(&self, admin: &mut Browser, version: i64) -> String {
        let version = version.to_string();
        let fields = [
            ("label", "A"),
            ("name", "Sum"),
            ("version", version.as_str()),
            ("final_method", "best"),
            ("reveal", "nothing"),
        ];
        let answer = admin.post(&format!("/round-problems/{}/edit", self.problem), &fields);
        assert_eq!(answer.status, 303, "{answer:#?}");
        answer.location.expect("a page")
    }
}

/// Adds a version to the problem of a contest. Returns its id.
pub fn add_version(admin: &mut Browser, contest: &Contest, package: &[u8]) -> i64 {
    let path = format!("/problems/{}/versions", contest.package);
    let added = admin.upload(&path, &[], ("sum.zip", package));
    assert_eq!(added.status, 303, "{added:#?}");
    let page = admin
        .get(&format!("/round-problems/{}", contest.problem))
        .body;
    let options = page.split("name=\"version\"").nth(1).expect("a choice");
    let first = options.split("value=\"").nth(1).expect("a version");
    first
        .split('"')
        .next()
        .and_then(|id| id.parse().ok())
        .expect("an id")
}

/// The fields of a round.
pub fn round(full_results: &str) -> [(&str, &str); 5] {
    [
        ("name", "Round"),
        ("begins", ""),
        ("ends", ""),
        ("full_results", full_results),
        ("ranking_from", ""),
    ]
}

/// A new private contest with one round and a problem whose submissions add two numbers.
pub fn make_contest(admin: &mut Browser) -> Contest {
    make_contest_of(admin, &archive(&files_of_sum()))
}

/// A new private contest with one round and this package.
pub fn make_contest_of(admin: &mut Browser, package: &[u8]) -> Contest {
    let fields = [("visibility", "private")];
    let added = admin.upload("/problems/new", &fields, ("sum.zip", package));
    assert_eq!(added.status, 303, "{added:#?}");
    let problem = added.id();
    contest_with(admin, problem)
}

/// A new private contest with one round and this problem.
pub fn contest_with(owner: &mut Browser, package: i64) -> Contest {
    let fields = [("name", "Cup"), ("visibility", "private")];
    let id = owner.post("/contests/new", &fields).id();
    let path = format!("/contests/{id}/rounds");
    let round = owner.post(&path, &round("2999-01-01T00:00")).id();
    Contest {
        id,
        round,
        package,
        problem: attach(owner, round, package),
    }
}

/// Adds a problem to a round without problems. Returns its number in the round.
pub fn attach(owner: &mut Browser, round: i64, package: i64) -> i64 {
    let number = package.to_string();
    let fields = [
        ("problem", number.as_str()),
        ("label", "A"),
        ("final_method", "best"),
        ("reveal", "nothing"),
    ];
    let attached = owner.post(&format!("/rounds/{round}/problems"), &fields);
    assert_eq!(attached.status, 303, "{attached:#?}");
    let page = owner.get(&format!("/rounds/{round}"));
    let link = page.body.split("/round-problems/").nth(1);
    let link = link.and_then(|rest| rest.split('"').next()?.parse().ok());
    link.unwrap_or_else(|| panic!("{page:#?}"))
}

/// Signs up a new user, and enters the contest through a new entry link.
pub fn contestant(site: &Site, admin: &mut Browser, contest: &Contest, login: &str) -> Browser {
    let page = admin.post(&format!("/contests/{}/link", contest.id), &[]);
    let link = page.body.split("/enter/").nth(1).expect("a link");
    let link = format!("/enter/{}", &link[..64]);
    let mut browser = Browser::new(site);
    assert_eq!(browser.get(&link).status, 200);
    browser.sign_up("/sign-up", login);
    assert_eq!(
        browser.get(&format!("/contests/{}", contest.id)).status,
        404
    );
    assert_eq!(browser.post(&link, &[]).status, 303);
    browser
}

/// Submits a source in Python.
pub fn submit(browser: &mut Browser, contest: &Contest, source: &[u8]) -> Answer {
    let path = format!("/round-problems/{}/submit", contest.problem);
    let answer = browser.upload(&path, &[("language", "")], ("a.py", source));
    assert_eq!(answer.status, 303, "{answer:#?}");
    answer
}

/// The first administrator of a site.
pub fn first_admin(site: &Site) -> Browser {
    let mut admin = Browser::new(site);
    admin.sign_up(site.setup.as_deref().expect("a link"), "ada");
    admin
}

/// Sets the times of a round: start, end, full results. The ranking is shown from the start.
pub fn set_round(admin: &mut Browser, round: i64, name: &str, [begins, ends, full]: [&str; 3]) {
    let fields = [
        ("name", name),
        ("begins", begins),
        ("ends", ends),
        ("full_results", full),
        ("ranking_from", ""),
    ];
    let answer = admin.post(&format!("/rounds/{round}"), &fields);
    assert_eq!(answer.status, 303, "{answer:#?}");
}
