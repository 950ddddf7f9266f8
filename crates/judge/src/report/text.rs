//! The report for terminals: a line for each test in order, as results arrive, and then the
//! verdict.
//!
//! ```text
//! accepted/anna.cpp (cpp)
//!   test      verdict           time / limit s   memory / MiB      comment
//!   sample/1  accepted         0.012 / 1.000        3.4 / 256.0
//!   secret/1  wrong answer     0.013 / 1.000        3.4 / 256.0    line 3: read '5', expected '6'
//!   secret/2  not judged                                           test secret/1 was not accepted
//! wrong answer: test secret/1; UNEXPECTED: expected accepted
//! ```
//!
//! Text from a submission reaches the terminal only as plain characters on one line.

use super::build::SubmissionInfo;
use super::display::{block, cut, line, mebibytes, points, score_of, seconds_of, width};
use super::model::{JudgeReport, SubmissionReport, TestReport};
use crate::scoring::{Plan, Progress};
use crate::verdict::Verdict;
use std::io::{IsTerminal, Result, Write};
use std::os::fd::AsFd;

/// Maximum width of a name on a terminal, in columns.
const MAX_NAME_COLUMNS: usize = 32;
/// Maximum number of lines of a compiler's messages.
const MAX_MESSAGE_LINES: usize = 30;
/// Width of the CPU numbers in columns. A test usually runs on one CPU.
const CPU_COLUMNS: usize = 3;
/// A comment is omitted if fewer columns are left for it.
const MIN_COMMENT_COLUMNS: usize = 4;

/// The appearance of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Maximum width of a line in columns. `None` means no limit.
    pub columns: Option<usize>,
    /// Whether to use colours.
    pub colours: bool,
}

impl Style {
    /// Whole lines without colours, for files.
    pub const PLAIN: Style = Style {
        columns: None,
        colours: false,
    };

    /// Returns the style for a stream. On a terminal, lines are cut to its width and coloured,
    /// unless the environment forbids colours (`NO_COLOR`, `TERM=dumb`). Other streams use
    /// [`Style::PLAIN`].
    pub fn of(stream: &(impl AsFd + IsTerminal)) -> Style {
        if !stream.is_terminal() {
            return Style::PLAIN;
        }
        let columns = rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_col);
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Style {
            columns: (columns > 0).then_some(usize::from(columns)),
            colours: !refused && !dumb,
        }
    }
}

/// The text report of one submission, written as results arrive.
#[derive(Debug)]
pub struct Protocol<W> {
    to: W,
    style: Style,
    /// Width of the test names in columns.
    name: usize,
    scoring: bool,
    /// Whether to show the CPUs of tests.
    cpus: bool,
    /// Number of tests whose lines have been written.
    written: usize,
}

impl<W: Write> Protocol<W> {
    /// Creates the report of a submission that is judged by `plan`.
    pub fn new(to: W, style: Style, plan: &Plan) -> Protocol<W> {
        let names = (0..plan.len()).map(|test| plan.test_name(test));
        Protocol::of(to, style, names, plan.scores())
    }

