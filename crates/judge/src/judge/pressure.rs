//! Whether the machine had too few CPUs for its work, as the kernel tells: pressure stall
//! information.
//!
//! A real-time limit is there to end what sleeps, and cannot tell that from what nobody gave a CPU.
//! The kernel counts the time in which anything on the machine was ready to run and had to wait
//! (`some` of /proc/pressure/cpu): where that is most of a run's time, its real-time limit says
//! little of the run.

use std::time::{Duration, Instant};

/// Where the kernel tells; not there, or not readable, if it was built or started without.
const PRESSURE_FILE: &str = "/proc/pressure/cpu";
/// The machine is overloaded if something waited for this part of the time, or more. A run that
/// brings this about by itself, with processes that wait for each other, uses CPU time all the
/// while: until its real-time limit, three times its CPU-time limit and more, that is a third at
/// most.
const OVERLOAD_RATIO: f64 = 0.5;

/// Does some work. If the machine was overloaded meanwhile, the part of the time in which something
/// waited for a CPU comes with the result, from 0 to 1; `None`: it was not, or the kernel does not
/// tell.
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

/// Time that something waited for a CPU, since the machine was started.
fn waited() -> Option<Duration> {
    parse(&std::fs::read_to_string(PRESSURE_FILE).ok()?)
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`
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
    fn what_the_kernel_writes() {
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
    fn how_much_is_too_much() {
        let ms = Duration::from_millis;
        assert_eq!(overload(ms(499), ms(1000)), None);
        assert_eq!(overload(ms(500), ms(1000)), Some(0.5));
        assert_eq!(overload(ms(1001), ms(1000)), Some(1.0));
        assert_eq!(overload(ms(0), ms(0)), None);
    }
}
