//! Reports of hostile submissions, compared with golden files and read back by parsers.
//!
//! `MILLIBOX_GOLDEN=write` rewrites the golden files. Review the changes.

use crate::tree::*;
use millibox::{Backend, Figures};
use millibox_judge::report::text::{Protocol, Style};
use millibox_judge::report::{
    CompilationReport, JudgeReport, LimitsReport, Machine, ProblemReport, SubmissionInfo,
    SubmissionReport, TestReport, WarningReport, html, json, junit, text,
};
use millibox_judge::scoring::{Plan, Progress};
use millibox_judge::verdict::Verdict;
use millibox_languages::program::Limits;
use millibox_package::model::{Expected, Format, Objective, Problem, Rules, Scoring};
use quick_xml::events::Event;
use scraper::{Html, Selector};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Hostile text: markup, ends of sections, control sequences, reversed writing, long lines and
/// noncharacters.
const HOSTILE: &str = "</td><script>alert(1)</script>]]>&amp;<!-- \
    \"'\x1b[2J\x1b]0;t\x07\u{9b}31m\r\n\tsecond\u{202e}line\0\u{ffff}";

fn legacy_problem() -> Problem {
    let groups = vec![
        group("sample", Rules::default(), 1, vec![]),
        group(
            "secret",
            continuing(),
            0,
            vec![
                group("secret/a", Rules::default(), 3, vec![]),
                group("secret/b", continuing(), 2, vec![]),
            ],
        ),
    ];
    problem(Format::Legacy, Scoring::PassFail, continuing(), groups)
}

fn scored_problem() -> Problem {
    let points = Scoring::Points {
        minimum: 0.0,
        maximum: 100.0,
        objective: Objective::Max,
    };
    let mut groups = vec![
        group("0", sim(0.0), 1, vec![]),
        group("1", sim(40.0), 2, vec![]),
        group("2", sim(60.0), 2, vec![]),
    ];
    groups[0].sample = true;
    problem(Format::Sim, points, continuing(), groups)
}

fn figures(ms: u64) -> Figures {
    Figures::default()
        .with_real_time_ns(ms * 1_100_000)
        .with_cpu_ns(ms * 900_000, ms * 100_000)
        .with_peak_memory_bytes(3 << 20)
        .with_peak_processes(Some(1))
}

/// Records results for all tests that are due, as words of `tree`. The second result has hostile
/// text.
fn progress<'p>(plan: &'p Plan, words: &str) -> Progress<'p> {
    let mut progress = Progress::new(plan);
    for (test, one) in words.split_whitespace().enumerate() {
        let Some(mut judged) = word(one) else {
            continue;
        };
        judged.cpus = vec![test % 2];
        if let Some(run) = &mut judged.result.run {
            let of_test = figures(12 + test as u64);
            run.figures = of_test.with_cpu_ns(run.figures.cpu_user_ns, of_test.cpu_system_ns);
        }
        match judged.result.verdict {
            Verdict::TimeLimit => judged.result.reason = "CPU time limit".to_owned(),
            Verdict::RunTimeError => judged.result.reason = "killed by signal SEGV".to_owned(),
            Verdict::JudgeError => {
                judged.result.reason = format!("checker: exited with 7: {HOSTILE}")
            }
            _ => {}
        }
        if test == 1 {
            judged.result.comment = HOSTILE.to_owned();
            judged.result.checker = Some(figures(2));
        }
        progress.record(test, judged);
    }
    progress
}

fn about(name: &str, expected: &[Expected]) -> SubmissionInfo {
    SubmissionInfo {
        name: name.to_owned(),
        suite: Some("cpp".to_owned()),
        expected: expected.to_vec(),
        ..SubmissionInfo::default()
    }
}

fn report(problem: &Problem, submissions: Vec<SubmissionReport>) -> JudgeReport {
    let limits = Limits {
        cpu_time: LIMIT,
        real_time: 2 * LIMIT,
        memory: 64 << 20,
        output: 1 << 20,
        processes: 1,
    };
    let mut described = ProblemReport::from(problem);
    described.name = format!("P {HOSTILE}");
    JudgeReport {
        version: millibox_judge::report::VERSION,
        problem: described,
        machine: Machine {
            kernel: "6.12.1".to_owned(),
            cpu_model: Some("A CPU @ 2.0GHz".to_owned()),
            cpus: 2,
            backend: Backend::Cgroup2,
        },
        limits: LimitsReport::from(&limits),
        warnings: vec![WarningReport {
            file: format!("p/{HOSTILE}/problem.yaml"),
            line: Some(3),
            column: None,
            message: format!("unknown key {HOSTILE}"),
        }],
        started: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        duration_ns: 1_234_567_890,
        submissions,
    }
}

