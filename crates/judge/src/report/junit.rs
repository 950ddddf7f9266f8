//! The report for continuous integration: JUnit XML, in the form that its common readers accept.
//!
//! A submission is a test suite. Each of its tests is a test case, and so is its verdict. The
//! verdict's case fails if the verdict is not the expected one. A test that is not accepted is not
//! a failure, because many submissions are meant to be rejected. Judge errors are errors. A test
//! that was not judged is skipped.
//!
//! The package's warnings are the output of a passing test case in a final suite, because some
//! readers do not show a suite's own output.

use super::display::{block, line, points, points_in_words, warned};
use super::model::{JudgeReport, SubmissionReport, TestReport};
use crate::verdict::Verdict;
use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::Writer;
use std::io::{Result, Write};

/// Name of the verdict's test case.
const VERDICT: &str = "verdict";

/// Writes the report.
///
/// # Errors
/// The report cannot be written.
pub fn write(report: &JudgeReport, to: impl Write) -> Result<()> {
    let mut xml = Writer::new_with_indent(to, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut counts = Counts {
        tests: usize::from(!report.warnings.is_empty()),
        ..Counts::default()
    };
    report
        .submissions
        .iter()
        .for_each(|submission| counts.add(&Counts::of(submission)));
    let [tests, failures, errors, skipped] = counts.attributes();
    xml.create_element("testsuites")
        .with_attribute(("name", line(&report.problem.label).as_str()))
        .with_attribute(("tests", tests.as_str()))
        .with_attribute(("failures", failures.as_str()))
        .with_attribute(("errors", errors.as_str()))
        .with_attribute(("skipped", skipped.as_str()))
        .with_attribute(("time", time(report.duration_ns).as_str()))
        .write_inner_content(|xml| {
            report
                .submissions
                .iter()
                .try_for_each(|one| submission(report, one, xml))?;
            warnings(report, xml)
        })?;
    xml.into_inner().write_all(b"\n")
}

#[derive(Debug, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn of(submission: &SubmissionReport) -> Counts {
        let tests = || submission.tests.iter();
        let mut errors = tests()
            .filter(|test| test.verdict == Some(Verdict::JudgeError))
            .count();
        errors += usize::from(failed(submission));
        Counts {
            tests: tests().count() + 1,
            failures: usize::from(submission.as_expected == Some(false)),
            errors,
            skipped: tests().filter(|test| test.verdict.is_none()).count()
                + usize::from(submission.is_skipped()),
        }
    }

    fn add(&mut self, other: &Counts) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
    }

    fn attributes(&self) -> [String; 4] {
        [self.tests, self.failures, self.errors, self.skipped].map(|count| count.to_string())
    }
}

/// Whether the submission has no verdict of its own.
fn failed(submission: &SubmissionReport) -> bool {
    matches!(submission.verdict, None | Some(Verdict::JudgeError)) && !submission.is_skipped()
}

fn suite<W: Write>(
    report: &JudgeReport,
    name: &str,
    counts: &Counts,
    used: u64,
    xml: &mut Writer<W>,
    inner: impl FnOnce(&mut Writer<W>, &str) -> Result<()>,
) -> Result<()> {
    let [tests, failures, errors, skipped] = counts.attributes();
    // Readers build a tree from names that are separated by dots.
    let class = line(&format!(
        "{}.{}",
        report.problem.label,
        name.replace('.', "_")
    ));
    xml.create_element("testsuite")
        .with_attribute(("name", line(name).as_str()))
        .with_attribute(("tests", tests.as_str()))
        .with_attribute(("failures", failures.as_str()))
        .with_attribute(("errors", errors.as_str()))
        .with_attribute(("skipped", skipped.as_str()))
        .with_attribute(("time", time(used).as_str()))
        .with_attribute(("timestamp", timestamp(report).as_str()))
        .write_inner_content(|xml| inner(xml, &class))?;
    Ok(())
}

fn submission<W: Write>(
    report: &JudgeReport,
    submission: &SubmissionReport,
    xml: &mut Writer<W>,
) -> Result<()> {
    let used = submission
        .tests
        .iter()
        .filter_map(|test| test.figures)
        .map(|figures| figures.real_time_ns)
        .sum();
    suite(
        report,
        &submission.name,
        &Counts::of(submission),
        used,
        xml,
        |xml, class| {
            properties(report, submission, xml)?;
            case(xml, class, VERDICT, 0, |xml| verdict(submission, xml))?;
            for one in &submission.tests {
                let used = one.figures.map_or(0, |figures| figures.real_time_ns);
                case(xml, class, &line(&one.name), used, |xml| test(one, xml))?;
            }
            match &submission.compilation {
                Some(compilation) if !compilation.messages.is_empty() => {
                    text(xml, "system-out", &compilation.messages)
                }
                _ => Ok(()),
            }
        },
    )
}

