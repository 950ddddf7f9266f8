//! The experiment `compute`: the CPU time of a compute-bound solution, bare and in the sandbox.

use super::Experiment;
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant, bare};
use millibox::{Request, World};
use std::process::Command;
use std::time::{Duration, Instant};

pub const EXPERIMENT: Experiment = Experiment {
    name: "compute",
    title: "A compute-bound solution",
    about: "Thesis, chapter 5: a solution that computes and makes almost no system calls uses \
            the same CPU time inside as outside. Target: within 0.3 %. CPU time is the program's \
            user and system time, from wait4(2) outside and from the sandbox's result inside.",
    run,
};

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let program = lab.compile(
        "compute",
        include_str!("../../programs/compute.cpp"),
        &["-O2", "-static"],
    )?;
    // 14 queens take about 0.2 s; each additional queen takes about six times as long.
    let queens = lab.scale().pick("8", "14", "15");
    let supervisor = lab.supervisor(1)?;
    let world = World::minimal().read_only(&program, "/compute");
    let request = lab.limit(Request::new("/compute").arg(queens).world(&world));
    let unfiltered = request.clone().world(&world.without_seccomp());
    let inside = |request: Request| {
        let supervisor = &supervisor;
        move || {
            let begin = Instant::now();
            let figures = bare::sandboxed(supervisor, &request)?.figures;
            let real = begin.elapsed().as_nanos() as f64;
            Ok(vec![
                (figures.cpu_user_ns + figures.cpu_system_ns) as f64,
                real,
            ])
        }
    };
    let table = Comparison::new("compute", "A compute-bound solution")
        .metric(Metric::new("CPU time", Unit::Nanoseconds))
        .metric(Metric::new("real time", Unit::Nanoseconds))
        .variant(Variant::new("bare", || {
            let mut command = Command::new(&program);
            command
                .arg(queens)
                .env_clear()
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::null());
            let (begin, before) = (Instant::now(), bare::children_cpu_ns());
            bare::success(&mut command)?;
            let real = begin.elapsed().as_nanos() as f64;
            Ok(vec![(bare::children_cpu_ns() - before) as f64, real])
        }))
        .variant(Variant::new("millibox", inside(request)))
        .variant(Variant::new("millibox without seccomp", inside(unfiltered)).optional())
        .plan(Plan {
            rounds: lab.scale().pick(3, 60, 200),
            budget: lab.scale().pick(
                Duration::from_secs(5),
                Duration::from_secs(35),
                Duration::from_secs(1200),
            ),
            ..Plan::default()
        })
        .measure(lab)?;
    report.add_claim(
        "a compute-bound solution inside, CPU time",
        &table,
        "millibox",
        "CPU time",
        1.003,
    );
    report.add_test(&table, "CPU time", ["bare", "millibox"])?;
    report.add_table(table);
    Ok(())
}
