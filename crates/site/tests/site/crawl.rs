//! Hidden objects are on no page. A crawler follows every link, requests every route of the router
//! with each small number, and searches the answers for secrets. For the staff, it finds all of
//! them.

use crate::api::token;
use crate::support::contest::{attach, set_round};
use crate::support::{Browser, Site, archive, with_each};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// A program that is right for the examples and the first group. It fails at run time in the second
/// group.
const BOB: &[u8] =
    b"# bob-source-7f3a\na, b = map(int, input().split())\na < 5 or 1 // 0\nprint(3)\n";
const EVE: &[u8] = b"# eve-source-91bc\nprint(3)\n";
const RIGHT: &[u8] = b"# right-source-c4d2\na, b = map(int, input().split())\nprint(a + b)\n";
/// The points of only group `a`.
const POINTS: &str = "73.517";
/// What opens after the contest.
const SOLUTION: &str = "text-of-the-solution\n\n![](en.pdf.png)\n";
const HINTS: &str = "%PDF-1.4 file-of-the-hints";
const EDITORIAL: [&str; 3] = [
    "text-of-the-solution",
    "file-of-the-hints",
    "image-of-the-solution",
];
/// How long a stream of events is read.
const PATIENCE: Duration = Duration::from_millis(300);
/// How many requests a crawler sends at once. Most of its time, it waits for streams of events.
const AT_ONCE: usize = 16;
/// Numbers that are put into routes.
const NUMBERS: std::ops::RangeInclusive<u32> = 1..=7;

fn scored_package(name: &str) -> Vec<u8> {
    let header = format!("name: {name}\ntype: scoring\nlimits:\n  memory: 256\n");
    archive(&[
        ("problem.yaml", &header),
        (".timelimit", "5\n"),
        ("problem_statement/problem.md", "Add $a$ and $b$.\n"),
        ("solution/solution.en.md", SOLUTION),
        ("solution/hints.en.pdf", HINTS),
        ("solution/en.pdf.png", "image-of-the-solution"),
        (
            "data/testdata.yaml",
            "on_reject: continue\nrange: 0 100\ngrader_flags: ignore_sample\n",
        ),
        ("data/sample/testdata.yaml", "accept_score: 0\nrange: 0 0\n"),
        ("data/sample/1.in", "1 2\n"),
        ("data/sample/1.ans", "3\n"),
        (
            "data/secret/a/testdata.yaml",
            "on_reject: break\naccept_score: 73.517\nrange: 0 73.517\n",
        ),
        ("data/secret/a/1.in", "2 1\n"),
        ("data/secret/a/1.ans", "3\n"),
        (
            "data/secret/b/testdata.yaml",
            "on_reject: break\naccept_score: 26.483\nrange: 0 26.483\n",
        ),
        ("data/secret/b/hidden-test.in", "20 22\n"),
        ("data/secret/b/hidden-test.ans", "42\n"),
    ])
}

/// All routes of the router, with each small number in place of an id.
fn routes() -> Vec<String> {
    let mut routes = Vec::new();
    let http = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http");
    let mut directories = vec![http];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                let quoted = text.split('"').skip(1).step_by(2);
                let is_route = |text: &&str| text.starts_with('/') && !text.contains(' ');
                // The operations of programs are nested below one path.
                let is_api = path.parent().is_some_and(|it| it.ends_with("api"));
                let root = if is_api { "/api/v1" } else { "" };
                routes.extend(
                    quoted
                        .filter(is_route)
                        .map(|route| format!("{root}{route}")),
                );
            }
        }
    }
    routes.sort();
    routes.dedup();
    assert!(
        routes.contains(&"/contests/{id}/ranking".to_owned())
            && routes.contains(&"/api/v1/contests/{id}/changes".to_owned()),
        "{routes:?}"
    );
    let with_number = |route: &String| {
        let route = route.clone();
        NUMBERS.map(move |number| fill(&route, number))
    };
    let mut filled: Vec<String> = routes.iter().flat_map(with_number).collect();
    filled.sort();
    filled.dedup();
    filled
}

/// A route with values in place of its parameters.
fn fill(route: &str, number: u32) -> String {
    let mut filled = String::new();
    let mut rest = route;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        filled.push_str(before);
        match name {
            "name" => filled.push_str("en.pdf"),
            "token" => filled.push_str(&"0".repeat(64)),
            _ => filled.push_str(&number.to_string()),
        }
        rest = after;
    }
    filled + rest
}

/// Addresses of this site in a page.
fn links(answer: &str) -> impl Iterator<Item = String> {
    let parts = answer.split("=\"/").skip(1);
    let link = |part: &str| {
        Some(format!(
            "/{}",
            part.split('"').next()?.replace("&amp;", "&")
        ))
    };
    parts.filter_map(link).collect::<Vec<_>>().into_iter()
}

