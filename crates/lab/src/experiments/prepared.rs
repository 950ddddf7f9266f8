//! The experiment `prepared`: programs that are started once and copied for each run, and programs
//! that are linked statically.

use super::Experiment;
use crate::table::{PlotKind, Samples, Table};
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant, bare};
use millibox::{Prepare, Request, Start, Supervisor, World};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const EXPERIMENT: Experiment = Experiment {
    name: "prepared",
    title: "Prepared programs",
    about: "What a run costs if the program is a copy of a prepared one, or is linked statically, \
            compared with posix_spawn and wait for the program without a sandbox: in sequence and \
            on all CPUs, over the size of the template, and after how many runs a template makes \
            up for its start. Targets: C++ at most 0.6 in sequence and 0.75 on all CPUs, Python \
            0.25, with numpy 0.06, with pandas 0.04.",
    run,
};

const PYTHON: &str = "/usr/bin/python3";
/// The directory of additional modules in the world. A world with a mount below /tmp cannot have a
/// template.
const PACKAGES: &str = "/packages";
/// The directory of a module in a world. Its name differs from the module's name, because a copy
/// executes the interpreter again if the working directory, here the root, hides an imported
/// module.
const MODULES: &str = "/modules";
const REAL_TIME: &str = "real time";
const WALL_TIME: &str = "wall time for each run";
const MIB: u64 = 1 << 20;

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let mut subjects = vec![cpp(lab)?];
    if Path::new(PYTHON).exists() {
        report
            .versions
            .push(("python3".into(), super::version(Path::new(PYTHON), &["-V"])));
        for (id, modules, most) in [
            ("pass", &[][..], 0.25),
            ("numpy", &["numpy"], 0.06),
            ("pandas", &["numpy", "pandas"], 0.04),
        ] {
            match python(lab, id, modules, most) {
                Ok(subject) => subjects.push(subject),
                Err(why) => report.add_note(format!("{id} is missing: {why}.")),
            }
        }
    } else {
        report.add_note(format!(
            "{PYTHON} does not exist, so only C++ was measured."
        ));
    }
    for subject in &subjects {
        one_after_another(lab, subject, report)?;
        on_all_cpus(lab, subject, report)?;
    }
    if subjects.len() > 1 {
        template_size(lab, report)?;
        for subject in &subjects[1..] {
            break_even(lab, subject, report)?;
        }
        memory(lab, &subjects[1..], report)?;
    }
    Ok(())
}

/// A program, and the ways to run it.
struct Subject {
    id: &'static str,
    title: String,
    /// The executable and its arguments without a sandbox.
    bare: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    /// The ways to run the program in the sandbox. The target applies to the last one.
    inside: Vec<Inside>,
    at_most: f64,
    at_most_on_all_cpus: f64,
}

#[derive(Clone)]
struct Inside {
    name: &'static str,
    about: &'static str,
    request: Request,
    is_copy: bool,
}

impl Subject {
    fn run_bare(&self) -> Result<(), Error> {
        let mut command = Command::new(&self.bare[0]);
        command.args(&self.bare[1..]).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        bare::success(command.stdin(Stdio::null()).stdout(Stdio::null()))
    }
}

impl Inside {
    fn run(&self, supervisor: &Supervisor) -> Result<(), Error> {
        let result = bare::sandboxed(supervisor, &self.request)?;
        match result.start {
            Start::Prepared { .. } if self.is_copy => Ok(()),
            Start::Cold(_) if !self.is_copy => Ok(()),
            start => Err(Error::other(format!("{}: {start}", self.name))),
        }
    }
}

fn cpp(lab: &Lab) -> Result<Subject, Error> {
    let source = include_str!("../../programs/number.cpp");
    let dynamic = lab.compile("number", source, &["-O2"])?;
    let fixed = lab.compile("number-static", source, &["-O2", "-static"])?;
    let inside = |name, about, executable: &Path| {
        let world = World::minimal().read_only(executable, "/number");
        let request = lab.limit(Request::new("/number").world(&world));
        Inside {
            name,
            about,
            request,
            is_copy: false,
        }
    };
    Ok(Subject {
        id: "cpp",
        title: "a C++ program that reads and prints a number".to_owned(),
        inside: vec![
            inside("millibox, dynamic", "linked dynamically", &dynamic),
            inside("millibox, static", "linked statically", &fixed),
        ],
        bare: vec![dynamic.into()],
        environment: Vec::new(),
        at_most: 0.6,
        at_most_on_all_cpus: 0.75,
    })
}

