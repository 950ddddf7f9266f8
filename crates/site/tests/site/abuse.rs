//! What hostile visitors and users try.

use super::accounts::{new_user, sign_in, turn_totp_on};
use super::api::token;
use super::support::{Answer, Browser, Site, archive};
use super::{first_admin, make_contest, with_each};

const PASSWORD: &str = "correct horse";
/// Requests that arrive at the same moment.
const CROWD: usize = 40;

/// Sends a form from many copies of a browser at the same moment. Returns how many were answered
/// with 422: the site has looked at them.
fn looked_at(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> usize {
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let post = || browser.clone().post(path, fields).status;
        let threads: Vec<_> = (0..CROWD).map(|_| scope.spawn(post)).collect();
        let threads = threads.into_iter();
        threads
            .map(|thread| thread.join().expect("a status"))
            .collect()
    });
    let looked_at = statuses.iter().filter(|status| **status == 422).count();
    let refused = statuses.iter().filter(|status| **status == 429).count();
    assert_eq!(looked_at + refused, CROWD, "{statuses:?}");
    looked_at
}

#[test]
fn passwords_and_codes_at_the_same_moment_are_limited() {
    let site = Site::start(None);
    first_admin(&site);
    let fields = [("login", "ada"), ("password", "wrong horse")];
    assert_eq!(looked_at(&Browser::new(&site), "/sign-in", &fields), 10);

    let mut bob = new_user(&site, "bob");
    turn_totp_on(&mut bob);
    let mut other = Browser::new(&site);
    assert_eq!(sign_in(&mut other, "bob", PASSWORD).0, 303);
    assert_eq!(looked_at(&other, "/sign-in/code", &[("code", "000000")]), 8);
}

#[test]
fn long_logins_are_limited_by_their_beginning() {
    let site = Site::start(None);
    let mut guest = Browser::new(&site);
    let long = "x".repeat(64);
    for number in 0..10 {
        let login = format!("{long}{number}");
        assert_eq!(sign_in(&mut guest, &login, PASSWORD).0, 422, "{number}");
    }
    assert_eq!(sign_in(&mut guest, &format!("{long}10"), PASSWORD).0, 429);
}

#[test]
fn password_of_a_confirmation_cannot_be_guessed() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let delete = format!("/contests/{}/delete", contest.id);
    for _ in 0..10 {
        let wrong = admin.post(&delete, &[("password", "wrong horse")]);
        assert_eq!(wrong.status, 422);
    }
    let right = admin.post(&delete, &[("password", PASSWORD)]);
    assert_eq!(right.status, 429, "{right:#?}");
}

/// Signs in with a wrong password through a proxy that has added an address.
fn fail_from(browser: &mut Browser, forwarded: &str) -> Answer {
    let fields = [("login", "ada"), ("password", "wrong horse")];
    browser.post_with(("x-forwarded-for", forwarded), "/sign-in", &fields)
}

#[test]
fn visitors_behind_a_proxy_are_limited_one_by_one() {
    let site = Site::start_with(None, &["--behind-proxy"]);
    let mut guest = Browser::new(&site);
    for number in 0..10 {
        // Visitors choose the addresses before the last one.
        let forwarded = format!("198.51.100.{number}, 192.0.2.1");
        assert_eq!(fail_from(&mut guest, &forwarded).status, 422);
    }
    assert_eq!(fail_from(&mut guest, "192.0.2.1").status, 429);
    assert_eq!(fail_from(&mut guest, "192.0.2.2").status, 422);
    for number in 0..10 {
        let forwarded = format!("2001:db8::{number}");
        assert_eq!(fail_from(&mut guest, &forwarded).status, 422);
    }
    assert_eq!(fail_from(&mut guest, "2001:db8::ffff").status, 429);
    assert_eq!(fail_from(&mut guest, "2001:db8:0:1::1").status, 422);
}

#[test]
fn visitors_without_a_proxy_do_not_choose_their_address() {
    let site = Site::start(None);
    let mut guest = Browser::new(&site);
    for number in 0..10 {
        let forwarded = format!("192.0.2.{number}");
        assert_eq!(fail_from(&mut guest, &forwarded).status, 422);
    }
    assert_eq!(fail_from(&mut guest, "192.0.2.99").status, 429);
}

