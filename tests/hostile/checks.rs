//! Checks the result of a run, and the host after it.

use crate::case::{CaseError, Held};
use crate::header::{Ending, Expect};
use crate::run::harmless;
use crate::scene::{Scene, UNTOUCHED};
use millibox::{Backend, RunResult, Supervisor};
use millibox_judge::feedback::Feedback;
use millibox_tests::{Process, eventually, process_name, processes, processes_with_argument, wait};
use std::fs;
use std::time::Duration;

/// The longest time after the real-time limit for which a program may report that it is alive
/// (`alive_ns=`). It is long because the machine may be busy.
const MAX_LATENESS: Duration = Duration::from_secs(6);

impl Scene<'_> {
    /// Compares the ending with the expected endings.
    pub fn compare(&self, ending: Ending, output: &str) -> Result<Held, CaseError> {
        let output = output.trim();
        if let Some(control) = self.case.without {
            return match ending {
                Ending::Escaped => Ok(Held {
                    ending,
                    exception: false,
                    known_failure: None,
                }),
                _ => Err(format!(
                    "without {control}, the program must succeed, but: {ending}: {output}"
                )
                .into()),
            };
        }
        let except = self.case.except();
        let expect: &Expect =
            except.map_or(&self.case.program.header.expect, |except| &except.expect);
        if !expect.0.contains(&ending) {
            let expected: Vec<String> = expect.0.iter().map(Ending::to_string).collect();
            return Err(format!("{ending}, not {}: {output}", expected.join(" or ")).into());
        }
        // A matching exception was used if the ending differs from the usual endings. If the
        // exception expects the same endings, it concerns the figures.
        let usual = &self.case.program.header.expect;
        let differs = !usual.0.contains(&ending) || usual == expect;
        let exception = differs && except.is_some_and(|except| except.exception.is_some());
        let known_failure = except.and_then(|except| except.known_failure.clone());
        Ok(Held {
            ending,
            exception,
            known_failure,
        })
    }

    /// Checks conditions that the figures of every program must meet.
    pub fn check_figures(&self, result: &RunResult, output: &str) -> Result<(), CaseError> {
        let figures = &result.figures;
        let limits = self.case.program.header.limits;
        let cpu_ns = figures.cpu_user_ns + figures.cpu_system_ns;
        let ns = |time: Duration| time.as_nanos() as u64;
        let reported_ns = |key: &str| {
            let line = output
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            line.and_then(|number| number.trim().parse::<u64>().ok())
                .unwrap_or(0)
        };
        let alive_ns = output
            .lines()
            .filter_map(|line| line.strip_prefix("alive_ns=")?.parse::<u64>().ok())
            .max();
        let cgroup = self.case.backend.backend() != Backend::Rlimit;
        let ending = Ending::of(&result.outcome);
        let exception = self.case.has_exception();
        // A documented exception allows a run to exceed the limit by a quarter.
        let max_memory = limits.memory.0 + if exception { limits.memory.0 / 4 } else { 0 };
        let ends_with = |wanted: Ending| ending.as_ref() == Some(&wanted);
        let wrong = [
            (
                ends_with(Ending::RealTimeLimit) && figures.real_time_ns < ns(limits.real.0),
                "less real time than the limit",
            ),
            (
                ends_with(Ending::CpuTimeLimit) && cpu_ns < ns(limits.cpu.0),
                "less CPU time than the limit",
            ),
            (
                cgroup && figures.peak_memory_bytes > max_memory,
                "more memory than the limit",
            ),
            (
                cgroup
                    && ends_with(Ending::MemoryLimit)
                    && !self.case.program.header.uncharged
                    && figures.peak_memory_bytes < limits.memory.0 / 10 * 8,
                "a memory limit with figures far below it",
            ),
            (
                figures
                    .peak_processes
                    .is_some_and(|peak| peak > limits.processes),
                "more processes than the limit",
            ),
            (
                !exception && cpu_ns < reported_ns("cpu_ns"),
                "less CPU time than the program reports",
            ),
            (
                figures.real_time_ns < reported_ns("real_ns"),
                "less real time than the program reports",
            ),
            (
                alive_ns.unwrap_or(0) > ns(limits.real.0 + MAX_LATENESS),
                "a process that lives long after the limit",
            ),
            (
                result.backend != self.case.backend.backend(),
                "another backend",
            ),
        ];
        match wrong.iter().find(|(wrong, _)| *wrong) {
            Some((_, what)) => Err(format!("figures: {what}: {figures:?}: {output}").into()),
            None => Ok(()),
        }
    }

    /// Checks that no process survives, the host is unchanged, and the next runs work.
    pub fn check_aftermath(&self, supervisor: &Supervisor) -> Result<(), CaseError> {
        let survivors = || {
            let mut all = processes_with_argument(&self.token);
            if self.case.copy {
                // The launcher sets this name.
                let name = &self.token[self.token.len().saturating_sub(15)..];
                let is_its = |process: &Process| process_name(process.pid) == name;
                all.extend(processes().into_iter().filter(is_its));
            }
            all
        };
        if !eventually(Duration::from_secs(5), || survivors().is_empty()) {
            return Err(format!("processes survive: {:?}", survivors()).into());
        }
        let mut harmed = self.machine.harmed();
        for name in ["shared/note", "outside/note"] {
            // Documented exceptions concern this file.
            let excepted = self.case.has_exception() && name == "shared/note";
            if !excepted && fs::read_to_string(self.path(name)).ok().as_deref() != Some(UNTOUCHED) {
                harmed.push(format!("{name} was changed"));
            }
        }
        let outside = fs::read_dir(self.path("outside")).map_or(0, Iterator::count);
        if outside != 1 {
            harmed.push("a file was created in outside".to_owned());
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        if mounts.contains(&*self.directory.path().to_string_lossy()) {
            harmed.push("a mount remains".to_owned());
        }
        if let Some((_, feedback)) = &self.feedback {
            harmed.extend(read_feedback(feedback));
        }
        if !harmed.is_empty() {
            return Err(harmed.join("; ").into());
        }
        // The slot must also serve another world.
        for request in vec![harmless(); 2] {
            let handle = supervisor
                .run(&request)
                .map_err(|error| format!("the next run does not start: {error}"))?;
            let result = wait(&handle);
            if Ending::of(&result.outcome) != Some(Ending::Contained) {
                return Err(format!("the next run failed: {result}").into());
            }
        }
        Ok(())
    }
}

/// Reads the files that a checker may write, as the judge does. Only regular files of the run may
/// be readable.
fn read_feedback(feedback: &Feedback) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in ["judgemessage.txt", "teammessage.txt", "score.txt"] {
        match feedback.read(name, 1 << 16) {
            Ok(Some(bytes)) if !bytes.starts_with(b"own") => {
                wrong.push(format!("{name} has content of the host"));
            }
            _ => {}
        }
    }
    wrong
}
