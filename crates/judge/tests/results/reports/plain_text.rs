//! Tests reports as text, both complete and written as results arrive.

use super::*;

/// A terminal's line without its colours.
fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        let (colour, after) = after.split_once('m').unwrap();
        assert!(
            colour.chars().all(|c| c.is_ascii_digit() || c == ';'),
            "{line:?}"
        );
        rest = after;
    }
    plain.push_str(rest);
    plain
}

#[test]
fn text_of_hostile_submissions_has_only_colour_sequences() {
    for columns in [1, 40, 80, 100, 200] {
        let style = Style {
            columns: Some(columns),
            colours: true,
        };
        let made =
            String::from_utf8(written(|to| text::write(&passing_or_not(), to, style))).unwrap();
        for line in made.lines() {
            let plain = without_colours(line);
            assert!(
                plain.chars().all(|c| !c.is_control() && c != '\u{202e}'),
                "{plain:?}"
            );
        }
        let tests = made
            .lines()
            .map(without_colours)
            .filter(|line| line.starts_with("  s"));
        if columns >= 100 {
            tests.for_each(|line| assert!(line.chars().count() <= columns, "{columns}: {line}"));
        }
    }
    let plain = written(|to| text::write(&passing_or_not(), to, Style::PLAIN));
    assert!(!plain.contains(&0x1b));
}

#[test]
fn text_report_writes_lines_in_order_as_results_arrive() {
    let problem = legacy_problem();
    let plan = Plan::new(&problem).unwrap();
    let about = about("accepted/anna.cpp", &[Expected::Accepted]);
    let lines = |made: &[u8]| {
        String::from_utf8_lossy(made)
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let mut made = Vec::new();
    let mut progress = Progress::new(&plan);
    {
        let mut protocol = Protocol::new(&mut made, Style::PLAIN, &plan);
        protocol.begin(&about).unwrap();
        for test in [2, 1] {
            progress.record(test, word("AC").unwrap());
            protocol.advance(&progress).unwrap();
        }
    }
    assert_eq!(
        lines(&made),
        ["accepted/anna.cpp (cpp)"],
        "the first result is open"
    );

    // Write the rest of the report.
    let mut made = Vec::new();
    let mut counts = Vec::new();
    let mut progress = Progress::new(&plan);
    let mut seen = Vec::new();
    for test in [2, 1, 0, 5, 4, 3] {
        progress.record(test, word(if test == 3 { "WA" } else { "AC" }).unwrap());
        seen.push(progress.clone());
    }
    let mut protocol = Protocol::new(&mut made, Style::PLAIN, &plan);
    protocol.begin(&about).unwrap();
    for progress in &seen {
        protocol.advance(progress).unwrap();
        counts.push(progress.settled());
    }
    assert_eq!(counts, [0, 0, 3, 3, 3, 6]);
    let report = SubmissionReport::judged(about.clone(), &progress);
    protocol.end(&report).unwrap();
    // The outcome equals a report that was written at once.
    let whole = self::report(&problem, vec![report]);
    assert_eq!(
        lines(&made),
        lines(&written(|to| text::write(&whole, to, Style::PLAIN)))
    );
    assert_eq!(
        lines(&made).last().unwrap(),
        "wrong answer: test secret/a/3; UNEXPECTED: expected accepted"
    );
}

#[test]
fn style_of_file_is_plain() {
    let file = tempfile::tempfile().unwrap();
    assert_eq!(Style::of(&file), Style::PLAIN);
}