/// The directory of additional Python modules, if the caller names a directory.
fn python_path() -> Option<OsString> {
    std::env::var_os("PYTHONPATH").filter(|path| !path.is_empty())
}

fn python(lab: &Lab, id: &'static str, modules: &[&str], at_most: f64) -> Result<Subject, Error> {
    let code = match modules {
        [] => "pass".to_owned(),
        modules => format!("import {}", modules.join(", ")),
    };
    let (mut world, mut prepare) = (World::minimal(), Prepare::python(PYTHON, modules));
    let mut request = Request::new(PYTHON).args(["-c", &code]);
    let mut environment = Vec::new();
    if let Some(path) = python_path() {
        world = world.read_only(&path, PACKAGES);
        prepare = prepare.env("PYTHONPATH", PACKAGES);
        request = request.env("PYTHONPATH", PACKAGES);
        environment.push(("PYTHONPATH".into(), path));
    }
    let request = lab.limit_to(request, 1 << 30, 64, Duration::from_secs(20));
    let subject = Subject {
        id,
        title: format!("python3 -c '{code}'"),
        inside: vec![
            Inside {
                name: "millibox, executed",
                about: "as without a template",
                request: request.clone().world(&world),
                is_copy: false,
            },
            Inside {
                name: "millibox, copied",
                about: "a copy of a prepared interpreter",
                request: request.prepared(&world.prepare(&prepare)?),
                is_copy: true,
            },
        ],
        bare: vec![PYTHON.into(), "-c".into(), code.into()],
        environment,
        at_most,
        at_most_on_all_cpus: at_most,
    };
    subject.run_bare()?;
    Ok(subject)
}

fn plan(lab: &Lab, short: u64, full: u64) -> Plan {
    Plan {
        rounds: lab.scale().pick(2, 200, 2000),
        block: lab.scale().pick(2, 10, 10),
        settle_runs: 1,
        // The first runs start the templates of both runners.
        warm_up_runs: 4,
        budget: Duration::from_secs(lab.scale().pick(10, short, full)),
        min_rounds: 2,
    }
}

fn one_after_another(lab: &Lab, subject: &Subject, report: &mut Report) -> Result<(), Error> {
    let supervisor = lab.supervisor(1)?;
    let title = format!("One after another: {}", subject.title);
    let mut comparison = Comparison::new(subject.id, title)
        .metric(Metric::new(REAL_TIME, Unit::Nanoseconds))
        .variant(Variant::timed("bare", || subject.run_bare()).about("posix_spawn and wait"))
        .plan(plan(lab, 10, 120));
    for inside in &subject.inside {
        let run = || inside.run(&supervisor);
        comparison = comparison.variant(Variant::timed(inside.name, run).about(inside.about));
    }
    let table = comparison.measure(lab)?;
    if let Some(last) = subject.inside.last() {
        let what = format!("{}, one after another", subject.id);
        report.add_claim(what, &table, last.name, REAL_TIME, subject.at_most);
    }
    report.add_table(table);
    Ok(())
}

/// Repeats `run` in one thread for each CPU. Returns the wall time per run.
fn on_each_cpu(
    cpus: usize,
    runs: usize,
    run: impl Fn() -> Result<(), Error> + Sync,
) -> Result<Vec<f64>, Error> {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let run_all = || (0..runs).try_for_each(|_| run());
        let threads: Vec<_> = (0..cpus).map(|_| scope.spawn(run_all)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })?;
    Ok(vec![
        begin.elapsed().as_nanos() as f64 / (cpus * runs) as f64,
    ])
}

