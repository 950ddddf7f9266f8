//! The day of a contest at a school: counted actions, and the pages of classes, certificates and
//! solutions on a phone, in the dark and in Polish.

use super::looks::defects;
use super::support::{Browser, archive, files_of_sum};
use super::{Stage, with_site};
use crate::browser::{Options, Window, axe};
use std::cell::Cell;
use std::fmt::Write as _;
use std::io::Write as _;

const PHONE: Options = Options {
    script: true,
    dark: true,
    size: (390, 844),
};
/// The most actions of a teacher for three problems, 25 pupils with slips and an open contest.
const TEACHER_ACTIONS: usize = 22;
/// The most actions of a pupil from the slip to the first verdict.
const PUPIL_ACTIONS: usize = 6;
const PUPILS: usize = 25;
const RIGHT: &str = "a, b = map(int, input().split())\nprint(a + b)\n";

/// A window that counts what a person does: clicks, choices, and fields that are filled in.
struct Counted<'w> {
    window: &'w Window,
    actions: Cell<usize>,
}

impl Counted<'_> {
    fn add(&self) -> &Window {
        self.actions.set(self.actions.get() + 1);
        self.window
    }

    async fn follow(&self, text: &str) {
        self.add().follow(text).await;
    }

    async fn press(&self, button: &str) {
        self.add().press_button(button).await;
    }

    async fn fill(&self, field: &str, text: &str) {
        self.add().fill(field, text).await;
    }

    async fn click(&self, selector: &str) {
        self.add().click(selector).await;
    }

    /// Chooses files in the dialog of the browser.
    async fn choose_files(&self, field: &str, paths: &[&str]) {
        let field = self.add().element(field).await;
        let paths = paths.join("\n");
        field.send_keys(&paths).await.expect("chosen files");
    }
}

/// A package with hints and a solution.
fn package(name: &str) -> Vec<u8> {
    let header = format!("name: {name}\nlimits:\n  memory: 256\n");
    let mut files = files_of_sum();
    files.retain(|(name, _)| *name != "problem.yaml");
    files.extend([
        ("problem.yaml", header.as_str()),
        ("problem_statement/problem.pl.md", "Dodaj $a$ i $b$.\n"),
        ("solution/hints.en.md", "Think of $+$.\n"),
        ("solution/solution.en.md", "Write $a + b$.\n"),
    ]);
    archive(&files)
}

/// The list of a class as a teacher pastes it.
fn pupils() -> String {
    let mut list = String::from("login,name\n");
    for number in 1..=PUPILS {
        // Writing to memory succeeds.
        let _ = writeln!(list, "pupil{number},Pupil {number}");
    }
    list
}

/// An administrator, and a teacher whose window shows the first page.
async fn teacher(stage: &Stage, options: Options) -> (Browser, Window) {
    let mut admin = Browser::new(&stage.site);
    admin.sign_up(stage.setup(), "ada");
    Browser::new(&stage.site).sign_up("/sign-up", "tom");
    let fields = [("role", "teacher")];
    let named = admin.post("/users/2", &fields);
    assert_eq!(named.status, 303, "{named:#?}");
    let window = stage.window(options).await;
    window.sign_in("tom").await;
    (admin, window)
}

/// Three problems, a class with slips, and an open contest. Returns the last password.
async fn open_contest(window: &Counted<'_>) -> String {
    let packages: Vec<_> = ["Sum", "Tree", "Way"]
        .map(|name| {
            let mut file = tempfile::Builder::new()
                .prefix(name)
                .suffix(".zip")
                .tempfile()
                .expect("a file");
            file.write_all(&package(name)).expect("an archive");
            file
        })
        .into();
    let paths: Vec<&str> = packages
        .iter()
        .map(|file: &tempfile::NamedTempFile| file.path().to_str().expect("UTF-8"))
        .collect();
    window.follow("Problems").await;
    window.follow("Add a problem").await;
    window.choose_files("[name=file]", &paths).await;
    window.press("Add the problem").await;
    window.window.element("tbody tr:nth-child(3)").await;

    window.follow("Classes").await;
    window.fill("[name=name]", "1a").await;
    window.press("Add a class").await;
    window.follow("Import pupils").await;
    window.fill("[name=list]", &pupils()).await;
    window.press("Preview").await;
    window.click("button[name=format][value=page]").await;
    window.window.element(".slip").await;
    assert_eq!(window.window.count(".slip").await, PUPILS);
    let password = window.window.text(".slip:last-child dd:last-child").await;

    window.follow("Contests").await;
    window.follow("Add a contest").await;
    window.fill("[name=name]", "Class test").await;
    for problem in 1..=3 {
        let choice = format!("[name=problems][value='{problem}']");
        window.click(&choice).await;
    }
    window.click("[name=classes]").await;
    window.press("Add the contest").await;
    window.window.shows("h1", "Class test").await;
    password
}

