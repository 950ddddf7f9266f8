//! Computes time limits from measured times with the formulas of the package formats.

use std::time::Duration;

/// CPU time limit of a submission while its time is measured.
pub const MEASURING_CPU_TIME: Duration = Duration::from_secs(60);
/// The ICPC formats' default factor (`ac_to_time_limit`).
pub const DEFAULT_FACTOR: f64 = 2.0;
/// The ICPC formats' default step (`time_resolution`).
pub const DEFAULT_RESOLUTION: Duration = Duration::from_secs(1);

/// Resolution of limits in Sim packages, in steps per second.
const STEPS_PER_SECOND: f64 = 100.0;

/// The program whose formula computes a Sim package's limit.
///
/// A run costs time even if the program does nothing. Sim allows more time for this on a server,
/// which has other work to do, than on a setter's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitPurpose {
    /// Sim's server.
    Judging,
    /// Sim's tool for setters, `sip`.
    Setting,
}

impl LimitPurpose {
    /// The limit of a program that needs no time, in seconds.
    fn min_seconds(self) -> f64 {
        match self {
            LimitPurpose::Judging => 0.3,
            LimitPurpose::Setting => 0.1,
        }
    }
}

/// Sim's formula as text, in terms of the model solution's time `t`.
pub fn sim_formula(purpose: LimitPurpose) -> String {
    format!(
        "3 t + {} / (t^2 + 2), down to 10 ms",
        2.0 * purpose.min_seconds()
    )
}

/// Computes a limit by Sim's formula: 3 t + 2 m / (t² + 2), rounded down to 10 ms.
///
/// A short time, which is mostly noise, receives a large margin. A long time is tripled.
pub fn sim(model: Duration, purpose: LimitPurpose) -> Duration {
    let t = model.as_secs_f64();
    let limit = 3.0 * t + 2.0 * purpose.min_seconds() / (t * t + 2.0);
    // The small addend keeps a whole number of steps whole despite binary rounding.
    Duration::from_secs_f64((limit * STEPS_PER_SECOND + 1e-6).floor() / STEPS_PER_SECOND)
}

/// Computes a limit by the ICPC formats' formula: the slowest accepted submission's time multiplied
/// by `factor`, rounded up to a multiple of `resolution`.
///
/// The limit is at most a day, the maximum that a package may state.
pub fn icpc(slowest: Duration, factor: f64, resolution: Duration) -> Duration {
    let steps = (slowest.as_secs_f64() * factor / resolution.as_secs_f64())
        .ceil()
        .max(1.0);
    Duration::from_secs_f64((steps * resolution.as_secs_f64()).min(86_400.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_match_hand_computed_limits() {
        let ms = Duration::from_millis;
        let both = |time| {
            [LimitPurpose::Judging, LimitPurpose::Setting].map(|purpose| sim(ms(time), purpose))
        };
        assert_eq!(both(0), [ms(300), ms(100)]);
        // 0.3 + 0.6 / 2.01 = 0.5985..., 0.3 + 0.2 / 2.01 = 0.3995...
        assert_eq!(both(100), [ms(590), ms(390)]);
        // 3 + 0.6 / 3 = 3.2, 3 + 0.2 / 3 = 3.0666...
        assert_eq!(both(1000), [ms(3200), ms(3060)]);
        // 30 + 0.6 / 102 and 30 + 0.2 / 102: the second term almost vanishes.
        assert_eq!(both(10_000), [ms(30_000), ms(30_000)]);
        assert_eq!(icpc(ms(1), 5.0, ms(1000)), ms(1000));
        assert_eq!(icpc(ms(300), 5.0, ms(1000)), ms(2000));
        assert_eq!(icpc(ms(300), 2.0, ms(100)), ms(600));
        assert_eq!(icpc(ms(300), 1e300, ms(100)), ms(86_400_000));
    }
}