/// A report with each kind of result.
fn passing_or_not() -> JudgeReport {
    let problem = legacy_problem();
    let plan = Plan::new(&problem).unwrap();
    let of = |name: &str, expected: &[Expected], words: &str| {
        SubmissionReport::judged(about(name, expected), &progress(&plan, words))
    };
    let mut broken = about("compile_error/dan.cpp", &[Expected::CompileError]);
    broken.compilation = Some(CompilationReport {
        messages: format!("dan.cpp:1: {HOSTILE}\n"),
        from_cache: false,
        figures: Some(figures(200)),
    });
    let submissions = vec![
        of(
            "accepted/anna.cpp",
            &[Expected::Accepted],
            "AC AC AC AC AC@0.9 AC",
        ),
        of(
            "wrong_answer/bob.cpp",
            &[Expected::WrongAnswer],
            "AC WA - - AC AC",
        ),
        of(
            &format!("accepted/{HOSTILE}.cpp"),
            &[Expected::Accepted],
            "AC AC TL@1.01 - RE AC",
        ),
        of(
            "run_time_error/carl.cpp",
            &[Expected::RunTimeError, Expected::MemoryLimit],
            "AC JE - - AC AC",
        ),
        SubmissionReport::not_run(
            broken,
            &plan,
            Verdict::CompileError,
            "the compiler exited with 1",
        ),
        of("rejected/eve.cpp", &[Expected::Rejected], "AC AC"),
        of("anything/fay.cpp", &[], "RE AC AC AC AC AC"),
        SubmissionReport::skipped(
            about("accepted/gus.kt", &[Expected::Accepted]),
            &plan,
            format!("Kotlin cannot be used here: {HOSTILE}"),
        ),
    ];
    report(&problem, submissions)
}

fn scored() -> JudgeReport {
    let problem = scored_problem();
    let plan = Plan::new(&problem).unwrap();
    let of = |name: &str, expected: &[Expected], words: &str| {
        SubmissionReport::judged(about(name, expected), &progress(&plan, words))
    };
    let submissions = vec![
        of("prog/anna.cpp", &[Expected::Accepted], "AC AC AC AC AC"),
        of(
            "prog/slow.cpp",
            &[Expected::PartiallyAccepted],
            "AC AC@0.8 AC AC%0.25 AC",
        ),
        of("prog/bob.cpp", &[Expected::Accepted], "AC WA - AC AC"),
    ];
    report(&problem, submissions)
}

fn golden(name: &str, made: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/results/golden")
        .join(name);
    if std::env::var_os("MILLIBOX_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made).unwrap();
    }
    let wanted = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (made, wanted) = (
        String::from_utf8_lossy(made),
        String::from_utf8_lossy(&wanted),
    );
    for (number, (made, wanted)) in made.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(made, wanted, "{name}:{}", number + 1);
    }
    assert_eq!(made, wanted, "{name}");
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut made = Vec::new();
    write(&mut made).unwrap();
    made
}

#[test]
fn reports_match_the_golden_files() {
    for (name, report) in [("pass_fail", passing_or_not()), ("scored", scored())] {
        golden(
            &format!("{name}.json"),
            &written(|to| json::write(&report, to)),
        );
        golden(
            &format!("{name}.xml"),
            &written(|to| junit::write(&report, to)),
        );
        golden(
            &format!("{name}.html"),
            &written(|to| html::write(&report, to)),
        );
        golden(
            &format!("{name}.txt"),
            &written(|to| text::write(&report, to, Style::PLAIN)),
        );
    }
    let terminal = Style {
        columns: Some(100),
        colours: true,
    };
    golden(
        "terminal.txt",
        &written(|to| text::write(&passing_or_not(), to, terminal)),
    );
}

