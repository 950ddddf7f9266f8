//! The experiment `scalability`: the cost of isolation for a program that only calls the kernel, on
//! one CPU and on more.

use super::conversation::{cpus, pipe, read_end, spawn_on};
use super::{Experiment, version};
use crate::programs::{PROGRAM_ARGUMENT, executable, table};
use crate::table::PlotKind;
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant};
use millibox::{Outcome, Request, Supervisor, World};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The benchmark of chat rooms (Debian: rt-tests).
pub(super) const HACKBENCH: &str = "hackbench";

pub const EXPERIMENT: Experiment = Experiment {
    name: "scalability",
    title: "Isolation and CPUs",
    about: "Franke et al. 2001: chat rooms (hackbench of rt-tests: 20 senders and 20 receivers in \
            each) over rooms, messages and CPUs, and a table like lmbench's with one copy on each \
            CPU at the same time; bare and in the sandbox. If a ratio grows with the number of \
            CPUs, runs share a resource that they should not share.",
    run,
};

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let cpus = cpus()?;
    kernel(lab, report, &cpus)?;
    rooms(lab, report, &cpus)
}

/// The powers of two below the number of CPUs, and that number.
fn steps(cpus: usize) -> Vec<usize> {
    let mut steps: Vec<usize> = (0..)
        .map(|power| 1 << power)
        .take_while(|&count| count < cpus)
        .collect();
    steps.push(cpus);
    steps
}

// --- the table ----------------------------------------------------------------------------------

/// Copies of the program `table` that run at the same time, each pinned to its own CPU.
struct Copies<'a> {
    program: &'a Path,
    descriptor: Arc<OwnedFd>,
    milliseconds: String,
    /// A directory on a tmpfs for the copies outside the sandbox.
    directory: &'a Path,
    cpus: &'a [usize],
}

