//! The experiment `bindings`: what the bindings of Python and C add to the Rust library.
//!
//! A driver in each language measures its own runs ([`driver`]). All variants of a table alternate
//! in one call, and do the same work: they run /bin/true in the standard world with the same
//! limits, and capture its output unless the variant's name states otherwise.

mod driver;

use super::{Experiment, process_cpu_ns};
use crate::statistics::{self, Centre};
use crate::table::{Samples, Table};
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant, bare, interrupt};
use driver::{Driver, PYTHON, Times};
use millibox::{Capture, Handle, Request, Streams, Supervisor, World};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "bindings",
    title: "Python and C",
    about: "What the bindings of Python and C add to the Rust library: runs of /bin/true with \
            captured output one after another, and with 64 runs in flight in Python's asyncio. A \
            Python script that imports numpy runs as a copy of a prepared interpreter, and in a \
            new interpreter without a sandbox. Targets: C adds at most 5 us to a run and Python at \
            most 60 us, asyncio reaches 80 % of the library's rate, and the script with numpy is \
            at least 15 times as fast as without a sandbox.",
    run,
};

const REAL_TIME: &str = "real time";
const WALL_TIME: &str = "wall time for each run";
/// It does not depend on other work of the machine, unlike the real time.
const CLIENT_TIME: &str = "CPU time of the caller for each run";
const RUST: &str = "Rust";
const RUST_DISCARD: &str = "Rust, no output";
const C: &str = "C";
const C_DISCARD: &str = "C, no output";
const PYTHON_RUN: &str = "Python, run";
const PYTHON_ARUN: &str = "Python, arun";
const SUBPROCESS: &str = "subprocess.run";
const RUN_PYTHON: &str = "run_python";

/// The most that C may add to a run.
const C_BOUND_NS: f64 = 5e3;
/// The most that Python may add to a run.
const PYTHON_BOUND_NS: f64 = 60e3;
/// The number of runs that are in flight at the same time.
const IN_FLIGHT: usize = 64;
/// A rate of 80 % means 1/0.8 of the time for each run.
const RATE_BOUND: f64 = 1.0 / 0.8;
/// A fifteenth of the time without a sandbox.
const NUMPY_BOUND: f64 = 1.0 / 15.0;
/// The uncounted runs of each turn, which find the caches of the previous variant.
const SETTLE_RUNS: usize = 2;
/// The default of both bindings.
const MAX_OUTPUT_BYTES: u64 = 16 << 20;

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    one_after_another(lab, report)?;
    in_flight(lab, report)?;
    numpy(lab, report)
}

/// /bin/true as both bindings run it.
fn request(lab: &Lab) -> Request {
    let request = Request::new("/bin/true")
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .env("HOME", "/tmp")
        .world(&World::standard());
    lab.limit(request)
}

fn plan(lab: &Lab, block: usize, short: u64, full: u64) -> Plan {
    Plan {
        rounds: lab.scale().pick(2, 500, 5000),
        block,
        settle_runs: SETTLE_RUNS,
        // The number of runs in one turn, so that the drivers' turns stay in step.
        warm_up_runs: block + SETTLE_RUNS,
        budget: Duration::from_secs(lab.scale().pick(10, short, full)),
        min_rounds: 2,
    }
}