/// Every answer that a browser receives.
pub fn crawl(browser: &Browser) -> BTreeMap<String, String> {
    let mut waiting = routes();
    for number in NUMBERS {
        // Files whose names no page states before the end.
        for root in ["round-problems", "problems"] {
            for name in ["hints.en.pdf", "solution.en.md", "en.pdf.png"] {
                waiting.push(format!("/{root}/{number}/editorial/{name}"));
                waiting.push(format!("/{root}/{number}/files/{name}"));
            }
        }
        for query in [
            "part=tables",
            "view=public",
            "part=tables&view=public",
            "group=g",
        ] {
            waiting.push(format!("/contests/{number}/ranking?{query}"));
            waiting.push(format!("/contests/{number}/statistics?{query}"));
        }
        for round in NUMBERS {
            waiting.push(format!("/contests/{number}/ranking?round={round}"));
            waiting.push(format!("/contests/{number}/statistics?round={round}"));
            waiting.push(format!(
                "/contests/{number}/ranking.json?round={round}&view=public"
            ));
        }
    }
    let mut answers = BTreeMap::new();
    loop {
        let mut paths = BTreeSet::new();
        while paths.len() < AT_ONCE
            && let Some(path) = waiting.pop()
        {
            if !answers.contains_key(&path) && !path.starts_with("/assets/") {
                paths.insert(path);
            }
        }
        if paths.is_empty() {
            return answers;
        }
        let read = |path: String| {
            let answer = browser.raw(&path, PATIENCE);
            (path, answer)
        };
        let found: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = paths
                .into_iter()
                .map(|path| scope.spawn(move || read(path)))
                .collect();
            threads
                .into_iter()
                .map(|it| it.join().expect("an answer"))
                .collect()
        });
        waiting.extend(found.iter().flat_map(|(_, answer)| links(answer)));
        answers.extend(found);
    }
}

/// The paths on which a secret is found.
fn finds<'a>(answers: &'a BTreeMap<String, String>, secret: &str) -> Vec<&'a str> {
    let found = answers.iter().filter(|(_, answer)| answer.contains(secret));
    found.map(|(path, _)| path.as_str()).collect()
}

fn assert_hidden(viewer: &str, answers: &BTreeMap<String, String>, secrets: &[&str]) {
    for secret in secrets {
        let found = finds(answers, secret);
        assert!(found.is_empty(), "{viewer} finds {secret} on {found:?}");
    }
}

fn assert_shown(viewer: &str, answers: &BTreeMap<String, String>, secrets: &[&str]) {
    for secret in secrets {
        let found = finds(answers, secret);
        assert!(!found.is_empty(), "{viewer} does not find {secret}");
    }
}

/// Asserts that the changes for programs contain the same secrets.
fn assert_changes(answers: &BTreeMap<String, String>, contest: i64, secrets: &[&str]) {
    let path = format!("/api/v1/contests/{contest}/changes");
    for secret in secrets {
        assert!(finds(answers, secret).contains(&path.as_str()), "{secret}");
    }
}

fn set_rules(admin: &mut Browser, round: i64, mode: &str, freeze: &str) {
    let fields = [
        ("mode", mode),
        ("penalty_minutes", "20"),
        ("window_minutes", ""),
        ("freeze_at", freeze),
        ("thaw_at", ""),
    ];
    let answer = admin.post(&format!("/rounds/{round}"), &fields);
    assert_eq!(answer.status, 303, "{answer:#?}");
}

const PAST: &str = "2001-01-01T00:00";
const FUTURE: &str = "2999-01-01T00:00";

/// Adds a round with one problem. Returns their ids.
fn add_round(admin: &mut Browser, contest: i64, name: &str, problem: i64) -> (i64, i64) {
    let fields = [
        ("name", name),
        ("begins", FUTURE),
        ("ends", ""),
        ("full_results", "2999-02-01T00:00"),
        ("ranking_from", ""),
    ];
    let round = admin
        .post(&format!("/contests/{contest}/rounds"), &fields)
        .id();
    (round, attach(admin, round, problem))
}

fn submit(browser: &mut Browser, problem: i64, source: &[u8]) -> i64 {
    let path = format!("/round-problems/{problem}/submit");
    let answer = browser.upload(&path, &[("language", "")], ("a.py", source));
    assert_eq!(answer.status, 303, "{answer:#?}");
    answer.id()
}

