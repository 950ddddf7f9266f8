//! Points in time: microseconds since 1970, UTC.

use std::fmt::{self, Display};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time, or "always" and "never" for the beginning and end of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

    /// Reads the value of a form field: `2026-05-01T10:00`, with or without seconds, in UTC.
    pub fn of_field(text: &str) -> Option<Time> {
        let text = text.trim();
        let whole = match text.len() {
            16 => format!("{text}:00Z"),
            19 => format!("{text}Z"),
            _ => return None,
        };
        let time = humantime::parse_rfc3339_weak(&whole).ok()?;
        let passed = time.duration_since(UNIX_EPOCH).ok()?;
        Some(Time(i64::try_from(passed.as_micros()).ok()?))
    }

    /// The value for a form field; empty for "always" and "never".
    pub fn field(self) -> String {
        match self.rfc3339() {
            Some(text) => text.trim_end_matches('Z').to_owned(),
            None => String::new(),
        }
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
    fn field_and_time_agree() {
        let time = Time::of_field("2026-05-01T10:00").unwrap();
        assert_eq!(time, Time(1_777_629_600_000_000));
        assert_eq!(time.field(), "2026-05-01T10:00:00");
        assert_eq!(Time::of_field("2026-05-01T10:00:00"), Some(time));
        assert_eq!(time.to_string(), "2026-05-01 10:00:00 UTC");
    }

    #[test]
    fn field_of_other_text_is_no_time() {
        for text in [
            "",
            "now",
            "2026-05-01",
            "2026-13-01T10:00",
            "2026-05-01T10:00+01",
        ] {
            assert_eq!(Time::of_field(text), None, "{text}");
        }
    }

    #[test]
    fn limits_have_words_and_empty_fields() {
        assert_eq!(Time::ALWAYS.to_string(), "always");
        assert_eq!(Time::NEVER.to_string(), "never");
        assert_eq!(Time::NEVER.field(), "");
        assert_eq!(Time::NEVER.after(Duration::from_secs(1)), Time::NEVER);
    }
}
