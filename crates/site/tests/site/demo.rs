//! The example contest of `--demo`.

use super::support::{Browser, Site, with_each_database};

/// The table of the round with this problem, from the ranking as JSON.
fn table(browser: &mut Browser, label: &str) -> serde_json::Value {
    let body = browser.get("/contests/1/ranking.json").body;
    let json: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let tables = json["tables"].as_array().expect("tables").clone();
    let has_label = |table: &serde_json::Value| table.to_string().contains(label);
    let found = tables.into_iter().find(has_label);
    found.unwrap_or_else(|| panic!("{label} is in no table: {body}"))
}

fn check_demo(mut site: Site) {
    let password = site.demo.clone().expect("a password");
    let sign_in = |site: &Site, login: &str| {
        let mut browser = Browser::new(site);
        let fields = [("login", login), ("password", password.as_str())];
        let answer = browser.post("/sign-in", &fields);
        assert_eq!(answer.status, 303, "{login}: {answer:#?}");
        browser
    };
    let mut teacher = sign_in(&site, "teacher");
    assert_eq!(
        teacher.get("/users").status,
        404,
        "a teacher is not an administrator"
    );
    let list = "/contests/1/submissions";
    let pending = ["Waiting", "Judging", "Initial tests"];
    let page = teacher.wait_until(list, |page| !pending.iter().any(|word| page.contains(word)));
    for (words, least) in [
        ("Accepted", 8),
        ("Wrong answer", 2),
        ("Run-time error", 1),
        ("Time limit exceeded", 1),
        ("Compile error", 1),
    ] {
        let found = page.body.matches(words).count();
        assert!(found >= least, "{found} × {words}: {page:#?}");
    }
    assert!(!page.body.contains("Judge error"), "{page:#?}");
    let points = table(&mut teacher, "\"A\"");
    assert_eq!(points["rows"][0]["name"], "Ada Archer", "{points:#}");
    let icpc = table(&mut teacher, "\"C\"");
    assert_eq!(icpc["rows"][0]["name"], "Ada Archer", "{icpc:#}");
    assert_eq!(icpc["rows"][0]["cells"][0]["minute"], 7, "{icpc:#}");

    // A guest sees the contest, and can also solve the examples outside it.
    let mut guest = Browser::new(&site);
    assert!(guest.get("/contests").body.contains("Example contest"));
    assert!(guest.get("/problems").body.contains("Causeway"));

    // The second start creates nothing and prints no password.
    site.kill_and_restart();
    assert_eq!(site.demo, None);
    assert!(
        site.setup.is_some(),
        "an administrator can still be created"
    );
    let mut teacher = sign_in(&site, "teacher");
    assert_eq!(
        teacher
            .get("/contests")
            .body
            .matches("Example contest")
            .count(),
        1
    );
}

#[test]
fn example_contest_is_judged() {
    with_each_database(|database| check_demo(Site::start_with(database, &["--demo"])));
}

#[test]
fn example_contest_is_not_added_to_a_site_with_users() {
    let site = Site::start(None);
    super::first_admin(&site);
    let mut site = site.with_options(&["--demo"]);
    site.kill_and_restart();
    assert_eq!(site.demo, None);
    let mut guest = Browser::new(&site);
    assert!(!guest.get("/contests").body.contains("Example contest"));
}