#[test]
fn school_contest_takes_few_actions() {
    with_site(async |stage| {
        let (_, window) = teacher(stage, Options::default()).await;
        let counted = Counted {
            window: &window,
            actions: Cell::default(),
        };
        let password = open_contest(&counted).await;
        let actions = counted.actions.get();
        println!("teacher: {actions} actions");
        assert!(actions <= TEACHER_ACTIONS, "{actions} actions");

        let pupil = stage.window(Options::default()).await;
        // The address on the slip.
        pupil.open("/sign-in").await;
        let counted = Counted {
            window: &pupil,
            actions: Cell::default(),
        };
        take_part(&counted, &password).await;
        let actions = counted.actions.get();
        println!("pupil: {actions} actions");
        assert!(actions <= PUPIL_ACTIONS, "{actions} actions");
        window.end().await;
        pupil.end().await;
    });
}

/// A pupil signs in at the address of the slip, and submits a file.
async fn take_part(pupil: &Counted<'_>, password: &str) {
    let mut source = tempfile::Builder::new()
        .suffix(".py")
        .tempfile()
        .expect("a file");
    source.write_all(RIGHT.as_bytes()).expect("a source");
    let path = source.path().to_str().expect("UTF-8");
    pupil.fill("[name=login]", "pupil25").await;
    pupil.fill("[name=password]", password).await;
    pupil.press("Sign in").await;
    pupil.click(".problems a").await;
    pupil.choose_files("[name=file]", &[path]).await;
    pupil.press("Submit").await;
    pupil.window.element("#result").await;
    let shown = "return document.querySelector('#result')?.textContent.includes('Accepted')";
    pupil.window.eventually(shown).await;
}

/// Opens pages and returns their defects.
async fn look(window: &Window, axe: &str, pages: &[(&str, &str)], size: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (path, name) in pages {
        window.open(path).await;
        // Collapsed parts must also be correct.
        let unfold = "document.querySelectorAll('details').forEach((one) => one.open = true)";
        window.script(unfold, serde_json::json!([])).await;
        found.extend(defects(window, axe, name, size).await);
    }
    found
}

#[test]
fn axe_finds_nothing_in_pages_of_a_school_contest() {
    with_site(async |stage| {
        let Some(axe) = axe() else { return };
        let (mut admin, window) = teacher(stage, PHONE).await;
        let counted = Counted {
            window: &window,
            actions: Cell::default(),
        };
        let password = open_contest(&counted).await;
        let mut bob = Browser::new(&stage.site);
        let fields = [("login", "pupil25"), ("password", password.as_str())];
        assert_eq!(bob.post("/sign-in", &fields).status, 303);
        let sent = bob.upload(
            "/round-problems/1/submit",
            &[("language", "")],
            ("a.py", RIGHT.as_bytes()),
        );
        let page = sent.location.expect("a page");
        admin.wait_until(&page, |body| {
            let shown = super::support::result_of(body);
            shown.contains("Accepted") && !shown.contains("Initial")
        });
        let fields = [("problem", ""), ("text", "Read the statement again.")];
        admin.post("/contests/1/announcements", &fields);
        let end = [
            ("name", "Round"),
            ("begins", "2001-01-01T00:00"),
            ("ends", "2001-01-01T01:00"),
            ("full_results", ""),
            ("ranking_from", ""),
        ];
        assert_eq!(admin.post("/rounds/1", &end).status, 303);
        let staff = [
            ("/problems", "problem-list"),
            ("/problems/new", "problem-upload"),
            ("/problems/1/editorial", "editorial-owner"),
            ("/problems/1/versions", "versions"),
            ("/classes", "classes"),
            ("/classes/1", "class"),
            ("/classes/1/import", "class-import"),
            ("/classes/1/grades?contest=1", "grades"),
            ("/contests/new", "contest-form"),
            ("/rounds/1", "round-rules"),
            ("/round-problems/1", "feedback"),
            ("/contests/1/members", "members-classes"),
            ("/contests/1/participants", "participants"),
            ("/contests/1/submissions", "sources"),
            ("/contests/1/similar", "similar"),
            ("/contests/1/ranking", "ranking-links"),
            ("/contests/1/certificates", "certificates"),
            ("/rejudgings/new?contest=1", "rejudging-choices"),
            ("/account", "own-account"),
        ];
        let pupil_pages = [
            ("/", "pupil-home"),
            ("/contests", "news"),
            ("/contests/1", "pupil-contest"),
            ("/round-problems/1", "samples"),
            ("/round-problems/1/editorial", "editorial"),
            ("/round-problems/1/submit", "practice"),
            ("/rounds/1/virtual", "virtual"),
            ("/contests/1/certificates", "own-certificate"),
            ("/contests/1/ranking", "own-row"),
        ];
        let mut found = look(&window, &axe, &staff, "390-dark").await;
        // New passwords and their slips.
        window.open("/classes/1").await;
        window.click("button[value=all]").await;
        window.element(".slip").await;
        found.extend(defects(&window, &axe, "slips", "390-dark").await);
        let desktop = stage.window(Options::default()).await;
        desktop.sign_in("tom").await;
        desktop.click("footer button[value=pl]").await;
        desktop.element("html[lang=pl]").await;
        found.extend(look(&desktop, &axe, &staff, "polish").await);
        let zoe = stage.window(PHONE).await;
        Browser::new(&stage.site).sign_up("/sign-up", "zoe");
        let fields = [("login", "zoe"), ("role", "contestant")];
        admin.post("/contests/1/members", &fields);
        zoe.sign_in("zoe").await;
        found.extend(look(&zoe, &axe, &pupil_pages, "390-dark").await);
        zoe.open("/").await;
        zoe.click("footer button[value=pl]").await;
        zoe.element("html[lang=pl]").await;
        found.extend(look(&zoe, &axe, &pupil_pages, "390-polish").await);
        assert!(found.is_empty(), "{found:#?}");
        for window in [window, desktop] {
            window.end().await;
        }
        // Without submissions, zoe has no certificate, and the page is not one of errors.
        zoe.end().await;
    });
}

