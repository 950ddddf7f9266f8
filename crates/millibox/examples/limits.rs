//! Measures how far runs exceed their limits on this machine, according to the figures in their
//! results.
use millibox::{Outcome, Request, RunResult, Supervisor};
use std::time::Duration;

const LIMIT: Duration = Duration::from_millis(50);

fn main() -> Result<(), millibox::Error> {
    let supervisor = Supervisor::builder().slots(1).start()?;
    let shell = |script: &str| Request::new("/bin/sh").args(["-c", script]);
    let busy = "while :; do :; done";
    let real = |result: &RunResult| result.figures.real_time_ns;
    let cpu = |result: &RunResult| result.figures.cpu_user_ns + result.figures.cpu_system_ns;
    type Figure<'a> = &'a dyn Fn(&RunResult) -> u64;
    let kinds: [(&str, Request, Outcome, Figure); 3] = [
        (
            "real time, a sleeper",
            shell("exec sleep 10").real_time_limit(LIMIT),
            Outcome::RealTimeLimit,
            &real,
        ),
        (
            "CPU time, one process",
            shell(busy).cpu_time_limit(LIMIT),
            Outcome::CpuTimeLimit,
            &cpu,
        ),
        (
            "CPU time, three processes",
            shell(&format!("({busy}) & ({busy}) & {busy}")).cpu_time_limit(LIMIT),
            Outcome::CpuTimeLimit,
            &cpu,
        ),
    ];
    for (name, request, outcome, figure) in kinds {
        let mut over = Vec::new();
        for _ in 0..60 {
            let result = supervisor.run(&request)?.wait()?;
            assert_eq!(result.outcome, outcome, "{result}");
            over.push(figure(&result).saturating_sub(LIMIT.as_nanos() as u64) / 1000);
        }
        over.sort_unstable();
        println!(
            "{name}: median {} us over, 90 % {} us, worst {} us",
            over[30], over[54], over[59]
        );
    }
    Ok(())
}
