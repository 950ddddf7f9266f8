//! Imports of users and teams: the preview, and its application.

use super::accounts::{element, new_user, sign_in};
use super::support::{Answer, Browser, Site, with_each};
use super::{contestant, first_admin, make_contest};
use std::fmt::Write as _;
use std::time::Duration;

const USERS: &str = "/users/import";

/// Sends lists, and returns the preview.
fn preview(admin: &mut Browser, path: &str, lists: &[(&str, &str)]) -> Answer {
    let answer = admin.upload(path, lists, ("", b""));
    assert_eq!(answer.status, 200, "{answer:#?}");
    answer
}

/// The numbers of lines that add an object, change one, change nothing, and are refused.
fn counts(preview: &Answer) -> Vec<u32> {
    let counts = element(&preview.body, "counts");
    let numbers = counts.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// The value that identifies the preview when it is applied.
fn plan(preview: &Answer) -> String {
    let part = preview.body.split("name=\"plan\" value=\"").nth(1);
    let plan = part.and_then(|part| part.split('"').next());
    plan.unwrap_or_else(|| panic!("{preview:#?}")).to_owned()
}

fn apply_plan(admin: &mut Browser, path: &str, lists: &[(&str, &str)], plan: &str) -> Answer {
    let mut fields = lists.to_vec();
    fields.extend([("plan", plan), ("format", "page")]);
    admin.upload(&format!("{path}/apply"), &fields, ("", b""))
}

/// Requests the preview and applies it.
fn apply(admin: &mut Browser, path: &str, lists: &[(&str, &str)]) -> Answer {
    let seen = preview(admin, path, lists);
    apply_plan(admin, path, lists, &plan(&seen))
}

/// The rows of the table with this id, as texts.
fn rows(page: &str, id: &str) -> Vec<String> {
    let document = scraper::Html::parse_document(page);
    let selector = scraper::Selector::parse(&format!("#{id} tbody tr")).expect("a selector");
    let rows = document.select(&selector);
    let text = |row: scraper::ElementRef| row.text().collect::<Vec<_>>().join("|");
    rows.map(text).collect()
}

/// The slips of paper, each as the texts of its list.
fn slips(page: &Answer) -> Vec<Vec<String>> {
    let document = scraper::Html::parse_document(&page.body);
    let selector = |text| scraper::Selector::parse(text).expect("a selector");
    let (slip, part) = (selector("#slips .slip"), selector("h2, dd"));
    let slips = document.select(&slip);
    let parts = slips.map(|one| {
        one.select(&part)
            .map(|part| part.text().collect())
            .collect()
    });
    parts.collect()
}

/// The path with which a user chooses a password. The slip has the whole address.
fn link(site: &Site, page: &Answer, login: &str) -> String {
    let slips = slips(page);
    let slip = slips.iter().find(|slip| slip[2] == login);
    let slip = slip.unwrap_or_else(|| panic!("{page:#?}"));
    assert_eq!(slip[1], format!("{}/", site.url));
    let path = slip[3].strip_prefix(&site.url).expect("a whole address");
    assert!(page.body.contains(&format!("href=\"{path}\"")), "{page:#?}");
    path.to_owned()
}

#[test]
fn users_are_imported_all_or_not_at_all() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut bob = new_user(&site, "bob");
        assert_eq!(bob.get(USERS).status, 404);
        assert_eq!(bob.get("/users/export.csv").status, 404);
        let list = "login,name,email,role,password\n\
            bob,Bob B.,,teacher,\neve,=Eve,eve@example.org,,\nfred,Fred,,,battery staple\n";
        let lists = [("accounts", list)];
        assert_eq!(bob.upload(USERS, &lists, ("", b"")).status, 404);
        let seen = preview(&mut admin, USERS, &lists);
        assert_eq!(counts(&seen), [2, 1, 0, 0], "{seen:#?}");
        assert!(!admin.get("/users").body.contains("eve"), "a preview only");
        let known = plan(&seen);
        assert_eq!(apply_plan(&mut bob, USERS, &lists, &known).status, 404);
        let other = [("accounts", "login\neve\n")];
        assert_eq!(apply_plan(&mut admin, USERS, &other, &known).status, 403);

        // A user added after the preview is not changed without a new preview.
        let mut gina = new_user(&site, "gina");
        let mut late = plan(&preview(&mut admin, USERS, &[("list", "login\nhans\n")]));
        new_user(&site, "hans");
        let fields = [("list", "login\nhans\n")];
        assert_eq!(apply_plan(&mut admin, USERS, &fields, &late).status, 403);
        late = plan(&preview(&mut admin, USERS, &fields));
        assert_eq!(apply_plan(&mut admin, USERS, &fields, &late).status, 200);
        assert_eq!(gina.get("/account").status, 200);

        let page = apply_plan(&mut admin, USERS, &lists, &known);
        assert_eq!(page.status, 200, "{page:#?}");
        assert_eq!(slips(&page).len(), 1, "{page:#?}");
        let link = link(&site, &page, "eve");
        let chosen = Browser::new(&site).post(&link, &[("new", "red apple pie")]);
        assert_eq!(chosen.status, 303, "{chosen:#?}");
        assert_eq!(Browser::new(&site).get(&link).status, 404, "it works once");
        let signs_in =
            |login: &str, password: &str| sign_in(&mut Browser::new(&site), login, password).0;
        assert_eq!(signs_in("eve", "red apple pie"), 303);
        assert_eq!(signs_in("fred", "battery staple"), 303);
        assert_eq!(bob.get("/problems/new").status, 200, "bob is a teacher");

        // The same list changes nothing, and another password ends the sessions.
        let again = preview(&mut admin, USERS, &lists);
        assert_eq!(counts(&again), [0, 0, 3, 0], "{again:#?}");
        let page = apply(&mut admin, USERS, &lists);
        assert!(slips(&page).is_empty(), "{page:#?}");
        assert_eq!(signs_in("eve", "red apple pie"), 303);
        let password = [(
            "accounts",
            "login,name,role,password\nbob,Bob B.,teacher,new horse\n",
        )];
        assert_eq!(counts(&preview(&mut admin, USERS, &password)), [0, 1, 0, 0]);
        assert_eq!(apply(&mut admin, USERS, &password).status, 200);
        assert_eq!(bob.get("/account").status, 303);

        let csv = admin.get("/users/export.csv").body;
        assert!(csv.contains("eve,'=Eve,eve@example.org,user"), "{csv}");
        let again = preview(&mut admin, USERS, &[("accounts", &csv)]);
        assert_eq!(counts(&again), [0, 0, 6, 0], "{again:#?}");
        let json = admin.get("/users/export.json").body;
        let users: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(users[4]["name"], "=Eve", "{json}");
        let lists = [("accounts", "login\nida\n")];
        let plan = plan(&preview(&mut admin, USERS, &lists));
        let fields = [lists[0], ("plan", &plan), ("format", "csv")];
        let csv = admin.upload("/users/import/apply", &fields, ("", b""));
        let start = format!("login,name,link\nida,ida,{}/reset/", site.url);
        assert!(csv.body.starts_with(&start), "{csv:#?}");
        let log = admin.get("/audit").body;
        assert!(log.contains("POST /users/import/apply"), "{log}");
    });
}