/// The minute at which a problem in ICPC mode was solved. The rounds began years ago, so this
/// number is a secret that no page contains by chance.
fn minute(admin: &mut Browser, contest: i64, round: i64) -> String {
    let path = format!("/contests/{contest}/ranking.json?round={round}");
    // The page of a submission shows its tests before the last one has ended.
    let body = admin.wait_for(&path, "\"solved\":1").body;
    let json: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let minute = &json["tables"][0]["rows"][0]["cells"][0]["minute"];
    assert!(minute.as_i64() > Some(1_000_000), "{body}");
    minute.to_string()
}

#[test]
fn hidden_things_are_on_no_page() {
    with_each(|site| check(&site));
}

#[allow(clippy::too_many_lines, reason = "one story")]
fn check(site: &Site) {
    let mut admin = Browser::new(site);
    admin.sign_up(site.setup.as_deref().expect("a link"), "ada");
    let mut upload = |name: &str| {
        let fields = [("visibility", "private")];
        let archive = scored_package(name);
        admin
            .upload("/problems/new", &fields, ("a.zip", &archive))
            .id()
    };
    let (pear, quince) = (upload("Problem-Pear"), upload("Problem-Quince"));
    let mut contest = |name: &str, visibility: &str| {
        let fields = [("name", name), ("visibility", visibility)];
        admin.post("/contests/new", &fields).id()
    };
    let cup = contest("Cup", "public");
    contest("Private-Cup-Fig", "private");
    let (points, points_problem) = add_round(&mut admin, cup, "Points-Round", pear);
    let (icpc, icpc_problem) = add_round(&mut admin, cup, "Icpc-Round", pear);
    add_round(&mut admin, cup, "Round-Mango", quince);

    let guest = Browser::new(site);
    let mut bob = Browser::new(site);
    bob.sign_up("/sign-up", "bob");
    let mut eve = Browser::new(site);
    eve.sign_up("/sign-up", "eve");
    for browser in [&mut admin, &mut bob, &mut eve] {
        browser.token = token(browser, "read");
    }

    // Clarifications: to all, to bob alone, and about a problem.
    let talk = |browser: &mut Browser, path: &str, problem: i64, text: &str| {
        let problem = match problem {
            0 => String::new(),
            id => id.to_string(),
        };
        let fields = [("problem", problem.as_str()), ("text", text)];
        let sent = browser.post(&format!("/contests/{cup}/{path}"), &fields);
        assert_eq!(sent.status, 303, "{sent:#?}");
    };
    talk(&mut admin, "announcements", 0, "announcement-to-all");
    talk(
        &mut admin,
        "announcements",
        points_problem,
        "announcement-of-pear",
    );
    talk(&mut bob, "clarifications", 0, "question-of-bob");
    let own = ["question-of-bob"];
    let mut file = |audience: &str, round: &str, name: &str| {
        let fields = [("audience", audience), ("round", round), ("name", name)];
        let content = format!("content-of-{name}");
        let path = format!("/contests/{cup}/files");
        let sent = admin.upload(&path, &fields, ("x", content.as_bytes()));
        assert_eq!(sent.status, 303, "{sent:#?}");
    };
    file("all", "", "file-to-all");
    file("staff", "", "file-of-staff");
    file("all", &points.to_string(), "file-of-round");

    // Before the rounds begin.
    let always = ["Private-Cup-Fig", "Problem-Quince", "file-of-staff"];
    let early = [
        "Points-Round",
        "Icpc-Round",
        "Problem-Pear",
        "file-of-round",
    ];
    for (viewer, browser) in [("the guest", &guest), ("bob", &bob)] {
        let answers = crawl(browser);
        assert_hidden(viewer, &answers, &always);
        // The next round is announced by its name, without its problems and files.
        assert_hidden(viewer, &answers, &early[2..]);
        assert_hidden(viewer, &answers, &["announcement-of-pear"]);
        assert_hidden(viewer, &answers, &EDITORIAL);
        assert_shown(
            viewer,
            &answers,
            &["Cup", "announcement-to-all", "content-of-file-to-all"],
        );
        match viewer {
            "bob" => assert_shown(viewer, &answers, &own),
            _ => assert_hidden(viewer, &answers, &own),
        }
    }
    let answers = crawl(&admin);
    assert_shown("the staff", &answers, &always);
    assert_shown("the staff", &answers, &early);
    assert_shown("the staff", &answers, &EDITORIAL);
    assert_shown("the staff", &answers, &["announcement-of-pear", own[0]]);
    assert_changes(&answers, cup, &["announcement-of-pear", own[0]]);

    // During the rounds. The round in ICPC mode is frozen.
    set_round(&mut admin, points, "Points-Round", [PAST, "", FUTURE]);
    set_round(&mut admin, icpc, "Icpc-Round", [PAST, "", FUTURE]);
    set_rules(&mut admin, icpc, "icpc", "2002-01-01T00:00");
    let half = submit(&mut bob, points_problem, BOB);
    submit(&mut eve, points_problem, EVE);
    let solved = submit(&mut bob, icpc_problem, RIGHT);
    admin.wait_for(&format!("/submissions/{half}"), "hidden-test");
    admin.wait_for(&format!("/submissions/{solved}"), "hidden-test");
    admin.wait_for("/queue", "done");
    let page = admin.get(&format!("/submissions/{half}"));
    assert!(page.body.contains(POINTS), "{page:#?}");
    // Eve's submission must also be judged.
    eve.wait_for("/submissions", "Initial tests");
    let minute = minute(&mut admin, cup, icpc);
    let results = [POINTS, "Run-time error", "run_time_error", "hidden-test"];
    let charts = format!("/contests/{cup}/statistics?round={icpc}");
    let check_running = |phase: &str, admin: &Browser, bob: &Browser, eve: &Browser| {
        for (viewer, browser, sources) in [
            (
                "the guest",
                &guest,
                &["bob-source", "eve-source", "right-source"][..],
            ),
            ("bob", bob, &["eve-source"]),
            ("eve", eve, &["bob-source", "right-source"]),
        ] {
            let viewer = format!("{phase}: {viewer}");
            let answers = crawl(browser);
            assert_hidden(&viewer, &answers, &always);
            assert_hidden(&viewer, &answers, &results);
            assert_hidden(&viewer, &answers, sources);
            assert_hidden(&viewer, &answers, &[&minute]);
            // Hints and solutions open at the end of the last round with the problem.
            match phase {
                "after the end" => assert_shown(&viewer, &answers, &EDITORIAL),
                _ => assert_hidden(&viewer, &answers, &EDITORIAL),
            }
            let charts = &answers[&charts];
            assert!(charts.contains("Pending"), "{viewer}: {charts}");
            assert!(!charts.contains("Accepted"), "{viewer}: {charts}");
            assert_shown(&viewer, &answers, &early);
            assert_shown(&viewer, &answers, &["announcement-of-pear"]);
            match std::ptr::eq(browser, bob) {
                true => assert_shown(&viewer, &answers, &own),
                false => assert_hidden(&viewer, &answers, &own),
            }
        }
        let answers = crawl(admin);
        assert!(
            answers[&charts].contains("Accepted"),
            "{}",
            answers[&charts]
        );
        let sources = ["bob-source", "eve-source", "right-source", &minute];
        for secrets in [&always[..], &results, &sources] {
            assert_shown("the staff", &answers, secrets);
        }
        assert_changes(&answers, cup, &[POINTS, "run_time_error"]);
    };
    check_running("during the freeze", &admin, &bob, &eve);
    let answers = crawl(&bob);
    assert_shown("bob", &answers, &["bob-source", "right-source"]);

    // Bob prints a text. Only bob and the staff see it.
    let printing = format!("/contests/{cup}/printing");
    assert_eq!(admin.post(&printing, &[("printing", "1")]).status, 303);
    let print = format!("/contests/{cup}/print");
    let sent = bob.upload(&print, &[("text", "print-of-bob")], ("", b""));
    assert_eq!(sent.status, 303, "{sent:#?}");
    assert_hidden("eve", &crawl(&eve), &["print-of-bob"]);
    assert_shown("bob", &crawl(&bob), &["print-of-bob"]);

    // After the end, before the full results and the thaw.
    let ends = "2003-01-01T00:00";
    set_round(&mut admin, points, "Points-Round", [PAST, ends, FUTURE]);
    set_round(&mut admin, icpc, "Icpc-Round", [PAST, ends, FUTURE]);
    check_running("after the end", &admin, &bob, &eve);

    // After the full results and the thaw, the same crawler finds what was hidden.
    set_round(&mut admin, points, "Points-Round", [PAST, ends, ends]);
    set_round(&mut admin, icpc, "Icpc-Round", [PAST, ends, ends]);
    assert_eq!(admin.post(&format!("/rounds/{icpc}/thaw"), &[]).status, 303);
    let answers = crawl(&guest);
    assert_shown("the guest", &answers, &[POINTS, &minute]);
    assert!(
        answers[&charts].contains("Accepted"),
        "{}",
        answers[&charts]
    );
    assert_hidden("the guest", &answers, &always);
    assert_hidden("the guest", &answers, &["bob-source", "hidden-test"]);
    let answers = crawl(&bob);
    assert_shown("bob", &answers, &results);
    assert_hidden("bob", &answers, &["eve-source"]);
}