impl Copies<'_> {
    fn bare(&self, count: usize) -> Result<Vec<f64>, Error> {
        let mut children = Vec::new();
        for cpu in &self.cpus[..count] {
            let mut command = Command::new(self.program);
            command
                .args([PROGRAM_ARGUMENT, "table", &self.milliseconds])
                .arg(self.directory)
                .env_clear();
            children.push(spawn_on(
                &[*cpu],
                command.stdin(Stdio::null()).stdout(Stdio::piped()),
            )?);
        }
        let mut printed = Vec::new();
        for child in children {
            let output = child
                .wait_with_output()
                .map_err(Error::system("wait for the lab's program"))?;
            if !output.status.success() {
                return Err(Error::other(format!(
                    "the table outside: {}",
                    output.status
                )));
            }
            printed.push(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        means(&printed)
    }

    fn sandboxed(
        &self,
        supervisor: &Supervisor,
        count: usize,
        request: impl Fn(Request) -> Request,
    ) -> Result<Vec<f64>, Error> {
        let mut runs = Vec::new();
        for cpu in &self.cpus[..count] {
            let (printed, write) = pipe()?;
            let program = Request::from_descriptor(self.descriptor.clone());
            let program = program.args([
                "millibox",
                PROGRAM_ARGUMENT,
                "table",
                &self.milliseconds,
                "/tmp",
            ]);
            let program = request(program.stdout(write)).cpus([*cpu]);
            runs.push((supervisor.run(&program)?, printed));
        }
        let mut all = Vec::new();
        for (run, printed) in runs {
            let result = run.wait()?;
            if result.outcome != Outcome::Exited(0) {
                return Err(Error::other(format!("the table in the sandbox: {result}")));
            }
            all.push(read_end(Some(printed))?);
        }
        means(&all)
    }
}

/// The mean over the copies for each row.
fn means(printed: &[String]) -> Result<Vec<f64>, Error> {
    let mut sums = vec![0.0; table::ROWS.len()];
    for printed in printed {
        let figures: serde_json::Value = serde_json::from_str(printed)
            .map_err(|error| Error::other(format!("{error}: {printed}")))?;
        for (sum, row) in sums.iter_mut().zip(&table::ROWS) {
            *sum += figures[row.name]
                .as_f64()
                .ok_or_else(|| Error::other(format!("no {} in {printed}", row.name)))?;
        }
    }
    Ok(sums
        .into_iter()
        .map(|sum| sum / printed.len().max(1) as f64)
        .collect())
}

fn kernel(lab: &Lab, report: &mut Report, cpus: &[usize]) -> Result<(), Error> {
    let program = executable().map_err(Error::system("find the lab's programs"))?;
    let file =
        File::open(&program).map_err(Error::system(format!("open {}", program.display())))?;
    let directory = tmpfs()?;
    if directory.is_none() {
        report.add_note(
            "There is no tmpfs at /dev/shm, so the copies outside created their files in \
                the lab's directory.",
        );
    }
    let copies = Copies {
        program: &program,
        descriptor: Arc::new(file.into()),
        milliseconds: lab.scale().pick("1", "20", "100").to_owned(),
        directory: directory
            .as_ref()
            .map_or(lab.directory(), |directory| directory.path()),
        cpus,
    };
    let supervisor = lab.supervisor(cpus.len())?;
    let open = World::minimal().without_seccomp();
    for count in steps(cpus.len()) {
        let copies = &copies;
        let title = match count {
            1 => "What the kernel does, on one CPU".to_owned(),
            count => format!("The same, {count} copies on {count} CPUs"),
        };
        let mut comparison = Comparison::new(format!("kernel-{count}"), title)
            .plotted_as(PlotKind::Ratios)
            .plan(Plan {
                rounds: lab.scale().pick(2, 15, 100),
                budget: lab.scale().pick(
                    Duration::from_secs(5),
                    Duration::from_secs(15),
                    Duration::from_secs(600),
                ),
                ..Plan::default()
            });
        for row in &table::ROWS {
            comparison = comparison.metric(Metric::new(row.what, Unit::Nanoseconds));
        }
        let supervisor = &supervisor;
        let found = comparison
            .variant(Variant::new("bare", move || copies.bare(count)))
            .variant(Variant::new("millibox", || {
                copies.sandboxed(supervisor, count, |request| lab.limit(request))
            }))
            .variant(Variant::new("millibox without seccomp", || {
                copies.sandboxed(supervisor, count, |request| lab.limit(request.world(&open)))
            }))
            .measure(lab)?;
        report.add_table(found);
    }
    Ok(())
}

/// A directory on a tmpfs, like the sandbox's /tmp.
fn tmpfs() -> Result<Option<tempfile::TempDir>, Error> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let there = mounts.lines().any(|line| {
        line.split(' ').nth(1) == Some("/dev/shm") && line.split(' ').nth(2) == Some("tmpfs")
    });
    if !there {
        return Ok(None);
    }
    tempfile::tempdir_in("/dev/shm")
        .map(Some)
        .map_err(Error::system("create a directory in /dev/shm"))
}

// --- chat rooms ---------------------------------------------------------------------------------

