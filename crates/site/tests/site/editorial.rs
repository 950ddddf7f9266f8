//! Samples to copy and to download, and hints and solutions, which open after the contest.

use crate::accounts::{new_user, user_id};
use crate::support::contest::{
    Contest, contest_with, contestant, first_admin, make_contest_of, set_round,
};
use crate::support::{Browser, Site, archive, files_of_sum, with_each};

const SOLUTION: &str = "solution-of-sum-4d1f";
const HINT: &str = "hint-of-sum-77aa";
const PDF: &str = "%PDF-1.4 pdf-of-sum-20bc";
const PAST: &str = "2001-01-01T00:00";

/// A package with a solution in two forms, a hint in Polish, and an image.
pub fn package() -> Vec<u8> {
    let solution = format!("{SOLUTION} ![](plot.png) ![](missing.png)\n");
    let hint = format!("{HINT}\n");
    let mut files = files_of_sum();
    files.extend([
        ("problem_statement/problem.pl.md", "Dodaj $a$ i $b$.\n"),
        ("solution/solution.en.md", solution.as_str()),
        ("solution/solution.pl.pdf", PDF),
        ("solution/hints.pl.md", hint.as_str()),
        ("solution/plot.png", "png-of-sum-0e0e"),
        ("solution/notes.txt", "notes-of-the-author"),
    ]);
    archive(&files)
}

/// The addresses below which a browser finds hints and solutions, of the problem in the contest and
/// of the problem itself.
fn roots(contest: &Contest) -> [String; 2] {
    [
        format!("/round-problems/{}", contest.problem),
        format!("/problems/{}", contest.package),
    ]
}

/// Asserts that a browser finds no byte of the hints and solutions.
fn assert_closed(browser: &mut Browser, contest: &Contest) {
    for root in roots(contest) {
        let problem = browser.get(&root).body;
        assert!(!problem.contains("/editorial"), "{problem}");
        for file in [
            "",
            "/solution.en.md",
            "/solution.pl.pdf",
            "/hints.pl.md",
            "/plot.png",
        ] {
            let found = browser.get(&format!("{root}/editorial{file}"));
            assert_eq!(found.status, 404, "{root} {file}: {found:#?}");
        }
        for name in ["plot.png", "solution.en.md", "pl.pdf"] {
            assert_eq!(browser.get(&format!("{root}/files/{name}")).status, 404);
        }
    }
}

/// Asserts that a browser finds all of them at an address.
fn assert_open(browser: &mut Browser, root: &str) {
    let problem = browser.get(root).body;
    assert!(
        problem.contains(&format!("href=\"{root}/editorial\"")),
        "{problem}"
    );
    let page = browser.get(&format!("{root}/editorial"));
    for part in [
        SOLUTION,
        HINT,
        &format!("src=\"{root}/editorial/plot.png\""),
        &format!("href=\"{root}/editorial/solution.pl.pdf\""),
    ] {
        assert!(page.body.contains(part), "{part}: {page:#?}");
    }
    assert!(!page.body.contains("/editorial/missing.png"), "{page:#?}");
    let pdf = browser.get(&format!("{root}/editorial/solution.pl.pdf"));
    assert_eq!(pdf.body, PDF);
    assert_eq!(pdf.headers["content-type"], "application/pdf");
    let image = browser.get(&format!("{root}/editorial/plot.png"));
    assert_eq!(image.headers["content-type"], "image/png");
    let policy = image.headers["content-security-policy"]
        .to_str()
        .expect("text");
    assert!(policy.contains("sandbox"), "{policy}");
    for name in ["notes.txt", "solution.en.md", "solution.de.pdf"] {
        let found = browser.get(&format!("{root}/editorial/{name}"));
        assert_eq!(found.status, 404, "{name}");
    }
}

#[test]
fn hints_and_solutions_open_after_every_round_of_the_problem() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest_of(&mut admin, &package());
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let [in_contest, outside] = roots(&contest);
        for ends in ["", "2999-01-01T00:00"] {
            set_round(&mut admin, contest.round, "Round", [PAST, ends, ""]);
            assert_closed(&mut bob, &contest);
            assert_open(&mut admin, &in_contest);
            assert_open(&mut admin, &outside);
        }
        set_round(
            &mut admin,
            contest.round,
            "Round",
            [PAST, "2001-01-01T01:00", ""],
        );
        assert_open(&mut bob, &in_contest);
        // The problem itself is private.
        assert_eq!(bob.get(&format!("{outside}/editorial")).status, 404);
        assert_eq!(Browser::new(&site).get(&in_contest).status, 404);

        // The same problem is in a round that has not begun.
        let later = contest_with(&mut admin, contest.package);
        assert_closed(&mut bob, &contest);
        set_round(
            &mut admin,
            later.round,
            "Round",
            [PAST, "2001-01-01T01:00", ""],
        );
        assert_open(&mut bob, &in_contest);

        // Everyone sees a public problem.
        let fields = [("name", "Sum"), ("visibility", "public")];
        let path = format!("/problems/{}/edit", contest.package);
        assert_eq!(admin.post(&path, &fields).status, 303);
        assert_open(&mut Browser::new(&site), &outside);
    });
}

