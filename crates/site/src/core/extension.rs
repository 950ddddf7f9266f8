//! More time for a round that runs: which of its times move together.

use super::participant::shift;
use super::time::Time;
use std::time::Duration;

/// The times of a round that depend on its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// The end.
    pub ends: Time,
    /// The stored time of the full results.
    pub full_results: Time,
    /// The time from which the ranking is shown.
    pub ranking_from: Time,
    /// The beginning of the freeze.
    pub freeze_at: Time,
    /// The end of the freeze.
    pub thaw_at: Time,
}

/// Whether a round runs and has an end that can move.
pub fn can_extend(begins: Time, ends: Time, now: Time) -> bool {
    begins <= now && now < ends && ends != Time::NEVER
}

impl Ending {
    /// The times with a later end.
    ///
    /// Times after the end keep their distance to it, and so does a freeze that has not begun.
    /// A freeze that has begun keeps its beginning: moving it would reveal results.
    #[must_use]
    pub fn later(self, by: Duration, now: Time) -> Ending {
        let is_frozen = self.freeze_at <= now;
        let follows = |time: Time| {
            if time >= self.ends {
                shift(time, by)
            } else {
                time
            }
        };
        Ending {
            ends: shift(self.ends, by),
            full_results: follows(self.full_results),
            ranking_from: follows(self.ranking_from),
            freeze_at: match is_frozen {
                true => self.freeze_at,
                false => shift(self.freeze_at, by),
            },
            thaw_at: match is_frozen {
                true => follows(self.thaw_at),
                // A thaw before the end must not come before the freeze.
                false => shift(self.thaw_at, by),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: i64) -> Time {
        match seconds {
            i64::MIN => Time::ALWAYS,
            i64::MAX => Time::NEVER,
            seconds => Time(seconds * 1_000_000),
        }
    }

    #[test]
    fn times_after_the_end_and_a_later_freeze_keep_their_distance() {
        const ALWAYS: i64 = i64::MIN;
        const NEVER: i64 = i64::MAX;
        // Now; full results, ranking, freeze, thaw before and after the end moves from 200 to 230.
        let table = [
            (
                120,
                [ALWAYS, ALWAYS, NEVER, NEVER],
                [ALWAYS, ALWAYS, NEVER, NEVER],
            ),
            (120, [200, 200, NEVER, NEVER], [230, 230, NEVER, NEVER]),
            (120, [150, 150, NEVER, NEVER], [150, 150, NEVER, NEVER]),
            (120, [260, 199, 150, 300], [290, 199, 180, 330]),
            (120, [NEVER, NEVER, 150, NEVER], [NEVER, NEVER, 180, NEVER]),
            (120, [200, ALWAYS, 150, 180], [230, ALWAYS, 180, 210]),
            // The freeze has begun.
            (150, [200, ALWAYS, 150, 300], [230, ALWAYS, 150, 330]),
            (160, [200, ALWAYS, 150, 180], [230, ALWAYS, 150, 180]),
            (160, [200, ALWAYS, 150, NEVER], [230, ALWAYS, 150, NEVER]),
        ];
        for (now, before, after) in table {
            let ending =
                |ends, [full_results, ranking_from, freeze_at, thaw_at]: [i64; 4]| Ending {
                    ends: s(ends),
                    full_results: s(full_results),
                    ranking_from: s(ranking_from),
                    freeze_at: s(freeze_at),
                    thaw_at: s(thaw_at),
                };
            let found = ending(200, before).later(Duration::from_secs(30), s(now));
            assert_eq!(found, ending(230, after), "{before:?} at {now}");
        }
    }

    #[test]
    fn only_a_round_that_runs_and_ends_is_extended() {
        // Begins, ends, now; whether the round can be extended.
        let table = [
            (100, 200, 99, false),
            (100, 200, 100, true),
            (100, 200, 199, true),
            (100, 200, 200, false),
            (i64::MIN, 200, 150, true),
            (100, i64::MAX, 150, false),
        ];
        for (begins, ends, now, expected) in table {
            assert_eq!(
                can_extend(s(begins), s(ends), s(now)),
                expected,
                "{begins} {ends} {now}"
            );
        }
    }
}