fn on_all_cpus(lab: &Lab, subject: &Subject, report: &mut Report) -> Result<(), Error> {
    let cpus = lab.cpus();
    let runs = lab.scale().pick(2, 10, 10);
    let supervisor = lab.builder().slots(cpus).pin_slots(true).start()?;
    let title = format!("On {cpus} CPUs at once: {}", subject.title);
    let mut comparison = Comparison::new(format!("{}-all-cpus", subject.id), title)
        .metric(Metric::new(WALL_TIME, Unit::Nanoseconds))
        .variant(
            Variant::new("bare", || on_each_cpu(cpus, runs, || subject.run_bare()))
                .about("a loop of posix_spawn and wait for each CPU"),
        )
        .plan(Plan {
            block: 1,
            ..plan(lab, 8, 120)
        });
    for inside in &subject.inside {
        let run = || on_each_cpu(cpus, runs, || inside.run(&supervisor));
        comparison = comparison.variant(Variant::new(inside.name, run).about(inside.about));
    }
    let table = comparison.measure(lab)?;
    if let Some(last) = subject.inside.last() {
        let what = format!("{}, on all CPUs", subject.id);
        let at_most = subject.at_most_on_all_cpus;
        report.add_claim(what, &table, last.name, WALL_TIME, at_most);
    }
    report.add_table(table);
    Ok(())
}

/// Measures how the cost of a copy grows with the memory that its template has touched.
fn template_size(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let free = super::growth::available() / MIB;
    let (sizes, missing): (Vec<u64>, Vec<u64>) = lab
        .scale()
        .pick(
            vec![10, 20],
            vec![10, 100, 1000],
            vec![10, 30, 100, 300, 1000, 2000],
        )
        .into_iter()
        // Each of the slot's two runners has a template.
        .partition(|size| size * 4 <= free);
    let modules = lab.directory().join("ballast");
    std::fs::create_dir_all(&modules).map_err(Error::system("make a directory for a module"))?;
    let module = "import os\nballast = b'x' * (int(os.environ['BALLAST_MIB']) << 20)\n";
    std::fs::write(modules.join("ballast.py"), module)
        .map_err(Error::system("write a Python module"))?;
    let world = World::minimal().read_only(&modules, MODULES);
    let mut table: Option<Table> = None;
    let mut samples = Vec::new();
    for size in sizes {
        // Each size has its own supervisor, which ends its templates when it ends.
        let supervisor = lab.supervisor(1)?;
        let prepare = Prepare::python(PYTHON, ["ballast"])
            .env("PYTHONPATH", MODULES)
            .env("BALLAST_MIB", size.to_string())
            .memory_limit((size + 256) * MIB);
        let request = Request::new(PYTHON).args(["-c", "pass"]);
        let request = lab.limit_to(request, (size + 256) * MIB, 16, Duration::from_secs(20));
        let inside = Inside {
            name: "millibox, copied",
            about: "",
            // The interpreter reads PYTHONPATH itself, so the run must use the template's value.
            request: request
                .env("PYTHONPATH", MODULES)
                .prepared(&world.prepare(&prepare)?),
            is_copy: true,
        };
        let (of_size, _) = Comparison::new("template-size", format!("A template of {size} MiB"))
            .metric(Metric::new(REAL_TIME, Unit::Nanoseconds))
            .variant(
                Variant::timed(format!("{size} MiB"), || inside.run(&supervisor))
                    .at("a copy", (size * MIB) as f64),
            )
            .plan(plan(lab, 5, 60))
            .samples(lab)?;
        samples.extend(of_size);
    }
    if !samples.is_empty() {
        let metrics = vec![Metric::new(REAL_TIME, Unit::Nanoseconds)];
        let title = "Over the size of the template";
        let made = Table::new("template-size", title, metrics, &samples, 10, lab.seed());
        table = Some(made.plotted_as(PlotKind::Lines {
            x: "bytes that the template has touched".to_owned(),
            logarithmic: true,
        }));
    }
    if let Some(table) = table {
        report.add_table(table);
    }
    for size in missing {
        report.add_note(format!(
            "A template of {size} MiB is missing: {free} MiB of memory are free."
        ));
    }
    Ok(())
}

