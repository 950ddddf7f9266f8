//! The output during judging: lines on standard output, and on a terminal a progress bar below
//! them. If a report goes to standard output, the lines go to standard error.

use crate::failure::{Failure, complain, unwritten};
use indicatif::{ProgressBar, ProgressStyle};
use millibox_judge::judge::{Event, Machine};
use millibox_judge::report::text::{Protocol, Style};
use millibox_judge::report::{SubmissionReport, line, points_in_words};
use millibox_judge::scoring::Plan;
use millibox_judge::verdict::Verdict;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a stopped judge waits for a reader that does not read.
const READER_TIMEOUT: Duration = Duration::from_millis(500);

/// The amount of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Only unexpected verdicts and errors.
    Quiet,
    /// A line for each submission, and all tests of those with an unexpected verdict.
    Lines,
    /// Each test of each submission.
    Tests,
    /// Each test with its CPU, and the messages of compilers.
    Verbose,
}

/// The stream for lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Writes lines above the progress bar.
#[derive(Debug, Clone)]
struct LineWriter {
    bar: ProgressBar,
    machine: Arc<Machine>,
    stream: Stream,
    text: Vec<u8>,
    /// A write has failed.
    is_closed: bool,
}

impl Write for LineWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let text = std::mem::take(&mut self.text);
        let written = self.bar.suspend(|| match self.stream {
            Stream::Stdout => self.write_to(std::io::stdout().lock(), &text),
            Stream::Stderr => self.write_to(std::io::stderr().lock(), &text),
        });
        if written.is_err() && !std::mem::replace(&mut self.is_closed, true) {
            // Without a reader, judging has no purpose.
            self.machine.stop();
        }
        written
    }
}

