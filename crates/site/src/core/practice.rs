//! Practice: submissions to a round after it, which never count.

use super::freeze::Freeze;
use super::participant::{Personal, Schedule};
use super::time::Time;
use std::time::Duration;

/// What decides whether a user may practise. The user sees the problem on a page of its round.
#[derive(Debug, Clone, Copy)]
pub struct Practice {
    /// Whether the user is signed in and not disqualified.
    pub takes_part: bool,
    /// Whether the user manages the contest. The staff submits at any time.
    pub manages: bool,
    /// The times of the round.
    pub schedule: Schedule,
    /// The freeze of its ranking.
    pub freeze: Freeze,
    /// The most additional time of a participant.
    pub additional: Duration,
}

impl Practice {
    /// Whether the user may practise now: when no participant can submit any more, and everything
    /// is public. Otherwise the results of practice would reveal hidden tests.
    pub fn is_open(self, now: Time) -> bool {
        let is_disclosed = is_disclosed(self.schedule, self.freeze, self.additional, now);
        self.takes_part && !self.manages && is_disclosed
    }
}

/// Whether a round is over for all participants, and shows all results. `additional` is the most
/// additional time of a participant.
pub fn is_disclosed(schedule: Schedule, freeze: Freeze, additional: Duration, now: Time) -> bool {
    let last = Personal {
        delay: additional,
        ..Personal::default()
    };
    let is_over = schedule.over(additional) <= now;
    is_over && schedule.times(last).full_results <= now && !freeze.is_on(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn practice_is_open_by_this_table() {
        const S: i64 = 1_000_000;
        let never = Freeze {
            from: Time::NEVER,
            thaw: Time::NEVER,
        };
        let frozen = |thaw| Freeze {
            from: Time(150 * S),
            thaw,
        };
        let (always, late) = (Time::ALWAYS, Time(250 * S));
        let (end, endless) = (Time(200 * S), Time::NEVER);
        // Takes part, manages, end, full results, freeze, additional seconds; the time, in seconds;
        // whether practice is open.
        let table = [
            (true, false, end, always, never, 0, 199, false),
            (true, false, end, always, never, 0, 200, true),
            (false, false, end, always, never, 0, 200, false),
            (true, true, end, always, never, 0, 200, false),
            (true, false, end, always, never, 30, 229, false),
            (true, false, end, always, never, 30, 230, true),
            (true, false, end, late, never, 0, 249, false),
            (true, false, end, late, never, 0, 250, true),
            (true, false, end, late, never, 30, 279, false),
            (true, false, end, late, never, 30, 280, true),
            (true, false, end, Time::NEVER, never, 0, 900, false),
            (true, false, end, always, frozen(Time::NEVER), 0, 900, false),
            (true, false, end, always, frozen(late), 0, 249, false),
            (true, false, end, always, frozen(late), 0, 250, true),
            (true, false, endless, always, never, 0, 900, false),
        ];
        for (takes_part, manages, ends, full_results, freeze, additional, now, expected) in table {
            let practice = Practice {
                takes_part,
                manages,
                schedule: Schedule::new(Time(100 * S), ends, full_results, None),
                freeze,
                additional: Duration::from_secs(additional),
            };
            let found = practice.is_open(Time(now * S));
            assert_eq!(found, expected, "{practice:?} at {now}");
        }
    }
}