#[test]
fn sample_is_copied_with_a_button() {
    with_site(async |stage| {
        let mut admin = Browser::new(&stage.site);
        admin.sign_up(stage.setup(), "ada");
        let fields = [("visibility", "private")];
        let file = ("sum.zip", package("Sum"));
        let added = admin.upload("/problems/new", &fields, (file.0, &file.1));
        assert_eq!(added.status, 303, "{added:#?}");
        let without = Options {
            script: false,
            ..Options::default()
        };
        let plain = stage.window(without).await;
        plain.sign_in("ada").await;
        plain.open("/problems/1").await;
        let button = plain.element("[data-copy]").await;
        assert!(!button.is_displayed().await.expect("a state"));
        let window = stage.window(Options::default()).await;
        window.sign_in("ada").await;
        window.open("/problems/1").await;
        let take = "window.copied = []; navigator.clipboard.writeText = \
            async (text) => { window.copied.push(text); }";
        window.script(take, serde_json::json!([])).await;
        window.click("[data-copy]").await;
        window.shows(".samples [role=status]", "Copied").await;
        let copied = window
            .script("return window.copied", serde_json::json!([]))
            .await;
        assert_eq!(copied, serde_json::json!(["1 2\n"]));
        for window in [plain, window] {
            window.end().await;
        }
    });
}

#[test]
fn past_round_is_held_again_without_scripts() {
    with_site(async |stage| {
        let mut admin = Browser::new(&stage.site);
        admin.sign_up(stage.setup(), "ada");
        let fields = [("visibility", "private")];
        let added = admin.upload("/problems/new", &fields, ("sum.zip", &package("Sum")));
        assert_eq!(added.status, 303, "{added:#?}");
        let fields = [("name", "Cup"), ("visibility", "public")];
        let contest = admin.post("/contests/new", &fields).id();
        let past = [
            ("name", "Finals"),
            ("begins", "2001-01-01T00:00"),
            ("ends", "2001-01-01T01:00"),
            ("full_results", ""),
            ("ranking_from", ""),
        ];
        let rounds = format!("/contests/{contest}/rounds");
        let round = admin.post(&rounds, &past).id();
        let problem = [
            ("problem", "1"),
            ("label", "A"),
            ("final_method", "best"),
            ("reveal", "status"),
        ];
        let path = format!("/rounds/{round}/problems");
        assert_eq!(admin.post(&path, &problem).status, 303);
        Browser::new(&stage.site).sign_up("/sign-up", "zoe");
        let fields = [("login", "zoe"), ("role", "contestant")];
        let members = format!("/contests/{contest}/members");
        assert_eq!(admin.post(&members, &fields).status, 303);

        // Without scripts, chromedriver hangs if it emulates a phone.
        let without = Options {
            script: false,
            ..Options::default()
        };
        let zoe = stage.window(without).await;
        zoe.sign_in("zoe").await;
        zoe.open(&format!("/contests/{contest}")).await;
        zoe.follow("Virtual participation").await;
        zoe.click("main form button.main").await;
        zoe.click(".problems a").await;
        let mut source = tempfile::Builder::new()
            .suffix(".py")
            .tempfile()
            .expect("a file");
        source.write_all(RIGHT.as_bytes()).expect("a source");
        let file = zoe.element("[name=file]").await;
        let path = source.path().to_str().expect("UTF-8");
        file.send_keys(path).await.expect("a chosen file");
        zoe.press_button("Submit").await;
        zoe.element("#result").await;
        admin.wait_until("/submissions/1", |body| {
            let shown = super::support::result_of(body);
            shown.contains("Accepted") && !shown.contains("Initial")
        });
        let page = format!("/rounds/{round}/virtual");
        zoe.open(&page).await;
        let shown = zoe.text("main").await;
        assert!(shown.contains("you would be in place 1."), "{shown}");
        zoe.press_button("End now").await;
        zoe.element("main form button.main").await;
        let shown = zoe.text("main").await;
        assert!(shown.contains("participation is over."), "{shown}");
        zoe.open(&format!("/contests/{contest}/ranking")).await;
        let ranking = zoe.text("main").await;
        assert!(!ranking.contains("zoe"), "{ranking}");
        zoe.end().await;
    });
}