#[test]
fn staff_of_a_contest_waits_for_contests_of_others() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest_of(&mut admin, &package());
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let fields = [("name", "Sum"), ("visibility", "public")];
        let path = format!("/problems/{}/edit", contest.package);
        assert_eq!(admin.post(&path, &fields).status, 303);
        set_round(
            &mut admin,
            contest.round,
            "Round",
            [PAST, "2999-01-01T00:00", ""],
        );
        // The contestant manages another contest with the same problem.
        let own = contest_with(&mut admin, contest.package);
        let fields = [("login", "bob"), ("role", "moderator")];
        let path = format!("/contests/{}/members", own.id);
        assert_eq!(admin.post(&path, &fields).status, 303);
        set_round(
            &mut admin,
            own.round,
            "Round",
            [PAST, "2999-01-01T00:00", ""],
        );
        let root = format!("/round-problems/{}", own.problem);
        assert_eq!(bob.get(&root).status, 200);
        assert!(!bob.get(&root).body.contains("/editorial"));
        for file in ["", "/plot.png", "/solution.pl.pdf"] {
            let found = bob.get(&format!("{root}/editorial{file}"));
            assert_eq!(found.status, 404, "{file}: {found:#?}");
        }
        set_round(
            &mut admin,
            contest.round,
            "Round",
            [PAST, "2001-01-01T01:00", ""],
        );
        assert_open(&mut bob, &root);
    });
}

#[test]
fn contests_of_others_do_not_close_a_public_editorial() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest_of(&mut admin, &package());
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        set_round(
            &mut admin,
            contest.round,
            "Round",
            [PAST, "2001-01-01T01:00", ""],
        );
        let [in_contest, outside] = roots(&contest);
        let visible_to = |admin: &mut Browser, visibility| {
            let fields = [("name", "Sum"), ("visibility", visibility)];
            let path = format!("/problems/{}/edit", contest.package);
            assert_eq!(admin.post(&path, &fields).status, 303);
        };
        visible_to(&mut admin, "public");
        assert_open(&mut bob, &in_contest);
        // A teacher uses the problem in a contest, which the owner of the problem does not manage.
        let mut tom = new_user(&site, "tom");
        let path = format!("/users/{}", user_id(&mut admin, "tom"));
        assert_eq!(admin.post(&path, &[("role", "teacher")]).status, 303);
        let other = contest_with(&mut tom, contest.package);
        let mut carol = contestant(&site, &mut tom, &other, "carol");
        for ends in ["", "2999-01-01T00:00"] {
            set_round(&mut tom, other.round, "Round", [PAST, ends, ""]);
            assert_open(&mut bob, &in_contest);
            assert_open(&mut bob, &outside);
            assert_open(&mut Browser::new(&site), &outside);
            // The contestants of that contest wait, on both pages.
            assert_closed(&mut carol, &other);
        }
        // The owner lets teachers use a problem for contests, so a round with an end counts.
        visible_to(&mut admin, "contest_only");
        assert_closed(&mut bob, &contest);
        set_round(&mut tom, other.round, "Round", [PAST, "", ""]);
        assert_open(&mut bob, &in_contest);
        assert_closed(&mut carol, &other);
    });
}

#[test]
fn solution_is_uploaded_like_a_statement() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest_of(&mut admin, &archive(&files_of_sum()));
    let root = format!("/problems/{}", contest.package);
    assert_eq!(admin.get(&format!("{root}/editorial")).status, 404);
    let path = format!("{root}/statement");
    let sent = admin.upload(&path, &[], ("hints.de.md", HINT.as_bytes()));
    let job = sent.location.expect("a job");
    admin.wait_for(&job, "<dd id=\"state\">done</dd>");
    let page = admin.get(&format!("{root}/editorial"));
    assert!(page.body.contains(HINT), "{page:#?}");
    // The statement is the same as before.
    assert!(admin.get(&root).body.contains("<math"));
}

#[test]
fn samples_are_downloaded_as_files() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest_of(&mut admin, &archive(&files_of_sum()));
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let root = format!("/round-problems/{}", contest.problem);
    let page = bob.get(&root).body;
    for (name, content) in [("sample-1.in", "1 2\n"), ("sample-1.ans", "3\n")] {
        let path = format!("{root}/files/{name}");
        assert!(page.contains(&format!("href=\"{path}\"")), "{page}");
        let file = bob.get(&path);
        assert_eq!(file.body, content);
        assert_eq!(file.headers["content-type"], "text/plain; charset=utf-8");
        let disposition = format!("attachment; filename=\"{name}\"");
        assert_eq!(file.headers["content-disposition"], disposition);
    }
    // Tests that are no samples are not among them.
    for name in ["sample-0.in", "sample-2.in", "sample-1.out", "sample-1"] {
        assert_eq!(bob.get(&format!("{root}/files/{name}")).status, 404);
    }
    let fields = [
        ("name", "Round"),
        ("begins", "2999-01-01T00:00"),
        ("ends", ""),
        ("full_results", ""),
        ("ranking_from", ""),
    ];
    admin.post(&format!("/rounds/{}", contest.round), &fields);
    let early = bob.get(&format!("{root}/files/sample-1.in"));
    assert_eq!(early.status, 404, "{early:#?}");
}
