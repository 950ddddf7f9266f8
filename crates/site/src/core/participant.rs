//! The times of a round for one participant.
//!
//! A participant may begin later than others (the delay), have extra time, or start a clock by
//! opening the round. These rules determine when the round begins and ends for the participant.
//! Every page uses them instead of the times of the round itself.

use super::freeze::Freeze;
use super::time::Time;
use std::time::Duration;

/// The times of a round that apply to all participants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The beginning.
    pub begins: Time,
    /// The end.
    pub ends: Time,
    /// When everything is shown.
    pub full_results: Time,
    /// How long the clock of each participant runs; `None` if all share the same clock.
    pub window: Option<Duration>,
}

/// What differs for one participant. The default is that of guests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Personal {
    /// How much later the round begins and ends.
    pub delay: Duration,
    /// How much longer the round lasts.
    pub extra: Duration,
    /// When the participant started the clock.
    pub started_at: Option<Time>,
}

/// The times of a round for one participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnTimes {
    /// The time from which the participant sees that the round exists.
    pub opens: Time,
    /// The time from which the participant sees the problems and contest time counts.
    pub begins: Time,
    /// The time until which the participant may submit.
    pub ends: Time,
    /// When the participant sees everything.
    pub full_results: Time,
    /// The time until which the participant may start the clock; `None` if there is no clock to
    /// start.
    pub starts_until: Option<Time>,
}

/// When everything is shown, if the round has the stored time. "Always" is the value of an empty
/// field: in ICPC mode, the names and results of the tests are secret until the end of the round,
/// and if the ranking is frozen, until the thaw. To show them at once, a teacher enters a time
/// before the round begins.
pub fn full_results(stored: Time, is_icpc: bool, ends: Time, freeze: Freeze) -> Time {
    if !is_icpc || stored != Time::ALWAYS {
        stored
    } else if freeze.from == Time::NEVER {
        ends
    } else {
        ends.max(freeze.thaw)
    }
}

impl Schedule {
    /// Converts the stored times.
    pub fn new(begins: Time, ends: Time, full_results: Time, window_seconds: Option<i64>) -> Self {
        let seconds = |stored: i64| Duration::from_secs(stored.unsigned_abs());
        Schedule {
            begins,
            ends,
            full_results,
            window: window_seconds.map(seconds),
        }
    }

    /// When the round is over for all participants. `additional` is the most time that one has.
    pub fn over(self, additional: Duration) -> Time {
        shift(self.ends, additional)
    }

    /// The times for a participant.
    pub fn times(self, personal: Personal) -> OwnTimes {
        let opens = shift(self.begins, personal.delay);
        let last_start = shift(self.ends, personal.delay);
        let (begins, ends, starts_until) = match (self.window, personal.started_at) {
            (None, _) => (opens, shift(last_start, personal.extra), None),
            (Some(window), Some(started)) => {
                let ends = last_start.min(shift(started, window));
                (started, shift(ends, personal.extra), None)
            }
            // The problems are secret until the clock runs or can no longer be started.
            (Some(_), None) => (last_start, last_start, Some(last_start)),
        };
        // Full results that are due after the round are not due before the participant's own end.
        let full_results = if self.full_results >= self.ends {
            shift(shift(self.full_results, personal.delay), personal.extra)
        } else {
            shift(self.full_results, personal.delay)
        };
        OwnTimes {
            opens,
            begins,
            ends,
            full_results,
            starts_until,
        }
    }
}

/// The personal time that a start of the clock gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The time with a start now.
    pub left: Duration,
    /// The time with a start that is early enough.
    pub full: Duration,
    /// The last start with the full time.
    pub full_until: Time,
}

impl Schedule {
    /// The personal time with a start of the clock now; `None` if there is no clock to start.
    pub fn allowance(self, personal: Personal, now: Time) -> Option<Allowance> {
        let window = self.window?;
        let until = self.times(personal).starts_until?;
        if now >= until {
            return None;
        }
        let started_at = Some(now);
        let started = self.times(Personal {
            started_at,
            ..personal
        });
        let micros = |time: i64| Duration::from_micros(time.max(0).unsigned_abs());
        let back = i64::try_from(window.as_micros()).unwrap_or(i64::MAX);
        Some(Allowance {
            left: micros(started.ends.0.saturating_sub(now.0)),
            full: window + personal.extra,
            full_until: Time(until.0.saturating_sub(back)),
        })
    }
}

impl OwnTimes {
    /// The next time at which a page about the round changes by itself.
    pub fn next_change(self, now: Time) -> Time {
        let until = self.starts_until.unwrap_or(Time::NEVER);
        let times = [self.opens, self.begins, self.ends, until];
        let next = times.into_iter().filter(|time| *time > now).min();
        next.unwrap_or(Time::NEVER)
    }
}

/// The rounds that begin next for a viewer: those with the earliest of the times `opens`. Times at
/// which rounds never begin announce nothing.
pub fn next_opening(opens: impl Iterator<Item = Time> + Clone, now: Time) -> Option<Time> {
    opens
        .filter(|time| now < *time && *time != Time::NEVER)
        .min()
}

