//! The interface for programs.

use super::support::contest::set_round;
use super::support::{Answer, Browser, Site};
use super::{RIGHT, contestant, first_admin, make_contest, with_each};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A token of the signed-in user.
pub fn token(browser: &mut Browser, scope: &str) -> String {
    let fields = [("name", "test"), ("scope", scope), ("days", "1")];
    let page = browser.post("/account/tokens", &fields);
    let document = scraper::Html::parse_document(&page.body);
    let selector = scraper::Selector::parse("#token").expect("a selector");
    let token = document.select(&selector).next();
    let token = token.unwrap_or_else(|| panic!("{page:#?}"));
    token.text().collect::<String>().trim().to_owned()
}

/// A program with a token, or without one if it is empty.
pub struct Program<'a> {
    pub site: &'a Site,
    pub token: String,
}

impl Program<'_> {
    pub fn get(&self, path: &str) -> (u16, Value) {
        self.read(Browser::new(self.site).get_as(&self.token, &format!("/api/v1{path}")))
    }

    pub fn post(&self, path: &str, key: &str, body: &Value) -> (u16, Value) {
        let path = format!("/api/v1{path}");
        let body = body.to_string();
        self.read(Browser::new(self.site).post_json(&self.token, &path, key, &body))
    }

    fn read(&self, answer: Answer) -> (u16, Value) {
        let value: Value = serde_json::from_str(&answer.body).unwrap_or_else(|error| {
            panic!("{error}: {answer:#?}");
        });
        if answer.status >= 400 {
            assert_eq!(answer.headers["content-type"], "application/problem+json");
            assert_eq!(value["status"], answer.status);
            assert!(value["code"].is_string() && value["title"].is_string());
        }
        (answer.status, value)
    }

    pub fn wait(&self, path: &str) -> Value {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            let (status, value) = self.get(path);
            assert_eq!(status, 200, "{value}");
            if value["pending"] == false {
                return value;
            }
            assert!(Instant::now() < end, "{value}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn program_submits_and_sees_what_its_user_may_see() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let program = |token| Program { site: &site, token };
        let guest = program(String::new());
        let bob_reads = program(token(&mut bob, "read"));
        let bob = program(token(&mut bob, "submit"));
        let admin_token = token(&mut admin, "manage");
        let staff = program(admin_token);

        assert_eq!(guest.get("/me").0, 401);
        assert_eq!(program("0".repeat(64)).get("/contests").0, 401);
        assert_eq!(bob.get("/me").1["login"], "bob");
        let path = format!("/contests/{}", contest.id);
        assert_eq!(guest.get(&path).0, 404);
        let (_, found) = bob.get(&path);
        assert_eq!(found["rounds"][0]["problems"][0]["label"], "A", "{found}");
        assert_eq!(found["manage"], false);
        assert_eq!(guest.get("/contests").1["items"], json!([]));
        assert_eq!(bob.get("/contests").1["items"][0]["name"], "Cup");
        for (path, status) in [
            ("/nothing", 404),
            ("/contests/x", 400),
            ("/contests?before=x", 400),
        ] {
            assert_eq!(bob.get(path).0, status, "{path}");
        }

        let source = String::from_utf8_lossy(RIGHT);
        let new = json!({
            "round_problem": contest.problem, "file_name": "a.py", "source": source,
        });
        assert_eq!(guest.post("/submissions", "", &new).0, 401);
        assert_eq!(bob_reads.post("/submissions", "", &new).0, 403);
        let (status, sent) = bob.post("/submissions", "one", &new);
        assert_eq!(status, 201, "{sent}");
        let (status, again) = bob.post("/submissions", "one", &new);
        assert_eq!((status, &again["id"]), (201, &sent["id"]));
        let (_, other) = bob.post("/submissions", "two", &new);
        assert_ne!(other["id"], sent["id"]);
        for wrong in [
            json!({"source": "x"}),
            json!({"round_problem": contest.problem, "source": "x", "language": "nothing"}),
            json!({"round_problem": contest.problem, "file_name": "a.py", "source": ""}),
        ] {
            assert_eq!(bob.post("/submissions", "", &wrong).0, 422, "{wrong}");
        }
        let elsewhere = json!({"problem": 1, "file_name": "a.py", "source": "x"});
        assert_eq!(bob.post("/submissions", "", &elsewhere).0, 404);
        assert_eq!(bob.post("/submissions", "", &json!({"other": 1})).0, 400);

        let path = format!("/submissions/{}", sent["id"]);
        let seen = bob.wait(&path);
        assert_eq!(seen["initial_verdict"], "accepted", "{seen}");
        assert_eq!(
            seen["verdict"],
            Value::Null,
            "full results are hidden: {seen}"
        );
        assert_eq!(seen["score"], Value::Null);
        assert!(!seen.to_string().contains("hidden-test"), "{seen}");
        assert_eq!(bob.get(&format!("{path}/source")).1["source"], *source);
        let seen = staff.wait(&path);
        assert_eq!(
            (&seen["verdict"], &seen["score"]),
            (&json!("accepted"), &json!(100.0))
        );
        assert!(seen.to_string().contains("hidden-test"), "{seen}");
        assert_eq!(guest.get(&path).0, 404);
        let list = bob.get("/submissions").1;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(2), "{list}");
        assert!(!list.to_string().contains("100"), "{list}");

        let eve = json!({"login": "eve", "password": "battery staple"});
        assert_eq!(bob.post("/users", "", &eve).0, 403);
        assert_eq!(bob.get("/users").0, 403);
        assert_eq!(staff.post("/users", "", &eve).0, 201);
        assert_eq!(staff.post("/users", "", &eve).0, 422);
        assert_eq!(staff.get("/users").1["items"][2]["login"], "eve");
    });
}

