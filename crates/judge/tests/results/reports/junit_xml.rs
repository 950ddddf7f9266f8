//! Reports as JUnit XML.

use super::*;

/// An element of an XML document.
#[derive(Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

/// All elements of an XML document, outer ones first.
fn elements(xml: &[u8]) -> Vec<Element> {
    let mut reader = quick_xml::Reader::from_reader(xml);
    let mut found: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    loop {
        let event = reader.read_event().unwrap();
        match &event {
            Event::Start(start) | Event::Empty(start) => {
                let attributes = start.attributes().map(|attribute| {
                    let attribute = attribute.unwrap();
                    let value = attribute
                        .normalized_value(quick_xml::XmlVersion::Explicit1_0)
                        .unwrap();
                    (attribute.key.0.to_owned(), value.into_owned())
                });
                let attributes = attributes.collect();
                found.push(Element {
                    name: start.name().0.to_owned(),
                    attributes,
                    ..Element::default()
                });
                if matches!(event, Event::Start(_)) {
                    open.push(found.len() - 1);
                }
            }
            Event::End(_) => {
                open.pop();
            }
            Event::Text(text) => {
                if let Some(open) = open.last() {
                    found[*open].text.push_str(&text.xml10_content());
                }
            }
            Event::GeneralRef(reference) => {
                let resolved = quick_xml::escape::resolve_predefined_entity(reference).unwrap();
                found[*open.last().unwrap()].text.push_str(resolved);
            }
            Event::Eof => break,
            Event::Decl(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty());
    found
}

#[test]
fn junit_parses_with_counts_and_texts() {
    let xml = written(|to| junit::write(&passing_or_not(), to));
    let text = String::from_utf8(xml.clone()).unwrap();
    assert!(text.chars().all(|c| c == '\n'
        || c == '\t'
        || (c >= ' ' && !matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'))));
    let elements = elements(&xml);
    let attribute = |index: usize, name: &str| {
        elements[index]
            .attributes
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
            .unwrap()
    };
    let all = |name: &str| {
        let name = name.to_owned();
        (0..elements.len())
            .filter(|index| elements[*index].name == name)
            .collect::<Vec<_>>()
    };
    let names = |name: &str| all(name).len().to_string();
    assert_eq!(elements[0].name, "testsuites");
    for (counted, element) in [
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ] {
        assert_eq!(attribute(0, counted), names(element), "{counted}");
        let sum: usize = all("testsuite")
            .iter()
            .map(|suite| attribute(*suite, counted).parse::<usize>().unwrap())
            .sum();
        assert_eq!(attribute(0, counted), sum.to_string(), "{counted}");
    }
    let suites: Vec<String> = all("testsuite")
        .into_iter()
        .map(|suite| attribute(suite, "name"))
        .collect();
    assert_eq!(suites.len(), 8 + 1);
    assert_eq!((&*suites[0], &*suites[8]), ("accepted/anna.cpp", "package"));
    assert!(
        suites[2].starts_with("accepted/</td><script>"),
        "{}",
        suites[2]
    );
    // One submission is not as expected. A test that is not accepted is not a failure.
    let failures = all("failure");
    assert_eq!(failures.len(), 1);
    assert_eq!(
        attribute(failures[0], "message"),
        "expected accepted, but it is run-time error: test secret/b/1: killed by signal SEGV"
    );
    // The test with the judge error, its submission's verdict, and the interrupted submission.
    let errors: Vec<String> = all("error")
        .into_iter()
        .map(|error| attribute(error, "type"))
        .collect();
    assert_eq!(errors, ["judge error", "judge error", "interrupted"]);
    let outputs: Vec<&str> = all("system-out")
        .into_iter()
        .map(|index| &*elements[index].text)
        .collect();
    assert!(
        outputs
            .iter()
            .any(|said| said.contains("</td><script>alert(1)</script>]]>&amp;<!-- \"'\u{fffd}[2J"))
    );
    // Each warning is one line.
    let warnings = outputs[outputs.len() - 1];
    assert!(
        warnings.starts_with("p/</td><script>")
            && warnings.contains("/problem.yaml:3: unknown key </td>")
    );
    assert_eq!(warnings.lines().count(), 1);

    let silent = JudgeReport {
        warnings: Vec::new(),
        ..passing_or_not()
    };
    let silent = String::from_utf8(written(|to| junit::write(&silent, to))).unwrap();
    assert!(!silent.contains("\"package\""), "{silent}");
}
