//! Points in time: microseconds since 1970, UTC.

use std::fmt::{self, Display};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time, or "always" and "never" for the beginning and end of a period.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Time(pub i64);

const MICROSECONDS: i64 = 1_000_000;
/// The last second that has a date of four digits: 9999-12-31T23:59:59.
const LAST_SECOND: i64 = 253_402_300_799;

impl Time {
    /// Before every other time.
    pub const ALWAYS: Time = Time(i64::MIN);
    /// After every other time.
    pub const NEVER: Time = Time(i64::MAX);

    /// The current time.
    pub fn now() -> Time {
        let passed = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Time(i64::try_from(passed.as_micros()).unwrap_or(i64::MAX - 1))
    }

    /// The time after a duration.
    #[must_use]
    pub fn after(self, duration: Duration) -> Time {
        let passed = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Time(self.0.saturating_add(passed))
    }

    /// The time before a duration.
    #[must_use]
    pub fn before(self, duration: Duration) -> Time {
        let passed = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Time(self.0.saturating_sub(passed))
    }

    /// The machine-readable text, unless this is "always" or "never".
    pub fn rfc3339(self) -> Option<String> {
        let seconds = self.0.div_euclid(MICROSECONDS);
        let seconds = u64::try_from(seconds).ok()?;
        (seconds <= LAST_SECOND.unsigned_abs()).then(|| {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            humantime::format_rfc3339_seconds(time).to_string()
        })
    }
}

/// The time in UTC, for logs and exports.
impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rfc3339() {
            Some(text) => {
                let (date, clock) = text.split_at(10);
                let clock = clock.trim_start_matches('T').trim_end_matches('Z');
                write!(f, "{date} {clock} UTC")
            }
            None if self.0 < 0 => f.write_str("always"),
            None => f.write_str("never"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_readable_text_is_in_utc_and_limits_have_none() {
        let time = Time(1_777_629_600_000_001);
        assert_eq!(time.rfc3339().as_deref(), Some("2026-05-01T10:00:00Z"));
        assert_eq!(time.to_string(), "2026-05-01 10:00:00 UTC");
        assert_eq!(Time::ALWAYS.to_string(), "always");
        assert_eq!(Time::NEVER.to_string(), "never");
        for limit in [Time::ALWAYS, Time::NEVER, Time(-1)] {
            assert_eq!(limit.rfc3339(), None, "{limit:?}");
        }
        assert_eq!(Time::NEVER.after(Duration::from_secs(1)), Time::NEVER);
    }
}
