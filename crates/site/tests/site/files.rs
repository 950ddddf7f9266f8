//! Files of contests.

use crate::support::contest::{contestant, first_admin, make_contest, round};
use crate::support::{Answer, Browser, with_each};

const PAGE: &[u8] = b"<script>alert(1)</script>";

fn add(
    browser: &mut Browser,
    path: &str,
    fields: [(&str, &str); 3],
    file: (&str, &[u8]),
) -> Answer {
    let [audience, round, name] = fields;
    let fields = [audience, round, name, ("description", "Some words")];
    browser.upload(path, &fields, file)
}

#[test]
fn files_are_seen_by_their_audience() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let (mut eve, mut guest) = (Browser::new(&site), Browser::new(&site));
        eve.sign_up("/sign-up", "eve");
        let list = format!("/contests/{}/files", contest.id);
        let in_round = contest.round.to_string();
        for (audience, round, name) in [
            ("all", "", "rules.html"),
            ("staff", "", "secret.txt"),
            ("all", in_round.as_str(), "Übung.zip"),
        ] {
            let fields = [("audience", audience), ("round", round), ("name", name)];
            let added = add(&mut admin, &list, fields, ("x", PAGE));
            assert_eq!(added.status, 303, "{added:#?}");
        }
        let fields = [("audience", "all"), ("round", ""), ("name", "large.bin")];
        let large = vec![0; 12 << 20];
        let added = add(&mut admin, &list, fields, ("x", &large));
        assert_eq!(added.status, 303, "{added:#?}");
        let fields = [("audience", "all"), ("round", ""), ("name", "")];
        for (name, content, fields) in [
            ("..", PAGE, fields),
            ("a.txt", b"", fields),
            (
                "a.txt",
                PAGE,
                [("audience", "bob"), ("round", ""), ("name", "")],
            ),
        ] {
            let refused = add(&mut admin, &list, fields, (name, content));
            assert_eq!(refused.status, 422, "{name}: {refused:#?}");
        }
        let fields = [("audience", "all"), ("round", "999"), ("name", "")];
        assert_eq!(add(&mut admin, &list, fields, ("a", PAGE)).status, 404);
        for browser in [&mut bob, &mut eve, &mut guest] {
            let fields = [("audience", "all"), ("round", ""), ("name", "")];
            assert_eq!(add(browser, &list, fields, ("a", PAGE)).status, 404);
            assert_eq!(browser.get("/contest-files/2").status, 404);
            assert_eq!(browser.get("/contest-files/1/edit").status, 404);
            assert_eq!(browser.post("/contest-files/1/delete", &[]).status, 404);
        }
        for browser in [&mut eve, &mut guest] {
            assert_eq!(browser.get(&list).status, 404);
            assert_eq!(browser.get("/contest-files/1").status, 404);
        }
        let page = bob.get(&list).body;
        assert!(page.contains("rules.html") && page.contains("Übung.zip"));
        assert!(!page.contains("secret.txt"), "{page}");
        assert!(admin.get(&list).body.contains("secret.txt"));

        // An HTML file is saved, and never opened as a page of the site.
        let file = bob.get("/contest-files/1");
        assert_eq!(file.body.as_bytes(), PAGE);
        assert_eq!(file.headers["content-type"], "application/octet-stream");
        assert_eq!(
            file.headers["content-disposition"],
            "attachment; filename=\"rules.html\""
        );
        assert_eq!(file.headers["x-content-type-options"], "nosniff");
        let policy = file.headers["content-security-policy"].to_str();
        assert!(policy.is_ok_and(|text| text.contains("default-src 'none'")));

        // A file of a round is hidden until the round begins.
        let mut later = round("");
        later[1].1 = "2998-01-01T00:00";
        let path = format!("/rounds/{}", contest.round);
        assert_eq!(admin.post(&path, &later).status, 303);
        assert!(!bob.get(&list).body.contains("Übung.zip"));
        assert_eq!(bob.get("/contest-files/3").status, 404);
        assert_eq!(admin.get("/contest-files/3").status, 200);

        // Other fields can change without new content, and the content without a new name.
        let fields = [("audience", "staff"), ("round", ""), ("name", "old.txt")];
        let edit = "/contest-files/1/edit";
        assert_eq!(add(&mut admin, edit, fields, ("", b"")).status, 303);
        assert_eq!(bob.get("/contest-files/1").status, 404);
        assert_eq!(admin.get("/contest-files/1").body.as_bytes(), PAGE);
        let fields = [("audience", "all"), ("round", ""), ("name", "")];
        assert_eq!(add(&mut admin, edit, fields, ("y", b"new")).status, 303);
        let file = bob.get("/contest-files/1");
        assert_eq!(file.body, "new");
        let name = file.headers["content-disposition"].to_str();
        assert!(name.is_ok_and(|name| name.contains("old.txt")), "{file:#?}");
        assert_eq!(admin.post("/contest-files/1/delete", &[]).status, 303);
        assert_eq!(admin.get("/contest-files/1").status, 404);
    });
}

#[test]
fn exported_contest_keeps_files_and_clarifications() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let list = format!("/contests/{}/files", contest.id);
        let fields = [("audience", "all"), ("round", ""), ("name", "rules.txt")];
        assert_eq!(add(&mut admin, &list, fields, ("x", b"rules")).status, 303);
        let ask = format!("/contests/{}/clarifications", contest.id);
        let fields = [("problem", ""), ("text", "Why-so?")];
        assert_eq!(bob.post(&ask, &fields).status, 303);
        let number = contest.id.to_string();
        site.run(&["export"], &[number.as_str(), "cup"]).output();
        site.run(&["import"], &["cup"]).output();
        let copy = contest.id + 1;
        let page = admin.get(&format!("/contests/{copy}/files")).body;
        let link = page.split("/contest-files/").nth(1).expect("a file");
        let id = link.split('"').next().expect("a number");
        assert_eq!(admin.get(&format!("/contest-files/{id}")).body, "rules");
        let page = bob.get(&format!("/contests/{copy}/clarifications")).body;
        assert!(page.contains("Why-so?"), "{page}");
        // A stream without the file adds nothing.
        let exported = std::fs::read_to_string(site.path("cup")).expect("a stream");
        let digest = "\"digest\":\"";
        let row = exported
            .lines()
            .find(|line| line.contains("\"contest_file\""));
        let row = row.and_then(|row| row.split(digest).nth(1)).expect("a row");
        let other = format!("{digest}{}", "0".repeat(64));
        let damaged = exported.replace(&format!("{digest}{}", &row[..64]), &other);
        std::fs::write(site.path("damaged"), damaged).expect("a file");
        let ran = site.run(&["import"], &["damaged"]);
        assert_ne!(ran.code, Some(0), "{ran:#?}");
    });
}
