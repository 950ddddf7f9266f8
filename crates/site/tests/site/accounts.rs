//! Accounts: profiles, sessions, one-time passwords, sign-up, and what administrators change.

use super::support::{Browser, Site};
use super::{RIGHT, contestant, first_admin, make_contest, submit, with_each};

const PASSWORD: &str = "correct horse";

pub fn sign_in(browser: &mut Browser, login: &str, password: &str) -> (u16, Option<String>) {
    let fields = [("login", login), ("password", password)];
    let answer = browser.post("/sign-in", &fields);
    (answer.status, answer.location)
}

pub fn new_user(site: &Site, login: &str) -> Browser {
    let mut browser = Browser::new(site);
    browser.sign_up("/sign-up", login);
    browser
}

/// The text of the element with this id.
pub fn element(page: &str, id: &str) -> String {
    let document = scraper::Html::parse_document(page);
    let selector = scraper::Selector::parse(&format!("#{id}")).expect("a selector");
    let found = document.select(&selector).next();
    let found = found.unwrap_or_else(|| panic!("{id} is not in {page}"));
    found.text().collect::<String>().trim().to_owned()
}

/// The path of a link that a page shows as a whole address.
pub fn path_of_link(site: &Site, page: &str, id: &str) -> String {
    let address = element(page, id);
    let path = address.strip_prefix(&site.url);
    path.unwrap_or_else(|| panic!("{address}")).to_owned()
}

/// The number of a user in the list of administrators.
pub fn user_id(admin: &mut Browser, login: &str) -> String {
    let page = scraper::Html::parse_document(&admin.get("/users").body);
    let selector = scraper::Selector::parse("main a[href^='/users/']").expect("a selector");
    let mut links = page.select(&selector);
    let link = links.find(|link| link.text().collect::<String>() == login);
    let path = link.and_then(|link| link.attr("href")).expect("a link");
    path.trim_start_matches("/users/").to_owned()
}

/// The code that a generator shows, `periods` after now.
pub fn code(secret: &str, periods: u64) -> String {
    let secret = totp_rs::Secret::try_from_base32(secret).expect("a secret");
    let totp = totp_rs::Builder::new().with_secret(secret).build();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("a time").as_secs() + 30 * periods;
    totp.expect("a generator").generate(now).to_string()
}

#[test]
fn profile_and_sessions_belong_to_their_user() {
    let site = Site::start(None);
    first_admin(&site);
    let mut bob = new_user(&site, "bob");
    let mut second = Browser::new(&site);
    assert_eq!(sign_in(&mut second, "bob", PASSWORD).0, 303);
    let fields = [("name", "Bob <b>"), ("email", "bob@example.org")];
    assert_eq!(bob.post("/account", &fields).status, 303);
    let wrong = [("name", "Bob"), ("email", "nowhere")];
    assert_eq!(bob.post("/account", &wrong).status, 422);
    let page = bob.get("/account");
    assert!(page.body.contains("bob@example.org"), "{page:#?}");
    assert!(page.body.contains("Bob &lt;b&gt;"), "{page:#?}");
    assert_eq!(page.body.matches("127.0.0.1").count(), 2, "{page:#?}");
    assert_eq!(bob.post("/account/sessions/end", &[]).status, 303);
    assert_eq!(bob.get("/account").status, 200);
    assert_eq!(second.get("/account").location.as_deref(), Some("/sign-in"));

    assert_eq!(sign_in(&mut second, "bob", PASSWORD).0, 303);
    let fields = [("old", PASSWORD), ("new", "battery staple")];
    assert_eq!(bob.post("/password", &fields).status, 303);
    assert_eq!(second.get("/account").status, 303, "the session has ended");
    assert_eq!(bob.get("/account").status, 200);
    let mut guest = Browser::new(&site);
    assert_eq!(guest.get("/account").location.as_deref(), Some("/sign-in"));
}