/// Measures runs of /bin/true in one slot.
fn one_after_another(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let supervisor = lab.supervisor(1)?;
    let request = request(lab);
    let plan = plan(lab, lab.scale().pick(2, 20, 20), 40, 300);
    let turns = plan.block + plan.settle_runs;
    let captured = || {
        interrupt::check()?;
        let output = supervisor.output(&request, MAX_OUTPUT_BYTES)?;
        success(&output.result, output.is_success())
    };
    // The variants borrow the drivers.
    let c = Driver::c(lab).map(RefCell::new);
    let python = Driver::python(lab, 1).map(RefCell::new);
    let mut comparison = Comparison::new("one", "/bin/true, one after another")
        .metric(Metric::new(REAL_TIME, Unit::Nanoseconds))
        .metric(Metric::new(CLIENT_TIME, Unit::Nanoseconds))
        .plan(plan)
        .variant(
            Variant::new(RUST, || timed(1, captured)).about("the library, with captured output"),
        );
    match &c {
        Ok(c) => {
            let run = timed_by(c, Times::new("run", turns));
            comparison = comparison.variant(Variant::new(C, run).about("millibox_sandbox_run"));
        }
        Err(why) => comparison = comparison.missing(C, why.to_string()),
    }
    match &python {
        Ok(python) => {
            let run = timed_by(python, Times::new("run", turns));
            comparison = comparison.variant(Variant::new(PYTHON_RUN, run).about("Sandbox.run"));
        }
        Err(why) => comparison = comparison.missing(PYTHON_RUN, why.to_string()),
    }
    let discarded = || bare::sandboxed(&supervisor, &request).map(drop);
    comparison = comparison.variant(
        Variant::new(RUST_DISCARD, || timed(1, discarded))
            .about("the library, with discarded output"),
    );
    if let Ok(c) = &c {
        let run = timed_by(c, Times::new("discard", turns));
        comparison = comparison.variant(Variant::new(C_DISCARD, run).against(RUST_DISCARD));
    }
    let (samples, missing) = comparison.samples(lab)?;
    let mut table = Table::new(
        "one",
        "/bin/true, one after another",
        [REAL_TIME, CLIENT_TIME]
            .map(|name| Metric::new(name, Unit::Nanoseconds))
            .into(),
        &samples,
        plan.block,
        lab.seed(),
    );
    table.missing = missing;
    for (what, variant, base, at_most) in [
        ("C, added to a run", C, RUST, C_BOUND_NS),
        (
            "C without output, added to a run",
            C_DISCARD,
            RUST_DISCARD,
            C_BOUND_NS,
        ),
        ("Python, added to a run", PYTHON_RUN, RUST, PYTHON_BOUND_NS),
    ] {
        if let Some(found) = difference(&samples, [variant, base], plan.block, lab.seed()) {
            report.add_difference_claim(what, found, at_most, Unit::Nanoseconds);
        }
    }
    report.add_table(table);
    Ok(())
}

/// How much larger the first variant's median is than that of the second, if both were measured.
fn difference(
    samples: &[Samples],
    variants: [&str; 2],
    block: usize,
    seed: u64,
) -> Option<statistics::Interval> {
    let of = |name: &str| {
        let variant = samples.iter().find(|variant| variant.name == name)?;
        variant.values.first()
    };
    let [variant, base] = variants.map(of);
    statistics::difference(variant?, base?, block, Centre::Median, seed)
}

/// A variant's function that returns times of a driver.
fn timed_by<'a>(
    driver: &'a RefCell<Driver>,
    mut times: Times,
) -> impl FnMut() -> Result<Vec<f64>, Error> + 'a {
    move || times.next(&mut driver.borrow_mut())
}

fn success(result: &millibox::RunResult, is_success: bool) -> Result<(), Error> {
    if is_success {
        Ok(())
    } else {
        Err(Error::other(format!("/bin/true in the sandbox: {result}")))
    }
}

/// Measures runs of /bin/true with [`IN_FLIGHT`] runs at a time.
fn in_flight(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let cpus = lab.cpus();
    let runs = lab.scale().pick(IN_FLIGHT, 640, 2560);
    let supervisor = lab.supervisor(cpus)?;
    let request = request(lab);
    let captured = || {
        let start = || start_captured(&supervisor, &request);
        timed(runs, || each_in_flight(runs, start, finish))
    };
    let discarded = || {
        let start = || Ok(supervisor.run(&request)?);
        let finish = |run: Handle| success_of(&run);
        timed(runs, || each_in_flight(runs, start, finish))
    };
    let python = Driver::python(lab, cpus).map(RefCell::new);
    let title = format!("/bin/true, {IN_FLIGHT} runs in flight, {cpus} slots");
    let mut comparison = Comparison::new("in-flight", title)
        .metric(Metric::new(WALL_TIME, Unit::Nanoseconds))
        .metric(Metric::new(CLIENT_TIME, Unit::Nanoseconds))
        .variant(Variant::new(RUST, captured).about("one thread, with captured output"))
        .plan(Plan {
            settle_runs: 0,
            warm_up_runs: 1,
            ..plan(lab, 1, 60, 600)
        });
    match &python {
        Ok(python) => {
            let command = format!("arun {runs} {IN_FLIGHT}");
            let arun = move || {
                let times = python.borrow_mut().ask(&command, 1)?;
                Ok(times.concat())
            };
            let variant = Variant::new(PYTHON_ARUN, arun);
            comparison = comparison.variant(variant.about("one event loop of asyncio"));
        }
        Err(why) => comparison = comparison.missing(PYTHON_ARUN, why.to_string()),
    }
    comparison = comparison
        .variant(Variant::new(RUST_DISCARD, discarded).about("one thread, with discarded output"));
    let table = comparison.measure(lab)?;
    let what = format!("asyncio, {IN_FLIGHT} in flight, time for each run");
    report.add_claim(what, &table, PYTHON_ARUN, WALL_TIME, RATE_BOUND);
    report.add_table(table);
    Ok(())
}