#[test]
fn import_keeps_what_a_list_leaves_empty() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        new_user(&site, "tea");
        let lists = [(
            "accounts",
            "login,name,email,role\ntea,Tea T.,tea@a.org,teacher\n",
        )];
        assert_eq!(apply(&mut admin, USERS, &lists).status, 200);
        // A list of logins alone.
        let logins = [("accounts", "login\ntea\n")];
        let seen = preview(&mut admin, USERS, &logins);
        assert_eq!(counts(&seen), [0, 0, 1, 0], "{seen:#?}");
        let logins = [("accounts", "login,email\ntea,t@a.org\n")];
        let seen = preview(&mut admin, USERS, &logins);
        assert_eq!(counts(&seen), [0, 1, 0, 0], "{seen:#?}");
        let row = &rows(&seen.body, "users")[0];
        assert!(row.contains("Tea T.") && !row.contains('→'), "{row}");
        assert_eq!(apply(&mut admin, USERS, &logins).status, 200);
        let csv = admin.get("/users/export.csv").body;
        assert!(csv.contains("tea,Tea T.,t@a.org,teacher"), "{csv}");
    });
}

#[test]
fn import_never_lowers_a_role() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut tea = new_user(&site, "tea");
        let list = |role: &str| format!("login,name,role\ntea,Tea,{role}\nada,Ada,team\n");
        let lists = [("accounts", list("teacher"))];
        let lists = lists.each_ref().map(|(name, list)| (*name, list.as_str()));
        assert_eq!(apply(&mut admin, USERS, &lists).status, 200);
        assert_eq!(tea.get("/problems/new").status, 200, "a teacher");
        // A teacher and an administrator are also in the list of a team.
        let lists = [("accounts", list("user"))];
        let lists = lists.each_ref().map(|(name, list)| (*name, list.as_str()));
        let seen = preview(&mut admin, USERS, &lists);
        assert_eq!(counts(&seen), [0, 0, 2, 0], "{seen:#?}");
        let shown = rows(&seen.body, "users");
        assert!(
            shown[0].contains("Teacher") && !shown[0].contains('→'),
            "{shown:?}"
        );
        assert_eq!(apply(&mut admin, USERS, &lists).status, 200);
        assert_eq!(tea.get("/problems/new").status, 200);
        assert_eq!(admin.get("/users").status, 200, "still an administrator");
    });
}