#[test]
fn program_asks_answers_and_reads_files_and_rankings() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let mut eve = contestant(&site, &mut admin, &contest, "eve");
        let program = |token| Program { site: &site, token };
        let guest = program(String::new());
        let reads = program(token(&mut bob, "read"));
        let other = program(token(&mut eve, "manage"));
        let bob = program(token(&mut bob, "submit"));
        let staff_token = token(&mut admin, "manage");
        let staff = program(staff_token);
        let root = format!("/contests/{}", contest.id);
        let list = format!("{root}/clarifications");
        let new = json!({"round_problem": contest.problem, "text": "Why-so?"});
        assert_eq!(guest.post(&list, "", &new).0, 401);
        assert_eq!(reads.post(&list, "", &new).0, 403);
        assert_eq!(bob.post(&list, "", &json!({"text": ""})).0, 422);
        let (status, asked) = bob.post(&list, "", &new);
        assert_eq!(status, 201, "{asked}");
        assert_eq!(asked["question"], "Why-so?");
        assert!(asked["user"].is_null() && asked["version"].is_null());
        let path = format!("/clarifications/{}", asked["id"]);
        assert_eq!(guest.get(&path).0, 404);
        assert_eq!(other.get(&path).0, 404);
        assert_eq!(other.get(&list).1["items"], json!([]));
        assert_eq!(staff.get(&path).1["user"], "bob");
        let answer = |text: &str, version: &Value| {
            let audience = "all";
            json!({"text": text, "audience": audience, "replaces": version})
        };
        let to = format!("{path}/answer");
        let first = answer("Because", &Value::Null);
        assert_eq!(other.post(&to, "", &first).0, 404);
        assert_eq!(bob.post(&to, "", &first).0, 403, "the scope");
        let (status, answered) = staff.post(&to, "", &first);
        assert_eq!(status, 200, "{answered}");
        assert_eq!(staff.post(&to, "", &first).0, 403, "another answer exists");
        let second = answer("Because of it", &answered["version"]);
        assert_eq!(staff.post(&to, "", &second).0, 200);
        let seen = other.get(&path).1;
        assert_eq!(seen["answer"], "Because of it", "{seen}");
        assert!(seen["question"].is_null() && seen["user"].is_null());
        let announce = format!("{root}/announcements");
        let new = json!({"text": "Hello"});
        assert_eq!(bob.post(&announce, "", &new).0, 403);
        assert_eq!(other.post(&announce, "", &new).0, 404);
        assert_eq!(staff.post(&announce, "", &new).0, 201);
        let all = bob.get(&format!("{list}?show=announcements")).1;
        assert_eq!(all["items"][0]["answer"], "Hello", "{all}");
        assert_eq!(all["items"].as_array().map(Vec::len), Some(1));

        let files = format!("{root}/files");
        for (audience, name) in [("all", "a.txt"), ("staff", "b.txt")] {
            let fields = [("audience", audience), ("round", ""), ("name", name)];
            let sent = admin.upload(&files, &fields, ("x", b"{\"content\": 1}"));
            assert_eq!(sent.status, 303, "{sent:#?}");
        }
        let seen = bob.get(&files).1;
        assert_eq!(seen.as_array().map(Vec::len), Some(1), "{seen}");
        assert_eq!(seen[0]["name"], "a.txt");
        let content = format!("/contest-files/{}/content", seen[0]["id"]);
        assert_eq!(bob.get(&content), (200, json!({"content": 1})));
        assert_eq!(guest.get(&content).0, 404);
        assert_eq!(staff.get(&files).1.as_array().map(Vec::len), Some(2));
        assert_eq!(bob.get("/contest-files/2/content").0, 404);

        let ranking = format!("{root}/ranking");
        let seen = bob.get(&ranking).1;
        assert!(seen["tables"].is_array(), "{seen}");
        assert_eq!(guest.get(&ranking).0, 404);
        assert_eq!(bob.get(&format!("{ranking}?round=999")).0, 404);
    });
}

