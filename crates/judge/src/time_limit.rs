//! Time limits from measured times: the formulas of the formats.

use std::time::Duration;

/// What a submission may need on a test while it is measured.
pub(crate) const MEASURING_CPU_TIME: Duration = Duration::from_secs(60);
/// The ICPC formats' factor (`ac_to_time_limit`) and step (`time_resolution`), where a package says nothing.
pub(crate) const DEFAULT_FACTOR: f64 = 2.0;
pub(crate) const DEFAULT_RESOLUTION: Duration = Duration::from_secs(1);

/// Limits in Sim packages are told to this.
const STEPS_IN_A_SECOND: f64 = 100.0;

/// For whom a limit of a Sim package is made: Sim allows more for what a run costs that does nothing where it
/// judges than where a setter measures, since a server has other things to do as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitPurpose {
    /// Sim's server.
    Judging,
    /// Sim's tool for setters, `sip`.
    Setting,
}

impl LimitPurpose {
    /// The limit of a program that takes no time, in seconds.
    fn least(self) -> f64 {
        match self {
            LimitPurpose::Judging => 0.3,
            LimitPurpose::Setting => 0.1,
        }
    }
}

/// A limit, in words.
pub(crate) fn sim_formula(whom: LimitPurpose) -> String {
    format!("3 t + {} / (t^2 + 2), down to 10 ms", 2.0 * whom.least())
}

/// Sim's formula, 3 t + 2 m / (t² + 2) rounded down to 10 ms: much of a short time, which is mostly noise, and
/// three times a long one.
pub(crate) fn sim(model: Duration, whom: LimitPurpose) -> Duration {
    let t = model.as_secs_f64();
    let limit = 3.0 * t + 2.0 * whom.least() / (t * t + 2.0);
    // What is a whole number of steps stays one, however it is written in binary.
    Duration::from_secs_f64((limit * STEPS_IN_A_SECOND + 1e-6).floor() / STEPS_IN_A_SECOND)
}

/// The ICPC formats': a multiple of the slowest accepted submission's time, up to a multiple of `resolution`.
/// At most a day, like one that a package states.
pub(crate) fn icpc(slowest: Duration, factor: f64, resolution: Duration) -> Duration {
    let steps = (slowest.as_secs_f64() * factor / resolution.as_secs_f64()).ceil().max(1.0);
    Duration::from_secs_f64((steps * resolution.as_secs_f64()).min(86_400.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas() {
        let ms = Duration::from_millis;
        let both = |time| [LimitPurpose::Judging, LimitPurpose::Setting].map(|whom| sim(ms(time), whom));
        assert_eq!(both(0), [ms(300), ms(100)]);
        // 0.3 + 0.6 / 2.01 = 0.5985..., 0.3 + 0.2 / 2.01 = 0.3995...
        assert_eq!(both(100), [ms(590), ms(390)]);
        // 3 + 0.6 / 3 = 3.2, 3 + 0.2 / 3 = 3.0666...
        assert_eq!(both(1000), [ms(3200), ms(3060)]);
        // 30 + 0.6 / 102, 30 + 0.2 / 102: next to nothing is left of it.
        assert_eq!(both(10_000), [ms(30_000), ms(30_000)]);
        assert_eq!(icpc(ms(1), 5.0, ms(1000)), ms(1000));
        assert_eq!(icpc(ms(300), 5.0, ms(1000)), ms(2000));
        assert_eq!(icpc(ms(300), 2.0, ms(100)), ms(600));
        assert_eq!(icpc(ms(300), 1e300, ms(100)), ms(86_400_000));
    }
}
