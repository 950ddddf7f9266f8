//! The freeze of a ranking: from one time on, contestants and guests do not see new results.

use super::time::Time;

/// When the ranking of a round is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freeze {
    /// The beginning; "never" if the ranking is not frozen.
    pub from: Time,
    /// The end. It may be long after the round.
    pub thaw: Time,
}

impl Freeze {
    /// Whether the ranking is frozen.
    pub fn is_on(self, now: Time) -> bool {
        self.from <= now && now < self.thaw
    }

    /// Whether the public ranking shows a submission of this time as pending.
    pub fn hides(self, submitted_at: Time, now: Time) -> bool {
        self.is_on(now) && self.from <= submitted_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freeze_hides_later_submissions_until_the_thaw() {
        // From, thaw, time of the submission, now: is on, hides.
        let table = [
            (10, 20, 9, 9, false, false),
            (10, 20, 9, 10, true, false),
            (10, 20, 10, 10, true, true),
            (10, 20, 15, 19, true, true),
            (10, 20, 15, 20, false, false),
            (10, 20, 25, 26, false, false),
            (10, 5, 15, 16, false, false),
            (i64::MAX, i64::MAX, 15, 16, false, false),
            (10, i64::MAX, 15, i64::MAX - 1, true, true),
        ];
        for (from, thaw, submitted, now, is_on, hides) in table {
            let freeze = Freeze {
                from: Time(from),
                thaw: Time(thaw),
            };
            assert_eq!(freeze.is_on(Time(now)), is_on, "{freeze:?} at {now}");
            let found = freeze.hides(Time(submitted), Time(now));
            assert_eq!(found, hides, "{freeze:?}: {submitted} at {now}");
        }
    }
}