/// Enables one-time passwords for a user with the usual password. Returns the secret.
pub fn turn_totp_on(browser: &mut Browser) -> String {
    let page = browser.post("/account/totp/new", &[("password", PASSWORD)]);
    let secret = element(&page.body, "secret");
    let used = code(&secret, 0);
    let page = browser.post("/account/totp/confirm", &[("code", &used)]);
    assert!(page.body.contains("recovery-codes"), "{page:#?}");
    secret
}

#[test]
fn one_time_passwords_are_required_and_work_once() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut bob = new_user(&site, "bob");
        let wrong = bob.post("/account/totp/new", &[("password", "wrong horse")]);
        assert_eq!(wrong.status, 422);
        let page = bob.post("/account/totp/new", &[("password", PASSWORD)]);
        let secret = element(&page.body, "secret");
        assert!(page.body.contains("<svg"), "{page:#?}");
        // An unconfirmed secret does not lock the user out.
        assert_eq!(
            sign_in(&mut Browser::new(&site), "bob", PASSWORD)
                .1
                .as_deref(),
            Some("/contests")
        );
        let confirm = "/account/totp/confirm";
        assert_eq!(bob.post(confirm, &[("code", "000000")]).status, 422);
        let used = code(&secret, 0);
        let page = bob.post(confirm, &[("code", &used)]);
        let codes = element(&page.body, "recovery-codes");
        let codes: Vec<&str> = codes.lines().collect();
        assert_eq!(codes.len(), 10, "{page:#?}");

        let mut other = Browser::new(&site);
        let second = Some("/sign-in/code".to_owned());
        assert_eq!(sign_in(&mut other, "bob", PASSWORD), (303, second.clone()));
        assert_eq!(other.get("/account").status, 303, "one step is not enough");
        let step = |browser: &mut Browser, code: &str| {
            browser.post("/sign-in/code", &[("code", code)]).status
        };
        assert_eq!(step(&mut other, &used), 422, "a code works once");
        assert_eq!(step(&mut other, &code(&secret, 1)), 303);
        assert_eq!(other.get("/account").status, 200);
        for (browser, status) in [
            (&mut Browser::new(&site), 303),
            (&mut Browser::new(&site), 422),
        ] {
            assert_eq!(sign_in(browser, "bob", PASSWORD).1, second);
            assert_eq!(
                step(browser, codes[0]),
                status,
                "a recovery code works once"
            );
        }
        // Wrong codes are counted by account, not by session.
        let mut statuses = Vec::new();
        for _ in 0..10 {
            let mut eve = Browser::new(&site);
            sign_in(&mut eve, "bob", PASSWORD);
            statuses.push(step(&mut eve, "123456"));
        }
        assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
        let mut eve = Browser::new(&site);
        assert_eq!(step(&mut eve, codes[1]), 303, "without a password");
        assert_eq!(eve.get("/account").status, 303);

        // An administrator helps after the loss of the generator.
        let id = user_id(&mut admin, "bob");
        let off = format!("/users/{id}/totp/off");
        assert_eq!(bob.post(&off, &[]).status, 404);
        assert_eq!(admin.post(&off, &[]).status, 303);
        assert_eq!(
            sign_in(&mut Browser::new(&site), "bob", PASSWORD)
                .1
                .as_deref(),
            Some("/contests")
        );
    });
}

#[test]
fn sign_up_is_open_closed_or_by_link() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut bob = new_user(&site, "bob");
    let fields = |login| [("login", login), ("name", "N"), ("password", PASSWORD)];
    assert_eq!(bob.post("/settings", &[("sign_up", "closed")]).status, 404);
    let answer = admin.post("/settings", &[("sign_up", "closed")]);
    assert_eq!(answer.status, 200, "{answer:#?}");
    let mut guest = Browser::new(&site);
    assert_eq!(guest.get("/sign-up").status, 403);
    assert_eq!(guest.post("/sign-up", &fields("eve")).status, 403);
    let page = admin.post("/settings", &[("sign_up", "link")]);
    let link = path_of_link(&site, &page.body, "sign-up-link");
    assert_eq!(guest.post("/sign-up", &fields("eve")).status, 403);
    let wrong = format!("/sign-up/{}", "0".repeat(64));
    assert_eq!(guest.post(&wrong, &fields("eve")).status, 404);
    assert_eq!(guest.get(&link).status, 200);
    assert_eq!(guest.post(&link, &fields("eve")).status, 303);
    admin.post("/settings", &[("sign_up", "open")]);
    assert_eq!(Browser::new(&site).get(&link).status, 404);
    new_user(&site, "fred");
}