#[test]
fn token_ends_with_its_user_and_is_not_a_session() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut bob = Browser::new(&site);
    bob.sign_up("/sign-up", "bob");
    let first = token(&mut bob, "manage");
    let second = token(&mut bob, "read");
    let me = |token: &str| {
        let token = token.to_owned();
        Program { site: &site, token }.get("/me").0
    };
    assert_eq!((me(&first), me(&second)), (200, 200));
    let page = Browser::new(&site).get_as(&first, "/account");
    assert_eq!(page.status, 303, "a token opens no page");
    assert_eq!(bob.get("/api/v1/me").status, 401, "a cookie is not a token");
    let tokens = bob.get("/account/tokens").body;
    assert!(!tokens.contains(&first), "a token is shown once");
    let id = tokens.split("/account/tokens/").nth(1).expect("a form");
    let id = id.split('/').next().expect("a number");
    let delete = format!("/account/tokens/{id}/delete");
    assert_eq!(admin.post(&delete, &[]).status, 404);
    assert_eq!(bob.post(&delete, &[]).status, 303);
    assert_eq!((me(&first), me(&second)), (200, 401));
    let disabled = [("role", "user"), ("disabled", "1")];
    assert_eq!(admin.post("/users/2", &disabled).status, 303);
    assert_eq!(me(&first), 401);
}

#[test]
fn description_lists_the_operations() {
    let site = Site::start(None);
    let mut guest = Browser::new(&site);
    let document: Value = serde_json::from_str(&guest.get("/api/openapi.json").body).expect("JSON");
    assert!(document["paths"]["/api/v1/submissions"]["post"].is_object());
    let page = guest.get("/api").body;
    assert!(page.contains("POST /api/v1/submissions"), "{page}");
}

#[test]
fn command_submits_and_shows_tests() {
    let Some(site) = Site::with_command() else {
        eprintln!("SKIPPED: the program millibox is not built");
        return;
    };
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    std::fs::write(site.path("token"), token(&mut bob, "submit") + "\n").expect("a file");
    std::fs::write(site.path("right.py"), RIGHT).expect("a file");
    std::fs::write(site.path("wrong.py"), "print(4)\n").expect("a file");
    let number = contest.id.to_string();
    let target = [
        "--contest",
        &number,
        "--problem",
        "a",
        "--token-file",
        "token",
    ];
    let ran = site.submit("right.py", &target, &[]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains("initial tests: accepted"), "{ran:#?}");
    assert!(!ran.out.contains("hidden-test"), "{ran:#?}");
    let ran = site.submit("wrong.py", &target, &["--json"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let value: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(value["initial_verdict"], "wrong_answer", "{value}");
    let unknown = [
        "--contest",
        &number,
        "--problem",
        "z",
        "--token-file",
        "token",
    ];
    let ran = site.submit("right.py", &unknown, &[]);
    assert_eq!(ran.code, Some(125), "{ran:#?}");
    // The round is still open.
    let ran = site.submit("right.py", &target, &["--practice"]);
    assert_eq!(ran.code, Some(125), "{ran:#?}");
    set_round(
        &mut admin,
        contest.round,
        "Round",
        ["2001-01-01T00:00", "2001-01-01T01:00", ""],
    );
    let ran = site.submit("right.py", &target, &["--practice"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    std::fs::write(site.path("token"), "0".repeat(64)).expect("a file");
    let ran = site.submit("right.py", &target, &[]);
    assert_eq!(ran.code, Some(125), "{ran:#?}");
}