impl LineWriter {
    /// Writes all of the text. Waits for a reader that does not read, but only for a short time
    /// once the machine has been stopped.
    fn write_to(&self, out: impl AsFd, mut text: &[u8]) -> std::io::Result<()> {
        let tick = Timespec {
            tv_sec: 0,
            tv_nsec: 50_000_000,
        };
        let mut deadline = None;
        while !text.is_empty() {
            let mut ready = [PollFd::new(&out, PollFlags::OUT)];
            match poll(&mut ready, Some(&tick)) {
                Ok(0) => {
                    let stopped = self.machine.is_stopped();
                    if stopped
                        && Instant::now()
                            > *deadline.get_or_insert_with(|| Instant::now() + READER_TIMEOUT)
                    {
                        return Err(std::io::Error::new(
                            std::io::ErrorKind::TimedOut,
                            "the reader does not read",
                        ));
                    }
                }
                // A pipe that polls as writable takes PIPE_BUF bytes without blocking (pipe(7)).
                Ok(_) => match rustix::io::write(&out, &text[..text.len().min(4096)]) {
                    Ok(written) => text = &text[written..],
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    Err(errno) => return Err(errno.into()),
                },
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

/// Prints the progress of submissions.
pub struct Show<'p> {
    plan: &'p Plan,
    detail: Detail,
    style: Style,
    out: LineWriter,
    protocol: Option<Protocol<LineWriter>>,
    error: Option<std::io::Error>,
    width: usize,
    /// The names of submissions from outside the package, which should be accepted.
    foreign: &'p [String],
}

/// A progress bar if standard error is a terminal, and a hidden one otherwise.
pub fn bar() -> ProgressBar {
    let bar = ProgressBar::hidden();
    if std::io::stderr().is_terminal() {
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(
            "{spinner} {wide_msg} {pos:>5} of {len} tests {elapsed:>4}",
        );
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// Shows the progress of measurements, before any submission is printed.
pub fn measuring(bar: &ProgressBar, event: &Event<'_>) {
    match event {
        Event::Measuring { name } => bar.set_message(format!("measuring {}", line(name))),
        Event::Judged { tests, of } => {
            bar.set_length(*of as u64);
            bar.set_position(*tests as u64);
        }
        _ => {}
    }
}

impl<'p> Show<'p> {
    /// `names` are the names of the submissions.
    pub fn new<'n>(
        plan: &'p Plan,
        detail: Detail,
        stream: Stream,
        bar: ProgressBar,
        machine: Arc<Machine>,
        names: impl Iterator<Item = &'n str>,
    ) -> Show<'p> {
        let out = LineWriter {
            bar,
            machine,
            stream,
            text: Vec::new(),
            is_closed: false,
        };
        let width = names
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0)
            .min(48);
        let style = match stream {
            Stream::Stdout => Style::of(&std::io::stdout()),
            Stream::Stderr => Style::of(&std::io::stderr()),
        };
        Show {
            plan,
            detail,
            style,
            out,
            protocol: None,
            error: None,
            width,
            foreign: &[],
        }
    }

    /// Adds the names of submissions from outside the package. The exit status reports whether they
    /// were accepted.
    #[must_use]
    pub fn with_foreign(self, foreign: &'p [String]) -> Show<'p> {
        Show { foreign, ..self }
    }

    /// Prints an event.
    pub fn event(&mut self, event: Event<'_>) {
        if let Err(error) = self.print(event) {
            self.error.get_or_insert(error);
        }
    }

    /// Prints a line.
    pub fn line(&mut self, line: &str) {
        let written = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    /// Prints a warning on standard error.
    pub fn warning(&mut self, warning: &str) {
        self.out.bar.suspend(|| complain(warning));
    }

    /// Removes the bar, and returns an error if a line could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        self.out.bar.finish_and_clear();
        match (self.error, self.out.stream) {
            (None, _) => Ok(()),
            (Some(error), Stream::Stdout) => Err(unwritten(error)),
            (Some(error), Stream::Stderr) => Err(Failure::sandbox(format!(
                "cannot write to standard error: {error}"
            ))),
        }
    }

    fn print(&mut self, event: Event<'_>) -> std::io::Result<()> {
        let bar = &self.out.bar;
        match event {
            Event::Measuring { .. } | Event::Judged { .. } => measuring(bar, &event),
            Event::Begun { about } => {
                bar.set_message(line(&about.name));
                if matches!(self.detail, Detail::Tests | Detail::Verbose) {
                    let protocol = Protocol::new(self.out.clone(), self.style, self.plan);
                    let verbose = self.detail == Detail::Verbose;
                    let protocol = self.protocol.insert(if verbose {
                        protocol.with_cpus()
                    } else {
                        protocol
                    });
                    protocol.begin(about)?;
                }
            }
            Event::Settled { progress } => {
                if let Some(protocol) = &mut self.protocol {
                    protocol.advance(progress)?;
                }
            }
            Event::Ended { report } => match self.protocol.take() {
                Some(protocol) => {
                    protocol.end(report)?;
                    self.print_messages(report)?;
                }
                None => self.print_short(report)?,
            },
            _ => {}
        }
        Ok(())
    }

    /// Prints the messages of the compiler if it succeeded.
    fn print_messages(&mut self, report: &SubmissionReport) -> std::io::Result<()> {
        if self.detail == Detail::Verbose
            && report.verdict != Some(Verdict::CompileError)
            && let Some(compilation) = &report.compilation
        {
            for message in compilation.messages.lines() {
                writeln!(self.out, "  | {}", line(message))?;
            }
        }
        writeln!(self.out)?;
        self.out.flush()
    }

    /// Prints one line, or all tests if the verdict is unexpected.
    fn print_short(&mut self, report: &SubmissionReport) -> std::io::Result<()> {
        let name = line(&report.name);
        if report.is_skipped() {
            if self.detail != Detail::Quiet {
                writeln!(
                    self.out,
                    "{name:<width$}  skipped: {}",
                    line(&report.reason),
                    width = self.width
                )?;
            }
            return self.out.flush();
        }
        if report.verdict == Some(Verdict::JudgeError) && report.has_no_program() {
            writeln!(
                self.out,
                "{name:<width$}  judge error: {}",
                line(&report.reason),
                width = self.width
            )?;
            return self.out.flush();
        }
        let rejected =
            self.foreign.contains(&report.name) && report.verdict != Some(Verdict::Accepted);
        let judged = !matches!(report.verdict, None | Some(Verdict::JudgeError));
        let is_expected = report.as_expected != Some(false) && judged && !rejected;
        if !is_expected {
            let mut about = millibox_judge::report::SubmissionInfo::default();
            (about.name, about.suite) = (report.name.clone(), report.suite.clone());
            let mut protocol = Protocol::new(self.out.clone(), self.style, self.plan);
            protocol.begin(&about)?;
            protocol.end(report)?;
            writeln!(self.out)?;
            return self.out.flush();
        }
        if self.detail == Detail::Quiet {
            return Ok(());
        }
        let slowest = report
            .tests
            .iter()
            .filter_map(|test| test.cpu_time_ns())
            .max();
        let slowest =
            slowest.map_or_else(String::new, |time| format!("{:.3} s", time as f64 / 1e9));
        let remark = match (report.as_expected, report.score) {
            (Some(_), None) => "as expected".to_owned(),
            (Some(_), Some(score)) => format!("{}, as expected", points_in_words(score)),
            (None, Some(score)) => points_in_words(score),
            (None, None) => "no expectation".to_owned(),
        };
        writeln!(
            self.out,
            "{name:<width$}  {:<14}  {slowest:>9}  {remark}",
            report.words(),
            width = self.width
        )?;
        self.out.flush()
    }
}