fn rooms(lab: &Lab, report: &mut Report, cpus: &[usize]) -> Result<(), Error> {
    let Some(hackbench) = lab.find_peer(HACKBENCH, HACKBENCH) else {
        report.add_note(
            "Chat rooms are missing: install hackbench (Debian: rt-tests), or pass \
            --peer hackbench=PATH.",
        );
        return Ok(());
    };
    report
        .versions
        .push(("hackbench".to_owned(), version(&hackbench, &["--version"])));
    let rooms = lab.scale().pick(&[1][..], &[1, 4], &[1, 2, 4, 8, 16]);
    let messages = lab.scale().pick(&[5][..], &[100], &[100, 1000]);
    let supervisor = lab.supervisor(1)?;
    for count in steps(cpus.len()) {
        let combinations: Vec<(u32, u32)> = rooms
            .iter()
            .flat_map(|&rooms| messages.iter().map(move |&messages| (rooms, messages)))
            .collect();
        let title = format!(
            "Chat rooms, {count} {}",
            if count == 1 { "CPU" } else { "CPUs" }
        );
        let mut comparison = Comparison::new(format!("rooms-{count}"), title)
            .plotted_as(PlotKind::Ratios)
            .plan(Plan {
                rounds: lab.scale().pick(2, 12, 50),
                budget: lab.scale().pick(
                    Duration::from_secs(5),
                    Duration::from_secs(15),
                    Duration::from_secs(900),
                ),
                ..Plan::default()
            });
        for (rooms, messages) in &combinations {
            let name = format!(
                "{rooms} {}, {messages} messages",
                if *rooms == 1 { "room" } else { "rooms" }
            );
            comparison = comparison.metric(Metric::new(name, Unit::Nanoseconds));
        }
        let cpus = &cpus[..count];
        let (hackbench, supervisor, combinations) = (&hackbench, &supervisor, &combinations);
        let all = |one: &dyn Fn([String; 6]) -> Result<String, Error>| -> Result<Vec<f64>, Error> {
            combinations
                .iter()
                .map(|&(rooms, messages)| seconds(&one(arguments(rooms, messages))?))
                .collect()
        };
        let found = comparison
            .variant(Variant::new("bare", || {
                all(&|arguments| chat(hackbench, &arguments, cpus))
            }))
            .variant(
                Variant::new("millibox", || {
                    all(&|arguments| {
                        let request = lab.limit_to(
                            chat_inside(hackbench, &arguments, cpus)?,
                            2 << 30,
                            4000,
                            HACKBENCH_TIME_LIMIT,
                        );
                        run_inside(supervisor, request)
                    })
                })
                .optional(),
            )
            .measure(lab)?;
        report.add_table(found);
    }
    Ok(())
}

const HACKBENCH_TIME_LIMIT: Duration = Duration::from_secs(300);

fn arguments(rooms: u32, messages: u32) -> [String; 6] {
    [
        "-g",
        &rooms.to_string(),
        "-l",
        &messages.to_string(),
        "-s",
        "100",
    ]
    .map(str::to_owned)
}

fn chat(hackbench: &Path, arguments: &[String], cpus: &[usize]) -> Result<String, Error> {
    let mut command = Command::new(hackbench);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = spawn_on(cpus, &mut command)?
        .wait_with_output()
        .map_err(Error::system("wait for hackbench"))?;
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() {
        Ok(printed)
    } else {
        Err(Error::other(format!("hackbench: {}", printed.trim())))
    }
}

fn chat_inside(hackbench: &Path, arguments: &[String], cpus: &[usize]) -> Result<Request, Error> {
    const HACKBENCH_PATH: &str = "/hackbench";
    let source: PathBuf =
        std::fs::canonicalize(hackbench).map_err(Error::system("find hackbench"))?;
    let world = World::minimal().read_only(source, HACKBENCH_PATH);
    Ok(Request::new(HACKBENCH_PATH)
        .args(arguments.iter().cloned())
        .world(&world)
        .cpus(cpus.iter().copied()))
}

fn run_inside(supervisor: &Supervisor, request: Request) -> Result<String, Error> {
    let (printed, write) = pipe()?;
    let request = request.stdout(write);
    let result = supervisor.run(&request)?.wait()?;
    drop(request);
    let printed = read_end(Some(printed))?;
    if result.outcome == Outcome::Exited(0) {
        Ok(printed)
    } else {
        Err(Error::other(format!("hackbench inside: {result}")))
    }
}

/// The time that hackbench prints ("Time: 0.123"), in nanoseconds.
fn seconds(printed: &str) -> Result<f64, Error> {
    let time = printed
        .lines()
        .find_map(|line| line.strip_prefix("Time:")?.trim().parse::<f64>().ok());
    time.map(|seconds| seconds * 1e9)
        .ok_or_else(|| Error::other(format!("hackbench printed no time: {}", printed.trim())))
}