#[test]
fn new_password_ends_links_for_choosing_one() {
    let site = Site::start(None);
    first_admin(&site);
    let mut bob = new_user(&site, "bob");
    let link = site.run(&["user", "reset-link"], &["bob"]).output();
    let link = link.trim();
    let mut thief = Browser::new(&site);
    assert_eq!(thief.get(link).status, 200, "{link}");
    let fields = [("old", PASSWORD), ("new", "battery staple")];
    assert_eq!(bob.post("/password", &fields).status, 303);
    assert_eq!(thief.get(link).status, 404);
    assert_eq!(thief.post(link, &[("new", "stolen horse")]).status, 404);
}

#[test]
fn link_for_a_password_works_once_and_ends_sessions_and_tokens() {
    with_each(|site| {
        first_admin(&site);
        let mut bob = new_user(&site, "bob");
        let token = super::api::token(&mut bob, "manage");
        let program = |site: &Site| Browser::new(site).get_as(&token, "/api/v1/me").status;
        assert_eq!(program(&site), 200);
        let link = site.run(&["user", "reset-link"], &["bob"]).output();
        let link = link.trim();
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let choose = |number: usize| {
                let password = format!("battery staple {number}");
                Browser::new(&site).post(link, &[("new", &password)]).status
            };
            let threads: Vec<_> = (0..4)
                .map(|number| scope.spawn(move || choose(number)))
                .collect();
            let threads = threads.into_iter();
            threads
                .map(|thread| thread.join().expect("a status"))
                .collect()
        });
        let used = statuses.iter().filter(|status| **status == 303).count();
        let refused = statuses.iter().filter(|status| **status == 404).count();
        assert_eq!((used, refused), (1, 3), "{statuses:?}");
        assert_eq!(bob.get("/account").status, 303, "the session has ended");
        assert_eq!(program(&site), 401, "the token has ended");
    });
}

#[test]
fn own_new_password_ends_other_sessions_and_tokens_that_are_not_kept() {
    let site = Site::start(None);
    first_admin(&site);
    let mut bob = new_user(&site, "bob");
    let token = super::api::token(&mut bob, "read");
    let mut other = Browser::new(&site);
    assert_eq!(sign_in(&mut other, "bob", PASSWORD).0, 303);
    assert!(bob.get("/password").body.contains("name=\"keep_tokens\""));
    let fields = [
        ("old", PASSWORD),
        ("new", "battery staple"),
        ("keep_tokens", "1"),
    ];
    assert_eq!(bob.post("/password", &fields).status, 303);
    assert_eq!(bob.get("/account").status, 200);
    assert_eq!(other.get("/account").status, 303);
    let program = Browser::new(&site).get_as(&token, "/api/v1/me");
    assert_eq!(program.status, 200, "{program:#?}");
    // A password that an administrator sets ends the tokens, too.
    site.run(&["user", "set-password"], &["bob"]).output();
    assert_eq!(bob.get("/account").status, 303);
    let program = Browser::new(&site).get_as(&token, "/api/v1/me");
    assert_eq!(program.status, 401, "{program:#?}");
    // So does the user's own new password, if the user does not keep them.
    let mut eve = new_user(&site, "eve");
    let token = super::api::token(&mut eve, "read");
    let fields = [("old", PASSWORD), ("new", "battery staple")];
    assert_eq!(eve.post("/password", &fields).status, 303);
    let program = Browser::new(&site).get_as(&token, "/api/v1/me");
    assert_eq!(program.status, 401, "{program:#?}");
}

#[test]
fn refused_requests_of_guests_are_not_in_the_log_of_changes() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut guest = Browser::new(&site);
    let refused = guest.post("/account/sessions/end", &[]);
    assert_eq!(refused.location.as_deref(), Some("/sign-in"));
    let log = |admin: &mut Browser| admin.get("/audit").body;
    assert!(!log(&mut admin).contains("/account/sessions/end"));
    assert_eq!(admin.post("/account/sessions/end", &[]).status, 303);
    assert!(log(&mut admin).contains("/account/sessions/end"));
}

#[test]
fn session_is_bound_to_its_host_with_https() {
    let site = Site::start_with(None, &["--https"]);
    let mut admin = Browser::new(&site);
    let fields = [("login", "ada"), ("name", "Ada"), ("password", PASSWORD)];
    let answer = admin.post(site.setup.as_deref().expect("a link"), &fields);
    let cookie = answer.headers["set-cookie"].to_str().expect("a cookie");
    let token = cookie.strip_prefix("__Host-session=").expect(cookie);
    for part in ["Path=/", "HttpOnly", "SameSite=Lax", "Secure"] {
        assert!(cookie.split("; ").any(|it| it == part), "{part}: {cookie}");
    }
    assert_eq!(admin.get("/account").status, 200);
    let token = token.split(';').next().expect("a token");
    let mut other = Browser::new(&site);
    for (name, status) in [("session", 303), ("__Host-session", 200)] {
        let cookie = format!("{name}={token}");
        let page = other.get_with("/account", ("cookie", &cookie));
        assert_eq!(page.status, status, "{name}");
    }
}

