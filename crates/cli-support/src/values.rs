//! Parsers of option values. clap puts the name of the option and the value before an error.

use std::time::Duration;

/// The units of a time, as help texts list them.
pub const TIME_UNITS: &str = "ns, us, ms, s, m, h, d";

/// Why a value is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The number is above this maximum.
    #[error("too large: the maximum is {0}")]
    Above(u64),
    /// The number or the time is too large for its type.
    #[error("too large")]
    TooLarge,
    /// The value is not a number in this range.
    #[error("must be a whole number from {least}{}", up_to(*.most))]
    Number {
        /// The minimum.
        least: u64,
        /// The maximum.
        most: u64,
    },
    /// The value is not a time.
    #[error("must be a number with a unit ({TIME_UNITS}), for example 500ms")]
    Time,
    /// The time is 0.
    #[error("must be more than 0")]
    NoTime,
    /// The value is not a pair of ids.
    #[error("must be UID:GID, two numbers")]
    Ids,
    /// An id is root's.
    #[error("must not be root's: the sandbox does not run as the superuser")]
    Root,
    /// The value is not a path in the cgroup hierarchies.
    #[error("must be an absolute path without `..`")]
    CgroupParent,
}

/// Whether the text consists of decimal digits only.
pub fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A parser of whole numbers from `least` to `most`.
pub fn number<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, ValueError> + Clone {
    move |text| match text.parse::<u64>() {
        Ok(number) if number > most => Err(ValueError::Above(most)),
        Err(_) if is_number(text) => Err(ValueError::Above(most)),
        Ok(number) if number >= least => T::try_from(number).map_err(|_| ValueError::TooLarge),
        _ => Err(ValueError::Number { least, most }),
    }
}

fn up_to(most: u64) -> String {
    if most == u64::MAX {
        String::new()
    } else {
        format!(" to {most}")
    }
}

/// `1s`, `500ms`, `1.5s`, `1m 30s`; not 0. The units are those of [`TIME_UNITS`].
pub fn time(text: &str) -> Result<Duration, ValueError> {
    // humantime knows more units, and reads `5M` as five months, but the user means minutes.
    let is_known = |unit: &str| unit.is_empty() || TIME_UNITS.split(", ").any(|one| one == unit);
    if !text
        .split(|letter: char| !letter.is_alphabetic())
        .all(is_known)
    {
        return Err(ValueError::Time);
    }
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err(ValueError::NoTime),
        Ok(time) => Ok(time),
        Err(humantime::DurationError::NumberOverflow) => Err(ValueError::TooLarge),
        Err(_) => Err(ValueError::Time),
    }
}

/// `1000:1000`: user and group id, neither of them root's.
pub fn ids(text: &str) -> Result<(u32, u32), ValueError> {
    let ids = text
        .split_once(':')
        .and_then(|(uid, gid)| Some((id(uid).ok()?, id(gid).ok()?)));
    match ids {
        Some((0, _) | (_, 0)) => Err(ValueError::Root),
        Some(ids) => Ok(ids),
        None => Err(ValueError::Ids),
    }
}

/// A user or group id. The kernel reads an id of all ones as "no id".
pub fn id(text: &str) -> Result<u32, ValueError> {
    number(0, u64::from(u32::MAX) - 1)(text)
}

/// A path in the cgroup hierarchies: absolute, without `..`.
pub fn cgroup_parent(text: &str) -> Result<String, ValueError> {
    if !text.starts_with('/') || text.split('/').any(|part| part == "..") {
        return Err(ValueError::CgroupParent);
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_out_of_range_is_rejected_with_the_range() {
        let small = number::<u32>(1, 512);
        assert_eq!(
            (small("1"), small("512"), small("007")),
            (Ok(1), Ok(512), Ok(7))
        );
        for text in ["513", "99999999999999999999"] {
            assert_eq!(small(text), Err(ValueError::Above(512)), "{text}");
        }
        for text in ["", "0", "x", "-1", "1.5", "1 "] {
            let wrong = ValueError::Number {
                least: 1,
                most: 512,
            };
            assert_eq!(small(text), Err(wrong), "{text}");
        }
        assert_eq!(number(0, u64::MAX)("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn time_without_unit_or_zero_is_rejected() {
        assert_eq!(time("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("20us 2m"), Ok(Duration::from_micros(120_000_020)));
        for unit in TIME_UNITS.split(", ") {
            assert!(time(&format!("7{unit}")).is_ok(), "{unit}");
        }
        for text in [
            "", "1", "0s", "0", "-1s", "1 parsec", "s", "5M", "1h 5M", "1y", "1w", "1month", "2min",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
        assert!(time("1w").unwrap_err().to_string().contains(TIME_UNITS));
        assert_eq!(time("99999999999999999999s"), Err(ValueError::TooLarge));
    }

    #[test]
    fn ids_of_root_are_rejected() {
        assert_eq!(ids("7:8"), Ok((7, 8)));
        for text in [
            "0:0",
            "7",
            "a:b",
            "7:8:9",
            "-1:1",
            "7:4294967295",
            "4294967295:7",
        ] {
            assert!(ids(text).is_err(), "{text}");
        }
        let most = u64::from(u32::MAX) - 1;
        assert_eq!(id("4294967295"), Err(ValueError::Above(most)));
    }
}
