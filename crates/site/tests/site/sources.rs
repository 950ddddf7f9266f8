//! The sources of a contest: the archive, similar pairs, and packages of other systems.

use super::support::contest::{contestant, make_contest, submit};
use super::support::{Browser, archive, with_each};
use super::{RIGHT, first_admin};

/// A program with enough text for a comparison.
const LONG: &str = "def solve(values, limit):\n    best = 0\n    for first in range(len(values)):\n\
    \x20       total = 0\n        for second in range(first, len(values)):\n\
    \x20           total += values[second] * (second - first + 1)\n\
    \x20           if total % limit == 0 and total > best:\n\
    \x20               best = max(best, total // limit - values[first])\n    return best\n\
    a, b = map(int, input().split())\nprint(a + b + 0 * solve([a, b], 7))\n";

/// The same with different names, comments and spaces.
fn renamed() -> String {
    let mut text = LONG.to_owned();
    for (from, to) in [
        ("solve", "compute"),
        ("values", "numbers"),
        ("total", "partial_sum"),
        ("best", "result"),
        ("limit", "k"),
        (" = ", "  =  "),
    ] {
        text = text.replace(from, to);
    }
    format!("# my own work\n\n{text}")
}

#[test]
fn staff_compares_sources_and_downloads_them() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let mut eve = contestant(&site, &mut admin, &contest, "eve");
        let mut kim = contestant(&site, &mut admin, &contest, "kim");
        let original = submit(&mut bob, &contest, LONG.as_bytes()).id();
        let copy = submit(&mut eve, &contest, renamed().as_bytes()).id();
        submit(&mut kim, &contest, RIGHT);

        let similar = format!("/contests/{}/similar", contest.id);
        let zip = format!("/contests/{}/sources.zip", contest.id);
        for path in [&similar, &zip] {
            assert_eq!(bob.get(path).status, 404, "{path}");
            assert_eq!(Browser::new(&site).get(path).status, 404, "{path}");
        }
        assert_eq!(bob.post(&similar, &[]).status, 404);
        let empty = admin.get(&similar).body;
        assert!(empty.contains("have not been compared yet"), "{empty}");
        let job = admin.post(&similar, &[]).location.expect("a job");
        assert_eq!(bob.get(&job).status, 404);
        let done = admin.wait_until(&job, |page| page.contains("id=\"state\">done"));
        assert!(
            done.body
                .contains("1 of 1 problems: Round A, 3 of 3 sources, 1 pairs"),
            "{done:#?}"
        );
        assert!(
            done.body.contains(&format!("href=\"{similar}\"")),
            "{done:#?}"
        );
        let page = admin.get(&similar).body;
        assert!(page.contains("3 sources were compared"), "{page}");
        let document = scraper::Html::parse_document(&page);
        let links = scraper::Selector::parse("#similar td a").expect("a selector");
        let links: Vec<_> = document
            .select(&links)
            .filter_map(|it| it.attr("href"))
            .collect();
        let expected = [original, copy].map(|id| format!("/submissions/{id}"));
        assert_eq!(links, expected, "{page}");
        let newer = "Newer submissions are not part";
        assert!(!page.contains(newer), "{page}");
        submit(&mut bob, &contest, RIGHT);
        let page = admin.get(&similar).body;
        assert!(page.contains(newer) && page.contains("3 sources"), "{page}");
        let deleted = admin.post(&format!("/submissions/{original}/delete"), &[]);
        assert_eq!(deleted.status, 303, "{deleted:#?}");
        let page = admin.get(&similar).body;
        assert!(!page.contains("id=\"similar\""), "{page}");

        // The names of entries are not compressed.
        let answer = admin.get(&zip);
        assert_eq!(answer.status, 200, "{answer:#?}");
        for name in ["-Round/", "-A/", "-bob/", "-eve/", "-kim/"] {
            assert!(answer.body.contains(name), "{name}");
        }
    });
}

#[test]
fn package_of_another_system_is_imported_with_a_list_of_losses() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let files = [
            (
                "abc/config.yml",
                "title: Suma\ntime_limit: 2000\nmemory_limit: 131072\n",
            ),
            ("abc/in/abc0.in", "1 2\n"),
            ("abc/in/abc1.in", "20 22\n"),
            ("abc/out/abc0.out", "3\n"),
            ("abc/out/abc1.out", "42\n"),
            ("abc/prog/abc.py", std::str::from_utf8(RIGHT).expect("text")),
            ("abc/prog/abcingen.cpp", "int main() {}\n"),
        ];
        let fields = [("visibility", "private")];
        let sinolpack = archive(&files);
        let added = admin.upload("/problems/new", &fields, ("abc.zip", &sinolpack));
        assert_eq!(added.status, 303, "{added:#?}");
        let page = added.location.expect("a page");
        assert!(page.ends_with("/versions"), "{page}");
        let body = admin.get(&page).body;
        assert!(body.contains("not taken over: prog/abcingen.cpp"), "{body}");
        let problem = page.trim_end_matches("/versions");
        assert!(admin.get(problem).body.contains("Suma"));
        admin.wait_until(&page, |body| body.contains("Accepted"));

        let no_tests = archive(&files[..1]);
        let refused = admin.upload("/problems/new", &fields, ("abc.zip", &no_tests));
        assert_eq!(refused.status, 422, "{refused:#?}");
        let mut without = files.to_vec();
        without.push(("abc/prog/abcchk.py", "print('OK')\n"));
        let refused = admin.upload("/problems/new", &fields, ("abc.zip", &archive(&without)));
        assert_eq!(refused.status, 422, "{refused:#?}");
        assert!(refused.body.contains("abcchk.py"), "{refused:#?}");
    });
}