#[test]
fn users_are_merged_and_deleted_but_the_last_administrator_stays() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let mut rob = contestant(&site, &mut admin, &contest, "rob");
        let page = format!("/submissions/{}", submit(&mut rob, &contest, RIGHT).id());
        admin.wait_for(&page, "hidden-test");
        let members = format!("/contests/{}/members", contest.id);
        let moderator = [("login", "rob"), ("role", "moderator")];
        assert_eq!(admin.post(&members, &moderator).status, 303);
        let [ada_id, bob_id, rob_id] =
            ["ada", "bob", "rob"].map(|login| user_id(&mut admin, login));
        // The last administrator cannot be removed.
        let own = format!("/users/{ada_id}");
        assert_eq!(admin.post(&own, &[("role", "user")]).status, 403);
        let disabled = [("role", "admin"), ("disabled", "1")];
        assert_eq!(admin.post(&own, &disabled).status, 403);
        let confirm = [("confirm", "ada"), ("into", "bob")];
        for action in ["delete", "merge"] {
            assert_eq!(admin.post(&format!("{own}/{action}"), &confirm).status, 403);
            let path = format!("/users/{rob_id}/{action}");
            assert_eq!(
                bob.post(&path, &[("confirm", "rob"), ("into", "bob")])
                    .status,
                404
            );
            assert_eq!(
                admin
                    .post(&path, &[("confirm", "bo"), ("into", "bob")])
                    .status,
                422
            );
        }
        let merge = [("confirm", "rob"), ("into", "bob")];
        let merged = admin.post(&format!("/users/{rob_id}/merge"), &merge);
        assert_eq!(merged.status, 303, "{merged:#?}");
        assert_eq!(rob.get("/account").status, 303, "the user has gone");
        assert_eq!(bob.get("/account").status, 303, "the rights have grown");
        assert_eq!(sign_in(&mut bob, "bob", PASSWORD).0, 303);
        assert!(bob.get(&page).body.contains("hidden-test"), "bob moderates");
        assert_eq!(bob.get(&members).status, 200);
        let ranking = format!("/contests/{}/ranking", contest.id);
        assert!(admin.get(&ranking).body.contains(super::SUM));

        let link = admin.post(&format!("/users/{bob_id}/reset"), &[]);
        let link = path_of_link(&site, &link.body, "reset-link");
        assert_eq!(Browser::new(&site).get(&link).status, 200);
        let deleted = admin.post(&format!("/users/{bob_id}/delete"), &[("confirm", "bob")]);
        assert_eq!(deleted.status, 303, "{deleted:#?}");
        assert_eq!(Browser::new(&site).get(&link).status, 404);
        assert_eq!(admin.get(&page).status, 404);
        assert!(!admin.get(&ranking).body.contains(super::SUM));
        // The entries of the log outlive their users, and contain no secrets.
        let log = admin.get("/audit");
        for part in [
            "POST /users/{id}/merge",
            "POST /users/{id}/delete",
            "POST /enter/{token}",
        ] {
            assert!(log.body.contains(part), "{part}: {log:#?}");
        }
        let filtered = admin.get("/audit?actor=rob&action=").body;
        assert!(filtered.contains("POST /enter/{token}"), "{filtered}");
        assert!(!filtered.contains("/merge"), "{filtered}");
        let secret = link.rsplit('/').next().expect("a token");
        assert!(!log.body.contains(secret));
    });
}
