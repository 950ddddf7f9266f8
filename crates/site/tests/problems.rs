//! Problems with their versions, and jobs.

#[allow(unreachable_pub, dead_code, reason = "tests share the module")]
mod support;

use support::contest::{contestant, first_admin, make_contest, submit};
use support::{Answer, Browser, Site, archive, files_of_sum, with_each};

const RIGHT: &str = "a, b = map(int, input().split())\nprint(a + b)\n";
const ENDLESS: &str = "while True: pass\n";
const PASSWORD: (&str, &str) = ("password", "correct horse");

/// The package with its own submissions.
fn files_with_solutions() -> Vec<(&'static str, &'static str)> {
    let mut files = files_of_sum();
    files.push(("submissions/accepted/right.py", RIGHT));
    files.push(("submissions/wrong_answer/three.py", "print(3)\n"));
    files.push(("submissions/wrong_answer/right-too.py", RIGHT));
    files
}

fn add_problem(admin: &mut Browser, files: &[(&str, &str)]) -> i64 {
    let fields = [("visibility", "private")];
    admin
        .upload("/problems/new", &fields, ("sum.zip", &archive(files)))
        .id()
}

/// The page of the job to which an answer redirects, when the job has this state.
fn wait_for_job(admin: &mut Browser, answer: &Answer, state: &str) -> Answer {
    assert_eq!(answer.status, 303, "{answer:#?}");
    let page = answer.location.as_deref().expect("a page");
    assert!(page.starts_with("/jobs/"), "{page}");
    admin.wait_for(page, &format!("<dd id=\"state\">{state}</dd>"))
}

#[test]
fn submissions_of_a_package_are_judged_and_compared_with_expectations() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let id = add_problem(&mut admin, &files_with_solutions());
        let versions = format!("/problems/{id}/versions");
        let page = admin.wait_for(&versions, "not as expected");
        assert!(page.body.contains("wrong_answer/right-too.py"), "{page:#?}");
        let is_done = |page: &Answer| page.body.matches(">as expected").count() == 2;
        while !is_done(&admin.get(&versions)) {}
        let mut eve = Browser::new(&site);
        eve.sign_up("/sign-up", "eve");
        assert_eq!(eve.get(&versions).status, 404);
        assert_eq!(eve.get(&format!("{versions}/1/package")).status, 404);
        assert_eq!(eve.get("/jobs").status, 404);
    });
}

#[test]
fn limits_and_statement_are_changed_by_jobs() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let id = add_problem(&mut admin, &files_with_solutions());
    let limits = admin.post(&format!("/problems/{id}/limits"), &[]);
    let page = wait_for_job(&mut admin, &limits, "done");
    assert!(
        page.body.contains("test sample/1") || page.body.contains("limit:"),
        "{page:#?}"
    );
    let statement = ("problem.en.md", "Another **text**.".as_bytes());
    let statement = admin.upload(&format!("/problems/{id}/statement"), &[], statement);
    wait_for_job(&mut admin, &statement, "done");
    let versions = admin.get(&format!("/problems/{id}/versions"));
    for note in [
        "time limits of the model solution",
        "statement problem.en.md",
    ] {
        assert!(versions.body.contains(note), "{note}: {versions:#?}");
    }
    let page = admin.get(&format!("/problems/{id}"));
    assert!(page.body.contains("<strong>text</strong>"), "{page:#?}");
}

#[test]
fn stopped_job_ends_its_programs_and_runs_again() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut files = files_of_sum();
    files.push(("submissions/accepted/endless.py", ENDLESS));
    let id = add_problem(&mut admin, &files);
    let limits = admin.post(&format!("/problems/{id}/limits"), &[]);
    let page = limits.location.clone().expect("a page");
    admin.wait_for(&page, "measuring");
    assert_eq!(admin.post(&format!("{page}/cancel"), &[]).status, 303);
    // Another job of the problem begins only after the first has really ended.
    let next = admin.upload(
        &format!("/problems/{id}/statement"),
        &[],
        ("problem.en.md", b"Text"),
    );
    wait_for_job(&mut admin, &next, "done");
    let log = admin.get(&format!("{page}/log"));
    assert!(log.body.contains("the job was stopped"), "{log:#?}");
    assert_eq!(admin.post(&format!("{page}/restart"), &[]).status, 303);
    admin.wait_for(&page, "attempt 2");
    assert_eq!(admin.post(&format!("{page}/cancel"), &[]).status, 303);
}

