//! Sign-in with another service, whose provider issues valid and invalid tokens.

use super::entry::entry_link;
use super::provider::{CLIENT, Provider, SECRET, Signed};
use super::support::{Answer, Browser, Site, with_each_database};
use super::{first_admin, make_contest};
use serde_json::json;

const PASSWORD: &str = "correct horse";
const SITE: &str = "http://127.0.0.1:9";

/// Starts a site with a provider.
fn start(database: Option<String>, adds_users: bool) -> (Site, Provider) {
    let provider = Provider::start();
    let mut options = vec![
        "--oidc-issuer",
        provider.url.clone().leak(),
        "--oidc-client-id",
        CLIENT,
        "--oidc-name",
        "School",
        "--site-url",
        SITE,
        "--oidc-client-secret-file",
        "secret",
    ];
    if adds_users {
        options.push("--oidc-sign-up");
    }
    // The file is in the directory of the site, which ends with it.
    let secret = format!("{SECRET}\n");
    let file = Some(("secret", secret.as_str()));
    let site = Site::start_with_file(database, options.leak(), file);
    (site, provider)
}

fn with_each(adds_users: bool, test: impl Fn(Site, Provider)) {
    with_each_database(|database| {
        let (site, provider) = start(database, adds_users);
        test(site, provider);
    });
}

/// Begins a sign-in and lets the person agree. Returns the path to which the browser returns.
fn agreed(browser: &mut Browser, provider: &Provider) -> String {
    let answer = browser.get("/oidc/sign-in");
    assert_eq!(answer.status, 303, "{answer:#?}");
    provider.agree(answer.location.as_deref().expect("an address"))
}

fn sign_in(browser: &mut Browser, provider: &Provider) -> Answer {
    let back = agreed(browser, provider);
    browser.get(&back)
}

/// Begins to link the account and lets the person agree. Returns the path to which the browser
/// returns.
fn linking(browser: &mut Browser, provider: &Provider) -> String {
    let page = browser.post("/account/oidc/link", &[("password", PASSWORD)]);
    assert_eq!(page.status, 200, "{page:#?}");
    let start = format!("href=\"{}", provider.url);
    let rest = page.body.split(&start).nth(1).expect("a link");
    let rest = rest.split('"').next().expect("a link");
    provider.agree(&format!("{}{}", provider.url, rest.replace("&amp;", "&")))
}

fn is_signed_in(browser: &mut Browser) -> bool {
    browser.get("/account").status == 200
}

#[test]
fn person_signs_up_once_and_signs_in_again() {
    with_each(true, |site, provider| {
        let mut admin = first_admin(&site);
        let page = Browser::new(&site).get("/sign-in");
        assert!(page.body.contains("Sign in with School"), "{page:#?}");
        let mut olga = Browser::new(&site);
        let answer = sign_in(&mut olga, &provider);
        assert_eq!(answer.location.as_deref(), Some("/contests"), "{answer:#?}");
        let account = olga.get("/account").body;
        for shown in [
            "Olga Other",
            "olga@example.org",
            "<strong>olga</strong>",
            "Linked with",
        ] {
            assert!(account.contains(shown), "{shown}: {account}");
        }
        assert_eq!(olga.get("/users").status, 404, "a new user has no rights");
        // Another algorithm, new keys and another name lead to the same user.
        for signed in [Signed::Curve, Signed::NewRsa] {
            if signed == Signed::NewRsa {
                // The site reads the keys again only after a pause.
                std::thread::sleep(std::time::Duration::from_secs(6));
            }
            provider.sign(signed);
            provider.claim(json!({ "preferred_username": "other", "name": "Changed" }));
            let mut again = Browser::new(&site);
            let answer = sign_in(&mut again, &provider);
            assert_eq!(answer.status, 303, "{signed:?}: {answer:#?}");
            assert!(again.get("/account").body.contains("<strong>olga</strong>"));
        }
        // Another person receives a separate user, even with the same names and an unverified
        // address.
        provider.claim(json!({ "sub": "person-2", "email_verified": false }));
        let mut other = Browser::new(&site);
        sign_in(&mut other, &provider);
        let account = other.get("/account").body;
        assert!(account.contains("<strong>olga-2</strong>"), "{account}");
        assert!(!account.contains("olga@example.org"), "{account}");
        // An administrator disables the user.
        let users = admin.get("/users").body;
        let id = users
            .split("href=\"/users/")
            .find(|part| part.contains(">olga<"));
        let id = id.and_then(|part| part.split('"').next()).expect("a user");
        let fields = [("role", "user"), ("disabled", "1")];
        assert_eq!(admin.post(&format!("/users/{id}"), &fields).status, 303);
        provider.claim(json!({}));
        let refused = sign_in(&mut Browser::new(&site), &provider);
        assert_eq!(refused.status, 403, "{refused:#?}");
        // The secret is on no page and in no log of changes. The sign-ins are in it.
        let log = admin.get("/audit").body;
        assert!(!log.contains(SECRET), "{log}");
        assert!(log.contains("GET /oidc/callback"), "{log}");
    });
}