#[test]
fn name_of_a_source_does_not_leave_its_header() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let package = archive(&[
        (
            "Simfile",
            "name: Sum\nlabel: sum\nlimits: [\n  sum0 1 64\n]\n",
        ),
        ("in/sum0.in", "1 2\n"),
        ("out/sum0.out", "3\n"),
        ("prog/a\"; filename=\"b.py", "print(3)\n"),
    ]);
    let fields = [("visibility", "private")];
    let added = admin.upload("/problems/new", &fields, ("sum.zip", &package));
    assert_eq!(added.status, 303, "{added:#?}");
    let source = admin.get("/submissions/1/source");
    assert_eq!(source.body, "print(3)\n");
    let disposition = source.headers["content-disposition"].to_str();
    let disposition = disposition.expect("ASCII");
    assert!(
        disposition.starts_with("attachment; filename=\"a__ filename__b.py\"; "),
        "{disposition}"
    );
}

#[test]
fn form_of_the_staff_does_not_tell_which_logins_exist() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut bob = new_user(&site, "bob");
    for (login, exists) in [("ada", true), ("eve", false)] {
        let form = format!("/rejudgings/new?user={login}");
        let shown = admin.get(&form);
        let has_mistake = shown.body.contains("role=\"alert\"");
        assert_eq!((shown.status, has_mistake), (200, !exists), "{login}");
        assert_eq!(bob.get(&form).status, 404, "{login}");
    }
}

/// PostgreSQL stores no zero byte in texts, and SQLite does.
#[test]
fn text_with_a_zero_byte_is_refused_with_the_name_of_its_field() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let at = |path: &str| format!("/contests/{}/{path}", contest.id);
        let forms = [
            (
                "/sign-in".to_owned(),
                vec![("login", "a\0"), ("password", "x")],
                "login",
            ),
            (at("clarifications"), vec![("text", "a\0b")], "text"),
            (at("canned-answers"), vec![("list", "\0")], "list"),
            (
                at("edit"),
                vec![("visibility", "private"), ("name", "\0")],
                "name",
            ),
            (
                "/rejudgings/new".to_owned(),
                vec![("reason", "\0")],
                "reason",
            ),
            (
                "/account".to_owned(),
                vec![("name", "a"), ("email", "a@b\0")],
                "email",
            ),
        ];
        for (path, fields, field) in forms {
            let answer = admin.post(&path, &fields);
            assert_eq!(answer.status, 422, "{path}: {answer:#?}");
            assert!(
                answer.body.contains(&format!("“{field}”")),
                "{path}: {answer:#?}"
            );
        }
        for path in [
            "/audit?action=%00",
            "/users?after=%00",
            "/problems?name=a%00",
        ] {
            assert_eq!(admin.get(path).status, 422, "{path}");
        }
        assert_eq!(admin.get("/problems/1/files/%00").status, 404);
        let fields = [("audience", "all"), ("name", "a"), ("description", "\0")];
        let answer = admin.upload(&at("files"), &fields, ("a.txt", b"a"));
        assert_eq!(answer.status, 422, "{answer:#?}");
        assert!(answer.body.contains("“description”"), "{answer:#?}");
        let token = token(&mut admin, "manage");
        let path = format!("/api/v1/contests/{}/clarifications", contest.id);
        let answer = admin.post_json(&token, &path, "", "{\"text\": \"a\\u0000\"}");
        assert_eq!(answer.status, 422, "{answer:#?}");
        assert!(answer.body.contains("“text”"), "{answer:#?}");
        // The name of a package is a text, too.
        let package = archive(&[
            ("problem.yaml", "name: \"a\\0b\"\n"),
            ("problem_statement/problem.md", "Text\n"),
            ("data/secret/1.in", "1\n"),
            ("data/secret/1.ans", "1\n"),
        ]);
        let fields = [("visibility", "private")];
        let answer = admin.upload("/problems/new", &fields, ("a.zip", &package));
        assert_eq!(answer.status, 422, "{answer:#?}");
        assert_eq!(admin.get("/").status, 200);
    });
}