/// The time shifted by a duration. "Always" and "never" do not change.
pub(super) fn shift(time: Time, by: Duration) -> Time {
    match time {
        Time::ALWAYS | Time::NEVER => time,
        time => time.after(by),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: i64) -> Time {
        Time(seconds * 1_000_000)
    }

    fn personal(delay: u64, extra: u64, started_at: Option<Time>) -> Personal {
        Personal {
            delay: Duration::from_secs(delay),
            extra: Duration::from_secs(extra),
            started_at,
        }
    }

    #[test]
    fn own_times_follow_this_table() {
        let none = Personal::default();
        let started = |at| personal(0, 0, Some(s(at)));
        // Window, full results, personal: opens, begins, ends, full results, starts until.
        let table = [
            (None, s(200), none, [100, 100, 200, 200], None),
            (
                None,
                s(200),
                personal(7, 0, None),
                [107, 107, 207, 207],
                None,
            ),
            (
                None,
                s(200),
                personal(0, 30, None),
                [100, 100, 230, 230],
                None,
            ),
            (
                None,
                s(260),
                personal(7, 30, None),
                [107, 107, 237, 297],
                None,
            ),
            (
                None,
                s(150),
                personal(7, 30, None),
                [107, 107, 237, 157],
                None,
            ),
            // A clock that was started before the window was removed is ignored.
            (None, s(200), started(120), [100, 100, 200, 200], None),
            (Some(50), s(200), none, [100, 200, 200, 200], Some(s(200))),
            (
                Some(50),
                s(200),
                personal(7, 9, None),
                [107, 207, 207, 216],
                Some(s(207)),
            ),
            (Some(50), s(200), started(120), [100, 120, 170, 200], None),
            (Some(50), s(200), started(180), [100, 180, 200, 200], None),
            (
                Some(50),
                s(200),
                personal(7, 9, Some(s(180))),
                [107, 180, 216, 216],
                None,
            ),
        ];
        for (window, full_results, personal, expected, starts_until) in table {
            let schedule = Schedule {
                begins: s(100),
                ends: s(200),
                full_results,
                window: window.map(Duration::from_secs),
            };
            let [opens, begins, ends, full_results] = expected.map(s);
            let expected = OwnTimes {
                opens,
                begins,
                ends,
                full_results,
                starts_until,
            };
            assert_eq!(
                schedule.times(personal),
                expected,
                "{schedule:?} {personal:?}"
            );
        }
    }

    #[test]
    fn late_start_of_a_clock_leaves_less_time() {
        let schedule = Schedule {
            begins: s(100),
            ends: s(200),
            full_results: s(200),
            window: Some(Duration::from_secs(45)),
        };
        // Delay, extra, now: time left, full time, last start with the full time.
        let table = [
            (0, 0, 100, Some((45, 45, 155))),
            (0, 0, 155, Some((45, 45, 155))),
            (0, 0, 156, Some((44, 45, 155))),
            (0, 0, 199, Some((1, 45, 155))),
            (0, 0, 200, None),
            (10, 0, 200, Some((10, 45, 165))),
            (0, 9, 190, Some((19, 54, 155))),
            (0, 9, 200, None),
        ];
        for (delay, extra, now, expected) in table {
            let found = schedule.allowance(personal(delay, extra, None), s(now));
            let expected = expected.map(|(left, full, until)| Allowance {
                left: Duration::from_secs(left),
                full: Duration::from_secs(full),
                full_until: s(until),
            });
            assert_eq!(found, expected, "{delay} {extra} at {now}");
        }
        let started = personal(0, 0, Some(s(120)));
        assert_eq!(schedule.allowance(started, s(130)), None);
        let shared = Schedule {
            window: None,
            ..schedule
        };
        assert_eq!(shared.allowance(Personal::default(), s(130)), None);
    }

    #[test]
    fn next_change_and_opening_are_the_earliest_that_follow() {
        let schedule = Schedule {
            begins: s(100),
            ends: s(200),
            full_results: s(200),
            window: None,
        };
        let times = schedule.times(personal(7, 0, None));
        for (now, expected) in [(0, s(107)), (107, s(207)), (207, Time::NEVER)] {
            assert_eq!(times.next_change(s(now)), expected, "{now}");
        }
        let opens = [s(300), Time::NEVER, s(100), Time::ALWAYS, s(200)];
        for (now, expected) in [(50, Some(100)), (100, Some(200)), (300, None)] {
            let found = next_opening(opens.into_iter(), s(now));
            assert_eq!(found, expected.map(s), "{now}");
        }
    }

    #[test]
    fn full_results_of_an_empty_field_wait_for_the_end_in_icpc_mode() {
        let (icpc, points) = (true, false);
        let (always, never) = (Time::ALWAYS, Time::NEVER);
        // Stored time, mode, end, freeze, thaw: the time of the full results.
        let table = [
            (always, points, s(200), never, never, always),
            (always, points, s(200), s(150), s(250), always),
            (s(120), points, s(200), never, never, s(120)),
            (always, icpc, s(200), never, never, s(200)),
            (always, icpc, never, never, never, never),
            // A thaw without a freeze has no effect.
            (always, icpc, s(200), never, s(250), s(200)),
            (always, icpc, s(200), s(150), s(250), s(250)),
            (always, icpc, s(200), s(150), s(180), s(200)),
            // The thaw is a button that has not been pressed.
            (always, icpc, s(200), s(150), never, never),
            (s(50), icpc, s(200), s(150), s(250), s(50)),
            (s(300), icpc, s(200), never, never, s(300)),
        ];
        for (stored, is_icpc, ends, from, thaw, expected) in table {
            let freeze = Freeze { from, thaw };
            let found = full_results(stored, is_icpc, ends, freeze);
            assert_eq!(found, expected, "{stored} {is_icpc} {ends} {freeze:?}");
        }
    }

    #[test]
    fn always_and_never_do_not_move() {
        let schedule = Schedule {
            begins: Time::ALWAYS,
            ends: Time::NEVER,
            full_results: Time::ALWAYS,
            window: None,
        };
        let times = schedule.times(personal(5, 5, None));
        assert_eq!((times.begins, times.ends), (Time::ALWAYS, Time::NEVER));
        assert_eq!(times.full_results, Time::ALWAYS);
    }
}