#[test]
fn person_is_never_linked_by_names_or_addresses() {
    with_each(true, |site, provider| {
        let mut admin = first_admin(&site);
        let fields = [("name", "ada"), ("email", "ada@example.org")];
        assert_eq!(admin.post("/account", &fields).status, 303);
        provider.claim(json!({
            "preferred_username": "ADA", "email": "ada@example.org", "email_verified": true,
        }));
        let mut mallory = Browser::new(&site);
        sign_in(&mut mallory, &provider);
        assert!(is_signed_in(&mut mallory));
        assert_eq!(mallory.get("/users").status, 404, "not the administrator");
        assert!(
            mallory
                .get("/account")
                .body
                .contains("<strong>ADA-2</strong>")
        );
    });
}

#[test]
fn users_link_their_accounts_where_no_users_are_added() {
    with_each(false, |site, provider| {
        let mut admin = first_admin(&site);
        let mut bob = Browser::new(&site);
        bob.sign_up("/sign-up", "bob");
        let refused = sign_in(&mut Browser::new(&site), &provider);
        assert_eq!(refused.status, 403, "{refused:#?}");
        assert!(!admin.get("/users").body.contains("olga"));

        assert_eq!(
            Browser::new(&site).post("/account/oidc/link", &[]).status,
            303
        );
        let refused = bob.post_from("cross-site", "/account/oidc/link", &[]);
        assert_eq!(refused.status, 403, "a form of another site");
        for fields in [&[("password", "wrong horse")][..], &[]] {
            let refused = bob.post("/account/oidc/link", fields);
            assert_eq!(refused.status, 422, "a link outlives the session");
        }
        let back = linking(&mut bob, &provider);
        // Another user cannot end the flow, not even with the same browser.
        let mut eve = Browser::new(&site);
        eve.sign_up("/sign-up", "eve");
        assert_eq!(eve.get(&back).status, 403);
        assert_eq!(bob.get(&back).location.as_deref(), Some("/account"));
        let mut other = Browser::new(&site);
        sign_in(&mut other, &provider);
        assert!(other.get("/account").body.contains("<strong>bob</strong>"));
        // In a browser that two users share, the second cannot end the flow that the first has
        // begun.
        provider.claim(json!({ "sub": "person-3" }));
        let mut shared = Browser::new(&site);
        shared.sign_up("/sign-up", "carl");
        let back = linking(&mut shared, &provider);
        assert_eq!(shared.post("/sign-out", &[]).status, 303);
        shared.sign_up("/sign-up", "dora");
        assert_eq!(shared.get(&back).status, 403);
        assert!(!shared.get("/account").body.contains("Linked with"));
        provider.claim(json!({}));
        // An identity is linked to only one user.
        let back = linking(&mut eve, &provider);
        assert_eq!(eve.get(&back).status, 403);

        assert_eq!(bob.post("/account/oidc/unlink", &[]).status, 303);
        let refused = sign_in(&mut Browser::new(&site), &provider);
        assert_eq!(refused.status, 403, "{refused:#?}");
    });
}

