//! Runs requests and checks their results.

use crate::{HANG_TIMEOUT, pipe, read_all, request};
use millibox::{Handle, Outcome, Request, RunError, RunResult, Start, Supervisor};
use std::collections::BTreeMap;

/// The result and standard output of a run.
#[derive(Debug)]
pub struct Output {
    /// The result.
    pub result: RunResult,
    /// Standard output.
    pub stdout: Vec<u8>,
}

impl Output {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The value of the output line `key=value`. Panics if the line is missing.
    pub fn value(&self, key: &str) -> String {
        let text = self.text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {key}= in {text:?} ({})", self.result))
            .to_owned()
    }

    /// The value of the output line `key=value` as a number.
    pub fn number(&self, key: &str) -> i64 {
        let value = self.value(key);
        value
            .parse()
            .unwrap_or_else(|_| panic!("{key}={value} is not a number"))
    }

    /// All output lines `key=value`.
    pub fn values(&self) -> BTreeMap<String, String> {
        let split = |line: &str| {
            line.split_once('=')
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
        };
        self.text().lines().filter_map(split).collect()
    }
}

/// Runs a request to its end and reads its standard output.
pub fn run(supervisor: &Supervisor, request: &Request) -> Output {
    let (read, write) = pipe();
    let request = request.clone().stdout(write);
    let handle = supervisor
        .run(&request)
        .unwrap_or_else(|error| panic!("{error}"));
    drop(request);
    let reader = std::thread::spawn(move || read_all(read));
    let result = wait(&handle);
    Output {
        result,
        stdout: reader.join().expect("the reader"),
    }
}

/// Runs the probe, which must exit with status 0.
pub fn run_probe(supervisor: &Supervisor, arguments: &[&str]) -> Output {
    let output = run(supervisor, &request(arguments));
    assert_eq!(
        output.result.outcome,
        millibox::Outcome::Exited(0),
        "{arguments:?}: {}: {}",
        output.result,
        output.text()
    );
    output
}

/// Runs a request to its end, without redirecting its output.
pub fn result(supervisor: &Supervisor, request: &Request) -> RunResult {
    wait(
        &supervisor
            .run(request)
            .unwrap_or_else(|error| panic!("{error}")),
    )
}

/// The error of a run that was not started.
pub fn not_started(result: &RunResult) -> &RunError {
    let Outcome::NotStarted(error) = &result.outcome else {
        panic!("{result}")
    };
    error
}

/// The error of a run in which the sandbox failed.
pub fn sandbox_error(result: &RunResult) -> &RunError {
    let Outcome::SandboxError(error) = &result.outcome else {
        panic!("{result}")
    };
    error
}

/// Waits for a result, with a timeout.
pub fn wait(handle: &Handle) -> RunResult {
    match handle.wait_timeout(HANG_TIMEOUT) {
        Ok(Some(result)) => {
            assert_consistent(&result);
            result
        }
        Ok(None) => panic!("no result after {HANG_TIMEOUT:?}"),
        Err(error) => panic!("{error}"),
    }
}

/// Asserts the properties of every result.
fn assert_consistent(result: &RunResult) {
    let figures = &result.figures;
    match &result.outcome {
        Outcome::Exited(code) => {
            assert_eq!(
                (result.exit_code, result.signal),
                (Some(*code), None),
                "{result:?}"
            );
            assert!(
                result.ended_ns.is_some() && figures.real_time_ns > 0,
                "{result:?}"
            );
        }
        Outcome::Signaled(signal) => {
            assert_eq!(
                (result.exit_code, result.signal),
                (None, Some(*signal)),
                "{result:?}"
            );
            assert!(
                result.ended_ns.is_some() && figures.real_time_ns > 0,
                "{result:?}"
            );
        }
        Outcome::Killed => assert_eq!(
            (result.exit_code, result.signal),
            (None, Some(libc::SIGKILL)),
            "{result:?}"
        ),
        Outcome::NotStarted(error) => {
            assert!(!error.step.is_sandbox_failure(), "{result:?}");
            assert_eq!(
                (result.exit_code, result.signal),
                (None, None),
                "{result:?}"
            );
            assert_eq!(figures, &millibox::Figures::default(), "{result:?}");
        }
        Outcome::SandboxError(_) => {}
        _ => assert!(
            figures.real_time_ns > 0 || result.exit_code.is_none(),
            "{result:?}"
        ),
    }
    // The bound is the time of all CPUs, plus a margin. Processes that outlive the first process
    // use CPU time until pid1 ends them, and they may delay pid1.
    let cpus = std::thread::available_parallelism()
        .map_or(1, |cpus| cpus.get() as u64)
        .max(2);
    // The CPU time of a copy includes that of its template.
    let template_ns = match result.start {
        Start::Prepared { cpu_ns, .. } => cpu_ns,
        _ => 0,
    };
    let cpu_ns = (figures.cpu_user_ns + figures.cpu_system_ns).saturating_sub(template_ns);
    assert!(
        cpu_ns <= figures.real_time_ns * cpus + 1_000_000_000,
        "more CPU time than the CPUs can provide: {result:?}"
    );
}
