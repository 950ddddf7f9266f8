//! Reports as HTML pages.

use super::*;

#[test]
fn html_parses_with_tables_and_policy() {
    let page = String::from_utf8(written(|to| html::write(&passing_or_not(), to))).unwrap();
    let html = Html::parse_document(&page);
    assert_eq!(format!("{:?}", html.quirks_mode), "NoQuirks");
    let all = |selector: &str| {
        let selector = Selector::parse(selector).unwrap();
        html.select(&selector)
            .map(|element| element.text().collect::<String>())
            .collect::<Vec<_>>()
    };
    assert_eq!(all("script"), [include_str!("../../../src/report/page.js")]);
    assert_eq!(all("style"), [include_str!("../../../src/report/page.css")]);
    assert!(
        page.chars()
            .all(|c| c == '\n' || c == '\t' || !c.is_control())
    );
    // One table of submissions, and one of tests per submission.
    assert_eq!(all("table").len(), 1 + 8);
    assert_eq!(all("section").len(), 8);
    assert_eq!(all("section table tbody tr").len(), 8 * 6);
    assert_eq!(all("tr.unexpected").len(), 1);
    let comments = all("td.comment");
    assert!(
        comments
            .iter()
            .any(|said| said.contains("</td><script>alert(1)</script>]]>&amp;<!-- \"'\u{fffd}[2J"))
    );
    assert_eq!(all("title")[0], all("h1")[0]);
    // The compiler's messages keep their lines.
    assert!(all("pre")[0].contains("\n\tsecond\u{fffd}line"));
    // The policy allows only the page's own script and style.
    for element in html.tree.values().filter_map(|node| node.as_element()) {
        for (name, value) in element.attrs() {
            assert!(
                !matches!(name, "src" | "style") && !name.starts_with("on"),
                "{name}={value}"
            );
            assert!(name != "href" || value.starts_with("#s"), "{name}={value}");
        }
    }
    let policies = Selector::parse("meta[http-equiv]").unwrap();
    let policy = html
        .select(&policies)
        .next()
        .unwrap()
        .attr("content")
        .unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
}

#[test]
fn html_bars_show_fractions_of_limits() {
    let page = String::from_utf8(written(|to| html::write(&passing_or_not(), to))).unwrap();
    let html = Html::parse_document(&page);
    let rects = Selector::parse("#s0 tr:last-child td:nth-child(3) rect.used").unwrap();
    let widths: Vec<_> = html
        .select(&rects)
        .map(|rect| rect.attr("width").unwrap().to_owned())
        .collect();
    // The run used 1.7 ms of a second.
    assert_eq!(widths, ["0.2"]);
    let full = Selector::parse("rect.full").unwrap();
    assert_eq!(html.select(&full).count(), 1);
}