#[test]
fn users_that_change_after_the_preview_are_not_changed() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut tea = new_user(&site, "tea");
        let lists = [("accounts", "login,name\ntea,Tina\n")];
        let known = plan(&preview(&mut admin, USERS, &lists));
        let fields = [("name", "Tilda"), ("email", "")];
        assert_eq!(tea.post("/account", &fields).status, 303);
        assert_eq!(apply_plan(&mut admin, USERS, &lists, &known).status, 403);
        let csv = admin.get("/users/export.csv").body;
        assert!(csv.contains("tea,Tilda,"), "{csv}");

        // No database stores this number of a team.
        let contest = make_contest(&mut admin);
        let path = format!("/contests/{}/import", contest.id);
        let lists = [("accounts", "login,team\ntea,a\u{0}b\n")];
        let refused = admin.upload(&path, &lists, ("", b""));
        assert_eq!(refused.status, 422, "{refused:#?}");
        assert!(refused.body.contains("“accounts”"), "{refused:#?}");
    });
}

#[test]
fn listed_password_ends_links_for_choosing_one() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let lists = [("accounts", "login\nnew\n")];
        let link = link(&site, &apply(&mut admin, USERS, &lists), "new");
        assert_eq!(Browser::new(&site).get(&link).status, 200);
        let lists = [("accounts", "login,password\nnew,battery staple\n")];
        assert_eq!(apply(&mut admin, USERS, &lists).status, 200);
        assert_eq!(Browser::new(&site).get(&link).status, 404);
    });
}

