//! Detects whether the machine had too few CPUs for its work, from the kernel's pressure stall
//! information.
//!
//! A real-time limit ends programs that sleep. It cannot distinguish them from programs that wait
//! for a CPU. The kernel counts the time in which any task on the machine was ready to run but
//! waited (`some` in /proc/pressure/cpu). If this is most of a run's time, the run's real time says
//! little about the program.

use std::time::{Duration, Instant};

/// The file is absent or unreadable if the kernel was built or booted without pressure stall
/// information.
const PRESSURE_FILE: &str = "/proc/pressure/cpu";
/// The machine is overloaded if tasks waited for at least this fraction of the time. A run cannot
/// cause that alone: its processes use CPU time while others of them wait, and the real-time limit
/// is at least three times the CPU time limit. Its processes therefore wait for at most a third of
/// the time.
const OVERLOAD_RATIO: f64 = 0.5;

/// Does some work and returns its result, together with the machine's overload during the work.
///
/// The overload is the fraction of the time in which a task waited for a CPU, from 0 to 1. `None`
/// means that the machine was not overloaded, or that the kernel does not report this information.
pub(super) fn during<T>(work: impl FnOnce() -> T) -> (T, Option<f64>) {
    let (begin, before) = (Instant::now(), waited());
    let result = work();
    let waited = before.and_then(|before| Some(waited()?.saturating_sub(before)));
    (
        result,
        waited.and_then(|waited| overload(waited, begin.elapsed())),
    )
}

fn overload(waited: Duration, of: Duration) -> Option<f64> {
    let part = (waited.as_secs_f64() / of.as_secs_f64().max(f64::MIN_POSITIVE)).min(1.0);
    (part >= OVERLOAD_RATIO).then_some(part)
}

/// Returns the time in which a task waited for a CPU since the machine was started.
fn waited() -> Option<Duration> {
    parse(&std::fs::read_to_string(PRESSURE_FILE).ok()?)
}

/// Parses `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`.
fn parse(text: &str) -> Option<Duration> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some
        .split(' ')
        .find_map(|word| word.strip_prefix("total="))?;
    total.parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_reads_total_of_some() {
        let text = "some avg10=91.02 avg60=94.53 avg300=94.28 total=18520976857\nfull avg10=0.00 \
            avg60=0.00 total=7\n";
        assert_eq!(parse(text), Some(Duration::from_micros(18_520_976_857)));
        assert_eq!(
            parse("full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"),
            None
        );
        assert_eq!(parse("some avg10=0.00 total=much\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn machine_is_overloaded_from_half_of_time_on() {
        let ms = Duration::from_millis;
        assert_eq!(overload(ms(499), ms(1000)), None);
        assert_eq!(overload(ms(500), ms(1000)), Some(0.5));
        assert_eq!(overload(ms(1001), ms(1000)), Some(1.0));
        assert_eq!(overload(ms(0), ms(0)), None);
    }
}
