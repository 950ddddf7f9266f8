//! What is told while submissions are judged: lines on standard output (or, where a report goes
//! there, on standard error), a bar below them on a terminal.

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

/// How long a reader that does not read is waited for when all is to end.
const PATIENCE: Duration = Duration::from_millis(500);

/// Of how much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Only of what did not come out as it should.
    Quiet,
    /// A line for each submission, and all of those that did not come out as they should.
    Lines,
    /// Each test of each submission, as it comes.
    Tests,
    /// And on which CPU it ran, and what compilers say.
    Verbose,
}

/// Where lines are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Stdout,
    Stderr,
}

/// Writes above the bar.
#[derive(Debug, Clone)]
struct Above {
    bar: ProgressBar,
    machine: Arc<Machine>,
    on: On,
    text: Vec<u8>,
    /// Nobody reads any more.
    closed: bool,
}

impl Write for Above {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let text = std::mem::take(&mut self.text);
        let written = self.bar.suspend(|| match self.on {
            On::Stdout => self.write_to(std::io::stdout().lock(), &text),
            On::Stderr => self.write_to(std::io::stderr().lock(), &text),
        });
        if written.is_err() && !std::mem::replace(&mut self.closed, true) {
            // For whom would we go on?
            self.machine.stop();
        }
        written
    }
}

impl Above {
    /// Writes it all. A reader that does not read is waited for, but not for long once all is to
    /// end.
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
                            > *deadline.get_or_insert_with(|| Instant::now() + PATIENCE)
                    {
                        return Err(std::io::Error::new(
                            std::io::ErrorKind::TimedOut,
                            "nobody reads it",
                        ));
                    }
                }
                // A pipe that can be written takes so much without waiting (pipe(7), PIPE_BUF).
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

/// Tells of submissions.
pub struct Show<'p> {
    plan: &'p Plan,
    detail: Detail,
    style: Style,
    out: Above,
    protocol: Option<Protocol<Above>>,
    error: Option<std::io::Error>,
    width: usize,
    /// Names of submissions from outside of the package: these should be accepted.
    foreign: &'p [String],
}

/// A bar on a terminal; nothing elsewhere.
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

/// What happens before there is anything to show.
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
    /// `names` are the submissions'.
    pub fn new<'n>(
        plan: &'p Plan,
        detail: Detail,
        on: On,
        bar: ProgressBar,
        machine: Arc<Machine>,
        names: impl Iterator<Item = &'n str>,
    ) -> Show<'p> {
        let out = Above {
            bar,
            machine,
            on,
            text: Vec::new(),
            closed: false,
        };
        let width = names
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0)
            .min(48);
        let style = match on {
            On::Stdout => Style::of(&std::io::stdout()),
            On::Stderr => Style::of(&std::io::stderr()),
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

    /// Submissions from outside of the package, by name: of these the exit status says whether they
    /// were accepted.
    #[must_use]
    pub fn with_foreign(self, foreign: &'p [String]) -> Show<'p> {
        Show { foreign, ..self }
    }

    /// Something happened.
    pub fn event(&mut self, event: Event<'_>) {
        let told = self.tell(event);
        if let Err(error) = told {
            self.error.get_or_insert(error);
        }
    }

    /// A line of our own.
    pub fn line(&mut self, line: &str) {
        let told = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
        if let Err(error) = told {
            self.error.get_or_insert(error);
        }
    }

    /// Of the package; on standard error.
    pub fn warning(&mut self, warning: &str) {
        self.out.bar.suspend(|| complain(warning));
    }

    /// What could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        self.out.bar.finish_and_clear();
        match (self.error, self.out.on) {
            (None, _) => Ok(()),
            (Some(error), On::Stdout) => Err(unwritten(error)),
            (Some(error), On::Stderr) => Err(Failure::sandbox(format!(
                "cannot write to standard error: {error}"
            ))),
        }
    }

    fn tell(&mut self, event: Event<'_>) -> std::io::Result<()> {
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
                    self.messages(report)?;
                }
                None => self.short(report)?,
            },
            _ => {}
        }
        Ok(())
    }

    /// What a compiler said of a program that it made.
    fn messages(&mut self, report: &SubmissionReport) -> std::io::Result<()> {
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

    /// One line, or, where something is not as it should be, everything.
    fn short(&mut self, report: &SubmissionReport) -> std::io::Result<()> {
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
        let fine = report.as_expected != Some(false) && judged && !rejected;
        if !fine {
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
        let said = match (report.as_expected, report.score) {
            (Some(_), None) => "as expected".to_owned(),
            (Some(_), Some(score)) => format!("{}, as expected", points_in_words(score)),
            (None, Some(score)) => points_in_words(score),
            (None, None) => "nothing was expected".to_owned(),
        };
        writeln!(
            self.out,
            "{name:<width$}  {:<14}  {slowest:>9}  {said}",
            report.words(),
            width = self.width
        )?;
        self.out.flush()
    }
}
