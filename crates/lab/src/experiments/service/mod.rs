//! The experiment `service`: runs of /bin/true over HTTP, through `millibox serve` and
//! go-judge, and new scripts through all interfaces.

mod scripts;
mod server;

use super::peers::go_judge;
use super::{Experiment, bin_true, conversation, process_cpu_ns};
use crate::load::{Load, Turn};
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Table, Unit, Variant};
use millibox::{Pool, Request};
use server::Server;
use std::time::Duration;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "service",
    title: "Over HTTP",
    about: "Runs of /bin/true over HTTP on loopback, with limits on memory, processes, CPU and \
            real time. millibox serve and go-judge receive the same request in go-judge's format, \
            and requests to /v1 are compared with the library on all CPUs. The load generator is \
            one thread on the same CPUs. Targets: at least 5 times the runs of go-judge, and at \
            least 70 % of the runs of the library. New Python scripts are sent through all \
            interfaces of the service. Targets: at least 3 times the scripts that Python runs \
            without a sandbox, and a factor of at most 1.3 between the interfaces.",
    run,
};

/// The numbers of connections for both servers. Each connection has a request in flight.
const CONNECTIONS: [usize; 3] = [1, 2, 8];
/// The numbers of connections for the service's own interface.
const OWN_CONNECTIONS: [usize; 4] = [1, 2, 8, 32];
/// A fifth of go-judge's time for each run means five times as many runs.
const GO_JUDGE_BOUND: f64 = 0.2;
/// A rate of 70 % means 1/0.7 of the time for each run.
const LIBRARY_BOUND: f64 = 1.0 / 0.7;
const GO_JUDGE: &str = "go-judge";
const WALL_TIME: &str = "wall time for each run";
const CLIENT_TIME: &str = "CPU time of the client for each run";
const LIBRARY: &str = "library, pool";

/// A request of `/v1` for /bin/true, with the limits of [`go_judge::REQUEST_BODY`].
const OWN_BODY: &str = r#"{"command":["/bin/true"],"limits":{"cpu_ms":10000,"wall_ms":10000,"memory_bytes":268435456,"processes":16,"output_bytes":1024}}"#;

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let Some(millibox) = &lab.options().millibox else {
        return Err(Error::other(
            "the command millibox is neither beside millibox-lab nor on PATH",
        ));
    };
    let server = Server::start(lab, millibox)?;
    beside_go_judge(lab, &server, report)?;
    beside_the_library(lab, &server, report)?;
    scripts::measure(lab, &server, report)
}

fn turn_duration(lab: &Lab) -> Duration {
    let milliseconds = lab.scale().pick(50, 500, 2000);
    Duration::from_millis(milliseconds)
}

fn plan(lab: &Lab) -> Plan {
    Plan {
        rounds: lab.scale().pick(2, 11, 40),
        block: 1,
        settle_runs: 0,
        warm_up_runs: 1,
        budget: Duration::from_secs(lab.scale().pick(10, 60, 900)),
        min_rounds: 2,
    }
}

fn connections_text(count: usize) -> String {
    match count {
        1 => "1 connection".to_owned(),
        count => format!("{count} connections"),
    }
}

/// Sends the same go-judge request to both servers.
fn beside_go_judge(lab: &Lab, server: &Server, report: &mut Report) -> Result<(), Error> {
    let duration = turn_duration(lab);
    let mut comparison = Comparison::new("go-judge", "/bin/true in go-judge's interface")
        .metric(Metric::new(WALL_TIME, Unit::Nanoseconds))
        .metric(Metric::new("response time", Unit::Nanoseconds))
        .metric(Metric::new(
            "response time, 99th percentile",
            Unit::Nanoseconds,
        ))
        .metric(Metric::new(CLIENT_TIME, Unit::Nanoseconds))
        .plan(plan(lab));
    let peer = start_go_judge(lab, report);
    let (mut servers, mut missing) = (Vec::new(), None);
    match &peer {
        Ok(peer) => servers.push((GO_JUDGE, peer.address)),
        Err(error) => missing = Some(error.to_string()),
    }
    servers.push(("millibox", server.address));
    for (name, address) in servers {
        let load = Load::new(address, "/run", go_judge::REQUEST_BODY, "\"Accepted\"");
        for count in CONNECTIONS {
            let load = load.clone();
            let connections = connections_text(count);
            let variant = Variant::new(format!("{name}, {connections}"), move || {
                load.turn(count, duration).map(|turn| figures(&turn))
            });
            comparison = comparison.variant(match name {
                GO_JUDGE => variant,
                _ => variant.against(format!("{GO_JUDGE}, {connections}")),
            });
        }
    }
    if let Some(why) = missing {
        comparison = comparison.missing(GO_JUDGE, why);
    }
    let table = comparison.measure(lab)?;
    for count in CONNECTIONS {
        let connections = connections_text(count);
        report.add_claim(
            format!("request of go-judge, {connections}"),
            &table,
            &format!("millibox, {connections}"),
            WALL_TIME,
            GO_JUDGE_BOUND,
        );
    }
    add_client_share(lab, &table, "millibox, 8 connections", report);
    report.add_table(table);
    Ok(())
}