#[test]
fn json_has_all_names_in_every_object() {
    let made = String::from_utf8(written(|to| json::write(&passing_or_not(), to))).unwrap();
    assert!(
        made.chars()
            .all(|c| c == '\n' || !(c.is_control() || matches!(c, '\u{202e}' | '\u{ffff}')))
    );
    let report: serde_json::Value = serde_json::from_str(&made).unwrap();
    let keys = |value: &serde_json::Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    let submissions = report["submissions"].as_array().unwrap();
    for submission in submissions {
        assert_eq!(keys(submission), keys(&submissions[0]));
        for test in submission["tests"].as_array().unwrap() {
            assert_eq!(keys(test), keys(&submissions[0]["tests"][0]));
            assert_ne!(test["verdict"].is_null(), test["not_judged"].is_null());
        }
    }
    for submission in submissions {
        assert_ne!(
            submission["verdict"].is_null(),
            submission["not_judged"].is_null()
        );
    }
    assert_eq!(submissions[7]["not_judged"], "no_language");
    assert_eq!(submissions[7]["as_expected"], serde_json::Value::Null);
    assert_eq!(report["started"], "2023-11-14T22:13:20Z");
    let wrong = &submissions[1];
    assert_eq!(
        (&wrong["verdict"], &wrong["as_expected"]),
        (&"wrong_answer".into(), &true.into())
    );
    assert_eq!(wrong["decided_by"], "secret/a/1");
    // JSON keeps the original text. It is not made safe for terminals.
    assert_eq!(wrong["tests"][1]["comment"], HOSTILE);
    assert_eq!(wrong["tests"][2]["not_judged"], "group_ended");
    assert_eq!(submissions[3]["as_expected"], serde_json::Value::Null);
    assert_eq!(submissions[4]["tests"][0]["not_judged"], "no_program");
    assert_eq!(
        (
            &submissions[5]["verdict"],
            &submissions[5]["tests"][2]["not_judged"]
        ),
        (&serde_json::Value::Null, &"unfinished".into())
    );
}

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
    // Each warning takes one line.
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
    assert_eq!(all("script"), [include_str!("../../src/report/page.js")]);
    assert_eq!(all("style"), [include_str!("../../src/report/page.css")]);
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
fn html_bars_show_parts_of_limits() {
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
fn text_of_hostile_submissions_has_no_control_sequences_but_colours() {
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
fn text_protocol_writes_lines_in_order_as_results_arrive() {
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

    // The same again, to the end.
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
    // The result equals a protocol that was written at once.
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
fn style_of_a_file_is_plain() {
    let file = tempfile::tempfile().unwrap();
    assert_eq!(Style::of(&file), Style::PLAIN);
}

#[test]
fn report_of_a_compile_error_has_no_tests_and_messages() {
    let problem = scored_problem();
    let plan = Plan::new(&problem).unwrap();
    let about = about("prog/x.cpp", &[Expected::Accepted]);
    let report = SubmissionReport::not_run(
        about.clone(),
        &plan,
        Verdict::CompileError,
        "the compiler exited with 1",
    );
    assert_eq!(
        (report.verdict, report.score, report.as_expected),
        (Some(Verdict::CompileError), Some(0.0), Some(false))
    );
    let report = SubmissionReport::not_run(
        about,
        &plan,
        Verdict::JudgeError,
        "the compiler does not exist",
    );
    assert_eq!(
        (report.verdict, report.score, report.as_expected),
        (Some(Verdict::JudgeError), None, None)
    );
    let whole = self::report(&problem, vec![report]);
    assert!(whole.failed());
    assert_eq!(whole.unexpected().count(), 0);
}

#[test]
fn report_omits_results_that_do_not_count() {
    let problem = legacy_problem();
    let plan = Plan::new(&problem).unwrap();
    let mut progress = Progress::new(&plan);
    progress.record(2, word("RE").unwrap());
    progress.record(1, word("WA").unwrap());
    let test = TestReport::judged(&progress, 2);
    assert_eq!(
        (test.verdict, test.figures, &*test.reason),
        (None, None, "test secret/a/1 was not accepted")
    );
}

#[test]
fn report_names_the_stated_format() {
    let mut problem = problem(
        Format::Icpc2023,
        Scoring::PassFail,
        Rules::default(),
        Vec::new(),
    );
    for (format, version, shown) in [
        (Format::Icpc2023, Some("2025-09"), "2025-09"),
        (Format::Icpc2023, Some("2023-07"), "2023-07"),
        (Format::Legacy, Some("legacy-icpc"), "legacy"),
        (Format::Legacy, None, "legacy"),
        (Format::Sim, None, "sim"),
    ] {
        problem.format = format;
        problem.version = version.map(str::to_owned);
        assert_eq!(ProblemReport::from(&problem).format, shown);
    }
}