/// Measures the number of runs after which a template has made up for the cost of its start.
fn break_even(lab: &Lab, subject: &Subject, report: &mut Report) -> Result<(), Error> {
    let [executed, copied] = &subject.inside[..] else {
        return Ok(());
    };
    let supervisor = lab.builder().slots(1).runners_per_slot(1).start()?;
    let other = Request::new("/bin/true");
    let first = || {
        // A run in another world ends the template.
        bare::sandboxed(&supervisor, &other)?;
        let begin = Instant::now();
        copied.run(&supervisor)?;
        Ok(vec![begin.elapsed().as_nanos() as f64])
    };
    let later = || {
        copied.run(&supervisor)?;
        let begin = Instant::now();
        copied.run(&supervisor)?;
        Ok(vec![begin.elapsed().as_nanos() as f64])
    };
    let cold = || {
        executed.run(&supervisor)?;
        let begin = Instant::now();
        executed.run(&supervisor)?;
        Ok(vec![begin.elapsed().as_nanos() as f64])
    };
    let title = format!("The first run of a template: {}", subject.title);
    let table = Comparison::new(format!("{}-first", subject.id), title)
        .metric(Metric::new(REAL_TIME, Unit::Nanoseconds))
        .variant(Variant::new("executed", cold))
        .variant(Variant::new("copied, first run", first).about("starts the template"))
        .variant(Variant::new("copied, later run", later))
        .plan(Plan {
            block: 1,
            settle_runs: 0,
            ..plan(lab, 5, 60)
        })
        .measure(lab)?;
    let median = |name| {
        let figures = table.figures(name, REAL_TIME);
        figures.map_or(f64::NAN, |figures| figures.median)
    };
    let (cold, first, later) = (
        median("executed"),
        median("copied, first run"),
        median("copied, later run"),
    );
    report.add_note(format!(
        "{}: a template has made up for its start after {:.1} runs.",
        subject.id,
        1.0 + (first - cold).max(0.0) / (cold - later).max(1.0)
    ));
    report.add_table(table);
    Ok(())
}

/// Measures the memory of many templates as the proportional set sizes of all processes of a
/// supervisor.
fn memory(lab: &Lab, subjects: &[Subject], report: &mut Report) -> Result<(), Error> {
    let templates: usize = lab.scale().pick(2, 20, 100);
    let mut samples = Vec::new();
    for subject in subjects {
        let (Some(copied), progress) = (subject.inside.last(), lab.progress("Memory")) else {
            continue;
        };
        let begin = Instant::now();
        let supervisor = lab.builder().slots(templates).runners_per_slot(1).start()?;
        // With a run in progress in each slot, every runner starts its template.
        let code = "import time; time.sleep(2)";
        let sleeper = copied.request.clone().argv([PYTHON, "-c", code]);
        let before = proportional_bytes(supervisor.info().pid());
        let handles: Vec<_> = (0..templates)
            .map(|_| supervisor.run(&sleeper))
            .collect::<Result<_, _>>()?;
        for handle in &handles {
            handle.wait()?;
        }
        let after = proportional_bytes(supervisor.info().pid());
        progress.done(begin.elapsed());
        let (Some(before), Some(after)) = (before, after) else {
            report.add_note(
                "The memory of templates is missing: /proc/PID/smaps_rollup of the \
                             supervisor's processes cannot be read.",
            );
            return Ok(());
        };
        samples.push(Samples {
            name: subject.id.to_owned(),
            about: subject.title.clone(),
            values: vec![vec![after.saturating_sub(before) as f64 / templates as f64]],
            ..Samples::default()
        });
    }
    let metrics = vec![Metric::new("memory of each template", Unit::Bytes)];
    let title = format!("Memory of {templates} templates");
    let mut table = Table::new("memory", title, metrics, &samples, 1, lab.seed());
    // Each variant has only one number, so a bootstrap has nothing to compare.
    let figures = table
        .variants
        .iter_mut()
        .flat_map(|variant| &mut variant.figures);
    figures.for_each(|figures| figures.ratio = None);
    report.add_table(table);
    Ok(())
}

/// The proportional set size of a process and its descendants; `None` if the size of a process
/// cannot be read.
fn proportional_bytes(root: u32) -> Option<u64> {
    let mut family = vec![root];
    let mut total = 0;
    while let Some(pid) = family.pop() {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        family.extend(
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
        let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        total += pss.split_whitespace().next()?.parse::<u64>().ok()? << 10;
    }
    Some(total)
}