#[test]
fn pupils_receive_generated_passwords_once() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        new_user(&site, "tea");
        let list = [(
            "accounts",
            "login,name,password\nala,Ala A,\nola,,\nfred,,battery staple\ntea,Tea T.,\n",
        )];
        let seen = preview(&mut admin, USERS, &list);
        assert!(seen.body.contains("48 bits"), "{seen:#?}");
        let apply_as = |admin: &mut Browser, list: (&str, &str), format: &str| {
            let known = plan(&preview(admin, USERS, &[list]));
            let fields = [
                list,
                ("plan", &known),
                ("issue", "passwords"),
                ("format", format),
            ];
            admin.upload("/users/import/apply", &fields, ("", b""))
        };
        let page = apply_as(&mut admin, list[0], "page");
        assert_eq!(page.status, 200, "{page:#?}");
        let slips = slips(&page);
        assert_eq!(
            slips.len(),
            2,
            "only new users without a password: {slips:?}"
        );
        assert_eq!(
            slips[0][..3],
            ["Ala A", &format!("{}/sign-in", site.url), "ala"]
        );
        assert_ne!(slips[0][3], slips[1][3]);
        let signs_in =
            |login: &str, password: &str| sign_in(&mut Browser::new(&site), login, password).0;
        for slip in &slips {
            assert_eq!(signs_in(&slip[2], &slip[3]), 303, "{slip:?}");
        }
        assert_eq!(signs_in("fred", "battery staple"), 303);
        assert_eq!(
            signs_in("tea", "correct horse"),
            303,
            "the password is kept"
        );

        let csv = apply_as(&mut admin, ("accounts", "login,name\nida,Ida I\n"), "csv");
        let (head, row) = csv.body.split_once('\n').expect("lines");
        assert_eq!(head, "login,name,password,site");
        let row: Vec<&str> = row.trim_end().split(',').collect();
        assert_eq!(row[3], format!("{}/sign-in", site.url), "{csv:#?}");
        assert_eq!(signs_in("ida", row[2]), 303, "{csv:#?}");

        let mut many = "login\n".to_owned();
        for number in 0..2_001 {
            writeln!(many, "user{number}").expect("memory");
        }
        let refused = apply_as(&mut admin, ("accounts", &many), "page");
        assert_eq!(refused.status, 422, "{refused:#?}");
        assert!(refused.body.contains("2,000") || refused.body.contains("2000"));
        assert!(!admin.get("/users/export.csv").body.contains("user0"));
        let settings = admin.post("/settings", &[("sign_up", "link")]);
        let link = element(&settings.body, "sign-up-link");
        assert!(
            link.starts_with(&format!("{}/sign-up/", site.url)),
            "{link}"
        );
    });
}

#[test]
fn change_during_an_import_is_not_undone() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    new_user(&site, "tea");
    let mut list = "login,name,password\ntea,Tea T.,\n".to_owned();
    for number in 0..300 {
        writeln!(list, "user{number},,battery staple").expect("memory");
    }
    let lists = [("accounts", list.as_str())];
    let known = plan(&preview(&mut admin, USERS, &lists));
    let status = std::thread::scope(|scope| {
        // The import hashes passwords for some seconds before its transaction.
        let import = scope.spawn(|| apply_plan(&mut admin, USERS, &lists, &known).status);
        std::thread::sleep(Duration::from_millis(500));
        let set = site.run(&["user", "set-role"], &["tea", "teacher"]);
        assert!(!import.is_finished(), "more passwords are needed");
        set.output();
        import.join().expect("an answer")
    });
    assert_eq!(status, 403);
    let csv = admin.get("/users/export.csv").body;
    assert!(csv.contains("tea,tea,,teacher"), "{csv}");
}

#[test]
fn refused_lines_are_named_and_nothing_is_applied() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let list = "login,email,password\neve,,\nx y,,\nfred,nowhere,\nEVE,,\ngina,,short\nhans,,\n";
    let lists = [("accounts", list)];
    let seen = preview(&mut admin, USERS, &lists);
    assert_eq!(counts(&seen), [2, 0, 0, 4], "{seen:#?}");
    let rows = rows(&seen.body, "users");
    let refused: Vec<&str> = rows
        .iter()
        .filter(|row| row.contains("Refused"))
        .map(|row| row.split('|').next().expect("a number"))
        .collect();
    assert_eq!(refused, ["3", "4", "5", "6"], "{rows:?}");
    assert!(!seen.body.contains("/users/import/apply"), "{seen:#?}");
    let accepted = [("accounts", "login,email,password\neve,,\nhans,,\n")];
    let known = plan(&preview(&mut admin, USERS, &accepted));
    let forced = apply_plan(&mut admin, USERS, &lists, &known);
    assert_eq!(forced.status, 403, "{forced:#?}");
    let users = admin.get("/users").body;
    assert!(!users.contains("eve") && !users.contains("hans"), "{users}");
    for (list, part) in [
        ("\nname;klasa\neve;2a\n", "Line 2 does not name the column"),
        (
            "name;klasa\neve;2a\n",
            "name, klasa. Accepted names: login,",
        ),
        ("accounts\t7\n", "version"),
        ("[{]", "JSON"),
        ("login\n", "1 to 10,000 lines"),
    ] {
        let refused = admin.upload(USERS, &[("accounts", list)], ("", b""));
        assert_eq!(refused.status, 422, "{refused:#?}");
        assert!(refused.body.contains(part), "{part}: {refused:#?}");
    }
    let lines = format!("login\n{}", "eve\n".repeat(10_001));
    let bytes = format!("login\n{}", "x".repeat(800 << 10));
    for (list, status) in [(lines, 422), (bytes, 422), ("x".repeat(2 << 20), 413)] {
        let refused = admin.upload(USERS, &[("accounts", &list)], ("", b""));
        assert_eq!(refused.status, status, "{refused:#?}");
    }
}