    fn of<'a>(
        to: W,
        style: Style,
        names: impl Iterator<Item = &'a str>,
        scoring: bool,
    ) -> Protocol<W> {
        let longest = names
            .map(|name| width(&line(name)))
            .max()
            .unwrap_or(0)
            .max("test".len());
        let name = if style.columns.is_some() {
            longest.min(MAX_NAME_COLUMNS)
        } else {
            longest
        };
        Protocol {
            to,
            style,
            name,
            scoring,
            cpus: false,
            written: 0,
        }
    }

    /// Also shows the CPUs of each test.
    #[must_use]
    pub fn with_cpus(self) -> Protocol<W> {
        Protocol { cpus: true, ..self }
    }

    /// Writes the submission's name.
    ///
    /// # Errors
    /// The report cannot be written.
    pub fn begin(&mut self, about: &SubmissionInfo) -> Result<()> {
        let suite = about
            .suite
            .as_ref()
            .map_or_else(String::new, |suite| format!(" ({suite})"));
        let title = self.fit(&line(&format!("{}{suite}", about.name)), 0);
        writeln!(self.to, "{}", self.paint("1", &title))
    }

    /// Writes the lines of newly settled tests.
    ///
    /// # Errors
    /// The report cannot be written.
    pub fn advance(&mut self, progress: &Progress<'_>) -> Result<()> {
        while self.written < progress.settled() {
            let report = TestReport::judged(progress, self.written);
            self.test(&report)?;
        }
        self.to.flush()
    }

    /// Writes the remaining tests' lines and the submission's result.
    ///
    /// # Errors
    /// The report cannot be written.
    pub fn end(mut self, report: &SubmissionReport) -> Result<()> {
        // Omit the tests of a submission that has no program or was skipped.
        let compiled = !report.has_no_program() && !report.is_skipped();
        for test in report.tests.iter().skip(self.written).filter(|_| compiled) {
            self.test(test)?;
        }
        if self.scoring && compiled {
            self.groups(report)?;
        }
        self.verdict(report)?;
        if let Some(compilation) = report.compilation.as_ref().filter(|_| !compiled) {
            self.messages(&compilation.messages)?;
        }
        self.to.flush()
    }

    fn titles(&mut self) -> Result<()> {
        let score = if self.scoring {
            format!("{:>8}  ", "score")
        } else {
            String::new()
        };
        let cpus = if self.cpus {
            format!("{:<CPU_COLUMNS$}  ", "CPU")
        } else {
            String::new()
        };
        let name = self.name;
        let titles = format!(
            "  {:<name$}  {:<14}  {:>6} / {:<7}  {:>7} / {:<7}  {cpus}{score}comment",
            "test", "verdict", "time", "limit s", "memory", "MiB"
        );
        writeln!(self.to, "{}", self.paint("2", &self.fit(&titles, 0)))
    }

    fn test(&mut self, test: &TestReport) -> Result<()> {
        if self.written == 0 {
            self.titles()?;
        }
        self.written += 1;
        let pair = |columns: usize, used: Option<String>, limit: Option<String>| match (used, limit)
        {
            (Some(used), Some(limit)) => format!("{used:>columns$} / {limit:<7}"),
            _ => " ".repeat(columns + 10),
        };
        let limits = test.limits.as_ref();
        let limit = limits.map(|limits| limits.cpu_time_ns);
        let shown = |ns: Option<u64>| ns.zip(limit).map(|(ns, limit)| seconds_of(ns, limit));
        let time = pair(6, shown(test.cpu_time_ns()), shown(limit));
        let memory = pair(
            7,
            test.figures
                .map(|figures| mebibytes(figures.peak_memory_bytes)),
            test.memory_limit_bytes().map(mebibytes),
        );
        let score = match (self.scoring, test.score) {
            (true, Some(score)) => format!("{:>8}  ", points(score)),
            (true, None) => " ".repeat(10),
            (false, _) => String::new(),
        };
        let cpus = if self.cpus {
            format!("{:<CPU_COLUMNS$}  ", shown_cpus(&test.cpus))
        } else {
            String::new()
        };
        let name = cut_or_whole(&line(&test.name), self.style.columns.map(|_| self.name));
        let before = format!(
            "  {name}{}  ",
            " ".repeat(self.name.saturating_sub(width(&name)))
        );
        let words = format!("{:<14}", test.words());
        let after = format!("  {time}  {memory}  {cpus}{score}");
        let taken = width(&before) + width(&words) + width(&after);
        let parts = [line(&test.reason), line(&test.comment)];
        let comment = parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        let comment = match self.style.columns {
            Some(columns) if columns < taken + MIN_COMMENT_COLUMNS => String::new(),
            Some(columns) => cut(&comment, columns - taken),
            None => comment,
        };
        let words = self.paint(colour(test.verdict), &words);
        // Remove trailing spaces.
        let line = format!("{before}{words}{after}{comment}");
        writeln!(self.to, "{}", line.trim_end())
    }

    fn groups(&mut self, report: &SubmissionReport) -> Result<()> {
        // The result of the root group is the result of the submission.
        let groups = report
            .groups
            .iter()
            .skip(1)
            .filter(|group| group.score.is_some() || group.not_judged.is_some());
        for group in groups {
            let words = group
                .verdict
                .map_or("not judged", super::names::verdict_words);
            let words = self.paint(colour(group.verdict), words);
            let of = |score| format!(", {}", score_of(score, group.max_score, group.best_score));
            let score = group.score.map_or_else(String::new, of);
            let reason = if group.reason.is_empty() {
                String::new()
            } else {
                format!(": {}", line(&group.reason))
            };
            let name = line(&group.name);
            let rest = self.fit(&format!("{score}{reason}"), 10 + width(&name) + 14);
            writeln!(self.to, "  group {name}: {words}{rest}")?;
        }
        Ok(())
    }

    fn verdict(&mut self, report: &SubmissionReport) -> Result<()> {
        let words = report.words();
        let of = |score| format!(", {}", score_of(score, report.max_score, report.best_score));
        let score = report.score.map_or_else(String::new, of);
        let expected = match (report.as_expected, report.expected_words()) {
            (Some(true), _) => Some((false, "as expected".to_owned())),
            (Some(false), Some(expected)) => {
                Some((true, format!("UNEXPECTED: expected {expected}")))
            }
            _ => None,
        };
        let taken = [
            words,
            &score,
            expected.as_ref().map_or("", |(_, expected)| expected),
        ]
        .map(width);
        let reason = match report.reason.as_str() {
            "" => String::new(),
            reason => format!(
                ": {}",
                self.fit(&line(reason), taken.iter().sum::<usize>() + 4)
            ),
        };
        let expected = match expected {
            Some((true, expected)) => format!("; {}", self.paint("1;31", &expected)),
            Some((false, expected)) => format!("; {expected}"),
            None => String::new(),
        };
        writeln!(
            self.to,
            "{}{score}{reason}{expected}",
            self.paint(colour(report.verdict), words)
        )
    }

    fn messages(&mut self, messages: &str) -> Result<()> {
        let messages = block(messages);
        let lines: Vec<&str> = messages.lines().collect();
        for one in lines.iter().take(MAX_MESSAGE_LINES) {
            writeln!(self.to, "  | {}", self.fit(&line(one), 4))?;
        }
        match lines.len().saturating_sub(MAX_MESSAGE_LINES) {
            0 => Ok(()),
            more => writeln!(self.to, "  | [{more} more lines]"),
        }
    }

    /// Cuts a string to the columns that remain after `taken`.
    fn fit(&self, text: &str, taken: usize) -> String {
        cut_or_whole(
            text,
            self.style
                .columns
                .map(|columns| columns.saturating_sub(taken)),
        )
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        if self.style.colours {
            format!("\x1b[{colour}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Writes the whole report.
///
/// # Errors
/// The report cannot be written.
pub fn write(report: &JudgeReport, mut to: impl Write, style: Style) -> Result<()> {
    for (index, submission) in report.submissions.iter().enumerate() {
        if index > 0 {
            writeln!(to)?;
        }
        let names = submission.tests.iter().map(|test| test.name.as_str());
        let mut protocol = Protocol::of(&mut to, style, names, report.problem.scoring);
        let about = SubmissionInfo {
            name: submission.name.clone(),
            suite: submission.suite.clone(),
            ..SubmissionInfo::default()
        };
        protocol.begin(&about)?;
        protocol.end(submission)?;
    }
    Ok(())
}

fn shown_cpus(cpus: &[usize]) -> String {
    cpus.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

fn cut_or_whole(text: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) => cut(text, columns),
        None => text.to_owned(),
    }
}

/// Returns the colour of a verdict (ECMA-48): green, red, magenta for a judge error, faint for
/// none.
fn colour(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Accepted) => "32",
        Some(Verdict::JudgeError) => "1;35",
        Some(_) => "31",
        None => "2",
    }
}