#[test]
fn new_password_ends_links_to_other_services_unless_they_are_kept() {
    with_each(false, |site, provider| {
        first_admin(&site);
        let mut bob = Browser::new(&site);
        bob.sign_up("/sign-up", "bob");
        let back = linking(&mut bob, &provider);
        assert_eq!(bob.get(&back).status, 303);
        let signed_in = || {
            let mut browser = Browser::new(&site);
            sign_in(&mut browser, &provider);
            is_signed_in(&mut browser)
        };
        assert!(signed_in());
        assert!(
            bob.get("/password")
                .body
                .contains("name=\"keep_identities\"")
        );
        let keep = [
            ("old", PASSWORD),
            ("new", "battery staple"),
            ("keep_identities", "1"),
        ];
        assert_eq!(bob.post("/password", &keep).status, 303);
        assert!(signed_in());
        let link = site.run(&["user", "reset-link"], &["bob"]).output();
        let page = Browser::new(&site).get(link.trim());
        assert!(page.body.contains("name=\"keep_identities\""), "{page:#?}");
        let reset = Browser::new(&site).post(link.trim(), &[("new", PASSWORD)]);
        assert_eq!(reset.status, 303, "{reset:#?}");
        assert!(!signed_in());
    });
}

#[test]
fn link_that_began_with_an_old_password_is_not_made() {
    let (site, provider) = start(None, false);
    first_admin(&site);
    let mut bob = Browser::new(&site);
    bob.sign_up("/sign-up", "bob");
    let back = linking(&mut bob, &provider);
    let fields = [("old", PASSWORD), ("new", "battery staple")];
    assert_eq!(bob.post("/password", &fields).status, 303);
    assert_eq!(bob.get(&back).status, 403);
    assert!(!bob.get("/account").body.contains("Linked with"));
}

#[test]
fn invalid_provider_answers_sign_in_no_person() {
    let (site, provider) = start(None, true);
    let mut admin = first_admin(&site);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let past = now.expect("a time").as_secs() - 3600;
    let attacks = [
        ("a token that is not signed", Signed::NotAtAll, json!({})),
        (
            "a public key as a secret",
            Signed::WithPublicKeyAsSecret,
            json!({}),
        ),
        ("a foreign key", Signed::WithForeignKey, json!({})),
        (
            "another audience",
            Signed::Rsa,
            json!({ "aud": "another site" }),
        ),
        (
            "several audiences",
            Signed::Rsa,
            json!({ "aud": [CLIENT, "another site"] }),
        ),
        (
            "another party",
            Signed::Rsa,
            json!({ "azp": "another site" }),
        ),
        (
            "another issuer",
            Signed::Curve,
            json!({ "iss": "http://127.0.0.1:1" }),
        ),
        ("an expired token", Signed::Rsa, json!({ "exp": past })),
        ("no expiry", Signed::Rsa, json!({ "exp": null })),
        ("another nonce", Signed::Curve, json!({ "nonce": "0" })),
        ("no nonce", Signed::Rsa, json!({ "nonce": null })),
        ("no subject", Signed::Rsa, json!({ "sub": "" })),
    ];
    for (attack, signed, claims) in attacks {
        provider.sign(signed);
        provider.claim(claims);
        let mut browser = Browser::new(&site);
        let answer = sign_in(&mut browser, &provider);
        assert_eq!(answer.status, 403, "{attack}: {answer:#?}");
        assert!(!is_signed_in(&mut browser), "{attack}");
    }
    provider.sign(Signed::Rsa);
    provider.claim(json!({}));

    // The answer belongs to one flow of one browser, and works once.
    let mut browser = Browser::new(&site);
    let back = agreed(&mut browser, &provider);
    let mut thief = Browser::new(&site);
    assert_eq!(thief.get(&back).status, 403, "a browser without a flow");
    agreed(&mut thief, &provider);
    assert_eq!(thief.get(&back).status, 403, "the state of another flow");
    assert!(!is_signed_in(&mut thief));
    assert_eq!(browser.get(&back).status, 303);
    assert_eq!(browser.get(&back).status, 403, "a replay");

    let mut browser = Browser::new(&site);
    let back = agreed(&mut browser, &provider);
    let without_state = back.replace("state=", "other=");
    assert_eq!(browser.get(&without_state).status, 403, "no state");
    assert_eq!(browser.get(&back).status, 403, "the flow has ended");

    for (parameter, wrong) in [("code=", "code=wrong-"), ("iss=", "iss=other-")] {
        let mut browser = Browser::new(&site);
        let back = agreed(&mut browser, &provider).replace(parameter, wrong);
        assert_eq!(browser.get(&back).status, 403, "{wrong}");
        assert!(!is_signed_in(&mut browser), "{wrong}");
    }
    let mut browser = Browser::new(&site);
    let back = agreed(&mut browser, &provider).replace("code=", "error=access_denied&x=");
    assert_eq!(browser.get(&back).status, 403, "the person has refused");

    // An ID token of an earlier sign-in has another nonce.
    provider.replay(true);
    let mut browser = Browser::new(&site);
    assert_eq!(sign_in(&mut browser, &provider).status, 403, "an old token");
    provider.replay(false);

    provider.set_down(true);
    let mut browser = Browser::new(&site);
    let back = {
        provider.set_down(false);
        let back = agreed(&mut browser, &provider);
        provider.set_down(true);
        back
    };
    assert_eq!(
        browser.get(&back).status,
        403,
        "the provider does not answer"
    );
    provider.set_down(false);
    assert_eq!(
        sign_in(&mut browser, &provider).status,
        303,
        "the provider answers again"
    );
    // Only the two people with valid sign-ins have become users.
    let users = admin.get("/users").body;
    assert_eq!(users.matches(">olga").count(), 1, "{users}");
}

