//! The search for problems.

use super::api::{Program, token};
use super::support::contest::first_admin;
use super::support::{Browser, archive, files_of_sum, with_each};
use serde_json::Value;

/// Adds a public problem. Returns the id.
fn add_problem(admin: &mut Browser, name: &str, tags: &str, hidden_tags: &str) -> i64 {
    let fields = [("visibility", "public")];
    let package = archive(&files_of_sum());
    let id = admin
        .upload("/problems/new", &fields, ("sum.zip", &package))
        .id();
    let fields = [("name", name), ("visibility", "public")];
    let edited = admin.post(&format!("/problems/{id}/edit"), &fields);
    assert_eq!(edited.status, 303, "{edited:#?}");
    let fields = [("label", ""), ("tags", tags), ("hidden_tags", hidden_tags)];
    let tagged = admin.post(&format!("/problems/{id}/tags"), &fields);
    assert_eq!(tagged.status, 303, "{tagged:#?}");
    id
}

/// The query for a name and a tag.
fn query(name: &str, tag: &str) -> String {
    let pairs = [("name", name), ("tag", tag)];
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

#[test]
fn problems_are_found_by_name_and_by_tags_that_the_viewer_sees() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let lodz = add_problem(&mut admin, "Łódź i las", "Grafy", "Olimpiada");
        let trees = add_problem(&mut admin, "Bäume <b>", "Grafy, Schöne", "");
        let mut bob = Browser::new(&site);
        bob.sign_up("/sign-up", "bob");
        let mut tea = Browser::new(&site);
        tea.sign_up("/sign-up", "tea");
        site.run(&["user", "set-role"], &["tea", "teacher"])
            .output();
        let fields = [("name", "Cup"), ("visibility", "private")];
        let cup = tea.post("/contests/new", &fields).id();
        let fields = super::round("");
        let round = tea.post(&format!("/contests/{cup}/rounds"), &fields).id();
        for (viewer, browser) in [
            ("the guest", &mut Browser::new(&site)),
            ("bob", &mut bob),
            ("the teacher", &mut tea),
            ("the administrator", &mut admin),
        ] {
            let sees_hidden = !["the guest", "bob"].contains(&viewer);
            let program = Program {
                site: &site,
                token: match viewer {
                    "the guest" => String::new(),
                    _ => token(browser, "read"),
                },
            };
            let hidden: &[i64] = if sees_hidden { &[lodz] } else { &[] };
            for (name, tag, expected) in [
                ("", "", &[lodz, trees][..]),
                ("ŁÓDŹ", "", &[lodz]),
                ("bÄUME <", "", &[trees]),
                ("lodz", "", &[]),
                ("", "grafy", &[lodz, trees]),
                ("las", "grafy", &[lodz]),
                ("las", "SCHÖNE", &[]),
                ("", "graf", &[]),
                ("", "olimpiada", hidden),
                ("łódź", " OLIMPIADA ", hidden),
            ] {
                let query = query(name, tag);
                let page = browser.get(&format!("/problems?{query}")).body;
                let (_, list) = api_list(&program, &query);
                for id in [lodz, trees] {
                    let is_found = expected.contains(&id);
                    let link = format!("<a href=\"/problems/{id}\">");
                    assert_eq!(page.contains(&link), is_found, "{viewer} {query}: {page}");
                    assert_eq!(list.contains(&id), is_found, "{viewer} {query}: {list:?}");
                }
                if viewer == "the teacher" && !(name.is_empty() && tag.is_empty()) {
                    let page = browser.get(&format!("/rounds/{round}?{query}")).body;
                    for id in [lodz, trees] {
                        let option = format!(" ({id})\"></option>");
                        let is_found = expected.contains(&id);
                        assert_eq!(page.contains(&option), is_found, "{query}: {page}");
                    }
                }
            }
        }
        // The form keeps what was searched.
        let page = bob.get("/problems?name=B%C3%84UME+%3C&tag=").body;
        assert!(page.contains("value=\"BÄUME &lt;\""), "{page}");
        // The tags of a problem lead to its like.
        let link = format!("/problems?{}", query("", "Schöne")).replace("name=&", "");
        let page = bob.get(&format!("/problems/{trees}")).body;
        assert!(page.contains(&format!("\"{link}\"")), "{link}: {page}");
        let page = bob.get(&link).body;
        assert!(
            page.contains("Bäume &lt;b&gt;") && !page.contains("Łódź"),
            "{page}"
        );
    });
}

fn api_list(program: &Program<'_>, query: &str) -> (Value, Vec<i64>) {
    let (status, list) = program.get(&format!("/problems?{query}"));
    assert_eq!(status, 200, "{list}");
    let items = list["items"].as_array().expect("a list");
    let ids = items.iter().map(|one| one["id"].as_i64().expect("an id"));
    (list["next"].clone(), ids.collect())
}

#[test]
fn search_continues_on_the_next_page() {
    const ROWS: usize = 100;
    let site = super::Site::start(None);
    let mut admin = first_admin(&site);
    let mut ids = Vec::new();
    for _ in 0..=ROWS {
        add_problem(&mut admin, "Other", "", "");
        ids.push(add_problem(&mut admin, "Łódź & las", "", ""));
    }
    let program = Program {
        site: &site,
        token: String::new(),
    };
    let query = query("ŁÓDŹ &", "");
    let (next, first) = api_list(&program, &query);
    assert_eq!(first, ids[..ROWS]);
    let (end, second) = api_list(&program, &format!("{query}&after={next}"));
    assert_eq!((end, &second[..]), (Value::Null, &ids[ROWS..]));

    let page = admin.get(&format!("/problems?{query}")).body;
    let link = page.split("<p><a href=\"").nth(1).expect("a link");
    let link = link
        .split('"')
        .next()
        .expect("a link")
        .replace("&amp;", "&");
    let page = admin.get(&link).body;
    let found = page.matches("<a href=\"/problems/").count();
    assert!(
        page.contains(&format!("/problems/{}\"", ids[ROWS])),
        "{link}: {page}"
    );
    assert_eq!(found, 1, "{page}");
}