#[test]
fn large_package_becomes_a_job() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut files = files_of_sum();
    // Characters that no archive compresses to less than a mebibyte.
    let mut state = 1u64;
    let noise: String = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'!' + u8::try_from((state >> 33) % 90).expect("a small number"))
    })
    .take(2 << 20)
    .collect();
    files.push(("data/secret/large.in", &noise));
    files.push(("data/secret/large.ans", "1\n"));
    let fields = [("visibility", "private")];
    let added = admin.upload("/problems/new", &fields, ("sum.zip", &archive(&files)));
    let page = wait_for_job(&mut admin, &added, "done");
    assert!(page.body.contains("Sum: 3 tests"), "{page:#?}");
    assert!(admin.get("/problems").body.contains("Sum"));
}

#[test]
fn problems_are_merged_copied_and_deleted() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let submission = submit(&mut bob, &contest, RIGHT.as_bytes()).id();
        let page = format!("/submissions/{submission}");
        bob.wait_for_result(&page, "Accepted");
        let other = add_problem(&mut admin, &files_of_sum());

        let path = format!("/problems/{}/delete", contest.package);
        assert_eq!(admin.post(&path, &[PASSWORD]).status, 403, "a round has it");
        let number = other.to_string();
        let merge = format!("/problems/{}/merge", contest.package);
        let fields = [("into", number.as_str()), ("password", "wrong horse")];
        assert_eq!(admin.post(&merge, &fields).status, 422);
        let fields = [("into", number.as_str()), PASSWORD];
        assert_eq!(bob.post(&merge, &fields).status, 404);
        let merged = admin.post(&merge, &fields);
        wait_for_job(&mut admin, &merged, "done");
        assert_eq!(
            admin.get(&format!("/problems/{}", contest.package)).status,
            404
        );
        assert!(bob.get(&page).body.contains("Accepted"));

        let fields = [
            ("label", "SUM"),
            ("tags", "easy, sums"),
            ("hidden_tags", "old"),
        ];
        let tags = format!("/problems/{other}/tags");
        assert_eq!(admin.post(&tags, &fields).status, 303);
        let shown = admin.get(&format!("/problems/{other}"));
        assert!(
            shown.body.contains("easy") && shown.body.contains("old"),
            "{shown:#?}"
        );

        let copy = admin
            .post(&format!("/contests/{}/copy", contest.id), &[])
            .id();
        let shown = admin.get(&format!("/contests/{copy}"));
        assert!(shown.body.contains("/round-problems/"), "{shown:#?}");
        assert_eq!(bob.get(&format!("/contests/{copy}")).status, 404);

        let path = format!("/contests/{}/delete", contest.id);
        assert_eq!(bob.post(&path, &[PASSWORD]).status, 404);
        let deleted = admin.post(&path, &[PASSWORD]);
        wait_for_job(&mut admin, &deleted, "done");
        assert_eq!(bob.get(&page).status, 404);
        assert_eq!(admin.get(&format!("/contests/{}", contest.id)).status, 404);
    });
}

#[test]
fn program_is_tried_on_an_input_with_the_limits_of_the_problem() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let path = format!("/round-problems/{}/try", contest.problem);
    let mut run = |source: &str, input: &str| {
        let fields = [("language", ""), ("input", input)];
        bob.upload(&path, &fields, ("a.py", source.as_bytes()))
    };
    let right = run(RIGHT, "30 12\n");
    assert!(
        right.body.contains("tabindex=\"0\">\n42\n</pre>"),
        "{right:#?}"
    );
    let endless = run(ENDLESS, "");
    assert!(endless.body.contains("time limit"), "{endless:#?}");
    let files = run("import os\nprint(os.listdir('/'), os.listdir('.'))\n", "");
    assert!(!files.body.contains("hidden-test"), "{files:#?}");
    let failing = run("raise ValueError('a <b>')\n", "");
    assert!(failing.body.contains("a &lt;b&gt;"), "{failing:#?}");
    let is_throttled = (0..100).any(|_| run("print(1)", "").status == 429);
    assert!(is_throttled);
    let mut eve = Browser::new(&site);
    eve.sign_up("/sign-up", "eve");
    assert_eq!(eve.get(&path).status, 404);
    assert_eq!(
        eve.get(&format!("/problems/{}/try", contest.package))
            .status,
        404
    );
}
