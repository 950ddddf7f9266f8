//! The experiment `interception`: the cost of observing system calls.

use super::Experiment;
use super::conversation::{pipe, read_end};
use crate::programs::calls::Calls;
use crate::programs::under::Observer;
use crate::programs::{PROGRAM_ARGUMENT, executable, sys};
use crate::table::PlotKind;
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant, bare, statistics};
use millibox::Request;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

pub const EXPERIMENT: Experiment = Experiment {
    name: "interception",
    title: "System calls and their observers",
    about: "Zinke 2009: open(2), write(2), close(2) and the three in sequence, valid and invalid, \
            each 51 times with a clock around it; a sample is the median of the 51. Variants: \
            plain; with a seccomp program whose result the kernel knows in advance (its bitmap, \
            Linux 5.11); with a seccomp program that reads an argument of each call; in millibox; \
            with seccomp user notification; with ptrace(2). Cycles are those of the time stamp \
            counter.",
    run,
};

/// The number of repetitions in one run of the program.
const REPETITIONS: usize = 51;

/// A row's name and its samples.
type Row = (&'static str, fn(&Calls) -> &Vec<u64>);

const ROWS: [Row; 9] = [
    ("open", |calls| &calls.open),
    ("open, no such file", |calls| &calls.open_invalid),
    ("write", |calls| &calls.write),
    ("write, no descriptor", |calls| &calls.write_invalid),
    ("close", |calls| &calls.close),
    ("close, no descriptor", |calls| &calls.close_invalid),
    ("open, write, close", |calls| &calls.sequence),
    ("open, write, close, none valid", |calls| {
        &calls.sequence_invalid
    }),
    ("nothing", |calls| &calls.nothing),
];

const VARIANTS: [(&str, Observer, &str); 6] = [
    ("plain", Observer::None, ""),
    (
        "seccomp, allow",
        Observer::SeccompAllow,
        "answered from the kernel's bitmap",
    ),
    (
        "seccomp, argument",
        Observer::SeccompArgument,
        "four instructions, run for each call",
    ),
    (
        "user notification",
        Observer::Notify,
        "a notification for each call, which then continues",
    ),
    (
        "user notification, sync",
        Observer::NotifySync,
        "the same, woken on the caller's CPU (Linux 6.6)",
    ),
    ("ptrace", Observer::Ptrace, "two stops for each call"),
];

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let program = executable().map_err(Error::system("find the lab's programs"))?;
    let supervisor = lab.supervisor(1)?;
    let file =
        File::open(&program).map_err(Error::system(format!("open {}", program.display())))?;
    let descriptor: Arc<OwnedFd> = Arc::new(file.into());
    let repetitions = REPETITIONS.to_string();
    let unit = if sys::TICKS == "cycles" {
        Unit::Cycles
    } else {
        Unit::Nanoseconds
    };
    let mut comparison = Comparison::new("calls", "One system call")
        .plotted_as(PlotKind::Ratios)
        .plan(Plan {
            rounds: lab.scale().pick(2, 30, 200),
            budget: lab.scale().pick(
                Duration::from_secs(5),
                Duration::from_secs(20),
                Duration::from_secs(600),
            ),
            ..Plan::default()
        });
    for (name, _) in ROWS {
        comparison = comparison.metric(Metric::new(name, unit));
    }
    let under = |observer: Observer| {
        let (program, repetitions) = (&program, &repetitions);
        move || {
            let mut command = Command::new(program);
            command
                .args([PROGRAM_ARGUMENT, "under", observer.name()])
                .arg(program)
                .args([PROGRAM_ARGUMENT, "calls", repetitions]);
            let output = command
                .stdin(Stdio::null())
                .output()
                .map_err(Error::system("run the lab's program"))?;
            if !output.status.success() {
                return Err(Error::other(
                    String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                ));
            }
            medians(&String::from_utf8_lossy(&output.stdout))
        }
    };
    for (name, observer, about) in VARIANTS {
        let variant = Variant::new(name, under(observer)).about(about);
        comparison = comparison.variant(if observer == Observer::None {
            variant
        } else {
            variant.optional()
        });
    }
    comparison = comparison.variant(
        Variant::new("millibox", || {
            let (printed, write) = pipe()?;
            let request = Request::from_descriptor(descriptor.clone());
            let request = lab.limit(
                request
                    .args(["millibox", PROGRAM_ARGUMENT, "calls", &repetitions])
                    .stdout(write),
            );
            // The output fits into the pipe.
            bare::sandboxed(&supervisor, &request)?;
            drop(request);
            medians(&read_end(Some(printed))?)
        })
        .about("the default profile; another file system's /dev/null"),
    );
    report.add_table(comparison.measure(lab)?);
    report.add_note("The row \"nothing\" is the cost of the clock, which all rows include.");
    report.add_note(
        "The missing file is looked up in the root directory, which is a tmpfs in the sandbox. A \
         tmpfs does not cache missing names, unlike other file systems. This, and no filter, \
         explains the difference of that row.",
    );
    Ok(())
}

fn medians(printed: &str) -> Result<Vec<f64>, Error> {
    let calls: Calls = serde_json::from_str(printed.trim())
        .map_err(|error| Error::other(format!("{error}: {}", printed.trim())))?;
    Ok(ROWS.iter().map(|(_, of)| median(of(&calls))).collect())
}

fn median(all: &[u64]) -> f64 {
    statistics::Centre::Median.of(&mut all.iter().map(|&ticks| ticks as f64).collect::<Vec<_>>())
}