fn start_go_judge(lab: &Lab, report: &mut Report) -> Result<go_judge::Server, Error> {
    let path = lab.find_peer("go-judge", "go-judge").ok_or_else(|| {
        Error::other("go-judge is not on PATH; install it, or pass --peer go-judge=PATH")
    })?;
    let version = super::version(&path, &["-version"]);
    report.versions.push(("go-judge".to_owned(), version));
    go_judge::Server::start(lab, &path, &[])
}

fn figures(turn: &Turn) -> Vec<f64> {
    let mut answers = turn.answers.clone();
    answers.sort_unstable();
    let at = |percent: usize| {
        let index = (answers.len() * percent / 100).min(answers.len().saturating_sub(1));
        answers
            .get(index)
            .map_or(0.0, |time| time.as_nanos() as f64)
    };
    vec![turn.wall_ns(), at(50), at(99), turn.cpu_ns]
}

/// Compares the service's own interface with the library on all CPUs.
fn beside_the_library(lab: &Lab, server: &Server, report: &mut Report) -> Result<(), Error> {
    let duration = turn_duration(lab);
    let pool = Pool::with(&lab.builder())?;
    let cpus = conversation::cpus()?;
    let request = lab.limit(Request::new("/bin/true"));
    let library = move || {
        let cpu = process_cpu_ns();
        let rate = bin_true::pool_on_all_cpus(&pool, &request, &cpus, duration)?;
        // An uncounted fifth comes first.
        let runs = rate.per_second * duration.as_secs_f64() * 1.2;
        let cpu = process_cpu_ns().saturating_sub(cpu);
        Ok(vec![1e9 / rate.per_second, cpu as f64 / runs])
    };
    let mut comparison = Comparison::new("own", "/bin/true through /v1/runs and the library")
        .metric(Metric::new(WALL_TIME, Unit::Nanoseconds))
        .metric(Metric::new(CLIENT_TIME, Unit::Nanoseconds))
        .plan(plan(lab))
        .variant(
            Variant::new(LIBRARY, library)
                .about("a supervisor and a client thread for each CPU, pinned to it"),
        );
    let load = Load::new(server.address, "/v1/runs", OWN_BODY, "\"exit_code\":0");
    for count in OWN_CONNECTIONS {
        let load = load.clone();
        comparison = comparison.variant(Variant::new(connections_text(count), move || {
            let turn = load.turn(count, duration)?;
            Ok(vec![turn.wall_ns(), turn.cpu_ns])
        }));
    }
    let table = comparison.measure(lab)?;
    for count in [8, 32] {
        let connections = connections_text(count);
        report.add_claim(
            format!("/v1/runs, {connections}"),
            &table,
            &connections,
            WALL_TIME,
            LIBRARY_BOUND,
        );
    }
    add_client_share(lab, &table, "32 connections", report);
    report.add_table(table);
    Ok(())
}

/// Notes how much of the machine the load generator uses.
fn add_client_share(lab: &Lab, table: &Table, variant: &str, report: &mut Report) {
    let median = |metric| table.figures(variant, metric).map(|figures| figures.median);
    if let (Some(wall), Some(cpu)) = (median(WALL_TIME), median(CLIENT_TIME)) {
        let percent = 100.0 * cpu / (wall * lab.cpus() as f64);
        report.add_note(format!(
            "The load generator uses {percent:.1} % of the CPU time for {variant} ({}).",
            table.id
        ));
    }
}