/// A run in flight and its output.
type Captured = (Handle, Capture);

fn start_captured(supervisor: &Supervisor, request: &Request) -> Result<Captured, Error> {
    Ok(supervisor.capture(request, Streams::Both, MAX_OUTPUT_BYTES)?)
}

fn finish((run, mut capture): Captured) -> Result<(), Error> {
    while !capture.read(&run, None)? {}
    success_of(&run)
}

fn success_of(run: &Handle) -> Result<(), Error> {
    let result = run.wait()?;
    success(&result, result.outcome == millibox::Outcome::Exited(0))
}

/// Does the work of this number of runs. Returns the real time and this process's CPU time for each
/// run, in nanoseconds.
fn timed(runs: usize, work: impl FnOnce() -> Result<(), Error>) -> Result<Vec<f64>, Error> {
    let (cpu, begin) = (process_cpu_ns(), Instant::now());
    work()?;
    let (real, cpu) = (begin.elapsed(), process_cpu_ns().saturating_sub(cpu));
    let each = |spent: f64| spent / runs as f64;
    Ok(vec![each(real.as_nanos() as f64), each(cpu as f64)])
}

/// Starts this number of runs, with at most [`IN_FLIGHT`] at a time, and waits for their ends in
/// the order of their starts.
fn each_in_flight<T>(
    runs: usize,
    start: impl Fn() -> Result<T, Error>,
    finish: impl Fn(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut started = VecDeque::new();
    for _ in 0..runs {
        if started.len() == IN_FLIGHT
            && let Some(first) = started.pop_front()
        {
            finish(first)?;
        }
        started.push_back(start()?);
    }
    started.into_iter().try_for_each(finish)
}

/// Measures a script with numpy, if Python can import numpy.
fn numpy(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    if !Path::new(PYTHON).exists() {
        report.add_note(format!(
            "{PYTHON} does not exist, so numpy was not measured."
        ));
        return Ok(());
    }
    let version = super::version(Path::new(PYTHON), &["-V"]);
    report.versions.push(("python3".to_owned(), version));
    let mut import = Command::new(PYTHON);
    import
        .args(["-c", "import numpy"])
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    if let Err(why) = bare::success(&mut import) {
        report.add_note(format!("numpy is missing: {why}."));
        return Ok(());
    }
    let python = match Driver::python(lab, 1) {
        Ok(python) => RefCell::new(python),
        Err(why) => {
            report.add_note(format!("run_python was not measured: {why}."));
            return Ok(());
        }
    };
    let plan = plan(lab, lab.scale().pick(2, 5, 10), 30, 300);
    let turns = plan.block + plan.settle_runs;
    let table = Comparison::new("numpy", "a Python script that imports numpy")
        .metric(Metric::new(REAL_TIME, Unit::Nanoseconds))
        .metric(Metric::new(CLIENT_TIME, Unit::Nanoseconds))
        .plan(plan)
        .variant(
            Variant::new(
                SUBPROCESS,
                timed_by(&python, Times::new("subprocess", turns)),
            )
            .about("a new interpreter without a sandbox"),
        )
        .variant(
            Variant::new(
                RUN_PYTHON,
                timed_by(&python, Times::new("run_python", turns)),
            )
            .about("a copy of a prepared interpreter"),
        )
        .measure(lab)?;
    report.add_claim(
        "numpy, run_python",
        &table,
        RUN_PYTHON,
        REAL_TIME,
        NUMPY_BOUND,
    );
    report.add_table(table);
    Ok(())
}