#[test]
fn columns_that_are_not_used_are_named_before_anything_is_applied() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        // The files of the form, not its text.
        let accounts = "accounts\"; filename=\"klasa.csv";
        let list = "\u{feff}Login;Imię i nazwisko;Hasło;Klasa;\r\n\
            ala;Ala A;battery staple;2a;\r\n;;;;\r\n";
        let seen = preview(&mut admin, USERS, &[(accounts, list)]);
        assert_eq!(counts(&seen), [1, 0, 0, 0], "{seen:#?}");
        let unused = element(&seen.body, "unused");
        assert!(unused.contains("not used: Klasa."), "{unused}");
        assert!(unused.contains("password"), "{unused}");
        let row = &rows(&seen.body, "users")[0];
        assert!(
            row.contains("Ala A") && row.contains("from the list"),
            "{row}"
        );
        let seen = preview(
            &mut admin,
            USERS,
            &[("list", "login,name,team\nola,Ola,7\n")],
        );
        let unused = element(&seen.body, "unused");
        assert!(unused.contains("not used: team."), "{unused}");
        let seen = preview(&mut admin, USERS, &[("list", "login,name\nola,Ola\n")]);
        assert!(!seen.body.contains("id=\"unused\""), "{seen:#?}");
        let refused = admin.upload(USERS, &[(accounts, "PK\u{3}\u{4}x")], ("", b""));
        assert_eq!(refused.status, 422, "{refused:#?}");
        assert!(refused.body.contains("workbook"), "{refused:#?}");

        let contest = make_contest(&mut admin);
        let path = format!("/contests/{}/import", contest.id);
        let seen = preview(&mut admin, &path, &[("teams", TEAMS), ("groups", GROUPS)]);
        let unused = element(&seen.body, "unused");
        assert!(unused.contains("icpc_id, short_name, country"), "{unused}");
    });
}

const GROUPS: &str = "File_Version\t1\n3\tStudents\n4\tGuests\n";
const TEAMS: &str = "File_Version\t2\n\
    1\t447\t3\tOwls\tOak School\tOak\tDEU\tINST-42\n2\t\t4\tBees & Co\tElm School\tElm\tPOL\t\n";
const ACCOUNTS: &str = "accounts\t1\n\
    team\tOwls\tteam001\tcorrect horse\nteam\tBees\tteam002\t\njudge\tJudy\tjudy\tbattery staple\n";