fn warnings<W: Write>(report: &JudgeReport, xml: &mut Writer<W>) -> Result<()> {
    if report.warnings.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = report.warnings.iter().map(warned).collect();
    suite(
        report,
        "package",
        &Counts {
            tests: 1,
            ..Counts::default()
        },
        0,
        xml,
        |xml, class| {
            case(xml, class, "warnings", 0, |xml| {
                text(xml, "system-out", &lines.join("\n"))
            })
        },
    )
}

fn properties<W: Write>(
    report: &JudgeReport,
    submission: &SubmissionReport,
    xml: &mut Writer<W>,
) -> Result<()> {
    let mut properties = vec![("verdict", submission.words().to_owned())];
    properties.extend(submission.suite.clone().map(|suite| ("suite", suite)));
    properties.extend(
        submission
            .expected_words()
            .map(|expected| ("expected", expected)),
    );
    properties.extend(submission.score.map(|score| ("score", points(score))));
    properties.extend(
        submission
            .max_score
            .map(|score| ("max_score", points(score))),
    );
    let best = submission
        .best_score
        .filter(|best| submission.max_score != Some(*best));
    properties.extend(best.map(|score| ("best_score", points(score))));
    properties.push(("kernel", report.machine.kernel.clone()));
    properties.push(("backend", report.machine.backend.to_string()));
    xml.create_element("properties")
        .write_inner_content(|xml| {
            for (name, value) in &properties {
                xml.create_element("property")
                    .with_attribute(("name", *name))
                    .with_attribute(("value", line(value).as_str()))
                    .write_empty()?;
            }
            Ok(())
        })?;
    Ok(())
}

fn case<W: Write>(
    xml: &mut Writer<W>,
    class: &str,
    name: &str,
    used: u64,
    inner: impl FnOnce(&mut Writer<W>) -> Result<()>,
) -> Result<()> {
    xml.create_element("testcase")
        .with_attribute(("classname", class))
        .with_attribute(("name", name))
        .with_attribute(("time", time(used).as_str()))
        .write_inner_content(inner)?;
    Ok(())
}

fn verdict<W: Write>(submission: &SubmissionReport, xml: &mut Writer<W>) -> Result<()> {
    let words = submission.words();
    let mut message = words.to_owned();
    if let Some(score) = submission.score {
        message = format!("{message}, {}", points_in_words(score));
    }
    if !submission.reason.is_empty() {
        message = format!("{message}: {}", line(&submission.reason));
    }
    if submission.is_skipped() {
        skipped(xml, &submission.reason)
    } else if failed(submission) {
        problem(xml, "error", words, &message, &submission.reason)
    } else if submission.as_expected == Some(false) {
        let expected = submission.expected_words().unwrap_or_default();
        problem(
            xml,
            "failure",
            words,
            &format!("expected {expected}, but it is {message}"),
            &submission.reason,
        )
    } else {
        text(xml, "system-out", &message)
    }
}

fn test<W: Write>(test: &TestReport, xml: &mut Writer<W>) -> Result<()> {
    let words = test.words();
    match test.verdict {
        None => skipped(xml, &test.reason),
        Some(Verdict::JudgeError) => problem(xml, "error", words, &test.reason, &test.comment),
        Some(_) => {
            let parts = [words, &test.reason, &test.comment];
            let message: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            text(xml, "system-out", &message.join("\n"))
        }
    }
}

fn skipped<W: Write>(xml: &mut Writer<W>, why: &str) -> Result<()> {
    xml.create_element("skipped")
        .with_attribute(("message", line(why).as_str()))
        .write_empty()?;
    Ok(())
}

/// Writes a failure or an error.
fn problem<W: Write>(
    xml: &mut Writer<W>,
    tag: &str,
    kind: &str,
    message: &str,
    more: &str,
) -> Result<()> {
    let element = xml
        .create_element(tag)
        .with_attribute(("type", kind))
        .with_attribute(("message", line(message).as_str()));
    if more.is_empty() {
        element.write_empty()?;
    } else {
        element.write_text_content(BytesText::new(&block(more)))?;
    }
    Ok(())
}

fn text<W: Write>(xml: &mut Writer<W>, tag: &str, content: &str) -> Result<()> {
    xml.create_element(tag)
        .write_text_content(BytesText::new(&block(content)))?;
    Ok(())
}

/// Formats a time in seconds.
fn time(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
}

/// Formats the time as the schema requires, without a time zone.
fn timestamp(report: &JudgeReport) -> String {
    humantime::format_rfc3339_seconds(report.started)
        .to_string()
        .trim_end_matches('Z')
        .to_owned()
}