#[test]
fn second_factor_is_required_after_the_other_service() {
    let (site, provider) = start(None, false);
    first_admin(&site);
    let mut bob = Browser::new(&site);
    bob.sign_up("/sign-up", "bob");
    let back = linking(&mut bob, &provider);
    assert_eq!(bob.get(&back).location.as_deref(), Some("/account"));
    super::accounts::turn_totp_on(&mut bob);
    let mut again = Browser::new(&site);
    let answer = sign_in(&mut again, &provider);
    assert_eq!(
        answer.location.as_deref(),
        Some("/sign-in/code"),
        "{answer:#?}"
    );
    assert!(!is_signed_in(&mut again));
}

#[test]
fn site_without_a_provider_has_no_such_pages() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    assert!(!admin.get("/sign-in").body.contains("/oidc/"));
    assert!(!admin.get("/account").body.contains("/oidc/"));
    assert_eq!(admin.get("/oidc/sign-in").status, 404);
    assert_eq!(admin.get("/oidc/callback?state=a&code=b").status, 404);
    assert_eq!(admin.post("/account/oidc/link", &[]).status, 404);
}

#[test]
fn sign_in_returns_to_an_entry_link_and_to_no_other_site() {
    let (site, provider) = start(None, true);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let link = entry_link(&mut admin, contest.id);
    let sign_in = |address: &str| {
        let mut browser = Browser::new(&site);
        let begin = browser.get(address);
        assert_eq!(begin.status, 303, "{begin:#?}");
        let location = begin.location.expect("an address");
        assert!(!location.contains("enter"), "the provider learns no link");
        browser.get(&provider.agree(&location)).location
    };
    let page = Browser::new(&site).get(&format!("/sign-in?back={link}"));
    let button = page.body.split("href=\"/oidc/sign-in").nth(1);
    let query = button.and_then(|part| part.split('"').next());
    let address = format!("/oidc/sign-in{}", query.expect("a button"));
    assert_eq!(sign_in(&address).as_deref(), Some(link.as_str()));
    for foreign in ["//evil.example", "https://evil.example", "/%5Cevil.example"] {
        let address = format!("/oidc/sign-in?back={foreign}");
        assert_eq!(sign_in(&address).as_deref(), Some("/contests"), "{foreign}");
    }
}

#[test]
fn provider_that_describes_another_issuer_receives_no_browser() {
    let (site, provider) = start(None, true);
    first_admin(&site);
    provider.describe(json!({ "issuer": "https://id.example.org" }));
    let refused = Browser::new(&site).get("/oidc/sign-in");
    assert_eq!(refused.status, 403, "{refused:#?}");
    assert_eq!(refused.location, None);
}

#[test]
fn administrators_see_the_provider_without_its_secret() {
    let (site, provider) = start(None, true);
    let mut admin = first_admin(&site);
    let page = admin.get("/settings").body;
    let callback = format!("{SITE}/oidc/callback");
    for shown in [
        "School",
        &provider.url,
        CLIENT,
        &callback,
        "when they first sign in",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains(SECRET), "{page}");
    let mut olga = Browser::new(&site);
    sign_in(&mut olga, &provider);
    assert_eq!(olga.get("/settings").status, 404);
    let other = Site::start(None);
    let page = first_admin(&other).get("/settings").body;
    assert!(page.contains("No other service is configured"), "{page}");
}