#[test]
fn teams_are_imported_with_their_accounts() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let path = format!("/contests/{}/import", contest.id);
        let mut moderator = contestant(&site, &mut admin, &contest, "bob");
        let fields = [("login", "bob"), ("role", "owner")];
        let members = format!("/contests/{}/members", contest.id);
        assert_eq!(admin.post(&members, &fields).status, 303);
        let lists = [("groups", GROUPS), ("teams", TEAMS), ("accounts", ACCOUNTS)];
        let participants = format!("/contests/{}/participants", contest.id);
        // Imports add users to the site, so owners of contests have no imports.
        assert_eq!(moderator.get(&path).status, 404);
        assert_eq!(moderator.upload(&path, &lists, ("", b"")).status, 404);
        assert!(!moderator.get(&participants).body.contains(&path));
        assert!(admin.get(&participants).body.contains(&path));
        assert_eq!(admin.get("/contests/999/import").status, 404);

        let without = preview(
            &mut admin,
            &path,
            &[("teams", TEAMS), ("accounts", ACCOUNTS)],
        );
        assert_eq!(counts(&without), [1, 0, 0, 4], "{without:#?}");
        let seen = preview(&mut admin, &path, &lists);
        assert_eq!(counts(&seen), [5, 0, 0, 0], "{seen:#?}");
        assert!(!admin.get(&participants).body.contains("Owls"));
        assert_eq!(
            apply_plan(&mut moderator, &path, &lists, &plan(&seen)).status,
            404
        );
        let page = apply_plan(&mut admin, &path, &lists, &plan(&seen));
        assert_eq!(page.status, 200, "{page:#?}");
        let link = link(&site, &page, "team002");
        let chosen = Browser::new(&site).post(&link, &[("new", "red apple pie")]);
        assert_eq!(chosen.status, 303, "{chosen:#?}");
        let table = |page: &str| page.split("<tbody>").nth(1).map(str::to_owned);
        let list = admin.get(&participants).body;
        for part in [
            "Owls",
            "Bees &amp; Co",
            "Oak School",
            "Students",
            "team001",
            "team002",
        ] {
            assert!(list.contains(part), "{part}: {list}");
        }
        let mut owl = Browser::new(&site);
        assert_eq!(sign_in(&mut owl, "team001", "correct horse").0, 303);
        let problem = format!("/round-problems/{}", contest.problem);
        assert_eq!(owl.get(&problem).status, 200, "the account takes part");
        let mut judge = Browser::new(&site);
        assert_eq!(sign_in(&mut judge, "judy", "battery staple").0, 303);
        assert_eq!(judge.get(&problem).status, 404, "only teams join");

        // The same files change nothing.
        assert_eq!(counts(&preview(&mut admin, &path, &lists)), [0, 0, 5, 0]);
        assert_eq!(apply(&mut admin, &path, &lists).status, 200);
        assert_eq!(table(&admin.get(&participants).body), table(&list));
        assert_eq!(owl.get(&problem).status, 200, "no session has ended");

        // A new name in JSON and a hidden team are applied, and values that the staff has set are
        // kept.
        let before = list.split("\">Owls<").next().expect("a team");
        let number = before.rsplit('/').next().expect("a number");
        let team = format!("/participants/{number}");
        let edit = [
            ("name", "Owls"),
            ("organization", "Oak School"),
            ("group_name", "Students"),
            ("delay", "7"),
            ("extra", "0"),
            ("penalty", "0"),
        ];
        assert_eq!(admin.post(&team, &edit).status, 303);
        let teams = r#"[{"id": 1, "name": "O", "display_name": "Great Owls",
            "organization_id": "INST-42", "group_ids": ["3"], "hidden": true}]"#;
        let organizations = r#"[{"id": "INST-42", "name": "Oak", "formal_name": "Oak School"}]"#;
        let groups = r#"[{"id": "3", "name": "Students"}]"#;
        let accounts = r#"[{"id": "x", "username": "zoe", "type": "team", "team_id": "1"},
            {"id": "y", "username": "max", "type": "team", "team_id": "9"}]"#;
        let lists = [
            ("teams", teams),
            ("organizations", organizations),
            ("groups", groups),
            ("accounts", accounts),
        ];
        let seen = preview(&mut admin, &path, &lists);
        assert_eq!(counts(&seen), [1, 1, 0, 1], "{seen:#?}");
        assert!(seen.body.contains("Owls → Great Owls"), "{seen:#?}");
        let accounts = accounts.replace("\"9\"", "\"2\"");
        let lists = [lists[0], lists[1], lists[2], ("accounts", &accounts)];
        assert_eq!(apply(&mut admin, &path, &lists).status, 200);
        let page = admin.get(&team).body;
        assert!(
            page.contains("Great Owls") && page.contains("(zoe)"),
            "{page}"
        );
        assert!(page.contains("value=\"7\""), "{page}");
        let log = admin.get("/audit").body;
        assert!(log.contains("POST /contests/{id}/import/apply"), "{log}");
    });
}
